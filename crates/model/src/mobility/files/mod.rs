//! Movement files.
//!
//! [`setdest`] reads the files of ns-2's setdest and of the many tools that write the same format, [`bonnmotion`] the
//! native files of BonnMotion. Recorded tracks are tables (`csv`), tracks of satellite receivers (`gpx`), and logs
//! of PX4 (`ulog`), whose places on the globe become a plane ([`globe`]). All can be compressed with gzip. The caller
//! reads the bytes, because models do no input.
//!
//! Reading is strict. Every line of movement that cannot be understood is counted, the first twenty are reported with
//! their text, and reading ends at the thousandth. A position outside the area is an error: ns-2.35 stops with a Tcl
//! error in the middle of the run when a destination lies outside. Heights are part of positions, and are not limited
//! by the area.

pub mod bonnmotion;
mod csv;
pub mod globe;
mod gpx;
mod movements;
mod read;
mod samples;
pub mod setdest;
mod text;
pub mod track;
mod ulog;

pub use self::movements::{Movements, NodeChanges, Record, Zero};
pub use self::text::{Dimensions, Format, Reading};
