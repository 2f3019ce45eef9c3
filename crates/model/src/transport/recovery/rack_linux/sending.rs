//! What follows from a segment that was sent.

use super::pairs::Pairs;
use super::timer::Pending;
use super::{Probe, Procedure};
use crate::transport::connection::Core;

impl<const SACK: bool> Procedure<SACK> {
    /// A segment was sent.
    pub(super) fn note_sent(&mut self, core: &mut Core, index: usize) {
        let again = core.board.get(index).is_some_and(|segment| segment.transmissions > 1);
        if again {
            self.resending.on_sent(core, index);
        } else if let Some(pairs) = self.pairs.as_mut().filter(|pairs| pairs.shares()) {
            core.board.share(index);
            // With pacing the sender itself knows what leaves together.
            if pairs.follows() && core.quantum.is_none() {
                core.board.join(index);
            }
        }
        let ends = self.pairs.as_mut().is_some_and(|pairs| pairs.on_sent(core.now));
        // A segment that only has the FIN has not been written.
        let has_data = core.board.get(index).is_some_and(|segment| segment.len > 0);
        if core.params.push && has_data && !again {
            core.board.end_buffer(index, ends);
            if Pairs::ends_push(core) {
                core.board.mark_psh(index);
            }
        }
        let probing = std::mem::take(&mut self.probing);
        if probing {
            self.probe = Some(Probe { end: core.board.max(), retransmits: again });
            self.sent_new |= !again;
            // From the probe on a timeout is waited for.
            self.timer.restart(core);
            return;
        }
        if let Some(prr) = &mut self.prr {
            prr.on_sent();
        }
        if again {
            self.first_resent = self.first_resent.or(Some(core.now));
            if let Some(undo) = &mut self.undo {
                undo.on_resent();
            }
            if index == 0 && self.timer.pending != Pending::Reordering {
                self.timer.restart(core);
            }
        } else {
            self.sent_new = true;
            if core.board.len() == 1 || self.timer.pending == Pending::Probe {
                self.timer.rearm(core);
            }
            if self.probes(core) {
                self.timer.schedule_probe(core, false);
            }
        }
    }
}
