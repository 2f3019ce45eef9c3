//! The event queue: near events are in a heap of packed keys, later events in buckets of time.
//!
//! Events leave the queue in order of time. Events of the same time leave it in the order in which they were scheduled.
//! A key packs the time (64 bits), the order (40 bits) and the event's index (24 bits) into one integer. A comparison
//! is one pair of instructions, and an entry has 16 bytes. A run can schedule 2^40 events and have 2^24 pending. Beyond
//! that it panics.
//!
//! Thousands of nodes have thousands of pending events, for example ends of legs and expiries. Most are milliseconds
//! away, while consecutive events are microseconds apart. In one heap, the distant events would make every operation
//! slower. Therefore a large heap keeps the keys of one bucket of time only. A wheel of buckets holds the keys of the
//! next tenth of a second, and another heap holds the rest.

use crate::heap::Heap;
use crate::time::Time;

/// The number of bits of a key for the event's index.
const PLACE_BITS: u32 = 24;
/// The number of bits of a key for the order of scheduling.
const ORDER_BITS: u32 = 40;

/// The base-2 logarithm of a bucket's duration in nanoseconds.
const BUCKET_BITS: u32 = 16;
/// The number of buckets of the wheel.
const BUCKETS: usize = 1024;
/// The wheel is used when more events than this are pending, until fewer than a quarter of this are.
const MANY: usize = 128;

/// The position of an event among those of the same time: events scheduled earlier come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Order(u64);

impl Order {
    /// The order `n` positions after this one, within a block from [`Queue::reserve`].
    #[inline]
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self(self.0 + n)
    }
}

/// A queue of events of type `E`.
#[derive(Clone, Debug)]
pub struct Queue<E> {
    /// The keys before `horizon`; empty only if no event is pending.
    near: Heap,
    /// The number of the first bucket that is not in `near`; the largest number if all keys are in `near`.
    horizon: u64,
    wheel: Wheel,
    /// The keys after the wheel's last bucket.
    far: Heap,
    events: Vec<E>,
    free: Vec<u32>,
    next_order: u64,
}

impl<E: Copy> Default for Queue<E> {
    fn default() -> Self {
        Self {
            near: Heap::default(),
            horizon: u64::MAX,
            wheel: Wheel::default(),
            far: Heap::default(),
            events: Vec::new(),
            free: Vec::new(),
            next_order: 0,
        }
    }
}

impl<E: Copy> Queue<E> {
    /// Schedules an event after all others of the same time.
    #[inline]
    pub fn push(&mut self, at: Time, event: E) {
        let order = self.reserve(1);
        self.push_ordered(at, order, event);
    }

    /// Reserves `n` consecutive orders. An event pushed later with one of them is treated as if it were scheduled now.
    ///
    /// # Panics
    /// If the run has scheduled 2^40 events.
    #[inline]
    pub fn reserve(&mut self, n: u64) -> Order {
        let order = Order(self.next_order);
        self.next_order += n;
        assert!(self.next_order < 1 << ORDER_BITS, "a run can schedule 2^40 events");
        order
    }

    /// Schedules an event with an order from [`Queue::reserve`].
    ///
    /// # Panics
    /// If 2^24 events are pending.
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
        self.insert(key(at, order) | u128::from(place));
    }

    /// Removes the earliest event and returns it with its time.
    #[inline]
    pub fn pop(&mut self) -> Option<(Time, E)> {
        let first = self.near.pop()?;
        if self.near.is_empty() {
            self.advance();
        }
        let place = place_of(first);
        self.free.push(place);
        Some((time_of(first), self.events[place as usize]))
    }

    /// Removes the earliest event, returns it with its time, and schedules another with an order from
    /// [`Queue::reserve`]. This is faster than two separate calls, above all if the new event is soon after the removed
    /// one.
    ///
    /// # Panics
    /// If the queue is empty.
    #[inline]
    pub fn replace_first(&mut self, at: Time, order: Order, event: E) -> (Time, E) {
        let first = self.near.first().expect("an event is taken from a queue that has one");
        let place = place_of(first);
        let taken = std::mem::replace(&mut self.events[place as usize], event);
        let key = key(at, order) | u128::from(place);
        if bucket_of(key) < self.horizon {
            self.near.replace_first(key);
        } else {
            self.near.pop();
            self.put_off(key);
            if self.near.is_empty() {
                self.advance();
            }
        }
        (time_of(first), taken)
    }

    /// Whether an event at (`at`, `order`) would leave the queue before all others.
    #[inline]
    #[must_use]
    pub fn comes_first(&self, at: Time, order: Order) -> bool {
        self.near.first().is_none_or(|head| key(at, order) < head)
    }

    /// The time of the earliest event.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        self.near.first().map(time_of)
    }

    /// The number of pending events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len() - self.free.len()
    }

    /// Whether no event is pending.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.near.is_empty()
    }

    /// All pending events, in no particular order.
    pub fn pending(&self) -> impl Iterator<Item = &E> {
        let keys = self.near.keys().iter().chain(self.far.keys()).chain(self.wheel.keys());
        keys.map(|&key| &self.events[place_of(key) as usize])
    }

    #[inline]
    fn insert(&mut self, key: u128) {
        if bucket_of(key) >= self.horizon {
            if !self.near.is_empty() {
                return self.put_off(key);
            }
            // Nothing is pending at all.
            self.horizon = u64::MAX;
        }
        self.near.push(key);
        if self.horizon == u64::MAX && self.near.len() > MANY {
            self.spread();
        }
    }

    /// Stores a key in the wheel or among the keys after it.
    #[inline]
    fn put_off(&mut self, key: u128) {
        if bucket_of(key) < self.horizon + BUCKETS as u64 {
            self.wheel.push(key);
        } else {
            self.far.push(key);
        }
    }

    /// Moves all keys after the first bucket out of the heap, which has become large.
    #[cold]
    fn spread(&mut self) {
        let Some(first) = self.near.first() else { return };
        self.wheel.buckets.resize(BUCKETS, Vec::new());
        self.horizon = bucket_of(first) + 1;
        for key in self.near.split(|key| bucket_of(key) <= bucket_of(first)) {
            self.put_off(key);
        }
    }

    /// Fills the empty heap with the next bucket, or with all keys if there are few.
    fn advance(&mut self) {
        if self.horizon == u64::MAX {
            return;
        }
        if self.len() < MANY / 4 {
            self.horizon = u64::MAX;
            let mut rest = self.wheel.take_all();
            rest.extend_from_slice(self.far.keys());
            self.far = Heap::default();
            return self.near.fill(&mut rest);
        }
        // All buckets of the wheel are before the keys in `far`.
        let Some(next) = self.wheel.next(self.horizon).or_else(|| self.far.first().map(bucket_of)) else { return };
        self.horizon = next + 1;
        self.near.fill(self.wheel.bucket(next));
        while let Some(key) = self.far.first().filter(|&key| bucket_of(key) < self.horizon + BUCKETS as u64) {
            self.far.pop();
            if bucket_of(key) < self.horizon {
                self.near.push(key);
            } else {
                self.wheel.push(key);
            }
        }
    }
}

/// Consecutive buckets of keys, used cyclically. They are allocated when the wheel is first used.
#[derive(Clone, Debug)]
struct Wheel {
    buckets: Vec<Vec<u128>>,
    /// One bit for each bucket: whether it holds a key.
    occupied: [u64; BUCKETS / 64],
}

impl Default for Wheel {
    fn default() -> Self {
        Self { buckets: Vec::new(), occupied: [0; BUCKETS / 64] }
    }
}

impl Wheel {
    #[inline]
    fn push(&mut self, key: u128) {
        let place = bucket_of(key) as usize % BUCKETS;
        self.buckets[place].push(key);
        self.occupied[place / 64] |= 1 << (place % 64);
    }

    /// The first bucket, at or after `from`, that holds a key.
    fn next(&self, from: u64) -> Option<u64> {
        let start = from as usize % BUCKETS;
        // The first word of the search is visited again at the end, for its bits below the start.
        for step in 0..=BUCKETS / 64 {
            let word = (start / 64 + step) % (BUCKETS / 64);
            let bits = match step {
                0 => self.occupied[word] >> (start % 64) << (start % 64),
                _ => self.occupied[word],
            };
            if bits != 0 {
                let place = word * 64 + bits.trailing_zeros() as usize;
                return Some(from + ((place + BUCKETS - start) % BUCKETS) as u64);
            }
        }
        None
    }

    /// The keys of a bucket. The caller must empty it.
    fn bucket(&mut self, bucket: u64) -> &mut Vec<u128> {
        let place = bucket as usize % BUCKETS;
        self.occupied[place / 64] &= !(1 << (place % 64));
        &mut self.buckets[place]
    }

    fn take_all(&mut self) -> Vec<u128> {
        self.occupied = [0; BUCKETS / 64];
        self.buckets.iter_mut().flat_map(std::mem::take).collect()
    }

    fn keys(&self) -> impl Iterator<Item = &u128> {
        self.buckets.iter().flatten()
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

#[inline]
fn place_of(key: u128) -> u32 {
    (key & ((1 << PLACE_BITS) - 1)) as u32
}

#[inline]
fn bucket_of(key: u128) -> u64 {
    time_of(key).nanos() >> BUCKET_BITS
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

    #[test]
    fn nothing_pending_is_overlooked() {
        let mut queue = Queue::default();
        for i in 0..1000_u64 {
            queue.push(Time::from_nanos(i * i * 1000), i);
        }
        let mut pending: Vec<u64> = queue.pending().copied().collect();
        pending.sort_unstable();
        assert_eq!(pending, (0..1000).collect::<Vec<_>>());
        assert_eq!(queue.len(), 1000);
    }

    #[test]
    fn events_may_all_be_far_away() {
        let mut queue = Queue::default();
        for i in 0..1000_u64 {
            queue.push(Time::from_nanos(1_000_000_000 * (1000 - i)), i);
        }
        let order: Vec<u64> = std::iter::from_fn(|| queue.pop()).map(|(_, event)| event).collect();
        assert_eq!(order, (0..1000).rev().collect::<Vec<_>>());
    }

    /// Times of many sizes: within a bucket, within the wheel, after the wheel, and the largest time.
    fn span() -> impl Strategy<Value = u64> {
        prop_oneof![
            4 => 0_u64..100,
            4 => 0_u64..1_000_000,
            2 => 0_u64..200_000_000,
            1 => 0_u64..1_000_000_000_000,
            1 => Just(u64::MAX / 2),
        ]
    }

    proptest! {
        /// The pattern of a simulation: an event is removed, and others are scheduled at or after its time.
        #[test]
        fn many_events_come_out_in_order(
            first in prop::collection::vec(span(), 0..400),
            steps in prop::collection::vec((prop::collection::vec(span(), 0..4), any::<bool>()), 0..400),
        ) {
            let mut queue = Queue::default();
            let mut model = std::collections::BTreeSet::new();
            let mut number = 0_u64;
            for at in first {
                queue.push(Time::from_nanos(at), number);
                model.insert((at, number));
                number += 1;
            }
            for (spans, replace) in steps {
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.next_time().map(Time::nanos), model.first().map(|&(at, _)| at));
                let now = model.first().map_or(0, |&(at, _)| at);
                for (i, span) in spans.into_iter().enumerate() {
                    let at = now.saturating_add(span);
                    let order = queue.reserve(1);
                    prop_assert_eq!(
                        queue.comes_first(Time::from_nanos(at), order),
                        model.first().is_none_or(|&(first, _)| at < first)
                    );
                    if i == 0 && replace && !model.is_empty() {
                        let (time, event) = queue.replace_first(Time::from_nanos(at), order, number);
                        prop_assert_eq!(Some((time.nanos(), event)), model.pop_first());
                    } else {
                        queue.push_ordered(Time::from_nanos(at), order, number);
                    }
                    model.insert((at, number));
                    number += 1;
                }
                prop_assert_eq!(queue.pop().map(|(at, event)| (at.nanos(), event)), model.pop_first());
            }
            while let Some((at, event)) = queue.pop() {
                prop_assert_eq!(Some((at.nanos(), event)), model.pop_first());
            }
            prop_assert!(model.is_empty());
        }

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
