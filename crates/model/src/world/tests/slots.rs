//! Slots that are found during the run: what an agent asks of its world, and what the MACs do with it.

use super::*;
use crate::context::{Action, DropReason, Slots};
use crate::mac::tdma::{ControlPlace, FrameRule, Params, Rule, Schedule};
use crate::observe::NodeRow;
use crate::packet::FlowId;
use crate::{agent, app, mac};

/// A chain of nodes that find their slots during the run, without messages of routing or address resolution.
fn chain(nodes: u32, change: impl FnOnce(&mut Params)) -> Spec {
    let mut spec = Spec::network(RFC);
    spec.duration = Span::from_secs(20);
    spec.link.arp.resolution = crate::link::arp::Resolution::Off;
    let range = crate::phy::Sensitivity::Range(hopyard_engine::units::Distance::new(250.0));
    (spec.channels[0].radio.receive, spec.channels[0].radio.sense) = (range.into(), range);
    let mut params = Params { schedule: Schedule::Rule(Rule::Agent), ..Params::of_profile(RFC) };
    change(&mut params);
    params.check().expect("possible parameters");
    spec.channels[0].mac = mac::Config::Tdma(params.into());
    for node in 0..nodes {
        let routing = routing::Config::of_profile("oracle", RFC).expect("a protocol");
        spec.nodes.push(NodeSpec::stationary(mobility::Position::ground(200.0 * f64::from(node), 0.0), routing));
    }
    spec
}

fn with_cbr(mut spec: Spec, from: u32, to: u32) -> Spec {
    let mut params = app::cbr::Params::of_profile(RFC);
    params.interval = Span::from_millis(100);
    spec.flows.push(FlowSpec {
        from: NodeId(from),
        to: NodeId(to),
        start: Time::ZERO,
        stop: Time::ZERO + Span::from_secs(18),
        traffic: app::Config::Cbr(params.into()),
        label: String::new(),
        transport: Transport::Udp,
        dscp: 0,
    });
    spec
}

fn second(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// As an agent does it: the actions that it requests, carried out.
fn assign(world: &mut World, slots: &[(u32, Option<u32>, u32)]) {
    for &(node, own, near) in slots {
        world.cx.act(Action::SlotsAssigned { node: NodeId(node), slots: Slots { own, near, known: 9 } });
    }
    world.drain();
}

fn rows(world: &World) -> Vec<NodeRow> {
    world.nodes().collect()
}

fn own(row: &NodeRow, name: &str) -> u64 {
    row.metric(name).expect("a column of the MAC")
}

#[test]
fn packets_wait_for_the_slots_that_an_agent_finds_and_then_go_without_conflicts() {
    let spec = with_cbr(chain(5, |it| (it.frame, it.slot_wait) = (FrameRule::Local, Span::from_secs(4))), 0, 4);
    let mut world = World::new(&spec).expect("a world");
    world.advance(second(2), &Watch::default());
    assert_eq!(rows(&world).iter().map(|node| node.frames).sum::<u64>(), 0, "nobody has a slot");
    // Three slots suffice for a chain. Node 4 alone knows of a slot 5, and has a longer frame than the others.
    assign(&mut world, &[(0, Some(0), 2), (1, Some(1), 2), (2, Some(2), 2), (3, Some(0), 2), (4, Some(1), 5)]);
    world.advance(second(10), &Watch::default());
    let arrived = world.flows()[0].packets_arrived;
    assert!((95..=100).contains(&arrived), "{arrived} of a hundred packets, those of the first two seconds included");
    assert_eq!(rows(&world).iter().map(|node| own(node, "frames_in_conflict")).sum::<u64>(), 0);
    // Node 2 gives up its slot, and the packets for it are lost there for that reason, after four seconds.
    assign(&mut world, &[(2, None, 0)]);
    world.advance(second(13), &Watch::default());
    assert_eq!(world.cx.drops.get(NodeId(2), crate::packet::PacketKind::Data, DropReason::NoSlot), 0);
    world.advance(Time::NEVER, &Watch::default());
    assert!(world.flows()[0].packets_arrived <= arrived + 2, "nothing passes node 2");
    let lost = world.cx.drops.get(NodeId(2), crate::packet::PacketKind::Data, DropReason::NoSlot);
    assert!(lost > 60, "{lost} packets had no slot");
    let slots = own(&rows(&world)[2], "slots");
    // Eight seconds of frames with four slots of 6.5 ms, of ten parts of which nine are slots.
    assert!((276..=278).contains(&slots), "{slots}");
    world.finish().expect("packets add up");
}

#[test]
fn messages_of_agents_reach_neighbours_before_there_are_slots() {
    let hello = agent::Config::of_profile("neighbours", RFC).expect("an agent");
    for (place, on_air, beside) in [
        (ControlPlace::Contention, true, false),
        (ControlPlace::OwnSlots, true, false),
        (ControlPlace::OutOfBand, false, true),
    ] {
        let mut spec = chain(4, |it| it.control = place);
        spec.nodes.iter_mut().for_each(|node| node.agents = vec![hello.clone()]);
        let mut world = World::new(&spec).expect("a world");
        world.advance(second(12), &Watch::default());
        let nodes = rows(&world);
        let sum = |name: &str| nodes.iter().map(|node| own(node, name)).sum::<u64>();
        assert_eq!((sum("contention_frames") > 15, sum("out_of_band") > 15), (on_air, beside), "{place:?}");
        assert_eq!(sum("contention_frames"), nodes.iter().map(|node| node.frames).sum::<u64>(), "{place:?}");
        // Each message reaches the neighbours in range: one at the ends of the chain, two elsewhere.
        let (sent, copied) = (sum("contention_frames") + sum("out_of_band"), world.cx.ledger.copied);
        assert!(copied as f64 > 1.3 * sent as f64 && copied < 2 * sent, "{place:?}: {copied} of {sent}");
        assign(&mut world, &[(0, Some(0), 3), (1, Some(1), 3), (2, Some(2), 3), (3, Some(3), 3)]);
        let before = sent;
        world.advance(Time::NEVER, &Watch::default());
        let nodes = rows(&world);
        let sum = |name: &str| nodes.iter().map(|node| own(node, name)).sum::<u64>();
        let goes_on = sum("contention_frames") + sum("out_of_band") > before;
        assert_eq!(goes_on, place != ControlPlace::OwnSlots, "with a slot, messages go there: {place:?}");
        world.finish().expect("packets add up");
    }
}

#[test]
fn a_message_beside_the_channel_to_a_node_out_of_range_is_lost_for_that_reason() {
    let mut world = World::new(&chain(3, |it| it.control = ControlPlace::OutOfBand)).expect("a world");
    for to in [1, 2] {
        let packet = world.cx.originate(crate::packet::Packet {
            created: world.cx.now,
            source: Address(0),
            destination: Address(to),
            flow: FlowId::NONE,
            size: 60,
            ttl: 1,
            hops: 0,
            salvaged: 0,
            class: 0,
            body: crate::packet::Body::Control { port: 7, message: RoutingMessage::new(Note) },
        });
        world.cx.act(Action::Send { node: NodeId(0), packet, next_hop: Address(to) });
    }
    world.drain();
    world.advance(second(1), &Watch::default());
    let lost = |node: u32, reason| world.cx.drops.get(NodeId(node), crate::packet::PacketKind::Control, reason);
    assert_eq!((lost(0, DropReason::OutOfReach), lost(1, DropReason::NoListener)), (1, 1));
    let row = &rows(&world)[0];
    assert_eq!((own(row, "frames_heard"), own(row, "frames_out_of_reach"), row.frames), (1, 1, 0));
    world.finish().expect("packets add up");
}

/// Frames that were lost because two nodes sent in a slot.
fn in_conflict(world: &World) -> u64 {
    rows(world).iter().map(|node| own(node, "frames_in_conflict")).sum()
}

/// Two pairs far apart, which share slots. One of them comes near the other, and stays there.
fn meeting_pairs(rule: Rule) -> Spec {
    let mut spec = chain(4, |it| it.schedule = Schedule::Rule(rule));
    for (node, from, to) in [(2, 1000.0, 400.0), (3, 1200.0, 600.0)] {
        let metres = hopyard_engine::units::Distance::new;
        spec.nodes[node].start = mobility::Position::ground(from, 0.0);
        spec.nodes[node].mobility = mobility::Config::Waypoints(
            mobility::waypoints::Params {
                track: vec![
                    mobility::waypoints::Waypoint::ground(Span::from_secs(5), metres(from), metres(0.0)),
                    mobility::waypoints::Waypoint::ground(Span::from_secs(8), metres(to), metres(0.0)),
                ],
                orders: Vec::new(),
            }
            .into(),
        );
    }
    // Node 1 hears both senders, which own the first slot.
    with_cbr(with_cbr(spec, 0, 1), 2, 3)
}

#[test]
fn a_greedy_schedule_follows_the_links_and_a_frozen_one_does_not() {
    for (rule, near_frames, conflicts) in [(Rule::Greedy, 3, false), (Rule::Frozen, 2, true)] {
        let mut world = World::new(&meeting_pairs(rule)).expect("a world");
        world.advance(second(4), &Watch::default());
        let apart: Vec<u64> = rows(&world).iter().map(|node| own(node, "slots")).collect();
        // Two slots of 6.5 ms a frame, without a contention part, from the beginning on.
        assert!(apart.iter().all(|slots| (307..=309).contains(slots)), "{rule:?}: {apart:?}");
        assert_eq!(in_conflict(&world), 0, "{rule:?}");
        world.advance(second(9), &Watch::default());
        let before = rows(&world);
        world.advance(second(17), &Watch::default());
        for (after, before) in rows(&world).iter().zip(&before) {
            let slots = own(after, "slots") - own(before, "slots");
            let expected = 8.0 / (f64::from(near_frames) * 6.5e-3);
            assert!((slots as f64 - expected).abs() <= 2.0, "{rule:?}: {slots} slots, expected {expected}");
        }
        assert_eq!(in_conflict(&world) > 50, conflicts, "{rule:?}: {} frames", in_conflict(&world));
        assert_eq!(in_conflict(&world) == 0, !conflicts, "{rule:?}");
        world.advance(Time::NEVER, &Watch::default());
        world.finish().expect("packets add up");
    }
}

#[test]
fn slots_of_an_agent_are_not_asked_for_where_another_schedule_gives_them() {
    let list = Schedule::Owners((0..3).map(mac::tdma::Owner::Node).collect());
    for schedule in [Schedule::Rule(Rule::InTurn), Schedule::Rule(Rule::Greedy), list] {
        let run = |told: bool| {
            let mut world =
                World::new(&with_cbr(chain(3, |it| it.schedule = schedule.clone()), 0, 2)).expect("a world");
            world.advance(second(1), &Watch::default());
            if told {
                assign(&mut world, &[(0, Some(7), 9), (1, None, 9), (2, Some(7), 9)]);
            }
            world.advance(Time::NEVER, &Watch::default());
            world.digest()
        };
        assert_eq!(run(true), run(false), "{schedule:?}");
    }
}

#[test]
fn greedy_slots_are_conflict_free_in_frames_of_every_kind_while_nodes_move() {
    for frame in [FrameRule::Global, FrameRule::Local, FrameRule::Fixed] {
        let mut spec = chain(24, |it| {
            (it.schedule, it.frame) = (Schedule::Rule(Rule::Greedy), frame);
            it.frame_slots = if frame == FrameRule::Fixed { 24 } else { 1 };
        });
        let area = [700.0, 700.0].map(hopyard_engine::units::Distance::new);
        for (number, node) in spec.nodes.iter_mut().enumerate() {
            let Ok(mobility::Config::RandomWaypoint(mut params)) = mobility::Config::of_profile("random_waypoint", RFC)
            else {
                panic!("random waypoint")
            };
            (params.width, params.height) = (area[0], area[1]);
            params.speed_min = hopyard_engine::units::Speed::new(5.0);
            params.speed_max = hopyard_engine::units::Speed::new(10.0);
            node.start = mobility::Position::ground((number % 5) as f64 * 150.0, (number / 5) as f64 * 150.0);
            node.mobility = mobility::Config::RandomWaypoint(params);
        }
        for node in 0..12 {
            spec = with_cbr(spec, node, 23 - node);
        }
        let world = World::new(&spec).expect("a world");
        let (outcome, ()) = world.run_watched(&Watch::default()).expect("packets add up");
        let sum = |name: &str| outcome.nodes.iter().map(|node| own(node, name)).sum::<u64>();
        let (heard, conflicts) = (sum("frames_heard"), sum("frames_in_conflict"));
        assert!(heard > 1000, "{frame:?}: {heard}");
        // A link that begins between two looks is not known yet.
        assert!(conflicts * 500 <= heard, "{frame:?}: {conflicts} of {heard} frames in conflict");
    }
}
