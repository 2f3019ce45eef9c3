//! Linux's receiving end.
//!
//! It has a buffer that grows, sends its answer to a SYN again, throws away data with an old timestamp, and tells the
//! policy `quick` of its buffer.

use hopyard_engine::{Span, Time};

use super::receive_buffer::ReceiveBuffer;
use crate::packet::TcpHeader;
use crate::transport::acking::{AckPolicy, Arrival, Order, Policy, Reading, Verdict};
use crate::transport::connection::{Intake, Params, ReceivingEnd, Wheel, is_earlier};

/// How often the answer to a SYN is sent again (`tcp_synack_retries`).
const ANSWERS: u32 = 5;

/// Linux's receiving end.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    buffer: ReceiveBuffer,
    wheel: Wheel,
    /// The time at which the answer to the SYN is sent again, the wait before that, and the number of answers.
    again: Time,
    wait: Span,
    answers: u32,
    /// Something but a SYN has arrived.
    opened: bool,
    /// The sender at this end.
    pub beside: Option<Beside>,
}

/// What a receiver asks the sender at its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Beside {
    /// The smoothed round trip, and the retransmission timeout.
    pub round_trip: Option<Span>,
    pub timeout: Span,
    /// The sender has closed its direction.
    pub closed: bool,
}

impl Receiver {
    /// The window that was announced last.
    pub const fn announced(&self) -> u64 {
        self.buffer.base.announced
    }

    pub fn new(params: &Params) -> Self {
        Self {
            buffer: ReceiveBuffer::new(params),
            wheel: params.linux.wheel(params.tick),
            again: Time::NEVER,
            wait: params.initial_rto,
            answers: 0,
            opened: false,
            beside: None,
        }
    }

    /// The window of a SYN that opens the connection.
    pub fn announce_first(&mut self, params: &Params) -> Option<u32> {
        self.buffer.announce_first(params)
    }

    /// Throws away data because of its timestamp: a late copy may belong to numbers that were used before (RFC 7323
    /// §5). A difference of a millisecond may come from rounding.
    fn is_outdated(&self, tcp: &mut Intake, header: &TcpHeader, now: Time) -> bool {
        let (Some((value, _)), Some(recent)) = (header.timestamps, tcp.echo) else { return false };
        if header.len == 0 || !is_earlier(value.wrapping_add(1), recent) {
            return false;
        }
        tcp.counters.outdated += 1;
        let mut arrival = Arrival { window: self.buffer.base.announced, ..Arrival::at(now) };
        if header.seq < tcp.next {
            tcp.note_duplicate(header.seq, header.seq + u64::from(header.len));
            (arrival.len, arrival.order) = (header.len, Order::Old);
        }
        tcp.arrived(&arrival);
        true
    }

    /// Sets the timer of the FIN. The first repetition is the probe of an only segment (RFC 8985 §7.2), if that comes
    /// before the timeout after the opening exchange (RFC 6298 §2.2), which it does not back off.
    fn await_fin_answer(&self, tcp: &mut Intake, now: Time) {
        let opening = tcp.trip.opening().filter(|_| tcp.fin_again == Time::NEVER);
        let wait = if let Some(trip) = opening {
            let timeout = (trip + (trip * 2).max(tcp.params.min_rto)).min(tcp.params.max_rto);
            tcp.fin_wait = timeout;
            timeout.min(trip * 2 + tcp.params.min_rto)
        } else {
            tcp.next_fin_wait()
        };
        tcp.fin_again = self.wheel.expiry(now, wait);
    }
}

impl ReceivingEnd for Receiver {
    fn on_segment(&mut self, tcp: &mut Intake, header: &TcpHeader, now: Time) {
        if tcp.refuses(header) || self.is_outdated(tcp, header, now) {
            return;
        }
        if tcp.duplex && header.flags.ack && !std::mem::replace(&mut self.opened, true) {
            self.buffer.open(now);
        }
        if !tcp.opens(header, now) {
            return;
        }
        (self.opened, self.again) = (true, Time::NEVER);
        if tcp.trip.on_opened(now) && !tcp.duplex {
            self.buffer.open(now);
        }
        if !tcp.accepts(header, self.buffer.limit(tcp.next), now) {
            return;
        }
        if tcp.reports_before(header) {
            tcp.before = Some(self.header(tcp, now));
        }
        if let Policy::Quick(quick) = &tcp.policy {
            tcp.trip.largest = quick.full();
        }
        let mut placed = tcp.place(header, self.buffer.base.announced, now);
        if let Some(sender) = self.beside {
            let arrival = &mut placed.arrival;
            (arrival.opening, arrival.timeout) = (sender.round_trip, Some(sender.timeout));
            arrival.half = arrival.control && !sender.closed;
        }
        let full = match &mut tcp.policy {
            Policy::Quick(quick) => quick.measure(&placed.arrival),
            _ => tcp.params.mss(),
        };
        let room = self.buffer.on_segment(tcp, header, &placed, full, now);
        let verdict = match &mut tcp.policy {
            Policy::Quick(quick) if tcp.before.is_some() => quick.on_reported(now, room),
            Policy::Quick(quick) => quick.on_segment(&placed.arrival, room),
            other => other.on_arrival(&placed.arrival),
        };
        tcp.due |= verdict == Verdict::Now;
    }

    fn read(&mut self, tcp: &Intake, now: Time) -> Reading {
        self.buffer.on_read(tcp, now)
    }

    fn header(&mut self, tcp: &mut Intake, now: Time) -> TcpHeader {
        let cramped = self.buffer.room().cramped;
        let mut stamp = now;
        if let Policy::Quick(quick) = &mut tcp.policy {
            if cramped {
                quick.on_cramped();
            }
            stamp = quick.stamp(now);
        }
        let header = tcp.header(self.buffer.announce(tcp, now), stamp);
        if header.flags.fin {
            self.await_fin_answer(tcp, now);
        }
        if header.flags.syn && !tcp.duplex && !self.opened {
            // The answer is sent again until something else arrives.
            self.again = self.wheel.expiry(now, self.wait);
        }
        header
    }

    fn on_timer(&mut self, tcp: &mut Intake, now: Time) {
        tcp.due |= now >= self.buffer.base.deadline();
        if now >= self.again {
            self.again = Time::NEVER;
            self.wait = (self.wait * 2).min(tcp.params.max_rto);
            self.answers += 1;
            tcp.answer_syn |= self.answers <= ANSWERS;
            tcp.due |= self.answers <= ANSWERS;
        }
    }

    fn deadline(&self) -> Time {
        self.buffer.base.deadline().min(self.again)
    }
}
