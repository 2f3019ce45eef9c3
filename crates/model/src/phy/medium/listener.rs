//! What the medium calls at each edge, and what edges and transmissions come to.

use hopyard_engine::{Prefetch, Rank, Time};

use super::super::frame::Frame;
use super::super::reception::{Begin, End};
use crate::packet::PacketId;

/// What the medium calls at each edge: the MACs that listen at the radios, and the queue that knows the next event.
pub trait Listener<C>: Prefetch<usize> {
    /// Whether the listener is told of every signal as it begins ([`Listener::on_signal`]). One that can wait asks
    /// `Medium::begun` after each walk, which costs the walk nothing.
    const METERS: bool = false;

    /// A signal of this power, in watts, begins at a station, whatever else it means there. Returns whether the queue
    /// may have changed.
    fn on_signal(&mut self, _station: usize, _power: f64, _now: Time, _end: Time) -> bool {
        false
    }

    /// Until when, exclusively, no other event comes.
    fn undisturbed_until(&self) -> Time;

    /// Whether an edge at this time and rank comes before every other event.
    fn comes_first(&self, at: Time, rank: Rank) -> bool;

    /// What the beginning of a signal means at a station. Returns whether the queue may have changed.
    fn on_begin(&mut self, station: usize, begin: Begin, now: Time) -> bool;

    /// Tells a station of the end of a signal of this power, in watts.
    fn on_end(&mut self, station: usize, end: End, power: f64, frame: &Frame<C>, now: Time) -> After;

    /// The fate at the receiver.
    fn outcome(&mut self) -> Outcome {
        Outcome::default()
    }
}

/// The fate of a frame at the receiver that it is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome(u8);

impl Outcome {
    /// It was decoded.
    pub const RECEIVED: Self = Self(1);
    /// It was received with bit errors, although no other signal disturbed it.
    pub const NOISE: Self = Self(2);
    /// It came there with enough power.
    pub(super) const IN_REACH: Self = Self(4);

    pub(super) const fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }
}

impl std::ops::BitOrAssign for Outcome {
    #[inline]
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// The consequence of the end of a signal at a station.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// Nothing that concerns other edges.
    Nothing,
    /// The queue may have changed.
    Scheduled,
    /// There is work to do before the next edge.
    Work,
}

/// How far the edges of a transmission have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// All edges have been processed.
    Finished,
    /// Another event comes before the next edge, which is at this time and rank.
    Next(Time, Rank),
    /// There is work to do before the next edge.
    Interrupted,
}

/// The fate of a frame's packet that the medium owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The frame has none, or is still in the air.
    Nothing,
    /// Its MAC keeps it.
    Kept,
    /// It was broadcast, or its receiver has decoded it.
    HandedOver(PacketId),
    /// Its receiver did not decode it.
    NotReceived(PacketId),
}
