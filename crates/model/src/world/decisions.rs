//! The view of a probe of the decisions of senders that distinguish causes of loss.

use super::World;
use crate::observe::{DecisionView, FlowEvent, IsMeant, Probe};
use crate::packet::FlowId;
use crate::routing::Routes;

impl<P: Probe> World<P> {
    /// Tells the probe the decisions of a flow's sender since the last call.
    pub(super) fn tell_decisions(&mut self, flow: usize) {
        let Some(sender) = self.sender_mut(flow) else { return };
        let judged = sender.take_judged();
        if !self.probe.watches() || judged.is_empty() {
            return;
        }
        // The probe has to know what was dropped before.
        self.tell_drops();
        let sink = self.flows[flow].sink;
        let number = self.sockets[self.flows[flow].source].endpoint.number();
        let tcp = self.sockets[sink].endpoint.tcp_of(number);
        let Some(receiver) = tcp.and_then(|it| it.receiver.as_ref()) else { return };
        let (nodes, packets, energy) = (&self.nodes, &self.cx.packets, &self.energy);
        let held = |is: IsMeant<'_>| {
            // What a node held whose battery is empty was dropped.
            let mut running = nodes.iter().filter(|node| !energy.is_dead(node.id));
            running.find(|node| node.routing.held().into_iter().any(|packet| is(&packets[packet]))).map(|node| node.id)
        };
        for judged in &judged {
            let decision = DecisionView { judged, arrived: receiver.has(judged.seq), held: &held };
            self.probe.on_flow(self.cx.now, FlowId(flow as u32), &FlowEvent::Decided(&decision));
        }
    }
}
