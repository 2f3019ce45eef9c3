//! The recording of a run in steps, so that it can be looked at.

use std::any::Any;

use hopyard_engine::Time;
use hopyard_model::observe::replay::{Lengths, Origin, Replay};
use hopyard_model::observe::{Outcome, Probe, Probes};
use hopyard_model::world::{Advanced, Spec, Watch};

use crate::network::Network;

/// The most rows of a table of a recording, if it is wanted; and the probe that goes with it.
pub fn probe(spec: &Spec, most: Option<usize>) -> Option<Box<dyn Probe + Send>> {
    most.map(|most| Box::new(Replay::new(spec.scene(), most)) as Box<dyn Probe + Send>)
}

/// Goes on with a run up to a time, and samples the lengths of queues on the way.
pub fn advance(lengths: &mut Lengths, network: &mut Network, until: Time, watch: &Watch) -> Result<Advanced, String> {
    loop {
        let next = lengths.due().min(until);
        let advanced = network.advance(next, watch)?;
        if advanced == Advanced::Reached && next == lengths.due() {
            lengths.note(|interface| network.world().waiting(interface));
        }
        if advanced != Advanced::Reached || next == until {
            return Ok(advanced);
        }
    }
}

/// A recording of a run that has ended.
pub struct Recording {
    replay: Replay,
    lengths: Lengths,
    ranges: Vec<Option<f64>>,
    digest: u64,
}

impl Recording {
    /// The recording among the probes of a run, if it is there.
    pub fn of(probes: Probes, lengths: Lengths, ranges: Vec<Option<f64>>, outcome: &Outcome) -> Option<Self> {
        let mut found = probes.into_iter().filter_map(|probe| (probe as Box<dyn Any>).downcast::<Replay>().ok());
        found.next().map(|replay| Self { replay: *replay, lengths, ranges, digest: outcome.digest })
    }

    /// The recording as bytes.
    pub fn finish(self, origin: Origin) -> std::io::Result<Vec<u8>> {
        let digest = format!("{:016x}", self.digest);
        self.replay.finish(&Origin { digest, ..origin }, &self.ranges, self.lengths)
    }
}
