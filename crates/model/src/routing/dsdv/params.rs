//! DSDV's parameters.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::Update;
use crate::address::Prefix;
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault, NS2, RFC};
use crate::routing::{MostHops, RoutingFacts};

/// Whose procedures are followed where they differ in more than a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rules {
    /// The paper of Perkins and Bhagwat.
    Perkins1994,
    /// ns-2.35, to the letter.
    Ns2,
}

/// What a gateway tells of the networks behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Gateways {
    /// Nothing.
    Off,
    /// The prefix of each network that its wires lead to.
    Networks,
    /// A default route.
    Default,
}

/// Parameters of DSDV.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whose procedures are followed where they differ in more than a constant: "perkins1994" or "ns2".
    pub rules: Rules,
    /// Longest time between a node's full updates.
    pub update_interval: Span,
    /// Part of the interval that is left to chance, at most 0.5: intervals are uniform between (1 - this) and 1 times
    /// the longest.
    pub update_jitter: f64,
    /// The first update comes at random within this time.
    pub startup_jitter: Span,
    /// Largest random delay of each update.
    pub broadcast_jitter: Span,
    /// Least time between an update and a triggered one.
    pub min_triggered_interval: Span,
    /// Settling time of a destination that was not known before.
    pub initial_settling_time: Span,
    /// Weight of the past in the mean of settling times (alpha).
    pub settling_weight: f64,
    /// A route that may still improve is advertised after this number of settling times.
    pub settling_factor: f64,
    /// Updates of a neighbour that may stay away before the link to it counts as broken.
    pub missed_updates: u8,
    /// Whether a failure of the link layer makes a link broken.
    pub link_layer_detection: bool,
    /// The entries by which a node with radios and wires tells of the networks behind it: "off", "networks" (each
    /// prefix is a further entry of its updates) or "default" (one entry). ns-2 and the paper have no gateways.
    pub gateways: Gateways,
    /// The metric that means "unreachable".
    pub infinity: u8,
    /// A triggered update becomes a full update when more than one in this number of entries has changed, and more than
    /// `full_update_least` entries have changed.
    pub full_update_share: u8,
    /// See `full_update_share`.
    pub full_update_least: u8,
    /// Packets that wait for each destination.
    pub buffer_packets: u16,
    /// How long a packet waits; zero: as long as it takes.
    pub buffer_timeout: Span,
    /// TTL given to packets originated here; 0: as transport set it.
    pub data_ttl: u8,
    /// TTL of updates, which go one hop all the same.
    pub update_ttl: u8,
    /// Bytes of the headers around each update.
    pub header: Bytes,
    /// Bytes of each entry in an update: address, metric, sequence number.
    pub entry_size: Bytes,
    /// Bytes added to each TCP segment of this node, and to each message of its agents, whenever the packet is routed.
    /// ns-2's DSDV counts the IP header once more, also for a packet that comes out of the buffer.
    pub repeated_header: Bytes,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let paper = Self {
            rules: Rules::Perkins1994,
            update_interval: Span::from_secs(15),
            update_jitter: 0.25,
            startup_jitter: Span::from_secs(2),
            broadcast_jitter: Span::from_millis(10),
            min_triggered_interval: Span::from_secs(1),
            initial_settling_time: Span::from_secs(6),
            settling_weight: 0.875,
            settling_factor: 2.0,
            missed_updates: 3,
            link_layer_detection: true,
            gateways: Gateways::Networks,
            infinity: 250,
            full_update_share: 3,
            full_update_least: 3,
            buffer_packets: 5,
            buffer_timeout: Span::from_secs(30),
            data_ttl: 0,
            update_ttl: 1,
            header: Bytes::new((IP_HEADER + UDP_HEADER) as u64),
            entry_size: Bytes::new(12),
            repeated_header: Bytes::new(0),
        };
        if profile != NS2 {
            return paper;
        }
        Self {
            rules: Rules::Ns2,
            link_layer_detection: false,
            buffer_timeout: Span::ZERO,
            data_ttl: 32,
            update_ttl: 32,
            header: Bytes::new(IP_HEADER as u64),
            repeated_header: Bytes::new(IP_HEADER as u64),
            ..paper
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (parameter, value) in
            [("update_interval", self.update_interval), ("min_triggered_interval", self.min_triggered_interval)]
        {
            Fault::unless(parameter, value, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        }
        // RFC 5148 §5.4: a longer random part makes many times the updates that were asked for.
        Fault::unless("update_jitter", self.update_jitter, |it| (0.0..=0.5).contains(&it), "0 to 0.5")?;
        if !(0.0..1.0).contains(&self.settling_weight) {
            let problem = format!("expected at least 0 and less than 1, found {}", self.settling_weight);
            return Err(Fault::new("settling_weight", problem));
        }
        Fault::unless("settling_factor", self.settling_factor, |it| (0.0..=1000.0).contains(&it), "0 to 1000")?;
        Fault::unless("missed_updates", self.missed_updates, |it| it > 0, "at least 1")?;
        // The metric of a neighbour is 1. With 2 for infinity, nothing beyond the neighbours could be reached.
        Fault::unless("infinity", self.infinity, |it| it >= 3, "at least 3, so that a route can have two hops")?;
        Fault::unless("full_update_share", self.full_update_share, |it| it > 0, "at least 1")?;
        // Updates would overtake each other, and an older one would be taken for the newest.
        let shortest = self.update_interval.mul_f64(1.0 - self.update_jitter);
        if self.broadcast_jitter >= shortest {
            let problem =
                format!("expected less than the shortest interval, {shortest}, found {}", self.broadcast_jitter);
            return Err(Fault::new("broadcast_jitter", problem));
        }
        if self.broadcast_jitter >= self.min_triggered_interval {
            let (least, found) = (self.min_triggered_interval, self.broadcast_jitter);
            let problem = format!("expected less than min_triggered_interval, {least}, found {found}");
            return Err(Fault::new("broadcast_jitter", problem));
        }
        let bytes =
            [("header", self.header), ("entry_size", self.entry_size), ("repeated_header", self.repeated_header)];
        for (parameter, bytes) in bytes {
            Fault::unless(parameter, bytes, |it| it.count() <= 1000, "at most 1000 B")?;
        }
        Ok(())
    }
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["full_dump", "incremental"];
    const REPORTS_BREAKS: bool = true;

    fn keeps_routes(&self) -> bool {
        true
    }

    fn reaches_wires(&self) -> bool {
        self.gateways != Gateways::Off
    }

    fn announced(&self, wired: &[Prefix], _ad_hoc: &[Prefix]) -> Vec<Prefix> {
        match self.gateways {
            Gateways::Off => Vec::new(),
            Gateways::Networks => wired.to_vec(),
            Gateways::Default => wired.iter().take(1).map(|_| Prefix::DEFAULT).collect(),
        }
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        let mut doubts = Vec::new();
        let (kept, longest) = (self.neighbour_hold(), self.update_interval + self.broadcast_jitter);
        if kept < longest {
            let why = "the link to a neighbour may count as broken before its next update can come";
            doubts.push(("missed_updates", format!("{kept} without an update is less than {longest}: {why}")));
        }
        doubts
    }

    /// The last metric below infinity.
    fn most_hops(&self) -> Option<MostHops> {
        let value = self.infinity.into();
        Some(MostHops { hops: value - 1, parameter: "infinity", value })
    }

    /// Perkins and Bhagwat 1994, §4 and the appendix.
    fn promises_no_loops(&self) -> bool {
        self.rules == Rules::Perkins1994
    }
}

impl Params {
    /// How long a neighbour may be silent before the link to it counts as broken.
    #[must_use]
    pub fn neighbour_hold(&self) -> Span {
        self.update_interval * u64::from(self.missed_updates)
    }

    /// The bytes of a packet with this update, with its headers.
    #[must_use]
    pub fn packet_size(&self, update: &Update) -> u32 {
        self.header.count() as u32 + self.entry_size.count() as u32 * update.entries() as u32
    }
}
