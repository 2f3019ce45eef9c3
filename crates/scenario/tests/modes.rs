//! Amendments of 802.11 in scenarios: the defaults that follow from them, and modes that they lack.

use std::path::Path;

use hopyard_scenario::Scenario;
use serde_json::Value;

const TWO: &str = "[nodes]\ncount = 2\nspacing = \"100 m\"\n[[flow]]\nfrom = 0\nto = 1\n[mac.dcf]\n";

fn load(keys: &str, settings: &[(&str, &str)]) -> Result<Scenario, String> {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(&format!("{TWO}{keys}"), "s.toml", Path::new(""), &settings).map_err(|problems| problems.to_string())
}

/// The values of these keys in the complete scenario.
fn values(scenario: &Scenario, keys: &[&str]) -> Vec<String> {
    let complete = scenario.to_value(true);
    let value = |key: &&str| match &complete["mac"]["dcf"][key] {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    keys.iter().map(value).collect()
}

const KEYS: [&str; 8] = ["band", "bandwidth", "rate", "basic_rate", "basic_rates", "slot", "sifs", "cw_min"];

#[test]
fn defaults_follow_from_the_amendment() {
    let b = ["2.4 GHz", "22 MHz", "2 Mbps", "1 Mbps", "[]", "20 us", "10 us", "31"];
    let a = ["5 GHz", "20 MHz", "6 Mbps", "6 Mbps", "[\"12 Mbps\",\"24 Mbps\"]", "9 us", "16 us", "15"];
    let p = ["5 GHz", "10 MHz", "3 Mbps", "3 Mbps", "[\"6 Mbps\",\"12 Mbps\"]", "13 us", "32 us", "15"];
    let n = ["2.4 GHz", "40 MHz", "mcs15", "6 Mbps", "[\"12 Mbps\",\"24 Mbps\"]", "20 us", "10 us", "15"];
    for (keys, settings, expected) in [
        ("", vec![], b),
        ("standard = \"b\"\n", vec![], b),
        ("standard = \"a\"\n", vec![], a),
        ("", vec![("mac.dcf.standard", "a")], a),
        ("standard = \"g\"\n", vec![("mac.dcf.standard", "a")], a),
        // Whatever the order of keys.
        ("bandwidth = \"10 MHz\"\nstandard = \"a\"\n", vec![], p),
        (
            "rate = \"mcs15\"\nband = \"2.4 GHz\"\nbandwidth = \"40 MHz\"\nguard_interval = \"short\"\n\
             standard = \"n\"\n",
            vec![],
            n,
        ),
    ] {
        let scenario = load(keys, &settings).unwrap_or_else(|shown| panic!("{keys}: {shown}"));
        assert_eq!(values(&scenario, &KEYS), expected, "{keys}");
        let again = Scenario::load(&scenario.to_toml(true), "s.toml", Path::new(""), &[]).expect("complete");
        assert_eq!(again.hash(), scenario.hash());
    }
    // Every constant can be set.
    let keys = "standard = \"g\"\nslot = \"9 us\"\nsifs = \"12 us\"\ncw_min = 31\nbasic_rate = \"1 Mbps\"\n\
                basic_rates = []\n";
    let scenario = load(keys, &[]).unwrap_or_else(|shown| panic!("{shown}"));
    assert_eq!(
        values(&scenario, &["rate", "basic_rate", "basic_rates", "slot", "sifs", "cw_min"]),
        ["6 Mbps", "1 Mbps", "[]", "9 us", "12 us", "31"]
    );
}

#[test]
fn a_mode_that_the_amendment_lacks_is_refused_at_its_place() {
    for (keys, words) in [
        ("rate = \"54 Mbps\"\n", &["s.toml:8:", "`rate` cannot be", "expected 1, 2, 5.5 or 11 Mbps"][..]),
        ("standard = \"h\"\n", &["s.toml:8:", "`b`, `g`, `a`, `n` or `ac`"]),
        ("standard = \"g\"\nbandwidth = \"40 MHz\"\n", &["s.toml:9:", "expected 20 MHz"]),
        ("standard = \"ac\"\nrate = \"vht-mcs9\"\n", &["s.toml:9:", "at 20 MHz", "vht-mcs8-1ss"]),
        ("standard = \"a\"\nband = \"2.4 GHz\"\n", &["s.toml:9:", "expected \"5 GHz\""]),
        ("standard = \"n\"\nrate = \"39 Mbps\"\n", &["s.toml:9:", "mcs4, mcs10 or mcs17"]),
        ("standard = \"n\"\nrate = \"fast\"\n", &["s.toml:9:", "the name of a mode of HT or VHT such as \"mcs7\""]),
        ("standard = \"a\"\nguard_interval = \"short\"\n", &["s.toml:9:", "\"long\""]),
        ("standard = \"a\"\nbasic_rates = [\"12 Mbps\", \"11 Mbps\"]\n", &["s.toml:9:", "found 11 Mbps"]),
    ] {
        let shown = load(keys, &[]).expect_err(keys);
        for word in words {
            assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
        }
    }
}

/// Each mode in which frames are sent needs its own range.
#[test]
fn ranges_are_given_by_mode() {
    let with = |receive: &str| {
        let receive = format!("{{ {receive} }}");
        let frequency = ("radio.two_ray_ground.frequency", "5.18 GHz");
        load("standard = \"n\"\nrate = \"mcs7\"\n", &[("radio.receive", &receive), frequency])
    };
    let shown = with("mcs7 = \"60 m\"").expect_err("the basic rates lack a range");
    assert!(shown.contains("values for \"mcs7\" and \"6 Mbps\" and \"24 Mbps\""), "{shown}");
    let scenario = with("mcs7 = \"110 m\", \"6 Mbps\" = \"250 m\", \"24 Mbps\" = \"200 m\"");
    assert!(scenario.is_ok_and(|it| it.warnings().is_empty()));
}

#[test]
fn frequencies_outside_the_band_are_warned_of() {
    let warnings = |text: &str| {
        let scenario = load(text, &[]).unwrap_or_else(|shown| panic!("{text}: {shown}"));
        scenario.warnings().iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
    };
    let space =
        |frequency: &str| format!("[radio]\npropagation = \"free_space\"\nfree_space.frequency = \"{frequency}\"\n");
    let n = "standard = \"n\"\nband = \"2.4 GHz\"\n";
    for (text, words) in [
        (String::new(), &[][..]),
        (space("914 MHz"), &[]),
        (format!("standard = \"a\"\n{}", space("5.18 GHz")), &[]),
        (format!("standard = \"a\"\nbandwidth = \"10 MHz\"\n{}", space("5.9 GHz")), &[]),
        (format!("{n}{}", space("2.437 GHz")), &[]),
        ("standard = \"g\"\n".to_owned(), &[]),
        (
            format!("standard = \"a\"\n{}", space("2.412 GHz")),
            &[
                "`standard = \"a\"` of [mac.dcf] sends at 5 GHz, and `free_space` has the wavelength of 2.412 GHz",
                "`frequency = \"5.18 GHz\"` in [radio.free_space]",
                "s.toml:11:24",
            ],
        ),
        (
            "standard = \"ac\"\n[radio]\nfading = \"rician\"\n".to_owned(),
            &["in [radio.two_ray_ground] and [radio.rician]", "and `rician` has the wavelength of 2.412 GHz"],
        ),
        (
            format!("{n}{}", space("5.18 GHz")),
            &["sends at 2.4 GHz", "`frequency = \"2.412 GHz\"` in [radio.free_space]"],
        ),
        (format!("standard = \"g\"\n{}", space("914 MHz")), &["sends at 2.4 GHz"]),
        (
            "[[channel]]\nnodes = [0, 1]\ndcf.standard = \"a\"\n".to_owned(),
            &["of [channel.0.dcf]", "in [channel.0.two_ray_ground]"],
        ),
    ] {
        let shown = warnings(&text);
        assert!(words.iter().all(|word| shown.contains(word)), "{text}: {words:?} are not in {shown}");
        assert_eq!(shown.contains("has the wavelength of"), !words.is_empty(), "{text}: {shown}");
    }
}
