//! The radios of a node that has several (RFC 3561 §6.14).
//!
//! A route remembers its interface by the address of its next hop: every interface has an address of its own, in the
//! prefix of its channel. Broadcasts leave by all radios.

use crate::address::{Address, InterfaceId, Prefix};
use crate::context::Context;

/// The radios of a node that has several; none of a node that has one.
#[derive(Debug, Default)]
pub struct Radios(Vec<(Address, Prefix)>);

impl Radios {
    /// The addresses of a node's radios, each with the prefix of its channel.
    #[must_use]
    pub fn new(radios: &[(Address, Prefix)]) -> Self {
        Self(if radios.len() > 1 { radios.to_vec() } else { Vec::new() })
    }

    /// The interfaces.
    #[must_use]
    pub fn interfaces(&self) -> Vec<InterfaceId> {
        self.0.iter().map(|&(own, _)| own.into()).collect()
    }

    /// The radio on whose channel a neighbour's address is.
    #[must_use]
    pub fn towards(&self, neighbour: Address, cx: &Context) -> Option<InterfaceId> {
        let name = cx.owners.name(neighbour);
        self.0.iter().find(|(_, prefix)| prefix.contains(name)).map(|&(own, _)| own.into())
    }
}
