//! The account of packets: every packet was delivered, was dropped for a reason, or still exists.

use std::collections::BTreeSet;

use super::World;
use super::error::Unaccounted;
use crate::channel::AnyChannel;
use crate::clock::Event;
use crate::link::Link;
use crate::node::Node;
use crate::observe::Probe;
use crate::packet::{FlowId, Packet, PacketId};

impl<P: Probe> World<P> {
    /// Compares the account with the packets in every place that can hold one.
    pub(super) fn check_account(&self) -> Result<(), Unaccounted> {
        let mut held: Vec<PacketId> = self.channels.iter().flat_map(AnyChannel::held).collect();
        held.extend(self.receive_path.held());
        held.extend(self.border.kept.values().map(|it| it.packet));
        held.extend(self.nodes.iter().flat_map(Node::links).flat_map(Link::held));
        // What the protocols of a node held whose battery is empty was dropped.
        held.extend(self.nodes.iter().filter(|node| !self.energy.is_dead(node.id)).flat_map(Node::held));
        for wire in &self.wires {
            held.extend(wire.held());
        }
        held.extend(self.clock.queue.pending().filter_map(|event| match event {
            Event::Send(_, packet, _) => Some(*packet),
            _ => None,
        }));
        let places = held.len();
        let held: BTreeSet<PacketId> = held.into_iter().collect();
        let existing = self.cx.packets.len();
        let outstanding = self.cx.ledger.outstanding();
        let vanished = self.cx.copies.vanished();
        if held.len() == existing && places == existing && outstanding == existing as u64 && vanished == 0 {
            return Ok(());
        }
        let lost = self.cx.packets.iter().find(|(id, _)| !held.contains(id));
        let detail = match lost {
            Some((_, packet)) => {
                let flow = match packet.flow {
                    FlowId::NONE => String::new(),
                    flow => format!(" of flow {}", flow.0),
                };
                let Packet { created, source, destination, size, .. } = packet;
                let kind = packet.kind().name();
                format!(
                    "nobody holds a packet of kind `{kind}`{flow}, {size} B from {source} to {destination}, made at \
                     {created}"
                )
            }
            None if vanished > 0 => {
                format!("of {vanished} packets nothing is left, and none of them arrived or was dropped")
            }
            None => format!("{places} places hold {} packets", held.len()),
        };
        Err(Unaccounted {
            seed: self.progress.seed,
            run: self.progress.run,
            event: self.clock.events,
            outstanding,
            existing,
            held: held.len(),
            detail,
        })
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;

    use super::*;
    use crate::address::{Address, NodeId};
    use crate::context::Action;
    use crate::mobility::Position;
    use crate::observe::Outcome;
    use crate::packet::{Body, UdpHeader};
    use crate::params::RFC;
    use crate::world::{NodeSpec, RunError, Spec, Watch};
    use crate::{mobility, routing};

    /// Two idle nodes within range of each other.
    fn world() -> World {
        let node = |x| NodeSpec {
            mobility: mobility::Config::of_profile("stationary", RFC).expect("a mobility model"),
            start: Position::ground(x, 0.0),
            movements: None,
            table: 0,
            radios: vec![0],
            routing: routing::Config::of_profile("static", RFC).expect("a routing protocol"),
            agents: Vec::new(),
        };
        let spec = Spec {
            seed: 17,
            run: 3,
            duration: Span::from_secs(2),
            nodes: vec![node(0.0), node(100.0)],
            ..Spec::network(RFC)
        };
        World::new(&spec).expect("a world")
    }

    fn packet(world: &mut World) -> PacketId {
        world.cx.originate(Packet {
            created: world.cx.now,
            source: Address(0),
            destination: Address(1),
            flow: FlowId(0),
            size: 100,
            ttl: 5,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }),
        })
    }

    fn unaccounted(result: Result<(Outcome, ()), RunError>) -> Unaccounted {
        match result {
            Err(RunError::Unaccounted(error)) => error,
            other => panic!("packets do not add up, and the run ends with {other:?}"),
        }
    }

    #[test]
    fn a_packet_on_its_way_is_accounted_for() {
        let mut world = world();
        let packet = packet(&mut world);
        world.cx.act(Action::Send { node: NodeId(0), packet, next_hop: Address(1) });
        world.drain();
        assert_eq!(world.check_account(), Ok(()), "waiting for an address");
        assert!(world.run_watched(&Watch::default()).is_ok(), "delivered, to a flow that does not exist");
    }

    #[test]
    fn a_packet_that_nobody_holds_fails_the_run() {
        let mut world = world();
        packet(&mut world);
        let error = unaccounted(world.run_watched(&Watch::default()));
        assert_eq!((error.seed, error.run), (17, 3));
        assert_eq!((error.outstanding, error.existing, error.held), (1, 1, 0));
        let text = error.to_string();
        let packet = "(nobody holds a packet of kind `data` of flow 0, 100 B from 0 to 1, made at 0.000000000 s)";
        assert!(text.contains("run 3 of seed 17") && text.contains(packet), "{text}");
    }

    #[test]
    fn a_packet_that_vanishes_fails_the_run() {
        let mut world = world();
        let packet = packet(&mut world);
        world.cx.packets.remove(packet);
        let error = unaccounted(world.run_watched(&Watch::default()));
        assert_eq!((error.outstanding, error.existing, error.held), (1, 0, 0));
    }

    #[test]
    fn a_packet_held_twice_fails_the_run() {
        let mut world = world();
        let packet = packet(&mut world);
        for next_hop in [Address::BROADCAST, Address::BROADCAST] {
            world.send(NodeId(0), packet, next_hop);
        }
        let error = world.check_account().expect_err("a packet in two places");
        assert!(error.to_string().contains("2 places hold 1 packets"), "{error}");
    }
}
