//! One kernel on a link, and at the other end a receiver that acknowledges every segment, as in the captures of Linux's
//! senders: what differs from Hopyard's sender over the same link is the sender.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::net::Ipv4Addr;

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use hopyard_kernels::{FromNetwork, Network, Port, Sending, Ticket};
use hopyard_wire::{icmp, ipv4, tcp};

use crate::linux::{self, Case, SEGMENT};

/// The kernel's address and that of the receiver.
pub const KERNEL: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
pub const PEER: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
/// The MAC address of the kernel's device.
pub const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];
const DEVICE: Port = Port { kernel: 0, device: 0 };
/// What the receiver offers: the shift of its window, and the window.
const SCALE: u8 = 10;
const WINDOW: u16 = 60_000;
/// The bytes of an Ethernet header.
const ETHERNET: usize = 14;
/// The shortest time between two notices.
pub const TOLD_EVERY: Span = Span::from_millis(100);

#[derive(Debug)]
enum Due {
    /// A datagram reaches the receiver.
    Arrive(Vec<u8>),
    /// Something leaves the network.
    Leave(FromNetwork),
}

/// The link, and the receiver.
#[derive(Debug)]
pub struct Peer {
    rate: Rate,
    delay: Span,
    lost: Vec<u64>,
    outage: Option<(Time, Time)>,
    /// Whether the kernel is told of segments that an outage has taken; when it was told last.
    notices: bool,
    told: Option<Time>,
    /// The time to live of the receiver's segments.
    ttl: u8,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    due: BTreeMap<u64, Due>,
    left: Vec<FromNetwork>,
    scheduled: u64,
    /// When each direction is free.
    free: [Time; 2],
    /// When the SYN came, and its sequence number.
    begin: Option<(Time, u32)>,
    /// The number of the next byte, counted from the SYN, and what has arrived beyond it, the latest last.
    next: u64,
    beyond: Vec<(u64, u64)>,
    /// The timestamp that is echoed.
    echoed: u32,
    highest: u64,
    pub departures: Vec<linux::SentSegment>,
}

impl Peer {
    pub fn new(case: &Case, notices: bool, ttl: u8) -> Self {
        Self {
            rate: case.rate,
            delay: case.delay,
            lost: case.lost.clone(),
            outage: case.outage,
            notices,
            told: None,
            ttl,
            events: BinaryHeap::new(),
            due: BTreeMap::new(),
            left: Vec::new(),
            scheduled: 0,
            free: [Time::ZERO; 2],
            begin: None,
            next: 1,
            beyond: Vec::new(),
            echoed: 0,
            highest: 0,
            departures: Vec::new(),
        }
    }

    /// When the SYN was sent.
    pub fn begin(&self) -> Time {
        self.begin.expect("a SYN").0
    }

    fn schedule(&mut self, at: Time, due: Due) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled)));
        self.due.insert(self.scheduled, due);
    }

    fn is_out(&self, now: Time) -> bool {
        let since = |begin: Time| Time::ZERO + now.since(begin);
        self.begin.zip(self.outage).is_some_and(|((begin, _), (from, to))| (from..to).contains(&since(begin)))
    }

    /// When a datagram that begins to be sent now, or as soon as its direction is free, has been sent.
    fn sent(&mut self, now: Time, direction: usize, bytes: usize) -> Time {
        let begin = self.free[direction].max(now);
        self.free[direction] = begin + self.rate.airtime(bytes as u32);
        self.free[direction]
    }

    /// A datagram for the kernel is given to the link.
    fn answer(&mut self, now: Time, datagram: &[u8]) {
        if self.is_out(now) {
            return;
        }
        let at = self.sent(now, 1, datagram.len()) + self.delay;
        let frame = [&MAC[..], &[2, 0, 0, 0, 0, 2, 8, 0], datagram].concat();
        self.schedule(at, Due::Leave(FromNetwork::Frame { to: DEVICE, frame }));
    }

    /// The kernel learns that a datagram was not forwarded, by an error that no outage stops.
    fn tell(&mut self, now: Time, datagram: &[u8]) {
        if !self.notices || self.told.is_some_and(|last| now.since(last) < TOLD_EVERY) {
            return;
        }
        self.told = Some(now);
        let message = icmp::Message::DestinationUnreachable { code: icmp::Unreachable::HOST, next_hop_mtu: 0 };
        let mut body = Vec::new();
        message.emit(icmp::quote(datagram), &mut body).expect("no routers");
        let bytes = wrapped(ipv4::Protocol::ICMP, self.ttl, &body);
        let frame = [&MAC[..], &[2, 0, 0, 0, 0, 2, 8, 0], &bytes].concat();
        self.schedule(now + self.delay, Due::Leave(FromNetwork::Frame { to: DEVICE, frame }));
    }

    /// The receiver has got a segment: each has an answer.
    fn receive(&mut self, now: Time, datagram: &[u8]) {
        let (outer, body) = ipv4::Header::parse(datagram).expect("a datagram");
        let (header, payload) = tcp::Header::parse(body, outer.source, outer.destination).expect("a segment");
        let (_, first) = self.begin.expect("it was opened");
        let syn = header.flags.contains(tcp::Flags::SYN);
        let fin = u64::from(header.flags.contains(tcp::Flags::FIN));
        if !syn && payload.is_empty() && fin == 0 {
            return;
        }
        let start = u64::from(header.seq.wrapping_sub(first));
        if let Some((value, _)) = header.options.timestamps.filter(|_| start <= self.next) {
            self.echoed = value;
        }
        if !syn {
            self.take(start, start + payload.len() as u64 + fin);
        }
        // RFC 2018 §4: the block with the segment that has just arrived comes first.
        let number = |at: u64| first.wrapping_add(at as u32);
        let blocks = self.beyond.iter().rev().take(3).map(|&(from, to)| (number(from), number(to)));
        let options = tcp::Options {
            mss: syn.then_some(1460),
            window_scale: syn.then_some(SCALE),
            sack_permitted: syn,
            timestamps: Some((now.nanos().div_euclid(1_000_000) as u32, self.echoed)),
            sack: blocks.collect(),
        };
        let flags = if syn { tcp::Flags::SYN | tcp::Flags::ACK } else { tcp::Flags::ACK };
        let answer = tcp::Header {
            source_port: header.destination_port,
            destination_port: header.source_port,
            seq: u32::from(!syn),
            ack: number(self.next),
            flags,
            window: WINDOW,
            urgent: 0,
            options,
        };
        let mut segment = Vec::new();
        answer.emit(&[], PEER, KERNEL, &mut segment).expect("short enough");
        self.answer(now, &wrapped(ipv4::Protocol::TCP, self.ttl, &segment));
    }

    /// The bytes from one number to another have arrived.
    fn take(&mut self, mut start: u64, mut end: u64) {
        if start > self.next {
            for &(from, to) in &self.beyond {
                if from <= end && start <= to {
                    (start, end) = (start.min(from), end.max(to));
                }
            }
            self.beyond.retain(|&(from, to)| to < start || end < from);
            self.beyond.push((start, end));
            return;
        }
        self.next = self.next.max(end);
        while let Some(place) = self.beyond.iter().position(|it| it.0 <= self.next) {
            self.next = self.next.max(self.beyond.remove(place).1);
        }
    }
}

fn wrapped(protocol: ipv4::Protocol, ttl: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    ipv4::Header::new(protocol, PEER, KERNEL, ttl).emit(body, &mut bytes).expect("short enough");
    bytes
}

impl Network for Peer {
    type Error = Infallible;

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn step(&mut self, until: Time) -> Result<(), Infallible> {
        let mut left = Vec::new();
        while let Some(&Reverse((at, number))) = self.events.peek().filter(|it| it.0.0 <= until) {
            self.events.pop();
            match self.due.remove(&number).expect("it is due") {
                Due::Arrive(datagram) => self.receive(at, &datagram),
                Due::Leave(departure) => left.push(departure),
            }
        }
        self.left.splice(0..0, left.into_iter().rev());
        Ok(())
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        self.left.pop()
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, Infallible> {
        let datagram = &frame[ETHERNET..];
        let (outer, body) = ipv4::Header::parse(datagram).expect("a datagram");
        let (header, payload) = tcp::Header::parse(body, outer.source, outer.destination).expect("a segment");
        let (begin, first) = *self.begin.get_or_insert((at, header.seq));
        let number = u64::from(header.seq.wrapping_sub(first));
        let done = self.sent(at, 0, datagram.len());
        self.schedule(done, Due::Leave(FromNetwork::Sent(ticket)));
        if !payload.is_empty() {
            let segment = (number - 1) / SEGMENT;
            let (time, again) = (Time::ZERO + at.since(begin), number < self.highest);
            self.highest = self.highest.max(number + payload.len() as u64);
            let bytes = payload.len() as u64;
            self.departures.push(linux::SentSegment { time, segment, bytes, again });
            if let Some(place) = self.lost.iter().position(|lost| *lost == segment) {
                self.lost.remove(place);
                return Ok(Sending::Pending);
            }
        }
        if self.is_out(at) {
            if !payload.is_empty() {
                self.tell(at, datagram);
            }
            return Ok(Sending::Pending);
        }
        self.schedule(done + self.delay, Due::Arrive(datagram.to_vec()));
        Ok(Sending::Pending)
    }
}
