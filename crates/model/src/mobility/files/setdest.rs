//! Reads the movement files of ns-2, which setdest, BonnMotion, SUMO and other tools write.
//!
//! Reference: `setdest.cc` and `mobilenode.cc` of ns-2.35, for the format and its effect. The lines:
//!
//! | form | meaning |
//! |---|---|
//! | `$node_(i) set X_ v`, `Y_`, `Z_` | where node i starts |
//! | `$ns_ at t "$node_(i) setdest x y s"` | at time t, move to (x, y) at s metres per second; s = 0: stop |
//! | `$node_(i) setdest x y s` | the same at the start |
//! | `$ns_ at t "$node_(i) set X_ v"` | at time t, a node at rest is placed elsewhere |
//! | `$god_ ...`, `$ns_ at t "$god_ ..."`, `set god_ ...` | hop counts of the oracle; ignored |
//! | `# ...` | a comment; those of setdest are kept in the [`Record`] |
//!
//! Accepted are `$ns` and `$ns_`, quotes and braces, a semicolon and a comment at the end, and any order of lines.
//! Commands of the same time are executed in the order of their lines. As in ns-2, a command before arrival replaces
//! the previous one, and a node keeps the height of its `Z_`. A coordinate that no line sets is zero at the start.
//!
//! Lines of a whole script that name no movement (neither `setdest` nor `X_`, `Y_`, `Z_`) are counted, and not read.
//!
//! Left out: Tcl. Movement that is computed is refused. Validated against positions that ns-2.35 reports.

use hopyard_engine::units::{Distance, Speed};
use hopyard_engine::{Span, Time};

use super::movements::{A_LINE, Movements, NodeChanges, Others, Record};
use super::text::{COORDINATE, MAX_NODES, Reading, coordinate, speed, time, within};
use super::track::{Command, Step, Track};
use crate::file::{BadFile, lines};
use crate::mobility::leg::Position;

/// The content of all lines of one node.
#[derive(Default)]
struct NodeLines {
    /// X_, Y_ and Z_.
    start: [Option<f64>; 3],
    /// The first line that names the node.
    first_line: usize,
    /// Whether a line that names the node is broken: the missing part may be in that line.
    broken: bool,
    /// Commands without a time: they are executed before all scheduled steps.
    immediate: Vec<Step>,
    /// In order of lines.
    scheduled: Vec<Step>,
    /// The lines that place the node at a time.
    placed: Vec<(Time, usize)>,
}

/// The content of one line.
enum Line {
    Nothing,
    /// A line of a script that is no part of the movement.
    Other,
    Start {
        node: u32,
        axis: usize,
        value: f64,
    },
    Place {
        node: u32,
        at: Time,
        axis: usize,
        value: f64,
    },
    Command {
        node: u32,
        at: Option<Time>,
        to: (f64, f64),
        speed: f64,
    },
}

/// Reads the text of a file; faults are added to `problems`.
pub(super) fn read(text: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    // In a box, so that an unused number needs only a pointer.
    let mut nodes: Vec<Option<Box<NodeLines>>> = Vec::new();
    let mut record = Record::default();
    let mut others = Others::default();
    for (number, line) in lines(text) {
        if problems.ends_at(number) {
            return Movements::new(Vec::new(), record);
        }
        let line = line.trim();
        if let Some(comment) = line.strip_prefix('#') {
            note(comment, &mut record);
            continue;
        }
        let said = match understand(line) {
            Ok(said) => said,
            Err(expected) => {
                problems.push(Some(number), line, expected);
                if let Some(node) = named_node(line) {
                    entry(&mut nodes, node, number).broken = true;
                }
                continue;
            }
        };
        let outcome = match said {
            Line::Nothing => Ok(()),
            Line::Other => {
                others.push(number, line);
                Ok(())
            }
            Line::Place { node, at, axis, value } => {
                let lines = entry(&mut nodes, node, number);
                lines.scheduled.push(Step::Place { at, axis, value });
                lines.placed.push((at, number));
                Ok(())
            }
            Line::Start { node, axis, value } => {
                let start = &mut entry(&mut nodes, node, number).start[axis];
                if start.replace(value).is_some() {
                    Err(format!("one {} for each node, and node {node} has it already", AXES[axis]))
                } else {
                    Ok(())
                }
            }
            Line::Command { node, at, to, speed } => {
                let lines = entry(&mut nodes, node, number);
                let queue = if at.is_some() { &mut lines.scheduled } else { &mut lines.immediate };
                queue.push(Step::Go(Command { at: at.unwrap_or(Time::ZERO), to, height: None, speed }));
                within(reading.area, Position::ground(to.0, to.1))
            }
        };
        if let Err(expected) = outcome {
            problems.push(Some(number), line, expected);
        }
    }
    let mut without_start = Vec::new();
    let mut track = |(node, lines): (u32, Option<Box<NodeLines>>)| {
        let lines = lines?;
        if lines.start[..2].contains(&None) {
            without_start.push((node, lines.first_line));
        }
        track(node, *lines, reading, problems)
    };
    let tracks = (0_u32..).zip(nodes).map(&mut track).collect();
    Movements { tracks, record, others, without_start, cut: None, zero: None }
}

fn entry(nodes: &mut Vec<Option<Box<NodeLines>>>, node: u32, line: usize) -> &mut NodeLines {
    if nodes.len() <= node as usize {
        nodes.resize_with(node as usize + 1, || None);
    }
    nodes[node as usize].get_or_insert_with(|| Box::new(NodeLines { first_line: line, ..NodeLines::default() }))
}

/// The track of a node, after all lines are read.
fn track(node: u32, mut lines: NodeLines, reading: &Reading, problems: &mut BadFile) -> Option<Track> {
    if lines.broken {
        return None;
    }
    let [x, y, z] = lines.start.map(Option::unwrap_or_default);
    let start = Position { x, y, z };
    if let Err(expected) = within(reading.area, start) {
        problems.push(Some(lines.first_line), &format!("node {node} starts at ({x}, {y})"), expected);
    }
    // A stable sort: of two commands of the same time, the later line is effective.
    lines.scheduled.sort_by_key(Step::at);
    let (track, disturbed) = Track::from_steps(start, lines.immediate.into_iter().chain(lines.scheduled));
    if let Some((_, line)) = lines.placed.iter().find(|(at, _)| Some(*at) == disturbed) {
        problems.push(Some(*line), "", format!("node {node} at rest when it is placed elsewhere: it is under way"));
    }
    Some(track)
}

const AXES: [&str; 3] = ["X_", "Y_", "Z_"];
const A_BODY: &str = "a command in quotes or braces after the time, as in \"$node_(i) setdest x y s\"";
const A_COMMAND: &str = "\"set X_ v\" (or Y_, Z_) or \"setdest x y s\" after the node";
const SETDEST: &str = "three numbers after setdest: x, y and speed";
const A_NODE: &str = "a node such as $node_(7), numbered below 1000000";

/// The node that a line names, even if nothing else of the line can be understood.
fn named_node(line: &str) -> Option<u32> {
    let (index, _) = line.split_once("$node_(")?.1.split_once(')')?;
    index.parse().ok().filter(|&node| node < MAX_NODES)
}

/// The next word and the rest.
fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_at(text.find(|c: char| c.is_ascii_whitespace()).unwrap_or(text.len()))
}

/// The content of a line, or the expected content.
fn understand(line: &str) -> Result<Line, &'static str> {
    // In Tcl, a comment follows a semicolon. Other tools write it without one, and ns-2 takes it for further arguments,
    // which it ignores.
    let line = line.split('#').next().unwrap_or_default().trim_end();
    let names_movement = || {
        let mut words = line.split(|c: char| c.is_ascii_whitespace() || "\"{};".contains(c));
        words.any(|word| word == "setdest" || AXES.contains(&word))
    };
    movement(line).or_else(|expected| if names_movement() { Err(expected) } else { Ok(Line::Other) })
}

/// The content of a line of a movement file, or the expected content.
fn movement(line: &str) -> Result<Line, &'static str> {
    let line = without_end(line)?;
    let (first, rest) = word(line);
    match first {
        "" => Ok(Line::Nothing),
        "$ns_" | "$ns" => {
            let (at, rest) = word(rest);
            if at != "at" {
                return Err(A_LINE);
            }
            let (at, body) = word(rest);
            let at = time(at)?;
            let body = body.trim();
            let quoted = body.strip_prefix('"').and_then(|body| body.strip_suffix('"'));
            let braced = || body.strip_prefix('{').and_then(|body| body.strip_suffix('}'));
            match command(quoted.or_else(braced).ok_or(A_BODY)?, Some(at))? {
                Line::Start { node, axis, value } => Ok(Line::Place { node, at, axis, value }),
                said => Ok(said),
            }
        }
        "set" if word(rest).0 == "god_" => Ok(Line::Nothing),
        _ => command(line, None),
    }
}

/// A line without a semicolon at its end.
fn without_end(line: &str) -> Result<&str, &'static str> {
    match line.split_once(';') {
        None => Ok(line),
        Some((line, rest)) if rest.trim_start().is_empty() => Ok(line.trim_end()),
        Some(_) => Err("one command a line"),
    }
}

/// A command to a node, or to the oracle.
fn command(text: &str, at: Option<Time>) -> Result<Line, &'static str> {
    let (target, rest) = word(text);
    let variable = target.strip_prefix('$').ok_or(A_LINE)?;
    if variable == "god_" || variable == "god" {
        return Ok(Line::Nothing);
    }
    let node = variable
        .split_once('(')
        .and_then(|(_, index)| index.strip_suffix(')'))
        .and_then(|index| index.parse::<u32>().ok())
        .filter(|&node| node < MAX_NODES)
        .ok_or(A_NODE)?;
    let mut words = rest.split_ascii_whitespace();
    let said = match words.next() {
        Some("set") => {
            let axis = words.next().and_then(|name| AXES.iter().position(|axis| *axis == name)).ok_or(A_COMMAND)?;
            Line::Start { node, axis, value: coordinate(words.next().ok_or(COORDINATE)?)? }
        }
        Some("setdest") => {
            let (x, y, s) = (words.next(), words.next(), words.next());
            let (Some(x), Some(y), Some(s)) = (x, y, s) else { return Err(SETDEST) };
            Line::Command { node, at, to: (coordinate(x)?, coordinate(y)?), speed: speed(s)? }
        }
        _ => return Err(A_COMMAND),
    };
    match (words.next(), &said) {
        (None, _) => Ok(said),
        (Some(_), Line::Command { .. }) => Err(SETDEST),
        (Some(_), _) => Err("nothing after the coordinate"),
    }
}

/// Stores the content of a comment of setdest. Other comments are ignored.
///
/// The header is "nodes: 50, pause: 5.00, max speed: 20.00, max x: 670.00, max y: 670.00", on two lines in the second
/// version. Old files have "max x = 670.00". The trailer has totals and the table "node | route changes | link
/// changes".
fn note(comment: &str, record: &mut Record) {
    let mut columns = comment.split('|').map(|column| column.trim().parse::<u64>().ok());
    if let (Some(Some(node)), Some(Some(routes)), Some(Some(links)), None) =
        (columns.next(), columns.next(), columns.next(), columns.next())
    {
        if let Ok(node) = u32::try_from(node) {
            record.node_changes.push(NodeChanges { node, route_changes: routes, link_changes: links });
        }
        return;
    }
    for entry in comment.split(',') {
        let Some((key, value)) = entry.split_once([':', '=']) else { continue };
        let value = value.trim();
        let real = || value.parse::<f64>().ok().filter(|value| value.is_finite() && *value >= 0.0);
        let whole = || value.parse::<u64>().ok();
        let small = || value.parse::<u32>().ok();
        match key.trim() {
            "nodes" => record.nodes = small(),
            "speed type" => record.speed_type = small(),
            "min speed" => record.min_speed = real().map(Speed::new),
            "max speed" => record.max_speed = real().map(Speed::new),
            "avg speed" => record.average_speed = real().map(Speed::new),
            "pause type" => record.pause_type = small(),
            "pause" => record.pause = real().map(Span::from_secs_f64),
            "max x" => record.width = real().map(Distance::new),
            "max y" => record.height = real().map(Distance::new),
            "Destination Unreachables" => record.destinations_unreachable = whole(),
            "Route Changes" => record.route_changes = whole(),
            "Link Changes" => record.link_changes = whole(),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
