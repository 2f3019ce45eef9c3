//! The parts of a network that do not change during a run.

use std::collections::BTreeMap;

use super::MobileRole;
use crate::address::{Address, InterfaceId, NodeId};
use crate::channel::ChannelId;
use crate::ip;
use crate::link::Wired;
use crate::link::wired::Direction;

/// A place where a node is attached to others.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Interface {
    pub node: NodeId,
    pub attachment: Attachment,
}

/// The channel, wire or tunnel of an interface.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Attachment {
    /// A channel, as this one of its stations.
    Radio { channel: ChannelId, station: u32 },
    /// A wire, at the end where this direction starts.
    Wire { wire: usize, direction: Direction },
    /// A tunnel to the node with this address.
    Tunnel { to: Address },
    /// Nothing.
    Nothing,
}

/// The interfaces of all nodes, the roles of nodes among networks whose hosts move, and the parameters of IP.
#[derive(Debug)]
pub(crate) struct Topology {
    /// The first interface of each node, which has the number of the node, and then the further ones.
    pub interfaces: Vec<Interface>,
    /// The further interfaces of the nodes that have such ones.
    pub further: BTreeMap<NodeId, Vec<InterfaceId>>,
    /// The size of the largest packet on each channel, if there is a limit.
    pub mtus: Vec<Option<u32>>,
    /// The roles of nodes among networks whose hosts move; other nodes have none.
    pub roles: BTreeMap<NodeId, MobileRole>,
    pub ip: ip::Params,
}

impl Topology {
    /// The channel, wire or tunnel of an interface.
    #[inline]
    pub(crate) fn attachment(&self, interface: InterfaceId) -> Attachment {
        self.interfaces[interface.index()].attachment
    }

    /// The node that has an interface.
    #[inline]
    pub(crate) fn node(&self, interface: InterfaceId) -> NodeId {
        self.interfaces[interface.index()].node
    }

    /// See [`Around::mtu`](super::Around::mtu).
    pub(crate) fn mtu(&self, interface: InterfaceId, wires: &[Wired]) -> Option<u32> {
        match self.attachment(interface) {
            Attachment::Radio { channel, .. } => self.mtus[channel.index()],
            Attachment::Wire { wire, direction } => wires[wire].mtu(direction),
            Attachment::Tunnel { .. } | Attachment::Nothing => None,
        }
    }

    /// The interfaces of a node, the first one first.
    pub(crate) fn interfaces_of(&self, node: NodeId) -> impl Iterator<Item = InterfaceId> + '_ {
        std::iter::once(node.into()).chain(self.further.get(&node).into_iter().flatten().copied())
    }

    /// Attaches a node to something: by its first interface if that is free, or by a further one.
    pub(crate) fn attach(&mut self, node: NodeId, attachment: Attachment, further: bool) -> InterfaceId {
        let first = &mut self.interfaces[node.index()];
        if !further && matches!(first.attachment, Attachment::Nothing) {
            first.attachment = attachment;
            return node.into();
        }
        let interface = InterfaceId(self.interfaces.len() as u32);
        self.interfaces.push(Interface { node, attachment });
        self.further.entry(node).or_default().push(interface);
        interface
    }
}
