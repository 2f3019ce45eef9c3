//! RACK-TLP as Linux runs it: the whole procedure of loss recovery of a Linux 6.1 sender with SACK.
//!
//! Read: RFC 8985 (RACK-TLP), RFC 9937 (proportional rate reduction), RFC 3522 and RFC 4015 (Eifel), RFC 3708 (DSACK),
//! RFC 5682 (F-RTO), and captures of Linux 6.1 senders, against which it is compared event by event
//! (`tests/linux_captures.rs`). It differs from `rack.rs` as follows. Round trips are measured in microseconds, of the
//! first segment that an acknowledgement delivers, and of what SACK reports. One timer waits for a probe, for segments
//! within the reordering window, or for a timeout. It restarts with SACK too, unless what SACK reports was sent after
//! the first segment was sent last. A timeout leaves segments in the network that were sent less than a round trip ago.
//! Reductions that timestamps or DSACK show to be for nothing are undone, and the answers to the first segments after a
//! timeout show whether it was spurious. The window grows with the acknowledgement that ends a recovery, and only if it
//! was full within the last window. The segment with the FIN does not wait for the window.
//!
//! Without SACK the same procedure counts duplicate acknowledgements: each stands for a segment that has arrived, an
//! acknowledgement of new data takes them back, and the first segment is lost after three, or after a partial
//! acknowledgement. There are no probes then.
//!
//! Left out: reneging, ECN, path MTU discovery. The minimum round trip is that of the whole connection.

mod arrival;
mod detection;
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
use self::timer::{Pending, Timer};
use self::undo::Undo;
use self::usage::Usage;
use super::loss_recovery::{Arrival, LossRecovery, Recovers, proportional};
use super::prr::Prr;
use crate::packet::TcpHeader;
use crate::transport::congestion::{Before, Condition, CongestionControl, Controller, Phase};
use crate::transport::connection::{Acked, Core, IdleRestart, Params};

/// A tail loss probe that is not answered: the end of all data sent with it, and whether it was a retransmission.
#[derive(Clone, Copy, Debug)]
struct Probe {
    end: u64,
    retransmits: bool,
}

/// With SACK.
pub type RackLinux = Procedure<true>;
/// Without SACK: losses are found by counting duplicate acknowledgements (RFC 6582).
pub type NewRenoLinux = Procedure<false>;

#[derive(Clone, Debug)]
pub struct Procedure<const SACK: bool> {
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

impl<const SACK: bool> Procedure<SACK> {
    fn enter(&mut self, core: &Core, control: &mut Controller, condition: Condition) {
        self.condition = condition;
        control.on_condition(condition, &core.view());
    }

    const fn repairs(&self) -> bool {
        matches!(self.condition, Condition::Recovery | Condition::Loss)
    }

    /// Segments that were sent again and are in the network.
    fn resent_in_network(core: &Core) -> u32 {
        core.board.iter().filter(|segment| segment.resent).count() as u32
    }

    /// Whether a segment that was sent again may still be missing.
    fn was_resent(core: &Core) -> bool {
        core.board.get(0).is_some_and(|first| first.transmissions > 1) || Self::resent_in_network(core) > 0
    }

    /// The threshold that an undone reduction returns to.
    fn before(&self, core: &Core) -> Before {
        let ssthresh = match self.condition {
            Condition::Recovery | Condition::Reduced => core.ssthresh,
            _ => core.ssthresh.max(libm::floor(core.cwnd / 2.0) + libm::floor(core.cwnd / 4.0)),
        };
        Before { cwnd: core.cwnd, ssthresh }
    }

    // How it answers an acknowledgement.

    /// The steps of every acknowledgement, after the scoreboard has processed it.
    fn process(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader, acked: Option<&Acked>) {
        let report = self.report;
        let lost = core.lost;
        let trips = report.round_trips(core, header);
        if let Some(last) = trips.last {
            core.note_round_trip(last);
        }
        if let Some(first) = trips.first {
            core.take_sample(first, core.now - first, false);
        }
        core.announce(control, trips.last);
        let first_sent = core.board.get(0).map(|first| core.now.since(first.sent));
        let sets_timer = report.advances
            || trips
                .sacked
                .is_some_and(|sacked| trips.first.is_some() && first_sent.is_some_and(|since| sacked > since));
        if let Some(sent) = report.newest {
            self.detection.widen(core, sent);
        }
        self.judge_probe(core, control, header);
        let waits = self.answer(core, control, header);
        if sets_timer && !waits {
            self.set_timer(core);
        }
        self.adjust_window(core, control, acked, trips.last, core.lost - lost);
    }

    /// The window after the acknowledgement.
    fn adjust_window(
        &mut self,
        core: &mut Core,
        control: &mut Controller,
        acked: Option<&Acked>,
        round_trip: Option<Span>,
        newly_lost: u64,
    ) {
        let report = self.report;
        let recovering = self.condition == Condition::Recovery;
        let may_grow = report.advances || (self.detection.reordering > core.params.duplicate_threshold && report.sacks);
        core.window_limited = self.usage.limits(core);
        if may_grow {
            let phase = if recovering { Phase::Partial } else { Phase::Open };
            let acked = acked.copied().unwrap_or_default();
            // Segments count, full or not.
            let bytes = u64::from(report.segments) * u64::from(core.params.mss());
            let delivered = Acked { delivered: bytes, round_trip, ..acked };
            core.grow(control, &delivered, phase);
            if !recovering {
                core.window_changed = core.now;
            }
        } else {
            core.report_duplicate(control, report.bytes);
        }
        if recovering && report.segments > 0 {
            self.reduce(core, f64::from(report.segments), report.advances && newly_lost == 0);
        }
    }

    /// Allows the segments of an event in a recovery.
    fn reduce(&mut self, core: &mut Core, delivered: f64, safe: bool) {
        if let Some(prr) = &mut self.prr {
            let pipe = core.in_network();
            core.cwnd = pipe + prr.on_delivered(delivered, pipe, safe).max(0.0);
        }
    }

    /// What the acknowledgement means for losses. Returns whether the timer waits for segments within the reordering
    /// window.
    fn answer(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) -> bool {
        let report = self.report;
        if self.condition == Condition::Open && report.advances && !report.sacks && report.duplicate.is_none() {
            return false;
        }
        if self.condition == Condition::Open {
            self.first_resent = None;
        } else if core.una() >= self.end && self.condition == Condition::Recovery {
            if self.holds(core) {
                return false;
            }
            self.finish_recovery(core, control, header);
        }
        if !SACK && report.advances && self.condition != Condition::Recovery {
            core.unnamed = 0;
        }
        match self.condition {
            Condition::Recovery => self.continue_recovery(core, control, header),
            Condition::Loss => {
                self.continue_loss(core, control, header);
                let (waits, lost_again) = self.detect(core);
                if self.condition == Condition::Open || lost_again {
                    self.begin_if_lost(core, control);
                }
                waits
            }
            Condition::Open | Condition::Disorder | Condition::Reduced => {
                if self.condition != Condition::Reduced {
                    self.undo_by_duplicates(core, control);
                }
                let (waits, _) = self.detect(core);
                self.begin_if_lost(core, control);
                waits
            }
        }
    }

    fn continue_recovery(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) -> bool {
        let late = self.undo.is_some() && self.first_resent.is_some_and(|sent| echoes_earlier(header, sent));
        if self.report.advances && late {
            // The original was only late.
            let highest = core.board.high_sacked().unwrap_or(core.una());
            self.detection.note_order(core, Some(self.report.una), highest);
            if Self::resent_in_network(core) > 0 {
                self.new_only = true;
                return false;
            }
            self.undo_reduction(core, control, true);
            self.keep_open(core, control);
        }
        if self.undo_by_duplicates(core, control) {
            self.keep_open(core, control);
        }
        let (waits, _) = self.detect(core);
        if self.condition != Condition::Recovery {
            self.begin_if_lost(core, control);
        }
        waits
    }

    /// After a timeout: whether it was spurious (RFC 3522, RFC 5682 §3.1), and the end of the repair.
    fn continue_loss(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let report = self.report;
        let recovered = core.una() >= self.end;
        let due = self.undo.is_some_and(|undo| undo.is_due(header, self.first_resent));
        if report.advances && due {
            self.undo_reduction(core, control, true);
            self.enter(core, control, Condition::Open);
            return;
        }
        if self.suspicious {
            if report.original_arrived {
                self.undo_reduction(core, control, true);
                self.enter(core, control, Condition::Open);
                return;
            }
            if core.board.max() > self.end {
                if report.sacks || !report.advances {
                    self.suspicious = false;
                }
            } else if report.advances && !recovered {
                self.end = core.board.max();
                core.recover = self.end;
                core.pushes = true;
                if core.fits_advertised(core.board.len()) {
                    self.new_only = true;
                    return;
                }
                core.pushes = false;
                self.suspicious = false;
            }
        }
        if recovered && !self.holds(core) {
            self.leave_repair(core, control, header);
        }
    }

    /// Without SACK the state stays until something beyond the losses is acknowledged: duplicates of the repair must
    /// not look like a new loss (RFC 6582 §4). A reduction that may turn out to be for nothing is undone in any case.
    const fn holds(&self, core: &mut Core) -> bool {
        if SACK {
            return false;
        }
        core.unnamed = 0;
        core.una() == self.end
    }

    /// The losses of a recovery are repaired.
    fn finish_recovery(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        self.leave_repair(core, control, header);
        let undone = self.undo.is_none();
        self.end_reduction(core, control, undone);
    }

    /// Nothing is missing any more. A reduction that was for nothing is undone.
    fn leave_repair(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        if self.undo.is_some_and(|undo| undo.is_due(header, self.first_resent)) {
            self.undo_reduction(core, control, false);
        } else {
            self.detection.calm_down();
        }
        self.enter(core, control, Condition::Open);
    }

    /// The window becomes the target of the reduction.
    fn end_reduction(&mut self, core: &mut Core, control: &mut Controller, undone: bool) {
        self.prr = None;
        if !undone && !self.governed {
            core.cwnd = core.ssthresh;
        }
        core.window_changed = core.now;
        core.end_recovery(control);
    }

    /// The condition when nothing needs repair.
    fn keep_open(&mut self, core: &Core, control: &mut Controller) {
        let missing = core.board.sacked() > 0 || core.unnamed > 0 || core.board.lost() > 0 || Self::was_resent(core);
        let condition = if missing { Condition::Disorder } else { Condition::Open };
        if condition != self.condition {
            self.end = core.board.max();
            self.enter(core, control, condition);
        }
    }

    /// Checks for losses. Returns whether the timer waits for segments within the reordering window, and whether a
    /// retransmission is lost.
    fn detect(&mut self, core: &mut Core) -> (bool, bool) {
        if !SACK {
            let lost = match self.condition {
                Condition::Recovery => self.report.advances,
                Condition::Loss => false,
                _ => core.unnamed >= self.detection.reordering,
            };
            if lost {
                core.mark_lost(0);
            }
            return (false, false);
        }
        if !std::mem::take(&mut self.detection.advanced) {
            return (false, false);
        }
        let found = self.detection.detect(core, self.repairs());
        if let Some(wait) = found.wait {
            self.timer.wait_for_reordering(core, wait);
        }
        (found.wait.is_some(), found.lost_again)
    }

    fn begin_if_lost(&mut self, core: &mut Core, control: &mut Controller) {
        // A loss that was repaired already begins a recovery too, if it lies beyond the last one.
        if core.board.first_missing().is_some() {
            self.begin_recovery(core, control);
        } else if self.condition != Condition::Loss {
            if !Self::was_resent(core) {
                self.first_resent = None;
            }
            self.keep_open(core, control);
        }
    }

    fn begin_recovery(&mut self, core: &mut Core, control: &mut Controller) {
        let Some(first) = core.board.first_missing() else { return };
        let before = self.before(core);
        self.undo = Some(Undo::new(core, Some(before), Self::resent_in_network(core)));
        self.probe = None;
        self.end = core.board.max();
        core.begin_recovery(control, first);
        if self.proportional {
            core.cwnd = before.cwnd;
            self.prr = Some(Prr::new(core.ssthresh, before.cwnd));
        }
        self.enter(core, control, Condition::Recovery);
    }

    /// No more segments can have arrived than are outstanding but for those missing. More duplicate acknowledgements
    /// show that the network reorders. `outstanding` segments are left, `acked` were acknowledged.
    fn limit_unnamed(&mut self, core: &mut Core, outstanding: u32, acked: u32) {
        let missing = (core.board.lost() as u32).max(1).min(outstanding);
        if core.unnamed + missing > outstanding {
            core.unnamed = outstanding - missing;
            self.detection.note_extent(outstanding + acked);
        }
    }

    /// Sending ends. A window that was not full for longer than a timeout decays (RFC 2861 §3.2), unless the
    /// application waits for room.
    fn note_usage(&mut self, core: &mut Core, full: bool) {
        self.usage.note(core, full);
        let decays = !self.governed && core.params.idle_restart == IdleRestart::Halving;
        let may = self.condition == Condition::Open && !core.buffer.waits();
        self.usage.validate(core, decays, may);
    }

    // Probes and the timer.

    /// After an acknowledgement: for a probe, or for a timeout.
    fn set_timer(&mut self, core: &mut Core) {
        if self.probes(core) {
            self.timer.schedule_probe(core, true);
        } else {
            self.timer.rearm(core);
        }
    }

    /// Whether a tail loss may be probed for (RFC 8985 §7.2).
    fn probes(&self, core: &Core) -> bool {
        SACK && core.params.tail_loss_probe
            && !core.board.is_empty()
            && matches!(self.condition, Condition::Open | Condition::Reduced)
    }

    /// RFC 8985 §7.3: sends new data, or the last segment again.
    fn send_probe(&mut self, core: &mut Core) {
        // What the Nagle algorithm holds back is new data too.
        core.pushes = true;
        let new = core.fits_advertised(core.board.len());
        let paced = new && core.departs > core.now;
        let last = core.board.len().checked_sub(1).and_then(|index| core.board.get(index)).map(|segment| segment.seq);
        let Some(seq) = (if new { Some(core.board.max()) } else { last }).filter(|_| self.probe.is_none() && !paced)
        else {
            core.pushes = false;
            self.timer.rearm(core);
            return;
        };
        core.forced = Some(seq);
        core.tail_probe = true;
        core.counters.tail_loss_probes += 1;
        self.probing = true;
    }

    /// RFC 8985 §7.4.2.
    fn judge_probe(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let Some(probe) = self.probe.filter(|probe| header.ack >= probe.end) else { return };
        let report = self.report;
        if !probe.retransmits || report.duplicate.is_some_and(|(_, end)| end == probe.end) {
            self.probe = None;
        } else if header.ack > probe.end {
            // The probe repaired a loss without any other sign (§7.4.1).
            self.probe = None;
            core.report_loss(control, 0);
            self.enter(core, control, Condition::Reduced);
            self.end = core.board.max();
            self.end_reduction(core, control, false);
            self.keep_open(core, control);
        } else if !report.advances && !report.sacks {
            self.probe = None;
        }
    }
}

impl<const SACK: bool> Recovers for Procedure<SACK> {
    const WANTS_SACK: bool = SACK;
    const MARKS: bool = true;
    const AS_LINUX: bool = true;

    fn new(params: &Params, control: &Controller) -> Self {
        Self {
            proportional: proportional(params, control, true),
            governed: control.governs_recovery(),
            condition: Condition::Open,
            end: 0,
            detection: Detection::new(params.duplicate_threshold),
            timer: Timer::new(),
            usage: Usage::default(),
            pairs: params.pair_segments.then(Pairs::default),
            resending: Resending::default(),
            prr: None,
            undo: None,
            first_resent: None,
            probe: None,
            probing: false,
            suspicious: false,
            new_only: false,
            expired: false,
            sent_new: false,
            report: Report::default(),
        }
    }
}

impl<const SACK: bool> LossRecovery for Procedure<SACK> {
    fn reordering(&self) -> Option<u32> {
        Some(self.detection.reordering)
    }

    fn on_opened(&mut self, core: &mut Core, opened: Option<Span>) {
        if let Some(round_trip) = opened {
            core.take_sample(round_trip, core.now - round_trip, false);
        }
        core.stop_timing();
        core.window_changed = core.now;
        self.timer.stop(core);
    }

    fn on_event(&mut self) {
        self.new_only = false;
        self.expired = false;
        self.resending.begin();
        if let Some(pairs) = &mut self.pairs {
            pairs.begin();
        }
    }

    fn on_written(&mut self) {
        if let Some(pairs) = &mut self.pairs {
            pairs.begin();
        }
    }

    fn on_pause(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.sent_new) {
            self.note_usage(core, core.in_network() >= core.cwnd);
        }
    }

    fn largest_buffer(&self, core: &Core) -> u32 {
        self.pairs.as_ref().map_or(1, |_| Pairs::buffer(core))
    }

    fn inspect(&mut self, core: &mut Core, _control: &mut Controller, header: &TcpHeader) {
        core.forget_losses();
        let highest = core.board.high_sacked().unwrap_or(core.una());
        let mut detection = self.detection.clone();
        let report = Report::read(core, header, self.end, |segment, by_sack| {
            let spurious = !by_sack && segment.transmissions > 1 && echoes_earlier(header, segment.sent);
            if !spurious {
                detection.deliver(core, segment);
            }
        });
        self.detection = detection;
        if let Some(duplicate) = report.duplicate {
            if self.probe.is_none_or(|probe| probe.end != duplicate.1) {
                self.detection.note_duplicate();
            }
            if let Some(undo) = &mut self.undo {
                undo.on_duplicate(core, duplicate, report.una);
            }
        }
        core.board.mark_sacked(&header.sack);
        if self.condition != Condition::Loss || self.undo.is_some() {
            let reported = core.board.high_sacked().unwrap_or(core.una());
            self.detection.note_order(core, report.lowest_sacked, reported);
        }
        // The extent is counted up to what is reported now.
        let lowest = report.lowest_acked.filter(|lowest| *lowest < highest);
        let reported = core.board.high_sacked().unwrap_or(core.una()).max(header.ack);
        self.detection.note_order(core, lowest, reported);
        self.report = report;
        if !SACK && self.report.advances {
            let named = self.report.without_unnamed(core.unnamed);
            core.unnamed = core.unnamed.saturating_sub(named.saturating_sub(1));
            let left = core.board.len() as u32 - named.min(core.board.len() as u32);
            self.limit_unnamed(core, left, named);
        }
    }

    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        core.duplicates = 0;
        self.process(core, control, arrival.header, Some(&arrival.acked));
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        core.duplicates += 1;
        if !SACK && (self.condition != Condition::Loss || core.board.max() > self.end) {
            let before = core.unnamed;
            core.unnamed += 1;
            self.limit_unnamed(core, core.board.len() as u32, 0);
            self.report.add_unnamed(core.unnamed.saturating_sub(before), core.params.mss());
        }
        self.process(core, control, header, None);
    }

    fn on_old(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        if !header.sack.is_empty() {
            self.inspect(core, control, header);
            // It gives no round trip, and neither the window nor the timer follows it.
            self.answer(core, control, header);
        }
    }

    fn repeats_timeout(&self, core: &Core) -> u32 {
        let answered = match self.condition {
            Condition::Open | Condition::Disorder => false,
            Condition::Loss if core.timeouts_in_row == 0 => false,
            _ => self.end > core.una(),
        };
        if answered { core.timeouts_in_row.max(1) } else { 0 }
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.expired = true;
        let reduces = self.repeats_timeout(core) == 0;
        self.suspicious = matches!(self.condition, Condition::Open | Condition::Disorder | Condition::Reduced)
            || core.timeouts_in_row > 0;
        let before = self.before(core);
        self.prr = None;
        // What a probe says does not count for losses that a timeout has answered.
        self.probe = None;
        self.timer.stop(core);
        core.duplicates = 0;
        core.unnamed = 0;
        self.detection.mark_timed_out(core);
        let threshold = core.params.duplicate_threshold;
        if matches!(self.condition, Condition::Open | Condition::Disorder) && core.board.sacked() >= threshold as usize
        {
            self.detection.forget_extent(threshold);
        }
        if reduces {
            self.undo = Some(Undo::new(core, Some(before), Self::resent_in_network(core)));
        }
        self.end = core.board.max();
        if !core.board.is_empty() {
            core.retransmit_first();
        }
    }

    fn after_timeout(&mut self, core: &mut Core, control: &mut Controller) {
        core.cwnd = core.in_network() + 1.0;
        core.window_changed = core.now;
        self.enter(core, control, Condition::Loss);
    }

    fn deadline(&self) -> Time {
        self.timer.at
    }

    fn on_timer(&mut self, core: &mut Core, control: &mut Controller) {
        if core.now < self.timer.at {
            return;
        }
        self.timer.at = Time::NEVER;
        self.expired = true;
        if self.timer.pending == Pending::Probe {
            self.send_probe(core);
            return;
        }
        let in_network = core.in_network();
        self.detection.detect(core, self.repairs());
        if core.in_network() < in_network && self.condition != Condition::Recovery {
            self.begin_recovery(core, control);
            self.reduce(core, 1.0, false);
        }
        self.timer.rearm(core);
    }

    fn next(&mut self, core: &mut Core) -> Option<usize> {
        let new = core.board.len();
        core.board.set_next(new);
        let room = core.in_network() + 1.0 <= core.cwnd;
        let lost = if self.new_only { None } else { core.board.first_lost() };
        // The last segment is sent with the one before it, but not when a timer has expired.
        let last = core.params.fin_beyond_window && !self.expired && core.ends_with(core.new_payload());
        let index = if room { lost.unwrap_or(new) } else { new };
        let repairs = self.repairs();
        let waits = match &mut self.pairs {
            Some(pairs) if room && index == new => pairs.waits(core, core.cwnd - core.in_network(), repairs),
            _ => false,
        };
        if (room || last) && !waits && core.fits_advertised(index) {
            if index < new && self.pairs.is_some() {
                self.resending.choose(core, index);
            }
            return Some(index);
        }
        let full = !room || (waits && !self.pairs.as_ref().is_some_and(Pairs::waits_for_receiver));
        if std::mem::take(&mut self.sent_new) || (full && core.fits_advertised(new)) {
            self.note_usage(core, full);
        }
        None
    }

    fn on_sent(&mut self, core: &mut Core, index: usize) {
        self.note_sent(core, index);
    }

    fn on_forced(&mut self, core: &mut Core, index: usize) {
        self.note_sent(core, index);
    }

    fn on_held(&mut self, core: &mut Core) {
        if let Some(pairs) = &mut self.pairs {
            pairs.hold(core);
        }
        self.on_pause(core);
    }

    fn on_refused(&mut self, core: &mut Core) {
        if std::mem::take(&mut self.probing) {
            core.pushes = false;
            self.timer.rearm(core);
        }
    }

    fn together(&self, core: &Core, index: usize, quantum: u32) -> u32 {
        self.pairs.as_ref().map_or(quantum, |pairs| pairs.together(core, index, quantum))
    }

    fn buffer(&self, core: &Core, index: usize) -> Option<u32> {
        let sent = index < core.board.len();
        self.pairs.as_ref().map(|pairs| if sent { core.board.buffer(index) } else { pairs.whole() })
    }

    fn sets_timer(&self) -> bool {
        true
    }
}
