//! Network models: mobility, radio, medium access, link, IP, routing, transport and applications, and the world
//! that connects them.
//!
//! Imports point downward only. `packet`, `params` and `context` import no protocol. The protocol modules import these,
//! and do not import one another. `node` puts the layers of a node together, and `world` the nodes.
//! `docs/development/life-of-a-packet.md` follows a packet through the modules.

pub mod address;
pub mod agent;
pub mod app;
pub mod channel;
mod clock;
pub mod context;
pub mod file;
mod host;
pub mod ip;
pub mod link;
pub mod mac;
pub mod mobility;
mod node;
pub mod observe;
pub mod order;
pub mod packet;
pub mod params;
pub mod phy;
pub mod routing;
pub mod transport;
pub mod world;
