//! Mobile IP: agents of networks, and hosts that move between these and keep their addresses.
//!
//! Read: RFC 5944 (§2 discovery of agents, §3 registration, §4 routing), RFC 1256 (router discovery), RFC 3024 (reverse
//! tunnels). Tunnels are the world's: this agent sets the ways into them. Left out: co-located care-of addresses,
//! broadcasts to hosts that are away (B), GRE, dynamic discovery of the home agent, nonces (§5.7.2). ns-2's procedure
//! (`ns2`) is a type of its own beside the type of the RFC, over the same state. The profile chooses the type.
//!
//! Validated: each message and the losses of ns-2.35's own wired network; crossings of cells by radio
//! (`docs/models/mobile_ip.md`).

mod foreign;
mod habits;
mod home;
mod host;
mod message;
mod ns2;
mod params;
mod rfc;
mod router;
mod sending;
#[cfg(test)]
mod tests;

use hopyard_engine::{Rng, Time};

use self::foreign::Foreign;
pub use self::foreign::Visitor;
pub use self::home::Binding;
use self::home::Home;
pub use self::host::Registration;
use self::host::State;
pub use self::message::{Advertisement, Message, PORT, Proof, Reply, Request};
pub use self::params::{MoveDetection, Params, Procedure};
use self::router::Router;
use self::sending::{Arrived, Sending};
use super::protocol::Agent;
use super::site::{Role, Site};
use crate::address::Address;
use crate::context::{Context, DropReason};
use crate::packet::PacketId;

/// Mobile IP at one node.
#[derive(Debug)]
pub struct MobileIp {
    params: Params,
    rng: Rng,
    part: Entity,
}

#[derive(Debug)]
enum Entity {
    /// The node neither moves between networks nor serves such hosts.
    Nothing,
    Router(Box<Router>),
    Host(Box<State>),
}

impl MobileIp {
    /// Mobile IP at a place.
    #[must_use]
    pub fn new(params: &Params, site: &Site, mut rng: Rng) -> Self {
        let sending = Sending::new(site, params.procedure, &mut rng);
        let part = match &site.role {
            Role::Fixed => Entity::Nothing,
            Role::Router { serves, is_foreign, hosts, first } => {
                let foreign = is_foreign.then(Foreign::default);
                Entity::Router(Box::new(Router::new(sending, serves.clone(), Home::new(hosts), foreign, *first)))
            }
            Role::Host { home, agent, network, forged } => {
                Entity::Host(Box::new(State::new(sending, *home, *agent, *network, forged.clone(), params)))
            }
        };
        Self { params: params.clone(), rng, part }
    }

    /// The bindings of a home agent.
    #[must_use]
    pub fn bindings(&self) -> &[Binding] {
        match &self.part {
            Entity::Router(router) => router.home.as_ref().map(Home::bindings).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The hosts that a foreign agent serves.
    #[must_use]
    pub fn visitors(&self) -> &[Visitor] {
        match &self.part {
            Entity::Router(router) => router.foreign.as_ref().map(Foreign::visitors).unwrap_or_default(),
            _ => &[],
        }
    }

    /// The registration of a host that is away.
    #[must_use]
    pub fn registration(&self) -> Option<Registration> {
        match &self.part {
            Entity::Host(host) => host.registration,
            _ => None,
        }
    }

    /// The agent at which a host is, as far as it knows.
    #[must_use]
    pub fn current(&self) -> Option<Address> {
        match &self.part {
            Entity::Host(host) => host.current,
            _ => None,
        }
    }
}

impl Agent for MobileIp {
    fn counts(&self) -> Vec<Option<u64>> {
        let Entity::Router(router) = &self.part else { return Vec::new() };
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
            Entity::Nothing => {}
            Entity::Router(router) => router.start(params, cx, rng),
            Entity::Host(host) => match params.procedure {
                Procedure::Rfc => rfc::start(host, params, cx, rng),
                Procedure::Ns2 => ns2::start(host, params, cx),
            },
        }
    }

    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context) {
        let it = &cx.packets[packet];
        let arrived = Arrived { source: it.source, from, to: it.destination, ttl: it.ttl };
        let Some(message) = it.message::<Message>() else {
            return cx.drop_packet(cx.owners.of(cx.packets[packet].destination), packet, DropReason::NoListener);
        };
        let is_taken = match &self.part {
            Entity::Router(router) => router.takes(&message, arrived.source),
            Entity::Nothing | Entity::Host(_) => true,
        };
        if !is_taken {
            let node = cx.owners.of(cx.packets[packet].destination);
            return cx.drop_packet(node, packet, DropReason::NoListener);
        }
        let size = cx.packets[packet].size;
        cx.end(packet);
        let params = &self.params;
        match &mut self.part {
            Entity::Nothing => {}
            Entity::Router(router) => router.on_message(&message, size, arrived, params, cx),
            Entity::Host(host) => match (&*message, params.procedure) {
                (Message::Advertisement(it), Procedure::Rfc) => rfc::on_advertisement(host, it, params, cx),
                (Message::Advertisement(it), Procedure::Ns2) => ns2::on_advertisement(host, it, params, cx),
                (Message::Reply(it), Procedure::Rfc) => rfc::on_reply(host, it, params, cx),
                (Message::Reply(it), Procedure::Ns2) => ns2::on_reply(host, it, params, cx),
                (Message::Solicitation | Message::Request(_) | Message::Unreachable(..), _) => {}
            },
        }
    }

    fn on_timer(&mut self, cx: &mut Context) {
        let params = &self.params;
        match &mut self.part {
            Entity::Nothing => {}
            Entity::Router(router) => router.on_timer(params, cx),
            Entity::Host(host) => match params.procedure {
                Procedure::Rfc => rfc::on_timer(host, params, cx),
                Procedure::Ns2 => ns2::on_timer(host, params, cx),
            },
        }
    }

    fn deadline(&self) -> Time {
        match &self.part {
            Entity::Nothing => Time::NEVER,
            Entity::Router(router) => router.deadline(),
            Entity::Host(host) => match self.params.procedure {
                Procedure::Rfc => rfc::deadline(host),
                Procedure::Ns2 => ns2::deadline(host),
            },
        }
    }
}
