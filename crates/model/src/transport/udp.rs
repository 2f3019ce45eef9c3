//! The counters of a UDP receiver (RFC 768 requires nothing else).
//!
//! Datagrams carry a number within their flow, from zero, so that losses, duplicates and changes of order can be
//! distinguished. A datagram counts as a duplicate only within the last 64 numbers; later duplicates count as out of
//! order.

use crate::packet::UdpHeader;

/// How many numbers below the highest one are remembered.
const MEMORY: u64 = 64;

/// The counters of a UDP receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UdpReceiver {
    /// Datagrams that arrived for the first time.
    pub datagrams: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Datagrams that had arrived before.
    pub duplicates: u64,
    /// Datagrams that arrived after one with a higher number.
    pub reordered: u64,
    /// The number after the highest that arrived.
    next: u64,
    /// Bit `i` is set when number `next - 1 - i` has arrived.
    seen: u64,
}

impl UdpReceiver {
    /// A receiver that has not received anything.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A datagram arrived. Returns whether it is new: a duplicate is not delivered to the application again.
    pub fn on_datagram(&mut self, header: &UdpHeader) -> bool {
        if header.sequence >= self.next {
            let ahead = header.sequence - self.next + 1;
            self.seen = if ahead < MEMORY { self.seen << ahead } else { 0 } | 1;
            self.next = header.sequence + 1;
        } else {
            let behind = self.next - 1 - header.sequence;
            if behind < MEMORY && self.seen >> behind & 1 == 1 {
                self.duplicates += 1;
                return false;
            }
            if behind < MEMORY {
                self.seen |= 1 << behind;
            }
            self.reordered += 1;
        }
        self.datagrams += 1;
        self.bytes += u64::from(header.len);
        true
    }

    /// Datagrams missing below the highest number that arrived.
    #[must_use]
    pub const fn missing(&self) -> u64 {
        self.next.saturating_sub(self.datagrams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrive(receiver: &mut UdpReceiver, sequence: u64) -> bool {
        receiver.on_datagram(&UdpHeader { sequence, len: 512 })
    }

    #[test]
    fn copies_gaps_and_disorder_are_told_apart() {
        let mut receiver = UdpReceiver::new();
        assert!(arrive(&mut receiver, 0));
        assert!(arrive(&mut receiver, 3));
        assert_eq!(receiver.missing(), 2);
        assert!(arrive(&mut receiver, 1));
        assert!(!arrive(&mut receiver, 3));
        assert!(!arrive(&mut receiver, 1));
        assert_eq!((receiver.datagrams, receiver.duplicates, receiver.reordered), (3, 2, 1));
        assert_eq!((receiver.bytes, receiver.missing()), (3 * 512, 1));
    }

    #[test]
    fn a_long_gap_forgets_what_was_seen() {
        let mut receiver = UdpReceiver::new();
        for sequence in [0, 63, 64, 1000] {
            assert!(arrive(&mut receiver, sequence));
        }
        assert!(!arrive(&mut receiver, 1000));
        assert_eq!(receiver.missing(), 997);
    }
}
