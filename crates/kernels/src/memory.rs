//! The memory of a guest, by the guest's own addresses.

use std::io;
use std::os::fd::OwnedFd;

use crate::raw::Mapping;

/// Where a part of a guest's memory is: in the guest, and in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The first address, as rings and descriptors name it.
    pub address: u64,
    /// How many bytes it has.
    pub size: u64,
    /// Where it begins in the file.
    pub offset: u64,
}

/// An address that is not in the guest's memory, or whose bytes are not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the guest names {length} bytes at {address:#x}, which are not in its memory")]
pub struct BadAddress {
    /// The address.
    pub address: u64,
    /// How many bytes there should be.
    pub length: usize,
}

/// The memory of a guest.
#[derive(Debug, Default)]
pub struct GuestMemory {
    regions: Vec<(u64, Mapping)>,
}

impl GuestMemory {
    /// Maps the parts of a guest's memory.
    ///
    /// # Errors
    /// If a part cannot be mapped.
    pub fn new(parts: impl IntoIterator<Item = (Region, OwnedFd)>) -> io::Result<Self> {
        let regions = parts.into_iter().map(|(region, file)| {
            region.address.checked_add(region.size).ok_or(io::ErrorKind::InvalidInput)?;
            Ok((region.address, Mapping::new(file, region.offset, region.size)?))
        });
        regions.collect::<io::Result<_>>().map(|regions| Self { regions })
    }

    /// Copies bytes out of it.
    ///
    /// # Errors
    /// If they are not all in one part of it.
    pub fn read(&self, address: u64, into: &mut [u8]) -> Result<(), BadAddress> {
        let bad = BadAddress { address, length: into.len() };
        self.find(address).filter(|(mapping, at)| mapping.read(*at, into)).map(drop).ok_or(bad)
    }

    /// Copies bytes into it.
    ///
    /// # Errors
    /// If they do not all fit into one part of it.
    pub fn write(&self, address: u64, from: &[u8]) -> Result<(), BadAddress> {
        let bad = BadAddress { address, length: from.len() };
        self.find(address).filter(|(mapping, at)| mapping.write(*at, from)).map(drop).ok_or(bad)
    }

    /// Loads a counter of the guest.
    ///
    /// # Errors
    /// If it is not in the memory.
    pub fn load(&self, address: u64) -> Result<u16, BadAddress> {
        self.find(address).and_then(|(mapping, at)| mapping.load(at)).ok_or(BadAddress { address, length: 2 })
    }

    /// Stores a counter for the guest.
    ///
    /// # Errors
    /// If it is not in the memory.
    pub fn store(&self, address: u64, value: u16) -> Result<(), BadAddress> {
        let stored = self.find(address).is_some_and(|(mapping, at)| mapping.store(at, value));
        if stored { Ok(()) } else { Err(BadAddress { address, length: 2 }) }
    }

    fn find(&self, address: u64) -> Option<(&Mapping, usize)> {
        self.regions.iter().find_map(|(start, mapping)| {
            let at = usize::try_from(address.checked_sub(*start)?).ok()?;
            (at < mapping.len()).then_some((mapping, at))
        })
    }
}

#[cfg(test)]
pub mod tests {
    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    /// Memory at two addresses, each of a page, and the same memory as the guest has it.
    pub fn pages() -> (GuestMemory, GuestMemory) {
        let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a file in memory");
        ftruncate(&file, 8192).expect("it grows");
        let regions = [
            Region { address: 0x6000_0000, size: 4096, offset: 0 },
            Region { address: 0x7000_0000, size: 4096, offset: 4096 },
        ];
        let map = || GuestMemory::new(regions.map(|region| (region, file.try_clone().expect("a copy"))));
        (map().expect("mapped"), map().expect("mapped"))
    }

    #[test]
    fn an_address_finds_its_part() {
        let (ours, theirs) = pages();
        ours.write(0x7000_0ffe, b"ab").expect("in the second part");
        let mut found = [0; 2];
        theirs.read(0x7000_0ffe, &mut found).expect("the same");
        assert_eq!(&found, b"ab");
        theirs.store(0x6000_0002, 77).expect("in the first part");
        assert_eq!(ours.load(0x6000_0002), Ok(77));
    }

    #[test]
    fn bytes_outside_are_refused_and_named() {
        let (memory, _) = pages();
        for (address, length) in [(0, 1), (0x5fff_ffff, 1), (0x6000_0fff, 2), (0x7000_1000, 1), (u64::MAX, 2)] {
            let error = memory.read(address, &mut vec![0; length]).expect_err("outside");
            assert_eq!(error, BadAddress { address, length });
            assert!(memory.write(address, &vec![0; length]).is_err());
        }
        assert!(memory.load(0x6000_0001).is_err(), "an odd address");
        assert!(memory.store(0x6000_1000, 1).is_err());
    }

    #[test]
    fn a_part_that_passes_the_last_address_is_refused() {
        let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a file in memory");
        ftruncate(&file, 4096).expect("it grows");
        let region = Region { address: u64::MAX - 1, size: 4096, offset: 0 };
        assert!(GuestMemory::new([(region, file)]).is_err());
    }
}
