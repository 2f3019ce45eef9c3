//! Two or more kernels on a simulated link, for tests: rate, delay, and forced drops.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;
use std::net::Ipv4Addr;

mod built;

pub use built::{Built, built, skipped};
use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::{Order, Report};
use hopyard_kernels::{FromNetwork, Guest, Kernels, Network, Port, Sending, Settings, Ticket, initrd};
use xxhash_rust::xxh3::Xxh3;

/// A kernel with a device and orders.
pub fn guest(built: &Built, number: u8, orders: &[Order]) -> Guest {
    let address = Order::Address { address: address(number), prefix: 24, arp: 0, device: "eth0".to_owned() };
    Guest {
        name: format!("host {number}"),
        program: built.program.clone(),
        initrd: initrd::archive(&built.agent, &[&[address], orders].concat(), &[]),
        parameters: vec!["ipv6.disable=1".to_owned()],
        memory: 32,
        devices: vec![mac(number).into()],
        seed: 1,
    }
}

/// The address of a kernel.
pub const fn address(number: u8) -> Ipv4Addr {
    Ipv4Addr::new(10, 0, 0, number + 1)
}

/// Bytes from host 0 to host 1, from 1 s on.
pub fn source(variant: &str, bytes: u64, chunk: u32) -> Order {
    Order::Source {
        to: address(1),
        port: 5001,
        own_port: 40_000,
        mss: 0,
        chunk,
        start: Time::from_nanos(1_000_000_000),
        bytes: Some(bytes),
        stop: None,
        variant: variant.to_owned(),
        writes: Vec::new(),
    }
}

pub const SINK: Order = Order::Sink { port: 5001, mss: 0 };

/// An order to sample the sockets, at an interval in nanoseconds.
pub const fn sample(interval: u64) -> Order {
    Order::Sample { interval: Span::from_nanos(interval), from: Time::ZERO, to: Time::ZERO }
}

pub fn mac(number: u8) -> [u8; 6] {
    [2, 0, 0, 0, 0, number + 1]
}

/// A duplex link with a queue of any length at each end, between host 0 and host 1, or between 2 and 3, and so on.
#[derive(Default)]
pub struct Link {
    pub rate: u64,
    pub delay: Span,
    /// The data segments of host 0 that are lost, counted from 1.
    pub drops: Vec<u32>,
    events: BinaryHeap<Reverse<(Time, u64)>>,
    due: BTreeMap<u64, FromNetwork>,
    left: Vec<FromNetwork>,
    scheduled: u64,
    free: BTreeMap<Port, Time>,
    segments: u32,
    /// When frames were sent and received, in nanoseconds.
    pub times: Vec<(u64, &'static str, usize)>,
    capture: Xxh3,
    wait: Span,
}

impl Link {
    pub fn new(rate: u64, delay: Span) -> Self {
        Self { rate, delay, ..Self::default() }
    }

    /// A hash of everything that was sent, received and lost, with its times.
    pub fn digest(&self) -> u64 {
        self.capture.digest()
    }

    /// The longest time that a frame of host 0 waited for the link.
    pub fn longest_wait(&self) -> Span {
        self.wait
    }

    fn note(&mut self, at: Time, what: &'static str, port: Port, frame: &[u8]) {
        self.times.push((at.nanos(), what, port.kernel));
        self.capture.update(format!("{} {what} {}", at.nanos(), port.kernel).as_bytes());
        self.capture.update(frame);
    }

    fn schedule(&mut self, at: Time, departure: FromNetwork) {
        self.scheduled += 1;
        self.events.push(Reverse((at, self.scheduled)));
        self.due.insert(self.scheduled, departure);
    }
}

/// The bytes of TCP payload in an Ethernet frame.
fn payload(frame: &[u8]) -> usize {
    if frame.len() < 54 || frame[12..14] != [8, 0] || frame[23] != 6 {
        return 0;
    }
    let (ip, total) = (4 * usize::from(frame[14] & 15), usize::from(frame[16]) << 8 | usize::from(frame[17]));
    total - ip - 4 * usize::from(frame[14 + ip + 12] >> 4)
}

impl Network for Link {
    type Error = Infallible;

    fn next_event(&self) -> Option<Time> {
        self.events.peek().map(|Reverse((at, _))| *at)
    }

    fn step(&mut self, until: Time) -> Result<(), Infallible> {
        while let Some(&Reverse((at, number))) = self.events.peek().filter(|it| it.0.0 <= until) {
            self.events.pop();
            let departure = self.due.remove(&number).expect("it is due");
            if let FromNetwork::Frame { to, frame } = &departure {
                let (to, frame) = (*to, frame.clone());
                self.note(at, "received", to, &frame);
            }
            self.left.push(departure);
        }
        self.left.reverse();
        Ok(())
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        self.left.pop()
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, Infallible> {
        let from = ticket.port;
        let begin = self.free.get(&from).copied().unwrap_or_default().max(at);
        if from.kernel == 0 {
            self.wait = self.wait.max(begin.since(at));
        }
        let bits = frame.len() as u64 * 8;
        let end = begin + Span::from_nanos((bits * 1_000_000_000).checked_div(self.rate).unwrap_or(0));
        self.free.insert(from, end);
        if from.kernel == 0 && payload(frame) > 0 {
            self.segments += 1;
        }
        if from.kernel == 0 && payload(frame) > 0 && self.drops.contains(&self.segments) {
            self.note(at, "lost", from, frame);
        } else {
            self.note(at, "sent", from, frame);
            let to = Port { kernel: from.kernel ^ 1, device: 0 };
            let mut frame = frame.to_vec();
            frame[..6].copy_from_slice(&mac(to.kernel as u8));
            self.schedule(end + self.delay, FromNetwork::Frame { to, frame });
        }
        self.schedule(end, FromNetwork::Sent(ticket));
        Ok(Sending::Pending)
    }
}

/// What an agent has reported, with its times.
pub type Reports = Vec<(Time, Report)>;

/// Runs kernels until a time; what their agents have reported, and the link.
pub fn run(guests: &[Guest], settings: Settings, mut link: Link, until: Time) -> (Vec<Reports>, Link) {
    let mut kernels = Kernels::start(guests, settings).expect("they start");
    kernels.advance(until, &mut link, || false).unwrap_or_else(|error| panic!("{error}"));
    let reports = (0..kernels.len()).map(|kernel| kernels.reports(kernel).expect("reports")).collect();
    (reports, link)
}
