//! Routes (§10), also on random graphs, and by expected transmissions.

use proptest::prelude::*;

use super::*;
use crate::routing::Connectivity;

/// A random graph whose nodes have about `degree` neighbours.
fn graph(nodes: u32, degree: f64, seed: u64) -> Vec<(u32, u32)> {
    let mut rng = Streams::new(seed, 0).stream("graph");
    let places: Vec<_> = (0..nodes).map(|_| (rng.uniform(), rng.uniform())).collect();
    let reach = degree / (std::f64::consts::PI * f64::from(nodes));
    let mut links = Vec::new();
    for a in 0..nodes {
        for b in a + 1..nodes {
            let (one, other) = (places[a as usize], places[b as usize]);
            if (one.0 - other.0).powi(2) + (one.1 - other.1).powi(2) < reach {
                links.push((a, b));
            }
        }
    }
    links
}

/// Runs until all is known. Every route must be as long as the shortest path, and exist where there is one.
fn check_routes(params: &Params, nodes: u32, links: &[(u32, u32)], seconds: u64) -> Network {
    let mut net = network(params, nodes as usize);
    let mut lists = vec![Vec::new(); nodes as usize];
    for &(a, b) in links {
        net.join(a, b);
        lists[a as usize].push(Address(b));
        lists[b as usize].push(Address(a));
    }
    net.run_until(seconds * 1000);
    let truth = Connectivity::new(lists, Owners::default());
    for from in 0..nodes {
        for to in (0..nodes).filter(|&to| to != from) {
            let expected = truth.shortest_path(NodeId(from), Address(to)).map(|it| it.1);
            let found = net.route(from, to).map(|it| u32::from(it.1));
            assert_eq!(found, expected, "{nodes} nodes: from {from} to {to}");
        }
    }
    net
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn s10_routes_are_shortest_paths(
        nodes in 10_u32..40,
        degree in 3.0..9.0,
        seed in any::<u64>(),
        redundancy in 0_u8..3,
    ) {
        let params = Params { tc_redundancy: redundancy, ..defaults() };
        check_routes(&params, nodes, &graph(nodes, degree, seed), 25);
    }
}

#[test]
fn s10_routes_are_shortest_paths_among_ten_to_two_hundred_nodes() {
    for (nodes, graphs) in [(10, 4), (20, 4), (40, 3), (80, 2), (120, 2), (160, 1)] {
        for seed in 0..graphs {
            // Sparse graphs fall into parts, dense ones have many relays to choose from.
            check_routes(&defaults(), nodes, &graph(nodes, [6.0, 9.0, 4.0, 12.0][seed as usize], seed), 18);
        }
    }
}

/// The bytes of the tables of links of all nodes, and the links in them. The messages, which all nodes share, count
/// once for each originator.
fn table_bytes(net: &Network, nodes: u32) -> (usize, usize) {
    let (mut bytes, mut links) = (0, 0);
    for node in 0..nodes {
        let crate::routing::Model::Olsr(it) = net.router(node) else { panic!("OLSR was asked for") };
        let (table, known) = it.0.topology.bytes();
        let message = it.0.tc.as_ref().map_or(0, |tc| size_of::<Tc>() + size_of_val(&tc.advertised[..]));
        let trees = it.0.tree.bytes() + it.0.fresh.get().map_or(0, |tree| tree.bytes());
        (bytes, links) = (bytes + table + trees + message, links + known);
    }
    (bytes, links)
}

#[test]
fn s10_routes_are_shortest_paths_among_two_hundred_nodes() {
    let net = check_routes(&defaults(), 200, &graph(200, 8.0, 7), 18);
    // The tables cost little: the messages are shared.
    let (bytes, links) = table_bytes(&net, 200);
    assert!(links > 100 * 200 && bytes <= 30 * links, "{bytes} bytes for {links} links");
}

#[test]
fn a_known_link_costs_few_bytes_among_a_thousand_nodes() {
    // As many links an originator as relays have selectors at least: one.
    for (degree, most) in [(1, 40), (3, 14)] {
        let mut node = Alone::new(&defaults());
        node.neighbour(1, &[2]);
        for last in 2..1000 {
            node.tc(1, last, 1, &(1..=degree).map(|step| (last + step) % 1000).collect::<Vec<_>>());
        }
        node.send(999);
        let (table, links) = node.it.0.topology.bytes();
        let bytes = table + node.it.0.tree.bytes();
        assert_eq!(links, 998 * degree as usize);
        assert!(bytes <= most * links, "{bytes} bytes for {links} links");
    }
}

#[test]
fn s10_a_nearer_way_is_taken_as_soon_as_it_is_known() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[6]).tc(1, 6, 1, &[7]).tc(1, 7, 1, &[8]).send(8), Some(1));
    assert_eq!(node.route(8), Some((1, 4)));
    node.neighbour(2, &[7]);
    assert_eq!((node.send(8), node.route(8)), (Some(2), Some((2, 3))));
    node.neighbour(8, &[]);
    assert_eq!((node.send(8), node.route(8)), (Some(8), Some((8, 1))));
}

#[test]
fn s10_the_links_in_tcs_are_used_in_one_direction() {
    let mut node = Alone::new(&defaults());
    assert_eq!(node.neighbour(1, &[6]).tc(1, 7, 1, &[6]).route(7), None);
    assert_eq!(node.tc(1, 6, 1, &[7]).route(7), Some((1, 3)));
}

#[test]
fn routes_in_use_are_announced_when_they_change_or_end() {
    let mut node = Alone::new(&defaults());
    node.neighbour(1, &[6]).neighbour(2, &[]);
    assert_eq!(node.changes, [], "a route that is not used is not announced");
    assert_eq!(node.send(6), Some(1));
    node.neighbour(1, &[]).neighbour(2, &[6]).run(0.2).neighbour(2, &[]).run(0.4);
    let found: Vec<_> = node.changes.iter().map(|it| (it.destination.0, it.route.map(|it| (it.0.0, it.1)))).collect();
    assert_eq!(found, [(6, Some((1, 2))), (6, Some((2, 2))), (6, None)]);
}

#[test]
fn without_a_route_a_packet_is_dropped_and_the_source_is_told() {
    let mut net = network(&defaults(), 3);
    net.send_segment(0, 2);
    assert_eq!(net.at(10).dropped(0, DropReason::NoRoute), 1);
    assert_eq!(net.said("cannot pass on segment").len(), 1);
    net.check_account();
}

#[test]
fn packets_go_along_a_chain_and_go_round_when_it_breaks() {
    let mut net = network(&defaults(), 7).chained(&[0, 1, 2, 3]).chained(&[0, 4, 5, 6, 3]).after(20_000);
    net.send_until(0, 3, 21_000);
    assert_eq!((net.arrived.len(), net.route(0, 3)), (1, Some((1, 3))));
    net.part(1, 2).run_until(45_000);
    net.send_until(0, 3, 46_000);
    assert_eq!((net.arrived.len(), net.route(0, 3)), (2, Some((4, 4))));
    net.check_account();
    net.check_loops();
}

/// A HELLO or a TC with the qualities of links.
fn qualities(node: &mut Alone, from: u32, number: u16, listed: &[(u32, (u8, u8))]) {
    let listed = listed.iter().map(|&(address, quality)| Listed {
        address: Address(address),
        link: Symmetric,
        neighbour: NeighbourType::Symmetric,
        quality,
    });
    let hello = Hello { htime: 0x05, willingness: 3, qualities: true, listed: listed.collect() };
    let message = node.message(from, 6.0, 1, Content::Hello(Arc::new(hello)));
    node.hear_packet(from, OlsrPacket { sequence: number, messages: vec![message] });
}

#[test]
fn etx_takes_two_good_links_instead_of_one_bad_link() {
    let mut node = Alone::new(&Params { metric: Metric::Etx, ..defaults() });
    // Of the packets of node 2 every second one arrives, and one half of those sent to it: four transmissions.
    for number in 0..12 {
        qualities(&mut node, 1, number, &[(0, (255, 255)), (2, (255, 255))]);
        qualities(&mut node, 2, 2 * number, &[(0, (128, 128)), (1, (255, 255))]);
    }
    assert_eq!((node.route(1), node.route(2)), (Some((1, 1)), Some((1, 2))));
    let mut hops = Alone::new(&defaults());
    assert_eq!(hops.neighbour(1, &[2]).neighbour(2, &[1]).route(2), Some((2, 1)));
}

#[test]
fn etx_is_told_in_messages_of_olsrd() {
    let params = Params { metric: Metric::Etx, ..defaults() };
    let mut net = network(&params, 4).chained(&[0, 1, 2, 3]);
    assert_eq!((net.at(30_000).route(0, 3), net.route(3, 0)), (Some((1, 3)), Some((2, 3))));
    // A HELLO of node 1: 28 of headers, 4 of the packet, 16, one block of 4 with two neighbours of 8 bytes.
    assert!(net.talk.iter().any(|line| line.contains("1>* HELLO ttl 1 68 B")), "{:?}", net.said("1>* HELLO"));
}

#[test]
fn s10_an_interface_of_a_neighbour_is_reached_before_a_mid_names_it() {
    let mut node = Alone::with_networks(&defaults(), 2, &[]);
    let content = Alone::hello_content(3, &[(10, Symmetric, NeighbourType::Symmetric)]);
    // Node 1 speaks by its second interface.
    let message = node.message(1, 6.0, 1, content);
    node.hear(11, message);
    assert_eq!((node.route(1), node.route(11)), (Some((11, 1)), Some((11, 1))));
    assert_eq!(node.send(11), Some(11));
    assert_eq!(node.run(6.1).route(11), None);
}
