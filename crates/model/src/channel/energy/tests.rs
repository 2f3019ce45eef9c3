use super::price::BATTERY;
use super::*;
use crate::params::{NS2, Params as _};
use hopyard_engine::units::Energy;
use hopyard_engine::{Span, Time};

const NOW: fn(u64) -> Time = Time::from_nanos;

fn gauge() -> Gauge {
    let prices = Prices { send: 7, hear: 3, idle: 1, sleep: Some(2), only_decodable: true, packets: None };
    Gauge::new(prices, 1e-10, vec![0, 1])
}

fn times(gauge: &Gauge, now: u64) -> [u64; 3] {
    let spent = gauge.spent(0, NOW(now));
    assert_eq!(spent.total(), spent.send + spent.hear + spent.idle + spent.sleep);
    [spent.sending, spent.hearing, spent.idling].map(Span::nanos)
}

#[test]
fn signals_that_overlap_are_heard_once() {
    let mut gauge = gauge();
    gauge.on_signal(0, 1e-9, NOW(10), NOW(30));
    gauge.on_signal(0, 1e-9, NOW(20), NOW(25));
    gauge.on_signal(0, 1e-9, NOW(25), NOW(40));
    gauge.on_signal(0, 1e-9, NOW(50), NOW(60));
    assert_eq!(times(&gauge, 55), [0, 35, 20], "in the middle of a signal");
    assert_eq!(times(&gauge, 100), [0, 40, 60]);
    gauge.on_signal(0, 1e-11, NOW(110), NOW(150));
    assert_eq!(times(&gauge, 200), [0, 40, 160], "too weak to be decoded");
    assert_eq!(gauge.spent(1, NOW(200)).idle, 200, "the other radio");
}

#[test]
fn a_radio_that_sends_pays_for_nothing_else() {
    let mut gauge = gauge();
    let send = |gauge: &mut Gauge, at, nanos| gauge.on_send(0, FrameClass::MAC, Span::from_nanos(nanos), NOW(at));
    gauge.on_signal(0, 1e-9, NOW(10), NOW(40));
    send(&mut gauge, 20, 10);
    assert_eq!(times(&gauge, 25), [5, 10, 10], "in the middle of a frame");
    assert_eq!(times(&gauge, 40), [10, 20, 10], "what is left of the signal is heard");
    send(&mut gauge, 50, 10);
    gauge.on_signal(0, 1e-9, NOW(55), NOW(58));
    gauge.on_signal(0, 1e-9, NOW(57), NOW(64));
    assert_eq!(times(&gauge, 100), [20, 24, 56]);
    assert_eq!(gauge.spent(0, NOW(100)).total(), 20 * 7 + 24 * 3 + 56);
    let mac = gauge.spent(0, NOW(100)).account.by_purpose[Purpose::Mac as usize];
    assert_eq!(mac, 140);
}

#[test]
fn a_radio_that_stops_takes_nothing_more() {
    let mut gauge = gauge();
    gauge.on_send(0, FrameClass::MAC, Span::from_nanos(30), NOW(20));
    gauge.on_signal(0, 1e-9, NOW(22), NOW(90));
    gauge.switch_off(0, NOW(40));
    gauge.on_signal(0, 1e-9, NOW(95), NOW(99));
    assert_eq!(times(&gauge, 100), [20, 0, 20]);
    let spent = gauge.spent(0, NOW(100));
    assert_eq!((spent.off.nanos(), spent.total()), (60, 160));
    assert_eq!(spent.account.by_purpose[Purpose::Mac as usize], spent.send);
    assert!(gauge.is_off(0) && !gauge.is_off(1));
}

#[test]
fn a_radio_that_sleeps_hears_nothing_and_takes_its_power() {
    let mut gauge = gauge();
    gauge.expect_sleep(0);
    gauge.on_signal(0, 1e-9, NOW(10), NOW(30));
    gauge.sleep(0, NOW(60), NOW(20));
    assert!(gauge.is_asleep(0, NOW(59)) && !gauge.is_asleep(0, NOW(60)) && !gauge.is_asleep(1, NOW(30)));
    gauge.on_signal(0, 1e-9, NOW(40), NOW(50));
    assert_eq!(times(&gauge, 45), [0, 10, 10], "in the middle of its sleep");
    assert_eq!(gauge.spent(0, NOW(45)).sleeping.nanos(), 25);
    gauge.on_signal(0, 1e-9, NOW(55), NOW(70));
    assert_eq!(times(&gauge, 100), [0, 20, 40], "it hears what is left when it wakes");
    let spent = gauge.spent(0, NOW(100));
    assert_eq!((spent.sleeping.nanos(), spent.sleep, spent.total()), (40, 80, 20 * 3 + 40 + 40 * 2));
    assert_eq!(spent.account, Account::default());
    let within = |begin, end| gauge.has_slept(0, (NOW(begin), NOW(end)));
    assert!(within(10, 30) && within(55, 70) && within(30, 40) && !within(5, 20) && !within(60, 70));
}

#[test]
fn a_radio_whose_battery_ends_in_its_sleep_sleeps_no_more() {
    let mut gauge = gauge();
    gauge.expect_sleep(0);
    gauge.sleep(0, NOW(60), NOW(20));
    gauge.switch_off(0, NOW(50));
    assert!(gauge.is_off(0) && !gauge.is_asleep(0, NOW(55)));
    let spent = gauge.spent(0, NOW(100));
    assert_eq!((spent.sleeping.nanos(), spent.off.nanos(), spent.total()), (30, 50, 20 + 60));
}

#[test]
fn powers_are_whole_nanowatts_and_energies_whole_attojoules() {
    let prices = state::Params::of_profile(NS2).prices().expect("prices");
    assert_eq!((prices.send, prices.hear, prices.idle), (660_000_000, 395_000_000, 0));
    let prices =
        per_packet::Params::of_profile(NS2).prices().and_then(|prices| prices.packets).expect("prices of packets");
    assert_eq!(prices.send.of(512), (420_000_000 + 512 * 1_900_000) * 1_000_000);
    assert_eq!(prices.discard.of(1000), -392_800_000_000_000);
    assert_eq!(attojoules(Energy::new(100.0)), 100_000_000_000_000_000_000);
}

#[test]
fn a_battery_is_endless_or_has_something_in_it() {
    let read = |text: &str| serde_json::from_value::<Battery>(text.into()).map_err(|error| error.to_string());
    assert_eq!(read("endless"), Ok(Battery::Endless));
    assert_eq!(read("100 J"), Ok(Battery::Full(Energy::new(100.0))));
    for text in ["0 J", "-3 J", "3 W", "full"] {
        let error = read(text).expect_err(text);
        assert!(error.contains(BATTERY) && error.contains(&format!("found \"{text}\"")), "{error}");
    }
}
