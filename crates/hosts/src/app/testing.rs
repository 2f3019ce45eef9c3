//! What the sources' own tests share.

use hopyard_engine::{Rng, Span, Streams, Time};

use super::{Application, Offer};

/// What a source offers up to `until`, each with its time in seconds.
pub fn offers(source: &mut impl Application, until: Time) -> Vec<(f64, Offer)> {
    let mut all = Vec::new();
    while source.deadline() <= until && source.deadline() != Time::NEVER {
        let now = source.deadline();
        all.push((now.seconds(), source.on_timer(now)));
        assert!(source.deadline() >= now, "time does not go back");
    }
    all
}

pub fn seconds(seconds: f64) -> Time {
    Time::ZERO + Span::from_secs_f64(seconds)
}

pub fn rng() -> Rng {
    Streams::new(1, 0).stream("flow/0/traffic")
}
