//! The forwarding table of a node: which way packets for a prefix go.
//!
//! Read: RFC 1812 §5.2.4.3 (longest match).

use std::net::Ipv4Addr;

use crate::address::{Address, InterfaceId, Prefix};

/// The way of packets whose destination is in a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The routing protocol decides: it sends the packet, holds it, or drops it.
    Protocol,
    /// The destination is a neighbour.
    Direct,
    /// To this neighbour.
    Via(Address),
    /// Through a tunnel, which is this interface of the node.
    Tunnel(InterfaceId),
    /// To the next hop that the routing protocol has towards this address; without one, the packet is dropped.
    Towards(Address),
    /// Into a tunnel that an agent has set up.
    Into {
        /// The other end.
        to: Address,
        /// The form of the outer header.
        form: Form,
    },
}

/// How a packet is put into another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// IP in IP (RFC 2003).
    #[default]
    IpInIp,
    /// Minimal encapsulation (RFC 2004).
    Minimal,
}

/// How an agent changes the way of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WayChange {
    /// Packets go this way, and no other.
    Only(Way),
    /// A copy of each packet goes this way too.
    Also(Way),
    /// No packet goes this way any more.
    Not(Way),
    /// No way that an agent has set is left. What the table had before counts again.
    Clear,
}

/// Prefixes, each with the way of its packets. A host route has a prefix of 32 bits, the default route one of 0 bits.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The longest prefix first.
    entries: Vec<(Prefix, Way)>,
}

impl Table {
    /// A table with which the routing protocol decides for every destination.
    #[must_use]
    pub fn of_protocol() -> Self {
        Self { entries: vec![(Prefix::DEFAULT, Way::Protocol)] }
    }

    /// Adds an entry, or replaces the one of the same prefix.
    pub fn insert(&mut self, prefix: Prefix, way: Way) {
        let key = |prefix: &Prefix| (u8::MAX - prefix.length(), prefix.first());
        match self.entries.binary_search_by_key(&key(&prefix), |(it, _)| key(it)) {
            Ok(place) => self.entries[place].1 = way,
            Err(place) => self.entries.insert(place, (prefix, way)),
        }
    }

    /// The way of packets to a destination: that of the longest prefix which contains it.
    #[must_use]
    pub fn lookup(&self, destination: Ipv4Addr) -> Option<Way> {
        self.entries.iter().find(|(prefix, _)| prefix.contains(destination)).map(|&(_, way)| way)
    }

    /// Every entry, the longest prefix first.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, Way)> + '_ {
        self.entries.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prefix(text: &str) -> Prefix {
        text.parse().expect("a prefix")
    }

    fn ip(text: &str) -> Ipv4Addr {
        text.parse().expect("an address")
    }

    #[test]
    fn the_longest_prefix_decides() {
        let mut table = Table::default();
        table.insert(prefix("0.0.0.0/0"), Way::Via(Address(1)));
        table.insert(prefix("10.0.0.0/8"), Way::Protocol);
        table.insert(prefix("10.1.0.0/16"), Way::Via(Address(2)));
        table.insert(prefix("10.1.2.3/32"), Way::Direct);
        table.insert(prefix("192.168.0.0/30"), Way::Direct);
        for (destination, way) in [
            ("10.1.2.3", Way::Direct),
            ("10.1.2.4", Way::Via(Address(2))),
            ("10.2.2.3", Way::Protocol),
            ("192.168.0.2", Way::Direct),
            ("192.168.0.4", Way::Via(Address(1))),
        ] {
            assert_eq!(table.lookup(ip(destination)), Some(way), "{destination}");
        }
        table.insert(prefix("10.1.0.0/16"), Way::Via(Address(3)));
        assert_eq!(table.lookup(ip("10.1.0.1")), Some(Way::Via(Address(3))), "a prefix has one way");
        assert_eq!(table.iter().count(), 5);
        assert_eq!(Table::default().lookup(ip("10.0.0.1")), None);
    }
}
