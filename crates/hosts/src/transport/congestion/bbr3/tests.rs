//! BBR version 3's bounds computed by hand, and the undoing of spurious losses.

use super::machine::{Cycle, Undo};
use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::LostSegment;
use crate::transport::congestion::testing::{ACK, LOSS, at, near, set, view};
use hopyard_engine::Span;

/// After Startup: 200 segments per second and 100 ms, a window of 40.
fn cruising() -> Bbr3 {
    let mut control = Bbr3::new(&Params::of_profile(RFC));
    control.state = State::Cruise;
    control.model.full.reached = true;
    control.model.full.now = true;
    control.on_sent(
        &Sent { seq: 1, len: 1000, retransmission: false, departs: Time::ZERO, app_limited: false },
        &view(40.0),
    );
    let mut path = (control, 0);
    for _ in 0..2 {
        arrive(&mut path, 100, |_| {});
    }
    path.0
}

/// An acknowledgement of one segment after so many milliseconds, in a round of its own.
fn arrive(path: &mut (Bbr3, u64), millis: u64, change: impl FnOnce(&mut RateSample)) -> f64 {
    let prior_delivered = path.1;
    path.1 += 1000;
    let mut sample = RateSample {
        delivered: 20_000,
        interval: Some(Span::from_millis(100)),
        prior_delivered,
        newly_delivered: 1000,
        total_delivered: path.1,
        prior_pipe: 20.0,
        round_trip: Some(Span::from_millis(100)),
        sent_pipe: 20.0,
        ..RateSample::default()
    };
    change(&mut sample);
    let seen = View { now: at(millis), lost: sample.newly_lost as f64 / 1000.0, pipe: 20.0, ..view(40.0) };
    set(path.0.on_ack(&Ack { rate: Some(sample), ..ACK }, &seen)).0
}

/// One of 20 segments was lost.
const fn one_lost(sample: &mut RateSample) {
    sample.newly_lost = 1000;
    sample.lost_segment = Some(LostSegment { sent_pipe: 20.0, lost: 1.0, app_limited: false });
}

#[test]
fn a_round_with_losses_lowers_the_short_term_bounds() {
    let mut path = (cruising(), 2000);
    assert!(near(path.0.model.max_bw(), 200.0));
    arrive(&mut path, 200, |sample| {
        one_lost(sample);
        sample.delivered = 12_000;
    });
    assert!(path.0.model.bw_shortterm.is_infinite(), "the round is not over");
    let cwnd = arrive(&mut path, 300, |sample| sample.delivered = 12_000);
    // 0.7 of 200 segments per second is more than the 120 of this round, as 0.7 of the window is more than 12.
    assert!(near(path.0.model.bw_shortterm, 200.0), "the last round had 200: {}", path.0.model.bw_shortterm);
    assert!(cwnd <= 40.0);
    for millis in [400, 500, 600] {
        arrive(&mut path, millis, |sample| {
            one_lost(sample);
            sample.delivered = 12_000;
        });
    }
    arrive(&mut path, 700, |sample| sample.delivered = 12_000);
    assert!(path.0.model.bw_shortterm < 141.0 && path.0.model.bw_shortterm >= 120.0, "{}", path.0.model.bw_shortterm);
    assert!(path.0.model.inflight_shortterm < 28.1, "{}", path.0.model.inflight_shortterm);
    assert!(near(path.0.model.bw, path.0.model.bw_shortterm));
    assert!(near(path.0.model.max_bw(), 200.0), "the long-term model remains");
}

#[test]
fn too_many_losses_of_a_probe_set_the_long_term_bound() {
    let mut path = (cruising(), 2000);
    path.0.state = State::Up;
    path.0.cycle = Cycle::probing();
    // Two of 50 segments: 49 before it and one lost, 0.02 · 49 - 1 = -0.02 of a segment more.
    arrive(&mut path, 200, |sample| {
        sample.newly_lost = 2000;
        sample.lost_segment = Some(LostSegment { sent_pipe: 50.0, lost: 2.0, app_limited: false });
    });
    // There is no queue: DOWN is over at once.
    assert_eq!(path.0.state, State::Cruise);
    let bound = path.0.model.inflight_longterm;
    assert!(near(bound, 49.0 - 0.02 / 0.98), "{bound}");
    // One of 50 is tolerated.
    let mut path = (cruising(), 2000);
    path.0.state = State::Up;
    path.0.cycle = Cycle::probing();
    arrive(&mut path, 200, |sample| {
        sample.newly_lost = 1000;
        sample.lost_segment = Some(LostSegment { sent_pipe: 50.0, lost: 1.0, app_limited: false });
    });
    assert_eq!(path.0.state, State::Up);
    // Never less than 0.7 of the data in flight that the path holds.
    let mut path = (cruising(), 2000);
    path.0.state = State::Up;
    path.0.cycle = Cycle::probing();
    arrive(&mut path, 200, |sample| {
        sample.newly_lost = 3000;
        sample.lost_segment = Some(LostSegment { sent_pipe: 5.0, lost: 3.0, app_limited: false });
    });
    assert!(near(path.0.model.inflight_longterm, 14.0), "{}", path.0.model.inflight_longterm);
}

/// "Handling Spurious Fast Recovery", "Handling Spurious RTO Recovery".
#[test]
fn spurious_losses_are_undone() {
    for timeout in [false, true] {
        let mut path = (cruising(), 2000);
        path.0.state = State::Up;
        path.0.cycle = Cycle::probing();
        let seen = View { now: at(200), ..view(40.0) };
        if timeout {
            assert_eq!(set(path.0.on_timeout(&Timeout { repeated: 0 }, &seen)).0, 1.0);
        } else {
            path.0.on_loss(&LOSS, &seen);
        }
        arrive(&mut path, 300, |sample| {
            sample.newly_lost = 3000;
            sample.lost_segment = Some(LostSegment { sent_pipe: 20.0, lost: 3.0, app_limited: false });
        });
        assert!(path.0.state == State::Down && path.0.model.inflight_longterm.is_finite());
        let before = Before { cwnd: 40.0, ssthresh: 30.0 };
        let cwnd = set(path.0.on_undo(&before, &View { cwnd: 4.0, ..seen })).0;
        assert_eq!((path.0.state, cwnd), (State::Refill, 40.0), "{timeout}");
        assert!(path.0.model.inflight_longterm.is_infinite() && path.0.model.bw_shortterm.is_infinite());
    }
    // Startup that losses have ended begins again.
    let mut control = cruising();
    control.save_state();
    control.undo = Undo::of_startup();
    control.state = State::Drain;
    control.on_undo(&Before { cwnd: 40.0, ssthresh: 30.0 }, &view(40.0));
    assert!(control.state == State::Startup && !control.model.full.reached);
}

#[test]
fn impossible_parameters_are_named() {
    let draft = Params::of_profile(RFC);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(fault(Params { cwnd_gain: 0.5, ..draft.clone() }), "cwnd_gain: expected at least 1, found 0.5");
    assert_eq!(fault(Params { beta: 0.0, ..draft.clone() }), "beta: expected more than 0 and at most 1, found 0");
    assert_eq!(fault(Params { headroom: 1.0, ..draft.clone() }), "headroom: expected 0 to less than 1, found 1");
    assert_eq!(fault(Params { loss_threshold: 1.0, ..draft.clone() }), "loss_threshold: expected less than 1, found 1");
    assert_eq!(
        fault(Params { min_rtt_window: Span::from_secs(1), ..draft }),
        "min_rtt_window: expected at least probe_rtt_interval (5 s), found 1 s"
    );
}

#[test]
fn a_mark_begins_no_recovery_that_lasts() {
    let mut path = (cruising(), 2000);
    path.0.on_loss(&LOSS, &view(40.0));
    assert!(path.0.recovery.is_some());
    arrive(&mut path, 300, |_| {});
    assert_eq!(path.0.recovery, None, "the sender repairs nothing");
}
