//! The generated part of the documentation: a page for each model, with its parameters in a table.

use hopyard_scenario::{Model, Parameter, models};

use super::events;

/// The part of a page between these two lines is generated; the rest is written by hand.
const BEGIN: &str = "<!-- generated from the source: begin -->";
const END: &str = "<!-- generated from the source: end -->";

/// The section `[sweep]`, whose keys are the keys of all other sections.
const SWEEP: &str = r#"## `[sweep]`

The comparison of the file. Each key is a key of the scenario in quotes, in the form of `--set`. Its value gives the
values to compare: a list, or a range such as `"3..9"` or `"1 m/s..5 m/s:2 m/s"`. Every combination of the values is a
case. The keys of a table `[[sweep.together]]` change together: each key has the same number of values as the others, or
one value for all cases.

```toml
[sweep]
"flow.tcp" = ["newreno", "vegas"]

[[sweep.together]]
"nodes.count" = "3..9"
"flow.to" = "last"
```

`hopyard run FILE` runs these 14 cases, and `hopyard check FILE` checks all of them. A `--set` of the same key replaces
the values of the file. A key that changes together with that key keeps its value if it has one value for all cases;
otherwise it is left out. The table is not part of a case: the configuration hash of a case is that of the scenario with
the settings of the case.
"#;

/// A page of the documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    /// Its path below `docs`.
    pub(crate) path: String,
    title: String,
    generated: String,
}

/// Every generated page: one for each model, one for the sections of scenarios, and one for the answers of TCP variants
/// to events.
pub(crate) fn pages() -> Vec<Page> {
    let (sections, models): (Vec<_>, Vec<_>) = models().into_iter().partition(|model| model.room == "scenario");
    let reference: Vec<_> = sections.iter().map(|it| format!("## {}\n\n{}", heading(&it.section), head(it))).collect();
    let mut pages = vec![Page {
        path: "scenario.md".to_owned(),
        title: "The keys of a scenario".to_owned(),
        generated: format!("{}\n{SWEEP}", reference.join("\n")),
    }];
    pages.push(Page {
        path: "tcp-events.md".to_owned(),
        title: "How TCP variants answer events".to_owned(),
        generated: events::page(),
    });
    pages.extend(models.iter().map(|model| Page {
        path: format!("models/{}.md", model.name),
        title: model.name.to_owned(),
        generated: head(model),
    }));
    pages
}

impl Page {
    /// The whole page: the existing page with the new generated part, or a new page.
    pub(crate) fn render(&self, existing: Option<&str>) -> String {
        let generated = format!("{BEGIN}\n\n{}\n{END}", self.generated);
        if let Some(existing) = existing
            && let Some((before, rest)) = existing.split_once(BEGIN)
            && let Some((_, after)) = rest.split_once(END)
        {
            return format!("{before}{generated}{after}");
        }
        format!("# {}\n\n{generated}\n", self.title)
    }
}

/// A model's summary and the table of its parameters.
fn head(model: &Model) -> String {
    let place = if model.room == "scenario" {
        String::new()
    } else {
        format!(" The parameters are in {}.", code(&model.section))
    };
    let mut text = format!("{}{}{place}\n", model.summary, if model.summary.ends_with('.') { "" } else { "." });
    if model.parameters.is_empty() {
        return format!(
            "{}{} It has no parameters.\n",
            model.summary,
            if model.summary.ends_with('.') { "" } else { "." }
        );
    }
    let profiles = profiles(model);
    if model.room != "scenario" && !profiles.is_empty() && profiles != ["rfc", "ns2"] {
        let names: Vec<_> = profiles.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!(
            "\nIts profiles are {}. The first is the default. `profile = \"{}\"` in its table selects the last.\n",
            names.join(", "),
            profiles.last().unwrap_or(&"")
        ));
    }
    let columns =
        if profiles.is_empty() { vec!["default".to_owned()] } else { profiles.iter().map(|name| code(name)).collect() };
    text.push_str(&format!("\n| parameter | {} | values | meaning |\n", columns.join(" | ")));
    text.push_str(&format!("|---{}|---|---|\n", "|---".repeat(columns.len())));
    for parameter in &model.parameters {
        let default = |profile: &str| match parameter.required {
            true => "required".to_owned(),
            false => code(parameter.default(profile)),
        };
        let defaults: Vec<_> = if profiles.is_empty() {
            vec![default("rfc")]
        } else {
            profiles.iter().map(|profile| default(profile)).collect()
        };
        let (kind, description) = (cell(&parameter.kind), cell(&parameter.description));
        let name = code(&parameter.name);
        text.push_str(&format!("| {name} | {} | {kind} | {description} |\n", defaults.join(" | ")));
    }
    text
}

/// The profiles whose defaults differ; none if all are the same.
fn profiles(model: &Model) -> Vec<&'static str> {
    let differ = |parameter: &Parameter| parameter.defaults.iter().any(|it| it.value != parameter.defaults[0].value);
    if model.parameters.iter().any(differ) {
        model.parameters[0].defaults.iter().map(|it| it.profile).collect()
    } else {
        Vec::new()
    }
}

/// A section's title: the name of a table is set as code.
fn heading(section: &str) -> String {
    if section.starts_with('[') { code(section) } else { section.to_owned() }
}

fn code(text: &str) -> String {
    format!("`{}`", cell(text))
}

/// Text in which no character ends a cell of the table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn what_is_written_by_hand_stays() {
        let pages = pages();
        let dcf = pages.iter().find(|page| page.path == "models/dcf.md").expect("a page");
        let new = dcf.render(None);
        assert!(new.starts_with("# dcf\n") && new.contains("| `rts_threshold` | `\"2347 B\"` | `\"0 B\"` |"), "{new}");
        let edited =
            new.replace("# dcf\n", "# The DCF\n\nBy hand.\n").replace("rts_threshold", "xyzzy") + "\nMore by hand.\n";
        let again = dcf.render(Some(&edited));
        assert!(again.starts_with("# The DCF\n\nBy hand.\n") && again.ends_with("More by hand.\n"));
        assert!(again.contains("rts_threshold") && !again.contains("xyzzy"));
        assert_eq!(dcf.render(Some(&again)), again);
    }

    #[test]
    fn every_model_has_a_page_of_its_own() {
        let paths: BTreeSet<_> = pages().into_iter().map(|page| page.path).collect();
        let names = models().into_iter().filter(|model| model.room != "scenario").count();
        assert_eq!(paths.len(), names + 2);
    }
}
