//! Network models: mobility, radio, medium access, link, IP and routing, and the world that connects them with the
//! hosts of `hopyard-hosts`.
//!
//! Imports point downward only. `packet`, `params` and `context` of `hopyard-net` import no protocol. The protocol
//! modules import these, and do not import one another. `node` puts the layers of a node together, and `world` the
//! nodes. `docs/development/life-of-a-packet.md` follows a packet through the modules.

pub mod agent;
pub mod channel;
mod clock;
pub mod ip;
pub mod link;
pub mod mac;
pub mod mobility;
pub mod multicast;
mod node;
pub mod observe;
pub mod phy;
pub mod routing;
#[cfg(test)]
mod samples;
pub mod world;

use hopyard_hosts::host;
pub use hopyard_hosts::{app, transport};
use hopyard_net::registry;
pub use hopyard_net::{address, context, file, order, packet, params};
