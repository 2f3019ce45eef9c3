//! Westwood+: Westwood with one bandwidth sample in each round trip, which bursts of acknowledgements do not distort.
//!
//! Read: L. A. Grieco and S. Mascolo, "Performance Evaluation and Comparison of Westwood+, New Reno, and Vegas TCP
//! Congestion Control", ACM CCR 34(2), 2004; A. Dell'Aera, L. A. Grieco and S. Mascolo, "Linux 2.4 Implementation of
//! Westwood+ TCP with Rate-Halving", ICC 2004; for the profiles, the behaviour of Linux (`tcp_westwood`) and ns-3.37
//! (`TcpWestwoodPlus`). A sample is the data acknowledged in a window of at least one round trip, divided by the length
//! of the window. A filter with constant weights smooths the samples. Without acknowledgements there are no samples, so
//! an outage does not change the estimate. Profile `linux`: the window is halved while losses are repaired. After the
//! repair, the window and the threshold are set to the segments that the path holds. After a timeout, the next
//! round-trip time replaces the shortest one, so that the estimate adapts to a longer route. All values are whole bytes
//! per millisecond. Therefore each of the two averages ends up to 7 bytes per millisecond below its input: the estimate
//! of a path of 1 Mb/s is 0.9 Mb/s. Profile `ns3`: the window of the sample is one smoothed round-trip time by the
//! clock. It begins with an acknowledgement, whose data counts in it, so that the estimate is too high for small
//! windows. Left out of Linux: F-RTO; a round-trip time from before a timeout as the shortest one after it. Left out of
//! ns-3: its different count of duplicates. Not specified, and chosen here: the first window begins when the first
//! segment is sent (Linux: when the connection is established). Validated by filter values computed by hand, by the
//! bottleneck's share (`tests/bandwidth_estimates.rs`), and against the kernel module in ns-2.35
//! (`tests/kernel_modules.rs`).

mod linux;

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::linux::{Constants, Linux};
use super::control::{Arithmetic, two_computations};
use super::reno::{self, Halve, Reno};
use super::westwood::{Counting, pipe_size};
use super::{
    Ack, Answer, Arrived, CongestionControl, Duplicate, Loss, NetworkEvent, Pace, RecoveryChoice, Sent, Timeout, View,
    Wants,
};
use crate::params::{self, Fault};

const PAPER: &str = "paper";
const LINUX: &str = "linux";
const NS3: &str = "ns3";

/// When a window of acknowledged data ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// With the first acknowledgement after a round trip; the next window begins with it.
    Acknowledgements,
    /// One round-trip time by the clock after the acknowledgement that began it.
    Clock,
}

/// The filter of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Filter {
    /// The mean of the last two samples enters one weighted average.
    Mean,
    /// Two weighted averages in series.
    TwoStage,
}

/// When the estimate sets the window after a fast retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Moment {
    /// When the loss is found.
    Loss,
    /// When the losses are repaired; until then the window is halved.
    Recovered,
}

reno::grows_as_reno! {
    /// Westwood+'s parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// When a window of acknowledged data ends. paper, linux: acknowledgements; ns3: clock.
        pub sampling: Sampling,
        /// The minimum window of the sampling by acknowledgements. paper, ns3: 0 s; linux: 50 ms.
        pub min_window: Span,
        /// The filter of the samples. paper, ns3: mean; linux: two_stage.
        pub filter: Filter,
        /// The weight of the old value in the filter. paper, ns3: 0.9; linux: 0.875.
        pub weight: f64,
        /// Whether the first sample initialises the filter, which otherwise starts from zero. paper, ns3: off; linux:
        /// on.
        pub fill: bool,
        /// The tick of the clock that measures windows and round-trip times; the filter then computes in whole bytes
        /// per tick. 0 s: no rounding. paper, ns3: 0 s; linux: 1 ms (HZ 1000). With the arithmetic of Linux the tick is
        /// 4 ms (HZ 250).
        pub tick: Span,
        /// When the estimate sets the window after a fast retransmission. paper, ns3: loss; linux: recovered.
        pub moment: Moment,
        /// Whether the estimate may increase the window in this case. All: on.
        pub raise: bool,
        /// Whether the first round-trip time measured after a timeout replaces the shortest one. paper, ns3: off;
        /// linux: on.
        pub forget_min_rtt: bool,
        /// Whether threshold and window are set to whole segments. paper, ns3: off; linux: on.
        pub whole_segments: bool,
        /// Whether losses are repaired with selective acknowledgements (RFC 6675) instead of NewReno's recovery. paper:
        /// off; linux, ns3: on.
        pub sack: bool,
        ..growth
        /// Whether the computation is the published one, or Linux's in whole segments. paper, ns3: published; linux:
        /// linux.
        pub arithmetic: Arithmetic,
    }
}

impl Params {
    /// The constants in the computation of Linux.
    const fn linux(&self) -> Constants {
        let &Self { min_window, .. } = self;
        Constants { min_window }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[PAPER, LINUX, NS3];

    fn of_profile(profile: &str) -> Self {
        let (linux, ns3) = (profile == LINUX, profile == NS3);
        Self {
            sampling: if ns3 { Sampling::Clock } else { Sampling::Acknowledgements },
            min_window: Span::from_millis(if linux { 50 } else { 0 }),
            filter: if linux { Filter::TwoStage } else { Filter::Mean },
            weight: if linux { 0.875 } else { 0.9 },
            fill: linux,
            tick: Span::from_millis(u64::from(linux)),
            moment: if linux { Moment::Recovered } else { Moment::Loss },
            raise: true,
            forget_min_rtt: linux,
            whole_segments: linux,
            sack: linux || ns3,
            slow_start_limit: 1,
            count_bytes: false,
            grow_only_when_limited: true,
            arithmetic: if linux { Arithmetic::Linux } else { Arithmetic::Published },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("weight", self.weight, |it| (0.0..1.0).contains(&it), "at least 0 and less than 1")?;
        self.reno(Halve::Window, true).check()
    }
}

two_computations!(WestwoodPlus, "Westwood+'s congestion control.", arithmetic == Arithmetic::Linux);

/// Westwood+'s congestion control as published.
#[derive(Clone, Debug)]
pub struct Published {
    params: Params,
    reno: Reno,
    counting: Counting,
    /// When the window of acknowledged data began, and when the clock ends it.
    began: Option<Time>,
    ends: Time,
    /// Bytes acknowledged in it.
    bytes: u64,
    /// The last round trip, and the shortest.
    rtt: Option<Span>,
    min_rtt: Option<Span>,
    /// The next round-trip time replaces the shortest one, even if it is longer.
    replace_min_rtt: bool,
    /// The estimate in bytes per second, and the previous stage of the filter: the first average, or the last sample.
    bandwidth: f64,
    inner: f64,
    /// Whether there has been a sample.
    begun: bool,
    /// The window after the last reduction.
    cut_to: f64,
}

impl Published {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            reno: Reno::new(&params.reno(Halve::Window, true)),
            counting: Counting::default(),
            began: None,
            ends: Time::NEVER,
            bytes: 0,
            rtt: None,
            min_rtt: None,
            replace_min_rtt: false,
            bandwidth: 0.0,
            inner: 0.0,
            begun: false,
            cut_to: f64::INFINITY,
        }
    }

    /// An acknowledgement reports `bytes`.
    fn report(&mut self, bytes: u64, view: &View) {
        match self.params.sampling {
            Sampling::Acknowledgements => {
                let now = self.ticked(view.now);
                let elapsed = now.since(*self.began.get_or_insert(now));
                if self.rtt.is_some_and(|rtt| elapsed > rtt.max(self.params.min_window)) {
                    self.take(elapsed);
                    self.began = Some(now);
                }
                self.bytes += bytes;
            }
            Sampling::Clock => {
                self.bytes += bytes;
                if self.ends == Time::NEVER
                    && let Some(rtt) = view.srtt.filter(|rtt| !rtt.is_zero())
                {
                    self.began = Some(view.now);
                    self.ends = view.now + rtt;
                }
            }
        }
    }

    /// A time as the clock shows it.
    fn ticked(&self, time: Time) -> Time {
        Time::ZERO + self.whole_ticks(time.since(Time::ZERO))
    }

    /// A span in whole ticks.
    fn whole_ticks(&self, span: Span) -> Span {
        match self.params.tick.nanos() {
            0 => span,
            tick => Span::from_nanos(span.nanos() / tick * tick),
        }
    }

    /// Bytes per second, in whole bytes per tick.
    fn whole_bytes(&self, rate: f64) -> f64 {
        let tick = self.params.tick.seconds();
        if tick > 0.0 { libm::floor(rate * tick + 1e-9) / tick } else { rate }
    }

    /// The window ends after `length`: its sample enters the filter.
    fn take(&mut self, length: Span) {
        let bytes = std::mem::take(&mut self.bytes);
        let sample = self.whole_bytes(bytes as f64 / length.seconds());
        let (old, new) = (self.params.weight, 1.0 - self.params.weight);
        if self.params.fill && !self.begun {
            (self.inner, self.bandwidth) = (sample, sample);
        } else {
            match self.params.filter {
                Filter::TwoStage => {
                    self.inner = self.whole_bytes(old * self.inner + new * sample);
                    self.bandwidth = self.whole_bytes(old * self.bandwidth + new * self.inner);
                }
                Filter::Mean => {
                    self.bandwidth = self.whole_bytes(old * self.bandwidth + new * (sample + self.inner) / 2.0);
                    self.inner = sample;
                }
            }
        }
        self.begun = true;
    }

    fn threshold(&self, view: &View) -> f64 {
        let size = pipe_size(self.bandwidth, self.min_rtt, view.segment);
        if self.params.whole_segments { libm::floor(size) } else { size }
    }

    /// Window and threshold as given by the estimate.
    fn set(&mut self, view: &View) -> Answer {
        let ssthresh = self.threshold(view);
        self.cut_to = if self.params.raise { ssthresh } else { view.cwnd.min(ssthresh) };
        Answer::Set { cwnd: self.cut_to, ssthresh }
    }
}

impl CongestionControl for Published {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        let bytes = self.counting.new_data(ack.bytes, view.segment);
        self.report(bytes, view);
        if let Some(round_trip) = ack.round_trip.map(|round_trip| self.whole_ticks(round_trip)) {
            self.rtt = Some(round_trip);
            let kept = self.min_rtt.filter(|_| !std::mem::take(&mut self.replace_min_rtt));
            self.min_rtt = Some(kept.map_or(round_trip, |min| min.min(round_trip)));
        }
        self.reno.on_ack(ack, view)
    }

    fn on_duplicate(&mut self, _duplicate: &Duplicate, view: &View) -> Answer {
        let bytes = self.counting.duplicate(view.segment);
        self.report(bytes, view);
        Answer::Keep
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        match self.params.moment {
            Moment::Loss => self.set(view),
            Moment::Recovered => self.reno.on_loss(loss, view),
        }
    }

    fn on_timeout(&mut self, _timeout: &Timeout, view: &View) -> Answer {
        let ssthresh = self.threshold(view);
        // The next timeouts of an outage still use the old one.
        self.replace_min_rtt |= self.params.forget_min_rtt;
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        match self.params.moment {
            // A recovery ends at the threshold, but this recovery may have begun below it.
            Moment::Loss => Answer::Set { cwnd: view.cwnd.min(self.cut_to), ssthresh: view.ssthresh },
            Moment::Recovered => self.set(view),
        }
    }

    fn on_sent(&mut self, _sent: &Sent, view: &View) {
        if self.params.sampling == Sampling::Acknowledgements {
            let now = self.ticked(view.now);
            self.began.get_or_insert(now);
        }
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        if self.ends <= view.now
            && let Some(began) = self.began
        {
            let length = std::mem::replace(&mut self.ends, Time::NEVER).since(began);
            self.take(length);
        }
        Answer::Keep
    }

    fn deadline(&self) -> Time {
        self.ends
    }

    fn bandwidth(&self) -> Option<f64> {
        self.begun.then_some(self.bandwidth)
    }

    fn recovery(&self) -> RecoveryChoice {
        if self.params.sack { RecoveryChoice::Sack } else { RecoveryChoice::NewReno }
    }
}

#[cfg(test)]
mod tests;
