//! The loss of the last segments, outages and a stall, compared with a sender of Linux 6.1 on the same link
//! (`data/README.md`).
//!
//! The same segments must be retransmitted, and all data must be acknowledged within a bound of Linux's time. The
//! differences come from behaviour of Linux that is in no RFC that Hopyard follows: Linux's timeout is at least 200 ms
//! more than the smoothed round-trip time (here it is at least 200 ms in total), its deviation is the maximum of a
//! round trip, and it undoes a timeout that timestamps show to be spurious (Eifel, RFC 3522).

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::{self, RecoveryChoice, newreno, reno::Halve};
use hopyard_model::transport::{acking, tcp};

use crate::two_links::{Kind, Link, Path};

struct Case<'a> {
    name: &'a str,
    segments: i64,
    lost: Vec<u64>,
    outage: Option<(Time, Time)>,
    stall: Option<(Time, Time)>,
    done: f64,
    resent: Vec<i64>,
}

fn cases() -> Vec<Case<'static>> {
    let text = include_str!("data/linux_tails.csv");
    let case = |line: &'static str| {
        let fields: Vec<&str> = line.split(',').collect();
        let numbers = |index: usize| fields[index].split(' ').filter_map(|n| n.parse().ok()).collect::<Vec<u64>>();
        let period = |index| {
            let at = |millis: &u64| Time::ZERO + Span::from_millis(*millis);
            numbers(index).first().map(|from| (at(from), at(&numbers(index)[1])))
        };
        Case {
            name: fields[0],
            segments: fields[1].parse().expect("a number"),
            lost: numbers(2),
            outage: period(3),
            stall: period(4),
            done: fields[5].parse().expect("a time"),
            resent: numbers(6).into_iter().map(|n| n as i64).collect(),
        }
    };
    text.lines().skip(1).map(case).collect()
}

/// The segments that Hopyard retransmits in a case, and the time at which all data is acknowledged, in milliseconds
/// after the first segment of data.
fn run(case: &Case<'_>) -> (Vec<i64>, f64) {
    run_with(case, |_| {})
}

fn run_with(case: &Case<'_>, change: impl FnOnce(&mut tcp::Params)) -> (Vec<i64>, f64) {
    let mut params = tcp::Params {
        segment_size: Bytes::new(1448),
        window: 4000,
        nagle: false,
        recovery: RecoveryChoice::Rack,
        echo_copies: tcp::EchoCopies::Last,
        min_rto: Span::from_millis(200),
        fast_retransmit_restarts_timer: true,
        ..tcp::Params::of_profile("rfc")
    };
    change(&mut params);
    let control = newreno::Params {
        halve: Halve::Window,
        slow_start_limit: 65_535,
        count_bytes: true,
        ..newreno::Params::of_profile("rfc")
    };
    let config = tcp::Config { tcp: params, congestion: congestion::Config::NewReno(control.into()) };
    let acking = acking::Config::of_profile("every", "rfc").expect("a policy");
    let links = [
        Link { rate: Rate::from_bps(2_000_000), delay: Span::from_millis(10) },
        Link { rate: Rate::from_bps(1_000_000_000_000), delay: Span::ZERO },
    ];
    // The SYN is the first packet that reaches the second link.
    let drops: Vec<u64> = case.lost.iter().map(|segment| segment + 1).collect();
    let mut path = Path::new(&config, &acking, links, &drops, Streams::new(1, 0).stream("tcp"));
    path.outage = case.outage;
    path.stall = case.stall;
    path.start(case.segments as u64 * 1448);
    path.sender.close(Time::ZERO);
    path.run(Time::ZERO + Span::from_secs(60));
    // Segments are counted from 1 after a SYN, acknowledgements from 0; the FIN uses one number more.
    let data = |kind| path.events.iter().filter(move |event| event.kind == kind && event.segment > 0);
    let first = data(Kind::Send).next().expect("data was sent").time;
    let resent = data(Kind::Resend).map(|event| event.segment - 1).collect();
    let done = data(Kind::Ack).find(|event| event.segment >= case.segments).expect("all was acknowledged").time;
    (resent, done.since(first).seconds() * 1e3)
}

#[test]
fn lost_tails_and_outages_are_repaired_as_by_linux() {
    // How much earlier Hopyard may finish: its timeout is shorter by the smoothed round-trip time, once for a tail and
    // once for each timeout of an outage.
    let bounds = [("tail1", 0.05), ("tail3", 0.05), ("tail10", 0.05), ("out1", 0.07), ("out5", 0.20)];
    for (name, bound) in bounds {
        let case = cases().into_iter().find(|case| case.name == name).expect("a case of this name");
        let (resent, done) = run(&case);
        assert_eq!(resent, case.resent, "{name}");
        let error = done / case.done - 1.0;
        assert!((-bound..=0.001).contains(&error), "{name}: {done:.3} ms, Linux {:.3} ms", case.done);
    }
}

/// After a spurious timeout Hopyard retransmits all outstanding segments once. Linux stops after the first segment.
#[test]
fn a_stall_costs_what_linux_takes_back() {
    let case = cases().into_iter().find(|case| case.name == "stall1").expect("a case of this name");
    assert_eq!(case.resent, [78]);
    let (resent, done) = run(&case);
    assert_eq!(resent.first(), Some(&78), "the timeout comes as in Linux");
    assert!(resent.windows(2).all(|pair| pair[0] < pair[1]) && resent.len() <= 90, "{resent:?}");
    assert!((1.0..=1.17).contains(&(done / case.done)), "{done:.3} ms, Linux {:.3} ms", case.done);
}

#[test]
fn without_probes_a_lost_tail_is_not_repaired_as_by_linux() {
    let case = cases().into_iter().find(|case| case.name == "tail10").expect("a case of this name");
    let (resent, _) = run_with(&case, |params| params.tail_loss_probe = false);
    assert_ne!(resent, case.resent);
}
