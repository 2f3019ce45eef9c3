//! The messages between the simulation and the agent, the first process of a guest.
//!
//! Orders are a file of the guest's first file system. Reports are appended to a file in the folder of the run. The
//! guest reaches this file through `hostfs`, which writes at once: a report is complete before the agent goes on. A
//! report takes no simulated time, and its path is no part of the kernel's command line.
//!
//! A message begins with its length in bytes, its kind, and its time (zero in orders). Its fields follow in the order
//! of their declaration, in the byte order of the processor, which both sides share. A text ends with a zero, a list
//! with the message. `messages.h` of the agent declares the same messages. A test compares both.

use std::net::{Ipv4Addr, Ipv6Addr};

use hopyard_engine::{Span, Time};

/// The bytes before the fields of a message: length, kind, time.
const HEAD: usize = 16;

/// A part of a message.
trait Field: Sized {
    /// The type in C; empty for texts and lists, which have no place of their own.
    const C: &str = "";

    fn put(&self, bytes: &mut Vec<u8>);

    /// The next field of a message, if it is there.
    fn take(bytes: &mut &[u8]) -> Option<Self>;
}

macro_rules! fields {
    ($($type:ty, $c:literal, $to:expr, $from:expr;)+) => { $(
        impl Field for $type {
            const C: &str = $c;

            fn put(&self, bytes: &mut Vec<u8>) {
                let to: fn(Self) -> _ = $to;
                bytes.extend(to(*self));
            }

            fn take(bytes: &mut &[u8]) -> Option<Self> {
                let from: fn(_) -> Self = $from;
                let (first, rest) = bytes.split_first_chunk()?;
                *bytes = rest;
                Some(from(*first))
            }
        }
    )+ };
}

fields! {
    u8, "uint8_t", Self::to_ne_bytes, Self::from_ne_bytes;
    u16, "uint16_t", Self::to_ne_bytes, Self::from_ne_bytes;
    u32, "uint32_t", Self::to_ne_bytes, Self::from_ne_bytes;
    i32, "int32_t", Self::to_ne_bytes, Self::from_ne_bytes;
    u64, "uint64_t", Self::to_ne_bytes, Self::from_ne_bytes;
    // None is -1.
    Option<u64>, "int64_t", |it| it.unwrap_or(u64::MAX).to_ne_bytes(),
        |it| Some(u64::from_ne_bytes(it)).filter(|it| *it < u64::MAX);
    Time, "int64_t", |it| it.nanos().to_ne_bytes(), |it| Self::from_nanos(u64::from_ne_bytes(it));
    Span, "int64_t", |it| it.nanos().to_ne_bytes(), |it| Self::from_nanos(u64::from_ne_bytes(it));
    // In the byte order of the network.
    Ipv4Addr, "struct in_addr", |it| it.octets(), <Self as From<[u8; 4]>>::from;
    Ipv6Addr, "struct in6_addr", |it| it.octets(), <Self as From<[u8; 16]>>::from;
}

impl Field for String {
    fn put(&self, bytes: &mut Vec<u8>) {
        bytes.extend(self.bytes());
        bytes.push(0);
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        let end = bytes.iter().position(|&it| it == 0)?;
        let text = bytes.split_off(..=end)?;
        Some(Self::from_utf8_lossy(&text[..end]).into_owned())
    }
}

impl<T: Field> Field for Vec<T> {
    fn put(&self, bytes: &mut Vec<u8>) {
        self.iter().for_each(|it| it.put(bytes));
    }

    fn take(bytes: &mut &[u8]) -> Option<Self> {
        std::iter::from_fn(|| (!bytes.is_empty()).then(|| T::take(bytes))).collect()
    }
}

/// Messages of one direction: for each its kind, and its fields.
macro_rules! messages {
    ($(#[$about:meta])* $name:ident {
        $($(#[$doc:meta])* $kind:literal: $message:ident { $($field:ident: $type:ty),* })+
    }) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the text of a message says what its fields are")]
        pub enum $name {
            $($(#[$doc])* $message { $($field: $type),* },)+
        }

        impl $name {
            /// The bytes of a message.
            #[must_use]
            pub fn bytes(&self, at: Time) -> Vec<u8> {
                let mut bytes = vec![0; HEAD];
                let kind: u32 = match self {
                    $(Self::$message { $($field),* } => { $($field.put(&mut bytes);)* $kind })+
                };
                let length = (bytes.len() as u32).to_ne_bytes();
                bytes[..HEAD].copy_from_slice(&[&length[..], &kind.to_ne_bytes(), &at.nanos().to_ne_bytes()].concat());
                bytes
            }

            /// The first of the messages in these bytes, which it leaves; nothing if it is not whole yet.
            ///
            /// # Errors
            /// If it is none of these messages.
            pub fn take(bytes: &mut &[u8]) -> Result<Option<(Time, Self)>, String> {
                let mut rest = *bytes;
                let (Some(length), Some(kind)) = (u32::take(&mut rest), u32::take(&mut rest)) else { return Ok(None) };
                let whole = (length as usize).max(HEAD);
                let Some(mut fields) = bytes.get(8..whole) else { return Ok(None) };
                let found = (|| {
                    let at = Time::take(&mut fields)?;
                    let message = match kind {
                        $($kind => Self::$message { $($field: Field::take(&mut fields)?),* },)+
                        _ => return None,
                    };
                    fields.is_empty().then_some((at, message))
                })();
                *bytes = &bytes[whole..];
                let what = || format!("an impossible message of the agent: kind {kind}, {length} bytes");
                found.map(Some).ok_or_else(what)
            }

            /// The declarations in C, a line for each message.
            #[must_use]
            pub fn declarations() -> String {
                [$({
                    let fields = &[$((stringify!($field), <$type>::C)),*];
                    declaration(stringify!($name), stringify!($message), $kind, fields)
                }),+].concat()
            }
        }
    };
}

messages! {
    /// An order to an agent, which carries it out at its begin, in the order of the file; programs, flows and the like
    /// begin at their `start`.
    Order {
        /// Writes a value to a file below /proc/sys.
        1: Sysctl { path: String, value: String }
        /// The longest packet of a device.
        2: Mtu { bytes: u32, device: String }
        /// An IPv4 address of a device, which is then up; unless `arp` is 1 without ARP: frames are for us.
        3: Address { address: Ipv4Addr, prefix: u32, arp: u32, device: String }
        /// A device reaches these addresses without a router; prefix 0: all.
        4: Route { address: Ipv4Addr, prefix: u32, device: String }
        /// Loads the module /modules/NAME.ko.
        5: Module { name: String }
        /// MPTCP announces this address of the device, and uses it.
        6: Mptcp { address: Ipv4Addr, device: String }
        /// The TCP sockets are reported at each multiple of an interval, and at two further times.
        7: Sample { interval: Span, from: Time, to: Time }
        /// Receives on a port, from as many connections as come. The largest segment has `mss` bytes, options included;
        /// 0: as the device allows.
        8: Sink { port: u16, mss: u32 }
        /// Sends a number of bytes (none: without end) in pieces of `chunk`, and nothing from `stop` on. Writes are, by
        /// turns, times and the numbers of bytes that it writes then instead.
        9: Source {
            to: Ipv4Addr, port: u16, own_port: u16, mss: u32, chunk: u32, start: Time, bytes: Option<u64>,
            stop: Option<u64>, variant: String, writes: Vec<u64>
        }
        /// The machine's file system, read-only, is at /host from now on. The host has this name.
        10: Root { name: String }
        /// A folder of the machine that a temporary file system hides in /host is seen again.
        11: Show { folder: String }
        /// Runs a program in /host, and reports its output and its end. The texts are its folder, its path, its
        /// arguments, and its environment.
        12: Program { number: u32, start: Time, arguments: u32, texts: Vec<String> }
        /// Programs are asked to end 2 ms before this time, and are killed 1 ms before it.
        13: End { start: Time }
        /// Sends echo requests, a second apart (for tests).
        14: Ping { to: Ipv4Addr, start: Time, count: u32 }
        /// Computes without end (for tests of the watchdog).
        15: Spin { start: Time }
        /// Ends the kernel (for tests).
        16: Crash { start: Time }
        /// A device without an address is up.
        17: Up { device: String }
        /// An IPv6 address of a device that is up.
        18: Address6 { address: Ipv6Addr, prefix: u32, device: String }
        /// A mesh device of batman-adv with a MAC address, six bytes in memory, and with this algorithm, "BATMAN_IV"
        /// or "BATMAN_V", over a device; without bridge loop avoidance, which drops broadcasts for the first 30 s.
        19: Mesh { mac: u64, mesh: String, device: String, algorithm: String }
        /// Changes of the main routing tables are reported from now on.
        20: Routes { start: Time }
        /// A host route that leads over a neighbour of the device, which is reached without another router.
        21: Via { address: Ipv4Addr, router: Ipv4Addr, device: String }
        /// At each multiple of an interval, the changes of the best next hops of a mesh device of batman-adv are
        /// reported. The kernel announces none itself.
        22: Originators { interval: Span, mesh: String }
        /// A host route of IPv6, over a neighbour of the device or, with the address of zeros, without a router.
        23: Route6 { address: Ipv6Addr, router: Ipv6Addr, device: String }
        /// A device of Linux's Wi-Fi gets a MAC address, six bytes in memory, is up, and joins an ad hoc network
        /// (`mesh` is 0) or a mesh whose stations pass nothing on (1) or find paths (2). The frequency is in MHz, the
        /// beacon interval in TU; broadcasts are at `group_rate`, in 100 kb/s. `basic` has the basic rates, a byte
        /// each, in 500 kb/s. With 802.11n (`streams` is not 0) the station has so many streams on 20 MHz, and perhaps
        /// the short guard interval.
        24: Wifi {
            mac: u64, basic: u64, mesh: u32, frequency: u32, beacon: u32, group_rate: u32, streams: u32,
            short_guard: u32, device: String
        }
    }
}

messages! {
    /// A report of an agent.
    Report {
        /// All orders are carried out or begun. The kernel calls itself so.
        1: Ready { release: String }
        /// Something failed, with this error number of Linux.
        2: Failed { number: i32, place: String, value: String }
        /// A connection was accepted.
        3: Accepted { port: u16 }
        /// A connection has ended, and its last byte has come at this time.
        4: Received { port: u16, bytes: u64, last: Time }
        /// The connection of a source is open. The timeouts of its socket follow, where the kernel counts them.
        5: Connected { port: u16, timeouts: Option<u64> }
        /// The other side has acknowledged everything that a source has sent.
        6: Sent { port: u16, retransmissions: u32, timeouts: Option<u64> }
        /// A connection was given up, with this error number of Linux.
        7: Broken { port: u16, number: i32 }
        /// Timeouts and fast retransmits of all sockets of the kernel.
        8: Counters { timeouts: u64, fast: u64 }
        /// The state of a socket, as the kernel counts: windows in segments, times in microseconds.
        9: Socket {
            port: u16, peer: u16, state: u32, cwnd: u32, ssthresh: u32, srtt: u32, rto: u32, unacknowledged: u32,
            retransmissions: u32, timeouts: Option<u64>
        }
        /// A program has begun.
        10: Began { program: u32 }
        /// A piece of what a program has written to its standard output (1) or its standard error (2).
        11: Output { program: u32, stream: u32, bytes: Vec<u8> }
        /// A program has ended, with this status or by this signal.
        12: Ended { program: u32, status: i32, signal: i32 }
        /// The answer to an echo request has come after a time, or has not.
        13: Answer { number: u32, after: Option<u64> }
        /// A route was added (1), removed (0), or replaced by the word that there is no way (2), in the main table.
        /// The addresses have four or sixteen bytes, as `size` says; a route without a router has zeros. The protocol
        /// is Linux's number of who has made it. Under batman-adv they are the MAC addresses of the originator and of
        /// the best next hop, of six bytes.
        14: Route { added: u32, size: u32, prefix: u32, metric: u32, protocol: u32, addresses: Vec<u8> }
    }
}

fn declaration(direction: &str, name: &str, kind: u32, fields: &[(&str, &str)]) -> String {
    let mut parts = Vec::new();
    for of_type in fields.chunk_by(|one, other| one.1 == other.1) {
        let names: Vec<&str> = of_type.iter().map(|it| it.0).collect();
        parts.push(match of_type[0].1 {
            "" => format!("char rest[] /* {} */;", names.join(", ")),
            c => format!("{c} {};", names.join(", ")),
        });
    }
    let name = format!("{direction}_{name}").to_lowercase();
    format!("MESSAGE({name}, {kind}, {});\n", parts.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever changes a message copies the text that this test shows.
    #[test]
    fn the_agent_has_the_same_messages() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/hopyard/kernels/guest/messages.h");
        let found = std::fs::read_to_string(path).expect("the agent's messages");
        let expected = Order::declarations() + "\n" + &Report::declarations();
        assert!(found.ends_with(&format!("\n\n{expected}")), "{path} has other messages; expected:\n{expected}");
    }

    #[test]
    fn a_message_comes_back_as_it_was() {
        let at = Time::from_nanos(7);
        let order = Order::Source {
            to: Ipv4Addr::new(10, 0, 0, 2),
            port: 5001,
            own_port: 40_000,
            mss: 0,
            chunk: 1,
            start: at,
            bytes: None,
            stop: Some(9),
            variant: "reno".to_owned(),
            writes: vec![7, 1, 8, 2],
        };
        assert_eq!(Order::take(&mut &*order.bytes(at)), Ok(Some((at, order.clone()))));
        let report = Report::Output { program: 1, stream: 2, bytes: b"a\0\xff\n".to_vec() };
        let ready = Report::Ready { release: "6.1".to_owned() };
        let bytes = [report.bytes(at), ready.bytes(Time::ZERO)].concat();
        let mut rest = &*bytes;
        assert_eq!(Report::take(&mut rest), Ok(Some((at, report))));
        assert_eq!(Report::take(&mut rest), Ok(Some((Time::ZERO, ready))));
        assert!(rest.is_empty());
        // A message is as long as it says.
        assert_eq!(Report::take(&mut &bytes[..20]), Ok(None));
        let text = |kind: u32, length: u32| {
            let bytes = [&length.to_ne_bytes()[..], &kind.to_ne_bytes(), &[0; 20]].concat();
            Report::take(&mut &*bytes).expect_err("impossible")
        };
        assert_eq!(text(99, 16), "an impossible message of the agent: kind 99, 16 bytes");
        assert_eq!(text(3, 20), "an impossible message of the agent: kind 3, 20 bytes");
        assert_eq!(text(10, 16), "an impossible message of the agent: kind 10, 16 bytes");
    }
}
