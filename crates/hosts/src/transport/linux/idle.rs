//! The congestion window after a pause.

use hopyard_engine::Span;

use super::state::State;
use crate::transport::congestion::{Answer, CongestionControl, Controller};
use crate::transport::connection::IdleRestart;

/// Data is written after a pause, with nothing outstanding (RFC 2861 §3.1, with the initial window as the least). A
/// congestion control that keeps its window keeps its threshold too.
pub(super) fn restart(tcp: &mut State, control: &mut Controller) {
    let core = &mut tcp.core;
    // Both are counted in ticks.
    let timeout = tcp.wheel.ticks(core.rtt.timeout());
    let idle = tcp.wheel.begun(core.now).since(tcp.wheel.begun(tcp.last_sent));
    if core.params.idle_restart == IdleRestart::Off || idle <= timeout {
        return;
    }
    tcp.window_changed = core.now;
    let before = core.cwnd;
    let least = f64::from(core.params.initial_window);
    let answer = control.on_idle(halved(before, least, idle, timeout), &core.view());
    core.apply(answer);
    if !matches!(answer, Answer::Keep) {
        let share = libm::floor(before / 2.0) + libm::floor(before / 4.0);
        core.ssthresh = core.ssthresh.max(share);
    }
}

/// The window after nothing was sent for `idle`: half of the window for each timeout beyond the first, as far as that
/// timeout has begun.
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
