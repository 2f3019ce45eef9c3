//! When each kernel wishes to run.

use std::collections::BTreeSet;

use hopyard_engine::Time;

/// The bound of the wishes of a kernel that still has work. A kernel that sleeps for ever asks for a time far beyond
/// every run, and would panic by design if it ran then.
const FOR_EVER: Time = Time::from_nanos(1 << 62);

/// The wishes of all kernels. Among two wishes for the same time, the wish of the lower number is the earlier.
#[derive(Debug, Default)]
pub struct Calendar {
    wishes: Vec<Option<Time>>,
    order: BTreeSet<(Time, usize)>,
}

impl Calendar {
    /// A calendar of this many kernels without wishes.
    pub fn new(kernels: usize) -> Self {
        Self { wishes: vec![None; kernels], order: BTreeSet::new() }
    }

    /// A kernel wishes to run at a time; an earlier wish of it does not count any more.
    pub fn wish(&mut self, kernel: usize, at: Time) {
        self.forget(kernel);
        if at < FOR_EVER {
            self.wishes[kernel] = Some(at);
            self.order.insert((at, kernel));
        }
    }

    /// A kernel has no wish any more.
    pub fn forget(&mut self, kernel: usize) {
        if let Some(at) = self.wishes[kernel].take() {
            self.order.remove(&(at, kernel));
        }
    }

    /// The earliest wish.
    pub fn first(&self) -> Option<(Time, usize)> {
        self.order.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn the_earliest_wish_is_first_and_the_lower_number_of_two() {
        let mut calendar = Calendar::new(3);
        assert_eq!(calendar.first(), None);
        calendar.wish(2, at(5));
        calendar.wish(1, at(5));
        calendar.wish(0, at(6));
        assert_eq!(calendar.first(), Some((at(5), 1)));
        calendar.forget(1);
        assert_eq!(calendar.first(), Some((at(5), 2)));
    }

    #[test]
    fn the_last_wish_of_a_kernel_counts() {
        let mut calendar = Calendar::new(2);
        calendar.wish(0, at(3));
        calendar.wish(1, at(4));
        calendar.wish(0, at(9));
        assert_eq!(calendar.first(), Some((at(4), 1)));
        calendar.forget(1);
        calendar.forget(1);
        assert_eq!(calendar.first(), Some((at(9), 0)));
    }

    #[test]
    fn to_sleep_for_ever_is_no_wish() {
        let mut calendar = Calendar::new(1);
        calendar.wish(0, at(1));
        calendar.wish(0, FOR_EVER);
        assert_eq!(calendar.first(), None);
        calendar.wish(0, Time::NEVER);
        assert_eq!(calendar.first(), None);
    }
}
