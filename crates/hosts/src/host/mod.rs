//! Hosts: the sockets of nodes, each with an application above it and a transport protocol in it.
//!
//! A flow has a socket at either end. Data flows from the first socket to the second, or both ways if the application
//! at the second one answers. A socket knows no other part of the network: the world gives it packets and takes packets
//! from it ([`Endpoint`]).

mod endpoint;
mod endpoints;
mod tcp;
mod udp;

use hopyard_engine::Time;

pub use self::endpoint::{Emission, Endpoint, News, Received};
pub use self::endpoints::AnyEndpoint;
pub use self::tcp::Tcp;
pub use self::udp::Udp;
use crate::address::NodeId;
use crate::app::{App, Application as _, Offer};
use crate::packet::Packet;

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
}

impl Socket {
    /// When [`Self::on_timer`] must next be called.
    pub fn deadline(&self) -> Time {
        self.app.deadline().min(self.endpoint.deadline())
    }

    /// The deadline of the application is reached, or the deadline of its transport.
    pub fn on_timer(&mut self, now: Time) {
        while self.app.deadline() <= now {
            let offer = self.app.on_timer(now);
            self.carry_out(offer, now);
        }
        if self.endpoint.deadline() <= now {
            self.endpoint.on_timer(now);
        }
    }

    /// A packet of the flow arrived. It is the first copy, or another one.
    pub fn on_packet(&mut self, packet: &Packet, is_first: bool, now: Time) -> Received {
        let received = self.endpoint.on_packet(packet, is_first, now);
        if let Some(bytes) = received.delivered.filter(|&bytes| bytes > 0) {
            let offer = self.app.on_received(bytes, now);
            self.carry_out(offer, now);
        }
        if received.ended {
            let offer = self.app.on_ended(now);
            self.carry_out(offer, now);
        }
        received
    }

    fn carry_out(&mut self, offer: Offer, now: Time) {
        let endpoint = &mut self.endpoint;
        match offer {
            Offer::Nothing => {}
            Offer::Bytes(bytes) => endpoint.write(bytes, now),
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
        }
    }
}
