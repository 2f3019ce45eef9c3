use hopyard_engine::{Span, Time};

use super::super::newreno::{self, NewReno};
use super::super::testing::{ACK, view};
use super::*;
use crate::params::{Params as _, RFC};

const LOSS: Loss = Loss { sent: Time::ZERO, transmissions: 1 };

fn cubic(change: impl FnOnce(&mut Params)) -> Published {
    let mut params = Params::of_profile(RFC);
    change(&mut params);
    Published::new(&params)
}

/// A connection that holds `cwnd` segments and is acknowledged one segment after the other, a window in each round
/// trip.
struct Flow<C> {
    control: C,
    view: View,
}

impl<C: CongestionControl> Flow<C> {
    fn new(control: C, cwnd: f64, round_trip: Span) -> Self {
        let mut view = view(cwnd);
        view.srtt = Some(round_trip);
        Self { control, view }
    }

    fn take(&mut self, answer: Answer) {
        if let Answer::Set { cwnd, ssthresh } = answer {
            self.view.cwnd = cwnd;
            self.view.ssthresh = ssthresh;
            self.view.flight = cwnd;
        }
    }

    fn lose(&mut self) {
        let answer = self.control.on_loss(&LOSS, &self.view);
        self.take(answer);
    }

    fn time_out(&mut self) {
        let answer = self.control.on_timeout(&Timeout { repeated: 0 }, &self.view);
        self.take(answer);
    }

    /// Acknowledgements for `duration`; returns the window before each, with the time since the first.
    fn run(&mut self, duration: Span, ack: &Ack) -> Vec<(f64, f64)> {
        let round_trip = self.view.srtt.expect("it is set");
        let from = self.view.now;
        let mut windows = Vec::new();
        while self.view.now.since(from) <= duration {
            windows.push((self.view.now.since(from).seconds(), self.view.cwnd));
            self.view.una = self.view.una.max(1000) + 1000;
            self.view.next = self.view.una + (self.view.cwnd as u64) * 1000;
            let answer = self.control.on_ack(ack, &self.view);
            self.take(answer);
            self.view.now += Span::from_secs_f64(round_trip.seconds() / self.view.cwnd);
        }
        windows
    }
}

fn at(windows: &[(f64, f64)], time: f64) -> f64 {
    windows.iter().find(|(t, _)| *t >= time).expect("the run is long enough").1
}

const ROUND_TRIP: Span = Span::from_millis(100);

#[test]
fn the_window_is_concave_up_to_k_and_convex_after() {
    let mut flow = Flow::new(cubic(|_| {}), 1000.0, ROUND_TRIP);
    flow.lose();
    assert_eq!((flow.view.cwnd, flow.view.ssthresh), (700.0, 700.0));
    // §4.2, closed form: K = cbrt((1000 - 700) / 0.4).
    let k = libm::cbrt(750.0);
    let windows = flow.run(Span::from_secs(16), &ACK);
    for time in [0.5, 2.0, 5.0, k, 11.0, 13.0, 15.0] {
        let expected = 0.4 * (time - k).powi(3) + 1000.0;
        let found = at(&windows, time);
        assert!((found - expected).abs() < 0.01 * expected, "at {time} s: {found}, expected {expected}");
    }
    // The slope decreases until K and increases after it.
    let slope = |time: f64| at(&windows, time + 0.5) - at(&windows, time);
    let slopes: Vec<f64> = (1..=14).map(|second| slope(f64::from(second))).collect();
    assert!(slopes[..7].windows(2).all(|pair| pair[1] < pair[0]), "{slopes:?}");
    assert!(slopes[9..].windows(2).all(|pair| pair[1] > pair[0]), "{slopes:?}");
    // NewReno grows linearly: one segment in each round trip, from half the window.
    let mut reno = Flow::new(NewReno::new(&newreno::Params::of_profile(RFC)), 1000.0, ROUND_TRIP);
    reno.lose();
    let straight = reno.run(Span::from_secs(16), &ACK);
    for second in 1..=15 {
        let expected = 500.0 + 10.0 * f64::from(second);
        assert!((at(&straight, f64::from(second)) - expected).abs() < 1.0, "at {second} s");
    }
}

#[test]
fn with_a_small_window_it_is_as_fast_as_reno() {
    // 10 ms and 20 segments: the cubic function needs 2.5 s to return to the old window, Reno 0.2 s.
    let mut flow = Flow::new(cubic(|_| {}), 20.0, Span::from_millis(10));
    flow.lose();
    let windows = flow.run(Span::from_millis(400), &ACK);
    // §4.3: 3 (1 - 0.7) / (1 + 0.7) of a segment in each round trip, until the window is what it was; then one.
    let alpha = 0.9 / 1.7;
    let back = 6.0 / alpha * 0.01;
    for time in [0.02, 0.05, 0.1, 0.2, 0.3, 0.38] {
        let expected = if time < back { 14.0 + alpha * time / 0.01 } else { 20.0 + (time - back) / 0.01 };
        let found = at(&windows, time);
        assert!((found - expected).abs() < 0.02 * expected, "at {time} s: {found}, expected {expected}");
    }
    // Without the Reno-friendly region it follows the slow cubic function.
    let mut flow = Flow::new(cubic(|params| params.reno_friendly = false), 20.0, Span::from_millis(10));
    flow.lose();
    let windows = flow.run(Span::from_millis(400), &ACK);
    let k = libm::cbrt(6.0 / 0.4);
    let expected = 20.0 - 0.4 * (k - 0.4_f64).powi(3);
    assert!((at(&windows, 0.399) - expected).abs() < 0.1, "{} and {expected}", at(&windows, 0.399));
}

#[test]
fn a_flow_that_loses_earlier_gives_up_more() {
    let mut flow = Flow::new(cubic(|_| {}), 1000.0, ROUND_TRIP);
    flow.lose();
    // Lost at 700 again: the flat part is at 0.85 of it, not at 700 (§4.7).
    flow.lose();
    assert_eq!(flow.control.w_max, Some(700.0 * 0.85));
    assert!((flow.view.cwnd - 490.0).abs() < 1e-9);
    let mut flow = Flow::new(cubic(|params| params.fast_convergence = false), 1000.0, ROUND_TRIP);
    flow.lose();
    flow.lose();
    assert_eq!(flow.control.w_max, Some(700.0));
}

#[test]
fn after_a_timeout_the_flat_part_comes_first() {
    let mut flow = Flow::new(cubic(|_| {}), 1000.0, ROUND_TRIP);
    flow.lose();
    flow.run(Span::from_secs(1), &ACK);
    let window = flow.view.cwnd;
    flow.time_out();
    assert_eq!((flow.view.cwnd, flow.view.ssthresh), (1.0, window * 0.7));
    // A second timeout of the same segment does not change the threshold.
    let again = flow.control.on_timeout(&Timeout { repeated: 1 }, &flow.view);
    assert_eq!(again, Answer::Set { cwnd: 1.0, ssthresh: window * 0.7 });
    // Slow start is the standard's: a segment for each acknowledgement. Then K = 0 (§4.8).
    while flow.view.cwnd < flow.view.ssthresh {
        let before = flow.view.cwnd;
        flow.run(Span::ZERO, &ACK);
        assert_eq!(flow.view.cwnd, before + 1.0);
    }
    let start = flow.view.cwnd;
    let windows = flow.run(Span::from_secs(6), &ACK);
    for time in [1.0, 3.0, 5.0] {
        let reno = start + 0.9 / 1.7 * time / 0.1;
        let expected = reno.max(start + 0.4 * time.powi(3));
        assert!((at(&windows, time) - expected).abs() < 0.01 * expected, "at {time} s: {}", at(&windows, time));
    }
}

#[test]
fn what_outlasts_a_pause_is_the_window_and_the_place_on_the_curve() {
    let half = Span::from_secs(2);
    let mut busy = Flow::new(cubic(|_| {}), 1000.0, ROUND_TRIP);
    busy.lose();
    busy.run(half, &ACK);
    let mut paused = Flow::new(busy.control.clone(), 1000.0, ROUND_TRIP);
    paused.view = busy.view;
    busy.run(half, &ACK);
    // There is nothing to send for a minute; then the first segment is sent.
    paused.view.now += Span::from_secs(60);
    paused.control.on_sent(
        &Sent { seq: paused.view.una, len: 1000, retransmission: false, departs: Time::ZERO, app_limited: false },
        &paused.view,
    );
    paused.run(half, &ACK);
    // Except for the time between the last acknowledgement and the pause.
    assert!((paused.view.cwnd - busy.view.cwnd).abs() < 0.01, "{} and {}", paused.view.cwnd, busy.view.cwnd);
    // The time does not count while the application sends less than the window allows, and the window does not change.
    let before = paused.view.cwnd;
    let elapsed = |flow: &Flow<Published>| flow.control.epoch.expect("a stage").elapsed;
    let counted = elapsed(&paused);
    paused.run(Span::from_secs(30), &Ack { window_limited: false, ..ACK });
    assert_eq!((paused.view.cwnd, elapsed(&paused)), (before, counted));
    paused.run(half, &ACK);
    assert!(elapsed(&paused) <= counted + half + ROUND_TRIP);
}

#[test]
fn the_target_is_at_most_half_as_much_again() {
    let mut flow = Flow::new(cubic(|_| {}), 1000.0, ROUND_TRIP);
    flow.lose();
    flow.run(Span::ZERO, &ACK);
    // Late on the curve the target would be millions of segments, but one acknowledgement adds half a segment.
    flow.view.now += Span::from_secs(300);
    let before = flow.view.cwnd;
    flow.run(Span::ZERO, &ACK);
    assert!((flow.view.cwnd - before - 0.5).abs() < 1e-9, "{}", flow.view.cwnd - before);
}

#[test]
fn growth_counts_acknowledgements_or_segments() {
    let two = Ack { bytes: 2000, counted: 2000, segments: 2, ..ACK };
    let growth = |count_bytes, ack| {
        let change = |params: &mut Params| (params.count_bytes, params.reno_friendly) = (count_bytes, false);
        let mut flow = Flow::new(cubic(change), 1000.0, ROUND_TRIP);
        flow.lose();
        flow.run(Span::ZERO, ack);
        flow.view.cwnd - 700.0
    };
    assert_eq!(growth(false, &two), growth(false, &ACK));
    assert!((growth(true, &two) - 2.0 * growth(false, &ACK)).abs() < 1e-9);
}

#[test]
fn as_ns3_it_grows_by_whole_segments() {
    let mut flow = Flow::new(Published::new(&Params::of_profile(NS3)), 21.0, Span::from_millis(220));
    flow.lose();
    assert_eq!(flow.view.cwnd, 14.0, "0.7 of 21, cut");
    let windows = flow.run(Span::from_secs(3), &ACK);
    assert!(windows.iter().all(|(_, window)| window.fract() == 0.0));
    // The acknowledgement that ends a recovery counts too.
    flow.lose();
    let before = flow.view.cwnd;
    let answer = flow.control.on_ack(&Ack { phase: Phase::Recovered, segments: 20, ..ACK }, &flow.view);
    assert_eq!(answer, Answer::Set { cwnd: before + 1.0, ssthresh: before });
    let answer = flow.control.on_ack(&Ack { phase: Phase::Partial, segments: 20, ..ACK }, &flow.view);
    assert_eq!(answer, Answer::Keep);
}

#[test]
fn impossible_values_are_named() {
    let fault = |change: fn(&mut Params)| {
        let mut params = Params::of_profile(RFC);
        change(&mut params);
        params.check().expect_err("an impossible value").parameter
    };
    assert_eq!(fault(|params| params.c = 0.0), "c");
    assert_eq!(fault(|params| params.beta = 1.0), "beta");
    assert_eq!(fault(|params| params.slow_start_limit = 0), "slow_start_limit");
    assert_eq!(fault(|params| params.hystart_rounds = 0), "hystart_rounds");
    assert_eq!(fault(|params| params.hystart_max_threshold = Span::from_millis(1)), "hystart_max_threshold");
}
