//! Start positions of nodes, where the scenario gives a rule or leaves them to chance.

use hopyard_engine::Rng;
use hopyard_model::mobility::Position;

use crate::sections::{Nodes, Placement};

/// The positions of nodes under a deterministic rule; nothing if chance or the movement model decides.
pub(crate) fn fixed(nodes: &Nodes) -> Option<Vec<Position>> {
    let spacing = nodes.spacing.metres();
    let places = 0..nodes.count;
    match nodes.placement {
        Placement::Chain => Some(places.map(|i| Position::ground(f64::from(i) * spacing, 0.0)).collect()),
        Placement::Grid => {
            let columns = if nodes.columns > 0 { nodes.columns } else { square_side(nodes.count) };
            let place = |i: u32| Position::ground(f64::from(i % columns) * spacing, f64::from(i / columns) * spacing);
            Some(places.map(place).collect())
        }
        Placement::Circle => {
            let radius = nodes.radius.metres();
            let around = f64::from(nodes.count.saturating_sub(1));
            // The centre is chosen so that no coordinate is negative.
            let place = |i: u32| {
                let angle = 2.0 * std::f64::consts::PI * f64::from(i.saturating_sub(1)) / around;
                let (x, y) = if i == 0 { (0.0, 0.0) } else { (libm::cos(angle), libm::sin(angle)) };
                Position::ground(radius * (1.0 + x), radius * (1.0 + y))
            };
            Some(places.map(place).collect())
        }
        Placement::Positions => Some(nodes.positions.iter().map(|place| place.0).collect()),
        Placement::Uniform | Placement::Mobility => None,
    }
}

/// The smallest side of a square that holds `count`.
fn square_side(count: u32) -> u32 {
    let mut side = 1;
    while u64::from(side) * u64::from(side) < u64::from(count) {
        side += 1;
    }
    side
}

/// Positions drawn uniformly in the area. The positions of the first nodes do not depend on the number of nodes.
pub(crate) fn uniform(nodes: &Nodes, mut rng: Rng) -> Vec<Position> {
    let [width, height] = nodes.area.map(|length| length.metres());
    (0..nodes.count).map(|_| Position::ground(rng.uniform_in(0.0, width), rng.uniform_in(0.0, height))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hopyard_engine::Streams;
    use hopyard_engine::units::Distance;
    use std::collections::BTreeMap;

    fn nodes(count: u32, placement: Placement) -> Nodes {
        Nodes { count, placement, ..Nodes::default() }
    }

    fn places(nodes: &Nodes) -> Vec<(f64, f64)> {
        fixed(nodes).expect("no chance").iter().map(|p| (p.x, p.y)).collect()
    }

    #[test]
    fn chains_grids_and_circles_have_their_shape() {
        assert_eq!(places(&nodes(3, Placement::Chain)), [(0.0, 0.0), (200.0, 0.0), (400.0, 0.0)]);
        let grid = places(&nodes(5, Placement::Grid));
        assert_eq!(grid, [(0.0, 0.0), (200.0, 0.0), (400.0, 0.0), (0.0, 200.0), (200.0, 200.0)]);
        let rows = places(&Nodes { columns: 2, ..nodes(4, Placement::Grid) });
        assert_eq!(rows[2..], [(0.0, 200.0), (200.0, 200.0)]);
        let circle = places(&nodes(5, Placement::Circle));
        assert_eq!(circle[0], (100.0, 100.0));
        for (x, y) in &circle[1..] {
            assert!(((x - 100.0).hypot(y - 100.0) - 100.0).abs() < 1e-9);
        }
        let neighbours = (circle[1].0 - circle[2].0).hypot(circle[1].1 - circle[2].1);
        assert!((neighbours - 100.0 * std::f64::consts::SQRT_2).abs() < 1e-9, "a quarter of the circle apart");
    }

    #[test]
    fn drawn_places_fill_the_area_evenly() {
        let area = [Distance::new(300.0), Distance::new(100.0)];
        let spec = Nodes { area, ..nodes(3000, Placement::Uniform) };
        let places = uniform(&spec, Streams::new(1, 0).stream("placement"));
        let mut cells = BTreeMap::new();
        for place in &places {
            *cells.entry(((place.x / 100.0) as i32, (place.y / 50.0) as i32)).or_insert(0) += 1;
        }
        assert_eq!(cells.len(), 6);
        // 500 in each cell, with a standard deviation of 20.
        assert!(cells.values().all(|&count: &i32| (count - 500).abs() < 100), "{cells:?}");
        let fewer = uniform(&Nodes { count: 10, ..spec }, Streams::new(1, 0).stream("placement"));
        assert_eq!(fewer, places[..10]);
    }
}
