//! The numbers by which nodes and their interfaces are known.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

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

/// The addresses from here on belong to no interface.
const FIRST_GROUP: u32 = u32::MAX - 0x100;

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

    /// The IPv4 address of a multicast group, and the broadcast address; nothing for the address of an interface.
    #[must_use]
    pub const fn group(self) -> Option<Ipv4Addr> {
        match self.0 {
            u32::MAX => Some(Ipv4Addr::BROADCAST),
            FIRST_GROUP.. => Some(Ipv4Addr::new(224, 0, 0, (self.0 - FIRST_GROUP) as u8)),
            _ => None,
        }
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

/// A block of IPv4 addresses, such as "10.1.0.0/16" (RFC 4632 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    first: u32,
    length: u8,
}

impl Prefix {
    /// The prefix of every address: that of the default route.
    pub const DEFAULT: Self = Self { first: 0, length: 0 };

    /// The prefix of `length` bits that contains an address.
    ///
    /// # Panics
    /// If the length is greater than 32.
    #[must_use]
    pub const fn of(address: Ipv4Addr, length: u8) -> Self {
        assert!(length <= 32, "an IPv4 address has 32 bits");
        Self { first: address.to_bits() & mask(length), length }
    }

    /// The first address of the block.
    #[must_use]
    pub const fn first(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first)
    }

    /// How many bits all addresses of the block have in common.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in the block.
    #[inline]
    #[must_use]
    pub const fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.length) == self.first
    }

    /// Whether two blocks have an address in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        let shorter = if self.length < other.length { self.length } else { other.length };
        self.first & mask(shorter) == other.first & mask(shorter)
    }

    /// The address of host `number` in the block, counted from 1; `None` if the block has no room for it. The last
    /// address of a block is its broadcast address.
    #[must_use]
    pub const fn host(self, number: u32) -> Option<Ipv4Addr> {
        let last = !mask(self.length);
        if number == 0 || number >= last { None } else { Some(Ipv4Addr::from_bits(self.first | number)) }
    }
}

const fn mask(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a prefix such as \"10.1.0.0/16\", found \"{text}\"");
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().ok().filter(|length| *length <= 32).ok_or_else(wrong)?;
        let prefix = Self::of(address, length);
        if prefix.first() == address {
            Ok(prefix)
        } else {
            Err(format!("expected the first address of the block, {prefix}; found \"{text}\""))
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first(), self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_block_of_addresses() {
        let prefix: Prefix = "10.1.0.0/16".parse().expect("a prefix");
        let ip = |text: &str| text.parse::<Ipv4Addr>().expect("an address");
        assert!(prefix.contains(ip("10.1.255.255")) && !prefix.contains(ip("10.2.0.0")));
        assert_eq!(prefix.host(1), Some(ip("10.1.0.1")));
        assert_eq!((prefix.host(0), prefix.host(65_535)), (None, None), "the network's own, and its broadcast address");
        assert_eq!(prefix.host(65_534), Some(ip("10.1.255.254")));
        assert_eq!(prefix.to_string(), "10.1.0.0/16");
        let overlaps = |other: &str| prefix.overlaps(other.parse().expect("a prefix"));
        assert!(overlaps("10.1.2.0/24") && overlaps("10.0.0.0/8") && overlaps("0.0.0.0/0") && !overlaps("10.2.0.0/16"));
        let wire: Prefix = "192.168.0.4/30".parse().expect("a prefix");
        assert_eq!((wire.host(2), wire.host(3)), (Some(ip("192.168.0.6")), None));
    }

    #[test]
    fn groups_are_not_addresses_of_interfaces() {
        let name = |address: Address| address.group().map(|it| it.to_string());
        assert_eq!(name(Address::MANET_ROUTERS).as_deref(), Some("224.0.0.109"));
        assert_eq!(name(Address::local_group(255)).as_deref(), Some("224.0.0.255"));
        assert_eq!(name(Address::BROADCAST).as_deref(), Some("255.255.255.255"));
        assert_eq!((name(Address(7)), Address(7).is_group()), (None, false));
        let [group, all] = [Address::MANET_ROUTERS, Address::BROADCAST];
        assert!(group.is_group() && all.is_group() && !group.is_broadcast() && all.is_broadcast());
        assert_eq!((group.to_string(), all.to_string()), ("224.0.0.109".into(), "broadcast".into()));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["10.1.0.0", "10.1.0.0/33", "10.1.0/16", "10.1.0.0/x", "", "/", "10.1.0.0/-1", "a/8"] {
            assert!(text.parse::<Prefix>().expect_err("no prefix").contains("such as"), "{text}");
        }
        let error = "10.1.2.0/16".parse::<Prefix>().expect_err("it is not the first");
        assert!(error.contains("10.1.0.0/16") && error.contains("10.1.2.0/16"), "{error}");
    }
}
