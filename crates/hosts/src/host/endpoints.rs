//! An endpoint of any protocol.

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::connections::Connections;
use super::endpoint::{Emission, Endpoint, News, Received};
use super::tcp::Tcp;
use super::udp::Udp;
use crate::app::Change;
use crate::packet::Packet;
use crate::transport::connection::{Phases, SenderCounters};

/// An endpoint of any protocol.
#[enum_dispatch(Endpoint)]
#[derive(Debug)]
pub enum AnyEndpoint {
    /// UDP.
    Udp(Udp),
    /// One end of a TCP connection.
    Tcp(Tcp),
    /// One end of TCP connections that follow one another.
    Connections(Connections),
}

impl AnyEndpoint {
    /// The TCP connection at this end, if it is one; the latest of several.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Udp(_) => None,
            Self::Tcp(tcp) => Some(tcp),
            Self::Connections(it) => Some(it.latest()),
        }
    }

    /// As [`Self::tcp`].
    pub fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        match self {
            Self::Udp(_) => None,
            Self::Tcp(tcp) => Some(tcp),
            Self::Connections(it) => Some(it.latest_mut()),
        }
    }

    /// The number of the latest connection.
    pub fn number(&self) -> u32 {
        match self {
            Self::Udp(_) | Self::Tcp(_) => 0,
            Self::Connections(it) => it.number(),
        }
    }

    /// The TCP connection with this number, if this end knows it.
    pub fn tcp_of(&self, number: u32) -> Option<&Tcp> {
        match self {
            Self::Connections(it) => it.get(number),
            _ => self.tcp().filter(|_| number == 0),
        }
    }

    /// As [`Self::tcp_of`].
    pub fn tcp_of_mut(&mut self, number: u32) -> Option<&mut Tcp> {
        match self {
            Self::Connections(it) => it.get_mut(number),
            _ => self.tcp_mut().filter(|_| number == 0),
        }
    }

    /// The counters and the work of the senders of all earlier connections.
    pub fn before(&self, now: Time) -> (SenderCounters, Phases) {
        match self {
            Self::Udp(_) | Self::Tcp(_) => Default::default(),
            Self::Connections(it) => it.before(now),
        }
    }
}
