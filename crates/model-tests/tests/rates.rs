//! Rate control in a network of two stations, by the ratio of signal to noise of their link.

use std::collections::BTreeSet;

use hopyard_engine::units::{Distance, Frequency, Power, Ratio};
use hopyard_engine::{Span, Time};
use hopyard_model::mac::dcf::{Amendment, Params};
use hopyard_model::mac::{self, edca, rate_control};
use hopyard_model::observe::Outcome;
use hopyard_model::params::Params as _;
use hopyard_model::phy::Sensitivity;
use hopyard_model::phy::error_rate::thermal_noise;
use hopyard_model::phy::mode::{Guard, Name};
use hopyard_model::world::Spec;

use crate::common::{add_cbr, network, run, run_for};

/// A saturated link of 20 MHz with a ratio of signal to noise, under the DCF.
fn link(amendment: Amendment, rate: &str, control: &str, db: f64) -> Spec {
    let mut dcf = Params::of_amendment("rfc", amendment);
    dcf.rate = rate.parse().expect("a name");
    under(mac::Config::Dcf(dcf.into()), 20.0, control, db)
}

/// The same under EDCA, with frames of several packets from the start.
fn aggregating(amendment: Amendment, rate: &str, control: &str, db: f64) -> Spec {
    wide(20.0, Guard::Long, amendment, rate, control, db)
}

/// The same with a bandwidth and a guard interval.
fn wide(megahertz: f64, guard: Guard, amendment: Amendment, rate: &str, control: &str, db: f64) -> Spec {
    let mut params = edca::Params::of_profile("rfc");
    params.dcf.standard = amendment;
    params.follow("standard");
    params.dcf.bandwidth = Frequency::new(megahertz * 1e6);
    params.follow("bandwidth");
    (params.dcf.guard_interval, params.dcf.rate) = (guard, rate.parse().expect("a name"));
    params.check().expect("possible parameters");
    under(mac::Config::Edca(params.into()), megahertz, control, db)
}

fn under(mac: mac::Config, megahertz: f64, control: &str, db: f64) -> Spec {
    let mut spec = network("rfc", "static", &[(0.0, 0.0), (50.0, 0.0)]);
    let noise = thermal_noise(Ratio::from_db(7.0), Frequency::new(megahertz * 1e6)).dbm();
    let interval = if mac.name() == "edca" { 100 } else { 150 };
    let channel = &mut spec.channels[0];
    let gain = channel.propagation.channel().threshold_for(Power::from_watts(1.0), Distance::new(50.0)).watts();
    let weakest = Sensitivity::Threshold(Power::from_dbm(-110.0));
    channel.radio.transmit_power = Power::from_watts(Power::from_dbm(noise + db).watts() / gain);
    (channel.radio.receive, channel.radio.sense) = (weakest.into(), weakest);
    channel.mac = mac;
    channel.rates = rate_control::Config::of_profile(control, "rfc").expect("a rate control");
    add_cbr(&mut spec, 0, 1, 1000, Span::from_micros(interval));
    spec.link.queue_length = 50;
    spec.measure_from = Time::ZERO + Span::from_secs(1);
    spec.duration = Span::from_secs(3);
    spec.observe.recorded.rates = true;
    spec
}

/// The modes that the sender used, in order, with the time of each change.
fn changes(outcome: &Outcome) -> Vec<(f64, String)> {
    outcome.rate_changes.iter().filter(|row| row.node == 0).map(|row| (row.time_s, row.mode.clone())).collect()
}

const OFDM: [&str; 8] = ["6 Mbps", "9 Mbps", "12 Mbps", "18 Mbps", "24 Mbps", "36 Mbps", "48 Mbps", "54 Mbps"];

#[test]
fn a_perfect_link_is_used_at_its_best_within_a_second() {
    for control in ["arf", "aarf", "ideal", "minstrel_ht"] {
        for (amendment, rate, best) in [
            (Amendment::B, "1 Mbps", "11 Mbps"),
            (Amendment::G, "6 Mbps", "54 Mbps"),
            (Amendment::A, "6 Mbps", "54 Mbps"),
            (Amendment::N, "mcs0", "mcs7 20 MHz long"),
            (Amendment::N, "mcs8", "mcs15 20 MHz long"),
            (Amendment::Ac, "vht-mcs0-1ss", "vht-mcs8-1ss 20 MHz long"),
        ] {
            let outcome = run(&link(amendment, rate, control, 60.0));
            let changes = changes(&outcome);
            let (last, mode) = changes.last().expect("the rate changes");
            assert_eq!((mode.as_str(), *last < 1.0), (best, true), "{control}, {amendment}: {changes:?}");
            let row = outcome.rate_changes.iter().find(|row| row.node == 0).expect("the rate changes");
            let estimates = row.probability.is_some() && row.throughput_kbps.is_some();
            assert_eq!((row.node, row.neighbour, estimates), (0, 1, control == "minstrel_ht"));
        }
    }
}

/// Rate control of EDCA chooses among the same modes.
#[test]
fn a_perfect_link_of_edca_is_used_at_its_best_within_a_second() {
    for control in ["arf", "aarf", "ideal", "minstrel_ht"] {
        for (megahertz, guard, amendment, rate, best) in [
            (20.0, Guard::Long, Amendment::A, "6 Mbps", "54 Mbps"),
            (20.0, Guard::Long, Amendment::N, "mcs0", "mcs7 20 MHz long"),
            (40.0, Guard::Short, Amendment::N, "mcs8", "mcs15 40 MHz short"),
            (80.0, Guard::Short, Amendment::Ac, "vht-mcs0-1ss", "vht-mcs9-1ss 80 MHz short"),
        ] {
            let mut spec = wide(megahertz, guard, amendment, rate, control, 60.0);
            spec.duration = Span::from_millis(1500);
            let outcome = run(&spec);
            let changes = changes(&outcome);
            let (last, mode) = changes.last().expect("the rate changes");
            assert_eq!((mode.as_str(), *last < 1.0), (best, true), "{control}, {amendment}: {changes:?}");
            let sent = outcome.nodes[0].metric("aggregates").expect("a counter");
            assert_eq!(sent > 100, amendment != Amendment::A, "{control}, {amendment}: {sent}");
        }
    }
}

#[test]
fn goodput_with_aggregates_is_near_that_of_the_best_fixed_rate() {
    for (amendment, modes) in [(Amendment::N, "mcs"), (Amendment::Ac, "vht-mcs")] {
        for db in [5.0, 10.0, 15.0, 20.0, 25.0] {
            let goodput = |mode: u32, control: &str| {
                let mut spec = aggregating(amendment, &format!("{modes}{mode}"), control, db);
                run_for(&mut spec, 2).flows[0].goodput_kbps
            };
            let best = (0..if modes == "mcs" { 8 } else { 9 }).map(|mode| goodput(mode, "fixed")).fold(0.0, f64::max);
            for (control, share) in [("ideal", 0.65), ("minstrel_ht", 0.9), ("arf", 0.9), ("aarf", 0.9)] {
                let found = goodput(0, control);
                assert!(found > share * best, "{amendment}, {control} at {db} dB: {found:.0} of {best:.0} kbit/s");
            }
        }
    }
}

#[test]
fn goodput_is_near_that_of_the_best_fixed_rate() {
    for db in [5.0, 10.0, 15.0, 20.0, 25.0, 30.0] {
        let goodput = |rate: &str, control: &str| run(&link(Amendment::A, rate, control, db)).flows[0].goodput_kbps;
        let best = OFDM.iter().map(|rate| goodput(rate, "fixed")).fold(0.0, f64::max);
        // The ideal one avoids a mode whose frames fail once in a hundred.
        for (control, share) in [("ideal", 0.7), ("minstrel_ht", 0.9)] {
            let found = goodput("6 Mbps", control);
            assert!(found > share * best, "{control} at {db} dB: {found:.0} of {best:.0} kbit/s");
        }
    }
}

#[test]
fn the_ladder_of_each_standard_is_its_own() {
    let used = |amendment, rate: &str| -> BTreeSet<Name> {
        let outcome = run(&link(amendment, rate, "arf", 60.0));
        let name = |mode: &str| mode.split(' ').next().filter(|it| it.starts_with("mcs")).unwrap_or(mode).parse();
        outcome.rate_changes.iter().map(|row| name(&row.mode).expect("a name")).collect()
    };
    let names = |names: &[&str]| names.iter().map(|name| name.parse().expect("a name")).collect::<BTreeSet<Name>>();
    assert_eq!(used(Amendment::B, "1 Mbps"), names(&["2 Mbps", "5.5 Mbps", "11 Mbps"]));
    let of_both = [&["2 Mbps", "5.5 Mbps", "11 Mbps"][..], &OFDM].concat();
    assert_eq!(used(Amendment::G, "6 Mbps"), names(&of_both));
    assert_eq!(used(Amendment::A, "6 Mbps"), names(&OFDM[1..]));
    assert_eq!(used(Amendment::N, "mcs8").first(), Some(&Name::Ht(9)));
}

#[test]
fn without_rate_control_no_rate_changes() {
    let mut spec = link(Amendment::A, "24 Mbps", "fixed", 30.0);
    assert!(run(&spec).rate_changes.is_empty());
    // Observing changes nothing.
    spec.channels[0].rates = rate_control::Config::of_profile("minstrel_ht", "rfc").expect("a rate control");
    let watched = run(&spec);
    spec.observe.recorded.rates = false;
    let unwatched = run(&spec);
    assert_eq!((watched.digest, unwatched.rate_changes.len()), (unwatched.digest, 0));
}
