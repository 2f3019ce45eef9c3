//! The reader of sections: their values over the defaults, and the models that they select.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::agent;
use hopyard_model::link::{queue, wired};
use hopyard_model::params::ModelInfo;
use serde::Deserialize as _;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::flow_faults::{FlowFault, Place, merged};
use super::idle::{Idle, is_of_list};
use super::resolved::{Chosen, FurtherChannel, Moving, Typed, typed};
use crate::catalogue::{Config, Layout, is_external, layout, no_such_model, room, where_belongs};
use crate::external::Declaration;
use crate::files::{BrokenLinks, Files};
use crate::key::join;
use crate::merge::{Judge, PROFILE, Section, profiles};
use crate::problem::{Mark, Problem};
use crate::sections::{Agents, Channel, Movement, Wire};
use crate::tree::{Entry, Kind, Node, Table};
use crate::value::Values;

/// A wire, and what its link is.
type TypedWire = (Wire, Typed<wired::Params>);

pub(super) struct Resolver<'a> {
    pub(super) root: &'a Table,
    pub(super) files: &'a Files,
    pub(super) profile: String,
    pub(super) area: Option<[Value; 2]>,
    /// Parameters of sections for the whole scenario, by room and model. The parameters of flows and nodes are compared
    /// with them.
    pub(super) shared: BTreeMap<(&'static str, &'static str), Values>,
    pub(super) used: BTreeSet<(&'static str, &'static str)>,
    /// The external congestion controls that were already looked up.
    pub(super) declarations: BTreeMap<String, Option<Declaration>>,
    /// Parameters of external congestion controls for the whole scenario.
    pub(super) external: BTreeMap<String, Values>,
    /// The parameters of each external congestion control in use, when a flow gives none.
    pub(super) used_external: BTreeMap<String, Values>,
    pub(super) problems: Vec<Problem>,
    /// Mistakes of flows, which are reported together.
    pub(super) flow_faults: Vec<FlowFault>,
    /// Sections, and tables of lists of sections, that have problems of their own: "nodes", "flow.3".
    pub(super) faulty: BTreeSet<String>,
    pub(super) warnings: Vec<Problem>,
    /// Files of links with faulty rows.
    pub(super) broken_links: Vec<BrokenLinks>,
    pub(super) complete: Values,
    /// Keys that do nothing beside the values of others.
    pub(super) idle: Idle,
}

/// A section as it was read: the values of each of its parts.
pub(super) struct Read {
    pub(super) parts: Vec<Values>,
}

impl Read {
    pub(super) fn take(&mut self) -> Values {
        if self.parts.is_empty() { Values::new() } else { self.parts.remove(0) }
    }
}

/// The names of external congestion controls whose tables are in a section that allows them.
fn external_tables<'t>(layout: &Layout, table: Option<&'t Table>) -> impl Iterator<Item = &'t str> {
    let entries = table.filter(|_| layout.rooms.contains(&"congestion")).into_iter().flat_map(|table| &table.entries);
    entries.map(|entry| entry.key.as_str()).filter(|key| is_external(key))
}

impl<'a> Resolver<'a> {
    pub(super) fn defaults(&self, info: &ModelInfo) -> Values {
        match (info.defaults)(&self.profile) {
            Value::Object(values) => values,
            _ => Values::new(),
        }
    }

    /// The place of a dotted key in the text, or of the nearest table that contains it.
    pub(super) fn place(&self, path: &str) -> Option<Mark> {
        self.root.place(path)
    }

    /// The numbers that a key has in the text, also where a fault of another key keeps its table from being read.
    pub(super) fn numbers(&self, path: &str) -> Vec<u32> {
        let value = self.root.node(path).map(Node::to_value);
        value.and_then(|value| Vec::deserialize(value).ok()).unwrap_or_default()
    }

    /// Whether the scenario gives a key.
    pub(super) fn is_given(&self, section: &str, key: &str) -> bool {
        self.table(section).is_some_and(|table| table.get(key).is_some())
    }

    pub(super) fn problem(&mut self, path: &str, message: impl Into<String>) -> &mut Problem {
        let place = self.place(path);
        self.problems.push(Problem::new(path, place.as_ref(), message));
        self.problems.last_mut().expect("one was added")
    }

    pub(super) fn warning(&mut self, path: &str, message: impl Into<String>) -> &mut Problem {
        let place = self.place(path);
        self.warnings.push(Problem::new(path, place.as_ref(), message));
        self.warnings.last_mut().expect("just pushed")
    }

    /// A problem with a key of a flow, or of the drawn flows.
    pub(super) fn flow_problem(
        &mut self,
        flow: Place,
        key: impl Into<String>,
        message: impl Into<String>,
    ) -> &mut FlowFault {
        let (key, message) = (key.into(), message.into());
        let of_many = message.clone();
        let fault = FlowFault { flow, key, message, of_many, expected: None, hint: None, is_warning: false };
        self.flow_faults.push(fault);
        self.flow_faults.last_mut().expect("one was added")
    }

    /// Reports the mistakes of flows that were found.
    pub(super) fn report_flow_faults(&mut self) {
        for fault in merged(std::mem::take(&mut self.flow_faults)) {
            if fault.is_warning {
                self.warning(&fault.path(), fault.message);
                if let Some(problem) = self.warnings.last_mut() {
                    (problem.expected, problem.hint) = (fault.expected, fault.hint);
                }
            } else {
                let problem = self.problem(&fault.path(), fault.message.as_str());
                (problem.expected, problem.hint) = (fault.expected, fault.hint);
            }
        }
    }

    /// A warning about a table of a model, or about a key, that is not used.
    pub(super) fn unused(&mut self, path: &str, message: String) {
        let place = self.place(path);
        self.warnings.push(Problem::new(path, place.as_ref(), message).unused());
    }

    /// A section that occurs once.
    pub(super) fn table(&self, name: &str) -> Option<&'a Table> {
        match self.root.get(name).map(|entry| &entry.node.kind) {
            Some(Kind::Table(table)) => Some(table),
            _ => None,
        }
    }

    /// The parameters of a model in this scenario when a flow or a node gives none.
    pub(super) fn base(&self, room: &'static str, info: &'static ModelInfo) -> Values {
        if let Some(values) = self.shared.get(&(room, info.name)) {
            return values.clone();
        }
        let mut values = self.defaults(info);
        self.put_area(room, &mut values, |_| false);
        values
    }

    /// Puts the scenario's area into the parameters of models whose nodes draw their own paths, unless the parameters
    /// give another area.
    fn put_area(&self, room: &str, values: &mut Values, is_given: impl Fn(&str) -> bool) {
        if let Some([width, height]) = &self.area
            && room == "mobility"
            && values.contains_key("width")
            && values.contains_key("height")
        {
            for (key, length) in [("width", width), ("height", height)] {
                if !is_given(key) {
                    values.insert(key.to_owned(), length.clone());
                }
            }
        }
    }

    /// Reads a section that occurs once, with the tables of its models.
    pub(super) fn single(&mut self, name: &'static str) -> Read {
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
            self.shared_external(name, table);
        }
        if read.parts.len() == 1 {
            self.complete.insert(name.to_owned(), Value::Object(read.parts[0].clone()));
        }
        read
    }

    /// A section with one model's parameters, or one section's keys, and nothing else.
    pub(super) fn plain(&mut self, name: &'static str) -> Values {
        self.single(name).take()
    }

    /// A section that only selects a model.
    pub(super) fn choice<C: Config>(&mut self, name: &'static str) -> Option<Chosen<C>> {
        let own = self.plain(name);
        self.chosen_in(name, &own)
    }

    pub(super) fn chosen_in<C: Config>(&mut self, section: &'static str, own: &Values) -> Option<Chosen<C>> {
        let (key, _) = layout(section).selectors.iter().find(|(_, name)| *name == C::ROOM)?;
        let info = self.select(C::ROOM, &join(section, key), own.get(*key)?.as_str()?)?;
        Some(Chosen::new(info, self.base(C::ROOM, info)))
    }

    /// The model that a key names.
    pub(super) fn select(&mut self, room_name: &'static str, path: &str, name: &str) -> Option<&'static ModelInfo> {
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

    pub(super) fn section(
        &mut self,
        layout: &'static Layout,
        path: String,
        table: Option<&Table>,
        header: Option<&Mark>,
        bases: Option<Vec<Values>>,
    ) -> Read {
        let bases = bases.unwrap_or_else(|| layout.parts.iter().map(|info| self.defaults(info)).collect());
        let mut tables: Vec<&str> = layout.tables().collect();
        tables.extend(external_tables(layout, table));
        let profiles = layout.profiled().map_or(&[][..], profiles);
        let parts = layout.parts.iter().map(|info| *info as &dyn Judge).zip(bases.clone()).collect();
        let section = Section { path: path.clone(), parts, tables, profiles };
        if let Some(table) = table {
            for key in layout.required {
                if table.get(key).is_none() {
                    let problem = Problem::new(section.key(key), header, format!("{} has no `{key}`", layout.title()));
                    self.problems.push(problem.expected(format!("`{key}`")));
                }
            }
        }
        let read = section.read(table, header, where_belongs, &mut self.problems);
        for ((info, base), values) in layout.parts.iter().zip(&bases).zip(&read) {
            self.note_unused(info, &path, table, base, values);
        }
        Read { parts: read }
    }

    /// The complete tables of a room's models in a section.
    pub(super) fn given_tables(
        &mut self,
        room: &'static crate::catalogue::Room,
        path: &str,
        table: Option<&Table>,
    ) -> Vec<(&'static ModelInfo, Values)> {
        let mut given = Vec::new();
        for info in *room.models {
            let Some(entry) = table.and_then(|table| table.get(info.name)) else { continue };
            let Kind::Table(parameters) = &entry.node.kind else { continue };
            let base = self.base(room.name, info);
            let section = Section {
                path: join(path, info.name),
                parts: vec![(info as &dyn Judge, base.clone())],
                tables: vec![],
                profiles: profiles(info),
            };
            let mut values =
                section.read(Some(parameters), Some(&entry.node.mark), where_belongs, &mut self.problems).remove(0);
            // The area belongs to no profile.
            if parameters.get(PROFILE).is_some() {
                self.put_area(room.name, &mut values, |key| parameters.get(key).is_some());
            }
            self.note_unused(info, &join(path, info.name), Some(parameters), &base, &values);
            if is_of_list(path) {
                self.note_use(info, &values);
            }
            given.push((info, values));
        }
        given
    }

    /// The tables of a list of sections.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<(&'a Table, &'a Mark)> {
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

    pub(super) fn movements(&mut self) -> Vec<(Movement, Moving)> {
        let mut movements = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("movement").into_iter().enumerate() {
            let path = format!("movement.{index}");
            let own = self.section(layout("movement"), path.clone(), Some(table), Some(mark), None).take();
            let given = self.given_tables(room("mobility"), &path, Some(table));
            let movement: Movement = typed(&own);
            let info = self.select("mobility", &join(&path, "model"), &movement.model);
            let chosen = info.map(|info| self.with_table(info, &given, &path, table));
            let mut own = own;
            if let (Some(chosen), Some(_)) = (&chosen, info) {
                own.insert(chosen.model.name.to_owned(), Value::Object(chosen.values.clone()));
            }
            written.push(Value::Object(own));
            movements.push((movement, chosen.unwrap_or_else(|| self.stand_in(&path))));
        }
        if !written.is_empty() {
            self.complete.insert("movement".to_owned(), Value::Array(written));
        }
        movements
    }

    /// The agents of every node. Where hosts move between networks (`moves`), agents that serve such hosts run without
    /// being asked for, at the nodes that have a part in it.
    pub(super) fn agents(&mut self, moves: bool) -> Option<Vec<Chosen<agent::Config>>> {
        let Agents { mut run } = typed(&self.plain("agents"));
        let serves = |model: &&ModelInfo| {
            agent::Config::of_profile(model.name, &self.profile).is_ok_and(|it| it.serves_moving_hosts())
        };
        let serving: Vec<_> = agent::MODELS.iter().filter(serves).map(|model| model.name.to_owned()).collect();
        if moves && !run.iter().any(|name| serving.contains(name)) {
            run.extend(serving.into_iter().take(1));
        }
        let mut agents: Vec<Option<Chosen<agent::Config>>> = Vec::new();
        for (index, name) in run.iter().enumerate() {
            if run[..index].contains(name) {
                self.problem("agents.run", format!("`{name}` is listed twice")).expected =
                    Some("each agent once".to_owned());
                continue;
            }
            let info = self.select("agent", "agents.run", name);
            agents.push(info.map(|info| Chosen::new(info, self.base("agent", info))));
        }
        let agents: Option<Vec<_>> = agents.into_iter().collect();
        let configs: Vec<_> = agents.iter().flatten().map(|it| it.config.clone()).collect();
        if let Err((one, other, port)) = agent::check(&configs) {
            let message = format!("`{}` and `{}` are both reached at UDP port {port}", one.name(), other.name());
            self.problem("agents.run", message).expected = Some("agents with different ports".to_owned());
        }
        agents
    }

    /// The channels beyond the first.
    pub(super) fn channels(&mut self) -> Vec<FurtherChannel> {
        let mut channels = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("channel").into_iter().enumerate() {
            let path = format!("channel.{index}");
            let mut read = self.section(layout("channel"), path.clone(), Some(table), Some(mark), None);
            let (mut own, radio) = (read.take(), read.take());
            let channel: Channel = typed(&own);
            own.extend(radio.clone());
            let propagation = self.of_channel(&channel.propagation, &path, table, &mut own);
            let fading = self.of_channel(&channel.fading, &path, table, &mut own);
            let mac = self.of_channel(&channel.mac, &path, table, &mut own);
            let rates = self.of_channel(&channel.rate_control, &path, table, &mut own);
            written.push(Value::Object(own));
            channels.push(FurtherChannel { channel, radio: Typed::new(radio), propagation, fading, mac, rates });
        }
        if !written.is_empty() {
            self.complete.insert("channel".to_owned(), Value::Array(written));
        }
        channels
    }

    /// The model of a further channel, or of a wire, that one of its keys names. `own` is given the table of its
    /// parameters.
    fn of_channel<C: Config>(&mut self, name: &str, path: &str, table: &Table, own: &mut Values) -> Chosen<C> {
        let given = self.given_tables(room(C::ROOM), path, Some(table));
        let Some(info) = self.select(C::ROOM, &join(path, C::ROOM), name) else { return self.stand_in(path) };
        let chosen = self.with_table(info, &given, path, table);
        own.insert(chosen.model.name.to_owned(), Value::Object(chosen.values.clone()));
        chosen
    }

    /// A replacement for a model that cannot be used in this table of a list, and that was reported. So the other
    /// tables can be checked.
    pub(super) fn stand_in<C: Config>(&mut self, table: &str) -> Chosen<C> {
        self.faulty.insert(table.to_owned());
        let model = &room(C::ROOM).models[0];
        Chosen::new(model, self.base(C::ROOM, model))
    }

    /// A list of tables without models.
    pub(super) fn simple_list<S: DeserializeOwned>(&mut self, name: &'static str) -> Vec<S> {
        let mut items = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list(name).into_iter().enumerate() {
            let own = self.section(layout(name), format!("{name}.{index}"), Some(table), Some(mark), None).take();
            items.push(typed(&own));
            written.push(Value::Object(own));
        }
        if !written.is_empty() {
            self.complete.insert(name.to_owned(), Value::Array(written));
        }
        items
    }

    /// A selected model with the parameters of its own table, if there is one. Tables of other models cause a warning.
    pub(super) fn with_table<C: Config>(
        &mut self,
        info: &'static ModelInfo,
        given: &[(&'static ModelInfo, Values)],
        path: &str,
        table: &Table,
    ) -> Chosen<C> {
        let room_name = C::ROOM;
        for (other, _) in given {
            if other.name != info.name {
                let mark = table.get(other.name).map(|entry| entry.mark.clone());
                let message = format!("`{}` is not used here: the {room_name} model is `{}`", other.name, info.name);
                self.warnings.push(Problem::new(join(path, other.name), mark.as_ref(), message).unused());
            }
        }
        let own = given.iter().find(|(model, _)| model.name == info.name);
        Chosen::new(info, own.map_or_else(|| self.base(room_name, info), |(_, values)| values.clone()))
    }

    /// The wires, and the discipline of the queues of each.
    pub(super) fn wires(&mut self) -> (Vec<TypedWire>, Vec<Chosen<queue::Config>>) {
        let (mut wires, mut queues) = (Vec::new(), Vec::new());
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("wire").into_iter().enumerate() {
            let path = format!("wire.{index}");
            let mut read = self.section(layout("wire"), path.clone(), Some(table), Some(mark), None);
            let (own, link) = (read.take(), read.take());
            let wire: Wire = typed(&own);
            let mut all: Values = own.into_iter().chain(link.clone()).collect();
            queues.push(self.of_channel(&wire.queue, &path, table, &mut all));
            written.push(Value::Object(all));
            wires.push((wire, Typed::new(link)));
        }
        if !written.is_empty() {
            self.complete.insert("wire".to_owned(), Value::Array(written));
        }
        (wires, queues)
    }
}
