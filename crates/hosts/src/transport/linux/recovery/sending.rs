//! The consequences of a segment that was sent.

use super::pairs::Pairs;
use super::timer::Pending;
use super::{Probe, Recovery};
use crate::transport::linux::state::State;

impl Recovery {
    /// The segment that `next` returned was sent, or one for which the window may have had no room.
    pub fn on_sent(&mut self, tcp: &mut State, index: usize) {
        let again = tcp.core.board.get(index).is_some_and(|segment| segment.transmissions > 1);
        if again {
            self.resending.on_sent(tcp, index);
        } else if let Some(pairs) = self.pairs.as_mut().filter(|pairs| pairs.shares()) {
            tcp.tags[index].shared = true;
            // With pacing the sender itself knows what leaves together.
            tcp.tags[index].joined |= pairs.follows() && tcp.quantum.is_none();
        }
        let ends = self.pairs.as_mut().is_some_and(|pairs| pairs.on_sent(tcp));
        // A segment that only has the FIN has not been written.
        let has_data = tcp.core.board.get(index).is_some_and(|segment| segment.len > 0);
        if has_data && !again {
            tcp.tags[index].ends_buffer = ends;
            tcp.tags[index].psh |= Pairs::ends_push(tcp);
        }
        let probing = std::mem::take(&mut self.probing);
        // In a reduction a probe with new data counts as any other segment; one that is sent again does not.
        if !(probing && again)
            && let Some(prr) = &mut self.prr
        {
            prr.on_sent();
        }
        if probing {
            self.probe = Some(Probe { end: tcp.core.board.max(), retransmits: again });
            self.sent_new |= !again;
            // From the probe on a timeout is waited for.
            self.timer.restart(tcp);
            return;
        }
        if again {
            self.first_resent = self.first_resent.or(Some(tcp.core.now));
            if let Some(undo) = &mut self.undo {
                undo.on_resent();
            }
            if index == 0 && self.timer.pending != Pending::Reordering {
                self.timer.restart(tcp);
            }
        } else {
            self.sent_new = true;
            if tcp.core.board.len() == 1 || self.timer.pending == Pending::Probe {
                self.timer.rearm(tcp);
            }
            if self.probes(tcp) {
                self.timer.schedule_probe(tcp, false);
            }
        }
    }
}
