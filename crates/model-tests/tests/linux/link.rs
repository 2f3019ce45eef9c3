//! A sender and a receiver at the ends of one link, with the losses, the queue, the outage and the stall of a case.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::packet::{SackBlocks, TcpFlags, TcpHeader};
use hopyard_model::transport::acking;
use hopyard_model::transport::tcp::{self, NetworkEvent, SenderState, TcpReceiver, TcpSender};

use super::{Acknowledgement, Case, SEGMENT, SentSegment};

/// How long the sending kernel's clock had been running when it started, in effect: its count of ticks of 4 ms begins
/// at 2^32 - 75,000, and its timers are rounded to multiples of up to 4,096 ticks: 2,824 ticks more.
const BEFORE: Span = Span::from_micros(2_824 * 4_000);
/// The longest time that a case may take.
const LIMIT: Span = Span::from_secs(900);
/// The policy of Linux's own receiver, and its profile.
const OWN_RECEIVER: (&str, &str) = ("quick", "linux");

/// Takes out the first entry of a segment.
fn take(entries: &mut Vec<(u64, Span)>, segment: u64) -> Option<Span> {
    let place = entries.iter().position(|it| it.0 == segment)?;
    Some(entries.remove(place).1)
}

/// The time as the kernel reads it: its clock in simulated time has this grain. A timer is set for a time by that
/// clock, but begins to wait at the true time.
fn read(now: Time) -> Time {
    const GRAIN: u64 = 256;
    Time::from_nanos(now.nanos() / GRAIN * GRAIN)
}

/// The capture has whole microseconds, of the segments as of the acknowledgements: so much later an acknowledgement is
/// made, when the segment that it echoes has arrived here too. On the link it is a microsecond later than captured.
const LATE: Span = Span::from_micros(3);

enum Wake {
    ToReceiver(TcpHeader),
    ToSender(TcpHeader),
    /// The sender learns that a segment was not forwarded.
    Notice(u64),
    Sender,
    Receiver,
    /// The receiver of the capture acknowledges.
    Captured(usize),
    /// The application writes so many bytes, and closes if it is the last time.
    Write(u64, bool),
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
    lost: Vec<u64>,
    acks_lost: Vec<u64>,
    outage: Option<(Time, Time)>,
    stall: Option<(Time, Time)>,
    /// If the sender is told of segments that the outage has taken: the shortest time between two notices.
    pub notices: Option<Span>,
    told: Option<Time>,
    late: Vec<(u64, Span)>,
    twice: Vec<(u64, Span)>,
    writes: Vec<(Span, u64)>,
    /// When the SYN is sent.
    begin: Time,
    there: Direction,
    back: Direction,
    acks: u64,
    /// The receiver has sent its FIN.
    closed: bool,
    wakes: BTreeMap<(Time, bool, u64), Wake>,
    order: u64,
    timers: [Time; 2],
    pub departures: Vec<SentSegment>,
    /// What the receiver sends, without its SYN.
    pub acknowledgements: Vec<Acknowledgement>,
    /// Acknowledgements of a capture, which reach the sender in the place of those of the receiver; the number that was
    /// sent last, and the timestamp that is echoed.
    captured: Vec<Acknowledgement>,
    number: u64,
    echo: u32,
    /// The sender's state after each event, if it is recorded.
    pub states: Option<Vec<(Time, SenderState)>>,
}

impl Run {
    /// A run of `case` by a sender with this configuration, whose random numbers come from `rng`.
    pub fn new(case: &Case, config: &tcp::Config, rng: Rng) -> Self {
        let sender = TcpSender::new(config, rng);
        let begin = Time::ZERO + BEFORE + case.begin;
        // A period that counts from the SYN.
        let from_begin = |(from, to): (Time, Time)| (begin + from.since(Time::ZERO), begin + to.since(Time::ZERO));
        let own = if matches!(&*case.set, "receiver" | "written") { OWN_RECEIVER } else { ("every", "rfc") };
        let acking = acking::Config::of_profile(own.0, own.1).expect("a policy");
        let receiver = TcpReceiver::new(&acking, &config.tcp, sender.wants_sack());
        Self {
            sender,
            receiver,
            rate: case.rate,
            delay: case.delay,
            queue: case.queue,
            lost: case.lost.clone(),
            acks_lost: case.acks_lost.clone(),
            outage: case.outage.map(from_begin),
            stall: case.stall.map(from_begin),
            notices: None,
            told: None,
            late: case.late.clone(),
            twice: case.twice.clone(),
            writes: case.writes.clone(),
            begin,
            there: Direction::default(),
            back: Direction::default(),
            acks: 0,
            closed: false,
            wakes: BTreeMap::new(),
            order: 0,
            timers: [Time::NEVER; 2],
            departures: Vec::new(),
            acknowledgements: Vec::new(),
            captured: Vec::new(),
            number: 1,
            echo: 0,
            states: None,
        }
    }

    fn schedule(&mut self, at: Time, wake: Wake) {
        // A timer of the kernel that expires when a packet arrives comes first: it was set before. With pacing this
        // happens often, since a gap between two pairs is also that between the acknowledgements of the pairs before.
        self.wakes.insert((at, !matches!(wake, Wake::Sender), self.order), wake);
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

    /// The bytes of which departures and acknowledgements are counted.
    const fn unit(&self) -> u64 {
        if self.writes.is_empty() { SEGMENT } else { 1 }
    }

    fn send(&mut self, header: TcpHeader, now: Time) {
        let (mut late, mut twice) = (Span::ZERO, None);
        if header.len > 0 {
            let segment = (header.seq - 1) / self.unit();
            let number = if self.writes.is_empty() { segment } else { self.departures.len() as u64 };
            let time = Time::ZERO + now.since(self.begin);
            let (bytes, again) = (header.len.into(), header.retransmission);
            self.departures.push(SentSegment { time, segment, bytes, again });
            if let Some(place) = self.lost.iter().position(|lost| *lost == number) {
                self.lost.remove(place);
                return;
            }
            late = take(&mut self.late, segment).unwrap_or_default();
            twice = take(&mut self.twice, segment);
        }
        let bytes = header.len + self.sender.header_bytes(&header);
        if let Some(at) = self.arrival(now, false, bytes) {
            if let Some(later) = twice {
                self.schedule(at + late + later, Wake::ToReceiver(header));
            }
            self.schedule(at + late, Wake::ToReceiver(header));
        } else if header.len > 0
            && let Some(every) = self.notices
            && self.told.is_none_or(|last| now.since(last) >= every)
        {
            self.told = Some(now);
            self.schedule(now + self.delay, Wake::Notice(header.seq));
        }
    }

    /// Linux's receiver acknowledges a FIN before the application reads of it and closes: its own FIN is a segment
    /// apart.
    fn answer(&mut self, header: TcpHeader, now: Time) {
        if header.flags.fin && !self.closed {
            self.closed = true;
            let mut first = header;
            first.flags.fin = false;
            self.transmit(first, now);
        }
        self.transmit(header, now);
    }

    fn transmit(&mut self, header: TcpHeader, now: Time) {
        if !header.flags.syn {
            let unit = self.unit();
            let segments = |edge: u64| (edge - 1) / unit;
            self.acknowledgements.push(Acknowledgement {
                time: Time::ZERO + now.since(self.begin),
                segments: segments(header.ack),
                window: header.window,
                blocks: header.sack.iter().map(|(from, to)| (segments(from), segments(to))).collect(),
            });
            if !self.captured.is_empty() {
                return;
            }
        }
        self.carry(header, now);
    }

    /// The receiver of the capture sends an acknowledgement.
    fn acknowledge_as_captured(&mut self, index: usize, segments: u64, now: Time) {
        let Acknowledgement { segments: acked, window, blocks, .. } = &self.captured[index];
        // The last segment has the FIN, which takes a number.
        let all = if self.writes.is_empty() { segments } else { self.writes.iter().map(|it| it.1).sum() };
        let unit = self.unit();
        let number = |count: u64| 1 + count * unit + u64::from(count == all);
        let ack = number(*acked);
        let base = blocks.iter().map(|block| number(block.0)).fold(ack, u64::min);
        let header = TcpHeader {
            seq: 1,
            ack,
            window: *window,
            timestamps: (self.echo > 0).then(|| ((now.nanos() / 1_000_000) as u32, self.echo)),
            sack: SackBlocks::new(base, blocks.iter().map(|(from, to)| (number(*from), number(*to)))),
            flags: TcpFlags { ack: true, ..TcpFlags::default() },
            ..TcpHeader::default()
        };
        self.number = ack;
        self.carry(header, Time::ZERO + now.since(Time::ZERO + LATE) + Span::from_micros(1));
    }

    /// Acknowledgements of a capture reach the sender. Those of the receiver do not, and are only recorded.
    pub fn answer_as(&mut self, captured: &[Acknowledgement]) {
        self.captured = captured.to_vec();
        for (index, it) in captured.iter().enumerate() {
            let at = self.begin + it.time.since(Time::ZERO) + LATE;
            self.schedule(at, Wake::Captured(index));
        }
    }

    /// An acknowledgement is given to the link.
    fn carry(&mut self, header: TcpHeader, now: Time) {
        if !header.flags.syn {
            self.acks += 1;
            if self.acks_lost.contains(&(self.acks - 1)) {
                return;
            }
        }
        let bytes = self.receiver.header_bytes(&header);
        if let Some(at) = self.arrival(now, true, bytes) {
            self.schedule(at, Wake::ToSender(header));
        }
    }

    fn pump(&mut self, now: Time) {
        while let Some(header) = self.sender.poll_transmit(read(now)) {
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
                    let wait = if index == 0 { deadline.since(read(now)) } else { deadline.since(now) };
                    self.schedule(now + wait, if index == 0 { Wake::Sender } else { Wake::Receiver });
                }
            }
        }
    }

    /// Sends the segments of the case, until all is acknowledged.
    pub fn run(&mut self, segments: u64) {
        let writes = match &self.writes[..] {
            [] => vec![(Span::ZERO, segments * SEGMENT)],
            writes => writes.to_vec(),
        };
        let mut left = writes.len();
        for (number, (at, bytes)) in writes.iter().enumerate() {
            self.schedule(self.begin + *at, Wake::Write(*bytes, number + 1 == writes.len()));
        }
        while let Some(((now, ..), wake)) = self.wakes.pop_first() {
            if (left == 0 && self.captured.is_empty() && self.sender.is_finished()) || now > self.begin + LIMIT {
                return;
            }
            match wake {
                Wake::ToReceiver(header) => {
                    let is_at_the_edge = header.seq <= self.number && self.number <= header.end();
                    if let Some((value, _)) = header.timestamps.filter(|_| is_at_the_edge) {
                        self.echo = self.echo.max(value);
                    }
                    self.receiver.on_segment(&header, now);
                }
                Wake::Captured(index) => self.acknowledge_as_captured(index, segments, now),
                Wake::ToSender(header) => self.sender.on_segment(&header, read(now)),
                Wake::Write(bytes, last) => {
                    left -= 1;
                    self.sender.write(bytes, now);
                    if last {
                        self.sender.close(now);
                    }
                }
                Wake::Notice(seq) => self.sender.on_network(NetworkEvent::Unreachable { seq }, now),
                Wake::Sender if self.timers[0] <= now => {
                    if read(now) < self.timers[0] {
                        let at = now + self.timers[0].since(read(now));
                        self.schedule(at, Wake::Sender);
                        continue;
                    }
                    self.timers[0] = Time::NEVER;
                    self.sender.on_timer(read(now));
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
pub fn run(case: &Case, config: &tcp::Config) -> Vec<SentSegment> {
    let mut run = Run::new(case, config, Streams::new(1, 0).stream("tcp"));
    run.run(case.segments);
    run.departures
}
