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
    pub departures: Vec<Departure>,
}

/// All captures.
pub fn cases() -> Vec<Case> {
    let mut cases: Vec<Case> = include_str!("../data/linux/cases.csv").lines().skip(1).map(read_case).collect();
    let mut text = String::new();
    flate2::read::GzDecoder::new(&include_bytes!("../data/linux/departures.csv.gz")[..])
        .read_to_string(&mut text)
        .expect("the departures are compressed text");
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

fn read_case(line: &str) -> Case {
    let fields: Vec<&str> = line.split(',').collect();
    let number = |index: usize| fields[index].parse::<u64>().expect("a number");
    let list = |index: usize| -> Vec<u64> { fields[index].split(' ').filter_map(|n| n.parse().ok()).collect() };
    let period = |index: usize| match list(index)[..] {
        [from, to] => Some((Time::from_nanos(from), Time::from_nanos(to))),
        _ => None,
    };
    Case {
        set: fields[0].to_owned(),
        sender: fields[1].to_owned(),
        name: fields[2].to_owned(),
        rate: Rate::from_bps(number(3)),
        delay: Span::from_nanos(number(4)),
        segments: number(5),
        queue: number(6) as usize,
        lost: list(7),
        acks_lost: list(8),
        outage: period(9),
        stall: period(10),
        departures: Vec::new(),
    }
}

/// The configuration of Hopyard's sender for a case, in a profile; in the profile "linux" as the kernel was set.
pub fn configuration(case: &Case, profile: &str) -> tcp::Config {
    let mut config = config(&case.sender, profile);
    if profile == LINUX {
        match &*case.set {
            "plain" | "nofrto" => {}
            "tso1" => config.tcp.pair_segments = false,
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
