//! Reads the native movement files of BonnMotion, `NAME.movements` and `NAME.movements.gz`.
//!
//! Reference: BonnMotion 3, `Scenario.java` and `MobileNode.java`. Each line is a node: waypoints as "t x y", or "t x y
//! z" in three-dimensional scenarios, separated by spaces, with increasing times. Between waypoints the node moves in a
//! straight line. Before the first and after the last waypoint it does not move. Lines that begin with `#` are
//! comments.
//!
//! The file does not say whether it has heights, and `NAME.params` can be wrong (it can say `dim=3` although the file
//! has no heights). Therefore the reader decides by the times. Left out: the status that DisasterArea adds to each
//! waypoint.

use super::movements::{Movements, Record};
use super::text::{Dimensions, Reading, coordinate, time, within};
use super::track::{FASTEST, Fix, Track, too_fast};
use crate::file::{BadFile, MAX_FAULTS, lines};
use crate::mobility::leg::Position;

/// Reads the text of a file; faults are added to `problems`.
pub(super) fn read(text: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    let heights = match reading.dimensions {
        Dimensions::Two => false,
        Dimensions::Three => true,
        Dimensions::Detect => has_heights(text),
    };
    let mut tracks = Vec::new();
    // An empty line in the middle would change the numbers of all nodes after it.
    let mut blank = None;
    for (number, line) in lines(text) {
        if problems.ends_at(number) {
            break;
        }
        let line = line.trim();
        if line.starts_with('#') {
            continue;
        }
        if line.is_empty() {
            blank = blank.or(Some(number));
            continue;
        }
        if let Some(number) = blank.take() {
            problems.push(Some(number), "", "a node on every line, found an empty one");
        }
        match track(line, heights, reading) {
            Ok(track) => tracks.push(Some(track)),
            Err(Fault { found, expected }) => {
                tracks.push(None);
                problems.push(Some(number), &found, expected);
            }
        }
    }
    Movements::new(tracks, Record::default())
}

/// An error in a line. It shows the wrong waypoint only, because lines are long.
struct Fault {
    found: String,
    expected: String,
}

/// The track of the node on this line.
fn track(line: &str, heights: bool, reading: &Reading) -> Result<Track, Fault> {
    let size = if heights { 4 } else { 3 };
    let mut fixes = Vec::new();
    let mut words = line.split_ascii_whitespace();
    loop {
        let mut waypoint = [""; 4];
        let taken = waypoint.iter_mut().take(size).map_while(|place| words.next().map(|word| *place = word)).count();
        let waypoint = &waypoint[..taken];
        let fault = |expected: String| Fault { found: waypoint.join(" "), expected };
        if taken == 0 {
            break;
        }
        if taken < size {
            let expected = if heights { "waypoints of time, x, y and height" } else { "waypoints of time, x and y" };
            return Err(fault(expected.to_owned()));
        }
        let fix = fix(waypoint).map_err(|expected| fault(expected.to_owned()))?;
        within(reading.area, fix.position).map_err(fault)?;
        if let Some(last) = fixes.last().filter(|last: &&Fix| **last != fix) {
            if last.at >= fix.at {
                return Err(fault("times that increase".to_owned()));
            }
            if let Some((found, expected)) =
                too_fast(last.position, fix.position, fix.at.since(last.at).seconds(), FASTEST)
            {
                return Err(Fault { found: format!("{}: {found}", waypoint.join(" ")), expected });
            }
        }
        fixes.push(fix);
    }
    Track::through(fixes)
        .map_err(|_| Fault { found: line.to_owned(), expected: "waypoints at increasing times".to_owned() })
}

fn fix(waypoint: &[&str]) -> Result<Fix, &'static str> {
    let at = time(waypoint[0])?;
    let (x, y) = (coordinate(waypoint[1])?, coordinate(waypoint[2])?);
    let z = waypoint.get(3).map_or(Ok(0.0), |height| coordinate(height))?;
    Ok(Fix { at, position: Position { x, y, z } })
}

/// Whether the waypoints have heights. The first line that has only one interpretation decides. If every line has two
/// interpretations, the file has no heights. A file with many lines that have none is broken; it has no heights either.
fn has_heights(text: &[u8]) -> bool {
    let mut faults = 0;
    for (_, line) in lines(text).filter(|(_, line)| !line.starts_with('#') && !line.trim().is_empty()) {
        match (has_times(&line, 3), has_times(&line, 4)) {
            (true, false) => return false,
            (false, true) => return true,
            (true, true) => {}
            (false, false) => faults += 1,
        }
        if faults == MAX_FAULTS {
            break;
        }
    }
    false
}

/// Whether the line consists of waypoints of this many words, with times that do not decrease.
fn has_times(line: &str, size: usize) -> bool {
    let words = line.split_ascii_whitespace();
    let mut last = None;
    words.clone().count().is_multiple_of(size)
        && words.step_by(size).all(|word| time(word).is_ok_and(|at| last.replace(at).is_none_or(|last| last <= at)))
}

#[cfg(test)]
mod tests;
