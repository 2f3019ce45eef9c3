//! The events of hosts that move between networks, as agents tell them.

use strum::IntoStaticStr;

use crate::address::Address;

/// Something has happened to a host that moves between networks, or was found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MobileEvent {
    /// The home address of the host; the agent's own address if the event concerns no host.
    pub host: Address,
    /// What.
    pub what: MobileChange,
}

/// An event of a host that moves between networks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum MobileChange {
    /// The host hears an agent that it did not know, or whose lifetime had ended.
    Heard {
        /// The agent.
        agent: Address,
    },
    /// The lifetime of an agent that the host knew has ended.
    Lost {
        /// The agent.
        agent: Address,
    },
    /// The host has found that it is at another agent.
    Moved {
        /// The agent before, if there was one.
        from: Option<Address>,
        /// The agent now, if there is one.
        to: Option<Address>,
    },
    /// The host has sent a request.
    Requested {
        /// The agent to which it was sent.
        agent: Address,
        /// The care-of address; the home address for a host that is at home.
        care_of: Address,
        /// The number of seconds that is asked for.
        lifetime: u16,
    },
    /// The host has learned that its request was accepted.
    Registered {
        /// The agent.
        agent: Address,
        /// The care-of address; the home address for a host that is at home.
        care_of: Address,
        /// The number of seconds that is granted.
        lifetime: u16,
    },
    /// The host has learned that its request was denied.
    Refused {
        /// The agent.
        agent: Address,
        /// Why (RFC 5944 §3.4).
        code: u8,
    },
    /// A registration has ended with its lifetime: at the host, at a foreign agent, or at the home agent.
    Expired {
        /// The care-of address.
        care_of: Address,
    },
    /// The home agent tunnels packets of the host from now on.
    TunnelBegun {
        /// Where to: the care-of address.
        to: Address,
    },
    /// The home agent no longer tunnels packets of the host.
    TunnelEnded {
        /// Where to: the care-of address.
        to: Address,
    },
}

impl MobileChange {
    /// Its name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
