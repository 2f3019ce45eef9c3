//! Compound's two windows computed by hand, and compared with Reno's.

use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::sack::{self, Sack};
use crate::transport::congestion::testing::{LOSS, ack, near, set, view_at};
use hopyard_engine::Span;

fn compound() -> Compound {
    Compound::new(&Params::of_profile(RFC))
}

/// A window of round trips of this length. The shortest one of the connection is 100 ms.
fn round(control: &mut Compound, millis: u64, cwnd: f64) {
    let (min, mean) = (Span::from_millis(100), Span::from_millis(millis));
    control.trips.base = min;
    control.end_round(Round { min, mean, count: 10 }, cwnd);
}

#[test]
fn the_delay_window_grows_with_a_power_of_the_window() {
    for (cwnd, growth) in [(4.0, 0.0), (16.0, 0.0), (81.0, 2.375), (256.0, 7.0), (10_000.0, 124.0)] {
        let mut control = compound();
        round(&mut control, 100, cwnd);
        assert!(near(control.delay, growth), "{cwnd}: {}", control.delay);
    }
}

#[test]
fn a_queue_takes_the_delay_window_back() {
    let mut control = Compound { delay: 100.0, ..compound() };
    // 290 (1 - 100 / 111.5) = 29.9 segments are queued, then 50, then 75 of 300.
    let mean = Span::from_micros(111_500);
    control.trips.base = Span::from_millis(100);
    control.end_round(Round { min: mean, mean, count: 10 }, 290.0);
    assert!(control.delay > 100.0);
    control.delay = 100.0;
    round(&mut control, 120, 300.0);
    assert!(near(control.delay, 50.0));
    round(&mut control, 133, 300.0);
    assert_eq!(control.delay, 0.0);
}

#[test]
fn a_loss_halves_the_sum_and_its_parts() {
    let mut control = Compound { delay: 60.0, ..compound() };
    assert_eq!(set(control.on_loss(&LOSS, &view_at(0, 100.0))), (50.0, 50.0));
    assert_eq!(control.delay, 30.0, "Reno's window is 20");
    let params = Params { beta: 0.2, ..Params::of_profile(RFC) };
    let mut control = Compound { delay: 60.0, ..Compound::new(&params) };
    assert_eq!(set(control.on_loss(&LOSS, &view_at(0, 100.0))), (80.0, 80.0));
    assert_eq!(control.delay, 60.0);
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 0 }, &view_at(0, 80.0))), (1.0, 40.0));
    assert_eq!(control.delay, 0.0);
}

#[test]
fn gamma_follows_renos_queue() {
    let mut control = Compound { delay: 60.0, ..compound() };
    // Of Reno's 40 segments a quarter waits: 10. Then 0.5 · 30 + 0.5 · 0.75 · 10.
    control.trips.base = Span::from_millis(90);
    let mean = Span::from_millis(120);
    control.end_round(Round { min: mean, mean, count: 10 }, 100.0);
    control.delay = 60.0;
    control.on_loss(&LOSS, &view_at(0, 100.0));
    assert!(near(control.gamma, 18.75), "{}", control.gamma);
    // A loss before another round trip says nothing new; the smallest one is 5.
    control.on_loss(&LOSS, &view_at(0, 100.0));
    assert!(near(control.gamma, 18.75));
    for _ in 0..9 {
        control.reno_queue = Some(0.0);
        control.on_loss(&LOSS, &view_at(0, 100.0));
    }
    assert_eq!(control.gamma, 5.0);
    let params = Params { tune_gamma: false, ..Params::of_profile(RFC) };
    let mut fixed = Compound { reno_queue: Some(0.0), ..Compound::new(&params) };
    fixed.on_loss(&LOSS, &view_at(0, 100.0));
    assert_eq!(fixed.gamma, 30.0);
}

#[test]
fn reno_grows_by_one_where_compound_grows_by_eight() {
    let mut control = compound();
    let mut reno = Sack::new(&sack::Params::of_profile(RFC));
    let mut windows = [256.0, 256.0];
    let mut una = 1;
    // One window of acknowledgements ends the first round; another one ends the second.
    for number in 0..520_u64 {
        una += 1000;
        let seen = |cwnd: f64| View { una, next: una + 256_000, ssthresh: 2.0, ..view_at(number, cwnd) };
        windows[0] = set(control.on_ack(&ack(1, 100), &seen(windows[0]))).0;
        windows[1] = set(reno.on_ack(&ack(1, 100), &seen(windows[1]))).0;
    }
    // Reno's growth of two segments, and two or three times 0.125 · 256^0.75 - 1 = 7.
    let more = windows[0] - windows[1];
    assert!((20.0..23.0).contains(&more), "{windows:?}");
    assert!((windows[0] - control.delay - windows[1]).abs() < 0.2, "{windows:?}, {}", control.delay);
}

#[test]
fn slow_start_is_renos() {
    let mut control = compound();
    let seen = View { una: 5000, next: 9000, ssthresh: 1000.0, ..view_at(0, 100.0) };
    assert_eq!(set(control.on_ack(&ack(1, 100), &seen)), (101.0, 1000.0));
    assert_eq!(control.delay, 0.0);
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(fault(Params { alpha: 0.0, ..rfc.clone() }), "alpha: expected more than 0, found 0");
    assert_eq!(
        fault(Params { exponent: 1.0, ..rfc.clone() }),
        "exponent: expected more than 0 and less than 1, found 1"
    );
    assert_eq!(
        fault(Params { gamma_high: 4.0, ..rfc.clone() }),
        "gamma_high: expected at least gamma_low (5), found 4"
    );
    assert_eq!(fault(Params { gamma_weight: 0.0, ..rfc }), "gamma_weight: expected more than 0 and at most 1, found 0");
}
