use hopyard_engine::{Rng, Streams};

use super::*;

const fn mbps(rate: u64) -> Rate {
    Rate::from_bps(rate * 1_000_000)
}

/// ns-2.35, one sender of UDP payload above saturation, basic rate 1 Mb/s, long preamble: rate in Mb/s, payload in
/// bytes, throughput in kb/s with and without RTS. Medians of five seeds.
const ONE_STATION: [(u64, u32, f64, f64); 12] = [
    (1, 64, 201.3, 274.4),
    (1, 512, 668.5, 751.6),
    (1, 1000, 797.2, 854.8),
    (1, 1460, 852.1, 895.9),
    (2, 64, 251.2, 376.3),
    (2, 512, 1069.5, 1298.6),
    (2, 1000, 1383.6, 1567.2),
    (2, 1460, 1532.4, 1681.3),
    (11, 64, 315.0, 539.9),
    (11, 512, 2098.2, 3214.9),
    (11, 1000, 3466.4, 4910.4),
    (11, 1460, 4422.1, 5944.5),
];

/// The same with 2, 5 and 10 senders around one receiver, with and without RTS.
const CONTENTION: [(u64, u32, [f64; 3], [f64; 3]); 5] = [
    (2, 512, [1100.0, 1106.0, 1092.0], [1310.0, 1254.0, 1174.0]),
    (2, 1460, [1553.0, 1557.0, 1541.0], [1661.0, 1561.0, 1439.0]),
    (1, 1460, [859.0, 860.0, 842.0], [871.0, 823.0, 737.0]),
    (11, 512, [2217.0, 2241.0, 2191.0], [3469.0, 3471.0, 3306.0]),
    (11, 1460, [4602.0, 4629.0, 4553.0], [6172.0, 6013.0, 5631.0]),
];

/// UDP and IP headers.
const HEADERS: u32 = 28;

/// Bianchi's 2000 paper: frequency hopping at 1 Mb/s, 8184 bits of payload. All sizes are in bits there; the PLCP
/// header of 128 bits and the MAC header of 272 bits are sent at the one rate.
fn bianchi_2000(rts: bool) -> Dcf {
    Dcf {
        slot: Span::from_micros(50),
        sifs: Span::from_micros(28),
        difs: Span::from_micros(128),
        collision_recovery: Span::from_micros(128),
        plcp: Span::from_micros(128),
        propagation: Span::from_micros(1),
        overhead: Bytes::new(34),
        first_draws: 32,
        last_draws: 1024,
        attempts: None,
        freezing: Freezing::CountsBusySlot,
        ..Dcf::ieee80211b(mbps(1), mbps(1), false, rts)
    }
}

/// The DCF of ns-2.35: a 34-byte overhead, one backoff value less, and a DIFS after EIFS.
fn ns2(data_rate: Rate, control_rate: Rate, rts: bool) -> Dcf {
    let standard = Dcf::ieee80211b(data_rate, control_rate, false, rts);
    Dcf {
        overhead: Bytes::new(34),
        first_draws: 31,
        last_draws: 1023,
        draws_less_one: true,
        collision_recovery: standard.collision_recovery + standard.difs,
        ..standard
    }
}

fn close(found: f64, expected: f64, relative: f64) -> bool {
    (found / expected - 1.0).abs() < relative
}

#[test]
fn one_station_agrees_with_ns2() {
    for (rate, payload, with_rts, without) in ONE_STATION {
        for (rts, expected) in [(true, with_rts), (false, without)] {
            let found = ns2(mbps(rate), mbps(1), rts).one_station(payload + HEADERS, payload) / 1e3;
            // Seeds differ by up to 0.3 percent in ns-2, in the shortest cells.
            assert!(
                close(found, expected, 1.6e-3),
                "{rate} Mb/s, {payload} B, RTS {rts}: {found}, ns-2 has {expected}"
            );
        }
    }
}

#[test]
fn contention_agrees_with_ns2() {
    let mut misses = 0;
    for (rate, payload, with_rts, without) in CONTENTION {
        for (rts, row) in [(true, with_rts), (false, without)] {
            let dcf = ns2(mbps(rate), mbps(1), rts);
            for (stations, expected) in [2, 5, 10].into_iter().zip(row) {
                let found = dcf.saturation(stations, payload + HEADERS, payload).throughput / 1e3;
                assert!(close(found, expected, 0.04), "{stations} at {rate} Mb/s, {payload} B: {found} for {expected}");
                misses += usize::from(!close(found, expected, 0.01));
            }
        }
    }
    // Ten senders of long frames are below the model by up to 4 percent in ns-2's ten seconds; all else is within 1
    // percent.
    assert!(misses <= 3, "{misses} of 30 cells miss by more than a hundredth");
}

#[test]
fn exchanges_have_the_times_of_the_standard() {
    // DIFS 50, RTS 352, CTS 304, data 192 + 4·1534, ACK 304, three SIFS: long preamble, 2 Mb/s, 1500 bytes and 34.
    let dcf = ns2(mbps(2), mbps(1), true);
    assert!(close(dcf.exchange(1500), 7368e-6, 1e-12), "{}", dcf.exchange(1500));
    // 11 Mb/s with the short preamble, control at 2 Mb/s: 50 + 96 + 1528·8/11 + 10 + 96 + 56.
    let dcf = Dcf::ieee80211b(mbps(11), mbps(2), true, false);
    assert!(close(dcf.exchange(1500), (308.0 + 1528.0 * 8.0 / 11.0) * 1e-6, 1e-9));
    assert_eq!(dcf.collision_recovery, Span::from_micros(268));
    assert_eq!(Dcf::ieee80211b(mbps(1), mbps(1), false, false).collision_recovery, Span::from_micros(364));
}

#[test]
fn with_one_station_every_account_is_the_same_arithmetic() {
    for freezing in [Freezing::CountsBusySlot, Freezing::Stops] {
        for dcf in [Dcf::ieee80211b(mbps(11), mbps(1), true, true), ns2(mbps(2), mbps(1), false)] {
            let dcf = Dcf { freezing, ..dcf };
            let saturation = dcf.saturation(1, 1500, 1460);
            assert!(close(saturation.throughput, dcf.one_station(1500, 1460), 1e-9), "{freezing:?}");
            assert!(saturation.collision < 1e-12);
        }
    }
}

#[test]
fn busy_periods_are_those_of_bianchi() {
    // Bianchi 2000 §V: with K = √(Tc/2σ) = 9.334 for basic access and 2.042 with RTS the best tau is 1/(nK).
    for (rts, success, collision, k) in [(false, 8982e-6, 8713e-6, 9.334), (true, 9568e-6, 417e-6, 2.042)] {
        let dcf = bianchi_2000(rts);
        assert!(close(dcf.exchange(1023), success, 1e-12), "{}", dcf.exchange(1023));
        assert!(close(dcf.collision(1023), collision, 1e-12), "{}", dcf.collision(1023));
        assert!(close(libm::sqrt(dcf.collision(1023) / 2.0 / dcf.slot.seconds()), k, 1e-4));
    }
}

#[test]
fn tau_is_that_of_bianchi() {
    // Equation 7 of the paper, with W = 32 and m = 5.
    let dcf = bianchi_2000(false);
    for p in [0.0, 0.1, 0.3, 0.45, 0.7] {
        let equation = 2.0 * (1.0 - 2.0 * p) / ((1.0 - 2.0 * p) * 33.0 + p * 32.0 * (1.0 - libm::pow(2.0 * p, 5.0)));
        assert!(close(dcf.tau(p), equation, 1e-12), "{} at {p}", dcf.tau(p));
    }
}

#[test]
fn no_window_does_better_than_bianchis_maximum() {
    // The throughput at that tau, in the limit of many stations: 0.824 for basic access, 0.836 with RTS.
    for (rts, maximum) in [(false, 0.824), (true, 0.836)] {
        let best = (3..12)
            .map(|exponent| {
                // A constant window.
                let draws = 1 << exponent;
                Dcf { first_draws: draws, last_draws: draws, ..bianchi_2000(rts) }.saturation(20, 1023, 1023).throughput
            })
            .fold(0.0, f64::max);
        assert!(best / 1e6 < maximum + 0.008 && best / 1e6 > maximum - 0.008, "{best}");
    }
}

/// Stations that count down slot by slot, one attempt after the other: throughput in bits per second.
fn draw_slots(dcf: &Dcf, stations: usize, size: u32, payload: u32, rng: &mut Rng) -> f64 {
    let windows = |attempt: u32| {
        (0..attempt).fold(dcf.first_draws, |draws, _| (draws * 2 + u32::from(dcf.draws_less_one)).min(dcf.last_draws))
    };
    let mut attempts = vec![0_u32; stations];
    let mut counters: Vec<u64> = (0..stations).map(|_| rng.below(u64::from(dcf.first_draws))).collect();
    let (mut time, mut packets) = (0.0, 0.0);
    for _ in 0..200_000 {
        let least = counters.iter().copied().min().unwrap_or(0);
        time += least as f64 * dcf.slot.seconds();
        let senders: Vec<usize> = (0..stations).filter(|&station| counters[station] == least).collect();
        counters.iter_mut().for_each(|counter| *counter -= least);
        let delivered = senders.len() == 1;
        time += if delivered { dcf.exchange(size) } else { dcf.collision(size) };
        packets += f64::from(u8::from(delivered));
        for station in senders {
            attempts[station] = if delivered { 0 } else { attempts[station] + 1 };
            if Some(attempts[station]) == dcf.attempts {
                attempts[station] = 0;
            }
            counters[station] = rng.below(u64::from(windows(attempts[station])));
        }
    }
    packets * f64::from(payload) * 8.0 / time
}

#[test]
fn saturation_is_what_drawn_slots_come_to() {
    let mut rng = Streams::new(11, 0).stream("slots");
    for dcf in [
        Dcf::ieee80211b(mbps(11), mbps(1), false, false),
        Dcf::ieee80211b(mbps(2), mbps(2), true, true),
        ns2(mbps(11), mbps(1), true),
    ] {
        for stations in [2, 5, 10, 20] {
            let drawn = draw_slots(&dcf, stations, 540, 512, &mut rng);
            let refined = dcf.saturation(stations as u32, 540, 512).throughput;
            assert!(close(refined, drawn, 0.012), "{stations}: {refined}, drawn {drawn}");
        }
    }
}

#[test]
fn more_stations_collide_more() {
    let dcf = Dcf::ieee80211b(mbps(2), mbps(1), false, false);
    let collisions: Vec<f64> = (1..20).map(|n| dcf.saturation(n, 1500, 1460).collision).collect();
    assert!(collisions.windows(2).all(|pair| pair[0] < pair[1]), "{collisions:?}");
}
