//! The counters of a sender.

/// The counters of a sender.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderCounters {
    /// Segments sent, including retransmissions, without those that only open the connection.
    pub segments: u64,
    /// Their payload in bytes.
    pub bytes: u64,
    /// Retransmitted segments with payload.
    pub retransmitted_segments: u64,
    /// Their payload in bytes.
    pub retransmitted_bytes: u64,
    /// How often the retransmission timer expired with data outstanding.
    pub timeouts: u64,
    /// Losses found by duplicate acknowledgements or a fine-grained timeout, and answered.
    pub fast_retransmits: u64,
    /// Acknowledgements received.
    pub acks: u64,
    /// Of these, those that acknowledged nothing new while data was outstanding.
    pub duplicate_acks: u64,
    /// Acknowledgements of data that was never sent; they are ignored.
    pub invalid_acks: u64,
    /// Acknowledgements whose timestamp is older than that of one before; they are ignored (RFC 7323 §5.3 R1).
    pub outdated_acks: u64,
    /// Probes sent while frozen.
    pub probes: u64,
    /// Probes of a closed window sent (RFC 9293 §3.8.6.1).
    pub window_probes: u64,
    /// Tail loss probes sent (RFC 8985 §7).
    pub tail_loss_probes: u64,
    /// Acknowledgements that report a duplicate by DSACK (RFC 2883): a retransmission was in vain, or the network made
    /// a copy.
    pub reported_duplicates: u64,
    /// Samples of the round-trip time.
    pub rtt_samples: u64,
    /// Notices of segments that a node could not forward.
    pub notices: u64,
}
