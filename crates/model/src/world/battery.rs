//! Batteries: when they run dry, and the fate of a node then.
//!
//! Between two changes of a radio's state its power is constant, and the next changes that are already known are the
//! ends of the signals that have begun. From these follows the nanosecond at which a battery will be empty, if nothing
//! else begins; energies are whole numbers, so that it is exact. Whatever begins makes a new prediction due.
//!
//! To predict at every signal would be wasteful as long as the battery is far from empty. So the battery is first
//! looked at when it could be empty at the earliest: if all radios took the greatest power all the time. Only when
//! that time is near is it watched at every signal.
//!
//! A node whose battery is empty does nothing any more. Its packets are dropped, and so is the frame that it was
//! sending, which no receiver decodes. Nobody is told.

use hopyard_engine::{Span, Time};

use super::World;
use crate::address::{Address, NodeId};
use crate::channel::energy::{Attojoules, Load};
use crate::clock::{Event, Wake};
use crate::context::{Action, Departure, DropReason};
use crate::node::Attachment;
use crate::observe::Probe;
use crate::order;
use crate::packet::PacketId;

/// A battery that could be empty within this time is watched at every signal.
const NEAR: Span = Span::from_millis(50);

impl<P: Probe> World<P> {
    /// Makes the first prediction for every battery.
    pub(super) fn look_at_batteries(&mut self) {
        if self.energy.batteries.is_some() {
            (0..self.nodes.len() as u32).for_each(|node| self.look_at_battery(NodeId(node)));
        }
    }

    /// Predicts when a node's battery will be empty, or stops the node if it is.
    #[cold]
    pub(super) fn look_at_battery(&mut self, node: NodeId) {
        let now = self.cx.now;
        let timer = Wake::Battery(node);
        let capacity = self.energy.capacity(node).filter(|_| !self.energy.is_dead(node));
        let loads = self.loads(node, None);
        let (Some(capacity), false) = (capacity, loads.is_empty()) else { return self.clock.set(timer, Time::NEVER) };
        let left = capacity - loads.iter().map(|load| load.spent).sum::<Attojoules>();
        if left <= 0 {
            self.clock.set(timer, Time::NEVER);
            return self.stop(node);
        }
        let most = loads.iter().map(|load| load.prices.most()).sum();
        // A packet takes its energy at once.
        let by_packet = loads.iter().any(|load| load.prices.packets.is_some());
        let earliest = lasts(left, most).map_or(Span::MAX, |span| span.saturating_sub(Span::from_nanos(1)));
        let watched = by_packet || earliest < NEAR;
        self.loads(node, Some(watched));
        let at = if watched { empty_at(left, &loads, now) } else { now + earliest.min(Time::NEVER.since(now)) };
        self.clock.set(timer, at);
    }

    /// A packet goes to the link, after a jitter.
    #[inline(never)]
    pub(super) fn send_delayed(&mut self, node: NodeId, packet: PacketId, next_hop: Address) {
        if self.energy.is_dead(node) {
            return self.cx.drop_packet(node, packet, DropReason::BatteryEmpty);
        }
        self.send(node, packet, next_hop);
    }

    /// Whether the first packet of the receive path is not due yet, because a node stopped that had one before it. Its
    /// event is scheduled then.
    #[inline(never)]
    pub(super) fn waits_for_first(&mut self) -> bool {
        let first = self.receive_path.front().map(|first| first.at).filter(|&at| at > self.cx.now);
        if let Some(at) = first {
            self.clock.queue.push(at, order::ENTER, Event::Enter);
        }
        first.is_some()
    }

    /// Drops the packets that wires have brought to nodes that have stopped.
    pub(super) fn drop_for_the_dead(&mut self) {
        if self.energy.batteries.is_none() {
            return;
        }
        for action in std::mem::take(&mut self.cx.actions) {
            match action {
                Action::Receive { interface, packet, .. } if self.energy.is_dead(self.topology.node(interface)) => {
                    self.cx.drop_packet(self.topology.node(interface), packet, DropReason::BatteryEmpty);
                }
                other => self.cx.act(other),
            }
        }
    }

    /// The loads of a node's radios. They are watched from now on, or not any more, if that is said.
    fn loads(&mut self, node: NodeId, watched: Option<bool>) -> Vec<Load> {
        let now = self.cx.now;
        let radios = self.nodes[node.index()].interfaces().filter_map(|it| match self.topology.attachment(it) {
            Attachment::Radio { channel, station } => {
                self.channels[channel.index()].load(station as usize, watched, now)
            }
            _ => None,
        });
        radios.collect()
    }

    /// A node's battery is empty: it stops.
    #[cold]
    fn stop(&mut self, node: NodeId) {
        let (now, n) = (self.cx.now, node.index());
        if let Some(batteries) = &mut self.energy.batteries {
            batteries.died[n] = Some(now);
        }
        self.cx.digest.fold(now.nanos() ^ u64::from(node.0) << 44);
        let mut lost: Vec<PacketId> = Vec::new();
        let interfaces: Vec<_> = self.nodes[n].interfaces().collect();
        for interface in interfaces {
            if let Attachment::Radio { channel, station } = self.topology.attachment(interface) {
                if self.cx.outside.has_frames(interface) {
                    self.cx.outside.leave(Departure::NoCarrier { at: now, interface });
                }
                lost.extend(self.channels[channel.index()].switch_off(station as usize, now));
                if let Some(spending) = &mut self.cx.spending {
                    spending.on_stop(interface, &mut self.cx.copies, now);
                }
                lost.extend(self.nodes[n].link(interface).into_iter().flat_map(|link| link.stop(now)));
                self.clock.set(Wake::Mac(interface), Time::NEVER);
                self.clock.set(Wake::Link(interface), Time::NEVER);
            }
        }
        lost.extend(self.receive_path.take_out(|interface| self.topology.node(interface) == node));
        lost.extend(self.nodes[n].held());
        self.clock.set(Wake::Routing(node), Time::NEVER);
        self.clock.set(Wake::Agents(node), Time::NEVER);
        for (socket, _) in (0..).zip(&self.sockets).filter(|(_, it)| it.node == node) {
            self.clock.set(Wake::Socket(socket), Time::NEVER);
        }
        for packet in lost {
            self.cx.drop_packet(node, packet, DropReason::BatteryEmpty);
        }
    }
}

/// How long an energy lasts at a power in nanowatts, rounded up to a nanosecond; nothing if it lasts for ever.
fn lasts(energy: Attojoules, power: u64) -> Option<Span> {
    let power = Attojoules::from(power);
    if power == 0 {
        return None;
    }
    u64::try_from((energy + power - 1) / power).ok().map(Span::from_nanos)
}

/// When the energy that is left is spent, if no further signal begins.
fn empty_at(mut left: Attojoules, loads: &[Load], now: Time) -> Time {
    let mut changes: Vec<Time> = loads.iter().flat_map(|load| [load.sends_until, load.busy_until]).collect();
    changes.retain(|&at| at > now);
    changes.push(Time::NEVER);
    changes.sort_unstable();
    let mut from = now;
    for until in changes {
        let power = loads.iter().map(|it| it.power(from)).sum();
        let part = until.since(from);
        match lasts(left, power) {
            Some(span) if span <= part => return from + span,
            _ => left -= Attojoules::from(power) * Attojoules::from(part.nanos()),
        }
        from = until;
    }
    Time::NEVER
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::energy::Prices;

    const PRICES: Prices = Prices { send: 7, hear: 3, idle: 1, sleep: Some(0), only_decodable: false, packets: None };

    fn load(sends: u64, hears: u64) -> Load {
        let (sends_until, busy_until) = (Time::from_nanos(sends), Time::from_nanos(hears));
        Load { spent: 0, sends_until, asleep: false, busy_until, prices: PRICES }
    }

    #[test]
    fn an_end_is_predicted_to_the_nanosecond() {
        let now = Time::from_nanos(100);
        let at = |left, loads: &[Load]| empty_at(left, loads, now).nanos();
        assert_eq!(at(50, &[load(0, 0)]), 150, "idle");
        assert_eq!(at(71, &[load(110, 0)]), 111, "7 for 10 ns, then 1");
        assert_eq!(at(69, &[load(110, 0)]), 110, "within the tenth nanosecond");
        // 10 ns of sending (70), 20 ns of hearing (60), then idle.
        assert_eq!(at(130, &[load(110, 130)]), 130);
        assert_eq!(at(131, &[load(110, 130)]), 131);
        // Two radios: 8, then 2.
        assert_eq!(at(84, &[load(110, 0), load(0, 0)]), 112);
        let asleep = Load { asleep: true, ..load(110, 130) };
        assert_eq!(at(60, &[asleep]), 130, "nothing for 10 ns, then 20 ns of hearing");
        let nothing = Load { prices: Prices { send: 0, hear: 0, idle: 0, ..PRICES }, ..load(0, 0) };
        assert_eq!(empty_at(1, &[nothing], now), Time::NEVER);
    }

    #[test]
    fn an_energy_lasts_until_it_is_spent() {
        assert_eq!(lasts(10, 3), Some(Span::from_nanos(4)));
        assert_eq!(lasts(9, 3), Some(Span::from_nanos(3)));
        assert_eq!(lasts(9, 0), None);
    }
}
