//! RACK-TLP as Linux runs it: the whole procedure of loss recovery of a Linux 6.1 sender with SACK.
//!
//! Read: RFC 8985 (RACK-TLP), RFC 9937 (proportional rate reduction), RFC 3522 and RFC 4015 (Eifel), RFC 3708 (DSACK),
//! RFC 5682 (F-RTO), and captures of Linux 6.1 senders. `tests/linux_captures.rs` compares the procedure with these
//! captures, event by event. It differs from `rack.rs` as follows. Round trips are measured in microseconds, of the
//! first segment that an acknowledgement delivers, and of what SACK reports. One timer waits for a probe, for segments
//! within the reordering window, or for a timeout. It restarts with SACK too, unless what SACK reports was sent after
//! the first segment was sent last. A timeout leaves segments in the network that were sent less than a round trip ago.
//! Reductions that timestamps or DSACK show to be for nothing are undone, and the answers to the first segments after a
//! timeout show whether it was spurious. The window grows with the acknowledgement that ends a recovery, and only if it
//! was full within the last window. The segment with the FIN does not wait for the window.
//!
//! Without SACK the same procedure counts duplicate acknowledgements. Each stands for a segment that arrived, and an
//! acknowledgement of new data takes them back. The first segment is lost after three of them, or after a partial
//! acknowledgement. There are no probes then.
//!
//! A mark (RFC 3168) reduces the window over a round trip, as a loss does (`tcp_enter_cwr`). A loss in that round trip
//! does not reduce it again. Left out: reneging, path MTU discovery. The minimum round trip is the shortest of the
//! whole connection.

mod arrival;
mod detection;
mod events;
mod pairs;
mod resending;
mod sending;
mod timer;
mod undo;
mod undoing;
mod usage;

use hopyard_engine::{Span, Time};

use self::arrival::{Report, echoes_earlier};
use self::detection::Detection;
use self::pairs::Pairs;
use self::resending::Resending;
use self::timer::Timer;
use self::undo::Undo;
use self::usage::Usage;
use super::state::State;
use crate::packet::TcpHeader;
use crate::transport::congestion::{Before, Condition, Controller, Loss, Phase};
use crate::transport::connection::{Acked, IdleRestart};
use crate::transport::recovery::Prr;

/// A tail loss probe that is not answered: the end of all data sent with it, and whether it was a retransmission.
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    retransmits: bool,
}

#[derive(Clone, Debug)]
pub struct Recovery {
    /// Whether the receiver reports segments by SACK. Otherwise losses are found by counting duplicate
    /// acknowledgements.
    sack: bool,
    /// Whether reductions are proportional, and whether the congestion control sets the window during recovery itself.
    proportional: bool,
    governed: bool,
    condition: Condition,
    /// The end of the data that was sent when the condition began.
    end: u64,
    detection: Detection,
    timer: Timer,
    usage: Usage,
    /// New segments are sent in pairs.
    pairs: Option<Pairs>,
    resending: Resending,
    prr: Option<Prr>,
    /// The window is reduced for a mark, until something beyond `end` is acknowledged.
    marked: bool,
    undo: Option<Undo>,
    /// When the first retransmission was sent of those whose segments may still be missing.
    first_resent: Option<Time>,
    probe: Option<Probe>,
    /// A probe is about to be sent.
    probing: bool,
    /// A timeout may be spurious: new data is sent before other segments are retransmitted (RFC 5682).
    suspicious: bool,
    /// On this event only new data may be sent.
    new_only: bool,
    /// A timer of the recovery, or a timeout, has expired: no segment beyond the window follows what it sends.
    expired: bool,
    /// New data was sent since the window's use was noted.
    sent_new: bool,
    report: Report,
}

impl Recovery {
    fn enter(&mut self, tcp: &State, control: &mut Controller, condition: Condition) {
        self.condition = condition;
        control.on_condition(condition, &tcp.core.view());
    }

    const fn repairs(&self) -> bool {
        matches!(self.condition, Condition::Recovery | Condition::Loss)
    }

    /// Segments that were sent again and are in the network.
    fn resent_in_network(tcp: &State) -> u32 {
        tcp.tags.iter().filter(|tag| tag.resent).count() as u32
    }

    /// Segments sent again that a receiver may still report as duplicates: those in the network, and the segment of a
    /// probe that is not answered, even if SACK reports it.
    fn may_be_duplicates(&self, tcp: &State) -> u32 {
        let again = |end| tcp.tagged(0).any(|(segment, tag)| segment.end() == end && tag.resent);
        let probe = self.probe.is_some_and(|probe| probe.retransmits && !again(probe.end));
        Self::resent_in_network(tcp) + u32::from(probe)
    }

    /// Whether a segment that was sent again may still be missing.
    fn was_resent(tcp: &State) -> bool {
        tcp.core.board.get(0).is_some_and(|first| first.transmissions > 1) || Self::resent_in_network(tcp) > 0
    }

    /// The threshold that an undone reduction returns to.
    fn before(&self, tcp: &State) -> Before {
        let ssthresh = match self.condition {
            Condition::Recovery | Condition::Reduced => tcp.core.ssthresh,
            _ => tcp.core.ssthresh.max(libm::floor(tcp.core.cwnd / 2.0) + libm::floor(tcp.core.cwnd / 4.0)),
        };
        Before { cwnd: tcp.core.cwnd, ssthresh }
    }

    // How it answers an acknowledgement.

    /// The steps of every acknowledgement, after the scoreboard has processed it.
    fn process(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader, acked: Option<&Acked>) {
        let report = self.report;
        let lost = tcp.core.lost;
        let trips = report.round_trips(tcp, header);
        if let Some(last) = trips.last {
            tcp.core.note_round_trip(last);
        }
        if let Some(first) = trips.first {
            tcp.core.take_sample(first, tcp.core.now - first, false);
        }
        tcp.core.announce(control, trips.last);
        let first_sent = tcp.core.board.get(0).map(|first| tcp.core.now.since(first.sent));
        let sets_timer = report.advances
            || trips
                .sacked
                .is_some_and(|sacked| trips.first.is_some() && first_sent.is_some_and(|since| sacked > since));
        if let Some(sent) = report.newest {
            self.detection.widen(&tcp.core, sent);
        }
        self.judge_probe(tcp, control, header);
        let waits = self.answer(tcp, control, header);
        if sets_timer && !waits {
            self.set_timer(tcp);
        }
        self.adjust_window(tcp, control, acked, trips.last, tcp.core.lost - lost);
    }

    /// The window after the acknowledgement.
    fn adjust_window(
        &mut self,
        tcp: &mut State,
        control: &mut Controller,
        acked: Option<&Acked>,
        round_trip: Option<Span>,
        newly_lost: u64,
    ) {
        let report = self.report;
        let recovering = self.condition == Condition::Recovery || self.marked;
        let may_grow =
            report.advances || (self.detection.reordering > tcp.core.params.duplicate_threshold && report.sacks);
        tcp.core.window_limited = self.usage.limits(tcp);
        if may_grow {
            let phase = if recovering { Phase::Partial } else { Phase::Open };
            let acked = acked.copied().unwrap_or_default();
            // Segments count, full or not.
            let bytes = u64::from(report.segments) * u64::from(tcp.core.params.mss());
            let delivered = Acked { delivered: bytes, round_trip, ..acked };
            tcp.grow(control, &delivered, phase);
            if !recovering {
                tcp.window_changed = tcp.core.now;
            }
        } else {
            tcp.core.report_duplicate(control, report.bytes);
        }
        if recovering && report.segments > 0 {
            self.reduce(tcp, f64::from(report.segments), report.advances && newly_lost == 0);
        }
    }

    /// Allows the segments of an event in a recovery.
    fn reduce(&mut self, tcp: &mut State, delivered: f64, safe: bool) {
        if let Some(prr) = &mut self.prr {
            let pipe = tcp.core.in_network();
            tcp.core.cwnd = pipe + prr.on_delivered(delivered, pipe, safe).max(0.0);
        }
    }

    /// The meaning of the acknowledgement for losses. Returns whether the timer waits for segments within the
    /// reordering window.
    fn answer(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) -> bool {
        let report = self.report;
        if tcp.reports_mark
            && let Some(undo) = &mut self.undo
        {
            // The reduction is needed, whatever it was made for.
            undo.before = None;
        }
        let plain = report.advances && !report.sacks && report.duplicate.is_none() && !tcp.reports_mark;
        if self.condition == Condition::Open && plain {
            return false;
        }
        if self.marked && tcp.core.una() > self.end {
            self.finish_mark(tcp);
            self.enter(tcp, control, Condition::Open);
        }
        if self.condition == Condition::Open {
            self.first_resent = None;
        } else if tcp.core.una() >= self.end && self.condition == Condition::Recovery {
            if self.holds(tcp) {
                return false;
            }
            self.finish_recovery(tcp, control, header);
        }
        if !self.sack && report.advances && self.condition != Condition::Recovery {
            tcp.core.board.unnamed = 0;
        }
        match self.condition {
            Condition::Recovery => self.continue_recovery(tcp, control, header),
            Condition::Loss => {
                self.continue_loss(tcp, control, header);
                let (waits, lost_again) = self.detect(tcp);
                if self.condition == Condition::Open || lost_again {
                    self.begin_if_lost(tcp, control);
                }
                waits
            }
            Condition::Open | Condition::Disorder | Condition::Reduced => {
                if self.condition != Condition::Reduced {
                    self.undo_by_duplicates(tcp, control);
                }
                let (waits, _) = self.detect(tcp);
                self.begin_if_lost(tcp, control);
                waits
            }
        }
    }

    fn continue_recovery(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) -> bool {
        let late = self.undo.is_some() && self.first_resent.is_some_and(|sent| echoes_earlier(header, sent));
        if self.report.advances && late {
            // The original was only late.
            let highest = tcp.core.board.high_sacked().unwrap_or(tcp.core.una());
            self.detection.note_order(&tcp.core, Some(self.report.una), highest);
            if Self::resent_in_network(tcp) > 0 {
                self.new_only = true;
                return false;
            }
            self.undo_reduction(tcp, control, true);
            self.keep_open(tcp, control);
        }
        if self.undo_by_duplicates(tcp, control) {
            self.keep_open(tcp, control);
        }
        let (waits, _) = self.detect(tcp);
        if self.condition != Condition::Recovery {
            self.begin_if_lost(tcp, control);
        }
        waits
    }

    /// After a timeout: whether it was spurious (RFC 3522, RFC 5682 §3.1), and the end of the repair.
    fn continue_loss(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        let report = self.report;
        let recovered = tcp.core.una() >= self.end;
        let due = self.undo.is_some_and(|undo| undo.is_due(header, self.first_resent));
        if report.advances && due {
            self.undo_reduction(tcp, control, true);
            self.enter(tcp, control, Condition::Open);
            return;
        }
        if self.suspicious {
            if report.original_arrived {
                self.undo_reduction(tcp, control, true);
                self.enter(tcp, control, Condition::Open);
                return;
            }
            if tcp.core.board.max() > self.end {
                if report.sacks || !report.advances {
                    self.suspicious = false;
                }
            } else if report.advances && !recovered {
                self.end = tcp.core.board.max();
                tcp.core.pushes = true;
                if tcp.core.fits_advertised(tcp.core.board.len()) {
                    self.new_only = true;
                    return;
                }
                tcp.core.pushes = false;
                self.suspicious = false;
            }
        }
        if recovered && !self.holds(tcp) {
            self.leave_repair(tcp, control, header);
        }
    }

    /// Without SACK the state stays until something beyond the losses is acknowledged: duplicates of the repair must
    /// not look like a new loss (RFC 6582 §4). A reduction that may turn out to be for nothing is undone in any case.
    const fn holds(&self, tcp: &mut State) -> bool {
        if self.sack {
            return false;
        }
        tcp.core.board.unnamed = 0;
        tcp.core.una() == self.end
    }

    /// The losses of a recovery are repaired.
    fn finish_recovery(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        self.leave_repair(tcp, control, header);
        let undone = self.undo.is_none();
        self.end_reduction(tcp, control, undone);
    }

    /// Nothing is missing any more. A reduction that was for nothing is undone.
    fn leave_repair(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        if self.undo.is_some_and(|undo| undo.is_due(header, self.first_resent)) {
            self.undo_reduction(tcp, control, false);
        } else {
            self.detection.calm_down();
        }
        self.enter(tcp, control, Condition::Open);
    }

    /// A reduction ends, which may have been undone.
    fn end_reduction(&mut self, tcp: &mut State, control: &mut Controller, undone: bool) {
        if undone {
            self.prr = None;
            tcp.window_changed = tcp.core.now;
        } else {
            self.reach_target(tcp);
        }
        tcp.core.end_recovery(control);
    }

    /// The condition when nothing needs repair.
    fn keep_open(&mut self, tcp: &State, control: &mut Controller) {
        let missing = tcp.core.board.sacked() > 0
            || tcp.core.board.unnamed > 0
            || tcp.core.board.lost() > 0
            || Self::was_resent(tcp);
        let condition = if missing { Condition::Disorder } else { Condition::Open };
        if condition != self.condition {
            self.end = tcp.core.board.max();
            self.enter(tcp, control, condition);
        }
    }

    /// Checks for losses. Returns whether the timer waits for segments within the reordering window, and whether a
    /// retransmission is lost.
    fn detect(&mut self, tcp: &mut State) -> (bool, bool) {
        if !self.sack {
            let lost = match self.condition {
                Condition::Recovery => self.report.advances,
                Condition::Loss => false,
                _ => tcp.core.board.unnamed >= self.detection.reordering,
            };
            if lost {
                tcp.mark_lost(0);
            }
            return (false, false);
        }
        if !std::mem::take(&mut self.detection.advanced) {
            return (false, false);
        }
        let found = self.detection.detect(tcp, self.repairs());
        if let Some(wait) = found.wait {
            self.timer.wait_for_reordering(tcp, wait);
        }
        (found.wait.is_some(), found.lost_again)
    }

    fn begin_if_lost(&mut self, tcp: &mut State, control: &mut Controller) {
        // A loss that was repaired already begins a recovery too, if it lies beyond the last one.
        if tcp.first_missing().is_some() {
            self.begin_recovery(tcp, control);
        } else if tcp.reports_mark && matches!(self.condition, Condition::Open | Condition::Disorder) {
            self.begin_mark(tcp, control);
        } else if self.condition != Condition::Loss && !self.marked {
            if !Self::was_resent(tcp) {
                self.first_resent = None;
            }
            self.keep_open(tcp, control);
        }
    }

    fn begin_recovery(&mut self, tcp: &mut State, control: &mut Controller) {
        let Some(first) = tcp.first_missing() else { return };
        // A reduction for a mark goes on, and is not undone.
        let goes_on = std::mem::take(&mut self.marked);
        let before = self.before(tcp);
        let may_return = !goes_on && !tcp.reports_mark;
        self.undo = Some(Undo::new(&tcp.core, may_return.then_some(before), self.may_be_duplicates(tcp)));
        self.probe = None;
        self.end = tcp.core.board.max();
        tcp.core.cut(control, first);
        if !goes_on {
            self.spread_reduction(tcp, before.cwnd);
        }
        self.enter(tcp, control, Condition::Recovery);
    }

    /// A queue has marked a segment.
    fn begin_mark(&mut self, tcp: &mut State, control: &mut Controller) {
        let before = self.before(tcp);
        self.undo = None;
        self.end = tcp.core.board.max();
        tcp.core.report_mark(control);
        self.spread_reduction(tcp, before.cwnd);
        self.marked = true;
        self.enter(tcp, control, Condition::Reduced);
    }

    /// The congestion control has reduced the window, which was `before`: from now on in proportion. The threshold is
    /// the target, of two segments at least. But a variant that keeps a threshold above the window has reduced the
    /// window itself.
    fn spread_reduction(&mut self, tcp: &mut State, before: f64) {
        if self.proportional {
            let target = if tcp.core.ssthresh > before.max(2.0) { tcp.core.cwnd } else { tcp.core.ssthresh };
            self.prr = Some(Prr::new(target, before));
            tcp.core.cwnd = before;
        }
    }

    /// The window has the target of a reduction for a mark.
    fn finish_mark(&mut self, tcp: &mut State) {
        self.marked = false;
        self.reach_target(tcp);
    }

    /// The window becomes the target of the reduction.
    fn reach_target(&mut self, tcp: &mut State) {
        let target = self.prr.take().map_or(tcp.core.ssthresh, |prr| prr.target());
        if !self.governed {
            tcp.core.cwnd = target;
        }
        tcp.window_changed = tcp.core.now;
    }

    /// No more segments can have arrived than are outstanding but for those missing. More duplicate acknowledgements
    /// show that the network reorders. `outstanding` segments are left, `acked` were acknowledged.
    fn limit_unnamed(&mut self, tcp: &mut State, outstanding: u32, acked: u32) {
        let missing = (tcp.core.board.lost() as u32).max(1).min(outstanding);
        if tcp.core.board.unnamed + missing > outstanding {
            tcp.core.board.unnamed = outstanding - missing;
            self.detection.note_extent(outstanding + acked);
        }
    }

    /// Sending ends. A window that was not full for longer than a timeout decays (RFC 2861 §3.2), unless the
    /// application waits for room.
    fn note_usage(&mut self, tcp: &mut State, full: bool) {
        self.usage.note(tcp, full);
        let decays = !self.governed && tcp.core.params.idle_restart != IdleRestart::Off;
        let may = self.condition == Condition::Open && !tcp.buffer.waits();
        self.usage.validate(tcp, decays, may);
    }

    // Probes and the timer.

    /// After an acknowledgement: for a probe, or for a timeout.
    fn set_timer(&mut self, tcp: &mut State) {
        if self.probes(tcp) {
            self.timer.schedule_probe(tcp, true);
        } else {
            self.timer.rearm(tcp);
        }
    }

    /// Whether a tail loss may be probed for (RFC 8985 §7.2).
    fn probes(&self, tcp: &State) -> bool {
        self.sack
            && tcp.core.params.tail_loss_probe
            && !tcp.core.board.is_empty()
            && matches!(self.condition, Condition::Open | Condition::Reduced)
    }

    /// RFC 8985 §7.3: sends new data, or the last segment again.
    fn send_probe(&mut self, tcp: &mut State) {
        // What the Nagle algorithm holds back is new data too.
        tcp.core.pushes = true;
        let new = tcp.core.fits_advertised(tcp.core.board.len());
        let paced = new && tcp.departs > tcp.core.now;
        let last =
            tcp.core.board.len().checked_sub(1).and_then(|index| tcp.core.board.get(index)).map(|segment| segment.seq);
        let Some(seq) =
            (if new { Some(tcp.core.board.max()) } else { last }).filter(|_| self.probe.is_none() && !paced)
        else {
            tcp.core.pushes = false;
            self.timer.rearm(tcp);
            return;
        };
        tcp.core.forced = Some(seq);
        tcp.core.tail_probe = true;
        tcp.core.counters.tail_loss_probes += 1;
        self.probing = true;
    }

    /// RFC 8985 §7.4.2.
    fn judge_probe(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        let Some(probe) = self.probe.filter(|probe| header.ack >= probe.end) else { return };
        let report = self.report;
        if !probe.retransmits || report.duplicate.is_some_and(|(_, end)| end == probe.end) {
            self.probe = None;
        } else if header.ack > probe.end {
            // The probe repaired a loss without any other sign (§7.4.1).
            self.probe = None;
            // If an earlier reduction is undone, the window becomes this one.
            if let Some(before) = self.undo.as_mut().and_then(|undo| undo.before.as_mut()) {
                before.cwnd = tcp.core.cwnd;
            }
            let repaired = Loss { sent: tcp.core.now, transmissions: 1 };
            tcp.core.report_as(control, &repaired, &tcp.core.view());
            self.enter(tcp, control, Condition::Reduced);
            self.end = tcp.core.board.max();
            self.end_reduction(tcp, control, false);
            self.keep_open(tcp, control);
        } else if !report.advances && !report.sacks {
            self.probe = None;
        }
    }
}
