//! Fuzz targets: packetdrill's scripts.
//!
//! Whatever the text, the reader returns, and what it refuses it names. A script that is read is played to an end,
//! twice the same.

use bolero::check;
use hopyard_fuzz::Spoilt;
use hopyard_packetdrill::parse::parse;
use hopyard_packetdrill::play::{Outcome, play};

/// Checks all that holds of any result.
fn check_script(bytes: &[u8]) {
    let text = &*String::from_utf8_lossy(bytes);
    let lines = text.split('\n').count();
    match parse(text) {
        Ok(script) => {
            let mut last = 1;
            for event in &script.events {
                assert!((last..=lines).contains(&event.line), "events are in order");
                last = event.line;
            }
            let load = |_: &str| None;
            match (play(&script, "rfc", &load), play(&script, "rfc", &load)) {
                (Ok(first), Ok(second)) => {
                    assert_eq!(first, second);
                    match first.outcome {
                        Outcome::Passed => {}
                        Outcome::Failed(failure) => assert!((1..=last).contains(&failure.line), "{failure}"),
                        Outcome::NotApplicable(reasons) => assert!(!reasons.is_empty()),
                    }
                }
                (Err(first), Err(second)) => assert_eq!(first, second),
                (first, second) => panic!("{first:?} and then {second:?}"),
            }
        }
        Err(error) => {
            assert!((1..=lines).contains(&error.line), "{error}");
            assert!(error.column >= 1 && !error.expected.is_empty() && !error.found.is_empty(), "{error:?}");
            assert!(!error.to_string().contains(char::is_control), "{error:?}");
        }
    }
}

const SEEDS: &[&str] = &[
    include_str!("../../validation/packetdrill/scripts/closed_window.pkt"),
    include_str!("../../validation/packetdrill/scripts/closing.pkt"),
    include_str!("../../validation/packetdrill/scripts/fast_retransmit.pkt"),
    include_str!("../../validation/packetdrill/scripts/receiver.pkt"),
    include_str!("../../validation/packetdrill/scripts/slow_start.pkt"),
    include_str!("../../validation/packetdrill/scripts/timeout.pkt"),
];

const WORDS: &[&str] = &[
    "+.1",
    "*",
    "+99999~+999999",
    "0...1",
    "<",
    ">",
    ".",
    "F.",
    "FP.",
    "S",
    "-",
    "1:4294967295(4294967294)",
    "4294967295:0(1)",
    "1001:2001(1000)",
    "ack",
    "4294967295",
    "win",
    "<...>",
    "<nop,nop,sack 1:4294967295 5:2>",
    "<mss 1,TS val 4294967295 ecr 1,sackOK,wscale 255>",
    "write(4, ..., 9223372036854775807) = 9223372036854775807",
    "read(4, ..., 100) = 0",
    "connect(3, ..., ...) = 0",
    "close(4) = 0",
    "shutdown(4, SHUT_RDWR) = 0",
    "sendmsg(4, {msg_iov(1)=[{..., 9223372036854775807}, {..., 5}]}, 0) = 5",
    "setsockopt(4, SOL_TCP, TCP_MAXSEG, [0], 4) = 0",
    "setsockopt(4, SOL_TCP, TCP_NODELAY, [1], 4) = 0",
    "`sysctl net.ipv4.tcp_reordering=0 net.ipv4.tcp_congestion_control=vegas`",
    "%{ assert tcpi_rtt / 0 }%",
    "%{ a = tcpi_snd_cwnd; a += 1; assert a < 5 < (a or not a) }%",
    "--tolerance_usecs=4294967295",
    "--tcp_ts_tick_usecs=4294967295",
    "--strict_segments",
];

#[test]
fn packetdrill_any_bytes() {
    check!().for_each(|bytes: &[u8]| check_script(bytes));
}

#[test]
fn packetdrill_spoilt_scripts() {
    check!().with_type::<Spoilt>().for_each(|spoilt| check_script(&spoilt.text(SEEDS, WORDS)));
}

#[test]
fn packetdrill_seeds_are_valid() {
    for seed in SEEDS {
        let script = parse(seed).unwrap_or_else(|error| panic!("{error}"));
        assert!(script.events.len() > 5);
    }
}
