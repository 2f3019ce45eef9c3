//! RFC 3561, rule by rule: the name of each test begins with its section. §6.13 (after a reboot) has none, because
//! nodes do not reboot; §6.14 (interfaces) is tested with whole nodes, in `tests/interfaces.rs` of this crate.

mod s6_10_connectivity;
mod s6_11_errors;
mod s6_12_repair;
mod s6_1_sequence_numbers;
mod s6_2_routes;
mod s6_3_requests;
mod s6_4_rings;
mod s6_5_forwarding_requests;
mod s6_6_replies;
mod s6_7_forwarding_replies;
mod s6_8_one_way_links;
mod s6_9_hello;

use super::super::{Auto, LinkDetection};
use super::*;
use crate::routing::Model;

/// The RFC's defaults without jitter, and with the link layer alone telling of broken links, so that no HELLO disturbs
/// a conversation. Lifetimes are short, so that tests are.
pub(super) fn quiet() -> Params {
    Params {
        link_detection: LinkDetection::LinkLayer,
        active_route_timeout: Auto::Fixed(Span::from_secs(3)),
        my_route_timeout: Auto::Fixed(Span::from_secs(6)),
        blacklist_timeout: Auto::Fixed(Span::from_millis(5600)),
        broadcast_jitter: Span::ZERO,
        ..Params::of_profile(RFC)
    }
}

/// One router, number 0, that hears what a test injects.
pub(super) fn alone(params: &Params) -> Network {
    network(1, params)
}
