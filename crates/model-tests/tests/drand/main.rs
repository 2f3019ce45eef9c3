//! Networks of DRAND's machines: what must hold in all of them.

mod moving;
mod network;
mod statics;
