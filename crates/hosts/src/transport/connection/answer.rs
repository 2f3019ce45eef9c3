//! The answers of the congestion control: windows, and a frozen sender, which keeps its state, sends probes, and
//! restores the state when it may send again.

use hopyard_engine::{Span, Time};

use super::core::Core;
use super::frozen::{Frozen, Kept};
use crate::transport::congestion::{Answer, Restore};

impl Core {
    fn set_window(&mut self, cwnd: f64, ssthresh: f64) {
        self.cwnd = if self.params.max_cwnd > 0 { cwnd.min(f64::from(self.params.max_cwnd)) } else { cwnd };
        self.ssthresh = ssthresh;
    }

    /// Carries out the congestion control's answer.
    #[inline]
    pub(crate) fn apply(&mut self, answer: Answer) {
        match answer {
            Answer::Keep => {}
            Answer::Set { cwnd, ssthresh } => self.set_window(cwnd, ssthresh),
            Answer::Rescale { cwnd, ssthresh, rto } => {
                self.set_window(cwnd, ssthresh);
                self.rtt.rescale(rto);
            }
            Answer::Freeze { probe, restore } => self.freeze(probe, restore),
            Answer::Thaw => self.thaw(),
        }
    }

    fn kept(&self) -> Kept {
        Kept { cwnd: self.cwnd, ssthresh: self.ssthresh, inflation: self.inflation, rtt: self.rtt.clone() }
    }

    /// Notes the state before a timeout, if it is the first since the last new acknowledgement. The inflation
    /// of a recovery is not part of this state, because the timeout ends the recovery.
    pub(crate) fn before_timeout(&mut self) {
        if self.timeouts_in_row == 0 {
            self.before_timeout = Some(Kept { inflation: 0.0, ..self.kept() });
        }
    }

    pub(super) fn freeze(&mut self, probe: Span, restore: Restore) {
        if self.frozen.is_none() {
            let before = match restore {
                Restore::BeforeTimeout if self.timeouts_in_row > 0 => self.before_timeout.take(),
                Restore::BeforeTimeout | Restore::AtFreeze => None,
            };
            let kept = before.unwrap_or_else(|| self.kept());
            self.frozen = Some(Frozen { probe, next: self.now + probe, kept });
            self.rto = Time::NEVER;
            // A sample of a segment that was sent before could contain the outage. With timestamps that happens if the
            // segment or its acknowledgement waited in a node for a new route. It also happens if the acknowledgement
            // was lost, and the probe, which is a copy, does not set the timestamp that is echoed (`echo_copies`).
            self.stop_timing();
            self.sampled_from = self.now;
        }
    }

    /// Ends a freeze and restores the state.
    pub(crate) fn thaw(&mut self) {
        if let Some(Frozen { kept, .. }) = self.frozen.take() {
            self.cwnd = kept.cwnd;
            self.ssthresh = kept.ssthresh;
            self.inflation = kept.inflation;
            self.rtt = kept.rtt;
            if !self.board.is_empty() {
                self.arm_timer();
            }
        }
    }

    /// While frozen: sends the first unacknowledged segment when a probe is due.
    pub(crate) fn probe(&mut self) {
        let now = self.now;
        if let Some(frozen) = &mut self.frozen
            && now >= frozen.next
        {
            frozen.next = now + frozen.probe;
            self.forced = Some(self.board.una());
            self.counters.probes += 1;
        }
    }
}
