//! Duplicate packet detection (RFC 6621 §6): the datagrams that a node has heard lately.

use std::collections::{BTreeSet, VecDeque};

use hopyard_engine::{Digest, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::packet::{Body, Packet};

/// The mark by which a datagram is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A hash of what no hop changes: addresses and contents (H-DPD). Packets that forbid fragments have no
    /// identification that tells one from another (RFC 6864 §4.1).
    #[default]
    Hash,
    /// Source, destination and the identification of IP, 16 bits which the source counts up (I-DPD).
    Identification,
}

/// Source and destination, or the hash; and the identification.
type Mark = (u64, u16);

/// The datagrams that were heard in a time up to now.
#[derive(Clone, Debug)]
pub struct Duplicates {
    by: By,
    hold: Span,
    known: BTreeSet<Mark>,
    /// In the order in which they are forgotten.
    heard: VecDeque<(Time, Mark)>,
}

impl Duplicates {
    /// Nothing was heard. What is heard is forgotten after `hold`.
    #[must_use]
    pub const fn new(by: By, hold: Span) -> Self {
        Self { by, hold, known: BTreeSet::new(), heard: VecDeque::new() }
    }

    /// Notes a datagram. Returns whether it is new. A duplicate does not prolong the time after which the datagram is
    /// forgotten.
    pub fn note(&mut self, packet: &Packet, now: Time) -> bool {
        while let Some((_, mark)) = self.heard.pop_front_if(|(until, _)| *until <= now) {
            self.known.remove(&mark);
        }
        let mark = self.mark(packet);
        let is_new = self.known.insert(mark);
        if is_new {
            self.heard.push_back((now + self.hold, mark));
        }
        is_new
    }

    fn mark(&self, packet: &Packet) -> Mark {
        let ends = u64::from(packet.source.0) << 32 | u64::from(packet.destination.0);
        let Body::Udp(header) = &packet.body else { return (ends, 0) };
        match (self.by, header.identification) {
            (By::Identification, Some(identification)) => (ends, identification),
            // The number in the flow stands for the contents, which are a length only.
            (By::Hash, _) | (By::Identification, None) => {
                let mut hash = Digest::default();
                for value in [ends, u64::from(packet.flow.0), header.sequence, header.len.into()] {
                    hash.fold(value);
                }
                (hash.value(), 0)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::Address;
    use crate::packet::{FlowId, UdpHeader};

    fn datagram(source: u32, flow: u32, sequence: u64, identification: Option<u16>) -> Packet {
        Packet {
            source: Address(source),
            destination: Address::local_group(9),
            flow: FlowId(flow),
            ttl: 9,
            ..crate::samples::packet(48, Body::Udp(UdpHeader { sequence, len: 20, identification }))
        }
    }

    const fn at(seconds: u64) -> Time {
        Time::from_nanos(seconds * 1_000_000_000)
    }

    #[test]
    fn a_datagram_is_new_once_until_it_is_forgotten() {
        for by in [By::Hash, By::Identification] {
            let mut duplicates = Duplicates::new(by, Span::from_secs(10));
            let one = datagram(1, 0, 7, Some(7));
            let hop = Packet { ttl: 3, hops: 6, class: 3, ..one.clone() };
            assert!(duplicates.note(&one, at(0)), "{by:?}");
            assert!(!duplicates.note(&hop, at(5)), "{by:?}: what a hop changes tells nothing");
            assert!(duplicates.note(&datagram(2, 0, 7, Some(7)), at(5)), "{by:?}: another source");
            assert!(duplicates.note(&datagram(1, 0, 8, Some(8)), at(5)), "{by:?}: the next one");
            assert!(duplicates.note(&one, at(10)), "{by:?}: the copy after 5 s did not prolong the time");
            assert_eq!((duplicates.known.len(), duplicates.heard.len()), (3, 3), "{by:?}");
        }
    }

    #[test]
    fn the_identification_alone_tells_datagrams_of_a_source_apart() {
        // Two flows of a source, whose identifications the source counts together; and 65,536 datagrams later.
        let first = datagram(1, 0, 0, Some(0));
        for (by, again) in [(By::Identification, false), (By::Hash, true)] {
            let mut duplicates = Duplicates::new(by, Span::from_secs(10));
            assert!(duplicates.note(&first, at(0)) && duplicates.note(&datagram(1, 1, 0, Some(1)), at(0)));
            assert_eq!(duplicates.note(&datagram(1, 0, 0x1_0000, Some(0)), at(1)), again, "{by:?}");
            assert!(duplicates.note(&datagram(1, 0, 0x1_0000, Some(0)), at(11)), "{by:?}: all is forgotten");
        }
    }

    #[test]
    fn a_packet_without_an_identification_is_known_by_its_hash() {
        let mut duplicates = Duplicates::new(By::Identification, Span::from_secs(10));
        assert!(duplicates.note(&datagram(1, 0, 0, None), at(0)));
        assert!(duplicates.note(&datagram(1, 0, 1, None), at(0)));
        assert!(!duplicates.note(&datagram(1, 0, 1, None), at(0)));
    }
}
