//! The header of a TCP segment.

use std::fmt;

use super::sizes::{IP_HEADER, TCP_HEADER, TIMESTAMPS};

/// The header of a TCP segment. Sequence numbers count bytes from zero and do not wrap; the wire format wraps them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpHeader {
    /// The sequence number of the first byte.
    pub seq: u64,
    /// The next byte expected from the other side.
    pub ack: u64,
    /// Payload in bytes.
    pub len: u32,
    /// Bytes that the other side may send beyond `ack`.
    pub window: u32,
    /// Value of the timestamp option in milliseconds, and the value echoed (RFC 7323 §3).
    pub timestamps: Option<(u32, u32)>,
    /// Blocks received out of order (RFC 2018).
    pub sack: SackBlocks,
    /// The control bits.
    pub flags: TcpFlags,
    /// The number of its connection within its flow, which the ports tell on the wire.
    pub connection: u32,
    /// Whether the payload was sent before: known to the simulator, not on the wire.
    pub retransmission: bool,
}

impl TcpHeader {
    /// The sequence number behind its payload, its SYN and its FIN.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.seq + u64::from(self.len) + u64::from(self.flags.syn) + u64::from(self.flags.fin)
    }

    /// The total length of the IP packet on the wire, in bytes, of a segment other than a SYN. Options fill whole
    /// words: two NOPs precede each (RFC 7323 appendix A, RFC 2018 §3).
    #[must_use]
    pub const fn length(&self) -> u32 {
        let timestamps = if self.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() as u32 };
        IP_HEADER + TCP_HEADER + timestamps + sack + self.len
    }
}

/// The control bits that the simulator uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct TcpFlags {
    /// Opens a connection.
    pub syn: bool,
    /// The acknowledgement number counts.
    pub ack: bool,
    /// No more data follows.
    pub fin: bool,
    /// There is no such connection, or no longer (RFC 9293 §3.5.2).
    pub rst: bool,
    /// The segment is to be passed to the application at once, and acknowledged (RFC 9293 §3.9.1.2).
    pub psh: bool,
    /// A queue has marked a segment of the other end (RFC 3168 §6.1); with `cwr` in a SYN: marks are understood.
    pub ece: bool,
    /// The congestion window was reduced.
    pub cwr: bool,
}

/// Up to four blocks of bytes received out of order, the most recent first (RFC 2018 §3).
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct SackBlocks {
    /// Where each block starts and ends, in bytes beyond `base`.
    blocks: [(u32, u32); Self::MAX],
    base: u64,
    count: u8,
}

impl SackBlocks {
    /// The blocks that a header has room for (RFC 2018 §3).
    pub const MAX: usize = 4;

    /// Blocks given as (first byte, byte after the last), most recent first; those past the fourth are left out.
    /// `base` is a byte at or before all of them, normally the acknowledgement number.
    ///
    /// # Panics
    /// When a block lies before `base` or more than 2^32 bytes beyond it: no window is that large.
    #[must_use]
    pub fn new(base: u64, blocks: impl IntoIterator<Item = (u64, u64)>) -> Self {
        let mut sack = Self { base, ..Self::default() };
        for (start, end) in blocks.into_iter().take(Self::MAX) {
            let offset = |byte: u64| {
                byte.checked_sub(base)
                    .and_then(|o| u32::try_from(o).ok())
                    .expect("a SACK block lies within a window of its base")
            };
            sack.blocks[usize::from(sack.count)] = (offset(start), offset(end));
            sack.count += 1;
        }
        sack
    }

    /// The blocks as (first byte, byte after the last), most recent first.
    pub fn iter(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..usize::from(self.count)]
            .iter()
            .map(|&(start, end)| (self.base + u64::from(start), self.base + u64::from(end)))
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is no block.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }
}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
