//! The loop with a clock and devices that the test moves.

use std::collections::VecDeque;
use std::io;
use std::net::Ipv4Addr;
use std::path::Path;

use hopyard_engine::{Span, Time};
use hopyard_live::{Crossing, End, Host, NodeReport, Report, Settings, couple};
use hopyard_model::address::NodeId;
use hopyard_model::context::Departure;
use hopyard_model::world::{Advanced, Watch, World};
use hopyard_scenario::Scenario;
use hopyard_wire::ipv4::{Header, Protocol};

/// Three hosts in a row. A wire takes 5 ms and the time of the bits.
const WIRES: &str = r#"
    name = "wires"
    duration = "1 s"
    routing.protocol = "static"
    [nodes]
    wired = 3
    [[wire]]
    between = [0, 1]
    rate = "10 Mbps"
    delay = "5 ms"
    [[wire]]
    between = [1, 2]
    rate = "10 Mbps"
    delay = "5 ms"
"#;
const ENDS: [NodeId; 2] = [NodeId(0), NodeId(2)];

fn world(text: &str, attached: &[NodeId]) -> World {
    let scenario =
        Scenario::load(text, "test.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let mut world = World::new(&scenario.spec(0)).expect("a world");
    attached.iter().for_each(|&node| world.attach(node).expect("it is there"));
    world
}

/// The same hosts with a flow, which has an event or more each millisecond.
fn with_flow() -> String {
    format!("{WIRES}\n[[flow]]\nfrom = 0\nto = 2\n")
}

fn datagram(source: Ipv4Addr, destination: Ipv4Addr, payload: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    Header::new(Protocol(253), source, destination, 64).emit(&vec![7; payload], &mut bytes).expect("short enough");
    bytes
}

fn between(world: &World, from: NodeId, to: NodeId, payload: usize) -> Vec<u8> {
    datagram(world.addresses(from)[0], world.addresses(to)[0], payload)
}

fn at(micros: u64) -> Time {
    Time::ZERO + Span::from_micros(micros)
}

/// A host whose clock moves when the loop waits or gives something out.
#[derive(Default)]
struct Fake<'a> {
    now: Time,
    /// How much later than asked for, or than a datagram comes, a wait ends.
    wakes_late: Span,
    /// How long a device takes for a datagram.
    takes: Span,
    /// What programs send, and when, in the order of time.
    arrivals: VecDeque<(Time, usize, Vec<u8>)>,
    /// What programs got, and when.
    given: Vec<(Time, usize, Vec<u8>)>,
    /// A device that takes nothing.
    full: Option<usize>,
    /// A device that is removed at a time.
    removed: Option<(Time, usize)>,
    /// A time at which the run is asked to stop.
    stop: Option<(Time, &'a Watch)>,
    /// A wait that ends after this time ends so much later.
    stall: Option<(Time, Span)>,
    /// How long it takes to look at the clock: as a network that takes so long for each event.
    costs: Span,
}

impl Host for Fake<'_> {
    fn now(&mut self) -> Time {
        self.now += self.costs;
        if let Some((_, watch)) = self.stop.filter(|(time, _)| *time <= self.now) {
            watch.cancel();
        }
        self.now
    }

    fn wait(&mut self, until: Time, open: &[bool]) -> io::Result<()> {
        let arrival = self.arrivals.iter().find(|(_, device, _)| open[*device]).map_or(Time::NEVER, |(time, ..)| *time);
        self.now = self.now.max(until.min(arrival)) + self.wakes_late;
        if let Some((after, longer)) = self.stall.filter(|(after, _)| *after <= self.now) {
            self.now = after + longer;
            self.stall = None;
        }
        if let Some((_, watch)) = self.stop.filter(|(time, _)| *time <= self.now) {
            watch.cancel();
        }
        Ok(())
    }

    fn receive(&mut self, device: usize, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        if self.removed.is_some_and(|(time, which)| time <= self.now && which == device) {
            return Err(io::Error::other("no such device"));
        }
        let is_there = |(time, which, _): &(Time, usize, Vec<u8>)| *time <= self.now && *which == device;
        let Some(place) = self.arrivals.iter().position(is_there) else { return Ok(None) };
        let (_, _, bytes) = self.arrivals.remove(place).expect("it is there");
        buffer[..bytes.len()].copy_from_slice(&bytes);
        Ok(Some(bytes.len()))
    }

    fn send(&mut self, device: usize, datagram: &[u8]) -> io::Result<()> {
        if self.full == Some(device) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.now += self.takes;
        self.given.push((self.now, device, datagram.to_vec()));
        Ok(())
    }
}

const SETTINGS: Settings = Settings { bound: Span::from_millis(1), share: 0.01, crossings: true, in_flight: None };

fn live(world: &mut World, host: &mut Fake<'_>) -> Report {
    live_with(world, host, SETTINGS, &Watch::default())
}

fn live_with(world: &mut World, host: &mut Fake<'_>, settings: Settings, watch: &Watch) -> Report {
    couple(world, host, &ENDS, settings, watch).expect("the devices stay")
}

/// When datagrams that are put in at these times leave the network, and the digest at the end.
fn stepped(puts: &[(Time, NodeId, Vec<u8>)]) -> (Vec<(Time, NodeId)>, u64) {
    let mut world = world(WIRES, &ENDS);
    for (time, node, bytes) in puts {
        world.advance(*time, &Watch::default());
        world.inject(*node, *time, bytes).expect("it can be put in");
    }
    assert_eq!(world.advance(Time::NEVER, &Watch::default()), Advanced::Ended);
    let left = std::iter::from_fn(|| world.egress()).filter_map(|it| match it {
        Departure::Datagram { at, node, .. } => Some((at, node)),
        Departure::Frame { .. } | Departure::NoCarrier { .. } | Departure::Completed { .. } => None,
    });
    (left.collect(), world.digest())
}

#[test]
fn with_a_perfect_host_everything_is_at_its_time() {
    let mut world = world(WIRES, &ENDS);
    let there = between(&world, ENDS[0], ENDS[1], 100);
    let back = between(&world, ENDS[1], ENDS[0], 1000);
    let mut host =
        Fake { arrivals: [(at(100), 0, there.clone()), (at(7_777), 1, back.clone())].into(), ..Fake::default() };
    let report = live(&mut world, &mut host);

    let (left, digest) = stepped(&[(at(100), ENDS[0], there), (at(7_777), ENDS[1], back)]);
    // 120 and 1020 bytes over two wires of 10 Mbit/s and 5 ms.
    assert_eq!(left, [(at(100 + 2 * (96 + 5000)), ENDS[1]), (at(7_777 + 2 * (816 + 5000)), ENDS[0])]);
    let given: Vec<_> = host.given.iter().map(|(time, device, _)| (*time, ENDS[*device])).collect();
    assert_eq!((given, world.digest()), (left, digest), "it is what a run in steps gives");
    assert_eq!((report.end, report.simulated(), report.in_time), (End::Duration, at(1_000_000), true));
    for (name, it) in [("packets", report.packets), ("events", report.events), ("reads", report.reads)] {
        assert_eq!((it.late, it.max_s), (0, Some(0.0)), "{name}");
    }
    let crossed = |it: &NodeReport| (it.node, it.packets_in, it.bytes_in, it.packets_out, it.bytes_out);
    assert_eq!(report.nodes.iter().map(crossed).collect::<Vec<_>>(), [(0, 1, 120, 1, 1020), (2, 1, 1020, 1, 120)]);
    assert_eq!(report.crossings.len(), 4);
    let last = Crossing { node: 0, direction: "out", at_ns: at(19_409).nanos(), late_ns: 0, bytes: 1020 };
    assert_eq!(report.crossings[3], last);
}

#[test]
fn the_lateness_of_the_host_is_recorded_and_judged() {
    let run = |bound: u64| {
        let mut world = world(WIRES, &ENDS);
        let there = between(&world, ENDS[0], ENDS[1], 100);
        let arrivals = (1..=50).map(|it| (at(13_000 * it), 0, there.clone())).collect();
        let micros = Span::from_micros;
        let mut host = Fake { arrivals, wakes_late: micros(300), takes: micros(40), ..Fake::default() };
        let settings = Settings { bound: micros(bound), ..SETTINGS };
        live_with(&mut world, &mut host, settings, &Watch::default())
    };
    let report = run(350);
    assert_eq!((report.packets.count, report.packets.late), (50, 0));
    // Each datagram leaves at a time of its own, for which the loop waits 300 µs too long; the device takes 40 µs.
    assert_eq!((report.packets.min_s, report.packets.max_s), (Some(340e-6), Some(340e-6)));
    assert_eq!(report.events.max_s, Some(300e-6));
    assert!(report.in_time);

    let report = run(339);
    assert_eq!((report.packets.late, report.in_time), (50, false));
}

#[test]
fn a_datagram_goes_in_at_the_time_at_which_it_is_read() {
    let mut world = world(WIRES, &ENDS);
    let there = between(&world, ENDS[0], ENDS[1], 100);
    let arrivals = [(at(2_000), 0, there.clone())].into();
    let mut host = Fake { arrivals, wakes_late: Span::from_micros(300), ..Fake::default() };
    let report = live(&mut world, &mut host);
    let entered = report.crossings[0];
    // The clock stood at a multiple of the rest and of the delays of waits when it came.
    assert!((2_000..=2_300).contains(&(entered.at_ns / 1000)), "{entered:?}");
    let (left, digest) = stepped(&[(Time::from_nanos(entered.at_ns), ENDS[0], there)]);
    assert_eq!((left[0].0.nanos(), digest), (report.crossings[1].at_ns, world.digest()));
}

#[test]
fn a_stall_of_the_host_makes_a_run_late() {
    let mut world = world(&with_flow(), &ENDS);
    let there = between(&world, ENDS[0], ENDS[1], 100);
    let stall = Some((at(300_000), Span::from_millis(200)));
    let mut host = Fake { arrivals: [(at(310_000), 0, there)].into(), stall, ..Fake::default() };
    let report = live(&mut world, &mut host);
    assert!(!report.in_time, "{report:?}");
    assert!(report.events.late > 10 && report.events.max_s.is_some_and(|it| it > 0.19 && it <= 0.2), "{report:?}");
    // The datagram was there after the stall only, and it goes in then.
    assert_eq!((report.crossings[0].at_ns, report.crossings[0].late_ns), (at(500_000).nanos(), 0));
    // Afterwards the run is in time again: the simulated clock is that of the host.
    assert_eq!((report.packets.count, report.packets.max_s), (1, Some(0.0)));
}

#[test]
fn devices_are_looked_at_while_many_events_are_due() {
    let mut world = world(WIRES, &ENDS);
    let there = between(&world, ENDS[0], ENDS[1], 100);
    let mut arrivals: VecDeque<_> = (0..40).map(|_| (at(1_000), 0, there.clone())).collect();
    // It comes while the others are given out, which takes 40 × 50 µs.
    arrivals.push_back((at(12_500), 1, between(&world, ENDS[1], ENDS[0], 10)));
    let mut host = Fake {
        arrivals,
        takes: Span::from_micros(50),
        stall: Some((at(5_000), Span::from_millis(7))),
        ..Fake::default()
    };
    let report = live(&mut world, &mut host);
    let read = report.crossings.iter().find(|it| it.node == 2 && it.direction == "in").expect("it was read");
    assert!(read.at_ns - at(12_500).nanos() <= 150_000 && read.late_ns <= 150_000, "{read:?}");
}

#[test]
fn what_cannot_cross_is_counted_under_its_reason() {
    let mut world = world(WIRES, &ENDS);
    let [own, other] = ENDS.map(|node| world.addresses(node)[0]);
    let none = Ipv4Addr::new(203, 0, 113, 9);
    let mut ipv6 = vec![0; 40];
    ipv6[0] = 0x60;
    let sent = [
        ipv6,
        datagram(own, other, 10)[..25].to_vec(),
        datagram(none, other, 10),
        datagram(own, none, 10),
        datagram(own, Ipv4Addr::new(224, 0, 0, 1), 10),
        datagram(own, own, 10),
        datagram(own, other, 10),
    ];
    let arrivals = sent.into_iter().map(|it| (at(5), 0, it)).collect();
    let mut host = Fake { arrivals, full: Some(1), ..Fake::default() };
    let report = live(&mut world, &mut host);
    let [first, last] = &report.nodes[..] else { panic!("two nodes: {report:?}") };
    assert_eq!((first.refused_not_ipv4, first.refused_source, first.refused_destination), (2, 1, 3));
    assert_eq!((first.packets_in, first.refused_no_room, first.refused_device), (1, 0, 0));
    assert_eq!((last.packets_out, last.bytes_out, last.refused_device), (0, 0, 1));
    assert_eq!(report.packets.count, 0, "what was not given out is not late");
}

#[test]
fn a_run_can_be_stopped_and_has_its_results() {
    let mut world = world(WIRES, &ENDS);
    let watch = Watch::default();
    let mut host = Fake { stop: Some((at(250_000), &watch)), ..Fake::default() };
    let report = live_with(&mut world, &mut host, SETTINGS, &watch);
    assert_eq!(report.end, End::Stopped);
    assert!(host.now < at(290_000), "it is seen soon: {:?}", host.now);
    assert_eq!(report.simulated(), host.now, "the results are of the time until then");
    assert!(world.finish().is_ok());
}

#[test]
fn a_device_that_is_removed_ends_the_run() {
    let mut world = world(WIRES, &ENDS);
    let mut host = Fake { removed: Some((at(100_000), 1)), ..Fake::default() };
    let error = couple(&mut world, &mut host, &ENDS, SETTINGS, &Watch::default()).expect_err("it is gone");
    assert_eq!(error.to_string(), "the device of node 2 cannot be read any more: no such device");
}

#[test]
fn without_programs_a_run_has_the_digest_of_its_scenario() {
    let text = with_flow();
    let mut plain = world(&text, &[]);
    plain.advance(Time::NEVER, &Watch::default());
    let mut world = world(&text, &ENDS);
    let mut host = Fake { wakes_late: Span::from_micros(123), ..Fake::default() };
    live(&mut world, &mut host);
    assert_eq!(world.digest(), plain.digest());
}

#[test]
fn a_full_ring_leaves_datagrams_in_the_device() {
    let run = |in_flight| {
        let mut world = world(WIRES, &ENDS);
        let there = between(&world, ENDS[0], ENDS[1], 1230);
        let arrivals = (0..40).map(|_| (at(1_000), 0, there.clone())).collect();
        let mut host = Fake { arrivals, ..Fake::default() };
        let settings = Settings { in_flight, ..SETTINGS };
        let report = live_with(&mut world, &mut host, settings, &Watch::default());
        assert_eq!((report.nodes[0].packets_in, report.nodes[1].packets_out), (40, 40));
        // A datagram that the ring had no place for has not waited for the loop.
        assert_eq!(report.reads.max_s, Some(0.0));
        (host.given, world.queues()[0].max)
    };
    let (all, most) = run(None);
    assert_eq!(most, 40 - 1, "one is on the wire");
    let (ring, most) = run(Some(4));
    assert_eq!(most, 4 - 1);
    // The wire has the next one at once: they come at the same times.
    assert_eq!(ring, all);
    // 1250 bytes take 1 ms.
    assert_eq!(ring[39].0, at(1_000 + 40 * 1_000 + 1_000 + 2 * 5_000));
}

#[test]
fn a_network_that_takes_too_long_ends_with_the_clock_of_the_host() {
    let mut world = world(&with_flow(), &ENDS);
    let mut host = Fake { costs: Span::from_millis(5), ..Fake::default() };
    let report = live(&mut world, &mut host);
    assert_eq!((report.end, report.in_time), (End::Duration, false));
    assert!(host.now >= at(2_000_000) && host.now < at(2_100_000), "{:?}", host.now);
    assert!(report.simulated() > Time::ZERO && report.simulated() < at(900_000), "{report:?}");
    assert!(world.finish().is_ok(), "its packets add up");
}

#[test]
fn a_network_that_takes_too_long_can_be_stopped() {
    let text = with_flow().replace("\"1 s\"", "\"100 s\"");
    let mut world = world(&text, &ENDS);
    let watch = Watch::default();
    let stop = Some((at(5_000_000), &watch));
    let mut host = Fake { costs: Span::from_millis(5), stop, ..Fake::default() };
    let report = live_with(&mut world, &mut host, SETTINGS, &watch);
    assert_eq!(report.end, End::Stopped);
    assert!(host.now < at(5_100_000) && report.simulated() < at(3_000_000), "{report:?}");
}
