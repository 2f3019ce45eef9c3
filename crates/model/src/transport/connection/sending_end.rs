//! The seam of the two senders: the plain one and Linux's.

use auto_impl::auto_impl;
use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::core::Core;
use super::peer::{Peer, Stage};
use crate::packet::TcpHeader;
use crate::transport::congestion::Controller;
use crate::transport::notice::NetworkEvent;

/// A sending end. The documentation of each function is at [`TcpSender`](crate::transport::tcp::TcpSender).
#[enum_dispatch]
#[auto_impl(Box)]
pub(crate) trait SendingEnd {
    fn core(&self) -> &Core;
    fn core_mut(&mut self) -> &mut Core;
    fn control(&self) -> &Controller;
    fn control_mut(&mut self) -> &mut Controller;
    fn stage(&self) -> Stage;
    fn peer(&self) -> &Peer;
    fn wants_sack(&self) -> bool;

    fn reordering(&self) -> Option<u32> {
        None
    }

    /// Whether the application has written everything that it wanted to.
    fn has_written_all(&self) -> bool {
        true
    }

    fn limits_queue(&self) -> bool {
        false
    }

    fn on_queued(&mut self, _seq: u64, _len: u64) {}

    fn on_left_node(&mut self, _seq: u64, _now: Time) -> bool {
        false
    }

    fn accept(&mut self, now: Time);
    fn write(&mut self, bytes: u64, now: Time);
    fn stop(&mut self, now: Time);
    fn close(&mut self, now: Time);
    fn on_segment(&mut self, header: &TcpHeader, now: Time);
    fn on_network(&mut self, event: NetworkEvent, now: Time);
    fn on_timer(&mut self, now: Time);
    fn deadline(&self) -> Time;
    fn poll_transmit(&mut self, now: Time) -> Option<TcpHeader>;
}
