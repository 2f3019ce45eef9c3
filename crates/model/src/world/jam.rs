//! Nodes that only radiate, at the times that the scenario gives.
//!
//! What such a node radiates is divided into pieces without a gap, so that its power at receivers follows their
//! movement and fading.

use hopyard_engine::Time;

use super::World;
use super::jammers::Jammer;
use super::spec::JammerSpec;
use crate::clock::Event;
use crate::node::Attachment;
use crate::observe::Probe;
use crate::order;

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
