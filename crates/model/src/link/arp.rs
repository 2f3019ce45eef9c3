//! Address resolution: a packet waits until its next hop's link address is known.
//!
//! Read: RFC 826 (the algorithm), RFC 1122 §2.3.2 (timeouts, requests at most once a second, at least one packet held).
//! One implementation covers both profiles, which differ in five parameters. ns-2 (read for the facts: `mac/arp.cc`)
//! holds one packet for each neighbour, and drops it when another comes. It sends one request for each packet and none
//! on a timer, and gives up at the fourth packet. It learns from every message heard, and never forgets. An agent may
//! let an interface answer for the address of another node (proxy ARP, RFC 1027). It may also announce addresses (RFC
//! 5227 §3). Neighbours that know an announced address take it over. An interface has one number as its address and as
//! its link address. Left out: unicast polls, probes for duplicate addresses. Validated by tests of message exchanges
//! in each profile.

use std::collections::VecDeque;

use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, DropReason};
use crate::packet::{ArpMessage, Body, FlowId, Packet, PacketId};
use crate::params::{self, Fault, NS2, RFC, Shared, Unused, unused_where};

/// The size of a message for IPv4 over 802 addresses, in bytes (RFC 826).
pub const MESSAGE_SIZE: u32 = 28;

/// Whether addresses are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Resolution {
    /// By messages.
    Arp,
    /// All link addresses are known.
    Off,
}

/// When requests are repeated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Pacing {
    /// After `retry` without a reply.
    Timer,
    /// With each further packet for the same neighbour.
    Arrivals,
}

/// Whose address is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Learning {
    /// The address of a node whose message is for this node, or whose address this node has or has requested (RFC 826).
    Addressed,
    /// The address of every node whose message is received.
    Overheard,
}

/// Parameters of address resolution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whether addresses are resolved by messages ("arp") or known beforehand ("off").
    pub resolution: Resolution,
    /// How many packets can wait for one neighbour's address. When one more comes, the oldest is dropped.
    pub hold: u32,
    /// How many requests are sent before the link counts as failed.
    pub requests: u32,
    /// When requests are repeated: "timer" or "arrivals" (with each further packet for the neighbour).
    pub pacing: Pacing,
    /// How long to wait for a reply; only with pacing "timer".
    pub retry: Span,
    /// Largest random time added to `retry`. The MAC does not repeat a broadcast that has collided. Without the random
    /// time, two nodes that send a request in the same instant would collide at every retry.
    pub retry_jitter: Span,
    /// How long an address stays valid after the last message of its node; "0 s" means without limit.
    pub lifetime: Span,
    /// Whose addresses are kept: "addressed" (RFC 826) or "overheard".
    pub learning: Learning,
    /// The time that a message, or a packet that waited for an address, takes to reach the interface queue.
    pub delay: Span,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2];

    fn of_profile(profile: &str) -> Self {
        if profile == NS2 {
            Self {
                resolution: Resolution::Arp,
                hold: 1,
                requests: 3,
                pacing: Pacing::Arrivals,
                retry: Span::from_secs(1),
                retry_jitter: Span::ZERO,
                lifetime: Span::ZERO,
                learning: Learning::Overheard,
                delay: Span::from_micros(5),
            }
        } else {
            Self {
                resolution: Resolution::Arp,
                hold: 50,
                requests: 3,
                pacing: Pacing::Timer,
                // RFC 1122 §2.3.2.1: at most one request a second for a destination, entries for about a minute.
                retry: Span::from_secs(1),
                retry_jitter: Span::from_millis(100),
                lifetime: Span::from_secs(60),
                learning: Learning::Addressed,
                delay: Span::ZERO,
            }
        }
    }

    fn check(&self) -> Result<(), Fault> {
        if self.hold == 0 {
            // RFC 1122 §2.3.2.2: the latest packet at least is saved.
            return Err(Fault::new("hold", "must be at least 1, found 0"));
        }
        if self.requests == 0 {
            return Err(Fault::new("requests", "must be at least 1, found 0"));
        }
        if self.pacing == Pacing::Timer && self.retry.is_zero() {
            return Err(Fault::new("retry", "must be above zero with pacing \"timer\""));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        unused_where([
            (
                self.resolution == Resolution::Off,
                "resolution",
                &["hold", "requests", "pacing", "retry", "retry_jitter", "lifetime", "learning", "delay"],
            ),
            (self.pacing == Pacing::Arrivals, "pacing", &["retry", "retry_jitter"]),
        ])
    }
}

/// The state of a neighbour.
#[derive(Clone, Debug)]
enum State {
    /// Its link address is the interface with this address, which is valid until a time.
    Known { until: Time, at: Address },
    /// Its address has been requested, and packets wait for it.
    Asked { held: VecDeque<PacketId>, requests: u32, retry_at: Time },
}

/// The address resolution of one interface.
#[derive(Clone, Debug)]
pub struct Arp {
    node: NodeId,
    /// The address of the interface.
    address: Address,
    params: Shared<Params>,
    /// Addresses of other nodes for which the interface answers.
    proxied: Vec<Address>,
    /// The network of the interface. Announcements for others count within this prefix only, because several may share
    /// a channel.
    network: Prefix,
    /// Sorted by neighbour; there are few neighbours.
    neighbours: Vec<(Address, State)>,
    /// Frames for the link to send, each with its receiver.
    ready: Vec<(PacketId, Address)>,
    deadline: Time,
    rng: Rng,
}

impl Arp {
    /// Address resolution that knows no address yet.
    #[must_use]
    pub fn new(node: NodeId, address: Address, params: Shared<Params>, rng: Rng) -> Self {
        let (proxied, neighbours, ready) = (Vec::new(), Vec::new(), Vec::new());
        let network = Prefix::DEFAULT;
        Self { node, address, params, proxied, network, neighbours, ready, deadline: Time::NEVER, rng }
    }

    /// Resolves the address for a packet to a neighbour. Without a result, address resolution keeps the packet. Later
    /// the packet comes back through [`Arp::take_ready`] or as `Action::LinkFailed`, or it is dropped.
    pub fn resolve(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context) -> Option<Address> {
        if self.params.resolution == Resolution::Off {
            return Some(next_hop);
        }
        let index = match self.find(next_hop) {
            Ok(index) => index,
            Err(index) => {
                self.neighbours.insert(index, (next_hop, State::unasked()));
                index
            }
        };
        let state = &mut self.neighbours[index].1;
        if let State::Known { until, at } = *state {
            if until > cx.now {
                return Some(at);
            }
            *state = State::unasked();
        }
        let State::Asked { held, requests, retry_at } = state else { unreachable!("a known neighbour was dealt with") };
        let by_arrivals = self.params.pacing == Pacing::Arrivals;
        if by_arrivals && *requests >= self.params.requests {
            *requests = 0;
            held.push_back(packet);
            for packet in held.drain(..) {
                let (interface, to) = (self.address.into(), next_hop.into());
                cx.act(Action::LinkFailed { interface, packet, to, reason: DropReason::ArpFailed });
            }
            return None;
        }
        if held.len() >= self.params.hold as usize
            && let Some(oldest) = held.pop_front()
        {
            cx.drop_packet(self.node, oldest, DropReason::ArpReplaced);
        }
        held.push_back(packet);
        if by_arrivals || *requests == 0 {
            *requests += 1;
            if !by_arrivals {
                *retry_at = cx.now + wait(&self.params, &mut self.rng);
                self.deadline = self.deadline.min(*retry_at);
            }
            self.request(next_hop, cx);
        }
        None
    }

    /// The time that a message, or a packet that waited for an address, takes to reach the interface queue.
    #[must_use]
    pub fn delay(&self) -> Span {
        self.params.delay
    }

    /// Tells the network of the interface.
    pub const fn set_network(&mut self, network: Prefix) {
        self.network = network;
    }

    /// Answers for an address of another node from now on, and tells the neighbours so; or no longer.
    pub fn set_proxy(&mut self, address: Address, answers: bool, cx: &mut Context) {
        self.proxied.retain(|&it| it != address);
        if answers {
            self.proxied.push(address);
            self.announce(address, cx);
        }
    }

    /// Knows the link address of a neighbour that was heard, until a time.
    pub fn learn(&mut self, neighbour: Address, until: Time) {
        let known = |until| State::Known { until, at: neighbour };
        match self.find(neighbour) {
            Ok(index) => {
                let state = &mut self.neighbours[index].1;
                match state {
                    State::Known { until: before, at } if *at == neighbour => *before = until.max(*before),
                    _ => {
                        if let State::Asked { held, .. } = std::mem::replace(state, known(until)) {
                            self.ready.extend(held.into_iter().map(|packet| (packet, neighbour)));
                            self.set_deadline();
                        }
                    }
                }
            }
            Err(index) => self.neighbours.insert(index, (neighbour, known(until))),
        }
    }

    /// Tells the neighbours that this interface has an address (RFC 5227 §3).
    pub fn announce(&mut self, address: Address, cx: &mut Context) {
        if self.params.resolution == Resolution::Arp {
            self.message(ArpMessage::Request { target: address }, address, Address::BROADCAST, cx);
        }
    }

    /// Receives a message that the interface `from` has sent, and removes its packet.
    pub fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let Packet { source, destination, body, .. } = cx.deliver(packet);
        let Body::Arp(message) = body else { unreachable!("the link hands over messages of address resolution only") };
        if self.params.resolution == Resolution::Off {
            return;
        }
        let is_near = |address: Address| self.network.contains(cx.owners.name(address));
        if source != from && !is_near(from) {
            return;
        }
        let answers = |target: Address| target == self.address || (self.proxied.contains(&target) && is_near(source));
        let for_me = match message {
            // Who announces its own address asks nobody.
            ArpMessage::Request { target } => target != source && answers(target),
            ArpMessage::Reply => destination == self.address,
        };
        // RFC 826: update the entry of a known sender; add the sender of a message for this node.
        let found = self.find(source);
        if found.is_ok() || for_me || self.params.learning == Learning::Overheard {
            let known = State::Known { until: self.believed_until(cx.now), at: from };
            match found {
                Ok(index) => {
                    if let State::Asked { held, .. } = std::mem::replace(&mut self.neighbours[index].1, known) {
                        self.ready.extend(held.into_iter().map(|packet| (packet, from)));
                        self.set_deadline();
                    }
                }
                Err(index) => self.neighbours.insert(index, (source, known)),
            }
        }
        if let ArpMessage::Request { target } = message
            && for_me
        {
            self.message(ArpMessage::Reply, target, source, cx);
        }
    }

    /// The deadline is reached: repeats requests, or gives the packets back as failed.
    pub fn on_timer(&mut self, cx: &mut Context) {
        let mut again = Vec::new();
        let (address, params, rng) = (self.address, &self.params, &mut self.rng);
        self.neighbours.retain_mut(|(neighbour, state)| {
            let State::Asked { held, requests, retry_at } = state else { return true };
            if *retry_at > cx.now {
                return true;
            }
            if *requests < params.requests {
                *requests += 1;
                *retry_at = cx.now + wait(params, rng);
                again.push(*neighbour);
                return true;
            }
            for packet in held.drain(..) {
                let (interface, to) = (address.into(), (*neighbour).into());
                cx.act(Action::LinkFailed { interface, packet, to, reason: DropReason::ArpFailed });
            }
            false
        });
        for neighbour in again {
            self.request(neighbour, cx);
        }
        self.set_deadline();
    }

    /// When `on_timer` must next be called.
    #[inline]
    #[must_use]
    pub const fn deadline(&self) -> Time {
        self.deadline
    }

    /// Frames to send now, in order: messages, and packets whose address has become known.
    pub fn take_ready(&mut self) -> std::vec::Drain<'_, (PacketId, Address)> {
        self.ready.drain(..)
    }

    /// The packets that wait for an address.
    pub fn held(&self) -> impl Iterator<Item = PacketId> + '_ {
        let waiting = self.neighbours.iter().flat_map(|(_, state)| match state {
            State::Known { .. } => None.into_iter().flatten(),
            State::Asked { held, .. } => Some(held.iter().copied()).into_iter().flatten(),
        });
        waiting.chain(self.ready.iter().map(|(packet, _)| *packet))
    }

    /// Forgets all addresses, and all packets.
    pub(super) fn clear(&mut self) {
        self.neighbours.clear();
        self.ready.clear();
        self.deadline = Time::NEVER;
    }

    fn find(&self, neighbour: Address) -> Result<usize, usize> {
        self.neighbours.binary_search_by_key(&neighbour, |(node, _)| *node)
    }

    fn believed_until(&self, now: Time) -> Time {
        if self.params.lifetime.is_zero() { Time::NEVER } else { now + self.params.lifetime }
    }

    fn set_deadline(&mut self) {
        self.deadline = (self.neighbours.iter())
            .filter_map(|(_, state)| match state {
                State::Asked { retry_at, .. } => Some(*retry_at),
                State::Known { .. } => None,
            })
            .min()
            .unwrap_or(Time::NEVER);
    }

    fn request(&mut self, target: Address, cx: &mut Context) {
        self.message(ArpMessage::Request { target }, self.address, Address::BROADCAST, cx);
    }

    fn message(&mut self, message: ArpMessage, source: Address, destination: Address, cx: &mut Context) {
        let packet = cx.originate(Packet {
            created: cx.now,
            source,
            destination,
            flow: FlowId::NONE,
            size: MESSAGE_SIZE,
            ttl: 1,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Arp(message),
        });
        self.ready.push((packet, destination));
    }
}

/// How long to wait for the reply to this request.
fn wait(params: &Params, rng: &mut Rng) -> Span {
    params.retry + params.retry_jitter.mul_f64(rng.uniform())
}

impl State {
    const fn unasked() -> Self {
        Self::Asked { held: VecDeque::new(), requests: 0, retry_at: Time::NEVER }
    }
}

#[cfg(test)]
mod tests;
