//! H-TCP: the window grows the faster, the longer the last loss is past; the queue decides by how much a loss reduces
//! it.
//!
//! Read: R. N. Shorten and D. J. Leith, "H-TCP: TCP for High-Speed and Long-Distance Networks", PFLDnet 2004; D. Leith
//! and R. Shorten, draft-leith-tcp-htcp; for the profile `linux`, the behaviour of Linux's `tcp_htcp`. In the time `Δ`
//! after a loss the window grows by `α = 2 (1 - β) f(Δ)` segments in each round trip. `f` is 1 in the first second,
//! and 1 + 10 d + d²/4 after it, where d is the time since then. The growth is scaled by the round trip, so that flows
//! with different round trips get similar shares. A loss leaves the share `β` of the window, which is the shortest
//! round trip divided by the longest one: the queue empties, but the path stays full. If the throughput has changed by
//! more than a fifth since the previous loss, β is a half. In both profiles, as in Linux, the throughput is the largest
//! smoothed one of a window since the loss, the first loss with a stable throughput still halves the window, each loss
//! takes a twentieth of the queue from the memory of the longest round trip, and the time counts from the end of a
//! repair. The profile `linux` differs in details: times are whole ticks of 4 ms, α and β are rounded down, the window
//! grows in whole segments. Left out of Linux: the return to the old time after a spurious loss detection. Validated by
//! the closed form of the growth (`tests/delay_senders.rs`) and against Linux 6.1 (`tests/windows.rs`).

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::{Arithmetic, delivered, slow_start};
use super::reno::{self, Halve, Reno};
use super::{Ack, Answer, CongestionControl, Loss, Phase, Timeout, View};
use crate::params::{self, Fault, LINUX, RFC};

/// The tick of the kernel's clock (HZ 250).
const TICK: Span = Span::from_millis(4);
/// Linux's whole parts of α and β.
const PARTS: f64 = 128.0;
/// So many of the shortest round trips after a loss, a sample of the throughput stands alone.
const FRESH: f64 = 3.0;
/// The bounds of the scale by the round trip.
const SCALES: (f64, f64) = (0.5, 10.0);

reno::grows_as_reno! {
    /// H-TCP's parameters.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    pub struct Params {
        /// The time after a loss in which the window grows as that of Reno (`Δ_L`).
        pub reno_time: Span,
        /// The smallest share of the window that a loss leaves.
        pub beta_min: f64,
        /// The largest share of the window that a loss leaves.
        pub beta_max: f64,
        /// The share by which the throughput may differ from that before the previous loss; beyond it a loss leaves
        /// `beta_min`.
        pub bandwidth_change: f64,
        /// Whether the growth is scaled by the shortest round trip.
        pub rtt_scaling: bool,
        /// The shortest round trip with which the scale is 1.
        pub reference_rtt: Span,
        /// The longest round trip increases by at most this much with one sample; "0 s" for no limit. rfc: 0 s; linux:
        /// 20 ms.
        pub max_rtt_step: Span,
        /// With a shortest round trip up to this, a loss leaves `beta_min`. rfc: 0 s; linux: 10 ms.
        pub min_rtt_floor: Span,
        /// The share of the difference between the longest and the shortest round trip that is kept after a loss.
        pub max_rtt_memory: f64,
        ..growth
        /// Whether the computation is the published one, or Linux's in whole numbers. rfc: published; linux: linux.
        pub arithmetic: Arithmetic,
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, LINUX];

    fn of_profile(profile: &str) -> Self {
        let linux = profile == LINUX;
        Self {
            reno_time: Span::from_secs(1),
            beta_min: 0.5,
            beta_max: 0.8,
            bandwidth_change: 0.2,
            rtt_scaling: true,
            reference_rtt: Span::from_millis(100),
            max_rtt_step: if linux { Span::from_millis(20) } else { Span::ZERO },
            min_rtt_floor: if linux { Span::from_millis(10) } else { Span::ZERO },
            max_rtt_memory: 0.95,
            slow_start_limit: if linux { 65_535 } else { 1 },
            count_bytes: linux,
            grow_only_when_limited: true,
            arithmetic: if linux { Arithmetic::Linux } else { Arithmetic::Published },
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("beta_min", self.beta_min, |it| it > 0.0 && it < 1.0, "more than 0 and less than 1")?;
        if !(self.beta_max >= self.beta_min && self.beta_max < 1.0) {
            let problem =
                format!("expected at least beta_min ({}) and less than 1, found {}", self.beta_min, self.beta_max);
            return Err(Fault::new("beta_max", problem));
        }
        Fault::unless("bandwidth_change", self.bandwidth_change, |it| it >= 0.0 && it.is_finite(), "0 or more")?;
        Fault::unless("max_rtt_memory", self.max_rtt_memory, |it| (0.0..=1.0).contains(&it), "0 to 1")?;
        self.reno(Halve::Window, true).check()
    }

    fn unused(&self) -> Vec<params::Unused> {
        params::unused_where([(!self.rtt_scaling, "rtt_scaling", &["reference_rtt"])])
    }
}

/// The throughput since the last loss, in segments per second.
#[derive(Clone, Copy, Debug, Default)]
struct Throughput {
    /// Segments acknowledged since the beginning of the sample.
    segments: f64,
    since: Time,
    smoothed: f64,
    largest: f64,
    /// The largest one before the last loss.
    previous: f64,
}

/// H-TCP's congestion control.
#[derive(Clone, Debug)]
pub struct Htcp {
    params: Params,
    reno: Reno,
    beta: f64,
    /// Linux computes α only when the window has grown, and from the ticks of its clock.
    alpha: f64,
    min_rtt: Option<Span>,
    max_rtt: Span,
    /// When the last loss was repaired.
    since: Time,
    /// The losses of a timeout are repaired when this is acknowledged.
    repair: Option<u64>,
    throughput: Throughput,
    /// The throughput was stable at the last loss.
    stable: bool,
    /// For Linux: acknowledged segments that have not led to growth yet, and those of the last acknowledgement.
    credit: f64,
    last: f64,
}

impl Htcp {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            reno: Reno::new(&params.reno(Halve::Window, true)),
            beta: params.beta_min,
            alpha: 1.0,
            min_rtt: None,
            max_rtt: Span::ZERO,
            since: Time::ZERO,
            repair: None,
            throughput: Throughput::default(),
            stable: false,
            credit: 0.0,
            last: 1.0,
            params: params.clone(),
        }
    }

    fn is_linux(&self) -> bool {
        self.params.arithmetic == Arithmetic::Linux
    }

    /// A time as the profile counts it.
    fn ticks(&self, span: Span, up: bool) -> Span {
        if !self.is_linux() {
            return span;
        }
        let ticks = if up { span.nanos().div_ceil(TICK.nanos()) } else { span.nanos() / TICK.nanos() };
        TICK * ticks
    }

    /// A number as the profile computes it, with so many parts.
    fn parts(&self, value: f64, parts: f64) -> f64 {
        if self.is_linux() { libm::floor(value * parts) / parts } else { value }
    }

    fn elapsed(&self, view: &View) -> Span {
        self.ticks(view.now.since(self.since), false)
    }

    fn measure(&mut self, round_trip: Span, open: bool) {
        let sample = self.ticks(round_trip, true);
        let min = self.min_rtt.map_or(sample, |min| min.min(sample));
        self.min_rtt = Some(min);
        if open {
            self.max_rtt = self.max_rtt.max(min);
            let step = self.params.max_rtt_step;
            if sample > self.max_rtt && (step.is_zero() || sample <= self.max_rtt + step) {
                self.max_rtt = sample;
            }
        }
    }

    /// A sample of the throughput, of at least a window and a round trip.
    fn sample(&mut self, ack: &Ack, open: bool, view: &View) {
        let Some(min) = self.min_rtt.filter(|min| !min.is_zero()) else { return };
        let fresh = libm::floor(self.elapsed(view).seconds() / min.seconds()) <= FRESH;
        let now = &mut self.throughput;
        if !open {
            now.segments = 0.0;
            now.since = view.now;
            return;
        }
        now.segments += f64::from(ack.segments);
        let elapsed = view.now.since(now.since);
        if now.segments < view.cwnd - self.alpha.max(1.0) || elapsed < min {
            return;
        }
        let rate = now.segments / elapsed.seconds();
        now.smoothed = if fresh { rate } else { 0.75 * now.smoothed + 0.25 * rate };
        now.largest = if fresh { rate } else { now.largest.max(now.smoothed) };
        now.segments = 0.0;
        now.since = view.now;
    }

    /// The growth in a round trip, in segments.
    fn growth(&self, view: &View) -> f64 {
        let after = self.elapsed(view).seconds() - self.params.reno_time.seconds();
        let mut factor = if after > 0.0 { self.parts(1.0 + 10.0 * after + 0.25 * after * after, 1.0) } else { 1.0 };
        if self.params.rtt_scaling
            && let Some(min) = self.min_rtt.filter(|min| !min.is_zero())
        {
            let scale = self.params.reference_rtt.seconds() / min.seconds();
            factor /= self.parts(scale, 8.0).clamp(SCALES.0, SCALES.1);
            // Never below Reno's growth.
            factor = self.parts(factor, 1.0).max(1.0);
        }
        2.0 * factor * (1.0 - self.beta)
    }

    /// The share of the window that a loss leaves, from now on.
    fn adapt(&mut self, view: &View) {
        let previous = std::mem::replace(&mut self.throughput.previous, self.throughput.largest);
        let change = (self.throughput.largest - previous).abs();
        let stable = change <= self.params.bandwidth_change * previous;
        let min = self.min_rtt.unwrap_or(Span::ZERO);
        let queue = stable && self.stable && min > self.params.min_rtt_floor && !self.max_rtt.is_zero();
        self.stable = stable;
        self.beta = if queue {
            let ratio = (min.seconds() / self.max_rtt.seconds()).clamp(self.params.beta_min, self.params.beta_max);
            self.parts(ratio, PARTS)
        } else {
            self.params.beta_min
        };
        self.alpha = self.growth(view);
        if self.max_rtt > min {
            let queued = (self.max_rtt - min).seconds() * self.params.max_rtt_memory;
            self.max_rtt = self.ticks(min + Span::from_secs_f64(queued), false);
        }
    }

    fn avoid(&mut self, ack: &Ack, view: &View) -> f64 {
        if !self.is_linux() {
            self.alpha = self.growth(view);
            return view.cwnd + self.alpha * (self.reno.grown(ack, view) - view.cwnd);
        }
        if !ack.window_limited && self.params.grow_only_when_limited {
            return view.cwnd;
        }
        let acked = std::mem::replace(&mut self.last, 1.0);
        if self.credit * self.alpha < view.cwnd {
            self.credit += acked;
            return view.cwnd;
        }
        self.credit = 0.0;
        self.alpha = self.growth(view);
        view.cwnd + 1.0
    }
}

impl CongestionControl for Htcp {
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        if self.repair.is_some_and(|end| view.una >= end) {
            self.repair = None;
            self.since = view.now;
        }
        let open = ack.phase == Phase::Open && self.repair.is_none();
        if open {
            self.last = f64::from(ack.segments);
        }
        // The opening segment is shorter: it is not compared with the others.
        if let Some(round_trip) = ack.round_trip.filter(|_| ack.bytes > 0) {
            self.measure(round_trip, open);
        }
        self.sample(ack, open, view);
        if ack.phase != Phase::Open {
            return Answer::Keep;
        }
        let cwnd = if view.cwnd >= view.ssthresh {
            self.avoid(ack, view)
        } else if self.is_linux() && (ack.window_limited || !self.params.grow_only_when_limited) {
            slow_start(delivered(ack, view), view).0
        } else {
            self.reno.grown(ack, view)
        };
        Answer::Set { cwnd, ssthresh: view.ssthresh }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.adapt(view);
        self.since = view.now;
        self.credit = 0.0;
        let (ssthresh, cwnd) = self.reno.cut(view, self.beta);
        Answer::Set { cwnd: if self.is_linux() { ssthresh } else { cwnd }, ssthresh }
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        self.since = view.now;
        Answer::Keep
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.repair = Some(view.max);
        if timeout.repeated > 0 {
            return self.reno.on_timeout(timeout, view);
        }
        self.adapt(view);
        self.since = view.now;
        self.credit = 0.0;
        Answer::Set { cwnd: 1.0, ssthresh: self.reno.cut(view, self.beta).0 }
    }
}

#[cfg(test)]
mod tests;
