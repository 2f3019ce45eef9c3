//! Queue disciplines in scenarios.

use std::path::Path;

use hopyard_model::link::queue;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

/// Two hosts and a narrow wire between routers.
const NETWORK: &str =
    "duration = \"5 s\"\n[nodes]\nwired = 2\n[[flow]]\nfrom = 0\nto = 1\n[[wire]]\nbetween = [0, 1]\n";

fn scenario(text: &str) -> Scenario {
    Scenario::load(text, "s.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{text}: {problems}"))
}

/// The warnings of a scenario.
fn load(text: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::load(text, "s.toml", Path::new(""), &[]);
    let warnings = |it: Scenario| it.warnings().iter().map(ToString::to_string).collect();
    scenario.map(warnings).map_err(|problems| problems.to_string())
}

fn refused(text: &str, words: &[&str]) {
    let shown = load(text).expect_err(text);
    for word in words {
        assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
    }
}

fn warned(text: &str, words: &[&str]) {
    let warnings = load(text).unwrap_or_else(|shown| panic!("{text}: {shown}"));
    let has = |it: &String| words.iter().all(|word| it.contains(word));
    assert!(warnings.iter().any(has), "{text}: {words:?} {warnings:?}");
}

#[test]
fn a_wire_has_the_parameters_of_its_own_queue_or_of_the_radios() {
    let text = format!("{NETWORK}queue = \"codel\"\n[wire.codel]\nlimit = 7\n[link.codel]\ntarget = \"10 ms\"\n");
    let spec = scenario(&text).spec(0);
    let queue::Config::CoDel(params) = &spec.wire_queues[&0] else { panic!("{:?}", spec.wire_queues) };
    assert_eq!((params.limit, params.target.nanos()), (7, 10_000_000));
    assert!(spec.queue.is_drop_tail());
    let spec = scenario("[nodes]\ncount = 2\n[link]\nqueue = \"red\"\nprofile = \"ns2\"\n").spec(0);
    assert!(!spec.queue.is_drop_tail());
    assert_eq!(spec.link.processing_delay.nanos(), 25_000, "a profile of [link] counts as before");
}

#[test]
fn drop_tail_changes_no_hash() {
    let plain = scenario(NETWORK);
    let named = scenario(&format!("{NETWORK}queue = \"drop_tail\"\n"));
    let other = scenario(&format!("{NETWORK}queue = \"fq_codel\"\n"));
    assert_eq!(plain.hash(), named.hash());
    assert_ne!(plain.hash(), other.hash());
    let marks = scenario(&format!("{NETWORK}[tcp]\necn = true\n"));
    assert_ne!(plain.hash(), marks.hash());
    assert_eq!(plain.hash(), scenario(&format!("{NETWORK}[tcp]\necn = false\n")).hash());
}

#[test]
fn mistakes_are_named() {
    refused(&format!("{NETWORK}queue = \"codl\"\n"), &["s.toml:9:", "codl", "did you mean \"codel\"?"]);
    refused("[nodes]\ncount = 2\n[link]\nqueue = \"fifo\"\n", &["s.toml:4:", "fifo", "expected `drop_tail`, `red`"]);
    refused(&format!("{NETWORK}queue = \"codel\"\n[wire.codel]\ntarget = \"1 s\"\n"), &["target", "below `interval`"]);
    refused(&format!("{NETWORK}[tcp]\necn = 1\n"), &["ecn", "true or false"]);
    warned(&format!("{NETWORK}queue = \"codel\"\n[wire.red]\nweight = 0.5\n"), &["`red` is not used here"]);
    warned(&format!("{NETWORK}queue = \"red\"\n[wire.red]\nmark_below = 0.5\n"), &["mark_below", "ecn"]);
    assert_eq!(load(NETWORK), Ok(vec![]));
    for (variant, warns) in [("bbr", true), ("bbr3", true), ("cubic", false)] {
        let text = NETWORK.replace("to = 1\n", &format!("to = 1\ntcp = \"{variant}\"\n"));
        let warnings = load(&format!("{text}queue = \"codel\"\ncodel.ecn = true\n[tcp]\necn = true\n"));
        let words = format!("`ecn` does nothing here: `{variant}` does not answer marks");
        let warned = warnings.is_ok_and(|it| it.iter().any(|it| it.contains(&words) && it.contains("s.toml:7:")));
        assert_eq!(warned, warns, "{variant}");
    }
}

#[test]
fn lengths_that_do_nothing_are_named() {
    for (queue, own) in [("codel", "limit"), ("fq_codel", "limit")] {
        let text = format!("{NETWORK}queue_length = 50\nqueue = \"{queue}\"\n");
        warned(&text, &["s.toml:9:", "`queue_length` does nothing here", queue, own]);
        let radios = format!("[nodes]\ncount = 2\n[link]\nqueue_length = 20\nqueue = \"{queue}\"\n");
        let in_turn = format!("{radios}routing_packets = \"in_turn\"\n");
        warned(&in_turn, &["s.toml:4:", "`queue_length` does nothing here", queue, own]);
        let first = load(&format!("{radios}routing_packets = \"first\"\n")).expect("sound");
        assert!(!first.iter().any(|it| it.contains("queue_length")), "routing packets have that length: {first:?}");
    }
    assert_eq!(load(&format!("{NETWORK}queue_length = 50\nqueue = \"red\"\n")), Ok(vec![]));
    let short = format!("{NETWORK}queue_length = 10\nqueue = \"red\"\n");
    warned(&short, &["s.toml:9:", "`max_threshold` of `red` is 15", "room for 10 packets"]);
    let own = format!("{NETWORK}queue = \"red\"\nred.min_threshold = 60\nred.max_threshold = 100\n");
    warned(&own, &["s.toml:10:", "`min_threshold` of `red` is 60", "room for 50 packets", "above 60"]);
}

#[test]
fn marks_for_which_no_queue_exists_are_named() {
    let asks = "[tcp]\necn = true\n";
    let needless = "`ecn` does nothing here: no queue marks packets";
    warned(&format!("{NETWORK}{asks}"), &["s.toml:10:", needless]);
    for queue in ["red", "codel"] {
        warned(&format!("{NETWORK}queue = \"{queue}\"\n{asks}"), &["s.toml:11:", needless, "ecn = true"]);
        assert_eq!(load(&format!("{NETWORK}queue = \"{queue}\"\n{queue}.ecn = true\n{asks}")), Ok(vec![]));
    }
    assert_eq!(load(&format!("{NETWORK}queue = \"fq_codel\"\n{asks}")), Ok(vec![]), "it marks as it is");
    let flow = NETWORK.replace("to = 1\n", "to = 1\necn = true\n");
    warned(&flow, &["s.toml:7:", needless]);
}

#[test]
fn an_object_fits_into_memory_as_datagrams() {
    let flow = |rest: &str| NETWORK.replace("to = 1\n", &format!("to = 1\n{rest}traffic = \"messages\"\n"));
    let sized = |rest: &str, size: &str| format!("{}[traffic.messages]\nsize = \"{size}\"\n", flow(rest));
    let udp = "udp = true\n";
    for size in ["1e12 B", "uniform(1 B, 1e12 B)", "exponential(1e12 B)"] {
        let found = "`size` in [traffic.messages] is 1000000000000 B";
        let words = ["s.toml:8:", "a datagram carries 1000 B", found, "at most 100000 datagrams, 100000000 B"];
        refused(&sized(udp, size), &words);
        assert_eq!(load(&sized("", size)), Ok(vec![]));
    }
    assert_eq!(load(&sized(udp, "100 MB")), Ok(vec![]));
}

/// The rates of a narrow wire, under each discipline.
#[test]
fn marks_take_the_place_of_drops() {
    let run = |queue: &str, ecn: bool| {
        let own = if ["drop_tail"].contains(&queue) { String::new() } else { format!("[wire.{queue}]\necn = {ecn}\n") };
        let rate = "rate = \"2 Mbps\"\ndelay = \"20 ms\"\nqueue_length = 200\n";
        let text = format!("{NETWORK}{rate}queue = \"{queue}\"\n{own}[tcp]\necn = {ecn}\nwindow = 200\n");
        let outcome = world::simulate(&scenario(&text).spec(0), &Watch::default()).expect("packets add up");
        let dropped = |reason: &str| -> u64 {
            outcome.drops.iter().filter(|row| row.reason == reason).map(|row| row.count).sum()
        };
        let (early, late) = (dropped("queue_early"), dropped("queue_delay"));
        (outcome.nodes[0].metric("queue_marks"), early + late, outcome.flows[0].goodput_kbps)
    };
    for queue in ["red", "codel", "fq_codel"] {
        let (marks, drops, goodput) = run(queue, true);
        assert!(marks > Some(0) && drops == 0 && goodput > 1500.0, "{queue}: {marks:?} {drops} {goodput}");
        let (marks, drops, goodput) = run(queue, false);
        assert!(marks == Some(0) && drops > 0 && goodput > 800.0, "{queue}: {marks:?} {drops} {goodput}");
    }
    assert_eq!(run("drop_tail", true).0, None, "a queue that marks nothing has no count");
}
