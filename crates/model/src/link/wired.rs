//! A point-to-point wired link: full duplex, with a rate, a delay and a drop-tail queue for each direction.
//!
//! Because packets leave in order and at a known rate, the times at which each one starts and arrives are known when it
//! enters, and the only event is the arrival. A scenario can say which packets are lost: by their number among those
//! that enter a direction, by the number of the TCP segment, or at random. As with an ns-2 error model in front of a
//! link, a packet that is lost by number never enters the queue. A packet that is lost at random is queued and sent
//! first. Left out: framing overhead, interruptions. When a packet arrives in the same nanosecond in which another one
//! has been sent, the place of the other one is free. Validated by arithmetic, and by ns-2's traces of forced drops.

use std::collections::VecDeque;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::queue::{LengthStatistics, Limit};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Packet, PacketId};
use crate::params::{self, Fault, NS2, RFC};

/// Parameters of a wired link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of each direction.
    pub rate: Rate,
    /// Propagation delay.
    pub delay: Span,
    /// Length of each direction's queue in packets, not counting the packet that is being sent.
    pub queue_length: u32,
    /// Whether the queue holds as many packets as its length ("inclusive"), or one less, as in ns-2 ("exclusive").
    pub queue_limit: Limit,
    /// What is lost from the link's first node to its second.
    pub losses: Losses,
    /// What is lost from the link's second node to its first.
    pub losses_back: Losses,
}

/// What is lost in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Losses {
    /// Packets by their number among all that enter this direction, counted from zero.
    pub packets: Vec<u64>,
    /// TCP segments by their number, counted from zero in segments of the flow's segment size: each entry loses one
    /// transmission. A number that is given twice also loses the first retransmission.
    pub segments: Vec<u64>,
    /// The probability with which each packet is lost.
    pub rate: f64,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        Self {
            rate: Rate::from_bps(10_000_000),
            delay: Span::from_millis(2),
            queue_length: 50,
            queue_limit: if profile == NS2 { Limit::Exclusive } else { Limit::Inclusive },
            losses: Losses::default(),
            losses_back: Losses::default(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.queue_limit.capacity(self.queue_length) == 0 {
            return Err(Fault::new("queue_length", "no packet could wait: must be at least 1, or 2 if \"exclusive\""));
        }
        for (parameter, losses) in [("losses", &self.losses), ("losses_back", &self.losses_back)] {
            if !(0.0..=1.0).contains(&losses.rate) {
                return Err(Fault::new(parameter, format!("rate must lie between 0 and 1, found {}", losses.rate)));
            }
        }
        Ok(())
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
    losses: Losses,
    rng: Rng,
    /// Packets that entered so far.
    entered: u64,
    /// Packets that wait, are being sent or are on the wire, in order.
    packets: VecDeque<Transit>,
    /// How many of `packets`, from the front, have started to be sent. It is updated when a packet enters.
    started: usize,
    /// When the last packet that entered will have been sent.
    busy_until: Time,
    /// Sum of the nanoseconds that packets wait.
    waiting: u128,
    max: usize,
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
        Self {
            directions: [
                Lane::new(params, first, second.1, params.losses.clone(), forward),
                Lane::new(params, second, first.1, params.losses_back.clone(), backward),
            ],
        }
    }

    /// The interface to which packets of a direction go.
    #[must_use]
    pub const fn to(&self, direction: Direction) -> InterfaceId {
        self.directions[direction as usize].to
    }

    /// The delay of the link.
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.directions[0].delay
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

    /// When `on_timer` must next be called.
    #[inline]
    #[must_use]
    pub fn deadline(&self) -> Time {
        let [forward, backward] = &self.directions;
        forward.deadline().min(backward.deadline())
    }

    /// Every packet that waits or is on the wire.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        self.directions.iter().flat_map(|lane| lane.packets.iter().map(|transit| transit.packet))
    }

    /// When the last packet that entered a direction will have been sent, or was sent.
    #[must_use]
    pub const fn busy_until(&self, direction: Direction) -> Time {
        self.directions[direction as usize].busy_until
    }

    /// How many packets wait to be sent in a direction.
    #[must_use]
    pub fn waiting(&self, direction: Direction, now: Time) -> usize {
        self.directions[direction as usize].packets.iter().rev().take_while(|transit| transit.starts > now).count()
    }

    /// Mean and maximum of a direction's queue from the start of the run to `now`.
    #[must_use]
    pub fn statistics(&self, direction: Direction, now: Time) -> LengthStatistics {
        self.directions[direction as usize].statistics(now)
    }
}

impl Lane {
    fn new(params: &Params, from: (NodeId, InterfaceId), to: InterfaceId, losses: Losses, rng: Rng) -> Self {
        Self {
            node: from.0,
            from: from.1,
            to,
            rate: params.rate,
            delay: params.delay,
            capacity: params.queue_limit.capacity(params.queue_length),
            losses,
            rng,
            entered: 0,
            packets: VecDeque::new(),
            started: 0,
            busy_until: Time::ZERO,
            waiting: 0,
            max: 0,
        }
    }

    fn enqueue(&mut self, packet: PacketId, cx: &mut Context) {
        let number = self.entered;
        self.entered += 1;
        if self.losses.take(number, &cx.packets[packet]) {
            cx.drop_packet(self.node, packet, DropReason::ScriptedLoss);
            return;
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
        self.busy_until = starts + self.rate.airtime(cx.packets[packet].size);
        let lost = self.losses.rate > 0.0 && self.rng.uniform() < self.losses.rate;
        self.packets.push_back(Transit { packet, starts, arrives: self.busy_until + self.delay, lost });
    }

    fn arrivals(&mut self, cx: &mut Context) {
        while let Some(&Transit { packet, arrives, lost, .. }) = self.packets.front()
            && arrives <= cx.now
        {
            self.packets.pop_front();
            self.started = self.started.saturating_sub(1);
            if lost {
                cx.drop_packet(self.node, packet, DropReason::ScriptedLoss);
            } else {
                cx.act(Action::Receive { interface: self.to, packet, from: self.from });
            }
        }
    }

    #[inline]
    fn deadline(&self) -> Time {
        self.packets.front().map_or(Time::NEVER, |transit| transit.arrives)
    }

    fn statistics(&self, now: Time) -> LengthStatistics {
        // The time for which queued packets will still wait does not count.
        let ahead: u128 = self.packets.iter().map(|transit| u128::from(transit.starts.since(now).nanos())).sum();
        let mean = if now == Time::ZERO { 0.0 } else { (self.waiting - ahead) as f64 / now.nanos() as f64 };
        LengthStatistics { mean, max: self.max }
    }
}

impl Losses {
    /// Whether the packet with this number is lost. Removes the entry of a segment that is lost.
    fn take(&mut self, number: u64, packet: &Packet) -> bool {
        let by_number = self.packets.contains(&number);
        let segment = match packet.carried() {
            Body::Tcp(header) => header.seq.checked_div(u64::from(header.len)),
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
