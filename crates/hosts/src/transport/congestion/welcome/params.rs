//! WELCOME's parameters: table I of the paper, and a parameter for each place that can be read in more than one way.

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{self, Fault, NS2, RFC, Unused, unused_where};
use crate::transport::congestion::reno::{self, Halve};

/// The answer to a loss that is classified as congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// As the text says: like `NewReno`.
    Text,
    /// As in figure 7: the threshold becomes the number of segments that the path holds by the bandwidth estimate, and
    /// the window becomes one segment.
    Pseudocode,
}

/// The answer to a loss that is classified as a loss on the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WirelessLoss {
    /// As in figure 7: the threshold becomes the number of segments that the path holds, and the window at most that
    /// number.
    Clamp,
    /// As the text says: window and threshold do not change.
    Keep,
}

/// The window when a route is available again after a link failure (§IV.B of the paper).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AfterFailure {
    /// As before the loss (option 1).
    Keep,
    /// Half of it (option 2, eq. 4).
    Halve,
    /// In proportion to the old round-trip time divided by the new one, but no more than the path holds (option 3, eq.
    /// 6; figure 7).
    Scale,
}

/// The average with which round-trip times are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Average {
    /// The flip-flop filter; it uses the stable average while its two averages differ by more than `stable_band`.
    Band,
    /// The flip-flop filter; it uses the stable average while the agile one is outside the control limits of the stable
    /// one, three standard deviations (Kim and Noble).
    ControlLimits,
    /// TCP's own average.
    Smoothed,
}

/// How often the round-trip time is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Sampling {
    /// At each acknowledgement of new data.
    Acknowledgement,
    /// Once in each round trip: the next sample is that of a segment sent after the last sample was taken (RFC 2988
    /// §3).
    RoundTrip,
}

/// Which increases of the round-trip time mean congestion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Growths {
    /// Those within the last samples, in any order.
    Any,
    /// The longest sequence of consecutive increases within the last samples.
    Consecutive,
}

reno::grows_as_reno! {
    /// WELCOME's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The answer to a loss that is classified as congestion. "text": like `NewReno`, by the paper's text.
        /// "pseudocode": a window of one segment and a threshold from the bandwidth estimate.
        pub reading: Reading,
        /// The answer to a loss that is classified as a loss on the channel. "clamp" reduces the window to the segments
        /// that the path holds by the bandwidth estimate (the paper's pseudo-code). "keep" does not change the window
        /// (the text).
        pub wireless: WirelessLoss,
        /// The window after a link failure: option 1 of the paper ("keep"), 2 ("halve") or 3 ("scale", that of its
        /// pseudo-code).
        pub after_failure: AfterFailure,
        /// More increased samples than this mean congestion (the paper's η). The paper's "5 growths needed" is 4 here;
        /// "≤ η" with η = 5 is 5.
        pub eta: u32,
        /// Whether increases count in any order within the stored samples, or only if they are consecutive.
        pub growths: Growths,
        /// How often the round-trip time is sampled: at each "acknowledgement", or once in a "`round_trip`", as in the
        /// TCP of the paper's time.
        pub sampling: Sampling,
        /// The number of stored round-trip times (`RTT_SAMPLE_COUNT`).
        pub samples: u32,
        /// The share by which a round-trip time must exceed the average to count as increased (`RTT_G_THRESHOLD`).
        pub growth: f64,
        /// The average with which a round-trip time is compared. "band" and "control_limits": the flip-flop filter with
        /// one of two rules for the use of its stable average. "smoothed": TCP's own average.
        pub average: Average,
        /// The share by which the agile average may differ from the stable one before the stable one is used
        /// (`RTT_THRESHOLD`).
        pub stable_band: f64,
        /// The weight of the old value in the agile average.
        pub agile_weight: f64,
        /// The weight of the old value in the stable average.
        pub stable_weight: f64,
        /// The factor a until round-trip times of the new route are known: a timeout grows by 1/a.
        pub factor: f64,
        /// The number of round-trip times of the new route from which a is computed (`RTO_NEW_RTT_SAMPLES`).
        pub new_route_samples: u32,
        /// The weight of the old values in the means of acknowledged bytes and of intervals. The bandwidth is estimated
        /// from these means.
        pub bandwidth_weight: f64,
        /// The time constant with which the bandwidth estimate is smoothed.
        pub bandwidth_time: Span,
        /// The quantity that a loss halves if `NewReno`'s answer is used.
        pub halve: Halve,
        /// Whether another timeout of the same segment leaves the threshold unchanged (RFC 5681 §3.1).
        pub hold_ssthresh: bool,
        ..growth
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        let reno::Params { halve, hold_ssthresh, slow_start_limit, count_bytes, grow_only_when_limited, .. } =
            params::Params::of_profile(profile);
        Self {
            reading: Reading::Text,
            wireless: WirelessLoss::Clamp,
            after_failure: AfterFailure::Scale,
            eta: 4,
            growths: Growths::Any,
            sampling: Sampling::RoundTrip,
            samples: 10,
            growth: 0.05,
            average: Average::Smoothed,
            stable_band: 0.1,
            agile_weight: 0.1,
            stable_weight: 0.9,
            factor: 2.0 / 3.0,
            new_route_samples: 4,
            bandwidth_weight: 0.9,
            bandwidth_time: Span::from_secs(1),
            halve,
            hold_ssthresh,
            slow_start_limit,
            count_bytes,
            grow_only_when_limited,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("samples", self.samples, |it| it > 0, "at least 1")?;
        if self.eta >= self.samples {
            let problem = format!(
                "expected less than samples ({}), found {}: nothing would be congestion",
                self.samples, self.eta
            );
            return Err(Fault::new("eta", problem));
        }
        for (name, value) in [("growth", self.growth), ("stable_band", self.stable_band)] {
            Fault::unless(name, value, |it| it >= 0.0 && it.is_finite(), "a share of the average, at least 0")?;
        }
        let weights = [
            ("agile_weight", self.agile_weight),
            ("stable_weight", self.stable_weight),
            ("bandwidth_weight", self.bandwidth_weight),
        ];
        if let Some((name, value)) = weights.into_iter().find(|(_, value)| !(0.0..1.0).contains(value)) {
            return Err(Fault::new(name, format!("expected at least 0 and less than 1, found {value}")));
        }
        if self.agile_weight > self.stable_weight {
            let problem =
                format!("expected at most stable_weight ({}), found {}", self.stable_weight, self.agile_weight);
            return Err(Fault::new("agile_weight", problem));
        }
        Fault::unless("factor", self.factor, |it| it > 0.0 && it <= 1.0, "more than 0 and at most 1")?;
        Fault::unless("new_route_samples", self.new_route_samples, |it| it > 0, "at least 1")?;
        Fault::unless("bandwidth_time", self.bandwidth_time, |it| !it.is_zero(), "more than 0 s")?;
        self.reno(self.halve, self.hold_ssthresh).check()
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (self.average != Average::Band, "average", &["stable_band"]),
            (self.average == Average::Smoothed, "average", &["agile_weight", "stable_weight"]),
        ])
    }
}
