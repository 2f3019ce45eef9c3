//! The network of kernels: a world whose nodes have hosts outside.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::Time;
use hopyard_kernels::{Departure, Network, Port, Sending, Ticket};
use hopyard_model::address::NodeId;
use hopyard_model::context::{Departure as Left, Token};
use hopyard_model::observe::Probe;
use hopyard_model::world::{InjectError, Watch, World};

/// The bytes of an Ethernet header, and the type of IPv4 in it.
const ETHERNET: usize = 14;
const IPV4: [u8; 2] = [8, 0];
/// The sender of all frames for kernels: who has sent a datagram over the air is for the network to know.
const NETWORK: [u8; 6] = [2, 255, 255, 255, 255, 255];

/// Why the network cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// A datagram cannot be put in, although it is one of this network.
    #[error(transparent)]
    Inject(#[from] InjectError),
    /// A run in the world has failed.
    #[error("the network failed: {0}")]
    Failed(String),
}

/// A world, and the kernels that are hosts of its nodes.
pub struct Hosts<P: Probe> {
    pub world: World<P>,
    /// The node of each kernel, in order.
    nodes: Vec<NodeId>,
    tickets: BTreeMap<Token, Ticket>,
    left: VecDeque<Departure>,
    /// Why frames of kernels were not taken, and how many.
    pub refused: BTreeMap<&'static str, u64>,
}

/// The MAC address of a node's kernel.
pub fn mac(node: NodeId) -> [u8; 6] {
    let [a, b, c, d] = node.0.to_be_bytes();
    [2, 0, a, b, c, d]
}

impl<P: Probe> Hosts<P> {
    /// Attaches the hosts of these nodes.
    pub fn new(mut world: World<P>, nodes: Vec<NodeId>) -> Result<Self, InjectError> {
        nodes.iter().try_for_each(|&node| world.attach(node))?;
        let (tickets, left, refused) = Default::default();
        Ok(Self { world, nodes, tickets, left, refused })
    }

    fn refuse(&mut self, why: &'static str) -> Sending {
        *self.refused.entry(why).or_default() += 1;
        Sending::Done
    }
}

impl<P: Probe> Network for Hosts<P> {
    type Error = NetworkError;

    fn next_event(&self) -> Option<Time> {
        self.world.next_event()
    }

    fn step(&mut self, until: Time) -> Result<(), NetworkError> {
        self.world.advance(until, &Watch::default());
        if let Some(failure) = self.world.failure() {
            return Err(NetworkError::Failed(failure.to_string()));
        }
        while let Some(left) = self.world.egress() {
            match left {
                Left::Datagram { node, bytes, .. } => {
                    // A host that is attached has a kernel.
                    let Ok(kernel) = self.nodes.binary_search(&node) else { continue };
                    let frame = [&mac(node)[..], &NETWORK, &IPV4, &bytes].concat();
                    self.left.push_back(Departure::Frame { to: Port { kernel, device: 0 }, frame });
                }
                Left::Completed { token, .. } => {
                    self.left.extend(self.tickets.remove(&token).map(Departure::Sent));
                }
            }
        }
        Ok(())
    }

    fn departure(&mut self) -> Option<Departure> {
        self.left.pop_front()
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, NetworkError> {
        if frame.get(12..ETHERNET) != Some(&IPV4) {
            return Ok(self.refuse("not IPv4"));
        }
        let datagram = &frame[ETHERNET..];
        let node = self.nodes[ticket.port.kernel];
        match self.world.inject(node, at, datagram) {
            Ok(token) => {
                self.tickets.insert(token, ticket);
                Ok(Sending::Pending)
            }
            // A kernel may send what this network does not carry, as on any network.
            Err(InjectError::Destination(_)) => Ok(self.refuse("no such destination")),
            Err(InjectError::Source { .. }) => Ok(self.refuse("a foreign source")),
            Err(InjectError::NoHops | InjectError::Datagram(_)) => Ok(self.refuse("a broken datagram")),
            Err(error) => Err(error.into()),
        }
    }
}
