//! The messages on a kernel's time socket (the kernel's `include/uapi/linux/um_timetravel.h`).
//!
//! A message has 16 bytes: operation, sequence number, time in nanoseconds. The receiver answers each one with ACK and
//! the same sequence number, so that at most one message of each side is on its way.

use strum::FromRepr;

/// How many bytes a message has.
pub const LENGTH: usize = 16;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromRepr)]
#[repr(u32)]
pub enum Operation {
    /// The answer to any message; the time is the answer to GET and `GET_TOD`.
    Ack = 0,
    /// From a kernel, first of all: it is there. It runs as soon as this is acknowledged.
    Start = 1,
    /// From a kernel: it wishes to run at a time. The last wish counts.
    Request = 2,
    /// From a kernel: it does nothing more until RUN.
    Wait = 3,
    /// From a kernel: what time is it?
    Get = 4,
    /// From a kernel that runs: it has come to this time.
    Update = 5,
    /// To a kernel that waits: it runs now, at this time.
    Run = 6,
    /// To a kernel: before this time it may go on without a wish.
    FreeUntil = 7,
    /// From a kernel: what is the time of day?
    GetTimeOfDay = 8,
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its kind.
    pub operation: Operation,
    /// Its number, which the answer repeats.
    pub sequence: u32,
    /// A time in nanoseconds; zero if the operation has none.
    pub time: u64,
}

impl Message {
    /// The bytes of a message. User-mode kernels run on the processor of their host, whose order of bytes they use.
    #[must_use]
    pub fn bytes(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..4].copy_from_slice(&(self.operation as u32).to_ne_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_ne_bytes());
        bytes[8..].copy_from_slice(&self.time.to_ne_bytes());
        bytes
    }

    /// The message of these bytes, or the number of an operation that there is not.
    ///
    /// # Errors
    /// If there is no such operation.
    pub fn parse(bytes: [u8; LENGTH]) -> Result<Self, u32> {
        let [a, b, c, d, e, f, g, h, time @ ..] = bytes;
        let number = u32::from_ne_bytes([a, b, c, d]);
        let operation = Operation::from_repr(number).ok_or(number)?;
        Ok(Self { operation, sequence: u32::from_ne_bytes([e, f, g, h]), time: u64::from_ne_bytes(time) })
    }

    /// The answer to this message.
    #[must_use]
    pub fn answer(self, time: u64) -> Self {
        Self { operation: Operation::Ack, sequence: self.sequence, time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_operation_has_its_number() {
        for number in 0..9_u32 {
            let operation = Operation::from_repr(number).expect("there are nine");
            let message = Message { operation, sequence: 7, time: u64::MAX - 1 };
            assert_eq!(message.bytes()[..4], number.to_ne_bytes());
            assert_eq!(Message::parse(message.bytes()), Ok(message));
        }
    }

    #[test]
    fn an_unknown_operation_is_named() {
        let mut bytes = Message { operation: Operation::Ack, sequence: 0, time: 0 }.bytes();
        bytes[0] = 9;
        assert_eq!(Message::parse(bytes), Err(9));
    }
}
