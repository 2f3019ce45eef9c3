//! DRAND's parameters.

use hopyard_engine::Span;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::message::{ENTRY, HELLO, PORT};
use crate::agent::protocol::AgentFacts;
use crate::packet::{IP_HEADER, UDP_HEADER};
use crate::params::{self, Fault};

/// Among how many nodes the lottery is held, one of which should win.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Lottery {
    /// The nodes without a slot within two hops, the node itself included.
    Own,
    /// The largest such number among the node and its neighbours, which tell theirs in HELLOs.
    Largest,
}

/// How often a message is sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, try_from = "Value")]
pub enum Resends {
    /// This often at most.
    Times(u32),
    /// Until there is an answer.
    #[serde(serialize_with = "unlimited")]
    Unlimited,
}

impl Resends {
    /// Whether it may be sent again after so many times.
    #[must_use]
    pub const fn allow(self, done: u32) -> bool {
        match self {
            Self::Times(most) => done < most,
            Self::Unlimited => true,
        }
    }
}

const RESENDS: &str = "a whole number, or \"unlimited\"";

fn unlimited<S: Serializer>(serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("unlimited")
}

impl TryFrom<Value> for Resends {
    type Error = String;
    fn try_from(value: Value) -> Result<Self, String> {
        if value.as_str() == Some("unlimited") {
            return Ok(Self::Unlimited);
        }
        let times = value.as_u64().and_then(|it| u32::try_from(it).ok());
        times.map(Self::Times).ok_or_else(|| format!("expected {RESENDS}, found {value}"))
    }
}

impl JsonSchema for Resends {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Resends".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": RESENDS,
            "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string", "enum": ["unlimited"] }],
        })
    }
}

/// Parameters of DRAND.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time between the HELLO messages of a node.
    pub interval: Span,
    /// By how much each interval may be shorter, at random, so that nodes do not send together (RFC 5148 §5.2); at most
    /// half of it.
    pub jitter: Span,
    /// How long a neighbour counts as heard after its last message. It is looked at with each HELLO of the node's own.
    pub hold: Span,
    /// Time from a node's start to its first lottery, in which it learns its neighbours.
    pub settle: Span,
    /// The number of nodes among which the lottery is held. "own": the nodes without a slot within two hops, the node
    /// itself included. "largest": the largest such number among the node and its neighbours.
    pub lottery: Lottery,
    /// The probability that the coin shows heads. Only then is the lottery held.
    pub coin: f64,
    /// The response time of neighbours (d_A) that a node starts from. It takes the largest that it has seen since.
    pub first_delay: Span,
    /// How many response times are between the tries of a node, and between the resends of a request (T_A / d_A).
    pub factor: f64,
    /// The part by which the time between tries is longer or shorter, at random.
    pub try_jitter: f64,
    /// How often a request is sent again to the neighbours that have not answered.
    pub request_resends: u32,
    /// How often a grant is sent again, once a response time, before its sender gives up hearing how the request ended.
    /// Then the sender may grant the next request. A number, or "unlimited".
    pub grant_resends: Resends,
    /// How long a neighbour that has not answered to the last request must have been silent to be left out. Otherwise
    /// the request has failed.
    pub silence: Span,
    /// How long the largest slot of the network is believed after a node within two hops of its owner has vouched for
    /// it.
    pub largest_hold: Span,
}

impl Params {
    /// The time between requests (T_A) where neighbours answer within a time (d_A).
    #[must_use]
    pub fn request_period(&self, delay: Span) -> Span {
        delay.mul_f64(self.factor)
    }
}

impl AgentFacts for Params {
    const MESSAGES: &'static [&'static str] =
        &["HELLO", "request", "grant", "reject", "fail", "release", "two_hop_release"];
    const PORTS: &'static [u16] = &[PORT];

    const FINDS_SLOTS: bool = true;

    fn first_slot(&self) -> Vec<(&'static str, Span)> {
        let &Self { settle, coin, first_delay, .. } = self;
        let period = self.request_period(first_delay);
        vec![("settle", settle + period), ("coin", settle + period.mul_f64(1.0 / coin))]
    }

    fn longest_message(&self, neighbours: usize) -> u32 {
        HELLO + ENTRY * neighbours as u32 + IP_HEADER + UDP_HEADER
    }
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            interval: Span::from_secs(1),
            jitter: Span::from_millis(250),
            hold: Span::from_secs(6),
            settle: Span::from_secs(5),
            lottery: Lottery::Own,
            coin: 0.5,
            first_delay: Span::from_millis(50),
            factor: 3.0,
            try_jitter: 0.5,
            request_resends: 5,
            grant_resends: Resends::Times(5),
            silence: Span::from_secs(3),
            largest_hold: Span::from_secs(15),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let millisecond = Span::from_millis(1);
        for (name, span) in [("interval", self.interval), ("first_delay", self.first_delay)] {
            Fault::unless(name, span, |it| it >= millisecond, "at least 1 ms")?;
        }
        params::check_jitter("jitter", self.jitter, "interval", self.interval)?;
        for (name, span) in [("hold", self.hold), ("largest_hold", self.largest_hold)] {
            if span < self.interval {
                let expected = format!("expected at least `interval`, {}; found {span}", self.interval);
                return Err(Fault::new(name, expected));
            }
        }
        // A HELLO has 16 bits for the age in milliseconds.
        let longest = Span::from_secs(60);
        Fault::unless("largest_hold", self.largest_hold, |it| it <= longest, format_args!("at most {longest}"))?;
        // A message has seven bits for the number.
        Fault::unless("request_resends", self.request_resends, |it| it <= 127, "at most 127")?;
        Fault::unless("coin", self.coin, |it| it > 0.0 && it <= 1.0, "a number above 0 and at most 1")?;
        Fault::unless("factor", self.factor, |it| (1.0..=1000.0).contains(&it), "a number from 1 to 1000")?;
        Fault::unless("try_jitter", self.try_jitter, |it| (0.0..=0.9).contains(&it), "a number from 0 to 0.9")?;
        Ok(())
    }
}
