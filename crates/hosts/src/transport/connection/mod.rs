//! The parts that the two senders and their loss recoveries share: parameters, segments, windows, timers, and the talk
//! with the congestion control; and the parts that the two receivers share.

mod answer;
mod buffer;
mod core;
mod counters;
mod ecn;
mod frozen;
mod header;
mod intake;
mod loss;
mod params;
mod peer;
mod phases;
mod rate;
mod receiving_end;
mod report;
mod rtt;
mod sampling;
mod scoreboard;
mod sending;
mod sending_end;
mod state;
mod trip;
mod wheel;
mod window;

pub(crate) use self::buffer::Buffer;
pub use self::core::{Core, Judged};
pub use self::counters::{ReceiverCounters, SenderCounters};
pub use self::ecn::{Ecn, Noted};
pub use self::header::header_bytes;
pub(crate) use self::header::{ascending, dsack, is_earlier, milliseconds};
pub(crate) use self::intake::{Intake, Placed};
pub use self::params::{Close, Connect, EchoCopies, Habits, IdleRestart, Params, Reader, RecoveryExit};
pub(crate) use self::peer::{Peer, Persist, Stage};
pub use self::phases::{Phase, Phases, Work};
pub(crate) use self::receiving_end::ReceivingEnd;
pub use self::scoreboard::{Acked, Board, Marks, Segment};
pub(crate) use self::sending_end::{Parts, SendingEnd};
pub use self::state::Connection;
pub use self::wheel::Wheel;
