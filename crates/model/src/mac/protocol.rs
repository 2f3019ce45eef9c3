//! The trait of every MAC.

use std::fmt::Debug;

use hopyard_engine::{Prefetch, Rng, Span, Time};

use super::counters::Counters;
use super::rate_control::{self, Belief};
use crate::address::{InterfaceId, NodeId};
use crate::context::Context;
use crate::packet::{Classes, Packet, PacketId};
use crate::params::{Fault, Params};
use crate::phy::Mode;
use crate::phy::frame::{Fields, Frame, Header, Part};
use crate::phy::reception::Level;

/// The fields of a frame that only its MAC knows. Their default stands in what is radiated in the place of a frame.
pub trait Control: Fields + Debug + Default {
    /// The number of the kind of frame, for the digest: 0 to 3.
    fn kind(&self) -> u8;

    /// The header that a probe sees.
    fn header(&self) -> Header;

    /// The header that a probe sees of one of several packets.
    fn header_of(&self, _part: &Part) -> Header {
        self.header()
    }

    /// How long the exchange continues after the frame.
    fn duration(&self) -> Span {
        Span::ZERO
    }

    /// Whether the frame does not go on the air: every station in range receives its packet, and nothing else does.
    fn is_out_of_band(&self) -> bool {
        false
    }
}

/// A packet that the link gives to the MAC.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing {
    /// What.
    pub packet: PacketId,
    /// Its size in bytes, without the MAC header.
    pub size: u32,
    /// The interface that it is for, or [`InterfaceId::BROADCAST`].
    pub to: InterfaceId,
}

/// Which station a MAC is.
#[derive(Clone, Copy, Debug)]
pub struct Identity {
    /// Its interface.
    pub interface: InterfaceId,
    /// Its node.
    pub node: NodeId,
    /// Its place among the stations of the channel.
    pub station: usize,
}

/// The events that a station's radio senses besides the frames for the station.
#[derive(Clone, Copy, Debug)]
pub enum Sensed<'a, C> {
    /// The medium turned busy.
    Busy,
    /// The medium turned idle.
    Idle,
    /// A frame ended that could not be decoded. [`Sensed::Idle`] comes later if the medium is idle.
    Error,
    /// The radio ignores a signal because it receives a stronger one; the signal ends at this time.
    Ignored(Time),
    /// A frame for another station was decoded.
    Other(&'a Frame<C>),
    /// The radio sleeps from now until then. The radio receives nothing, and frames of the station do not go on the
    /// air. A station that does not know this loses the frame.
    Asleep(Time),
}

/// The medium access control of one station.
pub trait Mac: Debug + Sized + Prefetch {
    /// Whether the MAC chooses which packets the link gives it next ([`Self::takes`]).
    const CHOOSES: bool = false;

    /// Whether the MAC may take further packets when its deadline is reached ([`Self::takes`]), for the frame that it
    /// then sends.
    const GATHERS: bool = false;

    /// Its parameters.
    type Params: Params;
    /// The state that all stations of a channel share: the parameters, and values that follow from them.
    type Shared: Debug;
    /// The fields of its frames.
    type Control: Control;
    /// Its counters.
    type Counters: Counters;

    /// Whether it asks rate control for the mode of its frames.
    const ADAPTS: bool = false;

    /// The state that stations with these parameters share. `nodes` are their nodes, in the stations' order.
    fn share(params: &Self::Params, nodes: &[NodeId], rates: rate_control::Setup<'_>) -> Self::Shared;

    /// The modes of all its frames; the first is the mode of data frames, the last that of broadcasts.
    ///
    /// # Errors
    /// When no row of the table of modes has a rate.
    fn modes(params: &Self::Params, rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault>;

    /// The size of the largest packet that the MAC can send, in bytes; nothing if it has no limit of its own.
    fn largest_packet(_params: &Self::Params) -> Option<u32> {
        None
    }

    /// The class of each packet, if packets of different classes do not share the room of the link's queue.
    fn classes(_params: &Self::Params) -> Option<Classes> {
        None
    }

    /// A station with nothing to send.
    fn new(identity: Identity, shared: &Self::Shared, rng: Rng) -> Self;

    /// Whether the station holds no packet and can take one.
    fn is_ready(&self) -> bool;

    /// Whether the station takes a packet for an interface now. Asked only of a MAC that chooses ([`Self::CHOOSES`]).
    fn takes(&self, _packet: &Packet, _to: InterfaceId, _shared: &Self::Shared, _now: Time) -> bool {
        self.is_ready()
    }

    /// Accepts the next packet. The station must be ready, or have said that it takes this packet.
    fn accept(&mut self, outgoing: Outgoing, shared: &Self::Shared, cx: &mut Context);

    /// The radio senses something. Returns whether the station's deadline may be another one now.
    #[inline(always)]
    fn on_sensed(&mut self, _sensed: Sensed<'_, Self::Control>, _shared: &Self::Shared, _now: Time) -> bool {
        false
    }

    /// A frame for this station, or a broadcast, was decoded, which was so strong.
    fn on_frame(&mut self, frame: &Frame<Self::Control>, level: Level, shared: &Self::Shared, cx: &mut Context);

    /// The deadline is reached. A frame returned goes on the air now.
    fn on_timer(&mut self, shared: &Self::Shared, cx: &mut Context) -> Option<Frame<Self::Control>>;

    /// When `on_timer` must be called.
    fn deadline(&self, shared: &Self::Shared) -> Time;

    /// The packets that the station holds.
    fn held(&self) -> Vec<PacketId>;

    /// The belief of rate control about the link to a neighbour, if a frame was sent to it.
    fn belief(&self, _to: InterfaceId) -> Option<Belief> {
        None
    }

    /// The counts of the station until now.
    fn counters(&self, shared: &Self::Shared, now: Time) -> Self::Counters;
}
