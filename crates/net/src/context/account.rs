//! The energy that a radio has spent, by purpose.

use std::ops::AddAssign;

use hopyard_engine::Span;

use super::price::{Attojoules, Prices};
use super::purpose::{FrameClass, Purpose};

/// The cost of a radio's sending.
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
    /// Adds the energy of a transmission.
    pub fn add(&mut self, sent: FrameClass, energy: Attojoules) {
        self.by_purpose[sent.purpose()] += energy;
        if sent.is_again() {
            self.again += energy;
        }
        if sent.is_retransmission() {
            self.retransmissions += energy;
        }
    }

    /// The energy of all purposes.
    pub fn total(&self) -> Attojoules {
        self.by_purpose.iter().sum()
    }
}

/// How long a radio has sent, for each kind of frame, and at last how long it has slept. A sum of times costs less at
/// each frame than one of energies, and is as exact.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Airtimes([Span; FrameClass::COUNT + 1]);

impl Airtimes {
    #[inline]
    /// Adds the time of a transmission.
    pub fn add(&mut self, sent: FrameClass, time: Span) {
        let sum = &mut self.0[sent.place()];
        *sum = Span::from_nanos(sum.nanos().wrapping_add(time.nanos()));
    }

    /// The frame was not sent, or not yet, for this long.
    pub fn take_off(&mut self, sent: FrameClass, time: Span) {
        let sum = &mut self.0[sent.place()];
        *sum = sum.saturating_sub(time);
    }

    /// The time in which it sent, and the time in which it slept.
    pub fn total(&self) -> (Span, Span) {
        let (&asleep, sent) = self.0.split_last().unwrap_or((&Span::ZERO, &[]));
        (sent.iter().fold(Span::ZERO, |sum, &time| sum + time), asleep)
    }

    /// The cost of sending at a power in nanowatts.
    pub fn at(&self, power: u64) -> Account {
        let mut account = Account::default();
        for (sent, time) in FrameClass::all().zip(self.0) {
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

/// The energy that a radio, or all radios of a node, have spent up to a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spent {
    /// The time in which it sent.
    pub sending: Span,
    /// The time in which it heard a signal and did not send.
    pub hearing: Span,
    /// The time in which it did neither, and was awake.
    pub idling: Span,
    /// The time in which it slept.
    pub sleeping: Span,
    /// The time in which it was off, because the battery was empty.
    pub off: Span,
    /// The energy of sending.
    pub send: Attojoules,
    /// The energy of hearing.
    pub hear: Attojoules,
    /// The energy of being idle.
    pub idle: Attojoules,
    /// The energy of sleeping.
    pub sleep: Attojoules,
    /// The purposes of sending.
    pub account: Account,
}

impl Spent {
    /// The energy that was spent in these times, and on these packets.
    pub fn of(prices: &Prices, times: [Span; 5], packets: [Attojoules; 2], account: Account) -> Self {
        let [sending, hearing, idling, sleeping, off] = times;
        let energy = |power: u64, time: Span| Attojoules::from(power) * Attojoules::from(time.nanos());
        // Prices of packets come on top of a radio that is idle all the time.
        let at_rest = if prices.packets.is_some() { sending + hearing + idling } else { idling };
        Self {
            sending,
            hearing,
            idling,
            sleeping,
            off,
            send: energy(prices.send, sending) + packets[0],
            hear: energy(prices.hear, hearing) + packets[1],
            idle: energy(prices.idle, at_rest),
            sleep: energy(prices.sleep.unwrap_or(0), sleeping),
            account,
        }
    }

    /// All of the energy.
    #[must_use]
    pub const fn total(&self) -> Attojoules {
        self.send + self.hear + self.idle + self.sleep
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.sending += other.sending;
        self.hearing += other.hearing;
        self.idling += other.idling;
        self.sleeping += other.sleeping;
        self.off += other.off;
        self.send += other.send;
        self.hear += other.hear;
        self.idle += other.idle;
        self.sleep += other.sleep;
        self.account += other.account;
    }
}
