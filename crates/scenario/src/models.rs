//! The list of models and sections. The command line shows it; schema and documentation are made from it.

use hopyard_model::params::ModelInfo;
use serde::Serialize;
use serde_json::Value;

use crate::catalogue::{LAYOUT, ROOMS, all_models, own_sections};
use crate::problem::nearest;
use crate::value::inline;

/// A model, or a section of a scenario, with its parameters.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Model {
    /// Its room, such as "routing"; "scenario" for a section of the scenario itself.
    pub room: &'static str,
    /// Its name.
    pub name: &'static str,
    /// The place of its parameters in a scenario, such as `[routing.aodv]`.
    pub section: String,
    /// One sentence with a description and a reference.
    pub summary: &'static str,
    /// Whether Linux has it too: flows with `stack = "linux"` can have it.
    pub has_twin: bool,
    /// Linux's name of it; of a model that Linux lacks, the name of what comes nearest there.
    pub in_linux: Option<&'static str>,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// A parameter of a model.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Parameter {
    /// Its key. The key of a table within the parameters contains dots.
    pub name: String,
    /// Its possible values: "a rate above zero such as \"2 Mbps\"", "a whole number", "\"long\" or \"short\"".
    pub kind: String,
    /// Whether it has to be given: its default is none then.
    pub required: bool,
    /// Its default in each profile, as TOML.
    pub defaults: Vec<ProfileDefault>,
    /// Its effect, with the source.
    pub description: String,
}

/// A default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProfileDefault {
    /// The profile, "rfc" or "ns2".
    pub profile: &'static str,
    /// The value, as TOML.
    pub value: String,
}

impl Parameter {
    /// The default in a profile, as TOML.
    #[must_use]
    pub fn default(&self, profile: &str) -> &str {
        let found = self.defaults.iter().find(|default| default.profile == profile).or(self.defaults.first());
        found.map_or("", |default| default.value.as_str())
    }
}

/// Every model and every section, in the order of a scenario.
#[must_use]
pub fn models() -> Vec<Model> {
    own_sections().chain(all_models()).map(describe).collect()
}

/// The models that a word names: all models of a room, one model, or one section.
///
/// # Errors
/// When there is none; the error gives the nearest name.
pub fn find_models(word: &str) -> Result<Vec<Model>, String> {
    let all = models();
    let found: Vec<_> = all.iter().filter(|model| model.name == word || model.room == word).cloned().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    let names = all.iter().flat_map(|model| [model.name, model.room]);
    Err(match nearest(word, names) {
        Some(name) => format!("there is no model or room `{word}`; did you mean `{name}`?"),
        None => {
            let rooms: Vec<_> = ROOMS.iter().map(|room| room.name).collect();
            format!("there is no model or room `{word}`; the rooms are {}", rooms.join(", "))
        }
    })
}

/// The dotted path of the table of a model's parameters.
fn section(info: &ModelInfo) -> String {
    match ROOMS.iter().find(|room| room.name == info.room && room.model(info.name).is_some()) {
        Some(room) => format!("[{}.{}]", room.section, info.name),
        None if info.name == "scenario" => "the top of the scenario".to_owned(),
        None => match LAYOUT.iter().find(|layout| layout.name == info.name) {
            Some(layout) => layout.title(),
            None => format!("[{}]", info.name),
        },
    }
}

fn describe(info: &ModelInfo) -> Model {
    let schema = (info.schema)().to_value();
    let layout = LAYOUT.iter().find(|layout| info.room == "scenario" && layout.name == info.name);
    let required = layout.map_or(&[][..], |layout| layout.required);
    let mut parameters = Vec::new();
    properties("", &schema, &schema, &mut |name, property| {
        parameters.push(Parameter {
            name: name.to_owned(),
            kind: kind(property, &schema),
            required: required.contains(&name),
            defaults: info
                .profiles
                .iter()
                .map(|profile| ProfileDefault { profile, value: default(info, profile, name) })
                .collect(),
            description: description(property),
        });
    });
    Model {
        room: info.room,
        name: info.name,
        section: section(info),
        summary: info.summary,
        has_twin: info.has_twin,
        in_linux: info.in_linux,
        parameters,
    }
}

/// Calls `each` for every parameter, and for the parameters of tables within the parameters, with its path and its
/// schema.
fn properties(path: &str, schema: &Value, root: &Value, each: &mut dyn FnMut(&str, &Value)) {
    let Some(found) = resolved(schema, root).get("properties").and_then(Value::as_object) else { return };
    for (name, property) in found {
        let path = crate::key::join(path, name);
        if resolved(property, root).get("properties").is_some() {
            properties(&path, property, root, each);
        } else {
            each(&path, property);
        }
    }
}

/// A schema itself, or the schema to which it refers.
fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    reference.and_then(|path| root.pointer(path.trim_start_matches('#'))).unwrap_or(schema)
}

fn description(schema: &Value) -> String {
    let text = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn default(info: &ModelInfo, profile: &str, name: &str) -> String {
    let defaults = (info.defaults)(profile);
    let value = name.split('.').try_fold(&defaults, |value, step| value.get(step));
    value.and_then(inline).unwrap_or_default()
}

/// The possible values of a parameter, in words.
fn kind(property: &Value, root: &Value) -> String {
    let schema = resolved(property, root);
    let text = |value: &Value| value.as_str().map(|text| format!("\"{text}\""));
    let choices = |schema: &Value| -> Vec<String> {
        let listed = schema.get("enum").and_then(Value::as_array).into_iter().flatten().filter_map(text);
        let single = schema.get("const").and_then(text);
        listed.chain(single).collect()
    };
    let alternatives = schema.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let names: Vec<_> = choices(schema).into_iter().chain(alternatives.flat_map(choices)).collect();
    if let [first @ .., last] = names.as_slice() {
        return if first.is_empty() { last.clone() } else { format!("{} or {last}", first.join(", ")) };
    }
    if let Some(kinds) = schema.get("anyOf").and_then(Value::as_array) {
        return kinds.iter().map(|each| kind(each, root)).collect::<Vec<_>>().join(", or ");
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    match kind {
        // The description of a quantity contains an example.
        "string" | "" if schema.get("examples").is_some() && !description(schema).is_empty() => description(schema),
        "string" => "text".to_owned(),
        "integer" => "a whole number".to_owned(),
        "number" => "a number".to_owned(),
        "boolean" => "true or false".to_owned(),
        "array" => match schema.get("items").or_else(|| schema.pointer("/prefixItems/0")) {
            Some(items) => format!("a list: {}", self::kind(items, root)),
            None => "a list".to_owned(),
        },
        _ => "a table".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(room: &str, name: &str) -> Model {
        models().into_iter().find(|model| model.room == room && model.name == name).expect("it is listed")
    }

    #[test]
    fn a_model_s_parameters_are_listed_with_their_defaults() {
        let dcf = model("mac", "dcf");
        assert_eq!(dcf.section, "[mac.dcf]");
        let rate = dcf.parameters.iter().find(|parameter| parameter.name == "rts_threshold").expect("a parameter");
        assert!(rate.kind.contains("bytes"), "{}", rate.kind);
        assert_eq!((rate.default("rfc"), rate.default("ns2")), ("\"2347 B\"", "\"0 B\""));
        assert!(rate.description.contains("RTS"));
        let preamble = dcf.parameters.iter().find(|parameter| parameter.name == "preamble").expect("a parameter");
        assert_eq!(preamble.kind, "\"long\" or \"short\"");
        let link = model("link", "link");
        assert!(link.parameters.iter().any(|parameter| parameter.name == "arp.lifetime"), "{link:?}");
    }

    #[test]
    fn every_parameter_is_documented_and_has_a_kind_and_a_default() {
        for model in models() {
            assert!(!model.summary.is_empty());
            for parameter in &model.parameters {
                let place = format!("{} {}", model.section, parameter.name);
                assert!(!parameter.description.is_empty(), "{place} has no description");
                assert!(!parameter.kind.is_empty() && parameter.kind != "a table", "{place}: {}", parameter.kind);
                assert!(parameter.defaults.iter().all(|default| !default.value.is_empty()), "{place} has no default");
            }
        }
    }

    #[test]
    fn keys_that_have_to_be_given_are_marked() {
        let required = |name: &str| -> Vec<String> {
            let all = model("scenario", name).parameters.into_iter();
            all.filter(|it| it.required).map(|it| it.name).collect()
        };
        assert_eq!(required("host"), ["node", "run"]);
        assert_eq!(required("flow"), ["from", "to"]);
        assert_eq!(required("radio"), Vec::<String>::new());
    }

    #[test]
    fn words_find_rooms_models_and_sections() {
        assert!(find_models("congestion").is_ok_and(|found| found.len() >= 5));
        assert!(find_models("vegas").is_ok_and(|found| found.len() == 1));
        assert!(find_models("nodes").is_ok_and(|found| found[0].room == "scenario"));
        assert!(find_models("vgas").is_err_and(|error| error.contains("`vegas`")));
        assert!(find_models("xyzzy").is_err_and(|error| error.contains("routing")));
    }
}
