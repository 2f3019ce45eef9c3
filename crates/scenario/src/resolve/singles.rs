//! Checks of single nodes whose radio differs from the others' of a channel.

use std::collections::BTreeSet;

use hopyard_model::phy::links::Quantity;
use hopyard_model::phy::{Params, propagation};

use super::networks::radios;
use super::resolved::{Chosen, Resolved};
use super::resolver::Resolver;
use crate::tree::Kind;

/// The channels, each with its section, its radio and its path loss.
fn channels(resolved: &Resolved) -> impl Iterator<Item = (String, &Params, &Chosen<propagation::Config>)> {
    let further = resolved.channels.iter().enumerate();
    let further = further.map(|(i, it)| (format!("channel.{i}"), &*it.radio, &it.propagation));
    std::iter::once(("radio".to_owned(), &*resolved.radio, &resolved.propagation)).chain(further)
}

impl Resolver<'_> {
    /// Reports single nodes without a radio on the channel; and their powers, and those of jammers, where they decide
    /// nothing.
    pub(super) fn check_singles(&mut self, resolved: &Resolved) {
        let on = radios(resolved);
        for (number, (section, radio, loss)) in (0_u16..).zip(channels(resolved)) {
            let jammer = resolved.jammers.iter().position(|it| it.channel == number);
            let has = |node: &u32| on.get(*node as usize).is_some_and(|channels| channels.contains(&number));
            let tables = match self.root.node(&format!("{section}.single")).map(|node| &node.kind) {
                Some(Kind::Array(items)) => items.len(),
                _ => 0,
            };
            for path in (0..tables).map(|i| format!("{section}.single.{i}.nodes")) {
                let missing: BTreeSet<u32> = self.numbers(&path).into_iter().filter(|node| !has(node)).collect();
                for node in missing {
                    if node >= resolved.nodes.count {
                        self.no_node(&path, node, resolved.nodes.count, "nodes with a radio");
                    } else {
                        self.problem(&path, format!("node {node} has no radio on this channel")).expected =
                            Some("nodes with a radio on this channel".to_owned());
                    }
                }
            }
            if radio.single.is_empty() && jammer.is_none() || self.is_faulty(&section) {
                continue;
            }
            let is_delivery = |quantity| quantity == Quantity::Delivery;
            let name = loss.model.name;
            let why = match resolved.links_of(loss).map(|links| links.quantity()) {
                Some(quantity) if is_delivery(quantity) => "the delivery ratios of a file decide what is received",
                _ if loss.config.equal_powers() => "the ranges decide what is received",
                _ => continue,
            };
            let message = format!("with `{name}`, {why}, and no power of a single node");
            let path = jammer.filter(|_| radio.single.is_empty()).map(|i| format!("jammer.{i}"));
            self.problem(&path.unwrap_or_else(|| format!("{section}.single")), message).expected =
                Some("a path loss with powers, such as \"two_ray_ground\"".to_owned());
        }
    }
}
