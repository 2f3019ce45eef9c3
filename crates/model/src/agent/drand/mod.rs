//! DRAND: nodes agree among themselves on slots for TDMA, so that no two nodes within two hops have the same one.
//!
//! Read: Rhee, Warrier, Min, Xu, DRAND: distributed randomized TDMA scheduling for wireless ad hoc networks, MobiHoc
//! 2006, and IEEE Transactions on Mobile Computing 8 (2009) 1384. Only their abstracts and an implementation for sensor
//! nodes were available. `docs/models/drand.md` lists the assumptions where these are silent.
//!
//! A node without a slot throws a coin now and then, and holds a lottery; if it wins, it asks its neighbours. A
//! neighbour grants the request if it has promised nothing to another node. The grant has the slots that the neighbour
//! knows of. The neighbour keeps the promise until it hears how the request ended. With all grants, the node takes the
//! smallest free slot and tells so in a release, which its neighbours relay. With one refusal, it has failed and tries
//! again later. HELLOs find the neighbours, and repeat what the releases said. If they show that another node within
//! two hops has the same slot, the node with the larger address gives it up.
//!
//! - [`machine`]: the states, without input and output
//! - [`tables`]: the neighbours, one and two hops away, and their slots
//! - [`message`]: the messages and their sizes
//!
//! Left out: further interfaces. A node is known by the address of its first one.
//!
//! Validated by its invariants on random networks, without and with losses, motion, births and deaths
//! (`tests/drand/`), and by the figures of `validation/results/drand_static.csv`.

pub mod machine;
pub mod message;
mod params;
pub mod tables;
#[cfg(test)]
mod tests;

use hopyard_engine::{Rng, Time};

pub use self::machine::{Assignment, Machine, Output};
pub use self::message::Message;
pub use self::params::{Lottery, Params, Resends};
use super::protocol::Agent;
use super::site::Site;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, DropReason, Slots};
use crate::packet::{Body, FlowId, IP_HEADER, Packet, PacketId, RoutingMessage, UDP_HEADER};

/// DRAND at one node of the world.
#[derive(Debug)]
pub struct Drand {
    node: NodeId,
    params: Params,
    /// Behind a pointer, so that nodes with other agents stay small.
    machine: Box<Machine>,
}

impl Drand {
    /// DRAND at `node`.
    #[must_use]
    pub fn new(params: &Params, site: &Site, rng: Rng) -> Self {
        let node = site.node;
        Self { node, params: params.clone(), machine: Box::new(Machine::new(params, node.into(), rng)) }
    }

    /// The machine: the slot, the tables, the counters.
    #[must_use]
    pub fn machine(&self) -> &Machine {
        &self.machine
    }

    fn carry_out(&mut self, cx: &mut Context) {
        while let Some(output) = self.machine.next_output() {
            match output {
                Output::Broadcast(message) => self.send(message, Address::MANET_ROUTERS, Address::BROADCAST, cx),
                Output::Unicast(to, message) => self.send(message, to, to, cx),
                Output::Assigned(assignment) => tell_mac(self.node, assignment, cx),
            }
        }
    }

    fn send(&self, message: Message, destination: Address, next_hop: Address, cx: &mut Context) {
        let packet = cx.originate(Packet {
            created: cx.now,
            source: self.node.into(),
            destination,
            flow: FlowId::NONE,
            size: IP_HEADER + UDP_HEADER + message.bytes(),
            ttl: 1,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Control { port: message::PORT, message: RoutingMessage::new(message) },
        });
        cx.act(Action::Send { node: self.node, packet, next_hop });
    }
}

/// The slots of a node have changed: a MAC that takes them from an agent is told.
fn tell_mac(node: NodeId, assignment: Assignment, cx: &mut Context) {
    let Assignment { slot, largest_near, largest } = assignment;
    let near = u32::from(largest_near.unwrap_or_default());
    let known = u32::from(largest.unwrap_or_default()).max(near);
    cx.act(Action::SlotsAssigned { node, slots: Slots { own: slot.map(u32::from), near, known } });
}

impl Agent for Drand {
    fn start(&mut self, cx: &mut Context) {
        self.machine.start(&self.params, cx.now);
        self.carry_out(cx);
    }

    fn on_message(&mut self, packet: PacketId, _from: Address, cx: &mut Context) {
        let from = cx.packets[packet].source;
        let Some(message) = cx.packets[packet].message::<Message>() else {
            return cx.drop_packet(self.node, packet, DropReason::NoListener);
        };
        self.machine.on_message(from, &message, &self.params, cx.now);
        cx.end(packet);
        self.carry_out(cx);
    }

    fn on_timer(&mut self, cx: &mut Context) {
        self.machine.on_timer(&self.params, cx.now);
        self.carry_out(cx);
    }

    fn deadline(&self) -> Time {
        self.machine.deadline()
    }
}
