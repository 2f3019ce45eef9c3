//! The scene of a run, which depends on the scenario and the seed alone: movement, obstacles, jammers.

use hopyard_engine::{Span, Streams, Time};

use super::spec::{NodeSpec, Spec};
use crate::address::NodeId;
use crate::mobility::{self, Leg, Mobility as _};
use crate::observe::replay::{Jammer, Obstacle, Scene, micros};

/// The lengths of queues are sampled so many times in a run, with fewer samples where there are many queues.
const SAMPLES: u64 = 2_000;

/// The most samples of lengths of all queues together.
const MOST_LENGTHS: u64 = 20_000_000;

impl Spec {
    /// The scene, for a replay of the run.
    #[must_use]
    pub fn scene(&self) -> Scene {
        let obstacles = self.obstacles.iter().map(|it| {
            let (low, high) = it.corners();
            Obstacle { low: [low.x, low.y], high: [high.x, high.y] }
        });
        let jammers = self.jammers.iter().map(|it| Jammer {
            node: it.node.0,
            from: micros(it.from),
            until: micros(it.until.min(Time::ZERO + self.duration)),
            period: micros(Time::ZERO + it.period),
            on: micros(Time::ZERO + it.on),
        });
        Scene {
            duration: self.duration,
            nodes: self.nodes.len(),
            legs: self.legs(),
            obstacles: obstacles.collect(),
            jammers: jammers.collect(),
        }
    }

    /// The time from sample to sample of the lengths of queues, for a replay of the run.
    #[must_use]
    pub fn sampling_of_queues(&self) -> Span {
        let queues = (self.nodes.len() + 2 * self.wires.len()).max(1) as u64;
        let samples = (MOST_LENGTHS / queues).clamp(1, SAMPLES);
        Span::from_nanos((self.duration.nanos() / samples).max(1))
    }

    /// The legs of each node with a radio up to the end of the run. A node whose movement cannot be built has none: the
    /// world is not built either then.
    fn legs(&self) -> Vec<(NodeId, Leg)> {
        let end = Time::ZERO + self.duration;
        let places: Vec<_> = self.nodes.iter().map(NodeSpec::movement).collect();
        let places = mobility::Nodes::new(&places, Streams::new(self.seed, self.run));
        let mut legs = Vec::new();
        for (number, node) in self.nodes.iter().enumerate().filter(|(_, node)| !node.radios.is_empty()) {
            let node_id = NodeId(number as u32);
            let Ok(mut mobility) = node.mobility.build(node_id, &places) else { continue };
            let mut from = None;
            while from.is_none_or(|from| from < end) {
                let leg = mobility.next_leg();
                legs.push((node_id, leg));
                from = Some(leg.until);
            }
        }
        legs
    }
}
