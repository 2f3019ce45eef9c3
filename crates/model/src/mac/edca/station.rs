//! Frames of a station outside, such as a kernel with Linux's Wi-Fi. The station makes its frames whole, and says in
//! which modes a frame is tried, and how often in each. The MAC contends, sends, answers and repeats.
//!
//! Such a frame has no other in its aggregate. Agreements, sequence numbers, duplicates and the limits of retries are
//! the station's own affair: a frame is given up at the end of its series. Broadcasts contend in the category of their
//! frame.

use std::sync::Arc;

use hopyard_engine::Span;

use super::frame::{Control, Frame, FrameKind};
use super::{Category, Edca, Held, Timing, choice};
use crate::context::{Action, Context};
use crate::packet::{Body, Packet, PacketId, Received};
use crate::phy::reception::Level;

/// Whether a packet is a whole frame of a station outside.
pub fn is_whole(packet: &Packet) -> bool {
    matches!(packet.body, Body::Mpdu(_))
}

impl Edca {
    /// The next frame on the air with a station's frame.
    pub(super) fn whole(&self, packet: PacketId, held: &Held, timing: &Timing) -> Frame {
        let mode = choice(held).map_or(timing.data(), |it| it.mode);
        let is_group = held.to.is_broadcast();
        let answer = || timing.params.dcf.sifs + timing.dcf.answer_to(mode).airtime;
        let duration = if is_group { Span::ZERO } else { answer() };
        let control = Control::plain(FrameKind::Data, duration);
        Frame { packet: Some(packet), kept: !is_group, ..self.frame(held.to, held.size, mode, control) }
    }

    /// A packet is about to be sent: a station's frame learns that it is sent again, and the time at which its
    /// timestamp is on the air.
    pub(super) fn dress(&self, packet: PacketId, frame: &Frame, category: Category, cx: &mut Context) {
        let now = cx.now;
        let Body::Mpdu(mpdu) = &mut cx.packets[packet].body else { return };
        let mpdu = Arc::make_mut(mpdu);
        if self.contenders[category as usize].unanswered {
            mpdu.mark_retry();
        }
        if let Some(before) = mpdu.timestamp() {
            mpdu.stamp(now + frame.mode.preamble + frame.mode.body(before));
        }
        cx.sending.try_again(packet);
    }

    /// A frame was decoded that is for all, or a station's frame that is for this one.
    pub(super) fn pass_copy(&self, packet: PacketId, frame: &Frame, level: Level, cx: &mut Context) {
        let packet = cx.copy(packet);
        if let Body::Mpdu(mpdu) = &mut cx.packets[packet].body {
            Arc::make_mut(mpdu).received = Some(Received { mode: frame.mode.row, dbm: level.power().dbm() });
        }
        cx.act(Action::Arrived { interface: self.interface, packet, from: frame.transmitter });
    }
}
