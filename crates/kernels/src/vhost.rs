//! The messages between a kernel and a device outside it: vhost-user with in-band notifications (the kernel's
//! `arch/um/drivers/vhost_user.h`; QEMU's document "Vhost-user Protocol").
//!
//! A message has a header of 12 bytes: the number of its kind, flags, and the length of the rest. Kernel and device are
//! programs of one machine, and use its order of bytes.

use crate::memory::Region;

/// How many bytes the header of a message has.
pub const HEADER: usize = 12;
/// How many bytes may follow a header: a configuration of 256 bytes, or two regions of memory.
pub const MOST_PAYLOAD: usize = 512;

/// The version of the protocol, in the flags.
const VERSION: u32 = 1;
const REPLY: u32 = 4;
const NEED_REPLY: u32 = 8;

/// A device's message to the kernel: a queue has news.
const VRING_CALL: u32 = 4;

/// A device's message to the kernel: its configuration has changed (`VHOST_USER_SLAVE_CONFIG_CHANGE_MSG`).
const CONFIG_CHANGE: u32 = 2;

/// Features that a device can have.
pub mod features {
    /// The configuration has the longest payload of a frame (`VIRTIO_NET_F_MTU`).
    pub const MTU: u64 = 1 << 3;
    /// The device has a MAC address of its own (`VIRTIO_NET_F_MAC`).
    pub const MAC: u64 = 1 << 5;
    /// The configuration says whether there is a carrier (`VIRTIO_NET_F_STATUS`).
    pub const STATUS: u64 = 1 << 16;
    /// There are protocol features (`VHOST_USER_F_PROTOCOL_FEATURES`).
    pub const PROTOCOL_FEATURES: u64 = 1 << 30;
    /// Virtio 1.0 or later (`VIRTIO_F_VERSION_1`).
    pub const VERSION_1: u64 = 1 << 32;
    /// The configuration has the rate of the link (`VIRTIO_NET_F_SPEED_DUPLEX`).
    pub const SPEED_DUPLEX: u64 = 1 << 63;
}

/// Features of the protocol.
pub mod protocol_features {
    /// Each message can be answered.
    pub const REPLY_ACK: u64 = 1 << 3;
    /// The device can send messages, on a socket of their own.
    pub const REQUESTS: u64 = 1 << 5;
    /// The device has a configuration.
    pub const CONFIG: u64 = 1 << 9;
    /// Notifications are messages, and not signals of an eventfd; so time cannot pass while one is on its way.
    pub const INBAND_NOTIFICATIONS: u64 = 1 << 14;
}

/// A header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The number of its kind.
    pub request: u32,
    /// Whether the kernel waits for an answer that the request has not of itself.
    pub needs_reply: bool,
    /// How many bytes follow.
    pub length: usize,
}

/// A request of a kernel to a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Which features the device has.
    GetFeatures,
    /// The features that the kernel uses.
    SetFeatures(u64),
    /// The kernel owns the device from now on.
    SetOwner,
    /// Where the guest's memory is; a file for each region comes with the message.
    SetMemory(Vec<Region>),
    /// The size of a queue.
    SetSize { queue: u32, value: u32 },
    /// The number of chains that were taken from a queue.
    SetBase { queue: u32, value: u32 },
    /// A queue stops: how many chains were taken from it.
    GetBase { queue: u32 },
    /// Where a queue is.
    SetAddresses { queue: u32, descriptors: u64, available: u64, used: u64 },
    /// A queue begins, or stops.
    Enable { queue: u32, value: u32 },
    /// Which features of the protocol the device has.
    GetProtocolFeatures,
    /// The features of the protocol that the kernel uses.
    SetProtocolFeatures(u64),
    /// The socket for messages of the device comes with the message.
    SetRequestSocket,
    /// The device's configuration.
    GetConfig { offset: u32, size: u32 },
    /// The kernel writes the configuration.
    SetConfig,
    /// A queue has news.
    Kick { queue: u32 },
}

/// Why a message cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VhostError {
    /// The kernel asks for a feature that a network device of this crate does not have.
    #[error("a request that this device does not know: {0}")]
    Unknown(u32),
    /// A message is not as long as its kind.
    #[error("request {request}: expected {expected} bytes or more, found {found}")]
    Length {
        /// The kind.
        request: u32,
        /// How many bytes it has.
        expected: usize,
        /// How many bytes there are.
        found: usize,
    },
    /// The flags belong to another version.
    #[error("expected a message of version {VERSION}, found the flags {0:#x}")]
    Version(u32),
    /// More follows than in any message.
    #[error("expected a message of at most {MOST_PAYLOAD} bytes, found {0}")]
    Long(u32),
}

impl Header {
    /// The header of these bytes.
    ///
    /// # Errors
    /// If it is none of this version, or too much follows.
    pub fn parse(bytes: [u8; HEADER]) -> Result<Self, VhostError> {
        let [request, flags, length] = [word(&bytes, 0), word(&bytes, 4), word(&bytes, 8)];
        if flags & 3 != VERSION {
            return Err(VhostError::Version(flags));
        }
        if length as usize > MOST_PAYLOAD {
            return Err(VhostError::Long(length));
        }
        Ok(Self { request, needs_reply: flags & NEED_REPLY != 0, length: length as usize })
    }
}

impl Request {
    /// The request in a message.
    ///
    /// # Errors
    /// If it is unknown, or too short.
    pub fn parse(header: Header, payload: &[u8]) -> Result<Self, VhostError> {
        let request = header.request;
        let need = |expected| {
            let found = payload.len();
            if found >= expected { Ok(()) } else { Err(VhostError::Length { request, expected, found }) }
        };
        let number = || need(8).map(|()| long(payload, 0));
        let state = || need(8).map(|()| (word(payload, 0), word(payload, 4)));
        Ok(match request {
            1 => Self::GetFeatures,
            2 => Self::SetFeatures(number()?),
            3 => Self::SetOwner,
            5 => {
                need(8)?;
                let count = word(payload, 0) as usize;
                need(8 + 32 * count.min(MOST_PAYLOAD))?;
                let region = |at| Region {
                    size: long(payload, at + 8),
                    address: long(payload, at + 16),
                    offset: long(payload, at + 24),
                };
                Self::SetMemory((0..count).map(|number| region(8 + 32 * number)).collect())
            }
            8 => state().map(|(queue, value)| Self::SetSize { queue, value })?,
            9 => {
                need(40)?;
                Self::SetAddresses {
                    queue: word(payload, 0),
                    descriptors: long(payload, 8),
                    used: long(payload, 16),
                    available: long(payload, 24),
                }
            }
            10 => state().map(|(queue, value)| Self::SetBase { queue, value })?,
            11 => state().map(|(queue, _)| Self::GetBase { queue })?,
            15 => Self::GetProtocolFeatures,
            16 => Self::SetProtocolFeatures(number()?),
            18 => state().map(|(queue, value)| Self::Enable { queue, value })?,
            21 => Self::SetRequestSocket,
            24 => {
                need(12)?;
                Self::GetConfig { offset: word(payload, 0), size: word(payload, 4) }
            }
            25 => Self::SetConfig,
            35 => state().map(|(queue, _)| Self::Kick { queue })?,
            unknown => return Err(VhostError::Unknown(unknown)),
        })
    }
}

/// The answer to a request.
pub fn reply(request: u32, payload: &[u8]) -> Vec<u8> {
    message(request, VERSION | REPLY, payload)
}

/// The message that a queue has news, which the kernel answers.
pub fn call(queue: u32) -> Vec<u8> {
    let mut payload = [0; 8];
    payload[..4].copy_from_slice(&queue.to_ne_bytes());
    message(VRING_CALL, VERSION | NEED_REPLY, &payload)
}

/// The message that the configuration of the device has changed, which the kernel answers.
pub fn config_changed() -> Vec<u8> {
    message(CONFIG_CHANGE, VERSION | NEED_REPLY, &[])
}

fn message(request: u32, flags: u32, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(HEADER + payload.len());
    for word in [request, flags, payload.len() as u32] {
        bytes.extend(word.to_ne_bytes());
    }
    bytes.extend(payload);
    bytes
}

/// Four bytes that are there, as the caller knows.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

/// Eight bytes that are there, as the caller knows.
fn long(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].try_into().map_or(0, u64::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn words(words: &[u32]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_ne_bytes()).collect()
    }

    fn parse(request: u32, payload: &[u8]) -> Result<Request, VhostError> {
        Request::parse(Header { request, needs_reply: false, length: payload.len() }, payload)
    }

    #[test]
    fn a_header_has_three_words() {
        let bytes = |flags, length| words(&[35, flags, length]).try_into().expect("12 bytes");
        let header = Header { request: 35, needs_reply: true, length: 8 };
        assert_eq!(Header::parse(bytes(VERSION | NEED_REPLY, 8)), Ok(header));
        assert_eq!(Header::parse(bytes(2, 8)), Err(VhostError::Version(2)));
        assert_eq!(Header::parse(bytes(VERSION, 513)), Err(VhostError::Long(513)));
    }

    #[test]
    fn requests_are_read() {
        assert_eq!(parse(2, &words(&[1, 2])), Ok(Request::SetFeatures(1 | 2 << 32)));
        assert_eq!(parse(8, &words(&[1, 256])), Ok(Request::SetSize { queue: 1, value: 256 }));
        let addresses = Request::SetAddresses { queue: 1, descriptors: 2, used: 3, available: 4 };
        assert_eq!(parse(9, &words(&[1, 0, 2, 0, 3, 0, 4, 0, 5, 0])), Ok(addresses));
        let region = Region { size: 4096, address: 0x6000_0000, offset: 8192 };
        let table = words(&[1, 0, 7, 0, 4096, 0, 0x6000_0000, 0, 8192, 0]);
        assert_eq!(parse(5, &table), Ok(Request::SetMemory(vec![region])));
        assert_eq!(parse(24, &words(&[0, 6, 0])), Ok(Request::GetConfig { offset: 0, size: 6 }));
        assert_eq!(parse(35, &words(&[1, 0])), Ok(Request::Kick { queue: 1 }));
    }

    #[test]
    fn what_is_unknown_or_too_short_is_refused() {
        assert_eq!(parse(99, &[]), Err(VhostError::Unknown(99)));
        assert_eq!(parse(35, &[1]), Err(VhostError::Length { request: 35, expected: 8, found: 1 }));
        let length = VhostError::Length { request: 5, expected: 72, found: 40 };
        assert_eq!(parse(5, &words(&[2, 0, 0, 0, 0, 0, 0, 0, 0, 0])), Err(length));
    }

    #[test]
    fn answers_and_calls_have_their_flags() {
        assert_eq!(reply(1, &[7]), [words(&[1, 5, 1]), vec![7]].concat());
        assert_eq!(call(1), words(&[4, 9, 8, 1, 0]));
        assert_eq!(config_changed(), words(&[2, 9, 0]));
    }

    proptest! {
        #[test]
        fn no_message_is_a_panic(request in 0u32..40, payload in prop::collection::vec(any::<u8>(), 0..MOST_PAYLOAD)) {
            let _ = parse(request, &payload);
        }
    }
}
