//! The duplicate set (RFC 3626 §3.4): which messages were received, by which interfaces, and which were forwarded.
//!
//! The set has a place for each originator, found by its number without a search, since every copy of every message is
//! looked up here. Originators number their messages one by one, so that a window of bits holds the recent ones. Two
//! things differ from tuples with a time each. A message that 63 later ones overtook counts as received. The messages
//! of an originator are forgotten together, DUP_HOLD_TIME after the last of them.

use hopyard_engine::Time;

use crate::address::Address;

/// The messages of one originator.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// When they are forgotten.
    forget: Time,
    /// The forwarded ones among the last 64 messages; the lowest bit stands for the highest number.
    forwarded: u64,
    /// The highest number received.
    highest: u16,
}

/// The knowledge of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It was not received before.
    New,
    /// It was received, but not by this interface, and was not forwarded.
    ByOthers,
    /// It is of no use any more.
    Done,
}

/// The duplicate set of a node with a number of interfaces.
#[derive(Debug)]
pub struct Duplicates {
    interfaces: usize,
    windows: Vec<Window>,
    /// For each originator and interface, which of the last 64 messages were received.
    received: Vec<u64>,
}

impl Duplicates {
    /// An empty set.
    #[must_use]
    pub const fn new(interfaces: usize) -> Self {
        Self { interfaces, windows: Vec::new(), received: Vec::new() }
    }

    /// The bit of a message, if the message is not newer than all others; the lowest bit stands for the newest message.
    fn bit(highest: u16, number: u16) -> Option<u64> {
        let behind = highest.wrapping_sub(number);
        match behind {
            0..64 => Some(1 << behind),
            64..0x8000 => Some(0),
            _ => None,
        }
    }

    /// The knowledge of a message that an interface has received.
    #[inline]
    #[must_use]
    pub fn seen(&self, originator: Address, number: u16, interface: usize, now: Time) -> Seen {
        let Some(window) = self.windows.get(originator.index()).filter(|window| window.forget > now) else {
            return Seen::New;
        };
        let Some(bit) = Self::bit(window.highest, number) else { return Seen::New };
        if bit == 0 {
            return Seen::Done;
        }
        let place = originator.index() * self.interfaces;
        let received = &self.received[place..place + self.interfaces];
        if received.iter().all(|bits| bits & bit == 0) {
            Seen::New
        } else if window.forwarded & bit != 0 || received[interface] & bit != 0 {
            Seen::Done
        } else {
            Seen::ByOthers
        }
    }

    /// Notes that an interface has received a message, and whether it is forwarded (§3.4.1, steps 4 and 5).
    pub fn note(
        &mut self,
        originator: Address,
        number: u16,
        interface: usize,
        forwarded: bool,
        now: Time,
        forget: Time,
    ) {
        let index = originator.index();
        if self.windows.len() <= index {
            self.windows.resize(index + 1, Window { forget: Time::ZERO, forwarded: 0, highest: 0 });
            self.received.resize((index + 1) * self.interfaces, 0);
        }
        let window = &mut self.windows[index];
        let received = &mut self.received[index * self.interfaces..][..self.interfaces];
        if window.forget <= now {
            *window = Window { forget, forwarded: 0, highest: number };
            received.fill(0);
        }
        window.forget = forget;
        let bit = Self::bit(window.highest, number).unwrap_or_else(|| {
            let ahead = u32::from(number.wrapping_sub(window.highest));
            window.forwarded = window.forwarded.checked_shl(ahead).unwrap_or(0);
            for bits in received.iter_mut() {
                *bits = bits.checked_shl(ahead).unwrap_or(0);
            }
            window.highest = number;
            1
        });
        received[interface] |= bit;
        if forwarded {
            window.forwarded |= bit;
        }
    }

    /// Reads where an originator's messages are noted into the cache; the value means nothing.
    #[inline]
    #[must_use]
    pub fn prefetch(&self, originator: Address) -> u32 {
        self.windows.get(originator.index()).map_or(0, |window| u32::from(window.highest))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;

    use super::*;

    fn at(seconds: u64) -> Time {
        Time::ZERO + Span::from_secs(seconds)
    }

    #[test]
    fn a_message_is_done_when_it_was_forwarded_or_came_by_the_same_interface() {
        let mut set = Duplicates::new(2);
        let it = Address(5);
        assert_eq!(set.seen(it, 9, 0, at(0)), Seen::New);
        set.note(it, 9, 0, false, at(0), at(30));
        assert_eq!((set.seen(it, 9, 0, at(1)), set.seen(it, 9, 1, at(1))), (Seen::Done, Seen::ByOthers));
        set.note(it, 9, 1, true, at(1), at(31));
        assert_eq!((set.seen(it, 9, 0, at(2)), set.seen(it, 9, 1, at(2))), (Seen::Done, Seen::Done));
        assert_eq!(set.seen(it, 8, 0, at(2)), Seen::New, "a message that was overtaken is new all the same");
        assert_eq!(set.seen(Address(4), 9, 0, at(2)), Seen::New);
        assert_eq!(set.seen(it, 9, 0, at(31)), Seen::New, "forgotten after DUP_HOLD_TIME");
    }

    #[test]
    fn numbers_begin_again_after_the_largest() {
        let mut set = Duplicates::new(1);
        let it = Address(0);
        set.note(it, u16::MAX, 0, false, at(0), at(30));
        assert_eq!(set.seen(it, 1, 0, at(0)), Seen::New);
        set.note(it, 1, 0, false, at(0), at(30));
        assert_eq!((set.seen(it, u16::MAX, 0, at(0)), set.seen(it, 0, 0, at(0))), (Seen::Done, Seen::New));
        set.note(it, 400, 0, false, at(0), at(30));
        assert_eq!(set.seen(it, 1, 0, at(0)), Seen::Done, "what has left the window counts as received");
        assert_eq!((set.seen(it, 400, 0, at(0)), set.seen(it, 399, 0, at(0))), (Seen::Done, Seen::New));
    }
}
