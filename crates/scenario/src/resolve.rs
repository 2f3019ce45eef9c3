//! From a tree of text to its meaning: the complete values of each section, the selected models, all checks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use hopyard_model::mobility::Position;
use hopyard_model::params::ModelInfo;
use hopyard_model::transport::congestion::custom::Custom;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::catalogue::{LAYOUT, Layout, ROOMS, layout, no_such_model, room, where_belongs};
use crate::custom::{CustomClass, custom_tables, is_custom};
use crate::files::{Files, MovementFile};
use crate::merge::{Judge, PROFILE, Section, Values, join, key_parts, profiles};
use crate::problem::{Mark, Problem};
use crate::sections::{Flow, Flows, Head, Measure, Movement, Nodes, Simulator, Wire};
use crate::tree::{Entry, Kind, Node, Table};

/// A model with all its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    pub model: &'static ModelInfo,
    pub values: Values,
}

/// A flow's congestion control.
#[derive(Clone, Debug)]
pub(crate) enum Variant {
    /// A model.
    Model(Chosen),
    /// An external congestion control.
    Custom(Custom),
}

/// The transport and the traffic of flows.
#[derive(Clone, Debug)]
pub(crate) struct FlowKind {
    /// Nothing for UDP.
    pub tcp: Option<TcpKind>,
    pub traffic: Chosen,
}

/// A flow's TCP.
#[derive(Clone, Debug)]
pub(crate) struct TcpKind {
    /// The parameters that all variants share.
    pub machine: Values,
    pub variant: Variant,
    pub acking: Chosen,
}

/// The meaning of a scenario.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    pub head: Head,
    pub nodes: Nodes,
    /// The positions of nodes, if they are the same in every run.
    pub positions: Vec<Position>,
    pub mobility: Chosen,
    pub movements: Vec<(Movement, Chosen)>,
    /// The movement files of each `mobility` or `movements` that names one, by its parameters.
    pub files: BTreeMap<String, Arc<MovementFile>>,
    pub radio: Values,
    pub propagation: Chosen,
    pub mac: Chosen,
    pub link: Values,
    pub ip: Values,
    pub routing: Chosen,
    pub flows: Vec<(Flow, FlowKind)>,
    pub random_flows: Option<(Flows, FlowKind)>,
    pub wires: Vec<(Wire, Values)>,
    pub measure: Measure,
    pub simulator: Simulator,
    /// The whole scenario with every default that applies.
    pub complete: Values,
}

/// The result of reading a scenario.
pub(crate) struct Outcome {
    pub resolved: Option<Resolved>,
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

/// Reads the tree.
pub(crate) fn resolve(root: &Table, files: &Files) -> Outcome {
    let mut resolver = Resolver {
        root,
        files,
        profile: String::new(),
        area: None,
        shared: BTreeMap::new(),
        used: BTreeSet::new(),
        classes: BTreeMap::new(),
        custom: BTreeMap::new(),
        used_custom: BTreeMap::new(),
        problems: Vec::new(),
        faulty: BTreeSet::new(),
        warnings: Vec::new(),
        complete: Values::new(),
    };
    let resolved = resolver.run();
    let Resolver { problems, warnings, .. } = resolver;
    Outcome { resolved: resolved.filter(|_| problems.is_empty()), problems, warnings }
}

pub(crate) struct Resolver<'a> {
    pub root: &'a Table,
    pub files: &'a Files,
    profile: String,
    area: Option<[Value; 2]>,
    /// Parameters of sections for the whole scenario, by room and model. The parameters of flows and nodes are compared
    /// with them.
    shared: BTreeMap<(&'static str, &'static str), Values>,
    used: BTreeSet<(&'static str, &'static str)>,
    /// The external congestion controls that were already looked up.
    pub classes: BTreeMap<String, Option<Arc<dyn CustomClass>>>,
    /// Parameters of external congestion controls for the whole scenario.
    pub custom: BTreeMap<String, Values>,
    /// The parameters of each external congestion control in use, when a flow gives none.
    pub used_custom: BTreeMap<String, Values>,
    pub problems: Vec<Problem>,
    /// Sections, and tables of lists of sections, that have problems of their own: "nodes", "flow.3".
    pub faulty: BTreeSet<String>,
    pub warnings: Vec<Problem>,
    complete: Values,
}

/// A section's values as typed data, which the same type has already checked.
fn typed<T: DeserializeOwned>(values: &Values) -> T {
    serde_json::from_value(Value::Object(values.clone())).expect("a section was read by its own type")
}

/// A section as it was read: the values of each of its parts.
struct Read {
    parts: Vec<Values>,
}

impl Read {
    fn take(&mut self) -> Values {
        if self.parts.is_empty() { Values::new() } else { self.parts.remove(0) }
    }
}

impl<'a> Resolver<'a> {
    fn run(&mut self) -> Option<Resolved> {
        let root_node_tables = LAYOUT.iter().map(|layout| layout.name).filter(|name| !name.is_empty()).collect();
        let head = Section {
            path: String::new(),
            parts: vec![(layout("").parts[0] as &dyn Judge, self.defaults(layout("").parts[0]))],
            tables: root_node_tables,
            profiles: &[],
        };
        let head = head.read(Some(self.root), None, where_belongs, &mut self.problems).remove(0);
        self.profile = head.get("profile").and_then(Value::as_str).unwrap_or_default().to_owned();
        self.complete.extend(head.clone());
        let head: Head = typed(&head);

        let nodes: Nodes = typed(&self.single("nodes").take());
        if nodes.area[0].metres() > 0.0 {
            self.area = Some(nodes.area.map(|length| Value::String(length.to_string())));
        }
        let mobility = self.choice("mobility", "mobility");
        let movements = self.movements();
        let mut radio = self.single("radio");
        let (own, radio) = (radio.take(), radio.take());
        let propagation = self.chosen_in("radio", "propagation", &own);
        self.complete.insert("radio".to_owned(), Value::Object(own.into_iter().chain(radio.clone()).collect()));
        let mac = self.choice("mac", "mac");
        let link = self.plain("link");
        let ip = self.plain("ip");
        let routing = self.choice("routing", "routing");
        let tcp = self.plain("tcp");
        self.single("acking");
        self.single("traffic");
        let flows = self.flows(&tcp);
        let random_flows = self.random_flows(&tcp);
        let wires = self.wires();
        let measure: Measure = typed(&self.plain("measure"));
        let simulator: Simulator = typed(&self.plain("simulator"));

        self.tables_of_used_models();
        let resolved = Resolved {
            head,
            nodes,
            positions: Vec::new(),
            mobility: mobility?,
            movements: movements?,
            files: BTreeMap::new(),
            radio,
            propagation: propagation?,
            mac: mac?,
            link,
            ip,
            routing: routing?,
            flows: flows?,
            random_flows: random_flows?,
            wires,
            measure,
            simulator,
            complete: Values::new(),
        };
        let mut resolved = self.check(resolved);
        self.warn_of_unused();
        resolved.complete = self.written(&resolved.nodes);
        Some(resolved)
    }

    fn defaults(&self, info: &ModelInfo) -> Values {
        match (info.defaults)(&self.profile) {
            Value::Object(values) => values,
            _ => Values::new(),
        }
    }

    /// The place of a dotted key in the text, or of the nearest table that contains it.
    pub(crate) fn place(&self, path: &str) -> Option<Mark> {
        let mut best = None;
        let mut node: Option<&Node> = None;
        for step in key_parts(path).unwrap_or_default() {
            let table = match node.map(|node| &node.kind) {
                None => self.root,
                Some(Kind::Table(table)) => table,
                Some(Kind::Array(items)) => {
                    node = step.parse::<usize>().ok().and_then(|index| items.get(index));
                    best = node.map(|node| node.mark.clone()).or(best);
                    if node.is_none() {
                        return best;
                    }
                    continue;
                }
                Some(Kind::Scalar(_) | Kind::Bad) => return best,
            };
            let Some(entry) = table.get(&step) else { return best };
            node = Some(&entry.node);
            // The place of a table is its header; the place of a key in it is its value.
            best = Some(entry.node.mark.clone());
        }
        best
    }

    /// Whether the scenario gives a key.
    pub(crate) fn is_given(&self, section: &str, key: &str) -> bool {
        self.table(section).is_some_and(|table| table.get(key).is_some())
    }

    pub(crate) fn problem(&mut self, path: &str, message: impl Into<String>) -> &mut Problem {
        let place = self.place(path);
        self.problems.push(Problem::new(path, place.as_ref(), message));
        self.problems.last_mut().expect("one was added")
    }

    pub(crate) fn warning(&mut self, path: &str, message: impl Into<String>) {
        let place = self.place(path);
        self.warnings.push(Problem::new(path, place.as_ref(), message));
    }

    /// A section that occurs once.
    fn table(&self, name: &str) -> Option<&'a Table> {
        match self.root.get(name).map(|entry| &entry.node.kind) {
            Some(Kind::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// The parameters of a model in this scenario when a flow or a node gives none.
    fn base(&self, room: &'static str, info: &'static ModelInfo) -> Values {
        if let Some(values) = self.shared.get(&(room, info.name)) {
            return values.clone();
        }
        let mut values = self.defaults(info);
        // Nodes that draw their own paths draw them in the scenario's area.
        if let Some([width, height]) = &self.area
            && room == "mobility"
            && values.contains_key("width")
            && values.contains_key("height")
        {
            values.insert("width".to_owned(), width.clone());
            values.insert("height".to_owned(), height.clone());
        }
        values
    }

    /// Reads a section that occurs once, with the tables of its models.
    fn single(&mut self, name: &'static str) -> Read {
        let layout = layout(name);
        let entry = self.root.get(name);
        if let Some(Entry { node: Node { mark, kind: Kind::Array(_) }, .. }) = entry {
            let found = format!("[[{name}]] is a list of tables, and there is only one [{name}]");
            self.problems.push(Problem::new(name, Some(mark), found).expected(format!("one [{name}]")));
        }
        let table = self.table(name);
        let read = self.section(layout, name.to_owned(), table, entry.map(|entry| &entry.node.mark), None);
        for room_name in layout.rooms {
            for (info, values) in self.given_tables(room(room_name), name, table) {
                self.shared.insert((room_name, info.name), values);
            }
        }
        if let Some(table) = table
            && name == room("congestion").section
        {
            self.shared_custom(name, table);
        }
        if read.parts.len() == 1 {
            self.complete.insert(name.to_owned(), Value::Object(read.parts[0].clone()));
        }
        read
    }

    /// A section with one model's parameters, or one section's keys, and nothing else.
    fn plain(&mut self, name: &'static str) -> Values {
        self.single(name).take()
    }

    /// A section that only selects a model.
    fn choice(&mut self, name: &'static str, room_name: &'static str) -> Option<Chosen> {
        let own = self.plain(name);
        self.chosen_in(name, room_name, &own)
    }

    fn chosen_in(&mut self, section: &'static str, room_name: &'static str, own: &Values) -> Option<Chosen> {
        let (key, _) = layout(section).selectors.iter().find(|(_, name)| *name == room_name)?;
        let info = self.select(room_name, &join(section, key), own.get(*key)?.as_str()?)?;
        Some(Chosen { model: info, values: self.base(room_name, info) })
    }

    /// The model that a key names.
    fn select(&mut self, room_name: &'static str, path: &str, name: &str) -> Option<&'static ModelInfo> {
        let room = room(room_name);
        let found = room.model(name);
        if let Some(info) = found {
            self.used.insert((room_name, info.name));
        } else {
            let (message, expected, hint) = no_such_model(room, name);
            let problem = self.problem(path, message);
            problem.expected = Some(expected);
            problem.hint = hint;
        }
        found
    }

    fn section(
        &mut self,
        layout: &'static Layout,
        path: String,
        table: Option<&Table>,
        header: Option<&Mark>,
        bases: Option<Vec<Values>>,
    ) -> Read {
        let bases = bases.unwrap_or_else(|| layout.parts.iter().map(|info| self.defaults(info)).collect());
        let mut tables: Vec<&str> = layout.tables().collect();
        tables.extend(custom_tables(layout, table));
        let profiles = match layout.parts {
            [info] => profiles(info),
            _ => &[],
        };
        let parts = layout.parts.iter().map(|info| *info as &dyn Judge).zip(bases).collect();
        let section = Section { path, parts, tables, profiles };
        if let Some(table) = table {
            for key in layout.required {
                if table.get(key).is_none() {
                    let problem = Problem::new(section.key(key), header, format!("{} has no `{key}`", layout.title()));
                    self.problems.push(problem.expected(format!("`{key}`")));
                }
            }
        }
        Read { parts: section.read(table, header, where_belongs, &mut self.problems) }
    }

    /// The complete tables of a room's models in a section.
    fn given_tables(
        &mut self,
        room: &'static crate::catalogue::Room,
        path: &str,
        table: Option<&Table>,
    ) -> Vec<(&'static ModelInfo, Values)> {
        let mut given = Vec::new();
        for info in room.models {
            let Some(entry) = table.and_then(|table| table.get(info.name)) else { continue };
            let Kind::Table(parameters) = &entry.node.kind else { continue };
            let section = Section {
                path: join(path, info.name),
                parts: vec![(info as &dyn Judge, self.base(room.name, info))],
                tables: vec![],
                profiles: profiles(info),
            };
            let values =
                section.read(Some(parameters), Some(&entry.node.mark), where_belongs, &mut self.problems).remove(0);
            given.push((info, values));
        }
        given
    }

    /// The tables of a list of sections.
    fn list(&mut self, name: &'static str) -> Vec<(&'a Table, &'a Mark)> {
        let Some(entry) = self.root.get(name) else { return Vec::new() };
        let Kind::Array(items) = &entry.node.kind else {
            if let Kind::Table(_) = entry.node.kind {
                let message = format!("[{name}] is one table, and there may be several");
                self.problems.push(Problem::new(name, Some(&entry.mark), message).expected(format!("[[{name}]]")));
            }
            return Vec::new();
        };
        let mut tables = Vec::new();
        for (index, item) in items.iter().enumerate() {
            match &item.kind {
                Kind::Table(table) => tables.push((table, &item.mark)),
                Kind::Bad => {}
                _ => {
                    let found = format!("`{name}` has {} in it", item.describe());
                    let problem = Problem::new(format!("{name}.{index}"), Some(&item.mark), found);
                    self.problems.push(problem.expected("tables"));
                }
            }
        }
        tables
    }

    fn movements(&mut self) -> Option<Vec<(Movement, Chosen)>> {
        let mut movements = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("movement").into_iter().enumerate() {
            let path = format!("movement.{index}");
            let own = self.section(layout("movement"), path.clone(), Some(table), Some(mark), None).take();
            let given = self.given_tables(room("mobility"), &path, Some(table));
            let movement: Movement = typed(&own);
            let info = self.select("mobility", &join(&path, "model"), &movement.model);
            let chosen = info.map(|info| self.with_table("mobility", info, &given, &path, table));
            let mut own = own;
            if let (Some(chosen), Some(_)) = (&chosen, info) {
                own.insert(chosen.model.name.to_owned(), Value::Object(chosen.values.clone()));
            }
            written.push(Value::Object(own));
            movements.push(chosen.map(|chosen| (movement, chosen)));
        }
        if !written.is_empty() {
            self.complete.insert("movement".to_owned(), Value::Array(written));
        }
        movements.into_iter().collect()
    }

    /// A selected model with the parameters of its own table, if there is one. Tables of other models cause a warning.
    fn with_table(
        &mut self,
        room_name: &'static str,
        info: &'static ModelInfo,
        given: &[(&'static ModelInfo, Values)],
        path: &str,
        table: &Table,
    ) -> Chosen {
        for (other, _) in given {
            if other.name != info.name {
                let mark = table.get(other.name).map(|entry| entry.mark.clone());
                let message = format!("`{}` is not used here: the {room_name} model is `{}`", other.name, info.name);
                self.warnings.push(Problem::new(join(path, other.name), mark.as_ref(), message));
            }
        }
        let own = given.iter().find(|(model, _)| model.name == info.name);
        Chosen { model: info, values: own.map_or_else(|| self.base(room_name, info), |(_, values)| values.clone()) }
    }

    fn flows(&mut self, tcp: &Values) -> Option<Vec<(Flow, FlowKind)>> {
        let mut flows = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("flow").into_iter().enumerate() {
            let path = format!("flow.{index}");
            let (own, kind, sparse) = self.flow_like(layout("flow"), &path, table, Some(mark), tcp);
            written.push(Value::Object(sparse));
            flows.push(kind.map(|kind| (typed::<Flow>(&own), kind)));
        }
        if !written.is_empty() {
            self.complete.insert("flow".to_owned(), Value::Array(written));
        }
        flows.into_iter().collect()
    }

    fn random_flows(&mut self, tcp: &Values) -> Option<Option<(Flows, FlowKind)>> {
        if let Some(Entry { node: Node { mark, kind: Kind::Array(_) }, .. }) = self.root.get("flows") {
            let problem =
                Problem::new("flows", Some(mark), "[[flows]] is a list of tables, and there is only one [flows]");
            self.problems.push(problem.expected("one [flows], or [[flow]]"));
        }
        let Some(table) = self.table("flows") else { return Some(None) };
        let mark = self.place("flows");
        let (own, kind, sparse) = self.flow_like(layout("flows"), "flows", table, mark.as_ref(), tcp);
        self.complete.insert("flows".to_owned(), Value::Object(sparse));
        kind.map(|kind| Some((typed::<Flows>(&own), kind)))
    }

    /// Reads a flow, or the randomly drawn flows: its own keys, its transport and traffic, and how it is written.
    fn flow_like(
        &mut self,
        layout: &'static Layout,
        path: &str,
        table: &Table,
        mark: Option<&Mark>,
        tcp: &Values,
    ) -> (Values, Option<FlowKind>, Values) {
        let udp = table.get("udp").is_some_and(|entry| matches!(entry.node.kind, Kind::Scalar(Value::Bool(true))));
        let mut base = self.defaults(layout.parts[0]);
        if udp {
            base.insert("traffic".to_owned(), "cbr".into());
        }
        let mut read = self.section(layout, path.to_owned(), Some(table), mark, Some(vec![base, tcp.clone()]));
        let (own, machine) = (read.take(), read.take());
        let mut sparse = own.clone();
        if udp {
            for entry in table.entries.iter().filter(|entry| is_tcp_only(&entry.key)) {
                let message = format!("`{}` is a key of TCP, and this flow uses UDP", entry.key);
                let problem = Problem::new(join(path, &entry.key), Some(&entry.mark), message);
                self.problems.push(problem.hint(format!("leave out `udp = true`, or `{}`", entry.key)));
            }
            sparse.remove("tcp");
            sparse.remove("acking");
        } else {
            sparse.extend(table.entries.iter().filter_map(|e| Some((e.key.clone(), machine.get(&e.key)?.clone()))));
        }
        let mut chosen = |resolver: &mut Self, key: &'static str, room_name: &'static str| {
            let given = resolver.given_tables(room(room_name), path, Some(table));
            let info = resolver.select(room_name, &join(path, key), own.get(key)?.as_str()?)?;
            let chosen = resolver.with_table(room_name, info, &given, path, table);
            if let Some(Entry { node: Node { kind: Kind::Table(parameters), .. }, .. }) = table.get(info.name) {
                // A profile of its own stands for all of its values.
                let own = parameters.get(PROFILE).is_some();
                let is_given = |key: &String| own || parameters.get(key).is_some();
                let given = chosen.values.iter().filter(|(key, _)| is_given(key));
                let given = given.map(|(key, value)| (key.clone(), value.clone()));
                sparse.insert(info.name.to_owned(), Value::Object(given.collect()));
            }
            Some(chosen)
        };
        let traffic = chosen(self, "traffic", "traffic");
        let transport = if udp {
            Some(None)
        } else {
            let acking = chosen(self, "acking", "acking");
            let variant = match own.get("tcp").and_then(Value::as_str) {
                Some(name) if is_custom(name) => {
                    self.custom_variant(path, table, name, &mut sparse).map(Variant::Custom)
                }
                _ => chosen(self, "tcp", "congestion").map(Variant::Model),
            };
            variant.zip(acking).map(|(variant, acking)| Some(TcpKind { machine, variant, acking }))
        };
        let kind = traffic.zip(transport).map(|(traffic, tcp)| FlowKind { tcp, traffic });
        (own, kind, sparse)
    }

    fn wires(&mut self) -> Vec<(Wire, Values)> {
        let mut wires = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("wire").into_iter().enumerate() {
            let mut read = self.section(layout("wire"), format!("wire.{index}"), Some(table), Some(mark), None);
            let (own, link) = (read.take(), read.take());
            written.push(Value::Object(own.clone().into_iter().chain(link.clone()).collect()));
            wires.push((typed::<Wire>(&own), link));
        }
        if !written.is_empty() {
            self.complete.insert("wire".to_owned(), Value::Array(written));
        }
        wires
    }

    /// Puts the parameters of the models in use into their sections.
    fn tables_of_used_models(&mut self) {
        for (room_name, model) in &self.used {
            let room = room(room_name);
            let Some(info) = room.model(model) else { continue };
            let values = self.base(room.name, info);
            let section = self.complete.entry(room.section).or_insert_with(|| Value::Object(Values::new()));
            if let Value::Object(section) = section {
                section.insert((*model).to_owned(), Value::Object(values));
            }
        }
        let tcp = self.complete.entry(room("congestion").section).or_insert_with(|| Value::Object(Values::new()));
        if let Value::Object(tcp) = tcp {
            let with_parameters = self.used_custom.iter().filter(|(_, values)| !values.is_empty());
            tcp.extend(with_parameters.map(|(name, values)| (name.clone(), Value::Object(values.clone()))));
        }
    }

    fn warn_of_unused(&mut self) {
        let unused: Vec<_> = self.shared.keys().filter(|key| !self.used.contains(*key)).copied().collect();
        for (room_name, model) in unused {
            let path = join(room(room_name).section, model);
            self.warning(&path, format!("[{path}] is not used: the scenario has no {room_name} model `{model}`"));
        }
        let unused: Vec<_> = self.custom.keys().filter(|name| !self.used_custom.contains_key(*name)).cloned().collect();
        for name in unused {
            let path = join(room("congestion").section, &name);
            self.warning(&path, format!("[{path}] is not used: no flow has the rule `{name}`"));
        }
    }

    /// The scenario with every default, its sections in the order of the layout.
    fn written(&mut self, nodes: &Nodes) -> Values {
        let mut complete = std::mem::take(&mut self.complete);
        if let Ok(nodes) = serde_json::to_value(nodes) {
            complete.insert("nodes".to_owned(), nodes);
        }
        let mut ordered = Values::new();
        let is_section = |key: &str| LAYOUT.iter().any(|layout| layout.name == key);
        ordered.extend(
            complete.iter().filter(|(key, _)| !is_section(key)).map(|(key, value)| (key.clone(), value.clone())),
        );
        for layout in LAYOUT {
            if let Some(value) = complete.remove(layout.name)
                && value != Value::Object(Values::new())
            {
                ordered.insert(layout.name.to_owned(), value);
            }
        }
        ordered
    }
}

/// Whether a key of a flow applies to TCP only.
pub(crate) fn is_tcp_only(key: &str) -> bool {
    let tcp = layout("tcp").parts[0];
    ["tcp", "acking"].contains(&key)
        || (tcp.defaults)("rfc").get(key).is_some()
        || is_custom(key)
        || ROOMS.iter().any(|room| ["congestion", "acking"].contains(&room.name) && room.model(key).is_some())
}
