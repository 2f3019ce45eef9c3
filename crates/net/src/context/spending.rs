//! The cost of the packets of flows, useful or in vain.
//!
//! All copies of a packet, from its source to the end of the last copy, have one account. The account has the energy to
//! send them, at each hop and each time, and to receive them at the nodes that they were sent to. When the first copy
//! reaches its destination, the energy so far was useful; whatever is spent on the packet later is in vain. If no copy
//! gets there, everything was in vain once the last copy has ended. The energy of packets that still exist is a third
//! share, so that the three shares add up to the energy spent on packets of flows.
//!
//! A frame is entered as a whole when it begins. A part that is not sent yet, or was never sent because the radio
//! stopped, is taken off again where it was entered.
//!
//! Each frame adds times, which become energies when somebody asks. This is as exact, and costs less.

use std::ops::AddAssign;

use hopyard_engine::{Span, Time};

use super::copies::{Copies, Ended, Record};
use super::price::{Attojoules, PacketPrices, Prices};
use super::purpose::FrameClass;
use crate::address::InterfaceId;
use crate::packet::{Packet, PacketId};

/// The energy of a flow's packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shares {
    /// The energy of packets that reached their destination and brought something new, until then.
    pub useful: Attojoules,
    /// The energy of packets that ended before their destination, and of repeated packets. The energy spent on a packet
    /// after its arrival counts here too.
    pub in_vain: Attojoules,
    /// The energy of packets that still exist.
    pub under_way: Attojoules,
}

/// The times of sending and receiving, in nanoseconds, and the prices of packets beyond them.
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

/// The fates of a packet: places in [`Spending::ended`].
const USEFUL: u8 = 0;
const IN_VAIN: u8 = 1;
/// The fate of a packet that still exists.
const UNDER_WAY: u8 = 2;

#[derive(Clone, Copy, Debug)]
struct Account {
    /// [`NO_FLOW`] of a packet of none.
    flow: u32,
    state: u8,
    /// The purpose of frames with it.
    sent: FrameClass,
    /// The energy spent while its use is not known.
    cost: Cost,
}

/// The flow of packets that have no account.
const NO_FLOW: u32 = u32::MAX;

/// The last frame of a radio with a packet of a flow.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The packet's record, which the frame holds, if there was such a frame.
    record: Record,
    /// Whether the packet had ended when the frame began.
    late: bool,
    until: Time,
}

/// The cost of the packets of all flows.
#[derive(Clone, Debug)]
pub struct Spending {
    prices: Prices,
    /// The account of each packet, by its record.
    accounts: Vec<Account>,
    /// The useful and the wasted cost of each flow.
    ended: Vec<[Cost; 2]>,
    /// The frames of each interface.
    frames: Vec<Frame>,
    received: Vec<Cost>,
    /// The record of the packet that was delivered last, and the useful part of its cost.
    last: (Record, Cost),
}

impl Spending {
    /// Nothing was spent on the packets of these flows by these interfaces.
    #[must_use]
    pub fn new(prices: &Prices, flows: usize, interfaces: usize) -> Self {
        Self {
            prices: *prices,
            accounts: Vec::new(),
            ended: vec![[Cost::default(); 2]; flows],
            frames: vec![Frame { record: Record::NONE, late: false, until: Time::ZERO }; interfaces],
            received: vec![Cost::default(); interfaces],
            last: (Record::NONE, Cost::default()),
        }
    }

    /// A packet was made.
    pub(super) fn on_originated(&mut self, Record(place): Record, packet: &Packet) {
        let flow = if packet.flow.index() < self.ended.len() { packet.flow.0 } else { NO_FLOW };
        let new = Account { flow, state: UNDER_WAY, sent: FrameClass::of(packet), cost: Cost::default() };
        match self.accounts.get_mut(place as usize) {
            Some(account) => *account = new,
            // Records are numbered from zero.
            None => self.accounts.push(new),
        }
    }

    /// A copy of a packet ends: it was delivered, or not.
    pub(super) fn on_ended(&mut self, ended: &Ended, delivered: bool) {
        if delivered {
            self.last.0 = Record::NONE;
        }
        let account = &mut self.accounts[ended.record.0 as usize];
        if (delivered || ended.is_last) && account.state == UNDER_WAY && account.flow != NO_FLOW {
            let cost = std::mem::take(&mut account.cost);
            account.state = if delivered { USEFUL } else { IN_VAIN };
            self.ended[account.flow as usize][usize::from(account.state)] += cost;
            if delivered {
                self.last = (ended.record, cost);
            }
        }
    }

    /// The packet that was delivered last brought nothing new.
    pub fn on_repeated(&mut self) {
        // The record may be free, and has no new packet yet.
        let (Record(place), cost) = std::mem::replace(&mut self.last, (Record::NONE, Cost::default()));
        let Some(account) = self.accounts.get_mut(place as usize) else { return };
        account.state = IN_VAIN;
        let [useful, in_vain] = &mut self.ended[account.flow as usize];
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
        (id, copies): (PacketId, &mut Copies),
        (start, airtime): (Time, Span),
        price: impl FnOnce(&PacketPrices) -> Attojoules,
    ) -> Option<FrameClass> {
        let record = copies.of(id)?;
        let account = &mut self.accounts[record.0 as usize];
        if account.flow == NO_FLOW {
            return None;
        }
        let late = account.state != UNDER_WAY;
        let cost = if late { &mut self.ended[account.flow as usize][usize::from(IN_VAIN)] } else { &mut account.cost };
        cost.sent += airtime.nanos();
        if let Some(prices) = &self.prices.packets {
            cost.priced += price(prices);
        }
        copies.hold(record);
        let new = Frame { record, late, until: start + airtime };
        copies.release(std::mem::replace(&mut self.frames[interface.0 as usize], new).record);
        Some(account.sent)
    }

    /// The station that a frame was for has decoded it.
    #[inline]
    pub fn on_received(
        &mut self,
        interface: InterfaceId,
        (id, copies): (PacketId, &Copies),
        airtime: Span,
        bytes: impl FnOnce() -> u32,
    ) {
        let Some(Record(place)) = copies.of(id) else { return };
        let account = &mut self.accounts[place as usize];
        if account.flow == NO_FLOW {
            return;
        }
        let cost = match account.state {
            UNDER_WAY => &mut account.cost,
            _ => &mut self.ended[account.flow as usize][usize::from(IN_VAIN)],
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
    pub fn on_stop(&mut self, interface: InterfaceId, copies: &mut Copies, now: Time) {
        copies.release(self.take_off(interface, now));
    }

    /// The part of its last frame with a packet that a radio has not sent yet is not spent. Returns the record of the
    /// packet.
    fn take_off(&mut self, interface: InterfaceId, now: Time) -> Record {
        let none = Frame { record: Record::NONE, late: false, until: Time::ZERO };
        let Frame { record, late, until } = std::mem::replace(&mut self.frames[interface.0 as usize], none);
        if let Some(account) = self.accounts.get_mut(record.0 as usize) {
            let cost = match if late { IN_VAIN } else { account.state } {
                UNDER_WAY => &mut account.cost,
                state => &mut self.ended[account.flow as usize][usize::from(state)],
            };
            cost.sent -= until.since(now).nanos();
        }
        record
    }

    /// The energy that an interface has spent to receive the packets of flows that were sent to it.
    #[must_use]
    pub fn received(&self, interface: InterfaceId) -> Attojoules {
        self.received[interface.0 as usize].at(&self.prices)
    }

    /// The energy spent on the packets of each flow up to now.
    #[must_use]
    pub fn shares(&self, now: Time) -> Vec<Shares> {
        let mut it = self.clone();
        for interface in 0..it.frames.len() as u32 {
            it.take_off(InterfaceId(interface), now);
        }
        let energy = |cost: Cost| cost.at(&self.prices);
        let share = |[useful, in_vain]: [Cost; 2]| (energy(useful), energy(in_vain));
        let shares = it.ended.iter().map(|&ended| share(ended));
        let mut shares: Vec<Shares> =
            shares.map(|(useful, in_vain)| Shares { useful, in_vain, under_way: 0 }).collect();
        // What has ended has no cost of its own any more.
        for account in it.accounts.iter().filter(|account| account.flow != NO_FLOW) {
            shares[account.flow as usize].under_way += energy(account.cost);
        }
        shares
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
            class: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }),
        })
    }

    fn spending(cx: &mut Context) -> &mut Spending {
        cx.spending.as_mut().expect("energy is counted")
    }

    fn send(cx: &mut Context, interface: u32, packet: PacketId, at: u64) {
        let frame = (Time::from_nanos(at), Span::from_nanos(10));
        let Context { spending, copies, .. } = cx;
        let spending = spending.as_mut().expect("energy is counted");
        spending.on_sent(InterfaceId(interface), (packet, copies), frame, |_| 0);
    }

    /// One hop of ten nanoseconds: 70 aJ to send, 30 aJ to hear.
    fn hop(cx: &mut Context, to: u32, packet: PacketId, at: u64) -> PacketId {
        send(cx, to - 1, packet, at);
        let Context { spending, copies, .. } = cx;
        let spending = spending.as_mut().expect("energy is counted");
        spending.on_received(InterfaceId(to), (packet, copies), Span::from_nanos(10), || 100);
        let copy = cx.copy(packet);
        cx.hand_over(packet);
        copy
    }

    fn stop(cx: &mut Context, now: Time) {
        let Context { spending, copies, .. } = cx;
        spending.as_mut().expect("energy is counted").on_stop(InterfaceId(0), copies, now);
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
        stop(cx, Time::from_nanos(4));
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
        stop(cx, Time::from_nanos(15));
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
        stop(cx, Time::from_nanos(4));
        assert_eq!(shares(cx, 99), [0, 28, 0]);
    }
}
