//! The options of DSR, which stand in a header between that of IP and what IP carries (RFC 4728 §6).
//!
//! Of the flow state extension (§7): the header, the Timeout option and the errors. Left out: the Destination and Flow
//! ID option (§7.2.2), the Previous Hop Address extension (§7.4.1), padding (§6.8, which a sender may omit).

use crate::address::Address;

/// The bytes of the header before its options (RFC 4728 §6.1).
pub const OPTIONS_HEADER: u32 = 4;

/// The greatest number of addresses in an option: its length field counts up to 255 bytes.
pub const MOST_ADDRESSES: usize = 62;

/// An option of the header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DsrOption {
    /// A route request (RFC 4728 §6.2), which travels in a broadcast packet.
    RouteRequest {
        /// The number of the request among those of its initiator, which is the packet's source.
        identification: u16,
        /// The node that is searched.
        target: Address,
        /// The nodes that have forwarded the request, in order; at most [`MOST_ADDRESSES`].
        addresses: Vec<Address>,
    },
    /// A route reply (§6.3).
    RouteReply {
        /// Whether the last hop is outside of the network that uses DSR.
        last_hop_external: bool,
        /// The route, from the hop after the node that searched it to the target; at most [`MOST_ADDRESSES`].
        addresses: Vec<Address>,
    },
    /// A route error (§6.4).
    RouteError {
        /// What is wrong.
        error: RouteError,
        /// How often the packet that met the error had been salvaged, below 16.
        salvage: u8,
        /// The node that found the error.
        source: Address,
        /// The node that is told.
        destination: Address,
    },
    /// A request for an acknowledgement by the next hop (§6.5).
    AckRequest {
        /// The number of the request among those of its sender to the next hop.
        identification: u16,
    },
    /// An acknowledgement (§6.6).
    Ack {
        /// The number of the request.
        identification: u16,
        /// The node that acknowledges.
        source: Address,
        /// The node that asked.
        destination: Address,
    },
    /// A source route (§6.7).
    SourceRoute(SourceRoute),
    /// The header of the flow state extension (§7.1), which stands before the others and needs none of them.
    Flow {
        /// The number of the flow among those of the packet's source.
        identification: u16,
        /// How many hops the packet has taken along the flow.
        hops: u8,
    },
    /// How long nodes remember the flow that the packet establishes (§7.2.1), in seconds.
    Timeout(u16),
}

/// What a route error reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The next hop of a source route cannot be reached (§6.4.1).
    NodeUnreachable(Address),
    /// The node does not know an option of this type (§6.4.3).
    OptionNotSupported(u8),
    /// The node does not know this flow to this destination (§7.3.1).
    UnknownFlow(Address, u16),
    /// The node knows no default flow to this destination (§7.3.2).
    DefaultFlowUnknown(Address),
}

/// The source route of a packet: the hops between its source and its destination (RFC 4728 §6.7).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceRoute {
    /// Whether the first hop is outside of the network that uses DSR.
    pub first_hop_external: bool,
    /// Whether the last hop is outside of the network that uses DSR.
    pub last_hop_external: bool,
    /// How often the packet has been salvaged, below 16.
    pub salvage: u8,
    segments_left: u8,
    addresses: Vec<Address>,
}

impl SourceRoute {
    /// A route at its source, over these hops in order. Nothing if it has more hops than fit, [`MOST_ADDRESSES`].
    #[must_use]
    pub fn new(addresses: Vec<Address>) -> Option<Self> {
        let segments_left = u8::try_from(addresses.len()).ok().filter(|_| addresses.len() <= MOST_ADDRESSES)?;
        Some(Self { first_hop_external: false, last_hop_external: false, salvage: 0, segments_left, addresses })
    }

    /// A route at a node that salvages the packet: the node itself stands first, and has been visited (§8.3.6). Nothing
    /// if it has more hops than fit, or no hop at all.
    #[must_use]
    pub fn salvaged(addresses: Vec<Address>, salvage: u8) -> Option<Self> {
        let mut route = Self::new(addresses)?;
        route.salvage = salvage;
        route.visit().then_some(route)
    }

    /// A route at a gateway for a packet from outside: the gateway itself stands first, and has been visited. The flag
    /// F says that the hop to it is not one of the network (§6.7). Nothing if it has more hops than fit, or no hop.
    #[must_use]
    pub fn entering(addresses: Vec<Address>) -> Option<Self> {
        let mut route = Self::new(addresses)?;
        route.first_hop_external = true;
        route.visit().then_some(route)
    }

    /// The hops between source and destination, those that the packet has passed included.
    #[must_use]
    pub fn addresses(&self) -> &[Address] {
        &self.addresses
    }

    /// How many of the hops are still to be visited.
    #[must_use]
    pub const fn segments_left(&self) -> u8 {
        self.segments_left
    }

    /// The hop that the packet goes to now: the next one of the route, or the packet's destination after the last.
    #[must_use]
    pub fn next_hop(&self, destination: Address) -> Address {
        let place = self.addresses.len() - usize::from(self.segments_left);
        self.addresses.get(place).copied().unwrap_or(destination)
    }

    /// The packet has reached the next hop of the route (§8.1.5). False if the route was at its end already.
    pub const fn visit(&mut self) -> bool {
        match self.segments_left.checked_sub(1) {
            Some(left) => {
                self.segments_left = left;
                true
            }
            None => false,
        }
    }
}

impl DsrOption {
    /// A short name for counters, as [`Message::kind`](super::Message::kind).
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::RouteRequest { .. } => "route_request",
            Self::RouteReply { .. } => "route_reply",
            Self::RouteError { .. } => "route_error",
            Self::AckRequest { .. } => "ack_request",
            Self::Ack { .. } => "ack",
            Self::SourceRoute(_) => "source_route",
            Self::Flow { .. } => "flow",
            Self::Timeout(_) => "timeout",
        }
    }

    /// The bytes of the option, its type and its length included.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match self {
            Self::RouteRequest { addresses, .. } => 8 + 4 * addresses.len() as u32,
            Self::RouteReply { addresses, .. } => 3 + 4 * addresses.len() as u32,
            Self::RouteError { error: RouteError::NodeUnreachable(_), .. } => 16,
            Self::RouteError { error: RouteError::OptionNotSupported(_), .. } => 13,
            Self::RouteError { error: RouteError::UnknownFlow(..), .. } => 18,
            Self::RouteError { error: RouteError::DefaultFlowUnknown(_), .. } => 16,
            Self::AckRequest { .. } | Self::Flow { .. } | Self::Timeout(_) => 4,
            Self::Ack { .. } => 12,
            Self::SourceRoute(route) => 4 + 4 * route.addresses.len() as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_route_names_one_hop_after_the_other() {
        let mut route = SourceRoute::new([4, 5].map(Address).into()).expect("it fits");
        let destination = Address(9);
        assert_eq!((route.next_hop(destination), route.segments_left()), (Address(4), 2));
        assert!(route.visit());
        assert_eq!(route.next_hop(destination), Address(5));
        assert!(route.visit());
        assert_eq!((route.next_hop(destination), route.segments_left()), (destination, 0));
        assert!(!route.visit(), "it is at its end");
        assert!(SourceRoute::new(vec![Address(1); MOST_ADDRESSES]).is_some());
        assert!(SourceRoute::new(vec![Address(1); MOST_ADDRESSES + 1]).is_none());
    }
}
