//! The specification of a run: plain typed data, from which a [`World`](super::World) is built.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::units::Power;
use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use strum::{IntoStaticStr, VariantArray};

use crate::address::{NodeId, Prefix};
use crate::agent::Orders;
use crate::channel::energy::{self, Battery};
use crate::link::queue;
use crate::link::wired::trace::Trace;
use crate::mac::rate_control;
use crate::mobility::{self, Movements, Position};
use crate::observe::Recorded;
use crate::params::{Params as _, RFC};
use crate::phy::error_rate::measured::Measured;
use crate::phy::links::Links;
use crate::phy::neighbours::Search;
use crate::phy::obstacles::Obstacle;
use crate::phy::{self, fading, propagation};
use crate::transport::{acking, tcp};
use crate::{agent, app, ip, link, mac, multicast, routing};

/// The complete specification of one run.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The experiment's seed.
    pub seed: u64,
    /// The number of the run within the experiment. Seed and run number together determine the random streams.
    pub run: u64,
    /// How long the run lasts.
    pub duration: Span,
    /// When the measurement of flows begins.
    pub measure_from: Time,
    /// The nodes, in order of their numbers.
    pub nodes: Vec<NodeSpec>,
    /// The channels, in order of their numbers.
    pub channels: Vec<ChannelSpec>,
    /// The obstacles between nodes, for the laws of path loss of all channels.
    pub obstacles: Vec<Obstacle>,
    /// The addresses that are given: each to the interface of the node in whose prefix it is.
    pub addresses: Vec<(NodeId, Ipv4Addr)>,
    /// Interface queue and address resolution.
    pub link: link::Params,
    /// The discipline of the interface queues of radios.
    pub queue: queue::Config,
    /// The network layer.
    pub ip: ip::Params,
    /// Wired links.
    pub wires: Vec<WireSpec>,
    /// The disciplines of the queues of wires, by number of the wire; others are drop-tail.
    pub wire_queues: BTreeMap<usize, queue::Config>,
    /// The traces that wires follow in each direction, by number of the wire; others follow none.
    pub wire_traces: BTreeMap<usize, [Vec<Trace>; 2]>,
    /// The roles of nodes among networks whose hosts move; other nodes have none.
    pub roles: BTreeMap<NodeId, RoleSpec>,
    /// The faults that the agents of nodes are ordered to have.
    pub orders: BTreeMap<NodeId, Orders>,
    /// Networks on channels that have prefixes of their own.
    pub served: Vec<ServedSpec>,
    /// Tunnels.
    pub tunnels: Vec<TunnelSpec>,
    /// Flows, in order of their numbers.
    pub flows: Vec<FlowSpec>,
    /// The further destinations of flows, by number; others have one.
    pub casts: BTreeMap<usize, Cast>,
    /// Multicast groups.
    pub groups: Vec<GroupSpec>,
    /// How datagrams for groups are forwarded.
    pub multicast: multicast::Config,
    /// The nodes that only radiate. They are the last ones with radios.
    pub jammers: Vec<JammerSpec>,
    /// The energy that radios take.
    pub energy: EnergySpec,
    /// The observations.
    pub observe: ObserveSpec,
    /// How the medium works; it has no effect on results.
    pub medium: MediumSpec,
}

impl Spec {
    /// A run of 30 s without nodes and flows, with the defaults of a profile: one channel with two-ray ground path loss
    /// and DCF.
    #[must_use]
    pub fn network(profile: &str) -> Self {
        Self {
            seed: 1,
            run: 0,
            duration: Span::from_secs(30),
            measure_from: Time::ZERO,
            nodes: Vec::new(),
            channels: vec![ChannelSpec::of_profile(profile)],
            obstacles: Vec::new(),
            addresses: Vec::new(),
            link: link::Params::of_profile(profile),
            queue: queue::Config::first(profile),
            ip: ip::Params::of_profile(profile),
            wires: Vec::new(),
            wire_queues: BTreeMap::new(),
            wire_traces: BTreeMap::new(),
            roles: BTreeMap::new(),
            orders: BTreeMap::new(),
            served: Vec::new(),
            tunnels: Vec::new(),
            flows: Vec::new(),
            casts: BTreeMap::new(),
            groups: Vec::new(),
            multicast: multicast::Config::first(profile),
            jammers: Vec::new(),
            energy: EnergySpec::default(),
            observe: ObserveSpec::default(),
            medium: MediumSpec::default(),
        }
    }

    /// The part of a node among networks whose hosts move.
    #[must_use]
    pub fn role(&self, node: NodeId) -> &RoleSpec {
        self.roles.get(&node).unwrap_or(&RoleSpec::Fixed)
    }
}

/// The energy that radios take, and what there is of it.
#[derive(Clone, Debug)]
pub struct EnergySpec {
    /// How it is counted.
    pub model: energy::Config,
    /// The battery of each node, in order of their numbers; nodes beyond the last have an endless one.
    pub batteries: Vec<Battery>,
    /// The nodes whose radios sleep at given times.
    pub sleeps: Vec<SleepSpec>,
}

/// A node that only radiates. It hears nothing, and nobody can decode what it radiates.
#[derive(Clone, Debug, PartialEq)]
pub struct JammerSpec {
    /// The node.
    pub node: NodeId,
    /// The channel.
    pub channel: u16,
    /// The power.
    pub power: Power,
    /// When its first period begins.
    pub from: Time,
    /// When it stops.
    pub until: Time,
    /// The time from period to period.
    pub period: Span,
    /// How long it radiates in each period, from its beginning; at most the period.
    pub on: Span,
}

/// When the radios of a node sleep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SleepSpec {
    /// The node.
    pub node: NodeId,
    /// The times, each from its beginning to its end, in order, without overlap.
    pub times: Vec<(Time, Time)>,
    /// The time after which the times come again, if they do. It is not less than the time from the first to the last.
    pub every: Option<Span>,
}

impl Default for EnergySpec {
    /// Energy is not counted.
    fn default() -> Self {
        Self { model: energy::Config::first(RFC), batteries: Vec::new(), sleeps: Vec::new() }
    }
}

/// A channel.
#[derive(Clone, Debug)]
pub struct ChannelSpec {
    /// Every radio on it.
    pub radio: phy::Params,
    /// Path loss.
    pub propagation: propagation::Config,
    /// The links of the file that path loss names, if it names one.
    pub links: Option<Arc<Links>>,
    /// The error rates of the file that the radio names, if it names one.
    pub errors: Option<Arc<Measured>>,
    /// Fading.
    pub fading: fading::Config,
    /// Medium access.
    pub mac: mac::Config,
    /// Rate control.
    pub rates: rate_control::Config,
    /// Its prefix, if it is given.
    pub network: Option<Prefix>,
}

impl ChannelSpec {
    /// A channel with two-ray ground path loss and DCF, with the defaults of a profile.
    #[must_use]
    pub fn of_profile(profile: &str) -> Self {
        Self {
            radio: phy::Params::of_profile(profile),
            propagation: propagation::Config::first(profile),
            links: None,
            errors: None,
            fading: fading::Config::first(profile),
            mac: mac::Config::first(profile),
            rates: rate_control::Config::first(profile),
            network: None,
        }
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct NodeSpec {
    /// How it moves.
    pub mobility: mobility::Config,
    /// Its start position in the scenario.
    pub start: Position,
    /// The movement file, if its mobility model uses one.
    pub movements: Option<Arc<Movements>>,
    /// The table of the scenario that says how it moves. Nodes of one table form groups together, where the model forms
    /// groups of its nodes.
    pub table: u32,
    /// The numbers of the channels on which it has a radio. The first number belongs to its first interface.
    pub radios: Vec<u16>,
    /// How it routes.
    pub routing: routing::Config,
    /// Its agents.
    pub agents: Vec<agent::Config>,
}

impl NodeSpec {
    /// A node that stays at `place`, with a radio on the first channel.
    #[must_use]
    pub fn stationary(place: Position, routing: routing::Config) -> Self {
        let mobility = mobility::Config::first(RFC);
        Self { mobility, start: place, movements: None, table: 0, radios: vec![0], routing, agents: Vec::new() }
    }

    /// The specification of its movement.
    #[must_use]
    pub fn movement(&self) -> mobility::Spec<'_> {
        let (model, movements) = (&self.mobility, self.movements.as_deref());
        mobility::Spec { model, start: self.start, movements, table: self.table }
    }
}

/// A wired link between two nodes.
#[derive(Clone, Debug)]
pub struct WireSpec {
    /// The two nodes that it connects.
    pub ends: (NodeId, NodeId),
    /// Rate, delay, queue, losses.
    pub params: link::wired::Params,
    /// Its prefix, if it is given.
    pub network: Option<Prefix>,
}

/// A network on a channel with a prefix of its own: a router, and the nodes whose first radio has its address in the
/// prefix. Wires lead to the prefix by way of the router alone. Nodes of several such networks may share a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServedSpec {
    /// The node whose first radio serves the network.
    pub router: NodeId,
    /// The prefix, if it is given.
    pub prefix: Option<Prefix>,
    /// The other nodes that have an address there.
    pub members: Vec<NodeId>,
}

/// The part of a node among networks whose hosts move and keep their addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum RoleSpec {
    /// It neither moves between networks nor serves such hosts.
    #[default]
    Fixed,
    /// It serves such hosts: its own ones as their home agent, others as a foreign agent.
    Router {
        /// Whether it serves hosts of other networks.
        is_foreign: bool,
        /// The wires on which it serves, by number, besides its radio.
        wires: Vec<usize>,
        /// The hosts whose home agent it is.
        hosts: Vec<NodeId>,
        /// When it first advertises, if that is given.
        first: Option<Time>,
    },
    /// It moves between networks. Its home address is the address of its first interface.
    Host {
        /// Its home agent.
        agent: NodeId,
        /// The times in which its messages are not authentic.
        forged: Vec<(Time, Time)>,
    },
}

/// A tunnel between two nodes (IP in IP, RFC 2003).
#[derive(Clone, Debug)]
pub struct TunnelSpec {
    /// The two nodes at its ends.
    pub ends: (NodeId, NodeId),
    /// The prefixes whose packets the first node sends through the tunnel, and the prefixes of the second node.
    pub carries: [Vec<Prefix>; 2],
}

/// A flow from one node to another.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// Where the data comes from.
    pub from: NodeId,
    /// Where it goes.
    pub to: NodeId,
    /// When the application starts.
    pub start: Time,
    /// When it stops; [`Time::NEVER`] for the end of the run.
    pub stop: Time,
    /// The model of the application's data.
    pub traffic: app::Config,
    /// Its transport.
    pub transport: Transport,
    /// The name of the set of flows to which it belongs; it changes nothing.
    pub label: String,
    /// The differentiated services code point of its packets, in both directions: 0 to 63.
    pub dscp: u8,
}

impl FlowSpec {
    /// The label of the flow that answers it, if one does.
    #[must_use]
    pub fn label_of_answers(&self) -> String {
        label_of_answers(&self.label)
    }
}

/// The label of the answers to a flow with a label.
#[must_use]
pub fn label_of_answers(label: &str) -> String {
    if label.is_empty() { "answers".to_owned() } else { format!("{label}.answers") }
}

/// The further destinations of a flow. Each has a flow of its own in the results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Each of these nodes too gets the data of the first destination. Each gets its own packets.
    Each(Vec<NodeId>),
    /// The source sends to a group, by number; its destination is a member, and so are the further ones.
    Group(usize),
}

/// A multicast group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupSpec {
    /// Its address, beyond 224.0.0.0/24.
    pub address: Ipv4Addr,
    /// Its members, sorted.
    pub members: Vec<NodeId>,
}

/// The transport of a flow.
#[derive(Clone, Debug)]
pub enum Transport {
    /// UDP datagrams.
    Udp,
    /// A TCP connection.
    Tcp {
        /// TCP's parameters and the variant.
        config: Box<tcp::Config>,
        /// How the receiver acknowledges.
        acking: acking::Config,
    },
}

/// The observations in addition to the counters, which are always active.
#[derive(Clone, Debug, Default)]
pub struct ObserveSpec {
    /// The sampled quantities.
    pub series: Vec<Quantity>,
    /// The interval between samples.
    pub interval: Span,
    /// The further records.
    pub recorded: Recorded,
}

/// A quantity of a flow that can be sampled.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    IntoStaticStr,
    VariantArray,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Quantity {
    /// Congestion window, in segments.
    Cwnd,
    /// Slow start threshold, in segments.
    Ssthresh,
    /// Smoothed round-trip time (SRTT of RFC 6298), in seconds.
    Srtt,
    /// Retransmission timeout, in seconds.
    Rto,
    /// Payload that the receiving application received in order in the interval, in kbit/s. When a retransmission fills
    /// a gap, the delivery of the waiting data gives a peak above the channel's rate.
    Goodput,
    /// IP bytes of the data packets that arrived in the interval, including duplicates, in kbit/s.
    Throughput,
    /// Hops of the source's route to the destination; no sample while there is no route.
    Hops,
    /// Bandwidth that the congestion control estimates, in kbit/s of payload; no sample if it has no estimate.
    Bandwidth,
    /// Minimum time between two segments of a congestion control with pacing, in milliseconds; no sample without
    /// pacing.
    PacingGap,
}

impl Quantity {
    /// Every quantity.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// Its name in scenarios and tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Cwnd | Self::Ssthresh => "segments",
            Self::Srtt | Self::Rto => "s",
            Self::Goodput | Self::Throughput | Self::Bandwidth => "kbit/s",
            Self::Hops => "hops",
            Self::PacingGap => "ms",
        }
    }
}

/// How the medium works. These switches are for tests and have no effect on results.
#[derive(Clone, Copy, Debug, Default)]
pub struct MediumSpec {
    /// One event for each start and end of a signal instead of one cursor for each transmission.
    pub exact: bool,
    /// How the simulator searches for nodes that may hear each other.
    pub search: Search,
}
