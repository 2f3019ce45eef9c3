//! Packets and parameters that tests of several models build.

use hopyard_engine::Time;

use crate::address::Address;
use crate::packet::{ArpMessage, Body, FlowId, Packet, PacketId, PacketPool};
use crate::params::{Fault, Params};

/// A packet of flow 0 from node 0 to node 1, made at time zero, with a TTL of 32.
pub const fn packet(size: u32, body: Body) -> Packet {
    Packet {
        created: Time::ZERO,
        source: Address(0),
        destination: Address(1),
        flow: FlowId(0),
        size,
        ttl: 32,
        hops: 0,
        salvaged: 0,
        class: 0,
        body,
    }
}

/// A message of ARP from node 0, in a pool of its own.
pub fn arp(destination: Address, message: ArpMessage) -> (PacketPool, PacketId) {
    let mut pool = PacketPool::default();
    let id = pool.insert(Packet { destination, flow: FlowId::NONE, ttl: 1, ..packet(28, Body::Arp(message)) });
    (pool, id)
}

/// The fault of a profile's defaults with an impossible change.
pub fn fault<P: Params>(profile: &str, change: impl FnOnce(&mut P)) -> Fault {
    let mut params = P::of_profile(profile);
    change(&mut params);
    params.check().expect_err("the change is impossible")
}
