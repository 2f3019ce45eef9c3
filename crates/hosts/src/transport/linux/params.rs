//! The parameters that only Linux's TCP has.

use hopyard_engine::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::transport::connection::Wheel;

/// The window that the receiver announces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiveWindow {
    /// All that `window` says, less what was not read.
    Fixed,
    /// At first the whole segments of 64 KiB. It grows with what the application reads in a round trip, up to `window`.
    Growing,
}

/// How much of the application's data waits in the sender's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SendBufferSize {
    /// All that the application has to send.
    Unlimited,
    /// At first the memory of twenty segments, at most 4 MB: it grows with the congestion window (`tcp_wmem`).
    Growing,
}

/// When timers expire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Timers {
    /// When they are set to.
    Exact,
    /// With the tick after it, and the later a timer expires, with the next of 8, 64, ... ticks.
    Wheel,
}

/// The parameters of Linux's TCP, with `habits = "linux"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Params {
    /// Whether the ends use SACK (`tcp_sack`). Without it duplicate acknowledgements are counted.
    pub sack: bool,
    /// Whether the receiver announces the whole window from the beginning: "fixed", or "growing".
    pub receive_window: ReceiveWindow,
    /// How much of the application's data waits in the sender: "unlimited", or "growing": the application waits for
    /// room, and each of its writes is sent by itself.
    pub send_buffer: SendBufferSize,
    /// Whether new segments are sent in pairs: a single one may wait for the next acknowledgement.
    pub pair_segments: bool,
    /// Whether at most two buffers of segments wait in the queues of their node, or what the pacing rate sends in a
    /// millisecond (TCP small queues). What still waits there is not sent again.
    pub small_queues: bool,
    /// Whether the segment with the FIN is sent beyond the congestion window: Linux 6.1 does, 6.12 does not.
    pub fin_beyond_window: bool,
    /// When timers expire: "exact", or as a "wheel" of ticks comes to them.
    pub timers: Timers,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            sack: true,
            receive_window: ReceiveWindow::Growing,
            send_buffer: SendBufferSize::Growing,
            pair_segments: true,
            small_queues: true,
            fin_beyond_window: true,
            timers: Timers::Wheel,
        }
    }
}

impl Params {
    /// The wheel of the timers, with this tick.
    pub(super) const fn wheel(&self, tick: Span) -> Wheel {
        match self.timers {
            Timers::Exact => Wheel::EXACT,
            Timers::Wheel => Wheel::new(tick),
        }
    }
}
