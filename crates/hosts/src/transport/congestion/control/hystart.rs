//! HyStart++: leaves slow start when the round-trip time increases, before the queue at the bottleneck overflows.
//!
//! Read: RFC 9406. In slow start a congestion control asks it for the growth of the window, and reports losses to it.
//! When the round-trip time has increased by a fraction, conservative slow start reduces the growth of the window to a
//! quarter for five rounds. These rounds show whether a queue is the reason. If the round-trip time decreases again,
//! slow start resumes. Only the first slow start uses HyStart++ (§4.3): later ones end at the ssthresh that a loss has
//! set. Left out: the unlimited growth that §4.3 allows for a sender with pacing (`limit` sets the growth).

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::View;
use crate::params::Fault;

/// Whether round-trip times end the first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    /// By HyStart++ (RFC 9406).
    PlusPlus,
    /// By the classic HyStart, at once (Ha and Rhee 2011); only with Linux's growth.
    Classic,
    /// Never: slow start ends at the threshold or with a loss (RFC 5681 §3.1).
    Off,
}

/// HyStart++'s parameters (RFC 9406 §4.3).
#[derive(Clone, Debug, PartialEq)]
pub struct Params {
    /// Whether round-trip times end the first slow start.
    pub choice: Choice,
    /// `MIN_RTT_THRESH`: a smaller increase of the round-trip time has no effect.
    pub min_threshold: Span,
    /// `MAX_RTT_THRESH`: a larger increase always ends slow start.
    pub max_threshold: Span,
    /// `MIN_RTT_DIVISOR`: between these limits, the share of the round-trip time by which it must have increased.
    pub divisor: u32,
    /// `N_RTT_SAMPLE`: the number of samples in a round before they are evaluated.
    pub samples: u32,
    /// `CSS_GROWTH_DIVISOR`: the divisor of the window's growth in conservative slow start.
    pub growth_divisor: u32,
    /// `CSS_ROUNDS`: the number of rounds of conservative slow start before slow start ends.
    pub rounds: u32,
    /// `L`: the largest increase of the window by one acknowledgement, in segments.
    pub limit: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            choice: Choice::PlusPlus,
            min_threshold: Span::from_millis(4),
            max_threshold: Span::from_millis(16),
            divisor: 8,
            samples: 8,
            growth_divisor: 4,
            rounds: 5,
            limit: 8,
        }
    }
}

impl Params {
    /// Checks that the values are possible; `names` are the names that a variant gives to `min_threshold`,
    /// `max_threshold`, `divisor`, `samples`, `growth_divisor`, `rounds` and `limit`.
    ///
    /// # Errors
    /// The first impossible value.
    pub fn check(&self, names: [&'static str; 7]) -> Result<(), Fault> {
        if self.max_threshold < self.min_threshold {
            let (least, found) = (self.min_threshold, self.max_threshold);
            return Err(Fault::new(names[1], format!("expected at least {} ({least}), found {found}", names[0])));
        }
        let counts = [self.divisor, self.samples, self.growth_divisor, self.rounds, self.limit];
        if let Some((name, _)) = names[2..].iter().zip(counts).find(|(_, count)| *count == 0) {
            return Err(Fault::new(name, "expected at least 1, found 0"));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Standard,
    /// Conservative slow start: the smallest round-trip time of the round before it, and the number of its rounds.
    Conservative {
        baseline: Span,
        rounds: u32,
    },
    /// The first slow start has ended, or is not observed.
    Over,
}

/// The effect of an acknowledgement in slow start.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// The growth of the window in segments.
    pub growth: f64,
    /// Slow start ends: the threshold becomes the window.
    pub done: bool,
}

/// The end of the first slow start of one connection.
#[derive(Clone, Debug)]
pub struct HyStart {
    params: Params,
    phase: Phase,
    /// The round ends when this is acknowledged.
    window_end: Option<u64>,
    /// The smallest round-trip time of the last round and of this one.
    last: Option<Span>,
    current: Option<Span>,
    samples: u32,
}

impl HyStart {
    /// Before the first acknowledgement.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let phase = if params.choice != Choice::PlusPlus { Phase::Over } else { Phase::Standard };
        Self { params: params.clone(), phase, window_end: None, last: None, current: None, samples: 0 }
    }

    /// A loss: slow start is not observed any longer.
    pub const fn stop(&mut self) {
        self.phase = Phase::Over;
    }

    /// Whether this is conservative slow start.
    #[cfg(test)]
    const fn is_conservative(&self) -> bool {
        matches!(self.phase, Phase::Conservative { .. })
    }

    /// New data of `acked` segments is acknowledged in slow start. `standard` is the growth of slow start without
    /// HyStart++.
    pub fn on_ack(&mut self, acked: f64, standard: f64, round_trip: Option<Span>, view: &View) -> Step {
        // §4.2: the window grows before the sample is evaluated.
        let growth = match self.phase {
            Phase::Standard => acked.min(f64::from(self.params.limit)),
            Phase::Conservative { .. } => {
                acked.min(f64::from(self.params.limit)) / f64::from(self.params.growth_divisor)
            }
            Phase::Over => return Step { growth: standard, done: false },
        };
        if let Some(sample) = round_trip {
            self.current = Some(self.current.map_or(sample, |least| least.min(sample)));
            self.samples += 1;
        }
        if self.samples >= self.params.samples {
            self.judge();
        }
        // The round during which the first acknowledgement arrived is the first.
        let end = *self.window_end.get_or_insert(view.next);
        let done = view.una >= end && self.end_round(view.next);
        Step { growth, done }
    }

    fn judge(&mut self) {
        let Some(current) = self.current else { return };
        match self.phase {
            Phase::Standard => {
                let Some(last) = self.last else { return };
                let part = last / u64::from(self.params.divisor);
                let threshold = part.min(self.params.max_threshold).max(self.params.min_threshold);
                if current >= last + threshold {
                    self.phase = Phase::Conservative { baseline: current, rounds: 0 };
                }
            }
            // The round-trip time has decreased again: a queue was not the reason.
            Phase::Conservative { baseline, .. } if current < baseline => self.phase = Phase::Standard,
            Phase::Conservative { .. } | Phase::Over => {}
        }
    }

    /// Begins the next round, up to `next`. Returns whether slow start ends.
    fn end_round(&mut self, next: u64) -> bool {
        self.window_end = Some(next);
        self.last = self.current.take();
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= self.params.rounds {
                self.phase = Phase::Over;
                return true;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::congestion::testing::view;

    /// Rounds of `window` acknowledgements each, with these round trips in milliseconds; returns each round's growth,
    /// and whether slow start ended in it.
    fn rounds(hystart: &mut HyStart, trips: &[u64]) -> Vec<(f64, bool)> {
        let window = 10_u64;
        let first = hystart.window_end.map_or(0, |end| end - window * 1000);
        let mut result = Vec::new();
        for (round, &trip) in trips.iter().enumerate() {
            let start = first + round as u64 * window * 1000;
            let (mut growth, mut done) = (0.0, false);
            for index in 0..window {
                let mut view = view(10.0);
                view.una = start + (index + 1) * 1000;
                // A window's worth is outstanding at each acknowledgement.
                view.next = if index + 1 == window { start + 2 * window * 1000 } else { start + window * 1000 };
                view.max = view.next;
                let step = hystart.on_ack(1.0, 1.0, Some(Span::from_millis(trip)), &view);
                growth += step.growth;
                done |= step.done;
            }
            result.push((growth, done));
        }
        result
    }

    #[test]
    fn a_longer_round_trip_slows_the_start_and_five_rounds_end_it() {
        let mut hystart = HyStart::new(&Params::default());
        // 100 ms: the threshold is 12.5 ms.
        assert_eq!(rounds(&mut hystart, &[100, 100, 112]), [(10.0, false), (10.0, false), (10.0, false)]);
        // 112 + 14 ms: the eighth sample of the round shows it, and the last two of the ten count a quarter.
        assert_eq!(rounds(&mut hystart, &[126]), [(8.5, false)]);
        assert!(hystart.is_conservative());
        // The round in which it began counts: four more end slow start.
        assert_eq!(rounds(&mut hystart, &[126, 126, 126]), [(2.5, false); 3]);
        assert_eq!(rounds(&mut hystart, &[126]), [(2.5, true)]);
        // From there on it has no say.
        assert_eq!(rounds(&mut hystart, &[500]), [(10.0, false)]);
    }

    #[test]
    fn a_round_trip_that_falls_back_resumes_slow_start() {
        let mut hystart = HyStart::new(&Params::default());
        rounds(&mut hystart, &[100, 120]);
        assert!(hystart.is_conservative());
        // The eighth sample shows it.
        assert_eq!(rounds(&mut hystart, &[119]), [(8.0 / 4.0 + 2.0, false)]);
        assert!(!hystart.is_conservative());
    }

    #[test]
    fn thresholds_are_bounded() {
        let enters = |base: u64, next: u64| {
            let mut hystart = HyStart::new(&Params::default());
            rounds(&mut hystart, &[base, next]);
            hystart.is_conservative()
        };
        // An eighth of 8 ms is 1 ms: 4 ms are needed. An eighth of 400 ms is 50 ms: 16 ms are enough.
        assert!(!enters(8, 11) && enters(8, 12));
        assert!(!enters(400, 415) && enters(400, 416));
    }

    #[test]
    fn too_few_samples_say_nothing() {
        let mut hystart = HyStart::new(&Params { samples: 11, ..Params::default() });
        rounds(&mut hystart, &[100, 300, 300]);
        assert!(!hystart.is_conservative());
    }

    #[test]
    fn a_loss_or_a_parameter_turns_it_off() {
        let mut hystart = HyStart::new(&Params::default());
        hystart.stop();
        assert_eq!(rounds(&mut hystart, &[100, 300]), [(10.0, false); 2]);
        let mut hystart = HyStart::new(&Params { choice: Choice::Off, ..Params::default() });
        assert_eq!(rounds(&mut hystart, &[100, 300]), [(10.0, false); 2]);
    }

    #[test]
    fn one_acknowledgement_opens_the_window_by_eight_at_most() {
        let mut hystart = HyStart::new(&Params::default());
        let step = hystart.on_ack(20.0, 1.0, None, &view(30.0));
        assert_eq!(step, Step { growth: 8.0, done: false });
    }
}
