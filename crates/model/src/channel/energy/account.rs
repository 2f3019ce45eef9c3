//! What a radio has spent, and for what.

use std::ops::AddAssign;

use hopyard_engine::Span;

use super::{Attojoules, Prices};
use crate::packet::{Packet, PacketKind};

/// What a frame was sent for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payload, or the opening of a connection.
    Data,
    /// An acknowledgement of TCP.
    Ack,
    /// The MAC itself: frames without a packet.
    Mac,
    /// Messages of routing.
    Routing,
    /// Address resolution.
    Arp,
    /// ICMP, agents, datagrams from outside.
    Other,
}

impl Purpose {
    /// How many there are.
    pub const COUNT: usize = 6;

    /// What a frame with this packet, or with none, is sent for.
    #[must_use]
    pub fn of(packet: Option<&Packet>) -> Self {
        match packet.map(Packet::kind) {
            None => Self::Mac,
            Some(PacketKind::Data) => Self::Data,
            Some(PacketKind::Ack) => Self::Ack,
            Some(PacketKind::Routing) => Self::Routing,
            Some(PacketKind::Arp) => Self::Arp,
            Some(PacketKind::Icmp | PacketKind::Control | PacketKind::External) => Self::Other,
        }
    }
}

/// A frame that is sent, as its account sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sent {
    pub purpose: Purpose,
    /// Whether the MAC sends it again.
    pub again: bool,
    /// Whether its segment is one that TCP sends again.
    pub retransmission: bool,
}

/// What sending has cost a radio.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// By purpose.
    pub by_purpose: [Attojoules; Purpose::COUNT],
    /// Frames that the MAC sent again.
    pub again: Attojoules,
    /// Segments that TCP sent again.
    pub retransmissions: Attojoules,
}

impl Account {
    pub(super) fn add(&mut self, sent: Sent, energy: Attojoules) {
        self.by_purpose[sent.purpose as usize] += energy;
        if sent.again {
            self.again += energy;
        }
        if sent.retransmission {
            self.retransmissions += energy;
        }
    }
}

impl Account {
    /// The energy of all purposes.
    pub(super) fn total(&self) -> Attojoules {
        self.by_purpose.iter().sum()
    }
}

/// How long a radio has sent, and for what. A sum of times costs less at each frame than one of energies, and is as
/// exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Airtimes {
    by_purpose: [Span; Purpose::COUNT],
    again: Span,
    retransmissions: Span,
}

impl Airtimes {
    #[inline]
    pub fn add(&mut self, sent: Sent, time: Span) {
        self.by_purpose[sent.purpose as usize] += time;
        if sent.again {
            self.again += time;
        }
        if sent.retransmission {
            self.retransmissions += time;
        }
    }

    /// The frame was not sent, or not yet, for this long.
    pub fn take_off(&mut self, sent: Sent, time: Span) {
        let of = |sum: &mut Span, is: bool| {
            if is {
                *sum = sum.saturating_sub(time);
            }
        };
        of(&mut self.by_purpose[sent.purpose as usize], true);
        of(&mut self.again, sent.again);
        of(&mut self.retransmissions, sent.retransmission);
    }

    /// What this takes at a power in nanowatts.
    pub fn at(&self, power: u64) -> Account {
        let energy = |time: Span| Attojoules::from(power) * Attojoules::from(time.nanos());
        Account {
            by_purpose: self.by_purpose.map(energy),
            again: energy(self.again),
            retransmissions: energy(self.retransmissions),
        }
    }
}

impl AddAssign for Account {
    fn add_assign(&mut self, other: Self) {
        for (own, other) in self.by_purpose.iter_mut().zip(other.by_purpose) {
            *own += other;
        }
        self.again += other.again;
        self.retransmissions += other.retransmissions;
    }
}

/// What a radio, or all radios of a node, have spent up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The time in which it sent.
    pub sending: Span,
    /// The time in which it heard a signal and did not send.
    pub hearing: Span,
    /// The time in which it did neither.
    pub idling: Span,
    /// The time in which it was off, because the battery was empty.
    pub off: Span,
    /// The energy of sending.
    pub send: Attojoules,
    /// The energy of hearing.
    pub hear: Attojoules,
    /// The energy of being idle.
    pub idle: Attojoules,
    /// What sending was for.
    pub account: Account,
}

impl Spent {
    /// What was spent in these times, and on these packets.
    pub(super) fn of(prices: &Prices, times: [Span; 4], packets: [Attojoules; 2], account: Account) -> Self {
        let [sending, hearing, idling, off] = times;
        let energy = |power: u64, time: Span| Attojoules::from(power) * Attojoules::from(time.nanos());
        // Prices of packets come on top of a radio that is idle all the time.
        let at_rest = if prices.packets.is_some() { sending + hearing + idling } else { idling };
        Self {
            sending,
            hearing,
            idling,
            off,
            send: energy(prices.send, sending) + packets[0],
            hear: energy(prices.hear, hearing) + packets[1],
            idle: energy(prices.idle, at_rest),
            account,
        }
    }

    /// All of the energy.
    #[must_use]
    pub const fn total(&self) -> Attojoules {
        self.send + self.hear + self.idle
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.sending += other.sending;
        self.hearing += other.hearing;
        self.idling += other.idling;
        self.off += other.off;
        self.send += other.send;
        self.hear += other.hear;
        self.idle += other.idle;
        self.account += other.account;
    }
}
