//! Networks behind gateways (§12).

use super::*;

#[test]
fn s12_3_a_node_with_wires_announces_where_they_lead() {
    let announced = |hna, networks: &[&str], wired: &[&str]| {
        let hna_networks = networks.iter().map(ToString::to_string).collect();
        let mut node = Alone::with_networks(&Params { hna, hna_networks, ..defaults() }, 1, wired);
        node.run(6.0);
        let Some((_, message)) = node.messages("HNA").pop() else { return Vec::new() };
        let Content::Hna(networks) = &message.content else { panic!("it is an HNA") };
        networks.iter().map(ToString::to_string).collect()
    };
    let wires = ["192.168.0.0/30", "192.168.1.0/24", "10.0.0.128/25"];
    assert_eq!(announced(Announced::Wired, &[], &wires), wires[..2], "not the ad hoc network");
    assert_eq!(announced(Announced::Listed, &["0.0.0.0/0"], &wires), ["0.0.0.0/0"]);
    assert_eq!(announced(Announced::Both, &["0.0.0.0/0"], &wires[..1]), ["0.0.0.0/0", wires[0]]);
    assert_eq!(announced(Announced::Off, &[], &wires), [""; 0]);
    assert_eq!(announced(Announced::Listed, &["0.0.0.0/0"], &[]), [""; 0], "no gateway");
}

#[test]
fn s12_6_the_longest_prefix_decides_and_then_the_nearest_gateway() {
    let mut node = Alone::with_networks(&defaults(), 1, &[]);
    assert_eq!(node.neighbour(1, &[5]).neighbour(2, &[]).send(21), None);
    assert_eq!(node.hna(1, 5, "192.168.0.0/16").send(21), Some(1));
    assert_eq!(node.hna(2, 2, "192.168.0.0/16").send(21), Some(2), "one hop to gateway 2, two hops to gateway 5");
    node.hna(1, 5, "192.168.1.0/24");
    assert_eq!((node.send(21), node.send(22)), (Some(1), Some(2)));
    assert_eq!((node.route(21), node.route(22)), (Some((1, 2)), Some((2, 1))), "the hops to the gateway");
}

#[test]
fn s12_5_without_its_hna_a_gateway_is_left_for_another_one() {
    let mut node = Alone::with_networks(&defaults(), 1, &[]);
    for second in 0..=16 {
        node.neighbour(1, &[5]).neighbour(2, &[]).hna(1, 5, "192.168.0.0/16");
        if second == 0 {
            node.hna(2, 2, "192.168.0.0/16");
        }
        assert_eq!(node.run(f64::from(second)).send(21), Some(if second < 15 { 2 } else { 1 }), "{second} s");
    }
    let next_hops: Vec<_> = node.changes.iter().map(|it| it.route.map(|it| it.0)).collect();
    assert_eq!(next_hops, [Some(Address(2)), Some(Address(1))]);
}

#[test]
fn s12_6_a_gateway_that_cannot_be_reached_is_no_way() {
    let mut node = Alone::with_networks(&defaults(), 1, &[]);
    assert_eq!(node.neighbour(1, &[]).hna(1, 5, "192.168.1.0/24").hna(1, 1, "0.0.0.0/0").send(21), Some(1));
    assert_eq!(node.route(21), Some((1, 1)), "by the shorter prefix");
}

#[test]
fn s12_6_a_gateway_has_its_own_networks_behind_its_wires() {
    // Both announce a default route: what the wires of neither lead to is not passed to and fro.
    let params = Params { hna: Announced::Both, hna_networks: vec!["0.0.0.0/0".to_owned()], ..defaults() };
    let mut node = Alone::with_networks(&params, 1, &["192.168.9.0/24"]);
    assert_eq!(node.neighbour(1, &[]).hna(1, 1, "0.0.0.0/0").send(21), None);
    node.hna(1, 1, "192.168.1.0/24");
    assert_eq!((node.send(21), node.send(22)), (Some(1), None), "another gateway knows better");
}

#[test]
fn s12_6_nodes_of_the_ad_hoc_network_are_not_sought_behind_gateways() {
    let mut node = Alone::with_networks(&defaults(), 1, &[]);
    node.neighbour(1, &[]).hna(1, 1, "0.0.0.0/0");
    assert_eq!((node.send(21), node.send(7)), (Some(1), None));
}
