//! Babel's packets and messages.

use std::net::Ipv4Addr;

pub use hopyard_wire::babel::{HEADER, HOPS, INFINITY};
use hopyard_wire::{WireError, babel};

use crate::address::{Address, InterfaceId};
use crate::context::Owners;

/// A packet.
pub type BabelPacket = babel::Packet<Address>;
/// A message in it.
pub type Message = babel::Message<Address>;
/// A route of the sender, or its retraction.
pub type Update = babel::Update<Address>;
/// The name of a router.
pub type RouterId = babel::RouterId<Address>;
/// The neighbour that an IHU is for.
pub type Neighbour = babel::Neighbour<Address>;
/// The destination of routes.
pub type Target = babel::Target<Address>;

/// The multicast group of all Babel routers in reach, 224.0.0.111 (RFC 8966 §4).
pub const ROUTERS: Address = Address::local_group(111);

/// Whether a sequence number is newer than another one, modulo 2^16 (RFC 8966 §3.2.1).
#[must_use]
pub const fn newer(a: u16, b: u16) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// A metric and a cost together. What is not less than infinity is infinity (RFC 8966 §3.5.2).
#[must_use]
pub const fn plus(metric: u16, cost: u16) -> u16 {
    metric.saturating_add(cost)
}

/// The interface identifier in the link-local address of an interface.
#[must_use]
pub const fn identifier(address: Address) -> [u8; 8] {
    InterfaceId(address.0).station().identifier()
}

/// Reads the packet of a router that is not simulated, over IPv6. Messages about addresses that nobody has are left
/// out, and so are updates of IPv4 addresses without a next hop (RFC 8966, §4.6.9).
///
/// # Errors
/// If the bytes are no packet.
pub fn read(bytes: &[u8], owners: &Owners) -> Result<BabelPacket, WireError> {
    let (packet, _) = babel::Packet::parse(bytes)?;
    let nowhere = |it: &&babel::Message| {
        let babel::Message::Update(update) = it else { return false };
        update.metric != INFINITY && update.next_hop.is_none()
    };
    let messages = packet.messages().iter().filter(|it| !nowhere(it)).filter_map(|it| message(it, owners));
    let packets = BabelPacket::pack(messages, u32::MAX - 1, &|it| owners.name(it))?;
    let packet = packets.into_iter().next().unwrap_or_else(BabelPacket::empty);
    Ok(packet.over_ipv6())
}

/// A message with the addresses of the simulator.
fn message(it: &babel::Message, owners: &Owners) -> Option<Message> {
    let of_target = |it| match it {
        babel::Target::Host(address) => owners.find(address).map(Target::Host),
        babel::Target::Network(prefix) => Some(Target::Network(prefix)),
        babel::Target::All => Some(Target::All),
    };
    let of_router = |it| match it {
        // A router-id that is made from an address that nobody has is kept as it is.
        babel::RouterId::Of(address) => {
            owners.find(address).map_or_else(|| RouterId::Other(babel::RouterId::of_ipv4(address)), RouterId::Of)
        }
        babel::RouterId::Other(bytes) => RouterId::Other(bytes),
    };
    let known = |address: Option<Ipv4Addr>| match address {
        Some(address) => owners.find(address).map(Some),
        None => Some(None),
    };
    Some(match *it {
        babel::Message::AckRequest { opaque, interval } => Message::AckRequest { opaque, interval },
        babel::Message::Ack { opaque } => Message::Ack { opaque },
        babel::Message::Hello { unicast, seqno, interval } => Message::Hello { unicast, seqno, interval },
        babel::Message::Ihu { rxcost, interval, address } => {
            let address = match address {
                None => None,
                Some(babel::Neighbour::Ipv4(address)) => Some(Neighbour::Ipv4(owners.find(address)?)),
                Some(babel::Neighbour::LinkLocal(it)) => Some(Neighbour::LinkLocal(it)),
            };
            Message::Ihu { rxcost, interval, address }
        }
        babel::Message::Update(it) => Message::Update(Update {
            destination: of_target(it.destination)?,
            router: it.router.map(of_router),
            next_hop: known(it.next_hop)?,
            seqno: it.seqno,
            metric: it.metric,
            interval: it.interval,
        }),
        babel::Message::Request(destination) => Message::Request(of_target(destination)?),
        babel::Message::SeqnoRequest { destination, router, seqno, hops } => {
            Message::SeqnoRequest { destination: of_target(destination)?, router: of_router(router), seqno, hops }
        }
    })
}
