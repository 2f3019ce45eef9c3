//! The state of BBR version 3.

use hopyard_engine::{Rng, Span, Time};

use super::model::{Model, State};
use super::params::Params;

/// The meaning of acknowledgements with respect to the probe for bandwidth (`ack_phase`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AckPhase {
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    ProbeStopping,
}

/// The state of a cycle of probing.
#[derive(Clone, Copy, Debug)]
pub struct Cycle {
    pub(super) phase: AckPhase,
    /// When it began, and how long it waits before the next probe.
    pub(super) since: Time,
    pub(super) wait: Span,
    /// The number of rounds in which the long-term bound has grown, the acknowledged segments for which it grows by
    /// one, and those that have not led to growth yet.
    pub(super) up_rounds: u32,
    pub(super) per_growth: f64,
    pub(super) up_acked: f64,
    /// Samples are of a probe that has not answered losses yet.
    pub(super) is_probe_sample: bool,
    /// `prev_probe_too_high` and `prev_probe_precautionary`.
    pub(super) too_high: bool,
    pub(super) precautionary: bool,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            phase: AckPhase::Init,
            since: Time::ZERO,
            wait: Span::ZERO,
            up_rounds: 0,
            per_growth: f64::INFINITY,
            up_acked: 0.0,
            is_probe_sample: false,
            too_high: false,
            precautionary: false,
        }
    }
}

/// The state before a loss recovery ("Undo State").
#[derive(Clone, Copy, Debug, Default)]
pub struct Undo {
    pub(super) state: Option<State>,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}

/// BBR version 3's congestion control.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    pub(super) params: Params,
    pub(super) rng: Option<Rng>,
    pub(super) state: State,
    pub(super) model: Model,
    pub(super) cycle: Cycle,
    pub(super) undo: Undo,
    /// The window while an acknowledgement is answered.
    pub(super) cwnd: f64,
    pub(super) initial_cwnd: f64,
    /// The last good window.
    pub(super) prior_cwnd: f64,
    /// A fast recovery is in progress, since this round.
    pub(super) recovery: Option<u64>,
    /// The losses of a timeout are repaired when this is acknowledged.
    pub(super) repair: Option<u64>,
    /// When PROBE_RTT may end, once the window is drained, and whether a round has passed since then.
    pub(super) probe_done: Option<Time>,
    pub(super) probe_round_done: bool,
    /// When the window is restored because PROBE_RTT has ended with a sent segment.
    pub(super) restore_at: Time,
    pub(super) idle_restart: bool,
    pub(super) drain_round: u64,
    /// The application had no more data at the last acknowledgement.
    pub(super) drained: bool,
    /// The last round in which the window held the sender back.
    pub(super) limited_round: Option<u64>,
    /// The pacing rate in segments per second; zero before anything is sent.
    pub(super) rate: f64,
    pub(super) seen_rtt: bool,
    pub(super) gap: Span,
    /// Segments that are sent together.
    pub(super) quantum: f64,
}

impl Bbr3 {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            rng: None,
            state: State::Startup,
            model: Model::default(),
            cycle: Cycle::default(),
            undo: Undo::default(),
            cwnd: 0.0,
            initial_cwnd: 0.0,
            prior_cwnd: 0.0,
            recovery: None,
            repair: None,
            probe_done: None,
            probe_round_done: false,
            restore_at: Time::NEVER,
            idle_restart: false,
            drain_round: 0,
            drained: false,
            limited_round: None,
            rate: 0.0,
            seen_rtt: false,
            gap: Span::ZERO,
            quantum: 1.0,
        }
    }

    /// The sender's own random stream, given before anything happens.
    pub fn seed(&mut self, rng: Rng) {
        self.rng = Some(rng);
    }
}

#[cfg(test)]
impl Cycle {
    /// A cycle whose samples are of a probe.
    pub fn probing() -> Self {
        Self { is_probe_sample: true, ..Self::default() }
    }
}

#[cfg(test)]
impl Undo {
    /// A loss has ended Startup.
    pub fn of_startup() -> Self {
        Self { state: Some(State::Startup), ..Self::default() }
    }
}
