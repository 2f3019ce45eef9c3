//! Files of sizes, times and packets that the traffic of flows names.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hopyard_model::observe::Outcome;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

/// A scenario of two wired hosts with this text, beside a file of this content.
fn load(text: &str, name: &str, content: &[u8]) -> Result<Scenario, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = format!("hopyard-traffic-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join(name), content).expect("a file");
    let text = format!(
        "duration = \"9.5 s\"\n[nodes]\ncount = 0\nwired = 2\n[[wire]]\nbetween = [0, 1]\n[routing]\nprotocol = \"static\"\n{text}"
    );
    let scenario = Scenario::load(&text, "t.toml", Path::new(&folder), &[]).map_err(|it| it.to_string());
    let _ = fs::remove_dir_all(&folder);
    scenario
}

fn outcome(scenario: &Scenario) -> Outcome {
    world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up")
}

fn sizes(text: &str, name: &str, content: &[u8]) -> Vec<u64> {
    let scenario = load(text, name, content).unwrap_or_else(|error| panic!("{error}"));
    outcome(&scenario).objects.iter().map(|row| row.bytes).collect()
}

const PAGES: &str = "[[flow]]\nfrom = 0\nto = 1\ntraffic = \"request_response\"\n\
                     request_response.request = \"file(sizes.csv)\"\nrequest_response.pages = 3\n";
const SHARED: &str = "[traffic.messages]\nsize = \"100 B\"\ninterval = \"file(times.csv)\"\n\
                      [[flow]]\nfrom = 0\nto = 1\ntraffic = \"messages\"\n\
                      [[flow]]\nfrom = 1\nto = 0\nudp = true\ntraffic = \"messages\"\nmessages.size = \"50 B\"\n";
const TRACE: &str =
    "[traffic.trace]\npath = \"voice.csv\"\n[[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"trace\"\n";

#[test]
fn numbers_of_files_are_the_sizes_and_times_of_objects() {
    let scenario = load(PAGES, "sizes.csv", b"bytes\n111\n222\n").expect("a scenario");
    let requests = outcome(&scenario).objects.into_iter().filter(|row| row.kind == "request");
    assert_eq!(requests.map(|row| row.bytes).collect::<Vec<_>>(), [111, 222, 111]);
    let rows = outcome(&load(SHARED, "times.csv", b"1\n2\n").expect("a scenario")).objects;
    for (flow, size) in [(0, 100), (1, 50)] {
        let mine = rows.iter().filter(|row| row.flow == flow && row.bytes == size);
        assert_eq!(mine.map(|row| row.written_s).collect::<Vec<_>>(), [0.0, 1.0, 3.0, 4.0, 6.0, 7.0, 9.0], "{flow}");
    }
}

#[test]
fn traces_are_tables_or_captures() {
    assert_eq!(sizes(TRACE, "voice.csv", b"time_s,bytes\n5,160\n5.02,172\n"), [160, 172]);
    // One frame of IPv4 with UDP, of 200 bytes in all.
    let mut capture = Vec::new();
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 100, 101, 5, 0, 28, 200] {
        capture.extend(word.to_le_bytes());
    }
    let mut packet = [0; 28];
    (packet[0], packet[3], packet[9]) = (0x45, 200, 17);
    capture.extend(packet);
    assert_eq!(sizes(TRACE, "voice.csv", &capture), [172]);
}

#[test]
fn the_content_of_a_file_is_in_the_hash_and_its_name_is_not() {
    let hash = |text: &str, name: &str, content: &[u8]| load(text, name, content).expect("a scenario").hash();
    let first = hash(PAGES, "sizes.csv", b"111\n222\n");
    assert_eq!(first, hash(&PAGES.replace("sizes", "other"), "other.csv", b"111\n222\n"));
    assert_ne!(first, hash(PAGES, "sizes.csv", b"111\n223\n"));
    assert_ne!(first, hash(&PAGES.replace("file(", "sample("), "sizes.csv", b"111\n222\n"));
    let trace = hash(TRACE, "voice.csv", b"time_s,bytes\n5,160\n");
    assert_ne!(trace, hash(TRACE, "voice.csv", b"time_s,bytes\n5,161\n"));
    let files = load(SHARED, "times.csv", b"1\n").expect("a scenario").files();
    assert_eq!(files.iter().map(|file| (&*file.path, &*file.bytes)).collect::<Vec<_>>(), [("times.csv", &b"1\n"[..])]);
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let shown = |text: &str, name: &str, content: &str| {
        load(text, name, content.as_bytes()).map(|_| ()).expect_err("it is faulty")
    };
    let cases = [
        (shown(PAGES, "sizes.csv", "100\nx\n"), "t.toml:13:", ["the file of sizes has one mistake", "sizes.csv:2:"]),
        (shown(SHARED, "times.csv", "-1\n"), "t.toml:11:", ["the file of times has one mistake", "times.csv:1:"]),
        (shown(SHARED, "other.csv", "1\n"), "t.toml:11:", ["cannot be read", "a file beside the scenario"]),
        (shown(TRACE, "voice.csv", "1,2\n"), "t.toml:10:", ["the file of packets has one mistake", "time_s and bytes"]),
        (
            shown(&TRACE.replace("voice.csv", ""), "voice.csv", ""),
            "t.toml:10:",
            ["the file of packets is not named", "[traffic.trace]"],
        ),
        (
            shown(&PAGES.replace("file(sizes.csv)", "pareto(1 kB, 1)"), "sizes.csv", ""),
            "t.toml:13:",
            ["expected a size such as", "pareto(1 kB, 1)"],
        ),
        (
            shown(&PAGES.replace("[[flow]]\n", "[[flow]]\nudp = true\n"), "sizes.csv", "1\n"),
            "t.toml:13:",
            ["needs TCP, and this flow uses UDP", "messages"],
        ),
    ];
    for (found, place, expected) in cases {
        for part in [place].iter().chain(&expected) {
            assert!(found.contains(part), "{part}: {found}");
        }
        assert_eq!(found.matches("t.toml").count(), 1, "once: {found}");
    }
}
