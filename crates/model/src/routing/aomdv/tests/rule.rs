//! The rule from which Marina and Das derive that no path has a loop. Along every path the number of the destination
//! does not fall. Where the number stays the same, the advertised hop count falls.

use hopyard_engine::Streams;
use proptest::prelude::*;

use super::*;
use crate::routing::common::newer;

/// Checks the rule for every path of every node.
fn check(net: &Network, nodes: u32) -> usize {
    let mut paths = 0;
    for node in 0..nodes {
        for entry in aomdv(net, node).state().table.iter() {
            for path in &entry.paths {
                paths += 1;
                let (destination, next) = (entry.destination, aomdv(net, path.next_hop.0).state());
                if path.next_hop == destination {
                    assert!(
                        !entry.numbered || !newer(entry.sequence, next.sequence),
                        "node {node} has a number that {destination} has not"
                    );
                    continue;
                }
                let next = next.table.get(destination).expect("not forgotten while a path leads through it");
                let rule = newer(next.sequence, entry.sequence)
                    || next.sequence == entry.sequence && next.advertised < entry.advertised;
                assert!(rule, "node {node} to {destination}: {entry:?}, {next:?}");
            }
        }
    }
    paths
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn numbers_and_advertised_hops_keep_the_rule(
        seed in any::<u64>(),
        ns2 in any::<bool>(),
        nodes in any::<bool>(),
        link_layer in any::<bool>(),
    ) {
        const NODES: u32 = 8;
        let link_detection = if link_layer { LinkDetection::Both } else { LinkDetection::Hello };
        let disjoint = if nodes { Disjoint::Nodes } else { Disjoint::Links };
        let params = Params { link_detection, disjoint, ..Params::of_profile(if ns2 { NS2 } else { RFC }) };
        let mut net = network(NODES as usize, &params);
        let mut rng = Streams::new(seed, 0).stream("links");
        let mut links = std::collections::BTreeSet::new();
        let (mut millis, mut paths) = (0, 0);
        for _ in 0..150 {
            let mut pick = || rng.below(u64::from(NODES)) as u32;
            let ((a, b), (from, to)) = ((pick(), pick()), (pick(), pick()));
            if a < b {
                if links.remove(&(a, b)) {
                    net.part(a, b);
                } else if links.len() < 12 {
                    links.insert((a, b));
                    net.join(a, b);
                }
            }
            if from != to {
                net.send(from, to);
            }
            // Now and then long enough for routes to expire, and to be forgotten.
            let pause = if rng.below(20) == 0 { 70_000 } else { 400 };
            let until = millis + 1 + rng.below(pause);
            while millis < until {
                millis = (millis + 1 + pause / 20).min(until);
                net.run_until(millis);
                paths += check(&net, NODES);
            }
        }
        prop_assert!(paths > 1_000, "only {paths} paths were there");
    }
}
