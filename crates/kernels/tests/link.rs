//! Real kernels on a simulated link. Without a built kernel these tests compare nothing, and say so.

mod common;

use common::{Link, built, guest, reports, run};
use hopyard_engine::{Span, Time};
use hopyard_kernels::{Completion, Settings};

fn seconds(seconds: u64) -> Time {
    Time::ZERO + Span::from_secs(seconds)
}

fn slow() -> Link {
    Link::new(2_000_000, Span::from_millis(10))
}

/// The bytes of 300 segments from host 0 to host 1, with four forced losses: goodput in kbit/s, retransmissions, digest.
fn transfer(version: &str, variant: &str, settings: &Settings) -> Option<(f64, u32, u64)> {
    let built = built(version)?;
    let mut link = slow();
    link.drops = vec![30, 60, 61, 200];
    let source = format!("source 10.0.0.2 5001 40000 {variant} 1000000000 434400 1448");
    let guests = [guest(&built, 0, &source), guest(&built, 1, "sink 5001")];
    let (lines, link) = run(&guests, settings.clone(), link, seconds(10));
    let number = |text: &str| text.parse::<f64>().expect("a number");
    let accepted = reports(&lines[1], "accepted").pop().unwrap_or_else(|| panic!("{lines:#?}"));
    let received = reports(&lines[1], "received").pop().unwrap_or_else(|| panic!("{lines:#?}"));
    let sent = reports(&lines[0], "sent").pop().unwrap_or_else(|| panic!("{lines:#?}"));
    let goodput = number(received[3]) * 8e6 / (number(received[1]) - number(accepted[1]));
    Some((goodput, sent[4].parse().expect("a number"), link.digest()))
}

#[test]
fn ping_takes_twice_the_delay_exactly() {
    let Some(built) = built("6.1") else { return };
    let guests = [guest(&built, 0, "ping 10.0.0.2 1000000000 5"), guest(&built, 1, "")];
    let (lines, link) = run(&guests, Settings::default(), Link::new(0, Span::from_millis(10)), seconds(7));
    let at = |what: &str, host: usize| -> Vec<u64> {
        link.times.iter().filter(|it| it.1 == what && it.2 == host).map(|it| it.0).collect()
    };
    let (sent, received) = (at("sent", 0), at("received", 0));
    assert_eq!(sent.len(), 5, "{lines:#?}");
    for (sent, received) in sent.iter().zip(&received) {
        assert_eq!(received - sent, 20_000_000, "on the wire");
    }
    for report in reports(&lines[0], "ping") {
        // Reading the clock costs 256 ns.
        let time: u64 = report[3].parse().expect("a number");
        assert!((20_000_000..20_002_000).contains(&time), "{report:?}");
    }
}

#[test]
fn a_transfer_with_losses_is_the_same_in_each_run() {
    let Some(first) = transfer("6.1", "reno", &Settings::default()) else { return };
    eprintln!("{first:?}");
    assert_eq!(first.1, 4, "one retransmission for each lost segment");
    assert!((first.0 - 1887.4).abs() < 0.5, "{} kbit/s", first.0);
    for _ in 0..4 {
        assert_eq!(transfer("6.1", "reno", &Settings::default()), Some(first));
    }
}
