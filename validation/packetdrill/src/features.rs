//! What a script needs, found in its text: which end of the connection is under test, and what the model does not have.
//!
//! The rules look for features only. Whether a script fails plays no part, nor does its name.

use std::collections::BTreeSet;
use std::fmt;

use hopyard_engine::Span;

use crate::script::{Action, Call, Content, Direction, Event, Script, Segment, Stamp, TcpOption, Value, When};
use crate::setup::Setup;

/// The end that a script tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It sends data, or closes first.
    Sender,
    /// It receives data.
    Receiver,
}

/// What a script needs that the model does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Packets of IPv6.
    Ipv6,
    /// A packet or a socket that is not TCP, or TCP inside another protocol.
    OtherProtocol(String),
    /// TCP Fast Open (RFC 7413).
    FastOpen,
    /// Explicit Congestion Notification (RFC 3168), or the accurate one.
    Ecn,
    /// Segments with RST.
    Resets,
    /// Urgent data.
    Urgent,
    /// An option of TCP.
    TcpOption(String),
    /// Data, or data and a FIN that goes first, in both directions of a connection.
    BothDirections,
    /// A receiving end that opens the connection.
    ReceiverOpens,
    /// A receiving end whose application closes later than the other end.
    CloseWait,
    /// More than one connection.
    SeveralConnections,
    /// The limit of a send buffer, which makes calls wait or write less.
    SendBuffer,
    /// Sending that is held back by the application (`TCP_CORK`, `MSG_MORE`).
    Cork,
    /// Ends of records that segments may not cross.
    RecordEnds,
    /// `epoll`, `poll` and `select`.
    Readiness,
    /// Times and other data beside the payload (`MSG_ERRQUEUE`, control messages).
    AncillaryData,
    /// Giving up after retransmissions, and keep-alives.
    GivingUp,
    /// Path MTU discovery, and MTU probing.
    PathMtu,
    /// Values of a route, such as its MTU or its initial window.
    Route,
    /// A queue that paces.
    PacingQueue,
    /// A queue of the host that drops what TCP sends.
    LocalDrops,
    /// Errors of system calls that no packet causes.
    ErrorsOfCalls,
    /// A system call.
    Call(String),
    /// A socket option.
    SocketOption(String),
    /// A shell command.
    Command(String),
    /// A sysctl.
    Sysctl(String),
    /// A sysctl that changes while the connection is open.
    SettingsThatChange,
    /// Statements beyond assertions.
    Code(String),
}

/// What kind of thing a script needs. A script belongs to the first that it needs anything of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Another protocol, or a part of TCP on the wire that no flow of Hopyard uses.
    Wire,
    /// A way to use a connection that no flow of Hopyard has: data in both directions, several connections, and so on.
    Connection,
    /// What a socket shows to its application, or is asked for by it.
    Socket,
    /// The host around TCP: its routes, queues and settings.
    Host,
}

impl fmt::Display for Class {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wire => "wire",
            Self::Connection => "connection",
            Self::Socket => "socket",
            Self::Host => "host",
        })
    }
}

impl Reason {
    /// Its class.
    #[must_use]
    pub const fn class(&self) -> Class {
        match self {
            Self::Ipv6
            | Self::OtherProtocol(_)
            | Self::FastOpen
            | Self::Ecn
            | Self::Resets
            | Self::Urgent
            | Self::TcpOption(_)
            | Self::PathMtu => Class::Wire,
            Self::BothDirections
            | Self::ReceiverOpens
            | Self::CloseWait
            | Self::SeveralConnections
            | Self::GivingUp => Class::Connection,
            Self::SendBuffer
            | Self::Cork
            | Self::RecordEnds
            | Self::Readiness
            | Self::AncillaryData
            | Self::ErrorsOfCalls
            | Self::Call(_)
            | Self::SocketOption(_) => Class::Socket,
            Self::Route
            | Self::PacingQueue
            | Self::LocalDrops
            | Self::Command(_)
            | Self::Sysctl(_)
            | Self::SettingsThatChange
            | Self::Code(_) => Class::Host,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Ipv6 => "IPv6",
            Self::OtherProtocol(name) => return write!(f, "protocol: {name}"),
            Self::FastOpen => "TCP Fast Open",
            Self::Ecn => "ECN",
            Self::Resets => "resets",
            Self::Urgent => "urgent data",
            Self::TcpOption(name) => return write!(f, "option of TCP: {name}"),
            Self::BothDirections => "data in both directions",
            Self::ReceiverOpens => "a receiver that opens the connection",
            Self::CloseWait => "a receiver that closes later (CLOSE-WAIT)",
            Self::SeveralConnections => "several connections",
            Self::SendBuffer => "limits of the send buffer",
            Self::Cork => "corked sending",
            Self::RecordEnds => "ends of records (MSG_EOR)",
            Self::Readiness => "poll and epoll",
            Self::AncillaryData => "ancillary data",
            Self::GivingUp => "giving up and keep-alives",
            Self::PathMtu => "path MTU",
            Self::Route => "values of a route",
            Self::PacingQueue => "pacing by the queue (fq)",
            Self::LocalDrops => "drops in the host's queue",
            Self::ErrorsOfCalls => "errors of system calls",
            Self::Call(name) => return write!(f, "system call: {name}"),
            Self::SocketOption(name) => return write!(f, "socket option: {name}"),
            Self::Command(name) => return write!(f, "command: {name}"),
            Self::Sysctl(name) => return write!(f, "sysctl: {name}"),
            Self::SettingsThatChange => "sysctls that change during the connection",
            Self::Code(_) => "code beyond assertions",
        };
        f.write_str(text)
    }
}

/// Everything that a script needs and the model does not have.
#[must_use]
pub fn missing(script: &Script, setup: &Setup) -> BTreeSet<Reason> {
    let mut found: BTreeSet<Reason> = setup.reasons.iter().cloned().collect();
    if script.option("ip_version").is_some_and(|version| version != "ipv4") {
        found.insert(Reason::Ipv6);
    }
    if script.options.iter().any(|(name, _)| name.starts_with("psp_")) {
        found.insert(Reason::OtherProtocol("psp".to_owned()));
    }
    for (_, packet) in script.packets() {
        if !packet.ip.is_empty() {
            found.insert(Reason::Ecn);
        }
        match &packet.content {
            Content::Other(text) => {
                let kind: String = text.chars().take_while(char::is_ascii_alphanumeric).collect();
                found.insert(if kind == "ipv6" { Reason::Ipv6 } else { Reason::OtherProtocol(kind) });
            }
            Content::Tcp(segment) => found.extend(of_segment(segment)),
        }
    }
    for event in &script.events {
        match &event.action {
            Action::Call(call) => found.extend(of_call(call, event.when)),
            Action::Code(code) => found.extend(crate::code::read(code).err().map(Reason::Code)),
            Action::Packet(_) | Action::Command(_) => {}
        }
    }
    if script.calls().any(|call| call.name == "sendfile") && !script.calls().any(|call| call.name == "open") {
        found.insert(Reason::Call("sendfile".to_owned()));
    }
    found.extend(of_connection(script));
    found
}

fn of_segment(segment: &Segment) -> Vec<Reason> {
    let mut found = Vec::new();
    if segment.has('R') {
        found.push(Reason::Resets);
    }
    if segment.has('U') || segment.urgent.is_some() {
        found.push(Reason::Urgent);
    }
    if segment.flags.contains(|c: char| "ECWA".contains(c) || c.is_ascii_digit()) {
        found.push(Reason::Ecn);
    }
    if segment.has('S') && segment.len > 0 {
        found.push(Reason::FastOpen);
    }
    for option in segment.options() {
        if let TcpOption::Other(text) = option {
            let name = text.split_whitespace().next().unwrap_or_default();
            found.push(match name {
                "FO" | "FOEXP" | "FOEXP64" => Reason::FastOpen,
                "ECN" | "accecn" | "acc_ecn" | "ACCECN" => Reason::Ecn,
                _ => Reason::TcpOption(name.to_owned()),
            });
        }
    }
    found
}

/// Calls that play with the sockets, files and the connection.
const CALLS: [&str; 20] = [
    "socket",
    "bind",
    "listen",
    "accept",
    "connect",
    "read",
    "write",
    "recv",
    "recvfrom",
    "recvmsg",
    "send",
    "sendto",
    "sendmsg",
    "sendfile",
    "open",
    "fcntl",
    "close",
    "shutdown",
    "setsockopt",
    "getsockopt",
];

/// Socket options without effect on the segments of a connection in the model.
const OPTIONS: [&str; 11] = [
    "SO_REUSEADDR",
    "SO_REUSEPORT",
    "SO_SNDBUF",
    "SO_ERROR",
    "SO_LINGER",
    "TCP_MAXSEG",
    "TCP_NODELAY",
    "IP_TOS",
    "IP_MTU_DISCOVER",
    "IP_FREEBIND",
    "SO_MARK",
];

fn of_call(call: &Call, when: When) -> Vec<Reason> {
    let mut found = Vec::new();
    if call.mentions("MSG_FASTOPEN") || call.mentions_prefix("TCP_FASTOPEN") {
        found.push(Reason::FastOpen);
    }
    if call.mentions("MSG_MORE") || call.mentions("TCP_CORK") {
        found.push(Reason::Cork);
    }
    if call.mentions("MSG_EOR") {
        found.push(Reason::RecordEnds);
    }
    if call.mentions("MSG_ERRQUEUE") || call.mentions("SO_TIMESTAMPING") || call.mentions("TCP_INQ") {
        found.push(Reason::AncillaryData);
    }
    match call.name.as_str() {
        name if name.starts_with("epoll") || name == "poll" || name == "select" => found.push(Reason::Readiness),
        name if name.starts_with("psp_") => found.push(Reason::OtherProtocol("psp".to_owned())),
        "socket" => {
            let stream = call.arguments.get(1).is_some_and(|kind| kind.mentions(&|name| name == "SOCK_STREAM"));
            let tcp = stream && matches!(call.word(2), Some("IPPROTO_TCP") | None);
            if call.arguments.first().is_some_and(|family| family.mentions(&|name| name.contains("INET6"))) {
                found.push(Reason::Ipv6);
            }
            if !tcp {
                found.push(Reason::OtherProtocol("socket".to_owned()));
            }
        }
        "setsockopt" | "getsockopt" => found.extend(of_socket_option(call)),
        "ioctl" if call.word(1) == Some("SIOCINQ") => {}
        "recvmsg" if call.mentions("msg_control") => found.push(Reason::AncillaryData),
        name if CALLS.contains(&name) => {}
        name => found.push(Reason::Call(name.to_owned())),
    }
    found.extend(of_result(call, when));
    found
}

fn of_socket_option(call: &Call) -> Option<Reason> {
    match call.word(2) {
        Some("TCP_USER_TIMEOUT" | "TCP_SYNCNT" | "SO_KEEPALIVE" | "TCP_KEEPIDLE" | "TCP_KEEPINTVL" | "TCP_KEEPCNT") => {
            Some(Reason::GivingUp)
        }
        Some("TCP_NOTSENT_LOWAT" | "SO_SNDLOWAT") => Some(Reason::SendBuffer),
        Some("SO_SNDBUF") if call.name == "getsockopt" => Some(Reason::SendBuffer),
        // What has been copied is the same segment: only the notice of it, which the application reads, is not there.
        Some("SO_ZEROCOPY") => None,
        // Each of these has a reason of its own.
        Some("SO_TIMESTAMPING" | "TCP_INQ" | "TCP_CORK") => None,
        Some(name) if name.starts_with("TCP_FASTOPEN") || OPTIONS.contains(&name) => None,
        Some(name) => Some(Reason::SocketOption(name.to_owned())),
        None => Some(Reason::SocketOption("with a number".to_owned())),
    }
}

/// What results say: errors, and writes that wait or write less than was asked.
fn of_result(call: &Call, when: When) -> Option<Reason> {
    if call.error.as_deref() == Some("ETIMEDOUT") {
        return Some(Reason::GivingUp);
    }
    if writes(call) {
        if call.error.as_deref() == Some("EAGAIN") {
            return Some(Reason::SendBuffer);
        }
        let waits = matches!(when, When::During(start, end) if start != end);
        let asked = asked(call);
        let short = asked.zip(call.result.number()).is_some_and(|(asked, got)| got >= 0 && got < asked);
        if waits || short {
            return Some(Reason::SendBuffer);
        }
    }
    let expected = match call.name.as_str() {
        "connect" => call.error.as_deref() == Some("EINPROGRESS"),
        "accept" | "read" | "recv" | "recvfrom" => call.error.as_deref() == Some("EAGAIN"),
        _ if writes(call) => call.error.as_deref() == Some("EPIPE"),
        _ => false,
    };
    (call.result.number().is_some_and(|number| number < 0) && !expected).then_some(Reason::ErrorsOfCalls)
}

/// Whether a call sends data.
#[must_use]
pub fn writes(call: &Call) -> bool {
    matches!(call.name.as_str(), "write" | "send" | "sendto" | "sendmsg" | "sendfile" | "writev")
}

/// How many bytes a call asks to send or to receive.
#[must_use]
pub fn asked(call: &Call) -> Option<i64> {
    match call.name.as_str() {
        "sendfile" => call.number(3),
        "sendmsg" | "recvmsg" => call.arguments.get(1).and_then(vectors),
        _ => call.number(2),
    }
}

/// The sum of the lengths in `msg_iov(n)=[{..., length}, ...]`.
fn vectors(message: &Value) -> Option<i64> {
    let Value::Fields(fields) = message else { return None };
    fields.iter().find_map(|field| match field {
        Value::Field(name, value) => match (&**name, &**value) {
            (Value::Apply(name, _), Value::List(vectors)) if name == "msg_iov" => {
                vectors.iter().try_fold(0_i64, |sum, vector| match vector {
                    Value::Fields(parts) => sum.checked_add(parts.get(1)?.number()?),
                    _ => None,
                })
            }
            _ => None,
        },
        _ => None,
    })
}

/// The descriptor of the connection: that which `accept` returned, or `connect` used.
fn descriptor(script: &Script) -> Option<i64> {
    script.calls().find_map(|call| match call.name.as_str() {
        "accept" => call.result.number().filter(|number| *number >= 0),
        "connect" => call.number(0),
        _ => None,
    })
}

/// Where in the script something happens: the index of its event.
fn place(script: &Script, fits: impl Fn(&Action) -> bool) -> Option<usize> {
    script.events.iter().position(|event| fits(&event.action))
}

fn arrives(action: &Action, fits: impl Fn(&Segment) -> bool) -> bool {
    matches!(action, Action::Packet(packet) if packet.direction == Direction::In
        && matches!(&packet.content, Content::Tcp(segment) if fits(segment)))
}

/// Whether an event happens at the time of the one before.
fn at_once(event: &Event) -> bool {
    event.when == When::At(Stamp { relative: true, after: Span::from_nanos(0) })
}

/// Whether a segment has a FIN that counts: one that acknowledges more than this end ever sends is dropped with it (RFC
/// 9293 §3.10.7.4, fifth).
fn closes_theirs(script: &Script, segment: &Segment) -> bool {
    let ours = script.segments().filter(|(direction, _)| *direction == Direction::Out);
    let last = ours.map(|(_, sent)| sent.seq + u64::from(sent.len) + 1).max().unwrap_or(0);
    segment.has('F') && segment.ack.is_none_or(|ack| ack <= last)
}

/// Whether a call ends the sending half of a connection.
#[must_use]
pub fn closes(call: &Call, descriptor: i64) -> bool {
    let ends = match call.name.as_str() {
        "close" => true,
        "shutdown" => matches!(call.word(1), Some("SHUT_WR" | "SHUT_RDWR")),
        _ => false,
    };
    ends && call.number(0) == Some(descriptor)
}

/// Which end of the connection a script tests.
#[must_use]
pub fn role(script: &Script) -> Role {
    let descriptor = descriptor(script).unwrap_or(-1);
    let written = script.calls().any(|call| writes(call) && call.result.number().is_some_and(|bytes| bytes > 0));
    let closed = place(script, |action| matches!(action, Action::Call(call) if closes(call, descriptor)));
    let fin = place(script, |action| arrives(action, |segment| closes_theirs(script, segment)));
    let data = place(script, |action| arrives(action, |segment| segment.len > 0 && !segment.has('S')));
    let first = match (closed, fin) {
        (Some(closed), Some(fin)) => closed < fin,
        (closed, _) => closed.is_some(),
    };
    if written || (data.is_none() && first) || (data.is_none() && fin.is_none()) {
        Role::Sender
    } else {
        Role::Receiver
    }
}

fn of_connection(script: &Script) -> Vec<Reason> {
    let mut found = Vec::new();
    let opened = script
        .calls()
        .filter(|call| match call.name.as_str() {
            "accept" => call.result.number().is_some_and(|number| number >= 0),
            "connect" => true,
            _ => false,
        })
        .count();
    if opened > 1 {
        found.push(Reason::SeveralConnections);
    }
    let active = script.calls().any(|call| call.name == "connect");
    let descriptor = descriptor(script).unwrap_or(-1);
    let data = place(script, |action| arrives(action, |segment| segment.len > 0 && !segment.has('S')));
    let fin = place(script, |action| arrives(action, |segment| closes_theirs(script, segment)));
    let closed = place(script, |action| matches!(action, Action::Call(call) if closes(call, descriptor)));
    match role(script) {
        Role::Sender if data.is_some() => found.push(Reason::BothDirections),
        Role::Sender => {
            // The other end closes first, and this end sends data after that.
            let after = |at: usize| closed.is_none_or(|closed| at < closed);
            if fin.is_some_and(after) {
                found.push(Reason::BothDirections);
            }
        }
        Role::Receiver => {
            if active {
                found.push(Reason::ReceiverOpens);
            }
            match (closed, fin) {
                (Some(closed), fin) if fin.is_none_or(|fin| closed < fin) => found.push(Reason::BothDirections),
                // Hopyard's receiver closes when the FIN arrives: so must the application of the script.
                (closed, Some(fin)) if closed != Some(fin + 1) || !at_once(&script.events[fin + 1]) => {
                    found.push(Reason::CloseWait);
                }
                _ => {}
            }
        }
    }
    found
}
