//! Mobile IP in whole networks.

mod arithmetic;
mod cells;
#[path = "../common/mod.rs"]
mod common;
mod faults;
mod handoffs;
mod loops;
mod random;
mod refusals;
mod tunnels;
mod wired;
