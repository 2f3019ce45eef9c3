//! Building the flows of a world, and the sockets at their ends.

use std::borrow::Cow;

use hopyard_engine::{Rng, Streams};

use super::flow::{Counts, Flow, Sampled, WindowMean};
use super::{FlowSpec, Spec, Transport};
use crate::address::NodeId;
use crate::app::Period;
use crate::host::{AnyEndpoint, Received, Socket, Tcp, Udp};
use crate::link::wired::Numbering;
use crate::observe::FlowMeter;
use crate::transport::tcp::{self, Connect, TcpReceiver, TcpSender};

/// The first flow with answers whose connection opens without a SYN, of which the destination would not learn.
pub(super) fn one_way(spec: &Spec) -> Option<usize> {
    let opens = |it: &FlowSpec| match &it.transport {
        Transport::Tcp { config, .. } => config.tcp.connect == Connect::ThreeWay,
        Transport::Udp => true,
    };
    spec.flows.iter().position(|it| it.traffic.is_answered() && !opens(it))
}

/// Builds the flows, with the answers behind them, and the sockets at their ends: all sources, then all destinations.
pub(super) fn build(spec: &Spec, streams: &Streams) -> (Vec<Flow>, Vec<Socket>) {
    let count = spec.flows.len();
    let (mut flows, mut answers) = (Vec::with_capacity(count), Vec::new());
    let (mut sources, mut sinks) = (Vec::with_capacity(2 * count), Vec::with_capacity(count));
    for (number, flow) in spec.flows.iter().enumerate() {
        let stream = |purpose: &str| streams.stream(&format!("flow/{number}/{purpose}"));
        let back = flow.traffic.is_answered().then_some(count + answers.len());
        let at_source = flow.traffic.source(Period { start: flow.start, stop: flow.stop }, stream("traffic"));
        let [source, sink] = match &flow.transport {
            Transport::Udp => [Udp::default(), Udp::default()].map(AnyEndpoint::from),
            Transport::Tcp { config, acking } => {
                let sender = |purpose, from| sender(config, stream(purpose), from, spec);
                let forward = sender("tcp", flow.from);
                let sack = forward.wants_sack();
                let ends = match back {
                    None => [
                        Tcp::new(&config.tcp, Some(forward), None),
                        Tcp::new(&config.tcp, None, Some(TcpReceiver::new(acking, &config.tcp, sack))),
                    ],
                    Some(_) => [forward, sender("tcp/back", flow.to)].map(|it| {
                        Tcp::new(&config.tcp, Some(it), Some(TcpReceiver::duplex(acking, &config.tcp, sack)))
                    }),
                };
                ends.map(AnyEndpoint::from)
            }
        };
        let (source_at, sink_at) = (number, count + number);
        let ends = [(flow.from, source_at), (flow.to, sink_at)];
        flows.push(build_flow(flow, spec, ends, &source, None));
        if back.is_some() {
            answers.push(build_flow(flow, spec, [ends[1], ends[0]], &sink, Some(number as u32)));
        }
        let (node, peer, flow_back) = (flow.from, flow.to, back.unwrap_or(number));
        let datagram = flow.traffic.packet_size().unwrap_or(u64::MAX);
        let at_sink = flow.traffic.destination(stream("traffic"));
        let socket = |node, peer, flow, endpoint, app| Socket {
            node,
            peer,
            flow,
            endpoint,
            app,
            datagram,
            untold: Received::default(),
            written: Vec::new(),
        };
        sources.push(socket(node, peer, number, source, at_source));
        sinks.push(socket(peer, node, flow_back, sink, at_sink));
    }
    flows.append(&mut answers);
    sources.append(&mut sinks);
    (flows, sources)
}

/// A sender of a flow, at a node.
fn sender(config: &tcp::Config, rng: Rng, from: NodeId, spec: &Spec) -> TcpSender {
    let mut sender = TcpSender::new(config, rng);
    // The rate of the node's first channel.
    let channel = spec.nodes[from.index()].radios.first().copied().unwrap_or(0);
    if let Some(rate) = spec.channels.get(usize::from(channel)).and_then(|it| it.mac.rate()) {
        sender.set_link_rate(rate);
    }
    sender
}

/// Builds a flow between two nodes with these sockets, or the answers to one.
fn build_flow(
    flow: &FlowSpec,
    spec: &Spec,
    [(from, source), (to, sink)]: [(NodeId, usize); 2],
    endpoint: &AnyEndpoint,
    answers: Option<u32>,
) -> Flow {
    let (name, segment) = match &flow.transport {
        Transport::Udp => (Cow::Borrowed("udp"), 0),
        Transport::Tcp { config, .. } => {
            (Cow::Owned(config.congestion.name().to_owned()), config.tcp.segment_size.count())
        }
    };
    let sender = endpoint.tcp().and_then(|tcp| tcp.sender.as_deref());
    Flow {
        from,
        to,
        source,
        sink,
        answers,
        name,
        label: Cow::Owned(if answers.is_some() { flow.label_of_answers() } else { flow.label.clone() }),
        dscp: flow.dscp,
        segment,
        meter: FlowMeter::new(spec.measure_from),
        route_changes: 0,
        route: None,
        errors: Vec::new(),
        sampled: Sampled::default(),
        cwnd: if answers.is_some() { WindowMean::of_answers() } else { WindowMean::new(flow.start, flow.stop) },
        before: Counts::default(),
        wants_notices: sender.is_some_and(TcpSender::wants_notices),
        classifies: sender.is_some_and(TcpSender::classifies),
    }
}

/// How wires number the segments of each flow, the answers included.
pub(super) fn numbering(spec: &Spec) -> Vec<Numbering> {
    let answered = spec.flows.iter().filter(|flow| flow.traffic.is_answered());
    spec.flows.iter().chain(answered).map(numbering_of).collect()
}

/// How wires number a flow's segments. The first byte follows a SYN, which takes one sequence number.
fn numbering_of(flow: &FlowSpec) -> Numbering {
    match &flow.transport {
        Transport::Tcp { config, .. } => {
            let first = u64::from(config.tcp.connect != Connect::None);
            Numbering { first, size: config.tcp.segment_size.count() as u32 }
        }
        Transport::Udp => Numbering { first: 0, size: 1 },
    }
}
