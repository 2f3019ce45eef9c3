//! The host of Nashiry et al., to and fro: as many handoffs as borders are crossed; and cells that overlap.

use hopyard_engine::Span;
use hopyard_model::address::NodeId;
use hopyard_model::agent::mobile_ip::{self, MoveDetection};
use hopyard_model::context::{MobileChange, MobileEvent};
use hopyard_model::mobility::Position;
use hopyard_model::world::{self, RoleSpec, ServedSpec, Spec, Watch, WireSpec};

use super::cells::{CN, FA, HA, MH, Seen, cells, watched, with_datagrams};

/// A second foreign agent on the same line, with a wire to the same router.
fn add_agent(spec: &mut Spec, x: f64) -> NodeId {
    let node = NodeId(spec.nodes.len() as u32);
    let mut copy = spec.nodes[FA.index()].clone();
    copy.start = Position::ground(x, 300.0);
    spec.nodes.push(copy);
    spec.roles.insert(node, spec.roles[&FA].clone());
    spec.served.push(ServedSpec { router: node, prefix: None, members: Vec::new() });
    let wire = spec.wires.iter().find(|wire| wire.ends.1 == FA).expect("the foreign agent has a wire").clone();
    spec.wires.push(WireSpec { ends: (wire.ends.0, node), ..wire });
    node
}

/// From (50, 100) to the far end and back from 10 s on, with a pause of 1 s at each; the times at which a border is
/// crossed.
fn to_and_fro(far: f64, speed: f64, until: f64) -> (Vec<(f64, f64)>, Vec<f64>) {
    let (mut track, mut borders) = (vec![(0.0, 50.0), (10.0, 50.0)], Vec::new());
    let (mut at, mut x) = (10.0, 50.0);
    while at < until {
        let to = far + 50.0 - x;
        // The borders are 300, 600 ... metres from the end at which the host starts.
        let crossed = (1..).map(|it| f64::from(it) * 300.0).take_while(|it| *it < far - 50.0);
        borders.extend(crossed.map(|it| at + it / speed).filter(|it| *it < until));
        at += (far - 50.0) / speed;
        track.extend([(at, to), (at + 1.0, to)]);
        at += 1.0;
        x = to;
    }
    (track, borders)
}

/// The agents with which the host is registered, one after the other, from the home agent on.
fn agents(events: &Seen) -> Vec<u32> {
    let its = events.events.iter().filter(|(_, node, _)| *node == MH);
    let mut agents = vec![HA.0];
    agents.extend(its.filter_map(|(_, _, event): &(_, _, MobileEvent)| match event.what {
        MobileChange::Registered { agent, .. } => Some(agent.0),
        _ => None,
    }));
    agents.dedup();
    agents
}

/// The network of topology A or B, with the times of the crossings.
fn topology(is_b: bool, speed: f64, profile: &str) -> (Spec, Vec<f64>) {
    let (far, until) = if is_b { (950.0, 190.0) } else { (650.0, 150.0) };
    let (track, borders) = to_and_fro(far, speed, until);
    let eager = |it: &mut mobile_ip::Params| it.move_detection = MoveDetection::Eager;
    let mut spec = cells(profile, if profile == "ns2" { "dsdv" } else { "static" }, &track, eager);
    if is_b {
        add_agent(&mut spec, 800.0);
    }
    spec.duration = Span::from_secs_f64(until);
    (spec, borders)
}

#[test]
fn each_border_that_is_crossed_is_a_handoff_and_under_dsdv_those_that_are_missed_are_in_the_table() {
    let mut missed = [0; 2];
    for (is_b, counts) in [(false, [1, 2, 3, 5, 6, 7]), (true, [2, 4, 6, 8, 10, 12])] {
        for (speed, crossings) in (1..).map(|it| 5.0 * f64::from(it)).zip(counts) {
            for (profile, run) in [("rfc", 0)].into_iter().chain((0..5).map(|run| ("ns2", run))) {
                let (mut spec, borders) = topology(is_b, speed, profile);
                spec.run = run;
                let case = format!("topology B: {is_b}, {speed} m/s, {profile}, run {run}");
                assert_eq!(borders.len(), crossings, "{case}");
                let seen = watched(&spec);
                // The table is the observer's, in whose place the probe is.
                let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
                let found = agents(&seen);
                let changes: Vec<_> =
                    outcome.handoffs.iter().filter(|row| row.moved_s.is_some_and(|at| at >= borders[0])).collect();
                if profile == "rfc" {
                    assert_eq!(found.len() - 1, crossings, "{case}: {found:?}");
                } else {
                    assert!(found.len() - 1 <= crossings, "{case}: {found:?}");
                    missed[usize::from(speed >= 25.0)] += crossings + 1 - found.len();
                }
                // Each cell that the host entered has a row; one without a registration says which was missed.
                assert_eq!(
                    changes.iter().filter(|row| row.kind == "change").count(),
                    crossings,
                    "{case}: {changes:#?}"
                );
                let mut registered = vec![HA.0];
                registered.extend(changes.iter().filter(|row| row.registered_s.is_some()).map(|row| row.agent));
                registered.dedup();
                assert_eq!(registered, found, "{case}: {changes:#?}");
            }
        }
    }
    // A cell of 300 m is crossed in 10 s at 30 m/s; DSDV may need up to 15 s, which is as long as at 20 m/s.
    assert!(missed[1] > missed[0], "{missed:?}");
}

#[test]
fn a_host_that_rests_exactly_at_the_edge_is_served() {
    for profile in ["rfc", "ns2"] {
        let mut spec = cells(profile, if profile == "ns2" { "dsdv" } else { "static" }, &[(0.0, 50.0)], |_| {});
        let (host, agent) = (spec.nodes[MH.index()].start, spec.nodes[HA.index()].start);
        assert_eq!((host.x - agent.x).hypot(host.y - agent.y), 250.0);
        spec.duration = Span::from_secs(60);
        with_datagrams(&mut spec, CN, MH);
        let seen = watched(&spec);
        let served = seen.longest_gap(20.0, 59.9);
        assert!(served < 0.1, "{profile}: silent for {served} s");
    }
}

#[test]
fn in_overlapping_cells_with_two_bindings_nothing_is_lost_and_each_copy_is_counted() {
    // Along y = 100, the cells are [50, 350], [250, 550] and [400, 700]. The host goes 10 m/s.
    let track = [(0.0, 200.0), (5.0, 200.0), (55.0, 700.0)];
    let mut spec = cells("rfc", "static", &track, |it| {
        (it.simultaneous, it.move_detection) = (true, MoveDetection::Eager);
    });
    spec.nodes[FA.index()].start = Position::ground(400.0, 300.0);
    let second = add_agent(&mut spec, 550.0);
    spec.duration = Span::from_secs(53);
    with_datagrams(&mut spec, CN, MH);
    let (outcome, seen) = crate::common::run_with(&spec, Seen::default());
    assert_eq!(agents(&seen), [HA.0, FA.0, second.0]);
    assert!(matches!(spec.roles[&second], RoleSpec::Router { is_foreign: true, .. }));
    let flow = &outcome.flows[0];
    // One may be on its way at the end.
    assert!(
        flow.packets_unique + 1 >= flow.packets_sent,
        "{} of {}: {:?}",
        flow.packets_unique,
        flow.packets_sent,
        seen.drops
    );
    // From the second binding on, each packet goes both ways. Until the host leaves the first cell, at 40 s, both
    // arrive, and then the copy there is lost.
    let both = seen.times(HA, "tunnel_begun")[1];
    let copies = (flow.packets_arrived - flow.packets_unique) as f64;
    assert!((copies - (40.0 - both) * 20.0).abs() <= 2.0, "{copies} copies from {both} s on");
    let lost = f64::from(seen.drops.values().sum::<u32>());
    assert!((lost - 13.0 * 20.0).abs() <= 2.0 && seen.drops.keys().all(|(node, _)| *node == FA), "{:?}", seen.drops);
}

#[test]
fn under_ns2_the_binding_outlives_a_silent_host_by_two_seconds() {
    // Out of reach between two advertisements, at 50 s.
    let track = [(0.0, 250.0), (10.0, 250.0), (20.0, 500.0), (50.0, 500.0), (50.1, 5000.0)];
    let mut spec = cells("ns2", "dsdv", &track, |_| {});
    spec.duration = Span::from_secs(60);
    let seen = watched(&spec);
    let last = seen.times(MH, "registered").into_iter().fold(0.0, f64::max);
    let ended = seen.times(HA, "expired");
    assert!((48.9..50.1).contains(&last) && ended.len() == 1, "{last}, {ended:?}");
    // The home agent had answered before the host had the reply.
    assert!((0.0..0.02).contains(&(last + 2.0 - ended[0])), "registered at {last}, ended at {ended:?}");
}
