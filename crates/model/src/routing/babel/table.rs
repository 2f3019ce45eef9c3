//! The route table and the source table (RFC 8966 §3.2.5, 3.2.6), with the feasibility condition and the choice among
//! routes.
//!
//! Each address has one router here, which originates it. So the source table has one entry for a destination, beside
//! its routes.

use hopyard_engine::{Span, Time};

use super::message::{INFINITY, RouterId, newer};
use super::params::Smoothing;
use crate::address::Address;

/// In the last part of its hold, a neighbour is asked whether a route still holds.
const EARLY: f64 = 0.125;
/// A smoothed metric that is nearer to its metric is equal to it.
const SAME: f32 = 4.0;

/// A route that a neighbour has told.
#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The neighbour.
    pub neighbour: Address,
    /// The destination's sequence number.
    pub seqno: u16,
    /// The neighbour's metric, or infinity once it has retracted the route, or the route has expired.
    pub advertised: u16,
    /// That metric with the cost of the link.
    pub metric: u16,
    /// When the neighbour is asked to tell the route again before it expires; never if it was asked.
    pub ask_at: Time,
    /// The smoothed metric, as of a time.
    smoothed: f32,
    smoothed_at: Time,
    /// When it expires.
    pub expires: Time,
}

impl Route {
    /// A route that becomes known now.
    #[must_use]
    pub fn new(neighbour: Address, seqno: u16, advertised: u16, now: Time, hold: Span) -> Self {
        let (metric, smoothed) = (INFINITY, INFINITY.into());
        let mut route =
            Self { neighbour, seqno, advertised, metric, ask_at: now, smoothed, smoothed_at: now, expires: now };
        route.keep(now, hold);
        route
    }

    /// The neighbour has told the route, which holds for this time.
    pub fn keep(&mut self, now: Time, hold: Span) {
        (self.ask_at, self.expires) = (now + hold.mul_f64(1.0 - EARLY), now + hold);
    }

    /// The smoothed metric: an exponential mean over time (§A.3).
    #[must_use]
    pub fn smoothed(&self, now: Time, smoothing: Smoothing) -> f32 {
        let metric = f32::from(self.metric);
        let difference = self.smoothed - metric;
        if difference == 0.0 || smoothing.half_life.is_zero() || self.metric == INFINITY {
            return metric;
        }
        let past = now.since(self.smoothed_at).seconds() / smoothing.half_life.seconds();
        let difference = difference * libm::exp2(-past) as f32;
        if difference.abs() < SAME { metric } else { metric + difference }
    }

    /// Sets the first metric.
    pub fn set_first(&mut self, metric: u16, now: Time, smoothing: Smoothing) {
        (self.metric, self.smoothed, self.smoothed_at) = (metric, metric.max(smoothing.start).into(), now);
    }

    /// Changes the metric.
    pub fn set_metric(&mut self, metric: u16, now: Time, smoothing: Smoothing) {
        if metric == self.metric {
            return;
        }
        let start = smoothing.start.saturating_mul(2).max(metric);
        self.smoothed = if self.metric == INFINITY { start.into() } else { self.smoothed(now, smoothing) };
        (self.smoothed_at, self.metric) = (now, metric);
    }
}

/// An entry of the source table: the feasibility distance (§3.2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// The newest sequence number that was told.
    pub seqno: u16,
    /// The smallest metric that was told with it.
    pub metric: u16,
    /// Until when the entry holds.
    pub until: Time,
}

/// A destination.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Its address.
    pub address: Address,
    /// The router that originates it.
    pub router: RouterId,
    /// The feasibility distance, if the node has told a route.
    pub source: Option<Source>,
    /// The routes, at most one for each neighbour.
    pub routes: Vec<Route>,
    /// The neighbour whose route is selected.
    pub selected: Option<Address>,
    /// Without one, the neighbour whose route was selected last, as long as it is remembered: the retraction is told
    /// with every update of all routes.
    pub lost: Option<Address>,
    /// Whether data go there, so that changes of the route are announced.
    pub used: bool,
    /// How many requests for a seqno the node has sent or forwarded, and not forgotten.
    pub requests: u16,
    /// The route that was announced last.
    pub announced: Option<(Address, u8)>,
}

impl Destination {
    const fn new(address: Address, router: RouterId) -> Self {
        Self {
            address,
            router,
            source: None,
            routes: Vec::new(),
            selected: None,
            lost: None,
            used: false,
            requests: 0,
            announced: None,
        }
    }

    /// Adds a route. There are as many as neighbours for each of all destinations, so that room is not doubled.
    pub fn add(&mut self, route: Route) {
        if self.routes.len() == self.routes.capacity() {
            self.routes.reserve_exact(2);
        }
        self.routes.push(route);
    }

    /// The place of a neighbour's route.
    #[must_use]
    pub fn place(&self, neighbour: Address) -> Option<usize> {
        self.routes.iter().position(|it| it.neighbour == neighbour)
    }

    /// The selected route.
    #[must_use]
    pub fn route(&self) -> Option<&Route> {
        let selected = self.selected?;
        self.routes.iter().find(|it| it.neighbour == selected)
    }

    /// The metric of the selected route.
    #[must_use]
    pub fn metric(&self) -> u16 {
        self.route().map_or(INFINITY, |it| it.metric)
    }

    /// The feasibility distance at a time.
    #[must_use]
    pub fn distance(&self, now: Time) -> Option<Source> {
        self.source.filter(|it| it.until > now)
    }

    /// The feasibility condition (§3.5.1): an update can be trusted to make no loop.
    #[must_use]
    pub fn is_feasible(&self, seqno: u16, metric: u16, now: Time) -> bool {
        metric == INFINITY
            || self.distance(now).is_none_or(|it| newer(seqno, it.seqno) || seqno == it.seqno && metric < it.metric)
    }

    /// An update is sent, so that the feasibility distance may shrink (§3.7.3).
    pub fn tell(&mut self, seqno: u16, metric: u16, now: Time, hold: Span) {
        if metric == INFINITY {
            return;
        }
        let kept = self.distance(now).filter(|it| newer(it.seqno, seqno) || it.seqno == seqno && it.metric <= metric);
        let (seqno, metric) = kept.map_or((seqno, metric), |it| (it.seqno, it.metric));
        self.source = Some(Source { seqno, metric, until: now + hold });
    }

    /// The seqno that would make a route feasible: that of the source table and one more (§3.8.2.1). Without an entry,
    /// any route is feasible, and the seqno is that of the newest route.
    #[must_use]
    pub fn wanted(&self, now: Time) -> u16 {
        match self.distance(now) {
            Some(it) => it.seqno.wrapping_add(1),
            None => {
                let mut newest = self.routes.first().map_or(0, |it| it.seqno);
                for it in &self.routes {
                    newest = if newer(it.seqno, newest) { it.seqno } else { newest };
                }
                newest
            }
        }
    }

    /// Selects a route among those that are feasible and finite (§3.6, A.3), after one of them has changed. Without a
    /// selected route, and where the selected one has changed, the smallest smoothed metric counts. Otherwise the
    /// changed route alone can replace the selected one. Both its metric and its smoothed metric must be better.
    pub fn select(&mut self, changed: usize, now: Time, smoothing: Smoothing) {
        let usable = |it: &&Route| it.metric != INFINITY && self.is_feasible(it.seqno, it.advertised, now);
        // The selected route was feasible once. Its neighbour's feasibility distance has not grown since.
        let current = self.route().filter(|it| it.metric != INFINITY);
        let Some(current) = current else {
            let best = self.routes.iter().filter(usable).min_by(|a, b| {
                let smoothed = a.smoothed(now, smoothing).total_cmp(&b.smoothed(now, smoothing));
                smoothed.then(a.metric.cmp(&b.metric)).then(a.neighbour.cmp(&b.neighbour))
            });
            self.selected = best.map(|it| it.neighbour);
            return;
        };
        let itself = self.routes[changed].neighbour == current.neighbour;
        // Mostly no route is better, and the means need not be known.
        let limit = if itself { current.metric } else { current.metric.saturating_add(1) };
        let among = if itself { &self.routes[..] } else { &self.routes[changed..=changed] };
        let nearer = among.iter().filter(|it| it.metric < limit).filter(usable);
        let nearer = nearer.map(|it| (it.smoothed(now, smoothing), it));
        let best = nearer.min_by(|(a, one), (b, other)| a.total_cmp(b).then(one.neighbour.cmp(&other.neighbour)));
        if let Some((mean, best)) = best
            && mean < current.smoothed(now, smoothing)
        {
            self.selected = Some(best.neighbour);
        }
    }
}

/// Destinations in order.
#[derive(Debug, Default)]
pub struct Table(Vec<Destination>);

impl Table {
    fn find(&self, address: Address) -> Result<usize, usize> {
        // Where every address is known but the node's own, that of a destination is its place, or one more.
        for likely in [address.index(), address.index().wrapping_sub(1)] {
            if self.0.get(likely).is_some_and(|it| it.address == address) {
                return Ok(likely);
            }
        }
        self.0.binary_search_by_key(&address, |it| it.address)
    }

    /// The place of a destination.
    #[inline]
    #[must_use]
    pub fn place(&self, address: Address) -> Option<usize> {
        self.find(address).ok()
    }

    /// A destination.
    #[inline]
    #[must_use]
    pub fn get(&self, address: Address) -> Option<&Destination> {
        self.place(address).map(|place| &self.0[place])
    }

    /// The place of a destination, which is made if it is not there.
    pub fn place_or_new(&mut self, address: Address, router: RouterId) -> usize {
        self.find(address).unwrap_or_else(|place| {
            self.0.insert(place, Destination::new(address, router));
            place
        })
    }

    /// Every destination.
    #[must_use]
    pub fn all(&self) -> &[Destination] {
        &self.0
    }

    /// Every destination, to be changed.
    pub fn all_mut(&mut self) -> &mut [Destination] {
        &mut self.0
    }
}
