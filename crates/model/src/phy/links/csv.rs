//! Rows below a header: `from`, `to`, one of `loss_db`, `snr_db` and `delivery`, and `time` in seconds if links change.
//!
//! The columns may have any order. A comma, a semicolon or a tab separates them.

use hopyard_engine::{Span, Time};

use super::Quantity;
use super::pairs::{Pairs, time};
use crate::file::table::{self, Header};

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
}

impl Columns {
    fn of(header: &Header<'_>) -> Option<Self> {
        let quantities = [("loss_db", Quantity::Loss), ("snr_db", Quantity::Snr), ("delivery", Quantity::Delivery)];
        let mut values = quantities.into_iter().filter_map(|(name, quantity)| Some((header.place(&[name])?, quantity)));
        let ((value, quantity), None) = (values.next()?, values.next()) else { return None };
        let (from, to, time) = (header.place(&["from"])?, header.place(&["to"])?, header.place(&["time"]));
        let count = 3 + usize::from(time.is_some());
        (header.count() == count).then_some(Self { from, to, value, time, quantity })
    }
}

/// Reads the text; faults are added to the problems.
pub(super) fn read(text: &[u8], pairs: &mut Pairs<'_>) -> Quantity {
    let columns = table::read(text, pairs, |pairs| pairs.problems, (HEADER, Columns::of), row);
    columns.map_or(Quantity::Loss, |columns| columns.quantity)
}

fn row(pairs: &mut Pairs<'_>, number: usize, cells: &[&str], columns: &Columns) -> Result<(), String> {
    let pair = (pairs.node(cells[columns.from])?, pairs.node(cells[columns.to])?);
    let seconds = match columns.time {
        Some(place) => time(cells[place]).filter(|seconds| *seconds >= 0.0).ok_or(TIME)?,
        None => 0.0,
    };
    let value = columns.quantity.read(cells[columns.value]).ok_or_else(|| columns.quantity.expected())?;
    pairs.add(number, pair, (Time::ZERO + Span::from_secs_f64(seconds), value), columns.time.is_some())
}
