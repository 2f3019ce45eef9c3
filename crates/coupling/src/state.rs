//! The states of flows of kernels.

use hopyard_engine::Time;
use hopyard_scenario::LinuxFlow;

use crate::meter::Measured;

/// The state of a flow's sending socket at a time, as `ss -ti` shows it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// When.
    pub at: Time,
    /// The flow.
    pub flow: usize,
    /// The congestion window, in segments.
    pub cwnd: u32,
    /// The slow-start threshold, in segments; nothing if it was never set.
    pub ssthresh: Option<u32>,
    /// The smoothed round-trip time, in milliseconds.
    pub srtt_ms: f64,
    /// The retransmission timeout, in milliseconds.
    pub rto_ms: f64,
    /// Segments that were sent and not acknowledged.
    pub unacknowledged: u32,
    /// Retransmitted segments since the start.
    pub retransmissions: u32,
    /// The state of congestion avoidance (`TCP_CA_Open` 0, `Disorder` 1, `CWR` 2, `Recovery` 3, `Loss` 4).
    pub state: u32,
}

/// The state of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowState {
    /// The flow.
    pub flow: LinuxFlow,
    /// The measures of its packets on their way into the network and out of it.
    pub measured: Measured,
    /// Whether the connection was opened.
    pub connected: Option<Time>,
    /// When everything was acknowledged, if it has an end.
    pub finished: Option<Time>,
    /// When the connection was given up, and Linux's error number.
    pub broken: Option<(Time, u32)>,
    /// Timeouts since `measure.from`. Linux 6.7 and later tell them of each socket. Earlier kernels count all sockets
    /// together: their counts are known of a flow that alone has an end at its node, without programs.
    pub timeouts: Option<u64>,
    /// Fast retransmits since `measure.from`, which every kernel counts of all sockets together.
    pub fast_retransmits: Option<u64>,
}
