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
//! The rate, the delay and the losses of a direction can follow a file ([`trace`]). Bits then leave at the rate of each
//! instant, also during a packet. A packet has the delay and the chance to be lost of the time at which its last bit
//! leaves. Or packets leave at the opportunities of a file.
//!
//! Validated by arithmetic, and by ns-2's traces of forced drops.

use std::collections::VecDeque;
use std::sync::Arc;

use hopyard_engine::units::Rate;
use hopyard_engine::{Deadline, Rng, Span, Time};

use super::queue::{self, Item, LengthMeter, LengthStatistics, Line, Room};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Packet, PacketId};

mod external;
mod params;
pub mod replay;
mod service;
pub mod trace;

use external::Connections;
pub use params::{Back, Down, Losses, Params};
use replay::Schedule;
use service::Service;
use trace::{Cursor, Trace, Values};

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
    /// The rate, or the mean of the rates of a trace.
    rate: Rate,
    service: Service,
    /// The values of a trace.
    values: Option<Arc<Values>>,
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
    /// Whether the next packet of the queue waits for an opportunity, until `busy_until`.
    waits: bool,
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

    /// Follows these traces, of each direction.
    #[must_use]
    pub fn traced(mut self, traces: &[Vec<Trace>; 2]) -> Self {
        for (lane, traces) in self.directions.iter_mut().zip(traces) {
            for trace in traces {
                lane.rate = trace.mean().unwrap_or(lane.rate);
                match trace {
                    Trace::Values(values) => {
                        if values.has_rate() {
                            lane.service = Service::Varying(Arc::clone(values));
                        }
                        lane.values = Some(Arc::clone(values));
                    }
                    Trace::Opportunities(all) => lane.service = Service::Opportunities(Cursor::new(all)),
                }
            }
        }
        self
    }

    /// Has queues with another discipline than drop-tail, with a random stream for each direction.
    #[must_use]
    pub fn disciplined(mut self, params: &Params, config: &queue::Config, streams: [Rng; 2]) -> Self {
        for (lane, draws) in self.directions.iter_mut().zip(streams) {
            let room = Room { packets: lane.room(params, config), rate: lane.rate, delay: lane.delay };
            let line = Line::new(lane.node, config, &room, draws);
            lane.line =
                Some(Box::new(Served { line, meter: LengthMeter::default(), sending: None, waits: false, sent: 0 }));
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

    /// The rate of a direction, or the mean of the rates that it has.
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
            service: Service::Constant(params.rate),
            values: None,
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
                served.waits = false;
                served.line.retain(&mut |item| {
                    cx.lose(self.node, item.packet, DropReason::WireDown);
                    false
                });
            }
            self.started = 0;
            self.arrives = Time::NEVER;
            self.busy_until = self.busy_until.min(from);
            self.service.lose(from);
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
        let starts = self.service.begins(cx.now, self.busy_until);
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
        self.busy_until = self.service.serve(starts, cx.packets[packet].size);
        let (more, loss) = self.schedule.of(cx.now, number);
        let traced = self.values.as_ref().map_or(0.0, |values| values.loss(self.busy_until));
        let mut draw = |rate| rate > 0.0 && self.rng.uniform() < rate;
        let lost = draw(self.losses.rate) || draw(loss) || draw(traced);
        let delay = self.values.as_ref().and_then(|values| values.delay(self.busy_until)).unwrap_or(self.delay);
        let mut arrives = self.busy_until + delay + more;
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
        if served.sending.is_some() || served.waits {
            return served.meter.grown(served.line.len());
        }
        let begins = self.service.begins(cx.now, cx.now);
        if begins > cx.now {
            served.meter.grown(served.line.len());
            return self.wait(begins);
        }
        self.send_next(cx);
    }

    /// The next packet of the queue waits for an opportunity.
    fn wait(&mut self, until: Time) {
        self.busy_until = until;
        if let Some(served) = &mut self.line {
            served.waits = true;
        }
    }

    /// Sends the next packet if the one before it has been sent, and those that have the same opportunity.
    fn serve(&mut self, cx: &mut Context) {
        while self.busy_until <= cx.now
            && let Some(served) = &mut self.line
        {
            let sent = served.sending.take();
            if !(std::mem::take(&mut served.waits) || sent.is_some()) {
                return;
            }
            if let Some(packet) = sent {
                cx.complete(packet, Ok(()));
            }
            let begins = self.service.continues(cx.now);
            if begins > cx.now && self.line.as_ref().is_some_and(|served| !served.line.is_empty()) {
                return self.wait(begins);
            }
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
        if self.line.is_some() {
            self.serve(cx);
        }
        while self.arrives <= cx.now
            && let Some(Transit { packet, lost, .. }) = self.take_first()
        {
            if lost {
                cx.drop_packet(self.node, packet, DropReason::ScriptedLoss);
            } else {
                cx.act(Action::Receive { interface: self.to, packet, from: self.from });
            }
        }
    }

    /// Takes out the packet that arrives first; of several at the same time, the one that entered first.
    #[inline]
    fn take_first(&mut self) -> Option<Transit> {
        let arrives = |transit: &Transit| transit.arrives;
        let place = match self.overtaking {
            true => self.packets.iter().map(arrives).position(|at| at == self.arrives)?,
            false => 0,
        };
        let first = if place == 0 { self.packets.pop_front() } else { self.packets.remove(place) };
        // A packet that has been sent may not have been counted as started yet.
        self.started -= usize::from(place < self.started);
        let next =
            if self.overtaking { self.packets.iter().map(arrives).min() } else { self.packets.front().map(arrives) };
        self.arrives = next.unwrap_or(Time::NEVER);
        first
    }

    #[inline]
    fn deadline(&self) -> Time {
        let sent = match &self.line {
            Some(served) if served.waits || served.sending.is_some() => self.busy_until,
            // Nothing that could be lost when the link goes down.
            _ if self.packets.is_empty() => return Time::NEVER,
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
        if self.packets.is_empty() && self.segments.is_empty() {
            return false;
        }
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
