//! Slotted access (TDMA) with a schedule that the scenario gives.
//!
//! Read: ns-2.35, mac/mac-tdma.cc, for the frame of slots and the bytes that it adds to a packet.
//!
//! Time is divided into frames of slots of equal length. The owner of a slot sends one packet at its beginning. A
//! station does not sense the medium, and nobody acknowledges: a packet that its receiver does not decode is lost, and
//! the sender does not learn it. Clocks are exact.
//!
//! Left out: the distribution of a schedule among the stations, several packets in a slot, the switching off of radios
//! outside of their slots. A packet too long for a slot is dropped; ns-2 sends it into the next slot.
//!
//! Validated: packets a second of saturated stations against ns-2 and the closed form (`docs/models/tdma.md`).

use std::collections::BTreeSet;
use std::fmt;

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::counters::counters;
use super::{Identity, Mac, Outgoing};
use crate::address::NodeId;
use crate::context::{Action, Context, DropReason};
use crate::frame::Header;
use crate::packet::PacketId;
use crate::params::{self, Fault};

/// Who owns each slot of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Schedule {
    /// A rule by which slots are given out.
    Rule(Rule),
    /// The number of the node that owns each slot, in order. A node may own several.
    Owners(Vec<u32>),
}

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Schedule;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"in_turn\" or a list of node numbers such as [0, 1, 0, 2]")
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<Schedule, E> {
                match text {
                    "in_turn" => Ok(Schedule::Rule(Rule::InTurn)),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<Schedule, A::Error> {
                let mut owners = Vec::new();
                while let Some(owner) = list.next_element()? {
                    owners.push(owner);
                }
                Ok(Schedule::Owners(owners))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// A rule by which slots are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Each node owns one slot, in the order of their numbers.
    InTurn,
}

/// Parameters of slotted access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of all frames: 1, 2, 5.5 or 11 Mbps.
    pub rate: Rate,
    /// Length of a slot.
    pub slot: Span,
    /// Time at the end of each slot during which nobody may send.
    pub guard: Span,
    /// Slots at the beginning of each frame that belong to nobody.
    pub unused_slots: u32,
    /// The owner of each slot: "in_turn" for one slot a node in the order of their numbers, or a list of node numbers
    /// such as [0, 1, 0, 2].
    pub schedule: Schedule,
    /// Time that the preamble and the header of the physical layer take.
    pub preamble: Span,
    /// Bytes that the MAC adds to a packet.
    pub header: Bytes,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == params::NS2;
        Self {
            rate: Rate::from_bps(2_000_000),
            // 1500 bytes at 2 Mb/s under ns2; elsewhere, the same packets fit with preamble and header.
            slot: if ns2 { Span::from_micros(6000) } else { Span::from_micros(6500) },
            guard: Span::ZERO,
            unused_slots: u32::from(ns2),
            schedule: Schedule::Rule(Rule::InTurn),
            preamble: if ns2 { Span::ZERO } else { Span::from_micros(192) },
            header: Bytes::new(if ns2 { 52 } else { 36 }),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let rates = [1_000_000, 2_000_000, 5_500_000, 11_000_000].map(Rate::from_bps);
        if !rates.contains(&self.rate) {
            return Err(Fault::new("rate", format!("expected 1, 2, 5.5 or 11 Mbps, found {}", self.rate)));
        }
        if self.header.count() > 1000 {
            return Err(Fault::new("header", format!("expected at most 1000 B, found {}", self.header)));
        }
        if self.unused_slots > MOST_SLOTS {
            return Err(Fault::new(
                "unused_slots",
                format!("expected at most {MOST_SLOTS} slots, found {}", self.unused_slots),
            ));
        }
        let shortest = self.preamble + self.rate.airtime(self.header.count() as u32 + 1) + self.guard;
        if self.slot < shortest || self.slot > Span::from_secs(3600) {
            return Err(Fault::new(
                "slot",
                format!(
                    "expected at least {shortest} (preamble, header, one byte and guard) and at most an hour, found {}",
                    self.slot
                ),
            ));
        }
        match &self.schedule {
            Schedule::Owners(owners) if owners.is_empty() => {
                Err(Fault::new("schedule", "expected at least one node number, found an empty list"))
            }
            Schedule::Owners(owners) if owners.len() > MOST_SLOTS as usize => {
                Err(Fault::new("schedule", format!("expected at most {MOST_SLOTS} slots, found {}", owners.len())))
            }
            _ => Ok(()),
        }
    }
}

/// The greatest number of slots that a schedule, or the unused part of a frame, may have.
const MOST_SLOTS: u32 = 1_000_000;

/// What all stations of a channel share.
#[derive(Debug)]
pub struct Frames {
    params: Params,
    /// The length of a frame.
    length: Span,
    /// The beginnings of each station's slots within the frame, in order.
    slots: Vec<Vec<Span>>,
}

impl Frames {
    /// How many slots of a station have begun up to `now`.
    fn begun(&self, station: usize, now: Time) -> u64 {
        let since_start = now.since(Time::ZERO).nanos();
        let within = Span::from_nanos(since_start % self.length.nanos());
        let slots = &self.slots[station];
        let whole = since_start / self.length.nanos() * slots.len() as u64;
        whole + slots.partition_point(|&slot| slot <= within) as u64
    }

    /// The first slot of a station that begins at or after `now`, or nothing if it owns none.
    fn next_slot(&self, station: usize, now: Time) -> Option<Time> {
        let slots = &self.slots[station];
        let since_start = now.since(Time::ZERO).nanos();
        let begin = Time::ZERO + Span::from_nanos(since_start - since_start % self.length.nanos());
        let (first, within) = (*slots.first()?, now.since(begin));
        let next = slots.get(slots.partition_point(|&slot| slot < within));
        Some(next.map_or(begin + self.length + first, |&slot| begin + slot))
    }
}

counters! {
    /// Counters of a station's slotted access.
    pub struct Counters {
        /// Own slots that have begun.
        slots: "slots",
        /// Own slots that have begun, and in which nothing was sent.
        slots_unused: "slots",
    }
}

/// Frames carry nothing for this MAC beyond the fields of every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control;

impl super::Control for Control {
    fn kind(&self) -> u8 {
        0
    }

    fn header(&self) -> Header {
        Header::Data { sequence: 0, retry: false }
    }
}

type Frame = crate::frame::Frame<Control>;

/// A station's slotted access.
#[derive(Debug)]
pub struct Tdma {
    identity: Identity,
    /// The packet that waits for a slot.
    outgoing: Option<Outgoing>,
    /// When the slot begins, or when the frame on the air ends.
    deadline: Time,
    ready: bool,
    counters: Counters,
}

impl Mac for Tdma {
    type Params = Params;
    type Shared = Frames;
    type Control = Control;
    type Counters = Counters;

    fn share(params: &Params, nodes: &[NodeId]) -> Frames {
        let owned: Vec<u32> = match &params.schedule {
            Schedule::Rule(Rule::InTurn) => nodes.iter().map(|node| node.0).collect(),
            Schedule::Owners(owners) => owners.clone(),
        };
        let mut slots = vec![Vec::new(); nodes.len()];
        let mut places: Vec<(u32, usize)> = nodes.iter().enumerate().map(|(place, node)| (node.0, place)).collect();
        places.sort_unstable();
        for (number, owner) in owned.iter().enumerate() {
            if let Ok(found) = places.binary_search_by_key(owner, |&(node, _)| node) {
                slots[places[found].1].push(params.slot * (u64::from(params.unused_slots) + number as u64));
            }
        }
        let length = params.slot * (u64::from(params.unused_slots) + owned.len() as u64);
        Frames { params: params.clone(), length, slots }
    }

    fn rate(params: &Params) -> Rate {
        params.rate
    }

    fn check_stations(params: &Params, nodes: &[NodeId]) -> Result<(), Fault> {
        let Schedule::Owners(owners) = &params.schedule else { return Ok(()) };
        let list = |numbers: BTreeSet<u32>| numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        let (of, there): (BTreeSet<u32>, BTreeSet<u32>) =
            (owners.iter().copied().collect(), nodes.iter().map(|node| node.0).collect());
        let (missing, without) = (&of - &there, &there - &of);
        let mut problems = Vec::new();
        if !missing.is_empty() {
            problems.push(format!("expected nodes with a radio on this channel, found {}", list(missing)));
        }
        match without.len() {
            0 => {}
            1 => problems.push(format!("node {} owns no slot and can never send", list(without))),
            _ => problems.push(format!("nodes {} own no slot and can never send", list(without))),
        }
        if problems.is_empty() { Ok(()) } else { Err(Fault::new("schedule", problems.join("; "))) }
    }

    fn preamble(frames: &Frames) -> Span {
        frames.params.preamble
    }

    fn new(identity: Identity, _frames: &Frames, _rng: Rng) -> Self {
        Self { identity, outgoing: None, deadline: Time::NEVER, ready: true, counters: Counters::default() }
    }

    fn is_ready(&self) -> bool {
        self.ready
    }

    fn accept(&mut self, outgoing: Outgoing, frames: &Frames, cx: &mut Context) {
        let params = &frames.params;
        let airtime = params.preamble + params.rate.airtime(outgoing.size + params.header.count() as u32);
        match frames.next_slot(self.identity.station, cx.now) {
            Some(slot) if airtime + params.guard <= params.slot => {
                self.outgoing = Some(outgoing);
                self.deadline = slot;
                self.ready = false;
            }
            _ => {
                cx.drop_packet(self.identity.node, outgoing.packet, DropReason::TooLong);
                // The link may have another packet, which fits.
                cx.act(Action::MacReady { interface: self.identity.interface });
            }
        }
    }

    fn on_frame(&mut self, frame: &Frame, _frames: &Frames, cx: &mut Context) {
        if let Some(packet) = frame.packet {
            let packet = cx.copy(packet);
            cx.act(Action::Arrived { interface: self.identity.interface, packet, from: frame.transmitter });
        }
    }

    fn on_timer(&mut self, frames: &Frames, cx: &mut Context) -> Option<Frame> {
        let params = &frames.params;
        let Some(Outgoing { packet, size, to }) = self.outgoing.take() else {
            // The frame has ended.
            self.deadline = Time::NEVER;
            self.ready = true;
            cx.act(Action::MacReady { interface: self.identity.interface });
            return None;
        };
        let bytes = size + params.header.count() as u32;
        let airtime = params.preamble + params.rate.airtime(bytes);
        self.deadline = cx.now + airtime;
        if to.is_broadcast() {
            self.counters.broadcasts += 1;
        } else {
            self.counters.data += 1;
        }
        Some(Frame {
            transmitter: self.identity.interface,
            receiver: to,
            airtime,
            bytes,
            rate: params.rate.bps() as u32,
            packet: Some(packet),
            kept: false,
            control: Control,
        })
    }

    #[inline]
    fn deadline(&self, _frames: &Frames) -> Time {
        self.deadline
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        true
    }

    fn held(&self) -> Option<PacketId> {
        self.outgoing.map(|outgoing| outgoing.packet)
    }

    fn counters(&self, frames: &Frames, now: Time) -> Counters {
        let (slots, Counters { data, broadcasts, .. }) = (frames.begun(self.identity.station, now), self.counters);
        Counters { slots, slots_unused: slots.saturating_sub(data + broadcasts), ..self.counters }
    }

    #[inline]
    fn prefetch(&self) -> u32 {
        self.identity.interface.0
    }
}

#[cfg(test)]
mod tests;
