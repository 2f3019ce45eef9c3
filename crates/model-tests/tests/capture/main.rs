//! Captures, read by tshark (Debian package `tshark`), which is Wireshark for the command line.
//!
//! Each test writes a capture, and compares what tshark finds in it with what was put in. Without tshark these
//! comparisons are left out, and the tests count as skipped; `.ci/run` installs it.

mod analysis;
#[path = "../common/mod.rs"]
mod common;
mod mobile_ip;
mod probe;
mod runs;
mod samples;
mod tshark;
#[path = "../two_links/mod.rs"]
#[allow(dead_code, reason = "the configurations of the comparison with ns-2 are used")]
mod two_links;

use std::fs::File;
use std::io::BufWriter;
use std::net::Ipv4Addr;
use std::path::Path;

use hopyard_engine::Span;
use hopyard_engine::units::{Frequency, Power};
use hopyard_model::address::{Address, InterfaceId};
use hopyard_model::observe::capture::{self, Flow, Frame, FrameKind, Names, radiotap, station_of};
use hopyard_model::packet::{FlowId, Packet};
use hopyard_model::params::{Params as _, RFC};
use hopyard_model::phy::mode::MODES;
use hopyard_model::transport::tcp;
use hopyard_wire::HardwareAddress;
use hopyard_wire::ieee80211::EtherType;
use hopyard_wire::ipv4::encapsulate;
use hopyard_wire::pcapng::{Direction, LinkType, Record, Writer};

use samples::{Sample, connection, options, others, routing};
use tshark::{WARNING, assert_fields, assert_sound, capture_file, fields, objections, tshark};

fn create(file: &Path) -> Writer<BufWriter<File>> {
    Writer::create(file, &[]).expect("the folder for tests is there")
}

/// The address of an interface, in 10.0.0.0/8.
fn address_of(address: Address) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a00_0001 + address.0)
}

/// The bytes of a packet, with the usual names.
fn bytes_of(packet: &Packet) -> (EtherType, Vec<u8>) {
    let params = tcp::Params::of_profile(RFC);
    let flow = |id: FlowId| if id == FlowId(0) { Flow::tcp(id, &params, true) } else { Flow::udp(id) };
    let names = Names { address: &address_of, station: &station_of, flow: &flow };
    let mut bytes = Vec::new();
    let kind = capture::packet(packet, &names, &mut bytes).expect("it has an encoding");
    (kind, bytes)
}

fn every_sample() -> Vec<Sample> {
    [connection(), others(), routing()].into_iter().flatten().collect()
}

/// A frame with the header of a radio.
fn on_the_air(frame: &Frame<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    let signal = Some(Power::from_dbm(-64.0));
    radiotap(&MODES[1], MODES[1].preamble, Some(Frequency::new(2412e6)), signal, frame.damaged, None).emit(&mut bytes);
    frame.emit(&mut bytes).expect("it has an encoding");
    bytes
}

const A: HardwareAddress = station_of(InterfaceId(0));
const B: HardwareAddress = station_of(InterfaceId(1));

#[test]
fn packets_on_wires() {
    let file = capture_file("wires");
    let samples: Vec<_> = every_sample().into_iter().filter(|it| bytes_of(&it.packet).0 == EtherType::IPV4).collect();
    let mut writer = create(&file);
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("room");
    for (time, sample) in (0..).zip(&samples) {
        writer.packet(wire, time * 1_000_000, &bytes_of(&sample.packet).1, &[]).expect("room");
    }
    writer.finish().expect("room");
    assert_sound(&file);
    assert_fields(&file, samples.iter().map(|it| it.expected));
    let Some(found) = fields(&file, &["ip.checksum.status", "tcp.checksum.status", "udp.checksum.status"]) else {
        return;
    };
    for (status, sample) in found.iter().zip(&samples) {
        let good = |text: &str| text.split(',').all(|one| one == "1");
        let transports = status[1..].iter().filter(|text| !text.is_empty()).count();
        // ICMP has a field of its own, which the sample names.
        let is_error = sample.packet.is_error();
        assert!(good(&status[0]) && (is_error || transports == 1), "{status:?}");
        assert!(is_error || status[1..].iter().all(|text| text.is_empty() || good(text)), "{status:?}");
    }
}

#[test]
fn packets_with_options() {
    let file = capture_file("options");
    let samples = options();
    let mut writer = create(&file);
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("room");
    for (time, sample) in (0..).zip(&samples) {
        let (_, bytes) = bytes_of(&sample.packet);
        assert_eq!(bytes.len(), sample.packet.size as usize, "{:?}", sample.packet);
        writer.packet(wire, time * 1_000_000, &bytes, &[]).expect("room");
    }
    writer.finish().expect("room");
    assert_sound(&file);
    assert_fields(&file, samples.iter().map(|it| it.expected));
}

#[test]
fn packets_on_the_air() {
    let file = capture_file("air");
    let samples = every_sample();
    let mut writer = create(&file);
    let radio = writer.add_interface("node 0 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    let mut sizes = Vec::new();
    for (number, sample) in (0..).zip(&samples) {
        let (protocol, packet) = bytes_of(&sample.packet);
        let kind = FrameKind::Data {
            protocol,
            packet: &packet,
            sequence: 4090 + number as u16,
            retry: number == 3,
            bssid: Frame::network(0),
            tid: None,
        };
        let frame = Frame {
            kind,
            duration: Span::from_micros(314),
            transmitter: station_of(sample.packet.source.into()),
            receiver: station_of(sample.packet.destination.into()),
            damaged: false,
        };
        writer.packet(radio, number * 1_000_000, &on_the_air(&frame), &[]).expect("room");
        sizes.push(packet.len());
    }
    writer.finish().expect("room");
    assert_sound(&file);
    assert_fields(&file, samples.iter().map(|it| it.expected));
    let names = [
        "radiotap.datarate",
        "radiotap.channel.freq",
        "radiotap.dbm_antsignal",
        "radiotap.flags.fcs",
        "wlan.fc.type_subtype",
        "wlan.fc.ds",
        "wlan.fcs.status",
        "wlan.duration",
        "wlan.bssid",
    ];
    let Some(found) = fields(&file, &names) else { return };
    for line in &found {
        // Versions of tshark print a subtype in different bases.
        assert!(["32", "0x0020"].contains(&line[4].as_str()), "{line:?}");
        assert_eq!(line[..4], ["2", "2412", "-64", "1"]);
        assert_eq!(line[5..], ["0x00", "1", "314", "06:00:00:00:00:00"]);
    }
    let names = ["wlan.seq", "wlan.fc.retry", "wlan.sa", "wlan.da", "frame.len"];
    let found = fields(&file, &names).expect("it ran before");
    for (number, (line, sample)) in found.iter().zip(&samples).enumerate() {
        assert_eq!(line[0], ((4090 + number) % 4096).to_string());
        assert_eq!(line[1], if number == 3 { "1" } else { "0" });
        assert_eq!(line[2], station_of(sample.packet.source.into()).to_string());
        assert_eq!(line[3], station_of(sample.packet.destination.into()).to_string());
        // 15 bytes of radiotap, 36 of the frame.
        assert_eq!(line[4], (sizes[number] + 51).to_string());
    }
}

#[test]
fn an_exchange_of_the_dcf() {
    let file = capture_file("exchange");
    let mut writer = create(&file);
    let radio = writer.add_interface("node 1 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    let (_, packet) = bytes_of(&connection()[2].packet);
    let bssid = Frame::network(0);
    let data =
        FrameKind::Data { protocol: EtherType::IPV4, packet: &packet, sequence: 1, retry: false, bssid, tid: None };
    let kinds = [(FrameKind::Rts, 6732), (FrameKind::Cts, 6418), (data, 314), (FrameKind::Ack, 0)];
    for (number, (kind, duration)) in (0..).zip(kinds) {
        let (transmitter, receiver) = if number % 2 == 0 { (A, B) } else { (B, A) };
        let frame = Frame { kind, duration: Span::from_micros(duration), transmitter, receiver, damaged: false };
        let direction = if transmitter == B { Direction::Outbound } else { Direction::Inbound };
        let (time, bytes) = (number * 7_000_000, on_the_air(&frame));
        let (length, direction) = (bytes.len(), Some(direction));
        let record = Record { interface: radio, time, bytes: &bytes, length, direction, comments: &[] };
        writer.record(&record).expect("room");
    }
    writer.finish().expect("room");
    assert_sound(&file);
    let status = ("wlan.fcs.status", "1");
    assert_fields(
        &file,
        [
            &[
                ("frame.len", "35"),
                ("wlan.duration", "6732"),
                ("wlan.ra", "02:00:00:00:00:02"),
                ("wlan.ta", "02:00:00:00:00:01"),
                ("frame.packet_flags_direction", "0x00000001"),
                status,
            ][..],
            &[
                ("frame.len", "29"),
                ("wlan.duration", "6418"),
                ("wlan.ra", "02:00:00:00:00:01"),
                ("frame.packet_flags_direction", "0x00000002"),
                status,
            ],
            &[("frame.len", "1563"), ("wlan.duration", "314"), status],
            &[("frame.len", "29"), ("wlan.duration", "0"), ("wlan.ra", "02:00:00:00:00:01"), status],
        ]
        .into_iter(),
    );
    let Some(summary) = tshark(&file, &[]) else { return };
    for (line, name) in summary.lines().zip(["Request-to-send", "Clear-to-send", "Len=1460", "Acknowledgement"]) {
        assert!(line.contains(name), "{line}");
    }
}

#[test]
fn a_damaged_frame() {
    let file = capture_file("damaged");
    let mut writer = create(&file);
    let radio = writer.add_interface("node 1 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    let frame = Frame { kind: FrameKind::Cts, duration: Span::ZERO, transmitter: A, receiver: B, damaged: true };
    writer.packet(radio, 0, &on_the_air(&frame), &["collision".to_owned()]).expect("room");
    writer.finish().expect("room");
    let Some(found) = fields(&file, &["wlan.fcs.status", "radiotap.flags.badfcs", "frame.comment"]) else { return };
    let [line] = &found[..] else { panic!("one frame: {found:?}") };
    assert_eq!(line[..], ["0", "1", "collision"]);
}

/// The other tests could find an error.
#[test]
fn wrong_bytes_are_noticed() {
    let file = capture_file("wrong");
    let mut writer = create(&file);
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("room");
    let (_, sound) = bytes_of(&connection()[2].packet);
    let (_, request) = bytes_of(&routing()[0].packet);
    // TTL, payload, and a route request that ends early, all without new checksums.
    let mut wrong = [sound.clone(), sound, request];
    wrong[0][8] += 1;
    wrong[1][100] = 1;
    wrong[2].truncate(40);
    for bytes in &wrong {
        writer.packet(wire, 0, bytes, &[]).expect("room");
    }
    writer.finish().expect("room");
    let Some(found) = objections(&file, WARNING) else { return };
    for number in ["1 ", "2 ", "3 "] {
        assert!(found.iter().any(|line| line.starts_with(number)), "packet {number}: {found:?}");
    }
}

#[test]
fn a_tunnel() {
    let file = capture_file("tunnel");
    let mut writer = create(&file);
    let tunnel = writer.add_interface("tunnel", LinkType::RAW).expect("room");
    let (_, inner) = bytes_of(&connection()[0].packet);
    let mut bytes = Vec::new();
    encapsulate(&inner, address_of(Address(20)), address_of(Address(21)), 32, &mut bytes).expect("short enough");
    writer.packet(tunnel, 0, &bytes, &[]).expect("room");
    writer.finish().expect("room");
    assert_sound(&file);
    let expected = [
        ("ip.proto", "4,6"),
        ("ip.src", "10.0.0.21,10.0.0.1"),
        ("ip.ttl", "32,64"),
        ("ip.checksum.status", "1,1"),
        ("tcp.checksum.status", "1"),
    ];
    assert_fields(&file, [&expected[..]].into_iter());
}

#[test]
fn captures_without_packets() {
    let file = capture_file("empty");
    create(&file).finish().expect("room");
    if let Some(text) = tshark(&file, &[]) {
        assert_eq!(text, "");
    }
    let mut writer = create(&file);
    writer.add_interface("wire 0", LinkType::RAW).expect("room");
    writer.add_interface("node 0 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    writer.finish().expect("room");
    if let Some(text) = tshark(&file, &[]) {
        assert_eq!(text, "");
    }
}

#[test]
fn times_names_and_comments() {
    let file = capture_file("comments");
    let section = ["Läufe: 7 → 9".to_owned()];
    let mut writer = Writer::create(&file, &section).expect("room");
    let wire = writer.add_interface("wire 0: Köln–Zürich", LinkType::RAW).expect("room");
    let radio = writer.add_interface("node 3 radio", LinkType::IEEE802_11_RADIOTAP).expect("room");
    let (_, packet) = bytes_of(&connection()[0].packet);
    let frame = Frame { kind: FrameKind::Ack, duration: Span::ZERO, transmitter: A, receiver: B, damaged: false };
    let comments = ["dropped: 队列满 🌿".to_owned(), "second, “quoted”".to_owned()];
    writer.packet(wire, 1, &packet, &comments).expect("room");
    writer.packet(radio, 1_234_567_890_123_456_789, &on_the_air(&frame), &[]).expect("room");
    writer.packet(wire, 999_999_999, &packet, &comments[1..]).expect("room");
    writer.finish().expect("room");
    let names = ["frame.time_epoch", "frame.interface_name", "frame.comment"];
    let Some(found) = fields(&file, &names) else { return };
    assert_eq!(
        found,
        [
            ["0.000000001", "wire 0: Köln–Zürich", "dropped: 队列满 🌿,second, “quoted”"],
            ["1234567890.123456789", "node 3 radio", ""],
            ["0.999999999", "wire 0: Köln–Zürich", "second, “quoted”"],
        ]
    );
}
