//! What the packets of flows cost, and whether it was in vain.
//!
//! All copies of a packet, from its source to where the last one ends, have one record: what it took to send them, at
//! each hop and each time, and to receive them where they were sent to. When the first copy reaches its destination,
//! the energy so far was useful; whatever is spent on the packet later is in vain. If no copy gets there, everything
//! was in vain once the last copy has ended. What belongs to packets that still exist is a third share, so that the
//! three shares add up to what was spent on packets of flows.
//!
//! A frame is entered as a whole when it begins. What is not sent yet, or was never sent because the radio stopped, is
//! taken off again where it was entered.
//!
//! What is added at each frame are times, which become energies when somebody asks. This is as exact, and costs less.

use std::ops::AddAssign;

use hopyard_engine::{Span, Time};

use super::price::{Attojoules, PacketPrices, Prices};
use super::purpose::Sent;
use crate::address::InterfaceId;
use crate::packet::{Packet, PacketId, PacketKind};

/// The energy of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// Of packets that have reached their destination and brought something new, until then.
    pub useful: Attojoules,
    /// Of packets that have not reached it and do not exist any more, of repeated ones, and what was spent on packets
    /// that were there already.
    pub in_vain: Attojoules,
    /// Of packets that still exist.
    pub under_way: Attojoules,
}

/// What sending and receiving took, in nanoseconds, and the prices of packets beyond that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Cost {
    sent: u64,
    heard: u64,
    priced: Attojoules,
}

impl Cost {
    fn at(self, prices: &Prices) -> Attojoules {
        let energy = |power: u64, time: u64| Attojoules::from(power) * Attojoules::from(time);
        energy(prices.send, self.sent) + energy(prices.hear, self.heard) + self.priced
    }
}

impl AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.sent += other.sent;
        self.heard += other.heard;
        self.priced += other.priced;
    }
}

/// What became of a packet: places in [`Spending::ended`].
const USEFUL: u8 = 0;
const IN_VAIN: u8 = 1;
/// Of one that still exists.
const UNDER_WAY: u8 = 2;

#[derive(Clone, Copy, Debug)]
struct Record {
    flow: u32,
    /// How many copies exist.
    copies: u32,
    /// The radios whose last frame with a packet carried a copy.
    radios: u32,
    state: u8,
    /// What frames with it are for.
    sent: Sent,
    /// What was spent, as long as nobody knows for what.
    cost: Cost,
}

/// No record, and no packet.
const NONE: u32 = u32::MAX;

/// The last frame of a radio with a packet of a flow.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The packet's record, if there was such a frame.
    record: u32,
    /// Whether the packet had ended when the frame began.
    late: bool,
    until: Time,
}

/// What the packets of all flows have cost.
#[derive(Clone, Debug)]
pub struct Spending {
    prices: Prices,
    /// The record of each packet, by its place in the pool.
    of: Vec<u32>,
    records: Vec<Record>,
    /// The records that no packet has.
    free: Vec<u32>,
    /// Of each flow, what was useful and what was in vain.
    ended: Vec<[Cost; 2]>,
    /// Of each interface.
    frames: Vec<Frame>,
    received: Vec<Cost>,
    /// The record of the packet that was delivered last, and what was useful of it.
    last: (u32, Cost),
}

impl Spending {
    /// Nothing was spent on the packets of these flows by these interfaces.
    #[must_use]
    pub fn new(prices: &Prices, flows: usize, interfaces: usize) -> Self {
        Self {
            prices: *prices,
            of: Vec::new(),
            records: Vec::new(),
            free: Vec::new(),
            ended: vec![[Cost::default(); 2]; flows],
            frames: vec![Frame { record: NONE, late: false, until: Time::ZERO }; interfaces],
            received: vec![Cost::default(); interfaces],
            last: (NONE, Cost::default()),
        }
    }

    /// A packet was made.
    pub(super) fn on_originated(&mut self, id: PacketId, packet: &Packet) {
        let counts = matches!(packet.kind(), PacketKind::Data | PacketKind::Ack);
        if !counts || packet.flow.index() >= self.ended.len() {
            return;
        }
        let flow = packet.flow.index() as u32;
        let sent = Sent::of(packet);
        let new = Record { flow, copies: 1, radios: 0, state: UNDER_WAY, sent, cost: Cost::default() };
        let place = self.free.pop().unwrap_or_else(|| {
            self.records.push(new);
            self.records.len() as u32 - 1
        });
        self.records[place as usize] = new;
        self.set(id, place);
    }

    /// A packet was copied.
    #[inline]
    pub(super) fn on_copied(&mut self, id: PacketId, copy: PacketId) {
        // A place that is free has no record.
        let place = self.of(id);
        if let Some(record) = self.records.get_mut(place as usize) {
            record.copies += 1;
            self.set(copy, place);
        }
    }

    /// A packet ends here, because it was delivered or for another reason.
    #[inline]
    pub(super) fn on_ended(&mut self, id: PacketId, delivered: bool) {
        if delivered {
            self.last.0 = NONE;
        }
        let Some(of) = self.of.get_mut(id.index()) else { return };
        let place = std::mem::replace(of, NONE);
        let Some(record) = self.records.get_mut(place as usize) else { return };
        record.copies -= 1;
        if delivered || record.copies == 0 {
            self.settle(place, delivered);
        }
    }

    /// The packet arrived, or the last copy of it has ended.
    #[inline(never)]
    fn settle(&mut self, place: u32, delivered: bool) {
        let record = &mut self.records[place as usize];
        if record.state == UNDER_WAY {
            let cost = std::mem::take(&mut record.cost);
            record.state = if delivered { USEFUL } else { IN_VAIN };
            self.ended[record.flow as usize][usize::from(record.state)] += cost;
            if delivered {
                self.last = (place, cost);
            }
        }
        if record.copies == 0 && record.radios == 0 {
            self.free.push(place);
        }
    }

    /// The packet that was delivered last brought nothing new.
    pub fn on_repeated(&mut self) {
        // The record may be free, and has no new packet yet.
        let (place, cost) = std::mem::replace(&mut self.last, (NONE, Cost::default()));
        let Some(record) = self.records.get_mut(place as usize) else { return };
        record.state = IN_VAIN;
        let [useful, in_vain] = &mut self.ended[record.flow as usize];
        useful.sent -= cost.sent;
        useful.heard -= cost.heard;
        useful.priced -= cost.priced;
        *in_vain += cost;
    }

    /// A radio begins to send a frame with a packet. Returns what it is for, if that is known: the packet is a flow's.
    #[inline(always)]
    pub fn on_sent(
        &mut self,
        interface: InterfaceId,
        id: PacketId,
        (start, airtime): (Time, Span),
        price: impl FnOnce(&PacketPrices) -> Attojoules,
    ) -> Option<Sent> {
        let place = self.of(id);
        let record = self.records.get_mut(place as usize)?;
        record.radios += 1;
        let late = record.state != UNDER_WAY;
        let cost = if late { &mut self.ended[record.flow as usize][usize::from(IN_VAIN)] } else { &mut record.cost };
        cost.sent += airtime.nanos();
        if let Some(prices) = &self.prices.packets {
            cost.priced += price(prices);
        }
        let sent = record.sent;
        let new = Frame { record: place, late, until: start + airtime };
        let last = std::mem::replace(&mut self.frames[interface.0 as usize], new);
        self.leave(last.record);
        Some(sent)
    }

    /// The station that a frame was for has decoded it.
    #[inline]
    pub fn on_received(&mut self, interface: InterfaceId, id: PacketId, airtime: Span, bytes: impl FnOnce() -> u32) {
        let place = self.of(id);
        let Some(record) = self.records.get_mut(place as usize) else { return };
        let cost = match record.state {
            UNDER_WAY => &mut record.cost,
            _ => &mut self.ended[record.flow as usize][usize::from(IN_VAIN)],
        };
        let received = &mut self.received[interface.0 as usize];
        cost.heard += airtime.nanos();
        received.heard += airtime.nanos();
        if let Some(prices) = &self.prices.packets {
            let price = prices.receive.of(bytes());
            cost.priced += price;
            received.priced += price;
        }
    }

    /// A radio stops for good.
    pub fn on_stop(&mut self, interface: InterfaceId, now: Time) {
        let Frame { record: place, late, until } = self.frames[interface.0 as usize];
        self.frames[interface.0 as usize].record = NONE;
        let Some(record) = self.records.get_mut(place as usize) else { return };
        let cost = match if late { IN_VAIN } else { record.state } {
            UNDER_WAY => &mut record.cost,
            state => &mut self.ended[record.flow as usize][usize::from(state)],
        };
        cost.sent -= until.since(now).nanos();
        self.leave(place);
    }

    /// What an interface has spent to receive the packets of flows that were sent to it.
    #[must_use]
    pub fn received(&self, interface: InterfaceId) -> Attojoules {
        self.received[interface.0 as usize].at(&self.prices)
    }

    /// What was spent on the packets of each flow up to now.
    #[must_use]
    pub fn shares(&self, now: Time) -> Vec<Shares> {
        let mut it = self.clone();
        for interface in 0..it.frames.len() as u32 {
            it.on_stop(InterfaceId(interface), now);
        }
        let energy = |cost: Cost| cost.at(&self.prices);
        let share = |[useful, in_vain]: [Cost; 2]| (energy(useful), energy(in_vain));
        let shares = it.ended.iter().map(|&ended| share(ended));
        let mut shares: Vec<Shares> =
            shares.map(|(useful, in_vain)| Shares { useful, in_vain, under_way: 0 }).collect();
        // What has ended has no cost of its own any more.
        for record in &it.records {
            shares[record.flow as usize].under_way += energy(record.cost);
        }
        shares
    }

    fn of(&self, id: PacketId) -> u32 {
        self.of.get(id.index()).copied().unwrap_or(NONE)
    }

    fn set(&mut self, id: PacketId, record: u32) {
        match self.of.get_mut(id.index()) {
            Some(of) => *of = record,
            None => self.grow(id, record),
        }
    }

    #[inline(never)]
    fn grow(&mut self, id: PacketId, record: u32) {
        self.of.resize(id.index(), NONE);
        self.of.push(record);
    }

    /// The last frame of a radio is another one now. A packet of which nothing exists any more is forgotten.
    #[inline(always)]
    fn leave(&mut self, place: u32) {
        if let Some(record) = self.records.get_mut(place as usize) {
            record.radios -= 1;
            if record.copies == 0 && record.radios == 0 {
                self.forget(place);
            }
        }
    }

    #[inline(never)]
    fn forget(&mut self, place: u32) {
        self.free.push(place);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address::{Address, NodeId};
    use crate::context::{Context, DropReason};
    use crate::packet::{Body, FlowId, UdpHeader};

    /// One flow over three interfaces, with 7 nW to send and 3 nW to hear.
    fn context() -> Context {
        let prices = Prices { send: 7, hear: 3, idle: 1, sleep: None, only_decodable: false, packets: None };
        Context { spending: Some(Box::new(Spending::new(&prices, 1, 3))), ..Context::default() }
    }

    fn datagram(cx: &mut Context) -> PacketId {
        cx.originate(Packet {
            created: Time::ZERO,
            source: Address(0),
            destination: Address(2),
            flow: FlowId(0),
            size: 100,
            ttl: 9,
            hops: 0,
            salvaged: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72 }),
        })
    }

    fn spending(cx: &mut Context) -> &mut Spending {
        cx.spending.as_mut().expect("energy is counted")
    }

    fn send(cx: &mut Context, interface: u32, packet: PacketId, at: u64) {
        let frame = (Time::from_nanos(at), Span::from_nanos(10));
        spending(cx).on_sent(InterfaceId(interface), packet, frame, |_| 0);
    }

    /// One hop of ten nanoseconds: 70 aJ to send, 30 aJ to hear.
    fn hop(cx: &mut Context, to: u32, packet: PacketId, at: u64) -> PacketId {
        send(cx, to - 1, packet, at);
        spending(cx).on_received(InterfaceId(to), packet, Span::from_nanos(10), || 100);
        let copy = cx.copy(packet);
        cx.hand_over(packet);
        copy
    }

    fn shares(cx: &mut Context, now: u64) -> [Attojoules; 3] {
        let shares = spending(cx).shares(Time::from_nanos(now))[0];
        [shares.useful, shares.in_vain, shares.under_way]
    }

    #[test]
    fn all_hops_of_a_packet_count_as_it_ends() {
        let cx = &mut context();
        let packet = datagram(cx);
        let packet = hop(cx, 1, packet, 0);
        assert_eq!(shares(cx, 10), [0, 0, 100]);
        let packet = hop(cx, 2, packet, 10);
        cx.deliver(packet);
        assert_eq!(shares(cx, 20), [200, 0, 0]);
        let packet = datagram(cx);
        let packet = hop(cx, 1, packet, 20);
        send(cx, 1, packet, 30);
        assert_eq!(shares(cx, 34), [200, 0, 128], "four of ten nanoseconds are sent");
        cx.drop_packet(NodeId(1), packet, DropReason::RetryLimit);
        assert_eq!(shares(cx, 40), [200, 170, 0]);
    }

    #[test]
    fn what_brings_nothing_new_is_in_vain() {
        let cx = &mut context();
        let packet = datagram(cx);
        let packet = hop(cx, 1, packet, 0);
        cx.deliver(packet);
        spending(cx).on_repeated();
        assert_eq!(shares(cx, 10), [0, 100, 0]);
    }

    #[test]
    fn a_frame_that_stops_is_taken_off_where_it_was_entered() {
        let cx = &mut context();
        let packet = datagram(cx);
        send(cx, 0, packet, 0);
        let copy = cx.copy(packet);
        cx.deliver(copy);
        spending(cx).on_repeated();
        assert_eq!(shares(cx, 4), [0, 28, 0]);
        spending(cx).on_stop(InterfaceId(0), Time::from_nanos(4));
        assert_eq!(shares(cx, 99), [0, 28, 0]);
    }

    #[test]
    fn what_is_sent_after_the_arrival_is_in_vain() {
        let cx = &mut context();
        let packet = datagram(cx);
        send(cx, 0, packet, 0);
        let copy = cx.copy(packet);
        cx.deliver(copy);
        send(cx, 0, packet, 10);
        assert_eq!(shares(cx, 20), [70, 70, 0]);
        // The radio stops in the middle, and the packet ends with it.
        spending(cx).on_stop(InterfaceId(0), Time::from_nanos(15));
        cx.drop_packet(NodeId(0), packet, DropReason::BatteryEmpty);
        assert_eq!(shares(cx, 20), [70, 35, 0]);
    }

    #[test]
    fn a_packet_that_went_with_its_frame_leaves_what_was_sent() {
        let cx = &mut context();
        let packet = datagram(cx);
        send(cx, 0, packet, 0);
        // Nobody can sense the frame: the packet ends as the frame begins.
        cx.drop_packet(NodeId(0), packet, DropReason::OutOfReach);
        assert_eq!(shares(cx, 4), [0, 28, 0]);
        spending(cx).on_stop(InterfaceId(0), Time::from_nanos(4));
        assert_eq!(shares(cx, 99), [0, 28, 0]);
    }
}
