//! TCP's own parameters: everything except congestion control and the receiver's acknowledgement policy.

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, word_or};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::params::{self, Fault, LINUX, NS2, RFC, Unused, unused_where};
use crate::transport::recovery_choice::{Proportional, RecoveryChoice};
use crate::transport::{keep_alive, linux};

/// How a connection opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Connect {
    /// Without a SYN: the first segment carries data.
    None,
    /// As ns-2's one-way agents: one segment without data, which an ordinary acknowledgement answers. It counts as a
    /// segment for window, timer and loss. When it is acknowledged, the sender may use the initial window.
    Ns2,
    /// SYN, SYN with ACK, ACK with the first data (RFC 9293 §3.5).
    ThreeWay,
}

/// How a connection closes when the application has no more data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Close {
    /// Without a FIN.
    None,
    /// A FIN in each direction, both acknowledged (RFC 9293 §3.6).
    Fin,
}

/// How the receiving application reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reader {
    /// All data in order, as soon as it arrives.
    AtOnce,
    /// At a constant rate, while there is data to read.
    Steady(Rate),
}

const READER: &str = "\"at_once\" or a rate such as \"1 Mbps\"";

word_or!(Reader { "at_once" => AtOnce, Steady }, "Reader", READER, ["at_once", "1 Mbps"]);

/// Which copies of acknowledged data set the timestamp that the receiver echoes, if they were sent later than the
/// segment whose timestamp it echoes now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EchoCopies {
    /// All (RFC 7323 §4.3 (2) and appendix D; ns-2).
    All,
    /// Those that reach the last acknowledgement, as a copy of the last segment does (Linux, FreeBSD).
    Last,
    /// None: they lie before the window (RFC 7323 §5.3 R2).
    None,
}

/// The window after a pause longer than the retransmission timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum IdleRestart {
    /// It does not change.
    Off,
    /// At most the initial window (RFC 5681 §4.1).
    InitialWindow,
    /// One segment (ns-2's `slow_start_restart_`).
    OneSegment,
}

/// Whose TCP it is, in details that no other parameter says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Habits {
    /// Those of the RFCs.
    Rfc,
    /// The details of ns-2.35: its recoveries, the fine-grained timeouts of its Vegas, a timeout of whole ticks of a
    /// clock with a random phase, no round-trip sample from acknowledgements of part of the losses, options that are
    /// not padded.
    Ns2,
    /// Those of Linux 6.1: a sender of its own and rules of the receiver, with the parameters of `[tcp.linux]`. The
    /// keys of the plain recovery do not apply.
    Linux,
}

/// The window at the end of a fast recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RecoveryExit {
    /// The slow start threshold, or less if little data is outstanding (RFC 6582 §3.2 step 3, first option). `reno`
    /// uses the threshold.
    Flight,
    /// The slow start threshold (RFC 5681 §3.2 step 6; RFC 6582 §3.2 step 3, second option).
    Ssthresh,
    /// The window after the reduction, plus the growth for this acknowledgement (ns-2).
    Grow,
}

/// TCP's own parameters. Windows count segments of `segment_size`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// The payload of a full segment, options excluded. rfc and linux: with the option of timestamps, the segment fills
    /// a packet of 1500 bytes, the MTU of Ethernet (RFC 6691 §2). ns2: `packetSize_`.
    pub segment_size: Bytes,
    /// The receiver's window in segments. rfc: the 65,535 bytes that a header can announce without scaling; ns2:
    /// `window_`; linux: half of the largest `tcp_rmem`.
    pub window: u32,
    /// The initial congestion window, in segments. rfc: RFC 6928 §2; ns2: `windowInit_`.
    pub initial_window: u32,
    /// The initial slow start threshold, in segments; 0 means the receiver's window. rfc: "arbitrarily high" (RFC 5681
    /// §3.1).
    pub initial_ssthresh: u32,
    /// The largest congestion window in segments; 0 means no limit. ns-2: `maxcwnd_`.
    pub max_cwnd: u32,
    /// How the connection opens. ns2: `syn_`, `delay_growth_`.
    pub connect: Connect,
    /// How the connection closes when the application has no more data.
    pub close: Close,
    /// Whether a segment that is not full waits while others are outstanding, unless it is the last (RFC 9293 §3.7.4,
    /// Nagle algorithm).
    pub nagle: bool,
    /// How the receiving application reads: at once, or at a constant rate. Data that it has not read yet occupies the
    /// receiver's window.
    pub reader: Reader,
    /// How losses found by duplicate acknowledgements are repaired; "variant" means the recovery of the congestion
    /// control.
    pub recovery: RecoveryChoice,
    /// Whether a recovery spreads the reduction of the window over a round trip, in proportion to the delivered data
    /// (RFC 9937). "recovery" means on for `rack` and off for `sack`. "on" and "off" apply to both.
    pub prr: Proportional,
    /// Whether `rack` sends probes for the loss of the last segments (RFC 8985 §7).
    pub tail_loss_probe: bool,
    /// The time by which the receiver may delay an acknowledgement. A tail loss probe waits longer by this time if a
    /// single segment is outstanding (RFC 8985 §7.2).
    pub max_ack_delay: Span,
    /// Whether a receiver that uses SACK also reports duplicate segments (RFC 2883).
    pub dsack: bool,
    /// The number of duplicate acknowledgements that show a loss. RFC 5681 §3.2; ns-2: `numdupacks_`.
    pub duplicate_threshold: u32,
    /// Whether each of the first duplicate acknowledgements allows one new segment (RFC 3042). ns-2: `singledup_`.
    pub limited_transmit: bool,
    /// The TCP that is followed in details that no other key says. "rfc": the RFCs. "ns2": recoveries, the computation
    /// of the timeout, options that are not padded to words. "linux": a sender of its own, with the keys of
    /// `[tcp.linux]`.
    pub habits: Habits,
    /// The window at the end of a fast recovery.
    pub recovery_exit: RecoveryExit,
    /// The maximum number of segments sent on one acknowledgement during NewReno's recovery; 0 means no limit.
    pub recovery_burst: u32,
    /// Whether a fast retransmission restarts the retransmission timer. rfc: RFC 6298 §5.1.
    pub fast_retransmit_restarts_timer: bool,
    /// The maximum number of segments sent on one event; 0 means no limit. ns-2: `maxburst_`.
    pub max_burst: u32,
    /// Whether segments carry timestamps (RFC 7323), so that every acknowledgement gives a round-trip sample. Without
    /// timestamps, one segment is timed at a time. ns2: `timestamps_`.
    pub timestamps: bool,
    /// The copies of acknowledged data that set the timestamp which the receiver echoes, if they were sent later.
    /// "all": every copy (RFC 7323 §4.3 and appendix D; ns-2's `update_ts`). "last": copies that reach the last
    /// acknowledgement (Linux, FreeBSD). "none": no copy (RFC 7323 §5.3).
    pub echo_copies: EchoCopies,
    /// The timeout before the first sample. rfc: RFC 6298 §2.1; ns2: `rtxcur_init_`.
    pub initial_rto: Span,
    /// The minimum timeout. rfc: RFC 6298 §2.4; ns2: `minrto_`.
    pub min_rto: Span,
    /// The maximum timeout. RFC 6298 §2.5; ns-2: `maxrto_`.
    pub max_rto: Span,
    /// The factor of the timeout that is computed from round-trip times, before the limits apply. TCP-DAA: 5.
    pub timeout_factor: f64,
    /// The granularity of the clock that measures round trips. ns2: `tcpTick_`; linux: that of timers (HZ 250).
    pub tick: Span,
    /// The window after a pause. rfc: RFC 5681 §4.1.
    pub idle_restart: IdleRestart,
    /// Whether both ends agree that queues mark segments instead of dropping them (ECN, RFC 3168). The sender answers a
    /// mark as a loss, once a window, and sends nothing again.
    pub ecn: bool,
    /// When an end without traffic asks whether the other one is there.
    pub keep_alive: keep_alive::Params,
    /// The parameters of Linux's TCP.
    pub linux: linux::Params,
}

impl Params {
    /// The initial slow start threshold, in segments.
    pub fn first_ssthresh(&self) -> f64 {
        f64::from(if self.initial_ssthresh == 0 { self.window } else { self.initial_ssthresh })
    }

    /// Payload of a full segment in bytes.
    pub fn mss(&self) -> u32 {
        // `check` keeps it within an IP packet.
        self.segment_size.count() as u32
    }

    /// How long an end that closed first stays to answer copies of the other end's FIN: twice the life of a segment
    /// (RFC 9293 §3.4.2), or Linux's minute. Senders of ns-2 do not stay.
    pub const fn time_wait(&self) -> Span {
        match self.habits {
            Habits::Rfc => Span::from_secs(240),
            Habits::Linux => Span::from_secs(60),
            Habits::Ns2 => Span::ZERO,
        }
    }

    /// The receiver's window in bytes.
    pub fn window_bytes(&self) -> u32 {
        self.window.saturating_mul(self.mss())
    }
}

impl params::Params for Params {
    const PROFILES: &'static [&'static str] = &[RFC, NS2, LINUX];

    fn of_profile(profile: &str) -> Self {
        let rfc = Self {
            segment_size: Bytes::new(1448),
            window: 45,
            initial_window: 10,
            initial_ssthresh: 65_535,
            max_cwnd: 0,
            connect: Connect::ThreeWay,
            close: Close::Fin,
            nagle: true,
            reader: Reader::AtOnce,
            recovery: RecoveryChoice::Variant,
            prr: Proportional::Recovery,
            tail_loss_probe: true,
            max_ack_delay: Span::from_millis(200),
            dsack: true,
            duplicate_threshold: 3,
            limited_transmit: true,
            habits: Habits::Rfc,
            recovery_exit: RecoveryExit::Flight,
            recovery_burst: 0,
            fast_retransmit_restarts_timer: false,
            max_burst: 0,
            timestamps: true,
            echo_copies: if profile == NS2 { EchoCopies::All } else { EchoCopies::Last },
            initial_rto: Span::from_secs(1),
            min_rto: Span::from_secs(1),
            max_rto: Span::from_secs(60),
            timeout_factor: 1.0,
            tick: Span::from_millis(1),
            idle_restart: IdleRestart::InitialWindow,
            ecn: false,
            keep_alive: keep_alive::Params::default(),
            linux: linux::Params::default(),
        };
        if profile == LINUX {
            return Self {
                window: 2172,
                habits: Habits::Linux,
                min_rto: Span::from_millis(200),
                max_rto: Span::from_secs(120),
                tick: Span::from_millis(4),
                ..rfc
            };
        }
        if profile != NS2 {
            return rfc;
        }
        Self {
            segment_size: Bytes::new(1000),
            window: 20,
            initial_window: 2,
            initial_ssthresh: 0,
            connect: Connect::Ns2,
            close: Close::None,
            nagle: false,
            dsack: false,
            habits: Habits::Ns2,
            recovery_exit: RecoveryExit::Grow,
            recovery_burst: 2,
            fast_retransmit_restarts_timer: true,
            timestamps: false,
            initial_rto: Span::from_secs(3),
            min_rto: Span::from_millis(200),
            tick: Span::from_millis(10),
            idle_restart: IdleRestart::OneSegment,
            ..rfc
        }
    }

    fn check(&self) -> Result<(), Fault> {
        let at_least_one = [
            ("window", self.window),
            ("initial_window", self.initial_window),
            ("duplicate_threshold", self.duplicate_threshold),
        ];
        if let Some((name, _)) = at_least_one.iter().find(|(_, value)| *value == 0) {
            return Err(Fault::new(name, "expected at least 1, found 0"));
        }
        if !(1..=65_455).contains(&self.segment_size.count()) {
            let found = self.segment_size;
            return Err(Fault::new(
                "segment_size",
                format!("expected 1 B to 65455 B (an IP packet's room), found {found}"),
            ));
        }
        if u64::from(self.window) * self.segment_size.count() > 1 << 30 {
            return Err(Fault::new("window", "expected at most 1 GiB in all (RFC 7323 §2.3)"));
        }
        if self.initial_ssthresh == 1 {
            return Err(Fault::new("initial_ssthresh", "expected 0 or at least 2, found 1"));
        }
        if !(self.timeout_factor >= 1.0 && self.timeout_factor.is_finite()) {
            let problem = format!("expected at least 1, found {}", self.timeout_factor);
            return Err(Fault::new("timeout_factor", problem));
        }
        if self.habits == Habits::Linux && self.connect == Connect::Ns2 {
            return Err(Fault::new("connect", "expected \"three_way\" or \"none\" with `habits = \"linux\"`"));
        }
        if self.tick.is_zero() {
            return Err(Fault::new("tick", "expected more than 0 s"));
        }
        if self.min_rto.is_zero() || self.min_rto > self.max_rto {
            let problem =
                format!("expected more than 0 s and at most max_rto ({}), found {}", self.max_rto, self.min_rto);
            return Err(Fault::new("min_rto", problem));
        }
        if self.initial_rto.is_zero() || self.initial_rto > self.max_rto {
            let problem = format!("expected more than 0 s and at most max_rto ({})", self.max_rto);
            return Err(Fault::new("initial_rto", problem));
        }
        if self.keep_alive.interval.is_zero() {
            return Err(Fault::new("keep_alive", "expected an interval of more than 0 s, found 0 s"));
        }
        Ok(())
    }

    fn unused(&self) -> Vec<Unused> {
        // Linux's recovery has these, whatever `recovery` says.
        let lacks = |able: &[RecoveryChoice]| self.habits != Habits::Linux && !able.contains(&self.recovery);
        unused_where([
            (self.habits != Habits::Linux, "habits", &["linux"]),
            (
                self.habits == Habits::Linux,
                "habits",
                &["recovery", "limited_transmit", "recovery_exit", "recovery_burst", "fast_retransmit_restarts_timer"],
            ),
            (!self.timestamps, "timestamps", &["echo_copies"]),
            (
                lacks(&[RecoveryChoice::Variant, RecoveryChoice::Rack]),
                "recovery",
                &["tail_loss_probe", "max_ack_delay"],
            ),
            (lacks(&[RecoveryChoice::Variant, RecoveryChoice::Rack, RecoveryChoice::Sack]), "recovery", &["prr"]),
        ])
    }
}
