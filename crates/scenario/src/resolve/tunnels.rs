//! Checks where tunnels lead, from the addresses that the interfaces will have. Faults are a tunnel that carries its
//! own end, tunnels that go round in circles, and prefixes in which nobody is.

use std::net::Ipv4Addr;

use hopyard_model::address::Prefix;
use hopyard_model::world::AddressPlan;

use super::resolved::Resolved;
use super::resolver::Resolver;

/// One prefix that a tunnel carries.
struct Entry {
    tunnel: usize,
    key: &'static str,
    from: u32,
    to: u32,
    prefix: Prefix,
}

impl Entry {
    fn path(&self) -> String {
        format!("tunnel.{}.{}", self.tunnel, self.key)
    }
}

/// The tunnels of a network, and the prefixes that compete with theirs.
pub(super) struct Tunnels<'a> {
    plan: &'a AddressPlan,
    entries: Vec<Entry>,
}

impl<'a> Tunnels<'a> {
    /// The tunnels whose prefixes and nodes are sound.
    pub(super) fn new(resolved: &Resolved, plan: &'a AddressPlan) -> Self {
        let all = resolved.nodes.count.saturating_add(resolved.nodes.wired);
        let mut entries = Vec::new();
        for (tunnel, it) in resolved.tunnels.iter().enumerate() {
            let [a, b] = it.between;
            if a >= all || b >= all || a == b {
                continue;
            }
            for (key, list, from, to) in [("carries", &it.carries, a, b), ("carries_back", &it.carries_back, b, a)] {
                let prefixes = list.iter().filter_map(|text| text.parse().ok());
                entries.extend(prefixes.map(|prefix| Entry { tunnel, key, from, to, prefix }));
            }
        }
        Self { plan, entries }
    }

    /// The tunnel by which a node sends packets for a prefix: the tunnel with the longest prefix around it, unless the
    /// prefix of a network is longer.
    fn next(&self, node: u32, prefix: Prefix) -> Option<&Entry> {
        let holds = |it: &Prefix| it.length() <= prefix.length() && it.contains(prefix.first());
        let own = self.entries.iter().filter(|it| it.from == node && holds(&it.prefix));
        let network = self.plan.prefixes.values().filter(|it| holds(it)).map(|it| it.length()).max();
        own.max_by_key(|it| it.prefix.length()).filter(|it| network.is_none_or(|network| it.prefix.length() >= network))
    }

    /// The address to which a tunnel to a node leads.
    fn end(&self, node: u32) -> Option<Ipv4Addr> {
        self.plan.names.get(node as usize).copied()
    }

    /// The nodes with an address in a prefix.
    fn within(&self, prefix: Prefix) -> impl Iterator<Item = u32> + '_ {
        let interfaces = self.plan.members.values().flatten();
        interfaces.filter(move |(_, it)| prefix.contains(self.plan.names[it.index()])).map(|(node, _)| node.0)
    }

    /// The nodes of the circle of tunnels in which packets for an entry's prefix would go round, if they would.
    fn circle(&self, entry: &Entry) -> Option<Vec<u32>> {
        let mut nodes = vec![entry.from];
        let mut at = entry;
        while at.to != entry.from {
            if nodes.contains(&at.to) {
                return None;
            }
            nodes.push(at.to);
            at = self.next(at.to, entry.prefix)?;
        }
        // A node of the circle keeps what is for itself.
        (!self.within(entry.prefix).any(|node| nodes.contains(&node))).then_some(nodes)
    }
}

impl Resolver<'_> {
    /// Reports tunnels that would lead nowhere.
    pub(super) fn check_tunnel_ways(&mut self, tunnels: &Tunnels<'_>) {
        for entry in &tunnels.entries {
            let Entry { prefix, to, .. } = *entry;
            let Some(end) = tunnels.end(to) else { continue };
            let own = tunnels.next(entry.from, Prefix::of(end, 32));
            if prefix.contains(end) && own.is_some_and(|own| own.tunnel == entry.tunnel && own.prefix == prefix) {
                let message =
                    format!("{prefix} holds the tunnel's own end, {end} of node {to}: it would never be reached");
                let problem = self.problem(&entry.path(), message);
                problem.expected = Some(format!("prefixes without {end}"));
                problem.hint = Some("the packets of the tunnel itself must find its end without the tunnel".to_owned());
                continue;
            }
            if let Some(nodes) = tunnels.circle(entry) {
                // Once for each circle.
                if nodes.iter().min() == Some(&entry.from) {
                    let way = nodes.iter().chain([&entry.from]).map(u32::to_string).collect::<Vec<_>>().join(" to ");
                    let message = format!("packets for {prefix} go round in tunnels, from node {way}");
                    let problem = self.problem(&entry.path(), message);
                    problem.expected =
                        Some("a tunnel that ends where the prefix is reached without a tunnel".to_owned());
                }
                continue;
            }
            if tunnels.within(prefix).all(|node| node == entry.from) {
                let message = format!("the tunnel carries nothing for {prefix}: no other node has an address in it");
                self.warning(&entry.path(), message);
            }
        }
    }
}
