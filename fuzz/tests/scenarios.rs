//! The reader of scenarios: what is accepted is accepted again after it has been written, as the same scenario; what is
//! refused is refused with problems that lie within the text.

use std::path::Path;

use hopyard_scenario::{KINDS, Scenario, new_scenario};

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
    "\"dsdv\"",
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
    bolero::check!()
        .with_type::<hopyard_fuzz::Spoilt>()
        .for_each(|spoilt| check_scenario(spoilt.text(SEEDS, WORDS).as_ref()));
}

#[test]
fn scenario_seeds_are_sound() {
    let templates = KINDS.map(|kind| new_scenario(kind).expect("a kind of template"));
    for text in SEEDS.iter().copied().chain(templates.iter().map(String::as_str)) {
        Scenario::load(text, "seed.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"));
        check_scenario(text.as_bytes());
    }
}
