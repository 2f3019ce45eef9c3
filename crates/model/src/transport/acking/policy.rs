//! The trait of every policy, with its arguments and answers.

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Span, Time};

/// A segment, as seen by the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// It is the next segment in order, and the receiver has no segments beyond it.
    pub in_order: bool,
    /// It opens or closes the connection.
    pub control: bool,
    /// It is the first segment of a connection that opens without a SYN, or a duplicate of it.
    pub first: bool,
    /// It is a duplicate of the last segment in order, and the receiver has no segments beyond it.
    pub copy_of_last: bool,
    /// Its payload in bytes.
    pub len: u32,
    /// All of it had arrived before.
    pub duplicate: bool,
    /// The receiver has segments beyond a gap.
    pub gap: bool,
    /// The receiver reports segments beyond a gap by SACK.
    pub sack: bool,
    /// The next sequence number that the receiver expects after it.
    pub next: u64,
    /// Bytes before that number that are not acknowledged.
    pub unacknowledged: u64,
    /// All of it lies before the expected sequence number.
    pub old: bool,
    /// It lies beyond a gap.
    pub ahead: bool,
    /// It closes the last gap.
    pub closes_gap: bool,
    /// It has the flag PSH.
    pub psh: bool,
    /// The limit of the receive window has grown with it.
    pub grew: bool,
    /// The window that was announced last, in bytes.
    pub window: u64,
    /// The present window is not smaller.
    pub lasts: bool,
    /// Less than half of the receive buffer is free.
    pub cramped: bool,
    /// The round trip as the receiver measures it, smoothed.
    pub round_trip: Option<Span>,
    /// The round trip of the opening exchange, from the answer to the SYN on.
    pub opening: Option<Span>,
}

impl Arrival {
    /// A segment without any of these properties.
    #[must_use]
    pub const fn at(now: Time) -> Self {
        Self {
            now,
            in_order: false,
            control: false,
            first: false,
            copy_of_last: false,
            len: 0,
            duplicate: false,
            gap: false,
            sack: false,
            next: 0,
            unacknowledged: 0,
            old: false,
            ahead: false,
            closes_gap: false,
            psh: false,
            grew: false,
            window: 0,
            lasts: true,
            cramped: false,
            round_trip: None,
            opening: None,
        }
    }
}

/// The application has read what had arrived in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Bytes before the expected sequence number that are not acknowledged.
    pub unacknowledged: u64,
    /// The buffer is empty: there is nothing beyond a gap either.
    pub emptied: bool,
    /// There is so much more room now that the sender must know.
    pub opens: bool,
}

/// The answer to an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Acknowledge at once.
    Now,
    /// Wait for another segment or for the deadline.
    Later,
}

/// Decides when a receiver acknowledges.
#[enum_dispatch]
pub trait AckPolicy {
    /// A segment arrived.
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict;

    /// The time at which a delayed acknowledgement must be sent; [`Time::NEVER`] if there is none.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The application has read. Only a receive window that grows tells of it.
    fn on_read(&mut self, _reading: &Reading) -> Verdict {
        Verdict::Later
    }

    /// A block of SACK changes that no recent acknowledgement has reported. Whether an acknowledgement is to be sent
    /// before that, of the earlier arrivals.
    fn reports_before(&self) -> bool {
        false
    }

    /// Less than half of the receive buffer is free, when an acknowledgement is made.
    fn on_cramped(&mut self) {}

    /// The deadline has passed. Whether an acknowledgement is sent because of it.
    fn on_expired(&mut self, _now: Time) -> Verdict {
        Verdict::Now
    }

    /// An acknowledgement is sent.
    fn on_acknowledged(&mut self) {}
}
