//! The frames that a station sends, and what their ends and their acknowledgements bring.

use hopyard_engine::{Span, Time};

use super::air::{Air, Response};
use super::contest::Contest;
use super::{Control, ControlPlace, Frame, Frames, Kind, Tdma};
use crate::address::InterfaceId;
use crate::context::{Action, Context, DropReason};
use crate::mac::Outgoing;
use crate::packet::PacketId;

impl Tdma {
    /// Does what is due. A frame returned goes on the air now.
    pub(super) fn act(&mut self, frames: &Frames, cx: &mut Context) -> Option<Frame> {
        let (params, now) = (&frames.params, cx.now);
        if params.control == ControlPlace::OutOfBand && self.control_at <= now {
            return self.send_beside(frames, cx);
        }
        if self.air != Air::Nothing {
            self.end_frame(frames, cx);
            return None;
        }
        if let Some(response) = self.response.take_if(|response| response.at <= now) {
            let (bytes, airtime) = params.ack();
            (self.air, self.until) = (Air::Ack, now + airtime);
            let control = Control { kind: Kind::Ack, sequence: response.sequence, ..Control::DATA };
            return Some(self.frame(response.to, bytes, airtime, None, control, frames));
        }
        if self.timeout < Time::NEVER {
            if self.timeout <= now {
                self.on_timeout(frames, cx);
            }
            return None;
        }
        let due = |contest: &Option<Contest>| {
            !self.busy && contest.is_some_and(|it| it.due(self.idle_since, params.backoff_slot) <= now)
        };
        if self.data_at <= now {
            if frames.owned_from(self.own, self.identity.station, 0).is_none() {
                self.data_at = Time::NEVER;
                if let Some(outgoing) = self.data.take() {
                    cx.drop_packet(self.identity.node, outgoing.packet, DropReason::NoSlot);
                    cx.act(Action::MacReady { interface: self.identity.interface });
                }
                return None;
            }
            if let Some(slot) = frames.slot_at(self.clock.shows(now))
                && self.last_used != slot
            {
                (self.last_used, self.used) = (slot, self.used + 1);
            }
            return self.send_data(frames, now);
        }
        if due(&self.borrowing) {
            self.counters.slots_borrowed += 1;
            return self.send_data(frames, now);
        }
        if self.control_at <= now || due(&self.contending) {
            self.counters.contention_frames += 1;
            let outgoing = self.control.take()?;
            (self.control_at, self.contending) = (Time::NEVER, None);
            let frame = self.packet_frame(&outgoing, Control::DATA, frames);
            (self.air, self.until) = (Air::Control, now + frame.airtime);
            return Some(frame);
        }
        None
    }

    /// Sends the packet that waits for a slot.
    fn send_data(&mut self, frames: &Frames, now: Time) -> Option<Frame> {
        let outgoing = self.data?;
        let answer = frames.params.acknowledge && !outgoing.to.is_broadcast();
        let control = Control { sequence: self.sequence, retry: self.retries > 0, answer, ..Control::DATA };
        let frame = self.packet_frame(&outgoing, control, frames);
        if !answer {
            self.data = None;
        }
        (self.data_at, self.borrowing) = (Time::NEVER, None);
        (self.air, self.until) = (Air::Data, now + frame.airtime);
        Some(frame)
    }

    /// Sends the message of an agent on the channel beside this one.
    fn send_beside(&mut self, frames: &Frames, cx: &mut Context) -> Option<Frame> {
        self.control_at = Time::NEVER;
        let outgoing = self.control.take()?;
        self.counters.out_of_band += 1;
        cx.act(Action::MacReady { interface: self.identity.interface });
        let control = Control { kind: Kind::OutOfBand, ..Control::DATA };
        let (bytes, airtime) = (outgoing.size, frames.params.airtime(outgoing.size));
        Some(self.frame(outgoing.to, bytes, airtime, Some(outgoing.packet), control, frames))
    }

    pub(super) fn packet_frame(&mut self, outgoing: &Outgoing, control: Control, frames: &Frames) -> Frame {
        if outgoing.to.is_broadcast() {
            self.counters.broadcasts += 1;
        } else {
            self.counters.data += 1;
        }
        let bytes = outgoing.size + frames.params.header.count() as u32;
        let airtime = frames.params.airtime(outgoing.size);
        self.frame(outgoing.to, bytes, airtime, Some(outgoing.packet), control, frames)
    }

    fn frame(
        &self,
        receiver: InterfaceId,
        bytes: u32,
        airtime: Span,
        packet: Option<PacketId>,
        control: Control,
        frames: &Frames,
    ) -> Frame {
        let (transmitter, preamble, mode) = (self.identity.interface, frames.params.preamble, frames.mode);
        Frame { transmitter, receiver, airtime, preamble, bytes, mode, packet, kept: control.answer, control }
    }

    /// The frame on the air has ended.
    fn end_frame(&mut self, frames: &Frames, cx: &mut Context) {
        let ended = std::mem::replace(&mut self.air, Air::Nothing);
        self.until = Time::NEVER;
        // What the station sends itself does not make its medium busy, but leaves it no more idle.
        self.idle_since = self.idle_since.max(cx.now);
        if ended == Air::Data && self.data.is_some() {
            let params = &frames.params;
            self.timeout = cx.now + params.turnaround + params.ack().1 + params.propagation * 2;
            return;
        }
        // What should have been sent meanwhile is sent later.
        if self.timeout == Time::NEVER {
            self.plan_data(frames, cx.now);
        }
        if self.control_at <= cx.now || self.contending.is_some() {
            self.plan_control(frames, cx.now);
        }
        if ended != Air::Ack {
            cx.act(Action::MacReady { interface: self.identity.interface });
        }
    }

    /// No acknowledgement came.
    fn on_timeout(&mut self, frames: &Frames, cx: &mut Context) {
        self.timeout = Time::NEVER;
        self.retries += 1;
        if self.retries <= frames.params.retry_limit {
            return self.plan_data(frames, cx.now);
        }
        if let Some(Outgoing { packet, to, .. }) = self.data.take() {
            let (interface, reason) = (self.identity.interface, DropReason::RetryLimit);
            cx.act(Action::LinkFailed { interface, packet, to, reason });
            cx.act(Action::MacReady { interface });
        }
    }

    pub(super) fn on_ack(&mut self, frame: &Frame, frames: &Frames, cx: &mut Context) {
        if self.timeout == Time::NEVER || frame.control.sequence != self.sequence {
            return;
        }
        if let Some(outgoing) = self.data.take_if(|outgoing| outgoing.to == frame.transmitter) {
            self.timeout = Time::NEVER;
            cx.hand_over(outgoing.packet);
            cx.act(Action::MacReady { interface: self.identity.interface });
            self.refresh(frames);
        }
    }

    /// Answers a frame. Returns whether it was received before.
    pub(super) fn is_repeated(&mut self, frame: &Frame, frames: &Frames, now: Time) -> bool {
        let (to, sequence) = (frame.transmitter, frame.control.sequence);
        if self.air == Air::Nothing {
            self.response = Some(Response { at: now + frames.params.turnaround, to, sequence });
            self.refresh(frames);
        }
        match self.heard.binary_search_by_key(&to, |&(interface, _)| interface) {
            Ok(place) => std::mem::replace(&mut self.heard[place].1, sequence) == sequence && frame.control.retry,
            Err(place) => {
                self.heard.insert(place, (to, sequence));
                false
            }
        }
    }
}
