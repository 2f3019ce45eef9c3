//! An object with a deadline, lent together with its timer.
//!
//! A caller that changes such an object would have to set its timer afterwards. The end of a loan sets the timer to the
//! deadline that the object has then.

use std::ops::{Deref, DerefMut};

use crate::{Queue, Time};

/// An object that names the time at which it must be called.
pub trait Deadline {
    /// When the object must next be called; [`Time::NEVER`] if it waits for nothing.
    fn deadline(&self) -> Time;
}

/// A loan of an object. Its end sets the timer of the object, to a time not before the loan.
#[derive(Debug)]
pub struct Armed<'a, T: Deadline + ?Sized, E: Copy> {
    object: &'a mut T,
    queue: &'a mut Queue<E>,
    timer: u32,
    now: Time,
}

impl<'a, T: Deadline + ?Sized, E: Copy> Armed<'a, T, E> {
    /// Lends an object, whose timer in the queue has this number, at a time.
    #[inline]
    pub const fn new(object: &'a mut T, queue: &'a mut Queue<E>, timer: u32, now: Time) -> Self {
        Self { object, queue, timer, now }
    }
}

impl<T: Deadline + ?Sized, E: Copy> Deref for Armed<'_, T, E> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.object
    }
}

impl<T: Deadline + ?Sized, E: Copy> DerefMut for Armed<'_, T, E> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        self.object
    }
}

impl<T: Deadline + ?Sized, E: Copy> Drop for Armed<'_, T, E> {
    #[inline]
    fn drop(&mut self) {
        self.queue.set(self.timer, self.object.deadline().max(self.now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Next;

    struct Alarm(Time);

    impl Deadline for Alarm {
        fn deadline(&self) -> Time {
            self.0
        }
    }

    #[test]
    fn the_end_of_a_loan_sets_the_timer() {
        let at = Time::from_nanos;
        let mut queue: Queue<()> = Queue::with_timers(2);
        let mut alarm = Alarm(Time::NEVER);
        Armed::new(&mut alarm, &mut queue, 1, at(5)).0 = at(9);
        assert_eq!(queue.pop(at(20)), Some((at(9), Next::Timer(1))));
        // A deadline that has passed is due at once.
        Armed::new(&mut alarm, &mut queue, 1, at(12)).0 = at(3);
        assert_eq!(queue.pop(at(20)), Some((at(12), Next::Timer(1))));
        Armed::new(&mut alarm, &mut queue, 1, at(12)).0 = Time::NEVER;
        assert_eq!(queue.next_time(), None);
    }
}
