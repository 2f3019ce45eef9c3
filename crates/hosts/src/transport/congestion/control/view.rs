//! The information that a congestion control has of its connection.

use hopyard_engine::units::Rate;
use hopyard_engine::{Span, Time};

/// The information about its connection that a variant has at an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct View {
    /// The time.
    pub now: Time,
    /// The congestion window in segments, without the inflation for duplicate acknowledgements.
    pub cwnd: f64,
    /// The slow start threshold in segments.
    pub ssthresh: f64,
    /// The inflation of the window for duplicate acknowledgements, in segments.
    pub inflation: f64,
    /// The receiver's window in segments.
    pub advertised: f64,
    /// Sent and not acknowledged (RFC 5681's FlightSize), in segments, without those of limited transmit.
    pub flight: f64,
    /// The estimated number of segments in the network (RFC 6675's pipe). It is `flight` without the segments that SACK
    /// reported or that are marked as lost, but with the retransmitted ones among these. The same as `flight` where
    /// recovery keeps no scoreboard.
    pub pipe: f64,
    /// Whether losses are being repaired without a timeout: from after `on_loss` to `on_recovered`, in which it still
    /// holds.
    pub recovering: bool,
    /// Deemed lost so far, in segments: each transmission counts once, those that a timeout gives up included.
    pub lost: f64,
    /// Whether all that the application has written was sent.
    pub app_limited: bool,
    /// Payload of a full segment in bytes.
    pub segment: u32,
    /// The first sequence number not acknowledged.
    pub una: u64,
    /// The sequence number sent next in the ordinary course: below `max` while going back after a timeout.
    pub next: u64,
    /// The first sequence number never sent.
    pub max: u64,
    /// Duplicate acknowledgements in a row, this one included.
    pub duplicates: u32,
    /// Duplicate acknowledgements that mean a loss.
    pub duplicate_threshold: u32,
    /// The smoothed round trip, after the first sample.
    pub srtt: Option<Span>,
    /// The retransmission timeout.
    pub rto: Span,
    /// Which hop count the network layer reported last; 0 when it did not.
    pub hops: u8,
    /// The number of hops of the latest acknowledgement; 0 before the first.
    pub ack_hops: u8,
    /// The rate of data frames on the first link of the way, as rate control last changed it, if it is known.
    pub link_rate: Option<Rate>,
}

impl View {
    /// The segments that the sender may have outstanding: the congestion window as inflated, or the receiver's window.
    #[must_use]
    pub fn usable(&self) -> f64 {
        (self.cwnd + self.inflation).min(self.advertised)
    }
}
