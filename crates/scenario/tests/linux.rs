//! Flows whose TCP is Linux's: what a scenario says of them, and what it cannot say.

use std::path::Path;

use hopyard_engine::{Span, Time};
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;
use hopyard_scenario::sections::Completion;

const NETWORK: &str = r#"
duration = "10 s"
[nodes]
count = 4
spacing = "200 m"
[[flow]]
from = 0
to = 3
tcp = "vegas"
"#;

fn read(text: &str) -> Result<Scenario, String> {
    Scenario::load(&format!("{NETWORK}{text}"), "test.toml", Path::new(""), &[])
        .map_err(|problems| problems.to_string())
}

fn load(text: &str) -> Scenario {
    read(text).unwrap_or_else(|problems| panic!("{problems}"))
}

#[test]
fn flows_of_linux_are_taken_out_and_keep_their_numbers() {
    let flow =
        "[[flow]]\nfrom = 3\nto = 1\ntcp = \"cubic\"\nstack = \"linux\"\nstart = \"2 s\"\nsegment_size = \"900 B\"\n";
    let transfer = "[[flow]]\nfrom = 1\nto = 2\ntcp = \"reno\"\nstack = \"linux\"\ntraffic = \"transfer\"\n\
                    [flow.transfer]\nsize = \"5 kB\"\n";
    let linux = "[linux]\nversion = \"6.12\"\ncompletion = \"immediate\"\nsysctls = [\"net.ipv4.tcp_sack=0\"]\n";
    let scenario = load(&format!("{flow}{transfer}{linux}"));
    let about = scenario.linux().expect("there are flows of Linux");
    assert_eq!((about.version.as_str(), about.completion), ("6.12", Completion::Immediate));
    assert_eq!(scenario.linux_variants(), ["cubic", "reno"]);
    let mut spec = scenario.spec(0);
    let flows = scenario.linux_flows(&mut spec);
    let found: Vec<_> = flows.iter().map(|it| (it.number, it.from.0, it.to.0, it.bytes, it.segment)).collect();
    let usual = flows[1].segment;
    assert_eq!(found, [(1, 3, 1, None, 900), (2, 1, 2, Some(5_000), usual)]);
    assert_eq!(flows[0].start, Time::ZERO + Span::from_secs(2));
    // In the network they do nothing.
    let outcome = world::simulate(&spec, &Watch::default()).unwrap_or_else(|error| panic!("{error}"));
    let sent: Vec<_> = outcome.flows.iter().map(|row| row.packets_sent > 0).collect();
    assert_eq!(sent, [true, false, false]);
}

#[test]
fn applications_have_the_same_times_as_over_the_own_stack() {
    let of = |more: &str| {
        let flow = "[[flow]]\nfrom = 3\nto = 1\ntcp = \"reno\"\nstack = \"linux\"\nstart = \"1 s\"\n";
        let scenario = load(&format!("{flow}{more}"));
        scenario.linux_flows(&mut scenario.spec(0)).remove(0)
    };
    let at = |seconds| Time::ZERO + Span::from_secs(seconds);
    let endless = of("");
    assert_eq!((endless.bytes, endless.stop, endless.writes), (None, None, vec![]));
    let stopped = of("stop = \"3 s\"\n");
    assert_eq!((stopped.bytes, stopped.stop, stopped.writes), (None, Some(at(3)), vec![]));
    let cbr = of("stop = \"3 s\"\ntraffic = \"cbr\"\n[flow.cbr]\npacket_size = \"100 B\"\ninterval = \"1 s\"\n");
    assert_eq!((cbr.stop, cbr.writes), (None, vec![(at(1), 100), (at(2), 100)]));
    let on_off = of("traffic = \"on_off\"\n");
    assert!(!on_off.writes.is_empty() && on_off.writes.is_sorted(), "{on_off:?}");
}

#[test]
fn what_is_set_for_linux_is_in_the_hash_of_its_flows_alone() {
    let usual = load("");
    assert!(usual.linux().is_none());
    let written = load("[linux]\nversion = \"6.12\"\n");
    assert_eq!(usual.hash(), written.hash());
    assert!(written.warnings().iter().any(|it| it.message.contains("[linux] is not used")), "{:?}", written.warnings());
    let stack = |value: &str| usual.with(&[("flow.stack".to_owned(), value.to_owned())]).expect("possible");
    assert_eq!(stack("hopyard").hash(), usual.hash());
    assert_ne!(stack("linux").hash(), usual.hash());
    let other = stack("linux").with(&[("linux.version".to_owned(), "\"6.12\"".to_owned())]).expect("possible");
    assert_ne!(stack("linux").hash(), other.hash());
    assert!(!usual.to_toml(true).contains("[linux]"));
    assert!(stack("linux").to_toml(true).contains("[linux]"));
}

#[test]
fn sets_of_flows_may_be_of_linux() {
    let scenario = load("[flows]\nrandom = 3\ntcp = \"reno\"\nstack = \"linux\"\n");
    let flows = scenario.linux_flows(&mut scenario.spec(0));
    assert_eq!(flows.iter().map(|it| it.number).collect::<Vec<_>>(), [1, 2, 3]);
    assert_ne!(flows, scenario.linux_flows(&mut scenario.spec(1)), "drawn anew in each run");
}

#[test]
fn flows_that_linux_cannot_have_are_refused() {
    let flow = |more: &str| read(&format!("[[flow]]\nfrom = 0\nto = 1\nstack = \"linux\"\n{more}")).err();
    for (more, expected) in [
        ("udp = true", "a flow over UDP cannot have the TCP of Linux"),
        ("tcp = \"rules:Mine\"", "rules:Mine"),
        ("tcp = \"newreno\"", "Linux has no TCP variant `newreno`"),
        ("tcp = \"newreno\"", "\"reno\", \"elfn\", \"adaptive_pacing\", \"vegas\""),
        ("tcp = \"newreno\"", "what Linux calls \"reno\" comes nearest"),
        ("tcp = \"dctcp\"", "expected \"reno\", \"elfn\", \"adaptive_pacing\", \"vegas\""),
        ("tcp = \"reno\"\nsegment_size = \"87 B\"", "expected at least 88 B"),
        ("tcp = \"reno\"\n[linux]\nversion = \"6.5\"", "patches such as \"6.1+a1b2c3d4\", found \"6.5\""),
        ("tcp = \"reno\"\n[linux]\nmemory = 65537", "expected 16 to 65536 MiB, found 65537"),
        ("tcp = \"reno\"\n[linux]\nsysctls = [\"net.ipv4.tcp_sack=0 net.ipv4.tcp_dsack=0\"]", "tcp_sack=0\", found"),
    ] {
        let problems = flow(more).unwrap_or_else(|| panic!("{more} is refused"));
        assert!(problems.contains(expected), "{more}: {problems}");
    }
    assert_eq!(flow("tcp = \"westwood_plus\""), None);
    assert_eq!(flow("tcp = \"reno\"\nsegment_size = \"88 B\"\n[linux]\nmemory = 65536"), None);
    let problems = flow("[linux]\nsysctls = [\"tcp_sack\"]").expect("refused");
    assert!(
        problems.contains("expected a parameter such as \"net.ipv4.tcp_sack=0\", found \"tcp_sack\""),
        "{problems}"
    );
    let problems = read("[[flow]]\nfrom = 0\nto = 1\nstack = \"bsd\"\n").err().unwrap_or_else(|| panic!("refused"));
    assert!(problems.contains("linux"), "{problems}");
}

#[test]
fn a_program_that_never_begins_is_refused() {
    let host = |start: &str| read(&format!("[[host]]\nnode = 0\nrun = \"true\"\nstart = \"{start}\"\n")).err();
    let duration = load("").spec(0).duration;
    let problems = host(&duration.to_string()).expect("refused");
    assert!(problems.contains(&format!("the program begins at {duration}, after the end of the run")), "{problems}");
    assert!(problems.contains(&format!("less than the run's duration, {duration}")), "{problems}");
    assert_eq!(host("1 s"), None);
}

#[test]
fn what_is_wrong_on_the_machine_has_its_place() {
    let scenario = load("[[host]]\nnode = 0\nrun = \"true\"\n[[host]]\nnode = 1\nrun = \"nothing\"\n");
    assert_eq!(scenario.problems_at([]), None);
    let found = [("host.1.run", "it is not there"), ("host.0.folder", "nor is this")];
    let found = found.map(|(key, message)| (key.to_owned(), message.to_owned()));
    let problems = scenario.problems_at(found).expect("two").0;
    let places: Vec<_> = problems.iter().map(|it| it.location().expect("in the file")).collect();
    // The folder has its default: its place is the table.
    assert_eq!(
        places.iter().map(|it| (it.file.as_str(), it.line)).collect::<Vec<_>>(),
        [("test.toml", 10), ("test.toml", 15)]
    );
    assert_eq!(places[1].text, "run = \"nothing\"");
    let set = scenario.with(&[("host.1.run".to_owned(), "none".to_owned())]).expect("possible");
    let problems = set.problems_at([("host.1.run".to_owned(), "it is not there".to_owned())]).expect("one").0;
    assert_eq!(problems[0].file(), Some("--set"));
}

/// Whoever asks for tables of packets should know whose packets are not there.
#[test]
fn tables_without_flows_of_linux_are_named() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\ntcp = \"reno\"\n";
    let paths = "[measure]\npaths = true\n";
    let found = |text: &str| load(text).warnings().iter().map(|it| (it.path.clone(), it.message.clone())).collect();
    let none: Vec<(String, String)> = found(&format!("{flow}{paths}"));
    assert_eq!(none, []);
    let one: Vec<(String, String)> = found(&format!("{flow}stack = \"linux\"\n{paths}"));
    let expected = "the tables of paths and detours have no packets of flows of Linux";
    assert_eq!(one, [("measure.paths".to_owned(), expected.to_owned())]);
    let segments = |which: &str| -> Vec<(String, String)> {
        found(&format!("{flow}{flow}stack = \"linux\"\n[measure]\nsegments = {which}\n"))
    };
    let expected =
        vec![("measure.segments".to_owned(), "the segments of flow 2 are not recorded: its TCP is Linux's".to_owned())];
    assert_eq!((segments("true"), segments("[2]")), (expected.clone(), expected));
    assert_eq!(segments("[1]"), []);
}

#[test]
fn a_variant_that_is_another_one_in_linux_is_named() {
    let found = |tcp: &str, linux: &str| -> Vec<String> {
        let text = format!("[[flow]]\nfrom = 0\nto = 1\ntcp = \"{tcp}\"\nstack = \"linux\"\n{linux}");
        load(&text).warnings().iter().map(|it| it.message.clone()).collect()
    };
    let expected = "what Linux calls `westwood` is Westwood+, and Hopyard's `westwood` is that of 2001";
    assert_eq!(found("westwood", ""), [expected]);
    assert_eq!(found("westwood", "[linux]\nwestwood = \"published\"\n"), [""; 0]);
    assert_eq!(found("reno", ""), [""; 0]);
}

/// Keys of Hopyard's TCP do nothing in a kernel: who gives them is told, and a comparison of both stacks goes on.
#[test]
fn keys_that_kernels_do_not_follow_are_named() {
    let flow = "[[flow]]\nfrom = 0\nto = 1\ntcp = \"reno\"\nstack = \"linux\"\n";
    let warnings = |text: &str| -> Vec<_> {
        load(text).warnings().iter().map(|it| (it.path.clone(), it.message.clone(), it.unused)).collect()
    };
    assert_eq!(warnings(&format!("{flow}segment_size = \"900 B\"\nstart = \"1 s\"\n")), []);
    let expected = |key: &str, message: &str| vec![(key.to_owned(), message.to_owned(), false)];
    assert_eq!(
        warnings(&format!("{flow}window = 4\nacking = \"every\"\n[flow.reno]\ncount_bytes = true\n")),
        expected("flow.1.acking", "Linux's TCP does not follow `acking`, `reno` and `window`")
    );
    // The first flow has Hopyard's TCP and follows what is said of all.
    let shared = "[tcp]\nwindow = 4\nsegment_size = \"900 B\"\n";
    assert_eq!(warnings(&format!("{flow}{shared}")), []);
    let settings = [("flow.0.tcp".to_owned(), "reno".to_owned()), ("flow.stack".to_owned(), "linux".to_owned())];
    let all = load(&format!("{flow}{shared}[tcp.reno]\ncount_bytes = true\n")).with(&settings).expect("possible");
    let found: Vec<_> = all.warnings().iter().map(|it| it.message.as_str()).collect();
    assert_eq!(found, ["Linux's TCP, which all flows have, does not follow `reno` and `window` of [tcp]"]);
    // Of several flows, once.
    let many = load(flow).with(&[
        settings[1].clone(),
        ("flow.0.tcp".to_owned(), "reno".to_owned()),
        ("flow.nagle".to_owned(), "true".to_owned()),
    ]);
    let many = many.expect("possible");
    let found: Vec<_> = many.warnings().iter().map(|it| it.message.as_str()).collect();
    assert_eq!(found, ["flows 0 and 1: Linux's TCP does not follow `nagle`"]);
    assert_eq!(many.warnings()[0].file(), Some("--set"));
    let drawn = "[flows]\nrandom = 2\ntcp = \"reno\"\nstack = \"linux\"\nnagle = true\n";
    assert_eq!(warnings(drawn), expected("flows.nagle", "Linux's TCP does not follow `nagle`"));
}

/// A version is text, which reads as a number without quotes. Tables show it without.
#[test]
fn versions_need_no_quotes_and_are_shown_without() {
    let linux = load("[[flow]]\nfrom = 0\nto = 1\ntcp = \"reno\"\nstack = \"linux\"\n");
    let versions = |values: &[&str]| {
        let values: Vec<_> = values.iter().map(|&it| it.to_owned()).collect();
        let axis =
            hopyard_scenario::Axis::new("linux.version", &values).unwrap_or_else(|problems| panic!("{problems}"));
        linux.expand(&[axis]).unwrap_or_else(|problems| panic!("{problems}"))
    };
    for cases in [versions(&["6.1", "6.12"]), versions(&["\"6.1\"", "'6.12'"])] {
        let shown: Vec<_> = cases.iter().map(|case| case.settings[0].1.as_str()).collect();
        assert_eq!(shown, ["6.1", "6.12"]);
        let read: Vec<_> = cases.iter().map(|case| case.scenario.linux().expect("used").version.as_str()).collect();
        assert_eq!(read, ["6.1", "6.12"]);
    }
    // A text that would be a list without its quotes keeps them.
    let axis = hopyard_scenario::Axis::new("name", &["\"[1]\"".to_owned(), "\"plain\"".to_owned()]).expect("an axis");
    let cases = linux.expand(&[axis]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(cases.iter().map(|case| case.settings[0].1.as_str()).collect::<Vec<_>>(), ["\"[1]\"", "plain"]);
}

/// Linux's Wi-Fi needs a MAC that carries its frames; each refusal says what it expects.
#[test]
fn wifi_needs_its_mac() {
    let nodes = "duration = \"10 s\"\n[nodes]\ncount = 4\nspacing = \"200 m\"\nsystem = \"linux\"\n";
    let good = "[mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\nedca.standard = \"g\"\n";
    let read = |linux: &str, mac: &str| {
        let text = format!("{nodes}[linux]\n{linux}\n{mac}");
        Scenario::load(&text, "test.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
    };
    let ht = |keys: &str| format!("{}edca.band = \"2.4 GHz\"\n{keys}", good.replace("\"g\"", "\"n\""));
    for (linux, mac, expected) in [
        ("wifi = \"ibss\"", "", "with `wifi` in [linux] the MAC has the four categories of Linux"),
        ("wifi = \"ibss\"", "[mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\n", "the rates of 802.11g or n"),
        ("wifi = \"ibss\"", &ht("edca.rate = \"mcs7\"\n").replace("2.4 GHz", "5 GHz"), "channels 1 to 11"),
        ("wifi = \"ibss\"", &ht("edca.rate = \"mcs7\"\nedca.bandwidth = \"40 MHz\"\n"), "have 20 MHz"),
        ("wifi = \"ibss\"", &ht("edca.rate = \"mcs16\"\n"), "at most two streams"),
        ("wifi = \"mesh\"", &ht("edca.rate = \"mcs7\"\n"), "two streams and the short guard interval in a mesh"),
        ("wifi = \"ibss\"", "[mac]\nmodel = \"edca\"\nedca.standard = \"g\"\n", "rate control is that of Linux"),
        ("wifi = \"ad_hoc\"", good, "ibss"),
        ("wifi = \"ibss\"\nwifi_channel = 14", good, "expected 1 to 11, found 14"),
        ("wifi = \"mesh\"\nbeacon_interval = 5", good, "expected 20 to 10000, found 5"),
        ("wifi = \"ibss\"\nrouting = \"hwmp\"", good, "the paths of 802.11s are those of a mesh"),
        ("routing = \"hwmp\"", "", "the paths of 802.11s are those of a mesh"),
    ] {
        let problems = read(linux, mac).err().unwrap_or_else(|| panic!("{linux} {mac}: it is refused"));
        assert!(problems.contains(expected), "{linux} {mac}: {problems}");
    }
    let mesh = read("wifi = \"mesh\"\nrouting = \"hwmp\"", good).unwrap_or_else(|problems| panic!("{problems}"));
    let about = mesh.linux().expect("kernels");
    assert_eq!((about.kernel().as_str(), mesh.kernel_option()), ("6.1+wifi", Some("CONFIG_MAC80211_MESH")));
    let of_n = read("wifi = \"ibss\"", &ht("edca.rate = \"mcs7\"\n")).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(of_n.kernel_option(), Some("CONFIG_MAC80211_HWSIM_AMPDU"));
    let ibss = read("wifi = \"ibss\"", good).unwrap_or_else(|problems| panic!("{problems}"));
    let without = read("", good).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(ibss.hash() != without.hash() && ibss.hash() != mesh.hash());
    let unused = read("wifi_channel = 1", good).unwrap_or_else(|problems| panic!("{problems}"));
    assert!(unused.warnings().iter().any(|it| it.message.contains("`wifi_channel` is not used")));
    assert_eq!(unused.hash(), without.hash());
}
