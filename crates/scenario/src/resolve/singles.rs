//! Checks of single nodes whose radio differs from the others' of a channel.

use std::collections::BTreeSet;

use hopyard_model::phy::fading::{self, Fading as _};
use hopyard_model::phy::links::Quantity;
use hopyard_model::phy::{Params, propagation};

use super::networks::radios;
use super::resolved::{Chosen, Resolved};
use super::resolver::Resolver;
use crate::tree::Kind;

/// The parts of a channel that single nodes and tables of links concern.
struct Parts<'a> {
    section: String,
    radio: &'a Params,
    loss: &'a Chosen<propagation::Config>,
    fading: &'a Chosen<fading::Config>,
}

/// The parts of every channel.
fn channels(resolved: &Resolved) -> impl Iterator<Item = Parts<'_>> {
    let further = resolved.channels.iter().enumerate();
    let further = further.map(|(i, it)| (format!("channel.{i}"), &*it.radio, &it.propagation, &it.fading));
    let first = ("radio".to_owned(), &*resolved.radio, &resolved.propagation, &resolved.fading);
    let parts = |(section, radio, loss, fading)| Parts { section, radio, loss, fading };
    std::iter::once(first).chain(further).map(parts)
}

impl Resolver<'_> {
    /// Reports single nodes without a radio on the channel; and their powers, those of jammers, and fading, where they
    /// decide nothing.
    pub(super) fn check_singles(&mut self, resolved: &Resolved) {
        let on = radios(resolved);
        for (number, Parts { section, radio, loss, fading }) in (0_u16..).zip(channels(resolved)) {
            let is_delivery = resolved.links_of(loss).is_some_and(|links| links.quantity() == Quantity::Delivery);
            if is_delivery && !fading.config.fader().is_none() && !self.is_faulty(&section) {
                let name = fading.model.name;
                let message =
                    format!("`{name}` would change the delivery ratios of the file, which include all losses");
                self.problem(&format!("{section}.fading"), message).expected = Some("\"none\"".to_owned());
            }
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
            let name = loss.model.name;
            let why = match () {
                () if is_delivery => "the delivery ratios of a file decide what is received",
                () if loss.config.equal_powers() => "the ranges decide what is received",
                () => continue,
            };
            let message = format!("with `{name}`, {why}, and no power of a single node");
            let path = jammer.filter(|_| radio.single.is_empty()).map(|i| format!("jammer.{i}"));
            self.problem(&path.unwrap_or_else(|| format!("{section}.single")), message).expected =
                Some("a path loss with powers, such as \"two_ray_ground\"".to_owned());
        }
    }
}
