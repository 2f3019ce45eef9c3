//! The agent around the machine, and its parameters.

use std::net::Ipv4Addr;

use hopyard_wire::WireError;
use serde_json::json;

use super::super::{Drand, Lottery, Resends};
use super::*;
use crate::address::NodeId;
use crate::agent::{Agent as _, Site};
use crate::context::{Action, Context, DropReason, Slots};
use crate::packet::{ArpMessage, Body, Carrier, Datagram, FlowId, Packet, PacketKind, RoutingMessage};
use crate::params::{ParamsError, read};

fn packet(from: u32, body: Body) -> Packet {
    Packet {
        source: Address(from),
        destination: Address(5),
        flow: FlowId::NONE,
        ttl: 1,
        hops: 1,
        ..crate::samples::packet(40, body)
    }
}

fn control(message: Message) -> Body {
    Body::Control { port: super::super::message::PORT, message: RoutingMessage::new(message) }
}

#[test]
fn messages_come_and_go_as_packets_of_their_size() {
    let rng = Streams::new(7, 0).node(5, "agent");
    let (mut agent, mut cx) = (Drand::new(&Params::of_profile("rfc"), &Site::of(NodeId(5)), rng), Context::default());
    agent.start(&mut cx);
    cx.now = agent.deadline();
    agent.on_timer(&mut cx);
    let Some(Action::Send { packet: id, next_hop, .. }) = cx.actions.pop_front() else { panic!("a HELLO is sent") };
    let hello = cx.deliver(id);
    assert_eq!((next_hop, hello.destination), (Address::BROADCAST, Address::MANET_ROUTERS));
    assert_eq!((hello.size, hello.ttl, hello.source), (28 + 16, 1, Address(5)));
    let id = cx.originate(packet(2, control(request(1))));
    agent.on_message(id, Address(2), &mut cx);
    let Some(Action::Send { packet: id, next_hop, .. }) = cx.actions.pop_front() else { panic!("a grant is sent") };
    assert!(cx.actions.is_empty(), "no slot has changed");
    assert_eq!((next_hop, cx.packets[id].destination), (Address(2), Address(2)));
    assert_eq!((cx.packets[id].size, cx.packets[id].message_kind()), (28 + 8, Some("grant")));
    cx.deliver(id);
    let id = cx.originate(packet(2, control(release(1, 6))));
    agent.on_message(id, Address(2), &mut cx);
    assert_eq!(agent.machine().assigned(), Assignment { slot: None, largest_near: Some(6), largest: Some(6) });
    let told = cx.actions.iter().position(|it| matches!(it, Action::SlotsAssigned { .. }));
    let told = told.and_then(|place| cx.actions.remove(place));
    let Some(Action::SlotsAssigned { node, slots }) = told else { panic!("the MAC is told of the largest slot") };
    assert_eq!((node, slots), (NodeId(5), Slots { own: None, near: 6, known: 6 }));
    let Some(Action::Send { packet: id, .. }) = cx.actions.pop_front() else { panic!("a relay is sent") };
    assert_eq!(cx.deliver(id).size, 28 + 12);
    assert_eq!(cx.ledger.outstanding(), 0);
    // Not a message of DRAND.
    #[derive(Debug)]
    struct Other;
    impl Datagram<Address> for Other {
        fn kind(&self) -> &'static str {
            "other"
        }
        fn encode(&self, _: &dyn Fn(Address) -> Ipv4Addr, _: &mut Vec<u8>) -> Result<Carrier, WireError> {
            Ok(Carrier::Udp(1))
        }
    }
    let body = Body::Control { port: super::super::message::PORT, message: RoutingMessage::new(Other) };
    let id = cx.originate(packet(2, body));
    agent.on_message(id, Address(2), &mut cx);
    assert_eq!(cx.drops.get(NodeId(5), PacketKind::Control, DropReason::NoListener), 1);
    assert_eq!((cx.ledger.outstanding(), cx.actions.len()), (0, 0));
    assert!(!matches!(packet(2, Body::Arp(ArpMessage::Reply)).body, Body::Control { .. }));
}

#[test]
fn impossible_parameters_are_refused() {
    let fault = |change: fn(&mut Params)| crate::samples::fault("rfc", change).parameter;
    assert_eq!(fault(|it| it.interval = Span::ZERO), "interval");
    assert_eq!(fault(|it| it.jitter = Span::from_millis(501)), "jitter");
    assert_eq!(fault(|it| it.hold = Span::from_millis(900)), "hold");
    assert_eq!(fault(|it| it.largest_hold = Span::from_millis(900)), "largest_hold");
    assert_eq!(fault(|it| it.largest_hold = Span::from_secs(61)), "largest_hold");
    assert_eq!(fault(|it| it.first_delay = Span::ZERO), "first_delay");
    assert_eq!(fault(|it| it.coin = 0.0), "coin");
    assert_eq!(fault(|it| it.coin = 1.1), "coin");
    assert_eq!(fault(|it| it.coin = f64::NAN), "coin");
    assert_eq!(fault(|it| it.request_resends = 128), "request_resends");
    assert_eq!(fault(|it| it.factor = 0.5), "factor");
    assert_eq!(fault(|it| it.try_jitter = 1.0), "try_jitter");
}

#[test]
fn resends_are_a_number_or_unlimited() {
    let with = |value: serde_json::Value| {
        let mut values = serde_json::to_value(Params::of_profile("rfc")).expect("parameters can be serialised");
        values["grant_resends"] = value;
        read::<Params>(&values).map(|it| it.grant_resends)
    };
    assert_eq!(with(json!(0)), Ok(Resends::Times(0)));
    assert_eq!(with(json!("unlimited")), Ok(Resends::Unlimited));
    for wrong in [json!(-1), json!("often"), json!(1.5), json!(5_000_000_000_u64)] {
        let expected = format!("expected a whole number, or \"unlimited\", found {wrong}");
        assert_eq!(with(wrong), Err(ParamsError::Malformed(expected)));
    }
    assert!(Resends::Times(2).allow(1) && !Resends::Times(2).allow(2) && Resends::Unlimited.allow(u32::MAX));
    let shared = Params { grant_resends: Resends::Unlimited, lottery: Lottery::Largest, ..Params::of_profile("rfc") };
    let text = serde_json::to_value(&shared).expect("parameters can be serialised");
    assert_eq!((&text["grant_resends"], &text["lottery"]), (&json!("unlimited"), &json!("largest")));
    assert_eq!(read::<Params>(&text), Ok(shared));
}
