//! Timers: each has at most one deadline, and the earliest deadline is always known.
//!
//! A timer is a slot of an array. The slots are in groups of eight, and each group has its earliest deadline in the
//! level above, up to one group. A timer that is set to a later time, or stopped, leaves nothing behind, and setting
//! one that does not become the earliest of its group, and was not, costs one comparison.
//!
//! Of timers with the same deadline, the one with the lowest slot comes first.

use crate::time::Time;

/// The number of slots, or groups, that a group holds.
const WIDTH: usize = 8;

/// Eight deadlines, in one cache line.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group([Time; WIDTH]);

const EMPTY: Group = Group([Time::NEVER; WIDTH]);

impl Group {
    #[inline]
    fn earliest(&self) -> Time {
        let [a, b, c, d, e, f, g, h] = self.0;
        a.min(b).min(c.min(d)).min(e.min(f).min(g.min(h)))
    }
}

/// Timers, numbered from zero.
#[derive(Clone, Debug)]
pub struct Timers {
    /// The slots, then the earliest deadline of each group of the level before.
    levels: Vec<Vec<Group>>,
    first: Time,
}

impl Timers {
    /// This many timers without a deadline.
    #[must_use]
    pub fn new(count: usize) -> Self {
        let mut levels = vec![vec![EMPTY; count.div_ceil(WIDTH).max(1)]];
        while let Some(groups) = levels.last().map(Vec::len).filter(|&groups| groups > 1) {
            levels.push(vec![EMPTY; groups.div_ceil(WIDTH)]);
        }
        Self { levels, first: Time::NEVER }
    }

    /// The earliest deadline, or [`Time::NEVER`].
    #[inline]
    #[must_use]
    pub const fn first(&self) -> Time {
        self.first
    }

    /// The deadline of a timer.
    ///
    /// # Panics
    /// If there is no such timer.
    #[inline]
    #[must_use]
    pub fn get(&self, timer: u32) -> Time {
        self.levels[0][timer as usize / WIDTH].0[timer as usize % WIDTH]
    }

    /// Sets the deadline of a timer. [`Time::NEVER`] stops it.
    ///
    /// # Panics
    /// If there is no such timer.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) {
        let mut place = timer as usize;
        let mut new = deadline;
        let mut old = std::mem::replace(&mut self.levels[0][place / WIDTH].0[place % WIDTH], new);
        if old == new {
            return;
        }
        for level in 0..self.levels.len() {
            place /= WIDTH;
            let known = match self.levels.get(level + 1) {
                Some(above) => above[place / WIDTH].0[place % WIDTH],
                None => self.first,
            };
            if new >= known {
                if old != known {
                    return;
                }
                // It was the earliest of its group, perhaps with others.
                new = self.levels[level][place].earliest();
                if new == known {
                    return;
                }
            }
            old = known;
            match self.levels.get_mut(level + 1) {
                Some(above) => above[place / WIDTH].0[place % WIDTH] = new,
                None => self.first = new,
            }
        }
    }

    /// The timer with the earliest deadline; of several, the lowest. The timer keeps its deadline.
    ///
    /// # Panics
    /// If no timer has a deadline.
    #[inline]
    #[must_use]
    pub fn earliest(&self) -> u32 {
        assert!(self.first != Time::NEVER, "a timer is asked for while there is one");
        let mut place = 0;
        for level in self.levels.iter().rev() {
            let group = &level[place].0;
            let within = group.iter().position(|&deadline| deadline == self.first);
            place = place * WIDTH + within.expect("every level knows the earliest deadline");
        }
        place as u32
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn at(nanos: u64) -> Time {
        Time::from_nanos(nanos)
    }

    #[test]
    fn the_lowest_of_equal_timers_comes_first() {
        let mut timers = Timers::new(100);
        assert_eq!(timers.first(), Time::NEVER);
        for timer in [99, 7, 64, 8] {
            timers.set(timer, at(5));
        }
        for timer in [7, 8, 64, 99] {
            assert_eq!((timers.first(), timers.earliest()), (at(5), timer));
            timers.set(timer, Time::NEVER);
        }
        assert_eq!(timers.first(), Time::NEVER);
    }

    #[test]
    fn a_timer_moves_both_ways() {
        let mut timers = Timers::new(3);
        timers.set(1, at(10));
        timers.set(2, at(20));
        timers.set(1, at(30));
        assert_eq!((timers.first(), timers.earliest()), (at(20), 2));
        timers.set(1, at(3));
        assert_eq!((timers.first(), timers.earliest(), timers.get(2)), (at(3), 1, at(20)));
    }

    proptest! {
        #[test]
        fn the_earliest_is_always_known(
            count in 1_usize..700,
            steps in prop::collection::vec((any::<prop::sample::Index>(), 0_u64..40), 1..300),
        ) {
            let mut timers = Timers::new(count);
            let mut model = vec![Time::NEVER; count];
            for (which, deadline) in steps {
                let timer = which.index(count);
                let deadline = if deadline < 10 { Time::NEVER } else { at(deadline) };
                timers.set(timer as u32, deadline);
                model[timer] = deadline;
                let first = model.iter().copied().min().unwrap_or(Time::NEVER);
                prop_assert_eq!(timers.first(), first);
                if first != Time::NEVER {
                    let expected = model.iter().position(|&it| it == first);
                    prop_assert_eq!(Some(timers.earliest() as usize), expected);
                }
            }
        }
    }
}
