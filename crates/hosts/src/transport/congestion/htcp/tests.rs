//! H-TCP's growth and reductions computed by hand, and compared with Reno's.

use super::*;
use crate::params::Params as _;
use crate::transport::congestion::sack::{self, Sack};
use crate::transport::congestion::testing::{LOSS, ack, at, near, set, view_at};

fn htcp(profile: &str) -> Htcp {
    Htcp::new(&Params::of_profile(profile))
}

/// A connection with a window of 20 whose round trips were 100 ms, and then `longest`. It has lost two segments with
/// the same throughput.
fn settled(profile: &str, longest: u64) -> Htcp {
    let mut control = htcp(profile);
    control.on_ack(&ack(1, 100), &view_at(0, 20.0));
    control.on_ack(&ack(1, longest), &view_at(100, 20.0));
    control.throughput = Throughput { largest: 100.0, previous: 100.0, ..Throughput::default() };
    (control.stable, control.credit) = (true, 0.0);
    control
}

#[test]
fn growth_is_a_quadratic_function_of_the_time_since_the_loss() {
    let mut control = settled(RFC, 100);
    for (millis, expected) in [(500, 1.0), (1000, 1.0), (1100, 2.0025), (2000, 11.25), (3000, 22.0), (11_000, 126.0)] {
        assert!(near(control.growth(&view_at(millis, 20.0)), expected), "{millis} ms");
    }
    // With β at its maximum, the growth is 2 (1 - 0.8) of that.
    control.beta = 0.8;
    assert!(near(control.growth(&view_at(2000, 20.0)), 0.4 * 11.25));
    // Linux rounds down.
    let linux = settled(LINUX, 100);
    let growth = [1000, 1100, 1196, 2000, 3000].map(|millis| linux.growth(&view_at(millis, 20.0)));
    assert_eq!(growth, [1.0, 2.0, 2.0, 11.0, 22.0]);
}

#[test]
fn growth_is_scaled_by_the_round_trip() {
    let of = |round_trip: u64, millis: u64| {
        let mut control = htcp(RFC);
        control.on_ack(&ack(1, round_trip), &view_at(0, 20.0));
        control.growth(&view_at(millis, 20.0))
    };
    assert!(near(of(200, 2000), 2.0 * 11.25));
    assert!(near(of(400, 2000), 2.0 * 11.25), "at most twice");
    assert!(near(of(50, 2000), 11.25 / 2.0));
    assert!(near(of(10, 500), 1.0), "never below Reno's");
    assert!(near(of(1, 11_000), 12.6), "at least a tenth");
    let params = Params { rtt_scaling: false, ..Params::of_profile(RFC) };
    let mut control = Htcp::new(&params);
    control.on_ack(&ack(1, 200), &view_at(0, 20.0));
    assert!(near(control.growth(&view_at(2000, 20.0)), 11.25));
}

#[test]
fn a_loss_empties_the_queue_and_not_more() {
    for (longest, kept) in [(100, 0.8), (125, 0.8), (160, 0.625), (200, 0.5), (400, 0.5)] {
        let mut control = settled(RFC, longest);
        assert!(near(set(control.on_loss(&LOSS, &view_at(500, 80.0))).0, 80.0 * kept), "{longest} ms");
    }
    // Linux takes no sample that is 20 ms above the longest one before; 102 of 128 parts is its largest share.
    let mut control = settled(LINUX, 120);
    assert_eq!(set(control.on_loss(&LOSS, &view_at(500, 128.0))).1, 102.0);
    assert_eq!(settled(LINUX, 121).max_rtt, Span::from_millis(100));
}

#[test]
fn the_window_is_halved_while_the_throughput_changes() {
    let mut control = Htcp { stable: false, ..settled(RFC, 125) };
    // The first loss with a stable throughput still halves.
    assert_eq!(set(control.on_loss(&LOSS, &view_at(500, 80.0))).0, 40.0);
    assert_eq!(set(control.on_loss(&LOSS, &view_at(900, 80.0))).0, 64.0);
    control.throughput.largest = 121.0;
    assert_eq!(set(control.on_loss(&LOSS, &view_at(1300, 80.0))).0, 40.0, "a fifth more");
    control.throughput.largest = 121.0;
    assert_eq!(set(control.on_loss(&LOSS, &view_at(1700, 80.0))).0, 40.0);
    control.throughput.largest = 97.0;
    let again = set(control.on_loss(&LOSS, &view_at(2100, 80.0))).0;
    assert!(near(again, 64.0), "less than a fifth below 121: {again}");
}

#[test]
fn the_longest_round_trip_is_forgotten_slowly() {
    let mut control = settled(RFC, 200);
    control.on_loss(&LOSS, &view_at(500, 80.0));
    assert_eq!(control.max_rtt, Span::from_millis(195));
    control.on_loss(&LOSS, &view_at(500, 80.0));
    assert_eq!(control.max_rtt, Span::from_micros(190_250));
}

#[test]
fn throughput_is_measured_over_windows() {
    let mut control = htcp(RFC);
    // 20 segments in each 200 ms.
    for number in 0..100 {
        control.on_ack(&ack(1, 200), &View { una: 1 + number, ..view_at(10 * number, 20.0) });
    }
    assert!((control.throughput.largest - 100.0).abs() < 6.0, "{}", control.throughput.largest);
}

#[test]
fn reno_grows_as_slowly_only_in_the_first_second() {
    let grown = |control: &mut dyn CongestionControl| {
        let (mut cwnd, mut windows) = (20.0, Vec::new());
        for number in 1..=400 {
            let seen = View { ssthresh: 2.0, una: number, ..view_at(10 * number, cwnd) };
            cwnd = set(control.on_ack(&ack(1, 100), &seen)).0;
            windows.push(cwnd);
        }
        [windows[99] - 20.0, windows[399] - windows[299]]
    };
    let mut reno = Sack::new(&sack::Params::of_profile(RFC));
    let (mine, theirs) = (grown(&mut htcp(RFC)), grown(&mut reno));
    assert!((mine[0] - theirs[0]).abs() < 0.1, "{mine:?}, Reno {theirs:?}");
    assert!(mine[1] > 10.0 * theirs[1], "{mine:?}, Reno {theirs:?}");
}

#[test]
fn the_time_counts_from_the_end_of_the_repair() {
    let mut control = settled(RFC, 100);
    control.on_loss(&LOSS, &view_at(2000, 20.0));
    control.on_recovered(&view_at(2500, 10.0));
    assert_eq!(control.since, at(2500));
    // After a timeout: when all that was outstanding is acknowledged.
    control.on_timeout(&Timeout { repeated: 0 }, &View { max: 50_000, ..view_at(6000, 20.0) });
    control.on_ack(&ack(1, 100), &View { una: 49_000, ..view_at(7000, 5.0) });
    assert_eq!(control.since, at(6000));
    control.on_ack(&ack(1, 100), &View { una: 50_000, ..view_at(7200, 6.0) });
    assert_eq!(control.since, at(7200));
    // RFC 5681 §3.1: another timeout of the same segment does not change the threshold.
    let again = View { ssthresh: 10.0, ..view_at(9000, 1.0) };
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 1 }, &again)), (1.0, 10.0));
}

#[test]
fn linux_grows_in_whole_segments() {
    let mut control = settled(LINUX, 100);
    let mut cwnd = 20.0;
    let mut steps = Vec::new();
    for number in 0..45 {
        let grown = set(control.on_ack(&ack(1, 100), &View { ssthresh: 2.0, ..view_at(500, cwnd) })).0;
        if grown > cwnd {
            steps.push(number);
        }
        cwnd = grown;
    }
    // The acknowledgement after 20 counted ones, and after 21.
    assert_eq!(steps, [20, 42]);
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(
        fault(Params { beta_min: 0.0, ..rfc.clone() }),
        "beta_min: expected more than 0 and less than 1, found 0"
    );
    assert_eq!(
        fault(Params { beta_max: 0.4, ..rfc.clone() }),
        "beta_max: expected at least beta_min (0.5) and less than 1, found 0.4"
    );
    assert_eq!(
        fault(Params { bandwidth_change: -0.1, ..rfc.clone() }),
        "bandwidth_change: expected 0 or more, found -0.1"
    );
    assert_eq!(fault(Params { max_rtt_memory: 2.0, ..rfc }), "max_rtt_memory: expected 0 to 1, found 2");
}
