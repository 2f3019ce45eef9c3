//! Pages over one connection with data both ways, segment by segment, against ns-2's FullTcp.
//!
//! Each conversation is run in ns-2 in three variants: as FullTcp is, without the causes of differences that have
//! nothing to do with sizes, and with objects of whole segments besides (`peers/README.md`).

use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app::{self, Law, request_response};
use hopyard_model::link::wired;
use hopyard_model::mobility::Position;
use hopyard_model::observe::{PacketEvent, Probe};
use hopyard_model::packet::{Body, Packet};
use hopyard_model::params::{Params as _, RFC};
use hopyard_model::routing;
use hopyard_model::transport::tcp::IdleRestart;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::world::{FlowSpec, NodeSpec, Spec, Transport, Watch, WireSpec, World};
use serde::Serialize;
use tabled::builder::Builder;
use tabled::settings::Style;

use super::Experiment;
use crate::comparison::Table;
use crate::figures::{self, Figures};

/// Fifty conversations, in three variants.
pub const FULL_TCP: Experiment = Experiment {
    name: "full_tcp",
    title: "Data both ways",
    run: |root, _| run(root),
    compare,
    needs: &["full_tcp.csv"],
};

/// A segment: when an end sent it, and its header.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Segment {
    time: f64,
    seq: u64,
    ack: u64,
    payload: u32,
    flags: String,
}

impl Segment {
    /// Whether another segment has the same header.
    fn is_same(&self, other: &Self) -> bool {
        Self { time: 0.0, ..self.clone() } == Self { time: 0.0, ..other.clone() }
    }
}

/// A conversation: its numbers in the order of the columns, and the segments of client and server.
#[derive(Clone, Debug, Default)]
pub struct Conversation {
    pub case: u32,
    pub variant: String,
    described: Vec<f64>,
    pub segments: [Vec<Segment>; 2],
}

/// The conversations of ns-2.
pub fn reference(root: &Path) -> Result<Vec<Conversation>> {
    let file = Figures::read(&root.join("peers/data/ns2_full_tcp.csv.gz"))?;
    let numbers = ["case", "variant", "rate_bps", "delay_s", "request", "answer", "parts", "pipelining", "pages"];
    let segments = ["time", "end", "seq", "ack", "payload", "flags"];
    let mut all: Vec<Conversation> = Vec::new();
    for row in file.select(&[&numbers[..], &segments].concat())? {
        if !row[0].is_empty() {
            let described = row[2..9].iter().map(|it| it.parse()).collect::<Result<_, _>>()?;
            let variant = row[1].to_owned();
            all.push(Conversation { case: row[0].parse()?, variant, described, segments: Default::default() });
        }
        let last = all.last_mut().context("a row that describes no case")?;
        last.segments[usize::from(row[10] == "server")].push(Segment {
            time: row[9].parse()?,
            seq: row[11].parse()?,
            ack: row[12].parse()?,
            payload: row[13].parse()?,
            flags: row[14].to_owned(),
        });
    }
    Ok(all)
}

impl Probe for Conversation {
    fn on_packet(&mut self, now: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event == PacketEvent::Originated
            && let Body::Tcp(header) = packet.body
        {
            let names = [(header.flags.syn, "SYN"), (header.flags.fin, "FIN"), (header.flags.ack, "ACK")];
            let flags: Vec<_> = names.iter().filter(|it| it.0).map(|it| it.1).collect();
            self.segments[node.index()].push(Segment {
                time: now.seconds(),
                seq: header.seq,
                ack: header.ack,
                payload: header.len,
                flags: flags.join(" "),
            });
        }
    }
}

impl Conversation {
    /// The same conversation, simulated.
    pub fn ours(&self) -> Result<Self> {
        let [rate, delay, request, answer, parts, pipelining, pages] = self.described[..] else {
            return Err(anyhow!("case {} has {} numbers", self.case, self.described.len()));
        };
        let size = |bytes: f64| Law::Constant(Bytes::new(bytes as u64));
        let traffic = request_response::Params {
            request: size(request),
            answer: size(answer),
            part: size(answer),
            parts: parts as u32,
            pipelining: pipelining as u32,
            pages: pages as u64,
            think: Law::Constant(Span::ZERO),
            ..request_response::Params::of_profile(RFC)
        };
        // As FullTcp: a window that grows on every acknowledgement, and no options.
        let mut tcp = tcp::Params { window: 700, timestamps: false, ..tcp::Params::of_profile(RFC) };
        if self.variant != "as_is" {
            tcp.idle_restart = IdleRestart::Off;
        }
        let mut congestion = congestion::Config::of_profile("newreno", RFC)?;
        if let congestion::Config::NewReno(params) = &mut congestion {
            params.grow_only_when_limited = false;
        }
        let wire = wired::Params {
            rate: Rate::from_bps(rate as u64),
            delay: Span::from_secs_f64(delay),
            queue_length: 10_000,
            ..wired::Params::of_profile(RFC)
        };
        let node = || NodeSpec {
            radios: Vec::new(),
            ..NodeSpec::stationary(Position::default(), routing::Config::of_profile("static", RFC).expect("a protocol"))
        };
        let spec = Spec {
            nodes: vec![node(), node()],
            wires: vec![WireSpec { ends: (NodeId(0), NodeId(1)), params: wire, network: None }],
            flows: vec![FlowSpec {
                from: NodeId(0),
                to: NodeId(1),
                start: Time::ZERO,
                stop: Time::NEVER,
                traffic: app::Config::RequestResponse(traffic.into()),
                label: String::new(),
                transport: Transport::Tcp {
                    config: Box::new(tcp::Config { tcp, congestion }),
                    acking: acking::Config::of_profile("every", RFC)?,
                },
                dscp: 0,
            }],
            duration: Span::from_secs(500),
            ..Spec::network(RFC)
        };
        let world = World::with_probe(&spec, Self::default()).map_err(|error| anyhow!("{error}"))?;
        let (_, ours) = world.run_watched(&Watch::default()).map_err(|failure| anyhow!(failure))?;
        Ok(ours)
    }

    /// The comparison of this conversation of ns-2 with ours.
    pub fn compared(&self, ours: &Self) -> Row {
        let [mut client, mut server] = self.segments.clone();
        let lone = self.variant == "as_is";
        if lone {
            // Another segment at the same instant has the same acknowledgement.
            client.remove(1);
            server.remove(server.len() - 2);
        }
        let theirs = [client, server];
        let airtime = if lone { HEADERS * 8.0 / self.described[0] } else { 0.0 };
        let (mut error, mut difference) = (0.0_f64, None);
        for (end, (theirs, ours)) in theirs.iter().zip(&ours.segments).enumerate() {
            let unlike = theirs.iter().zip(ours).position(|(a, b)| !a.is_same(b));
            let unlike = unlike.or_else(|| (theirs.len() != ours.len()).then(|| theirs.len().min(ours.len())));
            difference = difference.or(unlike.map(|place| format!("{} {place}", ["client", "server"][end])));
            for (place, (a, b)) in theirs.iter().zip(ours).enumerate().take(unlike.unwrap_or(usize::MAX)) {
                // The wire is busy with the acknowledgements that go alone.
                let later = match (end, place) {
                    (0, 0..=1) | (1, 0) => 0.0,
                    (0, place) if place + 1 == ours.len() => 2.0 * airtime,
                    _ => airtime,
                };
                error = error.max((a.time - b.time - later).abs());
            }
        }
        Row {
            case: self.case,
            variant: self.variant.clone(),
            segments_ns2: self.segments.iter().map(Vec::len).sum(),
            segments: ours.segments.iter().map(Vec::len).sum(),
            first_difference: difference,
            time_error_us: (error * 1e8).round() / 1e2,
        }
    }
}

/// Of IP and TCP, in bytes.
const HEADERS: f64 = 40.0;

/// A conversation in the table.
#[derive(Debug, Serialize)]
pub struct Row {
    case: u32,
    variant: String,
    segments_ns2: usize,
    segments: usize,
    pub first_difference: Option<String>,
    pub time_error_us: f64,
}

fn run(root: &Path) -> Result<()> {
    let rows =
        reference(root)?.iter().map(|theirs| Ok(theirs.compared(&theirs.ours()?))).collect::<Result<Vec<_>>>()?;
    figures::write(&root.join("results/full_tcp.csv"), &rows)
}

/// A line for each kind of conversation.
fn compare(root: &Path) -> Result<Vec<Table>> {
    let file = Figures::read(&root.join("results/full_tcp.csv"))?;
    let mut builder = Builder::default();
    builder.push_record([
        "conversations",
        "FullTcp",
        "segments, ns-2",
        "Hopyard",
        "equal",
        "their largest difference of time, µs",
        "required",
        "met",
    ]);
    let mut table =
        Table { title: "Segments of both ends".into(), text: String::new(), bounded: 0, met: 0, worst: 0.0 };
    let columns = ["case", "variant", "segments_ns2", "segments", "first_difference", "time_error_us"];
    let rows: Vec<_> = file.select(&columns)?.collect();
    for (kind, cases) in [("requests and answers", 1..=25), ("large objects both ways", 26..=50)] {
        for (variant, name) in [("as_is", "as it is"), ("alike", "alike"), ("whole", "alike, whole segments")] {
            // What differs in the other variants is explained by these.
            let is_bounded = variant == "whole" || (variant, cases.end()) == ("alike", &25);
            let (mut count, mut equal, mut sums, mut error) = (0, 0, [0_usize; 2], 0.0_f64);
            for row in &rows {
                if !cases.contains(&row[0].parse::<u32>()?) || row[1] != variant {
                    continue;
                }
                let time: f64 = row[5].parse()?;
                let is_equal = row[4].is_empty() && time <= 2.0;
                count += 1;
                equal += usize::from(is_equal);
                error = error.max(if is_equal { time } else { 0.0 });
                sums = [sums[0] + row[2].parse::<usize>()?, sums[1] + row[3].parse::<usize>()?];
            }
            let mut record =
                vec![format!("{count} of {kind}"), name.to_owned(), sums[0].to_string(), sums[1].to_string()];
            record.extend([equal.to_string(), format!("{error:.2}")]);
            if is_bounded {
                table.bounded += count;
                table.met += equal;
                let met = if equal == count { "yes" } else { "**no**" };
                record.extend(["all equal, 2 µs".to_owned(), met.to_owned()]);
            }
            builder.push_record(record);
        }
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    Ok(vec![table])
}
