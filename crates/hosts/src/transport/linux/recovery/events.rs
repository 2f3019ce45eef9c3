//! The events of the sender, as the recovery answers them.

use hopyard_engine::{Span, Time};

use super::super::state::State;
use super::Recovery;
use super::arrival::{Report, echoes_earlier};
use super::detection::Detection;
use super::pairs::Pairs;
use super::resending::Resending;
use super::timer::{Pending, Timer};
use super::undo::Undo;
use super::usage::Usage;
use crate::packet::TcpHeader;
use crate::transport::congestion::{Condition, CongestionControl as _, Controller};
use crate::transport::connection::{Acked, Params};
use crate::transport::recovery::proportional;

impl Recovery {
    pub fn new(params: &Params, control: &Controller) -> Self {
        Self {
            sack: params.linux.sack,
            proportional: proportional(params, control, true),
            governed: control.wants().recovery_window,
            condition: Condition::Open,
            end: 0,
            detection: Detection::new(params.duplicate_threshold),
            timer: Timer::new(),
            usage: Usage::default(),
            pairs: params.linux.pair_segments.then(Pairs::default),
            resending: Resending::default(),
            prr: None,
            marked: false,
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

    /// By how many segments the network reorders, as far as is known.
    pub const fn reordering(&self) -> u32 {
        self.detection.reordering
    }

    /// The opening segment was answered, after a round trip of `opened` if that is known.
    pub fn on_opened(&mut self, tcp: &mut State, opened: Option<Span>) {
        if let Some(round_trip) = opened {
            tcp.core.take_sample(round_trip, tcp.core.now - round_trip, false);
        }
        tcp.window_changed = tcp.core.now;
        self.timer.stop(tcp);
    }

    /// An event at the sender begins: an arrival, a timer, or data of the application.
    pub fn on_event(&mut self) {
        self.new_only = false;
        self.expired = false;
        self.resending.begin();
        if let Some(pairs) = &mut self.pairs {
            pairs.begin();
        }
    }

    /// The application has written more during an event: a full piece whose first buffer leaves `at_once`, or all.
    pub fn on_written(&mut self, at_once: bool) {
        if let Some(pairs) = &mut self.pairs {
            pairs.begin();
            pairs.at_once = at_once;
        }
    }

    /// Sending ends although there may be more to send: the application goes on writing.
    pub fn on_pause(&mut self, tcp: &mut State) {
        if std::mem::take(&mut self.sent_new) {
            self.note_usage(tcp, tcp.core.in_network() >= tcp.core.cwnd);
        }
    }

    /// Whether the new segment that was sent last ends its buffer.
    pub fn has_sent_buffer(&self) -> bool {
        self.pairs.as_ref().is_none_or(Pairs::has_sent_buffer)
    }

    /// How many new segments leave together at most.
    pub fn largest_buffer(&self, tcp: &State) -> u32 {
        self.pairs.as_ref().map_or(1, |_| Pairs::buffer(tcp))
    }

    /// An acknowledgement arrived that the scoreboard has not processed yet.
    pub fn inspect(&mut self, tcp: &mut State, header: &TcpHeader) {
        if let Some(sampler) = &mut tcp.core.sampler {
            // Losses until now do not count in the next sample.
            sampler.take_losses(tcp.core.lost);
        }
        let highest = tcp.core.board.high_sacked().unwrap_or(tcp.core.una());
        let mut detection = self.detection.clone();
        let report = Report::read(tcp, header, self.end, |segment, by_sack| {
            let spurious = !by_sack && segment.transmissions > 1 && echoes_earlier(header, segment.sent);
            if !spurious {
                detection.deliver(&tcp.core, segment);
            }
        });
        self.detection = detection;
        if let Some(duplicate) = report.duplicate {
            if self.probe.is_none_or(|probe| probe.end != duplicate.1) {
                self.detection.note_duplicate();
            }
            if let Some(undo) = &mut self.undo {
                undo.on_duplicate(&tcp.core, duplicate, report.una);
            }
        }
        tcp.mark_sacked(&header.sack);
        if self.condition != Condition::Loss || self.undo.is_some() {
            let reported = tcp.core.board.high_sacked().unwrap_or(tcp.core.una());
            self.detection.note_order(&tcp.core, report.lowest_sacked, reported);
        }
        // The extent is counted up to what is reported now.
        let lowest = report.lowest_acked.filter(|lowest| *lowest < highest);
        let reported = tcp.core.board.high_sacked().unwrap_or(tcp.core.una()).max(header.ack);
        self.detection.note_order(&tcp.core, lowest, reported);
        self.report = report;
        if !self.sack && self.report.advances {
            let named = self.report.without_unnamed(tcp.core.board.unnamed);
            tcp.core.board.unnamed = tcp.core.board.unnamed.saturating_sub(named.saturating_sub(1));
            let left = tcp.core.board.len() as u32 - named.min(tcp.core.board.len() as u32);
            self.limit_unnamed(tcp, left, named);
        }
    }

    /// New data was acknowledged, and the scoreboard has processed it.
    pub fn on_ack(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader, acked: &Acked) {
        tcp.core.duplicates = 0;
        self.process(tcp, control, header, Some(acked));
    }

    /// A duplicate acknowledgement arrived.
    pub fn on_duplicate(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        tcp.core.duplicates += 1;
        if !self.sack && (self.condition != Condition::Loss || tcp.core.board.max() > self.end) {
            let before = tcp.core.board.unnamed;
            tcp.core.board.unnamed += 1;
            self.limit_unnamed(tcp, tcp.core.board.len() as u32, 0);
            self.report.add_unnamed(tcp.core.board.unnamed.saturating_sub(before), tcp.core.params.mss());
        }
        self.process(tcp, control, header, None);
    }

    /// An acknowledgement arrived whose number is older than another's. Its report by SACK may be new.
    pub fn on_old(&mut self, tcp: &mut State, control: &mut Controller, header: &TcpHeader) {
        if !header.sack.is_empty() {
            self.inspect(tcp, header);
            // It gives no round trip, and neither the window nor the timer follows it.
            self.answer(tcp, control, header);
        }
    }

    /// How often the timer has expired for the same losses, so that the congestion control does not answer
    /// them again.
    pub fn repeats_timeout(&self, tcp: &State) -> u32 {
        let answered = match self.condition {
            Condition::Open | Condition::Disorder => false,
            Condition::Loss if tcp.core.timeouts_in_row == 0 => false,
            _ => self.end > tcp.core.una(),
        };
        if answered { tcp.core.timeouts_in_row.max(1) } else { 0 }
    }

    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self, tcp: &mut State) {
        self.expired = true;
        let reduces = self.repeats_timeout(tcp) == 0;
        self.suspicious = matches!(self.condition, Condition::Open | Condition::Disorder | Condition::Reduced)
            || tcp.core.timeouts_in_row > 0;
        let before = self.before(tcp);
        let duplicates = self.may_be_duplicates(tcp);
        (self.prr, self.marked) = (None, false);
        // What a probe says does not count for losses that a timeout has answered.
        self.probe = None;
        self.timer.stop(tcp);
        tcp.core.duplicates = 0;
        tcp.core.board.unnamed = 0;
        self.detection.mark_timed_out(tcp);
        let threshold = tcp.core.params.duplicate_threshold;
        if matches!(self.condition, Condition::Open | Condition::Disorder)
            && tcp.core.board.sacked() >= threshold as usize
        {
            self.detection.forget_extent(threshold);
        }
        if reduces {
            self.undo = Some(Undo::new(&tcp.core, Some(before), duplicates));
        }
        self.end = tcp.core.board.max();
        if !tcp.core.board.is_empty() {
            tcp.core.retransmit_first();
        }
    }

    /// The congestion control has answered the timeout.
    pub fn after_timeout(&mut self, tcp: &mut State, control: &mut Controller) {
        tcp.core.cwnd = tcp.core.in_network() + 1.0;
        tcp.window_changed = tcp.core.now;
        self.enter(tcp, control, Condition::Loss);
    }

    /// When `on_timer` must be called.
    pub fn deadline(&self) -> Time {
        self.timer.at
    }

    /// The deadline has been reached, or the call is early.
    pub fn on_timer(&mut self, tcp: &mut State, control: &mut Controller) {
        if tcp.core.now < self.timer.at {
            return;
        }
        self.timer.at = Time::NEVER;
        self.expired = true;
        if self.timer.pending == Pending::Probe {
            self.send_probe(tcp);
            return;
        }
        let in_network = tcp.core.in_network();
        self.detection.detect(tcp, self.repairs());
        if tcp.core.in_network() < in_network && self.condition != Condition::Recovery {
            self.begin_recovery(tcp, control);
            self.reduce(tcp, 1.0, false);
        }
        self.timer.rearm(tcp);
    }

    /// The next segment in normal order, counted from the first unacknowledged one, if the window has room.
    pub fn next(&mut self, tcp: &mut State) -> Option<usize> {
        let new = tcp.core.board.len();
        tcp.core.board.set_next(new);
        let room = tcp.core.in_network() + 1.0 <= tcp.core.cwnd;
        let lost = if self.new_only { None } else { tcp.core.board.first_lost() };
        // The last segment is sent with the one before it, but not when a timer has expired.
        let last = tcp.core.params.linux.fin_beyond_window && tcp.core.ends_with(tcp.core.new_payload());
        let index = if room { lost.unwrap_or(new) } else { new };
        let repairs = self.repairs();
        let waits = match &mut self.pairs {
            Some(pairs) if room && index == new => pairs.waits(tcp, repairs),
            _ => false,
        };
        // A timer sends no new data of itself.
        if (room || last) && !waits && !(self.expired && index == new) && tcp.core.fits_advertised(index) {
            if index < new && self.pairs.is_some() {
                self.resending.choose(tcp, index);
            }
            return Some(index);
        }
        let full = !room || (waits && self.pairs.as_ref().is_some_and(Pairs::waits_for_window));
        if std::mem::take(&mut self.sent_new) || (full && tcp.core.fits_advertised(new)) {
            self.note_usage(tcp, full);
        }
        None
    }

    /// The next segment is not sent yet, because the sender's node has no room for it.
    pub fn on_held(&mut self, tcp: &mut State) {
        if let Some(pairs) = &mut self.pairs {
            pairs.hold(tcp);
        }
        self.on_pause(tcp);
    }

    /// A segment for which the window may have had no room is not sent: it waits in the node, or the node has no
    /// room.
    pub fn on_refused(&mut self, tcp: &mut State) {
        if std::mem::take(&mut self.probing) {
            tcp.core.pushes = false;
            self.timer.rearm(tcp);
        }
    }

    /// How many segments may leave together from the one at `index` on, of the `quantum` that pacing allows.
    pub fn together(&self, tcp: &State, index: usize, quantum: u32) -> u32 {
        self.pairs.as_ref().map_or(quantum, |pairs| pairs.together(tcp, index, quantum))
    }

    /// How many segments are in the buffer that begins with the one at `index`, which `next` has returned, if
    /// segments leave in pairs.
    pub fn buffer(&self, tcp: &State, index: usize) -> Option<u32> {
        let sent = index < tcp.core.board.len();
        self.pairs.as_ref().map(|pairs| if sent { tcp.together(index) } else { pairs.whole() })
    }
}
