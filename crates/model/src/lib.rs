//! Network models: mobility, radio, medium access, link, IP, routing, transport, traffic, and the world that joins them.
//!
//! Imports point downward only: `packet`, `params` and `context` know no protocol; the protocol rooms know these and not one
//! another; `world` knows all. `docs/life-of-a-packet.md` walks a packet's way through the rooms.

pub mod analysis;
pub mod context;
pub mod frame;
pub mod ip;
pub mod link;
pub mod mac;
pub mod mobility;
pub mod observe;
pub mod packet;
pub mod params;
pub mod radio;
pub mod routing;
pub mod traffic;
pub mod transport;
pub mod wire;
pub mod world;
