//! The keys of a scenario that are not a model's: how long, how many nodes and where, which models, who talks to whom.
//!
//! They are parameters like those of models: documented, with defaults, units and schema, in these structs alone.

use std::fmt;

use hopyard_engine::units::Distance;
use hopyard_engine::{Span, Time};
use hopyard_model::params::{Fault, NS2, Params, RFC};
use hopyard_model::radio::neighbours::Search;
use hopyard_model::world::Quantity;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// Gives a section its place among parameters: the same defaults under every profile, and no check of its own unless
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

/// When something ends: at a time, or with the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// With the run.
    #[default]
    End,
    /// At a time after the start of the run.
    At(Span),
}

const UNTIL: &str = "a time such as \"300 s\", or \"end\"";

impl Until {
    /// The instant, in a run of this duration.
    #[must_use]
    pub fn time(self, duration: Span) -> Time {
        Time::ZERO
            + match self {
                Self::End => duration,
                Self::At(span) => span.min(duration),
            }
    }
}

impl fmt::Display for Until {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => f.write_str("end"),
            Self::At(span) => span.fmt(f),
        }
    }
}

impl Serialize for Until {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Until {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Until;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(UNTIL)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Until, E> {
                if text.trim() == "end" {
                    return Ok(Until::End);
                }
                text.parse().map(Until::At).map_err(|_| E::custom(format!("expected {UNTIL}, found \"{text}\"")))
            }
        }
        deserializer.deserialize_str(Visitor)
    }
}

impl JsonSchema for Until {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Until".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": UNTIL, "examples": ["300 s", "end"] })
    }
}

/// The keys at the top of a scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Head {
    /// What results are called after. It changes nothing else.
    pub name: String,
    /// Whose defaults every model takes: those of the standards, or those of ns-2.35. The key `profile` in a model's
    /// own table takes another for that model.
    pub profile: String,
    /// How long each run lasts.
    pub duration: Span,
    /// How many runs are made, each with random numbers of its own.
    pub runs: u32,
    /// The seed: the same seed gives the same runs.
    pub seed: u64,
}

impl Default for Head {
    fn default() -> Self {
        Self { name: "scenario".to_owned(), profile: RFC.to_owned(), duration: Span::from_secs(100), runs: 10, seed: 1 }
    }
}

/// The longest run: beyond, nanoseconds would no longer be exact when written as decimal seconds.
const LONGEST: Span = Span::from_secs(20 * 24 * 3600);

section!(Head, |head| {
    if ![RFC, NS2].contains(&head.profile.as_str()) {
        return Err(Fault::new("profile", format!("expected \"{RFC}\" or \"{NS2}\", found \"{}\"", head.profile)));
    }
    if head.duration.is_zero() || head.duration > LONGEST {
        let problem = format!("expected more than 0 s and at most {LONGEST}, found {}", head.duration);
        return Err(Fault::new("duration", problem));
    }
    if head.runs == 0 {
        return Err(Fault::new("runs", "expected at least 1, found 0"));
    }
    if i64::try_from(head.seed).is_err() {
        return Err(Fault::new("seed", "expected a number below 2^63"));
    }
    Ok(())
});

/// How nodes are placed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Placement {
    /// In a row from west to east, `spacing` apart, the first at the origin.
    #[default]
    Chain,
    /// In rows of `columns`, `spacing` apart both ways, the first at the origin.
    Grid,
    /// Drawn uniformly in `area`, anew in every run.
    Uniform,
    /// The first in the middle, the others around it at distance `radius`, evenly.
    Circle,
    /// Where `positions` says.
    Positions,
    /// Where the movement model says: `random_waypoint` draws its start, a movement file states it.
    Mobility,
}

/// `[nodes]`: how many, and where they start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// How many nodes have a radio; they are numbered from 0. Taken from `positions` or from the movement file where
    /// not given.
    pub count: u32,
    /// How many further nodes have wires only; their numbers follow those of the others.
    pub wired: u32,
    /// How nodes are placed: "chain", "grid", "uniform", "circle", "positions" or "mobility". The default is
    /// "positions" where those are given, and "mobility" where the movement model has its own start.
    pub placement: Placement,
    /// The distance between neighbours of a chain or grid.
    pub spacing: Distance,
    /// The nodes in a row of a grid; 0 makes the grid as square as it can be.
    pub columns: u32,
    /// The distance of a circle's nodes from its middle.
    pub radius: Distance,
    /// Width and height of the rectangle in which nodes are drawn and move, its corner at the origin; nodes placed
    /// otherwise must lie in it if it is given. "0 m" twice stands for no area.
    pub area: [Distance; 2],
    /// The places of all nodes with a radio, as metres to the east and to the north.
    pub positions: Vec<[f64; 2]>,
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
            positions: Vec::new(),
        }
    }
}

/// A bound against typing errors: memory for more nodes than this would not be there.
const MOST_NODES: u32 = 1_000_000;

section!(Nodes, |nodes| {
    if nodes.count > MOST_NODES {
        return Err(Fault::new("count", format!("expected at most {MOST_NODES}, found {}", nodes.count)));
    }
    if nodes.wired > MOST_NODES {
        return Err(Fault::new("wired", format!("expected at most {MOST_NODES}, found {}", nodes.wired)));
    }
    for (name, length) in [("spacing", nodes.spacing), ("radius", nodes.radius)] {
        if length.metres() <= 0.0 {
            return Err(Fault::new(name, format!("expected a distance above zero, found {length}")));
        }
    }
    if (nodes.area[0].metres() > 0.0) != (nodes.area[1].metres() > 0.0) {
        return Err(Fault::new("area", "expected a width and a height above zero"));
    }
    if nodes.positions.iter().flatten().any(|x| !(x.is_finite() && x.abs() <= 1e9)) {
        return Err(Fault::new("positions", "expected metres within 1e9 of the origin"));
    }
    Ok(())
});

/// `[mobility]`: how nodes move; the model's parameters stand in `[mobility.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mobility {
    /// The model of movement of all nodes with a radio.
    pub model: String,
}

impl Default for Mobility {
    fn default() -> Self {
        Self { model: "stationary".to_owned() }
    }
}

section!(Mobility);

/// `[[movement]]`: nodes that move otherwise than the rest; parameters in `[movement.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Movement {
    /// The nodes concerned.
    pub nodes: Vec<u32>,
    /// Their model of movement.
    pub model: String,
}

impl Default for Movement {
    fn default() -> Self {
        Self { nodes: Vec::new(), model: "waypoints".to_owned() }
    }
}

section!(Movement);

/// The part of `[radio]` that is not the radio's own: the choice of a path loss model, with parameters in
/// `[radio.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Radio {
    /// The model of path loss.
    pub propagation: String,
}

impl Default for Radio {
    fn default() -> Self {
        Self { propagation: "two_ray_ground".to_owned() }
    }
}

section!(Radio);

/// `[mac]`: medium access; parameters in `[mac.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Mac {
    /// The medium access of every radio.
    pub model: String,
}

impl Default for Mac {
    fn default() -> Self {
        Self { model: "dcf".to_owned() }
    }
}

section!(Mac);

/// `[routing]`: the routing protocol; parameters in `[routing.NAME]`.
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

/// `[[flow]]`: one node talks to another. Keys of `[tcp]` may stand here too, and hold for this flow; parameters of the
/// variant, of acknowledging and of the traffic stand in `[flow.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The node that sends; "last" is the last node, where `count` or `positions` in [nodes] is given.
    pub from: u32,
    /// The node that receives; "last" is the last node, as in `from`.
    pub to: u32,
    /// The variant of TCP: a model, or `module:Class` for a rule written in Python.
    pub tcp: String,
    /// Whether the flow goes over UDP, without TCP.
    pub udp: bool,
    /// When the receiver acknowledges. The default is "delayed" (RFC 9293 §3.8.6.3), and "every" in the profile `ns2`.
    pub acking: String,
    /// What is sent. The default is "ftp" over TCP, "cbr" over UDP.
    pub traffic: String,
    /// When it starts.
    pub start: Span,
    /// When it stops: a time, or "end".
    pub stop: Until,
}

impl Flow {
    fn of(profile: &str) -> Self {
        Self {
            from: 0,
            to: 0,
            tcp: "newreno".to_owned(),
            udp: false,
            acking: if profile == NS2 { "every" } else { "delayed" }.to_owned(),
            traffic: "ftp".to_owned(),
            start: Span::ZERO,
            stop: Until::End,
        }
    }
}

impl Params for Flow {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self::of(profile)
    }
}

/// `[flows]`: flows between pairs of nodes that are drawn, anew in every run; otherwise as `[[flow]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// How many flows. All ordered pairs of two nodes with radios are equally likely, and no pair is drawn twice.
    pub random: u32,
    /// The variant of TCP: a model, or `module:Class` for a rule written in Python.
    pub tcp: String,
    /// Whether the flows go over UDP, without TCP.
    pub udp: bool,
    /// When the receivers acknowledge. The default is "delayed" (RFC 9293 §3.8.6.3), and "every" in the profile `ns2`.
    pub acking: String,
    /// What is sent. The default is "ftp" over TCP, "cbr" over UDP.
    pub traffic: String,
    /// The earliest and the latest start; each flow's is drawn uniformly between them.
    pub start: [Span; 2],
    /// When they stop: a time, or "end".
    pub stop: Until,
}

impl Params for Flows {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let flow = Flow::of(profile);
        Self {
            random: 0,
            tcp: flow.tcp,
            udp: flow.udp,
            acking: flow.acking,
            traffic: flow.traffic,
            start: [Span::ZERO; 2],
            stop: Until::End,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.start[0] > self.start[1] {
            return Err(Fault::new(
                "start",
                format!("expected the earliest start first, found {} before {}", self.start[0], self.start[1]),
            ));
        }
        Ok(())
    }
}

/// `[[wire]]`: a wired link between two nodes; its other keys are the link's own.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wire {
    /// Its two ends.
    pub between: [u32; 2],
}

section!(Wire);

/// `[measure]`: what is measured besides what always is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// From when on flows are measured.
    pub from: Span,
    /// The quantities of each flow that are sampled over time; `hopyard measures` lists them with their units.
    pub series: Vec<Quantity>,
    /// How often they are sampled.
    pub interval: Span,
}

impl Default for Measure {
    fn default() -> Self {
        Self { from: Span::ZERO, series: Vec::new(), interval: Span::from_millis(100) }
    }
}

/// The shortest interval between samples.
const FINEST: Span = Span::from_micros(1);

section!(Measure, |measure| {
    if measure.interval < FINEST {
        return Err(Fault::new("interval", format!("expected at least {FINEST}, found {}", measure.interval)));
    }
    let twice = measure.series.iter().enumerate().any(|(i, series)| measure.series[..i].contains(series));
    if twice { Err(Fault::new("series", "expected each quantity once")) } else { Ok(()) }
});

/// `[simulator]`: how the simulator works. No choice here changes a result; they are for tests of that.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Simulator {
    /// Whether every edge of a signal at a hearer is an event of its own, instead of one cursor for each transmission.
    pub exact: bool,
    /// How nodes that may hear each other are looked for: "auto", "array" or "grid".
    pub search: Search,
}

section!(Simulator);

#[cfg(test)]
mod tests {
    use super::*;
    use hopyard_model::params::read;
    use serde_json::json;

    #[test]
    fn ends_are_times_or_the_end() {
        assert_eq!(serde_json::from_value::<Until>(json!("end")).ok(), Some(Until::End));
        assert_eq!(serde_json::from_value::<Until>(json!("2 s")).ok(), Some(Until::At(Span::from_secs(2))));
        let error = serde_json::from_value::<Until>(json!("2")).expect_err("no unit").to_string();
        assert_eq!(error, "expected a time such as \"300 s\", or \"end\", found \"2\"");
        assert_eq!(Until::At(Span::from_secs(9)).time(Span::from_secs(5)), Time::ZERO + Span::from_secs(5));
    }

    #[test]
    fn defaults_are_possible_and_read_back() {
        fn check<P: Params>() {
            for profile in [RFC, NS2] {
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
        assert_eq!(parameter(Head { seed: u64::MAX, ..Head::default() }), Some("seed"));
        let nodes = Nodes { area: [Distance::new(1.0), Distance::new(0.0)], ..Nodes::default() };
        assert_eq!(nodes.check().err().map(|fault| fault.parameter), Some("area"));
        let flows = Flows { start: [Span::from_secs(2), Span::from_secs(1)], ..Flows::of_profile(RFC) };
        assert_eq!(flows.check().err().map(|fault| fault.parameter), Some("start"));
    }
}
