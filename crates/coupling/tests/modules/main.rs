//! Hopyard's TCP variants as modules of Linux, and its own variants over the same link with the same losses.
//!
//! A case is a link, a number of segments, and what the link loses. Each is run by a kernel with the module, and by
//! Hopyard's sender in the profile `linux` with the variant of the same name. The receiver acknowledges every segment.
//! Without a built kernel these tests are skipped.

mod peer;

use hopyard_engine::units::{Bytes, Rate};
use hopyard_engine::{Span, Streams, Time};
use hopyard_kernels::agent::{Order, Report};
use hopyard_kernels::{Completion, Guest, Kernels, Settings, initrd};
use hopyard_model::params::{LINUX, Params as _};
use hopyard_model::transport::congestion::{self, adaptive_pacing};
use hopyard_model::transport::tcp::{self, NetworkEvent};

use crate::common::{Built, VERSIONS, at, built};
use crate::linux::link::Run;
use crate::linux::{self, Case, SEGMENT, SentSegment};
use peer::{KERNEL, MAC, PEER, Peer, TOLD_EVERY};

/// The modules, and Hopyard's variants.
const VARIANTS: [(&str, &str); 4] =
    [("welcome", "welcome"), ("elfn", "elfn"), ("adaptive_pacing", "adaptive_pacing"), ("westwood_2001", "westwood")];
/// When the kernel's source connects.
const START: u64 = 1_000_000_000;
/// How often windows are compared.
const SAMPLE: u64 = 10_000_000;

/// 300 segments over 2 Mb/s and 10 ms each way.
fn case(name: &str, lost: &[u64], outage: Option<(u64, u64)>) -> Case {
    Case {
        set: "plain".to_owned(),
        sender: String::new(),
        name: name.to_owned(),
        rate: Rate::from_bps(2_000_000),
        delay: Span::from_millis(10),
        segments: 300,
        queue: usize::MAX,
        lost: lost.to_vec(),
        acks_lost: Vec::new(),
        outage: outage.map(|(from, to)| (at(from), at(to))),
        stall: None,
        late: Vec::new(),
        twice: Vec::new(),
        writes: Vec::new(),
        begin: Span::from_nanos(START),
        departures: Vec::new(),
        acknowledgements: Vec::new(),
    }
}

fn cases() -> Vec<Case> {
    let mut cases = vec![
        case("no loss", &[], None),
        case("1 loss", &[100], None),
        case("2 losses", &[100, 101], None),
        case("4 losses", &[100, 102, 105, 180], None),
        case("lost again", &[100, 100], None),
        case("lost tail", &[297, 298, 299], None),
        case("out for 1 s", &[], Some((800, 1800))),
        case("out for 5 s", &[], Some((800, 5800))),
    ];
    // So that segments are left after it.
    cases[7].segments = 500;
    cases
}

/// What a sender did in a case.
struct Course {
    departures: Vec<SentSegment>,
    /// Window and threshold at multiples of an interval from the SYN; no threshold is infinite.
    windows: Vec<(Time, f64, f64)>,
}

impl Course {
    /// When the last segment left that was sent for the first time.
    fn end(&self) -> f64 {
        self.departures.iter().rev().find(|it| !it.again).map_or(0.0, |it| it.time.seconds())
    }

    fn again(&self) -> usize {
        self.departures.iter().filter(|it| it.again).count()
    }

    /// Window and threshold at a time.
    fn at(&self, milliseconds: u64) -> (f64, f64) {
        let found = self.windows.iter().take_while(|it| it.0 <= at(milliseconds)).last();
        found.map_or((f64::NAN, f64::NAN), |it| (it.1, it.2))
    }
}

/// The course of a kernel, if it is built with the module.
fn kernel(version: &str, variant: &str, case: &Case) -> Option<Course> {
    let built = built(version)?;
    let module = built.module(variant)?;
    let bytes = case.segments * SEGMENT;
    // One write, so that the buffer is no limit.
    let sysctl = |path: &str, value: &str| Order::Sysctl { path: path.to_owned(), value: value.to_owned() };
    let name = format!("hopyard_{variant}");
    let orders = [
        sysctl("net/ipv4/tcp_rmem", "4096 6291456 6291456"),
        sysctl("net/ipv4/tcp_wmem", "4096 4194304 6291456"),
        Order::Address { address: KERNEL, prefix: 24, arp: 0, device: "eth0".to_owned() },
        Order::Module { name: name.clone() },
        Order::Source {
            to: PEER,
            port: 5001,
            own_port: 40_000,
            mss: 0,
            chunk: bytes as u32,
            start: Time::from_nanos(START),
            bytes: Some(bytes),
            stop: None,
            variant: variant.to_owned(),
            writes: Vec::new(),
        },
        Order::Sample { interval: Span::from_nanos(SAMPLE), from: Time::ZERO, to: Time::ZERO },
    ];
    let files = [(&*format!("modules/{name}.ko"), module.as_slice())];
    let initrd = initrd::archive(&built.agent, &orders, &files);
    let Built { program, .. } = built;
    let guest = Guest {
        name: "sender".to_owned(),
        program,
        initrd,
        parameters: vec!["ipv6.disable=1".to_owned()],
        memory: 48,
        devices: vec![MAC.into()],
        seed: 1,
    };
    // The captures of Linux's senders, which the profile follows, were made without back-pressure too.
    let settings = Settings { completion: Completion::Immediate, ..Settings::default() };
    let mut peer = Peer::new(case, variant == "elfn", 64);
    let mut kernels = Kernels::start(&[guest], settings).expect("started");
    kernels.advance(Time::ZERO + Span::from_secs(60), &mut peer, || false).unwrap_or_else(|error| panic!("{error}"));
    let begin = peer.begin();
    let reports = kernels.reports(0).unwrap_or_else(|error| panic!("{variant}: {error}")).into_iter();
    let windows = reports.filter_map(|(at, it)| match it {
        Report::Socket { cwnd, ssthresh, .. } if at >= begin => {
            let ssthresh = if ssthresh >= 0x7fff_ffff { f64::INFINITY } else { ssthresh.into() };
            Some((Time::ZERO + at.since(begin), cwnd.into(), ssthresh))
        }
        _ => None,
    });
    Some(Course { windows: windows.collect(), departures: peer.departures })
}

/// The course of Hopyard's sender in the profile `linux`.
fn own(variant: &str, case: &Case) -> Course {
    let mut congestion = congestion::Config::of_profile(variant, LINUX).expect("a variant");
    if let congestion::Config::AdaptivePacing(params) = &mut congestion {
        params.bandwidth = adaptive_pacing::Bandwidth::Fixed(case.rate);
    }
    own_with(congestion, case)
}

fn own_with(congestion: congestion::Config, case: &Case) -> Course {
    let params = tcp::Params {
        segment_size: Bytes::new(SEGMENT),
        window: 4000,
        nagle: false,
        // One write, and a buffer for all of it, as the kernel has.
        linux: tcp::linux::Params {
            send_buffer: tcp::linux::SendBufferSize::Unlimited,
            ..tcp::linux::Params::default()
        },
        ..tcp::Params::of_profile(LINUX)
    };
    let config = tcp::Config { tcp: params, congestion };
    let mut run = Run::new(case, &config, Streams::new(1, 0).stream("tcp"));
    run.notices = Some(TOLD_EVERY);
    run.states = Some(Vec::new());
    run.sender.on_network(NetworkEvent::HopCount(1), Time::ZERO);
    run.run(case.segments);
    let windows = run.states.take().unwrap_or_default();
    let windows = windows.into_iter().map(|(at, state)| (at, state.cwnd, state.ssthresh)).collect();
    Course { windows, departures: run.departures }
}

/// Cases in which the order of segments is not that of Hopyard's own variant, with Linux 6.1. The pages say why.
const OTHER_ORDER: &[(&str, &str)] = &[
    ("welcome", "4 losses"),
    ("welcome", "lost again"),
    ("welcome", "out for 1 s"),
    ("welcome", "out for 5 s"),
    ("elfn", "4 losses"),
    ("adaptive_pacing", "out for 5 s"),
    ("westwood_2001", "lost again"),
    ("westwood_2001", "out for 5 s"),
];

/// Cases in which the last segment leaves at another time.
const OTHER_END: &[(&str, &str)] = &[
    ("welcome", "out for 1 s"),
    ("welcome", "out for 5 s"),
    ("adaptive_pacing", "out for 5 s"),
    ("westwood_2001", "out for 5 s"),
];

#[test]
#[expect(clippy::print_stdout, reason = "the tables of the pages")]
fn modules_and_hopyards_own_variants_over_one_link() {
    let mut surprises = Vec::new();
    for (module, variant) in VARIANTS {
        for case in cases() {
            let Some(linux) = kernel("6.1", module, &case) else { return };
            let own = own(variant, &case);
            let agreement = linux::compare(&own.departures, &linux.departures);
            let [(cwnd, ssthresh), (own_cwnd, own_ssthresh)] = [linux.at(1700), own.at(1700)];
            let name = (module, &*case.name);
            let course = |it: &Course| [1300, 1400, 1450, 1500, 1550, 1600].map(|at| it.at(at));
            println!("Linux {:?}\nown {:?}", course(&linux), course(&own));
            println!(
                "| {module} | {} | {} / {} | {} / {} | {:.2} / {:.2} | {cwnd} / {own_cwnd:.1} | {ssthresh} / {own_ssthresh:.1} | {:?} |",
                case.name,
                linux.departures.len(),
                own.departures.len(),
                linux.again(),
                own.again(),
                linux.end(),
                own.end(),
                agreement.order,
            );
            if let Some(at) = agreement.order {
                let around = |departures: &[SentSegment]| {
                    let some = departures.iter().skip(at.saturating_sub(3)).take(12);
                    some.map(|it| (it.time.seconds(), it.segment, it.again)).collect::<Vec<_>>()
                };
                println!("Linux {:?}\nown {:?}", around(&linux.departures), around(&own.departures));
            }
            if agreement.order.is_some() != OTHER_ORDER.contains(&name) {
                surprises.push(format!("{name:?}: {agreement:?}"));
            }
            if ((linux.end() - own.end()).abs() > 0.16) != OTHER_END.contains(&name) {
                surprises.push(format!("{name:?}: {} and {} s", linux.end(), own.end()));
            }
        }
    }
    // At the end, so that the tables are whole.
    assert!(surprises.is_empty(), "{surprises:#?}");
}

#[test]
fn every_kernel_has_every_module() {
    for version in VERSIONS {
        for (module, _) in VARIANTS {
            let case = case("4 losses", &[100, 102, 105, 180], None);
            let Some(linux) = kernel(version, module, &case) else { break };
            assert_eq!((linux.departures.len(), linux.again()), (304, 4), "{version} {module}");
            let again = kernel(version, module, &case).expect("it is there");
            assert_eq!(again.departures, linux.departures, "{version} {module}: each run is the same");
        }
    }
}

/// The acknowledgement that shows that the timeouts were spurious covers 134 segments. The kernel's window, restored to
/// 138, grows by all of them; Hopyard's Westwood by one, since it has no profile `linux` and counts acknowledgements.
#[test]
fn westwood_after_an_outage_differs_only_in_what_growth_counts() {
    let Some(case) = cases().pop() else { return };
    let Some(linux) = kernel("6.1", "westwood_2001", &case) else { return };
    let mut congestion = congestion::Config::of_profile("westwood", LINUX).expect("a variant");
    let congestion::Config::Westwood(params) = &mut congestion else { panic!("{congestion:?}") };
    (params.slow_start_limit, params.count_bytes) = (u32::from(u16::MAX), true);
    let counted = own_with(congestion, &case);
    let agreement = linux::compare(&counted.departures, &linux.departures);
    assert_eq!(agreement.order, None, "{agreement:?}");
    assert!((linux.end() - counted.end()).abs() < 0.02, "{} and {} s", linux.end(), counted.end());
}

/// The link is out from 0.8 s to 5.8 s: one probe every two seconds, and then the window as it was.
#[test]
fn elfn_freezes_and_probes_in_linux() {
    for version in VERSIONS {
        let Some(case) = cases().pop() else { return };
        let Some(linux) = kernel(version, "elfn", &case) else { continue };
        let out = linux.departures.iter().filter(|it| (1.2..5.8).contains(&it.time.seconds()));
        let probes: Vec<(u64, f64)> = out.map(|it| (it.segment, it.time.seconds())).collect();
        assert_eq!(probes.len(), 2, "{version}: {probes:?}");
        assert_eq!(probes[0].0, probes[1].0, "{version}: the first segment that is not acknowledged");
        assert!((probes[1].1 - probes[0].1 - 2.0).abs() < 0.05, "{version}: {probes:?}");
        // The segments that the outage has taken halve the window that was kept, and which has grown since.
        let (before, after) = (linux.at(790), linux.at(7000));
        assert!(after.1 >= before.0, "{version}: {before:?} {after:?}");
    }
}
