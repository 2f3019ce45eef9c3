//! The flows of a scenario: their transport and traffic.

use hopyard_model::app;
use hopyard_model::params::{ModelInfo, RFC};
use serde_json::Value;

use super::linux;
use super::resolved::{Chosen, Congestion, FlowKind, RandomFlows, TcpKind, Typed, typed};
use super::resolver::Resolver;
use crate::catalogue::{Config, Layout, is_external, is_tcp_only, layout, room};
use crate::key::join;
use crate::merge::PROFILE;
use crate::problem::{Mark, Problem};
use crate::sections::{Flow, Stack};
use crate::tree::{Entry, Kind, Node, Table};
use crate::value::Values;

impl Resolver<'_> {
    pub(super) fn flows(&mut self, tcp: &Values) -> Vec<(Flow, FlowKind)> {
        let mut flows = Vec::new();
        let mut written = Vec::new();
        for (index, (table, mark)) in self.list("flow").into_iter().enumerate() {
            let path = format!("flow.{index}");
            let (own, kind, sparse) = self.flow_like(layout("flow"), &path, table, Some(mark), tcp);
            written.push(Value::Object(sparse));
            let kind = kind.unwrap_or_else(|| FlowKind { tcp: None, traffic: self.stand_in(&path) });
            flows.push((typed(&own), kind));
        }
        if !written.is_empty() {
            self.complete.insert("flow".to_owned(), Value::Array(written));
        }
        flows
    }

    /// The sets of randomly drawn flows: one table, or a list of tables.
    pub(super) fn random_flows(&mut self, tcp: &Values) -> Vec<RandomFlows> {
        let is_list = matches!(self.root.get("flows").map(|entry| &entry.node.kind), Some(Kind::Array(_)));
        let mark = self.place("flows");
        let tables: Vec<(Option<usize>, &Table, Option<Mark>)> = if is_list {
            let sets = self.list("flows").into_iter().enumerate();
            sets.map(|(number, (table, mark))| (Some(number), table, Some(mark.clone()))).collect()
        } else {
            self.table("flows").map(|table| (None, table, mark)).into_iter().collect()
        };
        let (mut sets, mut written) = (Vec::new(), Vec::new());
        for (number, table, mark) in tables {
            let path = number.map_or_else(|| "flows".to_owned(), |number| format!("flows.{number}"));
            if ["random", "share"].iter().all(|key| table.get(key).is_none()) {
                let title = if is_list { "[[flows]]" } else { "[flows]" };
                let problem = Problem::new(join(&path, "random"), mark.as_ref(), format!("{title} has no `random`"));
                self.problems.push(problem.expected("`random`, the number of flows, or `share`"));
            }
            let (own, kind, sparse) = self.flow_like(layout("flows"), &path, table, mark.as_ref(), tcp);
            written.push(Value::Object(sparse));
            let kind = kind.unwrap_or_else(|| FlowKind { tcp: None, traffic: self.stand_in(&path) });
            sets.push(RandomFlows { flows: typed(&own), kind, number });
        }
        match (is_list, written.pop()) {
            (_, None) => {}
            (false, Some(only)) => {
                self.complete.insert("flows".to_owned(), only);
            }
            (true, Some(last)) => {
                written.push(last);
                self.complete.insert("flows".to_owned(), Value::Array(written));
            }
        }
        sets
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
            // The first one that can use UDP.
            let able = |model: &&ModelInfo| app::Config::of_profile(model.name, RFC).is_ok_and(|it| !it.needs_tcp());
            let name = app::MODELS.iter().find(able).map_or("", |model| model.name);
            base.insert("traffic".to_owned(), name.into());
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
        let traffic = self.of_flow("traffic", path, table, &own, &mut sparse);
        let transport = if udp {
            Some(None)
        } else {
            if own.get("stack") == serde_json::to_value(Stack::Hopyard).ok().as_ref() {
                self.note_use(layout.parts[1], &machine);
            }
            let acking = self.of_flow("acking", path, table, &own, &mut sparse);
            let congestion = match own.get("tcp").and_then(Value::as_str) {
                Some(name) if is_external(name) => {
                    self.external_congestion(path, table, name, &mut sparse).map(Congestion::External)
                }
                _ => {
                    let found = self.of_flow("tcp", path, table, &own, &mut sparse).map(Congestion::Model);
                    if found.is_none()
                        && own.get("stack") == serde_json::to_value(Stack::Linux).ok().as_ref()
                        && let Some(problem) = self.problems.last_mut()
                    {
                        problem.expected = Some(linux::twins());
                    }
                    found
                }
            };
            congestion
                .zip(acking)
                .map(|(congestion, acking)| Some(TcpKind { machine: Typed::new(machine), congestion, acking }))
        };
        let kind = traffic.zip(transport).map(|(traffic, tcp)| FlowKind { tcp, traffic });
        (own, kind, sparse)
    }

    /// The model that a key of a flow names. `sparse` is given the parameters that the flow's table of it gives.
    fn of_flow<C: Config>(
        &mut self,
        key: &str,
        path: &str,
        table: &Table,
        own: &Values,
        sparse: &mut Values,
    ) -> Option<Chosen<C>> {
        let given = self.given_tables(room(C::ROOM), path, Some(table));
        let info = self.select(C::ROOM, &join(path, key), own.get(key)?.as_str()?)?;
        let chosen = self.with_table(info, &given, path, table);
        if let Some(Entry { node: Node { kind: Kind::Table(parameters), .. }, .. }) = table.get(info.name) {
            // A profile of its own stands for all of its values.
            let own = parameters.get(PROFILE).is_some();
            let is_given = |key: &String| own || parameters.get(key).is_some();
            let given = chosen.values.iter().filter(|(key, _)| is_given(key));
            let given = given.map(|(key, value)| (key.clone(), value.clone()));
            sparse.insert(info.name.to_owned(), Value::Object(given.collect()));
        }
        Some(chosen)
    }
}
