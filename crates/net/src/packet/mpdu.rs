//! Frames of 802.11 that a station outside has made whole, such as a kernel with Linux's Wi-Fi.

use hopyard_engine::{Span, Time};

/// Bytes of the check sequence, which a frame has on the air only.
pub const CHECK_SEQUENCE: u32 = 4;

/// The first byte of frames with a timestamp: probe responses and beacons (IEEE Std 802.11-2016 §9.3.3).
const STAMPED: [u8; 2] = [0x50, 0x80];
/// Where such a frame has its timestamp: behind the header of management frames.
const TIMESTAMP: usize = 24;
/// Where data frames and frames of management have their sequence number, behind the number of the fragment.
const SEQUENCE: usize = 22;
/// Where frames have the time for which they reserve the medium, in microseconds.
const DURATION: usize = 2;
/// The first byte of requests for a block acknowledgement, and where they have the first number that may still come.
const REQUEST: u8 = 0x84;
const START: usize = 18;
/// Parts of the first byte: data frames among all, data frames without data, and QoS (§9.2.4.1.3).
const KIND: u8 = 0x0c;
const DATA: u8 = 0x08;
const NO_DATA: u8 = 0x40;
const QOS: u8 = 0x80;
/// Parts of the second byte: frames with four addresses, and encrypted ones.
const BOTH_DS: u8 = 0x03;
const PROTECTED: u8 = 0x40;
/// The bit of the second byte of QoS control that says that the control field of a mesh follows, and the part of this
/// field's first byte that counts further addresses (§9.2.4.7.3).
const MESH_CONTROL: u8 = 0x01;
const MESH_ADDRESSES: u8 = 0x03;
/// The bit of the second byte that says that a frame was sent before.
const RETRY: u8 = 0x08;

/// A stage of a series of rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// The row of the mode in the table of modes.
    pub mode: u16,
    /// How often the frame is tried in the mode; never in a stage behind the end of the series.
    pub tries: u8,
    /// Whether an RTS announces the frame.
    pub announced: bool,
}

/// The modes in which a frame is tried, in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Series(pub [Stage; 4]);

impl Series {
    /// How often the frame is tried.
    #[must_use]
    pub fn tries(&self) -> u32 {
        self.0.iter().map(|stage| u32::from(stage.tries)).sum()
    }

    /// The stage of the next try after so many; behind the last one, the last stage.
    #[must_use]
    pub fn stage(&self, after: u32) -> Stage {
        let mut left = after;
        let mut last = self.0[0];
        for stage in self.0.iter().filter(|stage| stage.tries > 0) {
            last = *stage;
            match left.checked_sub(stage.tries.into()) {
                Some(rest) => left = rest,
                None => break,
            }
        }
        last
    }

    /// How many of the first tries were in each stage.
    #[must_use]
    pub fn split(&self, tries: u32) -> [u8; 4] {
        let mut left = tries;
        self.0.map(|stage| {
            let here = left.min(stage.tries.into());
            left -= here;
            here as u8
        })
    }
}

/// The fate of a frame with MPDUs of a session of block acknowledgement, or with one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AmpduStatus {
    /// The modes in which it was tried: the series of its first MPDU.
    pub series: Series,
    /// How often it was tried, the last time included.
    pub tries: u32,
    /// The number of its MPDUs.
    pub sent: u32,
    /// How many of them were acknowledged.
    pub acknowledged: u32,
}

/// The reception of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// The row of its mode in the table of modes.
    pub mode: u16,
    /// Its power, in dBm.
    pub dbm: f64,
}

/// A frame from its header to the end of its body.
#[derive(Clone, Debug)]
pub struct Mpdu {
    /// The bytes, without the check sequence.
    pub bytes: Vec<u8>,
    /// The modes in which it is tried.
    pub series: Series,
    /// The user priority, which gives the access category (IEEE Std 802.11-2016 Table 10-1).
    pub priority: u8,
    /// Whether it may share a frame on the air with others for its receiver that have its priority: there is a session
    /// of block acknowledgement.
    pub aggregates: bool,
    /// The time for which the timestamp of a beacon or of a probe response is true.
    pub stamped: Time,
    /// Its reception, once it was received.
    pub received: Option<Received>,
}

impl Mpdu {
    /// Bytes on the air.
    #[must_use]
    pub fn size(&self) -> u32 {
        // Frames have at most some thousand bytes.
        self.bytes.len() as u32 + CHECK_SEQUENCE
    }

    /// The sequence number of a data frame, or of one of management.
    #[must_use]
    pub fn sequence(&self) -> Option<u16> {
        let field = self.bytes.get(SEQUENCE..)?.first_chunk()?;
        Some(u16::from_le_bytes(*field) >> 4)
    }

    /// The sequence number of a data frame with QoS. Each priority counts by itself.
    #[must_use]
    pub fn number(&self) -> Option<u16> {
        self.sequence().filter(|_| self.bytes[0] & (KIND | QOS) == DATA | QOS)
    }

    /// The first number that may still come, of a request for a block acknowledgement.
    #[must_use]
    pub fn request(&self) -> Option<u16> {
        let field = self.bytes.get(START..)?.first_chunk()?;
        (self.bytes[0] == REQUEST).then(|| u16::from_le_bytes(*field) >> 4)
    }

    /// The exchange goes on for this time after the frame.
    pub fn reserve(&mut self, time: Span) {
        if let Some(field) = self.bytes.get_mut(DURATION..).and_then(<[u8]>::first_chunk_mut) {
            // Exchanges are shorter than 32 ms.
            *field = (time.nanos().div_ceil(1000) as u16).to_le_bytes();
        }
    }

    /// The frame is sent again.
    pub fn mark_retry(&mut self) {
        if let Some(control) = self.bytes.get_mut(1) {
            *control |= RETRY;
        }
    }

    /// The bytes before the timestamp, if there is one.
    #[must_use]
    pub fn timestamp(&self) -> Option<u32> {
        self.bytes.first().filter(|it| STAMPED.contains(it)).map(|_| TIMESTAMP as u32)
    }

    /// The type and the payload of a data frame that is not encrypted, behind the headers of 802.11, of a mesh, and of
    /// LLC and SNAP; nothing of other frames.
    #[must_use]
    pub fn payload(&self) -> Option<(u16, &[u8])> {
        let &[kind, control, ..] = self.bytes.as_slice() else { return None };
        if kind & (KIND | NO_DATA) != DATA || control & PROTECTED != 0 {
            return None;
        }
        let mut at = if control & BOTH_DS == BOTH_DS { 30 } else { 24 };
        if kind & QOS != 0 {
            let has_mesh_control = self.bytes.get(at + 1)? & MESH_CONTROL != 0;
            at += 2;
            if has_mesh_control {
                at += 6 + 6 * usize::from(self.bytes.get(at)? & MESH_ADDRESSES);
            }
        }
        let (head, payload) = self.bytes.get(at..)?.split_first_chunk::<8>()?;
        let [0xaa, 0xaa, 3, 0, 0, 0, high, low] = *head else { return None };
        Some((u16::from_be_bytes([high, low]), payload))
    }

    /// The payload of such a frame behind a header of Ethernet, which has the addresses of its receiver and of its
    /// transmitter.
    #[must_use]
    pub fn ethernet(&self) -> Option<Vec<u8>> {
        let (kind, payload) = self.payload()?;
        Some([self.bytes.get(4..16)?, &kind.to_be_bytes(), payload].concat())
    }

    /// The timestamp is on the air at this time, which is not before the last one. It counts microseconds.
    pub fn stamp(&mut self, at: Time) {
        let later = at.nanos() / 1000 - self.stamped.nanos() / 1000;
        if let Some(field) = self.bytes.get_mut(TIMESTAMP..).and_then(<[u8]>::first_chunk_mut) {
            *field = u64::from_le_bytes(*field).wrapping_add(later).to_le_bytes();
        }
        self.stamped = at;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn stage(mode: u16, tries: u8) -> Stage {
        Stage { mode, tries, announced: false }
    }

    #[test]
    fn tries_go_through_the_stages_in_order() {
        let series = Series([stage(7, 2), stage(5, 1), stage(1, 3), stage(0, 0)]);
        assert_eq!(series.tries(), 6);
        let modes: Vec<_> = (0..8).map(|after| series.stage(after).mode).collect();
        assert_eq!(modes, [7, 7, 5, 1, 1, 1, 1, 1]);
        assert_eq!(
            [0, 1, 2, 3, 4, 6].map(|tries| series.split(tries)),
            [[0; 4], [1, 0, 0, 0], [2, 0, 0, 0], [2, 1, 0, 0], [2, 1, 1, 0], [2, 1, 3, 0]]
        );
    }

    /// A beacon that waits is true when it is sent; sent twice, it is true both times.
    #[test]
    fn timestamps_are_those_of_the_air() {
        let at = |micros| Time::ZERO + Span::from_micros(micros);
        let stamp: &[u8] = &1_000_005_u64.to_le_bytes();
        let bytes = [&[0x80][..], &[0; 23], stamp, &[1, 2]].concat();
        let mut beacon =
            Mpdu { bytes, series: Series::default(), priority: 7, aggregates: false, stamped: at(5), received: None };
        assert_eq!((beacon.timestamp(), beacon.size()), (Some(24), 38));
        for later in [250, 700] {
            beacon.stamp(at(later));
            assert_eq!(beacon.bytes[24..32], (1_000_000 + later).to_le_bytes());
        }
        assert_eq!(beacon.bytes[32..], [1, 2]);
        let data = Mpdu { bytes: vec![8, 1], ..beacon };
        assert_eq!(data.timestamp(), None);
        let mut again = data.clone();
        let llc = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0, 0x45];
        let of = |kind: [u8; 2], header: usize, rest: &[u8]| {
            let bytes = [&kind[..], &vec![0; header - 2], rest, &llc].concat();
            Mpdu { bytes, ..data.clone() }.payload().map(|(kind, payload)| (kind, payload.to_vec()))
        };
        let ipv4 = Some((0x0800, vec![0x45]));
        // An ad hoc network without and with QoS, and meshes with no and with two more addresses.
        assert_eq!(of([0x08, 0], 24, &[]), ipv4);
        assert_eq!(of([0x88, 0], 24, &[0, 0]), ipv4);
        assert_eq!(of([0x88, 3], 30, &[0, 1, 0, 31, 1, 0, 0, 0]), ipv4);
        assert_eq!(of([0x88, 3], 30, &[&[0, 1, 2, 31, 1, 0, 0, 0][..], &[9; 12]].concat()), ipv4);
        // Management, no data, encrypted.
        assert_eq!([[0x80, 0], [0x48, 0], [0x08, 0x40]].map(|kind| of(kind, 24, &[])), [None, None, None]);
        again.mark_retry();
        assert_eq!(again.bytes, [8, 9]);
    }
}
