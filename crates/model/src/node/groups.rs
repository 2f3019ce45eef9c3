//! Datagrams for multicast groups: a node broadcasts its own ones, delivers those of its groups, and sends on what its
//! forwarding protocol says.

use super::{Around, Node};
use crate::address::Address;
use crate::context::{Action, DropReason};
use crate::ip::{self, Arrival};
use crate::observe::Probe;
use crate::packet::PacketId;

impl Node {
    /// An application of the node sends a datagram to a group.
    pub(crate) fn send_to_group<P: Probe>(&mut self, packet: PacketId, around: &mut Around<'_, P>) {
        if let Some(groups) = &mut self.groups {
            groups.model.originate(packet, around.cx);
        }
        self.send(packet, Address::BROADCAST, around);
    }

    /// A datagram for a group arrived. Returns the datagram, or a copy of it, if it is for the host of the node.
    pub(super) fn pass_to_group<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let (node, now, cx) = (self.id, around.cx.now, &mut *around.cx);
        let Some(groups) = &mut self.groups else {
            cx.hand_over(packet);
            return None;
        };
        if !groups.model.hears(&cx.packets[packet], now) {
            cx.hand_over(packet);
            return None;
        }
        let is_member = groups.member_of.binary_search(&cx.packets[packet].destination).is_ok();
        let previous = groups.previous(from, cx);
        let Some(at) = groups.model.relays(&cx.packets[packet], previous, now) else {
            if is_member {
                return Some(packet);
            }
            cx.hand_over(packet);
            return None;
        };
        let copy = is_member.then(|| cx.copy(packet));
        if ip::forward(&mut cx.packets[packet]) == Arrival::Expired {
            cx.drop_packet(node, packet, DropReason::TtlExpired);
        } else {
            self.forwarded += 1;
            cx.act(Action::SendLater { node, packet, next_hop: Address::BROADCAST, at });
        }
        copy
    }
}
