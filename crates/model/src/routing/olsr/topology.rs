//! The topology set (RFC 3626 §4.4, 9.5), the association sets of interfaces (§4.1, 5.4) and of networks (§12.2, 12.5).

use std::sync::Arc;

use hopyard_engine::Time;

use super::message::Tc;
use crate::address::{Address, Prefix};

/// The links that an originator has advertised. All nodes share the message, so that a known link costs its four bytes
/// there and its part of these sixteen.
#[derive(Clone, Debug, Default)]
struct Advertised {
    tc: Option<Arc<Tc>>,
    until: Time,
}

/// How a message changes the topology set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The message is older than the known one.
    Outdated,
    /// It has the known content.
    Renewed,
    /// It replaces what was known.
    Replaced,
}

/// The topology set: a place for each originator (T_last_addr), found by its number. Nodes of this model put their
/// whole advertised set into each TC, so that the tuples of an originator come and expire together.
#[derive(Debug)]
pub struct Topology {
    places: Vec<Advertised>,
    /// No tuple expires before this time.
    pub next_expiry: Time,
}

impl Topology {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self { places: Vec::new(), next_expiry: Time::NEVER }
    }

    /// The links that a node advertises, unless they have expired.
    #[must_use]
    pub fn of(&self, last: Address) -> Option<&Arc<Tc>> {
        self.places.get(last.index())?.tc.as_ref()
    }

    /// A TC (§9.5). The former content of the place is returned with the change.
    pub fn hear(&mut self, last: Address, tc: &Arc<Tc>, until: Time) -> (Change, Option<Arc<Tc>>) {
        if self.places.len() <= last.index() {
            self.places.resize(last.index() + 1, Advertised::default());
        }
        let place = &mut self.places[last.index()];
        if let Some(known) = &place.tc {
            let ahead = tc.ansn.wrapping_sub(known.ansn).cast_signed();
            if ahead < 0 {
                return (Change::Outdated, None);
            }
            if Arc::ptr_eq(known, tc) || known == tc {
                place.until = until;
                return (Change::Renewed, None);
            }
        }
        place.until = until;
        self.next_expiry = self.next_expiry.min(until);
        (Change::Replaced, place.tc.replace(Arc::clone(tc)))
    }

    /// Removes what has expired, and returns it with its originators.
    pub fn expire(&mut self, now: Time) -> Vec<(Address, Arc<Tc>)> {
        let mut gone = Vec::new();
        self.next_expiry = Time::NEVER;
        for (index, place) in self.places.iter_mut().enumerate() {
            if place.tc.is_none() {
                continue;
            }
            if place.until > now {
                self.next_expiry = self.next_expiry.min(place.until);
            } else if let Some(tc) = place.tc.take() {
                gone.push((Address(index as u32), tc));
            }
        }
        gone
    }

    /// Bytes of the set per known link, without the messages, which all nodes share.
    #[cfg(test)]
    pub fn bytes(&self) -> (usize, usize) {
        let links = self.places.iter().filter_map(|it| it.tc.as_ref()).map(|tc| tc.advertised.len()).sum();
        (self.places.capacity() * size_of::<Advertised>(), links)
    }
}

/// The interfaces of other nodes that are not their main ones (§4.1), by address. Few nodes have any.
#[derive(Debug)]
pub struct Interfaces {
    /// Address of the interface, main address of its node, until when.
    tuples: Vec<(Address, Address, Time)>,
    /// No tuple expires before this time.
    pub next_expiry: Time,
}

impl Interfaces {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self { tuples: Vec::new(), next_expiry: Time::NEVER }
    }

    /// Whether no such interface is known.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.tuples.is_empty()
    }

    /// The main address of the node that has an interface (§5.5).
    #[must_use]
    pub fn main(&self, address: Address) -> Address {
        if self.tuples.is_empty() {
            return address;
        }
        let place = self.tuples.binary_search_by_key(&address, |tuple| tuple.0);
        place.map_or(address, |place| self.tuples[place].1)
    }

    /// A MID (§5.4). Whether it says something new.
    pub fn hear(&mut self, main: Address, interfaces: &[Address], until: Time) -> bool {
        let mut new = false;
        for &address in interfaces {
            match self.tuples.binary_search_by_key(&address, |tuple| tuple.0) {
                Ok(place) => {
                    new |= self.tuples[place].1 != main;
                    self.tuples[place] = (address, main, until);
                }
                Err(place) => {
                    new = true;
                    self.tuples.insert(place, (address, main, until));
                }
            }
        }
        self.next_expiry = self.next_expiry.min(until);
        new
    }

    /// Removes what has expired. Whether anything has.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.tuples.len();
        self.tuples.retain(|tuple| tuple.2 > now);
        self.next_expiry = self.tuples.iter().map(|tuple| tuple.2).min().unwrap_or(Time::NEVER);
        self.tuples.len() < before
    }
}

/// The networks that gateways lead to (§12.2).
#[derive(Debug)]
pub struct Gateways {
    /// The networks that this node itself announces.
    pub own: Vec<Prefix>,
    /// Network, main address of the gateway, until when; sorted.
    tuples: Vec<(Prefix, Address, Time)>,
    /// No tuple expires before this time.
    pub next_expiry: Time,
}

impl Gateways {
    /// Nothing is known.
    #[must_use]
    pub const fn new() -> Self {
        Self { own: Vec::new(), tuples: Vec::new(), next_expiry: Time::NEVER }
    }

    /// An HNA (§12.5).
    pub fn hear(&mut self, gateway: Address, networks: &[Prefix], until: Time) {
        for &network in networks {
            match self.tuples.binary_search_by_key(&(network, gateway), |tuple| (tuple.0, tuple.1)) {
                Ok(place) => self.tuples[place].2 = until,
                Err(place) => self.tuples.insert(place, (network, gateway, until)),
            }
        }
        self.next_expiry = self.next_expiry.min(until);
    }

    /// Removes what has expired. Whether anything has.
    pub fn expire(&mut self, now: Time) -> bool {
        let before = self.tuples.len();
        self.tuples.retain(|tuple| tuple.2 > now);
        self.next_expiry = self.tuples.iter().map(|tuple| tuple.2).min().unwrap_or(Time::NEVER);
        self.tuples.len() < before
    }

    /// The gateways whose networks contain an address, each with the length of the network's prefix. The wire of this
    /// node to an address that the node announces itself, if there is one.
    pub fn to(&self, address: std::net::Ipv4Addr) -> impl Iterator<Item = (u8, Address)> + '_ {
        let own = self.own.iter().filter(|prefix| prefix.contains(address)).map(|prefix| prefix.length()).max();
        let longer = move |prefix: Prefix| own.is_none_or(|own| prefix.length() > own);
        let fit = self.tuples.iter().filter(move |tuple| tuple.0.contains(address) && longer(tuple.0));
        fit.map(|tuple| (tuple.0.length(), tuple.1))
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
    fn s9_5_an_older_ansn_changes_nothing_and_a_newer_one_replaces_all() {
        let tc = |ansn, advertised: &[u32]| {
            let advertised = advertised.iter().map(|&node| Address(node)).collect();
            Arc::new(Tc { ansn, advertised, qualities: Vec::new() })
        };
        let mut set = Topology::new();
        let first = tc(u16::MAX, &[1, 2]);
        assert_eq!(set.hear(Address(9), &first, at(15)), (Change::Replaced, None));
        assert_eq!(set.hear(Address(9), &tc(u16::MAX, &[1, 2]), at(20)).0, Change::Renewed);
        assert_eq!(set.hear(Address(9), &tc(u16::MAX - 1, &[3]), at(21)).0, Change::Outdated);
        assert_eq!(set.hear(Address(9), &tc(3, &[]), at(22)), (Change::Replaced, Some(first)), "beyond the wrap");
        assert_eq!(set.expire(at(21)), []);
        assert_eq!(set.next_expiry, at(22));
        assert_eq!(set.expire(at(22)).len(), 1);
        assert!(set.of(Address(9)).is_none() && set.of(Address(100)).is_none());
    }

    #[test]
    fn s12_2_a_gateway_is_known_until_its_time_and_by_its_networks() {
        let mut set = Gateways::new();
        let [wide, narrow]: [Prefix; 2] = ["0.0.0.0/0", "192.168.0.0/16"].map(|text| text.parse().expect("a prefix"));
        set.hear(Address(1), &[wide, narrow], at(15));
        set.hear(Address(2), &[wide], at(16));
        let to = |set: &Gateways, text: &str| set.to(text.parse().expect("an address")).collect::<Vec<_>>();
        assert_eq!(to(&set, "192.168.3.4"), [(0, Address(1)), (0, Address(2)), (16, Address(1))]);
        assert_eq!(to(&set, "8.8.8.8"), [(0, Address(1)), (0, Address(2))]);
        assert!(set.expire(at(15)) && !set.expire(at(15)));
        assert_eq!(to(&set, "192.168.3.4"), [(0, Address(2))]);
    }
}
