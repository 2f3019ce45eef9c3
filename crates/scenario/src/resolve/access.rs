//! Checks of medium access against its users. They find routing that waits for reports of the MAC, packets that the MAC
//! cannot send, slots that nobody finds, slots that nodes near each other share, and acknowledgements that come too
//! late.

use std::collections::BTreeSet;

use hopyard_engine::Span;
use hopyard_model::address::NodeId;
use hopyard_model::channel::energy;
use hopyard_model::mac::rate_control;
use hopyard_model::packet::{IP_HEADER, MOST_BYTES, TCP_HEADER, TIMESTAMPS, UDP_HEADER};
use hopyard_model::params::ModelInfo;
use hopyard_model::phy::propagation::SPEED_OF_LIGHT;
use hopyard_model::{agent, mac};
use serde_json::Value;

use super::flow_faults::Place;
use super::links::{Reach, Sure};
use super::resolved::{FlowKind, Resolved};
use super::resolver::Resolver;
use crate::sections::Stack;

/// So many pairs of nodes are examined to find slots that nodes near each other share.
const MOST_PAIRS: u64 = 50_000_000;

/// The MAC of each channel, with its section.
pub(super) fn macs(resolved: &Resolved) -> impl Iterator<Item = (String, &mac::Config)> {
    let further = resolved.channels.iter().enumerate().map(|(number, it)| (format!("channel.{number}"), &it.mac));
    let all = std::iter::once(("mac".to_owned(), &resolved.mac)).chain(further);
    all.map(|(section, mac)| (section, &mac.config))
}

/// The rate control of each channel.
fn rate_controls(resolved: &Resolved) -> impl Iterator<Item = &rate_control::Config> {
    let further = resolved.channels.iter().map(|it| &it.rates.config);
    std::iter::once(&resolved.rates.config).chain(further)
}

/// The agents, with their names.
fn agents(resolved: &Resolved) -> impl Iterator<Item = (&'static str, &agent::Config)> {
    resolved.agents.iter().map(|it| (it.model.name, &it.config))
}

/// The name of each link, and the largest packet that it carries.
pub(super) fn links(resolved: &Resolved) -> Vec<(String, u32)> {
    let radios = macs(resolved).map(|(_, mac)| (format!("`{}`", mac.name()), mac.largest_packet()));
    let wires = resolved.wires.iter().enumerate();
    let wires = wires.map(|(i, (_, link))| (format!("wire {i}"), link.largest_packet()));
    // Where no node has a radio, the channel carries nothing.
    let radios = radios.filter(|_| resolved.nodes.count > 0);
    radios.chain(wires).map(|(name, most)| (name, most.unwrap_or(MOST_BYTES))).collect()
}

/// The bytes that a flow's largest packets carry.
fn payload(kind: &FlowKind) -> u64 {
    kind.tcp.as_ref().map_or(0, |tcp| tcp.machine.segment_size.count())
}

/// The size of the largest packets of a flow, headers included, and their kind.
pub(super) fn largest_packet(kind: &FlowKind) -> Option<(u64, String)> {
    match &kind.tcp {
        Some(tcp) => {
            let size = tcp.machine.segment_size;
            let options = if tcp.machine.timestamps { TIMESTAMPS } else { 0 };
            Some((size.count() + u64::from(IP_HEADER + TCP_HEADER + options), format!("segments of {size}")))
        }
        None => {
            let size = kind.traffic.config.packet_size()?;
            Some((size + u64::from(IP_HEADER + UDP_HEADER), format!("packets of {size} B")))
        }
    }
}

/// The keys with which the MAC of a channel reports failures and still carries the packets of the flows, in the form of
/// a hint. Nothing if the MAC has no such keys.
fn answered(resolved: &Resolved, section: &str) -> Option<String> {
    let number = section.strip_prefix("channel.").map(|number| number.parse::<usize>());
    let chosen = match number {
        None => &resolved.mac,
        Some(number) => &resolved.channels.get(number.ok()?)?.mac,
    };
    let off = chosen.values.iter().filter(|(_, value)| **value == Value::Bool(false)).map(|(key, _)| key.as_str());
    let (key, mac) =
        off.filter_map(|key| Some((key, chosen.with(&[(key, true.into())])?))).find(|it| it.1.reports_failures())?;
    let drawn = resolved.random_flows.iter().map(|set| &set.kind);
    let flows = resolved.flows.iter().map(|(_, kind)| kind).chain(drawn);
    let size = flows.filter_map(|kind| Some(largest_packet(kind)?.0)).max().unwrap_or(0);
    let carries = |mac: &mac::Config| mac.largest_packet().is_none_or(|most| size <= u64::from(most));
    if carries(&mac) {
        return Some(format!("`{key} = true`"));
    }
    // An answer makes slots longer, by whole milliseconds here.
    let slots = (1..=1000).map(|ms| format!("{ms} ms"));
    let fits = |slot: &String| {
        chosen.with(&[(key, true.into()), ("slot", slot.as_str().into())]).is_some_and(|mac| carries(&mac))
    };
    let slot = slots.into_iter().find(fits)?;
    Some(format!("`{key} = true` and `slot = \"{slot}\"`"))
}

impl Resolver<'_> {
    /// Reports routing that learns of broken links from the MAC alone, over a MAC that reports none.
    pub(super) fn check_feedback(&mut self, resolved: &Resolved) {
        if self.is_faulty("routing") || resolved.nodes.count == 0 {
            return;
        }
        let routing = &resolved.routing.config;
        let Some((parameter, others)) = routing.needs_link_failures() else { return };
        let used = if routing.uses_all_radios() { usize::MAX } else { 1 };
        let silent = macs(resolved).take(used).find(|(_, mac)| !mac.reports_failures());
        if let Some((section, mac)) = silent {
            let (name, mac) = (routing.name(), mac.name());
            // Rules of another simulator may leave no choice.
            let mut able = others.split('"').skip(1).step_by(2).filter(|&value| {
                let changed = resolved.routing.with(&[(parameter, value.into())]);
                changed.is_some_and(|it| it.needs_link_failures().is_none())
            });
            let routing = able.next().map(|value| format!("`{parameter} = \"{value}\"` in [routing.{name}]"));
            let answered = answered(resolved, &section).map(|keys| format!("{keys} in [{section}.{mac}]"));
            let message = format!("`{name}` learns of broken links from the MAC alone, and `{mac}` reports none");
            let expected = if routing.is_some() { format!("{others}, or ") } else { String::new() };
            let hints: Vec<_> = routing.into_iter().chain(answered).collect();
            let problem = self.problem(&format!("routing.{name}.{parameter}"), message);
            problem.expected = Some(format!("{expected}a MAC that acknowledges frames"));
            problem.hint = (!hints.is_empty()).then(|| format!("write {}", hints.join(", or ")));
        }
    }

    /// Reports flows whose packets are longer than any link carries, and warns of flows whose packets some links do not
    /// carry.
    pub(super) fn check_packet_sizes(&mut self, resolved: &Resolved) {
        if self.is_faulty("mac") {
            return;
        }
        let links = links(resolved);
        let Some((_, narrowest)) = links.iter().min_by_key(|(_, most)| *most) else { return };
        let Some((name, widest)) = links.iter().max_by_key(|(_, most)| *most) else { return };
        // Linux's TCP takes the MTU of its device, and finds out what later links carry.
        let drawn = resolved.random_flows.iter().filter(|set| set.flows.stack != Stack::Linux);
        let drawn = drawn.map(|set| (Place::Drawn(set.number), set.path(), &set.kind));
        let listed = resolved.flows.iter().enumerate().filter(|(_, (flow, _))| flow.stack != Stack::Linux);
        let listed = listed.map(|(i, (_, kind))| (Place::Listed(i), format!("flow.{i}"), kind));
        for (place, section, kind) in listed.chain(drawn) {
            let Some((size, what)) = largest_packet(kind).filter(|(size, _)| *size > u64::from(*narrowest)) else {
                continue;
            };
            if self.is_faulty(&section) || self.is_faulty("tcp") || self.is_faulty("traffic") {
                continue;
            }
            let what = format!("{what} are {size} B with their headers");
            let none = size > u64::from(*widest);
            let refusing = links.iter().filter(|(_, most)| size > u64::from(*most)).map(|(name, _)| name.as_str());
            let message = match none {
                true => format!("{what}, and {name} can send none of them"),
                false => format!("{what}: {} drops them", refusing.collect::<Vec<_>>().join(", ")),
            };
            let most = if none { *widest } else { *narrowest };
            let key = if kind.tcp.is_some() { "tcp" } else { "traffic" };
            let fault = self.flow_problem(place, key, message);
            fault.is_warning = !none;
            fault.expected = Some(format!("packets of at most {most} B, headers included"));
            fault.hint = match u64::from(most).checked_sub(size - payload(kind)) {
                Some(fits) if kind.tcp.is_some() => Some(format!("write `segment_size = \"{fits} B\"` in [tcp]")),
                _ => Some("the page of each link says how long a packet may be".to_owned()),
            };
        }
    }

    /// Reports modes of a channel's frames for which `receive`, which is given by mode, has no value.
    pub(super) fn check_sensitivities(&mut self, resolved: &Resolved) {
        let further = resolved.channels.iter().map(|it| &it.radio);
        let radios = std::iter::once(&resolved.radio).chain(further);
        for (((section, mac), rates), radio) in macs(resolved).zip(rate_controls(resolved)).zip(radios) {
            let Ok(modes) = mac.modes(rates) else { continue };
            if let Some(mode) = radio.lacking(&modes) {
                let path = if section == "mac" { "radio" } else { section.as_str() };
                let message = format!("`receive` has no value for {}, at which `{}` sends", mode.name(), mac.name());
                let mut seen = BTreeSet::new();
                let modes = modes.iter().filter(|mode| seen.insert(mode.row));
                let names: Vec<String> = modes.map(|mode| format!("\"{}\"", mode.name())).collect();
                let problem = self.problem(&format!("{path}.receive"), message);
                problem.expected = Some(format!("values for {}", names.join(" and ")));
            }
        }
    }

    /// Reports rate control of a MAC whose frames all have one mode.
    pub(super) fn check_rate_control(&mut self, resolved: &Resolved) {
        for ((section, mac), rates) in macs(resolved).zip(rate_controls(resolved)) {
            if !mac.adapts() && !rates.is_fixed() && !self.is_faulty(&section) {
                let (mac, rates) = (mac.name(), rates.name());
                let message = format!("frames of `{mac}` all have one mode, and `{rates}` would choose among several");
                let problem = self.problem(&format!("{section}.rate_control"), message);
                problem.expected = Some(format!("\"fixed\" with `{mac}`"));
            }
        }
        if resolved.measure.rates && rate_controls(resolved).all(rate_control::Config::is_fixed) {
            let message = "`rates` records nothing: without rate control, no mode changes";
            self.warning("measure.rates", message).hint = Some("choose a `rate_control` in [mac]".to_owned());
        }
    }

    /// Reports costs of packets by which radios gain energy, because frames are too short.
    pub(super) fn check_packet_costs(&mut self, resolved: &Resolved) {
        let energy::Config::PerPacket(params) = &resolved.energy_model.config else { return };
        let modes = macs(resolved).zip(rate_controls(resolved)).filter_map(|((_, mac), rates)| mac.modes(rates).ok());
        let Some(rate) = modes.flatten().map(|mode| mode.rate()).max() else { return };
        if let Some((key, least)) = params.gains_at(rate).filter(|_| resolved.nodes.count > 0) {
            let path = format!("energy.{}.{key}", resolved.energy_model.model.name);
            let message =
                format!("radios would gain energy by frames at {rate}: `{key}` saves more than an idle radio takes");
            let problem = self.problem(&path, message);
            problem.expected = Some(format!("at least {least}"));
        }
    }

    /// Warns of MACs whose slots agents must find, where no agent finds any.
    pub(super) fn check_slot_finders(&mut self, resolved: &Resolved) {
        let has_finder = resolved.agents.iter().any(|agent| agent.config.finds_slots());
        if resolved.nodes.count == 0 || self.is_faulty("agents") || has_finder {
            return;
        }
        let finds = |model: &&ModelInfo| {
            agent::Config::of_profile(model.name, &resolved.head.profile).is_ok_and(|it| it.finds_slots())
        };
        let finders: Vec<_> = agent::MODELS.iter().filter(finds).map(|model| format!("\"{}\"", model.name)).collect();
        for (section, mac) in macs(resolved).filter(|(_, mac)| mac.needs_agent()) {
            let message = "no node ever has a slot: agents must find them, and no agent of this scenario does";
            let problem = self.warning(&format!("{section}.{}.schedule", mac.name()), message.to_owned());
            problem.expected = Some(format!("an agent that finds slots: {}", finders.join(" or ")));
            problem.hint = Some(format!("write `run = [{}]` in [agents]", finders.first().map_or("", |it| it)));
        }
    }

    /// Warns of MACs whose senders give up waiting before the acknowledgement of a receiver in range can come.
    pub(super) fn check_answers(&mut self, resolved: &Resolved) {
        let Some(channels) = Reach::of(resolved) else { return };
        let places = Some(&*resolved.positions).filter(|it| it.len() == resolved.nodes.count as usize);
        let places = places.filter(|_| resolved.stand_still());
        for (((section, mac), rates), channel) in macs(resolved).zip(rate_controls(resolved)).zip(&channels) {
            let Some((delay, key)) = mac.answered_within(rates) else { continue };
            let most = delay.seconds() * SPEED_OF_LIGHT;
            let farthest = match places {
                Some(places) => channel.farthest(places, &mut MOST_PAIRS.clone()),
                None if channel.nodes.len() > 1 && channel.links.is_none() => {
                    Some((channel.usual.min(resolved.across()), None))
                }
                None => None,
            };
            let Some((range, pair)) = farthest.filter(|(range, _)| *range > most) else { continue };
            let whose = match pair {
                Some((a, b)) => format!("nodes {a} and {b}, which receive each other's frames, are {range:.0} m apart"),
                None => format!("the range is {range:.0} m"),
            };
            let least = (range / SPEED_OF_LIGHT * 1e6).ceil();
            let message = format!("acknowledgements from farther than {most:.0} m come too late, and {whose}");
            let problem = self.warning(&format!("{section}.{}.{key}", mac.name()), message);
            problem.expected = Some(format!("at least {least} us"));
        }
    }

    /// Warns of limits within which no frame carries two packets of any flow.
    pub(super) fn check_aggregates(&mut self, resolved: &Resolved) {
        let kinds = resolved.flows.iter().map(|(_, kind)| kind).chain(resolved.random_flows.iter().map(|it| &it.kind));
        let Some((size, what)) = kinds.filter_map(largest_packet).min() else { return };
        let size = u32::try_from(size).unwrap_or(u32::MAX).min(MOST_BYTES);
        for ((section, mac), rates) in macs(resolved).zip(rate_controls(resolved)) {
            if self.is_faulty(&section) {
                continue;
            }
            for (key, expected) in mac.too_tight(rates, size) {
                let path = format!("{section}.{}.{key}", mac.name());
                if self.has(&path) {
                    let message = format!("no two {what} fit in the frame that `{key}` allows: each goes alone");
                    self.warning(&path, message).expected = Some(expected);
                }
            }
        }
    }

    /// Warns of TDMA without a guard time where a frame can fill its slot. If its sender is farther from the receiver
    /// than the owner of the next slot, the next frame begins there before this one has ended.
    pub(super) fn check_guards(&mut self, resolved: &Resolved) {
        let places = &resolved.positions;
        let Some(channels) = Reach::of(resolved) else { return };
        if places.len() != resolved.nodes.count as usize {
            return;
        }
        let kinds = resolved.flows.iter().map(|(_, kind)| kind).chain(resolved.random_flows.iter().map(|it| &it.kind));
        let sizes: BTreeSet<u32> = kinds.filter_map(|kind| u32::try_from(largest_packet(kind)?.0).ok()).collect();
        let mut budget = MOST_PAIRS;
        for ((section, mac), channel) in macs(resolved).zip(&channels) {
            let nodes: Vec<NodeId> = channel.nodes.iter().copied().map(NodeId).collect();
            let tight = sizes.iter().filter_map(|&size| Some((mac.spare(size)?, size))).min();
            let (Some((spare, size)), Some(round)) = (tight, mac.round(&nodes)) else { continue };
            let distance = |a: u32, b: u32| places[a as usize].distance(places[b as usize]);
            let near = |a: u32, b: u32| channel.joins(places, (a, b), Sure::Usually);
            let slots = mac.slots(&nodes);
            let mut worst: Option<(f64, [u32; 3])> = None;
            for (slot, owners) in slots.iter().enumerate() {
                let last = slot + 1 == slots.len();
                let room = spare + if last { round.pause } else { Span::ZERO };
                let next = &slots[if last { 0 } else { slot + 1 }];
                for (a, b) in owners.iter().flat_map(|a| next.iter().map(|b| (a.0, b.0))).filter(|(a, b)| a != b) {
                    budget = budget.saturating_sub(nodes.len() as u64);
                    if budget == 0 {
                        return;
                    }
                    for &at in channel.nodes.iter().filter(|&&at| at != a && near(a, at) && near(at, b)) {
                        let late = (distance(a, at) - distance(b, at)) / SPEED_OF_LIGHT - room.seconds();
                        if late > 0.0 && worst.is_none_or(|(most, _)| late > most) {
                            worst = Some((late, [a, b, at]));
                        }
                    }
                }
            }
            let Some((late, [a, b, at])) = worst else { continue };
            let here = if at == b { "there".to_owned() } else { format!("at node {at}") };
            let message = format!(
                "frames with packets of {size} B leave {spare} of a slot: one from node {a} has not ended {here} when \
                 the slot of node {b} begins, and is lost if node {b} sends"
            );
            let least = ((spare.seconds() + late) * 1e6).ceil();
            let problem = self.warning(&format!("{section}.{}.guard", mac.name()), message);
            problem.expected = Some(format!("a slot that is longer by a guard of at least {least} us"));
        }
    }

    /// Warns of routing that sends a packet again before the next hop has had a slot.
    pub(super) fn check_rounds(&mut self, resolved: &Resolved) {
        let routing = &resolved.routing.config;
        let Some((parameter, wait)) = routing.waits_for_next_hop() else { return };
        let Some(channels) = Reach::of(resolved) else { return };
        let used = if routing.uses_all_radios() { usize::MAX } else { 1 };
        for ((_, mac), channel) in macs(resolved).zip(&channels).take(used) {
            let nodes: Vec<NodeId> = channel.nodes.iter().copied().map(NodeId).collect();
            // A slot passes for the packet before it, one for the packet, and one for the sign of the next hop.
            let Some(least) = mac.round(&nodes).map(|it| it.length * 3).filter(|least| wait < *least) else { continue };
            let message = format!(
                "{wait} is less than three rounds of `{}`, {least}: packets are sent again before their next hop has \
                 had a slot, and their copies multiply at each hop",
                mac.name()
            );
            let problem = self.warning(&format!("routing.{}.{parameter}", routing.name()), message);
            problem.expected = Some(format!("at least {least}"));
        }
    }

    /// Warns of agents whose slots come after the end of the run.
    pub(super) fn check_first_slots(&mut self, resolved: &Resolved) {
        if !macs(resolved).any(|(_, mac)| mac.needs_agent()) {
            return;
        }
        let end = resolved.head.duration;
        for (name, agent) in agents(resolved) {
            let Some((key, from)) = agent.first_slot().into_iter().find(|(_, from)| *from >= end) else { continue };
            let message = format!("a node finds a slot after about {from}, and the run ends at {end}");
            self.warning(&format!("agents.{name}.{key}"), message).expected =
                Some("slots before the end of the run".to_owned());
        }
    }

    /// Warns of schedules by who hears whom that leave nodes without a slot at the start, and of messages of agents
    /// that are too long there.
    pub(super) fn check_neighbours(&mut self, resolved: &Resolved) {
        let places = &resolved.positions;
        let Some(channels) = Reach::of(resolved) else { return };
        if places.len() != resolved.nodes.count as usize {
            return;
        }
        let mut budget = MOST_PAIRS;
        for (number, ((section, mac), channel)) in macs(resolved).zip(&channels).enumerate() {
            let Some(near) = channel.neighbours(places, &mut budget) else { return };
            let title = format!("{section}.{}", mac.name());
            let slotless = mac.slotless(&near);
            if let Some(first) = slotless.first() {
                let message = match slotless.len() {
                    1 => format!(
                        "the frame has too few slots at the start: node {} has none",
                        channel.nodes[*first as usize]
                    ),
                    count => format!(
                        "the frame has too few slots at the start: {count} nodes have none, node {} among them",
                        channel.nodes[*first as usize]
                    ),
                };
                self.warning(&format!("{title}.frame_slots"), message).expected =
                    Some("as many slots as the schedule needs, or another `frame`".to_owned());
            }
            let most = near.iter().map(Vec::len).zip(&channel.nodes).max_by_key(|it| it.0);
            // Agents use the first radio.
            let Some(((neighbours, node), (limit, key))) = most.zip(mac.largest_message()).filter(|_| number == 0)
            else {
                continue;
            };
            let longest = agents(resolved).map(|(name, it)| (it.longest_message(neighbours), name)).max();
            if let Some((size, name)) = longest.filter(|(size, _)| *size > limit) {
                let message = format!(
                    "messages of `{name}` are dropped: that of node {node}, which has {neighbours} neighbours at the \
                     start, is {size} B with its headers, and at most {limit} B fit"
                );
                self.warning(&format!("{title}.{key}"), message).expected =
                    Some(format!("time for {size} B, or another way to send them"));
            }
        }
    }

    /// Warns of slots that two nodes own together who are within two hops of each other at the start.
    pub(super) fn check_shared_slots(&mut self, resolved: &Resolved) {
        let places = &resolved.positions;
        let Some(channels) = Reach::of(resolved) else { return };
        if places.len() != resolved.nodes.count as usize {
            return;
        }
        for ((section, mac), channel) in macs(resolved).zip(&channels) {
            let nodes: Vec<NodeId> = channel.nodes.iter().copied().map(NodeId).collect();
            let near = |a: u32, b: u32| channel.joins(places, (a, b), Sure::Usually);
            let (mut budget, mut found) = (MOST_PAIRS, Vec::new());
            let mut seen = BTreeSet::new();
            for (slot, owners) in mac.slots(&nodes).iter().enumerate() {
                for (place, a) in owners.iter().enumerate() {
                    for b in &owners[..place] {
                        let (a, b) = (a.0.min(b.0), a.0.max(b.0));
                        if a == b || !seen.insert((a, b)) {
                            continue;
                        }
                        budget = budget.saturating_sub(channel.nodes.len() as u64 + 1);
                        if budget == 0 {
                            return;
                        }
                        let between = channel.nodes.iter().find(|&&c| c != a && c != b && near(a, c) && near(c, b));
                        match between {
                            _ if near(a, b) => found.push((slot, a, b, "which hear each other".to_owned())),
                            Some(between) => found.push((slot, a, b, format!("which node {between} hears both"))),
                            None => {}
                        }
                    }
                }
            }
            let Some((slot, a, b, why)) = found.first() else { continue };
            let more = match found.len() - 1 {
                0 => String::new(),
                more => format!(" (and {more} more such pairs)"),
            };
            let message = format!("slot {slot} belongs to nodes {a} and {b}, {why} at the start{more}");
            let problem = self.warning(&format!("{section}.{}.schedule", mac.name()), message);
            problem.expected = Some("nodes more than two hops apart".to_owned());
        }
    }
}
