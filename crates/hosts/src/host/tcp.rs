//! One end of a TCP connection: it sends data, receives data, or both.
//!
//! The two directions are the objects [`TcpSender`] and [`TcpReceiver`]. At an end that has both, each segment of the
//! sender also acknowledges the data that arrived (RFC 9293 §3.8.6). The receiver sends a segment of its own if there
//! is no data to send now, or to report disorder: a duplicate acknowledgement has no data (RFC 5681 §2). The end that
//! did not open the connection answers the SYN by the SYN of its own sender, and repeats this SYN after a timeout. Each
//! direction closes by itself (RFC 9293 §3.6). An end with both directions may give the connection up, and then the
//! other end is reset. An end of Linux sends what a segment asks for before its application learns of the segment, and
//! reports disorder in a segment with data that has room for it. Left out, in a connection with data both ways: blocks
//! of SACK in other segments with data, a simultaneous open.

use hopyard_engine::Time;

use super::endpoint::{Emission, Endpoint, News, Received};
use crate::app::Change;
use crate::packet::{Body, CONGESTION, IP_HEADER, Packet, TCP_HEADER, TcpFlags, TcpHeader};
use crate::transport::keep_alive::KeepAlive;
use crate::transport::tcp::{self, Connection, Ecn, TcpReceiver, TcpSender};

/// The bytes of the option with as many blocks of SACK as there is room for beside timestamps.
const SACK_ROOM: u32 = 28;

/// One end of a TCP connection.
#[derive(Debug)]
pub struct Tcp {
    /// The data of this end, if it sends any.
    pub sender: Option<Box<TcpSender>>,
    /// The data of the other end, if it sends any.
    pub receiver: Option<Box<TcpReceiver>>,
    /// A segment of the sender that waits for an acknowledgement apart, because it has no room for its blocks of SACK.
    made: Option<TcpHeader>,
    /// The other end's SYN has arrived.
    has_syn: bool,
    /// The application knows that the other end has closed.
    has_ended: bool,
    /// This end has closed its direction.
    has_closed: bool,
    /// There is no connection any more: this end has given it up, or the other end has reset it.
    is_gone: bool,
    /// A reset that is to be sent.
    reset: Option<TcpHeader>,
    /// Marks of queues.
    ecn: Ecn,
    /// Its questions whether the other end is there, if it may ask.
    keep_alive: Option<Box<KeepAlive>>,
}

impl Tcp {
    /// An end without a connection.
    pub fn new(params: &tcp::Params, sender: Option<TcpSender>, receiver: Option<TcpReceiver>) -> Self {
        let (sender, receiver) = (sender.map(Box::new), receiver.map(Box::new));
        let answers_marks = sender.as_ref().is_none_or(|sender| sender.answers_marks());
        let ecn = if answers_marks { Ecn::new(params) } else { Ecn::default() };
        Self {
            sender,
            receiver,
            made: None,
            has_syn: false,
            has_ended: false,
            has_closed: false,
            is_gone: false,
            reset: None,
            ecn,
            keep_alive: KeepAlive::new(&params.keep_alive).map(Box::new),
        }
    }

    /// Whether the end may ask now if the other one is there: nothing that it wrote is outstanding. None if it has no
    /// reason any more.
    fn may_ask(&self) -> Option<bool> {
        match self.connection() {
            Connection::Established | Connection::CloseWait | Connection::FinWait2 => {
                Some(self.sender.as_ref().is_some_and(|sender| sender.is_idle()))
            }
            Connection::Listen | Connection::SynSent | Connection::SynReceived | Connection::FinWait1 => Some(false),
            Connection::Closed | Connection::LastAck | Connection::Closing | Connection::TimeWait => None,
        }
    }

    /// The question whether the other end is there, if it is due.
    fn question(&mut self, now: Time) -> Option<TcpHeader> {
        let is_due = self.keep_alive.as_mut().is_some_and(|it| it.take_due());
        let mut header = self.sender.as_mut().filter(|_| is_due)?.keep_alive(now);
        if let Some(receiver) = &mut self.receiver {
            receiver.report(&mut header, now);
        }
        Some(header)
    }

    /// Whether this end has closed its direction.
    pub const fn has_closed(&self) -> bool {
        self.has_closed
    }

    /// The state of a connection with data both ways.
    pub fn connection(&self) -> Connection {
        let sender = self.sender.as_ref().filter(|_| !self.is_gone);
        sender.map_or(Connection::Closed, |sender| sender.connection())
    }

    /// Gives the connection up. The other end is told, if it knows the connection and has data to send or to expect
    /// (RFC 9293 §3.10.5).
    pub fn abort(&mut self) {
        let state = self.connection();
        let is_known = !matches!(
            state,
            Connection::Closed | Connection::SynSent | Connection::Closing | Connection::LastAck | Connection::TimeWait
        );
        if let (Some(sender), Some(receiver), true) = (&self.sender, &self.receiver, is_known) {
            // Linux's reset acknowledges too.
            let ack = if sender.linux().is_some() { receiver.next() } else { 0 };
            let flags = TcpFlags { rst: true, ack: sender.linux().is_some(), ..TcpFlags::default() };
            self.reset = Some(TcpHeader { seq: sender.next_seq(), ack, flags, ..TcpHeader::default() });
        }
        self.is_gone = true;
    }

    /// A reset arrived. Returns whether it counts. With a number other than the next, it is a guess, or data before it
    /// is lost: it is answered, so that the other end sends a reset with this number (RFC 5961 §3.2).
    fn on_reset(&mut self, header: &TcpHeader) -> bool {
        let (Some(sender), Some(receiver)) = (&self.sender, &mut self.receiver) else { return false };
        self.is_gone = match sender.connection() {
            Connection::SynSent => header.flags.ack && header.ack == sender.next_seq(),
            _ => header.seq == receiver.next(),
        };
        if !self.is_gone && header.seq > receiver.next() {
            receiver.answer();
        }
        self.is_gone
    }

    /// Whether the end sends what a segment asks for before the application learns of the segment, as a kernel does.
    pub fn answers_first(&self) -> bool {
        self.receiver.is_some() && self.sender.as_ref().is_some_and(|sender| sender.linux().is_some())
    }

    /// Takes in the flags of a segment that arrived. Returns its header with those that count, if some do not.
    fn note_marks(&mut self, header: &TcpHeader, bits: u8) -> Option<TcpHeader> {
        let noted = self.ecn.on_arrival(header, bits);
        if let Some(receiver) = &mut self.receiver {
            receiver.note_marks(noted);
        }
        let flags = TcpFlags { ece: self.ecn.reports(header), ..header.flags };
        if flags == header.flags { None } else { Some(TcpHeader { flags, ..*header }) }
    }

    /// The receiver takes in a segment.
    fn receive(&mut self, header: &TcpHeader, now: Time) -> Received {
        let Some(receiver) = &mut self.receiver else { return Received::default() };
        let before = *receiver.counters();
        receiver.on_segment(header, now);
        let after = *receiver.counters();
        // A SYN without payload counts as new once. The acknowledgement that completes the opening has no payload, and
        // is not counted.
        let unique = is_data(header).then(|| {
            let first_syn = header.flags.syn && !std::mem::replace(&mut self.has_syn, true);
            after.unique_bytes > before.unique_bytes || first_syn
        });
        let has_ended = self.sender.is_some() && receiver.has_ended() && !std::mem::replace(&mut self.has_ended, true);
        if let Some(sender) = self.sender.as_mut().filter(|_| has_ended) {
            sender.on_peer_closed();
        }
        if self.sender.as_ref().is_some_and(|it| it.linux().is_some() && it.connection() == Connection::TimeWait) {
            // Of a connection in TIME-WAIT, Linux keeps no blocks.
            receiver.forget_duplicate();
        }
        Received {
            unique,
            delivered: Some(after.delivered_bytes - before.delivered_bytes),
            stream: Some(after.delivered_bytes),
            connection: 0,
            change: has_ended.then_some(Change::Ended),
        }
    }

    /// A segment arrived at an end that sends and receives.
    fn exchange(&mut self, header: &TcpHeader, now: Time) -> Received {
        let Self { sender: Some(sender), receiver: Some(receiver), .. } = self else { return Received::default() };
        if header.flags.syn && !header.flags.ack {
            sender.accept(now);
        } else if header.ack > sender.next_seq() {
            // RFC 9293 §3.10.7.4, fifth: a segment that acknowledges what was never sent is answered and dropped.
            sender.on_segment(header, now);
            receiver.answer();
            return Received::default();
        } else {
            // The FIN is the receiver's matter.
            let flags = TcpFlags { fin: false, ..header.flags };
            sender.on_segment(&TcpHeader { flags, ..*header }, now);
        }
        if let Some(sender) = sender.linux() {
            receiver.look_beside(sender.beside());
        }
        self.receive(header, now)
    }

    /// The next segment of an end that sends and receives.
    fn next_of_both(&mut self, now: Time) -> Option<TcpHeader> {
        let Self { sender: Some(sender), receiver: Some(receiver), .. } = self else { return None };
        if self.made.is_none() && (sender.linux().is_some() || !receiver.must_report_apart()) {
            self.made = sender.poll_transmit(now);
        }
        let has_room = |header: &TcpHeader| sender.linux().is_some() && header.len + SACK_ROOM <= sender.segment();
        if let Some(mut header) = self.made.take_if(|made| !receiver.must_report_apart() || has_room(made)) {
            if receiver.is_open() {
                receiver.report(&mut header, now);
            } else {
                receiver.announce_first(&mut header);
            }
            return Some(header);
        }
        let header = receiver.poll_transmit(now)?;
        Some(TcpHeader { seq: self.made.map_or_else(|| sender.next_seq(), |made| made.seq), ..header })
    }
}

/// The answer to a segment for which there is no connection (RFC 9293 §3.10.7.1).
pub(super) fn refusal(header: &TcpHeader) -> Option<TcpHeader> {
    let (seq, ack) = if header.flags.ack { (header.ack, 0) } else { (0, header.end()) };
    let flags = TcpFlags { rst: true, ack: !header.flags.ack, ..TcpFlags::default() };
    (!header.flags.rst).then(|| TcpHeader { seq, ack, flags, ..TcpHeader::default() })
}

/// The contents of a segment for which there is no connection: its data is of no use.
pub(super) fn useless(header: &TcpHeader) -> Received {
    Received { unique: is_data(header).then_some(false), ..Received::default() }
}

/// A segment without data, of so many bytes with its options.
pub(super) fn bare(header: TcpHeader, size: u32) -> Emission {
    Emission { size, body: Body::Tcp(header), ecn: 0, data: None, waits: None }
}

/// Whether a segment counts as a data packet: it has payload, or it opens the connection.
fn is_data(header: &TcpHeader) -> bool {
    header.len > 0 || header.flags.syn && !header.flags.ack
}

impl Endpoint for Tcp {
    fn write(&mut self, bytes: u64, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.write(bytes, now);
        }
    }

    fn stop(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender {
            sender.stop(now);
        }
    }

    fn close(&mut self, now: Time) {
        if let Some(sender) = &mut self.sender
            && !std::mem::replace(&mut self.has_closed, true)
        {
            sender.close(now);
        }
    }

    fn on_packet(&mut self, packet: &Packet, _is_first: bool, now: Time) -> Received {
        let Body::Tcp(header) = &packet.body else { return Received::default() };
        if self.is_gone {
            self.reset = refusal(header);
            return useless(header);
        }
        if let Some(keep_alive) = &mut self.keep_alive {
            keep_alive.on_segment(now);
        }
        if header.flags.rst {
            let change = self.on_reset(header).then_some(Change::Reset);
            return Received { change, ..Received::default() };
        }
        let noted = self.note_marks(header, packet.class & CONGESTION);
        let header = noted.as_ref().unwrap_or(header);
        let Some(sender) = &mut self.sender else { return self.receive(header, now) };
        sender.set_ack_hops(packet.hops);
        if self.receiver.is_some() {
            return self.exchange(header, now);
        }
        sender.on_segment(header, now);
        Received::default()
    }

    fn on_news(&mut self, news: News, now: Time) -> bool {
        match (&mut self.sender, news) {
            (None, _) => false,
            (Some(sender), News::LeftNode { seq }) => sender.on_left_node(seq, now),
            (Some(sender), News::Network(event)) => {
                sender.on_network(event, now);
                true
            }
        }
    }

    fn on_timer(&mut self, now: Time) -> Option<Change> {
        if self.is_gone {
            return None;
        }
        let may_ask = self.keep_alive.as_ref().and_then(|_| self.may_ask());
        if self.keep_alive.as_mut().is_some_and(|it| it.on_timer(may_ask, now)) {
            self.abort();
            return Some(Change::Reset);
        }
        if let Some(sender) = self.sender.as_mut().filter(|sender| sender.deadline() <= now) {
            sender.on_timer(now);
        }
        if let Some(receiver) = self.receiver.as_mut().filter(|receiver| receiver.deadline() <= now) {
            receiver.on_timer(now);
        }
        None
    }

    #[inline]
    fn deadline(&self) -> Time {
        if self.is_gone {
            return Time::NEVER;
        }
        let keep_alive = self.keep_alive.as_ref().map_or(Time::NEVER, |it| it.deadline());
        let sender = self.sender.as_ref().map_or(Time::NEVER, |sender| sender.deadline()).min(keep_alive);
        self.receiver.as_ref().map_or(Time::NEVER, |receiver| receiver.deadline()).min(sender)
    }

    fn poll_transmit(&mut self, now: Time) -> Option<Emission> {
        if self.is_gone {
            return self.reset.take().map(|reset| bare(reset, IP_HEADER + TCP_HEADER));
        }
        let mut header = match (&mut self.sender, &mut self.receiver) {
            (Some(_), Some(_)) => self.next_of_both(now),
            (Some(sender), None) => sender.poll_transmit(now),
            (None, Some(receiver)) => receiver.poll_transmit(now),
            (None, None) => None,
        };
        if header.is_none() {
            header = self.question(now);
        }
        // Headers are long: they are changed where they are, and copied once.
        let header = header.as_mut()?;
        let reductions = self.sender.as_ref().map_or(0, |sender| sender.counters().reductions());
        let ecn = self.ecn.stamp(header, reductions);
        let Some(sender) = &mut self.sender else {
            let size = self.receiver.as_ref().map_or(0, |receiver| receiver.header_bytes(header));
            return Some(Emission { size, body: Body::Tcp(*header), ecn, data: None, waits: None });
        };
        let new = if header.retransmission { 0 } else { header.len };
        let waits = ((header.len > 0 || header.flags.syn) && sender.limits_queue()).then_some(header.seq);
        if waits.is_some() {
            sender.on_queued(header.seq, header.len.into());
        }
        let size = sender.header_bytes(header) + header.len;
        let data = is_data(header).then_some(new);
        Some(Emission { size, body: Body::Tcp(*header), ecn, data, waits })
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::*;
    use crate::params::{LINUX, Params as _, RFC};
    use crate::transport::tcp::{Close, Connection, Habits};
    use crate::transport::{acking, congestion};

    fn end(params: &tcp::Params) -> Tcp {
        let linux = params.habits == Habits::Linux;
        let congestion = congestion::Config::of_profile("newreno", if linux { LINUX } else { RFC });
        let acking = acking::Config::of_profile(if linux { "quick" } else { "every" }, RFC);
        let config = tcp::Config { tcp: params.clone(), congestion: congestion.expect("a variant") };
        let sender = TcpSender::new(&config, Streams::new(1, 0).stream("tcp"));
        let receiver = TcpReceiver::duplex(&acking.expect("a way of acknowledging"), params, linux);
        Tcp::new(params, Some(sender), Some(receiver))
    }

    /// Opens a connection of Linux, and lets its first end ask with 100 bytes, which the second has got.
    fn asked() -> [Tcp; 2] {
        let params = tcp::Params::of_profile(LINUX);
        let mut ends = [end(&params), end(&params)];
        ends[0].write(100, Time::ZERO);
        talk(&mut ends, Time::ZERO);
        ends
    }

    /// The payloads and acknowledgements that an end sends.
    fn sent(end: &mut Tcp, now: Time) -> Vec<TcpHeader> {
        std::iter::from_fn(|| end.next_of_both(now)).collect()
    }

    #[test]
    fn an_end_of_linux_reports_disorder_in_a_segment_that_has_room() {
        for (bytes, lengths) in [(300, vec![300]), (1448, vec![0, 1448])] {
            let mut ends = asked();
            assert!(ends[0].answers_first() && !end(&tcp::Params::of_profile(RFC)).answers_first());
            let gap = TcpHeader {
                seq: 301,
                ack: 1,
                len: 100,
                window: 60_000,
                flags: TcpFlags { ack: true, ..TcpFlags::default() },
                ..TcpHeader::default()
            };
            ends[1].exchange(&gap, Time::ZERO);
            ends[1].write(bytes, Time::ZERO);
            let found = sent(&mut ends[1], Time::ZERO);
            assert_eq!(found.iter().map(|it| it.len).collect::<Vec<_>>(), lengths);
            assert_eq!(found[0].sack.iter().collect::<Vec<_>>(), [(301, 401)]);
            assert!(found.iter().all(|it| it.seq == 1 && it.ack == 101));
        }
    }

    #[test]
    fn the_syn_of_linux_announces_whole_segments_with_their_options() {
        let params = tcp::Params::of_profile(LINUX);
        let mut ends = [end(&params), end(&params)];
        ends[0].write(100, Time::ZERO);
        let syn = ends[0].next_of_both(Time::ZERO).expect("a SYN");
        ends[1].exchange(&syn, Time::ZERO);
        let answer = ends[1].next_of_both(Time::ZERO).expect("its answer");
        assert_eq!((syn.window, answer.window), (44 * 1460, 45 * 1448));
    }

    /// Carries segments between two ends until neither sends.
    fn talk(ends: &mut [Tcp; 2], now: Time) {
        let mut quiet = 0;
        for number in (0..2).cycle() {
            let sent = ends[number].next_of_both(now);
            quiet = if sent.is_some() { 0 } else { quiet + 1 };
            if let Some(header) = sent {
                ends[1 - number].exchange(&header, now);
            }
            if quiet == 2 {
                return;
            }
        }
    }

    #[test]
    fn each_end_knows_the_state_of_a_connection_that_closes_both_ways() {
        let params = tcp::Params { close: Close::Fin, ..tcp::Params::of_profile(RFC) };
        let mut ends = [end(&params), end(&params)];
        let states = |ends: &[Tcp; 2]| ends.each_ref().map(|it| it.sender.as_ref().expect("both send").connection());
        let now = Time::ZERO;
        ends[0].write(100, now);
        talk(&mut ends, now);
        assert_eq!(states(&ends), [Connection::Established; 2]);
        ends[0].close(now);
        talk(&mut ends, now);
        assert_eq!(states(&ends), [Connection::FinWait2, Connection::CloseWait]);
        ends[1].close(now);
        let last = ends[1].next_of_both(now).expect("a FIN");
        assert_eq!(states(&ends)[1], Connection::LastAck);
        ends[0].exchange(&last, now);
        talk(&mut ends, now);
        assert_eq!(states(&ends), [Connection::TimeWait, Connection::Closed]);
        assert!(ends.iter().all(|it| it.sender.as_ref().is_some_and(|sender| sender.is_finished())));
    }
}
