//! What a sender and its recovery share: the segments, the windows, the timers.

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use super::params::{Close, Connect, Params, RecoveryExit};
use super::rate::RateSampler;
use super::rtt::Estimator;
use super::scoreboard::Board;
use super::sender::SenderCounters;
use crate::packet::TcpHeader;
use crate::transport::congestion::{
    Ack, Answer, CongestionControl, Controller, Decision, Duplicate, Loss, Phase, RateSample, Restore, View,
};
use crate::transport::recovery::{Arrival, Prr};

/// The milliseconds that timestamps count (RFC 7323 §5.4).
pub(crate) fn milliseconds(time: Time) -> u32 {
    // The option's field has 32 bits and wraps.
    (time.nanos() / 1_000_000) as u32
}

/// Whether a timestamp is older than another: they wrap (RFC 7323 §5.2).
pub(crate) const fn is_earlier(value: u32, other: u32) -> bool {
    value.wrapping_sub(other) > u32::MAX / 2
}

/// A loss, how the congestion control classified it, and the segment that was lost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// The time of the decision.
    pub at: Time,
    /// The first unacknowledged sequence number at that time.
    pub seq: u64,
    /// When the segment with this sequence number was last sent.
    pub sent: Time,
    /// How often it had been sent.
    pub transmissions: u32,
    /// The cause that the congestion control assumes.
    pub decision: Decision,
}

/// The state that the end of a freeze restores.
#[derive(Clone, Debug)]
struct Kept {
    cwnd: f64,
    ssthresh: f64,
    inflation: f64,
    /// Smoothed round trip, its deviation, timeout and back-off.
    rtt: Estimator,
}

/// The state that is kept while a sender is frozen.
#[derive(Clone, Debug)]
pub(crate) struct Frozen {
    probe: Span,
    /// When the next probe goes out.
    pub next: Time,
    kept: Kept,
}

/// What a sender and its recovery share.
#[derive(Clone, Debug)]
pub struct Core {
    pub(crate) params: Params,
    pub(crate) now: Time,
    pub(crate) board: Board,
    /// The congestion window and the slow start threshold, in segments.
    pub(crate) cwnd: f64,
    pub(crate) ssthresh: f64,
    /// Segments that recovery adds to the window for duplicate acknowledgements.
    pub(crate) inflation: f64,
    /// The right edge of the receiver's window: the first sequence number that it has no room for.
    edge: u64,
    /// The largest window that the receiver has announced, in bytes.
    largest_window: u64,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// Losses below this do not start another reduction (RFC 6582's `recover`, counted to the byte after).
    pub(crate) recover: u64,
    pub(crate) rtt: Estimator,
    /// When the retransmission timer goes off.
    pub(crate) rto: Time,
    /// Timeouts since the last new acknowledgement.
    pub(crate) timeouts_in_row: u32,
    /// The state before the first of them.
    before_timeout: Option<Kept>,
    /// The end of the segment being timed, and when it was sent.
    timed: Option<(u64, Time)>,
    /// The timestamp that the acknowledgement at hand echoes.
    pub(crate) echo: Option<u32>,
    pub(crate) round_trip: Option<Span>,
    /// The shortest round trip that RACK has seen, that of the opening with it (RFC 8985 §6.1 `RACK.min_RTT`).
    pub(crate) min_rtt: Option<Span>,
    /// Duplicate acknowledgements before the acknowledgement at hand, and whether the window had held the sender back.
    pub(crate) prior_duplicates: u32,
    pub(crate) window_limited: bool,
    /// The congestion control reduced the window in answer to the loss.
    reduced: bool,
    /// The sender is in a loss recovery that did not start with a timeout.
    pub(crate) recovering: bool,
    /// Whether the recovery marks reported and lost segments on the scoreboard.
    pub(crate) scoreboard: bool,
    /// The recovery's own estimate of segments in the network, if the marks of the scoreboard are not enough for it.
    pub(crate) pipe: Option<u32>,
    /// Bytes deemed lost so far.
    pub(crate) lost: u64,
    /// Samples the delivery rate, if the congestion control asks for it.
    sampler: Option<Box<RateSampler>>,
    /// The delivery rate sample of the current acknowledgement.
    rate: Option<RateSample>,
    /// Segments sent by limited transmit, which do not count as outstanding when a loss is answered (RFC 5681 §3.2 step
    /// 2).
    limited_sent: u32,
    /// The segment to send even if the window has no room.
    pub(crate) forced: Option<u64>,
    /// The segment that is sent in spite of the window is a tail loss probe.
    pub(crate) tail_probe: bool,
    /// One segment may be sent beyond the window.
    pub(crate) limited: bool,
    /// How many segments may still be sent on this event.
    pub(crate) burst: u32,
    pub(crate) frozen: Option<Frozen>,
    /// The application's data ends before this sequence number.
    pub(crate) app_end: u64,
    /// The application writes no more.
    pub(crate) closing: bool,
    /// The FIN was sent.
    pub(crate) fin_sent: bool,
    pub(crate) hops: u8,
    pub(crate) ack_hops: u8,
    pub(crate) link_rate: Option<Rate>,
    pub(crate) counters: SenderCounters,
    /// Classified losses that have not been fetched yet.
    pub(crate) judged: Vec<Judged>,
    mss: u32,
}

impl Core {
    pub(crate) fn new(params: &Params, rng: &mut Rng) -> Self {
        Self {
            now: Time::ZERO,
            board: Board::default(),
            cwnd: f64::from(params.initial_window),
            ssthresh: params.first_ssthresh(),
            inflation: 0.0,
            edge: u64::from(params.window_bytes()),
            largest_window: u64::from(params.window_bytes()),
            duplicates: 0,
            recover: 0,
            rtt: Estimator::new(params, rng),
            rto: Time::NEVER,
            timeouts_in_row: 0,
            before_timeout: None,
            timed: None,
            echo: None,
            round_trip: None,
            min_rtt: None,
            prior_duplicates: 0,
            window_limited: false,
            reduced: false,
            recovering: false,
            scoreboard: false,
            pipe: None,
            lost: 0,
            sampler: None,
            rate: None,
            limited_sent: 0,
            forced: None,
            tail_probe: false,
            limited: false,
            burst: u32::MAX,
            frozen: None,
            app_end: 0,
            closing: false,
            fin_sent: false,
            hops: 0,
            ack_hops: 0,
            link_rate: None,
            counters: SenderCounters::default(),
            judged: Vec::new(),
            mss: params.mss(),
            params: params.clone(),
        }
    }

    /// The first sequence number that is not acknowledged.
    #[inline]
    pub(crate) const fn una(&self) -> u64 {
        self.board.una()
    }

    /// Whether the first segment not acknowledged lies beyond the last reduction, so that its loss may start another
    /// (RFC 6582 §3.2 step 2). `recover` begins as the number before the first, ISN - 1; in ns-2 as that of the first.
    pub(crate) fn is_beyond_recover(&self) -> bool {
        self.una() > self.recover || (self.recover == 0 && !self.params.follows_ns2())
    }

    /// Whether only ns-2's packet 0 is acknowledged: the SYN, or the first segment if the connection opens without a
    /// SYN.
    pub(crate) fn ns2_only_first_acknowledged(&self) -> bool {
        let first = if self.params.connect == Connect::None { u64::from(self.mss) } else { 1 };
        self.params.follows_ns2() && self.una() == first
    }

    /// Bytes in segments.
    #[inline]
    pub(crate) fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.mss)
    }

    /// Whole segments in bytes. A window larger than every receiver's window has the same effect as any other such
    /// window.
    #[inline]
    fn bytes(&self, segments: f64) -> u64 {
        (segments.max(0.0) as u64).saturating_mul(u64::from(self.mss))
    }

    /// The receiver's window in bytes.
    #[inline]
    pub(crate) const fn advertised(&self) -> u64 {
        self.edge.saturating_sub(self.board.una())
    }

    /// Takes in the window that an acknowledgement announces, and returns whether its edge has moved. An edge never
    /// moves back (RFC 9293 §3.8.6), so the order of acknowledgements does not matter.
    #[inline]
    pub(crate) fn update_window(&mut self, header: &TcpHeader) -> bool {
        let window = u64::from(header.window.min(self.params.window_bytes()));
        let before = self.edge;
        self.edge = before.max(header.ack + window);
        self.edge > before
    }

    /// Bytes that the application has written and TCP has not sent.
    #[inline]
    fn unsent(&self) -> u64 {
        self.app_end.saturating_sub(self.board.max())
    }

    /// The payload of a new segment, or 0 when there is nothing to send, or not yet.
    #[inline]
    pub(crate) fn new_payload(&self) -> u32 {
        // At most `mss`, so it fits.
        let payload = self.unsent().min(u64::from(self.mss)) as u32;
        if !self.board.is_empty() {
            // RFC 9293 §3.7.4: while data is outstanding, a segment that is not full waits, if the application may
            // write more.
            let waits = payload < self.mss && self.params.nagle && !self.closing;
            return if waits { 0 } else { payload };
        }
        // RFC 9293 §3.8.6.2.1 (3): with nothing outstanding, a part of a segment is sent if the window
        // has room for it and is at least half of the largest window.
        let advertised = self.advertised();
        if u64::from(payload) > advertised && advertised * 2 >= self.largest_window {
            advertised as u32
        } else {
            payload
        }
    }

    /// Whether the next new segment, with this payload, carries the FIN.
    #[inline]
    pub(crate) fn ends_with(&self, payload: u32) -> bool {
        self.closing
            && self.params.close == Close::Fin
            && !self.fin_sent
            && self.unsent() == u64::from(payload)
            && self.app_end > 0
    }

    /// The end of the payload of the segment at `index`, or of a new one there; nothing when there is no such segment.
    /// A FIN needs no room in a window: it costs the receiver no buffer.
    #[inline]
    fn end_of(&self, index: usize) -> Option<u64> {
        if let Some(segment) = self.board.get(index) {
            return Some(segment.end() - u64::from(segment.fin));
        }
        let payload = self.new_payload();
        (payload > 0 || self.ends_with(0)).then(|| self.board.max() + u64::from(payload))
    }

    /// Whether a segment may be outstanding under the receiver's window alone.
    pub(crate) fn fits_advertised(&self, index: usize) -> bool {
        self.end_of(index).is_some_and(|end| end.saturating_sub(self.una()) <= self.advertised())
    }

    /// Whether a segment may be outstanding with this many segments of window.
    pub(crate) fn fits(&self, index: usize, window: f64) -> bool {
        self.end_of(index)
            .is_some_and(|end| end.saturating_sub(self.una()) <= self.bytes(window).min(self.advertised()))
    }

    /// The next segment in order, if the windows have room for it.
    #[inline]
    pub(crate) fn next_in_window(&self) -> Option<usize> {
        let index = self.board.next();
        self.fits(index, self.cwnd + self.inflation).then_some(index)
    }

    /// New data, if limited transmit allows it (RFC 3042). In ns-2 also data that is retransmitted after a timeout.
    pub(crate) fn next_limited(&self) -> Option<usize> {
        let index = self.board.next();
        if index < self.board.len() && !self.params.follows_ns2() {
            return None;
        }
        self.fits(index, self.cwnd + f64::from(self.duplicates)).then_some(index)
    }

    /// Records that limited transmit sent a segment.
    pub(crate) const fn count_limited(&mut self) {
        self.limited_sent += 1;
    }

    /// Segments sent and not acknowledged, without those of limited transmit.
    #[inline]
    fn flight(&self) -> f64 {
        (self.segments(self.board.flight()) - f64::from(self.limited_sent)).max(0.0)
    }

    /// Segments estimated to be in the network.
    #[inline]
    pub(crate) fn in_network(&self) -> f64 {
        match self.pipe {
            Some(pipe) => f64::from(pipe),
            None if self.scoreboard => self.board.in_network() as f64,
            None => self.flight(),
        }
    }

    /// Marks the segment at `index` as lost.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        self.lost += self.board.mark_lost(index);
    }

    /// Marks as lost all segments that were sent and not reported by SACK, because of a timeout.
    pub(crate) fn mark_all_lost(&mut self) {
        (0..self.board.len()).for_each(|index| self.mark_lost(index));
    }

    /// Starts to sample the delivery rate.
    pub(crate) fn sample_rate(&mut self) {
        self.sampler = Some(Box::default());
    }

    /// Takes the delivery rate sample of an acknowledgement, before the acknowledgement changes any other state.
    #[inline]
    pub(crate) fn measure_rate(&mut self, header: &TcpHeader) {
        if self.sampler.is_none() {
            return;
        }
        let pipe = self.in_network();
        if let Some(sampler) = &mut self.sampler {
            self.rate = Some(sampler.on_acknowledgement(&self.board, header, pipe, self.now));
        }
    }

    /// Records for the delivery rate that the segment at `index`, or a new one after the last, is sent now.
    #[inline]
    pub(crate) fn stamp(&mut self, index: usize) {
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(index, self.board.is_empty(), self.now);
        }
    }

    /// The sample for the congestion control.
    #[inline]
    fn rate(&mut self) -> Option<RateSample> {
        let mut sample = self.rate.take()?;
        sample.newly_lost = self.sampler.as_mut().map_or(0, |sampler| sampler.newly_lost(self.lost));
        Some(sample)
    }

    /// Marks rate samples as limited by the application while the application or the congestion control sends less than
    /// it could.
    #[inline]
    pub(crate) fn mark_app_limited(&mut self) {
        let pipe = self.in_network();
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_app_limited((pipe * f64::from(self.mss)) as u64);
        }
    }

    /// Called when nothing more is sent on this event: checks whether the reason is a lack of data (§3.4 of the draft
    /// that `rate.rs` names).
    #[inline]
    pub(crate) fn note_silence(&mut self) {
        if self.sampler.is_some()
            && self.new_payload() == 0
            && self.board.next() >= self.board.len()
            && self.board.lost() == 0
            && self.in_network() < self.cwnd
        {
            self.mark_app_limited();
        }
    }

    /// The state that the congestion control can read.
    #[inline]
    pub(crate) fn view(&self) -> View {
        View {
            now: self.now,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            inflation: self.inflation,
            advertised: self.segments(self.advertised()),
            flight: self.flight(),
            pipe: self.in_network(),
            recovering: self.recovering,
            lost: self.segments(self.lost),
            app_limited: self.board.next() >= self.board.len() && self.unsent() == 0,
            segment: self.mss,
            una: self.board.una(),
            next: self.board.next_seq(),
            max: self.board.max(),
            duplicates: self.duplicates,
            duplicate_threshold: self.params.duplicate_threshold,
            srtt: self.rtt.srtt(),
            rto: self.rtt.timeout(),
            hops: self.hops,
            ack_hops: self.ack_hops,
            link_rate: self.link_rate,
        }
    }

    fn set_window(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = if self.params.max_cwnd > 0 { cwnd.min(f64::from(self.params.max_cwnd)) } else { cwnd };
        self.ssthresh = ssthresh;
    }

    /// Carries out the congestion control's answer.
    #[inline]
    pub(crate) fn apply(&mut self, answer: Answer) {
        match answer {
            Answer::Keep => {}
            Answer::Set { cwnd, ssthresh } => self.set_window(cwnd, ssthresh),
            Answer::Rescale { cwnd, ssthresh, rto } => {
                self.set_window(cwnd, ssthresh);
                self.rtt.rescale(rto);
            }
            Answer::Freeze { probe, restore } => self.freeze(probe, restore),
            Answer::Thaw => self.thaw(),
        }
    }

    fn kept(&self) -> Kept {
        Kept { cwnd: self.cwnd, ssthresh: self.ssthresh, inflation: self.inflation, rtt: self.rtt.clone() }
    }

    /// Notes the state before a timeout, if it is the first since the last new acknowledgement. The inflation
    /// of a recovery is not part of this state, because the timeout ends the recovery.
    pub(crate) fn before_timeout(&mut self) {
        if self.timeouts_in_row == 0 {
            self.before_timeout = Some(Kept { inflation: 0.0, ..self.kept() });
        }
    }

    fn freeze(&mut self, probe: Span, restore: Restore) {
        if self.frozen.is_none() {
            let before = match restore {
                Restore::BeforeTimeout if self.timeouts_in_row > 0 => self.before_timeout.take(),
                Restore::BeforeTimeout | Restore::AtFreeze => None,
            };
            let kept = before.unwrap_or_else(|| self.kept());
            self.frozen = Some(Frozen { probe, next: self.now + probe, kept });
            self.rto = Time::NEVER;
            // A sample would contain the outage.
            self.stop_timing();
        }
    }

    /// Ends a freeze and restores the state.
    pub(crate) fn thaw(&mut self) {
        if let Some(Frozen { kept, .. }) = self.frozen.take() {
            self.cwnd = kept.cwnd;
            self.ssthresh = kept.ssthresh;
            self.inflation = kept.inflation;
            self.rtt = kept.rtt;
            if !self.board.is_empty() {
                self.arm_timer();
            }
        }
    }

    /// While frozen: sends the first unacknowledged segment when a probe is due.
    pub(crate) fn probe(&mut self) {
        let now = self.now;
        if let Some(frozen) = &mut self.frozen
            && now >= frozen.next
        {
            frozen.next = now + frozen.probe;
            self.forced = Some(self.board.una());
            self.counters.probes += 1;
        }
    }

    /// Starts the retransmission timer anew.
    #[inline]
    pub(crate) fn arm_timer(&mut self) {
        self.rto = self.now + self.rtt.timeout();
    }

    /// Times a segment that is sent for the first time, if none is being timed.
    #[inline]
    pub(crate) const fn time_segment(&mut self, end: u64) {
        if self.timed.is_none() {
            self.timed = Some((end, self.now));
        }
    }

    /// Gives up timing, because a retransmission would make it ambiguous (Karn's rule).
    pub(crate) const fn stop_timing(&mut self) {
        self.timed = None;
    }

    /// A segment is retransmitted, so it can no longer be timed.
    pub(crate) fn stop_timing_of(&mut self, end: u64) {
        if self.timed.is_some_and(|(timed, _)| timed == end) {
            self.timed = None;
        }
    }

    /// Takes a round-trip sample from the current acknowledgement, if it gives one.
    #[inline]
    pub(crate) fn measure(&mut self) {
        if let Some(echo) = self.echo {
            let elapsed = Span::from_millis(u64::from(milliseconds(self.now).wrapping_sub(echo)));
            // A time shorter than the clock's resolution counts as one tick.
            self.rtt.sample(elapsed.max(Span::from_millis(1)), self.now - elapsed, true);
        }
        if let Some((end, sent)) = self.timed
            && end <= self.una()
        {
            self.timed = None;
            self.rtt.end_back_off();
            if self.echo.is_none() {
                self.rtt.sample(self.now.since(sent), sent, false);
            }
        }
    }

    /// Takes in the round trip of a segment that was sent once.
    pub(crate) fn note_round_trip(&mut self, round_trip: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(round_trip, |min| min.min(round_trip)));
    }

    /// Ends timing without a sample when the timed segment is acknowledged. The back-off ends too.
    pub(crate) fn skip_sample(&mut self) {
        if self.timed.is_some_and(|(end, _)| end <= self.una()) {
            self.timed = None;
            self.rtt.end_back_off();
        }
    }

    /// The effect of every acknowledgement of new data outside recovery: resets the counters and measures the round
    /// trip. The timer restarts, or stops if nothing is outstanding (RFC 6298 §5.2 and §5.3).
    #[inline]
    pub(crate) fn acknowledge(&mut self) {
        self.duplicates = 0;
        self.limited_sent = 0;
        self.measure();
        if self.board.is_empty() {
            self.rto = Time::NEVER;
        } else {
            self.arm_timer();
        }
    }

    /// Tells the congestion control about newly acknowledged data.
    #[inline]
    pub(crate) fn grow(&mut self, control: &mut Controller, arrival: &Arrival<'_>, phase: Phase) {
        let ack = Ack {
            bytes: arrival.acked.bytes,
            delivered: arrival.acked.delivered,
            segments: arrival.acked.segments,
            round_trip: arrival.acked.round_trip,
            newest_round_trip: arrival.acked.newest_round_trip,
            phase,
            duplicates: self.prior_duplicates,
            window_limited: self.window_limited,
            rate: self.rate(),
        };
        let answer = control.on_ack(&ack, &self.view());
        self.apply(answer);
        if ack.rate.is_some() && control.limits_itself() {
            self.mark_app_limited();
        }
    }

    /// Tells the congestion control about a duplicate acknowledgement.
    pub(crate) fn report_duplicate(&mut self, control: &mut Controller, sacked: u64) {
        let duplicate = Duplicate { count: self.duplicates, sacked, rate: self.rate() };
        let answer = control.on_duplicate(&duplicate, &self.view());
        self.apply(answer);
        if duplicate.rate.is_some() && control.limits_itself() {
            self.mark_app_limited();
        }
    }

    /// Tells the congestion control that the segment at `index` is lost.
    pub(crate) fn report_loss(&mut self, control: &mut Controller, index: usize) {
        self.report(control, index, self.view());
    }

    /// As [`report_loss`](Self::report_loss), in a recovery: FlightSize still includes the reported segments, because
    /// the earlier reduction allowed as many new ones.
    pub(crate) fn report_loss_again(&mut self, control: &mut Controller, index: usize) {
        let view = self.view();
        self.report(control, index, View { flight: view.flight.min(view.cwnd), ..view });
    }

    fn report(&mut self, control: &mut Controller, index: usize, view: View) {
        let Some(first) = self.board.get(index) else { return };
        let loss = Loss { sent: first.sent, transmissions: first.transmissions };
        let answer = control.on_loss(&loss, &view);
        self.reduced = matches!(answer, Answer::Set { .. } | Answer::Rescale { .. });
        self.judge(control);
        self.apply(answer);
        self.counters.fast_retransmits += 1;
    }

    /// Records how the congestion control classified the loss that it has just answered.
    pub(crate) fn judge(&mut self, control: &mut Controller) {
        if let Some(decision) = control.decision()
            && let Some(first) = self.board.get(0)
        {
            let (sent, transmissions) = (first.sent, first.transmissions);
            self.judged.push(Judged { at: self.now, seq: self.una(), sent, transmissions, decision });
        }
    }

    /// Reports the loss, cuts the window and sends the first unacknowledged segment again.
    pub(crate) fn enter_recovery(&mut self, control: &mut Controller) {
        if self.scoreboard {
            self.mark_lost(0);
        }
        self.begin_recovery(control, 0);
        self.retransmit_first();
    }

    /// Reports the loss of the segment at `index` and cuts the window.
    pub(crate) fn begin_recovery(&mut self, control: &mut Controller, index: usize) {
        self.recover = self.board.max();
        self.report_loss(control, index);
        self.recovering = true;
        self.limited_sent = 0;
        if self.params.fast_retransmit_restarts_timer {
            self.arm_timer();
        }
        self.stop_timing();
    }

    /// Allows the segments of proportional rate reduction on this event, after `delivered` bytes were delivered.
    pub(crate) fn reduce(&mut self, prr: &mut Prr, delivered: u64, safe: bool) {
        let pipe = self.in_network();
        self.cwnd = pipe + prr.on_delivered(self.segments(delivered), pipe, safe);
    }

    /// Ends a recovery that inflated the window.
    pub(crate) fn leave_recovery(&mut self, control: &mut Controller, exit: RecoveryExit) -> Phase {
        self.inflation = 0.0;
        if self.reduced {
            match exit {
                RecoveryExit::Flight => {
                    self.cwnd = self.ssthresh.min(self.segments(self.board.flight()).max(1.0) + 1.0);
                }
                RecoveryExit::Ssthresh => self.cwnd = self.ssthresh,
                RecoveryExit::Grow => {}
            }
        }
        self.end_recovery(control);
        self.exit_phase()
    }

    /// The phase of the acknowledgement that ends a recovery. In ns-2 and ns-3 the window grows with it.
    pub(crate) fn exit_phase(&self) -> Phase {
        if self.params.recovery_exit == RecoveryExit::Grow { Phase::Open } else { Phase::Recovered }
    }

    /// Tells the congestion control that a recovery ends.
    pub(crate) fn end_recovery(&mut self, control: &mut Controller) {
        let answer = control.on_recovered(&self.view());
        self.recovering = false;
        self.pipe = None;
        self.apply(answer);
    }

    /// Deflates the window by the segments that a partial acknowledgement covers, less one (RFC 6582 §3.2 step 3).
    pub(crate) fn deflate(&mut self, acked: f64) {
        if self.inflation > acked {
            self.inflation -= acked - 1.0;
        } else {
            self.cwnd = (self.cwnd - (acked - self.inflation)).max(1.0);
            self.inflation = 1.0;
        }
    }

    /// Retransmits the first unacknowledged segment, even if the window has no room.
    pub(crate) const fn retransmit_first(&mut self) {
        self.forced = Some(self.board.una());
    }

    /// Sends no segments in normal order on this event.
    pub(crate) const fn hold(&mut self) {
        self.burst = 0;
    }

    /// Sends at most this many segments on this event; 0 means no limit.
    pub(crate) fn limit_burst(&mut self, segments: u32) {
        if segments > 0 {
            self.burst = self.burst.min(segments);
        }
    }

    /// Sends one segment beyond the window on this event, if the parameters allow it.
    pub(crate) const fn limited_transmit(&mut self) {
        self.limited = self.params.limited_transmit;
    }

    /// Stores the parts of the state that are needed after an acknowledgement of new data has changed it.
    #[inline]
    pub(crate) fn before_ack(&mut self, header: &TcpHeader) {
        self.prior_duplicates = self.duplicates;
        let usable = self.bytes(self.cwnd + self.inflation);
        self.window_limited = usable < self.board.flight() + u64::from(self.mss);
        self.echo = header.timestamps.map(|(_, echo)| echo);
    }
}
