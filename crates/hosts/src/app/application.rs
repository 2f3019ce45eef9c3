//! The trait of every application, with its arguments and answers.

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;
use hopyard_engine::units::Bytes;

use super::input::Input;
use super::object::Object;
use crate::params::Params;

/// When a flow runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Period {
    /// The time from which on data is sent.
    pub start: Time,
    /// The time from which on no data is sent; [`Time::NEVER`] to send until the end of the run.
    pub stop: Time,
}

/// The request of an application to its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Nothing.
    Nothing,
    /// This many bytes: a write to TCP, or one datagram of UDP.
    Bytes(u64),
    /// As many bytes as transport can take, until the application ends.
    Unlimited,
    /// This many bytes, and then no more. Zero ends an unlimited offer: no new data is sent.
    Last(u64),
    /// Data that is measured as a whole. Over UDP it goes in as many datagrams as it needs.
    Object(Object),
    /// No more: what was written is sent, and then this direction of the connection is closed.
    Close,
    /// The connection is given up: nothing more is sent, and the other end is told.
    Abort,
    /// A new connection, with this number, which is higher than the number of the connection before. This one is
    /// closed.
    Open(u32),
}

/// A change of the connection. Only TCP tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The other end has opened a new connection with this number. This application has nothing to do with the one
    /// before any more.
    Opened(u32),
    /// The other end sends no more: all its data has arrived.
    Ended,
    /// The other end knows no such connection any more.
    Reset,
}

/// The facts about a model with these parameters, for the checks of a scenario.
pub trait ApplicationFacts: Params {
    /// Whether the model needs a transport that says how much it can take, which UDP does not.
    const NEEDS_TCP: bool = false;

    /// Whether it writes objects.
    const HAS_OBJECTS: bool = false;

    /// The payload of each packet over UDP, in bytes, if the parameters say it.
    fn packet_size(&self) -> Option<u64> {
        None
    }

    /// The largest object and the parameter that gives its size, if the parameters say it; its mean if they give no
    /// largest one.
    fn largest(&self) -> Option<(&'static str, Bytes)> {
        None
    }

    /// The files that the parameters name.
    fn inputs(&mut self) -> Vec<Input<'_>> {
        Vec::new()
    }
}

/// An application at one end of a flow.
///
/// It does not know the transport protocol. It reports a deadline, and is called there and when data arrives. It
/// answers with the data that it writes.
#[enum_dispatch]
pub trait Application {
    /// Handles the deadline. Must be called at the deadline only.
    fn on_timer(&mut self, now: Time) -> Offer;

    /// When `on_timer` must be called next; [`Time::NEVER`] if it need not be called.
    fn deadline(&self) -> Time;

    /// This many bytes of the other end arrived: in order over TCP, a datagram over UDP.
    fn on_received(&mut self, _bytes: u64, _now: Time) -> Offer {
        Offer::Nothing
    }

    /// The connection has changed.
    fn on_change(&mut self, _change: Change, _now: Time) -> Offer {
        Offer::Nothing
    }
}

/// The deadline of a source of packets: the time of the next packet, or the stop if it is earlier.
pub(super) fn packet_or_stop(next: Time, period: Period) -> Time {
    next.min(period.stop)
}
