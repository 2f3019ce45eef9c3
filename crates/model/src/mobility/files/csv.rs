//! Reads tables of positions: a header with `time` in seconds, `x`, `y` and perhaps `z` in metres, or `longitude`,
//! `latitude` and perhaps `height`, and `node` if there are several. A comma, a semicolon or a tab separates columns.

use super::globe::{Epoch, Globe};
use super::movements::Movements;
use super::samples::{Place, Sample, movements};
use super::text::{MAX_NODES, Reading, coordinate};
use crate::file::{BadFile, lines};
use crate::mobility::leg::Position;

const HEADER: &str = "a header with time, x, y (and z), or time, longitude, latitude (and height), and node for \
                      several nodes";

/// The places of the columns.
struct Columns {
    time: usize,
    /// East and north, or longitude and latitude.
    place: [usize; 2],
    up: Option<usize>,
    node: Option<usize>,
    is_globe: bool,
    count: usize,
    separator: char,
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let separator = [',', ';', '\t'].into_iter().find(|it| header.contains(*it))?;
        let names: Vec<_> = header.split(separator).map(|name| name.trim().trim_matches('"')).collect();
        let column = |wanted: &[&str]| names.iter().position(|name| wanted.contains(name));
        let is_globe = column(&["x"]).is_none();
        let (place, up) = if is_globe {
            let place = [column(&["longitude", "lon"])?, column(&["latitude", "lat"])?];
            (place, column(&["height", "altitude", "alt"]))
        } else {
            ([column(&["x"])?, column(&["y"])?], column(&["z"]))
        };
        let (time, node) = (column(&["time"])?, column(&["node"]));
        let count = 3 + usize::from(up.is_some()) + usize::from(node.is_some());
        (names.len() == count).then_some(Self { time, place, up, node, is_globe, count, separator })
    }
}

/// Whether a first line is the header of a table of positions.
pub(super) fn is_header(line: &str) -> bool {
    Columns::of(line.trim()).is_some()
}

/// Reads the text of a file; faults are added to `problems`.
pub(super) fn read(text: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    let mut samples = Vec::new();
    let mut columns: Option<Columns> = None;
    for (number, line) in lines(text) {
        if problems.ends_at(number) {
            break;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(columns) = &columns else {
            columns = Columns::of(line);
            if columns.is_none() {
                problems.push(Some(number), line, HEADER);
                break;
            }
            continue;
        };
        match row(line, columns) {
            Ok((node, seconds, place)) => samples.push(Sample { line: Some(number), node, seconds, place }),
            Err(expected) => problems.push(Some(number), line, expected),
        }
    }
    movements(&samples, Epoch::At(0.0), reading, problems)
}

fn row(line: &str, columns: &Columns) -> Result<(u32, f64, Place), String> {
    let cells: Vec<_> = line.split(columns.separator).map(|cell| cell.trim().trim_matches('"')).collect();
    if cells.len() != columns.count {
        return Err(format!("{} values", columns.count));
    }
    let node = match columns.node {
        Some(column) => {
            let node = cells[column].parse::<u32>().ok().filter(|node| *node < MAX_NODES);
            node.ok_or_else(|| format!("the number of a node, below {MAX_NODES}"))?
        }
        None => 0,
    };
    let seconds = cells[columns.time].parse::<f64>().ok().filter(|it| it.is_finite()).ok_or("a time in seconds")?;
    let [one, two] = [columns.place[0], columns.place[1]].map(|column| coordinate(cells[column]));
    let (one, two) = (one?, two?);
    let up = columns.up.map_or(Ok(0.0), |column| coordinate(cells[column]))?;
    let place = if columns.is_globe {
        Place::Globe(Globe::checked(one, two, up)?)
    } else {
        Place::Plane(Position { x: one, y: two, z: up })
    };
    Ok((node, seconds, place))
}
