//! Loss recovery with selective acknowledgements (RFC 6675), on whole segments.
//!
//! SACK information is kept after a timeout, so that the retransmissions skip reported segments. RFC 6675 §5.1 allows
//! this, because receivers here never discard data that they have reported.

use super::prr::Prr;
use super::{Arrival, LossRecovery, Recovers, proportional};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Params};

#[derive(Clone, Debug, Default)]
pub struct Sack {
    /// Proportional rate reduction (RFC 9937) is used instead of §5 step (C).
    proportional: bool,
    prr: Option<Prr>,
    recovering: bool,
    /// Segments on the path (§4 `SetPipe`).
    pipe: u32,
    /// `HighRxt`: the end of the highest segment retransmitted in this recovery.
    high_rxt: u64,
    /// `RescueRxt`, as the sequence number after it: a rescue retransmission is possible when more than this is
    /// acknowledged.
    rescue_rxt: u64,
    /// The segment that rule (4) of `NextSeg` chose last.
    rescue: Option<usize>,
    /// Unreported segments up to this index are lost (§4 `IsLost`).
    lost_below: usize,
}

impl Sack {
    fn with(proportional: bool) -> Self {
        Self { proportional, ..Self::default() }
    }

    /// `IsLost` for all segments at once. A segment is lost if DupThresh separate blocks, or more than DupThresh - 1
    /// segments, above it are reported. If this holds for a segment, it holds for every segment below it.
    fn find_lost(&mut self, core: &mut Core) {
        self.set_lost_below(core);
        for index in core.board.index_of(self.high_rxt)..self.lost_below {
            core.mark_lost(index);
        }
    }

    fn set_lost_below(&mut self, core: &Core) {
        let threshold = core.params.duplicate_threshold;
        let (mut blocks, mut segments, mut within) = (0, 0, false);
        self.lost_below = 0;
        if core.board.high_sacked().is_none() {
            return;
        }
        for (index, segment) in core.board.iter().enumerate().rev() {
            if segment.sacked {
                segments += 1;
                blocks += u32::from(!within);
            } else if blocks >= threshold || segments >= threshold {
                self.lost_below = index + 1;
                return;
            }
            within = segment.sacked;
        }
    }

    /// `SetPipe`.
    fn set_pipe(&mut self, core: &mut Core) {
        self.find_lost(core);
        self.pipe = core
            .board
            .iter()
            .enumerate()
            .filter(|(_, segment)| !segment.sacked)
            .map(|(index, segment)| u32::from(index >= self.lost_below) + u32::from(segment.end() <= self.high_rxt))
            .sum();
        core.pipe = Some(self.pipe);
    }

    /// `NextSeg`, rules 1 to 4.
    fn next_segment(&mut self, core: &Core) -> Option<usize> {
        let board = &core.board;
        self.rescue = None;
        let from = board.index_of(self.high_rxt.max(core.una()));
        let high = board.high_sacked().unwrap_or(0);
        let hole = board
            .iter()
            .enumerate()
            .skip(from)
            .take_while(|(_, segment)| segment.end() < high)
            .find(|(_, segment)| !segment.sacked)
            .map(|(index, _)| index);
        // (1) The first unreported segment that was not retransmitted, if it is lost.
        if let Some(index) = hole
            && index < self.lost_below
        {
            return Some(index);
        }
        // (2) New data.
        let new = board.len();
        if core.fits_advertised(new) {
            return Some(new);
        }
        // (3) The first unreported segment that was not retransmitted, lost or not.
        if hole.is_some() {
            return hole;
        }
        // (4) The rescue retransmission: once in each recovery, the last outstanding unreported segment, if HighACK is
        // greater than RescueRxt. A segment that this recovery has already retransmitted is not sent again; the RFC
        // allows it.
        if core.una() > self.rescue_rxt {
            let last = board.iter().rposition(|segment| !segment.sacked);
            self.rescue = last.filter(|&last| board.get(last).is_some_and(|segment| segment.end() > self.high_rxt));
        }
        self.rescue
    }

    /// Enters recovery on an acknowledgement that delivers `delivered` bytes.
    fn enter(&mut self, core: &mut Core, control: &mut Controller, delivered: u64) {
        self.recovering = true;
        // The flight before the acknowledgement.
        let flight = (core.board.len() - core.board.sacked()) as f64 + core.segments(delivered);
        core.enter_recovery(control);
        if self.proportional {
            // The pipe does not contain the first retransmission yet.
            self.high_rxt = core.una();
            self.set_pipe(core);
            let mut prr = Prr::new(core.cwnd, flight);
            prr.reduce(core, delivered, false);
            // The first retransmission has already been chosen.
            prr.on_sent();
            self.prr = Some(prr);
        }
        // §5 steps (4.3) and (4.4).
        self.high_rxt = core.board.get(0).map_or(0, |first| first.end());
        self.rescue_rxt = self.high_rxt;
        self.rescue = None;
        self.set_pipe(core);
    }

    /// Processes a duplicate acknowledgement outside recovery that reports `news` of the bytes that it delivers.
    /// Returns whether it shows a loss, so that recovery begins.
    fn count_duplicate(&mut self, core: &mut Core, control: &mut Controller, news: u64, delivered: u64) -> bool {
        core.duplicates += 1;
        self.find_lost(core);
        core.report_duplicate(control, news);
        // §5 steps (1) and (2): the count, or IsLost(HighACK + 1).
        let lost = core.duplicates >= core.params.duplicate_threshold || self.lost_below > 0;
        // §5.1 after a timeout: not before HighACK has reached RecoveryPoint. RFC 6582 requires more, because without
        // SACK late duplicates look like a loss.
        if lost && core.una() >= core.recover {
            self.enter(core, control, delivered);
        }
        lost
    }

    /// Sets the window to the target of the reduction.
    fn finish_reduction(&mut self, core: &mut Core) {
        if let Some(prr) = self.prr.take() {
            core.cwnd = prr.target();
        }
    }
}

impl Recovers for Sack {
    const WANTS_SACK: bool = true;

    fn new(params: &Params, control: &Controller) -> Self {
        Self::with(proportional(params, control, false))
    }
}

impl LossRecovery for Sack {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        let news = core.board.mark_sacked(&arrival.header.sack);
        let delivered = arrival.acked.delivered + news;
        if self.recovering && core.una() < core.recover {
            core.arm_timer();
            core.measure();
            let known = core.lost;
            self.set_pipe(core);
            core.grow(control, &arrival.acked, Phase::Partial);
            if let Some(prr) = &mut self.prr {
                prr.reduce(core, delivered, core.lost == known);
            }
            return;
        }
        let recovered = std::mem::take(&mut self.recovering);
        let phase = if recovered {
            self.finish_reduction(core);
            core.end_recovery(control);
            core.exit_phase()
        } else {
            Phase::Open
        };
        core.acknowledge();
        core.grow(control, &arrival.acked, phase);
        // §2 and §5: an acknowledgement that reports something new is a duplicate even if it acknowledges new data.
        if news > 0 && !recovered {
            self.count_duplicate(core, control, news, delivered);
        }
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let news = core.board.mark_sacked(&header.sack);
        if self.recovering {
            core.duplicates += 1;
            self.set_pipe(core);
            core.report_duplicate(control, news);
            if let Some(prr) = &mut self.prr {
                prr.reduce(core, news, false);
            }
            return;
        }
        // §2: a duplicate acknowledgement reports something new.
        if news == 0 {
            core.hold();
            return;
        }
        if !self.count_duplicate(core, control, news, news) {
            core.hold();
            core.limited_transmit();
        }
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.finish_reduction(core);
        core.mark_all_lost();
        self.recovering = false;
        self.high_rxt = 0;
        core.duplicates = 0;
    }

    fn next(&mut self, core: &mut Core) -> Option<usize> {
        if !self.recovering {
            // Retransmission after a timeout skips the segments that the receiver has.
            let mut next = core.board.next();
            while core.board.get(next).is_some_and(|segment| segment.sacked) {
                next += 1;
            }
            core.board.set_next(next);
            return core.next_in_window();
        }
        // §5 step (C), or the segments that proportional rate reduction allows.
        let room = self.prr.map_or(f64::from(self.pipe) + 1.0 <= core.cwnd, |prr| prr.has_room());
        if !room {
            return None;
        }
        let index = self.next_segment(core)?;
        core.fits_advertised(index).then_some(index)
    }

    fn on_sent(&mut self, core: &mut Core, index: usize) {
        self.pipe += 1;
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        core.pipe = self.recovering.then_some(self.pipe);
        if !self.recovering {
            return;
        }
        if self.rescue.take() == Some(index) {
            // Rule (4) of `NextSeg`: `HighRxt` does not change.
            self.rescue_rxt = core.recover;
        } else if let Some(segment) = core.board.get(index)
            && segment.transmissions > 1
        {
            self.high_rxt = self.high_rxt.max(segment.end());
        }
    }
}
