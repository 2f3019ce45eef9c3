//! Every rate control on one link, fed with outcomes.

use hopyard_engine::units::{Frequency, Ratio};
use hopyard_engine::{Span, Streams};

use super::*;
use crate::params::RFC;
use crate::phy::Mode;
use crate::phy::error_rate::chunk_success;
use crate::phy::mode::{Band, Carrier, Format, Guard, Name};

pub(super) const PEER: InterfaceId = InterfaceId(7);

/// The modes of these formats in the 5 GHz band, the first of which is the usual one.
pub(super) fn candidates(channels: &[(f64, Guard)], has: fn(&Mode) -> bool) -> Candidates {
    let carrier = |&(megahertz, guard): &(f64, Guard)| Carrier {
        band: Band::High,
        bandwidth: Frequency::new(megahertz * 1e6),
        guard,
    };
    let modes: Vec<_> = channels.iter().flat_map(|it| Mode::on(carrier(it))).filter(|mode| has(mode)).collect();
    Candidates { usual: modes[0], modes, floors: BTreeMap::new() }
}

/// 6 to 54 Mb/s.
fn ofdm() -> Candidates {
    candidates(&[(20.0, Guard::Long)], |mode| mode.format == Format::Ofdm)
}

pub(super) fn ht20() -> Candidates {
    candidates(&[(20.0, Guard::Long)], |mode| matches!(mode.format, Format::Ht { mcs } if mcs < 8))
}

fn rates(name: &str, candidates: &Candidates) -> Rates {
    let draws = (0..2).map(|station| Streams::new(1, 0).node(station, "rates")).collect();
    Config::of_profile(name, RFC).expect("a rate control").rates(candidates, draws)
}

/// Sends a packet of which so many frames fail before one is acknowledged; nothing if it is given up. Returns the
/// modes of its frames.
pub(super) fn send(rates: &mut Rates, now: Time, mut arrives: impl FnMut(&Choice) -> Option<f64>) -> Tries {
    let mut tries = Tries::default();
    loop {
        let Some(choice) = rates.choose(PEER, &tries, now).filter(|_| tries.count() < 7 || rates.gives_up()) else {
            let outcome = Outcome { tries: &tries, acknowledged: false, sent: 1, delivered: 0, ratio: None };
            rates.report(PEER, &outcome, now);
            return tries;
        };
        tries.add(&choice, 1);
        if let Some(ratio) = arrives(&choice) {
            let outcome = Outcome { tries: &tries, acknowledged: true, sent: 1, delivered: 1, ratio: Some(ratio) };
            rates.report(PEER, &outcome, now);
            return tries;
        }
    }
}

/// The rates of the first frames of packets, in Mb/s. Each packet is given by its number of frames that fail.
fn first_frames(rates: &mut Rates, failures: &[u32]) -> Vec<u64> {
    let first = |&failures: &u32| {
        let mut left = failures;
        let tries = send(rates, Time::ZERO, |_| {
            let arrives = left == 0;
            left = left.saturating_sub(1);
            arrives.then_some(1.0)
        });
        tries.used[0].mode.rate().bps() / 1_000_000
    };
    failures.iter().map(first).collect()
}

fn used(tries: &Tries) -> Vec<(u64, u32)> {
    tries.used.iter().map(|used| (used.mode.rate().bps() / 1_000_000, used.frames)).collect()
}

#[test]
fn arf_goes_up_after_ten_successes_or_at_the_fifteenth_frame() {
    let mut arf = rates("arf", &ofdm());
    assert_eq!(first_frames(&mut arf, &[0; 10]), [6; 10]);
    assert_eq!(first_frames(&mut arf, &[0; 10]), [9; 10]);
    assert_eq!(first_frames(&mut arf, &[0]), [12]);
    // One failure now and then: five packets of two frames, then the timer has counted eleven, and fifteen at last.
    let mut arf = rates("arf", &ofdm());
    assert_eq!(first_frames(&mut arf, &[1, 1, 1, 1, 1, 1, 1, 1, 0]), [6, 6, 6, 6, 6, 6, 6, 6, 9]);
    // At the top there is no step left.
    let top = first_frames(&mut rates("arf", &ofdm()), &[0; 200]);
    assert_eq!((top[69], top[70], top[199]), (48, 54, 54));
}

#[test]
fn arf_goes_down_after_two_failures_or_one_after_a_step_up() {
    let mut arf = rates("arf", &ofdm());
    first_frames(&mut arf, &[0; 20]);
    // The first frame at 12 Mb/s fails, the second goes at 9 Mb/s. Then two failures in a row are needed.
    let mut left = 4;
    let fails = |_: &Choice| {
        left -= 1;
        (left == 0).then_some(1.0)
    };
    assert_eq!(used(&send(&mut arf, Time::ZERO, fails)), [(12, 1), (9, 2), (6, 1)]);
    assert_eq!(first_frames(&mut arf, &[0; 9]), [6; 9]);
    assert_eq!(first_frames(&mut arf, &[0; 1]), [9]);
    // The slowest rate is kept, and a packet that is given up counts with all its frames.
    let mut arf = rates("arf", &ofdm());
    assert_eq!(used(&send(&mut arf, Time::ZERO, |_| None)), [(6, 7)]);
    assert_eq!(first_frames(&mut arf, &[0; 11]), [vec![6; 10], vec![9]].concat());
}

/// The nearest relative: ARF tries the next rate every ten frames, AARF doubles the wait up to sixty.
#[test]
fn aarf_waits_longer_after_each_step_up_that_fails() {
    let probes = |name: &str| {
        let mut rates = rates(name, &ofdm());
        // No frame faster than 12 Mb/s arrives.
        let fails = |choice: &Choice| (choice.mode.rate().bps() <= 12_000_000).then_some(1.0);
        let tries = (0..400).map(|_| used(&send(&mut rates, Time::ZERO, fails))).collect::<Vec<_>>();
        (0..400).filter(|&packet| tries[packet][0].0 == 18).collect::<Vec<_>>()
    };
    let gaps = |probes: Vec<usize>| probes.windows(2).map(|pair| pair[1] - pair[0]).collect::<Vec<_>>();
    assert!(gaps(probes("arf")).iter().all(|gap| *gap == 10));
    // The frame at 12 Mb/s of the packet that probes counts already.
    assert_eq!(gaps(probes("aarf"))[..4], [20, 40, 60, 60]);
    // Two failures in a row at the same rate are no probe: the wait is ten frames again.
    let mut aarf = rates("aarf", &ofdm());
    first_frames(&mut aarf, &[0; 10]);
    first_frames(&mut aarf, &[1]);
    assert_eq!(first_frames(&mut aarf, &[0; 12]), [6; 12], "twenty frames are needed");
    first_frames(&mut aarf, &[2]);
    assert_eq!(first_frames(&mut aarf, &[0; 10]), [vec![6; 9], vec![9]].concat());
}

#[test]
fn ideal_takes_no_mode_that_is_too_weak_to_be_decoded() {
    let mut candidates = ofdm();
    // 54 Mb/s need 40 dB.
    let fastest = candidates.modes.iter().max_by_key(|mode| mode.rate()).expect("a mode");
    candidates.floors = [(fastest.row, 1e4)].into();
    let mut ideal = rates("ideal", &candidates);
    for (db, mbps) in [(39.9, 48), (40.1, 54)] {
        send(&mut ideal, Time::ZERO, |_| Some(Ratio::from_db(db).factor()));
        assert_eq!(ideal.belief(PEER).expect("a frame was sent").mode.rate().bps(), mbps * 1_000_000, "{db} dB");
    }
}

#[test]
fn ideal_takes_the_fastest_mode_that_the_last_ratio_allows() {
    let mut ideal = rates("ideal", &ofdm());
    let rate_at = |ideal: &mut Rates, db: f64| {
        send(ideal, Time::ZERO, |_| Some(Ratio::from_db(db).factor()));
        ideal.belief(PEER).expect("a frame was sent").mode
    };
    assert_eq!(ideal.belief(PEER), None);
    assert_eq!(used(&send(&mut ideal, Time::ZERO, |_| Some(1e9))), [(6, 1)], "nothing is known at first");
    for db in -5..40 {
        let mode = rate_at(&mut ideal, f64::from(db));
        let fits = |mode: &Mode| 1.0 - chunk_success(&mode.body, Ratio::from_db(f64::from(db)).factor(), 1.0) <= 1e-6;
        let best = ofdm().modes.into_iter().filter(|mode| fits(mode)).max_by_key(|mode| mode.rate());
        assert_eq!(mode.name(), best.unwrap_or(ofdm().usual).name(), "{db} dB");
    }
    // After a packet that is given up, the link is as unknown as at first.
    send(&mut ideal, Time::ZERO, |_| None);
    assert_eq!(ideal.belief(PEER).expect("known").mode.rate().bps(), 6_000_000);
    // The noise of 40 MHz is twice that of 20 MHz, in which the ratio is told.
    let both = candidates(
        &[(20.0, Guard::Long), (40.0, Guard::Long)],
        |mode| matches!(mode.format, Format::Ht { mcs } if mcs < 8),
    );
    let mut ideal = rates("ideal", &both);
    for (db, mcs, megahertz) in [(6, 0, 20.0), (8, 0, 40.0), (32, 7, 40.0)] {
        let mode = rate_at(&mut ideal, f64::from(db));
        assert_eq!((mode.name(), mode.body.bandwidth.hertz() / 1e6), (Name::Ht(mcs), megahertz), "{db} dB");
    }
}

/// A link may get worse at once, as under fading. No rate control may go on with a mode in which nothing arrives.
#[test]
fn a_link_that_gets_worse_is_used_again_soon() {
    for model in MODELS.iter().filter(|model| model.name != "fixed") {
        let mut rates = rates(model.name, &ofdm());
        let at = |packet: u64| Time::ZERO + Span::from_millis(packet);
        for packet in 0..2000 {
            send(&mut rates, at(packet), |_| Some(1e9));
        }
        assert_eq!(rates.belief(PEER).expect("known").mode.rate().bps(), 54_000_000, "{model:?}");
        let slow = |choice: &Choice| (choice.mode.rate().bps() <= 12_000_000).then_some(Ratio::from_db(8.0).factor());
        let mut lost = 0;
        for packet in 2000..2400 {
            let mut arrived = false;
            send(&mut rates, at(packet), |choice| slow(choice).inspect(|_| arrived = true));
            lost += u32::from(!arrived);
        }
        // The filter of Minstrel-HT takes four intervals.
        assert!(lost < 250, "{model:?}: {lost} of 400 packets lost");
    }
}

/// Success of a frame by an arithmetic sequence, whatever the mode.
fn arrives(packet: u32, choice: &Choice) -> Option<f64> {
    let faster = u64::from(packet).wrapping_mul(2_654_435_761) >> 7 & 63;
    (choice.mode.rate().bps() / 1_000_000 < faster).then_some(f64::from(packet % 97))
}

#[test]
fn equal_outcomes_lead_to_equal_choices() {
    for model in MODELS {
        let run = || {
            let mut rates = rates(model.name, &ofdm()).of_station(1);
            let at = |packet: u32| Time::ZERO + Span::from_millis(3) * u64::from(packet);
            (0..2000)
                .map(|packet| used(&send(&mut rates, at(packet), |choice| arrives(packet, choice))))
                .collect::<Vec<_>>()
        };
        assert_eq!(run(), run(), "{model:?}");
    }
}

#[test]
fn links_do_not_share_what_they_know() {
    for model in MODELS.iter().filter(|model| model.name != "fixed") {
        let first =
            |rates: &mut Rates| rates.choose(InterfaceId(3), &Tries::default(), Time::ZERO).expect("a mode").mode;
        let untouched = first(&mut rates(model.name, &ofdm()));
        // Whatever its first mode is, a link has changed it after one of these.
        let changes = [Some(1e9), None].map(|ratio| {
            let mut rates = rates(model.name, &ofdm());
            for packet in 0..2000 {
                send(&mut rates, Time::ZERO + Span::from_millis(packet), |_| ratio);
            }
            assert_eq!(first(&mut rates).row, untouched.row, "{}: a new link begins as the first one", model.name);
            assert_eq!(rates.of_station(0).belief(PEER), None);
            rates.belief(PEER).expect("a frame was sent").mode.row != untouched.row
        });
        let name = model.name;
        assert!(changes.contains(&true), "{name}: neither 2000 successes nor 2000 failures have changed the mode");
    }
}

#[test]
fn a_report_says_whether_the_mode_changes() {
    let mut arf = rates("arf", &ofdm());
    let mut tries = Tries::default();
    tries.add(&Choice::of(ofdm().usual), 1);
    let outcome = Outcome { tries: &tries, acknowledged: true, sent: 1, delivered: 1, ratio: None };
    let changes: Vec<_> = (0..21).map(|_| arf.report(PEER, &outcome, Time::ZERO)).collect();
    assert_eq!((0..21).filter(|&place| changes[place]).collect::<Vec<_>>(), [9, 19]);
}
