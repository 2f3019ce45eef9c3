//! Nodes that move as a file prescribes; [`super::files`] reads the file.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::files::track::Follower;
use super::files::{Dimensions, Format};
use super::{BuildError, Facts, Leg, Mobility, Nodes};
use crate::address::NodeId;
use crate::params;

/// Which file, and how to read it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file, relative to the folder of the scenario; ".gz" files are decompressed.
    pub path: String,
    /// Its format: "setdest", "bonnmotion", or "detect".
    pub format: Format,
    /// For BonnMotion files, how many coordinates there are: "two", "three", or "detect".
    pub dimensions: Dimensions,
    /// The number that the scenario's first node has in the file; some tools count from one.
    pub first_node: u32,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { path: String::new(), format: Format::Detect, dimensions: Dimensions::Detect, first_node: 0 }
    }
}

impl Facts for Params {
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
        let number = u64::from(params.first_node) + u64::from(node.0);
        let track = u32::try_from(number).ok().and_then(|number| movements.track(number)).ok_or_else(|| {
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
