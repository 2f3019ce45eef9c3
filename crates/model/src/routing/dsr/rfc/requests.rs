//! The route request table (RFC 4728 §4.3): the requests that a node has heard of others, and the times at which it may
//! next look for destinations itself.

use hopyard_engine::Time;

use crate::address::Address;
use crate::routing::common::Searches;

/// A destination that is looked for, or was, and no reply has come since.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// Requests of the search that propagated so far; none where the search is still to begin.
    pub requests: Option<u8>,
    /// Requests that propagated since the last reply: the wait after each is longer.
    pub unanswered: u8,
    /// When the next request may be sent.
    pub next_at: Time,
    /// Whether packets may wait for the route.
    pub active: bool,
}

impl Default for Search {
    fn default() -> Self {
        Self { requests: None, unanswered: 0, next_at: Time::ZERO, active: false }
    }
}

/// The last requests of an initiator.
#[derive(Debug)]
struct Initiator {
    address: Address,
    /// Grows with each use: the one with the least was not used for the longest time.
    used: u64,
    /// Number and target of each, in a ring.
    requests: Vec<(u16, Address)>,
    /// The place of the oldest one, once the ring is full.
    oldest: usize,
}

/// The route request table. Initiators and destinations beyond its size are forgotten, those that were not used for
/// the longest time first.
#[derive(Debug)]
pub struct RequestTable {
    size: usize,
    ids: usize,
    initiators: Vec<Initiator>,
    uses: u64,
    pub searches: Searches<Search>,
}

impl RequestTable {
    /// An empty table for so many addresses, and so many requests of each.
    #[must_use]
    pub fn new(size: usize, ids: usize) -> Self {
        Self { size, ids, initiators: Vec::new(), uses: 0, searches: Searches::default() }
    }

    /// Notes that a request was heard. Whether it is new.
    pub fn note(&mut self, initiator: Address, identification: u16, target: Address) -> bool {
        self.uses += 1;
        let (used, request) = (self.uses, (identification, target));
        let Some(it) = self.initiators.iter_mut().find(|it| it.address == initiator) else {
            let added = Initiator { address: initiator, used, requests: vec![request], oldest: 0 };
            if self.initiators.len() < self.size {
                self.initiators.push(added);
            } else if let Some(victim) = self.initiators.iter_mut().min_by_key(|it| it.used) {
                *victim = added;
            }
            return true;
        };
        it.used = used;
        if it.requests.contains(&request) {
            return false;
        }
        if it.requests.len() < self.ids {
            it.requests.push(request);
        } else {
            it.requests[it.oldest] = request;
            it.oldest = (it.oldest + 1) % self.ids;
        }
        true
    }

    /// The search for a destination, which is made if there is none.
    pub fn search(&mut self, destination: Address) -> &mut Search {
        if self.searches.get_mut(destination).is_none() && self.searches.iter().count() >= self.size {
            let idle = self.searches.iter().filter(|(_, search)| !search.active);
            if let Some((victim, _)) = idle.min_by_key(|(_, search)| search.next_at) {
                self.searches.remove(victim);
            }
        }
        self.searches.entry(destination)
    }

    /// The destinations whose next request is due.
    #[must_use]
    pub fn due(&self, now: Time) -> Vec<Address> {
        self.searches.iter().filter(|(_, search)| search.active && search.next_at <= now).map(|(to, _)| to).collect()
    }

    /// When the next request is due.
    #[must_use]
    pub fn next(&self) -> Time {
        self.searches.iter().filter(|(_, it)| it.active).map(|(_, it)| it.next_at).min().unwrap_or(Time::NEVER)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s4_3_a_request_is_known_by_its_number_and_its_target() {
        let mut table = RequestTable::new(64, 16);
        assert!(table.note(Address(1), 7, Address(9)));
        assert!(!table.note(Address(1), 7, Address(9)));
        assert!(table.note(Address(1), 7, Address(8)), "another target");
        assert!(table.note(Address(2), 7, Address(9)), "another initiator");
    }

    #[test]
    fn s4_3_an_initiator_has_the_last_request_table_ids_requests() {
        let mut table = RequestTable::new(64, 16);
        for number in 0..17 {
            assert!(table.note(Address(1), number, Address(9)));
        }
        assert!(!table.note(Address(1), 1, Address(9)), "the sixteenth last");
        assert!(table.note(Address(1), 0, Address(9)), "the first is forgotten");
        assert!(table.note(Address(1), 1, Address(9)), "and its place is that of the next one");
    }

    #[test]
    fn s4_3_the_initiator_that_was_not_heard_for_the_longest_time_is_forgotten() {
        let mut table = RequestTable::new(2, 16);
        assert!(table.note(Address(1), 1, Address(9)));
        assert!(table.note(Address(2), 1, Address(9)));
        assert!(!table.note(Address(1), 1, Address(9)));
        assert!(table.note(Address(3), 1, Address(9)), "in the place of the second one");
        assert!(!table.note(Address(1), 1, Address(9)));
        assert!(table.note(Address(2), 1, Address(9)));
    }

    #[test]
    fn s4_3_only_a_destination_that_is_not_looked_for_now_is_forgotten() {
        let mut table = RequestTable::new(2, 16);
        table.search(Address(1)).active = true;
        table.search(Address(2)).next_at = Time::NEVER;
        table.search(Address(3)).active = true;
        let known: Vec<_> = table.searches.iter().map(|(to, _)| to.0).collect();
        assert_eq!(known, [1, 3]);
    }
}
