//! wmediumd's configuration: the ratio of signal to noise of each pair (`ifaces.links`, or `model.links` of the type
//! `snr`), or the probability that a frame is lost (the type `prob`).
//!
//! Read: wmediumd's `config.c`, for the format and its meaning. A link in one direction holds in both unless the other
//! one is given. A pair without a link has 30 dB, or loses frames with the probability `default_prob`. Left out: its
//! types of path loss, interference, and fading.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use hopyard_engine::Time;

use super::pairs::Pairs;
use super::{Quantity, Series};

/// The ratio of pairs without a link, in decibels (`SNR_DEFAULT`).
const DEFAULT_SNR: f64 = 30.0;
/// The most interfaces. More are taken for a mistake, because every pair of them has a value: a million in all.
const MOST: usize = 1000;

/// A value of the configuration, with its line.
struct Setting<'t> {
    line: usize,
    value: Value<'t>,
}

enum Value<'t> {
    /// A number, a word, or a text in quotes.
    Scalar(&'t str),
    /// A list or an array.
    List(Vec<Setting<'t>>),
    /// A group of named settings.
    Group(Vec<(&'t str, Setting<'t>)>),
}

impl<'t> Setting<'t> {
    fn get(&self, path: &str) -> Option<&Self> {
        path.split('.').try_fold(self, |at, name| match &at.value {
            Value::Group(entries) => entries.iter().find(|(key, _)| *key == name).map(|it| &it.1),
            _ => None,
        })
    }

    fn items(&self) -> &[Self] {
        match &self.value {
            Value::List(items) => items,
            _ => &[],
        }
    }

    fn scalar(&self) -> &'t str {
        match self.value {
            Value::Scalar(text) => text,
            _ => "",
        }
    }

    fn shown(&self) -> String {
        match &self.value {
            Value::Scalar(text) => (*text).to_owned(),
            Value::List(items) => {
                let mut shown = "(".to_owned();
                for (place, item) in items.iter().take(8).enumerate() {
                    let _ = write!(shown, "{}{}", if place == 0 { "" } else { ", " }, item.shown());
                }
                shown + ")"
            }
            Value::Group(_) => "{ ... }".to_owned(),
        }
    }
}

/// Reads the text; faults are added to the problems. Returns the meaning of the values, and the remarks.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>) -> (Quantity, Vec<String>) {
    let text = String::from_utf8_lossy(text);
    let root = match (Parser { text: &text, at: 0, line: 1 }).settings(true, 0) {
        Ok(entries) => Setting { line: 1, value: Value::Group(entries) },
        Err((line, found, expected)) => {
            pairs.problems.push(Some(line), &found, expected);
            return (Quantity::Snr, Vec::new());
        }
    };
    let ids = root.get("ifaces.ids").map_or(0, |ids| ids.items().len());
    if !(2..=MOST).contains(&ids) {
        let line = root.get("ifaces.ids").map(|ids| ids.line);
        pairs.problems.push(line, &format!("{ids} ids"), format!("ifaces.ids with 2 to {MOST} addresses"));
        return (Quantity::Snr, Vec::new());
    }
    let kind = root.get("model.type");
    let quantity = match kind.map(Setting::scalar) {
        _ if root.get("ifaces.links").is_some() => Quantity::Snr,
        None | Some("snr") => Quantity::Snr,
        Some("prob") => Quantity::Delivery,
        Some(other) => {
            pairs.problems.push(kind.map(|it| it.line), other, "model.type \"snr\" or \"prob\"");
            return (Quantity::Snr, Vec::new());
        }
    };
    let links = root.get("ifaces.links").or_else(|| root.get("model.links")).map_or(&[][..], Setting::items);
    let mut both = Vec::new();
    for link in links {
        match read_link(link, quantity, ids, pairs) {
            Ok(pair) => both.push((link.line, pair)),
            Err(expected) => pairs.problems.push(Some(link.line), &link.shown(), expected),
        }
    }
    for (line, (from, to, value)) in both {
        if !pairs.has(to, from) {
            let _ = pairs.add(line, (to, from), (Time::ZERO, value), false);
        }
    }
    let others = match (quantity, root.get("model.default_prob")) {
        (Quantity::Delivery, Some(given)) => match lost(given.scalar()) {
            Ok(value) => value,
            Err(expected) => {
                pairs.problems.push(Some(given.line), given.scalar(), expected);
                1.0
            }
        },
        (Quantity::Delivery, None) => 1.0,
        _ => DEFAULT_SNR,
    };
    let unnamed = give_others(others, ids, pairs);
    let of = match quantity {
        Quantity::Delivery => format!("a delivery ratio of {others}"),
        _ => format!("{others} dB"),
    };
    let remark = (unnamed > 0).then(|| format!("{unnamed} pairs without a link have {of}, as in wmediumd"));
    (quantity, remark.into_iter().collect())
}

/// Gives the pairs without a link their value. Returns how many there are; pairs that hear nothing are left out.
fn give_others(value: f64, ids: usize, pairs: &mut Pairs<'_>) -> usize {
    if value == 0.0 {
        return 0;
    }
    let ids = ids as u32;
    let all = (0..ids).flat_map(|from| (0..ids).map(move |to| (from, to)));
    let unnamed = all.filter(|(from, to)| from != to && !pairs.has(*from, *to));
    // Built at once, in order: one by one, they would take seconds.
    let mut others: BTreeMap<_, _> =
        unnamed.map(|pair| (pair, Series { line: 1, values: vec![(Time::ZERO, value)] })).collect();
    let count = others.len();
    pairs.all.append(&mut others);
    count
}

fn lost(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|it| (0.0..=1.0).contains(it));
    value.map(|lost| 1.0 - lost).ok_or_else(|| "a probability of loss of 0 to 1".to_owned())
}

fn read_link(
    link: &Setting<'_>,
    quantity: Quantity,
    ids: usize,
    pairs: &mut Pairs<'_>,
) -> Result<(u32, u32, f64), String> {
    let [from, to, value] = link.items() else { return Err("a link such as (0, 1, 20)".to_owned()) };
    let node = |it: &Setting<'_>| {
        let node = it.scalar().parse::<u32>().ok().filter(|node| (*node as usize) < ids);
        node.ok_or_else(|| format!("interfaces 0 to {}", ids - 1))
    };
    let pair = (node(from)?, node(to)?);
    let value = match quantity {
        Quantity::Delivery => lost(value.scalar())?,
        _ => quantity.read(value.scalar()).ok_or_else(|| quantity.expected().to_owned())?,
    };
    pairs.add(link.line, pair, (Time::ZERO, value), false)?;
    Ok((pair.0, pair.1, value))
}

/// A reader of libconfig's notation.
struct Parser<'t> {
    text: &'t str,
    at: usize,
    line: usize,
}

/// The line, the text found, and the expected text.
type Fault = (usize, String, &'static str);

/// The deepest nesting of lists.
const DEEPEST: usize = 20;

impl<'t> Parser<'t> {
    /// The next character that is no space, no comment and no separator.
    fn next(&mut self, separators: &[char]) -> Option<char> {
        loop {
            let rest = &self.text[self.at..];
            let skipped = match rest.chars().next()? {
                '#' => rest.find('\n').unwrap_or(rest.len()),
                _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
                _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
                c if c.is_whitespace() || separators.contains(&c) => c.len_utf8(),
                c => return Some(c),
            };
            self.line += rest[..skipped].matches('\n').count();
            self.at += skipped;
        }
    }

    /// A word of letters, digits and signs.
    fn word(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let is_word = |c: char| c.is_ascii_alphanumeric() || "_-+.*".contains(c);
        let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn fault(&self, expected: &'static str) -> Fault {
        (self.line, self.text[self.at..].lines().next().unwrap_or_default().to_owned(), expected)
    }

    /// Settings up to the end of the group, or of the text.
    fn settings(&mut self, is_all: bool, depth: usize) -> Result<Vec<(&'t str, Setting<'t>)>, Fault> {
        let mut entries = Vec::new();
        loop {
            match self.next(&[';', ',']) {
                None if is_all => return Ok(entries),
                Some('}') if !is_all => {
                    self.at += 1;
                    return Ok(entries);
                }
                _ => {}
            }
            let name = self.word();
            if name.is_empty() {
                return Err(self.fault("a setting such as links = ( ... )"));
            }
            if !matches!(self.next(&[]), Some(':' | '=')) {
                return Err(self.fault("= or : after the name of a setting"));
            }
            self.at += 1;
            entries.push((name, self.value(depth)?));
        }
    }

    fn value(&mut self, depth: usize) -> Result<Setting<'t>, Fault> {
        const A_VALUE: &str = "a value: a number, a text in quotes, a list or a group";
        let first = self.next(&[]);
        let line = self.line;
        let value = match first {
            Some('{' | '(' | '[') if depth == DEEPEST => return Err(self.fault("less nesting")),
            Some('{') => {
                self.at += 1;
                Value::Group(self.settings(false, depth + 1)?)
            }
            Some(open @ ('(' | '[')) => {
                self.at += 1;
                let close = if open == '(' { ')' } else { ']' };
                let mut items = Vec::new();
                while self.next(&[',']) != Some(close) {
                    items.push(self.value(depth + 1)?);
                }
                self.at += 1;
                Value::List(items)
            }
            Some('"') => {
                let rest = &self.text[self.at + 1..];
                let Some(end) = rest.find('"') else { return Err(self.fault("a quote at the end of the text")) };
                self.at += end + 2;
                Value::Scalar(&rest[..end])
            }
            _ => match self.word() {
                "" => return Err(self.fault(A_VALUE)),
                word => Value::Scalar(word),
            },
        };
        Ok(Setting { line, value })
    }
}
