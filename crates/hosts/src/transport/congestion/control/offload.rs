//! How many segments Linux hands to its interface at once, for segmentation offload.
//!
//! Read: the documentation of `tcp_min_tso_segs` and `tcp_tso_rtt_log` (Documentation/networking/ip-sysctl), and the
//! draft that `bbr.rs` names, §4.2.2. A buffer holds what the sender sends in about a millisecond, and more where round
//! trips are short.

use hopyard_engine::Span;

/// Linux counts a millisecond as this part of a second.
const BUFFERS_PER_SECOND: f64 = 1024.0;
/// The most that a buffer holds, in bytes.
const LARGEST: f64 = 65_535.0;
/// The bytes of a buffer besides. It is halved for each half millisecond of the shortest round trip.
const MORE: u64 = 65_536;
const HALVED: u64 = 512;

/// The segments that are sent in the time of a buffer at `rate` bytes per second, as a whole number, and at least
/// `least`.
#[must_use]
pub fn paced(rate: f64, segment: u32, least: u32) -> u32 {
    whole((rate / BUFFERS_PER_SECOND).min(LARGEST), segment, least)
}

/// The segments of a buffer at `rate` bytes per second, at least `least`; `shortest` is the shortest round trip.
#[must_use]
pub fn buffer(rate: f64, shortest: Option<Span>, segment: u32, least: u32) -> u32 {
    let halved = shortest.map_or(u64::MAX, |shortest| shortest.nanos() / 1000 / HALVED);
    let more = if halved < 32 { MORE >> halved } else { 0 };
    whole(((rate / BUFFERS_PER_SECOND).min(LARGEST) + more as f64).min(LARGEST), segment, least)
}

fn whole(bytes: f64, segment: u32, least: u32) -> u32 {
    ((bytes / f64::from(segment)) as u32).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_holds_a_millisecond_and_more_where_round_trips_are_short() {
        let at = |megabits: f64, micros| buffer(megabits * 125_000.0, Some(Span::from_micros(micros)), 1448, 2);
        assert_eq!([at(2.0, 20_000), at(40.0, 20_000), at(100_000.0, 20_000)], [2, 3, 45]);
        // 4096 bytes for 4 half milliseconds, 65,536 for none.
        assert_eq!([at(2.0, 2_100), at(2.0, 100)], [2, 45]);
        assert_eq!(at(12.0, 2_100), 3, "1,464 bytes and 4,096");
        assert_eq!(paced(12.0 * 125_000.0, 1448, 2), 2);
        assert_eq!(buffer(0.0, None, 1448, 1), 1);
    }
}
