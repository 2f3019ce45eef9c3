//! TCP (RFC 9293) as two objects without I/O: [`TcpSender`] and [`TcpReceiver`].
//!
//! Data flows one way, as in every study of this field. Sequence numbers count bytes from zero and do not wrap. With an
//! opening exchange the SYN has number 0 and data begins at 1; without one, data begins at 0.
//!
//! Read: RFC 9293 (the protocol), RFC 5681 (congestion control), RFC 6298 (the timer), RFC 6582 (`NewReno`), RFC 6675
//! (SACK), RFC 7323 (timestamps), RFC 8985 (RACK-TLP), RFC 9937 (proportional rate reduction), RFC 2883 (DSACK). The
//! receiver closes its half as soon as the sender has closed its own, and a connection in TIME-WAIT stays there. Left
//! out: data in both directions, urgent data, resets, giving up after many retransmissions (RFC 9293 §3.8.3), path MTU
//! discovery, ECN. The profile `ns2` behaves as the one-way agents of ns-2.35 do, segment for segment
//! (`tests/forced_drops.rs`).

mod buffer;
mod core;
mod params;
mod rate;
mod receiver;
mod rtt;
mod scoreboard;
mod sender;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use self::core::{Core, Judged};
pub(crate) use self::core::{is_earlier, milliseconds};
pub use self::params::{Close, Connect, EchoCopies, Estimation, IdleRestart, Params, Reader, RecoveryExit};
pub use self::receiver::{ReceiverCounters, TcpReceiver};
pub use self::rtt::Estimator;
pub use self::scoreboard::{Acked, Board, Segment};
pub use self::sender::{SenderCounters, SenderState, TcpSender};

use crate::packet::{IP_HEADER, TCP_HEADER, TcpHeader};
use crate::transport::congestion;

/// The state of a connection at one of its ends (RFC 9293 §3.3.2), as far as an end can be in it that only sends or
/// only receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// No connection yet at the sender, or no more at the receiver.
    Closed,
    /// The receiver waits for a connection.
    Listen,
    /// The opening segment was sent.
    SynSent,
    /// Data flows.
    Established,
    /// The sender's FIN is not acknowledged.
    FinWait1,
    /// It is; the receiver's has not come.
    FinWait2,
    /// The receiver's has come, the sender's is not acknowledged.
    Closing,
    /// The receiver has closed its half, and its FIN is not acknowledged.
    LastAck,
    /// Both are: the sender stays to answer copies of the receiver's FIN. The state is not left; a flow has one
    /// connection.
    TimeWait,
}

/// A sender's configuration: TCP's own parameters, and which congestion control with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// TCP's own parameters.
    pub tcp: Params,
    /// The congestion control.
    pub congestion: congestion::Config,
}

/// Information of the network layer for a sender: the named values and events that cross layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The route to the receiver is lost.
    RouteLost,
    /// A route to the receiver is available again.
    RouteRestored,
    /// The route to the receiver now has this many hops.
    HopCount(u8),
    /// A node could not pass on the segment that begins with this number, or the source has no route for it. Comes only
    /// to variants that ask for it.
    Unreachable {
        /// The segment's first sequence number.
        seq: u64,
    },
}

/// The duplicate that an acknowledgement reports (RFC 2883 §4): its first block lies below what it acknowledges, or
/// within the second block.
pub(crate) fn dsack(header: &TcpHeader) -> Option<(u64, u64)> {
    let mut blocks = header.sack.iter();
    let first = blocks.next()?;
    let within = blocks.next().is_some_and(|second| second.0 <= first.0 && first.1 <= second.1);
    (first.1 <= header.ack || within).then_some(first)
}

/// The bytes of a segment's IP and TCP headers with options.
pub(crate) fn header_bytes(params: &Params, header: &TcpHeader) -> u32 {
    let blocks = header.sack.len() as u32;
    let options = if params.padded_options {
        // Each option fills whole words: two NOPs lead (RFC 7323 appendix A, RFC 2018 §3).
        12 * u32::from(header.timestamps.is_some()) + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    } else {
        10 * u32::from(header.timestamps.is_some()) + 8 * blocks
    };
    IP_HEADER + TCP_HEADER + options
}
