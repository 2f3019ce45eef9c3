//! One transfer by two kernels.

use std::fmt::{self, Write as _};

use hopyard_engine::{Span, Time};
use hopyard_kernels::{Completion, Guest, Kernels, Settings, initrd};

use crate::built::Built;
use crate::cases::Case;
use crate::link::{Answer, Link, Segment};

/// The longest time that a transfer may take.
const LIMIT: Span = Span::from_secs(300);
/// What an application writes at once.
const CHUNK: u64 = 44;

/// What both ends sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// When the SYN was sent, in nanoseconds since the kernel began.
    pub syn: u64,
    pub departures: Vec<Segment>,
    pub answers: Vec<Answer>,
}

impl Capture {
    /// A line for each packet, in the order of time; times are rounded down to microseconds.
    pub fn write(&self, case: usize, lines: &mut String) -> fmt::Result {
        let (mut segments, mut answers) = (self.departures.iter().peekable(), self.answers.iter().peekable());
        let mut first = case.to_string();
        loop {
            let answer_first = match (segments.peek(), answers.peek()) {
                (None, None) => return Ok(()),
                (Some(segment), Some(answer)) => answer.time < segment.time,
                (None, Some(_)) => true,
                (Some(_), None) => false,
            };
            // The number of a case stands in its first line only.
            write!(lines, "{},", std::mem::take(&mut first))?;
            if let Some(answer) = answers.next_if(|_| answer_first) {
                let blocks: Vec<String> = answer.blocks.iter().map(|(from, to)| format!("{from}-{to}")).collect();
                writeln!(lines, "a,{},{},,{}", answer.time / 1000, answer.segments, blocks.join(" "))?;
            } else if let Some(segment) = segments.next() {
                writeln!(lines, "d,{},{},{},", segment.time / 1000, segment.number, u8::from(segment.again))?;
            }
        }
    }
}

pub fn mac(kernel: usize) -> [u8; 6] {
    [2, 0, 0, 0, 0, kernel as u8 + 1]
}

fn guest(built: &Built, number: usize, case: &Case, orders: &str) -> Guest {
    let mut text = format!("address eth0 10.0.0.{} 24\n", number + 1);
    let mut set = |path: &str, value: &str| text.push_str(&format!("sysctl net/ipv4/{path} {value}\n"));
    // The application never limits.
    set("tcp_wmem", "4096 4194304 4194304");
    set("tcp_ecn", "0");
    set("tcp_sack", if case.sack { "1" } else { "0" });
    set("tcp_timestamps", if case.timestamps { "1" } else { "0" });
    if case.receiver == "every" {
        // A window that grows with each segment makes each be acknowledged; reports of SACK are not joined.
        set("tcp_rmem", "4096 6291456 6291456");
        set("tcp_comp_sack_nr", "0");
    } else {
        set("tcp_rmem", "4096 131072 6291456");
    }
    text.push_str(orders);
    text.push('\n');
    Guest {
        name: format!("host {number}"),
        program: built.program.clone(),
        initrd: initrd::archive(&[("init", 0o755, &built.agent), ("orders", 0o644, text.as_bytes())]),
        parameters: Vec::new(),
        memory: 256,
        devices: vec![mac(number)],
        seed: 1,
    }
}

/// Records a case, until the sender has closed.
pub fn record(built: &Built, case: &Case) -> Result<Capture, String> {
    let named = |error: &dyn fmt::Display| format!("case {}: {error}", case.number);
    let source = format!(
        "source 10.0.0.2 5001 40000 {} {} {} {} 0",
        case.sender,
        case.start,
        case.segments * case.segment(),
        CHUNK * case.segment()
    );
    let guests = [guest(built, 0, case, &source), guest(built, 1, case, "sink 5001")];
    let settings = Settings { completion: Completion::Immediate, ..Settings::default() };
    let mut kernels = Kernels::start(&guests, settings).map_err(|error| named(&error))?;
    let mut link = Link::new(case);
    let mut until = Time::ZERO;
    let mut written = [String::new(), String::new()];
    while !written[0].contains("@sent ") {
        until += Span::from_secs(1);
        if until > Time::ZERO + LIMIT || written.iter().any(|it| it.contains("@error") || it.contains("@broken")) {
            return Err(named(&format!("not sent after {until}: {written:#?}")));
        }
        kernels.advance(until, &mut link, || false).map_err(|error| named(&error))?;
        for (kernel, written) in written.iter_mut().enumerate() {
            written.push_str(&kernels.lines(kernel).map_err(|error| named(&error))?);
        }
    }
    let (syn, _) = link.syn.ok_or_else(|| named(&"no SYN"))?;
    Ok(Capture { syn: syn.nanos(), departures: link.segments, answers: link.answers })
}
