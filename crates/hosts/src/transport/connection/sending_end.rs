//! The trait of the two TCP senders, the plain one and Linux's.

use auto_impl::auto_impl;
use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::core::Core;
use super::peer::{Peer, Stage};
use crate::packet::TcpHeader;
use crate::transport::congestion::Controller;
use crate::transport::notice::NetworkEvent;

/// The parts of a sender that the two senders have in common.
pub(crate) struct Parts<'a> {
    pub core: &'a Core,
    pub control: &'a Controller,
    pub peer: &'a Peer,
    pub stage: Stage,
    /// Whether the receiver must report segments out of order by SACK.
    pub wants_sack: bool,
}

/// A sender of one direction of a connection. [`TcpSender`](crate::transport::tcp::TcpSender) describes each event.
#[enum_dispatch]
#[auto_impl(Box)]
pub(crate) trait SendingEnd {
    fn parts(&self) -> Parts<'_>;
    fn parts_mut(&mut self) -> (&mut Core, &mut Controller, &mut Peer);
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
