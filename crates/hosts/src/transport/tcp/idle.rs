//! The congestion window after a pause.

use hopyard_engine::Time;

use crate::transport::congestion::{CongestionControl, Controller};
use crate::transport::connection::{Core, IdleRestart};

/// Data is written after a pause, with nothing outstanding: `active` is when something was last sent or newly
/// acknowledged.
pub(super) fn restart(core: &mut Core, control: &mut Controller, initial_window: f64, active: Time) {
    let timeout = core.rtt.timeout();
    let restart = match core.params.idle_restart {
        IdleRestart::Off => return,
        IdleRestart::InitialWindow => initial_window,
        IdleRestart::OneSegment => 1.0,
    };
    if core.now.since(active) > timeout {
        let answer = control.on_idle(restart, &core.view());
        core.apply(answer);
    }
}
