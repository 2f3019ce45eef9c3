//! Flows between pairs of nodes that are drawn, and the groups within or between which they are.

use std::collections::{BTreeMap, BTreeSet};

use hopyard_engine::{Rng, Span, Streams};
use hopyard_model::address::NodeId;
use hopyard_model::mobility::{Config, Nodes, Position, Spec};

use crate::flow_keys::{Flows, Pairs};
use crate::resolve::{Moving, Resolved};

/// A flow that was drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drawn {
    pub from: u32,
    pub to: u32,
    pub start: Span,
}

/// The flows of each set of a run.
pub(crate) fn drawn_flows(resolved: &Resolved, streams: &Streams) -> Vec<Vec<Drawn>> {
    let mut groups = None;
    let sets = resolved.random_flows.iter().enumerate();
    let draw = |(number, set): (usize, &crate::resolve::RandomFlows)| {
        // The first set has the stream that the only set has.
        let name = if number == 0 { "flows".to_owned() } else { format!("flows/{number}") };
        let partners = match set.flows.pairs {
            Pairs::Any => Partners::of_any(resolved.talking()),
            pairs => {
                let groups = groups.get_or_insert_with(|| groups_of(resolved, streams));
                Partners::new(pairs, groups)
            }
        };
        partners.draw(&set.flows, streams.stream(&name))
    };
    sets.map(draw).collect()
}

/// The group of each node with a radio in a run: the node that stands for it.
pub(crate) fn groups_of(resolved: &Resolved, streams: &Streams) -> Vec<u32> {
    let models = std::iter::once(&resolved.mobility).chain(resolved.movements.iter().map(|(_, chosen)| chosen));
    let models: Vec<Option<&Config>> = models.map(Moving::sound).collect();
    let tables = tables(resolved);
    let spec = |&table: &u32| {
        let model = models[table as usize]?;
        Some(Spec { model, start: Position::default(), movements: None, table })
    };
    let Some(specs) = tables.iter().map(spec).collect::<Option<Vec<_>>>() else { return Vec::new() };
    let nodes = Nodes::new(&specs, *streams);
    (0..resolved.talking()).map(|node| nodes.head(NodeId(node)).0).collect()
}

/// The table that says how each node with a radio moves: 0 for `[mobility]`, then the `[[movement]]` tables.
pub(crate) fn tables(resolved: &Resolved) -> Vec<u32> {
    let mut tables = vec![0; resolved.nodes.count as usize];
    for (number, (movement, _)) in (1..).zip(&resolved.movements) {
        for node in &movement.nodes {
            if let Some(table) = tables.get_mut(*node as usize) {
                *table = number;
            }
        }
    }
    tables
}

/// With which nodes each node can be drawn.
#[derive(Debug)]
pub(crate) struct Partners {
    pairs: Pairs,
    /// The nodes, group by group.
    order: Vec<u32>,
    /// For each node the places of its group in `order`, from the first to behind the last.
    groups: Vec<(u32, u32)>,
}

impl Partners {
    /// Every node with every other.
    fn of_any(nodes: u32) -> Self {
        Self {
            pairs: Pairs::Any,
            order: (0..nodes).collect(),
            groups: (0..nodes).map(|node| (node, node + 1)).collect(),
        }
    }

    /// Nodes with these groups.
    pub(crate) fn new(pairs: Pairs, groups: &[u32]) -> Self {
        let mut members: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (node, group) in (0..).zip(groups) {
            members.entry(*group).or_default().push(node);
        }
        let mut places = vec![(0, 0); groups.len()];
        let mut order = Vec::with_capacity(groups.len());
        for nodes in members.into_values() {
            let place = (order.len() as u32, (order.len() + nodes.len()) as u32);
            nodes.iter().for_each(|node| places[*node as usize] = place);
            order.extend(nodes);
        }
        Self { pairs, order, groups: places }
    }

    /// The number of nodes to which a node can send.
    fn choices(&self, node: usize) -> u64 {
        let (first, end) = self.groups[node];
        let own = u64::from(end - first);
        match self.pairs {
            Pairs::Any => self.order.len() as u64 - 1,
            Pairs::WithinGroup => own - 1,
            Pairs::BetweenGroups => self.order.len() as u64 - own,
        }
    }

    /// One of the nodes to which a node can send, by its number among them.
    fn choice(&self, node: usize, number: u64) -> u32 {
        let (first, end) = self.groups[node];
        let number = number as u32;
        let place = match self.pairs {
            Pairs::BetweenGroups => number + if number >= first { end - first } else { 0 },
            Pairs::Any => return number + u32::from(number >= node as u32),
            // The members of a group are in increasing order.
            Pairs::WithinGroup => {
                let own = self.order[first as usize..end as usize].partition_point(|other| *other < node as u32);
                first + number + u32::from(number >= own as u32)
            }
        };
        self.order[place as usize]
    }

    /// The number of ordered pairs.
    pub(crate) fn count(&self) -> u64 {
        (0..self.groups.len()).map(|node| self.choices(node)).sum()
    }

    /// The nodes that can send to another.
    pub(crate) fn sources(&self) -> Vec<u32> {
        (0..self.groups.len()).filter(|&node| self.choices(node) > 0).map(|node| node as u32).collect()
    }

    /// The flows of a set: distinct ordered pairs, or a flow from each of several distinct sources. There are fewer
    /// than the set asks for if there are no more.
    fn draw(&self, set: &Flows, mut rng: Rng) -> Vec<Drawn> {
        let nodes = self.groups.len() as u32;
        let count = u64::from(set.number(nodes));
        let spread = (set.start[1] - set.start[0]).seconds();
        let start = |rng: &mut Rng| set.start[0] + Span::from_secs_f64(spread * rng.uniform());
        if set.number_key() == "share" {
            let sources = self.sources();
            let drawn = sample(count, sources.len() as u64, &mut rng);
            let flow = |number: u64| {
                let from = sources[number as usize];
                let to = self.choice(from as usize, rng.below(self.choices(from as usize)));
                Drawn { from, to, start: start(&mut rng) }
            };
            return drawn.into_iter().map(flow).collect();
        }
        // Pairs are numbered by their sources: those of a node come after those of the nodes before it.
        let mut after = Vec::with_capacity(nodes as usize);
        let mut pairs = 0;
        for node in 0..nodes as usize {
            pairs += self.choices(node);
            after.push(pairs);
        }
        let drawn = sample(count, pairs, &mut rng);
        let flow = |number: u64| {
            let from = after.partition_point(|after| *after <= number);
            let before = from.checked_sub(1).map_or(0, |node| after[node]);
            Drawn { from: from as u32, to: self.choice(from, number - before), start: start(&mut rng) }
        };
        drawn.into_iter().map(flow).collect()
    }
}

/// `count` distinct numbers below `end`, or all of them if there are no more, in random order.
fn sample(count: u64, end: u64, rng: &mut Rng) -> Vec<u64> {
    // Floyd's sampling: each set of numbers is equally likely, whatever their number. Then the order is drawn
    // (Fisher-Yates).
    let mut numbers: Vec<u64> = Vec::with_capacity(count.min(end) as usize);
    let mut taken = BTreeSet::new();
    for last in end.saturating_sub(count)..end {
        let number = rng.below(last + 1);
        let number = if taken.insert(number) { number } else { last };
        taken.insert(number);
        numbers.push(number);
    }
    for i in (1..numbers.len()).rev() {
        numbers.swap(i, rng.below(i as u64 + 1) as usize);
    }
    numbers
}

#[cfg(test)]
mod tests {
    use hopyard_model::params::{Params as _, RFC};

    use super::*;

    fn set(random: u32, share: f64, pairs: Pairs) -> Flows {
        let start = [Span::from_secs(1), Span::from_secs(3)];
        Flows { random, share, pairs, start, ..Flows::of_profile(RFC) }
    }

    fn stream(run: u64) -> Rng {
        Streams::new(7, run).stream("flows")
    }

    /// Nodes 0, 2 and 5 are a group, 1 and 4 are another, and 3 is alone.
    const GROUPS: [u32; 6] = [0, 1, 0, 3, 1, 0];

    #[test]
    fn drawn_flows_are_distinct_pairs_and_all_equally_likely() {
        let mut counts = BTreeMap::new();
        for run in 0..4000 {
            let flows = Partners::of_any(4).draw(&set(3, 0.0, Pairs::Any), stream(run));
            let pairs: BTreeSet<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
            assert_eq!(pairs.len(), 3);
            for flow in &flows {
                assert!(flow.from != flow.to && flow.from < 4 && flow.to < 4);
                assert!(flow.start >= Span::from_secs(1) && flow.start < Span::from_secs(3));
            }
            *counts.entry((flows[0].from, flows[0].to)).or_insert(0) += 1;
        }
        // There are 12 pairs. Each is the first in 333 of 4000 draws on average, with a standard deviation of 17.5.
        assert_eq!(counts.len(), 12);
        assert!(counts.values().all(|&count: &i32| (count - 333).abs() < 90), "{counts:?}");
        let all = Partners::of_any(4).draw(&set(12, 0.0, Pairs::Any), stream(0));
        assert_eq!(all.iter().map(|flow| (flow.from, flow.to)).collect::<BTreeSet<_>>().len(), 12);
    }

    #[test]
    fn pairs_are_within_or_between_groups_and_equally_likely() {
        for (pairs, expected) in [(Pairs::WithinGroup, 8), (Pairs::BetweenGroups, 22), (Pairs::Any, 30)] {
            let partners = Partners::new(pairs, &GROUPS);
            assert_eq!(partners.count(), expected, "{pairs:?}");
            let mut counts = BTreeMap::new();
            for run in 0..200 * expected {
                for flow in partners.draw(&set(2, 0.0, pairs), stream(run)) {
                    *counts.entry((flow.from, flow.to)).or_insert(0) += 1;
                }
            }
            assert_eq!(counts.len() as u64, expected, "{pairs:?}");
            for ((from, to), count) in counts {
                let same = GROUPS[from as usize] == GROUPS[to as usize];
                assert!(from != to && (pairs == Pairs::Any || same == (pairs == Pairs::WithinGroup)), "{from} {to}");
                // 400 on average, with a standard deviation of about 20.
                assert!((count - 400_i32).abs() < 100, "{from} {to}: {count}");
            }
            let all = partners.draw(&set(99, 0.0, pairs), stream(0));
            assert_eq!(all.len() as u64, expected, "there are no more");
        }
    }

    #[test]
    fn a_share_gives_each_source_one_flow() {
        for (pairs, able) in [(Pairs::WithinGroup, 5), (Pairs::BetweenGroups, 6), (Pairs::Any, 6)] {
            let partners = Partners::new(pairs, &GROUPS);
            assert_eq!(partners.sources().len(), able);
            let mut counts = BTreeMap::new();
            for run in 0..3000 {
                let flows = partners.draw(&set(0, 0.5, pairs), stream(run));
                let sources: BTreeSet<u32> = flows.iter().map(|flow| flow.from).collect();
                assert_eq!((flows.len(), sources.len()), (3, 3));
                for flow in flows {
                    let same = GROUPS[flow.from as usize] == GROUPS[flow.to as usize];
                    assert!(flow.from != flow.to && (pairs == Pairs::Any || same == (pairs == Pairs::WithinGroup)));
                    *counts.entry((flow.from, flow.to)).or_insert(0) += 1;
                }
            }
            assert_eq!(counts.len() as u64, partners.count());
            for source in partners.sources() {
                let own: Vec<i32> = counts.iter().filter(|((from, _), _)| *from == source).map(|(_, n)| *n).collect();
                let (sum, expected) = (own.iter().sum::<i32>(), 9000 / able as i32);
                assert!((sum - expected).abs() < 150, "{source}: {sum} of {expected}");
                let each = sum / own.len() as i32;
                assert!(own.iter().all(|count| (count - each).abs() < 150), "{own:?}");
            }
            assert_eq!(partners.draw(&set(0, 0.1, pairs), stream(0)), []);
        }
    }
}
