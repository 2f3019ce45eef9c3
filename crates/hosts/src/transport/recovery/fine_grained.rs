//! Vegas's recovery: a timeout for each segment on a fine clock (Brakmo and Peterson 1995 §3.1; the estimator of ns-2).
//!
//! A duplicate acknowledgement causes a retransmission at once if more than the fine timeout has passed since the first
//! unacknowledged segment was sent. The sender does not wait for a third duplicate. The first two acknowledgements of
//! new data after a retransmission do the same. The congestion control decides whether the loss reduces the window. In
//! the profile `ns2` (`habits` = "ns2") two more rules of ns-2 hold. A retransmission also backs off the coarse timer.
//! A segment that was never sent counts as sent one second before the first.

use hopyard_engine::Time;

use super::{Arrival, LossRecovery, Recovers};
use crate::packet::TcpHeader;
use crate::transport::congestion::{Controller, Phase};
use crate::transport::connection::{Core, Habits, Params};

#[derive(Clone, Debug)]
pub struct FineGrained {
    /// When the first segment was sent.
    started: Option<Time>,
    /// Eight times the smoothed round trip and four times its mean deviation, in seconds.
    estimate: Option<(f64, f64)>,
    /// The timeout in seconds.
    timeout: f64,
    /// How many more acknowledgements of new data are checked.
    worried: u32,
    /// The last reduction was caused by a timeout.
    timed_out: bool,
}

impl Default for FineGrained {
    fn default() -> Self {
        Self { started: None, estimate: None, timeout: 1000.0, worried: 0, timed_out: false }
    }
}

impl FineGrained {
    /// Whether more than the timeout has passed since the first unacknowledged segment was sent.
    fn expired(&self, core: &Core) -> bool {
        match (core.board.get(0), self.started) {
            (Some(first), _) => core.now.since(first.sent).seconds() >= self.timeout,
            (None, Some(started)) if core.params.habits == Habits::Ns2 => {
                core.now.since(started).seconds() + 1.0 >= self.timeout
            }
            (None, _) => false,
        }
    }

    fn sample(&mut self, rtt: f64) {
        let (mut srtt, mut deviation) = self.estimate.unwrap_or((rtt * 8.0, rtt));
        let error = rtt - srtt / 8.0;
        srtt += error;
        deviation += error.abs() - deviation / 4.0;
        self.estimate = Some((srtt, deviation));
        let timeout = (srtt / 4.0 + deviation) / 2.0;
        self.timeout = timeout + timeout / 16.0;
    }
}

impl Recovers for FineGrained {
    fn new(_params: &Params, _control: &Controller) -> Self {
        Self::default()
    }
}

impl LossRecovery for FineGrained {
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>) {
        if self.estimate.is_none()
            && let Some(started) = self.started
        {
            let elapsed = core.now.since(started).seconds();
            self.estimate = Some((elapsed * 8.0, elapsed));
            self.timeout = 1.5 * elapsed;
        }
        core.acknowledge();
        core.recovering &= core.una() < core.recover;
        core.grow(control, &arrival.acked, Phase::Open);
        // ns-2 uses the newest segment acknowledged, even if it waited behind a lost segment. A sending time of 0 means
        // no sample in ns-2; the first segment has this time.
        let ns2 = core.params.habits == Habits::Ns2;
        let sample = if ns2 { arrival.acked.newest_round_trip } else { arrival.acked.round_trip };
        let first_data = arrival.acked.segments == 1 && arrival.acked.bytes > 0 && core.una() == arrival.acked.bytes;
        if let Some(round_trip) = sample.filter(|_| !(ns2 && first_data)) {
            self.sample(round_trip.seconds());
        }
        if self.worried > 0 {
            self.worried -= 1;
            if self.expired(core) {
                core.duplicates = core.params.duplicate_threshold;
                core.retransmit_first();
            } else {
                self.worried = 0;
            }
        }
    }

    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, _header: &TcpHeader) {
        core.duplicates += 1;
        let threshold = core.params.duplicate_threshold;
        if core.duplicates == threshold || self.expired(core) {
            if core.una() > core.recover || !self.timed_out {
                self.timed_out = false;
                self.worried = 2.min(core.board.next() as u32 + 1);
                let again = core.board.get(0).is_some_and(|first| first.transmissions > 1);
                self.timeout *= if again { 2.0 } else { 1.125 };
                if core.params.habits == Habits::Ns2 {
                    core.rtt.back_off();
                }
                core.enter_recovery(control);
                if !again {
                    core.duplicates = threshold;
                }
            }
        } else if core.duplicates > threshold {
            core.report_duplicate(control, 0);
        }
        if core.duplicates < threshold {
            core.hold();
        }
    }

    fn on_timeout(&mut self, core: &mut Core) {
        self.timed_out = true;
        core.duplicates = 0;
    }

    fn on_sent(&mut self, core: &mut Core, _index: usize) {
        // Restarts when the first segment is sent again.
        if core.una() == 0 && core.board.next() <= 1 {
            self.started = Some(core.now);
        }
    }
}
