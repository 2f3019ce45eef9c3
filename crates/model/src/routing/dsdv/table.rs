//! DSDV's table of routes.

use hopyard_engine::{Span, Time};

use crate::address::Address;

/// A shorter way than the present one that may come back.
#[derive(Clone, Copy, Debug)]
pub struct Doubt {
    /// Since when only longer ways have been heard of.
    pub since: Time,
    /// The metric of the shorter way.
    pub metric: u8,
    /// The neighbour that the shorter way led to.
    pub next_hop: Address,
}

/// A destination.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Where the route leads.
    pub destination: Address,
    /// The neighbour to which packets go.
    pub next_hop: Address,
    /// The destination's sequence number; odd when a broken link has given it.
    pub sequence: u32,
    /// Hops to the destination, or infinity.
    pub metric: u8,
    /// The metric that was advertised last.
    pub last_advertised: u8,
    /// Whether the sequence number is to be advertised.
    pub advertise_sequence: bool,
    /// Whether the metric is to be advertised.
    pub advertise_metric: bool,
    /// Whether data go this way, so that its changes are announced.
    pub used: bool,
    /// The time from which on it may be advertised.
    pub advertise_at: Time,
    /// When it triggers an update.
    pub trigger_at: Time,
    /// When the link to it counts as broken, if it is a neighbour.
    pub lost_at: Time,
    /// When the route last changed.
    pub changed_at: Time,
    /// When the present sequence number was first heard.
    pub new_sequence_at: Time,
    /// Why the route is not told yet.
    pub doubt: Option<Doubt>,
    /// Mean time between the first and the best route of a sequence number.
    pub settling_time: Span,
}

impl Entry {
    /// A destination that becomes known now, without a route.
    #[must_use]
    pub const fn new(destination: Address, metric: u8, settling_time: Span, now: Time) -> Self {
        Self {
            destination,
            next_hop: destination,
            sequence: 0,
            metric,
            last_advertised: 0,
            advertise_sequence: false,
            advertise_metric: false,
            used: false,
            advertise_at: Time::NEVER,
            trigger_at: Time::NEVER,
            lost_at: Time::NEVER,
            changed_at: now,
            new_sequence_at: now,
            doubt: None,
            settling_time,
        }
    }

    /// Counts a time to settle; `weight` is the weight of the past.
    pub fn settle(&mut self, took: Span, weight: f64) {
        self.settling_time = self.settling_time.mul_f64(weight) + took.mul_f64(1.0 - weight);
    }

    /// Whether there is news of it that may be told now.
    #[must_use]
    pub fn is_news(&self, now: Time) -> bool {
        (self.advertise_sequence || self.advertise_metric) && self.advertise_at <= now
    }
}

/// Destinations in order.
#[derive(Debug, Default)]
pub struct Table(Vec<Entry>);

impl Table {
    fn place(&self, destination: Address) -> Result<usize, usize> {
        // Where every node is known, the address of one is its place.
        let likely = destination.0 as usize;
        if self.0.get(likely).is_some_and(|entry| entry.destination == destination) {
            return Ok(likely);
        }
        self.0.binary_search_by_key(&destination, |entry| entry.destination)
    }

    /// The entry of a destination.
    #[inline]
    #[must_use]
    pub fn get(&self, destination: Address) -> Option<&Entry> {
        self.place(destination).ok().map(|place| &self.0[place])
    }

    /// The entry of a destination, to be changed.
    #[inline]
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut Entry> {
        self.place(destination).ok().map(|place| &mut self.0[place])
    }

    /// Puts an entry in, in place of the one that is there.
    pub fn put(&mut self, entry: Entry) {
        match self.place(entry.destination) {
            Ok(place) => self.0[place] = entry,
            Err(place) => self.0.insert(place, entry),
        }
    }

    /// Every entry.
    #[must_use]
    pub fn entries(&self) -> &[Entry] {
        &self.0
    }

    /// Every entry, to be changed.
    pub fn entries_mut(&mut self) -> &mut [Entry] {
        &mut self.0
    }
}
