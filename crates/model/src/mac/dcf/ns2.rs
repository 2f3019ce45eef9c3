//! The procedure of ns-2.35, `mac/mac-802_11.cc`.

use hopyard_engine::Time;

use super::params::{Params, Timing};
use super::procedure::Procedure;

/// The procedures of ns-2.35.
#[derive(Clone, Copy, Debug)]
pub struct Ns2;

impl Procedure for Ns2 {
    const KEEPS_EIFS: bool = false;
    const GUARDS_NAV: bool = false;

    fn follows(params: &Params) -> bool {
        params.habits() == [false, false, false, false, false, false, true, false]
    }

    /// A station waits for a back-off even when the medium has long been idle.
    #[inline]
    fn sends_at_once(_params: &Params) -> bool {
        false
    }

    #[inline]
    fn choices(cw: u32, _params: &Params) -> u64 {
        u64::from(cw)
    }

    /// The NAV is set for an EIFS, from the end of the frame.
    #[inline]
    fn keep_eifs(_eifs_until: &mut Time, nav: &mut Time, now: Time, timing: &Timing) {
        *nav = (*nav).max(now + timing.eifs);
    }

    #[inline]
    fn nav_guard(_now: Time, _timing: &Timing) -> Time {
        Time::NEVER
    }

    /// When a packet is given up after failed RTS, the count of failed data frames is kept for the next packet.
    #[inline]
    fn begin_packet(failures: (u32, u32), _params: &Params) -> (u32, u32) {
        failures
    }

    #[inline]
    fn backs_off_after_giving_up(_params: &Params) -> bool {
        false
    }

    #[inline]
    fn senses_again(_params: &Params) -> bool {
        true
    }

    /// A station waits for as long as the answer would take, and other frames change nothing.
    #[inline]
    fn hears_out(_params: &Params) -> bool {
        false
    }
}
