//! Linux's TCP over simulated networks. Without a built kernel these tests compare nothing, and say so.

#[path = "../../kernels/tests/common/built.rs"]
mod built;

use std::path::Path;

use built::built;
use hopyard_coupling::{Coupled, CouplingError, Flow, FlowState, Options, Sample};
use hopyard_engine::{Span, Time};
use hopyard_kernels::Settings;
use hopyard_model::address::NodeId;
use hopyard_model::world::{Advanced, Spec, Watch};
use hopyard_scenario::Scenario;

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

fn spec(text: &str) -> Spec {
    let scenario =
        Scenario::load(text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    scenario.spec(0)
}

fn options(version: &str) -> Option<Options> {
    let built = built(version)?;
    Some(Options {
        program: built.program,
        agent: built.agent,
        memory: 32,
        seed: 1,
        sample: Span::from_millis(100),
        sysctls: Vec::new(),
        modules: Vec::new(),
        programs: Vec::new(),
        settings: Settings::default(),
    })
}

fn flow(from: u32, to: u32, variant: &str, start: u64) -> Flow {
    let start = Time::ZERO + Span::from_millis(start);
    Flow {
        from: NodeId(from),
        to: NodeId(to),
        variant: variant.into(),
        start,
        bytes: None,
        segment: 1448,
        notices: false,
    }
}

/// A run in steps of `step`: digest, flows and samples.
fn run(text: &str, flows: &[Flow], options: &Options, step: Span, end: u64) -> (u64, Vec<FlowState>, Vec<Sample>) {
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
    coupled.finish(&[], &spec(text)).expect("packets add up");
    (digest, flows, samples)
}

#[test]
fn linux_and_our_own_flows_share_a_network() {
    let Some(options) = options("6.1") else { return };
    let flows = [flow(0, 3, "cubic", 1000), flow(3, 0, "reno", 2000)];
    let whole = run(CHAIN, &flows, &options, Span::from_secs(10), 10);
    for state in &whole.1 {
        assert!(state.connected.is_some() && state.broken.is_none(), "{state:?}");
        assert!(state.counts.delivered_bytes > 50_000, "{state:?}");
        assert!(state.counts.packets_arrived <= state.counts.packets_sent, "{state:?}");
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
    for version in ["6.1", "6.12"] {
        let Some(options) = options(version) else { continue };
        for variant in ["reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr"] {
            let (_, flows, samples) = run(WIRE, &[flow(0, 1, variant, 1000)], &options, Span::from_secs(9), 9);
            let goodput = flows[0].counts.delivered_bytes as f64 * 8e-3 / 8.0;
            // 1448 of 1500 bytes are payload; the first round trips fill the wire.
            let most = 2000.0 * 1448.0 / 1500.0;
            assert!((0.93 * most..=most).contains(&goodput), "{version} {variant}: {goodput} kbit/s");
            assert!(samples.iter().all(|it| it.srtt_ms >= 20.0), "{version} {variant}");
        }
    }
}

#[test]
fn a_transfer_ends() {
    let Some(options) = options("6.1") else { return };
    let transfer = Flow { bytes: Some(100_000), ..flow(0, 1, "cubic", 1000) };
    let (_, flows, _) = run(WIRE, &[transfer], &options, Span::from_secs(5), 5);
    assert_eq!(flows[0].counts.delivered_bytes, 100_000);
    assert!(flows[0].finished.is_some_and(|it| it > Time::ZERO + Span::from_secs(1)), "{flows:?}");
}

#[test]
fn a_variant_that_the_kernel_lacks_is_an_error() {
    let Some(options) = options("6.1") else { return };
    let mut coupled = Coupled::start(&spec(WIRE), &[flow(0, 1, "tahoe", 0)], &options, ()).expect("started");
    let error = coupled.advance(Time::ZERO + Span::from_secs(1), &Watch::default()).expect_err("no such variant");
    assert!(matches!(&error, CouplingError::Agent { what, .. } if what.starts_with("variant tahoe: ")), "{error}");
}

#[test]
fn flows_that_cannot_be_are_refused() {
    let options = Options {
        program: "/nowhere".into(),
        agent: Vec::new(),
        memory: 32,
        seed: 1,
        sample: Span::ZERO,
        sysctls: Vec::new(),
        modules: Vec::new(),
        programs: Vec::new(),
        settings: Settings::default(),
    };
    for (from, to) in [(0, 0), (0, 2)] {
        let error = Coupled::start(&spec(WIRE), &[flow(from, to, "reno", 0)], &options, ()).err();
        let text = error.expect("refused").to_string();
        let expected = format!("flow 0: expected two different nodes with addresses, found {from} and {to}");
        assert_eq!(text, expected);
    }
    let many = vec![flow(0, 1, "reno", 0); 20_000];
    assert!(matches!(Coupled::start(&spec(WIRE), &many, &options, ()), Err(CouplingError::Flows(20_000))));
}

#[test]
fn a_scenario_has_flows_of_both_stacks() {
    let Some(options) = options("6.1") else { return };
    let text = CHAIN.replace("[[flow]]", "[measure]\nfrom = \"2 s\"\nseries = [\"cwnd\", \"goodput\"]\n[[flow]]");
    let linux =
        "[[flow]]\nfrom = 0\nto = 3\ntcp = \"cubic\"\nstack = \"linux\"\nstart = \"1 s\"\nsegment_size = \"1000 B\"\n";
    let scenario = Scenario::load(&format!("{text}{linux}"), "test.toml", Path::new(""), &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let mut spec = scenario.spec(0);
    let found = scenario.linux_flows(&mut spec);
    assert_eq!(found.iter().map(|it| (it.number, it.variant.as_str())).collect::<Vec<_>>(), [(1, "cubic")]);
    let flows: Vec<_> = found
        .into_iter()
        .map(|it| Flow {
            from: it.from,
            to: it.to,
            variant: it.variant,
            start: it.start,
            bytes: it.bytes,
            segment: it.segment,
            notices: it.notices,
        })
        .collect();
    let mut coupled = Coupled::start(&spec, &flows, &options, ()).expect("started");
    let watch = Watch::default();
    watch.cancel();
    assert_eq!(coupled.advance(Time::ZERO + Span::from_secs(10), &watch).expect("stopped"), Advanced::Cancelled);
    let watch = Watch::default();
    assert_eq!(coupled.advance(Time::ZERO + Span::from_secs(10), &watch).expect("on"), Advanced::Ended);
    assert_eq!(watch.simulated(), Span::from_secs(10));
    let (outcome, ()) = coupled.finish(&[1], &spec).expect("packets add up");
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
    assert!(linux.retransmissions > 0 && linux.timeouts + linux.fast_retransmits > 0, "{linux:?}");
    assert!(linux.timeouts + linux.fast_retransmits <= linux.retransmissions, "{linux:?}");
    assert!(linux.cwnd_mean.is_some_and(|it| it > 1.0), "{linux:?}");
    let goodput: f64 =
        outcome.series.iter().filter(|it| it.flow == 1 && it.quantity == "goodput").map(|it| it.value).sum();
    // From the start on, and not from the measuring on: 100 samples of 0.1 s.
    assert!(goodput * 0.1 / 8e-3 >= linux.delivered_bytes as f64, "{goodput}");
    assert!(outcome.series.iter().any(|it| it.flow == 1 && it.quantity == "cwnd" && it.value >= 2.0));
}

#[test]
fn a_kernel_sets_the_time_to_live() {
    let Some(mut options) = options("6.1") else { return };
    options.sysctls.push(("net/ipv4/ip_default_ttl".into(), "1".into()));
    let spec = spec(&CHAIN.replace("[[flow]]", "[ip]\nttl = 8\n[[flow]]"));
    let mut coupled = Coupled::start(&spec, &[flow(0, 3, "reno", 1000)], &options, ()).expect("started");
    coupled.advance(Time::ZERO + Span::from_secs(5), &Watch::default()).expect("on");
    assert_eq!(coupled.lost(), []);
    assert_eq!(coupled.flows()[0].connected, None, "a SYN dies after one hop");
    let (outcome, ()) = coupled.finish(&[], &spec).expect("packets add up");
    let expired = outcome.drops.iter().filter(|it| it.kind == "external" && it.reason.contains("ttl"));
    assert!(expired.map(|it| it.count).sum::<u64>() >= 2, "{:?}", outcome.drops);
}
