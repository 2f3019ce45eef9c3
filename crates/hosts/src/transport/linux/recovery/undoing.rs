//! The steps back when a reduction was for nothing.

use super::Recovery;
use crate::transport::congestion::Controller;
use crate::transport::linux::state::State;

impl Recovery {
    /// Takes the reduction back; with `found` the marks of losses too.
    pub(super) fn undo_reduction(&mut self, tcp: &mut State, control: &mut Controller, found: bool) {
        if found {
            tcp.unmark_losses();
        }
        if let Some(before) = self.undo.take().and_then(|undo| undo.before) {
            let answer = control.on_undo(&before, &tcp.core.view());
            tcp.core.apply(answer);
            tcp.window_changed = tcp.core.now;
        }
        self.suspicious = false;
        self.detection.advanced = true;
        if tcp.core.recovering {
            self.prr = None;
            tcp.core.recovering = false;
        }
    }

    /// A reduction is undone if every retransmission was a duplicate.
    pub(super) fn undo_by_duplicates(&mut self, tcp: &mut State, control: &mut Controller) -> bool {
        let due = self.undo.is_some_and(|undo| undo.all_were_duplicates());
        if due {
            self.detection.excite();
            self.undo_reduction(tcp, control, false);
        }
        due
    }
}
