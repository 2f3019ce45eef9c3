//! Packets of a capture (pcap): the time of each, and the payload of UDP or TCP in it.
//!
//! Read: the libpcap format (draft-ietf-opsawg-pcap) with microseconds or nanoseconds, in either order of bytes;
//! Ethernet with or without VLAN tags, Linux "cooked" captures, and bare IP; IPv4 (RFC 791) and IPv6 (RFC 8200) without
//! extension headers. The lengths are those of the headers, so that a capture may have cut its packets. Left out, and
//! passed over: fragments after the first, packets without payload, every other protocol. pcapng is refused.

use hopyard_engine::Span;

use crate::file::BadFile;

const MICROSECONDS: u32 = 0xa1b2_c3d4;
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const PCAPNG: u32 = 0x0a0d_0d0a;
/// Packets of several interfaces may stand out of order by so much.
const DISORDER: Span = Span::from_millis(100);

/// The numbers of a file in one order of bytes.
#[derive(Clone, Copy)]
struct Reader<'a> {
    bytes: &'a [u8],
    is_big: bool,
}

impl Reader<'_> {
    fn word(self, at: usize) -> Option<u32> {
        let word = self.bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.is_big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }
}

fn magic(bytes: &[u8]) -> Option<(u32, bool)> {
    let of = |is_big| Reader { bytes, is_big }.word(0);
    let known = |magic: &u32| [MICROSECONDS, NANOSECONDS, PCAPNG].contains(magic);
    of(true).filter(known).map(|it| (it, true)).or(of(false).filter(known).map(|it| (it, false)))
}

/// Whether a file is a capture.
pub(super) fn is_capture(bytes: &[u8]) -> bool {
    magic(bytes).is_some()
}

/// The packets of a capture: the time and the payload of each.
pub(super) fn read(bytes: &[u8], problems: &mut BadFile) -> Vec<(Span, u64)> {
    let mut found = Vec::new();
    let Some((magic, is_big)) = magic(bytes).filter(|(magic, _)| *magic != PCAPNG) else {
        problems.push(None, "pcapng", "a capture in the format pcap (`tshark -F pcap` and `editcap -F pcap` write it)");
        return found;
    };
    let reader = Reader { bytes, is_big };
    let unit = if magic == NANOSECONDS { 1 } else { 1_000 };
    // The upper bits of the link type are flags.
    let link = reader.word(20).map(|link| link & 0xffff);
    let Some(link) = link.filter(|link| [1, 101, 113, 228, 229].contains(link)) else {
        let shown = link.map(|link| link.to_string()).unwrap_or_default();
        problems.push(None, &shown, "a link type of 1 (Ethernet), 101 (IP) or 113 (Linux cooked)");
        return found;
    };
    let (mut at, mut number) = (24, 0);
    while at < bytes.len() {
        number += 1;
        let fields = [0, 4, 8].map(|field| reader.word(at + field));
        let ([Some(seconds), Some(parts), Some(kept)], begin) = (fields, at + 16) else {
            problems.push(None, &format!("packet {number}"), "a whole record of a packet");
            break;
        };
        let Some(frame) = bytes.get(begin..begin + kept as usize) else {
            problems.push(None, &format!("packet {number}"), "as many bytes as its record says");
            break;
        };
        at = begin + kept as usize;
        let time = Span::from_secs(seconds.into()) + Span::from_nanos(u64::from(parts) * unit);
        if let Some(size) = network(link, frame).and_then(payload).filter(|size| *size > 0) {
            let last = found.last().map_or(time, |&(last, _)| last);
            if last > time + DISORDER {
                let expected = format!("a time that is at most {DISORDER} before the packets above");
                problems.push(None, &format!("packet {number}, {} before", last - time), expected);
                break;
            }
            found.push((time.max(last), size));
        }
    }
    found
}

/// The IP packet in a frame.
fn network(link: u32, frame: &[u8]) -> Option<&[u8]> {
    let mut header = match link {
        1 => 14,
        113 => 16,
        _ => 0,
    };
    // A tag of four bytes stands before the type (IEEE 802.1Q).
    while link == 1 && matches!(frame.get(header - 2..header)?, [0x81, 0x00] | [0x88, 0xa8]) {
        header += 4;
    }
    let is_ip = header == 0 || matches!(frame.get(header - 2..header)?, [0x08, 0x00] | [0x86, 0xdd]);
    frame.get(header..).filter(|_| is_ip)
}

/// The bytes of payload in an IP packet with UDP or TCP.
fn payload(packet: &[u8]) -> Option<u64> {
    let half = |at: usize| Some(u64::from(u16::from_be_bytes(packet.get(at..at + 2)?.try_into().ok()?)));
    let (protocol, header, total) = match packet.first()? >> 4 {
        4 if half(6)? & 0x1fff == 0 => (*packet.get(9)?, usize::from(packet[0] & 0xf) * 4, half(2)?),
        6 => (*packet.get(6)?, 40, half(4)? + 40),
        _ => return None,
    };
    let transport = match protocol {
        17 => 8,
        6 => usize::from(packet.get(header + 12)? >> 4) * 4,
        _ => return None,
    };
    total.checked_sub((header + transport) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A capture of these frames, a second apart, in either order of bytes.
    fn capture(link: u32, is_big: bool, frames: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut put = |word: u32| bytes.extend(if is_big { word.to_be_bytes() } else { word.to_le_bytes() });
        [MICROSECONDS, 0x0004_0002, 0, 0, 65_535, link].into_iter().for_each(&mut put);
        for (second, frame) in (5..).zip(frames) {
            let size = frame.len() as u32;
            let words = [second, 250_000, size, size];
            bytes.extend(words.iter().flat_map(|w| if is_big { w.to_be_bytes() } else { w.to_le_bytes() }));
            bytes.extend(frame);
        }
        bytes
    }

    /// An IPv4 packet of a protocol, cut after its headers.
    fn packet(protocol: u8, total: u16) -> Vec<u8> {
        let mut packet = vec![0; 40];
        (packet[0], packet[9], packet[32]) = (0x45, protocol, 0x80);
        packet[2..4].copy_from_slice(&total.to_be_bytes());
        packet
    }

    fn ethernet(packet: &[u8]) -> Vec<u8> {
        [&[0; 12][..], &[0x81, 0, 0, 7, 0x08, 0], packet].concat()
    }

    fn sizes(bytes: &[u8]) -> Vec<(f64, u64)> {
        let mut problems = BadFile::new("f.pcap");
        let found = read(bytes, &mut problems);
        assert!(problems.is_empty(), "{problems}");
        found.into_iter().map(|(time, size)| (time.seconds(), size)).collect()
    }

    #[test]
    fn the_payload_of_udp_and_tcp_counts() {
        // UDP has a header of 8 bytes, TCP one of 32 here. ICMP and an empty segment do not count.
        let packets = [packet(17, 200), packet(6, 1000), packet(1, 100), packet(6, 52)];
        let expected = [(5.25, 172), (6.25, 948)];
        for is_big in [false, true] {
            assert_eq!(sizes(&capture(101, is_big, &packets)), expected);
            let frames = packets.each_ref().map(|packet| ethernet(packet));
            assert_eq!(sizes(&capture(1, is_big, &frames)), expected);
        }
        let mut fragment = packet(17, 200);
        fragment[7] = 9;
        assert_eq!(sizes(&capture(101, false, &[fragment])), []);
        let mut six = vec![0; 48];
        (six[0], six[5], six[6]) = (0x60, 108, 17);
        assert_eq!(sizes(&capture(101, false, &[six])), [(5.25, 100)]);
    }

    /// A capture of packets at these milliseconds.
    fn timed(millis: [u32; 2]) -> Vec<u8> {
        let mut bytes = capture(101, true, &[packet(17, 200), packet(17, 200)]);
        for (at, millis) in [24, 24 + 16 + 40].into_iter().zip(millis) {
            bytes[at..at + 4].copy_from_slice(&(millis / 1000).to_be_bytes());
            bytes[at + 4..at + 8].copy_from_slice(&(millis % 1000 * 1000).to_be_bytes());
        }
        bytes
    }

    #[test]
    fn times_go_back_a_little_at_most() {
        assert_eq!(sizes(&timed([2050, 1960])), [(2.05, 172), (2.05, 172)]);
        let mut problems = BadFile::new("f.pcap");
        read(&timed([9000, 2000]), &mut problems);
        let found = problems.to_string();
        assert!(found.contains("expected a time that is at most 100 ms before"), "{found}");
        assert!(found.contains("found: packet 2, 7 s before"), "{found}");
    }

    #[test]
    fn damaged_captures_are_refused() {
        let fault = |bytes: &[u8]| {
            let mut problems = BadFile::new("f.pcap");
            read(bytes, &mut problems);
            problems.to_string()
        };
        let whole = capture(101, false, &[packet(17, 200)]);
        assert!(fault(&whole[..30]).contains("a whole record of a packet, found: packet 1"));
        assert!(fault(&whole[..60]).contains("as many bytes as its record says, found: packet 1"));
        assert!(fault(&capture(105, false, &[])).contains("link type of 1 (Ethernet)"));
        assert!(fault(&whole[..10]).contains("link type"));
        assert!(fault(&PCAPNG.to_be_bytes()).contains("format pcap"));
        assert!(!is_capture(b"time_s,bytes\n") && is_capture(&whole));
    }
}
