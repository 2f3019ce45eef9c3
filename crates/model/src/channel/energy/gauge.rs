//! How long each radio of a channel sends and hears, and what its packets cost.
//!
//! The beginning of a signal tells how long the signal lasts. Therefore the time in which a radio hears is the union of
//! the intervals of its signals. Each beginning adds the part that no earlier signal covered. Ends need no account. An
//! entry therefore lies in the future in part. A reader of the energy spent until now takes this part off again.

use hopyard_engine::{Span, Time};

use super::{Account, Attojoules, FrameClass, PacketPrices, Prices, Spent};
use crate::context::Airtimes;
use crate::phy::medium::{Hearer, TransmissionId};

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

    /// Whether a radio slept in a part of this time, which ends now.
    fn has_slept(&self, _station: usize, _span: (Time, Time)) -> bool {
        false
    }

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

/// The cost of these packets at the radio that decoded them.
fn of_decoded(prices: &PacketPrices, decoded: &Decoded) -> Attojoules {
    let prices = [prices.receive, prices.receive_broadcast, prices.overhear, prices.discard];
    let each = prices.into_iter().zip(decoded);
    each.map(|(price, &(packets, bytes))| price.of_all(packets, bytes)).sum()
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

/// The times of all radios, in nanoseconds, which every beginning of a signal reads and writes. They are plain numbers:
/// sums that stop at the greatest one cost more instructions, and none comes near it.
#[derive(Debug)]
struct Times {
    /// When the last of the signals that have begun ends, or the radio's own last transmission if that is later.
    busy_until: Vec<u64>,
    /// How long each heard a signal and did not send, up to `busy_until`.
    heard: Vec<u64>,
}

/// The frames of a radio, and its sleep, which is counted as a frame that nobody hears.
#[derive(Clone, Copy, Debug, Default)]
struct Frames {
    /// When the radio's own last transmission ends, in nanoseconds.
    sends_until: u64,
    /// The frame that the radio sent last.
    last: FrameClass,
    /// The times for which the radio sent, by purpose, up to the end of its own last transmission.
    airtimes: Airtimes,
    /// The cost of sent packets beyond that.
    priced: Account,
    /// When the radio stopped.
    off_since: Option<Time>,
    /// When it fell asleep last, and when it wakes, in nanoseconds.
    slept: (u64, u64),
}

impl Frames {
    /// The time for which the radio has still to send, and the time for which it has heard up to now, if signals and
    /// transmissions until `busy_until` are entered.
    fn up_to(&self, now: u64, busy_until: u64, heard: u64) -> (Span, u64) {
        let unsent = Span::from_nanos(self.sends_until.saturating_sub(now));
        (unsent, heard - busy_until.saturating_sub(now.max(self.sends_until)))
    }
}

/// The packets that a radio has decoded, by [`Heard`]: how many, and their bytes.
type Decoded = [(u64, u64); Heard::COUNT];

/// The radio's battery must be looked at whenever the radio's state changes.
const WATCHED: u8 = 1;
/// The radio is off.
const OFF: u8 = 2;
/// The radio sleeps at some time of the run.
const SLEEPS: u8 = 4;

/// The load of a radio on a battery, from which the battery predicts when it will be empty.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The energy spent so far.
    pub spent: Attojoules,
    /// Until when the radio sends, or sleeps.
    pub sends_until: Time,
    /// Whether it sleeps.
    pub asleep: bool,
    /// Until when it sends, or hears the signals that have begun.
    pub busy_until: Time,
    /// Its prices.
    pub prices: Prices,
}

impl Load {
    /// The power at a time, in nanowatts, if no further signal begins.
    #[must_use]
    pub fn power(&self, at: Time) -> u64 {
        if self.asleep && at < self.sends_until {
            return self.prices.sleep.unwrap_or(0);
        }
        self.prices.power(at < self.sends_until, at < self.busy_until)
    }
}

/// The account of the radios of a channel.
#[derive(Debug)]
pub struct Gauge {
    prices: Prices,
    /// The weakest signal that is heard, in watts.
    floor: f64,
    /// See [`Gauge::is_plain`].
    plain: bool,
    times: Times,
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
            plain: prices.packets.is_none(),
            floor: if prices.only_decodable { decodable } else { 0.0 },
            times: Times { busy_until: vec![0; stations], heard: vec![0; stations] },
            flags: vec![0; stations],
            flagged: 0,
            frames: vec![Frames::default(); stations],
            decoded: vec![Decoded::default(); stations],
            timers,
            cut: Vec::new(),
        }
    }

    /// A radio begins to send a frame.
    #[inline(always)]
    pub fn on_send(&mut self, station: usize, sent: FrameClass, airtime: Span, now: Time) {
        let now = now.nanos();
        let end = now.wrapping_add(airtime.nanos());
        let (busy_until, frames) = (&mut self.times.busy_until[station], &mut self.frames[station]);
        if *busy_until > now {
            // What it would have heard meanwhile is not paid for.
            self.times.heard[station] -= end.min(*busy_until).saturating_sub(now.max(frames.sends_until));
        }
        *busy_until = end.max(*busy_until);
        frames.sends_until = end;
        frames.last = sent;
        frames.airtimes.add(sent, airtime);
    }

    /// A radio begins to send a packet, which has this price.
    pub fn on_priced(&mut self, station: usize, sent: FrameClass, price: Attojoules) {
        self.frames[station].priced.add(sent, price);
    }

    /// The prices of packets, if they have any.
    #[inline]
    pub const fn packet_prices(&self) -> Option<&PacketPrices> {
        self.prices.packets.as_ref()
    }

    /// A radio will sleep in this run.
    pub fn expect_sleep(&mut self, station: usize) {
        self.set_flags(station, self.flags[station] | SLEEPS);
    }

    /// A radio, which is not sending, sleeps from now until then.
    pub fn sleep(&mut self, station: usize, until: Time, now: Time) {
        self.on_send(station, FrameClass::SLEEP, until.since(now), now);
        self.frames[station].slept = (now.nanos(), until.nanos());
    }

    /// Whether a radio sleeps now.
    #[inline]
    #[must_use]
    pub fn is_asleep(&self, station: usize, now: Time) -> bool {
        self.flags[station] & SLEEPS != 0 && now.nanos() < self.frames[station].slept.1
    }

    /// Until when a radio sends or sleeps.
    #[must_use]
    pub fn sends_until(&self, station: usize) -> Time {
        Time::from_nanos(self.frames[station].sends_until)
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
        self.refresh();
    }

    /// Whether the prediction of a radio's battery is due whenever the radio's state changes.
    #[inline]
    #[must_use]
    pub fn is_watched(&self, station: usize) -> bool {
        self.flags[station] & WATCHED != 0
    }

    /// Whether nothing depends on the state of single radios, and packets have no prices. Then no radio is off, no
    /// radio stopped during a frame that is on the air, and no battery is nearly empty. This can only change between
    /// two events.
    #[inline(always)]
    pub const fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether nothing depends on the state of single radios.
    #[inline]
    #[must_use]
    pub fn is_uniform(&self) -> bool {
        self.flagged == 0 && self.cut.is_empty()
    }

    fn refresh(&mut self) {
        self.plain = self.is_uniform() && self.prices.packets.is_none();
    }

    /// The account of the packets that radios decode, kept without regard to single radios ([`Gauge::is_uniform`]). The
    /// energy for hearing is entered with [`Gauge::on_signals`] then.
    pub fn priced(&mut self) -> Priced<'_> {
        Priced { decoded: &mut self.decoded }
    }

    /// A signal that is sent from `begin` on has begun at these hearers, and no other one since at any of them. No
    /// battery is looked at.
    #[inline(never)]
    pub fn on_signals(&mut self, hearers: &[Hearer], begin: Time, airtime: Span) {
        let floor = self.floor;
        if self.prices.only_decodable {
            self.times.add_all(hearers, begin.nanos(), airtime.nanos(), |power| power >= floor);
        } else {
            self.times.add_all(hearers, begin.nanos(), airtime.nanos(), |_| true);
        }
    }

    /// A radio stops for good.
    pub fn switch_off(&mut self, station: usize, now: Time) {
        let (busy_until, heard) = (&mut self.times.busy_until[station], &mut self.times.heard[station]);
        let frames = &mut self.frames[station];
        let unsent;
        (unsent, *heard) = frames.up_to(now.nanos(), *busy_until, *heard);
        // No signal adds anything any more.
        (*busy_until, frames.sends_until) = (u64::MAX, u64::MAX);
        frames.airtimes.take_off(frames.last, unsent);
        frames.off_since = Some(now);
        frames.slept.1 = frames.slept.1.min(now.nanos());
        self.set_flags(station, OFF);
    }

    /// A transmission, or a part of it, is not complete: its radio has stopped.
    pub fn cut(&mut self, transmission: TransmissionId) {
        self.cut.push(transmission);
        self.refresh();
    }

    /// The energy that a radio has spent up to now.
    #[must_use]
    pub fn spent(&self, station: usize, now: Time) -> Spent {
        let (heard, frames) = (self.times.heard[station], &self.frames[station]);
        let mut airtimes = frames.airtimes;
        let (heard, until) = match frames.off_since {
            Some(since) => (heard, since),
            None => {
                let (unsent, heard) = frames.up_to(now.nanos(), self.times.busy_until[station], heard);
                airtimes.take_off(frames.last, unsent);
                (heard, now)
            }
        };
        let ((sent, asleep), heard) = (airtimes.total(), Span::from_nanos(heard));
        let idle = until.since(Time::ZERO).saturating_sub(sent + heard + asleep);
        let mut account = airtimes.at(self.prices.send);
        account += frames.priced;
        let received = self.prices.packets.map_or(0, |prices| of_decoded(&prices, &self.decoded[station]));
        let packets = [frames.priced.total(), received];
        Spent::of(&self.prices, [sent, heard, idle, asleep, now.since(until)], packets, account)
    }

    /// The load of a radio on the battery of its node.
    #[must_use]
    pub fn load(&self, station: usize, now: Time) -> Load {
        let busy_until = Time::from_nanos(self.times.busy_until[station]);
        let sends_until = Time::from_nanos(self.frames[station].sends_until);
        let asleep = self.is_asleep(station, now);
        Load { spent: self.spent(station, now).total(), sends_until, asleep, busy_until, prices: self.prices }
    }
}

/// The packets that all radios have decoded.
#[derive(Debug)]
pub struct Priced<'a> {
    decoded: &'a mut [Decoded],
}

impl Times {
    /// A signal begins.
    #[inline(always)]
    fn add(&mut self, station: usize, now: u64, end: u64) {
        if self.busy_until[station] <= now {
            self.heard[station] = self.heard[station].wrapping_add(end.wrapping_sub(now));
            self.busy_until[station] = end;
        } else {
            prolong(&mut self.busy_until[station], &mut self.heard[station], end);
        }
    }

    /// A signal begins at those hearers that hear it. Every reception passes here, so that each instruction counts.
    #[inline(always)]
    fn add_all(&mut self, hearers: &[Hearer], begin: u64, airtime: u64, hears: impl Fn(f64) -> bool) {
        let end = begin.wrapping_add(airtime);
        let busy_until = self.busy_until.as_mut_slice();
        // Of one length, so that one check of a station's number serves both.
        let heard = &mut self.heard[..busy_until.len()];
        let mut each = |hearer: &Hearer| {
            if hears(hearer.power) {
                let (station, delay) = (hearer.station as usize, u64::from(hearer.delay));
                let (now, end) = (begin.wrapping_add(delay), end.wrapping_add(delay));
                if busy_until[station] <= now {
                    heard[station] = heard[station].wrapping_add(airtime);
                    busy_until[station] = end;
                } else {
                    prolong(&mut busy_until[station], &mut heard[station], end);
                }
            }
        };
        // Four at a time, which halves what the loop itself costs.
        let (fours, rest) = hearers.as_chunks::<4>();
        for four in fours {
            four.iter().for_each(&mut each);
        }
        rest.iter().for_each(each);
    }
}

/// A signal begins while another one is heard.
#[cold]
#[inline(never)]
fn prolong(busy_until: &mut u64, heard: &mut u64, end: u64) {
    if *busy_until < end {
        *heard = heard.wrapping_add(end.wrapping_sub(*busy_until));
        *busy_until = end;
    }
}

fn count(decoded: &mut Decoded, heard: Heard, bytes: u32) {
    let (packets, sum) = &mut decoded[heard as usize];
    *packets += 1;
    *sum += u64::from(bytes);
}

impl Meter for Priced<'_> {
    const ON: bool = true;

    fn on_signal(&mut self, _: usize, _: f64, _: Time, _: Time) -> bool {
        false
    }

    #[inline(always)]
    fn prices_packets(&self) -> bool {
        true
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
        self.times.add(station, now.nanos(), end.nanos());
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

    fn has_slept(&self, station: usize, (begin, end): (Time, Time)) -> bool {
        let (from, until) = self.frames[station].slept;
        from < end.nanos() && until > begin.nanos()
    }

    #[inline]
    fn is_cut(&self, transmission: TransmissionId) -> bool {
        self.cut.contains(&transmission)
    }

    #[inline]
    fn on_end(&mut self, transmission: TransmissionId) {
        if !self.cut.is_empty() {
            self.cut.retain(|it| *it != transmission);
            self.refresh();
        }
    }

    fn timer(&self, station: usize) -> u32 {
        self.timers[station]
    }
}
