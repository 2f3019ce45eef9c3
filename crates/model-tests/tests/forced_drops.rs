//! Forced drops: in the profile `ns2`, TCP sends the same segments as ns-2.35's agents.
//!
//! The reference (`data/ns2_forced_drops.csv`) was made with ns-2.35: 10 Mb/s and 2 ms, then 0.8 Mb/s and 100 ms,
//! window 100, only the listed segments are lost. Set `clean`: initial window 1, no limited transmit, no SYN, minimum
//! timeout 1 s. Set `ns235`: the defaults of 2.35. `make validate` makes a table of the same comparison.

use hopyard_engine::Streams;
use hopyard_engine::{Span, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::{acking, congestion, tcp};

use crate::two_links::{Case, Event, Kind, NS2_LINKS, Path, compare, read_reference, run_ns2, run_ns2_for};

fn sends(events: Vec<Event>, until: Time) -> Vec<Event> {
    events.into_iter().filter(|event| event.kind != Kind::Ack && event.time <= until).collect()
}

#[test]
fn every_segment_is_sent_as_in_ns2() {
    let cases = read_reference(include_str!("data/ns2_forced_drops.csv"));
    assert_eq!(cases.len(), 6 * (6 + 3), "six variants, six clean cases, three with the defaults");
    for Case { name: (set, variant, case), drops, events: reference, .. } in cases {
        // The times of the reference are truncated to six digits.
        let until = reference.last().expect("a case has events").time + Span::from_micros(1);
        let ours = sends(run_ns2(&set, &variant, &drops), until);
        let result = compare(&ours, &reference);
        assert_eq!(result.mismatch, None, "{set}/{variant}/{case}");
        assert_eq!(result.segments, result.reference, "{set}/{variant}/{case}");
        assert!(result.time_error <= Span::from_micros(1), "{set}/{variant}/{case}: {}", result.time_error);
        // The reference prints three decimals.
        assert!(result.cwnd_error < 0.000_6, "{set}/{variant}/{case}: {}", result.cwnd_error);
        assert!(result.ssthresh_error == 0.0, "{set}/{variant}/{case}: {}", result.ssthresh_error);
    }
}

/// The cases of `validation/peers/data/ns2_openings.csv` that `wanted` selects by set of defaults, variant and case.
fn openings(count: usize, wanted: impl Fn(&str, &str, &str) -> bool) {
    let mut cases = read_reference(include_str!("../../../validation/peers/data/ns2_openings.csv"));
    cases.retain(|case| wanted(&case.name.0, &case.name.1, &case.name.2));
    assert_eq!(cases.len(), count, "cases of the reference");
    for Case { name: (set, variant, case), drops, ack_drops, events: reference } in cases {
        let until = reference.last().expect("a case has events").time + Span::from_micros(1);
        let ours = sends(run_ns2_for(&set, &variant, &drops, &ack_drops, Span::from_secs(6)), until);
        let result = compare(&ours, &reference);
        assert_eq!((result.mismatch, result.segments), (None, result.reference), "{set}/{variant}/{case}");
        assert!(result.time_error <= Span::from_micros(1), "{set}/{variant}/{case}: {}", result.time_error);
        assert!(result.cwnd_error < 0.000_6, "{set}/{variant}/{case}: {}", result.cwnd_error);
        assert!(result.ssthresh_error == 0.0, "{set}/{variant}/{case}: {}", result.ssthresh_error);
    }
}

/// The first segment, its acknowledgement, the second segment, and one of these with a later segment.
#[test]
fn vegas_that_loses_its_first_segments_sends_as_in_ns2() {
    openings(10, |set, variant, _| variant == "Vegas" && !set.contains("_delayed"));
}

#[test]
fn senders_that_lose_their_second_packet_send_as_in_ns2() {
    openings(8, |set, variant, _| variant != "Vegas" && variant != "Tahoe" && !set.contains("_delayed"));
}

/// With a SYN the second packet is the first segment of data. The timeout comes before the third duplicate
/// acknowledgement.
#[test]
fn tahoe_that_loses_its_first_segment_of_data_sends_as_in_ns2() {
    openings(3, |set, variant, _| variant == "Tahoe" && !set.contains("_delayed"));
}

#[test]
fn the_first_segment_is_acknowledged_at_once_as_in_ns2() {
    openings(12, |set, _, _| set.ends_with("_delayed"));
}

#[test]
fn the_acknowledgement_of_a_copy_is_delayed_as_in_ns2() {
    openings(1, |set, _, _| set.ends_with("_one"));
}

#[test]
fn the_comparison_sees_differences() {
    let ours = sends(run_ns2("clean", "Reno", &[14]), Time::NEVER);
    let theirs = sends(run_ns2("clean", "Tahoe", &[14]), Time::NEVER);
    assert!(compare(&ours, &theirs).mismatch.is_some());
    assert!(compare(&ours, &ours[..10]).mismatch.is_some());
}

#[test]
fn every_variant_differs_from_every_other() {
    let variants = ["Tahoe", "Reno", "Newreno", "NewrenoSBS", "Sack1", "Vegas"];
    // Three losses and a timeout soon after them. With fewer losses, or with a longer timer, the two variants of
    // NewReno are equal.
    let runs = variants.map(|variant| sends(run_ns2("ff96", variant, &[14, 26, 28]), Time::NEVER));
    for first in 0..variants.len() {
        for second in first + 1..variants.len() {
            let result = compare(&runs[first], &runs[second]);
            assert!(result.mismatch.is_some(), "{} and {} behave alike", variants[first], variants[second]);
        }
    }
}

/// The number of segments at the bottleneck every 10 ms from 20 to 40 s, on a path without losses.
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
        // Between alpha and beta segments wait, one more is being sent, and acknowledgements arrive in pairs.
        let mean = queue.iter().sum::<usize>() as f64 / queue.len() as f64;
        assert!((1.0..=4.0).contains(&mean), "{profile}: {mean}");
        assert!(queue.iter().all(|&segments| segments <= 6), "{profile}: {:?}", queue.iter().max());
        assert!(queue.iter().filter(|&&segments| segments == 0).count() < 20, "{profile}: the bottleneck runs dry");
    }
    let filled = queue("newreno", "ns2");
    assert!(filled.iter().all(|&segments| segments > 20), "NewReno fills the queue up to its window");
}
