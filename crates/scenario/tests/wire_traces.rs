//! Files that wires follow: what a scenario with them does, and what is refused.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

const LTE: &str = "time_s,rate_mbps,delay_ms,loss\n0,2,20,0\n1,0.5,40,0.1\n2,2,20,0\n";

/// A scenario of two hosts and a wire with these keys, beside the files `t.csv` and `t.ms`.
fn load(keys: &str, table: &[u8], opportunities: &[u8]) -> Result<Scenario, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let folder = format!("hopyard-wires-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(folder);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("t.csv"), table).expect("a file");
    fs::write(folder.join("t.ms"), opportunities).expect("a file");
    let text = format!(
        "duration = \"8 s\"\n[nodes]\nwired = 2\n[[flow]]\nfrom = 0\nto = 1\n[[wire]]\nbetween = [0, 1]\n{keys}"
    );
    let scenario = Scenario::load(&text, "t.toml", Path::new(&folder), &[]).map_err(|it| it.to_string());
    let _ = fs::remove_dir_all(&folder);
    scenario
}

fn loaded(keys: &str) -> Scenario {
    load(keys, LTE.as_bytes(), b"1\n5\n").unwrap_or_else(|problems| panic!("{keys}: {problems}"))
}

fn refused(keys: &str, table: &[u8], words: &[&str]) {
    let shown = load(keys, table, b"1\n0\n").expect_err(keys);
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

#[test]
fn a_flow_gets_what_the_trace_carries_under_every_discipline() {
    let disciplines: Vec<_> = hopyard_model::link::queue::MODELS.iter().map(|model| model.name).collect();
    for queue in disciplines {
        let at = |keys: &str| {
            let scenario = loaded(&format!("queue = \"{queue}\"\nqueue_length = 20\n{keys}"));
            let outcome = world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up");
            let lost = |row: &&hopyard_model::observe::DropRow| row.reason == "scripted_loss";
            let lost: u64 = outcome.drops.iter().filter(lost).map(|row| row.count).sum();
            (outcome.flows[0].goodput_kbps, lost)
        };
        let (plain, _) = at("");
        // Two opportunities in 5 ms, and the headers of TCP and IP.
        let (goodput, lost) = at("opportunities = \"t.ms\"");
        assert!((3600.0..4630.0).contains(&goodput) && lost == 0, "{queue}: {goodput}");
        let (looped, lost) = at("trace = \"t.csv\"\ntrace_end = \"loop\"");
        assert!((100.0..1250.0).contains(&looped) && lost > 0, "{queue}: {looped}, {lost} lost");
        let (held, _) = at("trace = \"t.csv\"");
        assert!(looped < held && held < goodput && goodput < plain, "{queue}: {looped} {held} {goodput} {plain}");
    }
}

#[test]
fn a_direction_has_its_own_trace() {
    let spec = loaded("trace = \"t.csv\"\nopportunities_back = \"t.ms\"").spec(0);
    let [there, back] = &spec.wire_traces[&0];
    assert_eq!((there.len(), back.len()), (1, 1));
    assert_eq!(there[0].mean().map(|it| it.bps()), Some(1_250_000));
    assert_eq!(back[0].mean().map(|it| it.bps()), Some(4_800_000));
    assert!(loaded("").spec(0).wire_traces.is_empty());
}

#[test]
fn content_and_end_are_in_the_hash_and_the_name_is_not() {
    let table = |keys: &str, table: &str| load(keys, table.as_bytes(), b"1\n").expect("a scenario").hash();
    let one = table("trace = \"t.csv\"", "time_s,loss\n0,0\n1,0.5\n");
    assert_ne!(one, table("trace = \"t.csv\"", "time_s,loss\n0,0\n1,0.6\n"));
    assert_ne!(one, table("trace_back = \"t.csv\"", "time_s,loss\n0,0\n1,0.5\n"));
    assert_ne!(one, table("trace = \"t.csv\"\ntrace_end = \"loop\"", "time_s,loss\n0,0\n1,0.5\n"));
    assert_eq!(one, table("trace = \"./t.csv\"", "time_s,loss\n0,0\n1,0.5\n"));
    let files = loaded("trace = \"t.csv\"\nopportunities_back = \"t.ms\"").files();
    let names: Vec<_> = files.iter().map(|file| (file.path.as_str(), file.bytes.len())).collect();
    assert_eq!(names, [("t.csv", LTE.len()), ("t.ms", 4)]);
}

#[test]
fn every_fault_is_named_at_once() {
    refused(
        "trace = \"t.csv\"\nopportunities_back = \"t.ms\"\ntrace_back = \"none.csv\"\ntrace_end = \"loop\"",
        b"time_s,rate_mbps\n0,-1\n1,NaN\n",
        &[
            "the trace has 2 mistakes",
            "t.csv:2: expected a rate of 0",
            "t.csv:3: expected a rate of 0",
            "the file of opportunities has one mistake",
            "t.ms:2: expected a time that is not before the one above, found: 0",
            "none.csv cannot be read",
        ],
    );
    refused("trace_end = \"hodl\"", b"", &["expected `hold` or `loop`"]);
    let both = load("trace = \"t.csv\"\nopportunities = \"t.ms\"", LTE.as_bytes(), b"1\n").expect_err("two rates");
    assert!(both.contains("both `trace` and `opportunities` give the rate"), "{both}");
    let table = b"time_s,loss\n0,0.1\n";
    load("trace = \"t.csv\"\nopportunities = \"t.ms\"", table, b"1\n").expect("a loss beside opportunities");
}

#[test]
fn values_that_a_trace_replaces_are_warned_of() {
    let warnings = |keys: &str| loaded(keys).warnings().iter().map(ToString::to_string).collect::<Vec<_>>();
    let found = warnings("trace = \"t.csv\"\nrate = \"5 Mbps\"\nrate_back = \"1 Mbps\"\ndelay = \"9 ms\"");
    assert_eq!(found.len(), 1, "the delay counts for the way back: {found:?}");
    assert!(found[0].contains("`rate` does nothing here: `trace` gives the rate"), "{found:?}");
    let found = warnings("opportunities_back = \"t.ms\"\nrate = \"5 Mbps\"\nrate_back = \"1 Mbps\"");
    assert!(found[0].contains("`rate_back` does nothing here: `opportunities_back` gives the rate"), "{found:?}");
    assert_eq!(warnings("trace_end = \"loop\"").len(), 1);
}
