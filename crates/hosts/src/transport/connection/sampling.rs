//! Samples of the delivery rate, for a congestion control that asks for them.

use hopyard_engine::Time;

use super::core::Core;
use super::rate::RateSampler;
use crate::packet::TcpHeader;
use crate::transport::congestion::RateSample;

impl Core {
    /// Starts to sample the delivery rate. `each`: as in Linux, where each segment counts for so many bytes.
    pub(crate) fn sample_rate(&mut self, each: Option<u32>) {
        self.sampler = Some(Box::new(RateSampler::new(each)));
    }

    /// Takes the delivery rate sample of an acknowledgement, before the acknowledgement changes any other state.
    /// It reports duplicates of `spurious` bytes besides, which count as delivered.
    #[inline]
    pub(crate) fn measure_rate(&mut self, header: &TcpHeader, spurious: u64) {
        if self.sampler.is_none() {
            return;
        }
        let pipe = self.in_network();
        if let Some(sampler) = &mut self.sampler {
            self.rate = Some(sampler.on_acknowledgement(&self.board, header, pipe, spurious, self.now));
        }
    }

    /// Records for the delivery rate that the segment at `index`, or a new one after the last, is sent at a time.
    #[inline]
    pub(crate) fn stamp(&mut self, index: usize, now: Time) {
        if self.sampler.is_none() {
            return;
        }
        let (pipe, lost) = (self.in_network() + 1.0, self.segments(self.lost));
        if let Some(sampler) = &mut self.sampler {
            sampler.on_sent(index, self.board.is_empty(), (pipe, lost), now);
        }
    }

    /// The sample for the congestion control.
    #[inline]
    pub(super) fn rate(&mut self) -> Option<RateSample> {
        let mut sample = self.rate.take()?;
        let sampler = self.sampler.as_mut()?;
        (sample.newly_lost, sample.lost_segment) = sampler.take_losses(self.lost);
        // In Linux the shortest round trip is that of the whole connection, with that of the opening.
        if sampler.is_coarse()
            && let Some(shortest) = self.min_rtt
            && sample.interval.is_some_and(|it| it.nanos() / 1000 < shortest.nanos() / 1000)
        {
            sample.interval = None;
        }
        Some(sample)
    }

    /// Marks rate samples as limited by the application while the application or the congestion control sends less than
    /// it could.
    #[inline]
    pub(crate) fn mark_app_limited(&mut self) {
        let pipe = self.in_network();
        if let Some(sampler) = &mut self.sampler {
            sampler.mark_app_limited((pipe * f64::from(self.mss)) as u64);
        }
    }

    /// Whether rate samples of data sent now count as limited by the application.
    pub(crate) fn is_app_limited(&self) -> bool {
        self.sampler.as_ref().is_some_and(|sampler| sampler.is_app_limited())
    }

    /// Called when nothing more is sent on this event: checks whether the reason is a lack of data (§3.4 of the draft
    /// that `rate.rs` names).
    #[inline]
    pub(crate) fn note_silence(&mut self) {
        if self.sampler.is_some()
            && self.new_payload() == 0
            && self.board.next() >= self.board.len()
            && self.board.lost() == 0
            && self.in_network() < self.cwnd
        {
            self.mark_app_limited();
        }
    }
}
