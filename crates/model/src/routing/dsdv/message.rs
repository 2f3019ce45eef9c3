//! DSDV's updates.

use hopyard_wire::dsdv;

use crate::address::Address;

/// One destination in an update.
pub type Advertisement = dsdv::Advertisement<Address>;
/// The update that a node sends its neighbours.
pub type Update = dsdv::Update<Address>;
