//! The common parts of distance vector protocols on demand: AODV, and protocols that are made from it.
//!
//! Such a protocol has several sets of procedures over one state, which a parameter selects: the procedures of its
//! specification, and the procedures of other simulators. Here are the state of a node ([`State`]), the table by
//! destination ([`Table`]), and the router that makes a routing protocol of a set of procedures ([`Router`]). A
//! protocol describes its own parts by [`OnDemand`], which its parameters implement.

mod radios;
mod rings;
mod router;
mod state;
mod table;
mod times;

pub use radios::Radios;
pub use rings::Rings;
pub use router::{Procedures, Router};
pub use state::{Common, OnDemand, State};
pub use table::{Entry, INFINITY, Table};
pub use times::tick_from;
