//! TCP's sending end.

mod late;
mod outdated;
mod shown;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use self::outdated::Outdated;
pub use self::shown::SenderState;
use super::config::Config;
use super::idle;
use super::pacing::Pacing;
use super::small_queue::{SmallQueue, assumed_rate};
use crate::packet::{TcpFlags, TcpHeader};
use crate::transport::congestion::{Answer, CongestionControl, Controller, Sent, Timeout};
use crate::transport::connection::{Connect, Core, Estimation, LateOpening, Params, Written, milliseconds};
use crate::transport::notice::NetworkEvent;
use crate::transport::recovery::{Arrival, LossRecovery, Recovery};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// The application has written nothing yet.
    Closed,
    /// The opening segment is not answered.
    Opening,
    Open,
}

/// If the SYN was sent more often, and its answer was not for the first one, the initial window is one segment (Linux).
const PATIENCE: u32 = 2;

/// TCP's sending end. After each event, [`poll_transmit`](Self::poll_transmit) must be called until it gives nothing
/// more.
#[derive(Debug)]
pub struct TcpSender {
    core: Core,
    control: Controller,
    recovery: Recovery,
    stage: Stage,
    /// The initial window is granted by the first acknowledgement (ns-2).
    await_initial_window: bool,
    initial_window: f64,
    /// The timestamp of the first SYN.
    first_syn: Option<u32>,
    /// When something was last sent or newly acknowledged.
    active: Time,
    pacing: Pacing,
    small_queue: SmallQueue,
    /// The receiver's latest timestamp.
    peer_timestamp: u32,
    outdated: Outdated,
    /// The receiver's next sequence number.
    peer_next: u64,
    /// The receiver has closed its half.
    peer_closed: bool,
    /// The receiver's FIN is to be acknowledged.
    answer: bool,
    /// When the receiver's window, in which nothing fits, is probed next, and how long the probe after that waits.
    persist: Time,
    persist_wait: Option<Span>,
    /// A probe of the window is to be sent.
    probe_window: bool,
    /// The connection closes when nothing more can be sent now.
    closes_next: bool,
    /// The application wants to write.
    wants_to_write: bool,
}

impl TcpSender {
    /// A sender that has not opened its connection. `rng` is the sender's own stream.
    #[must_use]
    pub fn new(config: &Config, mut rng: Rng) -> Self {
        let core = Core::new(&config.tcp, &mut rng);
        Self::of(core, Controller::new(&config.congestion, rng))
    }

    /// A sender with any congestion control, such as [`Controller::External`].
    #[must_use]
    pub fn with_control(params: &Params, control: Controller, mut rng: Rng) -> Self {
        Self::of(Core::new(params, &mut rng), control)
    }

    fn of(mut core: Core, control: Controller) -> Self {
        let recovery = Recovery::new(&core.params, &control);
        core.scoreboard = recovery.marks();
        core.as_linux = recovery.counts_as_linux();
        if control.wants_rate() {
            core.sample_rate();
        }
        let segments = 1 + u64::from(core.params.pair_segments);
        let piece = core.params.small_queues.then(|| segments * u64::from(core.params.mss()));
        Self {
            recovery,
            initial_window: f64::from(core.params.initial_window),
            first_syn: None,
            pacing: Pacing::new(core.params.pacing_credit),
            small_queue: SmallQueue::new(piece),
            core,
            control,
            stage: Stage::Closed,
            await_initial_window: false,
            active: Time::ZERO,
            peer_timestamp: 0,
            outdated: Outdated::default(),
            peer_next: 0,
            peer_closed: false,
            closes_next: false,
            wants_to_write: false,
            answer: false,
            persist: Time::NEVER,
            persist_wait: None,
            probe_window: false,
        }
    }

    /// Sets the phase of the clock's tick (profile `ns2`), for comparison with an ns-2 run whose phase is known.
    pub fn set_tick_phase(&mut self, phase: Span) {
        self.core.rtt.set_phase(phase);
    }

    /// Whether the receiver must report segments out of order by SACK.
    #[must_use]
    pub fn wants_sack(&self) -> bool {
        self.recovery.wants_sack()
    }

    /// Whether the sender asks for notices of segments that a node could not forward.
    #[must_use]
    pub fn wants_notices(&self) -> bool {
        self.control.wants_notices()
    }

    /// Whether the amount of data that waits in the sender's node is limited: then the node tells of it.
    pub const fn limits_queue(&self) -> bool {
        self.small_queue.is_on()
    }

    /// The segment with this sequence number and payload waits in the sender's node.
    pub fn on_queued(&mut self, seq: u64, len: u64) {
        let segment = self.core.board.get(self.core.board.index_of(seq));
        let cut = segment.is_some_and(|segment| segment.seq == seq && segment.shared);
        self.small_queue.on_queued(seq, len, cut);
    }

    /// It has left the node, or was dropped there. Returns whether a segment may be sent now that waited for this.
    pub fn on_left_node(&mut self, seq: u64, now: Time) -> bool {
        let waited = self.small_queue.on_left(seq);
        if waited {
            self.begin(now);
        }
        waited
    }

    /// Sets the rate of data frames on the network's radios.
    pub const fn set_link_rate(&mut self, rate: Rate) {
        self.core.link_rate = Some(rate);
    }

    /// Sets the number of hops of the next acknowledgement.
    pub const fn set_ack_hops(&mut self, hops: u8) {
        self.core.ack_hops = hops;
    }

    /// The application writes `bytes` more; `u64::MAX` means without end. The first call opens the connection.
    pub fn write(&mut self, bytes: u64, now: Time) {
        self.begin(now);
        self.core.note_write(self.small_queue.is_used());
        if self.stage == Stage::Closed {
            self.open(now);
        } else if self.core.board.is_empty() && self.stage == Stage::Open {
            idle::restart(&mut self.core, &mut self.control, self.initial_window, self.active);
        }
        if self.core.buffer.is_on() {
            self.wants_to_write = self.stage == Stage::Open;
            self.core.buffer.write(bytes);
        } else {
            self.core.app_end = self.core.app_end.saturating_add(bytes);
        }
    }

    fn open(&mut self, now: Time) {
        self.active = now;
        let connect = self.core.params.connect;
        let opening = match connect {
            Connect::None => false,
            Connect::Ns2 => !self.control.opens_with_data(),
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

    /// The application stops: data that has not been sent yet is never sent.
    pub fn stop(&mut self, now: Time) {
        self.begin(now);
        self.core.buffer.stop();
        self.core.app_end = self.core.board.max().max(u64::from(self.stage == Stage::Opening));
    }

    /// The application has written all its data. When this data is sent, the connection closes, if the parameters say
    /// so.
    pub fn close(&mut self, now: Time) {
        self.begin(now);
        self.closes_next = self.core.params.close_after_sending || !self.core.buffer.is_done();
        self.core.closing = !self.closes_next;
    }

    /// The first step of every event.
    #[inline]
    fn begin(&mut self, now: Time) {
        if self.stage == Stage::Closed {
            self.core.skip_to(now);
        } else {
            self.core.spend(now);
        }
        self.core.now = now;
        self.recovery.on_event();
        self.outdated.begin();
        self.core.limited = false;
        self.core.pushes = false;
        self.wants_to_write = false;
        self.pacing.begin();
        self.small_queue.begin();
        self.core.burst = match self.core.params.max_burst {
            0 => u32::MAX,
            burst => burst,
        };
    }

    /// A segment arrived from the receiver.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        self.begin(now);
        if !header.flags.ack {
            return;
        }
        if !self.note_timestamp(header) {
            return;
        }
        self.core.counters.acks += 1;
        self.core.buffer.on_ack();
        if header.ack > self.core.board.max() {
            self.core.counters.invalid_acks += 1;
            return;
        }
        self.core.thaw();
        self.core.count_ack();
        self.core.note_duplicate(header);
        if header.ack >= self.core.una() {
            self.core.measure_rate(header);
        }
        if self.stage == Stage::Opening {
            self.on_answer(header);
            return;
        }
        // The receiver does not know that its answer has arrived.
        self.answer |= header.flags.syn && self.is_patient();
        let moved = self.core.update_window(header);
        if moved {
            self.persist = Time::NEVER;
            self.persist_wait = None;
        }
        if header.ack >= self.core.una() {
            self.recovery.inspect(&mut self.core, &mut self.control, header);
        }
        if header.ack > self.core.una() {
            self.on_new_ack(header);
        } else if header.ack == self.core.una()
            && !self.core.board.is_empty()
            // RFC 5681 §2: a duplicate acknowledgement has no SYN or FIN and does not change the window.
            // RFC 6675 §2: it may carry SACK information.
            && !(header.flags.syn || header.flags.fin || (moved && header.sack.is_empty()))
        {
            self.core.counters.duplicate_acks += 1;
            self.recovery.on_duplicate(&mut self.core, &mut self.control, header);
        } else if header.ack < self.core.una() {
            self.recovery.on_old(&mut self.core, &mut self.control, header);
        }
        if header.flags.fin {
            if header.seq == self.peer_next {
                self.peer_next += 1;
                self.peer_closed = true;
            }
            self.answer = true;
        }
    }

    /// The opening segment is answered.
    fn on_answer(&mut self, header: &TcpHeader) {
        if header.ack != 1 {
            return;
        }
        self.stage = Stage::Open;
        self.peer_next = u64::from(header.flags.syn);
        if self.core.params.connect == Connect::Ns2 {
            self.core.update_window(header);
            self.on_new_ack(header);
            return;
        }
        self.core.open_window(header);
        let times = self.core.board.get(0).map_or(1, |syn| syn.transmissions);
        let sent_again = self.core.timeouts_in_row > 0;
        self.active = self.core.now;
        self.core.timeouts_in_row = 0;
        self.core.before_ack(header);
        let acked = self.core.board.advance(header.ack, self.core.now);
        self.core.round_trip = acked.round_trip.or(self.core.round_trip);
        if let Some(round_trip) = acked.round_trip {
            self.core.note_round_trip(round_trip);
        }
        let echo = header.timestamps.map(|(_, echo)| echo);
        let mut opened = acked.round_trip;
        if sent_again && self.is_patient() {
            let elapsed = |echo| Span::from_millis(milliseconds(self.core.now).wrapping_sub(echo).max(1).into());
            opened = opened.or_else(|| echo.map(elapsed));
            let was_late = echo.is_some() && echo == self.first_syn;
            if times > PATIENCE && !was_late {
                self.core.cwnd = 1.0;
            }
        } else if sent_again {
            // RFC 6298 §5.7; and RFC 5681 §3.1: start with one segment.
            self.core.rtt.after_lost_opening();
            self.core.stop_timing();
            self.core.echo = None;
            self.core.cwnd = 1.0;
        }
        self.recovery.on_opened(&mut self.core, opened);
        self.control.on_opened(&self.core.view());
        self.answer |= self.core.params.lone_ack;
    }

    /// Whether a late answer to the SYN does not mean that it was lost.
    fn is_patient(&self) -> bool {
        self.core.params.late_opening == LateOpening::Linux
    }

    fn on_new_ack(&mut self, header: &TcpHeader) {
        self.active = self.core.now;
        self.core.before_ack(header);
        let opened_with_data = self.await_initial_window && self.control.opens_with_data();
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

    /// An event of the network layer about the route to the receiver.
    pub fn on_network(&mut self, event: NetworkEvent, now: Time) {
        self.begin(now);
        match event {
            NetworkEvent::HopCount(hops) => self.core.hops = hops,
            NetworkEvent::Unreachable { .. } => {
                self.core.counters.notices += 1;
                // Before the connection is open there is no state to keep. The opening segment has its own timer.
                if self.stage != Stage::Open {
                    return;
                }
            }
            NetworkEvent::RouteLost | NetworkEvent::RouteRestored | NetworkEvent::CareOfChanged => {}
        }
        let answer = self.control.on_network(event, &self.core.view());
        self.core.apply(answer);
    }

    /// The deadline is reached. Being called early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        self.begin(now);
        self.core.probe();
        if now >= self.core.rto.min(self.recovery.deadline()) {
            self.core.wheel.expire(now);
        }
        if now >= self.control.deadline() {
            let answer = self.control.on_timer(&self.core.view());
            self.core.apply(answer);
        }
        if self.core.frozen.is_none() && now >= self.recovery.deadline() {
            self.recovery.on_timer(&mut self.core, &mut self.control);
        }
        if now >= self.persist {
            self.persist = Time::NEVER;
            self.probe_window = self.core.new_payload() > 0 && !self.core.fits_advertised(0);
        }
        if now >= self.core.rto {
            self.on_timeout();
        }
    }

    fn on_timeout(&mut self) {
        let core = &mut self.core;
        if core.board.una() == 0
            && !(self.await_initial_window && self.control.opens_with_data())
            && core.params.late_opening == LateOpening::OneSegment
        {
            // RFC 5681 §3.1: the first segment is lost, so the initial window is one segment. ns-2's Vegas does not do
            // this.
            self.initial_window = 1.0;
        }
        let opening = self.stage == Stage::Opening && core.params.connect == Connect::ThreeWay;
        let mut rescaled = false;
        core.forced = None;
        core.tail_probe = false;
        let repeated = self.recovery.repeats_timeout(core);
        if !opening {
            // The timeout ends a reduction in progress: the window becomes the target of that reduction.
            self.recovery.on_timeout(core);
        }
        core.before_timeout();
        let inflated = std::mem::take(&mut core.inflation) > 0.0;
        if !opening {
            core.counters.timeouts += u64::from(!core.board.is_empty());
            core.recovering = false;
            core.pipe = None;
            core.recover = core.board.max();
            let mut view = core.view();
            if inflated {
                // Segments sent on duplicate acknowledgements replaced segments that had left the network. RFC 5681
                // eq. 4 sets ssthresh to at most half of FlightSize. Half of this larger FlightSize would let slow
                // start exceed the capacity of the path again.
                view.flight = view.flight.min(view.cwnd);
            }
            let answer = self.control.on_timeout(&Timeout { repeated }, &view);
            rescaled = matches!(answer, Answer::Rescale { .. });
            core.judge(&mut self.control);
            core.apply(answer);
            self.recovery.after_timeout(core, &mut self.control);
        }
        core.timeouts_in_row += 1;
        core.stop_timing();
        core.board.set_next(0);
        if core.frozen.is_some() {
            core.forced = None;
            return;
        }
        if !rescaled {
            core.rtt.back_off();
        }
        core.arm_timer();
    }

    /// When [`on_timer`](Self::on_timer) must next be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        let waiting = self.core.frozen.as_ref().map_or_else(|| self.recovery.deadline(), |frozen| frozen.next);
        self.core.rto.min(waiting).min(self.control.deadline()).min(self.pacing.wake()).min(self.persist)
    }

    /// The next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        // A program that waits for room in the send buffer does not make TCP send when it wants to write more.
        let mut header = if self.wants_to_write { None } else { self.next_segment(now) };
        while header.is_none() && self.stage == Stage::Open && self.admits() {
            self.wants_to_write = false;
            header = self.next_segment(now);
        }
        if header.is_none() && self.closes_next && self.stage == Stage::Open && self.core.buffer.is_done() {
            // A program that has written comes to close when TCP has sent what it could.
            self.closes_next = false;
            self.core.closing = true;
            return self.next_segment(now);
        }
        header
    }

    fn next_segment(&mut self, now: Time) -> Option<TcpHeader> {
        self.core.now = now;
        if self.outdated.is_event() {
            return std::mem::take(&mut self.answer).then(|| self.bare(self.core.board.max()));
        }
        self.pacing.stop_waiting();
        if std::mem::take(&mut self.answer) {
            return Some(self.bare(self.core.board.max()));
        }
        if std::mem::take(&mut self.probe_window) {
            self.core.counters.window_probes += 1;
            // The receiver must answer a segment without payload and with a number before the window (RFC 9293
            // §3.10.7.4). Linux uses this as a probe.
            return Some(self.bare(self.core.una().saturating_sub(1)));
        }
        if let Some(seq) = self.core.forced.take() {
            let index = self.core.board.index_of(seq);
            if self.small_queue.is_on() && !self.may_force(index) {
                self.recovery.on_refused(&mut self.core);
            } else if self.core.fits_advertised(index) {
                let gap = self.control.pacing_gap().min(self.core.rtt.timeout());
                let departure = self.pacing.on_forced(now, gap);
                self.core.departs = self.pacing.slot();
                self.core.board.split(index);
                self.core.board.split(index + 1);
                let mut header = self.emit(index, departure);
                self.recovery.on_forced(&mut self.core, index);
                header.flags.psh = self.core.board.has_psh(index);
                return Some(header);
            }
        }
        if self.core.frozen.is_some() || self.stage == Stage::Closed {
            return None;
        }
        if self.stage == Stage::Opening {
            if self.core.board.next() == 0 && self.is_in_node(0) {
                // The next timeout comes to it again.
                self.core.board.set_next(1);
            }
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
        let unpaced = u64::from(self.core.params.unpaced_segments).saturating_sub(self.core.counters.segments);
        let paces = !self.control.pacing_gap().is_zero();
        self.core.quantum = (self.control.governs_recovery() && paces).then(|| self.control.pacing_quantum());
        if unpaced == 0 && paces && self.core.has_more() && self.pacing.blocks(now) {
            return None;
        }
        let Some(index) = self.recovery.next(&mut self.core) else {
            self.guard_against_silence();
            self.core.note_silence();
            return None;
        };
        if self.small_queue.is_on() {
            let waits = self.is_in_node(index);
            if waits {
                self.small_queue.wait();
            }
            let buffer = self.recovery.buffer(&self.core, index);
            if waits || !self.has_room_in_node(index, buffer) {
                self.recovery.on_held(&mut self.core);
                return None;
            }
        }
        // A congestion control that has seen only timeouts would wait for minutes with nothing outstanding.
        let longest = self.core.rtt.timeout();
        let gap = |segments: u32| self.control.pacing_gap_of(segments).min(longest * u64::from(segments));
        let quantum = || self.recovery.together(&self.core, index, self.control.pacing_quantum());
        if !self.pacing.allows(now, gap, unpaced, quantum) {
            return None;
        }
        self.core.departs = self.pacing.slot();
        self.core.burst -= 1;
        if !self.pacing.joins() {
            self.core.board.split(index);
        }
        let mut header = self.emit_in_order(index);
        if self.pacing.joins() && !header.retransmission {
            self.core.board.join(index);
        }
        self.recovery.on_sent(&mut self.core, index);
        header.flags.psh = self.core.board.has_psh(index);
        Some(header)
    }

    /// Whether the application writes more now. The send buffer has room for more windows with a congestion control
    /// that sets the window itself.
    fn admits(&mut self) -> bool {
        let times = if self.control.governs_recovery() { 3 } else { 2 };
        if self.core.burst == 0 {
            self.recovery.on_pause(&mut self.core);
        }
        let together = self.recovery.largest_buffer(&self.core);
        self.core.burst = match self.core.admit(times, together) {
            Written::Nothing => return false,
            Written::Piece { first } => {
                if first {
                    together
                } else {
                    0
                }
            }
            Written::All => u32::MAX,
        };
        self.recovery.on_written();
        true
    }

    /// Whether the segment at `index` was sent by itself, and has not left the node yet.
    fn is_in_node(&self, index: usize) -> bool {
        let segment = self.core.board.get(index);
        self.small_queue.is_on() && segment.is_some_and(|segment| !segment.shared && self.small_queue.has(segment.seq))
    }

    /// Whether a segment may be sent for which the window need have no room: the first after a timeout, or a probe.
    fn may_force(&mut self, index: usize) -> bool {
        if index == self.core.board.len() {
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
        let Self { core, control, small_queue, .. } = self;
        let sent = core.board.get(index).map(|segment| u64::from(segment.len));
        let len = sent.unwrap_or_else(|| u64::from(core.new_payload()));
        let piece = buffer.map(|segments| u64::from(segments) * u64::from(core.params.mss()));
        small_queue.allows(len, sent.is_some(), piece, || {
            let (gap, segment) = (control.pacing_gap(), f64::from(core.params.mss()));
            if !gap.is_zero() {
                return segment / gap.seconds();
            }
            assumed_rate(core.cwnd, core.ssthresh, core.rtt.srtt(), segment)
        })
    }

    /// With nothing outstanding and no room for a segment in the window, only a timer can continue the transfer.
    fn guard_against_silence(&mut self) {
        if !self.core.board.is_empty() || self.core.rto != Time::NEVER || self.core.new_payload() == 0 {
            return;
        }
        if self.core.fits_advertised(0) {
            self.core.arm_timer();
        } else if self.persist == Time::NEVER {
            // RFC 9293 §3.8.6.1: after a retransmission timeout, then with exponential back-off.
            let wait = self.persist_wait.unwrap_or(self.core.rtt.timeout());
            self.persist_wait = Some((wait * 2).min(self.core.params.max_rto));
            self.persist = self.core.now + wait;
        }
    }

    /// A segment without payload, with this sequence number.
    fn bare(&self, seq: u64) -> TcpHeader {
        TcpHeader {
            seq,
            ack: self.peer_next,
            window: self.core.params.window_bytes(),
            timestamps: self.core.params.timestamps.then(|| (milliseconds(self.core.now), self.peer_timestamp)),
            flags: TcpFlags { ack: true, ..TcpFlags::default() },
            ..TcpHeader::default()
        }
    }

    fn emit_in_order(&mut self, index: usize) -> TcpHeader {
        let next = self.core.board.next().max(index + 1);
        let header = self.emit(index, self.core.now);
        // Segments may have become one.
        self.core.board.set_next(next.min(self.core.board.len()));
        header
    }

    /// Sends the segment at `index`, or a new one after the last. It counts as sent at the time `departure`.
    fn emit(&mut self, index: usize, departure: Time) -> TcpHeader {
        let core = &mut self.core;
        let now = core.now;
        let was_empty = core.board.is_empty();
        let retransmission = index < core.board.len();
        let app_limited = core.is_app_limited();
        core.stamp(index, departure);
        let segment = if retransmission {
            if core.as_linux {
                core.collapse(index);
            }
            // A retransmitted segment without a mark counts as lost too, unless a probe retransmits it.
            if !core.tail_probe {
                core.mark_lost(index);
            }
            let segment = core.board.resend(index, departure);
            if core.params.estimation == Estimation::Rfc6298 {
                core.stop_timing_of(segment.end());
            }
            segment
        } else {
            let syn = self.stage == Stage::Opening;
            let payload = if syn { 0 } else { core.new_payload() };
            if syn {
                self.first_syn = core.params.timestamps.then(|| milliseconds(now));
            }
            let fin = !syn && core.ends_with(payload);
            core.board.push(payload, syn, fin, departure);
            core.buffer.on_sent(core.board.max());
            core.fin_sent |= fin;
            if payload > 0 && payload < core.params.mss() {
                core.small_end = core.board.max();
            }
            core.time_segment(core.board.max());
            *core.board.get(index).expect("the segment was just added")
        };
        core.tail_probe = false;
        if segment.len > 0 {
            let bytes = u64::from(segment.len);
            core.counters.segments += 1;
            core.counters.bytes += bytes;
            core.count_segment();
            core.counters.retransmitted_segments += u64::from(retransmission);
            core.counters.retransmitted_bytes += if retransmission { bytes } else { 0 };
        }
        let armed_here = self.stage == Stage::Opening || !self.recovery.sets_timer();
        if armed_here && (was_empty || core.rto == Time::NEVER) && core.frozen.is_none() {
            core.arm_timer();
        }
        self.active = now;
        core.last_sent = now;
        self.control.on_sent(
            &Sent { seq: segment.seq, len: segment.len, retransmission, departs: core.departs, app_limited },
            &core.view(),
        );
        TcpHeader {
            seq: segment.seq,
            ack: self.peer_next,
            len: segment.len,
            window: core.params.window_bytes(),
            timestamps: core.params.timestamps.then(|| (milliseconds(now), self.peer_timestamp)),
            flags: TcpFlags { syn: segment.syn, ack: !segment.syn, fin: segment.fin, psh: segment.psh },
            retransmission: retransmission && !segment.syn,
            ..TcpHeader::default()
        }
    }

    /// The error of the congestion control, if it failed; reported once.
    #[inline]
    pub fn failure(&mut self) -> Option<String> {
        self.control.failure()
    }
}
