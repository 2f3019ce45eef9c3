//! The bytes of headers.

/// The bytes of an Ethernet header: two addresses and the type of the payload.
pub const ETHERNET: usize = 14;
/// The bytes of an IPv4 header without options (RFC 791 §3.1).
pub const IP_HEADER: u32 = 20;
/// The bytes of the longest IP packet, header included (RFC 791 §3.1).
pub const MOST_BYTES: u32 = 65_535;
/// The bytes of a TCP header without options (RFC 9293 §3.1).
pub const TCP_HEADER: u32 = 20;
/// The bytes of TCP's option of timestamps (RFC 7323 §3.2), with two of padding.
pub const TIMESTAMPS: u32 = 12;
/// The bytes of a UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;
/// The bytes of a notice of unreachability: an IP header, ICMP's, and its quote, an IP header and eight bytes (RFC
/// 792).
pub const UNREACHABLE: u32 = IP_HEADER + 8 + IP_HEADER + 8;
