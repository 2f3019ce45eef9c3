//! Frames that do not go on the air: messages on an ideal channel beside this one.

use super::{Channel, station_of};
use crate::context::{Action, Context, DropReason};
use crate::mac::{Control, Slotted};
use crate::phy::frame::{Fate, Frame};

impl<M: Slotted> Channel<M> {
    /// Gives the packet of a frame that does not go on the air to the stations in range that it is for.
    #[cold]
    pub(super) fn hand_round(&mut self, station: usize, frame: &Frame<M::Control>, cx: &mut Context) {
        let Some(packet) = frame.packet else { return };
        let word = cx.now.nanos() ^ (u64::from(frame.transmitter.0) << 44);
        cx.digest.fold(word ^ u64::from(frame.control.kind()) << 62 ^ u64::from(frame.bytes) << 32);
        let receiver = station_of(frame.receiver, &self.interfaces);
        let mut hearers = std::mem::take(&mut self.in_range);
        if frame.receiver.is_broadcast() {
            self.medium.in_range(station, cx.now, &mut hearers);
        } else {
            hearers.clear();
            let reached = receiver < self.macs.len() && self.medium.is_in_range(station, receiver, cx.now);
            hearers.extend(reached.then_some(receiver));
        }
        let in_range = !hearers.is_empty();
        hearers.retain(|&hearer| self.is_awake(hearer, cx.now));
        let (reached, asleep) = (!hearers.is_empty(), in_range && self.is_asleep(receiver, cx.now));
        let from = frame.transmitter;
        for &hearer in &hearers {
            let (interface, packet) = (self.interfaces[hearer], cx.copy(packet));
            cx.act(Action::Arrived { interface, packet, from });
        }
        self.in_range = hearers;
        if reached || frame.receiver.is_broadcast() {
            cx.hand_over(packet);
        } else {
            let reason = if asleep { DropReason::Asleep } else { DropReason::OutOfReach };
            cx.drop_packet(self.nodes[station], packet, reason);
        }
        if M::COUNTS_FATES && !frame.receiver.is_broadcast() {
            self.macs[station].on_fate(match (reached, asleep) {
                (true, _) => Fate::Heard,
                (false, true) => Fate::Asleep,
                (false, false) => Fate::OutOfReach,
            });
        }
    }
}
