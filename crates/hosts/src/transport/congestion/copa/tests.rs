//! Copa's target, velocity and modes computed by hand, and compared with Vegas's.

use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::testing::{LOSS, ack, at, near, set, view};
use crate::transport::congestion::vegas::{self, Vegas};

/// A window of this size at this time, with a smoothed round trip of 100 ms, in one long window.
fn seen(millis: u64, cwnd: f64) -> View {
    View { now: at(millis), una: 1, ..view(cwnd) }
}

/// After slow start, with a shortest round trip of 100 ms and these ones in the last half of a smoothed one.
fn settled(round_trip: u64, cwnd: f64) -> Copa {
    let mut control = Copa { starting: false, window: (1, cwnd), ..Copa::new(&Params::of_profile(RFC)) };
    control.measure(Span::from_millis(100), 1, &seen(0, cwnd));
    control.measure(Span::from_millis(round_trip), 1, &seen(100, cwnd));
    control
}

#[test]
fn the_window_moves_towards_the_target() {
    // 2 / 10 ms = 200 segments per second; 22 segments in 110 ms are as many.
    for (cwnd, change) in [(20.0, 1.0), (22.0, 1.0), (22.1, -1.0), (40.0, -1.0)] {
        let after = set(settled(110, cwnd).on_ack(&ack(1, 110), &seen(110, cwnd))).0;
        assert!(near(after, cwnd + change * 2.0 / cwnd), "{cwnd}: {after}");
    }
    // Without a queue there is no limit.
    let after = set(settled(100, 1000.0).on_ack(&ack(1, 100), &seen(110, 1000.0))).0;
    assert!(near(after, 1000.002));
    let params = Params { delta: 0.1, ..Params::of_profile(RFC) };
    let mut control = Copa { params, weight: 10.0, ..settled(110, 109.0) };
    assert!(set(control.on_ack(&ack(1, 110), &seen(110, 109.0))).0 > 109.0, "10 / 10 ms");
}

#[test]
fn segments_are_paced_at_twice_the_window() {
    let mut control = settled(100, 25.0);
    control.on_ack(&ack(1, 100), &seen(110, 25.0));
    assert_eq!(control.pace(), Pace::of(Span::from_millis(2)));
}

#[test]
fn the_velocity_doubles_after_three_round_trips_in_one_direction() {
    let mut control = settled(100, 100.0);
    let mut velocities = Vec::new();
    for round in 0..6 {
        control.end_window(&seen(100 * round, 101.0 + round as f64));
        velocities.push(control.velocity);
    }
    assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0]);
    // One segment adds 16 times as much.
    assert!(near(set(control.on_ack(&ack(1, 100), &seen(700, 100.0))).0, 100.0 + 16.0 * 2.0 / 100.0));
    // At most a window in a round trip: 100 / 2.
    (0..6).for_each(|round| control.end_window(&seen(800, 110.0 + round as f64)));
    assert!(control.velocity < 60.0, "{}", control.velocity);
    control.end_window(&seen(900, 50.0));
    assert_eq!((control.velocity, control.direction), (1.0, Direction::Down));
    // It turns within a window too.
    control.velocity = 8.0;
    control.on_ack(&ack(1, 100), &seen(910, 50.0));
    assert_eq!((control.velocity, control.direction), (1.0, Direction::Up));
}

#[test]
fn slow_start_ends_at_the_target() {
    let mut control = Copa::new(&Params::of_profile(RFC));
    let start = |cwnd| View { ssthresh: 1e6, ..seen(0, cwnd) };
    assert_eq!(set(control.on_ack(&ack(1, 100), &start(10.0))), (11.0, 1e6));
    assert_eq!(set(control.on_ack(&ack(2, 100), &start(11.0))).0, 13.0);
    let later = |cwnd| View { now: at(200), ..start(cwnd) };
    let (cwnd, ssthresh) = set(control.on_ack(&ack(1, 150), &later(30.0)));
    assert!(cwnd < 30.0 && near(ssthresh, cwnd) && !control.starting, "2 / 50 ms < 30 / 150 ms");
}

#[test]
fn a_queue_that_never_empties_makes_it_compete() {
    let mut control = settled(150, 20.0);
    let busy = |millis| View { now: at(millis), srtt: Some(Span::from_millis(150)), ..view(20.0) };
    // Always between 140 and 200 ms: never within a tenth of the variation.
    for step in 0..40 {
        control.measure(Span::from_millis(140 + step % 4 * 20), 1, &busy(120 + 10 * step));
        control.end_window(&busy(120 + 10 * step));
    }
    assert_eq!(control.weight, 2.0, "five round trips of 150 ms are not over");
    for step in 40..80 {
        control.measure(Span::from_millis(140 + step % 4 * 20), 1, &busy(120 + 10 * step));
    }
    (0..6).for_each(|_| control.end_window(&busy(920)));
    assert_eq!(control.weight, 8.0, "one more in each round trip");
    control.on_loss(&LOSS, &busy(930));
    control.end_window(&busy(930));
    assert_eq!(control.weight, 4.0, "a half after a loss");
    control.measure(Span::from_millis(105), 1, &busy(940));
    assert_eq!(control.weight, 2.0, "nearly empty");
    let params = Params { competitive: false, ..Params::of_profile(RFC) };
    let mut alone = Copa { params, ..settled(150, 20.0) };
    for step in 0..80 {
        alone.measure(Span::from_millis(150), 1, &busy(120 + 10 * step));
    }
    alone.end_window(&busy(920));
    assert_eq!(alone.weight, 2.0);
}

#[test]
fn segments_acknowledged_together_do_not_make_it_compete() {
    // A segment takes 5 ms. The queue is between one and eight segments long; a tenth of that is less than one.
    let weight = |segments| {
        let mut control = settled(105, 20.0);
        for step in 0..200 {
            let busy = View { now: at(110 + 10 * step), srtt: Some(Span::from_millis(120)), ..view(20.0) };
            control.measure(Span::from_millis(105 + step % 8 * 5), segments, &busy);
            control.end_window(&busy);
        }
        control.weight
    };
    assert!(weight(1) > 10.0, "others fill the queue: {}", weight(1));
    assert_eq!(weight(2), 2.0, "one segment waits for the other");
}

#[test]
fn losses_leave_the_window_and_timeouts_do_not() {
    let mut control = settled(110, 20.0);
    assert_eq!(control.on_loss(&LOSS, &seen(120, 20.0)), Answer::Keep);
    assert_eq!(control.weight, 2.0);
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 0 }, &seen(1200, 20.0))), (1.0, 10.0));
    assert!(control.starting);
}

#[test]
fn the_delay_rules_the_window_in_a_recovery() {
    let sample =
        RateSample { round_trip: Some(Span::from_millis(110)), newly_delivered: 2000, ..RateSample::default() };
    let repairing = View { recovering: true, ..seen(110, 40.0) };
    // Above the target, two delivered segments take 2 · 2 / 40 away, whether an acknowledgement or SACK reports them.
    let partial = Ack { phase: Phase::Partial, round_trip: None, rate: Some(sample), ..ack(9, 110) };
    assert!(near(set(settled(110, 40.0).on_ack(&partial, &repairing)).0, 39.9));
    let sacked = Duplicate { count: 4, sacked: 2000, rate: Some(sample) };
    assert!(near(set(settled(110, 40.0).on_duplicate(&sacked, &repairing)).0, 39.9));
    assert_eq!(settled(110, 40.0).on_duplicate(&sacked, &seen(110, 40.0)), Answer::Keep, "before a loss is found");
    let again = RateSample { round_trip: None, ..sample };
    let resent = Duplicate { rate: Some(again), ..sacked };
    assert_eq!(settled(110, 40.0).on_duplicate(&resent, &repairing), Answer::Keep, "a retransmission was reported");
}

#[test]
fn old_round_trips_are_forgotten() {
    let mut control = settled(110, 20.0);
    assert_eq!(control.measure(Span::from_millis(130), 1, &seen(9900, 20.0)).1, Span::from_millis(30));
    assert_eq!(control.measure(Span::from_millis(130), 1, &seen(10_050, 20.0)).1, Span::from_millis(20));
    assert_eq!(control.measure(Span::from_millis(130), 1, &seen(10_200, 20.0)).1, Span::ZERO);
}

#[test]
fn nothing_grows_while_the_application_is_silent() {
    let mut control = settled(100, 20.0);
    let idle = View { app_limited: true, ..seen(110, 20.0) };
    let slack = Ack { window_limited: false, ..ack(1, 100) };
    assert_eq!(set(control.on_ack(&slack, &idle)).0, 20.0);
}

#[test]
fn vegas_moves_by_one_where_copa_speeds_up() {
    let mut control = settled(100, 50.0);
    let mut other = Vegas::new(&vegas::Params::of_profile(RFC));
    let (mut mine, mut theirs) = (50.0, 50.0);
    let mut una = 1;
    for number in 0..800 {
        una += 1000;
        let sees = |cwnd: f64| View {
            una,
            next: una + cwnd as u64 * 1000,
            max: una + cwnd as u64 * 1000,
            ssthresh: 2.0,
            ..seen(200 + 2 * number, cwnd)
        };
        mine = set(control.on_ack(&ack(1, 100), &sees(mine))).0;
        if let Answer::Set { cwnd, .. } = other.on_ack(&ack(1, 100), &sees(theirs)) {
            theirs = cwnd;
        }
    }
    assert!(theirs < 70.0 && mine > 100.0, "Copa {mine}, Vegas {theirs}");
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(fault(Params { delta: 0.0, ..rfc.clone() }), "delta: expected more than 0 and at most 1, found 0");
    assert_eq!(
        fault(Params { nearly_empty: 1.0, ..rfc.clone() }),
        "nearly_empty: expected more than 0 and less than 1, found 1"
    );
    assert_eq!(fault(Params { empty_rounds: 0, ..rfc.clone() }), "empty_rounds: expected at least 1, found 0");
    assert_eq!(
        fault(Params { min_rtt_window: Span::ZERO, ..rfc }),
        "min_rtt_window: expected more than 0 s, found 0 s"
    );
}
