//! Datagrams that are put into a world, and taken out of it, between two steps.
//!
//! Whoever couples a world to something with a clock of its own, such as a kernel in simulated time, advances it from
//! event to event:
//!
//! ```text
//! loop: the earlier of world.next_event() and the other's next wish, t
//!     the world's:   world.advance(t), then world.egress() until there is none: datagrams and completions
//!     the other's:   it runs at t; what it sends at x >= t goes to world.inject(node, x, bytes)
//! ```
//!
//! A datagram that is put in at a time happens after the events of that time that were carried out already. Among
//! events that were not, it comes before the timers and after all others; at one node in the order in which it was put
//! in.

use std::net::Ipv4Addr;

use hopyard_engine::Time;
use hopyard_wire::ipv4;

use super::{InjectError, World};
use crate::address::{Address, InterfaceId, NodeId};
use crate::context::{Action, Departure, DropReason, Effort, Token, Waiter};
use crate::node::{Attachment, Due, MOST_DUE};
use crate::observe::{PacketEvent, Probe};
use crate::packet::{Body, FlowId, Packet, PacketId};

/// How many flows of a run hosts outside can have: each has a port of its own at both ends.
pub const MOST_FLOWS: usize = 10_000;
/// How many programs hosts outside can run.
pub const MOST_PROGRAMS: usize = 256;

impl<P: Probe> World<P> {
    /// The host of a node is outside from now on: it can put datagrams in, and datagrams for it are taken out. Flows of
    /// the scenario at this node stay as they are.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn attach(&mut self, node: NodeId) -> Result<(), InjectError> {
        self.check_node(node)?;
        self.cx.outside.attach(node);
        Ok(())
    }

    /// The host of this node gets ICMP errors about datagrams that routing cannot forward, as the sources of the
    /// scenario's own flows get notices. Without this no node sends such errors about its datagrams.
    ///
    /// # Errors
    /// If there is no such node, or its host is not outside.
    pub fn notify(&mut self, node: NodeId) -> Result<(), InjectError> {
        self.check_node(node)?;
        if !self.cx.outside.has(node) {
            return Err(InjectError::NotAttached(node));
        }
        self.cx.outside.notify(node);
        Ok(())
    }

    /// The host of a node is outside from now on, as with [`World::attach`], and has a device for each interface of the
    /// node. A datagram with a source address beyond the first leaves by the interface with that address. It goes to
    /// the other end of the wire, or to the destination if that has a radio on the same channel. Everything else goes
    /// as usual.
    ///
    /// # Errors
    /// If there is no such node.
    pub fn attach_interfaces(&mut self, node: NodeId) -> Result<(), InjectError> {
        self.attach(node)?;
        self.cx.outside.attach_interfaces(node);
        Ok(())
    }

    /// Puts an IPv4 datagram in: the host of a node passes it to IP at a time, which is now or later. Returns its
    /// number, which its completion has. Bytes after the datagram's total length are left out.
    ///
    /// # Errors
    /// If the datagram or the time cannot be; nothing is put in then.
    pub fn inject(&mut self, node: NodeId, at: Time, datagram: &[u8]) -> Result<Token, InjectError> {
        self.check_node(node)?;
        if !self.cx.outside.has(node) {
            return Err(InjectError::NotAttached(node));
        }
        if !(self.cx.now..=self.clock.end).contains(&at) {
            return Err(InjectError::Time { at, now: self.cx.now, end: self.clock.end });
        }
        let (header, payload) = ipv4::Header::parse(datagram)?;
        let bytes = datagram[..header.len() + payload.len()].into();
        if header.ttl == 0 {
            return Err(InjectError::NoHops);
        }
        let source = self.find(header.source).filter(|&it| self.cx.owners.of(it) == node).ok_or_else(|| {
            let own = self.addresses(node).iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            InjectError::Source { node, own, source_address: header.source }
        })?;
        let destination = self.find(header.destination).filter(|&it| self.cx.owners.of(it) != node);
        let destination = destination.ok_or(InjectError::Destination(header.destination))?;
        if self.border.due.len() >= MOST_DUE {
            return Err(InjectError::Full);
        }
        // Protocols know each node by its first address. Those that cross wires find the others too.
        let owner = self.cx.owners.of(destination);
        let by = self.neighbour_by(node, source, destination);
        let names_all = self.nodes[node.index()].routes_wires || by.is_some();
        let destination = if names_all { destination } else { owner.into() };
        let token = Token(self.border.injected);
        self.border.injected += 1;
        let due = Due::Enter { token, source, destination, by, ttl: header.ttl, bytes };
        self.border.schedule(at, node, due, &mut self.clock);
        Ok(token)
    }

    /// Takes out the datagram that left the network first among the remaining ones. Nothing is lost if it is taken out
    /// late.
    pub fn egress(&mut self) -> Option<Departure> {
        self.cx.outside.first()
    }

    /// When the next event happens, if one does before the end of the run.
    #[must_use]
    pub fn next_event(&self) -> Option<Time> {
        if !self.progress.started {
            return Some(self.cx.now);
        }
        self.clock.queue.next_time().filter(|&time| time <= self.clock.end)
    }

    /// The neighbour to which a datagram goes by the interface with its source address, if its host chooses interfaces
    /// and this one is not the first.
    fn neighbour_by(&self, node: NodeId, source: Address, destination: Address) -> Option<Address> {
        let chooses = self.cx.outside.chooses(node) && source != node.into();
        let interface = self.topology.interfaces.get(source.index()).filter(|_| chooses)?;
        match interface.attachment {
            Attachment::Wire { wire, direction } => Some(self.wires[wire].to(direction).into()),
            Attachment::Radio { channel, .. } => match self.topology.interfaces.get(destination.index())?.attachment {
                Attachment::Radio { channel: its, .. } if its == channel => Some(destination),
                _ => None,
            },
            Attachment::Tunnel { .. } | Attachment::Nothing => None,
        }
    }

    fn check_node(&self, node: NodeId) -> Result<(), InjectError> {
        let nodes = self.nodes.len();
        if node.index() < nodes { Ok(()) } else { Err(InjectError::NoNode { node, nodes }) }
    }

    fn find(&mut self, address: Ipv4Addr) -> Option<Address> {
        if self.border.addresses.is_empty() {
            let all = (0..self.topology.interfaces.len() as u32).map(|number| Address::from(InterfaceId(number)));
            self.border.addresses = all.map(|it| (self.cx.owners.name(it), it)).collect();
        }
        self.border.addresses.get(&address).copied()
    }

    /// The digest learns what a host outside has put in now.
    pub(super) fn fold(&mut self, node: NodeId, bytes: &[u8]) {
        self.cx.digest.fold(self.cx.now.nanos() ^ u64::from(node.0) << 40);
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.cx.digest.fold(u64::from_be_bytes(word));
        }
    }

    /// The first event that is due at the border, at this time and node, happens.
    #[cold]
    pub(super) fn on_due(&mut self, node: NodeId) {
        let now = self.cx.now;
        let Some(due) = self.border.take(now, node) else { return };
        match due {
            Due::Enter { token, source, destination, by, ttl, bytes } => {
                self.fold(node, &bytes);
                let packet = self.cx.originate(Packet {
                    created: now,
                    source,
                    destination,
                    flow: FlowId::NONE,
                    // A datagram has at most 65,535 bytes.
                    size: bytes.len() as u32,
                    ttl,
                    hops: 0,
                    salvaged: 0,
                    class: bytes.get(1).copied().unwrap_or(0),
                    body: Body::External(bytes),
                });
                self.cx.sending.begin(packet, Waiter::Host(node, token));
                if self.probe.watches() {
                    self.probe.on_packet(now, node, &self.cx.packets[packet], PacketEvent::Originated);
                }
                if self.energy.is_dead(node) {
                    return self.cx.drop_packet(node, packet, DropReason::BatteryEmpty);
                }
                match by {
                    Some(next_hop) => self.cx.act(Action::Send { node, packet, next_hop }),
                    None => self.route(node, packet),
                }
            }
            Due::Frame { token, interface, receiver, body } => {
                self.frame_enters(node, token, interface, receiver, body);
            }
            Due::Sent { waiter: Waiter::Host(node, token) } => {
                self.cx.outside.leave(Departure::Completed {
                    at: now,
                    node,
                    token,
                    effort: Effort::default(),
                    result: Ok(()),
                });
            }
            Due::Sent { waiter: Waiter::Sender { flow, seq, .. } } => self.on_left_node(flow, seq),
        }
    }

    /// A datagram has reached the node that it was for.
    #[cold]
    pub(super) fn leaves(&mut self, node: NodeId, packet: PacketId) {
        let at = self.cx.now;
        let packet = self.cx.deliver(packet);
        if self.probe.watches() {
            self.probe.on_packet(at, node, &packet, PacketEvent::Delivered);
        }
        self.cx.digest.fold(at.nanos() ^ u64::from(packet.size) << 48 ^ u64::from(node.0) << 20);
        if let Body::External(bytes) = &packet.body {
            let mut bytes = bytes.to_vec();
            ipv4::set_ttl(&mut bytes, packet.ttl);
            ipv4::set_class(&mut bytes, packet.class);
            // Inside, the packet may have had the node's first address.
            let named = ipv4::Header::parse(&bytes).map(|(header, _)| header.destination);
            let address = named.unwrap_or_else(|_| self.cx.owners.name(packet.destination));
            self.cx.outside.leave(Departure::Datagram { at, node, address, bytes });
        }
    }
}
