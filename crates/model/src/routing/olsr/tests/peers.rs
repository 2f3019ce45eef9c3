//! The same graphs as in ns-3.37 (`validation/peers/ns3/olsr.cc`, `validation/peers/data/ns3_olsr.csv`).

use super::*;

/// Points of a square of 1000, linked if nearer than `reach`: the generator of the peer's program.
fn random(nodes: u32, reach: i64, seed: u64) -> Vec<(u32, u32)> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).rem_euclid(1000).cast_signed()
    };
    let places: Vec<(i64, i64)> = (0..nodes).map(|_| (next(), next())).collect();
    let near = |a: (i64, i64), b: (i64, i64)| (a.0 - b.0).pow(2) + (a.1 - b.1).pow(2) < reach * reach;
    let pairs = (0..nodes).flat_map(|a| (a + 1..nodes).map(move |b| (a, b)));
    pairs.filter(|&(a, b)| near(places[a as usize], places[b as usize])).collect()
}

fn grid(width: u32, height: u32) -> Vec<(u32, u32)> {
    let right = (0..width * height).filter(|it| it % width + 1 < width).map(|it| (it, it + 1));
    right.chain((0..width * (height - 1)).map(|it| (it, it + width))).collect()
}

/// What all nodes know after 90 s, and what they sent from 30 s on.
struct Found {
    routes: u64,
    hops: u64,
    longest: u8,
    packets_per_s: f64,
    bytes_per_s: f64,
}

fn run(params: &Params, nodes: u32, links: &[(u32, u32)]) -> Found {
    let mut net = network(params, nodes as usize);
    for &(a, b) in links {
        net.join(a, b);
    }
    net.run_until(30_000);
    let before = net.talk.len();
    net.run_until(90_000);
    let pairs = (0..nodes).flat_map(|from| (0..nodes).filter(move |&to| to != from).map(move |to| (from, to)));
    let routes: Vec<u8> = pairs.filter_map(|(from, to)| net.route(from, to)).map(|it| it.1).collect();
    let said = &net.talk[before..];
    let bytes = |line: &String| line.trim_end_matches(" B").rsplit(' ').next().and_then(|it| it.parse::<u64>().ok());
    Found {
        routes: routes.len() as u64,
        hops: routes.iter().map(|&it| u64::from(it)).sum(),
        longest: routes.iter().copied().max().unwrap_or(0),
        packets_per_s: said.len() as f64 / 60.0,
        bytes_per_s: said.iter().filter_map(bytes).sum::<u64>() as f64 / 60.0,
    }
}

/// Routes are as many and as long as ns-3's. Here intervals are shortened at random (§3.5), which ns-3 does not do.
/// HELLO messages come every 1.75 s on average, instead of every 2 s. ns-3 delays a node's own messages too, so that
/// more messages share a packet.
#[test]
fn routes_are_as_long_as_those_of_ns3_and_control_is_about_as_much() {
    let table = concat!(env!("CARGO_MANIFEST_DIR"), "/../../validation/peers/data/ns3_olsr.csv");
    let table = std::fs::read_to_string(table).expect("the values of ns-3");
    let mut graphs = 0;
    for line in table.lines().skip(1) {
        let words: Vec<&str> = line.split(',').collect();
        let number = |place: usize| words[place].parse::<f64>().expect("a number");
        let nodes = number(1) as u32;
        let links = match words[0] {
            "random" => random(nodes, number(2) as i64, number(3) as u64),
            "grid" => grid(5, nodes / 5),
            _ => grid(nodes, 1),
        };
        assert_eq!(links.len() as f64, number(4), "{line}");
        let found = run(&defaults(), nodes, &links);
        let routes = (found.routes as f64, found.hops as f64, f64::from(found.longest));
        assert_eq!(routes, (number(5), number(6), number(7)), "{line}");
        let (packets, bytes) = (found.packets_per_s / number(8), found.bytes_per_s / number(9));
        assert!((1.1..2.2).contains(&packets) && (0.9..1.3).contains(&bytes), "{line}: {packets:.2} {bytes:.2}");
        graphs += 1;
    }
    assert_eq!(graphs, 11);
}
