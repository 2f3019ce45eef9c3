//! The states of connections (RFC 9293 §3.3.2, figure 5), and connections that follow one another.

use hopyard_engine::{Span, Streams, Time};

use super::{Connections, Maker};
use crate::address::NodeId;
use crate::app::Change;
use crate::host::{AnyEndpoint, Endpoint as _, News, Received};
use crate::packet::{Body, FlowId, Packet, TcpFlags, TcpHeader};
use crate::params::{LINUX, Params as _, RFC};
use crate::transport::recovery_choice::RecoveryChoice;
use crate::transport::tcp::Connection::{
    self, CloseWait, Closed, Closing, Established, FinWait1, FinWait2, LastAck, SynReceived, SynSent, TimeWait,
};
use crate::transport::{acking, congestion, keep_alive, tcp};

/// Two ends, and the segments that each has sent and the other has not received.
struct Pair {
    ends: [AnyEndpoint; 2],
    sent: [Vec<TcpHeader>; 2],
    now: Time,
}

const CLIENT: usize = 0;
const SERVER: usize = 1;

impl Pair {
    fn new(profile: &str) -> Self {
        Self::of(profile, tcp::Params::of_profile(profile))
    }

    fn of(profile: &str, tcp: tcp::Params) -> Self {
        let congestion = congestion::Config::of_profile("newreno", profile).expect("a variant");
        let config = tcp::Config { tcp, congestion };
        let acking = acking::Config::of_profile("every", profile).expect("a way of acknowledging");
        let end = |name: &str| {
            let streams = (Streams::new(1, 0), name.to_owned());
            Connections::new(Maker { config: config.clone(), acking: acking.clone(), streams }).into()
        };
        Self { ends: [end("client"), end("server")], sent: Default::default(), now: Time::ZERO }
    }

    /// Two ends whose connection is open, and has carried data.
    fn open(profile: &str) -> Self {
        Self::new(profile).opened()
    }

    fn opened(self) -> Self {
        let mut pair = self;
        pair.ends[CLIENT].write(100, pair.now);
        pair.talk();
        assert_eq!(pair.states(), [Established; 2]);
        pair
    }

    fn states(&self) -> [Connection; 2] {
        self.ends.each_ref().map(|it| it.tcp().expect("TCP").connection())
    }

    fn connections(&mut self, end: usize) -> &mut Connections {
        let AnyEndpoint::Connections(it) = &mut self.ends[end] else { panic!("it has several") };
        it
    }

    /// Each end sends what it can now.
    fn send(&mut self) -> [usize; 2] {
        for (end, sent) in self.ends.iter_mut().zip(&mut self.sent) {
            while let Some(emission) = end.poll_transmit(self.now) {
                if let Some(seq) = emission.waits {
                    end.on_news(News::LeftNode { seq }, self.now);
                }
                let Body::Tcp(header) = emission.body else { panic!("a segment") };
                sent.push(header);
            }
        }
        self.sent.each_ref().map(Vec::len)
    }

    /// What one end has sent arrives, some time later.
    fn arrive(&mut self, from: usize) -> Vec<Received> {
        self.now += Span::from_millis(10);
        std::mem::take(&mut self.sent[from]).into_iter().map(|header| self.give(1 - from, header)).collect()
    }

    /// An end receives a segment.
    fn give(&mut self, end: usize, header: TcpHeader) -> Received {
        let packet = Packet {
            created: self.now,
            source: NodeId(1 - end as u32).into(),
            destination: NodeId(end as u32).into(),
            flow: FlowId(0),
            size: header.length(),
            ttl: 64,
            hops: 1,
            salvaged: 0,
            class: 0,
            body: Body::Tcp(header),
        };
        self.ends[end].on_packet(&packet, true, self.now)
    }

    /// Segments pass both ways until neither end sends. Returns the changes that each end has seen.
    fn talk(&mut self) -> [Vec<Change>; 2] {
        let mut changes = [Vec::new(), Vec::new()];
        while self.send() != [0; 2] {
            for (from, seen) in [(CLIENT, SERVER), (SERVER, CLIENT)] {
                changes[seen].extend(self.arrive(from).into_iter().filter_map(|it| it.change));
            }
        }
        changes
    }

    fn close(&mut self, end: usize) {
        self.ends[end].close(self.now);
    }

    /// The deadline of an end is reached.
    fn wait(&mut self, end: usize) -> Option<Change> {
        self.now = self.ends[end].deadline();
        assert_ne!(self.now, Time::NEVER, "it waits for something");
        self.ends[end].on_timer(self.now)
    }

    fn abort(&mut self, end: usize) {
        self.ends[end].tcp_mut().expect("TCP").abort();
    }
}

const PROFILES: [&str; 2] = [RFC, LINUX];

#[test]
fn a_connection_opens() {
    for profile in PROFILES {
        let mut pair = Pair::new(profile);
        pair.ends[CLIENT].write(100, pair.now);
        assert_eq!(pair.send(), [1, 0]);
        assert_eq!(pair.states(), [SynSent, Closed]);
        pair.arrive(CLIENT);
        assert_eq!(pair.send(), [0, 1]);
        assert_eq!(pair.states(), [SynSent, SynReceived]);
        pair.arrive(SERVER);
        pair.send();
        assert_eq!(pair.states(), [Established, SynReceived]);
        pair.arrive(CLIENT);
        assert_eq!(pair.states(), [Established; 2]);
    }
}

#[test]
fn one_end_closes_after_the_other() {
    for (profile, first) in [(RFC, CLIENT), (RFC, SERVER), (LINUX, CLIENT), (LINUX, SERVER)] {
        let mut pair = Pair::open(profile);
        let second = 1 - first;
        let states = |pair: &Pair| [pair.states()[first], pair.states()[second]];
        pair.close(first);
        pair.send();
        assert_eq!(states(&pair), [FinWait1, Established]);
        assert_eq!(pair.arrive(first)[0].change, Some(Change::Ended));
        pair.send();
        assert_eq!(states(&pair), [FinWait1, CloseWait]);
        pair.arrive(second);
        assert_eq!(states(&pair), [FinWait2, CloseWait]);
        // The other half still carries data.
        pair.ends[second].write(5000, pair.now);
        assert_eq!(pair.talk(), [vec![], vec![]]);
        assert_eq!(states(&pair), [FinWait2, CloseWait]);
        pair.close(second);
        pair.send();
        assert_eq!(states(&pair), [FinWait2, LastAck]);
        assert_eq!(pair.arrive(second)[0].change, Some(Change::Ended));
        pair.send();
        assert_eq!(states(&pair), [TimeWait, LastAck]);
        pair.arrive(first);
        assert_eq!(states(&pair), [TimeWait, Closed]);
        assert_eq!(pair.ends.each_ref().map(|it| it.deadline()), [Time::NEVER; 2]);
    }
}

#[test]
fn both_ends_close_at_once() {
    for profile in PROFILES {
        let mut pair = Pair::open(profile);
        pair.close(CLIENT);
        pair.close(SERVER);
        assert_eq!(pair.send(), [1, 1]);
        assert_eq!(pair.states(), [FinWait1; 2]);
        // Each FIN was sent before the other one came.
        let fins = std::mem::take(&mut pair.sent);
        for (from, fin) in fins.iter().enumerate() {
            assert!(fin[0].flags.fin && fin.len() == 1);
            pair.give(1 - from, fin[0]);
        }
        assert_eq!(pair.states(), [Closing; 2]);
        pair.talk();
        assert_eq!(pair.states(), [TimeWait; 2]);
    }
}

#[test]
fn a_fin_that_acknowledges_a_fin_skips_a_state() {
    let mut pair = Pair::open(RFC);
    pair.close(CLIENT);
    pair.send();
    pair.arrive(CLIENT);
    pair.close(SERVER);
    assert_eq!(pair.send(), [0, 1]);
    assert_eq!(pair.states(), [FinWait1, LastAck]);
    pair.arrive(SERVER);
    assert_eq!(pair.states(), [TimeWait, LastAck]);
}

#[test]
fn an_end_that_gives_up_resets_the_other_one() {
    for profile in PROFILES {
        let mut pair = Pair::open(profile);
        pair.ends[SERVER].write(50_000, pair.now);
        pair.send();
        pair.abort(CLIENT);
        assert_eq!(pair.states(), [Closed, Established]);
        pair.send();
        let reset = pair.sent[CLIENT][0];
        assert_eq!((reset.seq, reset.flags.rst, reset.flags.ack, reset.len), (101, true, profile == LINUX, 0));
        let [client, server] = pair.talk();
        assert_eq!((client, server), (vec![], vec![Change::Reset]));
        assert_eq!(pair.states(), [Closed; 2]);
        assert_eq!(pair.ends.each_ref().map(|it| it.deadline()), [Time::NEVER; 2], "nothing is sent again");
    }
}

/// The reset is lost: data that comes to the end which knows no connection is answered by another one.
#[test]
fn data_for_no_connection_is_answered_by_a_reset() {
    for profile in PROFILES {
        let mut pair = Pair::open(profile);
        pair.abort(CLIENT);
        assert_eq!(pair.send(), [1, 0]);
        pair.sent[CLIENT].clear();
        pair.ends[SERVER].write(100, pair.now);
        pair.send();
        let data = pair.sent[SERVER][0];
        pair.arrive(SERVER);
        assert_eq!(pair.send(), [1, 0]);
        let reset = pair.sent[CLIENT][0];
        assert_eq!((reset.seq, reset.flags), (data.ack, TcpFlags { rst: true, ..TcpFlags::default() }));
        assert_eq!(pair.talk()[SERVER], [Change::Reset]);
        // A segment without ACK is answered by its end (RFC 9293 §3.10.7.1), and a reset is not answered.
        pair.give(CLIENT, TcpHeader { flags: TcpFlags { syn: true, ..TcpFlags::default() }, ..TcpHeader::default() });
        pair.give(SERVER, reset);
        assert_eq!(pair.send(), [1, 0]);
        let reset = pair.sent[CLIENT][0];
        assert_eq!((reset.seq, reset.ack, reset.flags.ack), (0, 1, true));
    }
}

/// RFC 5961 §3.2.
#[test]
fn a_reset_with_another_number_is_challenged() {
    let mut pair = Pair::open(RFC);
    let reset = |seq| TcpHeader { seq, flags: TcpFlags { rst: true, ..TcpFlags::default() }, ..TcpHeader::default() };
    assert_eq!(pair.give(SERVER, reset(50)).change, None, "an old one");
    assert_eq!(pair.send(), [0, 0]);
    assert_eq!(pair.give(SERVER, reset(500)).change, None, "data before it is missing");
    assert_eq!(pair.send(), [0, 1]);
    let challenge = pair.sent[SERVER][0];
    assert_eq!((challenge.ack, challenge.len, pair.states()), (101, 0, [Established; 2]));
    // The end that sent it knows no connection, and its next reset has the number that the other one expects.
    pair.abort(CLIENT);
    pair.send();
    pair.sent[CLIENT].clear();
    assert_eq!(pair.talk()[SERVER], [Change::Reset]);
}

#[test]
fn a_connection_that_nobody_answers_is_given_up_in_silence() {
    let mut pair = Pair::new(RFC);
    pair.ends[CLIENT].write(100, pair.now);
    assert_eq!(pair.send(), [1, 0]);
    pair.abort(CLIENT);
    assert_eq!(pair.send(), [1, 0], "the SYN, and no reset");
    // The answer to the SYN comes to an end without a connection.
    assert_eq!(pair.talk()[SERVER], [Change::Reset]);
    assert_eq!(pair.states(), [Closed; 2]);
}

#[test]
fn connections_follow_one_another() {
    for profile in PROFILES {
        let mut pair = Pair::open(profile);
        for number in [1, 2, 5] {
            let now = pair.now;
            pair.connections(CLIENT).open(number, now);
            pair.ends[CLIENT].write(1000, now);
            let before = pair.ends[SERVER].number();
            // The FIN of the connection before comes first. The server has not closed its half, and nobody else does.
            let [_, server] = pair.talk();
            assert_eq!(server, [Change::Ended, Change::Opened(number)], "{profile}");
            let tcp = pair.connections(SERVER).get_mut(before).expect("it goes on");
            assert_eq!(tcp.connection(), CloseWait, "{profile}");
            tcp.close(now);
            pair.talk();
            assert_eq!(pair.states(), [Established; 2]);
            assert_eq!(pair.ends.each_ref().map(|it| it.number()), [number; 2]);
        }
        let now = pair.now;
        let (before, _) = pair.ends[CLIENT].before(now);
        assert_eq!((before.segments, before.bytes), (3, 2100), "{profile}");
        let rests = |pair: &mut Pair, end| {
            let it = pair.connections(end);
            (it.earlier.len(), it.resting.len())
        };
        // The end that closed first remembers.
        assert_eq!((rests(&mut pair, CLIENT), rests(&mut pair, SERVER)), ((0, 3), (0, 0)), "{profile}");
    }
}

#[test]
fn the_end_that_closed_first_answers_copies_of_the_fin_for_some_time() {
    for (profile, seconds) in [(RFC, 240), (LINUX, 60)] {
        let mut pair = Pair::open(profile);
        let now = pair.now;
        pair.connections(CLIENT).open(1, now);
        pair.ends[CLIENT].write(1000, now);
        // Until the server has closed the earlier connection, whose last acknowledgement is lost.
        let mut fin = None;
        while fin.is_none() {
            if let Some(tcp) = pair.connections(SERVER).get_mut(0).filter(|it| it.connection() == CloseWait) {
                tcp.close(now);
            }
            assert_ne!(pair.send(), [0; 2], "{profile}");
            fin = pair.sent[SERVER].iter().find(|it| it.connection == 0 && it.flags.fin).copied();
            pair.arrive(SERVER);
            pair.send();
            if fin.is_some() {
                pair.sent[CLIENT].retain(|it| it.connection != 0);
            }
            pair.arrive(CLIENT);
        }
        pair.talk();
        let lasts = |pair: &mut Pair| pair.connections(SERVER).earlier.iter().map(|(_, it)| it.connection()).collect();
        let states: Vec<_> = lasts(&mut pair);
        assert_eq!(states, [LastAck], "{profile}");
        pair.wait(SERVER);
        assert_eq!(pair.send(), [0, 1], "{profile}: the FIN again");
        let again = pair.sent[SERVER][0];
        assert_eq!((again.seq, again.flags.fin), (fin.expect("a FIN").seq, true));
        pair.arrive(SERVER);
        assert_eq!(pair.send(), [1, 0]);
        let answer = pair.sent[CLIENT][0];
        assert_eq!(
            (answer.ack, answer.flags, answer.connection),
            (again.end(), TcpFlags { ack: true, ..TcpFlags::default() }, 0)
        );
        // RFC 7323 §3.2: timestamps are in all segments. The window is the last one, not that of a new connection.
        assert_eq!(answer.timestamps.map(|it| it.1), again.timestamps.map(|it| it.0), "{profile}");
        assert!(answer.timestamps.is_some(), "{profile}");
        assert_eq!(answer.window, if profile == LINUX { 64_256 } else { 65_160 }, "{profile}");
        pair.talk();
        let states: Vec<_> = lasts(&mut pair);
        assert_eq!(states, [], "{profile}");
        // The copy has begun the time anew.
        for (wait, is_known) in [(seconds - 1, true), (seconds + 1, false)] {
            pair.now += Span::from_secs(wait);
            pair.give(CLIENT, again);
            assert_eq!(pair.send(), [1, 0]);
            let answer = pair.sent[CLIENT].remove(0);
            assert_eq!(answer.flags.rst, !is_known, "{profile}: after {wait} s");
        }
    }
}

#[test]
fn the_last_connection_is_forgotten_after_some_time_too() {
    for (profile, seconds) in [(RFC, 240), (LINUX, 60)] {
        let mut pair = Pair::open(profile);
        pair.close(CLIENT);
        pair.talk();
        pair.close(SERVER);
        pair.send();
        let fin = pair.sent[SERVER][0];
        pair.talk();
        for (wait, is_known) in [(seconds - 1, true), (seconds - 1, true), (seconds + 1, false)] {
            pair.now += Span::from_secs(wait);
            pair.give(CLIENT, fin);
            assert_eq!(pair.send(), [1, 0], "{profile}");
            assert_eq!(pair.sent[CLIENT].remove(0).flags.rst, !is_known, "{profile}");
        }
    }
}

/// A kernel forgets the blocks of a connection in TIME-WAIT.
#[test]
fn a_copy_of_the_fin_is_reported_by_sack_but_in_linux() {
    for (profile, has_block) in [(RFC, true), (LINUX, false)] {
        let tcp = tcp::Params { recovery: RecoveryChoice::Sack, ..tcp::Params::of_profile(profile) };
        let mut pair = Pair::of(profile, tcp).opened();
        pair.close(CLIENT);
        pair.talk();
        pair.close(SERVER);
        pair.send();
        let fin = pair.sent[SERVER][0];
        pair.arrive(SERVER);
        assert_eq!(pair.send(), [1, 0], "{profile}");
        assert!(pair.sent[CLIENT][0].sack.is_empty(), "{profile}");
        pair.sent[CLIENT].clear();
        pair.give(CLIENT, fin);
        assert_eq!(pair.send(), [1, 0], "{profile}");
        assert_eq!(!pair.sent[CLIENT][0].sack.is_empty(), has_block, "{profile}");
    }
}

#[test]
fn the_application_reads_from_the_latest_connection() {
    let mut pair = Pair::open(RFC);
    pair.ends[SERVER].write(3000, pair.now);
    pair.send();
    let now = pair.now;
    pair.connections(CLIENT).open(1, now);
    let received = pair.arrive(SERVER);
    assert!(!received.is_empty() && received.iter().all(|it| it.unique == Some(true) && it.delivered.is_none()));
    pair.ends[SERVER].write(3000, now);
    pair.talk();
    pair.ends[CLIENT].write(10, now);
    pair.talk();
    assert_eq!(pair.states(), [Established; 2]);
    pair.ends[SERVER].write(700, pair.now);
    pair.send();
    let received = pair.arrive(SERVER);
    assert_eq!((received[0].delivered, received[0].stream, received[0].connection), (Some(700), Some(700), 1));
}

/// Two ends whose connection is open; each asks after a minute whether the other one is there.
fn careful(profile: &str) -> Pair {
    let keep_alive = keep_alive::Params { idle: Span::from_secs(60), interval: Span::from_secs(10), probes: 3 };
    Pair::of(profile, tcp::Params { keep_alive, ..tcp::Params::of_profile(profile) }).opened()
}

#[test]
fn an_end_without_traffic_asks_whether_the_other_one_is_there() {
    for profile in PROFILES {
        let mut pair = careful(profile);
        // The last that the client has heard is the acknowledgement of its data.
        let heard = pair.now;
        for round in 1..=3 {
            assert_eq!(pair.wait(CLIENT), None);
            assert!(pair.now <= heard + Span::from_secs(60) * round + Span::from_secs(1), "{profile}: {}", pair.now);
            assert_eq!(pair.send(), [1, 0]);
            let question = pair.sent[CLIENT][0];
            assert_eq!((question.seq, question.len, question.ack), (100, 0, 1), "{profile}");
            assert_eq!(question.flags, TcpFlags { ack: true, ..TcpFlags::default() });
            pair.arrive(CLIENT);
            assert_eq!(pair.send(), [0, 1], "{profile}");
            assert_eq!((pair.sent[SERVER][0].ack, pair.sent[SERVER][0].len), (101, 0));
            pair.arrive(SERVER);
            assert_eq!(pair.send(), [0, 0], "{profile}: the answer is not answered");
            assert_eq!(pair.ends[CLIENT].deadline(), pair.now + Span::from_secs(60), "{profile}");
        }
        let counters = *pair.ends[CLIENT].tcp().and_then(|tcp| tcp.sender.as_ref()).expect("a sender").counters();
        assert_eq!((counters.keep_alives, counters.duplicate_acks, counters.reductions()), (3, 0, 0), "{profile}");
        // Half closed, the end that waits for the other one still asks.
        pair.close(CLIENT);
        pair.talk();
        assert_eq!(pair.states(), [FinWait2, CloseWait]);
        pair.wait(CLIENT);
        assert_eq!(pair.send(), [1, 0], "{profile}");
        pair.talk();
        pair.close(SERVER);
        pair.talk();
        assert_eq!(pair.states(), [TimeWait, Closed]);
        while let Some(end) = [CLIENT, SERVER].into_iter().find(|end| pair.ends[*end].deadline() < Time::NEVER) {
            assert_eq!(pair.wait(end), None);
            assert_eq!(pair.send(), [0, 0], "{profile}: it asks no more");
            assert!(pair.now < heard + Span::from_secs(600));
        }
    }
}

#[test]
fn an_end_that_is_not_answered_gives_the_connection_up() {
    for profile in PROFILES {
        let mut pair = careful(profile);
        let mut times = Vec::new();
        let change = loop {
            if let Some(change) = pair.wait(CLIENT) {
                break change;
            }
            assert_eq!(pair.send(), [1, 0], "{profile}");
            times.push(pair.now);
            pair.sent[CLIENT].clear();
        };
        assert_eq!((change, times.len()), (Change::Reset, 3), "{profile}");
        times.push(pair.now);
        assert!(times.windows(2).all(|it| it[1].since(it[0]) == Span::from_secs(10)), "{profile}: {times:?}");
        assert_eq!(pair.states(), [Closed, Established]);
        // The other end is told, as Linux does.
        assert_eq!(pair.send(), [1, 0]);
        assert_eq!((pair.sent[CLIENT][0].flags.rst, pair.sent[CLIENT][0].seq), (true, 101), "{profile}");
        assert_eq!(pair.talk()[SERVER], [Change::Reset], "{profile}");
    }
}

#[test]
fn a_question_for_no_connection_is_answered_by_a_reset() {
    for profile in PROFILES {
        let mut pair = careful(profile);
        pair.abort(SERVER);
        pair.send();
        pair.sent[SERVER].clear();
        pair.wait(CLIENT);
        assert_eq!(pair.talk(), [vec![Change::Reset], vec![]], "{profile}");
        assert_eq!(pair.states(), [Closed; 2]);
    }
}

#[test]
fn an_end_does_not_ask_while_data_is_outstanding() {
    for profile in PROFILES {
        let mut pair = careful(profile);
        pair.now += Span::from_secs(59);
        pair.ends[CLIENT].write(100, pair.now);
        pair.send();
        pair.sent[CLIENT].clear();
        for _ in 0..6 {
            assert_eq!(pair.wait(CLIENT), None, "{profile}");
            pair.send();
            assert!(pair.sent[CLIENT].drain(..).all(|it| it.len == 100), "{profile}: copies of the data, no question");
        }
    }
}
