//! DSR's parameters.

use hopyard_engine::Span;
use hopyard_wire::dsr;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::Prefix;
use crate::packet::DsrOption;
use crate::packet::MOST_ADDRESSES;
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};
use crate::routing::{MostHops, RoutingFacts};

/// Whose procedures are followed where they differ in more than a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// RFC 4728.
    Rfc4728,
    /// ns-2.35, to the letter.
    Ns2,
}

/// How routes are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CacheKind {
    /// As whole paths (RFC 4728 §4.1: path cache).
    Path,
    /// As links, from which paths are computed (§4.1: link cache).
    Link,
}

/// How long a link cache keeps a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LinkLifetime {
    /// For `route_cache_timeout` after it was last learned.
    Fixed,
    /// As long as the stability of its ends says (RFC 4728 §4.1: Link-MaxLife).
    Stability,
}

/// What tells that the next hop has received a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Acknowledgement {
    /// The acknowledgement of the MAC (RFC 4728 §8.3.1).
    LinkLayer,
    /// That the next hop is heard to pass the packet on (§8.3.2); if it is not, or where it has not to, it is asked.
    Passive,
    /// An Acknowledgement option, which is asked for (§8.3.3).
    Network,
}

/// Parameters of DSR. Names and defaults of profile `rfc` are those of RFC 4728 §9.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whose procedures are followed where they differ in more than a constant: "rfc4728" or "ns2".
    pub rules: Rules,
    /// How routes are kept: "path" or "link".
    pub cache: CacheKind,
    /// How long a link cache keeps a link: "fixed" (`route_cache_timeout`) or "stability" (Link-MaxLife).
    pub link_lifetime: LinkLifetime,
    /// How long a route or a link stays in the cache after it was last learned or used; zero: until an error removes
    /// it.
    pub route_cache_timeout: Span,
    /// Paths in the part of a path cache that has the routes that the node asked for or uses.
    pub primary_paths: u16,
    /// Paths in the part of a path cache that has the routes that the node came to know otherwise.
    pub secondary_paths: u16,
    /// Most hops of a route.
    pub route_hops: u8,
    /// The hop limit of a request that propagates.
    pub discovery_hop_limit: u8,
    /// Largest random delay of a request that propagates, at each node, and of the target's reply.
    pub broadcast_jitter: Span,
    /// Packets that a node can hold while it looks for routes.
    pub send_buffer_packets: u16,
    /// How long a packet is held.
    pub send_buffer_timeout: Span,
    /// Whether a search begins with a request to the neighbours alone.
    pub nonpropagating: bool,
    /// The wait for a reply to such a request.
    pub nonprop_request_timeout: Span,
    /// The wait after the first request that propagates; it grows with each further one.
    pub request_period: Span,
    /// The longest such wait.
    pub max_request_period: Span,
    /// Requests that propagate, before the destination is given up. Under ns-2's rules a search never ends.
    pub max_request_rexmt: u8,
    /// Initiators whose requests are remembered, and destinations that were looked for without a reply. Not under
    /// ns-2's rules.
    pub request_table_size: u16,
    /// Requests of each initiator that are remembered. Not under ns-2's rules.
    pub request_table_ids: u16,
    /// How long the number of a request is remembered under ns-2's rules.
    pub request_memory: Span,
    /// Whether a node answers requests for others from its cache.
    pub reply_from_cache: bool,
    /// H in the delay of such a reply, H * (h - 1 + r). Here h is the length of the route, and r is random between 0
    /// and 1. Zero: no delay.
    pub reply_holdoff: Span,
    /// Whether the node listens to frames for others: it learns routes and errors, and shortens routes.
    pub promiscuous: bool,
    /// Whether a node that overhears a packet which will reach it only later tells the source.
    pub gratuitous_replies: bool,
    /// The shortest time between two such replies about the same route.
    pub grat_reply_holdoff: Span,
    /// How often a packet may be salvaged.
    pub max_salvage_count: u8,
    /// Whether the last error is told with the next request.
    pub spread_errors: bool,
    /// What tells that the next hop has received a packet: "link_layer", "passive" or "network".
    pub acknowledgement: Acknowledgement,
    /// How long a packet waits to be heard from the next hop.
    pub passive_ack_timeout: Span,
    /// How often the packet is sent again while it waits to be heard.
    pub try_passive_acks: u8,
    /// How long an Acknowledgement option is waited for.
    pub ack_timeout: Span,
    /// How often a packet that asks for an acknowledgement is sent again.
    pub max_maint_rexmt: u8,
    /// How long a next hop that has acknowledged a packet is not asked again.
    pub maint_holdoff: Span,
    /// Packets that may wait for an acknowledgement; those beyond are sent, but not watched.
    pub maint_buffer_packets: u16,
    /// How long a neighbour that did not get a packet is on the blacklist: its requests are ignored. Zero: no
    /// blacklist.
    pub blacklist_timeout: Span,
    /// Delay between packets that leave the buffer together, to spare an address resolution that holds one packet.
    pub buffer_spacing: Span,
    /// Whether the data of a flow go without source routes once all hops know the flow (RFC 4728 §7). Under ns-2's
    /// rules only.
    pub flow_state: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let rfc = Self {
            rules: Rules::Rfc4728,
            cache: CacheKind::Path,
            link_lifetime: LinkLifetime::Fixed,
            route_cache_timeout: Span::from_secs(300),
            primary_paths: 30,
            secondary_paths: 64,
            route_hops: 16,
            discovery_hop_limit: 255,
            broadcast_jitter: Span::from_millis(10),
            send_buffer_packets: 64,
            send_buffer_timeout: Span::from_secs(30),
            nonpropagating: true,
            nonprop_request_timeout: Span::from_millis(30),
            request_period: Span::from_millis(500),
            max_request_period: Span::from_secs(10),
            max_request_rexmt: 16,
            request_table_size: 64,
            request_table_ids: 16,
            request_memory: Span::from_secs(60),
            reply_from_cache: true,
            reply_holdoff: Span::from_millis(3),
            promiscuous: true,
            gratuitous_replies: true,
            grat_reply_holdoff: Span::from_secs(1),
            max_salvage_count: 15,
            spread_errors: true,
            acknowledgement: Acknowledgement::LinkLayer,
            passive_ack_timeout: Span::from_millis(100),
            try_passive_acks: 1,
            ack_timeout: Span::from_millis(500),
            max_maint_rexmt: 2,
            maint_holdoff: Span::from_millis(250),
            maint_buffer_packets: 50,
            blacklist_timeout: Span::from_secs(30),
            buffer_spacing: Span::ZERO,
            flow_state: false,
        };
        if profile != NS2 {
            return rfc;
        }
        Self {
            rules: Rules::Ns2,
            route_cache_timeout: Span::ZERO,
            discovery_hop_limit: 16,
            reply_holdoff: Span::ZERO,
            blacklist_timeout: Span::ZERO,
            buffer_spacing: Span::from_millis(30),
            flow_state: true,
            ..rfc
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value) in [
            ("primary_paths", self.primary_paths),
            ("secondary_paths", self.secondary_paths),
            ("send_buffer_packets", self.send_buffer_packets),
            ("max_request_rexmt", self.max_request_rexmt.into()),
            ("discovery_hop_limit", self.discovery_hop_limit.into()),
            ("maint_buffer_packets", self.maint_buffer_packets),
            ("request_table_size", self.request_table_size),
            ("request_table_ids", self.request_table_ids),
        ] {
            Fault::unless(parameter, value, |it| it > 0, "at least 1")?;
        }
        if !(1..=MOST_ADDRESSES).contains(&self.route_hops.into()) {
            let problem = format!("expected 1 to {MOST_ADDRESSES}, found {}", self.route_hops);
            return Err(Fault::new("route_hops", problem));
        }
        if self.max_salvage_count > 15 {
            let problem = format!("expected at most 15, which its field can hold, found {}", self.max_salvage_count);
            return Err(Fault::new("max_salvage_count", problem));
        }
        for (parameter, value) in [
            ("send_buffer_timeout", self.send_buffer_timeout),
            ("nonprop_request_timeout", self.nonprop_request_timeout),
            ("request_period", self.request_period),
            ("request_memory", self.request_memory),
            ("passive_ack_timeout", self.passive_ack_timeout),
            ("ack_timeout", self.ack_timeout),
        ] {
            Fault::unless(parameter, value, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        }
        if self.max_request_period < self.request_period {
            let problem =
                format!("expected at least request_period, {}, found {}", self.request_period, self.max_request_period);
            return Err(Fault::new("max_request_period", problem));
        }
        if self.rules == Rules::Ns2 && self.acknowledgement != Acknowledgement::LinkLayer {
            return Err(Fault::new("acknowledgement", "expected \"link_layer\" under the rules of ns-2"));
        }
        if self.acknowledgement == Acknowledgement::Passive && !self.promiscuous {
            return Err(Fault::new("acknowledgement", "\"passive\" needs promiscuous = true"));
        }
        if self.flow_state && self.rules != Rules::Ns2 {
            return Err(Fault::new("flow_state", "expected false but under the rules of ns-2"));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (self.cache == CacheKind::Path, "cache", &["link_lifetime"]),
            (self.cache == CacheKind::Link, "cache", &["primary_paths", "secondary_paths"]),
            (!self.nonpropagating, "nonpropagating", &["nonprop_request_timeout"]),
            (!self.reply_from_cache, "reply_from_cache", &["reply_holdoff"]),
            (!self.gratuitous_replies, "gratuitous_replies", &["grat_reply_holdoff"]),
            (self.rules == Rules::Ns2, "rules", &["max_request_rexmt", "request_table_size", "request_table_ids"]),
            (self.rules != Rules::Ns2, "rules", &["request_memory"]),
            (
                self.acknowledgement != Acknowledgement::Passive,
                "acknowledgement",
                &["passive_ack_timeout", "try_passive_acks"],
            ),
            (
                self.acknowledgement == Acknowledgement::LinkLayer,
                "acknowledgement",
                &["ack_timeout", "max_maint_rexmt", "maint_holdoff", "maint_buffer_packets"],
            ),
        ])
    }
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &DsrOption::KINDS;
    const REPORTS_BREAKS: bool = true;

    // Several interfaces (§8.4) are left out.
    const USES_ALL_RADIOS: bool = false;

    fn reaches_wires(&self) -> bool {
        self.rules == Rules::Rfc4728
    }

    /// An address of the ad hoc network is nobody's behind a gateway.
    fn announced(&self, wired: &[Prefix], ad_hoc: &[Prefix]) -> Vec<Prefix> {
        let outside = wired.iter().copied().filter(|it| !ad_hoc.iter().any(|own| own.overlaps(*it)));
        if self.reaches_wires() { outside.collect() } else { Vec::new() }
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        let (timeout, least) = (self.route_cache_timeout, self.nonprop_request_timeout);
        if timeout.is_zero() || timeout >= least {
            return Vec::new();
        }
        let why = "a route may expire before the packet that waited for it has reached its first hop";
        vec![("route_cache_timeout", format!("{timeout} is less than {least}: {why}"))]
    }

    fn most_hops(&self) -> Option<MostHops> {
        let hops = self.route_hops.into();
        Some(MostHops { hops, parameter: "route_hops", value: hops })
    }

    /// A source route, and the request for an acknowledgement.
    fn added_bytes(&self, hops: u32) -> u32 {
        let request = if self.acknowledgement == Acknowledgement::Network { 4 } else { 0 };
        // RFC 4728 §6.7: the option has four bytes before its addresses, which are one less than the hops.
        dsr::FIXED + 4 * hops + request
    }

    /// Where a search begins with the neighbours alone, this is how far it goes then.
    fn search_hops(&self) -> Option<MostHops> {
        let hops = self.discovery_hop_limit.into();
        Some(MostHops { hops, parameter: "discovery_hop_limit", value: hops })
    }

    fn needs_link_failures(&self) -> Option<(&'static str, &'static str)> {
        (self.acknowledgement == Acknowledgement::LinkLayer)
            .then_some(("acknowledgement", "\"network\" or \"passive\""))
    }

    fn waits_for_next_hop(&self) -> Option<(&'static str, Span)> {
        match self.acknowledgement {
            Acknowledgement::LinkLayer => None,
            Acknowledgement::Passive => Some(("passive_ack_timeout", self.passive_ack_timeout)),
            Acknowledgement::Network => Some(("ack_timeout", self.ack_timeout)),
        }
    }

    fn needs_queue_by_class(&self) -> Option<&'static str> {
        (self.rules == Rules::Ns2)
            .then_some("ns-2's DSR runs on a queue that serves TCP's acknowledgements before data")
    }

    fn overhears(&self) -> bool {
        self.promiscuous
    }
}
