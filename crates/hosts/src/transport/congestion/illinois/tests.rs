//! Points of Illinois's curves computed by hand, its rounds, and its answers compared with `NewReno`'s.

use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::newreno::NewReno;
use crate::transport::congestion::testing::{LOSS, ack, near, set, view_at as view};

fn linux() -> Published {
    Published::new(&Params::of_profile(RFC))
}

/// A round with these samples in milliseconds; the last acknowledgement ends it.
fn round(control: &mut Published, cwnd: f64, samples: &[u64]) {
    for (number, &rtt) in samples.iter().enumerate() {
        let una = if number + 1 == samples.len() { control.round + 1 } else { control.round };
        let sees = View { una, next: una + 1000, max: una + 1000, ..view(0, cwnd) };
        control.on_ack(&ack(1, rtt), &sees);
    }
}

#[test]
fn alpha_falls_with_the_delay_and_beta_rises() {
    let params = Params::of_profile(RFC);
    let dm = 0.1;
    assert!(near(params.alpha(0.001, dm), 10.0), "at the low delay");
    assert!(near(params.alpha(0.1, dm), 0.3), "with a full queue");
    // k1 / (k2 + da), times 9.7 / 0.3 above and below: 0.99 / (0.099 + 0.049 * 9.7 / 0.3).
    assert!((params.alpha(0.05, dm) - 0.588_119).abs() < 1e-6, "{}", params.alpha(0.05, dm));
    for (da, beta) in [(0.0, 0.125), (0.01, 0.125), (0.045, 0.3125), (0.08, 0.5), (0.1, 0.5)] {
        assert!(near(params.beta(da, dm), beta), "{da}: {}", params.beta(da, dm));
    }
}

#[test]
fn an_empty_queue_grows_by_ten_and_a_loss_takes_an_eighth() {
    let mut control = linux();
    round(&mut control, 40.0, &[100, 200, 100]);
    round(&mut control, 40.0, &[100, 100, 100]);
    control.above = false;
    round(&mut control, 40.0, &[100, 100, 100]);
    assert_eq!((control.alpha, control.beta), (10.0, 0.125));
    let (cwnd, _) = set(control.on_ack(&ack(1, 100), &view(0, 40.0)));
    assert!(near(cwnd, 40.0 + 10.0 / 40.0));
    assert_eq!(set(control.on_loss(&LOSS, &view(0, 40.0))), (35.0, 35.0));
    let mut newreno = NewReno::new(&reno::Params::of_profile(RFC));
    let (cwnd, _) = set(newreno.on_ack(&ack(1, 100), &view(0, 40.0)));
    assert!(near(cwnd, 40.0 + 1.0 / 40.0));
    assert_eq!(set(newreno.on_loss(&LOSS, &view(0, 40.0))), (20.0, 20.0));
}

/// Twenty times 47.3 ms do not add up to 946 ms in floating point.
#[test]
fn round_trips_that_never_change_are_an_empty_queue() {
    let mut control = linux();
    for _ in 0..10 {
        let samples = Span::from_micros(47_300);
        for number in 0..20 {
            let una = if number == 19 { control.round + 1 } else { control.round };
            let sees = View { una, next: una + 1000, max: una + 1000, ..view(0, 40.0) };
            control.on_ack(&Ack { round_trip: Some(samples), ..ack(1, 1) }, &sees);
        }
        assert_eq!((control.alpha, control.beta), (10.0, 0.125));
    }
}

#[test]
fn a_full_queue_grows_slowly_and_a_loss_takes_half() {
    let mut control = linux();
    round(&mut control, 40.0, &[100, 200]);
    round(&mut control, 40.0, &[200, 200]);
    assert!(near(control.alpha, 0.3) && near(control.beta, 0.5), "{} {}", control.alpha, control.beta);
    let (cwnd, _) = set(control.on_ack(&ack(1, 200), &view(0, 40.0)));
    assert!(near(cwnd, 40.0 + 0.3 / 40.0));
    assert_eq!(set(control.on_loss(&LOSS, &view(0, 40.0))), (20.0, 20.0));
}

#[test]
fn alpha_returns_to_its_maximum_after_five_low_rounds() {
    let mut control = linux();
    round(&mut control, 40.0, &[100, 200]);
    let raised = control.alpha;
    assert!(raised < 1.0);
    for _ in 0..4 {
        round(&mut control, 40.0, &[100, 100]);
        assert_eq!(control.alpha, raised);
    }
    round(&mut control, 40.0, &[100, 100]);
    assert_eq!(control.alpha, 10.0);
    // The delay was never above the limit, so there is no wait.
    let mut fresh = linux();
    round(&mut fresh, 40.0, &[100, 100]);
    assert_eq!(fresh.alpha, 10.0);
}

#[test]
fn small_windows_are_renos() {
    for (profile, threshold) in [(RFC, 15.0), (PAPER, 10.0)] {
        let mut control = Published::new(&Params::of_profile(profile));
        round(&mut control, threshold - 1.0, &[100, 100]);
        assert_eq!((control.alpha, control.beta), (1.0, 0.5), "{profile}");
        round(&mut control, threshold, &[100, 100]);
        assert_eq!((control.alpha, control.beta), (10.0, 0.125), "{profile}");
    }
}

#[test]
fn slow_start_is_renos() {
    let mut control = linux();
    assert_eq!(set(control.on_ack(&ack(1, 100), &View { ssthresh: 100.0, ..view(0, 40.0) })), (41.0, 100.0));
}

#[test]
fn a_timeout_resets_alpha_and_beta() {
    let mut control = linux();
    round(&mut control, 40.0, &[100, 100]);
    assert_eq!(control.beta, 0.125);
    let timeout = Timeout { repeated: 0 };
    assert_eq!(set(control.on_timeout(&timeout, &view(0, 40.0))), (1.0, 35.0), "beta as it was");
    assert_eq!((control.alpha, control.beta), (1.0, 0.5));
}

#[test]
fn an_outage_cuts_the_threshold_once() {
    for profile in [RFC, PAPER] {
        let mut control = Published::new(&Params::of_profile(profile));
        round(&mut control, 40.0, &[100, 100]);
        let mut ssthresh = 100.0;
        for repeated in 0..4 {
            // One segment is outstanding after the first timeout.
            let sees = View { ssthresh, ..view(0, if repeated == 0 { 40.0 } else { 1.0 }) };
            ssthresh = set(control.on_timeout(&Timeout { repeated }, &sees)).1;
        }
        assert_eq!(ssthresh, 35.0, "{profile}");
    }
}

#[test]
fn impossible_parameters_are_named() {
    let linux = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(
        fault(Params { alpha_max: 0.1, ..linux.clone() }),
        "alpha_max: expected at least alpha_min (0.3), found 0.1"
    );
    assert_eq!(
        fault(Params { beta_max: 1.0, ..linux.clone() }),
        "beta_max: expected at least beta_min (0.125) and less than 1, found 1"
    );
    assert_eq!(
        fault(Params { beta_max_delay: 0.05, ..linux.clone() }),
        "beta_max_delay: expected more than beta_min_delay (0.1) and at most 1, found 0.05"
    );
    for broken in [
        Params { alpha_min: 0.0, ..linux.clone() },
        Params { beta_min: 0.0, ..linux.clone() },
        Params { window_threshold: f64::NAN, ..linux.clone() },
        Params { low_delay: 1.0, ..linux.clone() },
        Params { beta_min_delay: -0.1, ..linux },
    ] {
        assert!(broken.check().is_err(), "{broken:?}");
    }
}
