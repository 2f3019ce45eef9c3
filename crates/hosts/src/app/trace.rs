//! Packets of a trace: the sizes and times of a file, such as recorded voice or video.
//!
//! The file is a table with the columns `time_s` and `bytes`, or a capture (pcap), of which the payload of UDP and TCP
//! counts. The first packet is sent at the start, and each later one as long after it as in the file. Each packet of
//! the file is a message: over UDP, one that is longer than a datagram goes in several. The relative without a file is
//! `messages`.

use std::sync::Arc;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::application::packet_or_stop;
use super::cbr::check_packet_size;
use super::input::{Entry, Format, Input};
use super::object::{Kind, Object};
use super::{Application, ApplicationFacts, Offer, Period};
use crate::params::{self, Fault};

/// Parameters of a trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The file with the packets: a table with the columns `time_s` and `bytes`, or a capture in the format pcap.
    pub path: String,
    /// Whether the trace begins again after its end. The pause before is the mean interval of its packets.
    pub repeat: bool,
    /// Time within which a packet should be delivered; "0 s" for none.
    pub deadline: Span,
    /// Largest payload of a packet over UDP. A longer packet of the trace goes in several.
    pub packet_size: Bytes,
    /// The packets of the file.
    #[serde(skip)]
    #[schemars(skip)]
    pub entries: Arc<[Entry]>,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self {
            path: String::new(),
            repeat: false,
            deadline: Span::ZERO,
            packet_size: Bytes::new(1_000),
            entries: Arc::default(),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        check_packet_size(self.packet_size)
    }
}

impl ApplicationFacts for Params {
    const HAS_OBJECTS: bool = true;

    fn packet_size(&self) -> Option<u64> {
        Some(self.packet_size.count())
    }

    fn largest(&self) -> Option<(&'static str, Bytes)> {
        self.entries.iter().map(|entry| ("path", entry.size)).max()
    }

    fn inputs(&mut self) -> Vec<Input<'_>> {
        vec![Input { key: "path", path: &self.path, format: Format::Packets, entries: &mut self.entries }]
    }
}

/// The source of a trace.
#[derive(Clone, Debug)]
pub struct Trace {
    entries: Arc<[Entry]>,
    repeat: bool,
    within: Span,
    period: Period,
    /// When the trace has begun, for the last time.
    begun: Time,
    /// The number of the next packet.
    place: usize,
    next: Time,
}

impl Trace {
    /// A source for this period.
    #[must_use]
    pub fn new(params: &Params, period: Period, _rng: Rng) -> Self {
        let Params { ref entries, repeat, deadline, .. } = *params;
        let next = packet_or_stop(period.start, period);
        Self { entries: Arc::clone(entries), repeat, within: deadline, period, begun: period.start, place: 0, next }
    }

    /// The time from the first packet of the file to this one.
    fn after(&self, place: usize) -> Span {
        self.entries[place].time.saturating_sub(self.entries[0].time)
    }

    /// The pause from the last packet to the first one again.
    fn pause(&self) -> Span {
        let last = self.entries.len() - 1;
        (self.after(last) / (last as u64).max(1)).max(Span::from_millis(1))
    }
}

impl Application for Trace {
    fn on_timer(&mut self, now: Time) -> Offer {
        let Some(entry) = self.entries.get(self.place).filter(|_| now < self.period.stop) else {
            self.next = Time::NEVER;
            return Offer::Close;
        };
        let bytes = entry.size.count();
        self.place += 1;
        if self.place == self.entries.len() && self.repeat {
            (self.begun, self.place) = (now + self.pause(), 0);
        }
        // After the last packet the source closes.
        let next = if self.place < self.entries.len() { self.begun + self.after(self.place) } else { now };
        self.next = packet_or_stop(next, self.period);
        Offer::Object(Object { kind: Kind::Message, bytes, page: 0, is_last: false, within: self.within })
    }

    fn deadline(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::{offers, rng, seconds};
    use crate::params::{Params as _, RFC};

    fn packets(repeat: bool, stop: f64) -> Vec<(f64, u64)> {
        let entry = |(time, size)| Entry { time: Span::from_secs_f64(time), size: Bytes::new(size) };
        let entries = [(10.0, 100), (10.5, 2000), (10.5, 300)].map(entry).into();
        let params = Params { repeat, entries, ..Params::of_profile(RFC) };
        let mut source = Trace::new(&params, Period { start: seconds(1.0), stop: seconds(stop) }, rng());
        let mut offers = offers(&mut source, Time::NEVER);
        assert!(matches!(offers.pop(), Some((_, Offer::Close))));
        let size = |(at, offer)| match offer {
            Offer::Object(object) => (at, object.bytes),
            other => panic!("{other:?}"),
        };
        offers.into_iter().map(size).collect()
    }

    #[test]
    fn packets_are_sent_as_in_the_file_from_the_start_on() {
        assert_eq!(packets(false, 9.0), [(1.0, 100), (1.5, 2000), (1.5, 300)]);
        assert_eq!(packets(false, 1.5), [(1.0, 100)]);
    }

    #[test]
    fn a_repeated_trace_pauses_for_its_mean_interval() {
        let found = packets(true, 2.5);
        assert_eq!(found[..3], packets(false, 9.0));
        assert_eq!(found[3..], [(1.75, 100), (2.25, 2000), (2.25, 300)]);
    }
}
