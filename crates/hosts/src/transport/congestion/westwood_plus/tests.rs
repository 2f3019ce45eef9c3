//! Westwood+'s filters compared with values computed by hand; bursts compared with Westwood; its answers to losses.

use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::testing::{DUPLICATE, LOSS, ack, at, near, set, view_at as view};
use crate::transport::congestion::westwood::{self, Westwood};

const SEGMENT: u32 = 1000;

fn plus(profile: &str) -> Published {
    Published::new(&Params::of_profile(profile))
}

fn sent(control: &mut Published, millis: u64) {
    control.on_sent(
        &Sent { seq: 1, len: SEGMENT, retransmission: false, departs: Time::ZERO, app_limited: false },
        &view(millis, 10.0),
    );
}

/// Acknowledgements of one segment every 10 ms with this round-trip time, with calls of the timer.
fn steady(control: &mut Published, round_trip: u64, from: u64, until: u64) {
    for millis in (from..=until).step_by(10) {
        while control.deadline() <= at(millis) {
            let now = control.deadline();
            control.on_timer(&View { now, ..view(0, 10.0) });
        }
        let srtt = Some(Span::from_millis(round_trip));
        control.on_ack(&ack(1, round_trip), &View { srtt, ..view(millis, 20.0) });
    }
}

#[test]
fn a_sample_is_what_a_round_trip_acknowledged() {
    let mut control = plus(PAPER);
    sent(&mut control, 0);
    steady(&mut control, 100, 100, 110);
    // 0 to 110 ms, the acknowledgement that ends the window not counted: 1000 bytes. 0.1 of half of it.
    let first = 1000.0 / 0.110;
    assert!(near(control.bandwidth, 0.05 * first), "{}", control.bandwidth);
    // The next window ends when more than 100 ms have passed: at 220 ms, with 11 segments.
    steady(&mut control, 100, 120, 210);
    assert!(near(control.bandwidth, 0.05 * first));
    steady(&mut control, 100, 220, 220);
    let second = 11_000.0 / 0.110;
    assert!(near(control.bandwidth, 0.9 * 0.05 * first + 0.1 * (first + second) / 2.0));
}

#[test]
fn linux_fills_two_averages_with_the_first_sample() {
    let mut control = Published::new(&Params { tick: Span::ZERO, ..Params::of_profile(LINUX) });
    sent(&mut control, 0);
    steady(&mut control, 100, 100, 110);
    let first = 1000.0 / 0.110;
    assert!(near(control.bandwidth, first));
    steady(&mut control, 100, 120, 220);
    let inner = 0.875 * first + 0.125 * 100_000.0;
    let second = 0.875 * first + 0.125 * inner;
    assert!(near(control.bandwidth, second));
    steady(&mut control, 100, 230, 330);
    let inner = 0.875 * inner + 0.125 * 100_000.0;
    assert!(near(control.bandwidth, 0.875 * second + 0.125 * inner));
}

#[test]
fn linux_computes_in_whole_bytes_per_millisecond() {
    let mut control = plus(LINUX);
    sent(&mut control, 0);
    steady(&mut control, 100, 100, 110);
    // 1000 bytes in 110 ms: 9.09.
    assert!(near(control.bandwidth, 9000.0), "{}", control.bandwidth);
    // 100 bytes per millisecond: (7 * 9 + 100) / 8 is 20.4, (7 * 9 + 20) / 8 is 10.4.
    steady(&mut control, 100, 120, 220);
    assert!(near(control.inner, 20_000.0) && near(control.bandwidth, 10_000.0));
    // (7 * 20 + 100) / 8 is 30, (7 * 10 + 30) / 8 is 12.5.
    steady(&mut control, 100, 230, 330);
    assert!(near(control.inner, 30_000.0) && near(control.bandwidth, 12_000.0));
    // They end where the next step is less than one byte: (7 * 93 + 100) / 8 is 93.9, (7 * 86 + 93) / 8 is 86.9.
    steady(&mut control, 100, 340, 60_000);
    assert!(
        near(control.inner, 93_000.0) && near(control.bandwidth, 86_000.0),
        "{} {}",
        control.inner,
        control.bandwidth
    );
}

#[test]
fn linux_takes_no_sample_in_less_than_50_ms() {
    let samples = |profile| {
        let mut control = plus(profile);
        sent(&mut control, 0);
        let mut changes = 0;
        for millis in (10..500).step_by(10) {
            let before = control.began;
            control.on_ack(&ack(1, 10), &view(millis, 20.0));
            changes += u32::from(control.began != before);
        }
        changes
    };
    // The paper's window ends every 20 ms, Linux's every 60 ms.
    assert!(samples(PAPER) >= 23, "{}", samples(PAPER));
    assert!((7..=8).contains(&samples(LINUX)), "{}", samples(LINUX));
}

#[test]
fn ns3_samples_by_the_clock_from_an_acknowledgement_on() {
    let mut control = plus(NS3);
    assert_eq!(control.deadline(), Time::NEVER);
    steady(&mut control, 100, 100, 190);
    assert_eq!(control.deadline(), at(200));
    control.on_timer(&view(200, 10.0));
    // Ten acknowledgements, the first included.
    assert!(near(control.bandwidth, 0.05 * 100_000.0), "{}", control.bandwidth);
    assert_eq!(control.deadline(), Time::NEVER, "the next acknowledgement begins the next window");
    // A window of 100 ms contains two of the acknowledgements that arrive every 60 ms: a fifth too many.
    let mut control = plus(NS3);
    for millis in (0..60_000).step_by(60) {
        while control.deadline() <= at(millis) {
            let now = control.deadline();
            control.on_timer(&View { now, ..view(0, 10.0) });
        }
        let srtt = Some(Span::from_millis(100));
        control.on_ack(&ack(1, 100), &View { srtt, ..view(millis, 20.0) });
    }
    assert!((control.bandwidth - 20_000.0).abs() < 1.0, "{}", control.bandwidth);
}

/// Ten acknowledgements every 100 ms, so many microseconds apart, on average 100,000 bytes/s; the estimate after 30 s.
fn bursts<R: CongestionControl>(control: &mut R, gap: u64) -> f64 {
    for burst in 0..300_u64 {
        for number in 0..10 {
            let now = at(burst * 100) + Span::from_micros(gap * number);
            while control.deadline() <= now {
                let now = control.deadline();
                control.on_timer(&View { now, ..view(0, 10.0) });
            }
            let srtt = Some(Span::from_millis(100));
            control.on_ack(&ack(1, 100), &View { now, srtt, ..view(0, 20.0) });
        }
    }
    control.bandwidth().expect("samples were taken")
}

#[test]
fn bursts_mislead_westwood_and_not_westwood_plus() {
    let original = |gap| bursts(&mut Westwood::new(&westwood::Params::of_profile(RFC)), gap);
    // With equal spacing both estimates are correct.
    assert!((original(10_000) / 100_000.0 - 1.0).abs() < 0.01, "{}", original(10_000));
    // Samples b of 1000 bytes over the gap g, one after a pause p: the mean under straight lines between the samples is
    // (8 g b + (g + p) (b + b') / 2) / 100 ms with b' = 1000 / p, about b / 2, growing without bound as g shrinks.
    for gap in [1000, 100, 10] {
        let (g, p) = (gap as f64 / 1e6, 0.1 - 9.0 * gap as f64 / 1e6);
        let expected = (8.0 * g * 1000.0 / g + (g + p) * (1000.0 / g + 1000.0 / p) / 2.0) / 0.1;
        let found = original(gap);
        // The estimate oscillates within a burst.
        assert!(found > 0.8 * expected && found < 1.2 * expected, "{gap} us: {found} and {expected}");
        assert!(found > 400_000.0, "{gap} us: {found}");
        for profile in [PAPER, LINUX] {
            let found = bursts(&mut plus(profile), gap);
            assert!((80_000.0..112_000.0).contains(&found), "{profile}, {gap} us: {found}");
        }
    }
}

#[test]
fn an_outage_leaves_the_estimate_and_takes_westwoods() {
    let mut original = Westwood::new(&westwood::Params::of_profile(RFC));
    let mut control = plus(PAPER);
    for millis in (0..20_000).step_by(10) {
        original.on_ack(&ack(1, 100), &view(millis, 20.0));
        control.on_ack(&ack(1, 100), &view(millis, 20.0));
    }
    let timeout = Timeout { repeated: 3 };
    original.on_timer(&view(30_000, 1.0));
    assert_eq!(set(original.on_timeout(&timeout, &view(30_000, 1.0))).1, 2.0);
    assert!((set(control.on_timeout(&timeout, &view(30_000, 1.0))).1 - 10.0).abs() < 0.1);
}

#[test]
fn the_profiles_set_the_window_at_different_moments() {
    let lost = |profile, cwnd| {
        let mut control = plus(profile);
        steady(&mut control, 100, 0, 20_000);
        let loss = set(control.on_loss(&LOSS, &view(20_000, cwnd)));
        let recovered = set(control.on_recovered(&View { ssthresh: loss.1, ..view(20_100, loss.1) }));
        (loss, recovered)
    };
    // Close to the capacity of the path, and never above the threshold.
    let is = |found: (f64, f64), cwnd: f64, ssthresh: f64| {
        (found.0 - cwnd).abs() < 0.6 && (found.1 - ssthresh).abs() < 0.6 && found.0 <= found.1
    };
    // The path holds ten segments. Linux's first sample is correct here, and initialises the filter.
    let (loss, recovered) = lost(PAPER, 40.0);
    assert!(is(loss, 10.0, 10.0) && is(recovered, 10.0, 10.0), "{loss:?} {recovered:?}");
    let (loss, recovered) = lost(PAPER, 4.0);
    assert!(is(loss, 10.0, 10.0) && is(recovered, 10.0, 10.0), "a loss raises the window: {loss:?} {recovered:?}");
    let (loss, recovered) = lost(LINUX, 40.0);
    assert_eq!((loss, recovered), ((20.0, 20.0), (10.0, 10.0)));
    let (loss, recovered) = lost(LINUX, 4.0);
    assert_eq!((loss, recovered), ((2.0, 2.0), (10.0, 10.0)), "the end of a recovery raises the window");
    let (loss, _) = lost(NS3, 4.0);
    assert!(is(loss, 10.0, 10.0), "{loss:?}");
}

#[test]
fn a_window_that_may_not_be_raised_stays() {
    let mut control = Published::new(&Params { raise: false, ..Params::of_profile(PAPER) });
    steady(&mut control, 100, 0, 20_000);
    let (cwnd, ssthresh) = set(control.on_loss(&LOSS, &view(20_000, 4.0)));
    assert!(cwnd == 4.0 && (ssthresh - 10.0).abs() < 0.6, "{cwnd} {ssthresh}");
    // The recovery ends at the threshold, and the window does not exceed the reduced one.
    assert_eq!(set(control.on_recovered(&view(20_100, ssthresh))).0, 4.0);
}

#[test]
fn linux_learns_of_a_longer_route_after_a_timeout() {
    let threshold = |profile| {
        let mut control = plus(profile);
        steady(&mut control, 100, 0, 10_000);
        control.on_timeout(&Timeout { repeated: 0 }, &view(10_000, 10.0));
        steady(&mut control, 200, 10_010, 40_000);
        set(control.on_timeout(&Timeout { repeated: 0 }, &view(40_000, 40.0))).1
    };
    assert!((threshold(PAPER) - 10.0).abs() < 0.5, "{}", threshold(PAPER));
    assert_eq!(threshold(LINUX), 20.0, "100,000 bytes/s times 200 ms");
}

#[test]
fn the_timeouts_of_an_outage_find_the_same_threshold() {
    for profile in [PAPER, LINUX, NS3] {
        let mut control = plus(profile);
        steady(&mut control, 100, 0, 20_000);
        let thresholds = [0, 1, 2].map(|repeated| {
            let now = 21_000 + 1000 * u64::from(repeated);
            set(control.on_timeout(&Timeout { repeated }, &view(now, 1.0))).1
        });
        assert!((thresholds[0] - 10.0).abs() < 0.6, "{profile}: the path holds ten, {thresholds:?}");
        assert!(thresholds.iter().all(|&found| found == thresholds[0]), "{profile}: {thresholds:?}");
    }
}

#[test]
fn before_any_sample_the_threshold_is_two() {
    for profile in [PAPER, LINUX, NS3] {
        let mut control = plus(profile);
        control.on_duplicate(&DUPLICATE, &view(0, 10.0));
        assert_eq!(set(control.on_timeout(&Timeout { repeated: 0 }, &view(1000, 10.0))), (1.0, 2.0), "{profile}");
        assert_eq!(control.bandwidth(), None);
    }
}

#[test]
fn each_profile_has_its_recovery() {
    assert_eq!(plus(PAPER).recovery(), RecoveryChoice::NewReno);
    assert_eq!(plus(LINUX).recovery(), RecoveryChoice::Sack);
    assert_eq!(plus(NS3).recovery(), RecoveryChoice::Sack);
    assert_eq!(Params::of_profile("ns2"), Params::of_profile(PAPER), "a scenario's profile that is not here");
}

#[test]
fn impossible_parameters_are_named() {
    let paper = Params::of_profile(PAPER);
    let fault = Params { weight: 1.0, ..paper.clone() }.check().expect_err("a fault");
    assert_eq!(fault.to_string(), "weight: expected at least 0 and less than 1, found 1");
    assert!(Params { weight: f64::NAN, ..paper }.check().is_err());
}
