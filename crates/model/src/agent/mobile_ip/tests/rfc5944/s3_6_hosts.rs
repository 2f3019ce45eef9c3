//! §3.6: mobile hosts.

use super::super::*;

/// A host that has just asked a foreign agent, and its request.
fn asking() -> (Lone, Request) {
    let mut host = Lone::host(|_| {});
    let sent = host.hears(Message::Advertisement(Advertisement { lifetime: 1800, ..advertisement(FA, 0) }), FA, FA);
    let request = sent[0].request();
    assert_eq!((sent[0].to, sent[0].next_hop), (FA, Some(FA)));
    (host, request)
}

#[test]
fn s3_6_1_a_request_names_what_the_agent_offers() {
    let (_, it) = asking();
    assert_eq!((it.home, it.home_agent, it.care_of, it.lifetime), (MH, HA, FA, 300));
    assert_eq!((it.proof, it.flags), (Proof::Right, RequestFlags::default()));
}

#[test]
fn s3_6_1_3_a_host_asks_for_no_more_than_the_agent_advertises() {
    let mut host = Lone::host(|_| {});
    let short = Advertisement { registration_lifetime: 20, ..advertisement(FA, 0) };
    assert_eq!(host.hears(Message::Advertisement(short), FA, FA)[0].request().lifetime, 20);
}

#[test]
fn s3_6_3_a_request_without_a_reply_is_sent_again_with_back_off_and_a_new_identification() {
    let (mut host, first) = asking();
    let sent = host.until(200.0);
    let times: Vec<f64> = sent.iter().map(|it| it.0).collect();
    assert_eq!(times, [1.0, 3.0, 7.0, 15.0, 31.0, 63.0, 127.0, 191.0]);
    let mut numbers: Vec<u64> = sent.iter().map(|it| it.1.request().identification).collect();
    numbers.insert(0, first.identification);
    assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
}

#[test]
fn s3_6_2_1_replies_that_answer_nothing_or_are_not_authentic_are_ignored() {
    let (mut host, request) = asking();
    let right = reply(&request, Code::ACCEPTED);
    let other = Reply { identification: right.identification ^ 1, ..right };
    for wrong in [other, Reply { proof: Proof::None, ..right }, Reply { proof: Proof::Forged, ..right }] {
        host.hears(Message::Reply(wrong), FA, FA);
        assert_eq!(host.agent.registration(), None, "{wrong:?}");
    }
    host.hears(Message::Reply(right), FA, FA);
    assert_eq!(host.agent.registration().map(|it| (it.agent, it.care_of)), Some((FA, FA)));
}

#[test]
fn s3_6_2_1_a_refusal_of_the_foreign_agent_needs_no_authenticator() {
    let (mut host, request) = asking();
    let refusal = Reply { proof: Proof::None, ..reply(&request, Code::FA_RESOURCES) };
    host.hears(Message::Reply(refusal), FA, FA);
    assert!(host.events.contains(&MobileChange::Refused { agent: FA, code: 66 }));
}

#[test]
fn s3_6_2_2_an_accepted_host_leaves_by_its_agent_until_the_lifetime_is_over() {
    let (mut host, request) = asking();
    host.hears(Message::Reply(Reply { lifetime: 40, ..reply(&request, Code::ACCEPTED) }), FA, FA);
    assert_eq!(host.default_way(), Some(WayChange::Only(Way::Via(FA))));
    assert_eq!(host.agent.registration().map(|it| it.until), Some(Time::ZERO + Span::from_secs(40)));
    host.until(40.0);
    assert_eq!(host.agent.registration(), None);
    assert_eq!(host.default_way(), Some(WayChange::Only(Way::Nowhere)));
}

#[test]
fn s3_6_1_3_a_registration_is_renewed_before_it_ends() {
    let (mut host, request) = asking();
    host.hears(Message::Reply(Reply { lifetime: 40, ..reply(&request, Code::ACCEPTED) }), FA, FA);
    let sent = host.until(36.0);
    assert_eq!((sent.len(), sent[0].0), (1, 36.0));
    host.hears(Message::Reply(reply(&sent[0].1.request(), Code::ACCEPTED)), FA, FA);
    assert_eq!(host.agent.registration().map(|it| it.until), Some(Time::ZERO + Span::from_secs(336)));
}

#[test]
fn s5_7_1_a_host_whose_clock_is_wrong_takes_that_of_its_home_agent() {
    let (mut host, request) = asking();
    let ahead = 1000 << 32;
    let refusal = Reply { identification: request.identification + ahead, ..reply(&request, Code::HA_IDENTIFICATION) };
    let again = host.hears(Message::Reply(refusal), FA, FA)[0].request();
    assert_eq!(again.identification >> 32, (request.identification >> 32) + 1000);
}

#[test]
fn s3_6_2_1_a_lifetime_that_is_too_long_is_asked_for_again_with_the_one_that_the_reply_names() {
    let (mut host, request) = asking();
    let refusal = Reply { lifetime: 30, proof: Proof::None, ..reply(&request, Code::FA_LIFETIME) };
    assert_eq!(host.hears(Message::Reply(refusal), FA, FA)[0].request().lifetime, 30);
}

#[test]
fn s3_6_1_a_busy_agent_is_not_asked() {
    let mut host = Lone::host(|_| {});
    let busy = Advertisement { flags: AgentFlags::FOREIGN_AGENT | AgentFlags::BUSY, ..advertisement(FA, 0) };
    assert!(host.hears(Message::Advertisement(busy), FA, FA).is_empty());
    assert_eq!(host.agent.current(), None);
}

#[test]
fn s3_6_1_1_flags_follow_the_parameters_and_the_offer() {
    let change = |it: &mut Params| (it.simultaneous, it.reverse_tunnel, it.tunnel) = (true, true, Form::Minimal);
    for (offer, expected) in [(AgentFlags::default(), false), (AgentFlags::REVERSE_TUNNEL, true)] {
        let mut host = Lone::host(change);
        let flags = AgentFlags::FOREIGN_AGENT | AgentFlags::MINIMAL_ENCAPSULATION | offer;
        let it = Advertisement { flags, ..advertisement(FA, 0) };
        let flags = host.hears(Message::Advertisement(it), FA, FA)[0].request().flags;
        assert!(flags.contains(RequestFlags::SIMULTANEOUS) && flags.contains(RequestFlags::MINIMAL_ENCAPSULATION));
        // RFC 3024 §3.2: T is for agents that advertise it.
        assert_eq!(flags.contains(RequestFlags::REVERSE_TUNNEL), expected);
    }
}

#[test]
fn s3_6_1_2_a_host_that_has_never_been_away_asks_for_nothing_at_home() {
    let mut host = Lone::host(|_| {});
    let home = Advertisement { flags: AgentFlags::HOME_AGENT, care_of: None, ..advertisement(HA, 0) };
    assert!(host.hears(Message::Advertisement(home), HA, HA).is_empty());
    assert_eq!(host.default_way(), Some(WayChange::Only(Way::Via(HA))));
}

#[test]
fn s3_6_2_2_a_host_counts_the_lifetime_from_its_request_on() {
    let (mut host, request) = asking();
    host.at(0.75).hears(Message::Reply(Reply { lifetime: 40, ..reply(&request, Code::ACCEPTED) }), FA, FA);
    let of = |seconds| Time::ZERO + Span::from_secs(seconds);
    assert_eq!(host.agent.registration().map(|it| (it.until, it.renew)), Some((of(40), of(36))));
}

#[test]
fn s3_6_3_a_host_waits_for_a_reply_no_longer_than_the_lifetime_that_it_asks_for() {
    let mut host = Lone::host(|it| it.registration_lifetime = 3);
    host.hears(Message::Advertisement(Advertisement { lifetime: 1800, ..advertisement(FA, 0) }), FA, FA);
    let times: Vec<f64> = host.until(12.0).iter().map(|it| it.0).collect();
    assert_eq!(times, [1.0, 3.0, 6.0, 9.0, 12.0]);
}

#[test]
fn s3_6_1_2_a_host_asks_for_minimal_encapsulation_only_where_it_is_offered() {
    for (flags, asked) in [
        (AgentFlags::FOREIGN_AGENT, RequestFlags::default()),
        (AgentFlags::FOREIGN_AGENT | AgentFlags::MINIMAL_ENCAPSULATION, RequestFlags::MINIMAL_ENCAPSULATION),
    ] {
        let mut host = Lone::host(|it| it.tunnel = Form::Minimal);
        let sent = host.hears(Message::Advertisement(Advertisement { flags, ..advertisement(FA, 0) }), FA, FA);
        assert_eq!(sent[0].request().flags, asked);
    }
}

#[test]
fn s3_6_2_1_code_194_is_of_the_foreign_agent_which_has_no_key_of_the_home_agent() {
    let (mut host, request) = asking();
    let refusal = Reply { proof: Proof::None, ..reply(&request, Code::FA_HOME_AGENT_ADDRESS) };
    host.hears(Message::Reply(refusal), FA, FA);
    assert!(host.events.contains(&MobileChange::Refused { agent: FA, code: 194 }));
}

#[test]
fn s3_6_1_1_and_s4_6_a_host_and_its_agent_know_each_other_by_their_messages() {
    let (host, _) = asking();
    assert_eq!(host.learned, [(FA, Time::ZERO + Span::from_secs(1800))]);
    let mut agent = Lone::foreign(100_000, |_| {});
    agent.hears(Message::Request(request(0)), MH, MH);
    agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA);
    // As long as the agent waits for the reply, then as long as the host is a visitor.
    let of = |seconds| Time::ZERO + Span::from_secs(seconds);
    assert_eq!(agent.learned, [(MH, of(7)), (MH, of(300))]);
}
