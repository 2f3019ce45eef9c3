//! Checks that involve several sections: missing nodes, times in the wrong order, files, areas, routes.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::{Span, Streams};
use hopyard_model::address::Prefix;
use hopyard_model::mobility::movement_file::FileNodes;
use hopyard_model::params::RFC;
use hopyard_model::phy::{Reception, propagation};
use hopyard_model::transport::congestion::{CongestionControl as _, Controller};
use hopyard_model::transport::tcp::{Connect, Reader};
use hopyard_model::{app, mobility, routing};
use serde_json::Value;

use super::flow_faults::Place;
use super::resolved::{Congestion, FlowKind, Moving, RandomFlows, Resolved, TcpKind};
use super::resolver::Resolver;
use crate::files::MovementFile;
use crate::placement;
use crate::problem::{one_of, ranges};
use crate::sections::{Placement, Routing, Stack, Until};

/// The words for a node that is missing, and for the nodes that are there.
fn missing(node: u32, count: u32, kind: &str) -> (String, String) {
    match count {
        0 => (format!("there is no node {node}: the scenario has no {kind}"), "`count` in [nodes]".to_owned()),
        1 => (format!("there is no node {node}"), "0, the number of the only node".to_owned()),
        _ => (format!("there is no node {node}"), format!("0 to {}: there are {count} {kind}", count - 1)),
    }
}

/// Whether a movement model has its own start positions.
pub(super) fn has_own_start(chosen: &Moving) -> bool {
    chosen.sound().is_some_and(|model| model.has_own_start())
}

/// A scenario with more rows of series than this gives a warning.
const MANY_ROWS: u128 = 10_000_000;
/// A scenario whose runs need more memory than this, in bytes, gives a warning.
const MUCH_MEMORY: u64 = 250_000_000;
/// The part of a scenario to which a path leads: a section, a key at the top level, or one table of a list: "nodes",
/// "flow.3".
fn section_of(path: &str) -> String {
    let mut steps = path.split('.');
    let first = steps.next().unwrap_or_default();
    match steps.next() {
        Some(number) if number.parse::<usize>().is_ok() => format!("{first}.{number}"),
        _ => first.to_owned(),
    }
}

impl Resolver<'_> {
    /// Completes what depends on several sections, and reports every combination that is impossible.
    pub(super) fn check(&mut self, mut resolved: Resolved) -> Resolved {
        self.read_files(&mut resolved);
        // A faulty section has its default values here. They must not cause further messages.
        self.faulty.extend(self.problems.iter().map(|problem| section_of(&problem.path)));
        let before = self.problems.len();
        let says_number = ["nodes", "nodes.count", "nodes.wired", "nodes.positions"];
        if !self.problems.iter().any(|problem| says_number.contains(&problem.path.as_str())) {
            self.count_nodes(&mut resolved);
            let unread = resolved.mobility.file().is_some_and(|params| !resolved.files.contains_key(params));
            // If the number of nodes is not known, their numbers cannot be checked.
            if self.problems.len() == before && (!unread || self.is_given("nodes", "count")) {
                if !self.is_faulty("nodes") {
                    self.place_nodes(&mut resolved);
                }
                self.check_movements(&resolved);
                self.check_links(&resolved);
                self.check_singles(&resolved);
                self.check_jammers(&resolved);
                self.check_formed_groups(&resolved);
                self.check_flow_nodes(&resolved);
                self.check_multicast(&resolved);
                self.check_named_nodes(&resolved);
                self.check_networks(&resolved);
                self.check_mobile(&resolved);
                self.check_energy(&resolved);
            }
        }
        self.check_emptiness(&resolved);
        self.check_flows(&resolved);
        self.check_linux(&resolved);
        self.check_routers(&resolved);
        self.check_reception(&resolved);
        self.check_wavelengths(&resolved);
        self.check_bands(&resolved);
        self.check_obstacles(&resolved);
        self.check_aggregates(&resolved);
        self.check_beside(&resolved);
        self.check_rate_control(&resolved);
        self.check_labels(&resolved);
        self.check_classes(&resolved);
        self.check_answers_to_marks(&resolved);
        self.check_queues(&resolved);
        self.check_packet_costs(&resolved);
        self.check_sensitivities(&resolved);
        self.check_feedback(&resolved);
        self.check_slot_finders(&resolved);
        self.check_packet_sizes(&resolved);
        self.check_routed(&resolved);
        if resolved.measure.from >= resolved.head.duration && !self.is_faulty("measure") && !self.is_faulty("duration")
        {
            let expected = format!("less than the run's duration, {}", resolved.head.duration);
            self.problem("measure.from", format!("nothing is measured: the run ends at {}", resolved.head.duration))
                .expected = Some(expected);
        }
        self.check_samples(&resolved);
        self.check_segments(&resolved);
        self.check_memory(&resolved);
        self.report_flow_faults();
        if self.problems.is_empty() {
            self.check_pairs(&resolved);
        }
        if self.problems.is_empty() {
            self.check_reach(&resolved);
            self.check_shared_slots(&resolved);
            self.check_neighbours(&resolved);
            self.check_first_slots(&resolved);
            self.check_answers(&resolved);
            self.check_guards(&resolved);
            self.check_rounds(&resolved);
            self.report_flow_faults();
        }
        resolved
    }

    /// Warns of a network without nodes.
    fn check_emptiness(&mut self, resolved: &Resolved) {
        if resolved.all_nodes() == 0 && self.problems.is_empty() {
            self.warning("nodes.count", "there are no nodes: nothing happens in this scenario").expected =
                Some("at least one node".to_owned());
        }
    }

    /// Whether a section, or one table of a list of sections, has problems of its own.
    pub(super) fn is_faulty(&self, section: &str) -> bool {
        self.faulty.contains(section)
    }

    /// Warns of very long series.
    fn check_samples(&mut self, resolved: &Resolved) {
        let (measure, duration) = (&resolved.measure, resolved.head.duration);
        let flows = resolved.all_flows();
        let instants = duration.nanos() / measure.interval.nanos().max(1);
        let rows =
            u128::from(instants) * u128::from(flows) * measure.series.len() as u128 * u128::from(resolved.head.runs);
        if rows > MANY_ROWS {
            let million = rows / 1_000_000;
            let message = format!("the series will have about {million} million rows, which take time and memory");
            self.warning("measure.interval", message);
        }
    }

    /// Reports flows whose segments are to be recorded and that do not exist, or have no segments.
    fn check_segments(&mut self, resolved: &Resolved) {
        if self.is_faulty("measure") || self.is_faulty("flow") || self.is_faulty("flows") {
            return;
        }
        let count = resolved.all_flows();
        let segments = &resolved.measure.segments;
        let Some(&(_, last)) = segments.ranges().last() else { return };
        if u64::from(last) >= count {
            let expected = match count {
                0 => "no number: the scenario has no flows".to_owned(),
                1 => "0, the number of the only flow".to_owned(),
                _ => format!("numbers of flows from 0 to {}", count - 1),
            };
            let problem = self.problem("measure.segments", format!("there is no flow {last}"));
            problem.expected = Some(expected);
            return;
        }
        if !self.problems.is_empty() {
            return;
        }
        let without = (0..=last).zip(resolved.kinds()).find(|(flow, kind)| segments.has(*flow) && kind.tcp.is_none());
        if let Some((flow, _)) = without {
            let problem = self.problem("measure.segments", format!("flow {flow} has no segments: it is UDP"));
            problem.expected = Some("numbers of flows over TCP".to_owned());
        }
    }

    /// Warns of networks that need much memory.
    fn check_memory(&mut self, resolved: &Resolved) {
        let memory = resolved.memory();
        if memory > MUCH_MEMORY {
            let (nodes, flows) = (resolved.all_nodes(), resolved.all_flows());
            let gigabytes = memory as f64 / 1e9;
            let message = format!(
                "{nodes} nodes and {flows} flows need at least {gigabytes:.1} GB of memory for each run at a time"
            );
            let key = resolved.random_flows.first().map(RandomFlows::number_path);
            self.warning(key.as_deref().unwrap_or("nodes.count"), message);
        }
    }

    /// Reports parameters of the routing protocol that name missing nodes.
    fn check_named_nodes(&mut self, resolved: &Resolved) {
        let config = &resolved.routing.config;
        let all = resolved.nodes.count.saturating_add(resolved.nodes.wired);
        // The default stands in every scenario that is written out in full, also where nothing uses it.
        let is_chosen = self.is_given("routing", "protocol") && config.name() != Routing::default().protocol;
        if resolved.nodes.count == 0 && !config.crosses_wires() && is_chosen {
            let able = routing::MODELS.iter().map(|model| model.name).filter(|name| {
                routing::Config::of_profile(name, &resolved.head.profile).is_ok_and(|it| it.crosses_wires())
            });
            let able = one_of(able);
            let message = format!("`{}` finds routes over radio alone, and no node has a radio", config.name());
            let problem = self.problem("routing.protocol", message);
            problem.expected = Some(format!("{able}, or nodes with a radio (`count` in [nodes])"));
            problem.hint = Some("leave `protocol` out: routes over wires are computed".to_owned());
        }
        for (key, node) in config.named_nodes() {
            if node >= all {
                self.no_node(&format!("routing.{}.{key}", config.name()), node, all, "nodes");
            }
        }
        let joined = |node: u32| resolved.wires.iter().any(|(wire, _)| wire.between.contains(&node));
        let mut seen = BTreeSet::new();
        for (key, node) in config.gateway_nodes().into_iter().filter(|(_, node)| *node < all) {
            if !seen.insert(node) {
                let message = format!("node {node} is in the list twice");
                self.problem(&format!("routing.{}.{key}", config.name()), message).expected =
                    Some("each node once".to_owned());
                continue;
            }
            let what = match (node < resolved.nodes.count, joined(node)) {
                (true, true) => continue,
                (true, false) => "wire",
                (false, _) => "radio",
            };
            let message = format!("node {node} cannot be a gateway: it has no {what}");
            self.problem(&format!("routing.{}.{key}", config.name()), message).expected =
                Some("nodes with a radio and a wire".to_owned());
        }
        for (parameter, doubt) in config.doubts() {
            self.warning(&format!("routing.{}.{parameter}", config.name()), doubt);
        }
        if let Some(why) = config.needs_queue_by_class()
            && let Some(Value::String(queue)) = resolved.link.values.get("routing_packets")
            && queue != "by_class"
        {
            let message = format!("the queue is \"{queue}\"; {why}: expected \"by_class\"");
            self.warning("link.routing_packets", message);
        }
    }

    /// Reports networks that gateways shall announce and that are parts of the ad hoc network.
    pub(super) fn check_announced(&mut self, resolved: &Resolved, ad_hoc: &[Prefix]) {
        let config = &resolved.routing.config;
        let radios = resolved.nodes.count;
        let has_gateway = resolved.wires.iter().any(|(wire, _)| wire.between.iter().any(|&node| node < radios));
        if !has_gateway && let Some((key, prefix)) = config.announced_networks().into_iter().next() {
            let message = format!("nobody announces {prefix}: no node has both a radio and a wire");
            self.warning(&format!("routing.{}.{key}", config.name()), message);
        }
        for (key, prefix) in config.announced_networks() {
            let own = |it: &&Prefix| it.overlaps(prefix) && prefix.length() >= it.length();
            if let Some(channel) = ad_hoc.iter().find(own) {
                let message = format!("{prefix} is a part of the ad hoc network {channel}: no gateway leads to it");
                self.problem(&format!("routing.{}.{key}", config.name()), message).expected =
                    Some("networks beyond the gateways, such as \"0.0.0.0/0\"".to_owned());
            }
        }
    }

    fn count_nodes(&mut self, resolved: &mut Resolved) {
        let nodes = &mut resolved.nodes;
        let given = self.is_given("nodes", "count");
        let params = resolved.mobility.file();
        if let Some((params, file)) = params.and_then(|params| Some((params, resolved.files.get(params)?))) {
            let first = params.first_node;
            let numbers: Vec<_> = match &params.nodes {
                FileNodes::Listed(numbers) => numbers.clone(),
                FileNodes::First if given => vec![0; nodes.count as usize],
                FileNodes::First => vec![0],
                _ => file.meaning.numbers().filter(|number| *number >= first).collect(),
            };
            let in_file = numbers.len() as u32;
            let asked = if given { nodes.count } else { in_file };
            nodes.count = asked;
            let wrong = match &params.nodes {
                FileNodes::FromFirstNode => Numbering::of(first, &numbers),
                FileNodes::All | FileNodes::First => None,
                FileNodes::Listed(_) => {
                    let missing = numbers.iter().position(|number| file.meaning.track(*number).is_none());
                    missing.map(|place| Numbering::NoNode(place, numbers[place]))
                }
            };
            if let Some(wrong) = wrong {
                let section = format!("mobility.{}", resolved.mobility.model.name);
                self.wrong_numbering(&section, first, file, wrong);
            } else if asked != in_file {
                let message = format!("[nodes] has {asked} nodes, and the movement file has {in_file}");
                let problem = self.problem("nodes.count", message);
                problem.expected = Some(format!("{in_file}"));
                problem.hint = Some("leave `count` out to take it from the file".to_owned());
            }
        } else if !given && !nodes.positions.is_empty() {
            nodes.count = nodes.positions.len() as u32;
        } else if !given && nodes.wired == 0 && params.is_none() {
            self.problem("nodes", "the number of nodes is not given").expected = Some("`count` in [nodes]".to_owned());
        }
    }

    /// Reports a movement file whose nodes are not numbered from `first_node` on.
    fn wrong_numbering(&mut self, section: &str, first: u32, file: &MovementFile, wrong: Numbering) {
        let numbers = || file.meaning.numbers();
        let (low, high) = (numbers().next().unwrap_or(0), numbers().next_back().unwrap_or(0));
        let key = |key: &str| format!("{section}.{key}");
        match wrong {
            Numbering::Nobody => {
                let message = format!("the movement file has no node {first} or above");
                self.problem(&key("first_node"), message).expected =
                    Some(format!("{low} for all nodes of the file, which are numbered from {low} to {high}"));
            }
            Numbering::StartsAt(number) => {
                let message = format!("the movement file has no node {first}: its first is node {number}");
                let problem = self.problem(&key("path"), message);
                problem.expected = Some(format!("nodes numbered from {first} on"));
                problem.hint = Some(if high - low + 1 == file.meaning.len() as u32 {
                    format!("`first_node = {number}` in [{section}] takes the file's node {number} as node 0")
                } else {
                    format!("`nodes = \"all\"` in [{section}] takes the file's nodes in their order")
                });
            }
            Numbering::Gap(number) => {
                let message = format!("the movement file has no node {number}, but nodes before and after it");
                let problem = self.problem(&key("path"), message);
                problem.expected = Some("nodes numbered without a gap".to_owned());
                problem.hint = Some(format!("`nodes = \"all\"` in [{section}] takes the file's nodes in their order"));
            }
            Numbering::NoNode(place, number) => {
                let message = format!("the movement file has no node {number}");
                self.problem(&format!("{section}.nodes.{place}"), message).expected =
                    Some(format!("numbers of the file, from {low} to {high}"));
            }
        }
    }

    /// Reports keys of [nodes] that a movement file determines.
    fn check_beside_file(&mut self, resolved: &Resolved, file: &MovementFile) {
        let nodes = &resolved.nodes;
        if self.is_given("nodes", "placement") && nodes.placement != Placement::Mobility {
            self.problem("nodes.placement", "the movement file says where nodes start, and so does `placement`")
                .expected = Some("\"mobility\", or no `placement`".to_owned());
        } else if !nodes.positions.is_empty() {
            self.problem("nodes.positions", "the movement file says where nodes start, and so do `positions`")
                .expected = Some("no `positions`".to_owned());
        }
        let [width, height] = nodes.area.map(|length| length.metres());
        if width > 0.0
            && let Some((low, high)) = file.meaning.extent()
            && !(low.x >= 0.0 && low.y >= 0.0 && high.x <= width && high.y <= height)
        {
            let message = format!(
                "nodes of the movement file leave the area: they move between {} m, {} m and {} m, {} m",
                low.x, low.y, high.x, high.y
            );
            self.problem("nodes.area", message).hint =
                Some("leave `area` out: the file says where nodes move".to_owned());
        }
    }

    fn place_nodes(&mut self, resolved: &mut Resolved) {
        let given = self.is_given("nodes", "placement");
        if let Some(file) = resolved.file(&resolved.mobility) {
            let before = self.problems.len();
            self.check_beside_file(resolved, file);
            if self.problems.len() > before {
                return;
            }
        }
        let nodes = &mut resolved.nodes;
        if !given && !nodes.positions.is_empty() {
            nodes.placement = Placement::Positions;
        } else if !given && has_own_start(&resolved.mobility) {
            nodes.placement = Placement::Mobility;
        }
        match nodes.placement {
            Placement::Positions if nodes.positions.len() != nodes.count as usize => {
                let (count, found) = (nodes.count, nodes.positions.len());
                self.problem("nodes.positions", format!("there are {count} nodes, and {found} positions")).expected =
                    Some(format!("{count} positions"));
            }
            Placement::Uniform if nodes.area[0].metres() <= 0.0 => {
                self.problem("nodes.placement", "nodes are drawn in an area, and no area is given").expected =
                    Some("`area` in [nodes], such as [\"1000 m\", \"1000 m\"]".to_owned());
            }
            Placement::Mobility if !has_own_start(&resolved.mobility) => {
                let message =
                    format!("the movement model `{}` does not say where nodes start", resolved.mobility.model.name);
                let profile = &resolved.head.profile;
                let able = mobility::MODELS.iter().map(|model| model.name).filter(|name| {
                    mobility::Config::of_profile(name, profile).is_ok_and(|model| model.has_own_start())
                });
                let expected = format!("the model {}, or another placement", one_of(able));
                self.problem("nodes.placement", message).expected = Some(expected);
            }
            placement if placement != Placement::Positions && !nodes.positions.is_empty() => {
                self.problem("nodes.positions", "`positions` says where nodes start, and so does `placement`").hint =
                    Some("leave `placement` out, or the positions".to_owned());
            }
            _ => {}
        }
        let [width, height] = nodes.area.map(|length| length.metres());
        resolved.positions = placement::fixed(nodes).unwrap_or_default();
        if width > 0.0
            && let Some((i, place)) = resolved
                .positions
                .iter()
                .enumerate()
                .find(|(_, p)| !((0.0..=width).contains(&p.x) && (0.0..=height).contains(&p.y)))
        {
            let (x, y) = (place.x, place.y);
            self.problem("nodes.area", format!("the area is too small: node {i} stands at {x} m, {y} m")).hint =
                Some("leave `area` out if nodes stay in their places".to_owned());
        }
    }

    pub(super) fn no_node(&mut self, path: &str, node: u32, count: u32, kind: &str) {
        let (message, expected) = missing(node, count, kind);
        self.problem(path, message).expected = Some(expected);
    }

    /// Reports nodes that do not exist or are in two tables of a list, and tables without nodes. `nobody` has the
    /// meaning of an empty list.
    pub(super) fn check_nodes_of_tables(&mut self, list: &str, nobody: &str, tables: &[&[u32]], count: u32) {
        let mut seen = BTreeMap::new();
        for (i, nodes) in tables.iter().enumerate() {
            let path = format!("{list}.{i}.nodes");
            // A table with a fault may have the defaults of its keys.
            let is_faulty = self.is_faulty(&format!("{list}.{i}"));
            let given = if is_faulty { self.numbers(&path) } else { nodes.to_vec() };
            if given.is_empty() && self.has(&path) && !self.problems.iter().any(|it| it.path == path) {
                self.problem(&path, format!("`nodes` is an empty list: {nobody}")).expected =
                    Some("at least one node".to_owned());
            }
            for node in given {
                if node >= count {
                    self.no_node(&path, node, count, "nodes with a radio");
                } else if let Some(other) = seen.insert(node, i) {
                    let message = if other == i {
                        format!("node {node} is in the list twice")
                    } else {
                        format!("node {node} is in two [[{list}]] tables: number {other} has it too")
                    };
                    self.problem(&path, message);
                }
            }
        }
    }

    /// Reports nodes of one list that are missing.
    pub(super) fn no_nodes(&mut self, path: &str, missing: &[u32], count: u32, kind: &str) {
        match missing {
            [] => {}
            [node] => self.no_node(path, *node, count, kind),
            [node, ..] => {
                self.no_node(path, *node, count, kind);
                if let Some(problem) = self.problems.last_mut() {
                    let words = format!("there are no nodes {}", ranges(missing.iter().copied()));
                    problem.message = problem.message.replace(&format!("there is no node {node}"), &words);
                }
            }
        }
    }

    fn check_flow_nodes(&mut self, resolved: &Resolved) {
        let all = resolved.nodes.count.saturating_add(resolved.nodes.wired);
        // Without the parameters that are at fault, nothing is known of routes.
        let routing = Some(&resolved.routing.config).filter(|_| !self.is_faulty("routing"));
        for (i, (flow, kind)) in resolved.flows.iter().enumerate() {
            if self.is_faulty(&format!("flow.{i}")) {
                continue;
            }
            for (key, node) in flow.ends() {
                if node >= all {
                    let (message, expected) = missing(node, all, "nodes");
                    let fault = self.flow_problem(Place::Listed(i), key, message);
                    fault.of_many = "there is no such node".to_owned();
                    fault.expected = Some(expected);
                }
            }
            for &to in flow.to.nodes().iter().filter(|to| flow.from < all && **to < all && **to != flow.from) {
                self.check_route(routing, i, (flow.from, to), kind.tcp.is_some());
            }
        }
        self.check_number_drawn(resolved);
    }

    fn check_flows(&mut self, resolved: &Resolved) {
        let duration = resolved.head.duration;
        for (i, (flow, kind)) in resolved.flows.iter().enumerate() {
            if self.is_faulty(&format!("flow.{i}")) {
                continue;
            }
            let path = |key: &str| format!("flow.{i}.{key}");
            let at = Place::Listed(i);
            if flow.to.nodes().contains(&flow.from) && self.has(&path("from")) && self.has(&path("to")) {
                let fault = self.flow_problem(at, "to", format!("the flow goes from node {} to itself", flow.from));
                fault.of_many = "the flow goes from a node to itself".to_owned();
                fault.expected = Some("another node than `from`".to_owned());
            }
            if flow.start >= duration && !self.is_faulty("duration") {
                let message = format!("the flow starts at {}, after the end of the run", flow.start);
                let fault = self.flow_problem(at, "start", message);
                fault.of_many = "the flow starts after the end of the run".to_owned();
                fault.expected = Some(format!("less than the run's duration, {duration}"));
            }
            self.check_stop(at, flow.start, flow.stop, resolved);
            self.check_carrier(at, kind, flow.stack);
            self.check_notices(at, resolved, kind);
            self.check_mobile_ends(at, resolved, flow);
        }
        for set in &resolved.random_flows {
            let RandomFlows { flows, kind, number } = set;
            let at = Place::Drawn(*number);
            let path = set.path();
            if self.is_faulty(&path) {
                continue;
            }
            if flows.start[1] >= duration && !self.is_faulty("duration") {
                self.problem(&format!("{path}.start"), "flows may start after the end of the run").expected =
                    Some(format!("times below the run's duration, {duration}"));
            }
            self.check_stop(at, flows.start[1], flows.stop, resolved);
            self.check_carrier(at, kind, flows.stack);
            self.check_notices(at, resolved, kind);
        }
        let draws_none = |set: &RandomFlows| set.flows.random == 0 && set.flows.share == 0.0;
        let sets = &resolved.random_flows;
        // What is the reason has a warning of its own.
        let is_said = resolved.all_nodes() == 0 || sets.iter().any(|set| self.has(&format!("{}.random", set.path())));
        // What programs and kernels send is not known, and they may send much.
        let sends_none = resolved.flows.is_empty() && !resolved.uses_linux() && sets.iter().all(draws_none);
        if sends_none && !is_said {
            self.warning("flow", "nothing is sent: there is no [[flow]], no `random` in [flows], and no [[host]]");
        }
    }

    /// Whether a key is given; `path` may lead into a list.
    pub(super) fn has(&self, path: &str) -> bool {
        path.rsplit_once('.').is_some_and(|(above, _)| self.place(path) != self.place(above))
    }

    fn check_stop(&mut self, flow: Place, start: Span, stop: Until, resolved: &Resolved) {
        let Until::At(at) = stop else { return };
        let (duration, from) = (resolved.head.duration, resolved.measure.from);
        if at <= start {
            let fault = self.flow_problem(flow, "stop", format!("the flow stops at {at}, before it starts"));
            fault.of_many = "the flow stops before it starts".to_owned();
            fault.expected = Some(format!("more than {start}, or \"end\""));
        } else if at > duration {
            let message = format!("the run ends at {duration}, before the flow stops at {at}");
            let fault = self.flow_problem(flow, "stop", message);
            fault.is_warning = true;
            fault.of_many = format!("the run ends at {duration}, before the flow stops");
        } else if at <= from && !self.is_faulty("measure") {
            let message = format!("the flow stops at {at}, before anything of it is measured");
            let fault = self.flow_problem(flow, "stop", message);
            fault.is_warning = true;
            fault.of_many = "the flow stops before anything of it is measured".to_owned();
            fault.expected = Some(format!("more than `from` in [measure], {from}, or \"end\""));
        }
    }

    /// Reports a transport that cannot carry a flow's traffic.
    fn check_carrier(&mut self, flow: Place, kind: &FlowKind, stack: Stack) {
        let needs_tcp = |name: &str| app::Config::of_profile(name, RFC).is_ok_and(|it| it.needs_tcp());
        let source = kind.traffic.model.name;
        if kind.tcp.is_none() && needs_tcp(source) {
            let able = app::MODELS.iter().map(|model| model.name).filter(|name| !needs_tcp(name));
            self.flow_problem(flow, "traffic", format!("`{source}` needs TCP, and this flow uses UDP")).expected =
                Some(one_of(able));
        }
        self.check_datagrams(flow, kind);
        if !kind.traffic.config.is_answered() {
            return;
        }
        let connect = kind.tcp.as_ref().map(|tcp| tcp.machine.connect);
        if connect.is_some_and(|it| it != Connect::ThreeWay) {
            let message = format!("`{source}` has data both ways, for which the connection must open at both ends");
            self.flow_problem(flow, "traffic", message).hint = Some("set connect = \"three_way\" in [tcp]".to_owned());
        }
        if kind.tcp.as_ref().is_some_and(|tcp| tcp.machine.reader != Reader::AtOnce) {
            let message = format!("`{source}` answers data when it arrives, and `reader` lets it wait");
            self.flow_problem(flow, "traffic", message).hint = Some("set reader = \"at_once\" in [tcp]".to_owned());
        }
        if stack == Stack::Linux {
            let message = format!("`{source}` has data both ways, which flows of Linux have not");
            self.flow_problem(flow, "traffic", message).hint =
                Some("let programs at the nodes ([[host]]) talk to each other".to_owned());
        }
    }

    /// Reports a model of reception that compares powers, if the propagation model gives all signals the same one.
    fn check_reception(&mut self, resolved: &Resolved) {
        let name_of = resolved.propagation.model.name;
        let equal = propagation::Config::of_profile(name_of, &resolved.head.profile).is_ok_and(|it| it.equal_powers());
        let reception = resolved.radio.reception;
        if equal && reception.compares_powers() {
            let name = |it: &Reception| serde_json::to_value(it).unwrap_or_default();
            let able: Vec<String> =
                Reception::ALL.iter().filter(|it| !it.compares_powers()).map(|it| name(it).to_string()).collect();
            let found = name(&reception);
            let found = found.as_str().unwrap_or_default();
            let message =
                format!("`{name_of}` gives all signals about the same power, so `{found}` cannot tell them apart");
            let first = able.first().cloned().unwrap_or_default();
            let problem = self.problem("radio.reception", message);
            problem.expected = Some(format!("{} with `propagation = \"{name_of}\"`", able.join(" or ")));
            problem.hint = Some(format!("write `reception = {first}` in [radio]"));
        }
    }

    /// Reports a TCP that waits for notices of broken routes under a routing protocol that sends none.
    fn check_notices(&mut self, flow: Place, resolved: &Resolved, kind: &FlowKind) {
        let Some(TcpKind { congestion: Congestion::Model(variant), .. }) = &kind.tcp else { return };
        let routing = resolved.routing.model.name;
        let profile = &resolved.head.profile;
        let reports = |name: &str| routing::Config::of_profile(name, profile).is_ok_and(|it| it.reports_breaks());
        let controller = Controller::new(&variant.config, Streams::new(0, 0).stream("check"));
        if !controller.wants().notices || reports(routing) {
            return;
        }
        let able: Vec<_> = routing::MODELS.iter().map(|model| model.name).filter(|name| reports(name)).collect();
        let name = variant.model.name;
        let message = format!("`{name}` needs to be told of broken routes, and `{routing}` tells of none");
        let problem = self.flow_problem(flow, "tcp", message);
        problem.expected = Some(format!("routing by one of {}", able.join(", ")));
        problem.hint = Some(format!("choose another `protocol` in [routing], or another TCP than `{name}`"));
    }

    /// Reports a flow whose packets cannot arrive, as the parameters of the routing protocol say.
    fn check_route(&mut self, routing: Option<&routing::Config>, index: usize, ends: (u32, u32), tcp: bool) {
        let Some(routing) = routing else { return };
        let (from, to) = ends;
        let ways = [("to", from, to, "data"), ("from", to, from, "acknowledgements")];
        for (key, from, to, what) in ways.into_iter().take(if tcp { 2 } else { 1 }) {
            if routing.prescribed(from, to) == routing::Prescribed::Unreachable {
                let message = format!("the {what} of this flow have no route from node {from} to node {to}");
                let fault = self.flow_problem(Place::Listed(index), key, message);
                fault.of_many = format!("the {what} of these flows have no route");
                fault.hint = Some(format!("[routing.{}] needs routes that lead there, or `others`", routing.name()));
            }
        }
    }
}

/// The difference between the numbers of the nodes of a movement file and the numbers that a scenario needs.
#[derive(Clone, Copy)]
enum Numbering {
    /// No node has the first number or a higher one.
    Nobody,
    /// The numbers begin with this number.
    StartsAt(u32),
    /// This number is missing between others.
    Gap(u32),
    /// The list of nodes has, at this place, a number that the file has not.
    NoNode(usize, u32),
}

impl Numbering {
    /// The fault of these numbers, which increase and should begin with `first`.
    fn of(first: u32, numbers: &[u32]) -> Option<Self> {
        let Some(&lowest) = numbers.first() else { return Some(Self::Nobody) };
        if lowest != first {
            return Some(Self::StartsAt(lowest));
        }
        numbers.windows(2).find(|pair| pair[1] != pair[0] + 1).map(|pair| Self::Gap(pair[0] + 1))
    }
}
