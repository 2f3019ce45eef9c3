//! The trait of every rate control, with its arguments and answers.

use std::fmt::Debug;

use hopyard_engine::units::Rate;
use hopyard_engine::{Rng, Time};

use super::candidates::Candidates;
use crate::params::Params;
use crate::phy::Mode;

/// The mode of the next frame with a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The mode.
    pub mode: &'static Mode,
    /// Whether an RTS must announce the frame, whatever its size.
    pub announced: bool,
    /// Whether the frame probes a mode that is not in use. Such a frame is not aggregated.
    pub probe: bool,
}

impl Choice {
    /// A mode for a frame that is announced only if its size says so.
    #[must_use]
    pub const fn of(mode: &'static Mode) -> Self {
        Self { mode, announced: false, probe: false }
    }
}

/// Frames in one mode, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Used {
    /// The mode.
    pub mode: &'static Mode,
    /// Their number.
    pub frames: u32,
    /// The number of their MPDUs, each counted with every frame.
    pub mpdus: u32,
}

/// The frames in which a station has sent a packet, or an aggregate, so far.
#[derive(Clone, Debug, Default)]
pub struct Tries {
    /// The frames, in order.
    pub used: Vec<Used>,
    /// Whether the first frame was a probe.
    pub probe: bool,
}

impl Tries {
    /// The number of frames.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.used.iter().map(|used| used.frames).sum()
    }

    /// A frame with so many MPDUs was sent.
    pub fn add(&mut self, choice: &Choice, mpdus: u32) {
        self.probe |= choice.probe;
        match self.used.last_mut() {
            Some(used) if used.mode.row == choice.mode.row => {
                (used.frames, used.mpdus) = (used.frames + 1, used.mpdus + mpdus)
            }
            _ => self.used.push(Used { mode: choice.mode, frames: 1, mpdus }),
        }
    }

    /// The next packet has no frame yet.
    pub fn clear(&mut self) {
        self.used.clear();
        self.probe = false;
    }
}

/// The end of the tries: the last frame was acknowledged, or the packet was given up.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<'a> {
    /// The frames. There is at least one.
    pub tries: &'a Tries,
    /// Whether the last frame was acknowledged.
    pub acknowledged: bool,
    /// The number of MPDUs in the last frame.
    pub sent: u32,
    /// The number of MPDUs that the last acknowledgement has named.
    pub delivered: u32,
    /// The ratio of signal to noise at the receiver of the last frame, in the bandwidth of [`Candidates::usual`].
    /// Nothing if no answer came.
    pub ratio: Option<f64>,
}

impl Outcome<'_> {
    /// Whether the last frame counts as a success where frames are not divided: at least half of it has arrived.
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        self.acknowledged && 2 * self.delivered >= self.sent
    }

    /// How many frames have failed.
    #[must_use]
    pub fn failed(&self) -> u32 {
        self.tries.count() - u32::from(self.succeeded())
    }
}

/// The belief of a rate control about a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Belief {
    /// The mode of the first frame with a packet that is no probe.
    pub mode: &'static Mode,
    /// The probability that a frame in this mode is acknowledged, if the rate control estimates it.
    pub probability: Option<f64>,
    /// The throughput of this mode, if the rate control estimates it.
    pub throughput: Option<Rate>,
}

impl Belief {
    /// The belief that names a mode alone.
    #[must_use]
    pub const fn of(mode: &'static Mode) -> Self {
        Self { mode, probability: None, throughput: None }
    }
}

/// The rate control of one link, from a station to a neighbour.
pub trait RateControl: Clone + Debug {
    /// Its parameters.
    type Params: Params;
    /// The state that the links of all stations of a channel share.
    type Shared: Clone + Debug;

    /// Whether the rate control says when a packet is given up. Otherwise the retry limits of the MAC do.
    const GIVES_UP: bool = false;

    /// The state that all links share. There is a source of draws for each station.
    fn share(params: &Self::Params, candidates: &Candidates, draws: Vec<Rng>) -> Self::Shared;

    /// A new link, from a station to a neighbour to which it has sent nothing.
    fn new(station: usize, now: Time, shared: &Self::Shared) -> Self;

    /// The mode of the next frame after these tries, or nothing if the packet must be given up. The MAC asks once for
    /// each frame.
    fn choose(&mut self, tries: &Tries, now: Time, shared: &Self::Shared) -> Option<Choice>;

    /// A packet has been acknowledged or given up.
    fn report(&mut self, outcome: &Outcome<'_>, now: Time, shared: &Self::Shared);

    /// The belief about the link.
    fn belief(&self, shared: &Self::Shared) -> Belief;
}
