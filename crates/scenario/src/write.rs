//! Scenarios as TOML text, in one canonical layout.

use serde_json::Value;

use crate::key::{bare_or_quoted, join};
use crate::value::{Values, inline};

/// A scenario's sections as TOML: keys first, then tables, then lists of tables, in the order of `values`.
pub(crate) fn to_toml(values: &Values) -> String {
    let mut text = String::new();
    table(&mut text, "", values);
    text
}

/// Whether a value is a list of tables, written as `[[name]]`.
fn is_section_list(path: &str, key: &str, value: &Value) -> bool {
    let list = crate::catalogue::LAYOUT.iter().any(|layout| layout.may_be_list() && layout.name == key);
    path.is_empty() && list && value.as_array().is_some_and(|items| items.iter().all(Value::is_object))
}

fn table(text: &mut String, path: &str, values: &Values) {
    for (key, value) in values {
        if !value.is_object()
            && !is_section_list(path, key, value)
            && let Some(shown) = inline(value)
        {
            text.push_str(&format!("{} = {shown}\n", bare_or_quoted(key)));
        }
    }
    for (key, value) in values {
        let name = join(path, key);
        match value {
            Value::Object(below) if !below.is_empty() => {
                // A table that contains only tables needs no header of its own.
                if below.values().any(|value| !value.is_object()) {
                    text.push_str(&format!("\n[{name}]\n"));
                }
                table(text, &name, below);
            }
            Value::Array(items) if is_section_list(path, key, value) => {
                for item in items.iter().filter_map(Value::as_object) {
                    text.push_str(&format!("\n[[{name}]]\n"));
                    table(text, &name, item);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sections_are_laid_out_and_read_back() {
        let value = json!({
            "name": "a \"b\"\n", "link": {"queue_length": 50, "arp": {"hold": 1}}, "routing": {"aodv": {"x": 1.0}},
            "flow": [{"from": 0, "vegas": {"alpha": 1.5}}, {"from": 1}],
            "odd key": [{"at": "1 s"}], "gone": null, "empty": {}
        });
        let text = to_toml(value.as_object().expect("an object"));
        let expected = "name = \"\"\"\na \"b\"\n\"\"\"\n\"odd key\" = [{ at = \"1 s\" }]\n\n[link]\n\
            queue_length = 50\n\n\
             [link.arp]\nhold = 1\n\n[routing.aodv]\nx = 1.0\n\n[[flow]]\nfrom = 0\n\n[flow.vegas]\n\
             alpha = 1.5\n\n[[flow]]\nfrom = 1\n";
        assert_eq!(text, expected);
        let back: toml::Table = text.parse().expect("it is TOML");
        assert_eq!(back["flow"][0]["vegas"]["alpha"].as_float(), Some(1.5));
        assert_eq!(back["name"].as_str(), Some("a \"b\"\n"));
    }
}
