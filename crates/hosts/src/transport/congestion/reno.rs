//! Reno's congestion control (RFC 5681 §3.1 and §3.2), on which the loss-based variants are based.
//!
//! Read: RFC 5681; RFC 3465 for counting bytes; for the profile `ns2`, ns-2.35's `TcpAgent::opencwnd` and `slowdown`.
//! Deviations of the profile `ns2`: the window is halved, not FlightSize. The threshold is truncated to whole segments,
//! and the window keeps its fraction. A repeated timeout reduces the threshold again. The window grows even when the
//! receiver's window or the application limits the sender. Validated segment by segment against ns-2.35
//! (`tests/forced_drops.rs`) and by the tests below.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::control::Whole;
use super::{Ack, Answer, CongestionControl, Loss, Phase, RecoveryChoice, Timeout, View};
use crate::params::{self, LINUX, NS2, RFC};

/// The quantity that a loss halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Halve {
    /// What is outstanding (RFC 5681 eq. 4).
    Flight,
    /// The window in use, the threshold in whole segments (ns-2); with `whole_segments` the congestion window (Linux).
    Window,
    /// The estimate of the data in the network, without segments reported by SACK and lost segments (ns-3).
    Pipe,
}

/// Reno's parameters, which Tahoe, NewReno and SACK share.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The quantity that a loss halves.
    pub halve: Halve,
    /// Whether another timeout of the same segment leaves the threshold unchanged (RFC 5681 §3.1).
    pub hold_ssthresh: bool,
    /// The largest increase of the window by one acknowledgement in slow start, in segments: 1 is RFC 5681 eq. 2, 2 is
    /// RFC 3465.
    pub slow_start_limit: u32,
    /// Whether congestion avoidance counts acknowledged bytes, so that delayed acknowledgements do not reduce the
    /// growth (RFC 3465 §2.1).
    pub count_bytes: bool,
    /// Whether the window grows only while it limits the sender (RFC 7661 §4.3).
    pub grow_only_when_limited: bool,
    /// Whether the window grows in whole segments, for the segments that were delivered (Linux).
    pub whole_segments: bool,
}

/// Declares the parameters of a variant whose window grows as Reno's: at `..growth`, [`Params`]' three keys of growth.
macro_rules! grows_as_reno {
    ($(#[$about:meta])* pub struct Params {
        $($(#[$meaning:meta])+ pub $key:ident: $type:ty,)*
        ..growth
        $($(#[$more:meta])+ pub $last:ident: $last_type:ty,)*
    }) => {
        $(#[$about])*
        pub struct Params {
            $($(#[$meaning])+ pub $key: $type,)*
            /// The largest increase of the window by one acknowledgement in slow start, in segments: 1 is RFC 5681 eq.
            /// 2, 2 is RFC 3465.
            pub slow_start_limit: u32,
            /// Whether congestion avoidance counts acknowledged bytes (RFC 3465 §2.1).
            pub count_bytes: bool,
            /// Whether the window grows only while it limits the sender (RFC 7661 §4.3).
            pub grow_only_when_limited: bool,
            $($(#[$more])+ pub $last: $last_type,)*
        }

        impl Params {
            /// Reno's parameters with this growth.
            pub(super) const fn reno(&self, halve: reno::Halve, hold_ssthresh: bool) -> reno::Params {
                let &Self { slow_start_limit, count_bytes, grow_only_when_limited, .. } = self;
                reno::Params {
                    halve,
                    hold_ssthresh,
                    slow_start_limit,
                    count_bytes,
                    grow_only_when_limited,
                    whole_segments: false,
                }
            }
        }
    };
}
pub(super) use grows_as_reno;

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, LINUX];

    fn of_profile(profile: &str) -> Self {
        let (ns2, linux) = (profile == NS2, profile == LINUX);
        Self {
            halve: if ns2 || linux { Halve::Window } else { Halve::Flight },
            hold_ssthresh: !ns2,
            slow_start_limit: if linux { 65_535 } else { 1 },
            count_bytes: linux,
            grow_only_when_limited: !ns2,
            whole_segments: linux,
        }
    }

    fn check(&self) -> Result<(), params::Fault> {
        if self.slow_start_limit == 0 {
            return Err(params::Fault::new("slow_start_limit", "expected at least 1, found 0"));
        }
        Ok(())
    }
}

/// Reno's congestion control.
#[derive(Clone, Debug)]
pub struct Reno {
    params: Params,
    whole: Whole,
}

impl Reno {
    /// The congestion control with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self { params: params.clone(), whole: Whole::default() }
    }

    /// The slow start threshold after a loss (RFC 5681 eq. 4), and half of the quantity from which it is computed.
    #[must_use]
    pub fn halved(&self, view: &View) -> (f64, f64) {
        self.cut(view, 0.5)
    }

    /// As [`halved`](Self::halved), with another remaining share than one half.
    #[must_use]
    pub fn cut(&self, view: &View, kept: f64) -> (f64, f64) {
        match self.params.halve {
            Halve::Flight => {
                let rest = (view.flight * kept).max(2.0);
                (rest, rest)
            }
            Halve::Pipe => {
                let rest = (view.pipe * kept).max(2.0);
                (rest, rest)
            }
            Halve::Window => {
                // Linux halves the congestion window, though the receiver's may be smaller.
                let rest = kept * if self.params.whole_segments { view.cwnd } else { view.usable() };
                (libm::floor(rest).max(2.0), rest.max(1.0))
            }
        }
    }

    /// The window is reduced: delivered segments that have not led to growth do not count any more.
    pub const fn forget(&mut self) {
        self.whole.forget();
    }

    /// The window after an acknowledgement outside recovery (RFC 5681 eq. 2 and 3).
    pub fn grown(&mut self, ack: &Ack, view: &View) -> f64 {
        if self.params.grow_only_when_limited && !ack.window_limited {
            return view.cwnd;
        }
        if self.params.whole_segments {
            return self.whole.grown(ack, view);
        }
        let acked = if self.params.count_bytes || self.params.slow_start_limit > 1 {
            (ack.counted as f64 / f64::from(view.segment)).min(f64::from(self.params.slow_start_limit))
        } else {
            1.0
        };
        if view.cwnd < view.ssthresh {
            let grown = view.cwnd + acked;
            if self.params.slow_start_limit == 1 || grown <= view.ssthresh {
                return grown;
            }
            // Slow start ends at the threshold. The part of the growth beyond it counts for congestion avoidance.
            let rest = if self.params.count_bytes { grown - view.ssthresh } else { 0.0 };
            view.ssthresh + rest / view.ssthresh
        } else if self.params.count_bytes {
            view.cwnd + ack.counted as f64 / f64::from(view.segment) / view.cwnd
        } else {
            view.cwnd + 1.0 / view.cwnd
        }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        match ack.phase {
            Phase::Open => Answer::Set { cwnd: self.grown(ack, view), ssthresh: view.ssthresh },
            Phase::Partial | Phase::Recovered => Answer::Keep,
        }
    }

    fn on_loss(&mut self, _loss: &Loss, view: &View) -> Answer {
        self.forget();
        let (ssthresh, cwnd) = self.halved(view);
        Answer::Set { cwnd, ssthresh }
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        self.forget();
        let hold = timeout.repeated > 0 && self.params.hold_ssthresh;
        let ssthresh = if hold { view.ssthresh } else { self.halved(view).0 };
        Answer::Set { cwnd: 1.0, ssthresh }
    }

    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::Reno
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;
    use crate::transport::congestion::testing::{ack, set, view_at as view};

    #[test]
    fn linux_halves_the_congestion_window_whatever_the_receiver_announces() {
        for (profile, halved) in [(LINUX, 10.0), (NS2, 6.0)] {
            let reno = Reno::new(&Params::of_profile(profile));
            assert_eq!(reno.halved(&View { advertised: 12.0, ..view(0, 20.0) }).0, halved, "{profile}");
        }
    }

    #[test]
    fn what_is_halved_does_not_decide_what_a_repeated_timeout_does() {
        for halve in [Halve::Flight, Halve::Window, Halve::Pipe] {
            for (hold_ssthresh, ssthresh) in [(true, 10.0), (false, 2.0)] {
                let mut control = Reno::new(&Params { halve, hold_ssthresh, ..Params::of_profile(RFC) });
                assert_eq!(set(control.on_timeout(&Timeout { repeated: 0 }, &view(0, 20.0))), (1.0, 10.0));
                let again = View { ssthresh: 10.0, ..view(1000, 1.0) };
                assert_eq!(set(control.on_timeout(&Timeout { repeated: 1 }, &again)), (1.0, ssthresh), "{halve:?}");
            }
        }
        assert!(Params::of_profile(RFC).hold_ssthresh, "RFC 5681 §3.1");
        assert!(!Params::of_profile(NS2).hold_ssthresh);
    }

    #[test]
    fn slow_start_ends_at_the_threshold_however_much_is_acknowledged() {
        let grown = |slow_start_limit, count_bytes, segments, cwnd| {
            let mut control = Reno::new(&Params { slow_start_limit, count_bytes, ..Params::of_profile(RFC) });
            control.grown(&ack(segments, 100), &View { ssthresh: 12.0, ..view(0, cwnd) })
        };
        assert_eq!(grown(65_535, false, 8, 3.0), 11.0);
        assert_eq!(grown(65_535, false, 8, 10.0), 12.0);
        assert_eq!(grown(65_535, true, 8, 10.0), 12.5, "six segments are left for congestion avoidance");
        assert_eq!(grown(2, true, 8, 11.5), 12.125);
        assert_eq!(grown(1, false, 8, 11.0), 12.0);
    }
}
