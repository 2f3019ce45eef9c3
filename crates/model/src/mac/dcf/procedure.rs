//! Where ns-2 does something else than the standard.

use std::fmt::Debug;

use hopyard_engine::Time;

use super::params::{Params, Timing};

/// The steps of a station in which ns-2 differs from the standard in more than a constant. A station is generic over
/// them, so that no step is selected while it runs.
pub trait Procedure: Copy + Debug {
    /// Whether [`Procedure::keep_eifs`] may delay the end of an EIFS. Otherwise every interframe space is a DIFS.
    const KEEPS_EIFS: bool = true;

    /// Whether [`Procedure::nav_guard`] may be a time.
    const GUARDS_NAV: bool = true;

    /// Whether these are the steps that the parameters ask for.
    fn follows(params: &Params) -> bool;

    /// Whether a station may send at once when the medium has been idle for a DIFS.
    fn sends_at_once(params: &Params) -> bool;

    /// From how many numbers of slots, with zero, a back-off is drawn.
    fn choices(cw: u32, params: &Params) -> u64;

    /// A frame received in error has ended, and the medium is still busy: how the EIFS is kept.
    fn keep_eifs(eifs_until: &mut Time, nav: &mut Time, now: Time, timing: &Timing);

    /// Until when a frame must follow an RTS for another station, or the NAV is reset.
    fn nav_guard(now: Time, timing: &Timing) -> Time;

    /// The station accepts a packet: the failures, of short frames and of long ones, that count for it.
    fn begin_packet(failures: (u32, u32), params: &Params) -> (u32, u32);

    /// Whether a back-off follows a packet that was given up.
    fn backs_off_after_giving_up(params: &Params) -> bool;

    /// Whether a station senses the medium once more at the moment it sends.
    fn senses_again(params: &Params) -> bool;

    /// Whether a station that waits for an answer waits for the end of a frame that has begun by then, and takes any
    /// other frame for a failure.
    fn hears_out(params: &Params) -> bool;
}
