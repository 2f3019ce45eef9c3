//! How a model forms groups of its nodes: how many nodes each group has.

use hopyard_engine::Rng;

/// The sizes of groups.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Grouping {
    /// The number of groups, of sizes as equal as possible; 0 if the sizes are drawn.
    pub groups: u32,
    /// The mean of the size that is drawn, before it is rounded.
    pub size_mean: f64,
    /// Its standard deviation.
    pub size_spread: f64,
}

impl Grouping {
    /// The sizes of the groups of this number of nodes, from the first group on.
    ///
    /// A drawn size is normally distributed, rounded, and drawn again while it is below one. The last group has what is
    /// left.
    #[must_use]
    pub fn sizes(&self, nodes: usize, mut rng: Rng) -> Vec<usize> {
        let mut sizes = Vec::new();
        if self.groups > 0 {
            let groups = (self.groups as usize).min(nodes);
            sizes.extend((0..groups).map(|group| nodes / groups + usize::from(group < nodes % groups)));
            return sizes;
        }
        let mut left = nodes;
        while left > 0 {
            let size = loop {
                let deviation = if self.size_spread > 0.0 { self.size_spread * rng.normal() } else { 0.0 };
                let size = libm::floor(self.size_mean + deviation + 0.5);
                if size >= 1.0 {
                    break size as usize;
                }
            };
            sizes.push(size.min(left));
            left -= size.min(left);
        }
        sizes
    }

    /// Whether the groups of this number of nodes are the same in every run.
    #[must_use]
    pub const fn is_fixed(&self) -> bool {
        self.groups > 0 || self.size_spread == 0.0
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Streams;

    use super::*;

    fn sizes(grouping: Grouping, nodes: usize, run: u64) -> Vec<usize> {
        grouping.sizes(nodes, Streams::new(5, run).stream("groups"))
    }

    fn drawn(size_mean: f64, size_spread: f64) -> Grouping {
        Grouping { groups: 0, size_mean, size_spread }
    }

    #[test]
    fn the_last_group_is_cut_to_fit() {
        assert_eq!(sizes(drawn(6.0, 0.0), 20, 0), [6, 6, 6, 2]);
        assert_eq!(sizes(drawn(2.5, 0.0), 6, 0), [3, 3], "halves are rounded up");
        assert_eq!(sizes(drawn(50.0, 0.0), 4, 0), [4]);
        assert!(sizes(drawn(6.0, 0.0), 0, 0).is_empty());
    }

    #[test]
    fn a_number_of_groups_shares_nodes_out_evenly() {
        let even = |groups, nodes| sizes(Grouping { groups, ..drawn(6.0, 0.0) }, nodes, 0);
        assert_eq!(even(3, 11), [4, 4, 3]);
        assert_eq!(even(4, 8), [2; 4]);
        assert_eq!(even(9, 2), [1, 1], "a scenario refuses more groups than nodes");
    }

    #[test]
    fn drawn_sizes_are_at_least_one_and_have_the_distribution() {
        // Normal with mean 3 and deviation 2, without what rounds to less than 1, as BonnMotion's defaults are.
        let grouping = drawn(3.0, 2.0);
        let all = sizes(grouping, 300_000, 0);
        assert_eq!(all.iter().sum::<usize>(), 300_000);
        let count = all.len() as f64;
        let share = |size: usize| all.iter().filter(|it| **it == size).count() as f64 / count;
        // The probabilities from the normal distribution function, divided by 1 - Phi(-1.25) = 0.8944.
        for (size, expected) in [(0, 0.0), (1, 0.1352), (2, 0.1948), (3, 0.2207), (4, 0.1948), (5, 0.1352)] {
            assert!((share(size) - expected).abs() < 0.005, "{size}: {}", share(size));
        }
        assert_ne!(sizes(grouping, 60, 1), sizes(grouping, 60, 2), "drawn anew in each run");
        // What is drawn for more nodes begins with what is drawn for fewer.
        let (few, many) = (sizes(grouping, 60, 3), sizes(grouping, 600, 3));
        assert_eq!(few[..few.len() - 1], many[..few.len() - 1]);
    }
}
