//! Mahimahi's opportunities to deliver packets.
//!
//! Read: mahimahi's `link_queue.cc` and `netdevice.cc`, for the rules. An opportunity carries 1504 bytes, and a packet
//! costs its length and four bytes more, the header of mahimahi's tunnel. A packet of 1500 bytes thus takes one
//! opportunity. A packet that does not fit into the rest of an opportunity goes on in the next one, and packets share
//! an opportunity in which several fit. A packet is delivered at the opportunity that carries its last byte. It uses
//! opportunities after the nanosecond in which it came. What no waiting packet uses of an opportunity is lost. The
//! lines begin again at the time of the last one, without end.

use std::sync::Arc;

use hopyard_engine::Time;
use hopyard_engine::units::Rate;

use crate::file::{BadFile, lines};

/// The bytes of an opportunity, and those that a packet costs beside its own.
const CARRIED: u32 = 1504;
const HEADER: u32 = 4;
const MILLI: u64 = 1_000_000;
/// The latest time, in milliseconds.
const LATEST: u64 = 1_600_000_000_000;
const LINE: &str = "a whole number of milliseconds from 0 to 1600000000000";

/// Opportunities to deliver packets.
#[derive(Clone, Debug)]
pub struct Opportunities {
    /// The milliseconds of at least one opportunity, in order. The last of them is above zero.
    times: Vec<u64>,
}

impl Opportunities {
    /// Reads a text. Empty lines and lines that begin with `#` do not count. Faults are added to `problems`.
    pub(super) fn read(text: &[u8], problems: &mut BadFile) -> Option<Self> {
        let mut times = Vec::new();
        for (number, line) in lines(text) {
            if problems.ends_at(number) {
                return None;
            }
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            // `parse` takes a sign.
            let digits = Some(line).filter(|line| line.bytes().all(|byte| byte.is_ascii_digit()));
            match digits.and_then(|line| line.parse().ok()).filter(|time| *time <= LATEST) {
                None => problems.push(Some(number), line, LINE),
                Some(time) if times.last().is_some_and(|last| time < *last) => {
                    problems.push(Some(number), line, "a time that is not before the one above");
                }
                Some(time) => times.push(time),
            }
        }
        if problems.is_empty() {
            match times.last() {
                None => problems.push(None, "an empty file", "at least one line with milliseconds"),
                Some(0) => problems.push(None, "times of 0 alone", "a time above zero in the last line"),
                Some(_) => {}
            }
        }
        Some(Self { times })
    }

    /// The mean rate of packets of 1500 bytes.
    pub(super) fn mean(&self) -> Rate {
        let bits = self.times.len() as u128 * 1500 * 8 * 1000;
        Rate::from_bps((bits / u128::from(self.turn().max(1))) as u64)
    }

    /// The milliseconds after which the lines begin again.
    fn turn(&self) -> u64 {
        self.times.last().copied().unwrap_or(1)
    }

    /// The time of an opportunity.
    fn time(&self, number: u64) -> Time {
        let count = self.times.len() as u64;
        let millis = (number / count).saturating_mul(self.turn()).saturating_add(self.times[(number % count) as usize]);
        Time::from_nanos(millis.saturating_mul(MILLI))
    }

    /// The number of the first opportunity after a time.
    fn after(&self, time: Time) -> u64 {
        let millis = time.nanos() / MILLI;
        let (turns, within) = (millis / self.turn(), millis % self.turn());
        let before = self.times.partition_point(|time| *time <= within) as u64;
        turns * self.times.len() as u64 + before
    }
}

/// The opportunities of a direction from the next one on.
#[derive(Clone, Debug)]
pub struct Cursor {
    all: Arc<Opportunities>,
    /// The number of the next opportunity.
    next: u64,
    /// The bytes that are left of it.
    left: u32,
}

impl Cursor {
    /// Before the first opportunity.
    pub fn new(all: &Arc<Opportunities>) -> Self {
        Self { all: Arc::clone(all), next: 0, left: CARRIED }
    }

    /// The next opportunity that has bytes left.
    pub fn time(&self) -> Time {
        self.all.time(self.next)
    }

    /// Loses all opportunities up to a time, which no packet used.
    pub fn lose(&mut self, now: Time) {
        if self.time() <= now {
            self.go_back(now);
        }
    }

    /// Goes back to the first opportunity after a time: the packets that used later ones are lost.
    pub fn go_back(&mut self, now: Time) {
        (self.next, self.left) = (self.all.after(now), CARRIED);
    }

    /// Uses the bytes that a packet costs. Returns when it is delivered.
    pub fn carry(&mut self, size: u32) -> Time {
        let cost = u64::from(size) + u64::from(HEADER);
        // The bytes from the beginning of the next opportunity to the end of the packet.
        let end = u64::from(CARRIED - self.left) + cost;
        let last = self.next + (end - 1) / u64::from(CARRIED);
        self.next += end / u64::from(CARRIED);
        self.left = CARRIED - (end % u64::from(CARRIED)) as u32;
        self.all.time(last)
    }
}
