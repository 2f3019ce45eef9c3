//! Fast retransmit and fast recovery (RFC 5681 §3.2): the first acknowledgement of new data ends it.
//!
//! Losses below the highest segment sent at the last reduction do not start another reduction (ns-2's `bugFix_`; RFC
//! 6582 §1).

use super::{Arrival, LossRecovery, Recovers};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Params, RecoveryExit};

#[derive(Clone, Debug, Default)]
pub struct Reno {
    recovering: bool,
}

impl Recovers for Reno {
    fn new(_params: &Params, _control: &Controller) -> Self {
        Self::default()
    }
}

impl LossRecovery for Reno {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        let phase = if std::mem::take(&mut self.recovering) {
            // Step 6. The check of outstanding data comes from RFC 6582.
            let exit = match core.params.recovery_exit {
                RecoveryExit::Flight => RecoveryExit::Ssthresh,
                exit => exit,
            };
            core.leave_recovery(control, exit)
        } else {
            Phase::Open
        };
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
        } else if core.duplicates == threshold {
            // Step 2 and 3.
            if core.is_beyond_recover() {
                self.recovering = true;
                core.enter_recovery(control);
                core.inflation = f64::from(threshold);
            }
        } else if self.recovering {
            // Step 4.
            core.inflation += 1.0;
        }
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.recovering = false;
        core.duplicates = 0;
    }
}
