//! The contents of a capture.

use std::collections::BTreeSet;

use strum::{IntoStaticStr, VariantArray};

use crate::address::NodeId;

/// A kind of packets that is captured at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    /// The frames that a radio sends or decodes, also frames for other nodes.
    Radio,
    /// The frames that a radio receives in error.
    Damaged,
    /// The packets that enter and leave a wire or a tunnel.
    Wire,
    /// The packets that transport passes to IP, and the packets that IP passes to transport.
    Host,
    /// The packets that the node drops.
    Drops,
}

impl Kind {
    /// Every kind.
    pub const ALL: &[Self] = Self::VARIANTS;
    /// The kinds that are captured unless others are chosen.
    pub const USUAL: [Self; 3] = [Self::Radio, Self::Wire, Self::Drops];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// The contents of a capture.
#[derive(Clone, Debug)]
pub struct Options {
    /// The nodes at which is captured; `None` for all.
    pub nodes: Option<BTreeSet<NodeId>>,
    /// The kinds that are captured there.
    pub kinds: BTreeSet<Kind>,
    /// Comments about the whole capture.
    pub comments: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self { nodes: None, kinds: Kind::USUAL.into(), comments: Vec::new() }
    }
}

impl Options {
    /// Whether something is captured at a node.
    #[must_use]
    pub fn has_node(&self, node: NodeId) -> bool {
        self.nodes.as_ref().is_none_or(|nodes| nodes.contains(&node))
    }

    /// Whether a kind is captured.
    #[must_use]
    pub fn has(&self, kind: Kind) -> bool {
        self.kinds.contains(&kind)
    }
}
