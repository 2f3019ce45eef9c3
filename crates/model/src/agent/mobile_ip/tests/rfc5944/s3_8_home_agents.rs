//! §3.8: home agents.

use super::super::*;

/// The code with which a home agent answers one request.
fn code(change: impl FnOnce(&mut Params), request: Request) -> Code {
    let mut agent = Lone::home(change);
    let sent = agent.hears(Message::Request(request), FA, FA);
    assert_eq!((sent.len(), sent[0].to, sent[0].next_hop), (1, FA, None), "one reply, to the source");
    sent[0].reply().code
}

#[test]
fn s3_8_2_2_a_request_is_granted_for_no_longer_than_the_agent_allows() {
    for (asked, most, granted) in [(300, 600, 300), (300, 100, 100), (65_535, 600, 600), (65_535, 65_535, 65_535)] {
        let mut agent = Lone::home(|it| it.longest_registration = most);
        let sent = agent.hears(Message::Request(Request { lifetime: asked, ..request(0) }), FA, FA);
        assert_eq!((sent[0].reply().code, sent[0].reply().lifetime), (Code::ACCEPTED, granted));
        let until = if granted == 65_535 { Time::NEVER } else { Time::ZERO + Span::from_secs(u64::from(granted)) };
        assert_eq!(agent.agent.bindings()[0].until, until);
    }
}

#[test]
fn s3_8_3_a_reply_repeats_the_identification_and_is_authentic() {
    let mut agent = Lone::home(|_| {});
    let it = agent.hears(Message::Request(request(0)), FA, FA)[0].reply();
    assert_eq!((it.identification, it.home, it.home_agent), (request(0).identification, MH, HA));
    assert_eq!(it.proof, Proof::Right);
}

#[test]
fn s3_8_2_1_a_request_of_a_host_without_a_key_or_an_authenticator_is_discarded() {
    for it in [Request { home: STRANGER, ..request(0) }, Request { proof: Proof::None, ..request(0) }] {
        let mut agent = Lone::home(|_| {});
        assert!(agent.hears(Message::Request(it), FA, FA).is_empty(), "{it:?}");
        assert_eq!((agent.agent.bindings().len(), agent.agent.counts()[1]), (0, Some(1)));
    }
    // Without keys at all, another host is refused.
    let stranger = Request { home: STRANGER, proof: Proof::None, ..request(0) };
    assert_eq!(code(|it| it.authentication = false, stranger), Code::HA_PROHIBITED);
}

#[test]
fn s3_8_2_1_a_request_that_is_not_authentic_is_refused_with_131() {
    assert_eq!(code(|_| {}, Request { proof: Proof::Forged, ..request(0) }), Code::HA_MOBILE_AUTHENTICATION);
    assert_eq!(code(|it| it.authentication = false, Request { proof: Proof::None, ..request(0) }), Code::ACCEPTED);
}

#[test]
fn s3_8_3_2_a_request_for_another_home_agent_is_refused_with_136() {
    let mut agent = Lone::home(|_| {});
    let it = agent.hears(Message::Request(Request { home_agent: OTHER, ..request(0) }), FA, FA)[0].reply();
    assert_eq!((it.code, it.home_agent), (Code::HA_UNKNOWN_HOME_AGENT, HA));
}

#[test]
fn s3_8_2_1_encapsulations_that_are_not_there_are_refused() {
    let with = |flags| Request { flags, ..request(0) };
    assert_eq!(code(|_| {}, with(RequestFlags::GRE)), Code::HA_ENCAPSULATION);
    assert_eq!(code(|_| {}, with(RequestFlags::REVERSE_TUNNEL)), Code::HA_REVERSE_TUNNEL);
    assert_eq!(code(|it| it.reverse_tunnel = true, with(RequestFlags::REVERSE_TUNNEL)), Code::ACCEPTED);
    assert_eq!(code(|_| {}, with(RequestFlags::MINIMAL_ENCAPSULATION)), Code::ACCEPTED);
}

#[test]
fn s5_7_1_a_request_is_not_accepted_twice() {
    let mut agent = Lone::home(|_| {});
    assert_eq!(agent.hears(Message::Request(request(0)), FA, FA)[0].reply().code, Code::ACCEPTED);
    let again = agent.at(3.0).hears(Message::Request(request(0)), FA, FA)[0].reply();
    assert_eq!(again.code, Code::HA_IDENTIFICATION);
    // The agent's clock, and the lower half of the request.
    assert_eq!(again.identification, identification(3, 77));
}

#[test]
fn s5_7_1_clocks_may_differ_by_seven_seconds() {
    for (seconds, expected) in [(93, Code::ACCEPTED), (92, Code::HA_IDENTIFICATION), (107, Code::ACCEPTED)] {
        let mut agent = Lone::home(|_| {});
        agent.until(100.0);
        assert_eq!(agent.hears(Message::Request(request(seconds)), FA, FA)[0].reply().code, expected, "{seconds} s");
    }
    let mut agent = Lone::home(|_| {});
    let late = agent.at(100.0).hears(Message::Request(request(108)), FA, FA)[0].reply();
    assert_eq!(late.code, Code::HA_IDENTIFICATION);
}

#[test]
fn s5_7_1_a_refused_request_leaves_the_identification_as_it_was() {
    let mut agent = Lone::home(|_| {});
    let forged = Request { proof: Proof::Forged, identification: identification(5, 0), ..request(0) };
    agent.hears(Message::Request(forged), FA, FA);
    assert_eq!(agent.hears(Message::Request(request(0)), FA, FA)[0].reply().code, Code::ACCEPTED);
}

#[test]
fn s3_8_1_a_binding_leads_into_a_tunnel_and_ends_with_its_lifetime() {
    let mut agent = Lone::home(|_| {});
    agent.hears(Message::Request(Request { lifetime: 10, ..request(0) }), FA, FA);
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Into { to: FA, form: Form::IpInIp })));
    agent.until(9.999);
    assert_eq!(agent.agent.bindings().len(), 1);
    agent.until(10.0);
    assert!(agent.agent.bindings().is_empty());
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Direct)));
    assert!(agent.events.contains(&MobileChange::Expired { care_of: FA }));
}

#[test]
fn s3_8_2_2_a_renewal_goes_on_with_the_tunnel() {
    let mut agent = Lone::home(|_| {});
    agent.hears(Message::Request(Request { lifetime: 10, ..request(0) }), FA, FA);
    agent.at(9.0).hears(Message::Request(Request { lifetime: 10, ..request(9) }), FA, FA);
    agent.until(18.0);
    assert_eq!(agent.agent.bindings().len(), 1);
    let begun = agent.events.iter().filter(|it| matches!(it, MobileChange::TunnelBegun { .. })).count();
    let ended = agent.events.iter().filter(|it| matches!(it, MobileChange::TunnelEnded { .. })).count();
    assert_eq!((begun, ended), (1, 0));
}

#[test]
fn s3_8_2_2_a_new_care_of_address_replaces_the_one_before() {
    let mut agent = Lone::home(|_| {});
    agent.hears(Message::Request(request(0)), FA, FA);
    agent.at(1.0).hears(Message::Request(Request { care_of: OTHER, ..request(1) }), OTHER, OTHER);
    let bindings: Vec<Address> = agent.agent.bindings().iter().map(|it| it.care_of).collect();
    assert_eq!(bindings, [OTHER]);
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Into { to: OTHER, form: Form::IpInIp })));
}

/// A home agent with simultaneous bindings of the host at both foreign agents.
fn with_two(most: u32) -> Lone {
    let mut agent = Lone::home(|it| it.most_bindings = most);
    let both = |care_of, seconds| Request { flags: RequestFlags::SIMULTANEOUS, care_of, ..request(seconds) };
    agent.hears(Message::Request(both(FA, 0)), FA, FA);
    agent.at(1.0).hears(Message::Request(both(OTHER, 1)), OTHER, OTHER);
    agent
}

#[test]
fn s3_8_2_2_simultaneous_bindings_are_kept_beside_each_other() {
    let agent = with_two(3);
    assert_eq!(agent.agent.bindings().len(), 2);
    assert_eq!(agent.way_to(MH), Some(WayChange::Also(Way::Into { to: OTHER, form: Form::IpInIp })));
}

#[test]
fn s3_8_2_2_one_binding_of_several_can_be_ended() {
    let mut agent = with_two(3);
    agent.at(2.0).hears(Message::Request(Request { lifetime: 0, ..request(2) }), FA, FA);
    let bindings: Vec<Address> = agent.agent.bindings().iter().map(|it| it.care_of).collect();
    assert_eq!(bindings, [OTHER]);
    assert_eq!(agent.way_to(MH), Some(WayChange::Not(Way::Into { to: FA, form: Form::IpInIp })));
}

#[test]
fn s3_8_2_2_a_host_at_home_ends_all_of_its_bindings() {
    let mut agent = with_two(3);
    agent.until(2.0);
    let home = Request { lifetime: 0, care_of: MH, ..request(2) };
    let sent = agent.hears(Message::Request(home), MH, MH);
    assert_eq!((sent[0].reply().code, sent[0].next_hop), (Code::ACCEPTED, Some(MH)));
    assert!(agent.agent.bindings().is_empty());
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Direct)));
}

#[test]
fn s3_8_2_1_too_many_bindings_are_refused_with_135() {
    let mut agent = with_two(2);
    agent.until(2.0);
    let third = Request { flags: RequestFlags::SIMULTANEOUS, care_of: STRANGER, ..request(2) };
    assert_eq!(agent.hears(Message::Request(third), FA, FA)[0].reply().code, Code::HA_TOO_MANY_BINDINGS);
    assert_eq!(agent.agent.bindings().len(), 2);
}

#[test]
fn s3_4_an_agent_that_keeps_one_binding_says_so_with_code_1() {
    let flags = RequestFlags::SIMULTANEOUS;
    for flags in [flags, RequestFlags::default()] {
        let answer = code(|it| it.most_bindings = 1, Request { flags, ..request(0) });
        assert_eq!(answer, Code::ACCEPTED_WITHOUT_SIMULTANEOUS);
    }
}

#[test]
fn s3_8_2_1_the_keys_of_the_host_and_its_identification_are_checked_before_those_of_the_foreign_agent() {
    let keys = |it: &mut Params| it.foreign_home_authentication = true;
    let it = request(0);
    assert_eq!(code(keys, Request { proof: Proof::Forged, ..it }), Code::HA_MOBILE_AUTHENTICATION);
    assert_eq!(code(keys, Request { identification: identification(100, 0), ..it }), Code::HA_IDENTIFICATION);
    assert_eq!(code(keys, Request { home_agent: OTHER, ..it }), Code::HA_FOREIGN_AGENT_AUTHENTICATION);
}

#[test]
fn s3_5_4_a_registration_that_is_ended_needs_no_authenticator_of_the_foreign_agent() {
    let it = Request { lifetime: 0, ..request(0) };
    assert_eq!(code(|it| it.foreign_home_authentication = true, it), Code::ACCEPTED);
}

#[test]
fn s4_6_the_agent_answers_for_the_absent_host_and_no_longer_when_it_is_back() {
    let mut agent = Lone::home(|_| {});
    agent.hears(Message::Request(request(0)), FA, FA);
    agent.at(1.0).hears(Message::Request(request(1)), FA, FA);
    assert_eq!(agent.proxies, [(MH, true)]);
    agent.at(2.0).hears(Message::Request(Request { lifetime: 0, care_of: MH, ..request(2) }), MH, MH);
    assert_eq!(agent.proxies, [(MH, true), (MH, false)]);
}
