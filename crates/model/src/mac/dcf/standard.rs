//! The procedure of the standard.

use hopyard_engine::Time;

use super::params::{Params, Timing};
use super::procedure::Procedure;

/// IEEE 802.11-1999 §9.2.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl Procedure for Standard {
    fn follows(params: &Params) -> bool {
        params.habits() == [true, true, true, true, true, true, false, true]
    }

    /// §9.2.
    #[inline]
    fn sends_at_once(_params: &Params) -> bool {
        true
    }

    #[inline]
    fn choices(cw: u32, _params: &Params) -> u64 {
        u64::from(cw) + 1
    }

    /// §9.2.3.4: the EIFS begins when the medium turns idle.
    #[inline]
    fn keep_eifs(eifs_until: &mut Time, _nav: &mut Time, _now: Time, _timing: &Timing) {
        *eifs_until = Time::NEVER;
    }

    /// §9.2.5.4.
    #[inline]
    fn nav_guard(now: Time, timing: &Timing) -> Time {
        now + timing.params.sifs * 2 + timing.cts + timing.params.slot * 2
    }

    /// §9.2.5.3: each packet has its own count.
    #[inline]
    fn begin_packet(_failures: (u32, u32), _params: &Params) -> (u32, u32) {
        (0, 0)
    }

    #[inline]
    fn backs_off_after_giving_up(_params: &Params) -> bool {
        true
    }

    /// §9.2: a frame that begins in the same instant is not sensed in time.
    #[inline]
    fn senses_again(_params: &Params) -> bool {
        false
    }

    /// §9.2.8.
    #[inline]
    fn hears_out(_params: &Params) -> bool {
        true
    }
}
