//! Parameters of EDCA, and the times that follow from them.

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::category::{Category, Priorities};
use crate::mac::dcf::{self, Amendment};
use crate::mac::rate_control;
use crate::packet::Dscp;
use crate::params::{self, Fault, Unused};
use crate::phy::Mode;
use crate::phy::mode::Format;

/// When stations agree on block acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BlockAck {
    /// By an ADDBA request and its response, before the first frame of a category to a neighbour.
    AtFirstFrame,
    /// Without frames, when the run begins.
    FromStart,
}

/// How a category contends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Access {
    /// Slots of the interframe space: AIFS is SIFS and so many slots.
    pub aifsn: u32,
    /// Smallest contention window, in slots. The default follows from `cw_min`.
    pub cw_min: u32,
    /// Largest contention window, in slots. The default follows from `cw_min` and `cw_max`.
    pub cw_max: u32,
    /// How long the station may send once it has access; "0 us": one exchange.
    pub txop_limit: Span,
    /// Whether frames may have several MPDUs.
    pub aggregate: bool,
}

/// Parameters of EDCA, among them all parameters of the DCF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// The parameters of the DCF. Keys that its profile `ns2` changes must have the values of the standard.
    #[serde(flatten)]
    pub dcf: dcf::Params,
    /// The rule that gives a packet its category by its differentiated services code point: "precedence" (the upper
    /// three bits, as in Linux 6.1) or "rfc8325" (RFC 8325, as in Linux 6.12).
    pub priorities: Priorities,
    /// The code point that counts for messages of routing protocols.
    pub routing_dscp: Dscp,
    /// How AC_BK contends.
    pub background: Access,
    /// How AC_BE contends.
    pub best_effort: Access,
    /// How AC_VI contends. The default of `txop_limit` is 6.016 ms in "b", and 3.008 ms in all others.
    pub video: Access,
    /// How AC_VO contends. The default of `txop_limit` is 3.264 ms in "b", and 1.504 ms in all others.
    pub voice: Access,
    /// When stations agree on block acknowledgement: "at_first_frame", by an ADDBA request and its response, or
    /// "from_start", without frames.
    pub block_ack: BlockAck,
    /// The longest frame with several MPDUs; "0 B": each frame has one. The default is "65535 B" in "n", "1048575 B"
    /// in "ac", and "0 B" otherwise.
    pub max_ampdu: Bytes,
    /// The longest time on the air of a frame with several MPDUs.
    pub max_ampdu_time: Span,
    /// The most MPDUs in a frame, up to 64.
    pub max_mpdus: u32,
    /// How often an MPDU is sent in frames with several before it is given up.
    pub mpdu_retry_limit: u32,
    /// The largest A-MSDU, which carries several packets in one MPDU; "0 B": each MPDU carries one.
    pub max_amsdu: Bytes,
    /// How long a receiver waits for a missing MPDU before it passes on the packets of later MPDUs.
    pub reorder_timeout: Span,
}

/// The longest time of a PPDU of HT and VHT (IEEE Std 802.11-2016 Tables 19-25 and 21-29).
pub const LONGEST_PPDU: Span = Span::from_micros(5484);
/// The bits of a block acknowledgement.
pub const WINDOW: u16 = 64;
/// Bytes of a block acknowledgement.
pub const BLOCK_ACK_BYTES: u32 = 32;
/// Bytes of a request for a block acknowledgement.
pub const BLOCK_ACK_REQUEST_BYTES: u32 = 24;
/// Bytes of an ADDBA request or response.
pub const ADDBA_BYTES: u32 = 37;
/// Bytes by which the header of a frame with QoS is longer.
pub const QOS_BYTES: u32 = 2;
/// Bytes before each MPDU of several.
pub const DELIMITER: u32 = 4;
/// Bytes of the header of a packet in an A-MSDU.
pub const SUBFRAME_HEADER: u32 = 14;
/// Bytes of the LLC/SNAP header of a packet.
pub const LLC_SNAP: u32 = 8;

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::LINUX];

    fn of_profile(profile: &str) -> Self {
        let linux = profile == params::LINUX;
        let access = |aifsn, txop: u64| Access {
            aifsn,
            cw_min: 15,
            cw_max: 1023,
            txop_limit: Span::from_micros(txop),
            aggregate: true,
        };
        let mut dcf: dcf::Params = params::Params::of_profile(params::RFC);
        dcf.header = Bytes::new(dcf.header.count() + u64::from(QOS_BYTES));
        // Longer than any frame, so that no frame needs an RTS.
        dcf.rts_threshold = Bytes::new(1_048_576);
        let mut params = Self {
            dcf,
            priorities: Priorities::Precedence,
            routing_dscp: Dscp::CS6,
            background: access(7, 0),
            best_effort: access(3, 0),
            video: access(2, 3008),
            voice: Access { aggregate: false, ..access(2, 1504) },
            block_ack: BlockAck::AtFirstFrame,
            max_ampdu: Bytes::new(0),
            max_ampdu_time: if linux { Span::from_micros(4000) } else { LONGEST_PPDU },
            max_mpdus: if linux { 32 } else { 64 },
            mpdu_retry_limit: if linux { 30 } else { 7 },
            max_amsdu: Bytes::new(0),
            reorder_timeout: Span::from_millis(100),
        };
        params.follow("standard");
        params
    }

    const LEADING: &'static [&'static str] = &["standard", "band", "bandwidth", "cw_min", "cw_max"];

    fn follow(&mut self, key: &str) {
        if !key.starts_with("cw_") {
            if key == "standard" && self.dcf.standard == Amendment::B {
                self.dcf = dcf::Params {
                    header: self.dcf.header,
                    rts_threshold: self.dcf.rts_threshold,
                    ..dcf::Params::of_amendment(params::RFC, Amendment::B)
                };
            }
            self.dcf.follow(key);
        }
        if key == "standard" {
            let dsss = self.dcf.standard == Amendment::B;
            self.video.txop_limit = Span::from_micros(if dsss { 6016 } else { 3008 });
            self.voice.txop_limit = Span::from_micros(if dsss { 3264 } else { 1504 });
            self.max_ampdu = Bytes::new(most_bytes(self.dcf.standard));
        }
        // IEEE Std 802.11-2016 Table 9-137.
        let (least, most) = (self.dcf.cw_min, self.dcf.cw_max);
        (self.background.cw_min, self.background.cw_max) = (least, most);
        (self.best_effort.cw_min, self.best_effort.cw_max) = (least, most);
        (self.video.cw_min, self.video.cw_max) = (least.div_ceil(2).max(2) - 1, least);
        (self.voice.cw_min, self.voice.cw_max) = (least.div_ceil(4).max(2) - 1, least.div_ceil(2).max(2) - 1);
    }

    fn check(&self) -> Result<(), Fault> {
        self.dcf.check()?;
        let least = u64::from(QOS_BYTES + LLC_SNAP);
        Fault::unless("header", self.dcf.header, |it| it.count() >= least, format_args!("at least {least} B"))?;
        let usual: Self = params::Params::of_profile(params::RFC);
        self.dcf.check_habits(&usual.dcf)?;
        for (name, access) in ["background", "best_effort", "video", "voice"].into_iter().zip(self.accesses()) {
            access.check(name)?;
        }
        self.check_aggregation()
    }

    fn unused(&self) -> Vec<Unused> {
        let carries_one = self.dcf.modes().is_ok_and(|modes| most_in(modes.data.format) == 0);
        let is_single = carries_one || self.max_ampdu.count() == 0;
        let by = if carries_one { "rate" } else { "max_ampdu" };
        let cases: [(bool, &'static str, &'static [&'static str]); 3] = [
            (is_single, by, &["max_ampdu_time", "max_mpdus"]),
            (is_single, by, &["background.aggregate", "best_effort.aggregate", "video.aggregate", "voice.aggregate"]),
            (is_single && self.block_ack == BlockAck::AtFirstFrame, by, &["mpdu_retry_limit", "reorder_timeout"]),
        ];
        let mut unused = params::unused_where(cases);
        unused.extend(self.dcf.unused());
        unused
    }
}

/// The longest frame with several MPDUs in an amendment.
const fn most_bytes(standard: Amendment) -> u64 {
    match standard {
        Amendment::B | Amendment::G | Amendment::A => 0,
        Amendment::N => most_in(Format::Ht { mcs: 0 }),
        Amendment::Ac => most_in(Format::Vht { mcs: 0, streams: 1 }),
    }
}

/// The longest frame with several MPDUs in a format.
const fn most_in(format: Format) -> u64 {
    match format {
        Format::Dsss(_) | Format::Ofdm => 0,
        Format::Ht { .. } => 65_535,
        Format::Vht { .. } => 1_048_575,
    }
}

impl Access {
    fn check(&self, name: &'static str) -> Result<(), Fault> {
        let Self { aifsn, cw_min, cw_max, txop_limit, .. } = self;
        Fault::unless(name, aifsn, |it| (2..=15).contains(it), "`aifsn` from 2 to 15")?;
        if *cw_min == 0 || cw_min > cw_max || *cw_max > 32_767 {
            let problem = format!("expected 1 <= cw_min <= cw_max <= 32767, found {cw_min} and {cw_max}");
            return Err(Fault::new(name, problem));
        }
        Fault::unless(name, txop_limit, |it| *it <= Span::from_micros(32 * 0xffff), "`txop_limit` up to 2097.12 ms")?;
        Ok(())
    }
}

impl Params {
    /// How each category contends, the lowest first.
    #[must_use]
    pub const fn accesses(&self) -> [&Access; 4] {
        [&self.background, &self.best_effort, &self.video, &self.voice]
    }

    /// How long after a frame its answer must have begun.
    pub(super) fn answer_begins(&self, answer: &Mode) -> Span {
        let dcf = &self.dcf;
        dcf.sifs + dcf.slot.max(dcf.max_propagation * 2) + answer.preamble
    }

    fn check_aggregation(&self) -> Result<(), Fault> {
        let (standard, ampdu, amsdu) = (self.dcf.standard, self.max_ampdu.count(), self.max_amsdu.count());
        let data = self.dcf.modes()?.data;
        let most = most_in(data.format);
        // The default of the amendment is no mistake where `rate` is one of an older format.
        if ampdu > most && ampdu != most_bytes(standard) {
            let expected = match most {
                0 => "0 B: frames of DSSS and OFDM have one MPDU".to_owned(),
                _ => format!("at most {most} B with `rate = {}`", self.dcf.rate),
            };
            return Err(Fault::new("max_ampdu", format!("expected {expected}, found {}", self.max_ampdu)));
        }
        let mpdu = u64::from(DELIMITER) + self.dcf.header.count();
        let least = mpdu.next_multiple_of(4) + mpdu;
        if (1..least).contains(&ampdu) {
            let problem =
                format!("expected 0 B or at least {least} B, two MPDUs without a packet, found {}", self.max_ampdu);
            return Err(Fault::new("max_ampdu", problem));
        }
        if self.max_ampdu_time.is_zero() || self.max_ampdu_time > LONGEST_PPDU {
            let problem = format!("expected a time above zero, up to {LONGEST_PPDU}, found {}", self.max_ampdu_time);
            return Err(Fault::new("max_ampdu_time", problem));
        }
        if !(1..=u32::from(WINDOW)).contains(&self.max_mpdus) {
            return Err(Fault::new("max_mpdus", format!("expected 1 to {WINDOW}, found {}", self.max_mpdus)));
        }
        if self.mpdu_retry_limit == 0 {
            return Err(Fault::new("mpdu_retry_limit", "an MPDU must be sent at least once"));
        }
        let most = match data.format {
            Format::Dsss(_) | Format::Ofdm => 0,
            Format::Ht { .. } => 7935,
            Format::Vht { .. } => 11_426,
        };
        if amsdu > most {
            let problem = match most {
                0 => format!("expected 0 B: frames of DSSS and OFDM carry one packet, found {}", self.max_amsdu),
                _ => format!("expected at most {most} B, found {}", self.max_amsdu),
            };
            return Err(Fault::new("max_amsdu", problem));
        }
        let least = u64::from(2 * (SUBFRAME_HEADER + LLC_SNAP));
        if (1..least).contains(&amsdu) {
            let problem =
                format!("expected 0 B or at least {least} B, the headers of two packets, found {}", self.max_amsdu);
            return Err(Fault::new("max_amsdu", problem));
        }
        if self.reorder_timeout.is_zero() {
            return Err(Fault::new("reorder_timeout", "expected a time above zero"));
        }
        Ok(())
    }
}

/// The state that all stations of a run share: the parameters, and the times that follow from them.
#[derive(Clone, Debug)]
pub struct Timing {
    pub(super) params: Params,
    /// The times and modes of the DCF.
    pub(super) dcf: dcf::Timing,
    /// The interframe space of each category.
    pub(super) aifs: [Span; 4],
    /// The longest frame with several MPDUs; zero if frames have one.
    pub(super) max_ampdu: u32,
    /// Bytes of a frame with several MPDUs that the airtime of its mode contains already: a delimiter in VHT.
    pub(super) counted: u32,
}

impl Timing {
    /// The times that follow from `params`.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let dcf = dcf::Timing::new(&params.dcf);
        Self {
            aifs: params.accesses().map(|access| params.dcf.sifs + params.dcf.slot * u64::from(access.aifsn)),
            max_ampdu: params.max_ampdu.count().min(most_in(dcf.modes.data.format)) as u32,
            counted: if matches!(dcf.modes.data.format, Format::Vht { .. }) { DELIMITER } else { 0 },
            dcf,
            params: params.clone(),
        }
    }

    /// The same under a rate control.
    #[must_use]
    pub fn with_rates(self, rates: rate_control::Setup<'_>) -> Self {
        Self { dcf: self.dcf.with_rates(rates), ..self }
    }

    /// How a category contends.
    pub(super) const fn access(&self, category: Category) -> &Access {
        self.params.accesses()[category as usize]
    }

    /// The time of a block acknowledgement that answers a frame in a mode.
    pub(super) fn block_ack(&self, mode: &Mode) -> Span {
        self.dcf.answer_to(mode).mode.airtime(BLOCK_ACK_BYTES)
    }

    /// How long after a frame its answer must have begun (IEEE Std 802.11-2016 §10.3.2.9). A station that hears
    /// something by then waits for the end of it.
    pub(super) fn answer_begins(&self, answer: &Mode) -> Span {
        self.params.answer_begins(answer)
    }

    /// The mode of unicast data frames.
    pub(super) const fn data(&self) -> &'static Mode {
        self.dcf.modes.data
    }
}
