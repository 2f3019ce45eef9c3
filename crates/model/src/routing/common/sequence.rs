//! Sequence numbers that begin again after the largest.

/// Whether sequence number `a` is newer than `b`: the signed difference, so that it goes on past 2^32 (RFC 3561 §6.1).
#[must_use]
pub const fn newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use super::newer;

    #[test]
    fn sequence_numbers_are_compared_across_the_wrap() {
        assert!(newer(2, 1) && !newer(1, 2) && !newer(1, 1));
        assert!(newer(0, u32::MAX) && !newer(u32::MAX, 0));
        assert!(newer(5, u32::MAX - 5) && !newer(u32::MAX - 5, 5));
    }
}
