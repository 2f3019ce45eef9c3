//! TCP (RFC 9293) as two objects without I/O: [`TcpSender`] and [`TcpReceiver`].
//!
//! Each object has one direction of data; an end with both is in `host/tcp.rs`. Sequence numbers count bytes from zero
//! and do not wrap. With an opening exchange the SYN has number 0 and data begins at 1; without one, data begins at 0.
//!
//! Read: RFC 9293 (the protocol), RFC 5681 (congestion control), RFC 6298 (the timer), RFC 6582 (`NewReno`), RFC 6675
//! (SACK), RFC 7323 (timestamps), RFC 8985 (RACK-TLP), RFC 9937 (proportional rate reduction), RFC 2883 (DSACK). The
//! receiver of one-way data closes its half as soon as the sender has closed its own, and its sender stays in
//! TIME-WAIT. Left out: urgent data, giving up after many retransmissions (RFC 9293 §3.8.3), path MTU discovery. The
//! profile `ns2` behaves as the one-way agents of ns-2.35 do, segment for segment (`tests/forced_drops.rs`).

mod config;
mod idle;
mod pacing;
mod receiver;
mod sender;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

pub use self::config::Config;
pub use self::receiver::TcpReceiver;
pub use self::sender::{SenderState, TcpSender};
pub use super::connection::{
    Close, Connect, Connection, EchoCopies, Ecn, Habits, IdleRestart, Judged, Marks, Params, Reader, ReceiverCounters,
    RecoveryExit, SenderCounters,
};
pub use super::linux;
pub use super::notice::NetworkEvent;
