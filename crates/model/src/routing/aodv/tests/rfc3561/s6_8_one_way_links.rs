//! RFC 3561 §6.8: links that work in one direction alone.

use super::*;

#[test]
fn s6_8_a_reply_that_is_not_acknowledged_puts_the_neighbour_on_the_blacklist() {
    // Nothing but HELLO tells of broken links here, so that only the missing RREP-ACK can.
    let params = Params { request_rrep_ack: true, link_detection: LinkDetection::Hello, ..quiet() };
    let ask = |net: &mut Network, id| {
        net.inject(
            1,
            0,
            5,
            wrap(AodvMessage::Request(Request { id, originator_sequence: id, destination: Address(0), ..request() })),
        );
    };
    let mut net = network(2, &params);
    ask(&mut net, 1);
    net.run_until(49);
    ask(&mut net, 2);
    assert_eq!(net.at(51).said("0>1 RREP ").len(), 2, "NEXT_HOP_WAIT is 50 ms");
    ask(&mut net, 3);
    net.run_until(5_500);
    ask(&mut net, 4);
    assert_eq!(net.at(5_600).said("0>1 RREP ").len(), 2, "ignored for BLACKLIST_TIMEOUT");
    net.run_until(5_700);
    ask(&mut net, 5);
    assert_eq!(net.said("0>1 RREP ").len(), 3);

    let mut net = network(2, &params).chained(&[0, 1]);
    ask(&mut net, 1);
    assert_eq!(net.at(100).said("1>0 RREP-ACK").len(), 1);
    ask(&mut net, 2);
    assert_eq!(net.at(200).said("0>1 RREP ").len(), 2);
}

#[test]
fn s6_8_a_reply_that_fails_puts_the_neighbour_on_the_blacklist() {
    // Node 1 hears node 0, but not the other way round.
    let mut net = network(3, &quiet()).chained(&[1, 2, 0]).chained(&[0, 1]);
    net.mute(1, 0);
    let packet = net.send_until(0, 1, 3_000);
    assert_eq!(net.ways[&packet], [0, 2, 1].map(Address), "the second request comes the other way");
    assert_eq!(net.dropped(1, DropReason::RetryLimit), 1);
}
