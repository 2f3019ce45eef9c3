//! One pending wake-up per object.
//!
//! An object with several timers reports one deadline, the earliest. TCP moves its deadline to a later time at every
//! acknowledgement, and DCF when the channel becomes busy. Then only the new time is stored: the event in the queue
//! fires too early and is scheduled again.

use crate::time::Time;

/// The link between an object's deadline and its one event in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Wakeup {
    deadline: Time,
    pending: Time,
}

impl Default for Wakeup {
    fn default() -> Self {
        Self { deadline: Time::NEVER, pending: Time::NEVER }
    }
}

impl Wakeup {
    /// Sets the deadline. If this returns a time, the caller must push an event for that time.
    #[inline]
    #[must_use = "the time given must be scheduled"]
    pub fn set(&mut self, deadline: Time) -> Option<Time> {
        self.deadline = deadline;
        if deadline < self.pending {
            self.pending = deadline;
            return Some(deadline);
        }
        None
    }

    /// An event of this object fired at `now`.
    #[inline]
    #[must_use]
    pub fn fire(&mut self, now: Time) -> Fired {
        if now != self.pending {
            return Fired::Stale;
        }
        self.pending = Time::NEVER;
        if self.deadline <= now {
            self.deadline = Time::NEVER;
            return Fired::Due;
        }
        if self.deadline == Time::NEVER {
            return Fired::Stale;
        }
        self.pending = self.deadline;
        Fired::Early(self.deadline)
    }
}

/// What an event of a [`Wakeup`] means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fired {
    /// The deadline has arrived: the object must act.
    Due,
    /// The deadline is now later: the caller must push an event for this time.
    Early(Time),
    /// The event was replaced by an earlier one, or the deadline was cancelled.
    Stale,
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn moving_back_costs_no_event() {
        let mut wakeup = Wakeup::default();
        assert_eq!(wakeup.set(at(10)), Some(at(10)));
        assert_eq!(wakeup.set(at(20)), None);
        assert_eq!(wakeup.set(at(30)), None);
        assert_eq!(wakeup.fire(at(10)), Fired::Early(at(30)));
        assert_eq!(wakeup.fire(at(30)), Fired::Due);
        assert_eq!(wakeup.set(at(40)), Some(at(40)));
    }

    #[test]
    fn moving_forward_leaves_a_stale_event() {
        let mut wakeup = Wakeup::default();
        assert_eq!(wakeup.set(at(30)), Some(at(30)));
        assert_eq!(wakeup.set(at(10)), Some(at(10)));
        assert_eq!(wakeup.fire(at(10)), Fired::Due);
        assert_eq!(wakeup.fire(at(30)), Fired::Stale);
    }

    #[test]
    fn a_deadline_can_be_taken_away_and_given_again() {
        let mut wakeup = Wakeup::default();
        assert_eq!(wakeup.set(at(10)), Some(at(10)));
        assert_eq!(wakeup.set(Time::NEVER), None);
        assert_eq!(wakeup.fire(at(10)), Fired::Stale);
        assert_eq!(wakeup.set(at(12)), Some(at(12)));
        assert_eq!(wakeup.fire(at(12)), Fired::Due);
    }
}
