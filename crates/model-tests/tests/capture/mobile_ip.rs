//! The messages of Mobile IP.

use std::net::Ipv4Addr;

use hopyard_wire::icmp;
use hopyard_wire::ipv4::{self, Protocol};
use hopyard_wire::mobile_ip::{Advertisement, AgentFlags, Code, Proof, Reply, Request, RequestFlags};
use hopyard_wire::pcapng::LinkType;
use hopyard_wire::{minimal, udp};

use super::tshark::{assert_fields, assert_sound, capture_file, fields};

const AGENT: Ipv4Addr = Ipv4Addr::new(10, 2, 0, 1);
const HOME_AGENT: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 1);
const HOST: Ipv4Addr = Ipv4Addr::new(10, 1, 0, 9);

fn datagram(protocol: Protocol, source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    ipv4::Header::new(protocol, source, destination, 1).emit(payload, &mut bytes).expect("short enough");
    bytes
}

fn registration(payload: &[u8], source: Ipv4Addr, destination: Ipv4Addr) -> Vec<u8> {
    let mut bytes = Vec::new();
    let header = udp::Header { source_port: udp::Header::MOBILE_IP, destination_port: udp::Header::MOBILE_IP };
    header.emit(payload, source, destination, &mut bytes).expect("short enough");
    datagram(Protocol::UDP, source, destination, &bytes)
}

fn advertisement() -> Vec<u8> {
    let agent = Advertisement {
        agent: AGENT,
        sequence: 258,
        lifetime: 3,
        registration_lifetime: 300,
        flags: AgentFlags::REGISTRATION_REQUIRED | AgentFlags::FOREIGN_AGENT | AgentFlags::REVERSE_TUNNEL,
        care_of: Some(AGENT),
        prefix_length: Some(16),
    };
    let mut bytes = Vec::new();
    agent.emit(&|it| it, &mut bytes).expect("a short prefix");
    datagram(Protocol::ICMP, AGENT, Ipv4Addr::BROADCAST, &bytes)
}

fn solicitation() -> Vec<u8> {
    let mut bytes = Vec::new();
    icmp::Message::RouterSolicitation.emit(&[], &mut bytes).expect("no routers");
    datagram(Protocol::ICMP, HOST, Ipv4Addr::BROADCAST, &bytes)
}

fn request() -> Vec<u8> {
    let request = Request {
        flags: RequestFlags::SIMULTANEOUS | RequestFlags::MINIMAL_ENCAPSULATION | RequestFlags::REVERSE_TUNNEL,
        lifetime: 300,
        home: HOST,
        home_agent: HOME_AGENT,
        care_of: AGENT,
        identification: 1 << 32,
        proof: Proof::Right,
        encapsulating: true,
        foreign_proof: Proof::None,
        agent_proof: Proof::None,
        wants_notice: false,
    };
    let mut bytes = Vec::new();
    request.emit(&|it| it, &mut bytes);
    registration(&bytes, HOST, AGENT)
}

fn reply() -> Vec<u8> {
    let reply = Reply {
        code: Code::HA_IDENTIFICATION,
        lifetime: 0,
        home: HOST,
        home_agent: HOME_AGENT,
        identification: 1 << 32,
        proof: Proof::Right,
        foreign_proof: Proof::None,
        agent_proof: Proof::Right,
        care_of: AGENT,
    };
    let mut bytes = Vec::new();
    reply.emit(&|it| it, &mut bytes);
    registration(&bytes, HOME_AGENT, AGENT)
}

#[test]
fn agents_and_registrations() {
    let file = capture_file("mobile_ip");
    let mut writer = super::create(&file);
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("room");
    let packets = [advertisement(), solicitation(), request(), reply()];
    for bytes in &packets {
        writer.packet(wire, 0, bytes, &[]).expect("room");
    }
    writer.finish().expect("room");
    assert_sound(&file);
    let expected: [&[_]; 4] = [
        &[
            ("icmp.type", "9"),
            ("icmp.code", "0"),
            ("icmp.num_addrs", "1"),
            ("icmp.addr_entry_size", "2"),
            ("icmp.lifetime", "3"),
            ("icmp.router_address", "10.2.0.1"),
            ("icmp.pref_level", "0"),
            ("icmp.mip.type", "16,19"),
            ("icmp.mip.length", "10,1"),
            ("icmp.mip.seq", "258"),
            ("icmp.mip.life", "300"),
            ("icmp.mip.r", "1"),
            ("icmp.mip.b", "0"),
            ("icmp.mip.h", "0"),
            ("icmp.mip.f", "1"),
            ("icmp.mip.rt", "1"),
            ("icmp.mip.coa", "10.2.0.1"),
            ("icmp.mip.prefixlength", "16"),
        ],
        &[("icmp.type", "10"), ("icmp.code", "0"), ("icmp.checksum.status", "1")],
        &[
            ("ip.len", "76"),
            ("udp.dstport", "434"),
            ("mip.type", "1"),
            ("mip.s", "1"),
            ("mip.b", "0"),
            ("mip.d", "0"),
            ("mip.m", "1"),
            ("mip.g", "0"),
            ("mip.t", "1"),
            ("mip.life", "300"),
            ("mip.homeaddr", "10.1.0.9"),
            ("mip.haaddr", "10.1.0.1"),
            ("mip.coa", "10.2.0.1"),
            ("mip.ext.type", "32,130"),
            ("mip.auth.spi", "0x00000100"),
        ],
        &[
            ("ip.len", "92"),
            ("mip.type", "3"),
            ("mip.code", "133"),
            ("mip.life", "0"),
            ("mip.homeaddr", "10.1.0.9"),
            ("mip.haaddr", "10.1.0.1"),
            ("mip.ext.type", "32,34"),
            ("mip.ext.len", "20,20"),
            ("mip.auth.spi", "0x00000100,0x00000100"),
        ],
    ];
    assert_fields(&file, expected.into_iter());
}

#[test]
fn minimal_encapsulation() {
    let file = capture_file("minimal");
    let mut writer = super::create(&file);
    let wire = writer.add_interface("wire 0", LinkType::RAW).expect("room");
    let mut bytes = Vec::new();
    minimal::encapsulate(&request(), AGENT, HOME_AGENT, &mut bytes).expect("sound");
    writer.packet(wire, 0, &bytes, &[]).expect("room");
    writer.finish().expect("room");
    assert_sound(&file);
    // Wireshark has no name for what follows the IP header.
    let Some(found) = fields(&file, &["ip.proto", "ip.len", "ip.src", "ip.dst", "ip.checksum.status"]) else { return };
    assert_eq!(found, [["55", "88", "10.2.0.1", "10.1.0.1", "1"]]);
}
