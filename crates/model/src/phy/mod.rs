//! The radio: which nodes receive a signal, with what power, and which frames they can decode.

pub mod draws;
pub mod error_rate;
pub mod factors;
pub mod fading;
pub mod frame;
pub mod hearers;
pub mod links;
mod losses;
pub mod medium;
pub mod mode;
pub mod neighbours;
pub mod obstacles;
mod params;
mod paths;
pub mod propagation;
pub mod reception;
mod sensitivity;
mod single;

pub use losses::Losses;
pub use mode::Mode;
pub use params::{Params, Receive};
pub use reception::Reception;
pub use sensitivity::Sensitivity;
pub use single::Single;
