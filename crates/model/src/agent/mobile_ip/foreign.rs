//! A foreign agent: it passes registrations on, and serves the hosts that registered through it (RFC 5944 §3.7).

use hopyard_engine::Time;
use hopyard_wire::mobile_ip::{Code, Denier, RequestFlags};

use super::home::LOWER;
use super::message::{Message, Proof, Reply, Request};
use super::params::{Params, Procedure, lifetime};
use super::sending::{Arrived, NEAR, Sending};
use crate::address::Address;
use crate::agent::is_during;
use crate::context::{Context, MobileChange, Origin, Way, WayChange};
use crate::packet::{Form, Unreachable};

/// A host that has asked.
#[derive(Clone, Copy, Debug)]
struct Asker {
    /// Its address as a neighbour.
    at: Address,
    /// The agent's address that it has used: the source of the reply (§3.7.2.3).
    to: Address,
}

/// A host that the agent serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Visitor {
    /// Its home address.
    pub home: Address,
    /// Its address as a neighbour.
    pub at: Address,
    /// When its registration ends.
    pub until: Time,
}

/// A request that has no reply yet.
#[derive(Clone, Copy, Debug)]
struct Pending {
    request: Request,
    asker: Asker,
    until: Time,
    /// Whether that is the end of the lifetime that was asked for.
    ends: bool,
}

/// The foreign agent's part of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Foreign {
    visitors: Vec<Visitor>,
    pending: Vec<Pending>,
    /// Counts for the table of nodes: requests denied, the most visitors at once.
    pub refused: u64,
    pub most: u64,
}

impl Foreign {
    pub fn visitors(&self) -> &[Visitor] {
        &self.visitors
    }

    /// Whether it takes no further host (B, RFC 5944 §2.1.1). Those whose requests are under way count.
    pub fn is_busy(&self, params: &Params) -> bool {
        let comes =
            |it: &&Pending| it.request.lifetime > 0 && !self.visitors.iter().any(|is| is.home == it.request.home);
        self.visitors.len() + self.pending.iter().filter(comes).count() >= params.most_visitors as usize
    }

    pub fn deadline(&self) -> Time {
        let visitors = self.visitors.iter().map(|it| it.until);
        visitors.chain(self.pending.iter().map(|it| it.until)).min().unwrap_or(Time::NEVER)
    }

    /// Whether the routing protocol leads to a host whose request came from this neighbour. In ns-2 it leads to all
    /// hosts except hosts at the other end of a wire. A request may have come over other nodes, and by a wire from one
    /// of them.
    fn is_by_protocol(home: Address, at: Address, sending: &Sending, params: &Params, cx: &Context) -> bool {
        let is_its_wire = cx.owners.of(at) == cx.owners.of(home) && sending.is_by_wire(at, cx);
        params.procedure == Procedure::Ns2 && !is_its_wire
    }

    /// The way to a host whose request came from this neighbour.
    fn way(home: Address, at: Address, sending: &Sending, params: &Params, cx: &Context) -> Way {
        // The host is of another network. As long as ns-2's DSDV has no route to it, it leads the packets to the base
        // station of the node, which is the agent itself: they are lost, and do not wait for a route.
        let by_protocol = || Way::Towards(sending.address());
        if Self::is_by_protocol(home, at, sending, params, cx) { by_protocol() } else { Way::Via(at) }
    }

    /// Why a request is denied, if it is: the code, and the lifetime of the reply (RFC 5944 §3.7.2.1, RFC 3024 §4.2.1).
    fn denied(
        &self,
        request: &Request,
        ttl: u8,
        sending: &Sending,
        params: &Params,
        cx: &Context,
    ) -> Option<(Code, u16)> {
        let is_visitor = self.visitors.iter().any(|it| it.home == request.home)
            || self.pending.iter().any(|it| it.request.home == request.home && it.request.lifetime > 0);
        let longest = params.longest_registration;
        let reverse = request.flags.contains(RequestFlags::REVERSE_TUNNEL);
        let own = |code| Code(code).denied_by() == Some(Denier::ForeignAgent);
        let code = if let Some(code) = sending.orders.denial(cx.now, own) {
            Code(code)
        } else if request.proof == Proof::Malformed || (params.authentication && request.proof == Proof::None) {
            // A request must have the authenticator for the home agent.
            Code::FA_POOR_REQUEST
        } else if request.flags.0 & (RequestFlags::RESERVED_R.0 | RequestFlags::RESERVED_X.0) != 0 {
            Code::FA_POOR_REQUEST
        } else if params.mobile_foreign_authentication && request.foreign_proof != Proof::Right {
            Code::FA_MOBILE_AUTHENTICATION
        } else if sending.orders.no_visits.contains(&request.home) {
            Code::FA_PROHIBITED
        } else if reverse && ttl != NEAR {
            // It has come over a router.
            Code::FA_TOO_DISTANT
        } else if cx.is_local(sending.node, request.home_agent) {
            // The node is not the home agent of this host (§3.7.2).
            Code::FA_HOME_AGENT_ADDRESS
        } else if request.lifetime > 0 && !cx.is_local(sending.node, request.care_of) {
            Code::FA_CARE_OF
        } else if request.lifetime > longest {
            return Some((Code::FA_LIFETIME, longest));
        } else if request.lifetime > 0 && !is_visitor && self.is_busy(params) {
            Code::FA_RESOURCES
        } else if reverse && !params.offers_reverse_tunnels() {
            Code::FA_REVERSE_TUNNEL
        } else if !reverse && params.reverse_tunnel_mandatory {
            Code::FA_REVERSE_TUNNEL_MANDATORY
        } else if request.encapsulating {
            Code::FA_DELIVERY_STYLE
        } else if request.flags.contains(RequestFlags::GRE) {
            Code::FA_ENCAPSULATION
        } else {
            return None;
        };
        Some((code, request.lifetime))
    }

    /// Passes a request of a host on to its home agent, or denies it.
    pub fn on_request(
        &mut self,
        request: &Request,
        arrived: Arrived,
        sending: &Sending,
        params: &Params,
        cx: &mut Context,
    ) {
        let Arrived { from, ttl, .. } = arrived;
        let asker = Asker { at: from, to: arrived.to };
        if let Some((code, lifetime)) = self.denied(request, ttl, sending, params, cx) {
            sending.learn(from, cx.now + params.pending_timeout, cx);
            return self.deny(Origin::Own, request, asker, code, lifetime, sending, params, cx);
        }
        // In ns-2, whatever is for the host goes by the routing protocol from now on.
        if params.procedure == Procedure::Ns2 {
            sending.host_way(request.home, WayChange::Only(Self::way(request.home, from, sending, params, cx)), cx);
        }
        self.pending.retain(|it| it.request.home != request.home);
        // It waits no longer than the lifetime that is asked for (§3.7.2.2); in ns-2 nothing ends it.
        let is_asked = request.lifetime > 0 && params.procedure == Procedure::Rfc;
        let asked = Some(request.lifetime).filter(|_| is_asked).and_then(lifetime);
        let ends = asked.is_some_and(|span| span < params.pending_timeout);
        let until = cx.now + asked.map_or(params.pending_timeout, |span| span.min(params.pending_timeout));
        sending.learn(from, until, cx);
        self.pending.push(Pending { request: *request, asker, until, ends });
        // What was for this agent alone does not go on (§3.5.3).
        let is_forged = is_during(&sending.orders.forged, cx.now);
        let passed_on = Request {
            foreign_proof: Proof::None,
            // A registration that is ended goes on without the agent's own (§3.5.4).
            agent_proof: Proof::of(params.foreign_home_authentication && request.lifetime > 0, is_forged),
            wants_notice: params.procedure == Procedure::Rfc,
            ..*request
        };
        sending.by_ip(Origin::Forwarded, Message::Request(passed_on), sending.address(), request.home_agent, cx);
    }

    /// A request that it has passed on did not arrive (codes 80 to 82 and 88).
    pub fn on_unreachable(
        &mut self,
        why: Unreachable,
        quoted: &Request,
        sending: &Sending,
        params: &Params,
        cx: &mut Context,
    ) {
        let its = |it: &Pending| it.request.home == quoted.home && it.request.identification == quoted.identification;
        let Some(place) = self.pending.iter().position(its) else { return };
        let Pending { request, asker, .. } = self.pending.swap_remove(place);
        let code = match why {
            Unreachable::Network => Code::FA_HOME_NETWORK_UNREACHABLE,
            Unreachable::Host => Code::FA_HOME_AGENT_HOST_UNREACHABLE,
            Unreachable::Port => Code::FA_HOME_AGENT_PORT_UNREACHABLE,
            Unreachable::TooLong { .. } | Unreachable::TimeExceeded => Code::FA_HOME_AGENT_UNREACHABLE,
        };
        self.deny(Origin::Own, &request, asker, code, request.lifetime, sending, params, cx);
    }

    #[expect(clippy::too_many_arguments, reason = "a reply has this many parts")]
    fn deny(
        &mut self,
        origin: Origin,
        request: &Request,
        asker: Asker,
        code: Code,
        lifetime: u16,
        sending: &Sending,
        params: &Params,
        cx: &mut Context,
    ) {
        self.refused += 1;
        let reply = Reply {
            code,
            lifetime,
            home: request.home,
            home_agent: request.home_agent,
            identification: request.identification,
            // The foreign agent has no key of host and home agent.
            proof: Proof::None,
            foreign_proof: Proof::of(params.mobile_foreign_authentication, false),
            agent_proof: Proof::None,
            care_of: request.care_of,
        };
        self.to_host(origin, &reply, asker, sending, params, cx);
    }

    fn to_host(
        &self,
        origin: Origin,
        reply: &Reply,
        Asker { at, to }: Asker,
        sending: &Sending,
        params: &Params,
        cx: &mut Context,
    ) {
        let message = Message::Reply(*reply);
        if Self::is_by_protocol(reply.home, at, sending, params, cx) {
            sending.by_ip(origin, message, to, reply.home, cx);
        } else {
            sending.to_neighbour(origin, message, to, reply.home, at, cx);
        }
    }

    /// Passes the reply of a home agent on to the host.
    pub fn on_reply(&mut self, reply: &Reply, sending: &Sending, params: &Params, cx: &mut Context) {
        let matches = |it: &Pending| {
            let same = it.request.identification & LOWER == reply.identification & LOWER;
            // One that denies may name another home agent (code 136).
            let by_its = it.request.home_agent == reply.home_agent || !reply.code.is_accepted();
            it.request.home == reply.home && by_its && same
        };
        // A reply that nobody waits for is ignored (§3.7.3.1).
        let Some(place) = self.pending.iter().position(matches) else { return };
        let Pending { request, asker, .. } = self.pending.swap_remove(place);
        // One that fails the checks is not passed on (§3.7.3.1).
        let failed = if reply.proof == Proof::Malformed || (params.authentication && reply.proof == Proof::None) {
            Some(Code::FA_POOR_REPLY)
        } else if params.foreign_home_authentication && reply.agent_proof != Proof::Right {
            Some(Code::FA_HOME_AGENT_AUTHENTICATION)
        } else {
            None
        };
        if let Some(code) = failed {
            // The denial takes the place of the home agent's reply.
            return self.deny(Origin::Forwarded, &request, asker, code, request.lifetime, sending, params, cx);
        }
        let at = asker.at;
        if reply.code.is_accepted() {
            self.leave(reply.home, sending, cx);
            let granted = reply.lifetime.min(request.lifetime);
            if granted > 0 {
                let until = lifetime(granted).map_or(Time::NEVER, |span| cx.now + span);
                self.visitors.push(Visitor { home: reply.home, at, until });
                self.most = self.most.max(self.visitors.len() as u64);
                sending.learn(at, until, cx);
                sending.host_way(reply.home, WayChange::Only(Self::way(reply.home, at, sending, params, cx)), cx);
                if request.flags.contains(RequestFlags::REVERSE_TUNNEL) {
                    let minimal = request.flags.contains(RequestFlags::MINIMAL_ENCAPSULATION);
                    let form = if minimal { Form::Minimal } else { Form::IpInIp };
                    sending.source_way(reply.home, Some(Way::Into { to: request.home_agent, form }), cx);
                }
            }
        }
        let foreign_proof = Proof::of(params.mobile_foreign_authentication, false);
        let passed_on = Reply { foreign_proof, agent_proof: Proof::None, ..*reply };
        self.to_host(Origin::Forwarded, &passed_on, asker, sending, params, cx);
    }

    /// It stops, and forgets its visitors and the requests without a reply.
    pub fn forget(&mut self, sending: &Sending, params: &Params, cx: &mut Context) {
        for home in self.visitors.iter().map(|it| it.home).collect::<Vec<_>>() {
            self.leave(home, sending, cx);
        }
        for Pending { request, .. } in std::mem::take(&mut self.pending) {
            if params.procedure == Procedure::Ns2 {
                sending.host_way(request.home, WayChange::Clear, cx);
            }
        }
    }

    /// A host is no visitor any more.
    fn leave(&mut self, home: Address, sending: &Sending, cx: &mut Context) {
        let before = self.visitors.len();
        self.visitors.retain(|it| it.home != home);
        if self.visitors.len() < before {
            sending.host_way(home, WayChange::Clear, cx);
            sending.source_way(home, None, cx);
        }
    }

    /// Forgets hosts whose registrations are over, and requests that nobody has answered.
    pub fn on_timer(&mut self, sending: &Sending, params: &Params, cx: &mut Context) {
        let now = cx.now;
        let over: Vec<Address> = self.visitors.iter().filter(|it| it.until <= now).map(|it| it.home).collect();
        for home in over {
            self.leave(home, sending, cx);
            sending.tell(home, MobileChange::Expired { care_of: sending.address() }, cx);
        }
        let (late, left): (Vec<Pending>, _) = self.pending.drain(..).partition(|it| it.until <= now);
        self.pending = left;
        // Nothing is said about a registration whose lifetime is over (§3.7).
        for Pending { request, asker, .. } in late.into_iter().filter(|it| !it.ends) {
            self.deny(Origin::Own, &request, asker, Code::FA_TIMEOUT, request.lifetime, sending, params, cx);
        }
    }
}
