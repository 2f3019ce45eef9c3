//! The specification of a node's movement, and the reasons why it cannot be built.

use std::any::Any;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use hopyard_engine::units::{Coordinate, Distance};
use hopyard_engine::{Rng, Span, Streams};

use super::files::Movements;
use super::grouping::Grouping;
use super::leg::{Mobility, Position};
use crate::address::NodeId;
use crate::params::{self, Metric};

/// The facts about a model with these parameters, for the checks of a scenario.
pub trait MobilityFacts: params::Params {
    /// Whether the model has start positions of its own, and ignores those that the scenario gives.
    const OWN_START: bool = false;

    /// Whether every node of this model stays where the scenario places it.
    const STATIONARY: bool = false;

    /// Whether the model reads a movement file.
    const READS_FILE: bool = false;

    /// The model's own counters: columns of the table of nodes.
    const METRICS: &'static [Metric] = &[];

    /// The area that the nodes of a model with random destinations do not leave.
    fn area(&self) -> Option<Area> {
        None
    }

    /// The movements of a script, in order of time.
    fn script(&self) -> Vec<Step> {
        Vec::new()
    }

    /// The node's place in a group, of a model that follows another node.
    fn membership(&self) -> Option<Membership> {
        None
    }

    /// A member's own motion around its place in the group, drawn from this stream; nothing if it keeps its place.
    fn own_motion(&self, _rng: Rng) -> Option<Box<dyn Mobility>> {
        None
    }

    /// How the model forms groups of its nodes, if it does.
    fn grouping(&self) -> Option<Grouping> {
        None
    }
}

/// A box in which nodes move, or a rectangle on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Area {
    /// Its lower south-western corner.
    pub low: Position,
    /// Its upper north-eastern corner.
    pub high: Position,
}

impl Area {
    /// The rectangle with this south-western corner, width and height.
    #[must_use]
    pub const fn new([x, y]: [Coordinate; 2], [width, height]: [Distance; 2]) -> Self {
        let (x, y) = (x.metres(), y.metres());
        Self { low: Position::ground(x, y), high: Position::ground(x + width.metres(), y + height.metres()) }
    }

    /// The box over the rectangle between these heights in metres.
    #[must_use]
    pub const fn between(mut self, bottom: f64, top: f64) -> Self {
        (self.low.z, self.high.z) = (bottom, top);
        self
    }
}

/// A movement that the parameters prescribe.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The list that has it.
    pub key: &'static str,
    /// When the node sets out.
    pub from: Span,
    /// The height to which it goes, in metres; nothing if it keeps its height.
    pub height: Option<f64>,
}

/// A node's place in a group: its offset from its leader.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Membership {
    /// The node that it follows; nothing if the parameters name none.
    pub leader: Option<NodeId>,
    /// Its offset from the leader; nothing if it follows from the positions that the scenario gives.
    pub offset: Option<Position>,
    /// Whether it keeps this offset. Otherwise it moves around that place.
    pub is_rigid: bool,
}

/// A model with its parameters, from which the movement of a node can be built.
pub trait Configured: fmt::Debug {
    /// The movement of `node`, which is one of `nodes` and has these parameters.
    ///
    /// # Errors
    /// When a movement file is missing or has no such node, or a group has no leader.
    fn movement(&self, node: NodeId, nodes: &Nodes<'_>) -> Result<Box<dyn Mobility>, BuildError>;

    /// The node's place in a group ([`MobilityFacts::membership`]).
    fn membership(&self) -> Option<Membership>;

    /// A member's own motion around its place ([`MobilityFacts::own_motion`]).
    fn own_motion(&self, rng: Rng) -> Option<Box<dyn Mobility>>;

    /// How the model forms groups of its nodes ([`MobilityFacts::grouping`]).
    fn grouping(&self) -> Option<Grouping>;
}

/// The specification of one node's movement.
#[derive(Clone, Copy, Debug)]
pub struct Spec<'a> {
    /// The node's model.
    pub model: &'a dyn Configured,
    /// Where the scenario places the node. A model that draws or reads its own start position ignores it.
    pub start: Position,
    /// The movement file that the parameters name. The caller has read it, because models do no input.
    pub movements: Option<&'a Movements>,
    /// The table of the scenario that gives the node its model. A model that forms groups forms them of the nodes of
    /// one table.
    pub table: u32,
}

/// The nodes of a run, with the specifications of their movements.
///
/// A model asks for the specification and the random stream of its own node. A model of groups asks for another node's
/// movement too, or for streams that members share, by their names. A stream always begins at its beginning. Therefore
/// each member has the same movement of its leader, in whatever order the nodes are built, and the leader moves as it
/// does without members.
#[derive(Debug)]
pub struct Nodes<'a> {
    /// By number of the node.
    specs: &'a [Spec<'a>],
    /// All random streams of the run.
    streams: Streams,
    /// The first node of each node's group.
    heads: Vec<NodeId>,
    /// The objects that the nodes of a table share.
    shared: RefCell<BTreeMap<u32, Arc<dyn Any + Send + Sync>>>,
}

impl<'a> Nodes<'a> {
    /// Nodes with these specifications, by number, in a run with these random streams.
    #[must_use]
    pub fn new(specs: &'a [Spec<'a>], streams: Streams) -> Self {
        Self { specs, streams, heads: heads(specs, streams), shared: RefCell::default() }
    }

    /// How many nodes there are.
    #[must_use]
    pub fn count(&self) -> usize {
        self.specs.len()
    }

    /// The node that stands for a node's group, and names the streams that its members share. It is the first node of a
    /// group that the model formed, or the leader that the members follow. A node in no group is its own.
    #[must_use]
    pub fn head(&self, node: NodeId) -> NodeId {
        self.heads.get(node.index()).copied().unwrap_or(node)
    }

    /// The groups that a table's model has formed, by their first nodes.
    #[must_use]
    pub fn formed(&self, table: u32) -> Vec<NodeId> {
        let of_table = |node: &NodeId| {
            let spec = &self.specs[node.index()];
            spec.table == table && spec.model.grouping().is_some() && self.head(*node) == *node
        };
        (0..self.specs.len() as u32).map(NodeId).filter(of_table).collect()
    }

    /// The number of nodes of a table.
    #[must_use]
    pub fn of_table(&self, table: u32) -> usize {
        self.specs.iter().filter(|spec| spec.table == table).count()
    }

    /// The place of a node among the nodes of its table, and how many these are.
    #[must_use]
    pub fn place_in_table(&self, node: NodeId) -> (usize, usize) {
        let table = self.specs.get(node.index()).map_or(0, |spec| spec.table);
        let before = self.specs.iter().take(node.index()).filter(|spec| spec.table == table).count();
        (before, self.of_table(table))
    }

    /// The object that the nodes of a table share; it is made for the first one that asks.
    pub fn shared<T: Any + Send + Sync>(&self, table: u32, make: impl FnOnce() -> T) -> Arc<T> {
        let known = self.shared.borrow().get(&table).cloned();
        if let Some(known) = known.and_then(|known| known.downcast().ok()) {
            return known;
        }
        let made = Arc::new(make());
        self.shared.borrow_mut().insert(table, Arc::clone(&made) as Arc<dyn Any + Send + Sync>);
        made
    }

    /// A stream that the members of a node's group share.
    #[must_use]
    pub fn group_stream(&self, head: NodeId, purpose: &str) -> Rng {
        self.streams.node(head.index(), purpose)
    }

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

/// The first node of each node's group: of a group that a model has formed, or of a leader and its followers.
fn heads(specs: &[Spec<'_>], streams: Streams) -> Vec<NodeId> {
    let mut heads: Vec<_> = (0..specs.len() as u32).map(NodeId).collect();
    let mut tables: BTreeMap<u32, (Grouping, Vec<NodeId>)> = BTreeMap::new();
    for (node, spec) in (0..).map(NodeId).zip(specs) {
        if let Some(grouping) = spec.model.grouping() {
            tables.entry(spec.table).or_insert_with(|| (grouping, Vec::new())).1.push(node);
        }
    }
    for (table, (grouping, nodes)) in tables {
        let mut rest = nodes.as_slice();
        for size in grouping.sizes(nodes.len(), streams.stream(&format!("mobility/groups/{table}"))) {
            let (group, others) = rest.split_at(size);
            group.iter().for_each(|node| heads[node.index()] = group[0]);
            rest = others;
        }
    }
    // Each node is looked at once: a walk along leaders ends at a node whose head is known. One that comes back to its
    // own way is a circle, which is refused when its nodes are built.
    let mut is_known: Vec<_> = specs.iter().map(|spec| spec.model.membership().is_none()).collect();
    for start in (0..specs.len() as u32).map(NodeId) {
        let (mut way, mut at) = (Vec::new(), start);
        while is_known.get(at.index()) == Some(&false) {
            is_known[at.index()] = true;
            way.push(at);
            let leader = specs[at.index()].model.membership().and_then(|place| place.leader);
            at = leader.filter(|leader| leader.index() < specs.len()).unwrap_or(at);
        }
        let head = heads[at.index()];
        way.into_iter().for_each(|node| heads[node.index()] = head);
    }
    heads
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
