//! Plays the scripts of `scripts/`: they pass, each changed value makes one fail, and what the model lacks is named.

use std::path::PathBuf;

use hopyard_packetdrill::parse::parse;
use hopyard_packetdrill::play::{Outcome, Report, play};

const PROFILE: &str = "rfc";

fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn report(text: &str) -> Report {
    report_in(PROFILE, text)
}

fn report_in(profile: &str, text: &str) -> Report {
    let script = parse(text).unwrap_or_else(|error| panic!("{error}"));
    play(&script, profile, &|_| None).expect("a model for the script")
}

fn outcome(text: &str) -> String {
    shown(report(text).outcome)
}

fn shown(outcome: Outcome) -> String {
    match outcome {
        Outcome::Passed => "passed".to_owned(),
        Outcome::Failed(failure) => failure.to_string(),
        Outcome::NotApplicable(reasons) => {
            reasons.iter().map(|reason| format!("not applicable: {reason}")).collect::<Vec<_>>().join(", ")
        }
    }
}

/// How many segments and assertions each script compares: a script that compares nothing would pass, too.
#[test]
fn the_scripts_pass() {
    let expected = [
        ("closed_window.pkt", 8, 0),
        ("closing.pkt", 4, 0),
        ("fast_retransmit.pkt", 12, 8),
        ("receiver.pkt", 5, 0),
        ("slow_start.pkt", 15, 4),
        ("timeout.pkt", 4, 2),
    ];
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts");
    let mut found: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.ends_with(".pkt"))
        .collect();
    found.sort();
    assert_eq!(found, expected.map(|(name, ..)| name), "every script is played");
    for (name, segments, assertions) in expected {
        let text = text(name);
        assert_eq!(outcome(&text), "passed", "{name}");
        let report = report(&text);
        assert_eq!((report.segments, report.assertions), (segments, assertions), "{name}");
    }
}

/// A script with one value changed, and why it fails then.
#[test]
fn a_changed_value_fails() {
    let changed = [
        ("slow_start.pkt", "> . 1:5001(5000)", "> . 1:4501(4500)", "line 19: other numbers: sent . 4501:5001(500)"),
        (
            "slow_start.pkt",
            "tcpi_snd_cwnd == 10",
            "tcpi_snd_cwnd == 9",
            "line 16: assert tcpi_snd_cwnd == 9: tcpi_snd_cwnd is 10",
        ),
        ("slow_start.pkt", "6001:7001(1000) ack 1", "6001:7001(1000) ack 2", "line 21: another acknowledgement: sent"),
        ("timeout.pkt", "+.3   >", "+.31  >", "line 14: before 0.410010 s: sent . 1:301(300) ack 1 at 0.400010 s"),
        ("timeout.pkt", "+.3   >", "+.29  >", "line 14: nothing is sent from 0.390010 s to 0.394010 s"),
        ("timeout.pkt", "+.59~+.61 >", "+.61~+.62 >", "line 15: before 1.010010 s"),
        ("receiver.pkt", "sack 3001:4001", "sack 3001:5001", "line 25: SACK blocks 3001:4001: sent"),
        ("receiver.pkt", "TS val 681 ecr 201,", "", "line 25: timestamps: sent"),
        ("receiver.pkt", "val 671 ecr 201>", "val 671 ecr 202>", "line 19: echo 201, not 202: sent"),
        ("receiver.pkt", "val 691 ecr", "val 791 ecr", "line 27: a timestamp 191 ms after the first, not 291 ms: sent"),
        ("receiver.pkt", "2500) = 1000", "2500) = 999", "line 16: the call of line 15 reads 1000 bytes, expected 999"),
        ("receiver.pkt", "+.02...0.120", "+.02...0.090", "line 16: the call of line 15 returns at 0.220010 s"),
        ("receiver.pkt", "SIOCINQ, [1000]", "SIOCINQ, [10]", "line 20: 1000 bytes may be read, expected 10"),
        (
            "receiver.pkt",
            "+0    recv(4",
            "+0    recv(4, ..., 10000, 0) = 1000\n+0 recv(4",
            "line 22: there is nothing to read",
        ),
        ("closing.pkt", "> FP. 1001", "> P. 1001", "line 14: other flags: sent F. 1001:1501(500) ack 1"),
        ("closing.pkt", "1500) = -1 EPIPE", "1500) = 1500 //", "line 15: the sending half is closed"),
        ("closing.pkt", "+0...0.01 accept", "+0 accept", "line 5: the connection is not open"),
        (
            "closed_window.pkt",
            "> . 2000:2000(0)",
            "> . 2001:2001(0)",
            "line 14: other numbers: sent . 2000:2000(0) ack 1",
        ),
        ("fast_retransmit.pkt", "+0    < . 1:1(0) ack 1 win 15000 <sack 1001:4001>", "", "line 20: nothing is sent"),
        ("fast_retransmit.pkt", "0    socket", "--strict_segments\n0    socket", "line 16: another length: sent"),
    ];
    let mut wrong = Vec::new();
    for (name, before, after, expected) in changed {
        let text = text(name);
        assert!(text.contains(before), "{name} has {before}");
        let found = outcome(&text.replacen(before, after, 1));
        wrong.extend((!found.starts_with(expected)).then(|| format!("{name}, {after}: {found}")));
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// A script needs something that the model does not have.
#[test]
fn what_the_model_lacks_is_named() {
    let changed = [
        ("< S 0:0(0)", "< SEW 0:0(0)", "ECN"),
        ("< S 0:0(0) win", "< S 0:10(10) win", "TCP Fast Open"),
        ("<mss 500>", "<mss 500,md5 00>", "option of TCP: md5"),
        ("+0    write(4, ..., 8000) = 8000", "+0 send(4, ..., 8000, MSG_MORE) = 8000", "corked sending"),
        ("+0    write(4, ..., 8000) = 8000", "+0 write(4, ..., 8000) = 7000", "limits of the send buffer"),
        ("+0    write(4, ..., 8000) = 8000", "+0...1 write(4, ..., 8000) = 8000", "limits of the send buffer"),
        ("+.001 < . 1:1(0)", "+.001 < . 1:11(10)", "data in both directions"),
        ("+.001 < . 1:1(0)", "+.001 < R. 1:1(0)", "resets"),
        ("+.001 < . 1:1(0)", "+.001 < icmp unreachable //", "protocol: icmp"),
        (
            "+0    listen(3, 1) = 0",
            "+0 setsockopt(3, SOL_TCP, TCP_WINDOW_CLAMP, [1], 4) = 0",
            "socket option: TCP_WINDOW_CLAMP",
        ),
        ("+0    listen(3, 1) = 0", "+0 epoll_create(1) = 5", "poll and epoll"),
        ("+0    listen(3, 1) = 0", "+0 bind(3, ..., ...) = -1 EADDRINUSE (x)", "errors of system calls"),
        ("+0    %{ assert", "+0    %{ while x: assert", "code beyond assertions"),
        (" 0    socket", "--ip_version=ipv6\n 0 socket", "IPv6"),
        ("net.ipv4.tcp_congestion_control=reno", "net.core.x=1", "sysctl: net.core.x"),
    ];
    let text = text("slow_start.pkt");
    for (before, after, reason) in changed {
        assert!(text.contains(before), "{before}");
        assert_eq!(outcome(&text.replacen(before, after, 1)), format!("not applicable: {reason}"), "{after}");
    }
    let receiver = self::text("receiver.pkt");
    let close = "+0 < F. 4001:4001(0) ack 1 win 9 <nop,nop,TS val 300 ecr 500>\n+.1 close(4) = 0\n";
    assert_eq!(outcome(&(receiver + close)), "not applicable: a receiver that closes later (CLOSE-WAIT)");
}

/// A name that the model does not have makes an assertion be left out, and the report says so.
#[test]
fn assertions_about_other_quantities_are_counted() {
    let text = text("slow_start.pkt").replace("assert tcpi_unacked == 10", "assert tcpi_reordering == 99");
    let report = report(&text);
    assert_eq!((report.outcome, report.assertions), (Outcome::Passed, 3));
    assert_eq!(report.not_compared.into_iter().collect::<Vec<_>>(), ["tcpi_reordering"]);
}

/// What only the profile `linux` has: PSH, and the extent of reordering.
#[test]
fn push_and_reordering_are_compared_in_the_profile_linux() {
    let text = " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n+0 listen(3, 1) = 0\n\
                +0 < S 0:0(0) win 60000 <mss 1000,sackOK>\n+0 > S. 0:0(0) ack 1 <...>\n\
                +.08 < . 1:1(0) ack 1 win 60000\n+0 accept(3, ..., ...) = 4\n\
                +0 write(4, ..., 8000) = 8000\n+0 > P. 1:8001(8000) ack 1\n\
                +.08 < . 1:1(0) ack 1 win 60000 <sack 5001:6001>\n+.022 > . 1:1001(1000) ack 1\n\
                +0 %{ assert tcpi_reordering == 3, tcpi_reordering }%\n\
                +.001 < . 1:1(0) ack 1 win 60000 <sack 1001:2001 5001:6001>\n+0 > . 2001:3001(1000) ack 1\n\
                +0 %{ assert tcpi_reordering == 5, tcpi_reordering }%\n\
                +.08 < . 1:1(0) ack 8001 win 60000\n+0 close(4) = 0\n+0 > F. 8001:8001(0) ack 1\n";
    let report = report_in("linux", text);
    assert_eq!((shown(report.outcome), report.segments, report.assertions), ("passed".to_owned(), 12, 2));
    let changed = [
        ("> P. 1:8001", "> . 1:8001", "line 9: another flag PSH: sent P. 7001:8001(1000) ack 1"),
        ("> F. 8001", "> FP. 8001", "line 18: another flag PSH: sent F. 8001:8001(0) ack 1"),
        ("tcpi_reordering == 5", "tcpi_reordering == 4", "line 15: assert tcpi_reordering == 4"),
    ];
    for (before, after, expected) in changed {
        let text = text.replacen(before, after, 1);
        let found = shown(report_in("linux", &text).outcome);
        assert!(found.starts_with(expected), "{after}: {found}");
    }
}

/// A buffer that is not copied leaves in the same segments. The notice of it is what the model does not have.
#[test]
fn what_is_not_copied_is_sent_like_other_data() {
    let text = text("slow_start.pkt");
    let (write, send) = ("+0    write(4, ..., 8000) = 8000", "+0 send(4, ..., 8000, MSG_ZEROCOPY) = 8000");
    assert!(text.contains(write));
    assert_eq!(outcome(&text.replacen(write, send, 1)), "passed");
    let notice = format!("{text}+0 recvmsg(4, {{msg_name(...)=..., msg_iov(1)=[{{...,0}}]}}, MSG_ERRQUEUE) = 0\n");
    assert_eq!(outcome(&notice.replacen(write, send, 1)), "not applicable: ancillary data");
}

/// A call that never returns, and a segment that this end does not send: under the profile `rfc`, the third segment of
/// an opening exchange carries data.
#[test]
fn what_does_not_happen_fails() {
    let open = " 0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0...0.1 connect(3, ..., ...) = 0\n\
                +0 > S 0:0(0) <...>\n";
    assert_eq!(outcome(open), "line 2: the call does not return");
    let answer = "+.1 < S. 0:0(0) ack 1 win 60000 <mss 1000>\n";
    assert_eq!(outcome(&format!("{open}{answer}")), "passed");
    let third = "+0 > . 1:1(0) ack 1\n";
    assert_eq!(
        outcome(&format!("{open}{answer}{third}")),
        "line 5: nothing is sent from 0.100000 s to 0.104000 s, expected . 1:1(0) ack 1"
    );
}
