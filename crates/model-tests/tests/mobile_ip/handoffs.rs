//! The table of handoffs, in whole networks.

use hopyard_engine::Span;
use hopyard_engine::units::{Distance, Rate};
use hopyard_model::agent::mobile_ip::MoveDetection;
use hopyard_model::mac;
use hopyard_model::observe::Outcome;
use hopyard_model::phy::mode::Name;
use hopyard_model::phy::{Receive, Sensitivity};
use hopyard_model::world::{self, Spec, Watch, World};

use super::cells::{CN, FA, HA, MH, cells, with_datagrams};

fn run(spec: &Spec) -> Outcome {
    world::simulate(spec, &Watch::default()).expect("packets add up")
}

#[test]
fn each_crossing_is_a_row_whose_times_are_in_order() {
    // Out of the cell at 20 s, and back at 60 s.
    let track = [(0.0, 200.0), (10.0, 200.0), (30.0, 500.0), (50.0, 500.0), (70.0, 200.0)];
    for (from, to) in [(CN, MH), (MH, CN)] {
        let mut spec = cells("rfc", "static", &track, |it| it.move_detection = MoveDetection::Eager);
        spec.duration = Span::from_secs(90);
        with_datagrams(&mut spec, from, to);
        let outcome = run(&spec);
        let rows = &outcome.handoffs;
        let ways: Vec<_> = rows.iter().map(|row| (row.host, row.agent_before, row.agent, row.kind)).collect();
        let away = (MH.0, Some(HA.0), FA.0, "change");
        let back = (MH.0, Some(FA.0), HA.0, "change");
        assert_eq!(ways, [away, back], "{from} to {to}");
        for (row, crossing) in rows.iter().zip([20.0, 60.0]) {
            let exchanged = row.last_exchange_s.expect("packets went before");
            assert!((crossing - 0.2..crossing + 0.1).contains(&exchanged), "{row:?}");
            // By where host and agents are: the cells touch.
            for border in [row.left_s, row.entered_s] {
                assert!(border.is_some_and(|at| (at - crossing).abs() < 1e-6), "{row:?}");
            }
            let times = [Some(exchanged), row.heard_s, row.requested_s, row.registered_s];
            let times: Vec<f64> = times.into_iter().map(|at| at.expect("it is known")).collect();
            assert!(times.is_sorted(), "{row:?}");
            // Within an advertisement's interval of 1 s, and then a round trip over three hops.
            assert!(times[3] - crossing < 1.1, "{row:?}");
            assert_eq!((row.requests, row.refused, row.timeouts), (1, 0, 0), "{row:?}");
            // Away, the home agent's tunnel begins between request and reply.
            assert_eq!(row.tunnel_s.is_some(), row.agent == FA.0);
            assert!(row.tunnel_s.is_none_or(|at| times[2] < at && at < times[3]), "{row:?}");
            let first = if from == MH { row.first_up_s } else { row.first_down_s };
            assert!(first.is_some_and(|at| at > times[2] && at < times[3] + 0.1), "{row:?}");
            // 200 bytes each 50 ms; for a second after the gap, too few have arrived.
            assert!((row.rate_before_kbps - 32.0).abs() < 0.4, "{row:?}");
            assert!(row.recovered_s.is_some_and(|at| at > times[3] && at < times[3] + 1.1), "{row:?}");
        }
        // Each packet that is lost belongs to a handoff.
        let flow = &outcome.flows[0];
        let lost: u64 = rows.iter().map(|row| row.lost).sum();
        assert_eq!(lost, flow.packets_dropped, "{rows:?}");
        assert!(lost > 0 && rows.iter().all(|row| row.lost_reasons.ends_with(&row.lost.to_string())), "{rows:?}");
    }
}

#[test]
fn cells_are_those_of_the_rate_at_which_agents_advertise() {
    let track = [(0.0, 200.0), (10.0, 200.0), (30.0, 500.0)];
    let mut spec = cells("rfc", "static", &track, |it| it.move_detection = MoveDetection::Eager);
    spec.duration = Span::from_secs(40);
    let mac::Config::Dcf(params) = &mut spec.channels[0].mac else { panic!("the registry has the DCF") };
    let [data, basic] = [11_000_000, 2_000_000].map(Rate::from_bps);
    (params.rate, params.basic_rate) = (Name::Rate(data), basic);
    // No agent comes within the range of data, 190 m.
    let range = |metres| Sensitivity::Range(Distance::new(metres));
    let ranges = [(Name::Rate(data), range(190.0)), (Name::Rate(basic), range(250.0))];
    spec.channels[0].radio.receive = Receive::ByMode(ranges.into());
    let rows = run(&spec).handoffs;
    let [row] = &rows[..] else { panic!("one handoff: {rows:?}") };
    for border in [row.left_s, row.entered_s] {
        assert!(border.is_some_and(|at| (at - 20.0).abs() < 1e-6), "{row:?}");
    }
}

#[test]
fn an_agent_that_is_lost_and_found_again_is_a_return() {
    // Out of every cell from about 5 s on, and back after about 25 s.
    let track = [(0.0, 200.0), (4.0, 200.0), (4.5, 5000.0), (25.0, 5000.0), (25.5, 200.0)];
    let mut spec = cells("rfc", "static", &track, |_| {});
    spec.duration = Span::from_secs(40);
    with_datagrams(&mut spec, CN, MH);
    let rows = run(&spec).handoffs;
    let ways: Vec<_> = rows.iter().map(|row| (row.agent_before, row.agent, row.kind)).collect();
    // It rushes through the cell of the foreign agent, there and back, and never hears that one.
    let missed = |before| (before, FA.0, "missed");
    assert_eq!(ways, [missed(Some(HA.0)), missed(None), (Some(HA.0), HA.0, "return")]);
    let row = &rows[2];
    assert!(row.moved_s > Some(25.0) && row.last_exchange_s.is_some_and(|at| at < 4.6), "{rows:?}");
    // At 9,600 m/s: 150 m from the start, the border of both cells.
    for (at, expected) in [
        (row.left_s, 4.0 + 150.0 / 9600.0),
        (rows[0].entered_s, 4.0 + 150.0 / 9600.0),
        (rows[1].entered_s, 25.0 + 4350.0 / 9600.0),
        (row.entered_s, 25.0 + 4650.0 / 9600.0),
    ] {
        assert!(at.is_some_and(|at| (at - expected).abs() < 1e-6), "{rows:?}, {expected}");
    }
    assert!(rows[..2].iter().all(|it| it.moved_s.is_none() && it.registered_s.is_none() && it.lost == 0));
}

#[test]
fn a_run_is_the_same_whether_handoffs_are_watched_or_not() {
    let track = [(0.0, 200.0), (5.0, 200.0), (25.0, 500.0)];
    let mut spec = cells("ns2", "dsdv", &track, |_| {});
    spec.duration = Span::from_secs(60);
    with_datagrams(&mut spec, CN, MH);
    let (alone, ()) = World::new(&spec).expect("a world").run_watched(&Watch::default()).expect("packets add up");
    let watched = run(&spec);
    assert_eq!(alone.digest, watched.digest);
    assert!(alone.handoffs.is_empty() && !watched.handoffs.is_empty());
}
