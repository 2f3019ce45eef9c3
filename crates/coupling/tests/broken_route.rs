//! ELFN in a kernel, and Hopyard's own, over a route that breaks: a node moves away and comes back. Without a built
//! kernel and its modules these tests are skipped, at least in part.

use std::collections::BTreeMap;
use std::path::Path;

use hopyard_coupling::{Coupled, FlowState, Options, Sample};
use hopyard_engine::{Span, Time};
use hopyard_kernels::{Completion, Settings};
use hopyard_model::world::{Spec, Watch, simulate};
use hopyard_scenario::Scenario;

use crate::common::built;

/// Four nodes in a row. The third is away from 10 s to 21 s: the second node's link breaks, and it tells the source.
/// After the route error the source has no route, and its own node tells it of each probe.
const CHAIN: &str = r#"
duration = "40 s"
[nodes]
count = 4
spacing = "200 m"
[[movement]]
nodes = [2]
[movement.waypoints]
track = [
    { at = "10 s", x = "400 m", y = "0 m" },
    { at = "10.001 s", x = "400 m", y = "20000 m" },
    { at = "21 s", x = "400 m", y = "20000 m" },
    { at = "21.001 s", x = "400 m", y = "0 m" },
]
[radio]
receive = "250 m"
sense = "550 m"
[routing]
protocol = "aodv"
[tcp]
segment_size = "1000 B"
[measure]
series = ["cwnd", "srtt"]
[[flow]]
from = 0
to = 3
start = "2 s"
"#;
/// When the node leaves and returns, in milliseconds.
const AWAY: (u64, u64) = (10_000, 21_000);
/// The time between probes, in milliseconds.
const INTERVAL: u64 = 2000;
/// How often a kernel's sockets are sampled, in milliseconds.
const SAMPLE: u64 = 4;
/// How far times of a kernel may be from the planned ones, in milliseconds: its timers have coarse steps.
const GRAIN: u64 = 40;

fn loaded(stack: &str, variant: &str) -> (Scenario, Spec) {
    let text = format!("{CHAIN}stack = \"{stack}\"\ntcp = \"{variant}\"\n");
    let scenario = Scenario::load(&text, "test.toml", Path::new(""), &[]);
    let scenario = scenario.unwrap_or_else(|problems| panic!("{problems}"));
    let spec = scenario.spec(0);
    (scenario, spec)
}

/// The flow of a kernel with this variant and the samples of its socket, if there is such a kernel.
fn kernel(version: &str, variant: &str, completion: Completion) -> Option<(FlowState, Vec<Sample>)> {
    let built = built(version)?;
    let mut modules = BTreeMap::new();
    if variant == "elfn" {
        modules.insert(variant.to_owned(), built.module(variant)?);
    }
    let options = Options {
        program: built.program,
        agent: built.agent,
        modules,
        memory: 32,
        seed: 1,
        sample: Span::from_millis(SAMPLE),
        sysctls: Vec::new(),
        programs: Vec::new(),
        routers: None,
        settings: Settings { completion, ..Settings::default() },
    };
    let (scenario, mut spec) = loaded("linux", variant);
    let flows = scenario.linux_flows(&mut spec);
    assert_eq!(flows[0].notices, variant == "elfn", "who is told");
    let mut coupled = Coupled::start(&spec, &flows, &options, ()).unwrap_or_else(|error| panic!("{error}"));
    coupled.advance(Time::ZERO + spec.duration, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    let (state, samples) = (coupled.flows().remove(0), coupled.samples());
    assert_eq!(coupled.lost(), []);
    coupled.finish().expect("packets add up");
    Some((state, samples))
}

/// The state of the socket at a time in milliseconds.
fn at(samples: &[Sample], milliseconds: u64) -> Sample {
    let at = Time::ZERO + Span::from_millis(milliseconds);
    *samples.iter().take_while(|it| it.at <= at).last().expect("a sample")
}

/// When the socket's count of retransmissions increased, in milliseconds.
fn retransmissions(samples: &[Sample], from: u64, to: u64) -> Vec<u64> {
    let pairs = samples.windows(2).filter(|it| it[1].retransmissions > it[0].retransmissions);
    pairs.map(|it| it[1].at.nanos() / 1_000_000).filter(|it| (from..to).contains(it)).collect()
}

/// What a frozen sender did: the time at which it froze, and those of its probes, in milliseconds; the last sample
/// before, and the first one after.
#[derive(Debug)]
struct Freeze {
    begin: u64,
    probes: Vec<u64>,
    before: Sample,
    after: Sample,
}

/// The first freeze after the node has left: ELFN in Linux shows a window of zero meanwhile.
fn freeze(samples: &[Sample]) -> Freeze {
    let time = |it: &Sample| it.at.nanos() / 1_000_000;
    let begin = samples.iter().find(|it| time(it) > AWAY.0 && it.cwnd == 0).map(time).expect("it freezes");
    let after = *samples.iter().find(|it| time(it) > begin && it.cwnd > 0).expect("it goes on");
    let probes = retransmissions(samples, begin + SAMPLE, time(&after));
    Freeze { begin, probes, before: at(samples, begin - SAMPLE), after }
}

/// Each version, with frames that the kernel gets back at once, and when the network has sent them.
#[test]
#[expect(clippy::print_stdout, reason = "the figures of the page of ELFN")]
fn elfn_freezes_probes_and_thaws_over_a_route_that_breaks() {
    let (_, spec) = loaded("hopyard", "elfn");
    let outcome = simulate(&spec, &Watch::default()).expect("run");
    let own = &outcome.flows[0];
    println!("Hopyard: {} notices, {} probes, {} bytes", own.notices, own.probes, own.delivered_bytes);
    for (version, completion) in
        [("6.1", Completion::Immediate), ("6.1", Completion::Sent), ("6.12", Completion::Immediate)]
    {
        let Some((state, samples)) = kernel(version, "elfn", completion) else { continue };
        assert!(state.connected.is_some() && state.broken.is_none(), "{state:?}");
        let it = freeze(&samples);
        println!("Linux {version}, {completion:?}: {it:?}, {} bytes", state.measured.packets.delivered);
        // The notice comes after the retries of the link layer, long before the timeout.
        assert!((AWAY.0..AWAY.0 + 500).contains(&it.begin), "{version}: {it:?}");
        assert!(it.before.rto_ms > 500.0, "{version}: {it:?}");
        // Window, threshold, round trip and timeout are those of before.
        // In a recovery (state 3) the window falls to the threshold, also between the sample and the freeze.
        let least = if it.before.state == 3 { it.before.ssthresh } else { Some(it.before.cwnd) };
        assert!(least.is_some_and(|least| (least..=it.before.cwnd).contains(&it.after.cwnd)), "{version}: {it:?}");
        assert_eq!(it.after.ssthresh, it.before.ssthresh, "{version}: {it:?}");
        assert!(it.after.srtt_ms < 1.1 * it.before.srtt_ms, "{version}: {it:?}");
        assert!(it.after.rto_ms < 1.1 * it.before.rto_ms, "{version}: {it:?}");
        let end = it.after.at.nanos() / 1_000_000;
        assert!((AWAY.1..AWAY.1 + INTERVAL + 500).contains(&end), "{version}: {it:?}");
        let times: Vec<_> = std::iter::once(it.begin).chain(it.probes.iter().copied()).collect();
        if completion == Completion::Immediate {
            for pair in times.windows(2) {
                assert!(pair[1].abs_diff(pair[0] + INTERVAL) <= GRAIN, "{version}: {it:?}");
            }
            assert_eq!(it.probes.len() as u64, own.probes, "{version}: {it:?}");
        } else {
            // Routing keeps a probe while it searches for a route, and the kernel repeats no segment that, as it
            // believes, is in the queue of its device.
            for pair in times.windows(2) {
                assert!(pair[1] + GRAIN >= pair[0] + INTERVAL, "{version}: {it:?}");
            }
            assert!((1..own.probes).contains(&(it.probes.len() as u64)), "{version}: {it:?}");
        }
    }
}

#[test]
fn without_a_notice_the_timeout_doubles_and_the_window_is_lost() {
    let Some((_, samples)) = kernel("6.1", "reno", Completion::Immediate) else { return };
    let (before, out) = (at(&samples, AWAY.0), at(&samples, AWAY.1 - 500));
    assert_eq!(out.cwnd, 1, "{out:?}");
    // Twice; the estimate has changed a little before.
    assert!(out.rto_ms > 3.5 * before.rto_ms, "{before:?} {out:?}");
    assert!(out.ssthresh.is_some_and(|it| it < before.cwnd), "{before:?} {out:?}");
}
