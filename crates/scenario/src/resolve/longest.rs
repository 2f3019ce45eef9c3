//! Packets that tunnels make longer than an IP packet can be (RFC 791 §3.1: 65,535 bytes), or than a link carries.

use hopyard_model::agent;
use hopyard_model::packet::MOST_BYTES;
use serde_json::Value;

use super::access::{largest_packet, links};
use super::flow_faults::Place;
use super::resolved::Resolved;
use super::resolver::Resolver;

/// Why tunnels make packets of a flow longer.
pub(super) struct Longer {
    /// The bytes of the outer headers.
    pub(super) bytes: u32,
    /// Of whose tunnels.
    pub(super) of: String,
}

impl Resolver<'_> {
    /// Reports flows from or to hosts that move between networks whose data do not fit into an agent's tunnel.
    pub(super) fn check_agent_tunnels(&mut self, resolved: &Resolved) {
        let read =
            |it: &super::resolved::Chosen| agent::Config::read(it.model.name, &Value::Object(it.values.clone())).ok();
        let serving = resolved.agents.iter().filter_map(read).find(|it| it.serves_moving_hosts());
        let Some(agents) = serving else { return };
        for (index, (flow, _)) in resolved.flows.iter().enumerate() {
            let moves = |node: u32| resolved.mobile_hosts.iter().any(|host| host.nodes.contains(&node));
            let host = match (moves(flow.to), moves(flow.from) && agents.takes_reverse_tunnels()) {
                (true, _) => flow.to,
                (false, true) => flow.from,
                (false, false) => continue,
            };
            let of = format!("the tunnel of host {host}, while it is away,");
            self.check_longest(resolved, index, &Longer { bytes: agents.tunnel_bytes(), of });
        }
    }

    /// Reports a flow whose data are too long with the outer headers of tunnels.
    pub(super) fn check_longest(&mut self, resolved: &Resolved, index: usize, longer: &Longer) {
        let Some((_, kind)) = resolved.flows.get(index).filter(|_| longer.bytes > 0) else { return };
        let is_faulty = [format!("flow.{index}"), "tcp".to_owned(), "traffic".to_owned()];
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
                let fault = self.flow_problem(Place::Listed(index), key, message);
                fault.is_warning = true;
                fault.expected = Some(format!("packets of at most {least} B, headers included"));
            }
            return;
        }
        let message = format!(
            "{what} are {size} B with their headers, and {of} adds {bytes} B: an IP packet has at most {MOST_BYTES} B"
        );
        let fault = self.flow_problem(Place::Listed(index), key, message);
        fault.of_many = format!("{what} and the headers of tunnels are longer than an IP packet, {MOST_BYTES} B");
        fault.expected = Some(format!("packets of at most {most} B, headers included"));
    }
}
