//! Captures of Linux's senders, and the same transfers by Hopyard's sender and receiver over the same link.
//!
//! `data/README.md` says how the captures were made. A capture and a run are compared event by event: each departure of
//! a data segment has a time, the number of the segment, and whether it was sent before.

pub mod link;

use std::io::Read as _;

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Time};
use hopyard_model::params::{LINUX, Params as _};
use hopyard_model::transport::congestion::control::hystart::Choice;
use hopyard_model::transport::congestion::{self, cubic};
use hopyard_model::transport::tcp;

/// The payload of a segment in the captures: an Ethernet frame with timestamps.
pub const SEGMENT: u64 = 1448;
/// The senders of the captures, with the names of Hopyard's variants.
pub const SENDERS: [(&str, &str); 7] = [
    ("reno", "newreno"),
    ("cubic", "cubic"),
    ("vegas", "vegas"),
    ("veno", "veno"),
    ("westwood", "westwood_plus"),
    ("illinois", "illinois"),
    ("bbr", "bbr"),
];
/// The scale of the receiver's window in the captures.
const SCALE: u32 = 7;
/// The grain of Linux's timing that a departure may differ by.
const GRAIN: Span = Span::from_millis(1);

/// A data segment leaves the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SentSegment {
    /// The time, from the SYN.
    pub time: Time,
    /// Its number, from 0; in a transfer that is written in pieces the byte at which it begins.
    pub segment: u64,
    /// Its payload.
    pub bytes: u64,
    /// It was sent before.
    pub again: bool,
}

/// An acknowledgement leaves the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acknowledgement {
    /// The time, from the SYN.
    pub time: Time,
    /// How many segments it acknowledges, or bytes if the transfer is written in pieces.
    pub segments: u64,
    /// The window in bytes.
    pub window: u32,
    /// The blocks of SACK, in the same unit.
    pub blocks: Vec<(u64, u64)>,
}

/// A transfer, the link that it goes over, and what a sender of Linux sent.
#[derive(Clone, Debug)]
pub struct Case {
    /// The set that it belongs to: "plain", or how the kernel was set otherwise.
    pub set: String,
    /// Linux's name of the sender.
    pub sender: String,
    pub name: String,
    pub rate: Rate,
    pub delay: Span,
    pub segments: u64,
    /// How many packets may wait beside the one being sent.
    pub queue: usize,
    /// Segments that are lost, one transmission for each entry.
    pub lost: Vec<u64>,
    /// Acknowledgements that are lost, counted from 0 in the order in which they are sent.
    pub acks_lost: Vec<u64>,
    /// What is given to the link in this time is lost.
    pub outage: Option<(Time, Time)>,
    /// Nothing begins to be sent in this time.
    pub stall: Option<(Time, Time)>,
    /// Segments whose first transmission takes longer.
    pub late: Vec<(u64, Span)>,
    /// Segments whose first transmission arrives again, so much later.
    pub twice: Vec<(u64, Span)>,
    /// When the application writes how many bytes, from its start; nothing if it writes all segments at once. If it
    /// does, `lost` are numbers of data segments in the order in which they are sent.
    pub writes: Vec<(Span, u64)>,
    /// When the SYN was sent, since the kernel had started.
    pub begin: Span,
    pub departures: Vec<SentSegment>,
    /// What the receiver sent, if it was read too.
    pub acknowledgements: Vec<Acknowledgement>,
}

/// The captures on which the rules of the profile were found.
pub fn cases() -> Vec<Case> {
    read(include_str!("../data/linux/cases.csv"), include_bytes!("../data/linux/departures.csv.gz"))
}

/// Captures of cases drawn from seed 1, which served to find rules.
pub fn seen() -> Vec<Case> {
    read(include_str!("../data/linux/seen/cases.csv"), include_bytes!("../data/linux/seen/departures.csv.gz"))
}

/// Captures of cases that were drawn from seed 2; rules were found on them after they had been compared once.
pub fn unseen() -> Vec<Case> {
    read(include_str!("../data/linux/unseen/cases.csv"), include_bytes!("../data/linux/unseen/departures.csv.gz"))
}

/// Captures of cases that were drawn from seed 3, recorded after the rules were fixed.
pub fn held_out() -> Vec<Case> {
    read(include_str!("../data/linux/held_out/cases.csv"), include_bytes!("../data/linux/held_out/departures.csv.gz"))
}

/// Captures of applications that write pieces of drawn sizes at drawn times, from seed 1.
pub fn written() -> Vec<Case> {
    let cases = read(
        include_str!("../data/linux/written/cases.csv"),
        include_bytes!("../data/linux/written/departures.csv.gz"),
    );
    with_writes(cases, include_bytes!("../data/linux/written/writes.csv.gz"))
}

/// The same from seed 2, which served to find no rule.
pub fn written_held_out() -> Vec<Case> {
    let cases = read(
        include_str!("../data/linux/written_held_out/cases.csv"),
        include_bytes!("../data/linux/written_held_out/departures.csv.gz"),
    );
    with_writes(cases, include_bytes!("../data/linux/written_held_out/writes.csv.gz"))
}

/// The same cases with what the application writes.
fn with_writes(mut cases: Vec<Case>, table: &[u8]) -> Vec<Case> {
    each_line(&mut cases, table, |case, fields| {
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        case.writes.push((Span::from_micros(number(3)), number(4)));
    });
    cases
}

/// The same cases with what the receiver sent, from its table.
pub fn with_acknowledgements(mut cases: Vec<Case>, table: &[u8]) -> Vec<Case> {
    each_line(&mut cases, table, |case, fields| {
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let edges = |block: &str| {
            let (from, to) = block.split_once('-').expect("two edges");
            (from.parse().expect("an edge"), to.parse().expect("an edge"))
        };
        case.acknowledgements.push(Acknowledgement {
            time: Time::from_nanos(number(3) * 1000),
            segments: number(4),
            window: (number(5) as u32) << SCALE,
            blocks: fields[6].split(' ').filter(|it| !it.is_empty()).map(edges).collect(),
        });
    });
    cases
}

/// Reads a table of cases and their departures.
fn read(table: &str, departures: &[u8]) -> Vec<Case> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    let mut cases: Vec<Case> = lines.map(|line| read_case(&columns, line)).collect();
    each_line(&mut cases, departures, |case, fields| {
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let time = Time::from_nanos(number(3) * 1000);
        let bytes = if fields.len() > 6 { number(6) } else { SEGMENT };
        case.departures.push(SentSegment { time, segment: number(4), bytes, again: number(5) == 1 });
    });
    cases
}

/// Calls `take` for each line of a compressed table, with the case that it belongs to: its name stands in its first
/// line.
fn each_line(cases: &mut [Case], packed: &[u8], mut take: impl FnMut(&mut Case, &[&str])) {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("the table is compressed text");
    let mut at = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if !fields[0].is_empty() {
            let named = |case: &Case| (&*case.set, &*case.sender, &*case.name) == (fields[0], fields[1], fields[2]);
            at = cases.iter().position(named).expect("the table has every case");
        }
        take(&mut cases[at], &fields);
    }
}

fn read_case(columns: &[&str], line: &str) -> Case {
    let fields: Vec<&str> = line.split(',').collect();
    let field = |name: &str| columns.iter().position(|column| *column == name).map_or("", |place| fields[place]);
    let number = |name: &str| field(name).parse::<u64>().expect("a number");
    let list = |name: &str| -> Vec<u64> { field(name).split(' ').filter_map(|n| n.parse().ok()).collect() };
    let period = |name: &str| match list(name)[..] {
        [from, to] => Some((Time::from_nanos(from), Time::from_nanos(to))),
        _ => None,
    };
    let pairs = |name: &str| -> Vec<(u64, Span)> {
        let pairs = field(name).split(' ').filter_map(|pair| pair.split_once(':'));
        let value = |text: &str| text.parse::<u64>().expect("a number");
        pairs.map(|(segment, span)| (value(segment), Span::from_nanos(value(span)))).collect()
    };
    Case {
        set: field("set").to_owned(),
        sender: field("sender").to_owned(),
        name: field("case").to_owned(),
        rate: Rate::from_bps(number("rate_bps")),
        delay: Span::from_nanos(number("delay_ns")),
        segments: number("segments"),
        queue: number("queue") as usize,
        lost: list("segments_lost"),
        acks_lost: list("acks_lost"),
        outage: period("outage_ns"),
        stall: period("stall_ns"),
        late: pairs("late_ns"),
        twice: pairs("twice_ns"),
        writes: Vec::new(),
        // The first captures have no such column.
        begin: Span::from_nanos(field("begin_ns").parse().unwrap_or(1_000_050_000)),
        departures: Vec::new(),
        acknowledgements: Vec::new(),
    }
}

/// The configuration of Hopyard's sender for a case, in a profile; in the profile "linux" as the kernel was set.
pub fn configuration(case: &Case, profile: &str) -> tcp::Config {
    let mut config = config(&case.sender, profile);
    if profile == LINUX {
        match &*case.set {
            "plain" | "nofrto" | "reordering" | "duplicates" => {}
            "6.12" => config.tcp.linux.fin_beyond_window = false,
            "nosack" => config.tcp.linux.sack = false,
            "receiver" | "written" => {
                let own = tcp::Params::of_profile(LINUX);
                (config.tcp.window, config.tcp.linux.receive_window) = (own.window, own.linux.receive_window);
                if case.set == "written" {
                    (config.tcp.nagle, config.tcp.linux.send_buffer) = (own.nagle, own.linux.send_buffer);
                }
            }
            "notimestamps" => config.tcp.timestamps = false,
            "tso1" => config.tcp.linux.pair_segments = false,
            "nohystart" => {
                let cubic = cubic::Params { hystart: Choice::Off, ..cubic::Params::of_profile(LINUX) };
                config.congestion = congestion::Config::Cubic(cubic.into());
            }
            other => panic!("no set is called {other}"),
        }
        if let congestion::Config::Bbr(params) = &mut config.congestion {
            // The kernel drew the phase of the first cycle at random: it is an input of the comparison.
            params.first_phase = if case.segments == 600 { 7 } else { 5 };
        }
    }
    config
}

/// The configuration of Hopyard's sender for one of Linux's, in a profile.
fn config(sender: &str, profile: &str) -> tcp::Config {
    let (_, variant) = SENDERS.iter().find(|(name, _)| *name == sender).expect("a sender of Linux");
    tcp::Config {
        tcp: tcp::Params {
            segment_size: Bytes::new(SEGMENT),
            window: 4000,
            nagle: false,
            linux: tcp::linux::Params {
                receive_window: tcp::linux::ReceiveWindow::Fixed,
                send_buffer: tcp::linux::SendBufferSize::Unlimited,
                ..tcp::linux::Params::default()
            },
            ..tcp::Params::of_profile(profile)
        },
        congestion: congestion::Config::of_profile(variant, profile).expect("a variant of this name"),
    }
}

/// How far two sequences of departures agree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Agreement {
    /// The first departure whose segment differs, or which only one of them has.
    pub order: Option<usize>,
    /// The first departure before it that lies more than the grain apart.
    pub time: Option<usize>,
    /// How much later the last segment leaves, as a share of the time that Linux takes.
    pub longer: f64,
}

impl Agreement {
    /// Equal in order and time.
    pub const fn is_whole(&self) -> bool {
        self.order.is_none() && self.time.is_none()
    }
}

/// Compares departures, with times from the first of each.
pub fn compare(ours: &[SentSegment], theirs: &[SentSegment]) -> Agreement {
    let what = |it: &SentSegment| (it.segment, it.bytes, it.again);
    let same = |(ours, theirs): (&SentSegment, &SentSegment)| what(ours) == what(theirs);
    let equal = ours.iter().zip(theirs).take_while(|pair| same(*pair)).count();
    let since = |departures: &[SentSegment], index: usize| departures[index].time.since(departures[0].time);
    let apart = |index: &usize| {
        let (ours, theirs) = (since(ours, *index), since(theirs, *index));
        ours.max(theirs) - ours.min(theirs) > GRAIN
    };
    let length =
        |departures: &[SentSegment]| departures.len().checked_sub(1).map_or(0.0, |n| since(departures, n).seconds());
    Agreement {
        order: (equal < ours.len().max(theirs.len())).then_some(equal),
        time: (0..equal).find(apart),
        longer: length(ours) / length(theirs) - 1.0,
    }
}
