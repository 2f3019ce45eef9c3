//! Linux's TCP over simulated networks. Without a built kernel these tests are skipped.

use hopyard_coupling::{Coupled, CouplingError, FlowState, Options, Sample};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::world::{Advanced, Watch};
use hopyard_scenario::LinuxFlow;

use crate::common::{VERSIONS, at, scenario, spec, with_kernel, without_kernel};

/// Four nodes in a row with AODV and 802.11, and a flow of Hopyard's own TCP from the second to the last.
const CHAIN: &str = r#"
duration = "10 s"
[nodes]
count = 4
spacing = "200 m"
[radio]
receive = "250 m"
sense = "550 m"
[routing]
protocol = "aodv"
[[flow]]
from = 1
to = 3
tcp = "newreno"
start = "3 s"
"#;

/// Two hosts on a wire.
const WIRE: &str = r#"
duration = "20 s"
[nodes]
wired = 2
[[wire]]
between = [0, 1]
rate = "2 Mbps"
delay = "10 ms"
[[flow]]
from = 1
to = 0
udp = true
start = "19 s"
"#;

/// Options for a built kernel whose sockets are sampled.
fn options(version: &str) -> Option<Options> {
    Some(Options { sample: Span::from_millis(100), ..with_kernel(version)? })
}

fn flow(from: u32, to: u32, variant: &str, start: u64) -> LinuxFlow {
    LinuxFlow {
        number: 0,
        from: NodeId(from),
        to: NodeId(to),
        variant: variant.into(),
        start: at(start),
        bytes: None,
        stop: None,
        writes: Vec::new(),
        segment: 1448,
        notices: false,
    }
}

/// A run in steps of `step`: digest, flows and samples.
fn run(text: &str, flows: &[LinuxFlow], options: &Options, step: Span, end: u64) -> (u64, Vec<FlowState>, Vec<Sample>) {
    let mut coupled = Coupled::start(&spec(text), flows, options, ()).unwrap_or_else(|error| panic!("{error}"));
    let (mut until, end) = (Time::ZERO, Time::ZERO + Span::from_secs(end));
    let mut samples = Vec::new();
    while until < end {
        until = (until + step).min(end);
        coupled.advance(until, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
        samples.extend(coupled.samples());
    }
    assert_eq!(coupled.lost(), []);
    let (flows, digest) = (coupled.flows(), coupled.world().digest());
    coupled.finish().expect("packets add up");
    (digest, flows, samples)
}

#[test]
fn linux_and_our_own_flows_share_a_network() {
    let Some(options) = options("6.1") else { return };
    let flows = [flow(0, 3, "cubic", 1000), flow(3, 0, "reno", 2000)];
    let whole = run(CHAIN, &flows, &options, Span::from_secs(10), 10);
    for state in &whole.1 {
        assert!(state.connected.is_some() && state.broken.is_none(), "{state:?}");
        assert!(state.measured.packets.delivered > 50_000, "{state:?}");
        assert!(state.measured.packets.arrived <= state.measured.packets.sent, "{state:?}");
    }
    assert!(whole.2.iter().any(|it| it.flow == 0) && whole.2.iter().any(|it| it.flow == 1));
    // Neither repetition nor steps decide anything.
    assert_eq!(run(CHAIN, &flows, &options, Span::from_secs(10), 10), whole);
    assert_eq!(run(CHAIN, &flows, &options, Span::from_millis(333), 10), whole);
    let other = Options { seed: 2, ..options };
    assert_ne!(run(CHAIN, &flows, &other, Span::from_secs(10), 10).0, whole.0, "the seed decides");
}

#[test]
fn a_wire_is_full() {
    for version in VERSIONS {
        let Some(options) = options(version) else { continue };
        for variant in ["reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr"] {
            let (_, flows, samples) = run(WIRE, &[flow(0, 1, variant, 1000)], &options, Span::from_secs(9), 9);
            let goodput = flows[0].measured.packets.delivered as f64 * 8e-3 / 8.0;
            // 1448 of 1500 bytes are payload; the first round trips fill the wire.
            let most = 2000.0 * 1448.0 / 1500.0;
            assert!((0.93 * most..=most).contains(&goodput), "{version} {variant}: {goodput} kbit/s");
            assert!(samples.iter().all(|it| it.srtt_ms >= 20.0), "{version} {variant}");
        }
    }
}

#[test]
fn windows_grow_as_on_a_host_with_more_memory() {
    let text = WIRE.replace("2 Mbps", "20 Mbps").replace("10 ms", "100 ms");
    for version in VERSIONS {
        let Some(mut options) = options(version) else { continue };
        let mut goodput = |sysctls: &[(&str, &str)]| {
            options.sysctls = sysctls.iter().map(|&(path, value)| (path.into(), value.into())).collect();
            let (_, flows, _) = run(&text, &[flow(0, 1, "cubic", 1000)], &options, Span::from_secs(8), 8);
            flows[0].measured.packets.delivered as f64 * 8e-3 / 7.0
        };
        // What is under way on the wire are 500 kB.
        let usual = goodput(&[]);
        assert!(usual > 14_000.0, "{version}: {usual}");
        // The limits of a kernel with 32 MiB, which a scenario can ask for, hold the window below 100 kB.
        let small = goodput(&[("net/ipv4/tcp_rmem", "4096 131072 131072")]);
        assert!(small < 5_000.0, "{version}: {small}");
    }
}

#[test]
fn a_transfer_ends() {
    let Some(options) = options("6.1") else { return };
    let transfer = LinuxFlow { bytes: Some(100_000), ..flow(0, 1, "cubic", 1000) };
    let (_, flows, _) = run(WIRE, &[transfer], &options, Span::from_secs(5), 5);
    assert_eq!(flows[0].measured.packets.delivered, 100_000);
    assert!(flows[0].finished.is_some_and(|it| it > Time::ZERO + Span::from_secs(1)), "{flows:?}");
}

#[test]
fn an_application_writes_at_its_times_and_stops() {
    let Some(options) = options("6.1") else { return };
    // The third write is larger than what the wire carries until the fourth.
    let writes = vec![(at(1000), 500), (at(2000), 1000), (at(3000), 400_000), (at(3500), 2000)];
    let packets = LinuxFlow { writes, ..flow(0, 1, "reno", 1000) };
    let (_, flows, samples) = run(WIRE, &[packets], &options, Span::from_secs(10), 10);
    assert_eq!(flows[0].measured.packets.delivered, 403_500);
    let finished = flows[0].finished.expect("everything is acknowledged");
    assert!(finished > at(4600) && finished < at(5200), "{finished}");
    let idle = samples.iter().filter(|it| it.at > at(1200) && it.at < at(2000));
    assert!(idle.clone().count() > 0 && idle.clone().all(|it| it.unacknowledged == 0), "nothing is sent between");
    let endless = LinuxFlow { stop: Some(at(4000)), ..flow(0, 1, "reno", 1000) };
    let (_, flows, _) = run(WIRE, &[endless], &options, Span::from_secs(10), 10);
    let (bytes, finished) = (flows[0].measured.packets.delivered, flows[0].finished.expect("it ends"));
    // Three seconds at 1.93 Mb/s, and what the socket's buffer has.
    assert!((690_000..1_300_000).contains(&bytes), "{bytes}");
    assert!(finished > at(4000) && finished < at(7000), "{finished}");
}

#[test]
fn a_variant_that_the_kernel_lacks_is_an_error() {
    let Some(options) = options("6.1") else { return };
    let mut coupled = Coupled::start(&spec(WIRE), &[flow(0, 1, "tahoe", 0)], &options, ()).expect("started");
    let error = coupled.advance(Time::ZERO + Span::from_secs(1), &Watch::default()).expect_err("no such variant");
    assert_eq!(error.to_string(), "node 0: variant tahoe: No such file or directory (os error 2)");
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let options = without_kernel();
    for (from, to) in [(0, 0), (0, 2)] {
        let error = Coupled::start(&spec(WIRE), &[flow(from, to, "reno", 0)], &options, ()).err();
        let text = error.expect("refused").to_string();
        let expected = format!("flow 0: expected two different nodes with addresses, found {from} and {to}");
        assert_eq!(text, expected);
    }
    let many = vec![flow(0, 1, "reno", 0); 20_000];
    assert!(matches!(Coupled::start(&spec(WIRE), &many, &options, ()), Err(CouplingError::Flows(20_000))));
}

/// The wire loses segments 20 and 21, 50 twice, and the last one of 300.
#[test]
fn segments_of_linux_are_lost_by_number() {
    let Some(options) = options("6.1") else { return };
    let losses = "delay = \"10 ms\"\n[wire.losses]\nsegments = [20, 21, 50, 50, 299]\n";
    let text = WIRE.replace("delay = \"10 ms\"\n", losses);
    let flows = [LinuxFlow { bytes: Some(300 * 1448), ..flow(0, 1, "reno", 1000) }];
    let (_, states, _) = run(&text, &flows, &options, Span::from_secs(20), 20);
    let measured = &states[0].measured;
    assert_eq!(measured.packets.delivered, 300 * 1448);
    assert_eq!((measured.dropped.packets, measured.packets.sent), (5, 1 + 305), "{measured:?}");
}

/// A scenario with its flows of Linux.
fn of_scenario(text: &str, options: &Options) -> Coupled<()> {
    let scenario = scenario(text);
    let mut spec = scenario.spec(0);
    let flows = scenario.linux_flows(&mut spec);
    Coupled::start(&spec, &flows, options, ()).expect("started")
}

/// A run ends at some moment, with packets under way and in queues.
#[test]
fn every_data_packet_arrived_or_was_dropped_or_is_left() {
    let Some(options) = options("6.1") else { return };
    let linux = "[[flow]]\nfrom = 0\nto = 3\ntcp = \"cubic\"\nstack = \"linux\"\nstart = \"1 s\"\n";
    let mut coupled = of_scenario(&format!("{CHAIN}{linux}"), &options);
    let at_once = coupled.outcome(None);
    assert_eq!(at_once.flows[1].packets_left, 0);
    coupled.advance(Time::ZERO + Span::from_secs(10), &Watch::default()).expect("on");
    let (outcome, ()) = coupled.finish().expect("packets add up");
    for row in &outcome.flows {
        let known = row.packets_arrived + row.packets_dropped + row.packets_left;
        assert_eq!(row.packets_sent, known, "{row:?}");
        assert!(row.packets_queued <= row.packets_left, "{row:?}");
    }
    let linux = &outcome.flows[1];
    assert!(linux.packets_left > 0, "{linux:?}");
    // Both directions of both flows are numbered.
    assert!(linux.packets_dropped > 0 && linux.loss_ns2_percent > 0.0, "{linux:?}");
    let numbered = 100.0 * (linux.packets_dropped + linux.packets_queued) as f64 / linux.loss_ns2_percent;
    assert!(numbered > (linux.packets_sent + outcome.flows[0].packets_sent) as f64, "{numbered}: {linux:?}");
    // The SYN arrives before data is sent.
    assert!(linux.first_arrival_s < linux.first_new_s && linux.first_arrival_s >= Some(1.0), "{linux:?}");
    assert_eq!(linux.energy_useful_j, None);
}

#[test]
fn a_scenario_has_flows_of_both_stacks() {
    let Some(options) = options("6.1") else { return };
    let text = CHAIN.replace("[[flow]]", "[measure]\nfrom = \"2 s\"\nseries = [\"cwnd\", \"goodput\"]\n[[flow]]");
    let linux =
        "[[flow]]\nfrom = 0\nto = 3\ntcp = \"cubic\"\nstack = \"linux\"\nstart = \"1 s\"\nsegment_size = \"1000 B\"\n";
    let mut coupled = of_scenario(&format!("{text}{linux}"), &options);
    assert_eq!(coupled.flows()[0].flow.number, 1);
    let watch = Watch::default();
    watch.cancel();
    assert_eq!(coupled.advance(Time::ZERO + Span::from_secs(10), &watch).expect("stopped"), Advanced::Cancelled);
    let watch = Watch::default();
    assert_eq!(coupled.advance(Time::ZERO + Span::from_secs(10), &watch).expect("on"), Advanced::Ended);
    assert_eq!(watch.simulated(), Span::from_secs(10));
    let (outcome, ()) = coupled.finish().expect("packets add up");
    assert!(!outcome.cancelled);
    let [ours, linux] = outcome.flows.as_slice() else { panic!("{:?}", outcome.flows) };
    assert_eq!((&*ours.transport, &*linux.transport), ("newreno", "cubic (Linux)"));
    for row in [ours, linux] {
        assert!(row.goodput_kbps > 10.0, "{row:?}");
        assert!(row.packets_sent >= row.packets_unique && row.hops.is_some_and(|it| it >= 2.0), "{row:?}");
    }
    // All segments but retransmitted parts are full: 8 s of measuring.
    assert_eq!(linux.delivered_bytes % 1000, 0, "{linux:?}");
    assert!((linux.goodput_kbps - linux.delivered_bytes as f64 * 8e-3 / 8.0).abs() < 1e-9);
    assert!(linux.retransmissions > 0, "{linux:?}");
    let recoveries = linux.timeouts.expect("it is alone") + linux.fast_retransmits.expect("it is alone");
    assert!(recoveries > 0 && recoveries <= linux.retransmissions, "{linux:?}");
    assert!(linux.cwnd_mean.is_some_and(|it| it > 1.0), "{linux:?}");
    let goodput: f64 =
        outcome.series.iter().filter(|it| it.flow == 1 && it.quantity == "goodput").map(|it| it.value).sum();
    let all: f64 = outcome.series.iter().filter(|it| it.quantity == "goodput").map(|it| it.value).sum();
    let received = outcome.nodes[3].data_bytes as f64;
    assert!((all * 0.1 / 8e-3 - received).abs() < 1.0, "{all}: {received}");
    assert!(outcome.nodes[3].data_packets >= ours.packets_unique + linux.packets_unique);
    // From the start on, and not from the measuring on: 100 samples of 0.1 s.
    assert!(goodput * 0.1 / 8e-3 >= linux.delivered_bytes as f64, "{goodput}");
    assert!(outcome.series.iter().any(|it| it.flow == 1 && it.quantity == "cwnd" && it.value >= 2.0));
}

/// A wire between others that is narrower than the kernels' devices: the sender learns of it (RFC 1191). A wire of its
/// own it knows from its device.
#[test]
fn a_narrow_link_is_found_or_known() {
    for version in VERSIONS {
        let Some(options) = options(version) else { continue };
        for (mtus, long) in [([1500, 800, 1500], 1..=10), ([800, 1500, 1500], 0..=0)] {
            let wire = |(a, mtu): (usize, u32)| {
                let ends = [a, a + 1];
                format!("[[wire]]\nbetween = {ends:?}\nrate = \"2 Mbps\"\ndelay = \"10 ms\"\nmtu = \"{mtu} B\"\n")
            };
            let wires: String = mtus.into_iter().enumerate().map(wire).collect();
            let text = format!("duration = \"5 s\"\n[nodes]\nwired = 4\n{wires}");
            let mut coupled = Coupled::start(&spec(&text), &[flow(0, 3, "cubic", 500)], &options, ()).expect("started");
            coupled.advance(at(5000), &Watch::default()).expect("it runs");
            let state = &coupled.flows()[0];
            // 748 of 800 bytes are payload.
            assert!(state.measured.packets.delivered > 700_000, "{version}, {mtus:?}: {state:?}");
            let (outcome, _) = coupled.finish().expect("packets add up");
            let dropped: u64 = outcome.drops.iter().filter(|it| it.reason == "too_long").map(|it| it.count).sum();
            assert!(long.contains(&dropped), "{version}, {mtus:?}: {dropped}");
        }
    }
}

/// The wire is out for 5 s, in which timers expire several times.
#[test]
fn timeouts_are_those_of_each_flow_or_are_not_known() {
    let text = WIRE.replace("delay = \"10 ms\"\n", "delay = \"10 ms\"\ndown = [{ from = \"3 s\", to = \"8 s\" }]\n");
    for (version, told) in [("6.1", false), ("6.12", true)] {
        let Some(options) = options(version) else { continue };
        let flows = [flow(0, 1, "cubic", 1000), flow(0, 1, "reno", 9000), flow(0, 1, "reno", 1500)];
        let (_, states, samples) = run(&text, &flows, &options, Span::from_secs(15), 15);
        let timeouts: Vec<_> = states.iter().map(|it| it.timeouts).collect();
        if told {
            let [Some(first), Some(0), Some(third)] = timeouts[..] else { panic!("{timeouts:?}") };
            assert!((2..=8).contains(&first) && (2..=8).contains(&third), "{timeouts:?}");
        } else {
            assert_eq!(timeouts, [None; 3]);
        }
        assert!(samples.iter().any(|it| it.flow == 1) && states.iter().all(|it| it.fast_retransmits.is_none()));
        let (_, states, _) = run(&text, &flows[..1], &options, Span::from_secs(15), 15);
        assert!(states[0].timeouts.is_some_and(|it| (2..=8).contains(&it)), "{version}: {states:?}");
        assert!(states[0].fast_retransmits.is_some(), "{version}: {states:?}");
    }
}

/// The wire is out when the flow opens: its first SYNs are lost, and are packets, but no timeouts.
#[test]
fn timeouts_of_a_syn_do_not_count() {
    let text =
        WIRE.replace("delay = \"10 ms\"\n", "delay = \"10 ms\"\ndown = [{ from = \"0 s\", to = \"3500 ms\" }]\n");
    for version in VERSIONS {
        let Some(options) = options(version) else { continue };
        let (_, states, _) = run(&text, &[flow(0, 1, "cubic", 1000)], &options, Span::from_secs(6), 6);
        let [state] = states.as_slice() else { panic!("{states:?}") };
        assert!(state.connected.is_some_and(|it| it > at(3500)), "{version}: {state:?}");
        assert_eq!(state.timeouts, Some(0), "{version}: {state:?}");
        assert!((2..=3).contains(&state.measured.dropped.packets), "{version}: {state:?}");
        let never = text.replace("3500 ms", "9 s");
        let (_, states, _) = run(&never, &[flow(0, 1, "cubic", 1000)], &options, Span::from_secs(6), 6);
        let measured = &states[0].measured;
        assert_eq!(states[0].timeouts, Some(0), "{version}: {states:?}");
        assert!(
            measured.packets.sent >= 2 && measured.dropped.packets == measured.packets.sent,
            "{version}: {states:?}"
        );
    }
}

#[test]
fn a_kernel_sets_the_time_to_live() {
    let Some(mut options) = options("6.1") else { return };
    options.sysctls.push(("net/ipv4/ip_default_ttl".into(), "1".into()));
    let spec = spec(&CHAIN.replace("[[flow]]", "[ip]\nttl = 8\n[[flow]]"));
    let mut coupled = Coupled::start(&spec, &[flow(0, 3, "reno", 1000)], &options, ()).expect("started");
    coupled.advance(Time::ZERO + Span::from_secs(5), &Watch::default()).expect("on");
    assert_eq!(coupled.lost(), []);
    let state = &coupled.flows()[0];
    assert_eq!(state.connected, None, "a SYN dies after one hop");
    // The node there says so, and Linux gives up at once: EHOSTUNREACH. The agent tries again after 1 s, 3 s and so on.
    assert_eq!(state.broken.map(|(_, error)| error), Some(113), "{state:?}");
    let (outcome, ()) = coupled.finish().expect("packets add up");
    let expired = outcome.drops.iter().filter(|it| it.kind == "external" && it.reason.contains("ttl"));
    assert!((2..=3).contains(&expired.map(|it| it.count).sum::<u64>()), "{:?}", outcome.drops);
}
