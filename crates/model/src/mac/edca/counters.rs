//! The counters of a station's EDCA.

use crate::mac::counters::counters;

counters! {
    /// Counters of a station's EDCA.
    pub struct Counters {
        /// RTS frames sent.
        rts: "frames",
        /// CTS frames sent.
        cts: "frames",
        /// ACK frames sent.
        acks: "frames",
        /// RTS frames without a CTS in reply.
        rts_failures: "frames",
        /// Unicast data frames without an ACK in reply.
        ack_failures: "frames",
        /// Packets that the MAC dropped at the retry limit.
        given_up: "packets",
        /// Unicast data frames received more than once.
        duplicates: "frames",
        /// Times that two categories of the station were about to send at once.
        internal_collisions: "times",
        /// Block acknowledgements sent.
        block_acks: "frames",
        /// Requests for block acknowledgements sent.
        block_ack_requests: "frames",
        /// Frames sent with more than one MPDU.
        aggregates: "frames",
        /// MPDUs in frames with more than one, retries included.
        mpdus: "MPDUs",
        /// MPDUs in frames with more than one that were sent before.
        mpdus_again: "MPDUs",
        /// Times that a gap in the sequence of received MPDUs was skipped after the reorder timeout.
        reorder_timeouts: "times",
    }
}
