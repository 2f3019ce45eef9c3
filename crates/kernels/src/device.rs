//! A network device of a kernel (virtio 1.2 §5.1), or the radio of its Wi-Fi.
//!
//! The network device offers neither checksums nor segmentation nor merged buffers, so that each buffer is one frame as
//! on a wire, with its true checksums. The radio is device 29 of virtio, which has no section in virtio 1.2: its driver
//! is Linux's `mac80211_hwsim`. Its buffers are messages of netlink without a header, and its queues have the opposite
//! order. This part knows no socket: [`crate::guest`] reads and writes the messages.

use std::io;
use std::os::fd::OwnedFd;

use crate::memory::GuestMemory;
use crate::ring::{Queue, RingError};
use crate::settings::{Kind, Nic};
use crate::vhost::{Request, features, protocol_features};

/// The header before each frame of Ethernet (`struct virtio_net_hdr_mrg_rxbuf`).
const FRAME_HEADER: usize = 12;
/// Where this header has the number of buffers, which is one.
const BUFFERS: usize = 10;
/// The longest frame: an IP packet of 65,535 bytes and an Ethernet header.
const MOST_FRAME: usize = 65_535 + 14;

/// A fault of a kernel in its use of a device.
#[derive(Debug, thiserror::Error)]
pub enum DeviceError {
    /// A queue.
    #[error("queue {queue}: {error}")]
    Queue {
        /// The queue.
        queue: usize,
        /// The fault of the queue.
        error: RingError,
    },
    /// There is no such queue.
    #[error("expected queue 0 or 1, found {0}")]
    NoQueue(u32),
    /// The memory cannot be mapped.
    #[error("the memory of the guest cannot be mapped: {0}")]
    Memory(#[from] io::Error),
    /// A message comes without its files.
    #[error("expected {expected} files with a message, found {found}")]
    Files {
        /// How many there should be.
        expected: usize,
        /// How many there are.
        found: usize,
    },
    /// The kernel leaves out what this device needs.
    #[error("the kernel does not accept the {what} {needed:#x}, found {found:#x}")]
    Refused {
        /// Which features.
        what: &'static str,
        /// The needed value.
        needed: u64,
        /// The value that the kernel accepts.
        found: u64,
    },
    /// A frame is shorter than its header.
    #[error("expected a frame after a header of {FRAME_HEADER} bytes, found {0} bytes")]
    Short(usize),
}

/// The answer of a device.
#[derive(Debug)]
pub enum Answer {
    /// That it is done, if the kernel wants to know.
    Done,
    /// A value.
    Value(Vec<u8>),
    /// The socket for messages of the device.
    Socket(OwnedFd),
    /// A queue has news, which have to be looked at before the answer.
    Kicked(usize),
}

/// The fate of a frame for a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Received {
    /// It is in a buffer; the kernel has to be called, unless it looks by itself.
    Filled {
        /// Whether it has to be called.
        call: bool,
    },
    /// There was no buffer.
    NoBuffer,
    /// The kernel has not enabled the device.
    Down,
}

/// `DUPLEX_FULL` of ethtool: a half-duplex link would be Ethernet's, with its collisions.
const FULL_DUPLEX: u8 = 1;

/// Features of every device, and further features of an Ethernet device.
const OFFERED: u64 = features::PROTOCOL_FEATURES | features::VERSION_1;
const OF_ETHERNET: u64 = features::MAC;
const PROTOCOL_OFFERED: u64 = protocol_features::REPLY_ACK
    | protocol_features::REQUESTS
    | protocol_features::CONFIG
    | protocol_features::INBAND_NOTIFICATIONS;

/// A network device.
#[derive(Debug, Default)]
pub struct Device {
    nic: Nic,
    memory: GuestMemory,
    queues: [Queue; 2],
    buffer: Vec<u8>,
}

impl Device {
    /// A device with a MAC address, and perhaps with what it says of its link.
    pub fn new(nic: Nic) -> Self {
        Self { nic, ..Self::default() }
    }

    /// A device that has memory, and this queue for the kernel.
    #[cfg(test)]
    pub fn with_queue(nic: Nic, memory: GuestMemory, queue: Queue) -> Self {
        let mut device = Self { memory, ..Self::new(nic) };
        let number = device.receives();
        device.queues[number] = queue;
        device
    }

    /// There is a carrier from now on, or none. Returns whether that is new to a kernel that asks for it.
    pub fn set_carrier(&mut self, carrier: bool) -> bool {
        self.nic.link.as_mut().is_some_and(|link| std::mem::replace(&mut link.carrier, carrier) != carrier)
    }

    /// The features of the device.
    fn offered(&self) -> u64 {
        let of_link = features::MTU | features::STATUS | features::SPEED_DUPLEX;
        match (self.nic.kind, self.nic.link) {
            (Kind::Radio, _) => OFFERED,
            (Kind::Ethernet, None) => OFFERED | OF_ETHERNET,
            (Kind::Ethernet, Some(_)) => OFFERED | OF_ETHERNET | of_link,
        }
    }

    /// The number of its kind (virtio 1.2 §5).
    pub const fn number(&self) -> u32 {
        match self.nic.kind {
            Kind::Ethernet => 1,
            Kind::Radio => 29,
        }
    }

    /// The queue of frames or messages for the kernel.
    pub const fn receives(&self) -> usize {
        match self.nic.kind {
            Kind::Ethernet => 0,
            Kind::Radio => 1,
        }
    }

    /// The queue of those of the kernel.
    pub const fn transmits(&self) -> usize {
        1 - self.receives()
    }

    /// The bytes before each of them.
    const fn header(&self) -> usize {
        match self.nic.kind {
            Kind::Ethernet => FRAME_HEADER,
            Kind::Radio => 0,
        }
    }

    /// Does what a kernel asks for.
    ///
    /// # Errors
    /// If that cannot be.
    pub fn handle(&mut self, request: Request, mut files: Vec<OwnedFd>) -> Result<Answer, DeviceError> {
        match request {
            Request::GetFeatures => return Ok(Answer::Value(self.offered().to_ne_bytes().into())),
            Request::GetProtocolFeatures => return Ok(Answer::Value(PROTOCOL_OFFERED.to_ne_bytes().into())),
            Request::SetFeatures(found) => {
                if found & features::VERSION_1 == 0 {
                    return Err(DeviceError::Refused { what: "feature", needed: features::VERSION_1, found });
                }
            }
            Request::SetProtocolFeatures(found) => {
                if found & PROTOCOL_OFFERED != PROTOCOL_OFFERED {
                    let what = "features of the protocol";
                    return Err(DeviceError::Refused { what, needed: PROTOCOL_OFFERED, found });
                }
            }
            Request::SetOwner | Request::SetConfig => {}
            Request::SetMemory(regions) => {
                if regions.len() != files.len() {
                    return Err(DeviceError::Files { expected: regions.len(), found: files.len() });
                }
                self.memory = GuestMemory::new(regions.into_iter().zip(files))?;
            }
            Request::SetSize { queue, value } => {
                let (number, queue) = self.queue(queue)?;
                queue.set_size(value).map_err(|error| DeviceError::Queue { queue: number, error })?;
            }
            Request::SetBase { queue, value } => self.queue(queue)?.1.set_base(value),
            Request::GetBase { queue } => {
                let it = self.queue(queue)?.1;
                it.enable(false);
                return Ok(Answer::Value([queue, it.base()].map(u32::to_ne_bytes).concat()));
            }
            Request::SetAddresses { queue, descriptors, available, used } => {
                self.queue(queue)?.1.set_addresses(descriptors, available, used);
            }
            Request::Enable { queue, value } => self.queue(queue)?.1.enable(value != 0),
            Request::SetRequestSocket => {
                let (1, Some(socket)) = (files.len(), files.pop()) else {
                    return Err(DeviceError::Files { expected: 1, found: files.len() });
                };
                return Ok(Answer::Socket(socket));
            }
            Request::GetConfig { offset, size } => return Ok(Answer::Value(self.config(offset, size))),
            Request::Kick { queue } => return Ok(Answer::Kicked(self.queue(queue)?.0)),
        }
        Ok(Answer::Done)
    }

    /// Takes a frame that the kernel sends, with the number of its buffer.
    ///
    /// # Errors
    /// If the kernel broke a rule.
    pub fn take(&mut self) -> Result<Option<(u16, &[u8])>, DeviceError> {
        let (number, header) = (self.transmits(), self.header());
        let queue = &mut self.queues[number];
        if !queue.is_ready() {
            return Ok(None);
        }
        let taken = queue.take(&self.memory, header + MOST_FRAME, &mut self.buffer);
        let Some(head) = taken.map_err(|error| DeviceError::Queue { queue: number, error })? else {
            return Ok(None);
        };
        let frame = self.buffer.get(header..).ok_or(DeviceError::Short(self.buffer.len()))?;
        Ok(Some((head, frame)))
    }

    /// Gives the buffer of a frame back that has been sent. Returns whether the kernel has to be called.
    ///
    /// # Errors
    /// If the kernel broke a rule.
    pub fn sent(&mut self, head: u16) -> Result<bool, DeviceError> {
        let number = self.transmits();
        let queue = &mut self.queues[number];
        if !queue.is_ready() {
            return Ok(false);
        }
        let given = queue.give(&self.memory, head, 0).and_then(|()| queue.wants_call(&self.memory));
        given.map_err(|error| DeviceError::Queue { queue: number, error })
    }

    /// A frame reaches the kernel, or a message its radio.
    ///
    /// # Errors
    /// If the kernel broke a rule.
    pub fn receive(&mut self, frame: &[u8]) -> Result<Received, DeviceError> {
        let (number, header) = (self.receives(), self.header());
        let queue = &mut self.queues[number];
        if !queue.is_ready() {
            return Ok(Received::Down);
        }
        self.buffer.clear();
        self.buffer.resize(header, 0);
        if let Some(buffers) = self.buffer.get_mut(BUFFERS) {
            *buffers = 1;
        }
        self.buffer.extend(frame);
        let mut put = || {
            if !queue.fill(&self.memory, &self.buffer)? {
                return Ok(Received::NoBuffer);
            }
            Ok(Received::Filled { call: queue.wants_call(&self.memory)? })
        };
        put().map_err(|error| DeviceError::Queue { queue: number, error })
    }

    fn queue(&mut self, number: u32) -> Result<(usize, &mut Queue), DeviceError> {
        let place = number as usize;
        self.queues.get_mut(place).map(|queue| (place, queue)).ok_or(DeviceError::NoQueue(number))
    }

    /// The answer to a question for the configuration: the question, and the bytes from `offset` on. The configuration
    /// (`struct virtio_net_config`) begins with the MAC address. The bytes of features that the device has not are
    /// zero.
    fn config(&self, offset: u32, size: u32) -> Vec<u8> {
        let mut answer = [offset, size, 0].map(u32::to_ne_bytes).concat();
        let size = (size as usize).min(crate::vhost::MOST_PAYLOAD - answer.len());
        let mut all = self.nic.mac.to_vec();
        if let Some(link) = self.nic.link {
            // The pairs of queues between status and MTU are of another feature.
            for field in [u16::from(link.carrier), 0, link.mtu] {
                all.extend(field.to_le_bytes());
            }
            all.extend(link.speed.to_le_bytes());
            all.push(FULL_DUPLEX);
        }
        answer.extend(all.into_iter().chain(std::iter::repeat(0)).skip(offset as usize).take(size));
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(answer: Result<Answer, DeviceError>) -> Vec<u8> {
        let Ok(Answer::Value(value)) = answer else { panic!("expected a value, found {answer:?}") };
        value
    }

    #[test]
    fn only_what_leaves_frames_as_they_are_is_offered() {
        let mut device = Device::new([2, 0, 0, 0, 0, 1].into());
        let offered = value(device.handle(Request::GetFeatures, vec![]));
        assert_eq!(u64::from_ne_bytes(offered.try_into().expect("8 bytes")), 1 << 5 | 1 << 30 | 1 << 32);
        let offered = value(device.handle(Request::GetProtocolFeatures, vec![]));
        assert_eq!(u64::from_ne_bytes(offered.try_into().expect("8 bytes")), 1 << 3 | 1 << 5 | 1 << 9 | 1 << 14);
    }

    #[test]
    fn a_kernel_without_inband_notifications_is_refused() {
        let mut device = Device::default();
        let error = device.handle(Request::SetProtocolFeatures(1 << 3), vec![]).expect_err("refused");
        assert_eq!(error.to_string(), "the kernel does not accept the features of the protocol 0x4228, found 0x8");
        assert!(device.handle(Request::SetFeatures(1 << 5), vec![]).is_err());
        assert!(device.handle(Request::SetFeatures(OFFERED), vec![]).is_ok());
    }

    #[test]
    fn the_configuration_begins_with_the_mac_address() {
        let mut device = Device::new([2, 1, 4, 1, 5, 9].into());
        let answer = value(device.handle(Request::GetConfig { offset: 0, size: 8 }, vec![]));
        assert_eq!(answer, [0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 2, 1, 4, 1, 5, 9, 0, 0]);
        let answer = value(device.handle(Request::GetConfig { offset: 4, size: 2 }, vec![]));
        assert_eq!(answer[12..], [5, 9]);
    }

    #[test]
    fn a_link_has_a_carrier_an_mtu_and_a_speed() {
        let link = Some(crate::settings::Medium { mtu: 2296, speed: 54, carrier: true });
        let mut device = Device::new(Nic { link, ..[2, 0, 0, 0, 0, 1].into() });
        let offered = value(device.handle(Request::GetFeatures, vec![]));
        let of_link = 1 << 3 | 1 << 16 | 1 << 63;
        assert_eq!(u64::from_ne_bytes(offered.try_into().expect("8 bytes")), 1 << 5 | 1 << 30 | 1 << 32 | of_link);
        let answer = value(device.handle(Request::GetConfig { offset: 6, size: 12 }, vec![]));
        assert_eq!(answer[12..], [1, 0, 0, 0, 0xf8, 8, 54, 0, 0, 0, 1, 0]);
        assert_eq!([false, false, true].map(|carrier| device.set_carrier(carrier)), [true, false, true]);
        assert!(!Device::default().set_carrier(true), "its kernel does not ask");
    }

    /// The radio has the opposite queues of a network device, and no features of its own.
    #[test]
    fn a_radio_is_no_network_device() {
        let mut radio = Device::new(Nic { kind: Kind::Radio, ..Nic::default() });
        let offered = value(radio.handle(Request::GetFeatures, vec![]));
        assert_eq!(u64::from_ne_bytes(offered.try_into().expect("8 bytes")), 1 << 30 | 1 << 32);
        assert_eq!((radio.number(), radio.receives(), radio.transmits()), (29, 1, 0));
        let network = Device::default();
        assert_eq!((network.number(), network.receives(), network.transmits()), (1, 0, 1));
    }

    #[test]
    fn files_must_come_with_their_messages() {
        let mut device = Device::default();
        let region = crate::memory::Region { address: 0, size: 1, offset: 0 };
        let error = device.handle(Request::SetMemory(vec![region]), vec![]).expect_err("no file");
        assert_eq!(error.to_string(), "expected 1 files with a message, found 0");
        assert!(device.handle(Request::SetRequestSocket, vec![]).is_err());
        assert!(matches!(device.handle(Request::Kick { queue: 2 }, vec![]), Err(DeviceError::NoQueue(2))));
    }

    #[test]
    fn a_device_that_is_down_takes_and_gives_nothing() {
        let mut device = Device::default();
        assert!(matches!(device.take(), Ok(None)));
        assert!(matches!(device.sent(0), Ok(false)));
        assert!(matches!(device.receive(&[0; 60]), Ok(Received::Down)));
    }
}
