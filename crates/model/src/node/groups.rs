//! Datagrams for multicast groups: a node broadcasts its own ones, delivers those of its groups, and sends on what its
//! forwarding protocol says.

use std::collections::BTreeMap;

use hopyard_engine::Time;

use super::{Around, Node};
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::ip::{self, Arrival};
use crate::multicast::{self, Previous};
use crate::observe::Probe;
use crate::packet::PacketId;

/// A node's part in multicast groups.
#[derive(Debug)]
pub(crate) struct Groups {
    pub model: multicast::Model,
    /// The groups of which the node is a member, sorted.
    pub member_of: Vec<Address>,
    /// The neighbours that have chosen the node as a relay, each with the time until which the choice holds.
    pub chosen_by: BTreeMap<NodeId, Time>,
}

impl Groups {
    /// What the forwarding protocol may know of the neighbour from which a datagram came.
    fn previous(&self, from: Address, cx: &Context) -> Previous {
        let until = self.chosen_by.get(&cx.owners.of(from));
        Previous { address: from, has_chosen: until.is_some_and(|until| *until > cx.now) }
    }
}

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

    /// A neighbour has chosen the node as a relay until a time.
    pub(crate) fn on_chosen(&mut self, by: Address, until: Time, cx: &Context) {
        if let Some(groups) = &mut self.groups {
            groups.chosen_by.insert(cx.owners.of(by), until);
        }
    }
}
