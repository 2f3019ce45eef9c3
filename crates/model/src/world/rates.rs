//! The rates of links, as rate control changes them.

use super::World;
use crate::address::{Address, InterfaceId};
use crate::mac::rate_control::Belief;
use crate::node::Attachment;
use crate::observe::Probe;

impl<P: Probe> World<P> {
    /// Rate control has changed the mode of frames to a neighbour: the probe learns of it, and the senders whose
    /// packets go that way.
    pub(super) fn on_rate_changed(&mut self, interface: InterfaceId, neighbour: InterfaceId) {
        let Some(belief) = self.belief(interface, neighbour) else { return };
        if self.probe.watches() {
            self.probe.on_rate_changed(self.cx.now, interface, neighbour, &belief);
        }
        let node = self.topology.node(interface);
        for place in 0..self.nodes[node.index()].flows.len() {
            let flow = self.nodes[node.index()].flows[place];
            if self.flows[flow].route.is_some_and(|(next_hop, _)| next_hop == Address::from(neighbour)) {
                self.set_link_rate(flow, &belief);
            }
        }
    }

    /// The packets of a flow leave its source by another neighbour.
    pub(super) fn on_next_hop(&mut self, flow: usize, next_hop: Address) {
        let neighbour = InterfaceId(next_hop.0);
        let node = self.flows[flow].from;
        let belief = self.topology.interfaces_of(node).find_map(|interface| self.belief(interface, neighbour));
        if let Some(belief) = belief {
            self.set_link_rate(flow, &belief);
        }
    }

    fn belief(&self, interface: InterfaceId, neighbour: InterfaceId) -> Option<Belief> {
        let Attachment::Radio { channel, station } = self.topology.attachment(interface) else { return None };
        self.channels[channel.index()].belief(station as usize, neighbour)
    }

    fn set_link_rate(&mut self, flow: usize, belief: &Belief) {
        if let Some(sender) = self.sender_mut(flow) {
            sender.set_link_rate(belief.mode.rate());
        }
    }
}
