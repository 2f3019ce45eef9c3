use hopyard_engine::Streams;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::params::Params as _;

fn area(width: f64, height: f64) -> Params {
    Params { width: Distance::new(width), height: Distance::new(height), ..Params::of_profile("rfc") }
}

fn with_pause(params: Params, low: f64, high: f64) -> Params {
    Params { pause_min: Span::from_secs_f64(low), pause_max: Span::from_secs_f64(high), ..params }
}

fn node(params: &Params, number: usize) -> RandomWaypoint {
    RandomWaypoint::new(params, Streams::new(11, 0).node(number, "mobility"))
}

/// The leg that a node is on at each of `times`, which increase.
fn legs_at(mut node: RandomWaypoint, times: &[f64]) -> Vec<Leg> {
    let mut leg = node.next_leg();
    let mut found = Vec::new();
    for &time in times {
        let time = Time::ZERO + Span::from_secs_f64(time);
        while leg.until <= time {
            leg = node.next_leg();
        }
        found.push(leg);
    }
    found
}

fn speed(leg: &Leg) -> f64 {
    leg.speed()
}

/// The mean of a sample and the standard error of that mean.
fn mean(sample: impl Iterator<Item = f64>) -> (f64, f64) {
    let (n, sum, squares) = sample.fold((0.0, 0.0, 0.0), |(n, s, q), x| (n + 1.0, s + x, q + x * x));
    let mean = sum / n;
    (mean, libm::sqrt((squares / n - mean * mean) / n))
}

#[test]
fn the_mean_leg_has_its_closed_form() {
    for (width, height, expected) in [(1200.0, 1200.0, 625.7), (1000.0, 1000.0, 521.4), (1600.0, 400.0, 571.0)] {
        let length = mean_leg(Distance::new(width), Distance::new(height));
        assert!((length - expected).abs() < 0.05, "{width} x {height}: {length}");
        assert!((length - mean_leg(Distance::new(height), Distance::new(width))).abs() < 1e-9);
    }
}

#[test]
fn a_box_has_its_own_mean_leg_and_heights() {
    assert!((mean_leg_in_box([300.0; 3]) / 300.0 - 0.6617).abs() < 1e-4, "{}", mean_leg_in_box([300.0; 3]));
    // A box that is flat is a rectangle.
    assert!((mean_leg_in_box([1600.0, 400.0, 0.0]) / 571.0 - 1.0).abs() < 0.002);
    let (bottom, top) = (Coordinate::new(50.0), Coordinate::new(350.0));
    let params = Params { bottom, top, ..with_pause(area(300.0, 300.0), 5.0, 25.0) };
    let mut first = node(&params, 0);
    first.next_leg();
    let legs: Vec<_> = (0..20_000).map(|_| first.next_leg()).filter(|leg| !leg.is_pause()).collect();
    assert!(legs.iter().all(|leg| (50.0..=350.0).contains(&leg.from.z)));
    let (length, error) = mean(legs.iter().map(|leg| leg.from.distance(leg.position(leg.until))));
    assert!((length - 0.6617 * 300.0).abs() < 4.0 * error, "{length}");
    // The start has no transient: as many nodes move at the start as later, and as fast.
    let speeds = |at: f64| mean((0..3000).map(|number| speed(&legs_at(node(&params, number), &[at])[0])));
    let ((first, one), (later, two)) = (speeds(0.0), speeds(500.0));
    assert!((first - params.mean_speed()).abs() < 4.0 * one && (first - later).abs() < 4.0 * (one + two));
}

#[test]
fn drawn_legs_have_the_mean_length() {
    let params = area(1600.0, 400.0);
    let mut node = node(&params, 0);
    node.next_leg();
    let lengths = (0..20_000).map(|_| node.next_leg()).map(|leg| leg.from.distance(leg.position(leg.until)));
    let (length, error) = mean(lengths);
    let expected = mean_leg(params.width, params.height);
    assert!((length - expected).abs() < 4.0 * error, "{length} +- {error}, expected {expected}");
}

#[test]
fn the_mean_speed_has_its_closed_form() {
    // The stationary mean of 1 to 20 m/s in a square of 1200 m with a pause of 5 s.
    let speed = with_pause(area(1200.0, 1200.0), 5.0, 5.0).mean_speed();
    assert!((speed - 6.04).abs() < 0.005, "{speed}");
    // Without a pause, (vmax - vmin) / ln(vmax / vmin), whatever the area.
    let speed = area(300.0, 900.0).mean_speed();
    assert!((speed - 19.0 / libm::log(20.0)).abs() < 1e-9, "{speed}");
    let constant = Params { speed_min: Speed::new(10.0), speed_max: Speed::new(10.0), ..area(1600.0, 400.0) };
    assert!((constant.mean_speed() - 10.0).abs() < 1e-9);
}

#[test]
fn a_steady_state_start_has_no_transient() {
    for params in [
        area(1200.0, 1200.0),
        with_pause(area(1200.0, 1200.0), 5.0, 5.0),
        with_pause(area(1600.0, 400.0), 0.0, 120.0),
        with_pause(area(1000.0, 1000.0), 30.0, 90.0),
    ] {
        let times = [0.0, 2.5, 5.0, 7.5, 10.0, 400.0, 403.0, 407.0, 410.0];
        let found: Vec<_> = (0..4000).map(|i| legs_at(node(&params, i), &times)).collect();
        let early = mean(found.iter().map(|legs| legs[..5].iter().map(speed).sum::<f64>() / 5.0));
        let late = mean(found.iter().map(|legs| legs[5..].iter().map(speed).sum::<f64>() / 4.0));
        let expected = params.mean_speed();
        assert!((early.0 - expected).abs() < 4.0 * early.1, "first 10 s: {early:?}, expected {expected}");
        assert!((late.0 - expected).abs() < 4.0 * late.1, "later: {late:?}, expected {expected}");
        // How many nodes pause is stationary as well.
        let paused = params.mean_pause() / (params.mean_pause() + params.mean_journey());
        for i in 0..times.len() {
            let (share, error) = mean(found.iter().map(|legs| f64::from(u8::from(legs[i].is_pause()))));
            assert!((share - paused).abs() <= 4.0 * error, "paused at {} s: {share}, expected {paused}", times[i]);
        }
    }
}

#[test]
fn a_uniform_start_has_the_transient_that_the_steady_state_has_not() {
    let params = Params { start: Start::Uniform, ..area(1200.0, 1200.0) };
    let found: Vec<_> = (0..4000).map(|i| legs_at(node(&params, i), &[0.0, 1000.0])).collect();
    let (first, first_error) = mean(found.iter().map(|legs| speed(&legs[0])));
    let (late, late_error) = mean(found.iter().map(|legs| speed(&legs[1])));
    assert!((first - 10.5).abs() < 4.0 * first_error, "at the start, the mean of the draws: {first}");
    assert!((late - params.mean_speed()).abs() < 4.0 * late_error, "after long: {late}");
}

#[test]
fn nodes_are_denser_in_the_centre() {
    let centre = |start: Start, time: f64| {
        let params = Params { start, ..area(1000.0, 1000.0) };
        let inside = (0..6000).map(|i| {
            let place = legs_at(node(&params, i), &[time])[0].position(Time::ZERO + Span::from_secs_f64(time));
            f64::from(u8::from((250.0..750.0).contains(&place.x) && (250.0..750.0).contains(&place.y)))
        });
        mean(inside).0
    };
    // A quarter of the area; the approximation 36 x y (1-x) (1-y) of the moving nodes' density puts 0.4727 of them
    // there (Bettstetter, Resta, Santi 2003), and the exact density a little less.
    let steady = centre(Start::SteadyState, 0.0);
    assert!((0.42..0.48).contains(&steady), "{steady}");
    assert!((steady - centre(Start::SteadyState, 300.0)).abs() < 0.035);
    assert!((centre(Start::Uniform, 0.0) - 0.25).abs() < 0.025);
}

#[test]
fn the_rest_of_a_pause_has_its_mean() {
    // The mean residual life of U(p0, p1) is E[P^2] / (2 E[P]).
    for (low, high) in [(0.0, 60.0), (20.0, 60.0), (5.0, 5.0)] {
        let params = with_pause(area(100.0, 100.0), low, high);
        let mut rng = Streams::new(5, 0).stream("pause");
        let (rest, error) = mean((0..20_000).map(|_| residual_pause(&params, &mut rng).seconds()));
        let expected = (low * low + low * high + high * high) / 3.0 / (low + high);
        assert!((rest - expected).abs() < 4.0 * error, "U({low}, {high}): {rest}, expected {expected}");
    }
}

#[test]
fn impossible_values_are_refused() {
    let defaults = serde_json::to_value(Params::of_profile("rfc")).expect("serialisable");
    for (key, value, problem) in [
        ("speed_min", "0 m/s", "speed_min: expected a speed above zero"),
        ("speed_max", "0.5 m/s", "speed_max: expected at least speed_min (1 m/s), found 0.5 m/s"),
        ("width", "0 m", "width: expected a length above zero"),
        ("pause_min", "3 s", "pause_max: expected at least pause_min (3 s), found 0 s"),
        ("start", "random", "unknown variant `random`, expected one of `uniform`, `pause`, `steady_state`"),
    ] {
        let mut values = defaults.clone();
        values[key] = json!(value);
        let error = params::read::<Params>(&values).expect_err(key).to_string();
        assert!(error.contains(problem), "{error}");
    }
    let mut values = defaults;
    for (key, value) in [("width", "1 cm"), ("height", "1 cm"), ("speed_max", "20000 m/s")] {
        values[key] = json!(value);
    }
    assert!(params::read::<Params>(&values).is_ok(), "slow legs take longer");
    values["speed_min"] = json!("10000 m/s");
    let error = params::read::<Params>(&values).expect_err("a leg of no time").to_string();
    assert!(error.starts_with("speed_max: no leg can keep this speed") && error.contains("20000 m/s"), "{error}");
    values["pause_max"] = json!("1 s");
    assert!(params::read::<Params>(&values).is_ok(), "pauses take their time");
}

#[test]
fn a_start_with_a_pause_as_long_as_the_run_is_no_motion() {
    let params = Params { start: Start::Pause, ..with_pause(area(1500.0, 300.0), 900.0, 900.0) };
    for number in 0..20 {
        let mut node = node(&params, number);
        let (pause, way) = (node.next_leg(), node.next_leg());
        assert!(pause.is_pause() && pause.until == Time::ZERO + Span::from_secs(900), "{pause:?}");
        assert!(!way.is_pause() && way.from == pause.from, "{way:?}");
    }
    // Without a pause there is nothing to begin with.
    let at_once = Params { start: Start::Pause, ..area(1500.0, 300.0) };
    assert!(!node(&at_once, 0).next_leg().is_pause());
}

proptest! {
    #[test]
    fn legs_are_contiguous_and_stay_in_the_area(
        width in 1.0..5000.0_f64, height in 1.0..5000.0_f64, low in 0.01..10.0_f64, more in 0.0..30.0_f64,
        pause in 0.0..60.0_f64, more_pause in 0.0..60.0_f64, uniform: bool, number in 0..1000_usize,
        (x, y) in (-500.0..500.0_f64, -500.0..500.0_f64),
    ) {
        let start = if uniform { Start::Uniform } else { Start::SteadyState };
        let (west, south) = (Coordinate::new(x), Coordinate::new(y));
        let params = Params { speed_min: Speed::new(low), speed_max: Speed::new(low + more), start, x: west, y: south,
            ..with_pause(area(width, height), pause, pause + more_pause) };
        let mut node = node(&params, number);
        let mut last = node.next_leg();
        prop_assert_eq!(last.start, Time::ZERO);
        for _ in 0..50 {
            prop_assert!(last.until > last.start);
            let end = last.position(last.until);
            let next = node.next_leg();
            prop_assert_eq!(next.start, last.until);
            prop_assert!(next.from.distance(end) < 1e-6);
            prop_assert!((x..=x + width).contains(&next.from.x) && (y..=y + height).contains(&next.from.y));
            prop_assert!(next.is_pause() || (low * 0.999..=(low + more) * 1.001).contains(&speed(&next)));
            last = next;
        }
    }
}
