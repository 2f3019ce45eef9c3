//! The tests of whole networks, one program: each file is a module of it. Dozens of programs take several times as long
//! to compile and to link.
//!
//! `cargo test -p hopyard-model-tests --test models golden::` runs the tests of one file. Only `capture` is a program
//! of its own: its tests are skipped where tshark is missing, and `make test-skipped` runs whole programs a second
//! time.

mod agents;
mod bandwidth_estimates;
mod chain;
mod common;
mod computation;
mod connections;
mod conservation;
mod crossing;
mod dcf;
mod decisions;
mod delay_senders;
mod determinism;
mod docs;
#[path = "drand/main.rs"]
mod drand;
mod drops_ns3;
mod dsdv_at_rest;
mod dsdv_networks;
mod dsr;
mod echo;
mod edca;
mod energy;
mod external_control;
mod forced_drops;
mod frames;
mod gateways;
#[path = "golden/main.rs"]
mod golden;
mod heights;
mod interfaces;
mod internet;
mod jammer;
mod kernel_modules;
mod linux;
mod linux_captures;
mod linux_drawn;
mod linux_receiver;
mod linux_tails;
mod long_packets;
mod loop_freedom;
mod loops;
#[path = "mobile_ip/main.rs"]
mod mobile_ip;
mod modern;
mod modes;
mod mpdus;
mod multicast;
mod notices;
mod objects;
mod outside;
mod overhead;
mod pairs;
mod queues;
mod rates;
mod replay;
mod short_frames;
mod sleep;
mod small_queues;
mod source_routes;
mod tdma;
mod tunnels;
mod two_links;
mod windows;
mod wire_losses;
