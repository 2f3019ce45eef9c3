//! A home agent: bindings of its hosts to care-of addresses, and the tunnels there (RFC 5944 §3.8).

use hopyard_engine::{Span, Time};
use hopyard_wire::mobile_ip::{Code, Denier, RequestFlags};

use super::message::{Message, Proof, Reply, Request};
use super::params::{Params, Procedure, lifetime};
use super::sending::{Arrived, Sending, timestamp};
use crate::address::{Address, InterfaceId};
use crate::agent::is_during;
use crate::context::{Action, Context, MobileChange, Origin, Way, WayChange};
use crate::packet::Form;

/// The lower half of an identification, which a reply repeats (RFC 5944 §3.7.3.1).
pub(super) const LOWER: u64 = 0xffff_ffff;

/// A binding of a host to a care-of address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// The home address of the host.
    pub home: Address,
    /// The care-of address.
    pub care_of: Address,
    /// The form of the tunnel.
    pub form: Form,
    /// When it ends; [`Time::NEVER`] for one that is for ever.
    pub until: Time,
}

/// A host whose home agent this is.
#[derive(Clone, Copy, Debug)]
struct Own {
    home: Address,
    /// The identification of the last request that was accepted.
    last: u64,
}

/// The home agent's part of a node.
#[derive(Clone, Debug)]
pub(super) struct Home {
    hosts: Vec<Own>,
    bindings: Vec<Binding>,
    /// Counts for the table of nodes: requests accepted and denied, the most bindings at once.
    pub granted: u64,
    pub refused: u64,
    pub most: u64,
}

/// How a request was answered.
struct Answer {
    code: Code,
    lifetime: u16,
    identification: u64,
}

impl Home {
    pub fn new(hosts: &[Address]) -> Option<Self> {
        let hosts: Vec<Own> = hosts.iter().map(|&home| Own { home, last: 0 }).collect();
        (!hosts.is_empty()).then_some(Self { hosts, bindings: Vec::new(), granted: 0, refused: 0, most: 0 })
    }

    pub fn bindings(&self) -> &[Binding] {
        &self.bindings
    }

    pub fn deadline(&self) -> Time {
        self.bindings.iter().map(|it| it.until).min().unwrap_or(Time::NEVER)
    }

    /// Hosts that are at home by radio are neighbours; those by wire are in the table already.
    pub fn start(&self, sending: &Sending, params: &Params, cx: &mut Context) {
        for own in &self.hosts {
            self.at_home(own.home, sending, params, cx);
        }
    }

    /// How many hosts are away.
    fn absent(&self) -> usize {
        let is_first =
            |&(place, it): &(usize, &Binding)| self.bindings[..place].iter().all(|before| before.home != it.home);
        self.bindings.iter().enumerate().filter(is_first).count()
    }

    /// The agent stops, and forgets its bindings and the requests that it accepted.
    pub fn forget(&mut self, sending: &Sending, params: &Params, cx: &mut Context) {
        self.end(|_| true, sending, params, cx);
        self.hosts.iter_mut().for_each(|it| it.last = 0);
    }

    fn at_home(&self, home: Address, sending: &Sending, params: &Params, cx: &mut Context) {
        let by_wire = sending.is_by_wire(home, cx) || !sending.is_local(home, cx);
        let change = match params.procedure {
            Procedure::Rfc if !by_wire => WayChange::Only(Way::Direct),
            _ => WayChange::Clear,
        };
        sending.host_way(home, change, cx);
    }

    /// Whether it is the home agent of a host.
    pub fn serves(&self, home: Address) -> bool {
        self.hosts.iter().any(|it| it.home == home)
    }

    /// A request has arrived, from a foreign agent or from the host itself.
    pub fn on_request(
        &mut self,
        request: &Request,
        Arrived { source, from, to, .. }: Arrived,
        sending: &Sending,
        params: &Params,
        cx: &mut Context,
    ) {
        let is_passed_on = source != request.home;
        let Some(answer) = self.answer(request, is_passed_on, sending, params, cx) else {
            self.refused += 1;
            return;
        };
        let count = if answer.code.is_accepted() { &mut self.granted } else { &mut self.refused };
        *count += 1;
        if answer.code.is_accepted() {
            self.bind(request, answer.lifetime, sending, params, cx);
        }
        let proof = if is_during(&sending.orders.malformed, cx.now) {
            Proof::Malformed
        } else {
            Proof::of(params.authentication, false)
        };
        let is_forged = is_during(&sending.orders.forged, cx.now);
        let own = if cx.is_local(sending.node, request.home_agent) { request.home_agent } else { sending.address() };
        let reply = Message::Reply(Reply {
            code: answer.code,
            lifetime: answer.lifetime,
            home: request.home,
            // One that was sent to another agent learns the address of this one (code 136, §3.8.3.2).
            home_agent: own,
            identification: answer.identification,
            proof,
            foreign_proof: Proof::None,
            agent_proof: Proof::of(params.foreign_home_authentication && is_passed_on, is_forged),
            care_of: request.care_of,
        });
        // A host at home is a neighbour. In ns-2, its packets go as the routing protocol says.
        if source == request.home && (params.procedure == Procedure::Rfc || sending.is_by_wire(from, cx)) {
            sending.to_neighbour(Origin::Own, reply, to, source, from, cx);
        } else {
            sending.by_ip(Origin::Own, reply, to, source, cx);
        }
    }

    /// The code of the reply, and the lifetime that is granted (RFC 5944 §3.8.2); none for a request that is discarded.
    fn answer(
        &mut self,
        request: &Request,
        is_passed_on: bool,
        sending: &Sending,
        params: &Params,
        cx: &Context,
    ) -> Option<Answer> {
        let granted = request.lifetime.min(params.longest_registration);
        let deny = |code| Some(Answer { code, lifetime: granted, identification: request.identification });
        let Some(place) = self.hosts.iter().position(|it| it.home == request.home) else {
            // Agent and host share no key (§3.8.2.1 a).
            return if params.authentication { None } else { deny(Code::HA_PROHIBITED) };
        };
        if request.proof == Proof::Malformed {
            return deny(Code::HA_POOR_REQUEST);
        }
        if params.authentication {
            match request.proof {
                // One without an authenticator is discarded (§3.8.2.1 a).
                Proof::None => return None,
                Proof::Right => {}
                Proof::Forged | Proof::Malformed => return deny(Code::HA_MOBILE_AUTHENTICATION),
            }
            let (now, last) = (timestamp(cx), self.hosts[place].last);
            let apart = Span::from_secs((request.identification >> 32).abs_diff(now >> 32));
            if request.identification <= last || apart > params.clock_tolerance {
                // The reply has the agent's time, and the lower half of the request (§5.7.1).
                let identification = now & !LOWER | request.identification & LOWER;
                return Some(Answer { code: Code::HA_IDENTIFICATION, lifetime: granted, identification });
            }
        }
        // Not of one that ends a registration (§3.5.4, §3.8.2.1 c).
        let has_proof = request.agent_proof == Proof::Right || request.lifetime == 0;
        if params.foreign_home_authentication && is_passed_on && !has_proof {
            return deny(Code::HA_FOREIGN_AGENT_AUTHENTICATION);
        }
        if !cx.is_local(sending.node, request.home_agent) {
            return deny(Code::HA_UNKNOWN_HOME_AGENT);
        }
        let own = |code| Code(code).denied_by() == Some(Denier::HomeAgent);
        if let Some(code) = sending.orders.denial(cx.now, own) {
            return deny(Code(code));
        }
        let flags = request.flags;
        if flags.0 & (RequestFlags::RESERVED_R.0 | RequestFlags::RESERVED_X.0) != 0 {
            return deny(Code::HA_POOR_REQUEST);
        }
        if sending.orders.no_homes.contains(&request.home) {
            return deny(Code::HA_PROHIBITED);
        }
        let reverse = flags.contains(RequestFlags::REVERSE_TUNNEL);
        if reverse && !params.offers_reverse_tunnels() {
            return deny(Code::HA_REVERSE_TUNNEL);
        }
        // A host that is at home, or ends a registration, needs no tunnel.
        if params.reverse_tunnel_mandatory && is_passed_on && !reverse && request.lifetime > 0 {
            return deny(Code::HA_REVERSE_TUNNEL_MANDATORY);
        }
        if flags.contains(RequestFlags::GRE) {
            return deny(Code::HA_ENCAPSULATION);
        }
        let is_away = self.bindings.iter().any(|it| it.home == request.home);
        let is_full = |home: &Self| {
            let most = params.most_absent as usize;
            home.bindings.len() >= most && home.absent() >= most
        };
        if is_passed_on && request.lifetime > 0 && !is_away && is_full(self) {
            return deny(Code::HA_RESOURCES);
        }
        let others = self.bindings.iter().filter(|it| it.home == request.home && it.care_of != request.care_of);
        let wishes = flags.contains(RequestFlags::SIMULTANEOUS);
        // An agent that keeps one binding only replaces it (code 1).
        let stays = wishes && params.most_bindings > 1;
        if stays && others.count() >= params.most_bindings as usize && request.lifetime > 0 {
            return deny(Code::HA_TOO_MANY_BINDINGS);
        }
        self.hosts[place].last = request.identification;
        // One that keeps one binding says so, asked or not (§3.8.3.2).
        let keeps_one = params.most_bindings <= 1 && params.procedure == Procedure::Rfc;
        let code = if keeps_one { Code::ACCEPTED_WITHOUT_SIMULTANEOUS } else { Code::ACCEPTED };
        Some(Answer { code, lifetime: granted, identification: request.identification })
    }

    fn bind(&mut self, request: &Request, granted: u16, sending: &Sending, params: &Params, cx: &mut Context) {
        let (home, care_of) = (request.home, request.care_of);
        let at_home = care_of == home || (params.procedure == Procedure::Ns2 && cx.is_local(sending.node, care_of));
        // A host at home ends all its bindings (§3.6.1.2).
        let ends = |it: &Binding| it.home == home && (at_home || it.care_of == care_of);
        let stays = request.flags.contains(RequestFlags::SIMULTANEOUS) && params.most_bindings > 1;
        if granted == 0 || at_home {
            self.end(ends, sending, params, cx);
            return;
        }
        let minimal = request.flags.contains(RequestFlags::MINIMAL_ENCAPSULATION);
        let form = if minimal { Form::Minimal } else { Form::IpInIp };
        let until = lifetime(granted).map_or(Time::NEVER, |span| cx.now + span);
        let binding = Binding { home, care_of, form, until };
        let is_known = self.bindings.iter().any(|it| it.home == home && it.care_of == care_of && it.form == form);
        if !stays {
            let replaced = |it: &Binding| it.home == home && (it.care_of != care_of || it.form != form);
            for other in self.bindings.iter().filter(|it| replaced(it)) {
                sending.tell(home, MobileChange::TunnelEnded { to: other.care_of }, cx);
            }
        }
        let was_away = self.bindings.iter().any(|it| it.home == home);
        self.bindings.retain(|it| it.home != home || (stays && it.care_of != care_of));
        self.bindings.push(binding);
        self.most = self.most.max(self.bindings.len() as u64);
        let way = Way::Into { to: care_of, form };
        if !is_known {
            sending.host_way(home, if stays && was_away { WayChange::Also(way) } else { WayChange::Only(way) }, cx);
            sending.tell(home, MobileChange::TunnelBegun { to: care_of }, cx);
        } else if !stays {
            sending.host_way(home, WayChange::Only(way), cx);
        }
        if !was_away {
            self.proxy(home, true, sending, cx);
        }
    }

    /// Answers for an absent host at the radios of its network, or no longer.
    fn proxy(&self, home: Address, answers: bool, sending: &Sending, cx: &mut Context) {
        if sending.is_local(home, cx) && !sending.is_by_wire(home, cx) {
            for interface in sending.interfaces().collect::<Vec<InterfaceId>>() {
                cx.act(Action::Proxy { interface, address: home, answers });
            }
        }
    }

    /// Ends bindings.
    fn end(&mut self, ends: impl Fn(&Binding) -> bool, sending: &Sending, params: &Params, cx: &mut Context) {
        let (gone, left): (Vec<Binding>, _) = self.bindings.drain(..).partition(ends);
        self.bindings = left;
        for Binding { home, care_of, form, .. } in gone {
            if self.bindings.iter().any(|it| it.home == home) {
                sending.host_way(home, WayChange::Not(Way::Into { to: care_of, form }), cx);
            } else {
                self.at_home(home, sending, params, cx);
                self.proxy(home, false, sending, cx);
            }
            sending.tell(home, MobileChange::TunnelEnded { to: care_of }, cx);
        }
    }

    /// Ends the bindings whose lifetime is over.
    pub fn on_timer(&mut self, sending: &Sending, params: &Params, cx: &mut Context) {
        let now = cx.now;
        for it in self.bindings.iter().filter(|it| it.until <= now) {
            sending.tell(it.home, MobileChange::Expired { care_of: it.care_of }, cx);
        }
        if self.deadline() <= now {
            self.end(|it| it.until <= now, sending, params, cx);
        }
    }
}
