//! The state that a sender and its recovery share: the segments, the windows, the timers.

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use super::counters::SenderCounters;
use super::frozen::{Frozen, Kept};
use super::header::milliseconds;
use super::params::{Connect, Habits, Params};
use super::phases::{Phase, Phases};
use super::rate::RateSampler;
use super::rtt::{Estimator, Sample};
use super::scoreboard::Board;
use crate::packet::TcpHeader;
use crate::transport::congestion::{Decision, RateSample};

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

/// The state that a sender and its recovery share.
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
    pub(super) edge: u64,
    /// The acknowledgement number that came with it (SND.WL2).
    pub(super) edge_from: u64,
    /// The largest window that the receiver has announced, in bytes.
    pub(crate) largest_window: u64,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// Losses below this do not start another reduction (RFC 6582's `recover`, counted to the byte after).
    pub(crate) recover: u64,
    /// Marks and losses of data below this do not start another reduction: a mark has (RFC 3168 §6.1.2).
    pub(super) marked_until: u64,
    /// The acknowledgement at hand reports a mark.
    pub(super) reports_mark: bool,
    pub(crate) rtt: Estimator,
    /// When the retransmission timer expires.
    pub(crate) rto: Time,
    /// Timeouts since the last new acknowledgement.
    pub(crate) timeouts_in_row: u32,
    /// The state before the first of them.
    pub(super) before_timeout: Option<Kept>,
    /// The end of the segment being timed, and when it was sent.
    pub(super) timed: Option<(u64, Time)>,
    /// The timestamp that the acknowledgement at hand echoes.
    pub(crate) echo: Option<u32>,
    /// The time from that timestamp to the receiver's own in the acknowledgement.
    pub(crate) one_way: Option<Span>,
    /// Segments sent before this time give no round-trip sample by their timestamps.
    pub(super) sampled_from: Time,
    pub(crate) round_trip: Option<Span>,
    /// The shortest round trip that RACK has seen, including the round trip of the opening (RFC 8985 §6.1
    /// `RACK.min_RTT`).
    pub(crate) min_rtt: Option<Span>,
    /// Duplicate acknowledgements before the acknowledgement at hand, and whether the window had held the sender back.
    pub(crate) prior_duplicates: u32,
    pub(crate) window_limited: bool,
    /// The congestion control knows of the acknowledgement at hand.
    pub(super) announced: bool,
    /// The congestion control reduced the window in answer to the loss.
    pub(super) reduced: bool,
    /// The sender is in a loss recovery that did not start with a timeout.
    pub(crate) recovering: bool,
    /// Whether the recovery marks reported and lost segments on the scoreboard.
    pub(crate) scoreboard: bool,
    /// The recovery's own estimate of segments in the network, if the marks of the scoreboard are not enough for it.
    pub(crate) pipe: Option<u32>,
    /// Bytes deemed lost so far.
    pub(crate) lost: u64,
    /// Samples the delivery rate, if the congestion control asks for it.
    pub(crate) sampler: Option<Box<RateSampler>>,
    /// The delivery rate sample of the current acknowledgement.
    pub(super) rate: Option<RateSample>,
    /// Segments sent by limited transmit, which do not count as outstanding when a loss is answered (RFC 5681 §3.2 step
    /// 2).
    pub(super) limited_sent: u32,
    /// The segment to send even if the window has no room.
    pub(crate) forced: Option<u64>,
    /// The segment that is sent in spite of the window is a tail loss probe.
    pub(crate) tail_probe: bool,
    /// On this event the Nagle algorithm holds nothing back.
    pub(crate) pushes: bool,
    /// A segment that is not full waits until the data before this number is acknowledged: all data, or the data of the
    /// last new segment that was not full.
    pub(crate) small_end: u64,
    /// New segments end here, the last of them full or not: the sender has decided to send so much at once.
    pub(crate) together_end: Option<u64>,
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
    pub(super) phases: Phases,
    /// The phases' times are counted up to here.
    pub(super) spent_until: Time,
    /// Classified losses that have not been fetched yet.
    pub(crate) judged: Vec<Judged>,
    pub(super) mss: u32,
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
            edge_from: 0,
            largest_window: u64::from(params.window_bytes()),
            duplicates: 0,
            recover: 0,
            marked_until: 0,
            reports_mark: false,
            rtt: Estimator::new(params, rng),
            rto: Time::NEVER,
            timeouts_in_row: 0,
            before_timeout: None,
            timed: None,
            echo: None,
            one_way: None,
            sampled_from: Time::ZERO,
            round_trip: None,
            min_rtt: None,
            prior_duplicates: 0,
            window_limited: false,
            announced: false,
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
            pushes: false,
            small_end: u64::MAX,
            together_end: None,
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
            phases: Phases::default(),
            spent_until: Time::ZERO,
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
    /// (RFC 6582 §3.2 step 2). `recover` begins as the number before the first, ISN - 1; in ns-2 it begins as the first
    /// number.
    pub(crate) fn is_beyond_recover(&self) -> bool {
        self.una() > self.recover || (self.recover == 0 && self.params.habits != Habits::Ns2)
    }

    /// Whether only ns-2's packet 0 is acknowledged: the SYN, or the first segment if the connection opens without a
    /// SYN.
    pub(crate) fn ns2_only_first_acknowledged(&self) -> bool {
        let first = if self.params.connect == Connect::None { u64::from(self.mss) } else { 1 };
        self.params.habits == Habits::Ns2 && self.una() == first
    }

    /// How often a SYN may be repeated before the initial window is one segment: the first repetition may come from a
    /// long round trip (RFC 6928 §2).
    pub(crate) fn spared_repeats(&self) -> u32 {
        u32::from(self.params.habits == Habits::Rfc)
    }

    /// Bytes in segments.
    #[inline]
    pub(crate) fn segments(&self, bytes: u64) -> f64 {
        bytes as f64 / f64::from(self.mss)
    }

    /// Whole segments in bytes. A window larger than every receiver's window has the same effect as any other such
    /// window.
    #[inline]
    pub(super) fn bytes(&self, segments: f64) -> u64 {
        (segments.max(0.0) as u64).saturating_mul(u64::from(self.mss))
    }

    /// Segments sent and not acknowledged, without the segments of limited transmit.
    #[inline]
    pub(super) fn flight(&self) -> f64 {
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
            let sent = self.now - elapsed;
            if sent >= self.sampled_from {
                // A time shorter than the clock's resolution counts as one tick.
                self.take_sample(elapsed.max(Span::from_millis(1)), sent, true);
            }
        }
        if let Some((end, sent)) = self.timed
            && end <= self.una()
        {
            self.timed = None;
            self.rtt.end_back_off();
            if self.echo.is_none() {
                self.take_sample(self.now.since(sent), sent, false);
            }
        }
    }

    /// Takes a round-trip sample of a segment sent at `sent`; `exact` when by timestamps.
    #[inline]
    pub(crate) fn take_sample(&mut self, round_trip: Span, sent: Time, exact: bool) {
        self.counters.rtt_samples += 1;
        let (una, next) = (self.board.una(), self.board.max());
        self.rtt.sample(&Sample { round_trip, sent, exact, una, next });
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

    /// Stores the parts of the state that are needed after an acknowledgement of new data has changed it.
    #[inline]
    pub(crate) fn before_ack(&mut self, header: &TcpHeader) {
        self.prior_duplicates = self.duplicates;
        let usable = self.bytes(self.cwnd + self.inflation);
        self.window_limited = usable < self.board.flight() + u64::from(self.mss);
        self.echo = header.timestamps.map(|(_, echo)| echo);
        self.one_way = header.timestamps.map(|(value, echo)| Span::from_millis(u64::from(value.wrapping_sub(echo))));
    }
}

// What it does in each phase.

impl Core {
    /// The phase that the sender is in.
    #[inline]
    pub(crate) fn phase(&self) -> Phase {
        if self.frozen.is_some() {
            Phase::Frozen
        } else if self.recovering {
            Phase::Recovery
        } else if self.cwnd < self.ssthresh {
            Phase::SlowStart
        } else {
            Phase::Avoidance
        }
    }

    /// Counts the time since the last event: the phase has not changed since.
    #[inline]
    pub(crate) fn spend(&mut self, now: Time) {
        let phase = self.phase();
        self.phases.at(phase).time += now.since(self.spent_until);
        self.spent_until = now;
    }

    /// The time until now counts in no phase: the connection is not open yet.
    #[inline]
    pub(crate) const fn skip_to(&mut self, now: Time) {
        self.spent_until = now;
    }

    /// An acknowledgement has arrived.
    #[inline]
    pub(crate) fn count_ack(&mut self) {
        let phase = self.phase();
        self.phases.at(phase).acks += 1;
    }

    /// A segment with payload is sent.
    #[inline]
    pub(crate) fn count_segment(&mut self) {
        let phase = self.phase();
        self.phases.at(phase).segments += 1;
    }

    /// The sender's work in every phase until now.
    pub(crate) fn phases_at(&self, now: Time) -> Phases {
        let mut phases = self.phases;
        phases.at(self.phase()).time += now.since(self.spent_until);
        phases
    }
}
