//! The part of a node in multicast groups.

use std::collections::BTreeMap;

use hopyard_engine::Time;

use crate::address::{Address, NodeId};
use crate::context::Context;
use crate::multicast::{self, Previous};

/// A node's part in multicast groups.
#[derive(Debug)]
pub(crate) struct Groups {
    pub model: multicast::Model,
    /// The groups of which the node is a member, sorted.
    pub member_of: Vec<Address>,
    /// The neighbours that have chosen the node as a relay, each with the time until which the choice holds.
    pub chosen_by: BTreeMap<NodeId, Time>,
}

impl Groups {
    /// A neighbour has chosen the node as a relay until a time.
    pub(crate) fn on_chosen(&mut self, by: Address, until: Time, cx: &Context) {
        self.chosen_by.insert(cx.owners.of(by), until);
    }

    /// What the forwarding protocol may know of the neighbour from which a datagram came.
    pub(super) fn previous(&self, from: Address, cx: &Context) -> Previous {
        let until = self.chosen_by.get(&cx.owners.of(from));
        Previous { address: from, has_chosen: until.is_some_and(|until| *until > cx.now) }
    }
}
