//! The states of a connection.

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
