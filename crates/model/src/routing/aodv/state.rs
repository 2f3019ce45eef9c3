//! The state of an AODV node, and its use under every set of procedures.

use hopyard_engine::Time;

use super::internet::Internet;
use super::message::AodvMessage;
use super::params::{Params, ToGateway};
use super::table::{Entry, RouteState};
use crate::address::Address;
use crate::context::{Action, Context, RouteChange};
use crate::routing::Networks;
use crate::routing::common::on_demand::{self, Common, OnDemand};
use crate::routing::common::{Duplicates, Precursors};

/// The state that all sets of procedures have.
pub type State = on_demand::State<Params>;

/// The state of a node that only AODV asks for.
#[derive(Debug, Default)]
pub struct Own {
    pub precursors: Precursors,
    /// Gateways, and the hosts that they reach.
    pub internet: Internet,
}

impl OnDemand for Params {
    type Message = AodvMessage;
    type Heard = Duplicates;
    type Entry = Entry;
    type Own = Own;

    fn common(&self) -> Common {
        Common {
            by_link_layer: self.link_detection.by_link_layer(),
            by_hello: self.link_detection.by_hello(),
            path_discovery_time: self.path_discovery_time(),
            active_route_timeout: self.active_route_timeout(),
            hello_interval: self.hello_interval,
            hello_jitter: self.hello_jitter,
            neighbour_expiry: self.neighbour_expiry(),
            broadcast_jitter: self.broadcast_jitter,
            buffer_packets: self.buffer_packets,
            buffer_timeout: self.buffer_timeout,
            data_ttl: self.data_ttl,
        }
    }

    fn packet_size(&self, message: &AodvMessage) -> u32 {
        Self::packet_size(self, message)
    }

    #[inline]
    fn prefetch(state: &State, message: &AodvMessage) -> u32 {
        match message {
            AodvMessage::Request(request) => state.heard.prefetch(request.originator),
            _ => state.address.0,
        }
    }

    #[inline]
    fn is_source(state: &State, source: Address, cx: &Context) -> bool {
        state.is_own(source, cx) || state.own.internet.serves(source, cx)
    }

    fn on_networks(state: &mut State, networks: &Networks) {
        state.own.internet.on_networks(&state.params, state.node, networks);
    }

    fn accepts_tunnels(state: &State) -> bool {
        state.own.internet.is_gateway()
    }

    fn lookup(state: &State, destination: Address) -> Option<(Address, u8)> {
        let bound = || state.own.internet.gateway_of(destination).and_then(|gateway| state.table.up(gateway));
        state.table.up(destination).or_else(bound).map(|route| (route.next_hop, route.hops))
    }

    fn tunnel_end(state: &State, destination: Address) -> Option<Address> {
        let tunnels = state.params.to_gateway == ToGateway::HalfTunnel && state.table.up(destination).is_none();
        state.own.internet.gateway_of(destination).filter(|_| tunnels)
    }

    fn has_way(state: &State, destination: Address, cx: &Context) -> bool {
        state.table.up(destination).is_some() || state.to_gateway(destination, true, cx).is_some()
    }
}

impl State {
    /// The route to the gateway of a destination outside: the gateway that answered for it. Where default routes are
    /// used, and for errors, which look for no gateway, it is the nearest gateway. No default route leads to a host
    /// after a neighbour has said that it has no way there, and a gateway has none but its wires.
    pub fn to_gateway(&self, destination: Address, is_error: bool, cx: &Context) -> Option<&Entry> {
        let bound = self.own.internet.gateway_of(destination).and_then(|gateway| self.table.up(gateway));
        let nearest =
            || self.own.internet.nearest(destination, &self.table, cx).and_then(|gateway| self.table.up(gateway));
        let any = match self.params.to_gateway {
            ToGateway::HalfTunnel => is_error,
            ToGateway::DefaultRoute => {
                !self.own.internet.is_gateway() && (is_error || !self.own.internet.is_refused(destination))
            }
        };
        if any { bound.or_else(nearest) } else { bound }
    }

    /// Makes a route valid.
    pub fn bring_up(&mut self, destination: Address, next_hop: Address, hops: u8, expires: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        let changed = route.state != RouteState::Up || (route.next_hop, route.hops) != (next_hop, hops);
        (route.next_hop, route.hops, route.state) = (next_hop, hops, RouteState::Up);
        (route.expires, route.repairable) = (expires, false);
        if changed && route.used {
            let change = RouteChange { destination, route: Some((next_hop, hops)) };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        if changed {
            self.own.internet.route_changed(destination, (next_hop, hops), self.node, cx);
        }
        self.table.expires(expires);
    }

    /// Makes a route invalid until `forget`. A route that breaks while it is used is reported as lost. A route that
    /// expires is not, because it was not in use.
    pub fn take_down(&mut self, destination: Address, broken: bool, forget: Time, cx: &mut Context) {
        let route = self.table.entry(destination);
        if route.state == RouteState::Down {
            return;
        }
        (route.last_hops, route.state, route.expires) = (route.hops, RouteState::Down, forget);
        if std::mem::replace(&mut route.used, false) && broken {
            let change = RouteChange { destination, route: None };
            cx.act(Action::RouteChanged { node: self.node, change });
        }
        let hops = route.last_hops;
        self.own.internet.route_lost(destination, hops, broken, self.node, cx);
        self.table.expires(forget);
    }
}
