//! Transport: TCP's two ends, and the counters of a UDP receiver.
//!
//! Nothing here knows a queue, a medium or a packet pool. A protocol object is given times and headers, and gives headers and
//! deadlines back; the world puts the headers into packets. Within TCP, three choices are independent of one another:
//! the window rule ([`congestion`]), the repair of losses ([`recovery`]) and when the receiver acknowledges ([`acking`]).

pub mod acking;
pub mod congestion;
pub mod recovery;
pub mod tcp;
pub mod udp;
