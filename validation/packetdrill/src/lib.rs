//! Plays scripts of packetdrill against Hopyard's TCP, in simulated time.
//!
//! packetdrill (Cardwell et al., USENIX ATC 2013) tests a kernel's TCP by scripts: packets that arrive, system calls of
//! the application, and packets that must be sent. [`parse`](parse::parse) reads its language, [`play`](play::play)
//! plays a script against Hopyard's sender or receiver. Scripts are read, never kept: they belong to others.

pub mod agreement;
pub mod code;
pub mod endpoint;
pub mod features;
pub mod parse;
pub mod play;
pub mod script;
pub mod setup;
