//! Linux kernels as the hosts of simulated nodes: flows whose TCP is Linux's, carried by the routing, the medium access
//! and the radios of a simulated network.
//!
//! A kernel has a node's address. Its datagrams enter the network at that node, and datagrams for it leave the network
//! there ([`World::inject`], [`World::egress`]). All flows with an end at a node share its kernel, and so do programs
//! of this machine that run at the node in simulated time.
//!
//! A kernel can also be a whole node ([`Routers`]): its Ethernet frames go to the MAC of the node's radio
//! ([`World::inject_frame`]), and routing is Linux's. With Linux's Wi-Fi, frames of 802.11 with their rates go there
//! ([`World::inject_mpdu`]).
//!
//! [`World::inject`]: hopyard_model::world::World::inject
//! [`World::inject_frame`]: hopyard_model::world::World::inject_frame
//! [`World::inject_mpdu`]: hopyard_model::world::World::inject_mpdu
//! [`World::egress`]: hopyard_model::world::World::egress

#[cfg(test)]
#[path = "../../kernels/tests/common/built.rs"]
mod built;
mod hosts;
mod meter;
mod orders;
mod outcome;
mod programs;
mod radios;
mod routers;
mod routes;
mod run;
mod state;
mod stations;

pub use meter::{Measured, Meters};
pub use orders::{LEAST_WITH_PROGRAMS, Options};
pub use programs::{Output, Program, ProgramError, ProgramState};
pub use routers::{Routers, daemon_fault, daemons};
pub use run::{Coupled, CouplingError};
pub use state::{FlowState, Sample};
