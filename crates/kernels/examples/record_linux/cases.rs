//! Cases that are drawn from a seed.

use hopyard_engine::{Rng, Streams};

/// The senders.
const SENDERS: [&str; 7] = ["reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr"];
/// Each class, how many cases of it each sender has, and what is special about it.
const CLASSES: [(&str, usize, Class); 9] = [
    ("plain", 10, Class::PLAIN),
    ("6.12", 4, Class { kernel: "6.12", ..Class::PLAIN }),
    ("no_sack", 3, Class { sack: false, ..Class::PLAIN }),
    ("no_timestamps", 3, Class { timestamps: false, ..Class::PLAIN }),
    ("bare", 1, Class { sack: false, timestamps: false, ..Class::PLAIN }),
    ("reordering", 3, Class { reordering: true, ..Class::PLAIN }),
    ("duplicates", 1, Class { duplicates: true, ..Class::PLAIN }),
    ("receiver", 4, Class { receiver: "linux", ..Class::PLAIN }),
    ("receiver_6.12", 1, Class { receiver: "linux", kernel: "6.12", ..Class::PLAIN }),
];
/// The columns of the table of cases.
pub const COLUMNS: &str = "set,sender,case,rate_bps,delay_ns,segments,queue,segments_lost,acks_lost,outage_ns,stall_ns,\
                           kernel,class,kind,sack,timestamps,receiver,late,twice,syn_ns";

#[derive(Clone, Copy)]
struct Class {
    kernel: &'static str,
    sack: bool,
    timestamps: bool,
    reordering: bool,
    duplicates: bool,
    receiver: &'static str,
}

impl Class {
    const PLAIN: Self =
        Self { kernel: "6.1", sack: true, timestamps: true, reordering: false, duplicates: false, receiver: "every" };
}

/// A transfer over one link.
#[derive(Clone, Debug)]
pub struct Case {
    pub number: usize,
    pub kernel: &'static str,
    pub class: &'static str,
    /// What is lost, or how the link is disturbed.
    pub kind: &'static str,
    pub sender: &'static str,
    pub rate: u64,
    /// The delay each way, in nanoseconds.
    pub delay: u64,
    pub segments: u64,
    /// How many packets may wait beside the one being sent.
    pub queue: usize,
    /// Segments that are lost, one transmission for each entry.
    pub lost: Vec<u64>,
    /// Acknowledgements that are lost, counted from 0.
    pub acks_lost: Vec<u64>,
    /// All packets that are given to the link are lost; nanoseconds from the SYN.
    pub outage: Option<(u64, u64)>,
    /// No packet begins to be sent.
    pub stall: Option<(u64, u64)>,
    /// Segments whose first transmission takes this many microseconds longer.
    pub late: Vec<(u64, u64)>,
    /// Segments whose first transmission arrives twice.
    pub twice: Vec<u64>,
    pub sack: bool,
    pub timestamps: bool,
    /// `every`: each segment is acknowledged at once, and no window limits; `linux`: as Linux does by default.
    pub receiver: &'static str,
    /// When the application connects.
    pub start: u64,
}

impl Case {
    /// The bytes of payload of a segment.
    pub const fn segment(&self) -> u64 {
        if self.timestamps { 1448 } else { 1460 }
    }

    /// The line in the table of cases; `syn` is when the SYN was sent.
    pub fn line(&self, set: &str, syn: u64) -> String {
        let list = |numbers: &[u64]| numbers.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
        let period = |period: Option<(u64, u64)>| period.map_or(String::new(), |(from, to)| format!("{from} {to}"));
        let late: Vec<String> = self.late.iter().map(|(segment, by)| format!("{segment}:{by}")).collect();
        [
            set,
            self.sender,
            &self.number.to_string(),
            &self.rate.to_string(),
            &self.delay.to_string(),
            &self.segments.to_string(),
            &self.queue.to_string(),
            &list(&self.lost),
            &list(&self.acks_lost),
            &period(self.outage),
            &period(self.stall),
            self.kernel,
            self.class,
            self.kind,
            &u8::from(self.sack).to_string(),
            &u8::from(self.timestamps).to_string(),
            self.receiver,
            &late.join(" "),
            &list(&self.twice),
            &syn.to_string(),
        ]
        .join(",")
    }
}

/// All cases of a seed: each sender has the same number in each class.
pub fn draw(seed: u64) -> Vec<Case> {
    let mut cases = Vec::new();
    for (class, count, special) in CLASSES {
        for sender in SENDERS {
            for _ in 0..count {
                let number = cases.len();
                let mut rng = Streams::new(seed, number as u64).stream("capture");
                let mut case = link(&mut rng, number, sender);
                (case.class, case.kernel, case.receiver) = (class, special.kernel, special.receiver);
                (case.sack, case.timestamps) = (special.sack, special.timestamps);
                if special.reordering {
                    reorder(&mut rng, &mut case);
                } else if special.duplicates {
                    duplicate(&mut rng, &mut case);
                } else {
                    disturb(&mut rng, &mut case);
                }
                cases.push(case);
            }
        }
    }
    cases
}

/// A number between two, all of whose orders of magnitude are as likely.
fn logarithmic(rng: &mut Rng, low: f64, high: f64) -> f64 {
    rng.uniform_in(low.ln(), high.ln()).exp()
}

/// A whole number from `low` to `high`, with both.
fn whole(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// The link and the length, with nothing lost.
fn link(rng: &mut Rng, number: usize, sender: &'static str) -> Case {
    // Rates in steps of 10 kb/s, delays of 0.1 ms.
    let rate = (logarithmic(rng, 0.5e6, 20e6) / 1e4).round() as u64 * 10_000;
    let delay = (logarithmic(rng, 1.0, 200.0) * 10.0).round() as u64 * 100_000;
    let queue = if rng.uniform() < 0.3 { whole(rng, 5, 100) as usize } else { 1000 };
    Case {
        number,
        kernel: "6.1",
        class: "plain",
        kind: "clean",
        sender,
        rate,
        delay,
        segments: whole(rng, 100, 600),
        queue,
        lost: Vec::new(),
        acks_lost: Vec::new(),
        outage: None,
        stall: None,
        late: Vec::new(),
        twice: Vec::new(),
        sack: true,
        timestamps: true,
        receiver: "every",
        // In steps of a tenth of a tick of 4 ms.
        start: 1_000_000_000 + rng.below(1000) * 400_000,
    }
}

/// Losses, an outage, a stall, or a short queue.
fn disturb(rng: &mut Rng, case: &mut Case) {
    let last = case.segments - 1;
    match rng.below(10) {
        0 | 1 => {
            case.kind = "few";
            case.lost = (0..whole(rng, 1, 6)).map(|_| whole(rng, 1, last)).collect();
        }
        2 => {
            case.kind = "burst";
            let (first, count) = (whole(rng, 2, last - 12), whole(rng, 2, 12));
            case.lost = (first..first + count).collect();
        }
        3 => {
            case.kind = "random";
            let share = logarithmic(rng, 0.003, 0.05);
            case.lost = (0..case.segments).filter(|_| rng.uniform() < share).collect();
        }
        4 => {
            case.kind = "again";
            let segment = whole(rng, 10, last);
            case.lost = vec![segment; whole(rng, 2, 3) as usize];
            case.lost.extend((0..whole(rng, 0, 2)).map(|more| (segment + more + 1).min(last)));
        }
        5 => {
            case.kind = "tail";
            case.lost = (case.segments - whole(rng, 1, 12)..case.segments).collect();
        }
        6 => {
            case.kind = "acks";
            let share = rng.uniform_in(0.05, 0.5);
            case.acks_lost = (0..case.segments).filter(|_| rng.uniform() < share).collect();
        }
        7 | 8 => {
            // Somewhere in the transfer, as the link's rate lets it last.
            let length = case.segments * 1500 * 8 * 1_000_000 / case.rate * 1000;
            let from = 4 * case.delay + (length as f64 * rng.uniform_in(0.1, 0.8)) as u64 / 1000 * 1000;
            let to = from + (logarithmic(rng, 0.05, 3.0) * 1e6) as u64 * 1000;
            if rng.uniform() < 0.5 {
                (case.kind, case.outage) = ("outage", Some((from, to)));
            } else {
                (case.kind, case.stall) = ("stall", Some((from, to)));
            }
        }
        _ => {
            case.kind = "queue";
            case.queue = logarithmic(rng, 5.0, 80.0) as usize;
        }
    }
    case.lost.sort_unstable();
}

/// Some segments take longer, as over another path; one may be lost besides.
fn reorder(rng: &mut Rng, case: &mut Case) {
    case.kind = "late";
    let time = 1500 * 8 * 1_000_000 / case.rate;
    let share = logarithmic(rng, 0.005, 0.1);
    for segment in 1..case.segments {
        if rng.uniform() < share {
            // The time of 1 to 20 segments.
            case.late.push((segment, (time as f64 * logarithmic(rng, 1.2, 20.0)) as u64));
        }
    }
    if rng.uniform() < 0.3 {
        case.lost.push(whole(rng, 10, case.segments - 1));
    }
}

fn duplicate(rng: &mut Rng, case: &mut Case) {
    case.kind = "twice";
    let share = logarithmic(rng, 0.01, 0.1);
    case.twice = (0..case.segments).filter(|_| rng.uniform() < share).collect();
    if rng.uniform() < 0.5 {
        case.lost.push(whole(rng, 10, case.segments - 1));
    }
}
