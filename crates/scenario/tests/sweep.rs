//! `[sweep]`: a scenario file that asks for a comparison.

use std::path::Path;

use hopyard_scenario::{Axis, Case, Problems, Scenario, json_schema};

const CHAIN: &str = "[nodes]\ncount = 3\n[[flow]]\nfrom = 0\nto = \"last\"\n";
const HOPS: &str = "[sweep]\n\"flow.tcp\" = [\"newreno\", \"vegas\"]\n[[sweep.together]]\n\"nodes.count\" = \"3..5\"\n\
     \"flow.to\" = \"last\"\n\"tcp.window\" = [8, 16, 32]\n";

fn cases(sweep: &str, axes: &[Axis]) -> Result<Vec<Case>, Problems> {
    Scenario::load_cases(&format!("{CHAIN}{sweep}"), "chain.toml", Path::new(""), &[], axes)
}

fn loaded(sweep: &str) -> Scenario {
    let text = format!("{CHAIN}{sweep}");
    Scenario::load(&text, "chain.toml", Path::new(""), &[]).unwrap_or_else(|problems| panic!("{problems}"))
}

fn axis(key: &str, values: &[&str]) -> Axis {
    let values: Vec<_> = values.iter().map(|value| (*value).to_owned()).collect();
    Axis::new(key, &values).unwrap_or_else(|problems| panic!("{problems}"))
}

fn settings(cases: &[Case]) -> Vec<String> {
    let shown = |case: &Case| {
        let pairs = case.settings.iter().map(|(key, value)| format!("{key}={value}"));
        pairs.collect::<Vec<_>>().join(" ")
    };
    cases.iter().map(shown).collect()
}

#[test]
fn a_file_has_the_cases_of_its_sweep() {
    let cases = cases(HOPS, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    let shown = settings(&cases);
    assert_eq!(shown.len(), 6, "{shown:?}");
    assert!(shown.contains(&"flow.tcp=vegas nodes.count=4 flow.to=last tcp.window=16".to_owned()), "{shown:?}");
    for case in &cases {
        let value = case.scenario.to_value(true);
        let count = value["nodes"]["count"].as_u64().expect("a number");
        assert_eq!(value["flow"][0]["to"], count - 1);
        assert_eq!(value["tcp"]["window"], 1 << count);
        // A case compares nothing more, and is what its settings make of the scenario.
        assert!(value.get("sweep").is_none());
        assert_eq!(case.scenario.expand(&[]).map(|cases| cases.len()).ok(), Some(1));
        let plain = Scenario::load(CHAIN, "chain.toml", Path::new(""), &case.settings).expect("the same");
        assert_eq!(plain.hash(), case.scenario.hash());
    }
    let scenario = loaded(HOPS);
    assert_eq!(scenario.hash(), loaded("").hash());
    assert_eq!(settings(&scenario.expand(&[]).unwrap_or_else(|problems| panic!("{problems}"))), shown);
}

#[test]
fn what_is_written_out_keeps_the_sweep() {
    let scenario = loaded(HOPS);
    for text in [scenario.to_toml(true), scenario.to_toml(false)] {
        let cases = Scenario::load_cases(&text, "chain.toml", Path::new(""), &[], &[]).expect("it can be read");
        assert_eq!(cases.len(), 6, "{text}");
    }
    let again = Scenario::from_value(&scenario.to_value(false), Path::new("")).expect("it can be read");
    assert_eq!(again.expand(&[]).map(|cases| cases.len()).ok(), Some(6));
}

#[test]
fn a_setting_replaces_an_axis_of_the_file() {
    let found = |axes: &[Axis]| settings(&cases(HOPS, axes).unwrap_or_else(|problems| panic!("{problems}")));
    assert_eq!(found(&[axis("flow.tcp", &["cubic"])]).len(), 3);
    // The keys that go with it remain where they have one value.
    assert_eq!(
        found(&[axis("nodes.count", &["7"])]),
        ["flow.tcp=newreno flow.to=last nodes.count=7", "flow.tcp=vegas flow.to=last nodes.count=7"]
    );
    let fixed = loaded(HOPS).with(&[("flow.tcp".to_owned(), "cubic".to_owned())]).expect("it fits");
    assert_eq!(fixed.expand(&[]).map(|cases| cases.len()).ok(), Some(3));
}

#[test]
fn values_keep_their_kinds_and_keys_may_be_tables() {
    let sweep = "[sweep]\nmac.dcf.rate = [\"1 Mbps\", \"2 Mbps\"]\n\
        nodes.area = [[\"1 km\", \"1 km\"], [\"2 km\", \"2 km\"]]\n\
         measure.series = [[], [\"cwnd\"]]\nname = [\"5\", \"a..b\"]\n";
    let cases = cases(sweep, &[]).unwrap_or_else(|problems| panic!("{problems}"));
    assert_eq!(cases.len(), 16);
    assert!(cases.iter().any(|case| case.scenario.name() == "5"));
    assert_eq!(cases[0].scenario.to_value(true)["nodes"]["area"][0], "1 km");
}

#[test]
fn problems_name_line_and_key() {
    for (sweep, line, key, words) in [
        ("[sweep]\n\"flow.tcp\" = [\"newreno\", \"vegsa\"]\n", 7, "flow.0.tcp", "did you mean \"vegas\""),
        ("[sweep]\n\"tcp.windwo\" = [1, 2]\n", 7, "tcp.windwo", "`window`"),
        ("[sweep]\n\"flow.tcp\" = []\n", 7, "sweep.flow.tcp", "no values"),
        ("[sweep]\n\"nodes.count\" = \"9..3\"\n", 7, "sweep.nodes.count", "begins above its end"),
        ("[sweep]\n\"tcp.window\" = \"0..3\"\n", 7, "tcp.window", "found 0"),
        ("[[sweep.together]]\n\"a\" = [1, 2]\n\"b\" = [1, 2, 3]\n", 7, "sweep.a", "3 values, or one for all"),
        ("[sweep]\n\"tcp.window\" = 1\n[[sweep.together]]\n\"tcp.window\" = 2\n", 9, "sweep.tcp.window", "given twice"),
        ("[sweep]\ntogether = 5\n", 7, "sweep.together", "[[sweep.together]]"),
    ] {
        let problems = cases(sweep, &[]).map(|cases| cases.len()).expect_err(sweep);
        assert_eq!(problems.0.len(), 1, "{sweep}{problems}");
        let place = problems.0[0].location().unwrap_or_else(|| panic!("{problems}"));
        assert_eq!((place.file.as_str(), place.line), ("chain.toml", line), "{problems}");
        assert_eq!(problems.0[0].path, key, "{problems}");
        assert!(problems.to_string().contains(words), "{words} in {problems}");
    }
    let text = format!("sweep = 3\n{CHAIN}");
    let problems = Scenario::load(&text, "chain.toml", Path::new(""), &[]).expect_err("it is no table");
    assert_eq!(problems.0[0].path, "sweep");
}

#[test]
fn the_schema_knows_the_sweep_and_the_last_node() {
    let schema = json_schema();
    for key in ["from", "to"] {
        let reference = &schema["properties"]["flow"]["items"]["properties"][key]["$ref"];
        let path = reference.as_str().unwrap_or_default().trim_start_matches('#');
        let choices = &schema.pointer(path).unwrap_or_else(|| panic!("{reference}"))["anyOf"];
        // A destination may be a group too, by its name.
        let word = choices.as_array().and_then(|choices| choices.last()).unwrap_or_else(|| panic!("{choices}"));
        let is_word = if key == "to" { word["type"] == "string" } else { word["const"] == "last" };
        assert!(choices[0]["type"] == "integer" && is_word, "{choices}");
    }
    assert_eq!(schema["properties"]["sweep"]["properties"]["together"]["type"], "array");
}
