//! Ethernet frames of hosts outside: put into the MAC of one node, taken out at those in reach.

use hopyard_engine::{Span, Time};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::context::{Departure, DropReason, Token};
use hopyard_model::mac;
use hopyard_model::observe::Outcome;
use hopyard_model::world::{Advanced, InjectError, Watch, World};

use crate::common::{chain, network};

const ALL: InterfaceId = InterfaceId::BROADCAST;

fn at(milliseconds: u64) -> Time {
    Time::ZERO + Span::from_millis(milliseconds)
}

/// Four nodes in a row, 200 m apart, whose hosts send and receive frames; all but the last one, if it is left out.
fn world(mac: &str, attached: u32) -> World {
    let mut spec = network("rfc", "static", &chain(4, 200.0));
    spec.duration = Span::from_secs(2);
    spec.channels[0].mac = mac::Config::of_profile(mac, "rfc").expect("a MAC");
    let mut world = World::new(&spec).expect("a world");
    (0..attached).for_each(|node| world.attach_frames(InterfaceId(node)).expect("it has a radio"));
    world
}

/// A frame of this type with this payload. The link does not read its addresses.
fn frame(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&[0x33, 0x33, 0, 0, 0, 1, 2, 0, 0, 0, 0, 1], &kind.to_be_bytes()[..], payload].concat()
}

/// An arrival: where, from whom, and the bytes.
type Arrival = (u32, u32, Vec<u8>);

/// Goes to the end: what arrived where and from whom, how each frame was completed, and the outcome.
fn finish(mut world: World) -> (Vec<Arrival>, Vec<Result<(), DropReason>>, Outcome) {
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let (mut arrived, mut completed) = (Vec::new(), Vec::new());
    while let Some(left) = world.egress() {
        match left {
            Departure::Frame { interface, from, bytes, .. } => arrived.push((interface.0, from.0, bytes.to_vec())),
            Departure::Completed { result, .. } => completed.push(result),
            Departure::Datagram { .. } | Departure::NoCarrier { .. } => panic!("{left:?}"),
        }
    }
    (arrived, completed, world.finish().expect("packets add up").0)
}

/// With every MAC: a frame for all reaches the neighbours, one for a neighbour that neighbour alone, and neither is
/// forwarded. Every type passes unchanged.
#[test]
fn frames_reach_neighbours_and_nobody_else() {
    for mac in mac::MODELS.iter().map(|it| it.name) {
        let mut world = world(mac, 4);
        let (to_all, to_one) = (frame(0x86dd, b"for all in reach"), frame(0x4305, b"for one"));
        assert_eq!(world.inject_frame(InterfaceId(1), at(100), ALL, &to_all), Ok(Token(0)));
        assert_eq!(world.inject_frame(InterfaceId(1), at(600), InterfaceId(2), &to_one), Ok(Token(1)));
        let (mut arrived, completed, outcome) = finish(world);
        arrived.sort();
        assert_eq!(arrived, [(0, 1, to_all.clone()), (2, 1, to_one), (2, 1, to_all)], "{mac}");
        assert_eq!(completed, [Ok(()); 2], "{mac}");
        assert!(outcome.drops.is_empty() && outcome.nodes.iter().all(|it| it.forwarded == 0), "{mac}");
    }
}

/// The MAC's header takes the place of Ethernet's 14 bytes: a broadcast of 100 bytes takes as long as a datagram.
#[test]
fn a_frame_has_the_airtime_of_its_payload() {
    let completed = |payload: usize| {
        let mut world = world("dcf", 4);
        world.inject_frame(InterfaceId(0), at(100), ALL, &frame(0x0806, &vec![7; payload])).expect("put in");
        world.advance(at(200), &Watch::default());
        let left = std::iter::from_fn(|| world.egress()).find(|it| matches!(it, Departure::Completed { .. }));
        let Some(Departure::Completed { at: sent, .. }) = left else { panic!("it is sent") };
        sent.since(at(100))
    };
    // 100 bytes more at the basic rate of 1 Mb/s.
    assert_eq!((completed(200) - completed(100)).nanos(), 800_000);
    // The preamble, and 36 bytes more than the payload; the channel was idle for long enough. The signal has to arrive.
    let time = completed(100).nanos() / 1000;
    assert!((192 + 8 * 136..=192 + 8 * 136 + 2).contains(&time), "{time}");
}

#[test]
fn what_does_not_arrive_is_counted_by_reason() {
    let mut world = world("dcf", 3);
    let short = frame(0x0800, &[0x45; 40]);
    // Out of reach; too long; to a node whose host knows no frames.
    for (from, to, bytes) in
        [(0, InterfaceId(3), &short), (0, ALL, &frame(0x0800, &[0; 2297])), (2, InterfaceId(3), &short)]
    {
        world.inject_frame(InterfaceId(from), at(100 + u64::from(from) * 500), to, bytes).expect("put in");
    }
    let (arrived, completed, outcome) = finish(world);
    assert_eq!(arrived, []);
    assert_eq!(completed, [Err(DropReason::TooLong), Err(DropReason::RetryLimit), Ok(())]);
    let drops: Vec<_> = outcome.drops.iter().map(|it| (it.node, it.kind, it.reason, it.count)).collect();
    let expected =
        [(0, "external", "retry_limit", 1), (0, "external", "too_long", 1), (3, "external", "no_listener", 1)];
    assert_eq!(drops, expected);
}

#[test]
fn what_cannot_be_put_in_is_refused() {
    let mut world = world("dcf", 1);
    let sound = frame(0x0800, &[0; 40]);
    let mut put = |interface, time, to, bytes: &[u8]| {
        world.inject_frame(InterfaceId(interface), time, to, bytes).expect_err("refused").to_string()
    };
    assert!(put(1, at(0), ALL, &sound).contains("interface 1 sends no frames"));
    assert!(put(0, at(2001), ALL, &sound).starts_with("expected a time from"));
    assert!(put(0, at(0), ALL, &sound[..13]).ends_with("found 13 bytes"));
    assert_eq!(put(0, at(0), InterfaceId(4), &sound), "expected an interface on the same channel as receiver, found 4");
    assert_eq!(put(0, at(0), InterfaceId(0), &sound), "expected an interface on the same channel as receiver, found 0");
    assert_eq!(world.attach_frames(InterfaceId(9)), Err(InjectError::NoRadio(InterfaceId(9))));
    assert_eq!(world.addresses(NodeId(0)).len(), 1);
}
