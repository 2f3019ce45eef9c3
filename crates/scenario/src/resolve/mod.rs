//! From a tree of text to its meaning: the complete values of each section, the selected models, all checks.

mod access;
mod batteries;
mod beside;
mod check;
mod drawn;
mod external;
mod flow_faults;
mod flows;
mod groups;
mod idle;
mod inputs;
mod jammers;
mod links;
mod linux;
mod longest;
mod marks;
mod mobile;
mod mobile_checks;
mod mobile_orders;
mod movement;
mod networks;
mod queues;
mod reach;
mod resolved;
mod resolver;
mod routers;
mod singles;
mod tracks;
mod tunnels;
mod unused;
mod ways;

use std::collections::{BTreeMap, BTreeSet};

use hopyard_model::routing;
use serde_json::Value;

pub(crate) use self::mobile::{roles, served};
pub(crate) use self::mobile_orders::orders;
pub(crate) use self::resolved::{
    Chosen, Congestion, FlowKind, FurtherChannel, Moving, Outcome, RandomFlows, Resolved, TcpKind, Typed, typed,
};
use self::resolver::Resolver;
use crate::catalogue::{LAYOUT, layout, room, where_belongs};
use crate::files::Files;
use crate::key::join;
use crate::merge::{Judge, Section};
use crate::sections::{
    Address, Battery, Energy, ForeignAgent, Group, Head, HomeAgent, Host, Jammer, Linux, Measure, MobileHost, Nodes,
    Obstacle, Simulator, Sleep, Tunnel,
};
use crate::tree::Table;
use crate::value::Values;

/// Reads the tree.
pub(crate) fn resolve(root: &Table, files: &Files) -> Outcome {
    let mut resolver = Resolver {
        root,
        files,
        profile: String::new(),
        area: None,
        shared: BTreeMap::new(),
        used: BTreeSet::new(),
        declarations: BTreeMap::new(),
        external: BTreeMap::new(),
        used_external: BTreeMap::new(),
        problems: Vec::new(),
        flow_faults: Vec::new(),
        faulty: BTreeSet::new(),
        warnings: Vec::new(),
        broken_links: Vec::new(),
        complete: Values::new(),
        idle: idle::Idle::default(),
    };
    let resolved = resolver.run();
    let Resolver { problems, warnings, idle, .. } = resolver;
    Outcome { resolved: resolved.filter(|_| problems.is_empty()), problems, warnings, idle: idle.as_default }
}

impl Resolver<'_> {
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
        let mobility = self.choice("mobility");
        let movements = self.movements();
        let mut radio = self.single("radio");
        let (own, radio) = (radio.take(), radio.take());
        let propagation = self.chosen_in("radio", &own);
        let fading = self.chosen_in("radio", &own);
        self.complete.insert("radio".to_owned(), Value::Object(own.into_iter().chain(radio.clone()).collect()));
        let own = self.plain("mac");
        let mac = self.chosen_in("mac", &own);
        let rates = self.chosen_in("mac", &own);
        let channels = self.channels();
        let obstacles = self.simple_list::<Obstacle>("obstacle");
        let jammers = self.simple_list::<Jammer>("jammer");
        let energy = self.plain("energy");
        let energy_model = self.chosen_in("energy", &energy);
        let energy: Energy = typed(&energy);
        let batteries = self.simple_list::<Battery>("battery");
        let sleeps = self.simple_list::<Sleep>("sleep");
        let addresses = self.simple_list::<Address>("address");
        let mut link = self.single("link");
        let (own, mut link) = (link.take(), link.take());
        let queue = self.chosen_in("link", &own);
        self.complete.insert("link".to_owned(), Value::Object(own.into_iter().chain(link.clone()).collect()));
        let ip = self.plain("ip");
        let routing = self.choice("routing");
        self.choose_queue(&mut link, routing.as_ref());
        let home_agents = self.simple_list::<HomeAgent>("home_agent");
        let foreign_agents = self.simple_list::<ForeignAgent>("foreign_agent");
        let mobile_hosts = self.simple_list::<MobileHost>("mobile_host");
        let moves = !(home_agents.is_empty() && foreign_agents.is_empty() && mobile_hosts.is_empty());
        let agents = self.agents(moves);
        let multicast = self.choice("multicast");
        let groups = self.simple_list::<Group>("group");
        let tcp = self.plain("tcp");
        self.single("acking");
        self.single("traffic");
        let flows = self.flows(&tcp);
        self.leave_out_multicast(&flows);
        let random_flows = self.random_flows(&tcp);
        let linux: Linux = typed(&self.plain("linux"));
        let hosts = self.simple_list::<Host>("host");
        let (wires, wire_queues) = self.wires();
        let tunnels = self.simple_list::<Tunnel>("tunnel");
        let measure: Measure = typed(&self.plain("measure"));
        let simulator: Simulator = typed(&self.plain("simulator"));

        self.tables_of_used_models();
        let resolved = Resolved {
            head,
            nodes,
            positions: Vec::new(),
            mobility: mobility?,
            movements,
            files: BTreeMap::new(),
            links: BTreeMap::new(),
            errors: BTreeMap::new(),
            traffic: BTreeMap::new(),
            traces: BTreeMap::new(),
            radio: Typed::new(radio),
            propagation: propagation?,
            fading: fading?,
            mac: mac?,
            rates: rates?,
            channels,
            obstacles,
            jammers,
            energy,
            energy_model: energy_model?,
            batteries,
            sleeps,
            addresses,
            link: Typed::new(link),
            queue: queue?,
            ip: Typed::new(ip),
            routing: routing?,
            agents: agents?,
            multicast: multicast?,
            groups,
            flows,
            random_flows,
            linux,
            hosts,
            wires,
            wire_queues,
            tunnels,
            home_agents,
            foreign_agents,
            mobile_hosts,
            measure,
            simulator,
            complete: Values::new(),
        };
        let mut resolved = self.check(resolved);
        self.warn_of_unused();
        self.warn_of_idle();
        resolved.complete = self.written(&resolved.nodes);
        Some(resolved)
    }

    /// The queue that the routing protocol needs, where the scenario names none.
    fn choose_queue(&mut self, link: &mut Values, routing: Option<&Chosen<routing::Config>>) {
        let needs = routing.is_some_and(|it| it.config.needs_queue_by_class().is_some());
        if !needs || self.is_given("link", "routing_packets") {
            return;
        }
        let value = Value::String("by_class".to_owned());
        link.insert("routing_packets".to_owned(), value.clone());
        if let Some(Value::Object(section)) = self.complete.get_mut("link") {
            section.insert("routing_packets".to_owned(), value);
        }
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
            let with_parameters = self.used_external.iter().filter(|(_, values)| !values.is_empty());
            tcp.extend(with_parameters.map(|(name, values)| (name.clone(), Value::Object(values.clone()))));
        }
    }

    fn warn_of_unused(&mut self) {
        let unused: Vec<_> = self.shared.keys().filter(|key| !self.used.contains(*key)).copied().collect();
        for (room_name, model) in unused {
            let path = join(room(room_name).section, model);
            self.unused(&path, format!("[{path}] is not used: the scenario has no {room_name} model `{model}`"));
        }
        let unused: Vec<_> =
            self.external.keys().filter(|name| !self.used_external.contains_key(*name)).cloned().collect();
        for name in unused {
            let path = join(room("congestion").section, &name);
            self.unused(&path, format!("[{path}] is not used: no flow has the congestion control `{name}`"));
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
