//! BBR version 3's parameters.

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{self, Fault};

/// BBR version 3's parameters. The names in the draft follow in brackets. Windows count segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The gain of the pacing rate in Startup: 4 ln 2 (`StartupPacingGain`).
    pub startup_pacing_gain: f64,
    /// The gain of the pacing rate in Drain (`DrainPacingGain`).
    pub drain_pacing_gain: f64,
    /// The gain of the pacing rate while probing for bandwidth.
    pub up_pacing_gain: f64,
    /// The gain of the pacing rate after a probe (`ProbeDownPacingGain`).
    pub down_pacing_gain: f64,
    /// The gain of the window (`DefaultCwndGain`).
    pub cwnd_gain: f64,
    /// The gain of the window while probing for bandwidth.
    pub up_cwnd_gain: f64,
    /// The gain of the window in `ProbeRTT` (`ProbeRTTCwndGain`).
    pub probe_rtt_cwnd_gain: f64,
    /// The share by which the pacing rate stays below the bandwidth (`PacingMarginPercent`).
    pub pacing_margin: f64,
    /// The share of losses in a round trip that a probe tolerates (`LossThresh`).
    pub loss_threshold: f64,
    /// The number of acknowledgements with losses in a round trip that end Startup (`BBRStartupFullLossCnt`).
    pub startup_losses: u32,
    /// The share of a bound that a round trip with losses leaves at least (`Beta`).
    pub beta: f64,
    /// The share of the long-term bound that is left to others between probes (`Headroom`).
    pub headroom: f64,
    /// The smallest window (`MinPipeCwnd`).
    pub min_window: f64,
    /// For how many round trips the aggregation of acknowledgements is remembered (`ExtraAckedFilterLen`).
    pub extra_acked_rounds: u32,
    /// For how long the shortest round trip is remembered (`MinRTTFilterLen`).
    pub min_rtt_window: Span,
    /// The time without a shorter round trip after which `ProbeRTT` begins (`ProbeRTTInterval`).
    pub probe_rtt_interval: Span,
    /// The smallest duration of `ProbeRTT` (`ProbeRTTDuration`).
    pub probe_rtt_time: Span,
    /// The shortest wait between two probes for bandwidth.
    pub probe_wait: Span,
    /// The largest random addition to this wait.
    pub probe_wait_spread: Span,
    /// The largest number of round trips between two probes, for fairness to Reno.
    pub probe_rounds: u32,
    /// Whether the segments of a millisecond are sent together, at least two (`SetSendQuantum`). Otherwise each segment
    /// is paced separately.
    pub bursts: bool,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            startup_pacing_gain: 2.77,
            drain_pacing_gain: 0.5,
            up_pacing_gain: 1.25,
            down_pacing_gain: 0.9,
            cwnd_gain: 2.0,
            up_cwnd_gain: 2.25,
            probe_rtt_cwnd_gain: 0.5,
            pacing_margin: 0.01,
            loss_threshold: 0.02,
            startup_losses: 6,
            beta: 0.7,
            headroom: 0.15,
            min_window: 4.0,
            extra_acked_rounds: 10,
            min_rtt_window: Span::from_secs(10),
            probe_rtt_interval: Span::from_secs(5),
            probe_rtt_time: Span::from_millis(200),
            probe_wait: Span::from_secs(2),
            probe_wait_spread: Span::from_secs(1),
            probe_rounds: 63,
            bursts: true,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let gains = [
            ("startup_pacing_gain", self.startup_pacing_gain),
            ("up_pacing_gain", self.up_pacing_gain),
            ("cwnd_gain", self.cwnd_gain),
            ("up_cwnd_gain", self.up_cwnd_gain),
        ];
        if let Some((name, gain)) = gains.into_iter().find(|(_, gain)| !(*gain >= 1.0 && gain.is_finite())) {
            return Err(Fault::new(name, format!("expected at least 1, found {gain}")));
        }
        let shares = [
            ("drain_pacing_gain", self.drain_pacing_gain),
            ("down_pacing_gain", self.down_pacing_gain),
            ("probe_rtt_cwnd_gain", self.probe_rtt_cwnd_gain),
            ("loss_threshold", self.loss_threshold),
            ("beta", self.beta),
        ];
        if let Some((name, share)) = shares.into_iter().find(|(_, share)| !(*share > 0.0 && *share <= 1.0)) {
            return Err(Fault::new(name, format!("expected more than 0 and at most 1, found {share}")));
        }
        let rests = [("pacing_margin", self.pacing_margin), ("headroom", self.headroom)];
        if let Some((name, share)) = rests.into_iter().find(|(_, share)| !(0.0..1.0).contains(share)) {
            return Err(Fault::new(name, format!("expected 0 to less than 1, found {share}")));
        }
        Fault::unless("loss_threshold", self.loss_threshold, |it| it < 1.0, "less than 1")?;
        Fault::unless("min_window", self.min_window, |it| it >= 1.0 && it.is_finite(), "at least 1 segment")?;
        Fault::unless("extra_acked_rounds", self.extra_acked_rounds, |it| it > 0, "at least 1")?;
        Fault::unless(
            "min_rtt_window",
            self.min_rtt_window,
            |it| it >= self.probe_rtt_interval,
            format_args!("at least probe_rtt_interval ({})", self.probe_rtt_interval),
        )?;
        Ok(())
    }
}
