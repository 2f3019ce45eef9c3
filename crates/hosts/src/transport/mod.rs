//! Transport: TCP's two ends, each with one direction of data.
//!
//! This module does not use queues, the medium or the packet pool. A protocol object receives times and headers, and
//! returns headers and deadlines. The world puts the headers into packets. Within TCP, three choices are independent of
//! one another: the congestion control ([`congestion`]), the repair of losses ([`recovery`]) and when the receiver
//! acknowledges ([`acking`]).

pub mod acking;
pub mod congestion;
pub mod connection;
pub mod keep_alive;
pub mod linux;
pub mod notice;
pub mod recovery;
pub mod recovery_choice;
pub mod tcp;
