//! The trait of the two TCP receivers, the plain one and Linux's.

use auto_impl::auto_impl;
use enum_dispatch::enum_dispatch;
use hopyard_engine::Time;

use super::intake::Intake;
use crate::packet::TcpHeader;
use crate::transport::acking::Reading;

/// The part of a receiver in which the two differ. It works on the state that they share.
#[enum_dispatch]
#[auto_impl(Box)]
pub(crate) trait ReceivingEnd {
    fn on_segment(&mut self, tcp: &mut Intake, header: &TcpHeader, now: Time);

    /// The application reads what it can.
    fn read(&mut self, tcp: &Intake, now: Time) -> Reading;

    /// The header of a segment that acknowledges what arrived.
    fn header(&mut self, tcp: &mut Intake, now: Time) -> TcpHeader;

    /// The deadline of this part may be reached.
    fn on_timer(&mut self, tcp: &mut Intake, now: Time);
    fn deadline(&self) -> Time;
}
