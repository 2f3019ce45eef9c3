//! H-TCP, YeAH, Compound, Copa, LEDBAT and BBR version 3 over two wired links, as their closed forms and their papers
//! say.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::{self, compound, copa, htcp};
use hopyard_model::transport::{acking, tcp};

use crate::two_links::{Link, NS2_LINKS, Path};

/// 8 Mb/s and a round-trip time of 104 ms: 100 segments.
const LONG_LINKS: [Link; 2] = [
    Link { rate: Rate::from_bps(100_000_000), delay: Span::from_millis(2) },
    Link { rate: Rate::from_bps(8_000_000), delay: Span::from_millis(50) },
];
/// 1 Gb/s and 100 ms: there is never a queue.
const WIDE_LINKS: [Link; 2] = [
    Link { rate: Rate::from_bps(10_000_000_000), delay: Span::from_millis(1) },
    Link { rate: Rate::from_bps(1_000_000_000), delay: Span::from_millis(49) },
];

fn path(congestion: congestion::Config, links: [Link; 2], initial_ssthresh: u32) -> Path {
    acknowledged("every", congestion, links, initial_ssthresh)
}

/// A path to a receiver with this policy.
fn acknowledged(policy: &str, congestion: congestion::Config, links: [Link; 2], initial_ssthresh: u32) -> Path {
    let params = tcp::Params {
        segment_size: Bytes::new(1000),
        window: 20_000,
        initial_ssthresh,
        ..tcp::Params::of_profile("rfc")
    };
    let config = tcp::Config { tcp: params, congestion };
    let acking = acking::Config::of_profile(policy, "rfc").expect("a policy");
    let mut path = Path::new(&config, &acking, links, &[], Streams::new(1, 0).stream("tcp"));
    path.start(u64::MAX);
    path
}

fn variant(name: &str) -> congestion::Config {
    congestion::Config::of_profile(name, "rfc").expect("a variant")
}

const fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// The mean queue at the bottleneck every 10 ms, and the share of the capacity that arrives, from 20 to 60 s.
fn steady(path: &mut Path) -> (f64, f64) {
    path.run(at(20_000));
    let before = path.sender.window_edges().0;
    let mut queue = 0;
    for step in 0..4000 {
        let now = at(20_000 + 10 * step);
        path.run(now);
        queue += path.queued(now);
    }
    path.run(at(60_000));
    let bits = (path.sender.window_edges().0 - before) as f64 * 8.0;
    (queue as f64 / 4000.0, bits / (path.links[1].rate.bps() as f64 * 1000.0 / 1052.0 * 40.0))
}

/// Without a queue and losses each acknowledgement adds 2 (1 - β) f(t) / W, with β a half and the time since the
/// connection began; and in a round trip as many arrive as the window had segments one round trip before.
#[test]
fn htcps_window_is_the_integral_of_its_growth() {
    let params = htcp::Params { rtt_scaling: false, ..htcp::Params::of_profile("rfc") };
    let mut path = path(congestion::Config::Htcp(params.into()), WIDE_LINKS, 20);
    // In milliseconds.
    let mut windows = Vec::new();
    for millis in 0..2000 {
        path.run(at(millis));
        windows.push(path.sender.state().cwnd);
    }
    for millis in 2000..10_000 {
        let after = millis as f64 / 1e3 - 1.0;
        let growth = 1.0 + 10.0 * after + 0.25 * after * after;
        let last = windows[millis - 1];
        windows.push(last + growth * windows[millis - 100] / last / 100.0);
    }
    for millis in [3000, 5000, 8000, 9999] {
        path.run(at(millis as u64));
        let (found, expected) = (path.sender.state().cwnd, windows[millis]);
        assert!((found / expected - 1.0).abs() < 0.02, "{millis} ms: {found}, by the integral {expected}");
    }
}

/// In fast mode YeAH's window grows by a hundredth of a segment with each acknowledgement: by 1 % in a round trip.
#[test]
fn yeahs_window_grows_exponentially_without_a_queue() {
    let mut path = path(variant("yeah"), WIDE_LINKS, 200);
    path.run(at(2000));
    let before = path.sender.state().cwnd;
    path.run(at(8000));
    let grown = path.sender.state().cwnd / before;
    let expected = libm::pow(1.01, 60.0);
    assert!((grown / expected - 1.0).abs() < 0.03, "{grown}, expected {expected}");
}

/// Without a queue, each round trip adds α W^k - 1 segments, and one as Reno.
#[test]
fn compounds_window_is_the_sum_of_its_growth() {
    let mut path = path(variant("compound"), WIDE_LINKS, 50);
    path.run(at(1000));
    let mut expected = path.sender.state().cwnd;
    let params = compound::Params::of_profile("rfc");
    for _ in 0..60 {
        expected += params.alpha * libm::pow(expected, params.exponent);
    }
    path.run(at(7000));
    let found = path.sender.state().cwnd;
    assert!((found / expected - 1.0).abs() < 0.05, "{found}, by the sum {expected}");
    assert!(found > 300.0, "Reno's would be 110: {found}");
}

#[test]
fn a_delay_sender_keeps_its_queue_where_cubic_fills_it() {
    let run = |name| {
        let mut path = path(variant(name), NS2_LINKS, 100_000);
        path.queue_limit = 100;
        steady(&mut path)
    };
    let (cubic, _) = run("cubic");
    assert!(cubic > 50.0, "{cubic}");
    // RFC 6817: 100 ms of 800 kb/s are 9.5 packets of 1052 bytes.
    let (ledbat, share) = run("ledbat");
    assert!((ledbat - 9.5).abs() < 1.5 && share > 0.99, "{ledbat}, {share}");
    // Copa §3: about 2.5/δ packets above an empty queue at most, and half of it on average.
    let (copa, share) = run("copa");
    assert!((0.5..6.0).contains(&copa) && share > 0.95, "{copa}, {share}");
    let (bbr3, share) = run("bbr3");
    assert!(bbr3 < 12.0 && share > 0.93, "{bbr3}, {share}");
}

#[test]
fn random_losses_do_not_stop_copa_and_bbr3() {
    let run = |name| {
        let mut path = path(variant(name), LONG_LINKS, 100_000);
        path.queue_limit = 200;
        path.loss = Some((Streams::new(3, 0).stream("loss"), 0.01));
        steady(&mut path).1
    };
    let (copa, bbr3, sack) = (run("copa"), run("bbr3"), run("sack"));
    assert!(sack < 0.25, "{sack}");
    assert!(copa > 0.85 && bbr3 > 0.6, "{copa}, {bbr3}");
}

/// Version 1 of BBR sends on; version 3 tolerates 2 % of losses.
#[test]
fn bbr3_gives_way_to_losses_and_bbr_does_not() {
    let run = |name, loss, queue_limit| {
        let mut path = path(variant(name), LONG_LINKS, 100_000);
        path.queue_limit = queue_limit;
        path.loss = Some((Streams::new(3, 0).stream("loss"), loss));
        (steady(&mut path).1, path.sender.counters().retransmitted_segments)
    };
    let ((first, _), (third, _)) = (run("bbr", 0.04, 200), run("bbr3", 0.04, 200));
    assert!(first > 1.5 * third, "{first} and {third}");
    // A queue of a fifth of the path.
    let ((_, first), (share, third)) = (run("bbr", 0.0, 20), run("bbr3", 0.0, 20));
    assert!(first > 3 * third && share > 0.8, "{first} and {third}, {share}");
}

/// Copa §2.2: beside a flow that fills the queue, δ decreases; alone it does not.
#[test]
fn copas_delta_decides_its_queue() {
    let run = |delta| {
        let params = copa::Params { delta, ..copa::Params::of_profile("rfc") };
        let mut path = path(congestion::Config::Copa(params.into()), LONG_LINKS, 100_000);
        steady(&mut path).0
    };
    let (short, long) = (run(0.5), run(0.1));
    assert!(long > 2.0 * short && long < 10.0 * short, "{short} and {long}");
}

/// Of two segments acknowledged together, the newest always waits for the other one. Copa alone does not compete.
#[test]
fn delayed_acknowledgements_do_not_make_copa_compete_with_itself() {
    let links = [
        Link { rate: Rate::from_bps(100_000_000), delay: Span::from_millis(1) },
        Link { rate: Rate::from_bps(8_000_000), delay: Span::from_millis(24) },
    ];
    for policy in ["every", "delayed"] {
        let mut path = acknowledged(policy, variant("copa"), links, 100_000);
        path.queue_limit = 400;
        let (queue, share) = steady(&mut path);
        assert!(queue < 8.0 && share > 0.95, "{policy}: {queue}, {share}");
    }
}
