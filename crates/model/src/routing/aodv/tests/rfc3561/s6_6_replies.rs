//! RFC 3561 §6.6: generating replies.

use super::*;

#[test]
fn s6_6_1_a_destination_answers_with_the_number_that_the_request_needs() {
    for (asked, answered) in [(Some(7), 7), (Some(0), 0), (Some(1), 1), (None, 0)] {
        let mut net = alone(&quiet());
        let request = Request {
            destination: Address(0),
            destination_sequence: asked.unwrap_or(0),
            unknown_sequence: asked.is_none(),
            ..request()
        };
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request)));
        let expected = format!("0 0>1 RREP 0 hops to 0/{answered} for 8 life 6 s [] ttl 35 48 B");
        assert_eq!(net.talk, [expected], "{asked:?}");
    }
}

#[test]
fn s6_6_2_a_node_on_the_way_answers_if_its_route_is_fresh_and_it_may() {
    let answered = |change: &dyn Fn(&mut Request)| {
        let mut net = alone(&quiet());
        net.inject(5, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() }))).run_until(1_000);
        let mut request = request();
        change(&mut request);
        net.inject(1, 0, 5, wrap(AodvMessage::Request(request))).run_until(1_000);
        net.talk.join("\n")
    };
    let reply = "1000 0>1 RREP 2 hops to 9/20 for 8 life 5 s [] ttl 35 48 B";
    assert_eq!(answered(&|_| {}), reply, "§6.6.2: own number, own hop count, what is left of the lifetime");
    assert_eq!(answered(&|it| (it.unknown_sequence, it.destination_sequence) = (false, 20)), reply);
    let onward = "1000 0>* RREQ 1 2 hops to 9/21 for 8/5 [] ttl 4 52 B";
    assert_eq!(answered(&|it| (it.unknown_sequence, it.destination_sequence) = (false, 21)), onward);
    let onward = "1000 0>* RREQ 1 2 hops to 9/20 for 8/5 [D] ttl 4 52 B";
    assert_eq!(answered(&|it| it.destination_only = true), onward, "§6.5: the best number known goes along");
}

#[test]
fn s6_6_3_a_gratuitous_reply_tells_the_destination_the_way_back() {
    for gratuitous in [true, false] {
        let mut net = chain(4, &Params { gratuitous_rrep: gratuitous, ..quiet() }).having_sent(1, 3, 1_000);
        net.talk.clear();
        let packet = net.send_until(0, 3, 1_500);
        assert_eq!(net.said("1>0 RREP").len(), 1, "the node on the way answers");
        assert_eq!(net.said("1>2 RREP").len(), usize::from(gratuitous));
        assert_eq!(net.said("2>3 RREP 2 hops to 0").len(), usize::from(gratuitous));
        assert_eq!(net.route(3, 0), gratuitous.then_some((2, 3)));
        assert_eq!(net.ways[&packet].len(), 4);
    }
}

#[test]
fn s6_6_2_no_node_answers_with_the_way_that_the_request_came() {
    let mut net = alone(&quiet());
    net.inject(1, 0, 5, wrap(AodvMessage::Reply(Reply { originator: Address(0), ..reply() })));
    net.inject(1, 0, 5, wrap(AodvMessage::Request(request())));
    assert_eq!(net.at(10).said("RREP").len(), 0, "its route to node 9 leads through the sender");
    assert_eq!(net.said("0>* RREQ").len(), 1);
}

#[test]
fn s6_6_2_a_stale_route_makes_no_loop() {
    // 0-1-2-3, and a way 0-4-2. The link 2-3 breaks and the error is lost, so that 0 and 1 keep their routes.
    let mut net = network(5, &quiet()).chained(&[0, 1, 2, 3]).having_sent(0, 3, 1_000).chained(&[0, 4, 2]);
    net.part(2, 3);
    net.lost.push("2>1 RERR".to_owned());
    net.send_until(0, 3, 1_100);
    assert_eq!((net.route(0, 3), net.route(1, 3)), (Some((1, 3)), Some((2, 2))), "stale");
    net.talk.clear();
    net.send_until(2, 3, 1_500);
    assert!(net.said("2>* RREQ").iter().all(|line| line.contains("to 3/1 ")), "the number that node 2 has advanced");
    assert_eq!(net.said("RREP").len(), 0, "nobody's route is as new: {:?}", net.talk);
    net.run_until(20_000);
    net.check_loops();
}
