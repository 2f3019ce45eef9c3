//! One station with an empty context.

use hopyard_engine::Streams;

use super::*;
use crate::address::{Address, InterfaceId};
use crate::packet::{Body, FlowId, Packet, UdpHeader};
use crate::params::{NS2, Params as _};

const SLOT: u64 = 6000;

fn us(micros: u64) -> Time {
    Time::from_nanos(micros * 1000)
}

fn nodes(count: u32) -> Vec<NodeId> {
    (0..count).map(NodeId).collect()
}

fn station(number: u32, frames: &Frames) -> Tdma {
    let identity = Identity { interface: InterfaceId(number), node: NodeId(number), station: number as usize };
    Tdma::new(identity, frames, Streams::new(1, 0).node(number as usize, "backoff"))
}

fn packet(cx: &mut Context, size: u32) -> Outgoing {
    let packet = cx.originate(Packet {
        created: cx.now,
        source: Address(0),
        destination: Address(1),
        flow: FlowId(0),
        size,
        ttl: 9,
        hops: 0,
        salvaged: 0,
        body: Body::Udp(UdpHeader { sequence: 0, len: size - 28 }),
    });
    Outgoing { packet, size, to: InterfaceId(1) }
}

#[test]
fn the_owner_sends_at_the_beginning_of_its_slot() {
    // Three nodes under ns2: an unused slot, then one for each.
    let frames = Tdma::share(&Params::of_profile(NS2), &nodes(3));
    for (node, now, expected) in [
        (0, 0, SLOT),
        (0, SLOT, SLOT),
        (0, SLOT + 1, 5 * SLOT),
        (2, 2 * SLOT, 3 * SLOT),
        (2, 3 * SLOT + 1, 7 * SLOT),
        (1, 4 * SLOT * 1000, (4 * 1000 + 2) * SLOT),
    ] {
        assert_eq!(frames.next_slot(node, us(now)), Some(us(expected)), "node {node} at {now} us");
    }
}

#[test]
fn a_node_may_own_several_slots_or_none() {
    let params = Params { schedule: Schedule::Owners(vec![2, 0, 2]), unused_slots: 0, ..Params::of_profile(NS2) };
    let frames = Tdma::share(&params, &nodes(3));
    assert_eq!(frames.next_slot(2, us(1)), Some(us(2 * SLOT)));
    assert_eq!(frames.next_slot(2, us(2 * SLOT + 1)), Some(us(3 * SLOT)));
    assert_eq!(frames.next_slot(1, us(1)), None);
    let fault = Tdma::check_stations(&params, &nodes(3)).expect_err("node 1 can never send");
    assert!(fault.to_string().contains("node 1 owns no slot"), "{fault}");
    let fault = Tdma::check_stations(&params, &nodes(2)).expect_err("node 2 has no radio here");
    assert!(fault.to_string().contains("found 2"), "{fault}");
}

#[test]
fn a_packet_occupies_the_station_until_its_frame_has_ended() {
    let params = Params::of_profile(NS2);
    let frames = Tdma::share(&params, &nodes(2));
    let (mut mac, mut cx) = (station(0, &frames), Context::default());
    let outgoing = packet(&mut cx, 1000);
    mac.accept(outgoing, &frames, &mut cx);
    assert!(!mac.is_ready());
    assert_eq!((mac.deadline(&frames), mac.held()), (us(SLOT), Some(outgoing.packet)));
    cx.now = us(SLOT);
    let frame = mac.on_timer(&frames, &mut cx).expect("a frame");
    assert_eq!((frame.bytes, frame.kept, frame.airtime), (1052, false, Span::from_micros(4208)));
    assert_eq!((mac.held(), mac.is_ready()), (None, false), "the medium owns the packet");
    cx.now = mac.deadline(&frames);
    assert_eq!(cx.now, us(SLOT + 4208));
    assert!(mac.on_timer(&frames, &mut cx).is_none());
    assert!(mac.is_ready() && matches!(cx.actions.pop_front(), Some(Action::MacReady { .. })));
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
    let params = Params { guard: Span::from_micros(100), ..Params::of_profile(NS2) };
    let frames = Tdma::share(&params, &nodes(2));
    // 6 ms less the guard are 1475 bytes at 2 Mb/s, header included.
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

#[test]
fn impossible_slots_are_refused() {
    let change = |change: fn(&mut Params)| {
        let mut params = Params::of_profile(NS2);
        change(&mut params);
        params.check().expect_err("impossible").to_string()
    };
    assert!(change(|p| p.slot = Span::from_micros(211)).contains("expected at least 212 us"));
    assert!(change(|p| p.slot = Span::from_secs(3601)).starts_with("slot"));
    assert!(change(|p| p.rate = Rate::from_bps(3_000_000)).contains("1, 2, 5.5 or 11 Mbps"));
    assert!(change(|p| p.schedule = Schedule::Owners(Vec::new())).contains("empty list"));
    assert!(change(|p| p.header = Bytes::new(1001)).starts_with("header"));
    assert!(change(|p| p.unused_slots = 2_000_000).starts_with("unused_slots"));
}
