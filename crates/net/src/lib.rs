//! What all network models share: addresses, packets, parameters, and what a protocol's handler sees of the world.
//!
//! No model stands here.

pub mod address;
pub mod context;
pub mod file;
pub mod order;
pub mod packet;
pub mod params;
