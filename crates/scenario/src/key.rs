//! Dotted keys, in the form of TOML.

/// A dotted path. A key with other characters than letters, digits, `_` and `-` is quoted, as in TOML.
pub(crate) fn join(path: &str, key: &str) -> String {
    let key = bare_or_quoted(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// The parts of a dotted key as TOML has it: bare words, or text in quotes, with dots between them.
///
/// # Errors
/// The fault of the key.
pub fn key_parts(key: &str) -> Result<Vec<String>, String> {
    let parts = toml_edit::Key::parse(key).map_err(|error| error.message().to_owned())?;
    Ok(parts.iter().map(|part| part.get().to_owned()).collect())
}

/// A key in the form of TOML.
pub(crate) fn bare_or_quoted(key: &str) -> String {
    let bare = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-');
    if bare { key.to_owned() } else { toml::Value::String(key.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_apart_and_put_together() {
        for (path, wanted) in [
            ("mac.dcf.rate", vec!["mac", "dcf", "rate"]),
            (" flow . 0 . tcp ", vec!["flow", "0", "tcp"]),
            ("tcp.\"a.b:Rule\".beta", vec!["tcp", "a.b:Rule", "beta"]),
            ("tcp.'a.b:Rule'", vec!["tcp", "a.b:Rule"]),
            ("tcp.\"a\\u00e9\"", vec!["tcp", "a\u{e9}"]),
        ] {
            assert_eq!(
                key_parts(path).as_deref().ok(),
                Some(&wanted.into_iter().map(str::to_owned).collect::<Vec<_>>()[..]),
                "{path}"
            );
        }
        for path in ["", ".", "a.", ".a", "a..b", "a.\"b", "a.\"b\"c", "tcp.my:Rule.beta", "a b", "a=1\nb", "a#"] {
            assert!(key_parts(path).is_err(), "{path}");
        }
        assert_eq!(join("tcp", "a.b:Rule"), "tcp.\"a.b:Rule\"");
        assert_eq!(key_parts(&join(&join("", "flow"), "a.b:Rule")).ok(), Some(vec!["flow".into(), "a.b:Rule".into()]));
    }
}
