//! Checks of flows whose TCP is Linux's, and of programs in simulated time.

use hopyard_engine::Streams;
use hopyard_model::traffic;
use serde_json::Value;

use super::flow_faults::Place;
use super::resolved::{Congestion, FlowKind, Resolved};
use super::resolver::Resolver;
use crate::linux::offered;
use crate::sections::{Stack, Until};

/// How many flows of Linux a run can have, because each has ports of its own.
const MOST: u64 = 10_000;
/// How many programs a run can have.
const MOST_PROGRAMS: usize = 256;

impl Resolver<'_> {
    /// Reports flows of Linux that cannot be.
    pub(super) fn check_linux(&mut self, resolved: &Resolved) {
        let mut flows = 0;
        for (number, (flow, kind)) in resolved.flows.iter().enumerate() {
            if flow.stack == Stack::Linux && !self.is_faulty(&format!("flow.{number}")) {
                self.check_linux_flow(Place::Listed(number), flow.stop, kind);
                flows += 1;
            }
        }
        for set in &resolved.random_flows {
            if set.flows.stack == Stack::Linux && !self.is_faulty(&set.path()) {
                self.check_linux_flow(Place::Drawn(set.number), set.flows.stop, &set.kind);
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

    fn check_linux_flow(&mut self, at: Place, stop: Until, kind: &FlowKind) {
        let Some(tcp) = &kind.tcp else {
            let fault = self.flow_problem(at, "stack", "a flow over UDP cannot have the TCP of Linux");
            fault.hint = Some("leave out `udp = true`, or `stack`".to_owned());
            return;
        };
        if let Congestion::External(external) = &tcp.congestion {
            let message = format!("`{}` is written in Python, and Linux has variants of its own", external.name());
            self.flow_problem(at, "tcp", message).expected = Some("a TCP variant of the kernel".to_owned());
        }
        if stop != Until::End {
            // What the application has written cannot be taken back from a kernel.
            let fault = self.flow_problem(at, "stop", "a flow of Linux cannot be stopped");
            fault.expected = Some("\"end\", or traffic that ends by itself".to_owned());
        }
        let values = Value::Object(kind.traffic.values.clone());
        let traffic = traffic::Config::read(kind.traffic.model.name, &values);
        if traffic.is_ok_and(|it| offered(&it, &Streams::new(0, 0)).is_none()) {
            let message = format!("a flow of Linux cannot have the traffic `{}`", kind.traffic.model.name);
            let fault = self.flow_problem(at, "traffic", message);
            fault.expected = Some("traffic that offers everything at its start".to_owned());
        }
    }
}
