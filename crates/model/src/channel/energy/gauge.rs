//! How long each radio of a channel sends and hears, and what its packets cost.
//!
//! The beginning of a signal tells how long it lasts, so that the time in which a radio hears is the union of the
//! intervals of its signals: each beginning adds the part that no earlier signal has covered. Ends need no account.
//! What is entered so lies in the future in part, and is taken off again by whoever asks what was spent until now.

use hopyard_engine::{Span, Time};

use super::account::{Airtimes, Sent};
use super::{Account, Attojoules, PacketPrices, Prices, Spent};
use crate::packet::Packet;
use crate::radio::medium::TransmissionId;

/// Who is told of the beginning of every signal at every radio. Without one, nothing is compiled in.
pub trait Meter {
    /// Whether there is one.
    const ON: bool;

    /// Whether single radios may be off, or their batteries nearly empty.
    const WATCHES: bool = false;

    /// A signal of this power, in watts, begins at a radio. Returns whether the prediction of its battery is due.
    fn on_signal(&mut self, station: usize, power: f64, now: Time, end: Time) -> bool;

    /// Whether packets have prices, so that the meter is told of those decoded.
    fn prices_packets(&self) -> bool;

    /// A radio has decoded a packet of this size. Returns whether the prediction of its battery is due.
    fn on_decoded(&mut self, station: usize, heard: Heard, bytes: u32) -> bool;

    /// Whether a radio is off.
    fn is_off(&self, station: usize) -> bool;

    /// Whether a radio stopped in the middle of this transmission.
    fn is_cut(&self, transmission: TransmissionId) -> bool;

    /// A transmission has ended at all radios.
    fn on_end(&mut self, transmission: TransmissionId);

    /// The timer of a radio's battery.
    fn timer(&self, station: usize) -> u32;
}

/// For whom a packet was that a radio decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// For this radio alone.
    Own,
    /// For all.
    Broadcast,
    /// For another radio, and this one passes it up.
    Overheard,
    /// For another radio.
    Discarded,
}

impl Heard {
    /// How many there are.
    const COUNT: usize = 4;
}

impl PacketPrices {
    /// What these packets cost the radio that decoded them.
    fn of_decoded(&self, decoded: &Decoded) -> Attojoules {
        let prices = [self.receive, self.receive_broadcast, self.overhear, self.discard];
        let each = prices.into_iter().zip(decoded);
        each.map(|(price, &(packets, bytes))| price.of_all(packets, bytes)).sum()
    }
}

/// Nobody counts energy.
impl Meter for () {
    const ON: bool = false;

    fn on_signal(&mut self, _: usize, _: f64, _: Time, _: Time) -> bool {
        false
    }

    fn prices_packets(&self) -> bool {
        false
    }

    fn on_decoded(&mut self, _: usize, _: Heard, _: u32) -> bool {
        false
    }

    fn is_off(&self, _: usize) -> bool {
        false
    }

    fn is_cut(&self, _: TransmissionId) -> bool {
        false
    }

    fn on_end(&mut self, _: TransmissionId) {}

    fn timer(&self, _: usize) -> u32 {
        0
    }
}

/// The times of a radio, in nanoseconds, which every beginning of a signal reads and writes. They are plain numbers:
/// sums that stop at the greatest one cost more instructions, and none comes near it.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(32))]
struct Times {
    /// When the last of the signals that have begun ends, or the radio's own last transmission if that is later.
    busy_until: u64,
    /// How long it heard a signal and did not send, up to `busy_until`.
    heard: u64,
    /// When the radio's own last transmission ends.
    sends_until: u64,
}

/// What single frames change.
#[derive(Clone, Copy, Debug, Default)]
struct Frames {
    /// How long the radio sent, and for what, up to the end of its own last transmission.
    airtimes: Airtimes,
    /// What packets sent cost beyond that.
    priced: Account,
    /// The frame that the radio sent last.
    last: Sent,
    /// When the radio stopped.
    off_since: Option<Time>,
}

/// The packets that a radio has decoded, by [`Heard`]: how many, and their bytes.
type Decoded = [(u64, u64); Heard::COUNT];

/// The radio's battery must be looked at whenever the radio's state changes.
const WATCHED: u8 = 1;
/// The radio is off.
const OFF: u8 = 2;

/// What a battery needs to know of a radio to predict when it will be empty.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// What was spent so far.
    pub spent: Attojoules,
    /// Until when the radio sends.
    pub sends_until: Time,
    /// Until when it sends, or hears the signals that have begun.
    pub busy_until: Time,
    /// What it takes.
    pub prices: Prices,
}

/// The account of the radios of a channel.
#[derive(Debug)]
pub struct Gauge {
    prices: Prices,
    /// The weakest signal that is heard, in watts.
    floor: f64,
    times: Vec<Times>,
    flags: Vec<u8>,
    /// How many radios have a flag.
    flagged: usize,
    frames: Vec<Frames>,
    decoded: Vec<Decoded>,
    /// The timer of each radio's battery.
    timers: Vec<u32>,
    /// The transmissions in the air, and the parts of them, whose radio stopped in the middle.
    cut: Vec<TransmissionId>,
}

impl Gauge {
    /// Radios that have spent nothing. `decodable` is the power, in watts, of the weakest signal that can be decoded;
    /// `timers` are the timers of their batteries.
    #[must_use]
    pub fn new(prices: Prices, decodable: f64, timers: Vec<u32>) -> Self {
        let stations = timers.len();
        Self {
            prices,
            floor: if prices.only_decodable { decodable } else { 0.0 },
            times: vec![Times::default(); stations],
            flags: vec![0; stations],
            flagged: 0,
            frames: vec![Frames::default(); stations],
            decoded: vec![Decoded::default(); stations],
            timers,
            cut: Vec::new(),
        }
    }

    /// A radio begins to send a frame with a packet, or without one. Returns whether the prediction of its battery is
    /// due.
    #[inline]
    pub fn on_send(
        &mut self,
        station: usize,
        packet: Option<&Packet>,
        (broadcast, again): (bool, bool),
        airtime: Span,
        now: Time,
    ) -> bool {
        self.times[station].send(now.nanos(), (now + airtime).nanos());
        let sent = match packet {
            None => Sent::MAC,
            Some(packet) => Sent::of(packet, again),
        };
        let frames = &mut self.frames[station];
        frames.airtimes.add(sent, airtime);
        frames.last = sent;
        if let (Some(prices), Some(packet)) = (&self.prices.packets, packet) {
            let price = if broadcast { prices.send_broadcast } else { prices.send };
            frames.priced.add(sent, price.of(packet.size));
        }
        self.flagged != 0 && self.is_watched(station)
    }

    /// Whether a radio's battery must be looked at whenever the radio's state changes, from now on.
    pub fn watch(&mut self, station: usize, watched: bool) {
        let flags = self.flags[station];
        self.set_flags(station, if watched { flags | WATCHED } else { flags & !WATCHED });
    }

    fn set_flags(&mut self, station: usize, flags: u8) {
        self.flagged -= usize::from(self.flags[station] != 0);
        self.flagged += usize::from(flags != 0);
        self.flags[station] = flags;
    }

    #[inline]
    fn is_watched(&self, station: usize) -> bool {
        self.flags[station] & WATCHED != 0
    }

    /// The account as long as nothing depends on the state of single radios: none is off, in no frame on the air did
    /// its radio stop, and no battery is nearly empty. This can only change between two events.
    #[inline(always)]
    pub fn plain(&mut self) -> Option<Plain<'_>> {
        let Self { times, decoded, floor, .. } = self;
        let priced = self.prices.packets.is_some();
        (self.flagged == 0 && self.cut.is_empty()).then_some(Plain { times, decoded, floor: *floor, priced })
    }

    /// A radio stops for good.
    pub fn switch_off(&mut self, station: usize, now: Time) {
        let (unsent, heard) = self.times[station].up_to(now.nanos());
        // No signal adds anything any more.
        self.times[station] = Times { busy_until: u64::MAX, heard, sends_until: u64::MAX };
        let frames = &mut self.frames[station];
        frames.airtimes.take_off(frames.last, unsent);
        frames.off_since = Some(now);
        self.set_flags(station, OFF);
    }

    /// A transmission, or a part of it, is not complete: its radio has stopped.
    pub fn cut(&mut self, transmission: TransmissionId) {
        self.cut.push(transmission);
    }

    /// What a radio has spent up to now.
    #[must_use]
    pub fn spent(&self, station: usize, now: Time) -> Spent {
        let (times, frames) = (&self.times[station], &self.frames[station]);
        let mut airtimes = frames.airtimes;
        let (heard, until) = match frames.off_since {
            Some(since) => (times.heard, since),
            None => {
                let (unsent, heard) = times.up_to(now.nanos());
                airtimes.take_off(frames.last, unsent);
                (heard, now)
            }
        };
        let (sent, heard) = (airtimes.total(), Span::from_nanos(heard));
        let idle = until.since(Time::ZERO).saturating_sub(sent + heard);
        let mut account = airtimes.at(self.prices.send);
        account += frames.priced;
        let received = self.prices.packets.map_or(0, |prices| prices.of_decoded(&self.decoded[station]));
        let packets = [frames.priced.total(), received];
        Spent::of(&self.prices, [sent, heard, idle, now.since(until)], packets, account)
    }

    /// What the battery of a radio's node needs to know of it.
    #[must_use]
    pub fn load(&self, station: usize, now: Time) -> Load {
        let Times { busy_until, sends_until, .. } = self.times[station];
        let (busy_until, sends_until) = (Time::from_nanos(busy_until), Time::from_nanos(sends_until));
        Load { spent: self.spent(station, now).total(), sends_until, busy_until, prices: self.prices }
    }
}

/// The times of all radios, where nothing else counts ([`Gauge::plain`]).
#[derive(Debug)]
pub struct Plain<'a> {
    times: &'a mut [Times],
    decoded: &'a mut [Decoded],
    floor: f64,
    priced: bool,
}

impl Times {
    /// A signal begins.
    #[inline(always)]
    fn add(&mut self, now: u64, end: u64) {
        if self.busy_until <= now {
            self.heard = self.heard.wrapping_add(end.wrapping_sub(now));
            self.busy_until = end;
        } else if self.busy_until < end {
            self.heard = self.heard.wrapping_add(end.wrapping_sub(self.busy_until));
            self.busy_until = end;
        }
    }

    /// The radio begins to send. What it would have heard meanwhile is not paid for.
    #[inline]
    fn send(&mut self, now: u64, end: u64) {
        if self.busy_until > now {
            self.heard -= self.busy_until.min(end).saturating_sub(now.max(self.sends_until));
        }
        self.busy_until = self.busy_until.max(end);
        self.sends_until = end;
    }

    /// For how long the radio has still to send, and how long it has heard up to now.
    fn up_to(&self, now: u64) -> (Span, u64) {
        let unsent = Span::from_nanos(self.sends_until.saturating_sub(now));
        (unsent, self.heard - self.busy_until.saturating_sub(now.max(self.sends_until)))
    }
}

fn count(decoded: &mut Decoded, heard: Heard, bytes: u32) {
    let (packets, sum) = &mut decoded[heard as usize];
    *packets += 1;
    *sum += u64::from(bytes);
}

impl Meter for Plain<'_> {
    const ON: bool = true;

    #[inline(always)]
    fn on_signal(&mut self, station: usize, power: f64, now: Time, end: Time) -> bool {
        if power >= self.floor {
            self.times[station].add(now.nanos(), end.nanos());
        }
        false
    }

    #[inline(always)]
    fn prices_packets(&self) -> bool {
        self.priced
    }

    #[inline(always)]
    fn on_decoded(&mut self, station: usize, heard: Heard, bytes: u32) -> bool {
        count(&mut self.decoded[station], heard, bytes);
        false
    }

    #[inline(always)]
    fn is_off(&self, _: usize) -> bool {
        false
    }

    #[inline(always)]
    fn is_cut(&self, _: TransmissionId) -> bool {
        false
    }

    #[inline(always)]
    fn on_end(&mut self, _: TransmissionId) {}

    #[inline(always)]
    fn timer(&self, _: usize) -> u32 {
        0
    }
}

impl Meter for Gauge {
    const ON: bool = true;
    const WATCHES: bool = true;

    #[inline(always)]
    fn on_signal(&mut self, station: usize, power: f64, now: Time, end: Time) -> bool {
        if power < self.floor {
            return false;
        }
        self.times[station].add(now.nanos(), end.nanos());
        self.is_watched(station)
    }

    #[inline(always)]
    fn prices_packets(&self) -> bool {
        self.prices.packets.is_some()
    }

    fn on_decoded(&mut self, station: usize, heard: Heard, bytes: u32) -> bool {
        count(&mut self.decoded[station], heard, bytes);
        self.is_watched(station)
    }

    #[inline(always)]
    fn is_off(&self, station: usize) -> bool {
        self.flags[station] & OFF != 0
    }

    #[inline]
    fn is_cut(&self, transmission: TransmissionId) -> bool {
        self.cut.contains(&transmission)
    }

    #[inline]
    fn on_end(&mut self, transmission: TransmissionId) {
        if !self.cut.is_empty() {
            self.cut.retain(|it| *it != transmission);
        }
    }

    fn timer(&self, station: usize) -> u32 {
        self.timers[station]
    }
}
