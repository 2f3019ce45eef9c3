//! Veno's backlog computed by hand, and its answers compared with `NewReno`'s and Vegas's.

use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::newreno::NewReno;
use crate::transport::congestion::testing::{LOSS, ack, near, set, view_at as view};
use crate::transport::congestion::vegas::{self, Vegas};

/// Linux's Veno after a round trip of 100 ms and then this one, with a window of 20.
fn veno(round_trip: u64) -> Published {
    let mut control = Published::new(&Params::of_profile(LINUX));
    control.on_ack(&ack(1, 100), &view(0, 20.0));
    control.on_ack(&ack(1, round_trip), &view(100, 20.0));
    control
}

#[test]
fn the_backlog_is_what_the_window_holds_beyond_the_path() {
    // 20 (1 - 100 / 110), 20 (1 - 100 / 125).
    assert!(near(veno(110).backlog, 20.0 / 11.0));
    assert!(near(veno(125).backlog, 4.0));
    assert_eq!(veno(90).backlog, 0.0, "a new minimum");
    let mut paper = Published::new(&Params::of_profile(PAPER));
    paper.on_ack(&ack(1, 100), &view(0, 20.0));
    let srtt = Some(Span::from_millis(125));
    paper.on_ack(&ack(1, 110), &View { srtt, ..view(100, 20.0) });
    assert!(near(paper.backlog, 4.0), "the paper's is of the smoothed round trip");
}

#[test]
fn a_random_loss_costs_a_fifth_and_congestion_half() {
    assert_eq!(set(veno(110).on_loss(&LOSS, &view(200, 20.0))), (16.0, 16.0));
    assert_eq!(set(veno(125).on_loss(&LOSS, &view(200, 20.0))), (10.0, 10.0));
    // The limit itself is congestion: 20 (1 - 100 / 117.65) is just over 3, with a beta of 4 both are random.
    let params = Params { beta: 4.000_001, ..Params::of_profile(LINUX) };
    let mut patient = Published { params, ..veno(125) };
    assert_eq!(set(patient.on_loss(&LOSS, &view(200, 20.0))), (16.0, 16.0));
    let mut newreno = NewReno::new(&reno::Params::of_profile(RFC));
    assert_eq!(set(newreno.on_loss(&LOSS, &view(200, 20.0))), (10.0, 10.0), "whatever the queue");
}

#[test]
fn with_a_queue_every_second_acknowledgement_opens_the_window() {
    let grown = |control: &mut dyn CongestionControl, round_trip| {
        let mut cwnd = 20.0;
        for number in 0..10 {
            if let Answer::Set { cwnd: set, .. } =
                control.on_ack(&ack(1, round_trip), &View { ssthresh: 2.0, ..view(200 + number, cwnd) })
            {
                cwnd = set;
            }
        }
        cwnd
    };
    let mut newreno = NewReno::new(&reno::Params::of_profile(RFC));
    let all = grown(&mut newreno, 125) - 20.0;
    assert!(near(grown(&mut veno(100), 110) - 20.0, all));
    let half = grown(&mut veno(100), 150) - 20.0;
    assert!((half / all - 0.5).abs() < 0.01, "{half} of {all}");
    // Slow start is that of Reno, with or without a queue.
    let mut control = veno(150);
    assert_eq!(set(control.on_ack(&ack(1, 150), &View { ssthresh: 100.0, ..view(300, 20.0) })), (21.0, 100.0));
}

#[test]
fn vegas_holds_back_where_veno_still_grows() {
    // One segment each 10 ms, ten round trips of 125 ms after one of 100: eight segments queued of 40.
    let mut control = veno(125);
    let mut other = Vegas::new(&vegas::Params::of_profile(RFC));
    let (mut mine, mut theirs) = (40.0, 40.0);
    let mut una = 1;
    for number in 0..200 {
        let round_trip = if number < 5 { 100 } else { 125 };
        let sees = |cwnd: f64| View {
            una,
            next: una + cwnd as u64 * 1000,
            max: una + cwnd as u64 * 1000,
            ssthresh: 2.0,
            ..view(300 + number * 3, cwnd)
        };
        let (before, after) = (sees(mine), sees(theirs));
        if let Answer::Set { cwnd, .. } = control.on_ack(&ack(1, round_trip), &before) {
            mine = cwnd;
        }
        if let Answer::Set { cwnd, .. } = other.on_ack(&ack(1, round_trip), &after) {
            theirs = cwnd;
        }
        una += 1000;
    }
    assert!(mine > 41.0 && theirs < 40.0, "Published {mine}, Vegas {theirs}");
}

#[test]
fn timeouts_halve_but_for_linux() {
    let timeout = Timeout { repeated: 0 };
    assert_eq!(set(veno(110).on_timeout(&timeout, &view(2000, 20.0))), (1.0, 16.0));
    assert_eq!(set(veno(125).on_timeout(&timeout, &view(2000, 20.0))), (1.0, 10.0));
    let mut paper = Published::new(&Params::of_profile(PAPER));
    paper.on_ack(&ack(1, 100), &view(0, 20.0));
    assert_eq!(set(paper.on_timeout(&timeout, &view(2000, 20.0))), (1.0, 10.0));
    // RFC 5681 §3.1: another timeout of the same segment does not change the threshold.
    let again = View { ssthresh: 10.0, ..view(4000, 1.0) };
    for mut control in [paper, veno(110), veno(125)] {
        assert_eq!(set(control.on_timeout(&Timeout { repeated: 1 }, &again)), (1.0, 10.0));
    }
}

#[test]
fn the_paper_forgets_the_shortest_round_trip_with_each_loss() {
    for (profile, forgets) in [(PAPER, true), (LINUX, false)] {
        let mut control = Published::new(&Params::of_profile(profile));
        control.on_ack(&ack(1, 100), &view(0, 20.0));
        control.on_loss(&LOSS, &view(200, 20.0));
        let srtt = Some(Span::from_millis(200));
        control.on_ack(&ack(1, 200), &View { srtt, ..view(400, 20.0) });
        assert_eq!(control.backlog, if forgets { 0.0 } else { 10.0 }, "{profile}");
    }
}

#[test]
fn linux_forgets_the_shortest_round_trip_when_the_network_is_empty() {
    let sent = |seq, retransmission| Sent { seq, len: 1000, retransmission, departs: Time::ZERO, app_limited: false };
    let backlog = |profile, change: &dyn Fn(&mut Published)| {
        let mut control = Published::new(&Params { round_trip: RoundTrip::Last, ..Params::of_profile(profile) });
        control.on_ack(&ack(1, 100), &view(0, 20.0));
        change(&mut control);
        control.on_ack(&ack(1, 200), &view(400, 20.0));
        control.backlog
    };
    // The first sequence number not acknowledged is 1.
    let pause = |control: &mut Published| control.on_sent(&sent(1, false), &view(300, 20.0));
    let more = |control: &mut Published| control.on_sent(&sent(1001, false), &view(300, 20.0));
    let again = |control: &mut Published| control.on_sent(&sent(1, true), &view(300, 20.0));
    let timeout = |control: &mut Published| {
        control.on_timeout(&Timeout { repeated: 0 }, &view(300, 20.0));
    };
    for (what, linux, paper) in [
        (&pause as &dyn Fn(&mut Published), 0.0, 10.0),
        (&timeout, 0.0, 0.0),
        (&more, 10.0, 10.0),
        (&again, 10.0, 10.0),
    ] {
        assert_eq!((backlog(LINUX, what), backlog(PAPER, what)), (linux, paper));
    }
}

#[test]
fn impossible_parameters_are_named() {
    let paper = Params::of_profile(PAPER);
    let fault = |params: Params| params.check().expect_err("a fault").to_string();
    assert_eq!(fault(Params { beta: -1.0, ..paper.clone() }), "beta: expected a number of segments, found -1");
    assert_eq!(
        fault(Params { random_loss_keeps: 0.4, ..paper }),
        "random_loss_keeps: expected at least a half and at most 1, found 0.4"
    );
}
