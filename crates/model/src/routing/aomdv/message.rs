//! AOMDV's messages.

use hopyard_wire::aomdv;

use crate::address::Address;

/// A message of AOMDV.
pub type AomdvMessage = aomdv::Message<Address>;
/// RREQ.
pub type Request = aomdv::RouteRequest<Address>;
/// RREP.
pub type Reply = aomdv::RouteReply<Address>;
