//! AODV's parameters and the values derived from them.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_wire::aodv::INTERNET_DESTINATION;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use super::choices::{Gateways, Locality, RepairTimer, Rules, ToGateway};
use super::message::{AodvMessage, Reply};
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};
pub use crate::routing::common::{Auto, LinkDetection};
use crate::routing::{MostHops, RoutingFacts};

/// The longest wait of a HELLO in the interface queue and for the medium.
const HELLO_QUEUEING: Span = Span::from_millis(50);

/// The profile that behaves as AODV-UU does.
pub const UU: &str = "uu";

/// Parameters of AODV. Names and defaults of profile `rfc` are those of RFC 3561 §10.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whose procedures are followed where they differ in more than a constant: "rfc3561", "ns2" or "uu".
    pub rules: Rules,
    /// How a broken link is noticed: "link_layer", "hello" or "both".
    pub link_detection: LinkDetection,
    /// How long a route stays valid after its last use; "auto": 10 s if the link layer reports broken links, otherwise
    /// 3 s.
    pub active_route_timeout: Auto,
    /// Lifetime that a destination gives to the route to itself; "auto": twice the longer of `active_route_timeout` and
    /// `path_discovery_time`.
    pub my_route_timeout: Auto,
    /// Least lifetime of a reverse route; "auto": what is left of two network traversals (RFC 3561 §6.5).
    pub reverse_route_life: Auto,
    /// How long a request's number is remembered; "auto": two network traversals.
    pub path_discovery_time: Auto,
    /// Largest number of hops between two nodes; the TTL of a full flood.
    pub net_diameter: u8,
    /// A cautious estimate of the time that a message takes over one hop, with queueing.
    pub node_traversal_time: Span,
    /// Time for a request to cross the network and the reply to come back; "auto":
    /// `2 * node_traversal_time * net_diameter`.
    pub net_traversal_time: Auto,
    /// How long to wait for an RREP-ACK; "auto": `node_traversal_time` plus 10 ms.
    pub next_hop_wait: Auto,
    /// How long an invalid route is remembered; "auto": `delete_factor` times the longer of `active_route_timeout` and
    /// `hello_interval`. ns-2's procedures never forget one.
    pub delete_period: Auto,
    /// The factor K in `delete_period`.
    pub delete_factor: u8,
    /// TTL of the first request of an expanding ring search; 0: 2 where HELLO messages are sent, else 1.
    pub ttl_start: u8,
    /// By how much the TTL grows from ring to ring.
    pub ttl_increment: u8,
    /// TTL up to which the rings of a search grow; after it the whole network is flooded. The first ring may be larger.
    pub ttl_threshold: u8,
    /// Hops by which the wait for a ring's replies is longer than its TTL asks for.
    pub timeout_buffer: u8,
    /// Floods of the whole network before a destination is given up.
    pub rreq_retries: u8,
    /// Longest wait for a reply to a flood, and how long a destination that was given up is not looked for again;
    /// "auto": neither is bounded.
    pub max_request_wait: Auto,
    /// Requests that a node may originate in a second; 0 for no limit.
    pub rreq_ratelimit: u16,
    /// Errors that a node may originate in a second; 0 for no limit.
    pub rerr_ratelimit: u16,
    /// Whether a node in the middle of a path tries to repair it. In profile `rfc` it tries when the destination is
    /// near enough, in `ns2` when the packet has come farther than it has still to go.
    pub local_repair: bool,
    /// Hops that a repair's request may go beyond the last known distance.
    pub local_add_ttl: u8,
    /// Largest distance of a destination for a repair, in hops; 0: three tenths of `net_diameter`.
    pub max_repair_ttl: u8,
    /// When ns-2's repair is given up: "literal" or "intended". No meaning under RFC 3561's procedures.
    pub repair_timer: RepairTimer,
    /// Whether requests ask for a gratuitous reply, so that the destination learns the way back (flag G).
    pub gratuitous_rrep: bool,
    /// Whether only requests for which a TCP segment waits ask for one.
    pub gratuitous_for_tcp: bool,
    /// Whether requests may be answered by the destination alone (flag D).
    pub destination_only: bool,
    /// Whether every reply asks for an RREP-ACK (flag A), to find links that work in one direction alone.
    pub request_rrep_ack: bool,
    /// How long requests from the far end of such a link are ignored; "auto": a network traversal for each attempt of a
    /// search, the rings included.
    pub blacklist_timeout: Auto,
    /// Time between a node's HELLO messages.
    pub hello_interval: Span,
    /// By how much each interval between HELLO messages may be longer or shorter, at random; at most half of it
    /// (RFC 5148 §5.4).
    pub hello_jitter: Span,
    /// HELLO messages that may stay away before a link counts as broken.
    pub allowed_hello_loss: u8,
    /// Silence after which a neighbour is lost; "auto": `allowed_hello_loss` of the longest intervals that two jitters
    /// (`hello_jitter`, `broadcast_jitter`) make of `hello_interval`, and 50 ms for queueing.
    pub neighbour_expiry: Auto,
    /// HELLO messages of a node, one after the other, before it counts as a neighbour; 0 and 1: the first is enough.
    pub hellos_to_accept: u8,
    /// Whether a request is ignored that came another way than the present route back to its originator, with no newer
    /// number.
    pub drop_mismatched_requests: bool,
    /// Largest random delay of a broadcast that another node's broadcast has caused, and of a request that is repeated.
    pub broadcast_jitter: Span,
    /// Delay between packets that leave the buffer together, to spare an address resolution that holds one packet.
    pub buffer_spacing: Span,
    /// Packets that a node can hold while it looks for routes.
    pub buffer_packets: u16,
    /// How long a packet is held.
    pub buffer_timeout: Span,
    /// Time between looks at which routes have expired; zero: at once. The effect is computed; no timer runs
    /// at idle nodes.
    pub purge_interval: Span,
    /// TTL given to packets originated here; 0: as transport set it.
    pub data_ttl: u8,
    /// Which nodes are gateways to the Internet: "auto" for every node with a radio and a wire, "off", or a list of
    /// nodes.
    pub gateways: Gateways,
    /// How packets go to a gateway: in a tunnel from the source ("half_tunnel"), or by the default route of each node
    /// ("default_route").
    pub to_gateway: ToGateway,
    /// The rule by which a source decides that a host is outside. "prefix": the source believes the gateway that
    /// answers first. "no_answer": the source waits until no node of the ad hoc network has answered to a whole search.
    pub locality: Locality,
    /// Bytes of the headers around each message.
    pub header: Bytes,
    /// Bytes of a route request.
    pub rreq_size: Bytes,
    /// Bytes of a route reply, and of a HELLO message.
    pub rrep_size: Bytes,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, UU];

    fn of_profile(profile: &str) -> Self {
        let rfc = Self {
            rules: Rules::Rfc3561,
            link_detection: LinkDetection::Both,
            active_route_timeout: Auto::Derived,
            my_route_timeout: Auto::Derived,
            reverse_route_life: Auto::Derived,
            path_discovery_time: Auto::Derived,
            net_diameter: 35,
            node_traversal_time: Span::from_millis(40),
            net_traversal_time: Auto::Derived,
            next_hop_wait: Auto::Derived,
            delete_period: Auto::Derived,
            delete_factor: 5,
            ttl_start: 0,
            ttl_increment: 2,
            ttl_threshold: 7,
            timeout_buffer: 2,
            rreq_retries: 2,
            max_request_wait: Auto::Derived,
            rreq_ratelimit: 10,
            rerr_ratelimit: 10,
            local_repair: false,
            local_add_ttl: 2,
            max_repair_ttl: 0,
            repair_timer: RepairTimer::Literal,
            gratuitous_rrep: true,
            gratuitous_for_tcp: false,
            destination_only: false,
            request_rrep_ack: false,
            blacklist_timeout: Auto::Derived,
            hello_interval: Span::from_secs(1),
            hello_jitter: Span::ZERO,
            allowed_hello_loss: 2,
            neighbour_expiry: Auto::Derived,
            hellos_to_accept: 1,
            drop_mismatched_requests: false,
            broadcast_jitter: Span::from_millis(10),
            buffer_spacing: Span::ZERO,
            buffer_packets: 64,
            buffer_timeout: Span::from_secs(30),
            purge_interval: Span::ZERO,
            data_ttl: 0,
            gateways: Gateways::Auto,
            to_gateway: ToGateway::HalfTunnel,
            locality: Locality::Prefix,
            header: Bytes::new((IP_HEADER + UDP_HEADER) as u64),
            rreq_size: Bytes::new(24),
            rrep_size: Bytes::new(20),
        };
        match profile {
            NS2 => {}
            UU => {
                return Self {
                    rules: Rules::Uu,
                    link_detection: LinkDetection::LinkLayer,
                    active_route_timeout: Auto::Fixed(Span::from_secs(10)),
                    my_route_timeout: Auto::Fixed(Span::from_secs(20)),
                    delete_period: Auto::Fixed(Span::from_secs(10)),
                    gratuitous_rrep: false,
                    gratuitous_for_tcp: true,
                    blacklist_timeout: Auto::Fixed(Span::from_millis(5606)),
                    hello_jitter: Span::from_millis(50),
                    neighbour_expiry: Auto::Fixed(Span::from_millis(2050)),
                    broadcast_jitter: Span::from_millis(20),
                    buffer_packets: 512,
                    buffer_timeout: Span::from_secs(10),
                    ..rfc
                };
            }
            _ => return rfc,
        }
        Self {
            rules: Rules::Ns2,
            link_detection: LinkDetection::LinkLayer,
            active_route_timeout: Auto::Fixed(Span::from_secs(10)),
            my_route_timeout: Auto::Fixed(Span::from_secs(10)),
            reverse_route_life: Auto::Fixed(Span::from_secs(6)),
            path_discovery_time: Auto::Fixed(Span::from_secs(6)),
            net_diameter: 30,
            node_traversal_time: Span::from_millis(30),
            ttl_start: 5,
            rreq_retries: 3,
            max_request_wait: Auto::Fixed(Span::from_secs(10)),
            rreq_ratelimit: 0,
            rerr_ratelimit: 0,
            local_repair: true,
            gratuitous_rrep: false,
            hello_jitter: Span::from_millis(250),
            allowed_hello_loss: 3,
            neighbour_expiry: Auto::Fixed(Span::from_millis(4500)),
            buffer_spacing: Span::from_millis(10),
            purge_interval: Span::from_millis(500),
            data_ttl: 30,
            gateways: Gateways::Off,
            header: Bytes::new(IP_HEADER as u64),
            rreq_size: Bytes::new(28),
            rrep_size: Bytes::new(24),
            ..rfc
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let positive = |parameter, value: u8| Fault::unless(parameter, value, |it| it > 0, "at least 1");
        positive("net_diameter", self.net_diameter)?;
        positive("ttl_increment", self.ttl_increment)?;
        positive("rreq_retries", self.rreq_retries)?;
        positive("allowed_hello_loss", self.allowed_hello_loss)?;
        let most = self.net_diameter;
        Fault::unless("ttl_start", self.ttl_start, |it| it <= most, format_args!("at most net_diameter, {most}"))?;
        for (parameter, value) in [
            ("active_route_timeout", self.active_route_timeout()),
            ("my_route_timeout", self.my_route_timeout()),
            ("net_traversal_time", self.net_traversal_time()),
            ("path_discovery_time", self.path_discovery_time()),
            ("max_request_wait", self.max_request_wait()),
            ("node_traversal_time", self.node_traversal_time),
            ("hello_interval", self.hello_interval),
            ("buffer_timeout", self.buffer_timeout),
        ] {
            Fault::unless(parameter, value, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        }
        // RFC 3561 §10: or a route could expire between two HELLO messages of a neighbour that is there.
        let silence = self.hello_interval * u64::from(self.allowed_hello_loss);
        if self.rules != Rules::Ns2 && self.link_detection.by_hello() && self.active_route_timeout() <= silence {
            return Err(Fault::new(
                "active_route_timeout",
                format!(
                    "expected more than allowed_hello_loss * hello_interval, {silence}, found {}",
                    self.active_route_timeout()
                ),
            ));
        }
        params::check_jitter("hello_jitter", self.hello_jitter, "hello_interval", self.hello_interval)?;
        if self.rules == Rules::Ns2 && self.purge_interval < Span::from_millis(1) {
            return Err(Fault::new("purge_interval", "expected at least 1 ms under the rules of ns-2"));
        }
        if self.rules == Rules::Ns2 && self.gateways != Gateways::Off {
            return Err(Fault::new("gateways", "expected \"off\" under the rules of ns-2, which know no gateways"));
        }
        Fault::unless("buffer_packets", self.buffer_packets, |it| it > 0, "at least 1")?;
        for (parameter, bytes) in
            [("header", self.header), ("rreq_size", self.rreq_size), ("rrep_size", self.rrep_size)]
        {
            Fault::unless(parameter, bytes, |it| it.count() <= 1000, "at most 1000 B")?;
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (
                !self.link_detection.by_hello(),
                "link_detection",
                &["hello_jitter", "allowed_hello_loss", "neighbour_expiry", "hellos_to_accept"],
            ),
            (!self.link_detection.by_hello() && !self.hello_lengthens_memory(), "link_detection", &["hello_interval"]),
            (!self.local_repair, "local_repair", &["local_add_ttl", "max_repair_ttl", "repair_timer"]),
            (self.rules != Rules::Ns2, "rules", &["repair_timer", "purge_interval"]),
            (
                self.rules == Rules::Ns2,
                "rules",
                &[
                    "delete_period",
                    "delete_factor",
                    "hellos_to_accept",
                    "rreq_ratelimit",
                    "rerr_ratelimit",
                    "drop_mismatched_requests",
                    "gratuitous_rrep",
                    "gratuitous_for_tcp",
                    "destination_only",
                    "request_rrep_ack",
                    "next_hop_wait",
                    "blacklist_timeout",
                    "local_add_ttl",
                    "max_repair_ttl",
                ],
            ),
            (!self.gratuitous_rrep, "gratuitous_rrep", &["gratuitous_for_tcp"]),
            (!self.request_rrep_ack, "request_rrep_ack", &["next_hop_wait"]),
            (self.gateways == Gateways::Off, "gateways", &["to_gateway", "locality"]),
        ])
    }

    const FOR_WIRES: &'static [&'static str] = &["to_gateway", "locality"];
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["RREQ", "RREP", "RREP-I", "RERR", "RREP-ACK", "HELLO"];
    const REPORTS_BREAKS: bool = true;
    const NUMBERED_BY_NS2: bool = false;

    fn reaches_wires(&self) -> bool {
        self.gateways != Gateways::Off
    }

    fn needs_link_failures(&self) -> Option<(&'static str, &'static str)> {
        (!self.link_detection.by_hello()).then_some(("link_detection", "\"hello\" or \"both\""))
    }

    fn search_hops(&self) -> Option<MostHops> {
        let hops = self.net_diameter.into();
        Some(MostHops { hops, parameter: "net_diameter", value: hops })
    }

    fn tunnels_to_gateways(&self) -> bool {
        self.reaches_wires() && self.to_gateway == ToGateway::HalfTunnel
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        let mut doubts = Vec::new();
        let mut shorter = |parameter, value: Span, least: Span, why: &str| {
            if value < least {
                doubts.push((parameter, format!("{value} is less than {least}: {why}")));
            }
        };
        let ring = self.ring_traversal_time(self.ttl_start());
        let why = "a route may expire before the reply that brings it has crossed the first ring";
        shorter("my_route_timeout", self.my_route_timeout(), ring, why);
        let why = "a route may expire before the first packet that waited for it has crossed the first ring";
        shorter("active_route_timeout", self.active_route_timeout(), ring, why);
        let why = "a request may be forwarded again while it is still on its way (PATH_DISCOVERY_TIME, RFC 3561 §10)";
        shorter("path_discovery_time", self.path_discovery_time(), self.net_traversal_time(), why);
        if self.rules != Rules::Ns2 {
            let why = "a node may forget a sequence number while another one still uses the old route, and routes may \
                       loop (DELETE_PERIOD, RFC 3561 §10)";
            shorter("delete_period", self.delete_period(), self.active_route_timeout(), why);
        }
        if self.link_detection.by_hello() {
            let why = "a neighbour is lost before its next HELLO message can come";
            let longest = self.hello_interval + self.hello_jitter + self.broadcast_jitter;
            shorter("neighbour_expiry", self.neighbour_expiry(), longest, why);
        }
        doubts
    }

    fn named_nodes(&self) -> Vec<(String, u32)> {
        self.gateway_nodes()
    }

    fn gateway_nodes(&self) -> Vec<(String, u32)> {
        match &self.gateways {
            Gateways::Auto | Gateways::Off => Vec::new(),
            Gateways::Nodes(nodes) => {
                nodes.iter().enumerate().map(|(place, &node)| (format!("gateways.{place}"), node)).collect()
            }
        }
    }

    /// RFC 3561 §1; ns-2's procedures have loops.
    fn promises_no_loops(&self) -> bool {
        self.rules == Rules::Rfc3561
    }
}

impl Params {
    /// The bytes of a packet with this message, with its headers.
    #[must_use]
    pub fn packet_size(&self, message: &AodvMessage) -> u32 {
        let body = match message {
            AodvMessage::Request(_) => self.rreq_size.count() as u32,
            AodvMessage::Reply(Reply { internet: Some(_), .. }) => self.rrep_size.count() as u32 + INTERNET_DESTINATION,
            AodvMessage::Reply(_) | AodvMessage::Hello { .. } => self.rrep_size.count() as u32,
            AodvMessage::Error(error) => error.bytes(),
            AodvMessage::ReplyAck => 2,
        };
        self.header.count() as u32 + body
    }

    /// ACTIVE_ROUTE_TIMEOUT. RFC 3561 §10 asks for more where the link layer tells of broken links at once: a longer
    /// life then keeps no dead routes.
    #[must_use]
    pub fn active_route_timeout(&self) -> Span {
        self.active_route_timeout.or(Span::from_secs(if self.link_detection.by_link_layer() { 10 } else { 3 }))
    }

    /// MY_ROUTE_TIMEOUT, which RFC 3561 §10 wants to be at least twice PATH_DISCOVERY_TIME.
    #[must_use]
    pub fn my_route_timeout(&self) -> Span {
        self.my_route_timeout.or(self.active_route_timeout().max(self.path_discovery_time()) * 2)
    }

    /// TTL_START.
    #[must_use]
    pub fn ttl_start(&self) -> u8 {
        self.link_detection.ttl_start(self.ttl_start)
    }

    /// NET_TRAVERSAL_TIME.
    #[must_use]
    pub fn net_traversal_time(&self) -> Span {
        self.net_traversal_time.or(self.node_traversal_time * (2 * u64::from(self.net_diameter)))
    }

    /// PATH_DISCOVERY_TIME.
    #[must_use]
    pub fn path_discovery_time(&self) -> Span {
        self.path_discovery_time.or(self.net_traversal_time() * 2)
    }

    /// NEXT_HOP_WAIT.
    #[must_use]
    pub fn next_hop_wait(&self) -> Span {
        self.next_hop_wait.or(self.node_traversal_time + Span::from_millis(10))
    }

    /// Whether DELETE_PERIOD follows from the interval of HELLO messages.
    fn hello_lengthens_memory(&self) -> bool {
        let derived = self.rules != Rules::Ns2 && self.delete_period == Auto::Derived;
        derived && self.hello_interval > self.active_route_timeout()
    }

    /// DELETE_PERIOD.
    #[must_use]
    pub fn delete_period(&self) -> Span {
        let longer = self.active_route_timeout().max(self.hello_interval);
        self.delete_period.or(longer * u64::from(self.delete_factor))
    }

    /// BLACKLIST_TIMEOUT: as long as all attempts of a search may take (RFC 3561 §10).
    #[must_use]
    pub fn blacklist_timeout(&self) -> Span {
        let rings = match self.ttl_threshold.checked_sub(self.ttl_start()) {
            Some(more) => u64::from(more / self.ttl_increment) + 1,
            None => 0,
        };
        self.blacklist_timeout.or(self.net_traversal_time() * (rings + u64::from(self.rreq_retries)))
    }

    /// The silence after which a neighbour is lost (RFC 3561 §6.9: more than ALLOWED_HELLO_LOSS * HELLO_INTERVAL). Both
    /// jitters lengthen the interval between two HELLO messages, and the last one may have waited for the medium.
    #[must_use]
    pub fn neighbour_expiry(&self) -> Span {
        let interval = self.hello_interval + self.hello_jitter + self.broadcast_jitter;
        self.neighbour_expiry.or(interval * u64::from(self.allowed_hello_loss) + HELLO_QUEUEING)
    }

    /// MAX_REPAIR_TTL.
    #[must_use]
    pub const fn max_repair_ttl(&self) -> u8 {
        match self.max_repair_ttl {
            0 => (self.net_diameter as u16 * 3 / 10) as u8,
            hops => hops,
        }
    }

    /// RING_TRAVERSAL_TIME of a TTL.
    #[must_use]
    pub fn ring_traversal_time(&self, ttl: u8) -> Span {
        self.node_traversal_time * (2 * (u64::from(ttl) + u64::from(self.timeout_buffer)))
    }

    /// Least lifetime of a reverse route of `hops` hops (RFC 3561 §6.5: MinimalLifetime).
    #[must_use]
    pub fn reverse_route_life(&self, hops: u8) -> Span {
        let used = self.node_traversal_time * (2 * u64::from(hops));
        self.reverse_route_life.or((self.net_traversal_time() * 2).saturating_sub(used))
    }

    /// The lifetime that a gateway gives to the route to itself: ACTIVE_ROUTE_TIMEOUT, as AODV-UU has it. Where the
    /// originator waits for the end of its search, the route must be there yet after the last flood.
    #[must_use]
    pub fn gateway_lifetime(&self) -> Span {
        let last_wait = match (self.locality, self.rules) {
            (Locality::Prefix, _) => Span::ZERO,
            (Locality::NoAnswer, Rules::Uu) => self.ring_traversal_time(self.net_diameter),
            (Locality::NoAnswer, _) => self.net_traversal_time() * (1 << (self.rreq_retries - 1).min(10)),
        };
        self.active_route_timeout() + last_wait.min(self.max_request_wait())
    }

    /// The longest wait for a reply.
    #[must_use]
    pub fn max_request_wait(&self) -> Span {
        self.max_request_wait.or(Span::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    fn by(link_detection: LinkDetection) -> Params {
        Params { link_detection, ..Params::of_profile(RFC) }
    }

    #[test]
    fn derived_values_of_the_rfc_are_those_of_its_section_10() {
        let rfc = Params::of_profile(RFC);
        assert_eq!(rfc.net_traversal_time(), Span::from_millis(2800));
        assert_eq!(rfc.path_discovery_time(), Span::from_millis(5600));
        assert_eq!(rfc.next_hop_wait(), Span::from_millis(50));
        assert_eq!(rfc.neighbour_expiry(), Span::from_millis(2 * (1000 + 10) + 50));
        assert_eq!(rfc.max_repair_ttl(), 10);
        assert_eq!(rfc.ring_traversal_time(1), Span::from_millis(240));
        assert_eq!(rfc.reverse_route_life(5), Span::from_millis(5200));
    }

    #[test]
    fn what_section_10_says_of_link_detection_is_followed() {
        // ACTIVE_ROUTE_TIMEOUT, MY_ROUTE_TIMEOUT, DELETE_PERIOD and BLACKLIST_TIMEOUT in milliseconds; TTL_START.
        for (link_detection, active, mine, delete, blacklist, ttl_start) in [
            (LinkDetection::LinkLayer, 10_000, 20_000, 50_000, 6 * 2800, 1),
            (LinkDetection::Both, 10_000, 20_000, 50_000, 5 * 2800, 2),
            (LinkDetection::Hello, 3_000, 11_200, 15_000, 5 * 2800, 2),
        ] {
            let it = by(link_detection);
            let times = [it.active_route_timeout(), it.my_route_timeout(), it.delete_period(), it.blacklist_timeout()];
            assert_eq!(times, [active, mine, delete, blacklist].map(Span::from_millis), "{link_detection:?}");
            assert_eq!(it.ttl_start(), ttl_start, "{link_detection:?}");
        }
        let short = Params { active_route_timeout: Auto::Fixed(Span::from_secs(2)), ..by(LinkDetection::Hello) };
        let fault = short.check().expect_err("two lost HELLO messages take as long").to_string();
        assert!(fault.contains("active_route_timeout") && fault.contains("2 s"), "{fault}");
    }

    #[test]
    fn derived_values_follow_their_parts_unless_fixed() {
        let wide = Params { net_diameter: 70, ..Params::of_profile(RFC) };
        assert_eq!(wide.net_traversal_time(), Span::from_millis(5600));
        assert_eq!(wide.blacklist_timeout(), Span::from_millis(5 * 5600));
        let floods = Params { ttl_start: 9, ..wide };
        assert_eq!(floods.blacklist_timeout(), Span::from_millis(2 * 5600), "no rings, no time for them");
        let slow = Params { hello_interval: Span::from_secs(4), ..by(LinkDetection::Hello) };
        assert_eq!(slow.delete_period(), Span::from_secs(20));
        let ns2 = Params::of_profile(NS2);
        assert_eq!(ns2.my_route_timeout(), Span::from_secs(10));
        assert_eq!(ns2.active_route_timeout(), Span::from_secs(10));
        assert_eq!(ns2.ttl_start(), 5);
        assert_eq!(ns2.reverse_route_life(9), Span::from_secs(6));
        assert_eq!(ns2.neighbour_expiry(), Span::from_millis(4500));
    }

    #[test]
    fn a_time_can_be_auto_and_nonsense_is_refused() {
        let mut value = serde_json::to_value(Params::of_profile(RFC)).expect("an object");
        assert_eq!(value["delete_period"], "auto");
        value["delete_period"] = "4 s".into();
        let read: Params = params::read(&value).expect("parameters");
        assert_eq!(read.delete_period(), Span::from_secs(4));
        value["delete_period"] = "soon".into();
        let error = params::read::<Params>(&value).expect_err("a fault").to_string();
        assert!(error.contains("auto") && error.contains("soon"), "{error}");
        value["delete_period"] = "auto".into();
        value["rreq_retries"] = 0.into();
        assert!(params::read::<Params>(&value).expect_err("a fault").to_string().starts_with("rreq_retries"));
    }

    #[test]
    fn jitter_takes_half_of_an_interval_at_most() {
        for profile in [RFC, NS2, UU] {
            let with = |millis| Params { hello_jitter: Span::from_millis(millis), ..Params::of_profile(profile) };
            assert_eq!(with(500).check(), Ok(()), "{profile}");
            let fault = with(501).check().expect_err("more than half");
            assert_eq!(fault.parameter, "hello_jitter");
            assert!(fault.problem.contains("`hello_interval`, which is 1 s") && fault.problem.contains("501 ms"));
        }
    }
}
