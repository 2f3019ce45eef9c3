//! TCP's receiving end: puts segments in order, acknowledges, reports by SACK.

use hopyard_engine::Time;

use super::core::milliseconds;
use super::header_bytes;
use super::params::{Connect, Params};
use crate::packet::{SackBlocks, TcpFlags, TcpHeader};
use crate::transport::acking::{self, AckPolicy, Arrival, Policy, Verdict};

/// What a receiver counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments with payload that arrived.
    pub segments: u64,
    /// Of these, those whose payload had all arrived before.
    pub duplicate_segments: u64,
    /// Of these, those that arrived ahead of a gap.
    pub out_of_order_segments: u64,
    /// Segments beyond the window that was announced: thrown away.
    pub beyond_window: u64,
    /// Bytes of payload that arrived for the first time.
    pub unique_bytes: u64,
    /// Bytes of payload delivered to the application in order.
    pub delivered_bytes: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// TCP's receiving end. After each event, [`poll_transmit`](Self::poll_transmit) must be called until it gives nothing more.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    params: Params,
    policy: Policy,
    sack: bool,
    /// The next byte expected.
    next: u64,
    /// Blocks received beyond a gap, the most recently extended first (RFC 2018 §4).
    blocks: Vec<(u64, u64)>,
    /// What arrived twice, to be reported by the next acknowledgement (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The timestamp to echo (RFC 7323 §4.3 TS.Recent), if the sender uses them.
    echo: Option<u32>,
    /// The acknowledgement number sent last.
    last_ack: u64,
    /// An acknowledgement is to be sent now, and whether it answers a SYN.
    due: bool,
    answer_syn: bool,
    counters: ReceiverCounters,
}

impl TcpReceiver {
    /// A receiver that listens. With `sack` it reports what it has out of order: ask [`TcpSender::wants_sack`].
    ///
    /// [`TcpSender::wants_sack`]: super::TcpSender::wants_sack
    #[must_use]
    pub fn new(acking: &acking::Config, params: &Params, sack: bool) -> Self {
        Self {
            params: params.clone(),
            policy: Policy::new(acking),
            sack,
            next: 0,
            blocks: Vec::new(),
            duplicate: None,
            echo: None,
            last_ack: 0,
            due: false,
            answer_syn: false,
            counters: ReceiverCounters::default(),
        }
    }

    /// A segment arrived from the sender.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        if let Some((value, _)) = header.timestamps
            && header.seq <= self.last_ack
        {
            self.echo = Some(value);
        }
        if header.flags.syn {
            self.next = self.next.max(1);
            self.answer_syn = self.params.connect == Connect::ThreeWay;
            self.arrived(now, false, true);
            return;
        }
        if header.len == 0 {
            return;
        }
        let (start, end) = (header.seq, header.seq + u64::from(header.len));
        self.counters.segments += 1;
        if end > self.next + u64::from(self.params.window_bytes()) {
            self.counters.beyond_window += 1;
            self.arrived(now, false, false);
            return;
        }
        self.note_duplicate(start, end);
        let fresh = self.insert(start, end);
        self.counters.unique_bytes += fresh;
        self.counters.duplicate_segments += u64::from(fresh == 0);
        self.counters.out_of_order_segments += u64::from(fresh > 0 && start > self.next);
        // Disorder: a copy, data beyond a gap, or data before one (RFC 5681 §4.2).
        let in_order = fresh > 0 && self.next == end && self.blocks.is_empty();
        self.arrived(now, in_order, false);
    }

    fn arrived(&mut self, now: Time, in_order: bool, opening: bool) {
        if self.policy.on_arrival(&Arrival { now, in_order, opening }) == Verdict::Now {
            self.due = true;
        }
    }

    /// Notes what of a segment was there already: below what is acknowledged, or else within a block (RFC 2883 §4).
    fn note_duplicate(&mut self, start: u64, end: u64) {
        if !self.sack || !self.params.dsack {
            return;
        }
        self.duplicate = if start < self.next {
            Some((start, end.min(self.next)))
        } else {
            let overlap = |&(from, to): &(u64, u64)| (start.max(from), end.min(to));
            self.blocks.iter().map(overlap).find(|(from, to)| from < to)
        };
    }

    /// Takes in the bytes from `start` to `end`, and returns how many are new.
    fn insert(&mut self, start: u64, end: u64) -> u64 {
        let (start, end) = (start.max(self.next), end);
        if start >= end {
            return 0;
        }
        if self.blocks.is_empty() && start == self.next {
            self.deliver(end);
            return end - start;
        }
        let (mut low, mut high, mut known) = (start, end, 0);
        self.blocks.retain(|&(from, to)| {
            if to < start || from > end {
                return true;
            }
            known += to.min(end).saturating_sub(from.max(start));
            low = low.min(from);
            high = high.max(to);
            false
        });
        if low <= self.next {
            self.deliver(high);
        } else {
            self.blocks.insert(0, (low, high));
        }
        end - start - known
    }

    fn deliver(&mut self, end: u64) {
        self.counters.delivered_bytes += end - self.next;
        self.next = end;
    }

    /// The deadline is reached. Being called early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.policy.deadline() {
            self.due = true;
        }
    }

    /// When [`on_timer`](Self::on_timer) must next be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.policy.deadline()
    }

    /// The acknowledgement to send now, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        if !std::mem::take(&mut self.due) {
            return None;
        }
        self.policy.on_acknowledged();
        self.last_ack = self.next;
        self.counters.acks += 1;
        let timestamps = self.echo.map(|echo| (milliseconds(now), echo));
        let duplicate = self.duplicate.take();
        let sack = if self.sack && (duplicate.is_some() || !self.blocks.is_empty()) {
            // Timestamps leave room for three blocks (RFC 2018 §3); ns-2 sends three at most in any case.
            let room = if timestamps.is_some() || !self.params.padded_options { 3 } else { 4 };
            let base = duplicate.map_or(self.next, |(start, _)| start.min(self.next));
            SackBlocks::new(base, duplicate.into_iter().chain(self.blocks.iter().copied()).take(room))
        } else {
            SackBlocks::default()
        };
        let syn = std::mem::take(&mut self.answer_syn);
        Some(TcpHeader {
            seq: u64::from(!syn && self.params.connect == Connect::ThreeWay),
            ack: self.next,
            window: self.params.window_bytes(),
            timestamps,
            sack,
            flags: TcpFlags { syn, ack: true, fin: false },
            ..TcpHeader::default()
        })
    }

    /// The bytes of an acknowledgement's IP and TCP headers with options: a packet's size is this and the payload, which is nothing.
    #[must_use]
    pub fn header_bytes(&self, header: &TcpHeader) -> u32 {
        header_bytes(&self.params, header)
    }

    /// Whether the byte with this sequence number has arrived.
    #[must_use]
    pub fn has(&self, seq: u64) -> bool {
        seq < self.next || self.blocks.iter().any(|&(from, to)| (from..to).contains(&seq))
    }

    /// What was counted.
    #[must_use]
    pub const fn counters(&self) -> &ReceiverCounters {
        &self.counters
    }

    /// Bytes of payload delivered to the application in order.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.counters.delivered_bytes
    }
}
