//! The start and the end of a loss recovery.

use super::core::Core;
use super::params::RecoveryExit;
use crate::transport::congestion::{CongestionControl, Controller, Phase};

impl Core {
    /// Marks the segment at `index` as lost.
    pub(crate) fn mark_lost(&mut self, index: usize) {
        let newly = self.board.mark_lost(index);
        self.lost += newly;
        if newly > 0 {
            let lost = self.segments(self.lost);
            if let Some(sampler) = &mut self.sampler {
                sampler.on_lost(index, lost);
            }
        }
    }

    /// Marks as lost all segments that were sent and not reported by SACK, because of a timeout.
    pub(crate) fn mark_all_lost(&mut self) {
        (0..self.board.len()).for_each(|index| self.mark_lost(index));
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
        self.cut(control, index);
        if self.params.fast_retransmit_restarts_timer {
            self.arm_timer();
        }
    }

    /// As [`begin_recovery`](Self::begin_recovery), for a recovery with a timer of its own.
    pub(crate) fn cut(&mut self, control: &mut Controller, index: usize) {
        self.recover = self.board.max();
        self.report_loss(control, index);
        self.recovering = true;
        self.limited_sent = 0;
        self.stop_timing();
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
}
