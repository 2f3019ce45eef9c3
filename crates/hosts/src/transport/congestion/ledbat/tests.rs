//! LEDBAT's delays and windows computed by hand, and compared with Vegas's and Reno's.

use super::*;
use crate::params::Params as _;
use crate::transport::congestion::sack::{self, Sack};
use crate::transport::congestion::testing::{LOSS, ack, at, near, set, view};

/// An acknowledgement of a segment that took so long in one way.
fn took(millis: u64) -> Ack {
    Ack { one_way: Some(Span::from_millis(millis)), ..ack(1, 500) }
}

/// A window of 20 at this time.
fn seen(millis: u64) -> View {
    View { now: at(millis), ..view(20.0) }
}

/// This acknowledgement several times.
fn repeat(control: &mut Ledbat, times: u32, ack: &Ack, view: &View) {
    for _ in 0..times {
        control.on_ack(ack, view);
    }
}

/// After a delay of 50 ms, and then this one for a whole filter.
fn settled(millis: u64) -> Ledbat {
    let mut control = Ledbat::new(&Params::of_profile(RFC));
    control.on_ack(&took(50), &seen(0));
    repeat(&mut control, 4, &took(millis), &seen(100));
    control
}

#[test]
fn growth_is_the_distance_from_the_target() {
    // 20 segments: 1/20 for each acknowledged one without a queue.
    for (delay, growth) in [(50, 1.0), (100, 0.5), (150, 0.0), (200, -0.5), (250, -1.0), (350, -2.0)] {
        let cwnd = set(settled(delay).on_ack(&took(delay), &seen(200))).0;
        assert!(near(cwnd, 20.0 + growth / 20.0), "{delay} ms: {cwnd}");
    }
    let params = Params { gain: 0.5, target: Span::from_millis(25), ..Params::of_profile(RFC) };
    let mut control = Ledbat { params, ..settled(100) };
    assert!(near(set(control.on_ack(&took(100), &seen(200))).0, 20.0 - 0.5 / 20.0));
}

#[test]
fn the_round_trip_counts_only_without_timestamps() {
    // The acknowledgements of `took` have round trips of 500 ms.
    assert_eq!(settled(60).queueing(), Some(Span::from_millis(10)));
    let mut control = Ledbat::new(&Params::of_profile(RFC));
    control.on_ack(&ack(1, 100), &seen(0));
    repeat(&mut control, 4, &ack(1, 130), &seen(100));
    assert_eq!(control.queueing(), Some(Span::from_millis(30)));
}

#[test]
fn one_late_segment_is_noise_and_ten_minutes_are_remembered() {
    let mut control = settled(60);
    repeat(&mut control, 3, &took(900), &seen(200));
    assert_eq!(control.queueing(), Some(Span::from_millis(10)));
    control.on_ack(&took(900), &seen(200));
    assert_eq!(control.queueing(), Some(Span::from_millis(850)));
    // The base of the first minute leaves with the eleventh.
    for minute in 1..=10 {
        control.on_ack(&took(100), &seen(60_000 * minute));
        let queueing = if minute < 10 { 50 } else { 0 };
        repeat(&mut control, 3, &took(100), &seen(60_000 * minute + 1));
        assert_eq!(control.queueing(), Some(Span::from_millis(queueing)), "{minute}");
    }
}

#[test]
fn a_short_memory_gives_no_negative_queue() {
    let params = Params { base_history: 1, ..Params::of_profile(RFC) };
    let mut control = Ledbat { params, ..settled(50) };
    // The first delay of a minute is the only base, and the last ones are shorter.
    let cwnd = set(control.on_ack(&took(90), &seen(60_000))).0;
    assert_eq!(control.queueing(), Some(Span::ZERO));
    assert!(near(cwnd, 20.0 + 1.0 / 20.0), "{cwnd}");
}

#[test]
fn the_window_stays_near_the_outstanding_data_and_above_its_minimum() {
    let mut control = settled(50);
    let idle = View { flight: 3.0, ..seen(200) };
    assert_eq!(set(control.on_ack(&took(50), &idle)).0, 20.0, "it does not grow");
    let mut control = settled(900);
    let small = View { cwnd: 2.05, flight: 2.0, ..seen(200) };
    assert_eq!(set(control.on_ack(&took(900), &small)).0, 2.0);
    // After a timeout the window is below the minimum.
    let (cwnd, ssthresh) = set(control.on_timeout(&Timeout { repeated: 0 }, &seen(300)));
    assert_eq!((cwnd, ssthresh), (1.0, 10.0));
    assert_eq!(set(control.on_timeout(&Timeout { repeated: 1 }, &View { ssthresh, ..seen(900) })).1, 10.0);
}

#[test]
fn a_loss_halves_the_window() {
    assert_eq!(set(settled(50).on_loss(&LOSS, &seen(200))), (10.0, 10.0));
    let small = View { cwnd: 3.0, ..seen(200) };
    assert_eq!(set(settled(50).on_loss(&LOSS, &small)), (2.0, 2.0));
}

#[test]
fn ns3_starts_slowly() {
    let mut control = Ledbat::new(&Params::of_profile(NS3));
    let start = View { ssthresh: 100.0, ..seen(0) };
    assert_eq!(set(control.on_ack(&took(50), &start)).0, 21.0);
    control.on_loss(&LOSS, &start);
    assert!(set(control.on_ack(&took(50), &start)).0 < 20.1);
    let mut control = Ledbat::new(&Params::of_profile(RFC));
    assert!(set(control.on_ack(&took(50), &start)).0 < 20.1);
}

#[test]
fn reno_grows_in_the_queue_that_ledbat_leaves() {
    let mut reno = Sack::new(&sack::Params::of_profile(RFC));
    let mut control = settled(250);
    let busy = View { ssthresh: 2.0, ..seen(200) };
    assert!(set(control.on_ack(&took(250), &busy)).0 < 20.0);
    assert!(set(reno.on_ack(&took(250), &busy)).0 > 20.0);
}

#[test]
fn impossible_parameters_are_named() {
    let rfc = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(
        fault(Params { target: Span::from_millis(101), ..rfc.clone() }),
        "target: expected more than 0 s and at most 100 ms (RFC 6817 §2.5), found 101 ms"
    );
    assert_eq!(
        fault(Params { gain: 1.5, ..rfc.clone() }),
        "gain: expected more than 0 and at most 1 (RFC 6817 §2.5), found 1.5"
    );
    assert_eq!(fault(Params { current_filter: 0, ..rfc.clone() }), "current_filter: expected 1 to 10000, found 0");
    assert_eq!(
        fault(Params { base_history: u32::MAX, ..rfc.clone() }),
        "base_history: expected 1 to 10000, found 4294967295"
    );
    assert_eq!(fault(Params { min_window: 0.5, ..rfc }), "min_window: expected at least 1 segments, found 0.5");
}
