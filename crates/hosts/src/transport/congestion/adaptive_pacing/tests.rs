//! The gap compared with the paper's formulas computed by hand, each rule of the agent, and the behaviour of NewReno
//! and Vegas on the same path.

use hopyard_engine::{Streams, Time};

use super::*;
use crate::packet::{TcpFlags, TcpHeader};
use crate::transport::congestion::testing::{ACK, view};
use crate::transport::congestion::{Config, Controller, Phase};
use crate::transport::tcp::{Connect, NetworkEvent, TcpSender};

/// Over eight hops at 2 Mb/s; segments of 1000 bytes take 4.448 ms a hop with their headers, acknowledgements 0.448 ms.
fn path() -> View {
    View { hops: 8, ack_hops: 8, link_rate: Some(Rate::from_bps(2_000_000)), ..view(10.0) }
}

fn control(profile: &str) -> AdaptivePacing {
    AdaptivePacing::new(&params::Params::of_profile(profile))
}

fn feed(control: &mut AdaptivePacing, view: &View, millis: u64) {
    control.on_ack(&Ack { round_trip: Some(Span::from_millis(millis)), ..ACK }, view);
}

fn assert_near(gap: Span, millis: f64) {
    assert!((gap.seconds() * 1e3 - millis).abs() < 1e-5, "{gap}, expected {millis} ms");
}

#[test]
fn on_a_path_of_fixed_delay_the_gap_is_the_four_hop_propagation_delay() {
    // 80 ms over eight hops: of 10 ms a hop, 4.896 ms are transmission; half of the rest is the wait. 4 (2.552 + 4.448)
    // = 28.
    for profile in [PAPER, AGENT] {
        let mut control = control(profile);
        for _ in 0..200 {
            feed(&mut control, &path(), 80);
            assert_near(control.pace().gap, 28.0);
        }
        assert!(control.variation().abs() < 1e-12);
    }
}

#[test]
fn new_samples_weigh_three_tenths_and_their_variation_widens_the_gap() {
    let mut paper = control(PAPER);
    feed(&mut paper, &path(), 80);
    feed(&mut paper, &path(), 160);
    // FHD of 160 ms: 4 ((20 - 4.896)/2 + 4.448) = 48. Mean 0.7 * 28 + 0.3 * 48 = 34.
    // cov of 80 and 160: sqrt(2 * 40^2 / 1) / 120 = 0.471405; gap 34 (1 + 2 * 0.471405).
    assert_near(paper.pace().gap, 34.0 * (1.0 + 2.0 * libm::sqrt(2.0) * 40.0 / 120.0));
    let mut agent = control(AGENT);
    feed(&mut agent, &path(), 80);
    feed(&mut agent, &path(), 160);
    // Mean deviation of 28 and 48: 10 / 38.
    assert_near(agent.pace().gap, 34.0 * (1.0 + 2.0 * 10.0 / 38.0));
}

#[test]
fn the_variation_is_that_of_the_last_fifty_samples() {
    let mut control = control(PAPER);
    (0..7).for_each(|_| feed(&mut control, &path(), 300));
    (0..49).for_each(|_| feed(&mut control, &path(), 80));
    assert!(control.variation() > 0.3);
    feed(&mut control, &path(), 80);
    assert!(control.variation().abs() < 1e-12, "the last of the long ones is forgotten");
}

#[test]
fn what_waited_behind_a_gap_is_no_sample() {
    let loss = Loss { sent: Time::ZERO, transmissions: 1 };
    for timeout in [false, true] {
        let mut control = control(PAPER);
        feed(&mut control, &path(), 80);
        // Segments up to 11000 are outstanding.
        if timeout {
            control.on_timeout(&Timeout { repeated: 0 }, &path());
        } else {
            control.on_loss(&loss, &path());
        }
        feed(&mut control, &View { una: 11_000, max: 15_000, ..path() }, 20_000);
        assert_near(control.pace().gap, 28.0);
        let late = Ack { round_trip: Some(Span::from_secs(20)), duplicates: 3, ..ACK };
        control.on_ack(&late, &View { una: 12_000, max: 15_000, ..path() });
        assert_near(control.pace().gap, 28.0);
        feed(&mut control, &View { una: 13_000, max: 15_000, ..path() }, 160);
        assert!(control.pace().gap > Span::from_millis(28));
    }
}

#[test]
fn hops_come_from_the_route_or_from_the_acknowledgement() {
    let view = View { hops: 8, ack_hops: 4, ..path() };
    let (mut paper, mut agent) = (control(PAPER), control(AGENT));
    feed(&mut paper, &view, 80);
    feed(&mut agent, &view, 80);
    assert_near(paper.pace().gap, 28.0);
    // 20 ms a hop: 4 ((20 - 4.896)/2 + 4.448).
    assert_near(agent.pace().gap, 48.0);
    // Without a path there is no sample.
    let mut lost = control(PAPER);
    feed(&mut lost, &View { hops: 0, ..path() }, 80);
    assert_eq!(lost.pace().gap, Span::ZERO);
}

#[test]
fn a_short_route_is_paced_by_one_hop_by_the_agent_alone() {
    let view = View { hops: 3, ack_hops: 3, ..path() };
    let (mut paper, mut agent) = (control(PAPER), control(AGENT));
    feed(&mut paper, &view, 30);
    feed(&mut agent, &view, 30);
    // 10 ms a hop, 7 ms of them for the segment.
    assert_near(paper.pace().gap, 28.0);
    assert_near(agent.pace().gap, 7.0);
}

#[test]
fn the_bandwidth_is_the_radios_or_a_parameter() {
    let view = View { link_rate: Some(Rate::from_bps(11_000_000)), ..path() };
    let (mut radio, mut agent) = (control(PAPER), control(AGENT));
    feed(&mut radio, &view, 80);
    feed(&mut agent, &view, 80);
    // At 11 Mb/s a segment takes 0.808727 ms, an acknowledgement 0.081455 ms: 4 ((10 - 0.890182)/2 + 0.808727).
    assert_near(radio.pace().gap, 4.0 * ((10.0 - 9_792.0 / 11_000.0) / 2.0 + 8_896.0 / 11_000.0));
    assert_near(agent.pace().gap, 28.0);
    let mut untold = control(PAPER);
    feed(&mut untold, &View { link_rate: None, ..path() }, 80);
    assert_near(untold.pace().gap, 28.0);
}

#[test]
fn the_agent_bounds_waits_and_delays() {
    let mut agent = control(AGENT);
    assert_eq!(agent.pace().gap, Span::from_millis(50), "before the first sample");
    feed(&mut agent, &path(), 80);
    // The mean wait replaces a wait of 0.6 s at a hop; after one sample it is half of this wait: 4 (1.276 + 4.448).
    feed(&mut agent, &path(), 9_640);
    let (fhd, other) = (28.0, 4.0 * (1.276 + 4.448));
    let mean = 0.7 * fhd + 0.3 * other;
    let deviation = (fhd - other) / 2.0 / ((fhd + other) / 2.0);
    assert_near(agent.pace().gap, mean * (1.0 + 2.0 * deviation));
    // A wait of 0.2 s is below the limit, but the delay of four such hops is not: there is no sample.
    let before = agent.pace().gap;
    feed(&mut agent, &path(), 3_240);
    assert_eq!(agent.pace().gap, before);
    // The paper has no limit.
    let mut paper = control(PAPER);
    feed(&mut paper, &path(), 3_240);
    assert!(paper.pace().gap > Span::from_millis(500));
}

#[test]
fn a_loss_stops_the_agents_pacing_until_the_next_acknowledgement() {
    let loss = Loss { sent: Time::ZERO, transmissions: 1 };
    let duplicate = Duplicate { count: 4, sacked: 0, rate: None };
    for (profile, pauses) in [(PAPER, false), (AGENT, true)] {
        let mut control = control(profile);
        feed(&mut control, &path(), 80);
        let gap = control.pace().gap;
        control.on_loss(&loss, &path());
        assert_eq!(control.pace().gap.is_zero(), pauses, "{profile}");
        control.on_duplicate(&duplicate, &path());
        assert_eq!(control.pace().gap, gap, "{profile}");
        let answer = control.on_timeout(&Timeout { repeated: 0 }, &path());
        assert_eq!(control.pace().gap.is_zero(), pauses, "{profile}");
        // One segment; only the agent does not change the timeout.
        match answer {
            Answer::Set { cwnd, .. } => assert!(!pauses && cwnd == 1.0),
            Answer::Rescale { cwnd, rto, .. } => assert!(pauses && cwnd == 1.0 && rto == 1.0),
            other => panic!("{other:?}"),
        }
        control.on_ack(&Ack { round_trip: None, phase: Phase::Open, ..ACK }, &path());
        assert_eq!(control.pace().gap, gap, "{profile}");
    }
}

/// A sender over eight hops with endless data, after an acknowledgement of its first two segments after 80 ms. The
/// second value is the number of segments that it then sends at once.
fn started(control: Controller) -> (TcpSender, usize) {
    let tcp = crate::transport::tcp::Params {
        segment_size: Bytes::new(1000),
        connect: Connect::None,
        initial_window: 4,
        ..params::Params::of_profile(RFC)
    };
    let mut sender = TcpSender::with_control(&tcp, control, Streams::new(1, 0).stream("talk"));
    sender.on_network(NetworkEvent::HopCount(8), Time::ZERO);
    sender.write(u64::MAX, Time::ZERO);
    while sender.poll_transmit(Time::ZERO).is_some() {}
    let now = Time::ZERO + Span::from_millis(80);
    let flags = TcpFlags { ack: true, ..TcpFlags::default() };
    let header = TcpHeader { ack: 2000, window: 1 << 20, flags, timestamps: Some((80, 0)), ..TcpHeader::default() };
    sender.on_segment(&header, now);
    let burst = std::iter::from_fn(|| sender.poll_transmit(now)).count();
    (sender, burst)
}

#[test]
fn newreno_and_vegas_send_at_once_what_adaptive_pacing_spaces() {
    let of = |name: &str| {
        let config = Config::of_profile(name, RFC).expect("a variant");
        started(Controller::new(&config, Streams::new(1, 0).stream("rule")))
    };
    let (newreno, burst) = of("newreno");
    assert_eq!(burst, 3);
    assert!(of("vegas").1 >= 2);
    let (mut paced, burst) = of("adaptive_pacing");
    assert_eq!(burst, 1, "the rest waits");
    assert_eq!(paced.state().cwnd, newreno.state().cwnd, "the window is NewReno's");
    // One segment each 28 ms.
    let mut now = Time::ZERO + Span::from_millis(80);
    for _ in 0..2 {
        now += Span::from_millis(28);
        assert!(
            paced.deadline().since(now) < Span::from_micros(1) && now.since(paced.deadline()) < Span::from_micros(1)
        );
        let at = paced.deadline();
        paced.on_timer(at);
        assert_eq!(std::iter::from_fn(|| paced.poll_transmit(at)).count(), 1);
    }
}

/// The window of a variant after each round of a path whose round-trip time doubles after ten rounds. All segments of a
/// round are acknowledged one by one at its end. Also the variant's gap at that time.
fn windows(name: &str) -> (Vec<f64>, Span) {
    let config = Config::of_profile(name, RFC).expect("a variant");
    let tcp = crate::transport::tcp::Params {
        segment_size: Bytes::new(1000),
        connect: Connect::None,
        timestamps: false,
        initial_window: 4,
        initial_ssthresh: 10,
        ..params::Params::of_profile(RFC)
    };
    let control = Controller::new(&config, Streams::new(1, 0).stream("rule"));
    let mut sender = TcpSender::with_control(&tcp, control, Streams::new(1, 0).stream("talk"));
    let mut now = Time::ZERO;
    sender.on_network(NetworkEvent::HopCount(8), now);
    sender.write(u64::MAX, now);
    let mut acked = 0;
    let mut windows = Vec::new();
    for round in 0..30 {
        let end = now + Span::from_millis(if round < 10 { 80 } else { 160 });
        let mut sent = 0;
        // Paced segments are sent within the round if there is time.
        while sender.poll_transmit(now).is_some() {
            sent += 1;
        }
        while sender.deadline() < end {
            let at = sender.deadline();
            sender.on_timer(at);
            while sender.poll_transmit(at).is_some() {
                sent += 1;
            }
        }
        now = end;
        for _ in 0..sent {
            acked += 1000;
            let flags = TcpFlags { ack: true, ..TcpFlags::default() };
            let header = TcpHeader { ack: acked, window: 1 << 20, flags, ..TcpHeader::default() };
            sender.on_segment(&header, now);
        }
        windows.push(sender.state().cwnd);
    }
    (windows, sender.state().pacing_gap)
}

#[test]
fn vegas_cuts_its_window_where_adaptive_pacing_widens_its_gap() {
    let (vegas, _) = windows("vegas");
    assert!(vegas[29] < vegas[9] - 1.0, "the doubled round trip counts as a queue: {vegas:?}");
    let (paced, gap) = windows("adaptive_pacing");
    assert!(paced[29] > paced[9], "{paced:?}");
    assert!(gap > Span::from_millis(40), "{gap}");
}

#[test]
fn impossible_parameters_are_refused() {
    let fault = |change: fn(&mut Params)| {
        let mut params: Params = params::Params::of_profile(PAPER);
        change(&mut params);
        params::Params::check(&params).expect_err("a fault").to_string()
    };
    assert!(fault(|it| it.smoothing = 1.0).contains("smoothing: expected 0 to less than 1, found 1"));
    assert!(fault(|it| it.samples = 1).contains("samples: expected at least 2 samples, found 1"));
    assert!(fault(|it| it.reuse_hops = 0).contains("reuse_hops"));
    assert!(fault(|it| it.variation_weight = f64::NAN).contains("variation_weight"));
    assert!(fault(|it| it.overhead = Bytes::new(0)).contains("overhead"));
    let error = Bandwidth::try_from("fast".to_owned()).expect_err("no rate");
    assert!(error.contains("a rate above zero") && error.contains("\"radio\""), "{error}");
    assert_eq!(Bandwidth::try_from("11 Mbps".to_owned()).map(String::from).as_deref(), Ok("11 Mbps"));
}
