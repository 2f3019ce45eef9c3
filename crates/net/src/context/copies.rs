//! The fate of each packet: all its copies, from the one that the source makes on, share one record.
//!
//! A packet has arrived when its first copy has. It is lost when its last copy ends and none has arrived; the reason is
//! that for which a copy was dropped last. So a packet is never counted twice, however many copies of it a lost
//! acknowledgement, or a protocol that repeats packets, brings into being.

use crate::address::NodeId;
use crate::context::DropReason;
use crate::packet::{Packet, PacketId, PacketKind};

/// The place of a packet's record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record(pub(super) u32);

impl Record {
    /// No packet's.
    pub(super) const NONE: Self = Self(u32::MAX);
}

/// How one copy of a packet ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It reached its protocol.
    Delivered,
    /// It was dropped here, for this reason.
    Dropped(NodeId, DropReason),
    /// Another node has a copy now, or it was only overheard.
    HandedOver,
}

/// The consequence of the end of a copy for its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    pub record: Record,
    /// No other copy exists.
    pub is_last: bool,
    /// No other copy has arrived.
    pub is_first: bool,
    /// Where and why the packet is lost, if it is.
    pub lost: Option<(NodeId, DropReason)>,
}

#[derive(Clone, Copy, Debug)]
struct Fate {
    /// How many copies exist.
    copies: u32,
    /// Who else needs the record.
    holders: u32,
    has_arrived: bool,
    dropped: Option<(NodeId, DropReason)>,
}

/// The packets of flows, and those from outside.
#[derive(Clone, Debug, Default)]
pub struct Copies {
    /// The record of the packet at each place of the pool.
    of: Vec<Record>,
    fates: Vec<Fate>,
    /// The records that no packet has.
    free: Vec<Record>,
    /// Packets whose copies have all ended without an arrival or a drop.
    vanished: u64,
}

impl Copies {
    /// A packet was made.
    #[inline]
    pub(super) fn on_originated(&mut self, id: PacketId, packet: &Packet) -> Option<Record> {
        // A datagram for a group arrives at several nodes, or at none.
        if packet.destination.is_group()
            || !matches!(packet.kind(), PacketKind::Data | PacketKind::Ack | PacketKind::External)
        {
            return None;
        }
        let new = Fate { copies: 1, holders: 0, has_arrived: false, dropped: None };
        let record = self.free.pop().unwrap_or_else(|| {
            self.fates.push(new);
            Record(self.fates.len() as u32 - 1)
        });
        self.fates[record.0 as usize] = new;
        self.set(id, record);
        Some(record)
    }

    /// A packet was copied.
    #[inline]
    pub(super) fn on_copied(&mut self, id: PacketId, copy: PacketId) {
        if let Some(record) = self.of(id) {
            self.fates[record.0 as usize].copies += 1;
            self.set(copy, record);
        }
    }

    /// A copy ends. Nothing, if its packet has no record.
    #[inline]
    pub(super) fn on_ended(&mut self, id: PacketId, end: End) -> Option<Ended> {
        let record = std::mem::replace(self.of.get_mut(id.index())?, Record::NONE);
        let fate = self.fates.get_mut(record.0 as usize)?;
        fate.copies -= 1;
        let is_first = !fate.has_arrived;
        match end {
            End::Delivered => fate.has_arrived = true,
            End::Dropped(node, reason) => fate.dropped = Some((node, reason)),
            End::HandedOver => {}
        }
        let is_last = fate.copies == 0;
        let is_lost = is_last && !fate.has_arrived;
        let lost = fate.dropped.filter(|_| is_lost);
        self.vanished += u64::from(is_lost && lost.is_none());
        if is_last && fate.holders == 0 {
            self.free.push(record);
        }
        Some(Ended { record, is_last, is_first, lost })
    }

    /// The record of a packet.
    #[inline]
    pub(super) fn of(&self, id: PacketId) -> Option<Record> {
        self.of.get(id.index()).copied().filter(|&record| record != Record::NONE)
    }

    /// The record stays until it is released as often as it was held.
    #[inline]
    pub(super) fn hold(&mut self, record: Record) {
        self.fates[record.0 as usize].holders += 1;
    }

    /// The record is needed once less.
    #[inline]
    pub(super) fn release(&mut self, record: Record) {
        if let Some(fate) = self.fates.get_mut(record.0 as usize) {
            fate.holders -= 1;
            if fate.copies == 0 && fate.holders == 0 {
                self.free.push(record);
            }
        }
    }

    /// Whether a copy is to be counted where each packet counts once: none has arrived, and `counted`, which begins
    /// empty, does not have its record yet.
    pub fn counts(&self, id: PacketId, counted: &mut Vec<bool>) -> bool {
        let Some(Record(place)) = self.of(id) else { return true };
        let place = place as usize;
        counted.resize(self.fates.len(), false);
        !self.fates[place].has_arrived && !std::mem::replace(&mut counted[place], true)
    }

    /// Packets whose copies have all ended, although none arrived and none was dropped: a defect of the simulator.
    #[must_use]
    pub const fn vanished(&self) -> u64 {
        self.vanished
    }

    #[inline]
    fn set(&mut self, id: PacketId, record: Record) {
        match self.of.get_mut(id.index()) {
            Some(of) => *of = record,
            None => self.grow(id, record),
        }
    }

    #[inline(never)]
    fn grow(&mut self, id: PacketId, record: Record) {
        self.of.resize(id.index(), Record::NONE);
        self.of.push(record);
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Time;

    use super::*;
    use crate::address::Address;
    use crate::context::Context;
    use crate::packet::{Body, FlowId, UdpHeader};

    const LATE: (NodeId, DropReason) = (NodeId(2), DropReason::TtlExpired);

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

    fn lost(cx: &Context) -> (u64, u64) {
        cx.flow_drops.first().map_or((0, 0), |drops| (drops.packets, drops.copies))
    }

    fn under_way(cx: &Context) -> usize {
        let mut counted = Vec::new();
        cx.packets.iter().filter(|&(id, _)| cx.copies.counts(id, &mut counted)).count()
    }

    #[test]
    fn a_packet_is_lost_once_with_its_last_copy() {
        let cx = &mut Context::default();
        let packet = datagram(cx);
        let copies = [0; 3].map(|_| cx.copy(packet));
        cx.drop_packet(NodeId(0), packet, DropReason::RetryLimit);
        cx.drop_packet(NodeId(1), copies[0], DropReason::QueueFull);
        assert_eq!((lost(cx), under_way(cx)), ((0, 2), 1));
        cx.drop_packet(LATE.0, copies[1], LATE.1);
        cx.is_watched = true;
        cx.hand_over(copies[2]);
        assert_eq!((lost(cx), under_way(cx)), ((1, 3), 0));
        assert_eq!((cx.lost[0].1, cx.lost[0].3), LATE, "the last drop tells why");
        assert_eq!(cx.copies.vanished(), 0);
    }

    #[test]
    fn a_packet_of_which_a_copy_arrived_is_not_lost() {
        let cx = &mut Context::default();
        let packet = datagram(cx);
        let copies = [0; 2].map(|_| cx.copy(packet));
        cx.drop_packet(NodeId(0), packet, DropReason::RetryLimit);
        cx.deliver(copies[0]);
        assert_eq!(under_way(cx), 0, "what is left of it brings nothing");
        cx.drop_packet(NodeId(1), copies[1], DropReason::QueueFull);
        assert_eq!((lost(cx), under_way(cx)), ((0, 2), 0));
        // The record serves the next packet.
        let next = datagram(cx);
        assert_eq!((cx.copies.fates.len(), under_way(cx)), (1, 1));
        cx.hand_over(next);
        assert_eq!((lost(cx).0, cx.copies.vanished()), (0, 1), "nobody has it, and nobody dropped it");
    }
}
