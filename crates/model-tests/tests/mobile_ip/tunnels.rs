//! The tunnels of agents by section of RFC 2003, RFC 2004 and RFC 3024: a host that has gone to the cell of the foreign
//! agent.

use std::collections::BTreeSet;

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::mobile_ip::{MoveDetection, Params};
use hopyard_model::observe::{Outcome, Passage, Probe};
use hopyard_model::packet::{Body, Form, Packet, PacketKind};

use super::cells::{CN, FA, HA, MH, cells, with_datagrams};

/// Data in tunnels on wires: the form, the bytes, and by node the outer and the inner source and destination.
#[derive(Debug, Default)]
struct Data {
    in_tunnels: BTreeSet<(Form, u32, [u32; 2], [u32; 2])>,
    plain: u32,
}

impl Probe for Data {
    fn on_passage(&mut self, now: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(_) = passage else { return };
        if packet.kind() != PacketKind::Data || now < Time::ZERO + Span::from_secs(25) {
            return;
        }
        match &packet.body {
            Body::Tunnelled(form, inner) => {
                let ends = |packet: &Packet| [packet.source.0, packet.destination.0];
                self.in_tunnels.insert((*form, packet.size, ends(packet), ends(inner)));
            }
            _ => self.plain += 1,
        }
    }
}

/// Datagrams of 200 bytes between two nodes while the host is away, from 25 s on.
fn away(from: NodeId, to: NodeId, change: impl FnOnce(&mut Params)) -> (Outcome, Data) {
    let track = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)];
    let mut spec = cells("rfc", "static", &track, |it| {
        it.move_detection = MoveDetection::Eager;
        change(it);
    });
    spec.duration = Span::from_secs(40);
    with_datagrams(&mut spec, from, to);
    let (outcome, seen) = crate::common::run_with(&spec, Data::default());
    let flow = &outcome.flows[0];
    assert!(flow.packets_arrived + 60 > flow.packets_sent, "{} of {}", flow.packets_arrived, flow.packets_sent);
    (outcome, seen)
}

#[test]
fn rfc2003_s3_the_home_agent_adds_a_header_to_the_care_of_address() {
    let (_, seen) = away(CN, MH, |_| {});
    assert_eq!(seen.in_tunnels, BTreeSet::from([(Form::IpInIp, 220, [HA.0, FA.0], [CN.0, MH.0])]));
}

#[test]
fn rfc2004_s3_1_minimal_encapsulation_adds_12_bytes_for_another_source() {
    let (_, seen) = away(CN, MH, |it| it.tunnel = Form::Minimal);
    assert_eq!(seen.in_tunnels, BTreeSet::from([(Form::Minimal, 212, [HA.0, FA.0], [CN.0, MH.0])]));
}

#[test]
fn rfc2004_s3_1_minimal_encapsulation_adds_8_bytes_for_packets_of_the_agent_itself() {
    let (_, seen) = away(HA, MH, |it| it.tunnel = Form::Minimal);
    assert_eq!(seen.in_tunnels, BTreeSet::from([(Form::Minimal, 208, [HA.0, FA.0], [HA.0, MH.0])]));
}

#[test]
fn rfc3024_s1_without_reverse_tunnels_the_host_sends_directly() {
    let (_, seen) = away(MH, CN, |_| {});
    assert!(seen.in_tunnels.is_empty() && seen.plain > 0, "{seen:?}");
}

#[test]
fn rfc3024_s5_1_the_foreign_agent_tunnels_to_the_home_agent_what_the_host_delivers_directly() {
    for (form, bytes) in [(Form::IpInIp, 220), (Form::Minimal, 212)] {
        let (_, seen) = away(MH, CN, |it| (it.tunnel, it.reverse_tunnel) = (form, true));
        assert_eq!(seen.in_tunnels, BTreeSet::from([(form, bytes, [FA.0, HA.0], [MH.0, CN.0])]));
    }
}

#[test]
fn rfc3024_s4_3_the_home_agent_forwards_what_comes_out_of_a_reverse_tunnel_with_the_source_unchanged() {
    let (outcome, seen) = away(MH, CN, |it| it.reverse_tunnel = true);
    // Two wires in the tunnel and two behind it.
    assert!(seen.plain > 0);
    assert!(outcome.drops.iter().all(|it| it.kind != "data" || it.node == MH.0), "{:?}", outcome.drops);
}

#[test]
fn rfc3024_s4_1_2_a_host_that_asks_for_none_gets_a_tunnel_where_they_are_mandatory() {
    let (_, seen) = away(MH, CN, |it| it.reverse_tunnel_mandatory = true);
    assert_eq!(seen.in_tunnels, BTreeSet::from([(Form::IpInIp, 220, [FA.0, HA.0], [MH.0, CN.0])]));
}
