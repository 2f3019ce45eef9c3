//! IEEE 802.11 distributed coordination function (DCF), over every mode of the PHY.
//!
//! Read: IEEE 802.11-1999 §9.2 (procedure), §15 and §18 (DSSS and HR-DSSS timing), Annex C where the text is unclear;
//! IEEE 802.11-2016 for the constants of the later amendments, and §10.26 for protection.
//!
//! Left out: fragmentation, power save, beacons and association (nodes are in one ad hoc network), and the point
//! coordination function.
//!
//! The `ns2` profile behaves as ns-2.35 does where that differs from the standard. These steps are a type of their own
//! beside the standard: [`Ns2`] and [`Standard`]. A parameter selects each of them, and a station that is given some of
//! both is a [`Mixed`] one.
//!
//! Validated: saturation of one station against arithmetic and ns-2, contention of several against Bianchi's model,
//! ns-2 and ns-3, hidden stations against ns-2 (`docs/validation.md`).
//!
//! All timers of a station are deadlines, and the event queue holds one wake-up for the earliest. A back-off is one
//! deadline, not one event for each slot. When it is frozen, the slots that have passed are subtracted. When it starts
//! while the NAV is set, its deadline counts from the end of the NAV.

mod adaptive;
mod amendment;
mod counters;
mod frame;
mod mixed;
mod ns2;
mod params;
mod procedure;
mod receive;
mod standard;

use std::marker::PhantomData;

use hopyard_engine::{Prefetch, Rng, Span, Time};

use super::rate_control::{self, Belief};
use super::{Identity, Mac, Outgoing, Sensed, Slotted};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;
use crate::params::Fault;
use crate::phy::Mode;
use crate::phy::reception::Level;

pub use crate::phy::mode::Preamble;

use adaptive::Adaptive;
pub use amendment::Amendment;
pub use counters::Counters;
pub use frame::{Control, Frame, FrameKind};
pub use mixed::Mixed;
pub use ns2::Ns2;
pub(super) use params::Announcement;
pub use params::{ACK_BYTES, CTS_BYTES, Params, Protection, RTS_BYTES, Timing};
pub use procedure::Procedure;
pub use standard::Standard;

/// The exchange of the station itself: it sends a frame, or waits for the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    Idle,
    Rts,
    Cts,
    /// A CTS to the station itself.
    CtsToSelf,
    Data,
    Ack,
}

/// The packet that the station holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    packet: PacketId,
    to: InterfaceId,
    bytes: u32,
    mode: &'static Mode,
    airtime: Span,
    sequence: u16,
    /// Whether the frame itself was sent before.
    retry: bool,
    /// Whether an RTS must be answered, or a CTS to the station itself sent, before the data may be sent.
    needs_announcement: bool,
    announced_by: Announcement,
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
///
/// Every beginning or end of a signal changes the state of all stations that sense it, and most of these have nothing
/// to send. The fields that such an edge reads and writes come first and fill one cache line. With thousands of nodes,
/// most of the time goes into loading them from memory.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Dcf<P = Standard> {
    backoff: Backoff,
    nav: Time,
    /// Until when a frame must follow the RTS that set the NAV.
    nav_guard: Time,
    idle_since: Time,
    /// When the EIFS after the last frame received in error ends; [`Time::NEVER`] while the medium is still busy after
    /// that frame.
    eifs_until: Time,
    exchange: Exchange,
    carrier: bool,
    ready_told: bool,
    /// Its node, for the account of drops.
    node: NodeId,
    interface: InterfaceId,
    /// When the interframe space before a response, or before data after a CTS, ends.
    defer: Time,
    /// When the wait for an answer ends, or, for a frame that needs no answer, when the frame itself ends.
    timeout: Time,
    cw: u32,
    response: Option<Frame>,
    outgoing: Option<Held>,
    short_retries: u32,
    long_retries: u32,
    next_sequence: u16,
    /// The last sequence number heard from each neighbour, sorted by neighbour.
    heard: Vec<(InterfaceId, u16)>,
    rng: Rng,
    /// What the station knows of its links, if rate control chooses among several modes.
    adaptive: Option<Box<Adaptive>>,
    /// Counters of the station.
    pub counters: Counters,
    procedure: PhantomData<P>,
}

impl<P: Procedure> Prefetch for Dcf<P> {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.interface.0
    }
}

impl<P: Procedure> Mac for Dcf<P> {
    type Params = Params;
    type Shared = Timing;
    type Control = Control;
    type Counters = Counters;

    const ADAPTS: bool = true;

    fn share(params: &Params, _nodes: &[NodeId], rates: rate_control::Setup<'_>) -> Timing {
        Timing::new(params).with_rates(rates)
    }

    fn modes(params: &Params, rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault> {
        params.every_mode(rates)
    }

    fn largest_packet(params: &Params) -> Option<u32> {
        params.largest_packet()
    }

    fn new(identity: Identity, timing: &Timing, rng: Rng) -> Self {
        Self {
            node: identity.node,
            interface: identity.interface,
            backoff: Backoff::None,
            exchange: Exchange::Idle,
            carrier: false,
            ready_told: true,
            nav: Time::ZERO,
            nav_guard: Time::NEVER,
            idle_since: Time::ZERO,
            eifs_until: Time::ZERO,
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
            adaptive: timing.rates.as_ref().map(|rates| Box::new(Adaptive::new(rates.of_station(identity.station)))),
            counters: Counters::default(),
            procedure: PhantomData,
        }
    }

    fn is_ready(&self) -> bool {
        self.outgoing.is_none() && self.ready_told
    }

    fn held(&self) -> Vec<PacketId> {
        // A broadcast packet belongs to the medium once it is on the air.
        let kept = self.outgoing.filter(|it| !(it.to.is_broadcast() && self.exchange == Exchange::Data));
        kept.map(|it| it.packet).into_iter().collect()
    }

    fn belief(&self, to: InterfaceId) -> Option<Belief> {
        self.adaptive.as_ref()?.rates.belief(to)
    }

    fn counters(&self, _timing: &Timing, _now: Time) -> Counters {
        self.counters
    }

    #[inline(always)]
    fn deadline(&self, timing: &Timing) -> Time {
        let backoff = match self.backoff {
            Backoff::Running { slots, since, ifs } => since + ifs + timing.params.slot * u64::from(slots),
            Backoff::Access { since, ifs } => since + ifs,
            Backoff::None | Backoff::Frozen { .. } => Time::NEVER,
        };
        backoff.min(self.defer).min(self.timeout)
    }

    fn accept(&mut self, outgoing: Outgoing, timing: &Timing, cx: &mut Context) {
        let (Outgoing { packet, size, to }, now) = (outgoing, cx.now);
        debug_assert!(self.is_ready(), "a station holds one packet at a time");
        let params = &timing.params;
        if params.largest_packet().is_some_and(|most| size > most) && !cx.packets[packet].is_routing() {
            cx.drop_packet(self.node, packet, DropReason::TooLong);
            // The link may have another packet, which fits.
            cx.act(Action::MacReady { interface: self.interface });
            return;
        }
        let bytes = size + params.header.count() as u32;
        let broadcast = to.is_broadcast();
        let (mode, announced_by) = match &mut self.adaptive {
            Some(adaptive) if !broadcast => adaptive.first(to, bytes, timing, now),
            _ => {
                let mode = if broadcast { timing.modes.basic } else { timing.modes.data };
                (mode, timing.announcement(mode, bytes, broadcast))
            }
        };
        self.outgoing = Some(Held {
            packet,
            to,
            bytes,
            mode,
            airtime: mode.airtime(bytes),
            sequence: self.next_sequence,
            retry: false,
            needs_announcement: announced_by != Announcement::None,
            announced_by,
        });
        self.next_sequence = self.next_sequence.wrapping_add(1);
        self.ready_told = false;
        (self.short_retries, self.long_retries) = P::begin_packet((self.short_retries, self.long_retries), params);
        if matches!(self.backoff, Backoff::None) && self.defer == Time::NEVER {
            if P::sends_at_once(params) && self.is_idle(now) {
                // §9.2.5.1: the DIFS begins when the medium becomes idle, also if that is before the packet arrives.
                let since = self.idle_since.max(self.nav_end_if_past(now));
                let ifs = self.ifs(timing, since);
                self.backoff = Backoff::Access { since: since.max(now - ifs), ifs };
            } else {
                self.start_backoff(timing, now);
            }
        }
    }

    #[inline(always)]
    fn on_sensed(&mut self, sensed: Sensed<'_, Control>, timing: &Timing, now: Time) -> bool {
        match sensed {
            Sensed::Busy => return self.on_busy(timing, now),
            Sensed::Idle => return self.on_idle(timing, now),
            // The medium is still busy with the frame, or with others: the EIFS begins when it is idle (§9.2.3.4).
            Sensed::Error => P::keep_eifs(&mut self.eifs_until, &mut self.nav, now, timing),
            Sensed::Ignored(end) => self.set_nav(end + timing.eifs),
            Sensed::Other(frame) => self.overhear(frame, timing, now),
            Sensed::Asleep(until) => {
                self.on_sleep(until, timing, now);
                return true;
            }
        }
        false
    }

    #[inline]
    fn on_frame(&mut self, frame: &Frame, level: Level, timing: &Timing, cx: &mut Context) {
        if self.adaptive.is_some() {
            self.note(level);
        }
        self.receive(frame, timing, cx);
    }

    fn on_timer(&mut self, timing: &Timing, cx: &mut Context) -> Option<Frame> {
        let now = cx.now;
        if self.timeout <= now {
            self.timeout = Time::NEVER;
            if !(P::hears_out(&timing.params) && self.carrier && self.is_waiting()) {
                self.on_timeout(timing, cx);
            }
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
}

impl<P: Procedure> Slotted for Dcf<P> {
    fn answered_within(params: &Params, rates: &rate_control::Config) -> Option<(Span, &'static str)> {
        let ack = params.shortest_answer(rates)?.airtime(ACK_BYTES);
        // Who hears an answer out needs only its beginning within the wait.
        let rest = if params.hears_out { ack.nanos() / 2 } else { 0 };
        Some((params.max_propagation + Span::from_nanos(rest), "max_propagation"))
    }
}

impl<P: Procedure> Dcf<P> {
    /// Whether the type has the procedures that these parameters select.
    #[must_use]
    pub fn follows(params: &Params) -> bool {
        P::follows(params)
    }

    #[inline(always)]
    fn on_busy(&mut self, timing: &Timing, now: Time) -> bool {
        self.carrier = true;
        if P::GUARDS_NAV && self.nav_guard != Time::NEVER {
            if now >= self.nav_guard {
                self.nav = self.nav_guard;
            }
            self.nav_guard = Time::NEVER;
        }
        self.freeze(timing, now)
    }

    #[inline(always)]
    fn on_idle(&mut self, timing: &Timing, now: Time) -> bool {
        self.carrier = false;
        self.idle_since = now;
        if P::KEEPS_EIFS && self.eifs_until == Time::NEVER {
            self.eifs_until = now + timing.eifs;
        }
        if self.exchange == Exchange::Idle {
            return self.thaw(timing, now);
        }
        let goes_on = self.timeout == Time::NEVER && self.is_waiting();
        if goes_on {
            // The frame that prolonged the wait has ended, and it was not the answer.
            self.timeout = now;
        }
        goes_on
    }

    /// The NAV keeps the station from contending. An answer that is due is not sent.
    fn on_sleep(&mut self, until: Time, timing: &Timing, now: Time) {
        self.freeze(timing, now);
        self.set_nav(until);
        self.nav_guard = Time::NEVER;
        self.thaw(timing, now);
    }

    /// Whether medium, NAV and station are idle.
    fn is_idle(&self, now: Time) -> bool {
        !self.carrier && self.exchange == Exchange::Idle && self.nav_end() <= now
    }

    /// When the NAV ends, as far as is known now.
    fn nav_end(&self) -> Time {
        if P::GUARDS_NAV { self.nav.min(self.nav_guard) } else { self.nav }
    }

    /// The end of the NAV, if it is in the past.
    fn nav_end_if_past(&self, now: Time) -> Time {
        let end = self.nav_end();
        if end <= now { end } else { Time::ZERO }
    }

    /// The interframe space that begins at `since`: a DIFS, but not less than the rest of an EIFS (§9.2.3.4).
    fn ifs(&self, timing: &Timing, since: Time) -> Span {
        if P::KEEPS_EIFS { timing.difs.max(self.eifs_until.since(since)) } else { timing.difs }
    }

    fn draw(&mut self, timing: &Timing) -> u32 {
        self.rng.below(P::choices(self.cw, &timing.params)) as u32
    }

    fn start_backoff(&mut self, timing: &Timing, now: Time) {
        let slots = self.draw(timing);
        self.backoff = Backoff::Frozen { slots };
        self.thaw(timing, now);
    }

    /// Resumes a frozen back-off, unless something other than the NAV prevents it. Returns whether one was resumed.
    #[inline(always)]
    fn thaw(&mut self, timing: &Timing, now: Time) -> bool {
        if let Backoff::Frozen { slots } = self.backoff
            && !self.carrier
            && self.exchange == Exchange::Idle
        {
            let since = self.nav_end().max(now);
            self.backoff = Backoff::Running { slots, since, ifs: self.ifs(timing, since) };
            return true;
        }
        false
    }

    /// Stops a running back-off, and subtracts the slots that have passed completely. Returns whether there was one.
    #[inline(always)]
    fn freeze(&mut self, timing: &Timing, now: Time) -> bool {
        match self.backoff {
            Backoff::Running { slots, since, ifs } => {
                let gone = now.since(since + ifs).nanos() / timing.params.slot.nanos();
                // A back-off that ends at this instant keeps its deadline: the station cannot have sensed the other
                // station in time, and both transmit.
                if now < since + ifs || gone < u64::from(slots) {
                    self.backoff = Backoff::Frozen { slots: slots - gone as u32 };
                }
            }
            // §9.2.5.1: a medium that turns busy within the DIFS costs a back-off.
            Backoff::Access { since, ifs } if now < since + ifs => {
                let slots = self.draw(timing);
                self.backoff = Backoff::Frozen { slots };
            }
            _ => return false,
        }
        true
    }

    #[inline]
    fn set_nav(&mut self, until: Time) {
        if until > self.nav {
            self.nav = until;
        }
    }

    /// Decides what the station does next, after an exchange has ended or continued.
    fn proceed(&mut self, timing: &Timing, cx: &mut Context) {
        if self.response.is_some() {
            self.defer = cx.now + timing.params.sifs;
        } else if let Some(outgoing) = self.outgoing {
            if matches!(self.backoff, Backoff::None) {
                if outgoing.announced_by != Announcement::None && !outgoing.needs_announcement {
                    self.defer = cx.now + timing.params.sifs;
                } else {
                    self.start_backoff(timing, cx.now);
                }
            }
        } else if !self.ready_told {
            self.ready_told = true;
            cx.act(Action::MacReady { interface: self.interface });
        }
        if self.exchange != Exchange::Idle {
            self.exchange = Exchange::Idle;
            // For the interframe space, the medium is busy during the station's own transmission.
            self.idle_since = self.idle_since.max(cx.now);
        }
        self.thaw(timing, cx.now);
    }

    /// Sends the answer, one SIFS after the frame that it answers.
    fn after_sifs(&mut self, timing: &Timing, now: Time) -> Option<Frame> {
        match self.response {
            // §9.2.5.7: a CTS is sent only if the NAV is idle; an ACK without regard to it (§9.2.8).
            Some(cts) if cts.control.kind == FrameKind::Cts => {
                if self.nav_end() > now || self.senses_busy(timing, now) {
                    self.response = None;
                    return None;
                }
                let params = &timing.params;
                // Wait for the data frame: the rest of the exchange less its SIFS and ACK.
                let wait = cts.airtime
                    + params.max_propagation * 2
                    + cts.control.duration.saturating_sub(params.sifs + timing.shortest_ack);
                Some(self.transmit(cts, Exchange::Cts, wait, now, timing))
            }
            Some(ack) => Some(self.transmit(ack, Exchange::Ack, ack.airtime, now, timing)),
            None => self.access(timing, now),
        }
    }

    /// Whether the station senses the medium once more before it sends, and finds it busy.
    fn senses_busy(&self, timing: &Timing, now: Time) -> bool {
        P::senses_again(&timing.params) && !self.is_idle(now)
    }

    /// The station may send: transmits the RTS or the data.
    fn access(&mut self, timing: &Timing, now: Time) -> Option<Frame> {
        let outgoing = self.outgoing?;
        if self.senses_busy(timing, now) {
            self.widen(timing);
            if let Some(outgoing) = &mut self.outgoing {
                outgoing.needs_announcement = outgoing.announced_by != Announcement::None;
            }
            self.start_backoff(timing, now);
            return None;
        }
        let params = &timing.params;
        let (sifs, propagation) = (params.sifs, params.max_propagation * 2);
        let broadcast = outgoing.to.is_broadcast();
        let ack = if self.adaptive.is_some() { timing.ack_to(outgoing.mode) } else { timing.ack }.airtime;
        let answered = if broadcast { Span::ZERO } else { sifs + ack };
        if outgoing.needs_announcement && outgoing.announced_by == Announcement::CtsToSelf {
            let duration = sifs + outgoing.airtime + answered;
            let cts = self.control(FrameKind::Cts, self.interface, duration, timing);
            return Some(self.transmit(cts, Exchange::CtsToSelf, timing.cts, now, timing));
        }
        if outgoing.needs_announcement {
            let duration = sifs * 3 + timing.cts + outgoing.airtime + ack;
            let rts = self.control(FrameKind::Rts, outgoing.to, duration, timing);
            let wait = timing.rts + sifs + timing.cts + propagation;
            return Some(self.transmit(rts, Exchange::Rts, wait, now, timing));
        }
        let Held { mode, bytes, airtime, sequence, retry, .. } = outgoing;
        let control = Control { kind: FrameKind::Data, duration: answered, sequence, retry, ratio: 0.0 };
        let plain = Frame::plain((self.interface, outgoing.to), (mode, bytes, airtime), control);
        let data = Frame { packet: Some(outgoing.packet), kept: !broadcast, ..plain };
        let wait = if broadcast { data.airtime } else { data.airtime + answered + propagation };
        Some(self.transmit(data, Exchange::Data, wait, now, timing))
    }

    fn transmit(&mut self, frame: Frame, exchange: Exchange, wait: Span, now: Time, timing: &Timing) -> Frame {
        self.freeze(timing, now);
        self.exchange = exchange;
        self.timeout = now + wait;
        match frame.control.kind {
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
                    let (retries, limit) = if outgoing.announced_by == Announcement::Rts {
                        (&mut self.long_retries, timing.params.long_retry_limit)
                    } else {
                        (&mut self.short_retries, timing.params.short_retry_limit)
                    };
                    *retries += 1;
                    let spent = *retries >= limit;
                    let spent = if self.adaptive.is_some() { self.adapt(spent, timing, cx.now) } else { spent };
                    self.retry_or_give_up(spent, timing, cx);
                }
                None => {}
            },
            Exchange::Cts | Exchange::Ack => self.response = None,
            Exchange::CtsToSelf => {
                if let Some(outgoing) = &mut self.outgoing {
                    outgoing.needs_announcement = false;
                }
            }
            Exchange::Idle => {}
        }
        self.proceed(timing, cx);
    }

    /// §9.2.5.3: try again with a wider window, or give the packet back to routing.
    fn retry_or_give_up(&mut self, spent: bool, timing: &Timing, cx: &mut Context) {
        let Some(outgoing) = &mut self.outgoing else { return };
        if spent {
            cx.act(Action::LinkFailed {
                interface: self.interface,
                packet: outgoing.packet,
                to: outgoing.to,
                reason: DropReason::RetryLimit,
            });
            self.counters.given_up += 1;
            if self.exchange == Exchange::Data && outgoing.announced_by == Announcement::Rts {
                self.long_retries = 0;
            } else {
                self.short_retries = 0;
            }
            self.outgoing = None;
            self.learn(None, cx);
            self.cw = timing.params.cw_min;
            if P::backs_off_after_giving_up(&timing.params) {
                self.start_backoff(timing, cx.now);
            }
        } else {
            // An RTS that failed is no transmission of the frame that it announced (IEEE 802.11-1999 §7.1.3.1.6).
            outgoing.retry |= self.exchange == Exchange::Data;
            outgoing.needs_announcement = outgoing.announced_by != Announcement::None;
            self.widen(timing);
            self.start_backoff(timing, cx.now);
        }
    }

    /// A frame for the station was so strong, which an ACK tells rate control. Apart, so that stations without rate
    /// control need not compute it.
    #[cold]
    #[inline(never)]
    fn note(&mut self, level: Level) {
        if let Some(adaptive) = &mut self.adaptive {
            adaptive.level = level.sinr().factor();
        }
    }

    /// A frame was not acknowledged. Returns whether the packet is given up; otherwise its next frame has a mode.
    #[inline(never)]
    fn adapt(&mut self, is_at_limit: bool, timing: &Timing, now: Time) -> bool {
        let (Some(adaptive), Some(outgoing)) = (&mut self.adaptive, &mut self.outgoing) else { return is_at_limit };
        let next = adaptive.retry(outgoing.bytes, is_at_limit, timing, now);
        if let Some((mode, by)) = next {
            (outgoing.mode, outgoing.airtime, outgoing.announced_by) = (mode, mode.airtime(outgoing.bytes), by);
        }
        next.is_none()
    }

    /// The packet that the station held was acknowledged by a neighbour, with this ratio of signal to noise there, or
    /// given up.
    #[inline]
    fn learn(&mut self, acknowledged: Option<f32>, cx: &mut Context) {
        if let Some(adaptive) = &mut self.adaptive
            && let Some(neighbour) = adaptive.report(acknowledged, cx.now)
        {
            cx.act(Action::RateChanged { interface: self.interface, neighbour });
        }
    }

    fn widen(&mut self, timing: &Timing) {
        self.cw = (2 * self.cw + 1).min(timing.params.cw_max);
    }
}

#[cfg(test)]
mod tests;
