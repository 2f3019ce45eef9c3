//! The frames of kernels that are nodes, between the devices of the kernels and the MACs of the nodes.

use std::collections::{BTreeMap, VecDeque};

use hopyard_engine::Time;
use hopyard_kernels::{FromNetwork, Port, Sending, Ticket};
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::observe::Probe;
use hopyard_model::packet::ETHERNET;
use hopyard_model::world::InjectError;

use crate::hosts::{Hosts, NetworkError};
use crate::routers::interface_of;

/// The smallest number in the last two bytes of a header that is a type; smaller ones are lengths (IEEE 802.3 §3.2.6).
const LEAST_TYPE: u16 = 0x600;

/// The frames of kernels that are on their way.
#[derive(Debug)]
pub struct Stations {
    /// The room of an interface's queue: the device takes no more frames from its kernel, so that this queue loses
    /// none.
    room: usize,
    /// By the number of the kernel.
    all: BTreeMap<usize, Station>,
}

/// The frames of a kernel.
#[derive(Debug, Default)]
struct Station {
    /// How many of them the node has.
    count: usize,
    /// Those that wait for room.
    held: VecDeque<(Vec<u8>, Ticket)>,
}

impl Stations {
    /// Stations whose interfaces have queues with this room.
    pub fn new(room: usize) -> Self {
        Self { room, all: BTreeMap::new() }
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
        let station = stations.all.entry(kernel).or_default();
        if station.count >= stations.room {
            station.held.push_back((frame.to_vec(), ticket));
            return Ok(Sending::Pending);
        }
        match self.world.inject_frame(node.into(), at, receiver, frame) {
            Ok(token) => {
                station.count += 1;
                self.tickets.insert(token, ticket);
                Ok(Sending::Pending)
            }
            Err(InjectError::Station(_)) => Ok(self.refuse(node, "no_station")),
            Err(error) => Err(error.into()),
        }
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
        self.stations.as_mut()?.all.get_mut(&kernel)
    }
}

/// The receiver of a frame of a node, or why no station can receive it.
fn receiver(node: NodeId, frame: &[u8]) -> Result<InterfaceId, &'static str> {
    let (Some(to), Some(from)) = (frame.first_chunk::<6>(), frame.get(6..12)) else { return Err("broken_frame") };
    let Some(kind) = frame.get(ETHERNET - 2..ETHERNET) else { return Err("broken_frame") };
    // A station that sends for others would need a fourth address in its frames.
    if from.first_chunk().copied().and_then(interface_of) != Some(node.into()) {
        return Err("foreign_source");
    }
    // Such frames have headers of their own in place of a type, which the MAC would have to know.
    if u16::from_be_bytes([kind[0], kind[1]]) < LEAST_TYPE {
        return Err("no_type");
    }
    if to[0] & 1 == 1 { Ok(InterfaceId::BROADCAST) } else { interface_of(*to).ok_or("no_station") }
}
