//! The flow state extension as in ns-2.35 (RFC 4728 §5, §8.6).
//!
//! The first packets of a flow, and one every few seconds, carry the source route and establish the flow at the nodes
//! that they pass. The others carry the number of the flow. They carry nothing at all if the nodes take the flow for
//! the default one between the two ends, and if the TTL is the one that they expect.
//!
//! Left out: the shortening of flows, which cannot happen in ns-2, as it takes a place in a source route of a packet
//! that has none.

use hopyard_engine::{Span, Time};

use crate::address::Address;
use crate::packet::{DsrOption, Packet, SourceRoute};
use crate::routing::dsr::state::Way;

/// How long a flow is remembered after its last packet.
const LIFETIME: Span = Span::from_secs(60);
/// The time between packets that establish a flow anew.
const ADVERTISE: Span = Span::from_secs(5);
/// Packets that establish a flow at first, less one.
const END_TO_END: u8 = 2;

/// A flow.
#[derive(Debug)]
struct Flow {
    source: Address,
    destination: Address,
    identification: u16,
    /// At the source: how many packets have established it.
    count: u8,
    advertised: Time,
    timeout: Time,
    /// The TTL of its packets, as they arrive here.
    ttl: u8,
    allows_default: bool,
    /// Its nodes, from the source to the destination.
    nodes: Vec<Address>,
    /// The place of this node.
    place: usize,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Along {
    /// To this neighbour.
    Hop(Address),
    /// The flow with this number is not known, or no default one.
    Unknown(Option<u16>),
}

/// The flows that a node knows, oldest first.
#[derive(Debug)]
pub struct Flows {
    own: Address,
    flows: Vec<Flow>,
    /// The number of the default flow between two nodes.
    defaults: Vec<(Address, Address, u16)>,
    /// The number of the next flow.
    next: u16,
}

impl Flows {
    /// No flows, at the node with this address.
    #[must_use]
    pub const fn new(own: Address) -> Self {
        Self { own, flows: Vec::new(), defaults: Vec::new(), next: 1 }
    }

    fn default(&self, source: Address, destination: Address) -> Option<u16> {
        self.defaults.iter().find(|flow| (flow.0, flow.1) == (source, destination)).map(|flow| flow.2)
    }

    fn find(&self, source: Address, destination: Address, identification: u16) -> Option<usize> {
        self.flows.iter().rposition(|flow| {
            (flow.source, flow.destination, flow.identification) == (source, destination, identification)
        })
    }

    /// A new flow; an odd number makes it the default one, if it is the newest.
    fn add(&mut self, flow: Flow) -> usize {
        let (source, destination, identification) = (flow.source, flow.destination, flow.identification);
        if identification & 1 == 1 {
            match self.defaults.iter_mut().find(|known| (known.0, known.1) == (source, destination)) {
                Some(known) if identification.wrapping_sub(known.2).cast_signed() > 0 => known.2 = identification,
                Some(_) => {}
                None => self.defaults.push((source, destination, identification)),
            }
        }
        self.flows.push(flow);
        self.flows.len() - 1
    }

    /// A packet of this node begins its way along a path, which changes if a flow leads along another one that is not
    /// longer. Writes into the packet what it must carry.
    pub fn begin(&mut self, packet: &mut Packet, path: &mut Vec<Address>, now: Time) {
        let (source, destination, ttl) = (self.own, packet.destination, packet.ttl);
        if let Some(place) = self.default(source, destination).and_then(|number| self.find(source, destination, number))
            && let flow = &self.flows[place]
            && flow.timeout >= now
            && flow.nodes.len() <= path.len() + 1
        {
            path.clear();
            path.extend_from_slice(&flow.nodes[1..]);
        }
        let known = self
            .flows
            .iter()
            .rposition(|flow| (flow.source, flow.destination) == (source, destination) && flow.nodes[1..] == path[..]);
        let (place, establishes) = match known.filter(|&place| self.flows[place].timeout >= now) {
            None => {
                let identification = self.next;
                self.next = self.next.wrapping_add(2);
                let nodes = [&[source], &path[..]].concat();
                let flow = Flow {
                    source,
                    destination,
                    identification,
                    count: 1,
                    advertised: now,
                    timeout: now,
                    ttl,
                    allows_default: true,
                    nodes,
                    place: 0,
                };
                (self.add(flow), true)
            }
            Some(place) => {
                let flow = &mut self.flows[place];
                let establishes = flow.count <= END_TO_END || flow.advertised + ADVERTISE < now;
                if establishes {
                    flow.allows_default &= flow.ttl == ttl;
                    flow.count = flow.count.saturating_add(1);
                    flow.advertised = now;
                }
                (place, establishes)
            }
        };
        let default = self.default(source, destination);
        let flow = &mut self.flows[place];
        flow.timeout = now + LIFETIME;
        let identification = flow.identification;
        if !establishes && default == Some(identification) && ttl == flow.ttl && flow.allows_default {
            return;
        }
        packet.change_options(|options| {
            options.push(DsrOption::Flow { identification, hops: 1 });
            if establishes && let Some(route) = SourceRoute::new(path[..path.len() - 1].to_vec()) {
                options.push(DsrOption::Timeout((LIFETIME.nanos() / 1_000_000_000) as u16));
                options.push(DsrOption::SourceRoute(route));
            }
        });
    }

    /// A packet that establishes a flow passes this node.
    pub fn learn(&mut self, packet: &Packet, identification: u16, way: &Way, now: Time) {
        let (source, destination) = (packet.source, packet.destination);
        if self.find(source, destination, identification).is_none() {
            let seconds = packet.options().iter().find_map(|option| match option {
                DsrOption::Timeout(seconds) => Some(*seconds),
                _ => None,
            });
            self.add(Flow {
                source,
                destination,
                identification,
                count: 0,
                advertised: now,
                timeout: now + seconds.map_or(LIFETIME, |seconds| Span::from_secs(seconds.into())),
                ttl: packet.ttl,
                allows_default: false,
                nodes: way.nodes.clone(),
                place: way.next,
            });
        }
    }

    /// The next hop of another node's packet that has no source route. The packet goes along the flow with this number,
    /// or along the default flow if it arrived with the expected TTL.
    pub fn along(
        &mut self,
        source: Address,
        destination: Address,
        number: Option<u16>,
        ttl: Option<u8>,
        now: Time,
    ) -> Along {
        let Some(identification) = number.or_else(|| self.default(source, destination)) else {
            return Along::Unknown(None);
        };
        let Some(place) = self.find(source, destination, identification) else {
            return Along::Unknown(Some(identification));
        };
        let flow = &mut self.flows[place];
        if ttl.is_some_and(|ttl| ttl != flow.ttl) {
            return Along::Unknown(None);
        }
        flow.timeout = now + LIFETIME;
        flow.nodes.get(flow.place + 1).map_or(Along::Unknown(Some(identification)), |&hop| Along::Hop(hop))
    }

    /// The way of a packet without a source route, which did not reach the next hop.
    #[must_use]
    pub fn way(&self, packet: &Packet, now: Time) -> Option<Way> {
        let number = packet.options().iter().find_map(|option| match option {
            DsrOption::Flow { identification, .. } => Some(*identification),
            _ => None,
        });
        let (source, destination) = (packet.source, packet.destination);
        let identification = number.or_else(|| self.default(source, destination))?;
        let flow = &self.flows[self.find(source, destination, identification)?];
        (flow.timeout >= now).then(|| Way { nodes: flow.nodes.clone(), next: flow.place + 1 })
    }

    /// The flows of this node over a broken link have ended.
    pub fn forget_link(&mut self, from: Address, to: Address, now: Time) {
        for flow in self.flows.iter_mut().filter(|flow| flow.source == self.own && flow.timeout >= now) {
            if flow.nodes.windows(2).any(|link| link == [from, to]) {
                flow.timeout = Time::from_nanos(now.nanos().saturating_sub(1));
            }
        }
    }

    /// A node on the way does not know a flow of this node: it is established again.
    pub fn establish_again(&mut self, destination: Address, identification: u16) {
        if let Some(place) = self.find(self.own, destination, identification) {
            self.flows[place].count = 0;
        }
    }
}
