//! What a node repeats until it is answered or told often enough.

use hopyard_engine::{Span, Time};

use super::message::RouterId;
use crate::address::Address;

/// A seqno request that this node has sent or forwarded.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    pub destination: Address,
    pub router: RouterId,
    pub seqno: u16,
    /// The neighbour, or broadcast.
    pub to: Address,
    /// When it is sent again, and the time until it is sent the time after that.
    pub again: Time,
    pub wait: Span,
    /// How often it is still sent.
    pub left: u8,
    /// When it is forgotten.
    pub until: Time,
}

impl Request {
    /// When there is something to do.
    pub fn next(&self) -> Time {
        self.again.min(self.until)
    }
}

/// A destination that was retracted. What is to be told of it is repeated, since no neighbour acknowledges it
/// (§3.7.2).
#[derive(Clone, Copy, Debug)]
pub struct Repeat {
    /// The destination.
    pub destination: Address,
    /// When it is told again.
    pub at: Time,
    pub wait: Span,
    pub left: u8,
}
