//! The loop that keeps a simulated network in step with the clock of the host.
//!
//! ```text
//! loop: what devices have is put in, at the present time
//!       each event that is due is carried out, and what has reached programs is given to their devices
//!       wait for a device, or for the next event
//! ```
//!
//! Events are carried out one time at a time, so that what one of them gives out does not wait for the others that are
//! due. Where many are due, devices are looked at in between.

use hopyard_engine::{Span, Time};
use hopyard_model::address::NodeId;
use hopyard_model::context::Departure;
use hopyard_model::observe::Probe;
use hopyard_model::world::{InjectError, Watch, World};

use crate::host::{Host, LiveError};
use crate::lateness::Lateness;
use crate::report::{Crossing, End, NodeReport, Refused, Report};

/// The longest time for which devices are not looked at while events are due.
const LOOK: Span = Span::from_micros(100);
/// The longest wait: how long it may take until a request to stop is seen.
const REST: Span = Span::from_millis(20);
/// The time by which the simulated clock may be behind at the end: events that are due are carried out then. Otherwise
/// it is left out, since that may take as long as the run.
const BEHIND: Span = Span::from_secs(1);
/// How many datagrams of one device are read before the next one has its turn.
const BATCH: usize = 64;
/// The longest IPv4 datagram.
const LONGEST: usize = 65_535;

/// How a live run is made.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The bound of lateness: an event that happens later than due by more than this is late.
    pub bound: Span,
    /// The share of the packets, and of the events, that may be late in a run that is in time.
    pub share: f64,
    /// Whether each datagram is recorded.
    pub crossings: bool,
    /// How many datagrams of a node may wait until the node has sent them. Further ones stay in the device, as with a
    /// driver whose ring is full. Nothing: all go into the simulated queue.
    pub in_flight: Option<usize>,
}

/// Runs a world in real time until its end, or until the watch asks to stop. Device `i` of the host belongs to
/// `nodes[i]`, which is attached.
///
/// # Errors
/// If the system cannot wait, or a device is gone. The world stays as it is then.
pub fn couple<P: Probe, H: Host>(
    world: &mut World<P>,
    host: &mut H,
    nodes: &[NodeId],
    settings: Settings,
    watch: &Watch,
) -> Result<Report, LiveError> {
    let mut coupling = Coupling::new(world, host, nodes, settings);
    let end = coupling.run(watch)?;
    Ok(coupling.report(end))
}

/// A node whose programs are real.
struct RealNode {
    node: NodeId,
    /// When its device was last seen without a datagram, or the loop last began to look at it after a wait.
    looked: Time,
    /// Datagrams that were put in and that the node has not sent yet.
    in_flight: usize,
    report: NodeReport,
    lateness: Lateness,
}

struct Coupling<'a, P: Probe, H> {
    world: &'a mut World<P>,
    host: &'a mut H,
    settings: Settings,
    ports: Vec<RealNode>,
    events: Lateness,
    reads: Lateness,
    crossings: Vec<Crossing>,
    buffer: Vec<u8>,
}

impl<'a, P: Probe, H: Host> Coupling<'a, P, H> {
    fn new(world: &'a mut World<P>, host: &'a mut H, nodes: &[NodeId], settings: Settings) -> Self {
        let none = Lateness::new(settings.bound);
        let port = |&node| RealNode {
            node,
            looked: Time::ZERO,
            in_flight: 0,
            report: NodeReport::new(node),
            lateness: none.clone(),
        };
        Self {
            ports: nodes.iter().map(port).collect(),
            events: none.clone(),
            reads: none.clone(),
            crossings: Vec::new(),
            buffer: vec![0; LONGEST],
            world,
            host,
            settings,
        }
    }

    fn run(&mut self, watch: &Watch) -> Result<End, LiveError> {
        let last = self.world.end();
        loop {
            self.take_in()?;
            if watch.is_cancelled() {
                // What is due belongs to the run, and so does the time until now.
                let now = self.host.now().min(last);
                if self.world.next_event().is_none_or(|due| now.since(due) <= BEHIND) {
                    self.world.advance(now, &Watch::default());
                    self.give_out();
                }
                return Ok(End::Stopped);
            }
            if self.host.now() > last + BEHIND {
                return Ok(End::Duration);
            }
            let more = self.carry_out(watch);
            if self.world.failure().is_some() {
                return Ok(End::Failed);
            }
            if more {
                continue;
            }
            let now = self.host.now();
            if now >= last && self.world.next_event().is_none() {
                self.world.advance(last, watch);
                return Ok(End::Duration);
            }
            let next = self.world.next_event().unwrap_or(last);
            if next > now {
                let open: Vec<_> = self.ports.iter().map(|port| self.is_open(port)).collect();
                self.host.wait(next.min(now + REST), &open)?;
                let now = self.host.now();
                self.ports.iter_mut().for_each(|port| port.looked = now);
            }
        }
    }

    /// Puts in the datagrams of the devices.
    fn take_in(&mut self) -> Result<(), LiveError> {
        for device in 0..self.ports.len() {
            for _ in 0..BATCH {
                if !self.is_open(&self.ports[device]) {
                    break;
                }
                let node = self.ports[device].node;
                let length = self.host.receive(device, &mut self.buffer);
                let now = self.host.now();
                let Some(length) = length.map_err(|error| LiveError::Gone { node, error })? else {
                    self.ports[device].looked = now;
                    break;
                };
                self.put_in(device, now, length);
            }
        }
        Ok(())
    }

    /// Whether datagrams of a node's programs are read.
    fn is_open(&self, port: &RealNode) -> bool {
        self.settings.in_flight.is_none_or(|most| port.in_flight < most)
    }

    fn put_in(&mut self, device: usize, now: Time, length: usize) {
        let port = &mut self.ports[device];
        let waited = now.since(port.looked);
        match self.world.inject(port.node, now, &self.buffer[..length]) {
            Ok(_) => {
                port.in_flight += 1;
                port.report.packets_in += 1;
                port.report.bytes_in += length as u64;
                self.reads.record(waited);
                if self.settings.crossings {
                    self.crossings.push(crossing(port.node, "in", now, waited, length));
                }
            }
            Err(error) => port.report.refuse(reason(&error)),
        }
    }

    /// Carries out the events that are due. Returns whether some may be left, because it is the devices' turn.
    fn carry_out(&mut self, watch: &Watch) -> bool {
        let began = self.host.now();
        let mut now = began;
        while let Some(due) = self.world.next_event().filter(|&due| due <= now) {
            self.events.record(now.since(due));
            self.world.advance(due, watch);
            self.give_out();
            if self.world.failure().is_some() || watch.is_cancelled() {
                return true;
            }
            now = self.host.now();
            if now.since(began) >= LOOK {
                return true;
            }
        }
        false
    }

    /// Gives what has reached programs to their devices.
    fn give_out(&mut self) {
        while let Some(departure) = self.world.egress() {
            // No interface is attached for frames.
            let (Departure::Datagram { node, .. } | Departure::Completed { node, .. }) = departure else { continue };
            let Some(device) = self.ports.iter().position(|port| port.node == node) else { continue };
            let Departure::Datagram { at, bytes, .. } = departure else {
                let now = self.host.now();
                let was_open = self.is_open(&self.ports[device]);
                let port = &mut self.ports[device];
                port.in_flight = port.in_flight.saturating_sub(1);
                if !was_open {
                    // Until now nothing was to be read there.
                    port.looked = now;
                }
                continue;
            };
            let sent = self.host.send(device, &bytes);
            let late = self.host.now().since(at);
            let port = &mut self.ports[device];
            if sent.is_err() {
                port.report.refuse(Refused::Device);
                continue;
            }
            port.report.packets_out += 1;
            port.report.bytes_out += bytes.len() as u64;
            port.lateness.record(late);
            if self.settings.crossings {
                self.crossings.push(crossing(node, "out", at, late, bytes.len()));
            }
        }
    }

    fn report(self, end: End) -> Report {
        let mut packets = Lateness::new(self.settings.bound);
        self.ports.iter().for_each(|port| packets.add(&port.lateness));
        let share = self.settings.share;
        let node = |port: RealNode| NodeReport { lateness: port.lateness.summary(), ..port.report };
        Report {
            end,
            simulated_ns: self.world.now().nanos(),
            in_time: packets.is_within(share) && self.events.is_within(share),
            packets: packets.summary(),
            events: self.events.summary(),
            reads: self.reads.summary(),
            nodes: self.ports.into_iter().map(node).collect(),
            crossings: self.crossings,
        }
    }
}

fn crossing(node: NodeId, direction: &'static str, at: Time, late: Span, length: usize) -> Crossing {
    // A datagram has at most 65,535 bytes.
    Crossing { node: node.0, direction, at_ns: at.nanos(), late_ns: late.nanos(), bytes: length as u32 }
}

const fn reason(error: &InjectError) -> Refused {
    match error {
        InjectError::Datagram(_) | InjectError::NoHops => Refused::NotIpv4,
        InjectError::Source { .. } => Refused::Source,
        InjectError::Destination(_) => Refused::Destination,
        // The node exists and is attached.
        InjectError::Full | InjectError::Time { .. } | InjectError::NoNode { .. } | InjectError::NotAttached(_) => {
            Refused::NoRoom
        }
        // Nor are there frames.
        InjectError::NoRadio(_) | InjectError::NoFrames(_) | InjectError::Frame(_) | InjectError::Station(_) => {
            Refused::NotIpv4
        }
    }
}
