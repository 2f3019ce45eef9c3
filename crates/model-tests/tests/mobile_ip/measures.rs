//! What is counted and recorded of Mobile IP: messages, tunnels, registrations, detours, events.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use hopyard_engine::{Rng, Span};
use hopyard_model::address::NodeId;
use hopyard_model::agent::mobile_ip::{MoveDetection, Params};
use hopyard_model::observe::{NodeRow, Outcome};
use hopyard_model::packet::Form;
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::external::ExternalConfig;
use hopyard_model::transport::congestion::newreno::{self, NewReno};
use hopyard_model::transport::congestion::{
    self, Ack, Answer, CongestionControl, ExternalControl, Loss, RecoveryChoice, Timeout, View,
};
use hopyard_model::transport::tcp::NetworkEvent;
use hopyard_model::world::{RoleSpec, Spec, Transport};

use super::cells::{CN, FA, HA, MH, cells, with_datagrams};
use crate::common::{add_tcp, run, run_for};

/// Over the border at 350 m at 11 s, and there to the end.
const AWAY: [(f64, f64); 3] = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0)];

/// Away, with datagrams of 200 bytes.
fn away(from: NodeId, to: NodeId, change: impl FnOnce(&mut Params)) -> Spec {
    let mut spec = cells("rfc", "static", &AWAY, |it| {
        it.move_detection = MoveDetection::Eager;
        change(it);
    });
    spec.duration = Span::from_secs(40);
    with_datagrams(&mut spec, from, to);
    spec
}

fn node(outcome: &Outcome, node: NodeId) -> &NodeRow {
    &outcome.nodes[node.index()]
}

#[test]
fn messages_are_counted_by_type_at_radios_and_wires() {
    let outcome = run(&away(CN, MH, |it| it.beacon_jitter = 0.0));
    // By type and node: messages sent at radios and by wires, made, and received; the bytes of each.
    let rows: BTreeMap<_, _> = outcome
        .overhead
        .iter()
        .filter(|row| row.kind == "control")
        .map(|row| {
            assert_eq!(row.sent, row.sent_radio + row.sent_wire, "{row:?}");
            assert_eq!(row.sent_bytes, row.sent_radio_bytes + row.sent_wire_bytes, "{row:?}");
            assert!(row.sent == 0 || row.sent_bytes % row.sent == 0, "{row:?}");
            assert_eq!(row.sent_wire_bytes * row.sent, row.sent_bytes * row.sent_wire, "{row:?}");
            ((row.message, row.node), (row.sent_radio, row.sent_wire, row.originated, row.sent_bytes))
        })
        .collect();
    // A request from the host by way of agent and router, and the reply; 24 and 20 bytes, UDP 8, IP 20, and 22 of
    // authentication. Only the host makes requests, and only the home agent makes replies.
    let router = 1;
    for (message, at, expected) in [
        ("REQUEST", MH.0, (1, 0, 1, 74)),
        ("REQUEST", FA.0, (0, 1, 0, 74)),
        ("REQUEST", router, (0, 1, 0, 74)),
        ("REPLY", HA.0, (0, 1, 1, 70)),
        ("REPLY", router, (0, 1, 0, 70)),
        ("REPLY", FA.0, (1, 0, 0, 70)),
    ] {
        assert_eq!(rows.get(&(message, at)), Some(&expected), "{message} at {at}: {rows:?}");
    }
    // Once a second on the radio of each agent: 44 bytes, and 48 with a care-of address.
    for (agent, bytes) in [(HA, 44), (FA, 48)] {
        let (radio, wire, made, sum) = rows[&("ADVERTISEMENT", agent.0)];
        assert!((40..=42).contains(&radio), "{rows:?}");
        assert_eq!((wire, made, sum), (0, radio, radio * bytes), "{rows:?}");
    }
    let heard = outcome.overhead.iter().find(|row| row.message == "ADVERTISEMENT" && row.node == MH.0);
    assert!(heard.is_some_and(|row| row.sent == 0 && row.received >= 38), "{heard:?}");
    assert!(outcome.overhead.iter().all(|row| row.node != CN.0), "the correspondent has no part in it");
}

#[test]
fn tunnel_bytes_are_packets_times_the_outer_header() {
    for (form, from, to, reverse, entry, bytes) in [
        (Form::IpInIp, CN, MH, false, HA, 20),
        (Form::IpInIp, MH, CN, true, FA, 20),
        (Form::Minimal, CN, MH, false, HA, 12),
        (Form::Minimal, MH, CN, true, FA, 12),
        // The home agent's own packets need not keep their source (RFC 2004 §3.1).
        (Form::Minimal, HA, MH, false, HA, 8),
    ] {
        let outcome = run(&away(from, to, |it| (it.tunnel, it.reverse_tunnel) = (form, reverse)));
        let case = format!("{form:?}, {from} to {to}");
        for row in &outcome.nodes {
            let tunnels = row.node == entry.0;
            assert_eq!(row.tunnel_bytes, bytes * row.tunnelled, "{case}");
            // 29 s of 20 packets, less the time to be registered.
            assert_eq!(row.tunnelled > 500, tunnels, "{case}: {} at {}", row.tunnelled, row.node);
            assert!(tunnels || row.tunnelled == 0, "{case}");
        }
    }
}

#[test]
fn agents_count_registrations_bindings_and_visitors() {
    let metrics = |row: &NodeRow| {
        ["registrations_granted", "registrations_refused", "bindings", "bindings_most", "visitors", "visitors_most"]
            .map(|name| row.metric(name))
    };
    let outcome = run(&away(CN, MH, |_| {}));
    assert_eq!(metrics(node(&outcome, HA)), [Some(1), Some(0), Some(1), Some(1), None, None]);
    assert_eq!(metrics(node(&outcome, FA)), [None, Some(0), None, None, Some(1), Some(1)]);
    for other in [MH, CN] {
        assert_eq!(metrics(node(&outcome, other)), [None; 6]);
    }
    // Back home: a binding that was, and a request that ends it.
    let track = [(0.0, 200.0), (1.0, 200.0), (21.0, 500.0), (41.0, 200.0)];
    let mut spec = cells("rfc", "static", &track, |it| it.move_detection = MoveDetection::Eager);
    let outcome = run_for(&mut spec, 50);
    assert_eq!(metrics(node(&outcome, HA)), [Some(2), Some(0), Some(0), Some(1), None, None]);
    // Requests with a wrong key are denied, again and again.
    let mut spec = away(CN, MH, |_| {});
    let forged = vec![(hopyard_engine::Time::ZERO, hopyard_engine::Time::NEVER)];
    spec.roles.insert(MH, RoleSpec::Host { agent: HA, forged });
    let outcome = run(&spec);
    let [granted, refused, ..] = metrics(node(&outcome, HA));
    assert!(granted == Some(0) && refused > Some(1), "{granted:?} {refused:?}");
    let asked: u64 = outcome.overhead.iter().filter(|it| it.message == "REQUEST").map(|it| it.originated).sum();
    assert_eq!(refused, Some(asked));
}

#[test]
fn the_detour_over_home_is_that_of_arithmetic() {
    // Two wires of 5 Mb/s and 2 ms, with an outer header.
    let two_wires = |bytes: f64| 2.0 * (bytes * 8.0 / 5e6 + 2e-3) * 1e3;
    for (from, to, direction) in [(CN, MH, "to_host"), (MH, CN, "from_host")] {
        let outcome = run(&away(from, to, |it| it.reverse_tunnel = true));
        let [row] = &outcome.detours[..] else { panic!("{:?}", outcome.detours) };
        assert_eq!((row.flow, row.host, row.agent, row.direction), (0, MH.0, FA.0, direction));
        // Each packet that has arrived since has come through the tunnel.
        let tunnelled: u64 = outcome.nodes.iter().map(|it| it.tunnelled).sum();
        assert!(row.packets <= tunnelled && row.packets + 2 >= tunnelled, "{row:?}, {tunnelled} tunnelled");
        // Correspondent, router, home agent, router, foreign agent, host; without the way to the home agent and back.
        assert_eq!((row.hops, row.direct_hops), (5.0, 3.0), "{row:?}");
        let detour = row.delay_ms - row.direct_delay_ms;
        assert!((detour - two_wires(220.0)).abs() < 1e-3, "{row:?}: {detour}");
        // The direct way: two wires, and a frame of 236 bytes on the radio with its acknowledgement and back-off.
        let radio = row.direct_delay_ms - two_wires(200.0);
        assert!((1.0..3.0).contains(&radio), "{row:?}: {radio}");
    }
    // What the host sends goes the direct way, without a reverse tunnel.
    assert!(run(&away(MH, CN, |_| {})).detours.is_empty());
}

#[test]
fn events_are_recorded_in_order_if_that_is_asked_for() {
    let mut spec = away(CN, MH, |_| {});
    let silent = run(&spec);
    assert!(silent.mobile_events.is_empty());
    spec.observe.recorded.mobile_events = true;
    let outcome = run(&spec);
    assert_eq!(silent.digest, outcome.digest);
    assert_eq!(silent.handoffs, outcome.handoffs);
    let after = outcome.mobile_events.iter().filter(|row| row.time_s > 5.0);
    let names: Vec<_> = after.clone().map(|row| (row.event, row.node)).collect();
    let border = [("cell_left", MH.0), ("cell_entered", MH.0)];
    let asks = [("heard", MH.0), ("moved", MH.0), ("requested", MH.0), ("tunnel_begun", HA.0), ("registered", MH.0)];
    let rest = [("first_down", MH.0), ("lost", MH.0)];
    let mut expected = [&border[..], &asks, &rest].concat();
    // The former agent's lifetime of 3 s may end before or after.
    let mut found = names.clone();
    for list in [&mut found, &mut expected] {
        list.retain(|(name, _)| *name != "lost");
        // Both at one time.
        if list.len() > 1 {
            list[..2].sort_unstable();
        }
    }
    assert_eq!(found, expected, "{names:?}");
    let of = |event: &str| after.clone().find(|row| row.event == event).unwrap_or_else(|| panic!("no {event}"));
    for event in ["cell_left", "cell_entered"] {
        assert!((of(event).time_s - 11.0).abs() < 1e-6, "{:?}", of(event));
    }
    assert_eq!((of("cell_left").agent, of("cell_entered").agent), (Some(HA.0), Some(FA.0)));
    assert_eq!((of("moved").agent_before, of("moved").agent), (Some(HA.0), Some(FA.0)));
    let registered = of("registered");
    assert_eq!((registered.care_of, registered.lifetime, registered.code), (Some(FA.0), Some(300), None));
    let [row] = &outcome.handoffs[..] else { panic!("{:?}", outcome.handoffs) };
    assert_eq!((Some(of("moved").time_s), Some(registered.time_s)), (row.moved_s, row.registered_s));
    assert_eq!(Some(of("first_down").time_s), row.first_down_s);
    assert_eq!((Some(of("cell_left").time_s), Some(of("cell_entered").time_s)), (row.left_s, row.entered_s));
}

/// NewReno that notes when its host has a new care-of address.
struct Told {
    newreno: NewReno,
    times: Arc<Mutex<Vec<f64>>>,
}

impl CongestionControl for Told {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.newreno.on_ack(ack, view)
    }
    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.newreno.on_loss(loss, view)
    }
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.newreno.on_timeout(timeout, view)
    }
    fn on_network(&mut self, event: NetworkEvent, view: &View) -> Answer {
        if event == NetworkEvent::CareOfChanged {
            self.times.lock().expect("nobody panics").push(view.now.seconds());
        }
        self.newreno.on_network(event, view)
    }
    fn recovery(&self) -> RecoveryChoice {
        self.newreno.recovery()
    }
}

impl ExternalControl for Told {}

#[test]
fn a_sender_is_told_of_each_new_care_of_address() {
    // Away and back again. A host that is at home from the start has its first care-of address abroad; in profile
    // `ns2` it registers at home, too, which is none.
    let track = [(0.0, 200.0), (2.0, 200.0), (22.0, 500.0), (32.0, 500.0), (52.0, 200.0)];
    for (profile, routing) in [("rfc", "static"), ("ns2", "dsdv")] {
        let times = Arc::new(Mutex::new(Vec::new()));
        let noted = Arc::clone(&times);
        let build = move |_: Rng| -> Box<dyn ExternalControl> {
            let newreno = NewReno::new(&newreno::Params::of_profile("rfc"));
            Box::new(Told { newreno, times: Arc::clone(&noted) })
        };
        let mut spec = cells(profile, routing, &track, |it| it.move_detection = MoveDetection::Eager);
        spec.duration = Span::from_secs(60);
        add_tcp(&mut spec, MH.0, CN.0, profile, "newreno", |_| {});
        let Transport::Tcp { config, .. } = &mut spec.flows[0].transport else { panic!("a flow of TCP") };
        config.congestion = congestion::Config::External(ExternalConfig::new("my:Told", serde_json::json!([]), build));
        let outcome = run(&spec);
        let changes = outcome.handoffs.iter().filter(|row| row.kind == "change");
        let registered: Vec<f64> = changes.filter_map(|row| row.registered_s).collect();
        assert_eq!(registered.len(), 2, "{profile}: {:?}", outcome.handoffs);
        assert_eq!(*times.lock().expect("nobody panics"), registered, "{profile}");
    }
}
