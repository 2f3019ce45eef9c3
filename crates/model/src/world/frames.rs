//! Frames that are put into the MACs of a world, and taken out of them, between two steps.
//!
//! The host of an interface is then a whole router, such as a kernel with a routing daemon. Its frames skip the IP, the
//! routing and the address resolution of the simulator. They wait in the queue of the interface like all packets, and
//! the MAC sends them, with retries if one neighbour is addressed. `outside` describes the steps.
//!
//! The host can also be a whole station of 802.11, which makes its frames itself. The MAC then contends, tries a frame
//! in the modes that the station has chosen, answers, and says how often the frame was tried.

use std::borrow::Cow;

use hopyard_engine::Time;
use hopyard_wire::frames::{self, Purpose};

use super::{InjectError, World};
use crate::address::{InterfaceId, NodeId};
use crate::context::{Departure, DropReason, Token, Waiter};
use crate::node::{Attachment, Due, MOST_DUE};
use crate::observe::{PacketEvent, Probe};
use crate::packet::{Body, ETHERNET, FlowId, IP_HEADER, Mpdu, Packet, PacketId, PacketKind};

impl<P: Probe> World<P> {
    /// The host of an interface is outside from now on, and sends and receives Ethernet frames.
    ///
    /// # Errors
    /// If there is no such interface, or it has no radio.
    pub fn attach_frames(&mut self, interface: InterfaceId) -> Result<(), InjectError> {
        match self.topology.interfaces.get(interface.index()).map(|it| it.attachment) {
            Some(Attachment::Radio { .. }) => self.cx.outside.attach_frames(interface),
            _ => return Err(InjectError::NoRadio(interface)),
        }
        Ok(())
    }

    /// Puts a frame in: the host of an interface passes it to the link at a time, which is now or later, for one
    /// neighbour or for all in reach. Returns its number, which its completion has. The receiver is the link's: the
    /// addresses within the frame are for the hosts alone.
    ///
    /// # Errors
    /// If the frame or the time cannot be; nothing is put in then.
    pub fn inject_frame(
        &mut self,
        interface: InterfaceId,
        at: Time,
        receiver: InterfaceId,
        frame: &[u8],
    ) -> Result<Token, InjectError> {
        if frame.len() < ETHERNET {
            return Err(InjectError::Frame(frame.len()));
        }
        self.put_in(interface, at, receiver, Body::Frame(frame.into()))
    }

    /// Puts a frame of 802.11 in, whose station is outside. The report of its completion says how often it was tried.
    ///
    /// # Errors
    /// If the frame or the time cannot be; nothing is put in then.
    pub fn inject_mpdu(
        &mut self,
        interface: InterfaceId,
        at: Time,
        receiver: InterfaceId,
        mpdu: Mpdu,
    ) -> Result<Token, InjectError> {
        self.put_in(interface, at, receiver, Body::Mpdu(mpdu.into()))
    }

    fn put_in(
        &mut self,
        interface: InterfaceId,
        at: Time,
        receiver: InterfaceId,
        body: Body,
    ) -> Result<Token, InjectError> {
        if !self.cx.outside.has_frames(interface) {
            return Err(InjectError::NoFrames(interface));
        }
        if !(self.cx.now..=self.clock.end).contains(&at) {
            return Err(InjectError::Time { at, now: self.cx.now, end: self.clock.end });
        }
        if !receiver.is_broadcast() && !self.shares_channel(interface, receiver) {
            return Err(InjectError::Station(receiver));
        }
        if self.border.due.len() >= MOST_DUE {
            return Err(InjectError::Full);
        }
        let token = Token(self.border.injected);
        self.border.injected += 1;
        let due = Due::Frame { token, interface, receiver, body };
        self.border.schedule(at, self.topology.node(interface), due, &mut self.clock);
        Ok(token)
    }

    /// Whether two interfaces have radios on the same channel.
    fn shares_channel(&self, one: InterfaceId, other: InterfaceId) -> bool {
        let channel = |it: InterfaceId| match self.topology.interfaces.get(it.index())?.attachment {
            Attachment::Radio { channel, .. } => Some(channel),
            _ => None,
        };
        one != other && channel(one).is_some_and(|it| channel(other) == Some(it))
    }

    /// A frame is due at a node.
    pub(super) fn frame_enters(
        &mut self,
        node: NodeId,
        token: Token,
        interface: InterfaceId,
        receiver: InterfaceId,
        body: Body,
    ) {
        let (size, class) = match &body {
            // The header of Ethernet is not on the air: the MAC adds its own, with the type.
            Body::Frame(bytes) => ((bytes.len() - ETHERNET) as u32, class(bytes)),
            Body::Mpdu(mpdu) => (mpdu.size(), 0),
            _ => (0, 0),
        };
        self.fold(node, bytes_of(&body));
        let now = self.cx.now;
        let kept = if let Body::Frame(bytes) = &body { self.goes_on(node, bytes) } else { None };
        let packet = kept.unwrap_or_else(|| {
            self.cx.originate(Packet {
                created: now,
                source: interface.into(),
                destination: receiver.into(),
                flow: FlowId::NONE,
                size,
                ttl: 1,
                hops: 0,
                salvaged: 0,
                class,
                body,
            })
        });
        self.cx.sending.begin(packet, Waiter::Host(node, token));
        if kept.is_none() && self.probe.watches() {
            self.probe.on_packet(now, node, &self.cx.packets[packet], PacketEvent::Originated);
        }
        if self.energy.is_dead(node) {
            return self.cx.drop_packet(node, packet, DropReason::BatteryEmpty);
        }
        self.count_frame(node, packet);
        let (node, mut around) = self.node_at(interface);
        node.forwarded += u64::from(kept.is_some());
        node.send_frame(interface, packet, receiver, &mut around);
    }

    /// Counts a frame that a node sends, as packets of Hopyard's nodes are counted.
    fn count_frame(&mut self, id: NodeId, packet: PacketId) {
        let Some(bytes) = ethernet(&self.cx.packets[packet].body) else { return };
        let node = &mut self.nodes[id.index()];
        let Some((purpose, parts)) = frames::messages(&bytes) else {
            let own = self.cx.owners.name(InterfaceId::from(id).into()).octets();
            node.forwarded += u64::from(frames::forwards(&bytes, own));
            return;
        };
        if purpose == Purpose::Routing {
            node.routing_packets += 1;
            node.routing_bytes += (bytes.len() - ETHERNET) as u64;
        }
        self.cx.overhead.on_frame_sent(id, kind(purpose), &parts);
    }

    /// A frame has reached an interface.
    #[cold]
    pub(super) fn frame_leaves(&mut self, interface: InterfaceId, packet: PacketId, from: InterfaceId) {
        let (at, node) = (self.cx.now, self.topology.node(interface));
        if !self.cx.outside.has_frames(interface) {
            return self.cx.drop_packet(node, packet, DropReason::NoListener);
        }
        self.cx.packets[packet].hops = 1;
        let packet = self.cx.deliver(packet);
        if self.probe.watches() {
            self.probe.on_packet(at, node, &packet, PacketEvent::Delivered);
        }
        self.cx.digest.fold(at.nanos() ^ u64::from(packet.size) << 48 ^ u64::from(node.0) << 20);
        if let Some((purpose, parts)) = ethernet(&packet.body).and_then(|it| frames::messages(&it)) {
            self.cx.overhead.on_frame_received(node, kind(purpose), &parts);
        }
        let received = if let Body::Mpdu(mpdu) = &packet.body { mpdu.received } else { None };
        let bytes = if let Body::Frame(bytes) = packet.body { bytes } else { bytes_of(&packet.body).into() };
        self.cx.outside.leave(Departure::Frame { at, interface, from, bytes, received });
    }
}

/// The bytes of a frame.
fn bytes_of(body: &Body) -> &[u8] {
    match body {
        Body::Frame(bytes) => bytes,
        Body::Mpdu(mpdu) => &mpdu.bytes,
        _ => &[],
    }
}

/// The data of a frame as a frame of Ethernet, from its transmitter to its receiver.
fn ethernet(body: &Body) -> Option<Cow<'_, [u8]>> {
    match body {
        Body::Frame(bytes) => Some(Cow::Borrowed(bytes)),
        Body::Mpdu(mpdu) => mpdu.ethernet().map(Cow::Owned),
        _ => None,
    }
}

const fn kind(purpose: Purpose) -> PacketKind {
    match purpose {
        Purpose::Routing => PacketKind::Routing,
        Purpose::Resolution => PacketKind::Arp,
    }
}

/// The traffic class of the datagram in a frame; zero if there is none, or if it is in another protocol's frame.
fn class(frame: &[u8]) -> u8 {
    let datagram = &frame[ETHERNET..];
    match (frame[ETHERNET - 2..ETHERNET].try_into().map(u16::from_be_bytes), datagram) {
        (Ok(0x0800), [_, class, ..]) if datagram.len() >= IP_HEADER as usize => *class,
        (Ok(0x86dd), [first, second, ..]) => first << 4 | second >> 4,
        _ => 0,
    }
}
