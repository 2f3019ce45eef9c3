//! The purposes of frames.

use crate::packet::{Packet, PacketKind};

/// The purpose of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Payload, or the opening of a connection.
    Data,
    /// An acknowledgement of TCP.
    Ack,
    /// The MAC itself: frames without a packet.
    Mac,
    /// Messages of routing.
    Routing,
    /// Address resolution.
    Arp,
    /// ICMP, agents, datagrams from outside.
    Other,
}

impl Purpose {
    /// How many there are.
    pub const COUNT: usize = 6;

    /// The purpose of a frame with this packet. Frames without one are the MAC's.
    #[must_use]
    pub fn of(packet: &Packet) -> Self {
        match packet.kind() {
            PacketKind::Data => Self::Data,
            PacketKind::Ack => Self::Ack,
            PacketKind::Routing => Self::Routing,
            PacketKind::Arp => Self::Arp,
            PacketKind::Icmp | PacketKind::Control | PacketKind::External => Self::Other,
        }
    }
}

/// The purpose of a frame, whether the MAC sends it again, and whether TCP sends its segment again: a place in
/// `Airtimes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameClass(u8);

const AGAIN: u8 = 1;
const RETRANSMISSION: u8 = 2;

impl FrameClass {
    /// How many there are.
    pub const COUNT: usize = 4 * Purpose::COUNT;

    /// No frame: the radio sleeps. It sends nothing meanwhile, and hears as little as if it sent.
    pub const SLEEP: Self = Self(Self::COUNT as u8);

    /// A frame without a packet.
    pub const MAC: Self = Self(4 * Purpose::Mac as u8);

    /// A frame with a packet, sent for the first time.
    #[must_use]
    pub fn of(packet: &Packet) -> Self {
        let flags = u8::from(packet.is_retransmission()) * RETRANSMISSION;
        Self(4 * Purpose::of(packet) as u8 + flags)
    }

    /// The same frame, sent again or not.
    #[inline(always)]
    #[must_use]
    pub const fn again(self, again: bool) -> Self {
        Self(if again { self.0 | AGAIN } else { self.0 })
    }

    /// All frames.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..Self::COUNT as u8).map(Self)
    }

    /// Its place among all, and after them [`Self::SLEEP`].
    #[inline(always)]
    #[must_use]
    pub const fn place(self) -> usize {
        self.0 as usize
    }

    /// The place of its purpose.
    #[must_use]
    pub const fn purpose(self) -> usize {
        self.0 as usize / 4
    }

    /// Whether the MAC sent it again.
    #[must_use]
    pub const fn is_again(self) -> bool {
        self.0 & AGAIN != 0
    }

    /// Whether TCP sent its segment again.
    #[must_use]
    pub const fn is_retransmission(self) -> bool {
        self.0 & RETRANSMISSION != 0
    }
}
