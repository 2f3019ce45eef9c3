//! Checks of batteries and of sleep: which nodes have them, and whether the energy is counted that they are about.

use hopyard_model::channel::energy::{Battery, Prices};

use super::resolved::Resolved;
use super::resolver::Resolver;

impl Resolver<'_> {
    /// Reports batteries and sleep of nodes that do not exist, and sleep without a price; warns of batteries that
    /// nothing drains.
    pub(super) fn check_energy(&mut self, resolved: &Resolved) {
        let count = resolved.nodes.count;
        let batteries: Vec<&[u32]> = resolved.batteries.iter().map(|it| it.nodes.as_slice()).collect();
        self.check_nodes_of_tables("battery", "no node has this battery", &batteries, count);
        let sleeps: Vec<&[u32]> = resolved.sleeps.iter().map(|it| it.nodes.as_slice()).collect();
        self.check_nodes_of_tables("sleep", "no node sleeps at these times", &sleeps, count);
        let chosen = &resolved.energy_model;
        let prices = chosen.config.prices();
        self.check_sleep(resolved, prices.as_ref());
        let has = |battery: Battery| battery != Battery::Endless;
        let path = if has(resolved.energy.battery) {
            "energy.battery".to_owned()
        } else if let Some(i) = resolved.batteries.iter().position(|battery| has(battery.capacity)) {
            format!("battery.{i}")
        } else {
            return;
        };
        let (why, expected) = match prices {
            None => ("energy is not counted", "`model = \"state\"` in [energy], for example".to_owned()),
            Some(prices) if prices.packets.is_none() && prices.most() == 0 => (
                "the radio draws no power in any state",
                format!("a power above zero in [energy.{}]", chosen.model.name),
            ),
            Some(_) => return,
        };
        self.warning(&path, format!("{why}, so that no battery runs dry")).expected = Some(expected);
    }

    /// Reports sleep under a model without a price of sleep.
    fn check_sleep(&mut self, resolved: &Resolved, prices: Option<&Prices>) {
        for i in 0..resolved.sleeps.len() {
            let path = format!("sleep.{i}.times");
            let is_empty = resolved.sleeps[i].times.is_empty() && !self.is_faulty(&format!("sleep.{i}"));
            if is_empty && self.has(&path) {
                self.problem(&path, "`times` is an empty list: nobody sleeps").expected =
                    Some("at least one time of sleep".to_owned());
            }
        }
        if resolved.sleeps.is_empty() || prices.is_none_or(|prices| prices.sleep.is_some()) {
            return;
        }
        let message = format!("the energy model `{}` has no state of sleep", resolved.energy_model.model.name);
        self.problem("sleep.0", message).expected = Some("`model = \"state\"` in [energy], for example".to_owned());
    }
}
