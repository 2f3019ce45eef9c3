//! Two or more kernels on a simulated link, for tests: rate, delay, and forced drops.
#![allow(dead_code, unused_imports, reason = "each test program uses a part")]

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::convert::Infallible;

mod built;

pub use built::{Built, built, skipped};
use hopyard_engine::{Span, Time};
use hopyard_kernels::{Departure, Guest, Kernels, Network, Port, Sending, Settings, Ticket, initrd};
use xxhash_rust::xxh3::Xxh3;

/// A kernel with a device and orders.
pub fn guest(built: &Built, number: u8, orders: &str) -> Guest {
    let orders = format!("address eth0 10.0.0.{} 24\n{orders}\n", number + 1);
    Guest {
        name: format!("host {number}"),
        program: built.program.clone(),
        initrd: initrd::archive(&[("init", 0o755, &built.agent), ("orders", 0o644, orders.as_bytes())]),
        parameters: Vec::new(),
        memory: 32,
        devices: vec![mac(number)],
        seed: 1,
    }
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
    due: BTreeMap<u64, Departure>,
    left: Vec<Departure>,
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

    fn schedule(&mut self, at: Time, departure: Departure) {
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
            if let Departure::Frame { to, frame } = &departure {
                let (to, frame) = (*to, frame.clone());
                self.note(at, "received", to, &frame);
            }
            self.left.push(departure);
        }
        self.left.reverse();
        Ok(())
    }

    fn departure(&mut self) -> Option<Departure> {
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
            self.schedule(end + self.delay, Departure::Frame { to, frame });
        }
        self.schedule(end, Departure::Sent(ticket));
        Ok(Sending::Pending)
    }
}

/// Runs kernels until a time; what they have written, and the link.
pub fn run(guests: &[Guest], settings: Settings, mut link: Link, until: Time) -> (Vec<String>, Link) {
    let mut kernels = Kernels::start(guests, settings).expect("they start");
    kernels.advance(until, &mut link, || false).unwrap_or_else(|error| panic!("{error}"));
    let lines = (0..kernels.len()).map(|kernel| kernels.lines(kernel).expect("a log")).collect();
    (lines, link)
}

/// The words of the reports of a kind.
pub fn reports<'a>(lines: &'a str, kind: &str) -> Vec<Vec<&'a str>> {
    let words = lines.lines().filter_map(|line| line.strip_prefix('@')).map(|it| it.split(' ').collect::<Vec<_>>());
    words.filter(|it| it[0] == kind).collect()
}
