//! Checks of what flows are marked with: labels, code points for which no radio asks, and marks of queues that a
//! variant does not answer.

use std::collections::BTreeMap;

use hopyard_model::packet::Dscp;
use hopyard_model::world::label_of_answers;

use super::access::macs;
use super::flow_faults::Place;
use super::resolved::{Congestion, FlowKind, Resolved, TcpKind};
use super::resolver::Resolver;

/// The marks of each flow and of each set of flows.
fn marks(resolved: &Resolved) -> Vec<(Place, &str, Dscp, &FlowKind)> {
    let listed = resolved.flows.iter().enumerate();
    let listed = listed.map(|(i, (flow, kind))| (Place::Listed(i), flow.label.as_str(), flow.dscp, kind));
    let drawn = resolved.random_flows.iter();
    let drawn = drawn.map(|set| (Place::Drawn(set.number), set.flows.label.as_str(), set.flows.dscp, &set.kind));
    listed.chain(drawn).collect()
}

impl Resolver<'_> {
    /// Reports labels that the answers to other flows have.
    pub(super) fn check_labels(&mut self, resolved: &Resolved) {
        let marks = marks(resolved);
        let answered = marks.iter().filter(|it| it.3.traffic.config.is_answered());
        let taken: BTreeMap<String, &str> = answered.map(|it| (label_of_answers(it.1), it.1)).collect();
        for (place, label, ..) in marks.iter().filter(|it| !it.1.is_empty()) {
            let Some(of) = taken.get(*label) else { continue };
            let of = if of.is_empty() {
                "flows without a label".to_owned()
            } else {
                format!("flows with the label \"{of}\"")
            };
            let message = format!("the answers to {of} have the label \"{label}\" already");
            self.flow_problem(*place, "label", message).expected = Some("another label".to_owned());
        }
    }

    /// Warns of code points where no MAC has categories.
    pub(super) fn check_classes(&mut self, resolved: &Resolved) {
        if macs(resolved).any(|(_, mac)| mac.classes().is_some()) {
            return;
        }
        let mac = resolved.mac.config.name();
        for (place, _, dscp, _) in marks(resolved).into_iter().filter(|it| it.2 != Dscp::default()) {
            let message = format!("`dscp` = \"{dscp}\" does nothing here: `{mac}` has no categories");
            let fault = self.flow_problem(place, "dscp", message);
            fault.is_warning = true;
            fault.hint = Some("write `model = \"edca\"` in [mac]".to_owned());
        }
    }

    /// Warns of variants that do not answer the marks of queues.
    pub(super) fn check_answers_to_marks(&mut self, resolved: &Resolved) {
        for (place, _, _, kind) in marks(resolved) {
            let Some(TcpKind { machine, congestion: Congestion::Model(variant), .. }) = &kind.tcp else { continue };
            if machine.ecn && !variant.config.answers_marks() {
                let name = variant.model.name;
                let message =
                    format!("`ecn` does nothing here: `{name}` does not answer marks, so queues drop its segments");
                self.flow_problem(place, "tcp", message).is_warning = true;
            }
        }
    }
}
