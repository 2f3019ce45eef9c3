//! The notices of other layers to TCP.

/// Information of the network layer for a sender: the named values and events that cross layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NetworkEvent {
    /// The route to the receiver is lost.
    RouteLost,
    /// A route to the receiver is available again.
    RouteRestored,
    /// The route to the receiver now has this many hops.
    HopCount(u8),
    /// The node of the sender is registered with another agent, so that its packets go and come another way (RFC 5944).
    CareOfChanged,
    /// A node could not pass on the segment that begins with this number, or the source has no route for it. Comes only
    /// to variants that ask for it.
    Unreachable {
        /// The segment's first sequence number.
        seq: u64,
    },
}
