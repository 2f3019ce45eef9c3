//! What Wireshark's analysis of TCP finds in captures, compared with ns-2's segments and with the simulator's counters.

use std::collections::BTreeMap;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::observe::capture::{self, Capture, Flow, Kind, Names, Options, station_of};
use hopyard_model::observe::{PacketEvent, Probe};
use hopyard_model::packet::{Body, FlowId, Packet, TcpFlags, TcpHeader};
use hopyard_model::params::RFC;
use hopyard_model::transport::{acking, tcp};
use hopyard_model::world::{Spec, Transport};
use hopyard_wire::pcapng::LinkType;

use crate::common::{add_tcp, run_with};
use crate::probe::{captured, wires};
use crate::tshark::{capture_file, fields};
use crate::two_links::ns2_config;
use crate::{address_of, create, runs};

/// Wireshark's findings that are compared.
const FINDINGS: [&str; 7] = [
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.lost_segment",
    "tcp.analysis.ack_lost_segment",
];

/// A segment, and what Wireshark finds about it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Analysed {
    /// Sequence number, length and acknowledgement number.
    segment: [u64; 3],
    findings: Vec<&'static str>,
}

/// The segments of an interface, or of all.
fn analysed(file: &Path, interface: Option<&str>) -> Option<Vec<Analysed>> {
    let mut names = vec!["frame.interface_name", "tcp.seq_raw", "tcp.len", "tcp.ack_raw"];
    names.extend(FINDINGS);
    let mut lines = fields(file, &names)?;
    lines.retain(|line| interface.is_none_or(|interface| line[0] == interface) && !line[1].is_empty());
    let number = |text: &String| text.parse().expect("a number");
    let analysed = lines.iter().map(|line| Analysed {
        segment: [number(&line[1]), number(&line[2]), number(&line[3])],
        findings: (4..line.len()).filter(|&at| !line[at].is_empty()).map(|at| FINDINGS[at - 4]).collect(),
    });
    Some(analysed.collect())
}

fn count(segments: &[Analysed], findings: &[&str]) -> u64 {
    segments.iter().filter(|it| it.findings.iter().any(|found| findings.contains(found))).count() as u64
}

const DUPLICATE: &str = FINDINGS[4];
/// What a sender of data sends again.
const AGAIN: [&str; 4] = [FINDINGS[0], FINDINGS[1], FINDINGS[2], FINDINGS[3]];

/// An event of ns-2's trace at the sender: the number of a segment that it sends, or that is acknowledged.
#[derive(Clone, Copy, Debug)]
struct Event {
    time: f64,
    is_ack: bool,
    segment: u64,
    again: bool,
}

/// The cases of `clean` in the reference, by variant and case: the lost segments, and the events.
fn reference() -> BTreeMap<(String, String), (Vec<u64>, Vec<Event>)> {
    let bytes = include_bytes!("../../../../validation/peers/data/ns2_forced_drops.csv.gz");
    let mut text = String::new();
    GzDecoder::new(&bytes[..]).read_to_string(&mut text).expect("it is compressed text");
    let mut cases: BTreeMap<_, (Vec<u64>, Vec<Event>)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        if words[0] != "clean" {
            continue;
        }
        let (drops, events) = cases.entry((words[1].to_owned(), words[2].to_owned())).or_default();
        *drops = words[3].split_whitespace().map(|word| word.parse().expect("a number")).collect();
        let segment: i64 = words[6].parse().expect("a number");
        events.push(Event {
            time: words[4].parse().expect("a time"),
            is_ack: words[5] == "ack",
            // An acknowledgement of segment n asks for n + 1; of -1, for the first.
            segment: (segment + i64::from(words[5] == "ack")) as u64,
            again: words[8] == "1",
        });
    }
    cases
}

/// A capture of ns-2's segments at the sender.
fn capture_of(name: &str, params: &tcp::Params, events: &[Event]) -> PathBuf {
    let flow = |id: FlowId| Flow::tcp(id, params, false);
    let names = Names { address: &address_of, station: &station_of, flow: &flow };
    let file = capture_file(name);
    let mut writer = create(&file);
    let wire = writer.add_interface("ns-2", LinkType::RAW).expect("room");
    let size = params.segment_size.count();
    for event in events {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let header = TcpHeader { window: 100_000, flags, ..TcpHeader::default() };
        let header = if event.is_ack {
            TcpHeader { ack: event.segment * size, ..header }
        } else {
            TcpHeader { seq: event.segment * size, len: size as u32, ..header }
        };
        let (source, destination) = if event.is_ack { (Address(4), Address(0)) } else { (Address(0), Address(4)) };
        let packet = Packet {
            created: Time::ZERO,
            source,
            destination,
            flow: FlowId(0),
            size: header.length(),
            ttl: 32,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Tcp(header),
        };
        let mut bytes = Vec::new();
        capture::packet(&packet, &names, &mut bytes).expect("it has an encoding");
        writer.packet(wire, (event.time * 1e9).round() as u64, &bytes, &[]).expect("room");
    }
    writer.finish().expect("room");
    file
}

fn with_ns2(variant: &str, drops: &[u64]) -> Spec {
    let mut spec = wires("ns2");
    spec.wires[1].params.losses.packets = drops.to_vec();
    add_tcp(&mut spec, 0, 2, "ns2", "newreno", |_| {});
    spec.flows[0].transport = Transport::Tcp {
        config: Box::new(ns2_config("clean", variant)),
        acking: acking::Config::of_profile("every", "ns2").expect("a policy"),
    };
    Spec { duration: Span::from_millis(3500), ..spec }
}

/// Losses that need several retransmissions, of which some are lost too, and timeouts.
const CASES: [&str; 3] = ["drop3", "drop4", "drop1_and_its_rtx"];

#[test]
fn wireshark_finds_the_same_in_ns2s_segments_and_in_ours() {
    let mut cases = reference();
    cases.retain(|(_, case), _| CASES.contains(&case.as_str()));
    assert_eq!(cases.len(), 6 * CASES.len());
    let mut duplicates = 0;
    for ((variant, case), (drops, events)) in cases {
        let name = format!("{variant}-{case}");
        let spec = with_ns2(&variant, &drops);
        let Transport::Tcp { config, .. } = &spec.flows[0].transport else { panic!("it is TCP") };
        let (file, outcome) = captured(&format!("{name}-ours"), &spec, &[0], &[Kind::Wire]);
        let Some(ours) = analysed(&file, None) else { return };
        let theirs = analysed(&capture_of(&format!("{name}-ns2"), &config.tcp, &events), None).expect("it ran before");
        // Ours begin half a millisecond later, because ns-2 leaves the headers of its first segment out.
        let length = ours.len().min(theirs.len());
        assert!(theirs.len() - length < 4, "{name}: {} of {}", ours.len(), theirs.len());
        assert_eq!(ours[..length], theirs[..length], "{name}");
        // Both know what they send again.
        let again = events.iter().filter(|it| it.again).count() as u64;
        assert_eq!([count(&theirs, &AGAIN), count(&ours, &AGAIN)], [again; 2], "{name}");
        assert_eq!(outcome.flows[0].retransmissions, again, "{name}");
        duplicates += count(&ours, &[DUPLICATE]);
    }
    assert!(duplicates > 200, "{duplicates}");
}

/// Counts the acknowledgements that reach the source of a flow, and repeat the one before.
#[derive(Debug, Default)]
struct Repeated {
    last: Option<TcpHeader>,
    count: u64,
}

impl Probe for Repeated {
    fn on_packet(&mut self, _: Time, node: NodeId, packet: &Packet, event: PacketEvent) {
        if event != PacketEvent::Delivered {
            return;
        }
        let Body::Tcp(header) = packet.body else { return };
        if node == NodeId(0) {
            let repeats = |last: TcpHeader| (last.ack, last.window) == (header.ack, header.window) && !last.flags.syn;
            self.count += u64::from(self.last.is_some_and(repeats));
            self.last = Some(header);
        }
    }
}

#[test]
fn wireshark_and_the_counters_agree_over_radios_that_lose() {
    for variant in ["newreno", "sack"] {
        let mut spec = runs::chain(RFC, "aodv", variant, |tcp| tcp.window = 60);
        spec.link.queue_length = 8;
        let file = capture_file(&format!("host-{variant}"));
        let options = Options { nodes: Some([NodeId(0)].into()), kinds: [Kind::Host].into(), comments: Vec::new() };
        let probe = (Capture::create(&file, options).expect("a file"), Repeated::default());
        let (outcome, (capture, repeated)) = run_with(&spec, probe);
        capture.finish().expect("room");
        let Some(found) = analysed(&file, None) else { return };
        let row = &outcome.flows[0];
        assert!(row.retransmissions > 3 && row.timeouts > Some(0) && row.fast_retransmits > Some(0), "{row:?}");
        assert_eq!(count(&found, &AGAIN), row.retransmissions, "{variant}: {row:?}");
        assert_eq!(count(&found, &[DUPLICATE]), repeated.count, "{variant}");
        // At its source no segment is missing.
        assert_eq!(count(&found, &["tcp.analysis.lost_segment", "tcp.analysis.ack_lost_segment"]), 0, "{variant}");
    }
}

#[test]
fn drops_do_not_mislead_the_analysis() {
    let mut spec = wires(RFC);
    spec.wires[0].params.losses.segments = vec![20, 40, 41];
    add_tcp(&mut spec, 0, 2, RFC, "newreno", |_| {});
    spec.duration = Span::from_secs(5);
    let (alone, _) = captured("without-drops", &spec, &[0], &[Kind::Wire]);
    let (both, outcome) = captured("with-drops", &spec, &[0], &[Kind::Wire, Kind::Drops]);
    let Some(expected) = analysed(&alone, None) else { return };
    assert_eq!(analysed(&both, Some("node 0 wire to 1")).expect("it ran before"), expected);
    assert_eq!(count(&expected, &AGAIN), outcome.flows[0].retransmissions);
    // The drops are found by their addresses and ports, and have no sequence number to be analysed.
    let names = ["frame.interface_name", "ip.src", "tcp.srcport", "tcp.seq", "frame.comment"];
    let lines = fields(&both, &names).expect("it ran before");
    let drops: Vec<_> = lines.iter().filter(|line| line[0] == "node 0 drops").collect();
    assert_eq!(drops.len(), 3);
    for drop in drops {
        assert_eq!(drop[1..4], ["192.168.0.1", "61440", ""], "{drop:?}");
        assert!(drop[4].starts_with("dropped: scripted_loss at node 0, flow 0 seq "), "{drop:?}");
    }
}
