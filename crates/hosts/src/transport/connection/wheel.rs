//! When a timer that is set expires: at once, or when a wheel of ticks comes to it.
//!
//! A kernel counts time in ticks, and keeps its timers in a wheel whose slots are the coarser the later a timer
//! expires. Read: captures of Linux (`docs/models/rack_linux.md`). A timer is set for a whole number of ticks from the
//! present one. It expires when the slot after the one that it lies in begins. Slots are one tick long for the next 63
//! ticks, 8 for the next 504, 64 for the next 4,032, and so on. When a timer expires, the wheel is at the next tick
//! already. For a timer that is set later in this tick, the wait is a tick shorter when its level is looked up. A timer
//! that waits and is set for the same tick again keeps its slot, be it coarser.

use hopyard_engine::{Span, Time};

/// Slots in each level of the wheel, without the one at hand.
const SLOTS: u64 = 63;
/// How many slots of a level make one of the next, as a power of two.
const COARSER: u32 = 3;

/// When timers expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// The tick; zero for timers that expire exactly.
    tick: Span,
    /// The wheel has gone on to the tick that begins then.
    gone_on: Time,
    /// The tick that the timer was set for last, and when it expires.
    set: (u64, Time),
}

impl Wheel {
    /// Timers that expire exactly.
    pub const EXACT: Self = Self::new(Span::ZERO);

    /// A wheel with this tick.
    #[must_use]
    pub const fn new(tick: Span) -> Self {
        Self { tick, gone_on: Time::ZERO, set: (0, Time::ZERO) }
    }

    /// The whole ticks that a timer is set for.
    #[must_use]
    pub const fn ticks(&self, wait: Span) -> Span {
        match self.tick.nanos() {
            0 => wait,
            tick => Span::from_nanos(wait.nanos().div_ceil(tick) * tick),
        }
    }

    /// The whole ticks that have passed after a time.
    #[must_use]
    pub const fn elapsed(&self, span: Span) -> Span {
        match self.tick.nanos() {
            0 => span,
            tick => Span::from_nanos(span.nanos() / tick * tick),
        }
    }

    /// When the tick of a time began.
    #[must_use]
    pub const fn begun(&self, time: Time) -> Time {
        Time::from_nanos(self.elapsed(Span::from_nanos(time.nanos())).nanos())
    }

    /// A timer expires.
    pub fn expire(&mut self, now: Time) {
        if let Some(tick) = now.nanos().checked_div(self.tick.nanos()) {
            self.gone_on = Time::from_nanos((tick + 1) * self.tick.nanos());
        }
    }

    /// Sets the one timer of this wheel at `now` for `wait`, and returns when it expires.
    pub fn set(&mut self, now: Time, wait: Span) -> Time {
        let Some(tick) = now.nanos().checked_div(self.tick.nanos()) else { return now + wait };
        let expires = tick + wait.nanos().div_ceil(self.tick.nanos());
        if self.set.0 != expires || self.set.1 <= now {
            self.set = (expires, self.expiry(now, wait));
        }
        self.set.1
    }

    /// When a timer expires that is set at `now` for `wait`.
    #[must_use]
    pub fn expiry(&self, now: Time, wait: Span) -> Time {
        if self.tick.is_zero() {
            return now + wait;
        }
        let tick = self.tick.nanos();
        let wait = wait.nanos().div_ceil(tick);
        let seen = wait.saturating_sub(u64::from(now < self.gone_on));
        let level = (0..8).find(|level| seen < SLOTS << (COARSER * level)).unwrap_or(8);
        let slot = COARSER * level;
        let expires = now.nanos() / tick + wait;
        let begins = ((expires >> slot) + 1) << slot;
        Time::from_nanos(begins * tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Time {
        Time::from_nanos(millis * 1_000_000)
    }

    #[test]
    fn an_exact_timer_expires_when_it_is_set_to() {
        assert_eq!(Wheel::EXACT.expiry(ms(3), Span::from_micros(7)), ms(3) + Span::from_micros(7));
    }

    #[test]
    fn a_timer_expires_with_the_slot_after_its_own() {
        let wheel = Wheel::new(Span::from_millis(4));
        let expiry = |now, wait| wheel.expiry(ms(now), Span::from_millis(wait));
        // Tick 2 of 4 ms, and 5 ticks more: the slot after tick 7.
        assert_eq!(expiry(9, 20), ms(32));
        assert_eq!(expiry(11, 19), ms(32), "a wait is a whole number of ticks");
        // 62 ticks are the last with slots of one tick, 503 with slots of 8.
        assert_eq!(expiry(0, 248), ms(252));
        assert_eq!(expiry(0, 252), ms(256), "tick 63 lies in the slot of ticks 56 to 63");
        assert_eq!(expiry(0, 256), ms(288), "tick 64 in that of 64 to 71");
        assert_eq!(expiry(0, 503 * 4), ms(504 * 4));
        assert_eq!(expiry(0, 504 * 4), ms(512 * 4));
    }

    #[test]
    fn a_timer_that_is_set_for_the_same_tick_again_keeps_its_slot() {
        let mut wheel = Wheel::new(Span::from_millis(4));
        assert_eq!(wheel.set(ms(0), Span::from_millis(256)), ms(288), "tick 64, in a slot of 8");
        assert_eq!(wheel.set(ms(100), Span::from_millis(156)), ms(288), "the same tick");
        assert_eq!(wheel.set(ms(100), Span::from_millis(160)), ms(264), "another one, in a slot of its own");
        assert_eq!(wheel.set(ms(264), Span::from_millis(0)), ms(268), "it has expired");
        assert_eq!((wheel.begun(ms(11)), Wheel::EXACT.begun(ms(11))), (ms(8), ms(11)));
    }

    #[test]
    fn a_timer_set_when_another_expires_counts_from_the_next_tick() {
        let mut wheel = Wheel::new(Span::from_millis(4));
        let wait = Span::from_millis(252);
        assert_eq!(wheel.expiry(ms(8), wait), ms(288), "63 ticks: in a slot of 8");
        wheel.expire(ms(8));
        assert_eq!(wheel.expiry(ms(8), wait), ms(264), "62 ticks: in a slot of one");
        assert_eq!(wheel.expiry(ms(11), wait), ms(264), "the same tick");
        assert_eq!(wheel.expiry(ms(12), wait), ms(288), "the next");
    }
}
