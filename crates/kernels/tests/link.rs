//! Real kernels on a simulated link. Without a built kernel these tests are skipped.

mod common;

use std::net::Ipv4Addr;
use std::time::Duration;

use common::{Link, Reports, SINK, address, built, guest, run, sample, source};
use hopyard_engine::{Span, Time};
use hopyard_kernels::agent::{Order, Report};
use hopyard_kernels::{Completion, Kernels, Settings};

/// The versions that can be built.
const VERSIONS: [&str; 2] = ["6.1", "6.12"];
/// The TCP variants of the kernels that are compared.
const VARIANTS: [&str; 7] = ["reno", "cubic", "vegas", "veno", "westwood", "illinois", "bbr"];

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

/// What became of a transfer.
#[derive(Clone, Debug, PartialEq)]
struct Transfer {
    goodput_kbps: f64,
    retransmissions: u32,
    digest: u64,
    /// What both agents have reported.
    reports: Vec<Reports>,
}

/// The bytes of 300 segments from host 0 to host 1 over 2 Mb/s and 10 ms, with four forced losses.
fn transfer(version: &str, variant: &str, settings: &Settings) -> Option<Transfer> {
    let built = built(version)?;
    let mut link = Link::new(2_000_000, Span::from_millis(10));
    link.drops = vec![30, 60, 61, 200];
    let orders = [source(variant, 434_400, 1448), sample(100_000_000)];
    let guests = [guest(&built, 0, &orders), guest(&built, 1, &[SINK])];
    let (reports, link) = run(&guests, settings.clone(), link, seconds(10));
    let all = || reports.iter().flatten();
    let accepted = all().find_map(|(at, it)| matches!(it, Report::Accepted { .. }).then_some(*at));
    let received = all().find_map(|(_, it)| match it {
        Report::Received { bytes, last, .. } => Some((*bytes as f64, *last)),
        _ => None,
    });
    let retransmissions = all().find_map(|(_, it)| match it {
        Report::Sent { retransmissions, .. } => Some(*retransmissions),
        _ => None,
    });
    let (bytes, last) = received.unwrap_or_else(|| panic!("{reports:#?}"));
    Some(Transfer {
        goodput_kbps: bytes * 8e-3 / last.since(accepted.expect("it was accepted")).seconds(),
        retransmissions: retransmissions.expect("it was sent"),
        digest: link.digest(),
        reports,
    })
}

#[test]
fn ping_takes_twice_the_delay_exactly() {
    for version in VERSIONS {
        let Some(built) = built(version) else { continue };
        let ping = Order::Ping { to: address(1), start: seconds(1), count: 5 };
        let guests = [guest(&built, 0, &[ping]), guest(&built, 1, &[])];
        let (reports, link) = run(&guests, Settings::default(), Link::new(0, Span::from_millis(10)), seconds(7));
        let at = |what: &str, host: usize| -> Vec<u64> {
            link.times.iter().filter(|it| it.1 == what && it.2 == host).map(|it| it.0).collect()
        };
        let (sent, received) = (at("sent", 0), at("received", 0));
        assert_eq!((sent.len(), received.len()), (5, 5), "{reports:#?}");
        for (sent, received) in sent.iter().zip(&received) {
            assert_eq!(received - sent, 20_000_000, "on the wire");
        }
        let answers = reports[0].iter().filter_map(|(_, it)| match it {
            Report::Answer { after, .. } => Some(after.expect("nothing is lost")),
            _ => None,
        });
        // Reading the clock costs 256 ns, a system call that fails 1 microsecond.
        assert!(answers.clone().count() == 5 && answers.clone().all(|it| (20_000_000..20_002_000).contains(&it)));
    }
}

#[test]
fn a_transfer_with_losses_is_the_same_in_each_run() {
    // With buffers that come back when frames are sent, and at once. The command line, which begins a kernel's random
    // numbers, decides the last figures.
    for (version, when_sent, at_once) in [("6.1", 1885.5, 1887.4), ("6.12", 1887.6, 1887.6)] {
        let Some(first) = transfer(version, "reno", &Settings::default()) else { continue };
        assert_eq!(first.retransmissions, 4, "one for each lost segment");
        assert!((first.goodput_kbps - when_sent).abs() < 4.0, "{version}: {} kbit/s", first.goodput_kbps);
        for _ in 0..4 {
            assert_eq!(transfer(version, "reno", &Settings::default()), Some(first.clone()));
        }
        let immediate = Settings { completion: Completion::Immediate, ..Settings::default() };
        let immediate = transfer(version, "reno", &immediate).expect("the kernel is there");
        assert_eq!(immediate.retransmissions, 4);
        assert!((immediate.goodput_kbps - at_once).abs() < 4.0, "{version}: {} kbit/s", immediate.goodput_kbps);
        // Neither the grant nor where the sockets are decides anything.
        let settings = Settings { grant: Span::from_millis(3), folder: Some("/tmp".into()), ..Settings::default() };
        assert_eq!(transfer(version, "reno", &settings), Some(first));
    }
}

#[test]
fn each_variant_delivers_everything_in_its_own_way() {
    for version in VERSIONS {
        let mut digests = Vec::new();
        for variant in VARIANTS {
            let Some(done) = transfer(version, variant, &Settings::default()) else { break };
            assert!((1500.0..1913.0).contains(&done.goodput_kbps), "{variant}: {} kbit/s", done.goodput_kbps);
            digests.push(done.digest);
        }
        let all = digests.len();
        digests.sort_unstable();
        digests.dedup();
        assert_eq!(digests.len(), all, "no two variants do the same");
    }
}

#[test]
fn sockets_are_sampled_in_simulated_time() {
    let Some(done) = transfer("6.1", "reno", &Settings::default()) else { return };
    let samples = done.reports[0].iter().filter_map(|(at, it)| match it {
        Report::Socket { port, peer, srtt, retransmissions, .. } => Some((*at, *port, *peer, *srtt, *retransmissions)),
        _ => None,
    });
    let samples: Vec<_> = samples.collect();
    assert!(samples.len() >= 10, "{:#?}", done.reports);
    for (at, port, peer, srtt, _) in &samples {
        assert!(at.nanos().is_multiple_of(100_000_000), "at a multiple of the interval");
        assert_eq!((*port, *peer), (40_000, 5001));
        // Twice 10 ms, and 12 segments of 6 ms at most before this one.
        assert!((20_000..1_000_000).contains(srtt), "{srtt}");
    }
    assert!(samples.iter().any(|it| it.4 > 0));
}

#[test]
fn completion_decides_what_the_kernel_queues() {
    let queued = |completion| {
        let built = built("6.1")?;
        let guests = [guest(&built, 0, &[source("cubic", 3_000_000, 16_384)]), guest(&built, 1, &[SINK])];
        let settings = Settings { completion, ..Settings::default() };
        let (_, link) = run(&guests, settings, Link::new(2_000_000, Span::from_millis(10)), seconds(9));
        Some(link.longest_wait())
    };
    let (Some(sent), Some(immediate)) = (queued(Completion::Sent), queued(Completion::Immediate)) else { return };
    // TCP small queues leave few segments to a driver that says when it has sent them.
    assert!(sent < Span::from_millis(40), "{sent}");
    assert!(immediate > Span::from_millis(100), "{immediate}");
}

#[test]
fn a_panic_is_an_error_with_its_log() {
    let Some(built) = built("6.1") else { return };
    let guests = [guest(&built, 0, &[Order::Crash { start: seconds(2) }])];
    let mut kernels = Kernels::start(&guests, Settings::default()).expect("started");
    let text = kernels.advance(seconds(3), &mut Link::default(), || false).expect_err("it panics").to_string();
    assert!(text.starts_with("the kernel of host 0 ended at 2.0000"), "{text}");
    assert!(text.contains("Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000300"), "{text}");
}

#[test]
fn a_program_that_computes_without_end_is_named() {
    let Some(built) = built("6.1") else { return };
    let guests = [guest(&built, 0, &[Order::Spin { start: seconds(2) }])];
    let settings = Settings { patience: Duration::from_secs(2), ..Settings::default() };
    let mut kernels = Kernels::start(&guests, settings).expect("started");
    let text = kernels.advance(seconds(3), &mut Link::default(), || false).expect_err("it spins").to_string();
    assert!(text.contains("host 0 runs since the simulated time 2.0000"), "{text}");
    assert!(text.contains("has not answered for 2 s"), "{text}");
}

/// A kernel that nobody disturbs goes on by itself for a while, and ends or spins at a later time than it was told.
#[test]
fn what_happens_while_a_kernel_goes_on_by_itself_has_its_own_time() {
    let Some(built) = built("6.1") else { return };
    let text = |orders: &[Order], patience: u64| {
        let settings = Settings { patience: Duration::from_secs(patience), ..Settings::default() };
        let mut kernels = Kernels::start(&[guest(&built, 0, orders)], settings).expect("started");
        kernels.advance(seconds(3), &mut Link::default(), || false).expect_err("it ends or spins").to_string()
    };
    let at = |milliseconds: u64| Time::ZERO + Span::from_millis(milliseconds);
    // A report says what the agent did last.
    let ping = Order::Ping { to: Ipv4Addr::LOCALHOST, start: at(700), count: 1 };
    let crashed = text(&[ping.clone(), Order::Crash { start: at(800) }], 60);
    assert!(crashed.starts_with("the kernel of host 0 ended at 0.7"), "{crashed}");
    let spun = text(&[sample(500_000_000), ping, Order::Spin { start: at(800) }], 2);
    assert!(spun.contains("host 0 runs since the simulated time 0.7"), "{spun}");
}

#[test]
fn no_process_is_left_when_the_kernels_are_dropped() {
    let Some(built) = built("6.1") else { return };
    // A name that no other process has.
    let name = format!("hopyard-{}", std::process::id());
    let program = std::env::temp_dir().join(&name);
    std::fs::copy(&built.program, &program).expect("copied");
    let mut spec = guest(&built, 0, &[SINK]);
    spec.program = program.clone();
    let mut kernels = Kernels::start(&[spec], Settings::default()).expect("started");
    kernels.advance(seconds(1), &mut Link::default(), || false).expect("on");
    assert!(processes(&name) >= 2, "the kernel, and its first process");
    drop(kernels);
    std::fs::remove_file(program).expect("removed");
    let gone = (0..200).any(|_| {
        std::thread::sleep(Duration::from_millis(10));
        processes(&name) == 0
    });
    assert!(gone, "{} processes are left", processes(&name));
}

/// How many processes have this name, or its first 15 letters, as the system keeps them.
fn processes(name: &str) -> usize {
    let name = &name[..name.len().min(15)];
    let all = std::fs::read_dir("/proc").expect("the processes").filter_map(|entry| Some(entry.ok()?.path()));
    all.filter(|it| std::fs::read_to_string(it.join("comm")).is_ok_and(|found| found.trim() == name)).count()
}

#[test]
fn sampling_moves_frames_by_less_than_five_microseconds() {
    let times = |sampled: &[Order]| {
        let built = built("6.1")?;
        let mut link = Link::new(2_000_000, Span::from_millis(10));
        link.drops = vec![30, 60, 61, 200];
        let orders = [&[source("cubic", 434_400, 1448)], sampled].concat();
        let guests = [guest(&built, 0, &orders), guest(&built, 1, &[SINK])];
        Some(run(&guests, Settings::default(), link, seconds(4)).1.times)
    };
    let Some(never) = times(&[]) else { return };
    for interval in [100_000_000, 1_234_567] {
        let found = times(&[sample(interval)]).expect("the kernel is there");
        let most = never.iter().zip(&found).map(|(one, other)| one.0.abs_diff(other.0)).max();
        assert_eq!(found.len(), never.len(), "{interval}");
        assert!(most.is_some_and(|it| it < 5_000), "{interval}: {most:?} ns");
    }
}
