//! Neighbours and the costs of the links to them (RFC 8966 §3.4, appendix A).

use hopyard_engine::{Span, Time};

use super::message::INFINITY;
use super::params::{Estimate, Params};
use crate::address::Address;

/// The last twelve Hellos. If none of them arrived, an IHU holds for a shorter time (babeld).
const RECENT: u16 = 0x0fff;
/// An IHU holds for so many intervals even if no Hello arrives (babeld).
const SURE: f64 = 3.0;
/// A neighbour to which sending costs this is on a lossy link (babeld).
const LOSSY: u16 = 384;

/// A neighbour: another router's interface that was heard by one of this node's interfaces.
#[derive(Clone, Debug)]
pub struct Neighbour {
    /// The address of its interface.
    pub address: Address,
    /// The place of the interface that hears it.
    pub interface: usize,
    /// Which of the last 16 Hellos arrived; the lowest bit is the last one.
    history: u16,
    /// The number of the next Hello.
    expected: u16,
    /// When a Hello counts as missing, and the interval after which the one after it does.
    hello_due: Time,
    hello_interval: Span,
    /// The cost of receiving at the neighbour, as it said last, and until when that holds.
    txcost: u16,
    ihu_until: Time,
    /// Until when it holds even if all Hellos are lost.
    ihu_sure_until: Time,
    /// The cost of the link.
    pub cost: u16,
}

impl Neighbour {
    /// A neighbour of which nothing is known.
    #[must_use]
    pub const fn new(address: Address, interface: usize) -> Self {
        Self {
            address,
            interface,
            history: 0,
            expected: 0,
            hello_due: Time::NEVER,
            hello_interval: Span::ZERO,
            txcost: INFINITY,
            ihu_until: Time::NEVER,
            ihu_sure_until: Time::NEVER,
            cost: INFINITY,
        }
    }

    /// A multicast Hello came (§A.1).
    pub fn hello(&mut self, seqno: u16, interval: Span, hold: f64, now: Time) {
        let ahead = seqno.wrapping_sub(self.expected).cast_signed();
        self.history = match ahead {
            // It had been counted as missing: the neighbour has made its interval longer.
            -16..=-1 => self.history.checked_shr(u32::from(ahead.unsigned_abs())).unwrap_or(0),
            0..=16 => self.history.checked_shl(u32::from(ahead.unsigned_abs())).unwrap_or(0),
            // The neighbour began anew.
            _ => 0,
        };
        self.history = self.history << 1 | 1;
        self.expected = seqno.wrapping_add(1);
        // Longer than the interval, since messages are delayed at random. A Hello that promises no further one leaves
        // the promise of the one before.
        if !interval.is_zero() {
            (self.hello_interval, self.hello_due) = (interval, now + interval.mul_f64(hold));
        }
    }

    /// The neighbour said what receiving from this node costs. That holds for so many of the interval that it told.
    pub fn ihu(&mut self, rxcost: u16, interval: Span, hold: f64, now: Time) {
        self.txcost = rxcost;
        (self.ihu_until, self.ihu_sure_until) = (now + interval.mul_f64(hold), now + interval.mul_f64(hold.min(SURE)));
    }

    /// Counts the Hellos that are missing by now, and forgets an IHU that is too old. Whether something changed.
    pub fn look(&mut self, now: Time) -> bool {
        let mut changed = false;
        while self.hello_due <= now {
            self.history <<= 1;
            self.expected = self.expected.wrapping_add(1);
            self.hello_due += self.hello_interval;
            changed = true;
            if self.history == 0 {
                self.hello_due = Time::NEVER;
            }
        }
        if self.ihu_until <= now || self.ihu_sure_until <= now && self.history & RECENT == 0 {
            self.txcost = INFINITY;
            (self.ihu_until, self.ihu_sure_until) = (Time::NEVER, Time::NEVER);
            changed = true;
        }
        changed
    }

    /// When there is something to look at.
    #[must_use]
    pub fn next_look(&self) -> Time {
        let silent = self.history & RECENT == 0;
        self.hello_due.min(self.ihu_until).min(if silent { self.ihu_sure_until } else { Time::NEVER })
    }

    /// The interval of its Hellos, if it has told one.
    #[must_use]
    pub fn hello_interval(&self) -> Option<Span> {
        Some(self.hello_interval).filter(|it| !it.is_zero())
    }

    /// Whether none of the last Hellos arrived, so that the neighbour is to be forgotten.
    #[must_use]
    pub const fn is_silent(&self) -> bool {
        self.history == 0
    }

    /// Whether one of the last four Hellos did not arrive, or the neighbour hears few of this node's: it is told more
    /// often that it is heard (appendix B).
    #[must_use]
    pub const fn is_lossy(&self) -> bool {
        self.history & 0xf != 0xf || self.txcost >= LOSSY
    }

    /// The cost of receiving from the neighbour.
    #[must_use]
    pub fn rxcost(&self, params: &Params, wired: bool) -> u16 {
        let arrived = |window| (self.history & mask(window)).count_ones();
        if wired {
            return if arrived(params.wired_window) >= params.wired_heard.into() {
                params.wired_cost
            } else {
                INFINITY
            };
        }
        match params.estimate {
            Estimate::Window => match arrived(params.etx_window) {
                0 => INFINITY,
                arrived => ((256 * u32::from(params.etx_window) + arrived / 2) / arrived) as u16,
            },
            Estimate::Exponential => exponential(self.history),
        }
    }

    /// Computes the cost of the link anew. Whether it changed.
    pub fn weigh(&mut self, params: &Params, wired: bool) -> bool {
        let before = self.cost;
        let rxcost = self.rxcost(params, wired);
        self.cost = match (self.txcost, rxcost) {
            (INFINITY, _) | (_, INFINITY) => INFINITY,
            // §A.2.1
            (txcost, _) if wired => txcost.max(1),
            (txcost, rxcost) => etx(txcost, rxcost),
        };
        self.cost != before
    }
}

/// The lowest bits, as many as a window has.
fn mask(window: u8) -> u16 {
    u16::MAX >> (16 - u32::from(window.clamp(1, 16)))
}

/// The cost of a link by expected transmissions, MAX(txcost, 256) · rxcost / 256, rounded (§A.2.2).
#[must_use]
pub fn etx(txcost: u16, rxcost: u16) -> u16 {
    let cost = (u32::from(txcost.max(256)) * u32::from(rxcost) + 128) / 256;
    u16::try_from(cost).unwrap_or(INFINITY)
}

/// The cost of receiving by a mean of the last 16 Hellos. In units of 2^-15, the three last ones weigh 2^13 each, the
/// one before them 2^12, and so on. As in babeld 1.12.1, four old ones alone do not make a neighbour.
fn exponential(history: u16) -> u16 {
    if history & RECENT == 0 {
        return INFINITY;
    }
    let weight = |place: u32| if place < 3 { 1_u32 << 13 } else { 1 << (15 - place) };
    let sum: u32 = (0..16).filter(|place| history >> place & 1 == 1).map(weight).sum();
    u16::try_from((256 << 15) / (sum + 1)).unwrap_or(INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Params as _, RFC};

    fn params() -> Params {
        Params { estimate: Estimate::Window, ..Params::of_profile(RFC) }
    }

    fn heard(pattern: &str) -> Neighbour {
        let mut it = Neighbour::new(Address(1), 0);
        for (number, _) in pattern.chars().enumerate().filter(|(_, arrived)| *arrived == '1') {
            it.hello(number as u16, Span::from_secs(4), 1.5, Time::ZERO);
        }
        let missing = pattern.len() - pattern.trim_end_matches('0').len();
        it.look(Time::ZERO + Span::from_secs(2 + 4 * missing as u64));
        it
    }

    #[test]
    fn a2_2_the_cost_of_receiving_is_256_by_the_share_of_six_hellos() {
        for (pattern, rxcost) in [
            ("111111", 256),
            ("111110", 307),
            ("101111", 307),
            ("101011", 384),
            ("100011", 512),
            ("1", 1536),
            ("100001", 768),
            ("100000", 1536),
            ("1000000", INFINITY),
            ("0111111", 256),
        ] {
            assert_eq!(heard(pattern).rxcost(&params(), false), rxcost, "{pattern}");
        }
    }

    #[test]
    fn a2_2_the_cost_of_a_link_is_the_product_of_both_directions() {
        assert_eq!((etx(256, 256), etx(307, 307), etx(512, 307), etx(100, 384)), (256, 368, 614, 384));
        assert_eq!((etx(1536, 1536), etx(0xfffe, 0xfffe)), (9216, INFINITY));
        let mut it = heard("111111");
        it.weigh(&params(), false);
        assert_eq!(it.cost, INFINITY, "the neighbour has not said that it hears this node");
        it.ihu(307, Span::from_secs(12), 3.5, Time::ZERO);
        assert!(it.weigh(&params(), false));
        assert_eq!(it.cost, 307);
        assert!(it.look(Time::ZERO + Span::from_secs(42)) && it.weigh(&params(), false));
        assert_eq!(it.cost, INFINITY, "the IHU is too old");
    }

    #[test]
    fn a2_1_a_wire_works_while_two_of_three_hellos_arrive() {
        for (pattern, cost) in
            [("111", 96), ("101", 96), ("110", 96), ("1", INFINITY), ("100", INFINITY), ("1100", INFINITY)]
        {
            let mut it = heard(pattern);
            it.ihu(96, Span::from_secs(12), 3.5, Time::ZERO);
            it.weigh(&params(), true);
            assert_eq!((it.rxcost(&params(), true), it.cost), (cost, cost), "{pattern}");
        }
    }

    /// The values follow from `neighbour_rxcost` of babeld 1.12.1, computed by hand.
    #[test]
    fn the_exponential_estimate_is_that_of_babeld() {
        for (history, rxcost) in [
            (0xffff, 256),
            (0x0001, 1023),
            (0x0003, 511),
            (0x0007, 341),
            (0x000f, 292),
            (0xfffe, 341),
            (0x0100, 65_027),
            (0x0800, INFINITY),
            (0xf000, INFINITY),
        ] {
            assert_eq!(exponential(history), rxcost, "{history:04x}");
        }
    }

    #[test]
    fn a1_gaps_are_zeros_late_hellos_undo_them_and_far_numbers_begin_anew() {
        let (mut it, interval) = (Neighbour::new(Address(1), 0), Span::from_secs(4));
        it.hello(100, interval, 1.5, Time::ZERO);
        it.hello(103, interval, 1.5, Time::ZERO);
        assert_eq!(it.history, 0b1001);
        // At 6 s and 10 s, two are missing; then the first of them comes.
        assert!(!it.look(Time::ZERO + Span::from_millis(5_999)));
        assert!(it.look(Time::ZERO + Span::from_secs(10)));
        assert_eq!((it.history, it.expected, it.hello_due), (0b10_0100, 106, Time::ZERO + Span::from_secs(14)));
        it.hello(104, interval, 1.5, Time::ZERO + Span::from_secs(11));
        assert_eq!((it.history, it.expected), (0b1_0011, 105));
        it.hello(122, interval, 1.5, Time::ZERO);
        assert_eq!((it.history, it.expected), (1, 123));
        it.hello(9, interval, 1.5, Time::ZERO);
        it.hello(10, Span::ZERO, 1.5, Time::ZERO);
        let due = Time::ZERO + Span::from_secs(6);
        assert_eq!((it.history, it.next_look()), (0b11, due), "the one before has promised a further one");
    }
}
