//! Checks of flows whose TCP is Linux's, and of programs in simulated time.

use hopyard_model::transport::congestion;
use hopyard_model::world::{MOST_FLOWS, MOST_PROGRAMS};

use super::flow_faults::Place;
use super::resolved::{Chosen, Congestion, FlowKind, Resolved, TcpKind};
use super::resolver::Resolver;
use crate::catalogue::is_tcp_only;
use crate::key::join;
use crate::sections::{Stack, System};
use crate::tree::{Kind, Table};

/// Linux takes no smaller size for a segment (`TCP_MAXSEG`).
const SMALLEST_SEGMENT: u64 = 88;
/// The keys of TCP that kernels follow.
const FOLLOWED: [&str; 2] = ["tcp", "segment_size"];
/// The parameters of Hopyard's own TCP of Linux are a table.
const OWN: &str = "linux";
/// The remedy for a key that they do not follow.
const INSTEAD: &str = "kernels have Linux's defaults, which `sysctls` in [linux] changes";

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
                flows += u64::from(set.flows.number(resolved.talking()));
            }
        }
        let listed = resolved.flows.iter().map(|(flow, kind)| (flow.stack, kind));
        let drawn = resolved.random_flows.iter().map(|set| (set.flows.stack, &set.kind));
        let mut over_tcp = listed.chain(drawn).filter(|(_, kind)| kind.tcp.is_some()).map(|(stack, _)| stack);
        if flows > 0 && over_tcp.all(|stack| stack == Stack::Linux) {
            self.warn_of_shared_keys();
        }
        if flows > 0 {
            self.warn_of_tables(resolved);
            self.warn_of_names(resolved);
        }
        if flows > MOST_FLOWS as u64 {
            self.problem("flows", format!("expected at most {MOST_FLOWS} flows of Linux, found {flows}"));
        }
        let all = resolved.all_nodes();
        for (i, host) in resolved.hosts.iter().enumerate() {
            let path = format!("host.{i}.node");
            let absent = host.node.nodes(0..all).into_iter().find(|node| *node >= all);
            if let Some(node) = absent.filter(|_| self.has(&path) && !self.is_faulty(&format!("host.{i}"))) {
                self.no_node(&path, node, all, "nodes");
            }
            if host.start >= resolved.head.duration && !self.is_faulty("duration") {
                let message = format!("the program begins at {}, after the end of the run", host.start);
                self.problem(&format!("host.{i}.start"), message).expected =
                    Some(format!("less than the run's duration, {}", resolved.head.duration));
            }
        }
        let (programs, lists) = (resolved.programs().count(), resolved.hosts.len());
        if programs > MOST_PROGRAMS {
            let message = format!("expected at most {MOST_PROGRAMS} programs, found {programs}");
            self.problem(&format!("host.{}", MOST_PROGRAMS.min(lists - 1)), message);
        }
        if flows == 0 && resolved.hosts.is_empty() && resolved.nodes.system == System::Hopyard {
            self.complete.remove("linux");
            if self.table("linux").is_some() {
                let message = "[linux] is not used: no flow has `stack = \"linux\"`, no node is a kernel, and \
                               there is no [[host]]";
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
        self.warn_of_keys(at, machine);
        match &machine.congestion {
            Congestion::External(external) => {
                let message = format!("`{}` is written in Python, and Linux has variants of its own", external.name());
                self.flow_problem(at, "tcp", message).expected = Some(twins());
            }
            Congestion::Model(Chosen { model, .. }) if !model.is_name_in_linux() => {
                let message = format!("Linux has no TCP variant `{}`", model.name);
                let fault = self.flow_problem(at, "tcp", message);
                fault.expected = Some(twins());
                fault.hint = model.in_linux.map(|name| format!("what Linux calls \"{name}\" comes nearest"));
            }
            Congestion::Model(_) => {}
        }
        let size = machine.machine.segment_size.count();
        if size < SMALLEST_SEGMENT {
            let fault = self.flow_problem(at, "segment_size", format!("segments of {size} B are too small for Linux"));
            fault.expected = Some(format!("at least {SMALLEST_SEGMENT} B"));
        }
    }

    /// Warns of keys of Hopyard's TCP in the table of a flow of Linux. Tables of models that the flow does not have are
    /// reported elsewhere.
    fn warn_of_keys(&mut self, at: Place, tcp: &TcpKind) {
        let Some(table) = table_of(self.root, at) else { return };
        let own = match &tcp.congestion {
            Congestion::Model(Chosen { model, .. }) => [model.name, tcp.acking.model.name],
            Congestion::External(external) => [external.name(), tcp.acking.model.name],
        };
        let is_own = |key: &&str| {
            *key == OWN || own.contains(key) || !matches!(table.get(key).map(|it| &it.node.kind), Some(Kind::Table(_)))
        };
        let keys: Vec<&str> = ignored(table).filter(is_own).collect();
        let Some(&first) = keys.first() else { return };
        let fault = self.flow_problem(at, first, format!("Linux's TCP does not follow {}", all_of(&keys)));
        fault.hint = Some(INSTEAD.to_owned());
        fault.is_warning = true;
    }

    /// Warns of a TCP variant that is another one in Linux.
    fn warn_of_names(&mut self, resolved: &Resolved) {
        let listed = resolved.flows.iter().map(|(flow, kind)| (flow.stack, kind));
        let drawn = resolved.random_flows.iter().map(|set| (set.flows.stack, &set.kind));
        let variants =
            listed.chain(drawn).filter(|(stack, _)| *stack == Stack::Linux).filter_map(|(_, kind)| {
                match kind.tcp.as_ref()?.congestion {
                    Congestion::Model(Chosen { model, .. }) => Some(model.name),
                    Congestion::External(_) => None,
                }
            });
        let found = variants.into_iter().find_map(|variant| resolved.linux.difference(variant));
        let Some((message, hint)) = found else { return };
        self.warning("linux.westwood", message);
        if let Some(problem) = self.warnings.last_mut() {
            problem.hint = Some(hint.to_owned());
        }
    }

    /// Warns of tables that flows of Linux are not in.
    fn warn_of_tables(&mut self, resolved: &Resolved) {
        let is_recorded = |(number, stack)| stack == Stack::Linux && resolved.measure.segments.has(number);
        if let Some((flow, _)) = (0..).zip(resolved.stacks()).find(|it| is_recorded(*it)) {
            let message = format!("the segments of flow {flow} are not recorded: its TCP is Linux's");
            self.warning("measure.segments", message);
            if let Some(problem) = self.warnings.last_mut() {
                problem.hint = Some("a capture has its packets: `--capture`".to_owned());
            }
        }
        if resolved.measure.paths && resolved.nodes.system == System::Hopyard {
            self.warning("measure.paths", "the tables of paths and detours have no packets of flows of Linux");
        }
        if !resolved.mobile_hosts.is_empty() {
            let message = "the table of handoffs has no losses, timeouts and rates of flows of Linux";
            self.warning("mobile_host", message);
        }
    }

    /// The same for the sections that apply to all flows, where all over TCP are Linux's.
    fn warn_of_shared_keys(&mut self) {
        for section in ["tcp", "acking"] {
            let Some(table) = self.table(section) else { continue };
            let is_own = |key: &&str| {
                *key == OWN
                    || !matches!(table.get(key).map(|it| &it.node.kind), Some(Kind::Table(_)))
                    || self.used.iter().any(|(_, model)| model == key)
            };
            let keys: Vec<&str> = ignored(table).filter(is_own).collect();
            let Some(&first) = keys.first() else { continue };
            let message =
                format!("Linux's TCP, which all flows have, does not follow {} of [{section}]", all_of(&keys));
            self.warning(&join(section, first), message);
            if let Some(problem) = self.warnings.last_mut() {
                problem.hint = Some(INSTEAD.to_owned());
            }
        }
    }
}

/// The TCP variants that a flow of Linux can have.
pub(super) fn twins() -> String {
    let all = congestion::MODELS.iter().filter(|it| it.is_name_in_linux());
    all.map(|it| format!("\"{}\"", it.name)).collect::<Vec<_>>().join(", ")
}

/// The table of a flow, or of a set of flows.
fn table_of(root: &Table, at: Place) -> Option<&Table> {
    let (section, number) = match at {
        Place::Listed(number) => ("flow", Some(number)),
        Place::Drawn(number) => ("flows", number),
    };
    let kind = match (&root.get(section)?.node.kind, number) {
        (Kind::Array(items), Some(number)) => &items.get(number)?.kind,
        (kind, _) => kind,
    };
    if let Kind::Table(table) = kind { Some(table) } else { None }
}

/// The keys of Hopyard's TCP in a table that kernels do not follow.
fn ignored(table: &Table) -> impl Iterator<Item = &str> {
    let keys = table.entries.iter().map(|entry| entry.key.as_str());
    keys.filter(|key| is_tcp_only(key) && !FOLLOWED.contains(key))
}

/// "`a`, `b` and `c`".
fn all_of(keys: &[&str]) -> String {
    let names: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        names => names.concat(),
    }
}
