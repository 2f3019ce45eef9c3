//! The state of a DSR node, and its use under every set of procedures.

use hopyard_engine::{Rng, Span, Time};

use super::cache::{Cache, Source};
use super::params::Params;
use crate::address::{Address, NodeId};
use crate::context::{Action, Context, RouteChange};
use crate::packet::{Body, DsrOption, FlowId, IP_HEADER, Packet, PacketId, RouteError, SourceRoute};
use crate::params::Shared;
use crate::routing::Networks;
use crate::routing::common::{Duplicates, SendBuffer};

/// The TTL of the packets that a node makes, requests excepted.
const TTL: u8 = 255;

/// How many source routes are remembered, so that the same one is not read in each packet.
const RECENT: usize = 16;

/// The nodes that a source route names, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Way {
    /// From the source, or from the node that salvaged the packet, to the destination.
    pub nodes: Vec<Address>,
    /// The place of the node to which the packet goes.
    pub next: usize,
}

impl Way {
    /// The way of a packet with a source route.
    #[must_use]
    pub fn of(packet: &Packet) -> Option<Self> {
        let route = packet.source_route()?;
        // The first address of a salvaged packet is the node that salvaged it (RFC 4728 §8.3.6).
        let first = usize::from(route.salvage == 0);
        let mut nodes = Vec::with_capacity(route.addresses().len() + 2);
        if first == 1 {
            nodes.push(packet.source);
        }
        nodes.extend_from_slice(route.addresses());
        nodes.push(packet.destination);
        let next = first + route.addresses().len() - usize::from(route.segments_left());
        Some(Self { nodes, next })
    }
}

/// A reply from the cache that waits (RFC 4728 §8.2.5).
#[derive(Debug)]
pub struct HeldReply {
    /// When it is sent.
    pub at: Time,
    /// The node that asked.
    pub initiator: Address,
    /// The route: the hops after that node.
    pub route: Vec<Address>,
    /// The way back to it.
    pub back: Vec<Address>,
}

/// The state that both sets of procedures have.
#[derive(Debug)]
pub struct State {
    /// When the timer is next to be called, as found after the last change.
    pub deadline: Time,
    pub heard: Duplicates,
    pub node: NodeId,
    pub address: Address,
    /// The number of the last request.
    pub request_id: u16,
    pub rng: Rng,
    pub cache: Cache,
    pub buffer: SendBuffer,
    pub networks: Networks,
    /// Replies from the cache that wait.
    pub replies: Vec<HeldReply>,
    /// The last error that this node was told: the ends of the link, and when.
    pub last_error: Option<(Address, Address, Time)>,
    /// The routes of gratuitous replies, with the neighbour that was overheard, and until when none is sent again
    /// (§4.4).
    shortened: Vec<(Address, Address, Time)>,
    /// Neighbours that did not get a packet, each until it is trusted again (§4.6).
    blacklist: Vec<(Address, Time)>,
    /// The routes that were announced, by destination: the hops after this node, at least one.
    announced: Vec<(Address, Vec<Address>)>,
    /// Marks of the source routes that were read, each until it is read again.
    recent: Box<[(u64, Time); RECENT]>,
    pub params: Shared<Params>,
}

impl State {
    /// The state of a node that knows nothing yet.
    #[must_use]
    pub fn new(params: &Shared<Params>, node: NodeId, rng: Rng) -> Self {
        let address = node.into();
        Self {
            deadline: Time::NEVER,
            heard: Duplicates::default(),
            node,
            address,
            request_id: 0,
            rng,
            cache: Cache::new(params, address),
            buffer: SendBuffer::new(node, params.send_buffer_packets.into(), params.send_buffer_timeout),
            networks: Networks::default(),
            replies: Vec::new(),
            last_error: None,
            shortened: Vec::new(),
            blacklist: Vec::new(),
            announced: Vec::new(),
            recent: Box::new([(0, Time::ZERO); RECENT]),
            params: params.clone(),
        }
    }

    /// A random delay for a packet that answers a broadcast.
    pub fn jitter(&mut self) -> Span {
        self.params.broadcast_jitter.mul_f64(self.rng.uniform())
    }

    /// Makes a packet of options alone.
    pub fn control(&self, destination: Address, options: Vec<DsrOption>, cx: &mut Context) -> PacketId {
        let packet = cx.originate(Packet {
            created: cx.now,
            source: self.address,
            destination,
            flow: FlowId::NONE,
            size: IP_HEADER,
            ttl: TTL,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: Body::Empty,
        });
        cx.packets[packet].change_options(|known| *known = options);
        packet
    }

    /// Gives a packet to the link, after a delay.
    pub fn dispatch(&self, packet: PacketId, next_hop: Address, delay: Span, cx: &mut Context) {
        let node = self.node;
        cx.act(if delay.is_zero() {
            Action::Send { node, packet, next_hop }
        } else {
            Action::SendLater { node, packet, next_hop, at: cx.now + delay }
        });
    }

    /// Makes a request for a route (RFC 4728 §8.2.1). The last error goes with it (§3.4.4).
    pub fn request(&mut self, target: Address, propagating: bool, cx: &mut Context) -> PacketId {
        self.request_id = self.request_id.wrapping_add(1);
        let identification = self.request_id;
        let mut options = vec![DsrOption::RouteRequest { identification, target, addresses: Vec::new() }];
        if let Some((from, to, _)) = self.last_error.filter(|_| self.params.spread_errors) {
            let error = RouteError::NodeUnreachable(to);
            options.push(DsrOption::RouteError { error, salvage: 0, source: from, destination: self.address });
            if propagating {
                self.last_error = None;
            }
        }
        let packet = self.control(Address::BROADCAST, options, cx);
        cx.packets[packet].ttl = if propagating { self.params.discovery_hop_limit } else { 1 };
        packet
    }

    /// Makes a reply with a route, which goes back over these hops. The last hop is the node that asked. The flag L
    /// says that its last hop leaves the network (§6.3).
    pub fn reply(&self, route: Vec<Address>, back: &[Address], cx: &mut Context) -> Option<PacketId> {
        let (&to, between) = back.split_last()?;
        let last_hop_external = route.last().is_some_and(|&last| self.is_outside(last, cx));
        let mut options = vec![DsrOption::RouteReply { last_hop_external, addresses: route }];
        if !between.is_empty() {
            let mut way = SourceRoute::new(between.to_vec())?;
            way.last_hop_external = self.is_outside(to, cx);
            options.push(DsrOption::SourceRoute(way));
        }
        Some(self.control(to, options, cx))
    }

    /// Whether a packet with this source route was read a moment ago, so that it tells nothing new. `mark` has further
    /// differences between packets.
    pub fn has_read(&mut self, packet: &Packet, mark: u64, now: Time) -> bool {
        let Some(route) = packet.source_route() else { return false };
        let mix = |mark: u64, value: u32| (mark ^ u64::from(value)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        let ends = [packet.source.0, packet.destination.0, route.salvage.into()];
        let mark = ends.into_iter().chain(route.addresses().iter().map(|hop| hop.0)).fold(mark, mix);
        let slot = &mut self.recent[mark as usize % RECENT];
        if slot.0 == mark && slot.1 > now {
            return true;
        }
        *slot = (mark, now + Span::from_millis(500));
        false
    }

    /// Learns from the route of a packet that this node, at a place of the route, received: where the packet goes, and,
    /// if `backward` is set, where it came from. The way back needs links in both directions, as MACs with
    /// acknowledgements do (RFC 4728 §8.1.4).
    pub fn learn(&mut self, nodes: &[Address], place: usize, backward: bool, now: Time) {
        self.cache.add(&nodes[place + 1..], Source::Noticed, now);
        if backward {
            let back: Vec<Address> = nodes[..place].iter().rev().copied().collect();
            self.cache.add(&back, Source::Noticed, now);
        }
    }

    /// Learns from the way of a packet that the node at this place was heard to send to somebody else (§3.3.1).
    pub fn learn_overheard(&mut self, nodes: &[Address], sender: usize, backward: bool, now: Time) {
        if let Some(place) = nodes.iter().position(|&node| node == self.address) {
            return self.learn(nodes, place, backward, now);
        }
        let most = usize::from(self.params.route_hops);
        self.cache.add(&nodes[sender..nodes.len().min(sender + most)], Source::Noticed, now);
        if backward {
            let back: Vec<Address> = nodes[..=sender].iter().rev().copied().take(most).collect();
            self.cache.add(&back, Source::Noticed, now);
        }
    }

    /// A link is known to be broken. The routes over it are forgotten, and routes that were in use are announced as
    /// lost.
    pub fn forget_link(&mut self, from: Address, to: Address, cx: &mut Context) {
        self.cache.remove_link(from, to);
        *self.recent = [(0, Time::ZERO); RECENT];
        let (cache, node) = (&self.cache, self.node);
        self.announced.retain(|(destination, path)| {
            let destination = *destination;
            if from == Address::from(node) && path[0] != to {
                return true;
            }
            let kept = cache.has(destination, cx.now);
            if !kept {
                cx.act(Action::RouteChanged { node, change: RouteChange { destination, route: None } });
            }
            kept
        });
    }

    /// The node uses a route for packets of its own. Tells of it if it is another than before.
    pub fn announce(&mut self, destination: Address, path: &[Address], cx: &mut Context) {
        let route = |path: &[Address]| (path[0], path.len() as u8);
        match self.announced.binary_search_by_key(&destination, |known| known.0) {
            Ok(place) => {
                let known = &mut self.announced[place].1;
                if known == path {
                    return;
                }
                let before = route(known);
                path.clone_into(known);
                if before == route(path) {
                    return;
                }
            }
            Err(place) => self.announced.insert(place, (destination, path.to_vec())),
        }
        let change = RouteChange { destination, route: Some(route(path)) };
        cx.act(Action::RouteChanged { node: self.node, change });
    }

    /// Whether no gratuitous reply may be sent about a route yet; from now on none may for a while (§4.4).
    pub fn is_shortened(&mut self, source: Address, from: Address, now: Time) -> bool {
        self.shortened.retain(|&(.., until)| until > now);
        if self.shortened.iter().any(|&(known, sender, _)| (known, sender) == (source, from)) {
            return true;
        }
        self.shortened.push((source, from, now + self.params.grat_reply_holdoff));
        false
    }

    /// A neighbour did not get a packet (§4.6).
    pub fn distrust(&mut self, neighbour: Address, now: Time) {
        if !self.params.blacklist_timeout.is_zero() {
            self.blacklist.retain(|&(known, _)| known != neighbour);
            self.blacklist.push((neighbour, now + self.params.blacklist_timeout));
        }
    }

    /// A neighbour got a packet: the link works in both directions.
    pub fn trust(&mut self, neighbour: Address) {
        self.blacklist.retain(|&(known, _)| known != neighbour);
    }

    /// Whether a neighbour is on the blacklist.
    #[must_use]
    pub fn distrusts(&self, neighbour: Address, now: Time) -> bool {
        self.blacklist.iter().any(|&(known, until)| known == neighbour && until > now)
    }

    /// Whether an address is outside of the ad hoc network.
    #[must_use]
    pub fn is_outside(&self, address: Address, cx: &Context) -> bool {
        !self.networks.ad_hoc.is_empty()
            && !self.networks.ad_hoc.iter().any(|prefix| prefix.contains(cx.owners.name(address)))
    }

    /// Whether this node is a gateway to an address outside of the ad hoc network.
    #[must_use]
    pub fn is_gateway_to(&self, address: Address, cx: &Context) -> bool {
        !self.networks.wired.is_empty()
            && !self.networks.radios.is_empty()
            && self.is_outside(address, cx)
            && self.networks.wired.iter().any(|prefix| prefix.contains(cx.owners.name(address)))
    }

    /// The route to a destination that the node used last, for measurement.
    #[must_use]
    pub fn announced(&self, destination: Address) -> Option<&[Address]> {
        let place = self.announced.binary_search_by_key(&destination, |known| known.0).ok()?;
        Some(&self.announced[place].1)
    }

    /// The first of the replies that wait.
    #[must_use]
    pub fn next_reply(&self) -> Time {
        self.replies.iter().map(|reply| reply.at).min().unwrap_or(Time::NEVER)
    }
}

/// Whether no node stands in a sequence twice.
#[must_use]
pub fn is_simple(nodes: &[Address]) -> bool {
    nodes.iter().enumerate().all(|(place, node)| !nodes[..place].contains(node))
}
