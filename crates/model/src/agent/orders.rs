//! The faults that a scenario orders the agent of a node to have. Hosts and other agents must cope with them.

use hopyard_engine::Time;

use crate::address::Address;

/// A time, from its beginning on and before its end.
pub type During = (Time, Time);

/// The orders for one node. Without any, its agent follows its protocol.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// The times at which its agent does not run, in order, without overlap. An agent that stops forgets everything; if
    /// both times are equal, it begins anew at once.
    pub stops: Vec<During>,
    /// The codes with which the agent denies each request, with the times.
    pub denials: Vec<(u8, During)>,
    /// The hosts that the agent does not serve as visitors.
    pub no_visits: Vec<Address>,
    /// The hosts that the agent does not serve as their home agent, although it is.
    pub no_homes: Vec<Address>,
    /// The times at which the authenticator of its messages to another agent is wrong; for a host, of its messages to a
    /// foreign agent.
    pub forged: Vec<During>,
    /// The times at which its messages to other agents, or its messages to hosts, are poorly formed.
    pub malformed: Vec<During>,
}

/// Whether a time is in one of these intervals.
#[must_use]
pub fn is_during(intervals: &[During], now: Time) -> bool {
    intervals.iter().any(|&(from, until)| from <= now && now < until)
}

/// Two parties that share a key. The messages between them have an authenticator, which can be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// A host and its home agent.
    Home,
    /// A host and a foreign agent.
    Foreign,
    /// A foreign agent and a home agent.
    Agents,
}

impl Orders {
    /// The first code with which the agent denies requests now, among the codes for which `is_its` is true.
    #[must_use]
    pub fn denial(&self, now: Time, is_its: impl Fn(u8) -> bool) -> Option<u8> {
        let holds = |&&(code, (from, until)): &&(u8, During)| from <= now && now < until && is_its(code);
        self.denials.iter().find(holds).map(|&(code, _)| code)
    }
}
