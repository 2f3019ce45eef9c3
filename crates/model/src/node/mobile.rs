//! The service of a node for hosts that move between networks: packets from the tunnels of agents, and messages to its
//! neighbours.

use hopyard_engine::Time;

use super::{Around, MobileRole, Node};
use crate::address::{Address, InterfaceId};
use crate::context::{DropReason, MobileChange, MobileEvent};
use crate::observe::{Passage, Probe};
use crate::packet::PacketId;

impl Node {
    /// An interface tells its neighbours that it has an address. For the address of another node, it answers from now
    /// on, or no longer.
    pub(crate) fn announce<P: Probe>(
        &mut self,
        interface: InterfaceId,
        address: Address,
        answers: Option<bool>,
        around: &mut Around<'_, P>,
    ) {
        self.with_link(interface, around, |link, cx| match answers {
            Some(answers) => link.set_proxy(address, answers, cx),
            None => link.announce(address, cx),
        });
    }

    /// The node knows the link address of a neighbour by radio, without a question.
    pub(crate) fn learn<P: Probe>(&mut self, neighbour: Address, until: Time, around: &mut Around<'_, P>) {
        if let Some((interface, next_hop)) = self.towards(neighbour, around) {
            self.with_link(interface, around, |link, cx| link.learn(next_hop, until, cx));
        }
    }

    /// Takes a packet out of a tunnel of agents that ends at this one, and passes it on. A foreign agent passes on
    /// packets for its visitors, and nothing for hosts that have left it (RFC 5944 §4.2.1). Returns the packet if it is
    /// for the host of the node.
    pub(super) fn pass_from_agent<P: Probe>(
        &mut self,
        packet: PacketId,
        from: Address,
        around: &mut Around<'_, P>,
    ) -> Option<PacketId> {
        let node = self.id;
        let (outer, hops) = (around.cx.packets[packet].source, around.cx.packets[packet].hops);
        around.cx.decapsulate(packet);
        let it = &around.cx.packets[packet];
        if around.probe.watches() {
            around.probe.on_passage(around.cx.now, it, Passage::AgentTunnelLeft(node));
        }
        // A visitor is a neighbour of its agent, so what enters a reverse tunnel has made one hop before.
        let is_from_visitor = it.hops.saturating_sub(hops) <= 1;
        let owners = &around.cx.owners;
        let (sender, to) = (owners.of(it.source), owners.of(it.destination));
        let own = around.topology.roles.get(&node);
        let is_own = |host| own.is_some_and(|role| role.is_home_of(host));
        let takes_reverse_tunnels = own.is_some_and(|role| role.takes_reverse_tunnels);
        // What one of its own hosts has sent from its care-of address comes through a tunnel of the other direction
        // (RFC 3024), for anybody. From elsewhere it comes through the tunnel of another home agent, and must not go
        // back there.
        let is_reverse = is_from_visitor
            && takes_reverse_tunnels
            && is_own(sender)
            && self.table.as_ref().is_some_and(|table| table.leads_into(owners.name(it.source), outer));
        let moves = around.topology.roles.get(&to).is_some_and(|role| role.moves);
        // The home agent knows no binding that such a packet belongs to (RFC 3024 §4.3.2). Visitors get packets of its
        // hosts that have come round by way of other home agents.
        let is_visitor = moves && !is_own(to);
        let passes = to == node || is_reverse;
        if !passes && !is_visitor && is_own(sender) && takes_reverse_tunnels {
            around.cx.drop_packet(node, packet, DropReason::NotRegistered);
            return None;
        }
        let has_host = || self.table.as_ref().is_some_and(|table| table.has_host(owners.name(it.destination)));
        if !passes && is_visitor && !has_host() {
            around.cx.drop_packet(node, packet, DropReason::VisitorGone);
            return None;
        }
        self.pass_inner(packet, from, around)
    }

    /// An agent tells of an event of a host that moves. Returns whether the host has another care-of address now.
    pub(crate) fn on_mobile<P: Probe>(&mut self, event: &MobileEvent, around: &mut Around<'_, P>) -> bool {
        if around.probe.watches() {
            around.tell_drops();
            around.probe.on_mobile(around.cx.now, self.id, event);
        }
        let MobileChange::Registered { care_of, .. } = event.what else { return false };
        let role = |node| around.topology.roles.get(&node);
        if !role(self.id).is_some_and(|role: &MobileRole| role.moves) {
            return false;
        }
        let at_home = |agent: &MobileRole| agent.is_home_of(self.id);
        let is_home = care_of == self.id.into() || role(around.cx.owners.of(care_of)).is_some_and(at_home);
        // A host that has been at home from the start has not been registered before; to be so at home is no change.
        self.care_of.replace(care_of).map_or(!is_home, |before| before != care_of)
    }
}
