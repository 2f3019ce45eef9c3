//! The reports to the congestion control.

use hopyard_engine::Span;

use super::core::{Core, Judged};
use super::header::dsack;
use super::scoreboard::Acked;
use crate::packet::TcpHeader;
use crate::transport::congestion::{
    Ack, Answer, Arrived, CongestionControl, Controller, Duplicate, Loss, Phase, Timeout, View,
};

impl Core {
    /// The state that the congestion control can read.
    #[inline]
    pub(crate) fn view(&self) -> View {
        View {
            now: self.now,
            cwnd: self.cwnd,
            ssthresh: self.ssthresh,
            inflation: self.inflation,
            advertised: self.segments(self.advertised()),
            flight: self.flight(),
            pipe: self.in_network(),
            recovering: self.recovering,
            lost: self.segments(self.lost),
            app_limited: self.board.next() >= self.board.len() && self.unsent() == 0,
            segment: self.mss,
            una: self.board.una(),
            next: self.board.next_seq(),
            max: self.board.max(),
            duplicates: self.duplicates,
            duplicate_threshold: self.params.duplicate_threshold,
            srtt: self.rtt.srtt(),
            rto: self.rtt.timeout(),
            hops: self.hops,
            ack_hops: self.ack_hops,
            link_rate: self.link_rate,
        }
    }

    /// Takes in the duplicate that an acknowledgement reports (RFC 2883).
    pub(crate) fn note_duplicate(&mut self, header: &TcpHeader) -> Option<(u64, u64)> {
        let duplicate = dsack(header);
        self.counters.reported_duplicates += u64::from(duplicate.is_some());
        duplicate
    }

    /// Tells the congestion control that an acknowledgement arrived, once. Returns the state after its answer.
    #[inline]
    pub(crate) fn announce(&mut self, control: &mut Controller, round_trip: Option<Span>) -> View {
        let view = self.view();
        if std::mem::replace(&mut self.announced, true) {
            return view;
        }
        let answer = control.on_arrival(&Arrived { round_trip }, &view);
        if answer == Answer::Keep {
            return view;
        }
        self.apply(answer);
        self.view()
    }

    /// Tells the congestion control about newly acknowledged data.
    #[inline]
    pub(crate) fn grow(&mut self, control: &mut Controller, acked: &Acked, phase: Phase) {
        let ack = self.ack(acked, phase);
        self.report_ack(control, &ack);
    }

    /// The event of newly acknowledged data.
    #[inline]
    pub(crate) fn ack(&mut self, acked: &Acked, phase: Phase) -> Ack {
        Ack {
            bytes: acked.bytes,
            delivered: acked.delivered,
            counted: acked.bytes,
            segments: acked.segments,
            round_trip: acked.round_trip,
            newest_round_trip: acked.newest_round_trip,
            one_way: self.one_way,
            phase: if self.marks_hold_window() { Phase::Partial } else { phase },
            duplicates: self.prior_duplicates,
            window_limited: self.window_limited,
            rate: self.rate(),
        }
    }

    /// Whether the window does not grow because the acknowledgement reports a mark (RFC 3168 §6.1.2). After a timeout
    /// the receiver reports marks until new data tells it of the reduction. Slow start therefore goes on there, or else
    /// the losses would be repaired one segment in a round trip.
    const fn marks_hold_window(&self) -> bool {
        let restarts = self.board.una() < self.recover && self.cwnd < self.ssthresh;
        self.reports_mark && !restarts
    }

    /// Tells the congestion control of this event.
    #[inline]
    pub(crate) fn report_ack(&mut self, control: &mut Controller, ack: &Ack) {
        let view = self.announce(control, ack.round_trip);
        self.announced = false;
        let answer = control.on_ack(ack, &view);
        self.apply(answer);
        if ack.rate.is_some() && control.pace().limits_itself {
            self.mark_app_limited();
        }
    }

    /// Tells the congestion control about a duplicate acknowledgement.
    pub(crate) fn report_duplicate(&mut self, control: &mut Controller, sacked: u64) {
        let view = self.announce(control, None);
        self.announced = false;
        let duplicate = Duplicate { count: self.duplicates, sacked, rate: self.rate() };
        let answer = control.on_duplicate(&duplicate, &view);
        self.apply(answer);
        if duplicate.rate.is_some() && control.pace().limits_itself {
            self.mark_app_limited();
        }
    }

    /// Tells the congestion control that the segment at `index` is lost.
    pub(crate) fn report_loss(&mut self, control: &mut Controller, index: usize) {
        self.report(control, index, self.view());
    }

    /// As [`report_loss`](Self::report_loss), in a recovery: FlightSize still includes the reported segments, because
    /// the earlier reduction allowed as many new ones.
    pub(crate) fn report_loss_again(&mut self, control: &mut Controller, index: usize) {
        self.report(control, index, self.within_window());
    }

    /// The state with a FlightSize that is not larger than the window. Segments that SACK reports, that a timeout has
    /// given up, or that were sent on duplicate acknowledgements count in FlightSize and not in the network. Half of it
    /// could be more than the window (RFC 5681 eq. 4).
    fn within_window(&self) -> View {
        let view = self.view();
        View { flight: view.flight.min(view.cwnd), ..view }
    }

    /// Tells the congestion control that a queue has marked a segment: as if it were lost, though nothing is missing.
    pub(crate) fn report_mark(&mut self, control: &mut Controller) {
        self.marked_until = self.board.max();
        let view = self.within_window();
        let answer = control.on_loss(&Loss { sent: self.now, transmissions: 1 }, &view);
        self.judge(control);
        self.apply(answer);
        // The least threshold is two segments (RFC 5681 eq. 4), and the window may be one.
        self.cwnd = self.cwnd.min(view.cwnd);
        self.counters.mark_reductions += 1;
    }

    /// Takes in whether an acknowledgement reports a mark. The first in a window is answered. The data
    /// that was outstanding at a loss or at a timeout belongs to the window that this loss has reduced (RFC 3168
    /// §6.1.2).
    pub(crate) fn note_mark(&mut self, control: &mut Controller, header: &TcpHeader) {
        self.reports_mark = header.flags.ece;
        if self.reports_mark && !self.recovering && header.ack > self.marked_until.max(self.recover) {
            self.report_mark(control);
        }
    }

    fn report(&mut self, control: &mut Controller, index: usize, view: View) {
        let Some(first) = self.board.get(index) else { return };
        if first.seq < self.marked_until {
            // A mark in the same window has reduced it.
            self.reduced = true;
            self.counters.fast_retransmits += 1;
            return;
        }
        let loss = Loss { sent: first.sent, transmissions: first.transmissions };
        self.report_as(control, &loss, &view);
    }

    /// Tells the congestion control of a loss, when this is the state.
    pub(crate) fn report_as(&mut self, control: &mut Controller, loss: &Loss, view: &View) {
        let answer = control.on_loss(loss, view);
        self.reduced = matches!(answer, Answer::Set { .. } | Answer::Rescale { .. });
        self.judge(control);
        self.apply(answer);
        self.counters.fast_retransmits += 1;
    }

    /// Tells the congestion control that the retransmission timer expired. Returns whether its answer replaces the
    /// doubling of the timeout. `inflated` says that the window was larger for duplicate acknowledgements.
    pub(crate) fn report_timeout(&mut self, control: &mut Controller, timeout: Timeout, inflated: bool) -> bool {
        self.counters.timeouts += u64::from(!self.board.is_empty());
        self.recovering = false;
        self.pipe = None;
        self.recover = self.board.max();
        // Segments sent on duplicate acknowledgements replaced segments that had left the network, and so did those
        // sent on reports of SACK. Half of this larger FlightSize would let slow start exceed the capacity of the path
        // again.
        let view = if inflated || self.scoreboard { self.within_window() } else { self.view() };
        let answer = control.on_timeout(&timeout, &view);
        self.judge(control);
        self.apply(answer);
        matches!(answer, Answer::Rescale { .. })
    }

    /// The last step of a timeout. Returns whether the retransmission timer restarts.
    pub(crate) fn back_off(&mut self, rescaled: bool) -> bool {
        self.timeouts_in_row += 1;
        self.stop_timing();
        self.board.set_next(0);
        if self.frozen.is_some() {
            self.forced = None;
            return false;
        }
        if !rescaled {
            self.rtt.back_off();
        }
        true
    }

    /// Records how the congestion control classified the loss that it has just answered.
    pub(crate) fn judge(&mut self, control: &mut Controller) {
        if let Some(decision) = control.decision()
            && let Some(first) = self.board.get(0)
        {
            let (sent, transmissions) = (first.sent, first.transmissions);
            self.judged.push(Judged { at: self.now, seq: self.una(), sent, transmissions, decision });
        }
    }
}
