//! Mobile IP's parameters.

use hopyard_engine::Span;
use hopyard_wire::mobile_ip::FOREVER;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::PORT;
use crate::agent::Keys;
use crate::agent::protocol::{AgentFacts, Doubt, ICMP};
use crate::packet::Form;
use crate::params::{self, Fault, Metric, NS2, RFC, Unused, unused_where};

/// When a host decides that it has moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoveDetection {
    /// When the lifetime of its agent's last advertisement ends (RFC 5944 §2.4.2.1).
    Lifetime,
    /// When it hears a new agent whose network has another prefix (§2.4.2.2).
    Prefix,
    /// When it hears a new agent.
    Eager,
}

/// Whose procedure the mobile hosts and the agents follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Procedure {
    /// That of RFC 5944.
    Rfc,
    /// That of ns-2.35.
    Ns2,
}

/// Parameters of Mobile IP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whose procedure is followed: "rfc" (RFC 5944) or "ns2".
    pub procedure: Procedure,
    /// Longest time between the advertisements of an agent. The first one comes at a random time within it, unless the
    /// scenario gives that time.
    pub beacon: Span,
    /// Part of `beacon` that is left to chance, at most 0.5: the times between advertisements are uniform between
    /// (1 - this) and 1 times `beacon` (RFC 1256 §4.1). In procedure "ns2" it is always 0.
    pub beacon_jitter: f64,
    /// For how many seconds an advertisement is valid.
    pub advertised_lifetime: u16,
    /// For how many seconds a host asks to be registered; 65535 for ever.
    pub registration_lifetime: u16,
    /// The longest registration that an agent grants, in seconds; 65535 for any. Agents advertise it.
    pub longest_registration: u16,
    /// The part of its lifetime after which a registration is renewed, at least 0.001.
    pub renewal: f64,
    /// When a host decides that it has moved: "lifetime", "prefix" or "eager". In procedure "ns2" it is always "eager".
    pub move_detection: MoveDetection,
    /// How long a host waits for the first reply to a request before it sends another one.
    pub request_retry: Span,
    /// The longest time between two requests; each is twice the one before, up to this one.
    pub request_retry_most: Span,
    /// Time between the first solicitations of a host without an agent.
    pub solicit_retry: Span,
    /// How many solicitations are sent at this interval. Then each interval is twice the one before.
    pub solicitations: u32,
    /// The longest time between two solicitations.
    pub solicit_retry_most: Span,
    /// How long a foreign agent remembers a request without a reply. Then it answers itself (code 78).
    pub pending_timeout: Span,
    /// How many hosts a foreign agent serves at once.
    pub most_visitors: u32,
    /// How many bindings a host may have at once.
    pub most_bindings: u32,
    /// How many hosts may be away at once, for each home agent.
    pub most_absent: u32,
    /// Whether a host asks its home agent to keep its earlier bindings (S), so that packets go to all of them.
    pub simultaneous: bool,
    /// The form of the tunnels: "ip_in_ip" (RFC 2003) or "minimal" (RFC 2004).
    pub tunnel: Form,
    /// Whether the packets of hosts that are away go through a tunnel to their home agent (RFC 3024).
    pub reverse_tunnel: bool,
    /// Whether agents deny hosts that ask for no reverse tunnel (codes 75 and 138). They offer one then, whatever
    /// `reverse_tunnel` says; a host that is denied for this asks for one.
    pub reverse_tunnel_mandatory: bool,
    /// Whether hosts that ask for a reverse tunnel want to send their packets to the agent in a tunnel (RFC 3024 §2,
    /// encapsulating delivery). Agents offer direct delivery alone, and deny that (code 79); the host does without
    /// then.
    pub encapsulating_delivery: bool,
    /// Whether foreign agents say that hosts must register with them, even those with an address of their own in the
    /// agent's network (R). Hosts here have none, and register always.
    pub registration_required: bool,
    /// Whether messages between hosts and home agents have an authenticator, which is checked, and an identification
    /// that protects against replay.
    pub authentication: bool,
    /// Whether hosts and foreign agents share keys, so that their messages have a second authenticator (RFC 5944
    /// §3.5.3).
    pub mobile_foreign_authentication: bool,
    /// Whether foreign and home agents share keys, so that their messages have a third authenticator (RFC 5944 §3.5.4).
    pub foreign_home_authentication: bool,
    /// By how much the clocks of host and home agent may differ (RFC 5944 §5.7.1).
    pub clock_tolerance: Span,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == NS2;
        let seconds = |rfc: u64, other: u64| Span::from_millis(if ns2 { other } else { rfc });
        Self {
            procedure: if ns2 { Procedure::Ns2 } else { Procedure::Rfc },
            beacon: Span::from_secs(1),
            // RFC 1256 §4.1: MinAdvertisementInterval is 0.75 of MaxAdvertisementInterval.
            beacon_jitter: if ns2 { 0.0 } else { 0.25 },
            advertised_lifetime: if ns2 { 2 } else { 3 },
            registration_lifetime: if ns2 { 2 } else { 300 },
            longest_registration: if ns2 { 2 } else { 600 },
            renewal: 0.9,
            move_detection: if ns2 { MoveDetection::Eager } else { MoveDetection::Lifetime },
            // RFC 5944 §3.6.3: not less than a second.
            request_retry: seconds(1000, 500),
            request_retry_most: seconds(64_000, 500),
            solicit_retry: seconds(1000, 500),
            // RFC 1256 §5.1: MAX_SOLICITATIONS.
            solicitations: 3,
            solicit_retry_most: seconds(60_000, 500),
            // RFC 5944 §3.7.2.2.
            pending_timeout: Span::from_secs(7),
            most_visitors: 1000,
            most_bindings: 3,
            most_absent: 1_000_000,
            simultaneous: false,
            tunnel: Form::IpInIp,
            reverse_tunnel: false,
            reverse_tunnel_mandatory: false,
            encapsulating_delivery: false,
            registration_required: false,
            authentication: !ns2,
            mobile_foreign_authentication: false,
            foreign_home_authentication: false,
            clock_tolerance: Span::from_secs(7),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (name, span) in [
            ("beacon", self.beacon),
            ("request_retry", self.request_retry),
            ("solicit_retry", self.solicit_retry),
            ("pending_timeout", self.pending_timeout),
        ] {
            if span.is_zero() {
                return Err(Fault::new(name, "must be above zero"));
            }
        }
        for (name, most, of, least) in [
            ("request_retry_most", self.request_retry_most, "request_retry", self.request_retry),
            ("solicit_retry_most", self.solicit_retry_most, "solicit_retry", self.solicit_retry),
        ] {
            if most < least {
                return Err(Fault::new(name, format!("must not be less than `{of}`, which is {least}; found {most}")));
            }
        }
        for (name, lifetime) in
            [("registration_lifetime", self.registration_lifetime), ("longest_registration", self.longest_registration)]
        {
            if lifetime == 0 {
                return Err(Fault::new(name, "must be at least 1 s: a lifetime of zero ends a registration"));
            }
        }
        if Span::from_secs(u64::from(self.advertised_lifetime)) < self.beacon {
            let found = self.advertised_lifetime;
            return Err(Fault::new(
                "advertised_lifetime",
                format!(
                    "must not be less than `beacon`, which is {}: an agent would be lost before it is heard again; \
                         found {found} s",
                    self.beacon
                ),
            ));
        }
        // The shortest lifetime is a second: a host must not ask again in the instant in which it was granted.
        if !(0.001..=1.0).contains(&self.renewal) {
            return Err(Fault::new("renewal", format!("must lie between 0.001 and 1, found {}", self.renewal)));
        }
        Fault::unless("beacon_jitter", self.beacon_jitter, |it| (0.0..=0.5).contains(&it), "0 to 0.5")?;
        for (name, count) in [
            ("most_visitors", self.most_visitors),
            ("most_bindings", self.most_bindings),
            ("most_absent", self.most_absent),
        ] {
            if count == 0 {
                return Err(Fault::new(name, "must be at least 1, found 0"));
            }
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.procedure == Procedure::Ns2, "procedure", &["beacon_jitter", "move_detection"])])
    }
}

/// What agents count, for the table of nodes.
const METRICS: [Metric; 6] = {
    const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
        Metric { name, unit, meaning }
    }
    [
        metric(
            "registrations_granted",
            "messages",
            "Requests that the home agent accepted, renewals and those that end bindings included.",
        ),
        metric("registrations_refused", "messages", "Requests that the home agent or the foreign agent denied."),
        metric("bindings", "", "Bindings of the home agent at the end."),
        metric("bindings_most", "", "The most bindings that the home agent had at once."),
        metric("visitors", "", "Hosts that the foreign agent serves at the end."),
        metric("visitors_most", "", "The most hosts that the foreign agent served at once."),
    ]
};

impl AgentFacts for Params {
    const MESSAGES: &'static [&'static str] = &["ADVERTISEMENT", "SOLICITATION", "REQUEST", "REPLY", "UNREACHABLE"];
    const PORTS: &'static [u16] = &[ICMP, PORT];

    const SERVES_MOVING_HOSTS: bool = true;

    const METRICS: &'static [Metric] = &METRICS;

    /// In ns-2, hosts and base stations find each other by DSDV.
    fn needs_kept_routes(&self) -> bool {
        self.procedure == Procedure::Ns2
    }

    fn lacks_keys(&self, keys: Keys) -> Option<&'static str> {
        let (has, parameter) = match keys {
            Keys::Home => (self.authentication, "authentication"),
            Keys::Foreign => (self.mobile_foreign_authentication, "mobile_foreign_authentication"),
            Keys::Agents => (self.foreign_home_authentication, "foreign_home_authentication"),
        };
        (!has).then_some(parameter)
    }

    fn takes_reverse_tunnels(&self) -> bool {
        self.offers_reverse_tunnels()
    }

    /// The home agent is not the source of the packets that it puts into a tunnel.
    fn tunnel_bytes(&self) -> u32 {
        self.tunnel.bytes(false)
    }

    /// RFC 5944 §2.1: agents should advertise at least three times within the lifetime, so that a host may miss some
    /// advertisements in a row without losing its agent. The procedure of ns-2 does not look at the advertised
    /// lifetime: there, an agent is lost one beacon after its last advertisement. Its lifetime of two beacons is no
    /// doubt.
    fn doubts(&self) -> Vec<Doubt> {
        let lifetime = Span::from_secs(u64::from(self.advertised_lifetime));
        if self.procedure == Procedure::Ns2 || lifetime / 3 >= self.beacon {
            return Vec::new();
        }
        let least = (3 * self.beacon.nanos()).div_ceil(1_000_000_000);
        let fitting =
            format!("a `beacon` of at most {}", Span::from_millis(u64::from(self.advertised_lifetime) * 1000 / 3));
        vec![Doubt {
            parameters: &["advertised_lifetime", "beacon"],
            message: format!(
                "an advertisement is valid for {lifetime}, less than three times `beacon`, which is {}: a host that \
                 misses one or two loses its agent (RFC 5944 §2.1)",
                self.beacon
            ),
            expected: match u16::try_from(least) {
                Ok(least) => format!("`advertised_lifetime` of at least {least}, or {fitting}"),
                Err(_) => fitting,
            },
        }]
    }
}

impl Params {
    /// Whether agents offer tunnels for packets that hosts send while they are away.
    #[must_use]
    pub(super) const fn offers_reverse_tunnels(&self) -> bool {
        self.reverse_tunnel || self.reverse_tunnel_mandatory
    }

    /// Whether advertisements name the length of the prefix of their network: hosts that look for other prefixes need
    /// it.
    #[must_use]
    pub(super) fn names_prefixes(&self) -> bool {
        self.procedure == Procedure::Rfc && self.move_detection == MoveDetection::Prefix
    }
}

/// The time that so many seconds of a lifetime are; nothing for one without an end.
pub(super) fn lifetime(seconds: u16) -> Option<Span> {
    (seconds != FOREVER).then(|| Span::from_secs(u64::from(seconds)))
}
