//! WELCOME: distinguishes three causes of loss: congestion, the wireless channel and broken links. It uses the increase
//! of the round-trip time and the sign of the loss (duplicate acknowledgements or a timeout), and answers each cause
//! differently.
//!
//! Read: A. Ghaleb-Seddik, Y. Ghamri-Doudane, S.-M. Senouci, "Coupling Loss and Delay Differentiation to Enhance TCP
//! Performance within Wireless Multi-hop Ad-hoc Networks", Journal of Communications 7(12), 2012 (figures 6 and 7,
//! table I); for its filter M. Kim and B. Noble, "Mobile Network Estimation", MobiCom 2001; for its bandwidth estimate
//! see `bandwidth.rs`. Window and recovery follow NewReno unless the paper specifies otherwise. The text and the
//! pseudo-code of the paper contradict each other, and both leave many details open. `docs/models/welcome.md` lists all
//! of them, with the parameters that select a reading. Left out: notices from the network. Therefore "until a route is
//! found" means that the sender retransmits one segment at each timeout. Validated by the tests in `tests.rs`, with
//! values computed by hand, and in `studies/tcp_welcome`. The authors' code is not public.

mod bandwidth;
mod history;
mod params;
#[cfg(test)]
mod tests;

use hopyard_engine::Span;

use self::bandwidth::Bandwidth;
use self::history::History;
pub use self::params::{AfterFailure, Average, Growths, Params, Reading, Sampling, WirelessLoss};
use super::newreno::NewReno;
use super::{
    Ack, Answer, Before, Cause, CongestionControl, Decision, Loss, Phase, RecoveryChoice, Sign, Timeout, View,
};

/// A broken link that the sender has inferred, with the values that it keeps to resume from.
#[derive(Clone, Copy, Debug)]
struct Failure {
    /// The window and the timeout before the loss.
    window: f64,
    rto: Span,
    /// The average round trip over the route that is lost.
    round_trip: Option<f64>,
    /// Whether something has been acknowledged since: there is a route again.
    resumed: bool,
    /// Sum and number of round trips over the new route, in seconds.
    samples: (f64, u32),
}

/// WELCOME's congestion control. Times are in seconds.
#[derive(Clone, Debug)]
pub struct Welcome {
    params: Params,
    newreno: NewReno,
    history: History,
    bandwidth: Bandwidth,
    /// Segments from here on were first sent after the last loss was found, and with `Sampling::RoundTrip` after the
    /// last sample was taken: only they give round trips.
    fresh: u64,
    /// The window after the fast recovery, if it differs from NewReno's.
    resume: Option<f64>,
    failure: Option<Failure>,
    decision: Option<Decision>,
}

impl Welcome {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            newreno: NewReno::new(&params.reno(params.halve, params.hold_ssthresh)),
            history: History::new(params),
            bandwidth: Bandwidth::new(params.bandwidth_weight, params.bandwidth_time),
            fresh: 0,
            resume: None,
            failure: None,
            decision: None,
            params: params.clone(),
        }
    }

    /// Eq. (5) and (7): the capacity of the path by the bandwidth estimate, in segments; nothing before there is one.
    fn pipe(&self, view: &View) -> Option<f64> {
        let bytes = self.bandwidth.value()? * self.history.shortest?;
        Some((bytes / f64::from(view.segment)).max(2.0))
    }

    /// Figure 6: the classification of a loss.
    fn judge(&mut self, by: Sign) -> Cause {
        let growth = self.history.growth();
        let cause = match by {
            _ if growth > self.params.eta => Cause::Congestion,
            Sign::DuplicateAcks => Cause::Wireless,
            Sign::Timeout => Cause::LinkFailure,
        };
        self.decision = Some(Decision {
            cause,
            by,
            evidence: f64::from(growth),
            limit: f64::from(self.params.eta),
            samples: self.history.len(),
            filtered: self.history.filter.value().map(Span::from_secs_f64),
            last: self.history.last.map(Span::from_secs_f64),
        });
        cause
    }

    /// A round trip, where the acknowledgement gives one that the loss before has not lengthened.
    fn round_trip(&self, ack: &Ack, view: &View) -> Option<f64> {
        let clean = ack.phase == Phase::Open && ack.duplicates == 0 && view.una > self.fresh;
        ack.round_trip.filter(|_| clean).map(Span::seconds)
    }

    /// The window after a link failure, `a` being the old round trip over the new one.
    fn scaled(&self, window: f64, a: f64, view: &View) -> f64 {
        let window = match self.params.after_failure {
            AfterFailure::Keep => window,
            AfterFailure::Halve => window / 2.0,
            AfterFailure::Scale => (a * window).min(self.pipe(view).unwrap_or(f64::INFINITY)),
        };
        window.max(1.0)
    }

    /// The answer to the first acknowledgements after a link failure, if this is one of them.
    fn after_failure(&mut self, ack: &Ack, round_trip: Option<f64>, view: &View) -> Option<Answer> {
        let mut failure = self.failure?;
        if !failure.resumed {
            failure.resumed = true;
            self.failure = Some(failure);
            let cwnd = self.scaled(failure.window, self.params.factor, view);
            return Some(Answer::Set { cwnd, ssthresh: view.ssthresh });
        }
        let (sum, count) = &mut failure.samples;
        *sum += round_trip?;
        *count += 1;
        let mean = *sum / f64::from(*count);
        if *count < self.params.new_route_samples {
            self.failure = Some(failure);
            return None;
        }
        // Eq. (3) and (6).
        self.failure = None;
        let a = failure.round_trip.map_or(self.params.factor, |old| old / mean);
        let rto = failure.rto.seconds() / a / view.rto.seconds();
        let (grown, ssthresh) = windows(self.newreno.on_ack(ack, view), view);
        let cwnd = match self.params.after_failure {
            AfterFailure::Keep | AfterFailure::Halve => grown,
            AfterFailure::Scale => self.scaled(failure.window, a, view),
        };
        Some(Answer::Rescale { cwnd, ssthresh, rto })
    }
}

/// The windows that an answer leaves.
const fn windows(answer: Answer, view: &View) -> (f64, f64) {
    match answer {
        Answer::Set { cwnd, ssthresh } | Answer::Rescale { cwnd, ssthresh, .. } => (cwnd, ssthresh),
        Answer::Keep | Answer::Freeze { .. } | Answer::Thaw => (view.cwnd, view.ssthresh),
    }
}

impl Welcome {
    pub(super) fn on_undo(&mut self, before: &Before, view: &View) -> Answer {
        self.resume = None;
        before.restored(view)
    }

    pub(super) fn decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }
}

impl CongestionControl for Welcome {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        self.bandwidth.sample(ack.bytes, view.now);
        let round_trip = self.round_trip(ack, view);
        let answer = self.after_failure(ack, round_trip, view);
        if let Some(round_trip) = round_trip {
            self.history.sample(round_trip);
            if self.params.sampling == Sampling::RoundTrip {
                self.fresh = view.max;
            }
        }
        answer.unwrap_or_else(|| self.newreno.on_ack(ack, view))
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        self.fresh = view.max;
        self.failure = None;
        match (self.judge(Sign::DuplicateAcks), self.params.reading, self.params.wireless) {
            (Cause::Congestion, Reading::Text, _) => {
                self.resume = None;
                self.newreno.on_loss(loss, view)
            }
            (Cause::Congestion, Reading::Pseudocode, _) => {
                self.resume = Some(1.0);
                let (_, halved) = windows(self.newreno.on_loss(loss, view), view);
                Answer::Set { cwnd: 1.0, ssthresh: self.pipe(view).unwrap_or(halved) }
            }
            (_, _, WirelessLoss::Clamp) if let Some(pipe) = self.pipe(view) => {
                let cwnd = view.cwnd.min(pipe).max(1.0);
                self.resume = Some(cwnd);
                Answer::Set { cwnd, ssthresh: pipe }
            }
            _ => {
                self.resume = Some(view.cwnd);
                Answer::Keep
            }
        }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.fresh = view.max;
        self.resume = None;
        self.bandwidth.pause();
        let first = timeout.repeated == 0;
        if self.judge(Sign::Timeout) == Cause::Congestion {
            self.failure = None;
            let (cwnd, ssthresh) = windows(self.newreno.on_timeout(timeout, view), view);
            return match (self.params.reading, self.pipe(view)) {
                (Reading::Pseudocode, Some(pipe)) if first => Answer::Set { cwnd, ssthresh: pipe },
                _ => Answer::Set { cwnd, ssthresh },
            };
        }
        // One segment probes for the new route. The old window is stored until there is a route.
        let rto = 1.0 / self.params.factor;
        if !first && self.failure.is_some() {
            return Answer::Rescale { cwnd: 1.0, ssthresh: view.ssthresh, rto };
        }
        self.failure = Some(Failure {
            window: view.cwnd.min(view.advertised),
            rto: view.rto,
            round_trip: self.history.filter.value(),
            resumed: false,
            samples: (0.0, 0),
        });
        let ssthresh = match self.params.after_failure {
            AfterFailure::Keep => view.ssthresh,
            AfterFailure::Halve | AfterFailure::Scale => self.pipe(view).unwrap_or(view.ssthresh),
        };
        Answer::Rescale { cwnd: 1.0, ssthresh, rto }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        match self.resume.take() {
            Some(cwnd) => Answer::Set { cwnd, ssthresh: view.ssthresh },
            None => Answer::Keep,
        }
    }

    /// The loss was none: its recovery has no window to end with.
    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        self.bandwidth.pause();
        self.newreno.on_idle(restart, view)
    }

    fn bandwidth(&self) -> Option<f64> {
        self.bandwidth.value()
    }

    fn recovery(&self) -> RecoveryChoice {
        self.newreno.recovery()
    }
}
