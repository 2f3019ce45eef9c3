//! A link between two kernels, with the losses, the queue, the delays and the duplicates of a case, and a record of
//! what the kernels give to it.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

use hopyard_engine::{Span, Time};
use hopyard_kernels::{FromNetwork, Network, Port, Sending, Ticket};

use super::SEGMENT;
use super::cases::Case;

/// The bytes of an Ethernet header. They take no time on the link.
const ETHERNET: usize = 14;

/// A data segment leaves the sender.
#[derive(Clone, Copy, Debug)]
pub struct SentSegment {
    /// In nanoseconds since the SYN.
    pub time: u64,
    /// Its number, or the byte at which it begins in a transfer that is written in pieces.
    pub segment: u64,
    pub bytes: usize,
    /// It was sent before.
    pub again: bool,
}

/// An acknowledgement leaves the receiver.
#[derive(Clone, Debug)]
pub struct Ack {
    /// In nanoseconds since the SYN.
    pub time: u64,
    /// How many segments are acknowledged, or bytes if the transfer is written in pieces; the FIN does not count.
    pub segments: u64,
    /// The window as it stands in the segment, without its scale.
    pub window: u16,
    /// The blocks of SACK, in the same unit.
    pub blocks: Vec<(u64, u64)>,
}

/// What a capture that cannot be compared is said to contain.
#[derive(Debug, thiserror::Error)]
pub enum Broken {
    #[error("a segment begins at byte {offset} and has {bytes} bytes, expected whole segments of {SEGMENT} bytes")]
    Segment { offset: u32, bytes: usize },
    #[error("a frame of kernel {0} is not TCP over IPv4")]
    Frame(usize),
}

/// A segment of TCP in an Ethernet frame.
struct Tcp<'a> {
    seq: u32,
    ack: u32,
    syn: bool,
    window: u16,
    options: &'a [u8],
    payload: usize,
    /// Of the datagram.
    bytes: usize,
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

impl<'a> Tcp<'a> {
    fn read(frame: &'a [u8]) -> Option<Self> {
        if frame.len() < 54 || frame[12..14] != [8, 0] || frame[23] != 6 {
            return None;
        }
        let datagram = &frame[ETHERNET..];
        let bytes = usize::from(u16::from_be_bytes([datagram[2], datagram[3]]));
        let segment = datagram.get(4 * usize::from(datagram[0] & 15)..bytes)?;
        let header = 4 * usize::from(segment[12] >> 4);
        Some(Self {
            seq: word(segment, 4),
            ack: word(segment, 8),
            syn: segment[13] & 2 != 0,
            window: u16::from_be_bytes([segment[14], segment[15]]),
            options: segment.get(20..header)?,
            payload: segment.len() - header,
            bytes,
        })
    }

    /// The edges of the blocks of SACK (RFC 2018 §3).
    fn blocks(&self) -> Vec<(u32, u32)> {
        let mut rest = self.options;
        while let [kind, tail @ ..] = rest {
            match (kind, tail) {
                (0, _) => break,
                (1, _) => rest = tail,
                (5, [length, ..]) => {
                    let blocks = &rest[2..usize::from(*length)];
                    return blocks.chunks_exact(8).map(|block| (word(block, 0), word(block, 4))).collect();
                }
                (_, [length, ..]) => rest = &rest[usize::from(*length).max(2).min(rest.len())..],
                _ => break,
            }
        }
        Vec::new()
    }
}

/// One direction.
#[derive(Default)]
struct Direction {
    free: Time,
    /// When each packet that waits begins to be sent.
    waiting: VecDeque<Time>,
    /// The initial sequence number.
    first: Option<u32>,
}

/// A duplex link between kernel 0, which sends data, and kernel 1.
pub struct Link {
    case: Case,
    directions: [Direction; 2],
    events: BinaryHeap<Reverse<(Time, u64)>>,
    due: BTreeMap<u64, FromNetwork>,
    left: VecDeque<FromNetwork>,
    scheduled: u64,
    acknowledgements: u64,
    /// What was sent: all below this number.
    highest: u64,
    /// When the SYN was sent.
    pub begin: Option<Time>,
    pub sent: Vec<SentSegment>,
    pub acks: Vec<Ack>,
}

/// A time in a period that counts from the SYN.
fn end_of(period: Option<(u64, u64)>, begin: Time, at: Time) -> Option<Time> {
    let (from, to) = period?;
    let (from, to) = (begin + Span::from_nanos(from), begin + Span::from_nanos(to));
    (from..to).contains(&at).then_some(to)
}

/// Takes out the first entry of a segment.
fn take(entries: &mut Vec<(u64, u64)>, segment: u64) -> Option<Span> {
    let place = entries.iter().position(|it| it.0 == segment)?;
    Some(Span::from_nanos(entries.remove(place).1))
}

impl Link {
    pub fn new(case: &Case) -> Self {
        Self {
            case: case.clone(),
            directions: Default::default(),
            events: BinaryHeap::new(),
            due: BTreeMap::new(),
            left: VecDeque::new(),
            scheduled: 0,
            acknowledgements: 0,
            highest: 0,
            begin: None,
            sent: Vec::new(),
            acks: Vec::new(),
        }
    }

    fn schedule(&mut self, at: Time, departure: FromNetwork) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled)));
        self.due.insert(self.scheduled, departure);
    }

    /// When a packet that is given to the link now has left it; nothing if it is lost.
    fn leaves(&mut self, at: Time, from: usize, bytes: usize) -> Option<Time> {
        let begin = self.begin.unwrap_or(at);
        if end_of(self.case.outage, begin, at).is_some() {
            return None;
        }
        let direction = &mut self.directions[from];
        let mut start = direction.free.max(at);
        start = end_of(self.case.stall, begin, start).unwrap_or(start);
        while direction.waiting.front().is_some_and(|begin| *begin <= at) {
            direction.waiting.pop_front();
        }
        if start > at {
            if direction.waiting.len() >= self.case.queue {
                return None;
            }
            direction.waiting.push_back(start);
        }
        let airtime = u128::from(bytes as u64 * 8) * 1_000_000_000 / u128::from(self.case.rate);
        direction.free = start + Span::from_nanos(airtime as u64);
        Some(direction.free)
    }

    /// The segment that a data frame has, from 0, or the byte at which it begins; and the one after it.
    fn segment(&self, tcp: &Tcp<'_>) -> Result<(u64, u64), Broken> {
        let offset = tcp.seq.wrapping_sub(self.directions[0].first.unwrap_or_default()).wrapping_sub(1);
        if self.case.is_written() {
            return Ok((offset.into(), u64::from(offset) + tcp.payload as u64));
        }
        if tcp.payload as u64 != SEGMENT || u64::from(offset) % SEGMENT != 0 {
            return Err(Broken::Segment { offset, bytes: tcp.payload });
        }
        let segment = u64::from(offset) / SEGMENT;
        Ok((segment, segment + 1))
    }

    fn record_ack(&mut self, tcp: &Tcp<'_>, time: u64) {
        let first = self.directions[0].first.unwrap_or_default();
        let unit = if self.case.is_written() { 1 } else { SEGMENT };
        let segments = |edge: u32| u64::from(edge.wrapping_sub(first).wrapping_sub(1)) / unit;
        self.acks.push(Ack {
            time,
            segments: segments(tcp.ack),
            window: tcp.window,
            blocks: tcp.blocks().into_iter().map(|(from, to)| (segments(from), segments(to))).collect(),
        });
    }
}

impl Network for Link {
    type Error = Broken;

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn step(&mut self, until: Time) -> Result<(), Broken> {
        while let Some(&Reverse((_, number))) = self.events.peek().filter(|it| it.0.0 <= until) {
            self.events.pop();
            self.left.extend(self.due.remove(&number));
        }
        Ok(())
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        self.left.pop_front()
    }

    /// What is lost by its number or in an outage does not enter the queue.
    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, Broken> {
        let from = ticket.port.kernel;
        let tcp = Tcp::read(frame).ok_or(Broken::Frame(from))?;
        if tcp.syn {
            self.directions[from].first.get_or_insert(tcp.seq);
            self.begin.get_or_insert(at);
        }
        let time = at.since(self.begin.unwrap_or(at)).nanos();
        let (mut late, mut twice) = (Span::ZERO, None);
        if from == 0 && tcp.payload > 0 {
            let (segment, end) = self.segment(&tcp)?;
            let number = if self.case.is_written() { self.sent.len() as u64 } else { segment };
            self.sent.push(SentSegment { time, segment, bytes: tcp.payload, again: segment < self.highest });
            self.highest = self.highest.max(end);
            if let Some(place) = self.case.lost.iter().position(|lost| *lost == number) {
                self.case.lost.remove(place);
                return Ok(Sending::Done);
            }
            late = take(&mut self.case.late, segment).unwrap_or_default();
            twice = take(&mut self.case.twice, segment);
        } else if from == 1 && !tcp.syn {
            self.record_ack(&tcp, time);
            self.acknowledgements += 1;
            if self.case.acks_lost.contains(&(self.acknowledgements - 1)) {
                return Ok(Sending::Done);
            }
        }
        if let Some(left) = self.leaves(at, from, tcp.bytes) {
            let to = Port { kernel: 1 - from, device: 0 };
            let mut frame = frame.to_vec();
            frame[..6].copy_from_slice(&super::mac(to.kernel as u8));
            let arrival = left + Span::from_nanos(self.case.delay) + late;
            if let Some(later) = twice {
                self.schedule(arrival + later, FromNetwork::Frame { to, frame: frame.clone() });
            }
            self.schedule(arrival, FromNetwork::Frame { to, frame });
        }
        // The device never holds small queues back: the kernel gets the buffer at once.
        Ok(Sending::Done)
    }
}
