//! The events that a channel schedules.

use crate::phy::medium::TransmissionId;

/// A channel's place in the array of all channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelId(pub u16);

impl ChannelId {
    /// The channel's place in arrays over all channels.
    #[inline]
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An event that a channel schedules.
#[derive(Clone, Copy, Debug)]
pub enum Scheduled {
    /// The next edge of a transmission.
    Edge(ChannelId, TransmissionId),
    /// The first packet of the receive path reaches IP.
    Enter,
}
