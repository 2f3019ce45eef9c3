//! The medium among a handful of radios: who hears what, when, how strongly.

use hopyard_engine::units::Distance;
use hopyard_engine::{Prefetch, Streams};

use super::super::hearers::delay_nanos;
use super::*;
use crate::address::{Address, InterfaceId};
use crate::params::{Params as _, RFC};
use crate::phy::Sensitivity;
use crate::phy::mode::MODES;
use crate::phy::propagation::Config;
use crate::phy::reception::End;

fn medium(places: &[(f64, f64)], sense: f64, search: Search) -> Medium<()> {
    let params = Params {
        receive: Sensitivity::Range(Distance::new(sense.min(250.0))).into(),
        sense: Sensitivity::Range(Distance::new(sense)),
        ..Params::of_profile(RFC)
    };
    let channel = Config::of_profile("two_ray_ground", RFC).expect("a model").channel();
    Medium::new(&params, channel, Vec::new(), (&[&MODES[0]], false), still(places, search))
}

fn still(places: &[(f64, f64)], search: Search) -> Places {
    let legs: Vec<Leg> = places.iter().map(|&(x, y)| Leg::still(Time::ZERO, Position::ground(x, y))).collect();
    let reception = (0..legs.len()).map(|station| Streams::new(1, 0).node(station, "reception")).collect();
    let (names, factors) = ((0..legs.len() as u32).collect(), Factors::default());
    Places { names, legs, search, reception, links: None, obstacles: Vec::new(), factors, errors: None }
}

fn frame(from: u32, packet: Option<PacketId>, to: InterfaceId) -> Frame<()> {
    Frame {
        transmitter: InterfaceId(from),
        receiver: to,
        airtime: Span::from_micros(500),
        bytes: 38,
        preamble: Span::from_micros(192),
        mode: &MODES[0],
        packet,
        kept: !to.is_broadcast(),
        control: (),
    }
}

/// Writes down every edge: node, whether a signal begins, when. Says `goes_on` when asked whether the next edge comes
/// first.
#[derive(Default)]
struct Recorder {
    goes_on: bool,
    receives: bool,
    seen: Vec<(u32, bool, u64)>,
}

impl Prefetch<usize> for Recorder {}

impl Listener<()> for Recorder {
    fn undisturbed_until(&self) -> Time {
        Time::ZERO
    }

    fn comes_first(&self, _: Time, _: Rank) -> bool {
        self.goes_on
    }

    fn on_begin(&mut self, station: usize, begin: Begin, now: Time) -> bool {
        assert_eq!(begin, Begin::Busy);
        self.seen.push((station as u32, true, now.nanos()));
        false
    }

    fn on_end(&mut self, station: usize, end: End, _: f64, _: &Frame<()>, now: Time) -> After {
        assert!(end.idle);
        self.seen.push((station as u32, false, now.nanos()));
        After::Nothing
    }

    fn outcome(&mut self) -> Outcome {
        if self.receives { Outcome::RECEIVED } else { Outcome::default() }
    }
}

/// Who hears a frame of `from`, and after how many nanoseconds.
fn hearers(medium: &mut Medium<()>, from: u32, now: Time) -> Vec<(u32, u64)> {
    let Some(id) = medium.transmit(from as usize, frame(from, None, InterfaceId(0)), now) else {
        return Vec::new();
    };
    let mut listener = Recorder { goes_on: true, ..Recorder::default() };
    assert_eq!(medium.walk(id, false, &mut listener), Walk::Finished);
    medium.finish(id, usize::MAX);
    listener.seen.iter().filter(|(_, begins, _)| *begins).map(|&(node, _, at)| (node, at - now.nanos())).collect()
}

/// Who hears a frame of station 0 that follows no other, with its delay.
fn alone(medium: &mut Medium<()>, now: Time) -> Vec<(u32, u32)> {
    let mut found = Vec::new();
    medium.hearers.find(0, 0, now, &mut found);
    found.iter().map(|hearer| (hearer.station, hearer.delay)).collect()
}

#[test]
fn edges_come_in_order_of_arrival_at_the_speed_of_light() {
    for (exact, goes_on) in [(false, true), (false, false), (true, true)] {
        let places = [(0.0, 0.0), (300.0, 0.0), (90.0, 0.0), (551.0, 0.0), (549.0, 0.0)];
        let mut medium = medium(&places, 550.0, Search::Auto);
        let start = Time::from_nanos(1_000_000);
        let id = medium.transmit(0, frame(0, None, InterfaceId(2)), start).expect("somebody hears");
        let mut listener = Recorder { goes_on, ..Recorder::default() };
        let mut last = None;
        let mut walks = 0;
        loop {
            let edge = Some(medium.next_edge(id));
            assert!(edge > last, "edges come in the order of time and rank");
            last = edge;
            walks += 1;
            match medium.walk(id, exact, &mut listener) {
                Walk::Next(at, rank) => assert_eq!((at, rank), medium.next_edge(id)),
                Walk::Interrupted => panic!("nobody asked to stop"),
                Walk::Finished => break,
            }
        }
        assert_eq!(walks, if exact || !goes_on { 6 } else { 1 });
        // 90 m, 300 m and 549 m at 3e8 m/s, as in ns-2; node 3 is out of range.
        let begins = [(2, true, 1_000_300), (1, true, 1_001_000), (4, true, 1_001_830)];
        let ends = begins.map(|(node, _, at)| (node, false, at + 500_000));
        assert_eq!(listener.seen, [begins, ends].concat());
        assert_eq!((medium.edges(id), medium.count()), (6, 1));
    }
}

#[test]
fn no_way_over_another_station_is_shorter() {
    let delay = |from: (f64, f64), to: (f64, f64)| delay_nanos((to.0 - from.0).powi(2) + (to.1 - from.1).powi(2));
    for spacing in [100.0, 200.0, 249.9, 250.0] {
        let (first, second, third) = ((0.0, 0.0), (spacing, 0.0), (2.0 * spacing, 0.0));
        assert!(delay(first, third) <= delay(first, second) + delay(second, third), "{spacing} m");
    }
    let mut rng = Streams::new(3, 0).stream("places");
    for _ in 0..10_000 {
        let [a, b, c] = [(); 3].map(|()| (rng.uniform_in(0.0, 800.0), rng.uniform_in(0.0, 2.0)));
        assert!(delay(a, c) <= delay(a, b) + delay(b, c), "{a:?} {b:?} {c:?}");
    }
}

#[test]
fn range_and_threshold_agree() {
    let mut medium = medium(&[(0.0, 0.0), (250.0, 0.0), (250.1, 0.0), (0.0, 550.0), (0.0, 550.2)], 550.0, Search::Auto);
    let mut found = vec![7];
    medium.in_range(0, Time::ZERO, &mut found);
    assert_eq!(found, [1]);
    assert_eq!([1, 2].map(|other| medium.is_in_range(0, other, Time::ZERO)), [true, false]);
    let mut heard: Vec<u32> = hearers(&mut medium, 0, Time::ZERO).into_iter().map(|(node, _)| node).collect();
    heard.sort_unstable();
    assert_eq!(heard, [1, 2, 3]);
}

#[test]
fn nobody_hears_a_node_that_is_alone() {
    let mut medium = medium(&[(0.0, 0.0), (5000.0, 0.0)], 550.0, Search::Auto);
    assert!(medium.transmit(0, frame(0, None, InterfaceId::BROADCAST), Time::ZERO).is_none());
    assert_eq!((medium.count(), medium.in_air, medium.held()), (1, 0, Vec::new()));
}

#[test]
fn the_packet_of_a_broadcast_is_the_mediums_until_its_last_edge() {
    let (_, packet) =
        crate::samples::arp(Address::BROADCAST, crate::packet::ArpMessage::Request { target: Address(1) });
    let mut medium = medium(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0)], 550.0, Search::Auto);
    for (to, owned) in [(InterfaceId::BROADCAST, true), (InterfaceId(1), false)] {
        let id = medium.transmit(0, frame(0, Some(packet), to), Time::ZERO).expect("somebody hears");
        let mut listener = Recorder::default();
        while medium.walk(id, false, &mut listener) != Walk::Finished {
            assert_eq!(medium.held(), if owned { vec![packet] } else { Vec::new() });
        }
        assert_eq!(listener.seen.len(), 4);
        assert_eq!(medium.finish(id, 1), if owned { Ended::HandedOver(packet) } else { Ended::Kept });
        assert!(medium.held().is_empty());
    }
}

#[test]
fn what_is_kept_of_still_nodes_is_forgotten_when_one_moves() {
    let mut medium = medium(&[(0.0, 0.0), (300.0, 0.0), (600.0, 0.0)], 550.0, Search::Auto);
    let start = Time::ZERO;
    assert_eq!(hearers(&mut medium, 0, start), [(1, 1000)]);
    assert_eq!(hearers(&mut medium, 0, start), [(1, 1000)], "from what was kept");
    // Node 2 comes nearer at 10 m/s for ten seconds, then stands still.
    let until = Time::from_nanos(10_000_000_000);
    let going = Leg { start, from: Position::ground(600.0, 0.0), velocity: (-10.0, 0.0, 0.0), until };
    medium.set_leg(2, going);
    assert_eq!(hearers(&mut medium, 0, Time::from_nanos(4_000_000_000)), [(1, 1000)]);
    assert_eq!(hearers(&mut medium, 0, Time::from_nanos(6_000_000_000)), [(1, 1000), (2, 1800)]);
    medium.set_leg(2, Leg::still(until, Position::ground(500.0, 0.0)));
    for _ in 0..2 {
        assert_eq!(hearers(&mut medium, 0, until), [(1, 1000), (2, 1667)]);
        assert_eq!(hearers(&mut medium, 2, until), [(1, 667), (0, 1667)]);
    }
    assert_eq!(medium.position(2, until), Position::ground(500.0, 0.0));
}

#[test]
fn a_frame_that_follows_another_begins_nowhere_before_its_end() {
    let mut rng = Streams::new(9, 0).stream("places");
    let (mut bent, mut frames) = (0, 0);
    for case in 0..40 {
        let places: Vec<(f64, f64)> =
            (0..12).map(|_| (rng.uniform_in(0.0, 600.0), rng.uniform_in(0.0, 600.0))).collect();
        let mut medium = medium(&places, 550.0, Search::Auto);
        for (station, &(x, y)) in places.iter().enumerate() {
            let mut speed = || rng.uniform_in(-60.0, 60.0);
            let velocity = (speed(), speed(), 0.0);
            medium.set_leg(
                station,
                Leg { start: Time::ZERO, from: Position::ground(x, y), velocity, until: Time::NEVER },
            );
        }
        // A frame of 100 ns ends at near nodes before it begins at far ones.
        let airtime = if case % 4 == 0 { Span::from_nanos(100) } else { Span::from_millis(5) };
        let mut ends = vec![Time::ZERO; places.len()];
        for number in 0..20 {
            let start = Time::ZERO + airtime * number;
            let expected = alone(&mut medium, start);
            let sent = Frame { airtime, ..frame(0, None, InterfaceId(1)) };
            let mut part = medium.transmit(0, sent, start);
            while let Some(id) = part {
                let mut last = None;
                for hearer in &medium.transmissions[id.0 as usize].hearers {
                    assert!(last < Some(hearer.order()), "in the order of arrival");
                    last = Some(hearer.order());
                    let begins = start + Span::from_nanos(hearer.delay.into());
                    let end = &mut ends[hearer.station as usize];
                    assert!(begins >= *end, "case {case}, frame {number}, station {}", hearer.station);
                    *end = begins + airtime;
                    bent += usize::from(!expected.contains(&(hearer.station, hearer.delay)));
                    frames += 1;
                }
                part = medium.behind(id);
            }
            // With a gap of a millisecond, delays are again those of the distances.
            if number == 19 {
                let later = start + airtime + Span::from_millis(1);
                let expected = alone(&mut medium, later);
                let id = medium.transmit(0, sent, later);
                let mut found = 0;
                let mut part = id;
                while let Some(id) = part {
                    for hearer in &medium.transmissions[id.0 as usize].hearers {
                        assert!(expected.contains(&(hearer.station, hearer.delay)));
                        found += 1;
                    }
                    part = medium.behind(id);
                }
                assert_eq!(found, expected.len());
            }
        }
    }
    assert!(bent > 100 && bent < frames / 2, "{bent} of {frames} delays are longer than those of the distances");
}

#[test]
fn array_and_grid_find_the_same_hearers_in_the_same_order() {
    let mut rng = Streams::new(7, 0).stream("places");
    let places: Vec<(f64, f64)> =
        (0..400).map(|_| (rng.uniform_in(-2000.0, 3000.0), rng.uniform_in(0.0, 4000.0))).collect();
    let (mut array, mut grid) = (medium(&places, 550.0, Search::Array), medium(&places, 550.0, Search::Grid));
    for node in 0..400 {
        let found = hearers(&mut array, node, Time::ZERO);
        assert!(found.is_sorted_by_key(|&(_, delay)| delay));
        assert_eq!(found, hearers(&mut grid, node, Time::ZERO), "node {node}");
    }
}

#[test]
fn no_signal_is_followed_beyond_the_horizon() {
    // At 60 km a signal would begin after the shortest frame has ended at the transmitter's side.
    let params =
        Params { sense: Sensitivity::Threshold("-150 dBm".parse().expect("a power")), ..Params::of_profile(RFC) };
    let channel = Config::of_profile("free_space", RFC).expect("a model").channel();
    let places = still(&[(0.0, 0.0), (20_000.0, 0.0), (60_000.0, 0.0)], Search::Auto);
    let mut medium = Medium::new(&params, channel, Vec::new(), (&[&MODES[0]], false), places);
    assert_eq!(hearers(&mut medium, 0, Time::ZERO), [(1, 66_667)]);
}

#[test]
fn a_packet_that_the_medium_owns_is_received_or_not() {
    let (_, packet) = crate::samples::arp(Address(1), crate::packet::ArpMessage::Reply);
    for receives in [true, false] {
        let mut medium = medium(&[(0.0, 0.0), (100.0, 0.0)], 550.0, Search::Auto);
        let frame = Frame { kept: false, ..frame(0, Some(packet), InterfaceId(1)) };
        let id = medium.transmit(0, frame, Time::ZERO).expect("somebody hears");
        let mut listener = Recorder { goes_on: true, receives, ..Recorder::default() };
        assert_eq!(medium.walk(id, false, &mut listener), Walk::Finished);
        assert_eq!(medium.held(), [packet]);
        let ended = if receives { Ended::HandedOver(packet) } else { Ended::NotReceived(packet) };
        assert_eq!(medium.finish(id, 1), ended);
        assert_eq!(medium.fate(id, 1), if receives { Fate::Heard } else { Fate::Collision });
        assert_eq!(medium.fate(id, 7), if receives { Fate::Heard } else { Fate::OutOfReach });
    }
}

/// A frame of 10 µs, and hearers up to 60 µs away: it ends at the nearest ones before it begins at the farthest.
#[test]
fn a_short_frame_ends_at_near_hearers_before_it_begins_at_far_ones() {
    let mut medium =
        medium(&[(0.0, 0.0), (300.0, 0.0), (3000.0, 0.0), (3600.0, 0.0), (18_000.0, 0.0)], 20_000.0, Search::Auto);
    let (_, packet) = crate::samples::arp(Address(2), crate::packet::ArpMessage::Reply);
    for round in 0..2 {
        let short = Frame { airtime: Span::from_micros(10), kept: false, ..frame(0, Some(packet), InterfaceId(2)) };
        let id = medium.transmit(0, short, Time::ZERO).expect("somebody hears");
        let parts: Vec<TransmissionId> = std::iter::successors(Some(id), |part| medium.behind(*part)).collect();
        // At node 2 it begins, 10 µs from the transmitter, before it ends at node 1, after 11 µs.
        let mut seen = Vec::new();
        let mut ends = Vec::new();
        for &part in &parts {
            let mut listener = Recorder { goes_on: true, receives: seen.is_empty(), ..Recorder::default() };
            assert_eq!(medium.walk(part, false, &mut listener), Walk::Finished);
            assert!(listener.seen.is_sorted_by_key(|&(_, _, at)| at), "{:?}", listener.seen);
            seen.push(listener.seen.iter().filter(|edge| edge.1).map(|edge| edge.0).collect::<Vec<_>>());
            assert_eq!(medium.held(), [packet], "round {round}");
            ends.push(medium.finish(part, 2));
        }
        assert_eq!(seen, [vec![1, 2], vec![3], vec![4]]);
        assert_eq!(ends, [Ended::Nothing, Ended::Nothing, Ended::HandedOver(packet)], "the first part has decoded it");
        assert!(medium.held().is_empty());
    }
    assert_eq!(medium.transmissions.len(), 3, "their places are free again");
}

#[test]
fn a_strong_sender_is_heard_beyond_the_reach_of_the_others() {
    for search in [Search::Array, Search::Grid] {
        // Station 1 stands at the reach of the others; station 3 hears worse.
        let places = still(&[(0.0, 0.0), (250.0, 0.0), (0.0, 450.0), (450.0, 0.0)], search);
        let params = Params {
            receive: Sensitivity::Range(Distance::new(250.0)).into(),
            sense: Sensitivity::Range(Distance::new(250.0)),
            single: serde_json::from_value(serde_json::json!([
                { "nodes": [0], "gain": "12 dB" },
                { "nodes": [3], "receive": "200 m" },
            ]))
            .expect("single nodes"),
            ..Params::of_profile(RFC)
        };
        let channel = Config::of_profile("two_ray_ground", RFC).expect("a model").channel();
        let factors = Factors::of(&params, &channel, &MODES[0], &[0, 1, 2, 3]);
        let mut medium = Medium::new(&params, channel, Vec::new(), (&[&MODES[0]], false), Places { factors, ..places });
        let now = Time::from_nanos(5);
        let who = |found: Vec<(u32, u64)>| found.into_iter().map(|it| it.0).collect::<Vec<_>>();
        assert_eq!(who(hearers(&mut medium, 0, now)), [1, 2], "{search:?}");
        // Its antenna has the gain for what it hears, too.
        assert_eq!(who(hearers(&mut medium, 2, Time::from_nanos(1_000_000))), [0], "{search:?}");
        assert_eq!(who(hearers(&mut medium, 3, Time::from_nanos(2_000_000))), [1, 0], "{search:?}");
        let mut near = Vec::new();
        medium.in_range(0, now, &mut near);
        assert_eq!((near, medium.reaches(0, 2, now), medium.reaches(0, 3, now)), (vec![1, 2], true, false));
        assert!(medium.is_in_range(0, 2, now) && !medium.is_in_range(0, 3, now) && medium.range().is_none());
    }
}
