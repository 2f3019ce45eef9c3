//! In any network, no packet is lost without a reason, nothing panics, and the tables are consistent.

use std::sync::Arc;

use hopyard_engine::units::{Bytes, Energy};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::channel::energy::{self, Battery};
use hopyard_model::link::wired::trace::{End, Format, Trace};
use hopyard_model::link::{queue, wired};
use hopyard_model::mac::rate_control;
use hopyard_model::mobility::files::Reading;
use hopyard_model::mobility::{self, Configured as _, Movements};
use hopyard_model::observe::{Outcome, own_columns};
use hopyard_model::params::{ModelInfo, Params as _};
use hopyard_model::phy::{Reception, fading, propagation};
use hopyard_model::transport::{acking, congestion};
use hopyard_model::world::{
    self, ChannelSpec, FlowSpec, Quantity, SleepSpec, Spec, Transport, TunnelSpec, Watch, WireSpec,
};
use hopyard_model::{agent, app, link, mac, multicast, routing};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value};

use crate::common::{self, add_cbr, add_tcp, mbps, network, run, run_for, to_group, with_traffic};

const PROFILES: [&str; 2] = ["rfc", "ns2"];

fn names(models: &'static [ModelInfo]) -> impl Strategy<Value = &'static str> {
    select(models).prop_map(|model| model.name)
}

#[derive(Clone, Debug)]
struct FlowPlan {
    from: u32,
    to: u32,
    variant: Option<&'static str>,
    acking: &'static str,
    traffic: &'static str,
    profile: &'static str,
    size: u64,
    window: u32,
    start: u64,
    stop: Option<u64>,
}

fn flow() -> impl Strategy<Value = FlowPlan> {
    let ends = (0..64_u32, 0..64_u32);
    let transport = (prop::option::of(names(congestion::MODELS)), names(acking::MODELS), names(app::MODELS));
    let sizes = (select(&PROFILES[..]), 1..1460_u64, 1..60_u32);
    (ends, transport, sizes, (0..3_000_u64, prop::option::of(0..4_000_u64))).prop_map(
        |((from, to), (variant, acking, traffic), (profile, size, window), (start, stop))| FlowPlan {
            from,
            to,
            variant,
            acking,
            traffic,
            profile,
            size,
            window,
            start,
            stop: stop.map(|after| start + after),
        },
    )
}

fn add(spec: &mut Spec, plan: &FlowPlan) {
    let nodes = spec.nodes.len() as u32;
    let from = plan.from % nodes;
    // Any node except the source.
    let to = (from + 1 + plan.to % (nodes - 1)) % nodes;
    if let Some(variant) = plan.variant {
        add_tcp(spec, from, to, plan.profile, variant, |tcp| {
            (tcp.segment_size, tcp.window) = (Bytes::new(plan.size), plan.window);
        });
    } else {
        add_cbr(spec, from, to, plan.size, Span::from_millis(10));
    }
    let flow = spec.flows.last_mut().expect("a flow");
    let changes = [
        ("packet_size", format!("{} B", plan.size).into()),
        ("size", format!("{} B", plan.size * 37).into()),
        ("rate", "0.3 Mbps".into()),
        ("jitter", 1.0.into()),
    ];
    let values = tuned(app::MODELS, plan.traffic, plan.profile, &changes);
    with_traffic(flow, app::Config::read(plan.traffic, &values).expect("traffic"));
    match &mut flow.transport {
        Transport::Tcp { acking, .. } => {
            *acking = acking::Config::of_profile(plan.acking, plan.profile).expect("a way of acknowledging");
        }
        Transport::Udp if flow.traffic.needs_tcp() => {
            flow.traffic = app::Config::of_profile("cbr", "rfc").expect("traffic");
        }
        Transport::Udp => {}
    }
    flow.start = Time::ZERO + Span::from_millis(plan.start);
    flow.stop = plan.stop.map_or(Time::NEVER, |stop| Time::ZERO + Span::from_millis(stop));
}

/// Lets every second flow that can go to the group of all nodes with radios.
fn join_groups(spec: &mut Spec, protocol: &str) {
    let has_radio = |node: NodeId| !spec.nodes[node.index()].radios.is_empty();
    let members: Vec<u32> = (0..spec.nodes.len() as u32).filter(|node| has_radio(NodeId(*node))).collect();
    let able = |flow: &FlowSpec| {
        matches!(flow.transport, Transport::Udp)
            && !flow.traffic.is_answered()
            && has_radio(flow.from)
            && has_radio(flow.to)
    };
    let flows: Vec<usize> = (0..spec.flows.len()).step_by(2).filter(|flow| able(&spec.flows[*flow])).collect();
    for flow in flows {
        to_group(spec, flow, &members);
    }
    let config = multicast::Config::of_profile(protocol, "rfc").expect("a forwarding protocol");
    if !config.needs_relays() || spec.nodes.iter().all(|node| node.routing.chooses_relays()) {
        spec.multicast = config;
    }
}

/// The defaults of a model with other values of those of these parameters that it has.
fn tuned(models: &[ModelInfo], name: &str, profile: &str, changes: &[(&str, Value)]) -> Value {
    let model = models.iter().find(|model| model.name == name).expect("a model of the list");
    let mut values = (model.defaults)(profile);
    for (key, value) in changes {
        if let Some(place) = values.get_mut(*key) {
            *place = value.clone();
        }
    }
    values
}

/// Sets every switch of a model's parameters.
fn switched(mut values: Value, on: bool) -> Value {
    if let Some(values) = values.as_object_mut() {
        values.values_mut().filter(|value| value.is_boolean()).for_each(|value| *value = on.into());
    }
    values
}

/// How a node moves, and what a channel is like.
#[derive(Clone, Debug)]
struct Ground {
    movement: &'static str,
    speed: f64,
    followers: bool,
    channels: Vec<Air>,
}

#[derive(Clone, Debug)]
struct Air {
    mac: &'static str,
    reception: Reception,
    propagation: &'static str,
    fading: &'static str,
    rates: &'static str,
    rate: f64,
    rts_threshold: u64,
}

fn air() -> impl Strategy<Value = Air> {
    let rates = (select(&[1.0, 2.0, 5.5, 11.0][..]), select(&[0_u64, 300, 3000][..]));
    let losses = (names(propagation::MODELS), names(fading::MODELS));
    (names(mac::MODELS), select(Reception::ALL), losses, names(rate_control::MODELS), rates).prop_map(
        |(mac, reception, (propagation, fading), rates, (rate, rts_threshold))| Air {
            mac,
            reception,
            propagation,
            fading,
            rates,
            rate,
            rts_threshold,
        },
    )
}

impl Air {
    fn channel(&self, profile: &str) -> ChannelSpec {
        let mut channel = ChannelSpec::of_profile(profile);
        channel.radio.reception = self.reception;
        let changes = [("sigma", "5 dB".into())];
        let values = tuned(propagation::MODELS, self.propagation, profile, &changes);
        channel.fading = fading::Config::of_profile(self.fading, profile).expect("a model of fading");
        channel.rates = rate_control::Config::of_profile(self.rates, profile).expect("a rate control");
        channel.propagation = propagation::Config::read(self.propagation, &values).expect("a propagation model");
        let changes = [
            ("rate", format!("{} Mbps", self.rate).into()),
            ("rts_threshold", format!("{} B", self.rts_threshold).into()),
            // Long enough for every packet at every rate.
            ("slot", "20 ms".into()),
        ];
        let mut values = tuned(mac::MODELS, self.mac, profile, &changes);
        if values.get("max_ampdu").is_some() && self.rate > 2.0 {
            // Frames with several packets.
            let given = Map::from_iter([("standard".to_owned(), Value::from("n"))]);
            let model = mac::MODELS.iter().find(|model| model.name == self.mac).expect("a MAC");
            values = (model.led)(&(model.defaults)(profile), &given);
            values["rate"] = "mcs3".into();
            values["rts_threshold"] = format!("{} B", 10 * self.rts_threshold).into();
            values["max_amsdu"] = if self.rate > 6.0 { "3839 B" } else { "0 B" }.into();
        }
        channel.mac = mac::Config::read(self.mac, &values).expect("a MAC");
        channel
    }
}

fn ground() -> impl Strategy<Value = Ground> {
    let channels = prop::collection::vec(air(), 1..3);
    (names(mobility::MODELS), 10.0..300.0_f64, any::<bool>(), channels)
        .prop_map(|(movement, speed, followers, channels)| Ground { movement, speed, followers, channels })
}

/// A file in which every node but the first moves.
fn movements(nodes: usize, speed: f64) -> Arc<Movements> {
    let place = |n| format!("$node_({n}) set X_ {n}\n$node_({n}) set Y_ 0\n");
    let order = |n| format!("$ns_ at 0.5 \"$node_({n}) setdest {}.0 600.0 {speed:.1}\"\n", 90 * n);
    let text: String = (0..nodes).map(place).chain((1..nodes).map(order)).collect();
    Arc::new(Movements::read("inline", text.as_bytes(), &Reading::default()).expect("a movement file"))
}

impl Ground {
    fn apply(&self, spec: &mut Spec, profile: &str) {
        spec.channels = self.channels.iter().map(|air| air.channel(profile)).collect();
        if self.channels.len() > 1 {
            // Every third node joins both channels, every third has the second one only.
            for (number, node) in spec.nodes.iter_mut().enumerate() {
                node.radios = [vec![0], vec![0, 1], vec![1]][number % 3].clone();
            }
        }
        let of = |name: &str| {
            let changes = [
                ("width", "700 m".into()),
                ("height", "700 m".into()),
                ("speed_min", format!("{} m/s", self.speed / 2.0).into()),
                ("speed_max", format!("{} m/s", self.speed).into()),
                ("pause_max", "300 ms".into()),
                ("leader", 1.into()),
            ];
            mobility::Config::read(name, &tuned(mobility::MODELS, name, profile, &changes)).expect("a movement model")
        };
        let file = movements(spec.nodes.len(), self.speed);
        let movement = of(self.movement);
        // A group needs a leader that moves in another way.
        let movement = if movement.membership().is_some() { of("random_waypoint") } else { movement };
        for node in spec.nodes.iter_mut().skip(1) {
            node.movements = movement.reads_file().then(|| Arc::clone(&file));
            node.mobility = movement.clone();
        }
        if self.followers || of(self.movement).membership().is_some() {
            for node in spec.nodes.iter_mut().skip(2).step_by(2) {
                node.mobility = of("group");
            }
        }
    }
}

/// One after the other, from how long a wire is up, and then down.
fn intervals(lengths: &[(u64, u64)]) -> Vec<wired::Down> {
    let mut now = Span::ZERO;
    let interval = |&(up, down): &(u64, u64)| {
        let from = now + Span::from_millis(up);
        now = from + Span::from_millis(down);
        wired::Down { from, to: Some(now) }
    };
    lengths.iter().map(interval).collect()
}

/// A wire that follows a table there, and a table or opportunities back.
fn traces(by_opportunities: bool) -> [Vec<Trace>; 2] {
    let table = b"time_s,rate_mbps,delay_ms,loss\n0,0.2,5,0\n0.7,0,9,0\n1.1,2,1,0.2\n2.5,0,0,0\n";
    let read = |format: Format, text: &[u8]| vec![format.read("f", text).expect("a trace")];
    let back = if by_opportunities {
        read(Format::Opportunities, b"20\n20\n90\n700\n")
    } else {
        read(Format::Values(End::Hold), table)
    };
    [read(Format::Values(End::Loop), table), back]
}

/// Delays and losses of a wire, from the same lengths of time.
fn replay(lengths: &[(u64, u64)]) -> Vec<wired::replay::Entry> {
    let entry = |(place, &(up, down)): (u64, &(u64, u64))| wired::replay::Entry {
        from: Some(Span::from_millis(place * 500)),
        packet: None,
        delay: Span::from_millis(up % 700),
        loss: down as f64 / 4000.0,
    };
    (0..).zip(lengths).map(entry).collect()
}

/// Any small network: a few nodes in a square of 700 m, with any model of every list, one channel or two, some nodes
/// wired, some with agents, some joined by a tunnel.
fn spec() -> impl Strategy<Value = Spec> {
    let place = (select(&PROFILES[..]), prop::collection::vec((0.0..700.0_f64, 0.0..700.0_f64), 2..9), any::<u64>());
    // Who confirms that a packet has arrived, where a protocol lets one choose: it may keep copies, and repeat them.
    let confirmed = select(&["link_layer", "network", "passive"][..]);
    let protocols = (names(routing::MODELS), confirmed, ground());
    let narrow = (1..20_u8, 2..20_u32, 1..4_u32, any::<bool>(), names(queue::MODELS), names(multicast::MODELS));
    // Milliseconds for which a wire is up, and then down.
    let down = prop::collection::vec((0..3000_u64, 1..2000_u64), 0..3);
    let wires = prop::collection::vec((0..64_u32, 0..64_u32, 0.0..0.2_f64, down), 0..3);
    let tunnel = prop::option::weighted(0.3, (0..64_u32, 0..64_u32, select(&["10.0.0.0/9", "192.168.0.0/16"][..])));
    // Up to 5 J, at 0.5 to 1.1 W: some nodes run dry.
    let batteries = prop::collection::vec(prop::option::of(0.01..5.0_f64), 9);
    // Milliseconds for which a node is awake, and then sleeps, again and again.
    let sleeps = prop::collection::vec((0..9_u32, 0..900_u64, 1..900_u64), 0..3);
    let energy = (names(energy::MODELS), batteries, sleeps);
    let further = (wires, tunnel, prop::option::of(any::<bool>()), energy);
    let observed = (prop::collection::vec(flow(), 1..5), 1..6_u64, any::<bool>());
    (place, protocols, narrow, further, observed).prop_map(
        |(
            (profile, places, seed),
            (routing, confirmed, ground),
            (ttl, queue, hold, resolve, discipline, multicast),
            (wires, tunnel, agents, (energy, batteries, sleeps)),
            (flows, seconds, series),
        )| {
            let mut spec = network(profile, routing, &places);
            if profile == "rfc" {
                let changes = [("acknowledgement", confirmed.into()), ("promiscuous", true.into())];
                let values = tuned(routing::MODELS, routing, profile, &changes);
                let config = routing::Config::read(routing, &values).expect("a routing protocol");
                spec.nodes.iter_mut().for_each(|node| node.routing = config.clone());
            }
            spec.seed = seed;
            spec.ip.ttl = ttl;
            (spec.link.queue_length, spec.link.arp.hold) = (queue, hold);
            spec.queue = queue::Config::of_profile(discipline, profile).expect("a queue discipline");
            if !resolve {
                spec.link.arp.resolution = link::arp::Resolution::Off;
            }
            ground.apply(&mut spec, profile);
            let nodes = spec.nodes.len() as u32;
            let pair = |a: u32, b: u32| (NodeId(a % nodes), NodeId((a % nodes + 1 + b % (nodes - 1)) % nodes));
            for (from, to, loss, down) in wires {
                let mut params =
                    wired::Params { rate: mbps(0.5), queue_length: queue, ..wired::Params::of_profile(profile) };
                params.losses.rate = loss;
                params.down = intervals(&down);
                if loss < 0.05 {
                    params.replay = replay(&down);
                    params.overtaking = down.len() == 1;
                }
                if loss >= 0.02 && down.len() != 1 {
                    spec.wire_traces.insert(spec.wires.len(), traces(down.is_empty()));
                }
                let ends = pair(from, to);
                let queue = queue::Config::of_profile(discipline, profile).expect("a queue discipline");
                spec.wire_queues.insert(spec.wires.len(), queue);
                spec.wires.push(WireSpec { ends, params, network: None });
                if loss >= 0.1 {
                    spec.nodes[ends.0.index()].radios.clear();
                }
            }
            if let Some((from, to, prefix)) = tunnel {
                let carries = [vec![prefix.parse().expect("a prefix")], Vec::new()];
                spec.tunnels.push(TunnelSpec { ends: pair(from, to), carries });
            }
            if let Some(switch) = agents {
                let all = agent::MODELS.iter().map(|model| {
                    let values = switched((model.defaults)(profile), switch);
                    agent::Config::read(model.name, &values).expect("an agent")
                });
                let all: Vec<_> = all.collect();
                spec.nodes.iter_mut().for_each(|node| node.agents = all.clone());
            }
            for plan in &flows {
                add(&mut spec, plan);
            }
            join_groups(&mut spec, multicast);
            spec.energy.model = energy::Config::of_profile(energy, profile).expect("a model of energy");
            let battery = |it: Option<f64>| it.map_or(Battery::Endless, |joules| Battery::Full(Energy::new(joules)));
            spec.energy.batteries = batteries.into_iter().map(battery).collect();
            let sleep = |(node, awake, asleep): (u32, u64, u64)| {
                let (from, every) = (Time::ZERO + Span::from_millis(awake), Span::from_millis(awake + asleep));
                SleepSpec { node: NodeId(node % nodes), times: vec![(from, Time::ZERO + every)], every: Some(every) }
            };
            spec.energy.sleeps = sleeps.into_iter().map(sleep).collect();
            spec.energy.sleeps.sort_by_key(|it| it.node.0);
            spec.energy.sleeps.dedup_by_key(|it| it.node);
            spec.duration = Span::from_secs(seconds);
            if series {
                spec.observe.series = Quantity::ALL.to_vec();
                spec.observe.interval = Span::from_millis(100);
            }
            spec
        },
    )
}

/// Conditions on the tables of any run.
fn agree(outcome: &Outcome) -> Result<(), TestCaseError> {
    for flow in &outcome.flows {
        prop_assert!(flow.packets_unique <= flow.packets_arrived, "{flow:?}");
        prop_assert!(flow.packets_unique <= flow.packets_sent, "{flow:?}");
        // Each packet arrived, was lost, or is under way, and counts once, however many copies of it there were. A
        // repeated segment is a packet of its own that brings nothing new.
        let ends = |arrived: u64| arrived + flow.packets_dropped + flow.packets_left;
        prop_assert!(
            ends(flow.packets_unique) <= flow.packets_sent && flow.packets_sent <= ends(flow.packets_arrived),
            "{flow:?}"
        );
        if flow.transport == "udp" {
            prop_assert_eq!(ends(flow.packets_unique), flow.packets_sent, "{:?}", flow);
        }
        prop_assert!(flow.loss_network_percent <= 100.0, "{flow:?}");
        prop_assert!(flow.delay_ms.is_some() == (flow.packets_arrived > 0), "{flow:?}");
        prop_assert!(flow.transport != "udp" || flow.retransmissions == 0 && flow.timeouts == Some(0), "{flow:?}");
        prop_assert!([flow.goodput_kbps, flow.throughput_kbps].iter().all(|rate| rate.is_finite() && *rate >= 0.0));
    }
    let by_node: u64 = outcome.nodes.iter().map(|node| node.dropped).sum();
    let by_reason: u64 = outcome.drops.iter().map(|row| row.count).sum();
    prop_assert_eq!(by_node, by_reason);
    prop_assert_eq!(outcome.nodes.iter().map(|node| node.frames).sum::<u64>(), outcome.frames);
    for node in &outcome.nodes {
        let states = [node.sending_s, node.hearing_s, node.idle_s, node.sleeping_s, node.off_s];
        if let [Some(sending), Some(hearing), Some(idle), Some(sleeping), Some(off)] = states {
            let sum = sending + hearing + idle + sleeping + off;
            // A run that was cancelled before its first event has no time to divide by.
            let radios = if node.simulated_s > 0.0 { (sum / node.simulated_s).round() } else { 1.0 };
            let all = sum - radios * node.simulated_s;
            prop_assert!(
                all.abs() < 1e-9 && radios >= 1.0 && (off > 0.0) <= node.battery_empty_s.is_some(),
                "{node:?}"
            );
        }
        let control: u64 = ["rts", "cts", "acks"].into_iter().filter_map(|name| node.metric(name)).sum();
        let made = control + node.data_frames + node.broadcasts;
        // What a MAC that knows nothing of sleep sends meanwhile does not go on the air.
        let slept = node.sleeping_s.is_some_and(|seconds| seconds > 0.0);
        // What other MACs than these two send without a packet is in no common column.
        let is_other = |&(kind, model): &_| kind == "MAC" && !["dcf", "tdma"].contains(&model);
        let others =
            own_columns().iter().zip(&node.own).any(|(it, value)| value.is_some() && it.models.iter().all(is_other));
        let sent = node.frames == made || others && node.frames > made;
        prop_assert!(sent || slept && node.frames < made, "{node:?}");
        // Both counters, and none of another MAC.
        if let (Some(slots), 2) = (node.metric("slots"), node.own.iter().flatten().count()) {
            prop_assert_eq!(slots, node.metric("slots_unused").unwrap_or(0) + node.frames);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_is_accounted_for(spec in spec()) {
        agree(&run(&spec))?;
    }

    #[test]
    fn also_when_the_medium_is_exact(mut spec in spec()) {
        let digest = run(&spec).digest;
        spec.medium.exact = true;
        prop_assert_eq!(run(&spec).digest, digest);
    }
}

#[test]
fn a_run_that_is_cancelled_still_adds_up() {
    for (name, spec) in common::scenarios::all() {
        let watch = Watch::default();
        watch.cancel();
        let outcome = world::simulate(&spec, &watch).expect("packets add up");
        assert!(outcome.cancelled && watch.simulated().seconds() < spec.duration.seconds(), "{name}");
        assert_eq!(outcome.events, 0, "{name}");
        agree(&outcome).expect("tables agree");
    }
}

/// A node with a wire is near nodes that search routes by radio. It must not take part in their protocol.
#[test]
fn a_node_without_a_radio_takes_no_part_in_the_air() {
    for protocol in ["aodv", "dsdv", "olsr"] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0), (10.0, 0.0), (200.0, 0.0)]);
        spec.nodes[0].radios.clear();
        let wire = wired::Params::of_profile("rfc");
        spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params: wire, network: None });
        add_cbr(&mut spec, 1, 2, 100, Span::from_millis(50));
        let outcome = run_for(&mut spec, 40);
        assert!(outcome.flows[0].packets_arrived > 100, "{protocol}");
        let node = &outcome.nodes[0];
        assert_eq!((node.frames, node.metric("rts")), (0, None), "{protocol}");
        assert_eq!((node.collisions, node.forwarded, node.dropped), (0, 0, 0), "{protocol}");
    }
}

/// Requests of ARP and AODV are broadcast, and the MAC does not repeat broadcasts. Requests sent at the same time
/// collide, but they must not collide again and again.
#[test]
fn flows_that_start_in_the_same_instant_all_get_through() {
    for protocol in ["static", "oracle", "aodv", "dsdv"] {
        let mut spec = network("rfc", protocol, &[(0.0, 0.0), (90.0, 0.0), (180.0, 0.0)]);
        add_tcp(&mut spec, 0, 2, "rfc", "reno", |_| {});
        add_cbr(&mut spec, 2, 1, 100, Span::from_millis(50));
        let outcome = run_for(&mut spec, 40);
        for flow in &outcome.flows {
            assert!(flow.packets_arrived > 500, "{protocol}: {flow:?}");
        }
    }
}
