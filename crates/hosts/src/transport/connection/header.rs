//! The contents of the headers of segments.

use hopyard_engine::Time;

use super::params::{Habits, Params};
use crate::packet::{IP_HEADER, SackBlocks, TCP_HEADER, TcpHeader};

/// The milliseconds that timestamps count (RFC 7323 §5.4).
pub(crate) fn milliseconds(time: Time) -> u32 {
    // The option's field has 32 bits and wraps.
    (time.nanos() / 1_000_000) as u32
}

/// Whether a timestamp is older than another: they wrap (RFC 7323 §5.2).
pub(crate) const fn is_earlier(value: u32, other: u32) -> bool {
    value.wrapping_sub(other) > u32::MAX / 2
}

/// The duplicate that an acknowledgement reports (RFC 2883 §4): its first block lies below what it acknowledges, or
/// within the second block.
pub(crate) fn dsack(header: &TcpHeader) -> Option<(u64, u64)> {
    let mut blocks = header.sack.iter();
    let first = blocks.next()?;
    let within = blocks.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    (first.1 <= header.ack || within).then_some(first)
}

/// Blocks in the order of sequence numbers.
pub(crate) fn ascending(blocks: &SackBlocks) -> impl Iterator<Item = (u64, u64)> {
    let mut sorted = [(u64::MAX, u64::MAX); SackBlocks::MAX];
    sorted.iter_mut().zip(blocks.iter()).for_each(|(place, block)| *place = block);
    sorted.sort_unstable();
    sorted.into_iter().take(blocks.len())
}

/// The bytes of a segment's IP and TCP headers with options.
pub fn header_bytes(params: &Params, header: &TcpHeader) -> u32 {
    let blocks = header.sack.len() as u32;
    let options = if params.habits != Habits::Ns2 {
        // Each option fills whole words: two NOPs lead (RFC 7323 appendix A, RFC 2018 §3). In a SYN the permission of
        // SACK takes the place of the NOPs before the timestamps; the segment size and the window scale take a word
        // each.
        let timestamps = u32::from(header.timestamps.is_some());
        let opening = if params.habits == Habits::Linux && header.flags.syn { 8 + 4 * (1 - timestamps) } else { 0 };
        12 * timestamps + opening + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    } else {
        10 * u32::from(header.timestamps.is_some()) + 8 * blocks
    };
    IP_HEADER + TCP_HEADER + options
}
