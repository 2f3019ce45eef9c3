//! Linux's sending end.

use hopyard_engine::{Span, Time};

use super::idle;
use super::outdated::Outdated;
use super::pacing::Pacing;
use super::receiver::Beside;
use super::recovery::Recovery;
use super::send_buffer::Written;
use super::small_queue::{SmallQueue, assumed_rate};
use super::state::State;
use crate::packet::TcpHeader;
use crate::transport::congestion::{CongestionControl, Controller, Sent, Timeout};
use crate::transport::connection::{Connect, Core, Parts, Peer, Persist, SendingEnd, Stage, milliseconds};
use crate::transport::notice::NetworkEvent;

/// If the SYN was sent more often, and its answer was not for the first one, the initial window is one segment.
const PATIENCE: u32 = 2;
/// So many segments of data are sent without pacing when the connection begins.
const UNPACED: u64 = 10;

/// Linux's sending end.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(super) tcp: State,
    control: Controller,
    recovery: Recovery,
    pub(super) stage: Stage,
    /// The timestamp of the first SYN.
    first_syn: Option<u32>,
    pacing: Pacing,
    small_queue: SmallQueue,
    pub(super) peer: Peer,
    pub(super) outdated: Outdated,
    persist: Persist,
    /// The connection closes when nothing more can be sent now.
    closes_next: bool,
    /// The application wants to write.
    wants_to_write: bool,
}

impl Sender {
    pub fn new(core: Core, control: Controller) -> Self {
        // There is room for more windows with a congestion control that sets the window itself.
        let mut tcp = State::new(core, if control.wants().recovery_window { 3 } else { 2 });
        let params = tcp.core.params.clone();
        if control.wants().rate {
            tcp.core.sample_rate(Some(params.mss()));
        }
        let segments = 1 + u64::from(params.linux.pair_segments);
        let piece = params.linux.small_queues.then(|| segments * u64::from(params.mss()));
        Self {
            recovery: Recovery::new(&params, &control),
            tcp,
            control,
            stage: Stage::Closed,
            first_syn: None,
            pacing: Pacing::new(),
            small_queue: SmallQueue::new(piece),
            peer: Peer::default(),
            outdated: Outdated::default(),
            persist: Persist::new(),
            closes_next: false,
            wants_to_write: false,
        }
    }

    /// The memory of the send buffer.
    #[cfg(test)]
    pub const fn send_buffer(&self) -> u64 {
        self.tcp.buffer.limit()
    }

    /// The first step of every event.
    #[inline]
    fn begin(&mut self, now: Time) {
        self.tcp.core.begin(now, self.stage);
        self.tcp.core.together_end = None;
        self.tcp.buffer.begin();
        self.recovery.on_event();
        self.outdated.begin();
        self.wants_to_write = false;
        self.pacing.begin();
        self.small_queue.begin();
    }

    fn open(&mut self) {
        let opening = self.tcp.core.params.connect != Connect::None;
        self.stage = if opening { Stage::Opening } else { Stage::Open };
        // The SYN takes number 0.
        self.tcp.core.app_end = u64::from(opening);
    }

    /// The opening segment is answered.
    fn on_answer(&mut self, header: &TcpHeader) {
        if header.ack != 1 {
            return;
        }
        self.stage = Stage::Open;
        self.peer.next = u64::from(header.flags.syn);
        let core = &mut self.tcp.core;
        core.open_window(header);
        let times = core.board.get(0).map_or(1, |syn| syn.transmissions);
        let sent_again = std::mem::take(&mut core.timeouts_in_row) > 0;
        core.before_ack(header);
        let acked = self.tcp.advance(header.ack);
        let core = &mut self.tcp.core;
        core.round_trip = acked.round_trip.or(core.round_trip);
        if let Some(round_trip) = acked.round_trip {
            core.note_round_trip(round_trip);
        }
        let mut opened = acked.round_trip;
        if sent_again {
            // A late answer to the SYN does not mean that it was lost.
            let echo = header.timestamps.map(|(_, echo)| echo);
            let elapsed = |echo| Span::from_millis(milliseconds(core.now).wrapping_sub(echo).max(1).into());
            opened = opened.or_else(|| echo.map(elapsed));
            let was_late = echo.is_some() && echo == self.first_syn;
            if times > PATIENCE && !was_late {
                core.cwnd = 1.0;
            }
        }
        self.recovery.on_opened(&mut self.tcp, opened);
        self.tcp.core.rtt.after_lost_opening();
        self.control.on_opened(&self.tcp.core.view());
        self.peer.answer = !self.peer.opened;
    }

    fn on_new_ack(&mut self, header: &TcpHeader) {
        self.tcp.core.before_ack(header);
        let acked = self.tcp.advance(header.ack);
        let core = &mut self.tcp.core;
        core.round_trip = acked.round_trip.or(core.round_trip);
        core.timeouts_in_row = 0;
        self.recovery.on_ack(&mut self.tcp, &mut self.control, header, &acked);
    }

    fn on_timeout(&mut self) {
        let opening = self.stage == Stage::Opening;
        let tcp = &mut self.tcp;
        let mut rescaled = false;
        tcp.core.forced = None;
        tcp.core.tail_probe = false;
        let repeated = self.recovery.repeats_timeout(tcp);
        if !opening {
            self.recovery.on_timeout(tcp);
        }
        tcp.core.before_timeout();
        if !opening {
            rescaled = tcp.core.report_timeout(&mut self.control, Timeout { repeated }, false);
            self.recovery.after_timeout(tcp, &mut self.control);
        }
        if tcp.core.back_off(rescaled) {
            tcp.arm_timer();
        }
    }

    fn next_segment(&mut self, now: Time) -> Option<TcpHeader> {
        self.tcp.core.now = now;
        if self.outdated.is_event() {
            return self.answer();
        }
        self.pacing.stop_waiting();
        if self.peer.answer {
            return self.answer();
        }
        if std::mem::take(&mut self.persist.due) {
            return Some(self.peer.probe(&mut self.tcp.core));
        }
        if let Some(seq) = self.tcp.core.forced.take() {
            let index = self.tcp.core.board.index_of(seq);
            if self.small_queue.is_on() && !self.may_force(index) {
                self.recovery.on_refused(&mut self.tcp);
            } else if self.tcp.core.fits_advertised(index) {
                let gap = self.gap()(u64::from(self.tcp.len_of(index)));
                let departure = self.pacing.on_forced(now, gap);
                self.tcp.departs = self.pacing.slot();
                self.tcp.split(index);
                self.tcp.split(index + 1);
                let header = self.emit(index, departure);
                return Some(self.sent(header, index));
            }
        }
        if self.tcp.core.frozen.is_some() || self.stage == Stage::Closed {
            return None;
        }
        if self.stage == Stage::Opening {
            if self.tcp.core.board.next() == 0 && self.is_in_node(0) {
                // The next timeout comes to it again.
                self.tcp.core.board.set_next(1);
            }
            return (self.tcp.core.board.next() == 0).then(|| self.emit_in_order(0));
        }
        if self.tcp.core.burst == 0 {
            return None;
        }
        let unpaced = UNPACED.saturating_sub(self.tcp.core.counters.segments);
        let pace = self.control.pace();
        let paces = !pace.gap.is_zero();
        self.tcp.quantum = (self.control.wants().recovery_window && paces).then_some(pace.quantum);
        if unpaced == 0 && paces && self.tcp.has_more() && self.pacing.blocks(now) {
            return None;
        }
        let Some(index) = self.recovery.next(&mut self.tcp) else {
            if self.persist.guard(&self.tcp.core) {
                self.tcp.arm_timer();
            }
            return None;
        };
        if self.small_queue.is_on() {
            let waits = self.is_in_node(index);
            if waits {
                self.small_queue.wait();
            }
            let buffer = self.recovery.buffer(&self.tcp, index);
            if waits || !self.has_room_in_node(index, buffer) {
                self.recovery.on_held(&mut self.tcp);
                return None;
            }
        }
        if paces {
            let quantum = || self.recovery.together(&self.tcp, index, pace.quantum);
            let (len, gap) = (u64::from(self.tcp.len_of(index)), self.gap());
            if !self.pacing.allows(now, len, gap, unpaced, quantum) {
                return None;
            }
        } else {
            self.pacing.stop(now);
        }
        self.tcp.departs = self.pacing.slot();
        self.tcp.core.burst -= 1;
        if !self.pacing.joins() {
            self.tcp.split(index);
        }
        let header = self.emit_in_order(index);
        if self.pacing.joins() && !header.retransmission {
            self.tcp.tags[index].joined = true;
        }
        Some(self.sent(header, index))
    }

    /// The gap after bytes that leave together. A congestion control that has seen only timeouts would wait for minutes
    /// with nothing outstanding.
    fn gap(&self) -> impl Fn(u64) -> Span + use<> {
        let (pace, mss, longest) = (self.control.pace(), self.tcp.core.params.mss(), self.tcp.core.rtt.timeout());
        move |bytes| pace.gap_after(bytes, mss).min(longest * bytes.div_ceil(u64::from(mss)))
    }

    /// The acknowledgement that is due, if any.
    fn answer(&mut self) -> Option<TcpHeader> {
        let core = &self.tcp.core;
        std::mem::take(&mut self.peer.answer).then(|| self.peer.bare(core, core.board.max()))
    }

    /// The segment at `index` was sent with this header, which lacks PSH.
    fn sent(&mut self, mut header: TcpHeader, index: usize) -> TcpHeader {
        self.recovery.on_sent(&mut self.tcp, index);
        if !header.retransmission && self.recovery.has_sent_buffer() {
            self.tcp.look_for_room(self.recovery.reordering());
        }
        let tag = self.tcp.tags[index];
        header.flags.psh = tag.psh || tag.ends_buffer;
        header
    }

    /// Whether the application writes more now.
    fn admits(&mut self) -> bool {
        if self.tcp.core.burst == 0 {
            self.recovery.on_pause(&mut self.tcp);
        }
        if std::mem::take(&mut self.tcp.buffer.acknowledged) {
            self.tcp.look_for_room(self.recovery.reordering());
        }
        let together = self.recovery.largest_buffer(&self.tcp);
        let written = self.tcp.admit();
        self.tcp.core.burst = match written {
            Written::Nothing => return false,
            Written::Piece { first } => {
                if first {
                    together
                } else {
                    0
                }
            }
            Written::Call if self.is_corked() => 0,
            Written::All | Written::Call => u32::MAX,
        };
        self.tcp.core.together_end = None;
        self.recovery.on_written(written == Written::Piece { first: true });
        true
    }

    /// Whether the last piece that was written waits until something of this connection has left the node.
    fn is_corked(&mut self) -> bool {
        let waits = self.tcp.tail().is_some_and(|memory| self.small_queue.holds(memory));
        if waits {
            self.small_queue.wait();
        }
        waits
    }

    /// Whether the segment at `index` was sent by itself, and has not left the node yet.
    fn is_in_node(&self, index: usize) -> bool {
        let segment = self.tcp.core.board.get(index);
        self.small_queue.is_on()
            && segment.is_some_and(|segment| !self.tcp.tags[index].shared && self.small_queue.has(segment.seq))
    }

    /// Whether a segment may be sent for which the window need have no room: the first after a timeout, or a probe.
    fn may_force(&mut self, index: usize) -> bool {
        if index == self.tcp.core.board.len() {
            return self.has_room_in_node(index, Some(1));
        }
        let waits = self.is_in_node(index);
        if waits {
            self.small_queue.wait();
        }
        !waits
    }

    /// Whether the node can take the segment at `index`, which need not be sent yet, and begins a `buffer` of so many.
    fn has_room_in_node(&mut self, index: usize, buffer: Option<u32>) -> bool {
        let Self { tcp: State { core, .. }, control, small_queue, .. } = self;
        let sent = core.board.get(index).map(|segment| u64::from(segment.len));
        let len = sent.unwrap_or_else(|| u64::from(core.new_payload()));
        let piece = buffer.map(|segments| u64::from(segments) * u64::from(core.params.mss()));
        small_queue.allows(len, sent.is_some(), piece, || {
            let (gap, segment) = (control.pace().gap, f64::from(core.params.mss()));
            if !gap.is_zero() {
                return segment / gap.seconds();
            }
            assumed_rate(core.cwnd, core.ssthresh, core.rtt.srtt(), segment)
        })
    }

    fn emit_in_order(&mut self, index: usize) -> TcpHeader {
        let next = self.tcp.core.board.next().max(index + 1);
        let header = self.emit(index, self.tcp.core.now);
        // Segments may have become one.
        let board = &mut self.tcp.core.board;
        board.set_next(next.min(board.len()));
        header
    }

    /// Sends the segment at `index`, or a new one after the last. It counts as sent at the time `departure`.
    fn emit(&mut self, index: usize, departure: Time) -> TcpHeader {
        let tcp = &mut self.tcp;
        let was_empty = tcp.core.board.is_empty();
        let retransmission = index < tcp.core.board.len();
        let app_limited = tcp.core.is_app_limited();
        tcp.core.stamp(index, departure);
        let segment = if retransmission {
            tcp.collapse(index);
            // A retransmitted segment without a mark counts as lost too, unless a probe retransmits it.
            if !tcp.core.tail_probe {
                tcp.mark_lost(index);
            }
            tcp.resend(index, departure)
        } else {
            let syn = self.stage == Stage::Opening;
            if syn {
                self.first_syn = tcp.core.params.timestamps.then(|| milliseconds(tcp.core.now));
            }
            let segment = tcp.push_new(syn, departure);
            tcp.buffer.on_sent(segment.end());
            if segment.len > 0 && segment.len < tcp.core.params.mss() {
                tcp.core.small_end = segment.end();
            }
            segment
        };
        tcp.core.count_sent(&segment, retransmission);
        // When the connection is open, the recovery sets the timer.
        let unarmed = was_empty || tcp.core.rto == Time::NEVER;
        if self.stage == Stage::Opening && unarmed && tcp.core.frozen.is_none() {
            tcp.arm_timer();
        }
        tcp.last_sent = tcp.core.now;
        let (seq, len, departs) = (segment.seq, segment.len, tcp.departs);
        self.control.on_sent(&Sent { seq, len, retransmission, departs, app_limited }, &tcp.core.view());
        self.peer.header(&tcp.core, &segment, retransmission)
    }
}

impl Sender {
    /// By how many segments the network reorders, as far as the sender knows.
    pub(crate) fn reordering(&self) -> u32 {
        self.recovery.reordering()
    }

    /// The sender's part in the decisions of the receiver at its end.
    pub(crate) fn beside(&self) -> Beside {
        let core = &self.tcp.core;
        Beside { round_trip: core.rtt.srtt(), timeout: core.rtt.timeout(), closed: core.fin_sent }
    }

    /// Whether the application has written everything that it wanted to.
    pub(crate) fn has_written_all(&self) -> bool {
        self.tcp.buffer.is_done()
    }

    /// Whether the amount of data that waits in the sender's node is limited.
    pub(crate) const fn limits_queue(&self) -> bool {
        self.small_queue.is_on()
    }

    /// A segment waits in the sender's node.
    pub(crate) fn on_queued(&mut self, seq: u64, len: u64) {
        let board = &self.tcp.core.board;
        let index = board.index_of(seq);
        let cut = board.get(index).is_some_and(|segment| segment.seq == seq && self.tcp.tags[index].shared);
        self.small_queue.on_queued(seq, len, cut);
    }

    /// The segment has left the node. Returns whether another one waited for this.
    pub(crate) fn on_left_node(&mut self, seq: u64, now: Time) -> bool {
        let waited = self.small_queue.on_left(seq);
        if waited {
            self.begin(now);
        }
        waited
    }
}

impl SendingEnd for Sender {
    fn parts(&self) -> Parts<'_> {
        let core = &self.tcp.core;
        let wants_sack = core.params.linux.sack;
        Parts { core, control: &self.control, peer: &self.peer, stage: self.stage, wants_sack }
    }

    fn parts_mut(&mut self) -> (&mut Core, &mut Controller, &mut Peer) {
        (&mut self.tcp.core, &mut self.control, &mut self.peer)
    }

    fn accept(&mut self, now: Time) {
        self.begin(now);
        if self.stage == Stage::Closed {
            self.peer.opened = true;
            self.open();
        }
    }

    fn write(&mut self, bytes: u64, now: Time) {
        self.begin(now);
        self.tcp.note_write(self.small_queue.is_used());
        if self.stage == Stage::Closed {
            self.open();
        } else if self.tcp.core.board.is_empty() && self.stage == Stage::Open {
            idle::restart(&mut self.tcp, &mut self.control);
        }
        if self.tcp.buffer.is_on() {
            self.wants_to_write = self.stage == Stage::Open;
            self.tcp.buffer.write(bytes);
        } else {
            self.tcp.core.app_end = self.tcp.core.app_end.saturating_add(bytes);
        }
    }

    fn stop(&mut self, now: Time) {
        self.begin(now);
        self.tcp.buffer.stop();
        self.tcp.core.app_end = self.tcp.core.board.max().max(u64::from(self.stage == Stage::Opening));
    }

    /// The application closes when TCP has sent as much of the data as it could, like a program that writes and then
    /// closes. The FIN of a transfer within the window is therefore a segment of its own.
    fn close(&mut self, now: Time) {
        self.begin(now);
        // A program that waits for room does not come to close yet.
        self.wants_to_write = self.tcp.buffer.is_on() && self.stage == Stage::Open;
        self.closes_next = true;
        self.tcp.core.closing = false;
    }

    fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        self.begin(now);
        if !header.flags.ack || !self.note_timestamp(header) {
            return;
        }
        self.tcp.core.counters.acks += 1;
        self.tcp.buffer.on_ack();
        if header.ack > self.tcp.core.board.max() {
            self.tcp.core.counters.invalid_acks += 1;
            return;
        }
        self.tcp.thaw();
        self.tcp.reports_mark = header.flags.ece;
        self.tcp.core.count_ack();
        self.tcp.note_duplicate(header);
        if header.ack >= self.tcp.core.una() {
            self.tcp.measure_rate(header);
        }
        if self.stage == Stage::Opening {
            self.on_answer(header);
            return;
        }
        // The receiver does not know that its answer has arrived.
        self.peer.answer |= header.flags.syn;
        let moved = self.tcp.core.update_window(header);
        if moved {
            self.persist.stop();
        }
        if header.ack >= self.tcp.core.una() {
            self.recovery.inspect(&mut self.tcp, header);
        }
        if header.ack > self.tcp.core.una() {
            self.on_new_ack(header);
        } else if self.tcp.core.is_duplicate(header, moved) {
            self.tcp.core.counters.duplicate_acks += 1;
            self.recovery.on_duplicate(&mut self.tcp, &mut self.control, header);
        } else if header.ack < self.tcp.core.una() {
            self.recovery.on_old(&mut self.tcp, &mut self.control, header);
        }
        if header.flags.fin {
            self.peer.on_fin(header);
        }
    }

    fn on_network(&mut self, event: NetworkEvent, now: Time) {
        self.begin(now);
        if self.tcp.core.note_network(event, self.stage) {
            let answer = self.control.on_network(event, &self.tcp.core.view());
            self.tcp.apply(answer);
        }
    }

    fn on_timer(&mut self, now: Time) {
        self.begin(now);
        self.tcp.core.probe();
        if now >= self.tcp.core.rto.min(self.recovery.deadline()) {
            self.tcp.wheel.expire(now);
        }
        if now >= self.control.deadline() {
            let answer = self.control.on_timer(&self.tcp.core.view());
            self.tcp.apply(answer);
        }
        if self.tcp.core.frozen.is_none() && now >= self.recovery.deadline() {
            self.recovery.on_timer(&mut self.tcp, &mut self.control);
        }
        self.persist.on_timer(&self.tcp.core);
        if now >= self.tcp.core.rto {
            self.on_timeout();
        }
    }

    fn deadline(&self) -> Time {
        let core = &self.tcp.core;
        let waiting = core.frozen.as_ref().map_or_else(|| self.recovery.deadline(), |frozen| frozen.next);
        core.rto.min(waiting).min(self.control.deadline()).min(self.pacing.wake()).min(self.persist.at)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        // A program that waits for room in the send buffer does not make TCP send when it wants to write more.
        let mut header = if self.wants_to_write { None } else { self.next_segment(now) };
        while header.is_none() && self.stage == Stage::Open && self.admits() {
            self.wants_to_write = false;
            header = self.next_segment(now);
        }
        if header.is_none() && self.closes_next && self.stage == Stage::Open && self.tcp.buffer.is_done() {
            // A program that has written comes to close when TCP has sent what it could.
            self.closes_next = false;
            self.tcp.core.closing = true;
            return self.next_segment(now);
        }
        header
    }
}
