//! The counters of a station's DCF.

use crate::mac::counters::counters;

counters! {
    /// Counters of a station's DCF.
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
    }
}
