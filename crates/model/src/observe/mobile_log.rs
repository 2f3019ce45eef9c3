//! A log of the events of hosts that move between networks: the messages of hosts and agents, their places, and the
//! first packets by a new way.

use hopyard_engine::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::cells::Cells;
use super::row::Row;
use crate::address::{Address, NodeId};
use crate::context::{MobileChange, MobileEvent};

/// A row for each event of a host that moves between networks, or of one of its agents, from the start of the run, in
/// the order of time. The rows exist if `measure.mobile_events` is set. What is left empty does not belong to the
/// event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MobileEventRow {
    /// Simulated time.
    #[schemars(extend("unit" = "s"))]
    pub time_s: f64,
    /// The number of the node at which it happened.
    pub node: u32,
    /// The number of the host's node.
    pub host: u32,
    /// `heard`: an agent that the host did not know; `lost`: the agent's lifetime has ended; `moved`; `requested`;
    /// `registered`, `refused`: the host has the reply; `expired`: a registration has ended with its lifetime;
    /// `tunnel_begun`, `tunnel_ended`: at the home agent; `first_up`, `first_down`: after a change of the agent, the
    /// first packet from the host, or to the host, among its flows; `cell_entered`, `cell_left`: by the places of host
    /// and agent, as in the table of handoffs.
    #[schemars(extend("closed" = true))]
    pub event: &'static str,
    /// The number of the agent's node before, of `moved`.
    pub agent_before: Option<u32>,
    /// The number of the agent's node.
    pub agent: Option<u32>,
    /// The number of the node whose address is the care-of address: the agent's, or the host's own at home.
    pub care_of: Option<u32>,
    /// The lifetime that was asked for or granted; 65535 for ever.
    #[schemars(extend("unit" = "s"))]
    pub lifetime: Option<u16>,
    /// Why a request was denied (RFC 5944 §3.4).
    pub code: Option<u8>,
}

impl Row for MobileEventRow {}

/// The log, which is empty unless it is asked for.
#[derive(Clone, Debug, Default)]
pub(super) struct MobileLog {
    watches: bool,
    /// The nodes of the interfaces.
    nodes: Vec<NodeId>,
    rows: Vec<MobileEventRow>,
}

impl MobileLog {
    pub fn of(watches: bool, nodes: Vec<NodeId>) -> Self {
        Self { watches, nodes, rows: Vec::new() }
    }

    fn node(&self, address: Address) -> Option<u32> {
        self.nodes.get(address.0 as usize).map(|node| node.0)
    }

    /// A host or an agent tells something.
    pub fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        if !self.watches {
            return;
        }
        let Some(host) = self.node(event.host) else { return };
        let row = MobileEventRow { node: node.0, ..row(now, NodeId(host), event.what.name()) };
        let known = |address: Address| self.node(address);
        let row = match event.what {
            MobileChange::Heard { agent } | MobileChange::Lost { agent } => {
                MobileEventRow { agent: known(agent), ..row }
            }
            MobileChange::Moved { from, to } => {
                MobileEventRow { agent_before: from.and_then(known), agent: to.and_then(known), ..row }
            }
            MobileChange::Requested { agent, care_of, lifetime }
            | MobileChange::Registered { agent, care_of, lifetime } => {
                MobileEventRow { agent: known(agent), care_of: known(care_of), lifetime: Some(lifetime), ..row }
            }
            MobileChange::Refused { agent, code } => MobileEventRow { agent: known(agent), code: Some(code), ..row },
            MobileChange::Expired { care_of: to }
            | MobileChange::TunnelBegun { to }
            | MobileChange::TunnelEnded { to } => MobileEventRow { care_of: known(to), ..row },
        };
        self.rows.push(row);
    }

    /// The first packet of the host's flows has come up from it, or down to it, by a new way.
    pub fn on_first(&mut self, now: Time, host: NodeId, agent: NodeId, is_up: bool) {
        if self.watches {
            let event = if is_up { "first_up" } else { "first_down" };
            self.rows.push(MobileEventRow { agent: Some(agent.0), ..row(now, host, event) });
        }
    }

    /// A row for each event so far, in the order of time.
    pub fn rows(&self, cells: &Cells) -> Vec<MobileEventRow> {
        if !self.watches {
            return Vec::new();
        }
        let crossings = cells.hosts().flat_map(|host| {
            cells.of_host(host).into_iter().map(move |it| {
                let event = if it.enters { "cell_entered" } else { "cell_left" };
                MobileEventRow { agent: Some(it.agent.0), ..row(it.at, host, event) }
            })
        });
        let mut rows: Vec<_> = crossings.chain(self.rows.iter().cloned()).collect();
        rows.sort_by(|a, b| a.time_s.total_cmp(&b.time_s));
        rows
    }
}

/// An event at a host.
fn row(at: Time, host: NodeId, event: &'static str) -> MobileEventRow {
    MobileEventRow {
        time_s: at.seconds(),
        node: host.0,
        host: host.0,
        event,
        agent_before: None,
        agent: None,
        care_of: None,
        lifetime: None,
        code: None,
    }
}
