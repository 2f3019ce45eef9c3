//! One agent or host, message by message. Whole networks are in `tests/mobile_ip/` of this crate.

mod bytes;
mod ns2;
mod rfc3024;
mod rfc5944;

use std::net::Ipv4Addr;

use hopyard_engine::{Span, Streams, Time};
use hopyard_wire::mobile_ip::{AgentFlags, Code, RequestFlags};

use super::message::{Advertisement, Message, Proof, Reply, Request};
use super::{MobileIp, MoveDetection, Params, Procedure};
use crate::address::{Address, InterfaceId, NodeId, Prefix};
use crate::agent::protocol::Agent;
use crate::agent::{AgentInterface, Orders, Role, Site};
use crate::context::{Action, Context, DropReason, MobileChange, Owners, Way, WayChange};
use crate::packet::{Body, FlowId, Form, Packet, PacketKind, RoutingMessage, Undelivered, Unreachable};
use crate::params::Params as _;

/// The home agent, in 10.0.0.0/24.
const HA: Address = Address(0);
/// A foreign agent, in 10.0.1.0/24.
const FA: Address = Address(1);
/// The host, in 10.0.0.0/24.
const MH: Address = Address(2);
/// Another foreign agent, in 10.0.2.0/24.
const OTHER: Address = Address(3);
/// A host that no agent knows, in 10.0.3.0/24.
const STRANGER: Address = Address(4);

/// The other end of a wire of [`FA`], in 10.0.9.0/30.
const WIRED: Address = Address(5);

/// [`FA`]'s end of the wire.
const WIRE_END: Address = Address(NODES);

/// The first interfaces of the nodes in order, and [`FA`]'s end of the wire.
const NAMES: [[u8; 4]; 7] =
    [[10, 0, 0, 1], [10, 0, 1, 1], [10, 0, 0, 9], [10, 0, 2, 1], [10, 0, 3, 1], [10, 0, 9, 2], [10, 0, 9, 1]];
const NODES: u32 = 6;

fn name(address: Address) -> Ipv4Addr {
    NAMES[address.index()].into()
}

/// A message that a node has sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SentMessage {
    message: Message,
    source: Address,
    to: Address,
    /// The neighbour; none for a packet that goes as the tables say.
    next_hop: Option<Address>,
    ttl: u8,
}

impl SentMessage {
    fn request(&self) -> Request {
        match self.message {
            Message::Request(it) => it,
            other => panic!("no request: {other:?}"),
        }
    }

    fn reply(&self) -> Reply {
        match self.message {
            Message::Reply(it) => it,
            other => panic!("no reply: {other:?}"),
        }
    }

    fn advertisement(&self) -> Advertisement {
        match self.message {
            Message::Advertisement(it) => it,
            other => panic!("no advertisement: {other:?}"),
        }
    }
}

/// A node with Mobile IP, its clock, and what it has done.
struct Lone {
    agent: MobileIp,
    cx: Context,
    at: Address,
    /// The ways that it has set, by the name of the prefix.
    ways: Vec<(Prefix, WayChange)>,
    source_ways: Vec<Option<Way>>,
    events: Vec<MobileChange>,
    /// For which addresses it began or ended to answer.
    proxies: Vec<(Address, bool)>,
    announced: usize,
    /// Whose link addresses it has learned, and until when it knows them.
    learned: Vec<(Address, Time)>,
}

impl Lone {
    fn new(at: Address, role: Role, orders: Orders, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Params::of_profile("rfc");
        change(&mut params);
        params.check().expect("parameters are right");
        let node = NodeId(at.0);
        let port = |number: u32, length, is_radio| {
            let name = name(Address(number));
            AgentInterface { interface: InterfaceId(number), name, prefix: Prefix::of(name, length), is_radio }
        };
        let mut interfaces = vec![port(at.0, 24, true)];
        if at == FA {
            interfaces.push(port(NODES, 30, false));
        }
        let site = Site { node, interfaces, role, orders };
        let names = NAMES.map(Ipv4Addr::from).to_vec();
        let cx = Context { owners: Owners::new(NODES, vec![NodeId(FA.0)], names), ..Context::default() };
        let agent = MobileIp::new(&params, &site, Streams::new(7, 0).node(at.index(), "agent"));
        let mut lone = Self {
            agent,
            cx,
            at,
            ways: Vec::new(),
            source_ways: Vec::new(),
            events: Vec::new(),
            proxies: Vec::new(),
            announced: 0,
            learned: Vec::new(),
        };
        lone.agent.start(&mut lone.cx);
        assert!(lone.done().is_empty(), "nothing is sent at once");
        lone
    }

    /// The home agent of [`MH`], which first advertises at 100 s.
    fn home(change: impl FnOnce(&mut Params)) -> Self {
        Self::home_with(Orders::default(), change)
    }

    fn home_with(orders: Orders, change: impl FnOnce(&mut Params)) -> Self {
        let first = Some(Time::ZERO + Span::from_secs(100_000));
        let role = Role::Router { serves: vec![InterfaceId(HA.0)], is_foreign: false, hosts: vec![MH], first };
        Self::new(HA, role, orders, change)
    }

    /// A foreign agent, which first advertises at this second.
    fn foreign(first: u64, change: impl FnOnce(&mut Params)) -> Self {
        Self::foreign_with(first, Orders::default(), change)
    }

    fn foreign_with(first: u64, orders: Orders, change: impl FnOnce(&mut Params)) -> Self {
        let first = Some(Time::ZERO + Span::from_secs(first));
        let role = Role::Router { serves: vec![InterfaceId(FA.0)], is_foreign: true, hosts: Vec::new(), first };
        Self::new(FA, role, orders, change)
    }

    /// A foreign agent whose further interface is a radio on another channel, on which it does not serve.
    fn foreign_with_two_radios() -> Self {
        let mut lone = Self::foreign(1, |_| {});
        let port = |number: u32, name: Ipv4Addr, length| AgentInterface {
            interface: InterfaceId(number),
            name,
            prefix: Prefix::of(name, length),
            is_radio: true,
        };
        let interfaces = vec![port(FA.0, name(FA), 24), port(NODES, NAMES[NODES as usize].into(), 30)];
        let role = Role::Router { serves: vec![InterfaceId(FA.0)], is_foreign: true, hosts: Vec::new(), first: None };
        let site = Site { node: NodeId(FA.0), interfaces, role, orders: Orders::default() };
        lone.agent = MobileIp::new(&Params::of_profile("rfc"), &site, Streams::new(7, 0).node(FA.index(), "agent"));
        lone.agent.start(&mut lone.cx);
        lone
    }

    /// The host.
    fn host(change: impl FnOnce(&mut Params)) -> Self {
        Self::host_with(Orders::default(), change)
    }

    fn host_with(orders: Orders, change: impl FnOnce(&mut Params)) -> Self {
        let network = Prefix::of(name(HA), 24);
        Self::new(MH, Role::Host { home: MH, agent: HA, network, forged: Vec::new() }, orders, change)
    }

    /// What it has sent since it was last asked. All else is kept.
    fn done(&mut self) -> Vec<SentMessage> {
        let mut sent = Vec::new();
        while let Some(action) = self.cx.actions.pop_front() {
            let (packet, next_hop) = match action {
                Action::Route { packet, .. } => (packet, None),
                Action::Send { packet, next_hop, .. } | Action::SendBy { packet, next_hop, .. } => {
                    (packet, Some(next_hop))
                }
                Action::SetWay { prefix, change, .. } => {
                    self.ways.push((prefix, change));
                    continue;
                }
                Action::SetSourceWay { way, .. } => {
                    self.source_ways.push(way);
                    continue;
                }
                Action::Mobile { event, .. } => {
                    self.events.push(event.what);
                    continue;
                }
                Action::Proxy { address, answers, .. } => {
                    self.proxies.push((address, answers));
                    continue;
                }
                Action::Announce { .. } => {
                    self.announced += 1;
                    continue;
                }
                Action::Learn { neighbour, until, .. } => {
                    self.learned.push((neighbour, until));
                    continue;
                }
                Action::Reroute { .. } | Action::LeftNode { .. } | Action::Undelivered => continue,
                other => panic!("not for Mobile IP: {other:?}"),
            };
            let it = &self.cx.packets[packet];
            let Body::Control { message, .. } = &it.body else { panic!("no message") };
            let message = *message.get::<Message>().expect("a message of Mobile IP");
            sent.push(SentMessage { message, source: it.source, to: it.destination, next_hop, ttl: it.ttl });
            self.cx.end(packet);
        }
        sent
    }

    /// What it sends to a message with this source, from this neighbour.
    fn hears(&mut self, message: Message, source: Address, from: Address) -> Vec<SentMessage> {
        self.hears_after(0, message, source, from)
    }

    /// The same for a message that so many routers have passed on.
    fn hears_after(&mut self, routers: u8, message: Message, source: Address, from: Address) -> Vec<SentMessage> {
        self.gets(255 - routers, self.at, message, source, from)
    }

    /// The same for a message to this address of it.
    fn hears_at(&mut self, address: Address, message: Message, source: Address, from: Address) -> Vec<SentMessage> {
        self.gets(255, address, message, source, from)
    }

    fn gets(
        &mut self,
        ttl: u8,
        destination: Address,
        message: Message,
        source: Address,
        from: Address,
    ) -> Vec<SentMessage> {
        let packet = self.cx.originate(Packet {
            created: self.cx.now,
            source,
            destination,
            flow: FlowId::NONE,
            ttl,
            ..crate::samples::packet(
                message.bytes(false),
                Body::Control { port: message.port(), message: RoutingMessage::new(message) },
            )
        });
        self.agent.on_message(packet, from, &mut self.cx);
        self.done()
    }

    /// The agent at a time in seconds.
    fn at(&mut self, seconds: f64) -> &mut Self {
        self.until(seconds);
        self
    }

    /// What it sends until a time in seconds, with the times.
    fn until(&mut self, seconds: f64) -> Vec<(f64, SentMessage)> {
        let end = Time::from_nanos((seconds * 1e9) as u64);
        let mut sent = Vec::new();
        while self.agent.deadline() <= end {
            self.cx.now = self.agent.deadline().max(self.cx.now);
            self.agent.on_timer(&mut self.cx);
            let now = self.cx.now.seconds();
            sent.extend(self.done().into_iter().map(|it| (now, it)));
        }
        self.cx.now = end;
        sent
    }

    /// How many registrations it has dropped because no program took them.
    fn untaken(&self) -> u64 {
        self.cx.drops.get(NodeId(self.at.0), PacketKind::Control, DropReason::NoListener)
    }

    /// The last change of the way to an address, which a prefix of 32 bits names.
    fn way_to(&self, address: Address) -> Option<WayChange> {
        self.ways.iter().rfind(|it| it.0 == Prefix::of(name(address), 32)).map(|it| it.1)
    }

    /// The last change of the default way.
    fn default_way(&self) -> Option<WayChange> {
        self.ways.iter().rfind(|it| it.0 == Prefix::DEFAULT).map(|it| it.1)
    }
}

/// The identification of this second, with this lower half.
fn identification(seconds: u64, lower: u64) -> u64 {
    (seconds + 1) << 32 | lower
}

/// A request of [`MH`] by way of [`FA`], made at this second.
fn request(seconds: u64) -> Request {
    Request {
        flags: RequestFlags::default(),
        lifetime: 300,
        home: MH,
        home_agent: HA,
        care_of: FA,
        identification: identification(seconds, 77),
        proof: Proof::Right,
        encapsulating: false,
        foreign_proof: Proof::None,
        agent_proof: Proof::None,
        wants_notice: false,
    }
}

/// The reply of the home agent to a request.
fn reply(request: &Request, code: Code) -> Reply {
    Reply {
        code,
        lifetime: request.lifetime,
        home: request.home,
        home_agent: request.home_agent,
        identification: request.identification,
        proof: Proof::Right,
        foreign_proof: Proof::None,
        agent_proof: Proof::None,
        care_of: request.care_of,
    }
}

/// Orders that hold from 10 to 20 s.
fn ordered(change: impl FnOnce(&mut Orders, (Time, Time))) -> Orders {
    let second = |at| Time::ZERO + Span::from_secs(at);
    let mut orders = Orders::default();
    change(&mut orders, (second(10), second(20)));
    orders
}

/// An advertisement of a foreign agent.
fn advertisement(agent: Address, sequence: u16) -> Advertisement {
    Advertisement {
        agent,
        sequence,
        lifetime: 3,
        registration_lifetime: 600,
        flags: AgentFlags::FOREIGN_AGENT,
        care_of: Some(agent),
        prefix_length: None,
    }
}
