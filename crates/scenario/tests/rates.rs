//! Rate control in scenarios: where it is selected, what it reads, and what is refused.

use std::path::Path;

use hopyard_scenario::Scenario;

const TWO: &str = "[nodes]\ncount = 2\nspacing = \"100 m\"\n[[flow]]\nfrom = 0\nto = 1\n";

fn load(text: &str) -> Result<Scenario, String> {
    Scenario::load(&format!("{TWO}{text}"), "s.toml", Path::new(""), &[]).map_err(|problems| problems.to_string())
}

fn loaded(text: &str) -> Scenario {
    load(text).unwrap_or_else(|shown| panic!("{text}: {shown}"))
}

#[test]
fn rate_control_is_selected_beside_the_mac() {
    let scenario = loaded("[mac]\nrate_control = \"arf\"\n[mac.dcf]\nstandard = \"a\"\n[mac.arf]\nsuccesses = 7\n");
    let spec = scenario.spec(0);
    assert_eq!(spec.channels[0].rates.name(), "arf");
    assert_eq!(scenario.to_value(true)["mac"]["arf"]["successes"], 7);
    let again = Scenario::load(&scenario.to_toml(true), "s.toml", Path::new(""), &[]).expect("complete");
    assert_eq!(again.hash(), scenario.hash());
    let edca = "[mac]\nmodel = \"edca\"\nrate_control = \"minstrel_ht\"\n[mac.edca]\nstandard = \"n\"\n";
    assert_eq!(loaded(edca).spec(0).channels[0].rates.name(), "minstrel_ht");
    // A further channel has its own, with the parameters of the first.
    let channels =
        "[mac.arf]\nsuccesses = 7\n[[channel]]\nnodes = [0, 1]\nrate_control = \"arf\"\n[channel.arf]\ntimer = 20\n";
    let spec = loaded(channels).spec(0);
    assert_eq!(spec.channels.iter().map(|it| it.rates.name()).collect::<Vec<_>>(), ["fixed", "arf"]);
}

#[test]
fn only_a_choice_of_rates_changes_the_hash() {
    let plain = loaded("").hash();
    assert_eq!(loaded("[mac]\nrate_control = \"fixed\"\n").hash(), plain);
    assert_eq!(loaded("[measure]\nrates = true\n").hash(), plain);
    let arf = loaded("[mac]\nrate_control = \"arf\"\n").hash();
    assert_ne!(arf, plain);
    assert_ne!(loaded("[mac]\nrate_control = \"arf\"\n[mac.arf]\ntimer = 20\n").hash(), arf);
    let channel = |keys: &str| loaded(&format!("[[channel]]\nnodes = [0, 1]\n{keys}")).hash();
    assert_ne!(channel(""), channel("rate_control = \"arf\"\n"));
    assert_eq!(channel(""), channel("rate_control = \"fixed\"\n"));
}

#[test]
fn what_cannot_be_is_refused_at_its_place() {
    for (text, words) in [
        ("[mac]\nrate_control = \"minstrel\"\n", &["s.toml:8:", "minstrel_ht"][..]),
        (
            "[mac]\nmodel = \"tdma\"\nrate_control = \"aarf\"\n",
            &["s.toml:9:", "frames of `tdma` all have one mode", "expected \"fixed\" with `tdma`"],
        ),
        (
            "[[channel]]\nnodes = [0, 1]\nmac = \"tdma\"\nrate_control = \"arf\"\n",
            &["s.toml:10:", "frames of `tdma` all have one mode"],
        ),
        ("[mac]\nrate_control = \"arf\"\n[mac.arf]\nsuccesses = 0\n", &["s.toml:10:", "at least 1 frame"]),
        (
            "[mac]\nrate_control = \"aarf\"\n[mac.aarf]\nmost_successes = 5\n",
            &["s.toml:10:", "at least `successes`, 10, found 5"],
        ),
        ("[mac]\nrate_control = \"ideal\"\n[mac.ideal]\nbit_error_rate = 2\n", &["s.toml:10:", "1e-12 to 0.5"]),
        (
            "[mac]\nrate_control = \"ideal\"\n[mac.ideal]\nbit_error_rate = 0.0000000000000001\n",
            &["s.toml:10:", "expected 1e-12 to 0.5, found 1e-16"],
        ),
        ("[mac]\nrate_control = \"minstrel_ht\"\n[mac.minstrel_ht]\nmost_tries = 1\n", &["s.toml:10:", "at least 2"]),
        // Rate control sends at every rate.
        (
            "[mac]\nrate_control = \"arf\"\n[radio]\nreceive = { \"1 Mbps\" = \"250 m\", \"2 Mbps\" = \"200 m\" }\n",
            &["`receive` has no value for 5.5 Mbps", "\"11 Mbps\""],
        ),
    ] {
        let shown = load(text).expect_err(text);
        for word in words {
            assert!(shown.contains(word), "\"{word}\" is not in:\n{shown}");
        }
    }
    let idle = loaded("[measure]\nrates = true\n");
    let warnings: Vec<_> = idle.warnings().iter().map(ToString::to_string).collect();
    assert!(
        warnings.len() == 1 && warnings[0].contains("`rates` records nothing") && warnings[0].contains("s.toml:8:"),
        "{warnings:?}"
    );
    assert!(loaded("[measure]\nrates = true\n[mac]\nrate_control = \"arf\"\n").warnings().is_empty());
    let unused = loaded("[mac.arf]\nsuccesses = 7\n");
    let warnings: Vec<_> = unused.warnings().iter().map(|it| it.as_warning().to_string()).collect();
    assert!(warnings.iter().any(|it| it.contains("[mac.arf] is not used")), "{warnings:?}");
}
