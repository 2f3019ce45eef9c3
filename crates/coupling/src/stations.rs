//! The frames of kernels that are nodes, between the devices of the kernels and the MACs of the nodes.

use std::collections::VecDeque;

use hopyard_engine::{Rng, Span, Streams, Time};
use hopyard_kernels::Ticket;
use hopyard_model::address::{InterfaceId, NodeId};
use hopyard_model::packet::ETHERNET;
use hopyard_wire::HardwareAddress;

/// The smallest number in the last two bytes of a header that is a type; smaller ones are lengths (IEEE 802.3 §3.2.6).
const LEAST_TYPE: u16 = 0x600;

/// The longest delay of a group frame in an idle device: a tick of the kernels (250 Hz).
///
/// All kernels here boot at the same nanosecond and compute in no time. So do their timers: two nodes that once ask for
/// an address together repeat their requests together, second after second, and the frames collide each time. A medium
/// that is idle is used at once, without a backoff (IEEE 802.11-2020 §10.3.4.2), and a group frame is not repeated
/// (§10.3.6), so that the MAC separates them neither now nor later. Machines boot at times of their own: their ticks
/// differ by up to a tick. Frames for one neighbour need no such delay: the MAC repeats them after a backoff.
pub const TICK: Span = Span::from_millis(4);

/// The frames of kernels that are on their way.
#[derive(Debug)]
pub struct Stations {
    /// The room of an interface's queue: the device takes no more frames from its kernel, so that this queue loses
    /// none.
    pub room: usize,
    /// By the number of the kernel.
    pub all: Vec<Station>,
    /// The end of the run.
    end: Time,
}

/// The frames of a kernel.
#[derive(Debug)]
pub struct Station {
    /// How many of them the node has.
    pub count: usize,
    /// Those that wait for room.
    pub held: VecDeque<(Vec<u8>, Ticket)>,
    /// When the last frame goes to the node's MAC.
    last: Time,
    random: Rng,
}

impl Stations {
    /// Stations of the kernels that are these nodes, whose interfaces have queues with this room, in a run of this
    /// length.
    pub fn new(nodes: &[NodeId], room: usize, streams: Streams, end: Time) -> Self {
        let station = |node: &NodeId| Station {
            count: 0,
            held: VecDeque::new(),
            last: Time::ZERO,
            random: streams.node(node.index(), "device"),
        };
        Self { room, all: nodes.iter().map(station).collect(), end }
    }

    /// When a frame that a kernel sends now goes to its node's MAC: in the order of sending.
    pub fn begin(&mut self, kernel: usize, now: Time, receiver: InterfaceId) -> Time {
        let station = &mut self.all[kernel];
        let is_alone = station.count == 0 && receiver.is_broadcast();
        let delay = if is_alone { station.random.below(TICK.nanos()) } else { 0 };
        station.last = (now + Span::from_nanos(delay)).max(station.last).min(self.end);
        station.last
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What begins at one nanosecond at two nodes is apart, also when it begins again; unicast frames do not wait.
    #[test]
    fn group_frames_of_idle_devices_are_apart() {
        let at = |milliseconds| Time::ZERO + Span::from_millis(milliseconds);
        let nodes = [NodeId(0), NodeId(1)];
        let mut stations = Stations::new(&nodes, 50, Streams::new(1, 0), at(1000));
        for now in [at(10), at(20)] {
            let [one, other] = [0, 1].map(|kernel| stations.begin(kernel, now, InterfaceId::BROADCAST));
            assert!(one != other && [one, other].iter().all(|it| (now..now + TICK).contains(it)), "{one} {other}");
        }
        assert_eq!(stations.begin(0, at(30), InterfaceId(1)), at(30));
        // What comes behind it waits for it, and no other delay; at the end of the run nothing is put off.
        let first = stations.begin(0, at(40), InterfaceId::BROADCAST);
        stations.all[0].count = 1;
        let behind = [InterfaceId(1), InterfaceId::BROADCAST].map(|to| stations.begin(0, at(40), to));
        assert_eq!((behind, stations.begin(0, at(50), InterfaceId(1))), ([first; 2], at(50)));
        assert_eq!(stations.begin(1, at(1000), InterfaceId::BROADCAST), at(1000));
        // The same again.
        let mut again = Stations::new(&nodes[1..], 50, Streams::new(1, 0), at(1000));
        let mut stations = Stations::new(&nodes, 50, Streams::new(1, 0), at(1000));
        let both = [stations.begin(1, at(10), InterfaceId::BROADCAST), again.begin(0, at(10), InterfaceId::BROADCAST)];
        assert_eq!(both[0], both[1], "the stream is the node's");
    }
}
