//! A point-to-point wired link: full duplex, with a rate, a delay and a queue for each direction.
//!
//! Under drop-tail packets leave in order and at a known rate. Therefore the times at which a packet starts and arrives
//! are known when it enters, and the only event is the arrival. Under another discipline a packet enters its queue, and
//! the end of each transmission is an event too. A scenario can name the packets that are lost: by their number in a
//! direction, by the number of the TCP segment, or at random. As with an ns-2 error model in front of a link, a packet
//! that is lost by number never enters the queue. A packet that is lost at random is queued and sent first. Left out:
//! framing overhead. When a packet arrives in the same nanosecond in which another one has been sent, the place of the
//! other one is free.
//!
//! A link can be down at given times. As in ns-2, the link then loses every packet that waits, is being sent, is under
//! way, or is sent into it. A packet that would arrive in the nanosecond in which the link goes down is lost; one that
//! enters in the nanosecond in which it comes up is not. Only a direction with packets in it has an event when the link
//! goes down.
//!
//! The delay and the losses of a direction can follow a schedule that a trace of another network gives ([`replay`]).
//! Packets then arrive in the order in which they entered, unless the link lets them overtake each other.
//!
//! Validated by arithmetic, and by ns-2's traces of forced drops.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt::Display;
use std::str::FromStr;

use hopyard_engine::text::from_text;
use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Deadline, Rng, Span, Time};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::queue::{self, Item, LengthMeter, LengthStatistics, Limit, Line, Room};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Packet, PacketId};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};

mod external;
pub mod replay;

use external::Connections;
use replay::{Entry, Schedule};

/// Parameters of a wired link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate, from the link's first node to its second.
    pub rate: Rate,
    /// Rate from the second node to the first, or "same".
    pub rate_back: Back<Rate>,
    /// Propagation delay, from the first node to the second.
    pub delay: Span,
    /// Propagation delay from the second node to the first, or "same".
    pub delay_back: Back<Span>,
    /// Length of each direction's queue in packets, not counting the packet that is being sent.
    pub queue_length: u32,
    /// Whether the queue holds as many packets as its length ("inclusive"), or one less, as in ns-2 ("exclusive").
    pub queue_limit: Limit,
    /// The largest packet that the link carries, IP header included; "0 B": any. As long as those of a radio by
    /// default, so that what tunnels add to a packet of 1500 bytes fits.
    pub mtu: Bytes,
    /// What is lost from the link's first node to its second.
    pub losses: Losses,
    /// What is lost from the link's second node to its first.
    pub losses_back: Losses,
    /// The times at which the link is down, in both directions: each from an instant on to another one, in order. What
    /// waits, is under way or is sent meanwhile is lost. Routes do not change.
    pub down: Vec<Down>,
    /// Delays and losses from the first node to the second, by a schedule: each entry from a time, or from a packet,
    /// on. They are added to `delay` and `losses`.
    pub replay: Vec<Entry>,
    /// The same from the second node to the first.
    pub replay_back: Vec<Entry>,
    /// Whether a packet with a shorter delay in `replay` arrives before one that entered earlier, as over several pipes
    /// of dummynet. Otherwise it arrives together with that one.
    pub overtaking: bool,
}

/// An interval in which a link is down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Down {
    /// When it goes down, from the start of the run; "0 s" for a link that starts down.
    pub from: Span,
    /// When it is up again; if it is not given, never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span")]
    pub to: Option<Span>,
}

impl Down {
    /// Adds what is wrong with intervals, by their places.
    fn faults(intervals: &[Self]) -> Vec<(usize, String)> {
        let mut faults = Vec::new();
        let mut before = Some(Span::ZERO);
        for (place, &Self { from, to }) in intervals.iter().enumerate() {
            match before {
                None => faults.push((place, format!("the link goes down at {from}, but is down already, for ever"))),
                Some(up) if from < up => {
                    faults.push((place, format!("the link goes down at {from}, but is down already, until {up}")));
                }
                Some(_) => {}
            }
            match to {
                Some(to) if to <= from => {
                    faults.push((
                        place,
                        format!("the link is down from {from} to {to}: it must come up after it goes down"),
                    ));
                }
                // The next interval is compared with the longest of those before it.
                _ => before = before.and_then(|up| to.map(|to| to.max(up))),
            }
        }
        faults
    }
}

/// A value of the direction from a link's second node to its first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Back<T> {
    /// The same as in the other direction.
    Same,
    /// This one.
    Own(T),
}

impl<T: Copy> Back<T> {
    /// The value, which is `forward` in the other direction.
    #[must_use]
    pub const fn or(self, forward: T) -> T {
        match self {
            Self::Same => forward,
            Self::Own(value) => value,
        }
    }
}

impl<T: Display> Serialize for Back<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same => serializer.serialize_str("same"),
            Self::Own(value) => serializer.collect_str(value),
        }
    }
}

/// The possible values of this direction, in words.
fn words<T: JsonSchema>() -> String {
    let of = T::json_schema(&mut SchemaGenerator::default());
    format!("{}, or \"same\"", of.get("description").and_then(Value::as_str).unwrap_or("a value"))
}

impl<T: FromStr + JsonSchema> FromStr for Back<T> {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text.trim() == "same" {
            return Ok(Self::Same);
        }
        text.parse().map(Self::Own).map_err(|_| format!("expected {}, found \"{text}\"", words::<T>()))
    }
}

impl<'de, T: FromStr + JsonSchema> Deserialize<'de> for Back<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, &words::<T>())
    }
}

impl<T: JsonSchema> JsonSchema for Back<T> {
    fn schema_name() -> Cow<'static, str> {
        format!("{}OrSame", T::schema_name()).into()
    }
    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "description": words::<T>(), "examples": ["same"] })
    }
}

/// What is lost in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Losses {
    /// Packets by their number among all that enter this direction, counted from zero. What is sent into a link that is
    /// down does not enter it.
    pub packets: Vec<u64>,
    /// TCP segments by their number, counted from zero in segments of the flow's segment size: each entry loses one
    /// transmission, of whichever flow sends it first. A number that is given twice also loses the first
    /// retransmission. A shorter segment has the number in which its first byte lies. A SYN has none. Segments of Linux
    /// and of attached hosts count in the size of the first one of their connection.
    pub segments: Vec<u64>,
    /// The probability with which each packet is lost.
    pub rate: f64,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            rate: Rate::from_bps(10_000_000),
            rate_back: Back::Same,
            delay: Span::from_millis(2),
            delay_back: Back::Same,
            queue_length: 50,
            queue_limit: if profile == NS2 { Limit::Exclusive } else { Limit::Inclusive },
            mtu: Bytes::new(if profile == NS2 { 0 } else { 2296 }),
            losses: Losses::default(),
            losses_back: Losses::default(),
            down: Vec::new(),
            replay: Vec::new(),
            replay_back: Vec::new(),
            overtaking: false,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.queue_limit.capacity(self.queue_length) == 0 {
            return Err(Fault::new("queue_length", "no packet could wait: must be at least 1, or 2 if \"exclusive\""));
        }
        // What every host must take (RFC 791 §3.1).
        if (1..576).contains(&self.mtu.count()) {
            return Err(Fault::new("mtu", format!("expected 0 B or at least 576 B, found {}", self.mtu)));
        }
        for (parameter, losses) in [("losses", &self.losses), ("losses_back", &self.losses_back)] {
            if !(0.0..=1.0).contains(&losses.rate) {
                return Err(Fault::new(parameter, format!("rate must lie between 0 and 1, found {}", losses.rate)));
            }
        }
        Fault::of_elements("down", Down::faults(&self.down))?;
        Fault::of_elements("replay", Entry::faults(&self.replay))?;
        Fault::of_elements("replay_back", Entry::faults(&self.replay_back))
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.replay.is_empty() && self.replay_back.is_empty(), "replay", &["overtaking"])])
    }
}

impl Params {
    /// The size of the largest packet that the link carries, if there is a limit.
    #[must_use]
    pub fn largest_packet(&self) -> Option<u32> {
        (self.mtu.count() > 0).then(|| u32::try_from(self.mtu.count()).unwrap_or(u32::MAX))
    }
}

/// A direction of a wired link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first node to the second.
    Forward,
    /// From the second node to the first.
    Backward,
}

/// A wired link between two nodes.
#[derive(Clone, Debug)]
pub struct Wired {
    directions: [Lane; 2],
}

/// One direction.
#[derive(Clone, Debug)]
struct Lane {
    /// The node that sends, for the account of drops.
    node: NodeId,
    from: InterfaceId,
    to: InterfaceId,
    rate: Rate,
    delay: Span,
    capacity: usize,
    /// The size of the largest packet.
    largest: u32,
    losses: Losses,
    schedule: Schedule,
    overtaking: bool,
    /// When the first packet arrives.
    arrives: Time,
    /// How the segments of each flow are numbered.
    numbering: Vec<Numbering>,
    /// The connections of hosts outside, if segments are lost by number.
    external: Connections,
    rng: Rng,
    /// Packets that entered so far.
    entered: u64,
    /// Packets that wait, are being sent or are on the wire, in the order in which they entered.
    packets: VecDeque<Transit>,
    /// How many of `packets`, from the front, have started to be sent. It is updated when a packet enters.
    started: usize,
    /// When the last packet that entered will have been sent.
    busy_until: Time,
    /// When the link is down: from, and to. The first of them is the next one, or is now.
    down: VecDeque<(Time, Time)>,
    /// When the first of `down` begins.
    falls: Time,
    /// Sum of the nanoseconds that packets wait.
    waiting: u128,
    max: usize,
    /// The queue under another discipline than drop-tail.
    line: Option<Box<Served>>,
}

/// The queue of a direction whose packets leave one after the other, when the one before them has been sent.
#[derive(Clone, Debug)]
struct Served {
    line: Line,
    meter: LengthMeter,
    /// The packet that is being sent, until `busy_until`.
    sending: Option<PacketId>,
    /// How many packets have left the queue to be sent.
    sent: u64,
}

/// How the segments of a flow are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Numbering {
    /// The sequence number of the first byte.
    pub first: u64,
    /// The bytes of a whole segment.
    pub size: u32,
}

#[derive(Clone, Copy, Debug)]
struct Transit {
    packet: PacketId,
    starts: Time,
    arrives: Time,
    lost: bool,
}

impl Wired {
    /// A link between the interfaces of two nodes, with a random stream for each direction's losses.
    #[must_use]
    pub fn new(params: &Params, ends: [(NodeId, InterfaceId); 2], streams: [Rng; 2]) -> Self {
        let [first, second] = ends;
        let [forward, backward] = streams;
        let back = Params {
            rate: params.rate_back.or(params.rate),
            delay: params.delay_back.or(params.delay),
            losses: params.losses_back.clone(),
            replay: params.replay_back.clone(),
            ..params.clone()
        };
        Self { directions: [Lane::new(params, first, second.1, forward), Lane::new(&back, second, first.1, backward)] }
    }

    /// Numbers the segments of each flow in this way, in order of flows. Flows that are not known here have segments of
    /// equal length from zero on.
    #[must_use]
    pub fn numbered(mut self, numbering: &[Numbering]) -> Self {
        for lane in self.directions.iter_mut().filter(|lane| !lane.losses.segments.is_empty()) {
            lane.numbering = numbering.to_vec();
        }
        self
    }

    /// Has queues with another discipline than drop-tail, with a random stream for each direction.
    #[must_use]
    pub fn disciplined(mut self, params: &Params, config: &queue::Config, streams: [Rng; 2]) -> Self {
        for (lane, draws) in self.directions.iter_mut().zip(streams) {
            let room = Room { packets: lane.room(params, config), rate: lane.rate, delay: lane.delay };
            let line = Line::new(lane.node, config, &room, draws);
            lane.line = Some(Box::new(Served { line, meter: LengthMeter::default(), sending: None, sent: 0 }));
        }
        self
    }

    /// Whether the time at which a packet will have been sent is known when it enters.
    #[must_use]
    pub const fn knows_ahead(&self, direction: Direction) -> bool {
        self.directions[direction as usize].line.is_none()
    }

    /// How many packets a direction's queue has marked; nothing under drop-tail, which marks none.
    #[must_use]
    pub fn marks(&self, direction: Direction) -> Option<u64> {
        self.directions[direction as usize].line.as_ref().map(|served| served.line.marks())
    }

    /// The interface to which packets of a direction go.
    #[must_use]
    pub const fn to(&self, direction: Direction) -> InterfaceId {
        self.directions[direction as usize].to
    }

    /// The rate of a direction.
    #[must_use]
    pub const fn rate(&self, direction: Direction) -> Rate {
        self.directions[direction as usize].rate
    }

    /// The size of the largest packet of a direction, if there is a limit.
    #[must_use]
    pub fn mtu(&self, direction: Direction) -> Option<u32> {
        Some(self.directions[direction as usize].largest).filter(|it| *it < u32::MAX)
    }

    /// The delay of a direction.
    #[must_use]
    pub const fn delay(&self, direction: Direction) -> Span {
        self.directions[direction as usize].delay
    }

    /// A packet enters a direction; it is queued, or dropped.
    pub fn enqueue(&mut self, direction: Direction, packet: PacketId, cx: &mut Context) {
        self.directions[direction as usize].enqueue(packet, cx);
    }

    /// The deadline is reached: packets arrive at their node's IP.
    pub fn on_timer(&mut self, cx: &mut Context) {
        for lane in &mut self.directions {
            lane.arrivals(cx);
        }
    }

    /// Every packet that waits or is on the wire.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        let in_lines = self.directions.iter().filter_map(|lane| lane.line.as_ref()).flat_map(|it| it.line.items());
        let on_wires = self.directions.iter().flat_map(|lane| lane.packets.iter().map(|transit| transit.packet));
        on_wires.chain(in_lines.map(|item| item.packet))
    }

    /// When the last packet that entered a direction will have been sent, or was sent.
    #[must_use]
    pub const fn busy_until(&self, direction: Direction) -> Time {
        self.directions[direction as usize].busy_until
    }

    /// How many packets wait to be sent in a direction.
    #[must_use]
    pub fn waiting(&self, direction: Direction, now: Time) -> usize {
        let lane = &self.directions[direction as usize];
        let in_line = lane.line.as_ref().map_or(0, |served| served.line.len());
        in_line + lane.packets.iter().rev().take_while(|transit| transit.starts > now).count()
    }

    /// Mean and maximum of a direction's queue from the start of the run to `now`.
    #[must_use]
    pub fn statistics(&self, direction: Direction, now: Time) -> LengthStatistics {
        self.directions[direction as usize].statistics(now)
    }
}

impl Deadline for Wired {
    #[inline]
    fn deadline(&self) -> Time {
        let [forward, backward] = &self.directions;
        forward.deadline().min(backward.deadline())
    }
}

impl Lane {
    fn new(params: &Params, from: (NodeId, InterfaceId), to: InterfaceId, rng: Rng) -> Self {
        let instant = |span| Time::ZERO + span;
        let down: VecDeque<_> =
            params.down.iter().map(|it| (instant(it.from), it.to.map_or(Time::NEVER, instant))).collect();
        Self {
            node: from.0,
            from: from.1,
            to,
            rate: params.rate,
            delay: params.delay,
            capacity: params.queue_limit.capacity(params.queue_length),
            largest: params.largest_packet().unwrap_or(u32::MAX),
            losses: params.losses.clone(),
            schedule: Schedule::new(&params.replay),
            overtaking: params.overtaking,
            arrives: Time::NEVER,
            numbering: Vec::new(),
            external: Connections::default(),
            rng,
            entered: 0,
            packets: VecDeque::new(),
            started: 0,
            busy_until: Time::ZERO,
            falls: down.front().map_or(Time::NEVER, |&(from, _)| from),
            down,
            waiting: 0,
            max: 0,
            line: None,
        }
    }

    /// How many packets the queue may hold by the parameters. In ns-2 the limit is exclusive for drop-tail alone.
    fn room(&self, params: &Params, config: &queue::Config) -> usize {
        if config.is_drop_tail() { self.capacity } else { params.queue_length as usize }
    }

    /// Whether the link is down. Packets in this direction are lost when it goes down.
    #[cold]
    fn is_down(&mut self, cx: &mut Context) -> bool {
        while let Some(&(from, to)) = self.down.front()
            && from <= cx.now
        {
            for Transit { packet, starts, .. } in self.packets.drain(..) {
                // It waits no longer.
                self.waiting -= u128::from(starts.since(from).nanos());
                cx.lose(self.node, packet, DropReason::WireDown);
            }
            if let Some(served) = &mut self.line {
                served.meter.account(served.line.len(), from);
                served.sending = None;
                served.line.retain(&mut |item| {
                    cx.lose(self.node, item.packet, DropReason::WireDown);
                    false
                });
            }
            self.started = 0;
            self.arrives = Time::NEVER;
            self.busy_until = self.busy_until.min(from);
            if cx.now < to {
                return true;
            }
            self.down.pop_front();
            self.falls = self.down.front().map_or(Time::NEVER, |&(from, _)| from);
        }
        false
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut Context) {
        if self.falls <= cx.now && self.is_down(cx) {
            cx.drop_packet(self.node, packet, DropReason::WireDown);
            return;
        }
        if cx.packets[packet].size > self.largest {
            cx.drop_packet(self.node, packet, DropReason::TooLong);
            return;
        }
        let number = self.entered;
        self.entered += 1;
        if self.losses.take(number, &self.numbering, &mut self.external, &cx.packets[packet]) {
            cx.drop_packet(self.node, packet, DropReason::ScriptedLoss);
            return;
        }
        if self.line.is_some() {
            return self.enter_line(packet, cx);
        }
        while self.packets.get(self.started).is_some_and(|transit| transit.starts <= cx.now) {
            self.started += 1;
        }
        let length = self.packets.len() - self.started;
        let starts = self.busy_until.max(cx.now);
        if starts > cx.now {
            if length >= self.capacity {
                cx.drop_packet(self.node, packet, DropReason::QueueFull);
                return;
            }
            self.max = self.max.max(length + 1);
            self.waiting += u128::from(starts.since(cx.now).nanos());
        }
        self.start(packet, starts, number, cx);
    }

    /// A packet will be sent from a time on.
    fn start(&mut self, packet: PacketId, starts: Time, number: u64, cx: &Context) {
        self.busy_until = starts + self.rate.airtime(cx.packets[packet].size);
        let (delay, loss) = self.schedule.of(cx.now, number);
        let lost = [self.losses.rate, loss].into_iter().any(|rate| rate > 0.0 && self.rng.uniform() < rate);
        let mut arrives = self.busy_until + self.delay + delay;
        if !self.overtaking {
            arrives = arrives.max(self.packets.back().map_or(Time::ZERO, |last| last.arrives));
        }
        self.arrives = self.arrives.min(arrives);
        self.packets.push_back(Transit { packet, starts, arrives, lost });
    }

    /// A packet enters the queue of a direction whose packets leave one after the other. It passes the queue even when
    /// the direction is idle.
    fn enter_line(&mut self, packet: PacketId, cx: &mut Context) {
        self.serve(cx);
        let Some(served) = &mut self.line else { return };
        let Packet { destination, size, .. } = cx.packets[packet];
        served.meter.account(served.line.len(), cx.now);
        served.line.push(Item { packet, next_hop: destination, size, entered: cx.now }, cx);
        if served.sending.is_some() {
            return served.meter.grown(served.line.len());
        }
        self.send_next(cx);
    }

    /// Sends the next packet if the one before it has been sent.
    fn serve(&mut self, cx: &mut Context) {
        if self.busy_until <= cx.now
            && let Some(packet) = self.line.as_mut().and_then(|served| served.sending.take())
        {
            cx.complete(packet, Ok(()));
            self.send_next(cx);
        }
    }

    /// Sends the next packet of the queue. The queue is asked even if it is empty: it then knows since when.
    fn send_next(&mut self, cx: &mut Context) {
        let Some(served) = &mut self.line else { return };
        served.meter.account(served.line.len(), cx.now);
        let next = served.line.pop(None, cx);
        let number = served.sent;
        served.sending = next.map(|item| item.packet);
        if let Some(item) = next {
            served.sent += 1;
            self.start(item.packet, cx.now, number, cx);
        }
    }

    fn arrivals(&mut self, cx: &mut Context) {
        if self.falls <= cx.now && self.is_down(cx) {
            return;
        }
        self.serve(cx);
        while let Some((place, Transit { packet, lost, .. })) = self.arrived(cx.now) {
            self.packets.remove(place);
            // A packet that has been sent may not have been counted as started yet.
            self.started -= usize::from(place < self.started);
            if lost {
                cx.drop_packet(self.node, packet, DropReason::ScriptedLoss);
            } else {
                cx.act(Action::Receive { interface: self.to, packet, from: self.from });
            }
        }
        let arrive = self.packets.iter().map(|transit| transit.arrives);
        let first = if self.overtaking { arrive.min() } else { self.packets.front().map(|transit| transit.arrives) };
        self.arrives = first.unwrap_or(Time::NEVER);
    }

    /// The first packet that has arrived, and its place.
    #[inline]
    fn arrived(&self, now: Time) -> Option<(usize, Transit)> {
        let mut all = self.packets.iter().copied().enumerate();
        // Of packets that arrive at the same time, `min_by_key` takes the one that entered first.
        let first = if self.overtaking { all.min_by_key(|(_, transit)| transit.arrives) } else { all.next() };
        first.filter(|(_, transit)| transit.arrives <= now)
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.packets.is_empty() {
            return Time::NEVER;
        }
        let sent = match &self.line {
            Some(served) if served.sending.is_some() => self.busy_until,
            _ => Time::NEVER,
        };
        self.arrives.min(self.falls).min(sent)
    }

    fn statistics(&self, now: Time) -> LengthStatistics {
        if let Some(served) = &self.line {
            return served.meter.statistics(served.line.len(), now);
        }
        // The time for which queued packets will still wait does not count.
        let ahead: u128 = self.packets.iter().map(|transit| u128::from(transit.starts.since(now).nanos())).sum();
        let mean = if now == Time::ZERO { 0.0 } else { (self.waiting - ahead) as f64 / now.nanos() as f64 };
        LengthStatistics { mean, max: self.max }
    }
}

impl Losses {
    /// Whether the packet with this number is lost. Removes the entry of a segment that is lost.
    fn take(&mut self, number: u64, numbering: &[Numbering], external: &mut Connections, packet: &Packet) -> bool {
        let by_number = self.packets.contains(&number);
        let segment = match packet.carried() {
            Body::Tcp(header) if header.len > 0 && !self.segments.is_empty() => {
                let usual = Numbering { first: 0, size: header.len };
                let Numbering { first, size } = numbering.get(packet.flow.index()).copied().unwrap_or(usual);
                header.seq.checked_sub(first).and_then(|offset| offset.checked_div(u64::from(size)))
            }
            Body::External(bytes) if !self.segments.is_empty() => external.number(bytes),
            _ => None,
        };
        let place = segment.and_then(|segment| self.segments.iter().position(|&listed| listed == segment));
        if let Some(place) = place {
            self.segments.swap_remove(place);
        }
        by_number || place.is_some()
    }
}

#[cfg(test)]
mod tests;
