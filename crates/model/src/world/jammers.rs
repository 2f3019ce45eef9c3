//! Nodes that only radiate: what they radiate next.

use hopyard_engine::{Span, Time};

use super::spec::JammerSpec;
use crate::channel::ChannelId;

/// The longest piece.
const PIECE: Span = Span::from_millis(10);

/// A node that only radiates.
#[derive(Clone, Debug)]
pub(super) struct Jammer {
    pub spec: JammerSpec,
    pub channel: ChannelId,
    pub station: usize,
    /// When the present period, or the first one, begins.
    pub begins: Time,
}

impl Jammer {
    /// The length of the piece that begins now, and when the next one begins.
    pub fn piece(&mut self, now: Time) -> (Span, Time) {
        let JammerSpec { period, on, until, .. } = self.spec;
        // Without a pause, periods decide nothing.
        let end = if on < period { (self.begins + on).min(until) } else { until };
        let length = PIECE.min(end.since(now));
        if now + length < end {
            return (length, now + length);
        }
        self.begins += period;
        (length, if on < period { self.begins } else { until })
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::units::Power;

    use super::*;
    use crate::address::NodeId;

    fn pieces(period: u64, on: u64, until: u64) -> Vec<(u64, u64)> {
        let at = |ms: u64| Time::ZERO + Span::from_millis(ms);
        let spec = JammerSpec {
            node: NodeId(0),
            channel: 0,
            power: Power::from_watts(1.0),
            from: at(100),
            until: at(until),
            period: Span::from_millis(period),
            on: Span::from_millis(on),
        };
        let mut jammer = Jammer { begins: spec.from, spec, channel: ChannelId(0), station: 0 };
        let (mut now, mut found) = (at(100), Vec::new());
        while now < at(until) {
            let (length, next) = jammer.piece(now);
            found.push((now.nanos() / 1_000_000, length.nanos() / 1_000_000));
            now = next;
        }
        found
    }

    #[test]
    fn a_part_of_each_period_is_radiated_without_a_gap() {
        assert_eq!(pieces(50, 25, 210), [(100, 10), (110, 10), (120, 5), (150, 10), (160, 10), (170, 5), (200, 10)]);
        assert_eq!(pieces(15, 15, 131), [(100, 10), (110, 10), (120, 10), (130, 1)]);
        assert_eq!(pieces(7, 7, 131), pieces(15, 15, 131));
        assert_eq!(pieces(4, 1, 109), [(100, 1), (104, 1), (108, 1)]);
    }
}
