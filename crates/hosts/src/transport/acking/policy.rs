//! The trait of every policy, with its arguments and answers.

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Span, Time};

/// The place of a segment among the data that had arrived before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// It has no data that the receiver takes in.
    #[default]
    Nothing,
    /// It is the next segment in order, and the receiver has no segments beyond it.
    Next,
    /// It is a duplicate of the last segment in order, and the receiver has no segments beyond it.
    LastAgain,
    /// All of it lies before the expected sequence number.
    Old,
    /// It lies beyond a gap.
    Ahead,
    /// It is the next segment in order, but a gap remains.
    BeforeGap,
    /// It closes the last gap.
    ClosesGap,
}

/// A segment, as seen by the policy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The time.
    pub now: Time,
    /// Its place among the data that had arrived before.
    pub order: Order,
    /// It opens or closes the connection.
    pub control: bool,
    /// It is the first segment of a connection that opens without a SYN, or a duplicate of it.
    pub first: bool,
    /// Its payload in bytes.
    pub len: u32,
    /// It has the flag PSH.
    pub psh: bool,
    /// The receiver reports segments beyond a gap by SACK.
    pub sack: bool,
    /// The next sequence number that the receiver expects after it.
    pub next: u64,
    /// Bytes before that number that are not acknowledged.
    pub unacknowledged: u64,
    /// The window that was announced last, in bytes.
    pub window: u64,
    /// The round trip as the receiver measures it, smoothed.
    pub round_trip: Option<Span>,
    /// The round trip of the opening exchange, from the answer to the SYN on; at an end that sends data too, the
    /// smoothed round trip of its sender.
    pub opening: Option<Span>,
    /// The retransmission timeout of the sender at this end, if it sends data too.
    pub timeout: Option<Span>,
    /// It closes the other direction, and this end has not closed its own.
    pub half: bool,
}

impl Arrival {
    /// A segment without any of these properties.
    #[must_use]
    pub fn at(now: Time) -> Self {
        Self { now, ..Self::default() }
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

    /// The application has read.
    fn on_read(&mut self, _reading: &Reading) -> Verdict {
        Verdict::Later
    }

    /// A block of SACK changes that no recent acknowledgement has reported. Whether an acknowledgement is to be sent
    /// before that, of the earlier arrivals.
    fn reports_before(&self) -> bool {
        false
    }

    /// The deadline has passed. Whether an acknowledgement is sent because of it.
    fn on_expired(&mut self, _now: Time) -> Verdict {
        Verdict::Now
    }

    /// An acknowledgement is sent.
    fn on_acknowledged(&mut self) {}
}
