//! One category's access function: its back-off, its contention window, and the frames that it must send.

use std::collections::VecDeque;

use hopyard_engine::{Rng, Span, Time};

use super::frame::FrameKind;
use super::params::Access;
use crate::address::InterfaceId;
use crate::mac::rate_control::{Attempt, Choice};
use crate::packet::{Body, Packet, PacketId, Series};
use crate::phy::mode::MODES;

/// The back-off: running, frozen, or none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backoff {
    None,
    /// Slots left, to be resumed when the medium is idle.
    Frozen {
        slots: u32,
    },
    /// Slots left when the interframe space ended, or ends, at `from`.
    Running {
        slots: u32,
        from: Time,
    },
    /// The station may send at this slot boundary without back-off.
    Access {
        at: Time,
    },
}

/// The content of a frame that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// A packet.
    Packet(PacketId),
    /// A frame of the MAC itself.
    Own(FrameKind),
}

/// The session of block acknowledgement that a station outside has with the receiver of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Session {
    pub priority: u8,
    /// The sequence number of the frame.
    pub number: u16,
}

/// A packet, or a frame of the MAC itself, that waits to be sent or acknowledged.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    pub content: Content,
    pub to: InterfaceId,
    /// Bytes of the packet, of the whole frame of a station outside, or of the whole frame of the MAC itself.
    pub size: u32,
    /// The modes in which a frame of a station outside is tried.
    pub series: Option<Series>,
    /// The session in which such a frame may share a frame on the air with others.
    pub session: Option<Session>,
    /// The first number that may still come, if such a frame is a request for a block acknowledgement.
    pub request: Option<u16>,
    /// Its sequence number. A packet gets one when it is sent first; a frame of a session comes with one.
    pub sequence: Option<u16>,
    /// How often it was sent.
    pub sent: u32,
    /// Whether it is in the MPDU of the one before.
    pub joined: bool,
    /// Whether it is in the frame that is being sent.
    pub flying: bool,
}

impl Held {
    /// A packet or frame that was not sent yet.
    pub const fn new(content: Content, to: InterfaceId, size: u32, series: Option<Series>) -> Self {
        let (session, request, sequence) = (None, None, None);
        Self { content, to, size, series, session, request, sequence, sent: 0, joined: false, flying: false }
    }

    /// A packet that was not sent yet.
    pub fn of(id: PacketId, packet: &Packet, to: InterfaceId, size: u32) -> Self {
        let Body::Mpdu(mpdu) = &packet.body else { return Self::new(Content::Packet(id), to, size, None) };
        let (session, request) = (session(packet), mpdu.request());
        let sequence = session.map(|it| it.number);
        Self { session, request, sequence, ..Self::new(Content::Packet(id), to, size, Some(mpdu.series)) }
    }

    pub const fn packet(&self) -> Option<PacketId> {
        match self.content {
            Content::Packet(packet) => Some(packet),
            Content::Own(_) => None,
        }
    }
}

/// The session of a frame of a station outside, if it has one.
pub fn session(packet: &Packet) -> Option<Session> {
    let Body::Mpdu(mpdu) = &packet.body else { return None };
    let number = mpdu.sequence().filter(|_| mpdu.aggregates)?;
    Some(Session { priority: mpdu.priority, number })
}

/// An access function.
#[derive(Clone, Debug)]
pub struct Contender {
    pub backoff: Backoff,
    pub cw: u32,
    /// Failures of its present frame: RTS and frames without one, and frames with one.
    pub failures: (u32, u32),
    /// Whether its present frame was sent and not answered: what nobody answers is repeated as it is.
    pub unanswered: bool,
    /// The tries in the series of a station's present frame. An announcement that failed counts too.
    pub tries: u32,
    /// The frames to send, in order. All packets are for one neighbour.
    pub held: VecDeque<Held>,
    /// The tries of the packets in the present frame, or in the next one, if rate control chooses their modes.
    pub attempt: Attempt,
}

impl Contender {
    pub const fn new(access: &Access) -> Self {
        Self {
            backoff: Backoff::None,
            cw: access.cw_min,
            failures: (0, 0),
            unanswered: false,
            tries: 0,
            held: VecDeque::new(),
            attempt: Attempt::NONE,
        }
    }

    /// When its back-off ends.
    #[inline]
    pub fn deadline(&self, slot: Span) -> Time {
        match self.backoff {
            Backoff::Running { slots, from } => from + slot * u64::from(slots),
            Backoff::Access { at } => at,
            Backoff::None | Backoff::Frozen { .. } => Time::NEVER,
        }
    }

    /// The first packet.
    pub fn first_packet(&self) -> Option<&Held> {
        self.held.iter().find(|held| held.packet().is_some())
    }

    /// The mode of the next try of a station's frame, if one is the first to be sent.
    pub fn stage(&self) -> Option<Choice> {
        let stage = self.held.front()?.series?.stage(self.tries);
        let mode = MODES.get(usize::from(stage.mode))?;
        Some(Choice { announced: stage.announced, ..Choice::of(mode) })
    }

    /// A frame of the MAC itself goes before all packets.
    pub fn put_first(&mut self, kind: FrameKind, to: InterfaceId, size: u32) {
        self.held.push_front(Held::new(Content::Own(kind), to, size, None));
    }

    /// Draws a back-off, which begins when the medium is idle.
    pub fn draw(&mut self, rng: &mut Rng) {
        self.backoff = Backoff::Frozen { slots: rng.below(u64::from(self.cw) + 1) as u32 };
    }

    /// A transmission succeeded, or its frame was given up.
    pub fn reset(&mut self, access: &Access) {
        (self.cw, self.failures, self.unanswered, self.tries) = (access.cw_min, (0, 0), false, 0);
    }

    pub fn widen(&mut self, access: &Access) {
        self.cw = (2 * self.cw + 1).min(access.cw_max);
    }

    /// Stops a running back-off. A slot counts at its beginning, the first one with the end of the interframe space
    /// (IEEE Std 802.11-2016 §10.22.2.4).
    #[inline]
    pub fn freeze(&mut self, slot: Span, now: Time, rng: &mut Rng) {
        match self.backoff {
            Backoff::Running { slots, from } => {
                let gone = now.since(from).nanos() / slot.nanos();
                // A back-off that ends at this instant keeps its deadline: the station cannot have sensed the other
                // station in time, and both transmit.
                if now < from {
                    self.backoff = Backoff::Frozen { slots };
                } else if gone < u64::from(slots) {
                    self.backoff = Backoff::Frozen { slots: slots - gone as u32 - 1 };
                }
            }
            // A medium that turns busy before the slot boundary costs a back-off.
            Backoff::Access { at } if now < at => self.draw(rng),
            _ => {}
        }
    }
}
