//! §3.4: the codes of replies, each by its cause. Others are in the tests of who denies.

use super::super::*;

/// What a foreign agent with these orders answers to a request at this second.
fn by_foreign(seconds: u64, orders: Orders, change: impl FnOnce(&mut Params), request: Request) -> SentMessage {
    let mut agent = Lone::foreign_with(100_000, orders, change);
    let sent = agent.at(seconds as f64).hears(Message::Request(request), request.home, request.home);
    assert_eq!(sent.len(), 1);
    sent[0]
}

fn denied(seconds: u64, orders: Orders, change: impl FnOnce(&mut Params), request: Request) -> Code {
    let sent = by_foreign(seconds, orders, change, request);
    assert_eq!((sent.to, sent.next_hop), (MH, Some(MH)));
    sent.reply().code
}

/// What a home agent with these orders answers to a request of a foreign agent.
fn by_home(seconds: u64, orders: Orders, change: impl FnOnce(&mut Params), request: Request) -> Reply {
    let mut agent = Lone::home_with(orders, change);
    agent.at(seconds as f64).hears(Message::Request(request), FA, FA)[0].reply()
}

/// What a foreign agent sends to the host when it gets this reply of the home agent; nobody becomes a visitor.
fn not_passed_on(change: impl FnOnce(&mut Params), answer: Reply) -> Reply {
    let mut agent = Lone::foreign(100_000, change);
    agent.hears(Message::Request(request(0)), MH, MH);
    let sent = agent.hears(Message::Reply(answer), HA, HA);
    assert!(agent.agent.visitors().is_empty());
    assert_eq!((sent.len(), sent[0].to, sent[0].next_hop), (1, MH, Some(MH)));
    sent[0].reply()
}

#[test]
fn s3_4_an_agent_denies_with_any_code_of_its_own_as_the_scenario_orders() {
    for code in Code::ALL.into_iter().filter(|code| !code.is_accepted()) {
        let orders = || ordered(|orders, during| orders.denials.push((code.0, during)));
        let is_foreign = code.denied_by() == Some(hopyard_wire::mobile_ip::Denier::ForeignAgent);
        let by_foreign = by_foreign(10, orders(), |_| {}, request(10));
        let by_home = by_home(10, orders(), |_| {}, request(10));
        if is_foreign {
            assert_eq!((by_foreign.reply().code, by_home.code), (code, Code::ACCEPTED));
        } else {
            assert_eq!((by_foreign.to, by_home.code), (HA, code));
        }
    }
    let until = || ordered(|orders, during| orders.denials.push((64, during)));
    assert_eq!(by_foreign(9, until(), |_| {}, request(9)).to, HA);
    assert_eq!(by_foreign(20, until(), |_| {}, request(20)).to, HA);
}

#[test]
fn s3_4_65_a_host_that_the_foreign_agent_must_not_serve() {
    let orders = || Orders { no_visits: vec![MH], ..Orders::default() };
    assert_eq!(denied(0, orders(), |_| {}, request(0)), Code::FA_PROHIBITED);
    let other = Request { home: STRANGER, ..request(0) };
    assert_eq!(by_foreign(0, orders(), |_| {}, other).to, HA);
}

#[test]
fn s3_4_67_an_authenticator_for_the_foreign_agent_that_is_wrong_or_missing() {
    let keys = |it: &mut Params| it.mobile_foreign_authentication = true;
    for foreign_proof in [Proof::None, Proof::Forged] {
        let it = Request { foreign_proof, ..request(0) };
        let reply = by_foreign(0, Orders::default(), keys, it).reply();
        // Host and agent share a key, so that the denial has an authenticator.
        assert_eq!((reply.code, reply.foreign_proof), (Code::FA_MOBILE_AUTHENTICATION, Proof::Right));
    }
    let right = Request { foreign_proof: Proof::Right, ..request(0) };
    let sent = by_foreign(0, Orders::default(), keys, right);
    assert_eq!((sent.to, sent.request().foreign_proof), (HA, Proof::None), "it does not go on (§3.5.3)");
}

#[test]
fn s3_4_68_a_reply_whose_authenticator_for_the_foreign_agent_is_wrong_or_missing() {
    let keys = |it: &mut Params| it.foreign_home_authentication = true;
    let answer = reply(&request(0), Code::ACCEPTED);
    for agent_proof in [Proof::None, Proof::Forged] {
        assert_eq!(not_passed_on(keys, Reply { agent_proof, ..answer }).code, Code::FA_HOME_AGENT_AUTHENTICATION);
    }
    let mut agent = Lone::foreign(100_000, keys);
    agent.hears(Message::Request(request(0)), MH, MH);
    let right = Reply { agent_proof: Proof::Right, ..answer };
    assert_eq!(agent.hears(Message::Reply(right), HA, HA)[0].reply(), answer, "without what was for the agent");
    assert_eq!(agent.agent.visitors().len(), 1);
}

#[test]
fn s3_4_70_and_134_a_poorly_formed_request() {
    let short = Request { proof: Proof::Malformed, ..request(0) };
    assert_eq!(denied(0, Orders::default(), |_| {}, short), Code::FA_POOR_REQUEST);
    assert_eq!(by_home(0, Orders::default(), |_| {}, short).code, Code::HA_POOR_REQUEST);
    // Bits that must be zero (§3.8.2.1).
    for flags in [RequestFlags::RESERVED_R, RequestFlags::RESERVED_X] {
        assert_eq!(by_home(0, Orders::default(), |_| {}, Request { flags, ..request(0) }).code, Code::HA_POOR_REQUEST);
    }
}

#[test]
fn s3_4_71_a_poorly_formed_reply() {
    let answer = reply(&request(0), Code::ACCEPTED);
    for proof in [Proof::Malformed, Proof::None] {
        assert_eq!(not_passed_on(|_| {}, Reply { proof, ..answer }).code, Code::FA_POOR_REPLY);
    }
    let orders = ordered(|orders, during| orders.malformed.push(during));
    assert_eq!(by_home(10, orders, |_| {}, request(10)).proof, Proof::Malformed);
}

#[test]
fn s3_4_80_to_88_icmp_errors_about_a_request_that_was_passed_on() {
    let codes =
        [(Unreachable::Network, 80), (Unreachable::Host, 81), (Unreachable::Port, 82), (Unreachable::TimeExceeded, 88)];
    for (why, code) in codes {
        let mut agent = Lone::foreign(100_000, |_| {});
        agent.hears(Message::Request(request(0)), MH, MH);
        let what = Undelivered { why, source: FA, destination: HA, ttl: 1 };
        let other = Request { identification: identification(0, 78), ..request(0) };
        assert!(agent.hears(Message::Unreachable(what, other), OTHER, OTHER).is_empty(), "about another request");
        let sent = agent.hears(Message::Unreachable(what, request(0)), OTHER, OTHER);
        assert_eq!((sent[0].reply().code, sent[0].to), (Code(code), MH));
        // It does not wait any more.
        assert!(agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA).is_empty());
        assert!(agent.until(10.0).is_empty());
    }
}

#[test]
fn s3_4_129_a_host_that_the_home_agent_must_not_serve() {
    let orders = Orders { no_homes: vec![MH], ..Orders::default() };
    assert_eq!(by_home(0, orders, |_| {}, request(0)).code, Code::HA_PROHIBITED);
}

#[test]
fn s3_4_130_a_home_agent_of_more_hosts_than_it_can_serve_away_from_home() {
    let first = Some(Time::ZERO + Span::from_secs(100_000));
    let hosts = vec![MH, STRANGER];
    let role = Role::Router { serves: vec![InterfaceId(HA.0)], is_foreign: false, hosts, first };
    let mut agent = Lone::new(HA, role, Orders::default(), |it| it.most_absent = 1);
    let mut code = |request: Request| agent.hears(Message::Request(request), FA, FA)[0].reply().code;
    assert_eq!(code(request(0)), Code::ACCEPTED);
    assert_eq!(code(Request { home: STRANGER, ..request(0) }), Code::HA_RESOURCES);
    // The one that is away may renew, and leave its place.
    assert_eq!(code(request(1)), Code::ACCEPTED);
    assert_eq!(code(Request { lifetime: 0, ..request(2) }), Code::ACCEPTED);
    assert_eq!(code(Request { home: STRANGER, ..request(3) }), Code::ACCEPTED);
}

#[test]
fn s3_4_132_an_authenticator_of_the_foreign_agent_that_is_wrong_or_missing() {
    let keys = |it: &mut Params| it.foreign_home_authentication = true;
    for (agent_proof, code) in [
        (Proof::None, Code::HA_FOREIGN_AGENT_AUTHENTICATION),
        (Proof::Forged, Code::HA_FOREIGN_AGENT_AUTHENTICATION),
        (Proof::Right, Code::ACCEPTED),
    ] {
        let answer = by_home(0, Orders::default(), keys, Request { agent_proof, ..request(0) });
        assert_eq!((answer.code, answer.agent_proof), (code, Proof::Right));
    }
    // A host at home needs no foreign agent.
    let mut agent = Lone::home(keys);
    let home = Request { lifetime: 0, care_of: MH, ..request(0) };
    let answer = agent.hears(Message::Request(home), MH, MH)[0].reply();
    assert_eq!((answer.code, answer.agent_proof), (Code::ACCEPTED, Proof::None));
}

#[test]
fn s3_5_4_agents_send_each_other_wrong_authenticators_as_the_scenario_orders() {
    let keys = |it: &mut Params| it.foreign_home_authentication = true;
    for (at, proof) in [(9, Proof::Right), (10, Proof::Forged), (20, Proof::Right)] {
        let orders = || ordered(|orders, during| orders.forged.push(during));
        assert_eq!(by_foreign(at, orders(), keys, request(at)).request().agent_proof, proof);
        let authentic = Request { agent_proof: Proof::Right, ..request(at) };
        assert_eq!(by_home(at, orders(), keys, authentic).agent_proof, proof);
    }
}

/// The request of a host that hears a foreign agent at this second.
fn asked(seconds: u64, orders: Orders, change: impl FnOnce(&mut Params)) -> (Lone, Request) {
    let mut host = Lone::host_with(orders, change);
    host.until(seconds as f64);
    let sent = host.hears(Message::Advertisement(Advertisement { lifetime: 1800, ..advertisement(FA, 0) }), FA, FA);
    (host, sent[0].request())
}

#[test]
fn s3_5_3_a_host_sends_what_the_scenario_orders() {
    let keys = |it: &mut Params| it.mobile_foreign_authentication = true;
    let forged = || ordered(|orders, during| orders.forged.push(during));
    assert_eq!(asked(9, forged(), keys).1.foreign_proof, Proof::Right);
    assert_eq!(asked(10, forged(), keys).1.foreign_proof, Proof::Forged);
    assert_eq!(asked(10, forged(), |_| {}).1.foreign_proof, Proof::None);
    let malformed = || ordered(|orders, during| orders.malformed.push(during));
    assert_eq!(asked(10, malformed(), |_| {}).1.proof, Proof::Malformed);
    assert_eq!(asked(20, malformed(), |_| {}).1.proof, Proof::Right);
}

#[test]
fn s3_6_2_1_a_host_ignores_replies_that_its_foreign_agent_has_not_authenticated() {
    let (mut host, request) = asked(0, Orders::default(), |it| it.mobile_foreign_authentication = true);
    let answer = reply(&request, Code::ACCEPTED);
    for foreign_proof in [Proof::None, Proof::Forged] {
        host.hears(Message::Reply(Reply { foreign_proof, ..answer }), FA, FA);
        assert_eq!(host.agent.registration(), None);
    }
    host.hears(Message::Reply(Reply { foreign_proof: Proof::Right, ..answer }), FA, FA);
    assert_eq!(host.agent.registration().map(|it| it.agent), Some(FA));
}

#[test]
fn s3_7_2_a_foreign_agent_alone_takes_no_request_that_another_agent_has_passed_on() {
    let mut agent = Lone::foreign(100_000, |_| {});
    let misled = Request { home_agent: FA, care_of: OTHER, wants_notice: true, ..request(0) };
    assert!(agent.hears(Message::Request(misled), OTHER, WIRED).is_empty(), "the host is no neighbour");
    assert_eq!((agent.untaken(), agent.cx.undelivered.len()), (1, 1), "the other agent is told: code 82");
}
