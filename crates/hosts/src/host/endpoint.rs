//! The trait of every transport protocol at one end of a flow, with its arguments and answers.

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use crate::app::Change;
use crate::packet::{Body, Packet};
use crate::transport::notice::NetworkEvent;

/// A packet that an endpoint sends.
#[derive(Debug)]
pub struct Emission {
    /// Its size with all headers, in bytes.
    pub size: u32,
    /// Its header of the transport protocol.
    pub body: Body,
    /// The bits for congestion in its IP header (RFC 3168 §5).
    pub ecn: u8,
    /// Whether it counts as a data packet, and how many bytes of payload it has that were never sent before.
    pub data: Option<u32>,
    /// The endpoint is told when the packet has left the node, by this number ([`News::LeftNode`]).
    pub waits: Option<u64>,
}

/// News for an endpoint, besides packets.
#[derive(Clone, Copy, Debug)]
pub enum News {
    /// An event of the network layer.
    Network(NetworkEvent),
    /// A packet for which the endpoint waits has left the node, or was dropped there.
    LeftNode {
        /// The number that the endpoint gave for it.
        seq: u64,
    },
}

/// The contents of a packet that arrived.
#[derive(Clone, Copy, Debug, Default)]
pub struct Received {
    /// Whether it is a data packet, and if so whether anything in it is new.
    pub unique: Option<bool>,
    /// Bytes of payload that are now delivered to the application, at an end that receives data.
    pub delivered: Option<u64>,
    /// All bytes delivered so far on its connection, where they are counted as a stream.
    pub stream: Option<u64>,
    /// The number of the connection within its flow.
    pub connection: u32,
    /// The change of the connection that the application must know, if any.
    pub change: Option<Change>,
}

/// A transport protocol at one end of a flow. After each event, [`Endpoint::poll_transmit`] must be called until it
/// gives nothing more.
#[enum_dispatch]
pub trait Endpoint {
    /// The application writes so many bytes; `u64::MAX` means without end.
    fn write(&mut self, bytes: u64, now: Time);

    /// The application takes back what it wrote and was not sent.
    fn stop(&mut self, now: Time);

    /// The application writes no more.
    fn close(&mut self, now: Time);

    /// A packet arrived from the other end. It is the first copy, or another one.
    fn on_packet(&mut self, packet: &Packet, is_first: bool, now: Time) -> Received;

    /// The endpoint learns something. Returns whether it may send something because of it.
    fn on_news(&mut self, news: News, now: Time) -> bool;

    /// The deadline is reached. Returns the change of the connection that the application must know, if any.
    fn on_timer(&mut self, now: Time) -> Option<Change>;

    /// When [`Endpoint::on_timer`] must next be called.
    fn deadline(&self) -> Time;

    /// The next packet to send now, if any.
    fn poll_transmit(&mut self, now: Time) -> Option<Emission>;
}
