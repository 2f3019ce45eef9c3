//! Each reading and each parameter, with values computed by hand; and a conversation that compares WELCOME with
//! NewReno.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Streams, Time};

use super::*;
use crate::packet::{SackBlocks, TcpFlags, TcpHeader};
use crate::params::{LINUX, NS2, Params as _, RFC};
use crate::transport::congestion::{Config, Controller, testing};
use crate::transport::tcp::{self, TcpSender};

const SEGMENT: u32 = 500;

/// With a sample at each acknowledgement, and the flip-flop filter.
fn params() -> Params {
    Params { sampling: Sampling::Acknowledgement, average: Average::Band, ..Params::of_profile(RFC) }
}

/// A congestion control, and its connection: a segment every 10 ms.
struct Bench {
    control: Welcome,
    view: View,
}

impl Bench {
    fn new(params: Params) -> Self {
        params.check().expect("possible parameters");
        let view = View {
            ssthresh: 8.0,
            advertised: 40.0,
            segment: SEGMENT,
            una: 0,
            max: 10 * u64::from(SEGMENT),
            srtt: None,
            ..testing::view(10.0)
        };
        Self { control: Welcome::new(&params), view }
    }

    fn take(&mut self, answer: Answer) -> Answer {
        let (cwnd, ssthresh) = windows(answer, &self.view);
        (self.view.cwnd, self.view.ssthresh) = (cwnd, ssthresh);
        if let Answer::Rescale { rto, .. } = answer {
            self.view.rto = self.view.rto.mul_f64(rto);
        }
        answer
    }

    /// Ten milliseconds later, a segment is acknowledged that was sent `millis` milliseconds before, and another is
    /// sent.
    fn ack(&mut self, millis: u64) -> Answer {
        self.view.now += Span::from_millis(10);
        self.view.una += u64::from(SEGMENT);
        self.view.max = self.view.max.max(self.view.una + 10 * u64::from(SEGMENT));
        let ack = Ack {
            bytes: u64::from(SEGMENT),
            delivered: u64::from(SEGMENT),
            round_trip: Some(Span::from_millis(millis)),
            window_limited: false,
            ..testing::ACK
        };
        let answer = self.control.on_ack(&ack, &self.view);
        self.take(answer)
    }

    fn acks(&mut self, samples: &[u64]) -> &mut Self {
        for &millis in samples {
            self.ack(millis);
        }
        self
    }

    fn loss(&mut self) -> Answer {
        let answer = self.control.on_loss(&Loss { sent: self.view.now, transmissions: 1 }, &self.view);
        self.take(answer)
    }

    fn timeout(&mut self, repeated: u32) -> Answer {
        let answer = self.control.on_timeout(&Timeout { repeated }, &self.view);
        self.take(answer)
    }

    fn decision(&mut self) -> Decision {
        self.control.decision().expect("a decision")
    }
}

/// The first sample, and nine more like it. 500 bytes every 10 ms are 50,000 byte/s; with the shortest round trip of
/// 100 ms the path holds ten segments.
const STEADY: [u64; 10] = [100; 10];
/// An increase of about 8 % from sample to sample. At first the agile average is within 10 % of the stable one; then
/// the stable one is used. In both cases each sample except the first has increased.
const CLIMB: [u64; 10] = [100, 108, 117, 126, 136, 147, 159, 172, 186, 201];

#[test]
fn figure_6_decides_by_growth_and_sign() {
    let judge = |samples: &[u64], by_timeout: bool| {
        let mut bench = Bench::new(params());
        bench.acks(samples);
        if by_timeout {
            bench.timeout(0)
        } else {
            bench.loss()
        };
        bench.decision()
    };
    assert_eq!(judge(&STEADY, false).cause, Cause::Wireless);
    assert_eq!(judge(&STEADY, true).cause, Cause::LinkFailure);
    let congested = judge(&CLIMB, false);
    assert_eq!((congested.cause, congested.by), (Cause::Congestion, Sign::DuplicateAcks));
    assert_eq!((congested.evidence, congested.limit, congested.samples), (9.0, 4.0, 10));
    assert_eq!(congested.last, Some(Span::from_millis(201)));
    assert_eq!(judge(&CLIMB, true).cause, Cause::Congestion);
    // There is no round-trip time yet, as when the opening segment finds no route: there is no sign of congestion.
    let blind = judge(&[], true);
    assert_eq!((blind.cause, blind.samples, blind.filtered), (Cause::LinkFailure, 0, None));
}

#[test]
fn a_decision_is_told_once() {
    let mut bench = Bench::new(params());
    bench.loss();
    assert!(bench.control.decision().is_some());
    assert!(bench.control.decision().is_none());
}

/// Five consecutive increases, then none.
const FIVE: [u64; 6] = [100, 108, 117, 126, 136, 147];

#[test]
fn eta_is_how_many_growths_are_not_yet_congestion() {
    for (eta, cause) in [(4, Cause::Congestion), (5, Cause::Wireless)] {
        let mut bench = Bench::new(Params { eta, ..params() });
        bench.acks(&FIVE).loss();
        let decision = bench.decision();
        assert_eq!((decision.cause, decision.evidence), (cause, 5.0), "eta {eta}");
    }
}

#[test]
fn growths_may_have_to_come_in_a_row() {
    // Two increases, none, three increases.
    let broken = [100, 108, 117, 100, 100, 100, 109, 118, 128];
    for (growths, evidence, cause) in
        [(Growths::Any, 5.0, Cause::Congestion), (Growths::Consecutive, 3.0, Cause::Wireless)]
    {
        let mut bench = Bench::new(Params { growths, ..params() });
        bench.acks(&broken).loss();
        let decision = bench.decision();
        assert_eq!((decision.evidence, decision.cause), (evidence, cause), "{growths:?}");
    }
}

#[test]
fn a_round_trip_is_sampled_at_each_acknowledgement_or_once() {
    // Ten segments are outstanding, so ten acknowledgements are a round trip. For twelve round trips, each is 10 ms
    // longer than the previous one.
    let growth = |sampling| {
        let mut bench = Bench::new(Params { sampling, average: Average::Smoothed, ..params() });
        for round in 0..12 {
            bench.acks(&[100 + 10 * round; 10]);
        }
        bench.loss();
        bench.decision()
    };
    let each = growth(Sampling::Acknowledgement);
    // The last ten samples are one round trip of 210 ms. Of the distance to the average (7/8)^10 = 0.263 is left after
    // a round, so that the average was 196.4 ms before, and 210 - 13.6 (7/8)^n ms after n of them: more than 5 % below
    // up to n = 2.
    assert_eq!((each.cause, each.evidence, each.samples), (Cause::Wireless, 3.0, 10));
    let once = growth(Sampling::RoundTrip);
    assert_eq!((once.cause, once.evidence, once.samples), (Cause::Congestion, 10.0, 10));
    assert_eq!(once.last, Some(Span::from_millis(210)));
}

#[test]
fn a_queue_that_grows_by_a_segment_in_a_round_trip_shows_only_over_round_trips() {
    // The window of ten grows by one in each round trip, and the round-trip time with it by 2 %.
    let decided = |params: Params| {
        let mut bench = Bench::new(params);
        for round in 0..20 {
            bench.acks(&[100 + 2 * round; 10]);
        }
        bench.loss();
        bench.decision().cause
    };
    assert_eq!(decided(params()), Cause::Wireless);
    assert_eq!(decided(Params::of_profile(RFC)), Cause::Congestion, "the default");
}

#[test]
fn a_loss_and_a_sample_both_wait_for_what_is_sent_later() {
    let mut bench = Bench::new(Params { sampling: Sampling::RoundTrip, ..params() });
    // The first acknowledgement gives a sample. Eleven segments were sent by then, and the next sample is that of the
    // twelfth.
    bench.acks(&[100; 11]);
    assert_eq!(bench.control.history.len(), 1);
    bench.ack(100);
    assert_eq!(bench.control.history.len(), 2);
    bench.loss();
    // The ten segments that were outstanding when the loss was found give no sample.
    bench.acks(&[100; 10]);
    assert_eq!(bench.control.history.len(), 2);
    bench.ack(100);
    assert_eq!(bench.control.history.len(), 3);
}

#[test]
fn the_average_decides_what_has_grown() {
    // A permanent step from 100 to 130. The agile average follows at once, TCP's average by an eighth with each sample,
    // and the stable average, which the band uses, by a tenth.
    let step = [100, 130, 130, 130, 130, 130, 130, 130];
    let growth = |average| {
        let mut bench = Bench::new(Params { average, ..params() });
        bench.acks(&step).loss();
        bench.decision().evidence
    };
    // Control limits after the first range of 30: 3 * 30 / 1.128 = 80 to each side; the agile average of 127 is used.
    assert_eq!(growth(Average::ControlLimits), 1.0);
    // 130 > 1.05 * (130 - 30 * (7/8)^n) while 30 * (7/8)^n > 6.19: n up to 11.
    assert_eq!(growth(Average::Smoothed), 7.0);
    // Stable 130 - 30 * 0.9^n; agile 130 - 30 * 0.1^n. They are within a tenth once 30 * 0.9^n < 12, at n = 9.
    assert_eq!(growth(Average::Band), 7.0);
}

#[test]
fn a_channel_loss_clamps_the_window_or_keeps_it() {
    // Twenty segments in the window, and a path that holds ten.
    for (wireless, windows) in [(WirelessLoss::Clamp, (10.0, 10.0)), (WirelessLoss::Keep, (20.0, 8.0))] {
        let mut bench = Bench::new(Params { wireless, ..params() });
        bench.acks(&STEADY).view.cwnd = 20.0;
        bench.loss();
        assert!((bench.view.cwnd - windows.0).abs() < 1e-9, "{wireless:?}: {}", bench.view.cwnd);
        assert!((bench.view.ssthresh - windows.1).abs() < 1e-9, "{wireless:?}: {}", bench.view.ssthresh);
    }
    // A window below the capacity of the path does not change, and may continue to grow as in slow start.
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).view.cwnd = 6.0;
    bench.loss();
    assert_eq!(bench.view.cwnd, 6.0);
    assert!((bench.view.ssthresh - 10.0).abs() < 1e-9);
    // Without an estimate the window is not clamped.
    let mut bench = Bench::new(params());
    assert_eq!(bench.loss(), Answer::Keep);
}

#[test]
fn the_window_of_a_channel_loss_outlives_the_recovery() {
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).view.cwnd = 6.0;
    bench.loss();
    // Partial acknowledgements may have reduced the window, and the end of the recovery sets it too.
    bench.view.cwnd = 2.0;
    let answer = bench.control.on_recovered(&bench.view);
    assert_eq!(windows(answer, &bench.view).0, 6.0);
    assert_eq!(bench.control.on_recovered(&bench.view), Answer::Keep, "once");
}

#[test]
fn a_loss_that_was_none_leaves_no_window_behind() {
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).view.cwnd = 6.0;
    bench.loss();
    let before = Before { cwnd: 12.0, ssthresh: 20.0 };
    let answer = bench.control.on_undo(&before, &bench.view);
    assert_eq!(windows(answer, &bench.view), (12.0, 20.0));
    assert_eq!(bench.control.on_recovered(&bench.view), Answer::Keep, "the window of the recovery is forgotten");
}

#[test]
fn congestion_is_newrenos_or_as_printed() {
    let mut bench = Bench::new(params());
    bench.acks(&CLIMB).view.flight = 14.0;
    assert_eq!(bench.loss(), Answer::Set { cwnd: 7.0, ssthresh: 7.0 });
    assert_eq!(bench.control.on_recovered(&bench.view), Answer::Keep, "NewReno's own end");

    let mut bench = Bench::new(Params { reading: Reading::Pseudocode, ..params() });
    bench.acks(&CLIMB).view.flight = 14.0;
    bench.loss();
    assert!((bench.view.ssthresh - 10.0).abs() < 1e-9, "50,000 byte/s for 100 ms");
    assert_eq!(bench.view.cwnd, 1.0);
    bench.view.cwnd = 10.0;
    assert_eq!(windows(bench.control.on_recovered(&bench.view), &bench.view).0, 1.0, "slow start follows");
    // The same if the timer has found the loss; the timeout doubles in both readings.
    for (reading, threshold) in [(Reading::Text, 7.0), (Reading::Pseudocode, 10.0)] {
        let mut bench = Bench::new(Params { reading, ..params() });
        bench.acks(&CLIMB).view.flight = 14.0;
        let answer = bench.timeout(0);
        assert!(matches!(answer, Answer::Set { cwnd: 1.0, .. }), "{answer:?}");
        assert!((bench.view.ssthresh - threshold).abs() < 1e-9, "{reading:?}");
    }
}

#[test]
fn profile_ns2_halves_the_window() {
    let mut bench = Bench::new(Params { sampling: Sampling::Acknowledgement, ..Params::of_profile(NS2) });
    bench.acks(&CLIMB);
    (bench.view.cwnd, bench.view.flight) = (13.0, 9.0);
    assert_eq!(bench.loss(), Answer::Set { cwnd: 6.5, ssthresh: 6.0 });
}

#[test]
fn a_link_failure_sends_one_segment_and_lengthens_the_timeout_by_half() {
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).view.cwnd = 9.0;
    let Answer::Rescale { cwnd, ssthresh, rto } = bench.timeout(0) else { panic!("no rescaling") };
    assert_eq!((cwnd, rto), (1.0, 1.5));
    assert!((ssthresh - 10.0).abs() < 1e-9);
    // Further timeouts in the same outage do not change the windows.
    for repeated in 1..4 {
        assert_eq!(bench.timeout(repeated), Answer::Rescale { cwnd: 1.0, ssthresh, rto: 1.5 });
        assert_eq!(bench.decision().cause, Cause::LinkFailure);
    }
    assert_eq!(bench.view.rto, Span::from_secs(1).mul_f64(1.5 * 1.5 * 1.5 * 1.5));
}

/// The window at the first acknowledgement after an outage, and the window after four samples of a route with a
/// round-trip time of 150 ms instead of 100 ms. The last value is the timeout then, which was one second before.
fn after_failure(change: Params) -> (f64, f64, f64) {
    let mut bench = Bench::new(change);
    bench.acks(&STEADY).view.cwnd = 9.0;
    bench.timeout(0);
    bench.timeout(1);
    bench.ack(5000);
    let first = bench.view.cwnd;
    // Segments sent before the timeout give no sample, however often they are acknowledged.
    bench.acks(&[9000; 9]);
    let before = bench.view.cwnd;
    bench.acks(&[150, 150, 150]);
    assert_eq!(bench.view.cwnd, before, "three samples are not enough");
    let answer = bench.ack(150);
    assert!(matches!(answer, Answer::Rescale { .. }), "{answer:?}");
    let (second, rto) = (bench.view.cwnd, bench.view.rto.seconds());
    assert!(!matches!(bench.ack(150), Answer::Rescale { .. }), "once");
    (first, second, rto)
}

#[test]
fn the_three_recovery_options() {
    let near = |found: (f64, f64, f64), expected: (f64, f64, f64)| {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
        assert!(
            close(found.0, expected.0) && close(found.1, expected.1) && close(found.2, expected.2),
            "{found:?}, expected {expected:?}"
        );
    };
    // a is 2/3 at first, and 100/150 when it is known. The timeout becomes 1 s / a in every option.
    near(after_failure(params()), (6.0, 6.0, 1.5));
    near(after_failure(Params { after_failure: AfterFailure::Keep, ..params() }), (9.0, 9.0, 1.5));
    near(after_failure(Params { after_failure: AfterFailure::Halve, ..params() }), (4.5, 4.5, 1.5));
    // With another first factor, the second step compensates for it.
    near(after_failure(Params { factor: 0.5, ..params() }), (4.5, 6.0, 1.5));
}

#[test]
fn a_shorter_route_allows_no_more_than_the_path_holds() {
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).view.cwnd = 9.0;
    bench.timeout(0);
    bench.acks(&[5000; 10]).acks(&[50, 50, 50]);
    // a is 2, and 2 * 9 = 18 segments; but at 50,000 byte/s and 50 ms the path holds five.
    bench.ack(50);
    assert!((bench.view.cwnd - 5.0).abs() < 0.3, "{}", bench.view.cwnd);
    assert_eq!(bench.view.rto, Span::from_millis(500));
}

#[test]
fn round_trips_that_a_loss_has_lengthened_do_not_count() {
    let mut bench = Bench::new(params());
    bench.acks(&STEADY).loss();
    // Up to what had been sent when the loss was found.
    bench.acks(&[400; 10]);
    assert_eq!(bench.control.history.last, Some(0.1));
    bench.ack(120);
    assert_eq!(bench.control.history.last, Some(0.12));
}

#[test]
fn the_bandwidth_is_shown() {
    let mut bench = Bench::new(params());
    assert_eq!(bench.control.bandwidth(), None);
    bench.acks(&STEADY);
    assert!(bench.control.bandwidth().is_some_and(|value| (value - 50_000.0).abs() < 1e-6));
}

#[test]
fn impossible_parameters_are_named() {
    let cases: [(Params, &str); 10] = [
        (Params { samples: 0, ..params() }, "samples"),
        (Params { eta: 10, ..params() }, "eta"),
        (Params { growth: -0.1, ..params() }, "growth"),
        (Params { stable_band: f64::NAN, ..params() }, "stable_band"),
        (Params { agile_weight: 0.95, ..params() }, "agile_weight"),
        (Params { stable_weight: 1.0, ..params() }, "stable_weight"),
        (Params { factor: 1.5, ..params() }, "factor"),
        (Params { new_route_samples: 0, ..params() }, "new_route_samples"),
        (Params { bandwidth_weight: 1.0, ..params() }, "bandwidth_weight"),
        (Params { bandwidth_time: Span::ZERO, ..params() }, "bandwidth_time"),
    ];
    for (params, name) in cases {
        let fault = params.check().expect_err(name);
        assert_eq!(fault.parameter, name);
        assert!(fault.problem.contains("expected") && fault.problem.contains("found"), "{fault}");
    }
}

/// A sender with endless data over a path of 100 ms and a segment every 10 ms, and the segments that it sends.
struct Path {
    sender: TcpSender,
    now: Time,
    acked: u64,
}

impl Path {
    fn new(variant: &str) -> Self {
        let params = tcp::Params { initial_ssthresh: 12, ..tcp::Params::of_profile(RFC) };
        Self::with(params, &Config::of_profile(variant, RFC).expect("a variant"), 40)
    }

    /// So many segments were acknowledged.
    fn with(params: tcp::Params, config: &Config, acked: u64) -> Self {
        let params = tcp::Params {
            segment_size: Bytes::new(u64::from(SEGMENT)),
            connect: tcp::Connect::None,
            timestamps: false,
            ..params
        };
        let streams = Streams::new(1, 0);
        let control = Controller::new(config, streams.stream("rule"));
        let mut sender = TcpSender::with_control(&params, control, streams.stream("talk"));
        sender.write(u64::MAX, Time::ZERO);
        let mut path = Self { sender, now: Time::ZERO, acked: 0 };
        path.drain();
        path.now += Span::from_millis(90);
        (0..acked).for_each(|_| path.ack(1));
        path
    }

    fn drain(&mut self) {
        while self.sender.poll_transmit(self.now).is_some() {}
    }

    fn ack(&mut self, segments: u64) {
        self.acked += segments;
        self.arrive(SackBlocks::default());
    }

    /// A duplicate acknowledgement, which reports the segments from the second one that is outstanding to the one
    /// before `end`.
    fn sack(&mut self, end: u64) {
        let [first, start, end] = [self.acked, self.acked + 1, end].map(|segment| segment * u64::from(SEGMENT));
        self.arrive(SackBlocks::new(first, [(start, end)]));
    }

    fn arrive(&mut self, sack: SackBlocks) {
        self.now += Span::from_millis(10);
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let ack = self.acked * u64::from(SEGMENT);
        self.sender.on_segment(&TcpHeader { ack, window: 1 << 20, flags, sack, ..TcpHeader::default() }, self.now);
        self.drain();
    }

    /// Segments that were sent so far.
    fn sent(&self) -> u64 {
        self.sender.window_edges().1 / u64::from(SEGMENT)
    }

    fn timer(&mut self) {
        self.now = self.sender.deadline();
        self.sender.on_timer(self.now);
        self.drain();
    }
}

#[test]
fn where_newreno_halves_welcome_goes_on() {
    let cwnd_after = |variant| {
        let mut path = Path::new(variant);
        let before = path.sender.state();
        let (_, max, _) = path.sender.window_edges();
        // All except the first arrive.
        let outstanding = max / u64::from(SEGMENT) - path.acked;
        (1..outstanding).for_each(|_| path.ack(0));
        assert_eq!(path.sender.counters().fast_retransmits, 1);
        // The two segments of limited transmit arrive too.
        path.ack(outstanding + 2);
        (before.cwnd, path.sender.state().cwnd)
    };
    let (before, after) = cwnd_after("newreno");
    assert!(after <= 0.5 * before, "NewReno: {before}, then {after}");
    let (_, after) = cwnd_after("welcome");
    // 50,000 byte/s for 100 ms.
    assert!((after - 10.0).abs() < 1e-6, "WELCOME: {before}, then {after}");
}

/// The windows of a sender that loses the first of the outstanding segments on the channel, while all others arrive:
/// before the loss, in the recovery, and after the acknowledgement that ends the recovery. The last value is the number
/// of segments that this acknowledgement covers. The window is kept, and the threshold is far away.
fn channel_loss(profile: &str, recovery: RecoveryChoice, sack: bool) -> ([f64; 3], u64) {
    let mut control = Config::of_profile("welcome", profile).expect("a variant");
    let Config::Welcome(params) = &mut control else { panic!("{control:?}") };
    params.wireless = WirelessLoss::Keep;
    let mut params = tcp::Params { recovery, initial_ssthresh: 1000, ..tcp::Params::of_profile(profile) };
    (params.linux.small_queues, params.linux.sack) = (false, sack);
    let mut path = Path::with(params, &control, 4);
    let before = path.sender.state().cwnd;
    let (mut end, mut last) = (path.acked + 2, path.sent());
    while end <= last {
        if sack {
            path.sack(end)
        } else {
            path.ack(0)
        }
        if path.sender.counters().fast_retransmits == 0 {
            // Limited transmit.
            last = path.sent();
        }
        end += 1;
    }
    assert_eq!(path.sender.counters().fast_retransmits, 1);
    let during = path.sender.state().cwnd;
    let covered = last - path.acked;
    path.ack(covered);
    assert_eq!(path.sender.counters().fast_retransmits, 1);
    ([before, during, path.sender.state().cwnd], covered)
}

/// §IV.B of the paper: a loss on the channel does not change the rate. What follows the recovery is NewReno's growth:
/// it counts a delivered segment at most, however many the acknowledgement covers that SACK had reported before.
#[test]
fn the_end_of_a_channel_losss_recovery_restores_the_window_and_counts_what_is_delivered() {
    let windows = [
        (RFC, RecoveryChoice::NewReno, false, [14.0, 14.0, 14.0], 16),
        (RFC, RecoveryChoice::Sack, true, [14.0, 14.0, 14.0], 16),
        (RFC, RecoveryChoice::Rack, true, [14.0, 13.0, 14.0], 16),
        // ns-2's window grows with the acknowledgement that ends a recovery, and so does Linux's: by the segment that
        // was sent again.
        (NS2, RecoveryChoice::NewReno, false, [6.0, 6.0, 7.0], 8),
        (LINUX, RecoveryChoice::Variant, true, [14.0, 13.0, 15.0], 16),
        (LINUX, RecoveryChoice::Variant, false, [14.0, 13.0, 14.0], 16),
    ];
    for (profile, recovery, sack, windows, covered) in windows {
        assert_eq!(channel_loss(profile, recovery, sack), (windows, covered), "{profile} {recovery:?} {sack}");
    }
}

#[test]
fn where_newreno_starts_over_welcome_resumes() {
    let after_outage = |variant| {
        let mut path = Path::new(variant);
        let before = path.sender.state();
        (0..4).for_each(|_| path.timer());
        let rto = path.sender.state().rto.seconds() / before.rto.seconds();
        path.ack(1);
        (rto, path.sender.state().cwnd / before.cwnd)
    };
    let (rto, window) = after_outage("newreno");
    assert!((rto - 16.0).abs() < 1e-6 && window < 0.2, "NewReno: {rto}, {window}");
    let (rto, window) = after_outage("welcome");
    assert!((rto - 5.0625).abs() < 1e-6 && window > 0.5, "WELCOME: {rto}, {window}");
}

#[test]
fn the_sender_passes_decisions_on_with_their_segment() {
    let mut path = Path::new("welcome");
    let lost = path.acked * u64::from(SEGMENT);
    (0..3).for_each(|_| path.ack(0));
    path.timer();
    let judged = path.sender.take_judged();
    let of = |index: usize| (judged[index].seq, judged[index].transmissions, judged[index].decision.by);
    assert_eq!(judged.len(), 2);
    assert_eq!(of(0), (lost, 1, Sign::DuplicateAcks));
    assert_eq!(of(1), (lost, 2, Sign::Timeout));
    assert!(judged[0].sent < judged[0].at && judged[1].sent == judged[0].at);
    assert!(path.sender.take_judged().is_empty());
    let mut path = Path::new("newreno");
    (0..3).for_each(|_| path.ack(0));
    assert!(!path.sender.classifies() && path.sender.take_judged().is_empty());
}
