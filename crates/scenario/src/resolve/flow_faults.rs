//! Mistakes of flows. The same mistake of many flows is one problem, which names all of them.

use std::collections::BTreeMap;

use crate::problem::ranges;

/// A mistake of one flow, or of the randomly drawn ones.
#[derive(Clone, Debug)]
pub(super) struct FlowFault {
    /// The number of the flow in the list; nothing for the drawn flows.
    pub(super) flow: Option<usize>,
    pub(super) key: &'static str,
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
            Some(flow) => format!("flow.{flow}.{}", self.key),
            None => format!("flows.{}", self.key),
        }
    }
}

/// The mistakes, each once: that of the first flow that has it, with the others in its message.
pub(super) fn merged(faults: Vec<FlowFault>) -> Vec<FlowFault> {
    let mut groups: Vec<(FlowFault, Vec<u32>)> = Vec::new();
    let mut places = BTreeMap::new();
    for fault in faults {
        let FlowFault { flow, key, message: _, of_many, expected, hint, is_warning } = fault.clone();
        let place = *places.entry((flow.is_none(), key, of_many, expected, hint, is_warning)).or_insert_with(|| {
            groups.push((fault, Vec::new()));
            groups.len() - 1
        });
        groups[place].1.extend(flow.map(|flow| flow as u32));
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
