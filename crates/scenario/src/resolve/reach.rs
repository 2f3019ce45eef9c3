//! Checks which nodes can reach each other, to find flows that no radio, wire or route can carry before the run.
//!
//! A fault that no places of the nodes could mend is an error: nodes that neither a common channel nor a wire joins, or
//! a flow that its routing protocol cannot carry over the networks of the scenario ([`super::ways`]). A fault that
//! follows from the places of nodes is a warning, and the flow carries nothing: nodes beyond every range, static routes
//! over more than a range, or ways that are too long. A sweep over distances may pass the range. A likely fault is a
//! warning too: stationary nodes beyond the usual range, because of shadowing or of bit errors; all nodes at one point;
//! drawn or moving nodes that are too far apart to be connected.

use hopyard_engine::Streams;
use hopyard_model::mobility::Configured as _;
use hopyard_model::routing::{self, MostHops, Prescribed};

use super::flow_faults::{FlowFault, Place};
use super::links::{Apart, Checks, Groups, Reach, Sure};
use super::longest::Longer;
use super::resolved::Resolved;
use super::resolver::Resolver;
use super::ways::{Hops, How, Links, Lost, Ways};
use crate::drawing::drawn_flows;
use crate::placement::uniform;
use crate::sections::{Placement, System};

/// The number of runs that are checked if nodes are drawn.
const RUNS: u64 = 10;

/// The neighbours of a node from which on most of a large network is connected.
const MOSTLY_JOINED: f64 = 4.5;

/// The limit of the hops of a way.
#[derive(Clone, Copy)]
enum Limit {
    /// The time to live of packets.
    Life,
    /// The longest route of the protocol.
    Route,
    /// How far a search for a route goes.
    Search,
}

/// The key with the weakest frame of a channel.
fn receive_of(channel: usize) -> String {
    match channel {
        0 => "radio.receive".to_owned(),
        _ => format!("channel.{}.receive", channel - 1),
    }
}

impl Resolver<'_> {
    /// Reports flows that cannot be carried at all.
    pub(super) fn check_reach(&mut self, resolved: &Resolved) {
        let Some(mut channels) = Reach::of(resolved) else { return };
        self.check_noise(&channels);
        self.check_rates(&channels);
        let routing = &resolved.routing.config;
        if !routing.uses_all_radios() && channels.len() > 1 {
            channels.truncate(1);
            let message = format!("`{}` uses the radios on the first channel alone", routing.name());
            self.warning("channel.0", message);
        }
        let all_still = resolved.stand_still();
        let radios = resolved.nodes.count;
        let are_known = all_still && resolved.positions.len() == radios as usize;
        let places = are_known.then_some(&*resolved.positions);
        let pairs = resolved.wires.iter().map(|(wire, _)| wire.between);
        let checks = Checks {
            resolved,
            channels: &channels,
            places,
            routing,
            wires: pairs.map(|[a, b]| (a.min(b), a.max(b))).collect(),
        };
        self.check_each_flow(&checks);
        if let Some(places) = places {
            let matter = channels.iter().any(|channel| channel.links.is_none());
            if matter && radios > 1 && places.iter().all(|place| place.distance(places[0]) == 0.0) {
                self.warning("nodes", format!("all {radios} nodes stand at one point"));
            }
        } else if radios > 1 && resolved.wires.is_empty() {
            self.check_drawn(resolved, &channels, all_still);
        }
    }

    /// Warns of acknowledgements and broadcasts that do not reach as far as the data that they serve.
    fn check_rates(&mut self, channels: &[Reach]) {
        for (number, channel) in channels.iter().enumerate() {
            let Some((data, other, range)) = channel.shorter else { continue };
            let message = format!(
                "frames at {other}, such as acknowledgements and broadcasts, reach {range:.0} m, and data at {data} \
                 {:.0} m: nothing is delivered between",
                channel.usual
            );
            self.warning(&receive_of(number), message).expected =
                Some(format!("a range at {other} that is not shorter than the one at {data}"));
        }
    }

    /// Warns of ranges that noise makes shorter than the scenario says.
    fn check_noise(&mut self, channels: &[Reach]) {
        for (number, channel) in channels.iter().enumerate() {
            let path = receive_of(number);
            // The usual range is found by halving.
            let Some(asked) = channel.asked.filter(|asked| channel.usual < asked * 0.99 && self.has(&path)) else {
                continue;
            };
            let (most, usual) = (channel.most, channel.usual);
            let frames = match most < asked * 0.99 {
                true => format!("no frame is received over more than {most:.0} m"),
                false => format!("most frames of 1000 B are lost over more than {usual:.0} m"),
            };
            self.warning(&path, format!("noise ends the range before {asked} m: {frames}")).expected =
                Some(format!("at most {:.0} m, or more `transmit_power`", most.min(usual).floor()));
        }
    }

    /// Reports listed flows that the networks cannot carry, and sets of drawn flows with some that they cannot carry.
    fn check_each_flow(&mut self, checks: &Checks<'_>) {
        let resolved = checks.resolved;
        let (radios, all) = (resolved.talking(), resolved.all_nodes());
        let Some(ways) = Ways::of(checks) else { return };
        let joined = |sure| Links::new(checks.channels, checks.places, sure, all, &checks.wires);
        let (mut links, mut usual) = (joined(Sure::Perhaps), joined(Sure::Usually));
        // If nodes stood next to each other.
        let mut anywhere = Links::new(checks.channels, None, Sure::Perhaps, all, &checks.wires);
        let flows = resolved.flows.iter().enumerate();
        let pairs = flows.flat_map(|(i, (flow, kind))| flow.pairs().map(move |ends| (i, ends, kind)));
        for (i, (from, to), kind) in pairs.filter(|(_, (from, to), _)| *from < all && *to < all && from != to) {
            let tcp = kind.tcp.is_some();
            // Places matter if the flow could be carried with others.
            let mut is_far = || anywhere.all.joins(from, to) && ways.lost(&mut anywhere, from, to, tcp).is_none();
            if !links.all.joins(from, to) {
                let is_far = is_far();
                self.out_of_range(i, (from, to), checks).is_warning = is_far;
            } else if let Some(lost) = ways.lost(&mut links, from, to, tcp) {
                let is_far = is_far();
                self.cannot_carry(checks, i, (from, to), &lost).is_warning = is_far;
            } else if !usual.all.joins(from, to) || ways.lost(&mut usual, from, to, tcp).is_some() {
                let range = checks.channels.iter().map(|channel| channel.usual).fold(0.0, f64::max);
                let why = match range.is_finite() {
                    true if resolved.obstacles.is_empty() => {
                        format!("two stand farther apart than the usual range of {range:.0} m")
                    }
                    true => format!("two stand farther apart than the usual range, {range:.0} m without obstacles"),
                    false => "a link of the file is too weak for most frames of 1000 B".to_owned(),
                };
                let message =
                    format!("this flow can hardly be carried: on each chain of nodes from {from} to {to} {why}");
                let fault = self.flow_problem(Place::Listed(i), "to", message);
                fault.is_warning = true;
                fault.of_many = format!(
                    "these flows can hardly be carried: on each chain of nodes from source to destination {why}"
                );
            } else {
                self.check_hops(checks, i, (from, to), tcp);
                self.check_gateways(&ways, &mut links, i, (from, to), tcp);
                let bytes = ways.longer(&mut links, from, to);
                self.check_longest(
                    resolved,
                    Place::Listed(i),
                    kind,
                    &Longer { bytes, of: "a tunnel on their way".to_owned() },
                );
            }
        }
        self.check_members(resolved, |from, to| links.all.joins(from, to));
        let draws = resolved.random_flows.iter().find(|set| set.flows.number(radios) > 0);
        if let Some(set) = draws
            && checks.places.is_some()
            && (1..radios).any(|node| !ways.joins_radios(&mut links, 0, node))
        {
            self.warning(&set.number_path(), "some pairs of nodes are out of range of each other in every run");
        }
        self.check_lengths(checks);
    }

    fn out_of_range(&mut self, index: usize, (from, to): (u32, u32), checks: &Checks<'_>) -> &mut FlowFault {
        let is_loose = |node: u32| {
            node >= checks.resolved.nodes.count && !checks.wires.iter().any(|(a, b)| [*a, *b].contains(&node))
        };
        if let Some((key, node)) = [("from", from), ("to", to)].into_iter().find(|(_, node)| is_loose(*node)) {
            let message = format!("nothing can carry this flow: node {node} has neither a radio nor a wire");
            let fault = self.flow_problem(Place::Listed(index), key, message);
            fault.of_many = "nothing can carry these flows: one end has neither a radio nor a wire".to_owned();
            fault.expected = Some("a node with a radio or a wire".to_owned());
            fault.hint = Some(format!("`between = [NODE, {node}]` in a [[wire]] joins it to another node"));
            return fault;
        }
        let most = checks.channels.iter().map(|channel| channel.most).fold(0.0, f64::max);
        let first = match checks.routing {
            routing if !routing.uses_all_radios() && !checks.resolved.channels.is_empty() => {
                format!("; `{}` uses the radios on the first channel alone", routing.name())
            }
            _ => String::new(),
        };
        let (stand, hint) = match checks.places {
            Some(_) if most.is_infinite() => (
                ":",
                "the file of links names no chain of pairs that joins them in both directions, strong enough for a frame"
                    .to_owned(),
            ),
            Some(_) if checks.resolved.obstacles.is_empty() => (
                " stand still, and",
                format!("no frame is received over more than {most:.0} m: nodes must stand closer together"),
            ),
            Some(_) => (
                " stand still, and",
                format!("no frame is received over more than {most:.0} m, nor through too much `loss` of [[obstacle]]"),
            ),
            None => (":", "nodes without a radio need a [[wire]]".to_owned()),
        };
        let message =
            format!("nothing can carry this flow: nodes {from} and {to}{stand} no chain of radios or wires joins them");
        let fault = self.flow_problem(Place::Listed(index), "to", message);
        fault.of_many = "nothing can carry these flows: no chain of radios or wires joins their nodes".to_owned();
        fault.expected = Some("a node that `from` can reach".to_owned());
        fault.hint = Some(hint + &first);
        fault
    }

    /// Reports a flow that the routing protocol cannot carry over the networks.
    fn cannot_carry(&mut self, checks: &Checks<'_>, index: usize, ends: (u32, u32), lost: &Lost) -> &mut FlowFault {
        let (routing, profile) = (checks.resolved.routing.model.name, &checks.resolved.head.profile);
        let is_able = |name: &str, profile: &str, is: fn(&routing::Config) -> bool| {
            routing::Config::of_profile(name, profile).is_ok_and(|it| is(&it))
        };
        let able = |is: fn(&routing::Config) -> bool| {
            let names = routing::MODELS.iter().map(|model| model.name);
            let others: Vec<_> = names.filter(|&name| name != routing && is_able(name, profile, is)).collect();
            format!("routing by {}", others.join(" or "))
        };
        if matches!(lost.how, How::Circle) {
            let why = "a tunnel takes its packets, and from its end they come back to a node where they have been";
            let expected = "a tunnel from whose end routes lead to the destination".to_owned();
            return self.carried_by_nothing(index, "to", lost, &[why, why], expected);
        }
        if matches!(lost.how, How::InTunnel) {
            let why = "a tunnel takes its packets, and nothing carries them to the tunnel's end".to_owned();
            let expected = "a tunnel whose ends reach each other outside it".to_owned();
            return self.carried_by_nothing(index, "to", lost, &[&why, &why], expected);
        }
        let ends = [("from", ends.0), ("to", ends.1)];
        if let Some((key, host)) = ends.into_iter().find(|(_, node)| *node >= checks.resolved.nodes.count) {
            let reaches = checks.routing.reaches_wires();
            let why = match reaches {
                true => format!("no gateway of `{routing}` leads there"),
                false => format!("`{routing}` finds no routes over wires"),
            };
            let [one, many] =
                [format!("node {host} has no radio, and {why}"), format!("one end has no radio, and {why}")];
            // The parameters of the protocol may be what leaves the host without a gateway.
            let profiles = checks.resolved.routing.model.profiles.iter();
            let has_gateways = |profile: &&&str| is_able(routing, profile, routing::Config::reaches_wires);
            let profiles: Vec<_> = profiles.filter(has_gateways).map(|profile| format!("`{profile}`")).collect();
            let crosses = checks.routing.crosses_wires();
            let hint = match profiles.as_slice() {
                _ if crosses => None,
                _ if reaches => {
                    Some(format!("[routing.{routing}] says which nodes are gateways, or which networks they tell of"))
                }
                [] => None,
                _ => Some(format!(
                    "`{routing}` has gateways with the defaults of {}: see its profile and the keys of [routing.{routing}]",
                    profiles.join(" and ")
                )),
            };
            let expected = able(routing::Config::reaches_wires);
            let fault = self.carried_by_nothing(index, key, lost, &[&one, &many], expected);
            fault.hint = hint;
            fault
        } else {
            let why = format!("leads over a wire between radios, and `{routing}` finds no routes over wires");
            let one = format!("the way from node {} to node {} {why}", lost.from, lost.to);
            let many = format!("their way {why}");
            self.carried_by_nothing(index, "to", lost, &[&one, &many], able(routing::Config::crosses_wires))
        }
    }

    /// Reports a flow some of whose packets nothing carries. `why` is said of one flow, and of many.
    fn carried_by_nothing(
        &mut self,
        index: usize,
        key: &'static str,
        lost: &Lost,
        [one, many]: &[&str; 2],
        expected: String,
    ) -> &mut FlowFault {
        let what = lost.what;
        let fault =
            self.flow_problem(Place::Listed(index), key, format!("nothing can carry the {what} of this flow: {one}"));
        fault.of_many = format!("nothing can carry the {what} of these flows: {many}");
        fault.expected = Some(expected);
        fault
    }

    /// Warns of gateways that tell of a destination to which their wires do not lead.
    fn check_gateways(&mut self, ways: &Ways, links: &mut Links, index: usize, (from, to): (u32, u32), tcp: bool) {
        let ends = [("to", from, to, "data"), ("from", to, from, "acknowledgements")];
        for (key, from, to, what) in ends.into_iter().take(if tcp { 2 } else { 1 }) {
            let Some(gateway) = ways.misleads(links, from, to) else { continue };
            let message = format!(
                "the {what} of this flow are lost where node {gateway} is the nearest gateway: it tells of all hosts, \
                 and its wires do not lead to node {to}"
            );
            let fault = self.flow_problem(Place::Listed(index), key, message);
            fault.is_warning = true;
            fault.of_many = format!(
                "the {what} of these flows are lost where node {gateway} is the nearest gateway: it tells of all \
                 hosts, and its wires do not lead there"
            );
            fault.hint = Some(
                "join the wired networks, or let each gateway tell of the networks behind it, and of no default route"
                    .to_owned(),
            );
        }
    }

    /// Reports prescribed routes that lead over more than the range of any radio.
    fn check_hops(&mut self, checks: &Checks<'_>, index: usize, (from, to): (u32, u32), tcp: bool) {
        let config = checks.routing;
        let ways = [("to", from, to, "data"), ("from", to, from, "acknowledgements")];
        for (key, from, to, what) in ways.into_iter().take(if tcp { 2 } else { 1 }) {
            let Prescribed::Hops(hops) = config.prescribed(from, to) else { continue };
            let Some(((a, b), apart)) = hops.iter().find_map(|&hop| Some((hop, checks.apart(hop)?))) else { continue };
            let name = config.name();
            let neighbours = || "a route leads from neighbour to neighbour".to_owned();
            let (between, hint) = match apart {
                Apart::NoChannel => ("which neither a channel nor a wire joins".to_owned(), neighbours()),
                Apart::Far { distance, most } => (
                    format!("which stand {distance:.0} m apart"),
                    format!("no frame is received over more than {most:.0} m: give routes with more hops"),
                ),
                Apart::Walled => ("and an [[obstacle]] between them weakens signals too much".to_owned(), neighbours()),
                Apart::Unheard => ("which exchange no frames by the file of links".to_owned(), neighbours()),
            };
            let message = format!(
                "nothing can carry the {what} of this flow: [routing.{name}] sends them from node {a} to node {b}, \
                 {between}"
            );
            let fault = self.flow_problem(Place::Listed(index), key, message);
            fault.is_warning = !matches!(apart, Apart::NoChannel);
            fault.of_many = format!(
                "nothing can carry the {what} of these flows: [routing.{name}] sends them to nodes that are no neighbours"
            );
            fault.hint = Some(hint);
            return;
        }
    }

    /// Reports flows whose way is longer than the time to live of their packets, than any route of the protocol, or
    /// than its searches go.
    fn check_lengths(&mut self, checks: &Checks<'_>) {
        let resolved = checks.resolved;
        // Kernels have limits of their own.
        if resolved.nodes.system == System::Linux && !resolved.mixes_systems() {
            return;
        }
        let routing = checks.routing;
        let most = u32::from(resolved.ip.ttl);
        let section = format!("routing.{}", routing.name());
        let limits = [
            Some((Limit::Life, "ip", MostHops { hops: most, parameter: "ttl", value: most })),
            routing.most_hops().map(|most| (Limit::Route, &*section, most)),
            routing.search_hops().map(|most| (Limit::Search, &*section, most)),
        ];
        // The longest way without a loop passes every node.
        let limits: Vec<_> = limits.into_iter().flatten().filter(|it| it.2.hops < resolved.all_nodes()).collect();
        if limits.is_empty() {
            return;
        }
        let mut hops = Hops::new(checks);
        let all = resolved.all_nodes();
        let mut lengths: Vec<(usize, u32, u32)> = Vec::new();
        for (i, (flow, kind)) in resolved.flows.iter().enumerate() {
            let both = if kind.tcp.is_some() { 2 } else { 1 };
            let ways = flow.pairs().flat_map(|(from, to)| [(from, to), (to, from)].into_iter().take(both));
            for (from, to) in ways.filter(|(from, to)| from.max(to) < &all) {
                let length = hops.count(from, to);
                // A packet in a tunnel grows no older.
                let in_tunnel = to >= resolved.nodes.count && routing.tunnels_to_gateways();
                lengths.push((i, if in_tunnel { length.routed } else { length.all }, length.routed));
            }
        }
        for (limit, section, MostHops { hops: most, parameter, value }) in limits {
            let of_flow = |&(flow, life, routed): &(usize, u32, u32)| {
                let hops = if matches!(limit, Limit::Life) { life } else { routed };
                (hops > most).then_some((flow as u32, hops))
            };
            let mut too_long: Vec<(u32, u32)> = lengths.iter().filter_map(of_flow).collect();
            let Some(longest) = too_long.iter().map(|(_, hops)| *hops).max() else { continue };
            too_long.dedup_by_key(|it| it.0);
            let flows = crate::problem::ranges(too_long.iter().map(|it| it.0));
            let (of, has) = match too_long.len() {
                1 => (format!("flow {flows}"), format!("its way has {longest} hops")),
                _ => (format!("flows {flows}"), format!("their ways have up to {longest} hops")),
            };
            let path = format!("{section}.{parameter}");
            let least = value + longest - most;
            match limit {
                Limit::Search => {
                    let message = format!(
                        "{of}: {has}, and a search for a route goes no farther than {most}: it finds one only if a \
                         node on the way knows it"
                    );
                    let expected = format!("`{parameter}` of at least {least} in [{section}]");
                    self.warning(&path, message).expected = Some(expected);
                }
                Limit::Life | Limit::Route => {
                    let message = format!("no packet of {of} arrives: {has}, and `{parameter}` is {value}");
                    self.warning(&path, message).expected =
                        Some(format!("`{parameter}` of at least {least} in [{section}]"));
                }
            }
        }
    }

    /// Drawn or moving nodes.
    fn check_drawn(&mut self, resolved: &Resolved, channels: &[Reach], all_still: bool) {
        let radios = resolved.talking();
        let range = channels.iter().map(|channel| channel.usual).fold(0.0, f64::max);
        if all_still && resolved.nodes.placement == Placement::Uniform {
            let runs = RUNS.min(u64::from(resolved.head.runs));
            let carried = (0..runs).any(|run| {
                let streams = Streams::new(resolved.head.seed, run);
                let places = uniform(&resolved.nodes, streams.stream("placement"));
                let mut groups = Groups::apart(radios);
                for channel in channels {
                    channel.join(&mut groups, &places, Sure::Usually);
                }
                let drawn = drawn_flows(resolved, &streams).into_iter().flatten().map(|flow| (flow.from, flow.to));
                let listed = resolved
                    .flows
                    .iter()
                    .flat_map(|(flow, _)| resolved.receivers(flow).into_iter().map(|to| (flow.from, to)));
                let mut pairs = drawn.chain(listed.filter(|(from, to)| *from < radios && *to < radios)).peekable();
                pairs.peek().is_none() || pairs.any(|(from, to)| groups.joins(from, to))
            });
            if !carried {
                let [width, height] = resolved.nodes.area;
                let message = format!(
                    "no flow can be carried in the first {runs} runs: {radios} nodes in {width} by {height} are too \
                     far apart for a range of {range:.0} m"
                );
                self.warning("nodes.area", message);
            }
            return;
        }
        if resolved.movements.is_empty()
            && let Some(model) = resolved.mobility.sound().filter(|model| model.grouping().is_none())
            && let Some(area) = model.area()
        {
            let (width, height) = (area.high.x - area.low.x, area.high.y - area.low.y);
            let on_channel = |channel: &Reach| {
                let part = (std::f64::consts::PI * channel.usual * channel.usual / (width * height)).min(1.0);
                let others = channel.nodes.len().saturating_sub(1) as f64;
                channel.nodes.len() as f64 / f64::from(radios) * others * part
            };
            let neighbours: f64 = channels.iter().map(on_channel).sum();
            // With fewer neighbours than one on average, most nodes have none. Discs in a large plane form one network
            // from 4.5 neighbours on; few nodes do so where half of the others are neighbours.
            let most = f64::from(radios.saturating_sub(1));
            if neighbours < MOSTLY_JOINED.min(most / 2.0) {
                let how = if neighbours < 1.0 { "hardly ever connected" } else { "often parted" };
                let message = format!(
                    "the network is {how}: a node has {neighbours:.2} neighbours on average, with {radios} nodes in \
                     {width} m by {height} m and a range of {range:.0} m"
                );
                self.warning("nodes.count", message);
            }
        }
    }
}
