//! The test cases of the draft's appendix, "BBR Example Test Cases", over a real sender and receiver. The last one of
//! the handling of spurious recoveries is a case of [`super::tests`], for no retransmission is found spurious here. An
//! acknowledgement that ends Drain or a probe while no queue is left leads through DOWN to CRUISE at once.

mod path;

use super::State;
use hopyard_engine::{Span, Time};
use path::{Bucket, Path};

/// The order of the states.
fn order(path: &Path) -> Vec<State> {
    path.states.iter().map(|(_, state)| *state).collect()
}

#[test]
fn exiting_startup_on_bandwidth_plateau() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Drain, 5.0);
    let control = path.control();
    assert!(control.model.full.reached && control.model.full.now);
    assert!((path.estimate() - 1.0).abs() < 0.02, "{}", path.estimate());
    assert_eq!(path.lost, 0);
    // 8 doublings of the initial window would exceed the path; three rounds show the plateau.
    assert!(control.model.rounds.count < 12, "{}", control.model.rounds.count);
}

#[test]
fn exiting_startup_on_loss_when_application_limited() {
    let mut path = Path::new(40.0, 40).limited(10.0);
    path.run(2.0);
    assert_eq!(path.control().state, State::Startup);
    path.drop_each = Some(5);
    path.until(State::Cruise, 1.0);
    assert!(path.control().model.full.reached && path.control().model.inflight_longterm.is_finite());
    // Below the six acknowledgements with losses in a round trip of 50 segments, nothing happens.
    let mut path = Path::new(40.0, 40).limited(10.0);
    path.run(2.0);
    path.drop_each = Some(20);
    path.run(2.0);
    assert_eq!(order(&path), [State::Startup]);
}

#[test]
fn exiting_drain_based_on_inflight() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Drain, 5.0);
    let (cwnd, gap) = (path.cwnd(), path.control().gap.seconds());
    // The bandwidth in packets is 10 Mb/s / 1052 B, half of which is used.
    let packets = 10e6 / 8.0 / path::PACKET;
    assert!((0.5 * packets * 0.99 * gap - 1.0).abs() < 0.02, "{gap}");
    let took = path.until(State::Cruise, 1.0);
    assert!(took < 0.1 && path.control().model.rounds.count <= path.control().drain_round + 3, "{took}");
    assert!(path.sender.state().flight as f64 / path::SEGMENT <= path.control().bdp(1.0) + 1.0);
    assert!(path.cwnd() <= cwnd + 1.0);
}

#[test]
fn exiting_drain_based_on_time() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Drain, 5.0);
    // A decrease by 10 % is not enough for Drain's gain of a half: the queue would empty nevertheless.
    path.rate *= 0.3;
    let began = path.control().drain_round;
    path.until(State::Down, 5.0);
    assert_eq!(path.control().model.rounds.count, began + 4);
    assert!(path.sender.state().flight as f64 / path::SEGMENT > path.control().bdp(1.0));
}

#[test]
fn exiting_probe_up_on_bandwidth_plateau() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Up, 10.0);
    let began = path.control().model.rounds.count;
    assert_eq!(path.next(2.0), State::Down);
    assert_eq!(path.lost, 0);
    let rounds = path.control().model.rounds.count - began;
    assert!((3..=4).contains(&rounds), "{rounds}");
    assert!(path.control().model.full.now);
}

#[test]
fn exiting_probe_up_on_loss_when_application_limited() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Up, 10.0);
    path.drop_each = Some(10);
    assert_eq!(path.next(1.0), State::Down);
    assert!(path.lost > 0 && path.control().model.inflight_longterm.is_finite());
    // Limited by the application from the beginning of a later probe on.
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Refill, 10.0);
    path.sender.stop(Time::ZERO + Span::from_secs_f64(path.now()));
    path.app_rate = Some(5e6 / 8.0);
    path.write(1000);
    path.until(State::Up, 1.0);
    path.run(0.1);
    assert_eq!(path.control().state, State::Up);
    path.drop_each = Some(5);
    assert!(matches!(path.next(1.0), State::Down | State::Cruise));
    assert!(path.control().model.inflight_longterm.is_infinite(), "the application's data is no measure");
}

#[test]
fn never_exiting_probe_up_or_startup_when_application_limited_with_no_loss() {
    let mut path = Path::new(10.0, 40).limited(2.0);
    path.run(20.0);
    assert!(order(&path).iter().all(|state| matches!(state, State::Startup | State::ProbeRtt)), "{:?}", path.states);
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Refill, 10.0);
    path.sender.stop(Time::ZERO + Span::from_secs_f64(path.now()));
    path.app_rate = Some(5e6 / 8.0);
    path.write(1000);
    path.until(State::Up, 1.0);
    let known = path.states.len();
    path.run(8.0);
    // ProbeRTT alone interrupts it.
    assert!(path.states.len() == known || path.states[known].1 == State::ProbeRtt, "{:?}", path.states);
}

#[test]
fn exiting_probe_down_on_inflight() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Up, 10.0);
    path.until(State::Down, 10.0);
    let gap = path.control().gap.seconds();
    let packets = 10e6 / 8.0 / path::PACKET;
    assert!((0.9 * 0.99 * packets * gap - 1.0).abs() < 0.03, "{gap}");
    assert_eq!(path.next(2.0), State::Cruise);
    let flight = path.sender.state().flight as f64 / path::SEGMENT;
    assert!(flight <= path.control().bdp(1.0).max(6.0) + 1.0 && flight <= path.control().with_headroom());
}

#[test]
fn exiting_probe_down_after_max_time() {
    let mut path = Path::new(10.0, 40).endless();
    // The first probe after ProbeRTT: the next one comes before ProbeRTT is due again.
    path.until(State::ProbeRtt, 10.0);
    path.until(State::Up, 10.0);
    path.until(State::Down, 10.0);
    path.rate *= 0.85;
    assert_eq!(path.next(4.0), State::Refill, "{:?}", path.states);
}

#[test]
fn entering_and_exiting_probe_rtt() {
    let mut path = Path::new(10.0, 40).endless();
    path.run(1.0);
    let began = path.until(State::ProbeRtt, 8.0) + 1.0;
    assert!((4.9..6.5).contains(&began), "{began}");
    path.run(0.15);
    let bdp = path.control().bdp(1.0);
    assert!((path.cwnd() - 0.5 * bdp).abs() < 0.05 * bdp, "{} of {bdp}", path.cwnd());
    let entered = path.states.last().expect("a state").0;
    assert_eq!(path.next(1.0), State::Cruise);
    let took = path.now() - entered;
    assert!((0.2..0.4).contains(&took), "{took}");
    // Half of the pipe in 200 ms of 5 s: 98 %, less the margin of pacing and the rounds around it.
    let share = path.run(20.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn skipping_probe_rtt_due_to_application_limited_sending() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Cruise, 10.0);
    path.sender.stop(Time::ZERO + Span::from_secs_f64(path.now()));
    path.run(6.0);
    let known = path.states.len();
    path.sender.write(u64::MAX >> 1, Time::ZERO + Span::from_secs_f64(path.now()));
    path.write(1000);
    assert!(path.control().idle_restart);
    path.run(2.0);
    assert!(path.states[known..].iter().all(|(_, state)| *state != State::ProbeRtt), "{:?}", path.states);
}

#[test]
fn achieving_expected_bandwidth_on_a_link_with_aggregation() {
    let mut path = Path::new(20.0, 40);
    path.batch = Some(Span::from_millis(20));
    let mut path = path.endless();
    path.until(State::Drain, 5.0);
    assert!(path.estimate() > 0.95, "{}", path.estimate());
    let bdp = path.control().bdp(1.0);
    assert!(path.control().model.extra > 0.3 * bdp, "{} beside {bdp}", path.control().model.extra);
    assert!(path.cwnd() > 2.0 * bdp);
    path.until(State::Cruise, 5.0);
    let share = path.run(4.0);
    assert!(share > 0.95, "{share}");
}

#[test]
fn correctly_managing_sub_packet_bdps() {
    // 64 kb/s and 10 ms: a twelfth of a packet.
    let mut path = Path::new(0.064, 10).endless();
    path.until(State::Down, 60.0);
    let share = path.run(60.0);
    assert!(share > 0.97, "{share}");
    assert!(path.cwnd() >= 4.0, "{}", path.cwnd());
    assert!((path.estimate() - 1.0).abs() < 0.05, "{}", path.estimate());
}

#[test]
fn increasing_bandwidth_10x_and_ensuring_full_bandwidth_is_reached() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Cruise, 10.0);
    path.rate *= 10.0;
    path.run(20.0);
    assert!(path.estimate() > 0.95, "{}", path.estimate());
    // With a long-term bound as well, which grows by 1, 2, 4 segments in each round.
    let mut path = Path::new(10.0, 40);
    path.queue_limit = 12;
    let mut path = path.endless();
    path.run(10.0);
    assert!(path.control().model.inflight_longterm.is_finite());
    (path.rate, path.queue_limit) = (10.0 * path.rate, 1000);
    path.run(30.0);
    assert!(path.estimate() > 0.95, "{}", path.estimate());
}

#[test]
fn decreasing_bandwidth_10x_and_ensuring_max_bandwidth_adapts_down() {
    let mut path = Path::new(100.0, 40);
    path.queue_limit = 500;
    let mut path = path.endless();
    path.until(State::Cruise, 10.0);
    path.rate /= 10.0;
    path.run(1.0);
    let model = &path.control().model;
    assert!(path.lost > 0 && model.bw_shortterm < 0.8 * model.max_bw(), "{}", model.bw_shortterm);
    path.run(12.0);
    assert!((path.estimate() - 1.0).abs() < 0.1, "{}", path.estimate());
}

#[test]
fn handling_token_bucket_policers() {
    let mut path = Path::new(50.0, 40);
    // 5 Mb/s, and a burst of 40 packets.
    let rate = 5e6 / 8.0 / path::PACKET;
    path.bucket = Some(Bucket { rate, burst: 40.0, tokens: 40.0, since: Time::ZERO });
    let mut path = path.endless();
    path.run(10.0);
    let (sent, lost) = (path.sent, path.lost);
    let share = 10.0 * path.run(20.0);
    let losses = (path.lost - lost) as f64 / (path.sent - sent) as f64;
    // Each probe finds a bucket that has filled, and then its end.
    assert!(share > 0.6 && losses < 0.1, "{share} with {losses} of losses");
}

#[test]
fn entering_and_exiting_probe_rtt_during_startup() {
    let mut path = Path::new(10.0, 40).limited(2.0);
    path.until(State::ProbeRtt, 8.0);
    assert!(!path.control().model.full.reached);
    assert_eq!(path.next(2.0), State::Startup);
}

#[test]
fn handling_loss_during_probe_up_after_inflight_longterm_is_set() {
    let mut path = Path::new(10.0, 40);
    path.queue_limit = 20;
    let mut path = path.endless();
    path.run(3.0);
    let before = path.control().model.inflight_longterm;
    assert!(before.is_finite());
    let mut probes = 0;
    while probes < 3 {
        path.until(State::Up, 10.0);
        path.queue_limit = 6;
        let cwnd = path.cwnd();
        assert_eq!(path.next(2.0), State::Down);
        let bound = path.control().model.inflight_longterm;
        assert!(bound.is_finite() && bound >= 0.6 * cwnd.min(path.control().bdp(1.0)), "{bound} of {cwnd}");
        probes += 1;
    }
    assert!(path.control().model.inflight_longterm < before, "{before}");
}

#[test]
fn handling_application_limited_sending_during_probe_refill() {
    let mut path = Path::new(10.0, 40).endless();
    path.until(State::Refill, 10.0);
    let before = path.control().model.max_bw();
    path.sender.stop(Time::ZERO + Span::from_secs_f64(path.now()));
    path.app_rate = Some(1e6 / 8.0);
    path.write(1000);
    path.until(State::Up, 2.0);
    path.run(1.0);
    assert_eq!(path.control().model.max_bw(), before);
    path.app_rate = None;
    path.sender.write(u64::MAX >> 1, Time::ZERO + Span::from_secs_f64(path.now()));
    path.write(1000);
    let share = path.run(10.0);
    assert!(share > 0.9, "{share}");
}
