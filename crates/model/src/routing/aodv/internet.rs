//! The node's knowledge of the Internet: the networks around it, gateways, and the hosts that they reach.
//!
//! Reference: AODV-UU 0.9 and Nordström, Gunningberg, Tschudin, "Comparison of Forwarding Strategies in Internet
//! Connected MANETs" (2004); facts only, no code. A gateway answers a request for a host that its wires lead to with a
//! reply about itself, in which an extension names the host. The originator notes that this gateway reaches the host. A
//! host has no route of its own in AODV's table, so that no other node can answer for it. Left out: gateways that
//! advertise themselves, and prefixes of gateways in messages.

use std::net::Ipv4Addr;
use std::sync::Arc;

use super::params::{Gateways, Params};
use super::table::Entry;
use crate::address::{Address, NodeId, Prefix};
use crate::context::{Action, Context, RouteChange};
use crate::routing::Networks;
use crate::routing::common::on_demand::{INFINITY, Table};

/// A host outside the ad hoc network.
#[derive(Clone, Copy, Debug)]
struct Host {
    address: Address,
    /// The gateway that reaches it; nothing after the route to that gateway was lost.
    gateway: Option<Address>,
    /// Hops to the last gateway, for the next search.
    last_hops: u8,
    /// Whether data went to the host since it was bound to a gateway, so that changes are announced.
    used: bool,
    /// Whether a neighbour has said since that it has no way to the host.
    refused: bool,
}

/// The networks around a node, gateways, and the hosts that they reach.
#[derive(Debug, Default)]
pub struct Internet {
    /// The prefixes of all channels.
    ad_hoc: Arc<[Prefix]>,
    /// Where the node is a gateway: the prefixes to which its wires lead.
    wired: Vec<Prefix>,
    /// By address.
    hosts: Vec<Host>,
    /// The gateways that this node has heard of.
    gateways: Vec<Address>,
}

fn any(prefixes: &[Prefix], name: Ipv4Addr) -> bool {
    prefixes.iter().any(|prefix| prefix.contains(name))
}

impl Internet {
    /// The node is told what it is attached to.
    pub fn on_networks(&mut self, params: &Params, node: NodeId, networks: &Networks) {
        self.ad_hoc = Arc::clone(&networks.ad_hoc);
        let is_gateway = match &params.gateways {
            Gateways::Off => false,
            Gateways::Auto => true,
            Gateways::Nodes(nodes) => nodes.contains(&node.0),
        };
        if is_gateway && !networks.radios.is_empty() {
            self.wired.clone_from(&networks.wired);
        }
    }

    /// Whether the node is a gateway.
    pub const fn is_gateway(&self) -> bool {
        !self.wired.is_empty()
    }

    /// Whether the wires of this gateway lead to an address. Requests for it are answered here, and packets from it
    /// enter the ad hoc network here.
    pub fn serves(&self, address: Address, cx: &Context) -> bool {
        self.is_gateway() && any(&self.wired, cx.owners.name(address))
    }

    /// Whether an address is in no prefix of a channel.
    fn is_outside(&self, address: Address, cx: &Context) -> bool {
        !any(&self.ad_hoc, cx.owners.name(address))
    }

    /// Whether nothing is known of gateways.
    #[inline]
    pub const fn knows_none(&self) -> bool {
        self.gateways.is_empty()
    }

    /// Whether an address belongs to a gateway which this node has heard of.
    pub fn is_known(&self, gateway: Address) -> bool {
        self.gateways.contains(&gateway)
    }

    fn place(&self, host: Address) -> Result<usize, usize> {
        self.hosts.binary_search_by_key(&host, |it| it.address)
    }

    /// The place of a host, which is noted if it is not.
    fn note(&mut self, host: Address) -> usize {
        self.place(host).unwrap_or_else(|place| {
            let it = Host { address: host, gateway: None, last_hops: INFINITY, used: false, refused: false };
            self.hosts.insert(place, it);
            place
        })
    }

    fn get(&self, host: Address) -> Option<&Host> {
        self.place(host).ok().map(|place| &self.hosts[place])
    }

    /// Whether this is a host that a gateway once answered for, or that a neighbour has no way to.
    pub fn has(&self, host: Address) -> bool {
        self.place(host).is_ok()
    }

    /// The gateway that a host is bound to.
    pub fn gateway_of(&self, host: Address) -> Option<Address> {
        self.get(host).and_then(|it| it.gateway)
    }

    /// Hops to the gateway that last reached a host.
    pub fn last_hops(&self, host: Address) -> Option<u8> {
        self.get(host).map(|it| it.last_hops).filter(|&hops| hops != INFINITY)
    }

    /// The nearest gateway for an address outside, whether or not it was looked for: for default routes, and for
    /// errors, which look for nothing.
    pub fn nearest(&self, address: Address, table: &Table<Entry>, cx: &Context) -> Option<Address> {
        if self.knows_none() || !self.is_outside(address, cx) {
            return None;
        }
        let up = self.gateways.iter().filter_map(|&gateway| table.up(gateway));
        up.min_by_key(|route| (route.hops, route.destination)).map(|route| route.destination)
    }

    /// Notes a gateway.
    pub fn meet(&mut self, gateway: Address) {
        if !self.is_known(gateway) {
            self.gateways.push(gateway);
        }
    }

    /// Binds a host to a gateway, which is `hops` away, unless it is bound to one that is not farther. Returns whether
    /// the host is bound anew.
    pub fn bind(
        &mut self,
        host: Address,
        gateway: Address,
        node: NodeId,
        table: &Table<Entry>,
        cx: &mut Context,
    ) -> bool {
        let Some(route) = table.up(gateway) else { return false };
        let place = self.note(host);
        let it = &mut self.hosts[place];
        if let Some(present) = it.gateway.and_then(|present| table.up(present))
            && (present.destination == gateway || present.hops <= route.hops)
        {
            return false;
        }
        (it.gateway, it.refused) = (Some(gateway), false);
        if it.used {
            let change = RouteChange { destination: host, route: Some((route.next_hop, route.hops)) };
            cx.act(Action::RouteChanged { node, change });
        }
        true
    }

    /// Data go to a host, by its gateway.
    pub fn use_host(&mut self, host: Address, route: (Address, u8), node: NodeId, cx: &mut Context) {
        let Ok(place) = self.place(host) else { return };
        if !std::mem::replace(&mut self.hosts[place].used, true) {
            let change = RouteChange { destination: host, route: Some(route) };
            cx.act(Action::RouteChanged { node, change });
        }
    }

    /// The route to a destination, which may be a gateway, has changed.
    #[inline]
    pub fn route_changed(&self, gateway: Address, route: (Address, u8), node: NodeId, cx: &mut Context) {
        for it in self.hosts.iter().filter(|it| it.used && it.gateway == Some(gateway)) {
            let change = RouteChange { destination: it.address, route: Some(route) };
            cx.act(Action::RouteChanged { node, change });
        }
    }

    /// The route to a destination, which may be a gateway, is lost. Every host that is bound to it must be looked for
    /// again. A route that was in use is reported, if the link broke.
    #[inline]
    pub fn route_lost(&mut self, gateway: Address, hops: u8, broken: bool, node: NodeId, cx: &mut Context) {
        for it in self.hosts.iter_mut().filter(|it| it.gateway == Some(gateway)) {
            (it.gateway, it.last_hops) = (None, hops);
            if std::mem::replace(&mut it.used, false) && broken {
                let change = RouteChange { destination: it.address, route: None };
                cx.act(Action::RouteChanged { node, change });
            }
        }
    }

    /// Whether a neighbour has said that it has no way to a host, which no gateway has answered for since.
    pub fn is_refused(&self, host: Address) -> bool {
        self.get(host).is_some_and(|it| it.refused)
    }

    /// A neighbour, to which packets for a host went, has no way to it.
    pub fn host_lost(&mut self, host: Address, hops: u8, node: NodeId, cx: &mut Context) {
        let place = self.note(host);
        let it = &mut self.hosts[place];
        (it.gateway, it.last_hops, it.refused) = (None, hops, true);
        if std::mem::replace(&mut it.used, false) {
            let change = RouteChange { destination: host, route: None };
            cx.act(Action::RouteChanged { node, change });
        }
    }
}
