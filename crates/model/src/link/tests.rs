use hopyard_engine::{Deadline, Rng, Streams};
use proptest::prelude::*;

use super::test_packets::data;
use super::*;
use crate::context::{Action, DropReason};
use crate::packet::{ArpMessage, Body, PacketKind, UdpHeader};
use crate::params::Params as _;

const HERE: Address = Address(0);
const NEXT: Address = Address(1);

fn rng() -> Rng {
    Streams::new(1, 0).node(0, "arp")
}

/// Runs the link's timers up to `until`.
fn run(link: &mut Link, cx: &mut Context, until: Span) {
    while link.deadline() <= Time::ZERO + until {
        cx.now = link.deadline();
        link.on_timer(cx);
    }
    cx.now = Time::ZERO + until;
}

#[test]
fn a_conversation_in_ns2() {
    let mut cx = Context::default();
    let mut link = Link::maker(&Params::of_profile(NS2))(NodeId(0), HERE, rng());
    let first = data(&mut cx);
    link.send(first, NEXT, &mut cx);
    run(&mut link, &mut cx, Span::from_micros(4));
    assert_eq!(link.next_frame(&mut cx), None, "the request takes 5 us to the queue");
    run(&mut link, &mut cx, Span::from_micros(5));
    let (request, receiver) = link.next_frame(&mut cx).expect("the request");
    assert!(receiver.is_broadcast() && cx.packets[request].kind() == PacketKind::Arp);
    assert_eq!(cx.packets[request].size, 28);

    let reply = test_packets::arp(&mut cx);
    (cx.packets[reply].source, cx.packets[reply].destination) = (NEXT, HERE);
    link.on_arp(reply, NEXT, &mut cx);
    run(&mut link, &mut cx, Span::from_micros(10));
    assert_eq!(link.next_frame(&mut cx), Some((first, NEXT)));

    let second = data(&mut cx);
    link.send(second, NEXT, &mut cx);
    run(&mut link, &mut cx, Span::from_micros(34));
    assert_eq!((link.next_frame(&mut cx), link.held()), (None, vec![second]));
    run(&mut link, &mut cx, Span::from_micros(35));
    assert_eq!(link.next_frame(&mut cx), Some((second, NEXT)));
}

#[test]
fn broadcasts_need_no_address() {
    let mut cx = Context::default();
    let mut link = Link::maker(&Params::of_profile(RFC))(NodeId(0), HERE, rng());
    let packet = data(&mut cx);
    link.send(packet, Address::BROADCAST, &mut cx);
    assert_eq!(link.next_frame(&mut cx), Some((packet, Address::BROADCAST)));
}

#[test]
fn a_queue_without_room_is_refused() {
    let params = Params { queue_length: 1, ..Params::of_profile(NS2) };
    assert_eq!(params.check().map_err(|fault| fault.parameter), Err("queue_length"));
    assert_eq!(Params::of_profile(NS2).check(), Ok(()));
}

/// Something that happens to a link.
#[derive(Clone, Debug)]
enum Event {
    /// A data packet for a neighbour; for number 3 it is broadcast.
    Send(u32),
    /// A routing message to broadcast.
    Routing,
    /// A neighbour asks for a node's address.
    Request(u32, u32),
    /// A neighbour answers.
    Reply(u32),
    /// The MAC takes a packet.
    Pop,
    /// The link to a neighbour breaks.
    TakeBack(u32),
    /// Microseconds go by.
    Wait(u64),
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        4 => (0..4_u32).prop_map(Event::Send),
        1 => Just(Event::Routing),
        1 => (1..4_u32, 0..4_u32).prop_map(|(from, target)| Event::Request(from, target)),
        1 => (1..4_u32).prop_map(Event::Reply),
        3 => Just(Event::Pop),
        1 => (1..4_u32).prop_map(Event::TakeBack),
        2 => prop_oneof![1..40_u64, Just(1_100_000)].prop_map(Event::Wait),
    ];
    prop::collection::vec(event, 0..200)
}

/// The neighbour with this number. Zero is the node itself, and stands for a broadcast here.
const fn neighbour(number: u32) -> Address {
    if number == 0 { Address::BROADCAST } else { Address(number) }
}

proptest! {
    /// Whatever happens: no packet is lost without a reason, the queue keeps to its capacity, and packets for the same
    /// neighbour stay in order.
    #[test]
    fn a_link_keeps_its_packets_in_order(events in events(), profile in prop_oneof![Just(RFC), Just(NS2)]) {
        let params = Params { queue_length: 6, ..Params::of_profile(profile) };
        let capacity = params.queue_limit.capacity(params.queue_length);
        let mut cx = Context::default();
        let mut link = Link::maker(&params)(NodeId(0), HERE, rng());
        let mut sent = 0;
        let mut last = [None; 4];
        for event in events {
            match event {
                Event::Send(number) => {
                    let packet = data(&mut cx);
                    cx.packets[packet].body = Body::Udp(UdpHeader { sequence: sent, len: 512, identification: None });
                    sent += 1;
                    link.send(packet, neighbour(number), &mut cx);
                }
                Event::Routing => {
                    let packet = test_packets::routing(&mut cx);
                    link.send(packet, Address::BROADCAST, &mut cx);
                }
                Event::Request(number, target) => {
                    let packet = test_packets::arp(&mut cx);
                    cx.packets[packet].body = Body::Arp(ArpMessage::Request { target: Address(target) });
                    link.on_arp(packet, Address(number), &mut cx);
                }
                Event::Reply(number) => {
                    let packet = test_packets::arp(&mut cx);
                    cx.packets[packet].destination = HERE;
                    link.on_arp(packet, Address(number), &mut cx);
                }
                Event::Pop => {
                    if let Some((packet, next_hop)) = link.next_frame(&mut cx) {
                        if let Body::Udp(header) = cx.packets[packet].body {
                            let place = if next_hop.is_broadcast() { 0 } else { next_hop.index() };
                            prop_assert!(last[place] < Some(header.sequence), "{next_hop}: {header:?} after {last:?}");
                            last[place] = Some(header.sequence);
                        }
                        cx.hand_over(packet);
                    }
                }
                Event::TakeBack(number) => {
                    for packet in link.take_back(Address(number), &cx) {
                        cx.drop_packet(NodeId(HERE.0), packet, DropReason::BrokenLink);
                    }
                }
                Event::Wait(micros) => {
                    let until = cx.now.since(Time::ZERO) + Span::from_micros(micros);
                    run(&mut link, &mut cx, until);
                }
            }
            for action in std::mem::take(&mut cx.actions) {
                match action {
                    Action::LinkFailed { packet, .. } => cx.drop_packet(NodeId(HERE.0), packet, DropReason::ArpFailed),
                    other => prop_assert!(false, "{other:?}"),
                }
            }
            prop_assert!(link.queue().len() <= capacity);
            let mut held = link.held();
            held.sort();
            prop_assert_eq!(held, cx.packets.iter().map(|(packet, _)| packet).collect::<Vec<_>>());
        }
    }
}
