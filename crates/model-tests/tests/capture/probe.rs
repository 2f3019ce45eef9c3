//! The probe that writes captures: what its files hold, and that it changes nothing.

use std::collections::BTreeSet;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::{Address, NodeId};
use hopyard_model::agent;
use hopyard_model::context::DropReason;
use hopyard_model::link::wired;
use hopyard_model::mac;
use hopyard_model::observe::capture::{Capture, Kind, Options};
use hopyard_model::observe::{
    AttachmentView, InterfaceView, MobileView, NetworkView, Outcome, PacketEvent, Probe as _,
};
use hopyard_model::packet::{Body, FlowId, Packet, RoutingMessage};
use hopyard_model::params::{NS2, Params as _, RFC};
use hopyard_model::routing::{self, dsdv};
use hopyard_model::world::{Spec, TunnelSpec, WireSpec};

use crate::common::{add_cbr, add_tcp, chain, mbps, network, run, run_for, run_with, scenarios, with_dcf};
use crate::runs;
use crate::tshark::{ERROR, capture_file, dissect, fields, tshark};

fn options(nodes: &[u32], kinds: &[Kind]) -> Options {
    let nodes = (!nodes.is_empty()).then(|| nodes.iter().map(|&node| NodeId(node)).collect());
    Options { nodes, kinds: kinds.iter().copied().collect(), comments: vec!["a comment".to_owned()] }
}

/// Runs with a capture into a file of this name.
pub fn captured(name: &str, spec: &Spec, nodes: &[u32], kinds: &[Kind]) -> (PathBuf, Outcome) {
    let file = capture_file(name);
    let probe = Capture::create(&file, options(nodes, kinds)).expect("a file");
    let (outcome, probe) = run_with(spec, probe);
    assert!(probe.records() > 0, "{name}");
    probe.finish().expect("room");
    (file, outcome)
}

/// Two wires in a row: 10 Mb/s and 2 ms, then 0.8 Mb/s and 100 ms, as in the comparison with ns-2.
pub fn wires(profile: &str) -> Spec {
    let mut spec = network(profile, "oracle", &[(0.0, 0.0); 3]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    for (number, (rate, delay)) in [(10.0, 2), (0.8, 100)].into_iter().enumerate() {
        let ends = (NodeId(number as u32), NodeId(number as u32 + 1));
        let delay = Span::from_millis(delay);
        let params =
            wired::Params { rate: mbps(rate), delay, queue_length: 1000, ..wired::Params::of_profile(profile) };
        spec.wires.push(WireSpec { ends, params, network: None });
    }
    spec
}

#[test]
fn a_capture_does_not_change_a_run() {
    for (name, spec) in scenarios::all() {
        let expected = run(&spec);
        let probe = Capture::new(io::sink(), &name, options(&[], Kind::ALL)).expect("room");
        let (found, probe) = run_with(&spec, probe);
        assert_eq!((found.digest, found.flows == expected.flows), (expected.digest, true), "{name}");
        assert!(probe.records() >= found.frames, "{name}");
        probe.finish().expect("room");
    }
}

/// Checks that nothing in a capture is malformed. The analysis of TCP may have remarks about losses.
/// Returns its protocols; nothing without tshark.
fn assert_well_formed(file: &Path) -> Option<BTreeSet<String>> {
    let (found, protocols) = dissect(file, ERROR)?;
    assert_eq!(found, [""; 0], "{}", file.display());
    Some(protocols)
}

/// Two stations with block acknowledgement, categories and frames of several packets, near enough to each other that
/// nothing is lost but by collisions.
#[test]
fn frames_of_several_packets_are_captured_one_by_one() {
    let mut spec = network(RFC, "static", &chain(2, 60.0));
    let mut edca = mac::edca::Params::of_profile(RFC);
    edca.dcf.standard = mac::dcf::Amendment::N;
    edca.follow("standard");
    edca.dcf.rate = "mcs7".parse().expect("a mode");
    spec.channels[0].mac = mac::Config::Edca(edca.into());
    for (dscp, size) in [(0, 1000), (46, 200)] {
        add_cbr(&mut spec, 0, 1, size, Span::from_micros(200));
        spec.flows.last_mut().expect("a flow").dscp = dscp;
    }
    spec.duration = Span::from_millis(200);
    let (file, outcome) = captured("edca", &spec, &[], &[Kind::Radio, Kind::Damaged]);
    assert!(outcome.nodes[0].metric("aggregates").expect("a counter") > 10);
    let names = [
        "wlan.fc.type_subtype",
        "wlan.qos.tid",
        "radiotap.ampdu.reference",
        "wlan.fixed.ssc.sequence",
        "ip.dsfield.dscp",
    ];
    let Some(found) = fields(&file, &names) else { return };
    assert_well_formed(&file);
    let count = |matches: &dyn Fn(&[String]) -> bool| found.iter().filter(|row| matches(row)).count();
    let has = |subtype: &str| count(&|row| row[0] == subtype);
    // Both stations capture each frame: the request and the response, and what answers them.
    assert!(has("0x000d") >= 4, "agreements");
    assert!(has("0x0019") > 20, "block acknowledgements");
    assert!(has("0x0028") > 500, "MPDUs");
    assert_eq!(count(&|row| row[0] == "0x0028" && row[1].is_empty()), 0);
    assert!(count(&|row| row[1] == "5" && row[4] == "46") > 100, "the category of EF in Linux 6.1 is that of video");
    assert!(count(&|row| !row[2].is_empty()) > 500, "MPDUs of a frame have its reference");
}

#[test]
fn routing_protocols_and_errors_in_whole_runs() {
    for (protocol, others) in [("aodv", &["aodv", "icmp"][..]), ("dsdv", &["data"])] {
        let mut spec = runs::chain(RFC, protocol, "elfn", |_| {});
        with_dcf(&mut spec, |dcf| dcf.rts_threshold = Bytes::new(500));
        let kinds = [Kind::Radio, Kind::Host, Kind::Drops];
        let (file, outcome) = captured(&format!("whole-{protocol}"), &spec, &[0, 1, 2], &kinds);
        assert_eq!(outcome.digest, run(&spec).digest);
        let Some(found) = assert_well_formed(&file) else { continue };
        for protocol in ["wlan", "arp", "udp", "tcp", "sll"].iter().chain(others) {
            assert!(found.contains(*protocol), "no {protocol} in {found:?}");
        }
    }
}

/// Every routing protocol over every MAC of the registries. Damaged frames are left out: their checksums are wrong.
fn assert_well_formed_over_any_protocol_and_mac(profile: &str) {
    let kinds = [Kind::Radio, Kind::Wire, Kind::Host, Kind::Drops];
    for (routing, mac) in routing::MODELS.iter().flat_map(|it| mac::MODELS.iter().map(|mac| (it.name, mac.name))) {
        let mut spec = network(profile, routing, &chain(4, 200.0));
        spec.channels[0].mac = mac::Config::of_profile(mac, profile).expect("a MAC");
        add_tcp(&mut spec, 0, 3, profile, "newreno", |_| {});
        add_cbr(&mut spec, 3, 1, 300, Span::from_millis(300));
        let expected = run_for(&mut spec, 4);
        let (file, outcome) = captured(&format!("every-{routing}-{mac}-{profile}"), &spec, &[0, 1], &kinds);
        assert_eq!(outcome.digest, expected.digest, "{routing}, {mac}, {profile}");
        let Some(found) = assert_well_formed(&file) else { continue };
        assert!(found.is_superset(&["wlan", "udp", "tcp"].map(str::to_owned).into()), "{routing}, {mac}: {found:?}");
    }
}

#[test]
fn nothing_is_malformed_over_any_protocol_and_mac() {
    assert_well_formed_over_any_protocol_and_mac(RFC);
}

#[test]
fn nothing_is_malformed_in_the_profile_of_ns2() {
    assert_well_formed_over_any_protocol_and_mac(NS2);
}

#[test]
fn slotted_access_in_a_whole_run() {
    let mut spec = network(RFC, "static", &chain(3, 200.0));
    spec.channels[0].mac = mac::Config::of_profile("tdma", RFC).expect("a MAC");
    add_tcp(&mut spec, 0, 2, RFC, "newreno", |_| {});
    add_cbr(&mut spec, 2, 0, 300, Span::from_millis(200));
    spec.duration = Span::from_secs(10);
    let (file, _) = captured("whole-tdma", &spec, &[], &Kind::USUAL);
    assert_well_formed(&file);
    let Some(found) = fields(&file, &["wlan.duration", "frame.protocols"]) else { return };
    assert!(found.len() > 100 && found.iter().all(|line| line[0] == "0"));
}

#[test]
fn wires_and_radios_in_a_whole_run() {
    let mut spec = scenarios::wired();
    spec.duration = Span::from_secs(4);
    let (file, _) = captured("whole-wired", &spec, &[], &Kind::USUAL);
    assert_well_formed(&file);
    let Some(found) = fields(&file, &["frame.interface_name", "frame.encap_type", "ip.src", "frame.comment"]) else {
        return;
    };
    let names: BTreeSet<(&str, &str)> = found.iter().map(|line| (line[0].as_str(), line[1].as_str())).collect();
    // Wireshark's numbers of the types: 7 raw IP, 23 radiotap, 25 Linux cooked.
    let expected = [
        ("node 0 drops", "25"),
        ("node 0 wire to 1", "7"),
        ("node 1 drops", "25"),
        ("node 1 radio", "23"),
        ("node 1 wire to 0", "7"),
        ("node 2 drops", "25"),
        ("node 2 radio", "23"),
        ("node 3 radio", "23"),
    ];
    assert_eq!(names, expected.into());
    // The wire's addresses are those of its own network.
    assert!(found.iter().any(|line| line[0] == "node 0 wire to 1" && line[2] == "192.168.0.1"));
    let lost: Vec<_> = found.iter().filter(|line| line[3].contains("dropped: scripted_loss")).collect();
    assert!(!lost.is_empty() && lost.iter().all(|line| line[0].ends_with("drops")), "{lost:?}");
}

#[test]
fn a_radio_hears_the_frames_for_others() {
    let mut spec = network(RFC, "static", &chain(4, 200.0));
    add_cbr(&mut spec, 0, 3, 100, Span::from_millis(100));
    spec.duration = Span::from_secs(2);
    let (file, _) = captured("promiscuous", &spec, &[1], &[Kind::Radio]);
    let Some(found) = fields(&file, &["wlan.sa", "wlan.da", "frame.packet_flags_direction"]) else { return };
    let station = |node: u32| format!("02:00:00:00:00:{:02x}", node + 1);
    let between = |from, to, direction: &str| {
        let wanted = [station(from), station(to), direction.to_owned()];
        found.iter().filter(|line| **line == wanted).count()
    };
    let (inbound, outbound) = ("0x00000001", "0x00000002");
    assert!(between(0, 1, inbound) > 10 && between(1, 2, outbound) > 10, "{found:?}");
    assert!(between(2, 3, inbound) > 10, "the frames that node 2 passes on");
    assert_eq!(between(2, 3, outbound) + between(0, 1, outbound), 0);
}

#[test]
fn frames_received_in_error_are_captured_if_they_are_wanted() {
    let mut spec = scenarios::bit_errors();
    spec.duration = Span::from_secs(2);
    let (file, outcome) = captured("damaged-frames", &spec, &[5], &[Kind::Radio, Kind::Damaged]);
    let node = &outcome.nodes[5];
    let Some(found) = fields(&file, &["wlan.fcs.status", "radiotap.flags.badfcs"]) else { return };
    let bad = found.iter().filter(|line| line[0] == "0").count();
    assert!(bad > 10 && bad as u64 <= node.collisions + node.bit_errors, "{bad} of {node:?}");
    assert!(found.iter().all(|line| (line[0] == "0") == (line[1] == "1")));
    let (file, _) = captured("sound-frames", &spec, &[5], &[Kind::Radio]);
    let sound = fields(&file, &["wlan.fcs.status"]).expect("it ran before");
    assert_eq!(sound.len(), found.len() - bad);
    assert!(sound.iter().all(|line| line[0] == "1"));
}

#[test]
fn every_drop_is_visible_with_its_reason() {
    let mut spec = runs::chain(RFC, "aodv", "newreno", |tcp| tcp.window = 100);
    spec.link.queue_length = 5;
    let (file, outcome) = captured("drops", &spec, &[], &[Kind::Drops]);
    assert_well_formed(&file);
    let total: u64 = outcome.drops.iter().map(|row| row.count).sum();
    let Some(found) = fields(&file, &["frame.interface_name", "frame.comment", "frame.cap_len", "frame.len"]) else {
        return;
    };
    assert_eq!(found.len() as u64, total);
    for row in &outcome.drops {
        let begins = format!("dropped: {} at node {}", row.reason, row.node);
        let at = format!("node {} drops", row.node);
        let same = outcome.drops.iter().filter(|it| (it.node, it.reason) == (row.node, row.reason));
        let count = found.iter().filter(|line| {
            let rest = line[1].strip_prefix(&begins);
            line[0] == at && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(','))
        });
        assert_eq!(count.count() as u64, same.map(|it| it.count).sum::<u64>(), "{row:?}");
    }
    assert!(outcome.drops.iter().any(|row| row.reason == "queue_full" && row.kind == "data"), "{:?}", outcome.drops);
    // Of a segment the IP header and eight bytes are captured, of its whole length.
    assert!(found.iter().any(|line| line[1].contains(" seq ") && line[2] == "44" && line[3] == "1516"), "{found:?}");
}

#[test]
fn segments_have_the_state_of_their_sender_where_they_leave_it() {
    let mut spec = wires(RFC);
    spec.wires[1].params.losses.segments = vec![20];
    add_tcp(&mut spec, 0, 2, RFC, "newreno", |_| {});
    spec.duration = Span::from_secs(4);
    let (file, outcome) = captured("states", &spec, &[], &[Kind::Wire, Kind::Host]);
    let names = ["frame.interface_name", "tcp.len", "frame.comment", "frame.packet_flags_direction"];
    let Some(found) = fields(&file, &names) else { return };
    let mut again = [0, 0];
    for line in &found {
        let leaves = ["node 0 wire to 1", "node 0 host"].iter().position(|name| line[0] == *name);
        let leaves = leaves.filter(|_| line[3] == "0x00000002");
        assert_eq!(line[2].contains("tcp: cwnd:"), leaves.is_some(), "{line:?}");
        if let Some(place) = leaves {
            again[place] += u64::from(line[2].ends_with("retransmission"));
        }
    }
    assert_eq!((again, outcome.flows[0].retransmissions), ([1, 1], 1));
    assert!(found.iter().any(|line| line[2].contains("state:recovery")));
    let last = found.iter().rfind(|line| line[0] == "node 0 host" && line[2].contains("srtt")).expect("a segment");
    let srtt = last[2].split("srtt:").nth(1).and_then(|rest| rest.split("ms").next()).expect("it is there");
    assert!(srtt.parse::<f64>().expect("a number") > 204.0, "{last:?}");
}

#[test]
fn the_section_has_the_comments_about_the_whole() {
    let mut spec = network(RFC, "static", &chain(2, 100.0));
    add_cbr(&mut spec, 0, 1, 100, Span::from_millis(100));
    spec.duration = Span::from_secs(1);
    let (file, _) = captured("section", &spec, &[], &Kind::USUAL);
    let bytes = std::fs::read(&file).expect("it was written");
    assert!(bytes[..200].windows(9).any(|text| text == b"a comment"));
    // The other packets of the run are of the radios: the file has no other interface.
    let Some(found) = fields(&file, &["frame.interface_id", "frame.time_epoch"]) else { return };
    let ids: BTreeSet<&str> = found.iter().map(|line| line[0].as_str()).collect();
    assert_eq!(ids, ["0", "2"].into());
    let times: Vec<f64> = found.iter().map(|line| line[1].parse().expect("a time")).collect();
    assert!(times.is_sorted() && times.last() < Some(&1.0));
    assert!(tshark(&file, &["-q", "-z", "io,phs"]).is_some_and(|text| text.contains("wlan")));
}

/// Times are in order in a run of fifty moving nodes too, where drops are told after what they belong to.
#[test]
fn records_are_in_the_order_of_their_times() {
    let mut spec = scenarios::moving(RFC, "aodv");
    spec.duration = Span::from_secs(3);
    let (file, _) = captured("order", &spec, &[], &[Kind::Radio, Kind::Drops, Kind::Host]);
    let Some(found) = fields(&file, &["frame.time_epoch"]) else { return };
    let nanos = |text: &str| text.split_once('.').map(|(seconds, rest)| format!("{seconds:0>6}{rest}"));
    let times: Vec<_> = found.iter().map(|line| nanos(&line[0]).expect("a time")).collect();
    assert!(times.len() > 10_000, "{}", times.len());
    let late = times.windows(2).filter(|pair| pair[0] > pair[1]).count();
    assert_eq!(late, 0, "of {}", times.len());
}

/// A sink that takes so many bytes.
#[derive(Debug)]
struct Full(usize);

impl io::Write for Full {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0 == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let taken = bytes.len().min(self.0);
        self.0 -= taken;
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_full_disk_ends_the_capture_and_not_the_run() {
    let spec = scenarios::wired();
    let expected = run(&spec);
    for room in [300, 10_000] {
        let probe =
            Capture::new(Full(room), "disk/a.pcapng", options(&[], &Kind::USUAL)).expect("room for the section");
        let (found, probe) = run_with(&spec, probe);
        assert_eq!(found.digest, expected.digest);
        assert!(probe.records() < 100);
        let error = probe.finish().expect_err("it was full");
        assert!(error.to_string().starts_with("disk/a.pcapng: cannot write the capture"), "{error}");
    }
}

#[test]
fn packets_in_a_tunnel() {
    // 0 - 1 - 2 - 3. The tunnel leads from 0 to 2, and carries what is for the network of the last wire.
    let mut spec = network(RFC, "dsdv", &[(0.0, 0.0); 4]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    for ends in [(0, 1), (1, 2), (2, 3)] {
        let params = wired::Params { rate: mbps(10.0), ..wired::Params::of_profile(RFC) };
        spec.wires.push(WireSpec { ends: (NodeId(ends.0), NodeId(ends.1)), params, network: None });
    }
    spec.wires[0].params.losses.packets = vec![20];
    let carries = [vec!["192.168.0.8/30".parse().expect("a prefix")], Vec::new()];
    spec.tunnels.push(TunnelSpec { ends: (NodeId(0), NodeId(2)), carries });
    add_tcp(&mut spec, 0, 3, RFC, "newreno", |_| {});
    spec.duration = Span::from_secs(1);
    let (file, outcome) = captured("tunnelled", &spec, &[], &Kind::USUAL);
    assert_well_formed(&file);
    assert!(outcome.flows[0].packets_arrived > 20);
    let names = ["frame.interface_name", "ip.proto", "ip.src", "tcp.seq_raw", "frame.comment"];
    let Some(found) = fields(&file, &names) else { return };
    let of = |name: &str, protocols: &str| found.iter().filter(|line| line[0] == name && line[1] == protocols).count();
    let sent = outcome.flows[0].packets_sent as usize;
    // Acknowledgements come back without the tunnel, and this node has no other packet.
    assert_eq!((of("node 0 tunnel to 2", "6"), of("node 0 wire to 1", "4,6")), (sent, sent), "{found:?}");
    let left = of("node 2 tunnel to 0", "6");
    assert!(left >= outcome.flows[0].packets_arrived as usize && left < sent, "{left} of {sent}");
    for name in ["node 0 tunnel to 2", "node 0 wire to 1"] {
        let mut with_state = found.iter().filter(|line| line[0] == name && line[4].contains("tcp: cwnd:"));
        assert!(with_state.any(|line| line[2].starts_with("192.168.0.1") || line[2].starts_with("198.18.")), "{name}");
    }
    let drop = found.iter().find(|line| line[0] == "node 0 drops").expect("a segment is lost");
    assert_eq!((drop[1].as_str(), drop[3].as_str()), ("4,6", ""));
    assert!(drop[4].contains("dropped: scripted_loss at node 0, in a tunnel, flow 0 seq "), "{drop:?}");
}

/// A gateway takes segments out of their tunnel: on the air they have two IP headers, on its wire one.
#[test]
fn packets_to_a_gateway() {
    let mut spec = network(RFC, "aodv", &[(0.0, 0.0), (200.0, 0.0), (400.0, 0.0), (5000.0, 0.0)]);
    spec.nodes[3].radios.clear();
    spec.wires.push(WireSpec { ends: (NodeId(2), NodeId(3)), params: wired::Params::of_profile(RFC), network: None });
    add_tcp(&mut spec, 0, 3, RFC, "newreno", |_| {});
    spec.duration = Span::from_secs(3);
    let (file, outcome) = captured("gateway", &spec, &[], &Kind::USUAL);
    assert_well_formed(&file);
    assert!(outcome.flows[0].packets_arrived > 20);
    let names = ["frame.interface_name", "ip.proto", "ip.dst", "aodv.ext_type", "aodv.ext_length"];
    let Some(found) = fields(&file, &names) else { return };
    let of = |name: &str, protocols: &str, to: &str| {
        found.iter().any(|line| line[0] == name && line[1] == protocols && line[2] == to)
    };
    assert!(of("node 0 radio", "4,6", "10.0.0.3,192.168.0.2"), "to the gateway, and within to the host");
    assert!(of("node 2 wire to 3", "6", "192.168.0.2"));
    assert!(!found.iter().any(|line| line[0] == "node 2 wire to 3" && line[1] == "4,6"));
    assert!(of("node 0 radio", "6", "10.0.0.1"), "acknowledgements come without a tunnel");
    assert!(found.iter().any(|line| (line[3].as_str(), line[4].as_str()) == ("4", "4")), "the reply of the gateway");
}

/// DSDV's updates have 12 bytes for each node, so that the largest fit into no IP packet.
#[test]
fn a_packet_without_an_encoding_is_named() {
    let file = capture_file("no-encoding");
    let mut probe = Capture::create(&file, options(&[], &[Kind::Drops])).expect("a file");
    let interface =
        InterfaceView { node: NodeId(0), address: Ipv4Addr::new(10, 0, 0, 1), attachment: AttachmentView::Nothing };
    probe.on_start(&NetworkView { nodes: 1, interfaces: &[interface], flows: &[], mobile: &MobileView::default() });
    let advertisement = |n| dsdv::Advertisement { destination: Address(n), metric: 1, sequence: 2 };
    let update =
        dsdv::Update { full: true, advertisements: (0..6000).map(advertisement).collect(), networks: Vec::new() };
    let packet = Packet {
        created: Time::ZERO,
        source: Address(0),
        destination: Address::BROADCAST,
        flow: FlowId::NONE,
        size: 72_028,
        ttl: 1,
        hops: 0,
        salvaged: 0,
        class: 0,
        body: Body::Routing(RoutingMessage::new(update)),
    };
    probe.on_packet(Time::ZERO, NodeId(0), &packet, PacketEvent::Dropped(DropReason::QueueFull));
    probe.finish().expect("room");
    assert_well_formed(&file);
    let Some(found) = fields(&file, &["ip.proto", "ip.src", "frame.comment"]) else { return };
    let [line] = &found[..] else { panic!("one packet: {found:?}") };
    assert_eq!(line[..2], ["253", "10.0.0.1"]);
    assert!(line[2].starts_with("dropped: queue_full at node 0, full_dump,not captured: "), "{line:?}");
}

#[test]
fn interfaces_have_names() {
    let mut spec = network(RFC, "static", &chain(3, 100.0));
    spec.channels.push(spec.channels[0].clone());
    spec.nodes[1].radios = vec![0, 1];
    spec.nodes[2].radios = vec![1];
    for _ in 0..2 {
        let params = wired::Params::of_profile(RFC);
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(2)), params, network: None });
    }
    let names = |nodes: &[u32], kinds: &[Kind]| {
        let probe = Capture::new(Vec::new(), "memory", options(nodes, kinds)).expect("memory");
        let (_, probe) = run_with(&spec, probe);
        let bytes = probe.finish().expect("memory");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        // Each name is followed by zeros, or by the next option.
        let names = text.match_indices("node ").map(|(at, _)| text[at..].split(['\0', '\t']).next().map(str::to_owned));
        names.flatten().collect::<Vec<_>>()
    };
    let all = names(&[], Kind::ALL);
    let expected = [
        "node 0 radio",
        "node 0 wire to 2",
        "node 0 wire to 2 (2)",
        "node 0 host",
        "node 0 drops",
        "node 1 radio",
        "node 1 radio on channel 1",
        "node 1 host",
        "node 1 drops",
        "node 2 radio on channel 1",
        "node 2 wire to 0",
        "node 2 wire to 0 (2)",
        "node 2 host",
        "node 2 drops",
    ];
    assert_eq!(all, expected);
    assert_eq!(names(&[1], &[Kind::Damaged]), ["node 1 radio", "node 1 radio on channel 1"]);
    assert_eq!(names(&[0, 2], &[Kind::Host]), ["node 0 host", "node 2 host"]);
}

/// A broadcast frame with a packet for a multicast group has the group's link address (RFC 1112 §6.4), any other that
/// of all stations.
#[test]
fn packets_for_a_group_have_its_link_address() {
    let mut spec = network(RFC, "aodv", &chain(2, 200.0));
    spec.nodes
        .iter_mut()
        .for_each(|node| node.agents = vec![agent::Config::of_profile("neighbours", RFC).expect("an agent")]);
    add_cbr(&mut spec, 0, 1, 200, Span::from_millis(500));
    spec.duration = Span::from_secs(5);
    let (file, _) = captured("group", &spec, &[], &[Kind::Radio]);
    let Some(found) = fields(&file, &["wlan.da", "ip.dst"]) else { return };
    let found: BTreeSet<(String, String)> =
        found.into_iter().filter(|line| !line[1].is_empty()).map(|line| (line[0].clone(), line[1].clone())).collect();
    let of = |destination: &str| found.iter().filter(|it| it.1 == destination).map(|it| &*it.0).collect::<Vec<_>>();
    assert_eq!(of("224.0.0.109"), ["01:00:5e:00:00:6d"]);
    assert_eq!(of("255.255.255.255"), ["ff:ff:ff:ff:ff:ff"]);
    assert_eq!(of("10.0.0.2"), ["02:00:00:00:00:02"]);
}

/// What a wire's queue or losses drop is captured with the reason, at the node that would have sent it.
#[test]
fn what_a_wire_loses_is_captured_with_the_reason() {
    let mut spec = wires(RFC);
    spec.wires[1].params.queue_length = 5;
    spec.wires[1].params.losses.rate = 0.05;
    add_cbr(&mut spec, 0, 2, 1000, Span::from_millis(8));
    spec.duration = Span::from_secs(5);
    let (file, outcome) = captured("wire-drops", &spec, &[1], &[Kind::Wire, Kind::Drops]);
    let Some(found) = fields(&file, &["frame.interface_name", "frame.comment"]) else { return };
    for reason in [DropReason::QueueFull, DropReason::ScriptedLoss] {
        let counted: u64 = outcome.drops.iter().filter(|row| row.reason == reason.name()).map(|row| row.count).sum();
        let text = format!("dropped: {} at node 1", reason.name());
        let there = found.iter().filter(|line| line[0] == "node 1 drops" && line[1].contains(&text)).count();
        assert!(counted > 0 && there as u64 == counted, "{reason:?}: {there} of {counted}");
    }
}
