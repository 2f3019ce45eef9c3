//! The parameters of slotted access.

use hopyard_engine::Span;
use hopyard_engine::units::{Bytes, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use crate::params::{self, Fault, Given, Unused, read_given, unused_where};
use crate::phy::Mode;

/// Who owns each slot of a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Schedule {
    /// A rule by which slots are given out.
    Rule(Rule),
    /// The owners of each slot, in order. A node may own several slots.
    Owners(Vec<Owner>),
}

/// A rule by which slots are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// Each node owns one slot, in the order of their numbers.
    InTurn,
    /// An agent of the node finds a slot during the run.
    Agent,
    /// Somebody who sees the whole network gives out slots, again and again.
    Greedy,
    /// The same, once, at the start.
    Frozen,
}

/// The owners of one slot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Owner {
    /// The number of the node that owns it.
    Node(u32),
    /// The numbers of the nodes that own it together, because they are far apart.
    Nodes(Vec<u32>),
}

impl Owner {
    /// The numbers of the nodes.
    #[must_use]
    pub fn nodes(&self) -> &[u32] {
        match self {
            Self::Node(node) => std::slice::from_ref(node),
            Self::Nodes(nodes) => nodes,
        }
    }
}

impl<'de> Deserialize<'de> for Owner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, "a node number, or a list of node numbers", |given| match given {
            Given::Whole(node) => node.try_into().ok().map(Self::Node),
            Given::List(nodes) => Some(Self::Nodes(nodes)),
            _ => None,
        })
    }
}

const SCHEDULE: &str =
    "\"in_turn\", \"agent\", \"greedy\", \"frozen\" or a list of node numbers such as [0, 1, [2, 7], 1]";

impl<'de> Deserialize<'de> for Schedule {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, SCHEDULE, |given| match given {
            Given::Word("in_turn") => Some(Self::Rule(Rule::InTurn)),
            Given::Word("agent") => Some(Self::Rule(Rule::Agent)),
            Given::Word("greedy") => Some(Self::Rule(Rule::Greedy)),
            Given::Word("frozen") => Some(Self::Rule(Rule::Frozen)),
            Given::List(owners) => Some(Self::Owners(owners)),
            _ => None,
        })
    }
}

/// How much is sent in a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Packing {
    /// As many whole packets as fit, one after the other. A packet that comes within the slot may still be sent.
    Fit,
    /// One packet, at the beginning of the slot (ns-2).
    One,
}

/// After how many slots a slot that was found during the run comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FrameRule {
    /// As many as the largest slot that the node has heard of needs.
    Global,
    /// A power of two that has room for the largest slot within two hops of the node (Z-MAC).
    Local,
    /// `frame_slots`.
    Fixed,
}

/// A share of the time, or one that follows from other parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Share {
    /// A word.
    Rule(ShareRule),
    /// This share.
    Of(f64),
}

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_given(deserializer, "\"auto\", or a number", |given: Given<'_, de::IgnoredAny>| match given {
            Given::Word("auto") => Some(Self::Rule(ShareRule::Auto)),
            Given::Whole(share) => Some(Self::Of(share as f64)),
            Given::Number(share) => Some(Self::Of(share)),
            _ => None,
        })
    }
}

/// A share that follows from other parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ShareRule {
    /// 0.1 where slots come from an agent, otherwise 0.
    Auto,
}

/// How stations share the contention part of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// With carrier sense and a random back-off.
    Sense,
    /// In a random one of slots of their own, without carrier sense (slotted ALOHA).
    RandomSlot,
}

/// Where the messages of agents are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ControlPlace {
    /// In the contention part.
    Contention,
    /// In the station's own slots once it has any, before that in the contention part.
    OwnSlots,
    /// On an ideal channel beside this one: each neighbour in range receives them, and they use no time on the air.
    OutOfBand,
}

/// Who may send in a slot that its owner leaves empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EmptySlots {
    /// Nobody.
    Unused,
    /// Every station, after a wait for the owner, with carrier sense and a random back-off (Z-MAC).
    Contend,
}

/// Parameters of slotted access.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Rate of all frames: 1, 2, 5.5 or 11 Mbps as in 802.11b; or any other up to 1 Gbps, with the bit errors of DBPSK
    /// in as many hertz.
    pub rate: Rate,
    /// Length of a slot.
    pub slot: Span,
    /// Time at the end of each slot, and of the contention part, during which nobody may send.
    pub guard: Span,
    /// What is sent in a slot: as many whole packets as fit ("fit"), or one packet at its beginning ("one").
    pub packing: Packing,
    /// Slots at the beginning of each frame, after the contention part, that belong to nobody.
    pub unused_slots: u32,
    /// The owner of each slot. "in_turn": one slot a node, in the order of their numbers. "agent": slots that an agent
    /// of each node finds during the run. "greedy": slots that an observer of the whole network gives out, the smallest
    /// slot that is free within two hops, in the order of the numbers, again before every `frame_slots` slots.
    /// "frozen": the greedy slots of the start. Or a list of node numbers such as [0, 1, [2, 7], 1]. A list within the
    /// list has the owners of one slot.
    pub schedule: Schedule,
    /// The number of slots after which a slot comes again that was found by an agent or a greedy schedule. "global":
    /// one more than the largest slot that the node has heard of. "local": the smallest power of two above the largest
    /// slot within two hops. "fixed": `frame_slots`.
    pub frame: FrameRule,
    /// Slots between two contention parts where `schedule` is "agent", "greedy" or "frozen", and between two looks of
    /// a greedy schedule; also the length of a fixed frame.
    pub frame_slots: u32,
    /// Share of each frame that its contention part takes, from 0 to 0.9; "auto" for 0.1 where slots come from an
    /// agent, and otherwise 0.
    pub contention: Share,
    /// How stations share the contention part: with carrier sense and a random back-off ("sense"), or each message in
    /// a random one of slots of length `contention_slot` ("random_slot").
    pub contention_access: Access,
    /// Length of the slots of the contention part where `contention_access` is "random_slot".
    pub contention_slot: Span,
    /// The place of messages of agents, if there is a contention part or slots come from an agent. "contention": in the
    /// contention part. "own_slots": in own slots, once there are any. "out_of_band": on an ideal channel beside this
    /// one.
    pub control: ControlPlace,
    /// Who may send in a slot that its owner leaves empty: nobody ("unused"), or every station, by carrier sense
    /// ("contend").
    pub empty_slots: EmptySlots,
    /// How long stations that contend for an empty slot wait for its owner.
    pub owner_wait: Span,
    /// Unit of random back-offs.
    pub backoff_slot: Span,
    /// Number of units from which a back-off is drawn: from 0 to one less.
    pub backoff_window: u32,
    /// Whether the receiver acknowledges a frame within the slot. Routing then learns of packets that are given up.
    pub acknowledge: bool,
    /// How often a frame that is not acknowledged is sent again.
    pub retry_limit: u32,
    /// Time from the end of a frame to its acknowledgement.
    pub turnaround: Span,
    /// Longest propagation delay for which the sender of a frame waits for its acknowledgement.
    pub propagation: Span,
    /// How long packets wait at a node that has no slot before they are dropped.
    pub slot_wait: Span,
    /// Largest offset of a node's clock at the beginning; each node draws its own between minus this and plus this.
    pub clock_offset: Span,
    /// Largest drift of a node's clock, in parts per million; each node draws its own between minus this and plus
    /// this.
    pub clock_drift: f64,
    /// The offset of each node's clock, in microseconds, in the order of the nodes on the channel; an empty list if
    /// offsets are drawn.
    pub clock_offsets: Vec<f64>,
    /// The drift of each node's clock, in parts per million, in the order of the nodes on the channel; an empty list
    /// if drifts are drawn.
    pub clock_drifts: Vec<f64>,
    /// Time that the preamble and the header of the physical layer take.
    pub preamble: Span,
    /// Bytes that the MAC adds to a packet.
    pub header: Bytes,
}

/// The greatest number of slots that a schedule, or the unused part of a frame, may have.
pub const MOST_SLOTS: u32 = 1_000_000;

/// Bytes of the shortest packets of TCP and of the routing protocols: an acknowledgement, and a route error with one
/// destination (RFC 3561 §5.3).
const SMALLEST_PACKET: u32 = 40;

/// Longer than any propagation delay: no radio farther than 25 km away hears a frame.
const FARTHEST: Span = Span::from_micros(84);

/// The fastest rate.
const MOST_RATE: Rate = Rate::from_bps(1_000_000_000);

/// Bytes of an acknowledgement, as in IEEE 802.11.
const ACK_BYTES: u32 = 14;

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[params::RFC, params::NS2];

    fn of_profile(profile: &str) -> Self {
        let ns2 = profile == params::NS2;
        Self {
            rate: Rate::from_bps(2_000_000),
            // 1500 bytes at 2 Mb/s under ns2; elsewhere, the same packets fit with preamble and header.
            slot: if ns2 { Span::from_micros(6000) } else { Span::from_micros(6500) },
            guard: Span::ZERO,
            packing: if ns2 { Packing::One } else { Packing::Fit },
            unused_slots: u32::from(ns2),
            schedule: Schedule::Rule(Rule::InTurn),
            frame: FrameRule::Global,
            // Short rounds: what an agent waits for comes in the next contention part.
            frame_slots: 8,
            contention: Share::Rule(ShareRule::Auto),
            contention_access: Access::Sense,
            contention_slot: Span::from_millis(1),
            control: ControlPlace::Contention,
            empty_slots: EmptySlots::Unused,
            owner_wait: Span::from_micros(100),
            backoff_slot: Span::from_micros(20),
            backoff_window: 32,
            acknowledge: false,
            retry_limit: 3,
            // An acknowledgement must come after the frame has ended at every radio (`check`).
            turnaround: Span::from_micros(if ns2 { 30 } else { 10 }),
            propagation: Span::from_micros(2),
            slot_wait: Span::from_secs(1),
            clock_offset: Span::ZERO,
            clock_drift: 0.0,
            clock_offsets: Vec::new(),
            clock_drifts: Vec::new(),
            preamble: if ns2 { Span::ZERO } else { Span::from_micros(192) },
            header: Bytes::new(if ns2 { 52 } else { 36 }),
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let fault = |parameter, problem: String| Err(Fault::new(parameter, problem));
        Fault::unless("rate", self.rate, |it| it <= MOST_RATE, format_args!("at most {MOST_RATE}"))?;
        Fault::unless("header", self.header, |it| it.count() <= 1000, "at most 1000 B")?;
        Fault::unless("slot", self.slot, |it| it <= Span::from_secs(3600), "at most an hour")?;
        if self.guard >= self.slot && !self.slot.is_zero() {
            let (guard, slot) = (self.guard, self.slot);
            return fault("guard", format!("expected less than the slot, {slot}, found {guard}"));
        }
        let shortest = self.exchange(SMALLEST_PACKET);
        if self.slot < shortest + self.guard {
            let answer = if self.acknowledge { ", acknowledgement" } else { "" };
            return fault(
                "slot",
                format!(
                    "expected at least {} (preamble, header, {SMALLEST_PACKET} bytes as in the smallest packets of \
                     routing{answer}, and guard), found {}",
                    shortest + self.guard,
                    self.slot
                ),
            );
        }
        for (name, found, least) in [("unused_slots", self.unused_slots, 0), ("frame_slots", self.frame_slots, 1)] {
            if !(least..=MOST_SLOTS).contains(&found) {
                return fault(name, format!("expected {least} to {MOST_SLOTS} slots, found {found}"));
            }
        }
        self.check_contention()?;
        self.check_clocks()?;
        let (least, answer) = (FARTHEST, self.turnaround + self.ack().1);
        Fault::unless(
            "turnaround",
            self.turnaround,
            |_| !self.acknowledge || answer >= least,
            format_args!(
                "at least {}, so that acknowledgements come after a frame has ended at every radio",
                least.saturating_sub(self.ack().1)
            ),
        )?;
        if self.turnaround > Span::from_secs(1) || self.propagation > Span::from_secs(1) {
            let name = if self.turnaround > Span::from_secs(1) { "turnaround" } else { "propagation" };
            return fault(name, "expected at most 1 s".to_owned());
        }
        Fault::unless("retry_limit", self.retry_limit, |it| it <= 1000, "at most 1000")?;
        match &self.schedule {
            Schedule::Owners(owners) if owners.is_empty() => {
                fault("schedule", "expected at least one node number, found an empty list".to_owned())
            }
            Schedule::Owners(owners) if owners.len() > MOST_SLOTS as usize => {
                fault("schedule", format!("expected at most {MOST_SLOTS} slots, found {}", owners.len()))
            }
            Schedule::Owners(owners) => {
                let none = owners.iter().enumerate().filter(|(_, owner)| owner.nodes().is_empty());
                let none = none.map(|(slot, _)| (slot, format!("slot {slot} has no owner: expected a node number")));
                Fault::of_elements("schedule", none.collect())
            }
            Schedule::Rule(_) => Ok(()),
        }
    }

    fn unused(&self) -> Vec<Unused> {
        let apart = self.contention_share() > 0.0 && self.control != ControlPlace::OutOfBand;
        let contends = apart && self.contention_access == Access::Sense;
        unused_where([
            (self.contention_share() == 0.0, "contention", &["contention_access", "contention_slot"]),
            (self.contention_access != Access::RandomSlot, "contention_access", &["contention_slot"]),
            (!contends && self.empty_slots == EmptySlots::Unused, "empty_slots", &["backoff_slot", "backoff_window"]),
            (!self.acknowledge, "acknowledge", &["retry_limit", "turnaround", "propagation"]),
            (self.empty_slots == EmptySlots::Unused, "empty_slots", &["owner_wait"]),
            (
                matches!(self.schedule, Schedule::Owners(_) | Schedule::Rule(Rule::InTurn)),
                "schedule",
                &["frame", "frame_slots"],
            ),
            (!self.clock_offsets.is_empty(), "clock_offsets", &["clock_offset"]),
            (!self.clock_drifts.is_empty(), "clock_drifts", &["clock_drift"]),
        ])
    }
}

/// The largest size that fits.
fn largest(fits: impl Fn(u32) -> bool) -> u32 {
    let (mut fit, mut not) = (0_u32, 1 << 26);
    while not - fit > 1 {
        let middle = fit.midpoint(not);
        if fits(middle) { fit = middle } else { not = middle }
    }
    fit
}

impl Params {
    /// Whether slots come from an agent.
    #[must_use]
    pub fn has_agent(&self) -> bool {
        self.schedule == Schedule::Rule(Rule::Agent)
    }

    /// Whether the owners of slots are known before the run.
    #[must_use]
    pub fn is_listed(&self) -> bool {
        matches!(self.schedule, Schedule::Owners(_) | Schedule::Rule(Rule::InTurn))
    }

    /// The share of the time that contention parts take.
    #[must_use]
    pub fn contention_share(&self) -> f64 {
        match self.contention {
            Share::Of(share) => share,
            Share::Rule(ShareRule::Auto) if self.has_agent() => 0.1,
            Share::Rule(ShareRule::Auto) => 0.0,
        }
    }

    /// The length of the contention part of frames with so many slots.
    #[must_use]
    pub fn contention_part(&self, slots: u64) -> Span {
        let share = self.contention_share();
        (self.slot * slots).mul_f64(share / (1.0 - share))
    }

    /// Slots between two contention parts.
    #[must_use]
    pub fn slots_between(&self, nodes: usize) -> u64 {
        match &self.schedule {
            Schedule::Rule(Rule::InTurn) => nodes as u64,
            Schedule::Rule(Rule::Agent | Rule::Greedy | Rule::Frozen) => u64::from(self.frame_slots),
            Schedule::Owners(owners) => owners.len() as u64,
        }
    }

    /// The mode of all frames. Their preamble is a parameter of its own.
    #[must_use]
    pub fn mode(&self) -> &'static Mode {
        self.dsss().unwrap_or_else(|| Mode::kept_alone(self.rate, self.preamble))
    }

    /// The mode of 802.11b with the rate.
    #[inline]
    fn dsss(&self) -> Option<&'static Mode> {
        Mode::dsss().find(|mode| mode.rate() == self.rate)
    }

    /// How long a body of so many bytes takes.
    #[inline]
    fn body(&self, bytes: u32) -> Span {
        self.dsss().map_or_else(|| Mode::alone(self.rate, self.preamble).body(bytes), |mode| mode.body(bytes))
    }

    /// How long a frame with a packet of this size is on the air.
    #[inline]
    #[must_use]
    pub fn airtime(&self, size: u32) -> Span {
        self.preamble + self.body(size + self.header.count() as u32)
    }

    /// Bytes and duration of an acknowledgement.
    #[must_use]
    pub fn ack(&self) -> (u32, Span) {
        (ACK_BYTES, self.preamble + self.body(ACK_BYTES))
    }

    /// How long the frame with a packet of this size occupies the sender, its acknowledgement included.
    #[must_use]
    pub fn exchange(&self, size: u32) -> Span {
        let answer = match self.acknowledge {
            true => self.turnaround + self.ack().1 + self.propagation * 2,
            false => Span::ZERO,
        };
        self.airtime(size) + answer
    }

    /// The time for which the medium must have been idle for a slot to count as empty. It is longer than the time
    /// between two frames of an owner, also where the acknowledgement of a frame is not heard.
    #[must_use]
    pub fn idle_wait(&self) -> Span {
        let between = if self.acknowledge { self.exchange(0) - self.airtime(0) } else { Span::ZERO };
        self.owner_wait.max(between + self.backoff_slot)
    }

    /// The size of the largest packet that fits into a slot.
    #[must_use]
    pub fn largest_packet(&self) -> u32 {
        largest(|size| self.exchange(size) + self.guard <= self.slot)
    }

    /// The rest of a slot after as many frames with packets of this size as fit; nothing if none does.
    #[must_use]
    pub fn spare(&self, size: u32) -> Option<Span> {
        let (one, room) = (self.exchange(size), self.slot - self.guard);
        let fit = match self.packing {
            Packing::Fit => room.nanos() / one.nanos(),
            Packing::One => u64::from(one <= room),
        };
        (fit > 0).then(|| self.slot - one * fit)
    }

    /// The size of the largest message of an agent that fits into a slot of the contention part, where agents send in
    /// such slots.
    #[must_use]
    pub fn largest_message(&self) -> Option<u32> {
        let is_apart = self.control != ControlPlace::OutOfBand && self.contention_share() > 0.0;
        (is_apart && self.contention_access == Access::RandomSlot)
            .then(|| largest(|size| self.airtime(size) + self.guard <= self.contention_slot))
    }

    /// The shortest contention part that is of use.
    #[must_use]
    pub fn least_part(&self) -> Span {
        match self.contention_access {
            Access::Sense => self.airtime(SMALLEST_PACKET) + self.guard,
            Access::RandomSlot => self.contention_slot,
        }
    }

    fn check_contention(&self) -> Result<(), Fault> {
        let fault = |parameter, problem: String| Err(Fault::new(parameter, problem));
        let share = self.contention_share();
        Fault::unless("contention", share, |it| (0.0..=0.9).contains(&it), "0 to 0.9, or \"auto\"")?;
        if share == 0.0 && self.has_agent() && self.control != ControlPlace::OutOfBand {
            let problem = "expected more than 0: without a contention part no node can send before it has a slot, and \
                           agents find slots by messages";
            return fault("contention", problem.to_owned());
        }
        // In turn there are as many slots as nodes, which the stations' check knows.
        let part = self.contention_part(u64::from(self.unused_slots) + self.slots_between(1));
        let random = self.contention_access == Access::RandomSlot;
        let smallest = self.airtime(SMALLEST_PACKET) + self.guard;
        if random && self.contention_slot < smallest {
            let found = self.contention_slot;
            let expected = format!("expected at least {smallest} (a packet of {SMALLEST_PACKET} bytes and guard)");
            return fault("contention_slot", format!("{expected}, found {found}"));
        }
        let least = self.least_part();
        if share > 0.0 && self.schedule != Schedule::Rule(Rule::InTurn) && part < least {
            return fault("contention", format!("expected a contention part of at least {least}, found one of {part}"));
        }
        Fault::unless("backoff_window", self.backoff_window, |it| (1..=65_536).contains(&it), "1 to 65536")?;
        Fault::unless("backoff_slot", self.backoff_slot, |it| !it.is_zero(), "more than 0 s")?;
        let contends = self.empty_slots == EmptySlots::Contend;
        if contends && self.owner_wait + self.exchange(SMALLEST_PACKET) + self.guard > self.slot {
            let most = self.slot.saturating_sub(self.exchange(SMALLEST_PACKET) + self.guard);
            let expected =
                format!("expected at most {most}, which leaves room for a packet of {SMALLEST_PACKET} bytes");
            return fault("owner_wait", format!("{expected} in the slot, found {}", self.owner_wait));
        }
        Ok(())
    }

    fn check_clocks(&self) -> Result<(), Fault> {
        const MOST: Span = Span::from_secs(3600);
        const FASTEST: f64 = 1e5;
        Fault::unless("clock_offset", self.clock_offset, |it| it <= MOST, format_args!("at most {MOST}"))?;
        if !(0.0..=FASTEST).contains(&self.clock_drift) {
            return Err(Fault::new("clock_drift", format!("expected 0 to {FASTEST}, found {}", self.clock_drift)));
        }
        for (name, list, most) in [
            ("clock_offsets", &self.clock_offsets, MOST.seconds() * 1e6),
            ("clock_drifts", &self.clock_drifts, FASTEST),
        ] {
            let bad = list.iter().enumerate().filter(|(_, value)| value.is_nan() || value.abs() > most);
            let bad = bad.map(|(place, value)| (place, format!("expected {} to {most}, found {value}", -most)));
            Fault::of_elements(name, bad.collect())?;
        }
        Ok(())
    }
}
