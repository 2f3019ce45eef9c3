//! Packets that tunnels or source routes make longer than an IP packet can be (RFC 791 §3.1: 65,535 bytes), or than a
//! link carries; and objects that need too many.

use hopyard_model::packet::MOST_BYTES;

use super::access::{largest_packet, links};
use super::flow_faults::Place;
use super::resolved::{FlowKind, Resolved};
use super::resolver::Resolver;

/// The most datagrams of one object: all are made when it is written.
const MOST_DATAGRAMS: u64 = 100_000;

/// Why packets of a flow become longer.
pub(super) struct Longer {
    /// The bytes that are added.
    pub(super) bytes: u32,
    /// By what.
    pub(super) of: String,
}

impl Resolver<'_> {
    /// Reports flows from or to hosts that move between networks whose data do not fit into an agent's tunnel.
    pub(super) fn check_agent_tunnels(&mut self, resolved: &Resolved) {
        let mut all = resolved.agents.iter().map(|it| &it.config);
        let Some(agents) = all.find(|it| it.serves_moving_hosts()) else { return };
        for (index, (flow, kind)) in resolved.flows.iter().enumerate() {
            let moves = |node: u32| resolved.mobile_hosts.iter().any(|host| host.nodes.contains(&node));
            let host = match flow.to.nodes().iter().find(|to| moves(**to)) {
                Some(to) => *to,
                None if moves(flow.from) && agents.takes_reverse_tunnels() => flow.from,
                None => continue,
            };
            let of = format!("the tunnel of host {host}, while it is away,");
            self.check_longest(resolved, Place::Listed(index), kind, &Longer { bytes: agents.tunnel_bytes(), of });
        }
    }

    /// Warns of flows whose data are too long for a link with the routes that the routing protocol writes into them.
    pub(super) fn check_routed(&mut self, resolved: &Resolved) {
        let routing = &resolved.routing.config;
        // The longest way without a loop passes every node.
        let hops = routing.most_hops().map_or(u32::MAX, |it| it.hops).min(resolved.nodes.count.saturating_sub(1));
        let bytes = if hops > 0 { routing.added_bytes(hops) } else { 0 };
        let listed = resolved.flows.iter().enumerate().map(|(i, (_, kind))| (Place::Listed(i), kind));
        let drawn = resolved.random_flows.iter().map(|set| (Place::Drawn(set.number), &set.kind));
        for (place, kind) in listed.chain(drawn) {
            let of = format!("a route of {hops} hops in each of them");
            self.check_longest(resolved, place, kind, &Longer { bytes, of });
        }
    }

    /// Reports a flow whose data are too long with the headers that are added on their way.
    pub(super) fn check_longest(&mut self, resolved: &Resolved, place: Place, kind: &FlowKind, longer: &Longer) {
        if longer.bytes == 0 {
            return;
        }
        let section = match place {
            Place::Listed(index) => format!("flow.{index}"),
            Place::Drawn(None) => "flows".to_owned(),
            Place::Drawn(Some(set)) => format!("flows.{set}"),
        };
        let is_faulty = [section, "tcp".to_owned(), "traffic".to_owned()];
        if is_faulty.iter().any(|section| self.is_faulty(section)) {
            return;
        }
        let Some((size, what)) = largest_packet(kind) else { return };
        let Longer { bytes, of } = longer;
        let key = if kind.tcp.is_some() { "tcp" } else { "traffic" };
        let most = u64::from(MOST_BYTES) - u64::from(*bytes);
        if size <= most {
            // What is too long without the tunnel is said already.
            let refuses = |most: u32| size <= u64::from(most) && size + u64::from(*bytes) > u64::from(most);
            let refusing: Vec<_> = links(resolved).into_iter().filter(|(_, most)| refuses(*most)).collect();
            if let Some(least) = refusing.iter().map(|(_, most)| most - bytes).min() {
                let names: Vec<_> = refusing.iter().map(|(name, _)| name.as_str()).collect();
                let message = format!(
                    "{what} are {size} B with their headers, and {of} adds {bytes} B: {} drops them",
                    names.join(", ")
                );
                let fault = self.flow_problem(place, key, message);
                fault.is_warning = true;
                fault.expected = Some(format!("packets of at most {least} B, headers included"));
            }
            return;
        }
        let message = format!(
            "{what} are {size} B with their headers, and {of} adds {bytes} B: an IP packet has at most {MOST_BYTES} B"
        );
        let fault = self.flow_problem(place, key, message);
        fault.of_many = format!("{what} and the headers of tunnels are longer than an IP packet, {MOST_BYTES} B");
        fault.expected = Some(format!("packets of at most {most} B, headers included"));
    }

    /// Reports an object that UDP would carry in more datagrams than memory has room for.
    pub(super) fn check_datagrams(&mut self, flow: Place, kind: &FlowKind) {
        let traffic = &kind.traffic.config;
        let Some((datagram, (parameter, size))) = traffic.packet_size().zip(traffic.largest()) else { return };
        if kind.tcp.is_some() || size.count() <= MOST_DATAGRAMS * datagram {
            return;
        }
        let message = format!(
            "a datagram carries {datagram} B, and `{parameter}` in [traffic.{}] is {size}",
            kind.traffic.model.name
        );
        let fault = self.flow_problem(flow, "traffic", message);
        fault.expected = Some(format!("at most {MOST_DATAGRAMS} datagrams, {} B", MOST_DATAGRAMS * datagram));
        fault.hint = Some("objects over TCP have no such limit; `packet_size` gives larger datagrams".to_owned());
    }
}
