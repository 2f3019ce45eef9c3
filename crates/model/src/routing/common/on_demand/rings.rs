//! Searches by requests in rings that grow, and then by floods (RFC 3561 §6.3, §6.4).

use hopyard_engine::{Span, Time};

use crate::address::Address;
use crate::routing::common::{Limiter, Searches};

/// A destination that is looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Search<Own> {
    /// TTL of the last request.
    pub ttl: u8,
    /// Floods of the whole network so far.
    pub floods: u8,
    /// When the next request may be sent.
    pub retry_at: Time,
    /// Whether the rate limit holds the request back.
    pub held_back: bool,
    /// What only one protocol notes.
    pub own: Own,
}

impl<Own> Search<Own> {
    /// Counts a request with the TTL of the search, and returns the wait for its answer: `ring` for a ring, and for
    /// whatever `waits_as_ring`; `flood` for the first flood of the network, and twice as long for each further one
    /// (§6.3).
    pub fn wait(&mut self, is_flood: bool, waits_as_ring: bool, ring: Span, flood: Span) -> Span {
        let before = self.floods;
        self.floods += u8::from(is_flood);
        if is_flood && !waits_as_ring { flood * (1 << before.min(32)) } else { ring }
    }
}

/// The searches of a node.
#[derive(Debug)]
pub struct Rings<Own> {
    searches: Searches<Search<Own>>,
    /// When the next search must be looked at.
    next: Time,
    requests_sent: Limiter,
}

impl<Own: Copy + Default> Rings<Own> {
    /// No search; the node may send so many requests in a second, zero for no limit.
    #[must_use]
    pub fn new(limit: u16) -> Self {
        Self { searches: Searches::default(), next: Time::NEVER, requests_sent: Limiter::new(limit) }
    }

    /// When the next search must be looked at, as [`Self::find_next`] has found.
    #[must_use]
    pub const fn next_at(&self) -> Time {
        self.next
    }

    /// Finds when the next search must be looked at. Needed after requests.
    pub fn find_next(&mut self) {
        self.next = self.searches.iter().map(|(_, search)| search.retry_at).min().unwrap_or(Time::NEVER);
    }

    /// The destinations that are looked for.
    pub fn destinations(&self) -> impl Iterator<Item = Address> {
        self.searches.iter().map(|(destination, _)| destination)
    }

    /// The search for a destination.
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut Search<Own>> {
        self.searches.get_mut(destination)
    }

    /// The search for a destination, which is made if there is none, with the TTL of its next request.
    pub fn with_ttl(&mut self, destination: Address, ttl: u8) -> &mut Search<Own> {
        let search = self.searches.entry(destination);
        search.ttl = ttl;
        search
    }

    /// The searches that have waited long enough.
    #[must_use]
    pub fn due(&self, now: Time) -> Vec<(Address, Search<Own>)> {
        let due = self.searches.iter().filter(|(_, search)| search.retry_at <= now);
        due.map(|(destination, &search)| (destination, search)).collect()
    }

    /// The search for a destination, whose request is sent now; nothing if the rate limit holds the request back.
    pub fn admit(&mut self, destination: Address, now: Time) -> Option<&mut Search<Own>> {
        let passed = self.requests_sent.pass(now);
        let search = self.searches.get_mut(destination)?;
        search.held_back = passed.is_err();
        if let Err(at) = passed {
            search.retry_at = at;
            return None;
        }
        Some(search)
    }

    /// Ends the search for a destination.
    pub fn end(&mut self, destination: Address) -> Option<Search<Own>> {
        let search = self.searches.remove(destination)?;
        self.find_next();
        Some(search)
    }
}
