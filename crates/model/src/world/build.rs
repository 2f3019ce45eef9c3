//! Building a world from its specification.

use std::borrow::Cow;
use std::sync::Arc;

use hopyard_engine::{Queue, Span, Streams, Time, Wakeup};

use super::flow::{Counts, Endpoints, Flow, Sampled};
use super::{Event, FlowSpec, Interface, Node, Spec, Transport, WiredLink, World};
use crate::address::InterfaceId;
use crate::channel::{AnyChannel, ChannelId, Plan, Station};
use crate::context::Context;
use crate::link::{Link, ReceivePath, Wired};
use crate::mobility::{self, Leg, Mobility};
use crate::observe::FlowMeter;
use crate::packet::NodeId;
use crate::routing::{Connectivity, Routing};
use crate::traffic::Period;
use crate::transport::tcp::{TcpReceiver, TcpSender};
use crate::transport::udp::UdpReceiver;

/// A specification from which no world can be built.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuildError {
    /// A node's movement cannot be built.
    #[error("node {node}: {source}")]
    Mobility {
        /// The node.
        node: usize,
        /// Why.
        source: mobility::BuildError,
    },
    /// A flow or wire names a node that does not exist.
    #[error("{what} {number} names node {node}; there are {nodes} nodes, counted from 0")]
    NoSuchNode {
        /// "flow" or "wire".
        what: &'static str,
        /// Its number.
        number: usize,
        /// The node.
        node: NodeId,
        /// How many nodes there are.
        nodes: usize,
    },
    /// A flow or wire leads from a node to itself.
    #[error("{what} {number} leads from node {node} to itself")]
    ToItself {
        /// "flow" or "wire".
        what: &'static str,
        /// Its number.
        number: usize,
        /// The node.
        node: NodeId,
    },
}

impl World {
    /// The world of a specification, at time zero.
    ///
    /// # Errors
    /// When a flow or wire names a node that does not exist, or a movement file lacks a node.
    pub fn new(spec: &Spec) -> Result<Self, BuildError> {
        check_ends(spec)?;
        let streams = Streams::new(spec.seed, spec.run);
        let count = spec.nodes.len();
        let mut queue = Queue::default();
        let mut legs: Vec<Leg> = Vec::with_capacity(count);
        let mut nodes = Vec::with_capacity(count);
        for (number, node) in spec.nodes.iter().enumerate() {
            let id = NodeId(number as u32);
            let place = mobility::Spec { start: node.start, movements: node.movements.as_deref() };
            let mut mobility = node
                .mobility
                .build(id, &place, streams.node(number, "mobility"))
                .map_err(|source| BuildError::Mobility { node: number, source })?;
            let leg = mobility.next_leg();
            if leg.until < Time::NEVER {
                queue.push(leg.until, Event::Leg(number as u32));
            }
            legs.push(leg);
            nodes.push(Node {
                link: Link::new(id, &spec.link, streams.node(number, "arp")),
                link_wakeup: Wakeup::default(),
                routing: node.routing.build(id, count, streams.node(number, "routing")),
                routing_wakeup: Wakeup::default(),
                mobility,
                wires: Vec::new(),
                flows: Vec::new(),
                routing_protocol: node.routing.name(),
                forwarded: 0,
                routing_packets: 0,
                routing_bytes: 0,
                icmp_errors: 0,
            });
        }
        let mut wires = Vec::with_capacity(spec.wires.len());
        for (number, wire) in spec.wires.iter().enumerate() {
            let stream = |direction| streams.stream(&format!("wire/{number}/{direction}"));
            let wired = Wired::new(&wire.params, wire.ends.into(), [stream("forward"), stream("backward")]);
            for node in [wire.ends.0, wire.ends.1] {
                if let Some((direction, other)) = wired.direction_from(node) {
                    nodes[node.index()].wires.push((other, direction, number));
                }
            }
            wires.push(WiredLink { wire: wired, wakeup: Wakeup::default() });
        }
        for (number, flow) in spec.flows.iter().enumerate() {
            nodes[flow.from.index()].flows.push(number);
        }
        let connectivity_interval =
            nodes.iter().map(|node| node.routing.connectivity_interval()).filter(|span| !span.is_zero()).min();
        let mut stations = Vec::with_capacity(count);
        let mut interfaces = Vec::with_capacity(count);
        for (number, leg) in legs.into_iter().enumerate() {
            let (node, interface) = (NodeId(number as u32), InterfaceId(number as u32));
            let station = spec.nodes[number].wireless.then_some((ChannelId(0), stations.len() as u32));
            interfaces.push(Interface { node, station });
            if station.is_some() {
                let (backoff, reception) = (streams.node(number, "backoff"), streams.node(number, "reception"));
                stations.push(Station { interface, node, leg, backoff, reception });
            }
        }
        let plan =
            Plan { radio: &spec.radio, propagation: &spec.propagation, mac: &spec.mac, search: spec.medium.search };
        let mut world = Self {
            cx: Context::default(),
            queue,
            end: Time::ZERO + spec.duration,
            seed: spec.seed,
            run: spec.run,
            nodes,
            interfaces,
            channels: vec![AnyChannel::new(ChannelId(0), &plan, stations, &streams)],
            receive_path: ReceivePath::new(spec.link.processing_delay),
            exact: spec.medium.exact,
            wires,
            flows: spec.flows.iter().enumerate().map(|(n, flow)| build_flow(n, flow, spec, &streams)).collect(),
            ttl: spec.ip.ttl,
            unreachable_interval: spec.ip.unreachable_interval,
            connectivity: Arc::new(Connectivity::new(vec![Vec::new(); count])),
            connectivity_interval: connectivity_interval.unwrap_or(Span::ZERO),
            quantities: spec.observe.series.clone(),
            sample_interval: spec.observe.interval.max(Span::from_micros(1)),
            series: Vec::new(),
            decisions: Vec::new(),
            events: 0,
            queued_edges: 0,
            numbered_before: 0,
            failure: None,
        };
        world.watch_losses();
        Ok(world)
    }
}

fn check_ends(spec: &Spec) -> Result<(), BuildError> {
    let nodes = spec.nodes.len();
    let flows = spec.flows.iter().enumerate().map(|(number, flow)| ("flow", number, flow.from, flow.to));
    let wires = spec.wires.iter().enumerate().map(|(number, wire)| ("wire", number, wire.ends.0, wire.ends.1));
    for (what, number, a, b) in flows.chain(wires) {
        if let Some(node) = [a, b].into_iter().find(|node| node.index() >= nodes) {
            return Err(BuildError::NoSuchNode { what, number, node, nodes });
        }
        if a == b {
            return Err(BuildError::ToItself { what, number, node: a });
        }
    }
    Ok(())
}

fn build_flow(number: usize, flow: &FlowSpec, spec: &Spec, streams: &Streams) -> Flow {
    let stream = |purpose: &str| streams.stream(&format!("flow/{number}/{purpose}"));
    let (transport, name, segment) = match &flow.transport {
        Transport::Udp => (Endpoints::Udp { next: 0, receiver: UdpReceiver::new() }, Cow::Borrowed("udp"), 0),
        Transport::Tcp { config, acking } => {
            let mut sender = TcpSender::new(config, stream("tcp"));
            sender.set_link_rate(spec.mac.rate());
            let receiver = TcpReceiver::new(acking, &config.tcp, sender.wants_sack());
            let endpoints = Endpoints::Tcp { sender: Box::new(sender), receiver: Box::new(receiver) };
            let name = Cow::Owned(config.congestion.name().to_owned());
            (endpoints, name, config.tcp.segment_size.count())
        }
    };
    Flow {
        from: flow.from,
        to: flow.to,
        source: flow.traffic.source(Period { start: flow.start, stop: flow.stop }, stream("traffic")),
        transport,
        name,
        segment,
        source_wakeup: Wakeup::default(),
        sink_wakeup: Wakeup::default(),
        meter: FlowMeter::new(spec.measure_from),
        route: None,
        errors: Vec::new(),
        sampled: Sampled::default(),
        cwnd_area: 0.0,
        cwnd_since: Time::ZERO,
        cwnd: 0.0,
        before: Counts::default(),
        opened: false,
        classifies: false,
    }
}
