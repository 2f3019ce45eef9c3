//! The trait of every source of traffic, with its arguments and answers.

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use crate::params::Params;

/// When a flow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The time from which on data is sent.
    pub start: Time,
    /// The time from which on no data is sent; [`Time::NEVER`] to send until the end of the run.
    pub stop: Time,
}

/// The data that a source offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// This many bytes: a write to TCP, or one datagram of UDP.
    Bytes(u64),
    /// As many bytes as transport can take, until the source ends.
    Unlimited,
    /// This many bytes, and then no more. Zero ends an unlimited offer: no new data is sent.
    Last(u64),
}

/// The facts about a model with these parameters, for the checks of a scenario.
pub trait Facts: Params {
    /// Whether the model needs a transport that says how much it can take, which UDP does not.
    const NEEDS_TCP: bool = false;

    /// The payload of each packet over UDP, in bytes, if the parameters say it.
    fn packet_size(&self) -> Option<u64> {
        None
    }
}

/// A source of traffic.
#[enum_dispatch]
pub trait Traffic {
    /// Handles the deadline. Must be called at the deadline only.
    fn on_timer(&mut self, now: Time) -> Offer;

    /// When `on_timer` must be called next; [`Time::NEVER`] if the source has ended.
    fn deadline(&self) -> Time;
}

/// The deadline of a source of packets: the time of the next packet, or the stop if it is earlier.
pub(super) fn packet_or_stop(next: Time, period: Period) -> Time {
    next.min(period.stop)
}
