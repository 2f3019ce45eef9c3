//! Messages of routing protocols and agents, for code that does not know their types.

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use crate::WireError;

/// A type of addresses.
pub trait Name: Copy + PartialEq + fmt::Debug + Send + Sync + 'static {}

impl<A: Copy + PartialEq + fmt::Debug + Send + Sync + 'static> Name for A {}

/// A message of a routing protocol or of an agent, which names nodes by addresses of type `A`.
pub trait Datagram<A>: fmt::Debug + Send + Sync + 'static {
    /// A short name for counters and traces, such as "RREQ": the message's type.
    fn kind(&self) -> &'static str;

    /// Names the messages of a packet that carries several ones, in order (RFC 3626 §3.3). A message that names none
    /// is a single one of its kind.
    fn parts(&self, _each: &mut dyn FnMut(MessagePart)) {}

    /// Names the types of all messages of the packet, one or several.
    fn kinds(&self, each: &mut dyn FnMut(&'static str)) {
        let mut any = false;
        self.parts(&mut |part| {
            any = true;
            each(part.kind);
        });
        if !any {
            each(self.kind());
        }
    }

    /// Appends the bytes of the message as the protocol's specification lays them out, without the headers of IP and
    /// UDP, and returns what carries them. `name` gives the address of a node.
    ///
    /// # Errors
    /// If a value has no encoding.
    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError>;
}

/// One of the messages in a packet of a routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessagePart {
    /// Its type, as [`Datagram::kind`].
    pub kind: &'static str,
    /// Its bytes with its own header. Headers that belong to no part count for the first one.
    pub bytes: u32,
    /// Whether the node that sends the packet has received the message and passes it on.
    pub forwarded: bool,
}

/// The carrier of the messages of a routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// UDP, from this port to the same port.
    Udp(u16),
    /// UDP over IPv6, from this port and the link-local address of the interface to the same port. The receiver is the
    /// link-local address of a neighbour, or this group.
    Udp6(u16, Ipv6Addr),
    /// IP, as this protocol.
    Ip(u8),
}
