//! Acknowledgements as a Linux receiver sends them. While the connection is young, the receiver acknowledges at once.
//! Later it acknowledges every second segment, or after a delay that follows the gaps between segments. It answers
//! disorder at once, and in groups if the disorder lasts.
//!
//! Read: RFC 5681 §4.2, RFC 1122 §4.2.3.2, RFC 2883, Linux's `ip-sysctl` on `tcp_comp_sack_nr`,
//! `tcp_comp_sack_delay_ns` and `tcp_comp_sack_slack_ns`, publications on quick acknowledgements and on PSH, and
//! captures of Linux 6.1 receivers; for connections with data in both directions and for marks, Linux 6.1
//! (`net/ipv4/tcp_input.c`, `tcp_output.c`, `tcp_timer.c`), for the facts. No code of the kernel was used.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{AckPolicy, Arrival, Order, Reading, Verdict};
use crate::params::{self, Fault, Unused, unused_where};
use crate::transport::connection::Wheel;

/// The parameters of Linux's acknowledgements.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How many acknowledgements are sent at once when the connection begins, after a pause, and after a duplicate.
    pub quick: u32,
    /// The shortest delay of an acknowledgement.
    pub shortest: Span,
    /// The longest delay of an acknowledgement. RFC 1122 requires less than 500 ms.
    pub longest: Span,
    /// How many acknowledgements are sent at once for disorder without progress, before they are compressed.
    pub duplicates: u32,
    /// The number of segments that one compressed acknowledgement covers at most; 0 means no compression.
    /// `tcp_comp_sack_nr`.
    pub compressed: u32,
    /// The longest delay of a compressed acknowledgement, which is a twentieth of the round trip otherwise.
    /// `tcp_comp_sack_delay_ns`.
    pub compression: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            quick: 16,
            shortest: Span::from_millis(40),
            longest: Span::from_millis(200),
            duplicates: 3,
            compressed: 44,
            compression: Span::from_millis(1),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.shortest.is_zero() || self.shortest > self.longest {
            let problem = format!("expected more than 0 s and at most `longest`, found {}", self.shortest);
            return Err(Fault::new("shortest", problem));
        }
        Fault::unless("longest", self.longest, |it| it <= Span::from_millis(500), "at most 500 ms (RFC 1122)")?;
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([(self.compressed == 0, "compressed", &["compression"])])
    }
}

/// The tick of the timers, in which delays and the gaps between segments are counted.
const TICK: Span = Span::from_millis(4);
/// How many acknowledgements are sent at once after a mark.
const AFTER_MARK: u32 = 2;
/// The least difference between the retransmission timeout and the round trip of the opening exchange. A pause longer
/// than the timeout makes the sender begin anew.
const PAUSE: Span = Span::from_millis(200);
/// The timeout while no round trip is known (RFC 6298 §2.1).
const FIRST_PAUSE: Span = Span::from_secs(1);
/// The wait of the timer of a compressed acknowledgement beyond its delay (`tcp_comp_sack_slack_ns`).
const SLACK: Span = Span::from_micros(100);
/// The segment that is assumed to be full before any has arrived (RFC 9293 §3.7.1).
const FIRST_FULL: u32 = 536;
/// A smaller segment of this payload may be full, and if it has no PSH, one of this. Both are 536 and 88 bytes with the
/// header, of which timestamps take 12.
const MAYBE_FULL: u32 = 524;
const SMALLEST_FULL: u32 = 76;

/// The receive buffer with a segment, which only Linux's receiver knows.
#[derive(Clone, Copy, Debug, Default)]
pub struct Room {
    /// The limit of the window has grown with the segment.
    pub grew: bool,
    /// The present window is smaller than the one that was announced last.
    pub shrinks: bool,
    /// Less than half of the buffer is free.
    pub cramped: bool,
}

/// Acknowledges as Linux.
#[derive(Clone, Debug)]
pub struct Quick {
    params: Params,
    timers: Wheel,
    /// Acknowledgements that are still sent at once.
    quick: u32,
    /// The delay of an acknowledgement in ticks; nothing before the first segment.
    delay: Option<u64>,
    /// In which tick data arrived last.
    last: u64,
    /// The payload of a full segment, and the payload of the last one that was not full.
    full: u32,
    small: u32,
    /// The retransmission timeout in ticks, and the round trip of the opening exchange.
    timeout: u64,
    opening: Option<Span>,
    /// Data was sent soon after data had arrived: the next acknowledgement waits for data that carries it.
    interactive: bool,
    /// The sender of the next segment may have a small window.
    marked: bool,
    /// Something is to be acknowledged.
    owes: bool,
    /// A segment ends what the sending application has written, and so does another after it.
    pushed: bool,
    pushed_again: bool,
    /// The number expected when disorder was acknowledged last, and how often it was at once.
    stuck: (u64, u32),
    /// Segments that the next compressed acknowledgement covers, and when it is sent.
    waiting: u32,
    compressed: Time,
    /// When a segment arrived last, and whether a compressed acknowledgement is due by its timer.
    seen: Time,
    expired: bool,
    /// A delayed acknowledgement waits for its timer; the tick that this is set for, and when it expires. An
    /// acknowledgement leaves the timer as it is.
    delayed: bool,
    due: u64,
    timer: Time,
}

impl Quick {
    /// The policy with these parameters.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        Self {
            params: params.clone(),
            timers: Wheel::new(TICK),
            quick: 0,
            delay: None,
            last: 0,
            full: FIRST_FULL,
            small: 0,
            timeout: whole_ticks(FIRST_PAUSE),
            opening: None,
            interactive: false,
            marked: false,
            owes: false,
            pushed: false,
            pushed_again: false,
            stuck: (0, 0),
            waiting: 0,
            compressed: Time::NEVER,
            seen: Time::ZERO,
            expired: false,
            delayed: false,
            due: 0,
            timer: Time::NEVER,
        }
    }

    fn shortest(&self) -> u64 {
        whole_ticks(self.params.shortest)
    }

    /// Acknowledgements are sent at once for a while, at most so many: for half of the window at most.
    fn hurry(&mut self, window: u64, most: u32) {
        let half = match window / (2 * u64::from(self.full)) {
            0 => 2,
            segments => segments,
        };
        self.quick = self.quick.max(half.min(most.into()) as u32);
    }

    /// As [`Self::hurry`], though the connection was interactive.
    fn hurry_anew(&mut self, window: u64, most: u32) {
        self.hurry(window, most);
        self.interactive = false;
        self.delay = self.delay.map(|_| self.shortest());
    }

    /// The sender of the next segment with data may have a small window: two acknowledgements are sent at once.
    pub const fn expect_small_window(&mut self) {
        self.marked = true;
    }

    /// The payload of a full segment, as far as is known.
    pub const fn full(&self) -> u32 {
        self.full
    }

    /// A segment arrived at a receiver whose buffer may grow. Returns the payload of a full segment.
    pub fn measure(&mut self, arrival: &Arrival) -> u32 {
        let takes_in = matches!(arrival.order, Order::Next | Order::BeforeGap | Order::ClosesGap);
        if takes_in && arrival.len > 0 {
            self.learn(arrival);
        }
        self.full
    }

    /// Learns the size of a full segment, and whether this one ends the data that the sending application wrote: it has
    /// PSH, or is not full.
    fn learn(&mut self, arrival: &Arrival) {
        let small = std::mem::take(&mut self.small);
        if arrival.len >= self.full {
            self.full = arrival.len;
            self.pushed |= arrival.psh;
            return;
        }
        if arrival.len >= MAYBE_FULL || (arrival.len >= SMALLEST_FULL && !arrival.psh) {
            self.small = arrival.len;
            if arrival.len == small {
                // Two of the same length: the path may have become narrower.
                self.full = arrival.len;
                return;
            }
        }
        self.pushed_again |= self.pushed;
        self.pushed = true;
    }

    /// The gap before a segment in order sets the delay.
    fn follow(&mut self, arrival: &Arrival) {
        let now = arrival.now.nanos() / TICK.nanos();
        let gap = now - std::mem::replace(&mut self.last, now);
        let half = self.shortest() / 2;
        if let Some(timeout) = arrival.timeout {
            self.opening = arrival.opening;
            self.timeout = whole_ticks(timeout);
        } else if let Some(opening) = arrival.opening.filter(|_| self.opening.is_none()) {
            self.opening = Some(opening);
            self.timeout = whole_ticks(opening + (opening * 2).max(PAUSE));
        }
        self.delay = Some(match self.delay {
            None => {
                self.hurry(arrival.window, self.params.quick);
                self.shortest()
            }
            Some(delay) if gap <= half => delay / 2 + half,
            Some(delay) if gap < delay => (delay / 2 + gap).min(self.timeout),
            Some(delay) => {
                if gap > self.timeout {
                    self.hurry(arrival.window, self.params.quick);
                }
                delay
            }
        });
    }

    /// Disorder without progress is acknowledged at once a few times, then in groups.
    fn compress(&mut self, arrival: &Arrival) -> Verdict {
        if self.waiting >= self.params.compressed {
            return Verdict::Now;
        }
        if self.stuck.0 != arrival.next {
            self.stuck = (arrival.next, 0);
        }
        if self.stuck.1 < self.params.duplicates {
            self.stuck.1 += 1;
            return Verdict::Now;
        }
        self.waiting += 1;
        if self.compressed == Time::NEVER {
            let measured = arrival.round_trip.unwrap_or_default();
            let round_trip = self.opening.map_or(measured, |opening| opening.min(measured));
            self.compressed = arrival.now + (round_trip / 20).min(self.params.compression) + SLACK;
        }
        Verdict::Later
    }

    /// Waits for another segment, or for a delay in whole ticks.
    fn postpone(&mut self, arrival: &Arrival) -> Verdict {
        let shortest = self.shortest();
        let mut delay = self.delay.unwrap_or(shortest);
        if delay > shortest
            && let Some(opening) = self.opening
        {
            delay = delay.min(whole_ticks(opening).max(shortest));
        }
        let delay = delay.min(whole_ticks(self.params.longest));
        let now = arrival.now.nanos() / TICK.nanos();
        if self.delayed {
            // It would be sent soon in any case.
            if self.due <= now + delay / 4 {
                return Verdict::Now;
            }
            if self.due <= now + delay {
                return Verdict::Later;
            }
        }
        self.delayed = true;
        self.due = now + delay;
        self.timer = self.timers.set(arrival.now, TICK * delay);
        Verdict::Later
    }

    /// The time that an acknowledgement sent `now` has in its timestamp. A compressed one whose timer expires has the
    /// time of the last arrival.
    pub fn stamp(&mut self, now: Time) -> Time {
        if std::mem::take(&mut self.expired) { self.seen } else { now }
    }

    /// A segment beyond a gap arrived, before which an acknowledgement was sent: none is due for itself.
    pub fn on_reported(&mut self, now: Time, room: Room) -> Verdict {
        self.seen = now;
        self.quick |= u32::from(room.grew);
        Verdict::Later
    }

    /// A segment arrived at a receiver whose buffer may grow.
    pub fn on_segment(&mut self, arrival: &Arrival, room: Room) -> Verdict {
        self.seen = arrival.now;
        if arrival.half {
            // The application may close its own half soon, with the acknowledgement.
            (self.owes, self.interactive) = (true, true);
            if arrival.len == 0 {
                return self.postpone(arrival);
            }
        } else if arrival.control || arrival.len == 0 {
            return Verdict::Now;
        }
        self.owes = true;
        match arrival.order {
            Order::Old | Order::LastAgain => {
                // Its acknowledgement may have been lost.
                self.hurry_anew(arrival.window, self.params.quick);
                return Verdict::Now;
            }
            Order::Ahead => {}
            _ => {
                self.follow(arrival);
            }
        }
        if std::mem::take(&mut self.marked) {
            self.hurry_anew(arrival.window, AFTER_MARK);
        }
        // A window that grows is announced at once.
        self.quick |= u32::from(room.grew);
        if arrival.order == Order::ClosesGap {
            return Verdict::Now;
        }
        if arrival.unacknowledged > u64::from(self.full) {
            if room.cramped {
                self.on_cramped();
            }
            if !room.shrinks {
                return Verdict::Now;
            }
        }
        if self.quick > 0 && !self.interactive {
            return Verdict::Now;
        }
        match arrival.order {
            Order::Ahead | Order::BeforeGap if arrival.sack => self.compress(arrival),
            Order::Ahead | Order::BeforeGap => Verdict::Now,
            _ => self.postpone(arrival),
        }
    }

    /// This end sends data. If it answers data, the connection is interactive (RFC 1122 §4.2.3.2).
    pub fn on_data_sent(&mut self, now: Time) {
        let gap = now.nanos() / TICK.nanos() - self.last;
        self.interactive |= self.delay.is_some_and(|delay| gap < delay);
    }

    /// Less than half of the receive buffer is free, when an acknowledgement is made.
    pub const fn on_cramped(&mut self) {
        self.quick = 0;
    }
}

/// The number of ticks of a time, rounded up.
const fn whole_ticks(time: Span) -> u64 {
    time.nanos().div_ceil(TICK.nanos())
}

impl AckPolicy for Quick {
    fn on_arrival(&mut self, arrival: &Arrival) -> Verdict {
        self.measure(arrival);
        self.on_segment(arrival, Room::default())
    }

    fn on_read(&mut self, reading: &Reading) -> Verdict {
        let more = reading.unacknowledged > u64::from(self.full);
        let ends = reading.emptied && (self.pushed_again || self.pushed && !self.interactive);
        if (self.owes && (more || ends)) || reading.opens { Verdict::Now } else { Verdict::Later }
    }

    fn reports_before(&self) -> bool {
        self.waiting > 0
    }

    fn deadline(&self) -> Time {
        self.compressed.min(self.timer)
    }

    fn on_expired(&mut self, now: Time) -> Verdict {
        if now < self.timer {
            self.expired = true;
            return Verdict::Now;
        }
        self.timer = Time::NEVER;
        // Whatever the timer was set for, it ends compression.
        if self.waiting > 0 {
            return Verdict::Now;
        }
        if !std::mem::take(&mut self.delayed) {
            return Verdict::Later;
        }
        self.delay = if std::mem::take(&mut self.interactive) {
            // No data came that could carry it.
            self.delay.map(|_| self.shortest())
        } else {
            // The sender is slower than was assumed.
            self.delay.map(|delay| (delay * 2).min(self.timeout))
        };
        Verdict::Now
    }

    fn on_acknowledged(&mut self) {
        self.waiting = 0;
        self.compressed = Time::NEVER;
        self.delayed = false;
        (self.pushed, self.pushed_again) = (false, false);
        // An acknowledgement that only announces a window is none of those that are sent at once.
        if std::mem::take(&mut self.owes) && self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.delay.map(|_| self.shortest());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{LINUX, Params as _};
    use crate::transport::acking::delayed::{self, Delayed};

    fn policy() -> Quick {
        Quick::new(&Params::of_profile(LINUX))
    }

    const fn at(micros: u64) -> Time {
        Time::from_nanos(micros * 1000)
    }

    /// The next segment of 1000 bytes in order, the `waiting`th that is not acknowledged.
    fn in_order(micros: u64, waiting: u64) -> Arrival {
        Arrival {
            order: Order::Next,
            len: 1000,
            window: 64_000,
            opening: Some(Span::from_millis(60)),
            unacknowledged: 1000 * waiting,
            ..Arrival::at(at(micros))
        }
    }

    /// Segments in order every millisecond, and after which of them an acknowledgement is sent.
    fn answered(policy: &mut impl AckPolicy, from: u64, segments: u64) -> Vec<u64> {
        let (mut answered, mut waiting) = (Vec::new(), 0);
        for i in 0..segments {
            waiting += 1;
            if policy.on_arrival(&in_order(from + 1000 * i, waiting)) == Verdict::Now {
                policy.on_acknowledged();
                answered.push(i);
                waiting = 0;
            }
        }
        answered
    }

    /// The application has read one segment that is not acknowledged, and the buffer is empty.
    const READ: Reading = Reading { unacknowledged: 1000, emptied: true, opens: false };

    #[test]
    fn the_first_sixteen_are_acknowledged_at_once_and_then_every_second() {
        let mut linux = policy();
        let expected: Vec<u64> = (0..16).chain([17, 19, 21, 23]).collect();
        assert_eq!(answered(&mut linux, 0, 24), expected);
        let mut delayed = Delayed::new(&delayed::Params::of_profile(LINUX));
        assert_eq!(answered(&mut delayed, 0, 8), [1, 3, 5, 7], "without quick acknowledgements");
    }

    #[test]
    fn a_small_window_has_fewer_quick_acknowledgements() {
        let mut linux = policy();
        let mut arrives = |micros, waiting| linux.on_arrival(&Arrival { window: 6000, ..in_order(micros, waiting) });
        assert_eq!(arrives(0, 1), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(linux.quick, 2, "three segments are half of the window");
    }

    #[test]
    fn a_window_that_grows_is_announced_with_each_segment() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        let grew = Room { grew: true, ..Room::default() };
        assert_eq!(linux.on_segment(&in_order(20_000, 1), grew), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(linux.on_arrival(&in_order(21_000, 1)), Verdict::Later);
    }

    #[test]
    fn what_is_read_is_acknowledged_if_it_has_psh_or_is_small() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        assert_eq!((linux.on_arrival(&in_order(16_000, 1)), linux.on_read(&READ)), (Verdict::Later, Verdict::Later));
        linux.on_acknowledged();
        let pushed = Arrival { psh: true, ..in_order(17_000, 1) };
        assert_eq!(linux.on_arrival(&pushed), Verdict::Later);
        assert_eq!(linux.on_read(&Reading { emptied: false, ..READ }), Verdict::Later, "data lies beyond a gap");
        assert_eq!(linux.on_read(&READ), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(linux.on_read(&READ), Verdict::Later, "nothing is left to acknowledge");
        assert_eq!(linux.on_read(&Reading { opens: true, ..READ }), Verdict::Now, "the window opens");
        linux.on_acknowledged();
        assert_eq!(linux.on_arrival(&Arrival { len: 40, ..in_order(18_000, 1) }), Verdict::Later);
        assert_eq!(linux.on_read(&READ), Verdict::Now);
    }

    #[test]
    fn a_second_segment_waits_for_the_reader_if_the_window_would_shrink() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        linux.on_arrival(&in_order(16_000, 1));
        let shrinks = Room { shrinks: true, ..Room::default() };
        assert_eq!(linux.on_segment(&in_order(17_000, 2), shrinks), Verdict::Later);
        assert_eq!(linux.on_read(&Reading { unacknowledged: 2000, ..READ }), Verdict::Now);
    }

    #[test]
    fn a_pause_and_a_duplicate_bring_quick_acknowledgements_back() {
        let mut linux = policy();
        answered(&mut linux, 0, 20);
        // The timeout is three round trips of 60 ms, at least the round trip and 200 ms.
        assert_eq!(answered(&mut linux, 270_000, 4), [1, 3], "251 ms are no pause");
        assert_eq!(answered(&mut linux, 540_000, 18), (0..16).chain([17]).collect::<Vec<_>>());
        let copy = Arrival { order: Order::LastAgain, ..in_order(560_000, 0) };
        assert_eq!(linux.on_arrival(&copy), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!(answered(&mut linux, 561_000, 4), [0, 1, 2, 3]);
        linux.on_cramped();
        assert_eq!(answered(&mut linux, 570_000, 4), [1, 3], "not while the buffer is half full");
    }

    #[test]
    fn the_delay_follows_the_gaps_and_doubles_when_it_was_too_short() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        linux.on_arrival(&in_order(16_000, 1));
        assert_eq!(linux.deadline(), at(60_000), "ten ticks of 4 ms from tick 4, with the tick after them");
        assert_eq!(linux.on_expired(at(60_000)), Verdict::Now);
        linux.on_acknowledged();
        // A gap of 12 ticks: half of the doubled delay, and the gap; not longer than the opening's round trip.
        linux.on_arrival(&in_order(66_000, 1));
        assert_eq!(linux.delay, Some(22));
        assert_eq!(linux.deadline(), at(128_000), "15 ticks from tick 16");
    }

    #[test]
    fn an_interactive_connection_lets_acknowledgements_wait_for_data() {
        let mut linux = policy();
        linux.on_data_sent(at(0));
        assert_eq!(answered(&mut linux, 0, 1), [0], "nothing was answered");
        // Ten ticks of 4 ms are the first delay.
        linux.on_data_sent(at(40_000));
        assert_eq!(linux.on_arrival(&in_order(41_000, 1)), Verdict::Now, "it was no answer");
        linux.on_acknowledged();
        linux.on_data_sent(at(45_000));
        let pushed = Arrival { psh: true, ..in_order(50_000, 1) };
        assert_eq!((linux.on_arrival(&pushed), linux.on_read(&READ)), (Verdict::Later, Verdict::Later));
        assert_eq!(linux.on_arrival(&in_order(51_000, 2)), Verdict::Now, "two segments");
        linux.on_acknowledged();
        linux.on_arrival(&in_order(60_000, 1));
        assert_eq!(linux.on_expired(linux.deadline()), Verdict::Now, "no data came");
        linux.on_acknowledged();
        assert_eq!((linux.delay, linux.quick), (Some(10), 12));
        assert_eq!(linux.on_arrival(&in_order(120_000, 1)), Verdict::Now, "quick again");
    }

    #[test]
    fn the_end_of_the_other_direction_waits_for_the_own_one() {
        let mut linux = policy();
        answered(&mut linux, 0, 2);
        let half = Arrival { half: true, control: true, len: 0, ..in_order(3000, 0) };
        assert_eq!((linux.on_arrival(&half), linux.deadline()), (Verdict::Later, at(44_000)));
        assert_eq!(policy().on_arrival(&Arrival { half: false, ..half }), Verdict::Now, "both are closed");
    }

    #[test]
    fn a_mark_is_acknowledged_at_once_and_so_is_the_next_segment() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        linux.expect_small_window();
        assert_eq!(answered(&mut linux, 20_000, 6), [0, 1, 3, 5]);
    }

    #[test]
    fn the_sender_at_the_same_end_knows_the_pauses() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        // The last one came in tick 3, at 15 ms.
        let late = |timeout| Arrival { timeout: Some(Span::from_millis(timeout)), ..in_order(416_000, 1) };
        assert_eq!(linux.clone().on_arrival(&late(404)), Verdict::Later, "101 ticks since the last one");
        assert_eq!(linux.on_arrival(&late(400)), Verdict::Now);
    }

    #[test]
    fn lasting_disorder_is_compressed() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        let beyond = |micros: u64| Arrival {
            order: Order::Ahead,
            sack: true,
            len: 1000,
            next: 16_000,
            round_trip: Some(Span::from_millis(10)),
            ..Arrival::at(at(micros))
        };
        for i in 0..3 {
            assert_eq!(linux.on_arrival(&beyond(20_000 + i)), Verdict::Now, "duplicate {i}");
            linux.on_acknowledged();
        }
        assert!(!linux.reports_before());
        for i in 0..44 {
            assert_eq!(linux.on_arrival(&beyond(20_010 + i)), Verdict::Later, "segment {i}");
        }
        assert!(linux.reports_before());
        assert_eq!(linux.deadline(), at(20_010 + 600), "a twentieth of the round trip, and the slack of the timer");
        let mut expired = linux.clone();
        assert_eq!((expired.on_expired(at(20_610)), expired.stamp(at(20_610))), (Verdict::Now, at(20_053)));
        assert_eq!(expired.stamp(at(20_620)), at(20_620), "of the next one");
        assert_eq!(linux.on_arrival(&beyond(20_400)), Verdict::Now, "one more than it may cover");
        linux.on_acknowledged();
        assert_eq!(linux.deadline(), Time::NEVER);
        assert_eq!(linux.on_arrival(&Arrival { sack: false, ..beyond(20_500) }), Verdict::Now, "without SACK");
        assert_eq!(linux.on_arrival(&Arrival { next: 17_000, ..beyond(20_600) }), Verdict::Now, "progress");
        let closes = Arrival { order: Order::ClosesGap, ..in_order(20_700, 5) };
        assert_eq!(linux.on_arrival(&closes), Verdict::Now);
    }

    #[test]
    fn the_timer_of_a_delayed_acknowledgement_ends_compression() {
        let mut linux = policy();
        answered(&mut linux, 0, 16);
        // The timer is set; the second segment is acknowledged, but the timer runs on.
        linux.on_arrival(&in_order(16_000, 1));
        linux.on_arrival(&in_order(17_000, 2));
        linux.on_acknowledged();
        linux.stuck = (16_000, 3);
        let beyond = Arrival { order: Order::Ahead, sack: true, next: 16_000, ..in_order(59_500, 0) };
        assert_eq!(linux.on_arrival(&Arrival { round_trip: Some(Span::from_millis(60)), ..beyond }), Verdict::Later);
        assert_eq!(linux.deadline(), at(60_000), "before 60.6 ms");
        assert_eq!(linux.on_expired(at(60_000)), Verdict::Now);
        linux.on_acknowledged();
        assert_eq!((linux.delay, linux.deadline()), (Some(10), Time::NEVER), "no delay was too short");
    }

    #[test]
    fn two_smaller_segments_of_the_same_length_are_full() {
        for (len, psh, full) in [(524, true, 524), (523, true, 1000), (76, false, 76), (75, false, 1000)] {
            let mut linux = policy();
            linux.measure(&in_order(0, 1));
            let found = (1..3).map(|i| linux.measure(&Arrival { len, psh, ..in_order(i, 1) })).last();
            assert_eq!(found, Some(full), "{len} bytes");
        }
    }

    #[test]
    fn impossible_values_are_refused() {
        let fault = |params: Params| params.check().map_err(|fault| fault.parameter);
        let good = Params::of_profile(LINUX);
        assert_eq!(fault(good.clone()), Ok(()));
        assert_eq!(fault(Params { shortest: Span::ZERO, ..good.clone() }), Err("shortest"));
        assert_eq!(fault(Params { shortest: Span::from_millis(300), ..good.clone() }), Err("shortest"));
        assert_eq!(fault(Params { longest: Span::from_secs(1), ..good }), Err("longest"));
    }
}
