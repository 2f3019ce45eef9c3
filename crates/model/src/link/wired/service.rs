//! The service of a direction's packets, one after the other.

use std::sync::Arc;

use hopyard_engine::Time;
use hopyard_engine::units::Rate;

use super::trace::{Cursor, Values};

/// The service of a direction's packets.
#[derive(Clone, Debug)]
pub(super) enum Service {
    /// The same rate all the time.
    Constant(Rate),
    /// The rate of a table.
    Varying(Arc<Values>),
    /// Opportunities to deliver packets.
    Opportunities(Cursor),
}

impl Service {
    /// When a packet that comes now begins to be served, behind packets that end at a time.
    pub(super) fn begins(&mut self, now: Time, free: Time) -> Time {
        match self {
            Self::Opportunities(cursor) => {
                cursor.lose(now);
                cursor.time()
            }
            Self::Constant(_) | Self::Varying(_) => free.max(now),
        }
    }

    /// When the packet behind one that has just ended begins to be served.
    pub(super) fn continues(&self, now: Time) -> Time {
        if let Self::Opportunities(cursor) = self { cursor.time() } else { now }
    }

    /// Serves a packet from a time on, at which it begins. Returns when its last bit is sent.
    pub(super) fn serve(&mut self, from: Time, size: u32) -> Time {
        match self {
            Self::Constant(rate) => from + rate.airtime(size),
            Self::Varying(values) => values.sent(from, size),
            Self::Opportunities(cursor) => cursor.carry(size),
        }
    }

    /// All packets are lost at a time, also those that it has served in advance.
    pub(super) fn lose(&mut self, now: Time) {
        if let Self::Opportunities(cursor) = self {
            cursor.go_back(now);
        }
    }
}
