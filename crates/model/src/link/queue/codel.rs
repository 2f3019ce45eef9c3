//! Controlled delay (CoDel): the time that packets wait is kept near a target.
//!
//! RFC 8289 §5, with the marks and the return to an earlier rate of drops as in Linux 6.1 (`include/net/codel_impl.h`,
//! read for the facts). Validated by the
//! control law, and packet by packet against ns-3.37 (`docs/validation.md`).

use std::collections::VecDeque;

use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::MARKS;
use super::discipline::{Desk, Item, QueueDiscipline, Room, Takes};
use crate::context::DropReason;
use crate::params::{self, Fault, LINUX, Metric, RFC};

/// Parameters of CoDel.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The time for which packets may wait.
    pub target: Span,
    /// How long all packets have waited longer than `target` when the first is dropped.
    pub interval: Span,
    /// No packet is dropped for its delay while at most so much waits behind it.
    pub backlog: Bytes,
    /// Length of the queue in packets.
    pub limit: u32,
    /// Whether packets are marked instead of dropped, where their transport understands that (ECN, RFC 3168).
    pub ecn: bool,
    /// Whether times count in units of 1.024 us, and the square root of the number of drops is approximated by a step
    /// of Newton's method for each drop, as in Linux and ns-3. The third drop then comes after half an interval instead
    /// of 0.71.
    pub coarse: bool,
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, LINUX];

    fn of_profile(profile: &str) -> Self {
        Self {
            target: Span::from_millis(5),
            interval: Span::from_millis(100),
            backlog: Bytes::new(1500),
            limit: 1000,
            ecn: false,
            coarse: profile == LINUX,
        }
    }

    fn check(&self) -> Result<(), Fault> {
        Law::of(self).check()?;
        if self.limit == 0 {
            return Err(Fault::new("limit", "no packet could wait: expected at least 1, found 0"));
        }
        Ok(())
    }
}

/// The numbers that decide which packets CoDel drops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    pub target: Span,
    pub interval: Span,
    pub backlog: u64,
    pub ecn: bool,
    pub coarse: bool,
}

impl Law {
    pub(super) fn of(params: &Params) -> Self {
        let &Params { target, interval, backlog, limit: _, ecn, coarse } = params;
        Self { target, interval, backlog: backlog.count(), ecn, coarse }
    }

    /// Nanoseconds in the units in which times count.
    const fn ticks(&self, nanos: u64) -> u64 {
        if self.coarse { nanos >> 10 } else { nanos }
    }

    pub(super) fn check(&self) -> Result<(), Fault> {
        if self.target.is_zero() || self.target >= self.interval {
            let found =
                format!("expected a time above zero and below `interval` ({}), found {}", self.interval, self.target);
            return Err(Fault::new("target", found));
        }
        Ok(())
    }
}

/// The packets that CoDel watches.
pub(super) trait Backlog {
    /// Takes the next packet out.
    fn take(&mut self, takes: Option<Takes<'_>>, desk: &Desk<'_>) -> Option<Item>;

    /// Whether no packet is left, whatever the MAC takes.
    fn is_empty(&self) -> bool;

    /// The bytes that are left.
    fn bytes(&self) -> u64;
}

/// The state of CoDel for one queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Control {
    /// How many packets were dropped since packets have waited too long, and how many at the beginning of that.
    count: u32,
    last_count: u32,
    dropping: bool,
    /// When packets will have waited too long for an interval, if they do; and when the next one is dropped.
    first_above: Option<u64>,
    drop_next: u64,
    /// One divided by the square root of `count`, as Linux keeps it: in units of 2^-16.
    root: u16,
}

impl Control {
    /// A packet was dropped for another reason than its delay.
    pub(super) const fn count_drop(&mut self) {
        self.count += 1;
    }

    /// There are so many drops now.
    fn set_count(&mut self, law: &Law, count: u32) {
        self.count = count;
        if !law.coarse {
            return;
        }
        if count == 1 {
            self.root = u16::MAX;
            return;
        }
        let root = u64::from(self.root) << 16;
        let squared = (root * root) >> 32;
        let rest = ((3_u64 << 32).wrapping_sub(u64::from(count).wrapping_mul(squared))) >> 2;
        self.root = ((rest.wrapping_mul(root) >> 31) >> 16) as u16;
    }

    /// The time of the next drop, counted from here (RFC 8289 §5.5).
    fn after(&self, law: &Law, from: u64) -> u64 {
        let interval = law.ticks(law.interval.nanos());
        from + if law.coarse {
            (interval * u64::from(self.root)) >> 16
        } else {
            (interval as f64 / f64::from(self.count).sqrt()).round() as u64
        }
    }

    /// Takes the next packet out, and whether it may be dropped.
    fn next(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog,
        takes: Option<Takes<'_>>,
        desk: &Desk<'_>,
    ) -> (Option<Item>, bool) {
        let item = queue.take(takes, desk);
        let now = law.ticks(desk.now().nanos());
        let Some(waited) = item.map(|item| now - law.ticks(item.entered.nanos())) else {
            if queue.is_empty() {
                self.first_above = None;
            }
            return (None, false);
        };
        if waited < law.ticks(law.target.nanos()) || queue.bytes() <= law.backlog {
            self.first_above = None;
            return (item, false);
        }
        let first = *self.first_above.get_or_insert(now + law.ticks(law.interval.nanos()));
        // The interval begins with this packet, so the packet itself is kept. Linux asks for more than an interval.
        (item, if law.coarse { first < now } else { first <= now })
    }

    /// The next packet that leaves. Others before it may be dropped (RFC 8289 §5.6).
    pub(super) fn pop(
        &mut self,
        law: &Law,
        queue: &mut impl Backlog,
        takes: Option<Takes<'_>>,
        desk: &mut Desk<'_>,
    ) -> Option<Item> {
        let now = law.ticks(desk.now().nanos());
        let (mut item, is_late) = self.next(law, queue, takes, desk);
        if item.is_none() {
            self.dropping &= !queue.is_empty();
            return None;
        }
        if self.dropping {
            self.dropping = is_late;
            while self.dropping && self.drop_next <= now {
                self.set_count(law, self.count + 1);
                let Some(late) = item else { break };
                if law.ecn && desk.mark(&late) {
                    self.drop_next = self.after(law, self.drop_next);
                    break;
                }
                desk.drop(&late, DropReason::QueueDelay);
                (item, self.dropping) = self.next(law, queue, takes, desk);
                if self.dropping {
                    self.drop_next = self.after(law, self.drop_next);
                }
            }
        } else if is_late && let Some(late) = item {
            if !(law.ecn && desk.mark(&late)) {
                desk.drop(&late, DropReason::QueueDelay);
                item = self.next(law, queue, takes, desk).0;
            }
            self.dropping = true;
            // Soon after the last time, the rate of drops begins where it had been enough (RFC 8289 §5.4).
            let more = self.count - self.last_count;
            let is_recent = now.saturating_sub(self.drop_next) < 16 * law.ticks(law.interval.nanos());
            self.set_count(law, if more > 1 && is_recent { more } else { 1 });
            self.last_count = self.count;
            self.drop_next = self.after(law, now);
        }
        item
    }
}

/// Packets in order, with the sum of their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Fifo {
    pub items: VecDeque<Item>,
    pub bytes: u64,
}

impl Fifo {
    pub(super) fn push(&mut self, item: Item) {
        self.bytes += u64::from(item.size);
        self.items.push_back(item);
    }

    pub(super) fn remove(&mut self, place: usize) -> Option<Item> {
        let item = self.items.remove(place)?;
        self.bytes -= u64::from(item.size);
        Some(item)
    }

    pub(super) fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
        self.items.retain(keep);
        self.bytes = self.items.iter().map(|item| u64::from(item.size)).sum();
    }
}

impl Backlog for Fifo {
    fn take(&mut self, takes: Option<Takes<'_>>, desk: &Desk<'_>) -> Option<Item> {
        self.remove(desk.first(&self.items, takes)?)
    }

    fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// A queue whose packets do not wait long.
#[derive(Clone, Debug)]
pub struct CoDel {
    law: Law,
    limit: usize,
    fifo: Fifo,
    control: Control,
}

impl QueueDiscipline for CoDel {
    type Params = Params;

    const METRICS: &'static [Metric] = &[MARKS];
    const OWN_LENGTH: Option<&'static str> = Some("limit");

    fn new(params: &Params, _room: &Room, _draws: Rng) -> Self {
        Self { law: Law::of(params), limit: params.limit as usize, fifo: Fifo::default(), control: Control::default() }
    }

    fn push(&mut self, item: Item, desk: &mut Desk<'_>) {
        if self.fifo.items.len() >= self.limit {
            desk.drop(&item, DropReason::QueueFull);
        } else {
            self.fifo.push(item);
        }
    }

    fn pop(&mut self, takes: Option<Takes<'_>>, desk: &mut Desk<'_>) -> Option<Item> {
        self.control.pop(&self.law, &mut self.fifo, takes, desk)
    }

    fn retain(&mut self, keep: &mut dyn FnMut(&Item) -> bool) {
        self.fifo.retain(keep);
    }

    fn items(&self) -> Box<dyn Iterator<Item = &Item> + '_> {
        Box::new(self.fifo.items.iter())
    }
}
