//! Slotted access (TDMA): the owner of a slot sends.
//!
//! Read: ns-2.35, mac/mac-tdma.cc, for the frame of slots and the bytes that it adds to a packet. Read of Z-MAC (Rhee,
//! Warrier, Aia and Min, SenSys 2005): descriptions by others, for local frames and for stations that contend for empty
//! slots.
//!
//! Time is divided into frames of slots of equal length. The owner of a slot sends as many packets as fit, or one, and
//! senses nothing. Slots come from the scenario, or from an agent of the node during the run ([`Slotted::on_slots`]);
//! then each frame begins with a contention part for the messages of agents. Receivers acknowledge nothing, so that a
//! packet that is not decoded is lost and its sender does not learn it; or they acknowledge within the slot.
//!
//! Left out: the switching off of radios outside of their slots, and a time that stations learn from each other. A
//! packet too long for a slot is dropped; ns-2 sends it into the next slot.
//!
//! Validated: packets a second of saturated stations against ns-2 and the closed form, chains and lone packets against
//! the arithmetic of the slots (`docs/models/tdma.md`).

mod air;
pub mod colouring;
mod contest;
mod frame;
mod params;
mod schedule;
mod sending;
mod timeline;

use hopyard_engine::{Prefetch, Rng, Span, Time};

use self::air::{Air, Response};
use self::contest::Contest;
pub use self::frame::{Control, Kind};
pub use self::params::{
    Access, ControlPlace, EmptySlots, FrameRule, Owner, Packing, Params, Rule, Schedule, Share, ShareRule,
};
pub use self::timeline::Frames;
use self::timeline::{Clock, Own};
use super::counters::counters;
use super::{Fate, Identity, Mac, Outgoing, Round, Sensed, Slotted, rate_control};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Action, Context, DropReason, Slots};
use crate::packet::{Packet, PacketId, PacketKind};
use crate::params::Fault;
use crate::phy::Mode;
use crate::phy::reception::Level;

counters! {
    /// Counters of a station's slotted access.
    pub struct Counters {
        /// Own slots that have begun.
        slots: "slots",
        /// Own slots that have begun, and in which nothing was sent.
        slots_unused: "slots",
        /// Frames sent in slots of others that their owners left empty.
        slots_borrowed: "frames",
        /// Frames sent in contention parts.
        contention_frames: "frames",
        /// Messages sent on the ideal channel beside this one.
        out_of_band: "messages",
        /// Frames to one receiver, in whatever part of the frame, that the receiver decoded.
        frames_heard: "frames",
        /// Frames to one receiver that were lost because it was sending, or received another signal (slot conflicts).
        frames_in_conflict: "frames",
        /// Frames to one receiver that was out of reach.
        frames_out_of_reach: "frames",
        /// Frames to one receiver that were lost to bit errors although nothing disturbed them.
        frames_with_bit_errors: "frames",
        /// Frames to one receiver that were lost because its radio slept, or the transmitter's.
        frames_asleep: "frames",
    }
}

type Frame = crate::phy::frame::Frame<Control>;

/// A station's slotted access.
#[derive(Debug)]
pub struct Tdma {
    /// When `on_timer` must be called.
    deadline: Time,
    /// Whether the medium is busy, and since when it is idle otherwise.
    busy: bool,
    idle_since: Time,
    /// The back-off of the packet that waits for a slot, if it may go in a slot of another station.
    borrowing: Option<Contest>,
    /// The back-off of the message that waits for a contention part.
    contending: Option<Contest>,
    identity: Identity,
    clock: Clock,
    rng: Rng,
    own: Own,
    /// The packet that waits for a slot or for its acknowledgement, and when its slot begins.
    data: Option<Outgoing>,
    data_at: Time,
    /// The message of an agent that waits for its turn outside of own slots, and when that is if it is known.
    control: Option<Outgoing>,
    control_at: Time,
    air: Air,
    /// When the frame on the air ends.
    until: Time,
    /// Until when the station waits for an acknowledgement.
    timeout: Time,
    response: Option<Response>,
    retries: u32,
    sequence: u16,
    /// The sequence number last decoded of each sender whose frames were acknowledged.
    heard: Vec<(InterfaceId, u16)>,
    /// Since when the station has no slot.
    slotless_since: Time,
    /// When its radio is awake again, if it sleeps.
    awake: Time,
    /// The slot from which `own` applies, and how many own slots had begun before.
    counted_from: i64,
    begun_before: u64,
    /// The last own slot in which something was sent, and the number of such slots.
    last_used: i64,
    used: u64,
    counters: Counters,
}

impl Prefetch for Tdma {
    #[inline]
    fn prefetch(&self, (): &()) -> u32 {
        self.busy.into()
    }
}

impl Mac for Tdma {
    const CHOOSES: bool = true;

    type Params = Params;
    type Shared = Frames;
    type Control = Control;
    type Counters = Counters;

    fn share(params: &Params, nodes: &[NodeId], _rates: rate_control::Setup<'_>) -> Frames {
        Frames::new(params, nodes)
    }

    fn modes(params: &Params, _rates: &rate_control::Config) -> Result<Vec<&'static Mode>, Fault> {
        Ok(vec![params.mode()])
    }

    fn largest_packet(params: &Params) -> Option<u32> {
        Some(params.largest_packet())
    }

    fn new(identity: Identity, frames: &Frames, mut rng: Rng) -> Self {
        let clock = Clock::of(&frames.params, identity.station, &mut rng);
        Self {
            deadline: Time::NEVER,
            busy: false,
            idle_since: Time::ZERO,
            borrowing: None,
            contending: None,
            identity,
            clock,
            rng,
            own: if frames.params.is_listed() { Own::Listed } else { Own::Nothing },
            data: None,
            data_at: Time::NEVER,
            control: None,
            control_at: Time::NEVER,
            air: Air::Nothing,
            until: Time::NEVER,
            timeout: Time::NEVER,
            response: None,
            retries: 0,
            sequence: 0,
            heard: Vec::new(),
            slotless_since: Time::ZERO,
            awake: Time::ZERO,
            counted_from: frames.slot_from(clock.shows(Time::ZERO)),
            begun_before: 0,
            last_used: i64::MIN,
            used: 0,
            counters: Counters::default(),
        }
    }

    fn is_ready(&self) -> bool {
        self.data.is_none() && self.air != Air::Data
    }

    fn takes(&self, packet: &Packet, _to: InterfaceId, frames: &Frames, _now: Time) -> bool {
        match self.is_apart(packet.kind(), frames) {
            true => self.control.is_none() && self.air != Air::Control,
            false => self.is_ready(),
        }
    }

    fn accept(&mut self, outgoing: Outgoing, frames: &Frames, cx: &mut Context) {
        let kind = cx.packets[outgoing.packet].kind();
        let apart = self.chooses(frames) && self.is_apart(kind, frames);
        if self.room(&outgoing, apart, frames) < self.need(&outgoing, apart, frames) {
            cx.drop_packet(self.identity.node, outgoing.packet, DropReason::TooLong);
            // The link may have another packet, which fits.
            cx.act(Action::MacReady { interface: self.identity.interface });
            return;
        }
        if apart {
            self.control = Some(outgoing);
            self.plan_control(frames, cx.now);
        } else {
            self.sequence = self.sequence.wrapping_add(1);
            (self.data, self.retries) = (Some(outgoing), 0);
            self.plan_data(frames, cx.now);
        }
        self.refresh(frames);
    }

    #[inline]
    fn on_sensed(&mut self, sensed: Sensed<'_, Control>, frames: &Frames, now: Time) -> bool {
        match sensed {
            Sensed::Busy => self.on_busy(frames, now),
            Sensed::Idle => self.on_idle(frames, now),
            Sensed::Asleep(until) => {
                self.on_sleep(until, frames, now);
                true
            }
            Sensed::Error | Sensed::Ignored(_) | Sensed::Other(_) => false,
        }
    }

    fn on_frame(&mut self, frame: &Frame, _level: Level, frames: &Frames, cx: &mut Context) {
        if frame.control.kind == Kind::Ack {
            return self.on_ack(frame, frames, cx);
        }
        if frame.control.answer && self.is_repeated(frame, frames, cx.now) {
            return;
        }
        if let Some(packet) = frame.packet {
            let packet = cx.copy(packet);
            cx.act(Action::Arrived { interface: self.identity.interface, packet, from: frame.transmitter });
        }
    }

    fn on_timer(&mut self, frames: &Frames, cx: &mut Context) -> Option<Frame> {
        let frame = self.act(frames, cx);
        self.refresh(frames);
        frame
    }

    #[inline]
    fn deadline(&self, _frames: &Frames) -> Time {
        self.deadline
    }

    fn held(&self) -> Vec<PacketId> {
        self.data.into_iter().chain(self.control).map(|outgoing| outgoing.packet).collect()
    }

    fn counters(&self, frames: &Frames, now: Time) -> Counters {
        let to = frames.slot_from(self.clock.shows(now) + 1);
        let slots = self.begun_before + frames.owned(self.own, self.identity.station, self.counted_from, to);
        Counters { slots, slots_unused: slots.saturating_sub(self.used), ..self.counters }
    }
}

impl Slotted for Tdma {
    const COUNTS_FATES: bool = true;

    fn reports_failures(params: &Params) -> bool {
        params.acknowledge
    }

    fn answered_within(params: &Params, _rates: &rate_control::Config) -> Option<(Span, &'static str)> {
        params.acknowledge.then_some((params.propagation, "propagation"))
    }

    fn check_stations(params: &Params, nodes: &[NodeId]) -> Result<(), Fault> {
        schedule::check(params, nodes)
    }

    fn slots(params: &Params, nodes: &[NodeId]) -> Vec<Vec<NodeId>> {
        schedule::owners(params, nodes)
    }

    fn round(params: &Params, nodes: &[NodeId]) -> Option<Round> {
        let owned = schedule::owners(params, nodes).len() as u64;
        let slots = u64::from(params.unused_slots) + owned;
        let length = params.slot * slots + params.contention_part(slots);
        (owned > 0).then(|| Round { length, pause: length - params.slot * owned })
    }

    fn spare(params: &Params, size: u32) -> Option<Span> {
        params.spare(size)
    }

    fn needs_agent(params: &Params) -> bool {
        params.has_agent()
    }

    fn slotless(params: &Params, neighbours: &[Vec<u32>]) -> Vec<u32> {
        schedule::slotless(params, neighbours)
    }

    fn largest_message(params: &Params) -> Option<(u32, &'static str)> {
        Some((params.largest_message()?, "contention_slot"))
    }

    fn next_look(frames: &Frames, before: Option<Time>) -> Option<Time> {
        match (&frames.params.schedule, before) {
            (Schedule::Rule(Rule::Greedy | Rule::Frozen), None) => Some(Time::ZERO),
            (Schedule::Rule(Rule::Greedy), Some(before)) => Some(frames.round_after(before)),
            _ => None,
        }
    }

    fn slots_for(hearers: &[Vec<u32>]) -> Vec<Slots> {
        schedule::greedy(hearers)
    }

    fn on_fate(&mut self, fate: Fate) {
        let counter = match fate {
            Fate::Heard => &mut self.counters.frames_heard,
            Fate::Collision => &mut self.counters.frames_in_conflict,
            Fate::OutOfReach => &mut self.counters.frames_out_of_reach,
            Fate::BitErrors => &mut self.counters.frames_with_bit_errors,
            Fate::Asleep => &mut self.counters.frames_asleep,
        };
        *counter += 1;
    }

    fn on_slots(&mut self, slots: &Slots, frames: &Frames, cx: &mut Context) {
        let here = frames.slot_from(self.clock.shows(cx.now));
        self.begun_before += frames.owned(self.own, self.identity.station, self.counted_from, here);
        self.counted_from = here;
        let own = Own::found(slots, &frames.params);
        if own == Own::Nothing && self.own != Own::Nothing {
            self.slotless_since = cx.now;
        }
        self.own = own;
        if self.data.is_some() && self.timeout == Time::NEVER && self.air != Air::Data {
            self.plan_data(frames, cx.now);
        }
        self.refresh(frames);
    }
}

impl Tdma {
    /// Whether a back-off of the station depends on what others send.
    #[inline]
    const fn has_backoff(&self) -> bool {
        self.borrowing.is_some() || self.contending.is_some()
    }

    #[inline]
    fn on_busy(&mut self, frames: &Frames, now: Time) -> bool {
        self.busy = true;
        let has_backoff = self.has_backoff();
        if has_backoff {
            self.freeze(frames, now);
        }
        has_backoff
    }

    #[inline]
    fn on_idle(&mut self, frames: &Frames, now: Time) -> bool {
        (self.busy, self.idle_since) = (false, now);
        let has_backoff = self.has_backoff();
        if has_backoff {
            self.resume(frames, now);
        }
        has_backoff
    }

    fn on_sleep(&mut self, until: Time, frames: &Frames, now: Time) {
        (self.awake, self.response) = (until, None);
        // What is on the air, or waits for an acknowledgement, is planned when that is over.
        if self.air == Air::Nothing {
            if self.timeout == Time::NEVER {
                self.plan_data(frames, now);
            }
            self.plan_control(frames, now);
        }
        self.refresh(frames);
    }

    /// Whether messages of agents do not wait for own slots.
    fn chooses(&self, frames: &Frames) -> bool {
        let params = &frames.params;
        match params.control {
            ControlPlace::OutOfBand => true,
            ControlPlace::Contention => frames.has_contention(),
            ControlPlace::OwnSlots => frames.has_contention() && self.own == Own::Nothing,
        }
    }

    /// Whether packets of a kind are sent outside of own slots. Without a slot, an agent's messages may need addresses
    /// to be resolved first.
    fn is_apart(&self, kind: PacketKind, frames: &Frames) -> bool {
        match kind {
            PacketKind::Control => self.chooses(frames),
            PacketKind::Arp => self.own == Own::Nothing && self.chooses(frames),
            _ => false,
        }
    }

    /// How long a packet occupies the station.
    fn need(&self, outgoing: &Outgoing, apart: bool, frames: &Frames) -> Span {
        match outgoing.to.is_broadcast() || apart {
            true => frames.params.airtime(outgoing.size),
            false => frames.params.exchange(outgoing.size),
        }
    }

    /// How long a packet may occupy the station at most.
    fn room(&self, outgoing: &Outgoing, apart: bool, frames: &Frames) -> Span {
        let params = &frames.params;
        let part = match params.contention_access {
            _ if !apart => params.slot,
            _ if params.control == ControlPlace::OutOfBand => return self.need(outgoing, apart, frames),
            Access::Sense => frames.contention_part(),
            Access::RandomSlot => params.contention_slot,
        };
        part.saturating_sub(params.guard)
    }

    /// Decides when the packet that waits for a slot is sent.
    fn plan_data(&mut self, frames: &Frames, now: Time) {
        let Some(outgoing) = self.data else { return };
        let (need, now) = (self.need(&outgoing, false, frames), now.max(self.awake));
        self.data_at = self.own_time(need, frames, now).unwrap_or(Time::NEVER);
        self.borrowing = None;
        if frames.params.empty_slots == EmptySlots::Contend && self.data_at > now {
            self.borrowing = self.contest(need, false, frames, now);
        }
        if self.data_at == Time::NEVER && self.borrowing.is_none() {
            // It waits for a slot, and not for ever.
            self.data_at = now.max(self.slotless_since + frames.params.slot_wait);
        }
    }

    /// When the station may send for this long in one of its own slots.
    fn own_time(&self, need: Span, frames: &Frames, now: Time) -> Option<Time> {
        let (params, station, shown) = (&frames.params, self.identity.station, self.clock.shows(now));
        if params.packing == Packing::Fit
            && let Some(slot) = frames.slot_at(shown)
            // Others may have begun to use a slot that its owner left empty.
            && (params.empty_slots == EmptySlots::Unused || self.last_used == slot)
            && frames.owns(self.own, station, slot)
            && shown + (need + params.guard).nanos() as i64 <= frames.end(slot)
        {
            return Some(now);
        }
        let next = frames.owned_from(self.own, station, frames.slot_from(shown))?;
        Some(self.clock.when(frames.begin(next)))
    }

    /// Decides when the message of an agent is sent.
    fn plan_control(&mut self, frames: &Frames, now: Time) {
        let Some(outgoing) = self.control else { return };
        let (params, need, now) = (&frames.params, self.need(&outgoing, true, frames), now.max(self.awake));
        (self.control_at, self.contending) = match (params.control, params.contention_access) {
            (ControlPlace::OutOfBand, _) => (now + need, None),
            (_, Access::Sense) => (Time::NEVER, self.contest(need, true, frames, now)),
            (_, Access::RandomSlot) => (self.random_slot(frames, now), None),
        };
    }

    /// The beginning of a random slot of a contention part.
    fn random_slot(&mut self, frames: &Frames, now: Time) -> Time {
        let (cell, shown) = (frames.params.contention_slot.nanos() as i64, self.clock.shows(now));
        let mut from = shown;
        loop {
            let (begin, end) = frames.contention_from(from);
            let first = ((shown - begin).max(0) as u64).div_ceil(cell as u64);
            let count = ((end - begin) / cell) as u64;
            if first < count {
                let chosen = first + self.rng.below(count - first);
                return self.clock.when(begin + chosen as i64 * cell);
            }
            from = end;
        }
    }

    /// A back-off in the contention part, or in a slot, that lasts now or is the next one in which a frame fits.
    fn contest(&mut self, need: Span, apart: bool, frames: &Frames, now: Time) -> Option<Contest> {
        let params = &frames.params;
        let (guard, wait) = (params.guard.nanos() as i64, params.owner_wait.nanos() as i64);
        if !apart && params.owner_wait + need + params.guard > params.slot {
            return None;
        }
        let (shown, length) = (self.clock.shows(now), need.nanos() as i64);
        let idle = if apart { Span::ZERO } else { params.idle_wait() };
        let earliest = if self.busy { shown } else { self.clock.shows(self.idle_since + idle).max(shown) };
        let mut from = shown;
        loop {
            let (begin, end, next) = if apart {
                let (begin, end) = frames.contention_from(from);
                (begin, end - guard, end)
            } else {
                let slot = frames.slot_at(from).unwrap_or_else(|| frames.slot_from(from));
                (frames.begin(slot) + wait, frames.end(slot) - guard, frames.end(slot))
            };
            let begin = begin.max(earliest);
            if begin + length <= end {
                let most = (end - begin - length) as u64 / params.backoff_slot.nanos();
                let left = self.rng.below(u64::from(params.backoff_window).min(most + 1));
                let (from, until) = (self.clock.when(begin), self.clock.when(end));
                return Some(Contest { from, wait: idle, until, left, need });
            }
            from = next;
        }
    }

    /// The medium turns busy: back-offs stop.
    #[cold]
    #[inline(never)]
    fn freeze(&mut self, frames: &Frames, now: Time) {
        let unit = frames.params.backoff_slot;
        for contest in [&mut self.borrowing, &mut self.contending].into_iter().flatten() {
            contest.freeze(self.idle_since, now, unit);
        }
        self.refresh(frames);
    }

    /// The medium is idle again: back-offs go on, if the frame still fits, or begin in another part.
    #[cold]
    #[inline(never)]
    fn resume(&mut self, frames: &Frames, now: Time) {
        let unit = frames.params.backoff_slot;
        if self.borrowing.is_some_and(|contest| !contest.fits(now, unit)) {
            self.plan_data(frames, now);
        }
        if self.contending.is_some_and(|contest| !contest.fits(now, unit)) {
            self.plan_control(frames, now);
        }
        self.refresh(frames);
    }

    /// Sets the deadline.
    fn refresh(&mut self, frames: &Frames) {
        let unit = frames.params.backoff_slot;
        let beside = match frames.params.control {
            ControlPlace::OutOfBand => self.control_at,
            _ => Time::NEVER,
        };
        if self.air != Air::Nothing {
            self.deadline = self.until.min(beside);
            return;
        }
        let response = self.response.map_or(Time::NEVER, |response| response.at);
        if self.timeout < Time::NEVER {
            self.deadline = self.timeout.min(response).min(beside);
            return;
        }
        let due = |contest: &Option<Contest>| match contest {
            Some(contest) if !self.busy => contest.due(self.idle_since, unit),
            _ => Time::NEVER,
        };
        let data = self.data_at.min(due(&self.borrowing));
        self.deadline = response.min(data).min(self.control_at).min(due(&self.contending));
    }
}

#[cfg(test)]
mod tests;
