//! The options header of DSR, which stands between the header of IP and what IP carries (RFC 4728 §6).
//!
//! A packet with options has the body [`Body::Extended`], which holds the options and what IP carries. It is behind a
//! shared pointer: packets without options do not grow, and the copies of a broadcast share it until one is changed.
//! [`Packet::size`] contains the bytes of the header, on every hop those that it has there.
//!
//! Left out: the flow state extension (§7), padding (§6.8, which a sender may omit).

use std::sync::Arc;

use super::{Body, Packet};
use crate::address::Address;

/// The bytes of the header before its options (RFC 4728 §6.1).
pub const OPTIONS_HEADER: u32 = 4;

/// The greatest number of addresses in an option: its length field counts up to 255 bytes.
pub const MOST_ADDRESSES: usize = 62;

/// What IP carries behind a header of options.
#[derive(Clone, Debug)]
pub struct Extended {
    options: Vec<DsrOption>,
    body: Body,
}

impl Extended {
    /// What IP carries behind the header.
    #[must_use]
    pub const fn body(&self) -> &Body {
        &self.body
    }

    /// The bytes of the header with its options.
    #[must_use]
    pub fn header_bytes(&self) -> u32 {
        Self::bytes(&self.options)
    }

    fn bytes(options: &[DsrOption]) -> u32 {
        if options.is_empty() { 0 } else { OPTIONS_HEADER + options.iter().map(DsrOption::bytes).sum::<u32>() }
    }
}

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
}

/// What a route error reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RouteError {
    /// The next hop of a source route cannot be reached (§6.4.1).
    NodeUnreachable(Address),
    /// The node does not know an option of this type (§6.4.3).
    OptionNotSupported(u8),
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
    /// The bytes of the option, its type and its length included.
    #[must_use]
    pub const fn bytes(&self) -> u32 {
        match self {
            Self::RouteRequest { addresses, .. } => 8 + 4 * addresses.len() as u32,
            Self::RouteReply { addresses, .. } => 3 + 4 * addresses.len() as u32,
            Self::RouteError { error: RouteError::NodeUnreachable(_), .. } => 16,
            Self::RouteError { error: RouteError::OptionNotSupported(_), .. } => 13,
            Self::AckRequest { .. } => 4,
            Self::Ack { .. } => 12,
            Self::SourceRoute(route) => 4 + 4 * route.addresses.len() as u32,
        }
    }
}

impl Packet {
    /// The options of the packet, in order; none without the header.
    #[must_use]
    pub fn options(&self) -> &[DsrOption] {
        match &self.body {
            Body::Extended(it) => &it.options,
            _ => &[],
        }
    }

    /// The packet's source route.
    #[must_use]
    pub fn source_route(&self) -> Option<&SourceRoute> {
        self.options().iter().find_map(|option| match option {
            DsrOption::SourceRoute(route) => Some(route),
            _ => None,
        })
    }

    /// Changes the options of the packet, and its size with them. The header is there as long as there is an option.
    pub fn change_options<R>(&mut self, change: impl FnOnce(&mut Vec<DsrOption>) -> R) -> R {
        let mut extended = match std::mem::replace(&mut self.body, Body::Empty) {
            Body::Extended(it) => it,
            body => Arc::new(Extended { options: Vec::new(), body }),
        };
        let it = Arc::make_mut(&mut extended);
        let before = Extended::bytes(&it.options);
        let result = change(&mut it.options);
        self.size = self.size - before + Extended::bytes(&it.options);
        self.body = if it.options.is_empty() { Arc::unwrap_or_clone(extended).body } else { Body::Extended(extended) };
        result
    }

    /// Removes the header with all options.
    pub fn strip_options(&mut self) -> Vec<DsrOption> {
        self.change_options(std::mem::take)
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Time;

    use super::*;
    use crate::packet::{FlowId, PacketKind, UdpHeader};

    fn datagram() -> Packet {
        Packet {
            created: Time::ZERO,
            source: Address(0),
            destination: Address(9),
            flow: FlowId(0),
            size: 100,
            ttl: 32,
            hops: 0,
            body: Body::Udp(UdpHeader { sequence: 0, len: 72 }),
        }
    }

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

    #[test]
    fn options_count_their_bytes_and_are_seen_through() {
        let mut packet = datagram();
        let copy = packet.clone();
        let route = SourceRoute::new(vec![Address(4); 3]).expect("it fits");
        packet.change_options(|options| options.push(DsrOption::SourceRoute(route.clone())));
        assert_eq!(packet.size, 100 + 4 + 4 + 3 * 4);
        packet.change_options(|options| options.push(DsrOption::AckRequest { identification: 1 }));
        assert_eq!((packet.size, packet.options().len()), (124, 2));
        assert_eq!((packet.kind(), packet.is_routing()), (PacketKind::Data, false));
        assert!(matches!(packet.carried(), Body::Udp(_)));
        assert_eq!(packet.source_route(), Some(&route));
        // A copy of a broadcast keeps its options when another one is changed.
        let mut changed = packet.clone();
        changed.change_options(|options| options.truncate(1));
        assert_eq!((changed.size, packet.size), (120, 124));
        assert_eq!(packet.strip_options().len(), 2);
        assert_eq!((packet.size, packet.options()), (copy.size, &[][..]));
        assert!(matches!(packet.body, Body::Udp(_)));
        packet.change_options(|_| {});
        assert!(matches!(packet.body, Body::Udp(_)), "without an option there is no header");
    }

    #[test]
    fn a_packet_of_options_alone_belongs_to_routing() {
        let mut packet = Packet { body: Body::Empty, size: 20, ..datagram() };
        let request = DsrOption::RouteRequest { identification: 3, target: Address(9), addresses: vec![Address(1)] };
        packet.change_options(|options| options.push(request));
        assert_eq!((packet.size, packet.kind(), packet.is_routing()), (36, PacketKind::Routing, true));
    }
}
