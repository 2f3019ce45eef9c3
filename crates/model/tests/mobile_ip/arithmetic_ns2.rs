//! Profile `ns2` against arithmetic: the wait for DSDV's updates, and throughput at rest.

use hopyard_engine::rng::Streams;
use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::{MobileChange, MobileEvent};
use hopyard_model::observe::Probe;
use hopyard_model::packet::{Packet, PacketKind};
use hopyard_model::transport;
use hopyard_model::world::{Transport, Watch, World};

use crate::arithmetic::{critical, is_on_the_page, kolmogorov_smirnov, mean};
use crate::cells::{CN, FA, MH, cells};
use crate::common::{add_tcp, run, with_dcf};

#[test]
fn a_host_at_rest_at_the_edge_of_its_cell_has_the_throughput_of_the_closed_form() {
    // One data packet of D bytes and its acknowledgement, each behind RTS and CTS, at 1 Mb/s, with 31 slots of
    // back-off in the mean for both together; 34 bytes of MAC.
    let exchange = |bytes: f64| {
        let frame = 192.0 + 8.0 * (bytes + 34.0);
        352.0 + 304.0 + frame + 304.0 + 3.0 * 10.0 + 50.0 + 310.0
    };
    for (profile, routing, variant, data, ack, acking, expected, seen) in [
        ("rfc", "static", "newreno", 1040.0, 40.0, "every", 652.0, 650.0),
        ("rfc", "static", "newreno", 1040.0, 40.0, "delayed", 714.0, 709.0),
        ("ns2", "dsdv", "newreno", 1060.0, 40.0, "every", 644.0, 659.0),
        ("ns2", "dsdv", "newreno", 1060.0, 40.0, "delayed", 704.0, 717.0),
        ("ns2", "dsdv", "vegas", 1020.0, 40.0, "every", 661.0, 676.0),
        ("ns2", "dsdv", "vegas", 1020.0, 40.0, "delayed", 725.0, 737.0),
    ] {
        let acks = if acking == "every" { 1.0 } else { 0.5 };
        let formula = 8e6 / (exchange(data) + acks * exchange(ack));
        assert!((formula / expected - 1.0).abs() < 0.003, "{profile} {variant} {acking}: {formula}");
        let mut spec = cells(profile, routing, &[(0.0, 50.0)], |_| {});
        with_dcf(&mut spec, |it| {
            (it.rate, it.basic_rate, it.rts_threshold) =
                (Rate::from_bps(1_000_000), Rate::from_bps(1_000_000), Bytes::new(0));
        });
        add_tcp(&mut spec, MH.0, CN.0, profile, variant, |it| {
            (it.segment_size, it.window) = (Bytes::new(1000), 20);
        });
        if let Transport::Tcp { acking: it, .. } = &mut spec.flows[0].transport {
            *it = transport::acking::Config::of_profile(acking, profile).expect("a way of acknowledging");
        }
        spec.measure_from = Time::ZERO + Span::from_secs(20);
        spec.duration = Span::from_secs(120);
        let found = run(&spec).flows[0].goodput_kbps;
        assert!((found / expected - 1.0).abs() < 0.03, "{profile} {variant} {acking}: {found}, not {expected}");
        is_on_the_page(found, seen, 1.0);
    }
}

/// When the host and the foreign agent first get an update of each other.
#[derive(Debug, Default)]
struct Updates {
    heard: [Option<f64>; 2],
    registered: Option<f64>,
}

impl Probe for Updates {
    fn on_hop(&mut self, now: Time, from: NodeId, node: NodeId, packet: &Packet) {
        if packet.kind() != PacketKind::Routing {
            return;
        }
        for (place, ends) in [(FA, MH), (MH, FA)].into_iter().enumerate() {
            if (from, node) == ends {
                self.heard[place].get_or_insert(now.seconds());
            }
        }
    }

    fn on_mobile(&mut self, now: Time, node: NodeId, event: &MobileEvent) {
        if let MobileChange::Registered { agent, .. } = event.what
            && node == MH
            && agent == FA.into()
        {
            self.registered.get_or_insert(now.seconds());
        }
    }
}

#[test]
fn a_first_entry_under_dsdv_waits_for_the_later_of_two_updates() {
    // A period is uniform on a = 11.25 to b = 15 s. What is left of it at a time that has nothing to do with it has the
    // density (1 - F) / m with m = (a + b) / 2: 1 / m up to a, then (b - x) / (b - a) / m. So its distribution is
    // x / m up to a, and 1 - (b - x)^2 / (2 (b - a) m) after that; the later of two has the square of it.
    let rest = |x: f64| {
        let (a, b, m) = (11.25, 15.0, 13.125);
        if x < a { (x / m).max(0.0) } else { 1.0 - (b - x).max(0.0).powi(2) / (2.0 * (b - a) * m) }
    };
    // Periods forget the common start within about 30 of them.
    let one = |run| {
        let mut rng = Streams::new(5, run).stream("crossing");
        let border = 400.0 + 20.0 * rng.uniform();
        let track = [(0.0, 250.0), (border - 10.0, 250.0), (border + 20.0, 550.0)];
        let mut spec = cells("ns2", "dsdv", &track, |_| {});
        (spec.run, spec.duration) = (run, Span::from_secs_f64(border + 25.0));
        let world = World::with_probe(&spec, Updates::default()).expect("a world");
        let seen = world.run_watched(&Watch::default()).expect("packets add up").1;
        let both = seen.heard.map(|at| at.expect("an update in 20 s"));
        let later = both[0].max(both[1]);
        let waits = seen.registered.expect("a registration") - later;
        (later - border, waits)
    };
    let found: Vec<(f64, f64)> = (0..1000).map(one).collect();
    let (later, waits): (Vec<f64>, Vec<f64>) = found.into_iter().unzip();
    let distance = kolmogorov_smirnov(&later, |x| rest(x).powi(2));
    let most = waits.iter().copied().fold(0.0, f64::max);
    assert!(distance < critical(later.len()), "{distance}, mean {}", mean(&later));
    is_on_the_page(mean(&later), 8.90, 0.01);
    is_on_the_page(distance, 0.026, 0.001);
    is_on_the_page(most, 0.52, 0.005);
    // The next try is at most half a second away.
    assert!(waits.iter().all(|it| (0.0..0.6).contains(it)), "{most}");
}
