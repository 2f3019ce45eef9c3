//! Explicit congestion notification at one end of a connection (RFC 3168 §6.1): what the two ends agree on, the marks
//! that this end reports, and the reductions that it tells of.

use super::params::{Connect, Params};
use crate::packet::{CAPABLE, CONGESTION, TcpHeader};

/// What a segment that arrived means for the reports of marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Noted {
    /// They begin with it.
    pub begins: bool,
    /// It tells of a reduction of the window.
    pub ends: bool,
    /// It has data that could not be marked, after data that could.
    pub again: bool,
}

/// One end's part in it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ecn {
    /// Whether this end wants it.
    wants: bool,
    /// Whether both ends want it, as far as this end knows.
    agreed: bool,
    /// A marked segment has arrived, and the other end has told of no reduction since.
    echoes: bool,
    /// Data that could be marked has arrived.
    seen: bool,
    /// How many reductions the other end was told of.
    told: u64,
}

impl Ecn {
    /// An end with these parameters, before its connection opens. Without an opening exchange both ends have agreed.
    pub fn new(params: &Params) -> Self {
        Self { wants: params.ecn, agreed: params.ecn && params.connect != Connect::ThreeWay, ..Self::default() }
    }

    /// A segment arrived in a packet with these bits for congestion.
    pub fn on_arrival(&mut self, header: &TcpHeader, bits: u8) -> Noted {
        let flags = header.flags;
        let mut noted = Noted::default();
        match (flags.syn, flags.ack) {
            // RFC 3168 §6.1.1: the SYN has both flags, and its answer has ECE alone.
            (true, false) => self.agreed |= self.wants && flags.ece && flags.cwr,
            (true, true) => self.agreed |= self.wants && flags.ece && !flags.cwr,
            _ if self.agreed => {
                let goes_on = self.echoes && !flags.cwr;
                let marked = bits == CONGESTION && header.len > 0;
                noted.begins = marked && !goes_on;
                noted.ends = flags.cwr && header.len > 0;
                // Data that could not be marked was probably sent again.
                noted.again = self.seen && bits == 0 && header.len > 0;
                self.seen |= bits != 0 && header.len > 0;
                self.echoes = goes_on || marked;
            }
            _ => {}
        }
        noted
    }

    /// Whether a segment reports a mark to this end.
    pub const fn reports(&self, header: &TcpHeader) -> bool {
        self.agreed && header.flags.ece && !header.flags.syn
    }

    /// Sets the flags of a segment that is sent, after so many reductions of the window. Returns the bits for
    /// congestion of its packet: new data may be marked, a retransmission and a segment without data may not (§6.1.4,
    /// §6.1.5).
    pub fn stamp(&mut self, header: &mut TcpHeader, reductions: u64) -> u8 {
        let flags = &mut header.flags;
        match (flags.syn, flags.ack) {
            (true, false) => (flags.ece, flags.cwr) = (self.wants, self.wants),
            (true, true) => flags.ece = self.agreed,
            _ if self.agreed => {
                flags.ece = self.echoes;
                if header.len > 0 && !header.retransmission {
                    // The first new data after a reduction says so (§6.1.2).
                    flags.cwr = self.told < reductions;
                    self.told = reductions;
                    return CAPABLE;
                }
            }
            _ => {}
        }
        0
    }
}
