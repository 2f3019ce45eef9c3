//! The numbers by which nodes and their interfaces are known.

use std::fmt;

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

/// An address of the network layer. Inside the simulator, an address is the number of the interface that has it, so
/// that tables over all addresses are arrays. To the user it is an IPv4 address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address(pub u32);

impl Address {
    /// The address of every node in reach.
    pub const BROADCAST: Self = Self(u32::MAX);

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
        if self.is_broadcast() { f.write_str("broadcast") } else { write!(f, "{}", self.0) }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
