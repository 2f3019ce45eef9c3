//! The keys of flows: `[[flow]]` has the keys of one flow, and `[flows]` the keys of a set of flows between pairs that
//! are drawn.

use hopyard_engine::{Span, Time, word_or};
use hopyard_model::packet::Dscp;
use hopyard_model::params::{Fault, Given, LINUX, NS2, Params, RFC, read_given};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::sections::{Stack, To};

/// When something ends: at a time, or at the end of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Until {
    /// At the end of the run.
    #[default]
    End,
    /// At a time after the start of the run.
    At(Span),
}

const UNTIL: &str = "a time such as \"300 s\", or \"end\"";

impl Until {
    /// The instant, in a run of this duration.
    #[must_use]
    pub fn time(self, duration: Span) -> Time {
        Time::ZERO
            + match self {
                Self::End => duration,
                Self::At(span) => span.min(duration),
            }
    }
}

word_or!(Until { "end" => End, At }, "Until", UNTIL, ["300 s", "end"]);

/// `[[flow]]`: one node sends to another. Keys of `[tcp]` are possible here too and apply to this flow. The parameters
/// of the variant, of the acknowledgement policy and of the traffic are in `[flow.NAME]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// The node that sends. "last" is the last node; it needs `count` or `positions` in `[nodes]`.
    #[serde(deserialize_with = "node_or_last")]
    #[schemars(with = "NodeOrLast")]
    pub from: u32,
    /// The node that receives; "last" is the last node, as in `from`. A list of nodes: each gets packets of its own
    /// with the same data. The name of a `[[group]]`, or "all": the packets go to the group. Each destination is a flow
    /// of its own in the results, with the number of the flow for the first one, and with numbers behind all flows of
    /// the scenario for the others.
    pub to: To,
    /// The TCP variant: a model, or `module:Class` for a congestion control written in Python.
    pub tcp: String,
    /// Whether the flow uses UDP instead of TCP.
    pub udp: bool,
    /// The receiver's acknowledgement policy. The default is "delayed" (RFC 9293 §3.8.6.3), "every" in the profile
    /// `ns2`, and "quick" in the profile `linux`.
    pub acking: String,
    /// The traffic of the application. The default is "ftp" over TCP and "cbr" over UDP.
    pub traffic: String,
    /// Whose TCP it is: "hopyard", or "linux", for kernels in simulated time (`[linux]`). Of the keys of TCP, kernels
    /// follow `tcp`, and `segment_size` as far as datagrams of 1500 bytes allow; everything else is Linux's own.
    pub stack: Stack,
    /// The time at which the flow starts.
    pub start: Span,
    /// The time at which the flow stops: a time, or "end".
    pub stop: Until,
    /// A name for this flow, or for several that have the same: letters, digits, "-", "_" and ".". Results have it in
    /// the column `label`, and `--measure "goodput[NAME]"` is the goodput of these flows alone.
    pub label: String,
    /// The class of the packets, in both directions, by which the MAC `edca` chooses their category: a differentiated
    /// services code point such as "ef", "af41", "cs6", or a number from "0" to "63".
    pub dscp: Dscp,
}

const NODE_OR_LAST: &str =
    "a whole number from 0 to 4294967295, or \"last\" where [nodes] says how many nodes there are";

/// Reads a node's number. The word "last" has been replaced before, where the number of nodes is known.
fn node_or_last<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    read_given(deserializer, NODE_OR_LAST, |given: Given<'_, de::IgnoredAny>| match given {
        Given::Whole(node) => node.try_into().ok(),
        _ => None,
    })
}

/// The schema of a node's number or "last".
struct NodeOrLast;

impl JsonSchema for NodeOrLast {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "NodeOrLast".into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{ "type": "integer", "minimum": 0, "maximum": u32::MAX }, { "const": "last" }],
            "description": "a whole number, or \"last\"",
            "examples": [0, "last"],
        })
    }
}

impl Flow {
    fn of(profile: &str) -> Self {
        Self {
            from: 0,
            to: To::Node(0),
            tcp: "newreno".to_owned(),
            udp: false,
            acking: match profile {
                NS2 => "every",
                LINUX => "quick",
                _ => "delayed",
            }
            .to_owned(),
            traffic: "ftp".to_owned(),
            stack: Stack::Hopyard,
            start: Span::ZERO,
            stop: Until::End,
            label: String::new(),
            dscp: Dscp::default(),
        }
    }
}

impl Flow {
    /// The nodes that are named at its ends, each with its key.
    pub(crate) fn ends(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        std::iter::once(("from", self.from)).chain(self.to.nodes().iter().map(|to| ("to", *to)))
    }

    /// The source with each destination that is named.
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.to.nodes().iter().map(|to| (self.from, *to))
    }
}

impl Params for Flow {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, LINUX];

    fn of_profile(profile: &str) -> Self {
        Self::of(profile)
    }

    fn check(&self) -> Result<(), Fault> {
        check_label(&self.label)
    }
}

/// A label stands in names of measures and of files.
fn check_label(label: &str) -> Result<(), Fault> {
    if label.chars().all(|it| it.is_alphanumeric() || "-_.".contains(it)) {
        return Ok(());
    }
    let problem = format!("expected letters, digits, \"-\", \"_\" and \".\", found {label:?}");
    Err(Fault::new("label", problem))
}

/// Which pairs of nodes are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pairs {
    /// Any two nodes.
    #[default]
    Any,
    /// Two nodes of one group.
    WithinGroup,
    /// Nodes of different groups.
    BetweenGroups,
}

/// `[flows]`: flows between randomly drawn pairs of nodes, drawn again in every run; otherwise like `[[flow]]`. Several
/// sets of flows, each drawn by itself, are a list: `[[flows]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flows {
    /// The number of flows. All ordered pairs of two nodes with radios are equally likely, and no pair is drawn twice.
    pub random: u32,
    /// In place of `random`: the share of the nodes with radios that are sources, from 0 to 1. The number of sources is
    /// rounded down. Each is the source of one flow, to a destination that is drawn.
    pub share: f64,
    /// Which pairs are drawn: "any", "within_group" or "between_groups". A node's group is the one in which it starts,
    /// as its movement model forms it; a leader and the nodes that follow it are a group.
    pub pairs: Pairs,
    /// The TCP variant: a model, or `module:Class` for a congestion control written in Python.
    pub tcp: String,
    /// Whether the flows use UDP instead of TCP.
    pub udp: bool,
    /// The receivers' acknowledgement policy. The default is "delayed" (RFC 9293 §3.8.6.3), "every" in the profile
    /// `ns2`, and "quick" in the profile `linux`.
    pub acking: String,
    /// The traffic of the application. The default is "ftp" over TCP and "cbr" over UDP.
    pub traffic: String,
    /// Whose TCP it is: "hopyard", or "linux", as in `[[flow]]`.
    pub stack: Stack,
    /// The earliest and the latest start; the start of each flow is drawn uniformly between them.
    pub start: [Span; 2],
    /// The time at which the flows stop: a time, or "end".
    pub stop: Until,
    /// A name for the flows of this set, as in `[[flow]]`.
    pub label: String,
    /// The class of the packets, as in `[[flow]]`.
    pub dscp: Dscp,
}

impl Params for Flows {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, LINUX];

    fn of_profile(profile: &str) -> Self {
        let flow = Flow::of(profile);
        Self {
            random: 0,
            share: 0.0,
            pairs: Pairs::Any,
            tcp: flow.tcp,
            udp: flow.udp,
            acking: flow.acking,
            traffic: flow.traffic,
            stack: flow.stack,
            start: [Span::ZERO; 2],
            stop: Until::End,
            label: flow.label,
            dscp: flow.dscp,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_label(&self.label)?;
        Fault::unless("share", self.share, |it| (0.0..=1.0).contains(&it), "a share from 0 to 1")?;
        if self.share > 0.0 && self.random > 0 {
            let problem = format!("expected either `random` or `share`, found {} and {}", self.random, self.share);
            return Err(Fault::new("share", problem));
        }
        if self.start[0] > self.start[1] {
            return Err(Fault::new(
                "start",
                format!("expected the earliest start first, found {} before {}", self.start[0], self.start[1]),
            ));
        }
        Ok(())
    }
}

impl Flows {
    /// The number of flows among this number of nodes with radios.
    #[must_use]
    pub fn number(&self, nodes: u32) -> u32 {
        // 0.29 of 100 nodes is a little less than 29 in binary digits.
        let sources = libm::floor(self.share * f64::from(nodes) + 1e-9);
        if self.random > 0 { self.random } else { sources as u32 }
    }

    /// The key that says how many flows there are.
    #[must_use]
    pub const fn number_key(&self) -> &'static str {
        if self.random == 0 && self.share > 0.0 { "share" } else { "random" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ends_are_times_or_the_end() {
        assert_eq!(serde_json::from_value::<Until>(json!("end")).ok(), Some(Until::End));
        assert_eq!(serde_json::from_value::<Until>(json!("2 s")).ok(), Some(Until::At(Span::from_secs(2))));
        let error = serde_json::from_value::<Until>(json!("2")).expect_err("no unit").to_string();
        assert_eq!(error, "expected a time such as \"300 s\", or \"end\", found \"2\"");
        assert_eq!(Until::At(Span::from_secs(9)).time(Span::from_secs(5)), Time::ZERO + Span::from_secs(5));
    }

    #[test]
    fn a_share_of_the_nodes_is_rounded_down() {
        let number = |share: f64, nodes: u32| Flows { share, ..Flows::of_profile(RFC) }.number(nodes);
        for (share, nodes, expected) in
            [(0.1, 18, 1), (0.1, 96, 9), (0.1, 9, 0), (0.29, 100, 29), (1.0, 7, 7), (0.7, 10, 7), (1.0 / 3.0, 18, 6)]
        {
            assert_eq!(number(share, nodes), expected, "{share} of {nodes}");
        }
        assert_eq!(Flows { random: 4, ..Flows::of_profile(RFC) }.number(3), 4);
    }

    #[test]
    fn labels_are_names() {
        let flow = |label: &str| Flow { label: label.to_owned(), ..Flow::of(RFC) }.check();
        for label in ["", "video", "Übung-2_b.c"] {
            assert_eq!(flow(label).err().map(|fault| fault.problem), None, "{label}");
        }
        for label in ["a b", "a,b", "a[b]", "../a", "a\nb"] {
            let fault = flow(label).expect_err(label);
            assert_eq!(fault.parameter, "label");
            assert!(Flows { label: label.to_owned(), ..Flows::of_profile(RFC) }.check().is_err(), "{label}");
        }
    }

    #[test]
    fn impossible_sets_are_named() {
        let fault = |flows: Flows| flows.check().err().map(|fault| fault.parameter);
        let usual = || Flows::of_profile(RFC);
        assert_eq!(fault(usual()), None);
        assert_eq!(fault(Flows { start: [Span::from_secs(2), Span::from_secs(1)], ..usual() }), Some("start"));
        for share in [-0.1, 1.1, f64::NAN] {
            assert_eq!(fault(Flows { share, ..usual() }), Some("share"), "{share}");
        }
        assert_eq!(fault(Flows { share: 0.5, random: 2, ..usual() }), Some("share"));
    }
}
