//! The round trip as measured by a receiver that sends no data of its own. The receiver uses the timestamps that the
//! sender echoes, and the time in which a window of data arrives (Fisk and Feng, "Dynamic Right-Sizing in TCP", 2001).

use hopyard_engine::{Span, Time};

use super::header::milliseconds;
use crate::packet::TcpHeader;

/// The longest time that an echo is believed to have taken, in milliseconds.
const LONGEST: u32 = 2_147_483;

/// The round trip that a receiver has measured.
#[derive(Clone, Debug, Default)]
pub(crate) struct Trip {
    /// Eight times the smoothed round trip in microseconds; 0 before the first sample.
    smoothed: u64,
    /// The echo that gave the last sample.
    echo: u32,
    /// The largest segment that has arrived, or the payload of a full one.
    pub largest: u32,
    /// When this arrives, a window of data has arrived since then.
    window_ends: Option<(u64, Time)>,
    /// When the SYN was answered, if that was done once only, and how long the answer to this took.
    answered: Option<Time>,
    syns: u32,
    opening: Option<Span>,
}

impl Trip {
    /// The smoothed round trip in microseconds; 0 before the first sample.
    pub const fn micros(&self) -> u64 {
        self.smoothed / 8
    }

    /// The smoothed round trip, after the first sample.
    pub fn smoothed(&self) -> Option<Span> {
        (self.smoothed > 0).then(|| Span::from_nanos(self.smoothed * 125))
    }

    /// The round trip of the opening exchange, if the SYN was answered once.
    pub const fn opening(&self) -> Option<Span> {
        self.opening
    }

    /// The SYN is answered.
    pub const fn on_answer(&mut self, now: Time) {
        self.syns += 1;
        self.answered = Some(now);
    }

    /// A segment after the SYN arrived. Returns whether it is the first.
    pub fn on_opened(&mut self, now: Time) -> bool {
        let Some(answered) = self.answered.take() else { return false };
        if self.syns == 1 {
            self.opening = Some(Span::from_micros((now.since(answered).nanos() / 1000).max(1)));
        }
        true
    }

    /// A segment with data arrived. One sample for each echo, of full segments only: the others do not follow an
    /// acknowledgement at once.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        let is_full = header.len >= self.largest;
        self.largest = self.largest.max(header.len);
        let Some((_, echo)) = header.timestamps.filter(|(_, echo)| *echo > 0 && *echo != self.echo) else { return };
        self.echo = echo;
        let elapsed = milliseconds(now).wrapping_sub(echo);
        if is_full && elapsed < LONGEST {
            let sample = u64::from(elapsed.max(1)) * 1000;
            let longer = self.smoothed > 0 && sample * 8 >= self.smoothed;
            self.smoothed = if longer { self.smoothed - self.smoothed / 8 + sample } else { sample * 8 };
        }
    }

    /// Data arrived in order up to `next`, of a window of `window` bytes.
    pub fn on_data(&mut self, next: u64, window: u64, now: Time) {
        if let Some((end, since)) = self.window_ends {
            if next < end {
                return;
            }
            let sample = (now.since(since).nanos() / 1000).max(1) * 8;
            self.smoothed = if self.smoothed == 0 { sample } else { self.smoothed.min(sample) };
        }
        self.window_ends = Some((next + window, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Time {
        Time::ZERO + Span::from_millis(millis)
    }

    fn echoing(millis: u32) -> TcpHeader {
        TcpHeader { len: 1448, timestamps: Some((0, millis)), ..TcpHeader::default() }
    }

    #[test]
    fn the_round_trip_is_measured_by_echoes_and_by_windows() {
        let mut trip = Trip::default();
        assert_eq!(trip.smoothed(), None);
        trip.on_segment(&echoing(100), at(120));
        trip.on_segment(&echoing(100), at(500));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(20)), "one sample for each echo");
        trip.on_segment(&echoing(128), at(156));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(21)));
        trip.on_segment(&TcpHeader { len: 100, ..echoing(150) }, at(300));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(21)), "a small segment");
        trip.largest = 100;
        trip.on_segment(&TcpHeader { len: 100, ..echoing(279) }, at(300));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(21)), "full as far as the receiver knows");
        // A window that takes longer does not count, a shorter one does.
        trip.on_data(1, 5000, at(200));
        trip.on_data(5001, 5000, at(240));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(21)));
        trip.on_data(10_001, 5000, at(250));
        assert_eq!(trip.smoothed(), Some(Span::from_millis(10)));
    }

    #[test]
    fn the_opening_exchange_is_measured_if_the_syn_was_answered_once() {
        let mut trip = Trip::default();
        trip.on_answer(at(10));
        assert!(trip.on_opened(at(25)));
        assert!(!trip.on_opened(at(40)));
        assert_eq!(trip.opening(), Some(Span::from_millis(15)));
        let mut twice = Trip::default();
        twice.on_answer(at(10));
        twice.on_answer(at(1010));
        assert!(twice.on_opened(at(1025)));
        assert_eq!(twice.opening(), None);
    }
}
