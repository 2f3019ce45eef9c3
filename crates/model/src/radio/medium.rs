//! The medium: it carries each frame to every radio that can sense it.
//!
//! A hearer is a radio that can sense a transmission. When a transmission begins, its hearers are found once, with
//! their delays and powers, in order of arrival. One cursor processes its 2n edges (n beginnings, then n ends). As long
//! as no other event comes before the next edge, the cursor does not use the event queue. The order of simultaneous
//! edges is that of the queue, so the result is exactly that of one event for each edge. The switch `exact` schedules
//! one event for each edge, and the tests require the same digest from both.
//!
//! The medium knows its radios as stations, counted from zero.

use hopyard_engine::{Rank, Rng, Span, Time};

use super::hearers::{Hearer, Hearers};
use super::neighbours::{Neighbours, Search};
use super::params::{HORIZON, Params};
use super::propagation::Channel;
use super::reception::{Begin, End, Lost, Radios, Receiver, Verdict};
use crate::frame::Frame;
use crate::mobility::{Leg, Position};
use crate::order;
use crate::packet::PacketId;

/// Up to this number of stations, their state stays in the processor's cache, and prefetching is not needed.
pub const CACHED: usize = 500;

/// A transmission that is in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmissionId(u32);

#[derive(Clone, Debug)]
struct Transmission<C> {
    frame: Frame<C>,
    station: u32,
    start: Time,
    hearers: Vec<Hearer>,
    /// The index of the next edge. Indices below the number of hearers are beginnings, all others are ends.
    next: usize,
    /// Whether the receiver has decoded the frame.
    received: bool,
}

/// What the medium calls at each edge: the MACs that listen at the radios, and the queue that knows the next event.
pub trait Listener<C> {
    /// Until when, exclusively, no other event comes.
    fn undisturbed_until(&self) -> Time;

    /// Whether an edge at this time and rank comes before every other event.
    fn comes_first(&self, at: Time, rank: Rank) -> bool;

    /// Reads the state of a station that its edges will need, so that this state is in the processor's cache by then.
    /// The value has no meaning.
    fn prefetch(&self, _station: usize) -> u32 {
        0
    }

    /// What the beginning of a signal means at a station.
    fn on_begin(&mut self, station: usize, begin: Begin, now: Time);

    /// What the end of a signal of this power, in watts, means at a station. Returns whether there is work to do before
    /// the next edge.
    fn on_end(&mut self, station: usize, end: End, power: f64, frame: &Frame<C>, now: Time) -> bool;

    /// Whether the receiver has decoded the frame since the last call.
    fn take_received(&mut self) -> bool {
        false
    }
}

/// How far the edges of a transmission have been processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Walk {
    /// All edges have been processed.
    Finished,
    /// Another event comes before the next edge, which is at this time and rank.
    Next(Time, Rank),
    /// There is work to do before the next edge.
    Interrupted,
}

/// What became of the packet of a frame that the medium owned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The medium owned none.
    Nothing,
    /// It was broadcast, or its receiver has decoded it.
    HandedOver(PacketId),
    /// Its receiver did not decode it.
    NotReceived(PacketId),
}

/// Where the stations are, and how the medium looks for those near another.
#[derive(Debug)]
pub struct Places {
    /// The first leg of each station.
    pub legs: Vec<Leg>,
    /// The number of each station's interface, on which its draws of shadowing depend.
    pub names: Vec<u32>,
    /// How the medium searches.
    pub search: Search,
    /// The draws of each station's receiver.
    pub reception: Vec<Rng>,
}

/// The medium that all radios of a channel share. `C` is what frames have for their MAC.
#[derive(Debug)]
pub struct Medium<C> {
    receiver: Receiver,
    radios: Radios,
    reception: Vec<Rng>,
    hearers: Hearers,
    transmissions: Vec<Transmission<C>>,
    free: Vec<u32>,
    in_air: usize,
    /// The number of transmissions so far: of each station, and of all stations together.
    sent: Vec<u64>,
    count: u64,
}

impl<C: Copy> Medium<C> {
    /// A silent medium with a station at each of these places. `preamble` is the time that preamble and PLCP header
    /// take. `shadowing` is the stream from which the key of all draws of shadowing comes.
    #[must_use]
    pub fn new(params: &Params, channel: Channel, preamble: Span, places: Places, shadowing: Rng) -> Self {
        let floor = params.sense.watts(&channel, params.transmit_power);
        let receiver = params.receiver(&channel, preamble);
        let transmit_power = params.transmit_power.watts();
        let reach = channel.reach(floor / transmit_power).min(HORIZON);
        let Places { legs, names, search, reception } = places;
        let stations = legs.len();
        assert_eq!((reception.len(), names.len()), (stations, stations), "every station has a receiver and a name");
        let neighbours = Neighbours::new(&legs, reach, search);
        Self {
            receiver,
            radios: params.reception.radios(stations),
            reception,
            hearers: Hearers::new(channel, (transmit_power, floor), neighbours, names, shadowing),
            transmissions: Vec::new(),
            free: Vec::new(),
            in_air: 0,
            sent: vec![0; stations],
            count: 0,
        }
    }

    /// A station begins its next leg.
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        self.hearers.set_leg(station, leg);
    }

    /// Where a station is.
    #[must_use]
    pub fn position(&self, station: usize, now: Time) -> Position {
        self.hearers.position(station, now)
    }

    /// Frames that a station's radio has lost.
    #[must_use]
    pub fn lost(&self, station: usize) -> Lost {
        self.radios.lost(station)
    }

    /// The number of transmissions of a station so far.
    #[must_use]
    pub fn sent(&self, station: usize) -> u64 {
        self.sent[station]
    }

    /// The number of transmissions so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether `b` can decode a frame of `a` when nothing disturbs it, shadowing aside.
    #[must_use]
    pub fn reaches(&self, a: usize, b: usize, now: Time) -> bool {
        self.hearers.power(a, b, now) >= self.receiver.threshold
    }

    /// The stations that can decode a frame of `station` when nothing disturbs it.
    pub fn in_range(&mut self, station: usize, now: Time) -> Vec<usize> {
        self.hearers.in_range(station, self.receiver.threshold, now)
    }

    /// A station puts a frame on the air. Nothing is returned when nobody can sense it.
    pub fn transmit(&mut self, station: usize, frame: Frame<C>, now: Time) -> Option<TransmissionId> {
        self.count += 1;
        self.sent[station] += 1;
        self.radios.send(station, now + frame.airtime);
        let id = self.free.pop().unwrap_or_else(|| {
            self.transmissions.push(Transmission {
                frame,
                station: station as u32,
                start: now,
                hearers: Vec::new(),
                next: 0,
                received: false,
            });
            (self.transmissions.len() - 1) as u32
        });
        let mut hearers = std::mem::take(&mut self.transmissions[id as usize].hearers);
        self.hearers.find(station, self.sent[station], now, &mut hearers);
        let silent = hearers.is_empty();
        self.transmissions[id as usize] =
            Transmission { frame, station: station as u32, start: now, hearers, next: 0, received: false };
        if silent {
            self.free.push(id);
            return None;
        }
        self.in_air += 1;
        Some(TransmissionId(id))
    }

    /// The frame of a transmission.
    #[inline]
    #[must_use]
    pub fn frame(&self, id: TransmissionId) -> &Frame<C> {
        &self.transmissions[id.0 as usize].frame
    }

    /// The station that sends a transmission's frame.
    #[must_use]
    pub fn transmitter(&self, id: TransmissionId) -> usize {
        self.transmissions[id.0 as usize].station as usize
    }

    /// How many edges a transmission has.
    #[must_use]
    pub fn edges(&self, id: TransmissionId) -> usize {
        2 * self.transmissions[id.0 as usize].hearers.len()
    }

    /// When, and at which rank, an edge happens.
    #[inline]
    #[must_use]
    pub fn edge(&self, id: TransmissionId, index: usize) -> (Time, Rank) {
        let transmission = &self.transmissions[id.0 as usize];
        let n = transmission.hearers.len();
        let transmitter = transmission.frame.transmitter.0;
        if index < n {
            let Hearer { delay, station, .. } = transmission.hearers[index];
            (transmission.start + Span::from_nanos(u64::from(delay)), order::begin(station, transmitter))
        } else {
            let Hearer { delay, station, .. } = transmission.hearers[index - n];
            let delay = Span::from_nanos(u64::from(delay));
            (transmission.start + delay + transmission.frame.airtime, order::end(station, transmitter))
        }
    }

    /// Processes the edges of a transmission, starting with the next one, which happens now. It stops when another
    /// event comes first.
    pub fn walk(&mut self, id: TransmissionId, exact: bool, listener: &mut impl Listener<C>) -> Walk {
        let Self { transmissions, radios, reception, receiver, .. } = self;
        let Transmission { frame, start, hearers, next, received, .. } = &mut transmissions[id.0 as usize];
        let n = hearers.len();
        let transmitter = frame.transmitter.0;
        let mut first = true;
        // Most edges come long before the next event, which changes only when a MAC is told of an edge.
        let mut undisturbed = if exact { Time::ZERO } else { listener.undisturbed_until() };
        if radios.stations() > CACHED && (*next == 0 || *next == n) {
            // With thousands of stations, little of their state is in the processor's cache. If each edge read its
            // station's state, every read would have to wait for the memory. Here all are read at once, before any is
            // needed, and the waits overlap.
            let read = hearers.iter().fold(0, |sum: u32, hearer| {
                let station = hearer.station as usize;
                sum.wrapping_add(radios.prefetch(station)).wrapping_add(listener.prefetch(station))
            });
            std::hint::black_box(read);
        }
        for hearer in hearers.get(*next..).unwrap_or_default() {
            let at = *start + Span::from_nanos(u64::from(hearer.delay));
            if at >= undisturbed && !first {
                let rank = order::begin(hearer.station, transmitter);
                if exact || !listener.comes_first(at, rank) {
                    return Walk::Next(at, rank);
                }
            }
            first = false;
            *next += 1;
            let end = at + frame.airtime;
            let begin = radios.begin(hearer.station as usize, id.0, (hearer.power, at, end), receiver, frame);
            if begin != Begin::Nothing {
                listener.on_begin(hearer.station as usize, begin, at);
                if !exact {
                    undisturbed = listener.undisturbed_until();
                }
            }
        }
        let ends = *start + frame.airtime;
        for hearer in hearers.get(*next - n..).unwrap_or_default() {
            let at = ends + Span::from_nanos(u64::from(hearer.delay));
            if at >= undisturbed && !first {
                let rank = order::end(hearer.station, transmitter);
                if exact || !listener.comes_first(at, rank) {
                    *received |= listener.take_received();
                    return Walk::Next(at, rank);
                }
            }
            first = false;
            *next += 1;
            let rng = &mut reception[hearer.station as usize];
            let end = radios.end(hearer.station as usize, id.0, hearer.power, at, receiver, rng);
            if end.idle || end.verdict != Verdict::Missed {
                if listener.on_end(hearer.station as usize, end, hearer.power, frame, at) {
                    break;
                }
                if !exact {
                    undisturbed = listener.undisturbed_until();
                }
            }
        }
        *received |= listener.take_received();
        if *next == 2 * n { Walk::Finished } else { Walk::Interrupted }
    }

    /// When, and at which rank, the next edge happens. There must be one.
    #[must_use]
    pub fn next_edge(&self, id: TransmissionId) -> (Time, Rank) {
        self.edge(id, self.transmissions[id.0 as usize].next)
    }

    /// When a transmission's signal ends at the farthest hearer.
    #[must_use]
    pub fn ended(&self, id: TransmissionId) -> Time {
        let it = &self.transmissions[id.0 as usize];
        let delay = it.hearers.last().map_or(0, |hearer| u64::from(hearer.delay));
        it.start + it.frame.airtime + Span::from_nanos(delay)
    }

    /// Ends a transmission whose last edge has happened.
    pub fn finish(&mut self, id: TransmissionId) -> Ended {
        self.in_air -= 1;
        self.free.push(id.0);
        let Transmission { frame, received, .. } = &self.transmissions[id.0 as usize];
        match frame.packet {
            Some(packet) if !frame.kept && (*received || frame.receiver.is_broadcast()) => Ended::HandedOver(packet),
            Some(packet) if !frame.kept => Ended::NotReceived(packet),
            _ => Ended::Nothing,
        }
    }

    /// The packets that belong to the medium.
    #[must_use]
    pub fn held(&self) -> Vec<PacketId> {
        let free: std::collections::BTreeSet<u32> = self.free.iter().copied().collect();
        self.transmissions
            .iter()
            .enumerate()
            .filter(|(i, t)| !free.contains(&(*i as u32)) && !t.frame.kept)
            .filter_map(|(_, t)| t.frame.packet)
            .collect()
    }
}

#[cfg(test)]
mod tests;
