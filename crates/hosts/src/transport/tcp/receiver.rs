//! TCP's receiving end: puts segments in order, acknowledges, reports by SACK.

use enum_dispatch::enum_dispatch;
use hopyard_engine::{Span, Time};

use crate::packet::TcpHeader;
use crate::transport::acking::{self, AckPolicy, Policy, Reading, Verdict};
use crate::transport::connection::{
    Buffer, Connection, Habits, Intake, Noted, Params, ReceiverCounters, ReceivingEnd, header_bytes,
};
use crate::transport::linux;

/// The two receivers.
#[enum_dispatch(ReceivingEnd)]
#[derive(Clone, Debug)]
enum Machine {
    Plain(Plain),
    Linux(Box<linux::Receiver>),
}

/// The plain receiving end: it announces what its buffer has room for.
#[derive(Clone, Debug)]
struct Plain {
    buffer: Buffer,
    /// The time at which the answer to the SYN is sent again, and the wait before that (RFC 6298 §2.1, §5.5).
    again: Time,
    wait: Span,
    /// Something but a SYN has arrived.
    opened: bool,
}

impl Plain {
    fn new(params: &Params) -> Self {
        Self { buffer: Buffer::new(params), again: Time::NEVER, wait: params.initial_rto, opened: false }
    }
}

impl ReceivingEnd for Plain {
    fn on_segment(&mut self, tcp: &mut Intake, header: &TcpHeader, now: Time) {
        if tcp.refuses(header) || !tcp.opens(header, now) {
            return;
        }
        (self.opened, self.again) = (true, Time::NEVER);
        tcp.trip.on_opened(now);
        if !tcp.accepts(header, self.buffer.limit(tcp.next), now) {
            return;
        }
        if tcp.reports_before(header) {
            tcp.before = Some(self.header(tcp, now));
        }
        let placed = tcp.place(header, self.buffer.announced, now);
        self.buffer.fill(placed.delivered, now);
        tcp.arrived(&placed.arrival);
    }

    fn read(&mut self, tcp: &Intake, _now: Time) -> Reading {
        tcp.reading(self.buffer.unread(), false)
    }

    fn header(&mut self, tcp: &mut Intake, now: Time) -> TcpHeader {
        let header = tcp.header(self.buffer.announce(tcp.next, now), now);
        if header.flags.fin {
            tcp.fin_again = now + tcp.next_fin_wait();
        }
        if header.flags.syn && !tcp.duplex && !self.opened {
            // The answer is sent again until something else arrives.
            self.again = now + self.wait;
        }
        header
    }

    fn on_timer(&mut self, tcp: &mut Intake, now: Time) {
        tcp.due |= now >= self.buffer.deadline();
        if now >= self.again {
            self.again = Time::NEVER;
            self.wait = (self.wait * 2).min(tcp.params.max_rto);
            (tcp.answer_syn, tcp.due) = (true, true);
        }
    }

    fn deadline(&self) -> Time {
        self.buffer.deadline().min(self.again)
    }
}

/// TCP's receiving end. After each event, [`poll_transmit`](Self::poll_transmit) must be called until it gives nothing
/// more.
#[derive(Clone, Debug)]
pub struct TcpReceiver {
    tcp: Intake,
    machine: Machine,
}

impl TcpReceiver {
    /// A receiver that listens. With `sack` it reports segments out of order; see [`TcpSender::wants_sack`].
    ///
    /// [`TcpSender::wants_sack`]: super::TcpSender::wants_sack
    #[must_use]
    pub fn new(acking: &acking::Config, params: &Params, sack: bool) -> Self {
        let machine = match params.habits {
            Habits::Linux => Machine::Linux(Box::new(linux::Receiver::new(params))),
            Habits::Rfc | Habits::Ns2 => Machine::Plain(Plain::new(params)),
        };
        Self { tcp: Intake::new(Policy::new(acking), params, sack), machine }
    }

    /// A receiver at an end that sends data too. It sends neither SYN nor FIN: the sender of this end does.
    #[must_use]
    pub fn duplex(acking: &acking::Config, params: &Params, sack: bool) -> Self {
        let mut receiver = Self::new(acking, params, sack);
        receiver.tcp.duplex = true;
        receiver
    }

    /// A segment arrived from the sender.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        self.machine.on_segment(&mut self.tcp, header, now);
    }

    /// The deadline is reached. Being called early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        self.tcp.on_timer(now);
        self.machine.on_timer(&mut self.tcp, now);
    }

    /// When [`on_timer`](Self::on_timer) must next be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.tcp.policy.deadline().min(self.tcp.fin_again).min(self.machine.deadline())
    }

    /// The acknowledgement to send now, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        let before = self.tcp.before.take();
        if before.is_none() && !std::mem::take(&mut self.tcp.due) && !self.read(now) {
            return None;
        }
        self.tcp.counters.acks += 1;
        before.or_else(|| Some(self.machine.header(&mut self.tcp, now)))
    }

    /// A segment of this end's sender reports what arrived, so that no acknowledgement of its own is needed. It has
    /// blocks of SACK at an end of Linux, which reports disorder apart where a segment has no room for them.
    pub fn report(&mut self, header: &mut TcpHeader, now: Time) {
        let is_linux = matches!(self.machine, Machine::Linux(_));
        if !is_linux {
            self.read(now);
        }
        self.tcp.due = false;
        self.tcp.answer_syn = header.flags.syn;
        let TcpHeader { ack, window, sack, .. } = self.machine.header(&mut self.tcp, now);
        if is_linux {
            header.sack = sack;
        }
        (header.ack, header.window, header.flags.ack) = (ack, window, true);
        header.timestamps = header.timestamps.map(|(value, _)| (value, self.tcp.echo.unwrap_or(0)));
        if let Policy::Quick(quick) = &mut self.tcp.policy
            && header.len > 0
        {
            quick.on_data_sent(now);
        }
    }

    /// The sender at this end opens the connection: its SYN announces the first window.
    pub fn announce_first(&mut self, header: &mut TcpHeader) {
        if let Machine::Linux(receiver) = &mut self.machine {
            header.window = receiver.announce_first(&self.tcp.params).unwrap_or(header.window);
        }
    }

    /// A segment is about to arrive at an end whose sender is one of Linux.
    pub(crate) fn look_beside(&mut self, sender: linux::Beside) {
        if let Machine::Linux(receiver) = &mut self.machine {
            receiver.beside = Some(sender);
        }
    }

    /// A segment that this end cannot accept is to be answered.
    pub const fn answer(&mut self) {
        self.tcp.due = true;
    }

    /// The next sequence number expected.
    #[must_use]
    pub const fn next(&self) -> u64 {
        self.tcp.next
    }

    /// The window that was announced last, and the timestamp to echo, if the other end uses timestamps.
    pub(crate) fn last(&self) -> (u32, Option<u32>) {
        let announced = match &self.machine {
            Machine::Plain(it) => it.buffer.announced,
            Machine::Linux(it) => it.announced(),
        };
        (announced as u32, self.tcp.echo)
    }

    /// The next acknowledgement reports no data that arrived twice.
    pub(crate) const fn forget_duplicate(&mut self) {
        self.tcp.duplicate = None;
    }

    /// Takes in a segment's part in the reports of marks. Linux acknowledges at once what begins or ends them, or was
    /// probably sent again: the sender may have a small window.
    pub(crate) fn note_marks(&mut self, noted: Noted) {
        if let Machine::Linux(_) = self.machine {
            let hurries = noted.begins || noted.again;
            self.tcp.due |= noted.ends;
            match &mut self.tcp.policy {
                Policy::Quick(quick) if hurries => quick.expect_small_window(),
                _ => self.tcp.due |= hurries,
            }
        }
    }

    /// Whether the acknowledgement that is due must be a segment without data: it reports disorder, and as a duplicate
    /// it has no data (RFC 5681 §2).
    #[must_use]
    pub fn must_report_apart(&self) -> bool {
        let tcp = &self.tcp;
        tcp.before.is_some() || tcp.due && (!tcp.blocks.is_empty() || tcp.duplicate.is_some())
    }

    /// Whether the other end has opened the connection.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.tcp.state != Connection::Listen
    }

    /// Whether all data has arrived, and the FIN behind it.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.tcp.has_ended()
    }

    /// The application reads what has arrived. Returns whether that is to be acknowledged now.
    fn read(&mut self, now: Time) -> bool {
        if !std::mem::take(&mut self.tcp.readable) {
            return false;
        }
        let reading = self.machine.read(&self.tcp, now);
        self.tcp.policy.on_read(&reading) == Verdict::Now
    }

    /// The bytes of an acknowledgement's IP and TCP headers with options: a packet's size is this and the payload,
    /// which is nothing.
    #[must_use]
    pub fn header_bytes(&self, header: &TcpHeader) -> u32 {
        header_bytes(&self.tcp.params, header)
    }

    /// Whether the byte with this sequence number has arrived.
    #[must_use]
    pub fn has(&self, seq: u64) -> bool {
        seq < self.tcp.next || self.tcp.blocks.iter().any(|&(from, to)| (from..to).contains(&seq))
    }

    /// The state of the connection.
    #[must_use]
    pub const fn connection(&self) -> Connection {
        self.tcp.state
    }

    /// The counters.
    #[must_use]
    pub const fn counters(&self) -> &ReceiverCounters {
        &self.tcp.counters
    }
}
