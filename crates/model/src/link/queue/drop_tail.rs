//! Drop-tail: a packet that finds the queue full is dropped.
//!
//! This is the discipline packet by packet. A wire and a radio with this discipline keep their packets themselves: a
//! wire knows when each of them leaves as soon as it comes, and routing packets have a place of their own at a radio
//! ([`InterfaceQueue`](super::InterfaceQueue)).

use std::collections::VecDeque;

use hopyard_engine::Rng;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::discipline::{Desk, Item, QueueDiscipline, Room, Takes};
use crate::context::DropReason;
use crate::params;

/// The discipline has no parameters: `queue_length` is a key of `[link]` and `[[wire]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {}
    }
}

/// A queue with room for so many packets.
#[derive(Clone, Debug)]
pub struct DropTail {
    capacity: usize,
    items: VecDeque<Item>,
}

impl QueueDiscipline for DropTail {
    type Params = Params;

    fn new(_params: &Params, room: &Room, _draws: Rng) -> Self {
        Self { capacity: room.packets, items: VecDeque::new() }
    }

    fn push(&mut self, item: Item, desk: &mut Desk<'_>) {
        if self.items.len() >= self.capacity {
            desk.drop(&item, DropReason::QueueFull);
        } else {
            self.items.push_back(item);
        }
    }

    fn pop(&mut self, takes: Option<Takes<'_>>, desk: &mut Desk<'_>) -> Option<Item> {
        self.items.remove(desk.first(&self.items, takes)?)
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
        self.items.retain(keep);
    }

    fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.items.iter())
    }
}
