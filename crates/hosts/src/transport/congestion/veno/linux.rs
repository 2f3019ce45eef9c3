//! Veno as Linux computes it: whole segments, and a backlog in halves of a segment.
//!
//! The round trip that the backlog is computed from is the shortest since the window last could grow. Reno's growth
//! applies while segments are missing, and until a third round trip is measured.

use crate::transport::congestion::control::{Whole, delivered, micros, slow_start};
use crate::transport::congestion::{
    Ack, Answer, Arrived, Condition, CongestionControl, Loss, Phase, RecoveryChoice, Sent, Timeout, View,
};

/// Round trips that must be measured before the backlog counts.
const ENOUGH: u32 = 3;

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// A loss is random if fewer segments than this are queued.
    pub beta: f64,
    /// The share of the window that remains after a random loss.
    pub random_loss_keeps: f64,
}

/// Veno's congestion control as in Linux. Round trips are in microseconds, and one more.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    whole: Whole,
    /// Nothing is missing.
    open: bool,
    samples: u32,
    /// The shortest round trip, and the shortest since the window last could grow.
    base: Option<u64>,
    least: Option<u64>,
    /// Twice the number of segments queued on the path, as last computed.
    backlog: u64,
    /// Whether the window grows with the round at hand when segments are queued.
    grows: bool,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        Self {
            constants,
            whole: Whole::default(),
            open: true,
            samples: 0,
            base: None,
            least: None,
            backlog: 0,
            grows: true,
        }
    }

    fn congested(&self) -> bool {
        self.backlog as f64 >= 2.0 * self.constants.beta
    }

    /// The threshold after a loss.
    fn cut(&self, view: &View) -> f64 {
        let kept = if self.congested() { 0.5 } else { self.constants.random_loss_keeps };
        libm::floor(view.cwnd * kept).max(2.0)
    }

    fn grown(&mut self, ack: &Ack, view: &View) -> f64 {
        if !self.open || self.samples < ENOUGH {
            return self.whole.grown(ack, view);
        }
        let window = view.cwnd as u64 * 2;
        // Without a new round trip all counts as queued.
        let held = self.base.zip(self.least).map_or(0, |(base, least)| window * base / least);
        self.backlog = window - held.min(window);
        let (mut cwnd, rest) = slow_start(delivered(ack, view), view);
        if rest > 0.0 {
            if !self.congested() {
                cwnd = self.whole.avoid(cwnd, cwnd, rest);
            } else if self.whole.count() >= cwnd {
                // Every second round.
                self.whole.forget();
                self.grows = !self.grows;
                cwnd += f64::from(u8::from(!self.grows));
            } else {
                self.whole.add(rest);
            }
        }
        cwnd.max(2.0)
    }
}

impl Linux {
    pub fn on_condition(&mut self, condition: Condition) {
        self.open = condition == Condition::Open;
        if self.open {
            self.least = None;
        }
    }
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, _view: &View) -> Answer {
        if let Some(round_trip) = arrived.round_trip {
            let trip = micros(round_trip) + 1;
            let least = |known: Option<u64>| Some(known.map_or(trip, |known| known.min(trip)));
            self.base = least(self.base);
            self.least = least(self.least);
            self.samples += 1;
        }
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open || !ack.window_limited {
            return Answer::Keep;
        }
        let cwnd = self.grown(ack, view);
        if self.open {
            self.least = None;
        }
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = self.cut(view);
        Answer::Set { cwnd: ssthresh, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = if timeout.repeated > 0 { view.ssthresh } else { self.cut(view) };
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn on_sent(&mut self, _sent: &Sent, view: &View) {
        // Nothing else is in the network: the path may have changed.
        if view.pipe <= 1.0 {
            self.base = None;
            self.least = None;
            self.open = true;
            self.grows = true;
        }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::congestion::testing::{ACK, LOSS, ack, set, view_at};
    use crate::transport::congestion::veno::Params;

    /// After round trips of 100 ms and then this one, with a window of 20.
    fn veno(millis: u64) -> Linux {
        let mut veno = Linux::new(Params::of_profile(LINUX).linux());
        for millis in [100, 100, 100, millis] {
            veno.least = None;
            veno.on_arrival(&Arrived { round_trip: ack(1, millis).round_trip }, &view_at(0, 20.0));
        }
        veno.on_ack(&ACK, &view_at(0, 20.0));
        veno
    }

    #[test]
    fn a_loss_without_a_queue_takes_a_fifth() {
        assert_eq!(set(veno(110).on_loss(&LOSS, &view_at(0, 20.0))), (16.0, 16.0));
        assert_eq!(set(veno(125).on_loss(&LOSS, &view_at(0, 20.0))), (10.0, 10.0));
        assert_eq!(veno(125).backlog, 8, "four segments in halves");
    }

    #[test]
    fn with_a_queue_the_window_grows_in_every_second_round() {
        let mut congested = veno(150);
        let mut free = veno(100);
        let rounds = |veno: &mut Linux, millis| -> f64 {
            let mut cwnd = 20.0;
            for _ in 0..85 {
                veno.on_arrival(&Arrived { round_trip: ack(1, millis).round_trip }, &view_at(0, cwnd));
                cwnd = set(veno.on_ack(&ACK, &view_at(0, cwnd))).0;
            }
            cwnd
        };
        assert_eq!(rounds(&mut free, 100), 24.0);
        assert_eq!(rounds(&mut congested, 150), 22.0);
    }
}
