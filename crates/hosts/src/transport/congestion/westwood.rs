//! Westwood: after a loss, a bandwidth estimated from the acknowledgements sets the window, which is not halved.
//!
//! Read: S. Mascolo, C. Casetti, M. Gerla, M. Y. Sanadidi and R. Wang, "TCP Westwood: Bandwidth Estimation for Enhanced
//! Transport over Wireless Links", MobiCom 2001: the filter (§2.2), the counting of acknowledged data (§2.3), the
//! answers to losses (§3); for the profile `inet`, INET's model, which the papers of its authors name as the model for
//! OMNeT++. Each acknowledgement gives a sample of the bandwidth: the data that it reports, divided by the time since
//! the previous acknowledgement. A low-pass filter with time constant tau smooths the samples. The coefficients of its
//! discrete form (Tustin) depend on the distance between the samples. If there is no sample for tau/m, a sample of zero
//! is added. Therefore the estimate decays while no acknowledgements arrive. The filter connects two samples by a
//! straight line. If acknowledgements arrive in bursts, the sample of the last one counts for the whole pause after it,
//! and the estimate becomes far too high. This error of the original is kept here;
//! [`westwood_plus`](super::westwood_plus) corrects it. Left out: two additions of the authors' ns-2 agent to the
//! paper. The agent lengthens an interval of less than 10 ms after a virtual sample, and restarts with two segments
//! after a timeout. The paper does not specify the following rules, which are chosen here. The estimate begins at zero.
//! The first acknowledgement only starts the clock. Acknowledgements at the same time give one sample. An estimate that
//! has decayed below one byte per second counts as zero, so that an idle connection needs no timer. Validated by filter
//! values computed by hand and by the bottleneck's share (`tests/bandwidth_estimates.rs`).

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Duplicate, Loss, RecoveryChoice, Timeout, View};
use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};

/// The profile that behaves as INET's `TcpWestwood`.
const INET: &str = "inet";

/// The form of the low-pass filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The coefficients depend on the distance between the samples. After a long pause, samples of zero are added.
    Tustin,
    /// The coefficients for samples at a distance of a tenth of the time constant, 19/21 and 1/21, at any distance.
    Constant,
}

reno::grows_as_reno! {
    /// Westwood's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The form of the filter. rfc, ns2: tustin; inet: constant.
        pub filter: Filter,
        /// The filter's time constant tau, used by the form `tustin`. All: 0.5 s (1 s in the authors' ns-2 agent).
        pub time_constant: Span,
        /// A sample of zero is added if there is no sample for the time constant divided by this number (m, at least
        /// 2). All: 2.
        pub virtual_samples: u32,
        /// The maximum number of segments that one acknowledgement counts; 0 means no limit. rfc, ns2: 0; inet: 2.
        pub count_limit: u32,
        /// Whether the threshold is divided by a factor between 1 and 4. The factor increases by 0.25 with each fast
        /// retransmission and by 1 with each timeout in slow start. A loss in congestion avoidance resets it to 1. rfc,
        /// ns2: off; inet: on.
        pub dampen: bool,
        ..growth
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, INET];

    fn of_profile(profile: &str) -> Self {
        let inet = profile == INET;
        Self {
            filter: if inet { Filter::Constant } else { Filter::Tustin },
            time_constant: Span::from_millis(500),
            virtual_samples: 2,
            count_limit: if inet { 2 } else { 0 },
            dampen: inet,
            slow_start_limit: 1,
            count_bytes: false,
            grow_only_when_limited: profile != NS2 && !inet,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.time_constant.is_zero() {
            return Err(Fault::new("time_constant", "expected more than 0 s"));
        }
        Fault::unless("virtual_samples", self.virtual_samples, |it| it >= 2, "at least 2 (Nyquist)")?;
        if self.interval().is_zero() {
            return Err(Fault::new("virtual_samples", "expected a part of time_constant of at least 1 ns"));
        }
        self.reno(Halve::Flight, true).check()
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.filter != Filter::Tustin, "filter", &["time_constant", "virtual_samples"])])
    }
}

impl Params {
    /// The time without an acknowledgement after which a sample of zero is added.
    fn interval(&self) -> Span {
        self.time_constant / u64::from(self.virtual_samples)
    }
}

/// The amount of data that each acknowledgement reports (§2.3, `AckedCount`). A duplicate reports one segment. The
/// acknowledgement that follows covers this segment again. It therefore counts only the data that no duplicate has
/// reported, but at least one segment.
#[derive(Clone, Debug, Default)]
pub(super) struct Counting {
    /// Bytes that duplicates have reported.
    reported: u64,
}

impl Counting {
    /// The bytes that a duplicate reports.
    pub fn duplicate(&mut self, segment: u32) -> u64 {
        self.reported += u64::from(segment);
        u64::from(segment)
    }

    /// The bytes that an acknowledgement of `bytes` of new data reports.
    pub fn new_data(&mut self, bytes: u64, segment: u32) -> u64 {
        let segment = u64::from(segment);
        if bytes <= segment {
            return bytes;
        }
        if self.reported >= bytes {
            self.reported -= bytes;
            return segment;
        }
        bytes - std::mem::take(&mut self.reported)
    }
}

/// The segments that the path holds without a queue: bandwidth times the shortest round-trip time, but at least two.
pub(super) fn pipe_size(bandwidth: f64, min_rtt: Option<Span>, segment: u32) -> f64 {
    (bandwidth * min_rtt.map_or(0.0, Span::seconds) / f64::from(segment)).max(2.0)
}

/// The low-pass filter for samples at unequal distances.
#[derive(Clone, Debug)]
struct Estimator {
    filter: Filter,
    /// The time constant in seconds.
    tau: f64,
    /// The maximum distance between two samples.
    interval: Span,
    /// The estimate in bytes per second, and the previous sample.
    bandwidth: f64,
    sample: f64,
    /// When the last sample was taken.
    last: Option<Time>,
    /// Bytes reported at that time.
    waiting: u64,
    /// Whether there has been a sample.
    begun: bool,
}

impl Estimator {
    fn new(params: &Params) -> Self {
        Self {
            filter: params.filter,
            tau: params.time_constant.seconds(),
            interval: params.interval(),
            bandwidth: 0.0,
            sample: 0.0,
            last: None,
            waiting: 0,
            begun: false,
        }
    }

    /// An acknowledgement reports `bytes`.
    fn report(&mut self, bytes: u64, now: Time) {
        self.fill(now);
        let Some(last) = self.last else {
            self.last = Some(now);
            return;
        };
        self.waiting += bytes;
        let elapsed = now.since(last).seconds();
        if elapsed > 0.0 {
            let sample = std::mem::take(&mut self.waiting) as f64 / elapsed;
            self.take(sample, elapsed);
            self.last = Some(now);
        }
    }

    /// §2.2: one step of the filter.
    fn take(&mut self, sample: f64, elapsed: f64) {
        let both = sample + std::mem::replace(&mut self.sample, sample);
        self.bandwidth = match self.filter {
            Filter::Tustin => {
                let k = 2.0 * self.tau / elapsed;
                ((k - 1.0) * self.bandwidth + both) / (k + 1.0)
            }
            Filter::Constant => (19.0 * self.bandwidth + both) / 21.0,
        };
        self.begun = true;
    }

    /// When the next virtual sample must be added.
    fn deadline(&self) -> Time {
        match (self.filter, self.last) {
            (Filter::Tustin, Some(last)) => last + self.interval,
            _ => Time::NEVER,
        }
    }

    /// Adds the samples of zero up to `now`.
    fn fill(&mut self, now: Time) {
        while self.deadline() < now {
            self.put_zero();
        }
    }

    fn put_zero(&mut self) {
        let at = self.deadline();
        let reported = std::mem::take(&mut self.waiting) as f64 / self.interval.seconds();
        self.take(reported, self.interval.seconds());
        self.last = Some(at);
        if self.bandwidth < 1.0 && self.sample == 0.0 {
            self.bandwidth = 0.0;
            self.last = None;
        }
    }
}

/// Westwood's congestion control.
#[derive(Clone, Debug)]
pub struct Westwood {
    reno: Reno,
    counting: Counting,
    estimator: Estimator,
    min_rtt: Option<Span>,
    count_limit: u32,
    dampen: bool,
    /// The divisor of the threshold.
    divisor: f64,
    /// The window after the last reduction.
    cut_to: f64,
}

impl Westwood {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno(Halve::Flight, true)),
            counting: Counting::default(),
            estimator: Estimator::new(params),
            min_rtt: None,
            count_limit: params.count_limit,
            dampen: params.dampen,
            divisor: 1.0,
            cut_to: f64::INFINITY,
        }
    }

    fn report(&mut self, bytes: u64, view: &View) {
        let limit = u64::from(self.count_limit) * u64::from(view.segment);
        self.estimator.report(if limit > 0 { bytes.min(limit) } else { bytes }, view.now);
    }

    /// The threshold after a loss (§3).
    fn threshold(&mut self, step: f64, view: &View) -> f64 {
        if self.dampen {
            self.divisor = if view.cwnd < view.ssthresh { (self.divisor + step).min(4.0) } else { 1.0 };
        }
        (pipe_size(self.estimator.bandwidth, self.min_rtt, view.segment) / self.divisor).max(2.0)
    }
}

impl CongestionControl for Westwood {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if let Some(round_trip) = ack.round_trip {
            self.min_rtt = Some(self.min_rtt.map_or(round_trip, |min| min.min(round_trip)));
        }
        let bytes = self.counting.new_data(ack.bytes, view.segment);
        self.report(bytes, view);
        self.reno.on_ack(ack, view)
    }

    fn on_duplicate(&mut self, _duplicate: &Duplicate, view: &View) -> Answer {
        let bytes = self.counting.duplicate(view.segment);
        self.report(bytes, view);
        Answer::Keep
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        // §3.1: the window never increases.
        let ssthresh = self.threshold(0.25, view);
        self.cut_to = view.cwnd.min(ssthresh);
        Answer::Set { cwnd: self.cut_to, ssthresh }
    }

    fn on_timeout(&mut self, _timeout: &Timeout, view: &View) -> Answer {
        // §3.2.
        Answer::Set { cwnd: 1.0, ssthresh: self.threshold(1.0, view) }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        // A recovery ends at the threshold, but this recovery may have begun below it.
        Answer::Set { cwnd: view.cwnd.min(self.cut_to), ssthresh: view.ssthresh }
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        while self.estimator.deadline() <= view.now {
            self.estimator.put_zero();
        }
        Answer::Keep
    }

    fn deadline(&self) -> Time {
        self.estimator.deadline()
    }

    fn bandwidth(&self) -> Option<f64> {
        self.estimator.begun.then_some(self.estimator.bandwidth)
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}

#[cfg(test)]
mod tests;
