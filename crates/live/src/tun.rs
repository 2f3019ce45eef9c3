//! TUN devices: data that programs send to the network are read from a device, and data for programs are written to it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;
use std::thread;

use rustix::fs::{Mode, OFlags};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::host::LiveError;

/// Where the system gives out TUN devices.
const DEVICES: &str = "/dev/net/tun";
/// Whether IPv6 is off, in the namespace of who reads or writes it.
const NO_IPV6: [&str; 2] = ["/proc/sys/net/ipv6/conf/all/disable_ipv6", "/proc/sys/net/ipv6/conf/default/disable_ipv6"];

/// A TUN device. It is removed with this value.
#[derive(Debug)]
pub struct Tun {
    file: OwnedFd,
}

impl Tun {
    /// Makes a device of this name in a network namespace, and turns IPv6 off there. The device asks for no offloads:
    /// its datagrams have their checksums, and are not longer than its MTU.
    ///
    /// # Errors
    /// If the namespace cannot be entered, or the device cannot be made.
    pub fn create(namespace: &Path, name: &str) -> Result<Self, LiveError> {
        let is_fit = |it: u8| it.is_ascii_alphanumeric() || b"-_.".contains(&it);
        if !(1..=15).contains(&name.len()) || !name.bytes().all(is_fit) || name.starts_with('.') {
            return Err(LiveError::Name(name.to_owned()));
        }
        // Only the thread that makes the device enters the namespace, and it ends.
        thread::scope(|scope| {
            let made = scope.spawn(|| Self::create_here(namespace, name));
            made.join()
                .unwrap_or_else(|_| Err(LiveError::Device { name: name.to_owned(), error: io::Error::other("panic") }))
        })
    }

    /// Makes a device in a namespace, which the thread enters.
    fn create_here(namespace: &Path, name: &str) -> Result<Self, LiveError> {
        enter(namespace).map_err(|error| LiveError::Namespace { path: namespace.display().to_string(), error })?;
        for setting in NO_IPV6 {
            // A kernel without IPv6 has no such setting.
            if Path::new(setting).exists() {
                fs::write(setting, "1").map_err(|error| LiveError::Namespace {
                    path: format!("{} ({setting})", namespace.display()),
                    error,
                })?;
            }
        }
        open(name).map_err(|error| LiveError::Device { name: name.to_owned(), error })
    }

    /// Takes the first datagram that waits; nothing if there is none.
    ///
    /// # Errors
    /// If the device is gone.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match rustix::io::read(&self.file, buffer) {
            Ok(length) => Ok(Some(length)),
            Err(rustix::io::Errno::AGAIN | rustix::io::Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a datagram to the system.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn send(&self, datagram: &[u8]) -> io::Result<()> {
        let taken = rustix::io::write(&self.file, datagram)?;
        if taken == datagram.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

fn enter(namespace: &Path) -> io::Result<()> {
    let file = fs::File::open(namespace)?;
    move_into_link_name_space(file.as_fd(), Some(LinkNameSpaceType::Network))?;
    Ok(())
}

fn open(name: &str) -> io::Result<Tun> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::open(DEVICES, flags, Mode::empty())
        .map_err(|error| io::Error::new(io::Error::from(error).kind(), format!("{DEVICES}: {error}")))?;
    system::set_interface(&file, name)?;
    Ok(Tun { file })
}

/// The one call that the library has no safe form of.
#[expect(unsafe_code, reason = "the library knows no call for TUN devices")]
mod system {
    use std::ffi::c_int;
    use std::io;
    use std::os::fd::AsFd;

    use rustix::ioctl::{Updater, ioctl, opcode};

    /// A device for IP datagrams (`IFF_TUN`), without four bytes before each (`IFF_NO_PI`).
    const FLAGS: i16 = 0x0001 | 0x1000;
    /// `TUNSETIFF`.
    const SET_INTERFACE: rustix::ioctl::Opcode = opcode::write::<c_int>(b'T', 202);

    /// `struct ifreq`: a name, and a union of 24 bytes on machines of 64 bits, of 16 on machines of 32 bits.
    #[repr(C, align(8))]
    pub struct Request {
        pub name: [u8; 16],
        flags: i16,
        rest: [u8; 22],
    }

    /// Makes the device of this name and connects the file to it.
    pub fn set_interface(file: impl AsFd, name: &str) -> io::Result<()> {
        let mut request = Request { name: [0; 16], flags: FLAGS, rest: [0; 22] };
        // The last byte stays zero.
        for (place, byte) in request.name[..15].iter_mut().zip(name.bytes()) {
            *place = byte;
        }
        // SAFETY: the kernel reads and writes a `struct ifreq` for this opcode (`__tun_chr_ioctl`), and `Request` is
        // one, or longer than one where the union is shorter. Every byte of it is initialised, and any are valid in it.
        unsafe { ioctl(file, Updater::<SET_INTERFACE, Request>::new(&mut request)) }.map_err(io::Error::from)
    }

    #[cfg(test)]
    mod tests {
        use std::mem::{align_of, offset_of, size_of};

        use super::*;

        #[test]
        fn the_request_is_that_of_the_system() {
            assert_eq!((size_of::<Request>(), align_of::<Request>()), (40, 8));
            assert_eq!((offset_of!(Request, name), offset_of!(Request, flags)), (0, 16));
            assert_eq!(SET_INTERFACE, 0x4004_54ca);
        }

        #[test]
        fn a_file_that_gives_no_devices_is_refused() {
            let file = std::fs::File::open("/dev/null").expect("it is there");
            assert!(set_interface(file, "hopyard0").is_err());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_no_device_can_have_are_refused() {
        for name in ["", "sixteen-letters-", "a/b", "a b", ".", ".."] {
            let error = Tun::create(Path::new("/proc/self/ns/net"), name).expect_err(name);
            assert!(matches!(error, LiveError::Name(_)), "{error}");
        }
    }

    #[test]
    fn what_is_no_namespace_is_named() {
        for path in ["/nowhere", "/dev/null"] {
            let error = Tun::create(Path::new(path), "hopyard0").expect_err(path);
            assert!(error.to_string().starts_with(path), "{error}");
        }
    }
}
