//! The frames of kernels that are nodes, between the devices of the kernels and the MACs of the nodes.

use std::collections::{BTreeMap, VecDeque};

use hopyard_kernels::Ticket;
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::packet::ETHERNET;
use hopyard_wire::HardwareAddress;

/// The smallest number in the last two bytes of a header that is a type; smaller ones are lengths (IEEE 802.3 §3.2.6).
const LEAST_TYPE: u16 = 0x600;

/// The frames of kernels that are on their way.
#[derive(Debug)]
pub struct Stations {
    /// The room of an interface's queue: the device takes no more frames from its kernel, so that this queue loses
    /// none.
    pub room: usize,
    /// By the number of the kernel.
    pub all: BTreeMap<usize, Station>,
}

/// The frames of a kernel.
#[derive(Debug, Default)]
pub struct Station {
    /// How many of them the node has.
    pub count: usize,
    /// Those that wait for room.
    pub held: VecDeque<(Vec<u8>, Ticket)>,
}

impl Stations {
    /// Stations whose interfaces have queues with this room.
    pub fn new(room: usize) -> Self {
        Self { room, all: BTreeMap::new() }
    }
}

/// The receiver of a frame of a node, or why no station can receive it.
pub fn receiver(node: NodeId, frame: &[u8]) -> Result<InterfaceId, &'static str> {
    let (Some(to), Some(from)) = (frame.first_chunk::<6>(), frame.get(6..12)) else { return Err("broken_frame") };
    let Some(kind) = frame.get(ETHERNET - 2..ETHERNET) else { return Err("broken_frame") };
    // A station that sends for others would need a fourth address in its frames.
    let interface_of = |address: &[u8; 6]| InterfaceId::of_station(HardwareAddress(*address));
    if from.first_chunk().and_then(interface_of) != Some(node.into()) {
        return Err("foreign_source");
    }
    // Such frames have headers of their own in place of a type, which the MAC would have to know.
    if u16::from_be_bytes([kind[0], kind[1]]) < LEAST_TYPE {
        return Err("no_type");
    }
    if to[0] & 1 == 1 { Ok(InterfaceId::BROADCAST) } else { interface_of(to).ok_or("no_station") }
}
