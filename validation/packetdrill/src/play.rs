//! Plays a script: simulates the end under test, gives it the script's packets and calls, and compares what it sends.
//!
//! Read: packetdrill's documentation. A time is met within the tolerance, 4 ms unless the script says otherwise. A
//! relative time counts from the time that the script gives the event before, or, if that was a range, from when it
//! happened. An expected segment that is longer than a full one may be sent as several, as packetdrill allows it for
//! segmentation offload, unless the script is strict about segments. Segments that are sent and that no event expects
//! are met by the next event that expects one; after the last such event they are not looked at.
//!
//! Not compared, because the model's segments do not have them: the options of a SYN, and PSH in profiles without it.
//! PSH is compared at the end of what the application has written, and in segments without data; elsewhere the size of
//! the buffers decides, which the scripts set by a sysctl.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::{Span, Time};
use hopyard_model::transport::tcp::Habits;

use crate::agreement::{Agreement, Model, ModelError};
use crate::code::{self, Names, NoValue, Statement};
use crate::endpoint::{Endpoint, Sent};
use crate::features::{self, Reason};
use crate::script::{Action, Call, Content, Direction, Event, Options, Script, Segment, Stamp, When};
use crate::setup::Setup;

/// How long an arriving packet takes through the device: packetdrill writes it to a TUN device, so that the kernel sees
/// it some microseconds after a system call of the same time. Some scripts have ties that this decides.
const DEVICE: Span = Span::from_micros(10);
/// By how much a time may be missed.
const TOLERANCE: Span = Span::from_micros(4000);
/// How long a script lasts at most.
const LONGEST: Time = Time::from_nanos(24 * 3600 * 1_000_000_000);
/// How long an event at any time is waited for.
const PATIENCE: Span = Span::from_secs(1000);

/// How a script ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All that was compared is as the script says.
    Passed,
    /// Something is not.
    Failed(Failure),
    /// The script needs what the model does not have.
    NotApplicable(BTreeSet<Reason>),
}

/// Where and why a script failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text}")]
pub struct Failure {
    /// The line of the script.
    pub line: usize,
    /// What differs.
    pub text: String,
}

/// What came of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// Segments that were compared.
    pub segments: u32,
    /// Assertions that held.
    pub assertions: u32,
    /// Names in assertions that the model does not have: these assertions were not compared.
    pub not_compared: BTreeSet<String>,
}

/// Plays a script under a profile of TCP; `load` gives the text of a file that its commands run.
///
/// # Errors
/// When the model has no such profile or congestion control.
pub fn play(script: &Script, profile: &str, load: &dyn Fn(&str) -> Option<String>) -> Result<Report, ModelError> {
    let setup = Setup::of(script, load);
    let mut report = Report { outcome: Outcome::Passed, segments: 0, assertions: 0, not_compared: BTreeSet::default() };
    let missing = features::missing(script, &setup);
    if !missing.is_empty() {
        report.outcome = Outcome::NotApplicable(missing);
        return Ok(report);
    }
    let role = features::role(script);
    let agreement = Agreement::of(script, &setup);
    let model = Model::of(script, &setup, &agreement, role, profile)?;
    let passive = !script.calls().any(|call| call.name == "connect");
    let mut player = Player {
        end: Endpoint::new(role, &model, agreement, passive),
        agreement,
        push: model.config.tcp.habits == Habits::Linux,
        strict: script.options.iter().any(|(name, _)| name == "strict_segments"),
        tolerance: micros(script, "tolerance_usecs").unwrap_or(TOLERANCE),
        tick: micros(script, "tcp_ts_tick_usecs").filter(|tick| !tick.is_zero()),
        last: Time::ZERO,
        connection: None,
        waiting: Vec::new(),
        echoes: BTreeMap::new(),
        first_timestamp: None,
        names: Names::default(),
        shut: false,
        report,
    };
    if let Err(failure) = player.run(script) {
        player.report.outcome = Outcome::Failed(failure);
    }
    Ok(player.report)
}

fn micros(script: &Script, option: &str) -> Option<Span> {
    script.option(option)?.parse::<u32>().ok().map(|micros| Span::from_micros(micros.into()))
}

/// A call that has not returned.
#[derive(Clone, Debug)]
struct Waiting {
    line: usize,
    kind: Wait,
    from: Time,
    to: Time,
}

#[derive(Clone, Debug)]
enum Wait {
    /// `accept`, with the descriptor that it returns, or `connect`.
    Open(Option<i64>),
    /// `read`, with what it asks and gets.
    Read(u64, u64),
}

struct Player {
    end: Endpoint,
    agreement: Agreement,
    strict: bool,
    /// Whether segments have PSH.
    push: bool,
    tolerance: Span,
    /// The unit of the script's timestamps, if they are compared.
    tick: Option<Span>,
    /// The time from which relative ones count.
    last: Time,
    /// The descriptor of the connection.
    connection: Option<i64>,
    waiting: Vec<Waiting>,
    /// The values of timestamps in the script, and what this end had sent there.
    echoes: BTreeMap<u32, u32>,
    /// The first timestamp of this end, in the script and as it was sent.
    first_timestamp: Option<(u32, u32)>,
    names: Names,
    /// The application receives no more.
    shut: bool,
    report: Report,
}

type Step = Result<(), String>;

impl Player {
    fn run(&mut self, script: &Script) -> Result<(), Failure> {
        for event in &script.events {
            self.event(event).map_err(|text| Failure { line: event.line, text })?;
        }
        if let Some(call) = self.waiting.first() {
            return Err(Failure { line: call.line, text: "the call does not return".to_owned() });
        }
        Ok(())
    }

    /// The earliest and the latest time of an event.
    fn times(&self, when: When) -> (Time, Time) {
        let time = |stamp: Stamp| if stamp.relative { self.last + stamp.after } else { Time::ZERO + stamp.after };
        match when {
            When::Any => (self.end.now(), self.end.now() + PATIENCE),
            When::At(stamp) => (time(stamp), time(stamp)),
            When::Between(first, last) | When::During(first, last) => (time(first), time(last)),
        }
    }

    fn event(&mut self, event: &Event) -> Step {
        let (from, to) = self.times(event.when);
        if from > LONGEST || to > LONGEST {
            return Err("the script lasts longer than a day".to_owned());
        }
        if let Action::Packet(packet) = &event.action
            && packet.direction == Direction::Out
            && let Content::Tcp(segment) = &packet.content
        {
            let at = self.expect(segment, from, to)?;
            self.last = if matches!(event.when, When::At(_)) { from } else { at };
            return Ok(());
        }
        let through = if matches!(event.action, Action::Packet(_)) { DEVICE } else { Span::ZERO };
        self.end.advance((from + through).max(self.end.now()), false)?;
        self.last = from;
        match &event.action {
            Action::Packet(packet) => match &packet.content {
                Content::Tcp(segment) => {
                    let echo = segment.timestamps().and_then(|(_, echo)| self.echoes.get(&echo).copied());
                    self.end.arrive(segment, echo);
                    self.settle()
                }
                Content::Other(text) => Err(format!("a packet that is not TCP: {text}")),
            },
            Action::Call(call) => self.call(event, call, from, to),
            // What a command sets was looked at before.
            Action::Command(_) => Ok(()),
            Action::Code(code) => self.assert(code),
        }
    }

    /// Meets an expected segment, and returns when it was sent.
    fn expect(&mut self, wanted: &Segment, from: Time, to: Time) -> Result<Time, String> {
        let end = wanted.seq + u64::from(wanted.len);
        let mut next = wanted.seq;
        loop {
            self.end.advance(to + self.tolerance, true)?;
            let Some(sent) = self.end.take() else {
                let (from, to) = (show(from), show(to + self.tolerance));
                let more = if next > wanted.seq { format!(" more than {}:{next}", wanted.seq) } else { String::new() };
                return Err(format!("nothing{more} is sent from {from} to {to}, expected {}", expectation(wanted)));
            };
            let differs = |what: &str| {
                Err(format!("{what}: sent {} at {}, expected {}", describe(&sent), show(sent.at), expectation(wanted)))
            };
            let last = sent.seq + u64::from(sent.len) >= end;
            if sent.seq != next || sent.seq + u64::from(sent.len) > end || (sent.len == 0 && wanted.len > 0) {
                return differs("other numbers");
            }
            if self.strict && sent.len != wanted.len {
                return differs("another length");
            }
            if sent.syn != wanted.has('S') || (last && sent.fin != wanted.has('F')) || (!last && sent.fin) {
                return differs("other flags");
            }
            if self.push && last && sent.decided && sent.psh != wanted.has('P') {
                return differs("another flag PSH");
            }
            if sent.ack.is_some() != wanted.has('.') || (wanted.ack.is_some() && sent.ack != wanted.ack) {
                return differs("another acknowledgement");
            }
            if sent.at + self.tolerance < from {
                return differs(&format!("before {}", show(from)));
            }
            if sent.at > to + self.tolerance {
                return differs(&format!("after {}", show(to)));
            }
            if let Some(window) = wanted.window {
                let shift = if sent.syn { 0 } else { self.agreement.shift_out };
                if sent.window >> shift != window {
                    return differs(&format!("a window of {} bytes", sent.window));
                }
            }
            if let Some(problem) = self.options(wanted, &sent) {
                return differs(&problem);
            }
            self.report.segments += 1;
            if last {
                return Ok(sent.at);
            }
            next = sent.seq + u64::from(sent.len);
        }
    }

    /// Compares the options of a segment, and remembers its timestamp.
    fn options(&mut self, wanted: &Segment, sent: &Sent) -> Option<String> {
        let written = wanted.timestamps();
        if let (Some((written, _)), Some((value, _))) = (written, sent.timestamps) {
            self.echoes.insert(written, value);
            let (first_written, first) = *self.first_timestamp.get_or_insert((written, value));
            if let Some(tick) = self.tick {
                let ticks = u64::from(written.wrapping_sub(first_written));
                let wanted = Span::from_nanos(tick.nanos().saturating_mul(ticks));
                let found = Span::from_millis(u64::from(value.wrapping_sub(first)));
                if wanted.saturating_sub(found) + found.saturating_sub(wanted) > self.tolerance {
                    return Some(format!("a timestamp {found} after the first, not {wanted}"));
                }
            }
        }
        if sent.syn || wanted.options == Options::Any {
            return None;
        }
        if written.is_some() != sent.timestamps.is_some() {
            return Some(if written.is_some() { "no timestamps" } else { "timestamps" }.to_owned());
        }
        if let (Some((_, wanted)), Some((_, found))) = (written, sent.timestamps)
            && wanted != found
        {
            return Some(format!("echo {found}, not {wanted}"));
        }
        (wanted.sack() != sent.sack).then(|| format!("SACK blocks {}", blocks(&sent.sack)))
    }

    fn assert(&mut self, code: &str) -> Step {
        for statement in code::read(code)? {
            let info = |name: &str| self.end.info(name);
            match statement {
                Statement::Set(name, expression) => match self.names.value(&expression, &info) {
                    Ok(value) => self.names.set(&name, value),
                    Err(NoValue::Unknown(unknown)) => drop(self.report.not_compared.insert(unknown)),
                    Err(error) => return Err(error.to_string()),
                },
                Statement::Assert(expression, text) => match self.names.value(&expression, &info) {
                    Ok(value) if value != 0.0 => self.report.assertions += 1,
                    Ok(_) => {
                        let mut values = Vec::new();
                        for name in code::names(&expression) {
                            values.extend(self.names.get(&name, &info).map(|value| format!("{name} is {value}")));
                        }
                        return Err(format!("assert {text}: {}", values.join(", ")));
                    }
                    Err(NoValue::Unknown(unknown)) => drop(self.report.not_compared.insert(unknown)),
                    Err(error) => return Err(error.to_string()),
                },
            }
        }
        Ok(())
    }

    /// Plays a system call that begins at `from` and returns at `to`.
    fn call(&mut self, event: &Event, call: &Call, from: Time, to: Time) -> Step {
        let wait = matches!(event.when, When::During(..));
        let waiting = |kind| Waiting { line: event.line, kind, from, to };
        match call.name.as_str() {
            "connect" => {
                self.connection = call.number(0);
                self.end.connect();
                if call.error.is_none() {
                    self.waiting.push(waiting(Wait::Open(None)));
                }
            }
            "accept" => {
                let descriptor = call.result.number();
                if call.error.is_some() {
                    return if self.end.is_established() { Err("a connection is there".to_owned()) } else { Ok(()) };
                }
                self.waiting.push(waiting(Wait::Open(descriptor)));
                if !wait && !self.end.is_established() {
                    return Err("the connection is not open".to_owned());
                }
            }
            "read" | "recv" | "recvfrom" | "recvmsg" if self.is_connection(call) => {
                let asked = features::asked(call).unwrap_or_default().max(0) as u64;
                if call.error.is_some() {
                    let nothing = self.end.available() == 0 && !self.end.is_ended();
                    return if nothing { Ok(()) } else { Err("the call returns at once".to_owned()) };
                }
                let wanted = call.result.number().unwrap_or_default().max(0) as u64;
                self.waiting.push(waiting(Wait::Read(asked, wanted)));
                let nothing = self.end.available() == 0 && !self.end.is_ended() && !self.shut && asked > 0;
                if !wait && nothing {
                    return Err("there is nothing to read".to_owned());
                }
            }
            "ioctl" if self.is_connection(call) => {
                let (wanted, found) = (call.number(2).unwrap_or_default(), self.end.available());
                if wanted != found as i64 {
                    return Err(format!("{found} bytes may be read, expected {wanted}"));
                }
            }
            "shutdown" if self.is_connection(call) => {
                self.shut |= matches!(call.word(1), Some("SHUT_RD" | "SHUT_RDWR"));
                if features::closes(call, self.connection.unwrap_or(-1)) {
                    self.end.close();
                }
            }
            "close" if self.is_connection(call) => self.end.close(),
            "getsockopt" => return self.socket_option(call),
            _ if features::writes(call) && self.is_connection(call) => {
                if self.end.is_closed() != (call.error.as_deref() == Some("EPIPE")) {
                    let closed = if self.end.is_closed() { "" } else { "not " };
                    return Err(format!("the sending half is {closed}closed"));
                }
                if !self.end.is_closed() {
                    self.end.write(features::asked(call).unwrap_or_default().max(0) as u64);
                }
            }
            _ => {}
        }
        self.settle()
    }

    fn is_connection(&self, call: &Call) -> bool {
        self.connection.is_some() && call.number(0) == self.connection
    }

    fn socket_option(&self, call: &Call) -> Step {
        let found = match call.word(2) {
            Some("SO_ERROR") => 0,
            Some("TCP_NODELAY") => i64::from(self.agreement.no_delay),
            // Before the connection, the value that was set; a socket without one has the smallest.
            Some("TCP_MAXSEG") if self.end.is_established() => self.agreement.mss.into(),
            Some("TCP_MAXSEG") => self.agreement.announced_mss.into(),
            _ => return Ok(()),
        };
        match call.number(3) {
            Some(wanted) if wanted != found => Err(format!("the option is {found}, expected {wanted}")),
            _ => Ok(()),
        }
    }

    /// Lets calls return that wait for nothing more.
    fn settle(&mut self) -> Step {
        let waiting = std::mem::take(&mut self.waiting);
        for call in waiting {
            let nothing = self.end.available() == 0 && !self.end.is_ended() && !self.shut;
            let ready = match call.kind {
                Wait::Open(_) => self.end.is_established(),
                Wait::Read(asked, _) => !nothing || asked == 0,
            };
            if !ready {
                self.waiting.push(call);
                continue;
            }
            match call.kind {
                Wait::Open(Some(descriptor)) => self.connection = Some(descriptor),
                Wait::Open(None) => {}
                Wait::Read(asked, wanted) => {
                    let found = asked.min(self.end.available());
                    if found != wanted {
                        return Err(format!("the call of line {} reads {found} bytes, expected {wanted}", call.line));
                    }
                    self.end.read(found);
                }
            }
            let now = self.end.now();
            if now > call.to + self.tolerance || (now + self.tolerance < call.to && now > call.from) {
                let (now, to) = (show(now), show(call.to));
                return Err(format!("the call of line {} returns at {now}, expected {to}", call.line));
            }
        }
        Ok(())
    }
}

fn show(time: Time) -> String {
    format!("{:.6} s", time.seconds())
}

fn blocks(sack: &[(u64, u64)]) -> String {
    let texts: Vec<String> = sack.iter().map(|(start, end)| format!("{start}:{end}")).collect();
    if texts.is_empty() { "none".to_owned() } else { texts.join(" ") }
}

fn options_text(timestamps: Option<(u32, u32)>, sack: &[(u64, u64)]) -> String {
    let mut texts = Vec::new();
    texts.extend(timestamps.map(|(value, echo)| format!("TS val {value} ecr {echo}")));
    texts.extend((!sack.is_empty()).then(|| format!("sack {}", blocks(sack))));
    if texts.is_empty() { String::new() } else { format!(" <{}>", texts.join(",")) }
}

fn describe(sent: &Sent) -> String {
    let flags: String = [(sent.syn, 'S'), (sent.fin, 'F'), (sent.psh, 'P'), (sent.ack.is_some(), '.')]
        .iter()
        .filter_map(|(set, flag)| set.then_some(*flag))
        .collect();
    let ack = sent.ack.map_or_else(String::new, |ack| format!(" ack {ack}"));
    let (start, end) = (sent.seq, sent.seq + u64::from(sent.len));
    format!("{flags} {start}:{end}({}){ack}{}", sent.len, options_text(sent.timestamps, &sent.sack))
}

fn expectation(wanted: &Segment) -> String {
    let ack = wanted.ack.map_or_else(String::new, |ack| format!(" ack {ack}"));
    let (start, end) = (wanted.seq, wanted.seq + u64::from(wanted.len));
    let options = options_text(wanted.timestamps(), wanted.sack());
    format!("{} {start}:{end}({}){ack}{options}", wanted.flags, wanted.len)
}
