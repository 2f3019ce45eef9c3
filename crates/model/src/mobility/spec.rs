//! What a node's movement is built from, and why it cannot be built.

use std::fmt;

use hopyard_engine::units::Distance;
use hopyard_engine::{Rng, Streams};

use super::files::Movements;
use super::leg::{Mobility, Position};
use crate::address::NodeId;
use crate::params;

/// What the checks of a scenario ask about a model with these parameters.
pub trait Facts: params::Params {
    /// Whether the model has start positions of its own, and ignores those that the scenario gives.
    const OWN_START: bool = false;

    /// Whether every node of this model stays where the scenario places it.
    const STATIONARY: bool = false;

    /// Whether the model reads a movement file.
    const READS_FILE: bool = false;

    /// Width and height of the area, of a model whose nodes move to destinations that are uniform in it.
    fn area(&self) -> Option<[Distance; 2]> {
        None
    }

    /// The node's place in a group, of a model that follows another node.
    fn membership(&self) -> Option<Membership> {
        None
    }
}

/// A node's place in a group: it keeps a constant offset from its leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Membership {
    /// The node that it follows; nothing if the parameters name none.
    pub leader: Option<NodeId>,
    /// Its offset from the leader; nothing if it follows from the positions that the scenario gives.
    pub offset: Option<Position>,
}

/// A model with its parameters, of which the movement of a node can be built.
pub trait Configured: fmt::Debug {
    /// The movement of `node`, which is one of `nodes` and has these parameters.
    ///
    /// # Errors
    /// When a movement file is missing or has no such node, or a group has no leader.
    fn movement(&self, node: NodeId, nodes: &Nodes<'_>) -> Result<Box<dyn Mobility>, BuildError>;

    /// The node's place in a group ([`Facts::membership`]).
    fn membership(&self) -> Option<Membership>;
}

/// What one node's movement is built from.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// The node's model.
    pub model: &'a dyn Configured,
    /// Where the scenario places the node. A model that draws or reads its own start position ignores it.
    pub start: Position,
    /// The movement file that the parameters name. The caller has read it, because models do no input.
    pub movements: Option<&'a Movements>,
}

/// The nodes of a run, with what their movements are built from.
///
/// A model asks for the specification and the random stream of its own node. A model of groups asks for another node's
/// movement too, or for streams that members share, by their names. A stream always begins at its beginning. Therefore
/// each member has the same movement of its leader, in whatever order the nodes are built, and the leader moves as it
/// does without members.
#[derive(Clone, Copy, Debug)]
pub struct Nodes<'a> {
    /// By number of the node.
    pub specs: &'a [Spec<'a>],
    /// All random streams of the run.
    pub streams: Streams,
}

impl<'a> Nodes<'a> {
    /// The specification of a node.
    ///
    /// # Errors
    /// When there is no such node.
    pub fn spec(&self, node: NodeId) -> Result<&'a Spec<'a>, BuildError> {
        self.specs.get(node.index()).ok_or(BuildError::NoSuchLeader { leader: node, nodes: self.specs.len() })
    }

    /// The stream of a node's own movement.
    #[must_use]
    pub fn stream(&self, node: NodeId) -> Rng {
        self.streams.node(node.index(), "mobility")
    }

    /// The movement of a node from the start of the run.
    ///
    /// # Errors
    /// When a movement file is missing or has no such node, or a group has no leader.
    pub fn movement(&self, node: NodeId) -> Result<Box<dyn Mobility>, BuildError> {
        self.spec(node)?.model.movement(node, self)
    }
}

/// A node's movement cannot be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// The parameters name a movement file, and the caller did not read it.
    #[error("the movement file \"{path}\" has not been read")]
    NotRead {
        /// The file.
        path: String,
    },
    /// The movement file has no such node.
    #[error("the movement file \"{path}\" has no node {number}; it has {nodes} nodes, {first} to {last}")]
    NoSuchNode {
        /// The file.
        path: String,
        /// The node's number in the file.
        number: u64,
        /// How many nodes the file has.
        nodes: usize,
        /// The lowest number in the file.
        first: u32,
        /// The highest.
        last: u32,
    },
    /// A member of a group follows nobody.
    #[error("its group has no leader")]
    NoLeader,
    /// A member's leader does not exist.
    #[error("there is no node {leader} to follow; there are {nodes} nodes, counted from 0")]
    NoSuchLeader {
        /// The leader.
        leader: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// Members follow each other, or a node follows itself.
    #[error("its leaders follow each other in a circle")]
    Circle,
}
