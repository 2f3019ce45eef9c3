//! The state of an AOMDV node, and its use under every set of procedures.

use hopyard_engine::{Span, Time};

use super::message::AomdvMessage;
use super::params::Params;
use super::requests::Requests;
use super::table::{Entry, Learned, Path};
use crate::address::Address;
use crate::context::{Action, Context, Origin, RouteChange};
use crate::routing::common::on_demand::{self, Common, Entry as _, OnDemand};

/// The state that both sets of procedures have.
pub type State = on_demand::State<Params>;

impl OnDemand for Params {
    type Message = AomdvMessage;
    type Heard = Requests;
    type Entry = Entry;
    type Own = ();

    fn common(&self) -> Common {
        Common {
            by_link_layer: self.link_detection.by_link_layer(),
            by_hello: self.link_detection.by_hello(),
            path_discovery_time: self.path_discovery_time(),
            active_route_timeout: self.active_route_timeout,
            hello_interval: self.hello_interval,
            hello_jitter: self.hello_jitter,
            neighbour_expiry: self.neighbour_expiry(),
            broadcast_jitter: self.broadcast_jitter,
            buffer_packets: self.buffer_packets,
            buffer_timeout: self.buffer_timeout,
            data_ttl: self.data_ttl,
        }
    }

    fn packet_size(&self, message: &AomdvMessage) -> u32 {
        Self::packet_size(self, message)
    }

    #[inline]
    fn repeated_header(&self) -> u32 {
        self.repeated_header.count() as u32
    }
}

impl State {
    /// Tells all in reach of destinations that were lost. A message counts them in eight bits.
    pub fn send_error(&mut self, origin: Origin, unreachable: &[(Address, u32)], delay: Span, cx: &mut Context) {
        for some in unreachable.chunks(255) {
            self.send_as(origin, AomdvMessage::Error(some.to_vec()), Address::BROADCAST, 1, delay, cx);
        }
    }

    /// Changes an entry. If data go to this destination, and the path that is used first has changed, this is
    /// announced. A route that expires is not announced as lost, because it was not in use.
    pub fn change<R>(
        &mut self,
        destination: Address,
        broken: bool,
        cx: &mut Context,
        change: impl FnOnce(&mut Entry) -> R,
    ) -> R {
        let entry = self.table.entry(destination);
        let before = entry.route();
        let result = change(entry);
        let route = entry.route();
        if entry.used && before != route && (route.is_some() || broken) {
            cx.act(Action::RouteChanged { node: self.node, change: RouteChange { destination, route } });
        }
        entry.used &= route.is_some();
        let next = entry.next_change();
        self.table.expires(next);
        result
    }

    /// Learns a path that a neighbour advertises with `hops` hops (the route update rule).
    #[allow(clippy::too_many_arguments, reason = "the fields of a message")]
    pub fn learn(
        &mut self,
        destination: Address,
        sequence: u32,
        hops: u8,
        from: Address,
        last_hop: Address,
        expires: Time,
        cx: &mut Context,
    ) -> Learned {
        let limits = self.params.limits();
        let path = Path { next_hop: from, last_hop, hops: hops.saturating_add(1), expires };
        self.change(destination, true, cx, |entry| entry.learn(sequence, path, limits))
    }

    /// The destinations to which some path leads through this neighbour.
    #[must_use]
    pub fn behind(&self, neighbour: Address) -> Vec<Address> {
        let through = |entry: &&Entry| entry.paths.iter().any(|path| path.next_hop == neighbour);
        self.table.iter().filter(through).map(|entry| entry.destination).collect()
    }

    /// Removes the paths of a destination through a neighbour. If none is left, the route goes down, and is forgotten
    /// at `forget`; if others may use it, its new sequence number is returned: they must be told.
    pub fn cut(
        &mut self,
        destination: Address,
        neighbour: Address,
        sequence: impl FnOnce(&Entry) -> u32,
        forget: Time,
        cx: &mut Context,
    ) -> Option<u32> {
        self.change(destination, true, cx, |entry| {
            entry.paths.retain(|path| path.next_hop != neighbour);
            if entry.is_up() {
                return None;
            }
            let sequence = sequence(entry);
            entry.go_down(sequence, forget);
            std::mem::replace(&mut entry.shared, false).then_some(entry.sequence)
        })
    }

    /// Removes the paths that have expired. Returns the destinations to which none is left.
    pub fn expire_paths(&mut self, cx: &mut Context) -> Vec<Address> {
        let now = cx.now;
        let expired = |entry: &&Entry| entry.paths.iter().any(|path| path.expires < now);
        let touched: Vec<_> = self.table.iter().filter(expired).map(|entry| entry.destination).collect();
        let mut lost = Vec::new();
        for destination in touched {
            let up = self.change(destination, false, cx, |entry| {
                entry.paths.retain(|path| path.expires >= now);
                entry.is_up()
            });
            if !up {
                lost.push(destination);
            }
        }
        lost
    }
}
