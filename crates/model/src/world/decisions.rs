//! What a probe is told of the decisions of senders that distinguish causes of loss.

use super::flow::Endpoints;
use super::{RunError, Watch, World};
use crate::observe::{DecisionView, IsMeant, Observed, Observer, Outcome, Probe};
use crate::packet::FlowId;
use crate::routing::Routing;

impl World {
    /// Runs to the end, or until the watch asks to stop, and returns the results. If a sender distinguishes causes of
    /// loss, a host moves between networks, or more than counters is recorded, the probe [`Observer`] watches.
    ///
    /// # Errors
    /// As [`World::finish`].
    pub fn run(self, watch: &Watch) -> Result<Outcome, RunError> {
        let some_move = self.topology.parts.values().any(|part| part.moves);
        if self.recorded.is_nothing() && !some_move && !self.flows.iter().any(|flow| flow.classifies) {
            return self.run_watched(watch).map(|(outcome, ())| outcome);
        }
        let observed = |flow: &super::Flow| Observed { from: flow.from, to: flow.to, classifies: flow.classifies };
        let flows: Vec<_> = self.flows.iter().map(observed).collect();
        let interfaces = self.topology.interfaces.iter().map(|it| it.node).collect();
        let probe = Observer::of(self.recorded.clone(), self.nodes.len(), interfaces, &flows, &self.mobile());
        self.watched_by(probe).run_watched(watch).map(|(outcome, _)| outcome)
    }
}

impl<P: Probe> World<P> {
    /// Tells the probe the decisions of a flow's sender since the last call.
    pub(super) fn tell_decisions(&mut self, flow: usize) {
        let Endpoints::Tcp { sender, .. } = &mut self.flows[flow].transport else { return };
        let judged = sender.take_judged();
        if !P::WATCHES || judged.is_empty() {
            return;
        }
        // The probe has to know what was dropped before.
        self.tell_drops();
        let Endpoints::Tcp { receiver, .. } = &self.flows[flow].transport else { return };
        let (nodes, packets, energy) = (&self.nodes, &self.cx.packets, &self.energy);
        let held = |is: IsMeant<'_>| {
            // What a node held whose battery is empty was dropped.
            let mut running = nodes.iter().filter(|node| !energy.is_dead(node.id));
            running.find(|node| node.routing.held().into_iter().any(|packet| is(&packets[packet]))).map(|node| node.id)
        };
        for judged in &judged {
            let decision = DecisionView { judged, arrived: receiver.has(judged.seq), held: &held };
            self.probe.on_decision(self.cx.now, FlowId(flow as u32), &decision);
        }
    }
}
