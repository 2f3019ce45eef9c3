//! Building the flows of a world, and the sockets at their ends.

use std::borrow::Cow;

use hopyard_engine::Streams;
use hopyard_engine::units::Rate;

use super::flow::{Counts, Flow, Sampled, ToGroup, WindowMean};
use super::{Cast, FlowSpec, Spec, Transport};
use crate::address::{Address, NodeId};
use crate::app::{App, Period, Sink};
use crate::host::{AnyEndpoint, Connections, Maker, Socket, Tcp, Udp};
use crate::link::wired::Numbering;
use crate::observe::FlowMeter;
use crate::packet::FlowId;
use crate::transport::tcp::{Connect, TcpReceiver, TcpSender};

/// The first flow with answers whose connection opens without a SYN, of which the destination would not learn.
pub(super) fn one_way(spec: &Spec) -> Option<usize> {
    let opens = |it: &FlowSpec| match &it.transport {
        Transport::Tcp { config, .. } => config.tcp.connect == Connect::ThreeWay,
        Transport::Udp => true,
    };
    spec.flows.iter().position(|it| it.traffic.is_answered() && !opens(it))
}

/// A flow with one destination.
struct Single<'a> {
    flow: &'a FlowSpec,
    to: NodeId,
    /// The flow of the specification.
    of: usize,
}

/// The flows with one destination each. First comes each flow of the specification with its first destination. The
/// other destinations follow, flow by flow.
fn singles(spec: &Spec) -> Vec<Single<'_>> {
    let mut all: Vec<_> = spec.flows.iter().enumerate().map(|(of, flow)| Single { flow, to: flow.to, of }).collect();
    for (&of, cast) in &spec.casts {
        let Some(flow) = spec.flows.get(of) else { continue };
        let members = match cast {
            Cast::Each(nodes) => nodes,
            Cast::Group(group) => &spec.groups[*group].members,
        };
        let others = members.iter().filter(|to| **to != flow.to && **to != flow.from);
        all.extend(others.map(|&to| Single { flow, to, of }));
    }
    all
}

/// For each flow, its part in a group of flows that share their packets. A flow to a single node has none.
fn to_groups(spec: &Spec, singles: &[Single<'_>]) -> Vec<Option<Box<ToGroup>>> {
    let part = |(number, single): (usize, &Single<'_>)| {
        let Some(Cast::Group(group)) = spec.casts.get(&single.of) else { return None };
        let address = Address::of_group(spec.groups[*group].address)?;
        let mut receivers = Vec::new();
        if number == single.of {
            let its = singles.iter().enumerate().filter(|(_, it)| it.of == number);
            receivers.extend(its.map(|(flow, it)| (it.to, flow)));
            receivers.sort_unstable();
        }
        Some(Box::new(ToGroup::new(address, FlowId(single.of as u32), receivers)))
    };
    singles.iter().enumerate().map(part).collect()
}

/// Builds the flows, with the answers behind them, and the sockets at their ends: all sources, then all destinations.
pub(super) fn build(spec: &Spec, streams: &Streams) -> (Vec<Flow>, Vec<Socket>) {
    let singles = singles(spec);
    let groups = to_groups(spec, &singles);
    let count = singles.len();
    let (mut flows, mut answers) = (Vec::with_capacity(count), Vec::new());
    let (mut sources, mut sinks) = (Vec::with_capacity(2 * count), Vec::with_capacity(count));
    for (number, (&Single { flow, to, of }, group)) in singles.iter().zip(groups).enumerate() {
        let stream = |purpose: &str| streams.stream(&format!("flow/{number}/{purpose}"));
        // Every destination gets the same data.
        let data = || streams.stream(&format!("flow/{of}/traffic"));
        let back = flow.traffic.is_answered().then_some(count + answers.len());
        let period = Period { start: flow.start, stop: flow.stop };
        // The datagrams to a group are the datagrams of its first flow.
        let at_source =
            if group.is_some() && number != of { App::Sink(Sink) } else { flow.traffic.source(period, data()) };
        let [source, sink] = match &flow.transport {
            Transport::Udp => [Udp::default(), Udp::default()].map(AnyEndpoint::from),
            Transport::Tcp { config, acking } => {
                let mut ends: [AnyEndpoint; 2] = if back.is_some() {
                    ["tcp", "tcp/back"].map(|purpose| {
                        let streams = (*streams, format!("flow/{number}/{purpose}"));
                        let (config, acking) = (config.as_ref().clone(), acking.clone());
                        Connections::new(Maker { config, acking, streams }).into()
                    })
                } else {
                    let sender = TcpSender::new(config, stream("tcp"));
                    let receiver = TcpReceiver::new(acking, &config.tcp, sender.wants_sack());
                    let ends = [(Some(sender), None), (None, Some(receiver))];
                    ends.map(|(sender, receiver)| Tcp::new(&config.tcp, sender, receiver).into())
                };
                for (end, node) in ends.iter_mut().zip([flow.from, to]) {
                    if let (Some(sender), Some(rate)) =
                        (end.tcp_mut().and_then(|it| it.sender.as_mut()), first_rate(node, spec))
                    {
                        sender.set_link_rate(rate);
                    }
                }
                ends
            }
        };
        let (source_at, sink_at) = (number, count + number);
        let ends = [(flow.from, source_at), (to, sink_at)];
        flows.push(Flow { group, ..build_flow((of, flow), spec, ends, &source, None) });
        if back.is_some() {
            answers.push(build_flow((of, flow), spec, [ends[1], ends[0]], &sink, Some(number as u32)));
        }
        let (node, peer, flow_back) = (flow.from, to, back.unwrap_or(number));
        let datagram = flow.traffic.packet_size().unwrap_or(u64::MAX);
        let at_sink = flow.traffic.destination(data());
        let socket = |node, peer, flow, endpoint, app| Socket {
            node,
            peer,
            flow,
            endpoint,
            app,
            serves: 0,
            earlier: Vec::new(),
            datagram,
            untold: None,
            written: Vec::new(),
        };
        sources.push(socket(node, peer, number, source, at_source));
        sinks.push(socket(peer, node, flow_back, sink, at_sink));
    }
    flows.append(&mut answers);
    sources.append(&mut sinks);
    (flows, sources)
}

/// The rate of a node's first channel.
fn first_rate(node: NodeId, spec: &Spec) -> Option<Rate> {
    let channel = spec.nodes[node.index()].radios.first().copied().unwrap_or(0);
    spec.channels.get(usize::from(channel)).and_then(|it| it.mac.rate())
}

/// Builds a flow of the specification between two nodes with these sockets, or the answers to one.
fn build_flow(
    (of, flow): (usize, &FlowSpec),
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
        of,
        answers,
        group: None,
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
    let singles = singles(spec);
    let answered = singles.iter().filter(|it| it.flow.traffic.is_answered());
    singles.iter().chain(answered).map(|it| numbering_of(it.flow)).collect()
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
