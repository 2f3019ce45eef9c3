//! Parameters outside their range: every numeric parameter of every TCP variant refuses impossible values, with the
//! line.

use std::path::Path;

use hopyard_scenario::{Problems, Scenario, find_models};

const SCENARIO: &str = "[nodes]\ncount = 2\n[routing]\nprotocol = \"oracle\"\n[[flow]]\nfrom = 0\nto = 1\n";

/// The scenario with one parameter of a variant, in the last line.
fn with(variant: &str, parameter: &str, value: &str) -> Result<Scenario, Problems> {
    let text = format!("{SCENARIO}tcp = \"{variant}\"\n[tcp.{variant}]\n{parameter} = {value}\n");
    Scenario::load(&text, "bad.toml", Path::new(""), &[])
}

/// Impossible values of every kind.
fn impossible(kind: &str, default: &str) -> Vec<String> {
    if kind == "a number" {
        // NaN and infinity are numbers in TOML.
        return ["-1.0", "-1e300", "nan", "inf", "\"much\""].map(str::to_owned).to_vec();
    }
    if kind == "a whole number" {
        return ["-1", "1.5", "99999999999999999999", "\"many\""].map(str::to_owned).to_vec();
    }
    // A quantity with a unit, such as "10 ms": its default shows which.
    let text = default.trim_matches('"');
    match text.split_once(' ') {
        Some((number, unit)) if number.parse::<f64>().is_ok() => {
            vec![format!("\"-1 {unit}\""), format!("\"{number}\""), format!("\"{number} parsecs\""), number.to_owned()]
        }
        _ => Vec::new(),
    }
}

#[test]
fn every_numeric_parameter_of_every_variant_has_a_range() {
    let mut faults = Vec::new();
    let mut tried = 0;
    for model in find_models("congestion").expect("there are TCP variants") {
        for parameter in &model.parameters {
            let default = parameter.default("rfc");
            let fine = with(model.name, &parameter.name, default);
            assert!(fine.is_ok(), "{} {} = {default}: {:?}", model.name, parameter.name, fine.err());
            for value in impossible(&parameter.kind, default) {
                tried += 1;
                let place = format!("{}.{} = {value}", model.name, parameter.name);
                match with(model.name, &parameter.name, &value) {
                    Ok(_) => faults.push(format!("{place} is accepted")),
                    Err(problems) => {
                        let lines: Vec<_> =
                            problems.0.iter().filter_map(|problem| Some(problem.location()?.line)).collect();
                        let said = problems.0.iter().any(|it| it.expected.is_some() || it.hint.is_some());
                        if !lines.contains(&10) || !said {
                            faults.push(format!("{place}: {problems}"));
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 100, "{tried} values were tried");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
