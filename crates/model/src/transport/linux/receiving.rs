//! The rules of Linux's receiver, without the rules of its window and of its acknowledgements.

use hopyard_engine::{Span, Time};

use super::params::Timers;
use crate::packet::TcpHeader;
use crate::transport::connection::{Params, Wheel, is_earlier};

/// How often the answer to a SYN is sent again (`tcp_synack_retries`).
const ANSWERS: u32 = 5;

/// The state of these rules.
#[derive(Clone, Debug)]
pub(crate) struct Receiving {
    wheel: Wheel,
    min_rto: Span,
    max_rto: Span,
    /// The time at which the answer to the SYN is sent again, the wait before that, and the number of answers.
    again: Time,
    wait: Span,
    answers: u32,
    /// Something but a SYN has arrived.
    opened: bool,
}

impl Receiving {
    pub fn new(params: &Params) -> Self {
        Self {
            wheel: match params.linux.timers {
                Timers::Exact => Wheel::EXACT,
                Timers::Wheel => Wheel::new(params.tick),
            },
            min_rto: params.min_rto,
            max_rto: params.max_rto,
            again: Time::NEVER,
            wait: params.initial_rto,
            answers: 0,
            opened: false,
        }
    }

    /// Whether data is thrown away because of its timestamp: a late copy may belong to numbers that were used before
    /// (RFC 7323 §5). A difference of a millisecond may come from rounding.
    pub fn is_outdated(header: &TcpHeader, echo: Option<u32>) -> bool {
        let (Some((value, _)), Some(recent)) = (header.timestamps, echo) else { return false };
        header.len > 0 && is_earlier(value.wrapping_add(1), recent)
    }

    /// When a timer expires that is set now.
    pub fn expiry(&self, wait: Span, now: Time) -> Time {
        self.wheel.expiry(now, wait)
    }

    /// The SYN is answered now: the answer is sent again until something else arrives.
    pub fn on_answered(&mut self, now: Time) {
        if !self.opened {
            self.again = self.expiry(self.wait, now);
        }
    }

    /// Something but a SYN has arrived.
    pub const fn on_opened(&mut self) {
        self.opened = true;
        self.again = Time::NEVER;
    }

    /// When the answer to the SYN is sent again.
    pub const fn deadline(&self) -> Time {
        self.again
    }

    /// The deadline may have been reached. Returns whether the SYN is answered again.
    pub fn on_timer(&mut self, now: Time) -> bool {
        if now < self.again {
            return false;
        }
        self.again = Time::NEVER;
        self.wait = (self.wait * 2).min(self.max_rto);
        self.answers += 1;
        self.answers <= ANSWERS
    }

    /// How long the FIN waits for its answer, first and then, after an opening exchange of `trip` (RFC 6298 §2.2).
    /// The first repetition is the probe of an only segment (RFC 8985 §7.2), if that comes before the timeout, which
    /// it does not back off.
    pub fn fin_waits(&self, trip: Span) -> (Span, Span) {
        let timeout = (trip + (trip * 2).max(self.min_rto)).min(self.max_rto);
        (timeout.min(trip * 2 + self.min_rto), timeout)
    }
}
