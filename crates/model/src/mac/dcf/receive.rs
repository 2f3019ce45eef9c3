//! The reactions of a station to the frames that it decodes.

use hopyard_engine::{Span, Time};

use super::{
    ACK_BYTES, Announcement, CTS_BYTES, Control, Dcf, Exchange, Frame, FrameKind, Procedure, RTS_BYTES, Timing,
};
use crate::address::InterfaceId;
use crate::context::{Action, Context};

impl<P: Procedure> Dcf<P> {
    /// A frame for this station, or a broadcast, was decoded. The medium is still busy with it: `on_idle` comes next.
    pub(super) fn receive(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        self.end_eifs();
        if P::hears_out(&timing.params) && self.fails_by(frame.control.kind) {
            self.timeout = Time::NEVER;
            self.on_timeout(timing, cx);
        }
        if frame.receiver.is_broadcast() {
            return self.deliver(frame, cx);
        }
        match frame.control.kind {
            FrameKind::Rts => self.on_rts(frame, timing, cx),
            FrameKind::Cts => self.on_cts(timing, cx),
            FrameKind::Data => self.on_data(frame, timing, cx),
            FrameKind::Ack => self.on_ack(frame, timing, cx),
        }
    }

    /// A frame for another station was decoded.
    #[inline(always)]
    pub(super) fn overhear(&mut self, frame: &Frame, timing: &Timing, now: Time) {
        self.end_eifs();
        // §9.2.5.4: the NAV takes the larger value. An RTS alone may be taken back.
        let end = now + frame.control.duration;
        if end > self.nav_end() {
            self.nav = end;
            if P::GUARDS_NAV {
                let is_rts = frame.control.kind == FrameKind::Rts;
                self.nav_guard = if is_rts { P::nav_guard(now, timing) } else { Time::NEVER };
            }
        }
    }

    /// §9.2.3.4: a frame without error ends the EIFS.
    #[inline(always)]
    fn end_eifs(&mut self) {
        if P::KEEPS_EIFS {
            self.eifs_until = Time::ZERO;
        }
    }

    /// Whether the station waits for the answer of another station to its own frame.
    #[inline(always)]
    pub(super) fn is_waiting(&self) -> bool {
        match self.exchange {
            Exchange::Rts | Exchange::Cts => true,
            Exchange::Data => self.outgoing.is_some_and(|it| !it.to.is_broadcast()),
            Exchange::Idle | Exchange::CtsToSelf | Exchange::Ack => false,
        }
    }

    /// Whether the station waits for a CTS or an ACK, and this is something else.
    fn fails_by(&self, kind: FrameKind) -> bool {
        match self.exchange {
            Exchange::Rts => kind != FrameKind::Cts,
            Exchange::Data => kind != FrameKind::Ack,
            Exchange::Idle | Exchange::Cts | Exchange::CtsToSelf | Exchange::Ack => false,
        }
    }

    fn on_rts(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Idle || self.response.is_some() {
            return;
        }
        let duration = frame.control.duration.saturating_sub(timing.params.sifs + timing.cts);
        self.response = Some(self.control(FrameKind::Cts, frame.transmitter, duration, timing));
        self.defer = Time::NEVER;
        self.proceed(timing, cx);
    }

    fn on_cts(&mut self, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Rts {
            return;
        }
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.needs_announcement = false;
        }
        self.timeout = Time::NEVER;
        // §9.2.4: the RTS succeeded, but the contention window is reset only by the ACK.
        self.short_retries = 0;
        self.proceed(timing, cx);
    }

    fn on_ack(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Data {
            return;
        }
        let Some(outgoing) = self.outgoing.take() else { return };
        self.timeout = Time::NEVER;
        if outgoing.announced_by == Announcement::Rts {
            self.long_retries = 0;
        } else {
            self.short_retries = 0;
        }
        self.cw = timing.params.cw_min;
        self.learn(Some(frame.control.ratio), cx);
        cx.hand_over(outgoing.packet);
        self.start_backoff(timing, cx.now);
        self.proceed(timing, cx);
    }

    fn on_data(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        let (is_announced, ack, ratio) = match &self.adaptive {
            None => {
                let announcement = timing.announcement(timing.modes.data, frame.bytes, false);
                (announcement == Announcement::Rts, timing.ack, 0.0)
            }
            // The sender may announce any frame.
            Some(it) => (self.exchange == Exchange::Cts, timing.ack_to(frame.mode), it.level as f32),
        };
        if is_announced {
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
        let control = Control { kind: FrameKind::Ack, duration: Span::ZERO, sequence: 0, retry: false, ratio };
        let ends = (self.interface, frame.transmitter);
        self.response = Some(Frame::plain(ends, (ack.mode, ACK_BYTES, ack.airtime), control));
        if self.timeout == Time::NEVER {
            self.proceed(timing, cx);
        }
        if self.is_duplicate(frame) {
            self.counters.duplicates += 1;
        } else {
            self.deliver(frame, cx);
        }
    }

    /// §9.2.9: a retry that repeats the sender's last sequence number was received before.
    fn is_duplicate(&mut self, frame: &Frame) -> bool {
        match self.heard.binary_search_by_key(&frame.transmitter, |&(interface, _)| interface) {
            Ok(i) => {
                std::mem::replace(&mut self.heard[i].1, frame.control.sequence) == frame.control.sequence
                    && frame.control.retry
            }
            Err(i) => {
                self.heard.insert(i, (frame.transmitter, frame.control.sequence));
                false
            }
        }
    }

    fn deliver(&self, frame: &Frame, cx: &mut Context) {
        if let Some(packet) = frame.packet {
            let packet = cx.copy(packet);
            cx.act(Action::Arrived { interface: self.interface, packet, from: frame.transmitter });
        }
    }

    /// An RTS or a CTS.
    pub(super) fn control(&self, kind: FrameKind, receiver: InterfaceId, duration: Span, timing: &Timing) -> Frame {
        let (bytes, airtime) = if kind == FrameKind::Rts { (RTS_BYTES, timing.rts) } else { (CTS_BYTES, timing.cts) };
        Frame::plain(
            (self.interface, receiver),
            (timing.modes.announcing, bytes, airtime),
            Control { kind, duration, sequence: 0, retry: false, ratio: 0.0 },
        )
    }
}
