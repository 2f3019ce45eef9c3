//! Radio: path loss and bit errors.

pub mod error_rate;
pub mod propagation;
