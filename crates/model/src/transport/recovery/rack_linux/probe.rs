//! Tail loss probes (RFC 8985 §7), and which of timeout and probe the timer is set for.

use super::{Condition, Procedure};
use crate::packet::TcpHeader;
use crate::transport::congestion::Controller;
use crate::transport::connection::Core;

/// A tail loss probe that is not answered: the end of all data sent with it, and whether it was a retransmission.
#[derive(Clone, Copy, Debug)]
pub struct Probe {
    pub end: u64,
    pub retransmits: bool,
}

impl<const SACK: bool> Procedure<SACK> {
    /// After an acknowledgement: for a probe, or for a timeout.
    pub(super) fn set_timer(&mut self, core: &mut Core) {
        if self.probes(core) {
            self.timer.schedule_probe(core, true);
        } else {
            self.timer.rearm(core);
        }
    }

    /// Whether a tail loss may be probed for (RFC 8985 §7.2).
    pub(super) fn probes(&self, core: &Core) -> bool {
        SACK && core.params.tail_loss_probe
            && !core.board.is_empty()
            && matches!(self.condition, Condition::Open | Condition::Reduced)
    }

    /// RFC 8985 §7.3: sends new data, or the last segment again.
    pub(super) fn send_probe(&mut self, core: &mut Core) {
        let new = core.fits_advertised(core.board.len());
        let paced = new && core.departs > core.now;
        let last = core.board.len().checked_sub(1).and_then(|index| core.board.get(index)).map(|segment| segment.seq);
        let Some(seq) = (if new { Some(core.board.max()) } else { last }).filter(|_| self.probe.is_none() && !paced)
        else {
            self.timer.rearm(core);
            return;
        };
        core.forced = Some(seq);
        core.tail_probe = true;
        core.counters.tail_loss_probes += 1;
        self.probing = true;
        self.probed = true;
    }

    /// RFC 8985 §7.4.2.
    pub(super) fn judge_probe(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader) {
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
