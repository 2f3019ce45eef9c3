//! Frames that are shorter than the propagation delays among their hearers: a frame ends at a near station before it
//! begins at a far one. Time never goes back, and one event for each edge gives the same.

use hopyard_engine::units::{Bytes, Power};
use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_model::address::InterfaceId;
use hopyard_model::mac::{self, dcf, tdma};
use hopyard_model::observe::{FrameEdge, FrameView, Outcome, Probe};
use hopyard_model::params::Params as _;
use hopyard_model::phy::reception::Reception;
use hopyard_model::world::Spec;

use crate::common::{add_cbr, add_tcp, mbps, network, ranged, run_with, with_dcf};

/// Looks at the time of every frame.
#[derive(Clone, Debug, Default)]
struct Clock {
    now: Time,
    received: u64,
}

impl Clock {
    fn goes_on(&mut self, now: Time) {
        assert!(now >= self.now, "{now} comes after {}", self.now);
        self.now = now;
    }
}

impl Probe for Clock {
    fn on_frame(&mut self, now: Time, _: InterfaceId, _: &FrameView<'_>, edge: FrameEdge) {
        match edge {
            FrameEdge::Sent => {
                self.goes_on(now);
            }
            FrameEdge::Received { .. } => {
                self.goes_on(now);
                self.received += 1;
            }
        }
    }
}

fn outcome(spec: &Spec) -> (Outcome, Clock) {
    run_with(spec, Clock::default())
}

/// Stations within 24 km of one another.
fn scattered(rng: &mut Rng, mac: &str, reception: Reception) -> Spec {
    let count = 3 + rng.below(12);
    let places: Vec<(f64, f64)> =
        (0..count).map(|_| (rng.uniform_in(0.0, 17_000.0), rng.uniform_in(0.0, 17_000.0))).collect();
    let mut spec = ranged(network("rfc", "oracle", &places), 24_500.0, 25_000.0);
    // Strong enough to be decoded at that distance.
    spec.channels[0].radio.transmit_power = Power::from_dbm(80.0);
    spec.channels[0].radio.reception = reception;
    if mac == "tdma" {
        let mut params = tdma::Params::of_profile("rfc");
        (params.rate, params.preamble, params.header) = (mbps(11.0), Span::ZERO, Bytes::new(rng.below(30)));
        // Frames of 21 to 88 µs: some slots are shorter than the delays, so that signals overlap.
        params.slot = Span::from_micros(90 + rng.below(80));
        params.check().expect("possible parameters");
        spec.channels[0].mac = mac::Config::Tdma(params.into());
    } else {
        with_dcf(&mut spec, |dcf| {
            (dcf.rate, dcf.basic_rate, dcf.preamble) = (mbps(11.0).into(), mbps(11.0), dcf::Preamble::Short);
            (dcf.header, dcf.rts_threshold) = (Bytes::new(1), Bytes::new(rng.below(80)));
        });
    }
    for flow in 0..count {
        let (from, to) = (flow as u32, ((flow + 1 + rng.below(count - 1)) % count) as u32);
        match rng.below(4) {
            0 => add_tcp(&mut spec, from, to, "rfc", "newreno", |tcp| tcp.segment_size = Bytes::new(50)),
            _ => add_cbr(&mut spec, from, to, 1 + rng.below(40), Span::from_micros(500 + rng.below(3000))),
        }
    }
    // Not all at once: their first broadcasts would collide.
    for flow in &mut spec.flows {
        flow.start = Time::from_nanos(rng.below(100_000_000));
    }
    spec.seed = rng.next_u64();
    Spec { duration: Span::from_millis(300), ..spec }
}

#[test]
fn time_never_goes_back_and_one_event_for_each_edge_gives_the_same() {
    let mut rng = Streams::new(1, 0).stream("short frames");
    let mut received = 0;
    for case in 0..60 {
        let mac = ["tdma", "dcf"][case % 3 / 2];
        let reception = Reception::ALL[case / 3 % Reception::ALL.len()];
        let spec = scattered(&mut rng, mac, reception);
        let mut exact = spec.clone();
        exact.medium.exact = true;
        let ((expected, clock), (found, _)) = (outcome(&exact), outcome(&spec));
        let name = format!("case {case}: {mac}, {reception:?}, {} nodes", spec.nodes.len());
        received += clock.received;
        assert_eq!((found.digest, found.receptions), (expected.digest, expected.receptions), "{name}");
        assert_eq!(
            (&found.flows, &found.nodes, &found.drops),
            (&expected.flows, &expected.nodes, &expected.drops),
            "{name}"
        );
        assert_eq!(found.events, expected.events, "{name}");
    }
    assert!(received > 300_000, "{received} frames were received");
}
