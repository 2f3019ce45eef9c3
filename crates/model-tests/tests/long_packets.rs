//! Packets that are longer than a link carries.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::link::wired;
use hopyard_model::observe::{Passage, Probe};
use hopyard_model::packet::Packet;
use hopyard_model::params::Params as _;
use hopyard_model::world::{Spec, WireSpec};

use crate::common::{add_cbr, add_tcp, chain, network, run_for, run_with};

/// Datagrams of a payload over one link: how many arrive, and how many are dropped as too long, of 50.
fn datagrams(mut spec: Spec, payload: u64) -> (u64, u64) {
    add_cbr(&mut spec, 0, 1, payload, Span::from_millis(400));
    let outcome = run_for(&mut spec, 20);
    let long = outcome.drops.iter().filter(|row| row.reason == "too_long").map(|row| row.count).sum();
    (outcome.flows[0].packets_arrived, long)
}

fn wire(profile: &str, mtu: Option<u64>) -> Spec {
    let mut spec = network(profile, "static", &chain(2, 200.0));
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let usual = wired::Params::of_profile(profile);
    let params = wired::Params { mtu: mtu.map_or(usual.mtu, Bytes::new), ..usual };
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    spec
}

#[test]
fn a_frame_carries_packets_of_at_most_2296_bytes() {
    let radio = |profile| network(profile, "oracle", &chain(2, 200.0));
    let (arrived, long) = datagrams(radio("rfc"), 2296 - 28);
    assert!(arrived > 40 && long == 0, "{arrived}, {long}");
    let (arrived, long) = datagrams(radio("rfc"), 2296 - 27);
    assert!(arrived == 0 && long > 40, "{arrived}, {long}");
    let (arrived, long) = datagrams(radio("ns2"), 8000);
    assert!(arrived > 40 && long == 0, "ns-2 knows no limit: {arrived}, {long}");
}

#[test]
fn a_wire_carries_packets_up_to_its_mtu() {
    for (mtu, fits) in [(None, 2296), (Some(1500), 1500), (Some(0), 65_535)] {
        let (arrived, long) = datagrams(wire("rfc", mtu), fits - 28);
        assert!(arrived > 40 && long == 0, "{mtu:?}: {arrived}, {long}");
        if fits < 65_535 {
            let (arrived, long) = datagrams(wire("rfc", mtu), fits - 27);
            assert!(arrived == 0 && long > 40, "{mtu:?}: {arrived}, {long}");
        }
    }
    let (arrived, long) = datagrams(wire("ns2", None), 8000);
    assert!(arrived > 40 && long == 0, "{arrived}, {long}");
}

/// The longest packet that entered a wire.
#[derive(Debug, Default)]
struct Longest(u32);

impl Probe for Longest {
    fn on_passage(&mut self, _: Time, packet: &Packet, passage: Passage) {
        let Passage::WireEntered(_) = passage else { return };
        self.0 = self.0.max(packet.size);
    }
}

/// RFC 6691 §2: the options of a segment come out of what the packet may have.
#[test]
fn segments_of_the_default_size_fill_a_packet_of_1500_bytes() {
    for profile in ["rfc", "linux"] {
        let mut spec = wire("rfc", Some(1500));
        add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
        spec.duration = Span::from_secs(5);
        let (outcome, longest) = run_with(&spec, Longest::default());
        assert_eq!(longest.0, 1500, "{profile}");
        assert!(outcome.flows[0].packets_arrived > 100, "{profile}");
    }
}
