//! Keys that do nothing beside a model or a file of another key.

use hopyard_model::mac::{self, rate_control};
use hopyard_model::params::{LINUX, Params as _};
use hopyard_model::phy::links::Quantity;
use hopyard_model::phy::mode::in_words;
use hopyard_model::phy::{Params, propagation};

use super::check::has_own_start;
use super::resolved::{Chosen, Congestion, FlowKind, Resolved};
use super::resolver::Resolver;
use crate::key::join;
use crate::merge::{PROFILE, profiles};
use crate::sections::{Placement, Stack};

/// The acknowledgements of the profile `linux`.
const QUICK: &str = "quick";

/// A channel, with its section.
struct Channel<'a> {
    section: String,
    radio: &'a Params,
    propagation: &'a Chosen<propagation::Config>,
    mac: &'a mac::Config,
    rates: &'a rate_control::Config,
}

fn channels(resolved: &Resolved) -> Vec<Channel<'_>> {
    let first = Channel {
        section: "radio".to_owned(),
        radio: &resolved.radio,
        propagation: &resolved.propagation,
        mac: &resolved.mac.config,
        rates: &resolved.rates.config,
    };
    let further = resolved.channels.iter().enumerate().map(|(i, it)| Channel {
        section: format!("channel.{i}"),
        radio: &it.radio,
        propagation: &it.propagation,
        mac: &it.mac.config,
        rates: &it.rates.config,
    });
    std::iter::once(first).chain(further).collect()
}

impl Resolver<'_> {
    /// Warns of keys that do nothing beside what other sections choose.
    pub(super) fn check_beside(&mut self, resolved: &Resolved) {
        let channels = channels(resolved);
        let by_delivery = |it: &Channel<'_>| {
            resolved.links_of(it.propagation).is_some_and(|links| links.quantity() == Quantity::Delivery)
        };
        // Further channels have the keys of [radio] that they do not give.
        let all = channels.iter().all(by_delivery);
        for (number, channel) in channels.iter().enumerate() {
            if by_delivery(channel) && (number > 0 || all) {
                self.check_beside_delivery(channel);
            }
            self.check_error_rates(resolved, channel);
        }
        for (i, jammer) in resolved.jammers.iter().enumerate() {
            let path = format!("jammer.{i}.period");
            if jammer.duty == 1.0 && jammer.period != crate::sections::Jammer::default().period && self.has(&path) {
                self.unused(&path, "`period` does nothing here with `duty` = 1".to_owned());
            }
        }
        self.check_beside_own_starts(resolved);
        self.check_beside_profile_of_tcp(resolved);
    }

    /// Warns of a profile of [tcp] that neither the congestion control nor the acknowledgements of a flow follow.
    fn check_beside_profile_of_tcp(&mut self, resolved: &Resolved) {
        let own = self.table("tcp").and_then(|table| table.get(PROFILE)).and_then(|entry| entry.node.as_str());
        if own != Some(LINUX) || self.profile == LINUX {
            return;
        }
        let listed = resolved
            .flows
            .iter()
            .enumerate()
            .map(|(number, (flow, kind))| (format!("flow.{number}"), flow.stack, kind));
        let drawn = resolved.random_flows.iter().map(|set| (set.path(), set.flows.stack, &set.kind));
        let others = |(path, stack, kind): (String, Stack, &FlowKind)| {
            let tcp = kind.tcp.as_ref().filter(|_| stack == Stack::Hopyard)?;
            let control = match &tcp.congestion {
                Congestion::Model(Chosen { model, .. }) if profiles(model).contains(&LINUX) => Some(model.name),
                _ => None,
            };
            let has_own =
                |name: &str| [path.as_str(), "tcp"].iter().any(|it| self.has(&format!("{it}.{name}.{PROFILE}")));
            let control = control.filter(|name| !has_own(name));
            let is_usual = tcp.acking.model.name != QUICK && !self.has(&join(&path, "acking"));
            (control.is_some() || is_usual).then_some((control, is_usual))
        };
        let Some((control, is_usual)) = listed.chain(drawn).find_map(others) else { return };
        let keys: Vec<String> = control
            .map(|name| format!("`{PROFILE} = \"{LINUX}\"` in [tcp.{name}]"))
            .into_iter()
            .chain(is_usual.then(|| format!("`acking = \"{QUICK}\"` for the flow")))
            .collect();
        let names: Vec<String> = control
            .map(|name| format!("`{name}`"))
            .into_iter()
            .chain(is_usual.then(|| "acknowledgements".to_owned()))
            .collect();
        let message = format!(
            "`{PROFILE}` of [tcp] is not that of {}: profile `{}` applies there",
            names.join(" and "),
            self.profile
        );
        self.warning(&join("tcp", PROFILE), message).hint = Some(format!(
            "`{PROFILE} = \"{LINUX}\"` at the top level applies to all of TCP; {} would too",
            keys.join(" and ")
        ));
    }

    /// Warns of keys of a radio that decide nothing, because a file says which share of frames arrives.
    fn check_beside_delivery(&mut self, channel: &Channel<'_>) {
        let (radio, usual) = (channel.radio, Params::of_profile(&self.profile));
        // A frame that arrives is 30 dB above noise and thresholds.
        let decides = !(1.001..=1000.0).contains(&radio.capture.factor());
        // The ratio to noise still leads rate control.
        let leads = !channel.rates.is_fixed();
        for (key, is_idle) in [
            ("capture", !decides && radio.capture != usual.capture),
            ("noise_figure", !leads && radio.noise_figure != usual.noise_figure),
            ("transmit_power", !leads && radio.transmit_power != usual.transmit_power),
        ] {
            let path = join(&channel.section, key);
            if is_idle && self.has(&path) {
                self.unused(
                    &path,
                    format!("`{key}` does nothing here: the file of links says which share of frames arrives"),
                );
            }
        }
    }

    /// Warns of a file with error rates that has no mode of the MAC.
    fn check_error_rates(&mut self, resolved: &Resolved, channel: &Channel<'_>) {
        let Some((errors, modes)) = resolved.errors_of(channel.radio).zip(channel.mac.modes(channel.rates).ok()) else {
            return;
        };
        if !errors.modes().any(|name| modes.iter().any(|mode| mode.name() == name)) {
            let path = join(&channel.section, "error_rates");
            self.warning(&path, "the file with error rates decides nothing: it has no mode in which frames are sent")
                .expected = Some(in_words(modes.into_iter()));
        }
    }

    /// Warns of places of nodes whose movement models all have starts of their own.
    fn check_beside_own_starts(&mut self, resolved: &Resolved) {
        let nodes = &resolved.nodes;
        let all = std::iter::once(&resolved.mobility).chain(resolved.movements.iter().map(|(_, chosen)| chosen));
        let key = match nodes.placement {
            _ if !all.into_iter().all(has_own_start) => return,
            _ if !nodes.positions.is_empty() => "positions",
            Placement::Chain | Placement::Mobility => return,
            _ => "placement",
        };
        let message = format!("`{key}` does nothing here: `{}` says where nodes start", resolved.mobility.model.name);
        self.unused(&join("nodes", key), message);
    }
}
