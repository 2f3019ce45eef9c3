//! The medium: it carries each frame to every radio that can sense it.
//!
//! A hearer is a radio that can sense a transmission. When a transmission begins, its hearers are found once, with
//! their delays and powers, in order of arrival. One cursor processes its 2n edges (n beginnings, then n ends). As long
//! as no other event comes before the next edge, the cursor does not use the event queue. The order of simultaneous
//! edges is the order of the queue, so the result is exactly the result of one event for each edge. The switch `exact`
//! schedules one event for each edge, and the tests require the same digest from both.
//!
//! A short frame may end at its nearest hearers before it begins at its farthest. Its hearers are divided into parts,
//! each with a cursor of its own. The frame reaches a part as a whole before it ends at one of the hearers of the part.
//!
//! The medium knows its radios as stations, counted from zero.

mod listener;

use std::sync::Arc;

use hopyard_engine::{Rank, Rng, Span, Time, is_worth_reading_ahead, read_ahead};

pub use self::listener::{After, Ended, Listener, Outcome, Walk};
use super::error_rate::measured::Measured;
use super::factors::Factors;
use super::fading::{self, Fader};
pub use super::hearers::Hearer;
use super::hearers::Hearers;
use super::links::{Levels, Named};
use super::losses::Losses;
use super::mode::Mode;
use super::neighbours::{Neighbours, Search};
use super::obstacles::Obstacle;
use super::params::Params;
use super::propagation::Channel;
use super::reception::{Begin, Lost, Radio, Radios, Receiver, Verdict, each_model};
use super::sensitivity::HORIZON;
use crate::mobility::{Leg, Position};
use crate::order;
use crate::packet::PacketId;
use crate::phy::frame::{Fate, Fields, Frame};

/// A transmission that is in the air.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransmissionId(u32);

#[derive(Clone, Debug)]
struct Transmission<C> {
    frame: Frame<C>,
    station: u32,
    start: Time,
    limits: Limits,
    hearers: Vec<Hearer>,
    /// The index of the next edge. Indices below the number of hearers are beginnings, all others are ends.
    next: usize,
    /// The fate at the receiver.
    outcome: Outcome,
    /// The part with the nearest hearers, which stands for the whole; most transmissions are one part.
    first: u32,
    /// The part with the hearers behind these.
    behind: Option<TransmissionId>,
    /// The number of parts in the air, in the first part.
    parts: u32,
    /// At how many hearers the signal had begun when somebody asked.
    metered: u32,
}

/// What depends on the mode of a frame at every receiver.
#[derive(Clone, Copy, Debug)]
struct Limits {
    /// The weakest power, in watts, with which the frame can be decoded.
    threshold: f64,
    /// Thermal noise in its band, in watts.
    noise: f64,
}

/// The transmissions of a station.
#[derive(Clone, Copy, Debug)]
struct Transmissions {
    /// The number of its transmissions.
    count: u64,
    /// When it had sent all of the last one, and which that is.
    until: Time,
    last: u32,
}

/// Where the stations are, and how the medium looks for those near another.
#[derive(Debug)]
pub struct Places {
    /// The first leg of each station.
    pub legs: Vec<Leg>,
    /// The number of each station's interface, on which its draws of fading depend.
    pub names: Vec<u32>,
    /// How the medium searches.
    pub search: Search,
    /// The links that say which stations hear each other, in the place of distances.
    pub links: Option<Named>,
    /// The obstacles between them.
    pub obstacles: Vec<Obstacle>,
    /// The draws of each station's receiver.
    pub reception: Vec<Rng>,
    /// What single stations have of power and sensitivity beside the others.
    pub factors: Factors,
    /// Error rates in the place of the formulas.
    pub errors: Option<Arc<Measured>>,
}

/// The medium that all radios of a channel share. `C` are the fields of frames for their MAC.
#[derive(Debug)]
pub struct Medium<C> {
    /// The thresholds of radios for data frames.
    receiver: Receiver<'static>,
    /// Error rates in the place of the formulas.
    errors: Option<Arc<Measured>>,
    /// The limits in each mode, by its row.
    limits: Vec<Limits>,
    /// The weakest frame, in watts, that can be decoded in any mode, and as a broadcast.
    thresholds: (f64, f64),
    /// The weakest data frame, in watts, that can be decoded: of rate control, in the mode that reaches farthest.
    weakest: f64,
    radios: Radios,
    reception: Vec<Rng>,
    hearers: Hearers,
    transmissions: Vec<Transmission<C>>,
    free: Vec<u32>,
    in_air: usize,
    /// The transmissions of each station.
    sent: Vec<Transmissions>,
    /// The number of transmissions so far.
    count: u64,
}

impl<C: Fields> Medium<C> {
    /// A silent medium with a station at each of these places, for frames in these modes. The first mode is the mode of
    /// data frames; if `adapts`, rate control chooses among all with which it has a format in common, be it legacy or a
    /// newer one. `fading` is each model of fading, with the stream from which the key of all its draws comes.
    #[must_use]
    pub fn new(
        params: &Params,
        channel: Channel,
        fading: Vec<(Fader, Rng)>,
        (modes, adapts): (&[&'static Mode], bool),
        places: Places,
    ) -> Self {
        let floor = params.sense.watts(&channel, params.transmit_power);
        let receiver = |mode| params.receiver(&channel, mode);
        let rows = modes.iter().map(|mode| usize::from(mode.row) + 1).max().unwrap_or(0);
        let mut limits = vec![Limits { threshold: f64::NAN, noise: f64::NAN }; rows];
        let (mut least, mut most, mut broadcast) = (f64::INFINITY, 0.0_f64, 0.0);
        for &mode in modes {
            let Receiver { threshold, noise, .. } = receiver(mode);
            limits[usize::from(mode.row)] = Limits { threshold, noise };
            (least, most, broadcast) = (least.min(threshold), most.max(threshold), threshold);
        }
        let may_send = |mode: &&&Mode| mode.row == modes[0].row || adapts && mode.is_legacy() == modes[0].is_legacy();
        let data = modes.iter().filter(may_send).map(|mode| limits[usize::from(mode.row)].threshold);
        let weakest = data.fold(f64::INFINITY, f64::min);
        let receiver = receiver(modes[0]);
        let transmit_power = params.transmit_power.watts();
        let fading = fading.into_iter().map(|(fader, mut rng)| (fader, rng.next_u64())).collect::<Vec<_>>();
        let Places { legs, names, search, links, obstacles, reception, factors, errors } = places;
        let stations = legs.len();
        assert_eq!((reception.len(), names.len()), (stations, stations), "every station has a receiver and a name");
        let links = links.map(|links| {
            links.gains(&Levels { transmit: transmit_power, noise: receiver.noise, floor, thresholds: (least, most) })
        });
        let neighbours = match &links {
            Some(links) => Neighbours::of_lists(&legs, HORIZON, links.lists()),
            None => {
                let strongest = fading::limit(fading.iter().map(|it| &it.0));
                let reach = channel.reach(floor / transmit_power / strongest / factors.largest()).min(HORIZON);
                Neighbours::new(&legs, reach, search)
            }
        };
        let losses = Losses::new(channel, obstacles, links);
        Self {
            receiver,
            errors,
            limits,
            thresholds: (least, broadcast),
            weakest,
            radios: params.reception.radios(stations),
            reception,
            hearers: Hearers::new(losses, (transmit_power, floor, factors), neighbours, names, fading),
            transmissions: Vec::new(),
            free: Vec::new(),
            in_air: 0,
            sent: vec![Transmissions { count: 0, until: Time::NEVER, last: 0 }; stations],
            count: 0,
        }
    }

    /// A station begins its next leg.
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        self.hearers.set_leg(station, leg);
    }

    /// The distance in metres up to which a broadcast can be decoded when nothing disturbs it, if distance alone
    /// decides.
    #[must_use]
    pub fn range(&self) -> Option<f64> {
        self.hearers.range(self.thresholds.1)
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
        self.sent[station].count
    }

    /// The number of transmissions so far.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Whether `b` can decode a data frame of `a` when nothing disturbs it, fading aside. Rate control takes the mode
    /// that reaches farthest.
    #[must_use]
    pub fn reaches(&self, a: usize, b: usize, now: Time) -> bool {
        self.hearers.power(a, b, now) >= self.weakest
    }

    /// Whether stations always reach each other in both directions alike.
    #[must_use]
    pub fn is_mutual(&self) -> bool {
        self.hearers.is_mutual()
    }

    /// The stations that can decode a data frame of `station` when nothing disturbs it, in order. They replace the
    /// content of `found`.
    pub fn in_range(&mut self, station: usize, now: Time, found: &mut Vec<usize>) {
        self.hearers.in_range(station, self.weakest, now, found);
    }

    /// Whether another station is among those.
    pub fn is_in_range(&mut self, station: usize, other: usize, now: Time) -> bool {
        self.hearers.is_in_range(station, other, self.weakest, now)
    }

    /// A station puts a frame on the air. Returned is the first of its parts ([`Medium::behind`]), and nothing when
    /// nobody can sense it.
    pub fn transmit(&mut self, station: usize, frame: Frame<C>, now: Time) -> Option<TransmissionId> {
        self.count += 1;
        let limits = self.limits[usize::from(frame.mode.row)];
        debug_assert!(!limits.noise.is_nan(), "the MAC has named the modes of its frames");
        self.launch(station, frame, limits, now)
    }

    /// A station radiates, in the place of a frame, what no radio can decode.
    pub fn radiate(&mut self, station: usize, frame: Frame<C>, now: Time) -> Option<TransmissionId> {
        self.launch(station, frame, Limits { threshold: f64::INFINITY, noise: self.receiver.noise }, now)
    }

    fn launch(&mut self, station: usize, frame: Frame<C>, limits: Limits, now: Time) -> Option<TransmissionId> {
        let until = now + frame.airtime;
        self.radios.send(station, until);
        let station = station as u32;
        let airtime = frame.airtime;
        let new = |hearers, first| Transmission {
            frame: frame.clone(),
            station,
            start: now,
            limits,
            hearers,
            next: 0,
            outcome: Outcome::default(),
            first,
            behind: None,
            parts: 1,
            metered: 0,
        };
        let id = self.place(|id| new(Vec::new(), id));
        let mut hearers = std::mem::take(&mut self.transmissions[id as usize].hearers);
        let sent = &mut self.sent[station as usize];
        let before = std::mem::replace(sent, Transmissions { count: sent.count + 1, until, last: id });
        self.hearers.find(station as usize, before.count + 1, now, &mut hearers);
        if before.until == now {
            self.follow(TransmissionId(before.last), station, &mut hearers);
        }
        let (Some(nearest), Some(farthest)) = (hearers.first(), hearers.last()) else {
            self.transmissions[id as usize].hearers = hearers;
            self.free.push(id);
            return None;
        };
        let is_short = u64::from(farthest.delay - nearest.delay) >= airtime.nanos();
        self.transmissions[id as usize] = new(hearers, id);
        if is_short {
            self.divide(id, |hearers| new(hearers, id));
        }
        self.in_air += 1;
        Some(TransmissionId(id))
    }

    /// A station receives nothing until then, as while it sends. A frame that it is receiving is lost.
    pub fn deafen(&mut self, station: usize, until: Time) {
        self.radios.send(station, until);
    }

    /// The times at which a transmission, or a part of it, begins and ends at a station that can sense it.
    #[must_use]
    pub fn span_at(&self, id: TransmissionId, station: usize) -> (Time, Time) {
        let it = &self.transmissions[id.0 as usize];
        let hearer = it.hearers.iter().find(|hearer| hearer.station as usize == station);
        let begin = it.start + Span::from_nanos(hearer.map_or(0, |hearer| u64::from(hearer.delay)));
        (begin, begin + it.frame.airtime)
    }

    /// A frame that begins when another one of the same station has just ended follows it at every hearer, too. The
    /// delay of each is that at its beginning, so that at a hearer that has come closer, the second one would begin
    /// before the first one has ended.
    #[cold]
    fn follow(&self, before: TransmissionId, station: u32, hearers: &mut [Hearer]) {
        let mut parts = Some(before).filter(|id| self.transmissions[id.0 as usize].station == station);
        let mut place = 0;
        while let Some(part) = parts {
            for old in &self.transmissions[part.0 as usize].hearers {
                // They are in nearly the same order.
                let same = |it: &Hearer| it.station == old.station;
                let found = match hearers.get(place) {
                    Some(hearer) if same(hearer) => Some(place),
                    _ => hearers.iter().position(same),
                };
                if let Some(found) = found {
                    hearers[found].delay = hearers[found].delay.max(old.delay);
                    place = found + 1;
                }
            }
            parts = self.behind(part);
        }
        if !hearers.is_sorted_by_key(Hearer::order) {
            hearers.sort_unstable_by_key(Hearer::order);
        }
    }

    /// A free place among the transmissions.
    fn place(&mut self, new: impl FnOnce(u32) -> Transmission<C>) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let id = self.transmissions.len() as u32;
            self.transmissions.push(new(id));
            id
        })
    }

    /// Divides the hearers of a transmission into parts. A part ends before the hearer at which the frame begins when
    /// it has ended at the part's nearest.
    #[cold]
    fn divide(&mut self, id: u32, new: impl Fn(Vec<Hearer>) -> Transmission<C>) {
        let mut last = id;
        loop {
            let it = &mut self.transmissions[last as usize];
            let ended = u64::from(it.hearers[0].delay) + it.frame.airtime.nanos();
            let within = it.hearers.partition_point(|hearer| u64::from(hearer.delay) < ended);
            if within == it.hearers.len() {
                return;
            }
            let part = new(it.hearers.split_off(within));
            let behind = self.place(|_| part.clone());
            self.transmissions[behind as usize] = part;
            self.transmissions[last as usize].behind = Some(TransmissionId(behind));
            self.transmissions[id as usize].parts += 1;
            last = behind;
        }
    }

    /// The part of a transmission with the hearers behind a given part, if there are any. Each part has its own edges,
    /// and is walked and finished for itself.
    #[inline]
    #[must_use]
    pub fn behind(&self, part: TransmissionId) -> Option<TransmissionId> {
        self.transmissions[part.0 as usize].behind
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
    #[inline(always)]
    pub fn walk(&mut self, id: TransmissionId, exact: bool, listener: &mut impl Listener<C>) -> Walk {
        let Self { transmissions, radios, reception, receiver, errors, .. } = self;
        let receiver = &Receiver { errors: errors.as_deref(), ..*receiver };
        let transmission = &mut transmissions[id.0 as usize];
        each_model!(radios, radios => transmission.walk(id.0, radios, reception, receiver, exact, listener))
    }

    /// The hearers at which the signal of a transmission began since the last call, the time at which the transmission
    /// began, and its duration. Nothing if earlier calls named all hearers. It can be asked until something else is put
    /// on the air.
    #[inline(always)]
    pub fn begun(&mut self, id: TransmissionId) -> Option<(&[Hearer], Time, Span)> {
        let it = &mut self.transmissions[id.0 as usize];
        let (from, all) = (it.metered as usize, it.hearers.len());
        if from >= all {
            return None;
        }
        let to = it.next.min(all);
        it.metered = to as u32;
        Some((it.hearers.get(from..to)?, it.start, it.frame.airtime))
    }

    /// When, and at which rank, the next edge happens. There must be one.
    #[must_use]
    pub fn next_edge(&self, id: TransmissionId) -> (Time, Rank) {
        self.edge(id, self.transmissions[id.0 as usize].next)
    }

    /// When the signal ends at the farthest hearer of a transmission, or of a part.
    #[must_use]
    pub fn ended(&self, id: TransmissionId) -> Time {
        let it = &self.transmissions[id.0 as usize];
        let delay = it.hearers.last().map_or(0, |hearer| u64::from(hearer.delay));
        it.start + it.frame.airtime + Span::from_nanos(delay)
    }

    /// Ends a transmission whose last edge has happened, or a part of it. The fate of the packet is known when the last
    /// part ends, which is the farthest. `receiver` is the station that the frame is for, if there is one.
    #[inline]
    pub fn finish(&mut self, id: TransmissionId, receiver: usize) -> Ended {
        let Transmission { first, parts, .. } = self.transmissions[id.0 as usize];
        let is_whole = first == id.0 && parts == 1;
        if !is_whole && !self.finish_part(id, receiver) {
            return Ended::Nothing;
        }
        self.in_air -= 1;
        self.free.push(first);
        let Transmission { frame, outcome, .. } = &self.transmissions[first as usize];
        match frame.packet {
            Some(_) if frame.kept => Ended::Kept,
            Some(packet) if outcome.has(Outcome::RECEIVED) || frame.receiver.is_broadcast() => {
                Ended::HandedOver(packet)
            }
            Some(packet) => Ended::NotReceived(packet),
            None => Ended::Nothing,
        }
    }

    /// The fate of a frame for one receiver whose last part has just ended.
    #[must_use]
    pub fn fate(&self, id: TransmissionId, receiver: usize) -> Fate {
        let last = &self.transmissions[id.0 as usize];
        let mut outcome = self.transmissions[last.first as usize].outcome;
        outcome |= self.reached(id, receiver);
        match () {
            () if outcome.has(Outcome::RECEIVED) => Fate::Heard,
            () if !outcome.has(Outcome::IN_REACH) => Fate::OutOfReach,
            () if outcome.has(Outcome::NOISE) => Fate::BitErrors,
            () => Fate::Collision,
        }
    }

    /// Whether a part of a transmission came to a station with enough power.
    fn reached(&self, id: TransmissionId, station: usize) -> Outcome {
        let Transmission { hearers, limits, .. } = &self.transmissions[id.0 as usize];
        let hears = |it: &Hearer| it.station as usize == station && it.power >= limits.threshold;
        if hearers.iter().any(hears) { Outcome::IN_REACH } else { Outcome::default() }
    }

    /// Ends a part of a transmission. Returns whether it is the last one.
    #[cold]
    fn finish_part(&mut self, id: TransmissionId, receiver: usize) -> bool {
        let Transmission { first, mut outcome, .. } = self.transmissions[id.0 as usize];
        outcome |= self.reached(id, receiver);
        if first != id.0 {
            self.free.push(id.0);
        }
        let whole = &mut self.transmissions[first as usize];
        whole.outcome |= outcome;
        whole.parts -= 1;
        whole.parts == 0
    }

    /// Thermal noise in the band of data frames, in watts.
    #[must_use]
    pub const fn noise(&self) -> f64 {
        self.receiver.noise
    }

    /// The weakest frame, in watts, that can be decoded in any mode.
    #[must_use]
    pub const fn threshold(&self) -> f64 {
        self.thresholds.0
    }

    /// A station stops for good. Those packets that its MAC holds (`held`) and that are in frames on the air belong to
    /// the medium from now on, and are taken out of `held`. Returned are the transmissions, with all their parts, that
    /// the station has not sent to the end.
    #[cold]
    pub fn stop(&mut self, station: usize, now: Time, held: &mut Vec<PacketId>) -> Vec<TransmissionId> {
        let mut cut = Vec::new();
        for id in self.in_air() {
            let it = &mut self.transmissions[id as usize];
            if it.station as usize != station {
                continue;
            }
            if it.frame.kept {
                let carried: Vec<PacketId> = it.frame.packets().collect();
                let before = held.len();
                held.retain(|packet| !carried.contains(packet));
                it.frame.kept = held.len() == before;
            }
            if it.start + it.frame.airtime > now {
                let first = TransmissionId(id);
                cut.extend(std::iter::successors(Some(first), |part| self.behind(*part)));
            }
        }
        cut
    }

    /// The transmissions in the air, each by its first part.
    fn in_air(&self) -> Vec<u32> {
        let free: std::collections::BTreeSet<u32> = self.free.iter().copied().collect();
        let all = (0..).zip(&self.transmissions);
        all.filter(|(id, it)| !free.contains(id) && it.first == *id).map(|(id, _)| id).collect()
    }

    /// The packets that belong to the medium.
    #[must_use]
    pub fn held(&self) -> Vec<PacketId> {
        let frames = self.in_air().into_iter().map(|id| &self.transmissions[id as usize].frame);
        frames.filter(|frame| !frame.kept).flat_map(Frame::packets).collect()
    }
}

impl<C: Fields> Transmission<C> {
    /// See [`Medium::walk`]. Each kind of MAC has one caller, whose state it keeps in registers.
    #[inline(always)]
    fn walk<R: Radio, L: Listener<C>>(
        &mut self,
        id: u32,
        radios: &mut [R],
        reception: &mut [Rng],
        receiver: &Receiver<'_>,
        exact: bool,
        listener: &mut L,
    ) -> Walk {
        let Self { frame, start, hearers, next, outcome, limits, .. } = self;
        let Limits { threshold, noise } = *limits;
        let receiver = &Receiver { threshold, noise, ..*receiver };
        let n = hearers.len();
        let transmitter = frame.transmitter.0;
        // Of one length, so that one check of a station's number serves both.
        let reception = &mut reception[..radios.len()];
        // Most edges come long before the next event, which changes only when a MAC is told of an edge.
        let mut undisturbed = if exact { Time::ZERO } else { listener.undisturbed_until() };
        if is_worth_reading_ahead(radios.len()) && (*next == 0 || *next == n) {
            read_ahead(hearers.iter().map(|hearer| {
                let station = hearer.station as usize;
                radios[station].prefetch(&()).wrapping_add(listener.prefetch(&station))
            }));
        }
        let begins = start.nanos();
        let ends = begins + frame.airtime.nanos();
        // The first edge happens now, whatever else does.
        let mut limit = Time::NEVER;
        for hearer in hearers.get(*next..).unwrap_or_default() {
            let at = Time::from_nanos(begins + u64::from(hearer.delay));
            if at >= limit {
                let rank = order::begin(hearer.station, transmitter);
                if exact || !listener.comes_first(at, rank) {
                    return Walk::Next(at, rank);
                }
            }
            *next += 1;
            let end = Time::from_nanos(ends + u64::from(hearer.delay));
            let station = hearer.station as usize;
            // First, so that what the beginning means to the radio and to the MAC stays one piece of code.
            if L::METERS && listener.on_signal(station, hearer.power, at, end) && !exact {
                undisturbed = listener.undisturbed_until();
            }
            let begin = radios[station].begin(id, hearer.power, at, end, receiver, frame);
            if begin != Begin::Nothing && listener.on_begin(station, begin, at) && !exact {
                undisturbed = listener.undisturbed_until();
            }
            limit = undisturbed;
        }
        for hearer in hearers.get(*next - n..).unwrap_or_default() {
            let at = Time::from_nanos(ends + u64::from(hearer.delay));
            if at >= limit {
                let rank = order::end(hearer.station, transmitter);
                if exact || !listener.comes_first(at, rank) {
                    *outcome |= listener.outcome();
                    return Walk::Next(at, rank);
                }
            }
            *next += 1;
            let station = hearer.station as usize;
            let end = radios[station].end(id, hearer.power, at, receiver, &mut reception[station]);
            if end.idle || end.verdict != Verdict::Missed {
                match listener.on_end(station, end, hearer.power, frame, at) {
                    After::Nothing => {}
                    After::Scheduled if exact => {}
                    After::Scheduled => undisturbed = listener.undisturbed_until(),
                    After::Work => break,
                }
            }
            limit = undisturbed;
        }
        *outcome |= listener.outcome();
        if *next == 2 * n { Walk::Finished } else { Walk::Interrupted }
    }
}

#[cfg(test)]
mod tests;
