//! ICMP errors (RFC 792) about three kinds of packets: messages of agents, whose type says that their sources ask for
//! errors; datagrams from outside, whose hosts ask for errors; and segments of flows whose sources ask for errors.
//!
//! Left out: the limit on the rate of errors about messages of agents (RFC 1812 §4.3.2.8), which registrations are far
//! below.

use hopyard_wire::{icmp, ipv4};

use super::{Around, Node};
use crate::address::Address;
use crate::agent::ICMP;
use crate::context::{Action, Context, Departure, DropReason, Owners, Untold};
use crate::ip::Way;
use crate::observe::{PacketEvent, Probe};
use crate::packet::{Body, FlowId, Packet, PacketId, Undelivered, Unreachable};
use crate::routing::Routes as _;

/// How many connections may be known about which a host was told, before those are forgotten that hold nothing back.
const MOST_TOLD: usize = 1 << 12;

impl Node {
    /// Tells the source of a message of an agent that the message did not arrive.
    pub(crate) fn tell_source<P: Probe>(&mut self, packet: &Packet, reason: DropReason, around: &mut Around<'_, P>) {
        let Some(why) = self.unreachable(packet.destination, reason, &around.cx.owners) else { return };
        let Body::Control { message, .. } = &packet.body else { return };
        let what = Undelivered { why, source: packet.source, destination: packet.destination, ttl: packet.ttl };
        let Some((message, size)) = message.notice(&what) else { return };
        let error = around.cx.originate(Packet {
            created: around.cx.now,
            source: self.id.into(),
            destination: packet.source,
            flow: FlowId::NONE,
            size,
            ttl: around.topology.ip.ttl,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Control { port: ICMP, message },
        });
        if around.cx.is_local(self.id, packet.source) {
            // It knows without a packet.
            self.pass_to_agent(ICMP, error, self.id.into(), around);
        } else {
            self.icmp_errors += 1;
            self.route(error, around);
        }
    }

    /// The answer of a router about a packet that it could not deliver or pass on. Nothing about a packet that a full
    /// queue, a battery or chance took.
    fn unreachable(&self, destination: Address, reason: DropReason, owners: &Owners) -> Option<Unreachable> {
        match reason {
            DropReason::NoListener => Some(Unreachable::Port),
            DropReason::TtlExpired => Some(Unreachable::TimeExceeded),
            DropReason::NoRoute | DropReason::DiscoveryFailed | DropReason::RouteTimeout => Some(Unreachable::Network),
            // RFC 1812 §5.2.7.1: that the host is unreachable is said by the last router before it.
            DropReason::WireDown | DropReason::ArpFailed | DropReason::RetryLimit | DropReason::BrokenLink => {
                let next = match self.way(destination, owners)? {
                    Way::Direct => Some(destination),
                    Way::Via(next) => Some(next),
                    Way::Protocol => {
                        self.routing.lookup_named(destination, owners.name(destination)).map(|(next, _)| next)
                    }
                    _ => None,
                };
                let is_last = next.is_some_and(|next| owners.of(next) == owners.of(destination));
                Some(if is_last { Unreachable::Host } else { Unreachable::Network })
            }
            _ => None,
        }
    }

    /// Sends an ICMP error, if there is a route: none is searched for.
    pub(crate) fn send_notice<P: Probe>(&mut self, packet: PacketId, to: Address, around: &mut Around<'_, P>) {
        let has_route = match self.way(to, &around.cx.owners) {
            Some(Way::Protocol) => self.routing.has_way(to, around.cx),
            way => way.is_some(),
        };
        if has_route {
            // It is sent before the route error, which is in the list of actions already.
            around.first(|around| self.route(packet, around));
        } else {
            around.cx.drop_packet(self.id, packet, DropReason::NoRoute);
        }
    }

    /// A datagram from outside is longer than the link of an interface carries. Nodes do not fragment: it is dropped.
    /// If the packet forbids fragments, its source is told the longest possible size (RFC 1191 §4).
    #[cold]
    pub(super) fn exceeds_link(&self, packet: PacketId, most: u32, cx: &mut Context) {
        let &Packet { ref body, source, ttl, size, .. } = &cx.packets[packet];
        if let Body::External(datagram) = body
            && ipv4::Header::parse(datagram).is_ok_and(|(header, _)| header.dont_fragment)
        {
            // Options that routing has added take their room too.
            let added = size.saturating_sub(datagram.len() as u32);
            let mtu = u16::try_from(most.saturating_sub(added)).unwrap_or(u16::MAX);
            let why = Unreachable::TooLong { mtu };
            let untold = Untold { node: self.id, why, source, ttl, datagram: datagram.clone() };
            cx.outside.tell(untold);
            cx.act(Action::UnreachableOutside);
        }
        cx.drop_packet(self.id, packet, DropReason::TooLong);
    }

    /// The node cannot forward a datagram from outside. Its source is told by an ICMP error, like the sources of the
    /// scenario's own flows. Another node tells the same about a connection once in a while only. Neither an ICMP error
    /// nor a fragment after the first causes one (RFC 1122 §3.2.2, RFC 1812 §4.3.2.7).
    #[cold]
    pub(crate) fn tell_host<P: Probe>(&mut self, untold: Untold, around: &mut Around<'_, P>) {
        let Untold { node: _, why, source, ttl, datagram } = untold;
        let mut datagram = datagram.to_vec();
        ipv4::set_ttl(&mut datagram, ttl);
        let now = around.cx.now;
        let Ok((header, payload)) = ipv4::Header::parse(&datagram) else { return };
        let is_icmp_error =
            header.protocol == ipv4::Protocol::ICMP && payload.first().is_none_or(|kind| icmp::ERRORS.contains(kind));
        if is_icmp_error || header.fragment_offset > 0 {
            return;
        }
        let is_local = around.cx.is_local(self.id, source);
        if !is_local {
            let ports = payload.first_chunk().copied().unwrap_or_default();
            let interval = around.topology.ip.unreachable_interval;
            if self.told.len() >= MOST_TOLD {
                self.told.retain(|_, last| now.since(*last) < interval);
            }
            let ends = (header.source, header.destination, header.protocol.0, ports);
            match self.told.get(&ends) {
                Some(&last) if now.since(last) < interval => return,
                _ => self.told.insert(ends, now),
            };
        }
        let is_way_there = matches!(why, Unreachable::TimeExceeded | Unreachable::TooLong { .. });
        let own = around.cx.owners.name(self.id.into());
        let outer = ipv4::Header::new(ipv4::Protocol::ICMP, own, header.source, around.topology.ip.ttl);
        let (mut message, mut bytes) = (Vec::new(), Vec::new());
        // Neither has options or too many bytes: a quote is short.
        if error(why).emit(icmp::quote(&datagram), &mut message).is_err() || outer.emit(&message, &mut bytes).is_err() {
            return;
        }
        let packet = Packet {
            created: now,
            source: self.id.into(),
            destination: source,
            flow: FlowId::NONE,
            size: bytes.len() as u32,
            ttl: around.topology.ip.ttl,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::External(bytes.as_slice().into()),
        };
        if is_local {
            // It crosses no link.
            if around.probe.watches() {
                around.probe.on_packet(now, self.id, &packet, PacketEvent::Local);
            }
            let (at, address) = (now, header.source);
            return around.cx.outside.leave(Departure::Datagram { at, node: self.id, address, bytes });
        }
        self.icmp_errors += 1;
        let packet = around.cx.originate(packet);
        if is_way_there {
            // The way is not broken: this goes as every packet of the node does.
            self.route(packet, around);
        } else {
            self.send_notice(packet, source, around);
        }
    }
}

/// The ICMP error that says why a datagram was not forwarded.
fn error(why: Unreachable) -> icmp::Message {
    let unreachable = |code| icmp::Message::DestinationUnreachable { code, next_hop_mtu: 0 };
    match why {
        Unreachable::Network => unreachable(icmp::Unreachable::NETWORK),
        Unreachable::Host => unreachable(icmp::Unreachable::HOST),
        Unreachable::Port => unreachable(icmp::Unreachable::PORT),
        Unreachable::TooLong { mtu: next_hop_mtu } => {
            icmp::Message::DestinationUnreachable { code: icmp::Unreachable::FRAGMENTATION_NEEDED, next_hop_mtu }
        }
        Unreachable::TimeExceeded => icmp::Message::TimeExceeded { code: 0 },
    }
}
