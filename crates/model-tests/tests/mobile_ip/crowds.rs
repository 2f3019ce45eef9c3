//! Many hosts that do the same at the same moment, and what is asked for link addresses meanwhile.

use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::agent::mobile_ip::{MoveDetection, Params};
use hopyard_model::context::MobileChange;
use hopyard_model::observe::{FrameEdge, FrameView, Probe};
use hopyard_model::packet::Body;
use hopyard_model::world::{RoleSpec, Spec};

use super::cells::{CN, FA, HA, MH, Seen, cells, watched, with_datagrams};

/// The border of the home network is crossed at this second.
const CROSSING: f64 = 11.0;

fn away(change: impl FnOnce(&mut Params)) -> Spec {
    let spec = cells("rfc", "static", &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
        it.move_detection = MoveDetection::Eager;
        change(it);
    });
    Spec { duration: Span::from_secs(30), ..spec }
}

/// Twenty hosts at one place, which go together.
fn twenty(change: impl FnOnce(&mut Params)) -> (Spec, Vec<NodeId>) {
    let mut spec = away(change);
    let mut all = vec![MH];
    for _ in 1..20 {
        let host = NodeId(spec.nodes.len() as u32);
        let (copy, role) = (spec.nodes[MH.index()].clone(), spec.roles[&MH].clone());
        spec.nodes.push(copy);
        spec.roles.insert(host, role);
        if let Some(RoleSpec::Router { hosts, .. }) = spec.roles.get_mut(&HA) {
            hosts.push(host);
        }
        spec.served[0].members.push(host);
        all.push(host);
    }
    (spec, all)
}

/// When hosts are registered first, in order; infinity for those that are not.
fn registered(seen: &Seen, hosts: &[NodeId]) -> Vec<f64> {
    let first = |host: &NodeId| seen.times(*host, "registered").first().copied().unwrap_or(f64::INFINITY);
    let mut times: Vec<f64> = hosts.iter().map(first).collect();
    times.sort_by(f64::total_cmp);
    times
}

/// Who has sent messages of address resolution to all, and when.
#[derive(Debug, Default)]
struct Questions(Vec<(f64, InterfaceId)>);

impl Probe for Questions {
    fn on_frame(&mut self, now: Time, _: InterfaceId, frame: &FrameView<'_>, edge: FrameEdge) {
        if edge != FrameEdge::Sent {
            return;
        }
        if frame.receiver == InterfaceId::BROADCAST && frame.packet.is_some_and(|it| matches!(it.body, Body::Arp(_))) {
            self.0.push((now.seconds(), frame.transmitter));
        }
    }
}

#[test]
fn s4_6_a_host_that_is_away_asks_nobody_for_link_addresses_nor_does_its_agent() {
    for (from, to) in [(CN, MH), (MH, CN)] {
        let mut spec = away(|_| {});
        // Longer than anything that is learned from address resolution is believed.
        spec.duration = Span::from_secs(200);
        with_datagrams(&mut spec, from, to);
        let (outcome, seen) = crate::common::run_with(&spec, Questions::default());
        let abroad = |node: NodeId| {
            let its = |it: &&(f64, InterfaceId)| it.0 > CROSSING && it.1 == InterfaceId::from(node);
            seen.0.iter().filter(its).count()
        };
        assert_eq!([MH, FA].map(abroad), [0, 0], "{from} to {to}: {:?}", seen.0);
        let flow = &outcome.flows[0];
        assert!(flow.packets_arrived + 30 > flow.packets_sent, "{} of {}", flow.packets_arrived, flow.packets_sent);
    }
}

#[test]
fn twenty_hosts_that_hear_one_advertisement_are_registered_without_asking_twice() {
    let (spec, hosts) = twenty(|_| {});
    let seen = watched(&spec);
    let times = registered(&seen, &hosts);
    assert!(times[19] < times[0] + 0.2 && times[0] > CROSSING, "{times:?}");
    assert_eq!(seen.events.iter().filter(|it| it.2.what.name() == "requested").count(), 20);
}

#[test]
fn s3_7_1_of_twenty_hosts_an_agent_serves_as_many_as_it_can() {
    let (spec, hosts) = twenty(|it| it.most_visitors = 5);
    let seen = watched(&spec);
    let times = registered(&seen, &hosts);
    assert!(times[4] < CROSSING + 1.5 && times[5].is_infinite(), "{times:?}");
    let codes = seen.events.iter().filter_map(|it| match it.2.what {
        MobileChange::Refused { code, .. } => Some(code),
        _ => None,
    });
    let codes: Vec<u8> = codes.collect();
    assert!(codes.len() >= 15 && codes.iter().all(|code| *code == 66), "{codes:?}");
}

#[test]
fn s2_4_hosts_that_lose_their_agent_at_one_moment_do_not_go_on_to_solicit_at_one_moment() {
    // The only advertisement of the home agent is valid until 15.5 s. The next one of the foreign agent comes at 110 s.
    let (mut spec, hosts) = twenty(|it| {
        (it.move_detection, it.beacon, it.advertised_lifetime) = (MoveDetection::Lifetime, Span::from_secs(3000), 15);
    });
    for (agent, at) in [(HA, 500), (FA, 110_000)] {
        if let Some(RoleSpec::Router { first, .. }) = spec.roles.get_mut(&agent) {
            *first = Some(Time::ZERO + Span::from_millis(at));
        }
    }
    let seen = watched(&spec);
    let times = registered(&seen, &hosts);
    // The first ones meet on the air; the second ones come one after another.
    assert!(times[0] > 15.5 && times[19] < 17.0, "{times:?}");
}
