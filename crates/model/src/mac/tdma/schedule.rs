//! The owners of the slots that a scenario gives, or that follow from who hears whom.

use std::collections::BTreeSet;

use super::colouring;
use super::params::{FrameRule, Params, Rule, Schedule, Share};
use super::timeline::Own;
use crate::address::NodeId;
use crate::context::Slots;
use crate::params::Fault;

/// The owners of each slot of the frame that are among these nodes; nothing if slots are found during the run.
pub fn owners(params: &Params, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    match &params.schedule {
        Schedule::Rule(Rule::Agent | Rule::Greedy | Rule::Frozen) => Vec::new(),
        Schedule::Rule(Rule::InTurn) => nodes.iter().map(|&node| vec![node]).collect(),
        Schedule::Owners(owners) => {
            let owners = owners.iter().map(|owner| owner.nodes().iter().map(|&node| NodeId(node)));
            owners.map(Iterator::collect).collect()
        }
    }
}

/// The greedy schedule of stations with these hearers, as each one would know it.
pub fn greedy(hearers: &[Vec<u32>]) -> Vec<Slots> {
    let rivals = colouring::rivals(hearers);
    let slots: Vec<u32> = colouring::greedy(&rivals).into_iter().map(u32::from).collect();
    let known = slots.iter().copied().max().unwrap_or(0);
    // A station without rivals knows of its own slot alone.
    let near = |others: &[u32], own: u32| others.iter().map(|&other| slots[other as usize]).fold(own, u32::max);
    let all = rivals.iter().zip(&slots);
    all.map(|(others, &own)| Slots { own: Some(own), near: near(others, own), known }).collect()
}

/// The stations that a greedy schedule leaves without a slot, because the frame has too few.
pub fn slotless(params: &Params, hearers: &[Vec<u32>]) -> Vec<u32> {
    if !matches!(params.schedule, Schedule::Rule(Rule::Greedy | Rule::Frozen)) || params.frame != FrameRule::Fixed {
        return Vec::new();
    }
    let without = |slots: &Slots| Own::found(slots, params) == Own::Nothing;
    (0..).zip(greedy(hearers)).filter(|it| without(&it.1)).map(|it| it.0).collect()
}

/// How many nodes a message names.
const MOST_SHOWN: usize = 5;

/// Checks that the stations of these nodes can share a channel.
pub fn check(params: &Params, nodes: &[NodeId]) -> Result<(), Fault> {
    for (name, list) in [("clock_offsets", &params.clock_offsets), ("clock_drifts", &params.clock_drifts)] {
        if !list.is_empty() && list.len() != nodes.len() {
            let (expected, found) = (nodes.len(), list.len());
            return Err(Fault::new(name, format!("expected a value for each of {expected} nodes, found {found}")));
        }
    }
    let Schedule::Owners(owners) = &params.schedule else { return check_part(params, nodes) };
    let list = |numbers: BTreeSet<u32>| {
        let shown = numbers.iter().take(MOST_SHOWN).map(u32::to_string).collect::<Vec<_>>().join(", ");
        match numbers.len().saturating_sub(MOST_SHOWN) {
            0 => shown,
            more => format!("{shown} and {more} more"),
        }
    };
    let (of, there): (BTreeSet<u32>, BTreeSet<u32>) =
        (owners.iter().flat_map(|owner| owner.nodes()).copied().collect(), nodes.iter().map(|node| node.0).collect());
    let (missing, without) = (&of - &there, &there - &of);
    let mut problems = Vec::new();
    if !missing.is_empty() {
        problems.push(format!("expected nodes with a radio on this channel, found {}", list(missing)));
    }
    match without.len() {
        0 => {}
        1 => problems.push(format!("node {} owns no slot and can never send", list(without))),
        _ => problems.push(format!("nodes {} own no slot and can never send", list(without))),
    }
    if problems.is_empty() { Ok(()) } else { Err(Fault::new("schedule", problems.join("; "))) }
}

/// Checks the contention part of frames with a slot for each node.
fn check_part(params: &Params, nodes: &[NodeId]) -> Result<(), Fault> {
    let part = params.contention_part(u64::from(params.unused_slots) + params.slots_between(nodes.len()));
    let least = params.least_part();
    match params.contention {
        Share::Of(share) if share > 0.0 && part < least && !nodes.is_empty() => Err(Fault::new(
            "contention",
            format!("expected a contention part of at least {least}, found one of {part}"),
        )),
        _ => Ok(()),
    }
}
