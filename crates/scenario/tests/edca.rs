//! EDCA in scenarios: code points, labels, tables of categories, keys that do nothing, and what is refused.

use std::path::Path;

use hopyard_scenario::Scenario;

const TWO: &str = "[nodes]\ncount = 2\nspacing = \"100 m\"\n[[flow]]\nfrom = 0\nto = 1\n";
const EDCA: &str = "[mac]\nmodel = \"edca\"\n[mac.edca]\n";
/// The wavelength of amendments at 5 GHz.
const SHORT: &str = "[radio]\ntwo_ray_ground.frequency = \"5.18 GHz\"\n";

/// The warnings of a scenario with a flow from line 7 on.
fn load(text: &str) -> Result<Vec<String>, String> {
    let scenario = Scenario::load(&format!("{TWO}{text}"), "s.toml", Path::new(""), &[]);
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
    assert!(warnings.len() == 1 && has(&warnings[0]), "{text}: {words:?} {warnings:?}");
}

#[test]
fn a_category_is_a_table_of_its_keys() {
    let by_position = "[3, 15, 1023, \"0 us\", true]";
    refused(
        &format!("{EDCA}best_effort = {by_position}\n"),
        &["s.toml:10:", "`best_effort` is the list", "expected a table"],
    );
    assert_eq!(load(&format!("{EDCA}best_effort = {{ aifsn = 4 }}\n")), Ok(vec![]));
    // So it is everywhere.
    refused("[link]\narp = [\"ns2\"]\n", &["s.toml:8:", "`arp` is the list", "expected a table"]);
}

#[test]
fn a_code_point_is_a_name_or_a_number() {
    for dscp in ["\"ef\"", "\"46\"", "46"] {
        let text = format!("dscp = {dscp}\n{EDCA}");
        let scenario = Scenario::load(&format!("{TWO}{text}"), "s.toml", Path::new(""), &[]).expect("a code point");
        assert_eq!(scenario.spec(0).flows[0].dscp, 46, "{dscp}");
    }
    refused(&format!("dscp = 64\n{EDCA}"), &["s.toml:7:", "`dscp` is `64`", "or a number from 0 to 63"]);
}

#[test]
fn a_code_point_without_categories_is_warned_of() {
    for mac in ["dcf", "tdma"] {
        let said = format!("`dscp` = \"ef\" does nothing here: `{mac}` has no categories");
        warned(&format!("dscp = 46\n[mac]\nmodel = \"{mac}\"\n"), &["s.toml:7:", &said, "model = \"edca\""]);
    }
    assert_eq!(load(&format!("dscp = 46\n{EDCA}")), Ok(vec![]));
    assert_eq!(
        load("dscp = 46\n[[channel]]\nnodes = [0, 1]\nmac = \"edca\"\n"),
        Ok(vec![]),
        "another channel has them"
    );
}

#[test]
fn keys_of_aggregation_do_nothing_where_frames_have_one_mpdu() {
    warned(
        &format!("{EDCA}max_mpdus = 8\n"),
        &["s.toml:10:", "`max_mpdus` does nothing here with `rate` = \"2 Mbps\""],
    );
    warned(
        &format!("{EDCA}standard = \"n\"\nmax_ampdu = \"0 B\"\nreorder_timeout = \"9 ms\"\n{SHORT}"),
        &["s.toml:12:", "`reorder_timeout` does nothing here with `max_ampdu` = \"0 B\""],
    );
    let several = format!("{EDCA}standard = \"n\"\nmax_mpdus = 8\nreorder_timeout = \"9 ms\"\n{SHORT}");
    assert_eq!(load(&several), Ok(vec![]));
    for mac in [EDCA, "[mac.dcf]\n"] {
        let said = "`protection_rate` does nothing here with `protection` = \"off\"";
        warned(&format!("{mac}standard = \"g\"\nprotection_rate = \"2 Mbps\"\n"), &[said]);
    }
}

#[test]
fn limits_below_two_packets_are_refused() {
    let n = format!("{EDCA}standard = \"n\"\n");
    refused(&format!("{n}max_ampdu = \"1 B\"\n"), &["s.toml:11:", "expected 0 B or at least 86 B", "found 1 B"]);
    refused(&format!("{n}max_amsdu = \"1 B\"\n"), &["s.toml:11:", "expected 0 B or at least 44 B", "found 1 B"]);
}

#[test]
fn times_of_hours_are_refused() {
    refused("[mac.dcf]\nslot = \"50 h\"\n", &["s.toml:8:", "expected at most 10 s, found 180000 s"]);
    refused(&format!("{EDCA}sifs = \"1 min\"\n"), &["s.toml:10:", "expected at most 10 s"]);
}

#[test]
fn a_rate_of_ofdm_and_of_ht_has_two_names() {
    let wide = format!("{EDCA}standard = \"n\"\nbandwidth = \"40 MHz\"\n");
    refused(&format!("{wide}rate = \"54 Mbps\"\n"), &["s.toml:12:", "mcs3, mcs9 or mcs24", "or \"ofdm 54 Mbps\""]);
    assert_eq!(load(&format!("{wide}rate = \"ofdm 54 Mbps\"\n{SHORT}")), Ok(vec![]));
}

#[test]
fn a_label_of_answers_belongs_to_them() {
    let echo = "udp = true\ntraffic = \"echo\"\n";
    let other = |label: &str| format!("[[flow]]\nfrom = 1\nto = 0\nlabel = \"{label}\"\n");
    let said = "the answers to flows with the label \"talk\" have the label \"talk.answers\" already";
    refused(&format!("label = \"talk\"\n{echo}{}", other("talk.answers")), &["s.toml:13:", said, "another label"]);
    refused(
        &format!("{echo}{}", other("answers")),
        &["the answers to flows without a label have the label \"answers\""],
    );
    assert_eq!(load(&format!("label = \"talk\"\n{echo}{}", other("answers"))), Ok(vec![]));
    assert_eq!(load(&format!("label = \"talk\"\n{}", other("talk.answers"))), Ok(vec![]), "nobody answers");
}

#[test]
fn costs_of_packets_by_which_radios_gain_energy_are_refused() {
    let energy = "[energy]\nmodel = \"per_packet\"\n";
    assert_eq!(load(energy), Ok(vec![]));
    assert_eq!(load(&format!("{energy}[mac.dcf]\nrate = \"11 Mbps\"\n")), Ok(vec![]));
    let fast = format!("[mac.dcf]\nstandard = \"a\"\nrate = \"54 Mbps\"\n{energy}");
    // 0.8 W for eight bits at 54 Mb/s.
    refused(
        &fast,
        &["s.toml:10:", "radios would gain energy by frames at 54 Mbps", "`discard.per_byte`", "at least -0.1185"],
    );
    assert_eq!(load(&format!("{fast}[energy.per_packet]\ndiscard.per_byte = \"-0.1 uJ/B\"\n{SHORT}")), Ok(vec![]));
    // Rate control may use the fastest mode.
    let adaptive = "[mac]\nrate_control = \"arf\"\n[mac.dcf]\nstandard = \"a\"\n";
    refused(&format!("{adaptive}{energy}"), &["at 54 Mbps"]);
}
