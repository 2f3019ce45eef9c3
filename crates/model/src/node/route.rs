//! IP passes a packet on: by the table of the node, or as its routing protocol decides.

use super::{Around, Node};
use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, DropReason, Owners};
use crate::ip::{Table, Way, WayChange};
use crate::observe::Probe;
use crate::packet::{Form, PacketId};
use crate::routing::Routing as _;

impl Node {
    /// Passes a packet on.
    #[inline]
    pub(crate) fn route<P: Probe>(&mut self, packet: PacketId, around: &mut Around<'_, P>) {
        if self.table.is_none() {
            return self.routing(around.clock, around.cx.now).route(packet, around.cx);
        }
        self.route_by_table(packet, around);
    }

    /// Sends a packet the way that the table says, and copies of it the further ones.
    fn route_by_table<P: Probe>(&mut self, packet: PacketId, around: &mut Around<'_, P>) {
        let Some(table) = &self.table else { return };
        let it = &around.cx.packets[packet];
        let destination = it.destination;
        let name = around.cx.owners.name(destination);
        // A visitor is a neighbour. What it sent and comes from elsewhere has been through its tunnel already.
        let of_source = if it.hops == 1 { table.of_source(it.source) } else { None };
        let way = of_source.or_else(|| table.lookup(name));
        let further: Vec<Way> = if of_source.is_some() { Vec::new() } else { table.further(name).collect() };
        for way in further {
            let copy = around.cx.copy(packet);
            self.send_by_way(copy, destination, Some(way), around);
        }
        self.send_by_way(packet, destination, way, around);
    }

    /// Sends a packet one way.
    pub(crate) fn send_by_way<P: Probe>(
        &mut self,
        packet: PacketId,
        destination: Address,
        way: Option<Way>,
        around: &mut Around<'_, P>,
    ) {
        let node = self.id;
        match way {
            Some(Way::Protocol) => self.routing(around.clock, around.cx.now).route(packet, around.cx),
            Some(Way::Direct) => around.cx.act(Action::Send { node, packet, next_hop: destination }),
            Some(Way::Via(next_hop)) => around.cx.act(Action::Send { node, packet, next_hop }),
            Some(Way::Tunnel(interface)) => self.send_at(interface, packet, destination, around),
            Some(Way::Nowhere) => around.cx.drop_packet(node, packet, DropReason::NotRegistered),
            Some(Way::Towards(router)) => {
                self.routing(around.clock, around.cx.now).route_towards(packet, router, node, around.cx);
            }
            Some(Way::Into { to, form }) => self.enters_agent_tunnel(packet, to, form, around),
            None => around.cx.drop_packet(node, packet, DropReason::NoRoute),
        }
    }

    /// Which way packets to a destination go.
    pub(crate) fn way(&self, destination: Address, owners: &Owners) -> Option<Way> {
        match &self.table {
            None => Some(Way::Protocol),
            Some(table) => table.lookup(owners.name(destination)),
        }
    }

    /// An agent changes which way packets for a prefix go.
    pub(crate) fn set_way(&mut self, prefix: Prefix, change: WayChange, cx: &mut Context) {
        self.table.get_or_insert_with(|| Box::new(Table::of_protocol())).change(prefix, change);
        let (kind, way) = match change {
            WayChange::Only(way) => (1, Some(way)),
            WayChange::Also(way) => (2, Some(way)),
            WayChange::Not(way) => (3, Some(way)),
            WayChange::Clear => (4, None),
        };
        let prefix = u64::from(prefix.first().to_bits()) << 8 | u64::from(prefix.length());
        fold_way(self.id, prefix, kind, way, cx);
    }

    /// An agent changes which way packets from a source go.
    pub(crate) fn set_source_way(&mut self, source: Address, way: Option<Way>, cx: &mut Context) {
        self.table.get_or_insert_with(|| Box::new(Table::of_protocol())).change_source(source, way);
        fold_way(self.id, u64::from(source.0), 5, way, cx);
    }
}

/// The digest knows each change of a way.
fn fold_way(node: NodeId, of: u64, kind: u64, way: Option<Way>, cx: &mut Context) {
    let [choice, to] = match way {
        None => [0, 0],
        Some(Way::Protocol) => [1, 0],
        Some(Way::Direct) => [2, 0],
        Some(Way::Nowhere) => [3, 0],
        Some(Way::Via(to)) => [4, u64::from(to.0)],
        Some(Way::Towards(to)) => [5, u64::from(to.0)],
        Some(Way::Tunnel(interface)) => [6, u64::from(interface.0)],
        Some(Way::Into { to, form: Form::IpInIp }) => [7, u64::from(to.0)],
        Some(Way::Into { to, form: Form::Minimal }) => [8, u64::from(to.0)],
    };
    for value in [cx.now.nanos(), u64::from(node.0) << 48 | kind << 40 | choice << 32, of, to] {
        cx.digest.fold(value);
    }
}
