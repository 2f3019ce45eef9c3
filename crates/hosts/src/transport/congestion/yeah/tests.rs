//! YeAH's modes and reductions computed by hand, and compared with Vegas's and Reno's.

use super::*;
use crate::params::Params as _;
use crate::transport::congestion::sack::{self, Sack};
use crate::transport::congestion::testing::{LOSS, ack, near, set, view_at};
use hopyard_engine::Span;

fn yeah(profile: &str) -> Yeah {
    Yeah::new(&Params::of_profile(profile))
}

fn ms(millis: u64) -> Span {
    Span::from_millis(millis)
}

/// A window of round trips of this length, with a window of this size. The shortest one of the connection is 100 ms.
fn round(control: &mut Yeah, millis: u64, cwnd: f64) -> (f64, f64) {
    control.trips.base = ms(100);
    control.end_round(Round { min: ms(millis), mean: ms(millis), count: 10 }, cwnd, 2.0)
}

/// The growth by one acknowledgement of one segment, in congestion avoidance.
fn growth(control: &mut Yeah, cwnd: f64) -> f64 {
    control.avoid(&ack(1, 100), &View { ssthresh: 2.0, ..view_at(0, cwnd) }) - cwnd
}

#[test]
fn fast_mode_grows_by_a_hundredth_and_slow_mode_as_reno() {
    let mut control = yeah(RFC);
    round(&mut control, 110, 400.0);
    assert!(near(growth(&mut control, 400.0), 0.01));
    assert!(near(growth(&mut control, 50.0), 0.02), "a small window grows as Reno's");
    // A delay of more than an eighth.
    round(&mut control, 113, 400.0);
    assert!(near(growth(&mut control, 400.0), 1.0 / 400.0));
    round(&mut control, 112, 400.0);
    assert!(near(growth(&mut control, 400.0), 0.01));
    // Too few samples say nothing.
    control.end_round(Round { min: ms(200), mean: ms(200), count: 2 }, 400.0, 2.0);
    assert_eq!(control.slow_rounds, 0);
}

#[test]
fn a_recovery_of_linux_stops_the_measurement() {
    for (profile, queue) in [(RFC, 250.0), (LINUX, 0.0)] {
        let mut control = yeah(profile);
        control.trips.base = ms(100);
        let view = |una: u64| View { una, next: una + 5000, ssthresh: 2.0, ..view_at(0, 500.0) };
        control.on_condition(Condition::Recovery, &view(0));
        let late = |phase| Ack { phase, ..ack(1, 200) };
        for _ in 0..4 {
            control.on_ack(&late(Phase::Partial), &view(0));
        }
        // All of this was sent before the end of the recovery.
        control.on_condition(Condition::Open, &view(1));
        control.on_ack(&late(Phase::Open), &view(1));
        assert!((control.queue - queue).abs() < 0.1, "{profile}: {}", control.queue);
    }
}

#[test]
fn a_queue_of_its_own_is_emptied_at_once() {
    let mut control = yeah(RFC);
    // 500 (1 - 100 / 125) = 100 segments are queued.
    assert_eq!(round(&mut control, 125, 500.0), (400.0, 400.0));
    assert_eq!(control.reno_window, 200.0);
    // 80 are left there.
    assert_eq!(round(&mut control, 125, 400.0), (400.0, 2.0));
    assert_eq!(control.reno_window, 201.0);
    // At most a half, and not below the window of a competitor.
    assert_eq!(round(&mut control, 400, 1000.0).0, 500.0);
    control.reno_window = 900.0;
    assert_eq!(round(&mut control, 400, 1000.0).0, 900.0);
    assert_eq!(round(&mut control, 400, 900.0).0, 900.0);
}

#[test]
fn a_loss_takes_the_queue() {
    let after = |millis: u64| {
        let mut control = yeah(RFC);
        round(&mut control, millis, 160.0);
        set(control.on_loss(&LOSS, &view_at(0, 160.0))).0
    };
    assert!(near(after(100), 140.0), "an eighth");
    assert!(near(after(160), 100.0), "60 were queued");
    assert!(near(after(300), 80.0), "a half");
    // The threshold of a timeout is the same.
    let mut control = yeah(RFC);
    round(&mut control, 160, 160.0);
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 0 }, &view_at(0, 160.0))), (1.0, 100.0));
    let again = View { ssthresh: 100.0, ..view_at(2000, 1.0) };
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 1 }, &again)), (1.0, 100.0));
}

#[test]
fn with_competitors_a_loss_halves_the_window() {
    for (rounds, left) in [(15, 140.0), (16, 80.0)] {
        let mut control = yeah(RFC);
        for _ in 0..rounds {
            round(&mut control, 114, 160.0);
        }
        assert!(near(set(control.on_loss(&LOSS, &view_at(0, 160.0))).0, left), "{rounds}");
    }
    // The estimate of a competitor's window is halved too, and forgotten after 51 fast rounds.
    let mut control = yeah(RFC);
    for _ in 0..11 {
        round(&mut control, 114, 160.0);
    }
    assert_eq!(control.reno_window, 90.0);
    control.on_loss(&LOSS, &view_at(0, 160.0));
    assert_eq!(control.reno_window, 45.0);
    for _ in 0..50 {
        round(&mut control, 100, 160.0);
    }
    assert_eq!(control.reno_window, 45.0);
    round(&mut control, 100, 160.0);
    assert_eq!(control.reno_window, 2.0);
}

#[test]
fn linux_counts_whole_segments() {
    let mut control = yeah(LINUX);
    assert_eq!(round(&mut control, 125, 507.0).0, 406.0, "101.4 were queued");
    assert_eq!(control.reno_window, 203.0);
    let mut control = yeah(LINUX);
    round(&mut control, 100, 155.0);
    assert_eq!(set(control.on_loss(&LOSS, &view_at(0, 155.0))), (136.0, 136.0));
    let mut cwnd = 20.0;
    let seen = |cwnd| View { ssthresh: 2.0, ..view_at(0, cwnd) };
    for _ in 0..20 {
        cwnd = control.avoid(&ack(1, 100), &seen(cwnd));
    }
    assert_eq!(cwnd, 21.0);
}

#[test]
fn reno_halves_where_yeah_takes_an_eighth() {
    let mut reno = Sack::new(&sack::Params::of_profile(RFC));
    let mut control = yeah(RFC);
    round(&mut control, 105, 160.0);
    assert_eq!(set(reno.on_loss(&LOSS, &view_at(0, 160.0))).0, 80.0);
    assert!(near(set(control.on_loss(&LOSS, &view_at(0, 160.0))).0, 140.0));
    // Of 400 acknowledgements of a large window, Reno makes one segment.
    let mut grown = [400.0, 400.0];
    for number in 0..400 {
        let seen = |cwnd| View { ssthresh: 2.0, una: 1, ..view_at(number, cwnd) };
        grown[0] = set(control.on_ack(&ack(1, 100), &seen(grown[0]))).0;
        grown[1] = set(reno.on_ack(&ack(1, 100), &seen(grown[1]))).0;
    }
    assert!(near(grown[0], 404.0) && (grown[1] - 401.0).abs() < 0.01, "{grown:?}");
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(fault(Params { max_queue: 0.0, ..rfc.clone() }), "max_queue: expected more than 0 segments, found 0");
    assert_eq!(fault(Params { max_delay: -1.0, ..rfc.clone() }), "max_delay: expected more than 0, found -1");
    assert_eq!(
        fault(Params { min_decrease: 1.5, ..rfc.clone() }),
        "min_decrease: expected more than 0 and at most 1, found 1.5"
    );
    assert_eq!(fault(Params { fast_growth: 0, ..rfc }), "fast_growth: expected at least 1, found 0");
}
