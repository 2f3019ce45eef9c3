//! Every section of a scenario and every model, in one list. The reader, the JSON schema, the list of the command
//! line and the documentation all use it.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use hopyard_model::channel::energy;
use hopyard_model::link::queue;
use hopyard_model::mac::rate_control;
use hopyard_model::params::{ModelInfo, ParamsError};
use hopyard_model::phy::{fading, propagation};
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::{agent, app, ip, link, mac, mobility, multicast, phy, routing};
use serde_json::Value;

use crate::problem::{nearest, one_of};
use crate::sections;

/// The models of one kind, from which a scenario selects one.
#[derive(Debug)]
pub(crate) struct Room {
    pub name: &'static str,
    pub models: &'static &'static [ModelInfo],
    /// The section that contains the model's parameters, in a table of the model's name.
    pub section: &'static str,
}

impl Room {
    pub(crate) fn model(&self, name: &str) -> Option<&'static ModelInfo> {
        self.models.iter().find(|model| model.name == name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.models.iter().map(|model| model.name)
    }
}

/// A model of a room with its parameters.
pub(crate) trait Config: Sized {
    /// The name of the room.
    const ROOM: &'static str;

    fn read(model: &str, values: &Value) -> Result<Self, ParamsError>;
}

/// The parameters of a model that may not fit the rest of the scenario.
impl<C: Config> Config for Result<C, ParamsError> {
    const ROOM: &'static str = C::ROOM;

    fn read(model: &str, values: &Value) -> Result<Self, ParamsError> {
        Ok(C::read(model, values))
    }
}

macro_rules! rooms {
    ($($name:literal: $($module:ident)::+ in $section:literal;)+) => {
        /// All rooms.
        pub(crate) static ROOMS: &[Room] =
            &[$(Room { name: $name, models: &$($module)::+::MODELS, section: $section }),+];

        $(impl Config for $($module)::+::Config {
            const ROOM: &'static str = $name;

            fn read(model: &str, values: &Value) -> Result<Self, ParamsError> {
                Self::read(model, values)
            }
        })+
    };
}

rooms! {
    "mobility": mobility in "mobility";
    "propagation": propagation in "radio";
    "fading": fading in "radio";
    "mac": mac in "mac";
    "rate_control": rate_control in "mac";
    "energy": energy in "energy";
    "queue": queue in "link";
    "routing": routing in "routing";
    "agent": agent in "agents";
    "multicast": multicast in "multicast";
    "congestion": congestion in "tcp";
    "acking": acking in "acking";
    "traffic": app in "traffic";
}

/// The room of this name. It exists: the names come from [`LAYOUT`], and a test looks up all of them.
pub(crate) fn room(name: &str) -> &'static Room {
    ROOMS.iter().find(|room| room.name == name).expect("the layout names rooms that exist")
}

/// Models that are the only one of their kind, and that are not selected by name.
static RADIO: ModelInfo =
    ModelInfo::of::<phy::Params>("radio", "radio", "Power, sensitivity and reception of every radio.");
static LINK: ModelInfo =
    ModelInfo::of::<link::Params>("link", "link", "The interface queue and address resolution (RFC 826).");
static IP: ModelInfo = ModelInfo::of::<ip::Params>("ip", "ip", "The network layer (RFC 791).");
static TCP: ModelInfo =
    ModelInfo::of::<tcp::Params>("tcp", "tcp", "TCP as all variants share it (RFC 9293, RFC 6298, RFC 5681).");
static WIRED: ModelInfo = ModelInfo::of::<link::wired::Params>("link", "wire", "A wired link between two nodes.");

static HEAD: ModelInfo = ModelInfo::of::<sections::Head>("scenario", "scenario", "The keys at the top of a scenario.");
static NODES: ModelInfo =
    ModelInfo::of::<sections::Nodes>("scenario", "nodes", "How many nodes there are, and where they start.");
static MOBILITY: ModelInfo = ModelInfo::of::<sections::Mobility>("scenario", "mobility", "How nodes move.");
static MOVEMENT: ModelInfo =
    ModelInfo::of::<sections::Movement>("scenario", "movement", "Nodes that move otherwise than the rest.");
static CHANNEL: ModelInfo = ModelInfo::of::<sections::Channel>("scenario", "channel", "A further channel.");
static TUNNEL: ModelInfo = ModelInfo::of::<sections::Tunnel>("scenario", "tunnel", "A tunnel between two nodes.");
static ADDRESS: ModelInfo =
    ModelInfo::of::<sections::Address>("scenario", "address", "The IPv4 address of an interface.");
static PROPAGATION: ModelInfo =
    ModelInfo::of::<sections::Radio>("scenario", "radio", "The radio of every node, path loss and fading.");
static MAC: ModelInfo =
    ModelInfo::of::<sections::Mac>("scenario", "mac", "Medium access, and the rates of its frames.");
static ENERGY: ModelInfo =
    ModelInfo::of::<sections::Energy>("scenario", "energy", "The energy that radios take, and what there is of it.");
static BATTERY: ModelInfo =
    ModelInfo::of::<sections::Battery>("scenario", "battery", "Nodes with another battery than the rest.");
static SLEEP: ModelInfo =
    ModelInfo::of::<sections::Sleep>("scenario", "sleep", "Nodes whose radios sleep at given times.");
static OBSTACLE: ModelInfo = ModelInfo::of::<sections::Obstacle>("scenario", "obstacle", "A box that weakens signals.");
static JAMMER: ModelInfo = ModelInfo::of::<sections::Jammer>("scenario", "jammer", "Nodes that only radiate.");
static ROUTING: ModelInfo = ModelInfo::of::<sections::Routing>("scenario", "routing", "The routing protocol.");
static AGENTS: ModelInfo = ModelInfo::of::<sections::Agents>("scenario", "agents", "Protocols that do not route.");
static GROUP: ModelInfo =
    ModelInfo::of::<sections::Group>("scenario", "group", "A multicast group, to which flows may go.");
static MULTICAST: ModelInfo =
    ModelInfo::of::<sections::Multicast>("scenario", "multicast", "How datagrams for groups are forwarded.");
static FLOW: ModelInfo = ModelInfo::of::<sections::Flow>("scenario", "flow", "One node talks to another.");
static FLOWS: ModelInfo = ModelInfo::of::<sections::Flows>(
    "scenario",
    "flows",
    "Flows between pairs of nodes that are drawn; several sets of them are a list, `[[flows]]`.",
);
static LINUX: ModelInfo = ModelInfo::of::<sections::Linux>(
    "scenario",
    "linux",
    "Linux kernels: nodes, and hosts of flows whose TCP is Linux's or of programs.",
);
static HOST: ModelInfo = ModelInfo::of::<sections::Host>(
    "scenario",
    "host",
    "A program of this machine that runs at a node in simulated time.",
);
static WIRE: ModelInfo = ModelInfo::of::<sections::Wire>("scenario", "wire", "A wired link between two nodes.");
static HOME_AGENT: ModelInfo =
    ModelInfo::of::<sections::HomeAgent>("scenario", "home_agent", "A node that is the home agent of mobile hosts.");
static FOREIGN_AGENT: ModelInfo =
    ModelInfo::of::<sections::ForeignAgent>("scenario", "foreign_agent", "A node that serves hosts of other networks.");
static MOBILE_HOST: ModelInfo = ModelInfo::of::<sections::MobileHost>(
    "scenario",
    "mobile_host",
    "Nodes that move between networks and keep their addresses.",
);
static QUEUE: ModelInfo =
    ModelInfo::of::<sections::Link>("scenario", "link", "The discipline of the interface queues of radios.");
static MEASURE: ModelInfo =
    ModelInfo::of::<sections::Measure>("scenario", "measure", "What is measured besides what always is.");
static SIMULATOR: ModelInfo = ModelInfo::of::<sections::Simulator>(
    "scenario",
    "simulator",
    "How the simulator works; no choice changes a result.",
);

/// A section of a scenario.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The section's name; empty for the top level of the scenario.
    pub name: &'static str,
    /// Whether the section may occur several times: `[[name]]`.
    pub list: bool,
    /// Whether a section that occurs once may be a list too: `[name]` or `[[name]]`.
    pub one_or_list: bool,
    /// The structs whose keys are in the section.
    pub parts: &'static [&'static ModelInfo],
    /// The rooms whose models may have their parameters in tables of the section.
    pub rooms: &'static [&'static str],
    /// Keys that name a model, each with its room.
    pub selectors: &'static [(&'static str, &'static str)],
    /// Keys that are required.
    pub required: &'static [&'static str],
}

impl Layout {
    const fn of(name: &'static str, parts: &'static [&'static ModelInfo]) -> Self {
        Self { name, list: false, one_or_list: false, parts, rooms: &[], selectors: &[], required: &[] }
    }

    /// The names of the models whose tables are possible here.
    pub(crate) fn tables(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.rooms.iter().flat_map(|name| room(name).names())
    }

    /// Whether the section may be a list of tables.
    pub(crate) const fn may_be_list(&self) -> bool {
        self.list || self.one_or_list
    }

    /// The part whose profiles a key `profile` of the section can select.
    pub(crate) fn profiled(&self) -> Option<&'static ModelInfo> {
        match self.parts {
            [info] => Some(info),
            // The keys of its other part have the same defaults under all profiles.
            [_, info] if self.name == "link" => Some(info),
            _ => None,
        }
    }

    /// The section's title as written in a file.
    pub(crate) fn title(&self) -> String {
        match (self.name, self.list) {
            ("", _) => "the top of the scenario".to_owned(),
            (name, false) => format!("[{name}]"),
            (name, true) => format!("[[{name}]]"),
        }
    }
}

const FLOW_ROOMS: &[&str] = &["congestion", "acking", "traffic"];
const FLOW_SELECTORS: &[(&str, &str)] = &[("tcp", "congestion"), ("acking", "acking"), ("traffic", "traffic")];

/// Every section, in the order in which scenarios are written.
pub(crate) static LAYOUT: &[Layout] = &[
    Layout::of("", &[&HEAD]),
    Layout::of("nodes", &[&NODES]),
    Layout { rooms: &["mobility"], selectors: &[("model", "mobility")], ..Layout::of("mobility", &[&MOBILITY]) },
    Layout {
        list: true,
        rooms: &["mobility"],
        selectors: &[("model", "mobility")],
        required: &["nodes"],
        ..Layout::of("movement", &[&MOVEMENT])
    },
    Layout {
        rooms: &["propagation", "fading"],
        selectors: &[("propagation", "propagation"), ("fading", "fading")],
        ..Layout::of("radio", &[&PROPAGATION, &RADIO])
    },
    Layout {
        rooms: &["mac", "rate_control"],
        selectors: &[("model", "mac"), ("rate_control", "rate_control")],
        ..Layout::of("mac", &[&MAC])
    },
    Layout {
        list: true,
        rooms: &["propagation", "fading", "mac", "rate_control"],
        selectors: &[
            ("propagation", "propagation"),
            ("fading", "fading"),
            ("mac", "mac"),
            ("rate_control", "rate_control"),
        ],
        required: &["nodes"],
        ..Layout::of("channel", &[&CHANNEL, &RADIO])
    },
    Layout { list: true, required: &["from", "to", "loss"], ..Layout::of("obstacle", &[&OBSTACLE]) },
    Layout { list: true, required: &["nodes"], ..Layout::of("jammer", &[&JAMMER]) },
    Layout { rooms: &["energy"], selectors: &[("model", "energy")], ..Layout::of("energy", &[&ENERGY]) },
    Layout { list: true, required: &["nodes", "capacity"], ..Layout::of("battery", &[&BATTERY]) },
    Layout { list: true, required: &["nodes", "times"], ..Layout::of("sleep", &[&SLEEP]) },
    Layout { list: true, required: &["node", "address"], ..Layout::of("address", &[&ADDRESS]) },
    Layout { rooms: &["queue"], selectors: &[("queue", "queue")], ..Layout::of("link", &[&QUEUE, &LINK]) },
    Layout::of("ip", &[&IP]),
    Layout { rooms: &["routing"], selectors: &[("protocol", "routing")], ..Layout::of("routing", &[&ROUTING]) },
    Layout { rooms: &["agent"], ..Layout::of("agents", &[&AGENTS]) },
    Layout { rooms: &["multicast"], selectors: &[("protocol", "multicast")], ..Layout::of("multicast", &[&MULTICAST]) },
    Layout { list: true, required: &["name", "members"], ..Layout::of("group", &[&GROUP]) },
    Layout { rooms: &["congestion"], ..Layout::of("tcp", &[&TCP]) },
    Layout { rooms: &["acking"], ..Layout::of("acking", &[]) },
    Layout { rooms: &["traffic"], ..Layout::of("traffic", &[]) },
    Layout {
        list: true,
        rooms: FLOW_ROOMS,
        selectors: FLOW_SELECTORS,
        required: &["from", "to"],
        ..Layout::of("flow", &[&FLOW, &TCP])
    },
    Layout { one_or_list: true, rooms: FLOW_ROOMS, selectors: FLOW_SELECTORS, ..Layout::of("flows", &[&FLOWS, &TCP]) },
    Layout::of("linux", &[&LINUX]),
    Layout { list: true, required: &["node", "run"], ..Layout::of("host", &[&HOST]) },
    Layout {
        list: true,
        rooms: &["queue"],
        selectors: &[("queue", "queue")],
        required: &["between"],
        ..Layout::of("wire", &[&WIRE, &WIRED])
    },
    Layout { list: true, required: &["between"], ..Layout::of("tunnel", &[&TUNNEL]) },
    Layout { list: true, required: &["node"], ..Layout::of("home_agent", &[&HOME_AGENT]) },
    Layout { list: true, required: &["node"], ..Layout::of("foreign_agent", &[&FOREIGN_AGENT]) },
    Layout { list: true, required: &["nodes", "home"], ..Layout::of("mobile_host", &[&MOBILE_HOST]) },
    Layout::of("measure", &[&MEASURE]),
    Layout::of("simulator", &[&SIMULATOR]),
];

/// The section of this name. It exists: only this crate asks, and only for its own names.
pub(crate) fn layout(name: &str) -> &'static Layout {
    LAYOUT.iter().find(|layout| layout.name == name).expect("the layout has the section")
}

/// Every model: the models of the rooms, and the models that are the only one of their kind.
pub(crate) fn all_models() -> impl Iterator<Item = &'static ModelInfo> {
    [&RADIO, &LINK, &WIRED, &IP, &TCP].into_iter().chain(ROOMS.iter().flat_map(|room| *room.models))
}

/// Every section that does not belong to a model.
pub(crate) fn own_sections() -> impl Iterator<Item = &'static ModelInfo> {
    LAYOUT.iter().flat_map(|layout| layout.parts).copied().filter(|info| info.room == "scenario")
}

/// Keys that there were, each with the key that says the same.
const FORMER: &[(&str, &str)] = &[("read_rate", "`reader` in [tcp] is \"at_once\" or a rate such as \"1 Mbps\"")];

/// The sections to which a misplaced key belongs: "`window` is a key of [tcp]".
pub(crate) fn where_belongs(key: &str) -> Option<String> {
    if let Some((_, now)) = FORMER.iter().find(|(former, _)| *former == key) {
        return Some((*now).to_owned());
    }
    // Computed once, because a file may have thousands of keys in the wrong section.
    static PLACES: OnceLock<BTreeMap<String, Vec<String>>> = OnceLock::new();
    let places = PLACES.get_or_init(all_places).get(key)?;
    match places.as_slice() {
        [] => None,
        [place] if place.starts_with('[') => Some(format!("{place} is a section of its own, at the top level")),
        places => Some(format!("`{key}` is {}", places[..places.len().min(3)].join(" or "))),
    }
}

/// Each key with the sections that allow it.
fn all_places() -> BTreeMap<String, Vec<String>> {
    let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let keys = |info: &ModelInfo| match (info.defaults)("rfc") {
        Value::Object(values) => values.into_iter().map(|(key, _)| key).collect::<Vec<_>>(),
        _ => Vec::new(),
    };
    let tables = |info: &ModelInfo| match (info.defaults)("rfc") {
        Value::Object(values) => {
            let table = |(key, value)| if let Value::Object(values) = value { Some((key, values)) } else { None };
            values.into_iter().filter_map(table).collect::<Vec<_>>()
        }
        _ => Vec::new(),
    };
    for layout in LAYOUT {
        if !layout.name.is_empty() {
            places.entry(layout.name.to_owned()).or_default().push(layout.title());
        }
        for key in layout.parts.iter().flat_map(|info| keys(info)).filter(|key| key != layout.name) {
            places.entry(key).or_default().push(format!("a key of {}", layout.title()));
        }
        // A parameter that is a table has keys of its own.
        for (table, values) in layout.parts.iter().flat_map(|info| tables(info)) {
            for key in values.keys() {
                places.entry(key.clone()).or_default().push(format!("a key of [{}.{table}]", layout.name));
            }
        }
    }
    for room in ROOMS {
        for info in *room.models {
            for key in keys(info) {
                places.entry(key).or_default().push(format!("a key of [{}.{}]", room.section, info.name));
            }
        }
    }
    places
}

/// Whether a name belongs to an external congestion control: `module:Class`.
pub(crate) fn is_external(name: &str) -> bool {
    name.contains(':')
}

/// Whether a key of a flow applies to TCP only.
pub(crate) fn is_tcp_only(key: &str) -> bool {
    let tcp = layout("tcp").parts[0];
    ["tcp", "acking"].contains(&key)
        || (tcp.defaults)("rfc").get(key).is_some()
        || is_external(key)
        || ROOMS.iter().any(|room| ["congestion", "acking"].contains(&room.name) && room.model(key).is_some())
}

/// The message for a model that does not exist.
pub(crate) fn no_such_model(room: &Room, name: &str) -> (String, String, Option<String>) {
    let message = format!("there is no {} model `{name}`", room.name);
    let hint = match nearest(name, room.names()) {
        Some(name) => Some(format!("did you mean \"{name}\"?")),
        None if room.name == "congestion" => {
            Some("a congestion control written in Python is named `module:Class`".to_owned())
        }
        None => None,
    };
    (message, one_of(room.names()), hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_layout_is_sound() {
        for layout in LAYOUT {
            let mut keys = BTreeSet::new();
            for info in layout.parts {
                for profile in ["rfc", "ns2"] {
                    let defaults = (info.defaults)(profile);
                    assert_eq!((info.check)(&defaults), Ok(()), "{info:?} {profile}");
                    assert_eq!((info.canonical)(&defaults).as_ref(), Ok(&defaults), "{info:?} {profile}");
                }
                for key in (info.defaults)("rfc").as_object().expect("parameters are an object").keys() {
                    assert!(keys.insert(key.clone()), "[{}] has two keys {key}", layout.name);
                }
            }
            for name in layout.tables() {
                assert!(keys.insert(name.to_owned()), "[{}] has two keys {name}", layout.name);
            }
            for (key, name) in layout.selectors {
                assert!(keys.contains(*key));
                assert!(layout.rooms.contains(name));
            }
            assert!(layout.required.iter().all(|key| keys.contains(*key)));
        }
    }

    #[test]
    fn every_model_s_defaults_are_possible_and_canonical() {
        for info in all_models() {
            for profile in info.profiles {
                let defaults = (info.defaults)(profile);
                assert_eq!((info.canonical)(&defaults).as_ref(), Ok(&defaults), "{info:?} {profile}");
            }
        }
    }
}
