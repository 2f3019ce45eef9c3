//! IEEE 802.11 enhanced distributed channel access (EDCA), with block acknowledgement and aggregation, over the modes
//! of the DCF.
//!
//! Read: IEEE Std 802.11-2016 §10.22.2 (EDCA), §10.24 (block acknowledgement), §9.7 (A-MPDU), §9.3.2.2 (A-MSDU);
//! Linux 6.1, `net/wireless/util.c` and `net/mac80211/rx.c`, for categories and the reorder timeout; ns-3.37 for the
//! slot that counts after AIFS.
//!
//! A station has four access functions (`Contender`) with a back-off each. They share the sense of the medium, the
//! NAV, the answers, and the transmitter. Each function holds its first packet, takes further ones for the same
//! neighbour from the queue when its frame begins, and keeps them until they are acknowledged or given up.
//!
//! A packet may be a whole frame of a station outside ([`crate::packet::Mpdu`]), such as a kernel with Linux's Wi-Fi:
//! `station` has the differences.
//!
//! Left out: admission control, CF-End, recovery after PIFS within a TXOP, the no-ack policy, DELBA, HT control, the
//! spacing of MPDUs, protection of a TXOP as a whole.
//!
//! Validated: one and several categories against closed forms and ns-3.37, aggregates by mode and length against closed
//! forms (`tests/edca.rs`).

mod aggregate;
mod agreement;
mod category;
mod contender;
mod counters;
mod frame;
mod params;
mod receive;
mod sending;
mod station;

use hopyard_engine::{Prefetch, Rng, Time};

use super::dcf::Announcement;
use super::rate_control::{Answered, Belief, Choice, Rates};
use super::{Identity, Mac, Outgoing, Sensed, rate_control};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Classes, Packet, PacketId};
use crate::params::Fault;
use crate::phy::Mode;
use crate::phy::reception::Level;

use agreement::{Board, Receiver, Sender};
pub use category::{Category, Priorities};
use contender::{Backoff, Contender, Content, Held, session};
pub use counters::Counters;
pub use frame::{Control, Frame, FrameKind};
pub use params::{Access, BlockAck, Params, Timing};

/// The exchange of the station itself: it sends a frame, or waits for the answer to one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Exchange {
    Idle,
    Rts,
    Cts,
    /// A CTS to the station itself.
    CtsToSelf,
    /// A data frame, or another frame that waited for access.
    Data,
    /// An ACK or a block acknowledgement.
    Answer,
}

/// The frame that a category has won access for.
#[derive(Clone, Debug)]
struct Current {
    frame: Frame,
    announced_by: Announcement,
    /// Whether it must be announced before it may be sent.
    needs_announcement: bool,
}

/// A station's EDCA.
#[derive(Clone, Debug)]
pub struct Edca {
    contenders: [Contender; 4],
    nav: Time,
    /// Until when a frame must follow the RTS that set the NAV.
    nav_guard: Time,
    idle_since: Time,
    /// When the EIFS after the last frame received in error ends; [`Time::NEVER`] while the medium is still busy after
    /// that frame.
    eifs_until: Time,
    exchange: Exchange,
    carrier: bool,
    node: NodeId,
    interface: InterfaceId,
    /// When the interframe space before an answer, before data after a CTS, or within a TXOP ends.
    defer: Time,
    /// When the wait for an answer ends, or, for a frame that needs no answer, when the frame itself ends.
    timeout: Time,
    /// When a receiver stops to wait for a missing MPDU.
    release: Time,
    response: Option<Frame>,
    /// The category that has access, or had it last.
    holder: Category,
    /// When its TXOP ends; in the past if there is none.
    txop_end: Time,
    current: Option<Current>,
    /// The next number of frames without QoS.
    next_sequence: u16,
    senders: Vec<Sender>,
    receivers: Vec<Receiver>,
    /// The scoreboards of frames of stations outside, by transmitter and priority.
    boards: Vec<(InterfaceId, u8, Board)>,
    rng: Rng,
    /// What the station knows of its links, if rate control chooses among several modes.
    rates: Option<Box<Rates>>,
    /// The ratio of signal to noise of the last frame for the station, which its answer tells. It is zero without rate
    /// control.
    level: f32,
    /// Counters of the station.
    pub counters: Counters,
}

impl Prefetch for Edca {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.interface.0
    }
}

impl Mac for Edca {
    const CHOOSES: bool = true;
    const GATHERS: bool = true;
    const ADAPTS: bool = true;

    type Params = Params;
    type Shared = Timing;
    type Control = Control;
    type Counters = Counters;

    fn share(params: &Params, _nodes: &[NodeId], rates: rate_control::Setup<'_>) -> Timing {
        Timing::new(params).with_rates(rates)
    }

    fn modes(params: &Params, rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault> {
        <super::dcf::Dcf as Mac>::modes(&params.dcf, rates)
    }

    fn largest_packet(params: &Params) -> Option<u32> {
        params.dcf.largest_packet()
    }

    fn classes(params: &Params) -> Option<Classes> {
        let params = params.clone();
        Some(Classes::new(move |packet, to| category_of(packet, to.into(), &params) as u8))
    }

    fn new(identity: Identity, timing: &Timing, rng: Rng) -> Self {
        Self {
            contenders: timing.params.accesses().map(Contender::new),
            nav: Time::ZERO,
            nav_guard: Time::NEVER,
            idle_since: Time::ZERO,
            eifs_until: Time::ZERO,
            exchange: Exchange::Idle,
            carrier: false,
            node: identity.node,
            interface: identity.interface,
            defer: Time::NEVER,
            timeout: Time::NEVER,
            release: Time::NEVER,
            response: None,
            holder: Category::Background,
            txop_end: Time::ZERO,
            current: None,
            next_sequence: 0,
            senders: Vec::new(),
            receivers: Vec::new(),
            boards: Vec::new(),
            rng,
            rates: timing.dcf.rates.as_ref().map(|rates| Box::new(rates.of_station(identity.station))),
            level: 0.0,
            counters: Counters::default(),
        }
    }

    fn is_ready(&self) -> bool {
        self.contenders.iter().any(|it| it.first_packet().is_none())
    }

    fn takes(&self, packet: &Packet, to: InterfaceId, timing: &Timing, now: Time) -> bool {
        let category = category_of(packet, to, &timing.params);
        match self.contenders[category as usize].first_packet() {
            None => true,
            Some(first) => {
                first.to == to && self.sends_next(timing, now) == Some(category) && {
                    self.has_room(category, (packet.size, session(packet)), timing, now)
                }
            }
        }
    }

    fn accept(&mut self, outgoing: Outgoing, timing: &Timing, cx: &mut Context) {
        let Outgoing { packet, size, to } = outgoing;
        let largest = timing.params.dcf.largest_packet();
        if largest.is_some_and(|most| size > most) && !cx.packets[packet].is_routing() {
            // The link is asked for another packet at once.
            return cx.drop_packet(self.node, packet, DropReason::TooLong);
        }
        let category = category_of(&cx.packets[packet], to, &timing.params);
        let held = Held::of(packet, &cx.packets[packet], to, size);
        let contender = &mut self.contenders[category as usize];
        let is_first = contender.first_packet().is_none();
        contender.held.push_back(held);
        if is_first {
            self.begin_attempt(category, cx.now);
        }
        self.contend(category, timing, cx.now);
    }

    #[inline]
    fn on_sensed(&mut self, sensed: Sensed<'_, Control>, timing: &Timing, now: Time) -> bool {
        match sensed {
            Sensed::Busy => return self.on_busy(timing, now),
            Sensed::Idle => return self.on_idle(timing, now),
            // The medium is still busy with the frame, or with others: the EIFS begins when it is idle (§10.3.2.3.7).
            Sensed::Error => self.eifs_until = Time::NEVER,
            Sensed::Ignored(end) => self.nav = self.nav.max(end + timing.dcf.eifs),
            Sensed::Other(frame) => self.overhear(frame, timing, now),
            Sensed::Asleep(until) => {
                self.freeze(timing, now);
                (self.nav, self.nav_guard) = (self.nav.max(until), Time::NEVER);
                self.thaw(timing);
                return true;
            }
        }
        false
    }

    fn on_frame(&mut self, frame: &Frame, level: Level, timing: &Timing, cx: &mut Context) {
        if self.rates.is_some() {
            self.level = level.sinr().factor() as f32;
        }
        self.receive(frame, level, timing, cx);
    }

    fn on_timer(&mut self, timing: &Timing, cx: &mut Context) -> Option<Frame> {
        let now = cx.now;
        if self.release <= now {
            self.skip_missing(timing, cx);
        }
        if self.timeout <= now {
            self.timeout = Time::NEVER;
            if !(self.carrier && self.is_waiting()) {
                self.on_timeout(timing, cx);
            }
        }
        if self.defer <= now {
            self.defer = Time::NEVER;
            return self.after_sifs(timing, cx);
        }
        let slot = timing.params.dcf.slot;
        if self.contenders.iter().all(|it| it.deadline(slot) > now) {
            return None;
        }
        let winner = self.winner(timing, now);
        for category in Category::ALL {
            let contender = &mut self.contenders[category as usize];
            if contender.deadline(slot) > now {
                continue;
            }
            contender.backoff = Backoff::None;
            if winner.is_some_and(|winner| category < winner) && !contender.held.is_empty() {
                self.collide_within(category, timing, cx);
            }
        }
        debug_assert_eq!(self.exchange, Exchange::Idle, "no back-off ends during an exchange");
        let winner = winner.filter(|_| self.response.is_none())?;
        self.begin(winner, timing, cx)
    }

    fn deadline(&self, timing: &Timing) -> Time {
        let slot = timing.params.dcf.slot;
        let backoff = self.contenders.iter().map(|it| it.deadline(slot)).fold(Time::NEVER, Time::min);
        backoff.min(self.defer).min(self.timeout).min(self.release)
    }

    fn held(&self) -> Vec<PacketId> {
        // A broadcast packet belongs to the medium once it is on the air.
        let on_air = |held: &Held| held.flying && held.to.is_broadcast() && self.exchange == Exchange::Data;
        let to_send = self.contenders.iter().flat_map(|it| &it.held).filter(|held| !on_air(held));
        let stored = self.receivers.iter().flat_map(Receiver::held);
        to_send.filter_map(Held::packet).chain(stored).collect()
    }

    fn belief(&self, to: InterfaceId) -> Option<Belief> {
        self.rates.as_ref()?.belief(to)
    }

    fn counters(&self, _timing: &Timing, _now: Time) -> Counters {
        self.counters
    }
}

/// The category of a packet. Broadcasts have no QoS in an ad hoc network.
fn category_of(packet: &Packet, to: InterfaceId, params: &Params) -> Category {
    let Params { priorities, routing_dscp, .. } = params;
    match &packet.body {
        Body::Mpdu(mpdu) => return Category::of_priority(mpdu.priority),
        _ if to.is_broadcast() => return Category::BestEffort,
        _ => {}
    }
    match () {
        () if packet.is_routing() => priorities.category(routing_dscp.bits()),
        () => priorities.category(packet.dscp()),
    }
}

impl Edca {
    fn on_busy(&mut self, timing: &Timing, now: Time) -> bool {
        self.carrier = true;
        if self.nav_guard != Time::NEVER {
            if now >= self.nav_guard {
                self.nav = self.nav_guard;
            }
            self.nav_guard = Time::NEVER;
        }
        let contends = self.contends();
        if contends {
            self.freeze(timing, now);
        }
        contends
    }

    fn on_idle(&mut self, timing: &Timing, now: Time) -> bool {
        self.carrier = false;
        self.idle_since = now;
        if self.eifs_until == Time::NEVER {
            self.eifs_until = now + timing.dcf.eifs;
        }
        if self.exchange != Exchange::Idle && self.timeout == Time::NEVER && self.is_waiting() {
            // The frame that prolonged the wait has ended, and it was not the answer.
            self.timeout = now;
        }
        self.thaw(timing);
        self.exchange != Exchange::Idle || self.contends()
    }

    /// Whether a category has a back-off, or access to the medium.
    fn contends(&self) -> bool {
        self.contenders.iter().any(|it| it.backoff != Backoff::None)
    }

    /// Whether the station waits for the answer of another station to its own frame.
    fn is_waiting(&self) -> bool {
        match self.exchange {
            Exchange::Rts | Exchange::Cts => true,
            Exchange::Data => self.current.as_ref().is_some_and(|it| !it.frame.receiver.is_broadcast()),
            Exchange::Idle | Exchange::CtsToSelf | Exchange::Answer => false,
        }
    }

    /// Whether medium, NAV and station are idle.
    fn is_idle(&self, now: Time) -> bool {
        let own = self.exchange == Exchange::Idle && self.defer == Time::NEVER;
        own && !self.carrier && self.nav_end() <= now
    }

    /// When the NAV ends, as far as is known now.
    fn nav_end(&self) -> Time {
        self.nav.min(self.nav_guard)
    }

    /// The end of a category's interframe space after the medium turned idle. The space is AIFS; after a frame in error
    /// it is longer by the time by which the rest of the EIFS exceeds DIFS.
    fn space_end(&self, category: usize, timing: &Timing) -> Time {
        let since = self.idle_since.max(self.nav_end());
        let eifs = self.eifs_until.since(since);
        since + timing.aifs[category] + eifs.saturating_sub(timing.dcf.difs)
    }

    /// Resumes the frozen back-offs, unless something other than the NAV prevents that.
    fn thaw(&mut self, timing: &Timing) {
        if self.carrier || self.exchange != Exchange::Idle {
            return;
        }
        for category in 0..4 {
            if let Backoff::Frozen { slots } = self.contenders[category].backoff {
                let from = self.space_end(category, timing);
                self.contenders[category].backoff = Backoff::Running { slots, from };
            }
        }
    }

    fn freeze(&mut self, timing: &Timing, now: Time) {
        for contender in &mut self.contenders {
            contender.freeze(timing.params.dcf.slot, now, &mut self.rng);
        }
    }

    fn draw(&mut self, category: Category, timing: &Timing) {
        self.contenders[category as usize].draw(&mut self.rng);
        self.thaw(timing);
    }

    /// A category with something to send contends, unless it does so already or has access.
    fn contend(&mut self, category: Category, timing: &Timing, now: Time) {
        let has_access = self.holder == category && (self.current.is_some() || self.txop_end > now);
        if self.contenders[category as usize].backoff != Backoff::None || has_access {
            return;
        }
        if !self.is_idle(now) {
            return self.draw(category, timing);
        }
        // The frame begins at a slot boundary, also where the packet comes later than the end of the space.
        let (from, slot) = (self.space_end(category as usize, timing), timing.params.dcf.slot);
        let slots = now.since(from).nanos().div_ceil(slot.nanos());
        self.contenders[category as usize].backoff = Backoff::Access { at: from + slot * slots };
    }

    /// The highest category with something to send whose back-off is over.
    fn winner(&self, timing: &Timing, now: Time) -> Option<Category> {
        let slot = timing.params.dcf.slot;
        let over = |category: &Category| {
            let contender = &self.contenders[*category as usize];
            contender.deadline(slot) <= now && !contender.held.is_empty()
        };
        Category::ALL.into_iter().rev().find(over)
    }

    /// The category whose frame begins now, if one does.
    fn sends_next(&self, timing: &Timing, now: Time) -> Option<Category> {
        if self.response.is_some() || self.current.is_some() || self.exchange != Exchange::Idle {
            None
        } else if self.defer <= now {
            Some(self.holder)
        } else {
            self.winner(timing, now)
        }
    }

    /// Another category of the station sends at the same time: this one behaves as if its frame had collided
    /// (§10.22.2.4), without having been sent.
    fn collide_within(&mut self, category: Category, timing: &Timing, cx: &mut Context) {
        self.counters.internal_collisions += 1;
        let contender = &mut self.contenders[category as usize];
        contender.failures.0 += 1;
        // The frames of a station outside have no limit but their series.
        let has_limit = contender.held[0].series.is_none();
        if has_limit && contender.failures.0 >= timing.params.dcf.short_retry_limit {
            let is_packet = contender.held[0].packet().is_some();
            // The first MPDU, with all its packets.
            let mpdu = 1 + contender.held.iter().skip(1).take_while(|held| held.joined).count();
            contender.held.iter_mut().take(mpdu).for_each(|held| held.flying = true);
            contender.reset(timing.access(category));
            self.give_up(category, timing, cx, |_| true);
            if is_packet {
                self.end_attempt(category, None, cx);
            }
            self.ask_for_packets(category, cx);
        } else {
            contender.widen(timing.access(category));
        }
        // It begins after the frame of the other category.
        self.contenders[category as usize].draw(&mut self.rng);
    }

    /// The mode of the next frame with packets of a category.
    fn choice(&self, category: Category, timing: &Timing) -> Choice {
        let contender = &self.contenders[category as usize];
        contender.stage().or_else(|| contender.attempt.choice()).unwrap_or_else(|| Choice::of(timing.data()))
    }

    /// Asks rate control for the mode of the next frame with packets of a category, if it holds some.
    fn begin_attempt(&mut self, category: Category, now: Time) {
        let contender = &mut self.contenders[category as usize];
        let of_link = |held: &&Held| held.series.is_none() && !held.to.is_broadcast();
        let to = contender.first_packet().filter(of_link).map(|held| held.to);
        if let (Some(rates), Some(to)) = (&mut self.rates, to) {
            contender.attempt.begin(rates, to, now);
        }
    }

    /// The tries of a category's packets are over, with this answer or none. Others follow for the packets that are
    /// left.
    fn end_attempt(&mut self, category: Category, answered: Option<Answered>, cx: &mut Context) {
        let Some(rates) = &mut self.rates else { return };
        let changed = self.contenders[category as usize].attempt.end(rates, answered, cx.now);
        if let Some(neighbour) = changed {
            cx.act(Action::RateChanged { interface: self.interface, neighbour });
        }
        self.begin_attempt(category, cx.now);
    }

    /// Decides what the station does next, after an exchange has ended or continued.
    fn proceed(&mut self, timing: &Timing, now: Time) {
        let announced = |it: &Current| it.announced_by != Announcement::None && !it.needs_announcement;
        if self.response.is_some() || self.current.as_ref().is_some_and(announced) {
            self.defer = now + timing.params.dcf.sifs;
        }
        if self.exchange != Exchange::Idle {
            self.exchange = Exchange::Idle;
            // For the interframe space, the medium is busy during the station's own transmission.
            self.idle_since = self.idle_since.max(now);
        }
        for category in Category::ALL {
            let contender = &self.contenders[category as usize];
            let has_access = self.holder == category && (self.current.is_some() || self.defer != Time::NEVER);
            if contender.backoff == Backoff::None && !contender.held.is_empty() && !has_access {
                // An answer to another station took the place of its frame.
                self.txop_end = if self.holder == category { Time::ZERO } else { self.txop_end };
                self.contenders[category as usize].draw(&mut self.rng);
            }
        }
        self.thaw(timing);
    }
}

#[cfg(test)]
mod tests;
