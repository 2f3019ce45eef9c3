//! A sender and a receiver at the ends of one link, with the losses, the queue, the outage and the stall of a case.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::packet::TcpHeader;
use hopyard_model::transport::acking;
use hopyard_model::transport::congestion::{self, bbr};
use hopyard_model::transport::tcp::{self, SenderState, TcpReceiver, TcpSender};

use super::{Case, Departure, compare};

/// The count of ticks of 4 ms of a kernel begins at 2^32 - 75,000, and its timers are rounded to multiples of up to
/// 4,096 ticks: 2,824 ticks more than the time since it began.
const TICKS: Span = Span::from_millis(2_824 * 4);
/// How much later the copy of a segment arrives.
const COPY_AFTER: Span = Span::from_micros(20);
/// The longest time that a case may take.
const LIMIT: Span = Span::from_secs(300);

/// The policy of Linux's own receiver, and its profile.
const OWN_POLICY: (&str, &str) = ("linux", "linux");

enum Wake {
    ToReceiver(TcpHeader),
    ToSender(TcpHeader),
    Sender,
    Receiver,
}

/// One direction of the link.
#[derive(Default)]
struct Direction {
    idle: Time,
    /// When each packet that waits begins to be sent.
    waiting: VecDeque<Time>,
}

/// A run of a case.
pub struct Run {
    pub sender: TcpSender,
    receiver: TcpReceiver,
    rate: hopyard_engine::units::Rate,
    delay: Span,
    queue: usize,
    /// The segments of the transfer, and the bytes of each.
    segments: u64,
    segment: u64,
    /// When the SYN is sent.
    begin: Time,
    late: Vec<(u64, Span)>,
    twice: Vec<u64>,
    lost: Vec<u64>,
    acks_lost: Vec<u64>,
    outage: Option<(Time, Time)>,
    stall: Option<(Time, Time)>,
    there: Direction,
    back: Direction,
    acks: u64,
    wakes: BTreeMap<(Time, u64), Wake>,
    order: u64,
    timers: [Time; 2],
    pub departures: Vec<Departure>,
    /// The sender's state after each event, if it is recorded.
    pub states: Option<Vec<(Time, SenderState)>>,
}

impl Run {
    /// A run of `case` by a sender with this configuration, whose random numbers come from `rng`.
    pub fn new(case: &Case, config: &tcp::Config, rng: Rng) -> Self {
        let sender = TcpSender::new(config, rng);
        let policy = if case.own_receiver { OWN_POLICY } else { ("every", "rfc") };
        let acking = acking::Config::of_profile(policy.0, policy.1).expect("a policy");
        let receiver = TcpReceiver::new(&acking, &config.tcp, case.sack && sender.wants_sack());
        let begin = Time::ZERO + case.syn + TICKS;
        // A period that counts from the SYN.
        let from_begin = |(from, to): (Time, Time)| (begin + from.since(Time::ZERO), begin + to.since(Time::ZERO));
        Self {
            sender,
            receiver,
            rate: case.rate,
            delay: case.delay,
            queue: case.queue,
            segments: case.segments,
            segment: case.segment(),
            begin,
            late: case.late.clone(),
            twice: case.twice.clone(),
            lost: case.lost.clone(),
            acks_lost: case.acks_lost.clone(),
            outage: case.outage.map(from_begin),
            stall: case.stall.map(from_begin),
            there: Direction::default(),
            back: Direction::default(),
            acks: 0,
            wakes: BTreeMap::new(),
            order: 0,
            timers: [Time::NEVER; 2],
            departures: Vec::new(),
            states: None,
        }
    }

    fn schedule(&mut self, at: Time, wake: Wake) {
        self.wakes.insert((at, self.order), wake);
        self.order += 1;
    }

    /// When a packet that is given to the link now arrives; nothing if it is lost.
    fn arrival(&mut self, now: Time, back: bool, bytes: u32) -> Option<Time> {
        let direction = if back { &mut self.back } else { &mut self.there };
        if self.outage.is_some_and(|(from, to)| (from..to).contains(&now)) {
            return None;
        }
        let mut start = direction.idle.max(now);
        if let Some((_, end)) = self.stall.filter(|(from, to)| (*from..*to).contains(&start)) {
            start = end;
        }
        while direction.waiting.front().is_some_and(|begin| *begin <= now) {
            direction.waiting.pop_front();
        }
        if start > now {
            if direction.waiting.len() >= self.queue {
                return None;
            }
            direction.waiting.push_back(start);
        }
        direction.idle = start + self.rate.airtime(bytes);
        Some(direction.idle + self.delay)
    }

    fn send(&mut self, header: TcpHeader, now: Time) {
        let (mut late, mut twice) = (Span::ZERO, false);
        if header.len > 0 {
            let segment = (header.seq - 1) / self.segment;
            let time = Time::ZERO + now.since(self.begin);
            let again = header.retransmission;
            self.departures.push(Departure { time, segment, again });
            if let Some(place) = self.lost.iter().position(|lost| *lost == segment) {
                self.lost.remove(place);
                return;
            }
            if !again {
                late = self.late.iter().find(|it| it.0 == segment).map_or(Span::ZERO, |it| it.1);
                twice = self.twice.contains(&segment);
            }
        }
        let bytes = header.len + self.sender.header_bytes(&header);
        if let Some(at) = self.arrival(now, false, bytes) {
            if twice {
                self.schedule(at + late + COPY_AFTER, Wake::ToReceiver(header));
            }
            self.schedule(at + late, Wake::ToReceiver(header));
        }
    }

    fn answer(&mut self, header: TcpHeader, now: Time) {
        if !header.flags.syn {
            self.acks += 1;
            // The receiver closes when it has everything: if the last acknowledgement is lost, its FIN acknowledges too.
            let all = header.ack > self.segments * self.segment;
            if !all && self.acks_lost.contains(&(self.acks - 1)) {
                return;
            }
        }
        let bytes = self.receiver.header_bytes(&header);
        if let Some(at) = self.arrival(now, true, bytes) {
            self.schedule(at, Wake::ToSender(header));
        }
    }

    fn pump(&mut self, now: Time) {
        while let Some(header) = self.sender.poll_transmit(now) {
            self.send(header, now);
        }
        if let Some(states) = &mut self.states {
            states.push((Time::ZERO + now.since(self.begin), self.sender.state()));
        }
        while let Some(header) = self.receiver.poll_transmit(now) {
            self.answer(header, now);
        }
        for (index, deadline) in [self.sender.deadline(), self.receiver.deadline()].into_iter().enumerate() {
            if deadline != self.timers[index] {
                self.timers[index] = deadline;
                if deadline < Time::NEVER {
                    self.schedule(deadline.max(now), if index == 0 { Wake::Sender } else { Wake::Receiver });
                }
            }
        }
    }

    /// Sends the segments of the case, until all is acknowledged.
    pub fn run(&mut self, segments: u64) {
        self.sender.write(segments * self.segment, self.begin);
        self.sender.close(self.begin);
        self.pump(self.begin);
        while let Some(((now, _), wake)) = self.wakes.pop_first() {
            if self.sender.is_finished() || now > self.begin + LIMIT {
                return;
            }
            match wake {
                Wake::ToReceiver(header) => self.receiver.on_segment(&header, now),
                Wake::ToSender(header) => self.sender.on_segment(&header, now),
                // A timer that was set anew leaves its old time behind.
                Wake::Sender if self.timers[0] == now => {
                    self.timers[0] = Time::NEVER;
                    self.sender.on_timer(now);
                }
                Wake::Receiver if self.timers[1] == now => {
                    self.timers[1] = Time::NEVER;
                    self.receiver.on_timer(now);
                }
                Wake::Sender | Wake::Receiver => continue,
            }
            self.pump(now);
        }
    }
}

/// The data segments that Hopyard's sender sends in a case.
pub fn run(case: &Case, config: &tcp::Config) -> Vec<Departure> {
    let mut run = Run::new(case, config, Streams::new(1, 0).stream("tcp"));
    run.run(case.segments);
    run.departures
}

/// The same, for a sender of which Linux draws something at random: the phase in which BBR's first cycle begins. It is an
/// input, and taken as the one with which most departures agree.
pub fn run_of_drawn(case: &Case, config: &tcp::Config) -> Vec<Departure> {
    let congestion::Config::Bbr(params) = &config.congestion else { return run(case, config) };
    let of_phase = |first_phase| {
        let mut config = config.clone();
        config.congestion = congestion::Config::Bbr(bbr::Params { first_phase, ..(**params).clone() }.into());
        run(case, &config)
    };
    // Every phase but that of the lower rate.
    let runs = [0, 2, 3, 4, 5, 6, 7].into_iter().map(of_phase);
    runs.max_by_key(|departures| {
        let agreement = compare(departures, &case.departures);
        let order = agreement.order.unwrap_or(usize::MAX);
        (order, agreement.time.unwrap_or(usize::MAX))
    })
    .expect("there are phases")
}
