//! The loops of ns-2's AODV: the last node of a chain of four nodes leaves, and two nodes then are each other's next
//! hop.

use crate::common::{loops, run};

/// The number of datagrams whose TTL reaches zero in 60 s, for this leaving time of the last node and this interval of
/// datagrams.
fn ttl_drops(leaves_ms: u64, interval_ms: u64) -> u64 {
    let spec = loops::leaving_node("ns2", leaves_ms, interval_ms);
    run(&spec).drops.iter().filter(|row| row.reason == "ttl_expired").map(|row| row.count).sum()
}

#[test]
fn ns2s_aodv_loops_where_ns2_does() {
    // (leaves, interval), in ms; the counts are those of ns-2.35 (`validation/peers/data/ns2_loops.csv`).
    for (leaves, interval, expected) in [(3_300, 700, 81), (2_300, 2_500, 23), (4_300, 700, 0)] {
        assert_eq!(ttl_drops(leaves, interval), expected, "leaves at {leaves} ms, a datagram each {interval} ms");
    }
}
