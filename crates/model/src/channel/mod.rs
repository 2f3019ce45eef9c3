//! A channel: the medium that its stations share, and the MAC of each station.
//!
//! A station is an interface with a radio on the channel. The channel's functions are generic over the kind of MAC, so
//! that no call on the way of a frame goes through a pointer. [`AnyChannel`] has one `match` an event.

mod any;
pub mod energy;
mod jam;
mod listener;
mod look;
mod out_of_band;
mod scheduled;

use std::sync::Arc;

use hopyard_engine::units::Power;
use hopyard_engine::{Queue, Rank, Rng, Span, Streams, Time};

pub use any::AnyChannel;
use energy::{FrameClass, Gauge, Load, Meter, PacketPrices, Prices, Spent};
use listener::{Macs, share, views};
pub use listener::{enter, waits};
pub use scheduled::{ChannelId, Scheduled};

use crate::address::{InterfaceId, NodeId};
use crate::context::{Context, DropReason, Slots};
use crate::link::ReceivePath;
use crate::mac::rate_control::{self, Belief};
use crate::mac::{Control, Counted, Counters, Identity, Mac, Outgoing, Sensed, Slotted};
use crate::mobility::{Leg, Position};
use crate::observe::{FrameEdge, Probe};
use crate::packet::{Packet, PacketId};
use crate::params::Metric;
use crate::phy::Mode;
use crate::phy::error_rate::measured::Measured;
use crate::phy::factors::Factors;
use crate::phy::fading::{self, Fading as _};
use crate::phy::frame::{Fate, Frame, Header, Part};
use crate::phy::links::{Links, Named};
use crate::phy::medium::{Ended, Medium, Outcome, Places, TransmissionId, Walk};
use crate::phy::neighbours::Search;
use crate::phy::obstacles::Obstacle;
use crate::phy::propagation;
use crate::phy::reception::Lost;
use crate::{mac, phy};

/// The surroundings of a channel: the queue, the context, and the way up to IP.
#[derive(Debug)]
pub struct Surroundings<'a, E, P> {
    /// The event queue.
    pub queue: &'a mut Queue<E>,
    /// Packets, actions and the time.
    pub cx: &'a mut Context,
    /// The line of packets on their way up to IP.
    pub receive_path: &'a mut ReceivePath,
    /// When the run ends.
    pub end: Time,
    /// Whether each edge has an event of its own.
    pub exact: bool,
    /// Who watches.
    pub probe: &'a mut P,
}

/// A station that a channel is made with.
#[derive(Debug)]
pub struct Station {
    /// Its interface.
    pub interface: InterfaceId,
    /// Its node.
    pub node: NodeId,
    /// Its node's first leg.
    pub leg: Leg,
    /// The draws of its MAC.
    pub backoff: Rng,
    /// The draws of its receiver.
    pub reception: Rng,
    /// The draws of its rate control.
    pub rates: Rng,
    /// The power with which it radiates, if it does nothing else. Such stations come last.
    pub jams: Option<Power>,
}

/// The parts that all stations of a channel have in common.
#[derive(Clone, Copy, Debug)]
pub struct ChannelModels<'a> {
    /// Every radio.
    pub radio: &'a phy::Params,
    /// Path loss.
    pub propagation: &'a propagation::Config,
    /// The links of the file that path loss names, if it names one.
    pub links: Option<&'a Arc<Links>>,
    /// The error rates of the file that the radio names, if it names one.
    pub errors: Option<&'a Arc<Measured>>,
    /// The obstacles between its stations.
    pub obstacles: &'a [Obstacle],
    /// Fading.
    pub fading: &'a fading::Config,
    /// Medium access.
    pub mac: &'a mac::Config,
    /// Rate control.
    pub rates: &'a rate_control::Config,
    /// How the simulator searches for stations near another.
    pub search: Search,
    /// The prices of the radios, if energy is counted, and the first of the timers of the nodes' batteries.
    pub energy: Option<(Prices, u32)>,
}

/// A station as the tables of results show it.
#[derive(Clone, Debug)]
pub struct StationView {
    /// Frames of every kind that it has sent.
    pub frames: u64,
    /// The counts of every MAC.
    pub counted: Counted,
    /// The counters of its own MAC alone, and their values.
    pub own: (&'static [Metric], Vec<u64>),
    /// Frames that its radio has lost.
    pub lost: Lost,
    /// The energy that its radio has taken, if energy is counted.
    pub spent: Option<Spent>,
}

/// Says whether a MAC takes a packet for an interface.
pub type Takes<'a> = &'a dyn Fn(&Packet, InterfaceId) -> bool;

/// The stations of a channel, each with a MAC of type `M`.
#[derive(Debug)]
pub struct Channel<M: Mac> {
    id: ChannelId,
    /// The mode of data frames.
    mode: &'static Mode,
    medium: Medium<M::Control>,
    macs: Vec<M>,
    interfaces: Vec<InterfaceId>,
    nodes: Vec<NodeId>,
    factors: Factors,
    shared: M::Shared,
    /// Whether receivers acknowledge frames, so that a link must work in both directions.
    acknowledges: bool,
    /// Which stations pass up frames for others (promiscuous mode); empty if none does.
    listening: Vec<bool>,
    /// Edges of the transmissions that have ended.
    edges: u64,
    /// The account of energy, if there is one.
    gauge: Option<Box<Gauge>>,
    /// Room for the stations in range of one.
    in_range: Vec<usize>,
    /// Whether agents find slots for the MACs.
    needs_agent: bool,
    /// Who heard whom when the simulator last looked, and the slots that followed.
    neighbours: Vec<Vec<u32>>,
    given: Vec<Slots>,
}

impl<M: Slotted> Channel<M> {
    /// A silent channel.
    #[must_use]
    pub fn new(
        id: ChannelId,
        plan: &ChannelModels<'_>,
        params: &M::Params,
        stations: Vec<Station>,
        streams: &Streams,
    ) -> Self {
        let nodes: Vec<NodeId> = stations.iter().map(|station| station.node).collect();
        let jams: Vec<Option<Power>> = stations.iter().map(|station| station.jams).collect();
        let talking = jams.iter().filter(|power| power.is_none()).count();
        let modes = M::modes(params, plan.rates).expect("the world was built with rates that have a mode");
        let draws = stations.iter().map(|station| station.rates.clone()).collect();
        let loss = plan.propagation.channel();
        let noise = plan.radio.receiver(&loss, modes[0]).noise;
        let floor = |mode: &&'static Mode| (mode.row, plan.radio.receiver(&loss, mode).threshold / noise);
        let least = modes.iter().map(|mode| floor(mode).1).fold(f64::INFINITY, f64::min);
        let floors = modes.iter().map(floor).filter(|(_, floor)| *floor > least).collect();
        let shared = M::share(params, &nodes[..talking], rate_control::Setup { config: plan.rates, draws, floors });
        let count = stations.len();
        let legs = stations.iter().map(|station| station.leg).collect();
        let reception = stations.iter().map(|station| station.reception.clone()).collect();
        let interfaces: Vec<InterfaceId> = stations.iter().map(|station| station.interface).collect();
        let backoffs: Vec<Rng> = stations.iter().map(|station| station.backoff.clone()).collect();
        // The MACs are large, and the descriptions of the stations are gone when they are made.
        drop(stations);
        let identities = interfaces.iter().zip(&nodes).enumerate();
        let identities = identities.map(|(station, (&interface, &node))| Identity { interface, node, station });
        let macs = identities.zip(backoffs).map(|(identity, backoff)| M::new(identity, &shared, backoff)).collect();
        debug_assert!(interfaces.is_sorted(), "stations are in the order of their interfaces");
        let names = interfaces.iter().map(|interface| interface.0).collect();
        // The first channel keeps the name that the stream had when there was one channel only.
        let stream = |name: &str| match id.0 {
            0 => streams.stream(name),
            number => streams.stream(&format!("channel/{number}/{name}")),
        };
        let links = plan.links.map(|links| Named {
            links: Arc::clone(links),
            nodes: nodes.iter().map(|node| node.0).collect(),
            key: stream("links").next_u64(),
        });
        let numbers: Vec<u32> = nodes.iter().map(|node| node.0).collect();
        let mut factors = Factors::of(plan.radio, &loss, modes[0], &numbers);
        for (station, power) in jams.iter().enumerate().filter_map(|(station, power)| Some((station, (*power)?))) {
            factors.jam(station, count, power.watts() / plan.radio.transmit_power.watts());
        }
        let (search, obstacles, errors) = (plan.search, plan.obstacles.to_vec(), plan.errors.map(Arc::clone));
        let places = Places { legs, names, search, links, obstacles, reception, factors: factors.clone(), errors };
        let shadowing = loss.shadowing().map(|fader| (fader, stream("shadowing")));
        let own = Some(plan.fading.fader()).filter(|it| !it.is_none()).map(|fader| (fader, stream("fading")));
        let fading = shadowing.into_iter().chain(own).collect();
        let medium = Medium::new(plan.radio, loss, fading, (&modes, !plan.rates.is_fixed()), places);
        let gauge = plan.energy.map(|(prices, first)| {
            let timers = nodes.iter().map(|node| first + node.0).collect();
            Box::new(Gauge::new(prices, medium.threshold(), timers))
        });
        Self {
            id,
            mode: modes[0],
            medium,
            macs,
            interfaces,
            nodes,
            factors,
            shared,
            acknowledges: M::reports_failures(params),
            listening: Vec::new(),
            edges: 0,
            gauge,
            in_range: Vec::new(),
            needs_agent: M::needs_agent(params),
            neighbours: Vec::new(),
            given: Vec::new(),
        }
    }

    /// Gives a station's MAC the next packet of its link, if the MAC can take one. A MAC that selects packets gets
    /// every packet that it accepts; its choice is passed to `next_frame`.
    #[inline]
    pub fn serve<E: Copy>(
        &mut self,
        station: usize,
        cx: &mut Context,
        queue: &mut Queue<E>,
        mut next_frame: impl FnMut(&mut Context, Option<Takes<'_>>) -> Option<Outgoing>,
    ) {
        if M::CHOOSES {
            let (mac, shared, now) = (&mut self.macs[station], &self.shared, cx.now);
            while let Some(outgoing) = next_frame(cx, Some(&|packet, to| mac.takes(packet, to, shared, now))) {
                mac.accept(outgoing, shared, cx);
            }
            self.arm(station, cx.now, queue);
        } else if self.macs[station].is_ready()
            && let Some(outgoing) = next_frame(cx, None)
        {
            self.macs[station].accept(outgoing, &self.shared, cx);
            self.arm(station, cx.now, queue);
        }
    }

    /// Whether a MAC whose deadline is reached may take packets for the frame that it sends then.
    #[inline]
    pub const fn gathers(&self) -> bool {
        M::GATHERS
    }

    /// An agent has found slots for a station's MAC.
    pub fn assign<E: Copy>(&mut self, station: usize, slots: &Slots, cx: &mut Context, queue: &mut Queue<E>) {
        if self.needs_agent {
            self.macs[station].on_slots(slots, &self.shared, cx);
            self.arm(station, cx.now, queue);
        }
    }

    /// The deadline of a station's MAC is reached. The caller carries out the actions, and then calls [`Channel::arm`].
    #[inline]
    pub fn on_timer<E: From<Scheduled> + Copy, P: Probe>(&mut self, station: usize, around: Surroundings<'_, E, P>) {
        if let Some(frame) = self.macs[station].on_timer(&self.shared, around.cx) {
            if frame.control.is_out_of_band() {
                self.hand_round(station, &frame, around.cx);
            } else {
                self.transmit(station, frame, around);
            }
        }
    }

    /// Sets the timer of a station's MAC, whose slot is the number of its interface.
    #[inline]
    pub fn arm<E: Copy>(&mut self, station: usize, now: Time, queue: &mut Queue<E>) {
        queue.set(self.interfaces[station].0, self.macs[station].deadline(&self.shared).max(now));
    }

    /// Starts the transmission of a frame.
    fn transmit<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        station: usize,
        frame: Frame<M::Control>,
        around: Surroundings<'_, E, P>,
    ) {
        let Surroundings { queue, cx, exact, probe, .. } = around;
        if let Some(gauge) = &mut self.gauge {
            if !gauge.is_plain() {
                if gauge.is_asleep(station, cx.now) {
                    return self.withhold(station, &frame, cx);
                }
                if gauge.is_watched(station) {
                    queue.set(gauge.timer(station), cx.now);
                }
            }
            let sent = match frame.packet {
                None => FrameClass::MAC,
                Some(packet) => {
                    let (place, share) = ((station, self.interfaces[station]), share(&frame));
                    for part in further(&frame) {
                        meter_packet(gauge, place, &frame, (part.packet, share), cx);
                    }
                    meter_packet(gauge, place, &frame, (packet, share), cx)
                }
            };
            gauge.on_send(station, sent, frame.airtime, cx.now);
        }
        if probe.watches() {
            for (_, view) in views(&frame, cx) {
                probe.on_frame(cx.now, frame.transmitter, &view, FrameEdge::Sent);
            }
        }
        let word = cx.now.nanos() ^ (u64::from(frame.transmitter.0) << 44);
        cx.digest.fold(word ^ u64::from(frame.control.kind()) << 62 ^ u64::from(frame.bytes) << 32);
        let Frame { packet, kept, receiver, .. } = frame;
        match self.medium.transmit(station, frame, cx.now) {
            Some(first) => self.schedule(first, exact, queue),
            None => {
                if let Some(packet) = packet.filter(|_| !kept) {
                    if receiver.is_broadcast() {
                        cx.hand_over(packet);
                    } else {
                        cx.drop_packet(self.nodes[station], packet, DropReason::OutOfReach);
                    }
                }
                if M::COUNTS_FATES && packet.is_some() && !receiver.is_broadcast() {
                    self.macs[station].on_fate(Fate::OutOfReach);
                }
            }
        }
    }

    /// Schedules the edges of a transmission, given its first part.
    #[inline(always)]
    fn schedule<E: From<Scheduled> + Copy>(&self, mut part: TransmissionId, exact: bool, queue: &mut Queue<E>) {
        loop {
            let edges = if exact { self.medium.edges(part) } else { 1 };
            for index in 0..edges {
                let (at, rank) = self.medium.edge(part, index);
                queue.push(at, rank, Scheduled::Edge(self.id, part).into());
            }
            let Some(behind) = self.medium.behind(part) else { break };
            part = behind;
        }
    }

    /// Processes the edges of a transmission, starting with the next one, which happens now, until another event comes
    /// first.
    #[inline(always)]
    pub fn walk<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        id: TransmissionId,
        around: Surroundings<'_, E, P>,
    ) -> Walk {
        if let Some(gauge) = self.gauge.as_ref().filter(|gauge| !gauge.is_plain()) {
            return if gauge.is_uniform() { self.walk_priced(id, around) } else { self.walk_fully_metered(id, around) };
        }
        // The same code whether energy is counted or not: what a radio hears is entered afterwards.
        let walk = self.walk_metered(id, around, &mut ());
        if let Some(gauge) = &mut self.gauge
            && let Some((hearers, begin, airtime)) = self.medium.begun(id)
        {
            gauge.on_signals(hearers, begin, airtime);
        }
        walk
    }

    /// As [`Channel::walk`], where single radios need attention.
    #[inline(never)]
    fn walk_fully_metered<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        id: TransmissionId,
        around: Surroundings<'_, E, P>,
    ) -> Walk {
        let Some(mut gauge) = self.gauge.take() else { return self.walk_metered(id, around, &mut ()) };
        let walk = self.walk_metered(id, around, &mut *gauge);
        // Each of these was entered as it began.
        let _ = self.medium.begun(id);
        self.gauge = Some(gauge);
        walk
    }

    /// As [`Channel::walk`], where packets have prices and no single radio needs attention. It is a separate function:
    /// two walks in one function take more instructions at each edge.
    #[inline(never)]
    fn walk_priced<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        id: TransmissionId,
        around: Surroundings<'_, E, P>,
    ) -> Walk {
        let Some(mut gauge) = self.gauge.take() else { return self.walk_fully_metered(id, around) };
        let walk = self.walk_metered(id, around, &mut gauge.priced());
        if let Some((hearers, begin, airtime)) = self.medium.begun(id) {
            gauge.on_signals(hearers, begin, airtime);
        }
        self.gauge = Some(gauge);
        walk
    }

    #[inline(always)]
    fn walk_metered<E: From<Scheduled> + Copy, P: Probe, G: Meter>(
        &mut self,
        id: TransmissionId,
        around: Surroundings<'_, E, P>,
        gauge: &mut G,
    ) -> Walk {
        let is_cut = G::ON && gauge.is_cut(id);
        let Surroundings { queue, cx, receive_path, end, exact, probe } = around;
        let mut listener = Macs {
            queue,
            cx,
            receive_path,
            end,
            probe,
            macs: &mut self.macs,
            interfaces: &self.interfaces,
            factors: &self.factors,
            shared: &self.shared,
            listening: &self.listening,
            receiver: station_of(self.medium.frame(id).receiver, &self.interfaces),
            outcome: Outcome::default(),
            noise: self.medium.noise(),
            gauge,
            is_cut,
        };
        let walk = self.medium.walk(id, exact, &mut listener);
        if walk == Walk::Finished {
            self.edges += self.medium.edges(id) as u64;
            let receiver = listener.receiver;
            match self.medium.finish(id, receiver) {
                Ended::Nothing => {}
                Ended::HandedOver(packet) if !is_cut => {
                    cx.hand_over(packet);
                    for part in further(self.medium.frame(id)) {
                        cx.hand_over(part.packet);
                    }
                    self.count_fate(id, receiver, gauge);
                }
                Ended::HandedOver(packet) | Ended::NotReceived(packet) => {
                    cx.now = cx.now.max(self.medium.ended(id));
                    let transmitter = self.medium.transmitter(id);
                    let off = G::ON && gauge.is_off(transmitter);
                    let reason = match self.fate(id, receiver, gauge) {
                        _ if off => DropReason::BatteryEmpty,
                        Fate::BitErrors => DropReason::BitErrors,
                        Fate::OutOfReach => DropReason::OutOfReach,
                        Fate::Asleep => DropReason::Asleep,
                        Fate::Collision | Fate::Heard => DropReason::Collision,
                    };
                    cx.drop_packet(self.nodes[transmitter], packet, reason);
                    for part in further(self.medium.frame(id)) {
                        cx.drop_packet(self.nodes[transmitter], part.packet, reason);
                    }
                    self.count_fate(id, receiver, gauge);
                }
                Ended::Kept => self.count_fate(id, receiver, gauge),
            }
            if G::ON {
                gauge.on_end(id);
            }
        }
        walk
    }

    /// Tells the transmitter of a frame that has ended the frame's fate, if the transmitter counts fates.
    #[inline]
    fn count_fate<G: Meter>(&mut self, id: TransmissionId, receiver: usize, gauge: &G) {
        if M::COUNTS_FATES && receiver < self.macs.len() && self.medium.frame(id).packet.is_some() {
            let (fate, transmitter) = (self.fate(id, receiver, gauge), self.medium.transmitter(id));
            self.macs[transmitter].on_fate(fate);
        }
    }

    /// The fate of a frame for one receiver that has just ended.
    #[inline]
    fn fate<G: Meter>(&self, id: TransmissionId, receiver: usize, gauge: &G) -> Fate {
        let fate = self.medium.fate(id, receiver);
        let lost = G::WATCHES && matches!(fate, Fate::Collision | Fate::BitErrors);
        if lost && gauge.has_slept(receiver, self.medium.span_at(id, receiver)) { Fate::Asleep } else { fate }
    }

    /// A frame does not go on the air, because the radio sleeps.
    #[cold]
    #[inline(never)]
    fn withhold(&mut self, station: usize, frame: &Frame<M::Control>, cx: &mut Context) {
        if let Some(packet) = frame.packet.filter(|_| !frame.kept) {
            cx.drop_packet(self.nodes[station], packet, DropReason::Asleep);
        }
        if M::COUNTS_FATES && frame.packet.is_some() && !frame.receiver.is_broadcast() {
            self.macs[station].on_fate(Fate::Asleep);
        }
    }

    /// When, and at which rank, the next edge of a transmission happens. There must be one.
    #[must_use]
    pub fn next_edge(&self, id: TransmissionId) -> (Time, Rank) {
        self.medium.next_edge(id)
    }

    /// From now on a station passes up the packets in frames for others that it decodes.
    pub fn listen(&mut self, station: usize) {
        self.listening.resize(self.macs.len(), false);
        self.listening[station] = true;
    }

    /// A station begins its next leg.
    pub fn set_leg(&mut self, station: usize, leg: Leg) {
        self.medium.set_leg(station, leg);
    }

    /// The distance in metres up to which a broadcast can be decoded when nothing disturbs it, if distance alone
    /// decides.
    #[must_use]
    pub fn range(&self) -> Option<f64> {
        self.medium.range()
    }

    /// The belief of a station's rate control about the link to a neighbour.
    #[must_use]
    pub fn belief(&self, station: usize, to: InterfaceId) -> Option<Belief> {
        self.macs[station].belief(to)
    }

    /// Where a station is.
    #[must_use]
    pub fn position(&self, station: usize, now: Time) -> Position {
        self.medium.position(station, now)
    }

    /// Whether `b` can decode a data frame of `a` when nothing disturbs it, fading aside; and `a` one of `b`, if frames
    /// are acknowledged.
    #[must_use]
    pub fn reaches(&self, a: usize, b: usize, now: Time) -> bool {
        let is_link = self.medium.reaches(a, b, now) && (!self.acknowledges || self.medium.reaches(b, a, now));
        is_link && self.is_awake(a, now) && self.is_awake(b, now)
    }

    /// The interfaces that can decode a data frame of a station when nothing disturbs it. If frames are acknowledged,
    /// only those whose frames the station can decode too.
    pub fn in_range(&mut self, station: usize, now: Time) -> Vec<InterfaceId> {
        let mut near = Vec::new();
        self.medium.in_range(station, now, &mut near);
        if self.acknowledges && !self.medium.is_mutual() {
            near.retain(|&other| self.medium.reaches(other, station, now));
        }
        near.into_iter()
            .filter(|&other| self.is_awake(station, now) && self.is_awake(other, now))
            .map(|other| self.interfaces[other])
            .collect()
    }

    /// Whether a station's radio is off, because the battery is empty.
    fn is_off(&self, station: usize) -> bool {
        self.gauge.as_ref().is_some_and(|gauge| gauge.is_off(station))
    }

    /// Whether a station's radio sleeps; not if there is no such station.
    fn is_asleep(&self, station: usize, now: Time) -> bool {
        station < self.macs.len() && self.gauge.as_ref().is_some_and(|gauge| gauge.is_asleep(station, now))
    }

    /// Whether a station's radio is neither off nor asleep.
    fn is_awake(&self, station: usize, now: Time) -> bool {
        !self.is_off(station) && !self.is_asleep(station, now)
    }

    /// A station's radio will sleep in this run.
    pub fn expect_sleep(&mut self, station: usize) {
        if let Some(gauge) = &mut self.gauge {
            gauge.expect_sleep(station);
        }
    }

    /// Until when a station's radio sends or sleeps, if energy is counted.
    #[must_use]
    pub fn sends_until(&self, station: usize) -> Time {
        self.gauge.as_ref().map_or(Time::ZERO, |gauge| gauge.sends_until(station))
    }

    /// A station's radio, which is not sending, sleeps from now until then. The radio receives nothing, and frames of
    /// the MAC do not go on the air.
    #[cold]
    pub fn sleep<E: Copy>(&mut self, station: usize, until: Time, now: Time, queue: &mut Queue<E>) {
        if let Some(gauge) = &mut self.gauge {
            gauge.sleep(station, until, now);
            self.medium.deafen(station, until);
            self.macs[station].on_sensed(Sensed::Asleep(until), &self.shared, now);
            self.arm(station, now, queue);
        }
    }

    /// The load of a station's radio on the battery of its node, if energy is counted. From now on its timer is set to
    /// the present whenever the radio's state changes, if it is `watched`.
    pub fn load(&mut self, station: usize, watched: Option<bool>, now: Time) -> Option<Load> {
        let gauge = self.gauge.as_mut()?;
        if let Some(watched) = watched {
            gauge.watch(station, watched);
        }
        Some(gauge.load(station, now))
    }

    /// A station's radio and its MAC stop for good. Its frame on the air is decoded by nobody. Returns the packets that
    /// the MAC held; the packet of a frame on the air ends with the frame.
    #[cold]
    pub fn switch_off(&mut self, station: usize, now: Time) -> Vec<PacketId> {
        let mac = &self.macs[station];
        let mut held = mac.held();
        let cut = self.medium.stop(station, now, &mut held);
        if let Some(gauge) = &mut self.gauge {
            gauge.switch_off(station, now);
            cut.into_iter().for_each(|part| gauge.cut(part));
        }
        held
    }

    /// A station as the tables of results show it.
    #[must_use]
    pub fn station(&self, station: usize, now: Time) -> StationView {
        let counters = self.macs[station].counters(&self.shared, now);
        StationView {
            frames: if self.factors.jams(station) { 0 } else { self.medium.sent(station) },
            counted: counters.common(),
            own: (M::Counters::METRICS, counters.own()),
            lost: self.medium.lost(station),
            spent: self.gauge.as_ref().map(|gauge| gauge.spent(station, now)),
        }
    }

    /// The number of transmissions so far.
    #[must_use]
    pub const fn frames(&self) -> u64 {
        self.medium.count()
    }

    /// The number of edges of the transmissions that have ended.
    #[must_use]
    pub const fn edges(&self) -> u64 {
        self.edges
    }

    /// The packets that the MACs and the medium hold.
    #[must_use]
    pub fn held(&self) -> Vec<PacketId> {
        let mut held = self.medium.held();
        let on = || self.macs.iter().enumerate().filter(|(station, _)| !self.is_off(*station)).map(|(_, mac)| mac);
        held.extend(on().flat_map(M::held));
        held
    }
}

/// The packets of a frame that carries several behind the first one.
#[inline(always)]
fn further<C: Control>(frame: &Frame<C>) -> &[Part] {
    frame.control.parts().get(1..).unwrap_or_default()
}

/// The station of an interface of the channel. The broadcast address has a number that no station has.
#[inline]
fn station_of(interface: InterfaceId, interfaces: &[InterfaceId]) -> usize {
    let place = interface.0 as usize;
    // Where all interfaces are on one channel, their numbers are those of the stations.
    if interface.is_broadcast() || interfaces.get(place) == Some(&interface) {
        return place;
    }
    interfaces.binary_search(&interface).unwrap_or(usize::MAX)
}

/// A station begins to send a frame with a packet. Returns the purpose of the packet.
#[inline(never)]
fn meter_packet<C: Control>(
    gauge: &mut Gauge,
    (station, interface): (usize, InterfaceId),
    frame: &Frame<C>,
    (id, airtime): (PacketId, Span),
    cx: &mut Context,
) -> FrameClass {
    let Context { packets, spending, copies, now, .. } = cx;
    let price = |prices: &PacketPrices| {
        let price = if frame.receiver.is_broadcast() { prices.send_broadcast } else { prices.send };
        price.of(packets[id].size)
    };
    let again =
        matches!(frame.control.header(), Header::Data { retry: true, .. } | Header::QosData { retry: true, .. });
    let of_flow = spending.as_mut().and_then(|it| it.on_sent(interface, (id, copies), (*now, airtime), price));
    let sent = of_flow.unwrap_or_else(|| FrameClass::of(&packets[id])).again(again);
    if let Some(price) = gauge.packet_prices().map(price) {
        gauge.on_priced(station, sent, price);
    }
    sent
}
