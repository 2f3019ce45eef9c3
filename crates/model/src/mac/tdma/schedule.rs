//! The owners of the slots that a scenario gives.

use std::collections::BTreeSet;

use super::params::{Params, Rule, Schedule, Share};
use crate::address::NodeId;
use crate::params::Fault;

/// The owners of each slot of the frame that are among these nodes; nothing if slots come from an agent.
pub fn owners(params: &Params, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
    match &params.schedule {
        Schedule::Rule(Rule::Agent) => Vec::new(),
        Schedule::Rule(Rule::InTurn) => nodes.iter().map(|&node| vec![node]).collect(),
        Schedule::Owners(owners) => {
            let owners = owners.iter().map(|owner| owner.nodes().iter().map(|&node| NodeId(node)));
            owners.map(Iterator::collect).collect()
        }
    }
}

/// Checks that the stations of these nodes can share a channel.
pub fn check(params: &Params, nodes: &[NodeId]) -> Result<(), Fault> {
    for (name, list) in [("clock_offsets", &params.clock_offsets), ("clock_drifts", &params.clock_drifts)] {
        if !list.is_empty() && list.len() != nodes.len() {
            let (expected, found) = (nodes.len(), list.len());
            return Err(Fault::new(name, format!("expected a value for each of {expected} nodes, found {found}")));
        }
    }
    let Schedule::Owners(owners) = &params.schedule else { return check_part(params, nodes) };
    let list = |numbers: BTreeSet<u32>| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
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
