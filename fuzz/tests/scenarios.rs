//! The reader of scenarios: what is accepted is accepted again after it has been written, as the same scenario; what is
//! refused is refused with problems that lie within the text.

use std::path::Path;
use std::sync::LazyLock;

use hopyard_scenario::{KINDS, Scenario, models, new_scenario};

const SEEDS: &[&str] = &[
    "name = \"a\"\nprofile = \"ns2\"\nduration = \"5 s\"\n[nodes]\ncount = 3\nspacing = \"200 m\"\n[mac.dcf]\n\
     rate = \"2 Mbps\"\n\
     [routing]\nprotocol = \"static\"\n[routing.static]\nothers = \"chain\"\n[[flow]]\nfrom = 0\nto = 2\n\
     tcp = \"vegas\"\nwindow = 8\n\
     [flow.vegas]\nalpha = 2\n[[flow]]\nfrom = 2\nto = 0\nudp = true\n[flow.cbr]\nrate = \"8 kbps\"\n",
    "[nodes]\ncount = 4\nwired = 1\narea = [\"500 m\", \"400 m\"]\nplacement = \"uniform\"\n[[movement]]\nnodes = [1]\n\
     [movement.waypoints]\ntrack = [{ at = \"1 s\", x = \"0 m\", y = \"9 m\" }]\n[flows]\nrandom = 3\n\
     start = [\"0 s\", \"9 s\"]\n\
     [[wire]]\nbetween = [3, 4]\nlosses = { segments = [1, 2] }\n[link.arp]\ndelay = \"1 ms\"\n[measure]\n\
     series = [\"cwnd\", \"srtt\"]\n",
];

const WORDS: &[&str] = &[
    "[nodes]",
    "[[flow]]",
    "[flows]",
    "[[wire]]",
    "[mobility.random_waypoint]",
    "[movement.group]\nleader = 0",
    "[radio]",
    "[tcp.vegas]",
    "\"2 Mbps\"",
    "\"250 m\"",
    "\"10 ms\"",
    "count",
    "positions = [[0, 0], [1, 1]]",
    "placement",
    "\"grid\"",
    "\"circle\"",
    "\"aodv\"",
    "\"babel\"",
    "\"dsdv\"",
    "\"olsr\"",
    "\"oracle\"",
    "true",
    "1e300",
    "nan",
    "-1",
    "[",
    "]",
    "{",
    "}",
    "\"",
    "=",
    ".",
    "\n",
    "é",
];

/// The seeds, and a scenario for each model of every list, with all its parameters.
static ALL_SEEDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut seeds: Vec<String> = SEEDS.iter().map(|&seed| seed.to_owned()).collect();
    for model in models().iter().filter(|model| model.room != "scenario" && model.name != "wire") {
        let head = "[nodes]\ncount = 3\nspacing = \"200 m\"\n[[flow]]\nfrom = 0\nto = 2\n";
        let parameters = model.parameters.iter().map(|it| format!("{} = {}\n", it.name, it.default("rfc")));
        seeds.push(format!("{head}{}\n{}", model.section, parameters.collect::<String>()));
    }
    seeds
});

/// The words, and the name, the section and the keys of each model of every list.
static ALL_WORDS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut words: Vec<String> = WORDS.iter().map(|&word| word.to_owned()).collect();
    for model in models() {
        words.extend([format!("\"{}\"", model.name), model.section]);
        words.extend(model.parameters.into_iter().map(|parameter| parameter.name));
    }
    words.sort_unstable();
    words.dedup();
    words
});

fn check_scenario(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Scenario::load(text, "fuzz.toml", Path::new("/nowhere"), &[]) {
        Ok(scenario) => {
            for defaults in [true, false] {
                let written = scenario.to_toml(defaults);
                let again = Scenario::load(&written, "fuzz.toml", Path::new("/nowhere"), &[]);
                let again = again.unwrap_or_else(|problems| panic!("{written}\n{problems}"));
                assert_eq!(again.hash(), scenario.hash(), "{written}");
            }
        }
        Err(problems) => {
            assert!(!problems.0.is_empty());
            assert!(problems.to_string().contains(&problems.0[0].message));
            for location in problems.0.iter().filter_map(|problem| problem.location()) {
                assert!(location.line <= text.lines().count() + 1, "{location:?}");
            }
        }
    }
}

#[test]
fn scenario_any_bytes() {
    bolero::check!().for_each(|bytes: &[u8]| check_scenario(bytes));
}

#[test]
fn scenario_spoilt_files() {
    bolero::check!().with_type::<hopyard_fuzz::Spoilt>().for_each(|spoilt| {
        let [seeds, words] = [&ALL_SEEDS, &ALL_WORDS].map(|all| all.iter().map(String::as_str).collect::<Vec<_>>());
        check_scenario(spoilt.text(&seeds, &words).as_ref());
    });
}

#[test]
fn scenario_seeds_are_sound() {
    let templates = KINDS.map(|kind| new_scenario(kind).expect("a kind of template"));
    for text in ALL_SEEDS.iter().chain(&templates).map(String::as_str) {
        Scenario::load(text, "seed.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
        check_scenario(text.as_bytes());
    }
}
