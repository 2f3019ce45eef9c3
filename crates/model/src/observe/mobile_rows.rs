//! The rows of hosts that move between networks: their handoffs, their events, and the detours of their packets.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A row for each time that a host that moves between networks finds itself at another agent, or at its agent again,
/// from the start of the run; and for each cell that it passed through and never found itself in. Its flows are those
/// that begin or end at it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HandoffRow {
    /// The number of the host's node.
    pub host: u32,
    /// The number of the agent's node before.
    pub agent_before: Option<u32>,
    /// The number of the agent's node now.
    pub agent: u32,
    /// `change`: another agent than before; `return`: the same one, which the host had lost; `missed`: the host came
    /// into the range of the agent and left it again, and never found itself there.
    #[schemars(extend("closed" = true))]
    pub kind: &'static str,
    /// When the host left the range of the agent before, by where both were: the last time before it found that it had
    /// moved, or the first time after that if it was within range then. The range is the distance at which a frame has
    /// just the power that can be decoded (`radio.receive`); where distance alone does not decide, there is none.
    #[schemars(extend("unit" = "s"))]
    pub left_s: Option<f64>,
    /// When it came into the range of the agent now, likewise; empty if it was there from the start.
    #[schemars(extend("unit" = "s"))]
    pub entered_s: Option<f64>,
    /// When a packet of the host's flows last passed between it and the agent before.
    #[schemars(extend("unit" = "s"))]
    pub last_exchange_s: Option<f64>,
    /// When the host first heard the agent, since it last knew nothing of it.
    #[schemars(extend("unit" = "s"))]
    pub heard_s: Option<f64>,
    /// When the host found that it had moved; empty if it never did.
    #[schemars(extend("unit" = "s"))]
    pub moved_s: Option<f64>,
    /// When it first sent a request to be registered.
    #[schemars(extend("unit" = "s"))]
    pub requested_s: Option<f64>,
    /// The requests until it was registered.
    #[schemars(extend("unit" = "messages"))]
    pub requests: u32,
    /// How many of them were denied.
    #[schemars(extend("unit" = "messages"))]
    pub refused: u32,
    /// When the home agent began to tunnel to the agent; empty at home.
    #[schemars(extend("unit" = "s"))]
    pub tunnel_s: Option<f64>,
    /// When the host learned that it was registered.
    #[schemars(extend("unit" = "s"))]
    pub registered_s: Option<f64>,
    /// When the first packet of its flows came from the host to the agent.
    #[schemars(extend("unit" = "s"))]
    pub first_up_s: Option<f64>,
    /// When the first packet of its flows came from the agent to the host.
    #[schemars(extend("unit" = "s"))]
    pub first_down_s: Option<f64>,
    /// Packets of its flows, acknowledgements too, that were dropped after the last exchange, and before that of the
    /// next handoff, and had been made before the host was registered.
    #[schemars(extend("unit" = "packets"))]
    pub lost: u64,
    /// Why, with numbers, such as `retry_limit 3, visitor_gone 1`.
    pub lost_reasons: String,
    /// Timeouts of the senders of its flows between the last exchange and `recovered_s`, or the next handoff.
    pub timeouts: u32,
    /// IP bytes of the data packets of its flows that arrived in the 5 s up to the last exchange, per second.
    #[schemars(extend("unit" = "kbit/s"))]
    pub rate_before_kbps: f64,
    /// When, after the registration, this rate over the last second first was 90 % of that before.
    #[schemars(extend("unit" = "s"))]
    pub recovered_s: Option<f64>,
}

/// A row for each event of a host that moves between networks, or of one of its agents, from the start of the run, in
/// the order of time, if `measure.mobile_events` is set. What is left empty does not belong to the event.
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
    /// first packet of the host's flows has come from it, or to it; `cell_entered`, `cell_left`: by where host and
    /// agent are, as in the table of handoffs.
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

/// A row for each flow between a host that moves between networks and one that does not, each agent and each direction,
/// with packets that came through a tunnel of Mobile IP and arrived; from the start of the run. Beside their way it has
/// the direct one: over the wires of the shortest delay between the agent and the other end of the flow, and over the
/// radio as the packets went themselves.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DetourRow {
    /// The flow's number.
    pub flow: u32,
    /// The number of the host's node.
    pub host: u32,
    /// The number of the node of the agent at which the host was.
    pub agent: u32,
    /// `to_host`, or `from_host` through a reverse tunnel.
    #[schemars(extend("closed" = true))]
    pub direction: &'static str,
    /// How many packets, data and acknowledgements.
    #[schemars(extend("unit" = "packets"))]
    pub packets: u64,
    /// Mean number of their hops, those within the tunnel included.
    #[schemars(extend("unit" = "hops"))]
    pub hops: f64,
    /// Mean number of the hops of the direct way.
    #[schemars(extend("unit" = "hops"))]
    pub direct_hops: f64,
    /// Mean time from source to destination.
    #[schemars(extend("unit" = "ms"))]
    pub delay_ms: f64,
    /// Mean time by the direct way: of each wire its delay and the time to send the packet without an outer header, no
    /// queue; and the time that the packet itself took between the host and the agent.
    #[schemars(extend("unit" = "ms"))]
    pub direct_delay_ms: f64,
}
