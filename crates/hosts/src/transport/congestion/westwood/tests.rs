//! Westwood's filter and counting compared with values computed by hand; its answers compared with those of `NewReno`.

use hopyard_engine::Time;

use super::*;
use crate::params::Params as _;
use crate::transport::congestion::newreno::NewReno;
use crate::transport::congestion::testing::{DUPLICATE, LOSS, ack, at, near, set, view_at as view};

const SEGMENT: u32 = 1000;

fn westwood(profile: &str) -> Westwood {
    Westwood::new(&Params::of_profile(profile))
}

fn estimate(control: &Westwood) -> f64 {
    control.bandwidth().expect("a sample was taken")
}

/// An acknowledgement of one segment every `gap` milliseconds, up to this time.
fn steady(control: &mut Westwood, gap: u64, until: u64) {
    for millis in (0..=until).step_by(gap as usize) {
        control.on_ack(&ack(1, 100), &view(millis, 20.0));
    }
}

#[test]
fn the_filter_follows_the_distance_of_the_samples() {
    let mut control = westwood(RFC);
    control.on_ack(&ack(1, 100), &view(0, 10.0));
    assert_eq!(control.bandwidth(), None, "one acknowledgement has no interval");
    // 1000 bytes in 10 ms; 2 tau / 10 ms = 100; (99 * 0 + 100,000 + 0) / 101.
    control.on_ack(&ack(1, 100), &view(10, 10.0));
    assert!(near(estimate(&control), 100_000.0 / 101.0), "{}", estimate(&control));
    // (99 * 990.09… + 100,000 + 100,000) / 101.
    control.on_ack(&ack(1, 100), &view(20, 10.0));
    assert!(near(estimate(&control), (99.0 * 100_000.0 / 101.0 + 200_000.0) / 101.0));
    // 2000 bytes in 40 ms; 2 tau / 40 ms = 25.
    let before = estimate(&control);
    control.on_ack(&ack(2, 100), &view(60, 10.0));
    assert!(near(estimate(&control), (24.0 * before + 50_000.0 + 100_000.0) / 26.0));
}

#[test]
fn where_no_acknowledgement_comes_samples_of_zero_are_put_in() {
    let mut control = westwood(RFC);
    steady(&mut control, 10, 5000);
    let before = estimate(&control);
    assert!(near(before, 100_000.0) || (before - 100_000.0).abs() < 10.0, "ten time constants: {before}");
    // 2 tau / (tau / 2) = 4; the sample before the zero was 100,000.
    assert_eq!(control.deadline(), at(5250));
    control.on_timer(&view(5250, 10.0));
    assert!(near(estimate(&control), (3.0 * before + 100_000.0) / 5.0));
    // Two zeros: three fifths remain.
    let before = estimate(&control);
    assert_eq!(control.deadline(), at(5500));
    control.on_timer(&view(5500, 10.0));
    assert!(near(estimate(&control), before * 3.0 / 5.0));
    // The timer stops at some time.
    let mut steps = 0;
    while control.deadline() != Time::NEVER {
        let now = control.deadline();
        control.on_timer(&View { now, ..view(0, 10.0) });
        steps += 1;
    }
    assert!((20..30).contains(&steps), "ln(80,000) / ln(5/3) is 22: {steps}");
    assert_eq!(estimate(&control), 0.0);
}

#[test]
fn a_late_timer_puts_in_what_was_due() {
    let (mut timely, mut late) = (westwood(RFC), westwood(RFC));
    for control in [&mut timely, &mut late] {
        steady(control, 10, 1000);
    }
    timely.on_timer(&view(1250, 10.0));
    timely.on_timer(&view(1500, 10.0));
    for control in [&mut timely, &mut late] {
        control.on_ack(&ack(1, 100), &view(1600, 10.0));
    }
    assert_eq!(timely.bandwidth(), late.bandwidth());
}

#[test]
fn acknowledgements_of_one_instant_are_one_sample() {
    let (mut one, mut two) = (westwood(RFC), westwood(RFC));
    for control in [&mut one, &mut two] {
        control.on_ack(&ack(1, 100), &view(0, 10.0));
        control.on_ack(&ack(1, 100), &view(10, 10.0));
    }
    one.on_ack(&ack(1, 100), &view(10, 10.0));
    one.on_ack(&ack(1, 100), &view(20, 10.0));
    two.on_ack(&ack(2, 100), &view(20, 10.0));
    assert!(estimate(&one).is_finite());
    assert_eq!(one.bandwidth(), two.bandwidth(), "the second segment of 10 ms counts in the next sample");
}

#[test]
fn inet_filters_with_constant_weights_and_puts_in_no_zeros() {
    let mut control = westwood(INET);
    control.on_ack(&ack(1, 100), &view(0, 10.0));
    control.on_ack(&ack(1, 100), &view(10, 10.0));
    assert!(near(estimate(&control), 100_000.0 / 21.0));
    control.on_ack(&ack(1, 100), &view(30, 10.0));
    assert!(near(estimate(&control), (19.0 * 100_000.0 / 21.0 + 50_000.0 + 100_000.0) / 21.0));
    assert_eq!(control.deadline(), Time::NEVER);
    // With samples a tenth of tau apart, both forms are equal.
    let mut tustin = westwood(RFC);
    let mut inet = westwood(INET);
    steady(&mut tustin, 50, 1000);
    steady(&mut inet, 50, 1000);
    assert!(near(estimate(&tustin), estimate(&inet)));
}

#[test]
fn each_byte_counts_once_but_an_acknowledgement_at_least_a_segment() {
    let segment = u64::from(SEGMENT);
    let mut counting = Counting::default();
    assert_eq!(counting.new_data(segment, SEGMENT), segment);
    assert_eq!(counting.new_data(2 * segment, SEGMENT), 2 * segment, "a delayed acknowledgement");
    let three: u64 = (0..3).map(|_| counting.duplicate(SEGMENT)).sum();
    assert_eq!(three, 3 * segment);
    // The missing segment arrives: four segments are covered, three were reported.
    assert_eq!(counting.new_data(4 * segment, SEGMENT), segment);
    assert_eq!(counting.new_data(2 * segment, SEGMENT), 2 * segment, "all reports are used up");
    // Six duplicates, then two partial acknowledgements.
    let six: u64 = (0..6).map(|_| counting.duplicate(SEGMENT)).sum();
    assert_eq!(six, 6 * segment);
    assert_eq!(counting.new_data(3 * segment, SEGMENT), segment);
    assert_eq!(counting.new_data(5 * segment, SEGMENT), 2 * segment);
    assert_eq!(counting.new_data(segment / 2, SEGMENT), segment / 2, "the last segment of a file");
}

#[test]
fn inet_counts_at_most_two_segments() {
    let (mut all, mut two) = (westwood(INET), westwood(INET));
    all.count_limit = 0;
    for control in [&mut all, &mut two] {
        control.on_ack(&ack(1, 100), &view(0, 10.0));
        control.on_ack(&ack(8, 100), &view(10, 10.0));
    }
    assert!(near(estimate(&all), 4.0 * estimate(&two)));
}

#[test]
fn duplicates_are_samples_as_well() {
    let (mut acks, mut duplicates) = (westwood(RFC), westwood(RFC));
    for control in [&mut acks, &mut duplicates] {
        steady(control, 10, 100);
    }
    acks.on_ack(&ack(1, 100), &view(110, 10.0));
    duplicates.on_duplicate(&DUPLICATE, &view(110, 10.0));
    assert_eq!(acks.bandwidth(), duplicates.bandwidth());
}

#[test]
fn a_loss_sets_the_window_to_what_the_path_holds() {
    let mut control = westwood(RFC);
    steady(&mut control, 10, 10_000);
    // 100,000 bytes/s times 100 ms: ten segments.
    let (cwnd, ssthresh) = set(control.on_loss(&LOSS, &view(10_000, 40.0)));
    assert!((ssthresh - 10.0).abs() < 1e-3 && cwnd == ssthresh, "{cwnd} {ssthresh}");
    // NewReno halves the window: it keeps twenty segments although the path holds ten, and only half of the path's
    // capacity if losses occur early.
    let mut newreno = NewReno::new(&reno::Params::of_profile(RFC));
    assert_eq!(set(newreno.on_loss(&LOSS, &view(10_000, 40.0))), (20.0, 20.0));
    assert_eq!(set(newreno.on_loss(&LOSS, &view(10_000, 8.0))), (4.0, 4.0));
    // A smaller window does not change, and slow start continues, even when the recovery ends.
    let (cwnd, ssthresh) = set(control.on_loss(&LOSS, &view(10_000, 8.0)));
    assert!(cwnd == 8.0 && (ssthresh - 10.0).abs() < 1e-3);
    assert_eq!(set(control.on_recovered(&View { ssthresh, ..view(10_100, ssthresh) })), (8.0, ssthresh));
}

#[test]
fn a_timeout_starts_from_one_segment_with_the_same_threshold() {
    let mut control = westwood(RFC);
    steady(&mut control, 10, 10_000);
    let (cwnd, ssthresh) = set(control.on_timeout(&Timeout { repeated: 0 }, &view(10_000, 40.0)));
    assert!(cwnd == 1.0 && (ssthresh - 10.0).abs() < 1e-3);
    // After an outage of a minute the estimate is zero.
    let (_, ssthresh) = {
        control.on_timer(&view(70_000, 1.0));
        set(control.on_timeout(&Timeout { repeated: 5 }, &view(70_000, 1.0)))
    };
    assert_eq!(ssthresh, 2.0);
}

#[test]
fn inet_divides_the_threshold_by_a_growing_factor() {
    let mut control = westwood(INET);
    steady(&mut control, 10, 10_000);
    let slow_start = View { ssthresh: 100.0, ..view(10_000, 40.0) };
    let thresholds: Vec<f64> = (0..2).map(|_| set(control.on_loss(&LOSS, &slow_start)).1).collect();
    assert!((thresholds[0] - 10.0 / 1.25).abs() < 1e-3 && (thresholds[1] - 10.0 / 1.5).abs() < 1e-3);
    let after = set(control.on_timeout(&Timeout { repeated: 0 }, &slow_start)).1;
    assert!((after - 10.0 / 2.5).abs() < 1e-3);
    for _ in 0..5 {
        control.on_timeout(&Timeout { repeated: 0 }, &slow_start);
    }
    assert!((set(control.on_loss(&LOSS, &slow_start)).1 - 10.0 / 4.0).abs() < 1e-3, "at most 4");
    assert!((set(control.on_loss(&LOSS, &view(10_000, 40.0))).1 - 10.0).abs() < 1e-3, "congestion avoidance");
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(
        fault(Params { virtual_samples: 1, ..rfc.clone() }),
        "virtual_samples: expected at least 2 (Nyquist), found 1"
    );
    assert_eq!(fault(Params { time_constant: Span::ZERO, ..rfc.clone() }), "time_constant: expected more than 0 s");
    assert_eq!(fault(Params { slow_start_limit: 0, ..rfc }), "slow_start_limit: expected at least 1, found 0");
}
