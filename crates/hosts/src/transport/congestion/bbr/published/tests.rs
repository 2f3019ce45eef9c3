use hopyard_engine::{Span, Streams, Time};

use super::super::params::NS3;
use super::*;
use crate::params::{Params as _, RFC};
use crate::transport::congestion::testing::{ACK, view};

const SEGMENT: f64 = 1000.0;

/// A path of 100 segments per second and 200 ms as a fluid model. Segments are delivered one after the other. The
/// pacing rate and the window determine the segments in flight.
struct Fluid {
    control: Published,
    view: View,
    delivered: u64,
    /// The increase of the path's delay, in seconds per second.
    drift: f64,
}

impl Fluid {
    const RATE: f64 = 100.0;
    const DELAY: f64 = 0.2;

    fn new(change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Params::of_profile(RFC);
        change(&mut params);
        let mut control = Published::new(&params);
        control.seed(Streams::new(1, 0).stream("tcp"));
        let mut view = view(10.0);
        (view.srtt, view.ssthresh) = (None, 1e6);
        control.on_sent(
            &Sent { seq: 1, len: 1000, retransmission: false, departs: Time::ZERO, app_limited: false },
            &view,
        );
        Self { control, view, delivered: 0, drift: 0.0 }
    }

    fn take(&mut self, answer: Answer) {
        if let Answer::Set { cwnd, ssthresh } = answer {
            (self.view.cwnd, self.view.ssthresh) = (cwnd, ssthresh);
        }
    }

    /// One segment is delivered.
    fn step(&mut self, change: &impl Fn(&mut RateSample)) {
        let delay = Self::DELAY + self.drift * self.view.now.seconds();
        let rate = Self::RATE.min(self.view.pipe / delay);
        let round_trip = Span::from_secs_f64(delay.max(self.view.pipe / Self::RATE));
        let prior_pipe = self.view.pipe;
        self.view.now += Span::from_secs_f64(1.0 / rate);
        self.delivered += 1000;
        self.view.una += 1000;
        self.view.pipe -= 1.0;
        self.view.max = self.view.una + self.view.pipe as u64 * 1000;
        self.view.srtt = Some(round_trip);
        let mut sample = RateSample {
            delivered: (rate * round_trip.seconds() * SEGMENT) as u64,
            interval: Some(round_trip),
            app_limited: false,
            prior_delivered: self.delivered.saturating_sub((prior_pipe * SEGMENT) as u64),
            newly_delivered: 1000,
            newly_lost: 0,
            total_delivered: self.delivered,
            prior_pipe,
            round_trip: Some(round_trip),
            ..RateSample::default()
        };
        change(&mut sample);
        let answer = self.control.on_ack(&Ack { rate: Some(sample), ..ACK }, &self.view);
        self.take(answer);
        let room = (self.view.cwnd - self.view.pipe).max(0.0);
        self.view.pipe = (self.view.pipe + room.min(self.control.rate / SEGMENT / rate)).max(1.0);
    }

    /// For the duration of a round trip without a queue.
    fn round(&mut self, change: impl Fn(&mut RateSample)) {
        let end = self.view.now + Span::from_secs_f64(Self::DELAY);
        while self.view.now < end {
            self.step(&change);
        }
    }

    fn rounds(&mut self, count: usize) {
        (0..count).for_each(|_| self.round(|_| {}));
    }

    fn until(&mut self, mode: Mode) {
        for _ in 0..200 {
            if self.control.mode() == mode {
                return;
            }
            self.rounds(1);
        }
        panic!("{mode:?} was not reached, but {:?}", self.control.mode());
    }
}

#[test]
fn startup_finds_the_bandwidth_and_drain_takes_its_queue_back() {
    let mut path = Fluid::new(|_| {});
    assert_eq!(path.control.mode(), Mode::Startup);
    path.until(Mode::Drain);
    assert!(path.control.full.reached);
    path.until(Mode::ProbeBandwidth);
    path.rounds(3);
    let rate = path.control.bandwidth().expect("an estimate") / SEGMENT;
    assert!((rate - Fluid::RATE).abs() < 1.0, "{rate} segments a second");
    // 2 x 20 segments and three quanta of one, even.
    let cwnd = path.view.cwnd;
    assert!((44.0..=48.0).contains(&cwnd), "{cwnd}");
}

#[test]
fn the_cycle_probes_once_in_eight() {
    let mut path = Fluid::new(|_| {});
    path.until(Mode::ProbeBandwidth);
    let mut gains = Vec::new();
    for _ in 0..24 {
        path.rounds(1);
        gains.push(path.control.pacing_gain);
    }
    let probes = gains.iter().filter(|gain| **gain > 1.0).count();
    assert!((2..=4).contains(&probes), "{gains:?}");
    assert!(gains.windows(2).all(|pair| pair[0] <= 1.0 || pair[1] <= 1.0 || pair[1] == 1.25), "{gains:?}");
    // The margin below the estimate.
    path.control.pacing_gain = 1.0;
    path.control.set_pacing_rate(1.0, &path.view);
    assert!((path.control.rate / path.control.estimate() - 0.99).abs() < 1e-9);
    assert_eq!(path.control.pace().gap, Span::from_secs_f64(SEGMENT / path.control.rate));
}

#[test]
fn a_millisecond_of_the_rate_leaves_together() {
    let quantum = |bits_per_second: f64, profile: &str| {
        let mut control = Published::new(&Params::of_profile(profile));
        let view = Fluid::new(|_| {}).view;
        control.pace_at(bits_per_second / 8.0, &view);
        control.pace().quantum
    };
    // Segments of 1000 bytes: 12.2 of them in 1/1024 s of 100 Mb/s.
    let expected = [(1.1e6, 1), (1.3e6, 2), (10e6, 2), (100e6, 12), (100e9, 127)];
    for (rate, together) in expected {
        assert_eq!((quantum(rate, RFC), quantum(rate, NS3)), (together, 1), "{rate}");
    }
}

#[test]
fn the_first_phase_is_random_but_never_the_one_that_drains() {
    let mut seen = [0; 8];
    for seed in 0..200 {
        let mut control = Published::new(&Params::of_profile(RFC));
        control.seed(Streams::new(seed, 0).stream("tcp"));
        control.enter_probe_bandwidth(&view(10.0));
        seen[control.cycle.phase()] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(phase, count)| phase == 1 || *count > 10), "{seen:?}");
}

#[test]
fn every_ten_seconds_the_window_falls_to_four() {
    let mut path = Fluid::new(|_| {});
    path.until(Mode::ProbeBandwidth);
    let (mut entries, mut before) = (Vec::new(), path.control.mode());
    let mut floor = false;
    // Each round-trip time is longer than the previous one.
    path.drift = 0.001;
    for _ in 0..260 {
        path.rounds(1);
        let mode = path.control.mode();
        if mode == Mode::ProbeRtt {
            assert!(path.control.pace().limits_itself);
            floor |= path.view.cwnd == 4.0;
            if before != mode {
                entries.push(path.view.now.seconds());
            }
        }
        before = mode;
    }
    assert!(entries.len() >= 3 && floor, "{entries:?}");
    assert!(entries.windows(2).all(|pair| (10.0..12.0).contains(&(pair[1] - pair[0]))), "{entries:?}");
    // The window is restored.
    path.until(Mode::ProbeBandwidth);
    path.rounds(2);
    assert!(path.view.cwnd >= 44.0, "{}", path.view.cwnd);
}

#[test]
fn a_loss_conserves_packets_for_a_round_and_then_all_is_restored() {
    let mut path = Fluid::new(|_| {});
    path.until(Mode::ProbeBandwidth);
    path.rounds(4);
    let (cwnd, rate) = (path.view.cwnd, path.control.estimate());
    path.view.pipe = 17.0;
    path.view.cwnd = cwnd;
    let answer = path.control.on_loss(&Loss { sent: Time::ZERO, transmissions: 1 }, &path.view);
    path.take(answer);
    assert_eq!(path.view.cwnd, 18.0, "what is in the network, and the segment that the acknowledgement was for");
    assert!(path.control.conservation);
    path.view.recovering = true;
    path.rounds(1);
    // The round has ended: from now on the window grows by the delivered data.
    assert!(!path.control.conservation);
    let answer = path.control.on_recovered(&path.view);
    path.take(answer);
    assert_eq!((path.view.cwnd, path.control.estimate()), (cwnd, rate));
}

#[test]
fn a_timeout_starts_with_one_segment_and_forgets_nothing_of_the_path() {
    let mut path = Fluid::new(|_| {});
    path.until(Mode::ProbeBandwidth);
    path.rounds(4);
    let (cwnd, rate) = (path.view.cwnd, path.control.estimate());
    let answer = path.control.on_timeout(&Timeout { repeated: 0 }, &path.view);
    path.take(answer);
    assert_eq!(path.view.cwnd, 1.0);
    // A segment is retransmitted. The window then doubles in each round, beginning with four.
    let point = path.view.max;
    path.view.pipe = 1.0;
    path.step(&|_| {});
    assert_eq!(path.view.cwnd, 4.0);
    while path.view.una + 2000 < point {
        path.step(&|_| {});
    }
    assert!(path.view.cwnd < cwnd - 10.0, "{}", path.view.cwnd);
    (0..2).for_each(|_| path.step(&|_| {}));
    // Two more during the probe.
    assert!((cwnd - 2.0..=cwnd + 2.0).contains(&path.view.cwnd), "{} and {cwnd}", path.view.cwnd);
    assert!((path.control.estimate() - rate).abs() < 0.01 * rate);
}

#[test]
fn what_the_application_holds_back_is_no_bandwidth() {
    let mut path = Fluid::new(|_| {});
    path.until(Mode::ProbeBandwidth);
    path.rounds(4);
    let rate = path.control.estimate();
    let slow = |sample: &mut RateSample| {
        sample.app_limited = true;
        sample.interval = sample.interval.map(|interval| interval * 4);
    };
    (0..30).for_each(|_| path.round(slow));
    assert_eq!(path.control.estimate(), rate);
    // Without this mark, the lower bandwidth becomes the estimate after ten rounds.
    (0..12).for_each(|_| path.round(|sample| sample.interval = sample.interval.map(|interval| interval * 4)));
    assert!(path.control.estimate() < 0.3 * rate);
}

#[test]
fn a_restart_after_the_time_of_probe_rtt_ends_it_and_restores_the_window() {
    for (pause, mode, least) in [(100, Mode::ProbeRtt, 4.0), (300, Mode::ProbeBandwidth, 44.0)] {
        let mut path = Fluid::new(|_| {});
        path.until(Mode::ProbeBandwidth);
        path.drift = 0.001;
        path.until(Mode::ProbeRtt);
        while path.control.probe_done.is_none() {
            path.step(&|_| {});
        }
        assert!(!path.control.probe_round_done);
        // All that the application has written is acknowledged, and more is written after a pause.
        path.control.drained = true;
        path.view.now += Span::from_millis(pause);
        let seq = path.view.una;
        path.control.on_sent(
            &Sent { seq, len: 1000, retransmission: false, departs: Time::ZERO, app_limited: false },
            &path.view,
        );
        assert_eq!(path.control.mode(), mode, "after {pause} ms");
        if path.control.deadline() <= path.view.now {
            let answer = path.control.on_timer(&path.view);
            path.take(answer);
        }
        assert!(path.view.cwnd >= least && (least > 4.0 || path.view.cwnd == 4.0), "{pause} ms: {}", path.view.cwnd);
        assert_eq!(path.control.deadline(), Time::NEVER);
    }
}

#[test]
fn impossible_values_are_named() {
    let fault = |change: fn(&mut Params)| {
        let mut params = Params::of_profile(RFC);
        change(&mut params);
        params.check().expect_err("an impossible value").parameter
    };
    assert_eq!(fault(|params| params.high_gain = 1.0), "high_gain");
    assert_eq!(fault(|params| params.cwnd_gain = f64::NAN), "cwnd_gain");
    assert_eq!(fault(|params| params.pacing_margin = 0.5), "pacing_margin");
    assert_eq!(fault(|params| params.min_rtt_window = Span::ZERO), "min_rtt_window");
    assert_eq!(fault(|params| params.min_window = 0), "min_window");
}
