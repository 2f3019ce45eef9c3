//! Networks outside of the ad hoc network, and the gateways that reach them.
//!
//! Neither the paper of DSDV nor Karlsson and Kassler (2009), who ran DSDV with gateways, describes how a node learns
//! of them. Here a gateway tells the prefixes behind it as further destinations, with its own sequence number and one
//! hop more than to itself. Each node sends packets for an outside destination towards the nearest gateway with the
//! longest matching prefix. While news of a break spreads, two neighbours may take different gateways for the nearest.
//! Therefore a node does not send such a packet back to the neighbour that the packet came from.

use std::net::Ipv4Addr;

use super::table::{Entry, Table};
use crate::address::{Address, Prefix};
use crate::routing::Networks;

/// A destination outside that packets were for.
#[derive(Clone, Copy, Debug)]
pub struct Outside {
    /// The destination.
    pub destination: Address,
    address: Ipv4Addr,
    /// The route that was announced last, if data go there.
    pub announced: Option<(Address, u8)>,
}

/// The knowledge of networks outside.
#[derive(Debug, Default)]
pub struct Gateways {
    /// Gateways with the prefixes that each reaches, in order.
    networks: Vec<(Address, Prefix)>,
    /// Prefixes in which this node knows each host: the prefixes of its own channels.
    own: Vec<Prefix>,
    /// The prefixes of all channels, to which no default route leads.
    ad_hoc: Vec<Prefix>,
    /// In order.
    outside: Vec<Outside>,
}

impl Gateways {
    /// The knowledge, at first, of a node that is attached to these networks.
    #[must_use]
    pub fn new(networks: &Networks) -> Self {
        Self {
            own: networks.radios.iter().map(|&(_, prefix)| prefix).collect(),
            ad_hoc: networks.ad_hoc.to_vec(),
            ..Self::default()
        }
    }

    /// Whether no gateway is known.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    fn range(&self, gateway: Address) -> std::ops::Range<usize> {
        let start = self.networks.partition_point(|it| it.0 < gateway);
        start..start + self.networks[start..].partition_point(|it| it.0 == gateway)
    }

    /// The prefixes behind a node.
    pub fn of(&self, gateway: Address) -> impl Iterator<Item = Prefix> + '_ {
        self.networks[self.range(gateway)].iter().map(|it| it.1)
    }

    /// A node reaches these prefixes, and no others. Whether it is, or was, a gateway.
    pub fn set(&mut self, gateway: Address, prefixes: impl Iterator<Item = Prefix>) -> bool {
        let mut prefixes = prefixes.peekable();
        if self.networks.is_empty() && prefixes.peek().is_none() {
            return false;
        }
        let range = self.range(gateway);
        let before = range.len();
        let start = range.start;
        self.networks.splice(range, prefixes.map(|prefix| (gateway, prefix)));
        self.networks[start..].sort_unstable();
        before > 0 || self.networks.get(start).is_some_and(|it| it.0 == gateway)
    }

    /// Whether a destination with this address is sought behind gateways.
    fn is_outside(&self, address: Ipv4Addr) -> bool {
        !address.is_unspecified() && !self.own.iter().any(|prefix| prefix.contains(address))
    }

    /// Notes a destination, if it is outside. Its address is `address`.
    pub fn note(&mut self, destination: Address, address: Ipv4Addr) {
        if !self.is_outside(address) {
            return;
        }
        if let Err(place) = self.outside.binary_search_by_key(&destination, |it| it.destination) {
            self.outside.insert(place, Outside { destination, address, announced: None });
        }
    }

    /// A destination outside that was noted.
    pub fn get_mut(&mut self, destination: Address) -> Option<&mut Outside> {
        let place = self.outside.binary_search_by_key(&destination, |it| it.destination).ok()?;
        self.outside.get_mut(place)
    }

    /// The destinations outside.
    pub fn outside(&self) -> impl Iterator<Item = &Outside> {
        self.outside.iter()
    }

    /// The next hop and the hops to a destination outside, not through the neighbour `except`.
    #[must_use]
    pub fn way(
        &self,
        destination: Address,
        table: &Table,
        infinity: u8,
        except: Option<Address>,
    ) -> Option<(Address, u8)> {
        if self.networks.is_empty() {
            return None;
        }
        let place = self.outside.binary_search_by_key(&destination, |it| it.destination).ok()?;
        self.way_to(self.outside[place].address, table, infinity, except)
    }

    /// The same to an address, for which no packet may have come yet.
    #[must_use]
    pub fn way_to(
        &self,
        address: Ipv4Addr,
        table: &Table,
        infinity: u8,
        except: Option<Address>,
    ) -> Option<(Address, u8)> {
        if !self.is_outside(address) {
            return None;
        }
        let ad_hoc = self.ad_hoc.iter().any(|prefix| prefix.contains(address));
        let reached = self.networks.iter().filter_map(|&(gateway, prefix)| {
            let entry = table.get(gateway).filter(|entry| entry.metric < infinity && Some(entry.next_hop) != except)?;
            (prefix.contains(address) && !(ad_hoc && prefix == Prefix::DEFAULT)).then_some((prefix, entry))
        });
        let best = |&(prefix, entry): &(Prefix, &Entry)| (u8::MAX - prefix.length(), entry.metric, entry.destination);
        // If this node is itself the gateway, IP sends the packet over the wires.
        reached
            .min_by_key(best)
            .filter(|(_, entry)| entry.metric > 0)
            .map(|(_, entry)| (entry.next_hop, entry.metric.saturating_add(1)))
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::{Span, Time};

    use super::*;

    #[test]
    fn the_longest_prefix_comes_before_the_nearest_gateway() {
        let prefix = |text: &str| text.parse::<Prefix>().expect("a prefix");
        let networks = Networks {
            radios: vec![(Address(0), prefix("10.0.0.0/16"))],
            wires: Vec::new(),
            ad_hoc: [prefix("10.0.0.0/16"), prefix("172.16.0.0/16")].into(),
            wired: Vec::new(),
        };
        let mut gateways = Gateways::new(&networks);
        let mut table = Table::default();
        for (gateway, metric) in [(5, 2), (6, 3), (7, 1)] {
            let entry = Entry::new(Address(gateway), metric, Span::ZERO, Time::ZERO);
            table.put(Entry { next_hop: Address(gateway + 10), ..entry });
        }
        assert!(!gateways.set(Address(4), std::iter::empty()), "node 4 is no gateway");
        gateways.set(Address(6), [prefix("192.168.0.0/16"), prefix("192.168.9.0/24")].into_iter());
        gateways.set(Address(5), [prefix("192.168.0.0/16")].into_iter());
        gateways.set(Address(7), std::iter::once(Prefix::DEFAULT));
        for (number, address) in [(100, [192, 168, 1, 1]), (101, [192, 168, 9, 1]), (102, [8, 8, 8, 8])] {
            gateways.note(Address(number), Ipv4Addr::from(address));
        }
        gateways.note(Address(103), Ipv4Addr::new(10, 0, 0, 9));
        gateways.note(Address(104), Ipv4Addr::new(172, 16, 0, 9));
        let way = |gateways: &Gateways, table: &Table, number| gateways.way(Address(number), table, 250, None);
        assert_eq!(way(&gateways, &table, 100), Some((Address(15), 3)), "the nearest of two with the same prefix");
        assert_eq!(way(&gateways, &table, 101), Some((Address(16), 4)), "the longest prefix");
        assert_eq!(way(&gateways, &table, 102), Some((Address(17), 2)), "the default route");
        assert_eq!(way(&gateways, &table, 103), None, "an address of this channel is not outside");
        assert_eq!(way(&gateways, &table, 104), None, "no default route leads into the ad hoc network");
        table.put(Entry::new(Address(5), 250, Span::ZERO, Time::ZERO));
        assert_eq!(way(&gateways, &table, 100), Some((Address(16), 4)), "the other gateway takes over");
        assert!(gateways.set(Address(6), std::iter::empty()), "it was one");
        assert_eq!(way(&gateways, &table, 100), Some((Address(17), 2)));
    }
}
