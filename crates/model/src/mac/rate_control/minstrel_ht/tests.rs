//! The arithmetic of Linux 6.1, and a link with errors by the ratio of signal to noise.

use std::collections::BTreeMap;

use hopyard_engine::Streams;
use hopyard_engine::units::{Frequency, Ratio};

use super::super::tests::{candidates, ht20};
use super::statistics::Record;
use super::*;
use crate::params::Params as _;
use crate::phy::Mode;
use crate::phy::error_rate::chunk_success;
use crate::phy::mode::{Band, Carrier, Format, Guard};

fn shared(candidates: &Candidates, change: impl FnOnce(&mut Params)) -> Shared {
    let mut params = Params::of_profile("linux");
    change(&mut params);
    MinstrelHt::share(&params, candidates, vec![Streams::new(1, 0).node(0, "rates")])
}

fn ofdm() -> Candidates {
    candidates(&[(20.0, Guard::Long)], |mode| mode.format == Format::Ofdm)
}

fn at(millis: u64) -> Time {
    Time::ZERO + Span::from_millis(millis)
}

/// Success rates enter the filter one after the other.
fn filtered(rates: &[u32]) -> Vec<u32> {
    let mut record = Record::default();
    let filter = |&rate: &u32| {
        record.filter(rate);
        record.probability
    };
    rates.iter().map(filter).collect()
}

#[test]
fn the_filter_has_the_steps_of_linux() {
    let thousandths = |rates: &[u32]| -> Vec<u32> {
        filtered(rates).into_iter().map(|it| (fraction(it) * 1000.0).round() as u32).collect()
    };
    assert_eq!(thousandths(&[4096, 4096, 0, 0, 0, 0]), [1000, 1000, 714, 345, 35, 0]);
    assert_eq!(thousandths(&[0, 0, 4096, 4096, 4096, 4096])[2..], [286, 655, 965, 1000]);
    // The first value is taken as it is.
    assert_eq!(filtered(&[1234]), [1234]);
}

#[test]
fn packets_take_the_times_of_linux() {
    let times = |candidates: &Candidates| -> Vec<u32> {
        Groups::of(candidates).rates.iter().map(|rate| rate.duration).collect()
    };
    assert_eq!(times(&ht20()), [1_476_992, 738_496, 492_480, 369_248, 246_240, 184_736, 164_224, 147_744]);
    let ofdm = times(&ofdm());
    assert_eq!((ofdm[0], ofdm[7]), (1_640_000, 212_000));
    let dsss = Mode::dsss().filter(|mode| !mode.has_short_preamble()).collect::<Vec<_>>();
    assert_eq!(
        times(&Candidates { usual: dsss[0], modes: dsss, floors: Default::default() }),
        [9_833_984, 5_017_856, 1_952_768, 1_076_992]
    );
}

/// The records of a link whose every rate succeeds always, in frames of so many MPDUs.
fn perfect(shared: &Shared, mpdus: u32) -> Statistics {
    let mut statistics = Statistics::new(&shared.groups);
    for _ in 0..400 {
        for rate in &shared.groups.rates {
            let mut tries = Tries::default();
            tries.add(&Choice::of(rate.mode), mpdus);
            let outcome = Outcome { tries: &tries, acknowledged: true, sent: mpdus, delivered: mpdus, ratio: None };
            statistics.count(&outcome, &shared.groups);
        }
        statistics.renew(&shared.groups);
    }
    // The average of whole numbers stays a little below.
    statistics.length = mpdus << 12;
    statistics.renew(&shared.groups);
    statistics
}

#[test]
fn throughputs_are_those_of_linux() {
    let shared = shared(&ht20(), |_| {});
    for (mpdus, expected) in
        [(16, [60, 120, 180, 239, 355, 469, 526, 582]), (1, [56, 106, 149, 188, 254, 307, 330, 351])]
    {
        let statistics = perfect(&shared, mpdus);
        let found: Vec<_> = (0..8).map(|rate| statistics.throughput(rate)).collect();
        assert_eq!(found, expected, "{mpdus} MPDUs");
        assert_eq!((statistics.fastest, statistics.surest), ([7, 6, 5, 4], 7));
    }
    let mut link = MinstrelHt::new(0, Time::ZERO, &shared);
    link.statistics = perfect(&shared, 16);
    link.set_chain(&shared);
    let belief = link.belief(&shared);
    assert_eq!((belief.probability, belief.throughput.map(|rate| rate.bps() / 1000)), (Some(1.0), Some(54_562)));
}

#[test]
fn a_stage_has_as_many_tries_as_fit_into_its_time() {
    let shared = shared(&ht20(), |_| {});
    let tries =
        |statistics: &Statistics, rate| statistics.tries(rate, false, (7, Span::from_millis(6)), &shared.groups);
    let (alone, aggregates) = (perfect(&shared, 1), perfect(&shared, 16));
    assert_eq!((tries(&alone, 7), tries(&aggregates, 7), tries(&alone, 0)), (5, 2, 3));
    assert_eq!(tries(&Statistics::new(&shared.groups), 7), 2, "of an unknown rate");
}

/// A link whose frames of 1000 bytes have errors by the ratio of signal to noise, and the expected success of a mode.
fn success(mode: &Mode, db: f64) -> f64 {
    chunk_success(&mode.body, Ratio::from_db(db).factor(), 8000.0)
}

/// Sends a packet every `gap` microseconds, from one time to another in milliseconds, and returns the number of probes.
fn feed(link: &mut MinstrelHt, shared: &Shared, db: f64, gap: u64, from: u64, until: u64, rng: &mut Rng) -> u32 {
    let mut now = at(from);
    let mut probes = 0;
    while now < at(until) {
        let mut tries = Tries::default();
        let mut acknowledged = false;
        while let Some(choice) = link.choose(&tries, now, shared).filter(|_| !acknowledged) {
            probes += u32::from(choice.probe);
            tries.add(&choice, 1);
            acknowledged = rng.uniform() < success(choice.mode, db);
            if acknowledged {
                break;
            }
        }
        let outcome = Outcome { tries: &tries, acknowledged, sent: 1, delivered: u32::from(acknowledged), ratio: None };
        link.report(&outcome, now, shared);
        now += Span::from_micros(gap);
    }
    probes
}

#[test]
fn a_perfect_link_is_used_at_its_best_within_a_second() {
    let everything =
        candidates(&[(20.0, Guard::Long), (20.0, Guard::Short), (40.0, Guard::Long), (40.0, Guard::Short)], |mode| {
            matches!(mode.format, Format::Ht { .. })
        });
    for candidates in [ofdm(), ht20(), everything] {
        let shared = shared(&candidates, |_| {});
        let mut link = MinstrelHt::new(0, Time::ZERO, &shared);
        let mut rng = Streams::new(3, 0).node(0, "test");
        assert_eq!(link.belief(&shared).mode.row, candidates.usual.row, "the slowest at first");
        feed(&mut link, &shared, 60.0, 500, 0, 1000, &mut rng);
        let fastest = candidates.modes.iter().max_by_key(|mode| mode.rate()).expect("a mode");
        assert_eq!(link.belief(&shared).mode.row, fastest.row);
        let probes = feed(&mut link, &shared, 60.0, 500, 1000, 3000, &mut rng);
        assert!(probes <= 100, "{probes} in two seconds");
    }
}

/// Most of the time, the chosen mode is one whose expected throughput is within 5 % of the largest, for the error
/// rates of the link.
#[test]
fn a_staircase_of_ratios_leads_to_the_mode_of_the_largest_throughput() {
    for candidates in [ofdm(), ht20()] {
        let shared = shared(&candidates, |_| {});
        for db in [3.5, 5.0, 7.5, 8.5, 10.5, 12.0, 15.0, 18.0, 20.0, 23.0, 26.0, 30.0] {
            let mut link = MinstrelHt::new(0, Time::ZERO, &shared);
            let mut rng = Streams::new(5, 0).node(0, "test");
            feed(&mut link, &shared, db, 700, 0, 1000, &mut rng);
            // A few lucky probes may make a mode look better than it is, until it has been used.
            let mut used: BTreeMap<u16, (u32, &Mode)> = BTreeMap::new();
            for step in 100..500 {
                feed(&mut link, &shared, db, 700, 10 * step, 10 * step + 10, &mut rng);
                let mode = link.belief(&shared).mode;
                used.entry(mode.row).or_insert((0, mode)).0 += 1;
            }
            let merit = |mode: &Mode| {
                let rate = shared.groups.rate(mode).expect("a candidate");
                let group = shared.groups.group(rate);
                success(mode, db) / f64::from(group.overhead * 1000 + shared.groups.duration(rate))
            };
            let best = candidates.modes.iter().map(|mode| merit(mode)).fold(0.0, f64::max);
            let (times, chosen) = used.into_values().max_by_key(|it| it.0).expect("a mode");
            assert!(times > 250, "{db} dB: {} in {times} of 400 steps", chosen.name());
            assert!(merit(chosen) > 0.95 * best, "{db} dB: {} of {best:e} for {}", merit(chosen), chosen.name());
        }
    }
}

#[test]
fn a_chain_has_four_stages_and_ends() {
    let shared = shared(&ht20(), |_| {});
    let mut link = MinstrelHt::new(0, Time::ZERO, &shared);
    link.statistics = perfect(&shared, 1);
    link.set_chain(&shared);
    link.probe = at(1000);
    let mut tries = Tries::default();
    let mut announced = Vec::new();
    while let Some(choice) = link.choose(&tries, at(1), &shared) {
        announced.push(choice.announced);
        tries.add(&choice, 1);
    }
    let used: Vec<_> = tries.used.iter().map(|used| (used.mode.name().to_string(), used.frames)).collect();
    let [first, second, third, last] = link.chain.map(|stage| stage.tries);
    let expected = [("mcs7", first), ("mcs6", second), ("mcs5", third), ("mcs7", last)];
    assert_eq!(used, expected.map(|(name, frames)| (name.to_owned(), frames)));
    // From the second stage on, an RTS announces each frame.
    assert_eq!(announced.iter().filter(|it| !**it).count() as u32, first);
    // A probe takes the place of the first stage.
    link.samples = Samples::new(&shared.groups);
    link.samples.refill(&Statistics::new(&shared.groups), &shared.groups, &shared.tables[0]);
    link.probe = at(1);
    let mut tries = Tries::default();
    while let Some(choice) = link.choose(&tries, at(1), &shared) {
        assert_eq!(choice.probe, tries.used.is_empty());
        tries.add(&choice, 1);
    }
    assert_eq!(tries.count(), 1 + second + third + last);
    // The next one comes 20 ms later.
    let probe =
        |link: &mut MinstrelHt, millis| link.choose(&Tries::default(), at(millis), &shared).expect("a mode").probe;
    assert!(!probe(&mut link, 20) && probe(&mut link, 21));
}

#[test]
fn a_rate_that_dies_is_left_at_once() {
    let both = candidates(&[(20.0, Guard::Long)], |mode| matches!(mode.format, Format::Ht { mcs } if mcs < 16));
    let shared = shared(&both, |_| {});
    let mut link = MinstrelHt::new(0, Time::ZERO, &shared);
    link.statistics = perfect(&shared, 1);
    link.set_chain(&shared);
    (link.renewed, link.probe) = (at(1000), at(9000));
    assert_eq!(link.belief(&shared).mode.name().to_string(), "mcs15");
    let mut packets = 0;
    while link.belief(&shared).mode.name().to_string() == "mcs15" {
        let mut tries = Tries::default();
        (0..5).for_each(|_| tries.add(&Choice::of(link.belief(&shared).mode), 1));
        link.report(
            &Outcome { tries: &tries, acknowledged: false, sent: 1, delivered: 0, ratio: None },
            at(1),
            &shared,
        );
        packets += 1;
    }
    // More than thirty frames: the best rate of one stream takes its place.
    assert_eq!((packets, link.belief(&shared).mode.name().to_string()), (7, "mcs7".to_owned()));
}

#[test]
fn groups_are_in_the_order_of_linux() {
    let carrier = |guard| Carrier { band: Band::High, bandwidth: Frequency::new(80e6), guard };
    let modes: Vec<_> = [Guard::Short, Guard::Long].into_iter().flat_map(|guard| Mode::on(carrier(guard))).collect();
    let groups = Groups::of(&Candidates { usual: modes[0], modes, floors: Default::default() });
    let heads: Vec<_> = groups.groups.iter().map(|group| groups.rates[usize::from(group.first())].mode).collect();
    let heads: Vec<_> = heads.into_iter().map(|mode| (mode.guard == Guard::Short, mode.body.streams)).collect();
    let expected: Vec<_> =
        [false, true].into_iter().flat_map(|guard| (1..5).map(move |streams| (guard, streams))).collect();
    assert_eq!(heads, expected);
    // MCS 6 with three streams does not exist.
    assert_eq!((groups.at(2, 5).is_some(), groups.at(2, 6)), (true, None));
}
