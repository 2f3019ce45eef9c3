//! One station with an empty context. The tests tell it what its radio senses, and check its frames and deadlines.

mod amendments;
mod procedures;
mod rates;
mod retries;

use hopyard_engine::Streams;
use hopyard_engine::units::{Bytes, Rate};

use super::*;
use crate::packet::{Body, Packet, UdpHeader};
use crate::params::{NS2, Params as _, RFC};
use crate::phy::mode::MODES;

/// The level at which frames are received.
const LEVEL: Level = Level::new(1e-9, 0, 1e-13);

const ME: InterfaceId = InterfaceId(0);
const PEER: InterfaceId = InterfaceId(1);
const OTHER: InterfaceId = InterfaceId(2);

/// Payload with which a unicast data frame has 500 bytes in the rfc profile: 2192 us at 2 Mb/s.
const SIZE: u32 = 464;
const DATA: u64 = 2192;
/// RTS, CTS and ACK at 1 Mb/s.
const RTS: u64 = 352;
const CTS: u64 = 304;
const ACK: u64 = 304;
const SIFS: u64 = 10;
const DIFS: u64 = 50;
const EIFS: u64 = 364;
const SLOT: u64 = 20;

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

/// A station that follows every parameter.
type Bench = Station<Mixed>;

struct Station<P> {
    station: Dcf<P>,
    timing: Timing,
    cx: Context,
    /// Frames sent and not yet checked, with the time in us at which their transmission began.
    sent: Vec<(u64, Frame)>,
}

impl<P: Procedure> Station<P> {
    fn new(profile: &str, seed: u64, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Params::of_profile(profile);
        change(&mut params);
        params.check().expect("possible parameters");
        let timing = Timing::new(&params);
        let identity = Identity { interface: ME, node: NodeId(0), station: 0 };
        let station = Dcf::new(identity, &timing, Streams::new(seed, 0).node(0, "backoff"));
        Self { station, timing, cx: Context::default(), sent: Vec::new() }
    }

    fn packet(&mut self) -> PacketId {
        self.cx.originate(Packet {
            created: self.cx.now,
            ttl: 9,
            ..crate::samples::packet(SIZE, Body::Udp(UdpHeader { sequence: 0, len: SIZE - 28, identification: None }))
        })
    }

    /// Gives the station a packet at this time.
    fn accept(&mut self, at: u64, to: InterfaceId) -> PacketId {
        self.to(at);
        let packet = self.packet();
        let outgoing = Outgoing { packet, size: SIZE, to };
        self.station.accept(outgoing, &self.timing, &mut self.cx);
        packet
    }

    /// Serves all deadlines before `at`.
    fn to(&mut self, at: u64) {
        while self.station.deadline(&self.timing) < us(at) {
            self.serve();
        }
        self.cx.now = us(at);
    }

    /// Serves the next deadline, and gives its time in us.
    fn serve(&mut self) -> u64 {
        let deadline = self.station.deadline(&self.timing).max(self.cx.now);
        assert!(deadline < Time::NEVER, "the station waits for nothing");
        self.cx.now = deadline;
        let at = deadline.nanos() / 1000;
        if let Some(frame) = self.station.on_timer(&self.timing, &mut self.cx) {
            self.sent.push((at, frame));
        }
        at
    }

    /// The next frame that the station sends, and when.
    fn next_frame(&mut self) -> (u64, Frame) {
        while self.sent.is_empty() {
            self.serve();
        }
        self.sent.remove(0)
    }

    /// The medium is busy from `from` to `to` with something that is no frame.
    fn noise(&mut self, from: u64, to: u64) {
        self.to(from);
        self.station.on_busy(&self.timing, us(from));
        self.to(to);
        self.station.on_idle(&self.timing, us(to));
    }

    /// A frame is received in error.
    fn broken_frame(&mut self, from: u64, to: u64) {
        self.to(from);
        self.station.on_busy(&self.timing, us(from));
        self.to(to);
        self.station.on_sensed(Sensed::Error, &self.timing, us(to));
        self.station.on_idle(&self.timing, us(to));
    }

    /// A frame is received from `at` on. Returns when it ends.
    fn hear(&mut self, at: u64, frame: &Frame) -> u64 {
        self.to(at);
        self.station.on_busy(&self.timing, us(at));
        let end = at + frame.airtime.nanos() / 1000;
        self.to(end);
        if frame.receiver == ME || frame.receiver.is_broadcast() {
            self.station.on_frame(frame, LEVEL, &self.timing, &mut self.cx);
        } else {
            self.station.on_sensed(Sensed::Other(frame), &self.timing, us(end));
        }
        self.station.on_idle(&self.timing, us(end));
        end
    }

    /// The actions of the station since the last call.
    fn actions(&mut self) -> Vec<Action> {
        self.cx.actions.drain(..).collect()
    }

    /// Slots between the end of an interframe space and the station's next transmission.
    fn slots(&mut self, since: u64, ifs: u64) -> u64 {
        let (at, _) = self.next_frame();
        assert!(at >= since + ifs && (at - since - ifs).is_multiple_of(SLOT), "{at} us, idle since {since}");
        (at - since - ifs) / SLOT
    }
}

fn control(kind: FrameKind, from: InterfaceId, to: InterfaceId, duration: u64) -> Frame {
    let airtime = if kind == FrameKind::Rts { RTS } else { CTS };
    Frame {
        transmitter: from,
        receiver: to,
        airtime: Span::from_micros(airtime),
        bytes: if kind == FrameKind::Rts { RTS_BYTES } else { CTS_BYTES },
        preamble: MODES[0].preamble,
        mode: &MODES[0],
        packet: None,
        kept: true,
        control: Control { kind, duration: Span::from_micros(duration), sequence: 0, retry: false, ratio: 0.0 },
    }
}

fn data<P: Procedure>(bench: &mut Station<P>, from: InterfaceId, to: InterfaceId, sequence: u16, retry: bool) -> Frame {
    Frame {
        transmitter: from,
        receiver: to,
        airtime: Span::from_micros(DATA),
        bytes: 500,
        preamble: MODES[1].preamble,
        mode: &MODES[1],
        packet: Some(bench.packet()),
        kept: true,
        control: Control {
            kind: FrameKind::Data,
            duration: Span::from_micros(SIFS + ACK),
            sequence,
            retry,
            ratio: 0.0,
        },
    }
}

fn arrivals(actions: &[Action]) -> usize {
    actions.iter().filter(|action| matches!(action, Action::Arrived { .. })).count()
}

fn failed(actions: &[Action]) -> Option<PacketId> {
    actions.iter().find_map(|action| match action {
        Action::LinkFailed { packet, to, .. } => {
            assert_eq!(*to, PEER);
            Some(*packet)
        }
        _ => None,
    })
}

#[test]
fn after_a_difs_of_silence_access_is_immediate() {
    let mut bench = Bench::new(RFC, 1, |_| {});
    bench.accept(1000, PEER);
    let (at, frame) = bench.next_frame();
    assert_eq!((at, frame.control.kind, frame.control.retry), (1000, FrameKind::Data, false));
    assert_eq!(frame.control.duration, Span::from_micros(SIFS + ACK));
    assert_eq!(frame.airtime, Span::from_micros(DATA));
    // §9.2.5.1: the DIFS counts from when the medium turned idle, not from when the packet came.
    let mut bench = Bench::new(RFC, 1, |_| {});
    bench.noise(100, 500);
    bench.accept(520, PEER);
    assert_eq!(bench.next_frame().0, 500 + DIFS);
}

#[test]
fn a_medium_that_turns_busy_within_the_difs_costs_a_backoff() {
    let mut draws: Vec<u64> = (0..400)
        .map(|seed| {
            let mut bench = Bench::new(RFC, seed, |_| {});
            bench.accept(20, PEER);
            bench.noise(30, 500);
            bench.slots(500, DIFS)
        })
        .collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws, (0..=31).collect::<Vec<_>>(), "a station draws from 0 to CW");
}

#[test]
fn ns2_always_waits_and_never_draws_the_whole_window() {
    let mut draws: Vec<u64> = (0..400)
        .map(|seed| {
            let mut bench = Bench::new(NS2, seed, |dcf| dcf.rts_threshold = Bytes::new(3000));
            bench.accept(1000, PEER);
            bench.slots(1000, DIFS)
        })
        .collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws, (0..=30).collect::<Vec<_>>());
}

/// A station in the middle of its back-off, which began at 500 us, and the slots it has to wait.
fn in_backoff(profile: &str, least: u64) -> (Bench, u64) {
    (0..)
        .map(|seed| {
            let mut bench = Bench::new(profile, seed, |dcf| dcf.rts_threshold = Bytes::new(3000));
            bench.accept(20, PEER);
            bench.noise(30, 500);
            let slots = (bench.station.deadline(&bench.timing).since(us(500 + DIFS)).nanos() / 1000) / SLOT;
            (bench, slots)
        })
        .find(|(_, slots)| *slots >= least)
        .expect("some seed draws as many")
}

#[test]
fn a_backoff_is_frozen_by_whole_slots() {
    for (busy_after, gone) in [(0, 0), (30, 0), (DIFS, 0), (DIFS + 19, 0), (DIFS + 20, 1), (DIFS + 53, 2)] {
        let (mut bench, slots) = in_backoff(RFC, 5);
        bench.noise(500 + busy_after, 900);
        assert_eq!(bench.slots(900, DIFS), slots - gone, "busy {busy_after} us into the idle time");
    }
}

#[test]
fn a_backoff_that_ends_as_the_medium_turns_busy_ends_in_a_collision() {
    let (mut bench, slots) = in_backoff(RFC, 5);
    let end = 500 + DIFS + slots * SLOT;
    bench.to(end);
    bench.station.on_busy(&bench.timing, us(end));
    assert_eq!(bench.next_frame().0, end);
    // ns-2 looks once more, sees the other, and starts anew with a wider window.
    let widest = (0..200).map(|_| 0).chain((0..300).map(|seed| {
        let mut bench = Bench::new(NS2, seed, |dcf| dcf.rts_threshold = Bytes::new(3000));
        bench.accept(0, PEER);
        let end = bench.station.deadline(&bench.timing).nanos() / 1000;
        bench.to(end);
        bench.station.on_busy(&bench.timing, us(end));
        bench.to(end + 1);
        assert!(bench.sent.is_empty());
        bench.to(2000);
        bench.station.on_idle(&bench.timing, us(2000));
        bench.slots(2000, DIFS)
    }));
    let widest = widest.max().expect("draws");
    assert!((50..63).contains(&widest), "drawn up to {widest}");
}

#[test]
fn every_success_is_followed_by_a_backoff() {
    let mut draws: Vec<u64> = (0..400)
        .map(|seed| {
            let mut bench = Bench::new(RFC, seed, |_| {});
            bench.accept(1000, PEER);
            let (at, _) = bench.next_frame();
            let end = bench.hear(at + DATA + SIFS, &control(FrameKind::Ack, PEER, ME, 0));
            assert_eq!(bench.cx.ledger.handed_over, 1);
            assert!(matches!(bench.actions()[..], [Action::MacReady { interface: ME }]));
            bench.accept(end, PEER);
            bench.slots(end, DIFS)
        })
        .collect();
    draws.sort_unstable();
    draws.dedup();
    assert_eq!(draws, (0..=31).collect::<Vec<_>>());
}

#[test]
fn once_the_backoff_after_a_success_is_over_access_is_immediate_again() {
    let mut bench = Bench::new(RFC, 3, |_| {});
    bench.accept(1000, PEER);
    let (at, _) = bench.next_frame();
    let end = bench.hear(at + DATA + SIFS, &control(FrameKind::Ack, PEER, ME, 0));
    let later = end + DIFS + 32 * SLOT;
    bench.to(later);
    bench.accept(later, PEER);
    assert_eq!(bench.next_frame().0, later);
}

#[test]
fn a_frame_in_error_makes_the_space_an_eifs_once() {
    let (mut bench, slots) = in_backoff(RFC, 5);
    bench.broken_frame(500, 900);
    assert_eq!(bench.slots(900, EIFS), slots);
    // A frame without error ends the EIFS.
    let (mut bench, slots) = in_backoff(RFC, 5);
    bench.broken_frame(500, 900);
    let end = bench.hear(910, &control(FrameKind::Ack, PEER, OTHER, 0));
    assert_eq!(bench.slots(end, DIFS), slots);
    // Noise during the EIFS ends before the EIFS does: what is left of it, or a DIFS, whichever is longer.
    let (mut bench, slots) = in_backoff(RFC, 5);
    bench.broken_frame(500, 900);
    bench.noise(920, 1000);
    assert_eq!(bench.slots(1000, EIFS - 100), slots);
    // Noise after it: the EIFS is over.
    let (mut bench, slots) = in_backoff(RFC, 5);
    bench.broken_frame(500, 900);
    bench.noise(900 + EIFS + SLOT, 1600);
    assert_eq!(bench.slots(1600, DIFS), slots - 1);
}

#[test]
fn the_eifs_begins_when_the_medium_turns_idle() {
    // Another signal outlasts the broken frame.
    for outlasts in [100, 300, 400, 1000] {
        let (mut bench, slots) = in_backoff(RFC, 5);
        bench.to(500);
        bench.station.on_busy(&bench.timing, us(500));
        bench.to(900);
        bench.station.on_sensed(Sensed::Error, &bench.timing, us(900));
        bench.to(900 + outlasts);
        bench.station.on_idle(&bench.timing, us(900 + outlasts));
        assert_eq!(bench.slots(900 + outlasts, EIFS), slots, "{outlasts} us");
    }
}

#[test]
fn in_ns2_a_frame_in_error_sets_the_nav() {
    let (mut bench, slots) = in_backoff(NS2, 5);
    bench.broken_frame(500, 900);
    assert_eq!(bench.slots(900 + EIFS, DIFS), slots);
    // A frame ignored for the sake of a stronger one does so from its own end.
    let (mut bench, slots) = in_backoff(NS2, 5);
    bench.to(500);
    bench.station.on_busy(&bench.timing, us(500));
    bench.station.on_sensed(Sensed::Ignored(us(1300)), &bench.timing, us(600));
    bench.to(900);
    bench.station.on_idle(&bench.timing, us(900));
    assert_eq!(bench.slots(1300 + EIFS, DIFS), slots);
}

#[test]
fn the_nav_takes_the_larger_value() {
    let (mut bench, slots) = in_backoff(RFC, 5);
    let end = bench.hear(500, &control(FrameKind::Cts, PEER, OTHER, 3000));
    let again = bench.hear(end + 20, &control(FrameKind::Cts, PEER, OTHER, 100));
    assert!(again + 100 < end + 3000);
    assert_eq!(bench.slots(end + 3000, DIFS), slots);
    // What is for the station itself does not set its NAV.
    let (mut bench, slots) = in_backoff(RFC, 5);
    let end = bench.hear(500, &control(FrameKind::Ack, PEER, ME, 3000));
    assert_eq!(bench.slots(end, DIFS), slots);
}

#[test]
fn the_nav_of_an_rts_without_consequence_is_reset() {
    let guard = 2 * SIFS + CTS + 2 * SLOT;
    for (profile, expected) in [(RFC, guard), (NS2, 5000)] {
        let (mut bench, slots) = in_backoff(profile, 5);
        let end = bench.hear(500, &control(FrameKind::Rts, PEER, OTHER, 5000));
        assert_eq!(bench.slots(end + expected, DIFS), slots, "{profile}");
    }
    // The data that the RTS announced do begin: the NAV stays, also when they cannot be decoded.
    let (mut bench, slots) = in_backoff(RFC, 5);
    let end = bench.hear(500, &control(FrameKind::Rts, PEER, OTHER, 5000));
    bench.noise(end + guard - 1, end + 2000);
    assert_eq!(bench.slots(end + 5000, DIFS), slots);
    // They begin too late.
    let (mut bench, slots) = in_backoff(RFC, 5);
    let end = bench.hear(500, &control(FrameKind::Rts, PEER, OTHER, 5000));
    bench.noise(end + guard + 1, end + 2000);
    assert_eq!(bench.slots(end + 2000, DIFS), slots);
}

#[test]
fn an_rts_is_answered_only_with_an_idle_nav() {
    let rts = control(FrameKind::Rts, PEER, ME, 3 * SIFS + CTS + DATA + ACK);
    let mut bench = Bench::new(RFC, 1, |_| {});
    let end = bench.hear(1000, &rts);
    let (at, cts) = bench.next_frame();
    assert_eq!((at, cts.control.kind, cts.receiver), (end + SIFS, FrameKind::Cts, PEER));
    assert_eq!(cts.control.duration, Span::from_micros(2 * SIFS + DATA + ACK));
    let mut bench = Bench::new(RFC, 1, |_| {});
    let nav = bench.hear(100, &control(FrameKind::Cts, PEER, OTHER, 4000));
    let end = bench.hear(nav + 10, &rts);
    bench.to(end + 3000);
    assert!(bench.sent.is_empty());
    // The physical medium does not count, but for ns-2.
    for (profile, answered) in [(RFC, true), (NS2, false)] {
        let mut bench = Bench::new(profile, 1, |_| {});
        let end = bench.hear(1000, &rts);
        bench.to(end + 5);
        bench.station.on_busy(&bench.timing, us(end + 5));
        bench.to(end + 100);
        assert_eq!(!bench.sent.is_empty(), answered, "{profile}");
    }
}

#[test]
fn an_ack_is_sent_without_regard_to_medium_and_nav() {
    let mut bench = Bench::new(RFC, 1, |_| {});
    bench.hear(0, &control(FrameKind::Cts, PEER, OTHER, 9000));
    let frame = data(&mut bench, PEER, ME, 7, false);
    let end = bench.hear(1000, &frame);
    bench.to(end + 2);
    bench.station.on_busy(&bench.timing, us(end + 2));
    let (at, ack) = bench.next_frame();
    assert_eq!(
        (at, ack.control.kind, ack.receiver, ack.control.duration),
        (end + SIFS, FrameKind::Ack, PEER, Span::ZERO)
    );
    assert_eq!(arrivals(&bench.actions()), 1);
}

#[test]
fn a_frame_announced_by_an_rts_runs_through_four_frames() {
    let mut bench = Bench::new(RFC, 1, |dcf| dcf.rts_threshold = Bytes::new(500));
    bench.accept(1000, PEER);
    let (at, rts) = bench.next_frame();
    assert_eq!((at, rts.control.kind, rts.airtime), (1000, FrameKind::Rts, Span::from_micros(RTS)));
    assert_eq!(rts.control.duration, Span::from_micros(3 * SIFS + CTS + DATA + ACK));
    let end = bench.hear(at + RTS + SIFS, &control(FrameKind::Cts, PEER, ME, 2 * SIFS + DATA + ACK));
    // The data follow in any case; only ns-2 looks whether the medium is idle.
    bench.to(end + 3);
    bench.station.on_busy(&bench.timing, us(end + 3));
    let (at, frame) = bench.next_frame();
    assert_eq!((at, frame.control.kind), (end + SIFS, FrameKind::Data));
    bench.station.on_idle(&bench.timing, us(at));
    bench.hear(at + DATA + SIFS, &control(FrameKind::Ack, PEER, ME, 0));
    assert_eq!(bench.cx.ledger.handed_over, 1);

    let mut bench = Bench::new(NS2, 1, |_| {});
    bench.accept(1000, PEER);
    let (at, _) = bench.next_frame();
    let end = bench.hear(at + RTS + SIFS, &control(FrameKind::Cts, PEER, ME, 2 * SIFS + DATA + ACK));
    bench.to(end + 3);
    bench.station.on_busy(&bench.timing, us(end + 3));
    bench.to(end + 500);
    assert!(bench.sent.is_empty());
    bench.station.on_idle(&bench.timing, us(end + 500));
    assert_eq!(bench.next_frame().1.control.kind, FrameKind::Rts, "the exchange starts anew");
}

#[test]
fn what_was_received_before_is_acknowledged_but_not_passed_on() {
    let mut bench = Bench::new(RFC, 1, |_| {});
    let mut time = 1000;
    for (from, sequence, retry, new) in [
        (PEER, 7, false, true),
        (PEER, 7, true, false),
        // Another sender has its own numbers.
        (OTHER, 7, true, true),
        (PEER, 8, true, true),
        // Without the retry flag it is a new frame, whatever its number.
        (PEER, 8, false, true),
        (PEER, 8, true, false),
    ] {
        let frame = data(&mut bench, from, ME, sequence, retry);
        let end = bench.hear(time, &frame);
        assert_eq!(arrivals(&bench.actions()), usize::from(new), "{sequence} from {from}, retry {retry}");
        assert_eq!(bench.next_frame().1.control.kind, FrameKind::Ack);
        time = end + SIFS + ACK + 100;
        bench.to(time);
    }
    assert_eq!(bench.station.counters.duplicates, 2);
    assert_eq!(bench.cx.ledger.copied, 4);
}

#[test]
fn a_broadcast_is_sent_once_at_the_basic_rate() {
    let mut bench = Bench::new(RFC, 1, |_| {});
    let packet = bench.accept(1000, InterfaceId::BROADCAST);
    assert_eq!(bench.station.held(), [packet]);
    let (at, frame) = bench.next_frame();
    assert_eq!(
        (at, frame.control.kind, frame.control.duration, frame.mode.rate().bps()),
        (1000, FrameKind::Data, Span::ZERO, 1_000_000)
    );
    assert_eq!(frame.airtime, Span::from_micros(192 + 500 * 8));
    assert_eq!(bench.station.held(), [], "on the air it belongs to the medium");
    let end = bench.serve();
    assert_eq!(end, at + 192 + 500 * 8);
    assert!(matches!(bench.actions()[..], [Action::MacReady { .. }]));
    bench.accept(end, InterfaceId::BROADCAST);
    assert!(bench.slots(end, DIFS) <= 31);
    assert_eq!((bench.station.counters.broadcasts, bench.station.counters.ack_failures), (2, 0));
    // A broadcast received goes up, and is not acknowledged.
    let mut bench = Bench::new(RFC, 1, |_| {});
    let frame = data(&mut bench, PEER, InterfaceId::BROADCAST, 3, false);
    let end = bench.hear(1000, &frame);
    assert_eq!(arrivals(&bench.actions()), 1);
    bench.to(end + 1000);
    assert!(bench.sent.is_empty());
}

#[test]
fn an_answer_that_has_begun_is_heard_out() {
    // At 3 km an ACK begins and ends 20 us later than it would from nearby: after the wait of 2 us more.
    let answer = |profile: &str| {
        let mut bench = Bench::new(profile, 1, |dcf| {
            dcf.rts_threshold = Bytes::new(3000);
            (dcf.header, dcf.max_propagation) = (Bytes::new(36), Span::from_micros(1));
        });
        bench.accept(1000, PEER);
        let (at, _) = bench.next_frame();
        bench.hear(at + DATA + SIFS + 20, &control(FrameKind::Ack, PEER, ME, 0));
        (bench.cx.ledger.handed_over, bench.station.counters.ack_failures)
    };
    assert_eq!(answer(RFC), (1, 0));
    assert_eq!(answer(NS2), (0, 1));
    // It was not the answer, so the frame has failed when it ends.
    let mut bench = Bench::new(RFC, 1, |_| {});
    bench.accept(1000, PEER);
    let (at, _) = bench.next_frame();
    let end = at + DATA + 400;
    bench.broken_frame(at + DATA + 100, end);
    assert_eq!(bench.serve(), end);
    assert_eq!(bench.station.counters.ack_failures, 1);
    assert!(bench.next_frame().0 >= end + EIFS);
}

#[test]
fn anything_but_the_answer_is_a_failure_and_is_processed() {
    let mut bench = Bench::new(RFC, 1, |dcf| {
        // Short enough to be received whole while the station waits.
        dcf.rate = Rate::from_bps(11_000_000).into();
    });
    bench.accept(1000, PEER);
    let (at, sent) = bench.next_frame();
    let mut frame = data(&mut bench, OTHER, ME, 1, false);
    (frame.bytes, frame.airtime) = (64, Span::from_micros(240));
    let end = bench.hear(at + sent.airtime.nanos() / 1000 + 5, &frame);
    assert_eq!(bench.station.counters.ack_failures, 1);
    assert_eq!(arrivals(&bench.actions()), 1);
    let (at, ack) = bench.next_frame();
    assert_eq!((at, ack.control.kind, ack.receiver), (end + SIFS, FrameKind::Ack, OTHER));
    let (_, again) = bench.next_frame();
    assert!(again.control.retry && again.receiver == PEER);
}

#[test]
fn airtimes_follow_preamble_and_rate() {
    let long = Timing::new(&Params::of_profile(RFC));
    assert_eq!(long.modes.data.airtime(500), Span::from_micros(192 + 2000));
    assert_eq!(long.modes.basic.airtime(500), Span::from_micros(192 + 4000));
    assert_eq!((long.difs, long.eifs), (Span::from_micros(DIFS), Span::from_micros(EIFS)));
    let short = Timing::new(&Params {
        preamble: Preamble::Short,
        basic_rate: Rate::from_bps(2_000_000),
        ..Params::of_profile(RFC)
    });
    assert_eq!(short.modes.data.airtime(500), Span::from_micros(96 + 2000));
    assert_eq!(short.cts, Span::from_micros(96 + 56));
}
