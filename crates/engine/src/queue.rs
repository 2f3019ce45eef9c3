//! The event queue: a four-ary heap of packed keys, the events themselves beside it.
//!
//! Events come out by time, and at the same time in the order in which they were scheduled. A key packs time (64 bits), order
//! (40 bits) and the event's place (24 bits) into one integer, so that a comparison is one instruction pair and an entry is
//! 16 bytes. A run can schedule 2^40 events and hold 2^24 at once; past either it panics rather than go wrong.

use crate::time::Time;

/// Bits of a key that hold the event's place.
const PLACE_BITS: u32 = 24;
/// Bits of a key that hold the order of scheduling.
const ORDER_BITS: u32 = 40;

/// The place of an event among those of the same time: events scheduled earlier come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

impl Order {
    /// The order `n` places after this one, within a block taken by [`Queue::reserve`].
    #[inline]
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0 + n)
    }
}

/// A queue of events of type `E`.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    heap: Vec<u128>,
    events: Vec<E>,
    free: Vec<u32>,
    next_order: u64,
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Self { heap: Vec::new(), events: Vec::new(), free: Vec::new(), next_order: 0 }
    }
}

impl<E: Copy> Queue<E> {
    /// Schedules an event behind all others of the same time.
    #[inline]
    pub fn push(&mut self, at: Time, event: E) {
        let order = self.reserve(1);
        self.push_ordered(at, order, event);
    }

    /// Takes `n` consecutive orders, for events that will be pushed later as if they were scheduled now.
    ///
    /// # Panics
    /// When the run has scheduled 2^40 events.
    #[inline]
    pub fn reserve(&mut self, n: u64) -> Order {
        let order = Order(self.next_order);
        self.next_order += n;
        assert!(self.next_order < 1 << ORDER_BITS, "a run can schedule 2^40 events");
        order
    }

    /// Schedules an event at an order taken by [`Queue::reserve`].
    ///
    /// # Panics
    /// When 2^24 events are pending.
    #[inline]
    pub fn push_ordered(&mut self, at: Time, order: Order, event: E) {
        let place = if let Some(place) = self.free.pop() {
            self.events[place as usize] = event;
            place
        } else {
            let place = self.events.len() as u32;
            assert!(place < 1 << PLACE_BITS, "2^24 events can be pending at once");
            self.events.push(event);
            place
        };
        self.heap.push(key(at, order) | u128::from(place));
        self.sift_up(self.heap.len() - 1);
    }

    /// Takes the earliest event, with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let last = self.heap.pop()?;
        let first = match self.heap.first_mut() {
            None => last,
            Some(root) => {
                let first = std::mem::replace(root, last);
                self.sift_down(0);
                first
            }
        };
        let place = (first & ((1 << PLACE_BITS) - 1)) as u32;
        self.free.push(place);
        Some((time_of(first), self.events[place as usize]))
    }

    /// Takes the earliest event, with its time, and schedules another at an order taken by [`Queue::reserve`] in its stead:
    /// cheaper than one after the other, the more so when the new event comes soon after the one taken.
    ///
    /// # Panics
    /// When the queue is empty.
    #[inline]
    pub fn replace_first(&mut self, at: Time, order: Order, event: E) -> (Time, E) {
        let first = self.heap[0];
        let place = first & ((1 << PLACE_BITS) - 1);
        let taken = std::mem::replace(&mut self.events[place as usize], event);
        self.heap[0] = key(at, order) | place;
        self.sift_down(0);
        (time_of(first), taken)
    }

    /// Whether an event at (`at`, `order`) would come out before everything in the queue.
    #[inline]
    #[must_use]
    pub fn comes_first(&self, at: Time, order: Order) -> bool {
        self.heap.first().is_none_or(|&head| key(at, order) < head)
    }

    /// The time of the earliest event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.heap.first().map(|&key| time_of(key))
    }

    /// How many events are pending.
    #[must_use]
    pub fn len(&self) -> usize {
        self.heap.len()
    }

    /// Whether no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }

    /// Every pending event, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        self.heap.iter().map(|key| &self.events[(key & ((1 << PLACE_BITS) - 1)) as usize])
    }

    #[inline]
    fn sift_up(&mut self, mut at: usize) {
        let moving = self.heap[at];
        while at > 0 {
            let parent = (at - 1) / 4;
            if self.heap[parent] <= moving {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = moving;
    }

    #[inline]
    fn sift_down(&mut self, mut at: usize) {
        let moving = self.heap[at];
        let len = self.heap.len();
        loop {
            let first = 4 * at + 1;
            if first >= len {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + 4).min(len) {
                if self.heap[child] < self.heap[least] {
                    least = child;
                }
            }
            if moving <= self.heap[least] {
                break;
            }
            self.heap[at] = self.heap[least];
            at = least;
        }
        self.heap[at] = moving;
    }
}

#[inline]
fn key(at: Time, order: Order) -> u128 {
    u128::from(at.nanos()) << (ORDER_BITS + PLACE_BITS) | u128::from(order.0) << PLACE_BITS
}

#[inline]
fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> (ORDER_BITS + PLACE_BITS)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_times_come_out_in_order_of_scheduling() {
        let mut queue = Queue::default();
        let t = Time::from_nanos(5);
        let early = queue.reserve(2);
        queue.push(t, 'c');
        queue.push_ordered(t, early.plus(1), 'b');
        queue.push_ordered(t, early, 'a');
        assert!(!queue.comes_first(t, early.plus(1)));
        assert!(queue.comes_first(Time::from_nanos(4), early.plus(1)));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, e)| e).collect();
        assert_eq!(order, ['a', 'b', 'c']);
    }

    #[test]
    fn replacing_is_taking_and_scheduling() {
        let mut queue = Queue::default();
        for (t, event) in [(3, 'c'), (1, 'a'), (5, 'e'), (4, 'd')] {
            queue.push(Time::from_nanos(t), event);
        }
        let order = queue.reserve(1);
        assert_eq!(queue.replace_first(Time::from_nanos(2), order, 'b'), (Time::from_nanos(1), 'a'));
        let order: Vec<_> = std::iter::from_fn(|| queue.pop()).map(|(_, e)| e).collect();
        assert_eq!(order, ['b', 'c', 'd', 'e']);
    }

    proptest! {
        #[test]
        fn comes_out_as_a_stable_sort_would(times in prop::collection::vec(0_u64..50, 0..300), pops in 0_usize..5) {
            let mut queue = Queue::default();
            let mut model: Vec<(u64, usize)> = Vec::new();
            let mut out = Vec::new();
            let mut expected = Vec::new();
            let mut take = |queue: &mut Queue<usize>, model: &mut Vec<(u64, usize)>| {
                out.push(queue.pop().map(|(t, e)| (t.nanos(), e)));
                model.sort();
                expected.push((!model.is_empty()).then(|| model.remove(0)));
            };
            for (i, &t) in times.iter().enumerate() {
                queue.push(Time::from_nanos(t), i);
                model.push((t, i));
                if i % 7 < pops {
                    take(&mut queue, &mut model);
                }
            }
            while !queue.is_empty() {
                take(&mut queue, &mut model);
            }
            prop_assert_eq!(out, expected);
        }
    }
}
