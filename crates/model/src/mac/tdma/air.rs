//! The frames that a station has on the air, and the answer that it is about to send.

use hopyard_engine::Time;

use crate::address::InterfaceId;

/// What a station has on the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Air {
    /// No frame.
    Nothing,
    /// A frame in a slot.
    Data,
    /// A message of an agent in a contention part.
    Control,
    /// An acknowledgement.
    Ack,
}

/// An acknowledgement that is to be sent.
#[derive(Clone, Copy, Debug)]
pub struct Response {
    /// When.
    pub at: Time,
    /// To whom.
    pub to: InterfaceId,
    /// The sequence number of the frame that it answers.
    pub sequence: u16,
}
