//! Parameters of the DCF, and the times that follow from them.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Frequency, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::amendment::{Amendment, Constants};
use crate::mac::rate_control::{self, Candidates, Choice, Rates};
use crate::params::{self, Fault, Unused};
use crate::phy::mode::{Band, Carrier, DSSS_BANDWIDTH, Format, Guard, MODES, Mode, Name, Preamble, in_words};

/// How an exchange in a newer format is announced to stations that know only an older one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// It is not announced: all stations know the format.
    Off,
    /// By a CTS to the station itself.
    CtsToSelf,
    /// By an RTS, whatever the size of the frame. Broadcasts are not announced.
    Rts,
}

/// Parameters of the DCF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The amendment of 802.11: "b", "g", "a", "n" or "ac". The defaults of `band`, `bandwidth`, rates, `slot`, `sifs`
    /// and `cw_min` follow from it.
    pub standard: Amendment,
    /// The band: "2.4 GHz" or "5 GHz". In the 2.4 GHz band a frame of OFDM or HT has a signal extension of 6 us. The
    /// defaults of `slot` and `sifs` follow from it.
    pub band: Band,
    /// The bandwidth: 22 MHz in "b", 20 MHz in all others; 10 and 5 MHz in "a"; 40 MHz in "n"; 40 and 80 MHz in "ac".
    /// The defaults of `slot`, `sifs` and rates follow from it.
    pub bandwidth: Frequency,
    /// The guard interval of HT and VHT: "long" (0.8 us) or "short" (0.4 us). Rate control chooses between both if it
    /// is "short".
    pub guard_interval: Guard,
    /// Mode of unicast data frames: a rate of DSSS or OFDM, an index of HT such as "mcs7", or an index and the streams
    /// of VHT such as "vht-mcs9-2ss". Where modes of HT have the rate of a mode of OFDM, that one is "ofdm 54 Mbps". A
    /// `rate_control` other than "fixed" uses the modes of this format with at most as many streams.
    pub rate: Name,
    /// Rate of RTS and broadcast frames: a basic rate.
    pub basic_rate: Rate,
    /// The other basic rates. A CTS or ACK has the fastest basic rate that is not faster than the frame that it answers
    /// (§9.6). HT and VHT count as the rate of OFDM with the same modulation.
    pub basic_rates: Vec<Rate>,
    /// How frames of a newer format are announced to stations that know only an older one: "off", "cts_to_self", or
    /// "rts".
    pub protection: Protection,
    /// Rate of the frames that announce others for protection.
    pub protection_rate: Rate,
    /// Preamble of every frame of DSSS: "long" or "short".
    pub preamble: Preamble,
    /// Unicast frames of at least this size, MAC header included, are announced by an RTS; "0 B" announces every one.
    pub rts_threshold: Bytes,
    /// Slot time.
    pub slot: Span,
    /// Short interframe space.
    pub sifs: Span,
    /// Smallest contention window, in slots.
    pub cw_min: u32,
    /// Largest contention window, in slots.
    pub cw_max: u32,
    /// How often an RTS, or a frame below the RTS threshold, is sent before it is given up.
    pub short_retry_limit: u32,
    /// How often a frame announced by an RTS is sent before it is given up.
    pub long_retry_limit: u32,
    /// Bytes that the MAC adds to a packet: header, LLC/SNAP, frame check sequence.
    pub header: Bytes,
    /// Largest packet with its LLC/SNAP header of 8 bytes that a frame carries (§6.2.1.1.2); "0 B": no limit. Messages
    /// of routing protocols have any size.
    pub max_msdu: Bytes,
    /// Largest propagation delay, each way, for which a station waits when it expects an answer.
    pub max_propagation: Span,
    /// Whether a station may send at once when the medium has been idle for a DIFS (§9.2).
    pub immediate_access: bool,
    /// Whether the back-off is drawn from 0 to CW; otherwise from 0 to CW-1.
    pub draw_includes_cw: bool,
    /// Whether a frame received in error makes the next interframe space an EIFS (§9.2.3.4); otherwise it sets the NAV
    /// for an EIFS.
    pub eifs_replaces_difs: bool,
    /// Whether the NAV set by an RTS is reset when no frame follows it (§9.2.5.4).
    pub nav_reset: bool,
    /// Whether a back-off follows a packet that was given up.
    pub backoff_after_giving_up: bool,
    /// Whether each packet has its own count of failures (§9.2.5.3). Otherwise, when a packet is given up after failed
    /// RTS, the count of failed data frames is kept for the next packet.
    pub failures_per_packet: bool,
    /// Whether a station senses the medium once more at the moment it sends. If so, and the medium is busy, no CTS is
    /// sent. A back-off that has just ended, or that data after a CTS would follow, starts again with a wider window.
    /// If not, a frame that begins in the same instant is not sensed in time (§9.2). Then data always follow their CTS
    /// (§9.2), and a CTS depends on the NAV alone (§9.2.5.7).
    pub final_carrier_check: bool,
    /// Whether a station that waits for an answer also waits for the end of a frame that has begun when the wait is
    /// over. Such a station treats any other frame sent to it as a failure at once (§9.2.8). Otherwise it waits for as
    /// long as the answer would take, and other frames change nothing.
    pub hears_out: bool,
    /// Whether frames of stations outside come with modes of their own, which may be any of DSSS and OFDM. No scenario
    /// sets it: it follows from the nodes.
    #[serde(skip)]
    pub carries_stations: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == params::NS2;
        Self {
            standard: Amendment::B,
            band: Band::Low,
            bandwidth: DSSS_BANDWIDTH,
            guard_interval: Guard::Long,
            rate: Amendment::B.first_mode(),
            basic_rate: Rate::from_bps(1_000_000),
            basic_rates: Vec::new(),
            protection: Protection::Off,
            protection_rate: Rate::from_bps(1_000_000),
            preamble: Preamble::Long,
            rts_threshold: Bytes::new(if ns2 { 0 } else { 2347 }),
            slot: Span::from_micros(20),
            sifs: Span::from_micros(10),
            cw_min: 31,
            cw_max: 1023,
            short_retry_limit: 7,
            long_retry_limit: 4,
            header: Bytes::new(if ns2 { 34 } else { 36 }),
            max_msdu: Bytes::new(if ns2 { 0 } else { 2304 }),
            max_propagation: Span::from_micros(if ns2 { 2 } else { 1 }),
            immediate_access: !ns2,
            draw_includes_cw: !ns2,
            eifs_replaces_difs: !ns2,
            nav_reset: !ns2,
            backoff_after_giving_up: !ns2,
            failures_per_packet: !ns2,
            final_carrier_check: ns2,
            hears_out: !ns2,
            carries_stations: false,
        }
    }

    const LEADING: &'static [&'static str] = &["standard", "band", "bandwidth"];

    fn follow(&mut self, key: &str) {
        if key == "standard" {
            self.band = self.standard.bands()[0];
            self.bandwidth = self.standard.bandwidths()[0];
            self.rate = self.standard.first_mode();
        }
        if self.standard == Amendment::B {
            return;
        }
        let Constants { slot, sifs, cw_min } = self.standard.constants(self.band, self.bandwidth);
        (self.slot, self.sifs, self.cw_min) = (slot, sifs, cw_min);
        // 6, 12 and 24 Mb/s, or what they are with a slower clock (IEEE Std 802.11-2016 §17.2.3.4).
        let mut rates = self.standard.legacy(self.carrier()).map(Mode::rate).step_by(2).take(3);
        if let Some(slowest) = rates.next() {
            if let (Name::Rate(_), Amendment::A | Amendment::G) = (self.rate, self.standard) {
                self.rate = slowest.into();
            }
            (self.basic_rate, self.basic_rates, self.protection_rate) = (slowest, rates.collect(), slowest);
        }
        if self.standard.has_dsss(self.band) {
            self.protection_rate = Rate::from_bps(1_000_000);
        }
    }

    fn check(&self) -> Result<(), Fault> {
        self.check_channel()?;
        let data = self.data()?;
        let basics = self.basics()?;
        // §9.6: answers go at a basic rate that is at most the rate of the frame that they answer.
        if data.is_answered_in(basics[0]) && data.answer(&basics[..1]).is_none() {
            return Err(Fault::new(
                "basic_rate",
                format!("expected at most `rate`, {}, found {}", self.rate, self.basic_rate),
            ));
        }
        if matches!(basics[0].format, Format::Dsss(_))
            && Mode::of("preamble", self.basic_rate, Some(self.preamble)).is_err()
        {
            return Err(Fault::new("preamble", "a short preamble needs a basic rate of at least 2 Mbps"));
        }
        self.check_protection(data)?;
        if self.slot.is_zero() {
            return Err(Fault::new("slot", "expected a time above zero"));
        }
        for (key, time) in [("slot", self.slot), ("sifs", self.sifs), ("max_propagation", self.max_propagation)] {
            Fault::unless(key, time, |it| it <= LONGEST, format_args!("at most {LONGEST}"))?;
        }
        Fault::unless("cw_max", self.cw_max, |it| it <= 32_767, "at most 32767")?;
        if self.cw_min == 0 || self.cw_min > self.cw_max {
            return Err(Fault::new(
                "cw_min",
                format!("expected 1 <= cw_min <= cw_max <= 32767, found {} and {}", self.cw_min, self.cw_max),
            ));
        }
        for (key, limit) in [("short_retry_limit", self.short_retry_limit), ("long_retry_limit", self.long_retry_limit)]
        {
            if limit == 0 {
                return Err(Fault::new(key, "a frame must be sent at least once"));
            }
        }
        // 576 bytes is what every host must take (RFC 791 §3.1).
        if (1..576 + LLC_SNAP).contains(&self.max_msdu.count()) {
            let least = 576 + LLC_SNAP;
            return Err(Fault::new("max_msdu", format!("expected 0 B or at least {least} B, found {}", self.max_msdu)));
        }
        Fault::unless("header", self.header, |it| it.count() <= 1000, "at most 1000 B")?;
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        let is_at = |band| self.standard.has_dsss(band);
        let by = if self.standard.bands().iter().copied().any(is_at) { "band" } else { "standard" };
        params::unused_where([
            (self.protection == Protection::Off, "protection", &["protection_rate"]),
            // Modes of DSSS alone have two preambles.
            (!is_at(self.band), by, &["preamble"]),
        ])
    }
}

impl Params {
    /// The defaults under a profile, and of an amendment.
    #[must_use]
    pub fn of_amendment(profile: &str, standard: Amendment) -> Self {
        let mut params = Self { standard, ..params::Params::of_profile(profile) };
        params::Params::follow(&mut params, "standard");
        params
    }

    const fn carrier(&self) -> Carrier {
        Carrier { band: self.band, bandwidth: self.bandwidth, guard: self.guard_interval }
    }

    /// Checks that the amendment has band, bandwidth and guard interval.
    fn check_channel(&self) -> Result<(), Fault> {
        let Self { standard, band, bandwidth, guard_interval, .. } = self;
        let bandwidths = standard.bandwidths();
        if !bandwidths.contains(bandwidth) {
            let words: Vec<String> = bandwidths.iter().map(Frequency::to_string).collect();
            let expected = format!("expected {} with `standard = {standard}`, found {bandwidth}", words.join(" or "));
            return Err(Fault::new("bandwidth", expected));
        }
        if !standard.bands().contains(band) {
            let expected = if *band == Band::Low { "5 GHz" } else { "2.4 GHz" };
            return Err(Fault::new("band", format!("expected \"{expected}\" with `standard = {standard}`")));
        }
        if *guard_interval == Guard::Short && !standard.has_short_guard() {
            let expected = format!("expected \"long\" with `standard = {standard}`");
            return Err(Fault::new("guard_interval", expected));
        }
        Ok(())
    }

    fn check_protection(&self, data: &Mode) -> Result<(), Fault> {
        let announcing = self.legacy("protection_rate", self.protection_rate)?;
        if self.protection != Protection::Off && !data.format.is_newer_than(announcing.format) {
            let problem = format!(
                "expected \"off\": `rate`, {}, is in no newer format than `protection_rate`, {}",
                self.rate, self.protection_rate
            );
            return Err(Fault::new("protection", problem));
        }
        Ok(())
    }

    /// The mode of DSSS or OFDM with a rate.
    fn legacy(&self, parameter: &'static str, rate: Rate) -> Result<&'static Mode, Fault> {
        let (standard, band) = (self.standard, self.band);
        if standard.has_dsss(band) {
            match Mode::of(parameter, rate, None) {
                // A frame at 1 Mb/s has the long preamble.
                Ok(long) => return Ok(Mode::of(parameter, rate, Some(self.preamble)).unwrap_or(long)),
                Err(fault) if standard == Amendment::B => return Err(fault),
                Err(_) => {}
            }
        }
        standard.legacy(self.carrier()).find(|mode| mode.rate() == rate).ok_or_else(|| {
            let dsss = Mode::dsss().filter(|_| standard.has_dsss(band));
            let choices = in_words(dsss.chain(standard.legacy(self.carrier())));
            Fault::new(parameter, format!("expected {choices}, found {rate}"))
        })
    }

    /// The mode of data frames.
    fn data(&self) -> Result<&'static Mode, Fault> {
        let newer = || self.standard.newer(self.carrier());
        if let Name::Ofdm(rate) = self.rate {
            let mut legacy = self.standard.legacy(self.carrier());
            return legacy.find(|mode| mode.rate() == rate).ok_or_else(|| self.no_such("rate"));
        }
        if let Name::Rate(rate) = self.rate {
            // Several modes of HT and VHT have the same rate, and some the rate of a mode of OFDM.
            let tenths = |rate: Rate| (rate.bps() + 50_000) / 100_000;
            let same: Vec<&Mode> = newer().filter(|mode| tenths(mode.rate()) == tenths(rate)).collect();
            let legacy = self.legacy("rate", rate);
            if same.is_empty() {
                return if newer().next().is_none() { legacy } else { legacy.map_err(|_| self.no_such("rate")) };
            }
            let ofdm = if legacy.is_ok() {
                format!(", or \"{}\", as has a mode of OFDM", Name::Ofdm(rate))
            } else {
                String::new()
            };
            let expected = format!("expected {}, which have the rate {rate}{ofdm}", in_words(same.into_iter()));
            return Err(Fault::new("rate", expected));
        }
        newer().find(|mode| mode.name() == self.rate).ok_or_else(|| self.no_such("rate"))
    }

    /// There is no mode of the name on the channel.
    fn no_such(&self, parameter: &'static str) -> Fault {
        let Self { rate, bandwidth, standard, .. } = self;
        let mut problem = format!("expected {}, found {rate}", self.standard.choices(self.carrier()));
        if matches!(rate, Name::Vht { .. }) && *standard == Amendment::Ac {
            let beside = |mode: &&Mode| matches!(mode.name(), Name::Vht { .. });
            let of_streams = |mode: &&Mode| match (mode.name(), rate) {
                (Name::Vht { streams, .. }, Name::Vht { streams: asked, .. }) => streams == *asked,
                _ => false,
            };
            let mut rows = standard.newer(self.carrier()).filter(beside).filter(of_streams).peekable();
            if rows.peek().is_some() {
                problem = format!("expected, at {bandwidth}, {}; found {rate}", in_words(rows));
            }
        }
        Fault::new(parameter, problem)
    }

    /// The modes of the basic rates; that of `basic_rate` comes first.
    fn basics(&self) -> Result<Vec<&'static Mode>, Fault> {
        let mut modes = vec![self.legacy("basic_rate", self.basic_rate)?];
        for &rate in &self.basic_rates {
            modes.push(self.legacy("basic_rates", rate)?);
        }
        Ok(modes)
    }

    /// The mode of the shortest answer to frames with packets under a rate control; nothing of impossible parameters.
    pub(in crate::mac) fn shortest_answer(&self, rates: &rate_control::Config) -> Option<&'static Mode> {
        if rates.is_fixed() {
            return Some(self.modes().ok()?.answer);
        }
        let basics = self.basics().ok()?;
        let answers = self.candidates().ok()?.modes.into_iter().map(|mode| self.answer(mode, &basics));
        answers.min_by_key(|mode| mode.airtime(ACK_BYTES))
    }

    /// The modes of frames by their purpose.
    pub(in crate::mac) fn modes(&self) -> Result<Modes, Fault> {
        let (data, basics) = (self.data()?, self.basics()?);
        let announcing = match self.protection {
            Protection::Off => basics[0],
            Protection::CtsToSelf | Protection::Rts => self.legacy("protection_rate", self.protection_rate)?,
        };
        let slowest = basics.iter().copied().min_by_key(|mode| mode.rate()).expect("there is a basic rate");
        Ok(Modes { data, basic: basics[0], announcing, answer: self.answer(data, &basics), slowest })
    }

    /// The mode of the ACK to a frame.
    fn answer(&self, data: &'static Mode, basics: &[&'static Mode]) -> &'static Mode {
        let mandatory = || {
            // All of DSSS are mandatory.
            if matches!(data.format, Format::Dsss(_)) {
                return Some(data);
            }
            let rates = self.standard.legacy(self.carrier()).step_by(2).take(3);
            rates.filter(|mode| mode.rate() <= data.reference_rate()).last()
        };
        // §9.6: without a basic rate, the fastest mandatory one.
        data.answer(basics).or_else(mandatory).unwrap_or(basics[0])
    }

    /// The modes that rate control may use: those with the format of `rate`, and for OFDM those of DSSS too. Modes of
    /// HT and VHT have at most as many streams as `rate`, any bandwidth up to that of the channel, and the guard
    /// intervals that the channel allows.
    fn candidates(&self) -> Result<Candidates, Fault> {
        let usual = self.data()?;
        let carrier = self.carrier();
        let mut modes: Vec<&Mode> = Vec::new();
        if usual.is_legacy() {
            let dsss = Mode::dsss().filter(|_| self.standard.has_dsss(self.band));
            modes.extend(dsss.filter_map(|mode| self.legacy("rate", mode.rate()).ok()));
            modes.dedup_by_key(|mode| mode.row);
            let ofdm = self.standard.legacy(carrier).filter(|_| matches!(usual.format, Format::Ofdm));
            modes.extend(ofdm);
        } else {
            let guards = [Guard::Long, Guard::Short].into_iter().take(1 + usize::from(carrier.guard == Guard::Short));
            let bandwidths = || self.standard.bandwidths().iter().filter(|it| **it <= carrier.bandwidth);
            let channels =
                guards.flat_map(|guard| bandwidths().map(move |&bandwidth| Carrier { bandwidth, guard, ..carrier }));
            let age = usual.format.age();
            let fits = |mode: &&Mode| mode.format.age() == age && mode.body.streams <= usual.body.streams;
            modes.extend(channels.flat_map(|channel| self.standard.newer(channel)).filter(fits));
        }
        Ok(Candidates { usual, modes, floors: BTreeMap::new() })
    }

    /// The modes of DSSS and OFDM, in which a station outside may send any frame.
    fn modes_of_stations(&self) -> Vec<&'static Mode> {
        let dsss = Mode::dsss().filter_map(|mode| self.legacy("rate", mode.rate()).ok());
        dsss.chain(self.standard.legacy(self.carrier())).collect()
    }

    /// The modes of all frames under a rate control. The first is the mode that `rate` names. The last is the mode of
    /// broadcasts, which may be in the list before.
    pub(super) fn every_mode(&self, rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault> {
        let Modes { data, basic, announcing, answer, slowest: _ } = self.modes()?;
        let mut modes = vec![data];
        if !rates.is_fixed() {
            let basics = self.basics()?;
            let candidates = self.candidates()?.modes;
            let answers = candidates.iter().map(|&mode| self.answer(mode, &basics)).collect::<Vec<_>>();
            modes.extend(candidates.into_iter().chain(answers));
        }
        if self.carries_stations {
            modes.extend(self.modes_of_stations());
        }
        modes.extend([basic, announcing, answer]);
        let mut seen = BTreeSet::new();
        modes.retain(|mode| seen.insert(mode.row));
        if modes.last().is_some_and(|mode| mode.row != basic.row) {
            modes.push(basic);
        }
        Ok(modes)
    }

    /// The largest packet that a frame carries, if there is a limit.
    pub(in crate::mac) fn largest_packet(&self) -> Option<u32> {
        (self.max_msdu.count() > 0).then(|| u32::try_from(self.max_msdu.count() - LLC_SNAP).unwrap_or(u32::MAX))
    }

    /// Checks that the steps in which ns-2 differs are those of the standard, for a MAC that has no others.
    pub(in crate::mac) fn check_habits(&self, standard: &Self) -> Result<(), Fault> {
        let names = [
            "immediate_access",
            "draw_includes_cw",
            "eifs_replaces_difs",
            "nav_reset",
            "backoff_after_giving_up",
            "failures_per_packet",
            "final_carrier_check",
            "hears_out",
        ];
        for (name, (found, usual)) in names.into_iter().zip(self.habits().into_iter().zip(standard.habits())) {
            if found != usual {
                return Err(Fault::new(name, format!("expected {usual}: this MAC has no steps of ns-2")));
            }
        }
        Ok(())
    }

    /// The choices of the parameters among the steps in which ns-2 differs from the standard, in their order above.
    pub(super) const fn habits(&self) -> [bool; 8] {
        [
            self.immediate_access,
            self.draw_includes_cw,
            self.eifs_replaces_difs,
            self.nav_reset,
            self.backoff_after_giving_up,
            self.failures_per_packet,
            self.final_carrier_check,
            self.hears_out,
        ]
    }
}

/// The longest slot, interframe space and propagation delay. Even acoustic radios under water need less.
const LONGEST: Span = Span::from_secs(10);
/// Bytes of the header by which a receiver tells a packet's protocol (IEEE 802.2, RFC 1042).
const LLC_SNAP: u64 = 8;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a CTS frame.
pub const CTS_BYTES: u32 = 14;
/// Bytes of an ACK frame.
pub const ACK_BYTES: u32 = 14;

/// The modes of frames by their purpose.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Modes {
    /// Unicast data.
    pub data: &'static Mode,
    /// Broadcasts.
    pub basic: &'static Mode,
    /// RTS, CTS.
    pub announcing: &'static Mode,
    /// ACK to a frame in the mode of `data`.
    pub answer: &'static Mode,
    /// The slowest basic one.
    pub slowest: &'static Mode,
}

/// The state that all stations of a run share: the parameters, and the times that follow from them.
#[derive(Clone, Debug)]
pub struct Timing {
    pub(in crate::mac) params: Params,
    pub(in crate::mac) modes: Modes,
    /// DCF interframe space: SIFS and two slots.
    pub difs: Span,
    /// Extended interframe space: SIFS, DIFS and an ACK at the slowest basic rate, in "b" at 1 Mb/s (§9.2.10).
    pub eifs: Span,
    pub(in crate::mac) rts: Span,
    pub(in crate::mac) cts: Span,
    /// The ACK to a frame in the mode of `rate`.
    pub(in crate::mac) ack: Answer,
    /// The shortest ACK to a frame of data.
    pub(in crate::mac) shortest_ack: Span,
    /// The ACK to a frame in each mode, by its row: the basic ones, and those among which rate control chooses.
    acks: Vec<Answer>,
    /// What a station knows of its links at first, if rate control chooses among several modes.
    pub(in crate::mac) rates: Option<Rates>,
}

/// An ACK, with its time.
#[derive(Clone, Copy, Debug)]
pub(in crate::mac) struct Answer {
    pub mode: &'static Mode,
    pub airtime: Span,
}

impl Answer {
    const fn of(mode: &'static Mode) -> Self {
        Self { mode, airtime: mode.airtime(ACK_BYTES) }
    }
}

/// The frame that announces a data frame to other stations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mac) enum Announcement {
    None,
    Rts,
    CtsToSelf,
}

impl Timing {
    /// The times that follow from `params`.
    ///
    /// # Panics
    /// When the parameters are impossible.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let modes = params.modes().expect("the parameters are possible");
        let difs = params.sifs + params.slot * 2;
        let slowest_ack = match params.standard {
            Amendment::B => modes.basic.preamble + MODES[0].body(ACK_BYTES),
            _ => modes.slowest.airtime(ACK_BYTES),
        };
        let mut timing = Self {
            modes,
            difs,
            eifs: params.sifs + difs + slowest_ack,
            rts: modes.announcing.airtime(RTS_BYTES),
            cts: modes.announcing.airtime(CTS_BYTES),
            ack: Answer::of(modes.answer),
            shortest_ack: modes.answer.airtime(ACK_BYTES),
            acks: Vec::new(),
            rates: None,
            params: params.clone(),
        };
        timing.answer_with(&params.basics().expect("the parameters are possible"));
        if params.carries_stations {
            timing.answer_with(&params.modes_of_stations());
        }
        timing
    }

    /// Finds the ACK to frames in these modes.
    fn answer_with(&mut self, modes: &[&'static Mode]) {
        let basics = self.params.basics().expect("the parameters are possible");
        let rows = modes.iter().map(|mode| usize::from(mode.row) + 1).max().unwrap_or(0);
        self.acks.resize(rows.max(self.acks.len()), self.ack);
        for &mode in modes {
            self.acks[usize::from(mode.row)] = Answer::of(self.params.answer(mode, &basics));
        }
    }

    /// The same under a rate control.
    ///
    /// # Panics
    /// When the parameters are impossible.
    #[must_use]
    pub fn with_rates(mut self, rates: rate_control::Setup<'_>) -> Self {
        if rates.config.is_fixed() {
            return self;
        }
        let candidates = self.params.candidates().expect("the parameters are possible");
        let candidates = Candidates { floors: rates.floors, ..candidates };
        self.answer_with(&candidates.modes);
        self.shortest_ack = self.acks.iter().map(|ack| ack.airtime).fold(self.shortest_ack, Ord::min);
        self.rates = Some(rates.config.rates(&candidates, rates.draws));
        self
    }

    /// The ACK to a frame with a packet. Without rate control it is always the same one.
    #[cold]
    #[inline(never)]
    pub(super) fn ack_to(&self, mode: &Mode) -> Answer {
        self.answer_to(mode)
    }

    /// The ACK to a frame in a mode.
    pub(in crate::mac) fn answer_to(&self, mode: &Mode) -> Answer {
        self.acks.get(usize::from(mode.row)).copied().unwrap_or(self.ack)
    }

    /// How a frame in a mode is announced.
    #[inline]
    pub(in crate::mac) fn announcement(&self, mode: &Mode, bytes: u32, broadcast: bool) -> Announcement {
        let by_size = !broadcast && u64::from(bytes) >= self.params.rts_threshold.count();
        match self.params.protection {
            _ if by_size => Announcement::Rts,
            Protection::Off => Announcement::None,
            _ if !mode.format.is_newer_than(self.modes.announcing.format) => Announcement::None,
            Protection::CtsToSelf => Announcement::CtsToSelf,
            Protection::Rts if broadcast => Announcement::None,
            Protection::Rts => Announcement::Rts,
        }
    }

    /// How a frame in a mode that rate control has chosen is announced.
    pub(in crate::mac) fn announced_by(&self, choice: &Choice, bytes: u32) -> Announcement {
        if choice.announced { Announcement::Rts } else { self.announcement(choice.mode, bytes, false) }
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }
}
