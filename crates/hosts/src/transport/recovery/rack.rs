//! RACK-TLP (RFC 8985): losses are detected by time, and probes replace most timeouts.
//!
//! A segment is lost if a segment sent later was delivered, and a round trip and a reordering window have passed since
//! it was sent. The reordering window is zero while no reordering has been seen and the losses are certain. Otherwise
//! it is a quarter of the shortest round trip. It grows while the receiver reports by DSACK that retransmissions were
//! spurious. When acknowledgements stop, a probe is sent after two round trips: new data, or the last segment again.
//! The acknowledgement of the probe shows RACK what was lost. The reduction follows `prr.rs` unless the congestion
//! control sets the window during recovery itself or the parameters select another way.
//!
//! Section numbers belong to RFC 8985. Left out: undoing a reduction that DSACK shows to be spurious (RFC 8985 leaves
//! it to other documents). As in Linux, each segment that SACK reports before a loss is found allows one new segment.
//! With `limited_transmit` off no new segment is sent then.

use hopyard_engine::{Span, Time};

use super::prr::Prr;
use super::{Arrival, LossRecovery, Recovers, proportional};
use crate::packet::TcpHeader;
use crate::transport::congestion::{CongestionControl, Controller, Phase};
use crate::transport::connection::{Core, Params, Segment, ascending, dsack, is_earlier, milliseconds};

/// Recoveries without DSACK after which the reordering window shrinks to its first size (§6.2 step 4).
const PERSIST: u32 = 16;
/// The probe timeout before the first round trip is measured (§7.2).
const FIRST_PROBE: Span = Span::from_secs(1);

/// A tail loss probe that was sent.
#[derive(Clone, Copy, Debug)]
struct Probe {
    /// `TLP.end_seq`: the end of all data sent so far, including the probe; unknown until the probe is sent.
    end: Option<u64>,
    /// `TLP.is_retrans`.
    retransmits: bool,
}

#[derive(Clone, Debug)]
pub struct Rack {
    /// Proportional rate reduction is used.
    proportional: bool,
    prr: Option<Prr>,
    /// Lost retransmissions are reported to the congestion control, because neither proportional rate reduction nor the
    /// congestion control's own recovery answers them.
    reports_lost_retransmissions: bool,
    /// When the window was reduced last.
    reduced_at: Time,
    /// A retransmission sent after that reduction is lost.
    lost_again: Option<usize>,
    /// The losses of a timeout are being repaired.
    timed_out: bool,
    /// When the most recently sent of the delivered segments was sent, and its end (`RACK.xmit_ts`, `RACK.end_seq`).
    newest: Option<(Time, u64)>,
    /// `RACK.rtt`: the round trip of the segment delivered last. If an acknowledgement delivers several segments, it is
    /// the round trip of the segment sent most recently.
    rtt: Span,
    /// The highest delivered sequence number (`RACK.fack`).
    fack: u64,
    reordering_seen: bool,
    dsack_round: Option<u64>,
    /// The reordering window in quarters of the shortest round trip.
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
    /// When segments that are within the reordering window become lost.
    reorder: Time,
    /// When a probe must be sent.
    probe_at: Time,
    probe: Option<Probe>,
    /// A round trip was measured since the last probe (§7.3).
    measured: bool,
}

impl Rack {
    /// Whether reductions are proportional, and whether the congestion control sets the window during recovery itself.
    const fn with(proportional: bool, governed: bool) -> Self {
        Self {
            proportional,
            prr: None,
            reports_lost_retransmissions: !proportional && !governed,
            reduced_at: Time::ZERO,
            lost_again: None,
            timed_out: false,
            newest: None,
            rtt: Span::ZERO,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: 0,
            reorder: Time::NEVER,
            probe_at: Time::NEVER,
            probe: None,
            measured: true,
        }
    }

    /// §6.2 steps 1 to 3 for one newly delivered segment, without `RACK.rtt`. Returns when the segment was sent, if
    /// that is known.
    ///
    /// `fack` is `RACK.fack` before the acknowledgement, because segments reported by one acknowledgement may have
    /// arrived in any order. `echo` is the timestamp that it echoes, if the timestamp can belong to the segment.
    fn deliver(&mut self, segment: &Segment, fack: u64, core: &mut Core, echo: Option<u32>) -> Option<Time> {
        let again = segment.transmissions > 1;
        let rtt = core.now.since(segment.sent);
        self.fack = self.fack.max(segment.end());
        self.reordering_seen |= segment.end() < fack && !again;
        if again {
            // Which transmission arrived? The first one, if the echo is older than the second, or if the answer is too
            // fast for the second.
            let older = echo.is_some_and(|echo| is_earlier(echo, milliseconds(segment.sent)));
            if older || core.min_rtt.is_some_and(|min| rtt < min) {
                return None;
            }
        } else {
            core.note_round_trip(rtt);
            self.measured = true;
        }
        if self.newest.is_none_or(|newest| (segment.sent, segment.end()) > newest) {
            self.newest = Some((segment.sent, segment.end()));
        }
        Some(segment.sent)
    }

    /// §6.2 step 4: the time by which a segment may be overtaken.
    fn reordering_window(&self, core: &Core) -> Span {
        let sure = core.recovering || self.timed_out || core.board.sacked() >= core.params.duplicate_threshold as usize;
        if !self.reordering_seen && sure {
            return Span::ZERO;
        }
        let window = core.min_rtt.unwrap_or(Span::ZERO) * u64::from(self.reo_wnd_mult) / 4;
        window.min(core.rtt.srtt().unwrap_or(window))
    }

    /// The DSACK part of §6.2 step 4. Returns whether the acknowledgement widens the reordering window.
    fn note_dsack(&mut self, core: &Core, header: &TcpHeader) -> bool {
        if self.dsack_round.is_some_and(|round| core.una() >= round) {
            self.dsack_round = None;
        }
        let widens = self.dsack_round.is_none() && dsack(header).is_some();
        if widens {
            self.dsack_round = Some(core.board.max());
            self.reo_wnd_mult += 1;
            self.reo_wnd_persist = PERSIST;
        }
        widens
    }

    /// The end of a recovery, or of the repair after a timeout, by an acknowledgement that does not widen the
    /// reordering window. This is the rest of §6.2 step 4 ("else if").
    fn calm_down(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// §6.2 step 5: marks lost segments, and computes the time of the next check.
    fn detect(&mut self, core: &mut Core) {
        self.reorder = Time::NEVER;
        self.lost_again = None;
        let Some(newest) = self.newest else { return };
        let allowance = self.rtt + self.reordering_window(core);
        let mut again = None;
        for index in 0..core.board.len() {
            let Some(segment) = core.board.get(index) else { break };
            if segment.sacked || segment.lost || newest <= (segment.sent, segment.end()) {
                continue;
            }
            let due = segment.sent + allowance;
            if due <= core.now {
                if segment.transmissions > 1 && segment.sent >= self.reduced_at {
                    self.lost_again = self.lost_again.or(Some(index));
                }
                core.mark_lost(index);
            } else {
                again = again.max(Some(due));
            }
        }
        self.reorder = again.unwrap_or(Time::NEVER);
    }

    /// Begins a recovery if a loss was found outside one. During a recovery, computes what may be sent. `safe` as for
    /// [`Prr`].
    fn react(&mut self, core: &mut Core, control: &mut Controller, delivered: u64, safe: bool) {
        if core.recovering {
            if let Some(prr) = &mut self.prr {
                prr.reduce(core, delivered, safe);
            } else if let Some(index) = self.lost_again.take().filter(|_| self.reports_lost_retransmissions) {
                // §9.3: the loss of a retransmission is another sign of congestion.
                self.reduced_at = core.now;
                core.report_loss_again(control, index);
            }
            return;
        }
        if self.timed_out || core.board.lost() == 0 {
            return;
        }
        let Some(first) = core.board.first_lost() else { return };
        // The flight before this acknowledgement, in segments.
        let flight = (core.board.len() - core.board.sacked()) as f64 + core.segments(delivered);
        self.probe_at = Time::NEVER;
        self.reduced_at = core.now;
        core.begin_recovery(control, first);
        core.forced = core.board.get(first).map(|segment| segment.seq);
        if self.proportional {
            let mut prr = Prr::new(core.cwnd, flight);
            prr.reduce(core, delivered, false);
            // The forced retransmission is the first segment of the recovery.
            prr.on_sent();
            self.prr = Some(prr);
        }
    }

    /// Sets the window to the target of the reduction.
    fn finish_reduction(&mut self, core: &mut Core) {
        if let Some(prr) = self.prr.take() {
            core.cwnd = prr.target();
        }
    }

    /// §7.2: when to probe.
    fn schedule_probe(&mut self, core: &Core) {
        let quiet = !core.recovering && !self.timed_out && core.board.sacked() == 0 && !core.board.is_empty();
        if !core.params.tail_loss_probe || !quiet || self.probe.is_some() {
            self.probe_at = Time::NEVER;
            return;
        }
        let alone = if core.board.len() == 1 { core.params.max_ack_delay } else { Span::ZERO };
        let wait = core.rtt.srtt().map_or(FIRST_PROBE, |srtt| srtt * 2 + alone);
        self.probe_at = (core.now + wait).min(core.rto);
    }

    /// §7.3: sends new data, or the last segment again. The retransmission timer restarts in both cases.
    fn send_probe(&mut self, core: &mut Core) {
        if self.probe.is_none() && self.measured && !core.board.is_empty() {
            // What the Nagle algorithm holds back is new data too.
            core.pushes = true;
            let new = core.fits_advertised(core.board.len());
            let last = core.board.get(core.board.len() - 1).map(|segment| segment.seq);
            core.forced = if new { Some(core.board.max()) } else { last };
            core.tail_probe = true;
            self.probe = Some(Probe { end: None, retransmits: !new });
            self.measured = false;
            core.counters.tail_loss_probes += 1;
        }
        core.arm_timer();
    }

    /// §7.4.2, before the scoreboard processes the acknowledgement.
    fn judge_probe(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let Some(Probe { end: Some(end), retransmits }) = self.probe else { return };
        if header.ack < end {
            return;
        }
        if !retransmits || dsack(header).is_some_and(|(_, to)| to == end) {
            self.probe = None;
        } else if header.ack > end {
            // The probe repaired a loss without any other sign. The congestion control must be informed (§7.4.1).
            self.probe = None;
            if !core.recovering && !self.timed_out {
                core.report_loss(control, 0);
            }
        } else if header.ack == core.una() && header.sack.is_empty() {
            self.probe = None;
        }
    }
}

impl Recovers for Rack {
    const WANTS_SACK: bool = true;

    fn new(params: &Params, control: &Controller) -> Self {
        Self::with(proportional(params, control, true), control.wants().recovery_window)
    }
}

impl LossRecovery for Rack {
    fn inspect(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        self.judge_probe(core, control, header);
        let (fack, mut latest) = (self.fack, None);
        let mut index = 0;
        while let Some(&segment) = core.board.get(index)
            && segment.end() <= header.ack
        {
            if !segment.sacked {
                latest = latest.max(self.deliver(&segment, fack, core, header.timestamps.map(|(_, echo)| echo)));
            }
            index += 1;
        }
        for (start, end) in ascending(&header.sack) {
            let mut index = core.board.index_of(start.max(header.ack));
            while let Some(&segment) = core.board.get(index)
                && segment.end() <= end
            {
                // TS.Recent does not change while there is a gap (RFC 7323 §4.3), so the echo gives no information
                // about the segments that SACK reports.
                if !segment.sacked {
                    latest = latest.max(self.deliver(&segment, fack, core, None));
                }
                index += 1;
            }
        }
        // §6.2 step 2 goes through the segments in ascending order of transmission time, so the most recently sent one
        // gives `RACK.rtt`.
        if let Some(sent) = latest {
            self.rtt = core.now.since(sent);
        }
    }

    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        let delivered = arrival.acked.delivered + core.board.mark_sacked(&arrival.header.sack);
        let widens = self.note_dsack(core, arrival.header);
        let mut phase = if core.recovering { Phase::Partial } else { Phase::Open };
        if core.una() >= core.recover && (core.recovering || self.timed_out) {
            self.timed_out = false;
            if !widens {
                self.calm_down();
            }
            if core.recovering {
                self.finish_reduction(core);
                core.end_recovery(control);
                phase = core.exit_phase();
            }
        }
        core.acknowledge();
        let known = core.lost;
        self.detect(core);
        core.grow(control, &arrival.acked, phase);
        self.react(core, control, delivered, core.lost == known);
        self.schedule_probe(core);
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let news = core.board.mark_sacked(&header.sack);
        self.note_dsack(core, header);
        if news == 0 {
            core.hold();
            return;
        }
        core.duplicates += 1;
        self.probe_at = Time::NEVER;
        self.detect(core);
        core.report_duplicate(control, news);
        self.react(core, control, news, false);
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.finish_reduction(core);
        self.timed_out = true;
        self.reorder = Time::NEVER;
        self.probe_at = Time::NEVER;
        self.probe = None;
        core.duplicates = 0;
        // §6.3: the first segment is lost, and so are segments that were sent too long ago.
        let allowance = self.rtt + self.reordering_window(core);
        for index in 0..core.board.len() {
            if index == 0 || core.board.get(index).is_some_and(|segment| segment.sent + allowance <= core.now) {
                core.mark_lost(index);
            }
        }
        if !core.board.is_empty() {
            core.retransmit_first();
        }
    }

    fn deadline(&self) -> Time {
        self.reorder.min(self.probe_at)
    }

    fn on_timer(&mut self, core: &mut Core, control: &mut Controller) {
        if core.now >= self.reorder {
            self.detect(core);
            self.react(core, control, 0, false);
        }
        if core.now >= self.probe_at {
            self.probe_at = Time::NEVER;
            self.send_probe(core);
        }
    }

    fn next(&mut self, core: &mut Core) -> Option<usize> {
        let new = core.board.len();
        core.board.set_next(new);
        if let Some(Probe { end: end @ None, .. }) = &mut self.probe {
            *end = Some(core.board.max());
        }
        let room = match (&self.prr, core.recovering) {
            (Some(prr), true) => prr.has_room(),
            // A loss allows a new segment. A SACK report allows one only with limited transmit.
            _ if core.recovering || self.timed_out || core.params.limited_transmit => {
                core.in_network() + 1.0 <= core.cwnd
            }
            _ => return core.next_in_window(),
        };
        let index = core.board.first_lost().unwrap_or(new);
        (room && core.fits_advertised(index)).then_some(index)
    }

    fn on_sent(&mut self, core: &mut Core, index: usize) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        if core.board.get(index).is_some_and(|segment| segment.transmissions == 1) {
            // A segment sent because of a SACK report belongs to limited transmit.
            if !core.recovering && !self.timed_out && core.board.len() as f64 > core.cwnd {
                core.count_limited();
            }
            self.schedule_probe(core);
        }
    }
}
