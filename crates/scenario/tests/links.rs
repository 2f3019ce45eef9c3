//! Links of a file: what a scenario with them does, and what is refused.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use hopyard_model::observe::Outcome;
use hopyard_model::world::{self, Watch};
use hopyard_scenario::Scenario;

/// A scenario of three nodes whose links are these.
fn load(links: &str, text: &str) -> Result<Scenario, String> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let name = format!("hopyard-links-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).expect("a folder");
    fs::write(folder.join("links.csv"), links).expect("a file");
    let text = format!("[radio]\npropagation = \"table\"\ntable.path = \"links.csv\"\n{text}");
    let scenario = Scenario::load(&text, "t.toml", &*folder, &[]).map_err(|problems| problems.to_string());
    let _ = fs::remove_dir_all(&folder);
    scenario
}

fn run(scenario: &Scenario) -> Outcome {
    world::simulate(&scenario.spec(0), &Watch::default()).expect("packets add up")
}

const DELIVERY: &str = "from,to,delivery\n0,1,0.3\n1,0,1.0\n1,2,0.9\n2,1,0.6\n";

#[test]
fn retries_make_up_for_a_delivery_ratio() {
    let text = "[nodes]\ncount = 3\n[mac.dcf]\nrts_threshold = \"3000 B\"\nshort_retry_limit = 7\n\
                [routing]\nprotocol = \"static\"\n[traffic.cbr]\ninterval = \"50 ms\"\n\
                [[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"cbr\"\n";
    let scenario = load(DELIVERY, &format!("reception = \"threshold\"\n{text}")).expect("a scenario");
    let spec = {
        let mut spec = scenario.spec(0);
        spec.duration = hopyard_engine::Span::from_secs(600);
        spec
    };
    let outcome = world::simulate(&spec, &Watch::default()).expect("packets add up");
    // Some datagrams are lost before, while an answer to ARP is awaited.
    let given_up = outcome
        .drops
        .iter()
        .filter(|row| row.kind == "data" && row.reason == "retry_limit")
        .map(|row| row.count)
        .sum::<u64>();
    let delivered = outcome.flows[0].packets_unique;
    let sent = delivered + given_up;
    let share = delivered as f64 / sent as f64;
    let expected = 1.0 - 0.7_f64.powi(7);
    assert!((share - expected).abs() < 0.008, "{share}: expected {expected}");
    let each = outcome.nodes[0].data_frames as f64 / sent as f64;
    assert!((each - expected / 0.3).abs() < 0.1, "{each} transmissions a packet");
}

#[test]
fn pairs_without_a_row_are_deaf() {
    let text = |to: u32| {
        format!(
            "[nodes]\ncount = 3\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = {to}\ntcp = \"newreno\"\n"
        )
    };
    let rows = "from,to,snr_db\n0,1,30\n1,0,30\n1,2,30\n2,1,30\n";
    let powers = "receive = \"-90 dBm\"\nsense = \"-95 dBm\"\n";
    let two = run(&load(rows, &format!("{powers}{}", text(2))).expect("a scenario"));
    assert_eq!(two.flows[0].hops, Some(2.0));
    assert!(two.flows[0].delivered_bytes > 100_000);
    // The same links under another name of the file are the same scenario, and other links are another one.
    let hash = |rows| load(rows, &format!("{powers}{}", text(2))).expect("a scenario").hash();
    assert_eq!(hash(rows), hash(rows));
    assert_ne!(hash(rows), hash("from,to,snr_db\n0,1,30\n1,0,30\n1,2,30\n2,1,31\n"));
    let scenario = load("from,to,snr_db\n0,1,30\n1,0,30\n", &format!("{powers}{}", text(2))).expect("a scenario");
    let warnings: Vec<_> = scenario.warnings().iter().map(ToString::to_string).collect();
    assert!(warnings.iter().any(|it| it.contains("the file of links names no chain of pairs")), "{warnings:?}");
}

#[test]
fn the_oracle_takes_links_whose_acknowledgements_come_back() {
    // Node 1 hears node 0, which does not hear node 1; node 2 hears both.
    let links = "from,to,loss_db\n0,1,80\n1,0,120\n0,2,80\n2,0,80\n1,2,80\n2,1,80\n";
    let hops = |mac: &str, routing: &str| {
        let text = format!(
            "transmit_power = \"0 dBm\"\nreceive = \"-90 dBm\"\nsense = \"-100 dBm\"\n[nodes]\ncount = 3\n\
             [mac]\nmodel = \"{mac}\"\n[link.arp]\nresolution = \"off\"\n[routing]\nprotocol = \"{routing}\"\n\
             [traffic.cbr]\ninterval = \"50 ms\"\n[[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"cbr\"\n"
        );
        let outcome = run(&load(links, &text).unwrap_or_else(|problems| panic!("{problems}")));
        assert!(outcome.flows[0].packets_unique + 5 > outcome.flows[0].packets_sent, "{mac}, {routing}");
        outcome.flows[0].hops
    };
    for routing in ["oracle", "static"] {
        assert_eq!(
            ["dcf", "edca", "tdma"].map(|mac| hops(mac, routing)),
            [Some(2.0), Some(2.0), Some(1.0)],
            "{routing}"
        );
    }
}

#[test]
fn the_oracle_takes_links_that_the_slowest_rate_reaches() {
    let rates = [6, 9, 12, 18, 24, 36, 48, 54].map(|rate| format!("\"{rate} Mbps\" = \"{} m\"", 300 - 5 * rate));
    let delivered = |control: &str| {
        let text = format!(
            "duration = \"10 s\"\n[nodes]\npositions = [[0, 0], [250, 0]]\n[radio]\nreception = \"threshold\"\n\
             receive = {{ {} }}\n[mac]\nrate_control = \"{control}\"\ndcf.standard = \"a\"\ndcf.rate = \"54 Mbps\"\n\
             [routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\nudp = true\ntraffic = \"cbr\"\n",
            rates.join(", ")
        );
        let scenario = Scenario::load(&text, "t.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        run(&scenario).flows[0].packets_unique
    };
    assert_eq!(delivered("fixed"), 0);
    for control in ["ideal", "minstrel_ht"] {
        assert!(delivered(control) > 20, "{control}");
    }
}

#[test]
fn faults_name_file_line_value_and_expectation() {
    let two = "[nodes]\ncount = 2\n[[flow]]\nfrom = 0\nto = 1\n";
    for (links, text, found) in [
        (DELIVERY, two, "links.csv:4: expected a node of this channel, 0 to 1 in the file, found: node 2"),
        ("from,to,delivery\n0,1,2\n", two, "links.csv:2: expected a delivery ratio of 0 to 1, found: 0,1,2"),
        ("from,to,loss_db\n0,1,80\n", two, "`receive` is 250 m, and the links of a file have no range"),
        ("from,to,loss_db\n0,1,80\n", two, "`sense` is 550 m"),
    ] {
        let problems = load(links, text).expect_err("a fault");
        assert!(problems.contains(found), "{problems}");
    }
    let faded = load(DELIVERY, &format!("fading = \"rayleigh\"\n{}", two.replace("= 2", "= 3"))).expect_err("fading");
    assert!(faded.contains("`rayleigh` would change the delivery ratios of the file"), "{faded}");
    let ratios = "from,to,snr_db\n0,1,20\n1,0,20\n";
    load(ratios, &format!("receive = \"-82 dBm\"\nsense = \"-82 dBm\"\nfading = \"rayleigh\"\n{two}"))
        .expect("powers fade");
    let unnamed = "[nodes]\ncount = 2\n[radio]\npropagation = \"table\"\n[[flow]]\nfrom = 0\nto = 1\n";
    let problems = Scenario::load(unnamed, "t.toml", Path::new(""), &[]).expect_err("no file").to_string();
    assert!(problems.contains("the file of links is not named"), "{problems}");
}

#[test]
fn fading_at_another_frequency_is_warned_of() {
    let warnings = |frequency: &str| {
        let text = format!(
            "[nodes]\ncount = 2\n[radio]\nfading = \"rician\"\npropagation = \"free_space\"\n\
             free_space.frequency = \"5.18 GHz\"\nrician.frequency = \"{frequency}\"\n[[flow]]\nfrom = 0\nto = 1\n"
        );
        let scenario = Scenario::load(&text, "t.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{p}"));
        scenario.warnings().iter().filter(|it| it.to_string().contains("path loss that of 5.18 GHz")).count()
    };
    assert_eq!((warnings("2.4 GHz"), warnings("5180 MHz")), (1, 0));
}

#[test]
fn obstacles_part_the_nodes_behind_them() {
    let text = |obstacle: &str| {
        format!(
            "duration = \"20 s\"\n[nodes]\npositions = [[0, 0], [100, 0], [50, 60]]\n[routing]\nprotocol = \"oracle\"\n\
             [radio]\npropagation = \"free_space\"\n[[flow]]\nfrom = 0\nto = 1\ntcp = \"newreno\"\n{obstacle}"
        )
    };
    let load = |obstacle: &str| Scenario::load(&text(obstacle), "t.toml", Path::new(""), &[]);
    let house = |rest: &str| format!("[[obstacle]]\nfrom = [\"45 m\", \"-10 m\"]\nto = [\"55 m\", \"10 m\"]\n{rest}\n");
    let plain = load("").unwrap_or_else(|p| panic!("{p}"));
    let walled = load(&house("loss = \"20 dB\"")).unwrap_or_else(|p| panic!("{p}"));
    let low = load(&house("loss = \"20 dB\"\ntop = \"-1 m\"\nbottom = \"-5 m\"")).unwrap_or_else(|p| panic!("{p}"));
    assert_eq!(run(&plain).flows[0].hops, Some(1.0));
    assert_eq!(run(&walled).flows[0].hops, Some(2.0), "the third node sees both");
    assert_eq!(run(&low).digest, run(&plain).digest);
    assert!(plain.hash() != walled.hash() && walled.hash() != low.hash());
    let problems = load("[[obstacle]]\nfrom = [\"5 m\", \"0 m\"]\nto = [\"1 m\", \"9 m\"]\nloss = \"-3 dB\"\n");
    let problems = problems.expect_err("two faults").to_string();
    assert!(problems.contains("expected more than 5 m to the east, found 1 m"), "{problems}");
    assert!(problems.contains("expected at least 0 dB, found -3 dB"), "{problems}");
}

const POWERS: &str = "receive = \"-85 dBm\"\nsense = \"-95 dBm\"\n";

/// The warnings of a scenario of three nodes with these links.
fn warnings(links: &str, text: &str) -> Vec<String> {
    let scenario = load(links, &format!("{text}[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 1\n"));
    let scenario = scenario.unwrap_or_else(|problems| panic!("{links}{problems}"));
    scenario.warnings().iter().map(ToString::to_string).collect()
}

#[test]
fn a_link_needs_both_directions_and_power() {
    let none = "nothing can carry this flow";
    // 24.5 dBm are sent, and -85 dBm are enough.
    for (rows, said) in [
        ("0,1,80\n1,0,80\n", None),
        ("0,1,109\n1,0,109\n", None),
        ("0,1,80\n", Some(none)),
        ("0,1,80\n1,0,110\n", Some(none)),
        ("0,1,180\n1,0,180\n", Some(none)),
        // Over the third node.
        ("0,1,80\n0,2,80\n2,0,80\n1,2,80\n2,1,80\n", None),
    ] {
        let warnings = warnings(&format!("from,to,loss_db\n{rows}"), POWERS);
        let is_said = |it: &String| it.contains("in both directions, strong enough") && it.contains(none);
        assert_eq!(warnings.iter().any(is_said), said.is_some(), "{rows}: {warnings:?}");
        assert!(said.is_some() || warnings.is_empty(), "{rows}: {warnings:?}");
    }
    // 54 Mb/s need about 20 dB, of which no threshold speaks.
    for (ratio, is_weak) in [(10, true), (30, false)] {
        let rows = format!("from,to,snr_db\n0,1,{ratio}\n1,0,{ratio}\n");
        let powers = "receive = \"-100 dBm\"\nsense = \"-105 dBm\"\n[mac.dcf]\nstandard = \"g\"\nrate = \"54 Mbps\"\n";
        let warnings = warnings(&rows, powers);
        assert_eq!(
            warnings.iter().any(|it| it.contains("too weak for most frames of 1000 B")),
            is_weak,
            "{warnings:?}"
        );
    }
}

#[test]
fn links_after_the_end_of_the_run_are_warned_of() {
    let rows = |time: &str| format!("time,from,to,loss_db\n{time},0,1,80\n{time},1,0,80\n");
    for (time, between, words) in [
        ("3", "linear", &[][..]),
        ("1e9", "linear", &["the first time in links.csv is", "each pair has its first value all the time"]),
        ("1e9", "hold", &["the first time in links.csv is", "no node hears another"]),
    ] {
        let warnings = warnings(&rows(time), &format!("table.between = \"{between}\"\n{POWERS}")).join("\n");
        assert!(words.iter().all(|word| warnings.contains(word)), "{warnings}");
        assert_eq!(warnings.is_empty(), words.is_empty(), "{warnings}");
    }
}

#[test]
fn obstacles_beside_links_are_warned_of() {
    let house = "[[obstacle]]\nfrom = [\"10 m\", \"-5 m\"]\nto = [\"20 m\", \"5 m\"]\nloss = \"60 dB\"\n";
    let warnings = warnings("from,to,loss_db\n0,1,80\n1,0,80\n", &format!("{POWERS}{house}"));
    assert!(matches!(&warnings[..], [one] if one.contains("obstacles do nothing here")), "{warnings:?}");
}

#[test]
fn absent_nodes_are_reported_beside_other_faults() {
    let three = format!("{POWERS}[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = 1\n");
    let problems = load("from,to,loss_db\n0,1,x\n0,9,80\n1,0,nan\n2\n", &three).expect_err("four faults");
    for words in [
        "the file of links has 4 mistakes",
        "links.csv:2: expected a loss",
        "links.csv:3: expected a node of this channel, 0 to 2 in the file, found: node 9",
        "links.csv:4: expected a loss",
        "links.csv:5: expected 3 values",
    ] {
        assert!(problems.contains(words), "{words}: {problems}");
    }
    let from_one = load("from,to,loss_db\n1,2,80\n2,3,80\n", &three).expect_err("no node 3");
    let hint = "links.csv:3: expected a node of this channel, 0 to 2 in the file; `first_node = 1` takes the file's \
                nodes 1 to 3, found: node 3";
    assert!(from_one.contains(hint), "{from_one}");
    let without = load("0,1,80\n1,0,80\n1,2,82\n", &three).expect_err("no header");
    assert!(without.contains("with 0 on its diagonal; other rows need a header such as from,to,loss_db"), "{without}");
}
