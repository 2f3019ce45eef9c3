//! Forced drops: TCP in the profile `ns2` sends what ns-2.35's agents send, segment for segment.
//!
//! The reference (`data/ns2_forced_drops.csv`) was made with ns-2.35: 10 Mb/s and 2 ms, then 0.8 Mb/s and 100 ms, no loss but the
//! segments listed, window 100. Set `clean`: initial window 1, no limited transmit, no SYN, minimum timeout 1 s; set `ns235`: the
//! defaults of 2.35. `make validate` makes the same comparison as a table.

mod two_links;

use hopyard_engine::Streams;
use hopyard_engine::{Span, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::{acking, congestion, tcp};
use two_links::{Event, Kind, NS2_LINKS, Path, compare, read_reference, run_ns2};

/// Where in a tick of 10 ms the clock starts. ns-2 draws it and does not print it; 5.25 to 8.1 ms all give the reference's timeouts.
const PHASE: Span = Span::from_millis(6);

fn sends(events: Vec<Event>, until: Time) -> Vec<Event> {
    events.into_iter().filter(|event| event.kind != Kind::Ack && event.time <= until).collect()
}

#[test]
fn every_segment_is_sent_as_in_ns2() {
    let cases = read_reference(include_str!("data/ns2_forced_drops.csv"));
    assert_eq!(cases.len(), 6 * (6 + 3), "six variants, six clean cases, three with the defaults");
    for ((set, variant, case), drops, reference) in cases {
        // The reference's times are cut to six digits.
        let until = reference.last().expect("a case has events").time + Span::from_micros(1);
        let ours = sends(run_ns2(&set, &variant, &drops, PHASE), until);
        let result = compare(&ours, &reference);
        assert_eq!(result.mismatch, None, "{set}/{variant}/{case}");
        assert_eq!(result.segments, result.reference, "{set}/{variant}/{case}");
        assert!(result.time_error <= Span::from_micros(1), "{set}/{variant}/{case}: {}", result.time_error);
        // The reference prints three decimals.
        assert!(result.cwnd_error < 0.000_6, "{set}/{variant}/{case}: {}", result.cwnd_error);
        assert!(result.ssthresh_error == 0.0, "{set}/{variant}/{case}: {}", result.ssthresh_error);
    }
}

#[test]
fn the_comparison_sees_differences() {
    let ours = sends(run_ns2("clean", "Reno", &[14], PHASE), Time::NEVER);
    let theirs = sends(run_ns2("clean", "Tahoe", &[14], PHASE), Time::NEVER);
    assert!(compare(&ours, &theirs).mismatch.is_some());
    assert!(compare(&ours, &ours[..10]).mismatch.is_some());
}

#[test]
fn every_variant_differs_from_every_other() {
    let variants = ["Tahoe", "Reno", "Newreno", "NewrenoSBS", "Sack1", "Vegas"];
    // Three losses and a timeout soon after: with fewer, or with a patient timer, the two NewRenos are the same.
    let runs = variants.map(|variant| sends(run_ns2("ff96", variant, &[14, 26, 28], PHASE), Time::NEVER));
    for first in 0..variants.len() {
        for second in first + 1..variants.len() {
            let result = compare(&runs[first], &runs[second]);
            assert!(result.mismatch.is_some(), "{} and {} behave alike", variants[first], variants[second]);
        }
    }
}

/// The segments at the bottleneck every 10 ms from 20 to 40 s, on a path without loss.
fn queue(variant: &str, profile: &str) -> Vec<usize> {
    let config = tcp::Config {
        tcp: tcp::Params { window: 60, ..tcp::Params::of_profile(profile) },
        congestion: congestion::Config::of_profile(variant, profile).expect("a variant"),
    };
    let acking = acking::Config::of_profile("every", profile).expect("a policy");
    let mut path = Path::new(&config, &acking, NS2_LINKS, &[], Streams::new(1, 0).stream("tcp"));
    path.start(u64::MAX);
    let sample = |step: u64| {
        let now = Time::ZERO + Span::from_millis(20_000 + 10 * step);
        path.run(now);
        path.queued(now)
    };
    (0..2000).map(sample).collect()
}

#[test]
fn vegas_keeps_a_few_segments_queued() {
    for profile in ["rfc", "ns2"] {
        let queue = queue("vegas", profile);
        // alpha to beta wait, one more is being sent, and acknowledgements come in pairs.
        let mean = queue.iter().sum::<usize>() as f64 / queue.len() as f64;
        assert!((1.0..=4.0).contains(&mean), "{profile}: {mean}");
        assert!(queue.iter().all(|&segments| segments <= 6), "{profile}: {:?}", queue.iter().max());
        assert!(queue.iter().filter(|&&segments| segments == 0).count() < 20, "{profile}: the bottleneck runs dry");
    }
    let filled = queue("newreno", "ns2");
    assert!(filled.iter().all(|&segments| segments > 20), "NewReno fills the queue up to its window");
}
