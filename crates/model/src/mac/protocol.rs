//! What a MAC is asked.

use std::fmt::Debug;

use hopyard_engine::{Rng, Span, Time};

use super::counters::Counters;
use crate::address::{InterfaceId, NodeId};
use crate::context::{Context, Slots};
use crate::frame::{Fate, Frame, Header};
use crate::packet::{PacketId, PacketKind};
use crate::params::{Fault, Params};
use crate::radio::Mode;

/// The fields of a frame that only its MAC knows.
pub trait Control: Copy + Debug {
    /// The number of the kind of frame, for the digest: 0 to 3.
    fn kind(&self) -> u8;

    /// What a probe is told of it.
    fn header(&self) -> Header;

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

/// A frame of slots whose owners are known before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// After how long each of its slots comes again.
    pub length: Span,
    /// From the end of its last slot to the beginning of its first one.
    pub pause: Span,
}

/// The medium access control of one station.
pub trait Mac: Debug + Sized {
    /// Its parameters.
    type Params: Params;
    /// What all stations of a channel share: the parameters, and what follows from them.
    type Shared: Debug;
    /// The fields of its frames.
    type Control: Control;
    /// What it counts.
    type Counters: Counters;

    /// Whether the MAC may choose which kinds of packets the link gives it next ([`Self::takes`]).
    const CHOOSES: bool = false;

    /// Whether the MAC counts what becomes of its frames ([`Self::on_fate`]).
    const COUNTS_FATES: bool = false;

    /// Whether the type follows these parameters: only a MAC whose procedures are several types can refuse some.
    fn follows(_params: &Self::Params) -> bool {
        true
    }

    /// What stations with these parameters share. `nodes` are their nodes, in the stations' order.
    fn share(params: &Self::Params, nodes: &[NodeId]) -> Self::Shared;

    /// The modes of all its frames; the first is that of data frames.
    ///
    /// # Errors
    /// When no row of the table of modes has a rate.
    fn modes(params: &Self::Params) -> Result<Vec<&'static Mode>, Fault>;

    /// Whether the MAC reports packets that it could not deliver to routing.
    fn reports_failures(_params: &Self::Params) -> bool {
        true
    }

    /// The size of the largest packet that the MAC can send, in bytes; nothing if it has no limit of its own.
    fn largest_packet(_params: &Self::Params) -> Option<u32> {
        None
    }

    /// The longest propagation delay with which a sender still hears that a frame was acknowledged; nothing if other
    /// delays are shorter than what it waits anyway.
    fn answered_within(_params: &Self::Params) -> Option<Span> {
        None
    }

    /// The nodes that the parameters let send at the same time: a list for each slot of a frame; nothing for a MAC
    /// without slots.
    fn slots(_params: &Self::Params, _nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        Vec::new()
    }

    /// The frame of those slots; nothing without slots that are known before the run.
    fn round(_params: &Self::Params, _nodes: &[NodeId]) -> Option<Round> {
        None
    }

    /// What is left of a slot when as many frames with packets of this size have ended as fit; nothing without slots.
    fn spare(_params: &Self::Params, _size: u32) -> Option<Span> {
        None
    }

    /// Whether agents of the nodes must find slots ([`Self::on_slots`]). Otherwise those that they find are not asked
    /// for.
    fn needs_agent(_params: &Self::Params) -> bool {
        false
    }

    /// When the simulator must look next at who hears whom, for [`Self::slots_for`]; `before` is when it did last.
    fn next_look(_shared: &Self::Shared, _before: Option<Time>) -> Option<Time> {
        None
    }

    /// The slots of stations that hear each other like this: for each, the others that it hears and that hear it.
    fn slots_for(_neighbours: &[Vec<u32>]) -> Vec<Slots> {
        Vec::new()
    }

    /// The stations that own no slot by the schedule that the parameters make of who hears whom.
    fn slotless(_params: &Self::Params, _neighbours: &[Vec<u32>]) -> Vec<u32> {
        Vec::new()
    }

    /// The longest message of an agent that can be sent, and the parameter that limits it, if there is a limit of its
    /// own for such messages.
    fn largest_message(_params: &Self::Params) -> Option<(u32, &'static str)> {
        None
    }

    /// Checks that stations of these nodes can share a channel.
    ///
    /// # Errors
    /// The first parameter that is impossible, and why.
    fn check_stations(_params: &Self::Params, _nodes: &[NodeId]) -> Result<(), Fault> {
        Ok(())
    }

    /// A station with nothing to send.
    fn new(identity: Identity, shared: &Self::Shared, rng: Rng) -> Self;

    /// Whether the station holds no packet and can take one.
    fn is_ready(&self) -> bool;

    /// Whether the station now chooses by kind. Asked only of a MAC that may ([`Self::CHOOSES`]).
    fn chooses(&self, _shared: &Self::Shared) -> bool {
        false
    }

    /// Whether the station, which chooses, takes a packet of this kind now.
    fn takes(&self, _kind: PacketKind, _shared: &Self::Shared) -> bool {
        self.is_ready()
    }

    /// Accepts the next packet. The station must be ready, or have said that it takes a packet of this kind.
    fn accept(&mut self, outgoing: Outgoing, shared: &Self::Shared, cx: &mut Context);

    /// The medium turned busy.
    fn on_busy(&mut self, _shared: &Self::Shared, _now: Time) {}

    /// The medium turned idle.
    fn on_idle(&mut self, _shared: &Self::Shared, _now: Time) {}

    /// A frame ended that could not be decoded. `on_idle` comes later if the medium is idle.
    fn on_error(&mut self, _shared: &Self::Shared, _now: Time) {}

    /// The radio ignores a signal because it receives a stronger one; the signal ends at this time.
    fn on_ignored(&mut self, _end: Time, _shared: &Self::Shared) {}

    /// A frame for this station, or a broadcast, was decoded.
    fn on_frame(&mut self, frame: &Frame<Self::Control>, shared: &Self::Shared, cx: &mut Context);

    /// A frame for another station was decoded.
    fn on_other_frame(&mut self, _frame: &Frame<Self::Control>, _shared: &Self::Shared, _now: Time) {}

    /// The packet in a frame for another station that this station passes up, if its node asked for such frames
    /// (promiscuous mode). A frame that is sent again is passed up again.
    fn overheard(&self, frame: &Frame<Self::Control>) -> Option<PacketId> {
        frame.packet
    }

    /// The radio sleeps from now until then: it receives nothing, and what the station sends does not go on the air.
    /// A station that does not know this loses the frame.
    fn on_sleep(&mut self, _until: Time, _shared: &Self::Shared, _now: Time) {}

    /// What became of a frame of this station with a packet for one receiver, after its end. Called only for a MAC that
    /// counts it ([`Self::COUNTS_FATES`]).
    fn on_fate(&mut self, _fate: Fate) {}

    /// An agent of the node, or the simulator ([`Self::slots_for`]), has found slots, or lost them.
    fn on_slots(&mut self, _slots: &Slots, _shared: &Self::Shared, _cx: &mut Context) {}

    /// The deadline is reached. A frame returned goes on the air now.
    fn on_timer(&mut self, shared: &Self::Shared, cx: &mut Context) -> Option<Frame<Self::Control>>;

    /// When `on_timer` must be called.
    fn deadline(&self, shared: &Self::Shared) -> Time;

    /// Whether signals of others change none of the station's deadlines now.
    fn is_quiet(&self) -> bool;

    /// The packet that the station holds.
    fn held(&self) -> Option<PacketId>;

    /// The packet that the station holds beside that one, if it chooses by kind.
    fn held_apart(&self) -> Option<PacketId> {
        None
    }

    /// What the station has done until now.
    fn counters(&self, shared: &Self::Shared, now: Time) -> Self::Counters;

    /// Reads the fields that signals of others need into the processor's cache. The value has no meaning.
    fn prefetch(&self) -> u32;
}
