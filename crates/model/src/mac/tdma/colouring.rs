//! Slots that somebody gives out who sees the whole network: bounds beside which protocols are measured.
//!
//! A network is given as the hearers of each node, sorted or not; hearing need not be mutual. Frames of two nodes
//! conflict if one of the nodes hears the other, or if a third node hears both. Where all hearing is mutual, such nodes
//! are those within two hops of each other.

/// The most slots that a greedy schedule needs, and DRAND too: the largest number of rivals of a node (the δ2 of the
/// documentation). One slot more is enough.
#[must_use]
pub fn most_rivals(hearers: &[Vec<u32>]) -> usize {
    rivals(hearers).iter().map(Vec::len).max().unwrap_or(0)
}

/// The other nodes with which each node must not share a slot.
#[must_use]
pub fn rivals(hearers: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut heard = vec![Vec::new(); hearers.len()];
    for (node, hearers) in (0_u32..).zip(hearers) {
        hearers.iter().for_each(|&hearer| heard[hearer as usize].push(node));
    }
    // The last node for which each node was found.
    let mut seen = vec![u32::MAX; hearers.len()];
    let of = |node: u32| {
        seen[node as usize] = node;
        let reached = &hearers[node as usize];
        let beside = reached.iter().flat_map(|&hearer| &heard[hearer as usize]);
        let mut found = Vec::new();
        for &other in reached.iter().chain(&heard[node as usize]).chain(beside) {
            if seen[other as usize] != node {
                seen[other as usize] = node;
                found.push(other);
            }
        }
        found
    };
    (0..hearers.len() as u32).map(of).collect()
}

/// The greedy schedule: in the order of their numbers, each node takes the smallest slot that none of its rivals has.
/// Computed again at every change of the network, it is the schedule of an observer who knows everything at every
/// instant. Computed once, at the start, it is a frozen schedule.
#[must_use]
pub fn greedy(rivals: &[Vec<u32>]) -> Vec<u16> {
    let mut slots: Vec<Option<u16>> = vec![None; rivals.len()];
    for (node, others) in rivals.iter().enumerate() {
        let mut taken: Vec<u16> = others.iter().filter_map(|&other| slots[other as usize]).collect();
        taken.sort_unstable();
        taken.dedup();
        let free = (0..u16::MAX).zip(&taken).take_while(|&(slot, &taken)| slot == taken).count();
        slots[node] = Some(free as u16);
    }
    slots.into_iter().flatten().collect()
}

/// The pairs of rivals that have the same slot, the smaller number first; sorted.
#[must_use]
pub fn conflicts(hearers: &[Vec<u32>], slots: &[Option<u16>]) -> Vec<(u32, u32)> {
    let rivals = rivals(hearers);
    let mut found = Vec::new();
    for ((node, slot), others) in (0_u32..).zip(slots).zip(&rivals).filter(|((_, slot), _)| slot.is_some()) {
        let others = others.iter().copied().filter(|&other| other > node);
        found.extend(others.filter(|&other| slots[other as usize] == *slot).map(|other| (node, other)));
    }
    found.sort_unstable();
    found
}

/// The neighbours of each node among nodes at these places, in metres, that reach as far as `range`.
#[must_use]
pub fn in_range(places: &[(f64, f64)], range: f64) -> Vec<Vec<u32>> {
    let is_near = |a: (f64, f64), b: (f64, f64)| (a.0 - b.0).powi(2) + (a.1 - b.1).powi(2) <= range * range;
    let near = |node: usize| {
        (0..places.len())
            .filter(move |&other| other != node && is_near(places[node], places[other]))
            .map(|it| it as u32)
    };
    (0..places.len()).map(|node| near(node).collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_needs_three_slots_and_a_clique_one_for_each_node() {
        let chain: Vec<(f64, f64)> = (0..7).map(|n| (f64::from(n) * 100.0, 0.0)).collect();
        let links = in_range(&chain, 100.0);
        assert_eq!(links[1], [0, 2]);
        assert_eq!(greedy(&rivals(&links)), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(most_rivals(&links), 4);
        let clique = in_range(&chain, 600.0);
        assert_eq!(greedy(&rivals(&clique)), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(most_rivals(&clique), 6);
        assert!(rivals(&[]).is_empty());
        assert_eq!(most_rivals(&[]), 0);
    }

    #[test]
    fn hearing_that_is_not_mutual_counts() {
        // Node 2 hears both others, which hear nobody.
        let common = [vec![2], vec![2], vec![]];
        assert_eq!(rivals(&common), [vec![2, 1], vec![2, 0], vec![0, 1]]);
        assert_eq!(greedy(&rivals(&common)), [0, 1, 2]);
        assert_eq!(conflicts(&common, &[Some(0), Some(0), Some(1)]), [(0, 1)]);
        // Node 1 hears node 0, and node 2 hears node 1: nobody hears both 0 and 2.
        let chain = [vec![1], vec![2], vec![]];
        assert_eq!(greedy(&rivals(&chain)), [0, 1, 0]);
        assert_eq!(conflicts(&chain, &[Some(0), Some(0), Some(0)]), [(0, 1), (1, 2)]);
    }

    #[test]
    fn conflicts_are_pairs_of_rivals() {
        let links = in_range(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (300.0, 0.0)], 100.0);
        let slots = |slots: [u16; 4]| slots.map(|it| (it < 9).then_some(it)).to_vec();
        assert_eq!(conflicts(&links, &slots([0, 1, 2, 0])), []);
        assert_eq!(conflicts(&links, &slots([0, 1, 0, 0])), [(0, 2), (2, 3)]);
        assert_eq!(conflicts(&links, &slots([9, 9, 9, 9])), []);
        // The frozen schedule of one network in another one.
        let frozen: Vec<_> = greedy(&rivals(&links)).into_iter().map(Some).collect();
        let moved = in_range(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (150.0, 0.0)], 100.0);
        assert_eq!(conflicts(&moved, &frozen), [(0, 3)]);
    }
}
