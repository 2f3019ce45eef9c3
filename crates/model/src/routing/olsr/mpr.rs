//! The choice of multipoint relays (RFC 3626 §8.3.1; with MPR_COVERAGE, §16.2).

use crate::address::Address;

/// Willingness of a node that is never to relay (§18.8).
pub const WILL_NEVER: u8 = 0;
/// Willingness of a node that is always to relay (§18.8).
pub const WILL_ALWAYS: u8 = 7;

/// A symmetric neighbour with a link of the interface in question.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// Its willingness, 0 to 7.
    pub willingness: u8,
    /// The strict 2-hop neighbours that it reaches: neither this node nor symmetric neighbours of it. Sorted.
    pub reaches: Vec<Address>,
}

/// Which candidates are relays: every 2-hop neighbour is covered `coverage` times, or as often as it can be.
#[must_use]
pub fn select(candidates: &[Candidate], coverage: usize) -> Vec<bool> {
    let able: Vec<bool> = candidates.iter().map(|it| it.willingness != WILL_NEVER).collect();
    // The 2-hop neighbours get numbers, in which they are found without a search.
    let most = candidates.iter().filter_map(|it| it.reaches.last()).map(|it| it.index() + 1).max().unwrap_or(0);
    let mut numbers = vec![usize::MAX; most];
    // How many candidates cover each.
    let mut possible: Vec<usize> = Vec::new();
    let (mut all, mut ends) = (Vec::new(), Vec::with_capacity(candidates.len()));
    for (it, able) in candidates.iter().zip(&able) {
        for address in it.reaches.iter().filter(|_| *able) {
            let number = &mut numbers[address.index()];
            if *number == usize::MAX {
                *number = possible.len();
                possible.push(0);
            }
            possible[*number] += 1;
            all.push(*number);
        }
        ends.push(all.len());
    }
    let covers: Vec<&[usize]> =
        std::iter::once(&0).chain(&ends).zip(&ends).map(|(&from, &to)| &all[from..to]).collect();
    let mut covered = vec![0_usize; possible.len()];
    let mut chosen = vec![false; candidates.len()];
    let choose = |it: usize, chosen: &mut Vec<bool>, covered: &mut Vec<usize>| {
        if !std::mem::replace(&mut chosen[it], true) {
            covers[it].iter().for_each(|&node| covered[node] += 1);
        }
    };
    // Steps 1 and 3: those that are always willing, and those without which a node is covered too seldom.
    for it in 0..candidates.len() {
        let needed = covers[it].iter().any(|&node| possible[node] <= coverage);
        if able[it] && (needed || candidates[it].willingness == WILL_ALWAYS) {
            choose(it, &mut chosen, &mut covered);
        }
    }
    // Step 4: willingness, then the number of nodes not yet covered, then D(y), then the lower address.
    let wanted = |node: usize| coverage.min(possible[node]);
    loop {
        let gain = |it: usize| covers[it].iter().filter(|&&node| covered[node] < wanted(node)).count();
        let best = (0..candidates.len())
            .filter(|&it| able[it] && !chosen[it])
            .map(|it| (candidates[it].willingness, gain(it), covers[it].len(), it))
            .filter(|key| key.1 > 0)
            .max_by_key(|&(willingness, gain, degree, it)| (willingness, gain, degree, std::cmp::Reverse(it)));
        match best {
            Some((.., it)) => choose(it, &mut chosen, &mut covered),
            None => break,
        }
    }
    // Step 5: relays that are not needed, in increasing order of willingness.
    let mut order: Vec<usize> = (0..candidates.len()).filter(|&it| chosen[it]).collect();
    order.sort_by_key(|&it| candidates[it].willingness);
    for it in order {
        let spare = covers[it].iter().all(|&node| covered[node] > wanted(node));
        if spare && candidates[it].willingness != WILL_ALWAYS {
            chosen[it] = false;
            covers[it].iter().for_each(|&node| covered[node] -= 1);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn candidates(reach: &[Vec<u32>], willingness: &[u8]) -> Vec<Candidate> {
        let of = |(index, nodes): (usize, &Vec<u32>)| {
            let mut reaches: Vec<_> = nodes.iter().map(|&node| Address(100 + node)).collect();
            reaches.sort_unstable();
            reaches.dedup();
            Candidate { willingness: willingness[index], reaches }
        };
        reach.iter().enumerate().map(of).collect()
    }

    fn covered(candidates: &[Candidate], chosen: impl Fn(usize) -> bool, node: Address) -> usize {
        (0..candidates.len()).filter(|&it| chosen(it) && candidates[it].reaches.contains(&node)).count()
    }

    fn far(candidates: &[Candidate]) -> Vec<Address> {
        let able = candidates.iter().filter(|it| it.willingness != WILL_NEVER);
        let mut far: Vec<_> = able.flat_map(|it| it.reaches.clone()).collect();
        far.sort_unstable();
        far.dedup();
        far
    }

    /// The size of the smallest set that covers all.
    fn smallest(candidates: &[Candidate]) -> usize {
        let far = far(candidates);
        let sets = 0..1_usize << candidates.len();
        let able = |set: usize| (0..candidates.len()).all(|it| set >> it & 1 == 0 || candidates[it].willingness > 0);
        let covers = |set: usize| far.iter().all(|&node| covered(candidates, |it| set >> it & 1 == 1, node) > 0);
        sets.filter(|&set| able(set) && covers(set)).map(|set| set.count_ones() as usize).min().unwrap_or(0)
    }

    proptest! {
        /// Of equal willingness the heuristic is that of greedy set cover, so that it takes at most H(d) times the
        /// fewest relays, d the most that one neighbour covers (Chvátal 1979), beside those that are the only ones.
        #[test]
        fn relays_cover_all_and_are_few(reach in prop::collection::vec(prop::collection::vec(0_u32..14, 0..7), 1..9)) {
            let nodes = candidates(&reach, &vec![3; reach.len()]);
            let chosen = select(&nodes, 1);
            for node in far(&nodes) {
                prop_assert!(covered(&nodes, |it| chosen[it], node) > 0);
            }
            let most = nodes.iter().map(|it| it.reaches.len()).max().unwrap_or(0);
            let harmonic: f64 = (1..=most).map(|n| 1.0 / n as f64).sum();
            let (count, best) = (chosen.iter().filter(|it| **it).count(), smallest(&nodes));
            prop_assert!(count as f64 <= harmonic * best as f64 + 1e-9, "{count} relays, {best} suffice");
            for it in (0..nodes.len()).filter(|&it| chosen[it]) {
                let spare = nodes[it].reaches.iter().all(|&node| covered(&nodes, |other| chosen[other], node) > 1);
                prop_assert!(!spare, "candidate {it} is not needed");
            }
        }

        /// Willingness and coverage: who never relays is no relay, who always does is one, and every node is covered
        /// as often as wanted, or as possible.
        #[test]
        fn relays_cover_as_often_as_wanted(
            reach in prop::collection::vec((0_u8..=7, prop::collection::vec(0_u32..14, 0..7)), 1..12),
            coverage in 1_usize..4,
        ) {
            let (willingness, reach): (Vec<_>, Vec<_>) = reach.into_iter().unzip();
            let nodes = candidates(&reach, &willingness);
            let chosen = select(&nodes, coverage);
            for node in far(&nodes) {
                let able = covered(&nodes, |it| willingness[it] > 0, node);
                prop_assert!(covered(&nodes, |it| chosen[it], node) >= coverage.min(able));
            }
            for it in 0..nodes.len() {
                prop_assert!(willingness[it] != WILL_NEVER || !chosen[it]);
                prop_assert!(willingness[it] != WILL_ALWAYS || chosen[it]);
            }
        }
    }
}
