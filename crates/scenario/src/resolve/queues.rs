//! Checks of the queues of interfaces: keys that do nothing beside a discipline, and marks for which nobody asks.

use hopyard_model::link::{RoutingPackets, queue};

use super::flow_faults::Place;
use super::resolved::{Chosen, Resolved};
use super::resolver::Resolver;
use crate::key::join;

/// The queues of radios, or of a wire.
struct Queue<'a> {
    section: String,
    discipline: &'a Chosen<queue::Config>,
    /// How many packets the length of the section allows.
    packets: usize,
    /// Whether packets wait under the length of the section and not under the discipline.
    has_others: bool,
}

/// The queues that a scenario has.
fn queues(resolved: &Resolved) -> Vec<Queue<'_>> {
    let link = &resolved.link;
    let radios = Queue {
        section: "link".to_owned(),
        discipline: &resolved.queue,
        packets: link.queue_limit.capacity(link.queue_length),
        has_others: link.routing_packets != RoutingPackets::InTurn,
    };
    let wires = resolved.wires.iter().zip(&resolved.wire_queues).enumerate();
    let wires = wires.map(|(number, ((_, wire), discipline))| Queue {
        section: format!("wire.{number}"),
        discipline,
        packets: wire.queue_limit.capacity(wire.queue_length),
        has_others: false,
    });
    (resolved.nodes.count > 0).then_some(radios).into_iter().chain(wires).collect()
}

impl Resolver<'_> {
    /// Warns of lengths that a discipline does not use or does not reach, and of flows that ask for marks in vain.
    pub(super) fn check_queues(&mut self, resolved: &Resolved) {
        let queues = queues(resolved);
        for queue in &queues {
            self.check_length(queue);
        }
        let marks = |it: &Queue<'_>| it.discipline.values.get("ecn").and_then(serde_json::Value::as_bool) == Some(true);
        if !queues.iter().any(marks) {
            self.check_marked(resolved);
        }
    }

    fn check_length(&mut self, queue: &Queue<'_>) {
        let Queue { section, discipline, packets, has_others } = queue;
        let (name, length) = (discipline.model.name, join(section, "queue_length"));
        if let Some(own) = discipline.config.own_length()
            && !has_others
            && self.has(&length)
        {
            let message = format!("`queue_length` does nothing here: the length of `{name}` is its `{own}`");
            self.unused(&length, message);
        }
        if let Some((key, most)) = discipline.config.beyond(*packets) {
            let of = |section: &str| join(&join(section, name), key);
            let places = [of(section), of("link"), length];
            let place =
                places.into_iter().find(|it| self.root.node(it).is_some()).unwrap_or_else(|| join(section, "queue"));
            let message = format!(
                "`{key}` of `{name}` is {most}, and the queue has room for {packets} packets: it is full before"
            );
            self.warning(&place, message).expected = Some(format!("a `queue_length` above {most}, or a lower `{key}`"));
        }
    }

    /// Warns of flows whose packets ask for marks, where no queue marks any.
    fn check_marked(&mut self, resolved: &Resolved) {
        let message = "`ecn` does nothing here: no queue marks packets";
        let hint = "choose a queue that can, and set its `ecn = true`, such as [link.codel] or [wire.codel]";
        let listed = resolved.flows.iter().enumerate().map(|(i, (_, kind))| (Place::Listed(i), kind));
        let drawn = resolved.random_flows.iter().map(|set| (Place::Drawn(set.number), &set.kind));
        let asks: Vec<_> =
            listed.chain(drawn).filter(|(_, kind)| kind.tcp.as_ref().is_some_and(|it| it.machine.ecn)).collect();
        if asks.is_empty() {
            return;
        }
        if self.has("tcp.ecn") {
            self.warning("tcp.ecn", message).hint = Some(hint.to_owned());
            return;
        }
        for (place, _) in asks {
            let fault = self.flow_problem(place, "ecn", message);
            fault.is_warning = true;
            fault.hint = Some(hint.to_owned());
        }
    }
}
