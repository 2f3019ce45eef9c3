//! ns-2's procedure.

use super::*;
use crate::params::NS2;

/// The way to a host that a foreign agent sets when the host's request comes from this neighbour.
fn way(host: Address, from: Address) -> Option<WayChange> {
    let mut agent = Lone::foreign(100_000, |it| *it = Params::of_profile(NS2));
    agent.hears(Message::Request(Request { home: host, proof: Proof::None, lifetime: 2, ..request(0) }), host, from);
    agent.way_to(host)
}

#[test]
fn the_routing_protocol_leads_to_hosts_whatever_the_way_of_their_requests() {
    // Without a route to the host, packets do not wait for one: DSDV leads them to the node's base station, itself.
    assert_eq!(way(MH, MH), Some(WayChange::Only(Way::Towards(FA))));
    // Over other nodes, and last by a wire: what is at its other end is not the host.
    assert_eq!(way(MH, WIRED), Some(WayChange::Only(Way::Towards(FA))));
}

#[test]
fn a_host_at_a_wire_is_there() {
    assert_eq!(way(WIRED, WIRED), Some(WayChange::Only(Way::Via(WIRED))));
}
