//! Parameters of the DCF, and the times that follow from them.

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{self, Fault};
use crate::phy::mode::{MODES, Mode, Preamble};

/// Parameters of the DCF.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of unicast data frames: 1, 2, 5.5 or 11 Mbps.
    pub rate: Rate,
    /// Rate of RTS, CTS, ACK and broadcast frames: 1, 2, 5.5 or 11 Mbps.
    pub basic_rate: Rate,
    /// Preamble of every frame: "long" or "short".
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
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == params::NS2;
        Self {
            rate: Rate::from_bps(2_000_000),
            basic_rate: Rate::from_bps(1_000_000),
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
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let data = Mode::of("rate", self.rate, None)?;
        let basic = Mode::of("basic_rate", self.basic_rate, None)?;
        // §9.6: answers go at a basic rate that is at most the rate of the frame that they answer.
        if data.answer(&[basic]).is_none() {
            return Err(Fault::new(
                "basic_rate",
                format!("expected at most `rate`, {}, found {}", self.rate, self.basic_rate),
            ));
        }
        if Mode::of("preamble", self.basic_rate, Some(self.preamble)).is_err() {
            return Err(Fault::new("preamble", "a short preamble needs a basic rate of at least 2 Mbps"));
        }
        if self.slot.is_zero() {
            return Err(Fault::new("slot", "expected a time above zero"));
        }
        if self.cw_min == 0 || self.cw_min > self.cw_max || self.cw_max > 32_767 {
            return Err(Fault::new(
                "cw_min",
                format!("expected 1 <= cw_min <= cw_max <= 32767, found {} and {}", self.cw_min, self.cw_max),
            ));
        }
        if self.short_retry_limit == 0 || self.long_retry_limit == 0 {
            return Err(Fault::new("short_retry_limit", "a frame must be sent at least once"));
        }
        // 576 bytes is what every host must take (RFC 791 §3.1).
        if (1..576 + LLC_SNAP).contains(&self.max_msdu.count()) {
            let least = 576 + LLC_SNAP;
            return Err(Fault::new("max_msdu", format!("expected 0 B or at least {least} B, found {}", self.max_msdu)));
        }
        if self.header.count() > 1000 {
            return Err(Fault::new("header", format!("expected at most 1000 B, found {}", self.header)));
        }
        Ok(())
    }
}

impl Params {
    /// The modes of data frames, and of all others.
    pub(super) fn modes(&self) -> Result<[&'static Mode; 2], Fault> {
        let mode = |parameter, rate| Mode::of(parameter, rate, Some(self.preamble));
        Ok([mode("rate", self.rate)?, mode("basic_rate", self.basic_rate)?])
    }

    /// The largest packet that a frame carries, if there is a limit.
    pub(super) fn largest_packet(&self) -> Option<u32> {
        (self.max_msdu.count() > 0).then(|| u32::try_from(self.max_msdu.count() - LLC_SNAP).unwrap_or(u32::MAX))
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

/// Bytes of the header by which a receiver tells a packet's protocol (IEEE 802.2, RFC 1042).
const LLC_SNAP: u64 = 8;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a CTS frame.
pub const CTS_BYTES: u32 = 14;
/// Bytes of an ACK frame.
pub const ACK_BYTES: u32 = 14;

/// The state that all stations of a run share: the parameters, and the times that follow from them.
#[derive(Clone, Debug)]
pub struct Timing {
    pub(super) params: Params,
    pub(super) data: &'static Mode,
    pub(super) basic: &'static Mode,
    /// DCF interframe space: SIFS and two slots.
    pub difs: Span,
    /// Extended interframe space: SIFS, DIFS and an ACK at 1 Mb/s (§9.2.10).
    pub eifs: Span,
    pub(super) rts: Span,
    pub(super) cts: Span,
    pub(super) ack: Span,
}

impl Timing {
    /// The times that follow from `params`.
    ///
    /// # Panics
    /// When the parameters are impossible.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let [data, basic] = params.modes().expect("the parameters are possible");
        let difs = params.sifs + params.slot * 2;
        let eifs = params.sifs + difs + basic.preamble + MODES[0].body(ACK_BYTES);
        Self {
            data,
            basic,
            difs,
            eifs,
            rts: basic.airtime(RTS_BYTES),
            cts: basic.airtime(CTS_BYTES),
            ack: basic.airtime(ACK_BYTES),
            params: params.clone(),
        }
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }
}
