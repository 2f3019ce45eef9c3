//! What the flows of kernels have sent and received, seen between kernel and network.
//!
//! The application of a receiver gets the bytes in order, each once, as soon as they are all there: what has arrived
//! tells what it got, without asking the kernel.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use hopyard_engine::{Span, Time};
use hopyard_wire::ipv4::{Header, Protocol};

/// What is known of a flow, from `measure.from` on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Datagrams with payload that the source has sent, retransmissions included.
    pub packets_sent: u64,
    /// Those of them whose first byte had been sent before.
    pub retransmissions: u64,
    /// Datagrams with payload that have arrived.
    pub packets_arrived: u64,
    /// Those of them that brought a byte for the first time.
    pub packets_unique: u64,
    /// Payload that has arrived in order, each byte once.
    pub delivered_bytes: u64,
    /// IP bytes of `packets_arrived`.
    pub network_bytes: u64,
    /// The sum of the times that the arrived datagrams took, in seconds.
    pub delay_sum: f64,
    /// When the first payload arrived.
    pub first_arrival: Option<Time>,
    /// When the last payload arrived.
    pub last_arrival: Option<Time>,
}

/// The ends of a connection: address and port of source and destination.
type Ends = (Ipv4Addr, u16, Ipv4Addr, u16);

/// The meters of all flows.
#[derive(Debug, Default)]
pub struct Meters {
    from: Time,
    flows: BTreeMap<Ends, Meter>,
}

/// The meter of a flow.
#[derive(Debug, Default)]
struct Meter {
    counts: Counts,
    /// When the datagrams were sent that have not arrived, by their identification and first sequence number.
    under_way: BTreeMap<(u16, u32), Time>,
    /// The sequence number of the SYN.
    first: Option<u32>,
    /// How many bytes were sent, and have arrived in order, from the first one on.
    sent: u64,
    delivered: u64,
    /// What has arrived beyond that: beginnings and ends.
    beyond: BTreeMap<u64, u64>,
}

/// What a TCP segment says.
struct Segment {
    ends: Ends,
    identification: u16,
    sequence: u32,
    is_syn: bool,
    payload: u64,
    bytes: u64,
}

impl Meters {
    /// Meters for these connections, which count from a time on.
    pub fn new(from: Time, flows: impl IntoIterator<Item = Ends>) -> Self {
        Self { from, flows: flows.into_iter().map(|ends| (ends, Meter::default())).collect() }
    }

    /// What is known of a flow.
    pub fn counts(&self, ends: Ends) -> Counts {
        self.flows.get(&ends).map(|it| it.counts).unwrap_or_default()
    }

    /// A kernel has sent a datagram.
    pub fn on_sent(&mut self, at: Time, datagram: &[u8]) {
        let Some((segment, meter)) = self.find(datagram) else { return };
        if segment.is_syn {
            // The first byte has the number after it.
            meter.first = Some(segment.sequence.wrapping_add(1));
        }
        if segment.payload == 0 {
            return;
        }
        let begin = meter.place(segment.sequence, meter.sent);
        let again = begin < meter.sent;
        meter.sent = meter.sent.max(begin + segment.payload);
        meter.under_way.insert((segment.identification, segment.sequence), at);
        if at >= self.from {
            let Some((_, meter)) = self.find(datagram) else { return };
            meter.counts.packets_sent += 1;
            meter.counts.retransmissions += u64::from(again);
        }
    }

    /// A datagram has reached a kernel.
    pub fn on_arrival(&mut self, at: Time, datagram: &[u8]) {
        let counts = at >= self.from;
        let Some((segment, meter)) = self.find(datagram) else { return };
        if segment.payload == 0 {
            return;
        }
        let sent = meter.under_way.remove(&(segment.identification, segment.sequence));
        let (unique, delivered) = meter.arrive(segment.sequence, segment.payload);
        if !counts {
            return;
        }
        let it = &mut meter.counts;
        it.packets_arrived += 1;
        it.packets_unique += u64::from(unique);
        it.delivered_bytes += delivered;
        it.network_bytes += segment.bytes;
        it.delay_sum += sent.map_or(Span::ZERO, |sent| at.since(sent)).seconds();
        it.first_arrival.get_or_insert(at);
        it.last_arrival = Some(at);
    }

    fn find(&mut self, datagram: &[u8]) -> Option<(Segment, &mut Meter)> {
        let segment = parse(datagram)?;
        let meter = self.flows.get_mut(&segment.ends)?;
        Some((segment, meter))
    }
}

impl Meter {
    /// The number of a byte from the first one on, by its sequence number, which wraps; it is within 2^31 of `near`.
    fn place(&self, sequence: u32, near: u64) -> u64 {
        let first = self.first.unwrap_or(sequence);
        // Both are modulo 2^32, so the low bits of `near` are enough.
        let ahead = sequence.wrapping_sub(first).wrapping_sub(near as u32).cast_signed();
        near.saturating_add_signed(ahead.into())
    }

    /// Bytes have arrived. Returns whether one of them is new, and how many bytes are delivered by them.
    fn arrive(&mut self, sequence: u32, payload: u64) -> (bool, u64) {
        let begin = self.place(sequence, self.delivered);
        let end = begin + payload;
        let before = self.delivered;
        // The ranges that this one touches become one range with it.
        let (mut from, mut to, mut known) = (begin, end, 0);
        while let Some((&start, &stop)) = self.beyond.range(..=to).next_back().filter(|(_, stop)| **stop >= from) {
            self.beyond.remove(&start);
            known += stop.min(end).saturating_sub(start.max(begin));
            (from, to) = (from.min(start), to.max(stop));
        }
        known += self.delivered.min(end).saturating_sub(begin);
        if from <= self.delivered {
            self.delivered = self.delivered.max(to);
        } else {
            self.beyond.insert(from, to);
        }
        (known < payload, self.delivered - before)
    }
}

fn parse(datagram: &[u8]) -> Option<Segment> {
    let (header, payload) = Header::parse(datagram).ok().filter(|(header, _)| header.protocol == Protocol::TCP)?;
    let short = |at: usize| Some(u16::from_be_bytes(payload.get(at..at + 2)?.try_into().ok()?));
    let (source, destination) = (short(0)?, short(2)?);
    let sequence = u32::from_be_bytes(payload.get(4..8)?.try_into().ok()?);
    let length = usize::from(payload.get(12)? >> 4) * 4;
    Some(Segment {
        ends: (header.source, source, header.destination, destination),
        identification: header.identification,
        sequence,
        is_syn: payload.get(13)? & 2 != 0,
        payload: payload.len().checked_sub(length)? as u64,
        bytes: (header.len() + payload.len()) as u64,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 1);
    const B: Ipv4Addr = Ipv4Addr::new(10, 0, 0, 2);
    const ENDS: Ends = (A, 40_000, B, 5000);

    /// A segment of the flow: its sequence number, whether it is a SYN, and how much payload it has.
    fn segment(identification: u16, sequence: u32, is_syn: bool, payload: usize) -> Vec<u8> {
        let mut tcp = [40_000u16.to_be_bytes(), 5000u16.to_be_bytes()].concat();
        tcp.extend(sequence.to_be_bytes());
        tcp.extend([0, 0, 0, 0, 5 << 4, if is_syn { 2 } else { 16 }, 0, 0, 0, 0, 0, 0]);
        tcp.resize(20 + payload, 7);
        let mut bytes = Vec::new();
        let header = Header { identification, ..Header::new(Protocol::TCP, A, B, 64) };
        header.emit(&tcp, &mut bytes).expect("short enough");
        bytes
    }

    fn at(milliseconds: u64) -> Time {
        Time::ZERO + Span::from_millis(milliseconds)
    }

    #[test]
    fn bytes_count_once_and_in_order_over_the_wrap_of_sequence_numbers() {
        let mut meters = Meters::new(Time::ZERO, [ENDS]);
        // The third byte of payload has the number zero.
        let first = u32::MAX - 2;
        meters.on_sent(at(0), &segment(0, first, true, 0));
        for (number, offset) in [(1, 1u32), (2, 101), (3, 201), (4, 101)] {
            meters.on_sent(at(u64::from(number)), &segment(number, first.wrapping_add(offset), false, 100));
        }
        let sent = meters.counts(ENDS);
        assert_eq!((sent.packets_sent, sent.retransmissions), (4, 1));
        meters.on_arrival(at(11), &segment(1, first.wrapping_add(1), false, 100));
        assert_eq!(meters.counts(ENDS).delivered_bytes, 100);
        // The second one is lost; the third one waits for the fourth, which is the second again.
        meters.on_arrival(at(13), &segment(3, first.wrapping_add(201), false, 100));
        assert_eq!(meters.counts(ENDS).delivered_bytes, 100);
        meters.on_arrival(at(14), &segment(4, first.wrapping_add(101), false, 100));
        meters.on_arrival(at(15), &segment(4, first.wrapping_add(101), false, 100));
        let counts = meters.counts(ENDS);
        assert_eq!((counts.delivered_bytes, counts.packets_arrived, counts.packets_unique), (300, 4, 3));
        assert_eq!((counts.first_arrival, counts.last_arrival), (Some(at(11)), Some(at(15))));
        // Three took 10 ms; of the last one nobody knows when it was sent.
        assert!((counts.delay_sum - 0.03).abs() < 1e-9, "{}", counts.delay_sum);
        assert_eq!(counts.network_bytes, 4 * 140);
    }

    #[test]
    fn what_is_before_the_measuring_or_of_another_flow_does_not_count() {
        let mut meters = Meters::new(at(5), [ENDS]);
        meters.on_sent(at(0), &segment(0, 0, true, 0));
        meters.on_sent(at(1), &segment(1, 1, false, 10));
        meters.on_arrival(at(2), &segment(1, 1, false, 10));
        meters.on_sent(at(5), &segment(2, 1, false, 10));
        meters.on_arrival(at(6), &segment(2, 1, false, 10));
        let counts = meters.counts(ENDS);
        assert_eq!((counts.packets_sent, counts.retransmissions, counts.delivered_bytes), (1, 1, 0));
        assert_eq!(meters.counts((B, 1, A, 2)), Counts::default());
        meters.on_sent(at(7), b"no datagram");
    }

    #[test]
    fn ranges_that_overlap_are_joined() {
        let mut meter = Meter { first: Some(0), ..Meter::default() };
        assert_eq!(meter.arrive(10, 10), (true, 0));
        assert_eq!(meter.arrive(30, 10), (true, 0));
        assert_eq!(meter.arrive(15, 20), (true, 0), "joins both");
        assert_eq!(meter.beyond, BTreeMap::from([(10, 40)]));
        assert_eq!(meter.arrive(12, 5), (false, 0));
        assert_eq!(meter.arrive(0, 12), (true, 40));
        assert_eq!(meter.arrive(0, 40), (false, 0));
    }
}
