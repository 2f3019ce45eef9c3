//! The functions that slotted access adds to a MAC.

use hopyard_engine::{Span, Time};

use super::protocol::Mac;
use super::rate_control;
use crate::address::NodeId;
use crate::context::{Context, Slots};
use crate::params::Fault;
use crate::phy::frame::Fate;

/// A frame of slots whose owners are known before the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Round {
    /// The time after which each of its slots comes again.
    pub length: Span,
    /// From the end of its last slot to the beginning of its first one.
    pub pause: Span,
}

/// A MAC whose stations own slots, and the facts about every MAC that checks before the run need. Every default is the
/// answer of a MAC without slots.
pub trait Slotted: Mac {
    /// Whether the MAC counts what becomes of its frames ([`Self::on_fate`]).
    const COUNTS_FATES: bool = false;

    /// Whether the MAC reports packets that it could not deliver to routing.
    fn reports_failures(_params: &Self::Params) -> bool {
        true
    }

    /// The longest propagation delay with which a sender still hears that a frame was acknowledged, and the parameter
    /// that limits the delay. Nothing if frames are not acknowledged, or other delays are shorter than its wait anyway.
    fn answered_within(_params: &Self::Params, _rates: &rate_control::Config) -> Option<(Span, &'static str)> {
        None
    }

    /// The limits within which a frame cannot carry two packets of this size, although the parameters ask for frames
    /// with several: each with the smallest value that lets it.
    fn too_tight(_params: &Self::Params, _rates: &rate_control::Config, _size: u32) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// The nodes that the parameters let send at the same time: a list for each slot of a frame.
    fn slots(_params: &Self::Params, _nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        Vec::new()
    }

    /// The frame of those slots; nothing without slots that are known before the run.
    fn round(_params: &Self::Params, _nodes: &[NodeId]) -> Option<Round> {
        None
    }

    /// The rest of a slot after as many frames with packets of this size as fit.
    fn spare(_params: &Self::Params, _size: u32) -> Option<Span> {
        None
    }

    /// Whether agents of the nodes must find slots ([`Self::on_slots`]). Otherwise slots that they find are not asked
    /// for.
    fn needs_agent(_params: &Self::Params) -> bool {
        false
    }

    /// When the simulator must look next at who hears whom, for [`Self::slots_for`]; `before` is when it did last.
    fn next_look(_shared: &Self::Shared, _before: Option<Time>) -> Option<Time> {
        None
    }

    /// The slots of stations that hear each other like this. Each station has a list of the others that hear it.
    fn slots_for(_hearers: &[Vec<u32>]) -> Vec<Slots> {
        Vec::new()
    }

    /// The stations that own no slot by the schedule that the parameters make of who hears whom.
    fn slotless(_params: &Self::Params, _hearers: &[Vec<u32>]) -> Vec<u32> {
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

    /// The fate of a frame of this station with a packet for one receiver, after its end. Called only for a MAC that
    /// counts it ([`Self::COUNTS_FATES`]).
    fn on_fate(&mut self, _fate: Fate) {}

    /// An agent of the node, or the simulator ([`Self::slots_for`]), has found slots, or lost them.
    fn on_slots(&mut self, _slots: &Slots, _shared: &Self::Shared, _cx: &mut Context) {}
}
