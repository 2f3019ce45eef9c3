//! The variants in the running kernel: each carries a transfer over a loopback of its own that loses segments.
//!
//! Where the kernel or the machine does not permit that, these tests are skipped, and counted.

#[path = "../../crates/engine/tests/common/skipped.rs"]
mod skipped;

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use hopyard_ebpf::{Error, Loaded, Sources, compile, load};
use skipped::skipped;
use socket2::{Domain, Socket, Type};

/// Set in the process inside the network namespace: the variant.
const INSIDE: &str = "HOPYARD_EBPF_INSIDE";
/// The bytes of a transfer.
const BYTES: usize = 1_000_000;
/// 20 Mb/s, and a queue of 15 segments.
const LINK: &str = "ip link set lo mtu 1500 up && tc qdisc add dev lo root tbf rate 20mbit burst 3000 limit 22000";

/// How many transfers there are at most until one loses segments.
const TRIES: usize = 5;
/// The first kernel that the variants are known to work with, as on the page of the variants.
const OLDEST: (u32, u32) = (6, 10);

/// The version of a kernel's release: `6.12` of `6.12.9-amd64`.
fn version(release: &str) -> Option<(u32, u32)> {
    let mut parts = release.split(|it: char| !it.is_ascii_digit());
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

#[test]
fn versions_are_compared_as_numbers() {
    assert_eq!(version("6.12.9-amd64"), Some((6, 12)));
    assert!(version("6.9.0") < Some(OLDEST) && version("6.1.192-2") < Some(OLDEST));
    assert!(version("6.18.44-fc") > Some(OLDEST) && version("") < Some(OLDEST));
}

/// A variant in the kernel; nothing where the machine does not permit it.
fn loaded(variant: &str, parameters: &[(&str, u32)]) -> Option<Loaded> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").expect("a release");
    if version(&release) < Some(OLDEST) {
        skipped(format_args!("this kernel is {}: expected {}.{} or newer", release.trim(), OLDEST.0, OLDEST.1));
        return None;
    }
    let spaces = Command::new("unshare").args(["-n", "true"]).status();
    if !spaces.is_ok_and(|it| it.success()) {
        skipped("no network namespace can be made here (root is needed)");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("hopyard-ebpf-test-{}-{variant}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let parameters: Vec<_> = parameters.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    let group = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];
    let group = group.iter().find(|it| Path::new(it).join("cgroup.controllers").exists()).unwrap_or(&group[0]);
    let object = compile(&Sources::default(), variant, &folder);
    let found = object.and_then(|object| load(&object, variant, &parameters, Path::new(group)));
    std::fs::remove_dir_all(&folder).expect("removed");
    match found {
        Ok(loaded) => Some(loaded),
        Err(error @ (Error::NoTypes | Error::Group { .. })) => {
            skipped(error);
            None
        }
        Err(Error::Kernel(error)) if error.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
            skipped(error);
            None
        }
        Err(error @ Error::Program { .. }) if error.to_string().contains("No such file") => {
            skipped(error);
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What `ss -ti` says of the sender at the end of a transfer in a network namespace of its own.
fn transfer(variant: &str) -> String {
    let this = std::env::current_exe().expect("this program");
    let mut command = Command::new("unshare");
    command.arg("-n").arg(this).args(["--exact", "inside", "--ignored", "--nocapture"]).env(INSIDE, variant);
    let done = command.stderr(Stdio::inherit()).output().expect("started");
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(done.status.success(), "{text}");
    text
}

#[test]
#[ignore = "a part of the others, which start it in a network namespace"]
fn inside() {
    let Some(variant) = std::env::var_os(INSIDE) else { return };
    let variant = variant.to_str().expect("a name");
    let status = Command::new("sh").args(["-c", LINK]).status().expect("a shell");
    assert!(status.success(), "the link");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let address = listener.local_addr().expect("an address");
    let sink = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().expect("a connection");
        let mut all = Vec::new();
        connection.read_to_end(&mut all).expect("everything");
        all.len()
    });
    let mut socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket");
    socket.set_tcp_congestion(variant.as_bytes()).expect("the variant is in the kernel");
    socket.connect(&address.into()).expect("connected");
    socket.write_all(&vec![0; BYTES]).expect("written");
    let port = format!(":{}", address.port());
    // The buffer of the socket takes everything at once: the state is that of when it was acknowledged.
    let mut state = String::new();
    for _ in 0..600 {
        let shown = Command::new("ss").args(["-tinH", "dst", &port]).output().expect("ss");
        state = String::from_utf8_lossy(&shown.stdout).into_owned();
        if !state.contains("unacked:") && !state.contains("notsent:") {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    socket.shutdown(std::net::Shutdown::Write).expect("closed");
    assert_eq!(sink.join().expect("received"), BYTES);
    println!("{state}");
}

/// The number behind a name in the words of `ss -ti`.
fn number(state: &str, name: &str) -> Option<f64> {
    let rest = state.split_whitespace().find_map(|it| it.strip_prefix(name));
    let digits: String = rest?.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect();
    digits.parse().ok()
}

fn setting(name: &str) -> String {
    std::fs::read_to_string(Path::new("/proc/sys/net/ipv4").join(name)).expect("a setting")
}

#[test]
fn each_variant_carries_a_transfer_with_losses() {
    for variant in ["welcome", "elfn", "westwood_2001"] {
        let before = setting("tcp_congestion_control");
        let Some(loaded) = loaded(variant, &[]) else { return };
        assert_eq!(setting("tcp_congestion_control"), before, "the default of this machine stays");
        // On a busy machine a sender may be too slow to fill the queue: then nothing is lost.
        let losses = |state: &str| number(state, "retrans:0/").is_some_and(|it| it > 0.0);
        let mut state = transfer(variant);
        for _ in 1..TRIES {
            if losses(&state) {
                break;
            }
            state = transfer(variant);
        }
        assert!(losses(&state), "no loss in {TRIES} transfers: {state}");
        assert!(state.contains(variant), "{state}");
        assert!(number(&state, "ssthresh:").is_some_and(|it| it >= 2.0), "{state}");
        drop(loaded);
        let left = setting("tcp_available_congestion_control");
        assert!(!left.contains(variant), "{left}");
    }
}

#[test]
fn the_pacing_rate_is_a_segment_in_a_gap() {
    let Some(_loaded) = loaded("adaptive_pacing", &[("hops", 2), ("bandwidth", 100_000_000)]) else { return };
    let state = transfer("adaptive_pacing");
    let value = |name| number(&state, name).unwrap_or_else(|| panic!("no {name} in {state}"));
    let words: Vec<&str> = state.split_whitespace().collect();
    let place = words.iter().position(|it| *it == "pacing_rate").expect("paced");
    // The rate in use, and its limit.
    let limit = words[place + 1].split('/').nth(1).unwrap_or_else(|| panic!("no limit in {state}"));
    let limit: f64 = limit.trim_end_matches("bps").parse().expect("a rate");
    // The smoothed round trip in milliseconds, and the gap without variation.
    let gap = 2.0 * (value("rtt:") / 1e3 / 2.0 + value("mss:") * 8.0 / 1e8);
    let most = value("mss:") * 8.0 / gap;
    assert!((0.1 * most..1.3 * most).contains(&limit), "{limit} of {most}: {state}");
}

#[test]
fn a_parameter_that_is_not_there_is_named() {
    let folder = std::env::temp_dir().join(format!("hopyard-ebpf-test-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let object = match compile(&Sources::default(), "welcome", &folder) {
        Ok(object) => object,
        Err(error) => {
            skipped(error);
            return;
        }
    };
    let error = load(&object, "welcome", &[("hop".to_owned(), 1)], Path::new("/")).expect_err("there is none");
    let expected = "welcome has no parameter `hop`: expected ";
    assert!(error.to_string().starts_with(expected), "{error}");
    assert!(error.to_string().contains("eta"), "{error}");
    let error = compile(&Sources::default(), "reno", &folder).expect_err("there is none").to_string();
    assert!(error.contains("expected adaptive_pacing, elfn, welcome, westwood_2001"), "{error}");
    std::fs::remove_dir_all(&folder).expect("removed");
}
