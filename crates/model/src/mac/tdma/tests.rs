//! One station with an empty context.

use hopyard_engine::Streams;
use hopyard_engine::units::{Bytes, Rate};
use proptest::prelude::*;

use super::*;
use crate::packet::{Body, Packet, UdpHeader};
use crate::params::{NS2, Params as _, RFC};

/// The level at which frames are received.
const LEVEL: Level = Level::new(1e-9, 0, 1e-13);

const SLOT: u64 = 6000;

/// The frames that stations of these nodes share.
fn frames_of(params: &Params, nodes: &[NodeId]) -> Frames {
    let config = rate_control::Config::first("rfc");
    Tdma::share(params, nodes, rate_control::Setup { config: &config, draws: Vec::new(), floors: Default::default() })
}

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn nodes(count: u32) -> Vec<NodeId> {
    (0..count).map(NodeId).collect()
}

fn with(profile: &str, change: impl FnOnce(&mut Params)) -> Params {
    let mut params = Params::of_profile(profile);
    change(&mut params);
    params.check().expect("possible parameters");
    params
}

fn station(number: u32, frames: &Frames) -> Tdma {
    let identity = Identity { interface: InterfaceId(number), node: NodeId(number), station: number as usize };
    Tdma::new(identity, frames, Streams::new(1, 0).node(number as usize, "backoff"))
}

fn owners(list: &[&[u32]]) -> Schedule {
    Schedule::Owners(list.iter().map(|nodes| Owner::Nodes(nodes.to_vec())).collect())
}

fn packet(cx: &mut Context, size: u32) -> Outgoing {
    let packet = cx.originate(Packet {
        created: cx.now,
        ttl: 9,
        ..crate::samples::packet(size, Body::Udp(UdpHeader { sequence: 0, len: size - 28, identification: None }))
    });
    Outgoing { packet, size, to: InterfaceId(1) }
}

/// A message of an agent, or as good as one: all that the MAC asks is the kind.
fn message(cx: &mut Context, size: u32) -> Outgoing {
    let outgoing = packet(cx, size);
    cx.packets[outgoing.packet].body = Body::Arp(crate::packet::ArpMessage::Reply);
    Outgoing { to: InterfaceId::BROADCAST, ..outgoing }
}

/// When a station with a packet would send it.
fn sends_at(node: u32, now: u64, params: &Params, count: u32) -> Time {
    let frames = frames_of(params, &nodes(count));
    let (mut mac, mut cx) = (station(node, &frames), Context::default());
    cx.now = us(now);
    let outgoing = packet(&mut cx, 512);
    mac.accept(outgoing, &frames, &mut cx);
    mac.deadline(&frames)
}

#[test]
fn the_owner_sends_at_the_beginning_of_its_slot() {
    // Three nodes under ns2: an unused slot, then one for each.
    let params = Params::of_profile(NS2);
    for (node, now, expected) in [
        (0, 0, SLOT),
        (0, SLOT, SLOT),
        (0, SLOT + 1, 5 * SLOT),
        (2, 2 * SLOT, 3 * SLOT),
        (2, 3 * SLOT + 1, 7 * SLOT),
        (1, 4 * SLOT * 1000, (4 * 1000 + 2) * SLOT),
    ] {
        assert_eq!(sends_at(node, now, &params, 3), us(expected), "node {node} at {now} us");
    }
}

#[test]
fn a_packet_that_comes_within_the_slot_goes_at_once_if_it_fits() {
    // 540 bytes with the header take 2352 us of 6000.
    let params = with(NS2, |it| (it.packing, it.unused_slots) = (Packing::Fit, 0));
    for (now, expected) in [(0, 0), (1, 1), (3744, 3744), (3745, 3 * SLOT), (SLOT, 3 * SLOT)] {
        assert_eq!(sends_at(0, now, &params, 3), us(expected), "at {now} us");
    }
    let guarded = with(NS2, |it| (it.packing, it.unused_slots, it.guard) = (Packing::Fit, 0, Span::from_micros(44)));
    assert_eq!((sends_at(0, 3700, &guarded, 3), sends_at(0, 3701, &guarded, 3)), (us(3700), us(3 * SLOT)));
}

#[test]
fn a_node_may_own_several_slots_or_none() {
    let list = |list: &[&[u32]]| Params { schedule: owners(list), unused_slots: 0, ..Params::of_profile(NS2) };
    let params = list(&[&[2], &[0], &[2, 0, 0]]);
    assert_eq!(sends_at(2, 1, &params, 3), us(2 * SLOT));
    assert_eq!(sends_at(2, 2 * SLOT + 1, &params, 3), us(3 * SLOT));
    assert_eq!(sends_at(0, SLOT + 1, &params, 3), us(2 * SLOT), "a slot of two nodes");
    let (frames, own) = (frames_of(&params, &nodes(3)), Own::Listed);
    assert_eq!([0, 1, 2].map(|node| frames.owned(own, node, 0, 30)), [20, 0, 20], "named twice is once");
    let fault = Tdma::check_stations(&params, &nodes(3)).expect_err("node 1 can never send");
    assert!(fault.to_string().contains("node 1 owns no slot"), "{fault}");
    let fault = Tdma::check_stations(&params, &nodes(2)).expect_err("node 2 has no radio here");
    assert!(fault.to_string().contains("found 2"), "{fault}");
    let together = Tdma::slots(&params, &nodes(3));
    assert_eq!(together, [vec![NodeId(2)], vec![NodeId(0)], vec![NodeId(2), NodeId(0), NodeId(0)]]);
}

#[test]
fn a_packet_occupies_the_station_until_its_frame_has_ended() {
    let params = Params::of_profile(NS2);
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    let outgoing = packet(&mut cx, 1000);
    mac.accept(outgoing, &frames, &mut cx);
    assert!(!mac.is_ready());
    assert_eq!((mac.deadline(&frames), mac.held()), (us(SLOT), vec![outgoing.packet]));
    cx.now = us(SLOT);
    let frame = mac.on_timer(&frames, &mut cx).expect("a frame");
    assert_eq!((frame.bytes, frame.kept, frame.airtime), (1052, false, Span::from_micros(4208)));
    assert_eq!((mac.held(), mac.is_ready()), (vec![], false), "the medium owns the packet");
    cx.now = mac.deadline(&frames);
    assert_eq!(cx.now, us(SLOT + 4208));
    assert!(mac.on_timer(&frames, &mut cx).is_none());
    assert!(mac.is_ready() && matches!(cx.actions.pop_front(), Some(Action::MacReady { .. })));
    assert_eq!(mac.deadline(&frames), Time::NEVER, "an idle station does not wake");
    let counters = |now| mac.counters(&frames, now);
    assert_eq!((counters(cx.now).data, counters(cx.now).broadcasts), (1, 0));
    // The first slot of a frame belongs to nobody, the second to this station, the third to the other one.
    for (now, slots) in [(0, 0), (SLOT - 1, 0), (SLOT, 1), (4 * SLOT - 1, 1), (4 * SLOT, 2), (31 * SLOT, 11)] {
        assert_eq!(counters(us(now)).slots, slots, "at {now} us");
    }
    assert_eq!((counters(us(31 * SLOT)).slots_unused, counters(us(SLOT)).slots_unused), (10, 0));
}

#[test]
fn a_packet_longer_than_the_slot_is_dropped() {
    let params = with(NS2, |it| it.guard = Span::from_micros(100));
    let frames = frames_of(&params, &nodes(2));
    // 6 ms less the guard are 1475 bytes at 2 Mb/s, header included.
    assert_eq!(Tdma::largest_packet(&params), Some(1423));
    for (size, fits) in [(1423, true), (1424, false)] {
        let (mut mac, mut cx) = (station(0, &frames), Context::default());
        let outgoing = packet(&mut cx, size);
        mac.accept(outgoing, &frames, &mut cx);
        assert_eq!(mac.is_ready(), !fits, "{size} B");
        assert_eq!(cx.ledger.dropped, u64::from(!fits));
        let told = cx.actions.iter().any(|action| matches!(action, Action::MacReady { .. }));
        assert_eq!(told, !fits, "the link is asked for another packet");
    }
}

/// The parameters of a network whose slots come from an agent: a contention part of 6 ms, and five slots of 6 ms.
fn by_agent(change: impl FnOnce(&mut Params)) -> Params {
    with(NS2, |it| {
        (it.schedule, it.unused_slots) = (Schedule::Rule(Rule::Agent), 0);
        (it.frame_slots, it.contention, it.frame) = (5, Share::Of(1.0 / 6.0), FrameRule::Fixed);
        change(it);
    })
}

#[test]
fn slots_that_an_agent_has_found_begin_after_the_contention_part() {
    let params = by_agent(|_| {});
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    let outgoing = packet(&mut cx, 512);
    mac.accept(outgoing, &frames, &mut cx);
    assert_eq!(mac.deadline(&frames), us(1_000_000), "it waits for a slot, for a second");
    for (own, expected) in [(Some(2), 3 * SLOT), (Some(4), 5 * SLOT), (Some(0), SLOT), (Some(5), 1_000_000)] {
        mac.on_slots(&Slots { own, near: 0, known: 0 }, &frames, &mut cx);
        assert_eq!(mac.deadline(&frames), us(expected), "slot {own:?}");
    }
    mac.on_slots(&Slots { own: Some(1), near: 9, known: 9 }, &frames, &mut cx);
    assert_eq!(mac.deadline(&frames), us(2 * SLOT));
    cx.now = us(6 * SLOT);
    mac.on_slots(&Slots { own: Some(3), near: 9, known: 9 }, &frames, &mut cx);
    assert_eq!(mac.deadline(&frames), us(10 * SLOT));
    // Slot 1 of the first frame, and slot 3 of the second one.
    let begun = |now| mac.counters(&frames, us(now)).slots;
    assert_eq!([10 * SLOT - 1, 10 * SLOT, 16 * SLOT - 1, 16 * SLOT].map(begun), [1, 2, 2, 3]);
    cx.now = us(7 * SLOT);
    mac.on_slots(&Slots::default(), &frames, &mut cx);
    assert_eq!(mac.deadline(&frames), us(7 * SLOT + 1_000_000), "a second from the loss of the slot");
    cx.now = mac.deadline(&frames);
    assert!(mac.on_timer(&frames, &mut cx).is_none() && mac.is_ready());
    assert_eq!(cx.drops.get(NodeId(0), PacketKind::Data, DropReason::NoSlot), 1);
}

#[test]
fn the_rule_of_the_frame_says_when_a_slot_comes_again() {
    let slots = Slots { own: Some(2), near: 4, known: 20 };
    for (frame, period) in [(FrameRule::Global, 21), (FrameRule::Local, 8), (FrameRule::Fixed, 5)] {
        let params = by_agent(|it| it.frame = frame);
        assert_eq!(Own::found(&slots, &params), Own::Every { slot: 2, period }, "{frame:?}");
    }
    let local = by_agent(|it| it.frame = FrameRule::Local);
    for (near, period) in [(0, 1), (1, 2), (2, 4), (3, 4), (7, 8), (8, 16)] {
        let found = Own::found(&Slots { own: Some(0), near, known: 99 }, &local);
        assert_eq!(found, Own::Every { slot: 0, period }, "largest slot {near}");
    }
}

#[test]
fn messages_of_agents_go_in_the_contention_part() {
    let params = by_agent(|it| it.backoff_window = 4);
    let frames = frames_of(&params, &nodes(2));
    for (now, earliest) in [(0, 0), (500, 500), (SLOT - 100, 6 * SLOT), (3 * SLOT, 6 * SLOT)] {
        let (mut mac, mut cx) = (station(0, &frames), Context::default());
        cx.now = us(now);
        let outgoing = message(&mut cx, 60);
        let data = packet(&mut cx, 512);
        assert!(mac.takes(&cx.packets[outgoing.packet], outgoing.to, &frames, cx.now));
        mac.accept(outgoing, &frames, &mut cx);
        let takes = |mac: &Tdma, it: &Outgoing| mac.takes(&cx.packets[it.packet], it.to, &frames, cx.now);
        assert!(takes(&mac, &data) && !takes(&mac, &outgoing));
        let at = mac.deadline(&frames);
        assert!(at >= us(earliest) && at < us(earliest + 4 * 20), "{now}: {at:?}");
        // A signal of another station stops the back-off, and its end lets it go on.
        assert!(mac.has_backoff());
        mac.on_busy(&frames, us(earliest.max(now)));
        assert_eq!(mac.deadline(&frames), Time::NEVER);
        mac.on_idle(&frames, us(earliest.max(now) + 300));
        let again = mac.deadline(&frames);
        if earliest + 300 + 100 < 6 * SLOT + SLOT - 448 && earliest != 500 {
            assert_eq!(again, at + Span::from_micros(300), "{now}");
        }
        cx.now = again;
        let frame = mac.on_timer(&frames, &mut cx).expect("a frame");
        assert_eq!((frame.bytes, mac.counters(&frames, cx.now).contention_frames), (112, 1));
    }
}

#[test]
fn a_message_takes_a_random_slot_of_the_contention_part() {
    let params = by_agent(|it| it.contention_access = Access::RandomSlot);
    let frames = frames_of(&params, &nodes(2));
    let mut seen = std::collections::BTreeSet::new();
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    for round in 0..200 {
        cx.now = us(round * 6 * SLOT + 1500);
        let outgoing = message(&mut cx, 60);
        mac.accept(outgoing, &frames, &mut cx);
        cx.now = mac.deadline(&frames);
        seen.insert(cx.now.since(us(round * 6 * SLOT)));
        assert!(mac.on_timer(&frames, &mut cx).is_some());
        cx.now = mac.deadline(&frames);
        assert!(mac.on_timer(&frames, &mut cx).is_none());
    }
    // The part has six slots of a millisecond; two have begun when the message comes.
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [2, 3, 4, 5].map(Span::from_millis));
    // A message longer than such a slot cannot be sent.
    let outgoing = message(&mut cx, 300);
    mac.accept(outgoing, &frames, &mut cx);
    assert_eq!(cx.drops.get(NodeId(0), PacketKind::Arp, DropReason::TooLong), 1);
}

#[test]
fn messages_go_in_own_slots_or_beside_if_so_asked() {
    let params = by_agent(|it| it.control = ControlPlace::OwnSlots);
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    assert!(mac.chooses(&frames));
    mac.on_slots(&Slots { own: Some(1), near: 3, known: 3 }, &frames, &mut cx);
    assert!(!mac.chooses(&frames), "messages wait in the link's queue, for own slots");
    let params = by_agent(|it| (it.control, it.contention) = (ControlPlace::OutOfBand, Share::Of(0.0)));
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    let outgoing = message(&mut cx, 60);
    mac.accept(outgoing, &frames, &mut cx);
    cx.now = mac.deadline(&frames);
    assert_eq!(cx.now, us(448), "the time that 112 bytes take");
    let frame = mac.on_timer(&frames, &mut cx).expect("a message");
    assert!(crate::mac::Control::is_out_of_band(&frame.control));
    assert!(mac.takes(&cx.packets[outgoing.packet], outgoing.to, &frames, cx.now));
    assert_eq!((mac.counters(&frames, cx.now).out_of_band, mac.counters(&frames, cx.now).broadcasts), (1, 0));
}

#[test]
fn others_contend_for_a_slot_that_its_owner_leaves_empty() {
    let params = with(NS2, |it| {
        (it.empty_slots, it.unused_slots, it.packing) = (EmptySlots::Contend, 0, Packing::Fit);
        (it.owner_wait, it.backoff_window) = (Span::from_micros(100), 8);
    });
    let frames = frames_of(&params, &nodes(3));
    let (mut mac, mut cx) = (station(1, &frames), Context::default());
    let outgoing = packet(&mut cx, 512);
    mac.accept(outgoing, &frames, &mut cx);
    let at = mac.deadline(&frames);
    assert!(at >= us(100) && at <= us(100 + 7 * 20), "{at:?}");
    // The owner sends: its frame lasts until too late.
    mac.on_busy(&frames, us(0));
    assert_eq!(mac.deadline(&frames), us(SLOT), "the station's own slot");
    mac.on_idle(&frames, us(5000));
    assert!(mac.deadline(&frames) == us(SLOT) && mac.borrowing.is_some());
    // In its own slot it senses nothing.
    mac.on_busy(&frames, us(SLOT));
    cx.now = us(SLOT);
    assert!(mac.on_timer(&frames, &mut cx).is_some());
    assert_eq!(mac.counters(&frames, cx.now).slots_borrowed, 0);
    // A shorter frame of the owner leaves room.
    let (mut mac, mut cx) = (station(1, &frames), Context::default());
    let outgoing = packet(&mut cx, 512);
    mac.accept(outgoing, &frames, &mut cx);
    mac.on_busy(&frames, us(0));
    mac.on_idle(&frames, us(2000));
    cx.now = mac.deadline(&frames);
    assert!(cx.now >= us(2000) && cx.now <= us(2000 + 7 * 20), "{:?}", cx.now);
    assert!(mac.on_timer(&frames, &mut cx).is_some());
    assert_eq!(mac.counters(&frames, cx.now).slots_borrowed, 1);
}

/// A station that waits for the acknowledgement of the frame it has just sent.
fn acknowledged(frames: &Frames) -> (Tdma, Context, Outgoing) {
    let (mut mac, mut cx) = (station(0, frames), Context::default());
    let outgoing = packet(&mut cx, 512);
    mac.accept(outgoing, frames, &mut cx);
    let frame = mac.on_timer(frames, &mut cx).expect("a frame");
    assert!(frame.kept && frame.control.answer);
    cx.now = mac.deadline(frames);
    assert!(mac.on_timer(frames, &mut cx).is_none());
    (mac, cx, outgoing)
}

#[test]
fn a_frame_that_is_not_acknowledged_is_sent_again_and_then_given_up() {
    let params = with(RFC, |it| (it.acknowledge, it.retry_limit) = (true, 2));
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx, outgoing) = acknowledged(&frames);
    // 548 bytes with the header take 2384 us; the acknowledgement 248 us, after 10 us, over at most 600 m.
    let exchange = 2384 + 10 + 248 + 4;
    assert_eq!(mac.deadline(&frames), us(exchange));
    // Twice in one slot of 6.5 ms, then in the next frame.
    for begin in [exchange, 13_000] {
        cx.now = mac.deadline(&frames);
        assert!(mac.on_timer(&frames, &mut cx).is_none());
        cx.now = mac.deadline(&frames);
        assert_eq!(cx.now, us(begin));
        let frame = mac.on_timer(&frames, &mut cx).expect("again");
        assert!(frame.control.retry && frame.control.sequence == 1);
        cx.now = mac.deadline(&frames);
        assert!(mac.on_timer(&frames, &mut cx).is_none());
    }
    cx.now = mac.deadline(&frames);
    assert!(mac.on_timer(&frames, &mut cx).is_none());
    assert!(matches!(cx.actions.pop_front(),
        Some(Action::LinkFailed { packet, to: InterfaceId(1), reason: DropReason::RetryLimit, .. })
        if packet == outgoing.packet));
    assert!(matches!(cx.actions.pop_front(), Some(Action::MacReady { .. })));
    assert!(mac.is_ready() && mac.held().is_empty());
}

#[test]
fn an_acknowledgement_ends_the_exchange_and_a_repeated_frame_is_not_delivered_again() {
    let params = with(RFC, |it| it.acknowledge = true);
    let frames = frames_of(&params, &nodes(2));
    let (mut mac, mut cx, outgoing) = acknowledged(&frames);
    let (mut other, mut there) = (station(1, &frames), Context::default());
    let copy = packet(&mut there, 512);
    let control = Control { sequence: 1, answer: true, ..Control::DATA };
    let mut data = mac.packet_frame(&outgoing, control, &frames);
    data.packet = Some(copy.packet);
    there.now = cx.now;
    for repeated in [false, true] {
        data.control.retry = repeated;
        other.on_frame(&data, LEVEL, &frames, &mut there);
        let delivered = there.actions.drain(..).any(|action| matches!(action, Action::Arrived { .. }));
        assert_eq!(delivered, !repeated);
        assert_eq!(other.deadline(&frames), there.now + Span::from_micros(10));
        there.now = other.deadline(&frames);
        let ack = other.on_timer(&frames, &mut there).expect("an acknowledgement");
        assert_eq!((ack.control.kind, ack.bytes, ack.packet), (Kind::Ack, 14, None));
        there.now = other.deadline(&frames);
        assert!(other.on_timer(&frames, &mut there).is_none());
        if repeated {
            let wrong = Frame { control: Control { sequence: 9, ..ack.control }, ..ack };
            mac.on_frame(&wrong, LEVEL, &frames, &mut cx);
            assert_eq!(mac.held(), [outgoing.packet], "of another frame");
            mac.on_frame(&ack, LEVEL, &frames, &mut cx);
            assert_eq!((mac.held(), cx.ledger.handed_over, mac.is_ready()), (vec![], 1, true));
        }
    }
}

#[test]
fn slots_are_those_of_the_stations_own_clock() {
    let params = with(NS2, |it| {
        it.unused_slots = 0;
        it.clock_offsets = vec![0.0, 250.5, -1000.0];
        it.clock_drifts = vec![0.0, 0.0, 1000.0];
    });
    assert_eq!(sends_at(0, 0, &params, 3), us(0));
    assert_eq!(sends_at(1, 0, &params, 3), Time::from_nanos(5_749_500), "a clock that is fast sends early");
    // It shows 12 ms when 13 ms have passed, less what it has gained by then: 13 ms / 1.001, rounded up.
    assert_eq!(sends_at(2, 0, &params, 3), Time::from_nanos(12_987_013));
    let drawn = with(NS2, |it| (it.clock_offset, it.clock_drift) = (Span::from_micros(50), 20.0));
    let mut rng = Streams::new(3, 0).stream("clocks");
    let clocks: Vec<i64> = (0..500).map(|n| Clock::of(&drawn, n, &mut rng).shows(Time::ZERO)).collect();
    assert!(clocks.iter().all(|shown| shown.abs() <= 50_000) && clocks.iter().any(|shown| *shown < -45_000));
    assert_eq!(Clock::of(&params, 0, &mut rng), Clock::default());
}

proptest! {
    #[test]
    fn a_clock_shows_a_time_first_when_it_says(
        offset in -1_000_000_000_i64..1_000_000_000,
        drift in -100_000_000_i64..100_000_000,
        shown in 0_i64..1_000_000_000_000,
    ) {
        let clock = Clock::new(offset, drift);
        let at = clock.when(shown);
        prop_assert!(clock.shows(at) >= shown);
        prop_assert!(at == Time::ZERO || clock.shows(Time::from_nanos(at.nanos() - 1)) < shown);
    }

    /// Neighbours within two hops with different slots, and frames of unequal length, never own the same slot.
    #[test]
    fn local_frames_have_no_conflicts(slots in prop::collection::btree_set(0_u32..40, 2..9), own in any::<prop::sample::Index>()) {
        let params = by_agent(|it| it.frame = FrameRule::Local);
        let frames = frames_of(&params, &nodes(2));
        let slots: Vec<u32> = slots.into_iter().collect();
        let largest = *slots.last().expect("some");
        // One node knows of the largest slot, and each of the others of its own and of that of the first one only.
        let first = slots[own.index(slots.len())];
        let of = |slot: u32, near: u32| Own::found(&Slots { own: Some(slot), near, known: 99 }, &params);
        let mine = of(first, largest);
        for other in slots.iter().copied().filter(|other| *other != first) {
            let its = of(other, first);
            for number in 0..256 {
                prop_assert!(!(frames.owns(mine, 0, number) && frames.owns(its, 1, number)), "{first} and {other}");
            }
        }
    }

    /// Slots and contention parts divide the time, whatever the parameters.
    #[test]
    fn every_time_belongs_to_one_part(
        unused in 0_u32..4, count in 1_u32..7, share in 0_u32..8, at in -1_000_000_000_i64..1_000_000_000,
    ) {
        let params = Params { unused_slots: unused, contention: Share::Of(f64::from(share) / 10.0), ..Params::of_profile(NS2) };
        let frames = frames_of(&params, &nodes(count));
        let next = frames.slot_from(at);
        prop_assert!(frames.begin(next) >= at && frames.begin(next - 1) < at);
        let (begin, end) = frames.contention_from(at);
        prop_assert!(end > at || !frames.has_contention());
        if let Some(slot) = frames.slot_at(at) {
            prop_assert!(frames.begin(slot) <= at && at < frames.end(slot));
            prop_assert!(begin > at || !frames.has_contention());
            prop_assert_eq!(next, slot + i64::from(frames.begin(slot) < at));
        } else if !(begin <= at && at < end) {
            prop_assert!(unused > 0, "a slot that belongs to nobody");
        }
        let owned: u64 = (0..count as usize).map(|station| frames.owned(Own::Listed, station, -5, next.max(0))).sum();
        prop_assert_eq!(owned, (next.max(0) + 5) as u64, "each slot has one owner");
    }
}

#[test]
fn impossible_slots_are_refused() {
    let of = |profile: &str, change: fn(&mut Params)| crate::samples::fault(profile, change).to_string();
    let change = |it: fn(&mut Params)| of(NS2, it);
    assert!(change(|p| p.slot = Span::from_micros(367)).contains("expected at least 368 us"));
    assert!(change(|p| p.slot = Span::from_secs(3601)).starts_with("slot"));
    assert!(change(|p| p.guard = p.slot).starts_with("guard: expected less than the slot, 6 ms, found 6 ms"));
    assert!(change(|p| p.rate = Rate::from_bps(3_000_000_000)).contains("at most 1 Gbps, found 3 Gbps"));
    assert!(change(|p| p.schedule = Schedule::Owners(Vec::new())).contains("empty list"));
    assert!(change(|p| p.schedule = owners(&[&[0], &[]])).contains("slot 1 has no owner"));
    assert!(change(|p| p.header = Bytes::new(1001)).starts_with("header"));
    assert!(change(|p| p.unused_slots = 2_000_000).starts_with("unused_slots"));
    assert!(change(|p| p.frame_slots = 0).starts_with("frame_slots"));
    assert!(change(|p| p.contention = Share::Of(0.95)).starts_with("contention: expected 0 to 0.9"));
    assert!(change(|p| p.contention = Share::Of(f64::NAN)).starts_with("contention: expected 0 to 0.9"));
    let agent = |p: &mut Params| p.schedule = Schedule::Rule(Rule::Agent);
    assert!(
        change(|p| (p.schedule, p.contention) = (Schedule::Rule(Rule::Agent), Share::Of(0.0))).contains("more than 0")
    );
    let mut short = Params::of_profile(NS2);
    agent(&mut short);
    (short.frame_slots, short.contention) = (1, Share::Of(0.01));
    assert!(short.check().expect_err("short").to_string().contains("a contention part of at least 368 us"));
    assert!(
        change(|p| (p.contention_access, p.contention_slot) = (Access::RandomSlot, Span::from_micros(300)))
            .starts_with("contention_slot: expected at least 368 us")
    );
    assert!(change(|p| p.backoff_window = 0).starts_with("backoff_window"));
    assert!(change(|p| p.backoff_slot = Span::ZERO).starts_with("backoff_slot"));
    assert!(
        change(|p| (p.empty_slots, p.owner_wait) = (EmptySlots::Contend, p.slot))
            .starts_with("owner_wait: expected at most")
    );
    assert!(change(|p| p.clock_drift = -1.0).starts_with("clock_drift"));
    assert!(change(|p| p.clock_offsets = vec![0.0, f64::INFINITY]).starts_with("clock_offsets"));
    assert!(
        change(|p| (p.acknowledge, p.turnaround) = (true, Span::ZERO))
            .starts_with("turnaround: expected at least 28 us")
    );
    let params = with(RFC, |p| p.clock_drifts = vec![1.0; 3]);
    let fault = Tdma::check_stations(&params, &nodes(4)).expect_err("four clocks");
    assert!(fault.to_string().contains("a value for each of 4 nodes, found 3"), "{fault}");
    let params = Params { contention: Share::Of(0.01), ..Params::of_profile(NS2) };
    assert!(Tdma::check_stations(&params, &nodes(2)).is_err() && Tdma::check_stations(&params, &nodes(20)).is_ok());
}
