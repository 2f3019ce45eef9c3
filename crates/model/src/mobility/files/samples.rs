//! Recorded tracks: samples with times and places, in metres or on the globe, that become movements.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};

use super::globe::{Epoch, Globe, Origin};
use super::movements::{Movements, Record, Zero};
use super::text::{Reading, within};
use super::track::{FASTEST_RECORDED, Fix, Track, too_fast};
use crate::file::BadFile;
use crate::mobility::leg::{Leg, Position};

/// The largest distance of a recorded position from the first one, in metres. No radio reaches so far, and up to there
/// the plane that touches the globe is near enough to it.
const FARTHEST: f64 = 100_000.0;

/// Where a sample was.
#[derive(Clone, Copy, Debug)]
pub(super) enum Place {
    Plane(Position),
    Globe(Globe),
}

/// A place of a node at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sample {
    /// Its line; nothing in a file without lines.
    pub(super) line: Option<usize>,
    pub(super) node: u32,
    pub(super) seconds: f64,
    pub(super) place: Place,
}

/// The movements of these samples, in the order of the file. Times begin at `first`, unless the reading says at which.
/// Faults are added to `problems`.
pub(super) fn movements(samples: &[Sample], first: Epoch, reading: &Reading, problems: &mut BadFile) -> Movements {
    let given = match reading.origin {
        Origin::At(origin) => Some(origin),
        Origin::First => None,
    };
    let origin = given.or_else(|| {
        samples.iter().find_map(|it| match it.place {
            Place::Globe(globe) => Some(Globe { height: 0.0, ..globe }),
            Place::Plane(_) => None,
        })
    });
    let position = |sample: &Sample| match (sample.place, origin) {
        (Place::Plane(position), _) => position,
        (Place::Globe(globe), Some(origin)) => globe.seen_from(origin),
        (Place::Globe(globe), None) => globe.seen_from(globe),
    };
    let seconds = || samples.iter().map(|it| it.seconds);
    let times = (seconds().fold(f64::INFINITY, f64::min), seconds().fold(f64::NEG_INFINITY, f64::max));
    let epoch = match if reading.epoch == Epoch::Detect { first } else { reading.epoch } {
        Epoch::At(seconds) => seconds,
        _ => times.0,
    };
    let centre = match given {
        Some(_) => Position::default(),
        None => samples.first().map_or(Position::default(), position),
    };
    let mut nodes: BTreeMap<u32, Vec<(f64, Position)>> = BTreeMap::new();
    for sample in samples {
        let here = position(sample);
        let shown = || match sample.place {
            Place::Plane(Position { x, y, z }) => format!("({x}, {y}, {z})"),
            Place::Globe(globe) => format!("longitude {}, latitude {}", globe.longitude, globe.latitude),
        };
        let away = centre.distance(here);
        if away > FARTHEST {
            let of = if given.is_some() { "the origin" } else { "the first position" };
            let found = format!("{}, {:.0} km away", shown(), away / 1e3);
            problems.push(sample.line, &found, format!("a position within {:.0} km of {of}", FARTHEST / 1e3));
            continue;
        }
        if let Err(expected) = within(reading.area, here) {
            problems.push(sample.line, &shown(), expected);
        }
        let track = nodes.entry(sample.node).or_default();
        let seconds = sample.seconds - epoch;
        match track.last() {
            Some((last, place)) if *last == seconds && *place == here => {}
            Some((last, _)) if *last >= seconds => {
                let found = format!("{} s after {} s", sample.seconds, last + epoch);
                problems.push(sample.line, &found, format!("times of node {} that increase", sample.node));
            }
            last => {
                let fault = last.and_then(|(last, place)| too_fast(*place, here, seconds - last, FASTEST_RECORDED));
                if let Some((found, expected)) = fault {
                    problems.push(sample.line, &found, format!("{expected} of node {}", sample.node));
                }
                track.push((seconds, here));
            }
        }
    }
    let mut tracks = Vec::new();
    for (node, samples) in nodes {
        let Ok(track) = Track::through(fixes(&samples)) else { continue };
        tracks.resize(node as usize, None);
        tracks.push(Some(track));
    }
    let on_globe = samples.first().is_some_and(|it| matches!(it.place, Place::Globe(_)));
    let zero = Zero { origin: origin.filter(|_| on_globe), epoch, times };
    Movements { zero: Some(zero), ..Movements::new(tracks, Record::default()) }
}

/// The fixes of samples, from the start of the run on.
fn fixes(samples: &[(f64, Position)]) -> Vec<Fix> {
    let at = |seconds: f64| Time::ZERO + Span::from_secs_f64(seconds.clamp(0.0, 1.6e9));
    let after = samples.partition_point(|(seconds, _)| *seconds <= 0.0);
    let mut fixes = Vec::with_capacity(samples.len() - after + 1);
    if let Some((before, from)) = after.checked_sub(1).map(|it| samples[it]) {
        let position = match samples.get(after) {
            Some((then, to)) if before < 0.0 => {
                // The leg begins before the run.
                let leg = Leg::between(Time::ZERO, from, *to, at(then - before));
                leg.position(at(-before))
            }
            _ => from,
        };
        fixes.push(Fix { at: Time::ZERO, position });
    }
    for (seconds, position) in &samples[after..] {
        let fix = Fix { at: at(*seconds), position: *position };
        // Two samples may be less than a nanosecond apart.
        if fixes.last().is_none_or(|last: &Fix| last.at < fix.at) {
            fixes.push(fix);
        }
    }
    fixes
}

#[cfg(test)]
mod tests;
