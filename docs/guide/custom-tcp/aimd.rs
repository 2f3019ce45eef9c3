//! AIMD: the window grows by a number of segments in each round trip; a loss leaves a share of what was in flight.
//!
//! Reference: Chiu and Jain 1989. `aimd.py` is the same congestion control; `tests/test_rules.py` compares the digests.

use hopyard_model::params::{self, Fault};
use hopyard_model::transport::congestion::{
    Ack, Answer, CongestionControl, ExternalControl, Loss, Phase, RecoveryChoice, Timeout, View,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// AIMD's parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Segments by which the window grows in a round trip.
    pub increase: f64,
    /// The share of the data in flight that a loss leaves as the window.
    pub keep: f64,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { increase: 1.0, keep: 0.7 }
    }

    fn check(&self) -> Result<(), Fault> {
        if !(self.keep > 0.0 && self.keep < 1.0) {
            return Err(Fault::new("keep", format!("expected a share between 0 and 1, found {}", self.keep)));
        }
        if !(self.increase > 0.0 && self.increase.is_finite()) {
            return Err(Fault::new("increase", format!("expected a number above zero, found {}", self.increase)));
        }
        Ok(())
    }
}

/// AIMD's congestion control.
#[derive(Clone, Debug)]
pub struct Aimd {
    params: Params,
}

impl Aimd {
    /// AIMD with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone() }
    }

    /// The window after a loss, in segments.
    fn kept(&self, view: &View) -> f64 {
        (self.params.keep * view.flight).max(2.0)
    }
}

impl CongestionControl for Aimd {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let growth = if view.cwnd < view.ssthresh { 1.0 } else { self.params.increase / view.cwnd };
        Answer::Set { cwnd: view.cwnd + growth, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        Answer::Set { cwnd: self.kept(view), ssthresh: self.kept(view) }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        let ssthresh = if timeout.repeated == 0 { self.kept(view) } else { view.ssthresh };
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}

impl ExternalControl for Aimd {}
