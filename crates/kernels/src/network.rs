//! The interface between kernels and the network that connects them.

use std::error::Error;

use hopyard_engine::Time;

/// A network device of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Port {
    /// The number of the kernel.
    pub kernel: usize,
    /// The number of the device at this kernel: 0 is `eth0`.
    pub device: usize,
}

/// A frame that a kernel has sent, and whose buffer it has not got back yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    /// The device.
    pub port: Port,
    /// The number of the buffer.
    pub(crate) head: u16,
}

impl Ticket {
    /// The ticket of a buffer, for tests of networks.
    #[must_use]
    pub const fn new(port: Port, head: u16) -> Self {
        Self { port, head }
    }
}

/// The fate of the buffer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// The network says later that the frame was sent, by [`FromNetwork::Sent`].
    Pending,
    /// The kernel gets it back now.
    Done,
}

/// An event in the network at the time that it has reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FromNetwork {
    /// A frame reaches a device.
    Frame {
        /// The device.
        to: Port,
        /// An Ethernet frame, without its check sequence.
        frame: Vec<u8>,
    },
    /// The carrier of a device has come up, or is gone.
    Carrier {
        /// The device.
        of: Port,
        /// Whether there is one.
        up: bool,
    },
    /// A frame of a kernel has been sent, or was given up: the kernel gets its buffer back.
    Sent(Ticket),
}

/// A network whose time can be advanced from event to event.
pub trait Network {
    /// Why it cannot go on.
    type Error: Error + Send + Sync + 'static;

    /// When its next event happens.
    fn next_event(&self) -> Option<Time>;

    /// Carries out all events up to and including a time. No event is earlier than the events of the last step.
    ///
    /// # Errors
    /// If the network cannot go on.
    fn step(&mut self, until: Time) -> Result<(), Self::Error>;

    /// Takes out what has left first.
    fn departure(&mut self) -> Option<FromNetwork>;

    /// A kernel sends an Ethernet frame, at a time that is not before the last step. This may only schedule events, at
    /// that time or later.
    ///
    /// # Errors
    /// If the network cannot go on. A frame that is not for this network is no error: it is counted, and
    /// [`Sending::Done`].
    fn send(&mut self, at: Time, frame: &[u8], ticket: Ticket) -> Result<Sending, Self::Error>;
}

/// The network while no kernel runs, or of one kernel alone: nothing is sent anywhere.
pub(crate) struct Nothing;

impl Network for Nothing {
    type Error = std::convert::Infallible;

    fn next_event(&self) -> Option<Time> {
        None
    }

    fn step(&mut self, _: Time) -> Result<(), Self::Error> {
        Ok(())
    }

    fn departure(&mut self) -> Option<FromNetwork> {
        None
    }

    fn send(&mut self, _: Time, _: &[u8], _: Ticket) -> Result<Sending, Self::Error> {
        Ok(Sending::Done)
    }
}
