//! What a probe is told of the network before the run begins.

use super::flow::{Endpoints, Flow};
use super::{Attachment, FlowSpec, Spec, Transport, World};
use crate::address::InterfaceId;
use crate::observe::{AttachmentView, FlowView, InterfaceView, NetworkView, Probe};

impl<P: Probe> World<P> {
    /// Shows the network to the probe.
    pub(super) fn tell_network(&mut self, spec: &Spec) {
        if !P::WATCHES {
            return;
        }
        let interfaces: Vec<InterfaceView> = (0..self.interfaces.len()).map(|it| self.interface(it, spec)).collect();
        let flows: Vec<FlowView<'_>> = self.flows.iter().zip(&spec.flows).map(|(flow, it)| view(flow, it)).collect();
        self.probe.on_start(&NetworkView { nodes: self.nodes.len(), interfaces: &interfaces, flows: &flows });
    }

    fn interface(&self, number: usize, spec: &Spec) -> InterfaceView {
        let it = &self.interfaces[number];
        let attachment = match &it.attachment {
            Attachment::Radio { channel, .. } => AttachmentView::Radio {
                channel: channel.0,
                frequency: spec.channels[channel.index()].propagation.frequency(),
                preamble: self.channels[channel.index()].preamble(),
            },
            Attachment::Wire { wire, direction } => {
                let other = self.wires[*wire].to(*direction);
                AttachmentView::Wire { peer: self.interfaces[other.index()].node }
            }
            &Attachment::Tunnel { to } => AttachmentView::Tunnel { peer: self.cx.owners.of(to) },
            Attachment::Nothing => AttachmentView::Nothing,
        };
        let address = self.cx.owners.name(InterfaceId(number as u32).into());
        InterfaceView { node: it.node, address, attachment }
    }
}

fn view<'a>(flow: &Flow, spec: &'a FlowSpec) -> FlowView<'a> {
    let tcp = match &spec.transport {
        Transport::Tcp { config, .. } => Some(&config.tcp),
        Transport::Udp => None,
    };
    let sack = matches!(&flow.transport, Endpoints::Tcp { sender, .. } if sender.wants_sack());
    FlowView { from: flow.from, to: flow.to, tcp, sack, classifies: flow.classifies }
}
