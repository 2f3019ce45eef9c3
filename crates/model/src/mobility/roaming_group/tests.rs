use hopyard_engine::units::Coordinate;
use hopyard_engine::{Streams, Time};
use proptest::prelude::*;

use super::*;
use crate::mobility::{Config, Spec, group};
use crate::params::Params as _;

const STILL: Position = Position::ground(0.0, 0.0);

fn leader() -> Config {
    Config::RandomWaypoint(
        random_waypoint::Params { pause_max: Span::from_secs(9), ..random_waypoint::Params::of_profile("rfc") }.into(),
    )
}

fn offset(x: f64, y: f64) -> Offset {
    Offset::Fixed([x, y, 0.0].map(Coordinate::new))
}

fn params(leader: u32, offset: Offset, range: f64) -> Params {
    let pause_max = Span::from_secs(3);
    Params { leader: Leader::Node(leader), offset, range: Distance::new(range), pause_max, ..Params::of_profile("rfc") }
}

fn roams(leader: u32, offset: Offset, range: f64) -> Config {
    Config::RoamingGroup(params(leader, offset, range).into())
}

fn build(models: &[Config], node: u32) -> Result<Box<dyn Mobility>, BuildError> {
    let specs: Vec<_> = models.iter().map(|model| Spec { model, start: STILL, movements: None, table: 0 }).collect();
    Nodes::new(&specs, Streams::new(8, 2)).movement(NodeId(node))
}

fn legs(models: &[Config], node: u32) -> Vec<Leg> {
    let mut model = build(models, node).expect("a movement");
    (0..200).map(|_| model.next_leg()).collect()
}

/// The leg that a node is on at a time.
fn leg_at(legs: &[Leg], time: Time) -> Leg {
    *legs.iter().rfind(|leg| leg.start <= time).expect("the first leg starts at zero")
}

#[test]
fn a_member_is_its_leader_and_its_own_motion() {
    let member = params(0, offset(40.0, -30.0), 15.0);
    let models = [leader(), Config::RoamingGroup(member.clone().into())];
    let (ahead, behind) = (legs(&models, 0), legs(&models, 1));
    let mut own = member.own_motion(Streams::new(8, 2).node(1, "mobility")).expect("it moves");
    let own: Vec<_> = (0..200).map(|_| own.next_leg()).collect();
    let mut ends = 0;
    for pair in behind.windows(2) {
        let [leg, next] = pair else { unreachable!() };
        assert_eq!(leg.until, next.start);
        assert!(leg.position(leg.until).distance(next.from) < 1e-9);
        // Each leg ends where one of the two motions has a waypoint.
        let waypoint = |legs: &[Leg]| legs.iter().any(|it| it.until == leg.until);
        ends += i32::from(waypoint(&ahead)) + i32::from(waypoint(&own));
        for time in [leg.start, Time::from_nanos((leg.start.nanos() + leg.until.nanos()) / 2)] {
            let place = |legs: &[Leg]| leg_at(legs, time).position(time);
            let expected = place(&ahead) + place(&own) + Position::ground(40.0, -30.0);
            assert!(leg.position(time).distance(expected) < 1e-9, "{time:?}");
        }
    }
    assert_eq!(ends, 199);
}

#[test]
fn members_have_motions_of_their_own_and_the_leader_has_none_of_theirs() {
    let models = [leader(), roams(0, offset(0.0, 0.0), 15.0), roams(0, offset(0.0, 0.0), 15.0)];
    assert_eq!(legs(&models, 0), legs(&models[..1], 0));
    assert_eq!(legs(&models, 1), legs(&models[..2], 1), "whatever other members do");
    assert_ne!(legs(&models, 1), legs(&models, 2));
}

#[test]
fn a_member_of_a_roaming_leader_follows_its_whole_motion() {
    let rigid = Config::Group(group::Params { leader: Leader::Node(1), offset: offset(5.0, 0.0) }.into());
    let models = [leader(), roams(0, offset(10.0, 0.0), 15.0), rigid, roams(1, offset(0.0, 7.0), 2.0)];
    let (ahead, behind, beside) = (legs(&models, 1), legs(&models, 2), legs(&models, 3));
    for (a, b) in ahead.iter().zip(&behind) {
        assert_eq!((a.start, a.until, a.velocity), (b.start, b.until, b.velocity));
        assert!((b.from - a.from).distance(Position::ground(5.0, 0.0)) < 1e-9);
    }
    for second in 0..60 {
        let time = Time::ZERO + Span::from_secs(second);
        let way = leg_at(&beside, time).position(time) - leg_at(&ahead, time).position(time);
        assert!(way.x.abs() <= 2.0 + 1e-9 && (way.y - 7.0).abs() <= 2.0 + 1e-9, "{way:?}");
    }
    // The nearest relative keeps its place.
    assert!(beside.len() == ahead.len() && beside[0].velocity != ahead[0].velocity);
}

#[test]
fn circles_and_long_chains() {
    let refused =
        build(&[roams(1, Offset::Positions, 5.0), roams(0, Offset::Positions, 5.0)], 0).expect_err("a circle");
    assert_eq!(refused.to_string(), "its leaders follow each other in a circle");
    let count = 5_000;
    let mut models: Vec<_> = (1..count).map(|leader| roams(leader, offset(1.0, 0.0), 1e-3)).collect();
    models.push(Config::of_profile("stationary", "rfc").expect("a model"));
    let start = build(&models, 0).expect("no circle").next_leg().from;
    assert!((start.x - f64::from(count - 1)).abs() < 5.0, "{start:?}");
}

#[test]
fn impossible_parameters_are_named() {
    let fault = |change: &dyn Fn(&mut Params)| {
        let mut params = params(0, Offset::Positions, 5.0);
        change(&mut params);
        params.check().err().map(|fault| fault.parameter)
    };
    assert_eq!(fault(&|_| {}), None);
    assert_eq!(fault(&|it| it.range = Distance::new(0.0)), Some("range"));
    assert_eq!(fault(&|it| it.speed_min = Speed::new(0.0)), Some("speed_min"));
    assert_eq!(fault(&|it| it.speed_max = Speed::new(0.05)), Some("speed_max"));
    assert_eq!(fault(&|it| it.pause_min = Span::from_secs(9)), Some("pause_max"));
}

proptest! {
    #[test]
    fn a_member_stays_in_its_square(range in 0.5..80.0_f64, x in -200.0..200.0_f64, time in 0.0..900.0_f64) {
        let models = [leader(), roams(0, offset(x, 3.0), range)];
        let time = Time::ZERO + Span::from_secs_f64(time);
        let place = |node| {
            let mut model = build(&models, node).expect("a movement");
            let mut leg = model.next_leg();
            while leg.until <= time {
                leg = model.next_leg();
            }
            leg.position(time)
        };
        let way = place(1) - place(0);
        prop_assert!((way.x - x).abs() <= range + 1e-9 && (way.y - 3.0).abs() <= range + 1e-9, "{:?}", way);
    }
}
