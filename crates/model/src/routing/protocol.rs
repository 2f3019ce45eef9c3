//! The trait of every routing protocol.

use std::net::Ipv4Addr;
use std::sync::Arc;

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Deadline, Span};

use super::connectivity::Connectivity;
use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, DropReason};
use crate::packet::PacketId;
use crate::params::Params;

/// The time in which routes are known of a protocol that sends a HELLO each second or two.
pub const SETTLED: Span = Span::from_secs(6);

/// What the checks of a scenario, the tables of results and a node ask about a protocol with these parameters.
pub trait RoutingFacts: Params {
    /// The types of its messages, as [`Message::kind`](crate::packet::Message::kind) and the parts of a message name
    /// them.
    const MESSAGES: &'static [&'static str] = &[];

    /// Whether the protocol calls [`Context::unreachable`] for segments that it cannot forward. It does so at the node
    /// that finds the link broken, or at the source that has no route.
    const REPORTS_BREAKS: bool = false;

    /// Whether the protocol finds routes over wires as well as over radio. If so, its broadcasts go to the other ends
    /// of wires too.
    const CROSSES_WIRES: bool = false;

    /// Whether nodes choose relays of floods among their neighbours, and tell them ([`Action::Chosen`]).
    const CHOOSES_RELAYS: bool = false;

    /// Whether ns-2 gives the protocol's messages numbers of packets (`loss_ns2_percent`).
    const NUMBERED_BY_NS2: bool = true;

    /// Whether the protocol uses all radios of a node, and not that on the first channel alone.
    const USES_ALL_RADIOS: bool = true;

    /// Whether a node with a radio reaches hosts that have wires only, over a gateway. A gateway is a node with a radio
    /// on a channel of the protocol, and with a wire. A protocol that finds routes over wires itself does so too.
    fn reaches_wires(&self) -> bool {
        false
    }

    /// The networks that a gateway tells the ad hoc network of, or answers for, if its wires lead to `wired`. `ad_hoc`
    /// are the prefixes of all channels.
    fn announced(&self, wired: &[Prefix], _ad_hoc: &[Prefix]) -> Vec<Prefix> {
        if self.reaches_wires() { wired.to_vec() } else { Vec::new() }
    }

    /// The nodes that the parameters make gateways, which need a radio and a wire, each with its key within the
    /// parameters, such as "gateways.0".
    fn gateway_nodes(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// Values that are possible and hardly meant: each parameter with the doubt.
    fn doubts(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Whether nodes keep routes to all nodes in reach, as far as they know, without a packet that asks for one.
    fn keeps_routes(&self) -> bool {
        false
    }

    /// Which parameter makes broken links known from the MAC alone, and which other values it can have; nothing if the
    /// protocol has other means, or needs none.
    fn needs_link_failures(&self) -> Option<(&'static str, &'static str)> {
        None
    }

    /// Whether the protocol wants the packets in frames that the node's radios decode and that are for other nodes
    /// (promiscuous mode).
    fn overhears(&self) -> bool {
        false
    }

    /// How long a node waits for a sign that its next hop has a packet, before it sends the packet again, and the
    /// parameter that says so. The next hop gives that sign when the MAC next lets it send. Nothing if the MAC itself
    /// tells.
    fn waits_for_next_hop(&self) -> Option<(&'static str, Span)> {
        None
    }

    /// The part that needs the queue that serves by class (`link.routing_packets = "by_class"`, which is the default
    /// then), in words for a warning where the scenario names another queue. Nothing if any queue will do.
    fn needs_queue_by_class(&self) -> Option<&'static str> {
        None
    }

    /// Whether the protocol with these parameters is specified to have no loop at any time. Then the next hops to a
    /// destination, asked at one instant, never come back to a node.
    fn promises_no_loops(&self) -> bool {
        false
    }

    /// The time after which the routes of a small network that does not change are known, if all nodes start at once
    /// and nothing is lost. Tests of all protocols send their first packet then. A protocol whose messages are rarer
    /// than a HELLO in two seconds has a longer one.
    fn settles_within(&self) -> Span {
        SETTLED
    }

    /// The most hops that a route can have; nothing if no parameter limits them.
    fn most_hops(&self) -> Option<MostHops> {
        None
    }

    /// The most hops over which a search finds a destination that no other node knows; nothing if the protocol does not
    /// search, or no parameter limits it.
    fn search_hops(&self) -> Option<MostHops> {
        None
    }

    /// The bytes that the protocol adds to a data packet which goes over so many hops, at least one.
    fn added_bytes(&self, _hops: u32) -> u32 {
        0
    }

    /// Whether a source puts its packets for a host behind a gateway into packets for the gateway.
    fn tunnels_to_gateways(&self) -> bool {
        false
    }

    /// The nodes that the parameters name, each with its key within the parameters, such as "routes.0.via".
    fn named_nodes(&self) -> Vec<(String, u32)> {
        Vec::new()
    }

    /// The networks that the parameters let gateways announce, each with its key within the parameters. None may be a
    /// part of the ad hoc network.
    fn announced_networks(&self) -> Vec<(String, Prefix)> {
        Vec::new()
    }

    /// The way from a node to another one, as far as the parameters prescribe it.
    fn prescribed(&self, _from: u32, _to: u32) -> Prescribed {
        Prescribed::Nothing
    }
}

/// How long the routes of a protocol can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MostHops {
    /// The most hops.
    pub hops: u32,
    /// The parameter that says so; with one more, routes can be longer by one hop.
    pub parameter: &'static str,
    /// Its value.
    pub value: u32,
}

/// A way that the parameters of a protocol prescribe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prescribed {
    /// The protocol finds the way.
    Nothing,
    /// The way begins with these hops, each from a node to the next one; a way without hops is found by the protocol.
    Hops(Vec<(u32, u32)>),
    /// There is no way.
    Unreachable,
}

/// The networks that a node is attached to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks {
    /// The addresses of the node's radios, each with the prefix of its channel; the first one is the node's main
    /// address (RFC 3626 §1.1). Empty for a node that has wires only.
    pub radios: Vec<(Address, Prefix)>,
    /// The addresses of the ends of wires at the node, each with that of the other end, if the protocol crosses wires.
    pub wires: Vec<(Address, Address)>,
    /// The prefixes of all channels: the ad hoc network.
    pub ad_hoc: Arc<[Prefix]>,
    /// The prefixes to which wires lead from this node, in the order of its table. A node with radios and such prefixes
    /// can be a gateway. IP sends packets for these prefixes over the wires before the protocol sees them. Empty where
    /// the protocol itself crosses wires.
    pub wired: Vec<Prefix>,
}

/// A routing protocol at one node: what happens there. Its deadline is when [`Self::on_timer`] must next be called.
#[enum_dispatch]
pub trait Routing: Routes + Deadline {
    /// The networks that the node is attached to. Called once, before `start`.
    fn on_networks(&mut self, _networks: &Networks) {}

    /// The run starts; timers may be set.
    fn start(&mut self, _cx: &mut Context) {}

    /// A packet for another node, originated here or to be forwarded. The protocol sends it (`Action::Send`), holds it,
    /// or drops it. IP has lowered the TTL of a forwarded packet already.
    fn route(&mut self, packet: PacketId, cx: &mut Context);

    /// A packet at `node` for another network, which an agent leads towards a router of this one. The protocol sends
    /// it, or drops it where it knows no route.
    fn route_towards(&mut self, packet: PacketId, router: Address, node: NodeId, cx: &mut Context) {
        match self.lookup(router) {
            Some((next_hop, _)) => cx.act(Action::Send { node, packet, next_hop }),
            None => cx.drop_packet(node, packet, DropReason::NoRoute),
        }
    }

    /// A routing message arrived from neighbour `from`. The protocol now owns the packet and must end it
    /// (`Context::end`, or `Context::drop_packet`) or send it on. Its TTL is as it was sent: IP does not forward
    /// it.
    fn on_message(&mut self, packet: PacketId, from: Address, cx: &mut Context);

    /// A packet with options arrived from neighbour `from`, for this node or for another one. Its TTL is as it was
    /// sent. The protocol decides about the packet. If it takes the packet, it owns the packet.
    fn on_options(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) -> AfterOptions {
        AfterOptions::Unknown
    }

    /// A packet of any kind arrived from neighbour `from`. Protocols that extend the lifetime of used routes need this.
    fn on_heard(&mut self, _packet: PacketId, _from: Address, _cx: &mut Context) {}

    /// A packet of any kind was decoded that neighbour `from` sent to neighbour `to`. The packet is a copy on loan: the
    /// protocol reads it, and leaves it where it is. Only protocols that ask for it are called
    /// ([`RoutingFacts::overhears`]).
    fn on_overheard(&mut self, _packet: PacketId, _from: Address, _to: Address, _cx: &mut Context) {}

    /// The MAC gave up sending `packet` to `next_hop`, for a reason. The protocol owns the packet now.
    fn on_link_failure(&mut self, packet: PacketId, next_hop: Address, reason: DropReason, cx: &mut Context);

    /// A packet that waited in the interface queue for `next_hop` comes back after `Action::TakeBack`. The protocol
    /// owns it now.
    fn on_taken_back(&mut self, packet: PacketId, next_hop: Address, cx: &mut Context);

    /// The deadline is reached.
    fn on_timer(&mut self, cx: &mut Context);

    /// The protocol as one that is given the true connectivity; nothing for a real protocol, which cannot know it.
    fn oracle(&mut self) -> Option<&mut dyn Oracular> {
        None
    }
}

/// The routes that a protocol knows at one node, and the packets that wait for one. To ask for them changes nothing.
#[enum_dispatch]
pub trait Routes {
    /// The next hop and the hop count of a route that is in use, for measurement; it changes nothing.
    fn lookup(&self, destination: Address) -> Option<(Address, u8)>;

    /// As [`Self::lookup`], for a packet to an address of this name: also where no packet has gone to a host behind a
    /// gateway before.
    fn lookup_named(&self, destination: Address, _name: Ipv4Addr) -> Option<(Address, u8)> {
        self.lookup(destination)
    }

    /// The next hop of packets to a destination that an agent leads towards a router, for measurement.
    fn lookup_towards(&self, _destination: Address, router: Address) -> Option<(Address, u8)> {
        self.lookup(router)
    }

    /// The gateway for which the node puts its packets to a destination into a tunnel, for measurement.
    fn tunnel_end(&self, _destination: Address) -> Option<Address> {
        None
    }

    /// The whole route that the node writes into its packets to a destination, for measurement: the hops after it, the
    /// destination last. Nothing where each node on the way decides on the next hop itself.
    fn source_route(&self, _destination: Address) -> Option<Vec<Address>> {
        None
    }

    /// Whether the protocol has a way for an ICMP error to a destination. It looks for none, because an error is no
    /// reason for a search.
    fn has_way(&self, destination: Address, _cx: &Context) -> bool {
        self.lookup(destination).is_some()
    }

    /// Whether the node takes packets out of tunnels that end at it without an interface of its own for them, as the
    /// gateways of some protocols do.
    fn accepts_tunnels(&self) -> bool {
        false
    }

    /// The packets that are held. At the end of a run every packet must be accounted for.
    fn held(&self) -> Vec<PacketId> {
        Vec::new()
    }
}

/// A protocol that is given from outside what no node could know: the true connectivity, or routes.
pub trait Oracular {
    /// How often the protocol is given the connectivity while nodes move; the first time is before [`Routing::start`].
    /// [`Span::ZERO`] if it does not use it, [`Span::MAX`] if it needs that of the start alone.
    fn connectivity_interval(&self) -> Span;

    /// The true connectivity from now on. All nodes may share one object.
    fn on_connectivity(&mut self, connectivity: &Arc<Connectivity>);

    /// The route to a destination from now on: the next hop and the number of hops, or none of its own. Returns whether
    /// the protocol takes routes from outside.
    fn steer(&mut self, _destination: NodeId, _route: Option<(NodeId, u8)>) -> bool {
        false
    }
}

/// The next step for a packet with options (RFC 4728).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AfterOptions {
    /// The packet is at its destination. IP removes the options and passes up what is behind them, if anything.
    Deliver,
    /// IP forwards the packet to this neighbour, if its time to live has not run out.
    Forward(Address),
    /// The protocol owns the packet: it keeps it, has sent it on, or has ended it.
    Taken,
    /// The protocol does not know the options. IP forwards the packet as one without options, and drops it at its
    /// destination.
    Unknown,
}

/// The traits of the engine for an enum, each of whose variants implements them: `enum_dispatch` reaches those of this
/// crate alone.
macro_rules! forward_engine {
    ($enum:ident: $($variant:ident),+) => {
        impl ::hopyard_engine::Deadline for $enum {
            #[inline]
            fn deadline(&self) -> ::hopyard_engine::Time {
                match self { $(Self::$variant(it) => it.deadline(),)+ }
            }
        }

        impl ::hopyard_engine::Prefetch<$crate::packet::Packet> for $enum {
            #[inline]
            fn prefetch(&self, packet: &$crate::packet::Packet) -> u32 {
                match self { $(Self::$variant(it) => it.prefetch(packet),)+ }
            }
        }
    };
}
