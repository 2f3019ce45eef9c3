//! The numbers by which nodes and their interfaces are known.

use std::fmt;
use std::net::Ipv4Addr;

use hopyard_wire::HardwareAddress;
pub use hopyard_wire::Prefix;

/// A node's number; nodes are counted from zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The node's place in arrays over all nodes.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// An interface's number. Interface n is the first interface of node n; the numbers of further interfaces follow.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InterfaceId(pub u32);

impl InterfaceId {
    /// The link address of every interface in reach.
    pub const BROADCAST: Self = Self(u32::MAX);

    /// The interface's place in arrays over all interfaces.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this is the link address of every interface in reach.
    #[inline]
    #[must_use]
    pub const fn is_broadcast(self) -> bool {
        self.0 == u32::MAX
    }

    /// The link address in bytes: interface 0 has 02:00:00:00:00:01, a locally administered address.
    #[must_use]
    pub const fn station(self) -> HardwareAddress {
        if self.is_broadcast() {
            return HardwareAddress::BROADCAST;
        }
        let [a, b, c, d] = (self.0 + 1).to_be_bytes();
        HardwareAddress([0x02, 0, a, b, c, d])
    }

    /// The interface with a link address that [`Self::station`] gives; nothing for any other address.
    #[must_use]
    pub fn of_station(address: HardwareAddress) -> Option<Self> {
        let [2, 0, a, b, c, d] = address.0 else { return None };
        u32::from_be_bytes([a, b, c, d]).checked_sub(1).map(Self)
    }
}

impl From<NodeId> for InterfaceId {
    /// The node's first interface.
    #[inline]
    fn from(node: NodeId) -> Self {
        Self(node.0)
    }
}

impl From<Address> for InterfaceId {
    /// The interface that has the address; of the broadcast address, the broadcast link address.
    #[inline]
    fn from(address: Address) -> Self {
        Self(address.0)
    }
}

impl fmt::Display for InterfaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_broadcast() { f.write_str("broadcast") } else { write!(f, "{}", self.0) }
    }
}

impl fmt::Debug for InterfaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The addresses from here on belong to no interface: each is the IPv4 address of a multicast group (224.0.0.0/4), or
/// broadcast.
const FIRST_GROUP: u32 = Ipv4Addr::new(224, 0, 0, 0).to_bits();

/// An address of the network layer. Inside the simulator, an address is the number of the interface that has it, so
/// that tables over all addresses are arrays. To the user it is an IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u32);

impl Address {
    /// The address of every node in reach.
    pub const BROADCAST: Self = Self(u32::MAX);
    /// The multicast group of all MANET routers in reach, 224.0.0.109 (RFC 5498).
    pub const MANET_ROUTERS: Self = Self::local_group(109);

    /// The multicast group 224.0.0.`number`, whose packets reach the neighbours and are not forwarded (RFC 5771 §4).
    #[must_use]
    pub const fn local_group(number: u8) -> Self {
        Self(FIRST_GROUP + number as u32)
    }

    /// The address of a multicast group; nothing for any other IPv4 address.
    #[must_use]
    pub const fn of_group(address: Ipv4Addr) -> Option<Self> {
        if address.is_multicast() { Some(Self(address.to_bits())) } else { None }
    }

    /// Whether this is a multicast group whose packets may be forwarded: one beyond 224.0.0.0/24 (RFC 5771 §4).
    #[inline]
    #[must_use]
    pub const fn is_wide_group(self) -> bool {
        self.0 > FIRST_GROUP + 0xff && !self.is_broadcast()
    }

    /// The IPv4 address of a multicast group, and the broadcast address; nothing for the address of an interface.
    #[must_use]
    pub const fn group(self) -> Option<Ipv4Addr> {
        if self.is_group() { Some(Ipv4Addr::from_bits(self.0)) } else { None }
    }

    /// Whether this is a multicast group or the broadcast address: packets for it are for every node in reach.
    #[inline]
    #[must_use]
    pub const fn is_group(self) -> bool {
        self.0 >= FIRST_GROUP
    }

    /// The address's place in arrays over all addresses.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this is the broadcast address.
    #[inline]
    #[must_use]
    pub const fn is_broadcast(self) -> bool {
        self.0 == u32::MAX
    }
}

impl From<InterfaceId> for Address {
    /// The interface's address.
    #[inline]
    fn from(interface: InterfaceId) -> Self {
        Self(interface.0)
    }
}

impl From<NodeId> for Address {
    /// The address of the node's first interface.
    #[inline]
    fn from(node: NodeId) -> Self {
        Self(node.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.group() {
            Some(_) if self.is_broadcast() => f.write_str("broadcast"),
            Some(group) => group.fmt(f),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn link_addresses_lead_back_to_interfaces() {
        for number in [0, 1, 255, 70_000] {
            assert_eq!(InterfaceId::of_station(InterfaceId(number).station()), Some(InterfaceId(number)));
        }
        let others = [[2, 0, 0, 0, 0, 0], [2, 1, 0, 0, 0, 1], [0x33, 0x33, 0, 0, 0, 1], [0xff; 6]];
        assert_eq!(others.map(|it| InterfaceId::of_station(HardwareAddress(it))), [None; 4]);
    }

    #[test]
    fn groups_are_not_addresses_of_interfaces() {
        let name = |address: Address| address.group().map(|it| it.to_string());
        assert_eq!(name(Address::MANET_ROUTERS).as_deref(), Some("224.0.0.109"));
        assert_eq!(name(Address::local_group(255)).as_deref(), Some("224.0.0.255"));
        assert_eq!(name(Address::BROADCAST).as_deref(), Some("255.255.255.255"));
        assert_eq!((name(Address(7)), Address(7).is_group()), (None, false));
        let wide = Address::of_group(Ipv4Addr::new(239, 1, 2, 3)).expect("a group");
        assert_eq!((name(wide).as_deref(), wide.is_group(), wide.is_wide_group()), (Some("239.1.2.3"), true, true));
        assert_eq!(Address::of_group(Ipv4Addr::new(10, 0, 0, 1)), None);
        let near = [Address::MANET_ROUTERS, Address::local_group(255), Address::BROADCAST, Address(7)];
        assert!(near.into_iter().all(|it| !it.is_wide_group()), "they reach the neighbours, or one node");
        let [group, all] = [Address::MANET_ROUTERS, Address::BROADCAST];
        assert!(group.is_group() && all.is_group() && !group.is_broadcast() && all.is_broadcast());
        assert_eq!((group.to_string(), all.to_string()), ("224.0.0.109".into(), "broadcast".into()));
    }
}
