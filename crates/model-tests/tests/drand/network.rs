//! A network of machines without the world: messages take a random time, are lost at random, and reach the nodes that
//! are linked when they are sent. It looks at all slots at every instant, as no node can.

// Another program has this file too.
#[path = "reached.rs"]
mod reached;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::rc::Rc;

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::address::Address;
use hopyard_model::agent::drand::message::{Claim, Entry as Said};
use hopyard_model::agent::drand::{Machine, Message, Output, Params};
use hopyard_model::mac::tdma::colouring;
use hopyard_model::packet::Message as _;

use reached::Reached;

/// Nodes in a square, and the range that gives them a mean degree.
#[derive(Clone, Debug)]
pub struct Places {
    /// Where the nodes are, in a square of side 1.
    pub at: Vec<(f64, f64)>,
    /// How far they reach.
    pub range: f64,
}

impl Places {
    /// Random places, with as many links as the mean degree asks for.
    pub fn random(nodes: usize, degree: f64, rng: &mut Rng) -> Self {
        let at: Vec<_> = (0..nodes).map(|_| (rng.uniform(), rng.uniform())).collect();
        let mut distances = Vec::new();
        for one in 0..nodes {
            for other in 0..one {
                distances.push((at[one].0 - at[other].0).hypot(at[one].1 - at[other].1));
            }
        }
        distances.sort_unstable_by(f64::total_cmp);
        let links = ((nodes as f64 * degree / 2.0).round() as usize).min(distances.len());
        // Between two distances, so that rounding decides nothing.
        let range = match (links.checked_sub(1).map(|it| distances[it]), distances.get(links)) {
            (Some(longest), Some(next)) => (longest + next) / 2.0,
            (Some(longest), None) => longest * 1.01,
            (None, _) => 0.0,
        };
        Self { at, range }
    }

    pub fn links(&self) -> Vec<Vec<u32>> {
        colouring::in_range(&self.at, self.range)
    }
}

/// The network of a number among those of the validation: 10 to 200 nodes of mean degree 3 to 30.
pub fn numbered(number: u64) -> Places {
    let mut rng = Streams::new(number, 0).stream("network");
    let nodes = 10 + rng.below(191) as usize;
    let degree = rng.uniform_in(3.0, 30.0).min(nodes as f64 - 1.0);
    Places::random(nodes, degree, &mut rng)
}

/// Nodes that go from one random point of a square to the next, all at the same speed (random waypoint).
#[derive(Clone, Debug)]
pub struct Walkers {
    /// Where the nodes are, in metres.
    pub at: Vec<(f64, f64)>,
    goals: Vec<(f64, f64)>,
    side: f64,
    range: f64,
    rng: Rng,
}

impl Walkers {
    /// Nodes in a square that gives them a mean degree, the border left out of account; `range` is in metres.
    pub fn new(nodes: usize, degree: f64, range: f64, seed: u64) -> Self {
        let mut rng = Streams::new(seed, 2).stream("movement");
        let side = range * (std::f64::consts::PI * nodes as f64 / degree).sqrt();
        let mut point = || (side * rng.uniform(), side * rng.uniform());
        let (at, goals) = ((0..nodes).map(|_| point()).collect(), (0..nodes).map(|_| point()).collect());
        Self { at, goals, side, range, rng }
    }

    /// Moves all nodes by so many metres.
    pub fn walk(&mut self, metres: f64) {
        for node in 0..self.at.len() {
            let mut left = metres;
            loop {
                let (at, goal) = (self.at[node], self.goals[node]);
                let distance = (goal.0 - at.0).hypot(goal.1 - at.1);
                if distance > left {
                    let part = left / distance;
                    self.at[node] = (at.0 + (goal.0 - at.0) * part, at.1 + (goal.1 - at.1) * part);
                    break;
                }
                left -= distance;
                self.at[node] = goal;
                self.goals[node] = (self.side * self.rng.uniform(), self.side * self.rng.uniform());
            }
        }
    }

    /// The links among the nodes for which `lives` says so.
    pub fn links(&self, lives: impl Fn(usize) -> bool) -> Vec<Vec<u32>> {
        let mut links = colouring::in_range(&self.at, self.range);
        for (node, near) in links.iter_mut().enumerate() {
            near.retain(|&other| lives(node) && lives(other as usize));
        }
        links
    }
}

/// Two nodes within two hops that had the same slot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Violation {
    pub pair: (u32, u32),
    pub from: Time,
    pub until: Time,
}

#[derive(Clone, Debug)]
enum Event {
    /// A message comes; `must` is what its sender had to list ([`Reached::must_list`]).
    Deliver {
        from: u32,
        to: u32,
        message: Rc<Message>,
        must: Rc<[Said]>,
    },
    Timer(u32),
}

/// What waits in the queue: in order of time, then of scheduling.
type Entry = (Time, u64, usize);

pub struct Network {
    pub now: Time,
    pub machines: Vec<Option<Machine>>,
    /// The links of the nodes that live, sorted.
    pub links: Vec<Vec<u32>>,
    params: Params,
    loss: f64,
    /// With it, every event is followed by a look at the tables.
    reached: Option<Reached>,
    /// How many messages each node can send or hear before its battery is empty.
    pub charge: Vec<u64>,
    /// How often each node has begun.
    begun: Vec<u32>,
    rng: Rng,
    queue: BinaryHeap<Reverse<Entry>>,
    events: Vec<Option<Event>>,
    free: Vec<usize>,
    scheduled: Vec<Time>,
    number: u64,
    slots: Vec<Option<u16>>,
    /// When each node took or lost its slot.
    pub changed: Vec<Time>,
    /// The last of these times.
    pub last_change: Time,
    open: BTreeMap<(u32, u32), Time>,
    pub violations: Vec<Violation>,
    /// Messages sent, by kind; a broadcast is one.
    pub sent: BTreeMap<&'static str, u64>,
}

/// The delay of a message: 5 to 10 ms.
fn delay(rng: &mut Rng) -> Span {
    Span::from_secs_f64(rng.uniform_in(0.005, 0.010))
}

impl Network {
    pub fn new(links: Vec<Vec<u32>>, params: &Params, loss: f64, seed: u64) -> Self {
        let count = links.len();
        let mut it = Self {
            now: Time::ZERO,
            machines: (0..count).map(|_| None).collect(),
            links,
            params: params.clone(),
            loss,
            reached: None,
            charge: vec![u64::MAX; count],
            begun: vec![0; count],
            rng: Streams::new(seed, 1).stream("channel"),
            queue: BinaryHeap::new(),
            events: Vec::new(),
            free: Vec::new(),
            scheduled: vec![Time::NEVER; count],
            number: 0,
            slots: vec![None; count],
            changed: vec![Time::ZERO; count],
            last_change: Time::ZERO,
            open: BTreeMap::new(),
            violations: Vec::new(),
            sent: BTreeMap::new(),
        };
        for node in 0..count as u32 {
            it.start(node, Streams::new(seed, 0).node(node as usize, "agent"));
        }
        it
    }

    /// From now on, each violation must be one that the tables cannot show, at every instant.
    pub fn look_at_tables(&mut self) {
        self.reached = Some(Reached::new(self.params.hold));
    }

    /// A node begins, and knows nothing. Its battery has no end.
    pub fn start(&mut self, node: u32, rng: Rng) {
        self.begun[node as usize] += 1;
        self.charge[node as usize] = u64::MAX;
        if let Some(reached) = &mut self.reached {
            reached.start(node);
        }
        let mut machine = Machine::new(&self.params, Address(node), rng);
        machine.start(&self.params, self.now);
        self.machines[node as usize] = Some(machine);
        self.after(node);
    }

    /// A node stops. What it has sent still arrives.
    pub fn stop(&mut self, node: u32) {
        self.machines[node as usize] = None;
        self.scheduled[node as usize] = Time::NEVER;
        self.note_slot(node, None);
    }

    /// Takes what a message costs from the battery of a node that sends or hears it. Returns whether the node still has
    /// all that the message needs; if not, it stops in the midst of it.
    fn spend(&mut self, node: u32) -> bool {
        let charge = &mut self.charge[node as usize];
        if *charge != u64::MAX {
            *charge = charge.saturating_sub(1);
        }
        if *charge > 0 {
            return true;
        }
        self.stop(node);
        let mut links = std::mem::take(&mut self.links);
        links[node as usize].clear();
        links.iter_mut().for_each(|near| near.retain(|&other| other != node));
        self.set_links(links);
        false
    }

    pub fn machines(&self) -> impl Iterator<Item = &Machine> {
        self.machines.iter().flatten()
    }

    pub fn slots(&self) -> &[Option<u16>] {
        &self.slots
    }

    /// Messages sent, HELLOs left out.
    pub fn messages(&self) -> u64 {
        self.sent.iter().filter(|&(&kind, _)| kind != "HELLO").map(|(_, count)| count).sum()
    }

    pub fn all_decided(&self) -> bool {
        self.machines().all(|it| it.slot().is_some())
    }

    /// The pairs that have the same slot now, and since when.
    pub const fn open(&self) -> &BTreeMap<(u32, u32), Time> {
        &self.open
    }

    /// The links are other ones from now on.
    pub fn set_links(&mut self, links: Vec<Vec<u32>>) {
        self.links = links;
        let now: Vec<_> = colouring::conflicts(&self.links, &self.slots);
        for pair in self.open.keys().copied().collect::<Vec<_>>() {
            if now.binary_search(&pair).is_err() {
                self.close(pair);
            }
        }
        for pair in now {
            self.open.entry(pair).or_insert(self.now);
        }
    }

    fn close(&mut self, pair: (u32, u32)) {
        if let Some(from) = self.open.remove(&pair) {
            self.violations.push(Violation { pair, from, until: self.now });
        }
    }

    /// Runs up to a time, or until `stop` says so after an event, and says whether it did.
    pub fn run(&mut self, until: Time, stop: impl Fn(&Self) -> bool) -> bool {
        self.look();
        while let Some(&Reverse((at, _, place))) = self.queue.peek() {
            if at > until {
                break;
            }
            self.queue.pop();
            self.now = at;
            let event = self.events[place].take();
            self.free.push(place);
            match event {
                Some(Event::Deliver { from, to, message, must }) => {
                    if self.machines[to as usize].is_none() || !self.spend(to) {
                        continue;
                    }
                    let Some(machine) = &mut self.machines[to as usize] else { continue };
                    if let Some(reached) = &mut self.reached {
                        reached.deliver((from, to), &message, &must, at);
                    }
                    machine.on_message(Address(from), &message, &self.params, at);
                    self.after(to);
                }
                Some(Event::Timer(node)) if self.scheduled[node as usize] == at => {
                    self.scheduled[node as usize] = Time::NEVER;
                    let Some(machine) = &mut self.machines[node as usize] else { continue };
                    if machine.deadline() <= at {
                        machine.on_timer(&self.params, at);
                    }
                    self.after(node);
                }
                _ => continue,
            }
            self.look();
            if stop(self) {
                return true;
            }
        }
        self.now = until;
        false
    }

    /// Looks at each pair that has the same slot: the node with the larger address, which has to give it up, cannot
    /// know of the other one. Its tables do not show the slot, and no message has told it that it had to believe.
    fn look(&self) {
        let Some(reached) = &self.reached else { return };
        for &(one, other) in self.open.keys() {
            let machine = |node: u32| self.machines[node as usize].as_ref().expect("nodes with slots live");
            let slot = machine(one).slot();
            let shown = machine(other).tables().claim(Address(one));
            assert_ne!(
                shown.and_then(Claim::slot),
                slot,
                "node {other} shows that node {one} has its slot at {:?}",
                self.now
            );
            // A node that has begun anew is not believed until it has heard of its old rounds, and goes on after them.
            let claim = Claim::new(slot, machine(one).round());
            let is_older = shown.is_some_and(|shown| shown.is_newer(claim));
            assert!(
                !is_older || self.begun[one as usize] > 1,
                "node {other} is ahead of node {one}: {shown:?}, {claim:?}"
            );
            let teller = reached.teller(other, one, claim, self.now).filter(|_| !is_older);
            assert_eq!(teller, None, "node {other} has been told of {claim:?} of node {one} at {:?}", self.now);
        }
    }

    fn push(&mut self, at: Time, event: Event) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.events.push(None);
            self.events.len() - 1
        });
        self.events[place] = Some(event);
        self.number += 1;
        self.queue.push(Reverse((at, self.number, place)));
    }

    fn transmit(&mut self, from: u32, to: u32, message: &Rc<Message>, must: &Rc<[Said]>) {
        if self.loss == 0.0 || self.rng.uniform() >= self.loss {
            let at = self.now + delay(&mut self.rng);
            self.push(at, Event::Deliver { from, to, message: message.clone(), must: must.clone() });
        }
    }

    /// Carries out what a node wants, and looks at its slot.
    fn after(&mut self, node: u32) {
        let n = node as usize;
        let mut assigned = None;
        while let Some(output) = self.machines[n].as_mut().and_then(Machine::next_output) {
            if !matches!(output, Output::Assigned(_)) && !self.spend(node) {
                return;
            }
            let must = match (&self.reached, &output) {
                (Some(reached), Output::Broadcast(Message::Hello(_))) => reached.must_list(node, self.now),
                _ => Rc::default(),
            };
            match output {
                Output::Broadcast(message) => {
                    *self.sent.entry(message.kind()).or_default() += 1;
                    let message = Rc::new(message);
                    for place in 0..self.links[n].len() {
                        self.transmit(node, self.links[n][place], &message, &must);
                    }
                }
                Output::Unicast(to, message) => {
                    *self.sent.entry(message.kind()).or_default() += 1;
                    if self.links[n].binary_search(&to.0).is_ok() {
                        self.transmit(node, to.0, &Rc::new(message), &must);
                    }
                }
                Output::Assigned(told) => assigned = Some(told),
            }
        }
        let machine = self.machines[n].as_ref().expect("a node that has acted lives");
        let (slot, deadline) = (machine.slot(), machine.deadline());
        // What the MAC was told last is what is the case.
        assert_eq!(assigned.unwrap_or(machine.assigned()), machine.assigned());
        assert_eq!(machine.assigned().slot, slot);
        if deadline < self.scheduled[n] {
            self.scheduled[n] = deadline;
            self.push(deadline, Event::Timer(node));
        }
        self.note_slot(node, slot);
    }

    fn note_slot(&mut self, node: u32, slot: Option<u16>) {
        let n = node as usize;
        if self.slots[n] == slot {
            return;
        }
        self.slots[n] = slot;
        self.changed[n] = self.now;
        self.last_change = self.now;
        let of_node = |&&(one, other): &&(u32, u32)| one == node || other == node;
        for pair in self.open.keys().filter(of_node).copied().collect::<Vec<_>>() {
            self.close(pair);
        }
        if slot.is_none() {
            return;
        }
        let near = self.links[n].iter();
        let all = near.clone().chain(near.flat_map(|&other| &self.links[other as usize]));
        let same: Vec<u32> =
            all.copied().filter(|&other| other != node && self.slots[other as usize] == slot).collect();
        for other in same {
            self.open.entry((node.min(other), node.max(other))).or_insert(self.now);
        }
    }
}
