//! §3.7: foreign agents.

use super::super::*;

/// The reply with which a foreign agent refuses one request.
fn refused(change: impl FnOnce(&mut Params), request: Request) -> Reply {
    let mut agent = Lone::foreign(100_000, change);
    let sent = agent.hears(Message::Request(request), MH, MH);
    assert_eq!((sent.len(), sent[0].to, sent[0].next_hop), (1, MH, Some(MH)), "one reply, to the host");
    // What it says itself it cannot authenticate.
    assert_eq!((sent[0].reply().proof, sent[0].reply().identification), (Proof::None, request.identification));
    sent[0].reply()
}

/// A foreign agent with a visitor whose registration lasts 300 s.
fn with_visitor() -> Lone {
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(request(0)), MH, MH);
    agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA);
    agent
}

#[test]
fn s3_7_2_2_a_request_is_passed_on_with_the_same_bytes() {
    let mut agent = Lone::foreign(100_000, |_| {});
    let sent = agent.hears(Message::Request(request(0)), MH, MH);
    // Its source wants to know if it does not arrive, which no byte says.
    let message = Message::Request(Request { wants_notice: true, ..request(0) });
    let expected = SentMessage { message, source: FA, to: HA, next_hop: None, ttl: 64 };
    assert_eq!(sent, [expected]);
    assert!(agent.agent.visitors().is_empty(), "only a reply makes a visitor");
}

#[test]
fn s3_7_2_1_a_care_of_address_of_another_agent_is_refused_with_77() {
    assert_eq!(refused(|_| {}, Request { care_of: OTHER, ..request(0) }).code, Code::FA_CARE_OF);
}

#[test]
fn s3_7_2_1_a_lifetime_that_is_too_long_is_refused_with_69_and_the_longest_one() {
    let it = refused(|it| it.longest_registration = 100, request(0));
    assert_eq!((it.code, it.lifetime), (Code::FA_LIFETIME, 100));
}

#[test]
fn s3_7_2_1_what_is_asked_for_and_not_there_is_refused() {
    let with = |flags| refused(|_| {}, Request { flags, ..request(0) }).code;
    assert_eq!(with(RequestFlags::GRE), Code::FA_ENCAPSULATION);
    assert_eq!(with(RequestFlags::REVERSE_TUNNEL), Code::FA_REVERSE_TUNNEL);
    assert_eq!(with(RequestFlags::RESERVED_R), Code::FA_POOR_REQUEST);
    assert_eq!(with(RequestFlags::RESERVED_X), Code::FA_POOR_REQUEST);
}

#[test]
fn s3_7_2_1_a_request_without_an_authenticator_is_refused_with_70() {
    assert_eq!(refused(|_| {}, Request { proof: Proof::None, ..request(0) }).code, Code::FA_POOR_REQUEST);
}

#[test]
fn s3_7_2_2_a_full_agent_refuses_with_66_but_serves_those_it_has() {
    let mut agent = Lone::foreign(100_000, |it| it.most_visitors = 1);
    agent.hears(Message::Request(request(0)), MH, MH);
    let other = Request { home: STRANGER, ..request(0) };
    let sent = agent.hears(Message::Request(other), STRANGER, STRANGER);
    assert_eq!((sent[0].reply().code, sent[0].to), (Code::FA_RESOURCES, STRANGER));
    assert_eq!(agent.at(1.0).hears(Message::Request(request(1)), MH, MH)[0].to, HA, "a renewal is passed on");
}

#[test]
fn s3_7_2_2_a_request_without_a_reply_is_refused_with_78_after_seven_seconds() {
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(request(0)), MH, MH);
    assert!(agent.until(6.999).is_empty());
    let sent = agent.until(7.0);
    assert_eq!((sent[0].1.reply().code, sent[0].1.to), (Code::FA_TIMEOUT, MH));
    // A reply that comes later finds nobody who waits for it.
    assert!(agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA).is_empty());
    assert!(agent.agent.visitors().is_empty());
}

#[test]
fn s3_7_3_a_reply_is_passed_on_to_the_host_and_makes_it_a_visitor() {
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(request(0)), MH, MH);
    let answer = Reply { lifetime: 100, ..reply(&request(0), Code::ACCEPTED) };
    let sent = agent.hears(Message::Reply(answer), HA, HA);
    assert_eq!((sent[0].message, sent[0].to, sent[0].next_hop), (Message::Reply(answer), MH, Some(MH)));
    let visitors: Vec<(Address, Time)> = agent.agent.visitors().iter().map(|it| (it.home, it.until)).collect();
    assert_eq!(visitors, [(MH, Time::ZERO + Span::from_secs(100))]);
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Via(MH))));
}

#[test]
fn s3_7_3_2_a_visitor_stays_no_longer_than_it_has_asked_for() {
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(Request { lifetime: 50, ..request(0) }), MH, MH);
    let longer = Reply { lifetime: 100, ..reply(&request(0), Code::ACCEPTED) };
    agent.hears(Message::Reply(longer), HA, HA);
    agent.until(50.0);
    assert!(agent.agent.visitors().is_empty());
    assert_eq!(agent.way_to(MH), Some(WayChange::Clear));
}

#[test]
fn s3_7_3_1_a_reply_that_answers_nothing_is_ignored() {
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(request(0)), MH, MH);
    let right = reply(&request(0), Code::ACCEPTED);
    let other_number = Reply { identification: identification(0, 78), ..right };
    for wrong in [other_number, Reply { home: STRANGER, ..right }, Reply { home_agent: OTHER, ..right }] {
        assert!(agent.hears(Message::Reply(wrong), HA, HA).is_empty(), "{wrong:?}");
    }
    assert_eq!(agent.hears(Message::Reply(right), HA, HA).len(), 1);
    assert!(agent.hears(Message::Reply(right), HA, HA).is_empty(), "once only");
}

#[test]
fn s3_7_3_2_a_refusal_of_the_home_agent_is_passed_on_and_changes_nothing() {
    let mut agent = with_visitor();
    agent.at(1.0).hears(Message::Request(request(1)), MH, MH);
    let refusal = reply(&request(1), Code::HA_MOBILE_AUTHENTICATION);
    assert_eq!(agent.hears(Message::Reply(refusal), HA, HA)[0].message, Message::Reply(refusal));
    assert_eq!(agent.agent.visitors()[0].until, Time::ZERO + Span::from_secs(300));
}

#[test]
fn s3_7_3_2_a_registration_that_is_ended_ends_the_visit() {
    let mut agent = with_visitor();
    agent.until(1.0);
    let end = Request { lifetime: 0, ..request(1) };
    agent.hears(Message::Request(end), MH, MH);
    agent.hears(Message::Reply(reply(&end, Code::ACCEPTED)), HA, HA);
    assert!(agent.agent.visitors().is_empty());
    assert_eq!(agent.way_to(MH), Some(WayChange::Clear));
}

#[test]
fn s3_7_2_2_of_two_requests_the_later_one_waits_for_its_reply() {
    let mut agent = Lone::foreign(100_000, |_| {});
    let first = request(0);
    let second = Request { identification: identification(0, 78), ..first };
    agent.hears(Message::Request(first), MH, MH);
    agent.at(1.0).hears(Message::Request(second), MH, MH);
    assert!(agent.hears(Message::Reply(reply(&first, Code::ACCEPTED)), HA, HA).is_empty());
    assert_eq!(agent.hears(Message::Reply(reply(&second, Code::ACCEPTED)), HA, HA).len(), 1);
}

#[test]
fn rfc3024_s4_a_visitor_with_t_has_a_reverse_tunnel_as_long_as_it_stays() {
    let mut agent = Lone::foreign(100_000, |it| it.reverse_tunnel = true);
    let asked = Request { flags: RequestFlags::REVERSE_TUNNEL, lifetime: 20, ..request(0) };
    agent.hears(Message::Request(asked), MH, MH);
    agent.hears(Message::Reply(reply(&asked, Code::ACCEPTED)), HA, HA);
    assert_eq!(agent.source_ways, [Some(Way::Into { to: HA, form: Form::IpInIp })]);
    agent.until(20.0);
    assert_eq!(agent.source_ways.last(), Some(&None));
}

#[test]
fn rfc3024_s4_minimal_encapsulation_counts_for_the_reverse_tunnel_too() {
    let mut agent = Lone::foreign(100_000, |it| it.reverse_tunnel = true);
    let flags = RequestFlags::REVERSE_TUNNEL | RequestFlags::MINIMAL_ENCAPSULATION;
    let asked = Request { flags, ..request(0) };
    agent.hears(Message::Request(asked), MH, MH);
    agent.hears(Message::Reply(reply(&asked, Code::ACCEPTED)), HA, HA);
    assert_eq!(agent.source_ways, [Some(Way::Into { to: HA, form: Form::Minimal })]);
}

#[test]
fn s3_7_2_1_a_registration_that_is_ended_may_name_a_care_of_address_of_another_agent() {
    let mut agent = Lone::foreign(100_000, |it| it.foreign_home_authentication = true);
    let end = Request { lifetime: 0, care_of: OTHER, ..request(0) };
    let sent = agent.hears(Message::Request(end), MH, MH);
    // The agent adds no authenticator of its own (§3.5.4).
    assert_eq!((sent[0].to, sent[0].request().agent_proof), (HA, Proof::None));
    let lasts = agent.hears(Message::Request(Request { lifetime: 1, ..request(1) }), MH, MH);
    assert_eq!(lasts[0].request().agent_proof, Proof::Right);
}

#[test]
fn s3_7_2_a_request_that_names_this_node_as_home_agent_is_refused_with_194() {
    let it = Request { home_agent: FA, ..request(0) };
    assert_eq!(refused(|_| {}, it).code, Code::FA_HOME_AGENT_ADDRESS);
    // So it is by a node that is the home agent of other hosts.
    let first = Some(Time::ZERO + Span::from_secs(100_000));
    let role = Role::Router { serves: vec![InterfaceId(FA.0)], is_foreign: true, hosts: vec![STRANGER], first };
    let mut agent = Lone::new(FA, role, Orders::default(), |_| {});
    let sent = agent.hears(Message::Request(it), MH, MH);
    assert_eq!((sent[0].reply().code, sent[0].to), (Code::FA_HOME_AGENT_ADDRESS, MH));
    let own = Request { home: STRANGER, care_of: STRANGER, lifetime: 0, ..it };
    assert_eq!(agent.hears(Message::Request(own), STRANGER, STRANGER)[0].reply().code, Code::ACCEPTED);
}

#[test]
fn s3_7_2_2_a_request_waits_no_longer_than_the_lifetime_that_it_asks_for() {
    let mut agent = Lone::foreign(100_000, |it| it.most_visitors = 1);
    agent.hears(Message::Request(Request { lifetime: 2, ..request(0) }), MH, MH);
    // No reply is made because a lifetime is over (§3.7).
    assert!(agent.until(10.0).is_empty());
    assert!(agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA).is_empty());
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(Request { lifetime: 2, ..request(0) }), MH, MH);
    agent.until(2.0);
    let late = reply(&Request { lifetime: 2, ..request(0) }, Code::ACCEPTED);
    assert!(agent.hears(Message::Reply(late), HA, HA).is_empty() && agent.agent.visitors().is_empty());
}

#[test]
fn s3_7_2_3_a_reply_comes_from_the_address_that_the_host_has_asked() {
    // By the wire, the host knows the agent by the wire's address.
    let mut agent = Lone::foreign(100_000, |_| {});
    let denied = agent.hears_at(WIRE_END, Message::Request(Request { care_of: OTHER, ..request(0) }), MH, WIRED);
    assert_eq!((denied[0].source, denied[0].next_hop), (WIRE_END, Some(WIRED)));
    let passed_on = agent.hears_at(WIRE_END, Message::Request(request(0)), MH, WIRED);
    assert_eq!(passed_on[0].source, FA, "the care-of address");
    let answer = agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA);
    assert_eq!((answer[0].source, answer[0].to), (WIRE_END, MH));
}
