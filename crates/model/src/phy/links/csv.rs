//! Rows below a header: `from`, `to`, one of `loss_db`, `snr_db` and `delivery`, and `time` in seconds if links change.
//!
//! The columns may have any order. A comma, a semicolon or a tab separates them.

use hopyard_engine::{Span, Time};

use super::Quantity;
use super::pairs::{Pairs, time};
use crate::file::lines;

const HEADER: &str =
    "a header such as from,to,loss_db or time,from,to,loss_db, with one of loss_db, snr_db and delivery";
const TIME: &str = "a time in seconds, from 0 to 1.6e9";

/// The places of the columns.
struct Columns {
    from: usize,
    to: usize,
    value: usize,
    time: Option<usize>,
    quantity: Quantity,
    count: usize,
    separator: char,
}

impl Columns {
    fn of(header: &str) -> Option<Self> {
        let separator = [',', ';', '\t'].into_iter().find(|it| header.contains(*it))?;
        let names: Vec<_> = header.split(separator).map(|name| name.trim().trim_matches('"')).collect();
        let place = |wanted: &str| {
            let mut places = names.iter().enumerate().filter(|(_, name)| **name == wanted).map(|it| it.0);
            places.next().filter(|_| places.next().is_none())
        };
        let quantities = [("loss_db", Quantity::Loss), ("snr_db", Quantity::Snr), ("delivery", Quantity::Delivery)];
        let mut values = quantities.into_iter().filter_map(|(name, quantity)| Some((place(name)?, quantity)));
        let ((value, quantity), None) = (values.next()?, values.next()) else { return None };
        let (from, to, time) = (place("from")?, place("to")?, place("time"));
        let count = 3 + usize::from(time.is_some());
        (names.len() == count).then_some(Self { from, to, value, time, quantity, count, separator })
    }
}

/// Reads the text; faults are added to the problems.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>) -> Quantity {
    let mut columns: Option<Columns> = None;
    for (number, line) in lines(text) {
        if pairs.problems.ends_at(number) {
            break;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let Some(columns) = &columns else {
            columns = Columns::of(line);
            if columns.is_none() {
                pairs.problems.push(Some(number), line, HEADER);
                break;
            }
            continue;
        };
        if let Err(expected) = row(number, line, columns, pairs) {
            pairs.problems.push(Some(number), line, expected);
        }
    }
    columns.map_or(Quantity::Loss, |columns| columns.quantity)
}

fn row(number: usize, line: &str, columns: &Columns, pairs: &mut Pairs<'_>) -> Result<(), String> {
    let cells: Vec<_> = line.split(columns.separator).map(|cell| cell.trim().trim_matches('"')).collect();
    if cells.len() != columns.count {
        return Err(format!("{} values", columns.count));
    }
    let pair = (pairs.node(cells[columns.from])?, pairs.node(cells[columns.to])?);
    let seconds = match columns.time {
        Some(place) => time(cells[place]).filter(|seconds| *seconds >= 0.0).ok_or(TIME)?,
        None => 0.0,
    };
    let value = columns.quantity.read(cells[columns.value]).ok_or_else(|| columns.quantity.expected())?;
    pairs.add(number, pair, (Time::ZERO + Span::from_secs_f64(seconds), value), columns.time.is_some())
}
