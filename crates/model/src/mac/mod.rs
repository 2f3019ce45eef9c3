//! Medium access control.
//!
//! A MAC receives what its radio senses and the frames that it decodes. It holds one packet at a time. It returns
//! frames to transmit, and one deadline. Every packet that it gives up goes back to routing as [`Action::LinkFailed`].
//!
//! [`Action::LinkFailed`]: crate::context::Action::LinkFailed

pub mod dcf;

crate::registry! {
    "mac":
    "dcf" => dcf::Dcf,
        "IEEE 802.11 distributed coordination function over DSSS and HR-DSSS (IEEE 802.11-1999 §9.2, 802.11b)";
}

/// Counters of a node's MAC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// RTS frames sent.
    pub rts: u64,
    /// CTS frames sent.
    pub cts: u64,
    /// Data frames sent to one receiver, retries included.
    pub data: u64,
    /// Data frames broadcast.
    pub broadcasts: u64,
    /// Acknowledgements sent.
    pub acks: u64,
    /// RTS frames without an answer.
    pub rts_failures: u64,
    /// Data frames without an acknowledgement.
    pub ack_failures: u64,
    /// Packets given up after the retry limit.
    pub given_up: u64,
    /// Data frames received again and not passed on.
    pub duplicates: u64,
}
