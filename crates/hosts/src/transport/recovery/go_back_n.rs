//! Tahoe's recovery: duplicate acknowledgements act as a timeout, without its back-off.
//!
//! In the profile `ns2` the third duplicate acknowledgement of the first packet always restarts the transfer, even
//! after a timeout (ns-2: `bugfix_ss_`). A timeout does not reset the count of duplicates.

use super::{Arrival, LossRecovery, Recovers};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Params};

#[derive(Clone, Copy, Debug)]
pub struct GoBackN;

impl Recovers for GoBackN {
    fn new(_params: &Params, _control: &Controller) -> Self {
        Self
    }
}

impl LossRecovery for GoBackN {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        core.acknowledge();
        core.grow(control, &arrival.acked, Phase::Open);
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, _header: &TcpHeader) {
        core.duplicates += 1;
        core.report_duplicate(control, 0);
        let threshold = core.params.duplicate_threshold;
        if core.duplicates == threshold && (core.is_beyond_recover() || core.ns2_only_first_acknowledged()) {
            core.recover = core.board.max();
            core.report_loss(control, 0);
            core.arm_timer();
            core.stop_timing();
            core.board.set_next(0);
        } else if core.duplicates < threshold {
            core.limited_transmit();
        }
    }

    fn on_timeout(&mut self, _core: &mut Core) {}
}
