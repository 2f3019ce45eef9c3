//! The MACs of a channel's stations, as the medium sees them: their reactions to each edge of a signal.

use hopyard_engine::{Prefetch, Queue, Rank, Span, Time};

use super::energy::{Heard, Meter};
use super::scheduled::Scheduled;
use crate::address::InterfaceId;
use crate::context::{Action, Context};
use crate::link::ReceivePath;
use crate::mac::{Control, Mac, Sensed};
use crate::observe::{FrameEdge, FrameView, Probe, Reception};
use crate::order;
use crate::packet::{Body, PacketId};
use crate::phy::factors::Factors;
use crate::phy::frame::{Frame, pieces};
use crate::phy::medium::{After, Listener, Outcome};
use crate::phy::reception::{Begin, End, Level, Verdict};

/// The MACs of all stations, as the medium sees them.
pub(super) struct Macs<'a, M: Mac, E, P, G> {
    pub queue: &'a mut Queue<E>,
    pub cx: &'a mut Context,
    pub receive_path: &'a mut ReceivePath,
    pub end: Time,
    pub probe: &'a mut P,
    pub macs: &'a mut [M],
    pub interfaces: &'a [InterfaceId],
    /// The sensitivity of each station.
    pub factors: &'a Factors,
    pub shared: &'a M::Shared,
    pub listening: &'a [bool],
    /// The station that the frame is for, or a number that no station has.
    pub receiver: usize,
    pub outcome: Outcome,
    /// Thermal noise in watts.
    pub noise: f64,
    pub gauge: &'a mut G,
    /// Whether the transmitter stopped in the middle of the frame.
    pub is_cut: bool,
}

impl<M: Mac, E: From<Scheduled> + Copy, P, G: Meter> Macs<'_, M, E, P, G> {
    /// Tells a station's MAC what its radio senses. Returns whether the MAC's timer must be set.
    #[inline(always)]
    fn sense(&mut self, station: usize, sensed: Sensed<'_, M::Control>, now: Time) -> bool {
        let mac = &mut self.macs[station];
        let before = mac.deadline(self.shared);
        let changes = mac.on_sensed(sensed, self.shared, now);
        debug_assert!(
            changes || mac.deadline(self.shared) == before,
            "`on_sensed` of the MAC of station {station} has changed its deadline, and says that it has not"
        );
        changes
    }

    /// Sets the timer of a station's MAC.
    #[inline(always)]
    fn arm(&mut self, station: usize, now: Time) {
        self.queue.set(self.interfaces[station].0, self.macs[station].deadline(self.shared).max(now));
    }

    /// Whether there is work left to do. A single packet that only waits for the processing delay enters the receive
    /// path here, and needs no other work.
    #[inline(always)]
    fn must_act(&mut self, now: Time) -> bool {
        let Self { queue, cx, receive_path, .. } = self;
        match cx.actions.front() {
            None => false,
            Some(&Action::Arrived { interface, packet, from })
                if cx.actions.len() == 1 && waits(receive_path, &cx.packets[packet].body) =>
            {
                cx.actions.clear();
                enter(receive_path, queue, interface, packet, from, now);
                false
            }
            Some(_) => true,
        }
    }
}

impl<M: Mac, E: Copy, P: Probe, G: Meter> Prefetch<usize> for Macs<'_, M, E, P, G> {
    #[inline]
    fn prefetch(&self, &station: &usize) -> u32 {
        self.macs[station].prefetch(&())
    }
}

impl<M: Mac, E: From<Scheduled> + Copy, P: Probe, G: Meter> Listener<M::Control> for Macs<'_, M, E, P, G> {
    const METERS: bool = G::WATCHES;

    #[inline(always)]
    fn on_signal(&mut self, station: usize, power: f64, now: Time, end: Time) -> bool {
        let due = self.gauge.on_signal(station, power, now, end);
        if due {
            self.queue.set(self.gauge.timer(station), now);
        }
        due
    }

    #[inline(always)]
    fn undisturbed_until(&self) -> Time {
        self.queue.undisturbed_until().min(self.end)
    }

    #[inline(always)]
    fn comes_first(&self, at: Time, rank: Rank) -> bool {
        at <= self.end && self.queue.comes_first(at, rank)
    }

    #[inline(always)]
    fn on_begin(&mut self, station: usize, begin: Begin, now: Time) -> bool {
        if G::WATCHES && self.gauge.is_off(station) {
            return false;
        }
        let sensed = match begin {
            Begin::Busy => Sensed::Busy,
            Begin::Ignored(end) => Sensed::Ignored(end),
            Begin::Nothing => return false,
        };
        let scheduled = self.sense(station, sensed, now);
        if scheduled {
            self.arm(station, now);
        }
        scheduled
    }

    #[inline(always)]
    fn on_end(&mut self, station: usize, mut end: End, power: f64, frame: &Frame<M::Control>, now: Time) -> After {
        let mut due = false;
        if G::WATCHES {
            if self.gauge.is_off(station) {
                return After::Nothing;
            }
            if self.is_cut && end.verdict == Verdict::Decoded {
                end.verdict = Verdict::Error;
            }
        }
        // What is radiated has no bytes that a probe could see.
        if self.probe.watches() && frame.bytes > 0 {
            let reception = match end.verdict {
                Verdict::Decoded => Some(Reception::Decoded),
                Verdict::Error | Verdict::Noise => Some(Reception::Damaged),
                Verdict::Missed | Verdict::Unfound => None,
            };
            if let Some(reception) = reception {
                let power = power / self.factors.sensitivity(station);
                let edge = FrameEdge::Received { reception, power };
                for (piece, view) in views(frame, self.cx) {
                    let edge = match reception {
                        Reception::Decoded if end.damaged >> piece & 1 == 1 => {
                            FrameEdge::Received { reception: Reception::Damaged, power }
                        }
                        _ => edge,
                    };
                    self.probe.on_frame(now, self.interfaces[station], &view, edge);
                }
            }
        }
        let mine = station == self.receiver;
        let (mut acts, mut scheduled) = (false, false);
        match end.verdict {
            Verdict::Decoded if mine || frame.receiver.is_broadcast() => {
                self.cx.now = now;
                self.outcome = Outcome::RECEIVED;
                (acts, scheduled) = (true, true);
                let spends = mine && self.cx.spending.is_some() || G::ON && self.gauge.prices_packets();
                if frame.packet.is_some() && spends {
                    let heard = if mine { Heard::Own } else { Heard::Broadcast };
                    let place = (station, self.interfaces[station]);
                    pay(self.gauge, self.queue, self.cx, place, heard, (frame, end.damaged), now);
                }
                let level = Level::new(power, end.others, self.noise).damaged(end.damaged);
                self.macs[station].on_frame(frame, level, self.shared, self.cx);
            }
            Verdict::Decoded => {
                if G::ON && self.gauge.prices_packets() && frame.packet.is_some() {
                    let listens = self.listening.get(station) == Some(&true);
                    let heard = if listens { Heard::Overheard } else { Heard::Discarded };
                    let place = (station, self.interfaces[station]);
                    due = pay(self.gauge, self.queue, self.cx, place, heard, (frame, end.damaged), now);
                }
                scheduled = self.sense(station, Sensed::Other(frame), now);
                // A frame without a packet has nothing to pass up.
                if frame.packet.is_some() && !self.listening.is_empty() {
                    acts = true;
                    let listens = self.listening[station];
                    overhear(listens, self.interfaces[station], (frame, end.damaged), now, self.cx);
                }
            }
            Verdict::Error | Verdict::Noise => {
                scheduled = self.sense(station, Sensed::Error, now);
                if mine && end.verdict == Verdict::Noise {
                    self.outcome = Outcome::NOISE;
                }
            }
            Verdict::Unfound if mine => self.outcome = Outcome::NOISE,
            Verdict::Missed | Verdict::Unfound => {}
        }
        if end.idle {
            scheduled |= self.sense(station, Sensed::Idle, now);
        }
        if scheduled {
            self.arm(station, now);
        }
        if acts {
            if self.must_act(now) { After::Work } else { After::Scheduled }
        } else if scheduled || due {
            After::Scheduled
        } else {
            After::Nothing
        }
    }

    #[inline]
    fn outcome(&mut self) -> Outcome {
        self.outcome
    }
}

/// A station has decoded a frame with a packet. Returns whether the timer of its battery was set.
#[inline(never)]
fn pay<G: Meter, E: Copy, C: Control>(
    gauge: &mut G,
    queue: &mut Queue<E>,
    cx: &mut Context,
    (station, interface): (usize, InterfaceId),
    heard: Heard,
    (frame, damaged): (&Frame<C>, u64),
    now: Time,
) -> bool {
    let mut due = false;
    for packet in frame.sound_packets(damaged) {
        if heard == Heard::Own
            && let Some(spending) = &mut cx.spending
        {
            spending.on_received(interface, (packet, &cx.copies), share(frame), || cx.packets[packet].size);
        }
        due |= gauge.prices_packets() && gauge.on_decoded(station, heard, cx.packets[packet].size);
    }
    if due {
        queue.set(gauge.timer(station), now);
    }
    due && G::WATCHES
}

/// The time on the air that counts for each packet of a frame.
#[inline(always)]
pub(super) fn share<C: Control>(frame: &Frame<C>) -> Span {
    match frame.control.parts() {
        [] => frame.airtime,
        parts => frame.airtime / parts.len() as u64,
    }
}

/// A frame for another station was decoded. The station passes up its packet if it listens to such frames.
#[cold]
#[inline(never)]
fn overhear<C: Control>(
    listens: bool,
    interface: InterfaceId,
    (frame, damaged): (&Frame<C>, u64),
    now: Time,
    cx: &mut Context,
) {
    for packet in frame.sound_packets(damaged).filter(|_| listens) {
        cx.now = now;
        let packet = cx.copy(packet);
        cx.act(Action::Overheard { interface, packet, from: frame.transmitter, to: frame.receiver });
    }
}

/// A frame, as a probe sees it: once for each packet of several, with the number of the packet's piece.
pub(super) fn views<'a, C: Control>(
    frame: &'a Frame<C>,
    cx: &'a Context,
) -> impl Iterator<Item = (u32, FrameView<'a>)> {
    let whole = view(frame, cx);
    let single = frame.control.parts().is_empty().then_some((0, whole));
    single.into_iter().chain(pieces(frame.control.parts()).map(move |(piece, part)| {
        let header = frame.control.header_of(part);
        (piece, FrameView { header, packet: Some(&cx.packets[part.packet]), ..whole })
    }))
}

fn view<'a, C: Control>(frame: &Frame<C>, cx: &'a Context) -> FrameView<'a> {
    FrameView {
        header: frame.control.header(),
        transmitter: frame.transmitter,
        receiver: frame.receiver,
        duration: frame.control.duration(),
        airtime: frame.airtime,
        preamble: frame.preamble,
        mode: frame.mode,
        packet: frame.packet.map(|packet| &cx.packets[packet]),
    }
}

/// Whether a packet waits in the receive path before IP receives it. Messages of address resolution do not: the link
/// reads them.
#[inline]
pub fn waits(path: &ReceivePath, body: &Body) -> bool {
    !path.is_instant() && !matches!(body, Body::Arp(_))
}

/// Adds a packet to the receive path.
#[inline]
pub fn enter<E: From<Scheduled> + Copy>(
    path: &mut ReceivePath,
    queue: &mut Queue<E>,
    interface: InterfaceId,
    packet: PacketId,
    from: InterfaceId,
    now: Time,
) {
    if let Some(at) = path.push(interface, packet, from, now) {
        queue.push(at, order::ENTER, Scheduled::Enter.into());
    }
}
