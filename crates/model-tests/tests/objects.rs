//! Requests and answers, messages and traces over a wire: the times of their objects, against closed forms.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::app::{self, Entry, Law, cbr, messages, request_response, trace};
use hopyard_model::link::wired;
use hopyard_model::observe::{ObjectRow, Outcome};
use hopyard_model::params::Params as _;
use hopyard_model::transport::{congestion, tcp};
use hopyard_model::world::{Spec, Transport, WireSpec};

use crate::common::{add_tcp, network, run, with_traffic};

/// Of each wire.
const RATE: f64 = 10e6;
const DELAY: f64 = 0.05;
/// Of IP and TCP, with timestamps.
const HEADERS: f64 = 52.0;
const SEGMENT: f64 = 1448.0;

/// Two hosts and a wire, with this traffic from the first to the second, without Nagle's algorithm.
fn wire(traffic: app::Config, udp: bool, losses: f64, change: impl FnOnce(&mut tcp::Params)) -> Spec {
    let mut spec = network("rfc", "static", &[(0.0, 0.0); 2]);
    spec.nodes.iter_mut().for_each(|node| node.radios.clear());
    let losses = wired::Losses { rate: losses, ..wired::Losses::default() };
    let params = wired::Params {
        rate: Rate::from_bps(RATE as u64),
        losses: losses.clone(),
        losses_back: losses,
        delay: Span::from_secs_f64(DELAY),
        queue_length: 10_000,
        ..wired::Params::of_profile("rfc")
    };
    spec.wires.push(WireSpec { ends: (NodeId(0), NodeId(1)), params, network: None });
    add_tcp(&mut spec, 0, 1, "rfc", "newreno", |params| {
        (params.window, params.nagle) = (700, false);
        change(params);
    });
    with_traffic(&mut spec.flows[0], traffic);
    if udp {
        spec.flows[0].transport = Transport::Udp;
    }
    Spec { duration: Span::from_secs(200), ..spec }
}

fn bytes(size: u64) -> Law<Bytes> {
    Law::Constant(Bytes::new(size))
}

/// Lets the window grow on every acknowledgement, whether it limits the sender or not.
fn grow_always(spec: &mut Spec) {
    let Transport::Tcp { config, .. } = &mut spec.flows[0].transport else { panic!("the flow uses TCP") };
    let congestion::Config::NewReno(params) = &mut config.congestion else { panic!("it is another variant") };
    params.grow_only_when_limited = false;
}

fn pages(answer: u64, pages: u64) -> request_response::Params {
    request_response::Params { answer: bytes(answer), pages, ..request_response::Params::of_profile("rfc") }
}

fn asked(params: &request_response::Params, change: impl FnOnce(&mut Spec)) -> Outcome {
    let mut spec = wire(app::Config::RequestResponse(params.clone().into()), false, 0.0, |_| {});
    change(&mut spec);
    run(&spec)
}

fn of_kind<'a>(outcome: &'a Outcome, kind: &'static str) -> Vec<&'a ObjectRow> {
    outcome.objects.iter().filter(|row| row.kind == kind).collect()
}

fn time(row: &ObjectRow) -> f64 {
    row.delivered_s.expect("it is delivered") - row.written_s
}

fn airtime(payload: f64) -> f64 {
    (payload + HEADERS) * 8.0 / RATE
}

/// The time of a transfer in slow start, from its write to its last byte, if every segment is acknowledged: each round
/// trip has twice as many segments as the one before, and begins when the first acknowledgement of that one comes. A
/// round that fills the wire begins when the wire is free.
fn slow_start(size: f64, first_window: f64) -> f64 {
    let round_trip = airtime(SEGMENT) + airtime(0.0) + 2.0 * DELAY;
    let (mut left, mut window, mut begin) = (size, first_window, 0.0_f64);
    loop {
        let flight = left.min(window * SEGMENT);
        let whole = (flight / SEGMENT).floor();
        let rest = flight - whole * SEGMENT;
        let sending = whole * airtime(SEGMENT) + if rest > 0.0 { airtime(rest) } else { 0.0 };
        left -= flight;
        if left <= 0.0 {
            return begin + sending + DELAY;
        }
        begin += sending.max(round_trip);
        window *= 2.0;
    }
}

#[test]
fn a_transfer_takes_the_rounds_of_slow_start() {
    for segments in [0.1, 1.0, 7.5, 10.0, 10.5, 30.0, 31.0, 70.0, 71.25, 150.0, 300.0, 330.0] {
        let size = (segments * SEGMENT).round();
        let outcome = asked(&pages(size as u64, 1), |_| {});
        let [answer] = of_kind(&outcome, "answer")[..] else { panic!("one answer") };
        let expected = slow_start(size, 10.0);
        assert!((time(answer) - expected).abs() < 1e-6, "{segments}: {} s for {expected} s", time(answer));
        // Its first data is a segment, or all of it.
        let first = answer.first_byte_s.expect("delivered") - answer.written_s;
        assert!((first - DELAY - airtime(size.min(SEGMENT))).abs() < 1e-6, "{segments}");
    }
}

/// A page is the way of the request, the service, and the answer. The window of the first page is still open for the
/// second one: 40 segments have let it grow from 10 to 50, or to the 26 that it has at the last acknowledgement at
/// which it limits the sender (RFC 7661 §4.3). After a long pause it is the initial one again (RFC 5681 §4.1).
#[test]
fn a_page_is_request_service_and_answer() {
    let size = 40.0 * SEGMENT;
    let service = 0.03;
    for (think, always, window) in [(0.0, true, 50.0), (0.0, false, 26.0), (20.0, false, 10.0)] {
        let params = request_response::Params {
            service: Law::Constant(Span::from_secs_f64(service)),
            think: Law::Constant(Span::from_secs_f64(think)),
            ..pages(size as u64, 3)
        };
        let outcome = asked(&params, |spec| {
            if always {
                grow_always(spec)
            }
        });
        let (pages, requests) = (of_kind(&outcome, "page"), of_kind(&outcome, "request"));
        assert_eq!((pages.len(), requests.len()), (3, 3));
        let expected = airtime(300.0) + DELAY + service + slow_start(size, window);
        assert!((time(pages[1]) - expected).abs() < 1e-6, "{window}: {} s for {expected} s", time(pages[1]));
        assert!((time(requests[1]) - airtime(300.0) - DELAY).abs() < 1e-6);
        let gap = pages[2].written_s - pages[1].delivered_s.expect("delivered");
        assert!((gap - think).abs() < 1e-9);
        // A SYN and its answer come before the first request; how long they are is the matter of other tests.
        let opening = time(pages[0]) - (airtime(300.0) + DELAY + service + slow_start(size, 10.0));
        assert!((2.0 * DELAY..2.0 * DELAY + 1e-3).contains(&opening), "{opening} s");
    }
}

/// Parts that are asked for at once save a round trip each.
#[test]
fn pipelining_saves_round_trips() {
    let part = 500.0;
    let page = |pipelining| {
        let params = request_response::Params { parts: 6, part: bytes(part as u64), pipelining, ..pages(1000, 1) };
        let outcome = asked(&params, |_| {});
        let pages = of_kind(&outcome, "page");
        assert_eq!((pages.len(), pages[0].bytes), (1, 1000 + 6 * 500));
        let answers = of_kind(&outcome, "answer");
        assert_eq!(pages[0].delivered_s, answers[6].delivered_s);
        time(pages[0])
    };
    let round = airtime(300.0) + airtime(part) + 2.0 * DELAY;
    let times = [1, 2, 3, 6].map(page);
    for (deep, rounds) in [(1, 3.0), (2, 4.0), (3, 5.0)] {
        let saved = times[0] - times[deep];
        // The transmissions of the segments that go together are not saved.
        let kept = 6.0 * (airtime(300.0) + airtime(part));
        assert!((rounds * round - kept..rounds * round).contains(&saved), "{saved} s for {rounds} rounds");
    }
}

/// What is lost is sent again, and every object arrives whole: the bytes of the objects are the bytes of the flows.
#[test]
fn objects_survive_losses() {
    for seed in 1..4 {
        let params = request_response::Params {
            request: "uniform(100 B, 3 kB)".parse().expect("sizes"),
            answer: "pareto(30 kB, 1.5)".parse().expect("sizes"),
            part: "lognormal(5 kB, 1)".parse().expect("sizes"),
            parts: 5,
            pipelining: 3,
            think: "exponential(100 ms)".parse().expect("times"),
            deadline: Span::from_secs(2),
            pages: 20,
            ..request_response::Params::of_profile("rfc")
        };
        let mut spec = wire(app::Config::RequestResponse(params.into()), false, 0.02, |_| {});
        (spec.seed, spec.duration) = (seed, Span::from_secs(2000));
        let outcome = run(&spec);
        let pages = of_kind(&outcome, "page");
        assert_eq!(pages.len(), 20);
        assert!(pages.iter().all(|page| page.in_time == Some(u8::from(time(page) <= 2.0))));
        assert!(pages.iter().any(|page| page.in_time == Some(1)));
        for (flow, kind) in [(0, "request"), (1, "answer")] {
            let objects = of_kind(&outcome, kind);
            assert_eq!(objects.len(), 120);
            assert!(objects.iter().all(|it| it.flow == flow && it.delivered_s >= it.first_byte_s));
            assert!(objects.windows(2).all(|two| two[0].delivered_s <= two[1].delivered_s), "in order");
            let all: u64 = objects.iter().map(|it| it.bytes).sum();
            let goodput = outcome.flows[flow as usize].goodput_kbps * 1e3 * outcome.simulated / 8.0;
            assert!((goodput - all as f64).abs() < 1.0, "{goodput} of {all} bytes");
            assert!(outcome.flows[flow as usize].retransmissions > 0);
        }
    }
}

#[test]
fn the_deadline_parts_messages_in_time_from_late_ones() {
    // Each message takes the wire 20 ms longer than the interval: the later, the longer it waits.
    let params = messages::Params {
        size: bytes(25_000),
        interval: Law::Constant(Span::from_millis(1)),
        deadline: Span::from_millis(250),
        messages: 20,
        ..messages::Params::of_profile("rfc")
    };
    let outcome = run(&wire(app::Config::Messages(params.into()), true, 0.0, |_| {}));
    let messages = of_kind(&outcome, "message");
    assert_eq!(messages.len(), 20);
    let sending = 25.0 * (1000.0 + 28.0) * 8.0 / RATE;
    for (number, row) in messages.iter().enumerate() {
        let expected = (number + 1) as f64 * sending + DELAY - number as f64 * 1e-3;
        assert!((time(row) - expected).abs() < 1e-6, "{number}: {} s for {expected} s", time(row));
        assert_eq!(row.in_time, Some(u8::from(expected <= 0.25)));
    }
}

#[test]
fn a_message_with_a_lost_datagram_is_not_delivered() {
    let params = messages::Params {
        size: bytes(2500),
        interval: Law::Constant(Span::from_millis(20)),
        deadline: Span::from_secs(1),
        messages: 5000,
        ..messages::Params::of_profile("rfc")
    };
    let outcome = run(&wire(app::Config::Messages(params.into()), true, 0.1, |_| {}));
    let messages = of_kind(&outcome, "message");
    let whole = messages.iter().filter(|row| row.delivered_s.is_some()).count() as f64;
    // Three datagrams of 90 % each; four standard errors.
    let (share, error) = (whole / 5000.0, (0.729 * 0.271 / 5000.0_f64).sqrt());
    assert!(messages.len() == 5000 && (share - 0.729).abs() < 4.0 * error, "{share}");
    assert!(messages.iter().all(|row| row.in_time == Some(u8::from(row.delivered_s.is_some()))));
}

/// Messages and packets of a trace with one size and one interval are those of constant bit rate: the same events.
#[test]
fn regular_messages_and_traces_are_constant_bit_rate() {
    for udp in [true, false] {
        let interval = Span::from_millis(20);
        let mut cbr = cbr::Params::of_profile("rfc");
        (cbr.packet_size, cbr.interval, cbr.packets) = (Bytes::new(700), interval, 100);
        let messages = messages::Params {
            size: bytes(700),
            interval: Law::Constant(interval),
            messages: 100,
            ..messages::Params::of_profile("rfc")
        };
        let entry = |number| Entry { time: Span::from_secs(9) + interval * number, size: Bytes::new(700) };
        let entries = (0..100).map(entry).collect();
        let trace = trace::Params { entries, ..trace::Params::of_profile("rfc") };
        let digests =
            [app::Config::Cbr(cbr.into()), app::Config::Messages(messages.into()), app::Config::Trace(trace.into())]
                .map(|traffic| {
                    let mut spec = wire(traffic, udp, 0.01, |params| params.close = tcp::Close::None);
                    spec.flows[0].start = Time::ZERO + Span::from_secs(1);
                    let outcome = run(&spec);
                    (outcome.digest, outcome.flows[0].packets_sent, outcome.objects.len())
                });
        assert_eq!(digests[0].0, digests[1].0, "udp: {udp}");
        assert_eq!(digests[1], digests[2], "udp: {udp}");
        assert_eq!((digests[0].2, digests[1].2), (0, 100));
    }
}
