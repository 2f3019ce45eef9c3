//! Mobile IP in whole networks.

#[path = "../common/mod.rs"]
mod common;
mod wired;
