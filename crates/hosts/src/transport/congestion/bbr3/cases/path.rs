//! A TCP connection over one bottleneck whose rate, losses and acknowledgements change as a case asks.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};

use super::super::{Bbr3, Params, State};
use crate::packet::TcpHeader;
use crate::params::{Params as _, RFC};
use crate::transport::acking;
use crate::transport::congestion::Controller;
use crate::transport::tcp::{self, TcpReceiver, TcpSender};

/// Payload of a segment, and its bytes on the wire with timestamps.
pub const SEGMENT: f64 = 1000.0;
pub const PACKET: f64 = 1052.0;

enum Wake {
    Data(TcpHeader),
    Ack(TcpHeader),
    Sender,
    Receiver,
    Write(u64),
}

/// A policer: tokens in packets for each second, the most that it keeps, and what it has since when.
pub struct Bucket {
    pub rate: f64,
    pub burst: f64,
    pub tokens: f64,
    pub since: Time,
}

impl Bucket {
    fn passes(&mut self, now: Time) -> bool {
        self.tokens = (self.tokens + self.rate * now.since(self.since).seconds()).min(self.burst);
        self.since = now;
        let passes = self.tokens >= 1.0;
        self.tokens -= if passes { 1.0 } else { 0.0 };
        passes
    }
}

/// The connection and the path. Data waits for the bottleneck; half of the round trip lies in each direction.
pub struct Path {
    pub sender: TcpSender,
    receiver: TcpReceiver,
    pub rate: f64,
    round_trip: Span,
    pub queue_limit: usize,
    /// Each packet with a number that this divides is lost, unless it repairs a loss: a repeated loss leads to a
    /// timeout, after which the application is not the limit.
    pub drop_each: Option<u64>,
    pub bucket: Option<Bucket>,
    /// Acknowledgements arrive together at multiples of this time.
    pub batch: Option<Span>,
    /// The application writes so many bytes in a second, in pieces; without a rate it has endless data.
    pub app_rate: Option<f64>,
    busy: Time,
    waiting: VecDeque<Time>,
    wakes: BTreeMap<(Time, u64), Wake>,
    order: u64,
    timers: [Time; 2],
    pub sent: u64,
    pub lost: u64,
    now: Time,
    /// The states, and when each began.
    pub states: Vec<(f64, State)>,
}

impl Path {
    /// A path of so many Mb/s and milliseconds, and a connection over it.
    pub fn new(megabits: f64, millis: u64) -> Self {
        let params =
            tcp::Params { segment_size: Bytes::new(SEGMENT as u64), window: 100_000, ..tcp::Params::of_profile(RFC) };
        let mut control = Bbr3::new(&Params::of_profile(RFC));
        control.seed(Streams::new(1, 0).stream("bbr3"));
        let rng = Streams::new(1, 0).stream("tcp");
        let sender = TcpSender::with_control(&params, Controller::Bbr3(control), rng);
        let acking = acking::Config::of_profile("every", RFC).expect("a policy");
        let receiver = TcpReceiver::new(&acking, &params, sender.wants_sack());
        Self {
            sender,
            receiver,
            rate: 1e6 * megabits,
            round_trip: Span::from_millis(millis),
            queue_limit: usize::MAX,
            drop_each: None,
            bucket: None,
            batch: None,
            app_rate: None,
            busy: Time::ZERO,
            waiting: VecDeque::new(),
            wakes: BTreeMap::new(),
            order: 0,
            timers: [Time::NEVER; 2],
            sent: 0,
            lost: 0,
            now: Time::ZERO,
            states: vec![(0.0, State::Startup)],
        }
    }

    /// The connection with endless data.
    pub fn endless(mut self) -> Self {
        self.sender.write(u64::MAX, Time::ZERO);
        self.pump();
        self
    }

    /// The connection whose application writes so many Mb/s.
    pub fn limited(mut self, megabits: f64) -> Self {
        self.app_rate = Some(1e6 * megabits / 8.0);
        self.write(1);
        self
    }

    fn schedule(&mut self, at: Time, wake: Wake) {
        self.wakes.insert((at, self.order), wake);
        self.order += 1;
    }

    /// Writes this, and goes on as the application's rate says.
    pub fn write(&mut self, bytes: u64) {
        self.sender.write(bytes, self.now);
        if let Some(rate) = self.app_rate {
            let pieces = (rate / SEGMENT / 500.0).max(1.0) as u64;
            let bytes = pieces * SEGMENT as u64;
            let next = self.now + Span::from_secs_f64(bytes as f64 / rate);
            self.schedule(next, Wake::Write(bytes));
        }
        self.pump();
    }

    pub fn control(&self) -> &Bbr3 {
        match self.sender.control() {
            Controller::Bbr3(control) => control,
            _ => panic!("another congestion control"),
        }
    }

    pub fn now(&self) -> f64 {
        self.now.seconds()
    }

    pub fn cwnd(&self) -> f64 {
        self.sender.state().cwnd
    }

    /// The largest rate as a share of the path's.
    pub fn estimate(&self) -> f64 {
        self.control().model.max_bw() * PACKET * 8.0 / self.rate
    }

    fn send(&mut self, header: TcpHeader) {
        if header.len == 0 {
            self.schedule(self.now + self.round_trip / 2, Wake::Data(header));
            return;
        }
        self.sent += 1;
        while self.waiting.front().is_some_and(|done| *done <= self.now) {
            self.waiting.pop_front();
        }
        let now = self.now;
        let dropped = self.drop_each.is_some_and(|each| self.sent.is_multiple_of(each));
        let lost = (dropped && !header.retransmission)
            || self.bucket.as_mut().is_some_and(|bucket| !bucket.passes(now))
            || self.waiting.len() >= self.queue_limit;
        if lost {
            self.lost += 1;
            return;
        }
        self.busy = self.busy.max(now) + Rate::from_bps(self.rate as u64).airtime(PACKET as u32);
        self.waiting.push_back(self.busy);
        self.schedule(self.busy + self.round_trip / 2, Wake::Data(header));
    }

    fn pump(&mut self) {
        while let Some(header) = self.sender.poll_transmit(self.now) {
            self.send(header);
        }
        while let Some(ack) = self.receiver.poll_transmit(self.now) {
            let mut at = self.now + self.round_trip / 2;
            if let Some(batch) = self.batch {
                at = Time::from_nanos(at.nanos().div_ceil(batch.nanos()) * batch.nanos());
            }
            self.schedule(at, Wake::Ack(ack));
        }
        for (index, deadline) in [self.sender.deadline(), self.receiver.deadline()].into_iter().enumerate() {
            if deadline < self.timers[index] {
                self.timers[index] = deadline;
                self.schedule(deadline, if index == 0 { Wake::Sender } else { Wake::Receiver });
            }
        }
        let state = self.control().state;
        if self.states.last().is_none_or(|(_, last)| *last != state) {
            self.states.push((self.now.seconds(), state));
        }
    }

    /// The next event, if it is before this time.
    fn step(&mut self, end: Time) -> bool {
        let Some((&(now, order), _)) = self.wakes.first_key_value() else { return false };
        if now >= end {
            return false;
        }
        self.now = now;
        match self.wakes.remove(&(now, order)).expect("it was just seen") {
            Wake::Data(header) => self.receiver.on_segment(&header, now),
            Wake::Ack(header) => self.sender.on_segment(&header, now),
            Wake::Sender if self.timers[0] == now => {
                self.timers[0] = Time::NEVER;
                if self.sender.deadline() <= now {
                    self.sender.on_timer(now);
                }
            }
            Wake::Receiver if self.timers[1] == now => {
                self.timers[1] = Time::NEVER;
                if self.receiver.deadline() <= now {
                    self.receiver.on_timer(now);
                }
            }
            Wake::Sender | Wake::Receiver => return true,
            Wake::Write(bytes) => {
                if self.app_rate.is_some() {
                    self.write(bytes);
                }
                return true;
            }
        }
        self.pump();
        true
    }

    /// Runs for so many seconds. Returns the share of the path's rate that was delivered.
    pub fn run(&mut self, seconds: f64) -> f64 {
        let before = self.sender.window_edges().0;
        let end = self.now + Span::from_secs_f64(seconds);
        while self.step(end) {}
        self.now = end;
        let packets = (self.sender.window_edges().0 - before) as f64 / SEGMENT;
        packets * PACKET * 8.0 / self.rate / seconds
    }

    /// Runs until this state begins. Returns how long it took.
    pub fn until(&mut self, state: State, seconds: f64) -> f64 {
        let (began, known) = (self.now.seconds(), self.states.len());
        let end = self.now + Span::from_secs_f64(seconds);
        while self.states[known..].iter().all(|(_, reached)| *reached != state) {
            assert!(self.step(end), "{state:?} was not reached in {seconds} s: {:?}", self.states);
        }
        self.now.seconds() - began
    }

    /// Runs until the present state ends. Returns the next one.
    pub fn next(&mut self, seconds: f64) -> State {
        let known = self.states.len();
        let end = self.now + Span::from_secs_f64(seconds);
        while self.states.len() == known {
            assert!(self.step(end), "no state in {seconds} s after {:?}", self.states);
        }
        self.states[known].1
    }
}
