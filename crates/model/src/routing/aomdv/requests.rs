//! The requests that a node has heard, and the paths on which each was answered.

use hopyard_engine::{Span, Time};

use crate::address::Address;

/// The ends of a path: its next hop and its last hop.
pub type Ends = (Address, Address);

/// A request that was heard.
#[derive(Debug)]
pub struct Heard {
    originator: Address,
    id: u32,
    forget: Time,
    /// Whether a reply to it has gone through this node.
    pub answered: bool,
    /// To how many of its copies this node, the destination, has replied.
    pub replies: u8,
    /// The reverse paths on which replies went.
    pub reverse: Vec<Ends>,
    /// The forward paths that replies have given.
    pub forward: Vec<Ends>,
}

/// Requests by originator and number.
#[derive(Debug, Default)]
pub struct Requests {
    heard: Vec<Heard>,
    next_purge: Time,
}

impl Requests {
    fn place(&self, originator: Address, id: u32) -> Result<usize, usize> {
        self.heard.binary_search_by_key(&(originator, id), |heard| (heard.originator, heard.id))
    }

    /// Notes a request, to be remembered until `forget`. Whether it is new.
    pub fn note(&mut self, originator: Address, id: u32, now: Time, forget: Time) -> bool {
        if self.next_purge <= now {
            self.heard.retain(|heard| heard.forget > now);
            self.next_purge = now + Span::from_secs(1);
        }
        match self.place(originator, id) {
            Ok(place) if self.heard[place].forget > now => false,
            found => {
                let new = Heard {
                    originator,
                    id,
                    forget,
                    answered: false,
                    replies: 0,
                    reverse: Vec::new(),
                    forward: Vec::new(),
                };
                match found {
                    Ok(place) => self.heard[place] = new,
                    Err(place) => self.heard.insert(place, new),
                }
                true
            }
        }
    }

    /// A request that is remembered.
    pub fn get_mut(&mut self, originator: Address, id: u32, now: Time) -> Option<&mut Heard> {
        let place = self.place(originator, id).ok()?;
        Some(&mut self.heard[place]).filter(|heard| heard.forget > now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_new_once_until_it_is_forgotten() {
        let at = |seconds| Time::ZERO + Span::from_secs(seconds);
        let mut requests = Requests::default();
        let mut note = |originator, id, now| requests.note(Address(originator), id, at(now), at(now + 6));
        assert!(note(1, 7, 0) && note(2, 7, 0) && note(1, 6, 0));
        assert!(!note(1, 7, 5) && !note(1, 6, 5));
        assert!(note(1, 7, 6), "it was heard six seconds ago");
        assert!(requests.get_mut(Address(1), 7, at(11)).is_some());
        assert!(requests.get_mut(Address(2), 7, at(11)).is_none());
    }
}
