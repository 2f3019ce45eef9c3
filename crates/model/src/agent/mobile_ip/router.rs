//! A node that serves hosts: it advertises itself, and is a home agent, a foreign agent, or both.

use hopyard_engine::{Rng, Streams, Time};
use hopyard_wire::mobile_ip::AgentFlags;

use super::foreign::Foreign;
use super::home::Home;
use super::message::{Advertisement, Message};
use super::params::{Params, Procedure};
use super::sending::{Arrived, Sending};
use crate::address::{Address, InterfaceId};
use crate::context::{Context, Origin};
use crate::packet::Form;

/// A home agent, a foreign agent, or both.
#[derive(Debug)]
pub(super) struct Router {
    sending: Sending,
    serves: Vec<InterfaceId>,
    pub home: Option<Home>,
    pub foreign: Option<Foreign>,
    /// When it first advertises, if that is given.
    first: Option<Time>,
    /// When it advertises next.
    next: Time,
    /// How much sooner than a beacon after the last advertisement that is; ns-2's agents have no such draws.
    jitter: Option<Rng>,
    /// The number of the next advertisement (RFC 5944 §2.3.2).
    sequence: u16,
    /// How often it has stopped.
    stopped: usize,
    /// The time at which the agent begins anew, if it does not run.
    back: Option<Time>,
}

impl Router {
    pub fn new(
        sending: Sending,
        serves: Vec<InterfaceId>,
        home: Option<Home>,
        foreign: Option<Foreign>,
        first: Option<Time>,
    ) -> Self {
        let (next, jitter) = (Time::NEVER, None);
        Self { sending, serves, home, foreign, first, next, jitter, sequence: 0, stopped: 0, back: None }
    }

    /// The run starts; without a given time, the first advertisement comes at a random part of the interval.
    pub fn start(&mut self, params: &Params, cx: &mut Context, rng: &mut Rng) {
        let phase = rng.uniform();
        self.next = self.first.unwrap_or(cx.now + params.beacon.mul_f64(phase));
        if params.procedure == Procedure::Rfc {
            self.jitter = Some(Streams::new(rng.next_u64(), 0).stream("advertisements"));
        }
        if let Some(home) = &self.home {
            home.start(&self.sending, params, cx);
        }
    }

    fn advertisement(&self, interface: InterfaceId, params: &Params) -> Advertisement {
        let mut flags = AgentFlags::default();
        let mut set = |is_set: bool, flag: AgentFlags| {
            if is_set {
                flags = flags | flag;
            }
        };
        set(self.home.is_some(), AgentFlags::HOME_AGENT);
        set(self.foreign.is_some(), AgentFlags::FOREIGN_AGENT);
        set(self.foreign.is_some() && params.registration_required, AgentFlags::REGISTRATION_REQUIRED);
        set(self.foreign.as_ref().is_some_and(|it| it.is_busy(params)), AgentFlags::BUSY);
        set(params.tunnel == Form::Minimal, AgentFlags::MINIMAL_ENCAPSULATION);
        set(params.offers_reverse_tunnels(), AgentFlags::REVERSE_TUNNEL);
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
        for place in 0..self.serves.len() {
            let interface = self.serves[place];
            let message = Message::Advertisement(self.advertisement(interface, params));
            self.sending.broadcast(message, interface, cx);
        }
        self.count();
    }

    /// After 65535 comes 256.
    fn count(&mut self) {
        self.sequence = self.sequence.checked_add(1).unwrap_or(256);
    }

    /// Answers a solicitation of a neighbour.
    fn on_solicitation(&mut self, source: Address, from: Address, params: &Params, cx: &mut Context) {
        // By the interface at which the neighbour is: the others are no business of its. A visitor has an address of
        // another network, and is at the radio that serves; one with an address of a further radio's network is there.
        let at = self.sending.port_to(from, cx);
        let is_its = |interface: &&InterfaceId| match at {
            Some(own) => **interface == own,
            None => self.sending.is_radio(**interface),
        };
        let Some(&interface) = self.serves.iter().find(is_its) else { return };
        let message = Message::Advertisement(self.advertisement(interface, params));
        self.sending.to_neighbour(Origin::Own, message, interface.into(), source, from, cx);
        self.count();
    }

    /// Whether it takes a message from this source. While it does not run, no program of its node uses the port of
    /// registrations. A foreign agent alone takes requests of hosts, and none that another agent has passed on, which
    /// are for a home agent.
    pub fn takes(&self, message: &Message, source: Address) -> bool {
        match message {
            Message::Request(it) => {
                self.back.is_none() && (self.home.is_some() || (self.foreign.is_some() && source == it.home))
            }
            Message::Reply(_) => self.back.is_none() && self.foreign.is_some(),
            Message::Advertisement(_) | Message::Solicitation | Message::Unreachable(..) => true,
        }
    }

    pub fn on_message(&mut self, message: &Message, size: u32, arrived: Arrived, params: &Params, cx: &mut Context) {
        // ICMP goes on without the agent, which alone would answer.
        if self.back.is_some() {
            return;
        }
        self.sending.handles(Some(size));
        self.handle(message, arrived, params, cx);
        self.sending.handles(None);
    }

    fn handle(&mut self, message: &Message, arrived: Arrived, params: &Params, cx: &mut Context) {
        let Arrived { source, from, .. } = arrived;
        match message {
            Message::Solicitation => self.on_solicitation(source, from, params, cx),
            Message::Request(request) => {
                // A request for this agent as the home agent. It comes from a host of this agent that is at home, or
                // from an agent that passed it on.
                let serves = self.home.as_ref().is_some_and(|it| it.serves(request.home));
                let is_home = (serves && cx.is_local(self.sending.node, request.home_agent))
                    || source != request.home
                    || self.foreign.is_none();
                match (&mut self.home, &mut self.foreign) {
                    (Some(home), _) if is_home => home.on_request(request, arrived, &self.sending, params, cx),
                    (_, Some(foreign)) => foreign.on_request(request, arrived, &self.sending, params, cx),
                    _ => {}
                }
            }
            Message::Reply(reply) => {
                if let Some(foreign) = &mut self.foreign {
                    foreign.on_reply(reply, &self.sending, params, cx);
                }
            }
            Message::Unreachable(what, request) => {
                if let Some(foreign) = &mut self.foreign {
                    foreign.on_unreachable(what.why, request, &self.sending, params, cx);
                }
            }
            Message::Advertisement(_) => {}
        }
    }

    /// When it stops next.
    fn stop(&self) -> Option<(Time, Time)> {
        self.sending.orders.stops.get(self.stopped).copied()
    }

    pub fn deadline(&self) -> Time {
        if let Some(back) = self.back {
            return back;
        }
        let home = self.home.as_ref().map_or(Time::NEVER, Home::deadline);
        let foreign = self.foreign.as_ref().map_or(Time::NEVER, Foreign::deadline);
        let stop = self.stop().map_or(Time::NEVER, |(from, _)| from);
        self.next.min(home).min(foreign).min(stop).min(self.sending.deadline())
    }

    pub fn on_timer(&mut self, params: &Params, cx: &mut Context) {
        if let Some((from, until)) = self.stop().filter(|&(from, _)| from <= cx.now && self.back.is_none()) {
            self.stopped += 1;
            self.forget(params, cx);
            self.back = Some(until.max(from));
        }
        if let Some(back) = self.back {
            if back > cx.now {
                return;
            }
            self.back = None;
            // One that has not advertised yet waits for its time. The others do so at once, from number 0 on (RFC 5944
            // §2.3.2).
            if std::mem::take(&mut self.sequence) > 0 || self.next < cx.now {
                self.next = cx.now;
            }
        }
        self.sending.on_timer(cx);
        if let Some(home) = &mut self.home {
            home.on_timer(&self.sending, params, cx);
        }
        if let Some(foreign) = &mut self.foreign {
            foreign.on_timer(&self.sending, params, cx);
        }
        if self.next <= cx.now {
            self.advertise(params, cx);
            // RFC 5944 §2.3 has the timers of RFC 1256, whose §4.3 draws each interval anew. Advertisements of a fixed
            // period would meet other periodic traffic each time.
            let sooner = self.jitter.as_mut().map_or(0.0, |rng| params.beacon_jitter * rng.uniform());
            self.next = cx.now + params.beacon.mul_f64(1.0 - sooner);
        }
    }

    /// It stops, and forgets its bindings, visitors, and requests without a reply.
    fn forget(&mut self, params: &Params, cx: &mut Context) {
        if let Some(home) = &mut self.home {
            home.forget(&self.sending, params, cx);
        }
        if let Some(foreign) = &mut self.foreign {
            foreign.forget(&self.sending, params, cx);
        }
    }
}
