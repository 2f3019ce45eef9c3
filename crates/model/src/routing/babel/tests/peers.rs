//! babeld 1.12.1 in five namespaces of Linux, on a ring of taps without losses, `type wireless`: its messages at rest,
//! and the times at which its routes changed after a link broke.

use super::*;

/// Messages of all nodes from 80 s to 200 s, when the links had settled: packets, Hellos, IHUs, updates.
const SENT: [usize; 4] = [149, 147, 98, 180];
/// Seconds from the break until each of the nodes beside the broken link and behind it had its last new route.
const REPLACED: [(u32, f64); 4] = [(0, 24.1), (2, 17.1), (3, 22.0), (4, 31.0)];
/// The next hop of each node (row) to each other node (column): on the ring, and without the link from 3 to 4.
const RING: [[u32; 5]; 5] = [[0, 1, 1, 4, 4], [0, 1, 2, 2, 0], [1, 1, 2, 3, 3], [4, 2, 2, 3, 4], [0, 0, 3, 3, 4]];
const CHAIN: [[u32; 5]; 5] = [[0, 1, 1, 1, 4], [0, 1, 2, 2, 0], [1, 1, 2, 3, 1], [2, 2, 2, 3, 2], [0, 0, 0, 0, 4]];

fn next_hops(net: &Network) -> [[u32; 5]; 5] {
    let hop = |from: u32, to: u32| if from == to { to } else { net.route(from, to).map_or(u32::MAX, |it| it.0) };
    [0, 1, 2, 3, 4].map(|from| [0, 1, 2, 3, 4].map(|to| hop(from, to)))
}

fn ring(seed: u64) -> Network {
    let mut net = Network::new(&Config::Babel(params().into()), 5, seed, describe).chained(&[0, 1, 2, 3, 4, 0]);
    net.run_until(200_000);
    net
}

#[test]
fn at_rest_the_messages_are_as_many_as_those_of_babeld_and_the_routes_the_same() {
    let mut sums = [0; 4];
    for seed in 0..10 {
        let mut net = ring(seed);
        assert_eq!(next_hops(&net), RING);
        // Ten updates of all routes a node, and thirty Hellos.
        net.run_until(240_000);
        for (millis, _, words) in net.talk.iter().map(|it| parsed(it)).filter(|it| it.0 >= 80_000) {
            assert!(millis < 240_000);
            sums[0] += 1;
            for (sum, first) in sums[1..].iter_mut().zip(["H", "I", "U"]) {
                *sum += words.iter().filter(|it| it.starts_with(first)).count();
            }
        }
    }
    for (sum, babeld) in sums.into_iter().zip(SENT) {
        // Ten runs of 160 s, and one of 120 s. In the latter, updates of all routes came 36 times. The mean is 37.5.
        let ratio = sum as f64 / 10.0 * (120.0 / 160.0) / babeld as f64;
        assert!((0.97..1.07).contains(&ratio), "{sums:?} {SENT:?}");
    }
}

#[test]
fn after_a_break_routes_are_replaced_in_the_time_of_babeld() {
    let mut times = [0.0; 5];
    for seed in 0..10 {
        let mut net = ring(seed);
        net.part(3, 4);
        let mut last = [0.0; 5];
        for tenth in 1..1_000_u64 {
            net.run_until(200_000 + 100 * tenth);
            for ((last, now), after) in last.iter_mut().zip(next_hops(&net)).zip(CHAIN) {
                *last = if now == after { *last } else { tenth as f64 / 10.0 };
            }
        }
        assert_eq!(next_hops(&net), CHAIN);
        for (time, last) in times.iter_mut().zip(last) {
            *time += last / 10.0;
        }
        net.check_account();
    }
    assert!(times[1] < 0.1, "none of its routes led over the link");
    for (node, babeld) in REPLACED {
        // One run of babeld, whose Hellos come three to five seconds apart.
        assert!((times[node as usize] - babeld).abs() < 8.0, "{times:?} {REPLACED:?}");
    }
}
