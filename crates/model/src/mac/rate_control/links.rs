//! The links of a station, each with its rate control.

use std::sync::Arc;

use hopyard_engine::{Rng, Time};

use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::address::InterfaceId;
use crate::phy::Mode;

/// The links of a station with the state that they share.
#[derive(Clone, Debug)]
pub struct Links<R: RateControl> {
    shared: Arc<R::Shared>,
    station: usize,
    /// By neighbour, sorted.
    known: Vec<(InterfaceId, R)>,
}

impl<R: RateControl> Links<R> {
    pub(super) fn new(params: &R::Params, candidates: &Candidates, draws: Vec<Rng>) -> Self {
        Self { shared: Arc::new(R::share(params, candidates, draws)), station: 0, known: Vec::new() }
    }

    pub(super) fn of_station(&self, station: usize) -> Self {
        Self { shared: Arc::clone(&self.shared), station, known: Vec::new() }
    }

    pub(super) fn choose(&mut self, to: InterfaceId, tries: &Tries, now: Time) -> Option<Choice> {
        let (link, shared) = self.link(to, now);
        link.choose(tries, now, shared)
    }

    pub(super) fn report(&mut self, to: InterfaceId, outcome: &Outcome<'_>, now: Time) -> bool {
        let (link, shared) = self.link(to, now);
        let before = link.belief(shared).mode;
        link.report(outcome, now, shared);
        link.belief(shared).mode.row != before.row
    }

    pub(super) fn belief(&self, to: InterfaceId) -> Option<Belief> {
        let place = self.known.binary_search_by_key(&to, |&(neighbour, _)| neighbour).ok()?;
        Some(self.known[place].1.belief(&self.shared))
    }

    pub(super) fn estimates(&self, to: InterfaceId) -> Vec<(&'static Mode, f64)> {
        let link = self.known.iter().find(|(neighbour, _)| *neighbour == to);
        link.map(|(_, link)| link.estimates(&self.shared)).unwrap_or_default()
    }

    fn link(&mut self, to: InterfaceId, now: Time) -> (&mut R, &R::Shared) {
        let place = self.known.binary_search_by_key(&to, |&(neighbour, _)| neighbour).unwrap_or_else(|place| {
            self.known.insert(place, (to, R::new(self.station, now, &self.shared)));
            place
        });
        (&mut self.known[place].1, &self.shared)
    }
}
