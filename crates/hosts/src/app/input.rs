//! Files of sizes and times that the parameters of applications name.

use std::sync::Arc;

use hopyard_engine::Span;
use hopyard_engine::units::Bytes;

use super::pcap;
use crate::file::{BadFile, lines, table, text_of};

/// A line of a file: a time, a size, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The time.
    pub time: Span,
    /// The size.
    pub size: Bytes,
}

/// The contents of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Format {
    /// A column of sizes.
    Sizes,
    /// A column of times.
    Times,
    /// Packets: a table with the time and the size of each, or a capture.
    Packets,
}

/// A file that parameters name.
#[derive(Debug)]
pub struct Input<'a> {
    /// The parameter that names it.
    pub key: &'static str,
    /// Its name.
    pub path: &'a str,
    /// Its contents.
    pub format: Format,
    /// The place for its lines.
    pub entries: &'a mut Arc<[Entry]>,
}

const SIZE: &str = "a size of 1 to 1000000000000000 bytes";
const TIME: &str = "a time of 0 to 1600000000 seconds";
const PACKETS: &str = "a header with time_s and bytes";
const LONGEST: f64 = 1.6e9;

fn size(cell: &str) -> Result<Bytes, String> {
    let bytes = cell.parse().ok().filter(|bytes| (1..=1_000_000_000_000_000).contains(bytes));
    bytes.map(Bytes::new).ok_or_else(|| SIZE.to_owned())
}

fn time(cell: &str) -> Result<Span, String> {
    let seconds = cell.parse().ok().filter(|seconds| (0.0..=LONGEST).contains(seconds));
    seconds.map(Span::from_secs_f64).ok_or_else(|| TIME.to_owned())
}

/// The packets of a table, as they are read.
struct Packets<'a> {
    all: Vec<Entry>,
    problems: &'a mut BadFile,
}

impl Packets<'_> {
    fn add(&mut self, cells: &[&str], columns: [usize; 2]) -> Result<(), String> {
        let [at, bytes] = columns.map(|place| cells[place]);
        let entry = Entry { time: time(at)?, size: size(bytes)? };
        if self.all.last().is_some_and(|last| last.time > entry.time) {
            return Err("a time that is not before the one above".to_owned());
        }
        self.all.push(entry);
        Ok(())
    }
}

impl Format {
    /// Reads the bytes of a file, which may be compressed with gzip; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every line that is faulty.
    pub fn read(self, file: &str, bytes: &[u8]) -> Result<Arc<[Entry]>, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else { return Err(problems) };
        let found = match self {
            Self::Sizes => {
                column(&text, &mut problems, "bytes", |cell| Ok(Entry { size: size(cell)?, ..Entry::default() }))
            }
            Self::Times => {
                column(&text, &mut problems, "seconds", |cell| Ok(Entry { time: time(cell)?, ..Entry::default() }))
            }
            Self::Packets if pcap::is_capture(&text) => {
                let packets = pcap::read(&text, &mut problems).into_iter();
                packets.map(|(time, size)| Entry { time, size: Bytes::new(size) }).collect()
            }
            Self::Packets => packets(&text, &mut problems),
        };
        if problems.is_empty() && found.is_empty() {
            problems.push(None, "", if self == Self::Packets { "at least one packet" } else { "at least one number" });
        }
        if problems.is_empty() { Ok(found.into()) } else { Err(problems) }
    }
}

/// The lines of a column, which may have a name. Empty lines and lines that begin with `#` do not count.
fn column(
    text: &[u8],
    problems: &mut BadFile,
    name: &str,
    entry: impl Fn(&str) -> Result<Entry, String>,
) -> Vec<Entry> {
    let (mut found, mut is_first) = (Vec::new(), true);
    for (number, line) in lines(text) {
        if problems.ends_at(number) {
            break;
        }
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if std::mem::take(&mut is_first) && line == name {
            continue;
        }
        match entry(line) {
            Ok(entry) => found.push(entry),
            Err(expected) => problems.push(Some(number), line, expected),
        }
    }
    found
}

fn packets(text: &[u8], problems: &mut BadFile) -> Vec<Entry> {
    let mut rows = Packets { all: Vec::new(), problems };
    let columns = |header: &table::Header<'_>| match ["time_s", "bytes"].map(|name| header.place(&[name])) {
        [Some(time), Some(size)] => Some([time, size]),
        _ => None,
    };
    table::read(
        text,
        &mut rows,
        |rows| rows.problems,
        (PACKETS, columns),
        |rows, _, cells, columns| rows.add(cells, *columns),
    );
    rows.all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults(format: Format, text: &str) -> String {
        format.read("f.csv", text.as_bytes()).expect_err("it is faulty").to_string()
    }

    #[test]
    fn columns_and_tables_are_read() {
        let sizes = Format::Sizes.read("f.csv", b"# recorded\nbytes\n100\n\n 2000 \n").expect("sizes");
        assert_eq!(sizes.iter().map(|entry| entry.size.count()).collect::<Vec<_>>(), [100, 2000]);
        let times = Format::Times.read("f.csv", b"0.5\n0\n").expect("times");
        assert_eq!(times.iter().map(|entry| entry.time).collect::<Vec<_>>(), [Span::from_millis(500), Span::ZERO]);
        let packets = Format::Packets.read("f.csv", b"frame;time_s;bytes\n1;10.0;40\n2;10.02;60\n").expect("packets");
        let packets: Vec<_> = packets.iter().map(|entry| (entry.time.seconds(), entry.size.count())).collect();
        assert_eq!(packets, [(10.0, 40), (10.02, 60)]);
    }

    #[test]
    fn faults_are_named_with_their_lines() {
        let found = faults(Format::Sizes, "100\nbytes\n0\n1.5\n");
        for expected in ["f.csv:2: expected a size", "f.csv:3:", "f.csv:4:", "found: 1.5"] {
            assert!(found.contains(expected), "{found}");
        }
        assert!(faults(Format::Times, "-1\nNaN\n").contains("f.csv:2: expected a time"));
        assert!(faults(Format::Times, "seconds\n").contains("at least one number"));
        assert!(faults(Format::Packets, "time,bytes\n1,2\n").contains(PACKETS));
        let found = faults(Format::Packets, "time_s,bytes\n1,2\n0.5,2\n1,2,3\n");
        assert!(found.contains("f.csv:3: expected a time that is not before"), "{found}");
        assert!(found.contains("f.csv:4: expected 2 values"), "{found}");
    }
}
