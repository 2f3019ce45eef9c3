//! Functions for the tests of all formats.

use std::net::Ipv4Addr;

use proptest::prelude::*;

use super::HardwareAddress;

/// Bytes written as in a dump. Spaces are ignored.
pub(super) fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<_> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    digits.chunks(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect()
}

pub(super) fn address() -> impl Strategy<Value = Ipv4Addr> {
    any::<u32>().prop_map(Ipv4Addr::from)
}

pub(super) fn hardware_address() -> impl Strategy<Value = HardwareAddress> {
    any::<[u8; 6]>().prop_map(HardwareAddress)
}

pub(super) fn bytes(longest: usize) -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..=longest)
}
