//! §2.3.2 and §2.4.4: agents that stop, begin anew, and have forgotten their hosts.

use super::super::*;

fn second(at: u64) -> Time {
    Time::ZERO + Span::from_secs(at)
}

/// Orders to begin anew at 10 s.
fn restart() -> Orders {
    Orders { stops: vec![(second(10), second(10))], ..Orders::default() }
}

#[test]
fn s2_3_2_an_agent_that_begins_anew_counts_from_0() {
    let mut agent = Lone::foreign_with(0, restart(), |it| it.beacon_jitter = 0.0);
    let sent: Vec<(f64, u16)> =
        agent.until(12.5).iter().map(|(at, it)| (*at, it.advertisement().sequence)).skip(8).collect();
    assert_eq!(sent, [(8.0, 8), (9.0, 9), (10.0, 0), (11.0, 1), (12.0, 2)]);
}

#[test]
fn s2_3_2_a_foreign_agent_forgets_its_visitors_and_what_leads_to_them() {
    let mut agent = Lone::foreign_with(100_000, restart(), |it| it.reverse_tunnel = true);
    let with_tunnel = Request { flags: RequestFlags::REVERSE_TUNNEL, ..request(0) };
    agent.hears(Message::Request(with_tunnel), MH, MH);
    agent.hears(Message::Reply(reply(&with_tunnel, Code::ACCEPTED)), HA, HA);
    assert_eq!((agent.agent.visitors().len(), agent.source_ways.len()), (1, 1));
    agent.until(10.0);
    assert!(agent.agent.visitors().is_empty());
    assert_eq!((agent.way_to(MH), agent.source_ways.last()), (Some(WayChange::Clear), Some(&None)));
}

#[test]
fn s2_3_2_a_foreign_agent_forgets_requests_without_a_reply() {
    let mut agent = Lone::foreign_with(100_000, restart(), |_| {});
    agent.at(9.0).hears(Message::Request(request(9)), MH, MH);
    assert!(agent.until(30.0).is_empty(), "no denial with code 78");
    assert!(agent.hears(Message::Reply(reply(&request(9), Code::ACCEPTED)), HA, HA).is_empty());
    assert!(agent.agent.visitors().is_empty());
}

#[test]
fn s2_3_2_a_home_agent_forgets_its_bindings_with_their_tunnels_and_proxies() {
    let mut agent = Lone::home_with(restart(), |_| {});
    agent.hears(Message::Request(request(0)), FA, FA);
    assert_eq!(agent.agent.bindings().len(), 1);
    agent.until(10.0);
    assert!(agent.agent.bindings().is_empty());
    assert_eq!(agent.way_to(MH), Some(WayChange::Only(Way::Direct)));
    assert_eq!(agent.proxies, [(MH, true), (MH, false)]);
    assert!(agent.events.contains(&MobileChange::TunnelEnded { to: FA }));
    // It takes the next request, and knows no more which ones it has accepted.
    assert_eq!(agent.hears(Message::Request(request(10)), FA, FA)[0].reply().code, Code::ACCEPTED);
}

#[test]
fn s2_3_2_an_agent_that_does_not_run_is_silent_and_takes_nothing() {
    let orders = ordered(|orders, during| orders.stops.push(during));
    let mut agent = Lone::foreign_with(0, orders, |_| {});
    assert!(agent.at(15.0).hears(Message::Solicitation, MH, MH).is_empty());
    assert!(agent.hears(Message::Request(request(15)), MH, MH).is_empty());
    assert_eq!(agent.untaken(), 1, "the request is accounted for");
    let sent = agent.until(20.0);
    assert_eq!(sent.iter().map(|(at, it)| (*at, it.advertisement().sequence)).collect::<Vec<_>>(), [(20.0, 0)]);
    assert_eq!(agent.hears(Message::Request(request(20)), MH, MH)[0].to, HA);
}

#[test]
fn s2_3_2_one_that_has_not_advertised_yet_waits_for_its_time() {
    let mut agent = Lone::foreign_with(11, restart(), |_| {});
    let sent = agent.until(11.5);
    assert_eq!(sent.iter().map(|(at, it)| (*at, it.advertisement().sequence)).collect::<Vec<_>>(), [(11.0, 0)]);
}

#[test]
fn s2_4_4_a_host_at_home_does_not_mind() {
    let mut host = Lone::host(|_| {});
    let home = |sequence| {
        Message::Advertisement(Advertisement {
            flags: AgentFlags::HOME_AGENT,
            care_of: None,
            ..advertisement(HA, sequence)
        })
    };
    assert!(host.hears(home(1000), HA, HA).is_empty());
    assert!(host.hears(home(0), HA, HA).is_empty());
}
