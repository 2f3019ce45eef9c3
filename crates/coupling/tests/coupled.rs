//! The tests of networks with kernels, one program: each file is a module of it. A program for each of them takes
//! several times as long to compile and to link. `cargo test -p hopyard-coupling --test coupled babel::` runs the tests
//! of one file.
#![allow(clippy::duplicate_mod, reason = "both modules of helpers name what they skip by the same file")]

mod babel;
mod broken_route;
mod common;
#[path = "../../model-tests/tests/linux/mod.rs"]
#[allow(dead_code, reason = "the captures are compared elsewhere")]
mod linux;
#[path = "modules/main.rs"]
mod modules;
mod networks;
mod programs;
mod routers;
mod seen;
mod wifi;
