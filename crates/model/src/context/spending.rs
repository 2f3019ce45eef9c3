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

use hopyard_engine::{Handle, Slab, Span, Time};

use super::price::{Attojoules, PacketPrices, Prices};
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

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    UnderWay,
    Useful,
    InVain,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    flow: u32,
    /// How many copies exist.
    copies: u32,
    /// The radios whose last frame with a packet carried a copy.
    radios: u32,
    state: State,
    /// What was spent, as long as nobody knows for what.
    energy: Attojoules,
}

/// The last frame of a radio with a packet of a flow.
#[derive(Clone, Copy, Debug)]
struct Frame {
    record: Handle,
    /// Whether the packet had ended when the frame began.
    late: bool,
    until: Time,
}

/// What the packets of all flows have cost.
#[derive(Clone, Debug)]
pub struct Spending {
    send: Attojoules,
    hear: Attojoules,
    packets: Option<PacketPrices>,
    /// The record of each packet, by its place in the pool.
    of: Vec<Option<Handle>>,
    records: Slab<Record>,
    flows: Vec<Shares>,
    /// Of each interface.
    frames: Vec<Option<Frame>>,
    received: Vec<Attojoules>,
    /// What was useful of the packet that was delivered last.
    last: (usize, Attojoules),
}

impl Spending {
    /// Nothing was spent on the packets of these flows by these interfaces.
    #[must_use]
    pub fn new(prices: &Prices, flows: usize, interfaces: usize) -> Self {
        Self {
            send: prices.send.into(),
            hear: prices.hear.into(),
            packets: prices.packets,
            of: Vec::new(),
            records: Slab::default(),
            flows: vec![Shares::default(); flows],
            frames: vec![None; interfaces],
            received: vec![0; interfaces],
            last: (0, 0),
        }
    }

    /// A packet was made.
    pub(super) fn on_originated(&mut self, id: PacketId, packet: &Packet) {
        let counts = matches!(packet.kind(), PacketKind::Data | PacketKind::Ack);
        let record = (counts && packet.flow.index() < self.flows.len()).then(|| {
            let flow = packet.flow.index() as u32;
            self.records.insert(Record { flow, copies: 1, radios: 0, state: State::UnderWay, energy: 0 })
        });
        if record.is_some() {
            self.set(id, record);
        }
    }

    /// A packet was copied.
    #[inline]
    pub(super) fn on_copied(&mut self, id: PacketId, copy: PacketId) {
        // A place that is free has no record.
        if let Some(record) = self.of(id) {
            self.records[record].copies += 1;
            self.set(copy, Some(record));
        }
    }

    /// A packet ends here, because it was delivered or for another reason.
    #[inline]
    pub(super) fn on_ended(&mut self, id: PacketId, delivered: bool) {
        if delivered {
            self.last = (0, 0);
        }
        if let Some(handle) = self.of(id) {
            self.of[id.index()] = None;
            self.on_copy_ended(handle, delivered);
        }
    }

    #[inline(never)]
    fn on_copy_ended(&mut self, handle: Handle, delivered: bool) {
        let record = &mut self.records[handle];
        record.copies -= 1;
        if record.state == State::UnderWay && (delivered || record.copies == 0) {
            let (flow, energy) = (record.flow as usize, std::mem::take(&mut record.energy));
            if delivered {
                record.state = State::Useful;
                self.flows[flow].useful += energy;
                self.last = (flow, energy);
            } else {
                record.state = State::InVain;
                self.flows[flow].in_vain += energy;
            }
        }
        self.free(handle);
    }

    /// The packet that was delivered last brought nothing new.
    pub fn on_repeated(&mut self) {
        let (flow, energy) = std::mem::take(&mut self.last);
        if let Some(shares) = self.flows.get_mut(flow) {
            shares.useful -= energy;
            shares.in_vain += energy;
        }
    }

    /// A radio begins to send a frame with a packet.
    pub fn on_sent(&mut self, interface: InterfaceId, id: PacketId, bytes: u32, broadcast: bool, frame: (Time, Span)) {
        let Some(record) = self.of(id) else { return };
        let (start, airtime) = frame;
        let price = |prices: &PacketPrices| if broadcast { prices.send_broadcast } else { prices.send };
        let packet = self.packets.as_ref().map_or(0, |prices| price(prices).of(bytes));
        self.charge(record, self.send * Attojoules::from(airtime.nanos()) + packet);
        let it = &mut self.records[record];
        it.radios += 1;
        let new = Frame { record, late: it.state != State::UnderWay, until: start + airtime };
        if let Some(Frame { record, .. }) = self.frames[interface.0 as usize].replace(new) {
            self.records[record].radios -= 1;
            self.free(record);
        }
    }

    /// The station that a frame was for has decoded it.
    pub fn on_received(&mut self, interface: InterfaceId, id: PacketId, bytes: u32, airtime: Span) {
        let Some(record) = self.of(id) else { return };
        let packet = self.packets.as_ref().map_or(0, |prices| prices.receive.of(bytes));
        let energy = self.hear * Attojoules::from(airtime.nanos()) + packet;
        self.charge(record, energy);
        self.received[interface.0 as usize] += energy;
    }

    /// A radio stops for good.
    pub fn on_stop(&mut self, interface: InterfaceId, now: Time) {
        if let Some(frame) = self.frames[interface.0 as usize].take() {
            let unsent = self.unsent(&frame, now);
            match self.state(&frame) {
                State::UnderWay => self.records[frame.record].energy -= unsent,
                state => *self.share(&frame, state) -= unsent,
            }
            self.records[frame.record].radios -= 1;
            self.free(frame.record);
        }
    }

    /// What an interface has spent to receive the packets of flows that were sent to it.
    #[must_use]
    pub fn received(&self, interface: InterfaceId) -> Attojoules {
        self.received[interface.0 as usize]
    }

    /// What was spent on the packets of each flow up to now.
    #[must_use]
    pub fn shares(&self, now: Time) -> Vec<Shares> {
        let mut it = Self { last: (0, 0), of: Vec::new(), ..self.clone() };
        for interface in 0..it.frames.len() as u32 {
            it.on_stop(InterfaceId(interface), now);
        }
        for (_, record) in it.records.iter() {
            it.flows[record.flow as usize].under_way += record.energy;
        }
        it.flows
    }

    fn of(&self, id: PacketId) -> Option<Handle> {
        self.of.get(id.index()).copied().flatten()
    }

    fn set(&mut self, id: PacketId, record: Option<Handle>) {
        if self.of.len() <= id.index() {
            self.of.resize(id.index() + 1, None);
        }
        self.of[id.index()] = record;
    }

    fn charge(&mut self, handle: Handle, energy: Attojoules) {
        let record = &mut self.records[handle];
        match record.state {
            State::UnderWay => record.energy += energy,
            State::Useful | State::InVain => self.flows[record.flow as usize].in_vain += energy,
        }
    }

    /// Where the energy of a frame is entered now.
    fn state(&self, frame: &Frame) -> State {
        if frame.late { State::InVain } else { self.records[frame.record].state }
    }

    fn share(&mut self, frame: &Frame, state: State) -> &mut Attojoules {
        let shares = &mut self.flows[self.records[frame.record].flow as usize];
        if state == State::Useful { &mut shares.useful } else { &mut shares.in_vain }
    }

    fn unsent(&self, frame: &Frame, now: Time) -> Attojoules {
        self.send * Attojoules::from(frame.until.since(now).nanos())
    }

    /// Forgets a packet of which nothing exists any more.
    fn free(&mut self, handle: Handle) {
        let record = &self.records[handle];
        if record.copies == 0 && record.radios == 0 {
            self.records.remove(handle);
        }
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
        let prices = Prices { send: 7, hear: 3, idle: 1, only_decodable: false, packets: None };
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
        spending(cx).on_sent(InterfaceId(interface), packet, 100, false, frame);
    }

    /// One hop of ten nanoseconds: 70 aJ to send, 30 aJ to hear.
    fn hop(cx: &mut Context, to: u32, packet: PacketId, at: u64) -> PacketId {
        send(cx, to - 1, packet, at);
        spending(cx).on_received(InterfaceId(to), packet, 100, Span::from_nanos(10));
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
