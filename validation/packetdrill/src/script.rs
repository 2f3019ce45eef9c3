//! A script as it is written: options, commands, events in order.

use hopyard_engine::Span;

/// A script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Script {
    /// Options before the first event: `--name=value`.
    pub options: Vec<(String, Option<String>)>,
    /// Shell commands before the first event.
    pub setup: Vec<String>,
    /// The events in the order of the script.
    pub events: Vec<Event>,
    /// Shell commands after the last event.
    pub cleanup: Vec<String>,
}

impl Script {
    /// The value of an option, if the script gives it.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| option == name).and_then(|(_, value)| value.as_deref())
    }

    /// The packets of the script, with their events.
    pub fn packets(&self) -> impl Iterator<Item = (&Event, &Packet)> {
        self.events.iter().filter_map(|event| match &event.action {
            Action::Packet(packet) => Some((event, packet)),
            _ => None,
        })
    }

    /// The segments of TCP of the script, with their direction.
    pub fn segments(&self) -> impl Iterator<Item = (Direction, &Segment)> {
        self.packets().filter_map(|(_, packet)| match &packet.content {
            Content::Tcp(segment) => Some((packet.direction, segment)),
            Content::Other(_) => None,
        })
    }

    /// The system calls of the script.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.events.iter().filter_map(|event| match &event.action {
            Action::Call(call) => Some(call),
            _ => None,
        })
    }
}

/// Something that happens, and when.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The line of the script, from 1.
    pub line: usize,
    /// The time.
    pub when: When,
    /// What happens.
    pub action: Action,
}

/// A time in a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Whether it counts from the event before, not from the start.
    pub relative: bool,
    /// How much later.
    pub after: Span,
}

/// When an event happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At any time (`*`).
    Any,
    /// At this time.
    At(Stamp),
    /// At a time between these (`a~b`).
    Between(Stamp, Stamp),
    /// A system call that begins and returns at these times (`a...b`).
    During(Stamp, Stamp),
}

/// What happens in an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Action {
    /// A packet arrives or is expected.
    Packet(Packet),
    /// A system call.
    Call(Call),
    /// A shell command.
    Command(String),
    /// Statements of Python about the connection's `tcp_info`.
    Code(String),
}

/// From where a packet comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The script sends it to the end under test (`<`).
    In,
    /// The end under test must send it (`>`).
    Out,
}

/// A packet.
#[derive(Clone, Debug, PartialEq)]
pub struct Packet {
    /// From where it comes.
    pub direction: Direction,
    /// Fields of the IP header in brackets, such as `ect0`.
    pub ip: Vec<String>,
    /// What it carries.
    pub content: Content,
}

/// What a packet carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// A segment of TCP.
    Tcp(Segment),
    /// Something else: its text, which begins with its kind (`icmp`, `udp`, `encap` ...).
    Other(String),
}

/// A segment of TCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The control bits as they are written, such as `FP.`; `.` is ACK, `-` none.
    pub flags: String,
    /// The first sequence number, relative to the initial one.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// The acknowledgement number.
    pub ack: Option<u64>,
    /// The field of the window, not scaled.
    pub window: Option<u32>,
    /// The urgent pointer.
    pub urgent: Option<u32>,
    /// The options.
    pub options: Options,
}

impl Segment {
    /// Whether a control bit is set, by its letter.
    #[must_use]
    pub fn has(&self, flag: char) -> bool {
        self.flags.contains(flag)
    }

    /// The options that are written.
    #[must_use]
    pub fn options(&self) -> &[TcpOption] {
        match &self.options {
            Options::Any => &[],
            Options::These(options) => options,
        }
    }

    /// The timestamps' value and echo.
    #[must_use]
    pub fn timestamps(&self) -> Option<(u32, u32)> {
        self.options().iter().find_map(|option| match option {
            TcpOption::Timestamps(value, echo) => Some((*value, *echo)),
            _ => None,
        })
    }

    /// The blocks of the option SACK.
    #[must_use]
    pub fn sack(&self) -> &[(u64, u64)] {
        self.options()
            .iter()
            .find_map(|option| match option {
                TcpOption::Sack(blocks) => Some(blocks.as_slice()),
                _ => None,
            })
            .unwrap_or(&[])
    }
}

/// The options of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// Any (`<...>`).
    Any,
    /// These, in this order.
    These(Vec<TcpOption>),
}

/// An option of a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TcpOption {
    /// The largest segment; nothing when it is written as a name that the command line defines.
    Mss(Option<u32>),
    /// The shift of the window.
    WindowScale(u8),
    /// SACK is permitted.
    SackPermitted,
    /// Value and echo.
    Timestamps(u32, u32),
    /// Blocks that have arrived.
    Sack(Vec<(u64, u64)>),
    /// No operation.
    Nop,
    /// End of the list.
    End,
    /// Another option, as it is written.
    Other(String),
}

/// A system call with its result.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The name.
    pub name: String,
    /// The arguments.
    pub arguments: Vec<Value>,
    /// The result.
    pub result: Value,
    /// The name of the error, such as `EAGAIN`.
    pub error: Option<String>,
}

impl Call {
    /// An argument, if it is a number.
    #[must_use]
    pub fn number(&self, index: usize) -> Option<i64> {
        self.arguments.get(index).and_then(Value::number)
    }

    /// An argument, if it is a name.
    #[must_use]
    pub fn word(&self, index: usize) -> Option<&str> {
        match self.arguments.get(index) {
            Some(Value::Name(name)) => Some(name),
            _ => None,
        }
    }

    /// Whether a name stands anywhere in the arguments.
    #[must_use]
    pub fn mentions(&self, word: &str) -> bool {
        self.arguments.iter().any(|value| value.mentions(&|name| name == word))
    }

    /// Whether a name that begins so stands anywhere in the arguments.
    #[must_use]
    pub fn mentions_prefix(&self, prefix: &str) -> bool {
        self.arguments.iter().any(|value| value.mentions(&|name| name.starts_with(prefix)))
    }
}

/// An argument or a result of a system call.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `...`: whatever packetdrill puts there.
    Whatever,
    /// A number.
    Number(i64),
    /// A name, such as `SOCK_STREAM`.
    Name(String),
    /// A text in quotes.
    Text(String),
    /// `[a, b]`.
    List(Vec<Value>),
    /// `{a=1, b=2}`.
    Fields(Vec<Value>),
    /// `name=value`.
    Field(Box<Value>, Box<Value>),
    /// `name(a, b)`.
    Apply(String, Vec<Value>),
    /// `a | b`.
    Union(Vec<Value>),
}

impl Value {
    /// The number, if it is one, also as the only one of a list.
    #[must_use]
    pub fn number(&self) -> Option<i64> {
        match self {
            Self::Number(number) => Some(*number),
            Self::List(values) if values.len() == 1 => values[0].number(),
            _ => None,
        }
    }

    /// Whether a name that fits stands in it.
    pub fn mentions(&self, fits: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::Whatever | Self::Number(_) | Self::Text(_) => false,
            Self::Name(name) => fits(name),
            Self::List(values) | Self::Fields(values) | Self::Union(values) => {
                values.iter().any(|value| value.mentions(fits))
            }
            Self::Field(name, value) => name.mentions(fits) || value.mentions(fits),
            Self::Apply(name, values) => fits(name) || values.iter().any(|value| value.mentions(fits)),
        }
    }
}
