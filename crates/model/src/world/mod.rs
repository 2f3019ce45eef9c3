//! The world: every node with its layers, the medium and the wires between them, and the clock.
//!
//! The only `match` over events and actions is in `dispatch`. Layers never call each other: a handler pushes actions,
//! which are carried out first in, first out, before the next event.

mod account;
mod addressing;
mod batteries;
mod battery;
mod border;
mod build;
pub mod columns;
mod counting;
mod decisions;
mod dispatch;
mod error;
mod flow;
mod knowledge;
mod moving;
mod notices;
mod outside;
mod part;
mod report;
mod sleep;
mod sleepers;
mod spec;
mod state;
mod transport;
mod tunnel;
mod view;
mod ways;
mod wired_routes;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hopyard_engine::{Next, Queue, Span, Time};

pub use addressing::{AddressError, Layout, Network, Plan};
pub use border::InjectError;
pub use build::BuildError;
pub use error::{RuleFailure, RunError, Unaccounted};
pub use spec::{
    ChannelSpec, EnergySpec, FlowSpec, MediumSpec, NodeSpec, ObserveSpec, Quantity, RoleSpec, ServedSpec, SleepSpec,
    Spec, Transport, TunnelSpec, WireSpec,
};
pub use wired_routes::tables;

use crate::address::{Address, InterfaceId, NodeId};
use crate::agent;
use crate::channel::{AnyChannel, ChannelId, Scheduled};
use crate::context::Context;
use crate::ip::Table;
use crate::link::wired::Direction;
use crate::link::{Link, ReceivePath, Wired};
use crate::mobility;
use crate::observe::{Outcome, Probe, Recorded, SeriesRow};
use crate::order::Timers;
use crate::packet::PacketId;
use crate::phy::medium::TransmissionId;
use crate::routing::{self, Connectivity};
use batteries::Batteries;
use border::Border;
use flow::Flow;
use sleepers::Sleeper;

/// The kinds of events.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// The next edge of a transmission.
    Edge(ChannelId, TransmissionId),
    /// The first packet of the receive path reaches IP.
    Enter,
    /// A node's leg ends.
    Leg(u32),
    /// A packet goes to the link, after a jitter.
    Send(NodeId, PacketId, Address),
    /// Oracle routing receives the true connectivity.
    Connectivity,
    /// The simulator looks at who hears whom on a channel, and gives out slots.
    Look(ChannelId),
    /// The measuring window begins.
    Measure,
    /// A datagram comes from outside, or has left its node by a wire.
    Outside(u32),
    /// A radio falls asleep: its place among those that do.
    Sleep(u32),
}

impl From<Scheduled> for Event {
    #[inline]
    fn from(scheduled: Scheduled) -> Self {
        match scheduled {
            Scheduled::Edge(channel, transmission) => Self::Edge(channel, transmission),
            Scheduled::Enter => Self::Enter,
        }
    }
}

/// A place where a node is attached to others.
#[derive(Debug)]
struct Interface {
    node: NodeId,
    attachment: Attachment,
}

/// What an interface is attached to.
#[derive(Debug)]
enum Attachment {
    /// A channel, as this one of its stations, with queue and address resolution.
    Radio { channel: ChannelId, station: u32, link: Box<Link> },
    /// A wire, at the end where this direction starts.
    Wire { wire: usize, direction: Direction },
    /// A tunnel to the node with this address.
    Tunnel { to: Address },
    /// Nothing.
    Nothing,
}

/// A node's layers above the MAC. The fields that every received packet needs come first.
#[derive(Debug)]
#[repr(C)]
struct Node {
    routing: routing::Model,
    mobility: mobility::Model,
    agents: Vec<agent::Model>,
    /// The interfaces beyond the first.
    further: Vec<InterfaceId>,
    /// Which way packets go; without a table, the routing protocol decides for all.
    table: Option<Box<Table>>,
    /// The flows that start here.
    flows: Vec<usize>,
    /// Its part among networks whose hosts move, if it has one.
    part: Option<Box<part::Part>>,
    routing_protocol: &'static str,
    /// Whether the routing protocol finds routes over wires, and runs on them.
    routes_wires: bool,
    /// Whether ns-2 numbers the routing protocol's messages.
    numbered_by_ns2: bool,
    forwarded: u64,
    routing_packets: u64,
    routing_bytes: u64,
    icmp_errors: u64,
}

/// A network, from its first event to its last. `P` is the probe that watches it.
#[derive(Debug)]
pub struct World<P: Probe = ()> {
    probe: P,
    cx: Context,
    queue: Queue<Event>,
    timers: Timers,
    /// The number of packets that were sent after a jitter.
    delayed: u32,
    border: Border,
    /// When the run ends.
    end: Time,
    /// Until when the events are carried out now.
    horizon: Time,
    started: bool,
    cancelled: bool,
    seed: u64,
    run: u64,
    nodes: Vec<Node>,
    interfaces: Vec<Interface>,
    channels: Vec<AnyChannel>,
    receive_path: ReceivePath,
    exact: bool,
    wires: Vec<Wired>,
    flows: Vec<Flow>,
    ttl: u8,
    unreachable_interval: Span,
    connectivity: Arc<Connectivity>,
    connectivity_interval: Span,
    recorded: Recorded,
    quantities: Vec<Quantity>,
    sample_interval: Span,
    series: Vec<SeriesRow>,
    /// Events taken from the queue, or from the receive path.
    events: u64,
    /// Of these, edges of transmissions.
    queued_edges: u64,
    /// The number of packets, up to the beginning of the measuring window, that ns-2 would number.
    numbered_before: u64,
    failure: Option<RuleFailure>,
    /// Whether energy is counted.
    is_metered: bool,
    /// The batteries of the nodes, if any of them can run dry.
    batteries: Option<Box<Batteries>>,
    /// The radios that sleep at given times.
    sleepers: Vec<Sleeper>,
}

/// Shows another thread the progress of a run, and can stop the run.
#[derive(Debug, Default)]
pub struct Watch {
    simulated: AtomicU64,
    cancelled: AtomicBool,
    each_event: AtomicBool,
}

impl Watch {
    /// Asks the run to stop soon.
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// Whether the run has been asked to stop.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.cancelled.load(Ordering::Relaxed)
    }

    /// Lets the run look at the watch after each event, for runs in which an event may take long: one that calls a
    /// congestion control of the user.
    pub fn look_after_each_event(&self) {
        self.each_event.store(true, Ordering::Relaxed);
    }

    /// After how many events the run looks at the watch.
    fn interval(&self) -> u64 {
        if self.each_event.load(Ordering::Relaxed) { 1 } else { WATCH_EVERY }
    }

    /// The simulated time that the run has reached.
    #[must_use]
    pub fn simulated(&self) -> Span {
        Span::from_nanos(self.simulated.load(Ordering::Relaxed))
    }
}

/// The watch is read and updated after this many events, unless each event may take long.
const WATCH_EVERY: u64 = 4096;

/// How far a world has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advanced {
    /// It has reached the time that was asked for; more events follow.
    Reached,
    /// It has reached the end of the run.
    Ended,
    /// The watch asked to stop.
    Cancelled,
}

impl<P: Probe> World<P> {
    /// Runs to the end, or until the watch asks to stop, and returns the results and the probe.
    ///
    /// # Errors
    /// As [`World::finish`].
    pub fn run_watched(mut self, watch: &Watch) -> Result<(Outcome, P), RunError> {
        self.advance(Time::NEVER, watch);
        self.finish()
    }

    /// The same world, which has not begun, with another probe. `spec` is what the world was built from.
    #[must_use]
    pub fn with_other<Q: Probe>(self, spec: &Spec, probe: Q) -> World<Q> {
        let mut world = self.watched_by(probe);
        world.tell_network(spec);
        world
    }

    fn watched_by<Q: Probe>(self, probe: Q) -> World<Q> {
        let Self { probe: _, mut cx, queue, timers, delayed, border, end, horizon, started, cancelled, .. } = self;
        let Self { seed, run, nodes, interfaces, channels, receive_path, exact, wires, flows, ttl, .. } = self;
        let Self { unreachable_interval, connectivity, connectivity_interval, quantities, sample_interval, .. } = self;
        let Self {
            recorded,
            series,
            events,
            queued_edges,
            numbered_before,
            failure,
            is_metered,
            batteries,
            sleepers,
            ..
        } = self;
        cx.is_watched = Q::WATCHES;
        World {
            probe,
            cx,
            queue,
            timers,
            delayed,
            border,
            end,
            horizon,
            started,
            cancelled,
            seed,
            run,
            nodes,
            interfaces,
            channels,
            receive_path,
            exact,
            wires,
            flows,
            ttl,
            unreachable_interval,
            connectivity,
            connectivity_interval,
            recorded,
            quantities,
            sample_interval,
            series,
            events,
            queued_edges,
            numbered_before,
            failure,
            is_metered,
            batteries,
            sleepers,
        }
    }

    /// The probe.
    #[must_use]
    pub const fn probe(&self) -> &P {
        &self.probe
    }

    /// Carries out all events up to and including those at `until`. The time is `until` afterwards, or the end of the
    /// run if that is earlier. The digest of a run does not depend on the steps in which it is made. If the watch asks
    /// to stop, the time is that of the last event, and a later call goes on from there.
    pub fn advance(&mut self, until: Time, watch: &Watch) -> Advanced {
        if !self.started {
            self.started = true;
            self.start();
            self.tell_drops();
        }
        self.horizon = until.min(self.end);
        self.cancelled = false;
        if watch.is_cancelled() {
            self.cancelled = true;
            return Advanced::Cancelled;
        }
        let interval = watch.interval();
        let mut look = self.events + interval;
        while let Some((time, next)) = self.queue.pop(self.horizon) {
            self.cx.now = time;
            self.events += 1;
            match next {
                Next::Event(event) => self.handle(event),
                Next::Timer(timer) => self.on_timer(timer),
            }
            self.tell_drops();
            if self.events >= look {
                look = self.events + interval;
                watch.simulated.store(time.nanos(), Ordering::Relaxed);
                if watch.is_cancelled() {
                    self.cancelled = true;
                    return Advanced::Cancelled;
                }
            }
        }
        self.cx.now = self.cx.now.max(self.horizon);
        watch.simulated.store(self.cx.now.nanos(), Ordering::Relaxed);
        if self.horizon < self.end { Advanced::Reached } else { Advanced::Ended }
    }

    /// The time at which the run ends.
    #[must_use]
    pub const fn end(&self) -> Time {
        self.end
    }

    /// The simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.cx.now
    }

    /// The IPv4 addresses of a node's interfaces, the first one first.
    #[must_use]
    pub fn addresses(&self, node: NodeId) -> Vec<Ipv4Addr> {
        self.interfaces_of(node).map(|interface| self.cx.owners.name(interface.into())).collect()
    }

    /// The size of the largest packet that the link of an interface carries, IP header included; nothing if any packet
    /// fits, or if the interface has no link of its own, as those of tunnels.
    #[must_use]
    pub fn mtu(&self, interface: InterfaceId) -> Option<u32> {
        match self.interfaces[interface.index()].attachment {
            Attachment::Radio { channel, .. } => self.border.mtus[channel.index()],
            Attachment::Wire { wire, direction } => self.wires[wire].mtu(direction),
            Attachment::Tunnel { .. } | Attachment::Nothing => None,
        }
    }

    /// [`Self::mtu`] of each of a node's interfaces, in the order of [`Self::addresses`].
    #[must_use]
    pub fn mtus(&self, node: NodeId) -> Vec<Option<u32>> {
        self.interfaces_of(node).map(|interface| self.mtu(interface)).collect()
    }

    /// A node's agents.
    #[must_use]
    pub fn agents(&self, node: NodeId) -> &[agent::Model] {
        &self.nodes[node.index()].agents
    }

    /// The digest of all that has happened so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.cx.digest.value()
    }

    /// Why a user's congestion control failed, which ended the run.
    #[must_use]
    pub const fn failure(&self) -> Option<&RuleFailure> {
        self.failure.as_ref()
    }

    /// Ends the run at the time that it has reached, and returns the results and the probe.
    ///
    /// # Errors
    /// When the packets do not add up, which is a defect of the simulator (the error names seed, run and event), or
    /// when a user's congestion control failed.
    pub fn finish(mut self) -> Result<(Outcome, P), RunError> {
        if let Some(failure) = self.failure.take() {
            return Err(failure.into());
        }
        self.check_account()?;
        let cancelled = self.cancelled || self.cx.now < self.end;
        Ok(self.report(cancelled))
    }
}

#[cfg(test)]
mod tests;
