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

    /// What a frame with this packet is sent for. Frames without one are the MAC's.
    #[must_use]
    pub fn of(packet: &Packet) -> Self {
        match packet.kind() {
            PacketKind::Data => Self::Data,
            PacketKind::Ack => Self::Ack,
            PacketKind::Routing => Self::Routing,
            PacketKind::Arp => Self::Arp,
            PacketKind::Icmp | PacketKind::Control | PacketKind::External => Self::Other,
        }
    }
}

/// What a frame is sent for, whether the MAC sends it again, and whether its segment is one that TCP sends again: a
/// place in [`Airtimes`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sent(u8);

const AGAIN: u8 = 1;
const RETRANSMISSION: u8 = 2;

impl Sent {
    const COUNT: usize = 4 * Purpose::COUNT;

    /// A frame without a packet.
    pub const MAC: Self = Self(4 * Purpose::Mac as u8);

    /// A frame with a packet.
    pub fn of(packet: &Packet, again: bool) -> Self {
        let flags = u8::from(again) * AGAIN + u8::from(packet.is_retransmission()) * RETRANSMISSION;
        Self(4 * Purpose::of(packet) as u8 + flags)
    }

    const fn purpose(self) -> usize {
        self.0 as usize / 4
    }
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
        self.by_purpose[sent.purpose()] += energy;
        if sent.0 & AGAIN != 0 {
            self.again += energy;
        }
        if sent.0 & RETRANSMISSION != 0 {
            self.retransmissions += energy;
        }
    }

    /// The energy of all purposes.
    pub(super) fn total(&self) -> Attojoules {
        self.by_purpose.iter().sum()
    }
}

/// How long a radio has sent, for each kind of frame. A sum of times costs less at each frame than one of energies, and
/// is as exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Airtimes([Span; Sent::COUNT]);

impl Airtimes {
    #[inline]
    pub fn add(&mut self, sent: Sent, time: Span) {
        self.0[sent.0 as usize] += time;
    }

    /// The frame was not sent, or not yet, for this long.
    pub fn take_off(&mut self, sent: Sent, time: Span) {
        let sum = &mut self.0[sent.0 as usize];
        *sum = sum.saturating_sub(time);
    }

    /// All of the time.
    pub fn total(&self) -> Span {
        self.0.iter().fold(Span::ZERO, |sum, &time| sum + time)
    }

    /// What this takes at a power in nanowatts.
    pub fn at(&self, power: u64) -> Account {
        let mut account = Account::default();
        for (sent, time) in (0..).map(Sent).zip(self.0) {
            account.add(sent, Attojoules::from(power) * Attojoules::from(time.nanos()));
        }
        account
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
