//! Data both ways: an echo over TCP and UDP.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app;
use hopyard_model::app::echo;
use hopyard_model::link::wired;
use hopyard_model::observe::{FlowRow, Outcome, SegmentFlows, SegmentLog};
use hopyard_model::packet::TcpHeader;
use hopyard_model::params::Params as _;
use hopyard_model::transport::tcp::Connect;
use hopyard_model::world::{BuildError, Spec, Transport, WireSpec, World};

use crate::common::segments::Segments;
use crate::common::{add_tcp, network, run_with, with_traffic};

/// Two hosts and a wire of 10 Mb/s and 10 ms, with an echo from the first to the second.
fn echo(size: u64, interval: Span, profile: &str, losses: wired::Losses) -> Spec {
    let mut spec = network("rfc", "static", &[(0.0, 0.0); 2]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let params = wired::Params {
        losses: losses.clone(),
        losses_back: losses,
        delay: Span::from_millis(10),
        queue_length: 1000,
        ..wired::Params::of_profile("rfc")
    };
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    add_tcp(&mut spec, 0, 1, profile, "newreno", |_| {});
    let params = echo::Params { size: Bytes::new(size), interval };
    with_traffic(&mut spec.flows[0], app::Config::Echo(params.into()));
    spec.flows[0].stop = Time::ZERO + Span::from_millis(9_950);
    Spec { duration: Span::from_secs(60), ..spec }
}

fn watched(spec: &Spec) -> (Outcome, Segments) {
    run_with(spec, Segments::default())
}

/// The payload that the application at the end of a flow got.
fn delivered(flow: &FlowRow, outcome: &Outcome) -> u64 {
    (flow.goodput_kbps * 1e3 * outcome.simulated / 8.0).round() as u64
}

#[test]
fn every_byte_comes_back_in_a_flow_of_its_own() {
    for profile in ["rfc", "linux"] {
        let (outcome, _) = watched(&echo(700, Span::from_millis(100), profile, wired::Losses::default()));
        let [forward, back] = &outcome.flows[..] else { panic!("one flow and its answers") };
        assert_eq!((forward.source, forward.destination, forward.answers), (0, 1, None));
        assert_eq!((back.source, back.destination, back.answers, back.flow), (1, 0, Some(0), 1));
        // One message each 100 ms before 9.95 s.
        assert_eq!(delivered(forward, &outcome), 100 * 700, "{profile}");
        assert_eq!(delivered(back, &outcome), 100 * 700, "{profile}");
    }
}

/// The answer leaves when the message has arrived, and carries the acknowledgement: no segment without data is sent for
/// a message.
#[test]
fn an_answer_carries_the_acknowledgement() {
    let (_, Segments(segments)) = watched(&echo(700, Span::from_millis(100), "rfc", wired::Losses::default()));
    let at = |node| segments.iter().filter(move |it| it.1 == node && it.2.len > 0);
    let (messages, answers): (Vec<_>, Vec<_>) = (at(0).collect(), at(1).collect());
    assert_eq!((messages.len(), answers.len()), (100, 100));
    for ((sent, _, message), (answered, _, answer)) in messages.iter().zip(&answers) {
        assert_eq!((answer.ack, answer.seq), (message.seq + 700, message.seq));
        // 752 bytes at 10 Mb/s, and 10 ms.
        let wire = Span::from_nanos(752 * 800) + Span::from_millis(10);
        assert_eq!(answered.since(*sent), wire);
    }
    // The messages acknowledge the answers: they come sooner than a delayed acknowledgement would.
    for (message, answer) in messages.iter().skip(1).zip(&answers) {
        assert_eq!(message.2.ack, answer.2.seq + 700);
    }
    let &&(last, _, _) = answers.last().expect("answers");
    let bare: Vec<_> = segments.iter().filter(|it| it.2.len == 0 && it.0 <= last).collect();
    let opening = bare.iter().filter(|it| it.2.flags.syn).count();
    assert_eq!(opening, 2, "a SYN each way");
    assert!(bare.iter().all(|it| it.2.flags.syn || it.2.ack > 1), "no acknowledgement of the SYN alone");
}

/// SYN, SYN with ACK, then data; at the end a FIN each way, each acknowledged (RFC 9293 §3.5, §3.6).
#[test]
fn a_connection_opens_and_closes_both_ways() {
    for profile in ["rfc", "linux"] {
        let (_, Segments(segments)) = watched(&echo(700, Span::from_millis(100), profile, wired::Losses::default()));
        let flags = |it: &(Time, u32, TcpHeader)| (it.1, it.2.flags.syn, it.2.flags.ack, it.2.seq, it.2.ack);
        assert_eq!(flags(&segments[0]), (0, true, false, 0, 0), "{profile}");
        assert_eq!(flags(&segments[1]), (1, true, true, 0, 1), "{profile}");
        assert_eq!(flags(&segments[2]), (0, false, true, 1, 1), "{profile}");
        let fins: Vec<_> = segments.iter().filter(|it| it.2.flags.fin).map(|it| (it.1, it.2.seq, it.2.len)).collect();
        let end = 1 + 100 * 700;
        assert_eq!(fins, [(0, end, 0), (1, end, 0)], "{profile}");
        let (_, node, last) = segments.last().expect("segments");
        assert_eq!((*node, last.ack), (0, end + 1), "{profile}: the last word is the client's");
    }
}

/// Segments lost in either direction are repaired, by duplicate acknowledgements without data among the data.
#[test]
fn losses_in_either_direction_are_repaired() {
    for profile in ["rfc", "linux"] {
        for seed in 1..6 {
            let losses = wired::Losses { rate: 0.05, ..wired::Losses::default() };
            let mut spec = echo(20_000, Span::from_millis(200), profile, losses);
            (spec.seed, spec.duration) = (seed, Span::from_secs(300));
            let (outcome, _) = watched(&spec);
            let both: Vec<u64> = outcome.flows.iter().map(|flow| delivered(flow, &outcome)).collect();
            assert_eq!(both, [50 * 20_000; 2], "{profile}, seed {seed}");
            assert!(outcome.flows.iter().all(|flow| flow.retransmissions > 10), "{profile}, seed {seed}");
        }
    }
}

/// The nearest relative sends the same messages without answers: the same segments at the same times.
#[test]
fn messages_alone_are_those_of_constant_bit_rate() {
    let mut spec = echo(700, Span::from_millis(100), "rfc", wired::Losses::default());
    let (_, Segments(echoed)) = watched(&spec);
    let mut cbr = app::cbr::Params::of_profile("rfc");
    (cbr.packet_size, cbr.interval) = (Bytes::new(700), Span::from_millis(100));
    spec.flows[0].traffic = app::Config::Cbr(cbr.into());
    let (outcome, Segments(alone)) = watched(&spec);
    let sent = |all: &[(Time, u32, TcpHeader)]| -> Vec<_> {
        all.iter().filter(|it| it.1 == 0 && it.2.len > 0).map(|it| (it.0, it.2.seq, it.2.len)).collect()
    };
    assert_eq!(sent(&echoed), sent(&alone));
    assert_eq!(outcome.flows.len(), 1);
    assert!(alone.iter().all(|it| it.1 == 0 || it.2.len == 0), "nothing comes back");
}

/// Each direction has its data and its acknowledgements in its own flow.
#[test]
fn the_segments_of_each_direction_are_rows_of_its_flow() {
    let mut spec = echo(700, Span::from_millis(100), "rfc", wired::Losses::default());
    spec.flows[0].label = "talk".to_owned();
    let (outcome, _) = run_with(&spec, SegmentLog::new(SegmentFlows::All));
    let labels: Vec<&str> = outcome.flows.iter().map(|flow| &*flow.label).collect();
    assert_eq!(labels, ["talk", "talk.answers"]);
    let count = |flow, event| outcome.segments.iter().filter(|row| row.flow == flow && row.event == event).count();
    for flow in [0, 1] {
        // A SYN, 100 messages, a FIN.
        assert_eq!([count(flow, "data_sent"), count(flow, "data_received")], [102, 102], "flow {flow}");
        let acks = [count(flow, "ack_sent"), count(flow, "ack_received")];
        assert!(acks[0] == acks[1] && acks[0] > 100, "flow {flow}: {acks:?}");
    }
    let windows: Vec<f64> = outcome.flows.iter().filter_map(|flow| flow.cwnd_mean).collect();
    assert!(windows.len() == 2 && windows.iter().all(|&window| window >= 10.0), "{windows:?}");
}

#[test]
fn each_datagram_is_sent_back_once() {
    let mut spec = echo(700, Span::from_millis(100), "rfc", wired::Losses::default());
    spec.flows[0].transport = Transport::Udp;
    let (outcome, _) = watched(&spec);
    let [forward, back] = &outcome.flows[..] else { panic!("one flow and its answers") };
    assert_eq!((forward.packets_sent, forward.packets_unique), (100, 100));
    assert_eq!((back.packets_sent, back.packets_unique), (100, 100));
    // 728 bytes at 10 Mb/s, and 10 ms.
    let delay = 10.0 + 728.0 * 8.0 / 1e4;
    assert!((back.delay_ms.expect("a delay") - delay).abs() < 1e-6, "{:?}", back.delay_ms);
}

#[test]
fn data_both_ways_needs_an_opening_at_both_ends() {
    let mut spec = echo(700, Span::from_millis(100), "rfc", wired::Losses::default());
    let Transport::Tcp { config, .. } = &mut spec.flows[0].transport else { panic!("the flow uses TCP") };
    config.tcp.connect = Connect::Ns2;
    let error = World::<()>::new(&spec).expect_err("a SYN is needed");
    assert_eq!(error, BuildError::OneWay { flow: 0 });
}
