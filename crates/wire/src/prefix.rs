//! Blocks of IPv4 addresses.

use std::fmt;
use std::net::Ipv4Addr;
use std::str::FromStr;

/// A block of IPv4 addresses, such as "10.1.0.0/16" (RFC 4632 §3.1).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Prefix {
    first: u32,
    length: u8,
}

impl Prefix {
    /// The prefix of every address: the prefix of the default route.
    pub const DEFAULT: Self = Self { first: 0, length: 0 };

    /// The prefix of `length` bits that contains an address.
    ///
    /// # Panics
    /// If the length is greater than 32.
    #[must_use]
    pub const fn of(address: Ipv4Addr, length: u8) -> Self {
        assert!(length <= 32, "an IPv4 address has 32 bits");
        Self { first: address.to_bits() & mask(length), length }
    }

    /// The first address of the block.
    #[must_use]
    pub const fn first(self) -> Ipv4Addr {
        Ipv4Addr::from_bits(self.first)
    }

    /// How many bits all addresses of the block have in common.
    #[must_use]
    pub const fn length(self) -> u8 {
        self.length
    }

    /// Whether an address is in the block.
    #[inline]
    #[must_use]
    pub const fn contains(self, address: Ipv4Addr) -> bool {
        address.to_bits() & mask(self.length) == self.first
    }

    /// Whether two blocks have an address in common.
    #[must_use]
    pub const fn overlaps(self, other: Self) -> bool {
        let shorter = if self.length < other.length { self.length } else { other.length };
        self.first & mask(shorter) == other.first & mask(shorter)
    }

    /// The address of host `number` in the block, counted from 1; `None` if the block has no room for it. The last
    /// address of a block is its broadcast address.
    #[must_use]
    pub const fn host(self, number: u32) -> Option<Ipv4Addr> {
        let last = !mask(self.length);
        if number == 0 || number >= last { None } else { Some(Ipv4Addr::from_bits(self.first | number)) }
    }
}

const fn mask(length: u8) -> u32 {
    if length == 0 { 0 } else { u32::MAX << (32 - length) }
}

impl FromStr for Prefix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("expected a prefix such as \"10.1.0.0/16\", found \"{text}\"");
        let (address, length) = text.split_once('/').ok_or_else(wrong)?;
        let address: Ipv4Addr = address.parse().map_err(|_| wrong())?;
        let length: u8 = length.parse().ok().filter(|length| *length <= 32).ok_or_else(wrong)?;
        let prefix = Self::of(address, length);
        if prefix.first() == address {
            Ok(prefix)
        } else {
            Err(format!("expected the first address of the block, {prefix}; found \"{text}\""))
        }
    }
}

impl fmt::Display for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.first(), self.length)
    }
}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_a_block_of_addresses() {
        let prefix: Prefix = "10.1.0.0/16".parse().expect("a prefix");
        let ip = |text: &str| text.parse::<Ipv4Addr>().expect("an address");
        assert!(prefix.contains(ip("10.1.255.255")) && !prefix.contains(ip("10.2.0.0")));
        assert_eq!(prefix.host(1), Some(ip("10.1.0.1")));
        assert_eq!((prefix.host(0), prefix.host(65_535)), (None, None), "the network's own, and its broadcast address");
        assert_eq!(prefix.host(65_534), Some(ip("10.1.255.254")));
        assert_eq!(prefix.to_string(), "10.1.0.0/16");
        let overlaps = |other: &str| prefix.overlaps(other.parse().expect("a prefix"));
        assert!(overlaps("10.1.2.0/24") && overlaps("10.0.0.0/8") && overlaps("0.0.0.0/0") && !overlaps("10.2.0.0/16"));
        let wire: Prefix = "192.168.0.4/30".parse().expect("a prefix");
        assert_eq!((wire.host(2), wire.host(3)), (Some(ip("192.168.0.6")), None));
    }

    #[test]
    fn what_is_no_prefix_is_refused() {
        for text in ["10.1.0.0", "10.1.0.0/33", "10.1.0/16", "10.1.0.0/x", "", "/", "10.1.0.0/-1", "a/8"] {
            assert!(text.parse::<Prefix>().expect_err("no prefix").contains("such as"), "{text}");
        }
        let error = "10.1.2.0/16".parse::<Prefix>().expect_err("it is not the first");
        assert!(error.contains("10.1.0.0/16") && error.contains("10.1.2.0/16"), "{error}");
    }
}
