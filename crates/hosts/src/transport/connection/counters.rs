//! The counters of a sender and of a receiver.

/// Declares the counters.
macro_rules! counters {
    ($(#[$about:meta])* pub struct $type:ident { $($(#[$meaning:meta])+ $name:ident,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $type {
            $($(#[$meaning])+ pub $name: u64,)+
        }

        impl $type {
            /// The counts since `before`.
            #[must_use]
            pub const fn since(&self, before: &Self) -> Self {
                Self { $($name: self.$name - before.$name,)+ }
            }

            /// The sum of these counts and others.
            #[must_use]
            pub const fn plus(&self, other: &Self) -> Self {
                Self { $($name: self.$name + other.$name,)+ }
            }
        }
    };
}

counters! {
    /// The counters of a sender.
    pub struct SenderCounters {
        /// Segments sent, including retransmissions, without those that only open the connection.
        segments,
        /// Their payload in bytes.
        bytes,
        /// Retransmitted segments with payload.
        retransmitted_segments,
        /// Their payload in bytes.
        retransmitted_bytes,
        /// How often the retransmission timer expired with data outstanding.
        timeouts,
        /// Losses found by duplicate acknowledgements or a fine-grained timeout, and answered.
        fast_retransmits,
        /// Reductions of the window that marks of queues caused (RFC 3168).
        mark_reductions,
        /// Acknowledgements received.
        acks,
        /// The acknowledgements among these that acknowledged nothing new while data was outstanding.
        duplicate_acks,
        /// Acknowledgements of data that was never sent; they are ignored.
        invalid_acks,
        /// Acknowledgements whose timestamp is older than the timestamp of one before; they are ignored (RFC 7323 §5.3
        /// R1).
        outdated_acks,
        /// Probes sent while frozen.
        probes,
        /// Probes of a closed window sent (RFC 9293 §3.8.6.1).
        window_probes,
        /// Probes of a connection without traffic sent (RFC 9293 §3.8.4).
        keep_alives,
        /// Tail loss probes sent (RFC 8985 §7).
        tail_loss_probes,
        /// Acknowledgements that report a duplicate by DSACK (RFC 2883): a retransmission was in vain, or the network
        /// made a copy.
        reported_duplicates,
        /// Samples of the round-trip time.
        rtt_samples,
        /// Notices of segments that a node could not forward.
        notices,
    }
}

impl SenderCounters {
    /// How often the window was reduced, for losses or for marks.
    #[must_use]
    pub const fn reductions(&self) -> u64 {
        self.timeouts + self.fast_retransmits + self.mark_reductions
    }
}

/// The counters of a receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReceiverCounters {
    /// Segments with payload that arrived.
    pub segments: u64,
    /// The segments among these whose whole payload had arrived before.
    pub duplicate_segments: u64,
    /// The segments among these that arrived ahead of a gap.
    pub out_of_order_segments: u64,
    /// Segments that acknowledge what this end has not sent: thrown away.
    pub invalid_acks: u64,
    /// Segments beyond the window that was announced: thrown away.
    pub beyond_window: u64,
    /// Segments whose timestamp is older than the timestamp of the segment accepted last: thrown away (RFC 7323 §5.3
    /// R1).
    pub outdated: u64,
    /// Bytes of payload that arrived for the first time.
    pub unique_bytes: u64,
    /// Bytes of payload delivered to the application in order.
    pub delivered_bytes: u64,
    /// Acknowledgements sent.
    pub acks: u64,
}
