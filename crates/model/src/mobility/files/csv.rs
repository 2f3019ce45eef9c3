//! Reads tables of positions: a header with `time` in seconds, `x`, `y` and perhaps `z` in metres, or `longitude`,
//! `latitude` and perhaps `height`, and `node` if there are several. A comma, a semicolon or a tab separates columns.

use super::globe::{Epoch, Globe, MOMENT, moment};
use super::movements::Movements;
use super::samples::{Place, Sample, movements};
use super::text::{MAX_NODES, Reading, coordinate};
use crate::file::BadFile;
use crate::file::table::{self, Header};
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
}

impl Columns {
    fn of(header: &Header<'_>) -> Option<Self> {
        let is_globe = header.place(&["x"]).is_none();
        let (place, up) = if is_globe {
            let place = [header.place(&["longitude", "lon"])?, header.place(&["latitude", "lat"])?];
            (place, header.place(&["height", "altitude", "alt"]))
        } else {
            ([header.place(&["x"])?, header.place(&["y"])?], header.place(&["z"]))
        };
        let (time, node) = (header.place(&["time"])?, header.place(&["node"]));
        let count = 3 + usize::from(up.is_some()) + usize::from(node.is_some());
        (header.count() == count).then_some(Self { time, place, up, node, is_globe })
    }
}

/// Whether a first line is the header of a table of positions.
pub(super) fn is_header(line: &str) -> bool {
    table::columns(line.trim(), Columns::of).is_some()
}

/// The rows of a file, and its problems.
type Rows<'a> = (Vec<Sample>, &'a mut BadFile);

/// Reads the text of a file; faults are added to `problems`.
pub(super) fn read(text: &[u8], reading: &Reading, problems: &mut BadFile) -> Movements {
    let mut rows: Rows<'_> = (Vec::new(), &mut *problems);
    table::read(
        text,
        &mut rows,
        |rows| rows.1,
        (HEADER, Columns::of),
        |rows, number, cells, columns| {
            let (node, seconds, place) = row(cells, columns)?;
            rows.0.push(Sample { line: Some(number), node, seconds, place });
            Ok(())
        },
    );
    let samples = rows.0;
    movements(&samples, Epoch::At(0.0), reading, problems)
}

fn row(cells: &[&str], columns: &Columns) -> Result<(u32, f64, Place), String> {
    let node = match columns.node {
        Some(column) => {
            let node = cells[column].parse::<u32>().ok().filter(|node| *node < MAX_NODES);
            node.ok_or_else(|| format!("the number of a node, below {MAX_NODES}"))?
        }
        None => 0,
    };
    let seconds = moment(cells[columns.time]).ok_or(MOMENT)?;
    let [x, y] = columns.place.map(|column| cells[column]);
    let z = columns.up.map_or("0", |column| cells[column]);
    let place = if columns.is_globe {
        // No angle and no height is a text that is no number.
        let [longitude, latitude, height] = [x, y, z].map(|text| text.parse().unwrap_or(f64::NAN));
        Place::Globe(Globe::checked(longitude, latitude, height)?)
    } else {
        Place::Plane(Position { x: coordinate(x)?, y: coordinate(y)?, z: coordinate(z)? })
    };
    Ok((node, seconds, place))
}
