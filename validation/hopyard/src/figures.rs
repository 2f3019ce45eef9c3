//! Figures as data: CSV files, ours and the peers', whose first columns name the case.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, anyhow};
use serde::Serialize;

use crate::statistics::Sample;

/// A CSV file.
#[derive(Clone, Debug)]
pub struct Figures {
    columns: Vec<String>,
    rows: Vec<csv::StringRecord>,
}

/// The text that names a case, one part for each key column.
pub type Key = Vec<String>;

impl Figures {
    /// Reads a file; one that ends in `.gz` is inflated.
    pub fn read(path: &Path) -> Result<Self> {
        let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
        let compressed = path.extension().is_some_and(|extension| extension == "gz");
        let input: Box<dyn std::io::Read> =
            if compressed { Box::new(flate2::read::GzDecoder::new(file)) } else { Box::new(file) };
        let mut reader = csv::Reader::from_reader(input);
        let columns = reader.headers()?.iter().map(str::to_owned).collect();
        let rows = reader.records().collect::<Result<_, _>>().with_context(|| format!("in {}", path.display()))?;
        Ok(Self { columns, rows })
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.columns.iter().position(|column| column == name).ok_or_else(|| anyhow!("there is no column {name}"))
    }

    /// The rows, each as the parts of these columns.
    pub fn select<'a>(&'a self, columns: &[&str]) -> Result<impl Iterator<Item = Vec<&'a str>> + use<'a>> {
        let places = columns.iter().map(|name| self.column(name)).collect::<Result<Vec<_>>>()?;
        Ok(self.rows.iter().map(move |row| places.iter().map(|&place| &row[place]).collect()))
    }

    /// The rows for which these columns have these values.
    pub fn only(mut self, conditions: &[(&str, &str)]) -> Result<Self> {
        for &(name, value) in conditions {
            let place = self.column(name)?;
            self.rows.retain(|row| &row[place] == value);
        }
        Ok(self)
    }

    /// The rows for which a column has another value than this.
    pub fn without(mut self, name: &str, value: &str) -> Result<Self> {
        let place = self.column(name)?;
        self.rows.retain(|row| &row[place] != value);
        Ok(self)
    }

    /// The figures of one column, by the case that the key columns name. Empty figures are left out.
    pub fn samples(&self, keys: &[&str], value: &str) -> Result<Vec<(Key, Sample)>> {
        let mut columns = keys.to_vec();
        columns.push(value);
        let mut order: Vec<Key> = Vec::new();
        let mut samples: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
        for row in self.select(&columns)? {
            let (figure, key) = row.split_last().expect("at least the value is selected");
            let key: Key = key.iter().map(|&part| part.to_owned()).collect();
            if !samples.contains_key(&key) {
                order.push(key.clone());
            }
            let sample = samples.entry(key).or_default();
            if !figure.is_empty() {
                sample.push(figure.parse().with_context(|| format!("column {value}: \"{figure}\" is no number"))?);
            }
        }
        Ok(order
            .into_iter()
            .map(|key| {
                let values = samples.remove(&key).unwrap_or_default();
                (key, Sample::new(values))
            })
            .collect())
    }

    /// Sums of one column by key, for counts that rows split.
    pub fn totals(&self, keys: &[&str], value: &str) -> Result<BTreeMap<Key, f64>> {
        let mut columns = keys.to_vec();
        columns.push(value);
        let mut totals = BTreeMap::new();
        for row in self.select(&columns)? {
            let key: Key = row[..keys.len()].iter().map(|&part| part.to_owned()).collect();
            let figure: f64 = row[keys.len()].parse()?;
            *totals.entry(key).or_default() += figure;
        }
        Ok(totals)
    }
}

/// Writes rows as CSV; a file that ends in `.gz` is compressed.
pub fn write<R: Serialize>(path: &Path, rows: &[R]) -> Result<()> {
    let file = std::fs::File::create(path).with_context(|| format!("cannot write {}", path.display()))?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        let mut output = flate2::write::GzEncoder::new(file, flate2::Compression::best());
        write_rows(&mut output, rows)?;
        output.finish()?;
        return Ok(());
    }
    write_rows(file, rows)
}

fn write_rows<R: Serialize>(output: impl std::io::Write, rows: &[R]) -> Result<()> {
    let mut writer = csv::Writer::from_writer(output);
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush()?;
    Ok(())
}

/// Six significant digits, as in the peers' figures.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let scale = 10f64.powi(5 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}
