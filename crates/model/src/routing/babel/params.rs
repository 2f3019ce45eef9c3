//! Babel's parameters and the values derived from them.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use hopyard_wire::ipv6;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::message::{HEADER, INFINITY};
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault, Unused, unused_where};
use crate::routing::RoutingFacts;
use crate::routing::common::Auto;

/// How the part of the Hellos that arrive is estimated from the last 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Estimate {
    /// The share of those that arrived among the last few (RFC 8966 §A.2.2).
    Window,
    /// A mean in which the three last ones weigh a quarter each and older ones half of the next, as in babeld 1.12.1.
    Exponential,
}

/// How smoothed metrics follow metrics.
#[derive(Clone, Copy, Debug)]
pub struct Smoothing {
    /// The half-life of the difference.
    pub half_life: Span,
    /// Where the smoothed metric of a new route begins.
    pub start: u16,
}

/// Parameters of Babel. The defaults are those of babeld 1.12.1 with `type wireless`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Mean time between the Hellos of an interface.
    pub hello_interval: Span,
    /// Mean time between the updates that tell all routes; "auto": four times `hello_interval`.
    pub update_interval: Auto,
    /// Each interval and each delay is at random shorter or longer by up to this part.
    pub spread: f64,
    /// Every so many Hellos, all neighbours are told that they are heard (IHU); neighbours on lossy links, with each.
    pub ihu_hellos: u8,
    /// An IHU holds for so many of the intervals that it tells, and no longer than three where all Hellos are lost.
    pub ihu_hold: f64,
    /// An update holds for so many of the intervals that it tells.
    pub route_hold: f64,
    /// A Hello is missing after so many of the intervals that its neighbour tells.
    pub hello_hold: f64,
    /// How often missing Hellos and old IHUs are looked for; "auto": one and a half `hello_interval`. "0 s": at once.
    pub look_interval: Auto,
    /// Mean delay of Hellos, IHUs and requests, so that they share packets; "auto": a quarter of `hello_interval`, at
    /// most 1 s.
    pub packet_delay: Auto,
    /// Mean delay of updates that are not urgent, unless a packet leaves before; "auto": `hello_interval`, at most 4 s.
    pub update_delay: Auto,
    /// Mean delay of urgent updates.
    pub urgent_delay: Span,
    /// How long a request without an answer waits until it is repeated. The second and third repeats come twice and
    /// four times as long after the first request, and so on. What is told of a retracted destination is repeated at
    /// the same times.
    pub request_timeout: Span,
    /// How often it is repeated.
    pub request_repeats: u8,
    /// How long the best metric of a destination that the node has told is remembered (source GC time).
    pub source_hold: Span,
    /// How the part of the Hellos that arrive over radio is estimated: "window" or "exponential".
    pub estimate: Estimate,
    /// The Hellos over which "window" counts: 1 to 16.
    pub etx_window: u8,
    /// Half-life of the difference between a metric and its smoothed metric. A route replaces another one only if its
    /// smoothed metric is smaller too. "0 s": the metric alone decides.
    pub smoothing: Span,
    /// The smoothed metric of a new route begins here, or at its metric if that is larger. The smoothed metric of a
    /// route that comes back begins at twice as much. 0: both begin at the metric.
    pub smoothing_start: u16,
    /// The cost of a wire that works.
    pub wired_cost: u16,
    /// A wire works if so many of the last `wired_window` Hellos arrived.
    pub wired_heard: u8,
    /// See `wired_heard`: 1 to 16.
    pub wired_window: u8,
    /// Whether a route is not told over the wire that it leads over. Over radio it always is.
    pub split_horizon: bool,
    /// A metric that grows by this at once is told before the next update of all routes, and all neighbours are asked
    /// for their routes.
    pub triggered_increase: u16,
    /// A metric that falls by this at once is told before the next update of all routes.
    pub triggered_decrease: u16,
    /// A metric that grows by this at once, from less than six times 256, is urgent. An update of a neighbour whose
    /// route would be better by this, but is not feasible, makes the node ask for a new sequence number.
    pub urgent_increase: u16,
    /// Largest packet, with its headers.
    pub packet_limit: Bytes,
    /// Whether packets go over IPv6, between link-local addresses, as babeld sends them. Kernels in the same network
    /// understand no others.
    pub ipv6: bool,
}

/// The longest interval that a message can tell, in hundredths of a second.
const LONGEST: Span = Span::from_millis(655_350);

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            hello_interval: Span::from_secs(4),
            update_interval: Auto::Derived,
            spread: 0.25,
            ihu_hellos: 3,
            ihu_hold: 10.0,
            route_hold: 5.25,
            hello_hold: 1.7,
            look_interval: Auto::Derived,
            packet_delay: Auto::Derived,
            update_delay: Auto::Derived,
            urgent_delay: Span::from_millis(100),
            request_timeout: Span::from_secs(2),
            request_repeats: 3,
            source_hold: Span::from_secs(200),
            estimate: Estimate::Exponential,
            etx_window: 6,
            smoothing: Span::from_secs(4),
            smoothing_start: INFINITY / 2,
            wired_cost: 96,
            wired_heard: 2,
            wired_window: 3,
            split_horizon: true,
            triggered_increase: 384,
            triggered_decrease: 1024,
            urgent_increase: 512,
            packet_limit: Bytes::new(1500),
            ipv6: false,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let out = |parameter, expected: &str, found: &dyn std::fmt::Display| {
            Err(Fault::new(parameter, format!("expected {expected}, found {found}")))
        };
        for (parameter, span) in [("hello_interval", self.hello_interval), ("update_interval", self.update_interval())]
        {
            if span < Span::from_millis(10) || span > LONGEST {
                return out(parameter, "10 ms to 655.35 s, which messages can tell (RFC 8966 §4.6)", &span);
            }
        }
        if self.ihu_hellos == 0 || self.ihu_interval() > LONGEST {
            let expected = "at least 1, and an interval of at most 655.35 s together with hello_interval";
            return out("ihu_hellos", expected, &self.ihu_hellos);
        }
        Fault::unless("spread", self.spread, |it| (0.0..=1.0).contains(&it), "0 to 1")?;
        for (parameter, value) in
            [("ihu_hold", self.ihu_hold), ("route_hold", self.route_hold), ("hello_hold", self.hello_hold)]
        {
            Fault::unless(parameter, value, |it| (1.0..=1000.0).contains(&it), "1 to 1000")?;
        }
        // A longer one would make a Hello wait for the next, RFC 8966 §3.1.
        if self.packet_delay() > self.hello_interval / 2 {
            let expected = format!("at most half of hello_interval, {}", self.hello_interval / 2);
            return out("packet_delay", &expected, &self.packet_delay());
        }
        for (parameter, delay) in [("update_delay", self.update_delay()), ("urgent_delay", self.urgent_delay)] {
            if delay > self.hello_interval {
                return out(parameter, &format!("at most hello_interval, {}", self.hello_interval), &delay);
            }
        }
        Fault::unless("request_timeout", self.request_timeout, |it| it >= Span::from_millis(10), "at least 10 ms")?;
        if self.request_repeats > 10 {
            return out("request_repeats", "at most 10, as each waits twice as long", &self.request_repeats);
        }
        // A route that is told again within the hold of its source must find its feasibility distance.
        let told = self.update_interval().mul_f64(self.route_hold);
        if self.source_hold < told {
            let expected = format!("at least the hold of an update, {told}, without which routes may go in circles");
            return out("source_hold", &expected, &self.source_hold);
        }
        for (parameter, window) in [("etx_window", self.etx_window), ("wired_window", self.wired_window)] {
            Fault::unless(parameter, window, |it| (1..=16).contains(&it), "1 to 16")?;
        }
        if !(1..=self.wired_window).contains(&self.wired_heard) {
            let expected = format!("1 to wired_window, {}", self.wired_window);
            return out("wired_heard", &expected, &self.wired_heard);
        }
        Fault::unless("wired_cost", self.wired_cost, |it| (1..=1000).contains(&it), "1 to 1000")?;
        if self.triggered_increase == 0 || self.triggered_decrease == 0 {
            let zero = if self.triggered_increase == 0 { "triggered_increase" } else { "triggered_decrease" };
            return out(zero, "at least 1", &0);
        }
        if self.packet_limit < Bytes::new(512) || self.packet_limit > Bytes::new(65_535) {
            return out("packet_limit", "512 B (RFC 8966 §4) to 65535 B", &self.packet_limit);
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.estimate == Estimate::Exponential, "estimate", &["etx_window"])])
    }
}

impl RoutingFacts for Params {
    const MESSAGES: &'static [&'static str] = &["HELLO", "IHU", "UPDATE", "REQUEST", "SEQNO_REQUEST"];
    const REPORTS_BREAKS: bool = true;
    const CROSSES_WIRES: bool = true;

    fn keeps_routes(&self) -> bool {
        true
    }

    fn reaches_wires(&self) -> bool {
        true
    }

    /// RFC 8966 §2.4.
    fn promises_no_loops(&self) -> bool {
        true
    }

    /// Two Hellos and the IHU in between make a link, and routes wait at each hop.
    fn settles_within(&self) -> Span {
        self.hello_interval * 4 + self.update_interval()
    }

    fn doubts(&self) -> Vec<(&'static str, String)> {
        let mut doubts = Vec::new();
        // 256 for each hop over radio.
        if self.hello_interval > Span::from_secs(20) {
            let why = "a broken link is noticed after one and a half to three and a half Hellos that do not come";
            doubts.push(("hello_interval", format!("{} is long: {why} (RFC 8966 §B)", self.hello_interval)));
        }
        doubts
    }
}

impl Params {
    /// Bytes of the headers of IP and UDP around a packet.
    #[must_use]
    pub const fn headers(&self) -> u32 {
        UDP_HEADER + if self.ipv6 { ipv6::HEADER } else { IP_HEADER }
    }

    /// The time between full updates.
    #[must_use]
    pub fn update_interval(&self) -> Span {
        self.update_interval.or(self.hello_interval * 4)
    }

    /// The interval that an IHU tells.
    #[must_use]
    pub fn ihu_interval(&self) -> Span {
        self.hello_interval * u64::from(self.ihu_hellos)
    }

    /// The mean time between looks for missing Hellos.
    #[must_use]
    pub fn look_interval(&self) -> Span {
        self.look_interval.or(self.hello_interval.mul_f64(1.5))
    }

    /// The mean delay of messages other than updates.
    #[must_use]
    pub fn packet_delay(&self) -> Span {
        self.packet_delay.or(self.hello_interval.mul_f64(0.25).min(Span::from_secs(1)))
    }

    /// The mean delay of updates that are not urgent.
    #[must_use]
    pub fn update_delay(&self) -> Span {
        self.update_delay.or(self.hello_interval.min(Span::from_secs(4)))
    }

    /// How smoothed metrics follow metrics.
    #[must_use]
    pub const fn smoothed(&self) -> Smoothing {
        Smoothing { half_life: self.smoothing, start: self.smoothing_start }
    }

    /// Bytes of a packet without the headers of IP and UDP, at most. babeld leaves twelve bytes free over IPv6.
    #[must_use]
    pub fn payload_limit(&self) -> u32 {
        (self.packet_limit.count() as u32 - self.headers() - if self.ipv6 { 12 } else { 0 }).max(HEADER)
    }
}

/// A time as messages tell it: in hundredths of a second, rounded up.
#[must_use]
pub fn centiseconds(span: Span) -> u16 {
    u16::try_from(span.nanos().div_ceil(10_000_000)).unwrap_or(u16::MAX)
}

/// The time that a message tells.
#[must_use]
pub fn of_centiseconds(value: u16) -> Span {
    Span::from_millis(10 * u64::from(value))
}
