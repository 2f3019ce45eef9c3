//! What a probe is told of the decisions of senders that distinguish causes of loss.

use super::World;
use super::flow::Endpoints;
use crate::address::NodeId;
use crate::observe::{DecisionView, IsMeant, Probe};
use crate::packet::FlowId;
use crate::routing::Routing;

impl<P: Probe> World<P> {
    /// Tells the probe the decisions of a flow's sender since the last call.
    pub(super) fn tell_decisions(&mut self, flow: usize) {
        let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport else { return };
        let judged = sender.take_judged();
        if !self.probe.watches() || judged.is_empty() {
            return;
        }
        // The probe has to know what was dropped before.
        self.tell_drops();
        let Endpoints::Tcp { receiver, .. } = &self.flows[flow].transport else { return };
        let (nodes, packets, batteries) = (&self.nodes, &self.cx.packets, &self.batteries);
        let is_dead = |node: NodeId| batteries.as_ref().is_some_and(|it| it.died[node.index()].is_some());
        let held = |is: IsMeant<'_>| {
            // What a node held whose battery is empty was dropped.
            let mut running = (0..).map(NodeId).zip(nodes).filter(|(node, _)| !is_dead(*node));
            let holds = |node: &super::Node| node.routing.held().into_iter().any(|packet| is(&packets[packet]));
            running.find(|(_, node)| holds(node)).map(|(node, _)| node)
        };
        for judged in &judged {
            let decision = DecisionView { judged, arrived: receiver.has(judged.seq), held: &held };
            self.probe.on_decision(self.cx.now, FlowId(flow as u32), &decision);
        }
    }
}
