//! The tries of a packet, or of an aggregate.

use hopyard_engine::Time;

use super::Rates;
use super::control::{Choice, Outcome, Tries};
use crate::address::InterfaceId;

/// The answer to the last frame of the tries.
#[derive(Clone, Copy, Debug)]
pub struct Answered {
    /// MPDUs in the frame.
    pub sent: u32,
    /// MPDUs that have arrived.
    pub delivered: u32,
    /// The ratio of signal to noise at the receiver.
    pub ratio: f32,
}

/// The frames in which a station has sent a packet or an aggregate so far, and the mode of the next one.
#[derive(Clone, Debug)]
pub struct Attempt {
    to: InterfaceId,
    tries: Tries,
    choice: Option<Choice>,
    /// MPDUs in the last frame.
    mpdus: u32,
}

impl Attempt {
    /// No frame.
    pub const NONE: Self =
        Self { to: InterfaceId::BROADCAST, tries: Tries { used: Vec::new(), probe: false }, choice: None, mpdus: 0 };

    /// The choice for the next frame, if there is a packet.
    pub const fn choice(&self) -> Option<Choice> {
        self.choice
    }

    /// Whether the frames are a probe, so that they have one MPDU.
    pub fn is_probe(&self) -> bool {
        self.tries.probe || self.choice.is_some_and(|it| it.probe)
    }

    /// Another packet to a neighbour: the choice for its first frame.
    pub fn begin(&mut self, rates: &mut Rates, to: InterfaceId, now: Time) -> Option<Choice> {
        self.tries.clear();
        self.to = to;
        self.choice = rates.choose(to, &self.tries, now);
        self.choice
    }

    /// A frame with so many MPDUs failed. Returns the choice for the next one; nothing if there is none, because the
    /// retry limit says so, or rate control.
    pub fn fail(&mut self, rates: &mut Rates, mpdus: u32, is_at_limit: bool, now: Time) -> Option<Choice> {
        if let Some(choice) = self.choice {
            self.tries.add(&choice, mpdus);
            self.mpdus = mpdus;
        }
        let goes_on = !is_at_limit || rates.gives_up();
        self.choice = if goes_on { rates.choose(self.to, &self.tries, now) } else { None };
        self.choice
    }

    /// The last frame was answered, or the packet is given up. Returns the neighbour if the mode of its link changes.
    pub fn end(&mut self, rates: &mut Rates, answered: Option<Answered>, now: Time) -> Option<InterfaceId> {
        if let (Some(choice), Some(answered)) = (self.choice.take(), answered) {
            self.tries.add(&choice, answered.sent);
            self.mpdus = answered.sent;
        }
        let outcome = Outcome {
            tries: &self.tries,
            acknowledged: answered.is_some(),
            sent: self.mpdus,
            delivered: answered.map_or(0, |it| it.delivered),
            ratio: answered.map(|it| it.ratio.into()),
        };
        // A packet whose announcements all failed says nothing of a mode.
        let changes = !self.tries.used.is_empty() && rates.report(self.to, &outcome, now);
        changes.then_some(self.to)
    }
}
