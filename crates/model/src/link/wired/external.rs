//! The numbers of TCP segments of hosts outside of the network, which only their bytes tell.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use hopyard_wire::ipv4::{Header, Protocol};

/// The ends of a connection: address and port of source and destination.
type Ends = (Ipv4Addr, u16, Ipv4Addr, u16);
/// The flag SYN, in the byte of the flags (RFC 9293 §3.1).
const SYN: u8 = 2;

/// The connections whose SYN has entered.
#[derive(Clone, Debug, Default)]
pub struct Connections(BTreeMap<Ends, Connection>);

#[derive(Clone, Copy, Debug)]
struct Connection {
    /// The sequence number of the first byte.
    first: u32,
    /// The payload of its first segment with any.
    size: Option<u32>,
}

impl Connections {
    /// The number of the segment in a datagram, in segments as long as the first one of the connection.
    pub fn number(&mut self, datagram: &[u8]) -> Option<u64> {
        // A fragment has no ports, or not the whole payload. TCP sends none of itself.
        let is_whole_tcp = |it: &Header| it.protocol == Protocol::TCP && !it.more_fragments && it.fragment_offset == 0;
        let (header, tcp) = Header::parse(datagram).ok().filter(|(header, _)| is_whole_tcp(header))?;
        let short = |at: usize| Some(u16::from_be_bytes(tcp.get(at..at + 2)?.try_into().ok()?));
        let ends = (header.source, short(0)?, header.destination, short(2)?);
        let sequence = u32::from_be_bytes(tcp.get(4..8)?.try_into().ok()?);
        if tcp.get(13)? & SYN != 0 {
            // The SYN has a number, which is the one before that of the first byte.
            self.0.insert(ends, Connection { first: sequence.wrapping_add(1), size: None });
            return None;
        }
        let payload = u32::try_from(tcp.len().checked_sub(usize::from(tcp.get(12)? >> 4) * 4)?).ok()?;
        let connection = self.0.get_mut(&ends).filter(|_| payload > 0)?;
        let size = *connection.size.get_or_insert(payload);
        Some(u64::from(sequence.wrapping_sub(connection.first) / size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn datagram(port: u16, sequence: u32, flags: u8, payload: usize) -> Vec<u8> {
        let mut tcp = [port.to_be_bytes(), 80u16.to_be_bytes()].concat();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 0, 5 << 4, flags, 0, 0, 0, 0, 0, 0]);
        tcp.resize(20 + payload, 7);
        let header = Header::new(Protocol::TCP, [10, 0, 0, 1].into(), [10, 0, 0, 2].into(), 64);
        let mut bytes = Vec::new();
        header.emit(&tcp, &mut bytes).expect("short enough");
        bytes
    }

    #[test]
    fn segments_are_numbered_from_the_syn_of_their_connection() {
        let mut all = Connections::default();
        // Sequence numbers wrap.
        let first = u32::MAX - 1499;
        assert_eq!(all.number(&datagram(1, first, 16, 1000)), None, "its SYN was not seen");
        assert_eq!(all.number(&datagram(1, first.wrapping_sub(1), SYN, 0)), None);
        assert_eq!(all.number(&datagram(1, first, 16, 0)), None, "an acknowledgement");
        assert_eq!(all.number(&datagram(1, first, 16, 1000)), Some(0));
        assert_eq!(all.number(&datagram(1, first.wrapping_add(2000), 16, 300)), Some(2));
        assert_eq!(all.number(&datagram(1, first.wrapping_add(1500), 16, 100)), Some(1), "where its first byte lies");
        assert_eq!(all.number(&datagram(2, first, 16, 1000)), None, "another connection");
        assert_eq!(all.number(b"nothing"), None);
    }
}
