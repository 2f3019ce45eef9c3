//! The numbers by which nodes and their interfaces are known.

use std::fmt;

/// A node's number; nodes are counted from zero. Also its address, on the network layer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(pub u32);

impl NodeId {
    /// The address of every node in reach.
    pub const BROADCAST: Self = Self(u32::MAX);

    /// The node's place in arrays over all nodes.
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

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_broadcast() { f.write_str("broadcast") } else { write!(f, "{}", self.0) }
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
    /// The node's first interface; of the broadcast address, the broadcast link address.
    #[inline]
    fn from(node: NodeId) -> Self {
        Self(node.0)
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
