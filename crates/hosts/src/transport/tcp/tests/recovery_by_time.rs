//! RACK-TLP compared with RFC 6675, recoveries with and without proportional rate reduction, and the effect of DSACK on
//! both.

use super::*;
use crate::transport::recovery_choice::Proportional;

/// SACK's congestion control with another recovery. Segments 0 to 9 are outstanding.
fn talk(recovery: RecoveryChoice) -> Talk {
    let (talk, sent) = Talk::with(&Params { recovery, ..params(RFC) }, "sack", RFC);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    talk
}

/// The same, after a round trip of 100 ms in which segment 0 was overtaken by two others.
fn disordered(recovery: RecoveryChoice) -> Talk {
    let mut talk = talk(recovery);
    assert_eq!(talk.after(100).sack(0, &[(1, 2)]), "10");
    assert_eq!(talk.sack(0, &[(1, 3)]), "11");
    assert_eq!(talk.ack(10), "12 13 14 15 16 17 18 19 20");
    talk
}

#[test]
fn three_reports_are_a_loss_while_no_disorder_is_known() {
    let mut talk = talk(RecoveryChoice::Rack);
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.sack(1, &[(2, 3)]), "12");
    assert_eq!(talk.sack(1, &[(2, 4)]), "13");
    assert_eq!(talk.sack(1, &[(2, 5)]), "r1");
    assert_eq!(talk.sender.counters().fast_retransmits, 1);
    // A round trip later the retransmission is acknowledged, and with it the recovery is over.
    assert!(!talk.after(100).ack(14).contains('r'));
    assert_eq!(talk.window(), (5.5, 5.5), "what limited transmit has let out does not count");
}

#[test]
fn where_disorder_is_known_a_segment_may_be_overtaken_by_many() {
    for (recovery, resent) in [(RecoveryChoice::Sack, true), (RecoveryChoice::Rack, false)] {
        let mut talk = disordered(recovery);
        talk.after(100).ack(12);
        let sent: Vec<String> = (14..20).map(|to| talk.sack(12, &[(13, to)])).collect();
        assert_eq!(sent.iter().any(|sent| sent.contains("r12")), resent, "{recovery:?}: {sent:?}");
        // Segment 12 comes 20 ms late, within a quarter of a round trip.
        talk.after(20).ack(20);
        let counters = talk.sender.counters();
        assert_eq!(
            (counters.retransmitted_segments, counters.fast_retransmits),
            (u64::from(resent), u64::from(resent))
        );
    }
}

/// The newest block comes first. If the previous acknowledgements were lost, both blocks contain new information.
#[test]
fn lost_acknowledgements_are_no_disorder() {
    for blocks in [[(5, 6), (2, 4)], [(2, 4), (5, 6)]] {
        let mut talk = talk(RecoveryChoice::Rack);
        talk.after(100).ack(1);
        assert!(talk.sack(1, &blocks).starts_with("r1 r4"), "{blocks:?}");
    }
}

#[test]
fn the_reordering_window_ends() {
    let mut talk = disordered(RecoveryChoice::Rack);
    talk.after(100).ack(12);
    (14..20).for_each(|to| drop(talk.sack(12, &[(13, to)])));
    let now = talk.now;
    assert!(talk.timer().starts_with("r12"));
    assert_eq!(talk.now, now + Span::from_millis(25), "a quarter of the shortest round trip");
    assert_eq!(talk.sender.counters().timeouts, 0);
}

#[test]
fn reported_duplicates_widen_the_reordering_window_once_a_round() {
    for (duplicates, wait) in [(1, 50), (2, 50), (0, 25)] {
        let mut talk = disordered(RecoveryChoice::Rack);
        talk.after(100).ack(12);
        // DSACK (RFC 2883) reports segments that arrived twice.
        (0..duplicates).for_each(|_| drop(talk.sack(12, &[(3, 4)])));
        assert_eq!(talk.sender.counters().reported_duplicates, duplicates);
        (14..20).for_each(|to| drop(talk.sack(12, &[(13, to)])));
        let now = talk.now;
        assert!(talk.timer().starts_with("r12"));
        assert_eq!(talk.now, now + Span::from_millis(wait), "{duplicates}");
    }
}

/// The first outstanding segment is lost; all others are reported 100 ms after they were sent. Returns how long the
/// sender then waits. The acknowledgement of the retransmission ends the recovery, with a report of a duplicate or not.
fn reordering_window_of_a_recovery(talk: &mut Talk, duplicate: bool) -> Span {
    let (una, max, _) = talk.sender.window_edges();
    let segment = |seq: u64| (seq - talk.origin) / SEGMENT;
    let (first, end) = (segment(una), segment(max));
    talk.after(100).sack(first, &[(first + 1, end)]);
    let reported = talk.now;
    assert!(talk.timer().starts_with(&format!("r{first}")));
    let waited = talk.now.since(reported);
    let end = (talk.sender.window_edges().1 - talk.origin) / SEGMENT;
    let report = [(first, first + 1)];
    talk.after(100).sack(end, if duplicate { &report } else { &[] });
    waited
}

/// RFC 8985 §6.2 step 4: DSACK widens the reordering window for 16 recoveries. A recovery that ends with the
/// acknowledgement that carries the report is not one of them ("else if").
#[test]
fn the_reordering_window_stays_wide_for_sixteen_recoveries() {
    let mut talk = disordered(RecoveryChoice::Rack);
    talk.after(100).ack(21);
    let (narrow, wide) = (Span::from_millis(25), Span::from_millis(50));
    assert_eq!(reordering_window_of_a_recovery(&mut talk, true), narrow);
    for recovery in 1..=16 {
        assert_eq!(reordering_window_of_a_recovery(&mut talk, false), wide, "{recovery}");
    }
    assert_eq!(reordering_window_of_a_recovery(&mut talk, false), narrow);
    assert_eq!(talk.sender.counters().timeouts, 0);
}

#[test]
fn a_probe_finds_the_loss_of_the_last_segments() {
    for (recovery, timeouts) in [(RecoveryChoice::Sack, 1), (RecoveryChoice::Rack, 0)] {
        let mut talk = talk(recovery);
        talk.sender.stop(talk.now);
        // 8 and 9 are lost, and no segments follow them.
        talk.after(100).ack(8);
        let waited = talk.now;
        let sent = talk.timer();
        if recovery == RecoveryChoice::Rack {
            assert_eq!((sent.as_str(), talk.now.since(waited)), ("r9", Span::from_millis(200)), "two round trips");
            assert_eq!(talk.after(100).sack(8, &[(9, 10)]), "r8", "9 was sent after 8 and is there");
        } else {
            assert_eq!((sent.as_str(), talk.now.since(waited)), ("r8", Span::from_secs(1)));
            assert_eq!(talk.after(100).ack(9), "r9");
        }
        talk.after(100).ack(10);
        assert!(talk.sender.is_finished());
        assert_eq!(talk.sender.counters().timeouts, timeouts);
        assert_eq!(talk.sender.counters().tail_loss_probes, 1 - timeouts);
    }
}

#[test]
fn a_single_segment_is_given_the_delay_of_its_acknowledgement() {
    let mut talk = talk(RecoveryChoice::Rack);
    talk.sender.stop(talk.now);
    talk.after(100).ack(9);
    let waited = talk.now;
    assert_eq!(talk.timer(), "r9");
    assert_eq!(talk.now.since(waited), Span::from_millis(400), "two round trips and 200 ms");
    assert_eq!(talk.timer(), "r9");
    assert_eq!(talk.sender.counters().timeouts, 1, "one probe, then the timer");
}

#[test]
fn a_probe_is_new_data_if_there_is_any() {
    let (mut talk, _) =
        Talk::with(&Params { recovery: RecoveryChoice::Rack, initial_window: 2, ..params(RFC) }, "sack", RFC);
    let waited = talk.now;
    assert_eq!(talk.timer(), "2", "beyond the window of two");
    assert_eq!(talk.now.since(waited), Span::from_millis(200));
    assert_eq!(talk.sender.counters().retransmitted_segments, 0);
}

/// A probe repairs the loss of segment 9; then one more segment is acknowledged. `report` comes with the answer to the
/// probe.
fn repaired(report: &[(u64, u64)]) -> f64 {
    let mut talk = talk(RecoveryChoice::Rack);
    talk.sender.stop(talk.now);
    talk.after(100).ack(9);
    assert_eq!(talk.timer(), "r9");
    talk.after(100).sack(10, report);
    talk.sender.write(SEGMENT, talk.now);
    assert_eq!(talk.drain(), "10");
    talk.after(100).ack(11);
    assert_eq!(talk.sender.counters().timeouts, 0);
    talk.window().1
}

#[test]
fn a_loss_that_only_the_probe_repaired_cuts_the_window() {
    assert!(repaired(&[]) < 10.0);
    assert_eq!(repaired(&[(9, 10)]), 65_535.0, "the probe was in vain: nothing was lost");
}

#[test]
fn without_probes_the_timer_repairs_the_tail() {
    let params = Params { recovery: RecoveryChoice::Rack, tail_loss_probe: false, ..params(RFC) };
    let (mut talk, _) = Talk::with(&params, "sack", RFC);
    talk.sender.stop(talk.now);
    talk.after(100).ack(9);
    assert_eq!(talk.timer(), "r9");
    assert_eq!((talk.sender.counters().timeouts, talk.sender.counters().tail_loss_probes), (1, 0));
}

#[test]
fn a_lost_retransmission_is_sent_again_without_a_timeout() {
    for (recovery, again) in [(RecoveryChoice::Sack, false), (RecoveryChoice::Rack, true)] {
        let mut talk = talk(recovery);
        talk.after(100).ack(1);
        (3..10).for_each(|to| drop(talk.sack(1, &[(2, to)])));
        // Segments sent after the retransmission are reported a round trip later; segment 1 is still missing.
        talk.after(100);
        let sent: Vec<String> = (11..15).map(|to| talk.sack(1, &[(2, to)])).collect();
        assert_eq!(sent.concat().contains("r1"), again, "{recovery:?}: {sent:?}");
    }
}

/// RFC 8985 §9.3: with proportional rate reduction, the loss of a retransmission reduces the number of segments sent.
/// Without it, the window is reduced again, once for the segments sent since the last reduction.
#[test]
fn the_loss_of_a_retransmission_cuts_the_window_again() {
    for (prr, ssthresh) in [(Proportional::Off, 2.75), (Proportional::On, 5.5)] {
        let (mut talk, _) = Talk::with(&Params { recovery: RecoveryChoice::Rack, prr, ..params(RFC) }, "sack", RFC);
        talk.after(100).ack(1);
        (3..10).for_each(|to| drop(talk.sack(1, &[(2, to)])));
        assert_eq!(talk.window().1, 5.5);
        talk.after(100);
        let sent: Vec<String> = (11..15).map(|to| talk.sack(1, &[(2, to)])).collect();
        assert!(sent.concat().contains("r1"), "{sent:?}");
        assert_eq!(talk.window().1, ssthresh, "{prr:?}");
    }
}

/// A transfer of ten segments whose last three are lost. The probe is sent, and reported `millis` later with a
/// timestamp from before the gap. Data has a round trip of 150 ms, the opening had one of 100 ms.
fn probe_reported_after(millis: u64) -> String {
    let params = Params { recovery: RecoveryChoice::Rack, timestamps: true, ..params(RFC) };
    let (mut talk, _) = Talk::with(&params, "sack", RFC);
    talk.sender.stop(talk.now);
    let sent = talk.now.nanos() / 1_000_000;
    talk.after(150).ack(7);
    assert_eq!(talk.timer(), "r9");
    let seq = |segment: u64| talk.origin + segment * SEGMENT;
    let header = TcpHeader {
        ack: seq(7),
        window: 1 << 20,
        timestamps: Some((0, sent as u32)),
        sack: SackBlocks::new(seq(7), [(seq(9), seq(10))]),
        flags: TcpFlags { ack: true, ..TcpFlags::default() },
        ..TcpHeader::default()
    };
    talk.after(millis).receive(header)
}

/// RFC 8985 §6.2 step 2: TS.Recent does not change while there is a gap, so an old echo does not mean that the original
/// arrived. An answer is too fast for the retransmission only if it is faster than the shortest round trip. The round
/// trip of the SYN counts too.
#[test]
fn the_report_of_a_probe_shows_what_else_is_lost() {
    assert_eq!(probe_reported_after(150), "r7");
    assert_eq!(probe_reported_after(110), "r7", "faster than data, not than the SYN");
    assert_eq!(probe_reported_after(90), "", "the original has arrived");
}

/// RFC 8985 §6.2 step 2: the allowance is counted from the last round trip, also that of a segment which was overtaken.
#[test]
fn an_overtaken_segment_has_its_part_in_the_allowance() {
    let mut talk = disordered(RecoveryChoice::Rack);
    // 12 is overtaken by 13 and comes 20 ms later; then 14 is missing, 120 ms and a quarter of the shortest round trip
    // after it was sent.
    talk.after(100).sack(12, &[(13, 14)]);
    let sent = talk.now;
    talk.after(20).ack(14);
    talk.sack(14, &[(15, 16)]);
    assert_eq!(talk.sender.deadline(), sent + Span::from_millis(45));
}

/// RFC 8985 §6.2 step 2: if an acknowledgement delivers several segments, the most recently sent gives `RACK.rtt`, not
/// the one with the highest sequence number. Here this is the retransmission of segment 1. The reports of 5 to 11 are
/// lost.
#[test]
fn a_retransmission_that_was_sent_last_gives_the_round_trip() {
    for timestamps in [false, true] {
        let params = Params { recovery: RecoveryChoice::Rack, timestamps, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "sack", RFC);
        // The receiver's answers at these times, with the timestamps that it echoes.
        let answer = |talk: &mut Talk, millis: u64, ack: u64, echo: u32, blocks: &[(u64, u64)]| {
            let seq = |segment: u64| talk.origin + segment * SEGMENT;
            let header = TcpHeader {
                ack: seq(ack),
                window: 1 << 20,
                timestamps: timestamps.then_some((0, echo)),
                sack: SackBlocks::new(seq(ack), blocks.iter().map(|&(from, to)| (seq(from), seq(to)))),
                flags: TcpFlags { ack: true, ..TcpFlags::default() },
                ..TcpHeader::default()
            };
            talk.now = Time::ZERO + Span::from_millis(millis);
            talk.receive(header)
        };
        assert_eq!(answer(&mut talk, 200, 1, 100, &[]), "10 11");
        assert_eq!(answer(&mut talk, 270, 1, 100, &[(2, 3)]), "12");
        assert_eq!(answer(&mut talk, 280, 1, 100, &[(2, 4)]), "13");
        assert_eq!(answer(&mut talk, 290, 1, 100, &[(2, 5)]), "r1");
        // 12 and 13 are lost. They were sent before the retransmission, more than its round trip of 100 ms ago. Segment
        // 11 took 190 ms.
        let sent = answer(&mut talk, 390, 12, 290, &[]);
        assert!(sent.starts_with("r12 r13"), "timestamps {timestamps}: {sent}");
    }
}

/// What the sender sends on each of 19 acknowledgements after the loss of the first of 20 segments: new data, a
/// retransmission, or nothing.
fn one_loss_of_twenty(recovery: RecoveryChoice, prr: Proportional) -> String {
    let params = Params { recovery, prr, initial_window: 20, ..params(RFC) };
    let (mut talk, _) = Talk::with(&params, "sack", RFC);
    talk.after(100);
    let mark = |sent: String| match sent.chars().next() {
        None => ".",
        Some('r') => "R",
        Some(_) => "N",
    };
    let line = (2..=20).map(|to| mark(talk.sack(0, &[(1, to)]))).collect();
    assert_eq!(talk.window().1, 10.0);
    line
}

#[test]
fn a_proportional_reduction_is_spread_over_the_round_trip() {
    // The case of RFC 6937 §3.1, with the flight counted as RFC 9937 does. Both end with ten segments in the network.
    assert_eq!(one_loss_of_twenty(RecoveryChoice::Sack, Proportional::Recovery), "NNR.........NNNNNNN");
    let spread = "NNR.N.N.N.N.N.N.N..";
    assert_eq!(one_loss_of_twenty(RecoveryChoice::Sack, Proportional::On), spread);
    assert_eq!(one_loss_of_twenty(RecoveryChoice::Rack, Proportional::Recovery), spread);
    assert_ne!(one_loss_of_twenty(RecoveryChoice::Rack, Proportional::Off), spread);
}

/// RFC 9937: when 1 to 3 of 1 to 9 are lost and one acknowledgement reports the six others, the pipe is empty. The
/// limit is min(6, 4.5 - 0) segments, and the first retransmission is one of them.
#[test]
fn a_proportional_reduction_counts_the_first_retransmission_once() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let params = Params { recovery, prr: Proportional::On, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "sack", RFC);
        // No new data goes out between, so that nine segments are outstanding.
        talk.sender.stop(talk.now);
        assert_eq!(talk.after(100).ack(1), "");
        talk.sender.write(u64::MAX / 2, talk.now);
        assert_eq!(talk.sack(1, &[(4, 10)]), "r1 r2 r3 10", "{recovery:?}");
        assert_eq!(talk.window().1, 4.5, "{recovery:?}");
    }
}

/// RFC 9937: data that is acknowledged cumulatively counts as delivered too. Of 20 segments 10 to 15 are lost, and one
/// acknowledgement covers 0 to 9 and reports 16 to 18. The limit is min(13, 5 - 1) segments, not min(3, 5 - 1).
#[test]
fn a_proportional_reduction_counts_what_an_acknowledgement_of_new_data_delivers() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let params = Params { recovery, prr: Proportional::On, initial_window: 20, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "sack", RFC);
        assert_eq!(talk.after(100).sack(10, &[(16, 19)]), "r10 r11 r12 r13", "{recovery:?}");
        assert_eq!(talk.window(), (5.0, 5.0), "{recovery:?}");
    }
}

#[test]
fn a_proportional_reduction_ends_at_the_window_that_was_asked_for() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let params = Params { recovery, prr: Proportional::On, initial_window: 20, ..params(RFC) };
        let (mut talk, _) = Talk::with(&params, "sack", RFC);
        talk.after(100);
        (2..=20).for_each(|to| drop(talk.sack(0, &[(1, to)])));
        talk.after(100).ack(22);
        assert_eq!(talk.window(), (10.0, 10.0), "{recovery:?}");
    }
}

#[test]
fn a_report_of_a_duplicate_is_no_news() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let mut talk = talk(recovery);
        talk.after(100).ack(4);
        for _ in 0..4 {
            assert_eq!(talk.sack(4, &[(1, 2)]), "", "{recovery:?}");
        }
        assert_eq!(talk.sender.counters().reported_duplicates, 4);
        assert_eq!(talk.sender.counters().fast_retransmits, 0);
    }
}

#[test]
fn the_receiver_reports_duplicates_first() {
    let mut receiver = receiver("every", RFC, true);
    give(&mut receiver, 0);
    assert_eq!(give(&mut receiver, 0), Some((1, vec![(0, 1)])));
    assert_eq!(give(&mut receiver, 2), Some((1, vec![(2, 3)])), "once");
    give(&mut receiver, 3);
    assert_eq!(give(&mut receiver, 5), Some((1, vec![(5, 6), (2, 4)])));
    // Above the acknowledgement the block that holds the duplicate comes next (RFC 2883 §4.2).
    assert_eq!(give(&mut receiver, 3), Some((1, vec![(3, 4), (2, 4), (5, 6)])));
    assert_eq!(give(&mut receiver, 0), Some((1, vec![(0, 1), (2, 4), (5, 6)])));

    let params = Params { connect: Connect::None, dsack: false, ..params(RFC) };
    let mut silent = TcpReceiver::new(&acking::Config::of_profile("every", RFC).expect("a policy"), &params, true);
    give(&mut silent, 0);
    assert_eq!(give(&mut silent, 0), Some((1, vec![])));
}

/// Halves its window of 20, and takes a timeout for an outage.
struct Halves(RecoveryChoice);

impl CongestionControl for Halves {
    fn on_ack(&mut self, _ack: &Ack, _view: &View) -> Answer {
        Answer::Keep
    }
    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        Answer::Set { cwnd: 10.0, ssthresh: 10.0 }
    }
    fn on_timeout(&mut self, _timeout: &Timeout, _view: &View) -> Answer {
        Answer::Freeze { probe: Span::from_secs(2), restore: Restore::BeforeTimeout }
    }
    fn recovery(&self) -> RecoveryChoice {
        self.0
    }
}

impl ExternalControl for Halves {}

#[test]
fn what_an_outage_keeps_of_a_reduction_is_the_window_it_was_to_reach() {
    for recovery in [RecoveryChoice::Sack, RecoveryChoice::Rack] {
        let params = Params { prr: Proportional::On, initial_window: 20, ..params(RFC) };
        let (mut talk, _) = Talk::begin(&params, Controller::External(Box::new(Halves(recovery))));
        talk.after(100);
        (2..=6).for_each(|to| drop(talk.sack(0, &[(1, to)])));
        assert!(talk.window().0 > 15.0, "{recovery:?}: on the way from 20 to 10");
        while talk.sender.counters().timeouts == 0 {
            talk.timer();
        }
        assert!(talk.sender.state().frozen, "{recovery:?}");
        talk.after(5000).ack(1);
        assert_eq!(talk.window(), (10.0, 10.0), "{recovery:?}");
    }
}
