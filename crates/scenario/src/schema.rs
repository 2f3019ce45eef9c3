//! The JSON schema of scenario files, for editors: made from the same structs that read them.

use serde_json::{Map, Value, json};

use crate::catalogue::{LAYOUT, Layout, ROOMS, room};
use crate::merge::{PROFILE, profiles};
use crate::sweep::{SWEEP, TOGETHER};
use crate::value::Values;
use hopyard_model::params::ModelInfo;

/// The JSON schema (draft 2020-12) of a scenario, for editors that complete and check TOML.
#[must_use]
pub fn json_schema() -> Value {
    let mut definitions = Map::new();
    for room in ROOMS {
        for info in *room.models {
            let mut schema = object(&[info], &mut definitions);
            offer_profiles(&mut schema, info);
            schema.insert("description".to_owned(), info.summary.into());
            definitions.insert(format!("{}.{}", room.name, info.name), Value::Object(schema));
        }
    }
    let mut top = Map::new();
    for layout in LAYOUT {
        let schema = section(layout, &mut definitions);
        if layout.name.is_empty() {
            top = schema;
            continue;
        }
        let schema = if layout.list {
            json!({ "type": "array", "items": schema })
        } else if layout.one_or_list {
            json!({ "anyOf": [schema, { "type": "array", "items": schema }] })
        } else {
            Value::Object(schema)
        };
        properties(&mut top).insert(layout.name.to_owned(), schema);
    }
    properties(&mut top).insert(SWEEP.to_owned(), sweep());
    let mut root = Map::new();
    root.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    root.insert("title".to_owned(), "Hopyard scenario".into());
    root.extend(top);
    root.insert("$defs".to_owned(), Value::Object(definitions));
    Value::Object(root)
}

/// `[sweep]`, whose keys are the keys of the scenario.
fn sweep() -> Value {
    json!({
        "type": "object",
        "description": "Keys of the scenario, each with the values to compare: a list, or a range such as \"3..9\".",
        "properties": { TOGETHER: {
            "type": "array",
            "description": "Tables of keys that change together: each has a value for each case, or one for all.",
            "items": { "type": "object" }
        } }
    })
}

/// A section: its own keys, and a table for each model whose parameters are possible in it.
fn section(layout: &'static Layout, definitions: &mut Values) -> Values {
    let mut schema = object(layout.parts, definitions);
    if let Some(info) = layout.profiled() {
        offer_profiles(&mut schema, info);
    }
    for name in layout.rooms {
        for info in *room(name).models {
            let reference = json!({ "$ref": format!("#/$defs/{name}.{}", info.name) });
            properties(&mut schema).insert(info.name.to_owned(), reference);
        }
    }
    for (key, name) in layout.selectors {
        if let Some(Value::Object(property)) = properties(&mut schema).get_mut(*key) {
            let names: Value = room(name).names().collect();
            if *name == "congestion" {
                let custom = json!({ "pattern": "^[^:]+:[^:]+$", "description": "module:Class, a congestion control written in Python" });
                property.insert("anyOf".to_owned(), json!([{ "enum": names }, custom]));
            } else {
                property.insert("enum".to_owned(), names);
            }
        }
    }
    if layout.rooms.contains(&"congestion") {
        // Parameters of a congestion control written in Python: only the class knows them.
        schema.insert("patternProperties".to_owned(), json!({ "^[^:]+:[^:]+$": { "type": "object" } }));
    }
    if !layout.required.is_empty() {
        schema.insert("required".to_owned(), layout.required.iter().copied().collect());
    }
    schema
}

/// The key with which a table selects another profile than the scenario's.
fn offer_profiles(schema: &mut Values, info: &ModelInfo) {
    let names = profiles(info);
    if !names.is_empty() {
        let description = "Selects the defaults of this profile instead of those of the scenario's profile.";
        properties(schema).insert(PROFILE.to_owned(), json!({ "enum": names, "description": description }));
    }
}

fn properties(schema: &mut Values) -> &mut Values {
    let entry = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
    entry.as_object_mut().expect("properties are an object")
}

/// The keys of one or more structs as one object. The definitions that they use are added to `definitions`.
fn object(parts: &[&ModelInfo], definitions: &mut Values) -> Values {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("additionalProperties".to_owned(), false.into());
    schema.insert("properties".to_owned(), Value::Object(Map::new()));
    for info in parts {
        let Value::Object(mut part) = (info.schema)().to_value() else { continue };
        if let Some(Value::Object(defs)) = part.remove("$defs") {
            // Types of the same name in two rooms are distinguished by their room.
            for (name, definition) in defs {
                definitions.insert(qualified(info, &name, &definition), optional(qualify(info, definition)));
            }
        }
        let defaults = (info.defaults)("rfc");
        let same = (info.defaults)("ns2") == defaults;
        let Some(Value::Object(keys)) = part.remove("properties") else { continue };
        for (key, property) in keys {
            let mut property = qualify(info, property);
            if let (Value::Object(property), Some(default)) = (&mut property, defaults.get(&key)) {
                if same || (info.defaults)("ns2").get(&key) == Some(default) {
                    property.insert("default".to_owned(), default.clone());
                }
                tidy(property);
            }
            properties(&mut schema).insert(key, optional(property));
        }
    }
    schema
}

/// The name of a definition: a unit has the same name everywhere, any other type has the name of its room.
fn qualified(info: &ModelInfo, name: &str, definition: &Value) -> String {
    let is_quantity = definition.get("examples").is_some();
    if is_quantity { name.to_owned() } else { format!("{}.{}.{name}", info.room, info.name) }
}

/// The schema with its references to definitions under their new names.
fn qualify(info: &ModelInfo, schema: Value) -> Value {
    let definitions = (info.schema)().to_value();
    rename(info, schema, &definitions)
}

fn rename(info: &ModelInfo, schema: Value, root: &Value) -> Value {
    match schema {
        Value::Object(map) => map
            .into_iter()
            .map(|(key, value)| match (&value, key.as_str()) {
                (Value::String(reference), "$ref") => {
                    let name = reference.trim_start_matches("#/$defs/");
                    let definition = root.pointer(reference.trim_start_matches('#')).unwrap_or(&Value::Null);
                    (key, Value::String(format!("#/$defs/{}", qualified(info, name, definition))))
                }
                _ => (key, rename(info, value, root)),
            })
            .collect(),
        Value::Array(items) => items.into_iter().map(|item| rename(info, item, root)).collect(),
        other => other,
    }
}

/// No parameter is required: a parameter that is left out has its default.
fn optional(mut schema: Value) -> Value {
    if let Value::Object(map) = &mut schema
        && map.contains_key("properties")
    {
        map.remove("required");
    }
    schema
}

/// A description in one line.
fn tidy(schema: &mut Values) {
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every reference must lead to a definition.
    fn references(schema: &Value, found: &mut Vec<String>) {
        match schema {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str).map(str::to_owned));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(items) => items.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }

    #[test]
    fn the_schema_names_every_key_and_every_model() {
        let schema = json_schema();
        for layout in LAYOUT.iter().filter(|layout| !layout.name.is_empty()) {
            let section = &schema["properties"][layout.name];
            let section = if layout.list { &section["items"] } else { section };
            let section = if layout.one_or_list { &section["anyOf"][0] } else { section };
            for info in layout.parts {
                for key in (info.defaults)("rfc").as_object().expect("an object").keys() {
                    assert!(section["properties"][key].is_object(), "[{}] {key}", layout.name);
                }
            }
            for name in layout.tables() {
                assert!(section["properties"][name]["$ref"].is_string(), "[{}.{name}]", layout.name);
            }
        }
        let mut found = Vec::new();
        references(&schema, &mut found);
        assert!(found.len() > 50);
        for reference in found {
            assert!(schema.pointer(reference.trim_start_matches('#')).is_some(), "{reference}");
        }
        let macs: Vec<_> = hopyard_model::mac::MODELS.iter().map(|model| model.name).collect();
        assert_eq!(schema["properties"]["mac"]["properties"]["model"]["enum"], json!(macs));
        assert_eq!(schema["properties"]["flow"]["items"]["required"], json!(["from", "to"]));
    }
}
