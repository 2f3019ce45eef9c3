//! What a sender shows of itself.

use hopyard_engine::{Span, Time};

use super::{Stage, TcpSender};
use crate::packet::TcpHeader;
use crate::transport::congestion::CongestionControl;
use crate::transport::connection::{Close, Judged, Marks, Phases, SenderCounters, header_bytes};
use crate::transport::recovery::LossRecovery as _;
use crate::transport::tcp::state::Connection;

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
    pub const fn counters(&self) -> &SenderCounters {
        &self.core.counters
    }

    /// What the sender did in every phase until now.
    #[must_use]
    pub fn phases(&self, now: Time) -> Phases {
        if self.stage == Stage::Closed { Phases::default() } else { self.core.phases_at(now) }
    }

    /// The state, to be sampled.
    #[must_use]
    pub fn state(&self) -> SenderState {
        let core = &self.core;
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
            bandwidth: self.control.bandwidth(),
            pacing_gap: self.control.pacing_gap(),
        }
    }

    /// What the sender knows of the segments that are not acknowledged.
    #[must_use]
    pub fn marks(&self) -> Marks {
        self.core.board.marks()
    }

    /// By how many segments the network reorders, as far as the recovery knows, if it looks for that (`rack_linux`).
    #[must_use]
    pub fn reordering(&self) -> Option<u32> {
        self.recovery.reordering()
    }

    /// The first sequence number that is not acknowledged, the first that was never sent, and the receiver's window in
    /// bytes.
    #[must_use]
    pub const fn window_edges(&self) -> (u64, u64, u64) {
        (self.core.board.una(), self.core.board.max(), self.core.advertised())
    }

    /// The state of the connection.
    #[must_use]
    pub const fn connection(&self) -> Connection {
        let acknowledged = self.core.board.una() == self.core.board.max();
        match (self.stage, self.core.fin_sent, acknowledged, self.peer_closed) {
            (Stage::Closed, ..) => Connection::Closed,
            (Stage::Opening, ..) => Connection::SynSent,
            (Stage::Open, false, ..) => Connection::Established,
            (Stage::Open, true, false, false) => Connection::FinWait1,
            (Stage::Open, true, true, false) => Connection::FinWait2,
            (Stage::Open, true, false, true) => Connection::Closing,
            (Stage::Open, true, true, true) => Connection::TimeWait,
        }
    }

    /// Whether all that the application wrote, or had written when it stopped, is acknowledged, and the connection is
    /// closed if it is to be.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        let closes = self.core.closing && self.core.params.close == Close::Fin;
        self.stage == Stage::Open
            && self.core.board.is_empty()
            && self.core.una() >= self.core.app_end
            && self.core.buffer.is_done()
            && (!closes || self.connection() == Connection::TimeWait)
    }

    /// The end of what the application has written, and the memory of the send buffer.
    #[cfg(test)]
    pub(in crate::transport::tcp) fn written(&self) -> (u64, u64) {
        (self.core.app_end, self.core.buffer.limit())
    }

    /// The bytes of a segment's IP and TCP headers with options: a packet's size is this and the payload.
    #[must_use]
    pub fn header_bytes(&self, header: &TcpHeader) -> u32 {
        if self.control.charges_headers() || header.len == 0 { header_bytes(&self.core.params, header) } else { 0 }
    }

    /// Whether the congestion control distinguishes causes of loss.
    #[must_use]
    pub fn classifies(&self) -> bool {
        self.control.classifies()
    }

    /// The losses that the congestion control has classified since the last call.
    pub fn take_judged(&mut self) -> Vec<Judged> {
        std::mem::take(&mut self.core.judged)
    }
}
