//! The choice of multipoint relays (RFC 3626 §8.3.1; with MPR_COVERAGE, §16.2).

use crate::address::Address;

/// Willingness of a node that is never to relay (§18.8).
pub const WILL_NEVER: u8 = 0;
/// Willingness of a node that is always to relay (§18.8).
pub const WILL_ALWAYS: u8 = 7;

/// A symmetric neighbour with a link of the interface in question.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its willingness, 0 to 7.
    pub willingness: u8,
    /// The nodes that it reaches, without this node, each with a cost that is not asked for. Sorted.
    pub reaches: &'a [(Address, u32)],
}

/// The number of an address that no candidate reaches.
const UNREACHED: u32 = u32::MAX;
/// The mark of a symmetric neighbour, which is not covered: it is no strict 2-hop neighbour.
const NEAR: u32 = u32::MAX - 1;

/// Which candidates are relays: every strict 2-hop neighbour is covered `coverage` times, or as often as it can be.
/// `near` are the symmetric neighbours, sorted.
#[must_use]
pub fn select(candidates: &[Candidate<'_>], near: &[Address], coverage: u32) -> Vec<bool> {
    let able = |it: usize| candidates[it].willingness != WILL_NEVER;
    // The 2-hop neighbours get numbers, in which they are found without a search.
    let last = candidates.iter().filter_map(|it| it.reaches.last()).map(|it| it.0);
    let most = last.chain(near.last().copied()).map(|it| it.index() + 1).max().unwrap_or(0);
    let mut numbers = vec![UNREACHED; most];
    near.iter().for_each(|it| numbers[it.index()] = NEAR);
    // What each candidate covers, one after the other, and how many candidates cover each.
    let sum = candidates.iter().map(|it| it.reaches.len()).sum();
    let (mut all, mut ends) = (Vec::with_capacity(sum), Vec::with_capacity(candidates.len() + 1));
    let mut possible: Vec<u32> = Vec::with_capacity(sum.min(most));
    ends.push(0);
    for it in candidates {
        if it.willingness != WILL_NEVER {
            for &(address, _) in it.reaches {
                let number = &mut numbers[address.index()];
                match *number {
                    NEAR => continue,
                    UNREACHED => {
                        *number = possible.len() as u32;
                        possible.push(1);
                    }
                    known => possible[known as usize] += 1,
                }
                all.push(*number);
            }
        }
        ends.push(all.len());
    }
    let covers = |it: usize| all[ends[it]..ends[it + 1]].iter().map(|&node| node as usize);
    let degree = |it: usize| ends[it + 1] - ends[it];
    let mut covered = vec![0_u32; possible.len()];
    let mut chosen = vec![false; candidates.len()];
    let choose = |it: usize, chosen: &mut Vec<bool>, covered: &mut Vec<u32>| {
        if !std::mem::replace(&mut chosen[it], true) {
            covers(it).for_each(|node| covered[node] += 1);
        }
    };
    // Steps 1 and 3: those that are always willing, and those without which a node is covered too seldom.
    for (it, candidate) in candidates.iter().enumerate() {
        let needed = covers(it).any(|node| possible[node] <= coverage);
        if able(it) && (needed || candidate.willingness == WILL_ALWAYS) {
            choose(it, &mut chosen, &mut covered);
        }
    }
    // Step 4: willingness, then the number of nodes not yet covered, then D(y), then the lower address.
    let wanted = |node: usize| coverage.min(possible[node]);
    // That number never grows, and is counted only where the former one leaves hope.
    let mut gains: Vec<usize> = (0..candidates.len()).map(degree).collect();
    loop {
        let mut best = None;
        for it in (0..candidates.len()).filter(|&it| able(it) && !chosen[it]) {
            let key = |gain: usize| (candidates[it].willingness, gain, degree(it));
            if gains[it] == 0 || best.is_some_and(|(best, _)| key(gains[it]) <= best) {
                continue;
            }
            gains[it] = covers(it).filter(|&node| covered[node] < wanted(node)).count();
            if gains[it] > 0 && best.is_none_or(|(best, _)| key(gains[it]) > best) {
                best = Some((key(gains[it]), it));
            }
        }
        match best {
            Some((_, it)) => choose(it, &mut chosen, &mut covered),
            None => break,
        }
    }
    // Step 5: relays that are not needed, in increasing order of willingness.
    let mut order: Vec<usize> = (0..candidates.len()).filter(|&it| chosen[it]).collect();
    order.sort_by_key(|&it| candidates[it].willingness);
    for it in order {
        let spare = covers(it).all(|node| covered[node] > wanted(node));
        if spare && candidates[it].willingness != WILL_ALWAYS {
            chosen[it] = false;
            covers(it).for_each(|node| covered[node] -= 1);
        }
    }
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The nodes that candidates reach: from 100 on.
    fn reached(reach: &[Vec<u32>]) -> Vec<Vec<(Address, u32)>> {
        let of = |nodes: &Vec<u32>| {
            let mut reaches: Vec<_> = nodes.iter().map(|&node| (Address(100 + node), 1)).collect();
            reaches.sort_unstable();
            reaches.dedup();
            reaches
        };
        reach.iter().map(of).collect()
    }

    fn candidates<'a>(reach: &'a [Vec<(Address, u32)>], willingness: &[u8]) -> Vec<Candidate<'a>> {
        reach.iter().zip(willingness).map(|(reaches, &willingness)| Candidate { willingness, reaches }).collect()
    }

    fn covered(candidates: &[Candidate<'_>], chosen: impl Fn(usize) -> bool, node: Address) -> usize {
        (0..candidates.len()).filter(|&it| chosen(it) && candidates[it].reaches.contains(&(node, 1))).count()
    }

    fn far(candidates: &[Candidate<'_>]) -> Vec<Address> {
        let able = candidates.iter().filter(|it| it.willingness != WILL_NEVER);
        let mut far: Vec<_> = able.flat_map(|it| it.reaches).map(|it| it.0).collect();
        far.sort_unstable();
        far.dedup();
        far
    }

    /// The size of the smallest set that covers all.
    fn smallest(candidates: &[Candidate<'_>]) -> usize {
        let far = far(candidates);
        let sets = 0..1_usize << candidates.len();
        let able = |set: usize| (0..candidates.len()).all(|it| set >> it & 1 == 0 || candidates[it].willingness > 0);
        let covers = |set: usize| far.iter().all(|&node| covered(candidates, |it| set >> it & 1 == 1, node) > 0);
        sets.filter(|&set| able(set) && covers(set)).map(|set| set.count_ones() as usize).min().unwrap_or(0)
    }

    /// Steps 3 to 5 as they stand in the RFC, with every number counted anew.
    fn plain(candidates: &[Candidate<'_>], near: &[Address], coverage: usize) -> Vec<bool> {
        let able = |it: &Candidate<'_>| it.willingness != WILL_NEVER;
        let strict = |it: &Candidate<'_>| -> Vec<Address> {
            let all = it.reaches.iter().map(|it| it.0);
            all.filter(|to| able(it) && !near.contains(to)).collect()
        };
        let all: Vec<Vec<Address>> = candidates.iter().map(strict).collect();
        let covers = |it: usize| all[it].iter().copied();
        let count = |chosen: &[bool], node: Address| {
            (0..candidates.len()).filter(|&it| chosen[it] && all[it].contains(&node)).count()
        };
        let everybody = vec![true; candidates.len()];
        let wanted = |node: Address| coverage.min(count(&everybody, node));
        let mut chosen: Vec<bool> = (0..candidates.len())
            .map(|it| {
                let needed = covers(it).any(|node| count(&everybody, node) <= coverage);
                needed || candidates[it].willingness == WILL_ALWAYS
            })
            .collect();
        loop {
            let gain = |it: usize| covers(it).filter(|&to| count(&chosen, to) < wanted(to)).count();
            let left = (0..candidates.len()).filter(|&it| !chosen[it] && gain(it) > 0);
            let key = |it: usize| (candidates[it].willingness, gain(it), covers(it).len(), std::cmp::Reverse(it));
            let Some(best) = left.max_by_key(|&it| key(it)) else { break };
            chosen[best] = true;
        }
        for willingness in 0..WILL_ALWAYS {
            for it in (0..candidates.len()).filter(|&it| candidates[it].willingness == willingness) {
                let spare = covers(it).all(|node| count(&chosen, node) > wanted(node));
                chosen[it] &= !spare;
            }
        }
        chosen
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        /// No gain is counted too seldom, and symmetric neighbours are not covered.
        #[test]
        fn relays_are_those_of_a_plain_count(
            reach in prop::collection::vec((0_u8..=7, prop::collection::vec(0_u32..14, 0..9)), 1..12),
            near in prop::collection::btree_set(0_u32..14, 0..5),
            coverage in 1_u32..4,
        ) {
            let (willingness, reach): (Vec<_>, Vec<_>) = reach.into_iter().unzip();
            let reach = reached(&reach);
            let nodes = candidates(&reach, &willingness);
            let near: Vec<Address> = near.into_iter().map(|node| Address(100 + node)).collect();
            prop_assert_eq!(select(&nodes, &near, coverage), plain(&nodes, &near, coverage as usize));
        }
    }

    proptest! {
        /// For neighbours of equal willingness the heuristic is a greedy set cover. Besides the relays that have no
        /// alternative, it takes at most H(d) times the fewest relays (Chvátal 1979). Here d is the largest number of
        /// nodes that one neighbour covers.
        #[test]
        fn relays_cover_all_and_are_few(reach in prop::collection::vec(prop::collection::vec(0_u32..14, 0..7), 1..9)) {
            let reach = reached(&reach);
            let nodes = candidates(&reach, &vec![3; reach.len()]);
            let chosen = select(&nodes, &[], 1);
            for node in far(&nodes) {
                prop_assert!(covered(&nodes, |it| chosen[it], node) > 0);
            }
            let most = nodes.iter().map(|it| it.reaches.len()).max().unwrap_or(0);
            let harmonic: f64 = (1..=most).map(|n| 1.0 / n as f64).sum();
            let (count, best) = (chosen.iter().filter(|it| **it).count(), smallest(&nodes));
            prop_assert!(count as f64 <= harmonic * best as f64 + 1e-9, "{count} relays, {best} suffice");
            for it in (0..nodes.len()).filter(|&it| chosen[it]) {
                let spare = nodes[it].reaches.iter().all(|node| covered(&nodes, |other| chosen[other], node.0) > 1);
                prop_assert!(!spare, "candidate {it} is not needed");
            }
        }

        /// Willingness and coverage: who never relays is no relay, who always does is one, and every node is covered
        /// as often as wanted, or as possible.
        #[test]
        fn relays_cover_as_often_as_wanted(
            reach in prop::collection::vec((0_u8..=7, prop::collection::vec(0_u32..14, 0..7)), 1..12),
            coverage in 1_u32..4,
        ) {
            let (willingness, reach): (Vec<_>, Vec<_>) = reach.into_iter().unzip();
            let reach = reached(&reach);
            let nodes = candidates(&reach, &willingness);
            let chosen = select(&nodes, &[], coverage);
            for node in far(&nodes) {
                let able = covered(&nodes, |it| willingness[it] > 0, node);
                prop_assert!(covered(&nodes, |it| chosen[it], node) >= (coverage as usize).min(able));
            }
            for it in 0..nodes.len() {
                prop_assert!(willingness[it] != WILL_NEVER || !chosen[it]);
                prop_assert!(willingness[it] != WILL_ALWAYS || chosen[it]);
            }
        }
    }
}
