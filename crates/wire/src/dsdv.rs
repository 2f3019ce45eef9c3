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
//! A network follows the gateway that reaches it, and has the gateway's sequence number.
//!
//! UDP carries an update on a port for experiments (RFC 4727 §6). The length of the datagram gives the number of
//! entries. Full dumps and incremental updates have the same format.

use std::net::Ipv4Addr;

use super::{Reader, WireError, Write};

const FORMAT: &str = "DSDV";

/// A destination and its distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The destination of the route.
    pub destination: Ipv4Addr,
    /// The sequence number.
    pub sequence: u32,
    /// Hops, or infinity.
    pub metric: u16,
    /// If the destination is a network: the length of its prefix, at most 32. The last host before it is its gateway.
    pub network: Option<u8>,
}

impl Entry {
    /// Bytes of an entry.
    pub const LEN: usize = 12;
}

/// A full dump or an incremental update.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Update {
    /// The routes that it announces.
    pub entries: Vec<Entry>,
}

impl Update {
    /// The update in these bytes.
    ///
    /// # Errors
    /// If the bytes are not a whole number of entries, or a prefix is longer than an address.
    pub fn parse(bytes: &[u8]) -> Result<Self, WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let mut entries = Vec::with_capacity(bytes.len() / Entry::LEN);
        while !reader.bytes.is_empty() {
            let (destination, sequence, metric) = (reader.address()?, reader.u32()?, reader.u16()?);
            let (network, _zero) = (reader.u8()?, reader.u8()?);
            if network > 33 {
                return Err(reader.malformed("a prefix of 32 bits or less", u32::from(network) - 1));
            }
            entries.push(Entry { destination, sequence, metric, network: network.checked_sub(1) });
        }
        Ok(Self { entries })
    }

    /// Appends the update's bytes.
    pub fn emit(&self, out: &mut Vec<u8>) {
        for entry in &self.entries {
            out.address(entry.destination);
            out.u32(entry.sequence);
            out.u16(entry.metric);
            out.extend([entry.network.map_or(0, |length| length.min(32) + 1), 0]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{address, bytes, hex};

    #[test]
    fn an_update_is_laid_out_as_said() {
        let destination = Ipv4Addr::new(10, 0, 0, 9);
        let update = Update {
            entries: vec![
                Entry { destination, sequence: 258, metric: 3, network: None },
                Entry { destination: Ipv4Addr::new(10, 0, 0, 7), sequence: 13, metric: 250, network: None },
                Entry { destination: Ipv4Addr::new(192, 168, 0, 0), sequence: 13, metric: 251, network: Some(30) },
            ],
        };
        let mut out = Vec::new();
        update.emit(&mut out);
        assert_eq!(out, hex("0a000009 00000102 0003 0000  0a000007 0000000d 00fa 0000  c0a80000 0000000d 00fb 1f00"));
        assert_eq!(Update::parse(&out[..23]), Err(WireError::Truncated { format: "DSDV", expected: 24, found: 23 }));
        let error = Update::parse(&hex("0a000009 00000102 0003 2200")).expect_err("33 bits").to_string();
        assert_eq!(error, "DSDV: expected a prefix of 32 bits or less, found 33");
    }

    proptest! {
        #[test]
        fn what_is_emitted_is_parsed(
            entries in prop::collection::vec(
                (address(), any::<u32>(), any::<u16>(), prop::option::of(0..33_u8)), 0..50),
        ) {
            let entries: Vec<_> = entries
                .into_iter()
                .map(|(destination, sequence, metric, network)| Entry { destination, sequence, metric, network })
                .collect();
            let update = Update { entries };
            let mut bytes = Vec::new();
            update.emit(&mut bytes);
            prop_assert_eq!(bytes.len(), update.entries.len() * Entry::LEN);
            prop_assert_eq!(Update::parse(&bytes), Ok(update));
        }

        #[test]
        fn no_bytes_upset_the_parser(bytes in bytes(60)) {
            let whole = bytes.len().is_multiple_of(Entry::LEN);
            let sound = bytes.chunks(Entry::LEN).all(|entry| entry.get(10).is_none_or(|&network| network <= 33));
            prop_assert_eq!(Update::parse(&bytes).is_ok(), whole && sound);
        }
    }
}
