//! Hosts: the sockets of nodes, the transport protocols in them and the applications above them.

pub mod app;
pub mod host;
pub mod transport;

use hopyard_net::{address, file, packet, params, registry};
