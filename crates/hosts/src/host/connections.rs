//! One end of TCP connections that follow one another, each with a number that its ports tell on the wire.
//!
//! The application uses the latest one. It opens the next one at the client, and with that closes its end of the one
//! before; a SYN with a higher number opens the next one at the server, and leaves the one before as it is. An earlier
//! connection goes on until both directions are closed. The end that closed first then remembers its numbers for the
//! time of TIME-WAIT (RFC 9293 §3.6.1), and answers copies of the other end's FIN. A segment of a connection that an
//! end does not know is answered by a reset (RFC 9293 §3.10.7.1). Left out: a client that runs out of ports, because of
//! connections in TIME-WAIT.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use hopyard_engine::{Streams, Time};

use super::endpoint::{Emission, Endpoint, News, Received};
use super::tcp::{Tcp, bare, refusal, useless};
use crate::app::Change;
use crate::packet::{Body, Packet, TcpFlags, TcpHeader};
use crate::transport::acking;
use crate::transport::connection::{Phases, SenderCounters, header_bytes, is_earlier, milliseconds};
use crate::transport::tcp::{self, Connection, TcpReceiver, TcpSender};

/// The bits of a number for a packet that hold its sequence number; the connection's number is above them.
const SEQ_BITS: u32 = 40;

/// The parts of which an end makes each of its connections.
#[derive(Clone, Debug)]
pub struct Maker {
    /// The sender's configuration.
    pub config: tcp::Config,
    /// When the receiver acknowledges.
    pub acking: acking::Config,
    /// The streams of the run, and the beginning of the name of the senders' streams.
    pub streams: (Streams, String),
}

impl Maker {
    /// An end of the connection with this number.
    fn make(&self, number: u32) -> Tcp {
        let (streams, name) = &self.streams;
        let rng = if number == 0 { streams.stream(name) } else { streams.stream(&format!("{name}/{number}")) };
        let sender = TcpSender::new(&self.config, rng);
        let receiver = TcpReceiver::duplex(&self.acking, &self.config.tcp, sender.wants_sack());
        Tcp::new(&self.config.tcp, Some(sender), Some(receiver))
    }
}

/// The memory of a connection in TIME-WAIT.
#[derive(Clone, Copy, Debug)]
struct Rest {
    number: u32,
    /// The numbers of the next byte in each direction.
    seq: u64,
    ack: u64,
    /// The window that was announced last, and the timestamp to echo, if there are timestamps (RFC 7323 §3.2).
    window: u32,
    echo: Option<u32>,
    until: Time,
}

/// One end of TCP connections that follow one another.
#[derive(Debug)]
pub struct Connections {
    maker: Box<Maker>,
    number: u32,
    latest: Tcp,
    /// The earlier connections that are not closed both ways, each with its number.
    earlier: Vec<(u32, Tcp)>,
    resting: Vec<Rest>,
    /// The end of the latest connection's TIME-WAIT.
    until: Time,
    /// Answers to segments of other connections than these.
    answers: VecDeque<TcpHeader>,
    /// The counters and the work of the senders of connections that are over.
    over: Box<(SenderCounters, Phases)>,
}

impl Connections {
    /// An end without a connection. The first one has number 0.
    pub fn new(maker: Maker) -> Self {
        let latest = maker.make(0);
        Self {
            maker: Box::new(maker),
            number: 0,
            latest,
            earlier: Vec::new(),
            resting: Vec::new(),
            until: Time::NEVER,
            answers: VecDeque::new(),
            over: Default::default(),
        }
    }

    /// The latest connection.
    pub const fn latest(&self) -> &Tcp {
        &self.latest
    }

    /// As [`Self::latest`].
    pub const fn latest_mut(&mut self) -> &mut Tcp {
        &mut self.latest
    }

    /// The number of the latest connection.
    pub const fn number(&self) -> u32 {
        self.number
    }

    /// The connection with this number, if it is not over.
    pub fn get(&self, number: u32) -> Option<&Tcp> {
        if number == self.number {
            return Some(&self.latest);
        }
        self.earlier.iter().find(|(it, _)| *it == number).map(|(_, tcp)| tcp)
    }

    /// As [`Self::get`].
    pub fn get_mut(&mut self, number: u32) -> Option<&mut Tcp> {
        if number == self.number {
            return Some(&mut self.latest);
        }
        self.earlier.iter_mut().find(|(it, _)| *it == number).map(|(_, tcp)| tcp)
    }

    /// The counters and the work of the senders of all earlier connections.
    pub fn before(&self, now: Time) -> (SenderCounters, Phases) {
        self.earlier.iter().fold(*self.over, |sum, (_, tcp)| add(sum, tcp, now))
    }

    /// Opens the connection with this number, and closes this end of the one before.
    pub fn open(&mut self, number: u32, now: Time) {
        self.latest.close(now);
        self.begin(number);
    }

    /// Begins the connection with this number.
    fn begin(&mut self, number: u32) {
        let mut next = self.maker.make(number);
        if let (Some(sender), Some(before)) = (&mut next.sender, &self.latest.sender) {
            sender.follow(before);
        }
        let before = std::mem::replace(&mut self.latest, next);
        self.earlier.push((self.number, before));
        self.until = Time::NEVER;
        self.number = number;
    }

    /// A segment of no connection.
    fn refuse(&mut self, header: &TcpHeader) {
        let number = header.connection;
        self.answers.extend(refusal(header).map(|it| TcpHeader { connection: number, ..it }));
    }

    /// A segment of a connection that is over, or that never was.
    fn answer(&mut self, header: &TcpHeader, now: Time) {
        self.resting.retain(|it| it.until > now);
        let Some(place) = self.resting.iter().position(|it| it.number == header.connection) else {
            return self.refuse(header);
        };
        if header.flags.rst {
            self.resting.swap_remove(place);
            return;
        }
        let it = &mut self.resting[place];
        if header.flags.fin {
            it.until = now + self.maker.config.tcp.time_wait();
        }
        if header.end() > header.seq {
            let flags = TcpFlags { ack: true, ..TcpFlags::default() };
            if let (Some((value, _)), Some(recent)) = (header.timestamps, it.echo)
                && !is_earlier(value, recent)
            {
                it.echo = Some(value);
            }
            let Rest { number: connection, seq, ack, window, .. } = *it;
            let timestamps = it.echo.map(|echo| (milliseconds(now), echo));
            self.answers.push_back(TcpHeader {
                seq,
                ack,
                window,
                connection,
                timestamps,
                flags,
                ..TcpHeader::default()
            });
        }
    }

    /// Forgets earlier connections that are over, and of those in TIME-WAIT all but their numbers. They have nothing to
    /// send now.
    fn tidy(&mut self, now: Time) {
        let until = now + self.maker.config.tcp.time_wait();
        let (resting, over) = (&mut self.resting, &mut *self.over);
        self.earlier.retain(|(number, tcp)| {
            let state = tcp.connection();
            // Without FINs, a connection is over when its data has arrived.
            let is_done = tcp.has_closed() && tcp.sender.as_ref().is_some_and(|sender| sender.is_finished());
            let is_over = is_done || matches!(state, Connection::Closed | Connection::TimeWait);
            if is_over {
                *over = add(*over, tcp, now);
            }
            if let (Connection::TimeWait, Some(sender), Some(receiver)) = (state, &tcp.sender, &tcp.receiver) {
                let (window, echo) = receiver.last();
                let (seq, ack) = (sender.next_seq(), receiver.next());
                resting.push(Rest { number: *number, seq, ack, window, echo, until });
            }
            !is_over
        });
    }
}

/// The sum of counters and work, and the counters and the work of a sender.
fn add(sum: (SenderCounters, Phases), tcp: &Tcp, now: Time) -> (SenderCounters, Phases) {
    let Some(sender) = &tcp.sender else { return sum };
    (sum.0.plus(sender.counters()), sum.1.plus(&sender.phases(now)))
}

/// A packet of the connection with this number.
fn numbered(mut emission: Emission, number: u32) -> Emission {
    if let Body::Tcp(header) = &mut emission.body {
        header.connection = number;
    }
    emission.waits = emission.waits.map(|seq| u64::from(number) << SEQ_BITS | seq);
    emission
}

impl Endpoint for Connections {
    fn write(&mut self, bytes: u64, now: Time) {
        self.latest.write(bytes, now);
    }

    fn stop(&mut self, now: Time) {
        self.latest.stop(now);
    }

    fn close(&mut self, now: Time) {
        self.latest.close(now);
    }

    fn on_packet(&mut self, packet: &Packet, is_first: bool, now: Time) -> Received {
        let Body::Tcp(header) = &packet.body else { return Received::default() };
        let number = header.connection;
        let opens = number > self.number && header.flags.syn && !header.flags.ack;
        if opens {
            self.begin(number);
        }
        let is_latest = number == self.number;
        if is_latest && now > self.until {
            self.refuse(header);
            return useless(header);
        }
        let time_wait = self.maker.config.tcp.time_wait();
        let Some(tcp) = self.get_mut(number) else {
            self.answer(header, now);
            return useless(header);
        };
        let rested = tcp.connection() == Connection::TimeWait;
        let received = tcp.on_packet(packet, is_first, now);
        if tcp.connection() == Connection::TimeWait && is_latest && (header.flags.fin || !rested) {
            self.until = now + time_wait;
        }
        let change = if opens { Some(Change::Opened(number)) } else { received.change };
        let received = Received { connection: number, change, ..received };
        // Nobody reads from an earlier connection.
        if is_latest { received } else { Received { delivered: None, stream: None, ..received } }
    }

    fn on_news(&mut self, news: News, now: Time) -> bool {
        let (number, news) = match news {
            News::LeftNode { seq } => ((seq >> SEQ_BITS) as u32, News::LeftNode { seq: seq & ((1 << SEQ_BITS) - 1) }),
            News::Network(_) => (self.number, news),
        };
        self.get_mut(number).is_some_and(|tcp| tcp.on_news(news, now))
    }

    fn on_timer(&mut self, now: Time) -> Option<Change> {
        for (_, tcp) in self.earlier.iter_mut().filter(|(_, tcp)| tcp.deadline() <= now) {
            tcp.on_timer(now);
        }
        if self.latest.deadline() <= now { self.latest.on_timer(now) } else { None }
    }

    fn deadline(&self) -> Time {
        self.earlier.iter().map(|(_, tcp)| tcp.deadline()).fold(self.latest.deadline(), Time::min)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Emission> {
        if let Some(answer) = self.answers.pop_front() {
            let size = header_bytes(&self.maker.config.tcp, &answer);
            return Some(bare(answer, size));
        }
        let earlier = self.earlier.iter_mut();
        if let Some(sent) = { earlier }.find_map(|(it, tcp)| tcp.poll_transmit(now).map(|sent| numbered(sent, *it))) {
            return Some(sent);
        }
        if !self.earlier.is_empty() {
            self.tidy(now);
        }
        self.latest.poll_transmit(now).map(|sent| numbered(sent, self.number))
    }
}
