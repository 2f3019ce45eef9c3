//! AOMDV's parameters and the values derived from them.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::AomdvMessage;
use super::table::{Limits, Path};
use crate::address::Address;
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};
use crate::routing::common::LinkDetection;
use crate::routing::{MostHops, RoutingFacts};

/// Whose procedures are followed where they differ in more than a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// The papers of Marina and Das, and RFC 3561 where they say "as AODV".
    Marina2006,
    /// ns-2.35, to the letter.
    Ns2,
}

/// What the paths of a route may not share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disjoint {
    /// Links.
    Links,
    /// Nodes, except the ends.
    Nodes,
}

/// Which path of a route takes the next packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Use {
    /// The oldest path, until it is lost.
    First,
    /// Each path in turn.
    InTurn,
}

/// Parameters of AOMDV. Where the papers give no value, those of profile `rfc` are AODV's (RFC 3561 §10).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whose procedures are followed where they differ in more than a constant: "marina2006" or "ns2".
    pub rules: Rules,
    /// How a broken link is noticed: "link_layer", "hello" or "both".
    pub link_detection: LinkDetection,
    /// What the paths of a route may not share: "links" or "nodes".
    pub disjoint: Disjoint,
    /// Most paths to a destination.
    pub max_paths: u8,
    /// By how many hops a path may be longer than the shortest one.
    pub hop_difference: u8,
    /// To how many copies of a request its destination replies at most (k in Marina and Das 2001); 0: to all, as ns-2.
    pub reply_copies: u8,
    /// Which path takes the next packet: "first" or "in_turn".
    pub path_use: Use,
    /// How often a packet that could not be sent may take another path, on its whole way. 0: never. ns-2 counts outside
    /// of the packet's headers, and so does this parameter.
    pub max_salvage_count: u8,
    /// How long a path stays valid after its last use.
    pub active_route_timeout: Span,
    /// Lifetime that a destination gives to the paths to itself.
    pub my_route_timeout: Span,
    /// Least lifetime of a reverse path; zero: what is left of two network traversals (RFC 3561 §6.5).
    pub reverse_route_life: Span,
    /// How long a request is remembered; zero: two network traversals.
    pub path_discovery_time: Span,
    /// Largest number of hops between two nodes; the TTL of a full flood.
    pub net_diameter: u8,
    /// A cautious estimate of the time that a message takes over one hop, with queueing. A network traversal takes
    /// `2 * node_traversal_time * net_diameter`.
    pub node_traversal_time: Span,
    /// How long an invalid route is remembered. ns-2's procedures never forget one.
    pub delete_period: Span,
    /// TTL of the first request of an expanding ring search; 0: 2 where HELLO messages are sent, else 1.
    pub ttl_start: u8,
    /// By how much the TTL grows from ring to ring.
    pub ttl_increment: u8,
    /// TTL up to which the rings of a search grow; after it the whole network is flooded.
    pub ttl_threshold: u8,
    /// Hops by which the wait for a ring's replies is longer than its TTL asks for.
    pub timeout_buffer: u8,
    /// Floods of the whole network before a destination is given up.
    pub rreq_retries: u8,
    /// Longest wait for a reply to a flood, and under ns-2's procedures how long a destination that was given up is not
    /// looked for again; zero: not bounded.
    pub max_request_wait: Span,
    /// Requests that a node may originate in a second; 0 for no limit.
    pub rreq_ratelimit: u16,
    /// Errors that a node may originate in a second; 0 for no limit.
    pub rerr_ratelimit: u16,
    /// Time between a node's HELLO messages.
    pub hello_interval: Span,
    /// By how much each interval between HELLO messages may be longer or shorter, at random; at most half of it
    /// (RFC 5148 §5.4).
    pub hello_jitter: Span,
    /// HELLO messages that may stay away before a link counts as broken.
    pub allowed_hello_loss: u8,
    /// Silence after which a neighbour is lost; zero: `allowed_hello_loss` of the longest intervals, and 50 ms for
    /// queueing. In ns-2 a neighbour of which only one HELLO was heard is lost after `allowed_hello_loss` intervals.
    pub neighbour_expiry: Span,
    /// Largest random delay of a broadcast that another node's broadcast has caused, and of a request that is repeated.
    pub broadcast_jitter: Span,
    /// Packets that a node can hold while it looks for routes.
    pub buffer_packets: u16,
    /// How long a packet is held.
    pub buffer_timeout: Span,
    /// Time between looks at which paths have expired; zero: at once. The effect is computed; no timer runs at idle
    /// nodes.
    pub purge_interval: Span,
    /// TTL given to packets originated here; 0: as transport set it.
    pub data_ttl: u8,
    /// Bytes of the headers around each message.
    pub header: Bytes,
    /// Bytes of a request.
    pub rreq_size: Bytes,
    /// Bytes of a reply.
    pub rrep_size: Bytes,
    /// Bytes of a HELLO message.
    pub hello_size: Bytes,
    /// Bytes added to each TCP segment of this node: ns-2's AOMDV counts the IP header once more.
    pub repeated_header: Bytes,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let paper = Self {
            rules: Rules::Marina2006,
            link_detection: LinkDetection::Both,
            disjoint: Disjoint::Links,
            max_paths: 3,
            hop_difference: 1,
            reply_copies: 3,
            path_use: Use::First,
            max_salvage_count: 10,
            active_route_timeout: Span::from_secs(10),
            my_route_timeout: Span::from_secs(20),
            reverse_route_life: Span::ZERO,
            path_discovery_time: Span::ZERO,
            net_diameter: 35,
            node_traversal_time: Span::from_millis(40),
            delete_period: Span::from_secs(50),
            ttl_start: 0,
            ttl_increment: 2,
            ttl_threshold: 7,
            timeout_buffer: 2,
            rreq_retries: 2,
            max_request_wait: Span::ZERO,
            rreq_ratelimit: 10,
            rerr_ratelimit: 10,
            hello_interval: Span::from_secs(1),
            hello_jitter: Span::ZERO,
            allowed_hello_loss: 2,
            neighbour_expiry: Span::ZERO,
            broadcast_jitter: Span::from_millis(10),
            buffer_packets: 64,
            buffer_timeout: Span::from_secs(30),
            purge_interval: Span::ZERO,
            data_ttl: 0,
            header: Bytes::new((IP_HEADER + UDP_HEADER) as u64),
            rreq_size: Bytes::new(28),
            rrep_size: Bytes::new(28),
            hello_size: Bytes::new(20),
            repeated_header: Bytes::new(0),
        };
        if profile != NS2 {
            return paper;
        }
        Self {
            rules: Rules::Ns2,
            link_detection: LinkDetection::Hello,
            disjoint: Disjoint::Nodes,
            reply_copies: 0,
            my_route_timeout: Span::from_secs(10),
            reverse_route_life: Span::from_secs(6),
            path_discovery_time: Span::from_secs(6),
            net_diameter: 30,
            node_traversal_time: Span::from_millis(30),
            ttl_start: 5,
            rreq_retries: 3,
            max_request_wait: Span::from_secs(1),
            rreq_ratelimit: 0,
            rerr_ratelimit: 0,
            hello_jitter: Span::from_millis(250),
            allowed_hello_loss: 3,
            neighbour_expiry: Span::from_millis(4500),
            purge_interval: Span::from_millis(500),
            data_ttl: 30,
            header: Bytes::new(IP_HEADER as u64),
            rreq_size: Bytes::new(32),
            rrep_size: Bytes::new(32),
            hello_size: Bytes::new(24),
            repeated_header: Bytes::new(IP_HEADER as u64),
            ..paper
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value) in [
            ("max_paths", self.max_paths),
            ("net_diameter", self.net_diameter),
            ("ttl_increment", self.ttl_increment),
            ("rreq_retries", self.rreq_retries),
            ("allowed_hello_loss", self.allowed_hello_loss),
        ] {
            Fault::unless(parameter, value, |it| it > 0, "at least 1")?;
        }
        let most = self.net_diameter;
        Fault::unless("ttl_start", self.ttl_start, |it| it <= most, format_args!("at most net_diameter, {most}"))?;
        for (parameter, value) in [
            ("active_route_timeout", self.active_route_timeout),
            ("my_route_timeout", self.my_route_timeout),
            ("node_traversal_time", self.node_traversal_time),
            ("hello_interval", self.hello_interval),
            ("buffer_timeout", self.buffer_timeout),
        ] {
            Fault::unless(parameter, value, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        }
        params::check_jitter("hello_jitter", self.hello_jitter, "hello_interval", self.hello_interval)?;
        if self.rules == Rules::Ns2 && self.purge_interval < Span::from_millis(1) {
            return Err(Fault::new("purge_interval", "expected at least 1 ms under the rules of ns-2"));
        }
        Fault::unless("buffer_packets", self.buffer_packets, |it| it > 0, "at least 1")?;
        for (parameter, bytes) in [
            ("header", self.header),
            ("rreq_size", self.rreq_size),
            ("rrep_size", self.rrep_size),
            ("hello_size", self.hello_size),
            ("repeated_header", self.repeated_header),
        ] {
            Fault::unless(parameter, bytes, |it| it.count() <= 1000, "at most 1000 B")?;
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (
                !self.link_detection.by_hello(),
                "link_detection",
                &["hello_interval", "hello_jitter", "allowed_hello_loss", "neighbour_expiry"],
            ),
            (self.rules == Rules::Ns2, "rules", &["delete_period", "rreq_ratelimit", "rerr_ratelimit"]),
            (self.rules != Rules::Ns2, "rules", &["purge_interval"]),
        ])
    }
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["RREQ", "RREP", "RERR", "HELLO"];
    const REPORTS_BREAKS: bool = true;

    // ns-2's script numbers the packets of all agents, but AOMDV does not ask for a number.
    const NUMBERED_BY_NS2: bool = false;

    /// Marina and Das 2006, §3: the pairs of sequence number and advertised hop count. The procedures of ns-2 differ
    /// from the papers, but keep the rule. A node tells its neighbours the pair itself. Numbers of lost routes are odd
    /// and numbers of destinations even, so that a node never uses the number of a lost route again. No entry is ever
    /// forgotten.
    fn promises_no_loops(&self) -> bool {
        match self.rules {
            Rules::Marina2006 | Rules::Ns2 => true,
        }
    }

    fn needs_link_failures(&self) -> Option<(&'static str, &'static str)> {
        (!self.link_detection.by_hello()).then_some(("link_detection", "\"hello\" or \"both\""))
    }

    fn search_hops(&self) -> Option<MostHops> {
        let hops = self.net_diameter.into();
        Some(MostHops { hops, parameter: "net_diameter", value: hops })
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        let mut doubts = Vec::new();
        let mut shorter = |parameter, value: Span, least: Span, why: &str| {
            if value < least {
                doubts.push((parameter, format!("{value} is less than {least}: {why}")));
            }
        };
        let ring = self.ring_traversal_time(self.ttl_start());
        let why = "a path may expire before the reply that brings it has crossed the first ring";
        shorter("my_route_timeout", self.my_route_timeout, ring, why);
        let why = "a path may expire before the first packet that waited for it has crossed the first ring";
        shorter("active_route_timeout", self.active_route_timeout, ring, why);
        let why = "a request may be forwarded again while it is still on its way (PATH_DISCOVERY_TIME, RFC 3561 §10)";
        shorter("path_discovery_time", self.path_discovery_time(), self.net_traversal_time(), why);
        if self.rules == Rules::Marina2006 {
            let why = "a route may be forgotten while neighbours still use it, so that a loop may form";
            let longest = self.active_route_timeout.max(self.my_route_timeout);
            shorter("delete_period", self.delete_period, longest, why);
        }
        if self.link_detection.by_hello() {
            let why = "a neighbour is lost before its next HELLO message can come";
            let longest = self.hello_interval + self.hello_jitter + self.broadcast_jitter;
            shorter("neighbour_expiry", self.neighbour_expiry(), longest, why);
            let why = "a path to a neighbour may expire before it counts as lost";
            let silence = self.hello_interval * u64::from(self.allowed_hello_loss);
            if self.active_route_timeout >= ring {
                shorter("active_route_timeout", self.active_route_timeout, silence, why);
            }
        }
        doubts
    }
}

/// `value`, or `derived` where it is zero.
fn or(value: Span, derived: Span) -> Span {
    if value.is_zero() { derived } else { value }
}

impl Params {
    /// The bytes of a packet with this message, with its headers.
    #[must_use]
    pub fn packet_size(&self, message: &AomdvMessage) -> u32 {
        let body = match message {
            AomdvMessage::Request(_) => self.rreq_size.count() as u32,
            AomdvMessage::Reply(_) => self.rrep_size.count() as u32,
            AomdvMessage::Hello { .. } => self.hello_size.count() as u32,
            AomdvMessage::Error(unreachable) => 4 + 8 * unreachable.len() as u32,
        };
        self.header.count() as u32 + body
    }

    /// The limits of a list of paths.
    #[must_use]
    pub const fn limits(&self) -> Limits {
        Limits { paths: self.max_paths as usize, difference: self.hop_difference }
    }

    /// Paths that may be told to a neighbour that asks: paths that do not lead through it. ns-2 tells the others too.
    pub fn own_way(&self, asks: Address) -> impl Fn(&Path) -> bool + Copy + use<> {
        let all = self.rules == Rules::Ns2;
        move |path| all || path.next_hop != asks
    }

    /// TTL_START.
    #[must_use]
    pub fn ttl_start(&self) -> u8 {
        self.link_detection.ttl_start(self.ttl_start)
    }

    /// NET_TRAVERSAL_TIME.
    #[must_use]
    pub fn net_traversal_time(&self) -> Span {
        self.node_traversal_time * (2 * u64::from(self.net_diameter))
    }

    /// PATH_DISCOVERY_TIME.
    #[must_use]
    pub fn path_discovery_time(&self) -> Span {
        or(self.path_discovery_time, self.net_traversal_time() * 2)
    }

    /// RING_TRAVERSAL_TIME of a TTL.
    #[must_use]
    pub fn ring_traversal_time(&self, ttl: u8) -> Span {
        self.node_traversal_time * (2 * (u64::from(ttl) + u64::from(self.timeout_buffer)))
    }

    /// Least lifetime of a reverse path of `hops` hops (RFC 3561 §6.5: MinimalLifetime).
    #[must_use]
    pub fn reverse_route_life(&self, hops: u8) -> Span {
        let used = self.node_traversal_time * (2 * u64::from(hops));
        or(self.reverse_route_life, (self.net_traversal_time() * 2).saturating_sub(used))
    }

    /// The longest wait for a reply.
    #[must_use]
    pub fn max_request_wait(&self) -> Span {
        or(self.max_request_wait, Span::MAX)
    }

    /// The silence after which a neighbour is lost.
    #[must_use]
    pub fn neighbour_expiry(&self) -> Span {
        let interval = self.hello_interval + self.hello_jitter + self.broadcast_jitter;
        or(self.neighbour_expiry, interval * u64::from(self.allowed_hello_loss) + Span::from_millis(50))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    #[test]
    fn derived_values_are_those_of_aodv() {
        let paper = Params::of_profile(RFC);
        assert_eq!(paper.path_discovery_time(), Span::from_millis(5600));
        assert_eq!(paper.reverse_route_life(5), Span::from_millis(5200));
        assert_eq!(paper.neighbour_expiry(), Span::from_millis(2070));
        assert_eq!((paper.ttl_start(), paper.ring_traversal_time(1)), (2, Span::from_millis(240)));
        let ns2 = Params::of_profile(NS2);
        assert_eq!((ns2.reverse_route_life(9), ns2.path_discovery_time()), (Span::from_secs(6), Span::from_secs(6)));
        assert_eq!((ns2.ttl_start(), ns2.max_request_wait()), (5, Span::from_secs(1)));
    }

    #[test]
    fn times_in_which_paths_and_neighbours_expire_too_early_are_doubtful() {
        for profile in [RFC, NS2] {
            assert_eq!(Params::of_profile(profile).doubts(), [], "{profile}");
        }
        type Change = fn(&mut Params);
        let changes: [(&str, Change); 5] = [
            ("my_route_timeout", |it| it.my_route_timeout = Span::from_millis(5)),
            ("active_route_timeout", |it| it.active_route_timeout = Span::from_millis(5)),
            ("path_discovery_time", |it| it.path_discovery_time = Span::from_millis(5)),
            ("delete_period", |it| it.delete_period = Span::from_secs(19)),
            ("neighbour_expiry", |it| it.neighbour_expiry = Span::from_millis(900)),
        ];
        for (parameter, change) in changes {
            let mut params = Params::of_profile(RFC);
            change(&mut params);
            let doubts: Vec<&str> = params.doubts().into_iter().map(|(parameter, _)| parameter).collect();
            assert_eq!(doubts, [parameter]);
        }
        let expiry = Span::from_millis(900);
        let deaf =
            Params { neighbour_expiry: expiry, link_detection: LinkDetection::LinkLayer, ..Params::of_profile(RFC) };
        assert_eq!(deaf.doubts(), [], "no HELLO message is sent");
    }

    #[test]
    fn nonsense_is_refused() {
        type Change = fn(&mut Params);
        let changes: [(&str, Change); 9] = [
            ("max_paths", |it| it.max_paths = 0),
            ("net_diameter", |it| it.net_diameter = 0),
            ("ttl_start", |it| it.ttl_start = 99),
            ("my_route_timeout", |it| it.my_route_timeout = Span::ZERO),
            ("hello_jitter", |it| it.hello_jitter = Span::from_millis(501)),
            ("purge_interval", |it| (it.rules, it.purge_interval) = (Rules::Ns2, Span::ZERO)),
            ("buffer_packets", |it| it.buffer_packets = 0),
            ("rrep_size", |it| it.rrep_size = Bytes::new(1001)),
            ("repeated_header", |it| it.repeated_header = Bytes::new(1001)),
        ];
        for (parameter, change) in changes {
            let mut params = Params::of_profile(RFC);
            change(&mut params);
            assert_eq!(params.check().expect_err(parameter).parameter, parameter);
        }
    }
}
