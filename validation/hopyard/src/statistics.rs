//! Means and confidence intervals.

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Independent figures of one quantity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sample(Vec<f64>);

impl Sample {
    /// A sample of these figures.
    pub const fn new(values: Vec<f64>) -> Self {
        Self(values)
    }

    /// The same in another unit.
    pub fn scaled(&self, factor: f64) -> Self {
        Self(self.0.iter().map(|value| value * factor).collect())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.0.len()
    }

    /// Their mean; not a number when there is none.
    pub fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / self.0.len() as f64
    }

    /// Half the width of the mean's 95 % confidence interval, by Student's t; zero for a single figure.
    pub fn half_width(&self) -> f64 {
        let n = self.0.len() as f64;
        if n < 2.0 {
            return 0.0;
        }
        let mean = self.mean();
        let variance = self.0.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
        StudentsT::new(0.0, 1.0, n - 1.0).map_or(0.0, |t| t.inverse_cdf(0.975)) * (variance / n).sqrt()
    }

    /// The least and the greatest.
    pub fn range(&self) -> (f64, f64) {
        self.0.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &value| (low.min(value), high.max(value)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn students_t_for_ten_figures() {
        let sample = Sample::new((1..=10).map(f64::from).collect());
        assert_eq!(sample.mean(), 5.5);
        // t(0.975; 9) = 2.262157; the standard deviation of 1..10 is 3.027650.
        assert!((sample.half_width() - 2.262_157 * 3.027_650 / 10f64.sqrt()).abs() < 1e-5);
        assert_eq!(sample.range(), (1.0, 10.0));
        assert_eq!(sample.scaled(0.5).range(), (0.5, 5.0));
        assert_eq!(Sample::new(vec![3.0]).half_width(), 0.0);
    }
}
