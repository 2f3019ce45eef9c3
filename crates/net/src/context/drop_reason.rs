//! Why packets are lost.

use strum::{IntoStaticStr, VariantArray};

/// Why a packet was lost. Every lost packet has one of these reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
pub enum DropReason {
    /// The interface queue, or the queue of a wired link, was full.
    QueueFull,
    /// The MAC gave up after its retry limit, and routing did not keep the packet.
    RetryLimit,
    /// The packet was queued for a next hop when routing found the link to that next hop broken.
    BrokenLink,
    /// There was no route, and routing does not look for one.
    NoRoute,
    /// Routing looked for a route and found none.
    DiscoveryFailed,
    /// The packet waited too long for a route.
    RouteTimeout,
    /// The buffer of packets that wait for a route was full.
    RouteBufferFull,
    /// The time to live ran out.
    TtlExpired,
    /// The packet came back to its source, or to a tunnel that it had come from, or was in too many tunnels at once.
    RoutingLoop,
    /// The link address of the next hop could not be resolved, and routing did not keep the packet.
    ArpFailed,
    /// Too many packets waited for the link address of the next hop; a newer one took the place of this one.
    ArpReplaced,
    /// The scenario says that a wired link loses this packet, by its number or by chance.
    ScriptedLoss,
    /// The node does not run the protocol that the packet is for, such as another routing protocol.
    NoListener,
    /// The packet is longer than an IP packet can be, because of options or tunnels. Or it is longer than the link
    /// carries, or its frame takes longer than the MAC may send at once.
    TooLong,
    /// The receiver was sending, or received another signal, during the frame with the packet, which nobody
    /// acknowledges (a slot conflict).
    Collision,
    /// The receiver was out of reach of the frame with the packet, which nobody acknowledges.
    OutOfReach,
    /// The frame with the packet, which nobody acknowledges, had bit errors, or its preamble was not found, although no
    /// other signal disturbed it.
    BitErrors,
    /// The node has no slot in which it may send.
    NoSlot,
    /// The battery of the node that held the packet ran dry.
    BatteryEmpty,
    /// The wired link that the packet was in, or was sent into, was down.
    WireDown,
    /// The radio that the frame with the packet was for slept, and nobody acknowledges the frame; or the radio slept
    /// that was to send it.
    Asleep,
    /// The packet came out of a tunnel for a host that the agent at its end does not serve any more.
    VisitorGone,
    /// The host that sent the packet was away from home, and registered with no agent.
    NotRegistered,
    /// The packet came after its receiver had stopped to wait for it, and had passed up later ones.
    TooLate,
    /// The queue dropped the packet before it was full, because its mean length was above a threshold (RED).
    QueueEarly,
    /// The queue dropped the packet because packets had waited too long for a while (CoDel).
    QueueDelay,
    /// A node that is a kernel got the packet, and did not send it on.
    LostOutside,
}

impl DropReason {
    /// Every reason, in order of its place in arrays.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// The reason's name in tables.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.into()
    }
}
