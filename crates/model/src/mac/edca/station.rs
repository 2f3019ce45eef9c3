//! Frames of a station outside, such as a kernel with Linux's Wi-Fi. The station makes its frames whole, and says in
//! which modes a frame is tried, and how often in each. The MAC contends, sends, answers and repeats.
//!
//! Agreements, sequence numbers, duplicates, and when to request a block acknowledgement are the station's own affair.
//! Frames of a session share a frame on the air as packets of Hopyard do, in the series of the first of them. What is
//! not acknowledged with others goes again with the series of the frame that is first then. A frame is given up at the
//! end of its series, and an MPDU of a session also at the limit of retries. One frame of those that end first tells
//! the station the fate of the whole. Broadcasts contend in the category of their frame.

use std::sync::Arc;

use hopyard_engine::Span;

use super::agreement::Board;
use super::frame::{Control, Frame, FrameKind};
use super::{Category, Edca, Held, Timing};
use crate::address::InterfaceId;
use crate::context::{Action, Context};
use crate::packet::{AmpduStatus, Body, Packet, PacketId, Received};
use crate::phy::frame::pieces;
use crate::phy::reception::Level;

/// Whether a packet is a whole frame of a station outside.
pub fn is_whole(packet: &Packet) -> bool {
    matches!(packet.body, Body::Mpdu(_))
}

impl Edca {
    /// The next frame on the air with a station's frame.
    pub(super) fn whole(&self, packet: PacketId, held: &Held, category: Category, timing: &Timing) -> Frame {
        let mode = self.choice(category, timing).mode;
        let is_group = held.to.is_broadcast();
        let sifs = timing.params.dcf.sifs;
        let (kind, duration) = match held.request {
            Some(start) => (FrameKind::BlockAckRequest { start }, sifs + timing.block_ack(mode)),
            None if is_group => (FrameKind::Data, Span::ZERO),
            None => (FrameKind::Data, sifs + timing.dcf.answer_to(mode).airtime),
        };
        let control = Control::plain(kind, duration);
        Frame { packet: Some(packet), kept: !is_group, ..self.frame(held.to, held.size, mode, control) }
    }

    /// A frame is about to be sent: a station's frame in it learns that it is sent again, how long the exchange goes
    /// on, and the time at which its timestamp is on the air.
    pub(super) fn dress(&self, frame: &Frame, category: Category, cx: &mut Context) {
        let now = cx.now;
        if !frame.packet.is_some_and(|it| is_whole(&cx.packets[it])) {
            return;
        }
        for held in self.contenders[category as usize].held.iter().filter(|held| held.flying) {
            let Some(packet) = held.packet() else { continue };
            let Body::Mpdu(mpdu) = &mut cx.packets[packet].body else { continue };
            let mpdu = Arc::make_mut(mpdu);
            mpdu.reserve(frame.control.duration);
            if held.sent > 0 {
                mpdu.mark_retry();
            }
            if let Some(before) = mpdu.timestamp() {
                mpdu.stamp(now + frame.mode.preamble + frame.mode.body(before));
            }
            cx.sending.try_again(packet);
        }
    }

    /// A frame with MPDUs of a session was answered, or its series has ended. The first of its MPDUs that ends tells
    /// the station.
    pub(super) fn report(&self, category: Category, is_answered: bool, ends: impl Fn(&Held) -> bool, cx: &mut Context) {
        let contender = &self.contenders[category as usize];
        let Some(first) = contender.held.front().filter(|held| held.session.is_some()) else { return };
        let flying = || contender.held.iter().filter(|held| held.flying);
        let ending = || flying().filter(|held| ends(held));
        let (Some(series), Some(carrier)) = (first.series, ending().find_map(Held::packet)) else { return };
        let acknowledged = if is_answered { ending().count() as u32 } else { 0 };
        // An answered try was not counted yet.
        let (tries, sent) = (contender.tries + u32::from(is_answered), flying().count() as u32);
        cx.sending.report(carrier, AmpduStatus { series, tries, sent, acknowledged });
    }

    /// Gives up MPDUs of a session. Returns whether there were any.
    pub(super) fn give_up_of_session(
        &mut self,
        category: Category,
        timing: &Timing,
        cx: &mut Context,
        is_spent: impl Fn(&Held) -> bool,
    ) -> bool {
        self.report(category, false, &is_spent, cx);
        self.give_up(category, timing, cx, is_spent)
    }

    /// A frame of a station with one MPDU or several was decoded.
    pub(super) fn take_whole(
        &mut self,
        first: PacketId,
        frame: &Frame,
        level: Level,
        timing: &Timing,
        cx: &mut Context,
    ) {
        let Body::Mpdu(mpdu) = &cx.packets[first].body else { return };
        let (tid, number, from) = (mpdu.priority, mpdu.number(), frame.transmitter);
        // Linux itself knows which frames it has already.
        if let FrameKind::BlockAckRequest { start } = frame.control.kind {
            self.board(from, tid, start).begin_at(start);
        } else if !frame.control.is_aggregate() {
            if let Some(number) = number {
                self.board(from, tid, number).mark(number);
            }
            self.answer(FrameKind::Ack, frame, timing, cx.now);
            return self.pass_copy(first, frame, level, cx);
        }
        let (start, parts) = (frame.control.sequence, frame.control.parts.clone().unwrap_or_default());
        let sound = || pieces(&parts).filter(|(piece, _)| level.is_sound(*piece)).map(|(_, part)| part);
        let board = self.board(from, tid, start);
        sound().for_each(|part| board.mark(part.sequence));
        let Board { start, received } = *board;
        self.answer(FrameKind::BlockAck { tid, start, received }, frame, timing, cx.now);
        if parts.is_empty() {
            return self.pass_copy(first, frame, level, cx);
        }
        sound().for_each(|part| self.pass_copy(part.packet, frame, level, cx));
    }

    /// The scoreboard of a station's frames with a priority. Without one, an empty one is made that begins here.
    fn board(&mut self, from: InterfaceId, tid: u8, start: u16) -> &mut Board {
        let place = self.boards.iter().position(|it| (it.0, it.1) == (from, tid)).unwrap_or_else(|| {
            self.boards.push((from, tid, Board::new(start)));
            self.boards.len() - 1
        });
        &mut self.boards[place].2
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
