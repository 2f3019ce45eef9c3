//! Operations that the compiler cannot check: memory that another process shares, and a child between fork and exec.
//!
//! Everything else of this crate is safe code. The functions here check lengths and sizes, so that their callers cannot
//! do harm with wrong arguments.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// A part of a file that two processes have in their memory.
///
/// No reference to this memory exists, because the other process may write there at any time. Bytes are copied out of
/// the memory and into it. Every value of a byte is valid, so a copy that the other process disturbs is wrong, and not
/// undefined.
#[derive(Debug)]
pub struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    /// Maps `length` bytes of a file from `offset` on.
    ///
    /// # Errors
    /// If the file is shorter than that, or the system refuses.
    pub fn new(file: OwnedFd, offset: u64, length: u64) -> io::Result<Self> {
        let file = File::from(file);
        let (wanted, found) = (offset.checked_add(length), file.metadata()?.len());
        // Memory beyond the end of a file cannot be touched: SIGBUS would end the process.
        let (true, Ok(length)) = (length > 0 && wanted.is_some_and(|it| it <= found), usize::try_from(length)) else {
            let what = format!("expected a file of at least {offset} + {length} bytes, found {found} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, what));
        };
        // SAFETY: the address is the system's choice, so no memory of this process is replaced.
        let start = unsafe {
            mmap(ptr::null_mut(), length, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED, &file, offset)?
        };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Self { start, length })
    }

    /// How many bytes are mapped.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Copies bytes out. Returns whether all of them are within the mapping; nothing is copied if not.
    #[must_use]
    pub fn read(&self, at: usize, into: &mut [u8]) -> bool {
        let Some(from) = self.place(at, into.len()) else { return false };
        // SAFETY: `place` has checked that the bytes are mapped, and `into` is memory of this process alone.
        unsafe { ptr::copy_nonoverlapping(from, into.as_mut_ptr(), into.len()) };
        true
    }

    /// Copies bytes in. Returns whether all of them are within the mapping; nothing is copied if not.
    #[must_use]
    pub fn write(&self, at: usize, from: &[u8]) -> bool {
        let Some(into) = self.place(at, from.len()) else { return false };
        // SAFETY: `place` has checked that the bytes are mapped, and `from` is memory of this process alone.
        unsafe { ptr::copy_nonoverlapping(from.as_ptr(), into, from.len()) };
        true
    }

    /// Loads a counter that the other process stores. Earlier writes of that process are visible afterwards. Nothing if
    /// it is not within the mapping, or its address is odd.
    #[must_use]
    pub fn load(&self, at: usize) -> Option<u16> {
        Some(self.counter(at)?.load(Ordering::Acquire))
    }

    /// Stores a counter that the other process loads. Earlier writes are visible to that process afterwards. Returns
    /// whether it is within the mapping, at an even address.
    #[must_use]
    pub fn store(&self, at: usize, value: u16) -> bool {
        self.counter(at).is_some_and(|counter| {
            counter.store(value, Ordering::Release);
            true
        })
    }

    fn place(&self, at: usize, length: usize) -> Option<*mut u8> {
        let end = at.checked_add(length)?;
        // SAFETY: `at` is at most the length of the mapping.
        (end <= self.length).then(|| unsafe { self.start.as_ptr().add(at) })
    }

    fn counter(&self, at: usize) -> Option<&AtomicU16> {
        let place = self.place(at, 2)?.cast::<u16>();
        // SAFETY: two mapped bytes at an aligned address, which live as long as `self`; this crate touches counters by
        // atomic operations only.
        place.is_aligned().then(|| unsafe { AtomicU16::from_ptr(place) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this is what `mmap` returned, and nothing refers to it any more.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

// SAFETY: the mapping is owned, and memory of a process is the same from each of its threads.
unsafe impl Send for Mapping {}

/// A child of this command is killed when the thread that started it ends, however that happens. Its addresses are not
/// random: the size of a user-mode kernel's memory depends on where its heap begins.
pub fn bind_to_parent(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let prepare = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended before that: nobody would kill the child then.
        if getppid() != Some(parent) {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        // SAFETY: a system call without pointers.
        let before = unsafe { libc::personality(0xffff_ffff) };
        // SAFETY: as above.
        if before < 0 || unsafe { libc::personality((before | libc::ADDR_NO_RANDOMIZE) as libc::c_ulong) } < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    };
    // SAFETY: between fork and exec of a process with several threads only functions that are safe in a signal handler
    // may run. These are system calls; they take no lock, and an error of these kinds allocates nothing.
    unsafe { command.pre_exec(prepare) }
}

/// The processor time of all threads of a process (`clock_getcpuclockid`, POSIX.1-2008). Nothing if there is no such
/// process.
pub fn processor_time(pid: u32) -> Option<Duration> {
    let mut clock = 0;
    // SAFETY: the function writes one number, to which it gets a pointer.
    if unsafe { libc::clock_getcpuclockid(pid.cast_signed(), &raw mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above, with two numbers.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return None;
    }
    Some(Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    fn file(length: u64) -> OwnedFd {
        let file = memfd_create("guest", MemfdFlags::CLOEXEC).expect("a file in memory");
        ftruncate(&file, length).expect("it grows");
        file
    }

    #[test]
    fn two_mappings_of_a_file_are_the_same_memory() {
        let file = file(8192);
        let ours = Mapping::new(file.try_clone().expect("a copy"), 4096, 4096).expect("mapped");
        let theirs = Mapping::new(file, 0, 8192).expect("mapped");
        assert!(ours.write(10, b"hello"));
        let mut found = [0; 5];
        assert!(theirs.read(4096 + 10, &mut found));
        assert_eq!(&found, b"hello");
        assert!(theirs.store(4096, 0xabcd));
        assert_eq!(ours.load(0), Some(0xabcd));
    }

    #[test]
    fn nothing_beyond_a_mapping_is_touched() {
        let mapping = Mapping::new(file(4096), 0, 4096).expect("mapped");
        let mut two = [0; 2];
        assert!(mapping.read(4094, &mut two));
        for at in [4095, 4096, usize::MAX] {
            assert!(!mapping.read(at, &mut two), "{at}");
            assert!(!mapping.write(at, &two), "{at}");
            assert_eq!(mapping.load(at), None, "{at}");
            assert!(!mapping.store(at, 1), "{at}");
        }
        assert_eq!(mapping.load(3), None, "an odd address");
    }

    #[test]
    fn a_file_that_is_too_short_is_not_mapped() {
        for (offset, length) in [(0, 4097), (4096, 1), (u64::MAX, 2), (0, 0)] {
            let error = Mapping::new(file(4096), offset, length).expect_err("too long");
            assert!(error.to_string().contains("found 4096 bytes"), "{error}");
        }
    }

    #[test]
    fn the_addresses_of_a_child_are_not_random() {
        let mut command = Command::new("cat");
        let output = bind_to_parent(command.arg("/proc/self/personality").stdin(Stdio::null())).output();
        let Ok(output) = output else {
            return assert!(
                output.is_err_and(|it| it.kind() == io::ErrorKind::PermissionDenied),
                "personality refused"
            );
        };
        let text = String::from_utf8(output.stdout).expect("text");
        let personality = i32::from_str_radix(text.trim(), 16).expect("a number");
        assert_ne!(personality & libc::ADDR_NO_RANDOMIZE, 0, "{text}");
    }
}
