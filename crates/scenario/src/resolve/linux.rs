//! Checks of flows whose TCP is Linux's, and of programs in simulated time.

use hopyard_model::transport::{congestion, tcp};
use serde_json::Value;

use super::flow_faults::Place;
use super::resolved::{Chosen, Congestion, FlowKind, Resolved};
use super::resolver::Resolver;
use crate::sections::Stack;

/// How many flows of Linux a run can have, because each has ports of its own.
const MOST: u64 = 10_000;
/// Linux takes no smaller size for a segment (`TCP_MAXSEG`).
const SMALLEST_SEGMENT: u64 = 88;
/// How many programs a run can have.
const MOST_PROGRAMS: usize = 256;

impl Resolver<'_> {
    /// Reports flows of Linux that cannot be.
    pub(super) fn check_linux(&mut self, resolved: &Resolved) {
        let mut flows = 0;
        for (number, (flow, kind)) in resolved.flows.iter().enumerate() {
            if flow.stack == Stack::Linux && !self.is_faulty(&format!("flow.{number}")) {
                self.check_linux_flow(Place::Listed(number), kind);
                flows += 1;
            }
        }
        for set in &resolved.random_flows {
            if set.flows.stack == Stack::Linux && !self.is_faulty(&set.path()) {
                self.check_linux_flow(Place::Drawn(set.number), &set.kind);
                flows += u64::from(set.flows.number(resolved.nodes.count));
            }
        }
        if flows > MOST {
            self.problem("flows", format!("expected at most {MOST} flows of Linux, found {flows}"));
        }
        let all = resolved.all_nodes();
        for (i, host) in resolved.hosts.iter().enumerate() {
            let path = format!("host.{i}.node");
            if host.node >= all && self.has(&path) && !self.is_faulty(&format!("host.{i}")) {
                self.no_node(&path, host.node, all, "nodes");
            }
            if host.start >= resolved.head.duration && !self.is_faulty("duration") {
                let message = format!("the program begins at {}, after the end of the run", host.start);
                self.problem(&format!("host.{i}.start"), message).expected =
                    Some(format!("less than the run's duration, {}", resolved.head.duration));
            }
        }
        if resolved.hosts.len() > MOST_PROGRAMS {
            let message = format!("expected at most {MOST_PROGRAMS} programs, found {}", resolved.hosts.len());
            self.problem(&format!("host.{MOST_PROGRAMS}"), message);
        }
        if flows == 0 && resolved.hosts.is_empty() {
            self.complete.remove("linux");
            if self.table("linux").is_some() {
                let message = "[linux] is not used: no flow has `stack = \"linux\"`, and there is no [[host]]";
                self.unused("linux", message.to_owned());
            }
        }
    }

    fn check_linux_flow(&mut self, at: Place, kind: &FlowKind) {
        let Some(machine) = &kind.tcp else {
            let fault = self.flow_problem(at, "stack", "a flow over UDP cannot have the TCP of Linux");
            fault.hint = Some("leave out `udp = true`, or `stack`".to_owned());
            return;
        };
        let names = || {
            let all = congestion::MODELS.iter().filter(|it| it.has_twin);
            all.map(|it| format!("\"{}\"", it.name)).collect::<Vec<_>>().join(", ")
        };
        match &machine.congestion {
            Congestion::External(external) => {
                let message = format!("`{}` is written in Python, and Linux has variants of its own", external.name());
                self.flow_problem(at, "tcp", message).expected = Some(names());
            }
            Congestion::Model(Chosen { model, .. }) if !model.has_twin => {
                let message = format!("Linux has no TCP variant `{}`", model.name);
                self.flow_problem(at, "tcp", message).expected = Some(names());
            }
            Congestion::Model(_) => {}
        }
        let Ok(params) = serde_json::from_value::<tcp::Params>(Value::Object(machine.machine.clone())) else { return };
        let size = params.segment_size.count();
        if size < SMALLEST_SEGMENT {
            let fault = self.flow_problem(at, "segment_size", format!("segments of {size} B are too small for Linux"));
            fault.expected = Some(format!("at least {SMALLEST_SEGMENT} B"));
        }
    }
}
