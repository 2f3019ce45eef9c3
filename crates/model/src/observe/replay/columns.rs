//! Tables of whole numbers, column by column, and the rule by which long tables are thinned.

use hopyard_engine::{Span, Time};

/// The number of slices into which a run is cut.
pub const SLICES: u64 = 1024;

/// The levels of thinning: at the last one, only the first slice of the run is left.
const LAST: u32 = SLICES.ilog2();

/// The slices of a run, which are equally long.
#[derive(Clone, Copy, Debug)]
pub struct Slices {
    /// How long a slice is, in microseconds.
    pub micros: u64,
}

impl Slices {
    /// The slices of a run of this length.
    pub fn of(duration: Span) -> Self {
        Self { micros: micros(Time::ZERO + duration).div_ceil(SLICES).max(1) }
    }
}

/// A time in whole microseconds.
pub const fn micros(time: Time) -> u64 {
    time.nanos() / 1000
}

/// A table whose rows have a time. As long as it has at most `most` rows, it has all of them. Whenever it would have
/// more, every second slice of those that it has is left out as a whole, and remains empty: at level n, the table has
/// the rows of every 2^n-th slice. What is shown of a slice that is there is therefore complete.
#[derive(Clone, Debug)]
pub struct Thinned<const N: usize> {
    rows: Vec<[u64; N]>,
    /// The column with the time.
    time: usize,
    slices: Slices,
    most: usize,
    level: u32,
    seen: u64,
}

impl<const N: usize> Thinned<N> {
    /// An empty table.
    pub const fn new(time: usize, slices: Slices, most: usize) -> Self {
        Self { rows: Vec::new(), time, slices, most, level: 0, seen: 0 }
    }

    /// Adds a row.
    pub fn push(&mut self, row: [u64; N]) {
        self.seen += 1;
        while self.keeps(&row) {
            if self.rows.len() < self.most {
                self.rows.push(row);
                return;
            }
            if self.level == LAST {
                // One slice has more rows than there may be.
                return;
            }
            self.level += 1;
            let mut rows = std::mem::take(&mut self.rows);
            rows.retain(|row| self.keeps(row));
            self.rows = rows;
        }
    }

    fn keeps(&self, row: &[u64; N]) -> bool {
        (row[self.time] / self.slices.micros).is_multiple_of(1 << self.level)
    }

    /// The table with its rows in order, as it is written.
    pub fn finish(mut self, name: &'static str, columns: [&'static str; N]) -> Written {
        self.rows.sort_unstable();
        Written::new(name, &columns, &self.rows, self.level, self.seen)
    }
}

/// A table in its written form.
#[derive(Debug)]
pub struct Written {
    /// Its name.
    pub name: &'static str,
    /// The number of rows.
    pub rows: usize,
    /// The number of rows before it was thinned.
    pub seen: u64,
    /// One of so many slices, as a power of two, has its rows here.
    pub level: u32,
    /// Columns: the name, and the length in bytes.
    pub columns: Vec<(&'static str, usize)>,
    /// The bytes of all columns.
    pub bytes: Vec<u8>,
}

impl Written {
    /// Writes the columns one after another. A value is stored as its difference from the row before, in a variable
    /// number of bytes.
    pub fn new<const N: usize>(
        name: &'static str,
        names: &[&'static str; N],
        rows: &[[u64; N]],
        level: u32,
        seen: u64,
    ) -> Self {
        let mut bytes = Vec::with_capacity(rows.len() * N);
        let column = |(place, &name): (usize, &&'static str)| {
            let (begin, mut before) = (bytes.len(), 0);
            for row in rows {
                difference(row[place].wrapping_sub(before) as i64, &mut bytes);
                before = row[place];
            }
            (name, bytes.len() - begin)
        };
        let columns = names.iter().enumerate().map(column).collect();
        Self { name, rows: rows.len(), seen, level, columns, bytes }
    }
}

/// Writes a number with its sign in the lowest bit (zigzag), seven bits a byte, the lowest first (LEB128).
fn difference(value: i64, out: &mut Vec<u8>) {
    let mut rest = (value << 1 ^ value >> 63) as u64;
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_have_as_few_bytes_as_they_need() {
        let bytes = |value| {
            let mut out = Vec::new();
            difference(value, &mut out);
            out
        };
        assert_eq!([bytes(0), bytes(-1), bytes(1), bytes(63)], [[0], [1], [2], [126]]);
        assert_eq!([bytes(64), bytes(-65)], [[0x80, 1], [0x81, 1]]);
        assert_eq!(bytes(i64::MIN).len(), 10);
    }

    #[test]
    fn a_long_table_keeps_whole_slices() {
        // 1024 slices of 10 µs, ten rows in each.
        let slices = Slices::of(Span::from_nanos(10_240_000));
        assert_eq!(slices.micros, 10);
        let mut table = Thinned::new(0, slices, 3000);
        (0..10_240).for_each(|micros| table.push([micros, micros % 3]));
        assert_eq!((table.level, table.seen, table.rows.len()), (2, 10_240, 2560));
        assert!(table.rows.iter().all(|row| row[0] / 10 % 4 == 0));
        assert_eq!(table.rows.iter().filter(|row| row[0] / 10 == 4).count(), 10);
        let written = table.finish("events", ["time", "kind"]);
        assert_eq!((written.rows, written.seen, written.level), (2560, 10_240, 2));
        assert_eq!(written.columns[0], ("time", 2560), "the 31 µs from slice to slice fit one byte");
    }

    #[test]
    fn a_slice_with_too_many_rows_is_cut() {
        let mut table = Thinned::new(0, Slices { micros: 10 }, 5);
        (0..100).for_each(|number| table.push([number / 10, number]));
        assert_eq!((table.level, table.seen, table.rows.len()), (LAST, 100, 5));
    }
}
