//! Steps of the standard and of ns-2, each selected by its parameter: to examine which of them has which effect.

use hopyard_engine::Time;

use super::ns2::Ns2;
use super::params::{Params, Timing};
use super::procedure::Procedure;
use super::standard::Standard;

/// The choice, for each step, between the standard and ns-2.
#[derive(Clone, Copy, Debug)]
pub struct Mixed;

/// The step of the standard where a condition holds, otherwise the step of ns-2.
macro_rules! select {
    ($of_standard:expr => $step:ident($($argument:expr),+)) => {
        if $of_standard { Standard::$step($($argument),+) } else { Ns2::$step($($argument),+) }
    };
}

impl Procedure for Mixed {
    fn follows(params: &Params) -> bool {
        !Standard::follows(params) && !Ns2::follows(params)
    }

    fn sends_at_once(params: &Params) -> bool {
        select!(params.immediate_access => sends_at_once(params))
    }

    fn choices(cw: u32, params: &Params) -> u64 {
        select!(params.draw_includes_cw => choices(cw, params))
    }

    fn keep_eifs(eifs_until: &mut Time, nav: &mut Time, now: Time, timing: &Timing) {
        select!(timing.params.eifs_replaces_difs => keep_eifs(eifs_until, nav, now, timing));
    }

    fn nav_guard(now: Time, timing: &Timing) -> Time {
        select!(timing.params.nav_reset => nav_guard(now, timing))
    }

    fn begin_packet(failures: (u32, u32), params: &Params) -> (u32, u32) {
        select!(params.failures_per_packet => begin_packet(failures, params))
    }

    fn backs_off_after_giving_up(params: &Params) -> bool {
        select!(params.backoff_after_giving_up => backs_off_after_giving_up(params))
    }

    fn senses_again(params: &Params) -> bool {
        select!(!params.final_carrier_check => senses_again(params))
    }

    fn hears_out(params: &Params) -> bool {
        select!(params.hears_out => hears_out(params))
    }
}
