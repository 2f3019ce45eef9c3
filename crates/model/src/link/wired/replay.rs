//! Delays and losses of a link that change over time or from packet to packet, as the trace of a network gives them.
//!
//! This is the emulation of SEDLANE (Seddik-Ghaleb, Ghamri-Doudane and Senouci, ICC 2007). Packets of a trace with
//! similar round-trip times form a class. Each class has a delay and a loss rate, which a pipe of dummynet applies.
//! Here the schedule of these pipes is a parameter of the link. An entry holds until the next one begins; the last one
//! holds until the end. Before the first entry, the link has its own delay alone.
//!
//! An entry begins at a time, or with a packet by its number in the direction. The paper does not say which of the two
//! its rules used.

use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A delay and a loss rate, and from when on they hold.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// From which time on it holds, since the start of the run, by the time at which a packet enters the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Span")]
    pub from: Option<Span>,
    /// In place of `from`: the first packet for which the entry holds, by its number in this direction, counted from
    /// zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u64")]
    pub packet: Option<u64>,
    /// What is added to the delay of the link.
    pub delay: Span,
    /// The probability with which each packet is lost.
    #[serde(default)]
    pub loss: f64,
}

impl Entry {
    /// The faults of the entries of a direction, by their places.
    pub(super) fn faults(entries: &[Self]) -> Vec<(usize, String)> {
        let mut faults = Vec::new();
        let mut before: Option<Self> = None;
        for (place, &entry) in entries.iter().enumerate() {
            if !(0.0..=1.0).contains(&entry.loss) {
                faults.push((place, format!("`loss` must lie between 0 and 1, found {}", entry.loss)));
            }
            match (entry.from, entry.packet) {
                (None, None) => {
                    faults.push((place, "an entry begins at a time, `from`, or with a `packet`".to_owned()))
                }
                (Some(_), Some(_)) => {
                    faults.push((place, "an entry begins at a time or with a packet: `from` or `packet`".to_owned()));
                }
                (from, packet) => {
                    if let Some(last) = before
                        && let Some(problem) = last.not_before(from, packet)
                    {
                        faults.push((place, problem));
                    }
                    before = Some(entry);
                }
            }
        }
        faults
    }

    /// Why an entry that begins so cannot follow this one.
    fn not_before(&self, from: Option<Span>, packet: Option<u64>) -> Option<String> {
        match (self.from, self.packet, from, packet) {
            (Some(last), _, Some(from), _) => (from <= last)
                .then(|| format!("it begins at {from}, not after the one before it, which begins at {last}")),
            (_, Some(last), _, Some(packet)) => (packet <= last).then(|| {
                format!("it begins with packet {packet}, not after the one before it, which begins with {last}")
            }),
            _ => Some("all entries of a direction begin at times, or all of them with packets".to_owned()),
        }
    }
}

/// The entries of a direction, and the one that holds.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    entries: Vec<Entry>,
    /// How many entries have begun.
    begun: usize,
}

impl Schedule {
    pub(super) fn new(entries: &[Entry]) -> Self {
        Self { entries: entries.to_vec(), begun: 0 }
    }

    /// The delay and the loss rate of a packet with this number that enters now. Times and numbers never fall.
    pub(super) fn of(&mut self, now: Time, number: u64) -> (Span, f64) {
        let has_begun = |it: &Entry| match (it.from, it.packet) {
            (Some(from), _) => Time::ZERO + from <= now,
            (None, Some(packet)) => packet <= number,
            (None, None) => false,
        };
        while self.entries.get(self.begun).is_some_and(has_begun) {
            self.begun += 1;
        }
        self.begun
            .checked_sub(1)
            .map_or((Span::ZERO, 0.0), |place| (self.entries[place].delay, self.entries[place].loss))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, delay: u64) -> Entry {
        Entry { from: Some(Span::from_secs(seconds)), packet: None, delay: Span::from_millis(delay), loss: 0.0 }
    }

    fn with(packet: u64, delay: u64) -> Entry {
        Entry { from: None, packet: Some(packet), delay: Span::from_millis(delay), loss: 0.25 }
    }

    #[test]
    fn an_entry_holds_until_the_next_one_begins() {
        let mut schedule = Schedule::new(&[at(1, 10), at(2, 20), at(3, 30)]);
        let delays = [0_u64, 999, 1000, 1999, 2000, 9000].map(|millis| {
            let (delay, loss) = schedule.of(Time::ZERO + Span::from_millis(millis), 7);
            assert!(loss.abs() < f64::EPSILON);
            delay.nanos() / 1_000_000
        });
        assert_eq!(delays, [0, 0, 10, 10, 20, 30], "it may skip entries, and the last one stays");
    }

    #[test]
    fn entries_may_begin_with_packets() {
        let mut schedule = Schedule::new(&[with(0, 5), with(3, 50)]);
        let delays = [0, 1, 2, 3, 4].map(|number| schedule.of(Time::ZERO, number).0.nanos() / 1_000_000);
        assert_eq!(delays, [5, 5, 5, 50, 50]);
        assert!((schedule.of(Time::ZERO, 9).1 - 0.25).abs() < f64::EPSILON);
    }

    #[test]
    fn entries_follow_each_other() {
        let places = |entries: &[Entry]| Entry::faults(entries).into_iter().map(|(place, _)| place).collect::<Vec<_>>();
        assert_eq!(places(&[at(0, 1), at(1, 1), at(5, 1)]), [0; 0]);
        assert_eq!(places(&[with(0, 1), with(9, 1)]), [0; 0]);
        assert_eq!(places(&[at(1, 1), at(1, 2), at(0, 3)]), [1, 2]);
        assert_eq!(places(&[with(1, 1), with(1, 2)]), [1]);
        assert_eq!(places(&[at(1, 1), with(2, 2)]), [1]);
        let both = Entry { packet: Some(1), ..at(1, 1) };
        let none = Entry { from: None, ..at(1, 1) };
        let often = Entry { loss: 1.5, ..at(3, 1) };
        assert_eq!(places(&[both, none, often]), [0, 1, 2]);
    }
}
