//! The cases of a set, drawn from a seed: a link, what is lost on it, and how the kernels are set.

use hopyard_engine::{Rng, Streams};

/// The senders of the kernels.
const SENDERS: [&str; 7] = ["reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr"];
/// What happens to the transfers of the class "plain", one case of each sender for each.
const KINDS: [&str; 26] = [
    "clean",
    "long",
    "one",
    "two",
    "three",
    "burst",
    "bursts",
    "early",
    "again",
    "again3",
    "random1",
    "random3",
    "random5",
    "acks",
    "acks_random",
    "tail1",
    "tail",
    "tail_long",
    "outage",
    "outage_long",
    "stall",
    "queue_short",
    "queue",
    "queue_long",
    "queue_lost",
    "mixed",
];
/// Of what two cases of each sender are drawn in the other classes.
const FEW: [&str; 8] = ["clean", "one", "burst", "random1", "tail", "outage", "queue", "acks"];
/// The classes besides "plain".
const CLASSES: [&str; 6] = ["6.12", "nosack", "notimestamps", "receiver", "reordering", "duplicates"];
/// The least and the largest value.
type Range = (f64, f64);
/// How the applications of the class "written" write: the range of the mean of a piece in bytes, and that of the gap
/// between two in milliseconds.
const STYLES: [(&str, Range, Range); 3] = [
    ("small", (40.0, 1500.0), (1.0, 100.0)),
    ("pages", (500.0, 8000.0), (3.0, 300.0)),
    ("blocks", (4000.0, 30_000.0), (10.0, 500.0)),
];
/// What happens to them.
const WRITTEN: [&str; 4] = ["clean", "losses", "queue", "mixed"];
/// The longest piece: the agent writes no more at once.
const LONGEST: f64 = 60_000.0;
/// A queue that is never full.
const ROOM: usize = 1000;

/// A transfer between two kernels.
#[derive(Clone, Debug)]
pub struct Case {
    /// "plain", or what is otherwise.
    pub class: &'static str,
    pub sender: &'static str,
    pub name: String,
    /// The version of both kernels.
    pub version: &'static str,
    pub seed: u64,
    /// When the sender connects, in nanoseconds since its kernel started.
    pub start: u64,
    /// In bits per second.
    pub rate: u64,
    /// One way, in nanoseconds.
    pub delay: u64,
    pub segments: u64,
    /// How many packets may wait beside the one being sent.
    pub queue: usize,
    /// Segments that are lost, one transmission for each entry.
    pub lost: Vec<u64>,
    /// Acknowledgements that are lost, by number.
    pub acks_lost: Vec<u64>,
    /// When all packets are lost, in nanoseconds from the SYN.
    pub outage: Option<(u64, u64)>,
    /// When no packet begins to be sent.
    pub stall: Option<(u64, u64)>,
    /// Segments whose first transmission takes longer, and by how many nanoseconds.
    pub late: Vec<(u64, u64)>,
    /// Segments whose first transmission arrives again, and how many nanoseconds later.
    pub twice: Vec<(u64, u64)>,
    /// When the application writes how many bytes, in nanoseconds since it connects; nothing if it writes all
    /// `segments` at once. Then `lost` are numbers of data segments in the order in which they are sent.
    pub writes: Vec<(u64, u64)>,
}

impl Case {
    /// Whether the application writes in pieces.
    pub const fn is_written(&self) -> bool {
        !self.writes.is_empty()
    }

    /// The parameters of the kernels' TCP: of both, and besides of the receiver.
    pub fn sysctls(&self) -> (Vec<&'static str>, Vec<&'static str>) {
        if self.is_written() {
            // The limits that Linux has with 1 GB of memory and more.
            return (vec!["tcp_wmem 4096 16384 4194304", "tcp_rmem 4096 131072 6291456"], Vec::new());
        }
        // The application never waits for room. The receiver has much room from the start, so it acknowledges every
        // segment at once and never limits.
        let mut both = vec!["tcp_wmem 4096 4194304 4194304"];
        let mut receiver = Vec::new();
        if self.class == "receiver" {
            both.push("tcp_rmem 4096 131072 6291456");
        } else {
            both.push("tcp_rmem 4096 6291456 6291456");
            receiver.push("tcp_comp_sack_nr 0");
        }
        match self.class {
            "nosack" => both.push("tcp_sack 0"),
            "notimestamps" => both.push("tcp_timestamps 0"),
            _ => {}
        }
        (both, receiver)
    }
}

/// All cases of the set with this seed.
pub fn draw(seed: u64) -> Vec<Case> {
    let streams = Streams::new(seed, 0);
    let mut cases = Vec::new();
    for sender in SENDERS {
        for kind in KINDS {
            cases.push(case("plain", sender, kind, kind.to_owned(), &streams));
        }
        for class in CLASSES {
            for number in 1..=2 {
                let kind =
                    FEW[streams.stream(&format!("{class} {sender} {number} kind")).below(FEW.len() as u64) as usize];
                cases.push(case(class, sender, kind, format!("{kind}_{number}"), &streams));
            }
        }
    }
    cases
}

/// All cases with applications that write in pieces, of the set with this seed.
pub fn draw_written(seed: u64) -> Vec<Case> {
    let streams = Streams::new(seed, 0);
    let mut cases = Vec::new();
    for sender in SENDERS {
        for (style, sizes, gaps) in STYLES {
            for kind in WRITTEN {
                let name = format!("{style}_{kind}");
                let mut case = case("written", sender, "clean", name, &streams);
                let rng = &mut streams.stream(&format!("written {sender} {} writes", case.name));
                case.writes = writes(rng, sizes, gaps);
                let bytes: u64 = case.writes.iter().map(|it| it.1).sum();
                case.segments = bytes.div_ceil(1448).max(30);
                happen(&mut case, kind, rng);
                cases.push(case);
            }
        }
    }
    cases
}

/// Pieces of drawn sizes at drawn times.
fn writes(rng: &mut Rng, sizes: Range, gaps: Range) -> Vec<(u64, u64)> {
    let (size, gap) = (log_uniform(rng, sizes.0, sizes.1), log_uniform(rng, gaps.0, gaps.1));
    let mut at = 0;
    (0..between(rng, 20, 120))
        .map(|_| {
            let (when, bytes) = (at, log_uniform(rng, size / 4.0, size * 4.0).clamp(1.0, LONGEST) as u64);
            at += (log_uniform(rng, gap / 4.0, gap * 4.0) * 1000.0) as u64 * 1000;
            (when, bytes)
        })
        .collect()
}

/// Draws what happens to a transfer that is written in pieces.
fn happen(case: &mut Case, kind: &str, rng: &mut Rng) {
    let segments = case.segments.max(case.writes.len() as u64);
    let share = rng.uniform_in(0.01, 0.05);
    match kind {
        "clean" => {}
        "losses" => case.lost = some(rng, segments, share),
        "queue" => case.queue = between(rng, 4, 40) as usize,
        "mixed" => {
            case.queue = between(rng, 10, 60) as usize;
            case.lost = some(rng, segments, share / 2.0);
            case.acks_lost = some(rng, segments, 0.1);
            let length = case.writes.last().map_or(0, |it| it.0 / 1_000_000);
            let from = (length as f64 * rng.uniform_in(0.1, 0.9)) as u64;
            case.outage = Some((from * 1_000_000, (from + between(rng, 100, 1000)) * 1_000_000));
        }
        other => unreachable!("nothing is called {other}"),
    }
}

/// A number between two, whose logarithm is uniform.
fn log_uniform(rng: &mut Rng, low: f64, high: f64) -> f64 {
    low * (high / low).powf(rng.uniform())
}

/// An integer from `low` to `high`, both included.
fn between(rng: &mut Rng, low: u64, high: u64) -> u64 {
    low + rng.below(high - low + 1)
}

/// Each of `count` numbers with this probability.
fn some(rng: &mut Rng, count: u64, share: f64) -> Vec<u64> {
    (0..count).filter(|_| rng.uniform() < share).collect()
}

fn case(class: &'static str, sender: &'static str, kind: &str, name: String, streams: &Streams) -> Case {
    let rng = &mut streams.stream(&format!("{class} {sender} {name}"));
    let rate = (log_uniform(rng, 500.0, 20_000.0) as u64) * 1000;
    let delay = (log_uniform(rng, 10.0, 2000.0) as u64) * 100_000;
    let segments = if kind == "long" { between(rng, 500, 700) } else { between(rng, 60, 400) };
    let mut case = Case {
        class,
        sender,
        name,
        version: if class == "6.12" { "6.12" } else { "6.1" },
        seed: between(rng, 1, 1000),
        start: 1_000_000_000 + rng.below(1_000_000) * 1000,
        rate,
        delay,
        segments,
        queue: ROOM,
        lost: Vec::new(),
        acks_lost: Vec::new(),
        outage: None,
        stall: None,
        late: Vec::new(),
        twice: Vec::new(),
        writes: Vec::new(),
    };
    events(&mut case, kind, rng);
    match class {
        "reordering" => case.late = elsewhere(rng, segments, 8, 4 * delay),
        "duplicates" => case.twice = elsewhere(rng, segments, 8, 2 * delay),
        _ => {}
    }
    case
}

/// Up to `most` segments, each with a time of up to `longest`.
fn elsewhere(rng: &mut Rng, segments: u64, most: u64, longest: u64) -> Vec<(u64, u64)> {
    let mut found: Vec<(u64, u64)> = (0..between(rng, 1, most))
        .map(|_| (rng.below(segments), between(rng, longest / 20_000, longest / 1000) * 1000))
        .collect();
    found.sort_unstable();
    found.dedup_by_key(|it| it.0);
    found
}

/// Draws what happens to a transfer.
fn events(case: &mut Case, kind: &str, rng: &mut Rng) {
    let segments = case.segments;
    // A place in the middle, with room for a burst after it.
    let place = between(rng, 10, segments - 20);
    let burst = |count: u64| (place..place + count).collect::<Vec<u64>>();
    // About how long the transfer takes: slow start, and the time of all segments on the link.
    let length = 12 * case.delay + segments * 12_000 * 1_000_000_000 / case.rate;
    let period = |low: u64, high: u64, rng: &mut Rng| {
        let from = (length as f64 * rng.uniform_in(0.1, 0.7) / 1e6) as u64;
        Some((from * 1_000_000, (from + between(rng, low, high)) * 1_000_000))
    };
    let tail = |count: u64| (segments - count..segments).collect::<Vec<u64>>();
    match kind {
        "clean" | "long" => {}
        "one" => case.lost = burst(1),
        "two" => case.lost = burst(2),
        "three" => case.lost = burst(3),
        "burst" => case.lost = burst(between(rng, 4, 12)),
        "bursts" => {
            case.lost = burst(between(rng, 1, 4));
            let other = between(rng, 10, segments - 20);
            case.lost.extend(other..other + between(rng, 1, 4));
            case.lost.sort_unstable();
            case.lost.dedup();
        }
        "early" => case.lost = vec![rng.below(10)],
        "again" => case.lost = vec![place; 2],
        "again3" => {
            case.lost = burst(between(rng, 2, 4));
            let twice: Vec<u64> = case.lost.iter().copied().filter(|_| rng.uniform() < 0.5).collect();
            case.lost.extend(twice);
            case.lost.push(place);
            case.lost.sort_unstable();
        }
        "random1" => case.lost = some(rng, segments, 0.01),
        "random3" => case.lost = some(rng, segments, 0.03),
        "random5" => case.lost = some(rng, segments, 0.05),
        "acks" => {
            let count = between(rng, 3, 20);
            case.acks_lost = burst(count);
        }
        "acks_random" => {
            let share = rng.uniform_in(0.05, 0.5);
            case.acks_lost = some(rng, segments, share);
        }
        "tail1" => case.lost = tail(1),
        "tail" => case.lost = tail(between(rng, 2, 5)),
        "tail_long" => case.lost = tail(between(rng, 6, 15)),
        "outage" => case.outage = period(100, 1000, rng),
        "outage_long" => case.outage = period(2000, 8000, rng),
        "stall" => case.stall = period(200, 2000, rng),
        "queue_short" => case.queue = between(rng, 4, 12) as usize,
        "queue" => case.queue = between(rng, 13, 40) as usize,
        "queue_long" => case.queue = between(rng, 41, 120) as usize,
        "queue_lost" => {
            case.queue = between(rng, 10, 60) as usize;
            case.lost = burst(between(rng, 1, 6));
        }
        "mixed" => {
            case.queue = between(rng, 10, 100) as usize;
            case.lost = some(rng, segments, 0.01);
            case.acks_lost = some(rng, segments, 0.1);
            case.outage = period(100, 400, rng);
        }
        other => unreachable!("no kind is called {other}"),
    }
}
