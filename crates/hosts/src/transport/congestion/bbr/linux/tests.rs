use hopyard_engine::Streams;

use super::*;
use crate::params::{LINUX, Params as _};
use crate::transport::congestion::testing::{ACK, LOSS, at, set, view};

/// Segments of 1000 bytes, 10 ms without a queue.
fn bbr() -> (Linux, View) {
    let mut control = Linux::new(Params::of_profile(LINUX).linux());
    control.seed(Streams::new(1, 0).stream("tcp"));
    let view = View { srtt: Some(Span::from_millis(10)), ..view(10.0) };
    control.on_opened(&view);
    (control, view)
}

/// An acknowledgement of a segment: `delivered` segments in all, `sample` of them in so many microseconds.
fn ack(control: &mut Linux, view: &View, delivered: u64, sample: u64, micros: u64) -> (f64, f64) {
    let sample = RateSample {
        delivered: 1000 * sample,
        interval: Some(Span::from_micros(micros)),
        app_limited: false,
        prior_delivered: 1000 * (delivered - sample),
        newly_delivered: 1000,
        newly_lost: 0,
        total_delivered: 1000 * delivered,
        prior_pipe: 10.0,
        ..RateSample::default()
    };
    control.on_arrival(&Arrived { round_trip: Some(Span::from_millis(10)) }, view);
    set(control.on_ack(&Ack { rate: Some(sample), ..ACK }, view))
}

#[test]
fn the_three_candidates_for_the_largest_value() {
    let mut filter = WindowedMax::over(10);
    let mut maxima = Vec::new();
    for (round, value) in [(1, 90), (2, 50), (4, 60), (7, 40), (11, 30), (12, 30), (15, 20), (18, 10)] {
        filter.update(round, value);
        maxima.push(filter.max());
    }
    // The 60 of round 4 is forgotten after round 14, the 40 of round 7 stays.
    assert_eq!(maxima, [90, 90, 90, 90, 90, 60, 40, 30]);
    filter.update(40, 5);
    assert_eq!(filter.max(), 5, "nothing is left in the window");
}

#[test]
fn bandwidth_and_rate_are_whole_numbers() {
    let (mut control, view) = bbr();
    // 10 segments in 10 ms, times 739/256, less a hundredth: 1,048 at 2^24, of 1,048.576; 2,858,156 of 2,857,851.
    assert_eq!(control.rate, control.paced((10 << PLACES) / 10_000, 739, &view));
    assert_eq!((10_u64 << PLACES) / 10_000, 16_777);
    ack(&mut control, &view, 3, 3, 7_000);
    assert_eq!(control.bandwidth.max(), (3 << PLACES) / 7_000);
    assert_eq!(control.paced(7_190, 256, &view), (7_190 * 1000 * 990_000) >> PLACES);
}

#[test]
fn a_recovery_begins_with_packet_conservation_and_a_repair_without_one_does_not() {
    for (condition, cwnd) in [(Condition::Recovery, 5.0), (Condition::Reduced, 11.0)] {
        let (mut control, mut view) = bbr();
        view.pipe = 4.0;
        assert_eq!(control.on_loss(&LOSS, &view), Answer::Keep);
        control.on_condition(condition);
        assert_eq!(ack(&mut control, &view, 1, 1, 10_000).0, cwnd, "{condition:?}");
        // Afterwards the window is what it was.
        control.on_recovered(&view);
        control.on_condition(Condition::Open);
        let after = View { cwnd, ..view };
        assert!(ack(&mut control, &after, 2, 2, 10_000).0 >= 11.0, "{condition:?}");
    }
}

#[test]
fn only_a_shorter_round_trip_puts_the_probe_off() {
    for (micros, mode) in [(10_000, Mode::ProbeRtt), (9_999, Mode::Startup)] {
        let (mut control, mut view) = bbr();
        view.now = at(9_000);
        control.last_rtt = Some(Span::from_micros(micros));
        let mut cwnd = 10;
        let delivery = Delivery {
            bandwidth: Some(1),
            app_limited: false,
            prior: 0,
            acked: 1,
            lost: 0,
            prior_pipe: 10,
            round_trip: control.last_rtt,
        };
        control.update_min_rtt(&delivery, &mut cwnd, &view);
        view.now = at(10_100);
        control.update_min_rtt(&delivery, &mut cwnd, &view);
        assert_eq!(control.mode, mode, "{micros}");
    }
}

#[test]
fn an_undone_reduction_forgets_that_the_pipe_seemed_full() {
    let (mut control, view) = bbr();
    (control.full.bandwidth, control.full.rounds) = (100, 2);
    let before = Before { cwnd: 20.0, ssthresh: 7.0 };
    assert_eq!(set(control.on_undo(&before, &view)), (10.0, 1.0), "the window follows with the end of the repair");
    assert_eq!((control.full.bandwidth, control.full.rounds), (0, 0));
}
