//! Checks of `[[movement]]` tables: which nodes they name, and whom the members of groups follow.

use std::collections::{BTreeMap, BTreeSet};
use std::iter;

use hopyard_model::mobility::{Area, Configured as _, Membership};
use hopyard_model::phy::propagation;

use super::resolved::{Moving, Resolved};
use super::resolver::Resolver;
use crate::problem::one_of;
use crate::sections::Placement;

/// A table that gives nodes the model of a member.
struct Members<'a> {
    /// "mobility", or "movement.3".
    section: String,
    chosen: &'a Moving,
    membership: Membership,
    nodes: Vec<u32>,
}

impl Resolver<'_> {
    pub(super) fn check_movements(&mut self, resolved: &Resolved) {
        let count = resolved.nodes.count;
        let lists: Vec<&[u32]> = resolved.movements.iter().map(|it| it.0.nodes.as_slice()).collect();
        self.check_nodes_of_tables("movement", "no node moves so", &lists, count);
        for (i, (movement, chosen)) in resolved.movements.iter().enumerate() {
            let Some((params, file)) = chosen.file().zip(resolved.file(chosen)) else { continue };
            if self.is_faulty(&format!("movement.{i}")) {
                continue;
            }
            let nodes: BTreeSet<u32> = movement.nodes.iter().copied().filter(|node| *node < count).collect();
            for node in nodes {
                let number = params.number(node, &file.meaning);
                if number.and_then(|number| file.meaning.track(number)).is_none() {
                    let which = number.map_or_else(|| "node for it".to_owned(), |number| format!("node {number}"));
                    let message = format!("node {node} has no movement: the movement file has no {which}");
                    let name = chosen.model.name;
                    self.problem(&format!("movement.{i}.nodes"), message).hint = Some(format!(
                        "`first_node` or `nodes` in [movement.{name}] says which node of the file is node 0"
                    ));
                }
            }
        }
        self.check_areas(resolved);
        self.check_late_movement(resolved);
        self.check_tracks(resolved);
        self.check_heights(resolved);
        self.check_groups(resolved);
    }

    /// Warns of movement after the end of the run.
    fn check_late_movement(&mut self, resolved: &Resolved) {
        let end = resolved.head.duration;
        for (section, chosen) in tables(resolved) {
            let steps = chosen.sound().map(|model| model.script()).unwrap_or_default();
            let Some(late) = steps.into_iter().find(|step| step.from >= end) else { continue };
            if !self.is_faulty("duration") {
                let message = format!("nothing moves at {}: the run ends at {end}", late.from);
                self.warning(&format!("{section}.{}.{}", chosen.model.name, late.key), message).expected =
                    Some("times before the end of the run".to_owned());
            }
        }
    }

    /// Warns of different heights where they do not count in the powers of signals.
    fn check_heights(&mut self, resolved: &Resolved) {
        let stand = resolved.positions.iter().map(|place| place.z);
        let models = || tables(resolved).filter_map(|(_, chosen)| chosen.sound());
        let moves = models().flat_map(|model| model.script()).filter_map(|step| step.height);
        let boxes = models().filter_map(|model| model.area()).filter(|area| area.high.z > area.low.z);
        let moves = moves.chain(boxes.flat_map(|area| [area.low.z, area.high.z]));
        let files = resolved.files.values().filter_map(|file| file.meaning.extent());
        let heights = stand.chain(moves).chain(files.flat_map(|(low, high)| [low.z, high.z]));
        let (low, high) = heights.fold((f64::MAX, f64::MIN), |(low, high), it| (low.min(it), high.max(it)));
        if low >= high {
            return;
        }
        let further = resolved.channels.iter().enumerate();
        let further = further.map(|(i, it)| (format!("channel.{i}"), &it.propagation));
        for (section, chosen) in iter::once(("radio".to_owned(), &resolved.propagation)).chain(further) {
            let name = chosen.model.name;
            let profile = &resolved.head.profile;
            let ignores =
                |name: &str| propagation::Config::of_profile(name, profile).is_ok_and(|it| it.equal_heights());
            if ignores(name) {
                let message = format!(
                    "`{name}` takes all antennas as equally high: the heights of nodes, {low} m to {high} m, count in \
                     distances alone"
                );
                let others = propagation::MODELS.iter().map(|model| model.name).filter(|name| !ignores(name));
                self.warning(&format!("{section}.propagation"), message).expected = Some(one_of(others));
            }
        }
    }

    /// Warns of nodes that move at random outside the area of [nodes].
    fn check_areas(&mut self, resolved: &Resolved) {
        let [width, height] = resolved.nodes.area.map(|length| length.metres());
        if width <= 0.0 {
            return;
        }
        for (section, chosen) in tables(resolved) {
            let Some(Area { low, high }) = chosen.sound().and_then(|model| model.area()) else { continue };
            if low.x < 0.0 || low.y < 0.0 || high.x > width || high.y > height {
                let name = chosen.model.name;
                let message = format!(
                    "nodes leave the area of {width} m by {height} m: [{}.{name}] moves them between {} m, {} m and \
                     {} m, {} m",
                    section.split('.').next().unwrap_or_default(),
                    low.x,
                    low.y,
                    high.x,
                    high.y
                );
                self.warning("nodes.area", message).hint =
                    Some(format!("`x`, `y`, `width` and `height` of `{name}` say where nodes move"));
            }
        }
    }

    /// Reports members of groups that have no leader, or whose leaders follow each other in a circle.
    fn check_groups(&mut self, resolved: &Resolved) {
        let tables = self.members(resolved);
        let count = resolved.nodes.count;
        // The leader of each member, with the number of the member's table.
        let mut leaders: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
        for (number, table) in tables.iter().enumerate() {
            let path = self.leader_path(table);
            let Some(leader) = table.membership.leader.map(|leader| leader.0) else {
                self.problem(&path, "the group has no leader").expected =
                    Some(format!("`leader` in [{}]: the number of the node that is followed", table.title()));
                continue;
            };
            if leader >= count {
                self.no_node(&path, leader, count, "nodes with a radio");
                continue;
            }
            if table.nodes.contains(&leader) {
                let problem = self.problem(&path, format!("node {leader} follows itself"));
                problem.expected = Some("another node".to_owned());
                problem.hint = Some(if table.section == "mobility" {
                    format!("give node {leader} another movement model in a [[movement]] table")
                } else {
                    format!("leave node {leader} out of `nodes`")
                });
            }
            leaders.extend(table.nodes.iter().filter(|node| **node != leader).map(|node| (*node, (leader, number))));
            self.check_offset(resolved, table);
        }
        for circle in circles(&leaders) {
            let Some((_, table)) = circle.first().and_then(|node| leaders.get(node)) else { continue };
            let path = self.leader_path(&tables[*table]);
            let problem = self.problem(&path, format!("nodes {} follow each other in a circle", listed(&circle)));
            problem.expected = Some("a leader that follows none of them".to_owned());
            problem.hint = Some("the first leader of a group has another movement model".to_owned());
        }
    }

    /// The tables of members, with the nodes that each applies to.
    fn members<'r>(&self, resolved: &'r Resolved) -> Vec<Members<'r>> {
        let member = |section: String, chosen: &'r Moving, nodes: &dyn Fn() -> Vec<u32>| {
            let faulty = self.is_faulty(&section);
            let membership = chosen.sound().filter(|_| !faulty)?.membership()?;
            Some(Members { section, chosen, membership, nodes: nodes() })
        };
        let count = resolved.nodes.count;
        let others = || {
            let mut others = vec![true; count as usize];
            for node in resolved.movements.iter().flat_map(|(movement, _)| &movement.nodes) {
                if let Some(other) = others.get_mut(*node as usize) {
                    *other = false;
                }
            }
            (0..count).filter(|node| others[*node as usize]).collect()
        };
        let common = member("mobility".to_owned(), &resolved.mobility, &others);
        let own = resolved.movements.iter().enumerate().map(|(i, (movement, chosen))| {
            let nodes = || movement.nodes.iter().copied().filter(|node| *node < count).collect();
            member(format!("movement.{i}"), chosen, &nodes)
        });
        common.into_iter().chain(own.flatten()).filter(|table| !table.nodes.is_empty()).collect()
    }

    /// The key that names the leader: in the table itself, or in the table of the whole scenario.
    fn leader_path(&self, table: &Members<'_>) -> String {
        let name = table.chosen.model.name;
        let (own, shared) = (format!("{}.{name}.leader", table.section), format!("mobility.{name}.leader"));
        if !self.has(&own) && self.has(&shared) { shared } else { own }
    }

    /// Reports an offset that does not follow from anything, and warns of members at the same place.
    fn check_offset(&mut self, resolved: &Resolved, table: &Members<'_>) {
        let path = format!("{}.{}.offset", table.section, table.chosen.model.name);
        match (table.membership.offset, table.nodes.as_slice()) {
            (None, [node, ..]) if resolved.nodes.placement == Placement::Mobility => {
                let message = format!("the scenario gives no position from which the offset of node {node} follows");
                let problem = self.problem(&path, message);
                problem.expected = Some(format!("`offset` in [{}], such as [\"50 m\", \"0 m\"]", table.title()));
                problem.hint = Some("`placement` or `positions` in [nodes] gives nodes positions".to_owned());
            }
            (Some(_), nodes @ [_, _, ..]) if table.membership.is_rigid => {
                let message =
                    format!("nodes {} have the same offset: they are always at the same place", listed(nodes));
                self.warning(&path, message);
            }
            _ => {}
        }
    }
}

impl Members<'_> {
    /// The name of the table of the model's parameters, as in a file.
    fn title(&self) -> String {
        let section = self.section.split('.').next().unwrap_or_default();
        format!("{section}.{}", self.chosen.model.name)
    }
}

/// The tables that choose a movement model, with their paths.
pub(super) fn tables(resolved: &Resolved) -> impl Iterator<Item = (String, &Moving)> {
    let own = resolved.movements.iter().enumerate().map(|(i, (_, chosen))| (format!("movement.{i}"), chosen));
    iter::once(("mobility".to_owned(), &resolved.mobility)).chain(own)
}

/// Every circle in which nodes follow each other, with the lowest number first.
fn circles(leaders: &BTreeMap<u32, (u32, usize)>) -> Vec<Vec<u32>> {
    let mut circles = Vec::new();
    // For each node the start of the walk that came to it first.
    let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
    for start in leaders.keys() {
        let mut at = *start;
        while !seen.contains_key(&at) {
            seen.insert(at, *start);
            let Some((leader, _)) = leaders.get(&at) else { break };
            at = *leader;
        }
        // A walk that comes back to one of its own nodes, which follows somebody, has closed a circle.
        if seen.get(&at) == Some(start) && leaders.contains_key(&at) {
            let mut circle = vec![at];
            let mut next = leaders[&at].0;
            while next != at {
                circle.push(next);
                next = leaders[&next].0;
            }
            let lowest = (0..circle.len()).min_by_key(|&i| circle[i]).unwrap_or(0);
            circle.rotate_left(lowest);
            circles.push(circle);
        }
    }
    circles
}

/// "1, 2 and 3"; of many nodes the first ones.
fn listed(nodes: &[u32]) -> String {
    const MOST: usize = 8;
    let names: Vec<_> = nodes.iter().take(MOST).map(u32::to_string).collect();
    match names.as_slice() {
        [first @ .., last] if nodes.len() <= MOST && !first.is_empty() => format!("{} and {last}", first.join(", ")),
        [only] => only.clone(),
        _ => format!("{} and {} more", names.join(", "), nodes.len() - names.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_circle_is_found_once() {
        let found =
            |leaders: &[(u32, u32)]| circles(&leaders.iter().map(|(node, leader)| (*node, (*leader, 0))).collect());
        assert_eq!(found(&[(1, 0), (2, 1), (3, 1), (4, 9)]), Vec::<Vec<u32>>::new());
        assert_eq!(found(&[(1, 2), (2, 1)]), [[1, 2]]);
        // Nodes 0 and 9 lead into the circle and are no part of it.
        assert_eq!(found(&[(0, 5), (5, 3), (3, 4), (4, 5), (9, 0), (7, 8), (8, 7)]), [vec![3, 4, 5], vec![7, 8]]);
    }

    #[test]
    fn long_lists_are_cut() {
        assert_eq!(listed(&[4]), "4");
        assert_eq!(listed(&[4, 1, 7]), "4, 1 and 7");
        assert_eq!(listed(&(0..20).collect::<Vec<_>>()), "0, 1, 2, 3, 4, 5, 6, 7 and 12 more");
    }
}
