//! The state that a sender shows of itself.

use hopyard_engine::{Span, Time};

use super::TcpSender;
use crate::packet::TcpHeader;
use crate::transport::congestion::CongestionControl;
use crate::transport::connection::{
    Close, Connection, Judged, Marks, Parts, Phases, SenderCounters, SendingEnd, Stage, header_bytes,
};
use crate::transport::linux;

/// A sender's state, to be sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// The congestion window in segments, without recovery's inflation.
    pub cwnd: f64,
    /// Its inflation for duplicate acknowledgements, in segments.
    pub inflation: f64,
    /// The slow start threshold in segments.
    pub ssthresh: f64,
    /// Bytes sent and not acknowledged.
    pub flight: u64,
    /// The smoothed round trip, after the first sample.
    pub srtt: Option<Span>,
    /// The retransmission timeout.
    pub rto: Span,
    /// The last round trip of a segment sent but once, on a fine clock.
    pub round_trip: Option<Span>,
    /// Duplicate acknowledgements in a row.
    pub duplicate_acks: u32,
    /// Whether the sender repairs losses that it found without a timeout.
    pub recovering: bool,
    /// Timeouts since the last acknowledgement of new data.
    pub timeouts: u32,
    /// Whether the sender is frozen.
    pub frozen: bool,
    /// The bandwidth that the congestion control estimates, in bytes per second, if it does.
    pub bandwidth: Option<f64>,
    /// The least time between two segments; zero for a sender that does not pace.
    pub pacing_gap: Span,
}

impl TcpSender {
    /// The counters.
    #[must_use]
    pub fn counters(&self) -> &SenderCounters {
        &self.machine.parts().core.counters
    }

    /// The sender's work in every phase until now.
    #[must_use]
    pub fn phases(&self, now: Time) -> Phases {
        let parts = self.machine.parts();
        if parts.stage == Stage::Closed { Phases::default() } else { parts.core.phases_at(now) }
    }

    /// As [`SenderState::cwnd`].
    #[must_use]
    pub fn cwnd(&self) -> f64 {
        self.machine.parts().core.cwnd
    }

    /// The state, to be sampled.
    #[must_use]
    pub fn state(&self) -> SenderState {
        let Parts { core, control, .. } = self.machine.parts();
        SenderState {
            cwnd: core.cwnd,
            inflation: core.inflation,
            ssthresh: core.ssthresh,
            flight: core.board.flight(),
            srtt: core.rtt.srtt(),
            rto: core.rtt.timeout(),
            round_trip: core.round_trip,
            duplicate_acks: core.duplicates,
            recovering: core.recovering,
            timeouts: core.timeouts_in_row,
            frozen: core.frozen.is_some(),
            bandwidth: control.bandwidth(),
            pacing_gap: control.pace().gap,
        }
    }

    /// The sender's knowledge of the segments that are not acknowledged.
    #[must_use]
    pub fn marks(&self) -> Marks {
        self.machine.parts().core.board.marks()
    }

    /// By how many segments the network reorders, as far as the sender knows, if it looks for that (Linux).
    #[must_use]
    pub fn reordering(&self) -> Option<u32> {
        self.linux().map(linux::Sender::reordering)
    }

    /// The first sequence number that is not acknowledged, the first that was never sent, and the receiver's window in
    /// bytes.
    #[must_use]
    pub fn window_edges(&self) -> (u64, u64, u64) {
        let core = self.machine.parts().core;
        (core.board.una(), core.board.max(), core.advertised())
    }

    /// The state of the connection.
    #[must_use]
    pub fn connection(&self) -> Connection {
        let Parts { core, peer, stage, .. } = self.machine.parts();
        let acknowledged = core.board.una() == core.board.max();
        match (stage, core.fin_sent, acknowledged, peer.closed) {
            (Stage::Closed, ..) => Connection::Closed,
            (Stage::Opening, ..) if peer.opened => Connection::SynReceived,
            (Stage::Opening, ..) => Connection::SynSent,
            (Stage::Open, false, _, true) => Connection::CloseWait,
            (Stage::Open, true, false, true) if peer.closed_first => Connection::LastAck,
            (Stage::Open, true, true, true) if peer.closed_first => Connection::Closed,
            (Stage::Open, false, ..) => Connection::Established,
            (Stage::Open, true, false, false) => Connection::FinWait1,
            (Stage::Open, true, true, false) => Connection::FinWait2,
            (Stage::Open, true, false, true) => Connection::Closing,
            (Stage::Open, true, true, true) => Connection::TimeWait,
        }
    }

    /// Whether all data that the application wrote, or had written when it stopped, is acknowledged, and the connection
    /// is closed if it is to be.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let core = self.machine.parts().core;
        let closes = core.closing && core.params.close == Close::Fin;
        self.is_idle() && (!closes || matches!(self.connection(), Connection::TimeWait | Connection::Closed))
    }

    /// Whether the connection is open, and all data that the application wrote is acknowledged.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        let Parts { core, stage, .. } = self.machine.parts();
        stage == Stage::Open
            && core.board.is_empty()
            && core.una() >= core.app_end
            && self.linux().is_none_or(linux::Sender::has_written_all)
    }

    /// The end of the data that the application wrote, and the memory of the send buffer.
    #[cfg(test)]
    pub(in crate::transport::tcp) fn written(&self) -> (u64, u64) {
        (self.machine.parts().core.app_end, self.linux().map_or(0, linux::Sender::send_buffer))
    }

    /// The bytes of a segment's IP and TCP headers with options: a packet's size is this and the payload.
    #[must_use]
    pub fn header_bytes(&self, header: &TcpHeader) -> u32 {
        let free = header.len > 0 && self.machine.parts().control.is_ns2_vegas();
        if free { 0 } else { header_bytes(&self.machine.parts().core.params, header) }
    }

    /// Whether the congestion control distinguishes causes of loss.
    #[must_use]
    pub fn classifies(&self) -> bool {
        self.machine.parts().control.classifies()
    }

    /// The losses that the congestion control has classified since the last call.
    pub fn take_judged(&mut self) -> Vec<Judged> {
        std::mem::take(&mut self.machine.parts_mut().0.judged)
    }
}
