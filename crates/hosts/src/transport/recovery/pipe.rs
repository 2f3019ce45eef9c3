//! The pipe algorithm of ns-2's Sack1 (Fall and Floyd, "Simulation-based Comparisons of Tahoe, Reno, and SACK TCP", CCR
//! 26(3), 1996).
//!
//! `pipe` estimates the segments on the path: every acknowledgement in recovery reduces it by one, and every segment
//! sent increases it by one. While it is below the window, the sender first retransmits each unreported segment below
//! the highest SACKed segment once, and then sends new data. A duplicate acknowledgement counts only if it reports
//! something new. A timeout, and every acknowledgement outside recovery, deletes the reports.

use super::{Arrival, LossRecovery, Recovers};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Params};

#[derive(Clone, Debug, Default)]
pub struct Pipe {
    recovering: bool,
    /// A partial acknowledgement has restarted the timer.
    partial: bool,
    /// No new data was acknowledged since a timeout, so duplicate acknowledgements are ignored.
    timed_out: bool,
    pipe: i64,
    /// Unreported segments below this were retransmitted.
    high_rxt: u64,
    /// The end of the recovery.
    point: u64,
}

impl Pipe {
    fn clear(&mut self, core: &mut Core) {
        core.board.clear_sacked();
        self.high_rxt = 0;
    }

    /// The first unreported segment below the highest reported one that was not retransmitted.
    fn hole(&self, core: &Core) -> Option<usize> {
        let high = core.board.high_sacked()?;
        let from = core.board.index_of(self.high_rxt.max(core.una()));
        core.board
            .iter()
            .enumerate()
            .skip(from)
            .take_while(|(_, segment)| segment.end() < high)
            .find(|(_, segment)| !segment.sacked)
            .map(|(index, _)| index)
    }
}

impl Recovers for Pipe {
    const WANTS_SACK: bool = true;

    fn new(_params: &Params, _control: &Controller) -> Self {
        Self::default()
    }
}

impl LossRecovery for Pipe {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        if !self.recovering {
            self.partial = false;
            self.timed_out = false;
            core.acknowledge();
            core.grow(control, &arrival.acked, Phase::Open);
            self.clear(core);
            return;
        }
        self.pipe -= 1;
        if core.una() >= self.point {
            self.recovering = false;
            self.timed_out = false;
            // A later loss starts a recovery even if it is within the range of this one.
            core.recover = 0;
            core.end_recovery(control);
            core.acknowledge();
            core.grow(control, &arrival.acked, Phase::Recovered);
            self.clear(core);
            return;
        }
        core.board.mark_sacked(&arrival.header.sack);
        // The retransmission that this acknowledges has left the path, and so has the original segment.
        self.pipe -= 1;
        core.arm_timer();
        core.rtt.end_back_off();
        core.grow(control, &arrival.acked, Phase::Partial);
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
        let news = if self.timed_out { 0 } else { core.board.mark_sacked(&header.sack) };
        if self.recovering {
            self.pipe -= 1;
            core.duplicates += u32::from(news > 0 && core.duplicates > 0);
            core.report_duplicate(control, news);
            return;
        }
        if news > 0 {
            core.duplicates += 1;
            core.report_duplicate(control, news);
            let threshold = core.params.duplicate_threshold;
            if core.duplicates < threshold {
                core.limited_transmit();
            } else if core.duplicates == threshold && core.is_beyond_recover() {
                self.recovering = true;
                self.partial = false;
                self.pipe = core.board.len() as i64 - i64::from(threshold);
                self.high_rxt = core.board.get(0).map_or(0, |first| first.end());
                core.enter_recovery(control);
                self.point = core.recover;
            }
        }
        if core.duplicates > 0 {
            core.hold();
        }
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.recovering = false;
        self.timed_out = true;
        core.duplicates = 0;
        self.clear(core);
        core.mark_all_lost();
    }

    fn next(&mut self, core: &mut Core) -> Option<usize> {
        if !self.recovering {
            return core.next_in_window();
        }
        // The window in whole segments.
        if self.pipe >= core.cwnd as i64 {
            return None;
        }
        let index = self.hole(core).unwrap_or(core.board.next());
        core.fits_advertised(index).then_some(index)
    }

    fn on_sent(&mut self, core: &mut Core, index: usize) {
        self.pipe += 1;
        if let Some(segment) = core.board.get(index) {
            self.high_rxt = if segment.transmissions > 1 { segment.end() } else { self.high_rxt };
        }
    }
}
