//! Two stations without a medium between them. The tests say which MPDUs are lost.

mod rates;

use std::collections::VecDeque;

use hopyard_engine::units::{Bytes, Frequency};
use hopyard_engine::{Span, Streams};

use super::*;
use crate::context::Action;
use crate::mac::dcf::Amendment;
use crate::packet::{Body, Mpdu, Series, Stage, UdpHeader};
use crate::params::{Params as _, RFC};
use crate::phy::frame::{Fields as _, pieces};

/// Every MPDU of a frame.
const ALL: u64 = u64::MAX;

fn params(change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::of_profile(RFC);
    params.dcf.standard = Amendment::N;
    params.follow("standard");
    params.dcf.rate = "mcs7".parse().expect("a mode");
    change(&mut params);
    params.check().expect("possible parameters");
    params
}

/// Station 0 sends packets to station 1.
struct Pair {
    stations: [Edca; 2],
    timing: Timing,
    cx: Context,
    waiting: VecDeque<Outgoing>,
    /// The frame on the air, when it ends, and who sends it.
    air: Option<(Time, usize, Frame)>,
    sent: Vec<(Time, usize, Frame)>,
    /// The numbers of the packets that station 1 passed up, by their creation.
    arrived: Vec<u64>,
    failed: Vec<u64>,
    /// How often station 0 said that the mode of its link changes.
    rate_changes: u32,
}

impl Pair {
    fn new(params: &Params) -> Self {
        Self::with(Timing::new(params))
    }

    fn with(timing: Timing) -> Self {
        let station = |number: u32| {
            let identity = Identity { interface: InterfaceId(number), node: NodeId(number), station: number as usize };
            Edca::new(identity, &timing, Streams::new(1, 0).node(number as usize, "backoff"))
        };
        Self {
            stations: [station(0), station(1)],
            timing,
            cx: Context::default(),
            waiting: VecDeque::new(),
            air: None,
            sent: Vec::new(),
            arrived: Vec::new(),
            failed: Vec::new(),
            rate_changes: 0,
        }
    }

    /// Packets of this size, numbered by the time of their creation, come to the queue of station 0.
    fn queue(&mut self, count: u64, size: u32, dscp: u8) -> &mut Self {
        for _ in 0..count {
            let number = self.cx.ledger.originated;
            let body = Body::Udp(UdpHeader { sequence: 0, len: size - 28, identification: None });
            let packet = self.cx.originate(Packet { class: dscp << 2, ..packet(number, size, body) });
            self.waiting.push_back(Outgoing { packet, size, to: InterfaceId(1) });
        }
        self.serve();
        self
    }

    fn serve(&mut self) {
        let Self { stations, timing, cx, waiting, .. } = self;
        let takes =
            |station: &Edca, it: &Outgoing, cx: &Context| station.takes(&cx.packets[it.packet], it.to, timing, cx.now);
        while let Some(place) = waiting.iter().position(|it| takes(&stations[0], it, cx)) {
            let outgoing = waiting.remove(place).expect("it is there");
            stations[0].accept(outgoing, timing, cx);
        }
    }

    fn drain(&mut self) {
        while let Some(action) = self.cx.actions.pop_front() {
            match action {
                Action::MacReady { interface: InterfaceId(0) } => self.serve(),
                Action::Arrived { packet, .. } => self.arrived.push(self.cx.deliver(packet).created.nanos()),
                Action::LinkFailed { packet, .. } => {
                    self.failed.push(self.cx.packets[packet].created.nanos());
                    self.cx.drop_packet(NodeId(0), packet, DropReason::RetryLimit);
                }
                Action::RateChanged { interface: InterfaceId(0), neighbour: InterfaceId(1) } => self.rate_changes += 1,
                _ => {}
            }
        }
    }

    /// Serves the next end of a frame, or the next deadlines. `lost` says which MPDUs of a frame are lost.
    fn step(&mut self, lost: &mut impl FnMut(&Frame) -> u64) -> bool {
        let deadlines = self.stations.each_ref().map(|it| it.deadline(&self.timing));
        let next = deadlines[0].min(deadlines[1]);
        if let Some((end, from, frame)) = self.air.take_if(|(end, ..)| *end <= next) {
            self.cx.now = end;
            let (to, damaged) = (&mut self.stations[1 - from], lost(&frame));
            let last = pieces(frame.control.parts()).last().map_or(0, |(piece, _)| piece);
            // Nothing of a frame is left.
            if (!damaged & (ALL >> (63 - last))) == 0 {
                to.on_sensed(Sensed::Error, &self.timing, end);
            } else {
                to.on_frame(&frame, Level::new(1e-9, 0, 1e-13).damaged(damaged), &self.timing, &mut self.cx);
            }
            to.on_sensed(Sensed::Idle, &self.timing, end);
            self.drain();
            return true;
        }
        if next == Time::NEVER {
            return false;
        }
        self.cx.now = next.max(self.cx.now);
        for from in [0, 1] {
            if self.stations[from].deadline(&self.timing) > self.cx.now {
                continue;
            }
            if from == 0 {
                self.serve();
            }
            if let Some(frame) = self.stations[from].on_timer(&self.timing, &mut self.cx) {
                self.stations[1 - from].on_sensed(Sensed::Busy, &self.timing, self.cx.now);
                self.sent.push((self.cx.now, from, frame.clone()));
                self.air = Some((self.cx.now + frame.airtime, from, frame));
            }
            self.drain();
        }
        true
    }

    /// Runs until nothing is left to do.
    fn run(&mut self, mut lost: impl FnMut(&Frame) -> u64) {
        while self.step(&mut lost) {
            assert!(self.sent.len() < 20_000, "it does not end");
        }
        let held: usize = self.stations.iter().map(|it| it.held().len()).sum();
        assert_eq!((held, self.waiting.len(), self.cx.packets.len()), (0, 0, 0), "every packet has an end");
        assert_eq!(self.cx.ledger.outstanding(), 0);
        assert_eq!(self.cx.copies.vanished(), 0, "what is acknowledged was passed up: {:?}", self.missing());
    }

    /// The packets that neither arrived nor were given up, and the last frames.
    fn missing(&self) -> (Vec<u64>, Vec<String>) {
        let all = 0..self.cx.ledger.originated;
        let missing = all.filter(|it| !self.arrived.contains(it) && !self.failed.contains(it)).collect();
        let frames = self.sent.iter().map(|(at, from, frame)| {
            let parts: Vec<u16> = frame.control.parts().iter().map(|part| part.sequence).collect();
            format!("\n{} {from} {:?} {} {parts:?}", at.nanos() / 1000, frame.control.kind, frame.control.sequence)
        });
        (missing, frames.collect())
    }

    /// The kinds of the frames that a station sent.
    fn kinds(&self, station: usize) -> Vec<FrameKind> {
        self.sent.iter().filter(|it| it.1 == station).map(|it| it.2.control.kind).collect()
    }

    /// The frames of station 0 with several packets: their numbers.
    fn aggregates(&self) -> Vec<Vec<u16>> {
        let frames = self.sent.iter().filter(|it| it.1 == 0 && !it.2.control.parts().is_empty());
        frames.map(|it| it.2.control.parts().iter().map(|part| part.sequence).collect()).collect()
    }
}

/// A packet whose number is the time of its creation.
fn packet(number: u64, size: u32, body: Body) -> Packet {
    Packet { created: Time::from_nanos(number), ttl: 9, ..crate::samples::packet(size, body) }
}

fn is_data(frame: &Frame) -> bool {
    frame.control.kind == FrameKind::Data
}

#[test]
fn stations_agree_before_the_first_aggregate() {
    let mut pair = Pair::new(&params(|_| {}));
    pair.queue(10, 1500, 0).run(|_| 0);
    assert_eq!(pair.arrived, (0..10).collect::<Vec<_>>());
    let [sender, receiver] = [0, 1].map(|station| pair.kinds(station));
    assert_eq!(sender[0], FrameKind::AddbaRequest { start: 0 });
    assert_eq!(receiver[..1], [FrameKind::Ack]);
    assert!(receiver.contains(&FrameKind::AddbaResponse), "{receiver:?}");
    let last = receiver.last().expect("an answer");
    assert!(matches!(last, FrameKind::BlockAck { .. }), "{last:?}");
    // A request and its response have 37 bytes; they are answered within a SIFS, at the basic rate that they have too.
    let (asked, _, request) = &pair.sent[0];
    assert_eq!((request.bytes, pair.sent[1].0), (37, *asked + request.airtime + Span::from_micros(16)));
    let slowest = "6 Mbps".parse().expect("a rate");
    assert_eq!((request.mode.name(), pair.sent[1].2.mode.name()), (slowest, slowest));
    assert_eq!(request.control.duration, Span::from_micros(16 + 44));
}

#[test]
fn from_the_start_no_request_is_sent() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(10, 1500, 0).run(|_| 0);
    assert_eq!(pair.sent.len(), 2, "one frame and its answer");
    let (_, _, frame) = &pair.sent[0];
    assert_eq!(pair.aggregates(), [(0..10).collect::<Vec<_>>()]);
    // Nine delimiters and MPDUs of 1538 bytes with two of padding, and the last one.
    assert_eq!((frame.bytes, frame.mode.name()), (9 * 1544 + 1542, "mcs7".parse().expect("a mode")));
    assert_eq!(frame.control.duration, Span::from_micros(16 + 32), "a block acknowledgement at 24 Mb/s");
    assert_eq!(pair.kinds(1), [FrameKind::BlockAck { tid: 0, start: 0, received: 0x3ff }]);
}

#[test]
fn a_lost_mpdu_alone_is_sent_again() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(30, 1500, 0);
    let mut frames = 0;
    pair.run(|frame| {
        frames += u32::from(is_data(frame));
        if is_data(frame) && frames == 1 { 1 << 2 | 1 << 5 } else { 0 }
    });
    assert_eq!(pair.aggregates()[0], (0..28).collect::<Vec<_>>(), "28 in 5.484 ms");
    assert_eq!(pair.aggregates()[1], [2, 5, 28, 29]);
    let retries: Vec<bool> = pair.sent[2].2.control.parts().iter().map(|part| part.retry).collect();
    assert_eq!(retries, [true, true, false, false]);
    assert_eq!(pair.arrived, (0..30).collect::<Vec<_>>(), "in order");
    assert_eq!((pair.stations[0].counters.mpdus, pair.stations[0].counters.mpdus_again), (32, 2));
    assert_eq!(pair.stations[1].counters.duplicates, 0);
}

#[test]
fn without_the_answer_the_whole_frame_is_sent_again() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(6, 1500, 0);
    let mut answers = 0;
    pair.run(|frame| {
        let is_answer = matches!(frame.control.kind, FrameKind::BlockAck { .. });
        answers += u32::from(is_answer);
        if is_answer && answers == 1 { ALL } else { 0 }
    });
    assert_eq!(pair.aggregates(), vec![vec![0, 1, 2, 3, 4, 5]; 2]);
    assert_eq!((pair.arrived.len(), pair.stations[1].counters.duplicates), (6, 6));
    assert_eq!(pair.stations[0].counters.ack_failures, 1);
}

#[test]
fn a_missing_mpdu_is_skipped_after_the_timeout() {
    let mut pair = Pair::new(&params(|it| {
        it.block_ack = BlockAck::FromStart;
        it.mpdu_retry_limit = 10_000;
    }));
    pair.queue(3, 1500, 0);
    let mut since = None;
    let mut at = Vec::new();
    while pair.arrived.len() < 2 {
        let mut lost = |frame: &Frame| match frame.control.parts() {
            [] if is_data(frame) => ALL,
            [_, ..] => 1,
            [] => 0,
        };
        assert!(pair.step(&mut lost));
        let stored = pair.stations[1].held().len() == 2;
        since = since.or(stored.then_some(pair.cx.now));
        at.push(pair.cx.now);
    }
    assert_eq!(pair.cx.now.since(since.expect("stored")), Span::from_millis(100));
    assert_eq!((&pair.arrived[..], pair.stations[1].counters.reorder_timeouts), (&[1, 2][..], 1));
    // When the missing one comes, it is too late.
    pair.run(|_| 0);
    assert_eq!(pair.arrived, [1, 2]);
    let dropped = pair.cx.drops.get(NodeId(1), crate::packet::PacketKind::Data, DropReason::TooLate);
    assert_eq!(dropped, 1);
}

#[test]
fn an_mpdu_that_is_given_up_moves_the_window_of_the_receiver() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(200, 1500, 0);
    // The first MPDU is lost whenever it is sent.
    pair.run(|frame| match frame.control.parts() {
        [] if is_data(frame) && frame.control.sequence == 0 => ALL,
        [first, ..] if first.sequence == 0 => 1,
        _ => 0,
    });
    assert_eq!((&pair.failed[..], pair.arrived.len()), (&[0][..], 199));
    assert_eq!(pair.arrived, (1..200).collect::<Vec<_>>());
    assert_eq!(pair.stations[0].counters.block_ack_requests, 1);
    assert_eq!(pair.stations[1].counters.reorder_timeouts, 0);
    // The request goes at 6 Mb/s, and so does its answer.
    let request = pair.sent.iter().position(|it| matches!(it.2.control.kind, FrameKind::BlockAckRequest { .. }));
    let [(_, _, request), (_, _, answer), ..] = &pair.sent[request.expect("it is there")..] else {
        panic!("an answer")
    };
    assert_eq!((request.control.duration, answer.airtime), (Span::from_micros(16 + 68), Span::from_micros(68)));
    let most = pair.aggregates().iter().flatten().copied().take_while(|_| true).max();
    assert_eq!(most, Some(199));
    // The window of 64 stops the sender until the first one is given up.
    let window = pair.sent.iter().take_while(|it| !matches!(it.2.control.kind, FrameKind::BlockAckRequest { .. }));
    let sent = window.flat_map(|it| it.2.control.parts().iter().map(|part| part.sequence)).max();
    assert_eq!(sent, Some(63));
}

#[test]
fn packets_to_a_station_that_is_gone_are_given_up() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(40, 1500, 0).run(|_| ALL);
    let mut failed = pair.failed.clone();
    failed.sort_unstable();
    assert_eq!((failed.len(), pair.arrived.len()), (40, 0));
    assert_eq!(pair.aggregates().iter().take(7).map(Vec::len).collect::<Vec<_>>(), [28; 7], "sent seven times");
}

#[test]
fn an_a_msdu_carries_several_packets() {
    let mut pair = Pair::new(&params(|it| {
        it.max_amsdu = Bytes::new(3839);
        it.max_ampdu = Bytes::new(0);
    }));
    pair.queue(5, 1500, 0).run(|_| 0);
    assert_eq!(pair.arrived, (0..5).collect::<Vec<_>>());
    // Headers of 14 and 8 bytes before each packet, padded to four: 1524 and 1522; before them 26, behind them 4.
    let sizes: Vec<u32> = pair.sent.iter().filter(|it| it.1 == 0).map(|it| it.2.bytes).collect();
    assert_eq!(sizes, [1524 + 1522 + 30, 1524 + 1522 + 30, 1538]);
    assert_eq!(pair.kinds(1), [FrameKind::Ack; 3]);
}

#[test]
fn an_a_msdu_is_lost_as_a_whole() {
    let mut pair = Pair::new(&params(|it| {
        it.max_amsdu = Bytes::new(3839);
        it.block_ack = BlockAck::FromStart;
    }));
    pair.queue(8, 1500, 0);
    let mut frames = 0;
    pair.run(|frame| {
        frames += u32::from(is_data(frame));
        if is_data(frame) && frames == 1 { 1 << 1 } else { 0 }
    });
    assert_eq!(pair.aggregates(), [vec![0, 0, 1, 1, 2, 2, 3, 3], vec![1, 1]]);
    assert_eq!(pair.arrived, (0..8).collect::<Vec<_>>());
}

#[test]
fn a_txop_goes_on_after_a_sifs() {
    let mut pair = Pair::new(&params(|it| {
        it.dcf.rate = "54 Mbps".parse().expect("a rate");
        it.voice.txop_limit = Span::from_micros(1504);
    }));
    pair.queue(6, 1500, 48).run(|_| 0);
    assert_eq!(pair.arrived, (0..6).collect::<Vec<_>>());
    let begins: Vec<u64> = pair.sent.iter().filter(|it| it.1 == 0).map(|it| it.0.nanos() / 1000).collect();
    // Data of 252 us, SIFS, ACK of 28 us, SIFS; four such exchanges fit in 1504 us.
    let gaps: Vec<u64> = begins.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(gaps[..3], [312; 3], "{gaps:?}");
    assert!(gaps.iter().any(|gap| *gap > 312), "{gaps:?}");
}

#[test]
fn a_window_goes_round() {
    let mut pair = Pair::new(&params(|it| it.block_ack = BlockAck::FromStart));
    pair.queue(5000, 200, 0);
    let mut rng = Streams::new(7, 0).stream("losses");
    pair.run(|frame| if is_data(frame) { rng.below(u64::MAX) & rng.below(u64::MAX) & rng.below(u64::MAX) } else { 0 });
    let (late, lost) = (pair.arrived.len() as u64, pair.failed.len() as u64);
    assert_eq!(late + lost, 5000);
    assert!(pair.arrived.is_sorted(), "in order");
}

#[test]
fn impossible_parameters_are_named() {
    type Change = fn(&mut Params);
    let cases: [(Amendment, Change, &str, &str); 15] = [
        (Amendment::A, |it| it.max_ampdu = Bytes::new(8191), "max_ampdu", "expected 0 B: frames of DSSS and OFDM"),
        (Amendment::G, |it| it.max_amsdu = Bytes::new(3839), "max_amsdu", "expected 0 B: frames of DSSS and OFDM"),
        (Amendment::N, |it| it.max_ampdu = Bytes::new(65_536), "max_ampdu", "expected at most 65535 B"),
        (Amendment::N, |it| it.max_amsdu = Bytes::new(7936), "max_amsdu", "expected at most 7935 B, found 7936 B"),
        (Amendment::N, |it| it.max_ampdu = Bytes::new(1), "max_ampdu", "expected 0 B or at least 86 B, two MPDUs"),
        (Amendment::N, |it| it.max_amsdu = Bytes::new(1), "max_amsdu", "expected 0 B or at least 44 B, the headers"),
        (Amendment::N, |it| it.max_mpdus = 65, "max_mpdus", "expected 1 to 64, found 65"),
        (Amendment::N, |it| it.max_mpdus = 0, "max_mpdus", "expected 1 to 64, found 0"),
        (Amendment::N, |it| it.max_ampdu_time = Span::from_millis(6), "max_ampdu_time", "up to 5.484 ms, found 6 ms"),
        (Amendment::N, |it| it.mpdu_retry_limit = 0, "mpdu_retry_limit", "at least once"),
        (Amendment::N, |it| it.reorder_timeout = Span::ZERO, "reorder_timeout", "above zero"),
        (Amendment::A, |it| it.voice.aifsn = 1, "voice", "expected `aifsn` from 2 to 15, found 1"),
        (Amendment::A, |it| it.video.cw_min = 32, "video", "expected 1 <= cw_min <= cw_max <= 32767, found 32 and 15"),
        (Amendment::A, |it| it.dcf.final_carrier_check = true, "final_carrier_check", "expected false"),
        (Amendment::G, |it| it.dcf.bandwidth = Frequency::new(40e6), "bandwidth", "expected 20 MHz"),
    ];
    for (standard, change, parameter, problem) in cases {
        let mut params = Params::of_profile(RFC);
        params.dcf.standard = standard;
        params.follow("standard");
        assert_eq!(params.check(), Ok(()), "{standard}");
        change(&mut params);
        let fault = params.check().expect_err(problem);
        assert!(fault.parameter == parameter && fault.problem.contains(problem), "{problem}: {fault}");
    }
}

#[test]
fn windows_and_limits_follow_from_the_amendment() {
    let of = |standard| {
        let mut params = Params::of_profile(RFC);
        params.dcf.standard = standard;
        params.follow("standard");
        let windows = params.accesses().map(|it| (it.cw_min, it.cw_max));
        (windows, params.accesses().map(|it| it.txop_limit.nanos() / 1000), params.max_ampdu.count())
    };
    // IEEE Std 802.11-2016 Table 9-137.
    let ofdm = [(15, 1023), (15, 1023), (7, 15), (3, 7)];
    assert_eq!(of(Amendment::B), ([(31, 1023), (31, 1023), (15, 31), (7, 15)], [0, 0, 6016, 3264], 0));
    assert_eq!(of(Amendment::A), (ofdm, [0, 0, 3008, 1504], 0));
    assert_eq!(of(Amendment::N), (ofdm, [0, 0, 3008, 1504], 65_535));
    assert_eq!(of(Amendment::Ac), (ofdm, [0, 0, 3008, 1504], 1_048_575));
}

#[test]
fn two_categories_of_a_station_do_not_send_at_once() {
    // Both have back-offs of zero or one slot, and the same AIFS.
    let mut pair = Pair::new(&params(|it| {
        it.dcf.rate = "54 Mbps".parse().expect("a rate");
        it.video = Access { cw_min: 1, cw_max: 1, txop_limit: Span::ZERO, ..it.video };
        it.voice = Access { cw_min: 1, cw_max: 1, txop_limit: Span::ZERO, ..it.voice };
    }));
    pair.queue(40, 1500, 48).queue(40, 1500, 32).run(|_| 0);
    // Seven such collisions in a row are the end of a packet.
    assert_eq!(pair.arrived.len() + pair.failed.len(), 80);
    assert!(pair.stations[0].counters.internal_collisions > 10);
}

#[test]
fn a_frame_that_was_not_sent_takes_further_packets() {
    for is_rts in [false, true] {
        let mut pair = Pair::new(&params(|it| {
            it.block_ack = BlockAck::FromStart;
            it.dcf.rts_threshold = Bytes::new(if is_rts { 1000 } else { 1_000_000 });
            it.voice.txop_limit = Span::ZERO;
            it.best_effort = Access { aggregate: true, ..it.voice };
        }));
        // Best effort holds one packet when voice sends instead of it, or when the RTS is lost.
        pair.queue(1, 1500, 0);
        if !is_rts {
            pair.queue(1, 100, 48);
        }
        let mut lost_rts = false;
        while !(lost_rts || pair.stations[0].counters.internal_collisions > 0) {
            let mut lose = |frame: &Frame| {
                lost_rts = frame.control.kind == FrameKind::Rts;
                if lost_rts { ALL } else { 0 }
            };
            assert!(pair.step(&mut lose), "neither an internal collision nor an RTS");
        }
        pair.queue(4, 1500, 0).run(|_| 0);
        assert_eq!(pair.aggregates(), [vec![0, 1, 2, 3, 4]], "RTS: {is_rts}");
    }
}

#[test]
fn a_slot_counts_with_the_end_of_the_space() {
    let timing = Timing::new(&params(|_| {}));
    let identity = Identity { interface: InterfaceId(0), node: NodeId(0), station: 0 };
    let mut station = Edca::new(identity, &timing, Streams::new(1, 0).node(0, "backoff"));
    let us = |micros: u64| Time::from_nanos(micros * 1000);
    let place = Category::BestEffort as usize;
    station.contenders[place].backoff = Backoff::Frozen { slots: 5 };
    // AIFS is 43 us. Two slots of 9 us have begun when the medium turns busy: that which ends the space, and one more.
    station.on_sensed(Sensed::Idle, &timing, us(1000));
    station.on_sensed(Sensed::Busy, &timing, us(1000 + 43 + 10));
    assert_eq!(station.contenders[place].backoff, Backoff::Frozen { slots: 3 });
    // Before the end of the space none has.
    station.on_sensed(Sensed::Idle, &timing, us(2000));
    station.on_sensed(Sensed::Busy, &timing, us(2040));
    assert_eq!(station.contenders[place].backoff, Backoff::Frozen { slots: 3 });
    // Without interruption the back-off takes its slots after the space.
    station.on_sensed(Sensed::Idle, &timing, us(3000));
    assert_eq!(station.deadline(&timing), us(3000 + 43 + 27));
}

/// Frames of every kind are lost, and so are MPDUs.
#[test]
fn whatever_is_lost_every_packet_arrives_or_is_given_up() {
    for seed in 0..40 {
        for amsdu in [0, 3839] {
            let mut pair = Pair::new(&params(|it| {
                it.max_amsdu = Bytes::new(amsdu);
                it.dcf.short_retry_limit = 3;
                it.mpdu_retry_limit = 3;
            }));
            pair.queue(300, 700, 0);
            let mut rng = Streams::new(seed, 0).stream("losses");
            pair.run(|_| if rng.below(4) == 0 { ALL } else { rng.below(u64::MAX) & rng.below(u64::MAX) & !(1 << 63) });
            let (arrived, failed) = (pair.arrived.len(), pair.failed.len());
            assert!(arrived + failed >= 300, "seed {seed}: {arrived} and {failed}");
        }
    }
}

#[test]
fn nothing_joins_an_mpdu_that_was_sent() {
    let mut pair = Pair::new(&params(|it| {
        it.max_amsdu = Bytes::new(1500);
        it.block_ack = BlockAck::FromStart;
    }));
    pair.queue(3, 700, 0);
    // The third packet, alone in its MPDU, is lost. Others come before it is sent pair.
    let (mut frames, mut answered) = (0, false);
    while !answered {
        let mut lost = |frame: &Frame| {
            frames += u32::from(is_data(frame));
            answered |= matches!(frame.control.kind, FrameKind::BlockAck { .. });
            if is_data(frame) && frames == 1 { 0b10 } else { 0 }
        };
        pair.step(&mut lost);
    }
    pair.queue(2, 700, 0).run(|_| 0);
    assert_eq!(pair.aggregates(), [vec![0, 0, 1], vec![1, 2, 2]]);
    assert_eq!(pair.arrived, (0..5).collect::<Vec<_>>());
}

/// Frames of a station outside: the receiver names those too that came with an earlier frame, whose answer was lost.
#[test]
fn a_block_acknowledgement_names_frames_of_a_station_that_came_before() {
    let mut pair = Pair::new(&params(|it| it.dcf.carries_stations = true));
    let mode = pair.timing.data().row;
    for number in 0..2_u16 {
        let bytes = [&[0x88, 0][..], &[0; 20], &(number << 4).to_le_bytes(), &[0; 100]].concat();
        let series = Series([Stage { mode, tries: 5, announced: false }; 4]);
        let mpdu = Mpdu { bytes, series, priority: 0, aggregates: true, stamped: Time::ZERO, received: None };
        let (size, body) = (mpdu.size(), Body::Mpdu(mpdu.into()));
        let packet = pair.cx.originate(packet(number.into(), size, body));
        pair.waiting.push_back(Outgoing { packet, size, to: InterfaceId(1) });
    }
    pair.serve();
    let mut frames = 0;
    pair.run(|_| {
        frames += 1;
        match frames {
            // The first MPDU is lost, and the answer.
            1 => 1,
            2 => ALL,
            // The second MPDU is lost.
            3 => 1 << 1,
            _ => 0,
        }
    });
    assert_eq!(pair.kinds(0), [FrameKind::Data; 2]);
    let [first, second] = [0b10, 0b11].map(|received| FrameKind::BlockAck { tid: 0, start: 0, received });
    assert_eq!(pair.kinds(1), [first, second]);
    assert_eq!(pair.arrived, [1, 0]);
}
