//! The forwarding table of a node: which way packets for a prefix go.
//!
//! Read: RFC 1812 §5.2.4.3 (longest match).

use std::net::Ipv4Addr;
use std::ops::Range;

use crate::address::{Address, Prefix};
use crate::context::{Way, WayChange};

/// Prefixes, each with the way of its packets. A host route has a prefix of 32 bits, the default route one of 0 bits.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The longest prefix first.
    entries: Vec<(Prefix, Way)>,
    /// The ways that agents have set, the longest prefix first, and ways of one prefix in the order in which they were
    /// set. Among equal prefixes, theirs counts.
    set: Vec<(Prefix, Way)>,
    /// The ways of packets that come from these sources, wherever they go, sorted.
    of_sources: Vec<(Address, Way)>,
}

impl Table {
    /// A table with which the routing protocol decides for every destination.
    #[must_use]
    pub fn of_protocol() -> Self {
        Self { entries: vec![(Prefix::DEFAULT, Way::Protocol)], ..Self::default() }
    }

    /// Adds an entry, or replaces the one of the same prefix.
    pub fn insert(&mut self, prefix: Prefix, way: Way) {
        match self.entries.binary_search_by_key(&key(&prefix), |(it, _)| key(it)) {
            Ok(place) => self.entries[place].1 = way,
            Err(place) => self.entries.insert(place, (prefix, way)),
        }
    }

    /// The way of packets to a destination: the way of the longest prefix which contains it.
    #[must_use]
    pub fn lookup(&self, destination: Ipv4Addr) -> Option<Way> {
        let contains = |(prefix, _): &&(Prefix, Way)| prefix.contains(destination);
        let own = self.entries.iter().find(contains);
        let found = match self.set.iter().find(contains) {
            Some(set) if own.is_none_or(|own| own.0.length() <= set.0.length()) => Some(set),
            _ => own,
        };
        found.map(|&(_, way)| way)
    }

    /// The ways that copies of a packet to a destination go, besides that which [`Self::lookup`] finds.
    pub fn further(&self, destination: Ipv4Addr) -> impl Iterator<Item = Way> + '_ {
        let first = self.set.iter().position(|(prefix, _)| prefix.contains(destination)).unwrap_or(self.set.len());
        let prefix = self.set.get(first).map(|&(prefix, _)| prefix);
        let is_hidden = self
            .entries
            .iter()
            .any(|(own, _)| own.contains(destination) && prefix.is_some_and(|prefix| own.length() > prefix.length()));
        let others = self.set[first..].iter().skip(1).take_while(move |(other, _)| Some(*other) == prefix);
        others.filter(move |_| !is_hidden).map(|&(_, way)| way)
    }

    /// Where the ways are that agents have set for exactly this prefix.
    fn places(&self, prefix: &Prefix) -> Range<usize> {
        let start = self.set.partition_point(|(it, _)| key(it) < key(prefix));
        start..start + self.set[start..].iter().take_while(|(it, _)| it == prefix).count()
    }

    /// Whether an agent has set a way to this host alone.
    #[must_use]
    pub fn has_host(&self, name: Ipv4Addr) -> bool {
        !self.places(&Prefix::of(name, 32)).is_empty()
    }

    /// Whether an agent has set a tunnel to this end as a way to this host.
    #[must_use]
    pub fn leads_into(&self, host: Ipv4Addr, end: Address) -> bool {
        let its = &self.set[self.places(&Prefix::of(host, 32))];
        its.iter().any(|(_, way)| matches!(way, Way::Into { to, .. } if *to == end))
    }

    /// The way of packets that a node passes on for this source, whatever their destination, if an agent has set one.
    #[must_use]
    pub fn of_source(&self, source: Address) -> Option<Way> {
        let place = self.of_sources.binary_search_by_key(&source, |&(it, _)| it).ok()?;
        Some(self.of_sources[place].1)
    }

    /// An agent changes the ways of a prefix.
    pub fn change(&mut self, prefix: Prefix, change: WayChange) {
        let own = self.places(&prefix);
        match change {
            WayChange::Only(way) => drop(self.set.splice(own, [(prefix, way)])),
            WayChange::Also(way) if self.set[own.clone()].contains(&(prefix, way)) => {}
            WayChange::Also(way) => self.set.insert(own.end, (prefix, way)),
            WayChange::Not(way) => self.set.retain(|it| *it != (prefix, way)),
            WayChange::Clear => drop(self.set.drain(own)),
        }
    }

    /// An agent sets or withdraws the way of packets from a source.
    pub fn change_source(&mut self, source: Address, way: Option<Way>) {
        let place = self.of_sources.partition_point(|&(it, _)| it < source);
        if self.of_sources.get(place).is_some_and(|&(it, _)| it == source) {
            self.of_sources.remove(place);
        }
        if let Some(way) = way {
            self.of_sources.insert(place, (source, way));
        }
    }

    /// Every entry that no agent has set, the longest prefix first.
    pub fn iter(&self) -> impl Iterator<Item = (Prefix, Way)> + '_ {
        self.entries.iter().copied()
    }
}

/// The order of entries: the longest prefix first.
fn key(prefix: &Prefix) -> (u8, Ipv4Addr) {
    (u8::MAX - prefix.length(), prefix.first())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Form;

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

    #[test]
    fn what_agents_set_stands_above_the_same_prefix_and_goes_again() {
        let (host, other) = (prefix("10.0.0.7/32"), ip("10.0.0.8"));
        let into = |to| Way::Into { to: Address(to), form: Form::IpInIp };
        let mut table = Table::of_protocol();
        table.insert(prefix("10.0.0.8/32"), Way::Direct);
        table.change(prefix("0.0.0.0/0"), WayChange::Only(Way::Via(Address(1))));
        table.change(host, WayChange::Only(into(2)));
        table.change(host, WayChange::Also(into(3)));
        table.change(host, WayChange::Also(into(3)));
        let further = |table: &Table, name| table.further(name).collect::<Vec<_>>();
        assert_eq!((table.lookup(ip("10.0.0.7")), further(&table, ip("10.0.0.7"))), (Some(into(2)), vec![into(3)]));
        assert_eq!((table.lookup(other), further(&table, other)), (Some(Way::Direct), vec![]), "a longer prefix");
        assert_eq!(table.lookup(ip("10.0.0.9")), Some(Way::Via(Address(1))));
        assert!(table.has_host(ip("10.0.0.7")) && !table.has_host(other));
        table.change(host, WayChange::Not(into(2)));
        assert_eq!((table.lookup(ip("10.0.0.7")), further(&table, ip("10.0.0.7"))), (Some(into(3)), vec![]));
        table.change(host, WayChange::Clear);
        table.change(prefix("0.0.0.0/0"), WayChange::Clear);
        assert_eq!(table.lookup(ip("10.0.0.7")), Some(Way::Protocol));
        table.change_source(Address(7), Some(into(4)));
        table.change_source(Address(7), Some(into(5)));
        assert_eq!((table.of_source(Address(7)), table.of_source(Address(6))), (Some(into(5)), None));
        table.change_source(Address(7), None);
        assert_eq!(table.of_source(Address(7)), None);
    }
}
