//! TCP's sending end.

mod plain;
mod shown;

use enum_dispatch::enum_dispatch;
use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Span, Time};

use self::plain::Plain;
pub use self::shown::SenderState;
use super::config::Config;
use crate::packet::TcpHeader;
use crate::transport::congestion::{CongestionControl, Controller};
use crate::transport::connection::{Core, Habits, Params, Parts, Peer, SendingEnd};
use crate::transport::linux;
use crate::transport::notice::NetworkEvent;

/// The two senders.
#[enum_dispatch(SendingEnd)]
#[derive(Debug)]
#[allow(clippy::large_enum_variant, reason = "the plain sender is the usual one, and has no further indirection")]
enum Machine {
    Plain(Plain),
    Linux(Box<linux::Sender>),
}

/// TCP's sending end. After each event, [`poll_transmit`](Self::poll_transmit) must be called until it gives nothing
/// more.
#[derive(Debug)]
pub struct TcpSender {
    machine: Machine,
}

impl TcpSender {
    /// A sender that has not opened its connection. `rng` is the sender's own stream.
    #[must_use]
    pub fn new(config: &Config, mut rng: Rng) -> Self {
        let core = Core::new(&config.tcp, &mut rng);
        Self::of(core, Controller::new(&config.congestion, rng))
    }

    /// A sender with any congestion control, such as [`Controller::External`].
    #[must_use]
    pub fn with_control(params: &Params, control: Controller, mut rng: Rng) -> Self {
        Self::of(Core::new(params, &mut rng), control)
    }

    fn of(core: Core, control: Controller) -> Self {
        let machine = match core.params.habits {
            Habits::Linux => Machine::Linux(Box::new(linux::Sender::new(core, control))),
            Habits::Rfc | Habits::Ns2 => Machine::Plain(Plain::new(core, control)),
        };
        Self { machine }
    }

    /// As [`Controller::answers_marks`].
    pub(crate) fn answers_marks(&self) -> bool {
        self.machine.parts().control.answers_marks()
    }

    /// Linux's sender, if this is one.
    pub(crate) fn linux(&self) -> Option<&linux::Sender> {
        match &self.machine {
            Machine::Linux(sender) => Some(sender),
            Machine::Plain(_) => None,
        }
    }

    /// Sets the phase of the clock's tick (profile `ns2`), for comparison with an ns-2 run whose phase is known.
    pub fn set_tick_phase(&mut self, phase: Span) {
        self.machine.parts_mut().0.rtt.set_phase(phase);
    }

    /// Whether the receiver must report segments out of order by SACK.
    #[must_use]
    pub fn wants_sack(&self) -> bool {
        self.machine.parts().wants_sack
    }

    /// Whether the sender asks for notices of segments that a node could not forward.
    #[must_use]
    pub fn wants_notices(&self) -> bool {
        self.machine.parts().control.wants().notices
    }

    /// Whether the amount of data that waits in the sender's node is limited: then the node tells of it.
    #[must_use]
    pub fn limits_queue(&self) -> bool {
        self.linux().is_some_and(linux::Sender::limits_queue)
    }

    /// The segment with this sequence number and payload waits in the sender's node.
    pub fn on_queued(&mut self, seq: u64, len: u64) {
        if let Machine::Linux(sender) = &mut self.machine {
            sender.on_queued(seq, len);
        }
    }

    /// It has left the node, or was dropped there. Returns whether a segment may be sent now that waited for this.
    pub fn on_left_node(&mut self, seq: u64, now: Time) -> bool {
        match &mut self.machine {
            Machine::Linux(sender) => sender.on_left_node(seq, now),
            Machine::Plain(_) => false,
        }
    }

    /// The rate of the first link on the way.
    pub fn link_rate(&self) -> Option<Rate> {
        self.machine.parts().core.link_rate
    }

    /// Sets the rate of data frames on the first link on the way.
    pub fn set_link_rate(&mut self, rate: Rate) {
        self.machine.parts_mut().0.link_rate = Some(rate);
    }

    /// Takes over the knowledge about the way to the other end from the sender of an earlier connection.
    pub fn follow(&mut self, before: &Self) {
        let known = before.machine.parts().core;
        let core = self.machine.parts_mut().0;
        (core.link_rate, core.hops) = (known.link_rate, known.hops);
    }

    /// Sets the number of hops of the next acknowledgement.
    pub fn set_ack_hops(&mut self, hops: u8) {
        self.machine.parts_mut().0.ack_hops = hops;
    }

    /// The other end opens the connection: the SYN of this end is to answer it. Nothing if it was opened before.
    pub fn accept(&mut self, now: Time) {
        self.machine.accept(now);
    }

    /// The payload of a full segment.
    #[must_use]
    pub fn segment(&self) -> u32 {
        self.machine.parts().core.params.mss()
    }

    /// The number of the next segment with new data.
    #[must_use]
    pub fn next_seq(&self) -> u64 {
        self.machine.parts().core.board.max()
    }

    /// The application writes `bytes` more; `u64::MAX` means without end. The first call opens the connection.
    pub fn write(&mut self, bytes: u64, now: Time) {
        self.machine.write(bytes, now);
    }

    /// The application stops: data that has not been sent yet is never sent.
    pub fn stop(&mut self, now: Time) {
        self.machine.stop(now);
    }

    /// The application has written all its data. When this data is sent, the connection closes, if the parameters say
    /// so.
    pub fn close(&mut self, now: Time) {
        self.machine.close(now);
    }

    /// A segment arrived from the receiver.
    pub fn on_segment(&mut self, header: &TcpHeader, now: Time) {
        self.machine.on_segment(header, now);
    }

    /// The other end has closed its direction: all its data has arrived, at the receiver beside this sender.
    pub fn on_peer_closed(&mut self) {
        let (core, _, peer) = self.machine.parts_mut();
        (peer.closed, peer.closed_first) = (true, !core.fin_sent);
    }

    /// An event of the network layer about the route to the receiver.
    pub fn on_network(&mut self, event: NetworkEvent, now: Time) {
        self.machine.on_network(event, now);
    }

    /// The deadline is reached. Being called early does no harm.
    pub fn on_timer(&mut self, now: Time) {
        self.machine.on_timer(now);
    }

    /// A segment that asks whether the other end is there: it has no payload, and a number that was acknowledged, so
    /// that it must be answered (RFC 9293 §3.8.4).
    pub fn keep_alive(&mut self, now: Time) -> TcpHeader {
        let (core, _, peer) = self.machine.parts_mut();
        core.now = now;
        core.counters.keep_alives += 1;
        peer.bare(core, core.una().saturating_sub(1))
    }

    /// When [`on_timer`](Self::on_timer) must next be called.
    #[must_use]
    pub fn deadline(&self) -> Time {
        self.machine.deadline()
    }

    /// The next segment to send now, if any.
    pub fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader> {
        self.machine.poll_transmit(now)
    }

    /// The congestion control, for tests of its states.
    #[cfg(test)]
    pub(crate) fn control(&self) -> &Controller {
        self.machine.parts().control
    }

    /// The error of the congestion control, if it failed; reported once.
    #[inline]
    pub fn failure(&mut self) -> Option<String> {
        self.machine.parts_mut().1.failure()
    }
}
