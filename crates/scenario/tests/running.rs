//! Scenarios become worlds: what a file says is what runs.

use std::path::Path;

use hopyard_engine::Time;
use hopyard_model::world::{self, Spec, Transport, Watch, World};
use hopyard_model::{agent, mobility, routing};
use hopyard_scenario::Scenario;

fn load(text: &str) -> Scenario {
    Scenario::load(text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn with(scenario: &Scenario, key: &str, value: &str) -> Scenario {
    scenario.with(&[(key.to_owned(), value.to_owned())]).unwrap_or_else(|problems| panic!("{problems}"))
}

const WIRED: &str = r#"
duration = "5 s"
profile = "ns2"
[nodes]
count = 2
wired = 1
spacing = "100 m"
[routing]
protocol = "static"
[routing.static]
others = "chain"
[[flow]]
from = 0
to = 2
tcp = "vegas"
stop = "4 s"
window = 9
[flow.vegas]
alpha = 2
[[flow]]
from = 2
to = 1
udp = true
start = "1 s"
[flow.cbr]
rate = "50 kbps"
[[wire]]
between = [1, 2]
delay = "7 ms"
[wire.losses]
packets = [3]
"#;

#[test]
fn what_the_file_says_is_what_the_run_is_made_of() {
    let spec = load(WIRED).spec(3);
    assert_eq!((spec.seed, spec.run, spec.nodes.len(), spec.flows.len()), (1, 3, 3, 2));
    assert_eq!(spec.nodes.iter().map(|node| !node.radios.is_empty()).collect::<Vec<_>>(), [true, true, false]);
    assert_eq!(spec.nodes[1].start, mobility::Position::ground(100.0, 0.0));
    assert_eq!(spec.flows[0].stop, Time::from_nanos(4_000_000_000));
    let Transport::Tcp { config, acking } = &spec.flows[0].transport else { panic!("flow 0 is TCP") };
    assert_eq!((config.tcp.window, config.congestion.name(), acking.name()), (9, "vegas", "every"));
    assert!(matches!(spec.flows[1].transport, Transport::Udp));
    assert_eq!(spec.flows[1].traffic.name(), "cbr");
    assert_eq!(spec.wires[0].params.delay.to_string(), "7 ms");
    assert_eq!(spec.wires[0].params.losses.packets, [3]);
    assert!(World::new(&spec).is_ok());
}

fn places(spec: &Spec) -> Vec<(f64, f64)> {
    spec.nodes.iter().map(|node| (node.start.x, node.start.y)).collect()
}

fn pairs(spec: &Spec) -> Vec<(u32, u32, Time)> {
    spec.flows.iter().map(|flow| (flow.from.0, flow.to.0, flow.start)).collect()
}

#[test]
fn cases_have_their_random_numbers_in_common_and_runs_have_not() {
    let scenario = load(
        "[nodes]\ncount = 20\nplacement = \"uniform\"\narea = [\"500 m\", \"500 m\"]\n[routing]\n\
         protocol = \"oracle\"\n\
         [flows]\nrandom = 5\nstart = [\"0 s\", \"9 s\"]\n",
    );
    let other = with(&scenario, "flows.tcp", "vegas");
    assert_ne!(scenario.hash(), other.hash());
    for run in 0..3 {
        assert_eq!(places(&scenario.spec(run)), places(&other.spec(run)));
        assert_eq!(pairs(&scenario.spec(run)), pairs(&other.spec(run)));
    }
    assert_ne!(places(&scenario.spec(0)), places(&scenario.spec(1)));
    assert_ne!(pairs(&scenario.spec(0)), pairs(&scenario.spec(1)));
    let seeded = with(&scenario, "seed", "2");
    assert_eq!(seeded.hash(), scenario.hash());
    assert_ne!(places(&scenario.spec(0)), places(&seeded.spec(0)));
    // Drawing places does not disturb the drawing of flows.
    let settings = [("nodes.placement", "chain"), ("nodes.spacing", "9 m")].map(|(k, v)| (k.to_owned(), v.to_owned()));
    let chain = scenario.with(&settings).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(pairs(&scenario.spec(0)), pairs(&chain.spec(0)));
}

#[test]
fn some_nodes_may_move_otherwise() {
    let spec = load(
        "[nodes]\ncount = 3\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 2\n\
         [[movement]]\nnodes = [1]\n[movement.waypoints]\norders = [{ at = \"1 s\", x = \"0 m\", y = \"50 m\", \
         speed = \"10 m/s\" }]\n",
    )
    .spec(0);
    assert_eq!(
        spec.nodes.iter().map(|node| node.mobility.name()).collect::<Vec<_>>(),
        ["stationary", "waypoints", "stationary"]
    );
    assert!(World::new(&spec).is_ok());
}

#[test]
fn packets_that_a_source_route_makes_too_long_are_warned_of_and_dropped() {
    use hopyard_model::context::DropReason;
    use hopyard_model::world::{Watch, simulate};
    // A frame carries 2296 B, of which 28 B are headers. A route of four hops takes 20 B, and the request for an
    // acknowledgement 4 B.
    for (acknowledgement, most) in [("link_layer", 2248_u32), ("network", 2244)] {
        for size in [most, most + 1] {
            let scenario = load(&format!(
                "duration = \"10 s\"\n[nodes]\ncount = 5\nspacing = \"200 m\"\n[routing]\nprotocol = \"dsr\"\n\
                 [routing.dsr]\nacknowledgement = \"{acknowledgement}\"\n[[flow]]\nfrom = 0\nto = 4\nudp = true\n\
                 traffic = \"cbr\"\ncbr.packet_size = \"{size} B\"\n"
            ));
            let warnings: Vec<String> = scenario.warnings().iter().map(ToString::to_string).collect();
            let is_said = warnings.iter().any(|it| it.contains("a route of 4 hops in each of them adds"));
            let outcome = simulate(&scenario.spec(0), &Watch::default()).expect("it adds up");
            let dropped: u64 =
                outcome.drops.iter().filter(|row| row.reason == DropReason::TooLong.name()).map(|row| row.count).sum();
            assert_eq!((is_said, dropped > 0), (size > most, size > most), "{size}: {warnings:?}, {dropped} dropped");
        }
    }
}

#[test]
fn every_type_of_message_in_a_run_is_declared() {
    let text = "duration = \"20 s\"\n[nodes]\ncount = 4\nspacing = \"240 m\"\n[[flow]]\nfrom = 0\nto = 3\n";
    let routing = routing::MODELS.iter().map(|it| ("routing.protocol", it.name.to_owned()));
    let agents = agent::MODELS.iter().map(|it| ("agents.run", format!("[\"{}\"]", it.name)));
    for (key, value) in routing.chain(agents) {
        for profile in ["rfc", "ns2"] {
            let settings = [(key.to_owned(), value.clone()), ("profile".to_owned(), profile.to_owned())];
            let Ok(scenario) = Scenario::load(text, "test.toml", Path::new(""), &settings) else { continue };
            let spec = scenario.spec(0);
            let agents = spec.nodes[0].agents.iter().flat_map(|agent| agent.messages());
            let declared: Vec<_> = spec.nodes[0].routing.messages().iter().chain(agents).collect();
            let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
            for row in outcome.overhead {
                assert!(declared.contains(&&row.message), "{value}: {} is not among {declared:?}", row.message);
            }
        }
    }
}
