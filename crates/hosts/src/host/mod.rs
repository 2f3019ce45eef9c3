//! Hosts: the sockets of nodes, each with an application above it and a transport protocol in it.
//!
//! A flow has a socket at either end. Data flows from the first socket to the second, or both ways if the application
//! at the second one answers; then it may also have several connections, one after the other. Where the other end opens
//! the next one, the application of the one before stays with that, as a server has a process for each connection. A
//! socket knows no other part of the network: the world gives it packets and takes packets from it ([`Endpoint`]).

mod connections;
mod endpoint;
mod endpoints;
mod tcp;
mod udp;

use hopyard_engine::Time;

pub use self::connections::{Connections, Maker};
pub use self::endpoint::{Emission, Endpoint, News, Received};
pub use self::endpoints::AnyEndpoint;
pub use self::tcp::Tcp;
pub use self::udp::Udp;
use crate::address::NodeId;
use crate::app::{App, Application as _, Change, Object, Offer};
use crate::packet::Packet;
use crate::transport::tcp::Connection;

/// An object that an application has written.
#[derive(Clone, Copy, Debug)]
pub struct Written {
    /// The object.
    pub object: Object,
    /// The number of its connection.
    pub connection: u32,
    /// The bytes of the connection's stream, or the datagrams, that carry it.
    pub units: u64,
}

/// One end of a flow.
#[derive(Debug)]
pub struct Socket {
    /// Its node.
    pub node: NodeId,
    /// The node of the other end.
    pub peer: NodeId,
    /// The flow whose packets the socket sends.
    pub flow: usize,
    /// Its transport protocol.
    pub endpoint: AnyEndpoint,
    /// Its application.
    pub app: App,
    /// The number of the connection that the other end has opened to the application.
    pub serves: u32,
    /// The applications that stay with earlier connections, each with the number of its connection.
    pub earlier: Vec<(u32, App)>,
    /// The largest payload of a datagram, into which an object is divided over UDP.
    pub datagram: u64,
    /// What has arrived and the application has not been told of.
    pub untold: Option<Received>,
    /// The objects that the application has written just now.
    pub written: Vec<Written>,
}

impl Socket {
    /// When [`Self::on_timer`] must next be called.
    #[inline]
    pub fn deadline(&self) -> Time {
        let now = self.app.deadline().min(self.endpoint.deadline());
        self.earlier.iter().fold(now, |least, (_, app)| least.min(app.deadline()))
    }

    /// The deadline of the application is reached, or the deadline of its transport.
    pub fn on_timer(&mut self, now: Time) {
        self.ask(now);
        if self.endpoint.deadline() <= now
            && let Some(change) = self.endpoint.on_timer(now)
        {
            let offer = self.app.on_change(change, now);
            self.carry_out(offer, now);
            self.ask(now);
        }
    }

    /// A packet of the flow arrived. It is the first copy, or another one.
    #[inline]
    pub fn on_packet(&mut self, packet: &Packet, is_first: bool, now: Time) -> Received {
        let received = self.endpoint.on_packet(packet, is_first, now);
        if self.endpoint.tcp().is_some_and(Tcp::answers_first) {
            self.untold = Some(received);
        } else {
            self.tell(&received, now);
        }
        received
    }

    /// Tells the application what has arrived. Returns whether anything has.
    #[inline]
    pub fn tell_app(&mut self, now: Time) -> bool {
        self.untold.take().is_some_and(|received| self.tell(&received, now))
    }

    #[inline]
    fn tell(&mut self, received: &Received, now: Time) -> bool {
        let anything = received.delivered.is_some_and(|bytes| bytes > 0) || received.change.is_some();
        anything && self.tell_of(received, now)
    }

    /// Tells the application of bytes or of a change. Returns whether there is one to tell.
    fn tell_of(&mut self, received: &Received, now: Time) -> bool {
        let Received { delivered, change, connection, .. } = *received;
        if let Some(change) = change
            && connection != self.endpoint.number()
        {
            return self.tell_earlier(connection, change, now);
        }
        let opened = change.filter(|it| matches!(it, Change::Opened(_)));
        if let Some(opened) = opened {
            self.part(connection);
            let offer = self.app.on_change(opened, now);
            self.carry_out(offer, now);
        }
        let bytes = delivered.unwrap_or(0);
        if bytes > 0 {
            let offer = self.app.on_received(bytes, now);
            self.carry_out(offer, now);
        }
        if let Some(over) = change.filter(|_| opened.is_none()) {
            let offer = self.app.on_change(over, now);
            self.carry_out(offer, now);
        }
        self.ask(now);
        true
    }

    /// The other end has opened the connection with this number. If this end has not closed the one before, its
    /// application stays there.
    fn part(&mut self, number: u32) {
        let Self { endpoint, earlier, .. } = self;
        let goes_on = |number| {
            let state = endpoint.tcp_of(number).map(Tcp::connection);
            matches!(state, Some(Connection::SynReceived | Connection::Established | Connection::CloseWait))
        };
        earlier.retain(|(number, _)| goes_on(*number));
        let before = std::mem::replace(&mut self.serves, number);
        if goes_on(before) {
            earlier.push((before, self.app.clone()));
        }
    }

    /// Tells the application of an earlier connection of a change. Returns whether it has one.
    fn tell_earlier(&mut self, connection: u32, change: Change, now: Time) -> bool {
        let Some((_, app)) = self.earlier.iter_mut().find(|(number, _)| *number == connection) else { return false };
        let offer = app.on_change(change, now);
        self.carry_out_earlier(connection, offer, now);
        self.ask(now);
        true
    }

    /// Carries out what the applications want at their deadlines.
    fn ask(&mut self, now: Time) {
        while let Some((number, app)) = self.earlier.iter_mut().find(|(_, app)| app.deadline() <= now) {
            let (number, offer) = (*number, app.on_timer(now));
            self.carry_out_earlier(number, offer, now);
        }
        while self.app.deadline() <= now {
            let offer = self.app.on_timer(now);
            self.carry_out(offer, now);
        }
    }

    /// Writes an object, which UDP carries in datagrams.
    fn write(&mut self, object: Object, now: Time) {
        let bytes = object.bytes;
        let units = match &mut self.endpoint {
            AnyEndpoint::Tcp(_) | AnyEndpoint::Connections(_) => {
                self.endpoint.write(bytes, now);
                bytes
            }
            AnyEndpoint::Udp(udp) => {
                let datagrams = bytes.div_ceil(self.datagram);
                for number in 0..datagrams {
                    udp.write((bytes - number * self.datagram).min(self.datagram), now);
                }
                datagrams
            }
        };
        self.written.push(Written { object, connection: self.endpoint.number(), units });
    }

    /// As [`Self::carry_out`], for the application of an earlier connection. It opens none.
    fn carry_out_earlier(&mut self, connection: u32, offer: Offer, now: Time) {
        let Some(tcp) = self.endpoint.tcp_of_mut(connection) else { return };
        match offer {
            Offer::Bytes(bytes) => tcp.write(bytes, now),
            Offer::Object(object) => {
                tcp.write(object.bytes, now);
                self.written.push(Written { object, connection, units: object.bytes });
            }
            Offer::Close => tcp.close(now),
            Offer::Abort => tcp.abort(),
            Offer::Nothing | Offer::Unlimited | Offer::Last(_) | Offer::Open(_) => {}
        }
    }

    fn carry_out(&mut self, offer: Offer, now: Time) {
        let endpoint = &mut self.endpoint;
        match offer {
            Offer::Nothing => {}
            Offer::Bytes(bytes) => endpoint.write(bytes, now),
            Offer::Object(object) => self.write(object, now),
            Offer::Unlimited => endpoint.write(u64::MAX, now),
            Offer::Last(0) => {
                endpoint.stop(now);
                endpoint.close(now);
            }
            Offer::Last(bytes) => {
                endpoint.write(bytes, now);
                endpoint.close(now);
            }
            Offer::Close => endpoint.close(now),
            Offer::Abort => {
                if let Some(tcp) = endpoint.tcp_mut() {
                    tcp.abort();
                }
            }
            Offer::Open(number) => {
                if let AnyEndpoint::Connections(it) = endpoint {
                    it.open(number, now);
                }
            }
        }
    }
}
