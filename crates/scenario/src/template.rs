//! Templates of scenarios: a few settings, and every other parameter as a comment with its default and its meaning.
//!
//! Names, defaults and comments come from the models themselves, so that the templates are always up to date.

use std::path::Path;

use serde_json::{Value, json};

use crate::catalogue::LAYOUT;
use crate::models::{Model, models};
use crate::problem::{nearest, one_of};
use crate::scenario::Scenario;
use crate::value::inline;

/// The kinds of templates.
pub const KINDS: [&str; 4] = ["chain", "random_waypoint", "drones", "wired"];

/// The purpose of the template `chain`, measured with its defaults.
const CHAIN_SHOWS: &str = "Compare variants of TCP: `hopyard run FILE --set flow.tcp=newreno,vegas,cubic,bbr`. \
    The window is larger than the queue of the first node and the air together, so senders that fill the queue lose \
    segments. NewReno and CUBIC do; CUBIC loses more and waits longer. Vegas and BBR keep the queue short: they lose \
    nothing, and their segments arrive several times sooner. Goodputs differ less than delays; BBR has the highest.";

/// The settings of a template; everything else has its default.
fn settings(kind: &str) -> Option<(&'static str, Value)> {
    Some(match kind {
        "chain" => (
            "A chain of seven nodes: one TCP flow over six wireless hops.",
            json!({
                "name": "chain", "profile": "rfc", "duration": "60 s", "runs": 10, "seed": 1,
                "nodes": {"count": 7, "placement": "chain", "spacing": "200 m"},
                "radio": {"receive": "250 m", "sense": "550 m"},
                "mac": {"dcf": {"rate": "2 Mbps"}},
                "link": {"queue_length": 50},
                "routing": {"protocol": "aodv"},
                "tcp": {"window": 128},
                "flow": [{"from": 0, "to": 6, "tcp": "newreno", "traffic": "ftp", "start": "0 s"}],
                "measure": {"series": ["cwnd", "goodput"], "interval": "500 ms"}
            }),
        ),
        "random_waypoint" => (
            "Fifty moving nodes: twenty TCP flows between randomly drawn pairs.",
            json!({
                "name": "random_waypoint", "profile": "rfc", "duration": "200 s", "runs": 10, "seed": 1,
                "nodes": {"count": 50, "area": ["1500 m", "300 m"]},
                "mobility": {
                    "model": "random_waypoint",
                    "random_waypoint": {"speed_min": "1 m/s", "speed_max": "20 m/s"},
                },
                "radio": {"receive": "250 m", "sense": "550 m"},
                "mac": {"dcf": {"rate": "2 Mbps"}},
                "routing": {"protocol": "aodv"},
                "flows": {"random": 20, "tcp": "newreno", "start": ["0 s", "60 s"]}
            }),
        ),
        "drones" => (
            "Ten drones in a box: 802.11n with aggregation and rate control, over fading links in the open air.",
            json!({
                "name": "drones", "profile": "rfc", "duration": "60 s", "runs": 10, "seed": 1,
                "nodes": {"count": 10},
                "mobility": {
                    "model": "gauss_markov",
                    "gauss_markov": {"width": "800 m", "height": "800 m", "bottom": "50 m", "top": "100 m"},
                },
                "radio": {
                    "transmit_power": "20 dBm", "receive": "-82 dBm", "sense": "-92 dBm",
                    "propagation": "free_space", "fading": "rician", "rician": {"k": "9 dB"}
                },
                "mac": {
                    "model": "edca", "rate_control": "minstrel_ht",
                    "edca": {"standard": "n", "band": "2.4 GHz", "rate": "mcs7"}
                },
                "routing": {"protocol": "aodv"},
                "flows": {"random": 5, "tcp": "cubic", "start": ["0 s", "10 s"]}
            }),
        ),
        "wired" => (
            "Two nodes connected by a wired bottleneck: TCP and its losses, without radios.",
            json!({
                "name": "wired", "profile": "rfc", "duration": "30 s", "runs": 1, "seed": 1,
                "nodes": {"wired": 3},
                "routing": {"protocol": "static", "static": {"others": "chain"}},
                "flow": [{"from": 0, "to": 2, "tcp": "newreno", "window": 100}],
                "wire": [
                    {"between": [0, 1], "rate": "10 Mbps", "delay": "2 ms"},
                    {"between": [1, 2], "rate": "800 kbps", "delay": "100 ms", "losses": {"segments": [14, 26, 28]}}
                ],
                "measure": {"series": ["cwnd"], "interval": "100 ms"}
            }),
        ),
        _ => return None,
    })
}

/// A commented scenario of one of the [`KINDS`], as a starting point.
///
/// # Errors
/// When there is no such kind; the error lists the kinds.
pub fn new_scenario(kind: &str) -> Result<String, String> {
    let Some((title, value)) = settings(kind) else {
        let hint = nearest(kind, KINDS).map(|name| format!("; did you mean `{name}`?")).unwrap_or_default();
        return Err(format!("there is no template `{kind}`; the templates are {}{hint}", one_of(KINDS)));
    };
    let scenario = Scenario::from_value(&value, Path::new(""))
        .map_err(|problems| format!("the template cannot be made:\n{problems}"))?;
    let complete = scenario.to_value(true);
    let models = models();
    let mut text = format!("# {title}\n#\n");
    if kind == "chain" {
        text.extend(wrap(CHAIN_SHOWS).iter().map(|line| format!("# {line}\n")));
        text.push_str("#\n");
    }
    text.push_str(
        "# Lines that begin with `#` are comments. A commented key shows its default: remove the `#` to change it.\n\
         # `hopyard models` explains every model; `hopyard check FILE` finds what is wrong.\n\n",
    );
    for layout in LAYOUT {
        let full = if layout.name.is_empty() { Some(&complete) } else { complete.get(layout.name) };
        let Some(full) = full else { continue };
        let own = layout.parts.iter().filter_map(|info| find(&models, info.room, info.name)).collect::<Vec<_>>();
        let set = if layout.name.is_empty() { Some(&value) } else { value.get(layout.name) };
        if layout.list {
            for (item, full) in
                set.and_then(Value::as_array).into_iter().flatten().zip(full.as_array().into_iter().flatten())
            {
                section(&mut text, &format!("[[{}]]", layout.name), &own, Some(item), full);
            }
            continue;
        }
        let header = if layout.name.is_empty() { String::new() } else { format!("[{}]", layout.name) };
        // Sections without settings are shown with defaults only; rare sections are left out.
        if set.is_some() || !["simulator", "movement", "measure", "energy"].contains(&layout.name) {
            section(&mut text, &header, &own, set, full);
            for room in layout.rooms {
                for model in models.iter().filter(|model| model.room == *room && full.get(model.name).is_some()) {
                    if model.parameters.is_empty() {
                        continue;
                    }
                    let set = set.and_then(|set| set.get(model.name));
                    section(&mut text, &model.section, &[model], set, &full[model.name]);
                }
            }
        }
    }
    Ok(text)
}

fn find<'a>(models: &'a [Model], room: &str, name: &str) -> Option<&'a Model> {
    models.iter().find(|model| model.room == room && model.name == name)
}

/// A section: its header, its settings with their meaning, then the other parameters as comments.
fn section(text: &mut String, header: &str, models: &[&Model], set: Option<&Value>, full: &Value) {
    if !header.is_empty() {
        let summary = models.first().map(|model| model.summary).unwrap_or_default();
        if !summary.is_empty() {
            text.push_str(&format!("# {summary}\n"));
        }
        text.push_str(&format!("{header}\n"));
    }
    let value = |name: &str, of: &Value| name.split('.').try_fold(of, |value, step| value.get(step)).and_then(inline);
    for parameter in models.iter().flat_map(|model| &model.parameters) {
        let given = set.and_then(|set| value(&parameter.name, set));
        if let Some(given) = given {
            for line in wrap(&parameter.description) {
                text.push_str(&format!("# {line}\n"));
            }
            text.push_str(&format!("{} = {given}\n", parameter.name));
        }
    }
    for parameter in models.iter().flat_map(|model| &model.parameters) {
        let is_set = set.is_some_and(|set| value(&parameter.name, set).is_some());
        if let (false, Some(default)) = (is_set, value(&parameter.name, full)) {
            text.push_str(&format!(
                "# {} = {default}    # {}\n",
                parameter.name,
                first_sentence(&parameter.description)
            ));
        }
    }
    text.push('\n');
}

/// The first sentence. A full stop ends it only before a capital letter: "RFC 5681 eq. (3)" continues.
fn first_sentence(text: &str) -> &str {
    let ends = |at: &usize| text[at + 2..].starts_with(char::is_uppercase);
    let end = text.match_indices(". ").map(|(at, _)| at).find(ends);
    end.map_or(text, |end| &text[..end]).trim_end_matches('.')
}

/// Text in lines of at most a hundred characters.
fn wrap(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| line.chars().count());
        if line > 0 && line + 1 + word.chars().count() > 100 {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_a_scenario_without_warnings() {
        for kind in KINDS {
            let text = new_scenario(kind).expect(kind);
            let scenario =
                Scenario::load(&text, "new.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}"));
            assert_eq!(scenario.warnings(), [], "{kind}");
            assert_eq!(scenario.name(), kind);
            let (_, value) = settings(kind).expect("a kind has settings");
            let plain = Scenario::from_value(&value, Path::new("")).unwrap_or_else(|p| panic!("{p}"));
            assert_eq!(scenario.hash(), plain.hash(), "{text}");
        }
    }

    /// The key and its default after `# `, if the line is such a comment.
    fn key_in_comment(line: &str) -> Option<&str> {
        let rest = line.strip_prefix("# ")?;
        let (key, _) = rest.split_once(" = ")?;
        let named = key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
        (named && rest.contains("    # ")).then_some(rest)
    }

    #[test]
    fn keys_in_comments_are_what_they_claim_to_be() {
        // All of them can be uncommented at once without a change of the scenario.
        for kind in KINDS {
            let text = new_scenario(kind).expect(kind);
            let all: String = text.lines().map(|line| format!("{}\n", key_in_comment(line).unwrap_or(line))).collect();
            assert!(all.len() < text.len(), "{kind} has commented keys");
            let loaded = |text: &str| {
                Scenario::load(text, "new.toml", Path::new(""), &[]).unwrap_or_else(|p| panic!("{text}\n{p}"))
            };
            assert_eq!(loaded(&all).hash(), loaded(&text).hash());
        }
    }

    #[test]
    fn comments_are_whole_sentences() {
        for kind in KINDS {
            let text = new_scenario(kind).expect(kind);
            for line in text.lines().filter(|line| line.starts_with('#')) {
                assert!(line == "#" || !line[1..].trim().is_empty(), "an empty comment in {kind}: {line:?}");
                assert!(!line.ends_with(" eq") && !line.ends_with(" eq."), "cut in {kind}: {line}");
            }
        }
        assert_eq!(first_sentence("As RFC 5681 eq. (3) has it. More."), "As RFC 5681 eq. (3) has it");
        assert_eq!(first_sentence("One. Two."), "One");
    }

    #[test]
    fn there_are_no_other_templates() {
        assert!(new_scenario("chian").is_err_and(|error| error.contains("did you mean `chain`?")));
    }
}
