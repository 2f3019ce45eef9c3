//! Exchanges between DSR nodes.

mod discovery;
mod maintenance;
mod ns2;

use std::net::Ipv4Addr;
use std::sync::Arc;

use hopyard_engine::Span;

use super::{Acknowledgement, CacheKind, Params};
use crate::address::{Address, Prefix};
use crate::context::{DropReason, Owners};
use crate::params::{NS2, Params as _, RFC, read};
use crate::routing::tests::network::Network;
use crate::routing::{Config, Networks};

/// So many nodes, without links.
fn network(nodes: usize, change: impl FnOnce(&mut Params)) -> Network {
    let mut params = Params::of_profile(RFC);
    change(&mut params);
    Network::new(&Config::Dsr(params.into()), nodes, 7, |message| message.kind().to_owned())
}

/// A chain 0-1-2-… of nodes.
fn chain(nodes: u32, change: impl FnOnce(&mut Params)) -> Network {
    let mut net = network(nodes as usize, change);
    net.chain(&(0..nodes).collect::<Vec<_>>());
    net
}

/// The milliseconds at which the messages that mention `what` were sent.
fn times(net: &Network, what: &str) -> Vec<u64> {
    let time = |line: &&str| line.split(' ').next().and_then(|text| text.parse().ok()).expect("a line begins with it");
    net.said(what).iter().map(time).collect()
}

fn has_arrived(net: &Network, datagram: u64) -> bool {
    net.arrived.iter().any(|&(number, _)| number == datagram)
}

#[test]
fn impossible_values_are_refused() {
    let fault = |name: &str, value: serde_json::Value| {
        let mut params = serde_json::to_value(Params::of_profile(RFC)).expect("parameters");
        params[name] = value;
        read::<Params>(&params).expect_err("a fault").to_string()
    };
    assert!(fault("primary_paths", 0.into()).contains("at least 1"));
    assert!(fault("route_hops", 63.into()).contains("1 to 62"));
    assert!(fault("max_salvage_count", 16.into()).contains("at most 15"));
    assert!(fault("request_period", "0 s".into()).contains("at least 1 ms"));
    assert!(fault("max_request_period", "100 ms".into()).contains("request_period"));
    assert!(fault("flow_state", true.into()).contains("ns-2"));
    let silent = Params { acknowledgement: Acknowledgement::Passive, promiscuous: false, ..Params::of_profile(RFC) };
    assert!(silent.check().expect_err("a fault").to_string().contains("promiscuous"));
    let other = Params { acknowledgement: Acknowledgement::Network, ..Params::of_profile(NS2) };
    assert!(other.check().is_err());
}
