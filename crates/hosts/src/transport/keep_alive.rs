//! Keep-alive (RFC 9293 §3.8.4): an end that has heard nothing asks whether the other end is there, and gives up if it
//! does not answer.
//!
//! As in Linux, an end asks only while the connection is open and nothing that it wrote is outstanding or waits, and
//! every segment of the other end counts as a sign of life.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When an end asks whether the other one is there. Linux has the defaults as `tcp_keepalive_*`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time without a segment of the other end after which an end that sends data asks whether the other one is there;
    /// "0 s" for never (RFC 9293 §3.8.4: off, and two hours where it is on).
    pub idle: Span,
    /// Time after which it asks again.
    pub interval: Span,
    /// The number of questions without an answer after which it gives the connection up.
    pub probes: u32,
}

impl Default for Params {
    fn default() -> Self {
        Self { idle: Span::ZERO, interval: Span::from_secs(75), probes: 9 }
    }
}

/// The state at one end.
#[derive(Clone, Debug)]
pub struct KeepAlive {
    params: Params,
    /// The questions since the last segment of the other end.
    asked: u32,
    /// When the end asks next, or gives up.
    next: Time,
    /// A question is to be sent.
    is_due: bool,
}

impl KeepAlive {
    /// The keep-alive of an end whose connection is not open yet, if there is to be one.
    pub fn new(params: &Params) -> Option<Self> {
        let wanted = !params.idle.is_zero();
        wanted.then(|| Self { params: params.clone(), asked: 0, next: Time::NEVER, is_due: false })
    }

    /// A segment of the other end arrived.
    pub fn on_segment(&mut self, now: Time) {
        self.asked = 0;
        self.is_due = false;
        self.next = now + self.params.idle;
    }

    /// The deadline may have been reached. `may_ask` says whether the end may ask now; none for never again. Returns
    /// whether the end gives the connection up.
    pub fn on_timer(&mut self, may_ask: Option<bool>, now: Time) -> bool {
        if now < self.next {
            return false;
        }
        if may_ask != Some(true) {
            self.next = if may_ask.is_none() { Time::NEVER } else { now + self.params.idle };
            return false;
        }
        let gives_up = self.asked >= self.params.probes;
        if !gives_up {
            self.asked += 1;
            self.is_due = true;
        }
        self.next = if gives_up { Time::NEVER } else { now + self.params.interval };
        gives_up
    }

    /// When [`Self::on_timer`] must be called next.
    pub const fn deadline(&self) -> Time {
        self.next
    }

    /// Whether a question is to be sent now.
    pub const fn take_due(&mut self) -> bool {
        std::mem::replace(&mut self.is_due, false)
    }
}
