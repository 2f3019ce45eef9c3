//! The reactions of a station to the frames that it decodes.

use hopyard_engine::{Span, Time};

use super::agreement::{Board, State, after};
use super::params::BlockAck;
use super::station::is_whole;
use super::{Announcement, Category, Edca, Exchange, Frame, FrameKind, Receiver, Timing};
use crate::address::InterfaceId;
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;
use crate::phy::frame::pieces;
use crate::phy::reception::Level;

impl Edca {
    /// A frame for this station, or a broadcast, was decoded. The medium is still busy with it: `on_idle` comes next.
    pub(super) fn receive(&mut self, frame: &Frame, level: Level, timing: &Timing, cx: &mut Context) {
        // §10.3.2.3.7: a frame without error ends the EIFS.
        self.eifs_until = Time::ZERO;
        let kind = frame.control.kind;
        if self.fails_by(kind) {
            self.timeout = Time::NEVER;
            self.on_timeout(timing, cx);
        }
        if frame.receiver.is_broadcast() {
            if let Some(packet) = frame.packet {
                self.pass_copy(packet, frame, level, cx);
            }
            return;
        }
        match kind {
            FrameKind::Rts => self.on_rts(frame, timing, cx.now),
            FrameKind::Cts => self.on_cts(timing, cx.now),
            FrameKind::Ack => self.on_ack(frame.control.ratio, timing, cx),
            FrameKind::BlockAck { start, received, .. } => {
                self.on_block_ack((start, received), frame.control.ratio, timing, cx);
            }
            FrameKind::BlockAckRequest { .. }
            | FrameKind::AddbaRequest { .. }
            | FrameKind::AddbaResponse
            | FrameKind::Data => self.on_data(frame, level, timing, cx),
        }
    }

    /// A frame for another station was decoded.
    pub(super) fn overhear(&mut self, frame: &Frame, timing: &Timing, now: Time) {
        self.eifs_until = Time::ZERO;
        // §10.3.2.4: the NAV takes the larger value. An RTS alone may be taken back.
        let end = now + frame.control.duration;
        if end > self.nav_end() {
            let guard = now + timing.params.dcf.sifs * 2 + timing.dcf.cts + timing.params.dcf.slot * 2;
            let is_rts = frame.control.kind == FrameKind::Rts;
            (self.nav, self.nav_guard) = (end, if is_rts { guard } else { Time::NEVER });
        }
    }

    /// Whether a frame of this kind comes in the place of the CTS, ACK or block acknowledgement for which the station
    /// waits.
    fn fails_by(&self, kind: FrameKind) -> bool {
        match self.exchange {
            Exchange::Rts => kind != FrameKind::Cts,
            Exchange::Data => !matches!(kind, FrameKind::Ack | FrameKind::BlockAck { .. }),
            Exchange::Idle | Exchange::Cts | Exchange::CtsToSelf | Exchange::Answer => false,
        }
    }

    fn on_rts(&mut self, frame: &Frame, timing: &Timing, now: Time) {
        if self.exchange != Exchange::Idle || self.response.is_some() {
            return;
        }
        let duration = frame.control.duration.saturating_sub(timing.params.dcf.sifs + timing.dcf.cts);
        self.response = Some(self.control(FrameKind::Cts, frame.transmitter, duration, timing.dcf.modes.announcing));
        self.proceed(timing, now);
    }

    fn on_cts(&mut self, timing: &Timing, now: Time) {
        if self.exchange != Exchange::Rts {
            return;
        }
        if let Some(current) = &mut self.current {
            current.needs_announcement = false;
        }
        self.timeout = Time::NEVER;
        // The RTS succeeded, but the contention window is reset only by the answer to the data.
        self.contenders[self.holder as usize].failures.0 = 0;
        self.proceed(timing, now);
    }

    /// A frame with packets, or one of the MAC itself that is answered, was decoded.
    fn on_data(&mut self, frame: &Frame, level: Level, timing: &Timing, cx: &mut Context) {
        let kind = frame.control.kind;
        let is_request = matches!(kind, FrameKind::BlockAckRequest { .. });
        let is_announced = match self.rates {
            None => timing.dcf.announcement(frame.mode, frame.bytes, false) == Announcement::Rts,
            // The sender may announce any frame.
            Some(_) => self.exchange == Exchange::Cts,
        };
        if !is_request && is_announced {
            // The station has answered an RTS, and waits for this frame only.
            if self.exchange != Exchange::Cts {
                return;
            }
            self.timeout = Time::NEVER;
            self.exchange = Exchange::Idle;
            self.response = None;
        }
        if self.response.is_some() {
            return;
        }
        if let Some(packet) = frame.packet.filter(|it| is_whole(&cx.packets[*it])) {
            return self.take_whole(packet, frame, level, timing, cx);
        }
        let (category, from) = (frame.control.category.unwrap_or(Category::BestEffort), frame.transmitter);
        if kind == FrameKind::AddbaResponse {
            if let Some(sender) = self.senders.iter_mut().find(|it| it.to == from && it.category == category) {
                sender.state = State::Open;
            }
            return self.answer(FrameKind::Ack, frame, timing, cx.now);
        }
        let place = self.receiver_place(category, frame, timing);
        let answer = match kind {
            FrameKind::BlockAckRequest { start } => {
                self.on_block_ack_request(place, start, timing, cx);
                self.block_ack(place)
            }
            FrameKind::Data if frame.control.is_aggregate() => {
                for (piece, part) in pieces(&frame.control.parts.clone().unwrap_or_default()) {
                    if level.is_sound(piece) {
                        self.receivers[place].board.mark(part.sequence);
                    }
                }
                self.block_ack(place)
            }
            FrameKind::Data => {
                self.receivers[place].board.mark(frame.control.sequence);
                FrameKind::Ack
            }
            _ => FrameKind::Ack,
        };
        self.answer(answer, frame, timing, cx.now);
        match kind {
            FrameKind::AddbaRequest { start } => {
                self.receivers[place].agree(start);
                self.put_first(FrameKind::AddbaResponse, from, category, timing, cx.now);
            }
            FrameKind::Data => self.take_mpdus(place, frame, level, timing, cx),
            _ => {}
        }
    }

    /// An answer is due after a SIFS.
    pub(super) fn answer(&mut self, kind: FrameKind, to: &Frame, timing: &Timing, now: Time) {
        let mode = timing.dcf.answer_to(to.mode).mode;
        let mut answer = self.control(kind, to.transmitter, Span::ZERO, mode);
        answer.control.ratio = self.level;
        self.response = Some(answer);
        if self.timeout == Time::NEVER {
            self.proceed(timing, now);
        }
    }

    /// The place of the record about a frame's transmitter. Without one, a record is made that begins with the frame.
    fn receiver_place(&mut self, category: Category, frame: &Frame, timing: &Timing) -> usize {
        let from = frame.transmitter;
        let place = self.receivers.iter().position(|it| it.from == from && it.category == category);
        place.unwrap_or_else(|| {
            let agreed = timing.params.block_ack == BlockAck::FromStart;
            let next = match frame.control.kind {
                _ if agreed => 0,
                FrameKind::AddbaRequest { start } => start,
                _ => frame.control.sequence,
            };
            self.receivers.push(Receiver::new(from, category, agreed, next));
            self.receivers.len() - 1
        })
    }

    fn block_ack(&self, place: usize) -> FrameKind {
        let Receiver { category, board: Board { start, received }, .. } = self.receivers[place];
        FrameKind::BlockAck { tid: category.tid(), start, received }
    }

    /// The sender says that no older MPDUs come.
    fn on_block_ack_request(&mut self, place: usize, start: u16, timing: &Timing, cx: &mut Context) {
        let (interface, now) = (self.interface, cx.now);
        let receiver = &mut self.receivers[place];
        let before = receiver.next;
        receiver.begin_at(start, &mut up(interface, receiver.from, cx));
        receiver.wait(before, now, timing.params.reorder_timeout);
        self.refresh_release();
    }

    /// Passes up the packets of a data frame, in order.
    fn take_mpdus(&mut self, place: usize, frame: &Frame, level: Level, timing: &Timing, cx: &mut Context) {
        let (interface, from, now) = (self.interface, frame.transmitter, cx.now);
        let parts = frame.control.parts.clone().unwrap_or_default();
        let single = frame.packet.filter(|_| parts.is_empty()).map(|packet| (frame.control.sequence, vec![packet]));
        let mut mpdus: Vec<(u16, Vec<PacketId>)> = single.into_iter().collect();
        let mut last = None;
        for (piece, part) in pieces(&parts).filter(|(piece, _)| level.is_sound(*piece)) {
            match mpdus.last_mut() {
                Some((_, packets)) if last == Some(piece) => packets.push(part.packet),
                _ => mpdus.push((part.sequence, vec![part.packet])),
            }
            last = Some(piece);
        }
        let receiver = &mut self.receivers[place];
        let before = receiver.next;
        for (number, packets) in mpdus {
            let again = if receiver.agreed {
                receiver.has(number)
            } else {
                frame.control.retry && after(number, 1) == receiver.next
            };
            if again && receiver.is_late(number) {
                for packet in packets {
                    let late = cx.copy(packet);
                    cx.drop_packet(self.node, late, DropReason::TooLate);
                }
                continue;
            }
            if again {
                self.counters.duplicates += 1;
                continue;
            }
            let copies: Vec<PacketId> = packets.into_iter().map(|packet| cx.copy(packet)).collect();
            let mut pass = up(interface, from, cx);
            if receiver.agreed {
                receiver.store(number, copies.into_iter(), &mut pass);
            } else {
                copies.into_iter().for_each(&mut pass);
                receiver.next = after(number, 1);
            }
        }
        receiver.wait(before, now, timing.params.reorder_timeout);
        self.refresh_release();
    }

    /// Receivers have waited for missing MPDUs as long as they may.
    pub(super) fn skip_missing(&mut self, timing: &Timing, cx: &mut Context) {
        let (interface, now) = (self.interface, cx.now);
        for receiver in self.receivers.iter_mut().filter(|it| it.release <= now) {
            self.counters.reorder_timeouts += 1;
            let before = receiver.next;
            receiver.skip(&mut up(interface, receiver.from, cx));
            receiver.wait(before, now, timing.params.reorder_timeout);
        }
        self.refresh_release();
    }

    fn refresh_release(&mut self) {
        self.release = self.receivers.iter().map(|it| it.release).fold(Time::NEVER, Time::min);
    }
}

/// Passes packets up.
fn up(interface: InterfaceId, from: InterfaceId, cx: &mut Context) -> impl FnMut(PacketId) {
    move |packet| cx.act(Action::Arrived { interface, packet, from })
}
