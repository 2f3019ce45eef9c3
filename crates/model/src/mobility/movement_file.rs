//! Nodes that move as a file prescribes; [`super::files`] reads the file.

use std::collections::BTreeSet;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::files::globe::{Epoch, Origin};
use super::files::track::Follower;
use super::files::{Dimensions, Format, Movements, Reading};
use super::{BuildError, Leg, Mobility, MobilityFacts, Nodes};
use crate::address::NodeId;
use crate::params::{self, Fault, Unused, unused_where};

/// Which file, and how to read it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file, relative to the folder of the scenario; ".gz" files are decompressed.
    pub path: String,
    /// Its format: "setdest", "bonnmotion", "csv", "gpx", "ulog" (PX4), or "detect".
    pub format: Format,
    /// For BonnMotion files, how many coordinates there are: "two", "three", or "detect".
    pub dimensions: Dimensions,
    /// The number that the scenario's first node has in the file; some tools count from one.
    pub first_node: u32,
    /// The nodes of the file. "from_first_node": the scenario's nodes have successive numbers in the file. "all": all
    /// nodes in the order of their numbers, which may have gaps. "first": every node is the first one of the file. Or a
    /// list of their numbers, the first for node 0.
    pub nodes: FileNodes,
    /// For tracks on the globe, the place that becomes (0, 0): "first" for the first one of the file, or longitude and
    /// latitude in degrees, and perhaps a height in metres that becomes zero, such as "8.5417 47.3769 408".
    pub origin: String,
    /// For recorded tracks, the time at which the run starts: "detect" (zero in a table, and the first time of other
    /// files), "first", a number of seconds, or a time such as "2026-05-01T10:00:00Z".
    pub epoch: String,
}

/// Which node of a file each node of the scenario is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum FileNodes {
    /// Successive numbers.
    #[serde(serialize_with = "from_first_node")]
    FromFirstNode,
    /// All nodes, in the order of their numbers.
    #[serde(serialize_with = "all")]
    All,
    /// The first one alone.
    #[serde(serialize_with = "first")]
    First,
    /// These nodes.
    Listed(Vec<u32>),
}

fn from_first_node<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("from_first_node")
}

fn all<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("all")
}

fn first<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("first")
}

const FILE_NODES: &str = "\"from_first_node\", \"all\", \"first\", or a list of numbers in the file such as [1, 4]";

impl TryFrom<Value> for FileNodes {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        match &value {
            Value::String(text) if text == "from_first_node" => return Ok(Self::FromFirstNode),
            Value::String(text) if text == "all" => return Ok(Self::All),
            Value::String(text) if text == "first" => return Ok(Self::First),
            Value::Array(nodes) => {
                let node = |it: &Value| it.as_u64().and_then(|it| u32::try_from(it).ok());
                if let Some(nodes) = nodes.iter().map(node).collect::<Option<Vec<u32>>>()
                    && !nodes.is_empty()
                {
                    return Ok(Self::Listed(nodes));
                }
            }
            _ => {}
        }
        Err(format!("expected {FILE_NODES}, found {value}"))
    }
}

impl JsonSchema for FileNodes {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "FileNodes".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": FILE_NODES,
            "anyOf": [
                { "type": "string", "enum": ["from_first_node", "all", "first"] },
                { "type": "array", "items": { "type": "integer", "minimum": 0 } },
            ],
        })
    }
}

impl Params {
    /// The number in the file of a node of the scenario; nothing if `nodes` gives it none.
    #[must_use]
    pub fn number(&self, node: u32, movements: &Movements) -> Option<u32> {
        match &self.nodes {
            FileNodes::FromFirstNode => self.first_node.checked_add(node),
            FileNodes::All => movements.numbers().nth(node as usize),
            FileNodes::First => movements.numbers().next(),
            FileNodes::Listed(numbers) => numbers.get(node as usize).copied(),
        }
    }

    /// How the file is to be read. Origin and epoch were checked.
    #[must_use]
    pub fn reading(&self) -> Reading {
        let (origin, epoch) = (Origin::parse(&self.origin), Epoch::parse(&self.epoch));
        Reading {
            format: self.format,
            dimensions: self.dimensions,
            area: None,
            origin: origin.unwrap_or_default(),
            epoch: epoch.unwrap_or_default(),
        }
    }
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            path: String::new(),
            format: Format::Detect,
            dimensions: Dimensions::Detect,
            first_node: 0,
            nodes: FileNodes::FromFirstNode,
            origin: "first".to_owned(),
            epoch: "detect".to_owned(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.nodes != FileNodes::FromFirstNode && self.first_node != 0 {
            let problem =
                format!("expected 0 where `nodes` says which nodes of the file are meant, found {}", self.first_node);
            return Err(Fault::new("first_node", problem));
        }
        Origin::parse(&self.origin).map_err(|problem| Fault::new("origin", problem))?;
        Epoch::parse(&self.epoch).map_err(|problem| Fault::new("epoch", problem))?;
        let FileNodes::Listed(numbers) = &self.nodes else { return Ok(()) };
        let mut seen = BTreeSet::new();
        let twice = |(place, number): (usize, &u32)| {
            (!seen.insert(*number)).then(|| (place, format!("expected each node once, found {number} again")))
        };
        Fault::of_elements("nodes", numbers.iter().enumerate().filter_map(twice).collect())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (self.nodes != FileNodes::FromFirstNode, "nodes", &["first_node"]),
            (self.format == Format::Setdest, "format", &["dimensions"]),
        ])
    }
}

impl MobilityFacts for Params {
    const OWN_START: bool = true;
    const READS_FILE: bool = true;
}

/// A node that follows its track in the file.
#[derive(Clone, Debug)]
pub struct MovementFile(Follower);

impl MovementFile {
    /// The movement of `node` as the file prescribes it.
    pub(super) fn build(params: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let movements = nodes.spec(node)?.movements.ok_or_else(|| BuildError::NotRead { path: params.path.clone() })?;
        let number = params.number(node.0, movements);
        let track = number.and_then(|number| movements.track(number)).ok_or_else(|| {
            let number = number.map_or(u64::from(params.first_node) + u64::from(node.0), u64::from);
            let mut numbers = movements.numbers();
            let first = numbers.next().unwrap_or(0);
            let last = numbers.next_back().unwrap_or(first);
            BuildError::NoSuchNode { path: params.path.clone(), number, nodes: movements.len(), first, last }
        })?;
        Ok(Self(track.follow()))
    }
}

impl Mobility for MovementFile {
    fn next_leg(&mut self) -> Leg {
        self.0.next_leg()
    }
}

#[cfg(test)]
mod tests;
