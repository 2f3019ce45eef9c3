//! The parameters of a wired link.

use std::borrow::Cow;
use std::fmt::Display;
use std::str::FromStr;

use hopyard_engine::Span;
use hopyard_engine::text::from_text;
use hopyard_engine::units::{Bytes, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::replay::Entry;
use super::trace::{End, Format};
use crate::link::queue::Limit;
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};

/// Parameters of a wired link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate, from the link's first node to its second.
    pub rate: Rate,
    /// Rate from the second node to the first, or "same".
    pub rate_back: Back<Rate>,
    /// Propagation delay, from the first node to the second.
    pub delay: Span,
    /// Propagation delay from the second node to the first, or "same".
    pub delay_back: Back<Span>,
    /// Length of each direction's queue in packets, not counting the packet that is being sent.
    pub queue_length: u32,
    /// Whether the queue holds as many packets as its length ("inclusive"), or one less, as in ns-2 ("exclusive").
    pub queue_limit: Limit,
    /// The largest packet that the link carries, IP header included; "0 B": any. As long as those of a radio by
    /// default, so that what tunnels add to a packet of 1500 bytes fits.
    pub mtu: Bytes,
    /// What is lost from the link's first node to its second.
    pub losses: Losses,
    /// What is lost from the link's second node to its first.
    pub losses_back: Losses,
    /// The times at which the link is down, in both directions: each from an instant on to another one, in order. What
    /// waits, is under way or is sent meanwhile is lost. Routes do not change.
    pub down: Vec<Down>,
    /// Delays and losses from the first node to the second, by a schedule: each entry from a time, or from a packet,
    /// on. They are added to `delay` and `losses`.
    pub replay: Vec<Entry>,
    /// The same from the second node to the first.
    pub replay_back: Vec<Entry>,
    /// A file with the rate, the delay and the loss from the first node to the second over time: a table with `time_s`
    /// and at least one of `rate_mbps`, `delay_ms` and `loss`. Its rate and its delay are in place of `rate` and
    /// `delay`, and its loss comes in addition to `losses`. "": none.
    pub trace: String,
    /// The same from the second node to the first.
    pub trace_back: String,
    /// Whether the last row of `trace` and `trace_back` holds until the end of the run ("hold"), or says when the first
    /// row begins again ("loop"). The values of the last row never hold then.
    pub trace_end: End,
    /// A file with the opportunities to deliver packets from the first node to the second, in place of `rate`: lines of
    /// milliseconds, as mahimahi's mm-link reads them. They begin again at the time of the last line. "": none.
    pub opportunities: String,
    /// The same from the second node to the first.
    pub opportunities_back: String,
    /// Whether a packet with a shorter delay in `replay` or `trace` arrives before one that entered earlier, as over
    /// several pipes of dummynet. Otherwise it arrives together with that one.
    pub overtaking: bool,
}

/// An interval in which a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Down {
    /// When it goes down, from the start of the run; "0 s" for a link that starts down.
    pub from: Span,
    /// When it is up again; if it is not given, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span")]
    pub to: Option<Span>,
}

impl Down {
    /// Adds the faults of the intervals, each with its place in the list.
    fn faults(intervals: &[Self]) -> Vec<(usize, String)> {
        let mut faults = Vec::new();
        let mut before = Some(Span::ZERO);
        for (place, &Self { from, to }) in intervals.iter().enumerate() {
            match before {
                None => faults.push((place, format!("the link goes down at {from}, but is down already, for ever"))),
                Some(up) if from < up => {
                    faults.push((place, format!("the link goes down at {from}, but is down already, until {up}")));
                }
                Some(_) => {}
            }
            match to {
                Some(to) if to <= from => {
                    faults.push((
                        place,
                        format!("the link is down from {from} to {to}: it must come up after it goes down"),
                    ));
                }
                // The next interval is compared with the longest of those before it.
                _ => before = before.and_then(|up| to.map(|to| to.max(up))),
            }
        }
        faults
    }
}

/// A value of the direction from a link's second node to its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back<T> {
    /// The same as in the other direction.
    Same,
    /// This one.
    Own(T),
}

impl<T: Copy> Back<T> {
    /// The value, which is `forward` in the other direction.
    #[must_use]
    pub const fn or(self, forward: T) -> T {
        match self {
            Self::Same => forward,
            Self::Own(value) => value,
        }
    }
}

impl<T: Display> Serialize for Back<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same => serializer.serialize_str("same"),
            Self::Own(value) => serializer.collect_str(value),
        }
    }
}

/// The possible values of this direction, in words.
fn words<T: JsonSchema>() -> String {
    let of = T::json_schema(&mut SchemaGenerator::default());
    format!("{}, or \"same\"", of.get("description").and_then(Value::as_str).unwrap_or("a value"))
}

impl<T: FromStr + JsonSchema> FromStr for Back<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "same" {
            return Ok(Self::Same);
        }
        text.parse().map(Self::Own).map_err(|_| format!("expected {}, found \"{text}\"", words::<T>()))
    }
}

impl<'de, T: FromStr + JsonSchema> Deserialize<'de> for Back<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, &words::<T>())
    }
}

impl<T: JsonSchema> JsonSchema for Back<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrSame", T::schema_name()).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": words::<T>(), "examples": ["same"] })
    }
}

/// What is lost in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Losses {
    /// Packets by their number among all that enter this direction, counted from zero. What is sent into a link that is
    /// down does not enter it.
    pub packets: Vec<u64>,
    /// TCP segments by their number, counted from zero in segments of the flow's segment size: each entry loses one
    /// transmission, of whichever flow sends it first. A number that is given twice also loses the first
    /// retransmission. A shorter segment has the number in which its first byte lies. A SYN has none. Segments of Linux
    /// and of attached hosts count in the size of the first one of their connection.
    pub segments: Vec<u64>,
    /// The probability with which each packet is lost.
    pub rate: f64,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            rate: Rate::from_bps(10_000_000),
            rate_back: Back::Same,
            delay: Span::from_millis(2),
            delay_back: Back::Same,
            queue_length: 50,
            queue_limit: if profile == NS2 { Limit::Exclusive } else { Limit::Inclusive },
            mtu: Bytes::new(if profile == NS2 { 0 } else { 2296 }),
            losses: Losses::default(),
            losses_back: Losses::default(),
            down: Vec::new(),
            replay: Vec::new(),
            replay_back: Vec::new(),
            trace: String::new(),
            trace_back: String::new(),
            trace_end: End::Hold,
            opportunities: String::new(),
            opportunities_back: String::new(),
            overtaking: false,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.queue_limit.capacity(self.queue_length) == 0 {
            return Err(Fault::new("queue_length", "no packet could wait: must be at least 1, or 2 if \"exclusive\""));
        }
        // What every host must take (RFC 791 §3.1).
        if (1..576).contains(&self.mtu.count()) {
            return Err(Fault::new("mtu", format!("expected 0 B or at least 576 B, found {}", self.mtu)));
        }
        for (parameter, losses) in [("losses", &self.losses), ("losses_back", &self.losses_back)] {
            if !(0.0..=1.0).contains(&losses.rate) {
                return Err(Fault::new(parameter, format!("rate must lie between 0 and 1, found {}", losses.rate)));
            }
        }
        Fault::of_elements("down", Down::faults(&self.down))?;
        Fault::of_elements("replay", Entry::faults(&self.replay))?;
        Fault::of_elements("replay_back", Entry::faults(&self.replay_back))
    }

    fn unused(&self) -> Vec<Unused> {
        let has_trace = !(self.trace.is_empty() && self.trace_back.is_empty());
        let has_replay = !(self.replay.is_empty() && self.replay_back.is_empty());
        unused_where([(!has_replay && !has_trace, "replay", &["overtaking"]), (!has_trace, "trace", &["trace_end"])])
    }
}

impl Params {
    /// The files that the link follows, from the first node to the second and back, each with its parameter and its
    /// format.
    #[must_use]
    pub fn traces(&self) -> [Vec<(&'static str, Format, &str)>; 2] {
        let values = Format::Values(self.trace_end);
        [
            [("trace", values, &self.trace), ("opportunities", Format::Opportunities, &self.opportunities)],
            [
                ("trace_back", values, &self.trace_back),
                ("opportunities_back", Format::Opportunities, &self.opportunities_back),
            ],
        ]
        .map(|of| of.into_iter().filter(|it| !it.2.is_empty()).map(|it| (it.0, it.1, it.2.as_str())).collect())
    }

    /// The size of the largest packet that the link carries, if there is a limit.
    #[must_use]
    pub fn largest_packet(&self) -> Option<u32> {
        (self.mtu.count() > 0).then(|| u32::try_from(self.mtu.count()).unwrap_or(u32::MAX))
    }
}
