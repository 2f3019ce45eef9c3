//! Parameters outside their range: every numeric parameter of every model of every list refuses impossible values, with
//! the line.

use std::path::Path;

use hopyard_model::mobility::{self, Configured as _};
use hopyard_scenario::{Model, Problems, Scenario, models};

const SCENARIO: &str = "[nodes]\ncount = 2\nspacing = \"100 m\"\n[[flow]]\nfrom = 0\nto = 1\n";

/// The scenario with one parameter of a model, in the last line.
fn with(model: &Model, parameter: &str, value: &str) -> Result<Scenario, Problems> {
    let text = format!("{SCENARIO}{}\n{parameter} = {value}\n", model.section);
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
    if kind == "true or false" {
        return ["1", "\"yes\""].map(str::to_owned).to_vec();
    }
    // One of several words.
    if kind.starts_with('"') {
        return ["\"xyzzy\"", "7", "[]"].map(str::to_owned).to_vec();
    }
    // A quantity with a unit, such as "10 ms": its default shows which.
    let text = default.trim_matches('"');
    match text.split_once(' ') {
        Some((number, unit)) if number.parse::<f64>().is_ok() => {
            // A place along an axis may be on either side of zero.
            if kind.starts_with("a distance along an axis") {
                return vec![format!("\"-2e9 {unit}\""), format!("\"{number}\""), format!("\"{number} parsecs\"")];
            }
            // A ratio in decibels, a power, or what a byte costs beyond an idle radio may be below zero.
            let negative = (!["dB", "dBm", "uJ/B"].contains(&unit)).then(|| format!("\"-1 {unit}\""));
            let others = [format!("\"{number}\""), format!("\"{number} parsecs\""), number.to_owned()];
            negative.into_iter().chain(others).collect()
        }
        _ => Vec::new(),
    }
}

/// The models of all lists, and what there is one of; without the sections of a scenario itself.
fn all() -> Vec<Model> {
    models().into_iter().filter(|model| model.room != "scenario" && model.name != "wire").collect()
}

#[test]
fn every_parameter_of_every_model_has_a_range() {
    let mut faults = Vec::new();
    let mut tried = 0;
    for model in all() {
        for parameter in &model.parameters {
            let default = parameter.default("rfc");
            let fine = with(&model, &parameter.name, default);
            // A movement file or a group has no default that works by itself.
            let needs_more = mobility::Config::of_profile(model.name, "rfc")
                .is_ok_and(|it| it.reads_file() || it.membership().is_some());
            if !needs_more && let Err(problems) = fine {
                faults.push(format!("{} {} = {default}: {problems}", model.name, parameter.name));
            }
            for value in impossible(&parameter.kind, default) {
                tried += 1;
                let place = format!("{}.{} = {value}", model.name, parameter.name);
                match with(&model, &parameter.name, &value) {
                    Ok(_) => faults.push(format!("{place} is accepted")),
                    Err(problems) => {
                        let lines: Vec<_> =
                            problems.0.iter().filter_map(|problem| Some(problem.location()?.line)).collect();
                        let said = problems.0.iter().any(|it| it.expected.is_some() || it.hint.is_some());
                        if !lines.contains(&8) || !said {
                            faults.push(format!("{place}: {problems}"));
                        }
                    }
                }
            }
        }
    }
    assert!(tried > 600, "{tried} values were tried");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
