//! The discrete-event engine: simulated time, units, the event queue, named random streams, a slab and the run digest.
//!
//! No module here knows of networks. There is no I/O and no wall clock: the same calls give the same results.

pub mod armed;
pub mod digest;
mod heap;
mod prefetch;
pub mod queue;
pub mod rng;
pub mod slab;
pub mod text;
pub mod time;
pub mod timers;
pub mod units;

pub use armed::{Armed, Deadline};
pub use digest::Digest;
pub use prefetch::{Prefetch, is_worth_reading_ahead, read_ahead};
pub use queue::{Next, Queue, Rank};
pub use rng::{Rng, Streams};
pub use slab::{Handle, Slab};
pub use time::{Span, Time};
pub use timers::Timers;
