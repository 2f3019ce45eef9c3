//! The modes that a rate control may use.

use std::collections::BTreeMap;

use crate::phy::Mode;

/// The modes that a station of a channel can use towards its neighbours.
#[derive(Clone, Debug)]
pub struct Candidates {
    /// The mode that the parameter `rate` of the MAC names. All others have its format or an older one, and at most as
    /// many streams.
    pub usual: &'static Mode,
    /// All modes, in the order of the table.
    pub modes: Vec<&'static Mode>,
    /// The ratio of signal to noise, in the band of [`Candidates::usual`], below which radios do not decode a mode, by
    /// the row of the mode. Modes that reach as far as any other have none.
    pub floors: BTreeMap<u16, f64>,
}

impl Candidates {
    /// A choice that leaves out all but one mode.
    #[must_use]
    pub fn only(usual: &'static Mode) -> Self {
        Self { usual, modes: vec![usual], floors: BTreeMap::new() }
    }

    /// The modes in order of rate, for rate controls that go up and down by one step. In HT and VHT they have the
    /// bandwidth, guard interval and streams of [`Candidates::usual`], so that each step needs a better link.
    #[must_use]
    pub fn ladder(&self) -> Vec<&'static Mode> {
        let channel = |mode: &Mode| (mode.body.bandwidth, mode.guard, mode.body.streams);
        let is_step = |mode: &&Mode| mode.is_legacy() || channel(mode) == channel(self.usual);
        let mut steps: Vec<&Mode> = self.modes.iter().copied().filter(is_step).collect();
        steps.sort_by_key(|mode| mode.rate());
        steps
    }
}
