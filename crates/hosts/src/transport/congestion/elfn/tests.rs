//! ELFN's events by hand: notices, probes, the end of a freeze, and a timeout before the notice.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Streams, Time};

use super::*;
use crate::packet::{TcpFlags, TcpHeader};
use crate::transport::congestion::Controller;
use crate::transport::congestion::newreno::NewReno;
use crate::transport::tcp::{Connect, SenderState, TcpSender};

const SEGMENT: u64 = 1000;
const TWO_SECONDS: Span = Span::from_secs(2);

struct Talk {
    sender: TcpSender,
    now: Time,
}

impl Talk {
    /// A sender with endless data and ten outstanding segments, after two round trips of 200 ms and 260 ms.
    fn new(control: Controller) -> Self {
        let tcp = crate::transport::tcp::Params {
            segment_size: Bytes::new(SEGMENT),
            connect: Connect::None,
            timestamps: false,
            initial_window: 8,
            ..params::Params::of_profile(RFC)
        };
        let sender = TcpSender::with_control(&tcp, control, Streams::new(1, 0).stream("talk"));
        let mut talk = Self { sender, now: Time::ZERO };
        talk.sender.write(u64::MAX, talk.now);
        assert_eq!(talk.drain(), (0..8).collect::<Vec<_>>());
        assert_eq!(talk.after(200).ack(1), [8, 9]);
        assert_eq!(talk.after(260).ack(2).len(), 2);
        talk
    }

    fn elfn(race: Race) -> Self {
        let params = Params { race, ..params::Params::of_profile(RFC) };
        Self::new(Controller::Elfn(Elfn::new(&params)))
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Span::from_millis(millis);
        self
    }

    /// The segments that are sent now, by number.
    fn drain(&mut self) -> Vec<u64> {
        std::iter::from_fn(|| self.sender.poll_transmit(self.now)).map(|header| header.seq / SEGMENT).collect()
    }

    fn ack(&mut self, segment: u64) -> Vec<u64> {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let header = TcpHeader { ack: segment * SEGMENT, window: 1 << 20, flags, ..TcpHeader::default() };
        self.sender.on_segment(&header, self.now);
        self.drain()
    }

    fn notice(&mut self, segment: u64) -> Vec<u64> {
        self.sender.on_network(NetworkEvent::Unreachable { seq: segment * SEGMENT }, self.now);
        self.drain()
    }

    /// Advances to the next deadline; returns the segments that are sent then.
    fn timer(&mut self) -> Vec<u64> {
        self.now = self.sender.deadline();
        self.sender.on_timer(self.now);
        self.drain()
    }

    /// All that a freeze must keep.
    fn kept(&self) -> (f64, f64, f64, Span, Option<Span>) {
        let SenderState { cwnd, ssthresh, inflation, rto, srtt, .. } = self.sender.state();
        (cwnd, ssthresh, inflation, rto, srtt)
    }
}

#[test]
fn one_probe_every_two_seconds_and_everything_as_it_was() {
    let mut talk = Talk::elfn(Race::Published);
    let before = talk.kept();
    assert_eq!(talk.after(30).notice(5), [0; 0]);
    assert!(talk.sender.state().frozen);
    let frozen = talk.now;
    for probe in 1..=50 {
        assert_eq!(talk.timer(), [2], "the first unacknowledged segment, alone");
        assert_eq!(talk.now, frozen + TWO_SECONDS * probe);
        assert_eq!(talk.kept(), before, "no timer has gone off");
    }
    assert_eq!((talk.sender.counters().timeouts, talk.sender.counters().probes), (0, 50));
    // A duplicate acknowledgement has no other effect: limited transmit sends one segment.
    assert_eq!(talk.after(123).ack(2), [12]);
    assert_eq!((talk.sender.state().frozen, talk.kept()), (false, before));
    assert_eq!(talk.sender.deadline(), talk.now + before.3, "the timer runs anew");
}

#[test]
fn an_acknowledged_probe_goes_on_where_the_sender_was() {
    let mut talk = Talk::elfn(Race::Published);
    let (cwnd, ssthresh, _, rto, srtt) = talk.kept();
    talk.notice(2);
    assert_eq!(talk.timer(), [2]);
    assert!(!talk.after(90).ack(3).is_empty(), "new data");
    // Slow start continues, and neither the probe nor the outage gives a round-trip sample.
    assert_eq!(talk.kept(), (cwnd + 1.0, ssthresh, 0.0, rto, srtt));
}

#[test]
fn what_a_timeout_left_is_kept_or_undone() {
    for race in [Race::Published, Race::RestoreBeforeTimeout] {
        let mut talk = Talk::elfn(race);
        let (cwnd, ssthresh, _, rto, srtt) = talk.kept();
        assert_eq!(talk.timer(), [2], "a timeout");
        assert_eq!(talk.timer(), [2], "another, twice as long after");
        let after = talk.kept();
        assert_eq!((after.0, after.3), (1.0, rto * 4));
        assert!(after.1 < ssthresh);
        talk.after(10).notice(2);
        assert_eq!(talk.timer(), [2], "a probe");
        talk.after(50).ack(2);
        let restored = talk.kept();
        match race {
            Race::Published => assert_eq!(restored, after),
            Race::RestoreBeforeTimeout => assert_eq!(restored, (cwnd, ssthresh, 0.0, rto, srtt)),
        }
        assert_eq!(talk.sender.deadline(), talk.now + restored.3);
    }
}

#[test]
fn a_timeout_of_an_earlier_outage_is_not_undone() {
    let mut talk = Talk::elfn(Race::RestoreBeforeTimeout);
    assert_eq!(talk.timer(), [2]);
    // The retransmission arrives: the outage has ended.
    assert_eq!(talk.after(100).ack(3), [3, 4]);
    let before = talk.kept();
    talk.notice(3);
    talk.timer();
    talk.after(50).ack(3);
    assert_eq!(talk.kept(), before);
}

#[test]
fn stale_notices_and_those_while_frozen_are_ignored() {
    let mut talk = Talk::elfn(Race::Published);
    for stale in [0, 1, 12, 40] {
        talk.notice(stale);
        assert!(!talk.sender.state().frozen, "segment {stale} is not outstanding");
    }
    talk.notice(11);
    let frozen = talk.now;
    for _ in 0..15 {
        talk.after(100).notice(3);
    }
    assert_eq!(talk.timer(), [2]);
    assert_eq!(talk.now, frozen + TWO_SECONDS);
    // After the freeze has ended, another notice freezes the sender again.
    talk.after(10).ack(3);
    talk.notice(4);
    assert!(talk.sender.state().frozen);
}

#[test]
fn the_opening_is_left_to_its_own_timer() {
    let tcp = params::Params::of_profile(RFC);
    let control = Controller::Elfn(Elfn::new(&params::Params::of_profile(RFC)));
    let mut sender = TcpSender::with_control(&tcp, control, Streams::new(1, 0).stream("talk"));
    sender.write(u64::MAX, Time::ZERO);
    assert!(sender.poll_transmit(Time::ZERO).is_some_and(|header| header.flags.syn));
    sender.on_network(NetworkEvent::Unreachable { seq: 0 }, Time::ZERO);
    assert!(!sender.state().frozen);
    assert_eq!(sender.deadline(), Time::ZERO + Span::from_secs(1));
}

#[test]
fn newreno_goes_on_and_times_out() {
    let mut newreno = Talk::new(Controller::NewReno(NewReno::new(&params::Params::of_profile(RFC))));
    let mut elfn = Talk::elfn(Race::Published);
    assert_eq!(newreno.kept(), elfn.kept(), "alike until something breaks");
    newreno.notice(2);
    elfn.notice(2);
    for talk in [&mut newreno, &mut elfn] {
        (0..4).for_each(|_| assert_eq!(talk.timer(), [2]));
    }
    assert_eq!((newreno.sender.counters().timeouts, newreno.sender.state().cwnd), (4, 1.0));
    assert_eq!((elfn.sender.counters().timeouts, elfn.sender.state().cwnd), (0, 10.0));
    assert!(newreno.now > elfn.now, "15 s of timeouts, 8 s of probes");
}

#[test]
fn impossible_intervals_are_refused() {
    let bad = Params { probe_interval: Span::ZERO, ..params::Params::of_profile(RFC) };
    assert!(
        params::Params::check(&bad)
            .expect_err("a fault")
            .to_string()
            .contains("probe_interval: expected at least 1 ms")
    );
}
