//! OLSR's parameters and the values derived from them.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::Prefix;
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};
use crate::routing::RoutingFacts;
use crate::routing::common::Auto;

/// What makes a path short.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Metric {
    /// Few hops (RFC 3626 §10).
    Hops,
    /// Few expected transmissions (De Couto et al., MobiCom 2003), with the message types 201 and 202 of olsrd.
    Etx,
}

/// Which changes of the MPR selectors bring the next TC forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EarlyTc {
    /// None.
    Off,
    /// The loss of a selector (RFC 3626 §9.3).
    Lost,
    /// Every change.
    Any,
}

/// Which networks a gateway announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Announced {
    /// None: no HNA messages.
    Off,
    /// Those to which its wires lead.
    Wired,
    /// Those in `hna_networks`.
    Listed,
    /// Both.
    Both,
}

/// Parameters of OLSR. Names and defaults of profile `rfc` are those of RFC 3626 §18.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time between the HELLO messages of a node. Every HELLO lists all links, so that this is REFRESH_INTERVAL too.
    pub hello_interval: Span,
    /// Time between the TC messages of a node that has MPR selectors.
    pub tc_interval: Span,
    /// Time between the MID messages of a node with several radios.
    pub mid_interval: Span,
    /// Time between the HNA messages of a gateway.
    pub hna_interval: Span,
    /// How long a HELLO is valid (NEIGHB_HOLD_TIME); "auto": three times `hello_interval`.
    pub neighbour_hold: Auto,
    /// How long a TC is valid (TOP_HOLD_TIME); "auto": three times `tc_interval`.
    pub topology_hold: Auto,
    /// How long a MID is valid; "auto": three times `mid_interval`.
    pub mid_hold: Auto,
    /// How long an HNA is valid; "auto": three times `hna_interval`.
    pub hna_hold: Auto,
    /// How long a message is remembered (DUP_HOLD_TIME).
    pub duplicate_hold: Span,
    /// Longest random delay of a forwarded message, and the longest time by which an interval is shortened (MAXJITTER).
    /// "auto": a quarter of the shortest interval. It may be at most half of this interval (RFC 5148 §5.4).
    pub max_jitter: Auto,
    /// Whether a node's own messages are delayed at random too, so that they share packets with forwarded ones;
    /// otherwise they leave at once, and take along what waits.
    pub delay_own: bool,
    /// Willingness to relay for others: 0 never, 1 low, 3 by default, 6 high, 7 always.
    pub willingness: u8,
    /// How many MPRs shall cover each 2-hop neighbour (MPR_COVERAGE).
    pub mpr_coverage: u8,
    /// What a TC lists (TC_REDUNDANCY): 0 the MPR selectors, 1 the MPRs too, 2 all symmetric neighbours.
    pub tc_redundancy: u8,
    /// Which changes of the MPR selectors bring the next TC forward: "off", "lost" or "any".
    pub early_tc: EarlyTc,
    /// Whether a link is used only after several packets in a row, and no more after several losses (RFC 3626 §14).
    pub hysteresis: bool,
    /// A link whose quality is above this is used (HYST_THRESHOLD_HIGH).
    pub hysteresis_high: f64,
    /// A link whose quality is below this is lost (HYST_THRESHOLD_LOW).
    pub hysteresis_low: f64,
    /// Weight of the last packet in the quality of a link (HYST_SCALING).
    pub hysteresis_scaling: f64,
    /// Whether a failure of the link layer makes a link lost (RFC 3626 §13).
    pub link_layer_notification: bool,
    /// What makes a path short: "hops" or "etx".
    pub metric: Metric,
    /// Packets over which the quality of a link is measured for "etx": 1 to 32.
    pub etx_window: u8,
    /// Which networks a gateway announces (HNA): "off", "wired", "listed" or "both". A gateway is a node with radios
    /// and wires.
    pub hna: Announced,
    /// The networks that each gateway announces if `hna` is "listed" or "both", such as "0.0.0.0/0".
    pub hna_networks: Vec<String>,
    /// Most messages in a packet; 0: as many as find room.
    pub packet_messages: u8,
    /// Largest packet with more than one message, with its headers.
    pub packet_limit: Bytes,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let rfc = Self {
            hello_interval: Span::from_secs(2),
            tc_interval: Span::from_secs(5),
            mid_interval: Span::from_secs(5),
            hna_interval: Span::from_secs(5),
            neighbour_hold: Auto::Derived,
            topology_hold: Auto::Derived,
            mid_hold: Auto::Derived,
            hna_hold: Auto::Derived,
            duplicate_hold: Span::from_secs(30),
            max_jitter: Auto::Derived,
            delay_own: false,
            willingness: 3,
            mpr_coverage: 1,
            tc_redundancy: 0,
            early_tc: EarlyTc::Lost,
            hysteresis: false,
            hysteresis_high: 0.8,
            hysteresis_low: 0.3,
            hysteresis_scaling: 0.5,
            link_layer_notification: false,
            metric: Metric::Hops,
            etx_window: 10,
            hna: Announced::Wired,
            hna_networks: Vec::new(),
            packet_messages: 0,
            packet_limit: Bytes::new(1500),
        };
        if profile == NS2 { Self { delay_own: true, early_tc: EarlyTc::Off, packet_messages: 4, ..rfc } } else { rfc }
    }

    fn check(&self) -> Result<(), Fault> {
        let out = |parameter, expected: &str, found: &dyn std::fmt::Display| {
            Err(Fault::new(parameter, format!("expected {expected}, found {found}")))
        };
        for (parameter, span) in self.intervals() {
            Fault::unless(parameter, span, |it| it >= Span::from_millis(10), "at least 10 ms")?;
        }
        if self.hello_interval > LONGEST {
            return out("hello_interval", "at most 3968 s, which Htime can tell (RFC 3626 §6.1)", &self.hello_interval);
        }
        for (parameter, span, _) in self.holds() {
            if span < Span::from_nanos(62_500_000) || span > LONGEST {
                return out(parameter, "62.5 ms to 3968 s, the range of Vtime (RFC 3626 §18.3)", &span);
            }
        }
        // A timer that jitter could shorten to a fraction of its interval would send many times what was asked.
        if let Some((interval, shortest)) = self.intervals().into_iter().min_by_key(|&(_, span)| span)
            && self.max_jitter() * 2 > shortest
        {
            let expected = format!("at most half of {interval}, {shortest} (RFC 5148 §5.4)");
            return out("max_jitter", &expected, &self.max_jitter());
        }
        Fault::unless("duplicate_hold", self.duplicate_hold, |it| !it.is_zero(), "more than zero")?;
        Fault::unless("willingness", self.willingness, |it| it <= 7, "0 (never) to 7 (always)")?;
        Fault::unless("mpr_coverage", self.mpr_coverage, |it| it > 0, "at least 1")?;
        Fault::unless("tc_redundancy", self.tc_redundancy, |it| it <= 2, "0, 1 or 2")?;
        // A quality is at most 1: no link would ever be above that threshold, and none is below 0.
        let parts = [("hysteresis_high", self.hysteresis_high), ("hysteresis_low", self.hysteresis_low)];
        for (parameter, value) in parts {
            Fault::unless(parameter, value, |it| (0.0..1.0).contains(&it), "at least 0 and less than 1")?;
        }
        // With 0 the quality would never change, with 1 only the last packet would count.
        if !(self.hysteresis_scaling > 0.0 && self.hysteresis_scaling < 1.0) {
            return out("hysteresis_scaling", "more than 0 and less than 1 (RFC 3626 §14)", &self.hysteresis_scaling);
        }
        if self.hysteresis_low >= self.hysteresis_high {
            return out("hysteresis_low", "less than hysteresis_high", &self.hysteresis_low);
        }
        Fault::unless("etx_window", self.etx_window, |it| (1..=32).contains(&it), "1 to 32")?;
        let mut seen = Vec::with_capacity(self.hna_networks.len());
        let mut faults = Vec::new();
        for (place, text) in self.hna_networks.iter().enumerate() {
            match text.parse::<Prefix>() {
                Err(error) => faults.push((place, error.to_string())),
                Ok(prefix) if seen.contains(&prefix) => {
                    faults.push((place, format!("expected each network once, found {prefix} again")));
                }
                Ok(prefix) => seen.push(prefix),
            }
        }
        Fault::of_elements("hna_networks", faults)?;
        let listed = matches!(self.hna, Announced::Listed | Announced::Both);
        if listed && self.hna_networks.is_empty() {
            return Err(Fault::new("hna_networks", "expected at least one network, since `hna` asks for them"));
        }
        if !listed && !self.hna_networks.is_empty() {
            return Err(Fault::new("hna_networks", "expected `hna = \"listed\"` or \"both\", which uses them"));
        }
        if !(100..=65_535).contains(&self.packet_limit.count()) {
            return out("packet_limit", "100 B to 65535 B", &self.packet_limit);
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (!self.hysteresis, "hysteresis", &["hysteresis_high", "hysteresis_low", "hysteresis_scaling"]),
            (self.metric == Metric::Hops, "metric", &["etx_window"]),
            (!matches!(self.hna, Announced::Listed | Announced::Both), "hna", &["hna_networks"]),
            (self.hna == Announced::Off, "hna", &["hna_interval", "hna_hold"]),
        ])
    }

    const FOR_WIRES: &'static [&'static str] = &["hna_interval", "hna_hold"];
}

/// The longest time that Vtime can tell (RFC 3626 §18.3).
const LONGEST: Span = Span::from_secs(3968);

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["HELLO", "TC", "MID", "HNA", "OTHER", "OLSR"];
    const REPORTS_BREAKS: bool = true;
    const CHOOSES_RELAYS: bool = true;

    /// ns-2.35 has no OLSR. UM-OLSR gives its packets to the node as DSDV does.
    const NUMBERED_BY_NS2: bool = true;

    fn keeps_routes(&self) -> bool {
        true
    }

    fn reaches_wires(&self) -> bool {
        self.hna != Announced::Off
    }

    /// Nothing without wires (RFC 3626 §12).
    fn announced(&self, wired: &[Prefix], ad_hoc: &[Prefix]) -> Vec<Prefix> {
        let (of_wires, listed) = match self.hna {
            _ if wired.is_empty() => (false, false),
            Announced::Off => (false, false),
            Announced::Wired => (true, false),
            Announced::Listed => (false, true),
            Announced::Both => (true, true),
        };
        let is_ad_hoc = |it: &Prefix| ad_hoc.iter().any(|own| own.overlaps(*it) && it.length() >= own.length());
        let mut networks = Vec::new();
        if of_wires {
            networks.extend(wired.iter().copied().filter(|it| !is_ad_hoc(it)));
        }
        if listed {
            networks.extend(self.hna_networks.iter().filter_map(|text| text.parse::<Prefix>().ok()));
        }
        networks.sort_unstable();
        networks.dedup();
        networks
    }

    fn announced_networks(&self) -> Vec<(String, Prefix)> {
        let parsed = self
            .hna_networks
            .iter()
            .enumerate()
            .filter_map(|(place, text)| text.parse().ok().map(|prefix| (format!("hna_networks.{place}"), prefix)));
        parsed.collect()
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        // A flood waits at each hop, one copy longer than another; a HELLO waits only where a node delays its own.
        let jitter = self.max_jitter();
        let delay = |parameter| if parameter == "neighbour_hold" && !self.delay_own { Span::ZERO } else { jitter };
        let short = self.holds().into_iter().filter(|&(parameter, hold, interval)| hold <= interval + delay(parameter));
        let doubt = |(parameter, hold, interval): (&'static str, Span, Span)| match hold <= interval {
            true => {
                (parameter, format!("what is valid for {hold} is renewed every {interval}: routes expire in between"))
            }
            false => (
                parameter,
                format!(
                    "what is valid for {hold} is renewed every {interval} and delayed by up to {jitter}: routes may \
                     expire in between"
                ),
            ),
        };
        let mut doubts: Vec<_> = short.map(doubt).collect();
        if self.willingness == 0 {
            let why = "no node relays for another: packets reach neighbours only (WILL_NEVER, RFC 3626 §8.3)";
            doubts.push(("willingness", why.to_owned()));
        }
        // A neighbour that forwards the message may take as long as the node itself has taken.
        let (hold, least) = (self.duplicate_hold, self.max_jitter() * 2);
        if hold < least {
            let why = "a message may be forwarded again while copies of it are still on their way";
            doubts.push(("duplicate_hold", format!("{hold} is less than {least}: {why}")));
        }
        doubts
    }
}

impl Params {
    /// Hold times, each with its parameter and the interval at which what it holds is renewed.
    fn holds(&self) -> [(&'static str, Span, Span); 4] {
        [
            ("neighbour_hold", self.neighbour_hold(), self.hello_interval),
            ("topology_hold", self.topology_hold(), self.tc_interval),
            ("mid_hold", self.mid_hold.or(self.mid_interval * 3), self.mid_interval),
            ("hna_hold", self.hna_hold.or(self.hna_interval * 3), self.hna_interval),
        ]
    }

    /// NEIGHB_HOLD_TIME.
    #[must_use]
    pub fn neighbour_hold(&self) -> Span {
        self.neighbour_hold.or(self.hello_interval * 3)
    }

    /// TOP_HOLD_TIME.
    #[must_use]
    pub fn topology_hold(&self) -> Span {
        self.topology_hold.or(self.tc_interval * 3)
    }

    /// MID_HOLD_TIME.
    #[must_use]
    pub fn mid_hold(&self) -> Span {
        self.mid_hold.or(self.mid_interval * 3)
    }

    /// HNA_HOLD_TIME.
    #[must_use]
    pub fn hna_hold(&self) -> Span {
        self.hna_hold.or(self.hna_interval * 3)
    }

    /// The intervals of messages.
    const fn intervals(&self) -> [(&'static str, Span); 4] {
        [
            ("hello_interval", self.hello_interval),
            ("tc_interval", self.tc_interval),
            ("mid_interval", self.mid_interval),
            ("hna_interval", self.hna_interval),
        ]
    }

    /// MAXJITTER, which shortens the interval of each kind of message.
    #[must_use]
    pub fn max_jitter(&self) -> Span {
        let [first, rest @ ..] = self.intervals().map(|(_, span)| span);
        self.max_jitter.or(rest.into_iter().fold(first, Span::min).mul_f64(0.25))
    }

    /// Bytes of the headers of IP and UDP around a packet.
    pub const HEADERS: u32 = IP_HEADER + UDP_HEADER;
}
