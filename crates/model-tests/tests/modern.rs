//! The differences of CUBIC and BBR from related variants over two wired links, as theory predicts them.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::control::hystart;
use hopyard_model::transport::congestion::{self, bbr, cubic};
use hopyard_model::transport::{acking, tcp};

use crate::two_links::{Link, NS2_LINKS, Path};

/// 8 Mb/s and a round-trip time of 104 ms: 100 segments.
const LONG_LINKS: [Link; 2] = [
    Link { rate: Rate::from_bps(100_000_000), delay: Span::from_millis(2) },
    Link { rate: Rate::from_bps(8_000_000), delay: Span::from_millis(50) },
];

fn path(congestion: congestion::Config, links: [Link; 2], drops: &[u64]) -> Path {
    let params = tcp::Params {
        segment_size: hopyard_engine::units::Bytes::new(1000),
        window: 4000,
        ..tcp::Params::of_profile("rfc")
    };
    let config = tcp::Config { tcp: params, congestion };
    let acking = acking::Config::of_profile("every", "rfc").expect("a policy");
    let mut path = Path::new(&config, &acking, links, drops, Streams::new(1, 0).stream("tcp"));
    path.start(u64::MAX);
    path
}

fn variant(name: &str) -> congestion::Config {
    congestion::Config::of_profile(name, "rfc").expect("a variant")
}

const fn at(millis: u64) -> Time {
    Time::from_nanos(millis * 1_000_000)
}

/// Bytes acknowledged from `from` to `until` in milliseconds, as a share of the capacity of the second link.
fn share(path: &mut Path, from: u64, until: u64) -> f64 {
    path.run(at(from));
    let before = path.sender.window_edges().0;
    path.run(at(until));
    let bits = (path.sender.window_edges().0 - before) as f64 * 8.0;
    // Segments of 1000 bytes carry 52 bytes of headers with timestamps.
    bits / (path.links[1].rate.bps() as f64 * 1000.0 / 1052.0 * (until - from) as f64 / 1e3)
}

/// The number of segments at the bottleneck every 10 ms from 20 to 40 s.
fn queue(mut path: Path) -> Vec<usize> {
    (0..2000)
        .map(|step| {
            let now = at(20_000 + 10 * step);
            path.run(now);
            path.queued(now)
        })
        .collect()
}

fn mean(queue: &[usize]) -> f64 {
    queue.iter().sum::<usize>() as f64 / queue.len() as f64
}

#[test]
fn cubic_comes_back_to_the_window_of_the_loss_after_k() {
    // Almost no queue, and a window of some hundred segments.
    let links = [
        Link { rate: Rate::from_bps(1_000_000_000), delay: Span::from_millis(2) },
        Link { rate: Rate::from_bps(100_000_000), delay: Span::from_millis(100) },
    ];
    // Time and window, from the loss on. The time of the first growth after the recovery comes first.
    let run = |congestion| {
        let mut path = path(congestion, links, &[400]);
        path.run(at(18_000));
        let windows: Vec<(f64, f64)> =
            path.events.iter().map(|event| (event.time.seconds(), event.state.cwnd)).collect();
        let top = windows.windows(2).position(|pair| pair[1].1 < pair[0].1).expect("a loss");
        let floor = windows[top + 1].1;
        let start = (top + 1..windows.len()).find(|&event| windows[event].1 > floor).expect("growth");
        (windows[start].0, windows[top..].to_vec())
    };
    let reaches = |windows: &[(f64, f64)], window: f64| {
        windows[1..].iter().find(|(_, cwnd)| *cwnd >= window).expect("the window grows so far").0
    };
    let without = cubic::Params { hystart: hystart::Choice::Off, ..cubic::Params::of_profile("rfc") };
    let (start, windows) = run(congestion::Config::Cubic(without.into()));
    let (w_max, floor) = (windows[0].1, windows[1].1);
    assert!((floor / w_max - 0.7).abs() < 0.01, "{floor} is left of {w_max}");
    // RFC 9438 §4.2: the function is 0.1 % below its maximum at K - cbrt(0.001 W_max / C).
    let k = libm::cbrt((w_max - floor) / 0.4);
    let expected = k - libm::cbrt(0.001 * w_max / 0.4);
    let took = reaches(&windows, 0.999 * w_max) - start;
    assert!((took - expected).abs() < 0.05 * expected, "{took} s, by the function {expected} s");
    // The first half of the growth takes less than a third of the time: the function is concave. After K it is convex.
    let half = reaches(&windows, f64::midpoint(floor, w_max)) - start;
    assert!(half < 0.33 * took, "{half} s of {took} s");
    let (one, two) = (reaches(&windows, 1.02 * w_max) - start - k, reaches(&windows, 1.16 * w_max) - start - k);
    assert!((two / one - 2.0).abs() < 0.2, "eight times the growth in {} of the time", two / one);
    // SACK's window grows by the same amount in the same time.
    let (start, windows) = run(variant("sack"));
    let floor = windows[1].1;
    let (one, two) = (reaches(&windows, floor + 20.0) - start, reaches(&windows, floor + 40.0) - start);
    assert!((two / one - 2.0).abs() < 0.1, "{one} s for 20 segments, {two} s for 40");
}

#[test]
fn hystart_ends_slow_start_before_the_queue_overflows() {
    let run = |choice| {
        let params = cubic::Params { hystart: choice, ..cubic::Params::of_profile("rfc") };
        let mut path = path(congestion::Config::Cubic(params.into()), LONG_LINKS, &[]);
        path.queue_limit = 800;
        // Until the end of slow start.
        let mut step = 0;
        while path.sender.state().ssthresh > 60_000.0 {
            step += 10;
            path.run(at(step));
        }
        let state = path.sender.state();
        path.run(at(step + 1000));
        (state.cwnd, path.sender.counters().retransmitted_segments)
    };
    let (cwnd, again) = run(hystart::Choice::PlusPlus);
    assert_eq!(again, 0, "slow start ended at {cwnd} without a loss");
    // Path and queue hold nine hundred segments. Above a hundred the round-trip time increases. The next round, of more
    // than two hundred, shows this. In five further rounds the window grows by a quarter each.
    assert!((500.0..900.0).contains(&cwnd), "{cwnd}");
    let (_, again) = run(hystart::Choice::Off);
    assert!(again > 200, "without it {again} segments are lost");
}

#[test]
fn bbr_keeps_the_queue_short_that_cubic_fills() {
    let run = |name| {
        let mut path = path(variant(name), NS2_LINKS, &[]);
        path.queue_limit = 60;
        (share(&mut path, 10_000, 20_000), queue(path))
    };
    let (filled, cubic) = run("cubic");
    let (steady, bbr) = run("bbr");
    assert!(filled > 0.95 && steady > 0.93, "{filled} and {steady} of the link");
    // A queue of three quanta, and of a quarter of the path's 21 segments during the probe.
    assert!(mean(&bbr) < 8.0, "{}", mean(&bbr));
    assert!(mean(&cubic) > 30.0, "{}", mean(&cubic));
    assert!(bbr.iter().all(|&segments| segments < 30), "{:?}", bbr.iter().max());
}

#[test]
fn bbr_does_not_take_random_loss_for_congestion() {
    let run = |name| {
        let mut path = path(variant(name), LONG_LINKS, &[]);
        path.queue_limit = 200;
        path.loss = Some((Streams::new(3, 0).stream("loss"), 0.01));
        share(&mut path, 10_000, 60_000)
    };
    let (bbr, newreno, sack, cubic) = (run("bbr"), run("newreno"), run("sack"), run("cubic"));
    assert!(bbr > 0.85, "{bbr}");
    assert!(newreno < 0.25 && sack < 0.25 && cubic < 0.25, "{newreno}, {sack}, {cubic}");
}

#[test]
fn bbr_looks_for_the_shortest_round_trip_every_ten_seconds() {
    let mut path = path(variant("bbr"), LONG_LINKS, &[]);
    let mut entries: Vec<f64> = Vec::new();
    let mut small = false;
    for step in 1..600 {
        // The round-trip time of the path increases by a millisecond each second: each round-trip time is longer than
        // the previous one.
        path.links[1].delay += Span::from_micros(100);
        path.run(at(100 * step));
        let cwnd = path.sender.state().cwnd;
        if cwnd <= 4.0 && !small {
            entries.push(0.1 * step as f64);
        }
        small = cwnd <= 4.0;
    }
    let gaps: Vec<f64> = entries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(entries.len() >= 4 && gaps.iter().all(|gap| (10.0..12.0).contains(gap)), "{entries:?}");
    assert!(share(&mut path, 60_000, 80_000) > 0.9);
}

#[test]
fn bbr_draws_its_first_phase_from_the_senders_stream() {
    let events = |seed: u64| {
        let config = tcp::Config {
            tcp: tcp::Params::of_profile("rfc"),
            congestion: congestion::Config::Bbr(bbr::Params::of_profile("rfc").into()),
        };
        let acking = acking::Config::of_profile("every", "rfc").expect("a policy");
        let mut path = Path::new(&config, &acking, LONG_LINKS, &[], Streams::new(seed, 0).stream("tcp"));
        path.start(u64::MAX);
        path.run(at(5000));
        path.events.len()
    };
    assert_eq!(events(1), events(1));
    assert!((2..8).any(|seed| events(seed) != events(1)));
}
