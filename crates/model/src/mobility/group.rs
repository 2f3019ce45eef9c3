//! Members of a group: each follows a leader at a constant offset.
//!
//! A member has the legs of its leader, moved by the offset: the same start, velocity and end. Therefore the distances
//! within a group are constant, apart from the rounding of coordinates. The leader is a node of any model. If it is a
//! member itself, the offsets are added, and the member has the legs of the first leader of the chain.
//!
//! Reference: none. Hong, Gerla, Pei and Chiang, "A group mobility model for ad hoc wireless networks", MSWiM 1999,
//! call the constant offsets the reference points of a group. Random movement around such points is in `roaming_group`,
//! and in `reference_point_group`. Validated by construction: the legs are the legs of the leader.

use hopyard_engine::units::Coordinate;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::sum::Sum;
use super::{BuildError, Leg, Membership, Mobility, MobilityFacts, Nodes, Position};
use crate::address::NodeId;
use crate::params::{self, Given, read_given};

/// The node that a member follows, or "none".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leader {
    /// No node is named.
    None,
    /// This node.
    Node(u32),
}

const LEADER: &str = "a node's number, or \"none\"";

impl Serialize for Leader {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Node(number) => serializer.serialize_u32(*number),
        }
    }
}

impl<'de> Deserialize<'de> for Leader {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, LEADER, |given: Given<'_, de::IgnoredAny>| match given {
            Given::Word("none") => Some(Self::None),
            Given::Whole(node) => node.try_into().ok().map(Self::Node),
            _ => None,
        })
    }
}

impl JsonSchema for Leader {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "LeaderOrNone".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": u32::MAX }, { "const": "none" }],
            "description": LEADER,
            "examples": [0, "none"],
        })
    }
}

/// A member's offset from its leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Offset {
    /// The difference of the positions that the scenario gives the two nodes.
    Positions,
    /// To the east, to the north, and up.
    Fixed([Coordinate; 3]),
}

impl Offset {
    /// The offset in metres, if it does not depend on positions.
    pub(super) fn metres(self) -> Option<Position> {
        match self {
            Self::Positions => None,
            Self::Fixed([x, y, z]) => Some(Position { x: x.metres(), y: y.metres(), z: z.metres() }),
        }
    }
}

const OFFSET: &str = "two or three distances such as [\"-50 m\", \"20 m\"], or \"positions\"";

impl Serialize for Offset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Positions => serializer.serialize_str("positions"),
            // A height of zero is not written, so that an offset has one form.
            Self::Fixed(offset) => {
                let length = if offset[2].metres() == 0.0 { 2 } else { 3 };
                offset[..length].serialize(serializer)
            }
        }
    }
}

impl<'de> Deserialize<'de> for Offset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, OFFSET, |given| match given {
            Given::Word("positions") => Some(Self::Positions),
            Given::List(offset) => match offset[..] {
                [x, y] => Some(Self::Fixed([x, y, Coordinate::default()])),
                [x, y, z] => Some(Self::Fixed([x, y, z])),
                _ => None,
            },
            _ => None,
        })
    }
}

impl JsonSchema for Offset {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "OffsetOrPositions".into()
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let coordinate = generator.subschema_for::<Coordinate>();
        json_schema!({
            "anyOf": [{ "type": "array", "items": coordinate, "minItems": 2, "maxItems": 3 }, { "const": "positions" }],
            "description": OFFSET,
            "examples": [["-50 m", "20 m"], "positions"],
        })
    }
}

/// Whom a member follows, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The number of the node that the members follow. It may be a member of a group itself.
    pub leader: Leader,
    /// The constant offset from the leader to the east, to the north and, if it is not zero, up. "positions": the
    /// difference of the positions that the scenario gives the member and its leader, also when the leader's model has
    /// its own start positions.
    pub offset: Offset,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { leader: Leader::None, offset: Offset::Positions }
    }
}

impl MobilityFacts for Params {
    fn membership(&self) -> Option<Membership> {
        Some(Membership { leader: self.leader.node(), offset: self.offset.metres(), is_rigid: true })
    }
}

impl Leader {
    /// The node, if one is named.
    #[must_use]
    pub const fn node(self) -> Option<NodeId> {
        match self {
            Self::None => None,
            Self::Node(number) => Some(NodeId(number)),
        }
    }
}

/// A node that follows another.
#[derive(Debug)]
pub struct Group {
    /// The movement of the first leader, which follows nobody, and the own motions of the leaders that do not keep
    /// their places.
    leader: Box<dyn Mobility>,
    /// From that leader.
    offset: Position,
}

impl Group {
    /// A member, with its own copy of the leader's movement.
    pub(super) fn build(_: &Params, node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        Self::following(node, nodes)
    }

    /// A member of any model of members.
    pub(super) fn following(node: NodeId, nodes: &Nodes<'_>) -> Result<Self, BuildError> {
        let (mut at, mut offset) = (node, Position::default());
        let mut own = Vec::new();
        // A chain without a circle has fewer members than there are nodes. It is followed here and not by recursion,
        // because it may be long.
        for _ in 0..nodes.count() {
            let member = nodes.spec(at)?;
            let Some(place) = member.model.membership() else {
                let leader = nodes.movement(at)?;
                if own.is_empty() {
                    return Ok(Self { leader, offset });
                }
                own.push(leader);
                return Ok(Self { leader: Box::new(Sum::new(own, offset)), offset: Position::default() });
            };
            own.extend(member.model.own_motion(nodes.stream(at)));
            at = place.leader.ok_or(BuildError::NoLeader)?;
            let start = nodes.spec(at)?.start;
            offset = offset + place.offset.unwrap_or(member.start - start);
        }
        Err(BuildError::Circle)
    }
}

impl Mobility for Group {
    fn next_leg(&mut self) -> Leg {
        let leg = self.leader.next_leg();
        Leg { from: leg.from + self.offset, ..leg }
    }
}

#[cfg(test)]
mod tests;
