//! Linux's TCP: the sender and the receiver of `habits = "linux"`.
//!
//! They have their own state and parameters (`[tcp.linux]`). They share only pure parts with the plain TCP: the
//! scoreboard, the estimators of round trip and delivery rate, the congestion controls, the order of received data.
//! `recovery` names what was read.

mod idle;
mod late;
mod outdated;
mod pacing;
mod params;
mod receive_buffer;
mod receive_memory;
mod receive_window;
mod receiver;
mod recovery;
mod send_buffer;
mod sender;
mod small_queue;
mod smoother;
mod state;
mod tags;
mod writing;

pub use self::params::{Params, ReceiveWindow, SendBufferSize, Timers};
pub(crate) use self::receiver::{Beside, Receiver};
pub(crate) use self::sender::Sender;
pub(crate) use self::smoother::Smoother;
