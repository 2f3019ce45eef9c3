//! Plays scripts of packetdrill against Hopyard's TCP.
pub mod code;
pub mod parse;
pub mod script;
