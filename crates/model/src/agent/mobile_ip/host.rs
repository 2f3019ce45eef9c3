//! The state of a mobile host under every procedure: the agents that it hears, its registration, its request.

use hopyard_engine::{Rng, Span, Time};
use hopyard_wire::mobile_ip::{AgentFlags, Code, Denier, RequestFlags};

use super::message::{Advertisement, Message, Proof, Reply, Request};
use super::params::{self, Params, Procedure};
use super::sending::{Sending, timestamp};
use crate::address::{Address, Prefix};
use crate::agent::is_during;
use crate::context::{Action, Context, MobileChange, Origin, Way, WayChange};
use crate::packet::Form;

/// The largest part of the time between two solicitations by which the second one is later than that.
const MOST_LATER: f64 = 0.25;

/// An agent that the host has heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Heard {
    /// The address of the agent's interface.
    pub agent: Address,
    /// The last of its advertisements.
    pub last: Advertisement,
    /// Until when that counts.
    pub until: Time,
}

/// A request that has no reply yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Asked {
    /// The agent to which it was sent.
    pub agent: Address,
    pub request: Request,
    /// When it was sent.
    pub sent: Time,
    /// How long the host waits for the reply.
    pub wait: Span,
    /// When it sends another one.
    pub again: Time,
}

/// A registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registration {
    /// The agent.
    pub agent: Address,
    /// The care-of address; the home address for a host that is at home.
    pub care_of: Address,
    /// When it ends.
    pub until: Time,
    /// When it is renewed.
    pub renew: Time,
}

/// A mobile host, without its procedure.
#[derive(Clone, Debug)]
pub(super) struct State {
    pub sending: Sending,
    pub home: Address,
    pub home_agent: Address,
    pub network: Prefix,
    forged: Vec<(Time, Time)>,
    /// The agents that were heard last come first.
    pub heard: Vec<Heard>,
    /// The agent at which the host is, as far as it knows.
    pub current: Option<Address>,
    pub registration: Option<Registration>,
    pub asked: Option<Asked>,
    /// The lifetime that an agent has said to be the longest, for the next request.
    pub longest: Option<u16>,
    /// By how much the home agent's clock is ahead, as its last refusal says, in units of an identification.
    ahead: i64,
    /// The last identification.
    last: u64,
    /// The agent through which packets leave.
    pub router: Option<Address>,
    /// Whether a home agent may have a binding of the host.
    pub was_away: bool,
    /// The time at which the host next looks for agents that it has not heard, in ns-2's procedure.
    pub check: Time,
    /// When it asks again after a refusal.
    pub retry: Time,
    /// The refusals since the last registration at the agent at which it is.
    pub refusals: u32,
    /// The agents that have refused it since the last registration.
    pub refused_by: Vec<Address>,
    /// Whether it asks to end its other bindings, because there are too many.
    pub alone: bool,
    /// Whether it asks for a reverse tunnel, because it must.
    reverse: bool,
    /// Whether it asks for no encapsulating delivery, because there is none.
    direct: bool,
    /// The time of the next solicitation, the wait after that, and the number of solicitations.
    pub solicit: Time,
    pub solicit_wait: Span,
    pub solicited: u32,
    /// The randomness of the times between solicitations; ns-2's procedure has none.
    pub jitter: Option<Rng>,
}

impl State {
    pub fn new(
        sending: Sending,
        home: Address,
        home_agent: Address,
        network: Prefix,
        forged: Vec<(Time, Time)>,
        params: &Params,
    ) -> Self {
        Self {
            sending,
            home,
            home_agent,
            network,
            forged,
            heard: Vec::new(),
            current: None,
            registration: None,
            asked: None,
            longest: None,
            ahead: 0,
            last: 0,
            was_away: false,
            router: None,
            check: Time::NEVER,
            retry: Time::NEVER,
            refusals: 0,
            refused_by: Vec::new(),
            alone: false,
            reverse: false,
            direct: false,
            solicit: Time::NEVER,
            solicit_wait: params.solicit_retry,
            solicited: 0,
            jitter: None,
        }
    }

    pub fn find(&self, agent: Address) -> Option<&Heard> {
        self.heard.iter().find(|it| it.agent == agent)
    }

    /// Whether an agent belongs to the home network.
    pub fn is_home(&self, agent: Address, cx: &Context) -> bool {
        agent == self.home_agent || self.network.contains(cx.owners.name(agent))
    }

    /// Remembers an advertisement. Returns whether the agent is a new one.
    pub fn hear(&mut self, it: &Advertisement, until: Time, cx: &mut Context) -> bool {
        self.sending.learn(it.agent, until, cx);
        let known = self.heard.iter().position(|heard| heard.agent == it.agent);
        if let Some(place) = known {
            self.heard.remove(place);
        }
        self.heard.insert(0, Heard { agent: it.agent, last: *it, until });
        self.stop_soliciting();
        if known.is_none() {
            self.sending.tell(self.home, MobileChange::Heard { agent: it.agent }, cx);
        }
        known.is_none()
    }

    /// Forgets the agents whose time is over. Returns whether the current one is among them.
    pub fn forget(&mut self, is_over: impl Fn(&Heard) -> bool, cx: &mut Context) -> bool {
        let (gone, left): (Vec<Heard>, _) = self.heard.drain(..).partition(is_over);
        self.heard = left;
        for it in &gone {
            self.sending.tell(self.home, MobileChange::Lost { agent: it.agent }, cx);
        }
        gone.iter().any(|it| Some(it.agent) == self.current)
    }

    /// The host has found that it is at another agent, or at none.
    pub fn move_to(&mut self, agent: Option<Address>, cx: &mut Context) {
        let before = std::mem::replace(&mut self.current, agent);
        if before != agent {
            self.asked = None;
            self.longest = None;
            (self.retry, self.refusals, self.alone) = (Time::NEVER, 0, false);
            (self.reverse, self.direct) = (false, false);
            self.sending.tell(self.home, MobileChange::Moved { from: before, to: agent }, cx);
        }
    }

    fn identification(&mut self, cx: &Context) -> u64 {
        let own = timestamp(cx).saturating_add_signed(self.ahead);
        // Each request has another one, also within a nanosecond.
        self.last = own.max(self.last + 1);
        self.last
    }

    /// Sends a request by way of an agent: to be registered there, or, at home, to end all registrations.
    pub fn request(&mut self, to: &Heard, params: &Params, cx: &mut Context) {
        let at_home = self.is_home(to.agent, cx);
        let ns2 = params.procedure == Procedure::Ns2;
        let asked = params.registration_lifetime.min(self.longest.unwrap_or(to.last.registration_lifetime));
        let care_of = match to.last.care_of {
            // In ns-2, a host at home names its home agent.
            Some(care_of) if !at_home || ns2 => care_of,
            _ => self.home,
        };
        let mut flags = RequestFlags::default();
        if params.simultaneous && !at_home && !self.alone {
            flags = flags | RequestFlags::SIMULTANEOUS;
        }
        // Only what the agent offers (§3.6.1.2).
        if params.tunnel == Form::Minimal && to.last.flags.contains(AgentFlags::MINIMAL_ENCAPSULATION) {
            flags = flags | RequestFlags::MINIMAL_ENCAPSULATION;
        }
        if (params.reverse_tunnel || self.reverse) && !at_home && to.last.flags.contains(AgentFlags::REVERSE_TUNNEL) {
            flags = flags | RequestFlags::REVERSE_TUNNEL;
        }
        let is_forged = is_during(&self.forged, cx.now);
        let orders = &self.sending.orders;
        let proof = if is_during(&orders.malformed, cx.now) {
            Proof::Malformed
        } else {
            Proof::of(params.authentication, is_forged)
        };
        let is_forged = is_during(&orders.forged, cx.now);
        let foreign_proof = Proof::of(params.mobile_foreign_authentication && !at_home, is_forged);
        let encapsulating =
            params.encapsulating_delivery && !self.direct && flags.contains(RequestFlags::REVERSE_TUNNEL);
        let lifetime = if at_home && !ns2 { 0 } else { asked };
        let identification = self.identification(cx);
        let (home, home_agent) = (self.home, self.home_agent);
        let request = Request {
            flags,
            lifetime,
            home,
            home_agent,
            care_of,
            identification,
            proof,
            encapsulating,
            foreign_proof,
            agent_proof: Proof::None,
            wants_notice: false,
        };
        let wait = match self.asked {
            Some(before) if before.agent == to.agent => (before.wait * 2).min(params.request_retry_most),
            _ => params.request_retry,
        };
        // No longer than the lifetime that is asked for (§3.6.3).
        let asked_for = Some(lifetime).filter(|&it| it > 0 && !ns2).and_then(params::lifetime);
        let wait = asked_for.map_or(wait, |span| wait.min(span));
        self.asked = Some(Asked { agent: to.agent, request, sent: cx.now, wait, again: cx.now + wait });
        self.sending.tell(home, MobileChange::Requested { agent: to.agent, care_of, lifetime }, cx);
        let message = Message::Request(request);
        if ns2 && !self.sending.is_by_wire(to.agent, cx) {
            self.sending.by_ip(Origin::Own, message, home, to.agent, cx);
        } else {
            self.sending.to_neighbour(Origin::Own, message, home, to.agent, to.agent, cx);
        }
    }

    /// A reply has come. Returns its code if it answers the request that waits for one.
    pub fn answered(&mut self, reply: &Reply, params: &Params, cx: &mut Context) -> Option<Code> {
        let asked = self.asked.filter(|it| it.request.identification as u32 == reply.identification as u32)?;
        // What the home agent says must be authentic (RFC 5944 §3.6.2.1).
        let by_home = reply.code.denied_by() != Some(Denier::ForeignAgent);
        if params.authentication && by_home && reply.proof != Proof::Right {
            return None;
        }
        // So must be what a foreign agent says, or passes on, that shares a key with the host.
        let by_foreign = params.mobile_foreign_authentication && !self.is_home(asked.agent, cx);
        if by_foreign && reply.foreign_proof != Proof::Right {
            return None;
        }
        self.asked = None;
        let Asked { agent, request, sent, .. } = asked;
        if reply.code.is_accepted() {
            let granted = reply.lifetime.min(request.lifetime);
            // The host counts from its request on, so that it renews before the home agent's time is over (§3.6.2.2).
            let until = params::lifetime(granted).map_or(Time::NEVER, |span| sent + span);
            let renew = params::lifetime(granted).map_or(Time::NEVER, |span| sent + span.mul_f64(params.renewal));
            (self.retry, self.refusals) = (Time::NEVER, 0);
            self.refused_by.clear();
            self.registration = (granted > 0).then_some(Registration { agent, care_of: request.care_of, until, renew });
            let what = MobileChange::Registered { agent, care_of: request.care_of, lifetime: granted };
            self.sending.tell(self.home, what, cx);
        } else {
            self.refusals += 1;
            if reply.code == Code::HA_IDENTIFICATION {
                // The upper half is the agent's clock (§5.7.1).
                let apart = (reply.identification >> 32) as i64 - (timestamp(cx) >> 32) as i64;
                self.ahead = apart << 32;
            }
            self.reverse |= matches!(reply.code, Code::FA_REVERSE_TUNNEL_MANDATORY | Code::HA_REVERSE_TUNNEL_MANDATORY);
            self.direct |= reply.code == Code::FA_DELIVERY_STYLE;
            if reply.code == Code::FA_LIFETIME {
                self.longest = Some(reply.lifetime);
            }
            self.sending.tell(self.home, MobileChange::Refused { agent, code: reply.code.0 }, cx);
        }
        Some(reply.code)
    }

    /// The agent through which packets leave; without one, they do not.
    pub fn leave_by(&mut self, agent: Option<Address>, params: &Params, cx: &mut Context) {
        let change = match agent {
            None if params.procedure == Procedure::Rfc => WayChange::Only(Way::Nowhere),
            None => WayChange::Clear,
            Some(agent) if params.procedure == Procedure::Ns2 && !self.sending.is_by_wire(agent, cx) => {
                WayChange::Only(Way::Towards(agent))
            }
            Some(agent) => WayChange::Only(Way::Via(agent)),
        };
        self.sending.default_way(change, cx);
        if let Some(before) = std::mem::replace(&mut self.router, agent)
            && agent.is_some_and(|agent| agent != before)
            && params.procedure == Procedure::Rfc
        {
            cx.act(Action::Reroute { node: self.sending.node, next_hop: before });
        }
    }

    /// Asks all agents in reach to advertise themselves (RFC 1256 §5).
    pub fn solicit_now(&mut self, params: &Params, cx: &mut Context) {
        for interface in self.sending.interfaces().collect::<Vec<_>>() {
            self.sending.broadcast(Message::Solicitation, interface, cx);
        }
        self.solicited += 1;
        if self.solicited >= params.solicitations {
            self.solicit_wait = (self.solicit_wait * 2).min(params.solicit_retry_most);
        }
        // Hosts that have lost one agent at one time would go on to solicit at one time: §2.4 wants times at random.
        let later = self.jitter.as_mut().map_or(0.0, |rng| rng.uniform() * MOST_LATER);
        self.solicit = cx.now + self.solicit_wait + self.solicit_wait.mul_f64(later);
    }

    pub fn stop_soliciting(&mut self) {
        (self.solicit, self.solicited) = (Time::NEVER, 0);
    }
}
