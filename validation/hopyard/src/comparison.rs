//! A comparison of our figures with a peer's, case by case, and its table.

use tabled::builder::Builder;
use tabled::settings::Style;

use crate::figures::{Figures, Key};
use crate::statistics::Sample;

/// What is asked of a case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// The mean differs by at most this fraction of the peer's.
    Within(f64),
    /// The same, or the mean lies inside the 95 % interval of the peer's mean.
    WithinOrInterval(f64),
    /// The mean lies between the least and the greatest figure of the peer, if the peer has several.
    InRange,
    /// Nothing: shown side by side.
    Shown,
}

impl Bound {
    fn text(self) -> String {
        match self {
            Self::Within(fraction) => format!("{} %", fraction * 100.0),
            Self::WithinOrInterval(fraction) => format!("{} % or in interval", fraction * 100.0),
            Self::InRange => "in range of seeds".into(),
            Self::Shown => String::new(),
        }
    }

    /// Whether ours is what is asked; nothing when nothing is.
    pub fn met(self, ours: &Sample, peer: &Sample) -> Option<bool> {
        let difference = (ours.mean() - peer.mean()).abs();
        let within = |fraction: f64| difference <= fraction * peer.mean().abs();
        match self {
            Self::Within(fraction) => Some(within(fraction)),
            Self::WithinOrInterval(fraction) => Some(within(fraction) || difference <= peer.half_width()),
            Self::InRange if peer.len() < 2 => None,
            Self::InRange => {
                let (low, high) = peer.range();
                Some((low..=high).contains(&ours.mean()))
            }
            Self::Shown => None,
        }
    }
}

/// A quantity that is compared.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// Its column.
    pub column: &'static str,
    /// Its name and unit in the table's heading.
    pub title: &'static str,
    /// What is asked of it.
    pub bound: Bound,
}

/// One table: our figures against a peer's.
#[derive(Debug)]
pub struct Table {
    /// What is compared.
    pub title: String,
    /// Its cells, as a table in Markdown.
    pub text: String,
    /// How many cells have a bound, and how many keep it.
    pub bounded: usize,
    /// How many of these keep it.
    pub met: usize,
    /// The largest difference of a bounded cell, in percent of the peer's figure.
    pub worst: f64,
}

/// The name of a key column, and how its parts are written.
pub type KeyColumn = (&'static str, &'static str);

/// Compares one quantity in every case that both have.
pub fn compare(
    title: &str,
    peer_name: &str,
    keys: &[KeyColumn],
    measure: &Measure,
    ours: &Figures,
    peer: &Figures,
) -> anyhow::Result<Table> {
    let names: Vec<&str> = keys.iter().map(|&(column, _)| column).collect();
    let theirs = peer.samples(&names, measure.column)?;
    let ours: std::collections::BTreeMap<Key, Sample> = ours.samples(&names, measure.column)?.into_iter().collect();
    let mut builder = Builder::default();
    let mut heading: Vec<String> = keys.iter().map(|&(_, heading)| heading.to_owned()).collect();
    heading.extend([peer_name, "Hopyard", "difference"].map(str::to_owned));
    let bounded = measure.bound != Bound::Shown;
    if bounded {
        heading.extend(["required", "met"].map(str::to_owned));
    }
    builder.push_record(heading);
    let mut table =
        Table { title: format!("{title}: {}", measure.title), text: String::new(), bounded: 0, met: 0, worst: 0.0 };
    for (key, peer) in theirs {
        let Some(ours) = ours.get(&key) else { continue };
        if ours.len() == 0 || peer.len() == 0 {
            continue;
        }
        let percent = 100.0 * (ours.mean() / peer.mean() - 1.0);
        let mut record = key;
        record.extend([figure(&peer), figure(ours), difference(percent)]);
        if let Some(met) = measure.bound.met(ours, &peer) {
            table.bounded += 1;
            table.met += usize::from(met);
            if measure.bound != Bound::InRange && percent.abs() > table.worst.abs() {
                table.worst = percent;
            }
            let range = match measure.bound {
                Bound::InRange => {
                    let (low, high) = peer.range();
                    format!("{} to {}", digits(low), digits(high))
                }
                bound => bound.text(),
            };
            record.extend([range, if met { "yes" } else { "**no**" }.to_owned()]);
        }
        builder.push_record(record);
    }
    table.text = builder.build().with(Style::markdown()).to_string();
    Ok(table)
}

/// A mean with its interval.
fn figure(sample: &Sample) -> String {
    let half = sample.half_width();
    if half == 0.0 { digits(sample.mean()) } else { format!("{} ± {}", digits(sample.mean()), digits(half)) }
}

fn difference(percent: f64) -> String {
    if percent.is_finite() { format!("{percent:+.2} %") } else { String::new() }
}

/// Enough digits to see a difference of a tenth of a percent.
pub fn digits(value: f64) -> String {
    let places = match value.abs() {
        magnitude if magnitude >= 1000.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        magnitude if magnitude >= 1.0 => 2,
        _ => 3,
    };
    format!("{value:.places$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds() {
        let peer = Sample::new(vec![90.0, 100.0, 110.0]);
        let ours = |value| Sample::new(vec![value]);
        assert_eq!(Bound::Within(0.03).met(&ours(102.9), &peer), Some(true));
        assert_eq!(Bound::Within(0.03).met(&ours(96.9), &peer), Some(false));
        // The interval is 4.30 standard errors of 5.77 wide on each side.
        assert_eq!(Bound::WithinOrInterval(0.03).met(&ours(76.0), &peer), Some(true));
        assert_eq!(Bound::WithinOrInterval(0.03).met(&ours(75.0), &peer), Some(false));
        assert_eq!(Bound::InRange.met(&ours(110.0), &peer), Some(true));
        assert_eq!(Bound::InRange.met(&ours(110.1), &peer), Some(false));
        assert_eq!(Bound::InRange.met(&ours(110.1), &ours(100.0)), None);
        assert_eq!(Bound::Shown.met(&ours(0.0), &peer), None);
    }
}
