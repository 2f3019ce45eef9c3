//! The knowledge of the simulator alone: who hears whom. Routing by an oracle asks for it, and greedy schedules follow
//! from it.

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use super::World;
use crate::address::{Address, NodeId};
use crate::channel::ChannelId;
use crate::clock::Event;
use crate::link::Wired;
use crate::link::wired::Direction;
use crate::node::Attachment;
use crate::observe::Probe;
use crate::order;
use crate::routing::{Connectivity, Routing};

impl<P: Probe> World<P> {
    /// Gives the true connectivity to protocols that use it.
    pub(super) fn look_at_connectivity(&mut self) {
        if self.knowledge.interval.is_zero() {
            return;
        }
        let now = self.cx.now;
        let neighbours = self.in_reach();
        let connectivity = Connectivity::new(neighbours, self.cx.owners.clone()).with_wires(self.wire_ends());
        if *self.knowledge.connectivity != connectivity || now == Time::ZERO {
            self.knowledge.connectivity = Arc::new(connectivity);
            for n in 0..self.nodes.len() {
                if let Some(oracle) = self.nodes[n].routing.oracle() {
                    oracle.on_connectivity(&self.knowledge.connectivity);
                }
            }
        }
        let next = now + self.knowledge.interval;
        if next < Time::NEVER {
            self.clock.queue.push(next, order::CONNECTIVITY, Event::Connectivity);
        }
    }

    /// For each node the addresses in its reach: over radio in both directions, and at the other ends of its wires.
    fn in_reach(&mut self) -> Vec<Vec<Address>> {
        let now = self.cx.now;
        let mut neighbours: Vec<Vec<Address>> = vec![Vec::new(); self.nodes.len()];
        for interface in &self.topology.interfaces {
            let neighbours = &mut neighbours[interface.node.index()];
            match interface.attachment {
                Attachment::Radio { channel, station } => {
                    let heard = self.channels[channel.index()].in_range(station as usize, now);
                    neighbours.extend(heard.into_iter().map(Address::from));
                }
                Attachment::Wire { wire, direction } => {
                    neighbours.push(self.wires[wire].to(direction).into());
                }
                Attachment::Tunnel { .. } | Attachment::Nothing => {}
            }
        }
        neighbours
    }

    /// For each node its neighbours now: the nodes in its reach over radio in both directions, and those at the other
    /// ends of its wires. Each list is sorted.
    pub fn neighbours(&mut self) -> Vec<Vec<NodeId>> {
        let all = self.in_reach();
        let owners = &self.cx.owners;
        let nodes = |addresses: Vec<Address>| {
            let mut nodes: Vec<_> = addresses.into_iter().map(|address| owners.of(address)).collect();
            nodes.sort_unstable();
            nodes.dedup();
            nodes
        };
        all.into_iter().map(nodes).collect()
    }

    /// Gives a node another route to a destination from now on: the next hop with the number of hops over it, or none
    /// of its own. Returns whether the node's protocol takes routes from outside.
    pub fn steer(&mut self, node: NodeId, destination: NodeId, route: Option<(NodeId, u8)>) -> bool {
        let oracle = self.nodes.get_mut(node.index()).and_then(|node| node.routing.oracle());
        oracle.is_some_and(|oracle| oracle.steer(destination, route))
    }

    /// The addresses at the ends of wires, each with the delay to it.
    fn wire_ends(&self) -> Vec<(Address, Span)> {
        let ends = |it: &Wired| [Direction::Forward, Direction::Backward].map(|to| (it.to(to).into(), it.delay(to)));
        self.wires.iter().flat_map(ends).collect()
    }

    /// Gives the MACs of each channel the slots that they have at the start, if it needs that.
    pub(super) fn give_first_slots(&mut self) {
        for channel in 0..self.channels.len() {
            if self.channels[channel].next_look(None).is_some() {
                self.give_slots(ChannelId(channel as u16));
            }
        }
    }

    /// The simulator, which knows who hears whom, gives the MACs of a channel their slots.
    #[cold]
    pub(super) fn give_slots(&mut self, channel: ChannelId) {
        let changed = self.channels[channel.index()].look(&mut self.cx, &mut self.clock.queue);
        if let Some(next) = self.channels[channel.index()].next_look(Some(self.cx.now)).filter(|it| *it < Time::NEVER) {
            self.clock.queue.push(next, order::look(channel.0), Event::Look(channel));
        }
        for interface in changed {
            let (node, mut around) = self.node_at(interface);
            node.serve_mac(interface, &mut around);
        }
    }
}
