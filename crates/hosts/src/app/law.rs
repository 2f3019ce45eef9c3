//! The law of a size or a time: constant, of a distribution, or from a file.
//!
//! The first number of a distribution is its mean, as in ns-2's random variables. Pareto and log-normal: Johnson, Kotz
//! and Balakrishnan, Continuous Univariate Distributions, chapters 20 and 14. Validated against the mean and a quantile
//! of each.

use std::fmt::{self, Display};
use std::str::FromStr;
use std::sync::Arc;

use hopyard_engine::as_text;
use hopyard_engine::units::Bytes;
use hopyard_engine::{Rng, Span};

use super::input::{Entry, Format, Input};
use crate::params::Fault;

/// A size or a time.
pub trait Amount: Copy + Display + FromStr + PartialEq {
    /// The contents of its files.
    const FORMAT: Format;
    /// The texts of its laws.
    const EXPECTED: &'static str;

    /// The amount in bytes or nanoseconds.
    fn number(self) -> f64;

    /// The amount of so many bytes or nanoseconds, rounded.
    fn of(number: f64) -> Self;

    /// The amount of a line of a file.
    fn listed(entry: Entry) -> Self;
}

const SIZES: &str = "a size such as \"10 kB\", \"exponential(10 kB)\", \"pareto(10 kB, 1.5)\", \"lognormal(10 kB, 1)\" \
                     (the mean first, then the shape), \"uniform(1 kB, 9 kB)\", \"file(sizes.csv)\" or \
                     \"sample(sizes.csv)\"";
const TIMES: &str = "a time such as \"1 s\", \"exponential(1 s)\", \"pareto(1 s, 1.5)\", \"lognormal(1 s, 1)\" (the \
                     mean first, then the shape), \"uniform(1 s, 9 s)\", \"file(times.csv)\" or \"sample(times.csv)\"";

impl Amount for Bytes {
    const FORMAT: Format = Format::Sizes;
    const EXPECTED: &'static str = SIZES;

    fn number(self) -> f64 {
        self.count() as f64
    }

    /// At least one byte.
    fn of(number: f64) -> Self {
        Self::new(libm::round(number.clamp(1.0, 1e15)) as u64)
    }

    fn listed(entry: Entry) -> Self {
        entry.size
    }
}

impl Amount for Span {
    const FORMAT: Format = Format::Times;
    const EXPECTED: &'static str = TIMES;

    fn number(self) -> f64 {
        self.nanos() as f64
    }

    fn of(number: f64) -> Self {
        Self::from_nanos(libm::round(number.clamp(0.0, 1.6e18)) as u64)
    }

    fn listed(entry: Entry) -> Self {
        entry.time
    }
}

/// The law of a size or a time.
#[derive(Clone, Debug, PartialEq)]
pub enum Law<T> {
    /// Always the same.
    Constant(T),
    /// Exponential, with this mean.
    Exponential(T),
    /// Pareto, with this mean and this shape.
    Pareto(T, f64),
    /// Log-normal, with this mean and this standard deviation of the logarithm.
    LogNormal(T, f64),
    /// Uniform between two bounds.
    Uniform(T, T),
    /// The numbers of a file.
    File {
        /// Its name.
        path: String,
        /// Whether each is drawn, all equally likely, and not taken in order, again and again.
        is_drawn: bool,
        /// The numbers.
        entries: Arc<[Entry]>,
    },
}

impl<T: Amount> FromStr for Law<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse(text.trim()).ok_or_else(|| format!("expected {}, found \"{text}\"", T::EXPECTED))
    }
}

fn parse<T: Amount>(text: &str) -> Option<Law<T>> {
    let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('(')) else {
        return text.parse().ok().map(Law::Constant);
    };
    let is_drawn = name == "sample";
    if is_drawn || name == "file" {
        let path = inner.trim().to_owned();
        return (!path.is_empty()).then_some(Law::File { path, is_drawn, entries: Arc::default() });
    }
    let (first, second) = inner.split_once(',').map_or((inner, None), |(first, second)| (first, Some(second.trim())));
    let first: T = first.trim().parse().ok()?;
    let shape = |most: f64| second?.parse().ok().filter(|shape| (0.0..=most).contains(shape));
    let law = match name {
        "exponential" if second.is_none() => Law::Exponential(first),
        // The mean is infinite up to a shape of one.
        "pareto" => Law::Pareto(first, shape(1000.0).filter(|shape| *shape > 1.0)?),
        "lognormal" => Law::LogNormal(first, shape(10.0)?),
        "uniform" => Law::Uniform(first, second?.parse().ok().filter(|last: &T| last.number() >= first.number())?),
        _ => return None,
    };
    Some(law)
}

impl<T: Display> Display for Law<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Exponential(mean) => write!(f, "exponential({mean})"),
            Self::Pareto(mean, shape) => write!(f, "pareto({mean}, {shape})"),
            Self::LogNormal(mean, shape) => write!(f, "lognormal({mean}, {shape})"),
            Self::Uniform(first, last) => write!(f, "uniform({first}, {last})"),
            Self::File { path, is_drawn: false, .. } => write!(f, "file({path})"),
            Self::File { path, .. } => write!(f, "sample({path})"),
        }
    }
}

as_text!(Law<Bytes>, "Sizes", SIZES, ["10 kB", "exponential(10 kB)"]);
as_text!(Law<Span>, "Times", TIMES, ["1 s", "exponential(1 s)"]);

impl<T: Amount> Law<T> {
    /// Draws an amount. `taken` counts those that were taken of a file.
    pub(super) fn draw(&self, rng: &mut Rng, taken: &mut u64) -> T {
        match self {
            Self::Constant(value) => *value,
            Self::Exponential(mean) => T::of(rng.exponential(mean.number())),
            Self::Pareto(mean, shape) => {
                let least = mean.number() * (shape - 1.0) / shape;
                T::of(least * libm::pow(1.0 - rng.uniform(), -1.0 / shape))
            }
            Self::LogNormal(mean, shape) => {
                let scale = mean.number() * libm::exp(-0.5 * shape * shape);
                T::of(scale * libm::exp(shape * rng.normal()))
            }
            Self::Uniform(first, last) => T::of(rng.uniform_in(first.number(), last.number())),
            // A scenario always has the numbers; a single number stands for them before they are read.
            Self::File { entries, .. } if entries.is_empty() => T::of(1e3),
            Self::File { is_drawn: true, entries, .. } => T::listed(entries[rng.below(entries.len() as u64) as usize]),
            Self::File { entries, .. } => {
                let place = *taken % entries.len() as u64;
                *taken += 1;
                T::listed(entries[place as usize])
            }
        }
    }

    /// The largest amount if it is constant, has bounds or is from a file; otherwise the mean.
    pub(super) fn most(&self) -> T {
        match self {
            Self::Constant(value) | Self::Uniform(_, value) => *value,
            Self::Exponential(mean) | Self::Pareto(mean, _) | Self::LogNormal(mean, _) => *mean,
            Self::File { entries, .. } => {
                let listed = entries.iter().map(|entry| T::listed(*entry));
                listed.max_by(|a, b| a.number().total_cmp(&b.number())).unwrap_or(T::of(1e3))
            }
        }
    }

    /// The file that a parameter with this law names.
    pub(super) fn input(&mut self, key: &'static str) -> Option<Input<'_>> {
        match self {
            Self::File { path, entries, .. } => Some(Input { key, path, format: T::FORMAT, entries }),
            _ => None,
        }
    }
}

/// Checks a law of sizes.
///
/// # Errors
/// If every object would be empty.
pub(super) fn check_size(parameter: &'static str, law: &Law<Bytes>) -> Result<(), Fault> {
    if law.most().count() == 0 {
        return Err(Fault::new(parameter, format!("must be above zero, found {law}")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::testing::rng;

    fn sizes(text: &str) -> Law<Bytes> {
        text.parse().unwrap_or_else(|error| panic!("{error}"))
    }

    /// Many draws, in order of their size.
    fn drawn(text: &str) -> Vec<f64> {
        let (law, mut rng, mut taken) = (sizes(text), rng(), 0);
        let mut found: Vec<f64> = (0..100_000).map(|_| law.draw(&mut rng, &mut taken).number()).collect();
        found.sort_by(f64::total_cmp);
        found
    }

    #[test]
    fn each_distribution_has_its_mean_and_its_quantiles() {
        // The 90 % quantile of a mean of 100 kB: -ln 0.1; (k-1)/k · 0.1^(-1/k); exp(σz - σ²/2), z = 1.281552; uniform.
        let rows = [
            ("exponential(100 kB)", 230_259.0),
            ("pareto(100 kB, 2.5)", 60_000.0 * libm::pow(0.1, -0.4)),
            ("lognormal(100 kB, 0.8)", 100_000.0 * libm::exp(0.8 * 1.281_552 - 0.32)),
            ("uniform(20 kB, 180 kB)", 164_000.0),
        ];
        for (text, quantile) in rows {
            let found = drawn(text);
            let mean = found.iter().sum::<f64>() / found.len() as f64;
            assert!((mean / 1e5 - 1.0).abs() < 0.015, "{text}: mean {mean}");
            assert!((found[90_000] / quantile - 1.0).abs() < 0.02, "{text}: {} for {quantile}", found[90_000]);
        }
        assert!(drawn("pareto(100 kB, 2.5)")[0] >= 60_000.0);
        assert!(drawn("exponential(1 B)")[0] >= 1.0, "no object is empty");
    }

    #[test]
    fn numbers_of_a_file_are_taken_in_order_or_drawn() {
        let entries: Arc<[Entry]> = [7, 8, 9].map(|it| Entry { size: Bytes::new(it), ..Entry::default() }).into();
        let draws = |text: &str| {
            let mut law = sizes(text);
            *law.input("size").expect("a file").entries = Arc::clone(&entries);
            let (mut rng, mut taken) = (rng(), 0);
            (0..3000).map(|_| law.draw(&mut rng, &mut taken).count()).collect::<Vec<_>>()
        };
        assert_eq!(draws("file(sizes.csv)")[..5], [7, 8, 9, 7, 8]);
        let sampled = draws("sample(sizes.csv)");
        for size in [7, 8, 9] {
            let count = sampled.iter().filter(|it| **it == size).count();
            // Four standard errors of 1000 in 3000.
            assert!(count.abs_diff(1000) < 104, "{count} times {size}");
        }
    }

    #[test]
    fn texts_are_laws_and_laws_are_texts() {
        for text in [
            "10000 B",
            "exponential(10000 B)",
            "pareto(10000 B, 1.5)",
            "lognormal(10000 B, 1)",
            "uniform(1000 B, 9000 B)",
            "file(a, b (c).csv)",
            "sample(sizes.csv)",
        ] {
            assert_eq!(sizes(text).to_string(), text);
        }
        assert_eq!(sizes(" pareto( 10 kB,1.5 )"), sizes("pareto(10000 B, 1.5)"));
        for text in [
            "10",
            "10 ms",
            "exponential()",
            "exponential(1 kB, 2)",
            "pareto(1 kB)",
            "pareto(1 kB, 1)",
            "lognormal(1 kB, -1)",
            "uniform(9 kB, 1 kB)",
            "uniform(9 kB)",
            "gamma(1 kB, 2)",
            "file()",
            "exponential(1 kB",
        ] {
            let error = text.parse::<Law<Bytes>>().expect_err(text);
            assert!(error.starts_with("expected a size such as") && error.ends_with(&format!("found \"{text}\"")));
        }
        assert!("1 kB".parse::<Law<Span>>().is_err() && "lognormal(1 s, 2)".parse::<Law<Span>>().is_ok());
    }
}
