//! §2: agents advertise themselves, and hosts find them.

use super::super::*;

#[test]
fn s2_1_an_advertisement_says_what_the_agent_is() {
    let mut agent = Lone::foreign(0, |_| {});
    let (at, sent) = agent.until(0.5)[0];
    let it = sent.advertisement();
    assert_eq!((at, sent.to, sent.ttl), (0.0, Address::BROADCAST, 1));
    assert_eq!((it.agent, it.care_of, it.lifetime, it.registration_lifetime), (FA, Some(FA), 3, 600));
    assert!(it.flags.contains(AgentFlags::FOREIGN_AGENT) && !it.flags.contains(AgentFlags::HOME_AGENT));
    assert!(!it.flags.contains(AgentFlags::BUSY) && !it.flags.contains(AgentFlags::REVERSE_TUNNEL));
}

#[test]
fn s2_1_1_r_says_that_hosts_must_register_and_a_home_agent_alone_does_not_set_it() {
    let required = |mut agent: Lone| {
        let sent = agent.hears(Message::Solicitation, MH, MH);
        sent[0].advertisement().flags.contains(AgentFlags::REGISTRATION_REQUIRED)
    };
    assert!(!required(Lone::foreign(1, |_| {})));
    assert!(required(Lone::foreign(1, |it| it.registration_required = true)));
    assert!(!required(Lone::home(|it| it.registration_required = true)));
}

#[test]
fn s2_4_1_a_host_registers_with_an_agent_that_requires_it_as_with_any_other() {
    for flags in [AgentFlags::FOREIGN_AGENT, AgentFlags::FOREIGN_AGENT | AgentFlags::REGISTRATION_REQUIRED] {
        let mut host = Lone::host(|_| {});
        let sent = host.hears(Message::Advertisement(Advertisement { flags, ..advertisement(FA, 0) }), FA, FA);
        assert_eq!((sent[0].request().care_of, sent[0].to), (FA, FA));
    }
}

#[test]
fn s2_1_1_a_home_agent_offers_no_care_of_address() {
    let mut agent = Lone::home(|_| {});
    let sent = agent.hears(Message::Solicitation, MH, MH);
    let it = sent[0].advertisement();
    assert!(it.flags.contains(AgentFlags::HOME_AGENT) && !it.flags.contains(AgentFlags::FOREIGN_AGENT));
    assert_eq!(it.care_of, None);
}

#[test]
fn s2_1_1_a_busy_agent_goes_on_advertising_and_says_so() {
    let mut agent = Lone::foreign(1, |it| it.most_visitors = 1);
    agent.hears(Message::Request(request(0)), MH, MH);
    agent.hears(Message::Reply(reply(&request(0), Code::ACCEPTED)), HA, HA);
    let sent = agent.until(1.0);
    assert!(sent[0].1.advertisement().flags.contains(AgentFlags::BUSY));
}

#[test]
fn s2_3_a_solicitation_is_answered_to_its_sender_alone() {
    let mut agent = Lone::foreign(1, |_| {});
    let sent = agent.hears(Message::Solicitation, MH, MH);
    assert_eq!((sent.len(), sent[0].to, sent[0].next_hop), (1, MH, Some(MH)));
    // The next one comes as if none had been sent.
    assert_eq!(agent.until(1.5)[0].0, 1.0);
}

#[test]
fn s2_3_a_solicitation_by_an_interface_that_does_not_serve_has_no_answer() {
    // A host out of the reach of the radio that serves could not be registered.
    let mut agent = Lone::foreign_with_two_radios();
    assert_eq!(agent.hears(Message::Solicitation, WIRED, WIRED), []);
    let sent = agent.hears(Message::Solicitation, MH, MH);
    assert_eq!((sent.len(), sent[0].source), (1, FA));
}

#[test]
fn s2_3_the_time_between_advertisements_is_drawn_anew_each_time() {
    let waits = |change: fn(&mut Params)| {
        let times: Vec<f64> = Lone::foreign(0, change).until(1000.0).into_iter().map(|it| it.0).collect();
        times.windows(2).map(|it| it[1] - it[0]).collect::<Vec<f64>>()
    };
    // RFC 1256 §4.1 and §4.3: uniform between 0.75 and 1 times the longest one.
    let drawn = waits(|_| {});
    assert!(drawn.iter().all(|wait| (0.75..=1.0).contains(wait)), "{drawn:?}");
    let mean = drawn.iter().sum::<f64>() / drawn.len() as f64;
    assert!((mean - 0.875).abs() < 0.01, "{mean}");
    assert!(drawn.iter().any(|wait| *wait < 0.76) && drawn.iter().any(|wait| *wait > 0.99));
    assert!(waits(|it| it.beacon_jitter = 0.0).iter().all(|wait| (wait - 1.0).abs() < 1e-9));
    // ns-2's agents draw nothing; each advertisement alone waits for up to 10 ms.
    assert!(waits(|it| it.procedure = Procedure::Ns2).iter().all(|wait| (wait - 1.0).abs() <= 0.01));
}

#[test]
fn s2_3_2_sequence_numbers_begin_with_0_and_go_on_by_one() {
    let mut agent = Lone::foreign(0, |it| it.beacon_jitter = 0.0);
    let numbers: Vec<u16> = agent.until(3.5).iter().map(|it| it.1.advertisement().sequence).collect();
    assert_eq!(numbers, [0, 1, 2, 3]);
    let answer = agent.hears(Message::Solicitation, MH, MH);
    assert_eq!(answer[0].advertisement().sequence, 4);
}

#[test]
fn s2_3_2_after_65535_comes_256() {
    let mut agent = Lone::foreign(0, |it| it.beacon_jitter = 0.0);
    let numbers: Vec<u16> = agent.until(65_537.5).iter().map(|it| it.1.advertisement().sequence).collect();
    assert_eq!(numbers[65_534..], [65_534, 65_535, 256, 257]);
}

#[test]
fn s2_4_a_host_without_agents_solicits_with_back_off() {
    let mut host = Lone::host(|_| {});
    let times: Vec<f64> = host.until(70.0).into_iter().map(|it| it.0).collect();
    let waits: Vec<f64> = times.windows(2).map(|it| it[1] - it[0]).collect();
    // RFC 1256 §5.1: three a second apart; then each wait is twice the one before. All are somewhat longer, at random.
    assert!(times[0] <= 1.0, "{times:?}");
    let nominal = [1.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0];
    assert!(waits.iter().zip(nominal).all(|(wait, least)| (least..least * 1.25).contains(wait)), "{waits:?}");
    assert!(waits.len() >= 5 && waits[0] != waits[1], "{waits:?}");
}

#[test]
fn s2_4_2_1_a_host_keeps_its_agent_until_the_lifetime_ends() {
    let mut host = Lone::host(|_| {});
    host.hears(Message::Advertisement(advertisement(FA, 0)), FA, FA);
    host.hears(Message::Advertisement(advertisement(OTHER, 0)), OTHER, OTHER);
    assert_eq!(host.agent.current(), Some(FA));
    host.at(2.0).hears(Message::Advertisement(advertisement(OTHER, 1)), OTHER, OTHER);
    host.until(2.999);
    assert_eq!(host.agent.current(), Some(FA));
    // Then it registers with another one whose advertisement is still valid.
    let sent = host.until(3.0);
    assert_eq!(host.agent.current(), Some(OTHER));
    assert!(sent.iter().any(|it| it.1.to == OTHER && it.1.request().care_of == OTHER), "{sent:?}");
}

#[test]
fn s2_4_2_1_a_host_that_has_lost_its_only_agent_solicits() {
    let mut host = Lone::host(|_| {});
    host.hears(Message::Advertisement(advertisement(FA, 0)), FA, FA);
    let sent = host.until(3.0);
    assert_eq!(sent.last().map(|it| (it.0, it.1.message)), Some((3.0, Message::Solicitation)));
    assert_eq!(host.default_way(), Some(WayChange::Only(Way::Nowhere)));
}

#[test]
fn s2_4_2_2_a_host_moves_where_the_prefix_is_another_one() {
    let with_prefix =
        |agent, sequence, length| Advertisement { prefix_length: Some(length), ..advertisement(agent, sequence) };
    for (length, moves) in [(24, true), (16, false)] {
        let mut host = Lone::host(|it| it.move_detection = MoveDetection::Prefix);
        host.hears(Message::Advertisement(with_prefix(FA, 0, length)), FA, FA);
        host.hears(Message::Advertisement(with_prefix(OTHER, 0, length)), OTHER, OTHER);
        assert_eq!(host.agent.current(), Some(if moves { OTHER } else { FA }), "prefixes of {length} bits");
    }
}

#[test]
fn s2_4_3_a_host_that_hears_its_home_agent_is_at_home() {
    let mut host = Lone::host(|_| {});
    host.hears(Message::Advertisement(advertisement(FA, 0)), FA, FA);
    let home = Advertisement { flags: AgentFlags::HOME_AGENT, care_of: None, ..advertisement(HA, 0) };
    let sent = host.hears(Message::Advertisement(home), HA, HA);
    let request = sent[0].request();
    // It ends all of its bindings (§3.6.1.2), and its neighbours learn its link address (§4.6).
    assert_eq!((request.lifetime, request.care_of, sent[0].to), (0, MH, HA));
    assert_eq!(host.announced, 1);
}

#[test]
fn s2_3_2_a_host_registers_again_with_an_agent_that_has_restarted() {
    // Numbers below 256 that are not above the last one tell it, also if the first ones were missed; those after a turn
    // do not.
    for (last, next, again) in [
        (1000, 0, true),
        (1000, 255, true),
        (100, 7, true),
        (255, 254, true),
        (5, 5, true),
        (65_535, 256, false),
        (65_530, 260, false),
        (7, 8, false),
        (7, 300, false),
    ] {
        let mut host = Lone::host(|_| {});
        let sent = host.hears(Message::Advertisement(advertisement(FA, last)), FA, FA);
        let answer = reply(&sent[0].request(), Code::ACCEPTED);
        host.hears(Message::Reply(answer), FA, FA);
        let sent = host.at(1.0).hears(Message::Advertisement(advertisement(FA, next)), FA, FA);
        assert_eq!(!sent.is_empty(), again, "{next} after {last}");
    }
}
