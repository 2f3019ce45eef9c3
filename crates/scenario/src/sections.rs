//! The keys of a scenario that do not belong to a model: duration, number and positions of nodes, choice of models,
//! flows.
//!
//! They are parameters like the parameters of models. Documentation, defaults, units and schema are in these structs
//! only.

use hopyard_engine::Span;
use hopyard_engine::units::Distance;
use hopyard_model::observe::{RouteChanges, SegmentFlows};
use hopyard_model::params::{Fault, LINUX, NS2, Params, RFC};
use hopyard_model::phy::neighbours::Search;
use hopyard_model::world::Quantity;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use crate::flow_keys::{Flow, Flows, Pairs, Until};
use crate::place::Place;

/// Makes a section a set of parameters, with the same defaults in every profile and no check of its own unless one is
/// given.
macro_rules! section {
    ($type:ident $(, $check:expr)?) => {
        impl Params for $type {
            fn of_profile(_profile: &str) -> Self {
                Self::default()
            }
            $(fn check(&self) -> Result<(), Fault> {
                let check: fn(&Self) -> Result<(), Fault> = $check;
                check(self)
            })?
        }
    };
}

mod energy;
mod group;
mod jammer;
mod linux;
mod mobile;
mod network;
mod obstacle;
mod router;
pub use energy::{Battery, Energy, Interval, Sleep};
pub(crate) use group::{ALL, addresses};
pub use group::{Group, Multicast, To};
pub use jammer::Jammer;
pub use linux::{Completion, Host, Linux, Stack, Westwood};
pub use mobile::{Denial, First, ForeignAgent, HomeAgent, MobileHost};
pub use network::Network;
pub use obstacle::Obstacle;
pub use router::{LinuxRouting, System, Wifi};

/// The keys at the top of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// The name of the results. It has no other effect.
    pub name: String,
    /// The source of every model's defaults: the standards ("rfc"), ns-2.35 ("ns2") or, for TCP and EDCA, Linux 6.1
    /// ("linux"). The key `profile` in a model's own table selects another profile for that model.
    pub profile: String,
    /// The duration of each run: at most 20 days.
    pub duration: Span,
    /// The number of runs. Each run has its own random numbers.
    pub runs: u32,
    /// The seed: the same seed gives the same runs.
    pub seed: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { name: "scenario".to_owned(), profile: RFC.to_owned(), duration: Span::from_secs(100), runs: 10, seed: 1 }
    }
}

/// The longest run. In longer runs, nanoseconds are not exact when they are written as decimal seconds.
const LONGEST: Span = Span::from_secs(20 * 24 * 3600);

section!(Head, |head| {
    // The name stands in tables, and files and folders are called after it.
    if head.name.trim().is_empty() || head.name.contains(['/', '\\']) || head.name.contains(char::is_control) {
        let problem = "expected text with at least one character, without a slash, a backslash and a line break";
        return Err(Fault::new("name", problem));
    }
    if ![RFC, NS2, LINUX].contains(&head.profile.as_str()) {
        let problem = format!("expected \"{RFC}\", \"{NS2}\" or \"{LINUX}\", found \"{}\"", head.profile);
        return Err(Fault::new("profile", problem));
    }
    if head.duration.is_zero() || head.duration > LONGEST {
        let problem = format!("expected more than 0 s and at most 20 days ({LONGEST}), found {}", head.duration);
        return Err(Fault::new("duration", problem));
    }
    Fault::unless("runs", head.runs, |it| it > 0, "at least 1")?;
    if i64::try_from(head.seed).is_err() {
        return Err(Fault::new("seed", "expected a number below 2^63"));
    }
    Ok(())
});

/// How nodes are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In a row from west to east, at a distance of `spacing`; the first node is at the origin.
    #[default]
    Chain,
    /// In rows of `columns` nodes, at a distance of `spacing` in both directions; the first node is at the origin.
    Grid,
    /// At random positions in `area`, uniformly distributed, drawn again in every run.
    Uniform,
    /// The first node in the centre, the others around it at distance `radius`, at equal angles.
    Circle,
    /// At the `positions` that are given.
    Positions,
    /// As the movement model gives: `random_waypoint` draws the start, a movement file contains it.
    Mobility,
}

/// `[nodes]`: the number of nodes, and their start positions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// The number of nodes with a radio; they are numbered from 0. If it is not given, it is taken from `positions` or
    /// from the movement file.
    pub count: u32,
    /// The number of further nodes that have wires only; their numbers follow those of the others.
    pub wired: u32,
    /// How nodes are placed: "chain", "grid", "uniform", "circle", "positions" or "mobility". The default is
    /// "positions" if positions are given, and "mobility" if the movement model has its own start positions.
    pub placement: Placement,
    /// The distance between neighbours of a chain or grid.
    pub spacing: Distance,
    /// The number of nodes in a row of a grid; 0 makes the grid as square as possible.
    pub columns: u32,
    /// The distance of a circle's nodes from its centre.
    pub radius: Distance,
    /// Width and height of the rectangle in which nodes are drawn and move. One of its corners is the origin. If it is
    /// given, nodes placed in another way must lie in it too. "0 m" twice means no area.
    pub area: [Distance; 2],
    /// The prefix of the first channel, such as "10.1.0.0/16"; "auto": 10.0.0.0/8, or the part of it that is free.
    pub network: Network,
    /// The system of the nodes with a radio: "hopyard", or "linux", for kernels in simulated time that route themselves
    /// (`[linux]`).
    pub system: System,
    /// The positions of all nodes with a radio, as metres to the east, to the north and, if the height is not zero, up.
    pub positions: Vec<Place>,
}

impl Default for Nodes {
    fn default() -> Self {
        Self {
            count: 0,
            wired: 0,
            placement: Placement::Chain,
            spacing: Distance::new(200.0),
            columns: 0,
            radius: Distance::new(100.0),
            area: [Distance::new(0.0); 2],
            network: Network::Auto,
            system: System::Hopyard,
            positions: Vec::new(),
        }
    }
}

/// A limit against typing errors: no computer has the memory for more nodes.
const MOST_NODES: u32 = 1_000_000;

section!(Nodes, |nodes| {
    Fault::unless("count", nodes.count, |it| it <= MOST_NODES, format_args!("at most {MOST_NODES}"))?;
    Fault::unless("wired", nodes.wired, |it| it <= MOST_NODES, format_args!("at most {MOST_NODES}"))?;
    for (name, length) in [("spacing", nodes.spacing), ("radius", nodes.radius)] {
        Fault::unless(name, length, |it| it.metres() > 0.0, "a distance above zero")?;
    }
    if (nodes.area[0].metres() > 0.0) != (nodes.area[1].metres() > 0.0) {
        return Err(Fault::new("area", "expected a width and a height above zero"));
    }
    let coordinates = |place: &Place| [place.0.x, place.0.y, place.0.z];
    let far = |place: &Place| coordinates(place).iter().any(|x| !(x.is_finite() && x.abs() <= 1e9));
    let far = nodes.positions.iter().enumerate().filter(|(_, place)| far(place));
    Fault::of_elements(
        "positions",
        far.map(|(i, _)| (i, "expected metres within 1e9 of the origin".to_owned())).collect(),
    )
});

/// `[mobility]`: how nodes move; the model's parameters are in `[mobility.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mobility {
    /// The movement model of all nodes with a radio.
    pub model: String,
}

impl Default for Mobility {
    fn default() -> Self {
        Self { model: "stationary".to_owned() }
    }
}

section!(Mobility);

/// `[[movement]]`: nodes with a different movement model; its parameters are in `[movement.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Movement {
    /// The numbers of these nodes.
    pub nodes: Vec<u32>,
    /// Their movement model.
    pub model: String,
}

impl Default for Movement {
    fn default() -> Self {
        Self { nodes: Vec::new(), model: "waypoints".to_owned() }
    }
}

section!(Movement);

/// The keys of `[radio]` that select path loss and fading. Their parameters are in `[radio.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The path loss model.
    pub propagation: String,
    /// The fading beside path loss: a factor on the power of each signal.
    pub fading: String,
}

impl Default for Radio {
    fn default() -> Self {
        Self { propagation: "two_ray_ground".to_owned(), fading: "none".to_owned() }
    }
}

section!(Radio);

/// `[mac]`: medium access; parameters are in `[mac.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mac {
    /// The medium access protocol of every radio.
    pub model: String,
    /// How a radio chooses the mode of its frames to each neighbour.
    pub rate_control: String,
}

impl Default for Mac {
    fn default() -> Self {
        Self { model: "dcf".to_owned(), rate_control: "fixed".to_owned() }
    }
}

section!(Mac);

/// `[routing]`: the routing protocol; parameters are in `[routing.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Routing {
    /// The routing protocol of every node.
    pub protocol: String,
}

impl Default for Routing {
    fn default() -> Self {
        Self { protocol: "aodv".to_owned() }
    }
}

section!(Routing);

/// `[agents]`: protocols that exchange control messages and do not route; parameters are in `[agents.NAME]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agents {
    /// The agents that every node runs.
    pub run: Vec<String>,
}

section!(Agents);

/// `[link]`: the discipline of the interface queues; the other keys are the keys of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// How packets wait at radios. Under another discipline than "drop_tail", routing packets that pass data (and under
    /// "by_class" acknowledgements of TCP) wait in a queue of their own before it, and each category of a MAC has a
    /// queue of its own.
    pub queue: String,
}

impl Default for Link {
    fn default() -> Self {
        Self { queue: "drop_tail".to_owned() }
    }
}

section!(Link);

/// `[[wire]]`: a wired link between two nodes; its other keys are the keys of the link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// The two nodes that it connects.
    pub between: [u32; 2],
    /// Its prefix, such as "192.168.5.0/30"; "auto": the next free one of 192.168.0.0/16.
    pub network: Network,
    /// How packets wait at either end. The parameters are in `[wire.NAME]`, with the defaults of `[link.NAME]`.
    pub queue: String,
}

impl Default for Wire {
    fn default() -> Self {
        Self { between: [0; 2], network: Network::Auto, queue: "drop_tail".to_owned() }
    }
}

/// `[[channel]]`: a further channel. Its other keys are the keys of `[radio]`, with the defaults of the profile. The
/// parameters of its path loss, fading, MAC and rate control are in `[channel.NAME]`, with the defaults of
/// `[radio.NAME]` and `[mac.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Channel {
    /// The numbers of the nodes that have a radio on it, besides the one on the first channel. `wired` nodes have none.
    pub nodes: Vec<u32>,
    /// Path loss.
    pub propagation: String,
    /// The fading beside path loss.
    pub fading: String,
    /// The medium access protocol.
    pub mac: String,
    /// How a radio on it chooses the mode of its frames to each neighbour.
    pub rate_control: String,
    /// Its prefix, such as "10.9.0.0/16"; "auto": 172.16.0.0/16 for the first of these channels, and so on, as far as
    /// they are free.
    pub network: Network,
}

impl Default for Channel {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            propagation: "two_ray_ground".to_owned(),
            fading: "none".to_owned(),
            mac: "dcf".to_owned(),
            rate_control: "fixed".to_owned(),
            network: Network::Auto,
        }
    }
}

section!(Channel);

/// `[[tunnel]]`: a tunnel between two nodes (IP in IP, RFC 2003), which is an interface of both.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tunnel {
    /// The two nodes at its ends.
    pub between: [u32; 2],
    /// The prefixes whose packets the first of these nodes sends through the tunnel.
    pub carries: Vec<String>,
    /// The prefixes whose packets the second one sends through it.
    pub carries_back: Vec<String>,
}

section!(Tunnel);

/// `[[address]]`: the IPv4 address of an interface.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Address {
    /// The node.
    pub node: u32,
    /// The address. It is that of the node's interface in whose prefix it is.
    pub address: String,
}

section!(Address);
section!(Wire);

/// `[measure]`: the measures in addition to the standard tables.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// The time at which the measurement of flows starts.
    pub from: Span,
    /// The quantities of each flow that are sampled over time; `hopyard measures` lists them with their units.
    pub series: Vec<Quantity>,
    /// The interval between samples.
    pub interval: Span,
    /// Whose changes of routes are recorded, with the path after each change: `none`, `flows` (those of the sources, to
    /// the destinations) or `all`. Under every protocol, a route is recorded from the first packet on that the node
    /// sends along it.
    pub routes: RouteChanges,
    /// Whether the changes of the rates of links are recorded.
    pub rates: bool,
    /// Whether the paths are recorded that the data packets of each flow took.
    pub paths: bool,
    /// Whether the events of hosts that move between networks, and of their agents, are recorded.
    pub mobile_events: bool,
    /// The flows whose TCP segments are recorded, at both ends: `true` (all), `false` (none), or their numbers, such as
    /// "0,2..4".
    pub segments: SegmentFlows,
}

impl Default for Measure {
    fn default() -> Self {
        let (series, interval) = (Vec::new(), Span::from_millis(100));
        let segments = SegmentFlows::None;
        Self {
            from: Span::ZERO,
            series,
            interval,
            routes: RouteChanges::None,
            rates: false,
            paths: false,
            mobile_events: false,
            segments,
        }
    }
}

/// The shortest interval between samples.
const FINEST: Span = Span::from_micros(1);

section!(Measure, |measure| {
    Fault::unless("interval", measure.interval, |it| it >= FINEST, format_args!("at least {FINEST}"))?;
    let twice = measure.series.iter().enumerate().any(|(i, series)| measure.series[..i].contains(series));
    if twice { Err(Fault::new("series", "expected each quantity once")) } else { Ok(()) }
});

/// `[simulator]`: how the simulator works. These keys do not change a result; they serve to test this.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulator {
    /// Whether every start and end of a signal at a listener is an event of its own, instead of one cursor for each
    /// transmission.
    pub exact: bool,
    /// How the simulator searches for nodes that may hear each other: "auto", "array" or "grid".
    pub search: Search,
}

section!(Simulator);
#[cfg(test)]
mod tests {
    use super::*;
    use hopyard_model::params::read;

    #[test]
    fn defaults_are_possible_and_read_back() {
        fn check<P: Params>() {
            for profile in [RFC, NS2, LINUX] {
                let value = serde_json::to_value(P::of_profile(profile)).expect("it can be written");
                assert_eq!(read::<P>(&value).ok(), Some(P::of_profile(profile)));
            }
        }
        check::<Head>();
        check::<Nodes>();
        check::<Flow>();
        check::<Flows>();
        check::<Measure>();
        check::<Simulator>();
    }

    #[test]
    fn impossible_values_are_named() {
        let parameter = |head: Head| head.check().err().map(|fault| fault.parameter);
        assert_eq!(parameter(Head { profile: "ns3".to_owned(), ..Head::default() }), Some("profile"));
        assert_eq!(parameter(Head { duration: Span::ZERO, ..Head::default() }), Some("duration"));
        assert_eq!(parameter(Head { runs: 0, ..Head::default() }), Some("runs"));
        for name in ["", " ", "a/b", "a\nb"] {
            assert_eq!(parameter(Head { name: name.to_owned(), ..Head::default() }), Some("name"), "{name:?}");
        }
        assert_eq!(parameter(Head { seed: u64::MAX, ..Head::default() }), Some("seed"));
        let nodes = Nodes { area: [Distance::new(1.0), Distance::new(0.0)], ..Nodes::default() };
        assert_eq!(nodes.check().err().map(|fault| fault.parameter), Some("area"));
    }
}
