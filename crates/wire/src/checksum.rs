//! The Internet checksum (RFC 1071) and the frame check sequence of IEEE 802.

use std::net::IpAddr;

/// A sum of 16-bit words in ones' complement.
#[derive(Clone, Copy, Debug, Default)]
pub struct Checksum(u64);

impl Checksum {
    /// The sum of no words.
    #[must_use]
    pub const fn new() -> Self {
        Self(0)
    }

    /// Adds these bytes to the sum. A last single byte counts as if a zero followed. Therefore only the last addition
    /// may have an odd number of bytes.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        let words = bytes.chunks(2).map(|pair| u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0)));
        // Carries are added at the end (RFC 1071 §2). The sum has room for 2^48 words.
        Self(self.0 + words.sum::<u64>())
    }

    /// The sum with the pseudo-header added that TCP and UDP prepend (RFC 9293 §3.1, RFC 768; over IPv6 RFC 8200 §8.1).
    #[must_use]
    pub fn pseudo_header(
        self,
        source: impl Into<IpAddr>,
        destination: impl Into<IpAddr>,
        protocol: u8,
        length: usize,
    ) -> Self {
        let address = |sum: Self, address: IpAddr| match address {
            IpAddr::V4(it) => sum.bytes(&it.octets()),
            IpAddr::V6(it) => sum.bytes(&it.octets()),
        };
        let sum = address(address(self, source.into()), destination.into());
        Self(sum.0 + u64::from(protocol) + length as u64)
    }

    /// The checksum: the complement of the sum. Zero for bytes that contain their own correct checksum.
    #[must_use]
    pub fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum >> 16) + (sum & 0xffff);
        }
        !(sum as u16)
    }
}

/// The Internet checksum of bytes (RFC 1071).
#[must_use]
pub fn internet(bytes: &[u8]) -> u16 {
    Checksum::new().bytes(bytes).finish()
}

/// The frame check sequence of a frame's bytes (IEEE 802.3 §3.2.9, IEEE 802.11-2020 §9.2.4.8). The least significant
/// byte is sent first.
#[must_use]
pub fn frame_check_sequence(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    #[test]
    fn the_example_of_rfc_1071() {
        // RFC 1071 §3: the words 0001 f203 f4f5 f6f7 add up to ddf2.
        assert_eq!(internet(&hex("0001 f203 f4f5 f6f7")), !0xddf2);
        // An odd byte is the high half of its word.
        assert_eq!(internet(&hex("0001 f203 f4f5 f6")), !0xdcfb);
    }

    #[test]
    fn carries_are_folded_until_none_is_left() {
        assert_eq!(internet(&[0xff; 64]), 0);
        assert_eq!(internet(&[]), 0xffff);
        assert_eq!(internet(&vec![0xff; 131_071]), 0x00ff);
    }

    #[test]
    fn the_check_value_of_crc_32() {
        assert_eq!(frame_check_sequence(b"123456789"), 0xcbf4_3926);
    }
}
