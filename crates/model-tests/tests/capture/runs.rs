//! Whole runs: every packet and every frame on the air has its bytes.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::units::{Bytes, Distance, Frequency, Power};
use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::mac::dcf::{Amendment, Params};
use hopyard_model::mobility::{self, Position, waypoints};
use hopyard_model::observe::capture::{Flow, Frame, FrameKind, Names, packet, radiotap, size_note, station_of};
use hopyard_model::observe::{FrameEdge, FrameView, Probe, Reception};
use hopyard_model::packet::{Body, FlowId, Packet};
use hopyard_model::params::{NS2, Params as _, RFC};
use hopyard_model::phy::frame::Header;
use hopyard_model::phy::mode::Guard;
use hopyard_model::transport::{acking, congestion, tcp};
use hopyard_model::world::{FlowSpec, NodeSpec, Spec, Transport};
use hopyard_model::{app, mac, phy, routing};
use hopyard_wire::pcapng::{Direction, LinkType, Record};

use crate::tshark::{ERROR, capture_file, fields, objections};
use crate::{address_of, create};

/// A chain of four nodes. A TCP connection and datagrams go from one end to the other, from the time at which DSDV
/// knows its routes. Four seconds later the last node goes away.
pub fn chain(profile: &str, protocol: &str, variant: &str, change: impl FnOnce(&mut tcp::Params)) -> Spec {
    let start = Time::ZERO + Span::from_secs(100);
    let leaves = Span::from_secs(104);
    let node = |number: u32| {
        let start = Position::ground(f64::from(number) * 200.0, 0.0);
        let point = |at, y| waypoints::Waypoint::ground(at, Distance::new(start.x), Distance::new(y));
        let away = vec![point(leaves, 0.0), point(leaves + Span::from_millis(10), 5000.0)];
        NodeSpec {
            mobility: if number == 3 {
                mobility::Config::Waypoints(waypoints::Params { track: away, orders: Vec::new() }.into())
            } else {
                mobility::Config::of_profile("stationary", profile).expect("a mobility model")
            },
            start,
            movements: None,
            table: 0,
            radios: vec![0],
            routing: routing::Config::of_profile(protocol, profile).expect("a routing protocol"),
            agents: Vec::new(),
        }
    };
    let mut tcp = tcp::Params::of_profile(profile);
    change(&mut tcp);
    let congestion = congestion::Config::of_profile(variant, profile).expect("a TCP variant");
    let acking = acking::Config::of_profile("every", profile).expect("a way of acknowledging");
    let mut cbr = app::cbr::Params::of_profile(profile);
    (cbr.packet_size, cbr.interval) = (Bytes::new(100), Span::from_millis(100));
    let flow = |traffic, transport| FlowSpec {
        from: NodeId(0),
        to: NodeId(3),
        start,
        stop: Time::NEVER,
        traffic,
        transport,
        label: String::new(),
        dscp: 0,
    };
    let mut spec = Spec::network(profile);
    spec.seed = 5;
    spec.duration = Span::from_secs(109);
    spec.nodes = (0..4).map(node).collect();
    spec.channels[0].radio.receive = phy::Sensitivity::Range(Distance::new(250.0)).into();
    spec.channels[0].radio.sense = phy::Sensitivity::Range(Distance::new(550.0));
    spec.flows = vec![
        flow(
            app::Config::of_profile("ftp", profile).expect("traffic"),
            Transport::Tcp { config: Box::new(tcp::Config { tcp, congestion }), acking },
        ),
        flow(app::Config::Cbr(cbr.into()), Transport::Udp),
    ];
    spec
}

/// The interface whose frames are kept. It is between a sender and one that is hidden from it.
const WATCHED: InterfaceId = InterfaceId(1);

/// A frame at one radio.
#[derive(Debug)]
struct Seen {
    time: Time,
    direction: Direction,
    bytes: Vec<u8>,
}

/// Turns all frames into bytes. Keeps those of one radio, and by how many bytes those of each kind differ from what
/// is counted for them.
#[derive(Debug)]
struct Encoder {
    tcp: tcp::Params,
    frames: Vec<Seen>,
    differences: BTreeMap<&'static str, BTreeSet<i64>>,
}

/// What a packet is, in more detail than counters need.
fn kind(it: &Packet) -> &'static str {
    match &it.body {
        Body::Tcp(header) if header.flags.syn => "SYN",
        Body::Tcp(header) if header.len > 0 => "segment",
        Body::Tcp(header) if !header.sack.is_empty() => "SACK",
        Body::Tcp(_) => "acknowledgement",
        Body::Udp(_) => "datagram",
        Body::Arp(_) => "ARP",
        Body::Routing(message) | Body::Control { message, .. } => message.kind(),
        Body::Icmp(_) => "error",
        Body::External(_) | Body::Frame(_) | Body::Mpdu(_) => "external",
        Body::Tunnelled(..) => "tunnel",
        Body::Extended(_) | Body::Empty => "options",
    }
}

impl Encoder {
    fn note(&mut self, kind: &'static str, counted: u32, captured: usize) {
        let difference = captured as i64 - i64::from(counted);
        assert_eq!(size_note(counted, captured).is_some(), difference != 0);
        self.differences.entry(kind).or_default().insert(difference);
    }

    fn encode(&mut self, frame: &FrameView<'_>, signal: Option<Power>, damaged: bool) -> Vec<u8> {
        let flow = |id: FlowId| if id == FlowId(0) { Flow::tcp(id, &self.tcp, true) } else { Flow::udp(id) };
        let names = Names { address: &address_of, station: &station_of, flow: &flow };
        let mut body = Vec::new();
        let kind = match frame.header {
            Header::Rts => FrameKind::Rts,
            Header::Cts => FrameKind::Cts,
            Header::Ack => FrameKind::Ack,
            Header::Data { sequence, retry } => {
                let it = frame.packet.expect("a data frame has a packet");
                let protocol = packet(it, &names, &mut body).expect("every packet has an encoding");
                FrameKind::Data { protocol, packet: &body, sequence, retry, bssid: Frame::network(0), tid: None }
            }
            other => panic!("the DCF has no {other:?}"),
        };
        let (transmitter, receiver) = (station_of(frame.transmitter), station_of(frame.receiver));
        let it = Frame { kind, duration: frame.duration, transmitter, receiver, damaged };
        let mut bytes = Vec::new();
        radiotap(frame.mode, frame.preamble, Some(Frequency::new(2412e6)), signal, damaged, None).emit(&mut bytes);
        let before = bytes.len();
        it.emit(&mut bytes).expect("every frame has an encoding");
        self.sizes(frame, body.len(), bytes.len() - before);
        bytes
    }

    /// The time on the air, less the long preamble, gives the bytes that are counted. In OFDM, bits fill the last
    /// symbol.
    fn sizes(&mut self, frame: &FrameView<'_>, body: usize, whole: usize) {
        if frame.mode.extra_bits > 0 {
            return;
        }
        let seconds = frame.airtime.saturating_sub(Span::from_micros(192)).seconds();
        let counted = (seconds * frame.mode.rate().bps() as f64 / 8.0).round() as u32;
        match (frame.header, frame.packet) {
            (Header::Data { .. }, Some(it)) => {
                self.note(kind(it), it.size, body);
                // What a frame adds to its packet.
                self.note("data frame", counted - it.size, whole - body);
            }
            _ => self.note("control frame", counted, whole),
        }
    }
}

impl Probe for Encoder {
    fn on_frame(&mut self, time: Time, interface: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        match edge {
            FrameEdge::Sent => {
                let bytes = self.encode(frame, None, false);
                if interface == WATCHED {
                    self.frames.push(Seen { time, direction: Direction::Outbound, bytes });
                }
            }
            FrameEdge::Received { reception, power } => {
                if interface == WATCHED {
                    let damaged = reception == Reception::Damaged;
                    let bytes = self.encode(frame, Some(Power::from_watts(power)), damaged);
                    self.frames.push(Seen { time, direction: Direction::Inbound, bytes });
                }
            }
        }
    }
}

fn watched(spec: &Spec) -> Encoder {
    let Transport::Tcp { config, .. } = &spec.flows[0].transport else { panic!("the first flow is TCP") };
    let probe = Encoder { tcp: config.tcp.clone(), frames: Vec::new(), differences: BTreeMap::new() };
    crate::common::run_with(spec, probe).1
}

#[test]
fn the_profile_rfc_counts_the_bytes_of_packets_and_frames() {
    for (protocol, own) in [
        ("aodv", &["HELLO", "RERR", "RREP", "RREQ"][..]),
        ("dsdv", &["full_dump", "incremental"]),
        ("olsr", &["HELLO", "OLSR", "TC"]),
    ] {
        for (variant, window) in [("elfn", 44), ("sack", 100)] {
            let mut spec = chain(RFC, protocol, variant, |tcp| tcp.window = window);
            let mac::Config::Dcf(dcf) = &mut spec.channels[0].mac else { panic!("the MAC is DCF") };
            dcf.rts_threshold = Bytes::new(500);
            if variant == "sack" {
                // The window overflows the queue, so that segments are lost.
                spec.link.queue_length = 5;
            }
            let found = watched(&spec).differences;
            let mut kinds = vec!["ARP", "acknowledgement", "control frame", "data frame", "datagram", "segment"];
            kinds.extend(own);
            // ELFN asks for errors. DSDV and OLSR send none: the source hears of the break by a message.
            kinds.extend((variant == "elfn" && protocol == "aodv").then_some("error"));
            kinds.extend((variant == "sack").then_some("SACK"));
            for kind in &kinds {
                assert_eq!(found.get(kind), Some(&BTreeSet::from([0])), "{kind} with {protocol}, {variant}: {found:?}");
            }
            // Options of a SYN are not counted: the segment size, and a scale for windows of more than 65,535 bytes.
            let syn = if window == 44 { 4 } else { 8 };
            assert_eq!(found["SYN"], BTreeSet::from([syn]));
            assert_eq!(found.len(), kinds.len() + 1, "{found:?}");
        }
    }
}

#[test]
fn the_profile_ns2_counts_as_ns2_does() {
    let mut spec = chain(NS2, "aodv", "sack", |_| {});
    spec.link.queue_length = 5;
    let found = watched(&spec).differences;
    assert_eq!([&found["data frame"], &found["control frame"]], [&[2].into(), &[0].into()]);
    // No UDP header, and in requests and replies four bytes of a time.
    assert_eq!([&found["RREQ"], &found["RREP"], &found["RERR"]], [&[4].into(), &[4].into(), &[8].into()]);
    // Nor options of a SYN, nor kind, length and padding of blocks.
    assert_eq!(found["SYN"], BTreeSet::from([8]));
    assert_eq!([&found["acknowledgement"], &found["SACK"]], [&[0].into(), &[4].into()]);
    assert_eq!([&found["segment"], &found["datagram"], &found["ARP"]], [&[0].into(); 3]);
    // ns-2's Vegas leaves the headers out.
    let found = watched(&chain(NS2, "aodv", "vegas", |tcp| tcp.timestamps = true)).differences;
    assert_eq!([&found["segment"], &found["acknowledgement"]], [&[52].into(), &[2].into()]);
    // ns-2's DSDV counts the IP header of a segment again whenever its source routes it.
    let found = watched(&chain(NS2, "dsdv", "newreno", |_| {})).differences;
    assert_eq!(found["full_dump"], BTreeSet::from([8]));
    assert!(found["segment"].iter().all(|difference| *difference < 0 && difference % 20 == 0), "{found:?}");
}

/// Radiotap has the rate of OFDM, and the indices of HT and VHT with bandwidth and guard interval.
#[test]
fn radios_of_the_amendments() {
    let names = ["radiotap.datarate", "radiotap.mcs.index", "radiotap.mcs.bw", "radiotap.mcs.gi"];
    let vht = ["radiotap.vht.mcs.0", "radiotap.vht.nss.0", "radiotap.vht.bw", "radiotap.vht.gi"];
    let cases = [
        (Amendment::A, "54 Mbps", 20.0, Guard::Long, ["54", "", "", "", "", "", "", ""]),
        (Amendment::N, "mcs12", 20.0, Guard::Long, ["78", "12", "0", "0", "", "", "", ""]),
        (Amendment::N, "mcs7", 40.0, Guard::Short, ["150", "7", "1", "1", "", "", "", ""]),
        (Amendment::Ac, "vht-mcs9-2ss", 80.0, Guard::Long, ["780", "", "", "", "9", "2", "4", "0"]),
    ];
    for (amendment, name, megahertz, guard_interval, expected) in cases {
        let file = capture_file(&format!("radio_{name}_{}", expected[2]));
        let mut spec = chain(RFC, "aodv", "reno", |_| {});
        let (rate, bandwidth) = (name.parse().expect("a name"), Frequency::new(megahertz * 1e6));
        let dcf = Params { rate, bandwidth, guard_interval, ..Params::of_amendment(RFC, amendment) };
        dcf.check().expect("possible parameters");
        spec.channels[0].mac = mac::Config::Dcf(dcf.into());
        // The flows begin at 100 s. The first ring of AODV's search ends one hop before the destination, and the second
        // begins 0.32 s later. 256-QAM needs 30 dB over 200 m.
        spec.duration = Span::from_secs(102);
        spec.channels[0].radio.transmit_power = Power::from_watts(3.0);
        let seen = watched(&spec).frames;
        let mut writer = create(&file);
        let radio = writer.add_interface("node 1 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
        for frame in seen.iter().filter(|frame| frame.bytes[8] & 0x40 == 0) {
            writer.packet(radio, frame.time.nanos(), &frame.bytes, &[]).expect("room");
        }
        writer.finish().expect("room");
        let Some(found) = objections(&file, ERROR) else { return };
        assert_eq!(found, [""; 0], "{name}");
        let asked: Vec<&str> = names.iter().chain(&vht).copied().collect();
        let lines = fields(&file, &asked).expect("it ran before");
        // Unicast data in the mode, answers in OFDM.
        let has = |line: &&Vec<String>| line.iter().zip(expected).skip(1).all(|(found, expected)| found == expected);
        assert!(lines.iter().filter(has).count() > 50, "{name}: {:?}", lines.get(..40));
        assert!(lines.iter().any(|line| line[0] == "24" && line[1..8].iter().all(String::is_empty)), "{name}");
    }
}

#[test]
fn a_radio_of_a_whole_run() {
    let file = capture_file("run");
    let mut spec = chain(RFC, "aodv", "elfn", |_| {});
    let mac::Config::Dcf(dcf) = &mut spec.channels[0].mac else { panic!("the MAC is DCF") };
    dcf.rts_threshold = Bytes::new(500);
    let seen = watched(&spec).frames;
    let mut writer = create(&file);
    let radio = writer.add_interface("node 1 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    for frame in &seen {
        let (bytes, direction) = (&frame.bytes, Some(frame.direction));
        let (time, length) = (frame.time.nanos(), bytes.len());
        let record = Record { interface: radio, time, bytes, length, direction, comments: &[] };
        writer.record(&record).expect("room");
    }
    writer.finish().expect("room");
    // Wireshark warns of segments that were lost, and of the broken check sequences of collisions.
    let damaged = seen.iter().filter(|frame| frame.bytes[8] & 0x40 != 0).count();
    assert!(damaged > 0, "some frames collide");
    let Some(found) = objections(&file, ERROR) else { return };
    let of_check_sequences = |line: &&String| {
        ["Bad checksum", "[Group: Malformed]", "check sequence", "FCS Status: Bad"]
            .iter()
            .any(|text| line.contains(text))
    };
    let others: Vec<_> = found.iter().filter(|line| !of_check_sequences(line)).collect();
    assert!(others.is_empty(), "{others:#?}");
    let packets = found.iter().filter(|line| line.starts_with(|first: char| first.is_ascii_digit())).count();
    assert_eq!(packets, damaged, "{found:#?}");
    let names = ["frame.time_epoch", "wlan.fcs.status", "frame.protocols", "wlan.fc.type_subtype"];
    let lines = fields(&file, &names).expect("it ran before");
    assert_eq!(lines.len(), seen.len());
    for (line, frame) in lines.iter().zip(&seen) {
        let (seconds, nanos) = (frame.time.nanos() / 1_000_000_000, frame.time.nanos() % 1_000_000_000);
        assert_eq!(line[0], format!("{seconds}.{nanos:09}"));
    }
    assert_eq!(lines.iter().filter(|line| line[1] == "0").count(), damaged);
    for protocol in [":tcp", ":icmp:", ":aodv", ":arp", ":udp"] {
        assert!(lines.iter().any(|line| line[2].contains(protocol)), "no {protocol}");
    }
    // RTS, CTS, ACK and data.
    for (decimal, hexadecimal) in [("27", "0x001b"), ("28", "0x001c"), ("29", "0x001d"), ("32", "0x0020")] {
        assert!(lines.iter().any(|line| line[3] == decimal || line[3] == hexadecimal), "no subtype {decimal}");
    }
}
