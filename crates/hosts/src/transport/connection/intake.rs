//! The state that the two receivers share: the data that arrived, the notes for acknowledgements, and the receiver's
//! half of the connection.

use hopyard_engine::{Span, Time};

use super::counters::ReceiverCounters;
use super::header::{is_earlier, milliseconds};
use super::params::{Connect, EchoCopies, Habits, Params};
use super::state::Connection;
use super::trip::Trip;
use crate::packet::{SackBlocks, TcpFlags, TcpHeader};
use crate::transport::acking::{AckPolicy, Arrival, Order, Policy, Reading, Verdict};

/// The number of the blocks extended last that each acknowledgement reports, and the next one again.
const RECENT: usize = 2;

/// The state that the two receivers share.
#[derive(Clone, Debug)]
pub(crate) struct Intake {
    pub params: Params,
    pub policy: Policy,
    pub sack: bool,
    /// The next sequence number expected.
    pub next: u64,
    pub trip: Trip,
    /// Data has arrived that the application reads when this event is over.
    pub readable: bool,
    /// The number of the sender's FIN, when it has arrived.
    pub fin: Option<u64>,
    pub state: Connection,
    /// The receiver's own FIN must be sent now; the time of its retransmission, and the interval after it.
    fin_due: bool,
    fin_sent: bool,
    pub fin_again: Time,
    /// The time between the next repetitions of the FIN.
    pub fin_wait: Span,
    /// Blocks received beyond a gap, the most recently extended first (RFC 2018 §4).
    pub blocks: Vec<(u64, u64)>,
    /// Data that arrived twice, which the next acknowledgement reports (RFC 2883).
    pub duplicate: Option<(u64, u64)>,
    /// The timestamp to echo (RFC 7323 §4.3 TS.Recent), if the sender uses them.
    pub echo: Option<u32>,
    /// The acknowledgement number sent last.
    pub last_ack: u64,
    /// An acknowledgement is to be sent now, and whether it answers a SYN.
    pub due: bool,
    pub answer_syn: bool,
    /// An acknowledgement of the data that had arrived before the segment at hand.
    pub before: Option<TcpHeader>,
    /// This end sends data too: its sender opens and closes this direction.
    pub duplex: bool,
    pub counters: ReceiverCounters,
}

/// A segment that was put in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Placed {
    pub arrival: Arrival,
    /// The bytes that arrived for the first time, and those that are in order now.
    pub fresh: u64,
    pub delivered: u64,
}

impl Intake {
    pub fn new(policy: Policy, params: &Params, sack: bool) -> Self {
        Self {
            policy,
            sack,
            next: 0,
            trip: Trip::default(),
            readable: false,
            fin: None,
            state: Connection::Listen,
            fin_due: false,
            fin_sent: false,
            fin_again: Time::NEVER,
            // No data of this side has given a round trip (RFC 6298 §2.1).
            fin_wait: params.initial_rto,
            blocks: Vec::new(),
            duplicate: None,
            echo: None,
            last_ack: 0,
            due: false,
            answer_syn: false,
            before: None,
            duplex: false,
            counters: ReceiverCounters::default(),
            params: params.clone(),
        }
    }

    /// Whether a segment is thrown away because of its acknowledgement.
    pub fn refuses(&mut self, header: &TcpHeader) -> bool {
        if self.params.connect != Connect::ThreeWay {
            return false;
        }
        // RFC 9293 §3.10.7.4, fifth: a segment that acknowledges what was never sent is answered and dropped.
        let invalid = !self.duplex
            && header.ack > self.fin_number() + u64::from(self.fin_sent)
            && self.state != Connection::Closed;
        // A segment without ACK is dropped.
        let bare = !header.flags.syn && !header.flags.ack;
        self.counters.invalid_acks += u64::from(invalid && !bare);
        self.due |= invalid && !bare;
        invalid || bare
    }

    /// Takes in a segment's timestamp and flags. Returns whether the connection is open: the segment is no SYN.
    pub fn opens(&mut self, header: &TcpHeader, now: Time) -> bool {
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
        }
        !header.flags.syn
    }

    /// Whether a segment has data or a FIN, and does not go beyond `limit`.
    pub fn accepts(&mut self, header: &TcpHeader, limit: u64, now: Time) -> bool {
        if header.len == 0 && !header.flags.fin {
            // A number from before the window, as in a probe, is answered (RFC 9293 §3.10.7.4).
            self.due |= header.seq < self.next;
            return false;
        }
        self.counters.segments += u64::from(header.len > 0);
        if header.seq + u64::from(header.len) > limit {
            self.counters.beyond_window += 1;
            self.arrived(&Arrival::at(now));
            return false;
        }
        self.note_duplicate(header.seq, header.end());
        true
    }

    /// TS.Recent: it belongs to the segment at the left edge of the window, and never goes back (RFC 7323 §4.3 (2)). A
    /// retransmission after a lost acknowledgement sets it too. Otherwise the acknowledgement of the retransmission
    /// would echo the time of the original, and the sender would take a round-trip sample as long as an outage. RFC
    /// 7323 contradicts itself here: §4.3 and appendix D say so, but §5.3 R2 rejects a segment before the window first.
    fn note_timestamp(&mut self, header: &TcpHeader) {
        let Some((value, _)) = header.timestamps else { return };
        let (start, end, last) = (header.seq, header.end(), self.last_ack);
        let may_set = match self.params.echo_copies {
            EchoCopies::All => true,
            EchoCopies::Last => last <= end,
            EchoCopies::None => end > self.next || (end == start && start == self.next),
        };
        if may_set && start <= last && self.echo.is_none_or(|recent| !is_earlier(value, recent)) {
            self.echo = Some(value);
        }
    }

    /// Records which part of a segment had arrived before: data below the acknowledgement, or else within a block (RFC
    /// 2883 §4).
    pub fn note_duplicate(&mut self, start: u64, end: u64) {
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

    /// Whether data that waits for a compressed acknowledgement is to be acknowledged before a segment changes a block
    /// that recent acknowledgements have not reported. Else the sender would learn of it late.
    pub fn reports_before(&self, header: &TcpHeader) -> bool {
        let (start, end) = (header.seq, header.end());
        let place = self.blocks.iter().position(|&(from, to)| start <= to && from <= end).unwrap_or(self.blocks.len());
        start > self.next && place >= RECENT && self.policy.reports_before()
    }

    /// Puts a segment in order. The window that was announced last is `window`.
    pub fn place(&mut self, header: &TcpHeader, window: u64, now: Time) -> Placed {
        let (start, end) = (header.seq, header.end());
        let first_fin = header.flags.fin && self.fin.is_none();
        if first_fin {
            self.fin = Some(end - 1);
        }
        if end >= self.last_ack {
            self.trip.on_segment(header, now);
        }
        let (next, gap) = (self.next, !self.blocks.is_empty());
        if start <= next && next < end {
            self.trip.on_data(end, window, now);
        }
        let before = self.counters.delivered_bytes;
        let fresh = self.insert(start, end);
        let delivered = self.counters.delivered_bytes - before;
        self.readable |= delivered > 0;
        self.counters.unique_bytes += fresh - u64::from(first_fin);
        self.counters.duplicate_segments += u64::from(fresh == 0 && header.len > 0);
        self.counters.out_of_order_segments += u64::from(fresh > 0 && start > self.next && header.len > 0);
        let ended = self.has_ended();
        if ended && self.state == Connection::Established && !self.duplex {
            // The application has read to the end, and closes its half too (RFC 9293 §3.6, case 2).
            self.state = Connection::LastAck;
            self.fin_due = true;
        }
        let order = match (start > next, end <= next) {
            (true, _) => Order::Ahead,
            (_, true) if gap || end < next => Order::Old,
            (_, true) => Order::LastAgain,
            _ if !self.blocks.is_empty() => Order::BeforeGap,
            _ if gap => Order::ClosesGap,
            _ => Order::Next,
        };
        let arrival = Arrival {
            now,
            order,
            control: ended,
            first: start == 0,
            len: header.len,
            psh: header.flags.psh,
            sack: self.sack,
            next: self.next,
            unacknowledged: self.next - self.last_ack,
            window,
            round_trip: self.trip.smoothed(),
            opening: self.trip.opening(),
            timeout: None,
            half: false,
        };
        Placed { arrival, fresh, delivered }
    }

    /// The policy decides on a segment.
    pub fn arrived(&mut self, arrival: &Arrival) {
        self.due |= self.policy.on_arrival(arrival) == Verdict::Now;
    }

    /// The reading of the application, which has left so many bytes. `opens` says whether the sender must learn of the
    /// new room.
    pub const fn reading(&self, unread: u64, opens: bool) -> Reading {
        let emptied = self.blocks.is_empty() && unread == 0;
        Reading { unacknowledged: self.next - self.last_ack, emptied, opens }
    }

    /// The number of the receiver's own FIN, which follows its SYN if it has sent one.
    fn fin_number(&self) -> u64 {
        u64::from(self.params.connect == Connect::ThreeWay)
    }

    /// Whether all data has arrived, and the FIN behind it.
    pub fn has_ended(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
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

    /// The deadline of the policy or of the FIN may be reached.
    pub fn on_timer(&mut self, now: Time) {
        if now >= self.policy.deadline() {
            self.due |= self.policy.on_expired(now) == Verdict::Now;
        }
        if now >= self.fin_again {
            self.fin_due = true;
            self.due = true;
        }
    }

    /// The header of a segment that acknowledges what arrived, and announces `window`.
    pub fn header(&mut self, window: u32, now: Time) -> TcpHeader {
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
        if syn {
            self.trip.on_answer(now);
        }
        let fin = std::mem::take(&mut self.fin_due) && !syn;
        // A SYN has number 0. Any segment other than a repeated FIN comes after it.
        let seq = if syn { 0 } else { self.fin_number() + u64::from(self.fin_sent && !fin) };
        self.fin_sent |= fin;
        TcpHeader {
            seq,
            ack: self.next,
            window,
            timestamps,
            sack,
            flags: TcpFlags { syn, ack: true, fin, ..TcpFlags::default() },
            ..TcpHeader::default()
        }
    }

    /// How long the FIN waits for its answer: twice as long each time (RFC 6298 §5.5).
    pub fn next_fin_wait(&mut self) -> Span {
        let wait = self.fin_wait;
        self.fin_wait = (wait * 2).min(self.params.max_rto);
        wait
    }
}
