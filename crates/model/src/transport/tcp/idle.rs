//! The congestion window after a pause.

use hopyard_engine::{Span, Time};

use crate::transport::congestion::{Answer, CongestionControl, Controller};
use crate::transport::connection::{Core, IdleRestart};

/// Data is written after a pause, with nothing outstanding: `active` is when something was last sent or newly
/// acknowledged.
pub(super) fn restart(core: &mut Core, control: &mut Controller, initial_window: f64, active: Time) {
    let timeout = core.rtt.timeout();
    let restart = match core.params.idle_restart {
        IdleRestart::Off => return,
        IdleRestart::InitialWindow => initial_window,
        IdleRestart::OneSegment => 1.0,
        IdleRestart::Halving => return halve(core, control, initial_window, core.now.since(core.last_sent)),
    };
    if core.now.since(active) > timeout {
        let answer = control.on_idle(restart, &core.view());
        core.apply(answer);
    }
}

/// RFC 2861 §3.1, with the initial window as the least. A congestion control that keeps its window keeps its threshold
/// too.
fn halve(core: &mut Core, control: &mut Controller, initial_window: f64, idle: Span) {
    let timeout = core.rtt.timeout();
    if idle <= timeout {
        return;
    }
    core.window_changed = core.now;
    let before = core.cwnd;
    let answer = control.on_idle(halved(before, initial_window, idle, timeout), &core.view());
    let keeps = matches!(answer, Answer::Keep);
    core.apply(answer);
    if !keeps {
        let share = libm::floor(before / 2.0) + libm::floor(before / 4.0);
        core.ssthresh = core.ssthresh.max(share);
    }
}

/// The window after nothing was sent for `idle`: half of it for each timeout beyond the first, as far as it has begun.
fn halved(cwnd: f64, initial_window: f64, idle: Span, timeout: Span) -> f64 {
    let least = initial_window.min(cwnd);
    let (mut cwnd, mut left) = (cwnd, idle.saturating_sub(timeout));
    while cwnd > least && !left.is_zero() {
        cwnd = libm::floor(cwnd / 2.0);
        left = left.saturating_sub(timeout);
    }
    cwnd.max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_halved_for_each_timeout_beyond_the_first() {
        let window = |cwnd, idle| halved(cwnd, 10.0, Span::from_millis(idle), Span::from_millis(200));
        assert_eq!(window(100.0, 201), 50.0);
        assert_eq!(window(100.0, 400), 50.0);
        assert_eq!(window(100.0, 401), 25.0);
        assert_eq!(window(100.0, 10_000), 10.0);
        assert_eq!(window(6.0, 10_000), 6.0, "never more than it was");
    }
}
