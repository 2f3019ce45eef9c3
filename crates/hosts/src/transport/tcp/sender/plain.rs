//! The plain sending end: as the RFCs and as ns-2 have it.

use hopyard_engine::Time;

use super::super::idle;
use super::super::pacing::Pacing;
use crate::packet::TcpHeader;
use crate::transport::congestion::{CongestionControl, Controller, Sent, Timeout};
use crate::transport::connection::{Connect, Core, Habits, Parts, Peer, Persist, SendingEnd, Stage};
use crate::transport::notice::NetworkEvent;
use crate::transport::recovery::{Arrival, LossRecovery, Recovery};

/// The plain sending end.
#[derive(Debug)]
pub(crate) struct Plain {
    core: Core,
    control: Controller,
    recovery: Recovery,
    stage: Stage,
    /// The initial window is granted by the first acknowledgement (ns-2).
    await_initial_window: bool,
    initial_window: f64,
    /// When something was last sent or newly acknowledged.
    active: Time,
    pacing: Pacing,
    peer: Peer,
    persist: Persist,
}

impl Plain {
    pub fn new(mut core: Core, control: Controller) -> Self {
        let recovery = Recovery::new(&core.params, &control);
        core.scoreboard = recovery.marks();
        if control.wants().rate {
            core.sample_rate(None);
        }
        Self {
            recovery,
            initial_window: f64::from(core.params.initial_window),
            pacing: Pacing::new(),
            core,
            control,
            stage: Stage::Closed,
            await_initial_window: false,
            active: Time::ZERO,
            peer: Peer::default(),
            persist: Persist::new(),
        }
    }

    fn open(&mut self, now: Time) {
        self.active = now;
        let connect = self.core.params.connect;
        let opening = match connect {
            Connect::None => false,
            Connect::Ns2 => !self.control.is_ns2_vegas(),
            Connect::ThreeWay => true,
        };
        self.stage = if opening { Stage::Opening } else { Stage::Open };
        if opening {
            // The SYN takes number 0.
            self.core.app_end = 1;
        }
        if connect == Connect::Ns2 {
            self.await_initial_window = true;
            self.core.cwnd = 1.0;
        }
    }

    /// The opening segment is answered.
    fn on_answer(&mut self, header: &TcpHeader) {
        if header.ack != 1 {
            return;
        }
        self.stage = Stage::Open;
        self.peer.next = u64::from(header.flags.syn);
        if self.core.params.connect == Connect::Ns2 {
            self.core.update_window(header);
            self.on_new_ack(header);
            return;
        }
        self.core.open_window(header);
        let repeats = std::mem::take(&mut self.core.timeouts_in_row);
        self.active = self.core.now;
        self.core.before_ack(header);
        let acked = self.core.board.advance(header.ack, self.core.now);
        self.core.round_trip = acked.round_trip.or(self.core.round_trip);
        if let Some(round_trip) = acked.round_trip {
            self.core.note_round_trip(round_trip);
        }
        if repeats > 0 {
            // RFC 6298 §5.7.
            self.core.rtt.after_lost_opening();
            self.core.stop_timing();
            self.core.echo = None;
        }
        if repeats > self.core.spared_repeats() {
            // RFC 5681 §3.1: start with one segment.
            self.core.cwnd = 1.0;
        }
        self.core.acknowledge();
        self.control.on_opened(&self.core.view());
    }

    fn on_new_ack(&mut self, header: &TcpHeader) {
        self.active = self.core.now;
        self.core.before_ack(header);
        let opened_with_data = self.await_initial_window && self.control.is_ns2_vegas();
        if opened_with_data && self.core.una() > 0 {
            // ns-2's Vegas checks before it counts this acknowledgement. It grants the window only if the
            // acknowledgement before had covered only the first segment.
            self.await_initial_window = false;
            if self.core.una() == u64::from(self.core.params.mss()) {
                self.core.cwnd = self.initial_window;
            }
        }
        let acked = self.core.board.advance(header.ack, self.core.now);
        self.core.round_trip = acked.round_trip.or(self.core.round_trip);
        self.core.timeouts_in_row = 0;
        let arrival = Arrival { header, acked };
        self.recovery.on_ack(&mut self.core, &mut self.control, &arrival);
        if self.await_initial_window && !opened_with_data {
            self.await_initial_window = false;
            self.core.cwnd = self.initial_window;
        }
    }

    fn on_timeout(&mut self) {
        let core = &mut self.core;
        let opening = self.stage == Stage::Opening && core.params.connect == Connect::ThreeWay;
        if core.board.una() == 0 && !(self.await_initial_window && self.control.is_ns2_vegas()) {
            // RFC 5681 §3.1: the first segment is lost, so the initial window is one segment. ns-2's Vegas does not do
            // this.
            if !opening || core.timeouts_in_row >= core.spared_repeats() {
                self.initial_window = 1.0;
            }
        }
        let mut rescaled = false;
        core.forced = None;
        core.tail_probe = false;
        let repeated = core.timeouts_in_row;
        if !opening {
            // The timeout ends a reduction in progress: the window becomes the target of that reduction.
            self.recovery.on_timeout(core);
        }
        core.before_timeout();
        let inflated = std::mem::take(&mut core.inflation) > 0.0;
        if !opening {
            rescaled = core.report_timeout(&mut self.control, Timeout { repeated }, inflated);
        }
        if core.back_off(rescaled) {
            core.arm_timer();
        }
    }

    fn emit_in_order(&mut self, index: usize) -> TcpHeader {
        let next = self.core.board.next().max(index + 1);
        let header = self.emit(index);
        self.core.board.set_next(next);
        header
    }

    /// Sends the segment at `index`, or a new one after the last.
    fn emit(&mut self, index: usize) -> TcpHeader {
        let core = &mut self.core;
        let now = core.now;
        let was_empty = core.board.is_empty();
        let retransmission = index < core.board.len();
        let app_limited = core.is_app_limited();
        core.stamp(index, now);
        let segment = if retransmission {
            // A retransmitted segment without a mark counts as lost too, unless a probe retransmits it.
            if !core.tail_probe {
                core.mark_lost(index);
            }
            let segment = core.board.resend(index, now);
            if core.params.habits != Habits::Ns2 {
                core.stop_timing_of(segment.end());
            }
            segment
        } else {
            core.push_new(self.stage == Stage::Opening, now)
        };
        core.count_sent(&segment, retransmission);
        if (was_empty || core.rto == Time::NEVER) && core.frozen.is_none() {
            core.arm_timer();
        }
        self.active = now;
        let (seq, len, departs) = (segment.seq, segment.len, self.pacing.slot());
        self.control.on_sent(&Sent { seq, len, retransmission, departs, app_limited }, &core.view());
        self.peer.header(core, &segment, retransmission)
    }
}

impl SendingEnd for Plain {
    fn parts(&self) -> Parts<'_> {
        let wants_sack = self.recovery.wants_sack();
        Parts { core: &self.core, control: &self.control, peer: &self.peer, stage: self.stage, wants_sack }
    }

    fn parts_mut(&mut self) -> (&mut Core, &mut Controller, &mut Peer) {
        (&mut self.core, &mut self.control, &mut self.peer)
    }

    fn accept(&mut self, now: Time) {
        self.core.begin(now, self.stage);
        if self.stage == Stage::Closed {
            self.peer.opened = true;
            self.open(now);
        }
    }

    fn write(&mut self, bytes: u64, now: Time) {
        self.core.begin(now, self.stage);
        if self.stage == Stage::Closed {
            self.open(now);
        } else if self.core.board.is_empty() && self.stage == Stage::Open {
            idle::restart(&mut self.core, &mut self.control, self.initial_window, self.active);
        }
        self.core.app_end = self.core.app_end.saturating_add(bytes);
    }

    fn stop(&mut self, now: Time) {
        self.core.begin(now, self.stage);
        self.core.app_end = self.core.board.max().max(u64::from(self.stage == Stage::Opening));
    }

    fn close(&mut self, now: Time) {
        self.core.begin(now, self.stage);
        self.core.closing = true;
    }

    fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        self.core.begin(now, self.stage);
        if !header.flags.ack {
            return;
        }
        if let Some((value, _)) = header.timestamps {
            self.peer.timestamp = value;
        }
        self.core.counters.acks += 1;
        if header.ack > self.core.board.max() {
            self.core.counters.invalid_acks += 1;
            return;
        }
        self.core.thaw();
        self.core.count_ack();
        self.core.note_duplicate(header);
        if header.ack >= self.core.una() {
            self.core.measure_rate(header, 0);
        }
        if self.stage == Stage::Opening {
            self.on_answer(header);
            return;
        }
        if header.flags.syn && self.core.params.habits == Habits::Rfc {
            // Another answer to the SYN: the other end does not know that the first has arrived (RFC 9293 §3.10.7.4).
            self.peer.answer = true;
            return;
        }
        let moved = self.core.update_window(header);
        if moved {
            self.persist.stop();
        }
        self.core.note_mark(&mut self.control, header);
        if header.ack >= self.core.una() {
            self.recovery.inspect(&mut self.core, &mut self.control, header);
        }
        if header.ack > self.core.una() {
            self.on_new_ack(header);
        } else if self.core.is_duplicate(header, moved) {
            self.core.counters.duplicate_acks += 1;
            self.recovery.on_duplicate(&mut self.core, &mut self.control, header);
        }
        if header.flags.fin {
            self.peer.on_fin(header);
        }
    }

    fn on_network(&mut self, event: NetworkEvent, now: Time) {
        self.core.begin(now, self.stage);
        if self.core.note_network(event, self.stage) {
            let answer = self.control.on_network(event, &self.core.view());
            self.core.apply(answer);
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.core.begin(now, self.stage);
        self.core.probe();
        if now >= self.control.deadline() {
            let answer = self.control.on_timer(&self.core.view());
            self.core.apply(answer);
        }
        if self.core.frozen.is_none() && now >= self.recovery.deadline() {
            self.recovery.on_timer(&mut self.core, &mut self.control);
        }
        self.persist.on_timer(&self.core);
        if now >= self.core.rto {
            self.on_timeout();
        }
    }

    fn deadline(&self) -> Time {
        let waiting = self.core.frozen.as_ref().map_or_else(|| self.recovery.deadline(), |frozen| frozen.next);
        self.core.rto.min(waiting).min(self.control.deadline()).min(self.pacing.wake()).min(self.persist.at)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        self.core.now = now;
        self.pacing.stop_waiting();
        if std::mem::take(&mut self.peer.answer) {
            return Some(self.peer.bare(&self.core, self.core.board.max()));
        }
        if std::mem::take(&mut self.persist.due) {
            return Some(self.peer.probe(&mut self.core));
        }
        if let Some(seq) = self.core.forced.take() {
            let index = self.core.board.index_of(seq);
            if self.core.fits_advertised(index) {
                return Some(self.emit(index));
            }
        }
        if self.core.frozen.is_some() || self.stage == Stage::Closed {
            return None;
        }
        if self.stage == Stage::Opening {
            return (self.core.board.next() == 0).then(|| self.emit_in_order(0));
        }
        if std::mem::take(&mut self.core.limited)
            && let Some(index) = self.core.next_limited()
        {
            self.core.count_limited();
            return Some(self.emit_in_order(index));
        }
        if self.core.burst == 0 {
            return None;
        }
        let Some(index) = self.recovery.next(&mut self.core) else {
            if self.persist.guard(&self.core) {
                self.core.arm_timer();
            }
            self.core.note_silence();
            return None;
        };
        // A congestion control that has seen only timeouts would wait for minutes with nothing outstanding.
        let pace = self.control.pace();
        let gap = pace.gap_of(1).min(self.core.rtt.timeout());
        if !self.pacing.allows(now, gap, pace.quantum) {
            return None;
        }
        self.core.burst -= 1;
        let header = self.emit_in_order(index);
        self.recovery.on_sent(&mut self.core, index);
        Some(header)
    }
}
