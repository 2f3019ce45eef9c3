//! Mobile IP in whole networks.

mod arithmetic;
mod cells;
#[path = "../common/mod.rs"]
mod common;
mod handoffs;
mod loops;
mod measures;
mod random;
mod refusals;
mod wired;
