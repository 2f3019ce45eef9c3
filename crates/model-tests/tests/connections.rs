//! Connections that follow one another: their opening, their end, and what losses and impatient clients leave of them.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app::request_response::{self, Connection};
use hopyard_model::app::{self, Law};
use hopyard_model::link::wired;
use hopyard_model::observe::{ObjectLog, ObjectRow, Outcome, SegmentFlows, SegmentLog};
use hopyard_model::packet::TcpHeader;
use hopyard_model::params::Params as _;
use hopyard_model::transport::tcp;
use hopyard_model::world::{Spec, WireSpec};

use crate::common::segments::Segments;
use crate::common::{add_tcp, network, run, run_with, with_traffic};

const RATE: f64 = 10e6;
const DELAY: f64 = 0.02;
/// Of IP and TCP, with timestamps.
const HEADERS: f64 = 52.0;
const SEGMENT: f64 = 1448.0;

/// A server, node 0, with a wire to each of its clients.
fn server(clients: u32, losses: f64) -> Spec {
    let mut spec = network("rfc", "oracle", &vec![(0.0, 0.0); clients as usize + 1]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let losses = wired::Losses { rate: losses, ..wired::Losses::default() };
    let params = wired::Params {
        losses: losses.clone(),
        losses_back: losses,
        delay: Span::from_secs_f64(DELAY),
        queue_length: 10_000,
        ..wired::Params::of_profile("rfc")
    };
    for client in 1..=clients {
        spec.wires.push(WireSpec { ends: (NodeId(client), NodeId(0)), params: params.clone(), network: None });
    }
    Spec { duration: Span::from_secs(2000), ..spec }
}

fn add_client(spec: &mut Spec, client: u32, profile: &str, pages: &request_response::Params) {
    add_tcp(spec, client, 0, profile, "newreno", |params| params.nagle = false);
    let flow = spec.flows.last_mut().expect("a flow");
    with_traffic(flow, app::Config::RequestResponse(pages.clone().into()));
}

fn each(pages: u64) -> request_response::Params {
    request_response::Params { connection: Connection::Each, pages, ..request_response::Params::of_profile("rfc") }
}

fn of_kind<'a>(outcome: &'a Outcome, kind: &'static str, flow: u32) -> Vec<&'a ObjectRow> {
    outcome.objects.iter().filter(|row| row.kind == kind && row.flow == flow).collect()
}

/// Runs it, and returns the segments too.
fn watched(spec: &Spec) -> (Outcome, Vec<(Time, u32, TcpHeader)>) {
    let (outcome, (_, Segments(segments))) = run_with(spec, (ObjectLog::default(), Segments::default()));
    (outcome, segments)
}

fn airtime(payload: f64) -> f64 {
    (payload + HEADERS) * 8.0 / RATE
}

/// A page is an opening, the way of the request, and an answer within the initial window. The opening begins behind the
/// segment that closes the connection before.
#[test]
fn each_page_takes_an_opening() {
    let answer = Law::Constant(Bytes::new(7 * SEGMENT as u64));
    let pages = request_response::Params { answer, think: Law::Constant(Span::ZERO), ..each(4) };
    let mut spec = server(1, 0.0);
    add_client(&mut spec, 1, "rfc", &pages);
    let outcome = run(&spec);
    let pages = of_kind(&outcome, "page", 0);
    assert_eq!(pages.len(), 4);
    for (number, page) in pages.iter().enumerate() {
        let found = page.delivered_s.expect("delivered") - page.written_s;
        let closing = if number == 0 { 0.0 } else { airtime(0.0) };
        let opening = closing + 2.0 * (airtime(0.0) + DELAY);
        let expected = opening + airtime(300.0) + DELAY + 7.0 * airtime(SEGMENT) + DELAY;
        assert!((found - expected).abs() < 1e-6, "page {number}: {found} s for {expected} s");
    }
}

/// The segments of a page, in the order in which the two ends send them.
#[test]
fn each_connection_opens_and_closes() {
    for (profile, expected) in [
        (
            "rfc",
            // The answer to the FIN of the server is the FIN of the client.
            "1 SYN, 0 SYN ACK, 1 ACK 300, 0 ACK 1000 FIN, 1 ACK FIN, 0 ACK",
        ),
        (
            // The opening is acknowledged alone; a program closes when its data is sent, so that the FIN comes alone. A
            // kernel sends what a segment asks for before its program answers: here each segment is acknowledged.
            "linux",
            "1 SYN, 0 SYN ACK, 1 ACK, 1 ACK 300, 0 ACK, 0 ACK 1000, 0 ACK FIN, 1 ACK, 1 ACK, 1 ACK FIN, 0 ACK",
        ),
    ] {
        let answer = Law::Constant(Bytes::new(1000));
        let pages = request_response::Params { answer, ..each(4) };
        let mut spec = server(1, 0.0);
        add_client(&mut spec, 1, profile, &pages);
        let (_, segments) = watched(&spec);
        // With the last answer the client closes by itself.
        for connection in 0..3 {
            let of_it = segments.iter().filter(|it| it.2.connection == connection);
            let text = |(_, node, header): &(Time, u32, TcpHeader)| {
                let flags = header.flags;
                let mut text = node.to_string();
                for (is_set, name) in [(flags.syn, " SYN"), (flags.ack, " ACK")] {
                    text += if is_set { name } else { "" };
                }
                if header.len > 0 {
                    text += &format!(" {}", header.len);
                }
                text + if flags.fin { " FIN" } else { "" } + if flags.rst { " RST" } else { "" }
            };
            let found: Vec<_> = of_it.map(text).collect();
            assert_eq!(found.join(", "), expected, "{profile}, connection {connection}");
        }
    }
}

/// Losses in either direction, of openings and closings too: every object arrives, and no connection stays behind.
#[test]
fn pages_survive_losses() {
    for (profile, seed) in [("rfc", 1), ("rfc", 2), ("linux", 3), ("linux", 4)] {
        let pages = request_response::Params {
            request: "uniform(100 B, 3 kB)".parse().expect("sizes"),
            answer: "pareto(20 kB, 1.5)".parse().expect("sizes"),
            part: "lognormal(5 kB, 1)".parse().expect("sizes"),
            parts: 3,
            think: "exponential(100 ms)".parse().expect("times"),
            ..each(20)
        };
        let mut spec = server(1, 0.04);
        spec.seed = seed;
        add_client(&mut spec, 1, profile, &pages);
        let (outcome, segments) = watched(&spec);
        for (flow, kind) in [(0, "request"), (1, "answer")] {
            let objects = of_kind(&outcome, kind, flow);
            assert_eq!(objects.len(), 80, "{profile} {seed}");
            let delivered: u64 = objects.iter().filter(|it| it.delivered_s.is_some()).map(|it| it.bytes).sum();
            let row = &outcome.flows[flow as usize];
            let goodput = row.goodput_kbps * 1e3 * outcome.simulated / 8.0;
            assert!((goodput - delivered as f64).abs() < 1.0, "{profile} {seed}: {goodput} of {delivered} bytes");
            assert!(objects.iter().all(|it| it.delivered_s.is_some()), "{profile} {seed}");
            assert!(row.retransmissions > 0);
        }
        assert!(of_kind(&outcome, "page", 0).iter().all(|page| page.delivered_s.is_some()));
        // The last of the connections ends long before the run does: neither end repeats anything for ever.
        let last = segments.last().expect("segments").0;
        assert!(last.seconds() < 1000.0, "{profile} {seed}: {last}");
        let numbers: Vec<u32> = segments.iter().filter(|it| it.1 == 1).map(|it| it.2.connection).collect();
        assert_eq!(numbers.iter().max(), Some(&79));
    }
}

/// A client that waits for 400 ms: every page is complete within that time or not at all, and the next one begins on
/// another connection, whether the reset of the one before arrived or not.
#[test]
fn an_impatient_client_gives_pages_up() {
    for connection in [Connection::Kept, Connection::Each] {
        for profile in ["rfc", "linux"] {
            let pages = request_response::Params {
                connection,
                answer: "pareto(20 kB, 1.5)".parse().expect("sizes"),
                parts: 2,
                patience: Span::from_millis(400),
                deadline: Span::from_millis(400),
                think: Law::Constant(Span::from_millis(50)),
                ..each(60)
            };
            let mut spec = server(1, 0.05);
            add_client(&mut spec, 1, profile, &pages);
            let (outcome, segments) = watched(&spec);
            let pages = of_kind(&outcome, "page", 0);
            assert_eq!(pages.len(), 60);
            let whole: Vec<_> = pages.iter().filter_map(|it| Some(it.delivered_s? - it.written_s)).collect();
            assert!(whole.iter().all(|time| *time <= 0.4), "{connection:?} {profile}");
            assert!((10..50).contains(&whole.len()), "{connection:?} {profile}: {} pages", whole.len());
            assert!(pages.iter().all(|it| it.in_time == Some(u8::from(it.delivered_s.is_some()))));
            let resets = segments.iter().filter(|it| it.2.flags.rst).count();
            assert!(resets >= 60 - whole.len(), "{connection:?} {profile}: {resets} resets");
            assert!(segments.last().expect("segments").0.seconds() < 1000.0, "{connection:?} {profile}");
            // After a page that was given up comes one on the next connection.
            let gaps = pages.windows(2).filter(|two| two[0].delivered_s.is_none());
            assert!(gaps.clone().all(|two| (two[1].written_s - two[0].written_s - 0.45).abs() < 1e-9));
        }
    }
}

/// The reset of a client that gave its page up is lost. The server knows nothing of that: a process of its own serves
/// each connection. So the answer goes out after its service, and is answered by a reset.
#[test]
fn a_server_that_missed_a_reset_answers_on_the_connection_before() {
    for (profile, reset) in [("rfc", 2), ("linux", 3)] {
        let pages = request_response::Params {
            service: Law::Constant(Span::from_secs(2)),
            patience: Span::from_millis(100),
            think: Law::Constant(Span::from_millis(100)),
            ..request_response::Params { connection: Connection::Kept, ..each(2) }
        };
        let mut spec = server(1, 0.0);
        spec.wires[0].params.losses.packets = vec![reset];
        add_client(&mut spec, 1, profile, &pages);
        let (outcome, segments) = watched(&spec);
        let pages = of_kind(&outcome, "page", 0);
        assert_eq!(pages.iter().map(|it| it.delivered_s.is_some()).collect::<Vec<_>>(), [false, false], "{profile}");
        let first: Vec<_> = segments.iter().filter(|it| it.2.connection == 0).collect();
        assert!(!first.iter().any(|it| it.1 == 0 && it.2.flags.fin), "{profile}: the server does not close it");
        let resets: Vec<f64> = first.iter().filter(|it| it.1 == 1 && it.2.flags.rst).map(|it| it.0.seconds()).collect();
        let answered = first.iter().find(|it| it.1 == 0 && it.2.len > 0).expect("an answer").0.seconds();
        assert!((answered - 2.06).abs() < 0.01, "{profile}: {answered}");
        assert!(resets[0] < 0.11 && (resets[1] - answered - DELAY).abs() < 0.005, "{profile}: {resets:?}");
        assert!(segments.last().expect("segments").0.seconds() < 3.0, "{profile}");
    }
}

/// Each segment that an end passes to IP is in the table of segments, also a reset, or an answer to a copy of a FIN, of
/// a connection that the end does not know any more.
#[test]
fn the_table_has_each_segment_that_is_sent() {
    for profile in ["rfc", "linux"] {
        let pages = request_response::Params {
            patience: Span::from_millis(400),
            think: Law::Constant(Span::from_millis(50)),
            ..each(60)
        };
        let mut spec = server(1, 0.05);
        add_client(&mut spec, 1, profile, &pages);
        let probes = (SegmentLog::new(SegmentFlows::All), Segments::default());
        let (outcome, (_, Segments(segments))) = run_with(&spec, probes);
        // A segment with more than an acknowledgement has a row as data, any other one as an acknowledgement.
        let is_bare = |flags: &str| !["SYN", "FIN", "RST"].iter().any(|it| flags.contains(it));
        let rows = outcome.segments.iter().filter(|it| match it.event {
            "data_sent" => true,
            "ack_sent" => it.payload == 0 && is_bare(&it.flags),
            _ => false,
        });
        assert_eq!(rows.count(), segments.len(), "{profile}");
        assert!(segments.iter().any(|it| it.2.flags.rst), "{profile}");
    }
}

/// Clients whose wires do not meet get their pages as if the others were not there.
#[test]
fn a_server_has_several_clients() {
    for connection in [Connection::Kept, Connection::Each] {
        let pages = |client: u32| request_response::Params {
            connection,
            answer: Law::Constant(Bytes::new(30_000 * u64::from(client))),
            parts: client,
            ..each(5)
        };
        let mut spec = server(3, 0.0);
        (1..=3).for_each(|client| add_client(&mut spec, client, "rfc", &pages(client)));
        let together = run(&spec);
        for client in 1..=3 {
            let mut spec = server(3, 0.0);
            add_client(&mut spec, client, "rfc", &pages(client));
            let alone = run(&spec);
            let times = |rows: Vec<&ObjectRow>| rows.iter().map(|it| it.delivered_s).collect::<Vec<_>>();
            let found = times(of_kind(&together, "page", client - 1));
            assert_eq!(
                (found.len(), found.clone()),
                (5, times(of_kind(&alone, "page", 0))),
                "{connection:?}, {client}"
            );
        }
    }
}

/// Without FINs there are connections too: both ends forget one when its data has arrived.
#[test]
fn connections_may_end_without_a_word() {
    let mut spec = server(1, 0.02);
    add_client(&mut spec, 1, "rfc", &each(20));
    let hopyard_model::world::Transport::Tcp { config, .. } = &mut spec.flows[0].transport else { panic!("TCP") };
    config.tcp.close = tcp::Close::None;
    let (outcome, segments) = watched(&spec);
    let pages = of_kind(&outcome, "page", 0);
    assert!(pages.len() == 20 && pages.iter().all(|page| page.delivered_s.is_some()));
    assert!(segments.iter().all(|it| !it.2.flags.fin));
}

/// Both ends probe twice in each pause: the server's timer expires in the nanosecond in which the client's probe
/// arrives.
#[test]
fn a_connection_without_traffic_is_asked_for_and_kept() {
    let pure = [0, 60, 250].map(|idle| {
        let mut spec = server(1, 0.0);
        let pages = request_response::Params {
            pages: 3,
            think: Law::Constant(Span::from_secs(140)),
            ..request_response::Params::of_profile("rfc")
        };
        add_tcp(&mut spec, 1, 0, "rfc", "newreno", |params| params.keep_alive.idle = Span::from_secs(idle));
        with_traffic(spec.flows.last_mut().expect("a flow"), app::Config::RequestResponse(pages.into()));
        let (outcome, segments) = watched(&spec);
        assert_eq!(of_kind(&outcome, "page", 0).len(), 3);
        assert_eq!(segments.iter().filter(|(_, _, header)| header.flags.syn).count(), 2, "one connection");
        segments.iter().filter(|(_, _, header)| header.len == 0 && !header.flags.syn && !header.flags.fin).count()
    });
    assert_eq!([pure[1], pure[2]], [pure[0] + 2 * 2 * 2 * 2, pure[0]], "questions and their answers");
}
