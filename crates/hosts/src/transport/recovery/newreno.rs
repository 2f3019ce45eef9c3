//! NewReno's recovery (RFC 6582): it ends when everything that was outstanding at its start is acknowledged.

use super::{Arrival, LossRecovery, Recovers};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Habits, Params};

/// Only the first partial acknowledgement restarts the retransmission timer.
pub type NewReno = Recovery<true>;
/// Every partial acknowledgement restarts it.
pub type SlowButSteady = Recovery<false>;

#[derive(Clone, Debug, Default)]
pub struct Recovery<const IMPATIENT: bool> {
    recovering: bool,
    partial: bool,
}

impl<const IMPATIENT: bool> Recovers for Recovery<IMPATIENT> {
    fn new(_params: &Params, _control: &Controller) -> Self {
        Self::default()
    }
}

impl<const IMPATIENT: bool> LossRecovery for Recovery<IMPATIENT> {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        if self.recovering && core.una() < core.recover {
            // §3.2 step 3, partial acknowledgement.
            if !(IMPATIENT && self.partial) {
                core.arm_timer();
            }
            self.partial = true;
            core.deflate(f64::from(arrival.acked.segments));
            if core.params.habits != Habits::Ns2 {
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
