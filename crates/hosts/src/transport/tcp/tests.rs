//! Conversations: a sender's answers to acknowledgements given by hand.
//!
//! Sent segments are written as numbers from 0, with "r" before retransmissions.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Streams, Time};

use super::{Connect, Habits, Params, TcpReceiver, TcpSender, linux};
use crate::packet::{SackBlocks, TcpFlags, TcpHeader};
use crate::params::{NS2, Params as _, RFC};
use crate::transport::acking;
use crate::transport::congestion::{
    Ack, Answer, Config, CongestionControl, Controller, ExternalControl, Loss, NetworkEvent, Pace, RecoveryChoice,
    Restore, Timeout, View, Wants,
};

mod as_linux;
mod as_linux_without_sack;
mod closing;
mod growing_window;
mod held;
mod marks;
mod rate;
mod recovery_by_time;
mod round_trips;
mod sack;
mod small_segments;
mod switches;
mod timestamps;
mod written;

const SEGMENT: u64 = 1000;

struct Talk {
    sender: TcpSender,
    now: Time,
    origin: u64,
}

fn params(profile: &str) -> Params {
    Params { segment_size: Bytes::new(SEGMENT), timestamps: false, ..Params::of_profile(profile) }
}

/// What is sent when the connection opens, but for Linux's acknowledgement of the answer to its SYN.
fn without_lone_ack(sent: &str) -> String {
    sent.strip_prefix("ack1 ").unwrap_or(sent).to_owned()
}

impl Talk {
    /// A sender with endless data. The opening exchange, if there is one, took 100 ms.
    fn begin(params: &Params, control: Controller) -> (Self, String) {
        let mut sender = TcpSender::with_control(params, control, Streams::new(1, 0).stream("talk"));
        sender.write(u64::MAX, Time::ZERO);
        let mut talk = Self { sender, now: Time::ZERO, origin: u64::from(params.connect != Connect::None) };
        if talk.origin == 0 {
            let sent = talk.drain();
            return (talk, sent);
        }
        assert_eq!(talk.drain(), "syn");
        let syn = TcpFlags { syn: params.connect == Connect::ThreeWay, ack: true, ..TcpFlags::default() };
        let sent = talk.after(100).receive(TcpHeader { ack: 1, window: 1 << 20, flags: syn, ..TcpHeader::default() });
        (talk, without_lone_ack(&sent))
    }

    fn new(profile: &str, variant: &str) -> (Self, String) {
        Self::with(&params(profile), variant, profile)
    }

    fn with(params: &Params, variant: &str, profile: &str) -> (Self, String) {
        let config = Config::of_profile(variant, profile).expect("a variant");
        Self::begin(params, Controller::new(&config, Streams::new(1, 0).stream("rule")))
    }

    fn after(&mut self, millis: u64) -> &mut Self {
        self.now += Span::from_millis(millis);
        self
    }

    fn drain(&mut self) -> String {
        let mut sent = Vec::new();
        while let Some(header) = self.sender.poll_transmit(self.now) {
            let number = header.seq.saturating_sub(self.origin) / SEGMENT;
            let again = if header.retransmission { "r" } else { "" };
            let fin = if header.flags.fin { "fin" } else { "" };
            sent.push(match (header.flags.syn, header.len) {
                (true, _) => "syn".to_owned(),
                (_, 0) if !header.flags.fin => format!("ack{}", header.ack),
                (_, 0) => format!("{again}{fin}"),
                (_, _) => format!("{again}{number}{fin}"),
            });
        }
        sent.join(" ")
    }

    fn receive(&mut self, header: TcpHeader) -> String {
        self.sender.on_segment(&header, self.now);
        self.drain()
    }

    /// An acknowledgement of all segments below `segment`.
    fn ack(&mut self, segment: u64) -> String {
        self.sack(segment, &[])
    }

    /// An acknowledgement that reports segments received beyond a gap.
    fn sack(&mut self, segment: u64, blocks: &[(u64, u64)]) -> String {
        let seq = |segment| self.origin + segment * SEGMENT;
        let ack = seq(segment);
        // A duplicate is reported below the acknowledgement.
        let base = blocks.iter().map(|&(from, _)| seq(from)).min().unwrap_or(ack).min(ack);
        let sack = SackBlocks::new(base, blocks.iter().map(|&(from, to)| (seq(from), seq(to))));
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        self.receive(TcpHeader { ack, window: 1 << 20, sack, flags, ..TcpHeader::default() })
    }

    fn timer(&mut self) -> String {
        self.now = self.sender.deadline();
        self.sender.on_timer(self.now);
        self.drain()
    }

    fn window(&self) -> (f64, f64) {
        let state = self.sender.state();
        (state.cwnd, state.ssthresh)
    }
}

/// Segments 0 to 13 are sent, 1 and 4 are lost; the third duplicate has just arrived.
fn two_losses(variant: &str) -> Talk {
    let (mut talk, sent) = Talk::new(RFC, variant);
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.ack(1), "12", "limited transmit");
    assert_eq!(talk.ack(1), "13");
    assert_eq!(talk.ack(1), "r1");
    talk
}

#[test]
fn newreno_repairs_two_losses_in_one_recovery() {
    let mut talk = two_losses("newreno");
    // Thirteen segments are outstanding; the two of limited transmit do not count.
    assert_eq!(talk.window(), (5.5, 5.5));
    for _ in 0..5 {
        assert_eq!(talk.ack(1), "");
    }
    for segment in 14..17 {
        assert_eq!(talk.ack(1), segment.to_string(), "the window has been inflated to what is outstanding");
    }
    // RFC 6582 §3.2 step 3: three segments acknowledged, the inflation shrinks by two, and one new segment fits.
    assert_eq!(talk.after(100).ack(4), "r4 17");
    assert_eq!(talk.window(), (5.5, 5.5));
    // Full acknowledgement: one segment is outstanding, so the window is two.
    assert_eq!(talk.after(100).ack(17), "18");
    assert_eq!(talk.window(), (2.0, 5.5));
    assert_eq!(talk.sender.counters().fast_retransmits, 1);
    assert_eq!(talk.sender.counters().retransmitted_segments, 2);
}

#[test]
fn newreno_starts_no_recovery_below_the_last_one() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    assert_eq!(talk.timer(), "r0");
    // Late duplicates of segments sent before the timeout are no sign of a loss.
    for _ in 0..5 {
        assert!(!talk.ack(0).contains('r'));
    }
    assert_eq!(talk.sender.counters().fast_retransmits, 0);
}

#[test]
fn reno_leaves_recovery_at_the_first_new_acknowledgement() {
    let mut talk = two_losses("reno");
    assert_eq!(talk.window(), (5.5, 5.5));
    (0..8).for_each(|_| drop(talk.ack(1)));
    assert_eq!(talk.after(100).ack(4), "", "no retransmission on a partial acknowledgement");
    assert_eq!(talk.sender.state().inflation, 0.0);
    // The second loss is below the highest segment of the first reduction: only the timer repairs it.
    for _ in 0..4 {
        assert!(!talk.ack(4).contains('r'));
    }
    assert_eq!(talk.timer(), "r4");
    assert_eq!(talk.sender.counters().timeouts, 1);
}

/// Without an opening exchange, data begins with the first number, ISN; `recover` is the number before it.
#[test]
fn the_very_first_segment_is_repaired_without_a_timeout() {
    for variant in ["tahoe", "reno", "newreno", "sack"] {
        let (mut talk, sent) = Talk::with(&Params { connect: Connect::None, ..params(RFC) }, variant, RFC);
        assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
        talk.after(100);
        let sent: Vec<String> = (2..=4).map(|to| talk.sack(0, &[(1, to)])).collect();
        assert!(sent[2].starts_with("r0"), "{variant}: {sent:?}");
        assert_eq!(talk.sender.counters().fast_retransmits, 1, "{variant}");
    }
}

/// RFC 5681 §3.2 step 6 against RFC 6582 §3.2 step 3: a full acknowledgement with nothing outstanding.
#[test]
fn reno_leaves_recovery_at_the_threshold_and_newreno_with_what_is_outstanding() {
    for (variant, window) in [("reno", (5.5, 5.5)), ("newreno", (2.0, 5.5))] {
        let mut talk = two_losses(variant);
        assert_eq!(talk.window(), (5.5, 5.5), "{variant}");
        talk.after(100).ack(14);
        assert_eq!(talk.window(), window, "{variant}");
    }
}

#[test]
fn tahoe_starts_over() {
    let mut talk = two_losses("tahoe");
    assert_eq!(talk.window(), (1.0, 5.5));
    (0..8).for_each(|_| assert_eq!(talk.ack(1), ""));
    // Slow start from the missing segment: segments that the receiver already has are sent again.
    assert_eq!(talk.after(100).ack(4), "r4 r5");
    assert_eq!(talk.after(100).ack(14), "14 15 16");
}

#[test]
fn sack_repairs_two_losses_without_waiting_for_a_partial_acknowledgement() {
    let (mut talk, _) = Talk::new(RFC, "sack");
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.sack(1, &[(2, 3)]), "12");
    assert_eq!(talk.sack(1, &[(2, 4)]), "13");
    assert_eq!(talk.sack(1, &[(5, 6), (2, 4)]), "r1");
    assert_eq!(talk.window(), (5.5, 5.5));
    // RFC 6675 §4: segment 4 is lost once three segments above it are reported; then the path holds 1 and 8 to 13.
    for to in 7..=10 {
        assert_eq!(talk.sack(1, &[(5, to), (2, 4)]), "", "{to}");
    }
    assert_eq!(talk.sack(1, &[(5, 11), (2, 4)]), "r4");
    assert_eq!(talk.sack(1, &[(5, 12), (2, 4)]), "14");
    // A report without new information causes no transmission.
    assert_eq!(talk.sack(1, &[(5, 12), (2, 4)]), "");
    assert_eq!(talk.after(100).ack(14), "15 16 17 18");
    assert_eq!(talk.window(), (5.5, 5.5), "no inflation to take back");
    assert_eq!(talk.sender.counters().retransmitted_segments, 2);
}

#[test]
fn sack_sees_a_loss_before_the_third_duplicate() {
    let (mut talk, _) = Talk::new(RFC, "sack");
    // Acknowledgements were lost: one alone reports four segments above the hole (RFC 6675 §5 step 2).
    assert_eq!(talk.after(100).ack(1), "10 11");
    assert_eq!(talk.sack(1, &[(2, 6)]), "r1");
}

#[test]
fn sack_skips_what_is_reported_after_a_timeout() {
    let (mut talk, _) = Talk::new(RFC, "sack");
    assert_eq!(talk.after(100).ack(1), "10 11");
    talk.sack(1, &[(3, 5)]);
    assert_eq!(talk.timer(), "r1");
    assert_eq!(talk.after(100).ack(2), "r2", "3 and 4 are there, and 5 lies beyond the window of two");
    assert_eq!(talk.after(100).ack(5), "r5 r6 r7");
}

#[test]
fn a_duplicate_without_news_counts_for_reno_alone() {
    for (variant, resent) in [("reno", "r1"), ("sack", "")] {
        let (mut talk, _) = Talk::new(RFC, variant);
        talk.after(100).ack(1);
        talk.ack(1);
        talk.ack(1);
        assert_eq!(talk.ack(1), resent, "{variant}");
    }
}

#[test]
fn the_impatient_timer_runs_through_partial_acknowledgements() {
    let deadlines = |choice| {
        let (mut talk, _) = Talk::with(&Params { recovery: choice, ..params(RFC) }, "newreno", RFC);
        talk.after(100).ack(1);
        (0..3).for_each(|_| drop(talk.ack(1)));
        talk.after(100).ack(3);
        let first = talk.sender.deadline();
        assert_eq!(talk.after(100).ack(5).split(' ').next(), Some("r5"));
        (first, talk.sender.deadline())
    };
    let (first, second) = deadlines(RecoveryChoice::NewReno);
    assert_eq!(first, second);
    let (first, second) = deadlines(RecoveryChoice::SlowButSteady);
    assert_eq!(second, first + Span::from_millis(100));
}

#[test]
fn a_segment_sent_twice_is_not_timed() {
    let (mut talk, _) = Talk::new(RFC, "reno");
    assert_eq!(talk.sender.state().srtt, Some(Span::from_millis(100)), "the SYN was timed");
    assert_eq!(talk.timer(), "r0");
    assert_eq!(talk.sender.state().rto, Span::from_secs(2));
    talk.after(50).ack(1);
    assert_eq!(talk.sender.state().srtt, Some(Span::from_millis(100)));
    assert_eq!(talk.sender.state().rto, Span::from_secs(2), "Karn: the back-off lasts until a valid sample");
    talk.after(100).ack(2);
    assert_eq!(talk.after(100).ack(3), "r5 r6", "still going back");
    talk.ack(10);
    talk.after(200).ack(11);
    assert_eq!(talk.sender.state().rto, Span::from_secs(1));
}

#[test]
fn repeated_timeouts_double_and_keep_the_threshold() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    let mut times = vec![talk.now];
    for _ in 0..8 {
        assert_eq!(talk.timer(), "r0");
        times.push(talk.now);
    }
    let waits: Vec<u64> = times.windows(2).map(|pair| pair[1].since(pair[0]).nanos() / 1_000_000_000).collect();
    assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    // Ten were outstanding; RFC 5681 §3.1: the threshold is held while the same segment times out again.
    assert_eq!(talk.window(), (1.0, 5.0));
}

/// Segments sent because of duplicate acknowledgements count neither for the path nor for the threshold (RFC 5681 eq.
/// 4: at most half of FlightSize).
#[test]
fn a_timeout_in_recovery_does_not_count_what_inflation_let_out() {
    let (mut talk, sent) = Talk::new(RFC, "newreno");
    assert_eq!(sent, "0 1 2 3 4 5 6 7 8 9");
    for _ in 0..9 {
        talk.after(1).ack(0);
    }
    // Half of ten, and the nine that have left the network; limited transmit sent two.
    assert_eq!(talk.window(), (5.0, 5.0));
    assert_eq!(talk.sender.state().flight, 14 * SEGMENT);
    talk.timer();
    assert_eq!(talk.window(), (1.0, 2.5));
}

#[test]
fn two_lost_syns_cost_the_initial_window() {
    for (repeats, seconds, sent) in [(1, 1, "0 1 2 3 4 5 6 7 8 9"), (2, 3, "0")] {
        opens_after(repeats, seconds, sent);
    }
}

/// A SYN is repeated so often, the last time after so many seconds; what is sent when it is answered.
fn opens_after(repeats: u32, seconds: u64, sent: &str) {
    let mut sender = TcpSender::with_control(
        &params(RFC),
        Controller::new(&Config::of_profile("reno", RFC).expect("a variant"), Streams::new(1, 0).stream("rule")),
        Streams::new(1, 0).stream("talk"),
    );
    sender.write(u64::MAX, Time::ZERO);
    let mut talk = Talk { sender, now: Time::ZERO, origin: 1 };
    assert_eq!(talk.drain(), "syn");
    (0..repeats).for_each(|_| assert_eq!(talk.timer(), "syn"));
    assert_eq!(talk.now, Time::ZERO + Span::from_secs(seconds));
    let flags = TcpFlags { syn: true, ack: true, ..TcpFlags::default() };
    let answer = TcpHeader { ack: 1, window: 44_000, flags, ..TcpHeader::default() };
    assert_eq!(talk.after(100).receive(answer), sent, "RFC 6928 §2");
    assert_eq!(talk.receive(answer), "ack1", "the other end does not know that its answer has arrived");
    assert_eq!(talk.sender.state().rto, Span::from_secs(3), "RFC 6298 §5.7");
    assert_eq!(talk.sender.counters().timeouts, 0);
}

#[test]
fn ns2_opens_with_an_empty_segment() {
    let (mut talk, sent) = Talk::new(NS2, "newreno");
    assert_eq!(sent, "0 1", "the initial window comes with the answer");
    assert_eq!(talk.window(), (2.0, 20.0));
    assert_eq!(talk.after(100).ack(1), "2 3");
}

/// ns-2's Vegas grants the initial window with the acknowledgement after that of segment 0 alone, also when segment 0
/// was lost: its timeout does not reduce the initial window. The timeout's window is kept when one acknowledgement
/// covers both segments.
#[test]
fn ns2_vegas_keeps_the_window_of_a_timeout_that_opened_it() {
    let control = || {
        let config = Config::of_profile("vegas", NS2).expect("a variant");
        Controller::new(&config, Streams::new(1, 0).stream("rule"))
    };
    let open = || {
        let mut sender = TcpSender::with_control(&params(NS2), control(), Streams::new(1, 0).stream("talk"));
        sender.write(u64::MAX, Time::ZERO);
        let mut talk = Talk { sender, now: Time::ZERO, origin: 0 };
        assert_eq!(talk.drain(), "0");
        assert_eq!(talk.timer(), "r0 1");
        talk
    };
    let mut together = open();
    assert_eq!(together.after(100).ack(2), "2 3");
    together.after(100).ack(3);
    assert!(together.window().0 >= 2.0, "{:?}", together.window());
    let mut apart = open();
    apart.after(100).ack(1);
    apart.after(10).ack(2);
    assert_eq!(apart.window().0, 2.5);
}

#[test]
fn nothing_is_sent_after_stop_but_what_was_sent_is_repaired() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    talk.sender.stop(talk.now);
    assert!(!talk.sender.is_finished());
    assert_eq!(talk.timer(), "r0");
    assert_eq!(talk.ack(9), "r9");
    assert_eq!(talk.ack(10), "");
    assert!(talk.sender.is_finished());
    assert_eq!(talk.sender.deadline(), Time::NEVER);
}

#[test]
fn a_pause_restarts_with_the_initial_window() {
    for (profile, restarted) in [(RFC, 10.0), (NS2, 1.0)] {
        let (mut talk, _) = Talk::new(profile, "newreno");
        talk.sender.stop(talk.now);
        while !talk.sender.is_finished() {
            let (una, max, _) = talk.sender.window_edges();
            assert!(max > una);
            talk.after(100).ack(una / SEGMENT + 1);
        }
        talk.after(10_000);
        talk.sender.write(u64::MAX, talk.now);
        assert_eq!(talk.drain().split(' ').count(), restarted as usize, "{profile}");
        assert_eq!(talk.window().0, restarted, "{profile}");
    }
}

#[test]
fn acknowledgements_of_what_was_never_sent_are_ignored() {
    let (mut talk, _) = Talk::new(RFC, "newreno");
    assert_eq!(talk.ack(1000), "");
    assert_eq!(talk.sender.counters().invalid_acks, 1);
    assert_eq!(talk.sender.window_edges().0, 1);
}

/// A congestion control that uses every answer.
struct Scripted {
    pace: Span,
    quantum: u32,
    on_timeout: Answer,
}

impl CongestionControl for Scripted {
    fn on_ack(&mut self, _ack: &Ack, _view: &View) -> Answer {
        Answer::Keep
    }
    fn on_loss(&mut self, _loss: &Loss, _view: &View) -> Answer {
        Answer::Keep
    }
    fn on_timeout(&mut self, _timeout: &Timeout, _view: &View) -> Answer {
        self.on_timeout
    }
    fn on_network(&mut self, event: NetworkEvent, _view: &View) -> Answer {
        match event {
            NetworkEvent::RouteLost => Answer::Freeze { probe: Span::from_secs(2), restore: Restore::AtFreeze },
            NetworkEvent::RouteRestored => Answer::Thaw,
            NetworkEvent::HopCount(_) | NetworkEvent::Unreachable { .. } | NetworkEvent::CareOfChanged => Answer::Keep,
        }
    }
    fn pace(&self) -> Pace {
        Pace { quantum: self.quantum, ..Pace::of(self.pace) }
    }
    fn recovery(&self) -> RecoveryChoice {
        RecoveryChoice::NewReno
    }
}

impl ExternalControl for Scripted {}

fn scripted(pace: Span, on_timeout: Answer) -> (Talk, String) {
    scripted_bursts(pace, 1, on_timeout)
}

fn scripted_bursts(pace: Span, quantum: u32, on_timeout: Answer) -> (Talk, String) {
    Talk::begin(&params(RFC), Controller::External(Box::new(Scripted { pace, quantum, on_timeout })))
}

#[test]
fn a_frozen_sender_probes_and_is_restored() {
    let (mut talk, _) = scripted(Span::ZERO, Answer::Keep);
    let before = talk.sender.state();
    talk.sender.on_network(NetworkEvent::RouteLost, talk.now);
    let lost = talk.now;
    for probe in 1..=5 {
        assert_eq!(talk.timer(), "r0");
        assert_eq!(talk.now, lost + Span::from_secs(2 * probe), "one probe every two seconds, and no timeout");
    }
    assert_eq!(talk.after(100).ack(1), "10");
    let after = talk.sender.state();
    assert_eq!((after.cwnd, after.ssthresh, after.rto), (before.cwnd, before.ssthresh, before.rto));
    assert_eq!(talk.sender.counters().probes, 5);
    assert_eq!(talk.sender.counters().timeouts, 0);
    assert_eq!(talk.sender.deadline(), talk.now + after.rto, "the timer runs again");
}

#[test]
fn the_outage_is_not_a_round_trip() {
    let mut params = params(RFC);
    params.timestamps = true;
    let control = Scripted { pace: Span::ZERO, quantum: 1, on_timeout: Answer::Keep };
    let (mut talk, _) = Talk::begin(&params, Controller::External(Box::new(control)));
    let answer = |talk: &mut Talk, segment: u64, sent: Time| {
        let flags = TcpFlags { ack: true, ..TcpFlags::default() };
        let timestamps = Some((1, (sent.nanos() / 1_000_000) as u32));
        let ack = 1 + segment * SEGMENT;
        talk.after(100).receive(TcpHeader { ack, window: 1 << 20, timestamps, flags, ..TcpHeader::default() })
    };
    let first = talk.now;
    talk.after(100).sender.on_network(NetworkEvent::RouteLost, first + Span::from_millis(100));
    let before = talk.sender.state();
    assert_eq!(talk.timer(), "r0", "the probe");
    // An acknowledgement of the first transmission, which waited in a node until there was a route again.
    answer(&mut talk, 1, first);
    let after = talk.sender.state();
    assert!(!after.frozen);
    assert_eq!((after.rto, after.srtt), (before.rto, before.srtt));
    // Segments sent from now on give samples again.
    let sent = talk.now;
    talk.after(900);
    answer(&mut talk, 2, sent);
    assert!(talk.sender.state().rto > before.rto);
}

#[test]
fn a_route_restored_thaws() {
    let (mut talk, _) = scripted(Span::ZERO, Answer::Keep);
    talk.sender.on_network(NetworkEvent::RouteLost, talk.now);
    assert!(talk.sender.state().frozen);
    talk.after(700).sender.on_network(NetworkEvent::RouteRestored, Time::ZERO + Span::from_millis(800));
    assert!(!talk.sender.state().frozen);
    assert_eq!(talk.sender.deadline(), Time::ZERO + Span::from_millis(1800));
}

#[test]
fn rescaling_replaces_doubling() {
    let (mut talk, _) = scripted(Span::ZERO, Answer::Rescale { cwnd: 4.0, ssthresh: 7.0, rto: 1.5 });
    assert_eq!(talk.timer(), "r0 r1 r2 r3");
    assert_eq!(talk.window(), (4.0, 7.0));
    assert_eq!(talk.sender.state().rto, Span::from_millis(1500));
}

#[test]
fn pacing_keeps_its_gap() {
    let (mut talk, sent) = scripted(Span::from_millis(30), Answer::Keep);
    assert_eq!(sent, "0");
    let began = talk.now;
    for segment in 1..10 {
        assert_eq!(talk.timer(), segment.to_string());
        assert_eq!(talk.now, began + Span::from_millis(30 * segment));
    }
    assert_eq!(talk.sender.deadline(), began + Span::from_secs(1), "the window is full: only the timer is left");
}

#[test]
fn no_gap_is_longer_than_the_timeout() {
    let (mut talk, sent) = scripted(Span::from_secs(100), Answer::Keep);
    assert_eq!(sent, "0");
    let began = talk.now;
    assert_eq!(talk.after(100).ack(1), "");
    assert_eq!(talk.timer(), "1");
    assert_eq!(talk.now, began + Span::from_secs(1));
}

#[test]
fn segments_of_a_quantum_leave_together() {
    let (mut talk, sent) = scripted_bursts(Span::from_millis(30), 3, Answer::Keep);
    assert_eq!(sent, "0 1 2");
    let began = talk.now;
    assert_eq!(talk.timer(), "3 4 5");
    assert_eq!(talk.now, began + Span::from_millis(90), "three gaps for three segments");
    assert_eq!(talk.timer(), "6 7 8");
    // The window of ten ends the third burst. An acknowledgement allows the two remaining segments at once, and no
    // more.
    assert_eq!(talk.timer(), "9");
    assert_eq!(talk.now, began + Span::from_millis(270));
    assert_eq!(talk.after(10).ack(5), "10 11");
    assert_eq!(talk.timer(), "12 13 14");
    assert_eq!(talk.now, began + Span::from_millis(360));
}

fn receiver(acking: &str, profile: &str, sack: bool) -> TcpReceiver {
    let config = acking::Config::of_profile(acking, profile).expect("a policy");
    TcpReceiver::new(&config, &Params { connect: Connect::None, ..params(profile) }, sack)
}

/// Gives segments to a receiver, and returns what it answers: acknowledgement and blocks.
fn give(receiver: &mut TcpReceiver, segment: u64) -> Option<(u64, Vec<(u64, u64)>)> {
    let header = TcpHeader { seq: segment * SEGMENT, len: SEGMENT as u32, ..TcpHeader::default() };
    receiver.on_segment(&header, Time::ZERO);
    let ack = receiver.poll_transmit(Time::ZERO)?;
    assert!(receiver.poll_transmit(Time::ZERO).is_none());
    Some((ack.ack / SEGMENT, ack.sack.iter().map(|(from, to)| (from / SEGMENT, to / SEGMENT)).collect()))
}

#[test]
fn the_receiver_reports_the_latest_block_first() {
    let mut receiver = receiver("every", RFC, true);
    assert_eq!(give(&mut receiver, 0), Some((1, vec![])));
    assert_eq!(give(&mut receiver, 2), Some((1, vec![(2, 3)])));
    assert_eq!(give(&mut receiver, 6), Some((1, vec![(6, 7), (2, 3)])));
    assert_eq!(give(&mut receiver, 4), Some((1, vec![(4, 5), (6, 7), (2, 3)])));
    assert_eq!(give(&mut receiver, 5), Some((1, vec![(4, 7), (2, 3)])), "it joins two blocks");
    assert_eq!(give(&mut receiver, 5), Some((1, vec![(5, 6), (4, 7), (2, 3)])), "a copy (RFC 2883)");
    assert_eq!(give(&mut receiver, 1), Some((3, vec![(4, 7)])));
    assert_eq!(give(&mut receiver, 3), Some((7, vec![])));
    let counters = receiver.counters();
    assert_eq!((counters.duplicate_segments, counters.delivered_bytes), (1, 7 * SEGMENT));
    assert_eq!(counters.unique_bytes, 7 * SEGMENT);
}

#[test]
fn a_delaying_receiver_answers_disorder_at_once() {
    let mut receiver = receiver("delayed", RFC, false);
    assert_eq!(give(&mut receiver, 0), None);
    assert_eq!(receiver.deadline(), Time::ZERO + Span::from_millis(200));
    assert_eq!(give(&mut receiver, 1), Some((2, vec![])));
    assert_eq!(receiver.deadline(), Time::NEVER);
    assert_eq!(give(&mut receiver, 3), Some((2, vec![])), "beyond a gap");
    assert_eq!(give(&mut receiver, 2), Some((4, vec![])), "a gap filled");
    assert_eq!(give(&mut receiver, 4), None);
    receiver.on_timer(receiver.deadline());
    assert_eq!(receiver.poll_transmit(Time::ZERO).map(|ack| ack.ack / SEGMENT), Some(5));
}

#[test]
fn headers_have_their_bytes() {
    let blocks = |count: u64| SackBlocks::new(0, (0..count).map(|i| (i * 10 + 1, i * 10 + 2)));
    for (profile, stamped, none, three) in [(RFC, 52, 40, 68), (NS2, 50, 40, 64)] {
        let params = Params::of_profile(profile);
        let bytes = |timestamps, sack| {
            crate::transport::connection::header_bytes(&params, &TcpHeader { timestamps, sack, ..TcpHeader::default() })
        };
        assert_eq!(bytes(Some((1, 2)), blocks(0)), stamped);
        assert_eq!(bytes(None, blocks(0)), none);
        assert_eq!(bytes(None, blocks(3)), three);
    }
}
