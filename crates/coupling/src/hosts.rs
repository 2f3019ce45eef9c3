//! The network of kernels: a world whose nodes have hosts outside.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use hopyard_engine::Time;
use hopyard_kernels::{FromNetwork, Network, Port, Sending, Ticket};
use hopyard_model::address::NodeId;
use hopyard_model::context::{Departure, Token};
use hopyard_model::observe::Probe;
use hopyard_model::packet::ETHERNET;
use hopyard_model::world::{InjectError, Spec, Watch, World};
use hopyard_wire::hwsim::FromKernel;

use crate::radios::{Fate, PendingFrame, Radios, Wireless};
use crate::stations::{Station, Stations, receiver};

/// The type of IPv4 in an Ethernet header.
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
    pub(crate) nodes: Vec<NodeId>,
    /// The addresses of the devices of each kernel.
    devices: Vec<Vec<Ipv4Addr>>,
    pub(crate) tickets: BTreeMap<Token, Ticket>,
    pub(crate) left: VecDeque<FromNetwork>,
    /// The frames of kernels that are nodes; nothing where kernels are the hosts of Hopyard's nodes.
    pub(crate) stations: Option<Stations>,
    /// The radios of kernels that are nodes with Linux's Wi-Fi.
    pub(crate) radios: Option<Radios>,
    /// The frames of the kernels of nodes that were not taken, and why.
    pub refused: BTreeMap<(NodeId, &'static str), u64>,
}

/// The MAC address of a device of a node's kernel.
pub fn mac(node: NodeId, device: usize) -> [u8; 6] {
    let [a, b, c, d] = node.0.to_be_bytes();
    // No node has as many addresses.
    [2, device as u8, a, b, c, d]
}

impl<P: Probe> Hosts<P> {
    /// Attaches the hosts of these nodes, whose kernels have devices with these addresses.
    pub fn new(mut world: World<P>, nodes: Vec<NodeId>, devices: Vec<Vec<Ipv4Addr>>) -> Result<Self, InjectError> {
        for (&node, devices) in nodes.iter().zip(&devices) {
            match devices.as_slice() {
                [_, _, ..] => world.attach_interfaces(node)?,
                _ => world.attach(node)?,
            }
        }
        let (tickets, left, refused) = Default::default();
        Ok(Self { world, nodes, devices, tickets, left, stations: None, radios: None, refused })
    }

    /// Attaches kernels that are these nodes, in the order of the stations.
    pub fn of_nodes(mut world: World<P>, nodes: Vec<NodeId>, stations: Stations) -> Result<Self, InjectError> {
        nodes.iter().try_for_each(|&node| world.attach_frames(node.into()))?;
        let (devices, tickets, left, refused) = Default::default();
        Ok(Self { world, nodes, devices, tickets, left, stations: Some(stations), radios: None, refused })
    }

    /// Attaches kernels that are these nodes, in the order of the stations, and have Linux's Wi-Fi.
    pub fn of_radios(
        world: World<P>,
        nodes: Vec<NodeId>,
        stations: Stations,
        (wireless, spec): (&Wireless, &Spec),
    ) -> Result<Self, InjectError> {
        let radios = Some(Radios::new(wireless.clone(), stations.room, &nodes, spec));
        Ok(Self { radios, ..Self::of_nodes(world, nodes, stations)? })
    }

    pub(crate) fn refuse(&mut self, node: NodeId, why: &'static str) -> Sending {
        *self.refused.entry((node, why)).or_default() += 1;
        Sending::Done
    }
}

impl<P: Probe> Hosts<P> {
    /// A kernel that is a node sends a frame.
    pub(crate) fn send_frame(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, NetworkError> {
        let kernel = ticket.port.kernel;
        let node = self.nodes[kernel];
        let receiver = match receiver(node, frame) {
            Ok(receiver) => receiver,
            Err(why) => return Ok(self.refuse(node, why)),
        };
        let Some(stations) = &mut self.stations else { return Ok(Sending::Done) };
        if stations.all[kernel].count >= stations.room {
            stations.all[kernel].held.push_back((frame.to_vec(), ticket));
            return Ok(Sending::Pending);
        }
        let begin = stations.begin(kernel, at, receiver);
        match self.world.inject_frame(node.into(), begin, receiver, frame) {
            Ok(token) => {
                stations.all[kernel].count += 1;
                self.tickets.insert(token, ticket);
                Ok(Sending::Pending)
            }
            Err(InjectError::Station(_)) => Ok(self.refuse(node, "no_station")),
            Err(error) => Err(error.into()),
        }
    }

    /// A kernel with Wi-Fi sends a message to its radio.
    fn send_message(&mut self, at: Time, message: &[u8], kernel: usize) -> Result<Sending, NetworkError> {
        let node = self.nodes[kernel];
        let Some(radios) = &mut self.radios else { return Ok(Sending::Done) };
        match FromKernel::parse(message) {
            Ok(FromKernel::AddAddress { radio, .. }) => radios.name(kernel, radio),
            // Frames for a station without an address reach nobody, and other messages are of no interest.
            Ok(FromKernel::DeleteAddress { .. } | FromKernel::Other(_)) => {}
            Ok(FromKernel::Frame(frame)) => match radios.send((kernel, node), at, frame) {
                Fate::Sends(sent) => self.send_mpdu(at, sent)?,
                Fate::Waits => {}
                Fate::Refused(why) => return Ok(self.refuse(node, why)),
            },
            Err(_) => return Ok(self.refuse(node, "broken_message")),
        }
        // Its buffer is free at once: the status of a frame is a message of its own.
        Ok(Sending::Done)
    }

    /// A station's frame goes to the MAC of its node.
    fn send_mpdu(&mut self, at: Time, sent: PendingFrame) -> Result<(), NetworkError> {
        let node = self.nodes[sent.kernel];
        let Some(radios) = &mut self.radios else { return Ok(()) };
        let begin = radios.begin(&sent, at);
        match self.world.inject_mpdu(node.into(), begin, sent.receiver, Radios::mpdu(&sent)) {
            Ok(token) => radios.began(token, sent),
            Err(InjectError::Station(_)) => {
                radios.unknown(at, &sent);
                self.refuse(node, "no_station");
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }

    /// The radios do what is due by themselves.
    fn step_radios(&mut self) -> Result<(), NetworkError> {
        let now = self.world.now();
        let Some(radios) = &mut self.radios else { return Ok(()) };
        let (beacons, messages) = radios.due(now);
        self.left.extend(messages.into_iter().map(|(to, frame)| FromNetwork::Frame { to, frame }));
        beacons.into_iter().try_for_each(|beacon| self.send_mpdu(now, beacon))
    }

    /// The node of a kernel has sent a frame, or has given it up: there is room for one that waits.
    pub(crate) fn has_sent(&mut self, port: Port) -> Result<(), NetworkError> {
        let Some(station) = self.station(port.kernel) else { return Ok(()) };
        station.count -= 1;
        let now = self.world.now();
        while let Some((frame, ticket)) = self.station(port.kernel).and_then(|it| it.held.pop_front()) {
            if self.send_frame(now, &frame, ticket)? == Sending::Pending {
                break;
            }
            self.left.push_back(FromNetwork::Sent(ticket));
        }
        Ok(())
    }

    fn station(&mut self, kernel: usize) -> Option<&mut Station> {
        self.stations.as_mut()?.all.get_mut(kernel)
    }
}

impl<P: Probe> Network for Hosts<P> {
    type Error = NetworkError;

    fn next_event(&self) -> Option<Time> {
        self.world.next_event().into_iter().chain(self.radios.as_ref().and_then(Radios::next)).min()
    }

    fn step(&mut self, until: Time) -> Result<(), NetworkError> {
        self.world.advance(until, &Watch::default());
        if let Some(failure) = self.world.failure() {
            return Err(NetworkError::Failed(failure.to_string()));
        }
        while let Some(left) = self.world.egress() {
            match left {
                Departure::Datagram { node, address, bytes, .. } => {
                    // A host that is attached has a kernel.
                    let Ok(kernel) = self.nodes.binary_search(&node) else { continue };
                    // Where its address has no device, the first one gets it.
                    let device = self.devices[kernel].iter().position(|it| *it == address).unwrap_or(0);
                    let frame = [&mac(node, device)[..], &NETWORK, &IPV4, &bytes].concat();
                    self.left.push_back(FromNetwork::Frame { to: Port { kernel, device }, frame });
                }
                Departure::Frame { at, interface, from, bytes, received } => {
                    // A node has one radio.
                    let Ok(kernel) = self.nodes.binary_search(&NodeId(interface.0)) else { continue };
                    let to = Port { kernel, device: 0 };
                    let frame = match (&mut self.radios, received) {
                        (Some(radios), Some(received)) => radios.received(kernel, at, from, (&bytes, received)),
                        _ => Some(bytes.to_vec()),
                    };
                    match frame {
                        Some(frame) => self.left.push_back(FromNetwork::Frame { to, frame }),
                        None => {
                            self.refuse(NodeId(interface.0), "device_down");
                        }
                    }
                }
                // mac80211_hwsim knows no radio without power: its frames are given up.
                Departure::NoCarrier { .. } if self.radios.is_some() => {}
                Departure::NoCarrier { interface, .. } => {
                    let Ok(kernel) = self.nodes.binary_search(&NodeId(interface.0)) else { continue };
                    self.left.push_back(FromNetwork::Carrier { of: Port { kernel, device: 0 }, up: false });
                }
                Departure::Completed { at, token, effort, result, .. } => {
                    if let Some(radios) = &mut self.radios
                        && let Some(((to, frame), next)) = radios.completed(token, effort, result.is_ok())
                    {
                        self.left.push_back(FromNetwork::Frame { to, frame });
                        next.into_iter().try_for_each(|sent| self.send_mpdu(at, sent))?;
                    }
                    if let Some(ticket) = self.tickets.remove(&token) {
                        self.left.push_back(FromNetwork::Sent(ticket));
                        self.has_sent(ticket.port)?;
                    }
                }
            }
        }
        self.step_radios()
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        self.left.pop_front()
    }

    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, NetworkError> {
        if self.radios.is_some() {
            return self.send_message(at, frame, ticket.port.kernel);
        }
        if self.stations.is_some() {
            return self.send_frame(at, frame, ticket);
        }
        let node = self.nodes[ticket.port.kernel];
        if frame.get(12..ETHERNET) != Some(&IPV4) {
            return Ok(self.refuse(node, "not_ipv4"));
        }
        let datagram = &frame[ETHERNET..];
        match self.world.inject(node, at, datagram) {
            Ok(token) => {
                self.tickets.insert(token, ticket);
                Ok(Sending::Pending)
            }
            // A kernel may send what this network does not carry, as on any network.
            Err(InjectError::Destination(_)) => Ok(self.refuse(node, "no_destination")),
            Err(InjectError::Source { .. }) => Ok(self.refuse(node, "foreign_source")),
            Err(InjectError::NoHops | InjectError::Datagram(_)) => Ok(self.refuse(node, "broken_datagram")),
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use hopyard_engine::Span;
    use hopyard_model::world::{NodeSpec, Spec};
    use hopyard_wire::ipv4::{Header, Protocol};

    use super::*;

    /// The frame of a kernel with a datagram from one address to another.
    fn frame(from: [u8; 4], to: [u8; 4], ttl: u8) -> Vec<u8> {
        let mut bytes = [&mac(NodeId(0), 0)[..], &mac(NodeId(0), 0), &IPV4].concat();
        let mut datagram = Vec::new();
        let header = Header::new(Protocol::EXPERIMENT, from.into(), to.into(), ttl);
        header.emit(b"payload", &mut datagram).expect("short enough");
        bytes.append(&mut datagram);
        bytes
    }

    #[test]
    fn what_the_network_does_not_carry_is_counted_by_reason() {
        let mut spec = Spec::network("rfc");
        spec.duration = Span::from_secs(1);
        let routing = hopyard_model::routing::Config::of_profile("static", "rfc").expect("there is one");
        let node = NodeSpec::stationary(hopyard_model::mobility::Position::default(), routing);
        spec.nodes = vec![node.clone(), node];
        let world: World = World::new(&spec).expect("a network");
        let address = |node| world.addresses(NodeId(node))[0].octets();
        let (here, there) = (address(0), address(1));
        let devices = vec![vec![here.into()], vec![there.into()]];
        let mut hosts = Hosts::new(world, vec![NodeId(0), NodeId(1)], devices).expect("both are there");
        let ticket = |head| Ticket::new(Port { kernel: 0, device: 0 }, head);
        let mut send = |frame: &[u8], head| hosts.send(Time::ZERO, frame, ticket(head));
        assert_eq!(send(&frame(here, there, 64), 1), Ok(Sending::Pending));
        let mut arp = frame(here, there, 64);
        arp[13] = 6;
        for (number, bytes) in
            [arp, frame(here, [9, 9, 9, 9], 64), frame(there, here, 64), frame(here, there, 0)].iter().enumerate()
        {
            assert_eq!(send(bytes, number as u16), Ok(Sending::Done), "{number}");
        }
        let reasons: Vec<_> = hosts.refused.iter().map(|((node, why), count)| (node.0, *why, *count)).collect();
        let all = ["broken_datagram", "foreign_source", "no_destination", "not_ipv4"];
        assert_eq!(reasons, all.map(|why| (0, why, 1)));
    }
}
