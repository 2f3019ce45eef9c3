//! NewReno's recovery (RFC 6582): it ends when everything that was outstanding at its start is acknowledged.

use super::{Arrival, LossRecovery};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::Core;

#[derive(Clone, Debug)]
pub struct NewReno {
    /// Only the first partial acknowledgement restarts the retransmission timer.
    impatient: bool,
    recovering: bool,
    partial: bool,
}

impl NewReno {
    pub const fn new(impatient: bool) -> Self {
        Self { impatient, recovering: false, partial: false }
    }
}

impl LossRecovery for NewReno {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        if self.recovering && core.una() < core.recover {
            // §3.2 step 3, partial acknowledgement.
            if !(self.impatient && self.partial) {
                core.arm_timer();
            }
            self.partial = true;
            core.deflate(f64::from(arrival.acked.segments));
            if core.params.sample_partial_acks {
                core.measure();
            } else {
                core.skip_sample();
            }
            core.grow(control, &arrival.acked, Phase::Partial);
            core.retransmit_first();
            core.limit_burst(core.params.recovery_burst);
            return;
        }
        let phase = if std::mem::take(&mut self.recovering) {
            core.leave_recovery(control, core.params.recovery_exit)
        } else {
            Phase::Open
        };
        self.partial = false;
        core.acknowledge();
        core.grow(control, &arrival.acked, phase);
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, _header: &TcpHeader) {
        core.duplicates += 1;
        core.report_duplicate(control, 0);
        let threshold = core.params.duplicate_threshold;
        if core.duplicates < threshold {
            core.hold();
            core.limited_transmit();
            return;
        }
        if core.duplicates > threshold && self.recovering {
            core.inflation += 1.0;
        } else if core.duplicates == threshold && !self.recovering && core.is_beyond_recover() {
            // §3.2 step 2.
            self.recovering = true;
            self.partial = false;
            core.enter_recovery(control);
            core.inflation = f64::from(threshold);
        }
        core.limit_burst(core.params.recovery_burst);
    }

    fn on_timeout(&mut self, core: &mut Core) {
        // §3.2 step 4: `recover` is set in the same way for all recoveries.
        self.recovering = false;
        self.partial = false;
        core.duplicates = 0;
    }
}
