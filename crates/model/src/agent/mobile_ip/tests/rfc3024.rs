//! Conformance to RFC 3024 (reverse tunnels), one agent or host at a time. Whole networks are in `tests/mobile_ip/`.

use super::*;

fn with_tunnel() -> Request {
    Request { flags: RequestFlags::REVERSE_TUNNEL, ..request(0) }
}

/// The answer of a foreign agent to a request that so many routers have passed on; nothing if it goes on.
fn answer(routers: u8, change: impl FnOnce(&mut Params), request: Request) -> Option<Code> {
    let mut agent = Lone::foreign(100_000, change);
    let sent = agent.hears_after(routers, Message::Request(request), MH, MH);
    (sent[0].to == MH).then(|| sent[0].reply().code)
}

/// A host that hears a foreign agent that offers reverse tunnels, and its request.
fn asking(change: impl FnOnce(&mut Params)) -> (Lone, SentMessage) {
    let mut host = Lone::host(change);
    let flags = AgentFlags::FOREIGN_AGENT | AgentFlags::REVERSE_TUNNEL;
    let offer = Advertisement { flags, lifetime: 1800, ..advertisement(FA, 0) };
    let sent = host.hears(Message::Advertisement(offer), FA, FA);
    (host, sent[0])
}

#[test]
fn s3_1_agents_that_offer_or_require_tunnels_advertise_t() {
    for (offers, requires) in [(false, false), (true, false), (false, true)] {
        let mut agent = Lone::foreign(1, |it| (it.reverse_tunnel, it.reverse_tunnel_mandatory) = (offers, requires));
        let flags = agent.hears(Message::Solicitation, MH, MH)[0].advertisement().flags;
        assert_eq!(flags.contains(AgentFlags::REVERSE_TUNNEL), offers || requires);
    }
}

#[test]
fn s4_1_1_a_request_for_a_tunnel_has_the_highest_time_to_live() {
    let (_, sent) = asking(|it| it.reverse_tunnel = true);
    assert_eq!((sent.ttl, sent.request().flags), (255, RequestFlags::REVERSE_TUNNEL));
    let (_, sent) = asking(|_| {});
    assert_eq!((sent.ttl, sent.request().flags), (1, RequestFlags::default()));
}

#[test]
fn s4_2_1_a_request_that_has_come_over_a_router_is_denied_with_76() {
    let offers = |it: &mut Params| it.reverse_tunnel = true;
    assert_eq!(answer(1, offers, with_tunnel()), Some(Code::FA_TOO_DISTANT));
    assert_eq!(answer(0, offers, with_tunnel()), None);
    // Without a tunnel it may.
    assert_eq!(answer(1, offers, request(0)), None);
}

#[test]
fn s4_2_1_a_request_without_t_is_denied_with_75_where_tunnels_are_mandatory() {
    let requires = |it: &mut Params| it.reverse_tunnel_mandatory = true;
    assert_eq!(answer(0, requires, request(0)), Some(Code::FA_REVERSE_TUNNEL_MANDATORY));
    assert_eq!(answer(0, requires, with_tunnel()), None);
}

#[test]
fn s4_3_1_a_home_agent_denies_with_138_where_tunnels_are_mandatory() {
    let code = |request: Request, from| {
        let mut agent = Lone::home(|it| it.reverse_tunnel_mandatory = true);
        agent.hears(Message::Request(request), from, from)[0].reply().code
    };
    assert_eq!(code(request(0), FA), Code::HA_REVERSE_TUNNEL_MANDATORY);
    assert_eq!(code(with_tunnel(), FA), Code::ACCEPTED);
    // One that ends, and a host at home, need none.
    assert_eq!(code(Request { lifetime: 0, ..request(0) }, FA), Code::ACCEPTED);
    assert_eq!(code(Request { lifetime: 0, care_of: MH, ..request(0) }, MH), Code::ACCEPTED);
}

#[test]
fn s4_1_2_a_host_that_is_denied_for_this_asks_for_a_tunnel() {
    for code in [Code::FA_REVERSE_TUNNEL_MANDATORY, Code::HA_REVERSE_TUNNEL_MANDATORY] {
        let (mut host, sent) = asking(|_| {});
        let again = host.hears(Message::Reply(reply(&sent.request(), code)), FA, FA);
        assert_eq!((again[0].request().flags, again[0].ttl), (RequestFlags::REVERSE_TUNNEL, 255));
        // At another agent, it does without first.
        let flags = AgentFlags::FOREIGN_AGENT | AgentFlags::REVERSE_TUNNEL;
        host.at(1000.0).hears(
            Message::Advertisement(Advertisement { flags, lifetime: 1800, ..advertisement(OTHER, 0) }),
            OTHER,
            OTHER,
        );
        let later = host.until(1801.0);
        let other: Vec<Request> = later.iter().filter(|(_, it)| it.to == OTHER).map(|(_, it)| it.request()).collect();
        assert_eq!(other.first().map(|it| it.flags), Some(RequestFlags::default()));
    }
}

#[test]
fn s5_encapsulating_delivery_is_denied_with_79_and_the_host_delivers_directly() {
    let wants = |it: &mut Params| (it.reverse_tunnel, it.encapsulating_delivery) = (true, true);
    let (mut host, sent) = asking(wants);
    assert!(sent.request().encapsulating);
    assert_eq!(answer(0, wants, sent.request()), Some(Code::FA_DELIVERY_STYLE));
    let denial = Reply { proof: Proof::None, ..reply(&sent.request(), Code::FA_DELIVERY_STYLE) };
    let again = host.hears(Message::Reply(denial), FA, FA)[0].request();
    assert_eq!((again.encapsulating, again.flags), (false, RequestFlags::REVERSE_TUNNEL));
    // Without a tunnel there is no style.
    assert!(!asking(|it| it.encapsulating_delivery = true).1.request().encapsulating);
}
