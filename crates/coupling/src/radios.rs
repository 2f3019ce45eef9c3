//! The radios of kernels with Linux's Wi-Fi: frames of 802.11 between `mac80211_hwsim` and the MACs of the nodes.
//!
//! Linux chooses the rates of a frame and how often each is tried; the MAC of the node contends, sends and repeats; and
//! Linux learns how often the frame was tried in each rate, and whether it was acknowledged. Only these reports tell
//! Linux that its frames wait.
//!
//! All kernels have the same clock, so that their beacons leave at the same microsecond. In an ad hoc network
//! each beacon therefore waits for a random time, and is left out if another beacon of the network arrives first
//! (IEEE Std 802.11-2016 §11.1.3.5). In a mesh a beacon waits, and is never left out: each station expects the beacons
//! of all its neighbours. `mac80211_hwsim` does neither. Other group frames of idle radios wait too, as with
//! devices of Ethernet ([`TICK`]).

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_kernels::Port;
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::context::{Effort, Token};
use hopyard_model::mac::{self, edca};
use hopyard_model::packet::{AmpduStatus, Mpdu, Received, Series, Stage};
use hopyard_model::phy::Mode;
use hopyard_model::phy::mode::{Format, Guard};
use hopyard_model::world::Spec;
use hopyard_scenario::sections::{Linux, Wifi};
use hopyard_wire::HardwareAddress;
use hopyard_wire::hwsim::{self, Outgoing, STAGES, ToKernel, flags, rate_flags};

use crate::stations::TICK;

/// The rates of hwsim's list for the 2.4 GHz band, in 100 kb/s: those of 802.11b, and then those of OFDM.
const RATES: [u64; 12] = [10, 20, 55, 110, 60, 90, 120, 180, 240, 360, 480, 540];
/// How many of them are of 802.11b.
const OF_DSSS: usize = 4;

/// The flags of a rate that say that the frame is announced.
const ANNOUNCEMENTS: u16 = rate_flags::RTS | rate_flags::CTS_TO_SELF;
/// A stage behind the end of a series.
const NO_STAGE: hwsim::Stage = hwsim::Stage { rate: -1, tries: 0, flags: 0 };

/// Where a frame has the addresses of its receiver and transmitter, and the identifier of its network, if it has one.
const RECEIVER: usize = 4;
const TRANSMITTER: usize = 10;
const NETWORK: usize = 16;
/// The first byte of beacons, and the bits of the first byte that say that a data frame has QoS.
const BEACON: u8 = 0x80;
const QOS_DATA: u8 = 0x88;
const KIND: u8 = 0x0c;
const DATA: u8 = 0x08;
/// The first byte of requests for a block acknowledgement, and where they have the priority of their frames, in the
/// upper half.
const REQUEST: u8 = 0x84;
const REQUEST_PRIORITY: usize = 17;
/// The user priorities of management frames, and of data without QoS.
const MANAGEMENT: u8 = 7;
const BEST_EFFORT: u8 = 0;
/// The categories, among which frames of a station wait.
const CATEGORIES: usize = 4;
/// The power that Linux is told of an acknowledgement whose sender it has not heard before, in dBm.
const UNHEARD: i32 = -100;

/// The Wi-Fi of all nodes of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wireless {
    /// The kind of network.
    pub kind: Wifi,
    /// The frequency of the channel, in MHz.
    pub frequency: u32,
    /// The beacon interval, in units of 1024 us.
    pub beacon: u32,
    /// The rate of broadcasts, in 100 kb/s.
    pub group_rate: u32,
    /// The basic rates, a byte each, in 500 kb/s.
    pub basic: u64,
    /// The unit and the longest value of the delay of a beacon.
    slot: Span,
    delays: u64,
    /// Modes, in the order of hwsim's list of rates.
    modes: [u16; RATES.len()],
    /// The modes of HT; none without 802.11n.
    ht: Vec<HtMode>,
}

/// A mode of HT on 20 MHz.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct HtMode {
    mcs: i8,
    has_short_guard: bool,
    row: u16,
}

impl HtMode {
    fn of(mode: &Mode) -> Option<Self> {
        let Format::Ht { mcs } = mode.format else { return None };
        Some(Self { mcs: mcs.cast_signed(), has_short_guard: mode.guard == Guard::Short, row: mode.row })
    }

    /// Whether it is the rate of a stage.
    const fn is(self, rate: &hwsim::Stage) -> bool {
        let (flags, guard) =
            (rate.flags & !ANNOUNCEMENTS, if self.has_short_guard { rate_flags::SHORT_GUARD } else { 0 });
        self.mcs == rate.rate && flags == rate_flags::HT | guard
    }
}

impl Wireless {
    /// The Wi-Fi of a scenario, if its nodes have one. The scenario was checked: the MAC is EDCA in 802.11g or n.
    pub fn of(linux: &Linux, spec: &Spec) -> Option<Self> {
        let channel = &spec.channels[0];
        let mac::Config::Edca(params) = &channel.mac else { return None };
        if linux.wifi == Wifi::Off {
            return None;
        }
        let params: &edca::Params = params;
        let all = channel.mac.modes(&channel.rates).ok()?;
        let mode = |number: usize| {
            let is_dsss = |mode: &Mode| matches!(mode.format, Format::Dsss(_));
            let is_it = |mode: &&&Mode| {
                mode.rate().bps() == RATES[number] * 100_000 && mode.is_legacy() && is_dsss(mode) == (number < OF_DSSS)
            };
            all.iter().find(is_it).map(|mode| mode.row)
        };
        let mut modes = [0; RATES.len()];
        for (number, row) in modes.iter_mut().enumerate() {
            *row = mode(number)?;
        }
        let basic = [params.dcf.basic_rate].into_iter().chain(params.dcf.basic_rates.iter().copied());
        let in_halves = |rate: hopyard_engine::units::Rate| rate.bps() / 500_000;
        Some(Self {
            kind: linux.wifi,
            frequency: linux.frequency(),
            beacon: linux.beacon_interval,
            group_rate: (params.dcf.basic_rate.bps() / 100_000) as u32,
            // A byte has room for each rate of the band, and eight of them are enough: there are at most that many.
            basic: basic.take(8).fold(0, |all, rate| all << 8 | in_halves(rate)),
            slot: params.dcf.slot,
            delays: 2 * u64::from(params.dcf.cw_min) + 1,
            modes,
            ht: all.iter().filter_map(|mode| HtMode::of(mode)).collect(),
        })
    }

    /// The most streams of modes of HT, zero without such modes, and whether some have the short guard interval.
    pub fn ht(&self) -> (u32, bool) {
        let streams = self.ht.iter().map(|it| it.mcs.unsigned_abs() / 8 + 1).max().unwrap_or(0);
        (streams.into(), self.ht.iter().any(|it| it.has_short_guard))
    }

    /// The modes of a series of rates; nothing if one of them is none of this channel.
    fn series(&self, rates: &[hwsim::Stage; STAGES]) -> Option<Series> {
        let mut series = Series::default();
        for (stage, rate) in series.0.iter_mut().zip(rates).take_while(|(_, rate)| rate.rate >= 0) {
            let mode = match rate.flags & (rate_flags::HT | rate_flags::VHT) {
                0 => *self.modes.get(usize::try_from(rate.rate).ok()?)?,
                _ => self.ht.iter().find(|it| it.is(rate))?.row,
            };
            *stage = Stage { mode, tries: rate.tries, announced: rate.flags & ANNOUNCEMENTS != 0 };
        }
        (series.tries() > 0).then_some(series)
    }

    /// The stage of a series as Linux names its rate.
    fn stage(&self, stage: Stage, tries: u8) -> hwsim::Stage {
        let announced = if stage.announced { rate_flags::RTS } else { 0 };
        let (rate, flags) = match self.ht.iter().find(|it| it.row == stage.mode) {
            Some(it) if it.has_short_guard => (it.mcs, rate_flags::HT | rate_flags::SHORT_GUARD),
            Some(it) => (it.mcs, rate_flags::HT),
            None => (self.rate(stage.mode) as i8, 0),
        };
        if tries == 0 { NO_STAGE } else { hwsim::Stage { rate, tries, flags: flags | announced } }
    }

    /// The place of a mode in hwsim's list, which has none of HT: the last one stands for all of these.
    fn rate(&self, mode: u16) -> u32 {
        let last = RATES.len() - 1;
        let place = self.modes.iter().position(|it| *it == mode);
        place.unwrap_or(if self.ht.is_empty() { 0 } else { last }) as u32
    }
}

/// A message for the radio driver of a kernel, and its port.
pub type Message = (Port, Vec<u8>);

/// A frame that waits for its fate, and what its kernel has to be told of it.
#[derive(Clone, Debug)]
pub struct PendingFrame {
    /// The number of the kernel.
    pub kernel: usize,
    /// The category in which the frame contends.
    pub category: usize,
    /// The receiver, or all.
    pub receiver: InterfaceId,
    outgoing: Outgoing,
    series: Series,
    /// When it left Linux.
    at: Time,
}

/// The radio of a kernel.
#[derive(Debug)]
struct Radio {
    /// Its number in the kernel, once it is known.
    number: Option<HardwareAddress>,
    /// How many of its frames the node has, by category.
    count: [usize; CATEGORIES],
    /// Those that wait for room, by category.
    held: [VecDeque<PendingFrame>; CATEGORIES],
    /// A beacon that waits for its random delay.
    beacon: Option<(Time, PendingFrame)>,
    /// The power of the last frame of each neighbour, in dBm.
    heard: BTreeMap<InterfaceId, i32>,
    delays: Rng,
    /// When the last frame goes to the node's MAC.
    last: Time,
}

/// The radios of all kernels.
#[derive(Debug)]
pub struct Radios {
    wireless: Wireless,
    /// How many frames of a category the queue of an interface takes. Further frames wait here, so that the queue loses
    /// none.
    room: usize,
    all: Vec<Radio>,
    sent: BTreeMap<Token, PendingFrame>,
    /// Messages for kernels that are due without an event of the network, by time.
    due: BTreeMap<(Time, u64), (usize, Vec<u8>)>,
    count: u64,
    /// The end of the run.
    end: Time,
}

/// What becomes of a frame that a kernel sends.
#[derive(Debug)]
pub enum Fate {
    /// It goes to the MAC.
    Sends(PendingFrame),
    /// It waits here.
    Waits,
    /// It cannot be sent, for this reason.
    Refused(&'static str),
}

impl Radios {
    /// The radios of kernels of these nodes, in order.
    pub fn new(wireless: Wireless, room: usize, nodes: &[NodeId], spec: &Spec) -> Self {
        let streams = Streams::new(spec.seed, spec.run);
        let radio = |node: &NodeId| Radio {
            number: None,
            count: [0; CATEGORIES],
            held: Default::default(),
            beacon: None,
            heard: BTreeMap::new(),
            delays: streams.stream(&format!("node/{node}/beacon")),
            last: Time::ZERO,
        };
        let all = nodes.iter().map(radio).collect();
        let end = Time::ZERO + spec.duration;
        Self { wireless, room, all, sent: BTreeMap::new(), due: BTreeMap::new(), count: 0, end }
    }

    /// A kernel has a radio with this number.
    pub fn name(&mut self, kernel: usize, number: HardwareAddress) {
        self.all[kernel].number = Some(number);
    }

    /// When a beacon, or a message for a kernel, is due.
    pub fn next(&self) -> Option<Time> {
        let beacons = self.all.iter().filter_map(|it| Some(it.beacon.as_ref()?.0));
        beacons.chain(self.due.keys().map(|(at, _)| *at)).min()
    }

    /// A kernel sends a frame at a time.
    pub fn send(&mut self, (kernel, node): (usize, NodeId), at: Time, outgoing: Outgoing) -> Fate {
        self.name(kernel, outgoing.radio);
        let frame = &outgoing.frame;
        let address = |from: usize| frame.get(from..).and_then(|it| it.first_chunk::<6>()).copied();
        let station = |it: [u8; 6]| InterfaceId::of_station(HardwareAddress(it));
        let receiver = address(RECEIVER).map(|to| match to[0] & 1 {
            1 => Some(InterfaceId::BROADCAST),
            _ => station(to),
        });
        let is_own = address(TRANSMITTER).and_then(station) == Some(node.into());
        let series = self.wireless.series(&outgoing.series);
        let found = match (receiver, series) {
            (None, _) => Err("broken_frame"),
            _ if !is_own => Err("foreign_source"),
            _ if outgoing.frequency != self.wireless.frequency => Err("other_channel"),
            (_, None) => Err("no_mode"),
            (Some(None), _) => Err("no_station"),
            (Some(Some(receiver)), Some(series)) => Ok((receiver, series)),
        };
        let (receiver, series) = match found {
            Ok(found) => found,
            Err(why) => {
                // As if it had been sent to nobody. A frame whose modes cannot be has no tries.
                let series = series.unwrap_or_default();
                let sent = PendingFrame { kernel, category: 0, receiver: InterfaceId::BROADCAST, outgoing, series, at };
                self.tell_later(at, &sent, series.tries(), false);
                return Fate::Refused(why);
            }
        };
        let category = edca::Category::of_priority(priority(frame)) as usize;
        let is_beacon = frame.first() == Some(&BEACON);
        let sent = PendingFrame { kernel, category, receiver, outgoing, series, at };
        if !is_beacon {
            return self.hold_or_send(sent);
        }
        self.cancel(kernel, at);
        let slots = self.all[kernel].delays.below(self.wireless.delays);
        self.all[kernel].beacon = Some((at + self.wireless.slot * slots, sent));
        Fate::Waits
    }

    fn hold_or_send(&mut self, sent: PendingFrame) -> Fate {
        let radio = &mut self.all[sent.kernel];
        if radio.count[sent.category] >= self.room {
            radio.held[sent.category].push_back(sent);
            return Fate::Waits;
        }
        radio.count[sent.category] += 1;
        Fate::Sends(sent)
    }

    /// The beacon of a kernel that waits is not sent.
    fn cancel(&mut self, kernel: usize, now: Time) {
        if let Some((_, sent)) = self.all[kernel].beacon.take() {
            self.tell_later(now, &sent, 0, false);
        }
    }

    /// The frame for the MAC.
    pub fn mpdu(sent: &PendingFrame) -> Mpdu {
        let bytes = sent.outgoing.frame.clone();
        let priority = priority(&bytes);
        Mpdu { bytes, series: sent.series, priority, aggregates: aggregates(sent), stamped: sent.at, received: None }
    }

    /// When a frame goes to the MAC: in the order of sending.
    pub fn begin(&mut self, sent: &PendingFrame, now: Time) -> Time {
        let radio = &mut self.all[sent.kernel];
        let is_alone = radio.count.iter().sum::<usize>() == 1;
        let is_beacon = sent.outgoing.frame.first() == Some(&BEACON);
        let waits = is_alone && sent.receiver.is_broadcast() && !is_beacon;
        let delay = if waits { radio.delays.below(TICK.nanos()) } else { 0 };
        radio.last = (now + Span::from_nanos(delay)).max(radio.last).min(self.end);
        radio.last
    }

    /// The MAC has taken a frame, which has this number.
    pub fn began(&mut self, token: Token, sent: PendingFrame) {
        self.sent.insert(token, sent);
    }

    /// The MAC has not taken a frame, because there is no such station on its channel.
    pub fn unknown(&mut self, now: Time, sent: &PendingFrame) {
        self.all[sent.kernel].count[sent.category] -= 1;
        self.tell_later(now, sent, sent.series.tries(), false);
    }

    /// The MAC has sent a frame, or has given it up, after this effort. Returns the message for its kernel, and the
    /// frame that has room now.
    pub fn completed(
        &mut self,
        token: Token,
        effort: Effort,
        is_sent: bool,
    ) -> Option<(Message, Option<PendingFrame>)> {
        let sent = self.sent.remove(&token)?;
        let is_acknowledged = is_sent && !sent.receiver.is_broadcast();
        let effort = if aggregates(&sent) { effort } else { alone(&sent, effort.tries, is_acknowledged) };
        let message = self.status(&sent, effort, is_acknowledged);
        let radio = &mut self.all[sent.kernel];
        let next = radio.held[sent.category].pop_front();
        radio.count[sent.category] -= usize::from(next.is_none());
        Some(((port(sent.kernel), message), next))
    }

    /// The beacons that are due, as far as the node has room, and the messages for kernels that are due.
    pub fn due(&mut self, now: Time) -> (Vec<PendingFrame>, Vec<Message>) {
        let mut beacons = Vec::new();
        for kernel in 0..self.all.len() {
            if let Some((_, sent)) = self.all[kernel].beacon.take_if(|(at, _)| *at <= now)
                && let Fate::Sends(sent) = self.hold_or_send(sent)
            {
                beacons.push(sent);
            }
        }
        let later = self.due.split_off(&(now + Span::from_nanos(1), 0));
        let messages = std::mem::replace(&mut self.due, later).into_values();
        (beacons, messages.map(|(kernel, message)| (port(kernel), message)).collect())
    }

    /// A frame has reached the radio of a kernel. Returns the message for the kernel; nothing as long as it has no
    /// station.
    pub fn received(
        &mut self,
        kernel: usize,
        now: Time,
        from: InterfaceId,
        (frame, received): (&[u8], Received),
    ) -> Option<Vec<u8>> {
        let radio = &mut self.all[kernel];
        let signal = received.dbm.round() as i32;
        radio.heard.insert(from, signal);
        let network = |frame: &[u8]| frame.get(NETWORK..).and_then(|it| it.first_chunk::<6>()).copied();
        let is_ours = |(_, sent): &(Time, PendingFrame)| network(&sent.outgoing.frame) == network(frame);
        let number = radio.number?;
        if self.wireless.kind == Wifi::Ibss
            && frame.first() == Some(&BEACON)
            && radio.beacon.as_ref().is_some_and(is_ours)
        {
            self.cancel(kernel, now);
        }
        let (rate, frequency) = (self.wireless.rate(received.mode), self.wireless.frequency);
        let mut bytes = Vec::new();
        ToKernel::Frame { radio: number, frame, rate, signal, frequency }.emit(&mut bytes);
        Some(bytes)
    }

    fn tell_later(&mut self, at: Time, sent: &PendingFrame, tries: u32, is_acknowledged: bool) {
        let message = self.status(sent, alone(sent, tries, is_acknowledged), is_acknowledged);
        self.due.insert((at, self.count), (sent.kernel, message));
        self.count += 1;
    }

    /// The report about a frame, for its kernel. The stages keep their order, and those without a try are not there.
    /// Frames of a session that were on the air together have one report, which one of them gives.
    fn status(&self, sent: &PendingFrame, effort: Effort, is_acknowledged: bool) -> Vec<u8> {
        let of = |series: Series, tries| {
            let mut tries = series.split(tries).into_iter();
            series.0.map(|stage| self.wireless.stage(stage, tries.next().unwrap_or(0)))
        };
        let (series, ampdu) = match effort.ampdu {
            // The numbers are at most 64.
            Some(it) => (of(it.series, it.tries), Some((it.sent as u8, it.acknowledged as u8))),
            None => (of(sent.series, effort.tries), None),
        };
        let signal = self.all[sent.kernel].heard.get(&sent.receiver).copied().unwrap_or(UNHEARD);
        let Outgoing { radio, flags, cookie, .. } = sent.outgoing;
        let flags = flags | if is_acknowledged { flags::ACKNOWLEDGED } else { 0 };
        let mut bytes = Vec::new();
        ToKernel::Status { radio, flags, signal, series, ampdu, cookie }.emit(&mut bytes);
        bytes
    }
}

/// Whether a frame may be on the air with others. A probe is not to cost the frames behind it.
const fn aggregates(sent: &PendingFrame) -> bool {
    sent.outgoing.flags & (flags::AMPDU | flags::PROBE) == flags::AMPDU
}

/// The effort for a frame that no other was on the air with.
fn alone(sent: &PendingFrame, tries: u32, is_acknowledged: bool) -> Effort {
    let of_session = sent.outgoing.flags & flags::AMPDU != 0;
    let (series, acknowledged) = (sent.series, u32::from(is_acknowledged));
    Effort { tries, ampdu: of_session.then_some(AmpduStatus { series, tries, sent: 1, acknowledged }) }
}

/// A kernel has one radio.
const fn port(kernel: usize) -> Port {
    Port { kernel, device: 0 }
}

/// The user priority of a frame.
fn priority(frame: &[u8]) -> u8 {
    let Some(&kind) = frame.first() else { return BEST_EFFORT };
    if kind == REQUEST {
        // Requests go in the category of their frames (IEEE Std 802.11-2016 §10.2.4.2).
        return frame.get(REQUEST_PRIORITY).map_or(BEST_EFFORT, |it| it >> 4 & 7);
    }
    if kind & KIND != DATA {
        return MANAGEMENT;
    }
    if kind & QOS_DATA != QOS_DATA {
        return BEST_EFFORT;
    }
    // With four addresses, the field is behind the fourth.
    let at = if frame.get(1).is_some_and(|it| it & 3 == 3) { 30 } else { 24 };
    frame.get(at).map_or(BEST_EFFORT, |it| it & 7)
}

#[cfg(test)]
#[path = "radios_tests.rs"]
mod tests;
