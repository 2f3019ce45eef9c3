//! IEEE 802.11 distributed coordination function (DCF) over DSSS and HR-DSSS.
//!
//! Read: IEEE 802.11-1999 §9.2 (procedure), §15 and §18 (DSSS and HR-DSSS timing), Annex C where the text is unclear.
//!
//! Left out: fragmentation, rate adaptation, power save, beacons and association (nodes are in one ad hoc network), and the
//! point coordination function.
//!
//! The `ns2` profile behaves as ns-2.35 does where that differs from the standard: back-off is drawn from 0 to CW-1; a
//! station waits for a back-off even when the medium has long been idle; a frame received in error holds the station back by
//! the NAV; the NAV is not reset when an RTS stays without consequence; no back-off follows a packet that is given up; the
//! data header is 34 bytes.
//!
//! Validated: saturation of one station against arithmetic and ns-2, contention of several against Bianchi's model, ns-2 and
//! ns-3, hidden stations against ns-2 (`docs/validation.md`).
//!
//! Timers are deadlines that the station's one wake-up serves. A back-off is one deadline, not a tick a slot: it is frozen by
//! subtracting the slots that went by, and when it starts behind a NAV it is set for the NAV's end at once.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Counters;
use crate::context::{Action, Context};
use crate::frame::{Frame, FrameKind};
use crate::packet::{NodeId, PacketId};
use crate::params::{self, Fault};

/// The preamble in front of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Preamble {
    /// 144 bits and a 48 bit header at 1 Mb/s: 192 us.
    Long,
    /// 72 bits at 1 Mb/s and a 48 bit header at 2 Mb/s: 96 us (802.11b §18.2.2.2).
    Short,
}

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
    /// Propagation time allowed for, each way, when waiting for an answer.
    pub max_propagation: Span,
    /// Whether a station may send at once when the medium has been idle for a DIFS (§9.2.5.1).
    pub immediate_access: bool,
    /// Whether the back-off is drawn from 0 to CW; otherwise from 0 to CW-1.
    pub draw_includes_cw: bool,
    /// Whether a frame received in error makes the next interframe space an EIFS (§9.2.3.4); otherwise it sets the NAV for an EIFS.
    pub eifs_replaces_difs: bool,
    /// Whether the NAV set by an RTS is reset when no frame follows it (§9.2.5.4).
    pub nav_reset: bool,
    /// Whether a back-off follows a packet that was given up.
    pub backoff_after_giving_up: bool,
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
            max_propagation: Span::from_micros(if ns2 { 2 } else { 1 }),
            immediate_access: !ns2,
            draw_includes_cw: !ns2,
            eifs_replaces_difs: !ns2,
            nav_reset: !ns2,
            backoff_after_giving_up: !ns2,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let rates = [1_000_000, 2_000_000, 5_500_000, 11_000_000].map(Rate::from_bps);
        let known = |parameter, rate: Rate| {
            if rates.contains(&rate) {
                Ok(())
            } else {
                Err(Fault::new(parameter, format!("expected 1, 2, 5.5 or 11 Mbps, found {rate}")))
            }
        };
        known("rate", self.rate)?;
        known("basic_rate", self.basic_rate)?;
        if self.preamble == Preamble::Short && self.basic_rate == rates[0] {
            // 802.11b §18.2.2.2: a frame at 1 Mb/s has the long preamble.
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
        if self.header.count() > 1000 {
            return Err(Fault::new("header", format!("expected at most 1000 B, found {}", self.header)));
        }
        Ok(())
    }
}

/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a CTS frame.
pub const CTS_BYTES: u32 = 14;
/// Bytes of an ACK frame.
pub const ACK_BYTES: u32 = 14;

/// What all stations of a run share: the parameters, and the times that follow from them.
#[derive(Clone, Debug)]
pub struct Timing {
    params: Params,
    preamble: Span,
    /// DCF interframe space: SIFS and two slots.
    pub difs: Span,
    /// Extended interframe space: SIFS, DIFS and an ACK at 1 Mb/s (§9.2.10).
    pub eifs: Span,
    rts: Span,
    cts: Span,
    ack: Span,
}

impl Timing {
    /// The times that follow from `params`.
    #[must_use]
    pub fn new(params: &Params) -> Self {
        let preamble = match params.preamble {
            Preamble::Long => Span::from_micros(192),
            Preamble::Short => Span::from_micros(96),
        };
        let control = |bytes| preamble + params.basic_rate.airtime(bytes);
        let difs = params.sifs + params.slot * 2;
        let eifs = params.sifs + difs + preamble + Rate::from_bps(1_000_000).airtime(ACK_BYTES);
        Self {
            preamble,
            difs,
            eifs,
            rts: control(RTS_BYTES),
            cts: control(CTS_BYTES),
            ack: control(ACK_BYTES),
            params: params.clone(),
        }
    }

    /// The time on the air of a frame with this many bytes from MAC header to frame check sequence.
    #[must_use]
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Span {
        self.preamble + rate.airtime(bytes)
    }

    /// The time that preamble and PLCP header take.
    #[must_use]
    pub const fn preamble(&self) -> Span {
        self.preamble
    }

    /// The parameters.
    #[must_use]
    pub const fn params(&self) -> &Params {
        &self.params
    }
}

/// What the station itself is doing on the air: sending, or waiting for the answer to what it sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    Idle,
    Rts,
    Cts,
    Data,
    Ack,
}

/// The packet that the station holds.
#[derive(Clone, Copy, Debug)]
struct Outgoing {
    packet: PacketId,
    to: NodeId,
    bytes: u32,
    airtime: Span,
    sequence: u16,
    retry: bool,
    /// Whether an RTS must be answered before the data may be sent.
    needs_rts: bool,
    /// Whether the frame is announced by an RTS at all.
    protected: bool,
}

/// The back-off: running, frozen, or none.
#[derive(Clone, Copy, Debug)]
enum Backoff {
    None,
    /// Slots left, to be resumed when the medium is idle.
    Frozen {
        slots: u32,
    },
    /// Slots left when the interframe space `ifs` began at `since`.
    Running {
        slots: u32,
        since: Time,
        ifs: Span,
    },
    /// Waiting for the end of an interframe space, after which the station may send without back-off.
    Access {
        since: Time,
        ifs: Span,
    },
}

/// A station's DCF.
#[derive(Clone, Debug)]
pub struct Dcf {
    node: NodeId,
    backoff: Backoff,
    exchange: Exchange,
    carrier: bool,
    after_error: bool,
    ready_told: bool,
    nav: Time,
    /// Until when a frame must follow the RTS that set the NAV.
    nav_guard: Time,
    idle_since: Time,
    cw: u32,
    /// When the interframe space before a response, or before data after a CTS, ends.
    defer: Time,
    /// When the answer to the frame sent is overdue, or the frame sent needs none and ends.
    timeout: Time,
    response: Option<Frame>,
    outgoing: Option<Outgoing>,
    short_retries: u32,
    long_retries: u32,
    next_sequence: u16,
    /// The last sequence number heard from each neighbour, sorted by neighbour.
    heard: Vec<(NodeId, u16)>,
    rng: Rng,
    /// What the station did.
    pub counters: Counters,
}

impl Dcf {
    /// A station with an idle medium and nothing to send.
    #[must_use]
    pub fn new(node: NodeId, timing: &Timing, rng: Rng) -> Self {
        Self {
            node,
            backoff: Backoff::None,
            exchange: Exchange::Idle,
            carrier: false,
            after_error: false,
            ready_told: true,
            nav: Time::ZERO,
            nav_guard: Time::NEVER,
            idle_since: Time::ZERO,
            cw: timing.params.cw_min,
            defer: Time::NEVER,
            timeout: Time::NEVER,
            response: None,
            outgoing: None,
            short_retries: 0,
            long_retries: 0,
            next_sequence: 0,
            heard: Vec::new(),
            rng,
            counters: Counters::default(),
        }
    }

    /// Whether the station holds no packet and can take one.
    #[must_use]
    pub const fn is_ready(&self) -> bool {
        self.outgoing.is_none() && self.ready_told
    }

    /// The packet that the station holds.
    #[must_use]
    pub fn held(&self) -> Option<PacketId> {
        // A broadcast packet belongs to the medium once it is on the air.
        self.outgoing.filter(|it| !(it.to.is_broadcast() && self.exchange == Exchange::Data)).map(|it| it.packet)
    }

    /// When [`Dcf::on_timer`] must be called.
    #[inline]
    #[must_use]
    pub fn deadline(&self, timing: &Timing) -> Time {
        let backoff = match self.backoff {
            Backoff::Running { slots, since, ifs } => since + ifs + timing.params.slot * u64::from(slots),
            Backoff::Access { since, ifs } => since + ifs,
            Backoff::None | Backoff::Frozen { .. } => Time::NEVER,
        };
        backoff.min(self.defer).min(self.timeout)
    }

    /// Whether medium, NAV and station are idle.
    fn is_idle(&self, now: Time) -> bool {
        !self.carrier && self.exchange == Exchange::Idle && self.nav_end() <= now
    }

    /// When the NAV ends, as far as is known now.
    fn nav_end(&self) -> Time {
        self.nav.min(self.nav_guard)
    }

    /// The packet that comes next; its size is the packet's, without MAC header.
    pub fn accept(&mut self, packet: PacketId, size: u32, to: NodeId, timing: &Timing, now: Time) {
        debug_assert!(self.is_ready(), "a station holds one packet at a time");
        let params = &timing.params;
        let bytes = size + params.header.count() as u32;
        let broadcast = to.is_broadcast();
        let protected = !broadcast && u64::from(bytes) >= params.rts_threshold.count();
        let rate = if broadcast { params.basic_rate } else { params.rate };
        self.outgoing = Some(Outgoing {
            packet,
            to,
            bytes,
            airtime: timing.airtime(bytes, rate),
            sequence: self.next_sequence,
            retry: false,
            needs_rts: protected,
            protected,
        });
        self.next_sequence = self.next_sequence.wrapping_add(1);
        self.ready_told = false;
        if matches!(self.backoff, Backoff::None) && self.defer == Time::NEVER {
            if params.immediate_access && self.is_idle(now) {
                // §9.2.5.1: the DIFS counts from when the medium became idle, also before the packet came.
                let since = self.idle_since.max(self.nav_end_if_past(now));
                self.backoff = Backoff::Access { since: since.max(now - self.ifs(timing)), ifs: self.ifs(timing) };
            } else {
                self.start_backoff(timing, now);
            }
        }
    }

    /// The NAV's end if that lies in the past.
    fn nav_end_if_past(&self, now: Time) -> Time {
        let end = self.nav_end();
        if end <= now { end } else { Time::ZERO }
    }

    fn ifs(&self, timing: &Timing) -> Span {
        if self.after_error { timing.eifs } else { timing.difs }
    }

    fn draw(&mut self, timing: &Timing) -> u32 {
        self.rng.below(u64::from(self.cw) + u64::from(timing.params.draw_includes_cw)) as u32
    }

    fn start_backoff(&mut self, timing: &Timing, now: Time) {
        let slots = self.draw(timing);
        self.backoff = Backoff::Frozen { slots };
        self.thaw(timing, now);
    }

    /// Lets a frozen back-off run if nothing but the NAV is in its way.
    #[inline]
    fn thaw(&mut self, timing: &Timing, now: Time) {
        if let Backoff::Frozen { slots } = self.backoff
            && !self.carrier
            && self.exchange == Exchange::Idle
        {
            self.backoff = Backoff::Running { slots, since: self.nav_end().max(now), ifs: self.ifs(timing) };
        }
    }

    /// Stops a running back-off; slots that went by whole are taken off.
    #[inline]
    fn freeze(&mut self, timing: &Timing, now: Time) {
        match self.backoff {
            Backoff::Running { slots, since, ifs } => {
                let gone = now.since(since + ifs).nanos() / timing.params.slot.nanos();
                // A back-off that has run out at this very instant keeps its deadline: the station cannot have sensed
                // the other in time, and both transmit.
                if now < since + ifs || gone < u64::from(slots) {
                    self.backoff = Backoff::Frozen { slots: slots - gone as u32 };
                }
            }
            // §9.2.5.1: a medium that turns busy within the DIFS costs a back-off.
            Backoff::Access { since, ifs } if now < since + ifs => {
                let slots = self.draw(timing);
                self.backoff = Backoff::Frozen { slots };
            }
            _ => {}
        }
    }

    /// The medium turned busy.
    #[inline]
    pub fn on_busy(&mut self, timing: &Timing, now: Time) {
        self.carrier = true;
        if self.nav_guard != Time::NEVER {
            if now >= self.nav_guard {
                self.nav = self.nav_guard;
            }
            self.nav_guard = Time::NEVER;
        }
        self.freeze(timing, now);
    }

    /// The medium turned idle.
    #[inline]
    pub fn on_idle(&mut self, timing: &Timing, now: Time) {
        self.carrier = false;
        self.idle_since = now;
        self.thaw(timing, now);
    }

    /// A frame ended that could not be decoded.
    #[inline]
    pub fn on_error(&mut self, timing: &Timing, now: Time) {
        if timing.params.eifs_replaces_difs {
            self.after_error = true;
        } else {
            self.set_nav(now + timing.eifs);
        }
    }

    /// A frame that ended at `end` was ignored while another was received, as ns-2's capture does.
    #[inline]
    pub fn on_ignored(&mut self, end: Time, timing: &Timing) {
        self.set_nav(end + timing.eifs);
    }

    #[inline]
    fn set_nav(&mut self, until: Time) {
        if until > self.nav {
            self.nav = until;
        }
    }

    /// A frame for this station, or a broadcast, was decoded. The medium is still busy with it: [`Dcf::on_idle`] comes next.
    pub fn on_frame(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        self.after_error = false;
        if frame.receiver.is_broadcast() {
            return self.deliver(frame, cx);
        }
        match frame.kind {
            FrameKind::Rts => self.on_rts(frame, timing, cx),
            FrameKind::Cts => self.on_cts(timing, cx),
            FrameKind::Data => self.on_data(frame, timing, cx),
            FrameKind::Ack => self.on_ack(timing, cx),
        }
    }

    /// A frame for another station was decoded.
    #[inline]
    pub fn on_other_frame(&mut self, frame: &Frame, timing: &Timing, now: Time) {
        self.after_error = false;
        // §9.2.5.4: the NAV takes the larger value. An RTS alone may be taken back.
        let end = now + frame.duration;
        if end > self.nav_end() {
            self.nav = end;
            self.nav_guard = if frame.kind == FrameKind::Rts && timing.params.nav_reset {
                now + timing.params.sifs * 2 + timing.cts + timing.params.slot * 2
            } else {
                Time::NEVER
            };
        }
    }

    fn on_rts(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Idle || self.response.is_some() {
            return;
        }
        let duration = frame.duration.saturating_sub(timing.params.sifs + timing.cts);
        self.response = Some(self.control(FrameKind::Cts, frame.transmitter, duration, timing));
        self.defer = Time::NEVER;
        self.proceed(timing, cx);
    }

    fn on_cts(&mut self, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Rts {
            return;
        }
        if let Some(outgoing) = &mut self.outgoing {
            outgoing.needs_rts = false;
        }
        self.timeout = Time::NEVER;
        // §9.2.4: the RTS succeeded, but the contention window waits for the ACK.
        self.short_retries = 0;
        self.proceed(timing, cx);
    }

    fn on_ack(&mut self, timing: &Timing, cx: &mut Context) {
        if self.exchange != Exchange::Data {
            return;
        }
        let Some(outgoing) = self.outgoing.take() else { return };
        self.timeout = Time::NEVER;
        if outgoing.protected {
            self.long_retries = 0;
        } else {
            self.short_retries = 0;
        }
        self.cw = timing.params.cw_min;
        cx.hand_over(outgoing.packet);
        self.start_backoff(timing, cx.now);
        self.proceed(timing, cx);
    }

    fn on_data(&mut self, frame: &Frame, timing: &Timing, cx: &mut Context) {
        if u64::from(frame.bytes) >= timing.params.rts_threshold.count() {
            // The station that answered an RTS waits for this frame and for no other.
            if self.exchange != Exchange::Cts {
                return;
            }
            self.timeout = Time::NEVER;
            self.exchange = Exchange::Idle;
            self.response = None;
        }
        if self.response.is_some() {
            return;
        }
        self.response = Some(self.control(FrameKind::Ack, frame.transmitter, Span::ZERO, timing));
        if self.timeout == Time::NEVER {
            self.proceed(timing, cx);
        }
        if self.is_duplicate(frame) {
            self.counters.duplicates += 1;
        } else {
            self.deliver(frame, cx);
        }
    }

    /// §9.2.9: a retry that repeats the sender's last sequence number was received before.
    fn is_duplicate(&mut self, frame: &Frame) -> bool {
        match self.heard.binary_search_by_key(&frame.transmitter, |&(node, _)| node) {
            Ok(i) => std::mem::replace(&mut self.heard[i].1, frame.sequence) == frame.sequence && frame.retry,
            Err(i) => {
                self.heard.insert(i, (frame.transmitter, frame.sequence));
                false
            }
        }
    }

    fn deliver(&self, frame: &Frame, cx: &mut Context) {
        if let Some(packet) = frame.packet {
            let packet = cx.copy(packet);
            cx.act(Action::Arrived { node: self.node, packet, from: frame.transmitter });
        }
    }

    fn control(&self, kind: FrameKind, receiver: NodeId, duration: Span, timing: &Timing) -> Frame {
        let (bytes, airtime) = match kind {
            FrameKind::Rts => (RTS_BYTES, timing.rts),
            FrameKind::Cts => (CTS_BYTES, timing.cts),
            FrameKind::Data | FrameKind::Ack => (ACK_BYTES, timing.ack),
        };
        Frame {
            kind,
            transmitter: self.node,
            receiver,
            duration,
            airtime,
            bytes,
            rate: timing.params.basic_rate.bps() as u32,
            sequence: 0,
            retry: false,
            packet: None,
        }
    }

    /// An exchange has ended, or moved on: what comes next?
    fn proceed(&mut self, timing: &Timing, cx: &mut Context) {
        if self.response.is_some() {
            self.defer = cx.now + timing.params.sifs;
        } else if let Some(outgoing) = self.outgoing {
            if matches!(self.backoff, Backoff::None) {
                if outgoing.protected && !outgoing.needs_rts {
                    self.defer = cx.now + timing.params.sifs;
                } else {
                    self.start_backoff(timing, cx.now);
                }
            }
        } else if !self.ready_told {
            self.ready_told = true;
            cx.act(Action::MacReady { node: self.node });
        }
        if self.exchange != Exchange::Idle {
            self.exchange = Exchange::Idle;
            // Own transmission counts as busy medium for the interframe space.
            self.idle_since = self.idle_since.max(cx.now);
        }
        self.thaw(timing, cx.now);
    }

    /// The deadline is reached. A frame returned goes on the air now.
    pub fn on_timer(&mut self, timing: &Timing, cx: &mut Context) -> Option<Frame> {
        let now = cx.now;
        if self.timeout <= now {
            self.timeout = Time::NEVER;
            self.on_timeout(timing, cx);
        }
        if self.defer <= now {
            self.defer = Time::NEVER;
            return self.after_sifs(timing, now);
        }
        let over = match self.backoff {
            Backoff::Running { slots, since, ifs } => since + ifs + timing.params.slot * u64::from(slots) <= now,
            Backoff::Access { since, ifs } => since + ifs <= now,
            _ => false,
        };
        if over {
            self.backoff = Backoff::None;
            if self.response.is_none() {
                return self.access(timing, now);
            }
        }
        None
    }

    /// A SIFS has gone by since the frame that is answered.
    fn after_sifs(&mut self, timing: &Timing, now: Time) -> Option<Frame> {
        match self.response {
            // §9.2.5.7: a CTS is sent only if the NAV and the medium are idle; an ACK without regard to them (§9.2.8).
            Some(cts) if cts.kind == FrameKind::Cts => {
                if !self.is_idle(now) {
                    self.response = None;
                    return None;
                }
                let params = &timing.params;
                // Wait for the data frame: the rest of the exchange less its SIFS and ACK.
                let wait =
                    cts.airtime + params.max_propagation * 2 + cts.duration.saturating_sub(params.sifs + timing.ack);
                Some(self.transmit(cts, Exchange::Cts, wait, now, timing))
            }
            Some(ack) => Some(self.transmit(ack, Exchange::Ack, ack.airtime, now, timing)),
            None => self.access(timing, now),
        }
    }

    /// The medium is the station's: send the RTS, or the data.
    fn access(&mut self, timing: &Timing, now: Time) -> Option<Frame> {
        let outgoing = self.outgoing?;
        if !self.is_idle(now) {
            self.widen(timing);
            if let Some(outgoing) = &mut self.outgoing {
                outgoing.needs_rts = outgoing.protected;
            }
            self.start_backoff(timing, now);
            return None;
        }
        let params = &timing.params;
        let (sifs, propagation) = (params.sifs, params.max_propagation * 2);
        if outgoing.needs_rts {
            let duration = sifs * 3 + timing.cts + outgoing.airtime + timing.ack;
            let mut rts = self.control(FrameKind::Rts, outgoing.to, duration, timing);
            rts.retry = outgoing.retry;
            let wait = timing.rts + sifs + timing.cts + propagation;
            return Some(self.transmit(rts, Exchange::Rts, wait, now, timing));
        }
        let broadcast = outgoing.to.is_broadcast();
        let data = Frame {
            kind: FrameKind::Data,
            transmitter: self.node,
            receiver: outgoing.to,
            duration: if broadcast { Span::ZERO } else { sifs + timing.ack },
            airtime: outgoing.airtime,
            bytes: outgoing.bytes,
            rate: if broadcast { params.basic_rate.bps() } else { params.rate.bps() } as u32,
            sequence: outgoing.sequence,
            retry: outgoing.retry,
            packet: Some(outgoing.packet),
        };
        let wait = if broadcast { data.airtime } else { data.airtime + sifs + timing.ack + propagation };
        Some(self.transmit(data, Exchange::Data, wait, now, timing))
    }

    fn transmit(&mut self, frame: Frame, exchange: Exchange, wait: Span, now: Time, timing: &Timing) -> Frame {
        self.freeze(timing, now);
        self.exchange = exchange;
        self.timeout = now + wait;
        match frame.kind {
            FrameKind::Rts => self.counters.rts += 1,
            FrameKind::Cts => self.counters.cts += 1,
            FrameKind::Ack => self.counters.acks += 1,
            FrameKind::Data if frame.receiver.is_broadcast() => self.counters.broadcasts += 1,
            FrameKind::Data => self.counters.data += 1,
        }
        frame
    }

    /// The answer did not come, or the frame needed none and has ended.
    fn on_timeout(&mut self, timing: &Timing, cx: &mut Context) {
        match self.exchange {
            Exchange::Rts => {
                self.counters.rts_failures += 1;
                self.short_retries += 1;
                self.retry_or_give_up(self.short_retries >= timing.params.short_retry_limit, timing, cx);
            }
            Exchange::Data => match self.outgoing {
                Some(outgoing) if outgoing.to.is_broadcast() => {
                    // The medium owns a broadcast packet from its transmission on.
                    self.outgoing = None;
                    self.cw = timing.params.cw_min;
                    self.start_backoff(timing, cx.now);
                }
                Some(outgoing) => {
                    self.counters.ack_failures += 1;
                    let (retries, limit) = if outgoing.protected {
                        (&mut self.long_retries, timing.params.long_retry_limit)
                    } else {
                        (&mut self.short_retries, timing.params.short_retry_limit)
                    };
                    *retries += 1;
                    let spent = *retries >= limit;
                    self.retry_or_give_up(spent, timing, cx);
                }
                None => {}
            },
            Exchange::Cts | Exchange::Ack => self.response = None,
            Exchange::Idle => {}
        }
        self.proceed(timing, cx);
    }

    /// §9.2.5.3: try again with a wider window, or give the packet back to routing.
    fn retry_or_give_up(&mut self, spent: bool, timing: &Timing, cx: &mut Context) {
        let Some(outgoing) = &mut self.outgoing else { return };
        if spent {
            cx.act(Action::LinkFailed { node: self.node, packet: outgoing.packet, next_hop: outgoing.to });
            self.counters.given_up += 1;
            if self.exchange == Exchange::Data && outgoing.protected {
                self.long_retries = 0;
            } else {
                self.short_retries = 0;
            }
            self.outgoing = None;
            self.cw = timing.params.cw_min;
            if timing.params.backoff_after_giving_up {
                self.start_backoff(timing, cx.now);
            }
        } else {
            outgoing.retry = true;
            outgoing.needs_rts = outgoing.protected;
            self.widen(timing);
            self.start_backoff(timing, cx.now);
        }
    }

    fn widen(&mut self, timing: &Timing) {
        self.cw = (2 * self.cw + 1).min(timing.params.cw_max);
    }
}
