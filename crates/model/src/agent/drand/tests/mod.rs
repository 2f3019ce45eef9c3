//! One machine, message by message. Networks of machines are in `tests/drand/` of this crate.

mod agent;
mod grants;
mod requests;
mod tables;

use hopyard_engine::{Span, Streams, Time};

use super::message::{Claim, Entry, Hello, Message};
use super::{Assignment, Machine, Output, Params};
use crate::address::Address;
use crate::params::Params as _;

/// A machine, its clock, and what it has said since it was last asked.
struct Node {
    machine: Machine,
    params: Params,
    now: Time,
    assigned: Vec<Assignment>,
}

impl Node {
    /// Node `number`, which tries for a slot at its first occasion.
    fn new(number: u32, change: impl FnOnce(&mut Params)) -> Self {
        let mut params = Params { coin: 1.0, interval: Span::from_secs(1000), ..Params::of_profile("rfc") };
        (params.hold, params.largest_hold, params.jitter) = (Span::from_secs(2000), Span::from_secs(60), Span::ZERO);
        change(&mut params);
        let rng = Streams::new(7, 0).node(number as usize, "agent");
        let mut machine = Machine::new(&params, Address(number), rng);
        machine.start(&params, Time::ZERO);
        Self { machine, params, now: Time::ZERO, assigned: Vec::new() }
    }

    fn said(&mut self) -> Vec<(Option<u32>, Message)> {
        let mut said = Vec::new();
        while let Some(output) = self.machine.next_output() {
            match output {
                Output::Broadcast(message) => said.push((None, message)),
                Output::Unicast(to, message) => said.push((Some(to.0), message)),
                Output::Assigned(assigned) => self.assigned.push(assigned),
            }
        }
        said
    }

    /// What it says to a message.
    fn hears(&mut self, from: u32, message: Message) -> Vec<(Option<u32>, Message)> {
        self.now += Span::from_millis(1);
        self.machine.on_message(Address(from), &message, &self.params, self.now);
        self.said()
    }

    /// What it says when its next deadline is reached.
    fn waits(&mut self) -> Vec<(Option<u32>, Message)> {
        self.now = self.machine.deadline();
        self.machine.on_timer(&self.params, self.now);
        self.said()
    }

    /// What it says first of all that is not a HELLO, after however many deadlines.
    fn says_next(&mut self) -> Vec<(Option<u32>, Message)> {
        for _ in 0..10_000 {
            let said = self.waits();
            if said.iter().any(|it| !matches!(it.1, Message::Hello(_))) {
                return said;
            }
        }
        panic!("it says nothing");
    }
}

fn entry(node: u32, slot: Option<u16>, round: u16) -> Entry {
    Entry { node: Address(node), claim: Claim::new(slot, round) }
}

/// A HELLO of a node that hears these ones.
fn hello(slot: Option<u16>, round: u16, neighbours: &[Entry]) -> Message {
    let claim = Claim::new(slot, round);
    let mut neighbours = neighbours.to_vec();
    neighbours.sort_unstable_by_key(|it| it.node);
    let neighbours = neighbours.into();
    Message::Hello(Hello { requesting: false, claim, undecided: 1, largest: slot, age: 0, neighbours })
}

const fn request(round: u16) -> Message {
    Message::Request { resends: 0, round }
}

const fn request_again(resends: u8, round: u16) -> Message {
    Message::Request { resends, round }
}

fn grant(round: u16, decided: &[Entry]) -> Message {
    Message::Grant { again: false, resends: 0, round, decided: decided.to_vec() }
}

fn grant_again(round: u16) -> Message {
    Message::Grant { again: true, resends: 0, round, decided: Vec::new() }
}

const fn release(round: u16, slot: u16) -> Message {
    Message::Release { round, slot }
}
