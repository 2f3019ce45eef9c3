//! Nodes that only radiate, at the times that the scenario gives.
//!
//! What such a node radiates is divided into pieces without a gap, so that its power at receivers follows their
//! movement and fading.

use hopyard_engine::{Span, Time};

use super::World;
use super::spec::JammerSpec;
use crate::channel::ChannelId;
use crate::clock::Event;
use crate::node::Attachment;
use crate::observe::Probe;
use crate::order;

/// The longest piece.
const PIECE: Span = Span::from_millis(10);

/// A node that only radiates.
#[derive(Clone, Debug)]
pub(super) struct Jammer {
    spec: JammerSpec,
    channel: ChannelId,
    station: usize,
    /// When the present period, or the first one, begins.
    begins: Time,
}

impl Jammer {
    /// The length of the piece that begins now, and when the next one begins.
    fn piece(&mut self, now: Time) -> (Span, Time) {
        let JammerSpec { period, on, until, .. } = self.spec;
        let end = (self.begins + on).min(until);
        let length = PIECE.min(end.since(now));
        if now + length < end {
            return (length, now + length);
        }
        self.begins += period;
        (length, self.begins)
    }
}

impl<P: Probe> World<P> {
    /// Schedules the first piece of each node that only radiates.
    pub(super) fn plan_jammers(&mut self, jammers: &[JammerSpec]) {
        for spec in jammers {
            let interfaces = self.nodes[spec.node.index()].interfaces();
            let place = interfaces.into_iter().find_map(|it| match self.topology.attachment(it) {
                Attachment::Radio { channel, station } if channel.0 == spec.channel => Some((channel, station)),
                _ => None,
            });
            if let Some((channel, station)) = place {
                let (spec, station, begins) = (spec.clone(), station as usize, spec.from);
                self.jammers.push(Jammer { spec, channel, station, begins });
                self.schedule_piece(self.jammers.len() - 1, begins);
            }
        }
    }

    fn schedule_piece(&mut self, place: usize, at: Time) {
        let JammerSpec { node, until, .. } = self.jammers[place].spec;
        if at < until.min(self.clock.end) {
            self.clock.queue.push(at, order::jam(node.0), Event::Jam(place as u32));
        }
    }

    /// A node radiates a piece.
    #[cold]
    pub(super) fn radiate(&mut self, place: u32) {
        let jammer = &mut self.jammers[place as usize];
        let (length, next) = jammer.piece(self.cx.now);
        let (channel, station, node) = (jammer.channel, jammer.station, jammer.spec.node);
        if self.energy.is_dead(node) {
            return;
        }
        let (channels, around) = self.split();
        channels[channel.index()].radiate(station, length, around);
        self.schedule_piece(place as usize, next);
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
        assert_eq!(pieces(15, 15, 131), [(100, 10), (110, 5), (115, 10), (125, 5), (130, 1)]);
        assert_eq!(pieces(4, 1, 109), [(100, 1), (104, 1), (108, 1)]);
    }
}
