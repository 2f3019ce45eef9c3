use hopyard_engine::units::Speed;
use hopyard_engine::{Span, Streams, Time};
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::mobility::files::{Movements, Reading};
use crate::mobility::{Config, Spec, movement_file, random_waypoint, waypoints};
use crate::params::Params as _;

const STILL: Position = Position::ground(0.0, 0.0);

/// The nodes of a run: each with its model and its position in the scenario.
struct Run(Vec<(Config, Position)>, Option<Movements>);

impl Run {
    fn build(&self, node: u32) -> Result<Box<dyn Mobility>, BuildError> {
        let movements = self.1.as_ref();
        let specs: Vec<_> =
            self.0.iter().map(|(config, start)| Spec { model: config, start: *start, movements, table: 0 }).collect();
        Nodes::new(&specs, Streams::new(3, 1)).movement(NodeId(node))
    }

    /// The first legs of a node.
    fn legs(&self, node: u32) -> Vec<Leg> {
        let mut model = self.build(node).expect("a movement");
        let mut legs = vec![model.next_leg()];
        while legs.len() < 60 && legs[legs.len() - 1].until < Time::NEVER {
            legs.push(model.next_leg());
        }
        legs
    }
}

fn still() -> Config {
    Config::of_profile("stationary", "rfc").expect("a model")
}

fn random() -> Config {
    let pause_max = Span::from_secs(4);
    Config::RandomWaypoint(random_waypoint::Params { pause_max, ..random_waypoint::Params::of_profile("rfc") }.into())
}

fn fixed(x: f64, y: f64, z: f64) -> Offset {
    Offset::Fixed([x, y, z].map(Coordinate::new))
}

fn member(leader: u32, offset: Option<(f64, f64)>) -> Config {
    let offset = offset.map_or(Offset::Positions, |(x, y)| fixed(x, y, 0.0));
    Config::Group(Params { leader: Leader::Node(leader), offset }.into())
}

fn at(x: f64, y: f64) -> Position {
    Position::ground(x, y)
}

/// Whether the legs are those of the leader, moved by the offset.
fn follows(legs: &[Leg], leader: &[Leg], offset: Position) -> bool {
    let moved = leader.iter().map(|leg| Leg { from: leg.from + offset, ..*leg });
    legs.iter().copied().eq(moved)
}

/// The leg that a node is on at a time.
fn position(legs: &[Leg], time: Time) -> Position {
    let leg = legs.iter().rfind(|leg| leg.start <= time).expect("the first leg starts at zero");
    leg.position(time)
}

#[test]
fn a_member_has_the_legs_of_a_leader_of_any_model() {
    let file = b"$node_(0) set X_ 9\n$node_(0) set Y_ 8\n$ns_ at 2 \"$node_(0) setdest 50 60 3\"\n";
    let file = Movements::read("scene", file, &Reading::default()).expect("a movement file");
    let track = [(1, 0.0, 5.0), (7, 70.0, 20.0), (9, 0.0, 0.0)].map(|(at, x, y)| waypoints::Waypoint {
        at: Span::from_secs(at),
        x: Coordinate::new(x),
        y: Coordinate::new(y),
        z: Coordinate::new(2.0 * y),
    });
    let script = waypoints::Params { track: track.into(), orders: Vec::new() };
    let from_file = movement_file::Params { path: "scene".to_owned(), ..movement_file::Params::of_profile("rfc") };
    for (leader, count) in [
        (still(), 1),
        (random(), 60),
        (Config::Waypoints(script.into()), 4),
        (Config::MovementFile(from_file.into()), 3),
    ] {
        let name = leader.name();
        let nodes = vec![(leader, at(100.0, 200.0)), (member(0, Some((-30.0, 4.5))), STILL), (member(0, None), STILL)];
        let run = Run(nodes, Some(file.clone()));
        let leader = run.legs(0);
        assert_eq!(leader.len(), count, "{name}");
        assert!(follows(&run.legs(1), &leader, at(-30.0, 4.5)), "{name}");
        // The difference of the positions of the scenario, also when the leader starts elsewhere.
        assert!(follows(&run.legs(2), &leader, at(-100.0, -200.0)), "{name}");
    }
}

#[test]
fn offsets_of_a_chain_of_leaders_add_up() {
    let run = Run(
        vec![
            (member(1, Some((1.0, 2.0))), STILL),
            (member(2, None), at(10.0, 10.0)),
            (member(3, Some((0.0, 64.0))), at(4.0, 2.0)),
            (random(), STILL),
        ],
        None,
    );
    let leader = run.legs(3);
    assert!(follows(&run.legs(2), &leader, at(0.0, 64.0)));
    assert!(follows(&run.legs(1), &leader, at(6.0, 72.0)));
    assert!(follows(&run.legs(0), &leader, at(7.0, 74.0)));
}

#[test]
fn a_member_keeps_its_height_above_a_leader_that_climbs() {
    let order = json!({ "at": "1 s", "x": "60 m", "y": "0 m", "z": "80 m", "speed": "10 m/s" });
    let climbs = Config::read("waypoints", &json!({ "track": [], "orders": [order] })).expect("parameters");
    let above = Config::Group(Params { leader: Leader::Node(0), offset: fixed(0.0, 0.0, 25.0) }.into());
    let below = Position { x: 0.0, y: 5.0, z: -4.0 };
    let run = Run(vec![(climbs, STILL), (above, STILL), (member(0, None), below)], None);
    let leader = run.legs(0);
    assert_eq!((leader[1].velocity, leader[1].until), ((6.0, 0.0, 8.0), Time::ZERO + Span::from_secs(11)));
    assert!(follows(&run.legs(1), &leader, Position { x: 0.0, y: 0.0, z: 25.0 }));
    assert!(follows(&run.legs(2), &leader, below));
}

#[test]
fn a_leader_moves_as_it_does_without_members() {
    let alone = Run(vec![(random(), STILL), (random(), STILL)], None);
    let led = Run(vec![(random(), STILL), (random(), STILL), (member(1, None), STILL), (member(0, None), STILL)], None);
    for node in 0..2 {
        assert_eq!(alone.legs(node), led.legs(node), "node {node}");
        assert_eq!(led.legs(node), led.legs(3 - node), "the member of node {node}");
    }
    // Of two nodes that draw, each has a movement of its own.
    assert_ne!(led.legs(0), led.legs(1));
}

/// The nearest relative: the same leader and the same offset at the start, but own streams.
#[test]
fn nodes_that_draw_their_own_paths_drift_apart() {
    let distances = |other: Config| {
        let run = Run(vec![(random(), STILL), (other, STILL)], None);
        let (leader, other) = (run.legs(0), run.legs(1));
        let offset = leader[0].from - other[0].from;
        let distance = |second: u64| {
            let now = Time::ZERO + Span::from_secs(second);
            // Both start at the same place.
            (position(&other, now) + offset).distance(position(&leader, now))
        };
        (0..100).map(distance).collect::<Vec<_>>()
    };
    assert!(distances(member(0, None)).iter().all(|distance| *distance == 0.0));
    let drifting = distances(random());
    assert!(drifting[0] < 1e-9 && drifting[50..].iter().all(|distance| *distance > 10.0), "{drifting:?}");
}

#[test]
fn groups_that_cannot_be_built_are_refused() {
    let leaderless = Config::Group(Params { leader: Leader::None, offset: Offset::Positions }.into());
    let refused = |nodes: Vec<Config>| {
        let run = Run(nodes.into_iter().map(|config| (config, STILL)).collect(), None);
        run.build(0).expect_err("no movement").to_string()
    };
    assert_eq!(refused(vec![leaderless.clone()]), "its group has no leader");
    assert_eq!(refused(vec![member(1, None), leaderless]), "its group has no leader");
    assert_eq!(
        refused(vec![member(2, None), still()]),
        "there is no node 2 to follow; there are 2 nodes, counted from 0"
    );
    let circle = "its leaders follow each other in a circle";
    assert_eq!(refused(vec![member(0, None)]), circle);
    assert_eq!(refused(vec![member(1, None), member(2, None), member(1, None)]), circle);
    // The longest chain of four nodes is none.
    let chain = Run((1..4).map(|leader| (member(leader, None), STILL)).chain([(still(), STILL)]).collect(), None);
    assert!(chain.build(0).is_ok());
}

#[test]
fn a_long_chain_needs_no_stack() {
    let count = 20_000;
    let nodes = (1..count).map(|leader| (member(leader, Some((1.0, 0.0))), STILL)).chain([(still(), STILL)]);
    let run = Run(nodes.collect(), None);
    assert_eq!(run.legs(0)[0].from, at(f64::from(count - 1), 0.0));
}

#[test]
fn parameters_are_words_numbers_and_distances() {
    let read = |leader: serde_json::Value, offset: serde_json::Value| {
        params::read::<Params>(&json!({ "leader": leader, "offset": offset }))
    };
    let offset = fixed(-50.0, 1500.0, 0.0);
    let params = read(json!(7), json!(["-50 m", "1.5 km"])).expect("parameters");
    assert_eq!(params, Params { leader: Leader::Node(7), offset });
    let written = serde_json::to_value(&params).expect("serialisable");
    assert_eq!(written, json!({ "leader": 7, "offset": ["-50 m", "1.5 km"] }));
    let above = Params { leader: Leader::Node(7), offset: fixed(-50.0, 1500.0, -8.0) };
    let written = serde_json::to_value(&above).expect("serialisable");
    assert_eq!(written["offset"], json!(["-50 m", "1.5 km", "-8 m"]));
    assert_eq!(read(json!(7), written["offset"].clone()), Ok(above));
    assert_eq!(read(json!(7), json!(["-50 m", "1.5 km", "0 m"])), Ok(params));
    for leader in [json!(-1), json!("7"), json!(1.5), json!(1_u64 << 32), json!([0])] {
        let error = read(leader.clone(), json!("positions")).expect_err("no leader").to_string();
        assert!(error.contains(LEADER), "{leader}: {error}");
    }
    for offset in [json!("start"), json!(["1 m"]), json!(["1 m", "2 m", "3 m", "4 m"]), json!(3), json!([])] {
        let error = read(json!(0), offset.clone()).expect_err("no offset").to_string();
        assert!(error.contains(OFFSET), "{offset}: {error}");
    }
    let error = read(json!(0), json!([1, 2])).expect_err("no unit").to_string();
    assert!(error.contains("a distance along an axis such as \"-50 m\""), "{error}");
}

proptest! {
    #[test]
    fn distances_within_a_group_are_constant(
        offsets in prop::collection::vec((-500.0..500.0_f64, -500.0..500.0_f64), 1..6), speed in 0.5..30.0_f64,
        times in prop::collection::vec(0.0..900.0_f64, 1..20),
    ) {
        let leader = random_waypoint::Params { speed_max: Speed::new(1.0 + speed), ..random_waypoint::Params::of_profile("rfc") };
        let members = offsets.iter().map(|offset| (member(0, Some(*offset)), STILL));
        let run = Run([(Config::RandomWaypoint(leader.into()), STILL)].into_iter().chain(members).collect(), None);
        let leader = run.legs(0);
        for (number, &(x, y)) in (1..).zip(&offsets) {
            let legs = run.legs(number);
            for &time in &times {
                let now = Time::ZERO + Span::from_secs_f64(time);
                let there = position(&legs, now) - position(&leader, now);
                prop_assert!((there.x - x).abs() < 1e-9 && (there.y - y).abs() < 1e-9, "{there:?}");
            }
        }
    }
}
