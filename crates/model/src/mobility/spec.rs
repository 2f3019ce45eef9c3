//! What a movement model needs, and why it cannot be built.

use super::files::Movements;
use super::leg::Position;

/// What a model needs besides its parameters.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// Where the scenario places the node. A model that draws or reads its own start position ignores it.
    pub start: Position,
    /// The movement file that the parameters name. The caller has read it, because models do no input.
    pub movements: Option<&'a Movements>,
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
}
