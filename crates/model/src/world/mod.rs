//! The world: every node with its layers, the medium and the wires between them, and the clock.
//!
//! The only `match` over events and actions is in `dispatch`. Layers never call each other: a handler pushes actions,
//! which are carried out first in, first out, before the next event.

mod account;
mod addressing;
mod batteries;
mod battery;
mod build;
pub mod columns;
mod crossing;
mod decisions;
mod dispatch;
mod ends;
mod error;
mod flow;
mod frames;
mod inject;
mod jam;
mod jammers;
mod knowledge;
mod outside;
mod rates;
mod report;
mod roles;
mod run;
mod sampling;
mod scene;
mod sleep;
mod sleepers;
mod sockets;
mod spec;
mod state;
mod view;
mod ways;
mod wired_routes;

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use hopyard_engine::{Next, Span, Time};

pub use addressing::{AddressError, AddressPlan, Layout, Network};
pub use build::BuildError;
pub use error::{RuleFailure, RunError, Unaccounted};
pub use inject::InjectError;
pub use outside::{MOST_FLOWS, MOST_PROGRAMS};
pub use run::{RunFailure, simulate};
pub use spec::{
    Cast, ChannelSpec, EnergySpec, FlowSpec, GroupSpec, JammerSpec, MediumSpec, NodeSpec, ObserveSpec, Quantity,
    RoleSpec, ServedSpec, SleepSpec, Spec, Transport, TunnelSpec, WireSpec, label_of_answers,
};
pub use wired_routes::tables;

use crate::address::{InterfaceId, NodeId};
use crate::agent;
use crate::channel::{AnyChannel, Surroundings};
use crate::clock::{Clock, Event};
use crate::context::Context;
use crate::host::Socket;
use crate::link::{ReceivePath, Wired};
use crate::node::{Around, Border, Node, Topology};
use crate::observe::{Outcome, Probe, SeriesRow};
use crate::routing::Connectivity;
use batteries::Energy;
use flow::Flow;
use jammers::Jammer;

/// A network, from its first event to its last. `P` is the probe that watches it.
#[derive(Debug)]
pub struct World<P: Probe = ()> {
    probe: P,
    cx: Context,
    clock: Clock,
    progress: Progress,
    topology: Topology,
    nodes: Vec<Node>,
    channels: Vec<AnyChannel>,
    receive_path: ReceivePath,
    wires: Vec<Wired>,
    border: Border,
    /// For each flow of the specification a socket at its source, then for each the one at its destination.
    sockets: Vec<Socket>,
    flows: Vec<Flow>,
    knowledge: Knowledge,
    sampling: Sampling,
    energy: Energy,
    jammers: Vec<Jammer>,
}

/// Which run it is, and how far it has come.
#[derive(Debug, Default)]
struct Progress {
    seed: u64,
    run: u64,
    started: bool,
    cancelled: bool,
    failure: Option<RuleFailure>,
}

/// The true connectivity, for protocols that use it.
#[derive(Debug)]
struct Knowledge {
    connectivity: Arc<Connectivity>,
    /// How often it is looked at; never, if this is zero.
    interval: Span,
}

/// The quantities that are sampled, and their samples.
#[derive(Debug)]
struct Sampling {
    quantities: Vec<Quantity>,
    interval: Span,
    series: Vec<SeriesRow>,
    /// The number of packets, up to the beginning of the measuring window, that ns-2 would number.
    numbered_before: u64,
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

    /// The number of events after which the run looks at the watch.
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

    /// A node, and the network around it.
    #[inline]
    fn node(&mut self, node: NodeId) -> (&mut Node, Around<'_, P>) {
        let around = Around {
            cx: &mut self.cx,
            clock: &mut self.clock,
            channels: &mut self.channels,
            wires: &mut self.wires,
            border: &mut self.border,
            topology: &self.topology,
            probe: &mut self.probe,
        };
        (&mut self.nodes[node.index()], around)
    }

    /// The channels, and what surrounds them.
    #[inline]
    fn split(&mut self) -> (&mut [AnyChannel], Surroundings<'_, Event, P>) {
        let around = Surroundings {
            queue: &mut self.clock.queue,
            cx: &mut self.cx,
            receive_path: &mut self.receive_path,
            end: self.clock.horizon,
            exact: self.clock.exact,
            probe: &mut self.probe,
        };
        (&mut self.channels, around)
    }

    /// The node that has an interface, and the network around it.
    #[inline]
    fn node_at(&mut self, interface: InterfaceId) -> (&mut Node, Around<'_, P>) {
        self.node(self.topology.node(interface))
    }

    /// The probe.
    #[must_use]
    pub const fn probe(&self) -> &P {
        &self.probe
    }

    /// Carries out all events up to `until`, including events at `until`. The time is `until` afterwards, or the end of
    /// the run if that is earlier. The digest of a run does not depend on the steps in which it is made. If the watch
    /// asks to stop, the time is the time of the last event, and a later call goes on from there.
    pub fn advance(&mut self, until: Time, watch: &Watch) -> Advanced {
        if !self.progress.started {
            self.progress.started = true;
            self.start();
            self.tell_drops();
        }
        self.clock.horizon = until.min(self.clock.end);
        self.progress.cancelled = false;
        if watch.is_cancelled() {
            self.progress.cancelled = true;
            return Advanced::Cancelled;
        }
        let interval = watch.interval();
        let mut look = self.clock.events + interval;
        while let Some((time, next)) = self.clock.queue.pop(self.clock.horizon) {
            self.cx.now = time;
            self.clock.events += 1;
            match next {
                Next::Event(event) => self.handle(event),
                Next::Timer(timer) => self.on_timer(timer),
            }
            self.tell_drops();
            if self.clock.events >= look {
                look = self.clock.events + interval;
                watch.simulated.store(time.nanos(), Ordering::Relaxed);
                if watch.is_cancelled() {
                    self.progress.cancelled = true;
                    return Advanced::Cancelled;
                }
            }
        }
        self.cx.now = self.cx.now.max(self.clock.horizon);
        watch.simulated.store(self.cx.now.nanos(), Ordering::Relaxed);
        if self.clock.horizon < self.clock.end { Advanced::Reached } else { Advanced::Ended }
    }

    /// The time at which the run ends.
    #[must_use]
    pub const fn end(&self) -> Time {
        self.clock.end
    }

    /// The simulated time.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.cx.now
    }

    /// The IPv4 addresses of a node's interfaces, the first one first.
    #[must_use]
    pub fn addresses(&self, node: NodeId) -> Vec<Ipv4Addr> {
        self.nodes[node.index()].interfaces().map(|interface| self.cx.owners.name(interface.into())).collect()
    }

    /// The size of the largest packet that the link of an interface carries, IP header included. Nothing if any packet
    /// fits, or if the interface has no link of its own, such as the interface of a tunnel.
    #[must_use]
    pub fn mtu(&self, interface: InterfaceId) -> Option<u32> {
        self.topology.mtu(interface, &self.wires)
    }

    /// [`Self::mtu`] of each of a node's interfaces, in the order of [`Self::addresses`].
    #[must_use]
    pub fn mtus(&self, node: NodeId) -> Vec<Option<u32>> {
        self.nodes[node.index()].interfaces().map(|interface| self.mtu(interface)).collect()
    }

    /// A node's agents.
    #[must_use]
    pub fn agents(&self, node: NodeId) -> &[agent::Model] {
        &self.nodes[node.index()].agents.0
    }

    /// The digest of all that has happened so far.
    #[must_use]
    pub fn digest(&self) -> u64 {
        self.cx.digest.value()
    }

    /// Why a user's congestion control failed, which ended the run.
    #[must_use]
    pub const fn failure(&self) -> Option<&RuleFailure> {
        self.progress.failure.as_ref()
    }

    /// Ends the run at the time that it has reached, and returns the results and the probe.
    ///
    /// # Errors
    /// When the packets do not add up, which is a defect of the simulator (the error names seed, run and event), or
    /// when a user's congestion control failed.
    pub fn finish(mut self) -> Result<(Outcome, P), RunError> {
        if let Some(failure) = self.progress.failure.take() {
            return Err(failure.into());
        }
        self.check_account()?;
        // They may be many, and are not copied.
        let series = std::mem::take(&mut self.sampling.series);
        let outcome = Outcome { series, ..self.outcome(None) };
        Ok((outcome, self.probe))
    }
}

#[cfg(test)]
mod tests;
