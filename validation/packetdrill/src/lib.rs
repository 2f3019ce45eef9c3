//! Plays scripts of packetdrill against Hopyard's TCP.
pub mod code;
pub mod features;
pub mod parse;
pub mod script;
pub mod setup;
