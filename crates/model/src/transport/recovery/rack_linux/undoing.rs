//! What is taken back when a reduction was for nothing.

use super::Procedure;
use crate::transport::congestion::{CongestionControl as _, Controller};
use crate::transport::connection::Core;

impl<const SACK: bool> Procedure<SACK> {
    /// Takes the reduction back; with `found` the marks of losses too.
    pub(super) fn undo_reduction(&mut self, core: &mut Core, control: &mut Controller, found: bool) {
        if found {
            core.unmark_losses();
        }
        if let Some(before) = self.undo.take().and_then(|undo| undo.before) {
            let answer = control.on_undo(&before, &core.view());
            core.apply(answer);
            core.window_changed = core.now;
        }
        self.suspicious = false;
        self.detection.advanced = true;
        if core.recovering {
            self.prr = None;
            core.recovering = false;
        }
    }

    /// A reduction is undone if every retransmission was a duplicate.
    pub(super) fn undo_by_duplicates(&mut self, core: &mut Core, control: &mut Controller) -> bool {
        let due = self.undo.is_some_and(|undo| undo.all_were_duplicates());
        if due {
            self.detection.excite();
            self.undo_reduction(core, control, false);
        }
        due
    }
}
