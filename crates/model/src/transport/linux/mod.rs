//! Linux's TCP: the sender of `habits = "linux"`, and the rules of its receiver.
//!
//! They have their own state and parameters (`[tcp.linux]`). They share only pure parts with the plain TCP: the
//! scoreboard, the estimators of round trip and delivery rate, the congestion controls. `recovery` names what was read.

mod idle;
mod late;
mod outdated;
mod pacing;
mod params;
mod receive_window;
mod receiving;
mod recovery;
mod send_buffer;
mod sender;
mod small_queue;
mod state;
mod writing;

pub use self::params::{Params, ReceiveWindow, SendBufferSize, Timers};
pub(crate) use self::receive_window::Growth;
pub(crate) use self::receiving::Receiving;
pub(crate) use self::sender::Sender;
