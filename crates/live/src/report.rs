//! The report of a live run, besides the results of the simulation.

use hopyard_engine::Time;
use hopyard_model::address::NodeId;
use serde::{Deserialize, Serialize};

use crate::lateness::{Lateness, Summary};

/// Why a live run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The scenario's time was over.
    Duration,
    /// It was asked to end.
    Stopped,
    /// A congestion control of the user's failed.
    Failed,
}

/// Why a datagram did not cross between a program and the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refused {
    /// A program has sent something that is no correct IPv4 datagram.
    NotIpv4,
    /// Its source is no address of the node.
    Source,
    /// Its destination is the address of no other node: there is no multicast and no broadcast.
    Destination,
    /// More datagrams wait for their time than there is room for, or the time is over.
    NoRoom,
    /// The device did not take what the network had for a program.
    Device,
}

/// A node whose programs are real, with the datagrams that crossed there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodeReport {
    /// The node.
    pub node: u32,
    /// Datagrams from programs that were put into the network.
    pub packets_in: u64,
    /// Their bytes, with IP headers.
    pub bytes_in: u64,
    /// Datagrams from the network that programs got.
    pub packets_out: u64,
    /// Their bytes, with IP headers.
    pub bytes_out: u64,
    /// Refused: no correct IPv4 datagram.
    pub refused_not_ipv4: u64,
    /// Refused: the source is no address of the node.
    pub refused_source: u64,
    /// Refused: the destination is the address of no other node.
    pub refused_destination: u64,
    /// Refused: too many wait for their time, or the time is over.
    pub refused_no_room: u64,
    /// From the network, and not taken by the device.
    pub refused_device: u64,
    /// How much later than due the device got the datagrams.
    pub lateness: Summary,
}

impl NodeReport {
    pub(crate) fn new(node: NodeId) -> Self {
        let lateness = Lateness::new(hopyard_engine::Span::ZERO).summary();
        Self {
            node: node.0,
            packets_in: 0,
            bytes_in: 0,
            packets_out: 0,
            bytes_out: 0,
            refused_not_ipv4: 0,
            refused_source: 0,
            refused_destination: 0,
            refused_no_room: 0,
            refused_device: 0,
            lateness,
        }
    }

    pub(crate) const fn refuse(&mut self, why: Refused) {
        match why {
            Refused::NotIpv4 => self.refused_not_ipv4 += 1,
            Refused::Source => self.refused_source += 1,
            Refused::Destination => self.refused_destination += 1,
            Refused::NoRoom => self.refused_no_room += 1,
            Refused::Device => self.refused_device += 1,
        }
    }
}

/// A datagram that has crossed between a program and the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Crossing {
    /// The node.
    pub node: u32,
    /// `in` for one from a program, `out` for one to a program.
    pub direction: &'static str,
    /// The simulated time, in nanoseconds, at which the datagram was put in or reached the node.
    pub at_ns: u64,
    /// How much later than at that time the device got it, in nanoseconds. The time for which the device of a datagram
    /// from a program had not been looked at when it was read.
    pub late_ns: u64,
    /// Its length with IP header.
    pub bytes: u32,
}

/// A live run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Why it ended.
    pub end: End,
    /// The simulated time at which it ended, in nanoseconds.
    pub simulated_ns: u64,
    /// Whether the lateness of packets and of events is within the bound.
    pub in_time: bool,
    /// How much later than due the devices got datagrams.
    pub packets: Summary,
    /// How much later than due events were carried out.
    pub events: Summary,
    /// The times for which a device had not been looked at when a datagram was read there. The datagram's time in the
    /// network is the time of the reading.
    pub reads: Summary,
    /// The nodes whose programs are real.
    pub nodes: Vec<NodeReport>,
    /// Every datagram, if they are recorded.
    #[serde(skip)]
    pub crossings: Vec<Crossing>,
}

impl Report {
    /// The simulated time at which it ended.
    #[must_use]
    pub const fn simulated(&self) -> Time {
        Time::from_nanos(self.simulated_ns)
    }
}
