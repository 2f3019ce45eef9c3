//! Kernels that are nodes: real routing daemons over the MACs and radios of a simulated network. Without a built
//! kernel, or without a daemon, a test is skipped.

use std::sync::atomic::{AtomicBool, Ordering};

use hopyard_coupling::{Options, Routers};
use hopyard_model::world::Watch;

use crate::common::chain::{CHAIN, options, program, run, started};
use crate::common::{at, scenario, without_kernel};

#[test]
fn babeld_finds_the_ways_of_a_chain_and_repeats_itself() {
    let text = format!("{CHAIN}routing = \"babeld\"\n");
    let programs = [program(0, 50_000, "ping -n -c 3 node3"), program(3, 52_000, "ping -n -c 3 node0-v6")];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    for text in &output[..2] {
        assert!(text.contains("3 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    }
    let changes = &outcome.route_changes;
    let of_ends = changes.iter().rfind(|it| (it.node, it.destination) == (0, 3));
    assert_eq!(of_ends.and_then(|it| it.path.as_deref()), Some("0 1 2 3"), "{changes:#?}");
    let (again, said) = run(&text, &options);
    assert_eq!((again.digest, said), (outcome.digest, output));
}

/// With batman-adv the nodes are hosts of one Ethernet, whose frames find their way below IP.
#[test]
fn batman_adv_carries_pings_over_three_hops() {
    for algorithm in ["batman_iv", "batman_v"] {
        let text = format!("{CHAIN}routing = \"{algorithm}\"\n");
        let programs = [
            program(0, 30_000, "ping -n -c 3 node3"),
            program(0, 34_000, "batctl meshif bat0 originators -H"),
            program(0, 36_000, "ping -n -c 2 -s 1472 -M do node3"),
            program(3, 38_000, "ping -n -c 3 node0-v6"),
            program(1, 40_000, "ip link show bat0"),
        ];
        let Some(options) = options(&text, &programs) else { return };
        let (outcome, output) = run(&text, &options);
        assert!(output[0].contains("3 received, 0% packet loss"), "{algorithm}: {output:#?}\n{:#?}", outcome.drops);
        // The addresses of the frames are those of the radios.
        let best = output[1].lines().find(|line| line.contains("* 02:00:00:00:00:04"));
        assert!(best.is_some_and(|line| line.contains(" 02:00:00:00:00:02 ")), "{algorithm}: {}", output[1]);
        assert!(output[2].contains("2 received, 0% packet loss"), "{algorithm}: {}", output[2]);
        assert!(output[3].contains("3 received, 0% packet loss"), "{algorithm}: {}", output[3]);
        // There is room for a whole datagram of Ethernet in bat0.
        assert!(output[4].contains("mtu 1500") && output[4].contains("06:00:00:00:00:02"), "{}", output[4]);
        let (again, said) = run(&text, &options);
        assert_eq!((again.digest, said), (outcome.digest, output));
    }
}

#[test]
fn static_routes_are_there_at_once() {
    let text = format!("{CHAIN}routing = \"static\"\n");
    let programs = [
        program(0, 1000, "ping -n -c 3 node3"),
        program(1, 1000, "ip route"),
        program(1, 1000, "printenv NODE ADDRESS"),
        program(3, 5000, "ping -n -c 3 node0-v6"),
    ];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("3 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    assert!(output[1].contains("10.0.0.4 via 10.0.0.3 dev eth0"), "{}", output[1]);
    assert_eq!(output[2], "1\n10.0.0.2\n");
    assert!(output[3].contains("3 received, 0% packet loss"), "{}", output[3]);
}

#[test]
fn frrs_ospf_finds_the_ways_of_a_chain() {
    let text = format!("{CHAIN}routing = \"ospf\"\n");
    let programs = [program(0, 50_000, "ping -n -c 3 node3"), program(0, 50_000, "ip route")];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    assert!(output[0].contains("3 received, 0% packet loss"), "{output:#?}\n{:#?}", outcome.drops);
    // The daemons take their routes away when they are told to end, which is no change of the network.
    let late: Vec<_> = outcome.route_changes.iter().filter(|it| it.time_s > 50.0).collect();
    assert!(!outcome.route_changes.is_empty() && late.is_empty(), "{late:#?}");
}

/// The third of four nodes is away for a while: the routes over it go, and come back. Without another way, babeld
/// keeps a route until nine Hellos are missing. The run is the same beside a process that keeps a processor busy.
#[test]
fn babeld_loses_and_finds_a_node_that_moves_whatever_else_computes() {
    let away = r#"
[[movement]]
nodes = [2]
[movement.waypoints]
track = [
    { at = "50 s", x = "400 m", y = "0 m" },
    { at = "50.001 s", x = "400 m", y = "20000 m" },
    { at = "110 s", x = "400 m", y = "20000 m" },
    { at = "110.001 s", x = "400 m", y = "0 m" },
]
"#;
    let text = format!("{}routing = \"babeld\"\n{away}", CHAIN.replace("60 s", "150 s"));
    let Some(options) = options(&text, &[program(0, 45_000, "ping -n -c 100 node3")]) else { return };
    let (outcome, output) = run(&text, &options);
    let of_ends = outcome.route_changes.iter().filter(|it| (it.node, it.destination) == (0, 3));
    let ways: Vec<_> = of_ends.map(|it| (it.time_s, it.path.clone())).collect();
    let whole = |it: &&(f64, Option<String>)| it.1.as_deref() == Some("0 1 2 3");
    let lost = ways.iter().find(|it| it.1.is_none()).map_or(0.0, |it| it.0);
    let found = ways.iter().rfind(whole).map_or(0.0, |it| it.0);
    assert!(50.0 < lost && lost < 110.0 && found > 110.0, "{ways:#?}");
    let received = output[0].lines().find(|it| it.contains(" received")).expect("a summary");
    assert!(!received.contains(" 0% packet loss") && !received.contains(" 0 received"), "{received}");
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        let (again, said) = run(&text, &options);
        stop.store(true, Ordering::Relaxed);
        assert_eq!((again.digest, said), (outcome.digest, output));
    });
}

/// A mixture: `NODES` are kernels with babeld, and the others are Hopyard's with its own Babel.
const MIXED: &str =
    "routing = \"babeld\"\nnodes = NODES\n[routing]\nprotocol = \"babel\"\n[routing.babel]\nipv6 = true\n";

/// Hopyard's flows go over kernels, and those of kernels over Hopyard's nodes. Both find their ways by Babel.
#[test]
fn babel_and_babeld_carry_each_others_flows() {
    let flow = |from: u32, to: u32, keys: &str| format!("[[flow]]\nfrom = {from}\nto = {to}\nstart = \"45 s\"\n{keys}");
    let linux = "stack = \"linux\"\ntcp = \"cubic\"\n";
    for (kernels, flows) in [
        (
            "[1, 2]",
            [flow(0, 3, "tcp = \"newreno\"\n"), flow(3, 0, "udp = true\ntraffic = \"cbr\"\n"), flow(1, 2, linux)],
        ),
        ("[0, 3]", [flow(0, 3, linux), flow(3, 0, linux), flow(1, 2, "tcp = \"newreno\"\n")]),
        ("[0, 2]", [flow(0, 2, linux), flow(1, 3, "tcp = \"newreno\"\n"), flow(2, 0, linux)]),
    ] {
        let text = format!("{CHAIN}{}{}", MIXED.replace("NODES", kernels), flows.concat());
        let Some(options) = options(&text, &[]) else { return };
        let (outcome, _) = run(&text, &options);
        for row in &outcome.flows {
            let hops = f64::from(row.source.abs_diff(row.destination));
            let arrived = row.packets_unique > 20 && row.hops.is_some_and(|it| (it - hops).abs() < 0.05);
            assert!(arrived, "{kernels}: {row:#?}\n{:#?}\n{:#?}", outcome.drops, outcome.route_changes);
        }
        let paths: Vec<_> = outcome.route_changes.iter().filter_map(|it| it.path.as_deref()).collect();
        assert!(paths.contains(&"1 2 3") || kernels != "[1, 2]", "{paths:?}");
        let (again, _) = run(&text, &options);
        assert_eq!(again.digest, outcome.digest, "{kernels}");
    }
}

/// A flow's packets are measured at its ends, whatever protocol brings their frames over the hops.
#[test]
fn flows_of_linux_are_measured_over_all_hops() {
    for routing in ["static", "batman_v"] {
        let flow = "[[flow]]\nfrom = 0\nto = 3\nstart = \"10 s\"\nstack = \"linux\"\ntcp = \"cubic\"\n";
        let text = format!("{}routing = \"{routing}\"\n{flow}", CHAIN.replace("60 s", "20 s"));
        let Some(options) = options(&text, &[]) else { return };
        let (outcome, _) = run(&text, &options);
        let row = &outcome.flows[0];
        let (goodput, hops) = (row.goodput_kbps, row.hops.unwrap_or_default());
        assert!(goodput > 100.0 && hops > 2.9 && hops < 3.1, "{routing}: {row:#?}");
    }
}

/// Kernels ask for the addresses of neighbours at the same nanosecond, and again a second later. Nodes 0 and 3 do not
/// hear each other, so that carrier sense does not separate their frames.
#[test]
fn flows_that_start_together_all_deliver() {
    let flow =
        |from, to| format!("[[flow]]\nfrom = {from}\nto = {to}\nstart = \"5 s\"\nstack = \"linux\"\ntcp = \"cubic\"\n");
    let flows = [(0, 1), (1, 2), (2, 1), (3, 2)].map(|(from, to)| flow(from, to)).concat();
    let text = format!("{}routing = \"static\"\n{flows}", CHAIN.replace("60 s", "15 s"));
    let Some(options) = options(&text, &[]) else { return };
    let (outcome, _) = run(&text, &options);
    for row in &outcome.flows {
        assert!(row.first_arrival_s.is_some_and(|at| at < 9.0), "{:#?}", outcome.flows);
    }
}

#[test]
fn a_routing_command_that_fails_ends_the_run_with_its_output() {
    let text = format!("{CHAIN}routing = \"sh -c 'echo no such radio >&2; exit 3'\"\n");
    let Some(options) = options(&text, &[]) else { return };
    let mut coupled = started(&text, &options).unwrap_or_else(|error| panic!("{error}"));
    let error = coupled.advance(at(20_000), &Watch::default()).expect_err("it has failed").to_string();
    assert!(error.starts_with("the routing of node 0, `sh -c echo") && error.contains("with status 3"), "{error}");
    assert!(error.ends_with("no such radio"), "{error}");
}

/// A kernel has a route of its own to each neighbour, and no IPv6 unless it is a node.
#[test]
fn kernels_beside_nodes_that_are_kernels_are_refused() {
    let text = format!("{CHAIN}routing = \"static\"\n");
    let scenario = scenario(&text);
    let mut routers = Routers::of(&scenario, &scenario.spec(0)).expect("there are some");
    routers.nodes.pop();
    let options = Options { routers: Some(routers), programs: vec![program(3, 0, "true")], ..without_kernel() };
    let error = started(&text, &options).err().expect("refused").to_string();
    assert_eq!(error, "expected a kernel at one of the 3 nodes that are kernels, found node 3");
}

/// A radio without power has no carrier, which the kernel's daemons learn of; what it sends is dropped for this reason.
#[test]
fn an_empty_battery_takes_the_carrier() {
    let battery = "[energy]\nmodel = \"state\"\n[[battery]]\nnodes = [1]\ncapacity = \"10 J\"\n";
    let text = format!("{}routing = \"static\"\n{battery}", CHAIN.replace("60 s", "40 s"));
    let programs = [program(0, 1000, "ping -n -c 30 node1"), program(1, 500, "ip -ts monitor link")];
    let Some(options) = options(&text, &programs) else { return };
    let (outcome, output) = run(&text, &options);
    let died = outcome.nodes[1].battery_empty_s.expect("the battery is small");
    assert!((1.0..30.0).contains(&died), "{died}");
    assert!(output[1].contains("NO-CARRIER"), "{died}: {}", output[1]);
    assert!(!output[0].contains(" 30 received") && !output[0].contains(" 0 received"), "{}", output[0]);
}
