//! Where a key stands in a TOML text, for errors about files that are no scenarios.

use toml::de::{DeArray, DeTable, DeValue};

/// The line of a key, from 1 on, or the line of the nearest table above it which the text has.
///
/// A part of the path that is a number stands for a table of an array. No line is known of a text that is no TOML,
/// or that has no key of this path.
#[must_use]
pub fn line_of(text: &str, path: &[String]) -> Option<usize> {
    let document = DeTable::parse(text).ok()?;
    let mut at = None;
    let mut table = Some(document.get_ref());
    let mut list: Option<&DeArray<'_>> = None;
    for step in path {
        let value = if let Some(items) = list {
            let item = step.parse::<usize>().ok().and_then(|number| items.get(number))?;
            at = Some(item.span().start);
            item
        } else {
            let found = table.and_then(|table| table.iter().find(|(key, _)| key.get_ref() == step.as_str()));
            let Some((key, value)) = found else { break };
            at = Some(key.span().start);
            value
        };
        (table, list) = match value.get_ref() {
            DeValue::Table(inner) => (Some(inner), None),
            DeValue::Array(items) => (None, Some(items)),
            _ => (None, None),
        };
    }
    at.map(|at| text[..at].matches('\n').count() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_or_the_nearest_table_above_it() {
        let text = "title = \"a\"\n[axes]\nhops = { key = \"nodes.count\",\n values = [1, 2] }\n[[figure]]\nx = 1\n\
                    [[figure]]\nx = 2\n";
        let line = |path: &str| line_of(text, &path.split('.').map(str::to_owned).collect::<Vec<_>>());
        for (path, wanted) in [
            ("title", Some(1)),
            ("axes.hops", Some(3)),
            ("axes.hops.values", Some(4)),
            ("axes.hops.values.1", Some(4)),
            ("axes.hops.missing", Some(3)),
            ("figure.1.x", Some(8)),
            ("figure.1", Some(7)),
            ("nothing", None),
        ] {
            assert_eq!(line(path), wanted, "{path}");
        }
        assert_eq!(line_of("a =", &["a".to_owned()]), None);
    }
}
