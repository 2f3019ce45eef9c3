//! Mistakes of flows. The same mistake of many flows is one problem, which names all of them.

use std::collections::BTreeMap;

use crate::problem::ranges;

/// Flows with a mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Place {
    /// The flow with this number in the list.
    Listed(usize),
    /// A set of drawn flows, with its number if the sets are a list.
    Drawn(Option<usize>),
}

impl Place {
    /// The number of a flow of the list.
    const fn listed(self) -> Option<usize> {
        match self {
            Self::Listed(number) => Some(number),
            Self::Drawn(_) => None,
        }
    }
}

/// A mistake of one flow, or of a set of randomly drawn ones.
#[derive(Clone, Debug)]
pub(super) struct FlowFault {
    pub(super) flow: Place,
    pub(super) key: String,
    pub(super) message: String,
    /// The message where several flows have the mistake. It names no node.
    pub(super) of_many: String,
    pub(super) expected: Option<String>,
    pub(super) hint: Option<String>,
    pub(super) is_warning: bool,
}

impl FlowFault {
    /// The key that has the mistake.
    pub(super) fn path(&self) -> String {
        match self.flow {
            Place::Listed(flow) => format!("flow.{flow}.{}", self.key),
            Place::Drawn(None) => format!("flows.{}", self.key),
            Place::Drawn(Some(set)) => format!("flows.{set}.{}", self.key),
        }
    }
}

/// The mistakes, each once: the mistake of the first flow that has it, with the others in its message.
pub(super) fn merged(faults: Vec<FlowFault>) -> Vec<FlowFault> {
    let mut groups: Vec<(FlowFault, Vec<u32>)> = Vec::new();
    let mut places = BTreeMap::new();
    for fault in faults {
        let FlowFault { flow, key, message: _, of_many, expected, hint, is_warning } = fault.clone();
        // Sets are few, and each has a message of its own.
        let set = flow.listed().is_none().then_some(flow);
        let place = *places.entry((set, key, of_many, expected, hint, is_warning)).or_insert_with(|| {
            groups.push((fault, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.extend(flow.listed().map(|flow| flow as u32));
    }
    let one = |(mut fault, mut flows): (FlowFault, Vec<u32>)| {
        flows.sort_unstable();
        flows.dedup();
        if flows.len() > 1 {
            fault.message = format!("flows {}: {}", ranges(flows), fault.of_many);
        }
        fault
    };
    groups.into_iter().map(one).collect()
}
