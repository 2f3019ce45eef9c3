use super::*;
use crate::packet::UdpHeader;

#[test]
fn the_ledger_accounts_for_every_packet() {
    let mut cx = Context::default();
    let packet = Packet {
        created: Time::ZERO,
        source: Address(0),
        destination: Address(1),
        flow: FlowId(0),
        size: 100,
        ttl: 32,
        hops: 0,
        salvaged: 0,
        class: 0,
        body: Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None }),
    };
    let first = cx.originate(packet.clone());
    let second = cx.copy(first);
    cx.hand_over(first);
    assert_eq!(cx.ledger.outstanding(), 1);
    assert_eq!(cx.packets.len(), 1);
    cx.drop_packet(NodeId(1), second, DropReason::NoRoute);
    assert_eq!(cx.ledger.outstanding(), 0);
    assert_eq!(cx.drops.get(NodeId(1), PacketKind::Data, DropReason::NoRoute), 1);
    assert_eq!(cx.flow_drops[0], FlowDrops { packets: 1, copies: 1 });
    assert_eq!(cx.drops.get(NodeId(7), PacketKind::Data, DropReason::NoRoute), 0);
}

#[test]
fn a_tunnel_keeps_marks_where_the_inner_packet_understands_them() {
    // RFC 6040 §4: the inner bits, whether the outer header is marked, and the bits that come out.
    for (inner, marked, expected) in [(0, true, 0), (2, false, 2), (2, true, 3), (1, true, 3), (3, false, 3)] {
        for form in [Form::IpInIp, Form::Minimal] {
            let mut cx = Context::default();
            let body = Body::Udp(UdpHeader { sequence: 0, len: 72, identification: None });
            let id = cx.originate(Packet {
                created: Time::ZERO,
                source: Address(0),
                destination: Address(1),
                flow: FlowId(0),
                size: 100,
                ttl: 32,
                hops: 0,
                salvaged: 0,
                class: 40 | inner,
                body,
            });
            cx.encapsulate(id, Address(0), Address(2), 64, form);
            assert_eq!(cx.packets[id].class, 40 | inner);
            if marked {
                assert_eq!(cx.packets[id].mark(), inner != 0);
            }
            cx.decapsulate(id);
            assert_eq!(cx.packets[id].class, 40 | expected);
        }
    }
}
