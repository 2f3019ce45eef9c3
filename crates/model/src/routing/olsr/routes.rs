//! The routes of a node: the paths of its tree, those over gateways, and which of them are in use (RFC 3626 §10, 12.6).

use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};

use super::params::Metric;
use super::state::{Known, State, Used};
use super::tree::{Answer, Tree};
use crate::address::Address;
use crate::context::{Action, Context, RouteChange};

/// A route is in use until this long after its last packet.
const IN_USE: Span = Span::from_secs(15);

/// A path of the tree as a route.
const fn to_address((next_hop, hops): (u32, u8)) -> (Address, u8) {
    (Address(next_hop), hops)
}

impl State {
    fn compute(&self, tree: &mut Tree) {
        let graph = Known { neighbours: &self.neighbours, topology: &self.topology, metric: self.params.metric };
        match self.params.metric {
            Metric::Hops => tree.by_hops(self.main.0, &graph),
            Metric::Etx => tree.by_cost(self.main.0, &graph),
        }
    }

    /// The route to an address, by the tree alone.
    fn ask(&self, tree: &Tree, destination: Address, name: Option<Ipv4Addr>) -> Answer {
        // §10, step 2: the interfaces of neighbours are known by their links, also before a MID names them.
        let main = match self.link(destination) {
            Ok(place) if self.links[place].was_symmetric => self.links[place].main,
            _ => self.interfaces.main(destination),
        };
        let answer = tree.path(main.0);
        let Some(name) = name.filter(|name| answer == Answer::Known(None) && self.is_outside(*name)) else {
            return answer;
        };
        // §12.6: the longest prefix, over the gateway that is nearest.
        let mut best = None;
        for (length, gateway) in self.gateways.to(name) {
            match tree.path(gateway.0) {
                Answer::Doubtful => return Answer::Doubtful,
                Answer::Known(None) => {}
                Answer::Known(Some(path)) => {
                    let key = (std::cmp::Reverse(length), tree.cost(gateway.0), gateway);
                    if best.is_none_or(|(other, _)| key < other) {
                        best = Some((key, path));
                    }
                }
            }
        }
        Answer::Known(best.map(|it| it.1))
    }

    /// Whether an address is in none of the channels' prefixes. Gateways are not asked for others: the prefix of the
    /// channel is on the link.
    fn is_outside(&self, name: Ipv4Addr) -> bool {
        self.ad_hoc.iter().all(|prefix| !prefix.contains(name))
    }

    /// The route to an address, for a packet.
    fn find(&mut self, destination: Address, name: Ipv4Addr) -> Option<(Address, u8)> {
        if let Answer::Known(route) = self.ask(&self.tree, destination, Some(name)) {
            return route.map(to_address);
        }
        let mut tree = std::mem::take(&mut self.tree);
        self.compute(&mut tree);
        self.tree = tree;
        match self.ask(&self.tree, destination, Some(name)) {
            Answer::Known(route) => route.map(to_address),
            Answer::Doubtful => None,
        }
    }

    /// The route that a packet would take, for measurement.
    pub fn lookup(&self, destination: Address) -> Option<(Address, u8)> {
        let used = self.used.binary_search_by_key(&destination, |it| it.destination);
        self.lookup_named(destination, used.ok().map(|place| self.used[place].name))
    }

    /// The same for an address of this name, if it is known.
    pub fn lookup_named(&self, destination: Address, name: Option<Ipv4Addr>) -> Option<(Address, u8)> {
        let fresh = || {
            self.fresh.get_or_init(|| {
                let mut tree = Box::default();
                self.compute(&mut tree);
                tree
            })
        };
        let mut answer = self.ask(&self.tree, destination, name);
        if answer == Answer::Doubtful {
            answer = self.ask(fresh(), destination, name);
        }
        match answer {
            Answer::Known(route) => route.map(to_address),
            Answer::Doubtful => None,
        }
    }

    fn announce(&self, destination: Address, route: Option<(Address, u8)>, cx: &mut Context) {
        cx.act(Action::RouteChanged { node: self.node, change: RouteChange { destination, route } });
    }

    /// The route for a packet to a destination, which is in use from now on.
    pub fn route(&mut self, destination: Address, cx: &mut Context) -> Option<(Address, u8)> {
        let name = cx.owners.name(destination);
        let route = self.find(destination, name);
        match self.used.binary_search_by_key(&destination, |it| it.destination) {
            Ok(place) => {
                self.used[place].last = cx.now;
                if std::mem::replace(&mut self.used[place].route, route) != route {
                    self.announce(destination, route, cx);
                }
            }
            Err(place) if route.is_some() => {
                self.used.insert(place, Used { destination, name, route, last: cx.now });
                self.announce(destination, route, cx);
            }
            Err(_) => {}
        }
        route
    }

    /// Announces the changes of routes in use.
    pub fn announce_changes(&mut self, cx: &mut Context) {
        self.announce_at = Time::NEVER;
        self.used.retain(|it| cx.now.since(it.last) < IN_USE);
        for place in 0..self.used.len() {
            let Used { destination, name, .. } = self.used[place];
            let route = self.find(destination, name);
            if std::mem::replace(&mut self.used[place].route, route) != route {
                self.announce(destination, route, cx);
            }
        }
    }
}
