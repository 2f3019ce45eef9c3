//! Errors of nodes with several radios (RFC 3561 §6.14).

use hopyard_engine::Span;

use super::super::message::{AodvMessage, RouteError};
use super::Rfc3561;
use crate::address::Address;
use crate::context::{Context, Origin};

impl Rfc3561 {
    /// Sends an error by those radios that have neighbours whom it concerns (§6.14). Returns whether it did: not where
    /// the node has one radio, or where everybody in reach is to be told.
    pub(super) fn send_error_by_each(
        &mut self,
        origin: Origin,
        error: &RouteError,
        recipients: &[Address],
        cx: &mut Context,
    ) -> bool {
        let radios = self.state.radios.interfaces();
        if radios.is_empty() || recipients.contains(&Address::BROADCAST) {
            return false;
        }
        for &interface in &radios {
            let mut here =
                recipients.iter().filter(|&&neighbour| self.state.radios.towards(neighbour, cx) == Some(interface));
            let message = AodvMessage::Error(error.clone());
            match (here.next().copied(), here.next()) {
                (None, _) => {}
                (Some(one), None) => self.state.send_as(origin, message, one, 1, Span::ZERO, cx),
                (Some(_), Some(_)) => self.state.send_by(origin, message, interface, cx),
            }
        }
        true
    }
}
