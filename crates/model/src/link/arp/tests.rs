use hopyard_engine::Streams;

use super::*;
use crate::link::test_packets::data;
use crate::packet::PacketKind;
use crate::params::Params as _;

const HERE: Address = Address(0);
const NEXT: Address = Address(1);
const THIRD: Address = Address(2);

fn rng() -> Rng {
    Streams::new(1, 0).node(0, "arp")
}

/// Without jitter, so that requests are repeated at full seconds.
fn arp(profile: &str) -> (Arp, Context) {
    let params = Params { retry_jitter: Span::ZERO, ..Params::of_profile(profile) };
    (Arp::new(NodeId(0), HERE, params.into(), rng()), Context::default())
}

/// What address resolution sends: receiver and what, "packet" for one that had waited.
fn sent(arp: &mut Arp, cx: &mut Context) -> Vec<(Address, &'static str)> {
    let frames: Vec<_> = arp.take_ready().collect();
    frames
        .into_iter()
        .map(|(packet, receiver)| {
            let kind = match cx.packets[packet].body {
                Body::Arp(ArpMessage::Request { .. }) => "request",
                Body::Arp(ArpMessage::Reply) => "reply",
                _ => "packet",
            };
            cx.hand_over(packet);
            (receiver, kind)
        })
        .collect()
}

fn failed(cx: &mut Context) -> Vec<PacketId> {
    let packets = (cx.actions.drain(..))
        .map(|action| match action {
            Action::LinkFailed { interface, packet, .. } if interface == HERE.into() => packet,
            other => panic!("{other:?}"),
        })
        .collect::<Vec<_>>();
    for &packet in &packets {
        cx.drop_packet(NodeId(HERE.0), packet, DropReason::ArpFailed);
    }
    packets
}

fn hear(arp: &mut Arp, cx: &mut Context, from: Address, destination: Address, message: ArpMessage) {
    let packet = data(cx);
    let stored = &mut cx.packets[packet];
    (stored.source, stored.destination, stored.body) = (from, destination, Body::Arp(message));
    arp.on_message(packet, from, cx);
}

fn replaced(cx: &Context) -> u64 {
    cx.drops.get(NodeId(HERE.0), PacketKind::Data, DropReason::ArpReplaced)
}

#[test]
fn packets_wait_for_the_reply_and_go_in_order() {
    let (mut arp, mut cx) = arp(RFC);
    let packets = [(); 3].map(|()| data(&mut cx));
    for packet in packets {
        assert_eq!(arp.resolve(packet, NEXT, &mut cx), None);
    }
    assert_eq!(sent(&mut arp, &mut cx), [(Address::BROADCAST, "request")], "one request a second at most");
    hear(&mut arp, &mut cx, NEXT, HERE, ArpMessage::Reply);
    assert_eq!(arp.take_ready().collect::<Vec<_>>(), packets.map(|packet| (packet, NEXT)));
    let next = data(&mut cx);
    assert_eq!(arp.resolve(next, NEXT, &mut cx), Some(NEXT));
    assert_eq!(arp.deadline(), Time::NEVER);
}

#[test]
fn requests_are_repeated_and_given_up() {
    let (mut arp, mut cx) = arp(RFC);
    let packets = [(); 2].map(|()| data(&mut cx));
    for packet in packets {
        arp.resolve(packet, NEXT, &mut cx);
    }
    assert_eq!(sent(&mut arp, &mut cx).len(), 1);
    for second in 1..3 {
        assert_eq!(arp.deadline(), Time::ZERO + Span::from_secs(second));
        cx.now = arp.deadline();
        arp.on_timer(&mut cx);
        assert_eq!(sent(&mut arp, &mut cx), [(Address::BROADCAST, "request")]);
    }
    cx.now = arp.deadline();
    arp.on_timer(&mut cx);
    assert_eq!(failed(&mut cx), packets, "the link has failed for every packet that waited");
    assert_eq!((arp.deadline(), arp.held().count(), cx.ledger.outstanding()), (Time::NEVER, 0, 0));
}

#[test]
fn nodes_that_ask_at_once_do_not_repeat_at_once() {
    let mut again: Vec<Time> = (0..50)
        .map(|node| {
            let rng = Streams::new(1, 0).node(node, "arp");
            let (mut arp, mut cx) =
                (Arp::new(NodeId(0), HERE, Params::of_profile(RFC).into(), rng), Context::default());
            let packet = data(&mut cx);
            arp.resolve(packet, NEXT, &mut cx);
            arp.deadline()
        })
        .collect();
    again.sort_unstable();
    again.dedup();
    assert_eq!(again.len(), 50);
    let second = Time::ZERO + Span::from_secs(1);
    assert!(again.iter().all(|&at| at >= second && at <= second + Span::from_millis(100)));
}

#[test]
fn the_oldest_packet_makes_room() {
    let (mut arp, mut cx) = arp(RFC);
    let packets: Vec<_> = (0..52).map(|_| data(&mut cx)).collect();
    for &packet in &packets {
        arp.resolve(packet, NEXT, &mut cx);
    }
    assert_eq!(replaced(&cx), 2);
    assert_eq!(arp.held().take(50).collect::<Vec<_>>(), packets[2..]);
}

#[test]
fn an_address_grows_old() {
    let (mut arp, mut cx) = arp(RFC);
    hear(&mut arp, &mut cx, NEXT, Address::BROADCAST, ArpMessage::Request { target: HERE });
    assert_eq!(sent(&mut arp, &mut cx), [(NEXT, "reply")]);
    let packet = data(&mut cx);
    cx.now = Time::ZERO + Span::from_secs(59);
    assert_eq!(arp.resolve(packet, NEXT, &mut cx), Some(NEXT), "who asks is known from then on");
    cx.now = Time::ZERO + Span::from_secs(60);
    assert_eq!(arp.resolve(packet, NEXT, &mut cx), None);
    assert_eq!(sent(&mut arp, &mut cx), [(Address::BROADCAST, "request")]);
}

#[test]
fn a_request_for_another_node_teaches_in_ns2_only() {
    for (profile, learns) in [(RFC, false), (NS2, true)] {
        let (mut arp, mut cx) = arp(profile);
        hear(&mut arp, &mut cx, NEXT, Address::BROADCAST, ArpMessage::Request { target: THIRD });
        assert_eq!(sent(&mut arp, &mut cx), []);
        let packet = data(&mut cx);
        assert_eq!(arp.resolve(packet, NEXT, &mut cx).is_some(), learns, "{profile}");
    }
}

#[test]
fn ns2_holds_one_packet_and_asks_with_each() {
    let (mut arp, mut cx) = arp(NS2);
    let packets = [(); 4].map(|()| data(&mut cx));
    for (count, packet) in packets[..3].iter().enumerate() {
        assert_eq!(arp.resolve(*packet, NEXT, &mut cx), None);
        assert_eq!(sent(&mut arp, &mut cx), [(Address::BROADCAST, "request")]);
        assert_eq!(replaced(&cx), count as u64);
        assert_eq!(arp.held().collect::<Vec<_>>(), [*packet]);
    }
    assert_eq!(arp.deadline(), Time::NEVER);
    assert_eq!(arp.resolve(packets[3], NEXT, &mut cx), None);
    assert_eq!(failed(&mut cx), packets[2..], "the fourth packet fails with the one that is held");
    assert_eq!(sent(&mut arp, &mut cx), []);
    // The count starts anew.
    let fifth = data(&mut cx);
    assert_eq!(arp.resolve(fifth, NEXT, &mut cx), None);
    assert_eq!(sent(&mut arp, &mut cx), [(Address::BROADCAST, "request")]);
}

#[test]
fn in_ns2_the_held_packet_goes_before_the_reply() {
    let (mut arp, mut cx) = arp(NS2);
    let packet = data(&mut cx);
    arp.resolve(packet, NEXT, &mut cx);
    sent(&mut arp, &mut cx);
    hear(&mut arp, &mut cx, NEXT, Address::BROADCAST, ArpMessage::Request { target: HERE });
    assert_eq!(sent(&mut arp, &mut cx), [(NEXT, "packet"), (NEXT, "reply")]);
    cx.now = Time::ZERO + Span::from_secs(100_000);
    let later = data(&mut cx);
    assert_eq!(arp.resolve(later, NEXT, &mut cx), Some(NEXT), "it never forgets");
}

#[test]
fn nobody_is_asked_when_addresses_are_known() {
    let mut cx = Context::default();
    let params = Params { resolution: Resolution::Off, ..Params::of_profile(RFC) };
    let mut arp = Arp::new(NodeId(0), HERE, params.into(), rng());
    let packet = data(&mut cx);
    assert_eq!(arp.resolve(packet, NEXT, &mut cx), Some(NEXT));
    assert_eq!(sent(&mut arp, &mut cx), []);
}

#[test]
fn impossible_values_are_named() {
    let params = Params { hold: 0, ..Params::of_profile(RFC) };
    assert_eq!(params.check().map_err(|fault| fault.parameter), Err("hold"));
    let params = Params { retry: Span::ZERO, ..Params::of_profile(RFC) };
    assert_eq!(params.check().map_err(|fault| fault.parameter), Err("retry"));
}

#[test]
fn an_interface_answers_for_another_node_and_the_node_takes_its_address_back() {
    for profile in ["rfc", "ns2"] {
        let mut cx = Context::default();
        let params = Params::of_profile(profile);
        let node = |number: u32| {
            let rng = Streams::new(1, 0).node(number as usize, "arp");
            Arp::new(NodeId(number), Address(number), params.clone().into(), rng)
        };
        let (mut asker, mut agent, mut host) = (node(0), node(1), node(2));
        let absent = Address(2);
        let pass = |from: u32, to: &mut [&mut Arp], message: PacketId, cx: &mut Context| {
            for it in to.iter_mut() {
                let copy = cx.copy(message);
                it.on_message(copy, Address(from), cx);
            }
            cx.hand_over(message);
        };
        // The host was there.
        let packet = data(&mut cx);
        assert_eq!(asker.resolve(packet, absent, &mut cx), None);
        let (request, _) = asker.take_ready().next().expect("a request");
        pass(0, &mut [&mut agent, &mut host], request, &mut cx);
        assert_eq!(agent.take_ready().count(), 0, "it does not answer for others");
        let (reply, to) = host.take_ready().next().expect("a reply");
        assert_eq!(to, Address(0));
        pass(2, &mut [&mut asker], reply, &mut cx);
        assert_eq!(asker.take_ready().collect::<Vec<_>>(), [(packet, absent)]);
        // It leaves; the agent says so to all, and answers.
        agent.set_proxy(absent, true, &mut cx);
        let (announced, to) = agent.take_ready().next().expect("an announcement");
        assert_eq!((to, cx.packets[announced].source), (Address::BROADCAST, absent));
        pass(1, &mut [&mut asker], announced, &mut cx);
        assert_eq!(asker.resolve(packet, absent, &mut cx), Some(Address(1)), "{profile}: the agent's link address");
        assert_eq!(asker.take_ready().count(), 0, "an announcement wants no answer");
        let mut newcomer = node(3);
        assert_eq!(newcomer.resolve(packet, absent, &mut cx), None);
        let (request, _) = newcomer.take_ready().next().expect("a request");
        pass(3, &mut [&mut agent], request, &mut cx);
        let (reply, to) = agent.take_ready().next().expect("the agent answers");
        assert_eq!((to, cx.packets[reply].source), (Address(3), absent));
        pass(1, &mut [&mut newcomer], reply, &mut cx);
        assert_eq!(newcomer.resolve(packet, absent, &mut cx), Some(Address(1)));
        // It comes back.
        agent.set_proxy(absent, false, &mut cx);
        host.announce(absent, &mut cx);
        let (announced, _) = host.take_ready().next().expect("an announcement");
        pass(2, &mut [&mut asker, &mut newcomer, &mut agent], announced, &mut cx);
        assert_eq!(asker.resolve(packet, absent, &mut cx), Some(absent));
        assert_eq!(newcomer.resolve(packet, absent, &mut cx), Some(absent));
        assert_eq!(agent.take_ready().count(), 0);
    }
}
