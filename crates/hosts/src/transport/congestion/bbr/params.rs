//! BBR's parameters, and the common parts of both computations.

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{self, Fault, LINUX, RFC};
use crate::transport::congestion::control::Arithmetic;

pub const NS3: &str = "ns3";

/// The gains of one cycle of PROBE_BW (§4.3.4.1): probe for more bandwidth, drain the queue of this probe, then cruise.
pub const CYCLE: [f64; 8] = [1.25, 0.75, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0];
/// The first phase is drawn at random.
pub const RANDOM: u32 = CYCLE.len() as u32;
/// A round of STARTUP with less growth of the bandwidth than this may be the last; and the number of such rounds that
/// end STARTUP (§4.3.2.2).
pub const FULL_GROWTH: f64 = 1.25;
pub const FULL_ROUNDS: u32 = 3;
/// Below this rate, in bytes per second, each segment leaves alone (§4.2.2).
pub const SLOW: u64 = 1_200_000 / 8;
/// The most segments that are sent together.
pub const LARGEST_QUANTUM: u64 = 127;

/// BBR's parameters. Windows count segments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The gain of pacing rate and window in STARTUP: about 2/ln 2, the smallest gain with which the rate can double in
    /// each round trip. DRAIN paces with its inverse.
    pub high_gain: f64,
    /// The gain of the window in PROBE_BW, which allows for delayed acknowledgements.
    pub cwnd_gain: f64,
    /// For how many round trips the bandwidth is remembered.
    pub bandwidth_rounds: u32,
    /// How long the shortest round-trip time is remembered; then PROBE_RTT measures it again.
    pub min_rtt_window: Span,
    /// The minimum time for which PROBE_RTT keeps the window at its minimum.
    pub probe_rtt_time: Span,
    /// The minimum window, so that a receiver that acknowledges every second segment never stalls.
    pub min_window: u32,
    /// The share by which the pacing rate stays below the bandwidth, so that no queue builds up. As in Linux.
    pub pacing_margin: f64,
    /// Whether the segments of about a millisecond are sent together, at least two from 1.2 Mb/s on (§4.2.2). Otherwise
    /// each segment is paced separately. As in Linux.
    pub bursts: bool,
    /// Whether windows are even numbers of segments, for receivers that acknowledge every second segment. As in Linux.
    pub whole_segments: bool,
    /// Whether a constant bandwidth with many losses is regarded as that of a policer. As in Linux.
    pub long_term: bool,
    /// Whether the window is increased for acknowledgements that arrive in bursts. As in Linux.
    pub aggregation: bool,
    /// Whether details follow the published algorithm, or Linux. In Linux the opening counts as a round trip and as a
    /// delivered segment, and a recovery begins with the segments delivered by the acknowledgement that shows the loss.
    pub arithmetic: Arithmetic,
    /// The phase in which the first cycle of PROBE_BW begins: 0 probes, 2 to 7 cruise; 8 draws one of these at random.
    pub first_phase: u32,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS3, LINUX];

    fn of_profile(profile: &str) -> Self {
        let ns3 = profile == NS3;
        Self {
            high_gain: match profile {
                NS3 => 2.89,
                // 739/256, the next fraction.
                LINUX => 2.886_718_75,
                _ => 2.885,
            },
            cwnd_gain: 2.0,
            bandwidth_rounds: 10,
            min_rtt_window: Span::from_secs(10),
            probe_rtt_time: Span::from_millis(200),
            min_window: 4,
            pacing_margin: if ns3 { 0.0 } else { 0.01 },
            bursts: !ns3,
            whole_segments: !ns3,
            long_term: !ns3,
            aggregation: true,
            arithmetic: if profile == LINUX { Arithmetic::Linux } else { Arithmetic::Published },
            first_phase: RANDOM,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        for (name, gain) in [("high_gain", self.high_gain), ("cwnd_gain", self.cwnd_gain)] {
            Fault::unless(name, gain, |it| it > 1.0 && it.is_finite(), "a number above 1")?;
        }
        if !(0.0..0.5).contains(&self.pacing_margin) {
            let problem = format!("expected at least 0 and less than 0.5, found {}", self.pacing_margin);
            return Err(Fault::new("pacing_margin", problem));
        }
        Fault::unless("first_phase", self.first_phase, |it| it != 1 && it <= RANDOM, "0 or 2 to 8")?;
        if self.min_rtt_window.is_zero() {
            return Err(Fault::new("min_rtt_window", "expected more than 0 s"));
        }
        for (name, count) in [("bandwidth_rounds", self.bandwidth_rounds), ("min_window", self.min_window)] {
            Fault::unless(name, count, |it| it > 0, "at least 1")?;
        }
        Ok(())
    }
}

/// The states of BBR (§3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Doubles its rate in each round trip, to find the bandwidth.
    Startup,
    /// Drains the queue of STARTUP.
    Drain,
    /// Cruises, and probes for more bandwidth once in each cycle.
    ProbeBandwidth,
    /// Sends very little, to measure the path without a queue.
    ProbeRtt,
}
