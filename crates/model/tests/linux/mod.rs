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

/// The payload of a segment in the captures: an Ethernet frame with timestamps, and without.
const SEGMENT: u64 = 1448;
const SEGMENT_WITHOUT_TIMESTAMPS: u64 = 1460;
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
/// The grain of Linux's timing that a departure may differ by.
const GRAIN: Span = Span::from_millis(1);

/// A data segment leaves the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Departure {
    /// The time, from the SYN.
    pub time: Time,
    /// Its number, from 0.
    pub segment: u64,
    /// It was sent before.
    pub again: bool,
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
    /// The version of the kernels.
    pub kernel: String,
    /// What the cases of a class have in common.
    pub class: String,
    /// How the link is disturbed.
    pub kind: String,
    pub sack: bool,
    pub timestamps: bool,
    /// The receiver acknowledges as Linux does by default; else every segment at once, and it never limits.
    pub own_receiver: bool,
    /// Segments whose first transmission takes so much longer.
    pub late: Vec<(u64, Span)>,
    /// Segments whose first transmission arrives twice.
    pub twice: Vec<u64>,
    /// When the SYN was sent, from when the kernel began.
    pub syn: Span,
    pub departures: Vec<Departure>,
}

impl Case {
    /// The bytes of payload of a segment.
    pub const fn segment(&self) -> u64 {
        if self.timestamps { SEGMENT } else { SEGMENT_WITHOUT_TIMESTAMPS }
    }
}

/// The sets whose cases were drawn from a seed.
const DRAWN: [(&str, &str, &[u8]); SETS] =
    [("seen", include_str!("../data/linux/seen_cases.csv"), include_bytes!("../data/linux/seen.csv.gz"))];
const SETS: usize = 1;

/// The captures of a set whose cases were drawn.
pub fn drawn(set: &str) -> Vec<Case> {
    let (_, table, packed) = DRAWN.iter().find(|(name, ..)| *name == set).expect("a set of this name");
    let mut cases = read_cases(table);
    let mut at = 0;
    for line in unpack(packed).lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        at = fields[0].parse().unwrap_or(at);
        if fields[1] == "d" {
            let number = |index: usize| fields[index].parse::<u64>().expect("a number");
            let time = Time::from_nanos(number(2) * 1000);
            cases[at].departures.push(Departure { time, segment: number(3), again: number(4) == 1 });
        }
    }
    cases
}

fn unpack(packed: &[u8]) -> String {
    let mut text = String::new();
    flate2::read::GzDecoder::new(packed).read_to_string(&mut text).expect("compressed text");
    text
}

/// The captures of the sets whose cases were chosen.
pub fn cases() -> Vec<Case> {
    let mut cases = read_cases(include_str!("../data/linux/cases.csv"));
    let text = unpack(include_bytes!("../data/linux/departures.csv.gz"));
    let mut at = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if !fields[0].is_empty() {
            let named = |case: &Case| (&*case.set, &*case.sender, &*case.name) == (fields[0], fields[1], fields[2]);
            at = cases.iter().position(named).expect("the table has every case");
        }
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let time = Time::from_nanos(number(3) * 1000);
        cases[at].departures.push(Departure { time, segment: number(4), again: number(5) == 1 });
    }
    cases
}

/// The cases of a table. The cases that were chosen have fewer columns.
fn read_cases(table: &str) -> Vec<Case> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a table has a head").split(',').collect();
    lines.map(|line| read_case(&columns, line)).collect()
}

fn read_case(columns: &[&str], line: &str) -> Case {
    let fields: Vec<&str> = line.split(',').collect();
    let text = |column: &str| columns.iter().position(|it| *it == column).map(|place| fields[place]);
    let number = |column: &str| -> u64 { text(column).and_then(|it| it.parse().ok()).expect("a number") };
    let list = |column: &str| -> Vec<u64> {
        text(column).unwrap_or_default().split(' ').filter_map(|it| it.parse().ok()).collect()
    };
    let period = |column: &str| match list(column)[..] {
        [from, to] => Some((Time::from_nanos(from), Time::from_nanos(to))),
        _ => None,
    };
    let late = text("late").unwrap_or_default().split(' ').filter_map(|it| {
        let (segment, by) = it.split_once(':')?;
        Some((segment.parse().ok()?, Span::from_micros(by.parse().ok()?)))
    });
    Case {
        set: text("set").unwrap_or_default().to_owned(),
        sender: text("sender").unwrap_or_default().to_owned(),
        name: text("case").unwrap_or_default().to_owned(),
        rate: Rate::from_bps(number("rate_bps")),
        delay: Span::from_nanos(number("delay_ns")),
        segments: number("segments"),
        queue: number("queue") as usize,
        lost: list("segments_lost"),
        acks_lost: list("acks_lost"),
        outage: period("outage_ns"),
        stall: period("stall_ns"),
        kernel: text("kernel").unwrap_or("6.1").to_owned(),
        class: text("class").unwrap_or("plain").to_owned(),
        kind: text("kind").unwrap_or_default().to_owned(),
        sack: text("sack") != Some("0"),
        timestamps: text("timestamps") != Some("0"),
        own_receiver: text("receiver") == Some("linux"),
        late: late.collect(),
        twice: list("twice"),
        syn: text("syn_ns").map_or(Span::from_micros(1_000_050), |it| Span::from_nanos(it.parse().expect("a number"))),
        departures: Vec::new(),
    }
}

/// The configuration of Hopyard's sender for a case, in a profile; in the profile "linux" as the kernel was set.
pub fn configuration(case: &Case, profile: &str) -> tcp::Config {
    let mut config = config(&case.sender, profile);
    if profile == LINUX {
        match &*case.set {
            "plain" | "nofrto" | "seen" | "unseen" => {}
            "tso1" => config.tcp.pair_segments = false,
            "nohystart" => {
                let cubic = cubic::Params { hystart: Choice::Off, ..cubic::Params::of_profile(LINUX) };
                config.congestion = congestion::Config::Cubic(cubic.into());
            }
            other => panic!("no set is called {other}"),
        }
        config.tcp.timestamps = case.timestamps;
        config.tcp.fin_beyond_window = case.kernel == "6.1";
        config.tcp.segment_size = Bytes::new(case.segment());
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
pub fn compare(ours: &[Departure], theirs: &[Departure]) -> Agreement {
    let same = |(ours, theirs): (&Departure, &Departure)| (ours.segment, ours.again) == (theirs.segment, theirs.again);
    let equal = ours.iter().zip(theirs).take_while(|pair| same(*pair)).count();
    let since = |departures: &[Departure], index: usize| departures[index].time.since(departures[0].time);
    let apart = |index: &usize| {
        let (ours, theirs) = (since(ours, *index), since(theirs, *index));
        ours.max(theirs) - ours.min(theirs) > GRAIN
    };
    let length =
        |departures: &[Departure]| departures.len().checked_sub(1).map_or(0.0, |n| since(departures, n).seconds());
    Agreement {
        order: (equal < ours.len().max(theirs.len())).then_some(equal),
        time: (0..equal).find(apart),
        longer: length(ours) / length(theirs) - 1.0,
    }
}
