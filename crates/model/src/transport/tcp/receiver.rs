//! TCP's receiving end: puts segments in order, acknowledges, reports by SACK.

use hopyard_engine::{Span, Time};

use super::buffer::{Buffer, Data};
use super::state::Connection;
use super::trip::Trip;
use crate::packet::{SackBlocks, TcpFlags, TcpHeader};
use crate::transport::acking::{self, AckPolicy, Arrival, Policy, Reading, Verdict};
use crate::transport::connection::{Connect, EchoCopies, Habits, Params, header_bytes, is_earlier, milliseconds};
use crate::transport::linux::Receiving;

/// So many of the blocks that were extended last are in each acknowledgement, and in the one after.
const RECENT: usize = 2;

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments with payload that arrived.
    pub segments: u64,
    /// The segments among these whose whole payload had arrived before.
    pub duplicate_segments: u64,
    /// The segments among these that arrived ahead of a gap.
    pub out_of_order_segments: u64,
    /// Segments that acknowledge what this end has not sent: thrown away.
    pub invalid_acks: u64,
    /// Segments beyond the window that was announced: thrown away.
    pub beyond_window: u64,
    /// Segments whose timestamp is older than the timestamp of the segment accepted last: thrown away (RFC 7323 §5.3
    /// R1).
    pub outdated: u64,
    /// Bytes of payload that arrived for the first time.
    pub unique_bytes: u64,
    /// Bytes of payload delivered to the application in order.
    pub delivered_bytes: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}

/// TCP's receiving end. After each event, [`poll_transmit`](Self::poll_transmit) must be called until it gives nothing
/// more.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    params: Params,
    policy: Policy,
    sack: bool,
    /// The next sequence number expected.
    next: u64,
    buffer: Buffer,
    trip: Trip,
    /// Data has arrived that the application reads when this event is over.
    readable: bool,
    /// The number of the sender's FIN, when it has arrived.
    fin: Option<u64>,
    state: Connection,
    /// The receiver's own FIN must be sent now; the time of its retransmission, and the interval after it.
    fin_due: bool,
    fin_sent: bool,
    fin_again: Time,
    /// The time between the next repetitions of the FIN, after the first.
    fin_wait: Option<Span>,
    /// Blocks received beyond a gap, the most recently extended first (RFC 2018 §4).
    blocks: Vec<(u64, u64)>,
    /// Data that arrived twice, which the next acknowledgement reports (RFC 2883).
    duplicate: Option<(u64, u64)>,
    /// The timestamp to echo (RFC 7323 §4.3 TS.Recent), if the sender uses them.
    echo: Option<u32>,
    /// The acknowledgement number sent last.
    last_ack: u64,
    /// An acknowledgement is to be sent now, and whether it answers a SYN.
    due: bool,
    answer_syn: bool,
    /// The rules of Linux, if they are followed.
    linux: Option<Receiving>,
    /// An acknowledgement of the data that had arrived before the segment at hand.
    before: Option<TcpHeader>,
    /// This end sends data too: its sender opens and closes this direction.
    duplex: bool,
    counters: ReceiverCounters,
}

impl TcpReceiver {
    /// A receiver that listens. With `sack` it reports segments out of order; see [`TcpSender::wants_sack`].
    ///
    /// [`TcpSender::wants_sack`]: super::TcpSender::wants_sack
    #[must_use]
    pub fn new(acking: &acking::Config, params: &Params, sack: bool) -> Self {
        Self {
            params: params.clone(),
            policy: Policy::new(acking),
            sack,
            next: 0,
            buffer: Buffer::new(params),
            trip: Trip::default(),
            readable: false,
            fin: None,
            state: Connection::Listen,
            fin_due: false,
            fin_sent: false,
            fin_again: Time::NEVER,
            fin_wait: None,
            blocks: Vec::new(),
            duplicate: None,
            echo: None,
            last_ack: 0,
            due: false,
            answer_syn: false,
            linux: (params.habits == Habits::Linux).then(|| Receiving::new(params)),
            before: None,
            duplex: false,
            counters: ReceiverCounters::default(),
        }
    }

    /// A receiver at an end that sends data too. It sends neither SYN nor FIN: the sender of this end does.
    #[must_use]
    pub fn duplex(acking: &acking::Config, params: &Params, sack: bool) -> Self {
        Self { duplex: true, ..Self::new(acking, params, sack) }
    }

    /// A segment arrived from the sender.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        if self.params.connect == Connect::ThreeWay && !header.flags.syn && !header.flags.ack {
            // RFC 9293 §3.10.7.4, fifth: a segment without ACK is dropped.
            return;
        }
        if self.params.connect == Connect::ThreeWay
            && !self.duplex
            && header.ack > self.fin_number() + u64::from(self.fin_sent)
            && self.state != Connection::Closed
        {
            // RFC 9293 §3.10.7.4, fifth: a segment that acknowledges what was never sent is answered and dropped.
            self.counters.invalid_acks += 1;
            self.due = true;
            return;
        }
        if self.linux.is_some() && Receiving::is_outdated(header, self.echo) {
            self.counters.outdated += 1;
            let (start, old) = (header.seq, header.seq < self.next);
            if old {
                self.note_duplicate(start, start + u64::from(header.len));
            }
            let len = if old { header.len } else { 0 };
            self.arrived(&Arrival { len, old, duplicate: old, window: self.buffer.announced(), ..Arrival::at(now) });
            return;
        }
        self.note_timestamp(header);
        if self.state == Connection::Listen {
            self.state = Connection::Established;
        }
        if self.state == Connection::LastAck && header.flags.ack && header.ack > self.fin_number() {
            self.state = Connection::Closed;
            self.fin_again = Time::NEVER;
        }
        if header.flags.syn {
            self.next = self.next.max(1);
            self.answer_syn = self.params.connect == Connect::ThreeWay && !self.duplex;
            // The SYN of this end's sender answers a SYN that opens the connection.
            if !self.duplex || header.flags.ack {
                self.arrived(&Arrival { control: true, ..Arrival::at(now) });
            }
            return;
        }
        if let Some(linux) = &mut self.linux {
            linux.on_opened();
        }
        if self.trip.on_opened(now) {
            self.buffer.open(now);
        }
        if header.len == 0 && !header.flags.fin {
            // A number from before the window, as in a probe, is answered (RFC 9293 §3.10.7.4).
            self.due |= header.seq < self.next;
            return;
        }
        let (start, payload_end) = (header.seq, header.seq + u64::from(header.len));
        let end = payload_end + u64::from(header.flags.fin);
        self.counters.segments += u64::from(header.len > 0);
        if payload_end > self.buffer.limit(self.next) {
            self.counters.beyond_window += 1;
            self.arrived(&Arrival { duplicate: true, ..Arrival::at(now) });
            return;
        }
        let first_fin = header.flags.fin && self.fin.is_none();
        if first_fin {
            self.fin = Some(payload_end);
        }
        self.note_duplicate(start, end);
        if end >= self.last_ack {
            self.trip.on_segment(header, now);
        }
        let (gap, ahead) = (!self.blocks.is_empty(), start > self.next);
        let (old, held) = (end <= self.next, self.held());
        if ahead {
            self.report_before(start, end, now);
        } else if !old {
            self.trip.on_data(end, self.buffer.announced(), now);
        }
        let delivered = self.counters.delivered_bytes;
        let fresh = self.insert(start, end);
        self.counters.unique_bytes += fresh - u64::from(first_fin);
        self.counters.duplicate_segments += u64::from(fresh == 0 && header.len > 0);
        self.counters.out_of_order_segments += u64::from(fresh > 0 && start > self.next && header.len > 0);
        // Disorder: a copy, data beyond a gap, or data before one (RFC 5681 §4.2).
        let last = self.next == end && self.blocks.is_empty() && !gap;
        let ended = self.fin.is_some_and(|fin| self.next > fin);
        let (in_order, copy_of_last) = (last && fresh > 0, last && fresh == 0);
        let follows = self.blocks.iter().find(|block| block.1 == end).map_or(0, |block| block.1 - block.0);
        let data = Data { len: header.len, ahead, sack: self.sack, held, follows: follows - follows.min(fresh) };
        let grew = fresh > 0 && self.buffer.on_segment(&data);
        self.buffer.fill(self.counters.delivered_bytes - delivered, now);
        self.readable |= self.counters.delivered_bytes > delivered;
        let room = self.buffer.room(self.held());
        self.arrived(&Arrival {
            now,
            in_order,
            control: ended,
            first: start == 0,
            copy_of_last,
            len: header.len,
            duplicate: fresh == 0,
            gap: !self.blocks.is_empty(),
            sack: self.sack,
            next: self.next,
            unacknowledged: self.next - self.last_ack,
            old,
            ahead,
            closes_gap: gap && self.blocks.is_empty(),
            psh: header.flags.psh,
            grew,
            window: self.buffer.announced(),
            lasts: room.lasts,
            cramped: room.cramped,
            round_trip: self.trip.smoothed(),
            opening: self.trip.opening(),
        });
        if ended && self.state == Connection::Established && !self.duplex {
            // The application has read to the end, and closes its half too (RFC 9293 §3.6, case 2).
            self.state = Connection::LastAck;
            self.fin_due = true;
        }
    }

    /// TS.Recent: it belongs to the segment at the left edge of the window, and never goes back (RFC 7323 §4.3 (2)). A
    /// retransmission after a lost acknowledgement sets it too. Otherwise the acknowledgement of the retransmission
    /// would echo the time of the original, and the sender would take a round-trip sample as long as an outage. RFC
    /// 7323 contradicts itself here: §4.3 and appendix D say so, but §5.3 R2 rejects a segment before the window first.
    fn note_timestamp(&mut self, header: &TcpHeader) {
        let Some((value, _)) = header.timestamps else { return };
        let (start, last) = (header.seq, self.last_ack);
        let end = start + u64::from(header.len) + u64::from(header.flags.syn) + u64::from(header.flags.fin);
        let may_set = match self.params.echo_copies {
            EchoCopies::All => true,
            EchoCopies::Last => last <= end,
            EchoCopies::None => end > self.next || (end == start && start == self.next),
        };
        if may_set && start <= last && self.echo.is_none_or(|recent| !is_earlier(value, recent)) {
            self.echo = Some(value);
        }
    }

    /// The memory of data beyond gaps.
    fn held(&self) -> u64 {
        self.blocks.iter().map(|(from, to)| self.buffer.taken(to - from)).sum()
    }

    /// Before a segment changes a block that recent acknowledgements have not reported, data that waits for a
    /// compressed acknowledgement is acknowledged. Else the sender would learn of it late.
    fn report_before(&mut self, start: u64, end: u64, now: Time) {
        let place = self.blocks.iter().position(|&(from, to)| start <= to && from <= end).unwrap_or(self.blocks.len());
        if place >= RECENT && self.policy.reports_before() {
            self.before = Some(self.acknowledge(now));
        }
    }

    fn arrived(&mut self, arrival: &Arrival) {
        if self.policy.on_arrival(arrival) == Verdict::Now {
            self.due = true;
        }
    }

    /// The number of the receiver's own FIN, which follows its SYN if it has sent one.
    fn fin_number(&self) -> u64 {
        u64::from(self.params.connect == Connect::ThreeWay)
    }

    /// Records which part of a segment had arrived before: data below the acknowledgement, or else within a block (RFC
    /// 2883 §4).
    fn note_duplicate(&mut self, start: u64, end: u64) {
        if !self.sack || !self.params.dsack {
            return;
        }
        self.duplicate = if start < self.next {
            Some((start, end.min(self.next)))
        } else {
            // Of several parts that had arrived, the first (RFC 2883 §4.2.3).
            let overlap = |&(from, to): &(u64, u64)| (start.max(from), end.min(to));
            self.blocks.iter().map(overlap).filter(|(from, to)| from < to).min()
        };
    }

    /// Accepts the bytes from `start` to `end`, and returns how many are new.
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
        let fin = self.fin.is_some_and(|fin| (self.next..end).contains(&fin));
        self.counters.delivered_bytes += end - self.next - u64::from(fin);
        self.next = end;
    }

    /// The deadline is reached. Being called early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.policy.deadline() {
            self.due |= self.policy.on_expired(now) == Verdict::Now;
        }
        self.due |= now >= self.buffer.deadline();
        if self.linux.as_mut().is_some_and(|linux| linux.on_timer(now)) {
            self.answer_syn = true;
            self.due = true;
        }
        if now >= self.fin_again {
            self.fin_due = true;
            self.due = true;
        }
    }

    /// When [`on_timer`](Self::on_timer) must next be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        let answer = self.linux.as_ref().map_or(Time::NEVER, Receiving::deadline);
        self.policy.deadline().min(self.buffer.deadline()).min(self.fin_again).min(answer)
    }

    /// The acknowledgement to send now, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        if let Some(before) = self.before.take() {
            return Some(before);
        }
        if !std::mem::take(&mut self.due) && !self.read(now) {
            return None;
        }
        Some(self.acknowledge(now))
    }

    /// A segment of this end's sender reports what arrived, so that no acknowledgement of its own is needed. It has no
    /// blocks of SACK, for which it may have no room.
    pub fn report(&mut self, header: &mut TcpHeader, now: Time) {
        self.read(now);
        self.due = false;
        self.answer_syn = header.flags.syn;
        let TcpHeader { ack, window, .. } = self.header(now);
        (header.ack, header.window, header.flags.ack) = (ack, window, true);
        header.timestamps = header.timestamps.map(|(value, _)| (value, self.echo.unwrap_or(0)));
    }

    /// A segment that this end cannot accept is to be answered.
    pub fn answer(&mut self) {
        self.due = true;
    }

    /// Whether the acknowledgement that is due must be a segment without data: it reports disorder, and as a duplicate
    /// it has no data (RFC 5681 §2).
    #[must_use]
    pub fn must_report_apart(&self) -> bool {
        self.before.is_some() || self.due && (!self.blocks.is_empty() || self.duplicate.is_some())
    }

    /// Whether the other end has opened the connection.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.state != Connection::Listen
    }

    /// Whether all data has arrived, and the FIN behind it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// The application reads what has arrived. Returns whether that is to be acknowledged now.
    fn read(&mut self, now: Time) -> bool {
        if !std::mem::take(&mut self.readable) {
            return false;
        }
        self.buffer.on_read(self.next, &self.trip, now);
        let held = self.held();
        let reading = Reading {
            unacknowledged: self.next - self.last_ack,
            emptied: self.blocks.is_empty() && self.buffer.waiting() == 0,
            opens: self.fin.is_none() && self.buffer.opens(self.next, held),
        };
        self.policy.on_read(&reading) == Verdict::Now
    }

    /// Makes an acknowledgement.
    fn acknowledge(&mut self, now: Time) -> TcpHeader {
        self.counters.acks += 1;
        self.header(now)
    }

    /// The header of a segment that acknowledges what arrived.
    fn header(&mut self, now: Time) -> TcpHeader {
        let held = self.held();
        if self.buffer.room(held).cramped {
            self.policy.on_cramped();
        }
        self.policy.on_acknowledged();
        self.last_ack = self.next;
        let timestamps = self.echo.map(|echo| (milliseconds(now), echo));
        let duplicate = self.duplicate.take();
        let sack = if self.sack && (duplicate.is_some() || !self.blocks.is_empty()) {
            // Timestamps leave room for three blocks (RFC 2018 §3); ns-2 sends three at most in any case.
            let room = if timestamps.is_some() || self.params.habits == Habits::Ns2 { 3 } else { 4 };
            let base = duplicate.map_or(self.next, |(start, _)| start.min(self.next));
            SackBlocks::new(base, duplicate.into_iter().chain(self.blocks.iter().copied()).take(room))
        } else {
            SackBlocks::default()
        };
        let syn = std::mem::take(&mut self.answer_syn);
        let fin = std::mem::take(&mut self.fin_due) && !syn;
        // A SYN has number 0. Any segment other than a repeated FIN comes after it.
        let seq = if syn { 0 } else { self.fin_number() + u64::from(self.fin_sent && !fin) };
        if fin {
            self.fin_sent = true;
            self.await_fin_answer(now);
        }
        if let Some(linux) = self.linux.as_mut().filter(|_| syn && !self.duplex) {
            linux.on_answered(now);
        }
        let window = if syn {
            self.trip.on_answer(now);
            self.buffer.announce_first(self.next, now)
        } else {
            self.buffer.announce(self.next, held, now)
        };
        TcpHeader {
            seq,
            ack: self.next,
            window,
            timestamps,
            sack,
            flags: TcpFlags { syn, ack: true, fin, psh: false },
            ..TcpHeader::default()
        }
    }

    /// Sets the timer after the FIN was sent, twice as long each time (RFC 6298 §5.5).
    fn await_fin_answer(&mut self, now: Time) {
        let opening = self.linux.as_ref().zip(self.trip.opening());
        let wait = match (self.fin_wait, opening) {
            (Some(wait), _) => wait,
            // No data of this side has given a round trip (§2.1).
            (None, None) => self.params.initial_rto,
            // The opening exchange has.
            (None, Some((linux, trip))) => {
                let (first, timeout) = linux.fin_waits(trip);
                self.fin_again = linux.expiry(first, now);
                self.fin_wait = Some(timeout);
                return;
            }
        };
        self.fin_again = self.linux.as_ref().map_or(now + wait, |linux| linux.expiry(wait, now));
        self.fin_wait = Some((wait * 2).min(self.params.max_rto));
    }

    /// The bytes of an acknowledgement's IP and TCP headers with options: a packet's size is this and the payload,
    /// which is nothing.
    #[must_use]
    pub fn header_bytes(&self, header: &TcpHeader) -> u32 {
        header_bytes(&self.params, header)
    }

    /// Whether the byte with this sequence number has arrived.
    #[must_use]
    pub fn has(&self, seq: u64) -> bool {
        seq < self.next || self.blocks.iter().any(|&(from, to)| (from..to).contains(&seq))
    }

    /// The state of the connection.
    #[must_use]
    pub const fn connection(&self) -> Connection {
        self.state
    }

    /// The counters.
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
