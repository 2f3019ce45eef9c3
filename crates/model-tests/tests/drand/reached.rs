//! What messages have told each node, kept apart from its tables: what the tables must show by now.

use std::collections::BTreeMap;
use std::rc::Rc;

use hopyard_engine::{Span, Time};
use hopyard_model::address::Address;
use hopyard_model::agent::drand::Message;
use hopyard_model::agent::drand::message::{Claim, Entry};

/// What one node has told another one.
#[derive(Clone, Debug, Default)]
struct Told {
    /// What it has said of its own slot, and when each of it came last.
    own: Vec<(Claim, Time)>,
    /// What it has said of others, or had to say if its HELLO was to name all that it hears, since its last HELLO came;
    /// that one is included.
    others: Vec<(Entry, Time)>,
}

/// What messages have told all nodes.
#[derive(Clone, Debug)]
pub struct Reached {
    /// How long a node remembers one that is silent.
    hold: Span,
    /// By sender and receiver.
    told: BTreeMap<(u32, u32), Told>,
}

impl Reached {
    pub const fn new(hold: Span) -> Self {
        Self { hold, told: BTreeMap::new() }
    }

    /// A node begins, and has been told nothing.
    pub fn start(&mut self, node: u32) {
        self.told.retain(|&(_, to), _| to != node);
    }

    /// What a node that sends a HELLO must list: what others have told it of themselves, as long as it remembers them.
    pub fn must_list(&self, node: u32, now: Time) -> Rc<[Entry]> {
        let senders = self.told.iter().filter(|it| it.0.1 == node);
        let entries = senders.flat_map(|(&(from, _), told)| {
            let recent = told.own.iter().filter(|it| now.since(it.1) < self.hold);
            recent.map(move |&(claim, _)| Entry { node: Address(from), claim })
        });
        entries.collect()
    }

    /// A message has come. `must` is what its sender had to list when it sent it.
    pub fn deliver(&mut self, (from, to): (u32, u32), message: &Message, must: &[Entry], now: Time) {
        let hold = self.hold;
        let told = self.told.entry((from, to)).or_default();
        // Only a neighbour is asked of others, and only a message that says what slot its sender has makes it one.
        let is_neighbour = told.own.iter().any(|it| now.since(it.1) < hold);
        let (own, others): (_, Vec<Entry>) = match message {
            Message::Hello(hello) => {
                told.others.clear();
                (Some(hello.claim), hello.neighbours.iter().chain(must).copied().collect())
            }
            &Message::Request { round, .. } | &Message::Fail { round } => (Some(Claim::new(None, round)), Vec::new()),
            &Message::Release { round, slot } => (Some(Claim::new(Some(slot), round)), Vec::new()),
            Message::Grant { decided, .. } if is_neighbour => (None, decided.clone()),
            &Message::TwoHopRelease { node, round, slot } if is_neighbour => {
                (None, vec![Entry { node, claim: Claim::new(Some(slot), round) }])
            }
            Message::Grant { .. } | Message::TwoHopRelease { .. } | Message::Reject { .. } => (None, Vec::new()),
        };
        if let Some(claim) = own {
            told.own.retain(|it| it.0 != claim && now.since(it.1) < hold);
            told.own.push((claim, now));
        }
        told.others.extend(others.into_iter().map(|entry| (entry, now)));
    }

    /// From whom a node has heard, and not had to forget, that another one has a claim.
    pub fn teller(&self, to: u32, of: u32, claim: Claim, now: Time) -> Option<u32> {
        let entry = Entry { node: Address(of), claim };
        let is_recent = |since: Time| now.since(since) < self.hold;
        let tellers = self.told.iter().filter(|it| it.0.1 == to).filter(|&(&(from, _), told)| {
            from == of && told.own.iter().any(|it| it.0 == claim && is_recent(it.1))
                || told.others.iter().any(|it| it.0 == entry && is_recent(it.1))
        });
        tellers.map(|it| it.0.0).next()
    }
}
