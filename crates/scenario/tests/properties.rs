//! Properties of the reader, for any settings: it never panics. It refuses with problems that can be shown. A scenario
//! that it accepts is accepted again after it has been written, as the same scenario.

use std::path::Path;

use hopyard_scenario::{KINDS, Scenario, json_schema, new_scenario};
use proptest::prelude::*;
use serde_json::Value;

fn check(text: &str, settings: &[(String, String)]) {
    match Scenario::load(text, "any.toml", Path::new("/nowhere"), settings) {
        Err(problems) => {
            assert!(!problems.0.is_empty());
            let shown = problems.to_string();
            // The first fifty are shown.
            assert!(problems.0.iter().take(50).all(|problem| shown.contains(&problem.message)), "{shown}");
        }
        Ok(scenario) => {
            for defaults in [true, false] {
                let written = scenario.to_toml(defaults);
                let again = Scenario::load(&written, "any.toml", Path::new("/nowhere"), &[]);
                let again = again.unwrap_or_else(|problems| panic!("{text}\nas\n{written}\n{problems}"));
                assert_eq!(again.hash(), scenario.hash(), "{text}\nas\n{written}");
            }
            let value = scenario.to_value(true);
            let again =
                Scenario::from_value(&value, Path::new("/nowhere")).unwrap_or_else(|problems| panic!("{problems}"));
            assert_eq!(again.hash(), scenario.hash());
        }
    }
}

/// Every dotted key that the schema knows.
fn keys() -> Vec<String> {
    let schema = json_schema();
    let mut keys = Vec::new();
    let mut open = vec![(String::new(), schema.clone())];
    while let Some((path, at)) = open.pop() {
        let at = at
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|r| schema.pointer(r.trim_start_matches('#')))
            .unwrap_or(&at);
        let at = at.get("items").unwrap_or(at);
        let Some(properties) = at.get("properties").and_then(Value::as_object) else {
            keys.push(path);
            continue;
        };
        for (key, property) in properties {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            open.push((path, property.clone()));
        }
    }
    keys
}

/// What some key may like.
const WORDS: &[&str] = &[
    "true",
    "false",
    "0",
    "1",
    "-1",
    "3",
    "1.5",
    "1e300",
    "nan",
    "\"\"",
    "[]",
    "{}",
    "[0, 1]",
    "[[0, 0], [1, 0]]",
    "2 Mbps",
    "250 m",
    "1.001 km",
    "10 ms",
    "3 s",
    "end",
    "512 B",
    "3 dB",
    "12.345 dB",
    "-82 dBm",
    "914 MHz",
    "5 m/s",
    "ns2",
    "rfc",
    "vegas",
    "sack",
    "every",
    "delayed",
    "cbr",
    "ftp",
    "aodv",
    "dsdv",
    "olsr",
    "static",
    "oracle",
    "random_waypoint",
    "uniform",
    "grid",
    "circle",
    "[\"1 km\", \"1 km\"]",
    "[\"cwnd\"]",
    "{ packets = [1] }",
    "threshold",
    "sinr",
    "short",
];

/// A value that some key may like.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        proptest::sample::select(WORDS).prop_map(str::to_owned),
        (0.0..1e4_f64, proptest::sample::select(&["m", "ms", "s", "kbps", "dB", "MHz", "W"][..]))
            .prop_map(|(x, unit)| format!("{x} {unit}")),
        any::<i64>().prop_map(|number| number.to_string()),
        "\\PC{0,8}",
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_settings_are_taken_or_refused(
        kind in proptest::sample::select(&KINDS[..]),
        settings in proptest::collection::vec((proptest::sample::select(keys()), value()), 0..4),
    ) {
        check(&new_scenario(kind).expect("a kind"), &settings);
    }
}

#[test]
fn the_generator_reaches_every_section() {
    let keys = keys();
    assert!(keys.len() > 150, "{}", keys.len());
    for key in ["mac.dcf.rate", "flow.from", "flow.vegas.alpha", "link.arp.lifetime", "wire.losses.packets", "name"] {
        assert!(keys.iter().any(|known| known == key), "{key}");
    }
}
