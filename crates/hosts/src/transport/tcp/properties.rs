//! Properties that hold for every congestion control, recovery, acking policy and profile, whatever a network does. No
//! byte is lost or invented, no transfer stalls, and nothing is sent beyond the receiver's window.

use std::collections::BTreeMap;

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};
use proptest::prelude::*;

use super::{Close, Config, Connect, Connection, NetworkEvent, Params, Reader, TcpReceiver, TcpSender};
use crate::packet::TcpHeader;
use crate::params::Params as _;
use crate::transport::connection::Phase;
use crate::transport::recovery_choice::{Proportional, RecoveryChoice};
use crate::transport::{acking, congestion};

const CONNECTS: [Connect; 3] = [Connect::None, Connect::Ns2, Connect::ThreeWay];

/// The network's treatment of the next packet; after the last one it delivers everything.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Deliver,
    Lose,
    Copy(u16),
    /// So many milliseconds late: others overtake it.
    Delay(u16),
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        4 => Just(Fate::Deliver),
        3 => Just(Fate::Lose),
        1 => (0_u16..2000).prop_map(Fate::Copy),
        2 => (0_u16..2000).prop_map(Fate::Delay),
    ]
}

/// The events of the network layer, and the milliseconds before them.
fn news() -> impl Strategy<Value = (u16, NetworkEvent)> {
    let event = prop_oneof![
        Just(NetworkEvent::RouteLost),
        Just(NetworkEvent::RouteRestored),
        Just(NetworkEvent::CareOfChanged),
        any::<u8>().prop_map(NetworkEvent::HopCount),
        (0_u64..200_000).prop_map(|seq| NetworkEvent::Unreachable { seq }),
    ];
    (0_u16..20_000, event)
}

#[derive(Clone, Debug)]
struct Case {
    profile: &'static str,
    variant: &'static str,
    acking: &'static str,
    recovery: RecoveryChoice,
    connect: Connect,
    timestamps: bool,
    prr: Proportional,
    dsack: bool,
    close: Close,
    nagle: bool,
    read_rate: u64,
    window: u32,
    writes: Vec<u64>,
    fates: Vec<Fate>,
    news: Vec<(u16, NetworkEvent)>,
}

fn case() -> impl Strategy<Value = Case> {
    let names: Vec<&'static str> = congestion::MODELS.iter().map(|model| model.name).collect();
    let ackings: Vec<&'static str> = acking::MODELS.iter().map(|model| model.name).collect();
    let machine = (
        prop::sample::select(vec![Close::None, Close::Fin]),
        any::<bool>(),
        prop_oneof![3 => Just(0), 1 => 20_000_u64..2_000_000],
    );
    let choices = (
        prop::sample::select(vec!["rfc", "ns2"]),
        prop::sample::select(names),
        prop::sample::select(ackings),
        prop::sample::select(RecoveryChoice::ALL.to_vec()),
        prop::sample::select(CONNECTS.to_vec()),
        any::<bool>(),
        prop::sample::select(vec![Proportional::Recovery, Proportional::On, Proportional::Off]),
        any::<bool>(),
        1_u32..40,
    );
    let lists = (
        prop::collection::vec(1_u64..60_000, 1..4),
        prop::collection::vec(fate(), 0..150),
        prop::collection::vec(news(), 0..8),
    );
    (choices, machine, lists).prop_map(
        |(
            (profile, variant, acking, recovery, connect, timestamps, prr, dsack, window),
            (close, nagle, read_rate),
            (writes, fates, news),
        )| Case {
            profile,
            variant,
            acking,
            recovery,
            connect,
            timestamps,
            prr,
            dsack,
            close,
            nagle,
            read_rate,
            window,
            writes,
            fates,
            news,
        },
    )
}

enum Wake {
    Data(TcpHeader),
    Ack(TcpHeader),
    Timer,
    Write(u64),
    News(NetworkEvent),
}

/// Carries a transfer through a network that does as `case.fates` say.
fn transfer(case: &Case) -> Result<(), TestCaseError> {
    let params = Params {
        segment_size: Bytes::new(1000),
        recovery: case.recovery,
        connect: case.connect,
        timestamps: case.timestamps,
        prr: case.prr,
        dsack: case.dsack,
        close: case.close,
        nagle: case.nagle,
        reader: match case.read_rate {
            0 => Reader::AtOnce,
            rate => Reader::Steady(Rate::from_bps(rate)),
        },
        window: case.window,
        ..Params::of_profile(case.profile)
    };
    params.check().expect("possible parameters");
    let congestion = congestion::Config::of_profile(case.variant, case.profile).expect("a variant");
    let acking = acking::Config::of_profile(case.acking, case.profile).expect("a policy");
    let mut sender = TcpSender::new(&Config { tcp: params.clone(), congestion }, Streams::new(7, 0).stream("tcp"));
    let mut receiver = TcpReceiver::new(&acking, &params, sender.wants_sack());
    let total: u64 = case.writes.iter().sum();
    let mut fates = case.fates.iter().copied();
    let mut wakes: BTreeMap<(Time, u64), Wake> = BTreeMap::new();
    let mut order = 0;
    let mut schedule = |wakes: &mut BTreeMap<(Time, u64), Wake>, at: Time, wake: Wake| {
        order += 1;
        wakes.insert((at, order), wake);
    };
    for (index, bytes) in case.writes.iter().enumerate() {
        schedule(&mut wakes, Time::ZERO + Span::from_millis(700 * index as u64), Wake::Write(*bytes));
    }
    for &(millis, event) in &case.news {
        schedule(&mut wakes, Time::ZERO + Span::from_millis(millis.into()), Wake::News(event));
    }
    // A timeout is at most a minute, and every one of the fates may lose a packet.
    let limit = Time::ZERO + Span::from_secs(60) * (case.fates.len() as u64 + 10);
    let mut writes = case.writes.len();
    let mut highest = 0;
    let mut pending = Time::NEVER;
    while let Some(((now, _), wake)) = wakes.pop_first() {
        prop_assert!(
            now <= limit,
            "stalled at {now}: {:?}, {} of {total} bytes",
            sender.state(),
            receiver.counters().delivered_bytes
        );
        match wake {
            Wake::News(event) => sender.on_network(event, now),
            Wake::Write(bytes) => {
                sender.write(bytes, now);
                writes -= 1;
                if writes == 0 {
                    sender.close(now);
                }
            }
            Wake::Data(header) => receiver.on_segment(&header, now),
            Wake::Ack(header) => sender.on_segment(&header, now),
            Wake::Timer => {
                pending = Time::NEVER;
                sender.on_timer(now);
                receiver.on_timer(now);
            }
        }
        let mut out = Vec::new();
        while let Some(header) = sender.poll_transmit(now) {
            let (una, max, advertised) = sender.window_edges();
            let payload_end = header.seq + u64::from(header.len);
            let end = payload_end + u64::from(header.flags.fin);
            // A late copy of an acknowledgement may take the edge back. What was sent before may be sent again.
            let fits = header.len == 0 || payload_end <= una + advertised.max(1) || header.retransmission;
            prop_assert!(fits, "{payload_end} is beyond {una} + {advertised}");
            prop_assert!(header.len <= 1000 && max >= end);
            prop_assert!(!header.flags.fin || case.close == Close::Fin);
            if end > header.seq {
                prop_assert_eq!(header.retransmission, end <= highest);
                highest = highest.max(end);
            }
            out.push(Wake::Data(header));
            prop_assert!(out.len() < 1000, "sends without end");
        }
        while let Some(header) = receiver.poll_transmit(now) {
            out.push(Wake::Ack(header));
        }
        for packet in out {
            let copy = match &packet {
                Wake::Data(header) => Wake::Data(*header),
                Wake::Ack(header) => Wake::Ack(*header),
                _ => unreachable!("only packets are sent"),
            };
            let arrival = now + Span::from_millis(50);
            match fates.next().unwrap_or(Fate::Deliver) {
                Fate::Deliver => schedule(&mut wakes, arrival, packet),
                Fate::Lose => {}
                Fate::Copy(millis) => {
                    schedule(&mut wakes, arrival, packet);
                    schedule(&mut wakes, arrival + Span::from_millis(millis.into()), copy);
                }
                Fate::Delay(millis) => schedule(&mut wakes, arrival + Span::from_millis(millis.into()), packet),
            }
        }
        let deadline = sender.deadline().min(receiver.deadline());
        if deadline < pending {
            pending = deadline;
            schedule(&mut wakes, deadline.max(now), Wake::Timer);
        }
    }
    prop_assert_eq!(receiver.counters().delivered_bytes, total);
    prop_assert_eq!(receiver.counters().unique_bytes, total);
    prop_assert!(sender.is_finished());
    if case.close == Close::Fin {
        prop_assert_eq!((sender.connection(), receiver.connection()), (Connection::TimeWait, Connection::Closed));
        prop_assert_eq!((sender.deadline(), receiver.deadline()), (Time::NEVER, Time::NEVER));
    }
    let counters = sender.counters();
    prop_assert_eq!(counters.bytes - counters.retransmitted_bytes, total);
    // Every acknowledgement, every segment and every moment since the opening belongs to one phase.
    let end = limit + Span::from_secs(1);
    let phases = sender.phases(end);
    let each = [Phase::SlowStart, Phase::Avoidance, Phase::Recovery, Phase::Frozen].map(|phase| phases.of(phase));
    prop_assert_eq!(each.iter().map(|work| work.acks).sum::<u64>(), counters.acks - counters.invalid_acks);
    prop_assert_eq!(each.iter().map(|work| work.segments).sum::<u64>(), counters.segments);
    prop_assert_eq!(each.iter().fold(Span::ZERO, |sum, work| sum + work.time), end.since(Time::ZERO));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_ends_with_every_byte_once(case in case()) {
        transfer(&case)?;
    }
}
