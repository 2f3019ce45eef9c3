//! The tables about hosts that move between networks and keep their addresses.

use std::ops::RangeInclusive;

use hopyard_engine::{Span, word_or};
use hopyard_model::params::{Fault, Params};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::energy::Interval;
use super::network::Network;

/// When an agent first advertises.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum First {
    /// At a random time within the first interval.
    #[default]
    Random,
    /// At a time after the start of the run.
    At(Span),
}

const FIRST: &str = "a time such as \"0.3 s\", or \"random\"";

word_or!(First { "random" => Random, At }, "First", FIRST);

/// `[[home_agent]]`: a node that forwards what is for its hosts to where they are (RFC 5944 §3.8).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HomeAgent {
    /// The node.
    pub node: u32,
    /// The prefix of the network on its radio, in which its hosts have their home addresses, such as "10.1.0.0/24";
    /// "auto": the next free one. An agent without a radio has none.
    pub network: Network,
    /// The numbers of the wires on which it advertises too.
    pub wires: Vec<u32>,
    /// When it first advertises: a time, or "random".
    pub first: First,
    /// When its agent begins anew, in order: it forgets its hosts, and its advertisements are numbered from 0.
    pub restarts: Vec<Span>,
    /// When its agent does not run, in order: it forgets its hosts when it stops, and begins anew.
    pub down: Vec<Interval>,
    /// The codes with which it denies every request, and the times: `{ code = 128, from = "10 s", to = "20 s" }`, with
    /// a code of 128 to 192.
    pub deny: Vec<Denial>,
    /// The numbers of hosts that it does not serve (code 129), although they name it as their home agent.
    pub refuses: Vec<u32>,
    /// When the authenticators of its replies for foreign agents are wrong (code 68), in order.
    pub forged: Vec<Interval>,
    /// When its replies are poorly formed (code 71), in order.
    pub malformed: Vec<Interval>,
}

section!(HomeAgent, |it| {
    check_restarts(&it.restarts)?;
    check_denials(&it.deny, &[128..=192])?;
    check_intervals("down", &it.down)?;
    check_intervals("forged", &it.forged)?;
    check_intervals("malformed", &it.malformed)
});

/// `[[foreign_agent]]`: a node that serves hosts of other networks (RFC 5944 §3.7). A node may be a home agent too;
/// then `network`, `wires` and `first` of both tables are the same, and the orders of both hold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ForeignAgent {
    /// The node.
    pub node: u32,
    /// The prefix of the network on its radio, such as "10.2.0.0/24"; "auto": the next free one. An agent without a
    /// radio has none.
    pub network: Network,
    /// The numbers of the wires on which it advertises too.
    pub wires: Vec<u32>,
    /// When it first advertises: a time, or "random".
    pub first: First,
    /// When its agent begins anew, in order: it forgets its hosts, and its advertisements are numbered from 0.
    pub restarts: Vec<Span>,
    /// When its agent does not run, in order: it forgets its hosts when it stops, and begins anew.
    pub down: Vec<Interval>,
    /// The codes with which it denies every request, and the times: `{ code = 64, from = "10 s", to = "20 s" }`, with a
    /// code of 64 to 127, or 194.
    pub deny: Vec<Denial>,
    /// The numbers of hosts that it does not serve (code 65).
    pub refuses: Vec<u32>,
    /// When the authenticators of the requests that it passes on to home agents are wrong (code 132), in order.
    pub forged: Vec<Interval>,
}

section!(ForeignAgent, |it| {
    check_restarts(&it.restarts)?;
    check_denials(&it.deny, &[64..=127, 194..=194])?;
    check_intervals("down", &it.down)?;
    check_intervals("forged", &it.forged)
});

/// `[[mobile_host]]`: a node that moves between networks and keeps its address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MobileHost {
    /// The numbers of such nodes.
    pub nodes: Vec<u32>,
    /// The node that is their home agent.
    pub home: u32,
    /// When their messages have wrong authenticators, in order.
    pub forged: Vec<Interval>,
    /// When their messages have wrong authenticators for foreign agents (code 67), in order.
    pub forged_foreign: Vec<Interval>,
    /// When their requests are poorly formed (codes 70 and 134), in order.
    pub malformed: Vec<Interval>,
}

section!(MobileHost, |host| {
    check_intervals("forged", &host.forged)?;
    check_intervals("forged_foreign", &host.forged_foreign)?;
    check_intervals("malformed", &host.malformed)
});

/// A code with which an agent denies every request for some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Denial {
    /// The code of the replies (RFC 5944 §3.4).
    pub code: u8,
    /// When it begins, from the start of the run.
    pub from: Span,
    /// When it ends.
    pub to: Span,
}

fn no_length(from: Span, to: Span) -> String {
    format!("the time from {from} to {to} has no length: it must end after it begins")
}

fn check_intervals(key: &'static str, intervals: &[Interval]) -> Result<(), Fault> {
    let mut faults = Vec::new();
    let mut before = Span::ZERO;
    for (place, &Interval { from, to }) in intervals.iter().enumerate() {
        if to <= from {
            faults.push((place, no_length(from, to)));
        } else if from < before {
            faults.push((place, format!("the time from {from} begins before the last one ends, which is at {before}")));
        }
        before = before.max(to);
    }
    Fault::of_elements(key, faults)
}

fn check_restarts(times: &[Span]) -> Result<(), Fault> {
    let unordered = times.windows(2).enumerate().filter(|(_, pair)| pair[1] <= pair[0]);
    let faults = unordered.map(|(place, pair)| (place + 1, format!("{} does not come after {}", pair[1], pair[0])));
    Fault::of_elements("restarts", faults.collect())
}

fn check_denials(denials: &[Denial], codes: &[RangeInclusive<u8>]) -> Result<(), Fault> {
    let mut faults = Vec::new();
    for (place, &Denial { code, from, to }) in denials.iter().enumerate() {
        if !codes.iter().any(|it| it.contains(&code)) {
            let range = |it: &RangeInclusive<u8>| match (it.start(), it.end()) {
                (first, last) if first == last => first.to_string(),
                (first, last) => format!("one from {first} to {last}"),
            };
            let expected = codes.iter().map(range).collect::<Vec<_>>().join(", or ");
            let problem = format!("such an agent does not deny with code {code}: expected {expected}");
            faults.push((place, problem));
        }
        if to <= from {
            faults.push((place, no_length(from, to)));
        }
        // A reply has one code.
        if let Some(other) = denials[..place].iter().find(|it| it.from < to && from < it.to) {
            faults
                .push((place, format!("code {} is for times from {} to {} already", other.code, other.from, other.to)));
        }
    }
    Fault::of_elements("deny", faults)
}
