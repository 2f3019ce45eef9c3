//! The congestion control of each TCP variant, one file each.
//!
//! A variant receives distinct events and returns an [`Answer`]. It does not repair losses
//! ([`crate::transport::recovery`] does), keeps no retransmission timer and sends nothing. Windows count segments.
//!
//! Adding a variant is one file here and one line in the list below.

pub mod adaptive_pacing;
pub mod bbr;
pub mod cubic;
pub mod custom;
pub mod elfn;
pub mod hystart;
pub mod illinois;
pub mod newreno;
pub mod reno;
pub mod sack;
pub mod tahoe;
pub mod vegas;
pub mod veno;
pub mod welcome;
pub mod westwood;
pub mod westwood_plus;

#[cfg(test)]
mod testing;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use super::recovery;
use super::tcp::NetworkEvent;

/// The information about its connection that a variant has at an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The time.
    pub now: Time,
    /// The congestion window in segments, without the inflation for duplicate acknowledgements.
    pub cwnd: f64,
    /// The slow start threshold in segments.
    pub ssthresh: f64,
    /// The inflation of the window for duplicate acknowledgements, in segments.
    pub inflation: f64,
    /// The receiver's window in segments.
    pub advertised: f64,
    /// Sent and not acknowledged (RFC 5681's FlightSize), in segments, without those of limited transmit.
    pub flight: f64,
    /// Estimated to be in the network, in segments (RFC 6675's pipe): `flight` without the segments that SACK reported
    /// or that are marked as lost, but with those of them that were retransmitted. The same as `flight` where recovery
    /// keeps no scoreboard.
    pub pipe: f64,
    /// Whether losses are being repaired without a timeout: from after `on_loss` to `on_recovered`, in which it still
    /// holds.
    pub recovering: bool,
    /// Deemed lost so far, in segments: each transmission counts once, those that a timeout gives up included.
    pub lost: f64,
    /// Whether all that the application has written was sent.
    pub app_limited: bool,
    /// Payload of a full segment in bytes.
    pub segment: u32,
    /// The first sequence number not acknowledged.
    pub una: u64,
    /// The sequence number sent next in the ordinary course: below `max` while going back after a timeout.
    pub next: u64,
    /// The first sequence number never sent.
    pub max: u64,
    /// Duplicate acknowledgements in a row, this one included.
    pub duplicates: u32,
    /// Duplicate acknowledgements that mean a loss.
    pub duplicate_threshold: u32,
    /// The smoothed round trip, after the first sample.
    pub srtt: Option<Span>,
    /// The retransmission timeout.
    pub rto: Span,
    /// Which hop count the network layer reported last; 0 when it did not.
    pub hops: u8,
    /// The number of hops of the latest acknowledgement; 0 before the first.
    pub ack_hops: u8,
    /// The rate of data frames on the network's radios, if it is known.
    pub link_rate: Option<Rate>,
}

impl View {
    /// What the sender may have outstanding, in segments: the congestion window as inflated, or the receiver's window.
    #[must_use]
    pub fn usable(&self) -> f64 {
        (self.cwnd + self.inflation).min(self.advertised)
    }
}

/// The phase of the connection at an acknowledgement of new data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Outside recovery.
    Open,
    /// In recovery, which continues: a partial acknowledgement (RFC 6582).
    Partial,
    /// It ends a recovery.
    Recovered,
}

/// A sample of the rate at which the network delivers, from an acknowledgement
/// (draft-cheng-iccrg-delivery-rate-estimation-02). Only a congestion control that
/// [`wants_rate`](CongestionControl::wants_rate) receives samples.
///
/// A segment counts as delivered when it is acknowledged or reported by SACK, once. Without SACK, segments that arrive
/// beyond a gap are delivered when the gap is filled. Payload in bytes throughout; a SYN or FIN has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateSample {
    /// Bytes delivered over `interval`: since the newest of the segments now delivered was sent.
    pub delivered: u64,
    /// The time of this delivery. `None` if the sample is not valid, because nothing was delivered or the time is less
    /// than the shortest round trip.
    pub interval: Option<Span>,
    /// Whether room was left in the network when that segment was sent, because the application had no more to send
    /// or the rule [limited itself](CongestionControl::limits_itself): the path may be faster than the sample says.
    pub app_limited: bool,
    /// `total_delivered` as it was when that segment was sent: a round trip is over when this reaches what
    /// `total_delivered` was at its beginning.
    pub prior_delivered: u64,
    /// Bytes that this acknowledgement delivers.
    pub newly_delivered: u64,
    /// Bytes deemed lost since the last sample that the rule was given.
    pub newly_lost: u64,
    /// Bytes delivered so far, with these.
    pub total_delivered: u64,
    /// [`View::pipe`] before this acknowledgement.
    pub prior_pipe: f64,
    /// The round trip of the newest segment now delivered, by SACK too, if it was sent but once (Karn's rule).
    pub round_trip: Option<Span>,
}

impl RateSample {
    /// The rate in bytes per second, if the sample is valid.
    #[must_use]
    pub fn rate(&self) -> Option<f64> {
        self.interval.map(|interval| self.delivered as f64 / interval.seconds())
    }
}

/// New data was acknowledged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ack {
    /// Bytes of payload acknowledged.
    pub bytes: u64,
    /// Bytes of payload that reached the receiver since the last event: less than `bytes` where SACK had reported some.
    pub delivered: u64,
    /// Segments acknowledged.
    pub segments: u32,
    /// The round trip, on a fine clock, of the newest segment that is acknowledged here for the first time, if none of
    /// those covered was sent again (Karn's rule).
    pub round_trip: Option<Span>,
    /// The time since the newest segment covered was sent, if that was sent but once: it may contain the time that a
    /// hole stood open.
    pub newest_round_trip: Option<Span>,
    /// The phase of the connection.
    pub phase: Phase,
    /// The number of consecutive duplicate acknowledgements before it.
    pub duplicates: u32,
    /// Whether the congestion window, and not the application or the receiver, held the sender back.
    pub window_limited: bool,
    /// Its sample of the delivery rate, for a congestion control that [uses it](CongestionControl::wants_rate).
    pub rate: Option<RateSample>,
}

/// A duplicate acknowledgement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Duplicate {
    /// Its number in a row.
    pub count: u32,
    /// Bytes that SACK newly reports.
    pub sacked: u64,
    /// Its sample of the delivery rate, for a congestion control that [uses it](CongestionControl::wants_rate).
    pub rate: Option<RateSample>,
}

/// Duplicate acknowledgements or an expired fine-grained timer say that the first unacknowledged segment is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Loss {
    /// When the segment was sent last.
    pub sent: Time,
    /// How often it was sent so far.
    pub transmissions: u32,
}

/// The retransmission timer expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeout {
    /// How often it had gone off before, since the last new acknowledgement.
    pub repeated: u32,
}

/// A segment was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// Its first sequence number.
    pub seq: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Whether it was sent before.
    pub retransmission: bool,
}

/// The causes that a variant which distinguishes causes of loss can decide on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// A full queue.
    Congestion,
    /// A frame that the channel spoilt: noise, fading, interference.
    Wireless,
    /// A link of the route that broke.
    LinkFailure,
}

impl Cause {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Congestion => "congestion",
            Self::Wireless => "wireless",
            Self::LinkFailure => "link_failure",
        }
    }
}

/// The sign that showed a loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Duplicate acknowledgements, or a fine-grained timeout checked on one.
    DuplicateAcks,
    /// The retransmission timer.
    Timeout,
}

impl Sign {
    /// Its name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DuplicateAcks => "duplicate_acks",
            Self::Timeout => "timeout",
        }
    }
}

/// The classification of a loss by a variant that distinguishes causes of loss, and its evidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// The cause that it assumes.
    pub cause: Cause,
    /// The sign of the loss.
    pub by: Sign,
    /// The quantity it judged by; which one, the variant says (WELCOME: round trips that had grown).
    pub evidence: f64,
    /// The value of `evidence` beyond which a loss counts as congestion.
    pub limit: f64,
    /// How many round trips the evidence is made from.
    pub samples: u32,
    /// Its own average of the round trip.
    pub filtered: Option<Span>,
    /// The last round trip.
    pub last: Option<Span>,
}

/// The state that the end of a freeze restores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Restore {
    /// Windows, timeout and round-trip estimate as they were when the freeze began.
    AtFreeze,
    /// As they were before the first timeout since the last new acknowledgement, if there was one; otherwise as
    /// `AtFreeze`.
    BeforeTimeout,
}

/// The answer of a variant to an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Answer {
    /// Nothing.
    Keep,
    /// Set congestion window and slow start threshold, in segments: growth and cuts alike.
    Set {
        /// The congestion window.
        cwnd: f64,
        /// The slow start threshold.
        ssthresh: f64,
    },
    /// As `Set`, and multiply the retransmission timeout by `rto`; after a timeout this replaces the doubling.
    Rescale {
        /// The congestion window.
        cwnd: f64,
        /// The slow start threshold.
        ssthresh: f64,
        /// The factor.
        rto: f64,
    },
    /// Stop: keep windows, timeout and round-trip estimate, stop the retransmission timer, and send nothing but the
    /// first unacknowledged segment every `probe`, until an acknowledgement arrives or the variant answers `Thaw`. A
    /// sender that is frozen already stays as it is.
    Freeze {
        /// Time between probes.
        probe: Span,
        /// The state that the end of the freeze restores.
        restore: Restore,
    },
    /// End the freeze: the state is restored, and the retransmission timer restarts.
    Thaw,
}

/// The congestion control of a TCP variant.
///
/// Every method but `on_ack`, `on_loss` and `on_timeout` has a default that does nothing.
pub trait CongestionControl {
    /// The sender's own random stream, given before anything happens; a rule that draws keeps it.
    fn seed(&mut self, _rng: Rng) {}

    /// New data was acknowledged. Most variants leave the window alone during recovery.
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer;

    /// A duplicate acknowledgement arrived. Recovery counts it; a variant that counts delivered data wants to know.
    fn on_duplicate(&mut self, _duplicate: &Duplicate, _view: &View) -> Answer {
        Answer::Keep
    }

    /// A loss was found without a timeout.
    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer;

    /// The retransmission timer expired with data outstanding.
    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer;

    /// A recovery ends, before `on_ack` is called with [`Phase::Recovered`].
    fn on_recovered(&mut self, _view: &View) -> Answer {
        Answer::Keep
    }

    /// A segment was sent.
    fn on_sent(&mut self, _sent: &Sent, _view: &View) {}

    /// The route to the receiver was lost, restored, or changed its length; or a segment could not be delivered, where
    /// [`wants_notices`](Self::wants_notices).
    fn on_network(&mut self, _event: NetworkEvent, _view: &View) -> Answer {
        Answer::Keep
    }

    /// Data is to be sent after a pause longer than the retransmission timeout; `restart` is the window that the
    /// parameters ask for.
    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        Answer::Set { cwnd: view.cwnd.min(restart), ssthresh: view.ssthresh }
    }

    /// The variant's own deadline is reached.
    fn on_timer(&mut self, _view: &View) -> Answer {
        Answer::Keep
    }

    /// When `on_timer` must be called.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The least time between two segments; zero for a sender that does not pace.
    fn pacing_gap(&self) -> Span {
        Span::ZERO
    }

    /// Segments that a pacing sender sends together. As many gaps pass before it may send the next ones.
    fn pacing_quantum(&self) -> u32 {
        1
    }

    /// The bandwidth that the variant estimates, in bytes per second; nothing when it estimates none, or none yet.
    fn bandwidth(&self) -> Option<f64> {
        None
    }

    /// Whether this variant distinguishes causes of loss. The world then records what is needed to compare its
    /// decisions with the true causes.
    fn classifies(&self) -> bool {
        false
    }

    /// How the loss just answered was judged; asked after each `on_loss` and `on_timeout`.
    fn decision(&mut self) -> Option<Decision> {
        None
    }

    /// Whether acknowledgements are to carry a [`RateSample`]. Asked once, when the connection is made; nothing is kept
    /// of segments for a rule that does not want it.
    fn wants_rate(&self) -> bool {
        false
    }

    /// Whether the congestion control itself sends less than the network could take. Rate samples of data that it sends
    /// now then count as limited by the application (BBR's PROBE_RTT). Asked after each event that carries a sample.
    fn limits_itself(&self) -> bool {
        false
    }

    /// Whether the rule sets the window during recovery too, from `on_ack` and `on_duplicate`: proportional rate
    /// reduction is then off.
    fn governs_recovery(&self) -> bool {
        false
    }

    /// Whether nodes shall send a notice if they cannot forward a segment. Only then does the sender receive
    /// [`NetworkEvent::Unreachable`].
    fn wants_notices(&self) -> bool {
        false
    }

    /// How this variant repairs losses unless the scenario says otherwise.
    fn recovery(&self) -> recovery::Choice;

    /// Whether IP and TCP headers count in the size of data packets; only ns-2's Vegas leaves them out.
    fn charges_headers(&self) -> bool {
        true
    }

    /// Whether under `connect = "ns2"` the first segment already carries data; only ns-2's Vegas does that.
    fn opens_with_data(&self) -> bool {
        false
    }

    /// The error of a congestion control that cannot continue; it ends the run and is reported once. Only rules from
    /// outside this crate can fail; one that has failed must answer [`Answer::Keep`] from then on.
    fn failure(&mut self) -> Option<String> {
        None
    }
}

/// Makes the registry, and the enum that forwards every event to the variant in use without a virtual call.
macro_rules! variants {
    ($($name:literal => $module:ident :: $variant:ident, $summary:literal;)+) => {
        crate::registry! {
            "congestion" + Custom(custom::Custom): $($name => $module::$variant, $summary;)+
        }

        /// The congestion control of one connection.
        pub enum Controller {
            $(#[doc = $summary] $variant($module::$variant),)+
            /// A rule from outside this crate.
            Custom(Box<dyn CongestionControl + Send>),
        }

        impl Controller {
            /// The congestion control that a configuration names. `rng` is the sender's own stream.
            #[must_use]
            pub fn new(config: &Config, rng: Rng) -> Self {
                match config {
                    $(Config::$variant(params) => {
                        let mut rule = $module::$variant::new(params);
                        rule.seed(rng);
                        Self::$variant(rule)
                    })+
                    Config::Custom(rule) => Self::Custom(rule.build(rng)),
                }
            }
        }

        /// Calls a method of the variant in use.
        macro_rules! forward {
            ($controller:expr, $rule:ident => $call:expr) => {
                match $controller { $(Controller::$variant($rule) => $call,)+ Controller::Custom($rule) => $call }
            };
        }
    };
}

variants! {
    "tahoe" => tahoe::Tahoe, "Tahoe: one segment after every loss (Jacobson 1988).";
    "reno" => reno::Reno, "Reno: half the window after a fast retransmission (RFC 5681).";
    "newreno" => newreno::NewReno, "NewReno: Reno that repairs several losses in one recovery (RFC 6582).";
    "sack" => sack::Sack, "SACK: Reno's window with selective acknowledgements (RFC 6675).";
    "elfn" => elfn::Elfn,
        "ELFN: NewReno that stops after a notice of a broken route, and then resumes (Holland and Vaidya 1999).";
    "adaptive_pacing" => adaptive_pacing::AdaptivePacing,
        "Adaptive Pacing (TCP-AP): NewReno with segments spaced by the delay of four hops (ElRakabawy et al. 2005).";
    "vegas" => vegas::Vegas, "Vegas: keeps a few segments queued (Brakmo and Peterson 1995).";
    "bbr" => bbr::Bbr, "BBR version 1: paces at the rate at which the network delivers (Cardwell et al. 2016).";
    "cubic" => cubic::Cubic, "CUBIC: the window is a cubic function of the time since the last loss (RFC 9438).";
    "westwood" => westwood::Westwood,
        "Westwood: a bandwidth estimated from each acknowledgement sets the window (Mascolo et al. 2001).";
    "westwood_plus" => westwood_plus::WestwoodPlus,
        "Westwood+: Westwood with one bandwidth sample in each round trip (Grieco and Mascolo 2004).";
    "veno" => veno::Veno, "Veno: the queue distinguishes random losses from congestion (Fu and Liew 2003).";
    "illinois" => illinois::Illinois,
        "Illinois: the queueing delay controls the growth and the reduction of the window (Liu et al. 2008).";
    "welcome" => welcome::Welcome,
        "WELCOME: distinguishes congestion, channel losses and broken links (Ghaleb-Seddik et al. 2012).";
}

impl CongestionControl for Controller {
    #[inline]
    fn on_ack(&mut self, ack: &Ack, view: &View) -> Answer {
        forward!(self, rule => rule.on_ack(ack, view))
    }

    fn on_duplicate(&mut self, duplicate: &Duplicate, view: &View) -> Answer {
        forward!(self, rule => rule.on_duplicate(duplicate, view))
    }

    fn on_loss(&mut self, loss: &Loss, view: &View) -> Answer {
        forward!(self, rule => rule.on_loss(loss, view))
    }

    fn on_timeout(&mut self, timeout: &Timeout, view: &View) -> Answer {
        forward!(self, rule => rule.on_timeout(timeout, view))
    }

    fn on_recovered(&mut self, view: &View) -> Answer {
        forward!(self, rule => rule.on_recovered(view))
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent, view: &View) {
        forward!(self, rule => rule.on_sent(sent, view));
    }

    fn on_network(&mut self, event: NetworkEvent, view: &View) -> Answer {
        forward!(self, rule => rule.on_network(event, view))
    }

    fn on_idle(&mut self, restart: f64, view: &View) -> Answer {
        forward!(self, rule => rule.on_idle(restart, view))
    }

    fn on_timer(&mut self, view: &View) -> Answer {
        forward!(self, rule => rule.on_timer(view))
    }

    #[inline]
    fn deadline(&self) -> Time {
        forward!(self, rule => rule.deadline())
    }

    #[inline]
    fn pacing_gap(&self) -> Span {
        forward!(self, rule => rule.pacing_gap())
    }

    #[inline]
    fn pacing_quantum(&self) -> u32 {
        forward!(self, rule => rule.pacing_quantum())
    }

    fn bandwidth(&self) -> Option<f64> {
        forward!(self, rule => rule.bandwidth())
    }

    fn classifies(&self) -> bool {
        forward!(self, rule => rule.classifies())
    }

    fn decision(&mut self) -> Option<Decision> {
        forward!(self, rule => rule.decision())
    }

    fn wants_rate(&self) -> bool {
        forward!(self, rule => rule.wants_rate())
    }

    #[inline]
    fn limits_itself(&self) -> bool {
        forward!(self, rule => rule.limits_itself())
    }

    fn governs_recovery(&self) -> bool {
        forward!(self, rule => rule.governs_recovery())
    }

    fn wants_notices(&self) -> bool {
        forward!(self, rule => rule.wants_notices())
    }

    fn recovery(&self) -> recovery::Choice {
        forward!(self, rule => rule.recovery())
    }

    fn charges_headers(&self) -> bool {
        forward!(self, rule => rule.charges_headers())
    }

    fn opens_with_data(&self) -> bool {
        forward!(self, rule => rule.opens_with_data())
    }

    #[inline]
    fn failure(&mut self) -> Option<String> {
        match self {
            Self::Custom(rule) => rule.failure(),
            _ => None,
        }
    }
}

impl std::fmt::Debug for Controller {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Controller")
    }
}
