//! The messages of DRAND. Rhee, Warrier, Min and Xu (MobiHoc 2006; IEEE Transactions on Mobile Computing 8, 2009) tell
//! the contents of the messages, but define no format. This format is Hopyard's own. All numbers are in network byte
//! order.
//!
//! | bytes | HELLO (type 0) | grant (2) | request (1), reject (3), fail (4) | release (5) | two-hop release (6) |
//! |---|---|---|---|---|---|
//! | 0–3 | type, flags, round | type, flags, round | type, number, round | type, zero, round | type, zero, round |
//! | 4–7 | slot, undecided nodes | number of entries, zero | | slot, zero | slot, zero |
//! | 8–11 | largest slot, its age | entries of 8 bytes | | | the node that has the slot |
//! | 12–15 | number of entries, zero | | | | |
//! | 16– | entries of 8 bytes | | | | |
//!
//! An entry is the address of a node, its slot, and the round in which the node took the slot or gave it up. The flag
//! 80 of a HELLO says that the sender asked for a slot in this round and waits for grants. The flag 80 of a grant says
//! that the grant is sent again. A request has the number of times that it was sent before (0 in a reject and a fail).
//! The lower seven bits of a grant's flags repeat the number in the request. The slot ffff stands for none. The age is
//! in milliseconds. Fields that are zero here are ignored on reception. UDP carries the messages; their sender is the
//! source of the IP packet.

use std::fmt;
use std::net::Ipv4Addr;
use std::sync::Arc;

use super::{Carrier, Datagram, Name, Reader, WireError, Write};

const FORMAT: &str = "DRAND";

/// The flag of a HELLO that says that its sender waits for grants, and of a grant that says that it is sent again.
const FLAG: u8 = 0x80;

/// The slot that stands for none.
const NONE: u16 = 0xffff;

/// The UDP port of the messages: one of the dynamic ports, which are assigned to nobody (RFC 6335 §6).
pub const PORT: u16 = 49_270;

/// Bytes of a HELLO without entries.
pub const HELLO: u32 = 16;

/// Bytes of an entry.
pub const ENTRY: u32 = 8;

/// Whether a round is later than another one. Rounds are 16 bits and wrap (RFC 1982 §3.2).
#[inline]
#[must_use]
pub const fn is_later(round: u16, than: u16) -> bool {
    (round.wrapping_sub(than) as i16) > 0
}

/// The knowledge of a node's slot, in 32 bits: the round, and the slot as it is on the wire. Tables compare several
/// hundred claims for each HELLO.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Claim(u32);

impl Claim {
    /// The slot of a node, or nothing, and the round in which the node took it, gave one up, or last asked for one. The
    /// slot is below 65535, which stands for none.
    #[inline]
    #[must_use]
    pub const fn new(slot: Option<u16>, round: u16) -> Self {
        let slot = match slot {
            Some(slot) => slot,
            None => NONE,
        };
        Self((round as u32) << 16 | slot as u32)
    }

    /// The slot, or nothing.
    #[inline]
    #[must_use]
    pub const fn slot(self) -> Option<u16> {
        match self.0 as u16 {
            NONE => None,
            slot => Some(slot),
        }
    }

    /// The round in which the node took the slot, gave one up, or last asked for one.
    #[inline]
    #[must_use]
    pub const fn round(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// All of it as one number.
    #[inline]
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// The slots up to the slot of the node: zero without a slot.
    #[inline]
    #[must_use]
    pub const fn slots(self) -> u16 {
        (self.0 as u16).wrapping_add(1)
    }

    /// Whether it is more recent than another one of the same node. Within a round, a node first has no slot.
    #[inline]
    #[must_use]
    pub const fn is_newer(self, than: Self) -> bool {
        is_later(self.round(), than.round())
            || self.round() == than.round() && self.slot().is_some() && than.slot().is_none()
    }
}

impl fmt::Debug for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Claim").field("slot", &self.slot()).field("round", &self.round()).finish()
    }
}

/// A node and its slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry<A = Ipv4Addr> {
    /// The node.
    pub node: A,
    /// Its slot.
    pub claim: Claim,
}

/// A HELLO, [`HELLO`] bytes and [`ENTRY`] for each neighbour.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello<A = Ipv4Addr> {
    /// Whether the sender waits for grants.
    pub requesting: bool,
    /// Its slot and its round.
    pub claim: Claim,
    /// How many nodes within two hops, itself among them, have no slot as far as it knows.
    pub undecided: u16,
    /// The largest slot of the network that it knows of; below 65535.
    pub largest: Option<u16>,
    /// How many milliseconds ago a node within two hops of the slot's owner has vouched for it.
    pub age: u16,
    /// The neighbours that it hears, sorted, at most 65535. HELLOs share the list while the sender's does not change.
    pub neighbours: Arc<[Entry<A>]>,
}

/// A message. Its sender is the source of the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Message<A = Ipv4Addr> {
    /// Type 0: the sender's neighbours and their slots.
    Hello(Hello<A>),
    /// Type 1: asks all neighbours for a grant. 4 bytes.
    Request {
        /// How often it has been sent before; at most 127.
        resends: u8,
        /// The sender's round.
        round: u16,
    },
    /// Type 2: promises to grant nobody else until the request has ended. 8 bytes and [`ENTRY`] for each entry.
    Grant {
        /// Whether it is sent again.
        again: bool,
        /// How often the request had been sent before, so that its sender can tell the response time; at most 127.
        resends: u8,
        /// The round of the request.
        round: u16,
        /// The sender and its neighbours that have a slot; at most 65535.
        decided: Vec<Entry<A>>,
    },
    /// Type 3: refuses a grant. 4 bytes.
    Reject {
        /// The round of the request.
        round: u16,
    },
    /// Type 4: the request has ended without a slot. 4 bytes.
    Fail {
        /// Its round.
        round: u16,
    },
    /// Type 5: the sender has taken a slot. 8 bytes.
    Release {
        /// The round in which it did.
        round: u16,
        /// The slot; below 65535.
        slot: u16,
    },
    /// Type 6: a neighbour of the sender has taken a slot. 12 bytes.
    TwoHopRelease {
        /// The neighbour.
        node: A,
        /// The round in which it did.
        round: u16,
        /// The slot; below 65535.
        slot: u16,
    },
}

impl Reader<'_> {
    fn slot(&mut self) -> Result<Option<u16>, WireError> {
        self.u16().map(|slot| (slot != NONE).then_some(slot))
    }

    /// A slot that is not none.
    fn taken_slot(&mut self) -> Result<u16, WireError> {
        self.slot()?.ok_or_else(|| self.malformed("a slot", u32::from(NONE)))
    }

    fn entries(&mut self, count: u16) -> Result<Vec<Entry>, WireError> {
        // The bytes that are there bound what is set aside for a count that nothing follows.
        let mut entries = Vec::with_capacity(usize::from(count).min(self.bytes.len() / 8));
        for _ in 0..count {
            let (node, slot, round) = (self.address()?, self.slot()?, self.u16()?);
            entries.push(Entry { node, claim: Claim::new(slot, round) });
        }
        Ok(entries)
    }
}

fn slot(slot: Option<u16>, out: &mut Vec<u8>) -> Result<(), WireError> {
    if slot == Some(NONE) {
        let (limit, found) = (usize::from(NONE) - 1, usize::from(NONE));
        return Err(WireError::TooLong { format: FORMAT, unit: "as a slot", limit, found });
    }
    out.u16(slot.unwrap_or(NONE));
    Ok(())
}

fn count<A>(entries: &[Entry<A>]) -> Result<u16, WireError> {
    let found = entries.len();
    u16::try_from(found).map_err(|_| WireError::TooLong { format: FORMAT, unit: "entries", limit: 65535, found })
}

fn list<A: Copy>(entries: &[Entry<A>], name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) {
    for entry in entries {
        out.address(name(entry.node));
        out.u16(entry.claim.slot().unwrap_or(NONE));
        out.u16(entry.claim.round());
    }
}

/// Puts a number of resends beside the flag of the message that begins at `start`.
fn number(resends: u8, start: usize, out: &mut [u8]) -> Result<(), WireError> {
    if resends & FLAG != 0 {
        let found = usize::from(resends);
        return Err(WireError::TooLong { format: FORMAT, unit: "resends", limit: 127, found });
    }
    out[start + 1] |= resends;
    Ok(())
}

const fn flag(set: bool) -> u8 {
    if set { FLAG } else { 0 }
}

impl Message {
    /// The message, and the bytes that follow it.
    ///
    /// # Errors
    /// If the bytes end too early, the type is unknown, or a release or a grant names a node without a slot.
    pub fn parse(bytes: &[u8]) -> Result<(Self, &[u8]), WireError> {
        let mut reader = Reader::new(FORMAT, bytes);
        let (kind, flags, round) = (reader.u8()?, reader.u8()?, reader.u16()?);
        let message = match kind {
            0 => {
                let (slot, undecided) = (reader.slot()?, reader.u16()?);
                let (largest, age) = (reader.slot()?, reader.u16()?);
                let (count, _zero) = (reader.u16()?, reader.u16()?);
                let neighbours = reader.entries(count)?.into();
                let (requesting, claim) = (flags & FLAG != 0, Claim::new(slot, round));
                Self::Hello(Hello { requesting, claim, undecided, largest, age, neighbours })
            }
            1 => Self::Request { resends: flags & !FLAG, round },
            2 => {
                let (count, _zero) = (reader.u16()?, reader.u16()?);
                let decided = reader.entries(count)?;
                if decided.iter().any(|entry| entry.claim.slot().is_none()) {
                    return Err(reader.malformed("a slot", u32::from(NONE)));
                }
                Self::Grant { again: flags & FLAG != 0, resends: flags & !FLAG, round, decided }
            }
            3 => Self::Reject { round },
            4 => Self::Fail { round },
            5 => {
                let (slot, _zero) = (reader.taken_slot()?, reader.u16()?);
                Self::Release { round, slot }
            }
            6 => {
                let (slot, _zero) = (reader.taken_slot()?, reader.u16()?);
                Self::TwoHopRelease { node: reader.address()?, round, slot }
            }
            _ => return Err(reader.malformed("type 0 to 6", u32::from(kind))),
        };
        Ok((message, reader.bytes))
    }
}

impl<A: Copy> Message<A> {
    /// Its bytes without the headers of IP and UDP.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Hello(hello) => HELLO + ENTRY * hello.neighbours.len() as u32,
            Self::Request { .. } | Self::Reject { .. } | Self::Fail { .. } => 4,
            Self::Grant { decided, .. } => 8 + ENTRY * decided.len() as u32,
            Self::Release { .. } => 8,
            Self::TwoHopRelease { .. } => 12,
        }
    }

    /// Appends the message's bytes. `name` gives the address that bytes have.
    ///
    /// # Errors
    /// If a slot is 65535, there are more than 65535 entries, or a grant names a node without a slot.
    pub fn emit(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<(), WireError> {
        let start = out.len();
        let mut head = |kind, set, round: u16| {
            out.extend([kind, flag(set)]);
            out.u16(round);
        };
        match self {
            Self::Hello(hello) => {
                head(0, hello.requesting, hello.claim.round());
                out.u16(hello.claim.slot().unwrap_or(NONE));
                out.u16(hello.undecided);
                slot(hello.largest, out)?;
                out.u16(hello.age);
                out.u16(count(&hello.neighbours)?);
                out.u16(0);
                list(&hello.neighbours, name, out);
            }
            Self::Request { resends, round } => {
                head(1, false, *round);
                number(*resends, start, out)?;
            }
            Self::Grant { again, resends, round, decided } => {
                if decided.iter().any(|entry| entry.claim.slot().is_none()) {
                    let (expected, found) = ("a slot", u32::from(NONE));
                    return Err(WireError::Malformed { format: FORMAT, expected, found });
                }
                head(2, *again, *round);
                number(*resends, start, out)?;
                out.u16(count(decided)?);
                out.u16(0);
                list(decided, name, out);
            }
            Self::Reject { round } => head(3, false, *round),
            Self::Fail { round } => head(4, false, *round),
            Self::Release { round, slot: taken } => {
                head(5, false, *round);
                slot(Some(*taken), out)?;
                out.u16(0);
            }
            Self::TwoHopRelease { node, round, slot: taken } => {
                head(6, false, *round);
                slot(Some(*taken), out)?;
                out.u16(0);
                out.address(name(*node));
            }
        }
        Ok(())
    }
}

impl<A: Name> Datagram<A> for Message<A> {
    fn kind(&self) -> &'static str {
        match self {
            Self::Hello(_) => "HELLO",
            Self::Request { .. } => "request",
            Self::Grant { .. } => "grant",
            Self::Reject { .. } => "reject",
            Self::Fail { .. } => "fail",
            Self::Release { .. } => "release",
            Self::TwoHopRelease { .. } => "two_hop_release",
        }
    }

    fn encode(&self, name: &dyn Fn(A) -> Ipv4Addr, out: &mut Vec<u8>) -> Result<Carrier, WireError> {
        self.emit(name, out)?;
        Ok(Carrier::Udp(PORT))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::testing::{A, B, address, hex, holds_of_messages};

    #[test]
    fn each_message_is_laid_out_as_the_table_says() {
        let entries =
            [Entry { node: A, claim: Claim::new(Some(3), 7) }, Entry { node: B, claim: Claim::new(None, 0x102) }];
        let hello = Hello {
            requesting: true,
            claim: Claim::new(None, 9),
            undecided: 4,
            largest: Some(17),
            age: 1500,
            neighbours: entries.into(),
        };
        let text = "00800009 ffff0004 001105dc 00020000 0a000001 00030007 0a000009 ffff0102";
        assert_eq!(emitted(&Message::Hello(hello)), hex(text));
        let grant = Message::Grant { again: true, resends: 2, round: 9, decided: entries[..1].to_vec() };
        assert_eq!(emitted(&grant), hex("02820009 00010000 0a000001 00030007"));
        assert_eq!(emitted(&Message::Request { resends: 3, round: 9 }), hex("01030009"));
        assert_eq!(emitted(&Message::Reject { round: 9 }), hex("03000009"));
        assert_eq!(emitted(&Message::Fail { round: 9 }), hex("04000009"));
        assert_eq!(emitted(&Message::Release { round: 9, slot: 5 }), hex("05000009 00050000"));
        let relayed = Message::TwoHopRelease { node: B, round: 9, slot: 5 };
        assert_eq!(emitted(&relayed), hex("06000009 00050000 0a000009"));
        // What is zero is ignored on reception, and the flags of messages that have none.
        assert_eq!(Message::parse(&hex("06ff0009 0005abcd 0a000009 77")), Ok((relayed, &[0x77][..])));
    }

    #[test]
    fn impossible_messages_are_refused() {
        refuses(&[
            ("07000000", "DRAND: expected type 0 to 6, found 7"),
            ("010000", "DRAND: expected 4 bytes or more, found 3"),
            ("05000009 ffff0000", "DRAND: expected a slot, found 65535"),
            ("02000009 00010000 0a000001 ffff0007", "DRAND: expected a slot, found 65535"),
            ("02000009 ffff0000 0a000001 0003", "DRAND: expected 16 bytes or more, found 14"),
        ]);
        let entry = |slot| Entry { node: A, claim: Claim::new(slot, 1) };
        let grant = |decided| Message::Grant { again: false, resends: 0, round: 1, decided };
        let refused =
            |message: Message| message.emit(&|it| it, &mut Vec::new()).expect_err("it has no encoding").to_string();
        assert_eq!(refused(grant(vec![entry(None)])), "DRAND: expected a slot, found 65535");
        assert_eq!(refused(grant(vec![entry(Some(1)); 65536])), "DRAND: expected at most 65535 entries, found 65536");
        let request = Message::Request { resends: 128, round: 1 };
        assert_eq!(refused(request), "DRAND: expected at most 127 resends, found 128");
        let release = Message::Release { round: 1, slot: 65535 };
        assert_eq!(refused(release), "DRAND: expected at most 65534 as a slot, found 65535");
    }

    #[test]
    fn rounds_wrap_and_a_slot_follows_the_request_for_it() {
        let claim = Claim::new;
        assert!(claim(None, 1).is_newer(claim(Some(3), 0)));
        assert!(claim(None, 2).is_newer(claim(Some(3), 65_534)));
        assert!(!claim(Some(3), 65_534).is_newer(claim(None, 2)));
        assert!(claim(Some(3), 7).is_newer(claim(None, 7)));
        assert!(!claim(None, 7).is_newer(claim(Some(3), 7)));
        assert!(!claim(Some(3), 7).is_newer(claim(Some(3), 7)));
    }

    fn taken() -> impl Strategy<Value = u16> {
        0..NONE
    }

    fn entries(slot: impl Strategy<Value = Option<u16>>) -> impl Strategy<Value = Vec<Entry>> {
        let entry = (address(), slot, any::<u16>())
            .prop_map(|(node, slot, round)| Entry { node, claim: Claim::new(slot, round) });
        prop::collection::vec(entry, 0..40)
    }

    fn message() -> impl Strategy<Value = Message> {
        let slot = || prop::option::of(taken());
        let hello = (any::<(bool, u16, u16, u16)>(), slot(), slot(), entries(slot())).prop_map(
            |((requesting, round, undecided, age), slot, largest, neighbours)| {
                let (claim, neighbours) = (Claim::new(slot, round), neighbours.into());
                Message::Hello(Hello { requesting, claim, undecided, largest, age, neighbours })
            },
        );
        let grant = (any::<(bool, u16)>(), 0..128_u8, entries(taken().prop_map(Some)))
            .prop_map(|((again, round), resends, decided)| Message::Grant { again, resends, round, decided });
        prop_oneof![
            hello,
            (0..128_u8, any::<u16>()).prop_map(|(resends, round)| Message::Request { resends, round }),
            grant,
            any::<u16>().prop_map(|round| Message::Reject { round }),
            any::<u16>().prop_map(|round| Message::Fail { round }),
            (any::<u16>(), taken()).prop_map(|(round, slot)| Message::Release { round, slot }),
            (address(), any::<u16>(), taken()).prop_map(|(node, round, slot)| Message::TwoHopRelease {
                node,
                round,
                slot
            }),
        ]
    }

    holds_of_messages!(rest: 10, types: 0..8_u8, bytes: 80);
}
