//! The view of a probe of the network before the run begins.

use std::collections::BTreeSet;

use super::{Spec, Transport, World, wired_routes};
use crate::address::{Address, InterfaceId, NodeId};
use crate::link::wired::Direction;
use crate::node::{Attachment, MobileRole};
use crate::observe::{AttachmentView, FlowView, InterfaceView, MobileView, NetworkView, Probe, StationView, WiredWay};
use crate::packet::FlowId;
use crate::transport::tcp::TcpSender;

impl<P: Probe> World<P> {
    /// Shows the network to the probe.
    pub(super) fn tell_network(&mut self, spec: &Spec) {
        if !self.probe.watches() {
            return;
        }
        let interfaces: Vec<InterfaceView> =
            (0..self.topology.interfaces.len()).map(|it| self.interface(it, spec)).collect();
        let labels: Vec<_> = self.flows.iter().map(|flow| flow.label.clone()).collect();
        let flows: Vec<FlowView<'_>> =
            labels.iter().enumerate().map(|(number, label)| self.flow(number, label, spec)).collect();
        let (nodes, mobile) = (self.nodes.len(), self.mobile());
        self.probe.on_start(&NetworkView { nodes, interfaces: &interfaces, flows: &flows, mobile: &mobile });
    }

    /// The hosts that move between networks, and their agents.
    pub(super) fn mobile(&self) -> MobileView {
        let roles = &self.topology.roles;
        let those =
            |are: fn(&MobileRole) -> bool| roles.iter().filter(move |(_, role)| are(role)).map(|(&node, _)| node);
        let hosts: Vec<NodeId> = those(|role| role.moves).collect();
        if hosts.is_empty() {
            return MobileView::default();
        }
        let agents: Vec<NodeId> = those(|role| role.serves).collect();
        let stations = roles.iter().filter_map(|(&node, role)| {
            let its = |interface: InterfaceId| match self.topology.attachment(interface) {
                Attachment::Radio { channel, .. } => Some(channel),
                _ => None,
            };
            let channel = self.topology.interfaces_of(node).find_map(its)?;
            Some(StationView { node, channel: channel.0, leg: role.leg, range: self.channels[channel.index()].range() })
        });
        let stations = stations.collect();
        let moves = |node: &NodeId| hosts.binary_search(node).is_ok();
        let others = self.flows.iter().filter_map(|flow| match (moves(&flow.from), moves(&flow.to)) {
            (true, false) => Some(flow.to),
            (false, true) => Some(flow.from),
            _ => None,
        });
        let others: BTreeSet<NodeId> = others.collect();
        let down = others.iter().flat_map(|&peer| agents.iter().map(move |&agent| (peer, agent)));
        let up = agents.iter().flat_map(|&agent| others.iter().map(move |&peer| (agent, peer)));
        let ways = self.wired_ways(&down.chain(up).collect::<Vec<_>>());
        MobileView { hosts, agents, stations, ways }
    }

    /// The ways of the shortest delay over wires for these pairs of nodes, where there is one.
    fn wired_ways(&self, pairs: &[(NodeId, NodeId)]) -> Vec<WiredWay> {
        let ends = self.wires.iter().map(|wire| {
            [(Direction::Backward, Direction::Forward), (Direction::Forward, Direction::Backward)].map(
                |(here, there)| {
                    let interface = wire.to(here);
                    (self.topology.node(interface), Address::from(interface), wire.delay(there))
                },
            )
        });
        let found = wired_routes::ways(&ends.collect::<Vec<_>>(), self.nodes.len(), pairs);
        let mut ways = Vec::new();
        for (&(from, to), wires) in pairs.iter().zip(found) {
            let Some(wires) = wires else { continue };
            let wires = wires.into_iter().map(|(wire, is_forward)| {
                let direction = if is_forward { Direction::Forward } else { Direction::Backward };
                (self.wires[wire].rate(direction), self.wires[wire].delay(direction))
            });
            ways.push(WiredWay { from, to, wires: wires.collect() });
        }
        ways
    }

    fn interface(&self, number: usize, spec: &Spec) -> InterfaceView {
        let it = self.topology.interfaces[number];
        let attachment = match it.attachment {
            Attachment::Radio { channel, .. } => AttachmentView::Radio {
                channel: channel.0,
                frequency: spec.channels[channel.index()].propagation.frequency(),
            },
            Attachment::Wire { wire, direction } => {
                AttachmentView::Wire { peer: self.topology.node(self.wires[wire].to(direction)) }
            }
            Attachment::Tunnel { to } => AttachmentView::Tunnel { peer: self.cx.owners.of(to) },
            Attachment::Nothing => AttachmentView::Nothing,
        };
        let address = self.cx.owners.name(InterfaceId(number as u32).into());
        InterfaceView { node: it.node, address, attachment }
    }

    fn flow<'a>(&self, number: usize, label: &'a str, spec: &'a Spec) -> FlowView<'a> {
        let it = &self.flows[number];
        let connection = it.answers.unwrap_or(number as u32);
        let tcp = match &spec.flows[it.of].transport {
            Transport::Tcp { config, .. } => Some(&config.tcp),
            Transport::Udp => None,
        };
        let sack = self.sender(number).is_some_and(TcpSender::wants_sack);
        FlowView {
            from: it.from,
            to: it.to,
            label,
            measured_from: it.meter.from(),
            stop: spec.flows[it.of].stop,
            connection: FlowId(connection),
            tcp,
            sack,
            classifies: it.classifies,
        }
    }
}
