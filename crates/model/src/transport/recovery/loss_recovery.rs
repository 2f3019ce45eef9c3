//! The trait of every loss recovery.

use hopyard_engine::{Span, Time};

use crate::packet::TcpHeader;
use crate::transport::congestion::{CongestionControl, Controller};
use crate::transport::connection::{Acked, Core, Params};
use crate::transport::recovery_choice::Proportional;

/// An event for a recovery: the acknowledgement's header and what it covers.
pub(crate) struct Arrival<'a> {
    pub header: &'a TcpHeader,
    pub acked: Acked,
}

/// What a recovery does on each event.
pub(crate) trait LossRecovery {
    /// An event at the sender begins: an arrival, a timer, or data of the application.
    fn on_event(&mut self) {}

    /// The application has written more during an event.
    fn on_written(&mut self) {}

    /// Sending ends although there may be more to send: the application goes on writing.
    fn on_pause(&mut self, _core: &mut Core) {}

    /// How many new segments leave together at most.
    fn largest_buffer(&self, _core: &Core) -> u32 {
        1
    }

    /// An acknowledgement arrived that the scoreboard has not processed yet.
    fn inspect(&mut self, _core: &mut Core, _control: &mut Controller, _header: &TcpHeader) {}

    /// The opening segment was answered, after a round trip of `opened` if that is known.
    fn on_opened(&mut self, core: &mut Core, _opened: Option<Span>) {
        core.acknowledge();
    }

    /// New data was acknowledged, and the scoreboard has processed it.
    fn on_ack(&mut self, core: &mut Core, control: &mut Controller, arrival: &Arrival<'_>);

    /// A duplicate acknowledgement arrived.
    fn on_duplicate(&mut self, core: &mut Core, control: &mut Controller, header: &TcpHeader);

    /// An acknowledgement arrived whose number is older than another's. What it reports by SACK may be new.
    fn on_old(&mut self, _core: &mut Core, _control: &mut Controller, _header: &TcpHeader) {}

    /// The retransmission timer has expired. The following steps are the same for all recoveries.
    fn on_timeout(&mut self, core: &mut Core);

    /// Before it: how often the timer has expired for the same losses, so that the congestion control does not answer
    /// them again.
    fn repeats_timeout(&self, core: &Core) -> u32 {
        core.timeouts_in_row
    }

    /// The congestion control has answered the timeout.
    fn after_timeout(&mut self, _core: &mut Core, _control: &mut Controller) {}

    /// The next segment in normal order, counted from the first unacknowledged one, if the window has room.
    fn next(&mut self, core: &mut Core) -> Option<usize> {
        core.next_in_window()
    }

    /// The segment that `next` returned was sent.
    fn on_sent(&mut self, _core: &mut Core, _index: usize) {}

    /// The segment at `index` was sent although the window may have had no room for it.
    fn on_forced(&mut self, _core: &mut Core, _index: usize) {}

    /// The next segment is not sent yet, because the sender's node has no room for it.
    fn on_held(&mut self, _core: &mut Core) {}

    /// What was to be sent although the window may have had no room is not sent: it waits in the sender's node, or that
    /// has no room.
    fn on_refused(&mut self, _core: &mut Core) {}

    /// How many segments may leave together from the one at `index` on, of the `quantum` that pacing allows.
    fn together(&self, _core: &Core, _index: usize, quantum: u32) -> u32 {
        quantum
    }

    /// By how many segments the network reorders, as far as the recovery knows, if it looks for that.
    fn reordering(&self) -> Option<u32> {
        None
    }

    /// How many segments are in the buffer that begins with the one at `index`, which `next` has returned, if the
    /// recovery knows.
    fn buffer(&self, _core: &Core, _index: usize) -> Option<u32> {
        None
    }

    /// Whether the recovery itself sets the retransmission timer when segments are sent.
    fn sets_timer(&self) -> bool {
        false
    }

    /// When `on_timer` must be called.
    fn deadline(&self) -> Time {
        Time::NEVER
    }

    /// The deadline has been reached, or the call is early.
    fn on_timer(&mut self, _core: &mut Core, _control: &mut Controller) {}
}

/// How a recovery is made.
pub(crate) trait Recovers: LossRecovery + Sized {
    /// Whether the receiver must report received segments by SACK.
    const WANTS_SACK: bool = false;
    /// Whether the recovery marks reported and lost segments on the scoreboard.
    const MARKS: bool = Self::WANTS_SACK;
    /// Whether data counts as in Linux: what lets the window grow, and samples of the delivery rate.
    const AS_LINUX: bool = false;

    /// The recovery of a connection with these parameters, under this congestion control.
    fn new(params: &Params, control: &Controller) -> Self;
}

/// Whether reductions are in proportion to the delivered data (RFC 9937). `by_itself` says what the recovery does
/// otherwise.
pub(super) fn proportional(params: &Params, control: &Controller, by_itself: bool) -> bool {
    match params.prr {
        _ if control.governs_recovery() => false,
        Proportional::Recovery => by_itself,
        choice => choice == Proportional::On,
    }
}
