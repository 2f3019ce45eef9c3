//! CUBIC as Linux computes it: whole segments and fixed-point numbers, and the classic HyStart.
//!
//! Read: RFC 9438, and for the end of slow start Ha and Rhee, "Taming the elephants: New TCP slow start", Computer
//! Networks 55(9), 2011. Slow start ends at once if the acknowledgements of a round came close together for half of the
//! shortest round trip. It also ends if the shortest of the first eight round trips of a round is longer by an eighth.
//! The growth is the number of acknowledged segments that let the window grow by one. This number is computed at most
//! once in each tick, and at most once in eight ticks for the same window.

use hopyard_engine::{Span, Time};

use crate::transport::congestion::control::{Whole, delivered, micros, slow_start};
use crate::transport::congestion::{
    Ack, Answer, Arrived, CongestionControl, Loss, Phase, RecoveryChoice, Sent, Timeout, View,
};

/// The tick of the kernel's clock (HZ 250).
const TICK: Span = Span::from_millis(4);
/// Ticks in a second.
const HZ: u64 = 250;
/// The time in the cubic function counts parts of a second: 2^10.
const PARTS: u32 = 10;
/// Beta is a share of 1024.
const BETA_SCALE: f64 = 1024.0;
/// The shift that takes a cubed time and C back to segments.
const CUBE: u32 = 10 + 3 * PARTS;
/// HyStart begins with this window.
const LOW_WINDOW: f64 = 16.0;
/// Acknowledgements of one train follow each other within this time.
const TRAIN: Span = Span::from_millis(2);
/// By how much the sending of a train may be delayed.
const SLACK: Span = Span::from_millis(1);
/// The round trips of a round that are compared with the shortest.
const SAMPLES: u32 = 8;

/// The tick at this time.
const fn tick_of(time: Time) -> u64 {
    time.nanos() / TICK.nanos()
}

/// Finds the end of the first slow start.
#[derive(Clone, Debug)]
struct Classic {
    over: bool,
    /// When the round began, and where it ends.
    began: Time,
    round: u64,
    /// The last acknowledgement of the train.
    last: Time,
    shortest: Option<u64>,
    samples: u32,
}

impl Classic {
    const fn begin_round(&mut self, view: &View) {
        self.began = view.now;
        self.last = view.now;
        self.round = view.max;
        self.shortest = None;
        self.samples = 0;
    }

    /// Whether slow start ends.
    fn ends(&mut self, delay: u64, least: u64, view: &View) -> bool {
        if view.una > self.round {
            self.begin_round(view);
        }
        if view.cwnd < LOW_WINDOW {
            return false;
        }
        if view.now.since(self.last) <= TRAIN {
            self.last = view.now;
            let threshold = (Span::from_micros(least) + SLACK) / 2;
            self.over |= view.now.since(self.began) > threshold;
        }
        self.shortest = Some(self.shortest.map_or(delay, |shortest| shortest.min(delay)));
        if self.samples < SAMPLES {
            self.samples += 1;
        } else {
            let margin = (least / 8).clamp(4_000, 16_000);
            self.over |= self.shortest.is_some_and(|shortest| shortest > least + margin);
        }
        self.over
    }
}

/// The constants of the computation.
#[derive(Clone, Copy, Debug)]
pub struct Constants {
    /// The constant C of the cubic function, in segments per cubic second.
    pub c: f64,
    /// The share of the window that remains after a loss.
    pub beta: f64,
    /// Whether a loss at a smaller window than the one before reduces the window further.
    pub fast_convergence: bool,
    /// Whether the window is at least the window of Reno.
    pub reno_friendly: bool,
    /// Whether the classic HyStart ends the first slow start.
    pub hystart: bool,
}

/// CUBIC's congestion control as in Linux.
#[derive(Clone, Debug)]
pub struct Linux {
    constants: Constants,
    whole: Whole,
    hystart: Classic,
    opened: bool,
    /// How many acknowledged segments let the window grow by one.
    each: u64,
    /// The window before the last loss, reduced by fast convergence; 0 before the first and after a timeout.
    last_max: u64,
    /// The window and the tick of the last computation.
    last_cwnd: u64,
    last_tick: u64,
    /// The window where the function is flat, and the time at which it is reached.
    origin: u64,
    k: u64,
    /// The shortest round trip in microseconds.
    least: u64,
    /// The tick at which the stage of congestion avoidance began.
    epoch: Option<u64>,
    /// Acknowledged segments that the window of Reno has not counted, and that window.
    acked: u64,
    reno: u64,
    /// When data was last sent.
    sent: Time,
}

impl Linux {
    /// The congestion control with these constants.
    #[must_use]
    pub fn new(constants: Constants) -> Self {
        Self {
            constants,
            whole: Whole::default(),
            hystart: Classic {
                over: !constants.hystart,
                began: Time::ZERO,
                round: 0,
                last: Time::ZERO,
                shortest: None,
                samples: 0,
            },
            opened: false,
            each: 0,
            last_max: 0,
            last_cwnd: 0,
            last_tick: 0,
            origin: 0,
            k: 0,
            least: 0,
            epoch: None,
            acked: 0,
            reno: 0,
            sent: Time::ZERO,
        }
    }

    fn beta(&self) -> u64 {
        libm::round(self.constants.beta * BETA_SCALE) as u64
    }

    /// C in units of 2^-10 segments, as Linux rounds it: 410 for 0.4.
    fn scale(&self) -> u64 {
        (libm::round(self.constants.c * BETA_SCALE / 10.0) as u64) * 10
    }

    /// Computes how fast the window grows.
    fn update(&mut self, cwnd: u64, acked: u64, now: Time) {
        self.acked += acked;
        let tick = tick_of(now);
        if self.last_cwnd == cwnd && tick - self.last_tick <= HZ / 32 {
            return;
        }
        if self.epoch.is_none() || tick != self.last_tick {
            self.last_cwnd = cwnd;
            self.last_tick = tick;
            self.follow_function(cwnd, acked, tick);
        }
        if self.constants.reno_friendly {
            self.follow_reno(cwnd);
        }
        // At most half a segment for each that is acknowledged.
        self.each = self.each.max(2);
    }

    fn follow_function(&mut self, cwnd: u64, acked: u64, tick: u64) {
        let epoch = match self.epoch {
            Some(epoch) => epoch,
            None => {
                self.acked = acked;
                self.reno = cwnd;
                self.origin = self.last_max.max(cwnd);
                let distance = self.origin - cwnd;
                self.k = libm::cbrt(((1_u64 << CUBE) / self.scale()) as f64 * distance as f64) as u64;
                self.epoch = Some(tick);
                tick
            }
        };
        let ahead = Span::from_micros(self.least).nanos().div_ceil(TICK.nanos());
        let time = ((tick - epoch + ahead) << PARTS) / HZ;
        let offset = time.abs_diff(self.k);
        let change = (u128::from(self.scale()) * u128::from(offset).pow(3)) >> CUBE;
        let change = u64::try_from(change).unwrap_or(u64::MAX / 2);
        let target = if time < self.k { self.origin.saturating_sub(change) } else { self.origin + change };
        self.each = if target > cwnd { cwnd / (target - cwnd) } else { 100 * cwnd };
        if self.last_max == 0 {
            // The bandwidth is not known yet.
            self.each = self.each.min(20);
        }
    }

    /// The window is at least the window of Reno with the same reduction.
    fn follow_reno(&mut self, cwnd: u64) {
        let scale = 8 * (BETA_SCALE as u64 + self.beta()) / 3 / (BETA_SCALE as u64 - self.beta());
        let each = (cwnd * scale) >> 3;
        while self.acked > each {
            self.acked -= each;
            self.reno += 1;
        }
        if self.reno > cwnd {
            self.each = self.each.min(cwnd / (self.reno - cwnd));
        }
    }

    fn forget(&mut self) {
        self.each = 0;
        self.last_max = 0;
        self.last_cwnd = 0;
        self.last_tick = 0;
        self.origin = 0;
        self.k = 0;
        self.least = 0;
        self.epoch = None;
        self.acked = 0;
        self.reno = 0;
        self.hystart.over = !self.constants.hystart;
    }

    fn cut(&mut self, view: &View) -> f64 {
        self.whole.forget();
        self.epoch = None;
        let (cwnd, beta, scale) = (view.cwnd as u64, self.beta(), BETA_SCALE as u64);
        let converges = self.constants.fast_convergence && cwnd < self.last_max;
        self.last_max = if converges { cwnd * (scale + beta) / (2 * scale) } else { cwnd };
        ((cwnd * beta / scale) as f64).max(2.0)
    }
}

impl CongestionControl for Linux {
    fn on_arrival(&mut self, arrived: &Arrived, view: &View) -> Answer {
        let Some(round_trip) = arrived.round_trip else { return Answer::Keep };
        // Round trips just after a recovery do not count.
        let tick = tick_of(view.now);
        if self.epoch.is_some_and(|epoch| tick - epoch < HZ) {
            return Answer::Keep;
        }
        let delay = micros(round_trip).max(1);
        if self.least == 0 || delay < self.least {
            self.least = delay;
        }
        if !self.hystart.over && view.cwnd < view.ssthresh && self.hystart.ends(delay, self.least, view) {
            return Answer::Set { cwnd: view.cwnd, ssthresh: view.cwnd };
        }
        Answer::Keep
    }

    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if ack.phase != Phase::Open || !ack.window_limited {
            return Answer::Keep;
        }
        let (mut cwnd, rest) = slow_start(delivered(ack, view), view);
        if rest > 0.0 {
            self.update(cwnd as u64, rest as u64, view.now);
            cwnd = self.whole.avoid(cwnd, self.each as f64, rest);
        }
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        let ssthresh = self.cut(view);
        Answer::Set { cwnd: ssthresh, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.whole.forget();
        let ssthresh = if timeout.repeated > 0 { view.ssthresh } else { self.cut(view) };
        self.forget();
        self.hystart.begin_round(view);
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn on_sent(&mut self, sent: &Sent, view: &View) {
        if !self.opened {
            self.opened = true;
            self.hystart.begin_round(&View { max: sent.seq, ..*view });
        } else if view.pipe <= 1.0 {
            // The time in which nothing was in the network does not count.
            let (now, before) = (tick_of(view.now), tick_of(self.sent));
            if let Some(epoch) = &mut self.epoch {
                *epoch = (*epoch + now - before).min(now);
            }
        }
        self.sent = view.now;
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Rack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::congestion::cubic::Params;
    use crate::transport::congestion::testing::{LOSS, at, set, view_at};

    fn cubic() -> Linux {
        Linux::new(Params::of_profile(LINUX).linux())
    }

    /// The acknowledgement of a round with which slow start ends, after a round of 100 ms; one every `gap`
    /// milliseconds.
    fn ends(cubic: &mut Linux, millis: u64, gap: u64) -> Option<u64> {
        let view = |number: u64| View {
            ssthresh: 1e9,
            una: 1000 * number,
            max: 1000 * (number + 40),
            ..view_at(gap * number, 40.0)
        };
        cubic.least = 100_000;
        cubic.hystart.begin_round(&view(0));
        (41..81).find(|&number| {
            let arrived = Arrived { round_trip: Some(Span::from_millis(millis)) };
            cubic.on_arrival(&arrived, &view(number)) != Answer::Keep
        })
    }

    #[test]
    fn slow_start_ends_when_the_delay_or_the_train_is_long() {
        assert_eq!(ends(&mut cubic(), 112, 10), None);
        assert_eq!(ends(&mut cubic(), 113, 10), Some(49), "the ninth is more than an eighth longer");
        // A train of 1 ms each is longer than half of the round trip with the 52nd acknowledgement after the first.
        assert_eq!(ends(&mut cubic(), 100, 1), None, "the round is shorter");
        assert!(ends(&mut cubic(), 100, 2).is_some());
    }

    #[test]
    fn a_loss_takes_three_tenths_and_a_second_one_more() {
        let mut cubic = cubic();
        assert_eq!(set(cubic.on_loss(&LOSS, &view_at(0, 100.0))), (70.0, 70.0));
        assert_eq!(cubic.last_max, 100);
        cubic.on_loss(&LOSS, &view_at(0, 80.0));
        assert_eq!(cubic.last_max, 68, "fast convergence");
    }

    #[test]
    fn the_function_returns_to_the_window_at_the_loss() {
        let mut cubic = cubic();
        cubic.on_loss(&LOSS, &view_at(0, 100.0));
        cubic.update(70, 1, at(0));
        // (30 / 0.4)^(1/3) = 4.217 s in parts of 1024, with C rounded to 410 of 1024.
        assert_eq!(cubic.k, 4316);
        // At its flat part, well above Reno's window, it hardly grows.
        cubic.update(100, 1, at(4220));
        assert!(cubic.each >= 100, "{}", cubic.each);
    }
}
