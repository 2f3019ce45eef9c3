//! Whether a reduction was for nothing: the Eifel detection (RFC 3522) by timestamps, and DSACK (RFC 3708).

use hopyard_engine::Time;

use super::arrival::echoes_earlier;
use crate::packet::TcpHeader;
use crate::transport::congestion::Before;
use crate::transport::connection::Core;

/// The state before a reduction, as long as it may turn out to be for nothing.
#[derive(Clone, Copy, Debug)]
pub struct Undo {
    /// SND.UNA when the window was reduced.
    pub una: u64,
    /// The windows before it; nothing if the reduction did not belong to this recovery.
    pub before: Option<Before>,
    /// Retransmissions that no DSACK has shown to be duplicates; nothing before the first.
    resent: Option<u32>,
}

impl Undo {
    /// A reduction begins with this many retransmissions in the network.
    pub fn new(core: &Core, before: Option<Before>, in_network: u32) -> Self {
        Self { una: core.una(), before, resent: (in_network > 0).then_some(in_network) }
    }

    /// A segment is sent again.
    pub fn on_resent(&mut self) {
        self.resent = Some(self.resent.unwrap_or(0) + 1);
    }

    /// The acknowledgement reports a duplicate of segments that were sent again; `una` is SND.UNA before it.
    pub fn on_duplicate(&mut self, core: &Core, (start, end): (u64, u64), una: u64) {
        let Some(resent) = &mut self.resent else { return };
        if end <= self.una {
            return;
        }
        let copies = if end <= una {
            (end - start).div_ceil(u64::from(core.params.mss())) as u32
        } else {
            let sent_again = |segment: &&crate::transport::connection::Segment| {
                segment.seq >= start && segment.end() <= end && segment.transmissions > 1
            };
            core.board.iter().filter(sent_again).count() as u32
        };
        *resent = resent.saturating_sub(copies);
    }

    /// Whether DSACK has shown every retransmission to be a duplicate.
    pub fn all_were_duplicates(&self) -> bool {
        self.resent == Some(0)
    }

    /// Whether the acknowledgement shows that the reduction was for nothing. `first_resent` is when the first
    /// retransmission was sent.
    pub fn is_due(&self, header: &TcpHeader, first_resent: Option<Time>) -> bool {
        self.all_were_duplicates() || first_resent.is_some_and(|sent| echoes_earlier(header, sent))
    }
}
