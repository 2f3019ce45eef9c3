//! The end under test: Hopyard's sender or receiver, with the small differences between a flow of Hopyard and a socket.
//!
//! - A sender of Hopyard always opens its connection. Where the script's socket listens, the sender opens when the SYN
//!   of the script arrives: its SYN stands for the SYN and ACK of the socket, and the third segment of the exchange for
//!   the answer to its SYN. Numbers, timers and windows are the same. The acknowledgement of that answer, if the
//!   profile sends it at once, is left out.
//! - A receiver closes when the FIN of the sender arrives. Scripts in which it does not are not played.

use std::collections::VecDeque;

use hopyard_engine::{Span, Streams, Time};
use hopyard_model::packet::{SackBlocks, TcpFlags, TcpHeader};
use hopyard_model::transport::tcp::{Connection, TcpReceiver, TcpSender};

use crate::agreement::{Agreement, Model};
use crate::features::Role;
use crate::script::Segment;

/// So many timer events at one time mean that the model does not go on.
const TOO_MANY: u32 = 100_000;
/// What Linux shows as the slow start threshold before the first loss.
const NO_THRESHOLD: f64 = 2_147_483_647.0;

/// A segment that the end has sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When.
    pub at: Time,
    /// The first sequence number.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// The acknowledgement number.
    pub ack: Option<u64>,
    /// Whether it has a SYN.
    pub syn: bool,
    /// Whether it has a FIN.
    pub fin: bool,
    /// Whether it has PSH.
    pub psh: bool,
    /// It has no data, or the last that the application had written: the size of buffers does not decide about PSH.
    pub decided: bool,
    /// The window in bytes.
    pub window: u32,
    /// The timestamps' value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// The blocks of SACK.
    pub sack: Vec<(u64, u64)>,
}

#[derive(Debug)]
enum End {
    Sender(Box<TcpSender>),
    Receiver(Box<TcpReceiver>),
}

/// The end under test.
#[derive(Debug)]
pub struct Endpoint {
    end: End,
    agreement: Agreement,
    /// The other end opens the connection.
    passive: bool,
    established: bool,
    /// The next segment may be the third of an opening exchange, which this end does not send.
    skip_third: bool,
    now: Time,
    /// What was sent and not compared yet.
    queue: VecDeque<Sent>,
    /// The number before which the sender repeats what it had sent before a timeout.
    loss_until: u64,
    closed: bool,
    written: u64,
    read: u64,
    /// When data arrived last.
    data_at: Time,
}

impl Endpoint {
    /// An end before its connection.
    #[must_use]
    pub fn new(role: Role, model: &Model, agreement: Agreement, passive: bool) -> Self {
        let end = match role {
            Role::Sender => {
                End::Sender(Box::new(TcpSender::new(&model.config, Streams::new(1, 0).stream("packetdrill"))))
            }
            Role::Receiver => End::Receiver(Box::new(TcpReceiver::new(&model.acking, &model.config.tcp, model.sack))),
        };
        Self {
            end,
            agreement,
            passive,
            established: false,
            skip_third: false,
            now: Time::ZERO,
            queue: VecDeque::new(),
            loss_until: 0,
            closed: false,
            written: 0,
            read: 0,
            data_at: Time::ZERO,
        }
    }

    /// The time up to which the end has been simulated.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The oldest segment that was not compared yet.
    pub fn take(&mut self) -> Option<Sent> {
        self.queue.pop_front()
    }

    fn deadline(&self) -> Time {
        match &self.end {
            End::Sender(sender) => sender.deadline(),
            End::Receiver(receiver) => receiver.deadline(),
        }
    }

    /// Simulates until `to`, or until something is sent if `stop_when_sent`.
    ///
    /// # Errors
    /// When the model does not go on: its timers expire again and again at one time.
    pub fn advance(&mut self, to: Time, stop_when_sent: bool) -> Result<(), String> {
        let mut events = 0;
        loop {
            if stop_when_sent && !self.queue.is_empty() {
                return Ok(());
            }
            let deadline = self.deadline();
            if deadline > to {
                break;
            }
            events = if deadline > self.now { 0 } else { events + 1 };
            if events > TOO_MANY {
                return Err(format!("the model's timers do not go on at {}", self.now));
            }
            self.now = self.now.max(deadline);
            match &mut self.end {
                End::Sender(sender) => {
                    let before = sender.state().timeouts;
                    sender.on_timer(self.now);
                    if sender.state().timeouts > before {
                        self.loss_until = sender.window_edges().1;
                    }
                }
                End::Receiver(receiver) => receiver.on_timer(self.now),
            }
            self.drain();
        }
        self.now = self.now.max(to);
        Ok(())
    }

    fn drain(&mut self) {
        loop {
            let next = match &mut self.end {
                End::Sender(sender) => sender.poll_transmit(self.now),
                End::Receiver(receiver) => receiver.poll_transmit(self.now),
            };
            let Some(header) = next else { break };
            // The end that opens acknowledges the answer to its SYN. Where the sender stands for the other end, the
            // script has done that already.
            if std::mem::take(&mut self.skip_third) && header.len == 0 && !header.flags.fin {
                continue;
            }
            // The sender's SYN stands for SYN and ACK.
            let answers = self.passive && header.flags.syn && matches!(self.end, End::Sender(_));
            self.queue.push_back(Sent {
                at: self.now,
                seq: header.seq,
                len: header.len,
                ack: if answers { Some(1) } else { header.flags.ack.then_some(header.ack) },
                syn: header.flags.syn,
                fin: header.flags.fin,
                psh: header.flags.psh,
                decided: header.len == 0 || header.seq + u64::from(header.len) == 1 + self.written,
                window: header.window,
                timestamps: header.timestamps,
                sack: header.sack.iter().collect(),
            });
        }
    }

    /// The application opens the connection.
    pub fn connect(&mut self) {
        self.write(0);
    }

    /// The application writes so many bytes.
    pub fn write(&mut self, bytes: u64) {
        if let End::Sender(sender) = &mut self.end {
            self.written += bytes;
            sender.write(bytes, self.now);
            self.drain();
        }
    }

    /// The application closes the sending half.
    pub fn close(&mut self) {
        if let End::Sender(sender) = &mut self.end
            && !std::mem::replace(&mut self.closed, true)
        {
            sender.close(self.now);
            self.drain();
        }
    }

    /// Whether the application has closed the sending half.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        self.closed
    }

    /// Whether the opening exchange is over.
    #[must_use]
    pub const fn is_established(&self) -> bool {
        self.established
    }

    /// Bytes that the application may read.
    #[must_use]
    pub fn available(&self) -> u64 {
        match &self.end {
            End::Sender(_) => 0,
            End::Receiver(receiver) => receiver.counters().delivered_bytes - self.read,
        }
    }

    /// The application reads so many bytes of those that are there.
    pub const fn read(&mut self, bytes: u64) {
        self.read += bytes;
    }

    /// Whether the other end has closed, so that nothing more comes.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        let connection = self.connection();
        match &self.end {
            End::Sender(_) => matches!(connection, Connection::Closing | Connection::TimeWait),
            End::Receiver(_) => matches!(connection, Connection::LastAck | Connection::Closed),
        }
    }

    fn connection(&self) -> Connection {
        match &self.end {
            End::Sender(sender) => sender.connection(),
            End::Receiver(receiver) => receiver.connection(),
        }
    }

    /// A segment of the script arrives; `echo` is the value that its timestamps echo, as this end had sent it.
    pub fn arrive(&mut self, segment: &Segment, echo: Option<u32>) {
        let syn = segment.has('S');
        let ack = segment.has('.');
        let first = segment.sack().iter().map(|(start, _)| *start).chain(segment.ack).min().unwrap_or_default();
        let timestamps = segment.timestamps().map(|(value, written)| (value, echo.unwrap_or(written)));
        let header = TcpHeader {
            seq: segment.seq,
            ack: segment.ack.unwrap_or_default(),
            len: segment.len,
            window: self.agreement.window_in(segment),
            timestamps: timestamps.filter(|_| self.agreement.timestamps),
            sack: if self.agreement.sack {
                SackBlocks::new(first, segment.sack().iter().copied().filter(|(start, end)| start < end))
            } else {
                SackBlocks::default()
            },
            flags: TcpFlags { syn, ack, fin: segment.has('F'), psh: segment.has('P'), ..TcpFlags::default() },
            ..TcpHeader::default()
        };
        if segment.len > 0 {
            self.data_at = self.now;
        }
        match &mut self.end {
            End::Sender(sender) if self.passive && syn => {
                if sender.connection() == Connection::Closed {
                    sender.write(0, self.now);
                }
            }
            End::Sender(sender) => {
                // The third segment of the exchange is the answer to the sender's SYN.
                let answers = self.passive && sender.connection() == Connection::SynSent;
                let flags = TcpFlags { syn: syn || answers, ..header.flags };
                sender.on_segment(&TcpHeader { flags, ..header }, self.now);
                self.established |= sender.connection() != Connection::SynSent;
                self.skip_third |= answers && self.established;
            }
            End::Receiver(receiver) => {
                receiver.on_segment(&header, self.now);
                self.established |= !syn && ack;
            }
        }
        self.drain();
        self.skip_third = false;
    }

    /// The value of a name of Linux's `tcp_info`, if the model has the quantity.
    #[must_use]
    pub fn info(&self, name: &str) -> Option<f64> {
        match name {
            "tcpi_advmss" => return Some(self.agreement.announced_mss.into()),
            "tcpi_snd_mss" => return Some(self.agreement.mss.into()),
            "tcpi_last_data_recv" => return Some(milliseconds(self.now.since(self.data_at))),
            "tcpi_state" => return Some(self.state()),
            _ => {}
        }
        let End::Sender(sender) = &self.end else { return None };
        let (state, marks) = (sender.state(), sender.marks());
        Some(match name {
            "tcpi_snd_cwnd" => state.cwnd.floor(),
            "tcpi_snd_ssthresh" if state.ssthresh >= 65_535.0 => NO_THRESHOLD,
            "tcpi_snd_ssthresh" => state.ssthresh.floor(),
            "tcpi_rtt" => milliseconds(state.srtt?) * 1000.0,
            "tcpi_rto" => milliseconds(state.rto) * 1000.0,
            "tcpi_unacked" => marks.outstanding as f64,
            "tcpi_sacked" => marks.sacked as f64,
            // Linux counts a segment as lost until it is acknowledged, also when it was sent again.
            "tcpi_lost" => (marks.lost + marks.sent_again) as f64,
            "tcpi_retrans" => marks.sent_again as f64,
            "tcpi_reordering" => sender.reordering()?.into(),
            "tcpi_ca_state" if state.timeouts > 0 || sender.window_edges().0 < self.loss_until => 4.0,
            "tcpi_ca_state" if state.recovering => 3.0,
            "tcpi_ca_state" if state.duplicate_acks > 0 || marks.sacked > 0 => 1.0,
            "tcpi_ca_state" => 0.0,
            _ => return None,
        })
    }

    /// The number of the state of the connection in Linux.
    fn state(&self) -> f64 {
        match self.connection() {
            Connection::SynSent if self.passive => 3.0,
            Connection::SynReceived => 3.0,
            Connection::Established if !self.established => 3.0,
            Connection::Established => 1.0,
            Connection::SynSent => 2.0,
            Connection::FinWait1 => 4.0,
            Connection::FinWait2 => 5.0,
            Connection::TimeWait => 6.0,
            Connection::Closed => 7.0,
            Connection::CloseWait => 8.0,
            Connection::LastAck => 9.0,
            Connection::Listen => 10.0,
            Connection::Closing => 11.0,
        }
    }
}

fn milliseconds(span: Span) -> f64 {
    span.nanos() as f64 / 1e6
}
