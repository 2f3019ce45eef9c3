//! The event queue: events and timers, in order of time.
//!
//! Simultaneous events are in an order that does not depend on when they were scheduled. The events come first, by
//! their [`Rank`]. Then come the timers, by their slot, and last the events of a late rank. So a handler may schedule
//! early or late, and cancel, without an effect on the order in which anything else happens.
//!
//! A key of an event packs the time (64 bits), the rank (43 bits) and the event's index (21 bits) into one integer. A
//! comparison is one pair of instructions, and an entry has 16 bytes. A run can have 2^21 events pending. Beyond that
//! it panics.
//!
//! Thousands of nodes have thousands of pending events, for example ends of legs. Most are milliseconds away, while
//! consecutive events are microseconds apart. In one heap, the distant events would make every operation slower.
//! Therefore a large heap keeps the keys of one bucket of time only. A wheel of buckets holds the keys of the next
//! tenth of a second, and another heap holds the rest.

use crate::heap::Heap;
use crate::time::Time;
use crate::timers::Timers;

/// The number of bits of a key for the event's index.
const PLACE_BITS: u32 = 21;
/// The number of bits of a key for the rank: of its kind, of its object, and of the detail that tells its events apart.
const RANK_BITS: u32 = KIND_BITS + OBJECT_BITS + DETAIL_BITS;
const KIND_BITS: u32 = 3;
/// The kind whose events come after the timers.
const LATE: u8 = (1 << KIND_BITS) - 1;
const OBJECT_BITS: u32 = 20;
const DETAIL_BITS: u32 = 20;

/// The base-2 logarithm of a bucket's duration in nanoseconds.
const BUCKET_BITS: u32 = 16;
/// The number of buckets of the wheel.
const BUCKETS: usize = 1024;
/// The wheel is used when more events than this are pending, until fewer than a quarter of this are.
const MANY: usize = 128;

/// The position of an event among the events of the same time: by kind, then by object, then by a detail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank(u64);

impl Rank {
    /// The number of objects that ranks can tell apart.
    pub const OBJECTS: u32 = 1 << OBJECT_BITS;

    /// The rank of the events of a kind (0 to 6) of an object. The lowest 20 bits of the detail count.
    #[inline]
    #[must_use]
    pub const fn new(kind: u8, object: u32, detail: u32) -> Self {
        debug_assert!(kind < LATE, "this kind is late");
        Self::of(kind, object, detail)
    }

    /// As [`Rank::new`], for the kind of events that come after the timers of their time.
    #[inline]
    #[must_use]
    pub const fn late(object: u32, detail: u32) -> Self {
        Self::of(LATE, object, detail)
    }

    #[inline]
    const fn of(kind: u8, object: u32, detail: u32) -> Self {
        debug_assert!(object < Self::OBJECTS, "a rank has room for so many");
        let detail = detail as u64 & ((1 << DETAIL_BITS) - 1);
        Self((kind as u64) << (OBJECT_BITS + DETAIL_BITS) | (object as u64) << DETAIL_BITS | detail)
    }

    #[inline]
    const fn is_late(self) -> bool {
        self.0 >> (OBJECT_BITS + DETAIL_BITS) == LATE as u64
    }
}

/// An event or a timer that leaves the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next<E> {
    /// An event.
    Event(E),
    /// A timer, which keeps its deadline until it is set.
    Timer(u32),
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
    timers: Timers,
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
            timers: Timers::new(0),
        }
    }
}

impl<E: Copy> Queue<E> {
    /// An empty queue with this many timers.
    #[must_use]
    pub fn with_timers(count: usize) -> Self {
        Self { timers: Timers::new(count), ..Self::default() }
    }

    /// Sets the deadline of a timer. [`Time::NEVER`] stops it.
    ///
    /// # Panics
    /// If there is no such timer.
    #[inline]
    pub fn set(&mut self, timer: u32, deadline: Time) {
        self.timers.set(timer, deadline);
    }

    /// Schedules an event.
    ///
    /// # Panics
    /// If 2^21 events are pending.
    #[inline]
    pub fn push(&mut self, at: Time, rank: Rank, event: E) {
        let place = if let Some(place) = self.free.pop() {
            self.events[place as usize] = event;
            place
        } else {
            let place = self.events.len() as u32;
            assert!(place < 1 << PLACE_BITS, "2^21 events can be pending at once");
            self.events.push(event);
            place
        };
        self.insert(key(at, rank) | u128::from(place));
    }

    /// Removes the first event and returns it with its time, or returns the first timer, if one of them is not after
    /// `end`. A timer must be set before the next call.
    #[inline]
    pub fn pop(&mut self, end: Time) -> Option<(Time, Next<E>)> {
        let due = self.timers.first();
        match self.near.first() {
            Some(first) if self.precedes_timers(time_of(first), rank_of(first)) => {
                if time_of(first) > end {
                    return None;
                }
            }
            _ => return (due <= end && due < Time::NEVER).then(|| (due, Next::Timer(self.timers.earliest()))),
        }
        let first = self.near.pop()?;
        if self.near.is_empty() {
            self.advance();
        }
        let place = place_of(first);
        self.free.push(place);
        Some((time_of(first), Next::Event(self.events[place as usize])))
    }

    /// Removes the first event, returns it with its time, and schedules another. This is faster than two separate
    /// calls, above all if the new event is soon after the removed one. If a timer comes first, or nothing until `end`,
    /// only the new event is scheduled.
    #[inline]
    pub fn replace_first(&mut self, at: Time, rank: Rank, event: E, end: Time) -> Option<(Time, E)> {
        let first = match self.near.first() {
            Some(first) if time_of(first) <= end && self.precedes_timers(time_of(first), rank_of(first)) => first,
            _ => {
                self.push(at, rank, event);
                return None;
            }
        };
        let place = place_of(first);
        let taken = std::mem::replace(&mut self.events[place as usize], event);
        let key = key(at, rank) | u128::from(place);
        if bucket_of(key) < self.horizon {
            self.near.replace_first(key);
        } else {
            self.near.pop();
            self.put_off(key);
            if self.near.is_empty() {
                self.advance();
            }
        }
        Some((time_of(first), taken))
    }

    /// The time before which nothing is pending.
    #[inline]
    #[must_use]
    pub fn undisturbed_until(&self) -> Time {
        self.near.first().map_or(Time::NEVER, time_of).min(self.timers.first())
    }

    /// Whether an event at (`at`, `rank`) would leave the queue before all others.
    #[inline]
    #[must_use]
    pub fn comes_first(&self, at: Time, rank: Rank) -> bool {
        self.precedes_timers(at, rank) && self.near.first().is_none_or(|head| key(at, rank) < head)
    }

    /// The time of the first event or timer.
    #[inline]
    #[must_use]
    pub fn next_time(&self) -> Option<Time> {
        let due = Some(self.timers.first()).filter(|&due| due < Time::NEVER);
        self.near.first().map(time_of).into_iter().chain(due).min()
    }

    /// The number of pending events, timers not counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len() - self.free.len()
    }

    /// Whether no event is pending, timers not counted.
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
    fn precedes_timers(&self, at: Time, rank: Rank) -> bool {
        let due = self.timers.first();
        at < due || at == due && (!rank.is_late() || due == Time::NEVER)
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
fn key(at: Time, rank: Rank) -> u128 {
    u128::from(at.nanos()) << (RANK_BITS + PLACE_BITS) | u128::from(rank.0) << PLACE_BITS
}

#[inline]
fn time_of(key: u128) -> Time {
    Time::from_nanos((key >> (RANK_BITS + PLACE_BITS)) as u64)
}

#[inline]
fn rank_of(key: u128) -> Rank {
    Rank((key >> PLACE_BITS) as u64 & ((1 << RANK_BITS) - 1))
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

    /// A rank that tells events apart by a number.
    const fn rank(number: u64) -> Rank {
        Rank::of((number >> 40) as u8, (number >> 20) as u32, number as u32)
    }

    fn drain<E: Copy>(queue: &mut Queue<E>) -> Vec<E> {
        let mut events = Vec::new();
        while let Some((_, next)) = queue.pop(Time::NEVER) {
            match next {
                Next::Event(event) => events.push(event),
                Next::Timer(timer) => queue.set(timer, Time::NEVER),
            }
        }
        events
    }

    #[test]
    fn equal_times_come_out_in_order_of_rank() {
        let mut queue = Queue::default();
        let t = Time::from_nanos(5);
        for (kind, object, detail, event) in
            [(1, 0, 0, 'd'), (0, 7, 3, 'c'), (0, 7, 2, 'b'), (0, 6, 9, 'a'), (6, Rank::OBJECTS - 1, u32::MAX, 'e')]
        {
            queue.push(t, Rank::new(kind, object, detail), event);
        }
        assert!(!queue.comes_first(t, Rank::new(0, 7, 2)));
        assert!(queue.comes_first(t, Rank::new(0, 6, 8)));
        assert!(queue.comes_first(Time::from_nanos(4), Rank::late(7, 7)));
        assert_eq!(drain(&mut queue), ['a', 'b', 'c', 'd', 'e']);
    }

    #[test]
    fn timers_come_after_the_events_of_their_time() {
        let mut queue = Queue::with_timers(3);
        let t = Time::from_nanos(5);
        queue.set(2, t);
        queue.push(t, rank(9), 'a');
        queue.set(1, t);
        queue.push(t, Rank::late(0, 0), 'c');
        assert!(!queue.comes_first(t, Rank::late(0, 0)));
        assert!(queue.comes_first(t, rank(8)) && !queue.comes_first(Time::from_nanos(6), rank(0)));
        assert_eq!(queue.pop(Time::from_nanos(4)), None);
        assert_eq!(queue.pop(t), Some((t, Next::Event('a'))));
        assert_eq!((queue.next_time(), queue.replace_first(t, rank(1), 'b', t)), (Some(t), None));
        assert_eq!(queue.pop(t), Some((t, Next::Event('b'))));
        for timer in [1, 2] {
            assert_eq!(queue.pop(t), Some((t, Next::Timer(timer))));
            queue.set(timer, Time::NEVER);
        }
        assert_eq!(queue.pop(t), Some((t, Next::Event('c'))));
        assert_eq!((queue.pop(Time::NEVER), queue.next_time()), (None, None));
    }

    #[test]
    fn replacing_is_taking_and_scheduling() {
        let mut queue = Queue::default();
        for (t, event) in [(3, 'c'), (1, 'a'), (5, 'e'), (4, 'd')] {
            queue.push(Time::from_nanos(t), rank(0), event);
        }
        let taken = queue.replace_first(Time::from_nanos(2), rank(0), 'b', Time::NEVER);
        assert_eq!(taken, Some((Time::from_nanos(1), 'a')));
        assert_eq!(drain(&mut queue), ['b', 'c', 'd', 'e']);
    }

    #[test]
    fn nothing_pending_is_overlooked() {
        let mut queue = Queue::default();
        for i in 0..1000_u64 {
            queue.push(Time::from_nanos(i * i * 1000), rank(0), i);
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
            queue.push(Time::from_nanos(1_000_000_000 * (1000 - i)), rank(0), i);
        }
        assert_eq!(drain(&mut queue), (0..1000).rev().collect::<Vec<_>>());
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
                queue.push(Time::from_nanos(at), rank(number), number);
                model.insert((at, number));
                number += 1;
            }
            for (spans, replace) in steps {
                prop_assert_eq!(queue.len(), model.len());
                prop_assert_eq!(queue.next_time().map(Time::nanos), model.first().map(|&(at, _)| at));
                let now = model.first().map_or(0, |&(at, _)| at);
                for (i, span) in spans.into_iter().enumerate() {
                    let at = now.saturating_add(span);
                    prop_assert_eq!(
                        queue.comes_first(Time::from_nanos(at), rank(number)),
                        model.first().is_none_or(|&(first, _)| at < first)
                    );
                    if i == 0 && replace && !model.is_empty() {
                        let taken = queue.replace_first(Time::from_nanos(at), rank(number), number, Time::NEVER);
                        prop_assert_eq!(taken.map(|(time, event)| (time.nanos(), event)), model.pop_first());
                    } else {
                        queue.push(Time::from_nanos(at), rank(number), number);
                    }
                    model.insert((at, number));
                    number += 1;
                }
                prop_assert_eq!(pop(&mut queue), model.pop_first());
            }
            while let Some(popped) = pop(&mut queue) {
                prop_assert_eq!(Some(popped), model.pop_first());
            }
            prop_assert!(model.is_empty());
        }
    }

    fn pop(queue: &mut Queue<u64>) -> Option<(u64, u64)> {
        match queue.pop(Time::NEVER)? {
            (at, Next::Event(event)) => Some((at.nanos(), event)),
            (_, Next::Timer(timer)) => panic!("there is no timer {timer}"),
        }
    }
}
