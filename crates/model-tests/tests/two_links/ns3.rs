//! The comparison with ns-3.37: the same path, two bytes of PPP in every packet, SACK, initial window 2, minimum
//! timeout 1 s, every segment acknowledged, 300 segments of 1000 bytes, no timestamps.

use hopyard_engine::units::Bytes;
use hopyard_engine::{Span, Streams, Time};
use hopyard_model::params::Params as _;
use hopyard_model::transport::congestion::reno::Halve;
use hopyard_model::transport::congestion::{self, sack};
use hopyard_model::transport::recovery_choice::Proportional;
use hopyard_model::transport::{acking, tcp};

use crate::two_links::{Event, Kind, NS2_LINKS, Path};

/// A case of the reference: ns-3's names of the variant and of the recovery, the lost data segments, counted from 1,
/// and the sent segments.
pub struct Case {
    pub tcp: String,
    pub recovery: String,
    pub drops: Vec<u64>,
    pub sent: Vec<SentSegment>,
}

/// A sent segment: time, number, whether it is a retransmission, and the window at that time, in segments.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentSegment {
    pub time: f64,
    pub segment: i64,
    pub again: bool,
    pub cwnd: f64,
}

/// Reads the reference, with lines of the form `tcp,recovery,drops,time,segment,again,cwnd,ssthresh`. The first three
/// are only in the first line of a case. The windows, in bytes, are left out if they are as in the previous line.
pub fn read(text: &str) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    let mut cwnd = 0.0;
    for line in text.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        if !fields[0].is_empty() {
            // "none" is not a number.
            let drops = fields[2].split_whitespace().filter_map(|place| place.parse().ok()).collect();
            let (tcp, recovery) = (fields[0].to_owned(), fields[1].to_owned());
            cases.push(Case { tcp, recovery, drops, sent: Vec::new() });
        }
        if !fields[6].is_empty() {
            cwnd = fields[6].parse::<f64>().expect("a window in bytes") / 1000.0;
        }
        cases.last_mut().expect("the first line names a case").sent.push(SentSegment {
            time: fields[3].parse().expect("a time"),
            segment: fields[4].parse().expect("a number"),
            again: fields[5] == "1",
            cwnd,
        });
    }
    cases
}

/// The variant of Hopyard that is compared with a variant of ns-3.
pub struct Rival {
    pub name: &'static str,
    /// Its algorithm is that of ns-3.
    same: bool,
    pub congestion: congestion::Config,
}

impl Rival {
    /// Whether both must be equal in this case. Without a loss the slow starts differ, and proportional rate reduction
    /// differs too.
    pub fn is_same(&self, case: &Case) -> bool {
        self.same && case.recovery == "classic" && !case.drops.is_empty()
    }
}

/// The variant of Hopyard that is compared with a variant of ns-3.
pub fn rivals(tcp: &str) -> Vec<Rival> {
    let named = |name, profile| congestion::Config::of_profile(name, profile).expect("a variant");
    let rival = |name, same, congestion| Rival { name, same, congestion };
    // ns-3 halves the amount of data in the network, and lets the window grow while the send buffer limits the sender.
    let pipe = sack::Params { halve: Halve::Pipe, grow_only_when_limited: false, ..sack::Params::of_profile("rfc") };
    match tcp {
        "NewReno" => vec![
            rival("sack, halve = \"pipe\"", true, congestion::Config::Sack(pipe.into())),
            rival("sack", false, named("sack", "rfc")),
        ],
        "Cubic" => {
            vec![rival("cubic, profile ns3", true, named("cubic", "ns3")), rival("cubic", false, named("cubic", "rfc"))]
        }
        "WestwoodPlus" => vec![rival("westwood_plus, profile ns3", true, named("westwood_plus", "ns3"))],
        "Bbr" => {
            vec![rival("bbr, profile ns3", false, named("bbr", "ns3")), rival("bbr", false, named("bbr", "rfc"))]
        }
        other => panic!("ns-3 has no {other} here"),
    }
}

/// The data segments that Hopyard sends in a case.
pub fn run(congestion: &congestion::Config, case: &Case) -> Vec<SentSegment> {
    let params = tcp::Params {
        segment_size: Bytes::new(1000),
        // ns-3's send buffer of 131,072 bytes.
        window: 131,
        initial_window: 2,
        timestamps: false,
        prr: if case.recovery == "prr" { Proportional::On } else { Proportional::Off },
        // ns-3's window grows with the acknowledgement that ends a recovery.
        recovery_exit: tcp::RecoveryExit::Grow,
        ..tcp::Params::of_profile("rfc")
    };
    let config = tcp::Config { tcp: params, congestion: congestion.clone() };
    let acking = acking::Config::of_profile("every", "rfc").expect("a policy");
    // The SYN is the first packet that reaches the second link.
    let mut path = Path::new(&config, &acking, NS2_LINKS, &case.drops, Streams::new(1, 0).stream("tcp"));
    path.framing = 2;
    path.start(300_000);
    path.run(Time::ZERO + Span::from_secs(60));
    path.events.iter().filter(|event| event.kind != Kind::Ack && event.segment > 0).map(sent).collect()
}

fn sent(event: &Event) -> SentSegment {
    let (time, again) = (event.time.seconds(), event.kind == Kind::Resend);
    SentSegment { time, segment: event.segment, again, cwnd: event.state.cwnd }
}

/// The result of the comparison with the reference.
#[derive(Clone, Copy, Debug, Default)]
pub struct Comparison {
    /// How many segments Hopyard sent.
    pub segments: usize,
    /// The position of the first segment that differs, counted from 0, if there is one.
    pub first_difference: Option<usize>,
    /// Whether the same segments were retransmitted, equally often.
    pub same_again: bool,
    /// Before this position, the largest relative difference of the window, and the largest difference of time in
    /// seconds.
    pub window: f64,
    pub time: f64,
}

/// Compares the sent segments. Times count from the first segment, because ns-3's SYN has other options.
pub fn compare(ours: &[SentSegment], theirs: &[SentSegment]) -> Comparison {
    let pairs = || ours.iter().zip(theirs);
    let first_difference = pairs()
        .position(|(a, b)| (a.segment, a.again) != (b.segment, b.again))
        .or_else(|| (ours.len() != theirs.len()).then(|| ours.len().min(theirs.len())));
    let again = |sent: &[SentSegment]| {
        let mut again: Vec<i64> = sent.iter().filter(|sent| sent.again).map(|sent| sent.segment).collect();
        again.sort_unstable();
        again
    };
    let until = first_difference.unwrap_or(usize::MAX);
    let start = |sent: &[SentSegment]| sent.first().map_or(0.0, |sent| sent.time);
    let shift = start(ours) - start(theirs);
    Comparison {
        segments: ours.len(),
        first_difference,
        same_again: again(ours) == again(theirs),
        window: pairs().take(until).map(|(a, b)| (a.cwnd - b.cwnd).abs() / b.cwnd).fold(0.0, f64::max),
        time: pairs().take(until).map(|(a, b)| (a.time - b.time - shift).abs()).fold(0.0, f64::max),
    }
}
