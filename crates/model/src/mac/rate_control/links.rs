//! The links of a station, each with its rate control.

use std::sync::Arc;

use hopyard_engine::{Rng, Time};

use super::candidates::Candidates;
use super::control::{Belief, Choice, Outcome, RateControl, Tries};
use crate::address::InterfaceId;

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
        self.known(to).map(|(link, shared)| link.belief(shared))
    }

    /// The link to a neighbour, if a frame was sent to it.
    pub(super) fn known(&self, to: InterfaceId) -> Option<(&R, &R::Shared)> {
        let place = self.known.binary_search_by_key(&to, |&(neighbour, _)| neighbour).ok()?;
        Some((&self.known[place].1, &self.shared))
    }

    fn link(&mut self, to: InterfaceId, now: Time) -> (&mut R, &R::Shared) {
        let place = self.known.binary_search_by_key(&to, |&(neighbour, _)| neighbour).unwrap_or_else(|place| {
            self.known.insert(place, (to, R::new(self.station, now, &self.shared)));
            place
        });
        (&mut self.known[place].1, &self.shared)
    }
}
