//! Axes of a comparison: keys with the values that are compared, keys that change together, and ranges of numbers.

use crate::problem::{Problem, Problems};

/// More values in a range, or more cases in a comparison, are regarded as a typing error.
pub(crate) const MOST_CASES: usize = 10_000;

/// One or more keys that change together, and their values, one row for each case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// The keys, in the form of `--set`.
    pub keys: Vec<String>,
    /// For each case one value for each key, as TOML or bare words.
    pub rows: Vec<Vec<String>>,
}

impl Axis {
    /// One key with its values. A range such as `3..9` stands for the numbers in it.
    ///
    /// # Errors
    /// When a range has no end, has a step of zero, or has too many values.
    pub fn new(key: &str, values: &[String]) -> Result<Self, Problems> {
        let mut rows = Vec::new();
        for value in values {
            match range(key, value)? {
                Some(numbers) => rows.extend(numbers.into_iter().map(|number| vec![number])),
                None => rows.push(vec![value.clone()]),
            }
        }
        Ok(Self { keys: vec![key.to_owned()], rows })
    }

    /// Adds a key that changes together with the others: it has one value for each row, or one for all rows.
    ///
    /// # Errors
    /// When there are more or fewer values.
    pub fn with(mut self, key: &str, values: &[String]) -> Result<Self, Problems> {
        let other = Self::new(key, values)?;
        let (rows, found) = (self.rows.len(), other.rows.len());
        if found != 1 && found != rows {
            let message = format!("`{key}` has {found} values, and `{}` has {rows}", self.keys.join("`, `"));
            let problem = Problem::new(key, None, message);
            return Err(Problems(vec![problem.expected(format!("{rows} values, or one for all"))]));
        }
        for (row, value) in self.rows.iter_mut().zip(other.rows.into_iter().cycle()) {
            row.extend(value);
        }
        self.keys.push(key.to_owned());
        Ok(self)
    }
}

/// A number and its unit, as written.
fn number(text: &str) -> Option<(f64, &str, usize)> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || ['.', '-', '+'].contains(&c))).unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let decimals = digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    Some((digits.parse().ok().filter(|number: &f64| number.is_finite())?, unit.trim(), decimals))
}

/// The values of `START..END` or `START..END:STEP`, both ends included. `None` if the text is not a range of numbers.
fn range(key: &str, text: &str) -> Result<Option<Vec<String>>, Problems> {
    let Some((start, rest)) = text.split_once("..") else { return Ok(None) };
    let (end, step) = rest.split_once(':').map_or((rest, None), |(end, step)| (end, Some(step)));
    let (Some(first), Some(last)) = (number(start), number(end)) else { return Ok(None) };
    let wrong = |message: &str| {
        let problem = Problem::new(key, None, format!("`{text}` {message}"));
        Problems(vec![problem.expected("a range such as 3..9, 0.5..2.0:0.5 or \"1 m/s..5 m/s:1 m/s\"")])
    };
    let step = match step {
        Some(step) => number(step).ok_or_else(|| wrong("has a step that is not a number"))?,
        None if first.2 == 0 && last.2 == 0 => (1.0, "", 0),
        None => return Err(wrong("needs a step")),
    };
    // A unit that is given once is that of all three.
    let units = [last.1, first.1, step.1];
    let unit = units.into_iter().find(|unit| !unit.is_empty()).unwrap_or_default();
    if units.into_iter().any(|other| !other.is_empty() && other != unit) {
        return Err(wrong("has different units"));
    }
    if step.0 <= 0.0 {
        return Err(wrong("has a step that is not above zero"));
    }
    if first.0 > last.0 {
        return Err(wrong("begins above its end"));
    }
    // The last value is included even if the decimals of the step do not add up to it exactly.
    let count = ((last.0 - first.0) / step.0 + 1e-9).floor() + 1.0;
    if count > MOST_CASES as f64 {
        return Err(wrong(&format!("has more than {MOST_CASES} values")));
    }
    let decimals = first.2.max(step.2);
    let space = if unit.is_empty() { "" } else { " " };
    let value = |i: u32| format!("{:.decimals$}{space}{unit}", first.0 + f64::from(i) * step.0);
    Ok(Some((0..count as u32).map(value).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(text: &str) -> Result<Vec<String>, Problems> {
        Axis::new("k", &[text.to_owned()]).map(|axis| axis.rows.concat())
    }

    #[test]
    fn ranges_include_both_ends() {
        for (text, wanted) in [
            ("3..6", vec!["3", "4", "5", "6"]),
            ("0.5..2.0:0.5", vec!["0.5", "1.0", "1.5", "2.0"]),
            ("0..1:0.1", vec!["0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "1.0"]),
            ("1 m/s..5 m/s:2 m/s", vec!["1 m/s", "3 m/s", "5 m/s"]),
            ("1..3 s", vec!["1 s", "2 s", "3 s"]),
            ("15..25:5 m/s", vec!["15 m/s", "20 m/s", "25 m/s"]),
            ("1 s..3", vec!["1 s", "2 s", "3 s"]),
            ("-2..0:2", vec!["-2", "0"]),
            ("4..4", vec!["4"]),
            ("a..b", vec!["a..b"]),
            ("../x.tcl", vec!["../x.tcl"]),
        ] {
            assert_eq!(values(text).ok(), Some(wanted.iter().map(|it| (*it).to_owned()).collect()), "{text}");
        }
        for (text, words) in [
            ("9..3", "begins above its end"),
            ("0.5..2", "needs a step"),
            ("1..5:0", "not above zero"),
            ("1..5:x", "not a number"),
            ("1 m..5 s", "different units"),
            ("1..99999999", "more than 10000 values"),
        ] {
            let shown = values(text).expect_err(text).to_string();
            assert!(shown.contains(words) && shown.contains("expected a range such as 3..9"), "{shown}");
        }
    }

    #[test]
    fn keys_that_go_together_have_as_many_values() {
        let axis = |with: &[&str]| {
            let values: Vec<_> = with.iter().map(|it| (*it).to_owned()).collect();
            Axis::new("nodes.count", &["3..5".to_owned()])?.with("flow.to", &values)
        };
        assert_eq!(axis(&["last"]).map(|it| it.rows[2].clone()).ok(), Some(vec!["5".to_owned(), "last".to_owned()]));
        assert_eq!(axis(&["2..4"]).map(|it| it.rows[1].clone()).ok(), Some(vec!["4".to_owned(), "3".to_owned()]));
        let shown = axis(&["2", "3"]).expect_err("three counts").to_string();
        assert!(shown.contains("`flow.to` has 2 values, and `nodes.count` has 3"), "{shown}");
    }
}
