//! Checks of drawn flows: how many there are to draw, and from which pairs.

use hopyard_engine::Streams;
use hopyard_model::mobility::Configured as _;
use hopyard_model::params::ParamsError;

use super::resolved::{RandomFlows, Resolved};
use super::resolver::Resolver;
use crate::drawing::{Partners, groups_of, tables};
use crate::flow_keys::Pairs;

/// The groups of so many runs are looked at.
const MOST_RUNS: u32 = 1000;

impl Resolver<'_> {
    /// Reports sets that ask for more pairs than the nodes make, and warns of sets without a flow.
    pub(super) fn check_number_drawn(&mut self, resolved: &Resolved) {
        let count = u64::from(resolved.talking());
        let pairs = count * count.saturating_sub(1);
        for set in &resolved.random_flows {
            let path = set.number_path();
            if self.is_faulty(&set.path()) {
                continue;
            }
            let (random, share) = (set.flows.random, set.flows.share);
            if u64::from(random) > pairs {
                let message =
                    format!("`random` is {random}, and {count} nodes with a radio make only {pairs} ordered pairs");
                self.problem(&path, message).expected = Some(format!("at most {pairs}"));
            } else if self.has(&format!("{}.random", set.path())) && random == 0 && share == 0.0 {
                self.warning(&path, "`random` is 0: this set has no flows").expected = Some("at least 1".to_owned());
            } else if self.has(&format!("{}.share", set.path())) && set.flows.number(resolved.talking()) == 0 {
                let part = share * f64::from(resolved.talking());
                let message = format!("nobody sends: {share} of {count} nodes is {part:.3}, rounded down to none");
                let path = format!("{}.share", set.path());
                self.warning(&path, message).expected = Some(format!("a share of at least 1/{count}"));
            }
        }
    }

    /// Reports sets whose pairs do not exist, or are fewer than the flows, within or between groups.
    pub(super) fn check_pairs(&mut self, resolved: &Resolved) {
        let wanting = |set: &&RandomFlows| set.flows.number(resolved.talking()) > 0;
        let sets: Vec<_> = resolved.random_flows.iter().filter(wanting).collect();
        if sets.iter().all(|set| set.flows.pairs == Pairs::Any && set.flows.random > 0) {
            return;
        }
        let models = std::iter::once(&resolved.mobility).chain(resolved.movements.iter().map(|(_, model)| model));
        let groupings: Vec<_> = models.filter_map(|model| model.sound()?.grouping()).collect();
        let runs = if groupings.iter().all(|it| it.is_fixed()) { 1 } else { resolved.head.runs.min(MOST_RUNS) };
        let runs: Vec<Vec<u32>> =
            (0..runs).map(|run| groups_of(resolved, &Streams::new(resolved.head.seed, u64::from(run)))).collect();
        for set in sets {
            let scarcest = runs.iter().enumerate().map(|(run, groups)| {
                let partners = Partners::new(set.flows.pairs, groups);
                let there = if set.flows.random > 0 { partners.count() } else { partners.sources().len() as u64 };
                (there, run)
            });
            let Some((there, run)) = scarcest.min() else { continue };
            if there < u64::from(set.flows.number(resolved.talking())) {
                self.too_few_pairs(resolved, set, there, (runs.len() > 1).then_some(run));
            }
        }
    }

    fn too_few_pairs(&mut self, resolved: &Resolved, set: &RandomFlows, there: u64, run: Option<usize>) {
        let wanted = set.flows.number(resolved.talking());
        let in_run = run.map_or_else(String::new, |run| format!(" in run {run}"));
        if there > 0 {
            let place = match set.flows.pairs {
                Pairs::Any => "",
                Pairs::WithinGroup => " within a group",
                Pairs::BetweenGroups => " between groups",
            };
            let (message, expected) = if set.flows.random > 0 {
                let message = format!("`random` is {wanted}, and there are only {there} ordered pairs{place}{in_run}");
                (message, format!("at most {there}"))
            } else {
                let message = format!(
                    "`share` asks for {wanted} sources, and only {there} nodes have somebody to send to{place}{in_run}"
                );
                (message, format!("a share of at most {there} of {} nodes", resolved.talking()))
            };
            self.problem(&set.number_path(), message).expected = Some(expected);
            return;
        }
        let (message, expected) = match set.flows.pairs {
            Pairs::Any => ("there is no pair of nodes", "at least two nodes with a radio"),
            Pairs::WithinGroup => {
                ("there is no pair within a group: every group has one node", "groups of at least two nodes")
            }
            Pairs::BetweenGroups => {
                ("there is no pair between groups: all nodes are in one group", "at least two groups")
            }
        };
        let problem = self.problem(&format!("{}.pairs", set.path()), format!("{message}{in_run}"));
        problem.expected = Some(expected.to_owned());
        problem.hint =
            Some("the movement model forms the groups; a leader and the nodes that follow it are one".to_owned());
    }

    /// Reports more groups than nodes, and parameters of movement models that do not fit the area of [nodes].
    pub(super) fn check_formed_groups(&mut self, resolved: &Resolved) {
        let tables = tables(resolved);
        let models = std::iter::once(&resolved.mobility).chain(resolved.movements.iter().map(|(_, model)| model));
        for (number, chosen) in (0_u32..).zip(models) {
            let section = number.checked_sub(1).map_or_else(|| "mobility".to_owned(), |it| format!("movement.{it}"));
            if self.is_faulty(&section) || self.is_faulty("mobility") {
                continue;
            }
            let key = |resolver: &Self, key: &str| {
                let own = format!("{section}.{}.{key}", chosen.model.name);
                let shared = format!("mobility.{}.{key}", chosen.model.name);
                if !resolver.has(&own) && resolver.has(&shared) { shared } else { own }
            };
            let nodes = tables.iter().filter(|table| **table == number).count();
            // The area of [nodes] is a default, which was not checked where no table has keys of the model.
            if let Err(ParamsError::Fault(fault)) = &chosen.config {
                let message = format!("`{}` does not fit: {}", fault.parameter, fault.problem);
                let path = key(self, fault.parameter);
                self.problem(&path, message).hint =
                    Some(format!("`{}` is a key of [mobility.{}]", fault.parameter, chosen.model.name));
            }
            if let Some(grouping) = chosen.sound().and_then(|model| model.grouping())
                && grouping.groups as usize > nodes
                && nodes > 0
            {
                let path = key(self, "groups");
                let message = format!("there are {} groups, and only {nodes} nodes to form them", grouping.groups);
                self.problem(&path, message).expected = Some(format!("at most {nodes}"));
            }
        }
    }
}
