//! Checks of batteries: which nodes have them, and whether anything drains them.

use std::collections::BTreeMap;

use hopyard_model::channel::energy::{self, Battery};
use serde_json::Value;

use super::resolved::Resolved;
use super::resolver::Resolver;

impl Resolver<'_> {
    /// Reports batteries of nodes that do not exist, and warns of batteries that nothing drains.
    pub(super) fn check_batteries(&mut self, resolved: &Resolved) {
        let mut seen = BTreeMap::new();
        for (i, battery) in resolved.batteries.iter().enumerate() {
            let path = format!("battery.{i}.nodes");
            if self.is_faulty(&format!("battery.{i}")) {
                continue;
            }
            if battery.nodes.is_empty() && self.has(&path) {
                self.problem(&path, "`nodes` is an empty list: no node has this battery").expected =
                    Some("at least one node".to_owned());
            }
            for node in &battery.nodes {
                if *node >= resolved.nodes.count {
                    self.no_node(&path, *node, resolved.nodes.count, "nodes with a radio");
                } else if let Some(other) = seen.insert(*node, i) {
                    let message = if other == i {
                        format!("node {node} is in the list twice")
                    } else {
                        format!("node {node} is in two [[battery]] tables: number {other} has it too")
                    };
                    self.problem(&path, message);
                }
            }
        }
        let chosen = &resolved.energy_model;
        let model = energy::Config::read(chosen.model.name, &Value::Object(chosen.values.clone()));
        let Ok(prices) = model.map(|model| model.prices()) else { return };
        let has = |battery: Battery| battery != Battery::Endless;
        let path = if has(resolved.energy.battery) {
            "energy.battery".to_owned()
        } else if let Some(i) = resolved.batteries.iter().position(|battery| has(battery.capacity)) {
            format!("battery.{i}")
        } else {
            return;
        };
        if prices.is_none() {
            let warning = self.warning(&path, "energy is not counted, so that no battery runs dry");
            warning.expected = Some("`model = \"state\"` in [energy], for example".to_owned());
        } else if prices.is_some_and(|prices| prices.packets.is_none() && prices.most() == 0) {
            let warning = self.warning(&path, "the radio draws no power in any state, so that no battery runs dry");
            warning.expected = Some(format!("a power above zero in [energy.{}]", chosen.model.name));
        }
    }
}
