//! The parts that a sender and its loss recovery share: parameters, segments, windows, timers, and the talk with the
//! congestion control.

mod answer;
mod core;
mod counters;
mod frozen;
mod header;
mod linux_rtt;
mod loss;
mod params;
mod peer;
mod phases;
mod rate;
mod report;
mod rtt;
mod sampling;
mod scoreboard;
mod sending;
mod sending_end;
mod wheel;
mod window;

pub use self::core::{Core, Judged};
pub use self::counters::SenderCounters;
pub(crate) use self::header::{dsack, header_bytes, is_earlier, milliseconds};
pub use self::params::{Close, Connect, EchoCopies, Habits, IdleRestart, Params, Reader, RecoveryExit};
pub(crate) use self::peer::{Peer, Persist, Stage};
pub use self::phases::{Phase, Phases, Work};
pub use self::scoreboard::{Acked, Board, Marks, Segment};
pub(crate) use self::sending_end::SendingEnd;
pub use self::wheel::Wheel;
