//! Radio: path loss.

pub mod propagation;
