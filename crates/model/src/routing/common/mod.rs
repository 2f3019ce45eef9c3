//! Parts that several routing protocols need.

mod auto;
mod duplicates;
mod limiter;
mod link_detection;
pub mod on_demand;
mod precursors;
mod searches;
mod send_buffer;
mod sequence;

pub use auto::Auto;
pub use duplicates::Duplicates;
pub use limiter::Limiter;
pub use link_detection::LinkDetection;
pub use precursors::Precursors;
pub use searches::Searches;
pub use send_buffer::SendBuffer;
pub use sequence::newer;
