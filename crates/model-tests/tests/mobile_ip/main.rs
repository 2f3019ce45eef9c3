//! Mobile IP in whole networks.

mod arithmetic;
mod arithmetic_ns2;
mod cells;
mod crossings;
mod crowds;
mod faults;
mod handoffs;
mod loops;
mod measures;
mod random;
mod refusals;
mod tunnels;
mod wired;
