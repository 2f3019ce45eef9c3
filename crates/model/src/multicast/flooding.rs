//! The parts that all kinds of flooding share: parameters, duplicate detection, identifications and jitter.

use hopyard_engine::{Rng, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::duplicates::{By, Duplicates};
use crate::context::Context;
use crate::packet::{Body, Packet, PacketId};
use crate::params::{self, Fault};

/// Parameters of flooding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// How a node knows a datagram that it has heard before (RFC 6621 §6): "hash" or "identification".
    pub duplicates: By,
    /// How long a node remembers a datagram that it has heard. A copy that comes later counts as new.
    pub hold: Span,
    /// The longest time that a node waits, at random, before it sends a datagram on (RFC 5148 §5.3). Neighbours that
    /// heard the same datagram would otherwise send at one instant.
    pub jitter: Span,
}

impl params::Params for Params {
    fn of_profile(_profile: &str) -> Self {
        Self { duplicates: By::Hash, hold: Span::from_secs(10), jitter: Span::from_millis(10) }
    }

    fn check(&self) -> Result<(), Fault> {
        // A copy comes back when the neighbours have waited, and each has had its turn on the air.
        let least = (self.jitter * 10).max(Span::from_millis(100));
        if self.hold < least {
            let problem = format!(
                "expected at least 100 ms and ten times `jitter`, {least}: a node would send its neighbours' copies again; \
                 found {}",
                self.hold
            );
            return Err(Fault::new("hold", problem));
        }
        Ok(())
    }
}

/// Flooding at one node.
#[derive(Clone, Debug)]
pub struct Flooding {
    duplicates: Duplicates,
    jitter: Span,
    rng: Rng,
    /// The identification of the node's next datagram, if it numbers them.
    next: Option<u16>,
}

impl Flooding {
    /// Flooding at a node that has heard nothing.
    #[must_use]
    pub fn new(params: &Params, rng: Rng) -> Self {
        let Params { duplicates: by, hold, jitter } = *params;
        Self { duplicates: Duplicates::new(by, hold), jitter, rng, next: (by == By::Identification).then_some(0) }
    }

    /// Numbers a datagram of the node's own, and notes it, so that the copies of neighbours are none.
    pub fn originate(&mut self, packet: PacketId, cx: &mut Context) {
        let packet = &mut cx.packets[packet];
        if let Body::Udp(header) = &mut packet.body {
            header.identification = self.next;
            self.next = self.next.map(|it| it.wrapping_add(1));
        }
        self.duplicates.note(packet, cx.now);
    }

    /// Notes a datagram. Returns whether it is new.
    pub fn hears(&mut self, packet: &Packet, now: Time) -> bool {
        self.duplicates.note(packet, now)
    }

    /// When a datagram that comes now is sent on.
    pub fn after_jitter(&mut self, now: Time) -> Time {
        now + self.jitter.mul_f64(self.rng.uniform())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Params as _;

    #[test]
    fn a_memory_shorter_than_the_jitter_is_named() {
        let fault = |hold: u64| Params { hold: Span::from_millis(hold), ..Params::of_profile("rfc") }.check();
        assert_eq!(fault(100), Ok(()));
        let fault = fault(99).expect_err("copies come after the jitter of others, and their turns");
        assert_eq!(fault.parameter, "hold");
        assert!(fault.problem.contains("100 ms") && fault.problem.ends_with("found 99 ms"), "{}", fault.problem);
    }
}
