//! A UDP socket (RFC 768).

use std::collections::VecDeque;

use hopyard_engine::Time;

use super::endpoint::{Emission, Endpoint, News, Received};
use crate::app::Change;
use crate::packet::{Body, IP_HEADER, Packet, UDP_HEADER, UdpHeader};

/// A UDP socket. Each write is a datagram.
#[derive(Debug, Default)]
pub struct Udp {
    next: u64,
    /// The payloads of the datagrams that the application has written just now.
    written: VecDeque<u32>,
}

impl Endpoint for Udp {
    fn write(&mut self, bytes: u64, _now: Time) {
        self.written.push_back(bytes.min(u64::from(u16::MAX)) as u32);
    }

    fn stop(&mut self, _now: Time) {}

    fn close(&mut self, _now: Time) {}

    /// The application gets each datagram once, however many copies of it arrive.
    fn on_packet(&mut self, packet: &Packet, is_first: bool, _now: Time) -> Received {
        let Body::Udp(header) = packet.body else { return Received::default() };
        let delivered = is_first.then_some(header.len.into());
        Received { unique: Some(is_first), delivered, ..Received::default() }
    }

    fn on_news(&mut self, _news: News, _now: Time) -> bool {
        false
    }

    fn on_timer(&mut self, _now: Time) -> Option<Change> {
        None
    }

    fn deadline(&self) -> Time {
        Time::NEVER
    }

    fn poll_transmit(&mut self, _now: Time) -> Option<Emission> {
        let len = self.written.pop_front()?;
        let body = Body::Udp(UdpHeader { sequence: self.next, len, identification: None });
        self.next += 1;
        Some(Emission { size: IP_HEADER + UDP_HEADER + len, body, ecn: 0, data: Some(0), waits: None })
    }
}
