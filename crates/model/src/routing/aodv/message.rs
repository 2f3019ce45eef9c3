//! AODV's messages.
//!
//! A capture has ns-2's messages in the layout of RFC 3561 too, although ns-2 counts other sizes. ns-2 counts no UDP
//! header, and four more bytes for the time in a request and a reply.

use hopyard_wire::aodv;

use crate::address::Address;

/// A message of AODV.
pub type AodvMessage = aodv::Message<Address>;
/// RREQ.
pub type Request = aodv::RouteRequest<Address>;
/// RREP.
pub type Reply = aodv::RouteReply<Address>;
/// RERR.
pub type RouteError = aodv::RouteError<Address>;
