//! The interface between the loop and the host.

use std::io;

use hopyard_engine::Time;
use hopyard_model::address::NodeId;

/// A clock, and a device for each node whose programs are real. Devices have numbers from zero on.
pub trait Host {
    /// The time since the start of the run. It never goes back.
    fn now(&mut self) -> Time;

    /// Returns when a device has a datagram, at this time, or earlier. Only devices that are open count: device `i` is
    /// if `open[i]`.
    ///
    /// # Errors
    /// If the system cannot wait.
    fn wait(&mut self, until: Time, open: &[bool]) -> io::Result<()>;

    /// Takes the datagram that a device got first, and returns its length; nothing if it has none.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self, device: usize, buffer: &mut [u8]) -> io::Result<Option<usize>>;

    /// Gives a datagram to a device.
    ///
    /// # Errors
    /// If the device does not take it.
    fn send(&mut self, device: usize, datagram: &[u8]) -> io::Result<()>;
}

/// Why a live run cannot start or go on.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The namespace cannot be entered.
    #[error("{path}: expected a network namespace: {error}")]
    Namespace {
        /// Its file.
        path: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A TUN device cannot be made.
    #[error("a TUN device {name:?} cannot be made: {error}")]
    Device {
        /// The name that it was to have.
        name: String,
        /// The error of the system.
        error: io::Error,
    },
    /// A device cannot have this name.
    #[error("expected the name of a device of 1 to 15 letters, digits, -, _ or ., found {0:?}")]
    Name(String),
    /// A device cannot be read any more: its namespace or itself was removed.
    #[error("the device of node {node} cannot be read any more: {error}")]
    Gone {
        /// The node.
        node: NodeId,
        /// The error of the system.
        error: io::Error,
    },
    /// The system cannot wait for devices, or not as exactly as it should.
    #[error("the system cannot wait for devices: {0}")]
    Wait(#[from] io::Error),
}
