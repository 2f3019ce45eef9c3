//! The link set and the neighbour set (RFC 3626 §4.2, 4.3), with the quality of links (§14, ETX).

use std::sync::Arc;

use hopyard_engine::{Span, Time};

use super::message::{Hello, LinkType, Listed, NeighbourType};
use super::params::{Metric, Params};
use crate::address::Address;

/// The quality of a link, by its packets.
#[derive(Clone, Copy, Debug)]
pub struct Quality {
    /// The number of the last packet.
    packet: Option<u16>,
    /// Losses counted since then, because no HELLO came.
    charged: u16,
    /// L_link_quality of the hysteresis.
    smooth: f64,
    /// Which of the last 32 packets arrived; the lowest bit is the last one.
    arrived: u32,
    /// How many of these bits have a meaning.
    known: u8,
}

impl Quality {
    fn new() -> Self {
        Self { packet: None, charged: 0, smooth: 0.0, arrived: 0, known: 0 }
    }

    fn note(&mut self, arrived: bool, scaling: f64) {
        self.smooth = (1.0 - scaling) * self.smooth + if arrived { scaling } else { 0.0 };
        self.arrived = self.arrived << 1 | u32::from(arrived);
        self.known = (self.known + 1).min(32);
    }

    /// A packet with this number arrived. The number of packets lost before it, or nothing if it is not a new one.
    fn lost_before(&self, number: u16) -> Option<u16> {
        let Some(last) = self.packet else { return Some(0) };
        let ahead = number.wrapping_sub(last);
        (1..=0x7fff).contains(&ahead).then(|| (ahead - 1).saturating_sub(self.charged).min(32))
    }

    /// The part of the last `window` packets that arrived, in units of 1/255.
    fn share(&self, window: u8) -> u8 {
        let window = window.min(self.known);
        if window == 0 {
            return 0;
        }
        let mask = u32::MAX >> (32 - u32::from(window));
        ((self.arrived & mask).count_ones() * 255 / u32::from(window)) as u8
    }
}

/// A link tuple (§4.2.1): the neighbour's interface names it, because each is on the channel of one interface here.
#[derive(Clone, Debug)]
pub struct Link {
    /// The neighbour's interface.
    pub address: Address,
    /// Which radio of this node hears it.
    pub radio: usize,
    /// The neighbour's main address.
    pub main: Address,
    /// Until when the link works in both directions (L_SYM_time).
    pub symmetric_until: Time,
    /// Until when the neighbour counts as heard (L_ASYM_time).
    pub heard_until: Time,
    /// When the tuple is removed (L_time).
    pub until: Time,
    /// Until when the link is said to be lost (L_LOST_LINK_time).
    pub lost_until: Time,
    /// Whether the hysteresis has not yet accepted it (L_link_pending).
    pub pending: bool,
    /// Its quality.
    pub quality: Quality,
    /// The quality in the other direction, as the neighbour said.
    pub quality_there: u8,
    /// When a HELLO counts as missing.
    pub hello_due: Time,
    /// The interval of the neighbour's HELLOs (Htime).
    pub hello_interval: Span,
    /// The last HELLO, and its statement about this node.
    pub hello: Option<Arc<Hello>>,
    /// The type of the link in the last HELLO, if it lists this node's interface.
    pub listed_as: Option<LinkType>,
    /// Whether the last HELLO selects this node as a relay.
    pub selects: bool,
    /// Whether the link was symmetric when it was last looked at.
    pub was_symmetric: bool,
}

impl Link {
    /// A link over which the first packet has come.
    #[must_use]
    pub fn new(address: Address, radio: usize, main: Address, params: &Params) -> Self {
        Self {
            address,
            radio,
            main,
            symmetric_until: Time::ZERO,
            heard_until: Time::ZERO,
            until: Time::ZERO,
            lost_until: Time::ZERO,
            pending: params.hysteresis,
            quality: Quality::new(),
            quality_there: 0,
            hello_due: Time::NEVER,
            hello_interval: Span::ZERO,
            hello: None,
            listed_as: None,
            selects: false,
            was_symmetric: false,
        }
    }

    /// Whether the link works in both directions.
    #[must_use]
    pub fn is_symmetric(&self, now: Time) -> bool {
        self.symmetric_until > now && !self.pending && self.lost_until <= now
    }

    /// The link's type in a HELLO; nothing if it is not to be listed (§6.2, 14.2).
    #[must_use]
    pub fn link_type(&self, now: Time) -> Option<LinkType> {
        if self.lost_until > now {
            Some(LinkType::Lost)
        } else if self.pending {
            None
        } else if self.symmetric_until > now {
            Some(LinkType::Symmetric)
        } else if self.heard_until > now {
            Some(LinkType::Asymmetric)
        } else {
            Some(LinkType::Lost)
        }
    }

    /// A packet with this number came over the link.
    pub fn packet(&mut self, number: u16, now: Time, params: &Params) {
        if !params.hysteresis && params.metric != Metric::Etx {
            return;
        }
        let Some(lost) = self.quality.lost_before(number) else { return };
        for _ in 0..lost {
            self.quality.note(false, params.hysteresis_scaling);
            self.has_lost(now, params);
        }
        self.quality.note(true, params.hysteresis_scaling);
        (self.quality.packet, self.quality.charged) = (Some(number), 0);
        if params.hysteresis && self.quality.smooth > params.hysteresis_high {
            (self.pending, self.lost_until) = (false, Time::ZERO);
        }
    }

    /// No HELLO came for longer than its interval: it counts as lost.
    pub fn missing_hello(&mut self, now: Time, params: &Params) {
        self.quality.note(false, params.hysteresis_scaling);
        self.quality.charged = self.quality.charged.saturating_add(1);
        self.hello_due = now + self.hello_interval;
        self.has_lost(now, params);
    }

    /// A loss has lowered the quality. Only a loss makes a link lost (§14.3). A packet that arrives over a bad link
    /// would prolong that time, and would make a new link lost before its first use.
    fn has_lost(&mut self, now: Time, params: &Params) {
        if params.hysteresis && self.quality.smooth < params.hysteresis_low {
            self.pending = true;
            self.lost_until = self.until.min(now + params.neighbour_hold());
        }
    }

    /// The qualities from the neighbour and at it.
    #[must_use]
    pub fn qualities(&self, params: &Params) -> (u8, u8) {
        (self.quality.share(params.etx_window), self.quality_there)
    }

    /// The next time at which something about the link may change.
    #[must_use]
    pub fn next_change(&self, now: Time, params: &Params) -> Time {
        let watches = params.hysteresis || params.metric == Metric::Etx;
        let due = if watches { self.hello_due } else { Time::NEVER };
        let times = [self.symmetric_until, self.heard_until, self.until, self.lost_until, due];
        times.into_iter().filter(|&time| time > now).min().unwrap_or(Time::NEVER)
    }
}

/// A neighbour tuple (§4.3.1) with its 2-hop tuples and its selector tuple.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// Its main address.
    pub main: Address,
    /// Its willingness to relay.
    pub willingness: u8,
    /// Whether it is symmetric (N_status).
    pub symmetric: bool,
    /// The interface to which packets for it go, and the cost of that link.
    pub via: Address,
    /// See `via`.
    pub cost: u32,
    /// Whether it is a relay of this node.
    pub relay: bool,
    /// Until when it has selected this node as a relay (MS_time).
    pub selector_until: Time,
    /// Its symmetric neighbours, by main address and in order, each with the cost of the link; without this node.
    pub reaches: Vec<(Address, u32)>,
    /// Until when it reaches them (N_time).
    pub reaches_until: Time,
}

impl Neighbour {
    /// An unknown neighbour.
    #[must_use]
    pub const fn new(main: Address) -> Self {
        Self {
            main,
            willingness: 3,
            symmetric: false,
            via: main,
            cost: u32::MAX,
            relay: false,
            selector_until: Time::ZERO,
            reaches: Vec::new(),
            reaches_until: Time::ZERO,
        }
    }
}

/// The cost of a link of a quality: the expected transmissions, in units of 1/256; nothing if none arrives.
#[must_use]
pub fn cost((here, there): (u8, u8)) -> Option<u32> {
    let product = u32::from(here) * u32::from(there);
    (product > 0).then(|| 256 * 255 * 255 / product)
}

/// The neighbours of a HELLO's sender, with the costs of its links.
pub fn reached(hello: &Hello, metric: Metric) -> impl Iterator<Item = (Address, u32)> + '_ {
    hello.symmetric().filter_map(move |it| match metric {
        Metric::Hops => Some((it.address, 1)),
        Metric::Etx => cost(it.quality).map(|cost| (it.address, cost)),
    })
}

/// The statement of a HELLO about one of these addresses: the link of the interface `own`, and whether it selects this
/// node.
#[must_use]
pub fn mentions<'a>(hello: &'a Hello, own: Address, all: &[Address]) -> (Option<&'a Listed>, bool) {
    let mut link = None;
    let mut selects = false;
    for it in hello.listed.iter().filter(|it| all.contains(&it.address)) {
        selects |= it.neighbour == NeighbourType::Mpr;
        if it.address == own && it.link != LinkType::Unspecified {
            link = Some(it);
        }
    }
    (link, selects)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quality_counts_gaps_and_missing_hellos_once() {
        let params = Params { metric: Metric::Etx, ..crate::params::Params::of_profile(crate::params::RFC) };
        let mut link = Link::new(Address(1), 0, Address(1), &params);
        let hears = |link: &mut Link, number| link.packet(number, Time::ZERO, &params);
        hears(&mut link, 10);
        hears(&mut link, 11);
        assert_eq!((link.quality.share(10), link.quality.smooth), (255, 0.75));
        link.missing_hello(Time::ZERO, &params);
        hears(&mut link, 14);
        // Two were lost, one of which had been noticed before.
        assert_eq!((link.quality.known, link.quality.share(10)), (5, 153));
        hears(&mut link, 14);
        hears(&mut link, 13);
        assert_eq!(link.quality.known, 5, "copies and old packets do not count");
        hears(&mut link, 200);
        assert_eq!((link.quality.share(32), link.quality.share(1)), (7, 255));
    }

    #[test]
    fn the_cost_of_a_link_is_the_expected_number_of_transmissions() {
        assert_eq!((cost((255, 255)), cost((0, 255))), (Some(256), None));
        let half = cost((255, 128)).expect("it carries");
        assert!((508..=512).contains(&half), "{half}");
    }
}
