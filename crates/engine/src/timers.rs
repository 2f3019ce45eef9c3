//! Timers: each has at most one deadline, and the earliest deadline is always known.
//!
//! A timer is a slot of an array. The slots are in groups of eight, and each group has its earliest deadline in the
//! level above, up to one group. A timer that is stopped, or set to a later time, leaves nothing behind. Setting a
//! timer costs one comparison if the timer neither was nor becomes the earliest of its group.
//!
//! Among timers with the same deadline, the one with the lowest slot comes first.

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

/// The number of the group above all others, which is not there.
const NONE: u32 = u32::MAX;

/// Timers, numbered from zero.
#[derive(Clone, Debug)]
pub struct Timers {
    /// The groups of slots, then the groups with the earliest deadline of each of these, and so on up to one group.
    groups: Vec<Group>,
    /// For each group, the slot above it that has its earliest deadline. Slots are counted over all groups.
    above: Vec<u32>,
    /// The first group of each level, beginning with the level of the slots.
    starts: Vec<u32>,
    first: Time,
}

impl Timers {
    /// This many timers without a deadline.
    ///
    /// # Panics
    /// If there are 2^31 timers.
    #[must_use]
    pub fn new(count: usize) -> Self {
        assert!(count < 1 << 31, "there can be 2^31 timers");
        let (mut above, mut starts) = (Vec::new(), vec![0]);
        let mut level = count.div_ceil(WIDTH).max(1);
        while level > 1 {
            let next = above.len() + level;
            above.extend((0..level).map(|group| (next * WIDTH + group) as u32));
            starts.push(next as u32);
            level = level.div_ceil(WIDTH);
        }
        above.push(NONE);
        Self { groups: vec![EMPTY; above.len()], above, starts, first: Time::NEVER }
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
        self.groups[timer as usize / WIDTH].0[timer as usize % WIDTH]
    }

    /// Sets the deadline of a timer. [`Time::NEVER`] stops it.
    ///
    /// # Panics
    /// If there is no such timer.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) {
        let group = timer as usize / WIDTH;
        let old = std::mem::replace(&mut self.groups[group].0[timer as usize % WIDTH], deadline);
        if old != deadline {
            let above = self.above[group];
            let known = if above == NONE { self.first } else { self.get(above) };
            if deadline < known || old == known {
                self.update(group, deadline, known);
            }
        }
    }

    /// One deadline of a group is new. Before, the earliest one was `known`.
    fn update(&mut self, mut group: usize, mut new: Time, mut known: Time) {
        loop {
            // Otherwise the new one is the earliest.
            if new >= known {
                new = self.groups[group].earliest();
                if new == known {
                    return;
                }
            }
            let slot = self.above[group];
            if slot == NONE {
                self.first = new;
                return;
            }
            let old = known;
            group = slot as usize / WIDTH;
            self.groups[group].0[slot as usize % WIDTH] = new;
            let above = self.above[group];
            known = if above == NONE { self.first } else { self.get(above) };
            if new >= known && old != known {
                return;
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
        for &start in self.starts.iter().rev() {
            let group = &self.groups[start as usize + place].0;
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
