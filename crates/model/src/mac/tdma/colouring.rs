//! Slots that somebody gives out who sees the whole network: bounds beside which protocols are measured.
//!
//! A network is given as the neighbours of each node. Only nodes that have each other as neighbours are connected.

/// The most slots that a greedy schedule needs, and DRAND too: the largest number of other nodes within two hops of a
/// node (the δ2 of the documentation). One slot more is enough.
#[must_use]
pub fn most_within_two_hops(neighbours: &[Vec<u32>]) -> usize {
    let mut seen = vec![u32::MAX; neighbours.len()];
    (0..neighbours.len() as u32).map(|node| within_two_hops(neighbours, node, &mut seen).len()).max().unwrap_or(0)
}

/// The other nodes within two hops of a node. `seen` has a place for each node, and remembers the last node asked for.
fn within_two_hops(neighbours: &[Vec<u32>], node: u32, seen: &mut [u32]) -> Vec<u32> {
    seen[node as usize] = node;
    let mut found = Vec::new();
    for &near in &neighbours[node as usize] {
        for &other in std::iter::once(&near).chain(&neighbours[near as usize]) {
            if seen[other as usize] != node {
                seen[other as usize] = node;
                found.push(other);
            }
        }
    }
    found
}

/// The greedy schedule: in the order of their numbers, each node takes the smallest slot that none has within two hops.
/// Computed again at every change of the network, it is the schedule of an observer who knows everything at every
/// instant. Computed once, at the start, it is a frozen schedule.
#[must_use]
pub fn greedy(neighbours: &[Vec<u32>]) -> Vec<u16> {
    let mut seen = vec![u32::MAX; neighbours.len()];
    let mut slots: Vec<Option<u16>> = vec![None; neighbours.len()];
    for node in 0..neighbours.len() as u32 {
        let others = within_two_hops(neighbours, node, &mut seen);
        let mut taken: Vec<u16> = others.iter().filter_map(|&other| slots[other as usize]).collect();
        taken.sort_unstable();
        taken.dedup();
        let free = (0..u16::MAX).zip(&taken).take_while(|&(slot, &taken)| slot == taken).count();
        slots[node as usize] = Some(free as u16);
    }
    slots.into_iter().flatten().collect()
}

/// The pairs of nodes within two hops that have the same slot, the smaller number first; sorted.
#[must_use]
pub fn conflicts(neighbours: &[Vec<u32>], slots: &[Option<u16>]) -> Vec<(u32, u32)> {
    let mut seen = vec![u32::MAX; neighbours.len()];
    let mut found = Vec::new();
    for (node, slot) in (0_u32..).zip(slots).filter(|(_, slot)| slot.is_some()) {
        let others = within_two_hops(neighbours, node, &mut seen).into_iter().filter(|&other| other > node);
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
        assert_eq!(greedy(&links), [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!(most_within_two_hops(&links), 4);
        let clique = in_range(&chain, 600.0);
        assert_eq!(greedy(&clique), [0, 1, 2, 3, 4, 5, 6]);
        assert_eq!(most_within_two_hops(&clique), 6);
        assert!(greedy(&[]).is_empty());
        assert_eq!(most_within_two_hops(&[]), 0);
    }

    #[test]
    fn conflicts_are_pairs_within_two_hops() {
        let links = in_range(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (300.0, 0.0)], 100.0);
        let slots = |slots: [u16; 4]| slots.map(|it| (it < 9).then_some(it)).to_vec();
        assert_eq!(conflicts(&links, &slots([0, 1, 2, 0])), []);
        assert_eq!(conflicts(&links, &slots([0, 1, 0, 0])), [(0, 2), (2, 3)]);
        assert_eq!(conflicts(&links, &slots([9, 9, 9, 9])), []);
        // The frozen schedule of one network in another one.
        let frozen: Vec<_> = greedy(&links).into_iter().map(Some).collect();
        let moved = in_range(&[(0.0, 0.0), (100.0, 0.0), (200.0, 0.0), (150.0, 0.0)], 100.0);
        assert_eq!(conflicts(&moved, &frozen), [(0, 3)]);
    }
}
