//! Proportional rate reduction: how many segments each acknowledgement of a recovery allows (RFC 9937, which replaces
//! RFC 6937).
//!
//! While the pipe is larger than the new window, the sender sends in the proportion of the new window to the old one.
//! This spreads the reduction over a round trip. RFC 6675 alone waits for half a round trip and then sends at the full
//! rate. When losses made the pipe smaller than the new window, the sender sends as many segments as were delivered. It
//! sends one more for an acknowledgement that advances SND.UNA and reports no further loss (the slow start bound).
//! Read: RFC 6937; the rule that chooses between its two bounds, and the definition of the flight at entry, from the
//! drafts of RFC 9937 (draft-ietf-tcpm-prr-rfc6937bis). All quantities are in segments.

use crate::transport::connection::Core;

/// Proportional rate reduction in one recovery.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    /// The window at the end of the recovery.
    target: f64,
    /// RecoverFS: the data in flight when the recovery began.
    flight: f64,
    /// Delivered since the start.
    delivered: f64,
    /// Sent since the start.
    out: f64,
    /// The segments that may be sent on this event.
    budget: f64,
}

impl Prr {
    /// A recovery begins with `flight` segments in flight, and ends with a window of `target`.
    pub fn new(target: f64, flight: f64) -> Self {
        Self { target, flight: flight.max(1.0), delivered: 0.0, out: 0.0, budget: 0.0 }
    }

    /// `delivered` segments were delivered, and `pipe` is in the network now. `safe` means that the acknowledgement
    /// advances SND.UNA and reports no further loss. Returns what may be sent.
    pub fn on_delivered(&mut self, delivered: f64, pipe: f64, safe: bool) -> f64 {
        self.delivered += delivered;
        let due = if pipe > self.target {
            libm::ceil(self.delivered * self.target / self.flight) - self.out
        } else {
            let bound = (self.delivered - self.out).max(delivered) + if safe { 1.0 } else { 0.0 };
            bound.min(self.target - pipe)
        };
        // A recovery begins with a retransmission.
        self.budget = due.max(if self.out == 0.0 { 1.0 } else { 0.0 });
        self.budget
    }

    /// Allows the segments of an event that has delivered `delivered` bytes, by means of the window.
    pub fn reduce(&mut self, core: &mut Core, delivered: u64, safe: bool) {
        let pipe = core.in_network();
        core.cwnd = pipe + self.on_delivered(core.segments(delivered), pipe, safe);
    }

    /// Whether a segment may be sent.
    pub fn has_room(&self) -> bool {
        self.budget >= 1.0
    }

    /// A segment was sent.
    pub fn on_sent(&mut self) {
        self.out += 1.0;
        self.budget -= 1.0;
    }

    /// The window at the end of the recovery.
    pub const fn target(&self) -> f64 {
        self.target
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many segments each acknowledgement allows, as in RFC 6937 §3.1: "." for nothing, else how many.
    fn sent(prr: &mut Prr, pipe: &mut f64, acks: usize) -> String {
        let mut line = String::new();
        for _ in 0..acks {
            *pipe -= 1.0;
            prr.on_delivered(1.0, *pipe, false);
            let mut count = 0;
            while prr.has_room() {
                prr.on_sent();
                *pipe += 1.0;
                count += 1;
            }
            line.push_str(&if count == 0 { ".".to_owned() } else { count.to_string() });
        }
        line
    }

    #[test]
    fn one_loss_halves_over_a_round_trip() {
        // As in RFC 6937 §3.1: a window of 20, of which the first is lost. The third report of SACK begins the
        // recovery: two new segments were let out, the lost one has left, and so have those reported.
        let mut prr = Prr::new(10.0, 20.0);
        let mut pipe = 19.0;
        assert_eq!(sent(&mut prr, &mut pipe, 17), "1.1.1.1.1.1.1.1..");
        assert_eq!(pipe, 10.0);
    }

    #[test]
    fn heavy_losses_are_made_up_for_with_each_delivery() {
        // RFC 6937 §3.1: 15 of 20 are lost; five acknowledgements come.
        let mut prr = Prr::new(10.0, 20.0);
        let mut pipe = 5.0;
        assert_eq!(sent(&mut prr, &mut pipe, 3), "111", "as many as are delivered");
        prr.on_delivered(1.0, 3.0, true);
        assert_eq!(prr.budget, 2.0, "and one more while it goes well");
    }

    #[test]
    fn never_more_than_the_target_is_in_the_network() {
        let mut prr = Prr::new(10.0, 20.0);
        assert_eq!(prr.on_delivered(8.0, 9.0, true), 1.0);
        prr.on_sent();
        assert_eq!(prr.on_delivered(1.0, 10.0, true), 0.0);
    }
}
