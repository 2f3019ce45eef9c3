//! An endpoint of any protocol.

use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::endpoint::{Emission, Endpoint, News, Received};
use super::tcp::Tcp;
use super::udp::Udp;
use crate::packet::Packet;

/// An endpoint of any protocol.
#[enum_dispatch(Endpoint)]
#[derive(Debug)]
pub enum AnyEndpoint {
    /// UDP.
    Udp(Udp),
    /// One end of a TCP connection.
    Tcp(Tcp),
}

impl AnyEndpoint {
    /// The TCP connection at this end, if it is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match self {
            Self::Udp(_) => None,
            Self::Tcp(tcp) => Some(tcp),
        }
    }

    /// As [`Self::tcp`].
    pub fn tcp_mut(&mut self) -> Option<&mut Tcp> {
        match self {
            Self::Udp(_) => None,
            Self::Tcp(tcp) => Some(tcp),
        }
    }
}
