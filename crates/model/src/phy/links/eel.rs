//! EMANE's event log: `TIME nem:FROM pathloss nem:TO,LOSS[,REVERSE] ...`, with times in seconds and losses in decibels.
//!
//! Read: EMANE's `eelinputparser.cc` and `eelloaderpathloss.cc`, for the format and its meaning. A value without a
//! reverse one holds in both directions, until the next event of the pair. Where both nodes report a pair at the same
//! time, as in logs that tell each node its own losses, each report counts in its own direction; in EMANE the last line
//! counts for both. Times below zero lie before the start, and the last event of a pair until then holds at the start.
//! Other events are counted, and not read. Left out: `pathlossex`, whose losses depend on the frequency.

use std::collections::BTreeMap;

use hopyard_engine::{Span, Time};

use super::Quantity;
use super::pairs::{Pairs, time};
use crate::file::lines;

const A_LINE: &str = "an event such as 1.0 nem:1 pathloss nem:2,90 nem:3,95.5,97";
const A_PEER: &str = "a path loss such as nem:2,90 or nem:2,90,92";

/// Reads the text; faults are added to the problems. Returns the remarks.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>) -> Vec<String> {
    let (mut others, mut first) = (0_usize, 0);
    let mut said = Said::new();
    for (number, line) in lines(text) {
        if pairs.problems.ends_at(number) {
            break;
        }
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        match event(number, line, pairs, &mut said) {
            Ok(true) => {}
            Ok(false) => {
                others += 1;
                first = if others == 1 { number } else { first };
            }
            Err(expected) => pairs.problems.push(Some(number), line, expected),
        }
    }
    match others {
        0 => Vec::new(),
        1 => vec![format!("line {first}: 1 event of another kind was not read")],
        count => vec![format!("{count} events of other kinds were not read, first line {first}")],
    }
}

/// The seconds of the last event of each pair, and whether it is a report of the other direction.
type Said = BTreeMap<(u32, u32), (f64, bool)>;

/// Takes the value of an event for one direction.
fn set(
    pairs: &mut Pairs<'_>,
    said: &mut Said,
    number: usize,
    pair: (u32, u32),
    event: (f64, f64, bool),
) -> Result<(), String> {
    let (seconds, value, is_implied) = event;
    let replaces = match said.get(&pair) {
        Some(&(last, was_implied)) if last == seconds => was_implied,
        Some(&(last, _)) => last < seconds && seconds <= 0.0,
        None => false,
    };
    if replaces {
        pairs.replace(pair, value);
    } else {
        pairs.add(number, pair, (Time::ZERO + Span::from_secs_f64(seconds.max(0.0)), value), true)?;
    }
    said.insert(pair, (seconds, is_implied));
    Ok(())
}

/// An event. Returns whether it is one of path loss.
fn event(number: usize, line: &str, pairs: &mut Pairs<'_>, said: &mut Said) -> Result<bool, String> {
    let mut words = line.split_ascii_whitespace().map(|word| word.trim_matches('"'));
    let (Some(at), Some(from), Some(kind)) = (words.next(), words.next(), words.next()) else {
        return Err(A_LINE.to_owned());
    };
    let seconds = time(at).ok_or(A_LINE)?;
    if kind != "pathloss" {
        return Ok(false);
    }
    let node = |pairs: &Pairs<'_>, word: &str| pairs.node(word.strip_prefix("nem:").ok_or(A_LINE)?);
    let from = node(pairs, from)?;
    let mut peers = words.peekable();
    if peers.peek().is_none() {
        return Err(A_PEER.to_owned());
    }
    for peer in peers {
        let mut parts = peer.split(',');
        let to = node(pairs, parts.next().unwrap_or_default())?;
        let forward = parts.next().ok_or(A_PEER)?;
        let backward = parts.next();
        if parts.next().is_some() {
            return Err(A_PEER.to_owned());
        }
        let read = |loss: &str| Quantity::Loss.read(loss).ok_or_else(|| Quantity::Loss.expected());
        let both = (read(forward)?, read(backward.unwrap_or(forward))?);
        set(pairs, said, number, (from, to), (seconds, both.0, false))?;
        let is_implied = backward.is_none();
        if !(is_implied && said.get(&(to, from)).is_some_and(|(last, _)| *last == seconds)) {
            set(pairs, said, number, (to, from), (seconds, both.1, is_implied))?;
        }
    }
    Ok(true)
}
