//! Rate, delay and loss over time.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::file::{BadFile, table};

/// What comes after the last row of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The last row holds until the end of the run.
    Hold,
    /// The table begins again at the time of the last row, whose values never hold.
    Loop,
}

const HEADER: &str = "a header with time_s and at least one of rate_mbps, delay_ms and loss";
const RATE: &str = "a rate of 0 to 1000000000 Mbit/s";
const DELAY: &str = "a delay of 0 to 1600000000000 ms";
const LOSS: &str = "a loss of 0 to 1";
const TIME: &str = "a time of 0 to 1600000000 seconds";
const LONGEST: f64 = 1.6e9;
const NANOS: u128 = 1_000_000_000;

/// The columns of a table.
#[derive(Clone, Copy, Debug)]
struct Columns {
    time: usize,
    rate: Option<usize>,
    delay: Option<usize>,
    loss: Option<usize>,
}

impl Columns {
    fn of(header: &table::Header<'_>) -> Option<Self> {
        let [rate, delay, loss] = ["rate_mbps", "delay_ms", "loss"].map(|name| header.place(&[name]));
        let found = Self { time: header.place(&["time_s"])?, rate, delay, loss };
        let known = [rate, delay, loss].into_iter().flatten().count();
        (known > 0 && header.count() == 1 + known).then_some(found)
    }
}

/// A row of a table.
#[derive(Clone, Copy, Debug)]
struct Row {
    from: Time,
    rate: Rate,
    delay: Span,
    loss: f64,
    /// The billionths of a bit that can be sent from the beginning of the table to this row.
    before: u128,
}

/// Values over time.
#[derive(Clone, Debug)]
pub struct Values {
    /// At least one row, in order of time. The first begins at zero.
    rows: Vec<Row>,
    columns: Columns,
    /// The time after which the rows begin again, if they do, and the billionths of a bit that can be sent until then.
    turn: Option<(u64, u128)>,
}

/// The rows of a table, as they are read.
struct Rows<'a> {
    all: Vec<Row>,
    /// Whether a row was read, and the latest time of all, also of faulty rows.
    begun: bool,
    last: Option<Time>,
    problems: &'a mut BadFile,
}

impl Rows<'_> {
    fn add(&mut self, cells: &[&str], columns: &Columns) -> Result<(), String> {
        let number = |place: Option<usize>, most: f64, expected: &str| match place {
            None => Ok(0.0),
            Some(place) => {
                let value = cells[place].parse().ok().filter(|value| (0.0..=most).contains(value));
                value.ok_or_else(|| expected.to_owned())
            }
        };
        let time = number(Some(columns.time), LONGEST, TIME).map(|time| Time::ZERO + Span::from_secs_f64(time));
        let order = match (&time, self.last) {
            (Ok(time), Some(last)) if *time <= last => Err("a time after the one above".to_owned()),
            (Ok(time), None) if *time > Time::ZERO && !self.begun => Err("the time 0 in the first row".to_owned()),
            _ => Ok(()),
        };
        self.begun = true;
        self.last = self.last.max(time.as_ref().ok().copied());
        let rate = number(columns.rate, 1e9, RATE);
        let delay = number(columns.delay, LONGEST * 1e3, DELAY);
        let loss = number(columns.loss, 1.0, LOSS);
        let (from, rate, delay, loss) = match (time, order, rate, delay, loss) {
            (Ok(from), Ok(()), Ok(rate), Ok(delay), Ok(loss)) => (from, rate, delay, loss),
            (time, order, rate, delay, loss) => {
                // Every faulty cell of the row is named.
                let faults = [time.err(), order.err(), rate.err(), delay.err(), loss.err()];
                return Err(faults.into_iter().flatten().collect::<Vec<_>>().join(", and "));
            }
        };
        let rate = Rate::from_bps(libm::round(rate * 1e6) as u64);
        let before = self.all.last().map_or(0, |last| last.until(from));
        self.all.push(Row { from, rate, delay: Span::from_secs_f64(delay / 1e3), loss, before });
        Ok(())
    }
}

impl Row {
    /// The billionths of a bit that can be sent from the beginning of the table to a time while this row holds.
    fn until(&self, time: Time) -> u128 {
        self.before + u128::from(self.rate.bps()) * u128::from(time.since(self.from).nanos())
    }
}

impl Values {
    /// Reads a text. Faults are added to `problems`.
    pub(super) fn read(text: &[u8], end: End, problems: &mut BadFile) -> Option<Self> {
        let mut rows = Rows { all: Vec::new(), begun: false, last: None, problems };
        let columns = table::read(
            text,
            &mut rows,
            |rows| rows.problems,
            (HEADER, Columns::of),
            |rows, _, cells, it| rows.add(cells, it),
        );
        let Rows { all: mut rows, problems, .. } = rows;
        let Some(columns) = columns else {
            if problems.is_empty() {
                problems.push(None, "an empty file", HEADER);
            }
            return None;
        };
        if !problems.is_empty() {
            return None;
        }
        let turn = match end {
            End::Hold => None,
            End::Loop => match rows.pop().filter(|_| !rows.is_empty()) {
                Some(last) => Some((last.from.nanos(), last.before)),
                None => {
                    problems.push(
                        None,
                        "",
                        "at least two rows, of which the last one says when the first begins again",
                    );
                    return None;
                }
            },
        };
        if rows.is_empty() {
            problems.push(None, "", "at least one row");
            return None;
        }
        if columns.rate.is_some() && rows.iter().all(|row| row.rate.bps() == 0) {
            let but = if turn.is_some() { ", apart from the last one, whose values never hold" } else { "" };
            problems.push(None, "rates of 0 alone", format!("a rate above zero in at least one row{but}"));
            return None;
        }
        Some(Self { rows, columns, turn })
    }

    /// Whether the table has rates.
    pub(in super::super) const fn has_rate(&self) -> bool {
        self.columns.rate.is_some()
    }

    pub(super) fn replaces(&self) -> Vec<&'static str> {
        let columns = [(self.columns.rate, "rate"), (self.columns.delay, "delay")];
        columns.into_iter().filter_map(|(place, name)| place.map(|_| name)).collect()
    }

    pub(super) fn mean(&self) -> Option<Rate> {
        let last = self.rows.last()?;
        let (time, sent) = self.turn.unwrap_or((last.from.nanos(), last.before));
        let mean = if time == 0 { last.rate } else { Rate::from_bps((sent / u128::from(time)) as u64) };
        self.has_rate().then_some(mean)
    }

    /// How often the rows have begun again before a time, and the time since the last beginning.
    fn turns(&self, time: Time) -> (u64, Time) {
        let nanos = time.nanos();
        self.turn.map_or((0, time), |(turn, _)| (nanos / turn, Time::from_nanos(nanos % turn)))
    }

    /// The row that holds.
    fn row(&self, time: Time) -> (u64, Time, &Row) {
        let (turns, within) = self.turns(time);
        let after = self.rows.partition_point(|row| row.from <= within);
        (turns, within, &self.rows[after - 1])
    }

    /// The delay at a time, if the table has delays.
    pub(in super::super) fn delay(&self, time: Time) -> Option<Span> {
        self.columns.delay.map(|_| self.row(time).2.delay)
    }

    /// The probability of a loss at a time.
    pub(in super::super) fn loss(&self, time: Time) -> f64 {
        if self.columns.loss.is_some() { self.row(time).2.loss } else { 0.0 }
    }

    /// When so many bytes have been sent, of which the first begins at a time: the first nanosecond at which the sum of
    /// the rate since then reaches their bits. [`Time::NEVER`] if the rate stays zero before.
    pub(in super::super) fn sent(&self, from: Time, bytes: u32) -> Time {
        let (turns, within, row) = self.row(from);
        let a_turn = self.turn.map_or(0, |(_, sent)| sent);
        let goal = u128::from(turns) * a_turn + row.until(within) + u128::from(bytes.max(1)) * 8 * NANOS;
        // The first time of a new turn is the last one of the turn before it.
        let turns = (goal - 1).checked_div(a_turn).unwrap_or(0);
        let rest = goal - turns * a_turn;
        let row = &self.rows[self.rows.partition_point(|row| row.before < rest) - 1];
        let rate = u128::from(row.rate.bps());
        if rate == 0 {
            return Time::NEVER;
        }
        let turn = self.turn.map_or(0, |(turn, _)| u128::from(turn));
        let at = turns * turn + u128::from(row.from.nanos()) + (rest - row.before).div_ceil(rate);
        u64::try_from(at).map_or(Time::NEVER, Time::from_nanos)
    }
}
