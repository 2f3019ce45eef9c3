//! The radios of kernels, whose part the tests play: messages of `mac80211_hwsim` go in and come out.

use std::path::Path;

use hopyard_kernels::{FromNetwork, Network as _, Ticket};
use hopyard_model::observe::capture::station_of;
use hopyard_model::world::World;
use hopyard_scenario::Scenario;
use hopyard_wire::hwsim::{FromKernel, Stage as Rate};

use super::*;
use crate::hosts::Hosts;
use crate::stations::Stations;

const NUMBER: HardwareAddress = HardwareAddress([0x42, 0, 0, 0, 0, 0]);
/// The places of rates in hwsim's list.
const AT_6: i8 = 4;
const AT_54: i8 = 11;

/// The keys of 802.11g and n.
const OF_G: &str = "edca.standard = \"g\"\n";
const OF_N: &str = "edca.standard = \"n\"\nedca.band = \"2.4 GHz\"\nedca.rate = \"mcs7\"\n\
                    edca.guard_interval = \"short\"\n";

/// Three nodes in a row with Wi-Fi, of which each hears the next one alone.
fn hosts(wifi: &str, queue: u32) -> Hosts<()> {
    hosts_with(OF_G, wifi, queue)
}

fn hosts_with(amendment: &str, wifi: &str, queue: u32) -> Hosts<()> {
    let text = format!(
        "duration = \"10 s\"\n[nodes]\ncount = 3\nspacing = \"200 m\"\nsystem = \"linux\"\n[linux]\nwifi = \"{wifi}\"\n\
         [radio]\nreceive = \"250 m\"\nsense = \"550 m\"\n[link]\nqueue_length = {queue}\n\
         [mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\n{amendment}"
    );
    let scenario =
        Scenario::load(&text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let spec = scenario.spec(0);
    let wireless = Wireless::of(scenario.linux().expect("kernels"), &spec).expect("Wi-Fi");
    let world: World<()> = World::with_probe(&spec, ()).expect("a world");
    let nodes: Vec<_> = (0..3).map(NodeId).collect();
    let room = spec.link.queue_limit.capacity(spec.link.queue_length);
    let stations = Stations::new(&nodes, room, Streams::new(spec.seed, spec.run), Time::ZERO + spec.duration);
    let mut hosts = Hosts::of_radios(world, nodes, stations, (&wireless, &spec)).expect("radios");
    for kernel in 0..3 {
        let address = station_of(InterfaceId(kernel));
        tell(&mut hosts, kernel as usize, Time::ZERO, &FromKernel::AddAddress { radio: NUMBER, address });
    }
    hosts
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

fn tell(hosts: &mut Hosts<()>, kernel: usize, at: Time, message: &FromKernel) {
    let mut bytes = Vec::new();
    message.emit(&mut bytes);
    let sending = hosts.send(at, &bytes, Ticket::new(port(kernel), 0)).expect("it goes on");
    assert_eq!(sending, hopyard_kernels::Sending::Done);
}

/// A frame of this kind from a station to another, or to all, with a series of rates.
fn frame(kind: u8, (from, to): (u32, Option<u32>), rates: &[(i8, u8)], cookie: u64) -> Outgoing {
    let to = to.map_or(HardwareAddress::BROADCAST, |to| station_of(InterfaceId(to)));
    let mut bytes = vec![kind, 0, 0, 0];
    bytes.extend([to.0, station_of(InterfaceId(from)).0, [6, 0, 0, 0, 0, 0]].concat());
    bytes.extend([0; 80]);
    let mut series = [Rate { rate: -1, ..Rate::default() }; STAGES];
    for (stage, &(rate, tries)) in series.iter_mut().zip(rates) {
        *stage = Rate { rate, tries, flags: 0 };
    }
    Outgoing { radio: NUMBER, frame: bytes, flags: flags::WANTS_STATUS, frequency: 2437, series, cookie }
}

/// A message for a kernel: when, which kernel, its command, its frame, its flags, its cookie, its series, and the flags
/// of the series if it has any.
#[derive(Debug, PartialEq)]
struct Told {
    at: Time,
    kernel: usize,
    status: bool,
    frame: Vec<u8>,
    flags: u32,
    cookie: u64,
    series: Vec<(i8, u8)>,
    rates: Vec<u16>,
}

/// Goes on until a time: all messages for kernels.
fn advance(hosts: &mut Hosts<()>, until: Time) -> Vec<Told> {
    let mut all = Vec::new();
    while let Some(next) = hosts.next_event().filter(|next| *next <= until) {
        hosts.step(next).expect("it goes on");
        while let Some(departure) = hosts.departure() {
            let FromNetwork::Frame { to, frame } = departure else { panic!("{departure:?}") };
            all.push(told(next, to.kernel, &frame));
        }
    }
    all
}

/// Reads a message for a kernel, which has the form of one of a kernel.
fn told(at: Time, kernel: usize, message: &[u8]) -> Told {
    let (frame, series, rates) = Default::default();
    let mut found = Told { at, kernel, status: message[16] == 3, frame, flags: 0, cookie: 0, series, rates };
    let mut rest = &message[20..];
    while let [low, high, kind, 0, ..] = *rest {
        let size = usize::from(u16::from_le_bytes([low, high]));
        let content = &rest[4..size];
        let number = |bytes: &[u8]| bytes.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte));
        match kind {
            3 => found.frame = content.to_vec(),
            4 => found.flags = number(content) as u32,
            7 => found.series = content.chunks(2).map(|it| (it[0].cast_signed(), it[1])).collect(),
            8 => found.cookie = number(content),
            21 => found.rates = content.chunks(3).map(|it| u16::from_le_bytes([it[1], it[2]])).collect(),
            _ => {}
        }
        rest = &rest[size.next_multiple_of(4).min(rest.len())..];
    }
    found
}

const DATA_FRAME: u8 = 0x08;

#[test]
fn linux_learns_how_often_a_frame_was_tried() {
    let mut hosts = hosts("ibss", 50);
    let good = frame(DATA_FRAME, (0, Some(1)), &[(AT_54, 2), (AT_6, 3)], 7);
    // Two hops away.
    let bad = frame(DATA_FRAME, (0, Some(2)), &[(AT_54, 1), (AT_6, 2)], 8);
    tell(&mut hosts, 0, at(100), &FromKernel::Frame(good.clone()));
    tell(&mut hosts, 0, at(100), &FromKernel::Frame(bad));
    let told = advance(&mut hosts, at(100_000));
    let [arrived, first, second] = &told[..] else { panic!("{told:#?}") };
    // Its duration is the MAC's to tell: SIFS and the ACK at 24 Mb/s, with the signal extension.
    assert_eq!((arrived.kernel, arrived.status, &arrived.frame[4..]), (1, false, &good.frame[4..]));
    assert_eq!(arrived.frame[2..4], [44, 0]);
    let none = (-1, 0);
    assert_eq!((first.kernel, first.cookie, first.flags), (0, 7, flags::WANTS_STATUS | flags::ACKNOWLEDGED));
    assert_eq!(first.series, [(AT_54, 1), none, none, none]);
    assert_eq!((second.kernel, second.cookie, second.flags), (0, 8, flags::WANTS_STATUS));
    assert_eq!(second.series, [(AT_54, 1), (AT_6, 2), none, none]);
    assert!(hosts.refused.is_empty());
}

/// Frames of a session share a frame on the air, and the status of one of them tells the fate of all. A probe goes
/// alone, and tells its own.
#[test]
fn the_status_of_one_tells_the_fate_of_a_session() {
    let mut hosts = hosts_with(OF_N, "ibss", 50);
    let rates = rate_flags::HT | rate_flags::SHORT_GUARD;
    for number in 0..5_u16 {
        let mut one = frame(QOS_DATA, (0, Some(1)), &[(7, 2), (3, 2)], u64::from(number));
        one.frame[22..24].copy_from_slice(&(number << 4).to_le_bytes());
        one.series[0].flags = rates;
        one.series[1].flags = rate_flags::HT | rate_flags::RTS;
        one.flags |= flags::AMPDU | if number == 4 { flags::PROBE } else { 0 };
        tell(&mut hosts, 0, at(100), &FromKernel::Frame(one));
    }
    // A legacy rate, without a session; and a mode of two streams, which the channel does not have.
    tell(&mut hosts, 0, at(100), &FromKernel::Frame(frame(DATA_FRAME, (0, Some(1)), &[(0, 2)], 5)));
    let mut wide = frame(DATA_FRAME, (0, Some(1)), &[(8, 2)], 6);
    wide.series[0].flags = rates;
    tell(&mut hosts, 0, at(100), &FromKernel::Frame(wide));
    let told = advance(&mut hosts, at(100_000));
    assert_eq!(told.iter().filter(|it| it.kernel == 1).count(), 6);
    let counts: Vec<_> = told.iter().filter(|it| it.status).map(|it| (it.cookie, it.flags >> 8)).collect();
    let all = |sent: u32| sent | sent << 8;
    assert_eq!(counts, [(6, 0), (0, all(4)), (1, 0), (2, 0), (3, 0), (4, all(1)), (5, 0)]);
    let acknowledged = told.iter().filter(|it| it.flags & flags::ACKNOWLEDGED != 0).count();
    assert_eq!(acknowledged, 6);
    let told: Vec<_> = told.iter().filter(|it| it.cookie == 0 && it.status).collect();
    assert_eq!(told[0].series, [(7, 1), (-1, 0), (-1, 0), (-1, 0)]);
    assert_eq!(told[0].rates, [rates, 0, 0, 0]);
    assert_eq!(hosts.refused.iter().map(|((_, why), count)| (*why, *count)).collect::<Vec<_>>(), [("no_mode", 1)]);
    let radios = hosts.radios.as_ref().expect("Wi-Fi");
    assert_eq!(radios.wireless.ht(), (1, true));
}

/// Each has its status all the same: without it, Linux would wait for ever.
#[test]
fn frames_that_the_network_cannot_carry_are_counted_by_reason() {
    let mut hosts = hosts("mesh", 50);
    let sound = |cookie| frame(DATA_FRAME, (0, Some(1)), &[(AT_6, 2)], cookie);
    let to_nobody = frame(DATA_FRAME, (0, Some(900)), &[(AT_6, 2)], 2);
    let mut fast = sound(3);
    fast.series[0].flags = rate_flags::HT;
    let all = [
        Outgoing { frequency: 2412, ..sound(1) },
        to_nobody,
        fast,
        frame(DATA_FRAME, (2, Some(1)), &[(AT_6, 2)], 4),
        Outgoing { frame: vec![8, 0, 1], ..sound(5) },
    ];
    for outgoing in all {
        tell(&mut hosts, 0, at(100), &FromKernel::Frame(outgoing));
    }
    hosts.send(at(100), &[1, 2, 3], Ticket::new(port(0), 0)).expect("it goes on");
    let told = advance(&mut hosts, at(100_000));
    let mut cookies: Vec<_> = told.iter().map(|it| (it.status, it.cookie, it.flags)).collect();
    cookies.sort_unstable();
    assert_eq!(cookies, [1, 2, 3, 4, 5].map(|cookie| (true, cookie, flags::WANTS_STATUS)));
    let reasons: Vec<_> = hosts.refused.iter().map(|((node, why), count)| (node.0, *why, *count)).collect();
    let each = ["broken_frame", "broken_message", "foreign_source", "no_mode", "no_station", "other_channel"];
    assert_eq!(reasons, each.map(|why| (0, why, 1)));
}

/// Linux does not wait for room. What the queue of the interface cannot take waits, in order, and nothing is lost.
#[test]
fn frames_wait_for_room() {
    let mut hosts = hosts("ibss", 2);
    for cookie in 0..40 {
        tell(&mut hosts, 0, at(100), &FromKernel::Frame(frame(DATA_FRAME, (0, Some(1)), &[(AT_54, 4)], cookie)));
    }
    let told = advance(&mut hosts, at(1_000_000));
    let cookies: Vec<_> = told.iter().filter(|it| it.status).map(|it| it.cookie).collect();
    assert_eq!(cookies, (0..40).collect::<Vec<_>>());
    assert!(told.iter().filter(|it| it.status).all(|it| it.flags & flags::ACKNOWLEDGED != 0));
    assert_eq!(told.iter().filter(|it| it.kernel == 1).count(), 40);
}

/// Beacons that leave Linux at the same nanosecond do not collide for ever. In an ad hoc network the first of them
/// replaces those of all that hear it; in a mesh each is sent.
#[test]
fn beacons_wait_and_are_cancelled_in_ad_hoc_networks_alone() {
    let beacon = |from: u32, round: u64| frame(BEACON, (from, None), &[(AT_6, 1)], round * 10 + u64::from(from));
    for (wifi, cancels) in [("ibss", true), ("mesh", false)] {
        let mut hosts = hosts(wifi, 50);
        let (mut sent, mut heard) = (0, 0);
        for round in 0..100 {
            let now = at(1_000_000 / 20 * round + 1);
            for from in [0, 1] {
                tell(&mut hosts, from as usize, now, &FromKernel::Frame(beacon(from, round)));
            }
            let told = advance(&mut hosts, at(1_000_000 / 20 * (round + 1)));
            let statuses: Vec<_> = told.iter().filter(|it| it.status).collect();
            assert_eq!(statuses.len(), 2, "{wifi} {round}: each beacon has its status");
            sent += statuses.iter().filter(|it| it.series[0] == (AT_6, 1)).count();
            // The first node hears the second one alone.
            heard += told.iter().filter(|it| it.kernel == 0 && !it.status).count();
            let last = told.iter().map(|it| it.at.since(now)).max().unwrap_or_default();
            assert!(last < Span::from_millis(3), "{wifi} {round}: {last}");
        }
        // Two are both sent if the second one's delay ends before the first one does, which takes 11 of 31 slots.
        if cancels {
            assert!((120..170).contains(&sent) && (60..95).contains(&heard), "{sent} {heard}");
        } else {
            assert!(sent == 200 && heard > 80, "{sent} {heard}");
        }
    }
}

#[test]
fn the_list_of_rates_is_that_of_hwsim() {
    let text = "duration = \"1 s\"\n[nodes]\ncount = 2\nspacing = \"9 m\"\nsystem = \"linux\"\n[linux]\n\
                wifi = \"ibss\"\nwifi_channel = 1\n[mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\n\
                edca.standard = \"g\"\n";
    let scenario =
        Scenario::load(text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let wireless = Wireless::of(scenario.linux().expect("kernels"), &scenario.spec(0)).expect("Wi-Fi");
    assert_eq!((wireless.frequency, wireless.group_rate, wireless.beacon), (2412, 60, 1000));
    // 6, 12 and 24 Mb/s.
    assert_eq!(wireless.basic, 12 << 16 | 24 << 8 | 48);
    let rows = hopyard_model::phy::mode::MODES;
    let rates: Vec<_> = wireless.modes.iter().map(|row| rows[usize::from(*row)].rate().bps() / 100_000).collect();
    assert_eq!(rates, RATES);
    assert_eq!(wireless.modes.map(|row| wireless.rate(row)), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
}

#[test]
fn the_priority_is_that_of_the_frame() {
    let of = |bytes: &[u8], tid_at: usize| {
        let mut frame = vec![0; 40];
        frame[..2].copy_from_slice(bytes);
        frame[tid_at] = 5;
        priority(&frame)
    };
    // Beacons and other management; data; QoS with three and four addresses.
    assert_eq!([of(&[0x80, 0], 24), of(&[0xd0, 0], 24), of(&[0x08, 0], 24)], [7, 7, 0]);
    assert_eq!([of(&[0x88, 0], 24), of(&[0x88, 3], 30), of(&[0x88, 3], 24)], [5, 5, 0]);
    // A request for a block acknowledgement names the priority of its frames in the upper half of a byte.
    assert_eq!(priority(&[&[0x84, 0][..], &[0; 14], &[4, 0x50, 0, 0]].concat()), 5);
    assert_eq!(priority(&[0x84, 0]), 0);
}

/// Group frames that two kernels send at one nanosecond are apart on the air, and so are those that follow them.
#[test]
fn group_frames_of_idle_radios_are_apart() {
    let mut hosts = hosts("ibss", 50);
    let group = |from, cookie| frame(DATA_FRAME, (from, None), &[(AT_6, 1)], cookie);
    for from in [0, 2] {
        tell(&mut hosts, from as usize, at(100), &FromKernel::Frame(group(from, 1)));
        tell(&mut hosts, from as usize, at(100), &FromKernel::Frame(group(from, 2)));
    }
    let told = advance(&mut hosts, at(20_000));
    // Both nodes are neighbours of the one between them, and of no other.
    let arrived: Vec<_> = told.iter().filter(|it| !it.status).map(|it| (it.kernel, it.frame[15])).collect();
    assert_eq!(arrived.len(), 4, "{told:#?}");
    assert!(arrived.iter().all(|it| it.0 == 1), "{arrived:?}");
    let last = told.iter().map(|it| it.at).max().expect("messages");
    assert!(last < at(100) + TICK + Span::from_millis(1), "{last}");
}
