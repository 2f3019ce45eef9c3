//! Hosts and agents after a registration is refused.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::{self, mobile_ip::MoveDetection};
use hopyard_model::app;
use hopyard_model::context::{DropReason, MobileChange};
use hopyard_model::mobility::{self, waypoints};
use hopyard_model::params::Params as _;
use hopyard_model::world::{FlowSpec, NodeSpec, RoleSpec, ServedSpec, Spec, WireSpec};

use super::cells::{CN, FA, HA, MH, Seen, cells, watched, with_datagrams};

fn second(at: f64) -> Time {
    Time::from_nanos((at * 1e9) as u64)
}

/// The times of the requests of a node, in seconds.
fn requests(seen: &Seen, node: NodeId) -> Vec<f64> {
    seen.times(node, "requested")
}

/// The codes with which a node was refused.
fn codes(seen: &Seen, node: NodeId) -> Vec<u8> {
    let its = seen.events.iter().filter(|(_, at, _)| *at == node);
    its.filter_map(|(_, _, it)| match it.what {
        MobileChange::Refused { code, .. } => Some(code),
        _ => None,
    })
    .collect()
}

/// A copy of a node, in the same networks.
fn like(spec: &mut Spec, node: NodeId) -> NodeId {
    let copy: NodeSpec = spec.nodes[node.index()].clone();
    spec.nodes.push(copy);
    NodeId(spec.nodes.len() as u32 - 1)
}

#[test]
fn a_refused_renewal_is_tried_again_with_back_off() {
    // RFC 5944 §3.6.3: each wait is twice the one before.
    let mut spec = cells("rfc", "static", &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
        (it.move_detection, it.registration_lifetime) = (MoveDetection::Eager, 20);
    });
    spec.duration = Span::from_secs(190);
    spec.roles.insert(MH, RoleSpec::Host { agent: HA, forged: vec![(second(25.0), second(100.0))] });
    let seen = watched(&spec);
    let inside: Vec<f64> = requests(&seen, MH).into_iter().filter(|at| (25.0..100.0).contains(at)).collect();
    // After 1, 2, 4, 8, 16 and 32 s.
    assert!((4..=7).contains(&inside.len()), "{inside:?}");
    let waits: Vec<f64> = inside.windows(2).map(|it| it[1] - it[0]).collect();
    for two in waits.windows(2) {
        assert!((1.9..2.1).contains(&(two[1] / two[0])), "{waits:?}");
    }
    let registered = seen.times(MH, "registered");
    let after = registered.iter().filter(|at| **at > 100.0).count();
    // The host is registered again, and renews the registration after 18 s.
    assert!(after >= 1 && registered.iter().any(|at| *at < 25.0), "{registered:?}");
}

#[test]
fn a_host_that_is_refused_at_home_asks_again_while_its_registration_abroad_lasts() {
    let track = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0), (30.0, 500.0), (50.0, 200.0)];
    let mut spec = cells("rfc", "static", &track, |it| it.move_detection = MoveDetection::Eager);
    spec.duration = Span::from_secs(70);
    // It is back in the cell of its home agent at 40 s.
    spec.roles.insert(MH, RoleSpec::Host { agent: HA, forged: vec![(second(35.0), second(45.0))] });
    let seen = watched(&spec);
    assert!(codes(&seen, MH).iter().all(|code| *code == 131) && !codes(&seen, MH).is_empty());
    let ended = seen.times(HA, "tunnel_ended");
    assert!(ended.len() == 1 && (45.0..60.0).contains(&ended[0]), "{ended:?}");
}

/// Three cells in a row, as wide as the cells of [`cells`]. The last two are foreign, and the host goes through all
/// three.
fn three_cells(change: impl FnOnce(&mut agent::mobile_ip::Params)) -> (Spec, NodeId) {
    let track = [(0.0, 200.0), (1.0, 200.0), (61.0, 800.0)];
    let mut spec = cells("rfc", "static", &track, |it| {
        it.move_detection = MoveDetection::Eager;
        change(it);
    });
    let other = like(&mut spec, FA);
    spec.nodes[other.index()].start.x = 800.0;
    let role = spec.roles[&FA].clone();
    spec.roles.insert(other, role);
    spec.served.push(ServedSpec { router: other, prefix: None, members: Vec::new() });
    let like_first = spec.wires[2].params.clone();
    spec.wires.push(WireSpec { ends: (NodeId(1), other), params: like_first, network: None });
    spec.duration = Span::from_secs(70);
    (spec, other)
}

#[test]
fn an_agent_that_keeps_one_binding_replaces_it_and_says_so() {
    // RFC 5944 §3.4: code 1, accepted without simultaneous bindings.
    let (spec, _) = three_cells(|it| (it.simultaneous, it.most_bindings) = (true, 1));
    let seen = watched(&spec);
    assert!(codes(&seen, MH).is_empty(), "{:?}", codes(&seen, MH));
    assert_eq!(seen.times(HA, "tunnel_begun").len(), 2);
    assert_eq!(seen.times(HA, "tunnel_ended").len(), 1);
}

#[test]
fn two_bindings_at_once_lose_nothing_and_the_copies_are_counted() {
    let (mut spec, other) = three_cells(|it| it.simultaneous = true);
    // The cells of the foreign agents overlap by 150 m.
    spec.nodes[other.index()].start.x = 650.0;
    with_datagrams(&mut spec, CN, MH);
    spec.duration = Span::from_secs(62);
    let (outcome, seen) = crate::common::run_with(&spec, Seen::default());
    assert_eq!(seen.times(HA, "tunnel_begun").len(), 2, "{:?}", seen.events);
    assert!(seen.times(HA, "tunnel_ended").is_empty());
    let flow = &outcome.flows[0];
    // From the second foreign agent on, each packet takes both ways: the host gets two while it is in both cells.
    assert!(flow.packets_arrived > flow.packets_unique + 50, "{} of {}", flow.packets_arrived, flow.packets_unique);
    // Into the second foreign cell nothing is lost but the copies at the first agent, when it is out of reach.
    let lost = |node: NodeId, reason: DropReason| seen.drops.get(&(node, reason)).copied().unwrap_or(0);
    let at_first = seen.drops.iter().filter(|((node, _), _)| *node == FA).map(|(_, count)| count).sum::<u32>();
    let sent_after = seen.times(MH, "registered").last().map_or(0.0, |at| 62.0 - at) * 20.0;
    assert!(f64::from(at_first) < sent_after, "{at_first} of {sent_after}");
    assert_eq!(lost(other, DropReason::VisitorGone), 0);
}

#[test]
fn requests_under_way_count_among_the_visitors() {
    let mut spec = cells("rfc", "static", &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
        (it.move_detection, it.most_visitors) = (MoveDetection::Eager, 1);
    });
    let second = like(&mut spec, MH);
    let host = spec.roles[&MH].clone();
    spec.roles.insert(second, host);
    if let Some(RoleSpec::Router { hosts, .. }) = spec.roles.get_mut(&HA) {
        hosts.push(second);
    }
    spec.served[0].members.push(second);
    spec.duration = Span::from_secs(30);
    let seen = watched(&spec);
    // Both hear the same advertisement, and ask before the first one is answered.
    let mut registered = [MH, second].map(|host| seen.times(host, "registered").len());
    registered.sort_unstable();
    assert_eq!(registered, [0, 1], "{:?}", seen.events);
    let mut both: Vec<u8> = codes(&seen, MH);
    both.extend(codes(&seen, second));
    assert!(!both.is_empty() && both.iter().all(|code| *code == 66), "{both:?}");
}

#[test]
fn packets_between_hosts_of_two_home_agents_pass_reverse_tunnels() {
    // RFC 3024 §4: the home agent forwards what comes out of the tunnel. The second home agent is the first foreign
    // one; both hosts are at the third agent.
    let (mut spec, third) = three_cells(|it| it.reverse_tunnel = true);
    let guest = like(&mut spec, MH);
    let far = spec.nodes[guest.index()].start.y;
    let track = [(1.0, 510.0), (31.0, 810.0)].map(|(at, x)| {
        let metres = hopyard_engine::units::Distance::new;
        waypoints::Waypoint::ground(Span::from_nanos((at * 1e9) as u64), metres(x), metres(far))
    });
    spec.nodes[guest.index()].start.x = 510.0;
    let track = waypoints::Params { track: track.to_vec(), orders: Vec::new() };
    spec.nodes[guest.index()].mobility = mobility::Config::Waypoints(track.into());
    spec.roles.insert(guest, RoleSpec::Host { agent: FA, forged: Vec::new() });
    if let Some(RoleSpec::Router { hosts, .. }) = spec.roles.get_mut(&FA) {
        hosts.push(guest);
    }
    spec.served[1].members.push(guest);
    let mut params = app::cbr::Params::of_profile("rfc");
    (params.packet_size, params.interval) = (Bytes::new(172), Span::from_millis(50));
    spec.flows.push(FlowSpec {
        start: second(62.0),
        stop: second(68.0),
        ..crate::common::udp_flow(MH, guest, app::Config::Cbr(params.into()))
    });
    let seen = watched(&spec);
    assert_eq!(seen.times(MH, "registered").len(), 2, "by way of the agent between them to {third}");
    assert_eq!(seen.times(guest, "registered").len(), 1);
    assert!(seen.arrivals.len() >= 119, "{} of 120 arrived, {:?}", seen.arrivals.len(), seen.drops);
}
