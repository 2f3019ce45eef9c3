//! Neighbour discovery: which nodes are one hop away, and which two.
//!
//! Read: RFC 6130 (NHDP), a small part; RFC 3626 §6 and §7 for the check of both directions.
//!
//! Each node broadcasts a HELLO at an interval. A HELLO has the addresses of the neighbours that the node has heard,
//! each with a mark whether that neighbour hears the node. A neighbour whose HELLO names this node hears it: the link
//! is symmetric. The symmetric neighbours of a symmetric neighbour are two hops away.
//!
//! A node is known by the address of its first interface, the source of its HELLOs, on whatever channel or wire they
//! come. They go to the multicast group of MANET routers (RFC 5498), but not to its port 269: that one promises
//! messages in the format of RFC 5444. Their port is a port that nobody is assigned (RFC 6335 §6).
//!
//! Left out: the addresses of further interfaces, link quality, hysteresis, the sequence numbers and the message format
//! of RFC 5444. The bytes are a format of this program (`encode`): a word with the number of neighbours, then for each
//! its address and a word with its state.
//!
//! Validated against the geometry of grids, and of nodes that leave (`tests/agents.rs`).

use std::collections::BTreeSet;
use std::net::Ipv4Addr;

use hopyard_engine::{Rng, Span, Time};
use hopyard_wire::WireError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::protocol::{Agent, AgentFacts};
use super::site::Site;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason};
use crate::packet::{Body, Carrier, Datagram, FlowId, IP_HEADER, Packet, PacketId, RoutingMessage, UDP_HEADER};
use crate::params::{self, Fault};

/// Parameters of neighbour discovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Time between the HELLO messages of a node.
    pub interval: Span,
    /// By how much each interval may be shorter, at random, so that nodes do not send together (RFC 5148 §5.2); at most
    /// half of it.
    pub jitter: Span,
    /// How long a neighbour counts as heard after its last HELLO.
    pub hold: Span,
    /// Whether a frame that a neighbour sends to another node counts as heard too (promiscuous mode). Whether the
    /// neighbour hears this node, and which neighbours it has, is known from HELLOs only.
    pub overhear: bool,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { interval: Span::from_secs(2), jitter: Span::from_millis(500), hold: Span::from_secs(6), overhear: false }
    }

    fn check(&self) -> Result<(), Fault> {
        Fault::unless("interval", self.interval, |it| it >= Span::from_millis(1), "at least 1 ms")?;
        params::check_jitter("jitter", self.jitter, "interval", self.interval)?;
        if self.hold < self.interval {
            return Err(Fault::new(
                "hold",
                format!("expected at least `interval`, {}; found {}", self.interval, self.hold),
            ));
        }
        Ok(())
    }
}

/// The entry of a HELLO for a neighbour of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// The neighbour.
    pub address: Address,
    /// Whether the sender knows that the neighbour hears it.
    pub symmetric: bool,
}

/// A HELLO message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The neighbours that the sender has heard, sorted.
    pub heard: Vec<Heard>,
}

impl Hello {
    /// Its bytes without the headers of IP and UDP.
    const fn bytes(&self) -> u32 {
        4 + 8 * self.heard.len() as u32
    }
}

impl Datagram<Address> for Hello {
    fn kind(&self) -> &'static str {
        "HELLO"
    }

    fn encode(&self, name: &dyn Fn(Address) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        out.extend((self.heard.len() as u32).to_be_bytes());
        for heard in &self.heard {
            out.extend(name(heard.address).octets());
            out.extend(u32::from(heard.symmetric).to_be_bytes());
        }
        Ok(Carrier::Udp(PORT))
    }
}

/// The UDP port: one of the dynamic ports, which are assigned to nobody (RFC 6335 §6).
const PORT: u16 = 49_269;

impl AgentFacts for Params {
    const MESSAGES: &'static [&'static str] = &["HELLO"];
    const PORTS: &'static [u16] = &[PORT];
}

/// The state of a neighbour.
#[derive(Clone, Debug)]
struct Neighbour {
    address: Address,
    until: Time,
    /// Until when its HELLOs say that it hears this node (RFC 6130 §4.3, `L_SYM_time`).
    symmetric_until: Time,
    /// Its own symmetric neighbours, sorted.
    beyond: Vec<Address>,
}

/// Neighbour discovery at one node.
#[derive(Debug)]
pub struct Neighbours {
    node: NodeId,
    params: Params,
    rng: Rng,
    /// Sorted by address.
    neighbours: Vec<Neighbour>,
    next: Time,
}

impl Neighbours {
    /// Neighbour discovery at a place.
    #[must_use]
    pub const fn new(params: &Params, site: &Site, rng: Rng) -> Self {
        let Params { interval, jitter, hold, overhear } = *params;
        let params = Params { interval, jitter, hold, overhear };
        Self { node: site.node, params, rng, neighbours: Vec::new(), next: Time::NEVER }
    }

    /// The neighbours that are heard at a time, whether or not they hear this node; sorted.
    #[must_use]
    pub fn heard(&self, now: Time) -> Vec<Address> {
        self.neighbours.iter().filter(|it| it.until > now).map(|it| it.address).collect()
    }

    /// The symmetric neighbours at a time, sorted.
    #[must_use]
    pub fn one_hop(&self, now: Time) -> Vec<Address> {
        self.symmetric(now).map(|it| it.address).collect()
    }

    /// The nodes that a symmetric neighbour has as such, and that are not neighbours of this node; sorted.
    #[must_use]
    pub fn two_hop(&self, now: Time) -> Vec<Address> {
        let near: BTreeSet<Address> = self.symmetric(now).map(|it| it.address).chain([self.node.into()]).collect();
        let beyond: BTreeSet<Address> = self.symmetric(now).flat_map(|it| it.beyond.iter().copied()).collect();
        beyond.difference(&near).copied().collect()
    }

    fn symmetric(&self, now: Time) -> impl Iterator<Item = &Neighbour> {
        self.neighbours.iter().filter(move |it| it.symmetric_until > now)
    }

    fn send(&mut self, cx: &mut Context) {
        self.neighbours.retain(|it| it.until > cx.now);
        let heard = |it: &Neighbour| Heard { address: it.address, symmetric: it.symmetric_until > cx.now };
        let hello = Hello { heard: self.neighbours.iter().map(heard).collect() };
        let packet = cx.originate(Packet {
            created: cx.now,
            source: self.node.into(),
            destination: Address::MANET_ROUTERS,
            flow: FlowId::NONE,
            size: IP_HEADER + UDP_HEADER + hello.bytes(),
            ttl: 1,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Control { port: PORT, message: RoutingMessage::new(hello) },
        });
        cx.act(Action::Send { node: self.node, packet, next_hop: Address::BROADCAST });
        self.next = cx.now + self.params.interval - self.params.jitter.mul_f64(self.rng.uniform());
    }
}

impl Agent for Neighbours {
    fn start(&mut self, cx: &mut Context) {
        // Nodes do not all begin at once.
        self.next = cx.now + self.params.interval.mul_f64(self.rng.uniform());
    }

    fn on_message(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        let (now, from) = (cx.now, cx.packets[packet].source);
        let Some(hello) = cx.packets[packet].message::<Hello>() else {
            return cx.drop_packet(self.node, packet, DropReason::NoListener);
        };
        let heard = &hello.heard;
        let address = Address::from(self.node);
        let until = now + self.params.hold;
        // A HELLO lists all neighbours that its sender hears. One without this node ends the symmetry at once.
        let symmetric_until = if heard.iter().any(|it| it.address == address) { until } else { Time::ZERO };
        let place = self.neighbours.binary_search_by_key(&from, |it| it.address).unwrap_or_else(|place| {
            self.neighbours.insert(place, Neighbour { address: from, until, symmetric_until, beyond: Vec::new() });
            place
        });
        let neighbour = &mut self.neighbours[place];
        (neighbour.until, neighbour.symmetric_until) = (until, symmetric_until);
        // Most HELLOs of a neighbour have about as many addresses as the one before.
        neighbour.beyond.clear();
        neighbour.beyond.extend(heard.iter().filter(|it| it.symmetric && it.address != address).map(|it| it.address));
        cx.deliver(packet);
    }

    fn overhears(&self) -> bool {
        self.params.overhear
    }

    fn on_overheard(&mut self, _packet: PacketId, from: Address, _to: Address, cx: &mut Context) {
        let from = Address::from(cx.owners.of(from));
        let until = cx.now + self.params.hold;
        match self.neighbours.binary_search_by_key(&from, |it| it.address) {
            Ok(place) => self.neighbours[place].until = until,
            Err(place) => {
                let neighbour = Neighbour { address: from, until, symmetric_until: Time::ZERO, beyond: Vec::new() };
                self.neighbours.insert(place, neighbour);
            }
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.send(cx);
    }

    fn deadline(&self) -> Time {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;
    use hopyard_engine::Streams;

    fn agent(node: u32) -> Neighbours {
        Neighbours::new(
            &Params::of_profile("rfc"),
            &Site::of(NodeId(node)),
            Streams::new(1, 0).node(node as usize, "agent"),
        )
    }

    fn hear(agent: &mut Neighbours, cx: &mut Context, from: u32, heard: &[(u32, bool)]) {
        let heard = heard.iter().map(|&(n, symmetric)| Heard { address: Address(n), symmetric }).collect();
        let packet = cx.originate(Packet {
            created: cx.now,
            source: Address(from),
            destination: Address::BROADCAST,
            flow: FlowId::NONE,
            ttl: 1,
            hops: 1,
            ..crate::samples::packet(40, Body::Control { port: PORT, message: RoutingMessage::new(Hello { heard }) })
        });
        agent.on_message(packet, Address(from), cx);
    }

    #[test]
    fn a_link_counts_when_both_hear_each_other() {
        let (mut agent, mut cx) = (agent(0), Context::default());
        hear(&mut agent, &mut cx, 1, &[]);
        assert_eq!(agent.one_hop(cx.now), []);
        hear(&mut agent, &mut cx, 1, &[(0, false), (2, true), (3, false)]);
        assert_eq!(agent.one_hop(cx.now), [Address(1)]);
        assert_eq!(agent.two_hop(cx.now), [Address(2)], "node 1 does not know that node 3 hears it");
        hear(&mut agent, &mut cx, 2, &[(0, true), (1, true)]);
        assert_eq!(agent.two_hop(cx.now), [], "node 2 is a neighbour itself");
        assert_eq!(cx.ledger.outstanding(), 0);
    }

    #[test]
    fn a_neighbour_that_is_silent_is_forgotten() {
        let (mut agent, mut cx) = (agent(0), Context::default());
        hear(&mut agent, &mut cx, 1, &[(0, true)]);
        cx.now = Time::ZERO + Span::from_secs(6);
        assert_eq!(agent.one_hop(cx.now), []);
        agent.on_timer(&mut cx);
        let Some(Action::Send { packet, .. }) = cx.actions.pop_front() else { panic!("a HELLO is sent") };
        let packet = cx.deliver(packet);
        let Body::Control { message, .. } = &packet.body else { panic!("a control message") };
        assert_eq!(message.get(), Some(&Hello { heard: Vec::new() }));
        let mut bytes = Vec::new();
        let name = &|_| Ipv4Addr::LOCALHOST;
        assert_eq!(message.encode(name, &mut bytes), Ok(Carrier::Udp(PORT)));
        assert_eq!(packet.size, 28 + bytes.len() as u32);
        let next = agent.deadline().since(cx.now);
        assert!(next > Span::from_millis(1500) && next <= Span::from_secs(2), "{next}");
    }

    #[test]
    fn an_overheard_frame_tells_that_its_sender_is_heard_and_no_more() {
        let (mut agent, mut cx) = (agent(0), Context::default());
        assert!(!agent.overhears());
        agent.params.overhear = true;
        assert!(agent.overhears());
        hear(&mut agent, &mut cx, 1, &[(0, true), (3, true)]);
        cx.now = Time::ZERO + Span::from_secs(5);
        assert_eq!((agent.one_hop(cx.now), agent.two_hop(cx.now)), (vec![Address(1)], vec![Address(3)]));
        let packet = cx.originate(Packet {
            created: cx.now,
            source: Address(7),
            destination: Address(9),
            flow: FlowId::NONE,
            ttl: 1,
            hops: 1,
            ..crate::samples::packet(40, Body::Arp(crate::packet::ArpMessage::Reply))
        });
        agent.on_overheard(packet, Address(1), Address(9), &mut cx);
        agent.on_overheard(packet, Address(2), Address(9), &mut cx);
        cx.now = Time::ZERO + Span::from_secs(10);
        assert_eq!(agent.heard(cx.now), [Address(1), Address(2)], "the senders of the frames, not of the packet");
        assert_eq!((agent.one_hop(cx.now), agent.two_hop(cx.now)), (vec![], vec![]), "the HELLO was 10 s ago");
        agent.on_timer(&mut cx);
        let Some(Action::Send { packet, .. }) = cx.actions.pop_front() else { panic!("a HELLO is sent") };
        let Body::Control { message, .. } = cx.deliver(packet).body else { panic!("a control message") };
        let heard = [1, 2].map(|it| Heard { address: Address(it), symmetric: false }).to_vec();
        assert_eq!(message.get(), Some(&Hello { heard }));
        cx.now = Time::ZERO + Span::from_secs(11);
        assert_eq!(agent.heard(cx.now), []);
        assert_eq!(cx.ledger.outstanding(), 1, "the packet is on loan");
    }

    #[test]
    fn impossible_intervals_are_refused() {
        let fault = |change: fn(&mut Params)| crate::samples::fault("rfc", change).parameter;
        assert_eq!(fault(|p| p.interval = Span::ZERO), "interval");
        assert_eq!(fault(|p| p.jitter = Span::from_millis(1001)), "jitter");
        assert_eq!(fault(|p| p.hold = Span::from_secs(1)), "hold");
    }
}
