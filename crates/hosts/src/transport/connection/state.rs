//! The states of a connection.

/// The state of a connection at one of its ends (RFC 9293 §3.3.2), as its sender or its receiver knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Connection {
    /// There is no connection yet, or no more.
    Closed,
    /// The receiver waits for a connection.
    Listen,
    /// The opening segment was sent.
    SynSent,
    /// The other end's opening segment was answered, and the answer is not acknowledged.
    SynReceived,
    /// Data flows.
    Established,
    /// The sender's FIN is not acknowledged.
    FinWait1,
    /// The sender's FIN is acknowledged; the receiver's FIN has not come.
    FinWait2,
    /// The receiver's FIN has come; the sender's FIN is not acknowledged.
    Closing,
    /// The other end's FIN has come, and this end has sent none.
    CloseWait,
    /// This end has closed after the other one, and its FIN is not acknowledged.
    LastAck,
    /// The receiver's FIN has come, and the sender's FIN is acknowledged: the sender stays to answer copies of the
    /// receiver's FIN.
    TimeWait,
}
