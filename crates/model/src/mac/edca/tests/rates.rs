//! Stations that choose the mode of each frame.

use super::*;

/// Two stations under a rate control, which have agreed on block acknowledgement.
fn adaptive(control: &str, change: impl FnOnce(&mut Params)) -> Pair {
    let params = params(|it| {
        it.block_ack = BlockAck::FromStart;
        change(it);
    });
    let config = rate_control::Config::of_profile(control, RFC).expect("a rate control");
    let draws = (0..2).map(|station| Streams::new(1, 0).node(station, "rates")).collect();
    Pair::with(Timing::new(&params).with_rates(rate_control::Setup {
        config: &config,
        draws,
        floors: Default::default(),
    }))
}

impl Pair {
    /// The data frames of station 0: the name of the mode, and the number of MPDUs.
    fn modes(&self) -> Vec<(String, usize)> {
        let data = self.sent.iter().filter(|it| it.1 == 0 && is_data(&it.2));
        data.map(|it| (it.2.mode.name().to_string(), it.2.control.mpdus().count().max(1))).collect()
    }
}

#[test]
fn an_aggregate_has_as_many_mpdus_as_its_mode_allows() {
    let mut pair = adaptive("ideal", |_| {});
    pair.queue(40, 1500, 0).run(|_| 0);
    assert_eq!(pair.arrived, (0..40).collect::<Vec<_>>());
    // The first answer tells the ratio of 40 dB.
    let [slow, fast] = ["mcs0", "mcs7"].map(str::to_owned);
    assert_eq!(pair.modes(), [(slow, 2), (fast.clone(), 28), (fast, 10)]);
    // Answers follow the modes of their frames: 6 and 24 Mb/s.
    let answers: Vec<u64> = pair.sent.iter().filter(|it| it.1 == 1).map(|it| it.2.airtime.nanos() / 1000).collect();
    let durations: Vec<u64> =
        pair.sent.iter().filter(|it| it.1 == 0).map(|it| it.2.control.duration.nanos() / 1000).collect();
    assert_eq!((answers, durations), (vec![68, 32, 32], vec![84, 48, 48]));
    assert_eq!(pair.rate_changes, 1);
    let ratio = pair.sent[1].2.control.ratio;
    assert!((ratio / 1e4 - 1.0).abs() < 1e-6, "{ratio}");
}

#[test]
fn protection_announces_the_frames_of_every_mode() {
    use crate::mac::dcf::Protection;
    for (protection, announcements) in [
        (Protection::CtsToSelf, [vec![FrameKind::Cts; 2], vec![]]),
        (Protection::Rts, [vec![FrameKind::Rts; 2], vec![FrameKind::Cts; 2]]),
    ] {
        let mut pair = adaptive("ideal", |it| it.dcf.protection = protection);
        pair.queue(20, 1500, 0).run(|_| 0);
        assert_eq!(pair.modes().iter().map(|it| it.1).collect::<Vec<_>>(), [2, 18], "{protection:?}");
        let found = [0, 1].map(|station| {
            let kinds = pair.kinds(station).into_iter();
            kinds.filter(|kind| matches!(kind, FrameKind::Rts | FrameKind::Cts)).collect::<Vec<_>>()
        });
        assert_eq!(found, announcements, "{protection:?}");
    }
}

#[test]
fn categories_share_what_is_known_of_a_neighbour() {
    let mut pair = adaptive("ideal", |_| {});
    pair.queue(1, 1500, 0).run(|_| 0);
    pair.queue(1, 1500, 48).run(|_| 0);
    assert_eq!(pair.modes(), [("mcs0".to_owned(), 1), ("mcs7".to_owned(), 1)]);
    let tids = pair.sent.iter().filter(|it| it.1 == 0).map(|it| it.2.control.category);
    assert_eq!(tids.collect::<Vec<_>>(), [Some(Category::BestEffort), Some(Category::Voice)]);
    let belief = pair.stations[0].belief(InterfaceId(1)).expect("a frame was answered");
    assert_eq!((belief.mode.name().to_string(), pair.stations[1].belief(InterfaceId(0))), ("mcs7".to_owned(), None));
}

#[test]
fn a_probe_has_one_mpdu() {
    let mut pair = adaptive("minstrel_ht", |_| {});
    pair.queue(400, 1500, 0).run(|_| 0);
    let modes = pair.modes();
    // The first frame of a link is a probe. The next one has the slowest mode, which holds two MPDUs.
    assert!(modes[0].0 != "mcs0" && modes[0].1 == 1, "{:?}", modes[0]);
    assert_eq!(modes[1], ("mcs0".to_owned(), 2));
    assert!(modes.iter().any(|(_, mpdus)| *mpdus > 20), "{modes:?}");
}

#[test]
fn a_lost_aggregate_goes_on_in_the_modes_of_the_chain() {
    let mut pair = adaptive("minstrel_ht", |it| it.mpdu_retry_limit = 9);
    pair.queue(300, 1500, 0);
    // From the middle on nothing arrives.
    let mut arrived = 0;
    pair.run(|frame| {
        arrived += frame.control.mpdus().count();
        if arrived < 200 { 0 } else { ALL }
    });
    let last = pair.sent.iter().rposition(|it| it.1 == 1).expect("an answer");
    let (lost, first) = (&pair.sent[last + 1..], &pair.sent[last + 1].2);
    // All tries of the first stage are sent at once, and an RTS announces those of the next one.
    let tries = lost.iter().take_while(|it| is_data(&it.2)).count();
    assert!(tries >= 2 && first.control.is_aggregate(), "{tries}");
    assert!(lost[..tries].iter().all(|it| it.2.mode.row == first.mode.row));
    assert_eq!(lost[tries].2.control.kind, FrameKind::Rts);
    assert_eq!(pair.arrived.len() + pair.failed.len(), 300);
}

/// The nearest relative: a station without an agreement gives a packet up at the end of the chain.
#[test]
fn an_mpdu_outlives_the_chain_and_a_packet_alone_does_not() {
    let frames = |max_ampdu: u64| {
        let mut pair = adaptive("minstrel_ht", |it| {
            it.max_ampdu = Bytes::new(max_ampdu);
            it.mpdu_retry_limit = 20;
            it.dcf.short_retry_limit = 100;
            it.block_ack = if max_ampdu > 0 { BlockAck::FromStart } else { BlockAck::AtFirstFrame };
        });
        pair.queue(1, 1500, 0);
        // Data frames alone are lost.
        pair.run(|frame| if is_data(frame) { ALL } else { 0 });
        assert_eq!(pair.failed, [0]);
        pair.modes().len()
    };
    assert_eq!((frames(0), frames(65_535)), (7, 20));
}

/// As in the test of the same name without rate control.
#[test]
fn whatever_is_lost_every_packet_arrives_or_is_given_up() {
    for model in rate_control::MODELS {
        for seed in 0..10 {
            let mut pair = adaptive(model.name, |it| {
                it.max_amsdu = Bytes::new(if seed % 2 == 0 { 0 } else { 3839 });
                it.block_ack = if seed % 3 == 0 { BlockAck::FromStart } else { BlockAck::AtFirstFrame };
                (it.dcf.short_retry_limit, it.mpdu_retry_limit) = (3, 3 + seed as u32);
            });
            pair.queue(300, 700, 0).queue(50, 700, 48);
            let mut rng = Streams::new(seed, 0).stream("losses");
            pair.run(|_| if rng.below(4) == 0 { ALL } else { rng.below(u64::MAX) & rng.below(u64::MAX) & !(1 << 63) });
            let (arrived, failed) = (pair.arrived.len(), pair.failed.len());
            assert!(arrived + failed >= 350, "{}, seed {seed}: {arrived} and {failed}", model.name);
        }
    }
}
