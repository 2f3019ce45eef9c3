//! The steps of BBR that are the same whatever its numbers are: rounds, the end of STARTUP, the cycle of PROBE_BW, the
//! gains of each state.

use hopyard_engine::{Rng, Time};

use super::params::{CYCLE, FULL_ROUNDS, Mode, RANDOM};

/// Counts round trips by the delivered data, in any unit (§4.1.1.1).
#[derive(Clone, Copy, Debug, Default)]
pub struct Rounds {
    /// How many there were.
    pub count: u64,
    /// Whether the acknowledgement at hand begins one.
    pub begins: bool,
    /// The delivered data when the present round began: it ends with a segment that was sent later.
    end: u64,
}

impl Rounds {
    /// A segment was delivered that was sent when `prior` was delivered in all; now it is `total`. Returns whether a
    /// round begins.
    pub const fn update(&mut self, prior: u64, total: u64) -> bool {
        self.begins = prior >= self.end;
        if self.begins {
            self.end = total;
            self.count += 1;
        }
        self.begins
    }

    /// The present round begins again.
    pub const fn restart(&mut self, total: u64) {
        self.end = total;
    }
}

/// Whether STARTUP has filled the pipe (§4.3.2.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct Full<T> {
    /// The bandwidth that it has reached.
    pub bandwidth: T,
    /// The number of rounds with little growth.
    pub rounds: u32,
    /// The pipe is full.
    pub reached: bool,
}

impl<T: Copy + Default + PartialOrd> Full<T> {
    /// A round has ended with the bandwidth `max`; `enough` is the value to which a bandwidth must grow.
    pub fn check(&mut self, max: T, enough: impl Fn(T) -> T) {
        if self.reached {
            return;
        }
        if max >= enough(self.bandwidth) {
            self.bandwidth = max;
            self.rounds = 0;
            return;
        }
        self.rounds += 1;
        self.reached = self.rounds >= FULL_ROUNDS;
    }
}

/// The cycle of PROBE_BW (§4.3.4).
#[derive(Clone, Debug)]
pub struct Cycle {
    rng: Option<Rng>,
    /// The phase in which the next cycle begins.
    first: u32,
    phase: usize,
    /// Since when it is in this phase.
    pub since: Time,
}

impl Cycle {
    /// A cycle that begins in the phase `first` for the first time, and at random later.
    pub const fn new(first: u32) -> Self {
        Self { rng: None, first, phase: 0, since: Time::ZERO }
    }

    pub fn seed(&mut self, rng: Rng) {
        self.rng = Some(rng);
    }

    /// PROBE_BW begins: in any phase except the phase that drains (§4.3.4.3).
    pub fn begin(&mut self, now: Time) {
        let back = self.rng.as_mut().map_or(0, |rng| rng.below(CYCLE.len() as u64 - 1)) as usize;
        let drawn = (CYCLE.len() - back) % CYCLE.len();
        self.phase = match std::mem::replace(&mut self.first, RANDOM) {
            RANDOM => drawn,
            phase => phase as usize,
        };
        self.since = now;
    }

    /// The next phase.
    pub const fn advance(&mut self, now: Time) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.since = now;
    }

    #[cfg(test)]
    pub const fn phase(&self) -> usize {
        self.phase
    }

    /// Whether it probes for more bandwidth.
    pub const fn probes(&self) -> bool {
        self.phase == 0
    }

    /// The gain of the phase.
    pub const fn gain(&self) -> f64 {
        CYCLE[self.phase]
    }
}

/// Whether a phase with this gain is over (§4.3.4.3). `whole` means that it has lasted for the shortest round trip;
/// `target` is the data that is to be in flight with a gain.
pub fn is_over<T: Copy + PartialOrd, N: PartialOrd>(
    [gain, one]: [T; 2],
    whole: bool,
    loss: bool,
    in_flight: impl FnOnce() -> N,
    target: impl FnOnce(T) -> N,
) -> bool {
    if gain > one {
        whole && (loss || in_flight() >= target(gain))
    } else if gain < one {
        whole || in_flight() <= target(one)
    } else {
        whole
    }
}

/// The gains of the states.
#[derive(Clone, Copy, Debug)]
pub struct Gains<T> {
    pub high: T,
    pub drain: T,
    pub cwnd: T,
    pub one: T,
}

impl<T: Copy> Gains<T> {
    /// The gains of pacing and window in a state; `phase` is the phase of the cycle, which a policer stops.
    pub const fn of(&self, mode: Mode, policed: bool, phase: T) -> (T, T) {
        match mode {
            Mode::Startup => (self.high, self.high),
            Mode::Drain => (self.drain, self.high),
            Mode::ProbeBandwidth if policed => (self.one, self.cwnd),
            Mode::ProbeBandwidth => (phase, self.cwnd),
            Mode::ProbeRtt => (self.one, self.one),
        }
    }
}
