//! The tests of scenario files, one program: each file is a module of it. Dozens of programs take several times as long
//! to compile and to link. `cargo test -p hopyard-scenario --test scenarios messages::` runs the tests of one file.

mod access;
mod adding_a_model;
mod bad_values;
mod comments;
mod edca;
mod error_rates;
mod gateway_hops;
mod generated;
mod groups;
mod hash;
#[path = "import_rules/main.rs"]
mod import_rules;
mod jammers;
mod links;
mod linux;
mod messages;
mod mobile_hosts;
mod mobile_orders;
mod modes;
mod multicast;
mod networks;
mod properties;
mod queues;
mod rates;
mod reach;
mod reading;
mod routers;
mod running;
mod singles;
mod sweep;
mod test_programs;
mod tracks;
mod traffic_files;
mod tunnels;
mod unused;
mod ways;
mod wire_traces;
