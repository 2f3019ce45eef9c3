//! Stations that only radiate.
//!
//! Such a station disturbs what others receive, and their carrier sense finds the medium busy. Nobody decodes what it
//! radiates, and it hears nothing itself. Its MAC has nothing to do.

use hopyard_engine::Span;

use super::energy::{FrameClass, Meter as _};
use super::{Channel, Scheduled, Surroundings};
use crate::address::InterfaceId;
use crate::mac::Slotted;
use crate::observe::Probe;
use crate::phy::frame::Frame;

impl<M: Slotted> Channel<M> {
    /// A station radiates for so long, unless its radio is off or asleep.
    pub fn radiate<E: From<Scheduled> + Copy, P: Probe>(
        &mut self,
        station: usize,
        length: Span,
        around: Surroundings<'_, E, P>,
    ) {
        let Surroundings { queue, cx, exact, .. } = around;
        if !self.is_awake(station, cx.now) {
            return;
        }
        if let Some(gauge) = &mut self.gauge {
            if gauge.is_watched(station) {
                queue.set(gauge.timer(station), cx.now);
            }
            gauge.on_send(station, FrameClass::MAC, length, cx.now);
        }
        let frame = Frame {
            transmitter: self.interfaces[station],
            receiver: InterfaceId::BROADCAST,
            airtime: length,
            bytes: 0,
            preamble: Span::ZERO,
            mode: self.mode,
            packet: None,
            kept: false,
            control: M::Control::default(),
        };
        cx.digest.fold(cx.now.nanos() ^ u64::from(frame.transmitter.0) << 44 ^ length.nanos());
        if let Some(first) = self.medium.radiate(station, frame, cx.now) {
            self.schedule(first, exact, queue);
        }
    }
}
