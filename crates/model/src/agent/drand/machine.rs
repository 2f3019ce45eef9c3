//! The state machine of a node. It does no input and no output: messages and times go in, messages and the slot come
//! out. So a network of machines can be run without the world.

use std::collections::VecDeque;

use hopyard_engine::{Rng, Span, Time};

use super::message::{Claim, Entry, Hello, Message, is_later};
use super::params::{Lottery, Params};
use super::tables::{Neighbour, Tables, latest};
use crate::address::Address;

/// The slots, as far as the MAC must know them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assignment {
    /// The node's slot, or nothing. Slots are counted from zero.
    pub slot: Option<u16>,
    /// The largest slot within two hops that the node knows of, its own among them: for local frames.
    pub largest_near: Option<u16>,
    /// The largest slot of the network that the node knows of: for a global frame.
    pub largest: Option<u16>,
}

/// An order of a machine.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// Send a message to all neighbours.
    Broadcast(Message),
    /// Send a message to one neighbour.
    Unicast(Address, Message),
    /// The slots have changed.
    Assigned(Assignment),
}

/// The counts of a machine besides its messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Slots taken.
    pub taken: u64,
    /// Slots given up, because a node with a lower address within two hops has the same.
    pub conflicts: u64,
    /// Grants that were forgotten after the last resend, without hearing how the request ended.
    pub forgotten: u64,
    /// Neighbours that did not answer a request and were left out.
    pub left_out: u64,
}

/// A request that waits for grants.
#[derive(Clone, Debug)]
struct Request {
    /// When it was sent for the first time, and each time again.
    sent: Vec<Time>,
    /// The neighbours that have granted it, sorted.
    granted: Vec<Address>,
    /// The entries of the grants, and the later news of those nodes. The tables may forget it before the last grant
    /// comes.
    told: Vec<Entry>,
    deadline: Time,
}

impl Request {
    /// How often it has been sent again.
    fn resends(&self) -> u8 {
        u8::try_from(self.sent.len() - 1).unwrap_or(MOST_RESENDS).min(MOST_RESENDS)
    }
}

/// As many resends as a message can count.
const MOST_RESENDS: u8 = 127;

/// A grant whose request has not ended.
#[derive(Clone, Debug)]
struct Grant {
    holder: Address,
    round: u16,
    /// Which request of the holder it answers.
    asked: u8,
    /// How often it has been sent again.
    resends: u32,
    deadline: Time,
}

/// The states. A node that is idle, or has granted a request, has a slot or none: these are IDLE and RELEASE of the
/// paper.
#[derive(Clone, Debug)]
enum State {
    Idle,
    Requesting(Request),
    Granting(Grant),
}

/// DRAND at one node.
#[derive(Debug)]
pub struct Machine {
    node: Address,
    rng: Rng,
    tables: Tables,
    state: State,
    slot: Option<u16>,
    round: u16,
    /// The largest response time of neighbours (d_A).
    delay: Span,
    next_hello: Time,
    next_try: Time,
    assigned: Assignment,
    counters: Counters,
    outputs: VecDeque<Output>,
}

impl Machine {
    /// DRAND at the node with an address.
    #[must_use]
    pub const fn new(params: &Params, node: Address, rng: Rng) -> Self {
        Self {
            node,
            rng,
            tables: Tables::new(node),
            state: State::Idle,
            slot: None,
            round: 0,
            delay: params.first_delay,
            next_hello: Time::NEVER,
            next_try: Time::NEVER,
            assigned: Assignment { slot: None, largest_near: None, largest: None },
            counters: Counters { taken: 0, conflicts: 0, forgotten: 0, left_out: 0 },
            outputs: VecDeque::new(),
        }
    }

    /// The node's slot, or nothing.
    #[must_use]
    pub const fn slot(&self) -> Option<u16> {
        self.slot
    }

    /// The round in which the node took its slot, gave one up, or last asked for one.
    #[must_use]
    pub const fn round(&self) -> u16 {
        self.round
    }

    /// The slots as the MAC was last told.
    #[must_use]
    pub const fn assigned(&self) -> Assignment {
        self.assigned
    }

    /// The node's knowledge of others.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// The counts of the node.
    #[must_use]
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// The largest response time of neighbours (d_A).
    #[must_use]
    pub const fn delay(&self) -> Span {
        self.delay
    }

    /// The next thing that the machine wants done.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When `on_timer` must be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        let state = match &self.state {
            State::Idle => Time::NEVER,
            State::Requesting(request) => request.deadline,
            State::Granting(grant) => grant.deadline,
        };
        state.min(self.next_hello).min(self.next_try)
    }

    /// The node starts.
    pub fn start(&mut self, params: &Params, now: Time) {
        // Nodes do not all begin at once.
        self.next_hello = now + params.interval.mul_f64(self.rng.uniform());
        self.next_try = now + params.settle + self.between_tries(params);
    }

    /// A message came from a neighbour.
    pub fn on_message(&mut self, from: Address, message: &Message, params: &Params, now: Time) {
        match message {
            Message::Hello(hello) => self.on_hello(from, hello, params, now),
            &Message::Request { resends, round } => self.on_request(from, resends, round, now),
            Message::Grant { again, resends, round, decided } => {
                self.on_grant(from, *round, (!again).then_some(*resends), decided, now);
            }
            &Message::Reject { round } => {
                self.tables.refresh(from, now);
                if self.is_requesting(round) {
                    self.fail();
                }
            }
            &Message::Fail { round } => {
                self.tables.hear(from, Claim::new(None, round), now);
                if matches!(&self.state, State::Granting(it) if it.holder == from && !is_later(it.round, round)) {
                    self.state = State::Idle;
                }
            }
            &Message::Release { round, slot } => {
                self.tables.hear(from, Claim::new(Some(slot), round), now);
                self.relay(from, round, slot);
            }
            &Message::TwoHopRelease { node, round, slot } => {
                self.tables.refresh(from, now);
                self.tables.hear_from(from, Entry { node, claim: Claim::new(Some(slot), round) });
            }
        }
        self.look(params, now);
    }

    /// The deadline is reached.
    pub fn on_timer(&mut self, params: &Params, now: Time) {
        if self.next_hello <= now {
            self.tables.prune(now, params.hold, params.largest_hold);
            if matches!(&self.state, State::Granting(it) if self.tables.neighbour(it.holder).is_none()) {
                self.state = State::Idle;
            }
            self.look(params, now);
            self.decide_if_granted();
            self.hello(params, now);
        }
        match &mut self.state {
            State::Requesting(request) if request.deadline <= now => self.ask_again(params, now),
            State::Granting(grant) if grant.deadline <= now => {
                if params.grant_resends.allow(grant.resends) {
                    grant.resends += 1;
                    grant.deadline = now + self.delay;
                    self.send_grant(true);
                } else {
                    self.counters.forgotten += 1;
                    self.state = State::Idle;
                }
            }
            _ => {}
        }
        if self.next_try <= now {
            self.try_for_slot(params, now);
        }
        self.look(params, now);
    }

    /// The time between requests (T_A).
    fn request_period(&self, params: &Params) -> Span {
        params.request_period(self.delay)
    }

    fn between_tries(&mut self, params: &Params) -> Span {
        let factor = self.rng.uniform_in(1.0 - params.try_jitter, 1.0 + params.try_jitter);
        self.request_period(params).mul_f64(factor)
    }

    const fn claim(&self) -> Claim {
        Claim::new(self.slot, self.round)
    }

    const fn is_requesting(&self, round: u16) -> bool {
        matches!(self.state, State::Requesting(_)) && self.round == round
    }

    fn broadcast(&mut self, message: Message) {
        self.outputs.push_back(Output::Broadcast(message));
    }

    fn unicast(&mut self, to: Address, message: Message) {
        self.outputs.push_back(Output::Unicast(to, message));
    }

    /// The nodes without a slot within two hops, this one among them.
    fn undecided(&mut self) -> u16 {
        let others = self.tables.undecided();
        u16::try_from(others + usize::from(self.slot.is_none())).unwrap_or(u16::MAX)
    }

    /// The largest slot of the network that is known, and when a node within two hops of its owner has vouched for it.
    fn largest(&self, now: Time) -> Option<(u16, Time)> {
        let near = self.tables.largest_near().max(self.slot);
        near.map(|slot| (slot, now)).max(self.tables.told())
    }

    fn hello(&mut self, params: &Params, now: Time) {
        let largest = self.largest(now);
        let age = largest.map_or(0, |(_, since)| now.since(since).nanos() / 1_000_000);
        let hello = Hello {
            requesting: matches!(self.state, State::Requesting(_)),
            claim: self.claim(),
            undecided: self.undecided(),
            largest: largest.map(|(slot, _)| slot),
            age: u16::try_from(age).unwrap_or(u16::MAX),
            neighbours: self.tables.heard_to_tell(),
        };
        self.broadcast(Message::Hello(hello));
        self.next_hello = now + params.interval - params.jitter.mul_f64(self.rng.uniform());
    }

    fn on_hello(&mut self, from: Address, hello: &Hello, params: &Params, now: Time) {
        let listed = self.tables.hear_hello(from, hello, now, params.hold, params.largest_hold);
        // A node that has started anew goes on after the rounds that others remember of it.
        if let Some(listed) = listed
            && listed.is_newer(self.claim())
            && !matches!(self.state, State::Requesting(_))
        {
            self.round = listed.round().wrapping_add(1);
        }
        // The holder's request has ended: it has not been heard of a slot, and waits for no grants.
        if let State::Granting(grant) = &self.state
            && (grant.holder, hello.requesting, hello.claim.slot()) == (from, false, None)
            && !is_later(grant.round, hello.claim.round())
        {
            self.state = State::Idle;
        }
    }

    fn try_for_slot(&mut self, params: &Params, now: Time) {
        if self.slot.is_some() {
            self.next_try = Time::NEVER;
            return;
        }
        self.next_try = now + self.between_tries(params);
        if !matches!(self.state, State::Idle) || self.rng.uniform() >= params.coin {
            return;
        }
        let own = self.undecided();
        let count = match params.lottery {
            Lottery::Own => own,
            Lottery::Largest => self.tables.neighbours().iter().map(|it| it.undecided()).fold(own, u16::max),
        };
        if self.rng.below(u64::from(count.max(1))) > 0 {
            return;
        }
        self.round = self.round.wrapping_add(1);
        let deadline = now + self.request_period(params);
        let request = Request { sent: vec![now], granted: Vec::new(), told: Vec::new(), deadline };
        self.state = State::Requesting(request);
        self.broadcast(Message::Request { resends: 0, round: self.round });
        // A node without neighbours needs no grant.
        self.decide_if_granted();
    }

    fn on_request(&mut self, from: Address, asked: u8, round: u16, now: Time) {
        self.tables.hear(from, Claim::new(None, round), now);
        let deadline = now + self.delay;
        match &mut self.state {
            State::Idle => {
                self.state = State::Granting(Grant { holder: from, round, asked, resends: 0, deadline });
                self.send_grant(false);
            }
            State::Granting(grant) if grant.holder == from => {
                if !is_later(grant.round, round) {
                    let resends = if grant.round == round { grant.resends } else { 0 };
                    *grant = Grant { holder: from, round, asked, resends, deadline };
                    self.send_grant(false);
                }
            }
            State::Granting(_) | State::Requesting(_) => self.unicast(from, Message::Reject { round }),
        }
    }

    fn send_grant(&mut self, again: bool) {
        let State::Granting(grant) = &self.state else { return };
        let (to, round, resends) = (grant.holder, grant.round, grant.asked);
        let own = Entry { node: self.node, claim: self.claim() };
        let own = self.slot.is_some().then_some(own);
        let decided = self.tables.decided().filter(|it| it.node != to).chain(own).collect();
        self.unicast(to, Message::Grant { again, resends, round, decided });
    }

    /// A grant; `answers` is the number of the request that the grant answers at once, and nothing if it is sent again.
    fn on_grant(&mut self, from: Address, round: u16, answers: Option<u8>, decided: &[Entry], now: Time) {
        self.tables.refresh(from, now);
        self.tables.hear_list(from, decided);
        if self.is_requesting(round) {
            let State::Requesting(request) = &mut self.state else { return };
            // A response time. A grant that is sent again says nothing of it.
            if let Some(&sent) = answers.and_then(|number| request.sent.get(usize::from(number))) {
                self.delay = self.delay.max(now.since(sent));
            }
            if let Err(place) = request.granted.binary_search(&from) {
                request.granted.insert(place, from);
            }
            request.told.extend(decided);
            self.decide_if_granted();
        } else if answers.is_none() && !matches!(self.state, State::Requesting(_)) {
            // The neighbour has not heard how the request ended. A first grant has only crossed what it will hear.
            let answer = match self.slot {
                Some(slot) => Message::Release { round: self.round, slot },
                None => Message::Fail { round: self.round },
            };
            self.unicast(from, answer);
        }
    }

    fn fail(&mut self) {
        self.state = State::Idle;
        self.broadcast(Message::Fail { round: self.round });
    }

    /// The neighbours that have not granted the request.
    fn missing<'a>(&'a self, request: &'a Request) -> impl Iterator<Item = &'a Neighbour> {
        self.tables.neighbours().iter().filter(|it| request.granted.binary_search(&it.address()).is_err())
    }

    /// Sends the request again to the neighbours that have not answered. After the last resend, it has failed if any
    /// of them is still there.
    fn ask_again(&mut self, params: &Params, now: Time) {
        let State::Requesting(request) = &self.state else { return };
        if request.sent.len() <= params.request_resends as usize {
            let missing: Vec<Address> = self.missing(request).map(Neighbour::address).collect();
            let deadline = now + self.request_period(params);
            let State::Requesting(request) = &mut self.state else { return };
            request.sent.push(now);
            request.deadline = deadline;
            let (resends, round) = (request.resends(), self.round);
            for neighbour in missing {
                self.unicast(neighbour, Message::Request { resends, round });
            }
        } else if self.missing(request).any(|it| it.is_present(now, params.silence)) {
            self.fail();
        } else {
            self.counters.left_out += self.missing(request).count() as u64;
            self.decide();
        }
    }

    fn decide_if_granted(&mut self) {
        if let State::Requesting(request) = &self.state
            && self.missing(request).next().is_none()
        {
            self.decide();
        }
    }

    /// Takes the smallest slot that nobody within two hops has.
    fn decide(&mut self) {
        let State::Requesting(request) = std::mem::replace(&mut self.state, State::Idle) else { return };
        let mut known = self.tables.known();
        known.extend(request.told.iter().filter(|it| it.node != self.node));
        latest(&mut known);
        let mut taken: Vec<u16> = known.iter().filter_map(|it| it.claim.slot()).collect();
        taken.sort_unstable();
        taken.dedup();
        let slot = (0..u16::MAX).zip(&taken).take_while(|&(slot, &taken)| slot == taken).count() as u16;
        self.slot = Some(slot);
        self.next_try = Time::NEVER;
        self.counters.taken += 1;
        self.broadcast(Message::Release { round: self.round, slot });
    }

    /// A neighbour has taken a slot: the other neighbours are told, once.
    fn relay(&mut self, node: Address, round: u16, slot: u16) {
        if self.tables.relay(node, round) {
            self.broadcast(Message::TwoHopRelease { node, round, slot });
        }
    }

    /// Draws the conclusions from the present tables.
    fn look(&mut self, params: &Params, now: Time) {
        // The slot of the holder may be heard of from itself or from others.
        if let State::Granting(grant) = &self.state
            && let Some(claim) = self.tables.claim_of_neighbour(grant.holder)
            && let (Some(slot), false) = (claim.slot(), is_later(grant.round, claim.round()))
        {
            let holder = grant.holder;
            self.state = State::Idle;
            self.relay(holder, claim.round(), slot);
        }
        if !self.tables.take_changed() {
            return self.tell(now);
        }
        // What grants have told outlives the tables, and must not become older than what they showed.
        if let State::Requesting(request) = &mut self.state {
            for told in &mut request.told {
                if let Some(claim) = self.tables.claim(told.node).filter(|claim| claim.is_newer(told.claim)) {
                    told.claim = claim;
                }
            }
        }
        // A conflict: the larger address gives up its slot.
        if let Some(slot) = self.slot
            && self.tables.has_rival(slot)
        {
            self.slot = None;
            self.round = self.round.wrapping_add(1);
            self.counters.conflicts += 1;
            self.next_try = now + self.between_tries(params);
        }
        self.tell(now);
    }

    /// Tells the slots if they have changed.
    fn tell(&mut self, now: Time) {
        let assigned = Assignment {
            slot: self.slot,
            largest_near: self.tables.largest_near().max(self.slot),
            largest: self.largest(now).map(|(slot, _)| slot),
        };
        if assigned != self.assigned {
            self.assigned = assigned;
            self.outputs.push_back(Output::Assigned(assigned));
        }
    }
}
