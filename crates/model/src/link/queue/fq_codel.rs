//! Flow queue CoDel: a queue with CoDel for each flow, served in turn, new flows first.
//!
//! RFC 8290 §4, and Linux 6.1 (`net/sched/sch_fq_codel.c`, read for the facts) where the RFC leaves a choice. Validated
//! by fairness in bytes, and packet by packet against ns-3.37 (`docs/validation.md`).

use std::collections::VecDeque;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MARKS;
use super::codel::{Backlog, Control, Fifo, Law};
use super::discipline::{Desk, Item, QueueDiscipline, Room, Takes};
use crate::context::DropReason;
use crate::packet::{Body, ETHERNET, Packet};
use crate::params::{self, Fault, LINUX, Metric, RFC};

/// Parameters of flow queue CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The time for which packets may wait.
    pub target: Span,
    /// How long all packets of a flow have waited longer than `target` when the first is dropped.
    pub interval: Span,
    /// No packet is dropped for its delay while at most so much waits behind it.
    pub backlog: Bytes,
    /// Whether that counts in the packet's flow (ns-3), or in all flows together (Linux).
    pub backlog_of_flow: bool,
    /// Length of the queue in packets. One packet more, and packets of the flow with most bytes are dropped.
    pub limit: u32,
    /// How many of these packets are dropped at most, up to half of the flow's bytes.
    pub drop_batch: u32,
    /// The number of queues, among which flows are spread by a hash of addresses, ports and protocol.
    pub flows: u32,
    /// The bytes that a flow may send in its turn.
    pub quantum: Bytes,
    /// Whether an empty new flow waits for a turn of the old flows though there are none: then its next packet is not
    /// one of a new flow.
    pub empty_waits: bool,
    /// Whether packets that a full queue drops count as drops of CoDel, which then drops more often.
    pub full_counts: bool,
    /// Whether packets are marked instead of dropped, where their transport understands that (ECN, RFC 3168).
    pub ecn: bool,
    /// Whether times and the square root of the number of drops are as coarse as in Linux and ns-3 (see `codel`).
    pub coarse: bool,
}

/// The most queues that there can be.
const MOST_FLOWS: u32 = 65_535;

impl Params {
    fn law(&self) -> Law {
        let &Self { target, interval, ecn, coarse, .. } = self;
        Law { target, interval, backlog: self.backlog.count(), ecn, coarse }
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, LINUX];

    fn of_profile(profile: &str) -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            backlog: Bytes::new(1500),
            backlog_of_flow: profile != LINUX,
            limit: 10_240,
            drop_batch: 64,
            flows: 1024,
            quantum: Bytes::new(1514),
            empty_waits: profile != LINUX,
            full_counts: profile == LINUX,
            ecn: true,
            coarse: profile == LINUX,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        self.law().check()?;
        for (parameter, value, most) in [
            ("limit", u64::from(self.limit), u64::MAX),
            ("drop_batch", u64::from(self.drop_batch), u64::MAX),
            ("flows", u64::from(self.flows), u64::from(MOST_FLOWS)),
        ] {
            if value == 0 || value > most {
                let expected = if most == u64::MAX { "at least 1".to_owned() } else { format!("from 1 to {most}") };
                return Err(Fault::new(parameter, format!("expected {expected}, found {value}")));
            }
        }
        // A smaller quantum would need several turns for each packet.
        Fault::unless("quantum", self.quantum, |it| (256..=1_000_000).contains(&it.count()), "from 256 B to 1 MB")?;
        Ok(())
    }
}

/// The queue of the flows with one value of the hash.
#[derive(Clone, Debug, Default)]
struct Flow {
    fifo: Fifo,
    control: Control,
    /// The bytes that it may still send in its turn; below zero after a packet that was larger.
    credit: i64,
    /// Whether it is in one of the two lists.
    is_listed: bool,
}

/// A queue for each flow.
#[derive(Clone, Debug)]
pub struct FqCoDel {
    params: Params,
    law: Law,
    /// A number that makes the hash of each queue another one.
    salt: u64,
    /// The place in `flows` of each value of the hash, as far as a packet with it has come.
    places: Vec<u16>,
    flows: Vec<Flow>,
    /// The flows whose turn it is, in order, by their places.
    new: VecDeque<u16>,
    old: VecDeque<u16>,
    packets: usize,
    bytes: u64,
}

/// No place.
const NONE: u16 = u16::MAX;

/// A flow's packets, as CoDel sees them.
struct OfFlow<'a> {
    fifo: &'a mut Fifo,
    alone: bool,
    packets: &'a mut usize,
    bytes: &'a mut u64,
}

impl Backlog for OfFlow<'_> {
    fn take(&mut self, takes: Option<Takes<'_>>, desk: &Desk<'_>) -> Option<Item> {
        let item = self.fifo.take(takes, desk)?;
        *self.packets -= 1;
        *self.bytes -= u64::from(item.size);
        Some(item)
    }

    fn is_empty(&self) -> bool {
        self.fifo.is_empty()
    }

    fn bytes(&self) -> u64 {
        if self.alone { self.fifo.bytes } else { *self.bytes }
    }
}

/// The words that tell one flow from another: addresses, ports and protocol. Ports belong to the number of the flow.
fn key(packet: &Packet) -> [u64; 2] {
    let (ends, kind) = (u64::from(packet.source.0) << 32 | u64::from(packet.destination.0), packet.kind() as u64);
    match packet.carried() {
        Body::External(bytes) => [ends, of_datagram(bytes)],
        // The ends of a frame are those of a hop.
        Body::Frame(bytes) if matches!(bytes.get(ETHERNET - 2..ETHERNET), Some([8, 0])) => {
            let datagram = &bytes[ETHERNET..];
            let ends = datagram.get(12..20).and_then(|it| it.try_into().ok()).map_or(ends, u64::from_be_bytes);
            [ends, of_datagram(datagram)]
        }
        // A flow's data and its acknowledgements have different ends.
        Body::Tcp(header) => [ends, u64::from(header.connection) << 40 | u64::from(packet.flow.0) << 8 | 6],
        Body::Udp(_) => [ends, u64::from(packet.flow.0) << 8 | 17],
        _ => [ends, u64::from(packet.flow.0) << 8 | 0x80 | kind],
    }
}

/// The word of ports and protocol of an IPv4 datagram.
fn of_datagram(bytes: &[u8]) -> u64 {
    let header = 4 * usize::from(bytes.first().map_or(5, |first| first & 15));
    let ports = bytes.get(header..header + 4).and_then(|it| it.try_into().ok()).map_or(0, u32::from_be_bytes);
    u64::from(ports) << 8 | u64::from(bytes.get(9).copied().unwrap_or(0))
}

impl FqCoDel {
    /// The place of a packet's flow.
    fn place(&mut self, packet: &Packet) -> usize {
        let mut hash = self.salt;
        for word in key(packet) {
            // The finaliser of SplitMix64.
            hash = (hash ^ word).wrapping_add(0x9e37_79b9_7f4a_7c15);
            hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            hash ^= hash >> 31;
        }
        let place = &mut self.places[(hash % u64::from(self.params.flows)) as usize];
        if *place == NONE {
            *place = self.flows.len() as u16;
            self.flows.push(Flow::default());
        }
        usize::from(*place)
    }

    /// Drops packets from the head of the flow with most bytes (RFC 8290 §4.1).
    fn drop_from_longest(&mut self, desk: &mut Desk<'_>) {
        let longest = (0..self.flows.len()).rev().max_by_key(|place| self.flows[*place].fifo.bytes);
        let Some(flow) = longest.map(|place| &mut self.flows[place]) else { return };
        let half = flow.fifo.bytes / 2;
        let mut dropped = 0;
        for _ in 0..self.params.drop_batch {
            let Some(item) = flow.fifo.remove(0) else { break };
            dropped += u64::from(item.size);
            if self.params.full_counts {
                flow.control.count_drop();
            }
            self.packets -= 1;
            self.bytes -= u64::from(item.size);
            desk.drop(&item, DropReason::QueueFull);
            if dropped >= half {
                break;
            }
        }
    }
}

impl QueueDiscipline for FqCoDel {
    type Params = Params;

    const METRICS: &'static [Metric] = &[MARKS];
    const OWN_LENGTH: Option<&'static str> = Some("limit");

    fn new(params: &Params, _room: &Room, mut draws: Rng) -> Self {
        Self {
            params: params.clone(),
            law: params.law(),
            salt: draws.next_u64(),
            places: vec![NONE; params.flows as usize],
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            packets: 0,
            bytes: 0,
        }
    }

    fn push(&mut self, item: Item, desk: &mut Desk<'_>) {
        let place = self.place(&desk.cx.packets[item.packet]);
        let flow = &mut self.flows[place];
        flow.fifo.push(item);
        self.packets += 1;
        self.bytes += u64::from(item.size);
        if !flow.is_listed {
            flow.is_listed = true;
            flow.credit = self.params.quantum.count() as i64;
            self.new.push_back(place as u16);
        }
        if self.packets > self.params.limit as usize {
            self.drop_from_longest(desk);
        }
    }

    fn pop(&mut self, takes: Option<Takes<'_>>, desk: &mut Desk<'_>) -> Option<Item> {
        // The flows at the front whose packets the MAC does not take keep their places.
        let (mut passed_new, mut passed_old) = (0, 0);
        loop {
            let is_new = passed_new < self.new.len();
            let (list, passed) =
                if is_new { (&mut self.new, &mut passed_new) } else { (&mut self.old, &mut passed_old) };
            let place = *list.get(*passed)?;
            let flow = &mut self.flows[usize::from(place)];
            if !flow.fifo.is_empty() && desk.first(&flow.fifo.items, takes).is_none() {
                *passed += 1;
                continue;
            }
            if flow.credit <= 0 {
                flow.credit += self.params.quantum.count() as i64;
                list.remove(*passed);
                self.old.push_back(place);
                continue;
            }
            let Flow { fifo, control, .. } = flow;
            let alone = self.params.backlog_of_flow;
            let mut queue = OfFlow { fifo, alone, packets: &mut self.packets, bytes: &mut self.bytes };
            if let Some(item) = control.pop(&self.law, &mut queue, takes, desk) {
                self.flows[usize::from(place)].credit -= i64::from(item.size);
                return Some(item);
            }
            if !self.flows[usize::from(place)].fifo.is_empty() {
                // CoDel has dropped all that the MAC would have taken.
                *passed += 1;
                continue;
            }
            list.remove(*passed);
            // An empty new flow waits for a turn of the old ones, so that it does not come first again (RFC 8290 §4.2).
            // Linux lets it go if there is no old one, though other new ones wait.
            if is_new && (self.params.empty_waits || !self.old.is_empty()) {
                self.old.push_back(place);
            } else {
                self.flows[usize::from(place)].is_listed = false;
            }
        }
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
        // Empty flows leave the lists when their turn comes.
        self.flows.iter_mut().for_each(|flow| flow.fifo.retain(keep));
        self.packets = self.flows.iter().map(|flow| flow.fifo.items.len()).sum();
        self.bytes = self.flows.iter().map(|flow| flow.fifo.bytes).sum();
    }

    fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.new.iter().chain(&self.old).flat_map(|place| &self.flows[usize::from(*place)].fifo.items))
    }

    fn waiting(&self) -> usize {
        self.packets
    }
}
