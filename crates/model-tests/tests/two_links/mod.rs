//! A sender and a receiver over two wired links in series, with chosen lost segments: the smallest network on which
//! TCP's behaviour can be observed segment by segment. Serialisation is exact to the byte; the queues are first in,
//! first out and unlimited.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::packet::TcpHeader;
use hopyard_model::params::Params as _;
use hopyard_model::transport::acking;
use hopyard_model::transport::congestion::{self, RecoveryChoice};
use hopyard_model::transport::tcp::{self, SenderState, TcpReceiver, TcpSender};

/// A link's rate and propagation delay.
#[derive(Clone, Copy)]
pub struct Link {
    pub rate: Rate,
    pub delay: Span,
}

/// An event at the sender, with the sender's state after it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    pub time: Time,
    /// The number of the segment, or of the acknowledged segment: -1 before the first.
    pub segment: i64,
    pub kind: Kind,
    pub state: SenderState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Ack,
    Send,
    Resend,
}

/// The direction over a link.
#[derive(Clone, Copy)]
enum Hop {
    ToRouter,
    ToReceiver,
    BackToRouter,
    BackToSender,
}

enum Wake {
    Arrive(Hop, TcpHeader),
    Sender,
    Receiver,
}

/// The path: sender, first link, router, second link, receiver, and the same path back.
pub struct Path {
    pub sender: TcpSender,
    pub receiver: TcpReceiver,
    pub links: [Link; 2],
    /// When each of the four directions becomes idle.
    busy: [Time; 4],
    wakes: BTreeMap<(Time, u64), Wake>,
    order: u64,
    timers: [Time; 2],
    /// Data segments that the second link loses, counted from 0 in the order of their arrival at it.
    drops: Vec<u64>,
    /// Acknowledgements that the second link loses, counted from 0 in the order of their arrival at the receiver's end.
    pub ack_drops: Vec<u64>,
    /// The share of segments that the second link loses at random.
    pub loss: Option<(Rng, f64)>,
    /// How many segments may wait for the second link, including the one being sent.
    pub queue_limit: usize,
    /// The first link loses every packet that is given to it in this time, or whose transmission would begin in it.
    pub outage: Option<(Time, Time)>,
    pub stall: Option<(Time, Time)>,
    /// Bytes that the links add to each packet.
    pub framing: u32,
    reached: u64,
    acks: u64,
    /// The first sequence number of data: 1 after a SYN.
    origin: u64,
    segment: u64,
    /// Whether the first data segment counts without its header.
    first_without_header: bool,
    /// The end of transmission of each segment on the second link.
    waiting: VecDeque<Time>,
    pub events: Vec<Event>,
}

impl Path {
    pub fn new(config: &tcp::Config, acking: &acking::Config, links: [Link; 2], drops: &[u64], rng: Rng) -> Self {
        let sender = TcpSender::new(config, rng);
        let receiver = TcpReceiver::new(acking, &config.tcp, sender.wants_sack());
        Self {
            sender,
            receiver,
            links,
            busy: [Time::ZERO; 4],
            wakes: BTreeMap::new(),
            order: 0,
            timers: [Time::NEVER; 2],
            drops: drops.to_vec(),
            ack_drops: Vec::new(),
            loss: None,
            queue_limit: usize::MAX,
            outage: None,
            stall: None,
            framing: 0,
            reached: 0,
            acks: 0,
            origin: 0,
            segment: config.tcp.segment_size.count(),
            first_without_header: false,
            waiting: VecDeque::new(),
            events: Vec::new(),
        }
    }

    fn schedule(&mut self, at: Time, wake: Wake) {
        self.wakes.insert((at, self.order), wake);
        self.order += 1;
    }

    fn transmit(&mut self, now: Time, hop: Hop, header: TcpHeader) {
        let (link, bytes) = match hop {
            Hop::ToRouter => (0, self.data_bytes(&header)),
            Hop::ToReceiver => (1, self.data_bytes(&header)),
            Hop::BackToRouter => (1, self.receiver.header_bytes(&header)),
            Hop::BackToSender => (0, self.receiver.header_bytes(&header)),
        };
        let within = |period: Option<(Time, Time)>, at: Time| {
            period.filter(|(from, to)| link == 0 && (*from..*to).contains(&at))
        };
        if within(self.outage, now).is_some() {
            return;
        }
        let free = self.busy[hop as usize].max(now);
        let begin = within(self.stall, free).map_or(free, |(_, end)| end);
        let done = begin + self.links[link].rate.airtime(bytes + self.framing);
        self.busy[hop as usize] = done;
        if matches!(hop, Hop::ToReceiver) {
            self.waiting.push_back(done);
        }
        self.schedule(done + self.links[link].delay, Wake::Arrive(hop, header));
    }

    fn data_bytes(&self, header: &TcpHeader) -> u32 {
        // ns-2 regards segment 0 as a SYN without its own header, even if no SYN was configured.
        let bare = self.first_without_header && header.seq == 0 && !header.flags.syn;
        header.len + if bare { 0 } else { self.sender.header_bytes(header) }
    }

    /// How many segments wait for the second link or are being sent over it.
    pub fn queued(&mut self, now: Time) -> usize {
        while self.waiting.front().is_some_and(|done| *done <= now) {
            self.waiting.pop_front();
        }
        self.waiting.len()
    }

    /// Whether the segment that has just reached the second link is lost there.
    fn is_lost(&mut self, now: Time) -> bool {
        let by_chance = self.loss.as_mut().is_some_and(|(rng, part)| rng.uniform() < *part);
        by_chance || self.drops.contains(&(self.reached - 1)) || self.queued(now) >= self.queue_limit
    }

    fn number(&self, seq: u64) -> i64 {
        if self.origin == 1 { seq.div_ceil(self.segment) as i64 } else { (seq / self.segment) as i64 }
    }

    fn note(&mut self, time: Time, segment: i64, kind: Kind) {
        let state = self.sender.state();
        self.events.push(Event { time, segment, kind, state });
    }

    fn pump(&mut self, now: Time) {
        while let Some(header) = self.sender.poll_transmit(now) {
            // The sender does not count a retransmitted SYN as a retransmission; the references do.
            let again = header.retransmission || (header.flags.syn && self.origin == 1);
            if header.flags.syn {
                self.origin = 1;
            }
            self.note(now, self.number(header.seq), if again { Kind::Resend } else { Kind::Send });
            self.transmit(now, Hop::ToRouter, header);
        }
        while let Some(ack) = self.receiver.poll_transmit(now) {
            self.acks += 1;
            if !self.ack_drops.contains(&(self.acks - 1)) {
                self.transmit(now, Hop::BackToRouter, ack);
            }
        }
        let deadlines = [self.sender.deadline(), self.receiver.deadline()];
        for (index, deadline) in deadlines.into_iter().enumerate() {
            if deadline < self.timers[index] {
                self.timers[index] = deadline;
                self.schedule(deadline, if index == 0 { Wake::Sender } else { Wake::Receiver });
            }
        }
    }

    /// Starts a transfer of this many bytes.
    pub fn start(&mut self, bytes: u64) {
        self.sender.write(bytes, Time::ZERO);
        self.pump(Time::ZERO);
    }

    /// Runs until there are no more events, or until `until`; events at `until` are not included.
    pub fn run(&mut self, until: Time) {
        while let Some((&(now, order), _)) = self.wakes.first_key_value() {
            if now >= until {
                return;
            }
            match self.wakes.remove(&(now, order)).expect("it was just seen") {
                Wake::Arrive(Hop::ToRouter, header) => {
                    self.reached += 1;
                    if !self.is_lost(now) {
                        self.transmit(now, Hop::ToReceiver, header);
                    }
                }
                Wake::Arrive(Hop::ToReceiver, header) => self.receiver.on_segment(&header, now),
                Wake::Arrive(Hop::BackToRouter, header) => self.transmit(now, Hop::BackToSender, header),
                Wake::Arrive(Hop::BackToSender, header) => {
                    self.sender.on_segment(&header, now);
                    self.note(now, self.number(header.ack) - 1, Kind::Ack);
                }
                // The old time of a moved timer is still in the queue. As in the simulator, the timer is not called at
                // that time.
                Wake::Sender if self.timers[0] != now => continue,
                Wake::Receiver if self.timers[1] != now => continue,
                Wake::Sender => {
                    self.timers[0] = Time::NEVER;
                    if self.sender.deadline() <= now {
                        self.sender.on_timer(now);
                    }
                }
                Wake::Receiver => {
                    self.timers[1] = Time::NEVER;
                    if self.receiver.deadline() <= now {
                        self.receiver.on_timer(now);
                    }
                }
            }
            self.pump(now);
        }
    }
}

/// The links of the comparison with ns-2: 10 Mb/s and 2 ms, then 0.8 Mb/s and 100 ms.
pub const NS2_LINKS: [Link; 2] = [
    Link { rate: Rate::from_bps(10_000_000), delay: Span::from_millis(2) },
    Link { rate: Rate::from_bps(800_000), delay: Span::from_millis(100) },
];

/// The phase of the sender's round-trip clock (tick 10 ms) in ns-2 with its default seed. It is the second number
/// drawn, because a new agent and the start of the simulation draw one number each. A new agent of Vegas draws two.
fn ns2_phase(variant: &str) -> Span {
    Span::from_nanos(if variant == "Vegas" { 142_047 } else { 5_558_807 })
}

/// A configuration of the comparison with ns-2: ns-2's name of the variant, and the set of defaults.
pub fn ns2_config(set: &str, variant: &str) -> tcp::Config {
    let mut params = tcp::Params::of_profile("ns2");
    params.window = if set.ends_with("_one") { 1 } else { 100 };
    let set = set.split('_').next().expect("the first part");
    if set != "ns235" {
        params.initial_window = 1;
        params.limited_transmit = false;
        params.connect = tcp::Connect::None;
    }
    if set == "clean" {
        params.min_rto = Span::from_secs(1);
    }
    let name = match variant {
        "Newreno" => "newreno",
        "NewrenoSBS" => {
            params.recovery = RecoveryChoice::SlowButSteady;
            "newreno"
        }
        "Sack1" => "sack",
        "Tahoe" => "tahoe",
        "Reno" => "reno",
        "Vegas" => "vegas",
        other => panic!("ns-2 has no {other}"),
    };
    tcp::Config {
        tcp: params,
        congestion: congestion::Config::of_profile(name, "ns2").expect("a variant of this name"),
    }
}

/// A case of the comparison, run for 3.5 s as in the reference.
pub fn run_ns2(set: &str, variant: &str, drops: &[u64]) -> Vec<Event> {
    run_ns2_for(set, variant, drops, &[], Span::from_millis(3500))
}

/// The same for another duration, and with lost acknowledgements. A set with `_delayed` in its name delays
/// acknowledgements; with `_one` at its end it has a window of one segment.
pub fn run_ns2_for(set: &str, variant: &str, drops: &[u64], ack_drops: &[u64], length: Span) -> Vec<Event> {
    let policy = if set.contains("_delayed") { "delayed" } else { "every" };
    let acking = acking::Config::of_profile(policy, "ns2").expect("a policy of this name");
    let config = ns2_config(set, variant);
    let mut path = Path::new(&config, &acking, NS2_LINKS, drops, Streams::new(1, 0).stream("tcp"));
    path.ack_drops = ack_drops.to_vec();
    path.sender.set_tick_phase(ns2_phase(variant));
    path.first_without_header = true;
    path.start(u64::MAX);
    path.run(Time::ZERO + length);
    path.events
}

/// The result of comparing two runs of a case.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    pub segments: usize,
    pub reference: usize,
    /// The first position at which the sequences differ.
    pub mismatch: Option<usize>,
    pub time_error: Span,
    /// The largest difference of window and threshold.
    pub cwnd_error: f64,
    pub ssthresh_error: f64,
}

/// Compares the sent segments with a reference of (time, segment, sent before, cwnd, ssthresh), and the
/// acknowledgements in the same way.
pub fn compare(events: &[Event], reference: &[Event]) -> Comparison {
    let mut result = Comparison { segments: events.len(), reference: reference.len(), ..Comparison::default() };
    for (index, (ours, theirs)) in events.iter().zip(reference).enumerate() {
        if (ours.segment, ours.kind) != (theirs.segment, theirs.kind) {
            result.mismatch = Some(index);
            return result;
        }
        let error = ours.time.since(theirs.time).max(theirs.time.since(ours.time));
        result.time_error = result.time_error.max(error);
        // The reference records the state at the next event: before a timeout this is the state of the timeout.
        let next = reference.get(index + 1);
        if ours.kind == Kind::Ack && next.is_some_and(|next| next.kind == Kind::Resend && next.time > theirs.time) {
            continue;
        }
        result.cwnd_error = result.cwnd_error.max((ours.state.cwnd - theirs.state.cwnd).abs());
        result.ssthresh_error = result.ssthresh_error.max((ours.state.ssthresh - theirs.state.ssthresh).abs());
    }
    if events.len() != reference.len() {
        result.mismatch = Some(events.len().min(reference.len()));
    }
    result
}

/// A case of the reference.
pub struct Case {
    /// The set of defaults, the variant, and the lost segments.
    pub name: (String, String, String),
    pub drops: Vec<u64>,
    pub ack_drops: Vec<u64>,
    pub events: Vec<Event>,
}

/// Reads reference cases, with lines of the form
/// `set,variant,case,drops,time,event,segment,size,again,cwnd,ssthresh,duplicates`. The first four may be empty if they
/// are as before; size and duplicates are not used. In a table of openings, the first line of a case has the lost
/// acknowledgements in the place of the size.
pub fn read_reference(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let openings = text.lines().next().expect("a header").contains("ack_drops");
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let name = (fields[0].to_owned(), fields[1].to_owned(), fields[2].to_owned());
        if !fields[0].is_empty() && cases.last().is_none_or(|last| last.name != name) {
            let places =
                |index: usize| fields[index].split_whitespace().map(|n| n.parse().expect("a number")).collect();
            let ack_drops = if openings { places(7) } else { Vec::new() };
            cases.push(Case { name, drops: places(3), ack_drops, events: Vec::new() });
        }
        let number = |index: usize| fields[index].parse::<f64>().expect("a number");
        let kind = match (fields[5], fields[8]) {
            ("ack", _) => Kind::Ack,
            (_, "1") => Kind::Resend,
            _ => Kind::Send,
        };
        let state = SenderState {
            cwnd: number(9),
            inflation: 0.0,
            ssthresh: number(10),
            flight: 0,
            srtt: None,
            rto: Span::ZERO,
            round_trip: None,
            duplicate_acks: 0,
            recovering: false,
            timeouts: 0,
            frozen: false,
            bandwidth: None,
            pacing_gap: Span::ZERO,
        };
        let event = Event {
            time: Time::ZERO + Span::from_secs_f64(number(4)),
            segment: fields[6].parse().expect("a number"),
            kind,
            state,
        };
        cases.last_mut().expect("a case was just added").events.push(event);
    }
    cases
}
