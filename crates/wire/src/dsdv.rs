//! The update of DSDV. Perkins and Bhagwat (SIGCOMM 1994) define its content, but not its format. This format is
//! Hopyard's own.
//!
//! An update is a list of entries of twelve bytes (the size in ns-2.35) in network byte order:
//!
//! | bytes | field |
//! |---|---|
//! | 0–3 | destination |
//! | 4–7 | sequence number, even if set by the destination, odd if set by a node that detected a broken link |
//! | 8–9 | metric in hops; what the network has agreed on as infinity (by default 250), or more, for no route |
//! | 10 | zero for a host; for a network, one more than the length of its prefix |
//! | 11 | zero; ignored on reception |
//!
//! A network follows the gateway that reaches it. It is one hop further away, and has the gateway's sequence number;
//! both are ignored on reception.
//!
//! UDP carries an update on a port for experiments (RFC 4727 §6). The length of the datagram gives the number of
//! entries. Full dumps and incremental updates have the same format.

use std::net::Ipv4Addr;

use super::{Carrier, Datagram, Name, Prefix, Reader, WireError, Write};

const FORMAT: &str = "DSDV";

/// Bytes of an entry.
pub const ENTRY: usize = 12;

/// One destination in an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertisement<A = Ipv4Addr> {
    /// The destination.
    pub destination: A,
    /// The sender's distance to it: hops, or infinity; at most 255.
    pub metric: u8,
    /// The destination's sequence number.
    pub sequence: u32,
}

/// The update that a node sends its neighbours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update<A = Ipv4Addr> {
    /// Whether it is the whole table. No byte says so.
    pub full: bool,
    /// The destinations, in order.
    pub advertisements: Vec<Advertisement<A>>,
    /// The networks that some of these destinations reach, in the order of the destinations. Each is one entry more.
    pub networks: Vec<(A, Prefix)>,
}

impl<A: Copy + PartialEq> Update<A> {
    /// How many entries it has.
    #[must_use]
    pub const fn entries(&self) -> usize {
        self.advertisements.len() + self.networks.len()
    }

    /// The networks that a destination reaches.
    pub fn networks_of(&self, gateway: A) -> impl Iterator<Item = Prefix> + '_ {
        self.networks.iter().filter(move |it| it.0 == gateway).map(|it| it.1)
    }

    /// Appends the update's bytes. `name` gives the address that bytes have.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) {
        let mut networks = self.networks.iter().peekable();
        for it in &self.advertisements {
            let mut entry = |destination, metric, network| {
                out.address(destination);
                out.u32(it.sequence);
                out.u16(metric);
                out.extend([network, 0]);
            };
            let metric = u16::from(it.metric);
            entry(name(it.destination), metric, 0);
            while let Some((_, prefix)) = networks.next_if(|(gateway, _)| *gateway == it.destination) {
                entry(prefix.first(), metric + 1, prefix.length() + 1);
            }
        }
    }
}

impl Update {
    /// The update in these bytes.
    ///
    /// # Errors
    /// If the bytes are not a whole number of entries, a metric is greater than 255, a network has no gateway before
    /// it, or a prefix is longer than an address.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let mut advertisements: Vec<Advertisement> = Vec::with_capacity(bytes.len() / ENTRY);
        let mut networks = Vec::new();
        while !reader.bytes.is_empty() {
            let (destination, sequence, metric) = (reader.address()?, reader.u32()?, reader.u16()?);
            let (network, _zero) = (reader.u8()?, reader.u8()?);
            let Some(length) = network.checked_sub(1) else {
                let metric =
                    u8::try_from(metric).map_err(|_| reader.malformed("a metric of 255 or less", metric.into()))?;
                advertisements.push(Advertisement { destination, metric, sequence });
                continue;
            };
            let Some(gateway) = advertisements.last() else {
                return Err(reader.malformed("a gateway before its networks", network.into()));
            };
            if length > 32 {
                return Err(reader.malformed("a prefix of 32 bits or less", length.into()));
            }
            networks.push((gateway.destination, Prefix::of(destination, length)));
        }
        Ok(Self { full: false, advertisements, networks })
    }
}

impl<A: Name> Datagram<A> for Update<A> {
    fn kind(&self) -> &'static str {
        if self.full { "full_dump" } else { "incremental" }
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out);
        Ok(Carrier::Udp(crate::udp::Header::EXPERIMENT))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, hex};

    #[test]
    fn an_update_is_laid_out_as_said() {
        let ip = |last| Ipv4Addr::new(10, 0, 0, last);
        let update = Update {
            full: false,
            advertisements: vec![
                Advertisement { destination: ip(9), sequence: 258, metric: 3 },
                Advertisement { destination: ip(7), sequence: 13, metric: 250 },
            ],
            networks: vec![(ip(7), Prefix::of(Ipv4Addr::new(192, 168, 0, 0), 30))],
        };
        let mut out = Vec::new();
        update.emit(&|it| it, &mut out);
        assert_eq!(out, hex("0a000009 00000102 0003 0000  0a000007 0000000d 00fa 0000  c0a80000 0000000d 00fb 1f00"));
        assert_eq!(Update::parse(&out), Ok(update));
        assert_eq!(Update::parse(&out[..23]), Err(WireError::Truncated { format: "DSDV", expected: 24, found: 23 }));
        for (bytes, problem) in [
            ("0a000009 00000102 0003 0000  0a000000 00000102 0004 2200", "a prefix of 32 bits or less, found 33"),
            ("0a000000 00000102 0003 1900", "a gateway before its networks, found 25"),
            ("0a000009 00000102 0100 0000", "a metric of 255 or less, found 256"),
        ] {
            let error = Update::parse(&hex(bytes)).expect_err(problem).to_string();
            assert_eq!(error, format!("DSDV: expected {problem}"));
        }
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            entries in prop::collection::vec(
                (address(), any::<u32>(), any::<u8>(), prop::collection::vec((address(), 0..33_u8), 0..3)), 0..50),
        ) {
            let mut update = Update { full: false, advertisements: Vec::new(), networks: Vec::new() };
            for (destination, sequence, metric, networks) in entries {
                update.advertisements.push(Advertisement { destination, metric, sequence });
                update.networks.extend(networks.into_iter().map(|(at, length)| (destination, Prefix::of(at, length))));
            }
            let mut bytes = Vec::new();
            update.emit(&|it| it, &mut bytes);
            prop_assert_eq!(bytes.len(), update.entries() * ENTRY);
            prop_assert_eq!(Update::parse(&bytes), Ok(update));
        }
    }
}
