//! The link between two kernels, with everything that a case does to packets, and the record of what they sent.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashSet, VecDeque};
use std::convert::Infallible;

use hopyard_engine::{Span, Time};
use hopyard_kernels::{Departure, Network, Port, Sending, Ticket};

use crate::cases::Case;

/// The header of Ethernet: on the link only IP packets take time.
const ETHERNET: usize = 14;
/// How much later the copy of a segment arrives: kernels join segments that arrive at one time.
const COPY_AFTER: Span = Span::from_micros(20);

/// What is recorded of a TCP packet.
struct Packet {
    syn: bool,
    number: u32,
    answer: u32,
    payload: u32,
    blocks: Vec<(u32, u32)>,
}

/// The TCP packet in an Ethernet frame.
fn packet(frame: &[u8]) -> Option<Packet> {
    let ip = frame.get(ETHERNET..)?;
    if frame[12..14] != [8, 0] || ip.first()? >> 4 != 4 || ip[9] != 6 {
        return None;
    }
    let total = usize::from(ip[2]) << 8 | usize::from(ip[3]);
    let tcp = &ip[4 * usize::from(ip[0] & 15)..total];
    let word = |at: usize| u32::from_be_bytes([tcp[at], tcp[at + 1], tcp[at + 2], tcp[at + 3]]);
    let length = 4 * usize::from(tcp[12] >> 4);
    let (mut at, mut blocks) = (20, Vec::new());
    while at + 1 < length && tcp[at] != 0 {
        if tcp[at] == 1 {
            at += 1;
            continue;
        }
        let option = usize::from(tcp[at + 1]);
        if tcp[at] == 5 {
            blocks.extend((at + 2..at + option).step_by(8).map(|block| (word(block), word(block + 4))));
        }
        at += option.max(2);
    }
    Some(Packet {
        syn: tcp[13] & 2 != 0,
        number: word(4),
        answer: word(8),
        payload: (tcp.len() - length) as u32,
        blocks,
    })
}

/// One direction.
#[derive(Default)]
struct Direction {
    idle: Time,
    /// When each packet that waits begins to be sent.
    waiting: VecDeque<Time>,
}

/// A data segment that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// From the SYN, in nanoseconds.
    pub time: u64,
    pub number: u64,
    pub again: bool,
}

/// An acknowledgement that was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub time: u64,
    /// The segments that it acknowledges.
    pub segments: u64,
    /// Those that it reports beyond: from, and to without the last.
    pub blocks: Vec<(u64, u64)>,
}

pub struct Link<'a> {
    case: &'a Case,
    lost: Vec<u64>,
    directions: [Direction; 2],
    events: BinaryHeap<Reverse<(Time, u64)>>,
    due: BTreeMap<u64, Departure>,
    left: VecDeque<Departure>,
    scheduled: u64,
    /// When the first SYN was sent, and its sequence number.
    pub syn: Option<(Time, u32)>,
    sent: HashSet<u64>,
    pub segments: Vec<Segment>,
    pub answers: Vec<Answer>,
}

impl<'a> Link<'a> {
    pub fn new(case: &'a Case) -> Self {
        Self {
            case,
            lost: case.lost.clone(),
            directions: Default::default(),
            events: BinaryHeap::new(),
            due: BTreeMap::new(),
            left: VecDeque::new(),
            scheduled: 0,
            syn: None,
            sent: HashSet::new(),
            segments: Vec::new(),
            answers: Vec::new(),
        }
    }

    fn schedule(&mut self, at: Time, departure: Departure) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled)));
        self.due.insert(self.scheduled, departure);
    }

    /// When a packet that is given to the link arrives; nothing if it is lost.
    fn arrival(&mut self, from: usize, at: Time, bytes: usize) -> Option<Time> {
        let begin = self.syn.map_or(at, |(begin, _)| begin);
        let period = |period: Option<(u64, u64)>| {
            period.map(|(from, to)| (begin + Span::from_nanos(from), begin + Span::from_nanos(to)))
        };
        if period(self.case.outage).is_some_and(|(from, to)| (from..to).contains(&at)) {
            return None;
        }
        let direction = &mut self.directions[from];
        let mut start = direction.idle.max(at);
        if let Some((_, end)) = period(self.case.stall).filter(|(from, to)| (*from..*to).contains(&start)) {
            start = end;
        }
        while direction.waiting.front().is_some_and(|begin| *begin <= at) {
            direction.waiting.pop_front();
        }
        if start > at {
            if direction.waiting.len() >= self.case.queue {
                return None;
            }
            direction.waiting.push_back(start);
        }
        direction.idle = start + Span::from_nanos(bytes as u64 * 8_000_000_000 / self.case.rate);
        Some(direction.idle + Span::from_nanos(self.case.delay))
    }

    /// The segment of a byte: the SYN takes a number of its own.
    fn segment(&self, number: u32) -> u64 {
        let first = self.syn.map_or(number, |(_, first)| first);
        u64::from(number.wrapping_sub(first).saturating_sub(1)) / self.case.segment()
    }

    /// Records a packet; whether it is lost by a forced loss, how much longer it takes, and whether it arrives twice.
    fn record(&mut self, from: usize, at: Time, packet: &Packet) -> (bool, Span, bool) {
        let normal = (false, Span::ZERO, false);
        if from == 0 {
            let begin = self.syn.get_or_insert((at, packet.number)).0;
            if packet.payload == 0 {
                return normal;
            }
            let number = self.segment(packet.number);
            let again = !self.sent.insert(number);
            self.segments.push(Segment { time: at.since(begin).nanos(), number, again });
            if let Some(place) = self.lost.iter().position(|lost| *lost == number) {
                self.lost.remove(place);
                return (true, Span::ZERO, false);
            }
            let late = self.case.late.iter().find(|(segment, _)| *segment == number && !again);
            let late = late.map_or(Span::ZERO, |(_, by)| Span::from_micros(*by));
            return (false, late, !again && self.case.twice.contains(&number));
        }
        let Some((begin, _)) = self.syn.filter(|_| !packet.syn && packet.payload == 0) else { return normal };
        let blocks = packet.blocks.iter();
        let blocks = blocks.map(|(from, to)| (self.segment(*from), self.segment(*to))).collect();
        let answer = Answer { time: at.since(begin).nanos(), segments: self.segment(packet.answer), blocks };
        self.answers.push(answer);
        (self.case.acks_lost.contains(&(self.answers.len() as u64 - 1)), Span::ZERO, false)
    }
}

impl Network for Link<'_> {
    type Error = Infallible;

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn step(&mut self, until: Time) -> Result<(), Infallible> {
        while let Some(&Reverse((_, number))) = self.events.peek().filter(|it| it.0.0 <= until) {
            self.events.pop();
            self.left.push_back(self.due.remove(&number).expect("it is due"));
        }
        Ok(())
    }

    fn departure(&mut self) -> Option<Departure> {
        self.left.pop_front()
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, Infallible> {
        let from = ticket.port.kernel;
        let Some(packet) = packet(frame) else { return Ok(Sending::Done) };
        let (lost, late, twice) = self.record(from, at, &packet);
        if lost {
            return Ok(Sending::Done);
        }
        if let Some(arrival) = self.arrival(from, at, frame.len() - ETHERNET) {
            let to = Port { kernel: from ^ 1, device: 0 };
            let mut frame = frame.to_vec();
            frame[..6].copy_from_slice(&crate::transfer::mac(to.kernel));
            if twice {
                self.schedule(arrival + late + COPY_AFTER, Departure::Frame { to, frame: frame.clone() });
            }
            self.schedule(arrival + late, Departure::Frame { to, frame });
        }
        // The buffer comes back at once: otherwise the kernel, and not the link, would hold a queue.
        Ok(Sending::Done)
    }
}
