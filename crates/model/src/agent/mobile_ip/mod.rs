//! Mobile IP: agents of networks, and hosts that move between these and keep their addresses.
//!
//! Read: RFC 5944 (§2 discovery of agents, §3 registration, §4 routing), RFC 1256 (router discovery), RFC 3024 (reverse
//! tunnels). Tunnels are the world's: this agent sets the ways into them. Left out: co-located care-of addresses,
//! broadcasts to hosts that are away (B), GRE, dynamic discovery of the home agent, nonces (§5.7.2), keys between
//! foreign agents and others (§3.5.3, §3.5.4), notices that a home network is unreachable (codes 80 to 88). ns-2's
//! procedure is a type of its own beside the RFC's, over the same state (`ns2`); the profile chooses it.
//!
//! Validated: each message and the losses of ns-2.35's own wired network; crossings of cells by radio
//! (`docs/models/mobile_ip.md`).

mod foreign;
mod home;
mod host;
mod message;
mod ns2;
mod params;
mod rfc;
mod sending;
#[cfg(test)]
mod tests;

use hopyard_engine::{Rng, Time};
use hopyard_wire::mobile_ip::AgentFlags;

use self::foreign::Foreign;
pub use self::foreign::Visitor;
pub use self::home::Binding;
use self::home::Home;
pub use self::host::Registration;
use self::host::State;
pub use self::message::{Advertisement, Message, PORT, Proof, Reply, Request};
pub use self::params::{MoveDetection, Params, Procedure};
use self::sending::Sending;
use super::protocol::{Agent, ICMP};
use super::site::{Role, Site};
use crate::address::{Address, InterfaceId};
use crate::context::{Context, DropReason};
use crate::packet::{Body, Form, PacketId};
use crate::params::Metric;

/// What agents count, for the table of nodes.
const METRICS: [Metric; 6] = {
    const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
        Metric { name, unit, meaning }
    }
    [
        metric(
            "registrations_granted",
            "messages",
            "Requests that the home agent accepted, renewals and those that end bindings included.",
        ),
        metric("registrations_refused", "messages", "Requests that the home agent or the foreign agent denied."),
        metric("bindings", "", "Bindings of the home agent at the end."),
        metric("bindings_most", "", "The most bindings that the home agent had at once."),
        metric("visitors", "", "Hosts that the foreign agent serves at the end."),
        metric("visitors_most", "", "The most hosts that the foreign agent served at once."),
    ]
};

/// Mobile IP at one node.
#[derive(Debug)]
pub struct MobileIp {
    params: Params,
    rng: Rng,
    part: Part,
}

#[derive(Debug)]
enum Part {
    /// The node neither moves between networks nor serves such hosts.
    Nothing,
    Router(Box<Router>),
    Host(Box<State>),
}

/// A home agent, a foreign agent, or both.
#[derive(Debug)]
struct Router {
    sending: Sending,
    serves: Vec<InterfaceId>,
    home: Option<Home>,
    foreign: Option<Foreign>,
    /// When it first advertises, if that is given.
    first: Option<Time>,
    /// When it advertises next.
    next: Time,
    /// The number of the next advertisement (RFC 5944 §2.3.2).
    sequence: u16,
}

impl Router {
    fn advertisement(&self, interface: InterfaceId, params: &Params) -> Advertisement {
        let mut flags = AgentFlags::default();
        let mut set = |is_set: bool, flag: AgentFlags| {
            if is_set {
                flags = flags | flag;
            }
        };
        set(self.home.is_some(), AgentFlags::HOME_AGENT);
        set(self.foreign.is_some(), AgentFlags::FOREIGN_AGENT);
        set(self.foreign.as_ref().is_some_and(|it| it.is_busy(params)), AgentFlags::BUSY);
        set(params.tunnel == Form::Minimal, AgentFlags::MINIMAL_ENCAPSULATION);
        set(params.reverse_tunnel, AgentFlags::REVERSE_TUNNEL);
        let names = self.foreign.is_some() || params.procedure == Procedure::Ns2;
        Advertisement {
            agent: interface.into(),
            sequence: self.sequence,
            lifetime: params.advertised_lifetime,
            registration_lifetime: params.longest_registration,
            flags,
            care_of: names.then(|| self.sending.address()),
            prefix_length: self.sending.prefix_length(interface).filter(|_| params.names_prefixes()),
        }
    }

    fn advertise(&mut self, params: &Params, cx: &mut Context) {
        for &interface in &self.serves {
            self.sending.broadcast(Message::Advertisement(self.advertisement(interface, params)), interface, cx);
        }
        self.count();
    }

    /// After 65535 comes 256.
    fn count(&mut self) {
        self.sequence = self.sequence.checked_add(1).unwrap_or(256);
    }

    /// Answers a solicitation of a neighbour.
    fn on_solicitation(&mut self, source: Address, from: Address, params: &Params, cx: &mut Context) {
        // By the interface at which the neighbour is: the others are no business of its.
        let by_wire = self.sending.wire_to(from, cx);
        let is_its = |interface: &&InterfaceId| match by_wire {
            Some(wire) => **interface == wire,
            None => self.sending.is_radio(**interface),
        };
        let Some(&interface) = self.serves.iter().find(is_its) else { return };
        let message = Message::Advertisement(self.advertisement(interface, params));
        self.sending.to_neighbour(message, interface.into(), source, from, cx);
        self.count();
    }

    fn on_message(&mut self, message: &Message, source: Address, from: Address, params: &Params, cx: &mut Context) {
        match message {
            Message::Solicitation => self.on_solicitation(source, from, params, cx),
            Message::Request(request) => {
                // One that is for this agent as the home agent, and from a host that is at home or an agent that has
                // passed it on.
                let is_home = cx.is_local(self.sending.node, request.home_agent)
                    || source != request.home
                    || self.foreign.is_none();
                match (&mut self.home, &mut self.foreign) {
                    (Some(home), _) if is_home => {
                        home.on_request(request, source, from, &self.sending, params, cx);
                    }
                    (_, Some(foreign)) => foreign.on_request(request, from, &self.sending, params, cx),
                    _ => {}
                }
            }
            Message::Reply(reply) => {
                if let Some(foreign) = &mut self.foreign {
                    foreign.on_reply(reply, &self.sending, params, cx);
                }
            }
            Message::Advertisement(_) => {}
        }
    }

    fn deadline(&self) -> Time {
        let home = self.home.as_ref().map_or(Time::NEVER, Home::deadline);
        let foreign = self.foreign.as_ref().map_or(Time::NEVER, Foreign::deadline);
        self.next.min(home).min(foreign)
    }
}

impl MobileIp {
    /// Mobile IP at a place.
    #[must_use]
    pub fn new(params: &Params, site: &Site, rng: Rng) -> Self {
        let sending = Sending::new(site, params.procedure);
        let part = match &site.role {
            Role::Fixed => Part::Nothing,
            Role::Router { serves, is_foreign, hosts, first } => Part::Router(Box::new(Router {
                sending,
                serves: serves.clone(),
                home: Home::new(hosts),
                foreign: is_foreign.then(Foreign::default),
                first: *first,
                next: Time::NEVER,
                sequence: 0,
            })),
            Role::Host { home, agent, network, forged } => {
                Part::Host(Box::new(State::new(sending, *home, *agent, *network, forged.clone(), params)))
            }
        };
        Self { params: params.clone(), rng, part }
    }

    /// The bindings of a home agent.
    #[must_use]
    pub fn bindings(&self) -> &[Binding] {
        match &self.part {
            Part::Router(router) => router.home.as_ref().map(Home::bindings).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The hosts that a foreign agent serves.
    #[must_use]
    pub fn visitors(&self) -> &[Visitor] {
        match &self.part {
            Part::Router(router) => router.foreign.as_ref().map(Foreign::visitors).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The registration of a host that is away.
    #[must_use]
    pub fn registration(&self) -> Option<Registration> {
        match &self.part {
            Part::Host(host) => host.registration,
            _ => None,
        }
    }

    /// The agent at which a host is, as far as it knows.
    #[must_use]
    pub fn current(&self) -> Option<Address> {
        match &self.part {
            Part::Host(host) => host.current,
            _ => None,
        }
    }
}

impl Agent for MobileIp {
    const PORTS: &'static [u16] = &[ICMP, PORT];

    const SERVES_MOVING_HOSTS: bool = true;

    const METRICS: &'static [Metric] = &METRICS;

    fn counts(&self) -> Vec<Option<u64>> {
        let Part::Router(router) = &self.part else { return Vec::new() };
        let (home, foreign) = (router.home.as_ref(), router.foreign.as_ref());
        let refused = home.map_or(0, |it| it.refused) + foreign.map_or(0, |it| it.refused);
        vec![
            home.map(|it| it.granted),
            Some(refused),
            home.map(|it| it.bindings().len() as u64),
            home.map(|it| it.most),
            foreign.map(|it| it.visitors().len() as u64),
            foreign.map(|it| it.most),
        ]
    }

    fn start(&mut self, cx: &mut Context) {
        let Self { params, rng, part } = self;
        match part {
            Part::Nothing => {}
            Part::Router(router) => {
                let phase = params.beacon.mul_f64(rng.uniform());
                router.next = router.first.unwrap_or(cx.now + phase);
                if let Some(home) = &router.home {
                    home.start(&router.sending, params, cx);
                }
            }
            Part::Host(host) => match params.procedure {
                Procedure::Rfc => rfc::start(host, params, cx, rng.uniform()),
                Procedure::Ns2 => ns2::start(host, params, cx),
            },
        }
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let source = cx.packets[packet].source;
        let Body::Control { message, .. } = &cx.packets[packet].body else { return };
        let Some(&message) = message.get::<Message>() else {
            return cx.drop_packet(cx.owners.of(cx.packets[packet].destination), packet, DropReason::NoListener);
        };
        cx.end(packet);
        let params = &self.params;
        match &mut self.part {
            Part::Nothing => {}
            Part::Router(router) => router.on_message(&message, source, from, params, cx),
            Part::Host(host) => match (&message, params.procedure) {
                (Message::Advertisement(it), Procedure::Rfc) => rfc::on_advertisement(host, it, params, cx),
                (Message::Advertisement(it), Procedure::Ns2) => ns2::on_advertisement(host, it, params, cx),
                (Message::Reply(it), Procedure::Rfc) => rfc::on_reply(host, it, params, cx),
                (Message::Reply(it), Procedure::Ns2) => ns2::on_reply(host, it, params, cx),
                (Message::Solicitation | Message::Request(_), _) => {}
            },
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        let params = &self.params;
        match &mut self.part {
            Part::Nothing => {}
            Part::Router(router) => {
                if let Some(home) = &mut router.home {
                    home.on_timer(&router.sending, params, cx);
                }
                if let Some(foreign) = &mut router.foreign {
                    foreign.on_timer(&router.sending, params, cx);
                }
                if router.next <= cx.now {
                    router.advertise(params, cx);
                    router.next = cx.now + params.beacon;
                }
            }
            Part::Host(host) => match params.procedure {
                Procedure::Rfc => rfc::on_timer(host, params, cx),
                Procedure::Ns2 => ns2::on_timer(host, params, cx),
            },
        }
    }

    fn deadline(&self) -> Time {
        match &self.part {
            Part::Nothing => Time::NEVER,
            Part::Router(router) => router.deadline(),
            Part::Host(host) => match self.params.procedure {
                Procedure::Rfc => rfc::deadline(host),
                Procedure::Ns2 => ns2::deadline(host),
            },
        }
    }
}
