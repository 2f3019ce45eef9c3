//! Error rates of a file: the share of frames that are lost, by mode, size and ratio of signal to noise.
//!
//! A table has the columns `mode`, `size` (bytes of the body), `snr_db` and `per`. Between two ratios the share is on a
//! straight line over decibels. Below the first ratio nothing arrives; above the last one, its share holds. A frame
//! goes by the size in the table whose quotient with its own is nearest to one: of a frame of B bytes, (1 - PER)^(B /
//! size) arrive. Interference that changes during a frame counts for the share of the body's time that it lasts.
//!
//! The header of the physical layer has no errors beside those of the table. Modes that the table does not name keep
//! the formulas. Validated against the table's own values.

use std::collections::BTreeMap;

use super::super::mode::{Mode, Name};
use crate::file::{BadFile, table, text_of};

const HEADER: &str = "a header with mode, size, snr_db and per";
const MODE: &str = "a mode of a standard, such as 6 Mbps, mcs7 or vht-mcs9-2ss";
const SIZE: &str = "a size of 1 to 1000000 bytes";
const RATIO: &str = "a ratio of signal to noise of -100 to 100 dB";
const SHARE: &str = "a share of lost frames of 0 to 1";

/// Error rates of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// The curves of each mode, in order of their sizes.
    modes: BTreeMap<Name, Vec<u32>>,
    curves: Vec<Curve>,
}

/// The share of lost frames of a mode and a size.
#[derive(Clone, Debug, PartialEq)]
struct Curve {
    /// Bytes of the body.
    size: f64,
    /// Each ratio in decibels with the share, in order.
    points: Vec<(f64, f64)>,
    /// The ratio, as a factor, from which on nothing is lost; infinite if there is none.
    error_free: f64,
}

/// A mode and a size of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurveId(u32);

/// A row: its line, the ratio in decibels and the share.
type Row = (usize, f64, f64);

/// The rows of a file, as they are read, by mode and size.
struct Rows<'a> {
    all: BTreeMap<(Name, u32), Vec<Row>>,
    problems: &'a mut BadFile,
}

impl Measured {
    /// Reads the bytes of a file, which may be compressed with gzip; `file` is its name, for messages.
    ///
    /// # Errors
    /// Every row that is faulty.
    pub fn read(file: &str, bytes: &[u8]) -> Result<Self, BadFile> {
        let mut problems = BadFile::new(file);
        let Some(text) = text_of(bytes, &mut problems) else { return Err(problems) };
        let mut rows = Rows { all: BTreeMap::new(), problems: &mut problems };
        let columns = |header: &table::Header<'_>| {
            let places = ["mode", "size", "snr_db", "per"].map(|name| header.place(&[name]));
            let [Some(mode), Some(size), Some(ratio), Some(share)] = places else { return None };
            (header.count() == 4).then_some([mode, size, ratio, share])
        };
        table::read(&text, &mut rows, |rows| rows.problems, (HEADER, columns), Rows::add);
        let mut all = rows.all;
        let is_sound = problems.is_empty();
        let (mut modes, mut curves) = (BTreeMap::<_, Vec<u32>>::new(), Vec::new());
        for ((mode, size), points) in &mut all {
            points.sort_by(|a, b| a.1.total_cmp(&b.1));
            // Other points of the curve may be faulty.
            if let ([(line, ..)], true) = (&points[..], is_sound) {
                problems.push(Some(*line), &format!("{mode}, {size} B"), "at least two ratios for each mode and size");
            }
            modes.entry(*mode).or_default().push(curves.len() as u32);
            curves.push(Curve::new(*size, points.iter().map(|it| (it.1, it.2)).collect()));
        }
        if problems.is_empty() && curves.is_empty() {
            problems.push(None, "", "at least one mode with its rates");
        }
        if problems.is_empty() { Ok(Self { modes, curves }) } else { Err(problems) }
    }

    /// The modes of the table.
    pub fn modes(&self) -> impl Iterator<Item = Name> + '_ {
        self.modes.keys().copied()
    }

    /// The curve for frames in a mode whose bodies have so many bytes; nothing if the table does not name the mode.
    #[must_use]
    pub fn curve(&self, mode: &Mode, bytes: u32) -> Option<CurveId> {
        let quotient = |id: &u32| {
            let size = self.curves[*id as usize].size / f64::from(bytes.max(1));
            if size < 1.0 { 1.0 / size } else { size }
        };
        let curves = self.modes.get(&mode.name())?;
        curves.iter().min_by(|a, b| quotient(a).total_cmp(&quotient(b))).map(|id| CurveId(*id))
    }

    /// The ratio of signal to noise, as a factor, from which on nothing is lost.
    #[must_use]
    pub fn error_free(&self, curve: CurveId) -> f64 {
        self.curves[curve.0 as usize].error_free
    }

    /// The probability that so many bytes of a body arrive at a ratio of signal to noise, which is a factor.
    #[must_use]
    pub fn success(&self, curve: CurveId, sinr: f64, bytes: f64) -> f64 {
        let curve = &self.curves[curve.0 as usize];
        libm::pow(1.0 - curve.share(10.0 * libm::log10(sinr)), bytes / curve.size)
    }
}

impl Rows<'_> {
    fn add(&mut self, line: usize, cells: &[&str], columns: &[usize; 4]) -> Result<(), String> {
        let [mode, size, ratio, share] = columns.map(|place| cells[place]);
        let mode = mode.parse::<Name>().ok().filter(|name| name.is_known()).ok_or(MODE)?;
        let size = size.parse().ok().filter(|size| (1..=1_000_000).contains(size)).ok_or(SIZE)?;
        let within =
            |text: &str, most: f64, least: f64| text.parse::<f64>().ok().filter(|value| (least..=most).contains(value));
        let ratio = within(ratio, 100.0, -100.0).ok_or(RATIO)?;
        let share = within(share, 1.0, 0.0).ok_or(SHARE)?;
        let points = self.all.entry((mode, size)).or_default();
        if let Some((before, ..)) = points.iter().find(|it| it.1 == ratio) {
            return Err(format!("each ratio once for each mode and size: line {before} has it"));
        }
        points.push((line, ratio, share));
        Ok(())
    }
}

impl Curve {
    fn new(size: u32, points: Vec<(f64, f64)>) -> Self {
        let lossy = points.iter().rposition(|it| it.1 > 0.0).map_or(0, |place| place + 1);
        let free = points.get(lossy).map_or(f64::INFINITY, |it| libm::pow(10.0, it.0 / 10.0) * (1.0 + 1e-12));
        Self { size: f64::from(size), points, error_free: free }
    }

    /// The share of lost frames at a ratio in decibels.
    fn share(&self, db: f64) -> f64 {
        match self.points.partition_point(|it| it.0 <= db) {
            0 => 1.0,
            next => {
                let (from, before) = self.points[next - 1];
                let after = self.points.get(next);
                after.map_or(before, |(to, after)| before + (after - before) * (db - from) / (to - from))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::phy::mode::MODES;

    const TABLE: &str = "mode,size,snr_db,per\n1 Mbps,100,0,1\n1 Mbps,100,2,0.5\n1 Mbps,100,6,0\n\
                         # the longer size\n1 Mbps,1000,5,0.25\n1 Mbps,1000,3,0.75\n";

    fn at(db: f64) -> f64 {
        libm::pow(10.0, db / 10.0)
    }

    #[test]
    fn shares_are_those_of_the_table() {
        let table = Measured::read("t.csv", TABLE.as_bytes()).expect("a table");
        let of = |bytes: u32| table.curve(&MODES[0], bytes).expect("the table has the mode");
        let near = |found: f64, expected: f64| assert!((found - expected).abs() < 1e-9, "{found} for {expected}");
        for (db, expected) in [(-3.0, 0.0), (0.0, 0.0), (1.0, 0.25), (2.0, 0.5), (3.0, 0.625), (6.0, 1.0), (30.0, 1.0)]
        {
            near(table.success(of(100), at(db), 100.0), expected);
        }
        // The last share holds.
        near(table.success(of(1000), at(40.0), 1000.0), 0.75);
        near(table.success(of(1000), at(4.0), 1000.0), 0.5);
        // Half of the size, and twice the size.
        near(table.success(of(1000), at(4.0), 500.0), libm::sqrt(0.5));
        near(table.success(of(1000), at(4.0), 2000.0), 0.25);
        // The geometric mean of the sizes is 316.
        assert_eq!((of(1), of(316), of(317), of(2000)), (of(100), of(100), of(1000), of(1000)));
        assert!(table.error_free(of(100)) < at(6.1) && table.error_free(of(1000)).is_infinite());
        assert_eq!(table.curve(&MODES[1], 100), None);
    }

    #[test]
    fn every_mode_of_a_standard_has_its_rates_and_no_other_name() {
        let read = |name: &str| {
            Measured::read("t.csv", format!("mode,size,snr_db,per\n{name},9,0,1\n{name},9,5,0\n").as_bytes())
        };
        for mode in MODES {
            assert!(read(&mode.name().to_string()).is_ok_and(|it| it.curve(&mode, 9).is_some()), "{}", mode.name());
        }
        for name in ["7 Mbps", "mcs99", "mcs32", "vht-mcs77-9ss", "vht-mcs10-1ss", "ofdm 54 Mbps", "1 Gbps"] {
            let shown = read(name).expect_err("no standard has it").to_string();
            assert!(shown.contains("t.csv:2:") && shown.contains(MODE) && shown.contains(name), "{shown}");
        }
    }

    #[test]
    fn every_faulty_row_is_reported() {
        let rows = "mode;size;snr_db;per\n1 Mbps;100;0;1\nfast;100;1;1\n1 Mbps;0;1;1\n1 Mbps;100;200;1\n\
                    1 Mbps;100;3;1.5\n1 Mbps;100;0;0.5\n1 Mbps;100\n";
        let shown = Measured::read("t.csv", rows.as_bytes()).expect_err("it is faulty").to_string();
        for expected in [
            "t.csv:3:",
            MODE,
            "t.csv:4:",
            SIZE,
            "t.csv:5:",
            RATIO,
            "t.csv:6:",
            SHARE,
            "t.csv:7:",
            "line 2 has it",
            "t.csv:8:",
            "4 values",
        ] {
            assert!(shown.contains(expected), "{expected}: {shown}");
        }
        let alone = "mode,size,snr_db,per\n2 Mbps,100,3,0\n";
        for (text, expected) in [
            (alone, "t.csv:2: expected at least two ratios"),
            ("", "at least one mode"),
            ("mode,size,per\n", HEADER),
            ("mode,size,snr_db,per,x\n", HEADER),
        ] {
            let shown = Measured::read("t.csv", text.as_bytes()).expect_err("it is faulty").to_string();
            assert!(shown.contains(expected), "{shown}");
        }
    }
}
