//! Agents that begin anew, do not run, cannot be reached, or deny; and what becomes of their hosts.

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::agent::Orders;
use hopyard_model::agent::mobile_ip::{MoveDetection, Params};
use hopyard_model::context::{DropReason, MobileChange};
use hopyard_model::link::wired::Down;
use hopyard_model::world::{Spec, WireSpec};

use super::cells::{CN, FA, HA, MH, Seen, cells, watched, with_datagrams};

fn second(at: f64) -> Time {
    Time::from_nanos((at * 1e9) as u64)
}

/// A host that goes to the cell of the foreign agent, where it is from 11 s on, and stays there.
fn away(change: impl FnOnce(&mut Params)) -> Spec {
    let mut spec = cells("rfc", "static", &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
        it.move_detection = MoveDetection::Eager;
        change(it);
    });
    spec.duration = Span::from_secs(60);
    with_datagrams(&mut spec, CN, MH);
    spec
}

/// The codes with which the host was denied, with the times.
fn denials(seen: &Seen) -> Vec<(f64, u8)> {
    let its = seen.events.iter().filter(|(_, at, _)| *at == MH);
    its.filter_map(|(at, _, it)| match it.what {
        MobileChange::Refused { code, .. } => Some((at.seconds(), code)),
        _ => None,
    })
    .collect()
}

/// Which codes they were, each once.
fn codes(seen: &Seen) -> Vec<u8> {
    let mut codes: Vec<u8> = denials(seen).into_iter().map(|it| it.1).collect();
    codes.sort_unstable();
    codes.dedup();
    codes
}

/// When the host is registered again after a time.
fn registered_after(seen: &Seen, at: f64) -> f64 {
    seen.times(MH, "registered").into_iter().find(|it| *it > at).unwrap_or(f64::INFINITY)
}

fn lost(seen: &Seen, node: NodeId, reason: DropReason) -> u32 {
    seen.drops.get(&(node, reason)).copied().unwrap_or(0)
}

#[test]
fn s2_3_2_a_host_registers_again_with_a_foreign_agent_that_has_begun_anew() {
    let mut spec = away(|_| {});
    spec.orders.insert(FA, Orders { stops: vec![(second(30.3), second(30.3))], ..Orders::default() });
    let seen = watched(&spec);
    // The first advertisement comes at once.
    let again = registered_after(&seen, 30.3);
    assert!(again < 30.4, "{again}");
    // What the home agent sends until then is for no visitor.
    assert!(lost(&seen, FA, DropReason::VisitorGone) <= 3, "{:?}", seen.drops);
    assert!(seen.longest_gap(25.0, 59.0) < 0.3, "{}", seen.longest_gap(25.0, 59.0));
}

#[test]
fn s2_3_2_a_host_that_has_missed_the_first_advertisements_registers_again() {
    // The radio of the host sleeps from the end of the old numbers until number 1 has been sent, and hears 2.
    let mut spec = away(|it| (it.advertised_lifetime, it.beacon_jitter) = (9, 0.0));
    spec.orders.insert(FA, Orders { stops: vec![(second(30.3), second(30.3))], ..Orders::default() });
    spec.energy.model = hopyard_model::channel::energy::Config::of_profile("state", "rfc").expect("a model");
    spec.energy.sleeps.push(hopyard_model::world::SleepSpec {
        node: MH,
        times: vec![(second(30.2), second(31.8))],
        every: None,
    });
    let seen = watched(&spec);
    let again = registered_after(&seen, 30.3);
    assert!((32.3..32.4).contains(&again), "{again}");
    assert!(lost(&seen, FA, DropReason::VisitorGone) > 20, "{:?}", seen.drops);
}

#[test]
fn a_foreign_agent_that_does_not_run_loses_its_hosts_until_it_is_back() {
    let mut spec = away(|_| {});
    spec.orders.insert(FA, Orders { stops: vec![(second(30.3), second(40.0))], ..Orders::default() });
    let seen = watched(&spec);
    let again = registered_after(&seen, 30.3);
    assert!((40.0..40.1).contains(&again), "{again}");
    // 20 datagrams a second.
    assert!((190..=200).contains(&lost(&seen, FA, DropReason::VisitorGone)), "{:?}", seen.drops);
    assert!(seen.longest_gap(40.2, 59.0) < 0.2);
}

#[test]
fn a_home_agent_that_has_begun_anew_knows_its_absent_hosts_when_they_renew() {
    // A registration of 20 s is renewed after 18 s.
    let mut spec = away(|it| it.registration_lifetime = 20);
    spec.orders.insert(HA, Orders { stops: vec![(second(20.0), second(20.0))], ..Orders::default() });
    let seen = watched(&spec);
    let first = seen.times(MH, "registered").into_iter().rfind(|it| *it < 20.0).expect("it is away");
    let again = registered_after(&seen, 20.0);
    assert!((again - first - 18.0).abs() < 0.1, "{first} and {again}");
    assert_eq!(seen.times(HA, "tunnel_ended").iter().filter(|it| (**it - 20.0).abs() < 1e-6).count(), 1);
    // Until then its packets are sent to the radio of the home network, where nobody answers.
    let silent = seen.longest_gap(15.0, 59.0);
    assert!((silent - (again - 20.0)).abs() < 0.3, "{silent}");
    assert!(seen.longest_gap(again + 0.2, 59.0) < 0.2);
}

#[test]
fn s3_4_82_a_home_agent_that_does_not_run_has_no_program_at_the_port() {
    let mut spec = away(|_| {});
    spec.orders.insert(HA, Orders { stops: vec![(second(5.0), second(25.0))], ..Orders::default() });
    let seen = watched(&spec);
    assert_eq!(codes(&seen), [82]);
    let again = registered_after(&seen, 5.0);
    assert!((25.0..45.0).contains(&again), "{again}");
}

/// Makes a wire go down from 5 s to 25 s.
fn with_down(mut spec: Spec, wire: usize) -> Spec {
    spec.wires[wire].params.down = vec![Down { from: Span::from_secs(5), to: Some(Span::from_secs(25)) }];
    spec
}

#[test]
fn s3_4_80_and_81_routers_tell_that_they_have_no_way() {
    // The wire of the home agent: the router before it says so. That of the foreign agent: it knows itself, and that
    // the home agent is no neighbour.
    for (wire, code) in [(1, 81), (2, 80)] {
        let seen = watched(&with_down(away(|_| {}), wire));
        assert_eq!(codes(&seen), [code], "wire {wire}");
        let again = registered_after(&seen, 5.0);
        assert!((25.0..45.0).contains(&again), "{again}");
    }
}

#[test]
fn s3_4_88_the_time_to_live_of_a_request_runs_out_on_a_long_way() {
    let mut spec = away(|_| {});
    spec.flows.clear();
    // 70 routers between the foreign agent and the others.
    let wire = spec.wires.remove(2);
    let mut before = wire.ends.0;
    for _ in 0..70 {
        let router = NodeId(spec.nodes.len() as u32);
        spec.nodes.push(spec.nodes[1].clone());
        spec.wires.push(WireSpec { ends: (before, router), ..wire.clone() });
        before = router;
    }
    spec.wires.push(WireSpec { ends: (before, FA), ..wire });
    let seen = watched(&spec);
    assert_eq!(codes(&seen), [88]);
}

#[test]
fn s3_4_78_a_request_that_is_lost_is_denied_after_seven_seconds() {
    // It is on the wire of the home agent when that goes down, so that no router knows of it.
    let mut spec = away(|it| it.request_retry = Span::from_secs(20));
    spec.wires[1].params.delay = Span::from_secs(3);
    let clear = watched(&spec);
    let asked = clear.times(MH, "requested")[0];
    let from = Span::from_nanos(((asked + 1.0) * 1e9) as u64);
    spec.wires[1].params.down = vec![Down { from, to: Some(from + Span::from_millis(100)) }];
    let seen = watched(&spec);
    let denied = denials(&seen);
    assert!(denied[0].1 == 78 && (denied[0].0 - asked - 7.0).abs() < 0.1, "{denied:?} after {asked}");
}

#[test]
fn each_denial_of_an_agent_holds_a_host_off_until_it_ends() {
    for code in (64..=79).chain([80, 81, 82, 88]).chain(128..=139) {
        let mut spec = away(|_| {});
        spec.flows.clear();
        let (node, other) = if code < 128 { (FA, HA) } else { (HA, FA) };
        let denials = vec![(code, (second(0.0), second(20.0)))];
        spec.orders.insert(node, Orders { denials: denials.clone(), ..Orders::default() });
        // An agent does not deny with what the other one says.
        spec.orders.insert(other, Orders { denials, ..Orders::default() });
        let seen = watched(&spec);
        assert_eq!(codes(&seen), [code]);
        let again = registered_after(&seen, 0.0);
        assert!((20.0..40.0).contains(&again), "code {code}: {again}");
    }
}

#[test]
fn s3_5_keys_between_all_three_change_nothing_but_the_bytes() {
    let keys = |it: &mut Params| {
        (it.mobile_foreign_authentication, it.foreign_home_authentication) = (true, true);
    };
    let seen = watched(&away(keys));
    assert!(codes(&seen).is_empty());
    assert_eq!(seen.times(MH, "registered").len(), 1);
    let forged = || Orders { forged: vec![(second(0.0), second(20.0))], ..Orders::default() };
    for (node, code) in [(MH, 67), (HA, 68), (FA, 132)] {
        let mut spec = away(keys);
        spec.orders.insert(node, forged());
        let seen = watched(&spec);
        assert_eq!(codes(&seen), [code]);
        assert!(registered_after(&seen, 0.0) > 20.0);
    }
}

#[test]
fn rfc3024_s4_3_2_a_home_agent_without_a_binding_takes_nothing_out_of_a_reverse_tunnel() {
    // The home agent begins anew at 20 s, and the host renews 18 s after its request.
    let mut spec = cells("rfc", "static", &[(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)], |it| {
        (it.move_detection, it.reverse_tunnel, it.registration_lifetime) = (MoveDetection::Eager, true, 20);
    });
    spec.duration = Span::from_secs(60);
    with_datagrams(&mut spec, MH, CN);
    spec.orders.insert(HA, Orders { stops: vec![(second(20.0), second(20.0))], ..Orders::default() });
    let seen = watched(&spec);
    let again = registered_after(&seen, 20.0);
    let silent = seen.longest_gap(15.0, 59.0);
    assert!((silent - (again - 20.0)).abs() < 0.2, "silent for {silent} s, registered at {again}");
    let sent = (again - 20.0) * 20.0;
    let lost = f64::from(lost(&seen, HA, DropReason::NotRegistered));
    assert!((lost - sent).abs() < 3.0, "{lost} of {sent}");
}
