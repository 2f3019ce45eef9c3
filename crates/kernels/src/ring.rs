//! A queue of buffers between a guest and a device: a split virtqueue (virtio 1.2 §2.7).
//!
//! The guest makes chains of descriptors available, and the device gives them back used. Neither indirect descriptors
//! nor event indices are offered, so a guest does not use them.

use crate::memory::{BadAddress, GuestMemory};

/// A descriptor has 16 bytes: address, length, flags, next.
const DESCRIPTOR: u64 = 16;
/// The chain goes on.
const NEXT: u16 = 1;
/// The device writes into this buffer.
const WRITE: u16 = 2;
/// The buffer is a table of descriptors.
const INDIRECT: u16 = 4;
/// The guest wants no interrupt (flag of the available ring).
const NO_INTERRUPT: u16 = 1;
/// How many descriptors a queue may have (virtio 1.2 §2.7).
const MOST: u32 = 32_768;

/// A fault of a guest in its use of a queue.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RingError {
    /// An address is not in the memory.
    #[error(transparent)]
    Address(#[from] BadAddress),
    /// The number of descriptors cannot be.
    #[error("expected a queue of 1 to {MOST} descriptors, a power of two, found {0}")]
    Size(u32),
    /// The queue has no size or no addresses yet.
    #[error("expected the size and the addresses of a queue before it is used")]
    NotReady,
    /// A chain names a descriptor that there is not, or comes back to itself.
    #[error("a chain of descriptors from {head} on: expected at most {size} descriptors below {size}, found {found}")]
    Chain {
        /// The first descriptor.
        head: u16,
        /// The size of the queue.
        size: u16,
        /// The descriptor that cannot be.
        found: u16,
    },
    /// A descriptor has flags that were not negotiated, or the wrong direction.
    #[error("descriptor {index} has the flags {flags:#x}, which are not expected in this queue")]
    Flags {
        /// The descriptor.
        index: u16,
        /// Its flags.
        flags: u16,
    },
    /// The guest made more chains available than there are descriptors.
    #[error("expected at most {size} available chains, found {found}")]
    Available {
        /// The size of the queue.
        size: u16,
        /// How many chains there should be.
        found: u16,
    },
    /// A chain has more bytes than a frame can have.
    #[error("expected a frame of at most {most} bytes, found {found}")]
    Long {
        /// The limit.
        most: usize,
        /// How many bytes there are.
        found: usize,
    },
    /// A chain has less room than a frame needs.
    #[error("expected a receive buffer of {needed} bytes, found {found}")]
    Short {
        /// The bytes that the frame needs.
        needed: usize,
        /// How many bytes there are.
        found: usize,
    },
}

/// The device's side of a queue.
#[derive(Debug, Default)]
pub struct Queue {
    size: u16,
    enabled: bool,
    /// Addresses of the descriptors, the available ring and the used ring.
    addresses: Option<[u64; 3]>,
    /// The number of chains that were taken.
    taken: u16,
    /// The number of chains that were given back.
    given: u16,
}

impl Queue {
    /// The guest sets the number of descriptors.
    ///
    /// # Errors
    /// If there cannot be as many.
    pub fn set_size(&mut self, size: u32) -> Result<(), RingError> {
        if !(1..=MOST).contains(&size) || !size.is_power_of_two() {
            return Err(RingError::Size(size));
        }
        self.size = size as u16;
        Ok(())
    }

    /// The guest sets the number of chains that were taken already.
    pub fn set_base(&mut self, taken: u32) {
        // The counters have 16 bits and wrap.
        (self.taken, self.given) = (taken as u16, taken as u16);
    }

    /// How many chains were taken.
    pub fn base(&self) -> u32 {
        self.taken.into()
    }

    /// The guest sets the addresses of descriptors, available ring and used ring.
    pub fn set_addresses(&mut self, descriptors: u64, available: u64, used: u64) {
        self.addresses = Some([descriptors, available, used]);
    }

    /// The guest enables or disables the queue.
    pub fn enable(&mut self, enabled: bool) {
        self.enabled = enabled;
    }

    /// Whether the queue can be used.
    pub fn is_ready(&self) -> bool {
        self.enabled && self.size > 0 && self.addresses.is_some()
    }

    /// Takes a chain that the device reads, and copies its bytes. Returns its number; nothing if none is available.
    ///
    /// # Errors
    /// If the guest broke a rule, or the chain has more than `most` bytes.
    pub fn take(&mut self, memory: &GuestMemory, most: usize, bytes: &mut Vec<u8>) -> Result<Option<u16>, RingError> {
        let Some(head) = self.available(memory)? else { return Ok(None) };
        bytes.clear();
        self.walk(memory, head, false, |address, length| {
            let at = bytes.len();
            if at + length > most {
                return Err(RingError::Long { most, found: at + length });
            }
            bytes.resize(at + length, 0);
            memory.read(address, &mut bytes[at..])?;
            Ok(true)
        })?;
        self.taken = self.taken.wrapping_add(1);
        Ok(Some(head))
    }

    /// Takes a chain that the device writes, writes bytes into it, and gives it back. Returns whether one was
    /// available.
    ///
    /// # Errors
    /// If the guest broke a rule, or the chain is too short.
    pub fn fill(&mut self, memory: &GuestMemory, bytes: &[u8]) -> Result<bool, RingError> {
        let Some(head) = self.available(memory)? else { return Ok(false) };
        let mut done = 0;
        self.walk(memory, head, true, |address, length| {
            let part = &bytes[done..bytes.len().min(done + length)];
            memory.write(address, part)?;
            done += part.len();
            Ok(done < bytes.len())
        })?;
        if done < bytes.len() {
            return Err(RingError::Short { needed: bytes.len(), found: done });
        }
        self.taken = self.taken.wrapping_add(1);
        self.give(memory, head, bytes.len() as u32)?;
        Ok(true)
    }

    /// Gives a chain back, into which the device has written a number of bytes.
    ///
    /// # Errors
    /// If the used ring is not in the memory.
    pub fn give(&mut self, memory: &GuestMemory, head: u16, written: u32) -> Result<(), RingError> {
        let [_, _, used] = self.addresses.ok_or(RingError::NotReady)?;
        let mut element = [0; 8];
        element[..4].copy_from_slice(&u32::from(head).to_le_bytes());
        element[4..].copy_from_slice(&written.to_le_bytes());
        // Two counters of 16 bits, then elements of 8 bytes.
        memory.write(used + 4 + 8 * u64::from(self.given % self.size), &element)?;
        self.given = self.given.wrapping_add(1);
        Ok(memory.store(used + 2, self.given)?)
    }

    /// Whether the guest wants to be interrupted when chains are given back.
    ///
    /// # Errors
    /// If the available ring is not in the memory.
    pub fn wants_call(&self, memory: &GuestMemory) -> Result<bool, RingError> {
        let [_, available, _] = self.addresses.ok_or(RingError::NotReady)?;
        Ok(memory.load(available)? & NO_INTERRUPT == 0)
    }

    /// The first available chain that was not taken yet.
    fn available(&self, memory: &GuestMemory) -> Result<Option<u16>, RingError> {
        let [_, available, _] = self.addresses.filter(|_| self.size > 0).ok_or(RingError::NotReady)?;
        let waiting = memory.load(available + 2)?.wrapping_sub(self.taken);
        if waiting > self.size {
            return Err(RingError::Available { size: self.size, found: waiting });
        }
        if waiting == 0 {
            return Ok(None);
        }
        Ok(Some(memory.load(available + 4 + 2 * u64::from(self.taken % self.size))?))
    }

    /// Goes through the buffers of a chain until `each` returns that it is done.
    fn walk(
        &self,
        memory: &GuestMemory,
        head: u16,
        writable: bool,
        mut each: impl FnMut(u64, usize) -> Result<bool, RingError>,
    ) -> Result<(), RingError> {
        let [descriptors, ..] = self.addresses.ok_or(RingError::NotReady)?;
        let mut index = head;
        for _ in 0..self.size {
            if index >= self.size {
                break;
            }
            let mut bytes = [0; DESCRIPTOR as usize];
            memory.read(descriptors + DESCRIPTOR * u64::from(index), &mut bytes)?;
            let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
            let address = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            let length = u32::from_le_bytes([i, j, k, l]) as usize;
            let (flags, next) = (u16::from_le_bytes([m, n]), u16::from_le_bytes([o, p]));
            if flags & INDIRECT != 0 || (flags & WRITE != 0) != writable {
                return Err(RingError::Flags { index, flags });
            }
            if !each(address, length)? || flags & NEXT == 0 {
                return Ok(());
            }
            index = next;
        }
        Err(RingError::Chain { head, size: self.size, found: index })
    }
}

#[cfg(test)]
#[path = "ring_tests.rs"]
pub mod tests;
